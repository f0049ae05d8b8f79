"""Figures of the FedBCGD paper: drawn whole, labelled, and their data say what the figures are for."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from fedtheory.figures import fedbcgd
from fedtheory.figures.fedbcgd import least
from fedtheory.simulations import expectation, run
from fedtheory.simulations.algorithms.fedbcgd import VARIANTS, FedBCGD
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory.fedbcgd.checks.counterexamples import Alike

# ------------------------------------------------------------------------------------------- printed theorems


def test_least_is_that_over_all_polynomials() -> None:
    """Against least squares over the coefficients, and against the fractions of the counter-example."""
    h, weights = np.linspace(0.1, 1.0, 12), np.arange(1.0, 13.0)
    for degree, found in enumerate(least(h, weights, 5)):
        powers = np.sqrt(weights)[:, None] * h[:, None] ** np.arange(1, degree + 1)
        rest = np.sqrt(weights)
        if degree:
            rest = rest + powers @ np.linalg.lstsq(powers, -rest, rcond=None)[0]
        assert found == pytest.approx(rest @ rest, rel=1e-6)
    instance, two = Alike(sympy.Integer(1), sympy.Rational(0), 1), np.array([1.0, 0.5])
    assert least(two, two / 2, 1)[1] == pytest.approx(float(instance.least_gap))
    assert least(two, two**2, 1)[1] == pytest.approx(float(instance.least_gradient))


def test_least_is_reached_by_no_run_of_momentum() -> None:
    """Gradient descent with momentum, whatever its settings, is never below, and conjugate gradients reach it."""
    h = fedbcgd.WELL_CONDITIONED
    lowest = least(h, h / 2, 10)
    for eta in (0.5, 1.0, 1.6):
        for lam in (0.0, 0.1, 0.5):
            x, v = np.ones_like(h), np.zeros_like(h)
            for r in range(11):
                assert (h * x**2).sum() / 2 >= lowest[r] * (1 - 1e-12)
                v = lam * v - eta * h * x
                x = x + v
    x, g = np.ones_like(h), h.copy()
    p = -g
    for r in range(1, 6):
        step = (g @ g) / (p @ (h * p))
        x, new = x + step * p, g + step * h * p
        p, g = -new + (new @ new) / (g @ g) * p, new
        assert (h * x**2).sum() / 2 == pytest.approx(lowest[r], rel=1e-6)


def test_unseen_client_is_what_the_run_leaves() -> None:
    """One of four clients is sampled a round: the expected gap never falls below what the unseen client leaves."""
    M = 4
    problem = Quadratic(np.ones((M, 1, 1)), np.array([[0.0]] * (M - 1) + [[-float(M)]]))
    for variant in ("FedBCGD+", "FedBCGD+, as printed"):
        method = VARIANTS[variant](T=2, eta=[0.01, 0.1, 0.5], N=1, K=1)
        gap = expectation(problem, method, rounds=10, x0=0.0, record=("gap",)).gap
        assert (gap.values >= 0.5 * (1 - 1 / M) ** np.arange(11) * (1 - 1e-12)).all()


# ------------------------------------------------------------------------------------------------ algorithms


def test_printed_momentum_takes_the_first_step_twice() -> None:
    """Printed, from v = 0: x + change + v, v = change; in the long run lam adds up to 1 + alpha."""
    problem = fedbcgd.quadratics(apart=0.0)
    twice = run(problem, FedBCGD(1, 0.2, 1, 4), rounds=5, x0=1.0).gap
    printed = run(problem, FedBCGD(1, 0.1, 1, 4, momentum="printed"), rounds=5, x0=1.0).gap
    np.testing.assert_allclose(printed, twice, rtol=1e-9)
