"""SGD with error feedback (Stich, Cordonnier, Jaggi 2018; Karimireddy et al. 2019; Stich and Karimireddy 2020).

The compressor keeps a share of its input; what it loses is sent later.  Stochastic gradients are bounded, as in Theorem II
of Karimireddy et al. (ICML 2019); the terms are the same, for M clients, with constants that are proved here.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from fedtheory.bounds.quantities import mean
from fedtheory.paper import *
from fedtheory.simulations.algorithms.base import Memory, Watch, everyone, kept, to_clients
from fedtheory.simulations.algorithms.fedcom import UNCOMPRESSED, Compressing
from fedtheory.simulations.compressors import Compressor
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.exact.trace import Trace
from fedtheory.simulations.problems import Array, Problem


@dataclass(frozen=True)
class ErrorFeedback(Compressing):
    """Client m sends C(e_m + eta g_m) and keeps e_m = e_m + eta g_m - C(e_m + eta g_m); the server subtracts the mean."""

    eta: Any
    compressor: Compressor = UNCOMPRESSED
    tau: ClassVar[int] = 1
    gamma: ClassVar[float] = 1.0

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        clients, x_m = everyone(problem), to_clients(x, problem.M)
        watch(x_m)
        g = problem.gradient(x_m, clients, draws.of(clients, 1).step(0))
        whole = kept(memory, "e_m", x, problem.M) + eta[..., None] * g
        sent = self.compressor(whole, draws.codes(clients))
        memory["e_m"] = whole - sent
        return x - sent.mean(axis=2)


paper = paper("errorfeedback", "Error Feedback Fixes SignSGD and other Gradient Compression Schemes")
paper.algorithm(ErrorFeedback, memory={"e_m": "any"})
unsent = paper.quantity("unsent", "mean of ||e_m||^2", X**2, lambda t, of: mean(e.square for e in of["e_m"]))


def virtual_(t: Trace, memory: Any) -> Any:
    """F at x - mean e_m, where the model would be if all were sent; minus F*."""
    return t.F(t.x - mean(memory["e_m"])).value - t.star.value


virtual = paper.quantity("virtual", "F(x - mean e_m) - F*", F, virtual_, start=Delta)
given = [smooth, noise, bounded_gradient, contractive, bounded_below]
kept_ = (1 - delta / 2) * unsent + 2 * (1 - delta) / delta * eta**2 * G**2
lemma1 = paper.lemma(unsent.next <= kept_, when=delta <= 1, given=[bounded_gradient, contractive], by=certificate)
descent = virtual - eta / 2 * grad_sq + eta * L**2 / 2 * unsent + L * eta**2 * G**2 / 2
lemma2 = paper.lemma(virtual.next <= descent, given=given, by=certificate)
bound = 2 * Delta / (eta * R) + L * eta * G**2 + 4 * L**2 * (1 - delta) / delta**2 * eta**2 * G**2
thm = paper.theorem(grad_sq.mean <= bound, "thm", when=delta <= 1, given=given, by=[lemma2, steady(lemma1), telescope])
