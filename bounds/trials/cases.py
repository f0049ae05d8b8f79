"""Claims over cases: exact, in fractions, vectors of fractions and norms; or in floating point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import sympy
from sympy.core.relational import Relational

from fedtheory.theory.printing import plain
from fedtheory.theory.proofs.instances import TOLERANCE, Law, Sides, interpret, sides
from fedtheory.theory.proofs.linear import fraction
from fedtheory.theory.statement import Bound, Claim, Relations, Status, Verdict, Words

ROUNDING = 1e-12  # relative, where square roots are compared


class Root(float):
    """A square root in floating point, with its exact square."""

    square: Fraction = Fraction(0)

    def __pow__(self, exponent: Any, modulus: None = None) -> Any:
        return self.square if exponent == 2 else float(self) ** float(exponent)


def root(square: Fraction | int) -> Root:
    """The square root of a fraction: its square is exact, everything else is floating point."""
    found = Root(sqrt(square))
    found.square = Fraction(square)
    return found


@dataclass(frozen=True)
class ExactVector:
    """A vector of fractions; ||v|| is a `Root`."""

    entries: tuple[Fraction, ...]

    def __add__(self, other: Any) -> ExactVector:
        if not isinstance(other, ExactVector):  # sums begin with the number 0
            if other != 0:
                raise ValueError(f"{self} + {other}: expected two vectors")
            return ExactVector(self.entries)
        return ExactVector(tuple(a + b for a, b in zip(self.entries, other.entries, strict=True)))

    __radd__ = __add__

    def __mul__(self, factor: Any) -> ExactVector:
        return ExactVector(tuple(factor * a for a in self.entries))

    __rmul__ = __mul__

    def __sub__(self, other: ExactVector) -> ExactVector:
        return self + -1 * other

    def __abs__(self) -> Root:
        return root(sum((a * a for a in self.entries), Fraction(0)))

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.entries))})"


@dataclass(frozen=True)
class Operator:
    """A map of vectors, such as S in S(x); `interpret` uses its `value`."""

    value: Callable[[Any], Any]


def known_at(x: ExactVector, value: ExactVector) -> Operator:
    """The operator with this value at x, and none elsewhere: there it raises ValueError."""

    def at(v: ExactVector) -> ExactVector:
        if v != x:
            raise ValueError(f"the operator at {v}: expected it at {x}")
        return value

    return Operator(at)


@dataclass(frozen=True)
class Case:
    """A case of a claim: its description, the symbols' values, and the law of the random symbols."""

    where: str
    values: Mapping[str, Any]
    law: Law = ()


def rational(q: Any) -> sympy.Rational:
    """A rational number of sympy from a fraction of Python or gmpy2."""
    return sympy.Rational(int(q.numerator), int(q.denominator))


def number(expression: sympy.Basic, case: Case) -> Any:
    """An expression's value: a fraction, a vector, or, if it contains square roots, a float.

    Raises ValueError for a symbol without a value.
    """
    if expression.has(sympy.Piecewise):  # a Piecewise has no value until its conditions have one
        known = {s: sympy.Rational(case.values[s.name]) for s in expression.free_symbols if s.name in case.values}
        expression = expression.xreplace(known)
    found = interpret(expression, case.values, case.law, fraction)
    return fraction(found) if isinstance(found, sympy.Rational) else found


def substituted(e: Any, known: Mapping[str, Any]) -> Any:
    """An expression or relation of sympy with numbers for its symbols, by name.

    Raises ValueError for a symbol without a number, and where it is not defined.
    """
    if unknown := [s.name for s in e.free_symbols if s.name not in known]:
        raise ValueError(f"{e}: no number for {', '.join(unknown)}")
    found = e.subs({s: known[s.name] for s in e.free_symbols})
    if found.has(sympy.zoo, sympy.nan):
        raise ValueError(f"{e} is not defined at {', '.join(f'{s} = {known[s.name]}' for s in e.free_symbols)}")
    return found


def relations(claim: Claim) -> list[Relational]:
    """The relations of a claim, or of a sentence's formulas.  Raises ValueError for none, or for another formula."""
    if isinstance(claim, Bound):
        kind = {"<=": sympy.Le, ">=": sympy.Ge, "=": sympy.Eq}[claim.sign]
        return [kind(claim.quantity, claim.value, evaluate=False)]
    stated = claim.relations if isinstance(claim, Relations) else claim.formulas if isinstance(claim, Words) else ()
    found = [r for r in stated if isinstance(r, Relational)]
    if not found or len(found) < len(stated):
        raise ValueError(f"a claim of kind {type(claim).__name__}: expected relations")
    return found


def told(value: Any) -> Any:
    """A value as text for a witness."""
    return [told(v) for v in value] if isinstance(value, list | tuple) else str(value)


def met(claim: Claim, cases: Iterable[Case], family: str, within: float = TOLERANCE) -> Verdict:
    """In floating point: refuted at the first case where a relation fails; else tested, with the smallest slack.

    within  the relative error allowed for rounding

    Raises ValueError for a symbol without a value.
    """
    formulas = Relations(claim.formulas) if isinstance(claim, Words) else claim
    count, tightest = 0, 0.0
    for case in cases:
        for side in sides(formulas, case.values, case.law):
            count += 1
            if not side.excess <= within:
                found = false(case.where, side, where=case.where)
                numbers = {name: value for name, value in case.values.items() if isinstance(value, float)}
                return replace(found, witness={**found.witness, **numbers})
            tightest = max(tightest, 0.0 if side.equality else side.ratio)
    sharp = (
        f": the left side is at most {tightest:.6g} times the right one" if tightest else f", equal within {within:g}"
    )
    return Verdict(Status.TESTED, f"{family}, {count} comparisons{sharp}", slack=1 / tightest if tightest else None)


def false(at: str, side: Sides, /, **witness: Any) -> Verdict:
    """The verdict on a relation that is false in a case, with this witness and both sides."""
    sides = {name: np.asarray(q).tolist() for name, q in (("left", side.left), ("right", side.right))}
    return Verdict(Status.REFUTED, f"{at}: {side.says} is false", witness={**witness, **sides})


def _exact(left: Any, right: Any) -> bool:
    return not isinstance(left, float) and not isinstance(right, float)


def _true(relation: Relational, left: Any, right: Any) -> bool:
    if isinstance(relation, sympy.Ne):
        return bool(left != right)
    exact = _exact(left, right)
    room = 0 if exact else ROUNDING * max(abs(left), abs(right))
    if isinstance(relation, sympy.Eq):
        return bool(left == right if exact else abs(left - right) <= room)
    if isinstance(relation, sympy.Lt | sympy.Gt):
        return bool(left < right if isinstance(relation, sympy.Lt) else left > right)
    return bool(left <= right + room if isinstance(relation, sympy.Le) else left >= right - room)


def compared(claim: Claim, cases: Iterable[Case], family: str) -> Verdict:
    """Refuted at the first case where a relation fails; otherwise tested, with the slack of the tightest inequality.

    Raises ValueError for a symbol without a value.
    """
    count, exact, tightest = 0, True, 0.0
    stated = relations(claim)
    for case in cases:
        for relation in stated:
            left, right = (number(side, case) for side in relation.args)
            if isinstance(left, ExactVector) != isinstance(right, ExactVector):  # the other side is the number 0
                left, right = left + 0 * right, right + 0 * left
            count, exact = count + 1, exact and _exact(left, right)
            if not _true(relation, left, right):
                shown = {n: told(v) for n, v in case.values.items() if not isinstance(v, Operator)}
                witness = {"where": case.where, **shown, "left": told(left), "right": told(right)}
                return Verdict(Status.REFUTED, f"{case.where}: {plain(relation)} is false", witness=witness)
            small, large = (right, left) if isinstance(relation, sympy.Ge) else (left, right)
            if isinstance(relation, sympy.Le | sympy.Ge) and float(large) > 0:
                tightest = max(tightest, float(small / large))
    kind = "exact comparisons" if exact else "comparisons in floating point"
    sharp = f": the left side is at most {tightest:.6g} times the right one" if tightest else ""
    return Verdict(Status.TESTED, f"{family}, {count} {kind}{sharp}", slack=1 / tightest if tightest else None)
