"""A proof as an argument from recorded premises to everything that its statement claims.

An argument takes the quantity, the direction, the definitions, the conditions and the assumptions from the statement that
it gets.  Each premise comes from a call that records it:

    claim(name)         what another statement claims; checks that its conditions and assumptions follow
    by(rule, ...)       an inference rule at some vectors; checks that its properties are assumed
    follow(algorithm)   the value that an algorithm gives each vector in a round

Every step may also use the conditions of the statement itself.  `have`, `put` and the methods of a ledger state what the
argument derives.  `conclude` compares this with the claim.  A check that fails is a step that fails, and the verdict names
the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Any, Concatenate, Literal, ParamSpec

import sympy
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean, BooleanAtom

from fedtheory.theory import catalogue
from fedtheory.theory.field import OwnQuantity
from fedtheory.theory.proofs.arithmetic import EFFORT, Decision, NotPolynomial, at_least, at_most, decide, note
from fedtheory.theory.proofs.forms import (
    Family,
    FormTerm,
    Function,
    Infimum,
    Minimiser,
    Sum,
    Value,
    is_linear,
    nested,
    replaced,
    vectors_in,
)  # fmt: skip
from fedtheory.theory.proofs.ledger import Ledger
from fedtheory.theory.proofs.rules import Rule, RuleInstance
from fedtheory.theory.proofs.vectors import difference, equated
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import (
    Bound,
    Evidence,
    EvidenceKind,
    Order,
    Premise,
    PremiseKind,
    Rates,
    Relations,
    Statement,
    Status,
    Verdict,
)

Sign = Literal["<=", ">=", "="]
Symbols = Mapping[sympy.Expr, sympy.Expr]
_NONE: Symbols = {}
_FEWER = 1_000_000  # elementary steps of z3 for relations in the original symbols, which z3 rarely decides
DECAY = sympy.Symbol("decay", positive=True)


@dataclass(frozen=True)
class Fact:
    """quantity `sign` value, under the statement's conditions and in its symbols.

    by   the argument that derived it; an argument does not accept facts that it did not derive
    how  how it was derived
    """

    quantity: sympy.Expr
    sign: Sign
    value: sympy.Expr
    by: object = field(default=None, compare=False, repr=False)
    how: Derivation | None = field(default=None, compare=False, repr=False)

    @property
    def slack(self) -> sympy.Expr:
        """What is >= 0, or = 0 for an equality."""
        return self.quantity - self.value if self.sign == ">=" else self.value - self.quantity

    @property
    def relation(self) -> Relational:
        """The same as an unevaluated sympy relation."""
        relations = {"<=": sympy.Le, ">=": sympy.Ge, "=": sympy.Eq}
        return relations[self.sign](self.quantity, self.value, evaluate=False)


@dataclass(frozen=True)
class Summand:
    """A part of a derivation's slack: a factor >= 0 (any factor for an equality) times what is >= 0.

    of       a fact, an instance of a rule, or an expression that is >= 0
    because  the relation that a step has shown, if it is not `times >= 0`; `times` is the difference of its sides
    """

    times: sympy.Expr
    of: Fact | RuleInstance | sympy.Expr
    because: Relational | None = None


@dataclass(frozen=True)
class Combined:
    """The slack is exactly the sum of these parts."""

    parts: tuple[Summand, ...]


@dataclass(frozen=True)
class OfForms:
    """The same for forms: the slack of what the quantities mean is the sum of these parts.

    after  the values that an algorithm gives the vectors
    under  what earlier steps have shown; used for the signs of the factors
    """

    parts: tuple[Summand, ...]
    after: Symbols = field(default_factory=dict)
    under: tuple[Boolean, ...] = ()


@dataclass(frozen=True)
class Said:
    """A claim of another statement, or a condition of the statement itself, by its id or its words.

    of  what the other statement supposes, such as a recursion, and facts under which its conditions hold
    at  what replaces the symbols of the other statement
    """

    source: str
    of: tuple[Fact, ...] = ()
    at: Symbols = field(default_factory=dict)


@dataclass(frozen=True)
class OverRounds:
    """An inference from a round to a run as a lemma of sequences.v, by its name, with the expressions that it is about."""

    lemma: str
    at: Mapping[str, sympy.Expr]


WITHOUT_LEMMA = OverRounds("", {})  # an induction or a sum over rounds that no lemma of sequences.v proves yet


@dataclass(frozen=True)
class Inferred:
    """An inference in words, or a rule by its name, from these facts."""

    reason: str
    of: tuple[Fact, ...]
    kind: Literal["inference", "rule"] = "inference"
    by: OverRounds | None = None


@dataclass(frozen=True)
class Decided:
    """The relation itself is a step, from the conditions and from what else is given."""

    given: tuple[Boolean, ...]


Derivation = Combined | OfForms | Said | Inferred | Decided


@dataclass(frozen=True)
class Conclusion:
    """A claim of the statement as concluded: which of several, under which conditions, and from which fact."""

    part: int
    conditions: tuple[Boolean, ...]
    claim: Fact
    fact: Fact | None


# For these properties a larger constant says more; for all others it says less
LARGER_IS_STRONGER = (Property.STRONGLY_CONVEX, Property.STRONGLY_CONVEX_MEAN, Property.POLYAK)
_NO_FACTS: Mapping[str, Fact] = {}


@dataclass(frozen=True)
class Language:
    """What the quantities of a paper mean.

    means       quantity -> the form that it stands for (`fedtheory.theory.proofs.forms`)
    algorithms  id of an algorithm, without the paper's name -> a vector after a round -> its value by the algorithm
    amounts     bounds are compared coefficient by coefficient in these symbols: quantities, and constants such as sigma
    start       quantity of a round -> its value at the first round
    average     gap of the weighted average of the iterates -> the gap of a round
    least       smallest over the rounds -> the quantity of a round
    mean        plain mean over the rounds -> the quantity of a round
    following   quantity of a round, or of a local step -> the same quantity a round, or a step, later
    last        quantity of a round -> the same quantity after the last round
    definitions  id of a definition, without the paper's name -> what it says about symbols that no statement binds
    readings    name of a statement -> a symbol that it uses in another meaning -> the symbol for that meaning
    written     name of an algorithm or definition -> the `digest` of its text, from when we wrote its form here
    weighted    families with the clients' weights; the sum of the weights is the family's mass
    vectors     symbol of the paper in vector notation -> the vector, the function or the form that it stands for
    """

    means: Symbols
    algorithms: Mapping[str, Symbols]
    amounts: tuple[sympy.Symbol, ...]
    start: Symbols = field(default_factory=dict)
    average: Symbols = field(default_factory=dict)
    least: Symbols = field(default_factory=dict)
    mean: Symbols = field(default_factory=dict)
    following: Symbols = field(default_factory=dict)
    last: Symbols = field(default_factory=dict)
    definitions: Mapping[str, tuple[Boolean, ...]] = field(default_factory=dict)
    readings: Mapping[str, Symbols] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    weighted: tuple[Family, ...] = ()
    vectors: Symbols = field(default_factory=dict)


def digest(statement: Statement) -> str:
    """A digest of the whole text of an algorithm or a definition.

    We write its form in a proof by hand.  The form is right for this text only.
    """
    return sha256(repr((statement.claim, statement.also)).encode()).hexdigest()[:12]


def parts(statement: Statement) -> list[Fact | Order | Rates]:
    """Everything that a statement claims in formulas, further claims included.  Each bound and relation is a fact."""
    found: list[Fact | Order | Rates] = []
    for claim in (statement.claim, *statement.also):
        if isinstance(claim, Bound):
            found.append(Fact(claim.quantity, claim.sign, claim.value))
        elif isinstance(claim, Relations):
            found += [_fact(relation) for relation in claim.relations]
        elif isinstance(claim, Order | Rates):
            found.append(claim)
    return found


def facts(statement: Statement) -> list[Fact]:
    """The facts among the parts of a statement."""
    return [part for part in parts(statement) if isinstance(part, Fact)]


def _at(goal: Fact | Order | Rates, at: Symbols) -> Fact | Order | Rates:
    """A fact with symbols replaced; other claims as they are."""
    return Fact(replaced(goal.quantity, at), goal.sign, replaced(goal.value, at)) if isinstance(goal, Fact) else goal


def _fact(relation: sympy.Basic) -> Fact:
    signs: dict[type, Sign] = {sympy.Le: "<=", sympy.Ge: ">=", sympy.Eq: "="}
    if type(relation) not in signs:
        raise ValueError(f"{relation}: expected <=, >= or =")
    return Fact(relation.args[0], signs[type(relation)], relation.args[1])


def spread_out(e: sympy.Expr) -> sympy.Expr:
    """Products of sums multiplied out; powers with a sum in the exponent stay whole."""
    return sympy.expand(e, power_exp=False, power_base=False)


class Argument(Ledger):
    """The steps of a proof of one statement, and its premises."""

    def __init__(self, statement: Statement, language: Language) -> None:
        super().__init__([])
        self.statement, self.language = statement, language
        self.premises: dict[Premise, None] = {}
        self.goals = parts(statement)
        self._concluded: set[int] = set()
        self.conclusions: list[Conclusion] = []
        self.so_far: list[Fact] = []  # what it has derived while every step held
        self.followed: dict[str, Symbols] = {}  # id of an algorithm, or a claim -> the values that it gives vectors
        self._shown: dict[sympy.Expr, sympy.Expr] = {}  # what a symbol is, by a step
        self.names: dict[sympy.Expr, sympy.Expr] = {}  # an expression -> the symbol that the proof has for it
        self._case: dict[sympy.Expr, sympy.Expr] = {}
        self._view: Symbols = _NONE
        self.case_conditions: list[Boolean] = []
        read = [self.read(c) for c in self._own_conditions()]
        # Leave out a hypothesis that polynomial arithmetic cannot read: fewer hypotheses prove the claim just as well
        self.conditions = [c for c in read if c != sympy.true and not c.has(sympy.exp, sympy.log)]
        note(self)

    # Symbols

    def _own_conditions(self) -> list[Boolean]:
        for condition in self.statement.when:
            self._record("condition", str(condition))
        return [c.relation for c in self.statement.when]

    @cached_property
    def _step_size(self) -> dict[sympy.Symbol, sympy.Expr]:
        """eta in terms of the statement's effective step size, if the statement defines one as a multiple of eta."""
        for symbol, meaning in self.statement.where.items():
            for base in meaning.free_symbols & set(self._steps):
                factor = meaning / base
                if base not in factor.free_symbols and symbol in self._steps:
                    return {base: symbol / factor}
        return {}

    @cached_property
    def _steps(self) -> tuple[sympy.Symbol, ...]:
        paper = catalogue.paper(self.statement.paper)
        return tuple(paper.symbols[name].sympy for name in paper.step_sizes)

    def read(self, e: Any) -> Any:
        """An expression with the statement's definitions substituted; claims are compared in these symbols."""
        return self._inward(e, self.statement)

    def _inward(self, e: Any, source: Statement, at: Symbols = _NONE) -> Any:
        """An expression of a source, with its definitions substituted, symbols replaced, in this statement's step size."""
        own = set(self._step_size.values())
        keep = {s for v in own for s in v.free_symbols} if source is self.statement else set()
        # Keep the symbol for a definition that polynomial arithmetic cannot read
        opaque = {s for s, e in source.where.items() if e.has(sympy.exp, sympy.log)}
        where = {symbol: meaning for symbol, meaning in source.where.items() if symbol not in keep | opaque}
        for _ in where:
            e = replaced(e, where)
        readings = self.language.readings.get(source.id.split(".", 1)[1], _NONE)
        for symbols in (readings, at, self._step_size, self._case):
            e = replaced(e, symbols)
        return e

    def _record(self, kind: PremiseKind, name: str) -> None:
        self.premises[Premise(kind, name)] = None

    def fail(self, name: str, says: str) -> None:
        """Add a step that fails."""
        self.step(name, lambda: Decision(Status.REFUTED, says))

    # Premises

    @cached_property
    def properties(self) -> dict[StrEnum, tuple[sympy.Expr, ...]]:
        """The properties that the statement assumes, with their constants."""
        return catalogue.properties(self.statement)

    def _constants(self, what: str, needed: StrEnum) -> tuple[sympy.Expr, ...]:
        self._record("property", str(needed))
        if needed not in self.properties:
            self.fail(what, f"needs the property '{needed}', which {self.statement.id} does not assume")
            return ()
        return tuple(self.read(c) for c in self.properties[needed])

    def by(self, rule: Rule, *arguments: Any) -> RuleInstance:
        """A rule at these vectors, with the constants of the assumed properties."""
        self._record("rule", rule.name)
        constants: list[sympy.Expr] = []
        missing = False
        for needed in rule.needs:
            missing |= needed not in self.properties
            constants += self._constants(rule.name, needed)
        slack = sympy.Integer(0)
        try:
            if not missing:
                rule.check(*constants, *arguments)
            for condition in rule.when(*arguments):
                self.require(f"{rule.name}: {condition}", condition)
            slack = slack if missing else spread_out(rule.slack(*constants, *arguments))
        except ValueError as outside:
            self.fail(rule.name, str(outside))
        return RuleInstance(rule.name, slack, rule.equality)

    def source(
        self,
        name: str,
        at: Symbols = _NONE,
        given: Mapping[str, Fact] = _NO_FACTS,
        under: Sequence[Boolean] = (),
    ) -> Statement:
        """Another statement; checks that its conditions and assumptions follow.

        at     replaces its symbols
        given  name of a supposition -> the fact that shows it, for what the statement supposes about sequences
        under  what holds for the symbols that replace its own, or that it is summed over
        """
        return self._source(name, at, given, under)[0]

    def _source(
        self, name: str, at: Symbols, given: Mapping[str, Fact], under: Sequence[Boolean]
    ) -> tuple[Statement, tuple[Fact, ...]]:
        """The same, and what the statement supposes about sequences, as derived from `given`."""
        found = catalogue.find(f"{self.statement.paper}.{name}")
        self._record("claim", found.id)
        if found.id == self.statement.id:
            self.fail(found.id, "a proof may not take its own statement for granted")
        for needed, constants in catalogue.properties(found).items():
            self._record("property", str(needed))
            if needed not in self.properties:
                says = f"assumes '{needed}', which {self.statement.id} does not assume"
                self.fail(f"{found.id}: its assumptions", says)
                continue
            lower = needed in LARGER_IS_STRONGER
            for theirs, ours in zip(constants, self._constants(found.id, needed), strict=True):
                theirs = self._inward(theirs, found, at)
                if theirs != ours:
                    weaker = at_most(theirs, ours) if lower else at_least(theirs, ours)
                    self.require(f"{found.id}: '{needed}' with {theirs}", weaker)
        if found.kind == "assumption" and not found.gives and found.id not in self.statement.assumes:
            self.fail(found.id, f"is an assumption that {self.statement.id} does not make")
        suppositions: list[Fact] = []
        for supposed in map(catalogue.find, found.assumes):
            if not supposed.gives:
                suppositions += self._suppose(found, supposed, at, given)
        for symbol in [s for s in found.where if s in self.statement.where and s not in at]:
            self.equal(f"{found.id}: definition of {symbol}", self._inward(symbol, found, at), self.read(symbol))
        for symbol, value in at.items():
            self._in_domain(found, symbol, value, under)
        for condition in found.when:
            relation = self._inward(condition.relation, found, at)
            if relation != sympy.true:
                self.require(f"{found.id}: condition {condition}", relation, *under)
        return found, tuple(suppositions)

    def _suppose(
        self, source: Statement, supposed: Statement, at: Symbols, given: Mapping[str, Fact]
    ) -> Iterator[Fact]:
        """What a source supposes and no property says, such as a recursion: from a given fact, or as our own assumption."""
        name = supposed.id.removeprefix(f"{supposed.paper}.")
        if name in given:
            self._derived(given[name])
            own = {symbol: e for symbol, e in source.where.items() if symbol not in at}
            defined = replace(supposed, where={**own, **supposed.where})
            for part in facts(supposed):
                sides = (self._inward(e, defined, at) for e in (part.quantity, part.value))
                quantity, value = sides
                how = Combined(
                    self.compare(f"{source.id}: {supposed.id}", given[name], Fact(quantity, part.sign, value))
                )
                yield self._fact(quantity, part.sign, value, how)
        elif supposed.id not in self.statement.assumes:
            self.fail(f"{source.id}: its assumptions", f"assumes {supposed.id}, which {self.statement.id} does not")

    def _in_domain(self, source: Statement, symbol: sympy.Expr, value: sympy.Expr, under: Sequence[Boolean]) -> None:
        if not isinstance(symbol, sympy.Symbol):
            return
        value = sympy.sympify(value)
        if symbol.is_integer and value.is_integer is not True:
            self.fail(f"{source.id}: {symbol} = {value}", "expected a whole number")
        if symbol.is_positive and value.is_positive is not True:
            positive = at_least(value, 1) if symbol.is_integer else sympy.Gt(value, 0, evaluate=False)
            self.require(f"{source.id}: {symbol} = {value} is positive", positive, *under)
        elif symbol.is_nonnegative and not value.is_nonnegative:
            self.require(f"{source.id}: {symbol} = {value} is not negative", at_least(value, 0), *under)

    def claim(
        self,
        name: str,
        at: Symbols = _NONE,
        part: int = 0,
        given: Mapping[str, Fact] = _NO_FACTS,
        under: Sequence[Boolean | Fact] = (),
    ) -> Fact:
        """A claim of another statement, in this statement's symbols; the arguments are those of `source`.

        Of what holds `under`, facts are premises of the claim.
        """
        shown = tuple(one for one in under if isinstance(one, Fact))
        self._derived(*shown)
        supposed: tuple[Fact, ...] = ()
        if name in self._assumed:
            found = catalogue.find(f"{self.statement.paper}.{name}")
            self._record("claim", found.id)
        else:
            relations = [one.relation if isinstance(one, Fact) else one for one in under]
            found, supposed = self._source(name, at, given, relations)
        fact = facts(found)[part]
        sides = (self._inward(e, found, at) for e in (fact.quantity, fact.value))
        quantity, value = sides
        return self._fact(quantity, fact.sign, value, Said(found.id, (*supposed, *shown), at))

    @cached_property
    def _assumed(self) -> set[str]:
        """The names of the assumptions that the statement itself makes."""
        return {id_.split(".", 1)[1] for id_ in self.statement.assumes if not catalogue.find(id_).gives}

    def at(self, name: str, symbols: Symbols, part: int = 0) -> RuleInstance:
        """An inequality of another statement in vector notation, at these functions and points."""
        found = self.source(name)
        relation = facts(found)[part]
        stands = {**self.language.vectors, **symbols}
        functions = {own: stands[symbol] for symbol, own in self.language.vectors.items() if isinstance(own, Function)}
        for symbol, own in self.language.vectors.items():
            new, of = stands[symbol], getattr(own, "function", own)
            if isinstance(own, Function | Minimiser | Infimum) and type(own) is not type(new):
                self.fail(found.id, f"{new} for {symbol}: expected a {type(own).__qualname__}")
            elif isinstance(own, Minimiser | Infimum) and new.function != functions.get(of, of):
                self.fail(found.id, f"{new} for {symbol}: expected that of {functions.get(of, of)}")
        written = replaced(found.claim_of(Relations).relations[part], stands)
        return RuleInstance(found.id, difference(written), relation.sign == "=")

    def relation(self, name: str, part: int = 0) -> Relational:
        """A relation of another statement, unchanged, in vector notation or with sums."""
        found = self.source(name)
        return found.claim_of(Relations).relations[part]

    def definition(self, name: str, part: int = 0) -> Relational:
        """A relation from a definition of the paper, such as a condition on step sizes."""
        found = catalogue.find(f"{self.statement.paper}.{name}")
        self._record("definition", found.id)
        if found.kind != "definition":
            self.fail(found.id, "it is no definition")
        return found.claim_of(Relations).relations[part]

    def follow(self, algorithm: str) -> Symbols:
        """The values that an algorithm gives the vectors of a round; checks that what it provides is assumed."""
        found = catalogue.find(f"{self.statement.paper}.{algorithm}")
        self._record("algorithm", found.id)
        self._as_written(found, algorithm)
        for provided in found.gives:
            self._constants(f"the algorithm {found.id}", provided)
        self.followed[found.id] = self.language.algorithms[algorithm]
        return self.followed[found.id]

    def values(self, claim: str) -> Symbols:
        """The value of a vector by the equation of another statement in vector notation."""
        left, right = equated(self.relation(claim))
        symbols = {replaced(left, self.language.vectors): replaced(right, self.language.vectors)}
        self.followed[f"{self.statement.paper}.{claim}"] = symbols
        return symbols

    def require(self, name: str, claim: Boolean | Sequence[Boolean], *given: Boolean) -> None:
        """Add a step: the claim follows from the conditions and from `given`."""
        if isinstance(claim, sympy.Eq) and not given:
            self._shown[claim.lhs] = claim.rhs
        super().require(name, claim, *given)

    def _recorded(self, name: str, after: Symbols) -> None:
        """Check that vectors get their values from a recorded algorithm or claim, and symbols theirs from the statement."""
        for symbol, new in after.items():
            if isinstance(symbol, FormTerm):
                values = [replaced(known[symbol], after) for known in self.followed.values() if symbol in known]
                new = replaced(new, after)
            else:
                values = [self.read(symbol)]
            if not any(sympy.expand(replaced(one - new, self._shown)) == 0 for one in values):
                self.fail(name, f"{symbol} = {new}: no recorded algorithm, claim or definition says so")

    def _as_written(self, found: Statement, name: str) -> None:
        """Check that a text has not changed since we wrote its form."""
        if self.language.written.get(name) != digest(found):
            says = (
                f"its text has changed since its form was written: compare both, then note the digest {digest(found)}"
            )
            self.fail(found.id, says)

    def made(
        self, algorithm: str, vector: sympy.Expr, of: Callable[[sympy.Expr], sympy.Expr], *families: Family
    ) -> RuleInstance:
        """sum h(v) = sum h(value of v by the algorithm), summed over families, innermost first."""
        slack = of(vector) - of(self.follow(algorithm)[vector])
        for family in families:
            slack = family.sum(sympy.expand(slack))
        return RuleInstance(f"{self.statement.paper}.{algorithm}", spread_out(slack), equality=True)

    def written_out(self, name: str) -> None:
        """Record another statement as a premise; the next step writes it out by hand."""
        self._as_written(self.source(name), name)

    def symbols_of(self, name: str) -> tuple[Boolean, ...]:
        """What a definition says about symbols that no statement binds, such as the step at which a round began."""
        found = catalogue.find(f"{self.statement.paper}.{name}")
        self._record("definition", found.id)
        self._as_written(found, name)
        said = self.language.definitions[name]
        self.conditions = [*self.conditions, *said]
        return said

    def given(self, quantity: sympy.Expr) -> Fact:
        """The condition of the statement on a quantity, as a fact."""
        for condition in self.conditions:
            if isinstance(condition, sympy.Le | sympy.Ge) and quantity in condition.args:
                sign: Sign = "<=" if condition.lts == quantity else ">="
                value = condition.gts if sign == "<=" else condition.lts
                return self._fact(quantity, sign, value, Said(str(condition)))
        self.fail(f"the condition on {quantity}", f"{self.statement.id} has none")
        return self._fact(quantity, "=", quantity, Combined(()))

    # Steps

    def have(
        self,
        name: str,
        quantity: sympy.Expr,
        sign: Sign,
        value: sympy.Expr,
        *because: RuleInstance,
        after: Symbols = _NONE,
        under: Sequence[Boolean] = (),
    ) -> Fact:
        """Derive a fact about quantities: as a form, its slack is exactly the sum of the instances.

        after  the values that an algorithm gives the vectors in the quantities' meanings
        under  what earlier steps have shown; used for the signs of the factors
        """
        for shown in under:
            self._record("inference", f"{shown}, by the steps before")
        self._recorded(name, after)
        self._follows(name, self.meaning(quantity), sign, self.meaning(value), because, after, under)
        parts = tuple(Summand(one.times, one) for one in because)
        return self._fact(quantity, sign, value, OfForms(parts, after, tuple(under)))

    def _fact(self, quantity: sympy.Expr, sign: Sign, value: sympy.Expr, how: Derivation) -> Fact:
        found = Fact(quantity, sign, sympy.sympify(value), by=self, how=how)
        self.so_far += [found] if self.holds else []
        return found

    def by_hand(
        self, reason: str, quantity: sympy.Expr, sign: Sign, value: sympy.Expr, *of: Fact, by: OverRounds | None = None
    ) -> Fact:
        """A fact that follows from the steps so far, and from other facts, by an inference in words.

        The premises record the inference.  `by` is the lemma that Coq has for it.
        """
        self._record("inference", reason)
        self._derived(*of)
        return self._fact(quantity, sign, value, Inferred(reason, of, by=by))

    def _derived(self, *several: Fact) -> None:
        for fact in several:
            if fact.by is not self:
                self.fail("a premise", f"{fact.quantity} {fact.sign} {fact.value} was not derived in this proof")

    def conclude_form(self, read: Callable[[sympy.Expr], sympy.Expr], *because: RuleInstance, part: int = 0) -> None:
        """Conclude the claim (or one of several): `read` turns its sides into forms; the instances add up to its slack."""
        goal = self.goal(part)
        self.done(part)
        quantity, value = read(goal.quantity), read(goal.value)
        self._follows("the claim", quantity, goal.sign, value, because)
        claim = self._fact(quantity, goal.sign, value, OfForms(tuple(Summand(one.times, one) for one in because)))
        self.conclusions.append(Conclusion(part, tuple(self.conditions), claim, None))

    def _follows(
        self,
        name: str,
        left: sympy.Expr,
        sign: Sign,
        right: sympy.Expr,
        because: Sequence[RuleInstance],
        after: Symbols = _NONE,
        under: Sequence[Boolean] = (),
    ) -> None:
        """Check that the slack of a relation between forms is exactly the sum of the instances."""

        def form(e: sympy.Expr) -> sympy.Expr:
            return spread_out(replaced(e, after))

        left, right = form(left), form(right)
        sums = {s.family for e in (left, right, *(i.slack for i in because)) for s in nested(e) if isinstance(s, Sum)}
        if sums & set(self.language.weighted):
            self._constants(name, Property.WEIGHTS)
        slack = left - right if sign == ">=" else right - left
        for one in because:
            if vectors_in(one.times):
                raise ValueError(f"{name}: '{one.rule}' times {one.times}: expected a factor without vectors")
            if not one.equality:
                if sign == "=":
                    self.fail(name, f"an equality does not follow from '{one.rule}', which is an inequality")
                if not one.times.is_nonnegative:
                    self.require(f"{name}: '{one.rule}' is taken with a factor >= 0", at_least(one.times, 0), *under)
        rest = spread_out(slack - sympy.Add(*(form(one.times * one.slack) for one in because)))
        self.step(name, lambda: _vanishes(rest))

    def every(self, fact: Fact) -> RuleInstance:
        """A fact about any client, step or round, as an instance that can be summed over them."""
        self._derived(fact)
        return RuleInstance(f"bound on {fact.quantity}", self.meaning(fact.slack), fact.sign == "=", of=fact)

    def relaxed(self, name: str, fact: Fact, value: sympy.Expr) -> Fact:
        """Replace an upper bound by a value that is no smaller in the coefficient of any amount."""
        if fact.sign == ">=":
            self.fail(name, f"{fact.quantity} is bounded from below")
        derived, looser = spread_out(fact.value), spread_out(value)
        room = self.at_most(name, derived, looser, self.amounts(derived, looser), measured=False)
        self._derived(fact)
        return self._fact(fact.quantity, "<=", looser, Combined((Summand(sympy.S.One, fact), *_summands(room))))

    def added(self, one: Fact, other: Fact, times: sympy.Expr = sympy.S.One) -> Fact:
        """A fact plus `times` >= 0 times another fact of the same direction."""
        more = self.scaled(other, times)
        self._derived(one)
        sign = more.sign if one.sign == "=" else one.sign
        if more.sign not in (sign, "="):
            self.fail(f"{one.quantity} and {other.quantity}", f"bounded by {one.sign} and by {other.sign}")
        how = Combined((_towards(sign, sympy.S.One, one), _towards(sign, sympy.S.One, more)))
        return self._fact(spread_out(one.quantity + more.quantity), sign, spread_out(one.value + more.value), how)

    def meaning(self, e: sympy.Expr) -> sympy.Expr:
        """An expression as a form: every quantity replaced by its meaning.

        Raises ValueError for a product of quantities: forms multiply as if all vectors were on one line.
        """
        e, means = sympy.sympify(e), self.language.means
        sizes = {s: 1 if is_linear(means[s]) else 2 for s in e.free_symbols & means.keys() if vectors_in(means[s])}
        fits = not sizes or e.is_polynomial(*sizes)
        for powers in sympy.Poly(e, *sizes).monoms() if sizes and fits else ():
            fits = fits and [n * size for n, size in zip(powers, sizes.values(), strict=True) if n] in ([], [2])
        if not fits:
            raise ValueError(f"{e}: expected quantities times constants, and no products of quantities")
        return spread_out(replaced(e, means))

    def put(self, fact: Fact, *others: Fact) -> Fact:
        """The fact with the quantities of the other facts replaced by their bounds, one after another."""
        self._derived(fact, *others)
        parts = [(sympy.S.One, fact)]
        for other in others:
            atom = self._atom(other.quantity)
            own = sympy.simplify(other.quantity / atom)
            expanded = spread_out(fact.value)
            factor = expanded.coeff(atom)
            rest = spread_out(expanded - factor * atom)
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
            parts.append((-times if {fact.sign, other.sign} == {"<=", ">="} else times, other))
            fact = replace(fact, value=spread_out(rest + times * other.value))
        how = Combined(tuple(_towards(fact.sign, times, one) for times, one in parts))
        return self._fact(fact.quantity, fact.sign, fact.value, how)

    def _atom(self, quantity: sympy.Expr) -> sympy.Symbol:
        atoms = quantity.free_symbols & set(self.language.amounts)
        if len(atoms) != 1:
            raise ValueError(f"{quantity}: expected a multiple of one quantity")
        return atoms.pop()

    def scaled(self, fact: Fact, factor: sympy.Expr) -> Fact:
        """Both sides times a factor, which is >= 0 for an inequality."""
        if fact.sign != "=" and not factor.is_nonnegative:
            self.require(f"{factor} >= 0", at_least(factor, 0))
        self._derived(fact)
        how = Combined((Summand(factor, fact),))
        return self._fact(factor * fact.quantity, fact.sign, spread_out(factor * fact.value), how)

    def shifted(self, fact: Fact, by: sympy.Expr) -> Fact:
        """Add the same amount to both sides."""
        self._derived(fact)
        return self._fact(fact.quantity + by, fact.sign, fact.value + by, Combined((Summand(sympy.S.One, fact),)))

    def weakened(self, fact: Fact, sign: Sign) -> Fact:
        """An equality as an inequality."""
        if fact.sign not in ("=", sign):
            self.fail(f"{fact.quantity} {sign} ...", f"what is derived says {fact.sign}")
        return self._fact(fact.quantity, sign, fact.value, Combined((_towards(sign, sympy.S.One, fact),)))

    def chained(self, *links: Fact) -> Fact:
        """From a <= b, b <= c, ... to a <= the last value; each link is about the value of the link before."""
        self._derived(*links)
        whole = links[0]
        for link in links[1:]:
            self.equal(f"the next line is about {whole.value}", whole.value, link.quantity)
            if "=" not in (whole.sign, link.sign) and whole.sign != link.sign:
                self.fail("a chain of lines", f"{whole.sign} is followed by {link.sign}")
            sign = link.sign if whole.sign == "=" else whole.sign
            how = Combined((_towards(sign, sympy.S.One, whole), _towards(sign, sympy.S.One, link)))
            whole = self._fact(whole.quantity, sign, link.value, how)
        return whole

    def as_rule(self, name: str, fact: Fact, forms: Symbols) -> RuleInstance:
        """A fact about one client as a rule for any client.

        forms  quantity -> its form at that client
        name   the name of the instance
        """
        self._derived(fact)
        left, right = (spread_out(replaced(e, forms)) for e in (fact.quantity, fact.value))
        return RuleInstance(name, left - right if fact.sign == ">=" else right - left, fact.sign == "=", of=fact)

    def largest(self, symbol: sympy.Symbol, maximum: sympy.Expr) -> None:
        """Use a symbol for a maximum, here and in the claim; the symbol is at least each argument of the maximum."""
        if not isinstance(maximum, sympy.Max):
            self.fail(f"{symbol}", f"{maximum} is no maximum")
            return
        if symbol.is_positive and not any(each.is_positive for each in maximum.args):
            self.fail(f"{symbol}", f"{maximum} need not be positive")
        if symbol.is_nonnegative and not any(each.is_nonnegative for each in maximum.args):
            self.fail(f"{symbol}", f"{maximum} may be negative")
        self.names |= {maximum: symbol, 1 / maximum: 1 / symbol}
        self.conditions = [*self.conditions, *(at_least(symbol, each) for each in maximum.args)]

    def named(self, **expressions: sympy.Expr) -> list[sympy.Symbol]:
        """Use positive symbols, here and in the claim, for expressions that polynomial arithmetic cannot read."""
        symbols = [sympy.Symbol(name, positive=True) for name in expressions]
        self.names |= dict(zip(expressions.values(), symbols, strict=True))
        self.names |= {1 / e: 1 / symbol for e, symbol in zip(expressions.values(), symbols, strict=True)}
        return symbols

    def split(self, count: sympy.Symbol, more: Callable[[], None], one: Callable[[], None]) -> None:
        """A proof by cases for a count >= 1: the count is 2 or more, or it is 1."""
        if not (count.is_integer and count.is_positive):
            raise ValueError(f"{count}: expected a count")
        conditions, goals, properties = self.conditions, self.goals, self.properties
        self.conditions = [*conditions, at_least(count, 2)]
        self._covered(f"{count} >= 2", more)
        self._case = {count: sympy.Integer(1)}
        self.conditions = [c for c in (replaced(c, self._case) for c in conditions) if c != sympy.true]
        self.goals = [_at(goal, self._case) for goal in goals]
        self._covered(f"{count} = 1", one)
        self.conditions, self.goals, self.properties, self._case = conditions, goals, properties, {}

    def fixing(self, symbols: Symbols, given: Sequence[Boolean], proof: Callable[[], None]) -> None:
        """A proof with symbols at fixed values, because an order hides constants; `given` replaces the conditions."""
        before = self.conditions, self._case, dict(self._shown)
        for symbol, value in symbols.items():
            self._record("inference", f"{symbol} = {value}, as an order hides constants")
        for condition in given:
            self._record("inference", f"in the range {condition}")
        self._case = {**self._case, **symbols}
        self.conditions = [c for c in (self.read(c) for c in given) if c != sympy.true]
        proof()
        self.conditions, self._case, self._shown = before

    def split_zero(self, amount: sympy.Expr, some: Callable[[], None], none: Callable[[], None]) -> None:
        """A proof by cases for an amount >= 0: the amount is positive, or it is zero."""
        self.require(f"{amount} >= 0", at_least(amount, 0))
        conditions = self.conditions
        cases = ((sympy.Gt(amount, 0, evaluate=False), some), (sympy.Eq(amount, 0, evaluate=False), none))
        for case, proof in cases:
            self.conditions, self.case_conditions = [*conditions, case], [case]
            self._covered(str(case), proof)
        self.conditions, self.case_conditions = conditions, []

    def _covered(self, case: str, proof: Callable[[], None]) -> None:
        self._concluded, shown = set(), dict(self._shown)
        proof()
        self._shown = shown
        if self._concluded != set(range(len(self.goals))):
            self.fail(f"the case {case}", "the claim is not concluded")

    def copied(self) -> None:
        """In a case with one client only: nothing is heterogeneous, so all constants of heterogeneity are 0."""
        self._record("rule", "one client is like two copies of it, of which each round samples one")
        if sympy.Integer(1) not in self._case.values():
            self.fail("one client and its copy", "there is more than one client")
        none: dict[StrEnum, tuple[sympy.Expr, ...]] = {
            name: tuple(sympy.Integer(0) for _ in constants)
            for name, constants in self.properties.items()
            if name in (Property.HETEROGENEITY, Property.HETEROGENEITY_AT_OPTIMUM, Property.DISSIMILARITY)
        }
        self.properties = {**self.properties, **none}

    def needs(self, needed: StrEnum) -> tuple[sympy.Expr, ...]:
        """The constants of a property that the proof needs."""
        return self._constants(f"the property '{needed}'", needed)

    def show(self, at: Symbols, back: Symbols) -> None:
        """From here on z3 gets relations in other, fewer symbols.

        at    a symbol -> its expression in new symbols
        back  a new symbol -> its expression in the old symbols; `at` after `back` must give each symbol back
        """
        for new, old in back.items():
            lowest = old.is_positive if new.is_positive else old.is_nonnegative
            if not lowest:
                self.require(
                    f"{old} is in the domain of {new}", sympy.Gt(old, 0) if new.is_positive else at_least(old, 0)
                )
        for symbol, meaning in at.items():
            again = replaced(meaning, back)
            if sympy.simplify(again - symbol) != 0:
                self.require(f"{symbol} in other symbols", sympy.Eq(symbol, again, evaluate=False))
        self._view = at

    def in_view(self, e: Any) -> Any:
        """A relation, or an expression, in the symbols that z3 gets; relations are divided by their factors > 0."""
        if not self._view or isinstance(e, BooleanAtom):
            return e
        if not isinstance(e, Relational):
            return replaced(e, self._view)
        rest = sympy.factor(replaced(e.lhs - e.rhs, self._view))
        kept = [factor for factor in sympy.Mul.make_args(rest) if not factor.is_positive]
        return e.func(sympy.Mul(*kept), 0, evaluate=False)

    def by_z3(self, given: Sequence[Boolean], claim: Boolean | Sequence[Boolean]) -> Decision:
        """By z3, first in the other symbols and without hypotheses that contain roots; a proof from these is enough."""
        if self._view:
            claims = [claim] if isinstance(claim, Boolean) else list(claim)
            seen = [self.in_view(c) for c in given]
            rational = [c for c in seen if all(power.exp.is_integer for power in c.atoms(sympy.Pow))]
            found = super().by_z3(rational, [self.in_view(c) for c in claims])
            if found.status is Status.PROVED:
                return found
            return self.decided_by_z3(given, claim, _FEWER)
        return super().by_z3(given, claim)

    def decided_by_z3(
        self, given: Sequence[Boolean], claim: Boolean | Sequence[Boolean], effort: int = EFFORT
    ) -> Decision:
        """By z3; a counter-model must also satisfy the statement's definitions, which become conditions if that helps."""
        found = super().decided_by_z3(given, claim, effort)
        defined = self._definitions_of(found.model)
        try:
            if decide([one.subs(found.model) for one in defined], []).status is not Status.VACUOUS:
                return found
            found = decide([*given, *defined], claim, effort)
        except NotPolynomial:
            return found
        if found.status is Status.PROVED:
            self.conditions = [*self.conditions, *defined]
        return found

    def _definitions_of(self, symbols: Iterable[sympy.Symbol]) -> list[Boolean]:
        """What the statement's definitions say of these symbols, and of those by which they are defined."""
        where, waiting, found = self.statement.where, list(symbols), {}
        for symbol in waiting:
            if symbol in where and symbol not in found and not where[symbol].has(sympy.exp, sympy.log):
                found[symbol] = replaced(sympy.Eq(symbol, where[symbol], evaluate=False), self._case)
                waiting += where[symbol].free_symbols
        return list(found.values())

    def speaks_of(self, name: str, symbol: sympy.Symbol) -> bool:
        """Whether a statement's claim contains a symbol."""
        found = catalogue.find(f"{self.statement.paper}.{name}")
        return any(symbol in fact.value.free_symbols for fact in facts(found))

    def not_negative(self, quantity: sympy.Expr) -> None:
        """A quantity is >= 0 because it is a square or a gap to an infimum; for a gap the infimum must exist."""
        if isinstance(quantity, OwnQuantity):
            self._record("inference", f"{quantity} is not negative")
        form = self.language.means.get(quantity, sympy.Integer(0))
        if any(isinstance(s, Value) for s in form.free_symbols):
            attained = Property.MINIMISER in self.properties
            self.needs(Property.MINIMISER if attained else Property.BOUNDED_BELOW)

    def start_of(self, quantity: sympy.Expr) -> sympy.Expr:
        """The value of a round's quantity at the first round."""
        return self.language.start[quantity]

    def average(self, mean: Fact, of: sympy.Expr, weight: sympy.Expr) -> Fact:
        """From a bound on the weighted mean of a quantity over the rounds to a bound on the statement's quantity.

        of      the quantity of a round
        weight  the weight of round r that the recursion needs, up to a factor; the statement must define the same weight
        """
        goal = self.goals[0]
        about = sympy.Integer(0) if isinstance(goal, Rates) else goal.quantity
        means = {*self.language.average, *self.language.least, *self.language.mean}
        quantity = next(iter(about.free_symbols & means), None)
        if quantity is None:
            self.fail("the mean over the rounds", f"{about} is no mean over rounds")
            return mean
        if self.language.least.get(quantity) == of:
            self._record("rule", "the smallest is at most the mean")
            how = Inferred("the smallest is at most the mean", (mean,), "rule", OverRounds("least", {"of": of}))
            return self._fact(quantity, mean.sign, mean.value, how)
        if self.language.mean.get(quantity) == of:
            self.equal("the mean over the rounds: equal weights", weight, sympy.Integer(1))
            self._record("inference", "the mean over the rounds: equal weights")
            how = Inferred("the mean over the rounds: equal weights", (mean,), by=OverRounds("mean", {"of": of}))
            return self._fact(quantity, mean.sign, mean.value, how)
        if self.language.average.get(quantity) != of:
            self.fail("the mean over the rounds", f"{quantity} is not a mean of {of}")
            return mean
        jensen = "Jensen for the weighted average of the iterates"
        self._record("rule", jensen)
        self._constants(jensen, Property.CONVEX_MEAN)
        defined = [e for symbol, e in self.statement.where.items() if symbol.name == "w_r"]
        for own in defined:
            self.equal("the averaging weights", own, weight)
        if not defined and isinstance(self.goals[0], Fact):  # an order claims only that weights exist
            self.fail("the averaging weights", "the statement does not define them")
        return self._fact(
            quantity, mean.sign, mean.value, Inferred(jensen, (mean,), "rule", OverRounds("jensen", {"of": of}))
        )

    def solved(self, name: str, fact: Fact, share: sympy.Rational) -> Fact:
        """From q <= c q + rest with c at most `share` < 1: q <= rest / (1 - share)."""
        if fact.sign != "<=":
            self.fail(name, f"{fact.quantity} {fact.sign} ... is no upper bound")
        atom = self._atom(fact.quantity)
        own, factor = fact.quantity / atom, spread_out(fact.value).coeff(atom)
        kept = at_least(share * own / (1 - share), factor / (1 - share))
        how = Combined((Summand(1 / (1 - share), fact), Summand(kept.lhs - kept.rhs, atom, kept)))
        return self._fact(fact.quantity, fact.sign, self.solve(name, fact.value, atom, share), how)

    # The claim

    def conclude(self, *several: Fact, part: int = 0) -> None:
        """Check that a fact gives the claim (or one of several), and each further one the next claim.

        It has the same quantity, the same direction, and a value no smaller.
        """
        for number, fact in enumerate(several, part):
            self._conclude(fact, number)

    def _conclude(self, fact: Fact, part: int) -> None:
        goal = self.goal(part)
        self._concluded.add(part)
        self._derived(fact)
        quantity, value = (self.read(e).xreplace(self.names) for e in (goal.quantity, goal.value))
        claimed = Fact(quantity, goal.sign, value)
        named = _rewritten(fact, lambda e: e.xreplace(self.names))
        derived = _rewritten(named, lambda e: replaced(e, self._step_size))
        how = Combined(self.compare("the claim", derived, claimed, measured=True))
        self.conclusions.append(Conclusion(part, tuple(self.conditions), replace(claimed, by=self, how=how), fact))

    def goal(self, part: int = 0) -> Fact:
        """The claim of the statement, or one of several claims.  Raises ValueError for an order or rates."""
        goal = self.goals[part]
        if not isinstance(goal, Fact):
            raise ValueError(f"{self.statement.id}: expected a bound or a relation, got {type(goal).__name__}")
        return goal

    def loosened(self, name: str, fact: Fact, claimed: Fact) -> Fact:
        """A weaker fact that follows from a fact."""
        self._derived(fact)
        how = Combined(self.compare(name, fact, claimed))
        return self._fact(claimed.quantity, claimed.sign, claimed.value, how)

    def established(self, part: int) -> Fact:
        """One of several claims, already concluded by this proof, as a fact for the next claims."""
        if part not in self._concluded:
            self.fail("a premise", f"part {part + 1} of the claim is not concluded yet")
        goal = self.goal(part)
        return self._fact(self.read(goal.quantity), goal.sign, self.read(goal.value), Inferred("", ()))

    def done(self, part: int = 0) -> None:
        """Record that the steps so far have decided the claim (or one of several) in `goals`."""
        self._concluded.add(part)

    def decided(self, part: int, *given: Boolean) -> None:
        """Decide the claim (or one of several) from the conditions; it is a relation between constants."""
        goal = self.goal(part)
        relation = Fact(self.read(goal.quantity), goal.sign, self.read(goal.value)).relation
        if relation.has(sympy.zoo, sympy.nan):
            self.fail(f"{goal.quantity} {goal.sign} {goal.value}", "it divides by zero")
            return
        self.require(f"{goal.quantity} {goal.sign} {goal.value}", relation, *given)
        claim = self._fact(self.read(goal.quantity), goal.sign, self.read(goal.value), Decided(given))
        self.conclusions.append(Conclusion(part, (*self.conditions, *given), claim, None))
        self.done(part)

    def compare(self, name: str, fact: Fact, claimed: Fact, measured: bool = False) -> tuple[Summand, ...]:
        """Check that `claimed` follows from `fact`; `measured` if the room in its constants is of interest.

        Returns the parts of the slack of `claimed`; none if the check fails.
        """
        whole = fact
        fact, claimed = (
            Fact(one.quantity.xreplace(self.names), one.sign, one.value.xreplace(self.names)) for one in (fact, claimed)
        )
        if fact.sign not in (claimed.sign, "="):
            self.fail(name, f"it says {claimed.sign}, what is derived says {fact.sign}")
            return ()
        factor = sympy.simplify(claimed.quantity / fact.quantity) if fact.quantity != 0 else sympy.nan
        if factor.free_symbols & set(self.language.amounts) or factor in (sympy.nan, sympy.zoo):
            self.fail(name, f"it is about {claimed.quantity}, what is derived is about {fact.quantity}")
            return ()
        if fact.sign != "=" and not factor.is_nonnegative:
            self.require(f"{name}: about {factor} times what is derived", at_least(factor, 0))
        derived, value = factor * fact.value, claimed.value
        parts = [_towards(claimed.sign, factor, whole)]
        if claimed.sign == "<=":
            for one_symbol in (self._one_decay, self._one_power):
                derived, value, more = one_symbol(name, derived, value)
                parts += more
        derived = spread_out(derived)
        if claimed.sign == "=":
            self.equal(name, derived, value)
        elif claimed.sign == "<=":
            parts += _summands(self.at_most(name, derived, value, self.amounts(derived, value), measured))
        else:
            parts += _summands(self.at_most(name, value, derived, self.amounts(derived, value), measured=False))
        decays = claimed.value.atoms(sympy.exp) or {a for a in claimed.value.atoms(sympy.Pow) if _is_count(a.exp)}
        back = {DECAY: next(iter(decays), DECAY)}
        return tuple(replace(p, of=p.of.xreplace(back)) if isinstance(p.of, sympy.Expr) else p for p in parts)

    def _one_decay(self, name: str, derived: sympy.Expr, value: sympy.Expr) -> _Symbolised:
        """Both sides with one symbol for the claimed exponential and all derived ones, whose exponents are no larger."""
        mine, theirs = (sorted(e.atoms(sympy.exp), key=str) for e in (derived, value))
        if not mine or len(theirs) != 1:
            return derived, value, []
        parts = []
        for ours in mine:
            self.require(f"{name}: exponent", at_most(ours.args[0], theirs[0].args[0]))
            coefficient = spread_out(derived.xreplace({ours: DECAY})).coeff(DECAY)
            if not coefficient.is_nonnegative:
                self.require(f"{name}: before the exponential", at_least(coefficient, 0))
            parts.append(Summand(coefficient, theirs[0] - ours))
        return derived.xreplace(dict.fromkeys(mine, DECAY)), value.xreplace({theirs[0]: DECAY}), parts

    def _one_power(self, name: str, derived: sympy.Expr, value: sympy.Expr) -> _Symbolised:
        """Both sides with one symbol for the claimed power of a count and all derived ones, whose bases are no larger."""
        mine, theirs = (
            sorted((a for a in e.atoms(sympy.Pow) if a.exp.is_positive and _is_count(a.exp)), key=str)
            for e in (derived, value)
        )
        parts: list[Summand] = []
        if not mine:
            return derived, value, parts
        if len(theirs) != 1 or DECAY in value.free_symbols:
            self.fail(name, f"the claim does not have the power {mine[0]}")
            return derived, value, parts
        for ours in mine:
            if ours == theirs[0]:
                continue
            if ours.exp != theirs[0].exp:
                self.fail(name, f"{ours} and {theirs[0]} have different exponents")
            self.require(f"{name}: base of the power", [at_least(ours.base, 0), at_most(ours.base, theirs[0].base)])
            coefficient = spread_out(derived.xreplace({ours: DECAY})).coeff(DECAY)
            if not coefficient.is_nonnegative:
                self.require(f"{name}: before the power", at_least(coefficient, 0))
            parts.append(Summand(coefficient, theirs[0] - ours))
        return derived.xreplace(dict.fromkeys(mine, DECAY)), value.xreplace({theirs[0]: DECAY}), parts

    def amounts(self, *expressions: sympy.Expr) -> list[sympy.Symbol]:
        """The quantities of the language that these have, with the decay."""
        found = set().union(*(e.free_symbols for e in expressions))
        return [s for s in (*self.language.amounts, DECAY) if s in found]

    def verdict(self) -> Verdict:
        """The verdict as for a ledger; open if part of the claim was not concluded."""
        found = super().verdict()
        left = set(range(len(self.goals))) - self._concluded
        if found.status is Status.PROVED and left:
            found = Verdict(Status.OPEN, f"part {min(left) + 1} of the claim is not concluded")
        return replace(found, premises=tuple(sorted(self.premises)))


def _is_count(e: sympy.Expr) -> bool:
    """Whether it is a count such as R, or a product of counts."""
    return bool(e.is_Symbol) or (bool(e.is_Mul) and all(s.is_Symbol and s.is_integer for s in e.args))


_Symbolised = tuple[sympy.Expr, sympy.Expr, list[Summand]]  # two sides with a new symbol; what the slack loses by it


def _rewritten(fact: Fact, read: Callable[[sympy.Expr], sympy.Expr]) -> Fact:
    """A fact in other symbols for the same numbers."""
    quantity, value = read(fact.quantity), read(fact.value)
    if (quantity, value) == (fact.quantity, fact.value):
        return fact
    return replace(fact, quantity=quantity, value=value, how=Combined((Summand(sympy.S.One, fact),)))


def _towards(sign: Sign, times: sympy.Expr, fact: Fact) -> Summand:
    """A fact as a part of the slack of a relation with this sign."""
    return Summand(-times if sign == ">=" and fact.sign == "=" else times, fact)


def _summands(room: Sequence[tuple[sympy.Expr, sympy.Expr, sympy.Expr]]) -> list[Summand]:
    return [Summand(a - b, monomial, at_least(a, b)) for a, b, monomial in room if a != b]


def _vanishes(rest: sympy.Expr) -> Decision:
    rest = spread_out(rest)
    if rest == 0 or spread_out(sympy.fraction(sympy.together(rest))[0]) == 0:
        return Decision(Status.PROVED, "the forms are the same")
    rest = spread_out(sympy.simplify(rest))
    if rest == 0:
        return Decision(Status.PROVED, "the forms are the same")
    return Decision(Status.REFUTED, f"as forms, the sides differ by {rest} beyond the rules named")


Proof = Callable[[Argument], None]
Choices = ParamSpec("Choices")


def curried(proof: Callable[Concatenate[Argument, Choices], None]) -> Callable[Choices, Proof]:
    """A proof with further parameters, such as the statement that it begins with, as a function of these."""
    return lambda *choices, **named: lambda p: proof(p, *choices, **named)


@curried
def substituted(p: Argument, source: str, *others: str) -> None:
    """The claim of a statement, its quantities replaced by their bounds in other statements, one after another."""
    p.conclude(p.put(p.claim(source), *map(p.claim, others)))


def evidence_of(proofs: Mapping[str, Proof], kind: EvidenceKind, language: Language, paper: str) -> Iterator[Evidence]:
    """Proofs by the names of their statements, as evidence."""
    return (as_evidence(name, kind, proof, language, paper) for name, proof in proofs.items())


def for_printed(proofs: Mapping[str, Proof], language: Language, paper: str) -> Iterator[Evidence]:
    """Proofs of corrected forms that only assume more, as evidence for the printed statements."""
    for name, proof in proofs.items():
        corrected = catalogue.find(f"{paper}.{name}")
        printed = catalogue.find(corrected.corrects) if corrected.corrects else corrected
        same = all(getattr(printed, part) == getattr(corrected, part) for part in ("claim", "also", "when", "where"))
        if printed is not corrected and same:
            yield as_evidence(printed.id.partition(".")[2], "repair", proof, language, paper)


def as_evidence(name: str, kind: EvidenceKind, proof: Proof, language: Language, paper: str) -> Evidence:
    """A proof as a piece of evidence for the statement `name` of a paper."""

    def check(statement: Statement, full: bool) -> Verdict:
        argument = Argument(statement, language)
        proof(argument)
        return argument.verdict()

    return Evidence(f"{paper}.{name}", kind, check)
