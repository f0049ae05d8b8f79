"""Exact enumeration against plain fractions on concrete vectors; and every check of it seen to fail."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product

import pytest
import sympy
from sympy import Rational, Sum

from fedtheory.theory.proofs import enumeration
from fedtheory.theory.sfl.symbols import n

Vector = tuple[Fraction, ...]

# Concrete populations in two dimensions; only the first n are used
POPULATION: list[Vector] = [
    (Fraction(1), Fraction(-2)),
    (Fraction(3, 2), Fraction(5)),
    (Fraction(-4), Fraction(1, 3)),
    (Fraction(7), Fraction(0)),
    (Fraction(-1, 5), Fraction(2)),
]


def centred(size: int) -> tuple[list[Vector], Fraction]:
    """x_i - xbar and zeta^2 of the first `size` units."""
    units = POPULATION[:size]
    mean = [sum(column) / size for column in zip(*units, strict=True)]
    shifted = [tuple(a - b for a, b in zip(u, mean, strict=True)) for u in units]
    return shifted, sum((inner(u, u) for u in shifted), Fraction(0)) / size


def inner(u: Vector, v: Vector) -> Fraction:
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))


def weighted(units: Sequence[Vector], weights: Sequence[int]) -> Vector:
    return tuple(sum((w * u[i] for w, u in zip(weights, units, strict=True)), Fraction(0)) for i in range(2))


def mean_square(size: int, samples: Sequence[tuple[int, ...]], weights: Sequence[int]) -> Fraction:
    """E||sum_p weights_p (x_{pi_p} - xbar)||^2 / zeta^2, straight from its definition."""
    shifted, variance = centred(size)
    squares = []
    for sample in samples:
        v = weighted([shifted[i] for i in sample], weights)
        squares.append(inner(v, v))
    return sum(squares, Fraction(0)) / len(squares) / variance


def as_rational(f: Fraction) -> sympy.Rational:
    return Rational(f.numerator, f.denominator)


@pytest.mark.parametrize(("size", "draws"), [(2, 1), (2, 2), (3, 2), (4, 3), (5, 2)])
@pytest.mark.parametrize("replacement", [True, False])
def test_variance_of_the_sample_mean(size: int, draws: int, replacement: bool) -> None:
    samples = list(product(range(size), repeat=draws) if replacement else permutations(range(size), draws))
    by_hand = as_rational(mean_square(size, samples, [1] * draws)) / draws**2
    assert enumeration.sample_mean_variance(size, draws, replacement) == by_hand


@pytest.mark.parametrize("weights", [(1, -1, 2), (0, 0, 3), (5, 1, 1)])
def test_mean_form(weights: tuple[int, ...]) -> None:
    samples = list(permutations(range(4), 3))
    form = enumeration.mean_form(samples, weights, 4)
    assert enumeration.times_variance(form) == as_rational(mean_square(4, samples, weights))
    shifted, variance = centred(4)
    grams = sympy.Matrix(4, 4, lambda i, j: as_rational(inner(shifted[i], shifted[j])))
    assert (form * grams).trace() == as_rational(mean_square(4, samples, weights) * variance)


def test_a_form_that_is_no_multiple_of_the_variance_is_refused() -> None:
    with pytest.raises(ValueError, match="no multiple of the population variance"):
        enumeration.times_variance(enumeration.mean_form([(0,)], [1], 3))


@pytest.mark.parametrize("size", [2, 3, 5])
def test_covariance(size: int) -> None:
    shifted, variance = centred(size)
    pairs = list(permutations(range(size), 2))
    mean = sum((inner(shifted[i], shifted[j]) for i, j in pairs), Fraction(0)) / len(pairs)
    assert enumeration.sample_covariance(size) == as_rational(mean / variance)


def lemma4_by_hand(clients: int, steps: int, at: int, done: int) -> Fraction:
    """E||sum_{i<=m} sum_{j<=b_mk(i)} (x_{pi_i} - xbar)||^2 / zeta^2, the inner sum written out."""
    shifted, variance = centred(clients)
    total = Fraction(0)
    orders = list(permutations(range(clients), at))
    for order in orders:
        v: Vector = (Fraction(0), Fraction(0))
        for i in range(1, at + 1):
            last = steps - 1 if i <= at - 1 else done - 1  # b_mk(i)
            for _ in range(last + 1):
                v = weighted([v, shifted[order[i - 1]]], [1, 1])
        total += inner(v, v)
    return total / len(orders) / variance


@pytest.mark.parametrize(("clients", "taking", "steps"), [(2, 2, 2), (3, 2, 3), (4, 4, 2), (5, 3, 1)])
def test_partial_sums(clients: int, taking: int, steps: int) -> None:
    table = {(i, j): lemma4_by_hand(clients, steps, i, j) for i in range(1, taking + 1) for j in range(steps)}
    for (i, j), value in table.items():
        assert enumeration.partial_sum(clients, steps, i, j) == as_rational(value)
    total = as_rational(sum(table.values(), Fraction(0)))
    assert enumeration.partial_sums(clients, taking, steps) == total
    assert enumeration.partial_sums_of_many(clients, taking, steps) == total


# --- Every piece of evidence, seen to fail ---------------------------------------------------------------------------


xi = sympy.IndexedBase("x", real=True)[sympy.Symbol("i", real=True, integer=True, positive=True)]
i = xi.indices[0]
mean = Sum(xi, (i, 1, n)) / n
