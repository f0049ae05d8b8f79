"""The instability of FedBCGD+ with blocks and many local steps, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.bounds.fedbcgd.stability import coupled
from fedtheory.simulations import expectation, run
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus


def grows(algorithm: FedBCGD | FedBCGDPlus, M: int = 10) -> bool:
    gap = expectation(coupled(M), algorithm, rounds=200, x0=1.0, record=("gap",), at=[100, 200]).gap.values.ravel()
    return bool(gap[1] > gap[0])


def test_the_problem() -> None:
    problem = coupled(10)
    assert np.linalg.eigvalsh(problem.mean[0]) == pytest.approx([1 / 20, 1])
    assert problem.constants["L"] == pytest.approx(1) and problem.constants["x_star"] == pytest.approx(0)
    assert problem.constants["zeta_star"] == pytest.approx(np.sqrt(2))


def test_blocks_local_steps_and_control_variates_together_are_unstable() -> None:
    """Without any one of them, or with a step size of 1/(T L), the same setting is stable."""
    assert grows(FedBCGDPlus(10, 0.25, 2, 1))
    assert not grows(FedBCGDPlus(10, 0.25, 1, 2))
    assert not grows(FedBCGDPlus(1, 0.25, 2, 1))
    assert not grows(FedBCGDPlus(10, 0.1, 2, 1))
    assert not grows(FedBCGDPlus(10, 0.25, 2, 5))
    gap = expectation(coupled(10), FedBCGD(10, 0.25, 2, 1), rounds=200, x0=1.0, record=("gap",), at=[100, 200]).gap
    assert gap.values.ravel()[1] == pytest.approx(gap.values.ravel()[0], rel=1e-2)  # its floor, without any growth


def test_runs_grow_as_the_expectation_does() -> None:
    runs = run(coupled(10), FedBCGDPlus(10, 0.5, 2, 1), rounds=200, seeds=range(5), x0=1.0, record=("gap",))
    assert (runs.gap.isel(round=-1) > 1e6).all()
