"""Vertical federated learning: parties hold the features, not the samples.

`FedBCD`: Liu, Zhang, Kang, Li, Chen, Hong and Yang, "FedBCD: A Communication-Efficient Collaborative Learning Framework for
Distributed Features" (IEEE Transactions on Signal Processing, 2022).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np

from fedtheory.simulations.algorithms.base import (
    FLOAT,
    Algorithm,
    LocalCount,
    Memory,
    Messages,
    Watch,
    aggregated,
    everyone,
    to_clients,
)
from fedtheory.simulations.algorithms.fedbcgd import parameter_blocks
from fedtheory.simulations.arrays import known_as, namespace
from fedtheory.simulations.checked import StepSizes
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems import Array, Problem

Turns = Literal["parallel", "sequential"]


@dataclass(frozen=True)
class FedBCD(Messages):
    """Federated stochastic block coordinate descent: N parties, each with a block of the coordinates of one model.

    A round draws one mini-batch, which the parties share by its samples' ids, and exchanges what their blocks contribute
    to the predictions on it.  Then each party takes Q steps on its own block, with the others' contributions as they are.
    All parties minimise the same F: the M clients of the problem are only its data.

    turns  "parallel" (FedBCD-p): all parties start from the model of the round;
           "sequential" (FedBCD-s): one after another, each from what those before it have made

    In a round raises ValueError for more parties than coordinates.
    """

    Q: LocalCount
    eta: StepSizes
    N: Annotated[int, "a whole number of parties"] = 2
    turns: Turns = "parallel"
    weighs: ClassVar[bool] = True

    def participants(self, problem: Problem) -> int:
        """The N parties.  Raises ValueError for more parties than coordinates."""
        parameter_blocks(problem.d, self.N)
        return self.N

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = everyone(problem)
        batch, changed = draws.of(clients, 1).step(0), namespace(x).zeros_like(x)
        for block in parameter_blocks(problem.d, self.N).values():
            own = np.zeros(problem.d, dtype=bool)
            own[block] = True
            start = x + changed if self.turns == "sequential" else x
            y = start
            for _ in range(self.Q):
                watch(y)
                g = aggregated(problem, clients, problem.gradient(to_clients(y, problem.M), clients, batch))
                y = namespace(x).where(known_as(own, x), y - eta * g, y)
            changed = changed + (y - start)
        return x + changed

    def symbols(self, problem: Problem) -> dict[str, float]:
        """N and Q."""
        return {"N": float(self.N), "Q": float(self.Q)}

    def uplink_bits(self, problem: Problem) -> float:
        """A party's contribution to the predictions on the mini-batch: a number for each sample and output."""
        return float(FLOAT * predictions(problem))

    def downlink_bits(self, problem: Problem) -> float:
        """The sum of the others' contributions."""
        return float(FLOAT * predictions(problem))


def predictions(problem: Problem) -> int:
    """Numbers that a model predicts on a mini-batch; for a problem without samples d, those of H x."""
    if not hasattr(problem, "sizes"):
        return problem.d
    batch = getattr(problem, "batch", None)
    samples = int(problem.sizes.sum()) if batch is None else problem.M * batch
    return samples * getattr(problem, "columns", 1)


ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "FedBCD": FedBCD,
    "FedBCD, sequential": partial(FedBCD, turns="sequential"),
}
