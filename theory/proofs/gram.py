"""Vectors and quadratic forms with exact coefficients: what a few rounds of an algorithm are made of.

A `GramVector` is a linear combination of unknown vectors.  A `QuadraticForm` is a combination of their inner products and of
unknown numbers, such as function values or sigma^2.  Both are by name, and hold in every dimension.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

Number = Fraction | int
Name = TypeVar("Name")


def _added(one: Mapping[Name, Fraction], other: Mapping[Name, Fraction], factor: Number) -> dict[Name, Fraction]:
    total = dict(one)
    for key, value in other.items():
        total[key] = total[key] + factor * value if key in total else factor * value
    return {key: value for key, value in total.items() if value}


def collected(terms: Iterable[tuple[Name, Any]]) -> dict[Name, Any]:
    """The sums of the terms of each name, without those that are 0."""
    found: dict[Name, Any] = {}
    for key, value in terms:
        found[key] = found[key] + value if key in found else value
    return {key: value for key, value in found.items() if value}


def pair(a: str, b: str) -> tuple[str, str]:
    """The key of the product of two vectors: their names in order."""
    return (a, b) if a <= b else (b, a)


@dataclass(frozen=True)
class GramVector:
    """A linear combination: name of an unknown vector -> coefficient."""

    parts: Mapping[str, Fraction]

    def __hash__(self) -> int:
        return hash(frozenset(self.parts.items()))

    def __add__(self, other: GramVector | float) -> GramVector:
        """Of two vectors; an algorithm's array of zeros counts as one."""
        if not isinstance(other, GramVector):
            return self if other == 0 else NotImplemented
        return GramVector(_added(self.parts, other.parts, 1))

    __radd__ = __add__

    def __sub__(self, other: GramVector | float) -> GramVector:
        if not isinstance(other, GramVector):
            return self if other == 0 else NotImplemented
        return GramVector(_added(self.parts, other.parts, -1))

    def __rsub__(self, zero: float) -> GramVector:
        return -self if zero == 0 else NotImplemented

    def __mul__(self, factor: Number | float) -> GramVector:
        number = factor if isinstance(factor, Fraction | int) else Fraction(float(factor))
        return GramVector({name: number * value for name, value in self.parts.items() if number})

    __rmul__ = __mul__

    def __truediv__(self, number: Number | float) -> GramVector:
        return self * (1 / Fraction(number))

    def __neg__(self) -> GramVector:
        return self * -1

    def __matmul__(self, other: GramVector) -> QuadraticForm:
        """The inner product."""
        terms = ((pair(a, b), x * y) for a, x in self.parts.items() for b, y in other.parts.items())
        return QuadraticForm(collected(terms), {})

    @property
    def square(self) -> QuadraticForm:
        """The squared norm."""
        return self @ self


@dataclass(frozen=True)
class QuadraticForm:
    """A quadratic form: inner products by the names of their vectors, in order, and numbers by name, with coefficients."""

    products: Mapping[tuple[str, str], Fraction]
    numbers: Mapping[str, Fraction]

    def __add__(self, other: QuadraticForm) -> QuadraticForm:
        return QuadraticForm(_added(self.products, other.products, 1), _added(self.numbers, other.numbers, 1))

    def __sub__(self, other: QuadraticForm) -> QuadraticForm:
        return QuadraticForm(_added(self.products, other.products, -1), _added(self.numbers, other.numbers, -1))

    def __mul__(self, factor: Number) -> QuadraticForm:
        return QuadraticForm(_added({}, self.products, factor), _added({}, self.numbers, factor))

    __rmul__ = __mul__

    def __truediv__(self, number: Number) -> QuadraticForm:
        return self * (1 / Fraction(number))

    def __neg__(self) -> QuadraticForm:
        return self * -1

    def __bool__(self) -> bool:
        return bool(self.products or self.numbers)

    @property
    def parts(self) -> dict[Any, Fraction]:
        """All coefficients, of the products and of the numbers."""
        return {**self.products, **self.numbers}


NOTHING, ZERO = GramVector({}), QuadraticForm({}, {})


def vector(name: str) -> GramVector:
    """An unknown vector."""
    return GramVector({name: Fraction(1)})


def number(name: str) -> QuadraticForm:
    """An unknown number."""
    return QuadraticForm({}, {name: Fraction(1)})


def total(vectors: Iterable[GramVector]) -> GramVector:
    """The sum of vectors."""
    return GramVector(collected(part for one in vectors for part in one.parts.items()))


def summed(forms: Iterable[QuadraticForm]) -> QuadraticForm:
    """The sum of quadratic forms."""
    several = list(forms)
    products = collected(part for one in several for part in one.products.items())
    return QuadraticForm(products, collected(part for one in several for part in one.numbers.items()))


def mean(forms: Iterable[QuadraticForm]) -> QuadraticForm:
    """The mean of quadratic forms."""
    several = list(forms)
    return summed(several) / len(several)
