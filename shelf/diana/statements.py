"""DIANA (Mishchenko, Gorbunov, Takac, Richtarik 2019): compressed differences of gradients, strongly convex functions.

The Lyapunov function and the form of the rate are those of the paper and of Gorbunov, Hanzely and Richtarik (AISTATS 2020);
the conditions are sufficient ones, and the constants are ours.
"""

from fedtheory.paper import *
from fedtheory.simulations.algorithms.fedcom import DIANA
from fedtheory.simulations.compressors import RandK

paper = paper("diana", "Distributed Learning with Compressed Gradient Differences", citation="arXiv:1901.09269")
paper.algorithm(DIANA, memory={"h_j": "any", "h": "mean of h_j"})
alpha = paper.symbol("alpha", r"\alpha", "step of the memories", positive=True)
apart = paper.quantity("apart", "mean of ||h_m - grad F_m(x*)||^2", F**2 / X**2, off_star("h_j"), start=zeta**2)
given = [smooth, strongly_convex, noise.independent, compressor]
model = (1 - mu * eta) * dist2 - 2 * eta * (1 - L * eta * (1 + 2 * omega / M)) * gap + 2 * omega * eta**2 / M * apart
noisy = (1 + omega) * eta**2 * sigma**2 / M
lemma1 = paper.lemma(dist2.next <= model + noisy, when=eta <= 1 / L, given=given, by=certificate)
memories = (1 - alpha) * apart + 2 * alpha * L * gap + alpha * sigma**2
lemma2 = paper.lemma(apart.next <= memories, when=alpha * (1 + omega) <= 1, given=given, by=certificate)
c, q = (
    4 * omega / (alpha * M) * eta**2,
    paper.symbol("q", "q", "share of the Lyapunov function that goes", positive=True),
)
limits = [eta <= 1 / (L * (1 + 6 * omega / M)), alpha * (1 + omega) <= 1, q <= mu * eta, q <= alpha / 2, q < 1]
last = (1 - q) ** R * (D**2 + c * zeta**2) + (1 + 5 * omega) * eta**2 * sigma**2 / (M * q)
by = [lemma1, plus(c, lemma2), drop(gap), contract_by(1 - q)]
thm = paper.theorem(dist2.last + c * apart.last <= last, "thm", when=limits, given=given, by=by)

model = paper.theorem(dist2.last <= last, "model", when=limits, given=given, by=[*by, only(dist2.last)])
quadratics = problem("quadratic", d=4, M=4, L=1.0, mu=0.1, zeta_star=1.0, sigma=0.5)
paper.arena(
    model, quadratics, rounds=200, compressor=RandK(2), alpha=0.5, given={"omega": 1.0, "alpha": 0.5, "q": 0.01}
)
