"""Table 1 as an experiment: for each term of its rates a problem on which it is large.

The start is chosen such that F(x_0) - F_star is a fixed multiple of epsilon.  So logarithms, which O~ leaves out, are the
same at all points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fedtheory.bounds.slopes import Experiment, SlopeSetting, least_rounds, term
from fedtheory.bounds.trials.valleys import ALIKE, FAR, KINKED, LOCAL, TWINS, alike, kinked, start, twins
from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.algorithms.minibatch import MinibatchSGD
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.problems import Array

SGD_ROWS = ("sfl.table1.sgd",)
PFL_ROWS = ("sfl.table1.pfl_thm2", "sfl.table1.pfl_karimireddy", "sfl.table1.pfl_koloskova")
SFL_ROWS = ("sfl.table1.sfl_thm1",)

METHODS: Mapping[str, Callable[..., Algorithm]] = {"SGD": MinibatchSGD, "PFL": PFL, "SFL": SFL}


def measured(
    method: str, build: Callable[..., Any], span: tuple[int, int] = (-12, 8), seeds: int = 8, **constants: float
) -> Callable[..., float]:
    """Rounds until the gap of the average of the models, with the weights of the theorems, is epsilon."""

    def count(eps: float, K: float, M: float, kappa: float) -> float:
        moves = {"SGD": 1, "PFL": K, "SFL": M * K}[method]  # eta_tilde / eta

        def ratio(eta: Array) -> Array:
            return np.clip(1 - eta * moves / (2 * kappa), 1e-3, 1.0)

        problem = build(int(M), kappa, **constants)
        trial = SlopeSetting(
            problem,
            lambda eta: METHODS[method](int(K), eta),
            start(problem, FAR * eps),
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


def _noise(rows: tuple[str, ...], method: str) -> Experiment:
    return Experiment(
        rows, "noise", term("noise"), f"{ALIKE}, with noise", measured(method, alike, sigma=2.0), _BASE, _NOISE
    )


def _optimisation(rows: tuple[str, ...], method: str, why: Mapping[str, str]) -> Experiment:
    along = {"eps": (4e-3, 1e-3, 2.5e-4), "K": (1, 2, 4), "M": (2, 4, 8), "kappa": (40, 80, 160)}
    base = {"eps": 1e-3, "K": 1, "M": 2, "kappa": 80}
    return Experiment(rows, "optimisation", term("optimisation"), ALIKE, measured(method, alike), base, along, why)


EXPERIMENTS = [
    _noise(SGD_ROWS, "SGD"),
    _optimisation(SGD_ROWS, "SGD", {}),
    _noise(PFL_ROWS, "PFL"),
    Experiment(
        PFL_ROWS,
        "noise_drift",
        term("noise_drift"),
        f"{KINKED}, with noise; many clients",
        measured("PFL", kinked, sigma=1.0, seeds=4, span=(-3, 3)),
        {"eps": 2e-3, "K": 8, "M": 256, "kappa": 20},
        {"eps": (8e-3, 4e-3, 2e-3), "K": (8, 16, 32), "M": (128, 256, 512), "kappa": (10, 20, 40)},
    ),
    Experiment(
        PFL_ROWS,
        "heterogeneity",
        term("heterogeneity"),
        f"{TWINS}; different minimisers",
        measured("PFL", twins, zeta=0.5),
        {"eps": 1e-4, "K": 16, "M": 4, "kappa": 20},
        {"eps": (4e-4, 2e-4, 1e-4), "K": (8, 16, 32), "M": (2, 4, 8), "kappa": (10, 20, 40)},
    ),
    _optimisation(PFL_ROWS, "PFL", {"K": LOCAL}),
    _noise(SFL_ROWS, "SFL"),
    Experiment(
        SFL_ROWS,
        "heterogeneity",
        term("heterogeneity"),
        f"{KINKED}; different minimisers",
        measured("SFL", kinked, zeta=1.0, seeds=50, span=(-5, 4)),
        {"eps": 2e-3, "K": 2, "M": 8, "kappa": 20},
        {"eps": (8e-3, 4e-3, 2e-3), "K": (1, 2, 4), "M": (8, 16, 32), "kappa": (10, 20, 40)},
    ),
    _optimisation(SFL_ROWS, "SFL", {"K": LOCAL, "M": "a round is M passes"}),
]

_ONE_RUN = "no problem found: if all clients are alike, SFL is plain SGD, and this term is zero"
MISSING = {("sfl.table1.sfl_thm1", "noise_drift"): _ONE_RUN}
