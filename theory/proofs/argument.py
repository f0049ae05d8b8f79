"""A proof as an argument from recorded premises to everything that its statement claims.

An argument takes the quantity, the direction, the definitions, the conditions and the assumptions from the statement that
it is handed.  It obtains each premise by a call that records it:

    claim(name)         what another statement claims, once its conditions and its assumptions are seen to follow
    by(rule, ...)       an inference rule at some vectors, once its properties are seen to be assumed
    follow(algorithm)   what an algorithm makes of a vector in a round
    the conditions of the statement itself, which every step may use

and states what it derives by `have`, `put` and the methods of a ledger.  `conclude` holds it against the claim.  Whatever
fails is a step, and the verdict names the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import sympy
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from theory import catalogue
from theory.proofs.arithmetic import Decision, at_least, at_most, decide
from theory.proofs.ledger import Ledger
from theory.proofs.rules import Instance, Rule
from theory.properties import Property
from theory.statement import Bound, Evidence, EvidenceKind, Premise, PremiseKind, Relations, Statement, Status, Verdict

Sign = Literal["<=", ">=", "="]
Letters = Mapping[sympy.Expr, sympy.Expr]
_NONE: Letters = {}
_FLIPPED: dict[Sign, Sign] = {"<=": ">=", ">=": "<=", "=": "="}


@dataclass(frozen=True)
class Fact:
    """quantity `sign` value, derived under the statement's conditions and in its letters."""

    quantity: sympy.Expr
    sign: Sign
    value: sympy.Expr


@dataclass(frozen=True)
class Language:
    """What the quantities of a paper mean.

    means       quantity -> the form that it stands for (`theory.proofs.forms`)
    algorithms  id of an algorithm, without the paper's name -> a vector after a round -> what the algorithm makes it
    amounts     the letters that bounds are compared in, coefficient by coefficient: quantities, and constants such as sigma
    """

    means: Letters
    algorithms: Mapping[str, Letters]
    amounts: tuple[sympy.Symbol, ...]


def parts(statement: Statement) -> list[Fact]:
    """Everything that a statement claims by bounds and relations, what it claims besides included, one fact each."""
    found = []
    for claim in (statement.claim, *statement.also):
        if isinstance(claim, Bound):
            found.append(Fact(claim.quantity, claim.sign, claim.value))
        elif isinstance(claim, Relations):
            found += [_fact(relation) for relation in claim.relations]
    return found


def _fact(relation: sympy.Basic) -> Fact:
    signs: dict[type, Sign] = {sympy.Le: "<=", sympy.Ge: ">=", sympy.Eq: "="}
    if type(relation) not in signs:
        raise ValueError(f"{relation}: expected <=, >= or =")
    return Fact(relation.args[0], signs[type(relation)], relation.args[1])  # type: ignore[arg-type]


class Argument(Ledger):
    """The steps of a proof of one statement, and its premises."""

    def __init__(self, statement: Statement, language: Language) -> None:
        super().__init__([])
        self.statement, self.language = statement, language
        self.premises: dict[Premise, None] = {}
        self.goals = parts(statement)
        self._concluded: set[int] = set()
        self.conditions = [c for c in map(self.read, self._own_conditions()) if c != sympy.true]

    # Letters

    def _own_conditions(self) -> list[Boolean]:
        for condition in self.statement.when:
            self._record("condition", str(condition))
        return [c.relation for c in self.statement.when]

    @cached_property
    def _step_size(self) -> dict[sympy.Symbol, sympy.Expr]:
        """eta in the statement's own effective step size, where it defines one as a multiple of eta."""
        for letter, meaning in self.statement.where.items():
            for base in meaning.free_symbols & set(self._steps):
                factor = meaning / base
                if base not in factor.free_symbols and letter in self._steps:
                    return {base: letter / factor}
        return {}

    @cached_property
    def _steps(self) -> tuple[sympy.Symbol, ...]:
        paper = catalogue.paper(self.statement.paper)
        return tuple(paper.symbols[name].sympy for name in paper.step_sizes)

    def read(self, e: Any) -> Any:
        """An expression in the letters that the statement's claim is compared in: its definitions put in."""
        return self._inward(e, self.statement)

    def _inward(self, e: Any, source: Statement, at: Letters = _NONE) -> Any:
        """An expression of a source, its definitions put in, its letters replaced, in this statement's step size."""
        own = set(self._step_size.values())
        keep = {s for v in own for s in v.free_symbols} if source is self.statement else set()
        where = {letter: meaning for letter, meaning in source.where.items() if letter not in keep}
        for _ in where:
            e = e.subs(where, simultaneous=True)
        return e.subs(dict(at), simultaneous=True).subs(self._step_size)

    def _record(self, kind: PremiseKind, name: str) -> None:
        self.premises[Premise(kind, name)] = None

    def fail(self, name: str, says: str) -> None:
        """A step that fails."""
        self.step(name, lambda: Decision(Status.REFUTED, says))

    # Premises

    @cached_property
    def properties(self) -> dict[Property, tuple[sympy.Expr, ...]]:
        """What the statement assumes."""
        return catalogue.properties(self.statement)

    def _constants(self, what: str, needed: Property) -> tuple[sympy.Expr, ...]:
        self._record("property", str(needed))
        if needed not in self.properties:
            self.fail(what, f"needs the property '{needed}', which {self.statement.id} does not assume")
            return ()
        return tuple(self.read(c) for c in self.properties[needed])

    def by(self, rule: Rule, *arguments: Any) -> Instance:
        """A rule at these vectors, with the constants of the assumed properties."""
        self._record("rule", rule.name)
        constants: list[sympy.Expr] = []
        missing = False
        for needed in rule.needs:
            missing |= needed not in self.properties
            constants += self._constants(rule.name, needed)
        if missing:
            return Instance(rule.name, sympy.Integer(0), rule.equality)
        return Instance(rule.name, sympy.expand(rule.slack(*constants, *arguments)), rule.equality)

    def source(self, name: str, at: Letters = _NONE) -> Statement:
        """Another statement, once its conditions and assumptions are seen to follow; `at` replaces its letters."""
        found = catalogue.find(f"{self.statement.paper}.{name}")
        self._record("claim", found.id)
        if found.id == self.statement.id:
            self.fail(found.id, "a proof may not take its own statement for granted")
        for needed, constants in catalogue.properties(found).items():
            if needed not in self.properties:
                says = f"assumes '{needed}', which {self.statement.id} does not assume"
                self._record("property", str(needed))
                self.fail(f"{found.id}: its assumptions", says)
            else:
                self._record("property", str(needed))
                theirs = tuple(self._inward(c, found, at) for c in constants)
                if theirs != tuple(self.read(c) for c in self.properties[needed]):
                    self.fail(f"{found.id}: its assumptions", f"assumes '{needed}' with {theirs}")
        for letter, value in at.items():
            self._in_domain(found, letter, value)
        for condition in found.when:
            relation = self._inward(condition.relation, found, at)
            if relation != sympy.true:
                self.require(f"{found.id}: condition {condition}", relation)
        return found

    def _in_domain(self, source: Statement, letter: sympy.Expr, value: sympy.Expr) -> None:
        if not isinstance(letter, sympy.Symbol):
            return
        value = sympy.sympify(value)
        lowest = {True: sympy.Integer(1), False: sympy.Integer(0)}[bool(letter.is_integer and letter.is_positive)]
        if letter.is_integer and value.is_integer is not True:
            self.fail(f"{source.id}: {letter} = {value}", "expected a whole number")
        if letter.is_positive and not letter.is_integer and value.is_positive is not True:
            self.require(f"{source.id}: {letter} = {value} is positive", sympy.Gt(value, 0, evaluate=False))
        elif letter.is_nonnegative and not value.is_nonnegative:
            self.require(f"{source.id}: {letter} = {value} is not negative", at_least(value, lowest))

    def claim(self, name: str, at: Letters = _NONE, part: int = 0) -> Fact:
        """A claim of another statement, in this statement's letters."""
        found = self.source(name, at)
        fact = parts(found)[part]
        return Fact(self._inward(fact.quantity, found, at), fact.sign, self._inward(fact.value, found, at))

    def relation(self, name: str, part: int = 0) -> Relational:
        """A relation of another statement as it stands, in vector notation or with sums."""
        found = self.source(name)
        assert isinstance(found.claim, Relations)
        return found.claim.relations[part]  # type: ignore[return-value]

    def follow(self, algorithm: str) -> Letters:
        """What an algorithm makes of the vectors of a round."""
        self._record("algorithm", f"{self.statement.paper}.{algorithm}")
        return self.language.algorithms[algorithm]

    # Steps

    def have(
        self, name: str, quantity: sympy.Expr, sign: Sign, value: sympy.Expr, *because: Instance, after: Letters = _NONE
    ) -> Fact:
        """A fact about quantities: as forms, its slack is the sum of the instances, exactly.

        after  what an algorithm makes of vectors that the quantities' meanings contain
        """
        left, right = (sympy.expand(self.meaning(e).subs(dict(after))) for e in (quantity, value))
        slack = left - right if sign == ">=" else right - left
        for one in because:
            if not one.equality:
                if sign == "=":
                    self.fail(name, f"an equality does not follow from '{one.rule}', which is an inequality")
                if not one.times.is_nonnegative:
                    self.require(f"{name}: '{one.rule}' is taken with a factor >= 0", at_least(one.times, 0))
        rest = sympy.expand(slack - sympy.Add(*(sympy.expand(one.times * one.slack) for one in because)))
        self.step(name, lambda: _vanishes(rest))
        return Fact(quantity, sign, value)

    def meaning(self, e: sympy.Expr) -> sympy.Expr:
        """An expression as a form: every quantity replaced by what it stands for."""
        return sympy.expand(sympy.sympify(e).subs(dict(self.language.means), simultaneous=True))

    def put(self, fact: Fact, *others: Fact) -> Fact:
        """The fact with the quantities of others replaced by their bounds, one after another."""
        for other in others:
            atom = self._atom(other.quantity)
            own = sympy.simplify(other.quantity / atom)
            expanded = sympy.expand(fact.value)
            factor = expanded.coeff(atom)
            rest = sympy.expand(expanded - factor * atom)
            if factor == 0 or atom in rest.free_symbols | factor.free_symbols | own.free_symbols:
                raise ValueError(f"{other.quantity}: expected {atom} once and linearly in {fact.value}")
            times = sympy.simplify(factor / own)
            name = f"{other.quantity} {other.sign} its bound, put into that on {fact.quantity}"
            if other.sign != "=":
                sign = other.sign
                if fact.sign == "=":
                    fact = replace(fact, sign=sign)
                if sign != fact.sign:
                    self.require(f"{name}: it enters with a factor <= 0", at_most(times, 0))
                elif not times.is_nonnegative:
                    self.require(f"{name}: it enters with a factor >= 0", at_least(times, 0))
            fact = replace(fact, value=sympy.expand(rest + times * other.value))
        return fact

    def _atom(self, quantity: sympy.Expr) -> sympy.Symbol:
        atoms = quantity.free_symbols & set(self.language.amounts)
        if len(atoms) != 1:
            raise ValueError(f"{quantity}: expected a multiple of one quantity")
        return atoms.pop()

    def scaled(self, fact: Fact, factor: sympy.Expr) -> Fact:
        """Both sides times a factor >= 0."""
        if not factor.is_nonnegative:
            self.require(f"{factor} >= 0", at_least(factor, 0))
        return Fact(factor * fact.quantity, fact.sign, sympy.expand(factor * fact.value))

    def solved(self, name: str, fact: Fact, share: sympy.Rational) -> Fact:
        """From q <= value with at most `share` < 1 of q in the value: q <= rest / (1 - share)."""
        return replace(fact, value=self.solve(name, fact.value, self._atom(fact.quantity), share))

    # The claim

    def conclude(self, fact: Fact, part: int = 0) -> None:
        """The claim (or one of several) follows from the fact: the same quantity, the same direction, no smaller a value."""
        goal = self.goals[part]
        self._concluded.add(part)
        claimed = Fact(self.read(goal.quantity), goal.sign, self.read(goal.value))
        self.compare("the claim", self.read_fact(fact), claimed)

    def read_fact(self, fact: Fact) -> Fact:
        """A fact in the letters that the claim is compared in."""
        return Fact(fact.quantity.subs(self._step_size), fact.sign, fact.value.subs(self._step_size))

    def compare(self, name: str, fact: Fact, claimed: Fact) -> None:
        """The second fact follows from the first."""
        if fact.sign not in (claimed.sign, "="):
            self.fail(name, f"it says {claimed.sign}, what is derived says {fact.sign}")
            return
        factor = sympy.simplify(claimed.quantity / fact.quantity) if fact.quantity != 0 else sympy.nan
        if factor.free_symbols & set(self.language.amounts) or factor in (sympy.nan, sympy.zoo):
            self.fail(name, f"it is about {claimed.quantity}, what is derived is about {fact.quantity}")
            return
        if fact.sign != "=" and not factor.is_nonnegative:
            self.require(f"{name}: about {factor} times what is derived", at_least(factor, 0))
        derived, value = sympy.expand(factor * fact.value), claimed.value
        if claimed.sign == "=":
            self.equal(name, derived, value)
        elif claimed.sign == "<=":
            self.at_most(name, derived, value, self._amounts(derived, value))
        else:
            self.at_most(name, value, derived, self._amounts(derived, value))

    def _amounts(self, *expressions: sympy.Expr) -> list[sympy.Symbol]:
        found = set().union(*(e.free_symbols for e in expressions))
        return [s for s in self.language.amounts if s in found]

    def verdict(self) -> Verdict:
        """As of a ledger; open where part of what the statement claims was not concluded."""
        found = super().verdict()
        left = set(range(len(self.goals))) - self._concluded
        if found.status is Status.PROVED and left:
            goal = self.goals[min(left)]
            found = Verdict(Status.OPEN, f"{goal.quantity} {goal.sign} {goal.value} is not concluded")
        return replace(found, premises=tuple(sorted(self.premises)))


def _vanishes(rest: sympy.Expr) -> Decision:
    rest = sympy.expand(sympy.simplify(rest)) if rest != 0 else rest
    if rest == 0:
        return Decision(Status.PROVED, "the forms are the same")
    return Decision(Status.REFUTED, f"as forms, the sides differ by {rest} beyond the rules named")


Proof = Callable[[Argument], None]


def as_evidence(name: str, kind: EvidenceKind, proof: Proof, language: Language, paper: str) -> Evidence:
    """A proof as a piece of evidence for the statement `name` of a paper."""

    def check(statement: Statement, full: bool) -> Verdict:
        argument = Argument(statement, language)
        proof(argument)
        return argument.verdict()

    return Evidence(f"{paper}.{name}", kind, check)


__all__ = ["Argument", "Fact", "Language", "Proof", "Sequence", "as_evidence", "decide", "parts"]
