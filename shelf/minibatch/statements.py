"""Minibatch SGD, with which Woodworth, Patel, Srebro (NeurIPS 2020) compare local SGD for clients that differ.

A client sends the mean of K gradients at the server's model; sigma^2 is the variance of this mean.  How much clients differ
has no part in the bounds.  They are the classical ones for SGD; the constants are ours.
"""

from functools import partial

from fedtheory.paper import *
from fedtheory.simulations.algorithms.minibatch import MinibatchSGD

title = "Minibatch vs Local SGD for Heterogeneous Distributed Learning"
paper = paper("minibatch", title, citation="Woodworth, Patel and Srebro, NeurIPS 2020")
paper.algorithm(partial(MinibatchSGD, K=1))
when, batch, every = eta <= 1 / (2 * L), eta**2 * sigma**2 / M, [smooth, noise.independent]
by = [smooth, convex, noise.independent]
progress = dist2 - 2 * eta * (1 - L * eta) * gap + batch
lemma1 = paper.lemma(dist2.next <= progress, when=when, given=[*every, convex], by=by)
average = at_most(gap.average, optimisation=D**2 / (eta * (R + 1)), noise=eta * sigma**2 / M)
general = paper.theorem(average, "general", when=when, given=[*every, convex], by=[lemma1, telescope])
shrink = (1 - mu * eta) * dist2 + batch
given = [*every, strongly_convex]
lemma2 = paper.lemma(dist2.next <= shrink, when=when, given=given, by=[smooth, strongly_convex, noise.independent])
last = (1 - mu * eta) ** R * D**2 + eta * sigma**2 / (mu * M)
strongly = paper.theorem(dist2.last <= last, "strong", when=when, given=given, by=[lemma2, contract])
for theorem in (general, strongly):
    paper.arena(theorem, problem("quadratic", d=5, M=4, L=1.0, mu=0.1, zeta_star=1.0, sigma=0.5), rounds=100)
