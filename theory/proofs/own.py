"""Checks for a paper of one's own, ready to use: a claim in numbers, and an inequality for all smooth convex functions.

Each reads everything from the statement that it is handed, so that it refutes a changed one, or breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import permutations
from typing import Any

import numpy as np
import sympy

from theory import catalogue
from theory.proofs.arithmetic import decide
from theory.proofs.ledger import conditions_of
from theory.proofs.vectors import certify, convex, difference, point, smooth_convex
from theory.statement import Bound, Relations, Statement, Status, Verdict

_ROUNDING = 1e-9  # relative


def broken(step: str, says: str) -> Verdict:
    """A check that is not about this statement, or not under these assumptions."""
    return Verdict(Status.BROKEN, says, witness={"step": step})


def other_than(
    statement: Statement, quantity: sympy.Expr, needed: Iterable[StrEnum] = (), sign: str = "<="
) -> Verdict | None:
    """Broken, where the statement bounds something else, or assumes less, than a check is about; else None."""
    claim = statement.claim
    if not (isinstance(claim, Bound) and claim.sign == sign and sympy.expand(claim.quantity - quantity) == 0):
        return broken("left side", f"this check is about {quantity} {sign} ...")
    return _without(statement, needed)


def _without(statement: Statement, needed: Iterable[StrEnum]) -> Verdict | None:
    lost = [p for p in needed if p not in catalogue.properties(statement)]
    return broken("assumptions", f"this check needs: {lost[0]}") if lost else None


def on_cases(
    statement: Statement,
    quantity: sympy.Expr,
    cases: Iterable[Mapping[str, Any]],
    measured: Callable[[Mapping[str, Any]], float],
    needed: Iterable[StrEnum] = (),
) -> Verdict:
    """A claim quantity <= terms in numbers, on the cases that meet its conditions: holds with a slack, or a witness.

    cases     values of the symbols by name
    measured  the quantity of a case
    needed    properties without which the cases would be others
    """
    if found := other_than(statement, quantity, needed):
        return found
    claim = statement.claim
    assert isinstance(claim, Bound)
    free = claim.value.free_symbols.union(*(c.relation.free_symbols for c in statement.when))
    symbols = sorted(free, key=str)
    value = sympy.lambdify(symbols, claim.value, "numpy")
    conditions = [sympy.lambdify(symbols, c.relation, "numpy") for c in statement.when]
    slack, tried = np.inf, 0
    for case in cases:
        if lost := [s.name for s in symbols if s.name not in case]:
            return broken("symbols", f"the cases have no {', '.join(lost)}")
        at = [case[s.name] for s in symbols]
        if not all(condition(*at) for condition in conditions):
            continue
        left, right, tried = measured(case), float(value(*at)), tried + 1
        if left > right + _ROUNDING * (abs(left) + abs(right)):
            witness = {s.name: case[s.name] for s in symbols} | {"measured": left, "bound": right}
            return Verdict(Status.REFUTED, f"measured {left:.6g}, bound {right:.6g}", witness=witness)
        slack = min(slack, right / left if left > 0 else np.inf)
    if not tried:
        return Verdict(Status.VACUOUS, "no case meets the conditions")
    return Verdict(Status.TESTED, f"on {tried} cases", slack=float(slack) if np.isfinite(slack) else None)


def for_functions(
    statement: Statement,
    function: sympy.Symbol,
    points: Sequence[sympy.Symbol],
    L: sympy.Symbol,
    mu: sympy.Symbol,
    needed: Iterable[StrEnum],
    step: sympy.Symbol | None = None,
) -> Verdict:
    """An inequality in vector notation for all L-smooth and mu-convex functions, in every dimension, by a certificate.

    points  those at which the function is used
    step    a step size >= 0 up to 1/L, in which the claim divided by it is linear: then both ends are enough
    """
    if lost := _without(statement, needed):
        return lost
    relations = statement.claim.relations if isinstance(statement.claim, Relations) else ()
    if len(relations) != 1 or not isinstance(relations[0], sympy.Le | sympy.Ge):
        return broken("the relation", "this check is about one inequality")
    claim, conditions = difference(relations[0]), [*conditions_of(statement), L > 0, mu >= 0]
    if step is None:
        return _certified(claim, function, points, L, mu, conditions)
    rest = sympy.expand(claim / step)
    if not rest.is_polynomial(step) or sympy.degree(rest, step) > 1:
        return broken("the step size", f"this check needs a claim that is {step} times a linear one")
    if decide(conditions, step <= 1 / L).status is not Status.PROVED:
        return broken("the step size", f"this check needs {step} <= 1/{L}")
    free = [c for c in conditions if step not in c.free_symbols]
    found = [_certified(sympy.expand(rest.subs(step, end)), function, points, L, mu, free) for end in (0, 1 / L)]
    return next((verdict for verdict in found if verdict.status is not Status.PROVED), found[-1])


def _certified(
    claim: sympy.Expr,
    function: sympy.Symbol,
    points: Sequence[sympy.Symbol],
    L: sympy.Symbol,
    mu: sympy.Symbol,
    conditions: Sequence[sympy.Basic],
) -> Verdict:
    """A certificate with constant multipliers; by few kinds of inequalities first, whose multipliers are simple numbers."""
    pairs = list(permutations([point(function, x) for x in points], 2))
    kinds = {
        "convex": [convex(i, j) - mu / 2 * (i.x - j.x) ** 2 for i, j in pairs],
        "smooth": [L / 2 * (i.x - j.x) ** 2 - convex(i, j) for i, j in pairs],
        "smooth and convex": [smooth_convex(i, j, L) for i, j in pairs],
    }
    sample = {L: sympy.Integer(1), mu: sympy.Rational(1, 3)}
    found = Verdict(Status.OPEN, "")
    for some in (("convex",), ("convex", "smooth"), ("convex", "smooth and convex"), tuple(kinds)):
        known = {
            f"{kind} from {j.x} to {i.x}": e for kind in some for (i, j), e in zip(pairs, kinds[kind], strict=True)
        }
        found = certify(sympy.expand(claim), known, sample, conditions)
        if found.status is Status.PROVED:
            break
    return found


__all__ = ["broken", "for_functions", "on_cases", "other_than"]
