"""Lower bounds for local SGD (Woodworth et al., NeurIPS 2020; Glasgow, Yuan, Ma, AISTATS 2022), by one hard instance.

The papers' instances give orders.  Ours is simpler, with constants: two clients on the line, F_1 = (L/2) y^2 - zeta y and
F_2 = zeta y, exact gradients, and a start -D at or left of the point where the rounds come to rest.  There every step size
pays twice: small ones are slow, large ones rest away from x*.  Both parts are below the gap after every number of rounds.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from fedtheory.paper import *
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.engine import run
from fedtheory.simulations.problems.quadratic import Quadratic

title = "Sharp Bounds for Federated Averaging (Local SGD) and Continuous Perspective"
paper = paper("glasgow", title, step=K * eta, citation="Glasgow, Yuan and Ma, AISTATS 2022")
paper.algorithm(PFL)
instance = paper.assume(
    "instance", "M = 2, F_1 = (L/2) y^2 - zeta y, F_2 = zeta y, no noise, and x_0 = -D <= rest <= 0."
)
rest = h * zeta * (1 - 1 / K) / 2  # at least so far from x* the rounds come to rest
slow, away = L / 4 * (1 - h * L / 2) ** (2 * R) * D**2, L / 4 * rest**2
given, when = [instance], h <= 1 / L


def hard() -> Iterator[dict[str, float]]:
    """Runs on the instance: x_0 is -D times what is needed, or more."""
    for n, share, apart, far, rounds in product((2, 5), (0.1, 0.5, 1.0), (0.5, 1.0), (1.0, 3.0), (1, 10, 100)):
        problem = Quadratic(np.array([[[1.0]], [[0.0]]]), np.array([[-apart], [apart]]))
        at_rest = -apart * (share / (1 - (1 - share / n) ** n) - 1)
        known = run(problem, PFL(n, share / n), rounds=rounds, x0=[far * at_rest], record=("gap",))
        numbers = {
            "K": n,
            "L": 1.0,
            "eta_tilde": share,
            "eta": share / n,
            "zeta_star": apart,
            "D": -far * at_rest,
            "R": rounds,
        }
        yield numbers | {"gap_last": float(known.gap[0, 0, -1])}


for name, bound in (("slow", slow), ("away", away)):
    paper.cases(paper.theorem(gap.last >= bound, name, when=when, given=given), hard, gap.last)
