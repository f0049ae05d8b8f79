"""The checks of what the FedCOM paper sets up and shows: each verdict as expected, and each check seen to fail."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from fedtheory.bounds.fedcom.checks import evidence
from fedtheory.bounds.fedcom.checks.assumptions import POINTS, UNBIASED
from fedtheory.bounds.fedcom.checks.executor import Replay
from fedtheory.bounds.fedcom.checks.listings import SAMPLED, replays
from fedtheory.bounds.trials.listings import Place, Undefined
from fedtheory.simulations.compressors import Identity, RandK
from fedtheory.simulations.problems.quadratic import from_functions, generate
from fedtheory.theory import catalogue
from fedtheory.theory.fedcom.algorithms import (
    ALG4,
    ALG4_MEAN_OF_SAMPLED,
    ALG5_DAMPED,
    Delta,
    Delta_j,
    Q,
    S,
    delta_j,
    eta,
    gamma,
    j,
    mean,
    progress,
    r,
    sent,
    tau,
    tracking,
    w,
    w_j,
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


@cache
def printed(key: tuple[str, str]) -> Verdict:
    return EVIDENCE[key].check(catalogue.find(key[0]), False)


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


def with_line(id_: str, line: Line) -> Statement:
    statement = catalogue.find(id_)
    assert isinstance(statement.claim, Listing)
    return statement.with_claim(statement.claim.having(line))


_difference = Delta_j[r] - Delta[r]


@pytest.mark.parametrize(
    ("id_", "line", "status"),
    [
        ("fedcom.alg1", Line(3, 2, let(w_j[0, r], w[r + 1])), Status.REFUTED),
        ("fedcom.alg1", sent(Delta_j[r], progress / eta, 6), Status.REFUTED),
        ("fedcom.alg1", sent(Delta_j[r], Q(progress) / eta, 6), Status.TESTED),
        ("fedcom.alg1", Line(7, 1, let(w[r + 1], w[r] - gamma * mean(Delta_j[r]))), Status.REFUTED),
        ("fedcom.alg1", Line(7, 1, do("", "w^(r+1) is w^(r) after a step")), Status.OPEN),
        ("fedcom.alg2", Line(10, 2, let(delta_j[r + 1], 1 / tau * _difference)), Status.REFUTED),
        ("fedcom.alg2.corrected", tracking(1 / tau, _difference, 10), Status.REFUTED),
        ("fedcom.alg2", tracking(1 / tau, _difference, 10), Status.TESTED),
        ("fedcom.alg4", ALG4_MEAN_OF_SAMPLED[9], Status.REFUTED),
        ("fedcom.alg4.corrected", ALG4[9], Status.REFUTED),
        ("fedcom.alg5", ALG5_DAMPED[12], Status.REFUTED),
    ],
    ids=str,
)  # fmt: skip
def test_a_changed_line(id_: str, line: Line, status: Status) -> None:
    assert verdict(with_line(id_, line), "run").status is status


def test_a_listing_by_hand() -> None:
    problem = from_functions([0.5, 0.5], [1.0, -1.0])
    lines = catalogue.find("fedcom.alg2").claim
    assert isinstance(lines, Listing)
    machine = Replay(problem, tau=2, eta=0.5, gamma=1.0, rounds=2).machine(lines)
    # From w = 1: client 1 goes to 0 and -1/2, client 2 to 1 and 1.
    assert [float(machine.value("w", j, c, 0)[0]) for j in (1, 2) for c in (1, 2)] == [0, -0.5, 1, 1]
    assert [float(machine.value("Delta", j, 0)[0]) for j in (1, 2)] == [3, 0]
    assert [float(machine.value("delta", j, 1)[0]) for j in (1, 2)] == [0.75, -0.75]
    assert machine.value("w", 0, 1) == 1 - 0.5 * 1.5


def test_who_sits_out_keeps_what_it_has() -> None:
    machine = SAMPLED[0].machine(catalogue.find("fedcom.alg4").claim)  # type: ignore[arg-type]
    assert machine.value("S", 0, 0) == (1,)
    assert machine.value("delta", 2, 1) == machine.value("delta", 2, 0) == 0
    with pytest.raises(Undefined, match=r"w_2\^\(1,0\) has no value"):
        machine.value("w", 2, 1, 0)


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


@pytest.mark.parametrize("name", ["asm1", "asm2", "asm3", "asm4", "asm5", "asm6", "asm7"])
def test_no_smaller_constant_would_do(name: str) -> None:
    kind = "enumeration" if name in ("asm2", "asm5") else "run"
    assert printed((f"fedcom.{name}", kind)).slack == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("Q", [Q for Q in UNBIASED if not isinstance(Q, Identity)], ids=repr)
def test_every_certified_q_is_attained_at_some_point(Q: object) -> None:
    ratios = []
    for point in POINTS:
        x = np.array(point, dtype=float)
        ratios.append(Q.error(x) / (x @ x) / Q.q(4).value)  # type: ignore[attr-defined]
    assert max(ratios) == pytest.approx(1, abs=1e-12)


# Figures


def test_a_place_reads_as_in_the_paper() -> None:
    assert str(Place("w", 2, "", (1, 0))) == "w_2^(1,0)" and str(Place("w", 0, "", (3,))) == "w^(3)"
