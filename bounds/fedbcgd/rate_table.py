"""Table 1 as an experiment: for each part of its rates a problem on which it is large.

beta = 1 and mu = 1/kappa.  Communication is counted as in the table, in units of d floats that a participating client sends.
Strongly convex: the start has a fixed multiple of epsilon as its gap, so that logarithms are the same at all points.
Not convex: quadratics with the gap F = 1 at the start, and the worst of several curvatures of the order of epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bounds.communication import cost
from bounds.slopes import Experiment, Formula, Trial, in_words, least_rounds, signs, term, twins
from simulations.algorithms.base import Algorithm
from simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus, FedLin, SLocalGD
from simulations.algorithms.fedcom import SCAFFOLD
from simulations.algorithms.reduced import BVRLSGD, CELSGD
from simulations.algorithms.sfl import PFL
from simulations.problems import Array
from simulations.problems.quadratic import Quadratic

Build = Callable[..., Quadratic]
Method = Callable[..., Callable[[Array], Algorithm]]

_FAR = 100.0  # (F(x_0) - F_star) / epsilon
_FLATTEST = (0.7, 1.5, 3.0)  # mu F / epsilon


# ------------------------------------------------------------------------------------------------ problems and methods


def alike(M: int, kappa: float, sigma: float = 0.0, zeta: float = 0.0, d: int = 4) -> Quadratic:
    """Clients with the same curvatures, from 1/kappa to 1, with noise, or with different gradients at the minimiser 0."""
    slope = np.random.default_rng(0).standard_normal((M, d))
    slope -= slope.mean(0)
    H = np.tile(np.diag(np.geomspace(1 / kappa, 1, d)), (M, 1, 1))
    return Quadratic(H, zeta * slope / np.sqrt((slope**2).sum(1).mean()), sigma, "clients alike")


def tilted(M: int, kappa: float, d: int = 8) -> Quadratic:
    """Half of the clients are curved more, the others less: curvatures around 1/kappa to 0.6, by a half."""
    tilt = np.where(np.arange(d) % 2 == 0, 0.5, -0.5)
    return Quadratic(_curved(np.geomspace(1 / kappa, 0.6, d) * (1 + np.outer(signs(M), tilt))), np.zeros((M, d)))


def opposite(M: int, kappa: float, d: int = 2, zeta: float = 0.0) -> Quadratic:
    """Half of the clients are convex along the flat directions of F, the others concave; along the others all are alike."""
    flat = np.arange(d) % 2 == 0
    curvature = np.where(flat, 1 / kappa + 0.9 * signs(M)[:, None], 0.5)
    return Quadratic(_curved(curvature), zeta * np.outer(signs(M), flat))


def spread(M: int, zeta: float, d: int = 1) -> Quadratic:
    """Curvature 1 at all clients, whose gradients at the minimiser 0 are +-zeta."""
    return Quadratic(np.tile(np.eye(d), (M, 1, 1)), zeta / np.sqrt(d) * np.outer(signs(M), np.ones(d)))


def _curved(diagonals: Array) -> Array:
    return np.stack([np.diag(row) for row in diagonals])


def _start(problem: Quadratic, gap: float, steep: float) -> Array:
    """A start with this gap, all in the flattest direction of F but for the share `steep`."""
    values, vectors = np.linalg.eigh(problem.mean[0])
    shares = np.full(problem.d, steep / max(problem.d - 1, 1))
    shares[0] = 1 - steep if problem.d > 1 else 1.0
    start: Array = vectors @ np.sqrt(2 * gap * shares / values)
    return start


def fedavg(T: int, M: int, S: int) -> Callable[[Array], Algorithm]:
    """FedAvg."""
    return lambda eta: PFL(T, eta, S)


def fedbcgd(T: int, M: int, S: int, N: int, alpha: float = 1.0) -> Callable[[Array], Algorithm]:
    """FedBCGD, S = N K, momentum 1 - 1/alpha."""
    return lambda eta: FedBCGD(T, eta, N, S // N, lam=1 - 1 / alpha)


def fedbcgdplus(T: int, M: int, S: int, N: int) -> Callable[[Array], Algorithm]:
    """FedBCGD+, S = N K."""
    return lambda eta: FedBCGDPlus(T, eta, N, S // N)


def accelerated(T: int, M: int, S: int, kappa: float) -> Callable[[Array], Algorithm]:
    """FedBCGD+ with N = sqrt(kappa), as the row assumes."""
    return fedbcgdplus(T, M, S, round(kappa**0.5))


def scaffold(T: int, M: int, S: int) -> Callable[[Array], Algorithm]:
    """SCAFFOLD with global step size 1."""
    return lambda eta: SCAFFOLD(T, eta, S=S)


def fedlin(T: int, M: int, S: int) -> Callable[[Array], Algorithm]:
    """FedLin, all clients."""
    return lambda eta: FedLin(T, eta)


def s_local_gd(T: int, M: int, S: int) -> Callable[[Array], Algorithm]:
    """S-Local-GD with a new reference point in every second round, all clients."""
    return lambda eta: SLocalGD(T, eta, q=0.5)


def ce_lsgd(K: int, S: int, beta: float) -> Callable[[Array], Algorithm]:
    """CE-LSGD."""
    return lambda eta: CELSGD(K, eta, S, beta)


# ---------------------------------------------------------------------------------------------------------- measurement


def _communication(problem: Quadratic, algorithm: Callable[[Array], Algorithm], eps: float, **given: Any) -> float:
    """Rounds to the accuracy times what a client sends in a round, in units of d floats."""
    rounds = least_rounds(Trial(problem, algorithm, accuracy=eps, **given))
    return rounds * cost(algorithm(np.ones(1)), problem).floats(problem.d)


def convex(
    method: Method, build: Build, far: float = _FAR, apart: bool = False, **constants: Any
) -> Callable[..., float]:
    """Communication until the gap is epsilon.

    far    the gap at the start over epsilon
    apart  whether the gradients at the minimiser are as large as F(x_0) - F_star allows, instead of a condition number
    """

    def count(eps: float, T: float, M: float, S: float, kappa: float = 1.0, **others: float) -> float:
        own = {"zeta": np.sqrt(far * eps)} if apart else {"kappa": kappa}
        problem = build(int(M), **own, **constants)
        extra: dict[str, Any] = {n: v if n == "alpha" else int(v) for n, v in others.items()}
        if method is accelerated:
            extra["kappa"] = kappa
        algorithm = method(int(T), int(M), int(S), **extra)
        return _communication(problem, algorithm, eps, x0=_start(problem, far * eps, 0.1), scale=1 / T, span=(-9, 2))

    return count


def not_convex(method: Method, build: Build, **constants: Any) -> Callable[..., float]:
    """Communication until ||grad F||^2 is epsilon, on the worst of the flat functions."""

    def count(eps: float, T: float, M: float, S: float, **others: float) -> float:
        algorithm = method(int(T), int(M), int(S), **{n: int(v) for n, v in others.items()})
        counts = []
        for flatness in _FLATTEST:
            problem = build(int(M), 1 / (flatness * eps), **constants)
            start = _start(problem, 1.0, 1e-3)
            counts.append(
                _communication(problem, algorithm, eps, x0=start, scale=1 / T, span=(-9, 2), quantity="grad_sq")
            )
        return max(counts)

    return count


def of_variance_reduction(kind: str, build: Build, **constants: Any) -> Callable[..., float]:
    """Rounds of CE-LSGD, at its best beta, or of BVR-L-SGD."""

    def count(eps: float, K: float, M: float, S: float) -> float:
        counts = []
        for flatness in _FLATTEST:
            problem = build(int(M), 1 / (flatness * eps), **constants)
            settings: list[Callable[[Array], Algorithm]] = [lambda eta: BVRLSGD(int(K), eta)]
            if kind == "CE-LSGD":
                settings = [ce_lsgd(int(K), int(S), min(times * eps, 1.0)) for times in (0.3, 1, 3, 10)]
            given: dict[str, Any] = {"x0": _start(problem, 1.0, 1e-3), "accuracy": eps, "quantity": "grad_sq"}
            counts.append(min(least_rounds(Trial(problem, a, scale=1 / K, span=(-8, 1), **given)) for a in settings))
        return max(counts)

    return count


# ---------------------------------------------------------------------------------------------------------- experiments

_ALIKE = "quadratics, the same for all clients"
_TWINS = "clients curved along two lines that are close"
_APART = "clients with the same curvatures and different minimisers"
_FAR_APART = "clients with the same curvature and minimisers far apart"
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


def _twins(M: int, kappa: float, zeta: float = 0.0) -> Quadratic:
    return twins(M, kappa, zeta, copies=2)


_EPS = (4e-3, 2e-3, 1e-3)
_SMALL = {"eps": 1e-3, "T": 4, "M": 64, "S": 4, "kappa": 10}
_BLOCKS = {"eps": 1e-3, "T": 4, "M": 16, "S": 8, "N": 2, "kappa": 10}
_GRADIENTS = {"eps": 1e-2, "T": 4, "M": 8, "S": 4}
_OLDER = "control variates get older with fewer clients"
_MORE = {"S": "on this problem more clients help more than they must"}
_LOCAL = {"T": "on this problem more local steps help, which the rate does not claim"}

EXPERIMENTS = [
    _row("fedavg", "noise", term("noise"), f"{_ALIKE}, with noise", convex(fedavg, alike, sigma=2.0), _SMALL,
         eps=_EPS, T=(2, 4, 8), S=(2, 4, 8), kappa=(10, 20, 40)),
    _row("fedavg", "sampling", term("sampling"), _APART,
         convex(fedavg, alike, zeta=1.0), _SMALL, eps=_EPS, T=(2, 4, 8), S=(2, 4, 8), kappa=(10, 20, 40)),
    _row("fedavg", "drift", term("drift"), f"{_TWINS}; different minimisers",
         convex(fedavg, twins, zeta=0.5), {"eps": 1e-3, "T": 8, "M": 4, "S": 4, "kappa": 10},
         eps=_EPS, T=(4, 8, 16), kappa=(10, 20, 40)),
    _row("fedavg", "optimisation", term("optimisation"), _TWINS, convex(fedavg, twins),
         {"eps": 1e-3, "T": 8, "M": 8, "S": 8, "kappa": 20}, T=(4, 8, 16), S=(2, 4, 8), kappa=(20, 40, 80)),
    _row("fedavg", "noise, not convex", term("noise", 1), f"{_ALIKE}, with noise",
         not_convex(fedavg, alike, sigma=1.0, d=2), _GRADIENTS, eps=(2e-2, 1e-2, 5e-3), T=(2, 4, 8), S=(2, 4, 8)),
    _row("fedavg", "optimisation, not convex", term("optimisation", 1), _TWINS, not_convex(fedavg, twins),
         {**_GRADIENTS, "S": 8}, eps=(4e-2, 2e-2, 1e-2), T=(4, 8, 16)),
    _row("fedbcgd", "noise", term("noise"), f"{_ALIKE}, with noise", convex(fedbcgd, alike, sigma=1.0), _BLOCKS,
         eps=_EPS, T=(2, 4, 8), S=(4, 8, 16), N=(1, 2, 4), kappa=(10, 20, 40)),
    _row("fedbcgd", "noise, of G", term("noise"), _APART,
         convex(fedbcgd, alike, zeta=0.4), {**_BLOCKS, "M": 48},
         {"T": "local steps do not average over clients: the term with G^2 of the corrected theorem has no T"},
         eps=_EPS, T=(2, 4, 8), S=(4, 8, 16), N=(1, 2, 4), kappa=(10, 20, 40)),
    _row("fedbcgd", "drift", term("drift"), f"{_TWINS}; different minimisers",
         convex(fedbcgd, _twins, zeta=1.0),
         {"eps": 1.25e-2, "T": 8, "M": 64, "S": 64, "N": 2, "kappa": 20, "alpha": 1},
         eps=(5e-2, 2.5e-2, 1.25e-2), N=(1, 2, 4), kappa=(10, 20, 40), alpha=(1, 2, 4)),
    _row("fedbcgd", "optimisation", term("optimisation"), _TWINS, convex(fedbcgd, _twins),
         {"eps": 1e-3, "T": 8, "M": 32, "S": 32, "N": 2, "kappa": 20},
         T=(4, 8, 16), S=(8, 16, 32), N=(1, 2, 4), kappa=(20, 40, 80)),
    _row("fedbcgd", "noise, not convex", term("noise", 1), f"{_ALIKE}, with noise",
         not_convex(fedbcgd, alike, sigma=1.0, d=2), {"eps": 5e-3, "T": 8, "M": 32, "S": 16, "N": 2},
         eps=(1e-2, 5e-3, 2.5e-3), T=(4, 8, 16), S=(8, 16, 32)),
    _row("fedbcgd", "optimisation, not convex", term("optimisation", 1), _ALIKE, not_convex(fedbcgd, alike),
         {"eps": 1e-2, "T": 1, "M": 4, "S": 4, "N": 2}, eps=(4e-2, 2e-2, 1e-2), N=(1, 2, 4)),
    _row("scaffold", "noise", term("noise"), f"{_ALIKE}, with noise", convex(scaffold, alike, sigma=0.4, d=2),
         {"eps": 1e-3, "T": 4, "M": 8, "S": 2, "kappa": 10},
         {"S": _OLDER}, eps=_EPS, T=(2, 4, 8), S=(1, 2, 4), kappa=(10, 20, 40)),
    _row("scaffold", "clients", term("clients"), _FAR_APART,
         convex(scaffold, spread, 1e8, apart=True), {"eps": 1e-8, "T": 2, "M": 12, "S": 1},
         eps=(1e-6, 1e-7, 1e-8), T=(2, 4, 8), M=(6, 12, 24), S=(1, 2, 4)),
    _row("scaffold", "optimisation", term("optimisation"), _TWINS, convex(scaffold, twins),
         {"eps": 1e-3, "T": 1, "M": 4, "S": 4, "kappa": 40}, _LOCAL, T=(1, 2, 4), kappa=(20, 40, 80)),
    _row("scaffold", "noise, not convex", term("noise", 1), f"{_ALIKE}, with noise",
         not_convex(scaffold, alike, sigma=1.0, d=2), {**_GRADIENTS, "eps": 2e-2, "S": 2}, {"S": _OLDER},
         eps=(4e-2, 2e-2, 1e-2), T=(2, 4, 8), S=(1, 2, 4)),
    _row("scaffold", "optimisation, not convex", term("optimisation", 1), _OPPOSITE, not_convex(scaffold, opposite),
         {"eps": 2e-2, "T": 4, "M": 8, "S": 2}, _MORE, eps=(8e-2, 4e-2, 2e-2), T=(4, 8, 16), M=(4, 8, 12),
         S=(1, 2, 4)),
    _row("fedlin", "optimisation", term("optimisation"), _TWINS, convex(fedlin, twins),
         {"eps": 1e-3, "T": 1, "M": 4, "S": 4, "kappa": 40}, _LOCAL, T=(1, 2, 4), kappa=(20, 40, 80)),
    _row("s_local_gd", "optimisation", term("optimisation"), _TWINS, convex(s_local_gd, twins),
         {"eps": 1e-3, "T": 1, "M": 4, "S": 4, "kappa": 40}, _LOCAL, T=(1, 2, 4), kappa=(20, 40, 80)),
    _row("ce_lsgd", "partial participation", in_words(0), _APART,
         of_variance_reduction("CE-LSGD", alike, zeta=1.0, d=2), {"eps": 1e-2, "K": 4, "M": 4, "S": 1},
         {"eps": "the worse rate needs curvatures that differ while gradients stay close: no quadratics are so"},
         eps=(4e-2, 2e-2, 1e-2)),
    _row("ce_lsgd", "all clients", in_words(1), _APART,
         of_variance_reduction("CE-LSGD", alike, zeta=1.0, d=2), {"eps": 1e-2, "K": 4, "M": 4, "S": 4},
         eps=(2e-2, 1e-2, 5e-3)),
    _row("bvr_l_sgd", "all clients", in_words(0), _APART,
         of_variance_reduction("BVR-L-SGD", alike, zeta=1.0, d=2), {"eps": 1e-2, "K": 4, "M": 4, "S": 4},
         eps=(2e-2, 1e-2, 5e-3)),
    _row("fedbcgdplus", "clients", term("clients"), _FAR_APART,
         convex(fedbcgdplus, spread, 1e8, apart=True, d=2), {"eps": 1e-8, "T": 2, "M": 8, "S": 2, "N": 2},
         M=(4, 8, 16), S=(2, 4, 8), N=(1, 2)),
    _row("fedbcgdplus", "optimisation", term("optimisation"), "curvatures that differ by a half; N = sqrt(kappa)",
         convex(accelerated, tilted), {"eps": 1e-3, "T": 1, "M": 8, "S": 8, "kappa": 16}, _LOCAL,
         T=(1, 2, 4), kappa=(4, 16, 64)),
    _row("fedbcgdplus", "optimisation, not convex", term("optimisation", 1), _OPPOSITE,
         not_convex(fedbcgdplus, opposite, d=4), {"eps": 2e-2, "T": 4, "M": 8, "S": 4, "N": 2},
         {**_MORE, "N": "on this problem more blocks help less than they may"},
         eps=(8e-2, 4e-2, 2e-2), M=(4, 8, 16), S=(2, 4), N=(1, 2, 4)),
]  # fmt: skip

_NO_DRIFT = (
    "none: quadratics with the same curvatures have no drift; where curvatures differ, no G bounds the deviations"
)
MISSING = {
    ("fedbcgd.table1.fedavg", "drift, not convex"): _NO_DRIFT,
    ("fedbcgd.table1.fedbcgd", "drift, not convex"): _NO_DRIFT,
}
