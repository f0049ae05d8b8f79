"""FedProx (Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith, MLSys 2020): K steps on F_m(y) + (prox/2) ||y - x||^2.

In the paper a client minimises this function up to a factor gamma of its gradient, and the clients' gradients are not too
dissimilar.  Here the steps themselves are analysed, for strongly convex functions: q is what they leave of the way to the
minimiser.  More steps and a smaller prox are faster, and end farther from x*: at about zeta_* / sqrt(mu (mu + 2 prox)).
"""

from functools import partial

from fedtheory.paper import *
from fedtheory.simulations.algorithms.baselines import FedProx

paper = paper("fedprox", "Federated Optimization in Heterogeneous Networks", citation="Li et al., MLSys 2020")
paper.algorithm(partial(FedProx, prox=1), "FedProx, prox = 1")
prox = paper.symbol("prox", r"\lambda", "factor of the proximal term", F / X**2, nonnegative=True)
given, when = [smooth, strongly_convex, noise, heterogeneity], eta <= 1 / (L + prox)
(x, y, z), f = points("x y z"), function("f", smooth=L, strongly_convex=mu)
step, pull = y - eta * (f.grad(y) + prox * (y - x)), prox * (x - z) - f.grad(z)
one = (1 - eta * (mu + prox)) * (y - z).norm2 + eta / (mu + prox) * pull.norm2
lemma1 = paper.lemma((step - z).norm2 <= one, when=when)
q, far = (1 - eta * (mu + prox)) ** K, (prox / (mu + prox)) ** 2
noisy = zeta**2 / (mu + prox) ** 2 + eta * sigma**2 / (mu + prox)
progress = (q + (1 - q) * far) * dist2 + (1 - q) * noisy
why = """Lemma 1 in K steps from y = x, with z = x* and noise of at most eta^2 sigma^2 in each; in the mean of the pulls the
grad F_m(x*) cancel"""
by = in_words(why, dist2.next <= progress, lemma1, noise, heterogeneity)
lemma2 = paper.lemma(dist2.next <= progress, when=when, given=given, by=by, rests_on=[lemma1])
rest = mu * (mu + 2 * prox)
last = (q + (1 - q) * far) ** R * D**2 + zeta**2 / rest + eta * (mu + prox) * sigma**2 / rest
thm = paper.theorem(dist2.last <= last, "thm", when=when, given=given, by=[lemma2, power(q), contract])
for std in (0.0, 0.5):
    paper.arena(thm, problem("quadratic", d=5, M=4, L=1.0, mu=0.1, zeta_star=1.0, sigma=std), rounds=100, K=3)
