"""A step of a proof as text: the relations that are given, and the claim that must follow from them.

z3 reads sympy's objects.  Everything else reads this text: the checker of certificates, Coq, and the exact evaluation in
fractions below.
The text keeps what the step says: the same divisions, roots, minima and maxima, nothing multiplied out.

    a + b - 2 * c**2 / (d * e)    root(S, 1, 2)    max(a, b)    min(a, b)    abs(a)    exp(a)    log(a)    pow(a, n)

root(a, p, q) is a^(p/q) for a whole number q > 1, pow(a, n) a power whose exponent is no number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Literal

import sympy
from mpmath.ctx_iv import MPIntervalContext
from mpmath.libmp import to_rational
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean, BooleanAtom

Domain = Literal["count", "positive", "nonnegative", "real"]
_BITS = (64, 256, 1024)  # of precision for roots, exp and log of fractions, until a relation is decided


@dataclass(frozen=True)
class Sequent:
    """Whatever the variables are in their domains: if everything given holds, so does the claim.

    variables  (name, domain): count (whole, >= 1), positive, nonnegative or real
    given      relations; each also says that its divisors are not zero and its radicands not negative
    claim      a relation; it also claims that its divisors are not zero and its radicands not negative
    """

    variables: tuple[tuple[str, Domain], ...]
    given: tuple[str, ...]
    claim: str

    @property
    def digest(self) -> str:
        """A short name for exactly this text."""
        return sha256(repr((self.variables, self.given, self.claim)).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        names = ", ".join(f"{name} {domain}" for name, domain in self.variables)
        return f"{names or 'no variables'}: {', '.join(self.given) or 'nothing'} => {self.claim}"


def sequents(hypotheses: Iterable[Boolean], claims: Iterable[Boolean]) -> list[Sequent]:
    """The steps from these hypotheses to each of the claims, in one set of names.

    Raises ValueError for an expression that the text has no form for.
    """
    given, goals = list(hypotheses), list(claims)
    names = names_of(set().union(*(r.free_symbols for r in (*given, *goals))))
    written = {relation(one, names) for each in given for one in _parts(each)} - {"True"}
    found = []
    for goal in (one for each in goals for one in _parts(each)):
        claim = relation(goal, names)
        used = names_in(claim, *written)
        variables = tuple((name, domain(symbol)) for symbol, name in names.items() if name in used)
        found.append(Sequent(variables, tuple(sorted(written)), claim))
    return found


def _parts(relation: Boolean) -> list[Boolean]:
    return [one for each in relation.args for one in _parts(each)] if isinstance(relation, sympy.And) else [relation]


def domain(symbol: sympy.Symbol) -> Domain:
    """The domain of a symbol, as the arithmetic reads it."""
    if symbol.is_positive:
        return "count" if symbol.is_integer else "positive"
    return "nonnegative" if symbol.is_nonnegative else "real"


def names_of(symbols: Iterable[sympy.Symbol]) -> dict[sympy.Symbol, str]:
    """A name for each symbol: its own, in letters, digits and underscores, and made different from all others."""
    names: dict[sympy.Symbol, str] = {}
    taken: set[str] = set()
    for symbol in sorted(symbols, key=lambda s: (s.name, domain(s))):
        name = re.sub(r"[\W_]+", "_", symbol.name).strip("_") or "v"
        name = name if name.isidentifier() else f"v{name}"
        while name in taken or name in _FUNCTIONS:
            name += "_"
        taken.add(name)
        names[symbol] = name
    return names


def names_in(*texts: str) -> set[str]:
    """The variables of these texts."""
    return {word for text in texts for word in re.findall(r"[^\W\d]\w*", text)} - {*_FUNCTIONS, "True", "False"}


# Writing


_FUNCTIONS = ("root", "max", "min", "abs", "exp", "log", "pow")
_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how tightly the last operation of a text binds


def relation(r: Boolean, names: Mapping[sympy.Symbol, str]) -> str:
    """A relation as text."""
    if isinstance(r, BooleanAtom):
        return str(bool(r))
    if not isinstance(r, Relational):
        raise ValueError(f"{r}: expected a relation")
    return f"{expression(r.lhs, names)} {r.rel_op} {expression(r.rhs, names)}"


def expression(e: sympy.Expr, names: Mapping[sympy.Symbol, str]) -> str:
    """An expression as text.  Raises ValueError for what the text has no form for."""
    return _written(e, names)[0]


def _written(e: sympy.Expr, names: Mapping[sympy.Symbol, str]) -> tuple[str, int]:
    def at(part: sympy.Expr, level: int) -> str:
        text, binds = _written(part, names)
        return text if binds >= level else f"({text})"

    match e:
        case sympy.Symbol():
            return names[e], _ATOM
        case sympy.Rational():
            return (str(e), (_ATOM if e.q == 1 else _PRODUCT)) if e >= 0 else (f"-{-e}", _SUM)
        case sympy.Add():
            text = at(e.args[0], _SUM)
            for part in e.args[1:]:
                minus = part.as_coeff_Mul()[0].is_negative
                text += f" - {at(-part, _PRODUCT)}" if minus else f" + {at(part, _PRODUCT)}"
            return text, _SUM
        case sympy.Mul():
            coefficient, rest = e.as_coeff_Mul()
            if coefficient.is_negative:
                return f"-{at(-e, _PRODUCT)}", _SUM
            below = [part for part in sympy.Mul.make_args(rest) if _is_below(part)]
            above = [part for part in sympy.Mul.make_args(rest) if not _is_below(part)]
            top = [str(coefficient.p)] if coefficient.p != 1 or not above else []
            bottom = [str(coefficient.q)] if coefficient.q != 1 else []
            top += [at(part, _POWER) for part in above]
            bottom += [at(1 / part, _POWER) for part in below]
            divisor = " * ".join(bottom)
            over = f" / ({divisor})" if len(bottom) > 1 else f" / {divisor}" if bottom else ""
            return " * ".join(top) + over, _PRODUCT
        case sympy.exp():
            return f"exp({expression(e.args[0], names)})", _ATOM
        case sympy.Pow(base=base, exp=power) if power.is_Rational:
            if power < 0:
                return f"1 / {at(1 / e, _POWER)}", _PRODUCT
            if power.is_Integer:
                return f"{at(base, _ATOM)}**{power}", _POWER
            return f"root({expression(base, names)}, {power.p}, {power.q})", _ATOM
        case sympy.Pow(base=base, exp=power):
            return f"pow({expression(base, names)}, {expression(power, names)})", _ATOM
        case sympy.Max() | sympy.Min() | sympy.Abs() | sympy.log():
            inside = ", ".join(expression(part, names) for part in e.args)
            return f"{type(e).__name__.lower()}({inside})", _ATOM
    raise ValueError(f"{e}: expected sums, products, powers, roots, min, max, exp and log of symbols")


def _is_below(part: sympy.Expr) -> bool:
    return isinstance(part, sympy.Pow) and part.exp.is_Rational and part.exp < 0


# Reading


@lru_cache(maxsize=4096)
def parsed(text: str) -> ast.expr:
    """The tree of a relation or an expression.  Do not change it: it is shared."""
    return ast.parse(text, mode="eval").body


def guards(text: str) -> list[str]:
    """When a relation or an expression is defined: its divisors are not zero, its radicands not negative."""
    found: dict[str, None] = {}
    for node in ast.walk(parsed(text)):
        match node:
            case ast.BinOp(op=ast.Div(), right=divisor) if not isinstance(divisor, ast.Constant):
                found[f"{ast.unparse(divisor)} != 0"] = None
            case ast.Call(func=ast.Name(id="root"), args=[base, *_]) if not isinstance(base, ast.Constant):
                found[f"{ast.unparse(base)} >= 0"] = None
            case ast.Call(func=ast.Name(id="log"), args=[inside]) if not isinstance(inside, ast.Constant):
                found[f"{ast.unparse(inside)} > 0"] = None
    return list(found)


# Exact evaluation


Range = tuple[Fraction, Fraction]  # both ends are the number itself where no root is irrational


def holds(text: str, values: Mapping[str, Fraction]) -> bool | None:
    """Whether a relation holds for these numbers, exactly; None if it is not defined or cannot be decided.

    Raises ValueError for a power whose exponent is no whole number.
    """
    tree = parsed(text)
    if isinstance(tree, ast.Constant):
        return bool(tree.value)
    assert isinstance(tree, ast.Compare)
    for bits in _BITS:
        try:
            left, right = (_range(side, values, bits) for side in (tree.left, tree.comparators[0]))
        except ZeroDivisionError:
            return None
        found = _compare(tree.ops[0], (left[0] - right[1], left[1] - right[0]))
        if found is not None:
            return found
    return None


def _compare(operator: ast.cmpop, difference: Range) -> bool | None:
    """Whether a number between these ends is related to zero."""
    low, high = difference
    sign = 1 if low > 0 else -1 if high < 0 else 0 if low == high == 0 else None
    match operator:
        case ast.LtE():
            return False if sign == 1 else True if sign is not None or high <= 0 else None
        case ast.Lt():
            return True if sign == -1 else False if sign is not None or low >= 0 else None
        case ast.GtE():
            return False if sign == -1 else True if sign is not None or low >= 0 else None
        case ast.Gt():
            return True if sign == 1 else False if sign is not None or high <= 0 else None
        case ast.Eq():
            return None if sign is None else sign == 0
    return None if sign is None else sign != 0


def _range(tree: ast.expr, values: Mapping[str, Fraction], bits: int) -> Range:
    def at(part: ast.expr) -> Range:
        return _range(part, values, bits)

    match tree:
        case ast.Constant(value=int(number)):
            return Fraction(number), Fraction(number)
        case ast.Name(id=name):
            return values[name], values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            low, high = at(operand)
            return -high, -low
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            (a, b), (c, d) = at(left), at(right)
            return a + c, b + d
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            (a, b), (c, d) = at(left), at(right)
            return a - d, b - c
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _product(at(left), at(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _product(at(left), _inverse(at(right)))
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return _power(at(left), power)
        case ast.Call(func=ast.Name(id="max"), args=args):
            ends = [at(part) for part in args]
            return max(low for low, _ in ends), max(high for _, high in ends)
        case ast.Call(func=ast.Name(id="min"), args=args):
            ends = [at(part) for part in args]
            return min(low for low, _ in ends), min(high for _, high in ends)
        case ast.Call(func=ast.Name(id="abs"), args=[inside]):
            low, high = at(inside)
            return (low, high) if low >= 0 else (-high, -low) if high <= 0 else (Fraction(0), max(-low, high))
        case ast.Call(func=ast.Name(id="root"), args=[inside, ast.Constant(value=int(p)), ast.Constant(value=int(q))]):
            low, high = at(inside)
            if low < 0:
                raise ZeroDivisionError  # not defined, or not known to be
            return _power((_root(low, q, bits)[0], _root(high, q, bits)[1]), p)
        case ast.Call(func=ast.Name(id="pow"), args=[inside, exponent]):
            low, high = at(exponent)
            if low != high or low.denominator != 1:
                raise ValueError(f"{ast.unparse(tree)}: expected a whole number in the exponent")
            raised = _power(at(inside), abs(low.numerator))
            return raised if low >= 0 else _inverse(raised)
        case ast.Call(func=ast.Name(id="exp"), args=[inside]):
            low, high = at(inside)
            return _enclosed("exp", low, bits)[0], _enclosed("exp", high, bits)[1]
        case ast.Call(func=ast.Name(id="log"), args=[inside]):
            low, high = at(inside)
            if low <= 0:
                raise ZeroDivisionError
            return _enclosed("log", low, bits)[0], _enclosed("log", high, bits)[1]
    raise ValueError(
        f"{ast.unparse(tree)}: expected sums, products, roots, min, max, exp and log of numbers and variables"
    )


def _product(one: Range, other: Range) -> Range:
    ends = [a * b for a in one for b in other]
    return min(ends), max(ends)


def _inverse(divisor: Range) -> Range:
    low, high = divisor
    if low <= 0 <= high:
        raise ZeroDivisionError
    return 1 / high, 1 / low


def _power(base: Range, power: int) -> Range:
    low, high = base[0] ** power, base[1] ** power
    if power % 2 == 0 and base[0] < 0:
        return (high, low) if base[1] <= 0 else (Fraction(0), max(low, high))
    return low, high


def _enclosed(function: Literal["exp", "log"], number: Fraction, bits: int) -> Range:
    """The function at a fraction, between two numbers, by interval arithmetic."""
    context = MPIntervalContext()
    context.prec = bits
    found = getattr(context, function)(context.mpf(number.numerator) / number.denominator)
    low, high = (Fraction(*to_rational(end)) for end in found._mpi_)
    return low, high


def _root(number: Fraction, q: int, bits: int) -> Range:
    """The q-th root of a fraction >= 0: itself if it is a fraction, else between two neighbours."""
    # (a / b)^(1/q) = (a b^(q-1))^(1/q) / b
    scale = 1 << bits
    root, exact = sympy.integer_nthroot(number.numerator * number.denominator ** (q - 1), q)
    if exact:
        return Fraction(int(root), number.denominator), Fraction(int(root), number.denominator)
    root, _ = sympy.integer_nthroot(number.numerator * number.denominator ** (q - 1) * scale**q, q)
    return tuple(Fraction(int(root) + more, number.denominator * scale) for more in (0, 1))  # type: ignore[return-value]
