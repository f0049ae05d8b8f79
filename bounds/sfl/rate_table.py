"""Table 1 as an experiment: for each term of its rates a problem on which it is large.

L = 1 and mu = 1/kappa everywhere.  The start is chosen such that F(x_0) - F_star is a fixed multiple of epsilon.  So
logarithms, which O~ leaves out, are the same at all points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bounds.slopes import Experiment, Trial, least_rounds, signs, term, twins
from simulations.algorithms.base import Algorithm
from simulations.algorithms.minibatch import MinibatchSGD
from simulations.algorithms.sfl import PFL, SFL
from simulations.problems import Array, Problem
from simulations.problems.kinked import Kinked
from simulations.problems.quadratic import Quadratic

SGD_ROWS = ("sfl.table1.sgd",)
PFL_ROWS = ("sfl.table1.pfl_thm2", "sfl.table1.pfl_karimireddy", "sfl.table1.pfl_koloskova")
SFL_ROWS = ("sfl.table1.sfl_thm1",)
FAR = 100.0  # (F(x_0) - F_star) / epsilon


def alike(M: int, kappa: float, sigma: float = 0.0, zeta: float = 0.0) -> Quadratic:
    """Clients with the same curvatures 1/kappa and 1, with noise, or with gradients +-zeta at the minimiser 0."""
    slope = np.outer(signs(M), [0.6, 0.8]) * zeta
    return Quadratic(np.tile(np.diag([1 / kappa, 1.0]), (M, 1, 1)), slope, sigma, "clients alike")


def kinked(M: int, kappa: float, zeta: float = 0.0, sigma: float = 0.0) -> Kinked:
    """Curvature 1/kappa, and kinks along the two lines of `twins`: moves across the valley push x along it."""
    s = 1 / np.sqrt(kappa)
    c, across = np.sqrt(1 - s**2), np.array([0.0, 1.0])
    plain = Quadratic(np.tile(np.eye(2) / kappa, (M, 1, 1)), np.outer(signs(M), across) * zeta, sigma, "flat valley")
    return Kinked(plain, [[s, c], [s, -c]], 1.0)


def along_the_valley(eps: float, kappa: float, across: float = 0.3) -> Array:
    """A start with F(x_0) - F_star = FAR eps, most of it in the flat direction."""
    return np.sqrt(2 * FAR * eps) * np.array([np.sqrt(kappa * (1 - across**2)), across])


METHODS: Mapping[str, Callable[..., Algorithm]] = {"SGD": MinibatchSGD, "PFL": PFL, "SFL": SFL}


def measured(method: str, build: Callable[..., Problem], **constants: Any) -> Callable[..., float]:
    """Rounds until the gap of the average of the models, with the weights of the theorems, is epsilon."""
    seeds, span = constants.pop("seeds", 0), constants.pop("span", (-14, 4))

    def count(eps: float, K: float, M: float, kappa: float) -> float:
        moves = {"SGD": 1, "PFL": K, "SFL": M * K}[method]  # eta_tilde / eta

        def ratio(eta: Array) -> Array:
            return np.clip(1 - eta * moves / (2 * kappa), 1e-3, 1.0)

        trial = Trial(
            build(int(M), kappa, **constants),
            lambda eta: METHODS[method](int(K), eta),
            along_the_valley(eps, kappa),
            eps,
            1 / moves,
            "gap_average",
            ratio,
            span,
            seeds,
        )
        return least_rounds(trial)

    return count


_BASE = {"eps": 1e-3, "K": 4, "M": 4, "kappa": 20}
_NOISE = {"eps": (4e-3, 2e-3, 1e-3), "K": (2, 4, 8), "M": (2, 4, 8), "kappa": (10, 20, 40)}
_ALIKE = "quadratics, the same for all clients, with noise"
_TWINS = "clients curved along two lines that are close"
_KINKED = "a flat valley with a kink on each side"


def _noise(rows: tuple[str, ...], method: str) -> Experiment:
    return Experiment(rows, "noise", term("noise"), _ALIKE, measured(method, alike, sigma=2.0), _BASE, _NOISE)


def _optimisation(rows: tuple[str, ...], method: str, why: Mapping[str, str]) -> Experiment:
    along = {"eps": (4e-3, 1e-3, 2.5e-4), "K": (4, 8, 16), "M": (2, 4, 8), "kappa": (20, 40, 80)}
    return Experiment(rows, "optimisation", term("optimisation"), _TWINS, measured(method, twins), _BASE, along, why)


EXPERIMENTS = [
    _noise(SGD_ROWS, "SGD"),
    _optimisation(SGD_ROWS, "SGD", {}),
    _noise(PFL_ROWS, "PFL"),
    Experiment(
        PFL_ROWS,
        "noise_drift",
        term("noise_drift"),
        f"{_KINKED}, with noise; many clients",
        measured("PFL", kinked, sigma=1.0, seeds=2, span=(-4, 1)),
        {"eps": 2e-3, "K": 8, "M": 128, "kappa": 20},
        {"eps": (8e-3, 4e-3, 2e-3), "K": (8, 16, 32), "M": (64, 128, 256), "kappa": (10, 20, 40)},
    ),
    Experiment(
        PFL_ROWS,
        "heterogeneity",
        term("heterogeneity"),
        f"{_TWINS}; different minimisers",
        measured("PFL", twins, zeta=0.5),
        {"eps": 1e-4, "K": 16, "M": 4, "kappa": 20},
        {"eps": (4e-4, 2e-4, 1e-4), "K": (8, 16, 32), "M": (2, 4, 8), "kappa": (10, 20, 40)},
    ),
    _optimisation(PFL_ROWS, "PFL", {}),
    _noise(SFL_ROWS, "SFL"),
    Experiment(
        SFL_ROWS,
        "heterogeneity",
        term("heterogeneity"),
        f"{_KINKED}; different minimisers",
        measured("SFL", kinked, zeta=1.0, seeds=50, span=(-5, 1)),
        {"eps": 2e-3, "K": 1, "M": 8, "kappa": 20},
        {"eps": (8e-3, 4e-3, 2e-3), "K": (1, 2, 4), "M": (8, 16, 32), "kappa": (10, 20, 40)},
    ),
    _optimisation(SFL_ROWS, "SFL", {"M": "a round is M passes"}),
]

MISSING = {
    (
        "sfl.table1.sfl_thm1",
        "noise_drift",
    ): "none: of clients that are alike SFL is SGD with M K R steps, without this term",
}
