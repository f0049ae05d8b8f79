"""The worst functions of whole runs without noise that we know: on a line, the same for all clients.

Without noise, all clients the same, a round of SFL or PFL is n steps of gradient descent, of length eta: n = S K in SFL,
n = K in PFL.  In the convex cases f is a parabola with curvature L up to |x| = tau, and has curvature mu outside; tau is the
one with the largest gap.  In the non-convex case the slope of f is 1 wherever a round ends; between, f falls as little as an
L-smooth function can, and after the run down to F*, by 1/(2 L).  A bound needs the constant that they show.  That no other
function needs more, whatever the numbers, is a conjecture (docs/pages/sharper.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

OnLine = Callable[[Fraction], tuple[Fraction, Fraction]]  # x -> value and slope
_LARGEST = 10**4  # denominator of tau


def bowl(L: Fraction, mu: Fraction, tau: Fraction) -> OnLine:
    """Curvature L up to |x| = tau, then mu; 0 is the minimiser."""

    def f(x: Fraction) -> tuple[Fraction, Fraction]:
        inner = min(max(x, -tau), tau)
        far = x - inner
        slope = L * inner
        return slope * inner / 2 + slope * far + mu * far**2 / 2, slope + mu * far

    return f


def worst_bowl(L: Fraction, mu: Fraction, eta: Fraction, n: int, weights: Sequence[Fraction]) -> OnLine:
    """The bowl with the largest gap at the weighted mean of the points after 0, 1, ... rounds of n steps from 1.

    While the run is outside, a step takes x to (1 - mu eta) x - eta (L - mu) tau.  So the mean is a - b tau, and the gap is
    quadratic in tau.
    """
    a = b = Fraction(0)
    x, moved = Fraction(1), Fraction(0)  # x - moved * tau
    for weight in weights:
        a, b = a + weight / sum(weights) * x, b + weight / sum(weights) * moved
        for _ in range(n):
            x, moved = (1 - mu * eta) * x, (1 - mu * eta) * moved + eta * (L - mu)
    tau = a * (L - mu - mu * b) / ((L - mu) * (2 * b + 1) - mu * b**2)
    return bowl(L, mu, tau.limit_denominator(_LARGEST))


def slopes(L: Fraction, eta: Fraction, n: int) -> list[Fraction] | None:
    """The slope of the non-convex function at the steps of a round, for n = 1 and 2; None for more steps."""
    return {1: [Fraction(1)], 2: [Fraction(1), 1 / (1 + L * eta)]}.get(n)


def stairs(L: Fraction, eta: Fraction, n: int, rounds: int) -> list[tuple[Fraction, Fraction, Fraction]] | None:
    """Where a run from 0 asks for the non-convex function: the points, upwards, with value and slope; F* = 0.

    None where we know no such function.
    """
    own = slopes(L, eta, n)
    if own is None:
        return None
    steps = [pair for _ in range(rounds) for pair in pairwise([*own, Fraction(1)])]
    found = [(-eta * sum((g for g, _ in steps), Fraction(0)), 1 / (2 * L), Fraction(1))]
    for g, h in reversed(steps):
        x, value, _ = found[-1]
        width = eta * g
        # down the line the slope falls from g and rises to h, each as fast as it can
        value += width * (g + h) / 2 - L * width**2 / 4 + (g - h) ** 2 / (4 * L)
        found.append((x + width, value, g))
    return found


def staircase(L: Fraction, eta: Fraction, n: int, rounds: int) -> OnLine | None:
    """The non-convex function at these points, and no others."""
    found = stairs(L, eta, n, rounds)
    return None if found is None else {x: (value, slope) for x, value, slope in found}.__getitem__
