"""Random reshuffling (Mishchenko, Khaled, Richtarik, NeurIPS 2020), each component strongly convex: Theorem 1.

With n = M components an epoch has M steps, in a new random order.  The paper has the shuffling variance, at most
eta L M zeta_*^2 / 4, in its bound (Proposition 1); here it is put in.  The point z after i steps is x* - eta times the sum
of the first i gradients at x*, so z is x* again after the epoch.
"""

from fedtheory.paper import *
from fedtheory.simulations.algorithms.minibatch import SGDRR
from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.proofs.arithmetic import at_least, at_most as below

title = "Random Reshuffling: Simple Analysis with Vast Improvements"
paper = paper("reshuffling", title, citation="Mishchenko, Khaled and Richtarik, NeurIPS 2020")
paper.algorithm(SGDRR)
(x, z, s), f = points("x z s"), function("f", smooth=L, strongly_convex=mu)
i = paper.symbol("i", "i", "steps of an epoch so far", integer=True, nonnegative=True)
moved = (x - eta * f.grad(x)) - (z - eta * f.grad(s))
lemma1 = paper.lemma(moved.norm2 <= (1 - eta * mu) * (x - z).norm2 + 2 * eta * f.bregman(z, s), when=eta <= 1 / L)
lemma2 = paper.lemma(f.bregman(z, s) <= L / 2 * (z - s).norm2)


def epochs(a: Argument) -> None:
    """Lemma 1 in each step, with z as above and s = x*."""
    a.source("lemma1"), a.source("lemma2")
    a.require("i (M - i) <= (M - 1) M / 2", below(i * (M - i), (M - 1) * M / 2), at_least(M, 2), at_least(M, i))
    apart = a.by_hand(
        "E||z - x*||^2 = eta^2 i (M - i) / (M - 1) zeta_*^2, the variance of a sum of i draws without replacement",
        field_z, "<=", eta**2 * M / 2 * zeta**2,
    )  # fmt: skip
    steps = "lemma 1 in each of the M R steps, lemma 2, and the sum of the powers of 1 - eta mu is at most 1/(eta mu)"
    more = 2 * eta * L / 2 * apart.value / (eta * mu)
    a.conclude(a.by_hand(steps, dist2.last, "<=", (1 - eta * mu) ** (M * R) * D**2 + more, apart))


field_z = paper.symbol("z_sq", r"\mathbb{E}\|z-x_*\|^2", "squared distance of z from x*", X**2, nonnegative=True)
when, given = [eta <= 1 / L, M >= 2], [smooth, strongly_convex, heterogeneity]
bound = (1 - eta * mu) ** (M * R) * D**2 + eta**2 * L * M * zeta**2 / (2 * mu)
thm = paper.theorem(dist2.last <= bound, "thm1", when=when, given=given, by=epochs, rests_on=[lemma1, lemma2])
for least in (0.1, 0.5):
    paper.arena(thm, problem("quadratic", d=5, M=4, L=1.0, mu=least, zeta_star=1.0), rounds=100)
