"""What a compressor is, and what all of them share: norms, finite laws, checks of parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import isqrt, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedtheory.simulations.arrays import is_tensor, namespace
from fedtheory.simulations.checked import brief, check_settings, listed, reals, whole
from fedtheory.simulations.compressors.wire import Bits, Wire
from fedtheory.simulations.constants import Certified
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.problems import Array

Law = list[tuple[Fraction, tuple[Fraction, ...]]]  # (probability, outcome), the outcomes distinct

_MOST_OUTCOMES = 4096
EXACT = "exact, attained"
EVERYWHERE = "exact, attained by every x"


class Compressor(ABC):
    """A random map Q of R^d, for every d that its parameters allow; the name is the expression that builds it.

    Raises ValueError as `check_settings` does.

    unbiased  E Q(x) = x for every x and d
    shared    all clients of a round use the same coins; only linear compressors can
    """

    unbiased: bool = True
    shared: bool = False

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def name(self) -> str:
        """The expression that builds the compressor."""
        return repr(self)

    @abstractmethod
    def __call__(self, x: Array, draw: Draw) -> Array:
        """Q(x) along the last axis: x (..., N, *clients, d) -> the same shape; not finite where x is not.

        The coins have the keys (N, *clients), or (N, 1) where they are shared; deterministic compressors ignore them.
        Raises ValueError for other keys, or a d that the parameters do not allow.
        """

    def error(self, x: ArrayLike) -> Array:
        """E||Q(x) - x||^2 in closed form: (..., d) -> (...).  Raises ValueError for what are no finite real numbers."""
        expected = "(..., d) finite real numbers, d >= 1"
        known: Any = x if is_tensor(x) else reals("x", x, expected)
        if known.ndim < 1 or not known.shape[-1]:
            raise ValueError(f"x of shape {tuple(known.shape)}: expected {expected}")
        with np.errstate(over="ignore", invalid="ignore"):  # beyond doubles the error is infinite
            return self._error(known)

    @abstractmethod
    def _error(self, x: Array) -> Array:
        """`error` of numbers."""

    @abstractmethod
    def contraction(self, d: int) -> Certified:
        """The smallest c with E||Q(x) - x||^2 <= c ||x||^2 for all x in R^d; unbiased: the q of Assumption 2."""

    def q(self, d: int) -> Certified:
        """The smallest q of Assumption 2 in R^d; for a biased compressor, the reason why there is none."""
        return self.contraction(d)

    @abstractmethod
    def bits(self, d: int) -> float:
        """Bits on the wire for one message, in expectation over the coins for an x without zeros.

        Only `Bernoulli` and `Sparsifier` have messages of different lengths.
        """

    @abstractmethod
    def law(self, x: Sequence[Fraction]) -> Law:
        """The law of Q(x): all outcomes of positive probability.

        Raises ValueError for what are no d >= 1 finite numbers, for more than 4096 outcomes, or where the norm that Q sends
        is irrational.
        """

    def moments(self, d: int) -> tuple[Array, Array] | None:
        """E[m] (d,) and E[m m'] (d, d) where Q(x) = (m_1 x_1, ..., m_d x_d); else None."""
        return None

    def encode(self, message: ArrayLike, mask: ArrayLike | None = None) -> bytes:
        """An output of Q (d,), packed; zeros pad the last byte.

        mask  (d,), not zero where a coordinate is kept; needed where the coins are shared, as then the receiver knows it

        Raises ValueError for a message that is no output of Q, or out of the range of float32.
        """
        expected = "(d,), d >= 1, of finite numbers"
        sent = reals("message", message, expected)
        if sent.ndim != 1 or not sent.size:
            raise ValueError(f"message of shape {sent.shape}: expected {expected}")
        with np.errstate(over="ignore", invalid="ignore"):  # the comparison below finds numbers out of range
            data = np.packbits(self._write(sent, self._known(mask, sent.size))).tobytes()
            lost = np.abs(self.decode(data, sent.size, mask) - sent).max()
        if not lost <= 2.0**-23 * np.abs(sent).max() + 2.0**-149:
            raise ValueError(f"message {brief(sent)}: expected an output of {self.name}, in the range of float32")
        return data

    def decode(self, data: bytes, d: int, mask: ArrayLike | None = None) -> Array:
        """The message (d,) that `encode` packed.  Raises ValueError for data of another length."""
        wire = Wire(data)
        message = self._read(wire, dimension(d), self._known(mask, d))
        wire.end()
        return message

    @abstractmethod
    def _write(self, message: Array, mask: NDArray[np.bool_] | None) -> Bits:
        """The bits of a message; `mask` is not None if and only if it is shared."""

    @abstractmethod
    def _read(self, wire: Wire, d: int, mask: NDArray[np.bool_] | None) -> Array:
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
        """The draw.  Raises ValueError unless it has coins for every client of x, or, where they are shared, one set."""
        keys = draw.local.keys.shape
        runs = x.shape[-1 - len(keys) : -1]
        expected = (*runs[:1], *[1] * (len(runs) - 1)) if self.shared else runs
        if keys != expected:
            raise ValueError(f"coins with keys {keys} for x of shape {x.shape}: expected {expected}")
        return draw


# Parameters, norms


def dimension(d: int) -> int:
    """d.  Raises ValueError unless it is a whole number >= 1."""
    return whole("d", d)


def at_most(k: int, d: int) -> int:
    """k.  Raises ValueError for k > d."""
    if k > dimension(d):
        raise ValueError(f"k = {k} of d = {d} coordinates: expected k <= d")
    return k


def nothing_lost(d: int) -> Certified:
    """The constant 0 of a compressor that sends x itself.  Raises ValueError as `dimension`."""
    dimension(d)
    return Certified(0.0, "exact: Q(x) = x")


def largest(x: Array) -> Array:
    """The largest modulus: (..., d) -> (..., 1)."""
    largest: Array = namespace(x).max(abs(x), axis=-1, keepdims=True)
    return largest


def euclidean(x: Array) -> Array:
    """||x||: (..., d) -> (..., 1); x is scaled first, so that squares neither vanish nor overflow."""
    size = largest(x)
    xp = namespace(x)
    norm: Array = size * xp.sqrt(((x / xp.where(size == 0, 1.0, size)) ** 2).sum(-1, keepdims=True))
    return norm


def squares(x: Array) -> Array:
    """||x||^2: (..., d) -> (...)."""
    found: Array = (x**2).sum(-1)
    return found


# Laws


def rational(x: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """x in fractions.  Raises ValueError for no coordinates, and for what are no finite real numbers."""
    wrong = f"x = {brief(x)}: expected d >= 1 finite real numbers"
    values = listed("x", x, "d >= 1 finite real numbers")
    try:
        exact = tuple(Fraction(v.item() if isinstance(v, np.generic) else v) for v in values)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError(wrong) from None
    if not exact:
        raise ValueError(wrong)
    return exact


def exact_euclidean(x: tuple[Fraction, ...]) -> Fraction:
    """||x||.  Raises ValueError where it is irrational."""
    square = sum((v * v for v in x), Fraction(0))
    norm = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if norm * norm != square:
        raise ValueError(
            f"x = ({brief(', '.join(map(str, x)))}): expected a rational norm, not sqrt({brief(str(square))})"
        )
    return norm


def few_enough(outcomes: int, name: str) -> int:
    """The number of outcomes.  Raises ValueError where there are too many to list."""
    if outcomes > _MOST_OUTCOMES:
        raise ValueError(f"{outcomes} outcomes of {name}: expected at most {_MOST_OUTCOMES}")
    return outcomes


def distinct(law: Iterable[tuple[Fraction, tuple[Fraction, ...]]]) -> Law:
    """The law with equal outcomes merged and impossible ones dropped."""
    chances: dict[tuple[Fraction, ...], Fraction] = defaultdict(Fraction)
    for chance, outcome in law:
        chances[outcome] += chance
    return [(chance, outcome) for outcome, chance in chances.items() if chance]


def independent(parts: Sequence[Sequence[tuple[Fraction, Fraction]]], name: str) -> Law:
    """The product of the laws (probability, value) of the coordinates."""
    possible = [[(chance, value) for chance, value in part if chance] for part in parts]
    few_enough(prod(len(part) for part in possible), name)
    return [
        (prod((chance for chance, _ in outcome), start=Fraction(1)), tuple(value for _, value in outcome))
        for outcome in product(*possible)
    ]
