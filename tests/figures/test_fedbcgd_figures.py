"""Figures of the FedBCGD paper: drawn whole, labelled, and their data say what the figures are for."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from fedtheory.figures import fedbcgd, fedcom
from fedtheory.figures.fedbcgd import least
from fedtheory.figures.fedcom import admits, admitted, contraction_limit, pair, quadratics, resting_point, with_q
from fedtheory.simulations import expectation, run
from fedtheory.simulations.algorithms.fedbcgd import VARIANTS, FedBCGD
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.exact.linear import spectral_radius
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


# Figures of the FedCOM paper


def test_the_resting_point_is_one() -> None:
    """All clients: the minimiser; fewer: the gradient balances the pull to the start."""
    problem, x0 = quadratics(), np.ones(5)
    np.testing.assert_allclose(resting_point(problem, 4, 0.1, 1.0, 5, x0), problem.constants["x_star"], atol=1e-12)
    w = resting_point(problem, 1, 0.1, 2.0, 5, x0)
    np.testing.assert_allclose(problem.full_gradient(w), 0.75 * (x0 - w), atol=1e-12)


def test_compression_ratio_counts_the_indices() -> None:
    for ratio in (0.5, 0.25, 0.1):
        k = fedcom.kept_at(ratio, 640)
        assert k * (32 + 10) <= ratio * 32 * 640 < (k + 1) * (32 + 10)


def test_cond78_admits_where_the_algorithm_diverges() -> None:
    symbols = {"L": 1.0, "mu": 0.1, "m": 2.0, "tau": 5.0, "q": 0.5}
    found = admitted("fedcom.cond78", np.array([0.03]), np.geomspace(1e-2, 1e6, 4000), **symbols)
    (_, _, below, first), (_, above, high, second) = found
    assert not first and second and below < 10 and 100 < above < 1000 and high == pytest.approx(1e6)
    for gamma in (2 * above, 1e4, high):
        inside, negative = admits("fedcom.cond78", eta=0.03, gamma=gamma, **symbols)
        assert inside and negative
        for damping in (1.0, None):
            method = FedCOMGATE(5, 0.03, gamma, with_q(0.5), damping=damping)
            assert spectral_radius(pair(), method)[0] > 100
        assert not admits("fedcom.cond61", eta=0.03, gamma=gamma, **symbols)[0]
    assert pair().constants["L"] == pytest.approx(1.0) and pair().constants["mu_pl"] == pytest.approx(0.1)


def test_contraction_limit() -> None:
    eta = np.array([0.01, 0.1])
    for gamma, one in zip(contraction_limit(FedCOM, eta, 1e-2, 1e6, with_q(0.5)), eta, strict=True):
        inside, outside = (spectral_radius(pair(), FedCOM(5, one, f * gamma, with_q(0.5)))[0] for f in (0.99, 1.03))
        assert inside < 1 < outside
    assert (contraction_limit(FedCOMGATE, eta, 1e-2, 1e6, with_q(2.0)) == 0).all()
