"""Linear algebra in exact numbers: in fractions, or in rational functions of a symbol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from sympy import QQ
from sympy.polys.matrices import DomainMatrix


def fraction(x: Any) -> Fraction:
    """A rational number of Python, of sympy or of one of its domains, as a fraction."""
    return Fraction(int(x.numerator), int(x.denominator))


def symmetric(
    products: Mapping[tuple[str, str], Any], names: Sequence[str], zero: Any = Fraction(0)
) -> list[list[Any]]:
    """The symmetric matrix of a form in the products of these vectors."""
    place = {name: i for i, name in enumerate(names)}
    found = [[zero] * len(names) for _ in names]
    for (a, b), c in products.items():
        found[place[a]][place[b]] += c / 2
        found[place[b]][place[a]] += c / 2
    return found


def solution(system: Sequence[Sequence[Fraction]]) -> list[Fraction] | None:
    """A solution of a system, augmented by its right side; free unknowns are 0, and None if there is none."""
    found = solution_over(QQ, [[QQ(x.numerator, x.denominator) for x in row] for row in system])
    return None if found is None else [fraction(x) for x in found]


def solution_over(domain: Any, system: Sequence[Sequence[Any]]) -> list[Any] | None:
    """The same in another of sympy's domains."""
    unknowns = len(system[0]) - 1 if system else 0
    reduced, pivots = DomainMatrix(system, (len(system), unknowns + 1), domain).rref()
    if unknowns in pivots:
        return None
    found = [domain.zero] * unknowns
    for i, column in enumerate(pivots):
        found[column] = reduced[i, unknowns].element
    return found
