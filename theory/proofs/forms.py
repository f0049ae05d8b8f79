"""Quadratic forms in random vectors, in expectation: the algebraic meaning of a symbol such as E||x^(r+1) - x*||^2.

A product of two vector symbols stands for the mean of their inner product, and a symbol such as F[x] for the mean of a
function value.  So an identity of polynomials is an identity in every dimension and for every law.  If a vector depends
on a client or a local step, its name shows the families that it runs over in angle brackets: g<C,I>.  `Family.sum` is the
sum over a family, and is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from theory.proofs.vectors import point

TAG = re.compile(r"<([^>]*)>")
_WORD = re.compile(r"[A-Za-z_]\w*")


def families_of(symbol: sympy.Symbol) -> set[str]:
    """The families that a vector, or a function value, runs over."""
    return {name for tag in TAG.findall(symbol.name) for name in tag.split(",") if name}


def vector(name: str, *families: Family) -> sympy.Symbol:
    """A random vector, one for each member of the families."""
    tag = ",".join(f.name for f in families)
    return sympy.Symbol(f"{name}<{tag}>" if tag else name, real=True)


def replaced(e: Any, symbols: Mapping[sympy.Expr, sympy.Expr]) -> Any:
    """An expression or relation with symbols, or longer expressions, replaced, all at once."""
    if all(isinstance(symbol, sympy.Symbol) for symbol in symbols):
        return e.xreplace(dict(symbols))  # many times faster
    return e.subs(dict(symbols), simultaneous=True)


def renamed(e: sympy.Expr, old: Family, new: Family) -> sympy.Expr:
    """The same form with vectors that run over family `new` instead of `old`."""

    def other(tag: re.Match[str]) -> str:
        return f"<{','.join(new.name if name == old.name else name for name in tag[1].split(','))}>"

    members = [s for s in e.free_symbols if old.name in families_of(s)]
    return e.xreplace({s: sympy.Symbol(TAG.sub(other, s.name), real=True) for s in members})


def names_in(e: sympy.Expr) -> set[str]:
    """The names in the vectors and function values of a form, without families, sums and gradients."""
    words = {word for s in vectors_in(e) for word in _WORD.findall(TAG.sub("", s.name))}
    return {word for word in words if word not in ("grad", "before") and not word.startswith("sum_")}


def vectors_in(e: sympy.Expr) -> set[sympy.Symbol]:
    """The vectors and function values in a form: the symbols without a known sign.  All numbers of the papers have one."""
    return {s for s in e.free_symbols if s.is_extended_nonnegative is None and s.is_integer is None}


def tagged(e: sympy.Expr, family: Family) -> sympy.Expr:
    """A form in which every vector and function value belongs to a member of the family."""
    return e.xreplace({s: sympy.Symbol(f"{s.name}<{family.name}>", real=True) for s in vectors_in(e)})


def gradient(function: sympy.Symbol, at: sympy.Expr) -> sympy.Symbol:
    """The gradient of a function at a point."""
    found: sympy.Symbol = point(function, at).gradient
    return found


def value(function: sympy.Symbol, at: sympy.Expr) -> sympy.Symbol:
    """The value of a function at a point."""
    found: sympy.Symbol = point(function, at).value
    return found


def before(e: sympy.Expr, *families: Family) -> sympy.Expr:
    """For each step of the families, the sum of a vector over the steps before it, in the order in which they are taken.

    Linear in the vectors; a vector that is the same in all steps counts as often as there are steps before.  Raises
    ValueError for a product of vectors.
    """
    names = ",".join(family.name for family in families)
    members = sorted(vectors_in(e), key=str)
    if sympy.expand(e) != 0 and any(sum(powers) != 1 for powers, _ in sympy.Poly(sympy.expand(e), *members).terms()):
        raise ValueError(f"{e}: expected a linear combination of vectors")
    return sympy.expand(e.xreplace({s: sympy.Symbol(f"before({s.name})<{names}>", real=True) for s in members}))


@dataclass(frozen=True)
class Family:
    """Clients or local steps that vectors run over.

    mass     the number of members, or the sum of their weights
    part_of  the families of which this one is a part, as the steps so far are a part of all steps
    at_once  whether the members work in parallel, so that none comes after another
    """

    name: str
    mass: sympy.Expr
    part_of: tuple[Family, ...] = ()
    at_once: bool = False

    def sum(self, e: sympy.Expr) -> sympy.Expr:
        """A vector, or a form, summed over the family; a part that does not depend on the family counts `mass` times.

        Raises ValueError for a product of more than two members.
        """
        members = sorted((s for s in e.free_symbols if self.name in families_of(s)), key=str)
        if not members:
            return sympy.expand(self.mass * e)
        total = sympy.Integer(0)
        for powers, coefficient in sympy.Poly(sympy.expand(e), *members).terms():
            factors = [s for s, p in zip(members, powers, strict=True) for _ in range(p)]
            if len(factors) > 2:
                raise ValueError(f"{e}: expected products of two members of {self.name} at most")
            total += coefficient * (self._total(factors) if factors else self.mass)
        return sympy.expand(total)

    def _total(self, factors: Iterable[sympy.Symbol]) -> sympy.Symbol:
        """The sum over the family of a member, or of the inner product of two, as a symbol."""

        def without(tag: re.Match[str]) -> str:
            rest = [name for name in tag[1].split(",") if name != self.name]
            return f"<{','.join(rest)}>" if rest else ""

        inside = "*".join(sorted(s.name for s in factors))
        return sympy.Symbol(f"sum_{self.name}({TAG.sub(without, inside)})", real=True)
