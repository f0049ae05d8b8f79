"""Local SGD on functions that are not convex, of clients that differ (Koloskova, Loizou, Boreiri, Jaggi, Stich, ICML 2020).

Their unified theory has local SGD as one scheme of averaging among many.  This is that case, with their assumptions for it:
smooth functions, noise and heterogeneity bounded everywhere; the terms are theirs, the constants are ours.
"""

from fedtheory.paper import *
from fedtheory.simulations.algorithms.sfl import PFL

title = "A Unified Theory of Decentralized SGD with Changing Topology and Local Updates"
paper = paper("koloskova", title, step=K * eta, citation="Koloskova et al., ICML 2020")
paper.algorithm(PFL)
when, q = h <= 1 / (4 * L), sigma**2 / K
given = [smooth, noise.independent, bounded_below, spread_everywhere]
steps = 2 * h**2 * local_sq + 2 * h**2 * q
lemma1 = paper.lemma(drift <= steps, when=when, given=[smooth, noise], by=[smooth, noise, jensen])
lemma2 = paper.lemma(local_sq <= grad_sq + spread**2, given=[spread_everywhere], by=certificate)
descent = gap - h / 2 * grad_sq + h * L**2 / 2 * drift + L * h**2 * q / M
lemma3 = paper.lemma(gap.next <= descent, when=when, given=given, by=[smooth, noise.independent, jensen])
bound = at_most(
    grad_sq.mean,
    optimisation=16 * Delta / (7 * h * R),
    noise=16 * L * h * q / (7 * M) + 16 * L**2 * h**2 * q / 7,
    heterogeneity=16 * L**2 * h**2 * spread**2 / 7,
)
thm = paper.theorem(bound, "thm", when=when, given=given, by=[lemma3, lemma1, lemma2, telescope])
for std in (0.0, 0.5):
    quadratics = problem("quadratic", d=5, M=4, L=1.0, mu=0.1, zeta_star=1.0, delta=0.0, sigma=std)
    paper.arena(thm, quadratics, rounds=100, K=3)
