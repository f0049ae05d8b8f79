"""Compressors that send signs, with a fixed step size or one that the message sets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.arrays import full, namespace, normal_cdf
from fedtheory.simulations.compressors.base import (
    EVERYWHERE,
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
from fedtheory.simulations.compressors.wire import FLOAT, Bits, Wire, as_floats
from fedtheory.simulations.constants import Certified
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.problems import Array


@dataclass(frozen=True)
class Signs(Compressor):
    """+-alpha in every coordinate; on the wire a bit for each, after alpha where the receiver does not know it.

    alpha  a step size > 0 that all know; None: x sets it, and it is a float32 on the wire
    """

    alpha: Annotated[float, "> 0"] | None = None

    unbiased = False

    @abstractmethod
    def up(self, x: Array) -> Array:
        """The probability of +alpha: (..., d) -> (..., d)."""

    @abstractmethod
    def size(self, x: Array) -> Array:
        """The alpha that x sets where `alpha` is None: (..., d) -> (..., 1)."""

    def step(self, x: Array) -> Array:
        """alpha: (..., d) -> (..., 1)."""
        return self.size(x) if self.alpha is None else full((*x.shape[:-1], 1), float(self.alpha), x)

    def __call__(self, x: Array, draw: Draw) -> Array:
        """Plus or minus alpha; NaN where x is."""
        xp, alpha = namespace(x), self.step(x)
        up = self._coins(draw, x).uniform(x.shape[-1]) < self.up(x)
        return xp.where(xp.isnan(x), x, xp.where(up, alpha, -alpha))

    def _error(self, x: Array) -> Array:
        """alpha^2 - 2 alpha x_i E[sign] + x_i^2, summed."""
        alpha = self.step(x)
        return (alpha**2 - 2 * alpha * x * (2 * self.up(x) - 1) + x**2).sum(-1)

    def contraction(self, d: int) -> Certified:
        """None: with a fixed alpha the error is d alpha^2 at 0."""
        dimension(d)
        return Certified(None, "unbounded: alpha does not shrink with x")

    def q(self, d: int) -> Certified:
        """None where Q is biased."""
        biased = not self.unbiased and self.alpha is None
        if dimension(d) == 1 and self.contraction(d).value == 0:
            return nothing_lost(d)
        return Certified(None, "biased: all coordinates get one size") if biased else self.contraction(d)

    def bits(self, d: int) -> float:
        """d, and 32 more where x sets alpha."""
        return float(dimension(d) + FLOAT * (self.alpha is None))

    def law(self, x: Sequence[Fraction]) -> Law:
        """The product of the laws of the coordinates."""
        exact = rational(x)
        alpha = self._exact_size(exact) if self.alpha is None else Fraction(self.alpha)
        chances = self._exact_up(exact)
        return independent(
            [[(up, alpha), (1 - up, -alpha)] if alpha else [(Fraction(1), alpha)] for up in chances], self.name
        )

    @abstractmethod
    def _exact_up(self, x: tuple[Fraction, ...]) -> list[Fraction]:
        """`up`, in fractions."""

    @abstractmethod
    def _exact_size(self, x: tuple[Fraction, ...]) -> Fraction:
        """`size`, in fractions."""

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        signs = (message > 0).astype(np.uint8)
        return signs if self.alpha is not None else np.concatenate([as_floats(np.abs(message[:1])), signs])

    def _read(self, wire: Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        alpha = float(wire.floats(1)[0]) if self.alpha is None else self.alpha
        return np.asarray(alpha * (2.0 * wire.numbers(d, 1) - 1))


@dataclass(frozen=True)
class Sign(Signs):
    """alpha sign(x), the sign of 0 being 1 (SignSGD); alpha None: ||x||_1 / d, the best for signs (EF-SignSGD)."""

    def up(self, x: Array) -> Array:
        """1 or 0."""
        up: Any = (x >= 0) * 1.0
        return up

    def size(self, x: Array) -> Array:
        """||x||_1 / d."""
        size: Array = abs(x).mean(-1, keepdims=True)
        return size

    def contraction(self, d: int) -> Certified:
        """alpha None: 1 - 1/d, as the error is ||x||^2 - ||x||_1^2 / d, attained with all but one coordinate 0."""
        return super().contraction(d) if self.alpha is not None else Certified(1 - 1 / dimension(d), EXACT)

    def _exact_up(self, x: tuple[Fraction, ...]) -> list[Fraction]:
        return [Fraction(v >= 0) for v in x]

    def _exact_size(self, x: tuple[Fraction, ...]) -> Fraction:
        return sum((abs(v) for v in x), Fraction(0)) / len(x)


class _Proportional(Signs):
    """+alpha with probability (1 + x_i/size) / 2, else -alpha; alpha None: size, and then E Q(x) = x."""

    @property
    def unbiased(self) -> bool:  # type: ignore[override]
        """True where x sets alpha."""
        return self.alpha is None

    def up(self, x: Array) -> Array:
        """(1 + x_i/size) / 2."""
        size = self.size(x)
        return (1 + x / namespace(x).where(size == 0, 1.0, size)) / 2

    def _exact_up(self, x: tuple[Fraction, ...]) -> list[Fraction]:
        size = self._exact_size(x) or 1
        return [(1 + v / size) / 2 for v in x]


@dataclass(frozen=True, repr=False)
class StochasticSign(_Proportional):
    """+alpha with probability (1 + x_i/||x||) / 2, else -alpha; alpha None: ||x||, and then E Q(x) = x and q = d - 1.

    With a fixed alpha: Stoc-SignSGD as in Section 1 of the FedBAT paper, E Q(x) = (alpha/||x||) x.
    """

    def __repr__(self) -> str:
        return "StochasticSign()" if self.alpha is None else f"StochasticSign(alpha={self.alpha})"

    def size(self, x: Array) -> Array:
        """||x||."""
        return euclidean(x)

    def _error(self, x: Array) -> Array:
        """alpha None: (d - 1) ||x||^2."""
        return super()._error(x) if self.alpha is not None else (x.shape[-1] - 1) * squares(x)

    def contraction(self, d: int) -> Certified:
        """alpha None: d - 1, as ||Q(x)||^2 is always d ||x||^2."""
        return super().contraction(d) if self.alpha is not None else Certified(float(dimension(d) - 1), EVERYWHERE)

    def _exact_size(self, x: tuple[Fraction, ...]) -> Fraction:
        return exact_euclidean(x)


@dataclass(frozen=True)
class MaxSign(_Proportional):
    """+alpha with probability (1 + x_i/||x||_oo) / 2, else -alpha; alpha None: ||x||_oo, and then E Q(x) = x and q = d - 1.

    This is FedBAT's operator as analysed.  With a fixed alpha: Stoc-SignSGD as in FedBAT's experiments, E Q(x) =
    (alpha/||x||_oo) x.
    """

    def size(self, x: Array) -> Array:
        """||x||_oo."""
        return largest(x)

    def contraction(self, d: int) -> Certified:
        """alpha None: d - 1, as the error is d ||x||_oo^2 - ||x||^2, attained with all but one coordinate 0."""
        return super().contraction(d) if self.alpha is not None else Certified(float(dimension(d) - 1), EXACT)

    def _exact_size(self, x: tuple[Fraction, ...]) -> Fraction:
        return max(abs(v) for v in x)


@dataclass(frozen=True)
class NoisySign(Sign):
    """alpha sign(x + noise), noise normal with standard deviation `noise` in every coordinate (Noisy-SignSGD).

    noise  > 0

    alpha as in `Sign`.
    """

    noise: Annotated[float, "> 0"] = 0.01

    def up(self, x: Array) -> Array:
        """The normal distribution function of x_i / noise."""
        return normal_cdf(x / self.noise)

    def contraction(self, d: int) -> Certified:
        """alpha None: 2, as the error is at most ||x||^2 + ||x||_1^2 / d, that of random signs, and near 0 almost that."""
        found = Certified(2.0, "exact supremum, near 0 along equal coordinates; not attained")
        return super().contraction(d) if self.alpha is not None else found

    def _exact_up(self, x: tuple[Fraction, ...]) -> list[Fraction]:
        raise ValueError(f"{self.name}: its probabilities are irrational, expected another compressor")
