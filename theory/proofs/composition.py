"""A proof as one Coq theorem: from its recorded premises and conditions to the claim, step after step.

Each fact that an `Argument` derives becomes a lemma.  Its slack is a sum of factors >= 0 times what is >= 0; Coq checks
that sum as an identity, and each factor by a step (`fedtheory.theory.proofs.coq`).  Premises are hypotheses of a section,
named after what they stand for.  Coq prints which of them a theorem uses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal

import sympy
from sympy.logic.boolalg import Boolean

from fedtheory.theory.proofs import coq
from fedtheory.theory.proofs.argument import (
    Argument,
    Combined,
    Conclusion,
    Decided,
    Fact,
    Inferred,
    OfForms,
    Said,
    Summand,
    Symbols,
    spread_out,
)
from fedtheory.theory.proofs.arithmetic import at_least, at_most
from fedtheory.theory.proofs.forms import replaced, vectors_in
from fedtheory.theory.proofs.reduction import hidden, visible
from fedtheory.theory.proofs.rules import Instance
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

Kind = Literal["condition", "definition", "defined", "meaning", "claim", "rule", "algorithm", "member", "inference"]
_NAMED: tuple[Kind, ...] = ("claim", "rule", "algorithm")  # the name of such a hypothesis says what it stands for


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis of a theorem.

    name        in Coq
    kind        what kind of premise it is; `defined`: a divisor is not zero; `meaning`: a quantity as a mean of products;
                `member`: a fact that holds for each member of a family, summed over the family
    stands_for  the id of a statement, the name of a rule, or words
    says        relations; the last follows from those before it
    """

    name: str
    kind: Kind
    stands_for: str
    says: tuple[str, ...]


@dataclass(frozen=True)
class Theorem:
    """A conclusion of a proof as a Coq theorem.

    variables   (name, domain); each is a real number in Coq
    hypotheses  all that the theorem may use, besides the domains
    claim       the conclusion, as text
    steps       name of a lemma -> the step that the section takes from elsewhere
    guards      what must be shown so that an expression is defined, as steps; without a certificate it is a hypothesis
    text        the section in Coq, from its variables to the theorem
    declared    the names in Coq of its variables, and of what it says of their domains
    """

    name: str
    variables: tuple[tuple[str, Domain], ...]
    hypotheses: tuple[Hypothesis, ...]
    claim: str
    steps: dict[str, Sequent]
    guards: tuple[Sequent, ...]
    text: str
    declared: frozenset[str]

    @property
    def digest(self) -> str:
        """A short name for what the theorem says: its variables, its hypotheses but for divisors, and its claim."""
        said = sorted((one.kind, one.stands_for, one.says) for one in self.hypotheses if one.kind != "defined")
        return sha256(repr((self.variables, said, self.claim)).encode()).hexdigest()[:16]


def theorems(argument: Argument, name: str, known: Collection[str] = ()) -> list[Theorem]:
    """Every conclusion of a proof as a theorem, in order.

    known   digests of steps that have a certificate

    Raises ValueError for an expression that has no form in Coq.
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

    def theorem(self) -> Theorem:
        """The section's theorem."""
        self.names = names_of(self._symbols())
        self.named = coq.names(self.names.values())
        self.domains = {name: domain(symbol) for symbol, name in self.names.items()}
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
        used = {name for name, own in self.named.items() if {own, coq.whole(own)} & words}
        variables = tuple((name, where) for name, where in self.domains.items() if name in used)
        above = list(self._declared(variables, words))
        lines = [f"Section {self.name}.", "", *above, *body]
        lines += [f'Goal True. idtac "theorem {self.name}". exact I. Qed.', f"Print Assumptions {self.name}_claim."]
        lines += [f"End {self.name}.", ""]
        declared = frozenset(re.findall(r"(?:Variable|Hypothesis|Let) (\w+)", "\n".join(above)))
        hypotheses, guards_ = tuple(self.hypotheses.values()), tuple(self.guards.values())
        return Theorem(self.name, variables, hypotheses, claim, self.steps, guards_, "\n".join(lines), declared)

    def _declared(self, variables: tuple[tuple[str, Domain], ...], words: set[str]) -> Iterator[str]:
        meanings = {symbol: monomial for monomial, symbol in self.scalars.items()}
        symbols = {name: symbol for symbol, name in self.names.items()}
        for name, where in variables:
            own = self.named[name]
            meaning = meanings.get(symbols[name])
            yield f"Variable {own} : R.{'' if meaning is None else f' (* the mean of {_comment(str(meaning))} *)'}"
            if where != "real":
                yield f"Hypothesis domain_{own} : {coq.bound(own, where)}."
            if where == "count":
                yield f"Let positive_{own} := count_positive _ domain_{own}."
            if coq.whole(own) in words:
                yield f"Variable {coq.whole(own)} : nat.\nHypothesis whole_number_{own} : {own} = INR {coq.whole(own)}."

    def _hypothesis(self, one: Hypothesis) -> str:
        *given, said = map(self._coq, one.says)
        whole = " -> ".join([*(f"({each})" for each in given), said])
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
        yield from (one.of.slack for one in how.parts if isinstance(one.of, Instance))
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
        if says not in self.hypotheses:
            number = sum(one.kind == kind for one in self.hypotheses.values()) + 1
            label = re.sub(r"\W+", "_", stands_for).strip("_")[:40] if kind in _NAMED else ""
            self.hypotheses[says] = Hypothesis(f"{kind}_{number}_{label}".rstrip("_"), kind, stands_for, says)
        return self.hypotheses[says].name

    # Proving

    def _prove(self, fact: Fact) -> str:
        """The name of the hypothesis or the lemma that says this."""
        if fact not in self.proved:
            self.proved[fact] = self._derived(fact)
        return self.proved[fact]

    def _derived(self, fact: Fact) -> str:
        match fact.how:
            case Said(source, of):
                return self._from(of, self._kind_of(source) or "condition", source, fact)
            case Inferred(reason, of, kind):
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
        name = f"{self.name}_fact{len(self.lemmas) + 1}"
        self.lemmas.append("\n".join([f"Lemma {name} : {self._coq(self._fact(fact))}.", "Proof.", *proof, "Qed.", ""]))
        return name

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
        assert isinstance(one.of, Instance)
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

    def _sum(self, fact: Fact, parts: list[_Part], meanings: Sequence[str] = ()) -> str:
        """A lemma by an identity: the slack is the sum of its parts."""
        quantity, value = (coq.term(side, self.named) for side in self._sides(fact))
        left, right = (quantity, value) if fact.sign == ">=" else (value, quantity)
        total = " + ".join(part.term for part in parts) or "0"
        identity = f"assert (identity : {left} - {right} = {total})."
        rewriting = [*(f"?{name}" for name in meanings), *self._meanings()]
        rewrites = f"rewrite {', '.join(rewriting)}; " if rewriting else ""
        divides = "/" in identity or any(
            "/" in one.says[0] for one in self.hypotheses.values() if f"?{one.name}" in rewriting
        )
        for base in sorted(set(re.findall(r"sqrt (\w+)", identity))):
            rewrites += f"root_of {base}; "
        proof = [identity, f"{{ {rewrites}{self._by_inverses(identity) if divides else 'ring'}. }}"]
        zero = fact.sign == "="
        for number, part in enumerate(parts, 1):
            use = part.proof if zero or not part.zero else f"apply zero_least; {part.proof}"
            said = f"{part.term} = 0" if zero else f"0 <= {part.term}"
            proof.append(f"assert (part_{number} : {said}) by ({use}).")
        rule = {"<=": "by_slack_le", ">=": "by_slack_ge", "=": "by_slack_eq"}[fact.sign]
        proof.append(f"apply ({rule} _ _ _ identity); {'all_zero' if zero else 'all_least'}.")
        return self._lemma(fact, proof)

    def _by_inverses(self, identity: str) -> str:
        """A tactic that takes inverses of divisors as variables, and only if that is not enough multiplies all out."""
        signed = {own for name, own in self.named.items() if self.domains[name] in ("count", "positive")}
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
                    of: Any = part.of.of if isinstance(part.of, Instance) else part.of
                    if isinstance(of, Fact):
                        waiting.append(of)
            case Said(_, of) | Inferred(_, of):
                waiting += of


def _comment(text: str) -> str:
    return text.replace("(*", "( *").replace("*)", "* )").replace('"', "'")
