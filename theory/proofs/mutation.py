"""Mutations: statements with one part changed.  If a verdict depends on the whole statement, the evidence notices them.

`mutations` makes the errors that papers make, and that people make who encode them: a constant too small, a term dropped,
a sign flipped, another exponent, symbols exchanged; the left side scaled, the direction turned, = for <=, O for O~; a
definition scaled, a condition or an assumption left out; another number in a table, lines of a listing exchanged.
Inside a formula and a definition: twice what a norm, a mean, a sum or a function is of, other limits of a sum, a letter
for another of the same dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import sympy
from sympy import Rational, exp
from sympy.core.relational import Relational

from fedtheory.theory import catalogue
from fedtheory.theory.listing import Listing, turned
from fedtheory.theory.notation import NOTATION, Bregman, Expectation, Grad, Inner, Norm, Value
from fedtheory.theory.printing import plain
from fedtheory.theory.proofs.arithmetic import NotPolynomial, at_least, implied
from fedtheory.theory.proofs.orders import cover
from fedtheory.theory.properties import Properties, Property, closed
from fedtheory.theory.readings import additions
from fedtheory.theory.statement import (
    NUMBER,
    Bound,
    Claim,
    Condition,
    Evidence,
    Order,
    Rates,
    Record,
    Relations,
    Statement,
    Status,
    Term,
    Verdict,
    Words,
    defined,
    formulas,
)

Part = Literal[
    "left side",
    "direction",
    "relation",
    "order",
    "definition",
    "condition",
    "assumption",
    "constant",
    "term",
    "sign",
    "exponent",
    "symbols",
    "inside",
    "limits",
    "letter",
    "besides",
    "dimension",
    "words",
    "numbers",
]


@dataclass(frozen=True)
class Change:
    """A statement with one part changed, and the change in words.

    sharper  the factor by which the whole claim is sharper; None if it is another claim
    implied  whether the part left out follows from the rest, as mu <= L does for smooth and strongly convex functions
    """

    part: Part
    what: str
    statement: Statement
    sharper: sympy.Rational | None = None
    implied: bool = False


_FACTORS = (Rational(99, 100), Rational(1, 2), Rational(1, 50), Rational(1, 10**5), Rational(2))


def mutations(statement: Statement) -> Iterator[Change]:
    """All mutations of the statement; the smallest changes of the claim come first."""
    changes = (
        *_of_claim(statement),
        *_beside(statement),
        *_without_dimension(statement),
        *_of_conditions(statement),
        *_of_definitions(statement),
        *_inside(statement),
        *_of_assumptions(statement),
    )
    for change in changes:
        if change.statement != statement:
            yield change


def _beside(statement: Statement) -> Iterator[Change]:
    """One of the further claims changed."""
    for i, claim in enumerate(statement.also, 1):
        for change in _of_claim(replace(statement, claim=claim, when=())):
            yield Change("besides", f"besides: {change.what}", _with_claim(statement, i, change.statement.claim))


def _instead(several: Sequence[Any], i: int, *new: Any) -> tuple[Any, ...]:
    """A sequence with other elements, or none, in the place of one."""
    return (*several[:i], *new, *several[i + 1 :])


def _with_claim(statement: Statement, i: int, claim: Claim) -> Statement:
    """A statement with another claim: its own for 0, else one of the further claims."""
    own, *also = _instead((statement.claim, *statement.also), i, claim)
    return replace(statement, claim=own, also=tuple(also))


def _of_claim(statement: Statement) -> Iterator[Change]:
    claim = statement.claim
    if isinstance(claim, Bound):
        for factor in _FACTORS:
            changed = statement.with_claim(claim.scaled(factor))
            sharper = 1 / factor if claim.sign == "<=" and factor < 1 else None
            yield Change("constant", f"every term times {factor}", changed, sharper)
        yield from _of_terms(statement, claim)
        for factor in (Rational(101, 100), Rational(1000)):
            yield Change(
                "left side",
                f"{factor} times the left side",
                statement.with_claim(replace(claim, quantity=factor * claim.quantity)),
                factor if claim.sign == "<=" else None,
            )
        if claim.sign != "=":
            turned = replace(claim, sign=">=" if claim.sign == "<=" else "<=")
            yield Change("direction", f"{turned.sign} for {claim.sign}", statement.with_claim(turned))
            yield Change("relation", f"= for {claim.sign}", statement.with_claim(replace(claim, sign="=")))
    elif isinstance(claim, Order):
        yield from _of_terms(statement, claim)
        for i, term in enumerate(claim.terms):
            faster = term.value.replace(exp, lambda e: exp(20 * e))
            if faster != term.value:
                changed = statement.with_claim(_with_term(claim, i, faster))
                yield Change("constant", f"{term.name} with 20 times the exponent", changed)
        if claim.polylog:
            yield Change("order", "O for O~", statement.with_claim(replace(claim, polylog=False)))
        other = replace(claim, lower=not claim.lower)
        yield Change("direction", f"{other.letter} for {claim.letter}", statement.with_claim(other))
        counts = sorted((s for s in claim.value.free_symbols if s.is_integer), key=str)
        for count in counts[:1]:
            larger = replace(claim, quantity=count * claim.quantity)
            yield Change("left side", f"{count} times the left side", statement.with_claim(larger))
    elif isinstance(claim, Relations | Words):
        yield from _of_formulas(statement, claim)
    elif isinstance(claim, Rates):
        yield from _words("exponent", _fewer(statement, claim))
    elif isinstance(claim, Listing):
        yield from _words("words", _other_lines(statement, claim))
    elif isinstance(claim, Record):
        yield from _words("words", _other_sentences(statement, claim))
        yield from _words("numbers", _other_numbers(statement, claim))


def _words(part: Part, changes: Iterator[tuple[str, Statement]]) -> Iterator[Change]:
    for what, changed in changes:
        yield Change(part, what, changed)


def _of_formulas(statement: Statement, claim: Relations | Words) -> Iterator[Change]:
    """One of the formulas changed."""
    name = "relation" if isinstance(claim, Relations) else "formula"
    for i, formula in enumerate(_formulas(claim)):
        for part, what, changed in _changed(formula):
            own = _with_formula(claim, i, None, changed)
            yield Change(part, f"{name} {i + 1}: {what}", statement.with_claim(own))


def _formulas(claim: Relations | Words) -> tuple[Any, ...]:
    return claim.relations if isinstance(claim, Relations) else claim.formulas


_PAIRS = (
    ("M", "S"),
    ("K", "R"),
    ("M", "K"),
    ("m", "tau"),
    ("N", "K"),
    ("L", "mu"),
    ("sigma", "zeta_star"),
    ("sigma", "G"),
)


def _of_terms(statement: Statement, claim: Bound | Order) -> Iterator[Change]:
    """One term left out, scaled, with the other sign, with another exponent, or with two symbols exchanged."""
    several = len(claim.terms) > 1
    symbols = catalogue.symbols(statement)
    for i, term in enumerate(claim.terms):

        def with_term(value: sympy.Expr, i: int = i) -> Statement:
            return statement.with_claim(_with_term(claim, i, value))

        if several:
            without = replace(claim, terms=_instead(claim.terms, i))
            yield Change("term", f"without {term.name}", statement.with_claim(without))
        if isinstance(claim, Bound):
            yield Change("constant", f"{term.name} times 1/2", with_term(term.value / 2))
            yield Change("constant", f"{term.name} times 2", with_term(2 * term.value))
            yield Change("sign", f"{term.name} with the other sign", with_term(-term.value))
        for symbol in sorted((s for s in term.value.free_symbols if s.is_integer or s.name in ("L", "mu")), key=str):
            if sympy.diff(term.value, symbol) != 0:
                yield Change("exponent", f"{term.name} over {symbol}", with_term(term.value / symbol))
                yield Change("exponent", f"{term.name} times {symbol}", with_term(term.value * symbol))
        for one, two in _PAIRS:
            if one in symbols and two in symbols:
                a, b = symbols[one].sympy, symbols[two].sympy
                value = term.value.subs({a: b, b: a}, simultaneous=True)
                if value != term.value:
                    yield Change("symbols", f"{term.name}: {one} and {two} exchanged", with_term(value))


def _changed(e: sympy.Basic) -> Iterator[tuple[Part, str, sympy.Basic]]:
    """A relation or a formula, changed."""
    if isinstance(e, sympy.Ne):
        yield "relation", "equal for unequal", sympy.Eq(*e.args, evaluate=False)
    elif isinstance(e, Relational):
        left, right = e.args
        for factor in (Rational(99, 100), Rational(1, 2), Rational(2), Rational(1, 50), Rational(50)):
            yield "constant", f"right side times {factor}", e.func(left, factor * right, evaluate=False)
        if isinstance(e, sympy.Le | sympy.Ge):
            other = sympy.Ge if isinstance(e, sympy.Le) else sympy.Le
            yield "direction", "turned round", other(left, right, evaluate=False)
            yield "relation", "= for the inequality", sympy.Eq(left, right, evaluate=False)
        for factor in (Rational(1, 1000), Rational(1000)):
            yield "left side", f"left side times {factor}", e.func(factor * left, right, evaluate=False)
        yield "left side", "left side zero", e.func(sympy.Integer(0), right, evaluate=False)
    elif isinstance(e, sympy.Expr):
        yield "constant", "times 2", 2 * e
        yield "constant", "times 1/2", e / 2
        for part in sympy.Add.make_args(e):
            if part != e:
                yield "term", f"without {part}", e - part
        faster = e.replace(exp, lambda power: exp(20 * power))
        if faster != e:
            yield "constant", "with 20 times the exponent", faster
        yield "constant", "zero", sympy.Integer(0)


def _fewer(statement: Statement, claim: Rates) -> Iterator[tuple[str, Statement]]:
    """Fewer rounds, or fewer local steps, by the root of the accuracy or by a symbol."""
    for i, rate in enumerate(claim.rates):
        for part in ("rounds", "steps"):
            expression = getattr(rate, part)
            for symbol in sorted(expression.free_symbols, key=str):
                factor = sympy.sqrt(symbol) if symbol.name == "epsilon" else 1 / (1 + symbol)
                changed = replace(rate, **{part: factor * expression})
                rates = Rates(_instead(claim.rates, i, changed))
                yield f"{rate.case}: {part} times {factor}", statement.with_claim(rates)


def _without_dimension(statement: Statement) -> Iterator[Change]:
    """One term, or one side of a relation or a condition, times a symbol with a dimension."""
    symbol = next(s.sympy for s in catalogue.symbols(statement).values() if s.dimension != NUMBER)
    for i, claim in enumerate((statement.claim, *statement.also)):
        for what, changed in _times(claim, symbol):
            yield Change("dimension", f"besides: {what}" if i else what, _with_claim(statement, i, changed))
    for i, condition in enumerate(statement.when):
        relation = condition.relation
        other = relation.func(relation.lhs, relation.rhs * symbol, evaluate=False)
        when = _instead(statement.when, i, Condition(other))
        yield Change("dimension", f"condition {i + 1} times {symbol}", replace(statement, when=when))


def _times(claim: Claim, symbol: sympy.Symbol) -> Iterator[tuple[str, Claim]]:
    """The first term, or the right side of each relation, times a symbol."""
    if isinstance(claim, Bound | Order):
        yield f"first term times {symbol}", _with_term(claim, 0, symbol * claim.terms[0].value)
    elif isinstance(claim, Relations):
        for i, relation in enumerate(claim.relations):
            if isinstance(relation, Relational):
                left, right = relation.args
                other = relation.func(left, symbol * right, evaluate=False)
                yield f"relation {i + 1} times {symbol}", _with_formula(claim, i, None, other)


def _of_conditions(statement: Statement) -> Iterator[Change]:
    """A condition left out, or with twice the room."""
    for i, condition in enumerate(statement.when):
        implied = condition.source.startswith("implied")
        without = replace(statement, when=_instead(statement.when, i))
        yield Change("condition", f"without the condition {condition}", without, implied=implied)
        relation = condition.relation
        if isinstance(relation, sympy.Le | sympy.Ge):
            factor = Rational(2) if isinstance(relation, sympy.Le) else Rational(1, 2)
            wider = Condition(relation.func(relation.lhs, factor * relation.rhs, evaluate=False), condition.source)
            changed = replace(statement, when=_instead(statement.when, i, wider))
            yield Change("condition", f"the condition {condition} with twice the room", changed, implied=implied)


def _of_definitions(statement: Statement) -> Iterator[Change]:
    """A definition with another factor."""
    for symbol, meaning in statement.where.items():
        for factor in (Rational(1, 2), Rational(2), Rational(100)):
            where = {**statement.where, symbol: factor * meaning}
            yield Change("definition", f"{symbol} defined {factor} times as large", replace(statement, where=where))


def _inside(statement: Statement) -> Iterator[Change]:
    """Changes inside the claims' formulas and the definitions."""
    letters = _letters(statement)
    for i, claim in enumerate((statement.claim, *statement.also)):
        for place, e, put in _places(claim):
            for part, what, changed in _deeper(e, letters):
                name = f"besides: {place}" if i else place
                yield Change(part, f"{name}: {what}", _with_claim(statement, i, put(changed)))
    for symbol, meaning in statement.where.items():
        for part, what, changed in _deeper(meaning, letters):
            where = {**statement.where, symbol: changed}
            yield Change(part, f"definition of {symbol}: {what}", replace(statement, where=where))


def _letters(statement: Statement) -> dict[sympy.Symbol, sympy.Symbol]:
    """Symbol of the statement -> the next one of its kind: a number, a vector, a function or a sequence of a dimension."""
    symbols = catalogue.symbols(statement)
    parts = [e for claim in (statement.claim, *statement.also) for e in formulas(claim)]
    functions = {f.args[0] for e in parts for f in e.atoms(Value, Grad, Bregman)}
    sequences = {s.base.label for e in parts for s in e.atoms(sympy.Indexed)}
    alike: dict[Any, list[sympy.Symbol]] = {}
    for s in sorted((s for s in statement.symbols if s.name in symbols), key=str):
        kind = (symbols[s.name].dimension, s in functions, s in sequences, s.is_nonnegative)
        alike.setdefault(kind, []).append(s)
    return {s: other for some in alike.values() for s, other in zip(some, (*some[1:], some[0]), strict=True)}


def _places(claim: Claim) -> Iterator[tuple[str, sympy.Expr, Callable[[sympy.Expr], Claim]]]:
    """Name, expression, and the claim with another expression there: left side and terms, sides of relations, formulas."""
    if isinstance(claim, Bound | Order):
        yield "left side", claim.quantity, lambda e: replace(claim, quantity=e)
        for i, term in enumerate(claim.terms):
            yield term.name, term.value, partial(_with_term, claim, i)
    elif isinstance(claim, Relations | Words):
        for i, formula in enumerate(_formulas(claim)):
            if isinstance(formula, Relational):
                for side, name in enumerate(("left side", "right side")):
                    yield f"{name} of {i + 1}", formula.args[side], partial(_with_formula, claim, i, side)
            elif isinstance(formula, sympy.Expr):
                yield f"formula {i + 1}", formula, partial(_with_formula, claim, i, None)


def _with_term(claim: Bound | Order, i: int, value: sympy.Expr) -> Claim:
    return replace(claim, terms=_instead(claim.terms, i, Term(claim.terms[i].name, value)))


def _with_formula(claim: Relations | Words, i: int, side: int | None, e: sympy.Basic) -> Claim:
    """The claim with an expression for its formula number i, or for a side of it."""
    several = _formulas(claim)
    if side is not None:
        e = several[i].func(*_instead(several[i].args, side, e), evaluate=False)
    several = _instead(several, i, e)
    return replace(claim, relations=several) if isinstance(claim, Relations) else replace(claim, formulas=several)


def _deeper(e: sympy.Expr, letters: Mapping[sympy.Symbol, sympy.Symbol]) -> Iterator[tuple[Part, str, sympy.Expr]]:
    """An expression, changed inside.

    letters  symbol -> the next one of the same dimension
    """
    for node in sorted(e.atoms(*NOTATION, sympy.Sum), key=str):
        first = len(node.args) > 1 and not isinstance(node, Inner | sympy.Sum)  # the name of the function
        doubled = node.func(*_instead(node.args, first, 2 * node.args[first]))
        yield "inside", f"twice what is in {plain(node)}", e.xreplace({node: doubled})
        if isinstance(node, sympy.Sum):
            *inner, (index, low, high) = node.limits
            for limits in ((low + 1, high), (low, high - 1), (low, high + 1)):
                other = sympy.Sum(node.function, *inner, (index, *limits))
                yield "limits", f"{plain(node)} from {limits[0]} to {limits[1]}", e.xreplace({node: other})
    for symbol in sorted(e.free_symbols & letters.keys(), key=str):
        if letters[symbol] != symbol:
            yield "letter", f"{letters[symbol]} for {symbol}", e.xreplace({symbol: letters[symbol]})


def _of_assumptions(statement: Statement) -> Iterator[Change]:
    """One assumption left out, or replaced by a weaker one of the paper; then all of them left out."""
    for id_ in statement.assumes:
        rest = tuple(other for other in statement.assumes if other != id_)
        yield Change("assumption", f"without {id_}", replace(statement, assumes=rest))
        for weaker in _weaker(catalogue.find(id_)):
            yield Change("assumption", f"{weaker} for {id_}", replace(statement, assumes=(*rest, weaker)))
    if len(statement.assumes) > 1:
        yield Change("assumption", "without any assumption", replace(statement, assumes=()))


def _weaker(assumption: Statement) -> list[str]:
    """The paper's assumptions that give some of the properties of this assumption, and no others."""
    own = closed(assumption.gives)
    given = {s.id: closed(s.gives) for s in catalogue.statements(assumption.paper) if s.gives}
    return [id_ for id_, some in given.items() if some != own and all(_implied(p, c, own) for p, c in some.items())]


def _implied(name: StrEnum, constants: tuple[sympy.Expr, ...], own: Properties) -> bool:
    convex = (Property.STRONGLY_CONVEX, Property.STRONGLY_CONVEX_MEAN)
    return name in own and (own[name] == constants or (name in convex and constants == (0,)))


def _other_lines(statement: Statement, claim: Listing) -> Iterator[tuple[str, Statement]]:
    """A line with plus instead of minus, a line left out, two lines exchanged; no change that changes nothing."""
    lines = claim.lines
    for line in lines:
        if turned(line) != line:
            yield f"line {line.number}: plus for minus", statement.with_claim(claim.having(turned(line)))
    for i, line in enumerate(lines):
        if not line.idle:
            yield f"without line {line.number}", statement.with_claim(Listing(_instead(lines, i)))
    for i, (one, two) in enumerate(pairwise(lines)):
        if not one.commutes(two):
            exchanged = Listing((*lines[:i], two, one, *lines[i + 2 :]))
            yield f"lines {one.number} and {two.number} exchanged", statement.with_claim(exchanged)


# Words in a sentence about an experiment, and their contraries
_CONTRARY = {
    "degrades": "improves",
    "diminishes": "increases",
    "fastest": "slowest",
    "the same": "a different",
    "almost the same": "another",
    "residual error": "convergence",
}


def _other_sentences(statement: Statement, claim: Record) -> Iterator[tuple[str, Statement]]:
    """A sentence that says the contrary."""
    for i, sentence in enumerate(claim.claims):
        for word, contrary in _CONTRARY.items():
            if word in sentence:
                claims = _instead(claim.claims, i, sentence.replace(word, contrary))
                yield f"claim {i + 1}: {contrary}", statement.with_claim(replace(claim, claims=claims))


def _other_numbers(statement: Statement, claim: Record) -> Iterator[tuple[str, Statement]]:
    """One number of the table, or of the settings, changed; smaller and larger."""
    for i, row in enumerate(claim.table):
        if {"method", "is", "others"} <= row.keys():
            turned = {**row, "method": row["others"][0], "others": (row["method"],)}
            other = statement.with_claim(replace(claim, table=_instead(claim.table, i, turned)))
            yield f"row {i + 1}: {row['method']} and {row['others'][0]} exchanged", other
        for key, value in row.items():
            for changed in () if isinstance(value, int) else _other(value):  # integers are labels of the row
                if _of_fewer(row, key, changed):
                    continue
                table = _instead(claim.table, i, {**row, key: changed})
                yield f"row {i + 1}: {key} = {changed}", statement.with_claim(replace(claim, table=table))
    for key, value in claim.settings.items():
        for changed in _other(value):
            settings = {**claim.settings, key: changed}
            yield f"{key} = {changed}", statement.with_claim(replace(claim, settings=settings))


def _of_fewer(row: Mapping[str, Any], key: str, changed: Any) -> bool:
    """Whether the changed sentence says the same about fewer methods or columns, and so claims less."""
    of_each = key == "methods" or (key in ("others", "columns") and not {"how often", "up to"} & row.keys())
    return "is" in row and of_each and set(changed) < set(row[key])


def _other(value: Any) -> Iterator[Any]:
    if value is None or isinstance(value, str):
        return
    if isinstance(value, bool):
        yield not value
        return
    if isinstance(value, int | float):
        yield type(value)(value * 3 + 1)
        yield type(value)(0)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            for changed in _other(inner):
                yield {**value, key: changed}
        for (one, first), (two, second) in pairwise(value.items()):
            if first != second:
                yield {**value, one: second, two: first}
    elif isinstance(value, tuple | list):
        for i, inner in enumerate(value):
            for changed in _other(inner):
                yield type(value)(_instead(value, i, changed))
        if len(value) > 1:
            yield type(value)(value[:-1])


def seen_to_fail(evidence: Evidence, statement: Statement, verdict: Verdict) -> str | None:
    """The first change that makes the evidence refute a claim; None if no change does.

    verdict  the evidence's verdict on the unchanged statement.  If it refutes, no change is needed; its slack says how far
             a bound must be sharpened
    """
    if verdict.status in (Status.REFUTED, Status.BROKEN):
        return "as printed"
    if verdict.status is Status.ANALOGUE:
        return "an analogue: it decides nothing"
    for change in (*_aimed(evidence, statement, verdict), *mutations(statement)):
        after = _verdict(evidence, change.statement, verdict.added)
        if after is not None and after.status in (Status.REFUTED, Status.BROKEN):
            return change.what
    return None


def _aimed(evidence: Evidence, statement: Statement, verdict: Verdict) -> Iterator[Change]:
    """The changes that this evidence is most likely to notice."""
    if evidence.kind == "units":
        yield from _without_dimension(statement)
    elif isinstance(statement.claim, Bound) and verdict.slack is not None:
        factor = Rational(f"{0.98 / verdict.slack:.3g}")
        changed = statement.with_claim(statement.claim.scaled(factor))
        yield Change("constant", f"every term times {float(factor):.3g}", changed)


# How much of a statement its verdict depends on

# Strength of a verdict: proved; proved up to a premise that is not proved or a hypothesis that is not listed; on instances
_CONDITIONAL, _INSTANCES = 2, 1
_STRENGTH = {Status.PROVED: 3, Status.CONDITIONAL: _CONDITIONAL, Status.TESTED: _INSTANCES}


def _strength(verdict: Verdict | None) -> int:
    return 0 if verdict is None else _STRENGTH.get(verdict.status, 0)


@dataclass(frozen=True)
class MutationResult:
    """A change, and whether the evidence noticed it.

    by         the kinds of evidence that notice it: they refute the changed statement, or prove only the printed one, or
               cannot read the changed one (then the text says so)
    still      what the evidence says of the changed statement: proved, conditional or tested; None if nothing speaks for
               it any more, or something against it: then the change is noticed
    needless   whether the change leaves out a condition or an assumption that a recorded proof does not need
    undecided  whether no instance refutes the changed statement, but a proof fails, or the tests give other numbers: the
               evidence reads what was changed, and the changed statement may be true
    """

    change: Change
    by: tuple[str, ...]
    still: Status | None
    needless: bool = False
    undecided: bool = False


def noticed(statement: Statement, found: Sequence[tuple[Evidence, Verdict]]) -> list[MutationResult]:
    """Run the evidence of a statement that is proved, conditional or tested on every mutation of it.

    Leaves out changes that claim no more, and bounds that are sharper by no more than the room in the proof's constants.

    found  the evidence, with its verdicts on the unchanged statement
    """
    best = max((_strength(v) for e, v in found if e.kind != "units"), default=0)
    room = max((v.slack for _, v in found if v.premises and _strength(v) and v.slack), default=1)
    asked = sorted(
        ((e, v) for e, v in found if _strength(v)),
        key=lambda pair: (-_strength(pair[1]), pair[0].kind != "units", pair[0].kind),
    )
    changes = mutations(statement) if best else ()
    return [
        _put(change, asked)
        for change in changes
        if not (change.sharper and change.sharper <= room)
        and not (change.implied and best == _INSTANCES)  # an instance meets it anyway
        and not claims_no_more(statement, change.statement)
    ]


def _put(change: Change, asked: Sequence[tuple[Evidence, Verdict]]) -> MutationResult:
    """Run the evidence, in this order, on a change until something speaks against it."""
    by: list[str] = []
    standing, recorded, moved = None, False, False
    for evidence, before in asked:
        after = _verdict(evidence, change.statement, before.added)
        if after is None:
            by.append(f"{evidence.kind}, which cannot read it")
        elif after.status in _AGAINST or _strength(before) > _strength(after):
            by.append(evidence.kind)
        if after is not None and after.status in (Status.REFUTED, Status.VACUOUS):
            return MutationResult(change, tuple(by), None)
        if evidence.kind != "units" and after is not None:
            standing = max((standing, after), key=_strength)
            moved |= (after.slack, after.says) != (before.slack, before.says)
            recorded |= bool(before.premises) and _strength(after) >= _CONDITIONAL
    still = standing.status if standing is not None and _strength(standing) else None
    needless = recorded and still is not None and change.part in ("condition", "assumption")
    has_proof = any(e.kind != "units" and _strength(v) >= _CONDITIONAL for e, v in asked)
    undecided = still is Status.TESTED and (has_proof or moved)
    return MutationResult(change, tuple(by), still, needless, undecided)


def _verdict(evidence: Evidence, changed: Statement, added: Sequence[str] = ()) -> Verdict | None:
    """None if the evidence cannot read the changed claim: no number for a symbol, a division by 0, a form of another kind.

    added  what the verdict on the unchanged statement adds; a proof is then worth no more than that
    """
    more = tuple(one for one in added if one in additions(changed))
    try:
        found = evidence.check(replace(changed, assumes=(*changed.assumes, *more)), False)
    except (ValueError, ZeroDivisionError, sympy.PolynomialError):
        return None
    return replace(found, status=Status.CONDITIONAL) if added and found.status is Status.PROVED else found


_AGAINST = (Status.REFUTED, Status.BROKEN, Status.VACUOUS)


def claims_no_more(statement: Statement, changed: Statement) -> bool:
    """Whether z3 finds that a changed claim, or list of conditions, says no more than the original statement.

    With other assumptions or another definition it says something else: the left side may contain the defined symbol.
    """
    if (changed.assumes, changed.where) != (statement.assumes, statement.where):
        return False
    # with the defined symbols as they are, whose signs are declared; then with their definitions
    return any(_says_no_more(statement, changed, where) for where in ({}, statement.where))


def _says_no_more(statement: Statement, changed: Statement, where: Mapping[sympy.Symbol, sympy.Expr]) -> bool:
    before, after = ([_defined(c, where) for c in (s.claim, *s.also)] for s in (statement, changed))
    given, new = ([_put_in(c.relation, where) for c in s.when] for s in (statement, changed))
    try:
        if new != given and not all(_follows(new, relation) for relation in given):
            return False
        return all(old == other or _weaker_claim(old, other, new) for old, other in zip(before, after, strict=True))
    except (NotPolynomial, ValueError):
        return False  # z3 cannot read it: the change counts


def _put_in(e: Any, where: Mapping[sympy.Symbol, sympy.Expr]) -> Any:
    if isinstance(e, Relational):
        return e.func(*(_put_in(side, where) for side in e.args), evaluate=False)
    return _pulled_out(defined(e, where))


def _pulled_out(e: sympy.Expr) -> sympy.Expr:
    """An expression with the numbers in front of norms, means and sums that stand inside them: 2 ||x|| for ||2 x||."""

    def pulled(part: sympy.Expr) -> sympy.Expr:
        number, inside = part.args[0].primitive()
        return number * part.func(inside, *part.args[1:])

    return e.replace(lambda part: isinstance(part, Norm | Expectation | sympy.Sum), pulled)


def _defined(claim: Claim, where: Mapping[sympy.Symbol, sympy.Expr]) -> Claim:
    """A claim with its definitions substituted."""
    if isinstance(claim, Bound | Order):
        terms = tuple(Term(t.name, _put_in(t.value, where)) for t in claim.terms)
        return replace(claim, quantity=_put_in(claim.quantity, where), terms=terms)
    if isinstance(claim, Relations):
        return replace(claim, relations=tuple(_put_in(r, where) for r in claim.relations))
    return claim


def _weaker_claim(before: Claim, after: Claim, conditions: list[Any]) -> bool:
    """Whether a claim follows from another of its kind, formula by formula.  Raises NotPolynomial."""
    if isinstance(before, Bound) and isinstance(after, Bound) and before.sign == after.sign != "=":
        sign = 1 if before.sign == "<=" else -1
        differences = _differences(before, after)
        if all(_nonnegative(sign * d, conditions) for d in differences):
            return True
        return _follows(conditions, at_least(sign * sympy.expand(sympy.Add(*differences)), 0))
    if isinstance(before, Order) and isinstance(after, Order) and before.quantity == after.quantity:
        if (before.polylog, before.lower) != (after.polylog, after.lower):
            return False
        smaller, larger = (after, before) if before.lower else (before, after)
        known = {t.name: t.value for t in larger.terms}
        return all(
            _nonnegative(known.get(t.name, sympy.Integer(0)) - t.value, conditions)
            or cover(t.value, larger, conditions)
            for t in smaller.terms
        )
    if isinstance(before, Relations) and isinstance(after, Relations):
        return _all_follow(before.relations, after.relations, conditions)
    if isinstance(before, Words) and isinstance(after, Words) and before.text == after.text:
        return _all_follow(before.formulas, after.formulas, conditions)
    return False


def _all_follow(before: Sequence[Any], after: Sequence[Any], conditions: list[Any]) -> bool:
    """Whether every relation follows from the old relation at its place; any other formula must be the same."""
    return len(before) == len(after) and all(
        old == new or (isinstance(old, Relational) and _follows([*conditions, old], new))
        for old, new in zip(before, after, strict=True)
    )


def _differences(before: Bound, after: Bound) -> list[sympy.Expr]:
    """By how much the left side is smaller, and every term larger."""
    old, new = ({t.name: t.value for t in claim.terms} for claim in (before, after))
    names = dict.fromkeys((*old, *new))
    return [before.quantity - after.quantity, *(new.get(n, 0) - old.get(n, sympy.Integer(0)) for n in names)]


def _nonnegative(e: sympy.Expr, conditions: list[Any]) -> bool:
    """Whether every factor has a known sign, and an even number of factors is negative."""
    negative = False
    powers = {
        power: sympy.Dummy(nonnegative=_follows(conditions, at_least(power.base, 0)) or None)
        for power in e.atoms(sympy.Pow)
        if not power.exp.is_Rational
    }
    for factor in sympy.Mul.make_args(sympy.factor(e.xreplace(powers))):
        if factor == 0:
            return True
        if factor.is_nonnegative:
            continue
        if _follows(conditions, at_least(factor, 0)):
            continue
        if not _follows(conditions, at_least(-factor, 0)):
            return False
        negative = not negative
    return not negative


def _follows(conditions: list[Any], claim: Any) -> bool:
    """Whether a relation follows.  A part that is no polynomial counts as any number of its sign."""
    return implied([_opaque(c) for c in conditions], _opaque(claim), effort=200_000)


def _opaque(e: Any) -> Any:
    if isinstance(e, Relational | sympy.Add | sympy.Mul) or (isinstance(e, sympy.Pow) and e.exp.is_Rational):
        return e.func(*map(_opaque, e.args), **({"evaluate": False} if isinstance(e, Relational) else {}))
    if isinstance(e, sympy.Symbol | sympy.Number | sympy.Max | sympy.Min | sympy.Abs) or not isinstance(e, sympy.Expr):
        return e
    return sympy.Symbol(f"[{e}]", positive=e.is_positive, nonnegative=_is_nonnegative(e) or None)


def _is_nonnegative(e: sympy.Expr) -> bool:
    """Norms are >= 0, and so are means of expressions that are >= 0."""
    if isinstance(e, Norm):
        return True
    if isinstance(e, Expectation):
        inside = e.args[0]
        norms = {norm: sympy.Dummy(nonnegative=True) for norm in inside.atoms(Norm)}
        return bool(inside.xreplace(norms).is_nonnegative)
    return bool(e.is_nonnegative)
