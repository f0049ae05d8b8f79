"""ProxSkip for federated learning (Scaffnew): its iteration, the lemma about its Lyapunov function, its theorem."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sympy import Max

from fedtheory.bounds.quantities import mean
from fedtheory.paper import *
from fedtheory.simulations.algorithms.base import Memory, Watch, everyone, kept, to_clients
from fedtheory.simulations.algorithms.baselines import Scaffnew
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.exact.trace import Trace
from fedtheory.simulations.problems import Array, Problem
from fedtheory.theory.proofs.argument import Argument


@dataclass(frozen=True)
class ProxSkip(Scaffnew):
    """y_m = y_m - eta (g_m(y_m) - h_m); with probability p then h_m = h_m + (p/eta) (mean - y_m) and y_m = mean.

    A round is one iteration; `Scaffnew` has a round for all iterations up to an average.
    """

    coin: ClassVar[str] = "p"

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d), the mean of the y_m: one iteration."""
        clients, eta = everyone(problem), eta[..., None]
        y, h_m = memory.get("y_m", to_clients(x, problem.M)), kept(memory, "h_m", x, problem.M)
        watch(y)
        y = y - eta * (problem.gradient(y, clients, draws.of(clients, 1).step(0)) - h_m)
        mean = to_clients(y.mean(axis=2), problem.M)
        talks = draws.of(np.full((1, 1), problem.M), 1).step(0).uniform(1) < self.p
        memory["h_m"] = np.where(talks, h_m + self.p / eta * (mean - y), h_m)
        memory["y_m"] = np.where(talks, mean, y)
        return y.mean(axis=2)


paper = paper(
    "proxskip",
    "ProxSkip: Yes! Local Gradient Steps Provably Lead to Communication Acceleration! Finally!",
    citation="Mishchenko, Malinovsky, Stich and Richtarik, ICML 2022",
)
paper.algorithm(ProxSkip, memory={"y_m": "any", "h_m": "sum 0"})
p = paper.symbol("p", "p", "probability that the clients average", positive=True)


def near_(t: Trace, memory: Any) -> Any:
    """The mean of ||y_m - x*||^2."""
    return mean(y.square for y in memory["y_m"])


def apart_(t: Trace, memory: Any) -> Any:
    """The mean of ||h_m - grad F_m(x*)||^2."""
    return mean((h - f.at(t.zero).gradient).square for f, h in zip(t.functions, memory["h_m"], strict=True))


near = paper.quantity("near", "mean of ||y_m - x*||^2", X**2, near_, start=D**2)
apart = paper.quantity("apart", "mean of ||h_m - grad F_m(x*)||^2", F**2 / X**2, apart_, start=zeta**2)
given, when = [smooth, strongly_convex], [eta <= 1 / L, p <= 1]
ratio = Max(1 - eta * mu, 1 - p**2)
psi = near + eta**2 / p**2 * apart
lemma = paper.lemma(near.next + eta**2 / p**2 * apart.next <= ratio * psi, "iteration", when=when, given=given)
start = D**2 + eta**2 / p**2 * zeta**2
theorem = paper.theorem(
    near.last + eta**2 / p**2 * apart.last <= ratio**R * start, "thm", when=when, given=given, by=[lemma, contract]
)


def of_mean(a: Argument) -> None:
    """The mean of the y_m is at most as far away as they are in the mean, and the other part of Psi is not negative."""
    bound = a.claim("thm")
    a.conclude(a.by_hand("||mean of the y_m - x*||^2 <= near <= Psi", dist2.last, "<=", bound.value, bound))


average = paper.theorem(dist2.last <= ratio**R * start, "mean", when=when, given=given, by=of_mean)
for chance in (0.2, 0.5):
    paper.arena(average, problem("quadratic", d=5, M=4, L=1.0, mu=0.1, zeta_star=1.0), rounds=100, p=chance)
