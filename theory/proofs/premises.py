"""What a theorem in Coq rests on, and whether that can hold: the assumptions that Coq prints, and an instance of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

import sympy
from sympy.logic.boolalg import Boolean

from fedtheory.theory.proofs.arithmetic import NotPolynomial, decide
from fedtheory.theory.proofs.composition import Kind, Theorem
from fedtheory.theory.proofs.sequents import Domain, holds, parsed
from fedtheory.theory.statement import Status

# Axioms of Coq's own real numbers
OF_REALS = frozenset(
    {
        "ClassicalDedekindReals.sig_forall_dec",
        "ClassicalDedekindReals.sig_not_dec",
        "Classical_Prop.classic",
        "FunctionalExtensionality.functional_extensionality_dep",
    }
)


def printed(output: str) -> dict[str, frozenset[str]]:
    """What Coq's `Print Assumptions` has printed for each theorem: names of hypotheses, variables and axioms."""
    found: dict[str, frozenset[str]] = {}
    for part in re.split(r"^theorem ", output, flags=re.MULTILINE)[1:]:
        theorem, _, rest = part.partition("\n")
        names = re.findall(r"^([^\W\d][\w.]*)$(?=\n\s*:)|^([^\W\d][\w.]*) :", rest, flags=re.MULTILINE)
        found[theorem] = frozenset(one or other for one, other in names)
    return found


def premises(theorem: Theorem, assumed: Iterable[str]) -> set[tuple[Kind, str]]:
    """The hypotheses among these names, by their kind and what they stand for."""
    names = set(assumed)
    return {(one.kind, one.stands_for) for one in theorem.hypotheses if one.name in names}


def unlisted(theorem: Theorem, assumed: Iterable[str]) -> set[str]:
    """The names that are neither hypotheses of the theorem, nor its variables, nor axioms of Coq's real numbers."""
    known = {one.name for one in theorem.hypotheses} | theorem.declared
    return set(assumed) - known - OF_REALS


# Instances


def instance(theorem: Theorem) -> dict[str, Fraction] | None:
    """Numbers for which all hypotheses of a theorem hold, exactly; None if none are found.

    z3 proposes numbers, and fractions check them.  Counts in exponents are 1, and first everything that may be zero is zero.
    """
    domains = dict(theorem.variables)
    said = [one.says[-1] for one in theorem.hypotheses]
    symbols = {name: _symbol(name, where) for name, where in domains.items()}
    raised = {name for text in said for name in _in_exponents(parsed(text))}
    values: dict[str, sympy.Expr] = {**symbols, **dict.fromkeys(raised, sympy.Integer(1))}
    read = [one for text in said if (one := _relation(text, values)) is not None]
    meaning = _definitions(read)
    free = [s for name, s in symbols.items() if s not in meaning and name not in raised]
    given = [_with_meaning(one, meaning) for one in read if one.lhs not in meaning or one.rhs != meaning[one.lhs]]
    given += [_in_domain(s, e) for s, e in meaning.items() if s.is_nonnegative]
    for zero in (("real", "nonnegative"), ("real",), ()):
        none = [sympy.Eq(s, 0, evaluate=False) for s in free if domains[s.name] in zero]
        found = _solution([*given, *none], free)
        if found is not None:
            found |= {s: e.subs(found) for s, e in meaning.items()}
            found |= {symbols[name]: sympy.Integer(1) for name in raised}
            if all(value.is_Rational for value in found.values()):
                numbers = {s.name: Fraction(int(value.p), int(value.q)) for s, value in found.items()}
                if all(_holds(one.says, numbers) for one in theorem.hypotheses):
                    return numbers
    return None


def _definitions(read: Iterable[Boolean]) -> dict[sympy.Symbol, sympy.Expr]:
    """What variables are by equations x == e, in other variables."""
    found: dict[sympy.Symbol, sympy.Expr] = {}
    for one in read:
        if isinstance(one, sympy.Eq) and one.lhs.is_Symbol and one.lhs not in found:
            meaning = one.rhs.subs(found)
            if one.lhs not in meaning.free_symbols:
                found = {s: e.subs(one.lhs, meaning) for s, e in found.items()} | {one.lhs: meaning}
    return found


def _with_meaning(one: Boolean, meaning: Mapping[sympy.Symbol, sympy.Expr]) -> Boolean:
    return one.func(one.lhs.subs(meaning), one.rhs.subs(meaning), evaluate=False)


def _in_domain(symbol: sympy.Symbol, value: sympy.Expr) -> Boolean:
    relation = sympy.Gt if symbol.is_positive else sympy.Ge
    return relation(value, 0, evaluate=False)


def _in_exponents(tree: ast.expr) -> set[str]:
    """The variables in exponents."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    exponents = [call.args[1] for call in calls if call.func.id == "pow"]  # type: ignore[attr-defined]
    return {node.id for each in exponents for node in ast.walk(each) if isinstance(node, ast.Name)}


def _holds(says: tuple[str, ...], values: Mapping[str, Fraction]) -> bool:
    """Whether the last relation holds, or one of those before it does not."""
    *given, claim = says
    return holds(claim, values) is True or any(holds(each, values) is False for each in given)


def _solution(given: list[Boolean], symbols: Iterable[sympy.Symbol]) -> dict[sympy.Symbol, sympy.Rational] | None:
    """Numbers for which all of this holds: those against a claim that is false."""
    try:
        found = decide(given, sympy.Lt(1, 0, evaluate=False))
    except NotPolynomial:
        return None
    return {s: found.model.get(s, _usual(s)) for s in symbols} if found.status is Status.REFUTED else None


def _usual(symbol: sympy.Symbol) -> sympy.Integer:
    return sympy.Integer(1 if symbol.is_positive else 0)


def _symbol(name: str, where: Domain) -> sympy.Symbol:
    assumed = {
        "count": {"positive": True, "integer": True},
        "positive": {"positive": True},
        "nonnegative": {"nonnegative": True},
        "real": {"real": True},
    }
    return sympy.Symbol(name, **assumed[where])


def _relation(text: str, symbols: Mapping[str, sympy.Expr]) -> Boolean | None:
    """A relation as sympy's object; None for exp and log: z3 cannot read them."""
    tree = parsed(text)
    if not isinstance(tree, ast.Compare):
        return None
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    if calls & {"exp", "log"}:
        return None
    left, right = (_expression(side, symbols) for side in (tree.left, tree.comparators[0]))
    relations = {
        ast.LtE: sympy.Le,
        ast.Lt: sympy.Lt,
        ast.GtE: sympy.Ge,
        ast.Gt: sympy.Gt,
        ast.Eq: sympy.Eq,
        ast.NotEq: sympy.Ne,
    }
    return relations[type(tree.ops[0])](left, right, evaluate=False)


def _expression(tree: ast.expr, symbols: Mapping[str, sympy.Expr]) -> sympy.Expr:
    functions = {
        "root": lambda base, p, q: base ** sympy.Rational(int(p), int(q)),
        "pow": sympy.Pow,
        "max": sympy.Max,
        "min": sympy.Min,
        "abs": sympy.Abs,
    }
    return sympy.sympify(ast.unparse(tree), locals={**symbols, **functions})
