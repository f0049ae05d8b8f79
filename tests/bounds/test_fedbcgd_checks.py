"""The checks of what the FedBCGD paper sets up and shows: each verdict as expected, and each check seen to fail."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from sympy import IndexedBase, Sum, Symbol

from fedtheory.bounds.fedbcgd.checks import evidence
from fedtheory.bounds.fedbcgd.checks.listings import (
    each,
    replays,
)
from fedtheory.bounds.trials.listings import Undefined
from fedtheory.simulations.algorithms.fedbcgd import VARIANTS
from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd import algorithms as a
from fedtheory.theory.fedbcgd.symbols import M, c_i
from fedtheory.theory.listing import Let, Line, Listing, Name, Total, do, let
from fedtheory.theory.proofs.mutation import mutations as changes
from fedtheory.theory.statement import Evidence, Statement, Status, Verdict


def mutations(statement):
    """Changes of what a statement says, of its conditions and dimensions: (what, the statement changed)."""
    parts = ("assumption", "definition")
    return [(change.what, change.statement) for change in changes(statement) if change.part not in parts]


EVIDENCE = {(e.statement.removeprefix("fedbcgd."), e.kind): e for e in evidence()}
LISTINGS = ["alg1", "alg1.corrected", "alg3", "alg3.corrected"]


def find(name: str) -> Statement:
    return catalogue.find(f"fedbcgd.{name}")


def verdict(statement: Statement, kind: str) -> Verdict:
    return EVIDENCE[statement.id.removeprefix("fedbcgd."), kind].check(statement, False)


def test_one_piece_a_statement_and_kind() -> None:
    assert len(EVIDENCE) == len(evidence())
    assert all(isinstance(e, Evidence) and catalogue.find(e.statement) for e in evidence())


# Listings


FREE = {
    "alg1": {
        "lines 1 and 2 exchanged",
        "lines 4 and 5 exchanged",
        "lines 6 and 7 exchanged",
        "lines 24 and 25 exchanged",
    },
    "alg3": {"lines 1 and 2 exchanged", "lines 4 and 5 exchanged", "lines 6 and 7 exchanged"},
}


@pytest.mark.dear
@pytest.mark.parametrize("name", LISTINGS)
def test_no_change_of_a_line_goes_unnoticed(name: str) -> None:
    """But for actions whose order does not matter.

    As printed v_s stays 0, so that adding it, line 30 of Algorithm 3, adds nothing, before or after line 29.
    """
    changed = list(mutations(find(name)))
    held = {what for what, new in changed if verdict(new, "run").status is not Status.REFUTED}
    nothing = {"without line 30", "lines 28 and 29 exchanged"} if name == "alg3" else set()
    assert held == FREE[name.removesuffix(".corrected")] | nothing
    assert len(changed) > 40


@pytest.mark.parametrize(("name", "lost"), [("alg1", "v"), ("alg3", "v"), ("alg3", "c")])
def test_a_listing_needs_what_it_assumes_of_the_start(name: str, lost: str) -> None:
    statement = find(f"{name}.corrected")
    rest = tuple(a for a in statement.assumes if a != f"fedbcgd.alg{1 if lost == 'v' else 3}.initial")
    assert len(rest) == len(statement.assumes) - 1
    found = verdict(replace(statement, assumes=rest), "run")
    assert found.status is Status.REFUTED and re.search(rf"{lost}\S*\^\S* has no value", found.says)


x_j, x_s, v_j, v_s = (own.block(part) for own in (a.x, a.v) for part in (a.j, "s"))


def test_the_printed_form_is_not_the_corrected_one() -> None:
    for plain, other in (("alg1", "alg1.corrected"), ("alg3", "alg3.corrected")):
        for one, two in ((plain, other), (other, plain)):
            assert verdict(find(one).with_claim(find(two).claim), "run").status is Status.REFUTED


@pytest.mark.parametrize(
    "step",
    [
        let(x_j[a.r], 1 / a.K * Total(Name("i"), a.K, a.x_kj.block(a.j)[a.r, a.T])),
        let(x_j[a.r], x_j[a.r - 1] * x_j[a.r - 1]),
        let(x_j[a.r], Name("q") * x_j[a.r - 1]),
        let(x_j[a.r], a.mean(a.x_kj.block(a.j)[a.r, a.T - 1])),
        let(x_j[a.r], 1 / a.K * Total(a.j, a.N, a.x_kj.block(a.j)[a.r, a.T])),
        let(x_j[a.r], a.mean(a.x_kj.block("s")[a.r, a.T])),
        let(x_j[a.r], a.x[a.r - 1]),
        let(x_j[a.r], x_j[Name("p")]),
        let(a.x_kj.block(a.j)[a.r, a.T], x_j[a.r - 1]),
    ],
    ids=str,
)
def test_what_cannot_be_executed(step: Let) -> None:
    run = next(run for run in replays() if run.N == 2 and run.T == 2)
    with pytest.raises(Undefined, match="line 2[01]"):
        run.machine(a.ALG1.having(Line(20, 2, step)))


def test_clients_are_drawn_in_a_round() -> None:
    with pytest.raises(Undefined, match="line 1: r has no value"):
        replays()[0].machine(Listing((Line(1, 0, do("sample", "sample {0} clients", a.N * a.K)),)))


def test_the_server_does_not_know_what_it_was_not_sent() -> None:
    listing = a.ALG1.having(Line(14, 3, do("send", "send {0}", a.x_kj.block(a.j)[a.r, a.T])))
    with pytest.raises(Undefined, match="line 23: .* has not been sent"):
        replays()[0].machine(listing)


# What the printed listings do


# Update rules


def test_a_summand_gets_the_index_of_its_sum() -> None:
    i = Symbol("i", integer=True)
    assert each(Sum(c_i, (i, 1, M)), c_i) == Sum(IndexedBase("c_i", real=True)[i], (i, 1, M))


def test_the_variants_of_the_engine_have_names() -> None:
    assert {"FedBCGD", "FedBCGD+", "FedBCGD, as printed", "FedBCGD+, as printed"} <= set(VARIANTS)


# Assumptions


# Figures
