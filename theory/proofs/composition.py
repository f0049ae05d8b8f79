"""A proof as one Coq theorem: from its recorded premises and conditions to the claim, step after step.

Each fact that an `Argument` derives becomes a lemma.  Its slack is a sum of factors >= 0 times what is >= 0; Coq checks
that sum as an identity, and each factor by a step (`fedtheory.theory.proofs.coq`).  Premises are hypotheses of a section,
named after what they stand for.  Coq prints which of them a theorem uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, Literal

import sympy
from sympy.logic.boolalg import Boolean

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import coq
from fedtheory.theory.proofs.argument import (
    WITHOUT_LEMMA,
    Argument,
    Combined,
    Conclusion,
    Decided,
    Fact,
    Inferred,
    OfForms,
    OverRounds,
    Said,
    Summand,
    Symbols,
    spread_out,
)
from fedtheory.theory.proofs.arithmetic import at_least, at_most
from fedtheory.theory.proofs.forms import replaced, vectors_in
from fedtheory.theory.proofs.reduction import hidden, visible
from fedtheory.theory.proofs.rules import RuleInstance
from fedtheory.theory.proofs.sequents import (
    Domain,
    Sequent,
    domain,
    expression,
    guards,
    names_in,
    names_of,
    parsed,
    relation,
    sequents,
)

Kind = Literal[
    "condition",
    "definition",
    "defined",
    "meaning",
    "claim",
    "rule",
    "algorithm",
    "member",
    "inference",
    "run",
]
_NAMED: tuple[Kind, ...] = ("claim", "rule", "algorithm")  # the name of such a hypothesis says what it stands for


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis of a theorem.

    name        in Coq
    kind        what kind of premise it is; `defined`: a divisor is not zero; `meaning`: a quantity as a mean of products;
                `member`: a fact that holds for each member of a family, summed over the family;
                `run`: what a quantity of a run is, such as the value in the first round
    stands_for  the id of a statement, the name of a rule, or words
    says        relations; the last follows from those before it
    each        which of these hold in each round; none if empty
    text        what it says of a run, in Coq; `says` is then what that means if nothing changes from round to round
    """

    name: str
    kind: Kind
    stands_for: str
    says: tuple[str, ...]
    each: tuple[bool, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class CoqTheorem:
    """A conclusion of a proof as a Coq theorem.

    variables   (name, domain); each is a real number in Coq
    hypotheses  all that the theorem may use, besides the domains
    claim       the conclusion, as text
    steps       name of a lemma -> the step that the section takes from elsewhere
    guards      what must be shown so that an expression is defined, as steps; without a certificate it is a hypothesis
    text        the section in Coq, from its variables to the theorem
    declared    the names in Coq of its variables, and of what it says of their domains
    sequences   variables that change with the round -> the sequence, and how many rounds later it is taken
    proved      what proofs infer in words, or claim of sequences, and lemmas of sequences.v prove here
    """

    name: str
    variables: tuple[tuple[str, Domain], ...]
    hypotheses: tuple[Hypothesis, ...]
    claim: str
    steps: dict[str, Sequent]
    guards: tuple[Sequent, ...]
    text: str
    declared: frozenset[str]
    sequences: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    proved: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        """A short name for what the theorem says: its variables, its hypotheses but for divisors, and its claim."""
        kept = [one for one in self.hypotheses if one.kind != "defined"]
        said = sorted((one.kind, one.stands_for, one.says) for one in kept)
        whole: tuple[Any, ...] = (self.variables, said, self.claim)
        if self.sequences:
            whole += (sorted(self.sequences.items()), sorted((one.says, one.each, one.text) for one in kept))
        return sha256(repr(whole).encode()).hexdigest()[:16]


def theorems(argument: Argument, name: str, known: Collection[str] = ()) -> list[CoqTheorem]:
    """Every conclusion of a proof as a theorem, in order.

    known   digests of steps that have a certificate

    Raises ValueError for an expression that has no form in Coq, and for what a recursion of one round says of a run if no
    lemma of sequences.v proves it: as a hypothesis it would suppose the theorem.
    """
    several = len(argument.conclusions) > 1
    return [
        _Section(argument, one, f"{name}_{number}" if several else name, known).theorem()
        for number, one in enumerate(argument.conclusions, 1)
    ]


@dataclass
class _Section:
    """A Coq section for one conclusion, while it is written."""

    argument: Argument
    conclusion: Conclusion
    name: str
    known: Collection[str]
    hypotheses: dict[tuple[str, ...], Hypothesis] = field(default_factory=dict)
    steps: dict[str, Sequent] = field(default_factory=dict)
    guards: dict[str, Sequent] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)  # lemmas that expressions are defined
    lemmas: list[str] = field(default_factory=list)
    proved: dict[Fact, str] = field(default_factory=dict)
    scalars: dict[sympy.Expr, sympy.Symbol] = field(default_factory=dict)
    proved_here: set[str] = field(default_factory=set)
    sum_of: dict[sympy.Expr, sympy.Expr] = field(default_factory=dict)  # symbols for sums of quantities of a round
    now: bool = False  # whether what is written holds in each round

    @property
    def named(self) -> dict[str, str]:
        """Names in Coq of the variables, as they are written now."""
        return self.in_round if self.now else self.in_run

    def theorem(self) -> CoqTheorem:
        """The section's theorem."""
        self.names = names_of(self._symbols())
        self.own = coq.names(self.names.values())
        self.domains = {name: domain(symbol) for symbol, name in self.names.items()}
        self._of_rounds()
        self._conditions()
        for symbol, meaning in (one for one in self._definitions() if one[0] in self.names):
            self._assume("definition", str(symbol), f"{self._text(symbol)} == {self._text(meaning)}")
        last = self._prove(self.conclusion.claim)
        claim = self._fact(self.conclusion.claim)
        body = [self._hypothesis(one) for one in self.hypotheses.values()]
        body += [
            "",
            *self.shown,
            *self.lemmas,
            f"Theorem {self.name}_claim : {self._coq(claim)}.",
            f"Proof. exact {last}. Qed.",
        ]
        words = set(re.findall(r"[^\W\d]\w*", "\n".join(body)))
        used = {name for name, own in self.own.items() if {own, coq.whole(own)} & words}
        used |= {name for name, (of, _) in self.sequences.items() if of in used and name not in self.sums}
        variables = tuple((name, where) for name, where in self.domains.items() if name in used)
        above = list(self._declared(variables, words))
        lines = [f"Section {self.name}.", "", *above, *body]
        lines += [f'Goal True. idtac "theorem {self.name}". exact I. Qed.', f"Print Assumptions {self.name}_claim."]
        lines += [f"End {self.name}.", ""]
        declared = frozenset(re.findall(r"(?:Variable|Hypothesis|Let) (\w+)", "\n".join(above)))
        hypotheses, guards_ = tuple(self.hypotheses.values()), tuple(self.guards.values())
        sequences = {name: place for name, place in self.sequences.items() if name in dict(variables)}
        proved, text = frozenset(self.proved_here), "\n".join(lines)
        return CoqTheorem(
            self.name, variables, hypotheses, claim, self.steps, guards_, text, declared, sequences, proved
        )

    def _declared(self, variables: tuple[tuple[str, Domain], ...], words: set[str]) -> Iterator[str]:
        meanings = {symbol: monomial for monomial, symbol in self.scalars.items()}
        symbols = {name: symbol for symbol, name in self.names.items()}
        for name, where in variables:
            own = self.own[name]
            meaning = meanings.get(symbols[name])
            comment = "" if meaning is None else f" (* the mean of {_comment(str(meaning))} *)"
            if name in self.sequences:
                if self.sequences[name] == (name, 0):
                    yield f"Variable {own} : nat -> R.{comment}"
                    if where != "real":
                        yield f"Hypothesis domain_{own} : {_EACH}{coq.bound(f'({own} {_ROUND})', where)}."
                continue
            yield f"Variable {own} : R.{comment}"
            if where != "real":
                yield f"Hypothesis domain_{own} : {coq.bound(own, where)}."
            if where == "count":
                yield f"Let positive_{own} := count_positive _ domain_{own}."
            if coq.whole(own) in words:
                yield f"Variable {coq.whole(own)} : nat.\nHypothesis whole_number_{own} : {own} = INR {coq.whole(own)}."

    def _hypothesis(self, one: Hypothesis) -> str:
        each = one.each or (False,) * len(one.says)
        said = [self._at_level(level, partial(self._coq, text)) for text, level in zip(one.says, each, strict=True)]
        given = [
            f"({_EACH}{text})" if level and not each[-1] else f"({text})"
            for text, level in zip(said, each, strict=True)
        ]
        whole = one.text or " -> ".join([*given[:-1], said[-1]])
        whole = f"{_EACH}{whole}" if each[-1] else whole
        return f"(* {one.kind}: {_comment(one.stands_for)} *)\nHypothesis {one.name} : {whole}."

    # What the section is about

    def _symbols(self) -> set[sympy.Symbol]:
        found: set[sympy.Symbol] = set()
        for condition in self.conclusion.conditions:
            found |= condition.free_symbols
        for fact in _facts(self.conclusion.claim):
            for e in self._expressions(fact):
                found |= e.free_symbols
        for symbol, meaning in self._definitions():
            found |= meaning.free_symbols if symbol in found else set()
        return found

    def _expressions(self, fact: Fact) -> Iterator[sympy.Expr]:
        """Everything that the lemma about a fact will contain."""
        yield from map(self._scalar, self._named(fact))
        over = _over(fact)
        if over is not None:
            yield from map(self._scalar, over.at.values())
        if isinstance(fact.how, Combined | OfForms):
            for part in fact.how.parts:
                yield part.times
                if isinstance(part.of, sympy.Expr):
                    yield self._scalar(part.of)
        if isinstance(fact.how, OfForms):
            for one in fact.how.under:
                yield from one.args
            yield from map(self._scalar, self._forms(fact, fact.how))
            for monomial in self._changed(fact, fact.how):
                yield self._scalar(spread_out(replaced(monomial, fact.how.after)))

    def _with_meaning(self, fact: Fact) -> list[sympy.Symbol]:
        means = self.argument.language.means
        return sorted((fact.quantity.free_symbols | fact.value.free_symbols) & set(means), key=str)

    def _changed(self, fact: Fact, how: OfForms) -> list[sympy.Expr]:
        """The products of vectors in a derivation to which the algorithm gives another value."""
        symbols = {s for e in self._forms(fact, how) for s in self._scalar(e).free_symbols} if how.after else set()
        return [m for m, scalar in list(self.scalars.items()) if scalar in symbols and replaced(m, how.after) != m]

    def _forms(self, fact: Fact, how: OfForms) -> Iterator[sympy.Expr]:
        """The forms that a derivation is about."""
        yield from (fact.quantity, fact.value)
        yield from (one.of.slack for one in how.parts if isinstance(one.of, RuleInstance))
        for quantity in self._with_meaning(fact):
            yield self.argument.meaning(quantity**2 if _is_norm(quantity, fact) else quantity)

    def _scalar(self, e: sympy.Expr) -> sympy.Expr:
        """An expression with a scalar symbol for each mean of an inner product, and for each function value."""
        known = {*self.argument.language.means, *self.argument.language.amounts, *self.scalars.values()}
        # a number without a sign, such as a covariance, gets a symbol too
        unsigned = (s for s in e.free_symbols if s.is_extended_nonnegative is None and s.is_integer is None)
        vectors = sorted(set(unsigned) - known, key=str)
        if not vectors:
            return e
        total = sympy.Integer(0)
        for powers, coefficient in sympy.Poly(spread_out(e), *vectors).terms():
            monomial = sympy.Mul(*(v**p for v, p in zip(vectors, powers, strict=True)))
            if monomial != 1 and monomial not in self.scalars:
                self.scalars[monomial] = sympy.Symbol(f"v{len(self.scalars) + 1}", real=True)
            total += coefficient * self.scalars.get(monomial, sympy.Integer(1))
        return total

    def _definitions(self) -> Iterator[tuple[sympy.Expr, sympy.Expr]]:
        step_size = self.argument._step_size
        yield from step_size.items()
        for symbol, meaning in self.argument.statement.where.items():
            if not any(symbol in value.free_symbols for value in step_size.values()):
                yield symbol, self.argument.read(meaning)
        for expression_, symbol in self.argument.names.items():
            if isinstance(symbol, sympy.Symbol):
                yield symbol, expression_

    # Writing

    def _conditions(self) -> None:
        """The conditions as hypotheses, and when they are defined."""
        texts = [relation(one, self.names) for one in self.conclusion.conditions]
        plain = [text for text in texts if not hidden(guards(text), self.domains)]
        for text in texts:
            self._defined(text, plain)
            self._assume("condition", text, text)

    def _text(self, e: sympy.Expr) -> str:
        return self._seen(expression(self._scalar(e), self.names))

    def _named(self, fact: Fact) -> tuple[sympy.Expr, ...]:
        """The sides of a fact, with the symbols that the proof uses for expressions."""
        return tuple(e.xreplace(self.argument.names) for e in (fact.quantity, fact.value))

    def _sides(self, fact: Fact) -> tuple[str, str]:
        """The sides of a fact as text; but for the claim of the theorem, divisors are products."""
        sides = self._named(fact)
        if fact is not self.conclusion.claim:
            sides = tuple(map(_over_products, sides))
        return self._text(sides[0]), self._text(sides[1])

    def _relation(self, r: Boolean) -> str:
        return self._seen(relation(r, self.names))

    def _fact(self, fact: Fact) -> str:
        quantity, value = self._sides(fact)
        return f"{quantity} {'==' if fact.sign == '=' else fact.sign} {value}"

    def _seen(self, text: str) -> str:
        """The same text; what it divides by becomes a lemma or a hypothesis."""
        self._defined(text, [relation(one, self.names) for one in self.conclusion.conditions])
        return text

    def _defined(self, text: str, given: Collection[str]) -> None:
        for guard in hidden(guards(text), self.domains):
            if guard in self.guards:
                continue
            used = names_in(guard, *given)
            variables = tuple((name, where) for name, where in self.domains.items() if name in used)
            sequent = Sequent(variables, tuple(sorted(given)), guard)
            self.guards[guard] = sequent
            if sequent.digest in self.known:
                name, said = f"{self.name}_defined{len(self.guards)}", self._coq(guard)
                proof = self._by_step(sequent, self.named)
                self.shown.append(f"Lemma {name} : {said}.\nProof. {proof}. Qed.\nLet {name}_ : {said} := {name}.")
            else:
                self._assume("defined", guard, guard)

    def _coq(self, text: str) -> str:
        return coq.relation(text, self.named)

    def _term(self, e: sympy.Expr) -> str:
        return coq.term(self._text(e), self.named)

    def _assume(self, kind: Kind, stands_for: str, *says: str) -> str:
        """The name of a hypothesis; a new one if nothing says the same yet."""
        return self._supposed(kind, stands_for, says, tuple(self._varies(text) for text in says) if self.now else ())

    def _supposed(
        self, kind: Kind, stands_for: str, says: tuple[str, ...], each: tuple[bool, ...] = (), text: str = ""
    ) -> str:
        each = each if any(each) else ()
        key = (*says, *map(str, each), text)
        if key not in self.hypotheses:
            number = sum(one.kind == kind for one in self.hypotheses.values()) + 1
            label = re.sub(r"\W+", "_", stands_for).strip("_")[:40] if kind in _NAMED else ""
            name = f"{kind}_{number}_{label}".rstrip("_")
            self.hypotheses[key] = Hypothesis(name, kind, stands_for, says, (True,) * len(says) if each else (), text)
        name = self.hypotheses[key].name
        return f"({name} {_ROUND})" if each and self.now else name

    # Proving

    def _prove(self, fact: Fact) -> str:
        """What says this: a hypothesis, or a lemma; of a fact that holds in each round, in this one."""
        if fact not in self.proved:
            self.proved[fact] = self._at_level(fact in self.each, lambda: self._derived(fact))
        said = self.proved[fact]
        return said if self.now or fact not in self.each else said.replace(f" {_ROUND}", " O")

    def _at_level(self, each: bool, write: Callable[[], str]) -> str:
        """What is written of each round, or of the run."""
        before, self.now = self.now, each
        try:
            return write()
        finally:
            self.now = before

    def _derived(self, fact: Fact) -> str:
        over = _over(fact)
        if over is not None and (over.lemma in _RECURSIONS or self.sequences):
            return self._over_rounds(fact, over)
        match fact.how:
            case Said(source, of):
                if of and any(not catalogue.find(one).gives for one in catalogue.find(source).assumes):
                    raise ValueError(f"{_OF_RUNS}: {source}")
                return self._from(of, self._kind_of(source) or "condition", source, fact)
            case Inferred(reason, of, kind, by):
                if by is WITHOUT_LEMMA:
                    raise ValueError(f"{_OF_RUNS}: {reason}")
                return self._from(of, kind, reason, fact)
            case Combined(parts):
                return self._sum(fact, [self._part(one) for one in parts])
            case OfForms(parts, after, under):
                for one in under:
                    self._assume("inference", f"{one}, by the steps before", self._relation(one))
                meanings = [self._meaning(quantity, fact) for quantity in self._with_meaning(fact)]
                meanings += [self._value(monomial, after) for monomial in self._changed(fact, fact.how)]
                return self._sum(fact, [self._instance(one, under) for one in parts], meanings)
            case Decided():
                return self._lemma(fact, [f"{self._shown(fact.relation)}."])
        raise ValueError(f"{fact.quantity} {fact.sign} ...: derived in no recorded way")

    def _from(self, of: Sequence[Fact], kind: Kind, stands_for: str, fact: Fact) -> str:
        """A hypothesis by which a fact follows from others, applied to these."""
        known = [self._prove(one) for one in of]
        name = self._assume(kind, stands_for, *map(self._fact, of), self._fact(fact))
        return f"({name} {' '.join(known)})" if known else name

    def _kind_of(self, source: str) -> Kind | None:
        """The kind of a premise that has the id of a statement; None for other premises."""
        kinds: set[Kind] = {p.kind for p in self.argument.premises if p.name == source}  # type: ignore[misc]
        return next((kind for kind in _NAMED if kind in kinds and _is_id(source)), None)

    def _lemma(self, fact: Fact, proof: list[str]) -> str:
        return self._shown_by(self._coq(self._fact(fact)), proof)

    def _shown_by(self, claim: str, proof: list[str]) -> str:
        """A lemma with this proof."""
        name = f"{self.name}_fact{len(self.lemmas) + 1}"
        if self.now:
            claim, proof = f"{_EACH}{claim}", [f"intro {_ROUND}.", *self._signs(_ROUND), *proof]
        self.lemmas.append("\n".join([f"Lemma {name} : {claim}.", "Proof.", *proof, "Qed.", ""]))
        return f"({name} {_ROUND})" if self.now else name

    def _meaning(self, quantity: sympy.Symbol, fact: Fact) -> str:
        """What a quantity stands for; a norm stands for a vector, and its square for a mean."""
        e = quantity**2 if _is_norm(quantity, fact) else quantity
        form = self._scalar(self.argument.meaning(e))
        return self._assume("meaning", str(e), f"{self._text(e)} == {self._text(form)}")

    def _value(self, monomial: sympy.Expr, after: Symbols) -> str:
        """The value that an algorithm, or the equation of a statement, gives a product of vectors."""
        given = {v: value for v, value in after.items() if v in vectors_in(monomial)}
        for by, symbols in self.argument.followed.items():
            kind = self._kind_of(by)
            if kind and all(
                v in symbols and replaced(symbols[v], after) == replaced(e, after) for v, e in given.items()
            ):
                value = self._text(self._scalar(spread_out(replaced(monomial, after))))
                return self._assume(kind, by, f"{self._text(monomial)} == {value}")
        raise ValueError(f"{monomial}: expected values from a recorded algorithm or claim, got {after}")

    def _instance(self, one: Summand, under: Sequence[Boolean]) -> _Part:
        """A rule, or a fact about each member of a family, as a part of a slack."""
        assert isinstance(one.of, RuleInstance)
        slack = self._text(one.of.slack)
        said = f"{slack} == 0" if one.of.equality else f"0 <= {slack}"
        if one.of.of is not None:
            known = self._prove(one.of.of)
            name = f"({self._assume('member', one.of.rule, self._fact(one.of.of), said)} {known})"
        else:
            name = self._assume(self._kind_of(one.of.rule) or "rule", one.of.rule, said)
        factor, term = self._term(_over_products(one.times)), coq.term(slack, self.named)
        if one.of.equality:
            return _Part(f"{factor} * {term}", f"apply part_zero; exact {name}", True)
        return _Part(f"{factor} * {term}", f"apply part_least; [{self._factor(one, under)} | exact {name}]", False)

    def _part(self, one: Summand) -> _Part:
        """A part of a slack."""
        factor = self._term(_over_products(one.times))
        if isinstance(one.of, Fact):
            name = self._prove(one.of)
            quantity, value = (coq.term(side, self.named) for side in self._sides(one.of))
            if one.of.sign == "=":
                return _Part(f"{factor} * ({value} - {quantity})", f"apply part_equal; exact {name}", True)
            larger, smaller = (value, quantity) if one.of.sign == "<=" else (quantity, value)
            rule = "part_le" if one.of.sign == "<=" else "part_ge"
            proof = f"apply {rule}; [{self._factor(one)} | exact {name}]"
            return _Part(f"{factor} * ({larger} - {smaller})", proof, False)
        assert isinstance(one.of, sympy.Expr)
        if one.because is not None:
            factor = f"({self._term(one.because.lhs)} - {self._term(one.because.rhs)})"
        term = self._term(one.of)
        positive = one.of.is_nonnegative is True
        if not positive and one.because is not None:  # of unknown sign: then the coefficients are equal
            below = sympy.Le(one.because.lhs, one.because.rhs, evaluate=False)
            proof = f"apply part_none; apply both; [{self._shown(one.because)} | {self._shown(below)}]"
            return _Part(f"{factor} * {term}", proof, True)
        growth = self._grows(one.of)
        term, sign = growth or (term, self._not_negative(one.of))
        return _Part(f"{factor} * {term}", f"apply part_least; [{self._factor(one)} | {sign}]", False)

    def _grows(self, e: sympy.Expr) -> tuple[str, str] | None:
        """exp(b) - exp(a), or b^n - a^n, in this order, and the proof that it is >= 0, because b is at least a."""
        larger = next((part for part in sympy.Add.make_args(e) if not part.could_extract_minus_sign()), e)
        smaller = larger - e
        term = f"({self._term(larger)} - {self._term(smaller)})"
        if isinstance(larger, sympy.exp) and isinstance(smaller, sympy.exp):
            return term, f"apply exp_grows; {self._shown(at_most(smaller.args[0], larger.args[0]))}"
        if isinstance(larger, sympy.Pow) and isinstance(smaller, sympy.Pow) and larger.exp == smaller.exp:
            least, most = at_least(smaller.base, 0), at_most(smaller.base, larger.base)
            return term, f"apply power_grows; [apply at_least_zero; {self._shown(least)} | {self._shown(most)}]"
        return None

    def _not_negative(self, e: sympy.Expr, under: Sequence[Boolean] = ()) -> str:
        if visible(parsed(self._text(e)), self.domains):
            return "pos"
        return f"apply at_least_zero; {self._shown(at_least(e, 0), under)}"

    def _factor(self, one: Summand, under: Sequence[Boolean] = ()) -> str:
        """The proof that a factor is >= 0; that of counts less a number is a step, too."""
        if one.because is not None:
            return f"apply not_less; {self._shown(one.because)}"
        return self._not_negative(_over_products(one.times), under)

    def _shown(self, claim: Boolean, under: Sequence[Boolean] = ()) -> str:
        """A proof of a relation from the conditions, by a step from elsewhere."""
        given = (*self.conclusion.conditions, *under)
        (sequent,) = sequents(given, [claim])
        used = claim.free_symbols.union(*(c.free_symbols for c in given))
        return self._by_step(sequent, {theirs: self.named[self.names[s]] for s, theirs in names_of(used).items()})

    def _by_step(self, sequent: Sequent, named: Mapping[str, str]) -> str:
        name = f"step_{sequent.digest}"
        self.steps[name] = sequent
        at = " ".join(named[variable] for variable, _ in sequent.variables)
        return f"by_step ({name} {at})" if at else f"exact {name}"

    def _sum(
        self, fact: Fact, parts: list[_Part], meanings: Sequence[str] = (), said: tuple[str, str] | None = None
    ) -> str:
        """A lemma by an identity: the slack is the sum of its parts; `said`: its sides, if written in another way."""
        quantity, value = said or tuple(coq.term(side, self.named) for side in self._sides(fact))
        left, right = (quantity, value) if fact.sign == ">=" else (value, quantity)
        total = " + ".join(part.term for part in parts) or "0"
        identity = f"assert (identity : {left} - {right} = {total})."
        rewriting = [*(f"?{name}" for name in meanings), *self._meanings()]
        rewrites = f"rewrite {', '.join(rewriting)}; " if rewriting else ""
        divides = "/" in identity or any(
            "/" in one.says[0] for one in self.hypotheses.values() if re.search(rf"\?\(?{one.name}\b", rewrites)
        )
        for base in sorted(set(re.findall(r"sqrt (\w+)", identity))):
            rewrites += f"root_of {base}; "
        proof = [identity, f"{{ {rewrites}{self._by_inverses(identity) if divides else 'ring'}. }}"]
        zero = fact.sign == "="
        for number, part in enumerate(parts, 1):
            use = part.proof if zero or not part.zero else f"apply zero_least; {part.proof}"
            signed = f"{part.term} = 0" if zero else f"0 <= {part.term}"
            proof.append(f"assert (part_{number} : {signed}) by ({use}).")
        rule = {"<=": "by_slack_le", ">=": "by_slack_ge", "=": "by_slack_eq"}[fact.sign]
        proof.append(f"apply ({rule} _ _ _ identity); {'all_zero' if zero else 'all_least'}.")
        return self._shown_by(f"{quantity} {fact.sign} {value}", proof) if said else self._lemma(fact, proof)

    def _by_inverses(self, identity: str) -> str:
        """A tactic that takes inverses of divisors as variables, and only if that is not enough multiplies all out."""
        signed = {own for name, own in self.own.items() if self.domains[name] in ("count", "positive")}
        divisors = _divisors(identity)
        known = _equations({d for d in divisors if d in signed or " " in d})
        said = {d: f"inverse_{number}" for number, d in enumerate(known, 1) if known[d]}
        poses = "".join(f"assert ({said[d]} : {known[d]}) by (field; nonzero); " for d in said)
        poses += "inverses; " + "".join(f"inverse_of ({d}) {said.get(d, '')}".rstrip() + "; " for d in known)
        equations = f" [{' '.join(said.values())}]" if said else ""
        return f"first [{poses}field{equations}; nonzero | field; nonzero]"

    def _meanings(self) -> list[str]:
        """Rewriting by the hypotheses that say what a symbol is; a symbol for a part of the proof stays."""
        says = re.compile(r"\w+ == ")
        known = [one for kind in ("definition", "condition") for one in self.hypotheses.values() if one.kind == kind]
        named = set(map(str, self.argument.names.values()))
        return [f"{'<- ' * (one.stands_for in named)}?{one.name}" for one in known if says.match(one.says[0])]

    # From a round to a run

    def _of_rounds(self) -> None:
        """Which facts hold in each round, and which variables change with the round."""
        facts = list(_facts(self.conclusion.claim))
        overs = {fact: over for fact in facts if (over := _over(fact)) is not None}
        seeds = [one for fact, over in overs.items() if over.lemma in _RECURSIONS for one in _premises_of(fact)]
        self.each = {one for seed in seeds for one in _facts(seed)}
        language = self.argument.language
        earlier = {after: before for before, after in language.following.items()}
        changing = {*language.means, *language.following, *earlier, *self.scalars.values()}
        for over in overs.values():
            if over.lemma in _RECURSIONS:
                pair = over.at["after"], over.at["before"]
                earlier |= {pair[0]: pair[1]} if all(isinstance(one, sympy.Symbol) for one in pair) else {}
                changing |= over.at["after"].free_symbols & set(earlier) | {*pair} | {over.at.get("progress")}
        inside = {s for fact in self.each for e in self._expressions(fact) for s in e.free_symbols} & changing
        inside |= {earlier[s] for s in inside if s in earlier and earlier[s] in self.names}
        places: dict[sympy.Symbol, tuple[sympy.Symbol, int]] = {}
        for symbol in inside:
            of, later = symbol, 0
            while earlier.get(of) in inside:
                of, later = earlier[of], later + 1
            places[symbol] = of, later
        self.sequences = {
            self.names[s]: (self.names[of], later) for s, (of, later) in places.items() if s in self.names
        }
        self.in_run, self.in_round, self.sums = dict(self.own), dict(self.own), dict[str, str]()
        for name, (of, later) in self.sequences.items():
            self.in_round[name] = f"({self.own[of]} {_after(_ROUND, later)})"
        for fact, over in overs.items():
            if over.lemma == "sum":
                before = earlier[fact.quantity]
                self.sum_of[before] = over.at["before"]
                for symbol, e in ((fact.quantity, over.at["after"]), (before, over.at["before"])):
                    self.sums[self.names[symbol]] = self._at_level(True, partial(self._term, e))
        self.in_round |= self.sums

    def _varies(self, text: str) -> bool:
        return bool(names_in(text) & set(self.sequences))

    def _signs(self, at: str) -> list[str]:
        """The signs of all sequences in a round."""
        bases = [name for name, place in self.sequences.items() if place == (name, 0) and name not in self.sums]
        signed = [self.own[name] for name in sorted(bases) if self.domains[name] != "real"]
        rounds = [at, f"(S {at})"]
        return [f"pose proof (domain_{own} {r}) as at_{own}_{i}." for own in signed for i, r in enumerate(rounds)]

    def _function(self, e: sympy.Expr) -> str:
        """An expression as a function of the round."""
        return f"(fun {_ROUND} : nat => {self._at_level(True, lambda: self._term(e))})"

    def _count(self, count: sympy.Expr) -> tuple[str, str, str]:
        """A number of rounds in Coq, the proof that it is positive, and the proof that it is this number."""
        (symbol,) = count.free_symbols
        own = self.own[self.names[symbol]]
        number = coq.whole(own)
        if count == symbol:
            positive = f"exact (sequences.rounds_of_count _ _ domain_{own} whole_number_{own})."
            return number, positive, f"symmetry; exact whole_number_{own}."
        if count != symbol + 1:
            raise ValueError(f"{count}: expected a count of rounds, or one more")
        more = f"rewrite (sequences.one_more _ _ whole_number_{own}); ring."
        return f"(S {number})", "exact (Nat.lt_0_succ _).", more

    def _mean(self, over: OverRounds, e: sympy.Expr) -> str:
        """The mean of a quantity over the rounds, in Coq."""
        number, _, _ = self._count(over.at["count"])
        if over.at["keeps"] == 1:
            return f"(sequences.mean {number} {self._function(e)})"
        return f"(sequences.weighted_mean {self._keeps(over.at)} {number} {self._function(e)})"

    def _keeps(self, at: Mapping[str, sympy.Expr]) -> str:
        """The factor of the state that a round keeps, as the lemma has it."""
        return f"(1 - {self._term(at['a'])} * {self._term(at['gamma'])})" if "a" in at else self._term(at["keeps"])

    def _recursion(self, fact: Fact, over: OverRounds) -> str:
        """A lemma: the recursion in the form that those of sequences.v need."""
        (recursion,) = _premises_of(fact)
        at, parts = over.at, self._kept(recursion, over)

        def write() -> str:
            term = {k: self._term(e) for k, e in at.items()}
            gained, noise = term.get("gained", ""), term["noise"]
            if over.lemma == "lemma":
                gained, noise = f"{term['b']} * {term['gamma']}", f"{term['c']} * {term['gamma']} ^ 2"
            gains = f"- {gained} * {term['progress']} " if "progress" in at else ""
            keeps = "" if gains and at["keeps"] == 1 else f"{self._keeps(at)} * "
            right = f"{keeps}{term['before']} {gains}+ {noise}"
            after = term["before"].replace(_ROUND, f"(S {_ROUND})")
            return self._sum(recursion, list(map(self._part, parts)), said=(after, f"({right})"))

        return self._at_level(True, write).split()[0].removeprefix("(")

    def _kept(self, recursion: Fact, over: OverRounds) -> list[Summand]:
        """A recursion, and each part of the state of which a round keeps less than of the whole."""
        parts, value = [Summand(sympy.S.One, recursion)], spread_out(recursion.value)
        before = spread_out(over.at["before"])
        for symbol in sorted(before.free_symbols & {*self.argument.language.following}, key=str):
            whole, kept = spread_out(over.at["keeps"] * before.coeff(symbol)), value.coeff(symbol)
            if spread_out(whole - kept) != 0 and symbol != over.at.get("progress"):
                parts.append(Summand(whole - kept, symbol, at_least(whole, kept)))
        return parts

    def _first(self, symbol: sympy.Symbol, value: sympy.Expr) -> str:
        name, text = self.names[symbol], self._text(value)
        first = self._in(name, "O")
        return self._supposed(
            "run", f"{name} in the first round", (f"{name} == {text}",), text=f"{first} = {self._coq_term(text)}"
        )

    def _in(self, name: str, at: str) -> str:
        """A quantity in a round."""
        return self.in_round[name].replace(_ROUND, at)

    def _coq_term(self, text: str) -> str:
        return coq.term(text, self.named)

    def _over_rounds(self, fact: Fact, over: OverRounds) -> str:
        """A fact by a lemma of sequences.v."""
        if isinstance(fact.how, Said):
            self.proved_here.add(fact.how.source)
        elif isinstance(fact.how, Inferred):
            self.proved_here.add(fact.how.reason)
        write = getattr(self, f"_by_{over.lemma}")
        return str(write(fact, over))

    def _by_sum(self, fact: Fact, over: OverRounds) -> str:
        (of,) = _premises_of(fact)
        return self._sum(fact, list(map(self._part, self._kept(of, over))))

    def _by_telescope(self, fact: Fact, over: OverRounds) -> str:
        at = over.at
        recursion = self._recursion(fact, over)
        number, positive, is_number = self._count(at["count"])
        mean = self._mean(over, at["progress"])
        self.in_run[self.names[at["progress"]]] = mean
        state, progress = self._function(at["before"]), self._function(at["progress"])
        begins = self._begins_at(at)
        term = {k: self._term(at[k]) for k in ("gained", "noise", "start", "total", "keeps")}
        end = at.get("end", sympy.S.Zero)
        last, rewrite = [*self._signs(number), self._sum_not_negative(at["before"], number)], ""
        if at["keeps"] == 1:
            kept = f" {self._term(end)}" if end != 0 else ""
            lemma = f"averaged{'_kept' if kept else ''} {state} {progress} {term['gained']} {term['noise']} {number} "
            lemma += f"{term['total']} {term['start']}{kept}"
            sides = [positive, is_number, self._as(self._shown(sympy.Gt(at["gained"], 0, evaluate=False)))]
            if kept:
                last = [f"exact {self._last(at['before'], end, number)}."]
        else:
            rewrite = f"rewrite {self._total(at)}. "
            lemma = f"telescoped {state} {progress} {term['keeps']} {term['gained']} {term['noise']} {number} "
            lemma += term["start"]
            signs = [self._shown(sympy.Gt(at[k], 0, evaluate=False)) for k in ("keeps", "gained")]
            sides = [positive, *map(self._as, signs)]
        sides += [begins, " ".join(last), f"exact {recursion}."]
        less = f" - {self._term(end)}" if end != 0 else ""
        value = f"(({term['start']}{less}) / {term['total']} + {term['noise']}) / {term['gained']}"
        proof = [f"{rewrite}apply (sequences.{lemma}).", *(f"{{ {one} }}" for one in sides)]
        quantity = mean
        if over.lemma == "average":
            quantity = self._term(fact.quantity)
            whole = self._supposed(
                "run",
                f"the mean over the rounds of {at['progress']}",
                (f"{self._text(fact.quantity)} == {self._text(at['progress'])}",),
                text=f"{quantity} = {mean}",
            )
            proof = [f"rewrite {whole}.", *proof]
        said = self._shown_by(f"{quantity} <= {value}", proof)
        return self._same(fact, (quantity, value), said)

    _by_average = _by_telescope

    def _sum_not_negative(self, state: sympy.Expr, number: str) -> str:
        """The proof that a state is >= 0 after so many rounds: if its signs are not visible, because its weights are."""
        before = spread_out(self.sum_of.get(state, state))
        parts = sorted(before.free_symbols & {*self.argument.language.following}, key=str)
        if self.sum_of.get(state) is None:
            return "pos."

        def at(e: sympy.Expr) -> str:
            return self._at_level(True, partial(self._term, e)).replace(_ROUND, number)

        weights = [before.coeff(symbol) for symbol in parts]
        whole = " + ".join(f"{at(weight)} * {at(symbol)}" for weight, symbol in zip(weights, parts, strict=True))
        signs = " | ".join(["pos", *(self._not_negative(weight) for weight in weights)])
        split = "repeat apply Rplus_le_le_0_compat; apply Rmult_le_pos"
        same = f"cbv beta; replace {at(state)} with ({whole}) by ({self._plain_identity()})"
        return f"first [pos | {same}; {split}; first [{signs}]]."

    def _by_last(self, fact: Fact, over: OverRounds) -> str:
        at, parts = over.at, dict(self.argument.language.last)
        recursion = self._recursion(fact, over)
        number, _, _ = self._count(at["count"])
        term = {k: self._term(at[k]) for k in ("keeps", "noise", "loses", "start")}
        begins = self._begins_at(at)
        lasts = [self._last(part, end, number) for part, end in parts.items() if end in fact.quantity.free_symbols]
        state = self._at_level(True, lambda: self._term(at["before"])).replace(_ROUND, number)
        power = self._term(at["keeps"] ** at["count"])
        value = f"{power} * {term['start']} + {term['noise']} / {term['loses']}"
        quantity = self._term(fact.quantity)
        sides = [
            f"apply Rge_le; {self._as(self._shown(at_least(at['keeps'], 0)))}",
            self._as(self._shown(sympy.Gt(at["loses"], 0, evaluate=False))),
            f"{self._plain_identity()}.",
            f"first [pos | {self._not_negative(at['noise'])}].",
            begins,
            f"exact {recursion}.",
        ]
        lemma = (
            f"sequences.lasted {self._function(at['before'])} {term['keeps']} {term['noise']} {term['loses']} {number}"
        )
        proof = [f"assert (whole : {state} <= {value}).", f"{{ apply ({lemma} {term['start']})."]
        proof += [*(f"{{ {one} }}" for one in sides), "}"]
        ends = {part for part, end in parts.items() if end in fact.quantity.free_symbols}
        rest = spread_out(at["before"] - sympy.Add(*ends))  # what has no name after the last round is dropped
        others = self._at_level(True, lambda: self._term(rest)).replace(_ROUND, number)
        proof += [f"rewrite <- {', <- '.join(lasts)}.", *self._signs(number)]
        proof.append("exact whole." if rest == 0 else f"assert (others : 0 <= {others}) by pos. lra.")
        return self._same(fact, (quantity, value), self._shown_by(f"{quantity} <= {value}", proof))

    def _begins_at(self, at: Mapping[str, sympy.Expr]) -> str:
        """The proof that a state begins with its start."""
        before = at["before"]
        before = self.sum_of.get(before, before)
        language = self.argument.language
        if isinstance(before, sympy.Symbol):
            return f"exact {self._first(before, at['start'])}."
        found = [self._first(s, language.start[s]) for s in sorted(before.free_symbols, key=str) if s in language.start]
        return f"cbv beta; rewrite {', '.join(f'?{one}' for one in found)}; {self._plain_identity()}."

    def _as(self, shown: str) -> str:
        """The proof of a lower bound from a step that says it in another form."""
        return f"first [{shown} | eapply sequences.as_ge; [{shown} | {self._plain_identity()}]" + (
            f" | eapply sequences.as_gt; [{shown} | {self._plain_identity()}]]."
        )

    def _plain_identity(self) -> str:
        known = [one.name for one in self.hypotheses.values() if one.kind == "condition" and " == " in one.says[0]]
        rewrite = f"rewrite {', '.join(f'?{one}' for one in known)}; " if known else ""
        return f"{rewrite}first [ring | field; nonzero]"

    def _last(self, state: sympy.Expr, end: sympy.Expr, number: str) -> str:
        name, text = self.names[state], self._text(end)
        return self._supposed(
            "run",
            f"{name} after the last round",
            (f"{name} == {text}",),
            text=f"{self._in(name, number)} = {self._coq_term(text)}",
        )

    def _total(self, at: Mapping[str, sympy.Expr]) -> str:
        """What the sum of the weights is, as a hypothesis."""
        total, keeps, count = (self._text(e) for e in (at["total"], at["keeps"], at["count"]))
        number, _, _ = self._count(at["count"])
        closed = f"{total} == (1 / pow({keeps}, {count}) - 1) / (1 - ({keeps}))"
        text = f"{self._coq_term(total)} = sequences.weights {self._keeps(at)} {number}"
        return self._supposed("run", "the sum of the weights", (closed,), text=text)

    def _same(self, fact: Fact, said: tuple[str, str], name: str) -> str:
        """The fact, from a lemma that says the same in another form."""
        quantity, value = said
        part = _Part(f"1 * (({value}) - {quantity})", f"apply part_le; [lra | exact {name}]", False)
        return self._sum(fact, [part])

    def _by_contracted(self, fact: Fact, over: OverRounds) -> str:
        at, (mean, *_) = over.at, _premises_of(fact)
        known = self._prove(mean)
        number, _, is_number = self._count(at["count"])
        (decay,) = fact.value.atoms(sympy.exp)
        term = {k: self._term(sympy.sympify(e)) for k, e in at.items()}
        quantity, e = self._term(fact.quantity), self._term(decay)
        (weights,) = [one for one in self.hypotheses.values() if one.stands_for == "the sum of the weights"]
        keeps = coq.term(weights.says[0].partition("1 - (")[2][:-2], self.named)
        first = self._shown_by(
            f"{quantity} <= {term['start']} / {term['total']} + {term['rest']}",
            [f"eapply Rle_trans; [exact {known} | apply Req_le; {self._plain_identity()}]."],
        )
        value = f"{term['times']} * {term['u']} * {term['start']} * {e} + {term['rest']}"
        signs = [self._shown(sympy.Gt(one, 0, evaluate=False)) for one in (at["u"], 1 - at["u"])]
        proof = [
            f"replace {e} with (exp (- {term['u']} * {term['count']})) by (f_equal; {self._plain_identity()}).",
            f"apply (sequences.contracted {keeps} {term['u']} {number} {term['count']} {term['times']} {term['least']}).",
            f"{{ {self._plain_identity()}. }}",
            f"{{ {is_number} }}",
            *(f"{{ {self._as(one)} }}" for one in signs),
            "{ lra. }",
            "{ sequences.decays. }",
            f"{{ {self._as(self._shown(at_least(at['u'] * at['count'], at['least'])))} }}",
            "{ pos. }",
            f"{{ rewrite <- {weights.name}; exact {first}. }}",
        ]
        return self._same(fact, (quantity, value), self._shown_by(f"{quantity} <= {value}", proof))

    def _by_multiple(self, fact: Fact, over: OverRounds) -> str:
        (of,) = _premises_of(fact)
        known, at = self._prove(of), over.at
        name = self._multiple(at["total"], at["factor"], at["of"])
        factor = self._term(at["factor"])
        from_mean = fact.quantity == at["total"]
        bound = coq.term(self._sides(of)[1], self.named)
        value = f"{factor} * {bound}" if from_mean else f"{bound} / {factor}"
        lemma = f"sequences.{'of_multiple' if from_mean else 'of_part'}"
        quantity = self._term(fact.quantity)
        applied = f"{lemma} {factor} {self._term(at['of'])} _ {self._term(at['total'])}"
        proof = [f"apply ({applied}); [pos | exact {name} | exact {known}]."]
        return self._same(fact, (quantity, value), self._shown_by(f"{quantity} <= {value}", proof))

    def _multiple(self, total: sympy.Expr, factor: sympy.Expr, of: sympy.Expr) -> str:
        text = f"{self._text(total)} == ({self._text(factor)}) * {self._text(of)}"
        return self._supposed("run", f"the definition of {total}", (text,), text=self._coq(text))

    def _by_mean(self, fact: Fact, over: OverRounds) -> str:
        """From the mean of a quantity over the rounds to what the statement is about."""
        (of,), kind = _premises_of(fact), over.lemma
        known = self._prove(of)
        quantity, mean = self._term(fact.quantity), self._term(over.at["of"])
        sign = "==" if kind == "mean" else "<="
        says = f"{self._text(fact.quantity)} {sign} {self._text(over.at['of'])}"
        assert isinstance(fact.how, Inferred)
        if kind == "jensen":
            name = self._supposed("rule", fact.how.reason, (says,), text=f"{quantity} <= {mean}")
            return f"(Rle_trans _ _ _ {name} {known})"
        if kind == "mean":
            name = self._supposed(
                "run", f"{fact.quantity} is the mean over the rounds", (says,), text=f"{quantity} = {mean}"
            )
            return self._lemma(fact, [f"rewrite {name}; exact {known}."])
        text = f"{_EACH}{quantity} <= {self._in(self.names[over.at['of']], _ROUND)}"
        name = self._supposed("run", f"{fact.quantity} is at most the value in each round", (says,), text=text)
        by = f"apply sequences.least_of_mean; [exact (Nat.lt_0_succ _) | exact {name}]."
        return self._lemma(fact, [f"refine (Rle_trans _ _ _ _ {known}); {by}"])

    _by_least = _by_jensen = _by_mean

    # Lemmas 7 and 8 of `sfl`

    def _by_lemma(self, fact: Fact, over: OverRounds) -> str:
        at = over.at
        recursion = self._recursion(fact, over)
        number, positive, is_number = self._count(at["count"])
        state, progress = self._function(at["before"]), self._function(at["progress"])
        self.in_run[self.names[at["progress"]]] = self._mean(over, at["progress"])
        begins = self._begins_at(at)
        multiple = self._multiple(fact.quantity, at["b"], at["progress"])
        term = {k: self._term(e) for k, e in at.items()}
        quantity = self._term(fact.quantity)
        common = f"{state} {progress} {term['b']} {term['gamma']} {term['start']} {number}"
        sides = [
            positive,
            "pos.",
            "pos.",
            begins,
            f"intro {_ROUND}; {' '.join(s[:-1] + ';' for s in self._signs(_ROUND))} pos.",
        ]
        start, gamma, noise = term["start"], term["gamma"], term["c"]
        proof: list[str] = []
        if at["keeps"] == 1:
            lemma = f"lemma8 {common}"
            value = f"{start} / ({gamma} * {term['count']}) + {noise} * {gamma}"
            rest = f"{noise} {term['count']} {quantity}"
            after = [is_number, f"exact {multiple}.", f"exact {recursion}."]
        elif "times" not in at:
            proof = [f"rewrite {self._total(at)}."]
            lemma, rest = f"lemma7 {common}", f"{term['a']} {noise} {quantity}"
            value = f"{noise} * {gamma} + {start} / ({gamma} * {term['total']})"
            after = [
                self._as(self._shown(sympy.Gt(at["keeps"], 0, evaluate=False))),
                f"exact {multiple}.",
                f"exact {recursion}.",
            ]
        else:
            (decay,) = fact.value.atoms(sympy.exp)
            e, u = self._term(decay), at["a"] * at["gamma"]
            same = f"(exp (- ({term['a']} * {gamma}) * {term['count']}))"
            proof = [f"replace {e} with {same} by (f_equal; {self._plain_identity()})."]
            lemma = f"lemma7_decayed {common}"
            rest = f"{term['a']} {noise} {term['count']} {term['times']} {term['least']} {quantity}"
            value = f"{term['times']} * {term['a']} * {start} * {e} + {noise} * {gamma}"
            shown = [self._shown(sympy.Gt(one, 0, evaluate=False)) for one in (u, 1 - u)]
            long = self._shown(at_least(u * at["count"], at["least"]))
            after = [*map(self._as, shown), "lra.", "sequences.decays.", self._as(long), is_number, "pos."]
            after += [f"exact {multiple}.", f"exact {recursion}."]
        proof.append(f"refine (sequences.{lemma} _ _ _ _ _ {rest} {' '.join('_' for _ in after)}).")
        proof += [f"{{ {one} }}" for one in (*sides, *after)]
        return self._same(fact, (quantity, value), self._shown_by(f"{quantity} <= {value}", proof))


_OF_RUNS = "no lemma in Coq says of all rounds what its proof infers from one"
_ROUND = "r'"
_EACH = f"forall {_ROUND} : nat, "
_RECURSIONS = ("telescope", "average", "last", "lemma")
# Claims about sequences that sequences.v proves: the factor 1 / (1 - exp (- least)) of the start, at most, and `least`
_LEMMAS: Mapping[str, tuple[sympy.Rational, sympy.Rational] | None] = {
    "sfl.lemma8.eq44": None,
    "sfl.lemma7.eq40": None,
    "sfl.lemma7.eq38.cubic": (sympy.Integer(3), sympy.Rational(1, 2)),
    "sfl.lemma7.eq38.sharp": (sympy.Rational(318, 125), sympy.Rational(1, 2)),
    "sfl.lemma7.eq38.faster": (sympy.Rational(1306, 825), sympy.Integer(1)),
}


def _over(fact: Fact) -> OverRounds | None:
    """The lemma of sequences.v that a fact follows by, if it has one."""
    match fact.how:
        case Inferred(by=OverRounds(lemma, at)) if lemma:
            products = {k: _over_products(at[k]) for k in ("noise", "rest") if k in at}
            return OverRounds(lemma, {**at, **products})
        case Said(source=source, of=(_, *_), at=at) if source in _LEMMAS:
            return _of_claim(source, at)
    return None


def _of_claim(source: str, at: Symbols) -> OverRounds:
    """A claim of `sfl` about sequences as a lemma of sequences.v, with the symbols as it is applied."""
    symbols = {name: one.sympy for name, one in catalogue.paper("sfl").symbols.items()}

    def of(name: str) -> sympy.Expr:
        return sympy.sympify(at.get(symbols[name], symbols[name]))

    a, b, gamma, count = of("a"), of("b"), of("gamma"), of("T") + 1
    noise = of("c") if source == "sfl.lemma7.eq40" else of("c1") + of("c2") * gamma
    keeps = sympy.Integer(1) if source.startswith("sfl.lemma8") else 1 - a * gamma
    found = {"after": of("r_next"), "before": of("r_t"), "progress": of("s_t"), "start": of("r0"), "count": count}
    found |= {"keeps": keeps, "gained": b * gamma, "noise": noise * gamma**2, "b": b, "gamma": gamma, "c": noise}
    if keeps != 1:
        found |= {"a": a, "total": of("W_T")}
    if (decay := _LEMMAS[source]) is not None:
        found |= dict(zip(("times", "least"), decay, strict=True))
    return OverRounds("lemma", found)


def _premises_of(fact: Fact) -> tuple[Fact, ...]:
    return fact.how.of if isinstance(fact.how, Inferred | Said) else ()


def _after(at: str, later: int) -> str:
    """A round, so many rounds later."""
    for _ in range(later):
        at = f"(S {at})"
    return at


@dataclass(frozen=True)
class _Part:
    """A part of a slack in Coq, and the proof that it is >= 0, or that it is 0."""

    term: str
    proof: str
    zero: bool


@lru_cache(maxsize=16_384)
def _over_products(e: sympy.Expr) -> sympy.Expr:
    """The same, with divisors that are products of simple factors: Coq's `field` would multiply other divisors out."""
    if isinstance(e, sympy.Pow) and isinstance(e.base, sympy.Add) and e.exp.is_Integer and e.exp < 0:
        # the number apart: sympy would multiply it into a sum
        number, product = sympy.factor(sympy.together(e.base)).as_coeff_Mul()
        return number**e.exp * product**e.exp
    if isinstance(e, sympy.Add | sympy.Mul):
        return e.func(*map(_over_products, e.args))
    return e


def _divisors(text: str) -> set[str]:
    """The factors of what a text in Coq divides by: variables, and sums without their parentheses."""
    found: set[str] = set()
    for match in re.finditer(r"/ ", text):
        group = _group(text[match.end() :])
        inside = group[1:-1] if group.startswith("(") and group.endswith(")") else group
        for factor in _apart(inside, "*") if len(_summands(inside)) == 1 else [f"({inside})"]:
            base = factor.split(" ^ ")[0] if not factor.startswith("(") else _group(factor)
            found |= {base.removeprefix("(").removesuffix(")")}
    return {each for each in found if not each.isdigit()}


def _group(text: str) -> str:
    """The variable, the number or the parentheses that a text begins with."""
    depth = 0
    for end, c in enumerate(text):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth < 0 or (depth == 0 and c == " "):
            return text[:end]
        if depth == 0 and c == ")":
            return text[: end + 1]
    return text


def _apart(text: str, operator: str) -> list[str]:
    """The operands of an operator, outside of parentheses."""
    depth, parts = 0, [""]
    for word in text.split(" "):
        if depth == 0 and word == operator:
            parts.append("")
        else:
            parts[-1] += f" {word}"
        depth += word.count("(") - word.count(")")
    return [part.strip() for part in parts]


def _equations(divisors: Collection[str]) -> dict[str, str]:
    """For each divisor d an equation x / d = 1 - (d - x) / d, for a product x in d that is in no other; or nothing.

    `field` uses it from left to right, so two divisors must not have the same x.
    """
    found: dict[str, str] = {}
    for divisor in sorted(divisors, key=lambda d: (" " not in d, d)):  # sums first: they may contain the others
        summands = _summands(divisor)
        others = {s for d in divisors if d != divisor for s in _summands(d)} if len(summands) > 1 else set()
        first = next((s for s in summands if not re.search(r"[-/(]", s) and not s.isdigit() and s not in others), None)
        rest = " + ".join(s for s in summands if s != first)
        less = f" - ({rest}) * / ({divisor})" if rest else ""
        found[divisor] = f"{first} * / ({divisor}) = 1{less}" if first else ""
    return found


def _summands(text: str) -> list[str]:
    return _apart(text.replace(" - ", " + - "), "+")


def _is_norm(quantity: sympy.Symbol, fact: Fact) -> bool:
    """Whether only the square of a quantity occurs in a fact."""
    e = fact.quantity + fact.value
    return quantity not in e.xreplace({quantity**2: sympy.Integer(1)}).free_symbols


def _is_id(source: str) -> bool:
    return re.fullmatch(r"\w+\.[\w.]+", source) is not None


def _facts(fact: Fact) -> Iterator[Fact]:
    """A fact and all facts that it was derived from."""
    seen: set[int] = set()
    waiting = [fact]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        match one.how:
            case Combined(parts) | OfForms(parts):
                for part in parts:
                    of: Any = part.of.of if isinstance(part.of, RuleInstance) else part.of
                    if isinstance(of, Fact):
                        waiting.append(of)
            case Said(_, of) | Inferred(_, of):
                waiting += of


def _comment(text: str) -> str:
    return text.replace("(*", "( *").replace("*)", "* )").replace('"', "'")
