"""The checks of what the SFL paper sets up and shows: each verdict as expected, and each check seen to fail."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from fedtheory.bounds.sfl import checks
from fedtheory.bounds.sfl.checks.figures import curves
from fedtheory.bounds.sfl.checks.listings import Replay
from fedtheory.bounds.trials.listings import Undefined, Unreadable
from fedtheory.simulations.problems.quadratic import from_functions, generate
from fedtheory.theory import catalogue
from fedtheory.theory.listing import Line, Listing, Number, Total, do, let, loop
from fedtheory.theory.proofs.mutation import mutations as changes
from fedtheory.theory.sfl.algorithms import PARALLEL, SEQUENTIAL, K, M, eta, g, k, m, r, x, x_m
from fedtheory.theory.statement import Statement, Status, Verdict


def mutations(statement):
    """Changes of what a statement says, of its conditions and dimensions: (what, the statement changed)."""
    parts = ("assumption", "definition")
    return [(change.what, change.statement) for change in changes(statement) if change.part not in parts]


STEP = [
    e for e in catalogue.evidence("sfl") if e.statement.startswith("sfl.step.eq54_range") and e.kind == "derivation"
]
EVIDENCE = {e.statement: e for e in (*checks.evidence(), *STEP)}


@cache
def printed(id_: str) -> Verdict:
    return EVIDENCE[id_].check(catalogue.find(id_), False)


def verdict(statement: Statement) -> Verdict:
    return EVIDENCE[statement.id].check(statement, False)


@pytest.mark.parametrize("id_", ["sfl.asm.cases", "sfl.asm.smooth", "sfl.asm.variance", "sfl.asm.het_a"])
def test_no_smaller_constant_would_do(id_: str) -> None:
    assert printed(id_).slack == pytest.approx(1, abs=1e-3)


# Listings


@pytest.mark.parametrize(("id_", "output"), [("sfl.alg1", 8), ("sfl.alg2", 7)])
def test_only_the_output_can_be_changed_in_a_listing(id_: str, output: int) -> None:
    undetected = [what for what, changed in mutations(catalogue.find(id_)) if verdict(changed).status is Status.TESTED]
    assert undetected == [f"without line {output}"]


def with_line(id_: str, *lines: Line) -> Statement:
    statement = catalogue.find(id_)
    assert isinstance(statement.claim, Listing)
    return statement.with_claim(statement.claim.having(*lines))


_mean = 1 / M * Total(m, M, x_m[r, K])


@pytest.mark.parametrize(
    ("id_", "line", "status"),
    [
        ("sfl.alg1", Line(3, 1, loop(m, 1, M, parallel=True)), Status.REFUTED),
        ("sfl.alg1", Line(4, 2, let(x_m[r, 0], x[r])), Status.REFUTED),
        ("sfl.alg1", Line(6, 3, let(x_m[r, k + 1], x_m[r, k] - eta * g(m))), Status.REFUTED),
        ("sfl.alg1", Line(7, 1, let(x[r + 1], x_m.of(M)[r, K - 1])), Status.REFUTED),
        ("sfl.alg1", Line(6, 3, do("", "x_{{m,k+1}} is x_{{m,k}} after a step")), Status.OPEN),
        ("sfl.alg2", Line(3, 2, SEQUENTIAL[4].steps[0]), Status.REFUTED),
        ("sfl.alg2", Line(6, 1, let(x[r + 1], Total(m, M, x_m[r, K]))), Status.REFUTED),
        ("sfl.alg2", Line(6, 1, let(x[r + 1], x[r] + _mean - x[r])), Status.TESTED),
    ],
    ids=str,
)
def test_a_changed_line(id_: str, line: Line, status: Status) -> None:
    assert verdict(with_line(id_, line)).status is status


def test_a_listing_by_hand() -> None:
    problem = from_functions([0.5, 0.5], [1.0, -1.0])
    machine = Replay(problem, K=2, eta=0.5, rounds=1).machine(PARALLEL)
    # From x = 1: client 1 goes to 0 and -1/2, client 2 to 1 and 1; their mean is 1/4.
    assert [float(machine.value("x", m, 0, k)[0]) for m in (1, 2) for k in (1, 2)] == [0, -0.5, 1, 1]
    assert machine.value("x", 0, 1) == 0.25


def test_what_cannot_be_executed_names_its_line() -> None:
    replay = Replay(generate(2, 2, L=1.0, mu=0.5, seed=0), K=1, eta=0.1, rounds=1)
    with pytest.raises(Undefined, match=r"line 2: x_1\^\(0,0\) has no value"):
        replay.machine(Listing((SEQUENTIAL[1], Line(2, 1, let(x[r + 1], x_m.of(Number(1))[r, 0])))))
    with pytest.raises(Unreadable, match="line 1: cannot execute 'let x be'"):
        replay.machine(Listing((Line(1, 0, do("", "let x be")),)))
    with pytest.raises(Undefined, match="line 1: r has no value"):
        replay.machine(Listing((Line(1, 0, do("sample", "sample")),)))
    with pytest.raises(Undefined, match="line 1 does not have the depth of its block"):
        replay.machine(Listing((Line(1, 0, let(x[1], x[0])), Line(2, 2, let(x[2], x[1])))))


# Partitions and figures


def test_a_curve() -> None:
    pair = curves(from_functions([0.5, 0.5], [0.0, 0.0]), 1, (0.25, 0.5), x0=1.0, R=3)
    assert pair["PFL"].eta == pair["SFL"].eta == 0.5
    np.testing.assert_allclose(pair["PFL"].distance, [1, 1 / 2, 1 / 4, 1 / 8])
    np.testing.assert_allclose(pair["SFL"].distance, [1, 1 / 4, 1 / 16, 1 / 64])
    assert pair["SFL"].rounds_to(0.1) == 2
    assert pair["SFL"].rounds_to(0.01) == np.inf
