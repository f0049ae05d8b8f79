"""The checks of what the FedCOM paper sets up and shows: each verdict as expected, and each check seen to fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedtheory.bounds.fedcom.checks import evidence
from fedtheory.bounds.fedcom.checks.executor import Replay
from fedtheory.bounds.fedcom.checks.listings import replays
from fedtheory.bounds.trials.listings import Place, Undefined
from fedtheory.simulations.compressors import RandK
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.theory import catalogue
from fedtheory.theory.fedcom.algorithms import (
    Q,
    S,
    delta_j,
    j,
    w,
)
from fedtheory.theory.listing import Each, Line, Listing, Name, Step, call, do, let
from fedtheory.theory.proofs.mutation import mutations as changes
from fedtheory.theory.statement import Evidence, Statement, Status, Verdict


def mutations(statement):
    """Changes of what a statement says, of its conditions and dimensions: (what, the statement changed)."""
    parts = ("assumption", "definition")
    return [(change.what, change.statement) for change in changes(statement) if change.part not in parts]


EVIDENCE = {(e.statement, e.kind): e for e in evidence()}
LISTINGS = [key for key in EVIDENCE if isinstance(catalogue.find(key[0]).claim, Listing)]


def verdict(statement: Statement, kind: str) -> Verdict:
    return EVIDENCE[statement.id, kind].check(statement, False)


def test_one_piece_a_statement_and_kind() -> None:
    assert len(EVIDENCE) == len(evidence())
    assert all(isinstance(e, Evidence) and catalogue.find(e.statement) for e in evidence())


# Listings


@pytest.mark.parametrize("key", LISTINGS, ids=" ".join)
def test_no_change_of_a_line_goes_unnoticed(key: tuple[str, str]) -> None:
    """But for lines whose order does not matter: two first values, and two updates that do not use each other."""
    changed = [(what, new) for what, new in mutations(catalogue.find(key[0])) if not what.startswith("besides")]
    held = {what for what, new in changed if verdict(new, key[1]).status is not Status.REFUTED}
    free = {"lines 1 and 2 exchanged", "lines 11 and 12 exchanged"} if key[0].startswith("fedcom.alg5") else set()
    assert held <= free
    assert len(changed) > 10


@pytest.mark.parametrize(
    "step",
    [
        let(w[1], w[0] * w[0]),
        let(w[1], 1 / w[0]),
        let(w[1], Q(w[0])),
        let(w[1], delta_j[0]),
        let(w[1], Name("p") * w[0]),
        let(w[Name("s")], w[0]),
        Each(j, S[0]),
        let(w[0], 1),  # no w^(1)
        let(w[1], call("||", S[0]) * w[0]),
        do("sample", "sample the clients"),
    ],
    ids=str,
)
def test_what_cannot_be_executed(step: Step) -> None:
    replay = Replay(generate(2, 2, L=1.0, mu=0.5, seed=0), tau=1, rounds=1)
    with pytest.raises(Undefined):
        replay.machine(Listing((Line(1, 0, step),)))


def test_replays_have_the_draws_of_the_implementation() -> None:
    """Independent coins differ between clients, shared ones do not; noise differs between steps."""
    run = next(r for r in replays((RandK(1),)) if r.problem.M == 4)
    v = np.ones(3)
    assert len({tuple(run.compress(j, v, 0)) for j in (1, 2, 3, 4)}) > 1
    shared = replace(run, compressor=RandK(1, shared=True))
    assert len({tuple(shared.compress(j, v, 0)) for j in (1, 2, 3, 4)}) == 1
    assert not np.array_equal(run.gradient(1, v, 0, 0), run.gradient(1, v, 0, 1))


# What the printed listings do


# Assumptions


# Figures


def test_a_place_reads_as_in_the_paper() -> None:
    assert str(Place("w", 2, "", (1, 0))) == "w_2^(1,0)" and str(Place("w", 0, "", (3,))) == "w^(3)"
