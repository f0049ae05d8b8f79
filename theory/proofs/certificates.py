"""Why a step holds, as a certificate that is cheap to check: identities between polynomials.

Every relation left <= right of a step is cleared: right - left = n f with a polynomial n and a visibly positive f.  So the
step says: if these n are >= 0, so is that one.  A certificate assumes the opposite of the claim and lists products of
what is then >= 0 (variables, cleared hypotheses, squares, the opposite of the claim) which, with the numbers in front of
them, add up to 0 identically, although one of them is positive.  That cannot be.

Example: x - y >= 0 and x, y > 0 give x**2 - y**2 >= 0, since

    1 * (y**2 - x**2) + 1 * x * (x - y) + 1 * y * (x - y) = 0     with y**2 - x**2 > 0, the opposite of the claim.

`fedtheory.theory.proofs.search` finds certificates, `fedtheory.theory.proofs.checker` checks them in exact arithmetic, and
so does Coq (`fedtheory.theory.proofs.coq`).
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from fedtheory.theory.proofs.reduction import PlainSequent
from fedtheory.theory.proofs.sequents import parsed

Says = Literal["<", "<=", "=", "!="]  # how zero stands to a polynomial


@dataclass(frozen=True)
class Product:
    """A number times factors.  The number is not negative, except before an equation.

    factors   "x" or "x**2" (a variable), "x - 1" (of a count), "#3" (the polynomial of a fact), "#" (the opposite of what
              is to be shown), or "(x - y)**2"
    """

    number: str
    factors: tuple[str, ...]


@dataclass(frozen=True)
class Clear:
    """A hypothesis left <= right has right - left = polynomial * positive.

    So zero stands to the polynomial as left to right.
    """

    says: Says
    polynomial: str
    positive: str
    hypothesis: str


@dataclass(frozen=True)
class Combine:
    """0 < or <= polynomial: these terms, with "#" for minus the polynomial, add up to 0."""

    says: Says
    polynomial: str
    terms: tuple[Product, ...]


@dataclass(frozen=True)
class Divide:
    """A hypothesis d != 0 has d = divisor * quotient, so the divisor is not 0.

    Then 0 < divisor if it is visibly >= 0, else 0 < divisor**2; `polynomial` is the one of the two.
    """

    polynomial: str
    divisor: str
    quotient: str
    hypothesis: str


Fact = Clear | Combine | Divide


@dataclass(frozen=True)
class Goal:
    """How a goal is proved.

    by      given (it is a hypothesis), same (both sides are the same text), linear (a sum of hypotheses as they
            are), or clear: right - left = polynomial * positive
    terms   of a cleared goal, as for Combine; for an equation first 0 <= polynomial, then 0 <= -polynomial; none if the
            polynomial is a number.  Of a linear goal: numbers times hypotheses or variables, by name, whose sum it is
    """

    by: Literal["given", "same", "linear", "clear"]
    polynomial: str = ""
    positive: str = ""
    terms: tuple[tuple[Product, ...], ...] = ()


@dataclass(frozen=True)
class Leaf:
    """Why one of the steps holds to which a step is reduced: facts in order, with their numbers, then the goals."""

    facts: tuple[tuple[int, Fact], ...]
    goals: tuple[Goal, ...]


Certificate = tuple[Leaf, ...]  # one for each step that is left after all moves (fedtheory.theory.proofs.reduction)


# What there is to check


def sides(relation: str) -> tuple[ast.expr, ast.cmpop, ast.expr]:
    """Left side, operator and right side of a relation."""
    tree = parsed(relation)
    assert isinstance(tree, ast.Compare)
    return tree.left, tree.ops[0], tree.comparators[0]


def says(relation: str) -> Says:
    """How zero stands to right - left of left <= right, or to left - right of left >= right."""
    match sides(relation)[1]:
        case ast.LtE() | ast.GtE():
            return "<="
        case ast.Lt() | ast.Gt():
            return "<"
        case ast.Eq():
            return "="
    return "!="


def stated(fact: Fact) -> Says:
    """How zero stands to the polynomial of a fact."""
    return "<" if isinstance(fact, Divide) else fact.says


def difference(relation: str) -> str:
    """right - left of left <= right, left - right of left >= right, as text."""
    left, operator, right = sides(relation)
    first, last = (right, left) if isinstance(operator, ast.GtE | ast.Gt) else (left, right)
    return f"{ast.unparse(last)} - ({ast.unparse(first)})"


def hypotheses_of(step: PlainSequent) -> dict[str, str]:
    """The hypotheses of a step by name, and its goals, which may be used once they are proved."""
    return {**dict(step.hypotheses), **{f"goal_{i}": goal for i, goal in enumerate(step.goals)}}


# Certificates as JSON


_KINDS: dict[str, Any] = {"clear": Clear, "combine": Combine, "divide": Divide}


def read(path: Path) -> dict[str, Certificate]:
    """The certificates of a file, by the digest of their sequents; none if there is no such file."""
    packed = json.loads(path.read_text()) if path.exists() else {}
    return {digest: unpacked(each) for digest, each in packed.items() if each is not None}


def write(path: Path, certificates: Mapping[str, Certificate]) -> None:
    """Write certificates to a file, one to a line."""
    lines = (f'"{digest}": {json.dumps(_packed(each))}' for digest, each in sorted(certificates.items()))
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _packed(certificate: Certificate) -> list[Any]:
    def terms(each: Sequence[Product]) -> list[list[str]]:
        return [[term.number, *term.factors] for term in each]

    def fact(each: Fact) -> list[Any]:
        name = next(name for name, kind in _KINDS.items() if isinstance(each, kind))
        values = [getattr(each, field.name) for field in fields(each)]
        return [name, *(terms(value) if isinstance(value, tuple) else value for value in values)]

    def goal(each: Goal) -> list[Any]:
        cleared = [each.polynomial, each.positive] if each.by == "clear" else []
        return [each.by, *cleared, *map(terms, each.terms)]

    return [
        [[[number, *fact(each)] for number, each in leaf.facts], [goal(each) for each in leaf.goals]]
        for leaf in certificate
    ]


def unpacked(data: list[Any]) -> Certificate:
    """A certificate from its JSON."""

    def terms(each: list[list[str]]) -> tuple[Product, ...]:
        return tuple(Product(number, tuple(factors)) for number, *factors in each)

    def fact(name: str, *values: Any) -> Fact:
        return _KINDS[name](*(terms(value) if isinstance(value, list) else value for value in values))

    def goal(by: Any, *values: Any) -> Goal:
        polynomial, positive, *sums = values if by == "clear" else ("", "", *values)
        return Goal(by, polynomial, positive, tuple(map(terms, sums)))

    return tuple(
        Leaf(tuple((number, fact(*each)) for number, *each in facts), tuple(goal(*each) for each in goals))
        for facts, goals in data
    )
