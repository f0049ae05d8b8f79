"""Both sides of an inequality as functions of its letters, exact on fractions, and the inequality in numbers.

A claim `quantity <= sum of terms` is read as need <= room: the room is the sum of the terms with a plus sign, the need is
the quantity plus what the terms with a minus sign take away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

import sympy
from sympy.printing.lambdarepr import LambdaPrinter

from theory.statement import Bound, Claim, Relations

Number = Any  # a Fraction, or a float in a search


class _ExactPrinter(LambdaPrinter):
    """Python code in which a rational number is a Fraction: exact on fractions, and as good as any on floats."""

    def _print_Rational(self, e: sympy.Rational) -> str:
        return f"Fraction({e.p}, {e.q})"

    _print_Half = _print_Rational


# Letters that are known by their squares, which are rational; G_sq is another quantity of the paper that has a G
SQUARED = {"sigma": "sigma_sq", "zeta": "zeta_sq", "zeta_star": "zeta_star_sq", "G": "G_squared"}

Function = Callable[[Mapping[str, Number]], Number]


def exact(expression: sympy.Expr) -> Function:
    """An expression as a function of its letters' values by name; those of `SQUARED` enter by the names of their squares.

    Raises ValueError for an expression with other roots than those that disappear.
    """
    squares = {
        s: sympy.sqrt(sympy.Symbol(SQUARED[s.name], nonnegative=True))
        for s in expression.free_symbols
        if s.name in SQUARED
    }
    e = expression.xreplace(squares)
    if any(not power.exp.is_integer for power in e.atoms(sympy.Pow)):
        raise ValueError(f"{expression}: expected no root, and even powers of {', '.join(SQUARED)}")
    letters = sorted(e.free_symbols, key=str)
    function = sympy.lambdify(letters, e, modules=[{"Fraction": Fraction}], printer=_ExactPrinter)
    names = [s.name for s in letters]
    return lambda values: function(*(values[name] for name in names))


class Inequality(NamedTuple):
    """quantity <= minus + plus, or = where `equality`, as functions of the letters."""

    says: str
    quantity: Function
    minus: Function  # the sum of the terms with a minus sign
    plus: Function  # the sum of the terms with a plus sign
    equality: bool


def sides(
    claim: Claim, where: Mapping[sympy.Symbol, sympy.Expr]
) -> Iterator[tuple[str, sympy.Expr, list[sympy.Expr], bool]]:
    """What a claim says in relations quantity <= terms, or =: each with its text and the definitions put in.

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


def defined(e: sympy.Expr, where: Mapping[sympy.Symbol, sympy.Expr]) -> sympy.Expr:
    """An expression with all definitions put in, those that they use too."""
    for _ in where:
        e = e.xreplace(dict(where))
    return e


def inequalities(claim: Claim, where: Mapping[sympy.Symbol, sympy.Expr]) -> list[Inequality]:
    """The inequalities of a claim, with the definitions put in.  Raises ValueError as `sides` and `exact` do."""
    found = []
    for says, quantity, terms, equality in sides(claim, where):
        parts = [part for term in terms for part in sympy.Add.make_args(term)]
        plus, minus = ([t for t in parts if bool(t.as_coeff_Mul()[0] < 0) is sign] for sign in (False, True))
        both = exact(sympy.Add(*minus)), exact(sympy.Add(*plus))
        found.append(Inequality(says, exact(quantity), *both, equality))
    return found


def compared(i: Inequality, values: Mapping[str, Number]) -> Comparison:
    """An inequality at these values; violated where it is not defined, as by a division by 0."""
    try:
        return Comparison(i.says, i.quantity(values), i.minus(values), i.plus(values), i.equality)
    except ZeroDivisionError:
        return Comparison(f"{i.says}, which divides by 0", inf, 0, 0, i.equality)


@dataclass(frozen=True)
class Comparison:
    """An inequality in numbers."""

    says: str
    quantity: Number
    minus: Number
    plus: Number
    equality: bool

    @property
    def need(self) -> Number:
        """What the terms with a plus sign must make up for."""
        return self.quantity - self.minus

    @property
    def size(self) -> Number:
        """What rounding is relative to."""
        return abs(self.quantity) + abs(self.minus) + abs(self.plus)

    @property
    def holds(self) -> bool:
        """Exactly, for fractions."""
        return bool(self.need == self.plus if self.equality else self.need <= self.plus)

    @property
    def ratio(self) -> Number:
        """need / room, at least 0: above 1 where the claim is violated; for an equality 1 plus the relative error."""
        if self.equality:
            return 1 + abs(self.need - self.plus) / self.size if self.size else 1
        if self.need <= 0:
            return 0
        return self.need / self.plus if self.plus > 0 else inf

    @property
    def rounded(self) -> float:
        """The ratio in floating point, where a need or room within rounding of 0 counts as 0."""
        nothing = 1e-11 * self.size
        if self.need <= nothing:
            return 0.0
        return float(self.ratio) if self.plus > nothing else inf
