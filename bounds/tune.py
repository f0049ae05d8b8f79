"""The step size: the best admissible one, the proofs' closed-form choice, and the rounds needed to reach epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from scipy.optimize import minimize_scalar

from bounds.evaluate import Compiled, ConditionViolated, Value, compiled, evaluate
from theory import catalogue
from theory.statement import Statement

STEP_SIZES = ("eta_tilde", "eta", "gamma")
_POSITIVE = sympy.Interval.open(0, sympy.oo)


@dataclass(frozen=True)
class Tuned:
    """The best constant step size for one bound.

    name         which step size: eta_tilde, eta or gamma
    step_size    the minimiser of the bound over the admissible interval
    interval     smallest and largest admissible step size
    best         the bound there
    closed_form  the choice in the paper's proof (Lemma 7 or Lemma 8), None where the proof makes none, or none > 0
    closed       the bound at the closed-form choice; its violations say when that choice is not admissible
    """

    name: str
    step_size: float
    interval: tuple[float, float]
    best: Value
    closed_form: float | None
    closed: Value | None


def step_size_of(statement: Compiled) -> str:
    """The name of the bound's step size.  Raises ValueError when it has none."""
    names = [s.name for s in statement.parameters]
    for name in STEP_SIZES:
        if name in names:
            return name
    raise ValueError(f"{statement.statement.id} has no step size to tune; its parameters are {', '.join(names)}")


def admissible_interval(id_: str, **values: float) -> tuple[float, float]:
    """Smallest and largest step size that satisfy the bound's conditions, at the other parameters' values.

    Conditions on the step size are linear in it or in its inverse.  Raises ConditionViolated when there is none, or
    when a condition without the step size is violated.
    """
    statement = compiled(id_)
    name = step_size_of(statement)
    step = next(s.sympy for s in statement.parameters if s.name == name)
    low, high = 0.0, float("inf")
    at = {s.sympy: sympy.nsimplify(values[s.name], rational=True) for s in statement.parameters if s.name in values}
    for condition in statement.statement.when:
        relation = condition.relation.subs(at)
        if step not in condition.relation.free_symbols:
            continue  # checked by evaluate at the chosen step size
        if relation in (sympy.true, sympy.false):
            if relation is sympy.false:
                raise ConditionViolated(f"{id_}: {condition} is violated for every {name}")
            continue
        where = sympy.solve_univariate_inequality(relation, step, relational=False, domain=_POSITIVE)
        low, high = max(low, float(where.inf)), min(high, float(where.sup))
    if low > high * (1 + 1e-12):
        raise ConditionViolated(f"{id_}: no {name} is admissible, it would have to lie in [{low:g}, {high:g}]")
    return low, high


def tune(id_: str, **values: float) -> Tuned:
    """Minimise an explicit bound over its step size, all other parameters given as numbers.

    Raises ValueError for missing or bad parameters, ConditionViolated when no step size is admissible.
    """
    statement = compiled(id_)
    name = step_size_of(statement)
    if name in values:
        raise ValueError(f"{name} = {values[name]} was given, but tuning chooses it; expected the other parameters")
    scalar: dict[str, Any] = {k: float(v) for k, v in values.items()}
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
    top = high if np.isfinite(high) else max(low, 1.0) * 1e12
    bottom = max(low, top * 1e-15)
    grid = np.geomspace(bottom, top, 2001)
    grid[0], grid[-1] = bottom, top
    scan = evaluate(id_, strict=False, **{**values, name: grid}).value
    i = int(np.argmin(scan))
    left, right = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]

    def bound(log_step: float) -> float:
        return float(evaluate(id_, strict=False, **{**values, name: float(np.exp(log_step))}).value)

    found = minimize_scalar(bound, bounds=(np.log(left), np.log(right)), method="bounded", options={"xatol": 1e-12})
    candidates = [float(np.clip(np.exp(found.x), bottom, top)), float(grid[i])]
    return min(candidates, key=lambda step: bound(float(np.log(step))))


def closed_form(statement: Statement, values: dict[str, float]) -> float | None:
    """The step size the paper's proof chooses: that of the recursion lemma it applies, at the bound's parameters.

    Lemma 8 balances its three terms; Lemma 7 takes a logarithm and leaves out the terms of third order.
    """
    applied = statement.applies
    if applied is None:
        return None
    (choice,) = catalogue.find(applied.tuned_by).where.values()
    at = {name: float(e.subs({s: values[s.name] for s in e.free_symbols})) for name, e in applied.substitution.items()}
    letters = sorted(choice.free_symbols, key=str)
    with np.errstate(divide="ignore", invalid="ignore"):  # without noise a balance lies at infinity, 1/d remains
        found = float(sympy.lambdify(letters, choice, "numpy")(*(np.float64(at[s.name]) for s in letters)))
    return found if found > 0 else None  # D = 0: nothing to balance


def rounds_to(epsilon: float, id_: str, *, most: int = 10**12, **values: Any) -> int | None:
    """The smallest R at which the best admissible step size brings the bound down to epsilon; None beyond `most`.

    The tuned bound does not increase in R: at a fixed step size every term falls or stays, and conditions only relax.
    Raises ValueError for epsilon <= 0 or bad parameters.
    """
    if not (np.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon = {epsilon}: expected a number > 0")
    if "R" in values:
        raise ValueError(f"R = {values['R']} was given, but R is what is asked for; expected the other parameters")
    if "R" not in [s.name for s in compiled(id_).parameters]:
        raise ValueError(f"{id_} does not depend on R")

    def reached(R: int) -> bool:
        try:
            return bool(tune(id_, R=R, **values).best.value <= epsilon)
        except ConditionViolated:
            return False

    high = 1
    while not reached(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        mid = (low + high) // 2
        low, high = (low, mid) if reached(mid) else (mid, high)
    return high


__all__ = ["Tuned", "admissible_interval", "closed_form", "rounds_to", "tune"]
