"""Dimensional analysis: every term of every bound has the dimension of its left side.

The dimension of an expression is a monomial in X (that of the parameters x) and F (that of the objective).  It comes
from the declarations of the paper's symbols only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations

import sympy
from sympy.concrete.summations import Sum
from sympy.core.relational import Relational

from fedtheory.theory import catalogue
from fedtheory.theory.names import unknown
from fedtheory.theory.notation import Bregman, Expectation, Grad, Inner, Norm, Value
from fedtheory.theory.printing import plain
from fedtheory.theory.statement import (
    NUMBER,
    Bound,
    Evidence,
    F,
    Order,
    Rates,
    Relations,
    Statement,
    Status,
    Symbol,
    Verdict,
    X,
)


class UnitsError(ValueError):
    """Two parts of an expression have different dimensions; the message names them."""


def dimension(expression: sympy.Expr, symbols: Mapping[str, Symbol]) -> sympy.Expr:
    """The dimension of an expression.

    Raises UnitsError, with the parts that do not fit, and UnknownName for an undeclared symbol.
    """
    e = expression
    if isinstance(e, sympy.Symbol | sympy.Indexed):
        name = e.name if isinstance(e, sympy.Symbol) else str(e.base)
        if name not in symbols:
            raise unknown("symbol", name, list(symbols))
        return symbols[name].dimension
    if e.is_number:
        return NUMBER
    parts = [a for a in e.args if isinstance(a, sympy.Expr)]
    if isinstance(e, Sum):
        return dimension(e.function, symbols)
    if isinstance(e, Expectation | Norm):
        return dimension(e.args[0], symbols)
    if isinstance(e, Inner):
        return sympy.Mul(*(dimension(a, symbols) for a in e.args))
    if isinstance(e, Grad):
        return dimension(e.args[0], symbols) / X
    if isinstance(e, Value | Bregman):
        same(e.args[1:], symbols)
        return dimension(e.args[0], symbols)
    if isinstance(e, sympy.Add):
        return same(parts, symbols)
    if isinstance(e, sympy.Max | sympy.Min):
        return same(parts, symbols)
    if isinstance(e, sympy.Abs):
        return dimension(parts[0], symbols)
    if isinstance(e, sympy.Mul):
        return sympy.Mul(*(dimension(a, symbols) for a in parts))
    if isinstance(e, sympy.Pow):
        base = dimension(e.base, symbols)
        _number(e.exp, symbols, f"the exponent of {e}")
        if base != NUMBER and not e.exp.is_number:
            raise UnitsError(f"{e.base} has dimension {base} and a power that is not a number: {e.exp}")
        return sympy.powdenest(base**e.exp, force=True)
    if isinstance(e, sympy.Piecewise):
        for _, condition in e.args:
            if isinstance(condition, Relational):
                same(condition.args, symbols)
        return same([value for value, _ in e.args], symbols)
    if isinstance(e, sympy.exp | sympy.log | sympy.floor):
        _number(e.args[0], symbols, f"the argument of {type(e).__name__}")
        return NUMBER
    raise TypeError(f"no rule for the dimension of {type(e).__name__}: {e}")


def _number(expression: sympy.Expr, symbols: Mapping[str, Symbol], what: str) -> None:
    found = dimension(expression, symbols)
    if found != NUMBER:
        raise UnitsError(f"{what} has dimension {found}, expected a pure number: {expression}")


def same(parts: Iterable[sympy.Expr], symbols: Mapping[str, Symbol]) -> sympy.Expr:
    """The common dimension of the parts (zero fits everything).  Raises UnitsError with two parts that differ."""
    dims = [(p, dimension(p, symbols)) for p in parts if p != 0]
    for (p, dp), (q, dq) in combinations(dims, 2):
        if sympy.simplify(dp / dq) != 1:
            raise UnitsError(f"{plain(p)} has dimension {dp}, {plain(q)} has dimension {dq}")
    return dims[0][1] if dims else NUMBER


def has_units(statement: Statement) -> bool:
    """Whether the units check applies: the statement has formulas, and no number in them hides a unit."""
    claims = (statement.claim, *statement.also)
    return statement.kind != "problem" and any(isinstance(claim, Bound | Order | Relations) for claim in claims)


def check(statement: Statement, full: bool = False) -> Verdict:
    """Every term of the claim, every condition and every definition has the same dimension on both sides."""
    symbols = dict(catalogue.symbols(statement))
    symbols |= {name: replace(symbols[name], dimension=other) for name, other in statement.reads.items()}
    pairs: list[tuple[str, tuple[sympy.Expr, ...]]] = []
    for claim in (statement.claim, *statement.also):
        if isinstance(claim, Bound):
            pairs += [(f"term {t.name}", (claim.quantity, t.value)) for t in claim.terms]
        elif isinstance(claim, Order):  # log(1/eps) stands for log(c/eps), c not written
            pairs += [(f"term {t.name}", (claim.quantity, t.value.replace(sympy.log, _one))) for t in claim.terms]
        elif isinstance(claim, Rates):
            for rate in claim.rates:
                counts = ((f"rounds of {rate.case}", rate.rounds), (f"steps of {rate.case}", rate.steps))
                pairs += [(what, (NUMBER, value.replace(sympy.log, _one))) for what, value in counts]
                pairs += [(f"condition of {rate.case}", relation.args) for relation in rate.given]
        elif isinstance(claim, Relations):
            pairs += [("relation", r.args) for r in claim.relations if isinstance(r, Relational)]
    pairs += [(f"condition {c}", c.relation.args) for c in statement.when]
    pairs += [(f"definition of {symbol}", (symbol, value)) for symbol, value in statement.where.items()]
    for what, sides in pairs:
        try:
            same(sides, symbols)
        except UnitsError as error:
            return Verdict(
                Status.REFUTED,
                f"the dimensions differ in the {what}: {error}",
                witness={"where": what, "mismatch": str(error)},
            )
    return Verdict(Status.PROVED, f"{len(pairs)} formula{'s' * (len(pairs) != 1)} with equal dimensions on both sides")


def _one(_: sympy.Expr) -> sympy.Expr:
    return NUMBER


def evidence(paper: str, rates: bool = False) -> list[Evidence]:
    """Units evidence for every statement of the paper that has formulas.

    rates  also for rates: R and tau are pure numbers, unless the paper has set constants to one
    """
    every = catalogue.statements(paper)
    return [Evidence(s.id, "units", check) for s in every if has_units(s) or (rates and isinstance(s.claim, Rates))]


__all__ = ["F", "UnitsError", "X", "check", "dimension", "evidence", "has_units", "same"]
