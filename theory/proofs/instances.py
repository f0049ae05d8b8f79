"""A claim in numbers: both sides of every relation, on an instance of its symbols.

An instance gives the value of each symbol, by ASCII name:

    a number         a float or an integer              mu, L, n
    a vector         a numpy array of shape (d,)        x, y, z
    a sequence       a list, or an array (n, d)         x_1 ... x_n; the first element is x[1]
    a function       anything with value and gradient   h, in h(x), grad h(x), D_h(x, y)

and, for E[.], a finite law: pairs of a probability and the values of the random symbols.

    claim = catalogue.find("sfl.eq16").claim
    for side in sides(claim, {"h": h, "L": h.L, "x": x, "y": y}):
        assert side.holds, side

`interpret` evaluates an expression over anything that adds and multiplies: here over floats and vectors, but also over
sympy's exact numbers and symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any, Protocol

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.core.relational import Relational

from fedtheory.theory.notation import Bregman, Expectation, Grad, Inner, Norm, Value
from fedtheory.theory.printing import plain
from fedtheory.theory.statement import Bound, Claim, Relations, Statement

Values = Mapping[str, Any]
Law = Sequence[tuple[Any, Values]]  # (probability, values of the random symbols)
TOLERANCE = 1e-9  # relative to the size of a side, see Reading


class Differentiable(Protocol):
    """A function h: R^d -> R."""

    def value(self, x: Any) -> Any:
        """h(x), x (d,)."""

    def gradient(self, x: Any) -> Any:
        """The gradient of h at x, (d,) -> (d,)."""


def interpret(
    expression: sympy.Basic, values: Values, law: Law = (), number: Callable[[Any], Any] = lambda q: q
) -> Any:
    """The value of an expression in vector notation.

    values      the values of its symbols, by ASCII name
    law         the law of E[.]; its random symbols have a value inside E[.] only
    number      converts a constant of the expression; by default it stays an exact sympy number

    Raises ValueError for a symbol without a value, an index outside its sequence, an expectation without a law, and
    anything that is no expression.
    """
    e = expression

    def of(part: sympy.Basic, drawn: Values = values) -> Any:
        return interpret(part, drawn, law, number)

    def operand(part: sympy.Basic, drawn: Values = values) -> Any:
        value = of(part, drawn)
        if isinstance(value, list | tuple):
            raise ValueError(f"{part} is a sequence: expected a number or a vector")
        return value

    def function(part: sympy.Basic) -> Any:
        found = of(part)
        if not hasattr(found, "value"):
            raise ValueError(f"{part} = {found!r}: expected a function")
        return found

    def total(parts: Iterable[Any]) -> Any:
        return reduce(add, parts, number(sympy.Integer(0)))

    if isinstance(e, sympy.Symbol):
        return _known(e.name, values)
    if isinstance(e, sympy.Indexed):
        return reduce(lambda sequence, i: _element(e, sequence, of(i)), e.indices, _known(str(e.base), values))
    if isinstance(e, Expectation):
        if not law:
            raise ValueError(f"{e}: expected a law to take the expectation over")
        return total(number(p) * operand(e.args[0], {**values, **drawn}) for p, drawn in law)
    if isinstance(e, Norm):
        return abs(of(e.args[0]))
    if isinstance(e, Inner):
        return _inner(*map(of, e.args))
    if isinstance(e, Value):
        return function(e.args[0]).value(of(e.args[1]))
    if isinstance(e, Grad):
        return function(e.args[0]).gradient(of(e.args[1]))
    if isinstance(e, Bregman):
        h, x, y = function(e.args[0]), of(e.args[1]), of(e.args[2])
        return h.value(x) - h.value(y) - _inner(h.gradient(y), x - y)
    if isinstance(e, sympy.Sum):
        *inside, (index, low, high) = e.limits
        summand = sympy.Sum(e.function, *inside) if inside else e.function
        steps = range(_whole(of(low)), _whole(of(high)) + 1)
        return total(of(summand, {**values, index.name: number(sympy.Integer(at))}) for at in steps)
    if isinstance(e, sympy.Add):
        return reduce(add, map(operand, e.args))
    if isinstance(e, sympy.Mul):
        return reduce(mul, map(operand, e.args))
    if isinstance(e, sympy.Pow):
        return of(e.base) ** of(e.exp)
    if not e.args:
        return number(e)
    if not isinstance(e, sympy.Expr):
        raise ValueError(f"{e} is no expression but a {type(e).__name__}: it has no value")
    return _apply(e.func, [of(a) for a in e.args])


def _known(name: str, values: Values) -> Any:
    if name not in values:
        raise ValueError(f"no value for {name!r}; the instance has {', '.join(values) or 'none'}")
    return values[name]


def _element(e: sympy.Indexed, sequence: Sequence[Any], index: Any) -> Any:
    """The element with this index, from 1."""
    at = _whole(index)
    if not 1 <= at <= len(sequence):
        raise ValueError(f"{e} at index {at}: expected an index in 1..{len(sequence)}")
    return sequence[at - 1]


def _inner(u: Any, v: Any) -> Any:
    return u @ v if hasattr(u, "__matmul__") else u * v  # numbers are vectors of dimension one


def _whole(q: Any) -> int:
    number = q.value if isinstance(q, SizedNumber) else q
    if number != int(number):
        raise ValueError(f"{number}: expected a whole number")
    return int(number)


def _apply(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """exp, log, Min, Max ..., by sympy."""
    if not any(isinstance(a, SizedNumber) for a in arguments):
        return function(*arguments)
    value = float(function(*(a.value for a in arguments)))
    return SizedNumber(value, abs(value) * (1 + sum(a.size for a in arguments)))


# In floating point


@dataclass(frozen=True)
class SizedNumber:
    """A number or a vector in floating point, and its size: the value with every minus turned into a plus.

    Rounding errors are a small multiple of 1e-16 times the size (to first order), whatever cancels.
    """

    value: Any
    size: float

    def __add__(self, other: SizedNumber) -> SizedNumber:
        if np.shape(self.value) != np.shape(other.value) and np.any(self.value) and np.any(other.value):
            raise ValueError(f"{self.value} + {other.value}: expected two numbers, or two vectors of one length")
        return SizedNumber(self.value + other.value, self.size + other.size)

    def __sub__(self, other: SizedNumber) -> SizedNumber:
        return self + SizedNumber(-other.value, other.size)

    def __mul__(self, other: SizedNumber) -> SizedNumber:
        if np.ndim(self.value) and np.ndim(other.value):
            raise ValueError(f"{self.value} times {other.value}: two vectors have an inner product, Inner(x, y)")
        return SizedNumber(self.value * other.value, self.size * other.size)

    def __matmul__(self, other: SizedNumber) -> SizedNumber:
        if np.shape(self.value) != np.shape(other.value) and np.any(self.value) and np.any(other.value):
            raise ValueError(f"<{self.value}, {other.value}>: expected vectors of one length")
        return SizedNumber(float(np.sum(self.value * other.value)), self.size * other.size)

    def __pow__(self, exponent: SizedNumber) -> SizedNumber:
        base, power = self.value, exponent.value
        if np.ndim(base) or (base == 0 and power < 0) or (base < 0 and power != int(power)):
            raise ValueError(f"{base} to the power {power} is no real number")
        value = float(base) ** float(power)
        return SizedNumber(value, abs(value) + (abs(power * value / base) * self.size if base else 0.0))

    def __abs__(self) -> SizedNumber:
        return SizedNumber(float(np.linalg.norm(self.value)), self.size)


@dataclass(frozen=True)
class _ReadFunction:
    """A function, from readings to readings."""

    h: Differentiable

    def value(self, x: SizedNumber) -> SizedNumber:
        value = float(self.h.value(x.value))
        return SizedNumber(value, abs(value) + self.gradient(x).size * x.size)

    def gradient(self, x: SizedNumber) -> SizedNumber:
        gradient = np.asarray(self.h.gradient(x.value), dtype=float)
        return SizedNumber(gradient, float(np.linalg.norm(gradient)))


def read(value: Any) -> Any:
    """A symbol's value for `interpret` in floating point: a reading, a list of readings, a function of readings.

    Raises ValueError unless the value is a number, vector, sequence or function, and finite.
    """
    if hasattr(value, "value") and hasattr(value, "gradient"):
        return _ReadFunction(value)
    if isinstance(value, list | tuple) or np.ndim(value) > 1:
        return [read(v) for v in value]
    try:
        array: NDArray[np.float64] = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{value!r}: expected a number, a vector, a sequence of them, or a function") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{value!r}: expected finite numbers")
    return SizedNumber(array if array.ndim else float(array), float(np.linalg.norm(array)))


@dataclass(frozen=True)
class Sides:
    """A relation in numbers, with its sides exchanged if needed, so that it claims left <= right (or left = right).

    says         the relation as the paper has it
    left, right  floats, or vectors (d,)
    equality     whether it claims left = right
    size         of both sides: rounding is relative to it
    """

    says: str
    left: Any
    right: Any
    equality: bool
    size: float

    @property
    def excess(self) -> float:
        """By how much left exceeds (for an equality: differs from) right, relative to their size."""
        difference = np.linalg.norm(self.left - self.right) if self.equality else self.left - self.right
        return float(difference) / self.size if self.size else float(difference)

    @property
    def holds(self) -> bool:
        """Whether the relation holds, up to rounding; a NaN does not."""
        return self.excess <= TOLERANCE

    @property
    def ratio(self) -> float:
        """left / right (of norms, for vectors): 1 if the relation is tight.  A search tries to increase it.

        0 if right is less than a millionth of the size, which means not positive or too close to rounding errors.
        """
        left, right = (float(np.linalg.norm(q)) if np.ndim(q) else q for q in (self.left, self.right))
        return float(left / right) if right > 1e-6 * self.size else 0.0

    def __str__(self) -> str:
        sign = "=" if self.equality else "<="
        return f"{self.says}: {self.left} {sign} {self.right} is {'true' if self.holds else 'false'}"


def value_at(expression: sympy.Expr, values: Values, law: Law = ()) -> Any:
    """The value, a float or a vector (d,), of an expression on an instance.  Raises ValueError as `interpret`, `read`."""
    return _reader(values, law)(expression).value


def sides(
    claim: Claim, values: Values, law: Law = (), where: Mapping[sympy.Symbol, sympy.Expr] | None = None
) -> list[Sides]:
    """Both sides of every relation of a claim (`Bound` or `Relations`), on an instance; see the docstring of this module.

    where       quantities of the claim -> their meaning in vector notation: var_swr is E||xbar_pi - xbar||^2

    Raises ValueError for another kind of claim, a relation other than =, <=, >=, <, >, an inequality of vectors, and
    probabilities that do not sum to 1; also as `interpret` and `read` do.
    """
    relations: list[tuple[sympy.Expr, str, sympy.Expr]]
    if isinstance(claim, Bound):
        relations = [(claim.quantity, claim.sign, claim.value)]
    elif isinstance(claim, Relations):
        relations = [_parts(r) for r in claim.relations]
    else:
        raise ValueError(f"a claim of kind {type(claim).__name__} has no sides; expected Bound or Relations")
    reading, found = _reader(values, law), []
    for left, sign, right in relations:
        says, equality = f"{plain(left)} {sign} {plain(right)}", sign == "="
        a, b = (reading(side.xreplace(dict(where or {}))) for side in (left, right))
        if not equality and np.ndim((a - b).value):
            raise ValueError(f"{says}: vectors have no order, expected numbers on both sides")
        if sign in (">=", ">"):
            a, b = b, a
        found.append(Sides(says, a.value, b.value, equality, (a - b).size))
    return found


def _reader(values: Values, law: Law) -> Callable[[sympy.Expr], SizedNumber]:
    symbols = {name: read(v) for name, v in values.items()}
    outcomes = [(p, {name: read(v) for name, v in drawn.items()}) for p, drawn in law]
    if law and abs(sum(float(p) for p, _ in law) - 1) > TOLERANCE:
        raise ValueError(f"the probabilities {[float(p) for p, _ in law]} do not sum to 1")

    def reading(expression: sympy.Expr) -> SizedNumber:
        result = interpret(expression, symbols, outcomes, lambda q: read(float(q)))
        if not isinstance(result, SizedNumber):
            raise ValueError(f"{expression} is a sequence or a function: expected a number or a vector")
        return result

    return reading


def conditions(statement: Statement, values: Values) -> list[Sides]:
    """Both sides of every condition of the statement.  Raises ValueError as `sides`."""
    return sides(Relations(tuple(c.relation for c in statement.when)), values)


def _parts(relation: sympy.Basic) -> tuple[sympy.Expr, str, sympy.Expr]:
    if not isinstance(relation, Relational) or isinstance(relation, sympy.Ne):
        raise ValueError(f"{relation}: expected a relation with one of the signs =, <=, >=, <, >")
    return relation.lhs, "=" if isinstance(relation, sympy.Eq) else relation.rel_op, relation.rhs
