"""Compressors Q of messages in R^d: what they send, what it costs in bits, and their constants, exact where said so.

The letters are those of "Federated Learning with Compression: Unified Analysis and Sharp Guarantees" (FedCOM):
Assumption 2, E Q(x) = x and E||Q(x) - x||^2 <= q ||x||^2; Assumption 5, about a mean over m clients, with G_q.

    Q = QSGD(s=4)
    Q(x, draws.codes(clients, Q.shared)), Q.q(d), Q.bits(d), Q.encode(message), Q.law(fractions)

Runs keep doubles; on the wire a norm or a value is a float32.  Every compressor here satisfies Q(t x) = t Q(x) in law
for t > 0, and Q(0) = 0, but for `NoisySign` and for signs with a step size of their own.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from itertools import combinations, product
from math import comb, isqrt, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulations.arrays import at, full, like, namespace, normal_cdf, smallest
from simulations.constants import Certified
from simulations.draws import Draw
from simulations.problems import Array

Law = list[tuple[Fraction, tuple[Fraction, ...]]]  # (probability, outcome), the outcomes distinct
Bits = NDArray[np.uint8]  # one bit each

_MOST_OUTCOMES = 4096
_FLOAT = 32  # bits of a number on the wire
_EXACT = "exact, attained"
_EVERYWHERE = "exact, attained by every x"


class Compressor(ABC):
    """A random map Q of R^d, for every d that its parameters allow; the name is the expression that builds it.

    unbiased  E Q(x) = x for every x and d
    shared    all clients of a round toss the same coins; only linear compressors can
    """

    unbiased: bool = True
    shared: bool = False

    @property
    def name(self) -> str:
        """The expression that builds it."""
        return repr(self)

    @abstractmethod
    def __call__(self, x: Array, draw: Draw) -> Array:
        """Q(x) along the last axis: x (..., N, *clients, d) -> the same shape; not finite where x is not.

        The coins have the keys (N, *clients), or (N, 1) where they are shared; deterministic compressors ignore them.
        Raises ValueError for other keys, or a d that the parameters do not allow.
        """

    @abstractmethod
    def error(self, x: Array) -> Array:
        """E||Q(x) - x||^2 in closed form: (..., d) -> (...)."""

    @abstractmethod
    def contraction(self, d: int) -> Certified:
        """The smallest c with E||Q(x) - x||^2 <= c ||x||^2 for all x in R^d; unbiased: the q of Assumption 2."""

    def q(self, d: int) -> Certified:
        """The smallest q of Assumption 2 in R^d; for a biased compressor, why there is none."""
        return self.contraction(d)

    @abstractmethod
    def bits(self, d: int) -> float:
        """Bits on the wire for one message, in expectation over the coins for an x without zeros.

        Only `Bernoulli` and `Sparsifier` have messages of different lengths.
        """

    @abstractmethod
    def law(self, x: Sequence[Fraction]) -> Law:
        """The law of Q(x), all outcomes of positive probability.

        Raises ValueError for more than 4096 outcomes, or where the norm that Q sends is irrational.
        """

    def moments(self, d: int) -> tuple[Array, Array] | None:
        """E[m] (d,) and E[m m'] (d, d) where Q(x) = (m_1 x_1, ..., m_d x_d), as `moments.mask` takes them; else None."""
        return None

    def encode(self, message: ArrayLike, mask: ArrayLike | None = None) -> bytes:
        """An output of Q (d,), packed; the last byte is filled up with zeros.

        mask  (d,), not zero where a coordinate is kept: needed where the coins are shared, so known to the receiver

        Raises ValueError for a message that is no output of Q, or out of the range of float32.
        """
        sent = np.asarray(message, dtype=float)
        if sent.ndim != 1 or not sent.size or not np.isfinite(sent).all():
            raise ValueError(f"message of shape {sent.shape}: expected (d,), d >= 1, of finite numbers")
        with np.errstate(over="ignore", invalid="ignore"):  # out of range: found by the comparison below
            data = np.packbits(self._write(sent, self._known(mask, sent.size))).tobytes()
            lost = np.abs(self.decode(data, sent.size, mask) - sent).max()
        if not lost <= 2.0**-23 * np.abs(sent).max() + 2.0**-149:
            raise ValueError(f"message {sent}: expected an output of {self.name}, in the range of float32")
        return data

    def decode(self, data: bytes, d: int, mask: ArrayLike | None = None) -> Array:
        """The message (d,) that `encode` packed.  Raises ValueError for data of another length."""
        wire = _Wire(data)
        message = self._read(wire, _dimension(d), self._known(mask, d))
        wire.end()
        return message

    @abstractmethod
    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        """The bits of a message; `mask` is given if and only if it is shared."""

    @abstractmethod
    def _read(self, wire: _Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        """The message of these bits."""

    def _known(self, mask: ArrayLike | None, d: int) -> NDArray[np.bool_] | None:
        if not self.shared:
            return None
        if mask is None:
            raise ValueError(f"no mask: expected one, as the coins of {self.name} are shared")
        known = np.asarray(mask) != 0
        if known.shape != (d,):
            raise ValueError(f"mask of shape {known.shape}: expected ({d},)")
        return known

    def _coins(self, draw: Draw, x: Array) -> Draw:
        """The draw, if it has coins for every client of x, or one set where they are shared."""
        keys = draw.local.keys.shape
        runs = x.shape[-1 - len(keys) : -1]
        expected = (*runs[:1], *[1] * (len(runs) - 1)) if self.shared else runs
        if keys != expected:
            raise ValueError(f"coins with keys {keys} for x of shape {x.shape}: expected {expected}")
        return draw


# ---------------------------------------------------------------------------------------------- nothing and masks


@dataclass(frozen=True)
class Identity(Compressor):
    """Q(x) = x."""

    def __call__(self, x: Array, draw: Draw | None = None) -> Array:
        """x itself."""
        return x

    def error(self, x: Array) -> Array:
        """0."""
        return np.zeros(x.shape[:-1])

    def contraction(self, d: int) -> Certified:
        """0."""
        return _nothing_lost(d)

    def bits(self, d: int) -> float:
        """32 d."""
        return float(_FLOAT * _dimension(d))

    def law(self, x: Sequence[Fraction]) -> Law:
        """x itself, with probability 1."""
        return [(Fraction(1), _rational(x))]

    def moments(self, d: int) -> tuple[Array, Array]:
        """All 1."""
        return np.ones(_dimension(d)), np.ones((d, d))

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        return _floats(message)

    def _read(self, wire: _Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        return wire.floats(d)


class _Mask(Compressor):
    """Q(x) = (m_1 x_1, ..., m_d x_d) for a random m with E[m] = 1 and E[m_i^2] = 1 + q: q is attained everywhere."""

    @abstractmethod
    def mask(self, draw: Draw, d: int) -> Array:
        """The mask m (N, *clients, d) of every key of the draw."""

    @abstractmethod
    def _q(self, d: int) -> float: ...

    def __call__(self, x: Array, draw: Draw) -> Array:
        """m x: a coordinate that is not finite stays so, kept or not."""
        return like(self.mask(self._coins(draw, x), x.shape[-1]), x) * x

    def error(self, x: Array) -> Array:
        """q ||x||^2."""
        squares: Array = self._q(x.shape[-1]) * (x**2).sum(-1)
        return squares

    def contraction(self, d: int) -> Certified:
        """q, as above."""
        return Certified(self._q(_dimension(d)), _EVERYWHERE)


@dataclass(frozen=True)
class RandK(_Mask):
    """k of the d coordinates, uniformly without replacement, times d/k: q = d/k - 1.

    On the wire k values, each with its index in ceil(log2 d) bits unless the mask is shared.
    Raises ValueError for a k that is no whole number >= 1, and, where d is known, for k > d.
    """

    k: int
    shared: bool = False

    def __post_init__(self) -> None:
        _whole("k", self.k)

    def mask(self, draw: Draw, d: int) -> Array:
        """(N, *clients, d): d/k on k coordinates."""
        k = _kept(self.k, d)
        uniform = draw.uniform(d)
        mask: Array = at(smallest(uniform, k), d / k, uniform)
        return mask

    def _q(self, d: int) -> float:
        return float(Fraction(d, _kept(self.k, d)) - 1)

    def bits(self, d: int) -> float:
        """k (32 + ceil(log2 d)), shared 32 k."""
        return float(_kept(self.k, d) * (_FLOAT + (0 if self.shared else _width(d))))

    def law(self, x: Sequence[Fraction]) -> Law:
        """The C(d, k) masks, all equally likely."""
        exact = _rational(x)
        d, k = len(exact), _kept(self.k, len(exact))
        chance = Fraction(1, _count(comb(d, k), self.name))
        times = Fraction(d, k)
        masks = ([times * (i in some) for i in range(d)] for some in combinations(range(d), k))
        return _distinct((chance, tuple(m * v for m, v in zip(mask, exact, strict=True))) for mask in masks)

    def moments(self, d: int) -> tuple[Array, Array]:
        """1; off the diagonal (d/k)(k-1)/(d-1), on it d/k."""
        k = _kept(self.k, d)
        second = np.full((d, d), d / k * (k - 1) / max(d - 1, 1))
        np.fill_diagonal(second, d / k)
        return np.ones(d), second

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        if mask is None:
            return _write_places(message, _kept(self.k, message.size))
        return _floats(message[mask])

    def _read(self, wire: _Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        return _read_places(wire, d, _kept(self.k, d)) if mask is None else _spread(wire, mask)


@dataclass(frozen=True)
class _Toss(_Mask):
    """Coins that show heads with probability p, and then a coordinate is kept and divided by p."""

    p: float | Fraction
    shared: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.p, int | float | np.number | Fraction) and 0 < self.p <= 1):
            raise ValueError(f"p = {self.p}: expected a probability in (0, 1]")

    def _q(self, d: int) -> float:
        return float(1 / Fraction(self.p) - 1)

    def _kept(self, uniform: Array) -> Array:
        """1/p where the coin shows heads, else 0."""
        heads: Array = like(uniform < float(self.p), uniform)
        return heads / float(self.p)


@dataclass(frozen=True)
class Bernoulli(_Toss):
    """The whole of x / p with probability p, else 0, by one coin a message: q = 1/p - 1.

    On the wire the coin, unless it is shared, and d values if it shows that they are sent.
    Raises ValueError for p outside (0, 1].
    """

    def mask(self, draw: Draw, d: int) -> Array:
        """(N, *clients, d): 1/p everywhere or nowhere."""
        coin = self._kept(draw.uniform(1))
        mask: Array = namespace(coin).broadcast_to(coin, (*coin.shape[:-1], d))
        return mask

    def bits(self, d: int) -> float:
        """1 + 32 p d, shared 32 p d; the message has 1 + 32 d or 1, shared 32 d or none."""
        return (0 if self.shared else 1) + _FLOAT * float(self.p) * _dimension(d)

    def law(self, x: Sequence[Fraction]) -> Law:
        """x / p or 0."""
        exact, p = _rational(x), Fraction(self.p)
        return _distinct([(p, tuple(v / p for v in exact)), (1 - p, tuple(Fraction(0) for _ in exact))])

    def moments(self, d: int) -> tuple[Array, Array]:
        """1; 1/p everywhere."""
        return np.ones(_dimension(d)), np.full((d, d), 1 / float(self.p))

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        sent = message.any() if mask is None else mask.any()
        coin = _numbers(np.array([sent], dtype=int), 1 if mask is None else 0)
        return np.concatenate([coin, _floats(message if sent else message[:0])])

    def _read(self, wire: _Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        sent = wire.numbers(1, 1).any() if mask is None else mask.any()
        return wire.floats(d) if sent else np.zeros(d)


@dataclass(frozen=True)
class Sparsifier(_Toss):
    """x_i / p with probability p, else 0, by one coin a coordinate: q = 1/p - 1.

    On the wire a bitmap of d bits, unless the mask is shared, and the values that are kept.
    Raises ValueError for p outside (0, 1].
    """

    def mask(self, draw: Draw, d: int) -> Array:
        """(N, *clients, d): 1/p or 0."""
        return self._kept(draw.uniform(d))

    def bits(self, d: int) -> float:
        """d + 32 p d, shared 32 p d; the message has 32 for each value in place of 32 p d."""
        return (0 if self.shared else d) + _FLOAT * float(self.p) * _dimension(d)

    def law(self, x: Sequence[Fraction]) -> Law:
        """The product of the laws of the coordinates."""
        p = Fraction(self.p)
        return independent(
            [[(p, v / p), (1 - p, Fraction(0))] if v else [(Fraction(1), v)] for v in _rational(x)], self.name
        )

    def moments(self, d: int) -> tuple[Array, Array]:
        """1; 1, on the diagonal 1/p."""
        second = np.ones((_dimension(d), d))
        np.fill_diagonal(second, 1 / float(self.p))
        return np.ones(d), second

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        if mask is not None:
            return _floats(message[mask])
        kept = message != 0
        return np.concatenate([kept.astype(np.uint8), _floats(message[kept])])

    def _read(self, wire: _Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        return _spread(wire, wire.numbers(d, 1) == 1 if mask is None else mask)


# ---------------------------------------------------------------------------------------------- levels of a norm


@dataclass(frozen=True)
class _Levels(Compressor):
    """Q(x)_i = norm * sign(x_i) * l_i / s, l_i one of the two whole numbers about t_i = s |x_i| / norm, E[l_i] = t_i.

    s  number of levels above 0
    """

    s: int

    def __post_init__(self) -> None:
        _whole("s", self.s)

    def _norm(self, x: Array) -> Array:
        """(..., d) -> (..., 1); the largest modulus, unless overridden, as in the next two."""
        return _largest(x)

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
        """Up with probability t_i - floor(t_i), else down."""
        norm, t = self._levels(x)
        xp = namespace(x)
        low = xp.floor(t)
        up = self._coins(draw, x).uniform(x.shape[-1]) < t - low
        return self._value(norm, xp.copysign(low + up, x))

    def error(self, x: Array) -> Array:
        """(norm / s)^2 times the sum of (t_i - l)(l + 1 - t_i), l = floor(t_i)."""
        norm, t = self._levels(x)
        part = t - np.floor(t)
        squares: Array = (norm[..., 0] / self.s) ** 2 * (part * (1 - part)).sum(-1)
        return squares

    def bits(self, d: int) -> float:
        """32 + d ceil(log2(2 s + 1))."""
        return float(_FLOAT + _dimension(d) * _width(2 * self.s + 1))

    def law(self, x: Sequence[Fraction]) -> Law:
        """The product of the laws of the coordinates, where the norm is rational."""
        exact = _rational(x)
        norm = self._rational_norm(exact)
        parts = []
        for v in exact:
            t = self.s * v / (norm or 1)
            low = t // 1
            parts.append([(low + 1 - t, norm * low / self.s), (t - low, norm * (low + 1) / self.s)])
        return independent(parts, self.name)

    def _value(self, norm: Array, signed: Array) -> Array:
        return norm * (signed / self.s)  # in this order, the level s gives the norm back exactly

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
        return np.concatenate([_floats(np.array([norm])), _numbers(signed + self.s, _width(2 * self.s + 1))])

    def _read(self, wire: _Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        norm = wire.floats(1)
        signed = wire.numbers(d, _width(2 * self.s + 1)) - self.s
        if (signed > self.s).any():
            raise ValueError(f"level {signed.max()}: expected at most s = {self.s}")
        return self._value(norm, signed.astype(float))


@dataclass(frozen=True)
class QSGD(_Levels):
    """Stochastic quantisation to s levels of the Euclidean norm (Alistarh et al., NeurIPS 2017, Section 3.1), FedPAQ's too.

    On the wire the norm, and ceil(log2(2 s + 1)) bits a coordinate for sign and level.
    Raises ValueError for an s that is no whole number >= 1.
    """

    def _norm(self, x: Array) -> Array:
        return _euclidean(x)

    def _rational_norm(self, x: tuple[Fraction, ...]) -> Fraction:
        return _exact_euclidean(x)

    def _norms(self, message: Array) -> Iterable[float]:
        # a message does not tell which level its largest entry has; the norm that float32 holds best is taken
        largest = float(np.abs(message).max())
        return (largest * self.s / level for level in range(self.s, 0, -1))

    def contraction(self, d: int) -> Certified:
        """The exact supremum, (d - (sqrt(A) - 2s)^2) / (4 s^2), A the sum of d odd squares for which it is largest.

        With ||x|| = s the error is the sum of the (x_i - l)(l + 1 - x_i), each the largest over whole l >= 0; for fixed
        l_i, with a_i = 2 l_i + 1, Cauchy and Schwarz give d/4 - (||a||/2 - s)^2, attained at x = s a / ||a||.  Sums of
        d >= 3 odd squares are all numbers d, d + 8, d + 16 ... (Gauss: three triangular numbers make any number).
        For d >= 4 s^2 it is sqrt(d)/s - 1; it is never above d / (4 s^2).
        """
        if _dimension(d) == 1:
            return _nothing_lost(d)
        aim = 4 * self.s**2
        if d == 2:
            roots = {a: isqrt(aim - a * a) for a in range(1, 2 * self.s, 2)}
            sums = {a * a + b * b for a, root in roots.items() for b in (root - 1 | 1, root + 1 | 1)}
        else:
            below = d + max(0, aim - d) // 8 * 8
            sums = {below, below + 8}
        # sqrt(A) - 2s, without cancellation
        distance = min(abs(A - aim) / (sqrt(A) + 2 * self.s) for A in sums)
        return Certified((d - distance**2) / aim, _EXACT)

    def q_published(self, d: int) -> Certified:
        """min(d / s^2, sqrt(d) / s), Alistarh et al. 2017, Lemma 3.1; above the exact q for every d and s."""
        bound = min(_dimension(d) / self.s**2, sqrt(d) / self.s)
        return Certified(bound, f"proved bound, not the supremum; that is {self.q(d).value:.6g}")


@dataclass(frozen=True)
class Dithering(_Levels):
    """Random dithering: stochastic quantisation to s levels of the largest modulus.

    On the wire the largest modulus, and ceil(log2(2 s + 1)) bits a coordinate for sign and level.
    Raises ValueError for an s that is no whole number >= 1.
    """

    def contraction(self, d: int) -> Certified:
        """The exact supremum, (sqrt(1 + (d-1)/s^2) - 1) / 2.

        One coordinate is the norm, without error.  With norm s, each of the others contributes to error - q ||x||^2 at
        most 1 / (4 (1 + q)), at 1 / (2 (1 + q)), below the first level; so (d-1) / (4 (1 + q)) = q s^2, and all of them
        attain it at once.
        """
        ratio = (_dimension(d) - 1) / self.s**2
        return Certified(ratio / (2 * (sqrt(1 + ratio) + 1)), _EXACT)


@dataclass(frozen=True)
class Rounding(_Levels):
    """Deterministic rounding to the nearest of s levels of the largest modulus, ties to the even level; biased.

    On the wire the largest modulus, and ceil(log2(2 s + 1)) bits a coordinate for sign and level.
    Raises ValueError for an s that is no whole number >= 1.
    """

    unbiased = False

    def __call__(self, x: Array, draw: Draw | None = None) -> Array:
        """The nearest levels."""
        (norm, t), xp = self._levels(x), namespace(x)
        return self._value(norm, xp.copysign(xp.round(t), x))

    def error(self, x: Array) -> Array:
        """||Q(x) - x||^2."""
        return _squares(self(x) - x)

    def contraction(self, d: int) -> Certified:
        """The exact supremum, (d-1) / (4 s^2 + d - 1): all but the largest coordinate half a level."""
        return Certified((_dimension(d) - 1) / (4 * self.s**2 + d - 1), _EXACT)

    def q(self, d: int) -> Certified:
        """None for d > 1."""
        return (
            _nothing_lost(d) if _dimension(d) == 1 else Certified(None, "biased: a small coordinate always goes to 0")
        )

    def law(self, x: Sequence[Fraction]) -> Law:
        """One outcome."""
        exact = _rational(x)
        norm = self._rational_norm(exact)
        return [(Fraction(1), tuple(norm * round(self.s * v / (norm or 1)) / self.s for v in exact))]


# --------------------------------------------------------------------------------------------- largest, signs


@dataclass(frozen=True)
class TopK(Compressor):
    """The k coordinates largest in modulus, ties to the lower index; biased.

    On the wire k values, each with its index in ceil(log2 d) bits.
    Raises ValueError for a k that is no whole number >= 1, and, where d is known, for k > d.
    """

    k: int

    unbiased = False

    def __post_init__(self) -> None:
        _whole("k", self.k)

    def __call__(self, x: Array, draw: Draw | None = None) -> Array:
        """The k largest; a coordinate that is not finite stays so, kept or not."""
        k = _kept(self.k, x.shape[-1])
        return at(namespace(x).argsort(-abs(x), axis=-1, stable=True)[..., :k], 1.0, x) * x

    def error(self, x: Array) -> Array:
        """The squares left out."""
        return _squares(self(x) - x)

    def contraction(self, d: int) -> Certified:
        """1 - k/d, attained where all moduli agree."""
        return Certified(float(1 - Fraction(_kept(self.k, d), d)), _EXACT)

    def q(self, d: int) -> Certified:
        """None for k < d."""
        if _kept(self.k, d) == d:
            return _nothing_lost(d)
        return Certified(None, "biased: all but the largest coordinates always go to 0")

    def bits(self, d: int) -> float:
        """k (32 + ceil(log2 d))."""
        return float(_kept(self.k, d) * (_FLOAT + _width(d)))

    def law(self, x: Sequence[Fraction]) -> Law:
        """One outcome."""
        exact = _rational(x)
        order = sorted(range(len(exact)), key=lambda i: (-abs(exact[i]), i))
        kept = set(order[: _kept(self.k, len(exact))])
        return [(Fraction(1), tuple(v if i in kept else Fraction(0) for i, v in enumerate(exact)))]

    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        return _write_places(message, _kept(self.k, message.size))

    def _read(self, wire: _Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        return _read_places(wire, d, _kept(self.k, d))


@dataclass(frozen=True)
class _Signs(Compressor):
    """+-alpha in every coordinate: a bit each on the wire, with alpha before them where the receiver does not know it.

    alpha  a step size > 0 that all know; None: by x, and in float32 on the wire

    Raises ValueError for another alpha.
    """

    alpha: float | None = None

    unbiased = False

    def __post_init__(self) -> None:
        if self.alpha is not None and not (np.isfinite(self.alpha) and self.alpha > 0):
            raise ValueError(f"alpha = {self.alpha}: expected a finite number > 0, or None")

    @abstractmethod
    def up(self, x: Array) -> Array:
        """The probability of +alpha: (..., d) -> (..., d)."""

    @abstractmethod
    def size(self, x: Array) -> Array:
        """Where alpha is None, what it is by x: (..., d) -> (..., 1)."""

    def step(self, x: Array) -> Array:
        """alpha: (..., d) -> (..., 1)."""
        return self.size(x) if self.alpha is None else full((*x.shape[:-1], 1), float(self.alpha), x)

    def __call__(self, x: Array, draw: Draw) -> Array:
        """Plus or minus alpha; NaN where x is."""
        xp, alpha = namespace(x), self.step(x)
        up = self._coins(draw, x).uniform(x.shape[-1]) < self.up(x)
        return xp.where(xp.isnan(x), x, xp.where(up, alpha, -alpha))

    def error(self, x: Array) -> Array:
        """alpha^2 - 2 alpha x_i E[sign] + x_i^2, summed."""
        alpha = self.step(x)
        return (alpha**2 - 2 * alpha * x * (2 * self.up(x) - 1) + x**2).sum(-1)

    def contraction(self, d: int) -> Certified:
        """None: with an alpha of its own the error is d alpha^2 at 0."""
        _dimension(d)
        return Certified(None, "unbounded: alpha does not shrink with x")

    def q(self, d: int) -> Certified:
        """None where Q is biased."""
        biased = not self.unbiased and self.alpha is None
        if _dimension(d) == 1 and self.contraction(d).value == 0:
            return _nothing_lost(d)
        return Certified(None, "biased: all coordinates get one size") if biased else self.contraction(d)

    def bits(self, d: int) -> float:
        """d, and 32 for an alpha that goes by x."""
        return float(_dimension(d) + _FLOAT * (self.alpha is None))

    def law(self, x: Sequence[Fraction]) -> Law:
        """The product of the laws of the coordinates."""
        exact = _rational(x)
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
        return signs if self.alpha is not None else np.concatenate([_floats(np.abs(message[:1])), signs])

    def _read(self, wire: _Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
        alpha = float(wire.floats(1)[0]) if self.alpha is None else self.alpha
        return np.asarray(alpha * (2.0 * wire.numbers(d, 1) - 1))


@dataclass(frozen=True)
class Sign(_Signs):
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
        return super().contraction(d) if self.alpha is not None else Certified(1 - 1 / _dimension(d), _EXACT)

    def _exact_up(self, x: tuple[Fraction, ...]) -> list[Fraction]:
        return [Fraction(v >= 0) for v in x]

    def _exact_size(self, x: tuple[Fraction, ...]) -> Fraction:
        return sum((abs(v) for v in x), Fraction(0)) / len(x)


class _Proportional(_Signs):
    """+alpha with probability (1 + x_i/size) / 2, else -alpha; alpha None: size, and then E Q(x) = x."""

    @property
    def unbiased(self) -> bool:  # type: ignore[override]
        """Where alpha goes by x."""
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

    With an alpha of its own Stoc-SignSGD as Section 1 of the FedBAT paper has it, E Q(x) = (alpha/||x||) x.
    """

    def __repr__(self) -> str:
        return "StochasticSign()" if self.alpha is None else f"StochasticSign(alpha={self.alpha})"

    def size(self, x: Array) -> Array:
        """||x||."""
        return _euclidean(x)

    def error(self, x: Array) -> Array:
        """alpha None: (d - 1) ||x||^2."""
        return super().error(x) if self.alpha is not None else (x.shape[-1] - 1) * _squares(x)

    def contraction(self, d: int) -> Certified:
        """alpha None: d - 1, as ||Q(x)||^2 is always d ||x||^2."""
        return super().contraction(d) if self.alpha is not None else Certified(float(_dimension(d) - 1), _EVERYWHERE)

    def _exact_size(self, x: tuple[Fraction, ...]) -> Fraction:
        return _exact_euclidean(x)


@dataclass(frozen=True)
class MaxSign(_Proportional):
    """+alpha with probability (1 + x_i/||x||_oo) / 2, else -alpha; alpha None: ||x||_oo, and then E Q(x) = x and q = d - 1.

    FedBAT's operator as it is analysed; with an alpha of its own Stoc-SignSGD as its experiments run it, E Q(x) =
    (alpha/||x||_oo) x.
    """

    def size(self, x: Array) -> Array:
        """||x||_oo."""
        return _largest(x)

    def contraction(self, d: int) -> Certified:
        """alpha None: d - 1, as the error is d ||x||_oo^2 - ||x||^2, attained with all but one coordinate 0."""
        return super().contraction(d) if self.alpha is not None else Certified(float(_dimension(d) - 1), _EXACT)

    def _exact_size(self, x: tuple[Fraction, ...]) -> Fraction:
        return max(abs(v) for v in x)


@dataclass(frozen=True)
class NoisySign(Sign):
    """alpha sign(x + noise), noise normal with standard deviation `noise` in every coordinate (Noisy-SignSGD).

    noise  > 0; what alpha is and what raises ValueError: see `Sign`; also another noise
    """

    noise: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.isfinite(self.noise) and self.noise > 0):
            raise ValueError(f"noise = {self.noise}: expected a finite number > 0")

    def up(self, x: Array) -> Array:
        """The normal distribution function of x_i / noise."""
        return normal_cdf(x / self.noise)

    def contraction(self, d: int) -> Certified:
        """alpha None: 2, as the error is at most ||x||^2 + ||x||_1^2 / d, that of tossed signs, and near 0 almost so."""
        found = Certified(2.0, "exact supremum, near 0 along equal coordinates; not attained")
        return super().contraction(d) if self.alpha is not None else found

    def _exact_up(self, x: tuple[Fraction, ...]) -> list[Fraction]:
        raise ValueError(f"{self.name}: its probabilities are irrational, expected another compressor")


COMPRESSORS: dict[str, Callable[..., Compressor]] = {
    kind.__name__: kind
    for kind in (
        Identity,
        RandK,
        TopK,
        QSGD,
        Dithering,
        Rounding,
        Bernoulli,
        Sparsifier,
        StochasticSign,
        Sign,
        MaxSign,
        NoisySign,
    )
}


def from_text(text: str) -> Compressor:
    """A compressor by its expression, RandK(k=2, shared=True), or in short, RandK:2:shared; numbers may be fractions.

    Raises ValueError that names the compressor's own letters.
    """
    name, sign, rest = re.fullmatch(r"\s*(\w*)\s*([(:]?)(.*?)\)?\s*", text, re.DOTALL).groups()  # type: ignore[union-attr]
    if name not in COMPRESSORS:
        near = get_close_matches(name, COMPRESSORS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(COMPRESSORS)}"
        raise ValueError(f"unknown compressor {name!r}; {hint}")
    parts = [part.strip() for part in rest.split(":" if sign == ":" else ",") if part.strip()]
    try:
        values = [_read(part.partition("=")[2]) if "=" in part else _read(part) for part in parts if part != "shared"]
        names = [part.partition("=")[0].strip() for part in parts if "=" in part]
        given = dict(zip(names, values[len(values) - len(names) :], strict=True))
        shared = {"shared": True} if "shared" in parts else {}
        return COMPRESSORS[name](*values[: len(values) - len(names)], **given, **shared)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        letters = ", ".join(inspect.signature(COMPRESSORS[name]).parameters) or "nothing"
        told = "" if isinstance(error, TypeError) else f"{error}; "
        raise ValueError(
            f"compressor {text!r}: {told}expected {name} with {letters}, such as RandK:2:shared or QSGD(s=7)"
        ) from None


def _read(text: str) -> Any:
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    number = Fraction(text.strip())
    return int(number) if number.denominator == 1 else float(number)


# ------------------------------------------------------------------------------------------------- Assumption 5


def G_q(compressor: Compressor, d: int, m: int) -> Certified:
    """The smallest G_q of Assumption 5 for all x_1 ... x_m in R^d, 0, or why there is none.

    Both sides scale with the square of the x_j, so the left side is unbounded as soon as it is positive somewhere.
    Raises ValueError for an m that is no whole number >= 1.
    """
    _whole("m", m)
    if compressor.contraction(d).value == 0:
        return _nothing_lost(d)
    if m == 1:
        return Certified(0.0, "exact: the mean over one client is that client's message")
    if isinstance(compressor, _Signs) and compressor.alpha is not None:
        return Certified(0.0, "exact: all messages have one norm, which no mean of messages exceeds")
    if compressor.shared:
        return Certified(0.0, "exact: with the same coins for all clients Q is linear, so the two means agree")
    if compressor.unbiased:
        why = "at x_1 = v, x_2 = -v, the others 0, the left side is 2 E||Q(v) - v||^2 / m^2"
    else:
        why = "there are x_1 and x_2 with x_1 + x_2 as small as one likes, but Q(x_1) + Q(x_2) not"
    return Certified(None, f"unbounded: {why}, and it grows with the square of the points")


def G_q_on(compressor: Compressor, points: ArrayLike) -> float:
    """The left side of Assumption 5 at x_1 ... x_m (m, d), E||mean of the Q(x_j)||^2 - E||Q(mean of the x_j)||^2.

    Exact up to rounding: from the closed forms of the errors, or, for a biased compressor, from its law.
    Raises ValueError for points of another shape, or not finite.
    """
    x = np.asarray(points, dtype=float)
    if x.ndim != 2 or not x.size or not np.isfinite(x).all():
        raise ValueError(f"points of shape {x.shape}: expected (m, d), m >= 1, d >= 1, of finite numbers")
    if compressor.shared:
        return 0.0
    m, mean = len(x), x.mean(0)
    if compressor.unbiased:  # the means cancel, the variances do not
        return float(compressor.error(x).sum() / m**2 - compressor.error(mean))
    means, squares = _by_law(compressor, x)
    variances = squares.sum() - _squares(means).sum()
    return float(variances / m**2 + _squares(means.mean(0)) - _by_law(compressor, mean[None])[1][0])


def _by_law(compressor: Compressor, x: Array) -> tuple[Array, Array]:
    """E Q(x) (m, d) and E||Q(x)||^2 (m,), from the laws at x (m, d)."""
    laws = [compressor.law([Fraction(v) for v in point]) for point in x.tolist()]
    means = [[float(sum(p * out[i] for p, out in law)) for i in range(x.shape[1])] for law in laws]
    return np.array(means), np.array([float(sum(p * sum(v * v for v in out) for p, out in law)) for law in laws])


# ---------------------------------------------------------------------------------------------- parameters, norms


def _whole(name: str, number: int) -> int:
    if not (isinstance(number, int | np.integer) and number >= 1):
        raise ValueError(f"{name} = {number}: expected a whole number >= 1")
    return number


def _dimension(d: int) -> int:
    return _whole("d", d)


def _kept(k: int, d: int) -> int:
    """k.  Raises ValueError for k > d."""
    if k > _dimension(d):
        raise ValueError(f"k = {k} of d = {d} coordinates: expected k <= d")
    return k


def _nothing_lost(d: int) -> Certified:
    _dimension(d)
    return Certified(0.0, "exact: Q(x) = x")


def _largest(x: Array) -> Array:
    """(..., d) -> (..., 1)."""
    largest: Array = namespace(x).max(abs(x), axis=-1, keepdims=True)
    return largest


def _euclidean(x: Array) -> Array:
    """(..., d) -> (..., 1); scaled, so that small and large numbers have no squares that vanish or overflow."""
    largest = _largest(x)
    xp = namespace(x)
    norm: Array = largest * xp.sqrt(((x / xp.where(largest == 0, 1.0, largest)) ** 2).sum(-1, keepdims=True))
    return norm


def _squares(x: Array) -> Array:
    """||x||^2: (..., d) -> (...)."""
    squares: Array = (x**2).sum(-1)
    return squares


# ---------------------------------------------------------------------------------------------------------- laws


def _rational(x: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Raises ValueError for no coordinates at all."""
    exact = tuple(Fraction(v) for v in x)
    _dimension(len(exact))
    return exact


def _exact_euclidean(x: tuple[Fraction, ...]) -> Fraction:
    """Raises ValueError where it is irrational."""
    square = sum((v * v for v in x), Fraction(0))
    norm = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if norm * norm != square:
        raise ValueError(f"x = ({', '.join(map(str, x))}): expected a rational norm, not sqrt({square})")
    return norm


def _count(outcomes: int, name: str) -> int:
    if outcomes > _MOST_OUTCOMES:
        raise ValueError(f"{outcomes} outcomes of {name}: expected at most {_MOST_OUTCOMES}")
    return outcomes


def _distinct(law: Iterable[tuple[Fraction, tuple[Fraction, ...]]]) -> Law:
    """Equal outcomes put together, impossible ones dropped."""
    chances: dict[tuple[Fraction, ...], Fraction] = defaultdict(Fraction)
    for chance, outcome in law:
        chances[outcome] += chance
    return [(chance, outcome) for outcome, chance in chances.items() if chance]


def independent(parts: Sequence[Sequence[tuple[Fraction, Fraction]]], name: str) -> Law:
    """The product of the laws (probability, value) of the coordinates."""
    possible = [[(chance, value) for chance, value in part if chance] for part in parts]
    _count(prod(len(part) for part in possible), name)
    return [
        (prod((chance for chance, _ in outcome), start=Fraction(1)), tuple(value for _, value in outcome))
        for outcome in product(*possible)
    ]


# ---------------------------------------------------------------------------------------------------------- wire


def _width(symbols: int) -> int:
    """ceil(log2(symbols))."""
    return (symbols - 1).bit_length()


def _floats(values: Array) -> Bits:
    """32 bits each, IEEE 754, the sign first."""
    return np.unpackbits(values.astype(">f4").view(np.uint8))


def _numbers(numbers: NDArray[np.integer], width: int) -> Bits:
    """`width` bits each, the highest first."""
    return (numbers[:, None] >> np.arange(width - 1, -1, -1) & 1).astype(np.uint8).ravel()


class _Wire:
    """Data, read from the front.  Raises ValueError at its end, or for more than the last byte left over."""

    def __init__(self, data: bytes) -> None:
        self.bits = np.unpackbits(np.frombuffer(data, np.uint8))
        self.read = 0

    def _take(self, count: int) -> Bits:
        self.read += count
        if self.read > self.bits.size:
            raise ValueError(f"{self.bits.size // 8} bytes: expected more, at least {self.read} bits")
        return self.bits[self.read - count : self.read]

    def floats(self, count: int) -> Array:
        """The next `count` float32."""
        return np.packbits(self._take(_FLOAT * count)).view(">f4").astype(float)

    def numbers(self, count: int, width: int) -> NDArray[np.int64]:
        """The next `count` numbers of `width` bits."""
        bits = self._take(count * width).reshape(count, width).astype(np.int64)
        return (bits << np.arange(width - 1, -1, -1)).sum(-1)

    def end(self) -> None:
        """Nothing may be left but the rest of a byte."""
        if self.bits.size - self.read >= 8:
            raise ValueError(f"{self.bits.size // 8} bytes: expected {-(-self.read // 8)}")


def _write_places(message: Array, k: int) -> Bits:
    """k indices and values: those that are not zero, filled up with zeros."""
    places = np.argsort(message == 0, kind="stable")[:k]
    return np.concatenate([_numbers(places, _width(message.size)), _floats(message[places])])


def _read_places(wire: _Wire, d: int, k: int) -> Array:
    places = wire.numbers(k, _width(d))
    if (places >= d).any():
        raise ValueError(f"index {places.max()}: expected one of {d} coordinates, from 0")
    message = np.zeros(d)
    message[places] = wire.floats(k)
    return message


def _spread(wire: _Wire, kept: NDArray[np.bool_]) -> Array:
    """The values of the coordinates that are kept, 0 elsewhere."""
    message = np.zeros(kept.size)
    message[kept] = wire.floats(int(kept.sum()))
    return message
