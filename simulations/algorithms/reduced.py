"""Local methods with variance reduction, or with momentum of the server in every local step.

`CELSGD`: Patel, Wang, Woodworth, Bullins and Srebro, "Towards Optimal Communication Complexity in Distributed Non-Convex
Optimization" (NeurIPS 2022).  `BVRLSGD`: Murata and Suzuki, "Bias-Variance Reduced Local SGD for Less Heterogeneous
Federated Learning" (ICML 2021).  `Mime`, `MimeLite`: Karimireddy, Jaggi, Kale, Mohri, Reddi, Stich and Suresh, "Breaking
the centralized barrier for cross-device federated learning" (NeurIPS 2021).  `STEM`: Khanduri, Sharma, Yang, Hong, Liu,
Rajawat and Varshney, "STEM: A stochastic two-sided momentum algorithm achieving near-optimal sample and communication
complexities for federated learning" (NeurIPS 2021).

All of them take stochastic gradients at two points with the same noise or mini-batch.  All clients count alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.algorithms.base import (
    FLOAT,
    Algorithm,
    LocalSteps,
    Memory,
    Watch,
    at_both,
    everyone,
    exact,
    kept,
    participating,
    to_clients,
)
from fedtheory.simulations.draws import Draw, Draws
from fedtheory.simulations.problems import Array, Problem

Gradients = Annotated[int, "a whole number of gradients"]


@dataclass(frozen=True)
class CELSGD(LocalSteps):
    """CE-LSGD: the server's momentum estimates the gradient; one client makes the local steps, with SARAH's recursion.

    beta   of the server's estimate, in (0, 1]
    batch  stochastic gradients of a client in that estimate
    first  the same in the first round, where there is no older estimate

    `memory["v"]` (E, N, d) is the estimate, `memory["x"]` (E, N, d) the model of the round before.
    """

    beta: Annotated[float, "in (0, 1]"] = 0.5
    batch: Gradients = 1
    first: Gradients = 1
    as_symbols = ("beta",)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = draws.order(problem.M, self.participants(problem))
        begins = "v" not in memory
        batch, keep = (self.first, 0.0) if begins else (self.batch, 1 - self.beta)
        before = kept(memory, "x", x)
        # client m sends the mean of g_m(x) - (1 - beta) g_m(x of the round before), both with the same draw
        draw = draws.of(clients, batch + self.K)
        at_x, at_before = averaged(problem, x, x if begins else before, clients, [draw.step(b) for b in range(batch)])
        # server: v = mean + (1 - beta) v
        v = (at_x - keep * at_before).mean(axis=2) + keep * kept(memory, "v", x)
        memory["v"], memory["x"] = v, x
        # one of these clients, at random, gets v and sends its model after K steps
        return sarah(problem, x, v, eta, clients[:, :1], draws, range(batch, batch + self.K), watch)

    def uplink_bits(self, problem: Problem) -> float:
        """The difference of gradients; one of the S clients also sends its model."""
        return FLOAT * problem.d * (1 + 1 / self.participants(problem))

    def downlink_bits(self, problem: Problem) -> float:
        """The model of this round and of the last one; one of the S clients also gets v."""
        return FLOAT * problem.d * (2 + 1 / self.participants(problem))


@dataclass(frozen=True)
class BVRLSGD(LocalSteps):
    """BVR-L-SGD: SARAH's recursion over rounds for the server's gradient, and over local steps at a client.

    A stage begins with the exact gradient.  In every later round of it all clients send the difference of the means of
    `batch` stochastic gradients at the last two models.  Then the next model is that of a client, taken at random, after
    K local steps.  The paper has all clients make them; the others' models are not used, so they are not computed here.

    stage  rounds of a stage, T in the paper
    batch  stochastic gradients of a client for the server's estimate; None: K

    `memory["v"]` (E, N, d) is the estimate, `memory["x"]` (E, N, d) the model of the round before.  A round raises
    ValueError for a problem that offers no `local_gradient`, and for S < M.
    """

    stage: Annotated[int, "a whole number of rounds"] = 10
    batch: Gradients | None = None
    up = down = 2  # the difference of gradients and the model; the model and v

    def participants(self, problem: Problem) -> int:
        """All M.  Raises ValueError for S < M."""
        return all_clients(self, problem)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients, batch = everyone(problem), self.batch or self.K
        if draws.round % self.stage == 0:
            v = exact(problem).local_gradient(to_clients(x, problem.M), clients).mean(axis=2)
        else:
            draw = draws.of(clients, batch + self.K)
            steps = [draw.step(b) for b in range(batch)]
            at_x, at_before = averaged(problem, x, memory["x"], clients, steps)
            v = memory["v"] + (at_x - at_before).mean(axis=2)
        memory["v"], memory["x"] = v, x
        one = draws.order(problem.M, problem.M)[:, :1]
        return sarah(problem, x, v, eta, one, draws, range(batch, batch + self.K), watch)


@dataclass(frozen=True)
class MimeLite(LocalSteps):
    """Local steps of SGD with momentum in which the momentum is the server's, and stays as it is during a round.

    A step is y = y - eta ((1 - momentum) g + momentum m); m takes in the mean of the participants' exact gradients at the
    server's model after the round.  Without momentum this is `PFL`.

    momentum  in [0, 1)

    `memory["m"]` (E, N, d) is m, 0 at the start.  Where exact gradients are needed, a round raises ValueError for a problem
    that offers no `local_gradient`.
    """

    momentum: Annotated[float, "in [0, 1)"] = 0.9
    corrected: ClassVar[bool] = False  # whether a local step subtracts its gradient at the server's model
    as_symbols = ("momentum",)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        at_x, b, m = to_clients(x, clients.shape[1]), self.momentum, kept(memory, "m", x)
        # the participants send grad F_i(x) over all their data; c is its mean
        needed = self.corrected or self.momentum > 0
        c = exact(problem).local_gradient(at_x, clients).mean(axis=2) if needed else m
        draw, y = draws.of(clients, self.K), at_x
        for k in range(self.K):
            watch(y)
            if self.corrected:
                g, there = at_both(problem, y, at_x, clients, draw.step(k))
                g = g - there + c[:, :, None]
            else:
                g = problem.gradient(y, clients, draw.step(k))
            y = y - eta[..., None] * ((1 - b) * g + b * m[:, :, None])
        memory["m"] = (1 - b) * c + b * m
        return y.mean(axis=2)

    def uplink_bits(self, problem: Problem) -> float:
        """The model; with momentum also the exact gradient."""
        return FLOAT * problem.d * (2.0 if self.momentum else 1.0)

    def downlink_bits(self, problem: Problem) -> float:
        """The model; with momentum also m."""
        return FLOAT * problem.d * (2.0 if self.momentum else 1.0)


@dataclass(frozen=True)
class Mime(MimeLite):
    """MimeLite whose stochastic gradients are corrected: g_i(y) - g_i(x) + c, with c the mean exact gradient at x.

    x is the server's model, and the mean is over the participants; g_i(y) and g_i(x) have the same draw.  Without momentum
    and with all clients it is local SVRG: `SLocalGD` with q = 1.
    """

    corrected: ClassVar[bool] = True

    def uplink_bits(self, problem: Problem) -> float:
        """The exact gradient and the model."""
        return 2.0 * FLOAT * problem.d

    def downlink_bits(self, problem: Problem) -> float:
        """The model and c; with momentum also m."""
        return FLOAT * problem.d * (3.0 if self.momentum else 2.0)


@dataclass(frozen=True)
class STEM(LocalSteps):
    """STORM's momentum at the clients, averaged by the server together with the models after every K steps.

    The direction is d = g(y) + (1 - a)(d - g(y before)), both gradients with the same draw.  In the paper a = c eta_t^2
    with eta_t falling as t^(-1/3); here both are constant.  A constant a leaves a bias where clients differ.

    a      in (0, 1]
    first  stochastic gradients of a client for the first direction, B in the paper

    `memory["d"]` (E, N, d) is the mean direction.  Raises ValueError in a round for S < M.
    """

    a: Annotated[float, "in (0, 1]"] = 0.1
    first: Gradients = 1
    up = down = 2  # the model and the direction
    as_symbols = ("a",)

    def participants(self, problem: Problem) -> int:
        """All M.  Raises ValueError for S < M."""
        return all_clients(self, problem)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients = everyone(problem)
        draw, y = draws.of(clients, self.K + self.first), to_clients(x, problem.M)
        if "d" not in memory:
            at_x, _ = averaged(problem, x, x, clients, [draw.step(self.K + b) for b in range(self.first)])
            memory["d"] = at_x.mean(axis=2)
        d = to_clients(memory["d"], problem.M)
        for k in range(self.K):
            watch(y)
            before, y = y, y - eta[..., None] * d
            there, here = at_both(problem, before, y, clients, draw.step(k))
            d = here + (1 - self.a) * (d - there)
        memory["d"] = d.mean(axis=2)
        return y.mean(axis=2)


def all_clients(algorithm: LocalSteps, problem: Problem) -> int:
    """M.  Raises ValueError where the algorithm asks for fewer."""
    if algorithm.S not in (None, problem.M):
        name = type(algorithm).__name__
        raise ValueError(f"S = {algorithm.S}, but in {name} all M = {problem.M} clients take part: expected no S, or M")
    return problem.M


def averaged(
    problem: Problem, x: Array, z: Array, clients: NDArray[np.int64], steps: Sequence[Draw]
) -> tuple[Array, Array]:
    """The clients' mean stochastic gradients at x and at z (E, N, d) over these draws, the same at both: (E, N, S, d)."""
    x, z = (to_clients(at, clients.shape[1]) for at in (x, z))
    both = [at_both(problem, x, z, clients, step) for step in steps]
    return sum(one for one, _ in both) / len(both), sum(other for _, other in both) / len(both)  # type: ignore[return-value]


def sarah(
    problem: Problem,
    x: Array,
    v: Array,
    eta: Array,
    client: NDArray[np.int64],
    draws: Draws,
    steps: Sequence[int],
    watch: Watch,
) -> Array:
    """The model of one client (N, 1) after these local steps: w = w - eta u with u = v, then u = u + g(w) - g(w before)."""
    draw = draws.of(client, max(steps) + 1)
    w, u, eta = to_clients(x, 1), v[:, :, None], eta[..., None]
    for k in steps:
        watch(w)
        before, w = w, w - eta * u
        if k != steps[-1]:
            there, here = at_both(problem, before, w, client, draw.step(k))
            u = u + here - there
    return w[:, :, 0]


ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "CE-LSGD": CELSGD,
    "BVR-L-SGD": BVRLSGD,
    "Mime": Mime,
    "MimeLite": MimeLite,
    "STEM": STEM,
}
