"""The communication of a method: in bits up and down, and, as the FedBCGD paper counts it, in floats up in units of d.

The cost of a round is that of one participating client.  Where blocks differ, so does the uplink of clients; then it is
their mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from fedtheory.simulations.algorithms.base import FLOAT, Algorithm
from fedtheory.simulations.problems import Problem


@dataclass(frozen=True)
class Cost:
    """The cost of one round: participating clients, and bits up and down for one of them."""

    clients: int
    up: float
    down: float

    def floats(self, d: int) -> float:
        """The uplink of one client in units of d numbers of 32 bits, as Table 1 counts: 1 for FedAvg."""
        return self.up / (FLOAT * d)


def cost(algorithm: Algorithm, problem: Problem) -> Cost:
    """The cost of a round of the algorithm."""
    return Cost(algorithm.participants(problem), algorithm.uplink_bits(problem), algorithm.downlink_bits(problem))


@dataclass(frozen=True)
class Reached:
    """When a run first reaches a target: rounds, and bits of one participating client up and down until then."""

    rounds: int
    up: float
    down: float


def to_target(
    data: xr.Dataset, algorithm: Algorithm, problem: Problem, target: float, quantity: str = "gap"
) -> list[Reached | None]:
    """For each step size, when the mean over seeds of a recorded quantity is first at most `target`; None if never.

    data  the result of `fedtheory.simulations.run` or `expectation`

    Raises ValueError for a quantity that was not recorded.
    """
    if quantity not in data:
        raise ValueError(f"{quantity} was not recorded: expected one of {', '.join(map(str, data.data_vars))}")
    series = data[quantity]
    mean = series.mean("seed", skipna=False) if "seed" in series.dims else series
    each = cost(algorithm, problem)
    found: list[Reached | None] = []
    for values in mean.transpose("step_size", "round").values:
        there = np.flatnonzero(values <= target)  # False for NaN, after divergence
        rounds = int(data["round"].values[there[0]]) if there.size else None
        found.append(None if rounds is None else Reached(rounds, rounds * each.up, rounds * each.down))
    return found
