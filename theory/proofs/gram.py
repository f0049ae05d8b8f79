"""Vectors and quadratic forms with exact coefficients: what a few rounds of an algorithm are made of.

A `GramVector` is a linear combination of unknown vectors.  A `QuadraticForm` is a combination of their inner products and of
unknown numbers, such as function values or sigma^2.  Both are by name, and hold in every dimension.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

Number = Fraction | int
Name = TypeVar("Name")


def _added(one: Mapping[Name, Fraction], other: Mapping[Name, Fraction], factor: Number) -> dict[Name, Fraction]:
    total = dict(one)
    for key, value in other.items():
        total[key] = total[key] + factor * value if key in total else factor * value
    return {key: value for key, value in total.items() if value}


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
        products: dict[tuple[str, str], Fraction] = {}
        for a, x in self.parts.items():
            for b, y in other.parts.items():
                key = (a, b) if a <= b else (b, a)
                products[key] = products.get(key, Fraction(0)) + x * y
        return QuadraticForm({key: value for key, value in products.items() if value}, {})

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


NOTHING, ZERO = GramVector({}), QuadraticForm({}, {})


def vector(name: str) -> GramVector:
    """An unknown vector."""
    return GramVector({name: Fraction(1)})


def number(name: str) -> QuadraticForm:
    """An unknown number."""
    return QuadraticForm({}, {name: Fraction(1)})


def total(vectors: Iterable[GramVector]) -> GramVector:
    """The sum of vectors."""
    found: dict[str, Fraction] = {}
    for one in vectors:
        for name, value in one.parts.items():
            found[name] = found.get(name, Fraction(0)) + value
    return GramVector({name: value for name, value in found.items() if value})


def summed(forms: Iterable[QuadraticForm]) -> QuadraticForm:
    """The sum of quadratic forms."""
    products: dict[tuple[str, str], Fraction] = {}
    numbers: dict[str, Fraction] = {}
    for one in forms:
        for key, value in one.products.items():
            products[key] = products[key] + value if key in products else value
        for name, value in one.numbers.items():
            numbers[name] = numbers[name] + value if name in numbers else value
    return QuadraticForm({k: v for k, v in products.items() if v}, {k: v for k, v in numbers.items() if v})


def mean(forms: Iterable[QuadraticForm]) -> QuadraticForm:
    """The mean of quadratic forms."""
    several = list(forms)
    return summed(several) / len(several)
