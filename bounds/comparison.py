"""Two bounds side by side: the ratio of each term, where one is smaller, which terms dominate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy

from bounds.evaluation import claim_of, compiled, evaluate
from bounds.orders import exponent
from theory import catalogue
from theory.concepts import same
from theory.statement import Bound, Order, Relations, Statement


@dataclass(frozen=True)
class Comparison:
    """Two bounds of the same kind (both explicit, or both orders).

    ratios          term -> first / second, simplified, for terms of the same name
    smaller_when    term -> the condition under which the first bound's term is the smaller one
    only            term that only one bound has -> that bound
    dominant        per bound, the terms that remain as R grows (all else fixed)
    dominant_ratio  first / second of the sums of those terms
    values          the two bounds at the given parameters, None when some are missing
    crossings       parameter -> its values at which the other bound becomes the smaller one, all else as given
    """

    first: str
    second: str
    ratios: dict[str, sympy.Expr]
    smaller_when: dict[str, sympy.Basic]
    only: dict[str, str]
    dominant: dict[str, list[str]]
    dominant_ratio: sympy.Expr | None
    values: tuple[float, float] | None
    crossings: dict[str, list[float]]


def compare(first: str, second: str, **values: float) -> Comparison:
    """Compare two bounds symbolically and, with all parameters given, in numbers.

    The step size is a shared symbol (eta_tilde): at equal eta_tilde the learning rates eta differ.
    Raises UnknownName; ValueError when one has no terms, when an explicit bound meets an order, when they bound
    different quantities, when a letter means different things in their papers, or for bad parameters.
    """
    one, two = catalogue.find(first), catalogue.find(second)
    a, b = claim_of(one), claim_of(two)
    if isinstance(a, Relations) or isinstance(b, Relations):
        raise ValueError(f"{first} and {second}: a condition does not compare; expected two bounds or two orders")
    if isinstance(a, Bound) != isinstance(b, Bound):
        raise ValueError(f"{first} and {second}: an explicit bound and an order do not compare; expected two alike")
    if a.quantity != b.quantity:
        raise ValueError(f"{first} bounds {a.quantity}, {second} bounds {b.quantity}: expected the same quantity")
    letters, theirs = catalogue.symbols(one), catalogue.symbols(two)
    for name in sorted(_letters(one, a) & _letters(two, b)):
        if not same(letters[name], theirs[name]):
            raise ValueError(
                f"{name} is {letters[name].meaning!r} in {first} and {theirs[name].meaning!r} in {second}: "
                "expected letters that mean the same"
            )
    left, right = ({t.name: t.value for t in claim.terms} for claim in (a, b))
    shared = [name for name in left if name in right]
    ratios = {name: sympy.simplify(left[name] / right[name]) for name in shared}
    only = {n: first for n in left if n not in right} | {n: second for n in right if n not in left}
    dominant, sums = {}, []
    for id_, terms in ((first, left), (second, right)):
        names = _dominant(terms)
        dominant[id_] = names
        sums.append(sympy.Add(*(terms[n] for n in names)))
    crossings, numbers = {}, None
    needed = {s.name for id_ in (first, second) for s in compiled(id_).parameters}
    surplus = set(values) - needed
    if surplus:
        raise ValueError(f"unknown parameter {', '.join(sorted(surplus))}; expected {', '.join(sorted(needed))}")
    if needed <= set(values):
        numbers = (_at(first, values), _at(second, values))
        crossings = {name: found for name in sorted(needed) if (found := _crossings(first, second, name, values))}
    return Comparison(
        first,
        second,
        ratios,
        {name: _smaller(ratio) for name, ratio in ratios.items()},
        only,
        dominant,
        sympy.simplify(sums[0] / sums[1]) if all(s != 0 for s in sums) else None,
        numbers,
        crossings,
    )


def _letters(statement: Statement, claim: Bound | Order) -> set[str]:
    """The letters of the quantity, the terms and, of an explicit bound, the parameters."""
    own = {s.name for e in (claim.quantity, *(t.value for t in claim.terms)) for s in e.free_symbols}
    return own | ({s.name for s in compiled(statement.id).parameters} if isinstance(claim, Bound) else set())


def _dominant(terms: dict[str, sympy.Expr]) -> list[str]:
    """Names of the terms of largest order in R."""
    R = next((s for t in terms.values() for s in t.free_symbols if s.name == "R"), None)
    if R is None:
        return list(terms)
    orders = {name: exponent(term, R) for name, term in terms.items()}
    largest = max(orders.values(), key=float)
    return [name for name, p in orders.items() if p == largest]


def _smaller(ratio: sympy.Expr) -> sympy.Basic:
    """The condition ratio < 1, solved where it has a single symbol."""
    symbols = ratio.free_symbols
    if len(symbols) != 1:
        return sympy.Lt(ratio, 1)
    (symbol,) = symbols
    x = sympy.Symbol(symbol.name, positive=True)
    solved = sympy.solve_univariate_inequality(ratio.subs(symbol, x) < 1, x, relational=False)
    inside = solved.intersect(sympy.Interval.open(0, sympy.oo))
    return inside.as_relational(symbol) if inside.sup != sympy.oo else sympy.Gt(symbol, inside.inf)


def _at(id_: str, values: dict[str, float]) -> float:
    own = {s.name: values[s.name] for s in compiled(id_).parameters}
    return float(evaluate(id_, strict=False, **own).value)


def _crossings(first: str, second: str, name: str, values: dict[str, float]) -> list[float]:
    """The values of one parameter (a factor 10^4 up and down, counts from 1) at which the difference changes sign.

    By a grid, then by bisection: to nine digits, or the first whole number without the old sign.
    """
    whole = any(s.name == name and s.sympy.is_integer for id_ in (first, second) for s in compiled(id_).parameters)
    centre = values[name]
    if centre <= 0:
        return []
    grid = np.geomspace(centre / 1e4, centre * 1e4, 1601)
    if whole:
        grid = np.unique(np.round(grid[grid >= 1]))

    def curve(id_: str, points: np.ndarray) -> np.ndarray:
        own = [s.name for s in compiled(id_).parameters]
        at = {n: values[n] for n in own} | ({name: points} if name in own else {})
        return np.broadcast_to(np.asarray(evaluate(id_, strict=False, **at).value), points.shape)

    def sign(points: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.sign(curve(first, points) - curve(second, points))

    signs = sign(grid)
    kept = np.isfinite(signs) & (signs != 0)
    points, signs = grid[kept], signs[kept]
    changes = np.flatnonzero(np.diff(signs) != 0)
    low, high, below = points[changes], points[changes + 1], signs[changes]
    for _ in range(60):
        middle = np.floor((low + high) / 2) if whole else np.sqrt(low * high)
        same = sign(middle) == below
        if whole:
            same &= middle > low
        low, high = np.where(same, middle, low), np.where(same | (middle == low), high, middle)
    return [float(x) for x in high]
