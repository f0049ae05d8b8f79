"""Who wins where: methods at their own best step sizes on one family of quadratics, and what their bounds predict.

All clients take part.  A setting has a condition number, two kinds of heterogeneity, noise, and local steps.  After a
budget, in rounds or in bits that a client sends, each method has the smallest expected gap over all constant step sizes; the
smallest of these wins.  The prediction puts the smallest values of the methods' theorems in place of the gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from fedtheory.bounds.evaluation import ConditionViolated
from fedtheory.bounds.studies import Numbers, Study
from fedtheory.bounds.trials.arena import constants_for
from fedtheory.bounds.tuning import tune
from fedtheory.simulations import NoSuchConstant, expectation, has_expectation, run
from fedtheory.simulations.algorithms.base import FLOAT, Algorithm
from fedtheory.simulations.algorithms.fedbat import FedBAT
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD, FedCOMGATE
from fedtheory.simulations.algorithms.minibatch import MinibatchSGD
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.compressors import RandK
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.quadratic import Quadratic, diagonal

CLIENTS, COORDINATES = 4, 16
_KEPT = 4  # coordinates that FedCOMGATE sends: q = 3
_BLOCKS = 2  # of FedBCGD
_STEPS = 2.0 ** np.arange(-10.0, 4.0)  # effective step sizes of the first search; L = 1
_FINER = (1 / 4, 1 / 16)  # powers of 2 between the step sizes of the next two, around the best of the one before
_SEEDS = 4  # of FedBAT, which has no exact expectation


@dataclass(frozen=True)
class MapPoint:
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
        return diagonal(curvature, self.zeta / np.sqrt(COORDINATES) * sign, self.sigma, "a point of the map")

    @property
    def x0(self) -> Array:
        """The start: F(x_0) - F_star = 1, the same share in each coordinate."""
        found: Array = np.sqrt(2 / (COORDINATES * np.diag(self.problem.mean[0])))
        return found


@dataclass(frozen=True)
class Method:
    """A method at effective step sizes: the step size times the number of local steps that follow one another in a round.

    build      (K, effective step sizes) -> algorithm
    statement  id of its theorem; empty: it has none with constants
    given      letters of the theorem that are other constants of the problem, or numbers
    as_PFL     whether the theorem is that of PFL with one local step, and 1/K of the noise's variance
    """

    build: Callable[[int, Array], Algorithm]
    statement: str = ""
    given: Mapping[str, float | str] = field(default_factory=dict)
    as_PFL: bool = False

    def bound(self, setting: MapPoint, rounds: int) -> float:
        """The smallest value of its theorem's bound over the step size."""
        build = self.build
        if self.as_PFL:
            setting, build = replace(setting, sigma=setting.sigma / setting.K**0.5, K=1), METHODS["PFL"].build
        algorithm = build(setting.K, np.ones(1))
        values = constants_for(self.statement, setting.problem, algorithm, setting.x0, **self.given)
        return float(tune(self.statement, R=rounds, **values).best.value)


METHODS: Mapping[str, Method] = {
    "SFL": Method(lambda K, eta: SFL(K, eta / (CLIENTS * K)), "sfl.thm1.strongly_convex"),
    "PFL": Method(lambda K, eta: PFL(K, eta / K), "sfl.thm2.strongly_convex"),
    "Minibatch SGD": Method(MinibatchSGD, "sfl.thm2.strongly_convex", as_PFL=True),
    "FedCOMGATE": Method(  # one mask for all clients, so G_q = 0
        lambda K, eta: FedCOMGATE(K, eta / K, 1.0, RandK(_KEPT, shared=True), damping=None),
        "fedcom.thmE6.corrected",
        {"G_q": 0.0, "mu": "mu_pl"},
    ),
    "FedBCGD": Method(  # where curvatures differ there is no prediction: no G bounds the deviations
        lambda K, eta: FedBCGD(K, eta / K, _BLOCKS, CLIENTS // _BLOCKS),
        "fedbcgd.thm1.strongly_convex.corrected",
        {"G": "G"},
    ),
    "SCAFFOLD": Method(lambda K, eta: SCAFFOLD(K, eta / K)),
    "FedBAT": Method(lambda K, eta: FedBAT(K, eta / K)),
}


@dataclass(frozen=True)
class Budget:
    """What a method may use: this many rounds or, `in_bits`, the bits that a client of PFL sends in as many."""

    rounds: int
    in_bits: bool = False

    def rounds_of(self, method: Method, setting: MapPoint) -> int:
        """The rounds of the method."""
        if not self.in_bits:
            return self.rounds
        bits = method.build(setting.K, np.ones(1)).uplink_bits(setting.problem)
        return int(self.rounds * FLOAT * COORDINATES // bits)

    def __str__(self) -> str:
        """In words."""
        return f"{self.rounds * FLOAT * COORDINATES} bits up" if self.in_bits else f"{self.rounds} rounds"


def smallest_gaps(name: str, setting: MapPoint, budgets: tuple[Budget, ...]) -> tuple[float, ...]:
    """For each budget the smallest E[F(x_R) - F_star] of a method over constant step sizes; 1, at the start, at most.

    Exact but for FedBAT, whose gap is the mean of 4 runs at step sizes a factor 2 apart.
    """
    method, steps = METHODS[name], _STEPS if name != "FedBAT" else _STEPS[2:-2]
    rounds = [budget.rounds_of(method, setting) for budget in budgets]
    best, at = np.ones(len(rounds)), np.ones(len(rounds))
    for finer in (0.0, *_FINER) if name != "FedBAT" else (0.0,):
        if finer:
            steps = np.unique(np.outer(at, 2.0 ** (finer * np.arange(-3, 4))))
        found = gaps_at(method, setting, steps, rounds)
        found[np.isnan(found)] = np.inf
        at = np.where(found.min(0) < best, steps[found.argmin(0)], at)
        best = np.minimum(best, found.min(0))
    return tuple(best.tolist())


def gaps_at(method: Method, setting: MapPoint, eta: Array, rounds: list[int]) -> Array:
    """E[F(x_R) - F_star] at effective step sizes eta (E,) and numbers of rounds: (E, rounds); NaN where a run diverges."""
    problem, algorithm = setting.problem, method.build(setting.K, eta)
    given: dict[str, Any] = {"rounds": max(rounds), "x0": setting.x0, "record": ("gap",), "at": sorted(set(rounds))}
    if has_expectation(problem, algorithm, max(rounds)):
        series = expectation(problem, algorithm, **given).gap
    else:
        series = run(problem, algorithm, seeds=range(_SEEDS), **given).gap.mean("seed", skipna=False)
    return np.array(series.sel(round=rounds))


def predicted(name: str, setting: MapPoint, budget: Budget) -> float | None:
    """The smallest value of the method's bound at the budget; None where it has none, or no step size is admissible."""
    method = METHODS[name]
    if not method.statement:
        return None
    try:
        return method.bound(setting, budget.rounds_of(method, setting))
    except (ConditionViolated, NoSuchConstant):
        return None


BUDGETS = (Budget(40), Budget(100), Budget(40, in_bits=True), Budget(100, in_bits=True))
KAPPAS = (2.0, 5.0)
# of each map: what varies along x and y, with its values
MAPS: dict[str, dict[str, tuple[float, ...]]] = {
    "noise": {"zeta": (0.03, 0.1, 0.3, 1.0, 3.0), "sigma": (0.03, 0.1, 0.3, 1.0, 3.0)},
    "curvature": {"delta": (0.0, 0.2, 0.4, 0.6, 0.8), "K": (1, 2, 4, 8, 16)},
}


def cells(which: str) -> dict[str, dict[str, Any]]:
    """The settings of a map, by their names."""
    (x, xs), (y, ys) = MAPS[which].items()
    return {
        f"kappa = {kappa:g}, {x} = {a:g}, {y} = {b:g}": {"kappa": kappa, x: a, y: int(b) if y == "K" else b}
        for kappa, a, b in product(KAPPAS, xs, ys)
    }


def _measured(**setting: Any) -> Numbers:
    """For each method the smallest gap and the bound, budget by budget."""
    own = MapPoint(**setting)
    found: dict[str, Sequence[float]] = {}
    for name in METHODS:
        found[f"{name}: gap"] = smallest_gaps(name, own, BUDGETS)
        bounds = (predicted(name, own, budget) for budget in BUDGETS)
        found[f"{name}: bound"] = [np.nan if bound is None else bound for bound in bounds]
    return found


STUDIES = {
    which: Study(
        f"who_wins_{which}",
        partial(cells, which),
        _measured,
        ("fedtheory.bounds.winners",),
        tuple(method.statement for method in METHODS.values() if method.statement),
    )
    for which in MAPS
}
