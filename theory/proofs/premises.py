"""What a theorem in Coq rests on, and whether that can hold: the assumptions that Coq prints, and an instance of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

import sympy
import z3
from sympy.logic.boolalg import Boolean

from fedtheory.theory.proofs.arithmetic import NotPolynomial, decide
from fedtheory.theory.proofs.composition import CoqTheorem, Kind
from fedtheory.theory.proofs.linear import fraction
from fedtheory.theory.proofs.sequents import Domain, holds, names_in, parsed
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


def premises(theorem: CoqTheorem, assumed: Iterable[str]) -> set[tuple[Kind, str]]:
    """The hypotheses among these names, by their kind and what they stand for."""
    names = set(assumed)
    return {(one.kind, one.stands_for) for one in theorem.hypotheses if one.name in names}


def unlisted(theorem: CoqTheorem, assumed: Iterable[str]) -> set[str]:
    """The names that are neither hypotheses of the theorem, nor its variables, nor axioms of Coq's real numbers."""
    known = {one.name for one in theorem.hypotheses} | theorem.declared
    return set(assumed) - known - OF_REALS


# Instances


_SIZES = tuple(sympy.Rational(1, 16**power) for power in range(4))  # of constants that may be zero, such as sigma


def instance(theorem: CoqTheorem, known: Mapping[str, str] | None = None) -> dict[str, Fraction] | None:
    """Numbers for which all hypotheses of a theorem hold, exactly; None if none are found.

    z3 proposes numbers, and fractions check them.  Counts in exponents are 1 or 32.  What changes with the round has
    the same value in all rounds.  Everything that may be zero is positive (nonnegative) or not zero (real), as far as a
    linear programme finds it: its unknowns are those variables in which all hypotheses are linear.

    known  numbers that may be such, from which the search begins
    """
    first = {name: Fraction(value) for name, value in (known or {}).items()}
    if first.keys() != dict(theorem.variables).keys() or not all(_holds(one.says, first) for one in theorem.hypotheses):
        first = _instance(theorem) or {}
    best = _with_more(theorem, first) if first and zeros(first, theorem) else first
    if (
        best and zeros(best, theorem) and (other := _instance(theorem, 2))
    ):  # one step makes no drift, one client no sample
        best = min(best, _with_more(theorem, other), key=lambda numbers: len(zeros(numbers, theorem)))
    return best or None


def zeros(numbers: Mapping[str, Fraction], theorem: CoqTheorem) -> list[str]:
    """The variables that may be zero, and are."""
    return [name for name, where in theorem.variables if where in ("nonnegative", "real") and numbers[name] == 0]


def _hypotheses(theorem: CoqTheorem) -> list[str]:
    """What the hypotheses say, and that nothing changes from round to round."""
    steady = [f"{name} == {of}" for name, (of, later) in theorem.sequences.items() if later]
    return [*(one.says[-1] for one in theorem.hypotheses), *steady]


def _with_more(theorem: CoqTheorem, first: dict[str, Fraction]) -> dict[str, Fraction]:
    """Numbers like these with fewer zeros."""
    domains = dict(theorem.variables)
    symbols = {name: _symbol(name, where) for name, where in domains.items()}
    said = [text for text in _hypotheses(theorem) if names_in(text) <= domains.keys()]
    raised = {name for text in said for name in _in_exponents(parsed(text))}
    values: dict[str, sympy.Expr] = {**symbols, **{name: sympy.Integer(int(first[name])) for name in raised}}
    read = [one for text in said if (one := _relation(text, values)) is not None]
    free = {symbols[name] for name, where in domains.items() if where in ("nonnegative", "real")} - {
        symbols[n] for n in raised
    }
    unknown = _linear(read, free)
    open_ = free - _definitions(read).keys()  # what an equation says of a constant stays
    best = first
    for size in (*_SIZES, None):
        fixed = {
            s: size
            if s in open_ and size is not None
            else sympy.Rational(first[s.name].numerator, first[s.name].denominator)
            for s in symbols.values()
            if s not in unknown
        }
        given = [one.func(one.lhs.subs(fixed), one.rhs.subs(fixed), evaluate=False) for one in read]
        try:
            found = _positive(given, unknown)
        except ValueError:  # an irrational number, or a division by zero
            continue
        if found is None:
            continue
        whole = {s.name: fraction(v) for s, v in {**fixed, **found}.items()}
        fewer = len(zeros(whole, theorem)) < len(zeros(best, theorem))
        if fewer and all(_holds(one.says, whole) for one in theorem.hypotheses):
            best = whole
            if not zeros(best, theorem):
                break
    return best


def _linear(read: Iterable[Boolean], free: set[sympy.Symbol]) -> list[sympy.Symbol]:
    """Some of these symbols, so that all relations are linear in them."""
    left = set(free)
    for one in read:
        difference = sympy.sympify(one.lhs - one.rhs)
        for atom in difference.atoms(sympy.Max, sympy.Min, sympy.Abs) | {
            power for power in difference.atoms(sympy.Pow) if not (power.exp.is_Integer and power.exp > 0)
        }:
            left -= atom.free_symbols
        own = sorted(left & difference.free_symbols, key=str)
        if own:
            for powers in sympy.Poly(difference, *own).monoms():
                inside = [s for s, power in zip(own, powers, strict=True) if power and s in left]
                several = [s for s, power in zip(own, powers, strict=True) if power > 1]
                left -= set(several) if several else set(inside[:-1])
    return sorted(left, key=str)


def _positive(given: list[Boolean], unknown: list[sympy.Symbol]) -> dict[sympy.Symbol, sympy.Rational] | None:
    """A solution of linear relations with as much as possible positive, or at least not zero; None if there is none."""
    solver, named = z3.Solver(), {symbol: z3.Real(symbol.name) for symbol in unknown}
    for one in given:
        left = sum(
            (_number(c) * named[s] for s, c in _coefficients(one, unknown).items()), _number(_constant(one, unknown))
        )
        solver.add(_SIGNS[type(one)](left))
    solver.add(*(named[s] >= 0 for s in unknown if s.is_nonnegative))

    def found(*more: z3.BoolRef) -> dict[sympy.Symbol, sympy.Rational] | None:
        if solver.check(*more) != z3.sat:
            return None
        values = {s: solver.model().eval(own, model_completion=True) for s, own in named.items()}
        return {s: sympy.Rational(v.numerator_as_long(), v.denominator_as_long()) for s, v in values.items()}

    whole = found(*(own > 0 for own in named.values()))
    if whole is not None:
        return whole
    ways = [[own > 0] if s.is_nonnegative else [own > 0, own < 0] for s, own in named.items()]
    several = [next((one for way in each if (one := found(way)) is not None), None) for each in ways]
    reached = [one for one in several if one is not None]
    if not reached:
        return found()
    shares = [sympy.Rational(1, 2 + number) for number in range(len(reached))]  # unequal: nothing cancels by accident
    return {s: sum(h * one[s] for h, one in zip(shares, reached, strict=True)) / sum(shares) for s in unknown}


_SIGNS: Mapping[type, Callable[[z3.ArithRef], z3.BoolRef]] = {
    sympy.Le: lambda e: e <= 0,
    sympy.Lt: lambda e: e < 0,
    sympy.Ge: lambda e: e >= 0,
    sympy.Gt: lambda e: e > 0,
    sympy.Eq: lambda e: e == 0,
    sympy.Ne: lambda e: e != 0,
}


def _coefficients(one: Boolean, unknown: list[sympy.Symbol]) -> dict[sympy.Symbol, sympy.Rational]:
    difference = one.lhs - one.rhs
    return {s: difference.diff(s) for s in unknown if s in difference.free_symbols}


def _constant(one: Boolean, unknown: list[sympy.Symbol]) -> sympy.Rational:
    return (one.lhs - one.rhs).subs(dict.fromkeys(unknown, 0))


def _number(value: sympy.Expr) -> z3.RatNumRef:
    if not value.is_Rational:
        raise ValueError(f"{value}: expected a fraction")
    return z3.RealVal(f"{value.p}/{value.q}")


def _instance(theorem: CoqTheorem, least: int = 1) -> dict[str, Fraction] | None:
    """The same, in which first everything that may be zero is zero; counts are at least `least`."""
    some = (_instance_at(theorem, count, least) for count in (1, 32))  # 32: some bounds need many rounds
    return next((one for one in some if one is not None), None)


def _instance_at(theorem: CoqTheorem, count: int, least: int) -> dict[str, Fraction] | None:
    domains = dict(theorem.variables)
    said = [text for text in _hypotheses(theorem) if names_in(text) <= domains.keys()]
    symbols = {name: _symbol(name, where) for name, where in domains.items()}
    raised = {name for text in said for name in _in_exponents(parsed(text))}
    values: dict[str, sympy.Expr] = {**symbols, **dict.fromkeys(raised, sympy.Integer(count))}
    read = [one for text in said if (one := _relation(text, values)) is not None]
    meaning = _definitions(read)
    free = [s for name, s in symbols.items() if s not in meaning and name not in raised]
    given = [_with_meaning(one, meaning) for one in read if one.lhs not in meaning or one.rhs != meaning[one.lhs]]
    given += [_in_domain(s, e) for s, e in meaning.items() if s.is_nonnegative and count == 1]
    given += [sympy.Ge(s, least, evaluate=False) for s in free if domains[s.name] == "count" and least > 1]
    for zero in (("real", "nonnegative"), ("real",), ()):
        none = [sympy.Eq(s, 0, evaluate=False) for s in free if domains[s.name] in zero]
        found = _solution([*given, *none], free)
        if found is not None:
            found |= {s: e.subs(found) for s, e in meaning.items()}
            found |= {symbols[name]: sympy.Integer(count) for name in raised}
            signed = (_in_domain(s, value) is not sympy.false for s, value in found.items() if s.is_nonnegative)
            if all(value.is_Rational for value in found.values()) and all(signed):
                numbers = {s.name: fraction(value) for s, value in found.items()}
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
    return relation(value, 0, evaluate=False) if value.free_symbols else relation(value, 0)


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
