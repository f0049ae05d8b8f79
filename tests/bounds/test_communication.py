"""What is sent: by our implementations, and as Table 1 of the FedBCGD paper counts it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from fedtheory.bounds.communication import Cost, cost, to_target
from fedtheory.simulations import expectation, run
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus, FedLin, SLocalGD
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD, FedPAQ
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Record

PROBLEM = generate(10, 8, L=1.0, mu=0.2, zeta_star=1.0, seed=0)
METHODS: dict[str, tuple[Any, int]] = {
    "fedavg": (FedPAQ(3, 0.1, S=4), 1),
    "fedbcgd": (FedBCGD(T=3, eta=0.1, N=5, K=1), 5),
    "scaffold": (SCAFFOLD(3, 0.1, S=4), 1),
    "fedlin": (FedLin(3, 0.1), 1),
    "s_local_gd": (SLocalGD(3, 0.1), 1),
    "fedbcgdplus": (FedBCGDPlus(T=3, eta=0.1, N=5, K=1), 5),
}


def as_printed(row: str, N: int) -> float:
    """Floats per round, in units of d, in a row of Table 1: `fedbcgd` with N = 5 blocks has 1/5."""
    (record,) = [claim for claim in catalogue.find(f"fedbcgd.table1.{row}").also if isinstance(claim, Record)]
    factor, _, blocks = record.settings["floats per round"].partition("d")
    return float(factor or 1) / (N if blocks == "/N" else 1)


@pytest.mark.parametrize("row", METHODS)
def test_table_1_counts_what_a_client_sends(row: str) -> None:
    algorithm, N = METHODS[row]
    assert cost(algorithm, PROBLEM).floats(PROBLEM.d) == pytest.approx(as_printed(row, N))


def test_the_downlink_is_the_whole_model() -> None:
    """Blocks save nothing on the way down, nor does the printed count speak of it."""
    bcgd, plus = (cost(METHODS[row][0], PROBLEM) for row in ("fedbcgd", "fedbcgdplus"))
    assert bcgd == Cost(5, 32 * 2, 32 * 10) and plus == Cost(5, 64 * 2, 64 * 10)


def test_rounds_and_bits_to_a_target() -> None:
    algorithm = FedBCGD(T=2, eta=[0.4, 1e-6, 50.0], N=1, K=8)
    build = partial(expectation, generate(4, 8, L=1.0, mu=0.5, seed=1), rounds=60, x0=1.0, record=("gap",))
    data = build(algorithm)
    problem = generate(4, 8, L=1.0, mu=0.5, seed=1)
    gap = data.gap.isel(step_size=0).values
    good, slow, lost = to_target(data, algorithm, problem, 1e-4)
    assert good is not None and slow is None and lost is None
    assert gap[good.rounds] <= 1e-4 < gap[good.rounds - 1]
    assert good.up == good.rounds * 32 * 4 == good.down


def test_runs_are_averaged_over_seeds() -> None:
    algorithm = FedBCGD(T=2, eta=0.2, N=2, K=2)
    data = run(PROBLEM, algorithm, rounds=30, seeds=range(5), x0=1.0, record=("gap",))
    start = float(data.gap.isel(round=0).mean())
    (found,) = to_target(data, algorithm, PROBLEM, start / 2)
    mean = data.gap.isel(step_size=0).mean("seed").values
    assert found is not None and found.rounds == int(np.flatnonzero(mean <= start / 2)[0])


def test_errors() -> None:
    algorithm = FedBCGD(T=2, eta=0.2, N=2, K=2)
    data = run(PROBLEM, algorithm, rounds=2, record=("gap",))
    with pytest.raises(ValueError, match="value was not recorded: expected one of gap"):
        to_target(data, algorithm, PROBLEM, 1.0, "value")
