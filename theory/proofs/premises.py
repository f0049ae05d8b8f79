"""What a theorem in Coq rests on, and whether that can hold: the assumptions that Coq prints, and an instance of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

import sympy
from sympy.logic.boolalg import Boolean

from theory.proofs.arithmetic import NotPolynomial, decide
from theory.proofs.composition import Kind, Theorem
from theory.proofs.sequents import Domain, holds, parsed
from theory.statement import Status

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

    z3 proposes numbers, and fractions check them.  First everything that may be zero is zero.
    """
    domains = dict(theorem.variables)
    symbols = {name: _symbol(name, where) for name, where in domains.items()}
    said = [one.says[-1] for one in theorem.hypotheses]
    for zero in (("real", "nonnegative"), ("real",), ()):
        given = [_relation(text, symbols) for text in said]
        given += [sympy.Eq(symbols[name], 0, evaluate=False) for name in symbols if domains[name] in zero]
        values = _solution([one for one in given if one is not None], symbols)
        if values is not None and all(_holds(one.says, values) for one in theorem.hypotheses):
            return values
    return None


def _holds(says: tuple[str, ...], values: Mapping[str, Fraction]) -> bool:
    """Whether the last relation holds, or one of those before it does not."""
    *given, claim = says
    return holds(claim, values) is True or any(holds(each, values) is False for each in given)


def _solution(given: list[Boolean], symbols: Mapping[str, sympy.Symbol]) -> dict[str, Fraction] | None:
    """Numbers for which all of this holds: those against a claim that is false."""
    try:
        found = decide(given, sympy.Lt(1, 0, evaluate=False))
    except NotPolynomial:
        return None
    if found.status is not Status.REFUTED:
        return None
    values = {name: found.model.get(symbol, _usual(symbol)) for name, symbol in symbols.items()}
    return {name: Fraction(int(value.p), int(value.q)) for name, value in values.items()}


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


def _relation(text: str, symbols: Mapping[str, sympy.Symbol]) -> Boolean | None:
    """A relation as sympy's object; None for exp, log, and a power whose exponent is no number: z3 cannot read them."""
    tree = parsed(text)
    if not isinstance(tree, ast.Compare):
        return None
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    if calls & {"exp", "log", "pow"}:
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


def _expression(tree: ast.expr, symbols: Mapping[str, sympy.Symbol]) -> sympy.Expr:
    functions = {
        "root": lambda base, p, q: base ** sympy.Rational(int(p), int(q)),
        "max": sympy.Max,
        "min": sympy.Min,
        "abs": sympy.Abs,
    }
    return sympy.sympify(ast.unparse(tree), locals={**symbols, **functions})
