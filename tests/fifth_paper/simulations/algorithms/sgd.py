"""SGD: one client, one step a round."""

from __future__ import annotations

from dataclasses import dataclass

from simulations.algorithms.base import LocalSteps, Memory, Watch, everyone
from simulations.arrays import descended
from simulations.draws import Draws
from simulations.problems import Array, Problem


@dataclass(frozen=True)
class SGD(LocalSteps):
    """x = x - eta g, K times a round."""

    K: int = 1
    eta: float = 0.1

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        client = everyone(problem)[:, 0]
        draw = draws.of(client, self.K)
        for k in range(self.K):
            watch(x)
            x = descended(x, eta, problem.gradient(x, client, draw.step(k)))
        return x


ALGORITHMS = {"SGD": SGD}
