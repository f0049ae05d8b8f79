"""Algorithms of "Convergence Analysis of Sequential Federated Learning on Heterogeneous Data" (NeurIPS 2023).

`SFL`, `PFL`: Algorithms 1 and 2.  `SSL`: Algorithms 3 and 4.  `SplitFed`: Appendix A.
Line numbers are those of the paper's listings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulations.algorithms import Algorithm, LocalSteps, Memory, Watch, participating
from simulations.draws import Draws
from simulations.problems import Array, Problem
from simulations.problems.two_part import TwoPart


@dataclass(frozen=True)
class SFL(LocalSteps):
    """Sequential federated learning, Algorithm 1 (with S < M: Appendix D's partial participation)."""

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        order = draws.order(problem.M, self.participants(problem))  # line 2
        for client in order.T:  # line 3
            draw = draws.of(client, self.K)  # line 4: x carries over from the previous client
            for k in range(self.K):  # line 5
                watch(x)
                x = x - eta * problem.gradient(x, client, draw.step(k))  # line 6
        return x  # line 7


@dataclass(frozen=True)
class PFL(LocalSteps):
    """Parallel federated learning (FedAvg, Local SGD), Algorithm 2 (with S < M: Appendix E)."""

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        draw, eta = draws.of(clients, self.K), eta[..., None]
        x = np.repeat(x[:, :, None, :], clients.shape[1], axis=2)  # line 3
        for k in range(self.K):  # line 4
            watch(x)
            x = x - eta * problem.gradient(x, clients, draw.step(k))  # line 5
        return x.mean(axis=2)  # line 6


@dataclass(frozen=True)
class SSL(LocalSteps):
    """Sequential split learning, Algorithm 3 (server) and Algorithm 4 (client), peer-to-peer mode.

    Needs a `TwoPart` problem.  `tau` gives the clients' own numbers of local steps tau_m, (M,); None: K for all.
    Raises ValueError when tau does not have one entry >= 1 per client.
    """

    tau: tuple[int, ...] | None = None

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) = [x_c; x_s] -> the same of the next round."""
        net, tau = two_parts(problem), self._tau(problem)
        x_c, x_s = x[..., : net.cut], x[..., net.cut :]
        order = draws.order(net.M, self.participants(net))  # Algorithm 3, line 3
        for client in order.T:  # Algorithm 3, line 4; lines 1, 2 and 5: parameters carry over
            draw = draws.of(client, int(tau[client].max()))
            for k in range(tau[client].max()):  # line 6; Algorithm 4, line 3
                active = (k < tau[client])[:, None]
                watch(np.concatenate([x_c, x_s], axis=-1), active[:, 0])
                X, Y, weights = net.batch_of(client, draw.step(k))
                A = net.smashed(x_c, X)  # Algorithm 4, line 4; sent in line 5 with the labels
                g_s, g_A = net.server_pass(x_s, A, Y, weights)  # Algorithm 3, lines 8-10; g_A sent in line 11
                x_s = np.where(active, x_s - eta * g_s, x_s)  # Algorithm 3, line 12
                g_c = net.client_pass(x_c, X, A, g_A)  # Algorithm 4, line 7
                x_c = np.where(active, x_c - eta * g_c, x_c)  # Algorithm 4, line 8
        return np.concatenate([x_c, x_s], axis=-1)

    def _tau(self, problem: Problem) -> np.ndarray:
        tau = np.full(problem.M, self.K) if self.tau is None else np.asarray(self.tau)
        if tau.shape != (problem.M,) or not np.issubdtype(tau.dtype, np.integer) or (tau < 1).any():
            raise ValueError(f"tau = {self.tau}: expected {problem.M} whole numbers >= 1, one per client")
        return tau


@dataclass(frozen=True)
class SplitFed(LocalSteps):
    """Split federated learning, first version (Thapa et al. 2021, Algorithm 2), as Appendix A describes it.

    Needs a `TwoPart` problem: one server-side model per client, both sides averaged at the end of the round.
    """

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) = [x_c; x_s] -> the same of the next round."""
        net = two_parts(problem)
        clients = participating(net, draws, self.participants(net))
        draw, eta = draws.of(clients, self.K), eta[..., None]
        x = np.repeat(x[:, :, None, :], clients.shape[1], axis=2)
        x_c, x_s = x[..., : net.cut], x[..., net.cut :]
        for k in range(self.K):
            watch(np.concatenate([x_c, x_s], axis=-1))
            X, Y, weights = net.batch_of(clients, draw.step(k))
            A = net.smashed(x_c, X)
            g_s, g_A = net.server_pass(x_s, A, Y, weights)
            x_s = x_s - eta * g_s
            x_c = x_c - eta * net.client_pass(x_c, X, A, g_A)
        return np.concatenate([x_c.mean(axis=2), x_s.mean(axis=2)], axis=-1)  # fed server, main server


def two_parts(problem: Problem) -> TwoPart:
    """The problem as a model in two parts.  Raises ValueError for any other."""
    if not isinstance(problem, TwoPart):
        raise ValueError(f"split learning needs a model in two parts (TwoPart), not {problem.name}")
    return problem


ALGORITHMS: dict[str, Callable[..., Algorithm]] = {"SFL": SFL, "PFL": PFL}
