"""Compressors that round to levels of a norm: QSGD, dithering, deterministic rounding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.arrays import namespace
from fedtheory.simulations.checked import Count
from fedtheory.simulations.compressors.base import (
    EXACT,
    Compressor,
    Law,
    dimension,
    euclidean,
    exact_euclidean,
    independent,
    largest,
    nothing_lost,
    rational,
    squares,
)
from fedtheory.simulations.compressors.wire import FLOAT, Bits, Wire, as_floats, as_numbers, width_of
from fedtheory.simulations.constants import Certified
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.problems import Array


@dataclass(frozen=True)
class _Levels(Compressor):
    """Q(x)_i = norm * sign(x_i) * l_i / s, where l_i rounds t_i = s |x_i| / norm up or down and E[l_i] = t_i.

    s  number of levels above 0
    """

    s: Count

    def _norm(self, x: Array) -> Array:
        """(..., d) -> (..., 1); by default the largest modulus, as in the next two methods."""
        return largest(x)

    def _rational_norm(self, x: tuple[Fraction, ...]) -> Fraction:
        return max(abs(v) for v in x)

    def _norms(self, message: Array) -> Iterable[float]:
        """The norms that may have been sent with this message."""
        return [float(np.abs(message).max())]

    def _levels(self, x: Array) -> tuple[Array, Array]:
        """The norm (..., 1) and t (..., d)."""
        norm = self._norm(x)
        xp = namespace(x)
        return norm, xp.clip(self.s * (abs(x) / xp.where(norm == 0, 1.0, norm)), max=self.s)

    def __call__(self, x: Array, draw: Draw) -> Array:
        """Rounds up with probability t_i - floor(t_i), else down."""
        norm, t = self._levels(x)
        xp = namespace(x)
        low = xp.floor(t)
        up = self._coins(draw, x).uniform(x.shape[-1]) < t - low
        return self._value(norm, xp.copysign(low + up, x))

    def _error(self, x: Array) -> Array:
        """(norm / s)^2 times the sum of (t_i - l)(l + 1 - t_i), l = floor(t_i)."""
        norm, t = self._levels(x)
        part = t - np.floor(t)
        squares: Array = (norm[..., 0] / self.s) ** 2 * (part * (1 - part)).sum(-1)
        return squares

    def bits(self, d: int) -> float:
        """32 + d ceil(log2(2 s + 1))."""
        return float(FLOAT + dimension(d) * width_of(2 * self.s + 1))

    def law(self, x: Sequence[Fraction]) -> Law:
        """The product of the laws of the coordinates, where the norm is rational."""
        exact = rational(x)
        norm = self._rational_norm(exact)
        parts = []
        for v in exact:
            t = self.s * v / (norm or 1)
            low = t // 1
            parts.append([(low + 1 - t, norm * low / self.s), (t - low, norm * (low + 1) / self.s)])
        return independent(parts, self.name)

    def _value(self, norm: Array, signed: Array) -> Array:
        return norm * (signed / self.s)  # in this order the level s gives exactly the norm

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        sizes = np.unique(np.abs(message))

        def levels(norm: float, of: Array) -> Array:
            rounded: Array = np.rint(self.s * (of / (norm or 1.0)))
            return rounded

        def lost(norm: float) -> float:
            received = np.array([norm], dtype=np.float32).astype(float)
            return float(np.abs(self._value(received, levels(norm, sizes)) - sizes).max())

        norm = min(self._norms(message), key=lost)
        signed = levels(norm, message).astype(int)
        return np.concatenate([as_floats(np.array([norm])), as_numbers(signed + self.s, width_of(2 * self.s + 1))])

    def _read(self, wire: Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        norm = wire.floats(1)
        signed = wire.numbers(d, width_of(2 * self.s + 1)) - self.s
        if (signed > self.s).any():
            raise ValueError(f"level {signed.max()}: expected at most s = {self.s}")
        return self._value(norm, signed.astype(float))


@dataclass(frozen=True)
class QSGD(_Levels):
    """Stochastic quantisation to s levels of the Euclidean norm (Alistarh et al., NeurIPS 2017, Section 3.1; FedPAQ).

    On the wire: the norm, and ceil(log2(2 s + 1)) bits for sign and level of each coordinate.
    """

    def _norm(self, x: Array) -> Array:
        return euclidean(x)

    def _rational_norm(self, x: tuple[Fraction, ...]) -> Fraction:
        return exact_euclidean(x)

    def _norms(self, message: Array) -> Iterable[float]:
        # the message does not show the level of its largest entry; `_write` takes the norm with the least float32 error
        largest = float(np.abs(message).max())
        return (largest * self.s / level for level in range(self.s, 0, -1))

    def contraction(self, d: int) -> Certified:
        """The exact supremum, (d - (sqrt(A) - 2s)^2) / (4 s^2), where A is the sum of d odd squares that makes it largest.

        With ||x|| = s the error is the sum of the (x_i - l)(l + 1 - x_i), each maximal over whole l >= 0.  For fixed l_i,
        with a_i = 2 l_i + 1, Cauchy-Schwarz gives d/4 - (||a||/2 - s)^2, attained at x = s a / ||a||.  For d >= 3 the sums
        of d odd squares are all numbers d, d + 8, d + 16 ... (Gauss: every number is a sum of three triangular numbers).
        For d >= 4 s^2 the supremum is sqrt(d)/s - 1; it is never above d / (4 s^2).
        """
        if dimension(d) == 1:
            return nothing_lost(d)
        aim = 4 * self.s**2
        if d == 2:
            roots = {a: isqrt(aim - a * a) for a in range(1, 2 * self.s, 2)}
            sums = {a * a + b * b for a, root in roots.items() for b in (root - 1 | 1, root + 1 | 1)}
        else:
            below = d + max(0, aim - d) // 8 * 8
            sums = {below, below + 8}
        # sqrt(A) - 2s, without cancellation
        distance = min(abs(A - aim) / (sqrt(A) + 2 * self.s) for A in sums)
        return Certified((d - distance**2) / aim, EXACT)

    def q_published(self, d: int) -> Certified:
        """min(d / s^2, sqrt(d) / s), Alistarh et al. 2017, Lemma 3.1; above the exact q for every d and s."""
        bound = min(dimension(d) / self.s**2, sqrt(d) / self.s)
        return Certified(bound, f"proved bound, not the supremum; that is {self.q(d).value:.6g}")


@dataclass(frozen=True)
class Dithering(_Levels):
    """Random dithering: stochastic quantisation to s levels of the largest modulus.

    On the wire: the largest modulus, and ceil(log2(2 s + 1)) bits for sign and level of each coordinate.
    """

    def contraction(self, d: int) -> Certified:
        """The exact supremum, (sqrt(1 + (d-1)/s^2) - 1) / 2.

        One coordinate equals the norm and has no error.  With norm s, each other coordinate contributes at most
        1 / (4 (1 + q)) to error - q ||x||^2, namely at 1 / (2 (1 + q)), below the first level.  All of them attain it at
        once, so (d-1) / (4 (1 + q)) = q s^2.
        """
        ratio = (dimension(d) - 1) / self.s**2
        return Certified(ratio / (2 * (sqrt(1 + ratio) + 1)), EXACT)


@dataclass(frozen=True)
class Rounding(_Levels):
    """Deterministic rounding to the nearest of s levels of the largest modulus, ties to the even level; biased.

    On the wire: the largest modulus, and ceil(log2(2 s + 1)) bits for sign and level of each coordinate.
    """

    unbiased = False

    def __call__(self, x: Array, draw: Draw | None = None) -> Array:
        """The nearest levels."""
        (norm, t), xp = self._levels(x), namespace(x)
        return self._value(norm, xp.copysign(xp.round(t), x))

    def _error(self, x: Array) -> Array:
        """||Q(x) - x||^2."""
        return squares(self(x) - x)

    def contraction(self, d: int) -> Certified:
        """The exact supremum, (d-1) / (4 s^2 + d - 1), where all coordinates but the largest are half a level."""
        return Certified((dimension(d) - 1) / (4 * self.s**2 + d - 1), EXACT)

    def q(self, d: int) -> Certified:
        """None for d > 1."""
        return nothing_lost(d) if dimension(d) == 1 else Certified(None, "biased: a small coordinate always goes to 0")

    def law(self, x: Sequence[Fraction]) -> Law:
        """One outcome."""
        exact = rational(x)
        norm = self._rational_norm(exact)
        return [(Fraction(1), tuple(norm * round(self.s * v / (norm or 1)) / self.s for v in exact))]
