"""The quantities of FedBAT's steps in fractions: when they are there, and by hand."""

from __future__ import annotations

import numbers
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fedtheory.bounds.fedbat.quantities import OF_CLIENTS
from fedtheory.bounds.fedbat.rounds import measured
from fedtheory.simulations.binarisation import law
from fedtheory.simulations.exact.enumerated import EnumeratedRun, rounds

F = Fraction
HALF = F(1, 2)
Point = tuple[Fraction, ...]


def vectors(*rows: Any) -> tuple[Point, ...]:
    return tuple(tuple(map(F, row)) for row in rows)


def a_run(h: Any, b: Any, w0: Any, tau: int, steps: int, **other: Any) -> EnumeratedRun:
    """Shares alike, a constant learning rate of 1/4 and no noise, unless told otherwise."""
    h, b = vectors(*h), vectors(*b)
    nothing = vectors(*[[0] * len(w0)] * len(h))
    given: dict[str, Any] = {
        "p": (F(1, len(h)),) * len(h), "rates": (F(1, 4),) * (steps + tau), "noise": (nothing, nothing),
    } | other  # fmt: skip
    return EnumeratedRun(h, b, w0=tuple(map(F, w0)), tau=tau, steps=steps, **given)


def falling(rate: Any, by: int, count: int) -> tuple[Fraction, ...]:
    return tuple(F(rate) * by / (by + t) for t in range(count))


TWO = a_run([(1, HALF), (F(1, 4), 1)], [(1, 0), (-1, 2)], (1, -1), 2, 3)
NOISE = (vectors((1, 0), (HALF, -1)), vectors((-1, 2), (0, HALF)))
RUNS = {
    "two clients": TWO,
    "weighted": replace(TWO, p=(F(1, 6), F(5, 6)), rates=falling(HALF, 3, 5)),
    "noise": replace(TWO, noise=NOISE, p=(F(1, 3), F(2, 3)), steps=2),
    "noise of one client": replace(TWO, noise=(NOISE[0], vectors((0, 0), (0, 0))), steps=2),
    "one noise for both": replace(TWO, noise=NOISE, p=(F(1, 3), F(2, 3)), steps=2, common=("noise",)),
    "one zeta for both": replace(TWO, p=(F(1, 3), F(2, 3)), common=("binarisation",)),
    "one of two": replace(TWO, K=1),
    "one of two, noise": replace(TWO, K=1, noise=NOISE, steps=2),
    "both of two": replace(TWO, K=2, rates=falling(1, 2, 5)),
    "two of three": a_run([(1, 1), (HALF, 1), (1, 0)], [(1, 0), (0, -2), (1, 1)], (0, 1), 1, 2, K=2),
    "three coordinates": a_run([(1, HALF, F(1, 4))], [(1, -1, 2)], (1, 0, 2), 3, 3),
    "one coordinate": a_run([(1,), (HALF,)], [(1,), (-2,)], (1,), 2, 4, noise=(vectors((1,), (0,)), vectors((1,), (1,)))),
    "a synchronisation a step": replace(TWO, tau=1, rates=falling(1, 2, 4)),
    "curved down": replace(TWO, h=vectors((-1, HALF), (F(1, 4), -1)), noise=NOISE, steps=2),
    "convex together": replace(TWO, h=vectors((-HALF, 1), (1, 1))),
    "four steps a round": a_run([(1, HALF)], [(1, -2)], (0, 1), 4, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_fractions_in_fractions_out(name: str) -> None:
    for row in measured(RUNS[name]):
        for symbol, value in row.items():
            for number in value if isinstance(value, list) else [value]:
                whole = symbol in ("t", "t_0")
                assert isinstance(number, int) if whole else isinstance(number, numbers.Rational), symbol


def test_what_is_there_when() -> None:
    """Symbols of the sample where clients are sampled, of the minimum where there is one, of synchronisation where it is."""
    rows = {name: measured(run) for name, run in RUNS.items()}
    for name, run in RUNS.items():
        for t, row in enumerate(rows[name]):
            last = (t + 1) % run.tau == 0
            assert ({"A_bin", "A_2", "A_1_parts"} <= set(row)) is (last and run.K is not None)
            assert ({"jump_parts", "v_moved", "v_spread", "w_mean", "v_mean"} <= set(row)) is last
            assert last or row["jump_sq"] == 0
            assert OF_CLIENTS.keys() - {"x_star_k"} <= set(row)
    assert "Delta_t" not in rows["curved down"][0] and "Gamma" not in rows["curved down"][0]
    assert "Delta_t" in rows["convex together"][0] and "Gamma" not in rows["convex together"][0]


def test_an_outcome_by_hand() -> None:
    """F(w) = w_1^2/2 + w_2 from (1, 0), two steps of 1/2."""
    run = a_run([(1, 0)], [(0, 1)], (1, 0), 2, 2, rates=(HALF,) * 4)
    first, second = measured(run)
    # g_0 = (1, 1), m = (-1/2, -1/2): both entries are the largest, nothing is random
    assert first["spread_x"] == second["binarised_sq"] == 0 and second["moved_sq"] == HALF
    # g_1 = (1/2, 1), m = (-3/4, -1): the first entry becomes -1 with probability 7/8, 1 with 1/8; the error is 1 - 9/16
    assert second["jump_sq"] == 1 - F(9, 16)
    assert second["F_bar_next"] == F(1, 8) * F(2**2, 2) + F(7, 8) * 0 - 1
    assert second["w_mean"] == [F(1, 4), F(-1)] == second["v_mean"]


# --- What must be so in every run ------------------------------------------------------------------------------------


@pytest.mark.parametrize("w", [(1, -2), (3, 0, HALF), (1, -1), (-5,), (0, 0)])
def test_one_binarisation(w: Any) -> None:
    """The outcomes after a step from 0 to w are those of the law of the operator, with their chances."""
    run = a_run([(0,) * len(w)], [tuple(-e for e in w)], (0,) * len(w), 1, 1, rates=(F(1),) * 2)
    ((end, outcomes),) = [(t.end, t.end.weights) for one in rounds(run) for t in one.samples.values()]
    found = dict(zip(map(tuple, end.spread(outcomes).T), outcomes.chances, strict=True))
    alpha = F(max(map(abs, w)))
    assert len(found) == len(outcomes.chances) and found == ({y: c for c, y in law(w, alpha)} if alpha else {w: 1})


def test_a_function_that_is_no_quadratic() -> None:
    """F(w) = w^2/4 + w for w < 0 and w^2 + w for w > 0, least at -2; and F(w) = w^2/4 - w, w^2 - w, least at 1/2."""
    zero = (((F(0),),), ((F(0),),))
    for slope, star, least in ((F(1), F(-2), F(-1)), (F(-1), F(1, 2), F(-1, 4))):
        for start in (F(-3), F(3)):
            run = EnumeratedRun(
                ((F(1, 2),),), ((slope,),), (F(1),), (start,), (F(1, 4),) * 3, 1, 1, zero, bend=((F(3, 2),),)
            )
            assert run.curvatures == [F(1, 2), F(2)]
            (row,) = measured(run)
            curvature = F(2) if start > 0 else F(1, 2)
            gradient = curvature * start + slope
            assert row["F_bar"] == curvature * start**2 / 2 + slope * start
            assert row["grad_sq"] == row["g_sq"] == row["grads_bar_sq"] == gradient**2
            assert row["gap_t"] == row["local_gap"] == row["F_bar"] - least and row["Gamma"] == 0
            after = start - gradient / 4
            assert row["Delta_t"] == (start - star) ** 2 and row["Delta_next"] == (after - star) ** 2
            assert row["grad_next"] == ((F(2) if after > 0 else F(1, 2)) * after + slope) ** 2
