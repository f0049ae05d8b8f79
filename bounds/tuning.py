"""The step size: the best admissible one, the proofs' closed-form choice, and the rounds needed to reach epsilon."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.core.relational import Relational

from fedtheory.bounds.evaluation import (
    HOLDS,
    BoundValue,
    Compiled,
    ConditionViolated,
    adds_up,
    claim_of,
    compiled,
    evaluate,
    parameters,
    relation_at,
)
from fedtheory.simulations.checked import number, whole
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Statement

_POSITIVE = sympy.Interval.open(0, sympy.oo)
_EVERY_SIZE = np.geomspace(1e-80, 1e80, 3201)
_WITHIN = 1 - 2.0**-50  # times the end of an open interval: inside
_ROUGH = 1e-3  # a step size is found by doubles if the sides differ by more around it, relatively
_LEAST, _MOST = 1e-150, 1e150  # step sizes to try where no condition limits them


@dataclass(frozen=True)
class Tuned:
    """The best constant step size for one bound.

    name         the step size: eta_tilde, eta or gamma
    step_size    the minimiser of the bound over the admissible interval
    interval     smallest and largest admissible step size
    best         the bound there
    closed_form  the choice in the paper's proof (Lemma 7 or Lemma 8), None where the proof makes none, or none > 0
    closed       the bound at the closed-form choice; its violations say when that choice is not admissible
    """

    name: str
    step_size: float
    interval: tuple[float, float]
    best: BoundValue
    closed_form: float | None
    closed: BoundValue | None

    @property
    def limit(self) -> str:
        """Where no step size is best: "0" or "infinity", towards which the bound falls; empty elsewhere."""
        at_end = {"0": self.step_size <= _LEAST, "infinity": self.step_size >= _MOST}
        return next((end for end, there in at_end.items() if there), "")


def step_size_of(statement: Compiled) -> str:
    """The name of the bound's step size.  Raises ValueError when it has none."""
    names = [s.name for s in statement.parameters]
    for name in catalogue.paper(statement.statement.paper).step_sizes:
        if name in names:
            return name
    told = ", ".join(names)
    raise ValueError(f"{statement.statement.id}: expected a bound with a step size to tune; its parameters are {told}")


def admissible_interval(id_: str, name: str | None = None, /, **values: float) -> tuple[float, float]:
    """Smallest and largest step size that satisfy the bound's conditions, at the other parameters' values.

    name  of the step size; by default the bound's first

    Conditions that are linear in the step size or in its inverse are solved exactly, others numerically up to 1e-12.  Where
    they hold in several intervals, it is the first.  Raises ConditionViolated when no step size is admissible, or when a
    condition without the step size is violated.
    """
    statement = compiled(id_)
    name = name or step_size_of(statement)
    try:
        low, high = _interval(statement, name, values)
        if not _empty(low, high):
            return low, high
        says = f"{id_}: no {name} is admissible, expected one in [{low:g}, {high:g}], which is empty"
    except ConditionViolated as error:
        says = str(error)
    R = _fewest_rounds(statement, name, values)
    raise ConditionViolated(says + ("" if R is None else f"; with these numbers it needs R >= {R}"))


def _empty(low: float, high: float) -> bool:
    return low > high * (1 + 1e-12)


def _admits(statement: Compiled, name: str, values: Mapping[str, float]) -> bool:
    """Whether some step size is admissible."""
    try:
        return not _empty(*_interval(statement, name, values))
    except ConditionViolated:
        return False


_MOST_ROUNDS = 2**40


def _fewest_rounds(statement: Compiled, name: str, values: Mapping[str, float]) -> int | None:
    """The smallest R with an admissible step size, at the other values; None if there is none, or no R among them."""

    def admits(R: int) -> bool:
        return _admits(statement, name, {**values, "R": R})

    few = many = int(values.get("R", _MOST_ROUNDS))
    while many < _MOST_ROUNDS and not admits(many):
        few, many = many, 2 * many
    if many >= _MOST_ROUNDS:
        return None
    return bisect_left(range(many), True, few + 1, key=admits)


Interval = tuple[float, float]


def _interval(statement: Compiled, name: str, values: Mapping[str, float]) -> Interval:
    """`admissible_interval`, which may be empty: the first of the intervals in which all conditions hold."""
    id_ = statement.statement.id
    step = next(s.sympy for s in statement.parameters if s.name == name)
    several: list[Interval] = [(0.0, float("inf"))]
    for i, condition in enumerate(statement.statement.when):
        if step not in condition.relation.free_symbols:
            continue  # checked by evaluate at the chosen step size
        own = _of(statement, i, name, values)
        if not own:
            sides = statement.conditions[i][1:]
            undefined = np.isnan([side(*_arguments(statement, name, 1.0, values)) for side in sides]).any()
            because = ": it divides 0 by 0" if undefined else ""
            raise ConditionViolated(f"{id_}: {condition} is violated for every {name}{because}")
        both = [(max(a, c), min(b, d)) for a, b in several for c, d in own]
        several = [one for one in both if not _empty(*one)] or [max(both, key=lambda one: one[1] - one[0])]
    return min(several)


def _of(
    statement: Compiled, condition: int, name: str, values: Mapping[str, float], exactly: bool = True
) -> list[Interval]:
    """The intervals of step sizes with a condition, in order; an equation is solved exactly."""
    relation = statement.statement.when[condition].relation
    step = next(s.sympy for s in statement.parameters if s.name == name)
    found = None
    if (exactly or relation.rel_op == "==") and _linear(relation, step):
        found = _exactly(
            relation, step, {s.sympy: _rational(values[s.name]) for s in statement.parameters if s.name in values}
        )
    return _numerically(statement, condition, name, values) if found is None else found


@cache
def _rational(value: float) -> sympy.Rational:
    """A number as a simple fraction."""
    return sympy.nsimplify(value, rational=True)


def _exactly(
    relation: Relational, step: sympy.Symbol, at: Mapping[sympy.Symbol, sympy.Rational]
) -> list[Interval] | None:
    """The step sizes > 0 with a condition that is linear in them, in order; None where a number is divided by 0."""
    parts = _parts(relation, step) if relation.rel_op in ("<=", "<", ">=", ">") else [sympy.nan] * 3
    try:
        slope, rest, denominator = (part.subs(at) for part in parts)
    except ValueError:  # sympy compares no infinite numbers
        return None
    if not (slope.is_number and rest.is_number and slope.is_nonzero and denominator.is_positive and step.is_positive):
        try:
            here = relation.subs(at)
        except (TypeError, ValueError):  # sympy does not compare with NaN
            return None
        if here in (sympy.true, sympy.false):
            return [(0.0, float("inf"))] if here is sympy.true else []
        if here.has(sympy.zoo, sympy.nan):
            return None
        where = sympy.solve_univariate_inequality(here, step, relational=False, domain=_POSITIVE)
        return [one for part in (where.args if isinstance(where, sympy.Union) else (where,)) for one in _ends(part)]
    root, strict = float(-rest / slope), relation.rel_op in ("<", ">")
    if slope.is_negative:
        return [(max(root / _WITHIN if strict else root, 0.0), float("inf"))]
    return [(0.0, root * _WITHIN if strict else root)] if root > 0 else []


def _ends(where: sympy.Set) -> list[Interval]:
    """The smallest and largest number of an interval, or of single numbers, inside where it is open."""
    if isinstance(where, sympy.FiniteSet):
        return [(float(x), float(x)) for x in sorted(where.args)]
    if not isinstance(where, sympy.Interval):
        return []
    low, high = float(where.inf), float(where.sup)
    return [(low / _WITHIN if where.left_open else low, high * _WITHIN if where.right_open else high)]


@cache
def _parts(relation: Relational, step: sympy.Symbol) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr]:
    """(a, c, q) of a linear condition (a step + c) / q <= 0 (or < 0), up to a power of the step size."""
    sides = relation.lhs - relation.rhs if relation.rel_op in ("<=", "<") else relation.rhs - relation.lhs
    numerator, denominator = sympy.fraction(sympy.together(sides))
    polynomial = sympy.Poly(numerator, step)
    lowest = min(powers[0] for powers in polynomial.monoms())
    return polynomial.nth(lowest + 1), polynomial.nth(lowest), denominator


def largest_step(statement: Compiled, name: str, values: Mapping[str, float]) -> float:
    """The step size up to which all conditions hold, numerically; infinite if none limits it, 0 if none is admissible."""
    conditions = enumerate(statement.statement.when)
    on_it = [i for i, c in conditions if name in {s.name for s in c.relation.free_symbols}]
    firsts = [next(iter(_of(statement, i, name, values, exactly=False)), (0.0, 0.0)) for i in on_it]
    return min((high for _, high in firsts), default=float("inf"))


@cache
def _linear(relation: Relational, step: sympy.Symbol) -> bool:
    """Whether a condition is a linear polynomial in the step size, times a power of it, with rational coefficients."""
    if any(not power.exp.is_Rational for power in relation.atoms(sympy.Pow)):
        return False
    numerator = sympy.fraction(sympy.together(relation.lhs - relation.rhs))[0]
    try:
        powers = [monomial[0] for monomial in sympy.Poly(numerator, step).monoms()]
    except sympy.PolynomialError:
        return False
    return max(powers) - min(powers) <= 1


def _arguments(statement: Compiled, name: str, step: Any, values: Mapping[str, float]) -> list[Any]:
    """The numbers of the parameters, in their order."""
    return [step if s.name == name else np.float64(values.get(s.name, 1.0)) for s in statement.parameters]


def _numerically(statement: Compiled, condition: int, name: str, values: Mapping[str, float]) -> list[Interval]:
    """The intervals of step sizes with a condition, in order, by bisection from a grid: a short one may be missed."""
    which, left, right = statement.conditions[condition]
    symbols, op = tuple(s.sympy for s in statement.parameters), which.relation.rel_op

    def sides(step: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        with np.errstate(all="ignore"):  # far outside, numbers overflow: the condition does not hold there
            ordered = _arguments(statement, name, step, values)
            a, b = (np.broadcast_to(np.asarray(side(*ordered), float), step.shape) for side in (left, right))
            return a, b

    def holds(step: NDArray[np.float64], digits: bool = True) -> NDArray[np.bool_]:
        a, b = sides(step)
        with np.errstate(all="ignore"):
            if not digits:
                return np.asarray(HOLDS[op](a, b))
            return relation_at(which.relation, a, b, symbols, _arguments(statement, name, step, values), room=0.0)

    def end(inside: float, outside: float) -> float:
        """The last step size between these two at which it holds."""
        a, b = sides(np.array([inside, outside]))
        with np.errstate(all="ignore"):
            digits = bool((np.abs(a - b) <= _ROUGH * np.abs(b)).any())
        while abs(outside / inside - 1) > 1e-13:
            steps = np.geomspace(inside, outside, 100)
            steps[[0, -1]] = inside, outside
            i = int(np.argmin([*holds(steps, digits)[:-1], False]))  # the first that fails, the last one at the latest
            inside, outside = float(steps[i - 1]), float(steps[i])
        return inside * _WITHIN if op == "<" and outside > inside else inside

    found = holds(_EVERY_SIZE)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], found, [False]])))
    several = []
    for first, last in zip(edges[::2], edges[1::2] - 1, strict=True):
        low = 0.0 if first == 0 else end(float(_EVERY_SIZE[first]), float(_EVERY_SIZE[first - 1]))
        whole = last == len(_EVERY_SIZE) - 1
        high = float("inf") if whole else end(float(_EVERY_SIZE[last]), float(_EVERY_SIZE[last + 1]))
        several.append((low, high))
    return several


def tune(id_: str, /, **values: float) -> Tuned:
    """Minimise an explicit bound over its step size, all other parameters given as numbers.

    Raises ValueError for missing or bad parameters, or a statement that is no bound; ConditionViolated when no step
    size is admissible.
    """
    statement = compiled(id_)
    if not adds_up(claim_of(statement.statement)):
        raise ValueError(f"{id_} is a {statement.statement.kind}: expected a bound, to be made small by its step size")
    name = step_size_of(statement)
    if name in values:
        raise ValueError(f"{name} = {values[name]} was given, but tuning chooses it; expected the other parameters")
    scalar: dict[str, Any] = {k: number(k, v) for k, v in values.items()}
    # All other parameters are checked here, with a step size that is certainly positive.
    evaluate(id_, strict=False, **{**scalar, name: 1.0})
    low, high = admissible_interval(id_, **scalar)
    evaluate(id_, strict=True, **{**scalar, name: _inside(low, high)})  # conditions without the step size
    best = _minimise(id_, name, low, high, scalar)
    closed = closed_form(catalogue.find(id_), scalar)
    at_closed = None if closed is None else evaluate(id_, strict=False, **{**scalar, name: closed})
    return Tuned(name, best, (low, high), evaluate(id_, **{**scalar, name: best}), closed, at_closed)


def _inside(low: float, high: float) -> float:
    return high if np.isfinite(high) else max(1.0, 2 * low)


def _minimise(id_: str, name: str, low: float, high: float, values: dict[str, float]) -> float:
    """Global by a scan on a logarithmic grid, then refined by a bounded search around the best point."""
    from scipy.optimize import minimize_scalar

    own = [term for term in claim_of(catalogue.find(id_)).terms if name in {s.name for s in term.value.free_symbols}]
    if not own or low >= high:
        return _inside(low, high)

    def value(step: Any) -> Any:
        """The part of the bound that depends on the step size."""
        terms = evaluate(id_, strict=False, **{**values, name: step}).terms
        return np.sum([terms[term.name] for term in own], axis=0)

    left, right = bottom, top = max(low, _LEAST), min(high, _MOST)
    for _ in range(2):
        grid = np.geomspace(left, right, 2001)
        grid[0], grid[-1] = left, right
        scan = value(grid)
        if not np.isfinite(scan).any():
            raise ValueError(f"{id_} is larger than any double at every admissible {name}: expected smaller parameters")
        if (left, right) == (bottom, top) and (scan == scan[0]).all():
            return _inside(low, high)
        i = int(np.nanargmin(scan))
        left, right = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]

    found = minimize_scalar(lambda log_step: float(value(float(np.exp(log_step)))), bounds=(np.log(left), np.log(right)),
                            method="bounded", options={"xatol": 1e-12})  # fmt: skip
    return min(float(grid[i]), float(np.clip(np.exp(found.x), bottom, top)), key=lambda step: float(value(step)))


def closed_form(statement: Statement, values: dict[str, float]) -> float | None:
    """The step size that the paper's proof chooses: that of the recursion lemma it applies, at the bound's parameters.

    Lemma 8 balances its three terms; Lemma 7 takes a logarithm and leaves out the terms of third order.
    """
    applied = statement.applies
    if applied is None:
        return None
    (choice,) = catalogue.find(applied.tuned_by).where.values()
    at = {name: float(e.subs({s: values[s.name] for s in e.free_symbols})) for name, e in applied.substitution.items()}
    symbols = sorted(choice.free_symbols, key=str)
    with np.errstate(all="ignore"):  # with little or no noise a balance is at infinity, 1/d remains
        found = float(sympy.lambdify(symbols, choice, "numpy")(*(np.float64(at[s.name]) for s in symbols)))
    return found if found > 0 else None  # D = 0: nothing to balance


def rounds_to(epsilon: float, id_: str, /, *, most: int = 10**12, **values: Any) -> int | None:
    """The smallest R at which the best admissible step size brings the bound down to epsilon; None for none up to `most`.

    Where no term grows with R and no condition becomes stricter, it is exact.  Elsewhere it is the first of some 150 R up to
    `most`, from there backwards as long as the bound is as small: a short interval of R may be missed.

    Raises ValueError for epsilon <= 0, most >= 2^63 or bad parameters.
    """
    number("epsilon", epsilon, "> 0")
    whole("most", most)
    if "R" in values:
        raise ValueError(f"R = {values['R']} was given, but R is what is asked for; expected the other parameters")
    if "R" not in [s.name for s in compiled(id_).parameters]:
        raise ValueError(f"{id_} does not depend on R: expected a bound that does")

    statement = compiled(id_)
    name = step_size_of(statement)
    if name not in values:  # which `tune` refuses
        evaluate(id_, strict=False, **{**values, name: 1.0, "R": 1})

    def reached(R: int) -> bool:
        try:
            admits = _admits(statement, name, {**values, "R": R})  # without, `tune` would look for the fewest rounds
            return admits and bool(tune(id_, R=R, **values).best.value <= epsilon)
        except ConditionViolated:
            return False

    if _falls(statement.statement):
        tried = [min(2**n, most) for n in range(most.bit_length() + 1)]
    else:
        tried = sorted({min(int(1.2**n) + 1, most) for n in range(-10, int(np.log(most) / np.log(1.2)) + 2)})
    for before, R in zip((0, *tried), tried, strict=False):
        if reached(R):
            return bisect_left(range(R), True, before + 1, key=reached)
    return None


def _falls(statement: Statement) -> bool:
    """Whether no term grows with R at a fixed step size, and no condition becomes stricter, as far as sympy sees."""
    numbers = {s.sympy: sympy.Symbol(s.name, positive=True) for s in parameters(statement)}
    (R,) = (number for number in numbers.values() if number.name == "R")
    sides = [c.relation.lhs - c.relation.rhs for c in statement.when if c.relation.rel_op in ("<=", "<")]
    sides += [c.relation.rhs - c.relation.lhs for c in statement.when if c.relation.rel_op in (">=", ">")]
    slopes = [sympy.diff(e.subs(numbers), R) for e in (*(t.value for t in claim_of(statement).terms), *sides)]
    return all(slope.is_nonpositive or sympy.factor(slope).is_nonpositive for slope in slopes)
