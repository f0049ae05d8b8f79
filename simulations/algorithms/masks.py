"""Training of masks: the weights stay random, clients learn which of them to keep.

`FedPM`: Isik, Pase, Gunduz, Weissman and Zorzi, "Sparse Random Networks for Communication-Efficient Federated Learning"
(ICLR 2023).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fedtheory.simulations.algorithms.base import Algorithm, LocalSteps, Memory, Watch, kept, participating, to_clients
from fedtheory.simulations.arrays import namespace
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems import Array, Problem


@dataclass(frozen=True)
class FedPM(LocalSteps):
    """Federated probabilistic mask training: the weights are those of the start, the model is a random part of them.

    theta (d,) are the probabilities that weights are kept.  A client starts at the scores s = logit(theta).  A local step
    draws a mask, each entry 1 with probability sigmoid(s), and takes the gradient in the masked weights; it goes straight
    through the draw: s = s - eta g w sigmoid'(s).  Then the client sends one mask, a bit a weight.  The server counts
    kept and dropped weights over the rounds since its last reset, and theta is the mode of their Beta distribution.

    The model after a round is the mean network, theta w.  It needs a start other than 0.

    reset  rounds after which the server forgets its counts; with 1, theta is the mean of the round's masks
    clamp  theta is kept in [clamp, 1 - clamp], so that the scores stay finite

    `memory["w"]`, `memory["theta"]`, `memory["ones"]`, `memory["zeros"]` (E, N, d) hold the weights, theta and the counts.
    """

    reset: Annotated[int, "a whole number of rounds"] = 1
    clamp: Annotated[float, "in (0, 1/2)"] = 0.01

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients, xp = participating(problem, draws, self.participants(problem)), namespace(x)
        S = clients.shape[1]
        weights = memory.setdefault("w", x)
        w, theta = to_clients(weights, S), kept(memory, "theta", x, value=0.5)
        coins, draw, eta = draws.coins(clients, self.K + 1), draws.of(clients, self.K), eta[..., None]
        s = to_clients(xp.log(theta / (1 - theta)), S)
        for k in range(self.K):
            p = sigmoid(s)
            y = xp.where(coins.step(k).uniform(problem.d) < p, w, 0 * w)
            watch(y)
            s = s - eta * problem.gradient(y, clients, draw.step(k)) * w * p * (1 - p)
        # client m sends a mask; server: counts, and theta = (alpha - 1) / (alpha + beta - 2) with alpha - 1 = ones
        masks = xp.where(coins.step(self.K).uniform(problem.d) < sigmoid(s), 0 * w + 1, 0 * w)
        begins = draws.round % self.reset == 0
        ones, zeros = (kept({} if begins else memory, name, x) for name in ("ones", "zeros"))
        ones, zeros = ones + masks.sum(axis=2), zeros + (1 - masks).sum(axis=2)
        theta = (ones / (ones + zeros)).clip(self.clamp, 1 - self.clamp)
        memory["theta"], memory["ones"], memory["zeros"] = theta, ones, zeros
        return theta * weights

    def uplink_bits(self, problem: Problem) -> float:
        """A mask, without entropy coding."""
        return float(problem.d)


def sigmoid(s: Any) -> Any:
    """1 / (1 + exp(-s))."""
    return 1 / (1 + namespace(s).exp(-s))


ALGORITHMS: dict[str, Callable[..., Algorithm]] = {"FedPM": FedPM}
