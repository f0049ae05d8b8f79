"""SGD: one client, one step a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import xarray as xr

from simulations.algorithms.base import Algorithm, LocalSteps, Memory, Watch, everyone
from simulations.algorithms.sfl import SFL
from simulations.arrays import descended
from simulations.draws import Draws
from simulations.problems import Array, Problem
from simulations.problems.quadratic import Quadratic


@dataclass(frozen=True)
class SGD(LocalSteps):
    """x = x - eta g, K times a round."""

    K: int = 1
    eta: float = 0.1
    exact: ClassVar[str] = "algorithms.sgd"

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        client = everyone(problem)[:, 0]
        draw = draws.of(client, self.K)
        for k in range(self.K):
            watch(x)
            x = descended(x, eta, problem.gradient(x, client, draw.step(k)))
        return x


def why_not(problem: Problem, algorithm: Algorithm, rounds: int) -> str | None:
    """Why there is no exact expectation: another problem than a quadratic of one client."""
    return None if isinstance(problem, Quadratic) and problem.M == 1 else "expected a quadratic of one client"


def expectation(problem: Quadratic, algorithm: SGD, **settings: Any) -> xr.Dataset:
    """With one client, a round of SFL is as many steps of SGD."""
    from simulations.exact import moments

    return moments.expectation(problem, SFL(K=algorithm.K, eta=algorithm.eta), **settings)


ALGORITHMS = {"SGD": SGD}
