"""A proof in words and formulas, as a mathematician writes it: each fact that an argument derives, with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import sympy
from sympy.logic.boolalg import Boolean

from fedtheory.theory import catalogue
from fedtheory.theory.printing import SIGNS, UNICODE_SIGNS, in_line, latex
from fedtheory.theory.proof_text import Cited, Earlier, Formula, Piece, ProofLine, ProofText
from fedtheory.theory.proofs.argument import Argument, Combined, Decided, Fact, Inferred, OfForms, Said, Summand
from fedtheory.theory.proofs.arithmetic import Recording
from fedtheory.theory.proofs.ledger import Step, coefficients
from fedtheory.theory.proofs.rules import RULES, RuleInstance
from fedtheory.theory.statement import Status


def written_of(recording: Recording) -> ProofText | None:
    """The last proof that was made while something was checked; None if there is none."""
    arguments = [one for one in recording.ledgers if isinstance(one, Argument)]
    return written(arguments[-1]) if arguments else None


def written(argument: Argument) -> ProofText:
    """The proof that an argument has recorded; of one that breaks, what holds before, and the step that fails."""
    writer = _Writer(argument)
    broken = next((step for step in argument.steps if step.decision.status is not Status.PROVED), None)
    if broken is None:
        for conclusion in argument.conclusions:
            writer.suppose(conclusion.conditions)
            writer.claims.add(conclusion.claim)
            writer.tell(conclusion.claim)
            which = f"part {conclusion.part + 1} of the claim" if len(argument.goals) > 1 else "the claim"
            writer.lines.append(ProofLine((f"This is {which}.",)))
        writer.lines += writer.rest()
    else:
        for fact in argument.so_far:
            writer.tell(fact)
        writer.lines.append(ProofLine(tuple(writer.breaks(broken)), breaks=True))
    names = (step.name for step in argument.steps if step is not broken)
    return ProofText(
        tuple(writer.lines), tuple(name if len(name) <= _LONG else f"{name[:_LONG]} ..." for name in names)
    )


@dataclass
class _Writer:
    """The lines so far, and the numbers of the facts that they tell."""

    argument: Argument
    lines: list[ProofLine] = field(default_factory=list)
    numbers: dict[Fact, int] = field(default_factory=dict)
    claims: set[Fact] = field(default_factory=set)  # told as the statement has them, even if only the form is new

    # Lines

    def suppose(self, conditions: Sequence[Boolean]) -> None:
        """What holds in this case beyond the conditions of the statement."""
        case = [one for one in conditions if one not in self.argument.conditions]
        if case and len(self.argument.conclusions) > 1:
            self.lines.append(ProofLine(("Suppose ", *_joined([(self.formula(one),) for one in case]), ".")))

    def tell(self, fact: Fact) -> int:
        """The number of the line that tells a fact; written now if it is not there yet."""
        if fact not in self.numbers:
            same = self._rearranged(fact)
            if same is None:
                because = (*self.because(fact), ".")
                number = max(self.numbers.values(), default=0) + 1
                self.lines.append(ProofLine(because, self.relation(fact), number))
            else:
                number = self.tell(same)
            self.numbers[fact] = number
        return self.numbers[fact]

    def _rearranged(self, fact: Fact) -> Fact | None:
        """The fact of which this one is only another way to write it; of a claim, the same in the statement's words."""
        match fact.how:
            case Combined(parts):
                counted = [one for one in parts if one.of != 0]
            case _:
                return None
        if len(counted) != 1 or counted[0].times != 1 or not isinstance(counted[0].of, Fact):
            return None
        of = counted[0].of
        if of.quantity == fact.quantity and fact not in self.claims:
            return of
        if (of.quantity, of.sign, str(of.value)) == (fact.quantity, fact.sign, str(fact.value)):
            self.claims.add(of)
            return of
        return None

    def breaks(self, step: Step) -> Iterator[Piece]:
        """What was claimed in the step that fails, and what follows."""
        yield f"Here the proof breaks, at the step '{step.name}'"
        if step.decision.sides is None:
            yield f": {step.decision.says}"
        else:
            follows, claimed = map(self.formula, step.decision.sides)
            yield from (". Claimed is ", claimed, ", and what follows is ", follows)
        if step.decision.model:
            values = [(self.formula(sympy.Eq(s, v, evaluate=False)),) for s, v in step.decision.model.items()]
            yield from (". It fails at ", *_joined(values))
        yield "."

    def rest(self) -> Iterator[ProofLine]:
        """What the lines do not tell: parts of the claim that steps decide, and premises of inferences in words."""
        argument = self.argument
        left = set(range(len(argument.goals))) - {one.part for one in argument.conclusions}
        if left:
            which = (
                "The claim"
                if len(argument.goals) == 1
                else f"Part {', '.join(str(part + 1) for part in sorted(left))} of the claim"
            )
            yield ProofLine((f"{which} is decided by the steps below.",))
        told = {piece for line in self.lines for piece in line.because}
        more = [(self._named(p.name),) for p in sorted(argument.premises) if p.kind in _USED]
        if more := [one for one in more if one[0] not in told]:
            yield ProofLine(("The proof also uses: ", *_joined(more), "."))

    # Reasons

    def because(self, fact: Fact) -> tuple[Piece, ...]:
        """Why a fact holds."""
        match fact.how:
            case Said(source, of):
                given = (", with ", *self._facts(of)) if of else ()
                return ("By ", self._named(source), *given)
            case Inferred(reason, of):
                says = self._named(reason)
                return (
                    ("From ", *self._facts(of), ": ", says)
                    if of
                    else ("As concluded above", *([says] if reason else []))
                )
            case Decided(given):
                more = (" and ", *_joined([(self.formula(one),) for one in given])) if given else ()
                return ("By arithmetic, from the conditions", *more)
            case Combined(parts):
                return self._combined(fact, parts)
            case OfForms(parts, after, under):
                algorithms = [id_ for id_, values in self.argument.followed.items() if values.keys() & after.keys()]
                by = [("the lines of ", Cited(id_)) for id_ in algorithms]
                reasons = [*by, *map(self._instance, parts), *((self.formula(one),) for one in under)]
                return ("By ", *_joined(reasons)) if reasons else ("Both sides mean the same",)
        raise ValueError(f"{fact.quantity} {fact.sign} ...: derived in no recorded way")

    def _facts(self, of: Sequence[Fact]) -> tuple[Piece, ...]:
        return _joined([(Earlier(self.tell(one)),) for one in of])

    def _combined(self, fact: Fact, parts: Sequence[Summand]) -> tuple[Piece, ...]:
        """Facts inserted into the first one, or added to it; then the coefficients that only grow."""
        own = [(one.times, one.of) for one in parts if isinstance(one.of, Fact)]
        numbers = [Earlier(self.tell(of)) for _, of in own]
        told = [(*self._times(times), number) for (times, _), number in zip(own, numbers, strict=True)]
        first, *others = told
        inserted = own[0][0] == 1 and all(of.quantity.free_symbols & own[0][1].value.free_symbols for _, of in own[1:])
        found: tuple[Piece, ...] = ("By ", *first)
        if others:
            found = ("Insert ", *_joined(others), " into ", *first) if inserted else ("Add ", *_joined(told))
        grown = [piece for one in parts for piece in self._grown(one)]
        return (*found, ", because under the conditions ", *_joined(grown)) if grown else found

    def _grown(self, part: Summand) -> Iterator[tuple[Piece, ...]]:
        """The coefficient that a claim has instead of the derived one."""
        if isinstance(part.of, sympy.Expr) and part.because is not None:
            larger, smaller = part.because.args
            yield self.formula(sympy.Le(smaller, larger, evaluate=False)), " (before ", self.formula(part.of), ")"

    def _instance(self, part: Summand) -> tuple[Piece, ...]:
        """A rule, or a fact about each member of a family, with its factor."""
        one = part.of
        assert isinstance(one, RuleInstance)
        if one.of is not None:
            return (*self._times(one.times), Earlier(self.tell(one.of)), " for each member")
        return (*self._times(one.times), self._named(one.rule), *self._under(one.rule))

    def _under(self, name: str) -> tuple[Piece, ...]:
        """The assumptions by which a rule may be used."""
        needs = set(RULES[name].needs) if name in RULES else set()
        ids = [id_ for id_ in self.argument.statement.assumes if needs & catalogue.find(id_).gives.keys()]
        return (" under ", *_joined([(Cited(id_),) for id_ in ids])) if ids else ()

    def _named(self, name: str) -> Piece:
        """A statement, or a rule with what it says, or words."""
        if name in catalogue.paper(self.argument.statement.paper).statements:
            return Cited(name)
        return f"\u201c{name}\u201d ({RULES[name].says})" if name in RULES else name

    def _times(self, times: sympy.Expr) -> tuple[Piece, ...]:
        return () if times == 1 else (self.formula(times), " times ")

    # Formulas

    def formula(self, e: sympy.Basic) -> Formula:
        """An expression or a relation, in the paper's symbols."""
        return Formula((self._latex(e),), self._in_line(e))

    def relation(self, fact: Fact) -> Formula:
        """A fact, term by term; a long value that is no claim in the shorter form: as derived, or collected."""
        value = fact.value
        if fact not in self.claims and len(str(value)) > _SHORT:
            value = min(value, self._collected(value), key=lambda form: len(str(form)))
        terms = sorted(map(self._latex, sympy.Add.make_args(value)), key=lambda text: text.startswith("-"))
        first, *others = terms
        pieces = [f"{SIGNS[fact.sign]} {first}", *(text if text.startswith("-") else f"+ {text}" for text in others)]
        text = f"{self._in_line(fact.quantity)} {UNICODE_SIGNS[fact.sign]} {self._in_line(value)}"
        return Formula((self._latex(fact.quantity), *pieces), text)

    def _latex(self, e: sympy.Basic) -> str:
        e = e.xreplace(self.meanings)
        known = catalogue.paper(self.argument.statement.paper).symbols
        odd = [s for s in e.free_symbols if s.name not in known and not s.name.isalnum()]
        return latex(self.argument.statement.paper, e.xreplace({s: sympy.Symbol(_of_form(s.name)) for s in odd}))

    def _in_line(self, e: sympy.Basic) -> str:
        return in_line(self.argument.statement.paper, e.xreplace(self.meanings))

    @cached_property
    def meanings(self) -> dict[sympy.Expr, sympy.Expr]:
        """A symbol that the proof has for an expression -> the expression."""
        return {symbol: e for e, symbol in self.argument.names.items() if isinstance(symbol, sympy.Symbol)}

    def _collected(self, value: sympy.Expr) -> sympy.Expr:
        """A value as a sum over the quantities, their coefficients factored."""
        try:
            found = coefficients(value, self.argument.amounts(value))
        except sympy.PolynomialError:
            return value
        return sympy.Add(*(coefficient * monomial for monomial, coefficient in found.items()), evaluate=False)


def _of_form(name: str) -> str:
    """The name of a form's symbol in LaTeX: grad f_j<C>[w] is the gradient of f_j at w, of each client."""
    name = re.sub(r"<[^<>]*>", "", name).replace("grad ", r"\nabla ").replace("[", "(").replace("]", ")")
    name = re.sub(r"\bsum_(\w+)", r"\\sum_{\1}", name)
    return f"{{{re.sub(_WORD, lambda m: _word(m[0]), name)}}}"


def _word(word: str) -> str:
    shown = str(sympy.latex(sympy.Symbol(word)))
    return rf"\mathrm{{{shown}}}" if len(shown) > 1 and shown.isalpha() else shown


_WORD = re.compile(r"(?<![\\{])\b[A-Za-z]\w*")
_USED = ("claim", "algorithm", "definition", "rule")  # kinds of premises
_LONG = 150  # characters of the name of a step
_SHORT = 100  # characters of a value that stays as it is


def _joined(several: Sequence[tuple[Piece, ...]]) -> tuple[Piece, ...]:
    """Several pieces with commas, and `and` before the last."""
    found: list[Piece] = []
    for i, pieces in enumerate(several):
        found += [] if i == 0 else [" and "] if i == len(several) - 1 else [", "]
        found += pieces
    return tuple(found)
