"""Runs of FedBAT on functions as its Assumption 1 has them, which bounds them from above only.

A function is smooth from above if its derivative nowhere rises faster than L.  The derivative may fall at any speed, so its
values at two points say little about the points between: (78) fails, and with it Lemma 7 and Theorem 3.

The runs are those of the appendix, (66) to (68), in one coordinate, where S(m) = m and so q = 0; all clients take part, and
there is no noise.  A client's function is given by its derivative, which is piecewise linear and continuous.  It has a
minimum.  All numbers are fractions, and square roots are taken of squares only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedtheory.bounds.fedbat.quantities import AFTER, OF_STEP, steps_of
from fedtheory.simulations.exact.enumerated import EnumeratedRound, Scheduled
from fedtheory.simulations.exact.outcomes import DrawnVector, Outcomes
from fedtheory.simulations.exact.rational import square_root
from fedtheory.simulations.exact.trace import trace

F = Fraction
_ZERO = F(0)
_SYMBOLS = {"F_bar", "F_v", "F_bar_next", "grad_sq", "gbar_sq", "g_sq", "inner_grad", "apart_sq", "apart_bar_sq", "noise_sq",
            "jump_sq", "spread_x"}  # fmt: skip


@dataclass(frozen=True)
class CornerFunction:
    """A function of one number with F(0) = 0 and a continuous, piecewise linear derivative.

    corners  (x, F'(x)) at the ends of the pieces, by ascending x
    before   F'' left of the first corner
    after    F'' right of the last corner

    Raises ValueError for corners out of order.
    """

    corners: tuple[tuple[Fraction, Fraction], ...]
    before: Fraction
    after: Fraction

    def __post_init__(self) -> None:
        at = [x for x, _ in self.corners]
        if not at or any(left >= right for left, right in pairwise(at)):
            raise ValueError(f"corners at {', '.join(map(str, at))}: expected them in ascending order, at least one")

    @property
    def curvatures(self) -> tuple[Fraction, ...]:
        """F'' on the pieces, from left to right."""
        inner = ((h - g) / (y - x) for (x, g), (y, h) in pairwise(self.corners))
        return self.before, *inner, self.after

    def gradient(self, x: Fraction) -> Fraction:
        """F'(x)."""
        left = [(y, g, c) for (y, g), c in zip(self.corners, self.curvatures[1:], strict=True) if y <= x]
        y, g, c = left[-1] if left else (*self.corners[0], self.before)
        return g + c * (x - y)

    def value(self, x: Fraction) -> Fraction:
        """F(x), by the trapezoidal rule, which is exact on every piece."""
        low, high = min(x, F(0)), max(x, F(0))
        ends = [low, *(y for y, _ in self.corners if low < y < high), high]
        area = sum(((b - a) * (self.gradient(a) + self.gradient(b)) / 2 for a, b in pairwise(ends)), F(0))
        return area if x >= 0 else -area

    def at(self, x: DrawnVector) -> Any:
        """The function at a point that is not random."""
        ((at,),) = x.values
        gradient = DrawnVector(np.array([[self.gradient(at)]]), x.weights)
        return SimpleNamespace(x=x, value=self.value(at), gradient=gradient)

    @cached_property
    def minimum(self) -> Fraction:
        """The minimum, at a corner or where a piece's derivative is 0.  Raises ValueError where there is none."""
        (_, first), (_, last) = self.corners[0], self.corners[-1]
        if (self.before or -first) < 0 or (self.after or last) < 0:
            raise ValueError(f"{self}: expected a function that is bounded from below")
        lines = [(*self.corners[0], self.before)]
        lines += [(x, g, c) for (x, g), c in zip(self.corners, self.curvatures[1:], strict=True)]
        stationary = [x - g / c for x, g, c in lines if c]
        return min(map(self.value, [*(x for x, _ in self.corners), *stationary]))


def mean(functions: Sequence[CornerFunction]) -> CornerFunction:
    """The mean of the functions."""
    count = len(functions)
    at = sorted({x for f in functions for x, _ in f.corners})
    corners = tuple((x, sum((f.gradient(x) for f in functions), F(0)) / count) for x in at)
    before, after = (sum(ends, F(0)) / count for ends in zip(*((f.before, f.after) for f in functions), strict=True))
    return CornerFunction(corners, before, after)


@dataclass(frozen=True)
class GradientDescentRun:
    """Gradient descent of clients with equal weights, from one point, averaged every tau steps.

    clients  their functions
    L        the smoothness constant that is claimed of them
    eta      the step size
    tau      steps in a round
    T        steps in all
    start    w_0
    """

    clients: tuple[CornerFunction, ...]
    L: Fraction
    eta: Fraction
    tau: int
    T: int
    start: Fraction = _ZERO

    @property
    def curvatures(self) -> tuple[Fraction, ...]:
        """The curvatures of all clients."""
        return tuple(c for f in self.clients for c in f.curvatures)


@cache
def symbols(run: GradientDescentRun) -> tuple[Mapping[str, Fraction], ...]:
    """The symbols of the statements, step by step; each step also has the sums over the whole run."""
    N, F_all, now = len(run.clients), mean(run.clients), Outcomes(np.array([F(1)]))
    x, zero, rates = (
        DrawnVector(np.array([[run.start]]), now),
        DrawnVector(np.array([[F(0)]]), now),
        (run.eta,) * run.tau,
    )
    largest, rows = F(0), list[dict[str, Fraction]]()
    for _ in range(run.T // run.tau):
        found = trace(Scheduled(run.tau, 1.0, schedule=rates), run.clients, x, zero, run.eta, range(N),
                      lambda *_: zero, number=0, coder=lambda messages: messages)  # fmt: skip
        steps = steps_of(EnumeratedRound({(): found}, run.tau, rates, lambda *_: zero, None, ()))
        rows += [{name: of(s) for name, of in (OF_STEP | AFTER).items() if name in _SYMBOLS} for s in steps]
        largest, x = max([largest, *(step.gradient.square for step in found.steps)]), found.end
    (final,), least = x.mean, F_all.minimum
    whole = {
        "N": F(N), "K": F(N), "tau": F(run.tau), "T": F(run.T), "R": F(run.T, run.tau), "L": run.L, "p_sq": F(1, N),
        "eta": run.eta, "eta_t": run.eta, "eta_start": run.eta, "eta_later": run.eta, "q": F(0), "sigma": F(0),
        "G": square_root(max([largest, *(f.gradient(final) ** 2 for f in run.clients)]), "G^2"),
        "F_0": F_all.value(run.start), "F_T": F_all.value(final), "f_gap": F_all.value(run.start) - least,
        "Gamma": least - sum((f.minimum for f in run.clients), F(0)) / N,
        "avg_step_grad_sq": sum((row["grad_sq"] for row in rows), F(0)) / run.T,
    }  # fmt: skip
    if min(run.curvatures) > 0:
        whole["mu"] = min(run.curvatures)
    return tuple({**row, **whole} for row in rows)


# F_1' = -2 - x and F_2' = 2 near 0: the clients part, and (78) fails at the second step
_PARTING = GradientDescentRun(
    (CornerFunction(((F(-1), F(-1)), (F(3, 2), F(-7, 2))), F(0), F(1, 10)),
     CornerFunction(((F(-2), F(2)),), F(1, 10), F(0))),
    F(1, 10), F(1, 2), 2, 2,
)  # fmt: skip
# F_1' = 2 - x and F_2' = -3 near 0: the same with another slope, where (70) fails at the second step
_CROSSING = GradientDescentRun(
    (CornerFunction(((F(-3, 2), F(7, 2)), (F(1), F(1))), F(1, 10), F(0)), CornerFunction(((F(2), F(-3)),), F(0), F(1, 10))),
    F(1, 10), F(1, 2), 2, 2,
)  # fmt: skip
# Client 1 goes left with slope 1, client 2 right with slope -2.  Between them F_1' falls to -10^4, at points that only the
# mean reaches.  In the last step client 1 has slope 65, so that the new model is 0 again, where all gradients are small
_STEEP = GradientDescentRun(
    (
        CornerFunction(((F(-63, 8), F(65)), (F(-62, 8), F(1)), (F(0), F(1)), (F(1, 16), F(-(10**4)))), F(1), F(1)),
        CornerFunction(((F(16), F(-2)),), F(0), F(1)),
    ),
    F(1), F(1, 8), 64, 64,
)  # fmt: skip
# Curvatures 1 and -1, smooth from both sides: (78) is an equality at the second step
_BOTH_SIDES = GradientDescentRun(
    (CornerFunction(((F(0), F(-1)),), F(1), F(1)), CornerFunction(((F(-8), F(9)), (F(8), F(-7))), F(1), F(1))),
    F(1), F(1, 2), 2, 4,
)  # fmt: skip
_ALIKE = GradientDescentRun((CornerFunction(((F(0), F(0)),), F(1), F(1)),), F(1), F(1, 2), 2, 4, F(1))
FAMILY = (_PARTING, _CROSSING, _STEEP, _BOTH_SIDES, _ALIKE)


def told(f: CornerFunction) -> str:
    """A function in words."""
    corners = ", ".join(f"F'({x}) = {g}" for x, g in f.corners)
    return f"{corners}, linear between; F'' = {f.before} before, {f.after} after"
