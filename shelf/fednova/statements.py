"""FedNova (Wang, Liu, Liang, Joshi, Poor, NeurIPS 2020): client m takes tau_m local steps, here on strongly convex F_m.

The mean of the models does not go to x*, however small the steps are: it rests where clients with more steps pull more
(`plain`, one instance of ours).  FedNova weighs a client's change by 1/tau_m, and goes to x* (`thm`).  In the paper its
tau_eff is the mean of the tau_m; here it is no more than any of them.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from fedtheory.paper import *
from fedtheory.simulations.algorithms.baselines import FedNova
from fedtheory.simulations.engine import run
from fedtheory.simulations.problems.quadratic import Quadratic

paper = paper("fednova", "Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization")
paper.algorithm(FedNova, "FedNova of the shelf")
count = {"concept": "local steps", "integer": True, "positive": True}
most, least = (
    paper.symbol(f"tau_{one}", rf"\tau_{{\{one}}}", f"{one}imum of the tau_m", **count) for one in ("max", "min")
)
tau = paper.symbol("tau_eff", r"\tau_{\mathrm{eff}}", "factor of the mean change", positive=True)
when = [eta <= 1 / L, (most - 1) * mu * eta <= 1, tau <= least, least <= most]
given = [smooth, strongly_convex, noise, heterogeneity]
(x, z, s), f = points("x z s"), function("f", smooth=L, strongly_convex=mu)
moved = (x - eta * f.grad(x)) - (z - eta * f.grad(s))
lemma1 = paper.lemma(moved.norm2 <= (1 - eta * mu) * (x - z).norm2 + eta * L * (z - s).norm2, when=eta <= 1 / L)
drifts = L * eta**2 * (most - 1) * (2 * most - 1) * zeta**2
progress = (1 - tau * eta * mu / 2) * dist2 + tau * eta * (drifts / 6 + eta * sigma**2)
why = """Lemma 1 in each step, with s = x* and z = x* - k eta grad F_m(x*) after k steps; the weights tau_eff / tau_m are at
most 1, and with them the mean of the z is x*; 1 - (1 - eta mu)^tau >= tau eta mu / 2 for tau <= tau_max"""
by = in_words(why, dist2.next <= progress, lemma1, noise, heterogeneity)
lemma2 = paper.lemma(dist2.next <= progress, when=when, given=given, by=by, rests_on=[lemma1])
last = (1 - tau * eta * mu / 2) ** R * D**2 + drifts / (3 * mu) + 2 * eta * sigma**2 / mu
thm = paper.theorem(dist2.last <= last, "thm", when=when, given=given, by=[lemma2, contract])
quadratics = problem("quadratic", d=5, M=4, L=1.0, mu=0.1, zeta_star=1.0, delta=0.3, sigma=0.1)
paper.arena(thm, quadratics, rounds=200, tau=(2, 2, 4, 8), tau_eff=2)
instance = (
    "F_1 = L y^2/2 - zeta y takes tau_max steps, F_2 = L y^2/2 + zeta y tau_min; no noise; x_0 >= rest >= x* = 0."
)
u, v = ((1 - eta * L) ** n for n in (most, least))
rest = (v - u) / (2 - u - v) * zeta / L  # for small steps (tau_max - tau_min) / (tau_max + tau_min) zeta / L


def hard() -> Iterator[dict[str, float]]:
    """The mean of the models on the instance."""
    for (T, t), step, apart, far, rounds in product(
        ((2, 1), (5, 3)), (0.01, 0.5, 1.0), (0.5, 2.0), (1.0, 3.0), (1, 99)
    ):
        at = {L: 1.0, eta: step, most: T, least: t, zeta: apart, R: rounds}
        functions, mean = Quadratic(np.ones((2, 1, 1)), [[-apart], [apart]]), FedNova((T, t), step, normalises=False)
        known = run(functions, mean, rounds=rounds, x0=[far * float(rest.subs(at))], record=("dist2",))
        yield {s.name: value for s, value in at.items()} | {"dist2_last": float(known.dist2[0, 0, -1])}


plain = paper.theorem(dist2.last >= rest**2, "plain", when=eta <= 1 / L, given=[paper.assume("instance", instance)])
paper.cases(plain, hard, dist2.last)
