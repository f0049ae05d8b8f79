"""A step of a proof as a lemma in Coq, and its certificate as the proof, which Coq's kernel then checks.

The statement is written from the text of the step alone: the same divisions, roots, minima and maxima.  It has the domains
of the variables, the guards that cannot be read off them, what is given, and the claim:

    forall x : R,  1 <= x (a count), 0 < x (positive), 0 <= x (nonnegative), or nothing (real)  ->
    d <> 0 for divisors, 0 <= a for radicands  ->  what is given  ->  guards of the claim /\\ the claim

In Coq 1 / 0 is some number and sqrt (-1) is 0; with the guards this does no harm.  The lemmas rest on fedtheory.v.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fedtheory.theory.proofs.certificates import (
    Certificate,
    Clear,
    Combine,
    Divide,
    Fact,
    Goal,
    Leaf,
    Product,
    Says,
    hypotheses_of,
    says,
    sides,
    stated,
)
from fedtheory.theory.proofs.reduction import CaseSplit, Move, PlainSequent, RootVariable, Solve, move, opened, plain
from fedtheory.theory.proofs.sequents import Domain, Sequent, parsed

PRELUDE = "Require Import Reals Lra fedtheory.\nOpen Scope R_scope.\n"

# Coq's words, the names that statements use, names that a reader takes for Coq's own, and those of the proofs
_TAKEN = re.compile(
    r"as|at|cofix|else|end|exists|exists2|fix|for|forall|fun|if|in|let|match|mod|return|then|using|where|with|by"
    r"|Definition|Fixpoint|Lemma|Proof|Prop|Qed|SProp|Set|Theorem|Type|nat|le|lt|ge|gt|fst|snd|sum"
    r"|R|Rmax|Rmin|Rabs|sqrt|Rsqr|INR|IZR|PI|exp|ln|sin|cos|tan|up|pow|O|S|N|Z|Q|I|E|C"
    r"|(at|positive|given|guard|case|root|square|fact|nonzero|goal|term)_\w*|opposite|solved"
    r"|(domain|whole|condition|definition|defined|meaning|algorithm|claim|rule|inference|step|part)_\w*|identity"
)
_RELATIONS = {ast.LtE: "<=", ast.Lt: "<", ast.GtE: ">=", ast.Gt: ">", ast.Eq: "=", ast.NotEq: "<>"}
_LEMMAS = {"<=": "le", "<": "lt", ">=": "ge", ">": "gt", "=": "eq", "<>": "ne"}
_FEW = 60  # products that linear arithmetic adds up; beyond these it is slow
_FUNCTIONS = {"abs": "Rabs", "exp": "exp", "log": "ln"}
_SUM, _PRODUCT, _POWER, _CALL, _ATOM = range(5)  # how tightly the last operation of a text binds


# Statements


def names(variables: Iterable[str]) -> dict[str, str]:
    """Names in Coq for these variables: their own, with a trailing _ where it is one of Coq's or of the proofs'."""
    found: dict[str, str] = {}
    variables = list(variables)
    for variable in variables:
        name = f"{variable}_" if _TAKEN.fullmatch(variable) else variable
        while name != variable and (name in variables or name in found.values()):
            name += "_"
        found[variable] = name
    return found


def statement(sequent: Sequent) -> str:
    """What the step says, as a proposition in Coq.

    Raises ValueError for roots other than square roots, and for exp, log and powers whose exponent is no number.
    """
    step = opened(sequent)
    named = names(name for name, _ in step.variables)
    above = [f"forall {' '.join(named.values())} : R,"] if named else []
    domains = [limit for name, domain in step.variables if (limit := bound(named[name], domain))]
    given = [relation(each, named) for _, each in step.hypotheses]
    goal = " /\\ ".join(relation(goal, named) for goal in step.goals)
    return "\n".join([*above, *(f"  {each} ->" for each in (*domains, *given)), f"  {goal}"])


def bound(name: str, domain: Domain) -> str:
    """What the domain of a variable says about it; nothing for a real."""
    return {"count": f"1 <= {name}", "positive": f"0 < {name}", "nonnegative": f"0 <= {name}", "real": ""}[domain]


def relation(text: str, named: Mapping[str, str]) -> str:
    """A relation in Coq."""
    tree = parsed(plain(text))
    if isinstance(tree, ast.Constant):
        return str(tree.value)
    assert isinstance(tree, ast.Compare)
    left, right = (_written(side, named)[0] for side in (tree.left, tree.comparators[0]))
    return f"{left} {_operator(text)} {right}"


def _operator(relation: str) -> str:
    tree = parsed(relation)
    return _RELATIONS[type(tree.ops[0])] if isinstance(tree, ast.Compare) else ""


def term(text: str, named: Mapping[str, str]) -> str:
    """An expression in Coq, in parentheses unless it is an atom."""
    written, binds = _written(parsed(plain(text)), named)
    return written if binds == _ATOM else f"({written})"


def _written(tree: ast.expr, named: Mapping[str, str]) -> tuple[str, int]:
    def at(part: ast.expr, level: int) -> str:
        text, binds = _written(part, named)
        return text if binds >= level else f"({text})"

    match tree:
        case ast.Constant(value=int(number)):
            return str(number), _ATOM
        case ast.Name(id=name):
            return named[name], _ATOM
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"- {at(operand, _PRODUCT)}", _SUM
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            sign = "+" if isinstance(operator, ast.Add) else "-"
            return f"{at(left, _SUM)} {sign} {at(right, _PRODUCT)}", _SUM
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as operator, right=right):
            sign = "*" if isinstance(operator, ast.Mult) else "/"
            return f"{at(left, _PRODUCT)} {sign} {at(right, _POWER)}", _PRODUCT
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return f"{at(base, _ATOM)} ^ {power}", _POWER
        case ast.Call(func=ast.Name(id="root"), args=[base, ast.Constant(value=1), ast.Constant(value=2)]):
            return f"sqrt {at(base, _ATOM)}", _CALL
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[left, right]):
            return f"R{name} {at(left, _ATOM)} {at(right, _ATOM)}", _CALL
        case ast.Call(func=ast.Name(id="abs" | "exp" | "log" as name), args=[inside]):
            return f"{_FUNCTIONS[name]} {at(inside, _ATOM)}", _CALL
        case ast.Call(func=ast.Name(id="pow"), args=[base, exponent]):
            exponent_ = _exponent(exponent, named)
            raised = f"{at(base, _ATOM)} ^ {exponent_.removeprefix('-')}"
            return (f"/ {raised}", _PRODUCT) if exponent_.startswith("-") else (raised, _POWER)
    raise ValueError(f"{ast.unparse(tree)}: expected sums, products, square roots, min, max, abs, exp, log and powers")


def _exponent(tree: ast.expr, named: Mapping[str, str]) -> str:
    """A whole number, or whole numbers times counts, with a minus in front if it is negative."""
    counts, numbers = [], []

    def read(part: ast.expr, sign: int) -> None:
        match part:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
                read(left, sign)
                read(right, sign if isinstance(operator, ast.Add) else -sign)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                read(operand, -sign)
            case ast.Name(id=name):
                counts.append((sign, f"{whole(named[name])}"))
            case ast.Constant(value=int(number)):
                numbers.append((sign, str(number)))
            case _:
                raise ValueError(f"{ast.unparse(tree)}: expected a sum of counts and whole numbers in the exponent")

    read(tree, 1)
    signs = {sign for sign, _ in (*counts, *numbers)}
    if len(signs) != 1:
        raise ValueError(f"{ast.unparse(tree)}: expected parts of one sign in the exponent")
    texts = [text for _, text in (*numbers, *counts)]
    total = texts[0] if len(texts) == 1 else f"({' + '.join(texts)})"
    return ("" if signs == {1} else "-") + total


def whole(name: str) -> str:
    """The natural number that a count in an exponent is, in Coq."""
    return f"whole_{name}"


# Proofs


def lemma(name: str, sequent: Sequent, certificate: Certificate) -> str:
    """The step as a lemma with its proof.  Raises ValueError as `statement` does."""
    return f"Lemma {name} : {statement(sequent)}.\n{proof(sequent, certificate)}\n"


def proof(sequent: Sequent, certificate: Certificate) -> str:
    """The proof of a step from its certificate, from Proof to Qed."""
    step = opened(sequent)
    named = names(name for name, _ in step.variables)
    start = [f"intros {' '.join(named.values())}."] if named else []
    return "\n".join(["Proof.", *start, *_moves(step, step.variables, [], iter(certificate)), "Qed."])


def _moves(
    step: PlainSequent, original: Sequence[tuple[str, Domain]], roots: Sequence[RootVariable], leaves: Iterator[Leaf]
) -> Iterator[str]:
    """The tactics for a step: cases and roots while the hypotheses are still in the goal, then they are introduced."""
    named = _named(step, original)
    match move(step):
        case CaseSplit(choice=choice, call=call, cases=cases):
            rule = "abs_case" if choice == "abs" else f"R{choice}_case_strong"
            yield f"pattern ({_written(parsed(call), named)[0]}); apply {rule}."
            for case in cases:
                yield from _braced(_moves(case, original, roots, leaves))
        case RootVariable() as root:
            named = _named(root.step, original)
            root_text = _written(parsed(f"root({root.base}, 1, 2)"), named)[0]
            yield f"pattern ({root_text}); apply root_case; intro {named[root.variable]}."
            yield from _moves(root.step, original, [*roots, root], leaves)
        case after:
            yield from _introduced(step, original, roots)
            yield from _solved(step, after, leaves, named)


def _named(step: PlainSequent, original: Sequence[tuple[str, Domain]]) -> dict[str, str]:
    """The names of all variables, those of roots too, the same through the whole proof."""
    return names([name for name, _ in original] + [name for name, _ in step.variables if (name, _) not in original])


def _introduced(
    step: PlainSequent, original: Sequence[tuple[str, Domain]], roots: Sequence[RootVariable]
) -> Iterator[str]:
    front = [name for name, _ in step.hypotheses if name.startswith(("case_", "square_"))]
    back = [name for name, _ in step.hypotheses if name.startswith(("guard_", "given_"))]
    sides = {root.square: f"at_{root.variable}" for root in roots}
    domains = dict(step.variables)
    order = [one for name in front for one in ([sides[name], name] if name in sides else [name])]
    order += [f"at_{name}" for name, domain in original if domain != "real"] + back
    if order:
        yield f"intros {' '.join(order)}."
    for name, domain in original:
        if domain == "count":
            yield f"pose proof (count_positive _ at_{name}) as positive_{name}."
    for root in roots:
        variable, square = f"at_{root.variable}", root.square
        yield f"specialize ({square} ltac:(pos))."
        match domains[root.variable]:
            case "positive":
                yield f"apply (root_positive _ _) with (2 := {square}) in {variable}; [ | pos]."
            case "count":
                yield f"apply (root_count _ _) with (2 := {square}) in {variable}; [ | assumption]."
                yield f"pose proof (count_positive _ {variable}) as positive_{root.variable}."


def _solved(step: PlainSequent, after: Move | None, leaves: Iterator[Leaf], named: Mapping[str, str]) -> Iterator[str]:
    while isinstance(after, Solve):
        # a new hypothesis that is solved for the variable, on top, since subst takes the first that it finds
        value, variable = _written(parsed(after.value), named)[0], named[after.variable]
        yield f"assert (solved : {variable} = {value}) by linear; clear {after.hypothesis}."
        yield f"move solved at top; subst {variable}."
        step = after.step
        after = move(step)
    yield from _leaf(step, next(leaves), named)


def _leaf(step: PlainSequent, leaf: Leaf, named: Mapping[str, str]) -> Iterator[str]:
    writer = _LeafProof(step, dict(leaf.facts), named)
    waiting = list(leaf.facts)
    for number, goal in enumerate(leaf.goals):
        # a fact may rest on a goal that is proved before
        unproved = {f"goal_{i}" for i in range(number, len(leaf.goals))}
        while waiting and _source(waiting[0][1]) not in unproved:
            yield from writer.fact(*waiting.pop(0))
        yield from writer.simplified(step.goals[number], goal)
        if number == len(leaf.goals) - 1:
            yield from writer.goal(step.goals[number], goal)
        else:
            yield "apply and_then."
            yield from _braced(writer.goal(step.goals[number], goal))
            yield f"intro goal_{number}."


def _braced(lines: Iterable[str]) -> Iterator[str]:
    yield from ("{", *lines, "}")


def _source(fact: Fact) -> str:
    return "" if isinstance(fact, Combine) else fact.hypothesis


@dataclass(frozen=True)
class _LeafProof:
    """Writes the proof of a step without minima, maxima and roots."""

    step: PlainSequent
    facts: Mapping[int, Fact]
    named: Mapping[str, str]

    def written(self, text: str) -> str:
        return _written(parsed(text), self.named)[0]

    def argument(self, text: str) -> str:
        written, binds = _written(parsed(text), self.named)
        return written if binds == _ATOM else f"({written})"

    def fact(self, number: int, fact: Fact) -> Iterator[str]:
        polynomial = self.written(fact.polynomial)
        match fact:
            case Clear(says=stands, positive=positive, hypothesis=name):
                shown = f"{polynomial} = 0" if stands == "=" else f"0 {stands} {polynomial}"
                rule = f"clear_{_LEMMAS[_operator(hypotheses_of(self.step)[name])]}"
                uses = f"({rule} _ _ {self.argument(fact.polynomial)} {self.argument(positive)} {name})"
                yield f"assert (fact_{number} : {shown}) by (apply {uses}; [pos | identity])."
            case Combine(says=stands, terms=terms):
                yield f"assert (fact_{number} : 0 {stands} {polynomial})."
                yield from _braced(self.combined(stands, terms))
            case Divide(divisor=divisor, quotient=quotient, hypothesis=name) if name in hypotheses_of(self.step):
                d, q = self.argument(divisor), self.argument(quotient)
                uses = f"(divide_nonzero _ {d} {q} {name})"
                yield f"assert (nonzero_{number} : {d} <> 0) by (apply {uses}; identity)."
                same = divisor == fact.polynomial
                rule, rest = ("divide_positive _", "pos") if same else ("divide_square _ _", "ring")
                yield f"assert (fact_{number} : 0 < {polynomial}) by (apply ({rule} nonzero_{number}); {rest})."

    def goal(self, relation: str, goal: Goal) -> Iterator[str]:
        operator = _operator(relation)
        match goal.by:
            case "given":
                yield "assumption." if operator else "exact I."
            case "same":
                yield {"<=": "apply Rle_refl.", ">=": "apply Rge_refl."}.get(operator, "reflexivity.")
            case "linear":
                yield "linear."
            case "clear":
                rule = (
                    f"restore_{_LEMMAS[operator]} _ _ {self.argument(goal.polynomial)} {self.argument(goal.positive)}"
                )
                yield f"apply ({rule}); [pos | identity | ..]{'' if goal.terms else '; lra'}."
                for terms in goal.terms:
                    yield from _braced(self.combined("<" if says(relation) == "<" else "<=", terms))

    def simplified(self, relation: str, goal: Goal) -> Iterator[str]:
        """A divisor with fractions inside is replaced by the product that it is: `field` would multiply it out."""
        if goal.by == "clear" and says(relation) == "!=" and "/" in relation:
            divisor = self.written(ast.unparse(sides(relation)[0]))
            whole = f"- {self.argument(goal.polynomial)} * {self.argument(goal.positive)}"
            yield f"let E := fresh in assert (E : {divisor} = {whole}) by identity; rewrite E; clear E."

    def combined(self, stands: Says, terms: Sequence[Product]) -> Iterator[str]:
        """The opposite is assumed and each product stated; added up they are 0, and yet one of them is positive."""
        yield f"apply opposite_{_LEMMAS[stands]}; intro opposite."
        products = [(term.number, *self.product(term, stands)) for term in terms if term.factors]
        for i, (_, each, _) in enumerate(products):
            yield f"pose proof {each} as term_{i}."
        if len(products) <= _FEW:
            yield f"clear - {' '.join(f'term_{i}' for i in range(len(products)))}; lra."
        else:
            yield from self.added_up(products, [term.number for term in terms if not term.factors])

    def added_up(self, products: Sequence[tuple[str, str, Says]], numbers: Sequence[str]) -> Iterator[str]:
        """The same without linear arithmetic, which would be slow: the sum is written out, and `ring` finds that it is 0."""
        # in whole numbers, which `ring` knows
        least = math.lcm(*(Fraction(number).denominator for number in (*numbers, *(one for one, *_ in products))))
        rules = {"<": "scaled_lt", "<=": "scaled_le", "=": "scaled_eq"}
        scaled: list[tuple[str, Says]] = [
            (f"({rules[says]} ({Fraction(number) * least}) _ {'' if says == '=' else 'ltac:(lra) '}term_{i})", says)
            for i, (number, _, says) in enumerate(products)
        ]
        scaled += [(f"(ltac:(lra) : 0 < {Fraction(number) * least})", "<") for number in numbers]
        first = next(one for one in scaled if one[1] == "<")
        rest = ""
        for proof, sign in (one for one in scaled if one is not first):
            weak = f"(Rlt_le _ _ {proof})" if sign == "<" else proof
            rest = f"(Rplus_le_le_0_compat _ _ {weak} {rest})" if rest else weak
        yield f"pose proof (Rplus_lt_le_0_compat _ _ {first[0]} {rest}) as total."
        yield "lazymatch type of total with 0 < ?s => replace s with 0 in total by ring end."
        yield "exact (Rlt_irrefl _ total)."

    def product(self, term: Product, stands: Says) -> tuple[str, Says]:
        """A proof that the product of the factors is positive, not negative, or zero, and which of these."""
        for each in term.factors:
            if self.is_equation(each):
                others = " * ".join(self.argument(other) for other in term.factors if other != each) or "1"
                return f"(zero_product ({others}) _ fact_{_number(each)})", "="
        proofs = [self.factor(each, stands) for each in term.factors]
        strict = all(strict for _, strict in proofs)
        whole = ""
        for text, positive in reversed(proofs):
            each = f"(Rlt_le _ _ {text})" if positive and not strict else text
            whole = f"({'Rmult_lt_0_compat' if strict else 'Rmult_le_pos'} _ _ {each} {whole})" if whole else each
        return whole, "<" if strict else "<="

    def is_equation(self, factor: str) -> bool:
        return factor.startswith("#") and factor != "#" and stated(self.facts[_number(factor)]) == "="

    def factor(self, factor: str, stands: Says) -> tuple[str, bool]:
        """A proof that a factor is positive (True) or not negative (False)."""
        if factor == "#":
            return "opposite", stands == "<="
        if factor.startswith("#"):
            return f"fact_{_number(factor)}", stated(self.facts[_number(factor)]) == "<"
        domains = dict(self.step.variables)
        match parsed(factor):
            case ast.Name(id=name):
                return (f"positive_{name}" if domains[name] == "count" else f"at_{name}"), domains[
                    name
                ] != "nonnegative"
            case ast.BinOp(left=ast.Name(id=name), op=ast.Sub()):
                return f"(count_less_one _ at_{name})", False
            case ast.BinOp(left=ast.Name(id=name), op=ast.Pow(), right=ast.Constant(value=int(power))):
                if domains[name] == "real":
                    return f"(even_power {self.named[name]} {power // 2} : 0 <= {self.written(factor)})", False
                inside, strict = self.factor(name, stands)
                return f"({'pow_lt' if strict else 'pow_le'} _ {power} {inside})", strict
            case ast.BinOp(left=base, op=ast.Pow()):
                return f"(pow2_ge_0 {self.argument(ast.unparse(base))})", False
        raise ValueError(f"{factor}: expected a variable, its power, a count less one, a fact or a square")


def _number(factor: str) -> int:
    return int(factor[1:])
