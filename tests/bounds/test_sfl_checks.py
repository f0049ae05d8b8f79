"""The checks of what the SFL paper sets up and shows: each verdict as expected, and each check seen to fail."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.bounds.sfl import checks
from fedtheory.bounds.sfl.checks.figures import curves
from fedtheory.bounds.sfl.checks.listings import Replay
from fedtheory.bounds.trials.listings import Undefined, Unreadable
from fedtheory.simulations.problems.quadratic import from_functions, generate
from fedtheory.theory import catalogue
from fedtheory.theory.listing import Line, Listing, Number, do, let
from fedtheory.theory.proofs.mutation import mutations as changes
from fedtheory.theory.sfl.algorithms import SEQUENTIAL, r, x, x_m
from fedtheory.theory.statement import Statement, Status, Verdict


def mutations(statement):
    """Changes of what a statement says, of its conditions and dimensions: (what, the statement changed)."""
    parts = ("assumption", "definition")
    return [(change.what, change.statement) for change in changes(statement) if change.part not in parts]


STEP = [
    e for e in catalogue.evidence("sfl") if e.statement.startswith("sfl.step.eq54_range") and e.kind == "derivation"
]
EVIDENCE = {e.statement: e for e in (*checks.evidence(), *STEP)}


def verdict(statement: Statement) -> Verdict:
    return EVIDENCE[statement.id].check(statement, False)


# Listings


@pytest.mark.parametrize(("id_", "output"), [("sfl.alg1", 8), ("sfl.alg2", 7)])
def test_only_the_output_can_be_changed_in_a_listing(id_: str, output: int) -> None:
    undetected = [what for what, changed in mutations(catalogue.find(id_)) if verdict(changed).status is Status.TESTED]
    assert undetected == [f"without line {output}"]


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
