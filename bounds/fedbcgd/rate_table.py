"""Table 1 as an experiment: for each part of its rates a problem on which it is large.

beta = 1 and mu = 1/kappa.  Communication is counted as in the table, in units of d floats that a participating client sends.
Strongly convex: the start has a fixed multiple of epsilon as its gap, so that logarithms are the same at all points.
Not convex: quadratics with the gap F = 1 at the start, and the worst of several curvatures of the order of epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fedtheory.bounds.communication import cost
from fedtheory.bounds.slopes import Experiment, Formula, SlopeSetting, in_words, least_rounds, term
from fedtheory.bounds.trials.valleys import ALIKE, FAR, KINKED, LOCAL, TWINS, alike, kinked, signs, start, twins
from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus, FedLin, SLocalGD
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD
from fedtheory.simulations.algorithms.reduced import BVRLSGD, CELSGD
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.quadratic import Quadratic, diagonal

Build = Callable[..., Any]

_FLATTEST = (0.7, 1.5, 3.0)  # mu F / epsilon


# ------------------------------------------------------------------------------------------------ problems and methods


def tilted(M: int, kappa: float, d: int = 8) -> Quadratic:
    """Half of the clients are curved more, the others less: curvatures around 1/kappa to 0.6, by a half."""
    tilt = np.where(np.arange(d) % 2 == 0, 0.5, -0.5)
    return diagonal(np.geomspace(1 / kappa, 0.6, d) * (1 + np.outer(signs(M), tilt)))


def opposite(M: int, kappa: float, d: int = 2) -> Quadratic:
    """Half of the clients are convex along the flat directions of F, the others concave; along the others all are alike."""
    flat = np.arange(d) % 2 == 0
    return diagonal(np.where(flat, 1 / kappa + (1 - 1 / kappa) * signs(M)[:, None], 0.5))


def spread(M: int, zeta: float, d: int = 1) -> Quadratic:
    """Curvature 1 at all clients, whose gradients at the minimiser 0 are +-zeta."""
    return diagonal(np.ones((M, d)), zeta / np.sqrt(d) * np.outer(signs(M), np.ones(d)))


def _method(
    name: str, T: int, S: int, kappa: float, N: int | None = None, alpha: float = 1.0
) -> Callable[[Array], Algorithm]:
    """A method.  FedBCGD has S = N K; by default N = sqrt(kappa), as the row of FedBCGD+ assumes."""
    blocks = N or round(kappa**0.5)
    build: dict[str, Callable[[Array], Algorithm]] = {
        "FedAvg": lambda eta: PFL(T, eta, S),
        "FedBCGD": lambda eta: FedBCGD(T, eta, blocks, S // blocks, lam=1 - 1 / alpha),
        "FedBCGD+": lambda eta: FedBCGDPlus(T, eta, blocks, S // blocks),
        "SCAFFOLD": lambda eta: SCAFFOLD(T, eta, S=S),  # with global step size 1
        "FedLin": lambda eta: FedLin(T, eta),  # all clients
        "S-Local-GD": lambda eta: SLocalGD(T, eta, q=0.5),  # a new reference point in every second round; all clients
    }
    return build[name]


# ---------------------------------------------------------------------------------------------------------- measurement


def _communication(problem: Any, algorithm: Callable[[Array], Algorithm], eps: float, **given: Any) -> float:
    """Rounds to the accuracy times what a client sends in a round, in units of d floats."""
    rounds = least_rounds(SlopeSetting(problem, algorithm, accuracy=eps, **given))
    return rounds * cost(algorithm(np.ones(1)), problem).floats(problem.d)


def convex(method: str, build: Build, seeds: int = 8, **constants: Any) -> Callable[..., float]:
    """Communication until the gap is epsilon."""

    def count(eps: float, T: int, M: int, S: int, kappa: float, **others: Any) -> float:
        problem = build(M, kappa, **constants)
        algorithm = _method(method, T, S, kappa, **others)
        given: dict[str, Any] = {"x0": start(problem, FAR * eps), "scale": 1 / T, "span": (-9, 4), "seeds": seeds}
        return _communication(problem, algorithm, eps, **given)

    return count


def apart(method: str, d: int) -> Callable[..., float]:
    """Communication until the gap is 10^-8 of that at the start, where the clients' minimisers are far apart."""

    def count(eps: float, T: int, M: int, S: int, **others: Any) -> float:
        gap = 1e8 * eps
        problem = spread(M, np.sqrt(gap), d)
        algorithm = _method(method, T, S, 1.0, **others)
        return _communication(problem, algorithm, eps, x0=start(problem, gap), scale=1 / T, span=(-9, 2))

    return count


def not_convex(method: str, build: Build, **constants: Any) -> Callable[..., float]:
    """Communication until ||grad F||^2 is epsilon, on the worst of the flat functions."""

    def count(eps: float, T: int, M: int, S: int, **others: Any) -> float:
        counts = []
        for kappa in (1 / (flatness * eps) for flatness in _FLATTEST):
            problem = build(M, kappa, **constants)
            given = {"x0": start(problem, 1.0, 1e-3), "scale": 1 / T, "span": (-9, 4), "quantity": "grad_sq"}
            counts.append(_communication(problem, _method(method, T, S, kappa, **others), eps, **given))
        return max(counts)

    return count


def reduced(name: str) -> Callable[..., float]:
    """Rounds of a method with variance reduction until ||grad F||^2 is epsilon, at its best beta."""

    def count(eps: float, K: int, M: int, S: int) -> float:
        def method(beta: float) -> Callable[[Array], Algorithm]:
            build: dict[str, Callable[[Array], Algorithm]] = {
                "CE-LSGD": lambda eta: CELSGD(K, eta, S, beta),
                "BVR-L-SGD": lambda eta: BVRLSGD(K, eta),  # it has no beta, and all clients
            }
            return build[name]

        counts = []
        for flatness in _FLATTEST:
            problem = alike(M, 1 / (flatness * eps), zeta=1.0)
            given: dict[str, Any] = {"x0": start(problem, 1.0, 1e-3), "accuracy": eps, "quantity": "grad_sq"}
            methods = (method(min(times * eps, 1.0)) for times in (0.3, 1, 3, 10))
            counts.append(
                min(least_rounds(SlopeSetting(problem, one, scale=1 / K, span=(-8, 4), **given)) for one in methods)
            )
        return max(counts)

    return count


# ---------------------------------------------------------------------------------------------------------- experiments

_APART = "clients with the same curvatures and different minimisers"
_FAR_APART = "clients with the same curvature and minimisers far apart"
_KINKED = f"{KINKED}; different minimisers"
_OPPOSITE = "clients convex or concave along the flat direction of F"


def _row(
    row: str,
    part: str,
    formula: Formula,
    problem: str,
    measure: Callable[..., float],
    base: Mapping[str, float],
    why: Mapping[str, str] | None = None,
    **along: tuple[float, ...],
) -> Experiment:
    return Experiment((f"fedbcgd.table1.{row}",), part, formula, problem, measure, base, along, why or {})


_EPS = (4e-3, 2e-3, 1e-3)
_SMALL = {"eps": 1e-3, "T": 4, "M": 64, "S": 4, "kappa": 10}
_BLOCKS = {"eps": 1e-3, "T": 4, "M": 16, "S": 8, "N": 2, "kappa": 10}
_DRIFT = {
    "eps": 1.25e-2,
    "T": 8,
    "M": 256,
    "S": 256,
    "N": 2,
    "kappa": 20,
    "alpha": 1,
}  # many, so that N groups are alike
_GRADIENTS = {"eps": 1e-2, "T": 4, "M": 8, "S": 4}
_OLDER = "control variates get older with fewer clients"
_RENEWED = "S of M control variates are renewed in a round: -1/log(1 - S/M) rounds, which is less than M/S"
_LOCAL = {"T": LOCAL}
_MORE = {"S": "on this problem more clients help more than they must"}

EXPERIMENTS = [
    _row("fedavg", "noise", term("noise"), f"{ALIKE}, with noise", convex("FedAvg", alike, sigma=2.0, d=4), _SMALL,
         eps=_EPS, T=(2, 4, 8), S=(2, 4, 8), kappa=(10, 20, 40)),
    _row("fedavg", "sampling", term("sampling"), _APART,
         convex("FedAvg", alike, zeta=1.0, d=4), _SMALL, eps=_EPS, T=(2, 4, 8), S=(2, 4, 8), kappa=(10, 20, 40)),
    _row("fedavg", "drift", term("drift"), _KINKED, convex("FedAvg", kinked, zeta=1.0),
         {"eps": 1e-3, "T": 16, "M": 4, "S": 4, "kappa": 20}, eps=_EPS, T=(8, 16, 32), kappa=(20, 40, 80)),
    _row("fedavg", "optimisation", term("optimisation"), ALIKE, convex("FedAvg", alike, d=4),
         {"eps": 1e-3, "T": 1, "M": 8, "S": 8, "kappa": 40}, _LOCAL, T=(1, 2, 4), S=(2, 4, 8), kappa=(20, 40, 80)),
    _row("fedavg", "noise, not convex", term("noise", 1), f"{ALIKE}, with noise",
         not_convex("FedAvg", alike, sigma=1.0), _GRADIENTS, eps=(2e-2, 1e-2, 5e-3), T=(2, 4, 8), S=(2, 4, 8)),
    _row("fedavg", "optimisation, not convex", term("optimisation", 1), ALIKE, not_convex("FedAvg", alike),
         {**_GRADIENTS, "T": 1}, _LOCAL, eps=(2e-2, 1e-2, 5e-3), T=(1, 2, 4)),
    _row("fedbcgd", "noise", term("noise"), f"{ALIKE}, with noise", convex("FedBCGD", alike, sigma=1.0, d=4), _BLOCKS,
         eps=_EPS, T=(2, 4, 8), S=(4, 8, 16), N=(1, 2, 4), kappa=(10, 20, 40)),
    _row("fedbcgd", "noise, of G", term("noise"), _APART,
         convex("FedBCGD", alike, zeta=0.4, d=4), {**_BLOCKS, "M": 48},
         {"T": "local steps do not average over clients: the term with G^2 of the corrected theorem has no T"},
         eps=_EPS, T=(2, 4, 8), S=(4, 8, 16), N=(1, 2, 4), kappa=(10, 20, 40)),
    _row("fedbcgd", "drift", term("drift"), _KINKED, convex("FedBCGD", kinked, seeds=2, zeta=1.0, copies=4), _DRIFT,
         eps=(2.5e-2, 1.25e-2, 6.25e-3), N=(1, 2, 4), kappa=(20, 40, 80)),
    _row("fedbcgd", "drift, with momentum", term("drift"), _KINKED, convex("FedBCGD", kinked, seeds=2, zeta=1.0, copies=4),
         {**_DRIFT, "kappa": 80}, alpha=(1, 2, 4)),
    _row("fedbcgd", "optimisation", term("optimisation"), ALIKE, convex("FedBCGD", alike, d=4, turned=True),
         {"eps": 1e-3, "T": 1, "M": 8, "S": 8, "N": 2, "kappa": 40}, _LOCAL,
         T=(1, 2, 4), S=(4, 8), N=(1, 2, 4), kappa=(20, 40, 80)),
    _row("fedbcgd", "noise, not convex", term("noise", 1), f"{ALIKE}, with noise",
         not_convex("FedBCGD", alike, sigma=1.0), {"eps": 5e-3, "T": 8, "M": 32, "S": 16, "N": 2},
         eps=(1e-2, 5e-3, 2.5e-3), T=(4, 8, 16), S=(8, 16, 32)),
    _row("fedbcgd", "optimisation, not convex", term("optimisation", 1), ALIKE,
         not_convex("FedBCGD", alike, d=4, turned=True), {"eps": 1e-2, "T": 1, "M": 4, "S": 4, "N": 2},
         eps=(4e-2, 2e-2, 1e-2), N=(1, 2, 4)),
    _row("scaffold", "noise", term("noise"), f"{ALIKE}, with noise", convex("SCAFFOLD", alike, sigma=0.4),
         {"eps": 1e-3, "T": 4, "M": 8, "S": 2, "kappa": 10},
         {"S": _OLDER}, eps=_EPS, T=(2, 4, 8), S=(1, 2, 4), kappa=(10, 20, 40)),
    _row("scaffold", "clients", term("clients"), _FAR_APART,
         apart("SCAFFOLD", 1), {"eps": 1e-8, "T": 2, "M": 12, "S": 1}, {"S": _RENEWED},
         eps=(1e-6, 1e-7, 1e-8), T=(2, 4, 8), M=(6, 12, 24), S=(1, 2, 4)),
    _row("scaffold", "optimisation", term("optimisation"), TWINS, convex("SCAFFOLD", twins),
         {"eps": 1e-3, "T": 1, "M": 4, "S": 4, "kappa": 40}, _LOCAL, T=(1, 2, 4), kappa=(20, 40, 80)),
    _row("scaffold", "noise, not convex", term("noise", 1), f"{ALIKE}, with noise",
         not_convex("SCAFFOLD", alike, sigma=1.0), {**_GRADIENTS, "eps": 2e-2, "S": 2}, {"S": _OLDER},
         eps=(4e-2, 2e-2, 1e-2), T=(2, 4, 8), S=(1, 2, 4)),
    _row("scaffold", "optimisation, not convex", term("optimisation", 1), _OPPOSITE, not_convex("SCAFFOLD", opposite),
         {"eps": 2e-2, "T": 4, "M": 8, "S": 2}, _MORE, eps=(8e-2, 4e-2, 2e-2), T=(4, 8, 16), M=(4, 8, 12),
         S=(1, 2, 4)),
    _row("fedlin", "optimisation", term("optimisation"), TWINS, convex("FedLin", twins),
         {"eps": 1e-3, "T": 1, "M": 4, "S": 4, "kappa": 40}, _LOCAL, T=(1, 2, 4), kappa=(20, 40, 80)),
    _row("s_local_gd", "optimisation", term("optimisation"), TWINS, convex("S-Local-GD", twins),
         {"eps": 1e-3, "T": 1, "M": 4, "S": 4, "kappa": 40}, _LOCAL, T=(1, 2, 4), kappa=(20, 40, 80)),
    _row("ce_lsgd", "partial participation", in_words(0), _APART,
         reduced("CE-LSGD"), {"eps": 1e-2, "K": 4, "M": 4, "S": 1},
         {"eps": "the worse rate can only show on functions that are not quadratic"},
         eps=(4e-2, 2e-2, 1e-2)),
    _row("ce_lsgd", "all clients", in_words(1), _APART,
         reduced("CE-LSGD"), {"eps": 1e-2, "K": 4, "M": 4, "S": 4},
         eps=(2e-2, 1e-2, 5e-3)),
    _row("bvr_l_sgd", "all clients", in_words(0), _APART,
         reduced("BVR-L-SGD"), {"eps": 1e-2, "K": 4, "M": 4, "S": 4},
         eps=(2e-2, 1e-2, 5e-3)),
    _row("fedbcgdplus", "clients", term("clients"), _FAR_APART,
         apart("FedBCGD+", 2), {"eps": 1e-8, "T": 2, "M": 16, "S": 2, "N": 2},
         M=(8, 16, 24), S=(2, 4, 8), N=(1, 2)),
    _row("fedbcgdplus", "optimisation", term("optimisation"), "curvatures that differ by a half; N = sqrt(kappa)",
         convex("FedBCGD+", tilted), {"eps": 1e-3, "T": 1, "M": 8, "S": 8, "kappa": 16},
         {**_LOCAL, "kappa": "with more blocks fewer clients step on each, and control variates get older"},
         T=(1, 2, 4), kappa=(4, 16, 64)),
    _row("fedbcgdplus", "optimisation, not convex", term("optimisation", 1), _OPPOSITE,
         not_convex("FedBCGD+", opposite, d=4), {"eps": 2e-2, "T": 4, "M": 8, "S": 4, "N": 2},
         {**_MORE, "N": "on this problem more blocks help less than they may"},
         eps=(8e-2, 4e-2, 2e-2), M=(4, 8, 16), S=(2, 4), N=(1, 2, 4)),
]  # fmt: skip

_NO_DRIFT = "no problem found: without convexity, but with a bound G on deviations"
MISSING = {(f"fedbcgd.table1.{row}", "drift, not convex"): _NO_DRIFT for row in ("fedavg", "fedbcgd")}
