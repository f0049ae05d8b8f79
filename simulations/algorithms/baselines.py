"""Algorithms of other papers, with which a reader compares those of the four papers.

`FedProx`: Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith, "Federated Optimization in Heterogeneous Networks" (MLSys 2020),
Algorithm 2.  `FedNova`: Wang, Liu, Liang, Joshi and Poor, "Tackling the Objective Inconsistency Problem in Heterogeneous
Federated Optimization" (NeurIPS 2020), Algorithm 1.  `FedDyn`: Acar, Zhao, Matas, Mattina, Whatmough and Saligrama,
"Federated Learning Based on Dynamic Regularization" (ICLR 2021), Algorithm 1.  `Scaffnew`: Mishchenko, Malinovsky, Stich and
Richtarik, "ProxSkip: Yes! Local Gradient Steps Provably Lead to Communication Acceleration! Finally!" (ICML 2022),
Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.algorithms.base import (
    FLOAT,
    Algorithm,
    LocalSteps,
    Memory,
    Messages,
    Participants,
    Watch,
    aggregated,
    at_clients,
    everyone,
    kept,
    local_steps,
    participating,
    sampled,
    to_clients,
    with_clients,
)
from fedtheory.simulations.arrays import known_as, like, namespace
from fedtheory.simulations.checked import StepSizes, Truth, brief, whole
from fedtheory.simulations.draws import Draw, Draws
from fedtheory.simulations.problems import Array, Problem


@dataclass(frozen=True)
class FedProx(LocalSteps):
    """K local steps of SGD on F_m(x) + (prox/2) ||x - x^r||^2, x^r the model of the round; FedAvg for prox = 0.

    prox  the coefficient, mu in the paper, >= 0

    The paper lets a client solve its problem inexactly; here it takes K steps.
    """

    prox: Annotated[float, ">= 0"] = 0.1
    weighs: ClassVar[bool] = True
    as_symbols = ("prox",)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        draw, eta = draws.of(clients, self.K), eta[..., None]
        x = to_clients(x, clients.shape[1])
        y = x
        for k in range(self.K):
            watch(y)
            y = y - eta * (problem.gradient(y, clients, draw.step(k)) + self.prox * (y - x))
        return aggregated(problem, clients, y)


@dataclass(frozen=True)
class FedNova(Messages):
    """Clients with their own numbers tau_m of local steps; the server averages their normalised changes.

    With a_m the weights that the local solver gives to its gradients, the change of client m is a mean gradient,
    d_m = (x - y_m) / (eta ||a_m||_1), and x = x - eta tau_eff sum_m p_m d_m with tau_eff = sum_m p_m ||a_m||_1.  For plain
    SGD ||a_m||_1 = tau_m.

    tau         (M,) whole numbers >= 1, or one for all clients
    momentum    of the local solver, in [0, 1)
    prox        coefficient of the local solver's proximal term, >= 0
    tau_eff     > 0, in place of the mean above
    normalises  False: the server averages the clients' models, as FedAvg does

    Raises ValueError for other settings; for a problem, unless tau is a number or has M entries.
    """

    tau: int | tuple[int, ...]
    eta: StepSizes
    S: Participants | None = None
    momentum: Annotated[float, "in [0, 1)"] = 0.0
    prox: Annotated[float, ">= 0"] = 0.0
    tau_eff: Annotated[float, "> 0"] | None = None
    normalises: Truth = True
    weighs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.tau, tuple):
            for tau in self.tau:
                whole("tau", tau, what="a whole number of local steps")
        else:
            whole("tau", self.tau, what="a whole number of local steps, or one for each client,")

    def participants(self, problem: Problem) -> int:
        """S, by default all M.  Raises ValueError when S > M, or tau does not have M entries."""
        self.steps(problem)
        return sampled(problem, self.S)

    def steps(self, problem: Problem) -> NDArray[np.int64]:
        """tau_m, (M,)."""
        tau = np.broadcast_to(self.tau, (problem.M,)) if np.ndim(self.tau) == 0 else np.array(self.tau)
        if tau.shape != (problem.M,):
            raise ValueError(f"tau = {brief(self.tau)}: expected a number for each of the M = {problem.M} clients")
        return tau

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        tau, xp, eta = self.steps(problem)[clients], namespace(x), eta[..., None]
        draw = draws.of(clients, int(tau.max()))
        x = to_clients(x, clients.shape[1])
        # y = x - eta u.  w is what u would be if all gradients were 1: it ends as ||a_m||_1
        u, v = xp.zeros_like(x), xp.zeros_like(x)
        w, w_v = u[..., :1] + 0 * eta, v[..., :1] + 0 * eta
        active = np.arange(int(tau.max())).reshape(-1, *[1] * tau.ndim) < tau
        for k, goes in enumerate(known_as(active[..., None], x)):
            watch(x - eta * u, active[k])
            g = problem.gradient(x - eta * u, clients, draw.step(k))
            v = xp.where(goes, self.momentum * v + g - self.prox * eta * u, v)
            w_v = xp.where(goes, self.momentum * w_v + 1 - self.prox * eta * w, w_v)
            u, w = xp.where(goes, u + v, u), xp.where(goes, w + w_v, w)
        mean, step = aggregated(problem, clients, u / w if self.normalises else u), like(eta[..., 0, :], x)
        if self.normalises:
            step = step * (aggregated(problem, clients, w) if self.tau_eff is None else self.tau_eff)
        changed: Array = x[:, :, 0] - step * mean
        return changed

    def symbols(self, problem: Problem) -> dict[str, float]:
        """M, S, the mean, the largest and the least of the tau_m, and tau_eff, of normalised changes of plain SGD."""
        steps = self.steps(problem)
        found = {"M": problem.M, "S": self.participants(problem), "tau": steps.mean()}
        found |= {"tau_max": steps.max(), "tau_min": steps.min()}
        if self.normalises and not self.momentum and not self.prox:
            p = np.full(problem.M, 1 / problem.M) if problem.weights is None else problem.weights
            found["tau_eff"] = self.tau_eff or p @ steps
        return {name: float(value) for name, value in found.items()}

    def uplink_bits(self, problem: Problem) -> float:
        """The normalised change, and ||a_m||_1."""
        return float(FLOAT * (problem.d + 1))


@dataclass(frozen=True)
class FedDyn(LocalSteps):
    """Clients keep the gradient h_m of their own function, and step against F_m(y) - <h_m, y> + (alpha/2) ||y - x||^2.

    The paper lets a client minimise this function; here it takes K steps of SGD.

    alpha  > 0

    `memory["h_m"]` (E, N, M, d) are the clients' gradients, `memory["h"]` (E, N, d) is their mean; both start at 0.
    """

    alpha: Annotated[float, "> 0"] = 0.1
    as_symbols = ("alpha",)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        every_h, at_x = kept(memory, "h_m", x, problem.M), to_clients(x, clients.shape[1])
        h_m = at_clients(every_h, clients, x)

        def direction(y: Array, draw: Draw) -> Array:
            return problem.gradient(y, clients, draw) - h_m + self.alpha * (y - at_x)

        y = local_steps(x, eta, clients, draws, self.K, watch, direction)
        # client m: h_m = h_m - alpha (y_m - x); server: h = h - (alpha/M) sum over participants of y_m - x
        moved = y - at_x
        memory["h_m"] = with_clients(every_h, clients, h_m - self.alpha * moved)
        memory["h"] = kept(memory, "h", x) - self.alpha / problem.M * moved.sum(axis=2)
        return y.mean(axis=2) - memory["h"] / self.alpha


@dataclass(frozen=True)
class Scaffnew(Messages):
    """ProxSkip for federated learning: after each local step all clients average with probability p, by one coin.

    A round ends with the averaging, so it has a random number of local steps, 1/p in the mean.  Client m steps against
    g_m(y) - h_m, and after the averaging h_m = h_m + (p/eta) (x - y_m).

    p  in (0, 1]

    `memory["h_m"]` (E, N, M, d) are the control variates; they start at 0, and their sum stays 0.
    """

    p: Annotated[float, "in (0, 1]"]
    eta: StepSizes

    def participants(self, problem: Problem) -> int:
        """All M clients."""
        return problem.M

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients, xp, eta = everyone(problem), namespace(x), eta[..., None]
        # the number of steps, geometric, from the draw of client M, which does not exist: (N, 1)
        coin = draws.of(np.full((1, 1), problem.M), 1).step(0).uniform(1)[..., 0]
        steps = np.ones(coin.shape) if self.p == 1 else 1 + np.floor(np.log1p(-coin) / np.log1p(-float(self.p)))
        draw, y = draws.of(clients, int(steps.max())), to_clients(x, problem.M)
        every_h = kept(memory, "h_m", x, problem.M)
        h_m = at_clients(every_h, clients, x)
        for k in range(int(steps.max())):
            active = k < steps
            watch(y, active)
            g = problem.gradient(y, clients, draw.step(k)) - h_m
            y = xp.where(known_as(active[..., None], x), y - eta * g, y)
        mean = y.mean(axis=2)
        memory["h_m"] = with_clients(every_h, clients, h_m + self.p / eta * (mean[:, :, None] - y))
        return mean

    def symbols(self, problem: Problem) -> dict[str, float]:
        """M, S, p, and K = 1/p, the mean number of local steps."""
        return {"M": float(problem.M), "S": float(problem.M), "p": float(self.p), "K": 1 / self.p}


ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "FedProx": FedProx,
    "FedNova": FedNova,
    "FedDyn": FedDyn,
    "Scaffnew": Scaffnew,
}
