"""ProxSkip for federated learning, also called Scaffnew (Mishchenko et al., ICML 2022), with exact gradients."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sympy import Min

from fedtheory.bounds.quantities import mean
from fedtheory.paper import *
from fedtheory.simulations.algorithms.base import Memory, Watch, everyone, kept, to_clients
from fedtheory.simulations.algorithms.baselines import Scaffnew
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems import Array, Problem
from fedtheory.theory.proofs.argument import Argument


@dataclass(frozen=True)
class ProxSkip(Scaffnew):
    """y_m = y_m - eta (g_m(y_m) - h_m); with probability p then h_m = h_m + (p/eta) (mean - y_m) and y_m = mean."""

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


paper = paper("proxskip", "ProxSkip: Yes! Local Gradient Steps Provably Lead to Communication Acceleration! Finally!")
paper.algorithm(ProxSkip, memory={"y_m": "any", "h_m": "sum 0"})
p = paper.symbol("p", "p", "probability that the clients average", positive=True)
near = paper.quantity("near", "mean of ||y_m - x*||^2", X**2, lambda t, of: mean(y.square for y in of["y_m"]), D**2)
apart = paper.quantity("apart", "mean of ||h_m - grad F_m(x*)||^2", F**2 / X**2, off_star("h_m"), start=zeta**2)
given, when, ratio = [smooth, strongly_convex], [eta <= 1 / L, p <= 1], 1 - Min(eta * mu, p**2)
psi, start = near + eta**2 / p**2 * apart, D**2 + eta**2 / p**2 * zeta**2
after, last = near.next + eta**2 / p**2 * apart.next, near.last + eta**2 / p**2 * apart.last
lemma = paper.lemma(after <= ratio * psi, "iteration", when=when, given=given, by=certificate)
theorem = paper.theorem(last <= ratio**R * start, "thm", when=when, given=given, by=[lemma, contract])


def of_mean(a: Argument) -> None:
    """The mean of the y_m is at most as far away as they are in the mean, and the other part of Psi is not negative."""
    bound = a.claim("thm")
    a.conclude(a.by_hand("||mean of the y_m - x*||^2 <= near <= Psi", dist2.last, "<=", bound.value, bound))


average = paper.theorem(dist2.last <= ratio**R * start, "mean", when=when, given=given, by=of_mean)
for chance in (0.2, 0.5):
    paper.arena(average, problem("quadratic", d=5, M=4, L=1.0, mu=0.1, zeta_star=1.0), rounds=100, p=chance)
