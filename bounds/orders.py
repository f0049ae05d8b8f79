"""Orders: how each term of a bound scales as R, K, M or S grows, and which term dominates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import mpmath
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


_FAR = sympy.Integer(2) ** 300  # a count at which the largest of several parts is that of infinity
_DRAWS = 300  # of numbers, among which two that meet the conditions are looked for


def exponent(
    term: sympy.Expr,
    count: sympy.Symbol,
    beyond: sympy.Symbol | None = None,
    conditions: Sequence[sympy.Basic] = (),
) -> sympy.Expr:
    """p with term ~ count^p as count grows: the limit of d log(term) / d log(count).  -oo for exponential decay.

    beyond      a count that this one cannot exceed (M for S): it goes to infinity first
    conditions  of the statement: p is that of examples of constants that meet them

    Raises ValueError where there is no such p, where it depends on the constants, or sympy finds none.
    """
    if count not in term.free_symbols:
        return sympy.Integer(0)
    n = sympy.Symbol("n", positive=True)  # the count as a real number
    found = {_exponent_at(term.subs(count, n), n, beyond, one) for one in _examples(term, count, beyond, n, conditions)}
    if len(found) != 1 or None in found:
        raise ValueError(
            f"{term}: how it grows with {count} is not known, or depends on constants; expected a power of it"
        )
    return found.pop()


def _examples(
    term: sympy.Expr,
    count: sympy.Symbol,
    beyond: sympy.Symbol | None,
    n: sympy.Symbol,
    conditions: Sequence[sympy.Basic],
) -> list[dict[sympy.Symbol, sympy.Expr]]:
    """Up to two examples of constants that meet the conditions far out; where none are found, any two."""
    free = term.free_symbols.union(*(c.free_symbols for c in conditions))
    others = sorted(free - {count, beyond}, key=str)
    far = {n: _FAR, **({beyond: _FAR**2} if beyond else {})}
    rng, drawn, letters = Random(0), list[dict[sympy.Symbol, sympy.Expr]](), [*others, *filter(None, [count, beyond])]
    sides = sympy.lambdify(letters, list(conditions), "mpmath")

    def meets(at: Mapping[sympy.Symbol, sympy.Rational]) -> bool:
        try:
            return all(map(bool, sides(*(mpmath.mpf(at[s].p) / at[s].q for s in letters))))
        except (ZeroDivisionError, TypeError):  # not defined, or not real
            return False

    for i in range(_DRAWS):
        own = {s: _number_for(s, rng, 3 * i // _DRAWS) for s in others}
        at = {**own, **far, count: _FAR}
        if meets(at):
            drawn.append({**own, **far})
            if len(drawn) == 2:
                return drawn
    return drawn or [{**{s: _number_for(s, rng, size) for s in others}, **far} for size in (0, 1)]


def _number_for(symbol: sympy.Symbol, rng: Random, size: int) -> sympy.Expr:
    """A fraction of primes, which fits no special case, of a random order of magnitude; a prime for a count."""
    if symbol.is_integer:
        return sympy.Integer(sympy.prime(rng.randint(2, 12)))
    ratio = sympy.Rational(sympy.prime(rng.randint(3, 20)), sympy.prime(rng.randint(3, 20)))
    return ratio * sympy.Rational(10) ** rng.randint(-3 * size, size)


@lru_cache(maxsize=64)
def _slope(term: sympy.Expr, n: sympy.Symbol) -> sympy.Expr:
    return sympy.simplify(n * sympy.diff(term, n) / term)


def _exponent_at(
    term: sympy.Expr, n: sympy.Symbol, beyond: sympy.Symbol | None, numbers: Mapping[sympy.Symbol, sympy.Expr]
) -> sympy.Expr | None:
    """The exponent of n at these numbers; None where sympy finds none."""
    try:
        slope = _slope(_far_out(term, numbers), n)
        if beyond in slope.free_symbols:
            slope = sympy.limit(slope, beyond, sympy.oo)
        constants = {s: x for s, x in numbers.items() if s != n}
        found = sympy.limit(slope.subs(constants), n, sympy.oo) if n in slope.free_symbols else slope
    except (NotImplementedError, TypeError, ValueError):
        return None
    return found if found.is_extended_real and not found.has(sympy.Limit, sympy.AccumBounds) else None


def _far_out(term: sympy.Expr, numbers: Mapping[sympy.Symbol, sympy.Expr]) -> sympy.Expr:
    """The term with its maxima, minima and cases as they are at these numbers."""
    if not term.args or not term.has(sympy.Max, sympy.Min, sympy.Piecewise):
        return term
    if isinstance(term, sympy.Piecewise):
        here = (_far_out(value, numbers) for value, case in term.args if case.subs(numbers) == sympy.true)
        return next(here, sympy.nan)
    parts = [_far_out(part, numbers) for part in term.args]
    if isinstance(term, sympy.Max | sympy.Min):
        return (max if isinstance(term, sympy.Max) else min)(parts, key=lambda part: part.subs(numbers))
    return term.func(*parts)


def rates(id_: str, counts: Sequence[str] = COUNTS) -> LeadingOrders:
    """Leading orders of every term of a bound or order statement; an explicit bound at a fixed step size.

    Counts that the statement does not contain are left out.  Raises UnknownName; ValueError for a statement without terms,
    and for a term whose exponent is not known.
    """
    statement = catalogue.find(id_)
    symbols = {s.name: s.sympy for s in parameters(statement)}
    present = [c for c in counts if c in symbols]
    beyond, when = {"S": symbols.get("M")}, [c.relation for c in statement.when]
    table = {
        t.name: {c: exponent(t.value, symbols[c], beyond.get(c), when) for c in present}
        for t in claim_of(statement).terms
    }
    dominant = {c: largest({name: row[c] for name, row in table.items()}) for c in present}
    return LeadingOrders(table, dominant)


def largest(exponents: Mapping[str, sympy.Expr]) -> list[str]:
    """The terms of largest exponent; all where a symbol in an exponent leaves that open."""
    if not all(p.is_comparable or p.is_infinite for p in exponents.values()):
        return list(exponents)
    most = max(exponents.values(), key=float)
    return [name for name, p in exponents.items() if p == most]
