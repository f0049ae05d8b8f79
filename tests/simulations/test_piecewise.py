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
from fedtheory.simulations.problems.piecewise import Piecewise
from fedtheory.simulations.problems.quadratic import generate

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
