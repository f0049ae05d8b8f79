"""Two bounds side by side: the ratio of each term, where one is smaller, which terms dominate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import latex

from fedtheory.bounds.evaluation import BoundValue, ConditionViolated, claim_of, compiled, evaluate, in_domain
from fedtheory.bounds.orders import exponent, largest
from fedtheory.bounds.tuning import step_size_of, tune
from fedtheory.simulations.checked import brief, reals
from fedtheory.theory import catalogue
from fedtheory.theory.concepts import same
from fedtheory.theory.statement import Bound, Order, Relations, Statement


@dataclass(frozen=True)
class Comparison:
    """Two bounds of the same kind (both explicit, or both orders).

    ratios          term -> first / second, simplified, for terms of the same name
    smaller_when    term -> the condition under which the first bound's term is the smaller one
    only            term that only one bound has -> that bound
    dominant        per bound, the terms that remain as R grows (all else fixed)
    dominant_ratio  first / second of the sums of those terms
    values          the two bounds at the given parameters, None when none are given
    violations      the conditions of the bounds that these parameters violate
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
    violations: list[str]
    crossings: dict[str, list[float]]

    def _repr_markdown_(self) -> str:
        """For a notebook: the ratio of each term as a table."""
        head = ["| term | first / second | the first is smaller |", "|---|---|---|"]
        rows = [
            f"| {name} | ${latex(ratio)}$ | ${latex(self.smaller_when[name])}$ |" for name, ratio in self.ratios.items()
        ]
        rows += [f"| {name} | only in {one} | |" for name, one in self.only.items()]
        return "\n".join([f"{self.first} against {self.second}", "", *head, *rows])


def compare(first: str, second: str, /, **values: float) -> Comparison:
    """Compare two bounds symbolically and, with all parameters given, in numbers.

    The step size is a shared symbol (eta_tilde): at equal eta_tilde the learning rates eta differ.
    Raises UnknownName; ValueError when only some parameters are given, when one has no terms, when an explicit bound
    meets an order, when they bound different quantities, when a letter means different things in their papers, or for
    bad parameters.
    """
    a, b = comparable(first, second)
    left, right = ({t.name: t.value for t in claim.terms} for claim in (a, b))
    shared = [name for name in left if name in right]
    ratios = {name: sympy.simplify(left[name] / right[name]) for name in shared}
    only = {n: first for n in left if n not in right} | {n: second for n in right if n not in left}
    dominant, sums = {}, []
    for id_, terms in ((first, left), (second, right)):
        names = _dominant(terms, [c.relation for c in catalogue.find(id_).when])
        dominant[id_] = names
        sums.append(sympy.Add(*(terms[n] for n in names)))
    crossings, numbers, violations = {}, None, list[str]()
    if values:
        needed = _needed((first, second), values)
        here = {id_: _at(id_, values) for id_ in (first, second)}
        numbers = (float(here[first].value), float(here[second].value))
        violations = [f"{id_}: {violation}" for id_, one in here.items() for violation in one.violations]
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
        violations,
        crossings,
    )


def comparable(first: str, second: str) -> tuple[Bound | Order, Bound | Order]:
    """The claims of two bounds or orders that compare; raises UnknownName and ValueError as `compare`."""
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
    return a, b


def _needed(ids: Sequence[str], values: Mapping[str, Any], without: Collection[str] = ()) -> set[str]:
    """The parameters of the bounds.  Raises ValueError where `values` has others, or not all but those `without`."""
    needed = {s.name for id_ in ids for s in compiled(id_).parameters}
    expected = ", ".join(sorted(needed - set(without)))
    if surplus := sorted(set(values) - needed | set(values) & set(without)):
        raise ValueError(f"unknown parameter {brief(', '.join(surplus))}; expected {expected}")
    if missing := sorted(needed - set(values) - set(without)):
        raise ValueError(f"{', '.join(ids)} need {', '.join(missing)} too; expected {expected}")
    return needed


def _letters(statement: Statement, claim: Bound | Order) -> set[str]:
    """The letters of the quantity, the terms and, of an explicit bound, the parameters."""
    own = {s.name for e in (claim.quantity, *(t.value for t in claim.terms)) for s in e.free_symbols}
    return own | ({s.name for s in compiled(statement.id).parameters} if isinstance(claim, Bound) else set())


def _dominant(terms: dict[str, sympy.Expr], conditions: Sequence[sympy.Basic]) -> list[str]:
    """Names of the terms of largest order in R; all where that is not known."""
    R = next((s for t in terms.values() for s in t.free_symbols if s.name == "R"), None)
    if R is None:
        return list(terms)
    try:
        return largest({name: exponent(term, R, None, conditions) for name, term in terms.items()})
    except ValueError:
        return list(terms)


def _smaller(ratio: sympy.Expr) -> sympy.Basic:
    """The condition ratio < 1, solved where it has a single symbol."""
    symbols = ratio.free_symbols
    if len(symbols) != 1:
        return sympy.Lt(ratio, 1)
    (symbol,) = symbols
    x, domain = sympy.Symbol(symbol.name, positive=True), sympy.Interval.open(0, sympy.oo)
    if symbol.is_integer:
        domain = sympy.Interval(1, sympy.oo)
    try:
        inside = sympy.solve_univariate_inequality(ratio.subs(symbol, x) < 1, x, relational=False, domain=domain)
    except NotImplementedError:
        return sympy.Lt(ratio, 1)
    if inside == domain:
        return sympy.true
    parts = [one for one in (inside.args if isinstance(inside, sympy.Union) else (inside,)) if one != sympy.S.EmptySet]
    ends = [sympy.Gt(symbol, one.inf) if one.sup == sympy.oo else one.as_relational(symbol) for one in parts]
    return sympy.Or(*ends)


def _at(id_: str, values: dict[str, float]) -> BoundValue:
    return evaluate(id_, strict=False, **{s.name: values[s.name] for s in compiled(id_).parameters})


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


@dataclass(frozen=True)
class Along:
    """Several bounds along one symbol, each at its own best admissible step size or all at the given one.

    name      the symbol: a parameter of the bounds, or kappa = L/mu
    points    (P,), increasing
    values    bound -> (P,); NaN where its conditions fail
    steps     bound -> (P,), the step sizes that were chosen; empty where they were given
    smallest  (from, to, bound), in order: where which bound is the smallest
    """

    name: str
    points: np.ndarray
    values: dict[str, np.ndarray]
    steps: dict[str, np.ndarray]
    smallest: list[tuple[float, float, str]]


def along(ids: Sequence[str], name: str, points: Any, /, tuned: bool = True, **values: float) -> Along:
    """Bounds along one symbol.

    ids     two bounds or more that compare, see `compare`
    name    the symbol, such as R; kappa, where it is no parameter, changes mu at the given L
    points  its values
    tuned   each bound at its own best admissible step size; False: at the given one
    values  all other parameters

    Raises UnknownName; ValueError as `compare`, for orders, and for points outside the symbol's domain.
    """
    if len(set(ids)) < max(len(ids), 1):
        raise ValueError(f"bounds {brief(', '.join(ids))}: expected different ones")
    for other in ids[1:]:
        comparable(ids[0], other)
    for id_ in ids:
        if not isinstance(claim_of(catalogue.find(id_)), Bound):
            raise ValueError(f"{id_} is an order: expected explicit bounds, which have values")
    grid = np.unique(reals(name, points))
    owned, letters = {s.name: s for id_ in ids for s in compiled(id_).parameters}, {}
    if name == "kappa" and name not in owned:
        letters = {s.concept: s.name for s in owned.values()}
        if not {"smoothness", "strong convexity"} <= set(letters):
            raise ValueError(f"kappa of {', '.join(ids)}: expected bounds with L and mu")
    elif name not in owned:
        raise ValueError(f"{brief(name)} is no parameter of {', '.join(ids)}: expected one of {', '.join(owned)}")
    else:
        if owned[name].sympy.is_integer:
            grid = np.unique(np.round(grid))
        if not in_domain(owned[name], grid).all():
            raise ValueError(f"{name} from {grid[0]:g} to {grid[-1]:g}: expected {owned[name].domain}")
    chosen = {id_: step for id_ in ids if tuned and (step := _step_of(id_)) is not None}
    moved = letters["strong convexity"] if letters else name
    _needed(ids, values, {moved, *chosen.values()})
    found = {id_: np.full(len(grid), np.nan) for id_ in ids}
    steps = {id_: np.full(len(grid), np.nan) for id_ in chosen}
    for i, point in enumerate(grid):
        here = {**values, moved: values[letters["smoothness"]] / point if letters else point}
        for id_ in ids:
            own = {s.name: here[s.name] for s in compiled(id_).parameters if s.name in here}
            try:
                if id_ in chosen:
                    best = tune(id_, **own)
                    found[id_][i], steps[id_][i] = best.best.value, best.step_size
                else:
                    found[id_][i] = evaluate(id_, **own).value
            except ConditionViolated:
                continue
    if all(np.isnan(series).all() for series in found.values()):
        raise ValueError(
            f"no bound is admissible at any {name} from {grid[0]:g} to {grid[-1]:g}: expected other numbers"
        )
    return Along(name, grid, found, steps, _smallest(grid, found))


def _step_of(id_: str) -> str | None:
    """The step size of a bound; None where it has none."""
    try:
        return step_size_of(compiled(id_))
    except ValueError:
        return None


def _smallest(points: np.ndarray, values: Mapping[str, np.ndarray]) -> list[tuple[float, float, str]]:
    """The stretches of points on which one bound is the smallest; ties, up to rounding, go to the one before."""
    found: list[tuple[float, float, str]] = []
    for i, point in enumerate(points):
        here = {id_: series[i] for id_, series in values.items() if not np.isnan(series[i])}
        if not here:
            continue
        least = min(here.values())
        first = [id_ for id_, value in here.items() if value <= least * (1 + 1e-9)]
        if found and found[-1][2] in first:
            found[-1] = (found[-1][0], float(point), found[-1][2])
        else:
            found.append((float(point), float(point), first[0]))
    return found
