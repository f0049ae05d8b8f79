"""Who wins where: methods at their own best step sizes on one family of quadratics, and what their bounds predict.

All clients take part.  A setting has a condition number, two kinds of heterogeneity, noise, and local steps.  After a
budget, in rounds or in bits that a client sends, each method has the smallest expected gap over all constant step sizes; the
smallest of these wins.  The prediction puts the smallest values of the methods' theorems in place of the gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bounds.evaluation import ConditionViolated
from bounds.tuning import tune
from simulations import NoSuchConstant, expectation, has_expectation, run, start
from simulations.algorithms.base import FLOAT, Algorithm
from simulations.algorithms.fedbat import FedBAT
from simulations.algorithms.fedbcgd import FedBCGD
from simulations.algorithms.fedcom import SCAFFOLD, FedCOMGATE
from simulations.algorithms.minibatch import MinibatchSGD
from simulations.algorithms.sfl import PFL, SFL
from simulations.compressors import RandK
from simulations.problems import Array, start_of_clients
from simulations.problems.quadratic import Quadratic

CLIENTS, COORDINATES = 4, 16
_KEPT = 4  # coordinates that FedCOMGATE sends: q = 3
_BLOCKS = 2  # of FedBCGD
_STEPS = 2.0 ** np.arange(-10.0, 4.0)  # effective step sizes of the first search; L = 1
_FINER = (1 / 4, 1 / 16)  # powers of 2 between the step sizes of the next two, around the best of the one before
_SEEDS = 4  # of FedBAT, which has no exact expectation


@dataclass(frozen=True)
class Setting:
    """One point of the map.

    kappa  condition number of F; L = 1 bounds the curvatures of all clients
    zeta   heterogeneity at the optimum: the root of the mean of ||grad F_m(x_star)||^2
    delta  heterogeneity of curvature: half of the clients are curved by the factor 1 + delta more, half by 1 - delta less
    sigma  noise
    K      local steps, and stochastic gradients of minibatch SGD
    """

    kappa: float = 5.0
    zeta: float = 1.0
    delta: float = 0.4
    sigma: float = 0.3
    K: int = 4

    @property
    def problem(self) -> Quadratic:
        """4 clients, 16 coordinates.  Along each, which clients are curved more, and pull to which side, is drawn once.

        A client that is curved more along a coordinate also has the gradient of positive sign there.  So the clients'
        drifts do not cancel.
        """
        rng = np.random.default_rng(0)
        half = np.repeat([1.0, -1.0], CLIENTS // 2)
        sign = np.stack([rng.permutation(half) for _ in range(COORDINATES)], axis=1)
        curvature = np.geomspace(1 / self.kappa, 1, COORDINATES) / (1 + self.delta) * (1 + self.delta * sign)
        H = np.stack([np.diag(row) for row in curvature])
        return Quadratic(H, self.zeta / np.sqrt(COORDINATES) * sign, self.sigma, "a point of the map")

    @property
    def x0(self) -> Array:
        """The start: F(x_0) - F_star = 1, the same share in each coordinate."""
        found: Array = np.sqrt(2 / (COORDINATES * np.diag(self.problem.mean[0])))
        return found


@dataclass(frozen=True)
class Method:
    """A method at effective step sizes: the step size times the number of local steps that follow one another in a round.

    build    (K, effective step sizes) -> algorithm
    theorem  (setting, rounds) -> the smallest value of its bound; None: there is none with constants
    """

    build: Callable[[int, Array], Algorithm]
    theorem: Callable[[Setting, int], float] | None = None


def _sfl(setting: Setting, rounds: int, id_: str, K: int | None = None) -> float:
    """Theorems 1 and 2 of SFL; with K = 1 for minibatch SGD, whose noise is that of the mean of K gradients."""
    sigma = setting.sigma if K is None else setting.sigma / setting.K**0.5
    problem = replace(setting.problem, sigma=sigma)
    values = {name: problem.constants[name] for name in ("L", "mu", "sigma", "zeta_star")}
    values |= {"D": start(problem, setting.x0)["D"], "M": CLIENTS, "K": K or setting.K, "R": rounds}
    return float(tune(id_, **values).best.value)


def _fedcomgate(setting: Setting, rounds: int) -> float:
    """Theorem E.6, corrected, with global step size 1; one mask for all clients, so G_q = 0."""
    problem = setting.problem
    known = start(problem, setting.x0)
    values = {name: problem.constants[name] for name in ("L", "mu", "sigma")}
    values |= {"m": CLIENTS, "tau": setting.K, "R": rounds, "q": COORDINATES / _KEPT - 1, "G_q": 0.0}
    values |= {"f_gap": known["A"], "het_start": start_of_clients(problem, setting.x0)["het_start"]}
    return float(tune("fedcom.thmE6.corrected", gamma=1.0, **values).best.value)


def _fedbcgd(setting: Setting, rounds: int) -> float:
    """Theorem 1, corrected, without momentum.  Raises NoSuchConstant where curvatures differ: no G bounds the deviations."""
    problem = setting.problem
    known, own = start(problem, setting.x0), problem.constants
    return float(
        tune(
            "fedbcgd.thm1.strongly_convex.corrected",
            M=CLIENTS, N=_BLOCKS, K=CLIENTS // _BLOCKS, T=setting.K, R=rounds, beta=own["L"], mu=own["mu"],
            sigma=own["sigma"], G=own["G"], alpha=1.0, gamma=0.0, d0=known["D"], F=known["A"],
        ).best.value
    )  # fmt: skip


METHODS: Mapping[str, Method] = {
    "SFL": Method(lambda K, eta: SFL(K, eta / (CLIENTS * K)), lambda s, R: _sfl(s, R, "sfl.thm1.strongly_convex")),
    "PFL": Method(lambda K, eta: PFL(K, eta / K), lambda s, R: _sfl(s, R, "sfl.thm2.strongly_convex")),
    "Minibatch SGD": Method(MinibatchSGD, lambda s, R: _sfl(s, R, "sfl.thm2.strongly_convex", K=1)),
    "FedCOMGATE": Method(
        lambda K, eta: FedCOMGATE(K, eta / K, 1.0, RandK(_KEPT, shared=True), damping=None), _fedcomgate
    ),
    "FedBCGD": Method(lambda K, eta: FedBCGD(K, eta / K, _BLOCKS, CLIENTS // _BLOCKS), _fedbcgd),
    "SCAFFOLD": Method(lambda K, eta: SCAFFOLD(K, eta / K)),
    "FedBAT": Method(lambda K, eta: FedBAT(K, eta / K)),
}


@dataclass(frozen=True)
class Budget:
    """What a method may use: this many rounds or, `in_bits`, the bits that a client of PFL sends in as many."""

    rounds: int
    in_bits: bool = False

    def rounds_of(self, method: Method, setting: Setting) -> int:
        """The rounds of the method."""
        if not self.in_bits:
            return self.rounds
        bits = method.build(setting.K, np.ones(1)).uplink_bits(setting.problem)
        return int(self.rounds * FLOAT * COORDINATES // bits)

    def __str__(self) -> str:
        """In words."""
        return f"{self.rounds * FLOAT * COORDINATES} bits up" if self.in_bits else f"{self.rounds} rounds"


def smallest_gaps(name: str, setting: Setting, budgets: tuple[Budget, ...]) -> tuple[float, ...]:
    """For each budget the smallest E[F(x_R) - F_star] of a method over constant step sizes; 1, at the start, at most.

    Exact but for FedBAT, whose gap is the mean of 4 runs at step sizes a factor 2 apart.
    """
    method, steps = METHODS[name], _STEPS if name != "FedBAT" else _STEPS[2:-2]
    rounds = [budget.rounds_of(method, setting) for budget in budgets]
    best, at = np.ones(len(rounds)), np.ones(len(rounds))
    for finer in (0.0, *_FINER) if name != "FedBAT" else (0.0,):
        if finer:
            steps = np.unique(np.outer(at, 2.0 ** (finer * np.arange(-3, 4))))
        gaps = np.where(np.isnan(found := _gaps(method, setting, steps, rounds)), np.inf, found)
        at = np.where(gaps.min(0) < best, steps[gaps.argmin(0)], at)
        best = np.minimum(best, gaps.min(0))
    return tuple(best.tolist())


def _gaps(method: Method, setting: Setting, eta: Array, rounds: list[int]) -> Array:
    """Gaps (E, budgets); NaN where a run diverges."""
    problem, algorithm = setting.problem, method.build(setting.K, eta)
    given: dict[str, Any] = {"rounds": max(rounds), "x0": setting.x0, "record": ("gap",), "at": sorted(set(rounds))}
    if has_expectation(problem, algorithm, max(rounds)):
        found = expectation(problem, algorithm, **given).gap
    else:
        found = run(problem, algorithm, seeds=range(_SEEDS), **given).gap.mean("seed", skipna=False)
    return np.asarray(found.sel(round=rounds))


def predicted(name: str, setting: Setting, budget: Budget) -> float | None:
    """The smallest value of the method's bound at the budget; None where it has none, or no step size is admissible."""
    method = METHODS[name]
    if method.theorem is None:
        return None
    try:
        return method.theorem(setting, budget.rounds_of(method, setting))
    except (ConditionViolated, NoSuchConstant):
        return None


__all__ = ["METHODS", "Budget", "Method", "Setting", "predicted", "smallest_gaps"]
