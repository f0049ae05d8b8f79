"""Compressors that send some of the coordinates: all, k at random, each with a probability, the k largest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.arrays import at, is_tensor, like, namespace, smallest
from fedtheory.simulations.checked import Count
from fedtheory.simulations.compressors.base import (
    EVERYWHERE,
    EXACT,
    Compressor,
    Law,
    at_most,
    dimension,
    distinct,
    few_enough,
    independent,
    nothing_lost,
    rational,
    squares,
)
from fedtheory.simulations.compressors.wire import (
    FLOAT,
    Bits,
    Wire,
    as_floats,
    as_numbers,
    read_places,
    spread,
    width_of,
    write_places,
)
from fedtheory.simulations.constants import Certified
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.problems import Array


@dataclass(frozen=True)
class Identity(Compressor):
    """Q(x) = x."""

    def __call__(self, x: Array, draw: Draw | None = None) -> Array:
        """x itself."""
        return x

    def _error(self, x: Array) -> Array:
        """0."""
        return np.zeros(x.shape[:-1])

    def contraction(self, d: int) -> Certified:
        """0."""
        return nothing_lost(d)

    def bits(self, d: int) -> float:
        """32 d."""
        return float(FLOAT * dimension(d))

    def law(self, x: Sequence[Fraction]) -> Law:
        """x itself, with probability 1."""
        return [(Fraction(1), rational(x))]

    def moments(self, d: int) -> tuple[Array, Array]:
        """All 1."""
        return np.ones(dimension(d)), np.ones((d, d))

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        return as_floats(message)

    def _read(self, wire: Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        return wire.floats(d)


class _Mask(Compressor):
    """Q(x) = (m_1 x_1, ..., m_d x_d) for a random m with E[m] = 1 and E[m_i^2] = 1 + q: q is attained everywhere."""

    @abstractmethod
    def mask(self, draw: Draw, d: int) -> Array:
        """The mask m (N, *clients, d) of every key of the draw."""

    @abstractmethod
    def _q(self, d: int) -> float: ...

    def __call__(self, x: Array, draw: Draw) -> Array:
        """m x; a coordinate that is not finite stays so, whether kept or not."""
        return like(self.mask(self._coins(draw, x), x.shape[-1]), x) * x

    def _error(self, x: Array) -> Array:
        """q ||x||^2."""
        squares: Array = self._q(x.shape[-1]) * (x**2).sum(-1)
        return squares

    def contraction(self, d: int) -> Certified:
        """q, as above."""
        return Certified(self._q(dimension(d)), EVERYWHERE)


@dataclass(frozen=True)
class RandK(_Mask):
    """k of the d coordinates, uniformly without replacement, times d/k: q = d/k - 1.

    On the wire: k values, each with its index in ceil(log2 d) bits unless the mask is shared.
    Raises ValueError where d is known, for k > d.
    """

    k: Count
    shared: bool = False

    def mask(self, draw: Draw, d: int) -> Array:
        """(N, *clients, d): d/k on k coordinates."""
        k = at_most(self.k, d)
        uniform = draw.uniform(d)
        mask: Array = at(smallest(uniform, k), d / k, uniform)
        return mask

    def _q(self, d: int) -> float:
        return float(Fraction(d, at_most(self.k, d)) - 1)

    def bits(self, d: int) -> float:
        """k (32 + ceil(log2 d)), shared 32 k."""
        return float(at_most(self.k, d) * (FLOAT + (0 if self.shared else width_of(d))))

    def law(self, x: Sequence[Fraction]) -> Law:
        """The C(d, k) masks, all equally likely."""
        exact = rational(x)
        d, k = len(exact), at_most(self.k, len(exact))
        chance = Fraction(1, few_enough(comb(d, k), self.name))
        times = Fraction(d, k)
        masks = ([times * (i in some) for i in range(d)] for some in combinations(range(d), k))
        return distinct((chance, tuple(m * v for m, v in zip(mask, exact, strict=True))) for mask in masks)

    def moments(self, d: int) -> tuple[Array, Array]:
        """1; off the diagonal (d/k)(k-1)/(d-1), on it d/k."""
        k = at_most(self.k, d)
        second = np.full((d, d), d / k * (k - 1) / max(d - 1, 1))
        np.fill_diagonal(second, d / k)
        return np.ones(d), second

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        if mask is None:
            return write_places(message, at_most(self.k, message.size))
        return as_floats(message[mask])

    def _read(self, wire: Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        return read_places(wire, d, at_most(self.k, d)) if mask is None else spread(wire, mask)


@dataclass(frozen=True)
class _Toss(_Mask):
    """Coins with probability p of heads; on heads a coordinate is kept and divided by p."""

    p: Annotated[float | Fraction, "in (0, 1]"]
    shared: bool = False

    def _q(self, d: int) -> float:
        return float(1 / Fraction(self.p) - 1)

    def _kept(self, uniform: Array) -> Array:
        """1/p where the coin shows heads, else 0."""
        heads: Array = like(uniform < float(self.p), uniform)
        return heads / float(self.p)


@dataclass(frozen=True)
class Bernoulli(_Toss):
    """All of x / p with probability p, else 0, by one coin for each message: q = 1/p - 1.

    On the wire: the coin, unless it is shared, and on heads d values.
    """

    def mask(self, draw: Draw, d: int) -> Array:
        """(N, *clients, d): 1/p everywhere or nowhere."""
        coin = self._kept(draw.uniform(1))
        mask: Array = namespace(coin).broadcast_to(coin, (*coin.shape[:-1], d))
        return mask

    def bits(self, d: int) -> float:
        """1 + 32 p d, shared 32 p d: a message has 1 + 32 d bits or 1, shared 32 d or none."""
        return (0 if self.shared else 1) + FLOAT * float(self.p) * dimension(d)

    def law(self, x: Sequence[Fraction]) -> Law:
        """x / p or 0."""
        exact, p = rational(x), Fraction(self.p)
        return distinct([(p, tuple(v / p for v in exact)), (1 - p, tuple(Fraction(0) for _ in exact))])

    def moments(self, d: int) -> tuple[Array, Array]:
        """1; 1/p everywhere."""
        return np.ones(dimension(d)), np.full((d, d), 1 / float(self.p))

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        sent = message.any() if mask is None else mask.any()
        coin = as_numbers(np.array([sent], dtype=int), 1 if mask is None else 0)
        return np.concatenate([coin, as_floats(message if sent else message[:0])])

    def _read(self, wire: Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        sent = wire.numbers(1, 1).any() if mask is None else mask.any()
        return wire.floats(d) if sent else np.zeros(d)


@dataclass(frozen=True)
class Sparsifier(_Toss):
    """x_i / p with probability p, else 0, by one coin for each coordinate: q = 1/p - 1.

    On the wire: a bitmap of d bits, unless the mask is shared, and the values that are kept.
    """

    def mask(self, draw: Draw, d: int) -> Array:
        """(N, *clients, d): 1/p or 0."""
        return self._kept(draw.uniform(d))

    def bits(self, d: int) -> float:
        """d + 32 p d, shared 32 p d; the term 32 p d is the mean of 32 bits for each value sent."""
        return (0 if self.shared else d) + FLOAT * float(self.p) * dimension(d)

    def law(self, x: Sequence[Fraction]) -> Law:
        """The product of the laws of the coordinates."""
        p = Fraction(self.p)
        return independent(
            [[(p, v / p), (1 - p, Fraction(0))] if v else [(Fraction(1), v)] for v in rational(x)], self.name
        )

    def moments(self, d: int) -> tuple[Array, Array]:
        """1; 1, on the diagonal 1/p."""
        second = np.ones((dimension(d), d))
        np.fill_diagonal(second, 1 / float(self.p))
        return np.ones(d), second

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        if mask is not None:
            return as_floats(message[mask])
        kept = message != 0
        return np.concatenate([kept.astype(np.uint8), as_floats(message[kept])])

    def _read(self, wire: Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        return spread(wire, wire.numbers(d, 1) == 1 if mask is None else mask)


def _largest(x: Array, k: int) -> Array:
    """Which coordinates are the k largest in modulus, ties to the lower index, NaN last: (..., d) -> bools (..., d).

    Several times as fast as sorting.
    """
    d = x.shape[-1]
    sizes = np.where(np.isnan(x), -1.0, abs(x))
    least = np.partition(sizes, d - k, axis=-1)[..., d - k, None]
    larger, tied = sizes > least, sizes == least
    room = k - larger.sum(-1, keepdims=True)
    return np.asarray(larger | (tied & (np.cumsum(tied, -1) <= room)))


@dataclass(frozen=True)
class TopK(Compressor):
    """The k coordinates largest in modulus, ties to the lower index; biased.

    On the wire: k values, each with its index in ceil(log2 d) bits.
    Raises ValueError where d is known, for k > d.
    """

    k: Count

    unbiased = False

    def __call__(self, x: Array, draw: Draw | None = None) -> Array:
        """The k largest; a coordinate that is not finite stays so, whether kept or not."""
        k = at_most(self.k, x.shape[-1])
        if not is_tensor(x):
            return _largest(x, k) * x
        return at(namespace(x).argsort(-abs(x), axis=-1, stable=True)[..., :k], 1.0, x) * x

    def _error(self, x: Array) -> Array:
        """The sum of the squares that are left out."""
        return squares(self(x) - x)

    def contraction(self, d: int) -> Certified:
        """1 - k/d, attained where all moduli are equal."""
        return Certified(float(1 - Fraction(at_most(self.k, d), d)), EXACT)

    def q(self, d: int) -> Certified:
        """None for k < d."""
        if at_most(self.k, d) == d:
            return nothing_lost(d)
        return Certified(None, "biased: all but the largest coordinates always go to 0")

    def bits(self, d: int) -> float:
        """k (32 + ceil(log2 d))."""
        return float(at_most(self.k, d) * (FLOAT + width_of(d)))

    def law(self, x: Sequence[Fraction]) -> Law:
        """One outcome."""
        exact = rational(x)
        order = sorted(range(len(exact)), key=lambda i: (-abs(exact[i]), i))
        kept = set(order[: at_most(self.k, len(exact))])
        return [(Fraction(1), tuple(v if i in kept else Fraction(0) for i, v in enumerate(exact)))]

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        return write_places(message, at_most(self.k, message.size))

    def _read(self, wire: Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        return read_places(wire, d, at_most(self.k, d))
