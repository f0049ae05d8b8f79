"""The rules of the sharper theorems of SFL and PFL, on numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product

import pytest
import sympy
from sympy import Rational

from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.forms import Alone, Family, StochasticGradient, before, vector

C, I = Family("C", sympy.Integer(3)), Family("I", sympy.Integer(2))  # three clients, two steps each
a, b, n = vector("a", C), vector("b", C), vector("n", C, I)


def summed(e: sympy.Expr) -> sympy.Expr:
    """The sum over all steps, as one symbol."""
    return C.sum(I.sum(e))


def in_order(per_step: list[int]) -> list[int]:
    return [sum(per_step[:t]) for t in range(len(per_step))]


# Rules about steps in their order, on numbers


def mean_over_orders(of: Callable[[list[int], list[int]], int]) -> Rational:
    """The mean over all orders of three clients with two steps each; a and b at every step."""
    own, orders = ((2, -1, 5), (3, 4, -2)), list(permutations(range(3)))
    found = [of(*([values[m] for m in order for _ in range(2)] for values in own)) for order in orders]
    return Rational(sum(found), len(orders))


def test_partial_sums_and_pairs_over_all_orders() -> None:
    at = {C.sum(b**2): 9 + 16 + 4, C.sum(b): 5, C.sum(a): 6, C.sum(a * b): 6 - 4 - 10}
    squares = mean_over_orders(lambda _, y: sum(q**2 for q in in_order(y)))
    pairs = mean_over_orders(lambda x, y: sum(p * q for p, q in zip(x, in_order(y), strict=True)))
    at |= {summed(before(b, C, I) ** 2): squares, summed(a * before(b, C, I)): pairs}
    assert rules.PARTIAL_SUMS.slack(b, C, I).subs(at) == 0
    assert rules.PAIRS_IN_ORDER.slack(a, b, C, I).subs(at) == 0
    assert rules.PARTIAL_SUMS.slack(b, C, I).subs(at | {summed(before(b, C, I) ** 2): squares + 1}) == -1


def test_sums_so_far_on_every_small_sequence() -> None:
    tight = Rational(10)
    for values in product((-1, 0, 2), repeat=6):
        rest = in_order(list(values))
        whole, squares = sum(values), sum(v**2 for v in values)
        own = {
            summed(n): whole,
            summed(n**2): squares,
            summed(n * before(n, C, I)): sum(map(int.__mul__, values, rest)),
        }
        assert rules.IN_ORDER.slack(n, n, C, I).subs(own) == 0
        more = own | {summed(before(n, C, I) ** 2): sum(r**2 for r in rest)}
        slack = rules.SUMS_BEFORE.slack(n, C, I).subs(more)
        assert slack >= 0
        if squares:
            tight = min(tight, slack / squares)
    assert tight < 4  # of 15: the factor n (n - 1) / 2 is not far from what sequences of one sign need


def test_copies_and_noise_so_far() -> None:
    copies = {I.sum(a * before(b, I)): 1 * (0 + 1), I.sum(before(b, I) ** 2): 0 + 1, a: 1, b: 1}
    assert rules.COPIES.slack(a, b, I).subs(copies) == 0 and rules.COPIES_SQUARED.slack(b, I).subs(copies) == 0
    five, sigma = Family("I", sympy.Integer(5)), sympy.Symbol("sigma", positive=True)
    outcomes = [in_order(list(signs)) for signs in product((-1, 1), repeat=5)]
    mean = Fraction(sum(q**2 for found in outcomes for q in found), len(outcomes))
    noise = rules.Noise(StochasticGradient("n", Alone("h"), vector("y", five)).error, frozenset())
    squares = five.sum(sympy.expand(before(noise.vector, five) ** 2))
    assert sympy.expand(rules.NOISE_BEFORE(sigma, noise, five) + squares).subs(sigma, 1) == Rational(mean)


def test_vectors_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="at the start of the round"):
        rules.PARTIAL_SUMS.slack(n, C, I)
    with pytest.raises(ValueError, match="the same in all steps"):
        rules.COPIES.slack(a, n, I)
    with pytest.raises(ValueError, match="linear combination"):
        before(a * b, C, I)
