"""Both sides of an inequality as functions of its symbols, exact on fractions, and the inequality in numbers.

A claim `quantity <= sum of terms` is read as need <= room.  The room is the sum of the terms with a plus sign.  The need
is the quantity plus the size of the terms with a minus sign.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import inf, lcm
from typing import Any, Literal, NamedTuple

import sympy
from sympy import Rational
from sympy.core.relational import Relational
from sympy.printing.lambdarepr import LambdaPrinter

from fedtheory.theory import catalogue
from fedtheory.theory.statement import (
    Bound,
    Claim,
    Condition,
    Order,
    Rates,
    Relations,
    Statement,
    Words,
    defined,
    formulas,
)

Number = Any  # a Fraction, or a float in a search


class _ExactPrinter(LambdaPrinter):
    """Python code with Fractions for rational numbers: exact on fractions, and no worse than other code on floats."""

    def _print_Rational(self, e: sympy.Rational) -> str:
        return f"Fraction({e.p}, {e.q})"

    _print_Half = _print_Rational

    def _print_Pow(self, e: sympy.Pow) -> str:
        count = not e.exp.is_number  # as a fraction it would make the power inexact
        return f"({self._print(e.base)})**int({self._print(e.exp)})" if count else super()._print_Pow(e)

    def _print_exp(self, e: sympy.exp) -> str:
        return f"exp({self._print(e.args[0])})"


# Symbols given by their squares, which are rational; G_sq is another quantity of the paper that has a G
SQUARED = {"sigma": "sigma_sq", "zeta": "zeta_sq", "zeta_star": "zeta_star_sq", "G": "G_squared"}

Function = Callable[[Mapping[str, Number]], Number]

# Factors for an unassumed constant
_OTHERWISE = (Fraction(1, 1000), Fraction(1, 2), Fraction(2), Fraction(1000))


def unassumed(statement: Statement) -> list[dict[str, Fraction]]:
    """Factors for the unassumed constants of the statement, in all combinations; [{}] where it has none."""
    names = sorted(s.name for s in catalogue.unassumed(statement) & statement.symbols)
    return [dict(zip(names, factors, strict=True)) for factors in product(_OTHERWISE, repeat=len(names))]


def rescaled(known: dict[str, Number], factors: Mapping[str, Fraction]) -> dict[str, Number]:
    """The values, multiplied by their factors; by the square of the factor where the value is that of a square."""
    found = dict(known)
    for symbol, factor in factors.items():
        for name, power in ((symbol, 1), (SQUARED.get(symbol), 2)):
            if name in known:
                found[name] = known[name] * (float(factor**power) if isinstance(known[name], float) else factor**power)
    return found


def exp_above(x: Number) -> Number:
    """exp(x) for x <= 0: a fraction above it by less than 1e-30 times x^40, so that a bound with it only gets larger.

    Raises ValueError for x > 0.
    """
    if x > 0:
        raise ValueError(f"exp({x}): expected an exponent <= 0")
    power, total = Fraction(1), Fraction(1)
    for n in range(1, 40):
        power *= -x / n
        total += power
    return 1 / total


def exact(expression: sympy.Expr) -> Function:
    """An expression as a function of its symbols' values by name; those of `SQUARED` enter by the names of their squares.

    exp is rounded up a little (`exp_above`).  Raises ValueError for an expression with roots that do not cancel; the
    function raises it for a symbol without a value.
    """
    squares = {
        s: sympy.sqrt(sympy.Symbol(SQUARED[s.name], nonnegative=True))
        for s in expression.free_symbols
        if s.name in SQUARED
    }
    e = expression.xreplace(squares)
    if any(not power.exp.is_integer for power in e.atoms(sympy.Pow)):
        raise ValueError(f"{expression}: expected no root, and even powers of {', '.join(SQUARED)}")
    symbols = sorted(e.free_symbols, key=str)
    modules = [{"Fraction": cache(Fraction), "exp": exp_above}]
    function = sympy.lambdify(symbols, e, modules=modules, printer=_ExactPrinter)
    names = [s.name for s in symbols]

    def of(values: Mapping[str, Any]) -> Any:
        try:
            return function(*map(values.__getitem__, names))
        except KeyError as error:
            raise ValueError(f"{expression}: no number for {error.args[0]}") from None

    return of


class NumericCondition(NamedTuple):
    """left `sign` right, as functions of the symbols; both sides raised to a power where they had a root."""

    left: Function
    right: Function
    sign: Literal["<=", "<", "=="]
    symbols: frozenset[str]

    def holds(self, known: Mapping[str, Number], room: Number = 0) -> bool:
        """Whether it holds exactly, or, for floats, with room for rounding."""
        left, right = self.left(known), self.right(known)
        if self.sign == "==":
            return bool(abs(left - right) <= room)
        return bool(left < right + room if self.sign == "<" else left <= right + room)


def condition(relation: Relational) -> NumericCondition:
    """A condition, with both sides raised to the power that removes roots.

    Raises ValueError for another sign, and for roots where a side may be negative.
    """
    if relation in (sympy.true, sympy.false):  # by a definition of what it is about
        return NumericCondition(lambda known: int(relation == sympy.false), lambda known: 0, "<=", frozenset())
    turned = relation if relation.rel_op in ("<=", "<", "==") else relation.reversed
    left, right, sign = turned.lhs, turned.rhs, turned.rel_op
    if sign not in ("<=", "<", "=="):
        raise ValueError(f"condition {relation}: expected one of <=, >=, <, >, =")
    exponents = [power.exp for power in relation.atoms(sympy.Pow)]
    exponents += [Rational(1, 2) for s in relation.free_symbols if s.name in SQUARED]
    if not all(e.is_integer for e in exponents):
        if not (left.is_nonnegative and right.is_nonnegative):
            raise ValueError(f"condition {relation}: expected no roots, or sides that are not negative")
        order = lcm(*(int(e.q) for e in exponents))
        left, right = (sympy.expand_power_base(side**order, force=True) for side in (left, right))
    return NumericCondition(exact(left), exact(right), sign, frozenset(s.name for s in relation.free_symbols))


class Inequality(NamedTuple):
    """quantity <= minus + plus, or = where `equality`, as functions of the symbols.

    symbols  the symbols' ASCII names
    """

    says: str
    quantity: Function
    minus: Function  # the sum of the terms with a minus sign
    plus: Function  # the sum of the terms with a plus sign
    equality: bool
    symbols: frozenset[str]


def _sides(
    claim: Claim, where: Mapping[sympy.Symbol, sympy.Expr]
) -> Iterator[tuple[str, sympy.Expr, list[sympy.Expr], bool]]:
    """A claim as relations quantity <= terms, or =: each with its text, and with definitions substituted.

    Raises ValueError for a claim that is neither Bound nor Relations of the signs <=, >= and =.
    """
    if isinstance(claim, Bound):
        terms = [t.value for t in claim.terms]
        parts = [(f"{claim.quantity} {claim.sign} ...", claim.quantity, terms, claim.sign)]
    elif isinstance(claim, Relations) and all(isinstance(r, sympy.Le | sympy.Ge | sympy.Eq) for r in claim.relations):
        parts = [(str(r), r.args[0], [r.args[1]], r.rel_op) for r in claim.relations]
    else:
        kind = type(claim).__name__
        raise ValueError(f"a claim of kind {kind}: expected Bound or Relations of the signs <=, >= and =")
    for says, left, right, sign in parts:
        quantity, terms = (sympy.Add(*right), [left]) if sign == ">=" else (left, right)
        yield says, defined(quantity, where), [defined(t, where) for t in terms], sign in ("=", "==")


def symbols_of(claim: Claim, where: Mapping[sympy.Symbol, sympy.Expr], when: Iterable[Condition] = ()) -> set[str]:
    """The names of the symbols in a claim's formulas and in conditions, with definitions substituted."""
    every = (*formulas(claim), *(condition.relation for condition in when))
    return {s.name for e in every for s in defined(e, where).free_symbols}


def inequalities(claim: Claim, where: Mapping[sympy.Symbol, sympy.Expr]) -> list[Inequality]:
    """The inequalities of a claim, with definitions substituted.  Raises ValueError as `_sides` and `exact` do."""
    found = []
    for says, quantity, terms, equality in _sides(claim, where):
        parts = [part for term in terms for part in sympy.Add.make_args(term)]
        plus, minus = ([t for t in parts if bool(t.as_coeff_Mul()[0] < 0) is sign] for sign in (False, True))
        both = exact(sympy.Add(*minus)), exact(sympy.Add(*plus))
        symbols = frozenset(s.name for e in (quantity, *terms) for s in e.free_symbols)
        found.append(Inequality(says, exact(quantity), *both, equality, symbols))
    return found


def further_inequalities(
    statement: Statement, where: Mapping[sympy.Symbol, sympy.Expr], known: Collection[str]
) -> tuple[Inequality, ...]:
    """The inequalities of the statement's further claims, but for words and orders, whose symbols are all known."""
    exact = [c for c in statement.also if not isinstance(c, Words | Order | Rates)]
    claims = [c for c in exact if symbols_of(c, where) <= {*known}]
    return tuple(i for claim in claims for i in inequalities(claim, where))


def balance(i: Inequality, values: Mapping[str, Number]) -> Balance:
    """An inequality at these values; it counts as violated where it divides by 0."""
    try:
        return Balance(i.says, i.quantity(values), i.minus(values), i.plus(values), i.equality)
    except ZeroDivisionError:
        return Balance(f"{i.says}, which divides by 0", inf, 0, 0, i.equality)


@dataclass(frozen=True)
class Balance:
    """An inequality in numbers."""

    says: str
    quantity: Number
    minus: Number
    plus: Number
    equality: bool

    @property
    def need(self) -> Number:
        """The quantity less the terms with a minus sign: the terms with a plus sign must not be smaller."""
        return self.quantity - self.minus

    @property
    def size(self) -> Number:
        """The size to which rounding is relative."""
        return abs(self.quantity) + abs(self.minus) + abs(self.plus)

    @property
    def holds(self) -> bool:
        """Whether it holds; exact for fractions."""
        return bool(self.need == self.plus if self.equality else self.need <= self.plus)

    @property
    def ratio(self) -> Number:
        """need / room, at least 0: above 1 where the claim is violated; for an equality 1 plus the relative error."""
        if self.equality:
            return 1 + abs(self.need - self.plus) / self.size if self.size else 1
        if self.need <= 0:
            return 0
        return self.need / self.plus if self.plus > 0 else inf


def not_assumed(factors: Mapping[str, Fraction]) -> dict[str, str]:
    """The lines of a witness about unassumed constants."""
    return {f"{name}, not assumed": f"{factor} times that of the problem" for name, factor in factors.items()}
