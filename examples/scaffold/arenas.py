"""FedAvg and SCAFFOLD on quadratics: exact expectations for the convex theorems, runs for SCAFFOLD's non-convex one."""

from __future__ import annotations

from functools import partial

import numpy as np

from bounds.trials.arena import Arena, arena_evidence, build
from scaffold.algorithms import WarmSCAFFOLD
from simulations.algorithms.fedcom import SCAFFOLD
from simulations.algorithms.sfl import PFL
from simulations.problems.quadratic import generate
from theory.statement import Evidence


def dissimilar(arena: Arena, name: str) -> float:
    """G or B of A1: sqrt(2) zeta_* and sqrt(2) on convex quadratics; on others by the deviations, zeta and sqrt(1 + b^2)."""
    known, convex = build(arena.problem).constants, "nonconvex" not in arena.statement
    both = (np.sqrt(2) * known["zeta_star"], np.sqrt(2)) if convex else (known["zeta"], np.sqrt(1 + known["beta"] ** 2))
    return float(both["GB".index(name)])


def arenas(method: str, case: str, S: int, sigma: float) -> Arena:
    """An arena of one theorem; SCAFFOLD's c_i begin at 0, in the non-convex case warm."""
    problem = partial(
        generate, 3, 4, L=1.0, mu=-0.2 if case == "nonconvex" else 0.1, zeta_star=1.0, delta=0.3, sigma=sigma
    )
    name, G = f"S = {S}, sigma = {sigma:g}", tuple((n, partial(dissimilar, name=n)) for n in "GB")
    if method == "fedavg":
        return Arena(f"scaffold.fedavg.{case}", name, problem, partial(PFL, K=3, S=S), 300, given=(*G, ("eta_g", 1.0)))
    own = partial(WarmSCAFFOLD if case == "nonconvex" else SCAFFOLD, tau=3, S=S)
    return Arena(f"scaffold.scaffold.{case}", name, problem, own, 100, given=(("eta_g", 1.0),))


CASES = ("strongly_convex", "general_convex", "nonconvex")
ARENAS = [arenas(m, c, S, s) for m in ("fedavg", "scaffold") for c in CASES for S, s in ((4, 0.5), (2, 0.5), (1, 0.0))]


def evidence() -> list[Evidence]:
    """Every bound in its arenas."""
    return arena_evidence(ARENAS)
