"""The algorithm of "FedBAT: Communication-Efficient Federated Learning via Learnable Binarization".

`FedBAT`: Algorithm 1 with (10) to (14), and the variant that Section 4 analyses, by settings; `VARIANTS` has both by name.
`SIGNS`: the methods of signs that it is compared with; FedPAQ and FedAvg are in `simulations.algorithms.fedcom`.

Letters are the paper's own: w the server's model, m a client's update, mhat = S(m, alpha) its binarisation, tau local
steps, phi the share of them without binarisation, rho the pace at which the step sizes are learned, K clients of N a
round, all of them counting alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from simulations.algorithms import Algorithm, Memory, Watch, participating
from simulations.algorithms.fedbcgd import Sampling, one_of, positive, whole, with_error_memory
from simulations.algorithms.fedcom import FLOAT, FedPAQ, sampled, to_clients
from simulations.binarisation import binarise, derivatives, step_size, wire_bits
from simulations.compressors import MaxSign, NoisySign, Sign
from simulations.draws import Draws
from simulations.problems import Array, Problem

StepSize = Literal["learned", "max"]
Sent = Literal["all", "printed"]


@dataclass(frozen=True)
class FedBAT:
    """Algorithm 1: floor(phi tau) steps as they are, (12), the others at the binarised update, (14), which is then sent.

    K          participating clients, by default all
    phi        share of the local steps before binarisation, in [0, 1)
    rho        (10): alpha = alpha' exp(rho alpha_e), and alpha_e is what is learned; 0: alpha stays at alpha'
    step_size  "learned": for each layer alpha' is the mean size of m after floor(phi tau) steps, (13), and alpha_e starts at
               0.  With phi = 0 that is m = 0, so alpha' = 0, and nothing ever moves.  "max": alpha is the largest size in
               the layer at every step, as Section 4 has it, so that S has no bias
    sent       "all": mhat after tau steps; "printed": line 23, mhat_{t,tau-1}, which the last gradient was taken at: the
               result of tau - 1 steps

    gamma      None: eta throughout; else local step t = 0, 1, 2 ... of the whole run has eta / (gamma + t), as in Theorems 1
               and 2 with eta = 2/mu

    The layers are the problem's blocks.  Raises ValueError for a tau or K that is not a whole number >= 1, an eta that is
    not a positive finite number (or several), a phi outside [0, 1), a negative rho, and other words.
    """

    tau: int
    eta: Any
    K: int | None = None
    phi: float = 0.5
    rho: float = 6.0
    step_size: StepSize = "learned"
    sent: Sent = "all"
    gamma: float | None = None

    def __post_init__(self) -> None:
        whole("tau", self.tau)
        if self.K is not None:
            whole("K", self.K)
        for eta in np.atleast_1d(np.asarray(self.eta, dtype=float)):
            positive("eta", eta)
        if not 0 <= self.phi < 1:
            raise ValueError(f"phi = {self.phi}: expected a number in [0, 1)")
        if not (np.isfinite(self.rho) and self.rho >= 0):
            raise ValueError(f"rho = {self.rho}: expected a finite number >= 0")
        if self.gamma is not None:
            positive("gamma", self.gamma)
        one_of("step_size", self.step_size, StepSize)
        one_of("sent", self.sent, Sent)

    @property
    def warm_up(self) -> int:
        """floor(phi tau), rounding errors apart."""
        return int(np.floor(self.phi * self.tau + 1e-9))

    def participants(self, problem: Problem) -> int:
        """K, by default all.  Raises ValueError when that is more than there are."""
        return sampled(problem, self.K)

    def letters(self, problem: Problem) -> dict[str, float]:
        """N clients, K of them a round, tau."""
        return {"N": float(problem.M), "K": float(self.participants(problem)), "tau": float(self.tau)}

    def uplink_bits(self, problem: Problem) -> float:
        """A step size in float32 a layer, and a bit a coordinate."""
        return float(wire_bits(problem.blocks))

    def downlink_bits(self, problem: Problem) -> float:
        """The model."""
        return float(FLOAT * problem.d)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """w (E, N, d) -> w (E, N, d)."""
        clients = participating(problem, draws, self.participants(problem))
        draw, coins, eta = draws.of(clients, self.tau), draws.codes(clients).local, eta[..., None]
        layers = Layers(problem)
        # lines 11 and 12
        w = to_clients(x, clients.shape[1])
        m = mhat = np.zeros_like(w)
        initial = exponent = np.zeros((*w.shape[:-1], len(layers.starts)))
        for s in range(self.tau):
            rate = eta if self.gamma is None else eta / (self.gamma + draws.round * self.tau + s)
            if s < self.warm_up:  # line 15, (12)
                watch(w + m)
                m = m - rate * problem.gradient(w + m, clients, draw.step(s))
                continue
            if s == self.warm_up:  # line 17, (13)
                initial = layers.mean(np.abs(m))
            # lines 18 and 20, (14), with (8), (9) and (10)
            alpha, zeta = self._alpha(layers, m, initial, exponent), coins.step(s).uniform(problem.d)
            mhat = binarise(m, layers.spread(alpha), zeta)
            watch(w + mhat)
            g = problem.gradient(w + mhat, clients, draw.step(s))
            by_m, by_alpha = derivatives(m, layers.spread(alpha), zeta)
            m = m - rate * (g * by_m)
            exponent = exponent - rate * self.rho * alpha * layers.sum(g * by_alpha)
        # lines 23 and 24
        if self.sent == "all":
            alpha = layers.spread(self._alpha(layers, m, initial, exponent))
            mhat = binarise(m, alpha, coins.step(self.tau).uniform(problem.d))
        # line 7, (11)
        return x + mhat.mean(axis=2)

    def _alpha(self, layers: Layers, m: Array, initial: Array, exponent: Array) -> Array:
        """The step sizes, (E, N, K, layers)."""
        if self.step_size == "max":
            return layers.largest(np.abs(m))
        return step_size(initial, self.rho, exponent)


@dataclass(frozen=True)
class EFSignSGD(Sampling):
    """EF-SignSGD (Karimireddy et al. 2019), as Section 1 of the paper uses it: signs of m and of what was not sent before.

    T local steps at S clients, by default all; the step size is ||m + e||_1 / d, over all coordinates together.
    `memory["e_i"]` (E, N, M, d) is what each client has not sent yet.
    """

    def uplink_bits(self, problem: Problem) -> float:
        """A step size, and a bit a coordinate."""
        return Sign().bits(problem.d)

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """w (E, N, d) -> w (E, N, d)."""
        return with_error_memory(self, Sign(), problem, x, eta, draws, watch, memory)


class Layers:
    """The problem's blocks as segments of the last axis."""

    def __init__(self, problem: Problem) -> None:
        self.starts = [part.start for part in problem.blocks.values()]
        self.sizes = np.array([part.stop - part.start for part in problem.blocks.values()])

    def sum(self, v: Array) -> Array:
        """(..., d) -> (..., layers)."""
        return np.add.reduceat(v, self.starts, axis=-1)

    def mean(self, v: Array) -> Array:
        """(..., d) -> (..., layers)."""
        return self.sum(v) / self.sizes

    def largest(self, v: Array) -> Array:
        """(..., d) -> (..., layers)."""
        return np.maximum.reduceat(v, self.starts, axis=-1)

    def spread(self, v: Array) -> Array:
        """A number a layer to one a coordinate: (..., layers) -> (..., d)."""
        return np.repeat(v, self.sizes, axis=-1)


VARIANTS: dict[str, Callable[..., Algorithm]] = {
    "FedBAT": FedBAT,
    "FedBAT, line 23 as printed": partial(FedBAT, sent="printed"),
    "FedBAT, as analysed": partial(FedBAT, phi=0.0, step_size="max"),
}
# Step sizes and noise as Appendix A.2 sets them for networks; others by FedPAQ with Sign, NoisySign, MaxSign
SIGNS: dict[str, Callable[..., Algorithm]] = {
    "SignSGD": partial(FedPAQ, compressor=Sign(0.001)),
    "EF-SignSGD": EFSignSGD,
    "Noisy-SignSGD": partial(FedPAQ, compressor=NoisySign(0.01, 0.01)),
    "Stoc-SignSGD": partial(FedPAQ, compressor=MaxSign(0.01)),
}
ALGORITHMS = VARIANTS | SIGNS
