"""Does a certificate prove its step?  Exact arithmetic of polynomials; no solver, no search, no floating point.

A step is a sequent: whatever the variables are in their domains, the relations that are given imply the claim.  Its
certificate (`fedtheory.theory.proofs.certificates`) lists facts, each with its reason, and says how the goals follow from
them. Every reason is one of four:

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
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mpoly_ctx

from fedtheory.theory.proofs import certificates as proof
from fedtheory.theory.proofs.reduction import PlainSequent, leaves, opened
from fedtheory.theory.proofs.sequents import Sequent, parsed

Polynomial = Any  # of flint: rational coefficients, exact


class Wrong(Exception):
    """A certificate does not prove its step; the text says where."""


def check(sequent: Sequent, certificate: proof.Certificate) -> None:
    """Raises Wrong, ValueError, LookupError or ZeroDivisionError unless the certificate proves the step."""
    for step, leaf in zip(leaves(opened(sequent)), certificate, strict=True):
        _Leaf(step).check(leaf)


@dataclass(frozen=True)
class _Quotient:
    """A quotient of polynomials, not reduced; it has a value wherever its divisors are not zero."""

    above: Polynomial
    below: Polynomial

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Quotient) and self.above * other.below == other.above * self.below

    def __add__(self, other: _Quotient) -> _Quotient:
        if self.below == other.below:
            return _Quotient(self.above + other.above, self.below)
        return _Quotient(self.above * other.below + other.above * self.below, self.below * other.below)

    def __mul__(self, factor: Polynomial) -> _Quotient:
        return _Quotient(self.above * factor, self.below)


class _Leaf:
    """A step without minima, maxima and roots, and what is known so far."""

    def __init__(self, step: PlainSequent) -> None:
        self.step, self.domains = step, dict(step.variables)
        self.relations = dict(step.hypotheses)  # with the goals that are proved
        self.domains = self.domains or {"none": "real"}
        self.ring = fmpq_mpoly_ctx.get(tuple(self.domains), "degrevlex")
        self.values = dict(zip(self.domains, self.ring.gens(), strict=True))
        self.facts: dict[int, tuple[Polynomial, proof.Says]] = {}

    def check(self, leaf: proof.Leaf) -> None:
        """Check the facts, each as soon as what it is about is known, and the goals in order."""
        if len(leaf.goals) != len(self.step.goals):
            raise Wrong("another number of goals")
        waiting = list(leaf.facts)
        for number, (relation, goal) in enumerate(zip(self.step.goals, leaf.goals, strict=True)):
            while waiting and (isinstance(waiting[0][1], proof.Combine) or waiting[0][1].hypothesis in self.relations):
                self.fact(*waiting.pop(0))
            self.goal(relation, goal)
            self.relations[f"goal_{number}"] = relation

    def fact(self, number: int, fact: proof.Fact) -> None:
        polynomial = self.polynomial(fact.polynomial)
        match fact:
            case proof.Clear(says=stands, positive=positive, hypothesis=name):
                relation = self.relations[name]
                _demand(stands == proof.says(relation) != "!=", f"{relation} does not say {stands}")
                _demand(self.sign(parsed(positive)) == "<", f"{positive} is not positive")
                _demand(
                    self.value(proof.difference(relation)) == self.value(positive) * polynomial,
                    f"{relation} is cleared",
                )
            case proof.Combine(says=stands, terms=terms):
                self.combined(polynomial, stands, terms)
            case proof.Divide(divisor=divisor, quotient=quotient, hypothesis=name):
                stands, d = "<", self.polynomial(divisor)
                _demand(proof.says(self.relations[name]) == "!=", f"{name} does not say that something is not zero")
                difference = self.value(proof.difference(self.relations[name]))
                _demand(difference == self.value(quotient) * -d, f"{name} is divided")
                _demand(d != 0 and difference.above % d == 0, f"{divisor} does not divide what is not zero")
                signed = polynomial == d and self.known(d) is not None
                _demand(signed or polynomial == d * d, f"{fact.polynomial} is not {divisor} or its square")
        self.facts[number] = polynomial, stands

    def goal(self, relation: str, goal: proof.Goal) -> None:
        if relation == "True" or (goal.by == "given" and relation in self.relations.values()):
            return
        left, operator, right = proof.sides(relation)
        stands = proof.says(relation)
        weak = isinstance(operator, ast.LtE | ast.GtE | ast.Eq)
        if goal.by == "same" and weak and ast.unparse(left) == ast.unparse(right):
            return
        _demand(goal.by in ("clear", "linear"), f"{relation} is not {goal.by}")
        if goal.by == "linear":
            signs = ("", "-") if stands == "=" else ("",)
            for sign, terms in zip(signs, goal.terms, strict=True):
                self.linear(f"{sign}({proof.difference(relation)})", "<" if stands == "<" else "<=", terms)
            return
        polynomial = self.polynomial(goal.polynomial)
        positive = self.sign(parsed(goal.positive))
        _demand(positive == "<" or (stands == "<=" and positive == "<="), f"{goal.positive} is not positive")
        _demand(
            self.value(proof.difference(relation)) == self.value(goal.positive) * polynomial, f"{relation} is cleared"
        )
        if not goal.terms:
            number = polynomial.leading_coefficient() if polynomial else fmpq(0)
            true = {"<": number > 0, "<=": number >= 0, "=": number == 0, "!=": number != 0}[stands]
            _demand(polynomial.is_constant() and true, f"{goal.polynomial} does not decide {relation}")
            return
        _demand(stands != "!=", f"{relation} is no inequality")
        both = (polynomial, -polynomial) if stands == "=" else (polynomial,)
        for one, terms in zip(both, goal.terms, strict=True):
            self.combined(one, "<" if stands == "<" else "<=", terms)

    def combined(self, polynomial: Polynomial, stands: proof.Says, terms: Sequence[proof.Product]) -> None:
        """0 < or <= polynomial, because these terms add up to 0 although one of them would be positive."""
        opposite: tuple[Polynomial, proof.Says] = -polynomial, "<=" if stands == "<" else "<"
        total, strict = self.ring.constant(0), False
        for term in terms:
            number, product, signs = Fraction(term.number), self.ring.constant(1), list[proof.Says | None]()
            for token in term.factors:
                factor, sign = self.factor(token, opposite)
                product *= factor
                signs.append(sign)
            _demand("=" in signs or (number >= 0 and None not in signs), f"{term} has no sign")
            strict |= number > 0 and all(sign == "<" for sign in signs)
            total += fmpq(number.numerator, number.denominator) * product
        _demand(stands in ("<", "<=") and strict and total == 0, "the terms do not add up")

    def factor(self, token: str, opposite: tuple[Polynomial, proof.Says]) -> tuple[Polynomial, proof.Says | None]:
        """A factor of a term, and how zero stands to it; None if that is not known."""
        if token == "#":
            return opposite
        if token.startswith("#"):
            return self.facts[int(token[1:])]
        return self.polynomial(token), self.sign(parsed(token))

    def linear(self, goal: str, stands: proof.Says, terms: Sequence[proof.Product]) -> None:
        """0 < or <= goal, because it is a sum of these relations and domains, times numbers >= 0."""
        total, strict = self.value(f"-({goal})"), False
        for term in terms:
            (name,), number = term.factors, Fraction(term.number)
            relation = self.relations.get(name, f"0 <= {name}")
            sign = proof.says(relation) if name in self.relations else self.sign(parsed(name))
            _demand(sign == "=" or (number >= 0 and sign in ("<", "<=")), f"{term} has no sign")
            strict |= number > 0 and sign == "<"
            total += self.value(f"({term.number}) * ({proof.difference(relation)})")
        _demand(total.above == 0 and (strict or stands == "<="), f"{goal} is not the sum")

    def sign(self, tree: ast.expr) -> proof.Says | None:
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

    def known(self, polynomial: Polynomial) -> proof.Says | None:
        """How zero stands to a polynomial: by its terms, if none is negative, as a count less one, or by a fact."""
        stands = [says_ for fact, says_ in self.facts.values() if fact == polynomial]
        terms = [(list(zip(self.domains.values(), powers, strict=True)), c) for powers, c in polynomial.terms()]
        if terms and all(c > 0 and all(d != "real" or n % 2 == 0 for d, n in term) for term, c in terms):
            strict = any(all(d in ("count", "positive") or not n for d, n in term) for term, _ in terms)
            stands.append("<" if strict else "<=")
        counts = (self.values[name] - 1 for name, domain in self.domains.items() if domain == "count")
        return "<" if "<" in stands else "<=" if stands or any(polynomial == one for one in counts) else None

    def polynomial(self, text: str) -> Polynomial:
        value = self.value(text)
        _demand(value.below.is_constant(), f"{text} is no polynomial")
        return value.above / value.below.leading_coefficient()

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
                return self.evaluated(operand) * -one
            case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(power))):
                value = self.evaluated(base)
                return _Quotient(value.above**power, value.below**power)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
                value = self.evaluated(right)
                return self.evaluated(left) + (value if isinstance(operator, ast.Add) else value * -one)
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as operator, right=right):
                a, b = self.evaluated(left), self.evaluated(right)
                if isinstance(operator, ast.Mult):
                    return _Quotient(a.above * b.above, a.below * b.below)
                if b.above == 0:
                    raise ZeroDivisionError(ast.unparse(tree))
                return _Quotient(a.above * b.below, a.below * b.above)
        raise ValueError(f"{ast.unparse(tree)}: expected sums, products, quotients and powers")


def _demand(true: bool, otherwise: str) -> None:
    if not true:
        raise Wrong(otherwise)
