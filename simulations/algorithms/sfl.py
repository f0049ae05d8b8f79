"""Algorithms of "Convergence Analysis of Sequential Federated Learning on Heterogeneous Data" (NeurIPS 2023).

`SFL`, `PFL`: Algorithms 1 and 2.  `SSL`: Algorithms 3 and 4.  `SplitFed`: Appendix A.
Line numbers are those of the paper's listings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.algorithms.base import FLOAT, Algorithm, LocalSteps, Memory, Watch, participating, to_clients
from fedtheory.simulations.arrays import descended, known_as, namespace
from fedtheory.simulations.draws import Draw, Draws
from fedtheory.simulations.problems import Array, Problem


@dataclass(frozen=True)
class SFL(LocalSteps):
    """Sequential federated learning, Algorithm 1 (with S < M: Appendix D's partial participation)."""

    exact: ClassVar[str] = "exact.moments"
    sequential: ClassVar[bool] = True

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        order = draws.order(problem.M, self.participants(problem))  # line 2
        for client in order.T:  # line 3
            draw = draws.of(client, self.K)  # line 4: x carries over from the previous client
            for k in range(self.K):  # line 5
                watch(x)
                x = descended(x, eta, problem.gradient(x, client, draw.step(k)))  # line 6
        return x  # line 7


@dataclass(frozen=True)
class PFL(LocalSteps):
    """Parallel federated learning (FedAvg, Local SGD), Algorithm 2 (with S < M: Appendix E)."""

    exact: ClassVar[str] = "exact.moments"

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        draw, eta = draws.of(clients, self.K), eta[..., None]
        x = to_clients(x, clients.shape[1])  # line 3
        for k in range(self.K):  # line 4
            watch(x)
            x = descended(x, eta, problem.gradient(x, clients, draw.step(k)))  # line 5
        return x.mean(axis=2)  # line 6


class Splitting(LocalSteps):
    """The messages of a model that is cut in two: the client's part, and at each local step the cut layer."""

    def uplink_bits(self, problem: Problem) -> float:
        """The client's parameters; at each local step the activations of the cut layer and a label for each sample."""
        net = two_parts(problem)
        return float(FLOAT * (net.cut + self.steps(problem) * smashed_rows(net) * (net.activations + 1)))

    def downlink_bits(self, problem: Problem) -> float:
        """The client's parameters; at each local step the gradient in the activations."""
        net = two_parts(problem)
        return float(FLOAT * (net.cut + self.steps(problem) * smashed_rows(net) * net.activations))

    def steps(self, problem: Problem) -> float:
        """The mean number of local steps of a client in a round."""
        return float(self.K)


@dataclass(frozen=True)
class SSL(Splitting):
    """Sequential split learning, Algorithm 3 (server) and Algorithm 4 (client), peer-to-peer mode.

    Needs a `TwoPart` problem.  `tau` gives the clients' own numbers of local steps tau_m, (M,); None: K for all.
    Raises ValueError when tau does not have one entry >= 1 per client.
    """

    tau: tuple[int, ...] | None = None
    sequential: ClassVar[bool] = True

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) = [x_c; x_s] -> x of the next round."""
        net, tau, xp = two_parts(problem), self._tau(problem), namespace(x)
        x_c, x_s = x[..., : net.cut], x[..., net.cut :]
        order = draws.order(net.M, self.participants(net))  # Algorithm 3, line 3
        for client in order.T:  # Algorithm 3, line 4; lines 1, 2 and 5: parameters carry over
            draw = draws.of(client, int(tau[client].max()))
            active = np.arange(tau[client].max())[:, None] < tau[client]
            for k, goes in enumerate(known_as(active[..., None], x)):  # line 6; Algorithm 4, line 3
                watch(xp.concat([x_c, x_s], axis=-1), active[k])
                X, Y, weights = net.batch_of(client, draw.step(k))
                A = net.smashed(x_c, X)  # Algorithm 4, line 4; sent in line 5 with the labels
                g_s, g_A = net.server_pass(x_s, A, Y, weights)  # Algorithm 3, lines 8-10; g_A sent in line 11
                x_s = xp.where(goes, x_s - eta * g_s, x_s)  # Algorithm 3, line 12
                g_c = net.client_pass(x_c, X, A, g_A)  # Algorithm 4, line 7
                x_c = xp.where(goes, x_c - eta * g_c, x_c)  # Algorithm 4, line 8
        return xp.concat([x_c, x_s], axis=-1)

    def steps(self, problem: Problem) -> float:
        """The mean of the tau_m."""
        return float(self._tau(problem).mean())

    def _tau(self, problem: Problem) -> np.ndarray:
        tau = np.full(problem.M, self.K) if self.tau is None else np.asarray(self.tau)
        if tau.shape != (problem.M,) or not np.issubdtype(tau.dtype, np.integer) or (tau < 1).any():
            raise ValueError(f"tau = {self.tau}: expected {problem.M} whole numbers >= 1, one per client")
        return tau


@dataclass(frozen=True)
class SplitFed(Splitting):
    """Split federated learning, first version (Thapa et al. 2021, Algorithm 2), as Appendix A describes it.

    Needs a `TwoPart` problem: one server-side model per client, both sides averaged at the end of the round.
    """

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) = [x_c; x_s] -> x of the next round."""
        net = two_parts(problem)
        clients = participating(net, draws, self.participants(net))
        draw, eta = draws.of(clients, self.K), eta[..., None]
        xp, x = namespace(x), to_clients(x, clients.shape[1])
        x_c, x_s = x[..., : net.cut], x[..., net.cut :]
        for k in range(self.K):
            watch(xp.concat([x_c, x_s], axis=-1))
            X, Y, weights = net.batch_of(clients, draw.step(k))
            A = net.smashed(x_c, X)
            g_s, g_A = net.server_pass(x_s, A, Y, weights)
            x_s = x_s - eta * g_s
            x_c = x_c - eta * net.client_pass(x_c, X, A, g_A)
        return xp.concat([x_c.mean(axis=2), x_s.mean(axis=2)], axis=-1)  # fed server, main server


class Split(Problem, Protocol):
    """A model in two parts, x = [x_c; x_s]: the client has the first `cut` coordinates, the server the others."""

    @property
    def cut(self) -> int:
        """Number of client-side coordinates."""

    @property
    def activations(self) -> int:
        """Numbers in the cut layer for one sample."""

    @property
    def batch(self) -> int | None:
        """Samples in a mini-batch."""

    def batch_of(self, client: NDArray[np.int64], draw: Draw) -> tuple[Array, Array, Any]:
        """What the client reads at this step: features, targets, sample weights (N or 1, *clients, B, ...)."""

    def smashed(self, x_client: Array, features: Array) -> Array:
        """Forward pass of the client: activations of the cut layer."""

    def server_pass(self, x_server: Array, activations: Array, targets: Array, weights: Any) -> tuple[Array, Array]:
        """Forward and backward pass of the server: gradients in its own parameters and in the activations."""

    def client_pass(self, x_client: Array, features: Array, activations: Array, received: Array) -> Array:
        """Backward pass of the client from the received gradient in the activations."""


def smashed_rows(net: Split) -> int:
    """Samples whose activations are sent at a local step.  Raises ValueError without mini-batches, or with `clip`."""
    if net.batch is None:
        raise ValueError(f"batch = None in {net.name}: expected mini-batches, to count what split learning sends")
    if getattr(net, "clip", None) is not None:
        raise ValueError(f"clip in {net.name}: expected none, as in split learning nobody has the whole gradient")
    return net.batch


def two_parts(problem: Problem) -> Split:
    """The problem as a model in two parts.  Raises ValueError for any other."""
    if getattr(problem, "cut", None) is None:
        raise ValueError(
            f"split learning of {problem.name}: expected a model in two parts (TwoPart, or a Network that is cut)"
        )
    return cast(Split, problem)


ALGORITHMS: dict[str, Callable[..., Algorithm]] = {"SFL": SFL, "PFL": PFL}
ON_NETWORKS: dict[str, Callable[..., Algorithm]] = {"SSL": SSL, "SplitFed": SplitFed}
