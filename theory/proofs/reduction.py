"""A step of a proof, reduced to steps in polynomials and fractions: cases, roots and solved equations, as text.

    max(a, b)     two cases: b <= a, where it is a, and a <= b, where it is b; min and abs likewise
    root(a, 1, 2)    a new variable r >= 0 with r**2 == a
    x == e        x is replaced by e, where e does not contain x; 1 + x == e likewise

Each move is one tactic in Coq.  Both the search for certificates and the proof in Coq follow the same moves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal, get_args

from fedtheory.theory.proofs.sequents import Domain, Sequent, guards, names_in, parsed

Sign = Literal["positive", "nonnegative"]
Choice = Literal["max", "min", "abs"]


@dataclass(frozen=True)
class PlainSequent:
    """A sequent with its guards written out.

    hypotheses   (name, relation), in the order in which Coq meets them
    goals        relations to be proved; each may use those before it
    """

    variables: tuple[tuple[str, Domain], ...]
    hypotheses: tuple[tuple[str, str], ...]
    goals: tuple[str, ...]


@dataclass(frozen=True)
class CaseSplit:
    """A maximum, minimum or absolute value takes one of two values; `name` says which is the larger."""

    choice: Choice
    call: str
    name: str
    cases: tuple[PlainSequent, PlainSequent]


@dataclass(frozen=True)
class RootVariable:
    """The square root of `base` becomes a variable; `square` names the hypothesis about its square."""

    base: str
    variable: str
    square: str
    step: PlainSequent


@dataclass(frozen=True)
class Solve:
    """The hypothesis says variable == value, or so if it is solved for the variable, which is replaced."""

    hypothesis: str
    variable: str
    value: str
    step: PlainSequent


Move = CaseSplit | RootVariable | Solve


def opened(sequent: Sequent) -> PlainSequent:
    """The step of a sequent: guards of what is given become hypotheses, those of the claim goals, unless visible.

    Raises ValueError for roots other than square roots, and for exp, log and powers whose exponent is no number.
    """
    domains = dict(sequent.variables)
    given = [_algebraic(each) for each in sequent.given]
    claim = _algebraic(sequent.claim)
    known = hidden([one for each in given for one in guards(each)], domains, given)
    goals = hidden(guards(claim), domains, [*given, *known])
    named = [(f"guard_{i}", each) for i, each in enumerate(known)] + [(f"given_{i}", e) for i, e in enumerate(given)]
    return PlainSequent(sequent.variables, tuple(named), (*goals, claim))


def hidden(texts: Iterable[str], domains: Mapping[str, Domain], known: Sequence[str] = ()) -> list[str]:
    """Those of these guards that are neither visible from the domains nor known, once each."""
    found: dict[str, None] = {}
    for text in texts:
        tree = parsed(text)
        assert isinstance(tree, ast.Compare)
        sign = visible(tree.left, domains)
        seen = sign == "positive" or (sign == "nonnegative" and isinstance(tree.ops[0], ast.GtE))
        # a radicand is written as in the claims about squares: 0 on the left
        text = f"0 <= {ast.unparse(tree.left)}" if isinstance(tree.ops[0], ast.GtE) else text
        if not seen and text not in known:
            found[text] = None
    return list(found)


def visible(tree: ast.expr, domains: Mapping[str, Domain]) -> Sign | None:
    """The sign of an expression, if it can be read off: nothing is subtracted, and no variable is without sign."""
    match tree:
        case ast.Constant(value=int(number)):
            return "positive" if number > 0 else "nonnegative"
        case ast.Name(id=name):
            domain = domains[name]
            return "positive" if domain == "count" else None if domain == "real" else domain
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _least(visible(left, domains), visible(right, domains), some=True)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return _least(visible(left, domains), visible(right, domains))
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return visible(base, domains) or (None if power % 2 else "nonnegative")
        case ast.Call(func=ast.Name(id="root"), args=[base, *_]):
            return visible(base, domains) or "nonnegative"
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[left, right]):
            return _least(visible(left, domains), visible(right, domains), some=name == "max")
        case ast.Call(func=ast.Name(id="abs"), args=[inside]):
            return visible(inside, domains) or "nonnegative"
        case ast.Call(func=ast.Name(id="exp")):
            return "positive"
        case ast.Call(func=ast.Name(id="pow"), args=[base, _]):
            return visible(base, domains)
    return None


def _least(one: Sign | None, other: Sign | None, some: bool = False) -> Sign | None:
    """Both signs together: positive if both are, or, with `some`, if one of them is."""
    if one is None or other is None:
        return None
    return "positive" if (any if some else all)(s == "positive" for s in (one, other)) else "nonnegative"


def move(step: PlainSequent) -> Move | None:
    """What to do next with a step; None if nothing is left but polynomials and fractions.

    Raises ValueError for a root whose base is not known to be >= 0.
    """
    return _split(step) or _root(step) or _solve(step)


def leaves(step: PlainSequent) -> Iterator[PlainSequent]:
    """The steps that are left after all moves, in order."""
    match move(step):
        case None:
            yield step
        case CaseSplit(cases=cases):
            for case in cases:
                yield from leaves(case)
        case RootVariable(step=after) | Solve(step=after):
            yield from leaves(after)


def _split(step: PlainSequent) -> CaseSplit | None:
    call = _innermost(step, get_args(Choice))
    if call is None:
        return None
    name = f"case_{sum(each.startswith('case_') for each, _ in step.hypotheses)}"
    arguments = [ast.unparse(argument) for argument in call.args]
    assert isinstance(call.func, ast.Name)
    match call.func.id, arguments:
        case "max", [a, b]:
            ways = [(f"{b} <= {a}", a), (f"{a} <= {b}", b)]
        case "min", [a, b]:
            ways = [(f"{a} <= {b}", a), (f"{b} <= {a}", b)]
        case _, [a]:
            ways = [(f"0 <= {a}", a), (f"{a} <= 0", f"-({a})")]
    text = ast.unparse(call)
    first, second = (_with(_replaced(step, text, value), (name, order)) for order, value in ways)
    return CaseSplit(call.func.id, text, name, (first, second))  # type: ignore[arg-type]


def _root(step: PlainSequent) -> RootVariable | None:
    call = _innermost(step, ("root",))
    if call is None:
        return None
    base, domains = call.args[0], dict(step.variables)
    text = ast.unparse(base)
    sign = visible(base, domains)
    if sign is None and all(relation != f"0 <= {text}" for _, relation in step.hypotheses):
        raise ValueError(f"{text}: the claim has its root, but it is neither visibly >= 0 nor given to be")
    number = sum(each.startswith("square_") for each, _ in step.hypotheses)
    variable = next(r for i in count(number) if (r := f"root_{i}") not in domains)
    domain = domains[base.id] if isinstance(base, ast.Name) else sign or "nonnegative"
    after = _replaced(step, ast.unparse(call), variable)
    after = replace(after, variables=(*after.variables, (variable, domain)))
    square = f"square_{number}"
    return RootVariable(text, variable, square, _with(after, (square, f"{variable} ** 2 == {text}")))


def _solve(step: PlainSequent) -> Solve | None:
    for name, relation in step.hypotheses:
        solved = _solved(relation)
        if solved:
            variable, value = solved
            kept = replace(step, hypotheses=tuple(each for each in step.hypotheses if each[0] != name))
            after = _replaced(kept, variable, value)
            after = replace(after, variables=tuple(each for each in step.variables if each[0] != variable))
            bounds = {"count": "1 <=", "positive": "0 <", "nonnegative": "0 <=", "real": None}
            bound = bounds[dict(step.variables)[variable]]
            after = _with(after, (f"at_{variable}", f"{bound} {value}")) if bound else after
            return Solve(name, variable, value, after)
    return None


def _solved(relation: str) -> tuple[str, str] | None:
    """x and e, if the relation is x == e or e == x, or x and e - 1 if it is e == 1 + x, for any number in place of 1."""
    tree = parsed(relation)
    if not (isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.Eq)):
        return None
    for side, other in ((tree.left, tree.comparators[0]), (tree.comparators[0], tree.left)):
        value = ast.unparse(other)
        match side:
            case ast.Name(id=name) if name not in names_in(value):
                return name, value
            case ast.BinOp(left=ast.Constant(value=int(number)), op=ast.Add(), right=ast.Name(id=name)) if (
                name not in names_in(value)
            ):
                return name, f"{value} - {number}"
    return None


def _with(step: PlainSequent, *first: tuple[str, str]) -> PlainSequent:
    return replace(step, hypotheses=(*first, *step.hypotheses))


def _innermost(step: PlainSequent, names: tuple[str, ...]) -> ast.Call | None:
    """A call of one of these functions, in the first text that has one, without another of them inside."""
    for text in (*step.goals, *(relation for _, relation in step.hypotheses)):
        calls = [n for n in ast.walk(parsed(text)) if isinstance(n, ast.Call) and _is_call(n, names)]
        if calls:
            return calls[-1]  # from the outside to the inside
    return None


def _is_call(tree: ast.Call, names: tuple[str, ...]) -> bool:
    return isinstance(tree.func, ast.Name) and tree.func.id in names


def _replaced(step: PlainSequent, old: str, new: str) -> PlainSequent:
    """The step with `new` in place of `old`, everywhere."""

    def change(node: ast.expr) -> ast.expr:
        same = isinstance(node, ast.Call | ast.Name) and ast.unparse(node) == old
        return parsed(new) if same else node

    hypotheses = tuple((name, _mapped(text, change)) for name, text in step.hypotheses)
    return PlainSequent(step.variables, hypotheses, tuple(_mapped(text, change) for text in step.goals))


def plain(text: str) -> str:
    """A relation or expression whose minima and maxima have two arguments and whose roots are powers of square roots.

    Raises ValueError for other roots.
    """

    def change(node: ast.expr) -> ast.expr:
        match node:
            case ast.Call(func=ast.Name(id="max" | "min"), args=[first, second, *others]):
                nested: ast.expr = ast.Call(node.func, [first, second], [])
                for other in others:
                    nested = ast.Call(node.func, [nested, other], [])
                return nested
            case ast.Call(func=ast.Name(id="root"), args=[base, ast.Constant(value=p), ast.Constant(value=2)]):
                square_root = ast.Call(node.func, [base, ast.Constant(1), ast.Constant(2)], [])
                return square_root if p == 1 else ast.BinOp(square_root, ast.Pow(), ast.Constant(p))
            case ast.Call(func=ast.Name(id="root")):
                raise ValueError(f"{ast.unparse(node)}: expected square roots")
        return node

    return _mapped(text, change)


def _algebraic(text: str) -> str:
    """The same, without exp, log, and powers whose exponent is no number.  Raises ValueError if it has one."""
    found = plain(text)
    calls = [node for node in ast.walk(parsed(found)) if isinstance(node, ast.Call)]
    for call in calls:
        if _is_call(call, ("exp", "log", "pow")):
            raise ValueError(f"{ast.unparse(call)}: expected square roots, min, max and abs")
    return found


def _mapped(text: str, change: Callable[[ast.expr], ast.expr]) -> str:
    """The text whose parts are changed, from the inside to the outside."""

    class Mapped(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            inside = super().generic_visit(node)
            return change(inside) if isinstance(inside, ast.expr) else inside

    # a new tree: the parsed one is shared
    return ast.unparse(Mapped().visit(ast.parse(text, mode="eval")))
