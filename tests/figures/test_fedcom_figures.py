"""Figures of the FedCOM paper: drawn whole, labelled, and their data say what the figures are for."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.figures import fedcom
from fedtheory.figures.fedcom import admits, admitted, contraction_limit, pair, quadratics, resting_point, with_q
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.exact.linear import spectral_radius


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
