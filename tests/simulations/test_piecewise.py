"""Functions of one coordinate whose curvature jumps: values, gradients and constants against brute force; exact runs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fedtheory.simulations import run
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.constants import NoSuchConstant
from fedtheory.simulations.engine import exact_run
from fedtheory.simulations.problems import start
from fedtheory.simulations.problems.kinked import Kinked
from fedtheory.simulations.problems.piecewise import Piecewise
from fedtheory.simulations.problems.quadratic import Quadratic, generate

HUBER = Piecewise([[-0.5, 0.5]], [[0.0, 1.0, 0.0]], [0.0])


def at(problem: Piecewise, x: float) -> tuple[float, float]:
    return float(problem.value(np.array([x]))), float(problem.full_gradient(np.array([x]))[0])


def test_a_huber_function() -> None:
    assert at(HUBER, 0.25) == (0.03125, 0.25) and at(HUBER, 2.0) == (0.875, 0.5) and at(HUBER, -2.0) == (0.875, -0.5)
    constants = HUBER.constants
    assert (constants["L"], constants["mu"], constants["F_star"], constants["zeta"]) == (1, 0, 0, 0)
    assert constants["x_star"].tolist() == [0.0] and start(HUBER, 2.0)["A"] == 0.875
    assert HUBER.name == "curvature 0, 1, 0 with knots -0.5, 0.5"


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 3))
def test_against_sums_over_a_grid(seed: int, M: int, J: int) -> None:
    rng = np.random.default_rng(seed)
    knots, slopes = np.sort(rng.normal(size=(M, J)), axis=1), rng.normal(size=M)
    curvatures = rng.uniform(0, 1, (M, J + 1)) * (rng.random((M, J + 1)) < 0.7)
    curvatures[0, 0] = 1.0
    if rng.random() < 0.5:
        curvatures[:, [0, -1]] = rng.uniform(0, 1, 2)
    problem = Piecewise(knots, curvatures, slopes)
    grid = np.linspace(-4, 4, 4001)
    middle = (grid[1:] + grid[:-1]) / 2
    jumps = np.stack([h[np.searchsorted(k, middle)] for k, h in zip(knots, curvatures, strict=True)])
    F1 = np.concatenate([np.zeros((M, 1)), np.cumsum(jumps * np.diff(grid), axis=1)], axis=1)
    F1 += slopes[:, None] - F1[:, 2000:2001]
    F = np.concatenate([np.zeros((M, 1)), np.cumsum((F1[:, 1:] + F1[:, :-1]) / 2 * np.diff(grid), axis=1)], axis=1)
    F -= F[:, 2000:2001]
    x = grid[:, None]
    np.testing.assert_allclose(problem.client_slopes(x), F1.T, atol=1e-2)
    np.testing.assert_allclose(problem.value(x), F.mean(0), atol=2e-2)
    np.testing.assert_allclose(problem.full_gradient(x)[:, 0], problem.client_slopes(x).mean(1), atol=1e-13)
    clients = np.arange(M)[None]
    local = problem.local_gradient(np.broadcast_to(x[:, None, None], (4001, 1, M, 1)), clients)
    np.testing.assert_array_equal(local[:, 0, :, 0], problem.client_slopes(x))
    c = {name: entry.value for name, entry in problem.constants.entries.items()}
    assert (c["L"], c["mu"]) == (curvatures.max(), curvatures.min())
    if c["x_star"] is not None:
        assert abs(problem.full_gradient(c["x_star"])[0]) <= 1e-12
        assert c["F_star"] <= problem.value(x).min() + 1e-12
        assert c["zeta_star"] ** 2 == pytest.approx((problem.client_slopes(c["x_star"]) ** 2).mean())
    else:
        assert np.ptp(np.sign(problem.full_gradient(np.array([[-1e9], [1e9]])))) == 0
    far = np.concatenate([x, [[-1e6], [1e6]]])
    spread = np.sqrt(problem.client_slopes(far).var(axis=1))
    assert c["zeta"] is None or spread.max() <= c["zeta"] + 1e-9 <= spread.max() + 1e-2
    assert (c["zeta"] is None) == (np.ptp(curvatures[:, [0, -1]], axis=0).max() > 0)


def test_a_run_without_noise_is_exact() -> None:
    two = Piecewise([[-0.5, 0.5], [0.0, 1.0]], [[0.0, 1.0, 0.0], [0.25, 0.5, 1.0]], [0.0, -0.25])
    found = exact_run(two, PFL(K=2, eta=[0.5, 0.25]), rounds=3, x0=1.0, record=("value",))
    assert found is not None
    x = 1.0
    for r in range(3):
        ends = []
        for m in (0, 1):
            y = x
            for _ in range(2):
                y -= 0.5 * float(two.client_slopes(np.array([y]))[m])
            ends.append(y)
        x = sum(ends) / 2
        assert float(found.value[0, 0, r + 1]) == at(two, x)[0]


@pytest.mark.parametrize(
    ("problem", "algorithm"),
    [(HUBER, SFL(K=1, eta=0.1)), (replace(generate(2, 3, L=1.0, mu=0.1), sigma=1.0), PFL(K=1, eta=0.1))],
    ids=["orders", "noise"],
)
def test_a_run_that_draws_is_not_exact(problem: Any, algorithm: Any) -> None:
    assert exact_run(problem, algorithm, rounds=3, x0=1.0) is None
    assert run(problem, algorithm, rounds=3, x0=1.0).sizes["seed"] == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (([[0.0]], [[1.0]], [0.0]), "knots (1, 1), curvatures (1, 1), slopes (1,): expected (M, J), (M, J + 1)"),
        (([[1.0, 0.0]], [[1.0, 1.0, 1.0]], [0.0]), "expected increasing ones for each client"),
        (([[0.0]], [[-1.0, 1.0]], [0.0]), "curvatures = [[-1.0, 1.0]]: expected numbers >= 0, not all 0"),
        (([[0.0]], [[0.0, 0.0]], [0.0]), "expected numbers >= 0, not all 0"),
    ],
)
def test_malformed_pieces(arguments: Any, told: str) -> None:
    with pytest.raises(ValueError) as error:
        Piecewise(*arguments)
    assert told in str(error.value)


def test_a_slope_without_a_root_has_no_minimum() -> None:
    with pytest.raises(NoSuchConstant, match="F_star does not exist: F' has no root"):
        Piecewise([[0.0]], [[1.0, 0.0]], [-1.0]).constants["F_star"]


# Quadratics with kinks


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
