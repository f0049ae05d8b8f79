"""Means over all samples against their definition; Lemmas 3 and 4 of the SFL paper have closed forms of them."""

from __future__ import annotations

from itertools import permutations

import pytest
import sympy
from sympy import Rational

from fedtheory.theory.proofs import enumeration

# A population in two dimensions
POPULATION = [sympy.Matrix(v) for v in ((1, -2), (Rational(3, 2), 5), (-4, Rational(1, 3)), (7, 0))]


@pytest.mark.parametrize("weights", [(1, -1, 2), (0, 0, 3), (5, 1, 1)])
def test_the_mean_square_of_a_weighted_sample(weights: tuple[int, ...]) -> None:
    """E||sum_p weights_p (x_{pi_p} - xbar)||^2, and zeta^2."""
    shifted = [x - sum(POPULATION, sympy.zeros(2, 1)) / 4 for x in POPULATION]
    samples = list(permutations(range(4), 3))
    sums = [sum((w * shifted[i] for w, i in zip(weights, one, strict=True)), sympy.zeros(2, 1)) for one in samples]
    mean, variance = (Rational(1, len(many)) * sum(v.dot(v) for v in many) for many in (sums, shifted))
    form = enumeration.mean_form(samples, weights, 4)
    assert enumeration.times_variance(form) == mean / variance
    assert (form * sympy.Matrix(4, 4, lambda i, j: shifted[i].dot(shifted[j]))).trace() == mean


def test_a_form_that_is_no_multiple_of_the_variance_is_refused() -> None:
    with pytest.raises(ValueError, match="no multiple of the population variance"):
        enumeration.times_variance(enumeration.mean_form([(0,)], [1], 3))
