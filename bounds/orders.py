"""Orders: how each term of a bound scales as R, K, M or S grows, and which term dominates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from fedtheory.bounds.evaluation import claim_of, in_domain, parameters
from fedtheory.simulations.checked import brief, number
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Rates

COUNTS = ("R", "K", "M", "S")


def rates_at(id_: str, **values: float) -> dict[str, tuple[float, float]]:
    """The rounds and local steps of a statement's rates in numbers, by case; the unknown constants are set to one.

    Raises UnknownName; ValueError for a statement without rates, and for parameters that are missing, surplus or outside
    their domains.
    """
    statement = catalogue.find(id_)
    claim = statement.claim
    if not isinstance(claim, Rates):
        raise ValueError(f"{id_} is of kind {statement.kind}: expected a statement with rates, rounds to an accuracy")
    formulas = {(rate.case, part): getattr(rate, part) for rate in claim.rates for part in ("rounds", "steps")}
    free = set().union(*(sympy.sympify(f).free_symbols for f in formulas.values()))
    named = {s.name: s for s in catalogue.symbols(statement).values() if s.sympy in free}
    if set(values) != set(named):
        raise ValueError(f"{id_} with {brief(', '.join(values))}: expected {', '.join(named)}")
    numbers = {name: number(name, value) for name, value in values.items()}
    for name, value in numbers.items():
        if not in_domain(named[name], np.asarray(value)):
            raise ValueError(f"{name} = {value}: expected {named[name].domain} ({named[name].meaning})")
    at = {named[name].sympy: sympy.Rational(value) for name, value in numbers.items()}
    found = {key: float(sympy.sympify(f).subs(at)) for key, f in formulas.items()}
    return {rate.case: (found[rate.case, "rounds"], found[rate.case, "steps"]) for rate in claim.rates}


@dataclass(frozen=True)
class LeadingOrders:
    """Leading orders of a bound's terms.

    exponents  term -> count -> p where the term behaves like count^p as the count grows, all else fixed, S far
               below M; -oo for exponential decay
    dominant   count -> the terms of largest exponent, which remain as the count grows
    """

    exponents: dict[str, dict[str, sympy.Expr]]
    dominant: dict[str, list[str]]


def exponent(term: sympy.Expr, count: sympy.Symbol, beyond: sympy.Symbol | None = None) -> sympy.Expr:
    """p with term ~ count^p as count grows: the limit of d log(term) / d log(count).  -oo for exponential decay.

    `beyond` is a count that this one cannot exceed (M for S): it goes to infinity first.
    """
    if count not in term.free_symbols:
        return sympy.Integer(0)
    n = sympy.Symbol("n", positive=True)  # the count as a real number
    at = term.subs(count, n)
    slope = sympy.simplify(n * sympy.diff(at, n) / at)
    if beyond in slope.free_symbols:
        slope = sympy.limit(slope, beyond, sympy.oo)
    # Constants are given positive values that fit no special case: the exponent does not depend on them.
    others = sorted(slope.free_symbols - {n}, key=str)
    primes = {s: sympy.Rational(sympy.prime(i + 3), sympy.prime(i + 4)) for i, s in enumerate(others)}
    slope = slope.subs(primes).replace(sympy.Heaviside, lambda a, *_: sympy.Heaviside(sympy.limit(a, n, sympy.oo)))
    return sympy.limit(slope, n, sympy.oo)  # a Heaviside function is the derivative of a minimum


def rates(id_: str, counts: Sequence[str] = COUNTS) -> LeadingOrders:
    """Leading orders of every term of a bound or order statement; an explicit bound at a fixed step size.

    Counts that the statement does not contain are left out.  Raises UnknownName, ValueError for a statement
    without terms.
    """
    statement = catalogue.find(id_)
    symbols = {s.name: s.sympy for s in parameters(statement)}
    present = [c for c in counts if c in symbols]
    beyond = {"S": symbols.get("M")}
    table = {
        t.name: {c: exponent(t.value, symbols[c], beyond.get(c)) for c in present} for t in claim_of(statement).terms
    }
    dominant = {}
    for c in present:
        largest = max((row[c] for row in table.values()), key=float)
        dominant[c] = [name for name, row in table.items() if row[c] == largest]
    return LeadingOrders(table, dominant)
