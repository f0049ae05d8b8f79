"""Quadratics with kinks: gradients by differences, constants by many points, and the bias that quadratics do not have."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.simulations import run
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.problems.kinked import Kinked
from fedtheory.simulations.problems.quadratic import Quadratic, generate

PLAIN = generate(d=3, M=4, L=2.0, mu=0.2, zeta_star=1.0, delta=0.0, sigma=0.5, x_star=[1.0, 0.0, 2.0])
PROBLEM = Kinked(PLAIN, [[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]], 3.0)
POINTS = np.random.default_rng(0).standard_normal((60, 3)) * 3


def test_gradients_are_those_of_the_values() -> None:
    h = 1e-6
    for x in POINTS:
        by_differences = [(PROBLEM.value(x + h * e) - PROBLEM.value(x - h * e)) / (2 * h) for e in np.eye(3)]
        np.testing.assert_allclose(PROBLEM.full_gradient(x), by_differences, atol=1e-5)
    local = PROBLEM.local_gradient(np.tile(POINTS[:, None, None], (1, 1, 4, 1)), np.arange(4)[None])
    np.testing.assert_allclose(local.mean(2)[:, 0], PROBLEM.full_gradient(POINTS), atol=1e-12)
    seen = {tuple((PROBLEM._below(x) < 0).tolist()) for x in POINTS}
    assert len(seen) == 4  # on every side of the kinks


def test_its_constants() -> None:
    c, g = PROBLEM.constants, PROBLEM.full_gradient(POINTS)
    ratios = np.linalg.norm(g[:, None] - g, axis=-1)[np.triu_indices(60, 1)]
    distances = np.linalg.norm(POINTS[:, None] - POINTS, axis=-1)[np.triu_indices(60, 1)]
    assert (ratios <= c["L"] * distances * (1 + 1e-12)).all() and (ratios >= c["mu"] * distances).all()
    assert (ratios > PLAIN.constants["L"] * distances).any()
    np.testing.assert_allclose(PROBLEM.full_gradient(c["x_star"]), 0, atol=1e-12)
    assert PROBLEM.value(c["x_star"]) == c["F_star"] <= PROBLEM.value(POINTS).min()
    assert c["beta"] == 0 and c["zeta"] == pytest.approx(1.0)


def test_noise_biases_local_steps() -> None:
    """PFL with many clients from x_star: on the quadratic its mean stays there, a kink moves it."""
    plain = Quadratic(np.tile(0.1 * np.eye(1), (50, 1, 1)), np.zeros((50, 1)), 1.0)
    there, kinked = (
        run(problem, PFL(8, 0.3), rounds=30, seeds=range(40), x0=0.0, record=("dist2",)).dist2[0, :, -1].mean()
        for problem in (plain, Kinked(plain, [[1.0]], 1.0))
    )
    assert kinked > 5 * there


@pytest.mark.parametrize(
    ("directions", "error"),
    [([[1.0]], r"directions of shape \(1, 1\): expected \(J, 3\)"), ([[-1.0, 0, 0]], "expected a minimiser x_star")],
)
def test_what_is_refused(directions: list[list[float]], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Kinked(PLAIN, directions, 1.0)
