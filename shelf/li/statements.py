"""Local SGD with decreasing step sizes (Li, Huang, Yang, Wang, Zhang, ICLR 2020), if all clients take part.

As in Theorem 1 of the paper functions are strongly convex, and it falls like 1/R, here with h = 4/(mu (r + 40 kappa)).
The paper bounds the gradients, and heterogeneity by the clients' minima; here it is at x*.  The constants are ours.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from fedtheory.paper import *
from fedtheory.simulations.algorithms.base import Memory, Watch
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.engine import run
from fedtheory.simulations.problems import Array, Problem
from fedtheory.simulations.problems.quadratic import Quadratic


@dataclass(frozen=True)
class Decreasing(PFL):
    """Local SGD whose step size is eta / (1 + r/after) in round r."""

    after: float = 400.0

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """x (E, N, d) -> x (E, N, d)."""
        return super().round(problem, x, eta / (1 + draws.round / self.after), draws, watch, memory)


paper = paper("li", "On the Convergence of FedAvg on Non-IID Data", step=K * eta, citation="Li et al., ICLR 2020")
paper.algorithm(PFL)  # a round with the step size h; the theorem and its runs have another h in each
given, when, q = [smooth, strongly_convex, noise.independent, heterogeneity], h <= 1 / (10 * L), sigma**2 / K
drifts, one = 2 * h**2 * local_sq + 2 * h**2 * q, [smooth, noise]
lemma1 = paper.lemma(drift <= drifts, when=when, given=one, by=[*one, jensen])
lemma2 = paper.lemma(local_sq <= 4 * L * gap + 2 * zeta**2, given=given, by=certificate)
progress = (1 - mu * h / 2) * dist2 - h * gap + 5 * L * h / 2 * drift + 2 * h**2 * q / M
lemma3 = paper.lemma(dist2.next <= progress, when=when, given=given, by=[*given[:3], jensen])
after = (1 - mu * h / 2) * dist2 + 2 * h**2 * q / M + 5 * L * h**3 * (2 * zeta**2 + q)
lemma4 = paper.lemma(dist2.next <= after, when=when, given=given, by=[lemma3, lemma1, lemma2, drop(gap)])
slow, noisy = 40 * L / mu, (32 / M + 8) * q / mu**2
parts = {"optimisation": slow * D**2, "noise": noisy, "heterogeneity": 16 * zeta**2 / mu**2}
bound = at_most(dist2.last, **{name: part / (R + slow) for name, part in parts.items()})
by = decreasing(lemma4, 4 / (mu * K), slow, sum(parts.values()))
thm = paper.theorem(bound, "thm1", given=given, by=by, rests_on=[lemma4])


def runs() -> Iterator[dict[str, float]]:
    """Two clients on the line, without noise."""
    for least, apart, D, K, R in product((0.1, 1.0), (0.0, 1.0), (0.1, 3.0), (1, 5), (1, 30, 1000)):
        functions = Quadratic([[[1.0]], [[least]]], [[-apart], [apart]])
        known = run(functions, Decreasing(K, 0.1 / K, after=40 / least), rounds=R, x0=[D], record=("dist2",), at=[R])
        numbers = {"M": 2, "K": K, "L": 1.0, "mu": least, "sigma": 0.0, "zeta_star": apart, "D": D, "R": R}
        yield numbers | {"dist2_last": known.dist2.item()}


paper.cases(thm, runs, dist2.last)
