"""SGD without local steps: what local methods are compared with.

`CentralSGD`: one machine with the data of all clients.  `MinibatchSGD`: Woodworth, Patel and Srebro, "Minibatch vs Local SGD
for Heterogeneous Distributed Learning" (NeurIPS 2020).  `SGDRR`: Mishchenko, Khaled and Richtarik, "Random Reshuffling:
Simple Analysis with Vast Improvements" (NeurIPS 2020), Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from fedtheory.simulations.algorithms.base import (
    Algorithm,
    LocalSteps,
    Memory,
    Messages,
    Watch,
    aggregated,
    participating,
    to_clients,
)
from fedtheory.simulations.algorithms.sfl import SFL
from fedtheory.simulations.arrays import descended, namespace
from fedtheory.simulations.checked import StepSizes
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems import Array, Problem


@dataclass(frozen=True)
class MinibatchSGD(LocalSteps):
    """K stochastic gradients of each participating client at the server's model, then one step against their mean.

    So eta is the step of a round, which K local steps of `PFL` with learning rate eta/K would make without drift.
    Where the problem weighs its clients, so does the server.
    """

    weighs: ClassVar[bool] = True

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        draw, at_x = draws.of(clients, self.K), to_clients(x, clients.shape[1])
        total = namespace(x).zeros_like(at_x)
        for k in range(self.K):
            watch(at_x)
            total = total + problem.gradient(at_x, clients, draw.step(k))
        # client m sends (1/K) sum_k g_m(x; k); server: x = x - eta times their mean
        return descended(x, eta, aggregated(problem, clients, total / self.K))


@dataclass(frozen=True)
class SGDRR(SFL):
    """SGD with random reshuffling: an epoch is one step with each F_m, in a new random order.

    The F_m are its n = M components.  It is `SFL` with K = 1 and all clients, one model passed from one to the next; without
    noise in the gradients it is the algorithm of the paper.
    """

    K: int = field(default=1, init=False)
    eta: StepSizes
    S: None = field(default=None, init=False)


@dataclass(frozen=True)
class CentralSGD(Messages):
    """SGD on one machine that has the data of all clients; a round is K steps, and nothing is sent.

    Each step takes a client with probability p_m, its weight in F, and one of its stochastic gradients.
    """

    K: Annotated[int, "a whole number of steps"]
    eta: StepSizes
    up = down = 0
    sequential: ClassVar[bool] = True
    weighs: ClassVar[bool] = True

    def participants(self, problem: Problem) -> int:
        """1, the machine."""
        return 1

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        p = np.full(problem.M, 1 / problem.M) if problem.weights is None else problem.weights
        # whose gradient: the draw of client M, which does not exist
        coins = draws.of(np.full((1, 1), problem.M), self.K)
        for k in range(self.K):
            watch(x)
            client = np.searchsorted(np.cumsum(p)[:-1], coins.step(k).uniform(1)[:, 0, 0], side="right")
            x = descended(x, eta, problem.gradient(x, client, draws.of(client, 1).step(k)))
        return x

    def symbols(self, problem: Problem) -> dict[str, float]:
        """M and K."""
        return {"M": float(problem.M), "K": float(self.K)}


ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "Minibatch SGD": MinibatchSGD,
    "SGD-RR": SGDRR,
    "SGD": CentralSGD,
}
