"""Does a certificate prove its step?  Exact arithmetic of polynomials; no solver, no search, no floating point.

A step is a sequent: whatever the variables are in their domains, the relations that are given imply the claim.  Its
certificate (`theory.proofs.certificates`) lists facts, each with its reason, and says how the goals follow from them.
Every reason is one of four:

    clear     right - left of a known relation is a polynomial times something positive, so its sign is the polynomial's
    combine   products of things >= 0, one of them the opposite of what is to be shown, add up to 0 identically, although
              one of them is positive: so the opposite is impossible
    divide    something not zero is a multiple of a polynomial, so this is not zero, and its square is positive
    linear    known relations, multiplied by numbers >= 0, add up to the goal

Whoever doubts a proof need read only this file, `reduction.py` (minima, maxima, roots become cases and variables) and
`sequents.py` (what a text means).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mpoly_ctx

from theory.proofs.certificates import (
    Certificate,
    Clear,
    Combine,
    Divide,
    Fact,
    Goal,
    Leaf,
    Says,
    Term,
    difference,
    says,
    sides,
)  # fmt: skip
from theory.proofs.reduction import Step, leaves, opened
from theory.proofs.sequents import Sequent, parsed

Polynomial = Any  # of flint: rational coefficients, exact
_EVEN = re.compile(r"\((.*)\)\*\*2")


class Wrong(Exception):
    """A certificate does not prove its step; the text says where."""


def accepts(sequent: Sequent, certificate: Certificate) -> bool:
    """Whether the certificate proves the step."""
    try:
        check(sequent, certificate)
    except (Wrong, ValueError, ZeroDivisionError):
        return False
    return True


def check(sequent: Sequent, certificate: Certificate) -> None:
    """Raises Wrong, ValueError or ZeroDivisionError unless the certificate proves the step."""
    for step, leaf in zip(leaves(opened(sequent)), certificate, strict=True):
        _Leaf(step).check(leaf)


@dataclass(frozen=True)
class _Quotient:
    """A quotient of polynomials, not reduced; it has a value wherever its divisors are not zero."""

    above: Polynomial
    below: Polynomial

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Quotient) and self.above * other.below == other.above * self.below


class _Leaf:
    """A step without minima, maxima and roots, and what is known so far."""

    def __init__(self, step: Step) -> None:
        self.step, self.domains = step, dict(step.variables)
        self.relations = dict(step.hypotheses)  # with the goals that are proved
        names = tuple(self.domains) or ("none",)
        self.ring = fmpq_mpoly_ctx.get(names, "degrevlex")
        self.values = dict(zip(names, self.ring.gens(), strict=True))
        self.facts: dict[int, tuple[Polynomial, Says]] = {}

    def check(self, leaf: Leaf) -> None:
        """Check the facts, each as soon as what it is about is known, and the goals in order."""
        if len(leaf.goals) != len(self.step.goals):
            raise Wrong("another number of goals")
        waiting = list(leaf.facts)
        for number, (relation, goal) in enumerate(zip(self.step.goals, leaf.goals, strict=True)):
            while waiting and (isinstance(waiting[0][1], Combine) or waiting[0][1].hypothesis in self.relations):
                self.fact(*waiting.pop(0))
            self.goal(relation, goal)
            self.relations[f"goal_{number}"] = relation

    def fact(self, number: int, fact: Fact) -> None:
        polynomial = self.polynomial(fact.polynomial)
        match fact:
            case Clear(says=stands, positive=positive, hypothesis=name):
                relation = self.relations[name]
                _demand(stands == says(relation) != "!=", f"{relation} does not say {stands}")
                _demand(self.sign(parsed(positive)) == "<", f"{positive} is not positive")
                _demand(self.value(difference(relation)) == self.times(polynomial, positive), f"{relation} is cleared")
            case Combine(says=stands, terms=terms):
                self.combined(polynomial, stands, terms)
            case Divide(divisor=divisor, quotient=quotient, hypothesis=name):
                stands, d = "<", self.polynomial(divisor)
                _demand(says(self.relations[name]) == "!=", f"{name} does not say that something is not zero")
                _demand(self.value(difference(self.relations[name])) == self.times(-d, quotient), f"{name} is divided")
                signed = polynomial == d and self.known(d) is not None
                _demand(signed or polynomial == d * d, f"{fact.polynomial} is not {divisor} or its square")
        self.facts[number] = polynomial, stands

    def goal(self, relation: str, goal: Goal) -> None:
        if relation == "True" or (goal.by == "given" and relation in self.relations.values()):
            return
        left, operator, right = sides(relation)
        stands = says(relation)
        weak = isinstance(operator, ast.LtE | ast.GtE | ast.Eq)
        if goal.by == "same" and weak and ast.unparse(left) == ast.unparse(right):
            return
        _demand(goal.by in ("clear", "linear"), f"{relation} is not {goal.by}")
        if goal.by == "linear":
            signs = ("", "-") if stands == "=" else ("",)
            for sign, terms in zip(signs, goal.terms, strict=True):
                self.linear(f"{sign}({difference(relation)})", "<" if stands == "<" else "<=", terms)
            return
        polynomial = self.polynomial(goal.polynomial)
        positive = self.sign(parsed(goal.positive))
        _demand(positive == "<" or (stands == "<=" and positive == "<="), f"{goal.positive} is not positive")
        _demand(self.value(difference(relation)) == self.times(polynomial, goal.positive), f"{relation} is cleared")
        if not goal.terms:
            number = polynomial.leading_coefficient() if polynomial else fmpq(0)
            true = {"<": number > 0, "<=": number >= 0, "=": number == 0, "!=": number != 0}[stands]
            _demand(polynomial.is_constant() and true, f"{goal.polynomial} does not decide {relation}")
            return
        _demand(stands != "!=", f"{relation} is no inequality")
        both = (polynomial, -polynomial) if stands == "=" else (polynomial,)
        for one, terms in zip(both, goal.terms, strict=True):
            self.combined(one, "<" if stands == "<" else "<=", terms)

    def combined(self, polynomial: Polynomial, stands: Says, terms: Sequence[Term]) -> None:
        """0 < or <= polynomial, because these terms add up to 0 although one of them would be positive."""
        opposite: tuple[Polynomial, Says] = -polynomial, "<=" if stands == "<" else "<"
        total, strict = self.ring.constant(0), False
        for term in terms:
            number, product, signs = Fraction(term.number), self.ring.constant(1), list[Says | None]()
            for token in term.factors:
                factor, sign = self.factor(token, opposite)
                product *= factor
                signs.append(sign)
            _demand("=" in signs or (number >= 0 and None not in signs), f"{term} has no sign")
            strict |= number > 0 and all(sign == "<" for sign in signs)
            total += fmpq(number.numerator, number.denominator) * product
        _demand(stands in ("<", "<=") and strict and total == 0, "the terms do not add up")

    def factor(self, token: str, opposite: tuple[Polynomial, Says]) -> tuple[Polynomial, Says | None]:
        """A factor of a term, and how zero stands to it; None if that is not known."""
        if token == "#":
            return opposite
        if token.startswith("#"):
            return self.facts[int(token[1:])]
        return self.polynomial(token), self.sign(parsed(token))

    def linear(self, goal: str, stands: Says, terms: Sequence[Term]) -> None:
        """0 < or <= goal, because it is a sum of these relations and domains, times numbers >= 0."""
        total, strict = self.value(f"-({goal})"), False
        for term in terms:
            (name,), number = term.factors, Fraction(term.number)
            relation = self.relations.get(name, f"0 <= {name}")
            sign = says(relation) if name in self.relations else self.sign(parsed(name))
            _demand(sign == "=" or (number >= 0 and sign in ("<", "<=")), f"{term} has no sign")
            strict |= number > 0 and sign == "<"
            one = self.value(f"({term.number}) * ({difference(relation)})")
            total = _Quotient(total.above * one.below + one.above * total.below, total.below * one.below)
        _demand(total.above == 0 and (strict or stands == "<="), f"{goal} is not the sum")

    def sign(self, tree: ast.expr) -> Says | None:
        """How zero stands to an expression, from its factors: < or <=; None if that is not known."""
        match tree:
            case ast.Constant(value=int(number)):
                return "<" if number > 0 else "<=" if number == 0 else None
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as operator, right=right):
                one, other = self.sign(left), self.sign(right)
                if isinstance(operator, ast.Div) and other != "<":
                    return None
                return None if one is None or other is None else "<=" if "<=" in (one, other) else "<"
            case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(power))):
                return self.sign(base) or (None if power % 2 else "<=")
        return self.known(self.polynomial(ast.unparse(tree)))

    def known(self, polynomial: Polynomial) -> Says | None:
        """How zero stands to a polynomial: by its terms, if none is negative, as a count less one, or by a fact."""
        positive = [domain in ("count", "positive") for domain in self.domains.values()]
        signed = [domain != "real" for domain in self.domains.values()]
        terms = list(polynomial.terms())
        if all(c > 0 and all(s or n % 2 == 0 for s, n in zip(signed, m, strict=False)) for m, c in terms) and terms:
            strict = any(all(p or not n for p, n in zip(positive, m, strict=False)) for m, _ in terms)
            return "<" if strict else "<="
        stands: list[Says] = [says_ for fact, says_ in self.facts.values() if fact == polynomial and says_ != "="]
        counts = (self.values[name] - 1 for name, domain in self.domains.items() if domain == "count")
        return "<" if "<" in stands else "<=" if stands or any(polynomial == one for one in counts) else None

    def polynomial(self, text: str) -> Polynomial:
        value = self.value(text)
        _demand(value.below.is_constant(), f"{text} is no polynomial")
        return value.above / value.below.leading_coefficient()

    def times(self, polynomial: Polynomial, factor: str) -> _Quotient:
        value = self.value(factor)
        return _Quotient(polynomial * value.above, value.below)

    def value(self, text: str) -> _Quotient:
        return self.evaluated(parsed(text))

    def evaluated(self, tree: ast.expr) -> _Quotient:
        """An expression as a quotient of polynomials.  Raises ZeroDivisionError for a divisor that is 0 identically."""
        one = self.ring.constant(1)
        match tree:
            case ast.Constant(value=int(number)):
                return _Quotient(self.ring.constant(number), one)
            case ast.Name(id=name):
                return _Quotient(self.values[name], one)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self.evaluated(operand)
                return _Quotient(-value.above, value.below)
            case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(power))):
                value = self.evaluated(base)
                return _Quotient(value.above**power, value.below**power)
            case ast.BinOp(left=left, op=operator, right=right):
                a, b = self.evaluated(left), self.evaluated(right)
                match operator:
                    case ast.Mult():
                        return _Quotient(a.above * b.above, a.below * b.below)
                    case ast.Div():
                        if b.above == 0:
                            raise ZeroDivisionError(ast.unparse(tree))
                        return _Quotient(a.above * b.below, a.below * b.above)
                    case ast.Add() | ast.Sub():
                        c = b.above if isinstance(operator, ast.Add) else -b.above
                        if a.below == b.below:
                            return _Quotient(a.above + c, a.below)
                        return _Quotient(a.above * b.below + c * a.below, a.below * b.below)
        raise ValueError(f"{ast.unparse(tree)}: expected sums, products, quotients and powers")


def _demand(true: bool, otherwise: str) -> None:
    if not true:
        raise Wrong(otherwise)


__all__ = ["Wrong", "accepts", "check"]
