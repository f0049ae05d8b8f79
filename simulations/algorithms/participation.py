"""Federated averaging with other patterns of participation than uniform samples.

`CyCP`: Cho, Sharma, Joshi, Xu, Kale and Zhang, "On the Convergence of Federated Averaging with Cyclic Client Participation"
(ICML 2023).  `RCP`: Malinovsky, Horvath, Burlachenko and Richtarik, "Federated Learning with Regularized Client
Participation" (arXiv 2302.03662).  `AmplifiedFedAvg`: Wang and Ji, "A Unified Analysis of Federated Learning with Arbitrary
Client Participation" (NeurIPS 2022), Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.algorithms.base import Algorithm, LocalSteps, Memory, Watch, gradients, local_steps
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems import Array, Problem


@dataclass(frozen=True)
class CyCP(LocalSteps):
    """FedAvg in which groups of clients take turns; the clients of a round are S of the group whose turn it is.

    The groups are the first M/groups clients, the next M/groups, and so on.  groups = 1 is `PFL`; groups = M is `SFL` in
    which the order is fixed and a round is the turn of one client.

    groups  Kbar in the paper, a divisor of M
    S       of a group, without replacement; None: all of it

    In a round raises ValueError unless the groups divide M, and for a larger S.
    """

    groups: Annotated[int, "a whole number of groups"] = 2
    as_symbols = ("groups",)

    def participants(self, problem: Problem) -> int:
        """S, by default M/groups."""
        size = divided(problem, "groups", self.groups)
        if self.S is not None and size < self.S:
            raise ValueError(f"S = {self.S}, but a group has {size} clients: expected S <= M/groups")
        return size if self.S is None else self.S

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = self.clients(problem, draws)
        return local_steps(x, eta, clients, draws, self.K, watch, gradients(problem, clients)).mean(axis=2)

    def clients(self, problem: Problem, draws: Draws) -> NDArray[np.int64]:
        """The clients of a round, (1, M/groups) or (N, S)."""
        S, size = self.participants(problem), problem.M // self.groups
        first = draws.round % self.groups * size
        chosen = np.arange(size)[None] if size == S and draws.replay is None else draws.order(size, S)
        return first + chosen


@dataclass(frozen=True)
class AmplifiedFedAvg(CyCP):
    """FedAvg that multiplies the change of the model over every `period` rounds.

    The paper allows any weights of the clients in a round; here groups take turns, so that over a multiple of `groups`
    rounds all clients take part equally often (its regularised participation).  amplification = 1 is `CyCP`.

    amplification  eta in the paper, >= 1; the step size `eta` here is its gamma
    period         P, in rounds; None: as many as there are groups

    `memory["start"]` (E, N, d) is the model at the start of the period.
    """

    amplification: Annotated[float, ">= 1"] = 2.0
    period: Annotated[int, "a whole number of rounds"] | None = None

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        period = self.period or self.groups
        if draws.round % period == 0:
            memory["start"] = x
        after = super().round(problem, x, eta, draws, watch, memory)
        if (draws.round + 1) % period:
            return after
        # x = x_start + amplification (sum of the period's changes)
        start = memory["start"]
        return start + self.amplification * (after - start)


@dataclass(frozen=True)
class RCP(LocalSteps):
    """FedAvg in which a random partition of the clients into cohorts of S takes turns; then there is a new partition.

    M/S rounds are a meta-epoch, in which each client takes part once.  In the paper a client makes one pass over its own
    data in random order: so does a network with `order = "epochs"`, if K mini-batches are all of a client's data.

    S  clients of a cohort, a divisor of M; None: all
    """

    def participants(self, problem: Problem) -> int:
        """S, by default M.  Raises ValueError unless it divides M."""
        S = super().participants(problem)
        divided(problem, "S", S)
        return S

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        S = self.participants(problem)
        turn = draws.round % (problem.M // S)
        partition = replace(draws, round=draws.round - turn).order(problem.M, problem.M)
        clients = partition if draws.replay is not None else partition[:, turn * S : (turn + 1) * S]
        return local_steps(x, eta, clients, draws, self.K, watch, gradients(problem, clients)).mean(axis=2)


def divided(problem: Problem, name: str, parts: int) -> int:
    """M / parts.  Raises ValueError unless it is a whole number."""
    if problem.M % parts:
        raise ValueError(f"{name} = {parts}, but {problem.name} has M = {problem.M} clients: expected a divisor of M")
    return problem.M // parts


ALGORITHMS: dict[str, Callable[..., Algorithm]] = {a.__name__: a for a in (CyCP, AmplifiedFedAvg, RCP)}
