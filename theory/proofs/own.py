"""A check for a paper of one's own: a claim in numbers.

It reads everything from the statement that it is handed, so that it refutes a changed one, or breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

import numpy as np
import sympy

from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Statement, Status, Verdict

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
    sign: str = "<=",
) -> Verdict:
    """A claim quantity <= or >= terms in numbers, on the cases that meet its conditions: holds with a slack, or a witness.

    cases     values of the symbols by name
    measured  the quantity of a case
    needed    properties without which the cases would be others
    """
    if found := other_than(statement, quantity, needed, sign):
        return found
    claim = statement.claim_of(Bound)
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
        if not np.isfinite([left, right]).all():
            return broken("the cases", f"measured {left}, bound {right}: expected finite numbers")
        small, large = (left, right) if sign == "<=" else (right, left)
        room = _ROUNDING * (abs(left) + abs(right))
        if small > large + room or (sign == "=" and large > small + room):
            witness = {s.name: case[s.name] for s in symbols} | {"measured": left, "bound": right}
            return Verdict(Status.REFUTED, f"measured {left:.6g}, bound {right:.6g}", witness=witness)
        slack = min(slack, large / small if small > 0 else np.inf)
    if not tried:
        return Verdict(Status.VACUOUS, "no case meets the conditions")
    return Verdict(Status.TESTED, f"on {tried} cases", slack=float(slack) if np.isfinite(slack) else None)


__all__ = ["broken", "on_cases", "other_than"]
