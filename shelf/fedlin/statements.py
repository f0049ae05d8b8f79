"""FedLin (Mitra, Jaafar, Pappas, Hassani, NeurIPS 2021), with exact gradients and the same number of steps for all clients.

Theorem 1 of the paper: exact gradients, eta = 1/(6 L K), and a gap of (1 - 1/(6 kappa))^R times the first.  Ours has it for
sigma = 0, and also smaller steps and noise, with our constants.  In the paper each client has its own number of steps.
"""

from fedtheory.paper import *
from fedtheory.simulations.algorithms.fedbcgd import FedLin

title = "Linear Convergence in Federated Learning: Tackling Client Heterogeneity and Sparse Gradients"
paper = paper("fedlin", title, step=K * eta, citation="Mitra, Jaafar, Pappas and Hassani, NeurIPS 2021")
paper.algorithm(FedLin)
given, when, q = [smooth, strongly_convex, noise.independent], h <= 1 / (6 * L), sigma**2 / K
one = [smooth, noise.independent]
lemma1 = paper.lemma(
    drift <= 2 * h**2 * grad_sq + 2 * h**2 * q, when=when, given=[smooth, noise], by=[smooth, noise, jensen]
)
descent = gap - 3 * h / 4 * grad_sq + 3 * h * L**2 * drift + L * h**2 * q / M
lemma2 = paper.lemma(gap.next <= descent, when=when, given=given, by=[*one, jensen, changes(6)])
noisy = (L * h / M + 6 * L**2 * h**2) / mu * q
last = (1 - mu * h) ** R * Delta + noisy
thm = paper.theorem(gap.last <= last, "thm1", when=when, given=given, by=[lemma2, lemma1, polyak, contract])
for std in (0.0, 0.5):
    paper.arena(thm, problem("quadratic", d=5, M=4, L=1.0, mu=0.1, zeta_star=1.0, sigma=std), rounds=100, T=3)
