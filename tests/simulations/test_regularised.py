"""A penalty on what clients step on, not on what is measured: by hand, and both engines against each other."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.simulations import expectation, run
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.compressors import Sparsifier
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
from fedtheory.simulations.problems.regularised import Regularised

PLAIN = generate(3, 3, L=1.0, mu=0.1, zeta_star=1.0, delta=0.3, sigma=0.5, x_star=[2.0, -1.0, 1.0], seed=1)


def test_a_round_by_hand() -> None:
    """f = x^2/2 - 3x, phi = 1/2: x - eta (x - 3 + x/2), and the gap of f itself, whose minimum is at 3."""
    problem = Regularised(from_functions([0.5, 0.5], [-3.0, -3.0]), 0.5)
    x1 = 2 - 0.1 * (2 - 3 + 1)
    x2 = x1 - 0.1 * (1.5 * x1 - 3)
    for data in (
        expectation(problem, FedCOM(1, 0.1), rounds=2, x0=2.0, record=("gap",)).gap[0],
        run(problem, FedCOM(1, 0.1), rounds=2, x0=2.0, record=("gap",)).gap[0, 0],
    ):
        np.testing.assert_allclose(data, [(x - 3) ** 2 / 2 for x in (2, x1, x2)], rtol=1e-12)


def test_the_clients_steps_are_those_on_the_regularised_functions() -> None:
    algorithm = FedCOMGATE(3, 0.1, 2.0, Sparsifier(0.5, shared=True))
    penalised = Quadratic(PLAIN.H + 0.3 * np.eye(3), PLAIN.b, PLAIN.sigma)
    ours, its = (
        expectation(p, algorithm, rounds=20, x0=1.0, record=("drift",)) for p in (Regularised(PLAIN, 0.3), penalised)
    )
    np.testing.assert_allclose(ours.drift[0, :20], its.drift[0, :20], rtol=1e-9)


def test_without_a_penalty_it_is_the_problem() -> None:
    algorithm = FedCOM(2, 0.1, 1.0, Sparsifier(0.5))
    ours, its = (expectation(p, algorithm, rounds=9, x0=1.0) for p in (Regularised(PLAIN, 0.0), PLAIN))
    for name in ("gap", "grad_sq", "dist2"):
        np.testing.assert_allclose(ours[name], its[name], rtol=1e-12)
    assert '"phi": 0.0' in ours.attrs["problem"]


def test_what_it_refuses() -> None:
    for phi in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"phi = .*: expected a finite number >= 0"):
            Regularised(PLAIN, phi)
    with pytest.raises(ValueError, match="regularised by 0.5: expected a Quadratic"):
        expectation(Regularised(PLAIN, 0.5), PFL(1, 0.1), rounds=1)
    with pytest.raises(ValueError, match="expected a Quadratic"):
        expectation(Regularised(Regularised(PLAIN, 0.5), 0.5), FedCOM(1, 0.1), rounds=1)
