"""Searching for a counter-example, and making it small: a ratio is driven up over a box, then its point simplified.

A claim `left <= right` is put as the ratio left / right, which must not exceed 1.  The search runs in floating point and
decides nothing: what it finds counts once `shrink` has found a point in fractions at which the exact ratio exceeds 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import qmc

# What a person likes to compute with, simplest first
SIMPLE = tuple(
    Fraction(*pair)
    for pair in ((0, 1), (1, 1), (-1, 1), (1, 2), (-1, 2), (2, 1), (-2, 1), (1, 4), (-1, 4), (1, 6), (1, 10), (1, 12))
)
_LARGEST = 1e300  # stands for infinity, which a simplex cannot compare
_DENOMINATORS = (1, 2, 3, 4, 6, 12, *(10**n for n in range(2, 13)))


@dataclass(frozen=True)
class Range:
    """The values a parameter may take: low <= value <= high, searched on a logarithmic scale where `log` is set.

    Raises ValueError unless low < high are finite, and positive for a logarithmic scale.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high and (self.low > 0 or not self.log)):
            raise ValueError(
                f"a range from {self.low} to {self.high}{' (log)' if self.log else ''}: "
                "expected low < high, both finite, positive on a logarithmic scale"
            )

    def at(self, share: float) -> float:
        """The value at a share in [0, 1] of the way from low to high."""
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return float(self.low + (self.high - self.low) * share)


@dataclass(frozen=True)
class Found:
    """The best point of a search, by parameter, and the ratio there (infinite where the right side vanished)."""

    point: Mapping[str, float]
    value: float


def maximise(ratio: Callable[[Mapping[str, float]], float], box: Mapping[str, Range], seed: int, effort: int) -> Found:
    """The largest value of `ratio` found over a box with about `effort` evaluations; the same at every call.

    Half of them go to a Latin hypercube, the rest to Nelder-Mead from its two best points.  Only comparisons of values
    steer the search: for a positive multiple of `ratio` it takes the same path.

    ratio   of the parameters by name; NaN says that there is none at this point
    seed    of the hypercube

    Raises ValueError for an empty box or an effort below 8.
    """
    if not box or effort < 8:
        raise ValueError(f"a box of {len(box)} parameters and an effort of {effort}: expected at least 1 and 8")
    names, ranges = list(box), list(box.values())
    best: list[tuple[float, NDArray[np.float64]]] = []

    def loss(shares: NDArray[np.float64]) -> float:
        shares = np.clip(shares, 0.0, 1.0)
        value = float(ratio({n: r.at(s) for n, r, s in zip(names, ranges, shares, strict=True)}))
        value = -_LARGEST if np.isnan(value) else min(max(value, -_LARGEST), _LARGEST)
        if not best or value > best[0][0]:
            best[:] = [(value, shares.copy())]
        return -value

    starts = qmc.LatinHypercube(len(names), rng=np.random.default_rng(seed)).random(effort // 2)
    order = np.argsort([loss(start) for start in starts], kind="stable")
    for start in starts[order[:2]]:
        if best[0][0] == _LARGEST:
            break
        # No tolerance: the number of evaluations alone ends a descent, whatever the scale of the ratio.
        options = {"maxfev": effort // 4, "xatol": 0.0, "fatol": 0.0}
        minimize(loss, start, method="Nelder-Mead", bounds=[(0.0, 1.0)] * len(names), options=options)
    value, shares = best[0]
    point = {n: r.at(s) for n, r, s in zip(names, ranges, shares, strict=True)}
    return Found(point, {_LARGEST: np.inf, -_LARGEST: np.nan}.get(value, value))


def shrink(
    ratio: Callable[[Mapping[str, Fraction]], Any],
    point: Mapping[str, float | Fraction],
    candidates: Sequence[Fraction] = SIMPLE,
    above: Fraction = Fraction(1),
) -> dict[str, Fraction]:
    """A point of simple fractions, near the given one or not, at which the exact ratio still exceeds `above`.

    The parameters are replaced one by one, in their order, by the first candidate that will do, or else by the nearest
    fraction with the smallest denominator that will do; again until nothing changes.

    ratio       exact, of Fractions; NaN says that there is none at this point

    Raises ValueError when the ratio does not exceed `above` at the point in fractions of denominator 10^12 or less.
    """

    def exceeds(at: Mapping[str, Fraction]) -> bool:
        return bool(ratio(at) > above)

    exact = {name: Fraction(value) for name, value in point.items()}
    rounded = ({n: v.limit_denominator(largest) for n, v in exact.items()} for largest in _DENOMINATORS)
    found = next((at for at in rounded if exceeds(at)), None)
    if found is None:
        raise ValueError(f"the ratio does not exceed {above} at {dict(point)}: expected a point where it does")
    while True:
        before = dict(found)
        for name in found:
            nearby = (found[name].limit_denominator(largest) for largest in _DENOMINATORS)
            for candidate in (*candidates, *nearby):
                if candidate == found[name]:
                    break  # simpler ones have been tried
                if exceeds(found | {name: candidate}):
                    found[name] = candidate
                    break
        if found == before:
            return found


__all__ = ["SIMPLE", "Found", "Range", "maximise", "shrink"]
