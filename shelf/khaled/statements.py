"""Local SGD on convex functions of clients that differ (Khaled, Mishchenko, Richtarik, AISTATS 2020).

The paper's assumptions: convex and smooth F_m, and heterogeneity and noise at x* alone.  Its bound averages all local steps;
ours averages the server's models, has the noise everywhere, and constants of our own; the terms are the paper's.
"""

from fedtheory.paper import *
from fedtheory.simulations.algorithms.sfl import PFL

title = "Tighter Theory for Local SGD on Identical and Heterogeneous Data"
paper = paper("khaled", title, step=K * eta, citation="Khaled, Mishchenko and Richtarik, AISTATS 2020")
paper.algorithm(PFL)
when, q = h <= 1 / (10 * L), sigma**2 / K
all_ = [smooth, convex, noise.independent, heterogeneity]
steps = 2 * h**2 * local_sq + 2 * h**2 * q
lemma1 = paper.lemma(drift <= steps, when=when, given=[smooth, noise], by=[smooth, noise, jensen])
lemma2 = paper.lemma(local_sq <= 4 * L * gap + 2 * zeta**2, given=[smooth, convex, heterogeneity], by=certificate)
progress = dist2 - h * gap + 2 * L * h * drift + 2 * h**2 * q / M
lemma3 = paper.lemma(dist2.next <= progress, when=when, given=all_, by=[smooth, convex, noise.independent, jensen])
bound = at_most(
    gap.average,
    optimisation=5 * D**2 / (4 * h * (R + 1)),
    noise=5 * h * q / (2 * M) + 5 * L * h**2 * q,
    heterogeneity=10 * L * h**2 * zeta**2,
)
thm = paper.theorem(bound, "thm", when=when, given=all_, by=[lemma3, lemma1, lemma2, telescope])
for std in (0.0, 0.5):
    quadratics = problem("quadratic", d=5, M=4, L=1.0, mu=0.0, zeta_star=1.0, delta=0.3, sigma=std)
    paper.arena(thm, quadratics, rounds=100, K=3)
