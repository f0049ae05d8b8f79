"""Arenas of the FedCOM paper: which problem, algorithm and compressor test which bound.

FedCOM runs with independent masks on clients that all have the same function.  FedCOMGATE runs on clients with different
functions and one mask for all, so that the G_q of Assumption 5 is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from fedtheory.bounds.trials.arena import Arena, Given
from fedtheory.bounds.trials.arena_search import Candidate, Candidates, largest_by, of_one_hessian, quadratic, varied
from fedtheory.simulations import data, partitions
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.compressors import QSGD, Compressor, Identity, RandK, Sparsifier
from fedtheory.simulations.problems import Problem
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, generate

CLIENTS = 4

# --------------------------------------------------------------------------------------------------- problems


def repeated(one: Quadratic, M: int) -> Quadratic:
    """M clients that all have the function of the first."""
    return Quadratic(np.repeat(one.H[:1], M, 0), np.repeat(one.b[:1], M, 0), one.sigma, f"{M} times: {one.name}")


@cache
def alike(kappa: float, sigma: float) -> Problem:
    """The same strongly convex quadratic at four clients, in three dimensions, L = 1."""
    return repeated(generate(3, 1, L=1.0, mu=1 / kappa, sigma=sigma, x_star=(2.0, 0.0, -1.0), seed=1), CLIENTS)


@cache
def least_squares(sigma: float) -> Problem:
    """The same quadratic at four clients, flat in one direction: not strongly convex, but PL with mu = 1/2."""
    return repeated(generate(3, 1, L=1.0, mu=0.0, sigma=sigma, x_star=(2.0, 0.0, -1.0), seed=2), CLIENTS)


@cache
def unlike(kappa: float, sigma: float) -> Problem:
    """Four strongly convex quadratics in three dimensions, with different Hessians, L = 1."""
    delta = 0.25 * (1 - 1 / kappa)
    return generate(3, CLIENTS, L=1.0, mu=1 / kappa, zeta_star=1.0, delta=delta, sigma=sigma, seed=3)


@cache
def indefinite(sigma: float) -> Problem:
    """Four quadratics with eigenvalues in [-0.2, 1], their mean strongly convex."""
    return generate(3, CLIENTS, L=1.0, mu=-0.2, zeta_star=1.0, delta=0.4, sigma=sigma, seed=4)


@cache
def one_sample_of_all(dataset: str) -> Problem:
    """Logistic regression on 48 samples of a data set, all of them at each of four clients, mini-batches of 4."""
    every = data.two_classes(data.scaled(data.load(dataset)))
    if len(every.labels) < 48:
        raise ValueError(f"{every.name} has {len(every.labels)} samples: expected at least 48")
    rows = np.arange(48) * (len(every.labels) // 48)
    some = replace(
        every,
        name=f"{every.name}, 48 samples",
        features=every.features[np.tile(rows, CLIENTS)],
        labels=np.tile(every.labels[rows], CLIENTS),
    )
    own = tuple(np.arange(j * len(rows), (j + 1) * len(rows)) for j in range(CLIENTS))
    return Logistic(some, partitions.Partition(own, f"the same at {CLIENTS} clients"), regularisation=0.1, batch=4)


@cache
def dealt_out(dataset: str) -> Problem:
    """Logistic regression on a data set, dealt out to four clients at random, mini-batches of 4."""
    every = data.two_classes(data.scaled(data.load(dataset)))
    return Logistic(every, partitions.iid(every.labels, CLIENTS, seed=0), regularisation=0.1, batch=4)


@cache
def two_of(*curvature: float) -> Problem:
    """Two clients with curvature_m x^2 / 2, exact gradients."""
    return Quadratic(np.array(curvature)[:, None, None], np.zeros((2, 1)), 0.0, "two quadratics")


@cache
def valley() -> Problem:
    """Two clients with (x - y)^2/4 + (x^2 + y^2)/200: at (1, 1) the gap is small, but the minimiser is far."""
    H = np.array([[0.5, -0.5], [-0.5, 0.5]]) + 0.01 * np.eye(2)
    return Quadratic(np.stack([H, H]), np.zeros((2, 2)), 0.0, "two narrow valleys")


# ------------------------------------------------------------------------------------------------------ bounds


@dataclass(frozen=True)
class Trial:
    """How a theorem is tested.

    algorithm  FedCOM or FedCOMGATE
    least      smallest curvature of a client that the theorem allows, for a largest of 1
    gammas     global step sizes that its conditions admit, for four clients
    qs         compression
    given      symbols that neither problem nor algorithm knows, as a function of the number of clients and tau
    """

    algorithm: Callable[..., FedCOM | FedCOMGATE]
    least: float
    gammas: tuple[float, ...] = (1.0, float(CLIENTS))
    qs: tuple[str, ...] = ("0", "1/2", "3")
    given: Callable[[int, int], Given] = lambda m, tau: ()

    @property
    def shared(self) -> bool:
        """Whether all clients use the same coins: yes for FedCOMGATE, so that G_q is 0."""
        return self.algorithm is not FedCOM

    @property
    def diverges(self) -> bool:
        """Whether the gradient tracking is undamped, so that its error is multiplied by q in every round."""
        return self.algorithm is FedCOMGATE


def _polyak(m: int, tau: int) -> Given:
    """For a PL theorem: mu is the PL constant of f, which need not be strongly convex."""
    return (("mu", "mu_pl"),)


def _regularised(m: int, tau: int) -> Given:
    """phi, where the theorem leaves it open: the phi of Theorems D.9 and E.9."""
    return (("phi", 1 / sqrt(m * tau)),)


def _same_coins(more: Callable[[int, int], Given] = lambda m, tau: ()) -> Callable[[int, int], Given]:
    return lambda m, tau: (("G_q", 0.0), *more(m, tau))


_QS = ("0", "1/4", "3")
_DAMPED = partial(FedCOMGATE, damping=None)
_KEPT = {"1/4": Fraction(4, 5), "1/2": Fraction(2, 3), "1": Fraction(1, 2), "3": Fraction(1, 4)}  # q -> p = 1/(1+q)
_PL, _CONVEX, _ROUGH = 0.02, 0.0, -1.0

TRIALS: dict[str, Trial] = {
    "fedcom.thmD4": Trial(FedCOM, _CONVEX),
    "fedcom.thmD4.corrected": Trial(FedCOM, _CONVEX),
    "fedcom.thmD4.corrected.sharp": Trial(FedCOM, _CONVEX),
    "fedcom.corD6": Trial(FedCOM, _CONVEX, gammas=(1.0,), qs=("0",)),
    "fedcom.thmD7": Trial(FedCOM, _PL, given=_polyak),
    "fedcom.thmD7.corrected": Trial(FedCOM, _PL, given=_polyak),
    "fedcom.thmD7.corrected.sharp": Trial(FedCOM, _PL, given=_polyak),
    "fedcom.corD8": Trial(FedCOM, _PL, gammas=(float(CLIENTS),), given=_polyak),
    "fedcom.thmD9": Trial(FedCOM, _CONVEX),
    "fedcom.thmD9.corrected": Trial(FedCOM, _CONVEX, given=_regularised),
    "fedcom.thmE4": Trial(FedCOMGATE, _CONVEX, qs=_QS, given=_same_coins()),
    "fedcom.thmE4.corrected": Trial(_DAMPED, _ROUGH, qs=_QS, given=_same_coins()),
    "fedcom.thmE6": Trial(FedCOMGATE, _PL, qs=_QS, given=_same_coins(_polyak)),
    "fedcom.thmE6.corrected": Trial(_DAMPED, _ROUGH, qs=_QS, given=_same_coins(_polyak)),
    "fedcom.corE8": Trial(FedCOMGATE, _PL, gammas=(5.0,), qs=_QS, given=_same_coins(_polyak)),
    "fedcom.corE8.corrected": Trial(_DAMPED, _ROUGH, gammas=(5.0,), qs=_QS, given=_same_coins(_polyak)),
    "fedcom.thmE9": Trial(FedCOMGATE, _CONVEX, gammas=(3.0, 4.0), qs=_QS, given=_same_coins()),
    "fedcom.thmE9.corrected": Trial(_DAMPED, _CONVEX, gammas=(3.0, 4.0), qs=_QS, given=_same_coins(_regularised)),
}


def mask(q: str, shared: bool) -> Compressor:
    """A mask with this q, a coin for each coordinate."""
    return Identity() if q == "0" else Sparsifier(_KEPT[q], shared)


# ------------------------------------------------------------------------------------------------------ arenas


_ALIKE = {
    "equal quadratics, kappa 5": partial(alike, 5.0, 1.0),
    "equal quadratics, kappa 30": partial(alike, 30.0, 1.0),
    "equal quadratics, kappa 30, no noise": partial(alike, 30.0, 0.0),
    "equal least squares": partial(least_squares, 1.0),
}
_UNLIKE = {
    "quadratics, kappa 5": partial(unlike, 5.0, 1.0),
    "quadratics, kappa 30": partial(unlike, 30.0, 1.0),
    "quadratics, kappa 30, no noise": partial(unlike, 30.0, 0.0),
}
_INDEFINITE = {"indefinite quadratics": partial(indefinite, 1.0)}


def _on_quadratics(id_: str, case: Trial) -> Iterator[Arena]:
    problems = _ALIKE if case.algorithm is FedCOM else _UNLIKE | (_INDEFINITE if case.least < 0 else {})
    for (name, problem), tau, gamma, q in product(problems.items(), (1, 5), case.gammas, case.qs):
        # With one local step the trackings cancel out of w.  But they grow, until their rounding errors do not cancel.
        cancels = case.diverges and tau == 1 and q == "3"
        yield Arena(
            id_,
            f"{name}, tau {tau}, gamma {gamma:g}, q {q}",
            problem,
            partial(case.algorithm, tau=tau, gamma=gamma, compressor=mask(q, case.shared)),
            rounds=20 if cancels else 150,
            given=case.given(CLIENTS, tau),
        )


def on_data(dataset: str) -> list[Arena]:
    """Every bound on logistic regression on a data set by name or path, with masks of 1/3 or 2/3 of d, or QSGD."""
    d = data.load(dataset).features.shape[1]
    return [arena for id_, case in TRIALS.items() for arena in _on_logistic_regression(id_, case, dataset, d)]


def _on_logistic_regression(id_: str, case: Trial, dataset: str, d: int) -> Iterator[Arena]:
    problem, tau = partial(dealt_out if case.shared else one_sample_of_all, dataset), 3
    given = case.given(CLIENTS, tau)
    few, many = max(1, d // 3), max(1, 2 * d // 3)
    compressors: dict[str, Compressor] = {f"{many} of {d} coordinates": RandK(many, shared=True)}
    if not case.shared:
        compressors = {f"{few} of {d} coordinates": RandK(few), "QSGD with 4 levels": QSGD(4)}
    if case.qs == ("0",):
        compressors = {"no compression": Identity()}
    for compressor, Q in compressors.items():
        made = partial(case.algorithm, tau=tau, gamma=case.gammas[-1], compressor=Q)
        name = f"logistic regression, {Path(dataset).name}, {compressor}"
        yield Arena(id_, name, problem, made, 100, x0=0.0, fractions=(1.0,), given=given)


def _refuting() -> Iterator[Arena]:
    """Where printed theorems fail, with their corrected forms: undamped tracking; a penalty larger than L."""

    def both(
        name: str, where: str, problem: Callable[[], Problem], tau: int, rounds: int, **own: Any
    ) -> Iterator[Arena]:
        for id_ in (f"fedcom.{name}", f"fedcom.{name}.corrected"):
            made = partial(TRIALS[id_].algorithm, tau=tau, **own)
            yield Arena(id_, where, problem, made, rounds=rounds, given=TRIALS[id_].given(2, tau))

    # x^2/2 and x^2/4, q = 3: with two local steps w depends on the tracking, whose error grows threefold in every round
    two, flat = partial(two_of, 1.0, 0.5), partial(two_of, 0.1, 0.1)
    for name, gamma in {"thmE4": 1.0, "thmE6": 1.0, "corE8": 2.0, "thmE9": 1.0}.items():
        yield from both(name, "two quadratics, q 3", two, 2, 100, gamma=gamma, compressor=mask("3", True))
    # x^2/20 twice, L = 1/10: the penalty is 7 times as curved, and a step made for L goes far beyond its minimum
    for name, gamma in {"thmD9": 1.0, "thmE9": 3.0}.items():
        yield from both(name, "two flat quadratics", flat, 1, 40, gamma=gamma)
    # The penalty pulls far along the valley, and masks turn a part of this across it, which the initial gap does not bound
    yield from both("thmD9", "two narrow valleys, q 3", valley, 1, 40, gamma=8.0, compressor=mask("3", False))


_REFUTING = [*_refuting()]
ARENAS = [
    arena
    for id_, case in TRIALS.items()
    for arena in (
        *(a for a in _REFUTING if a.statement == id_),
        *_on_quadratics(id_, case),
        *_on_logistic_regression(id_, case, "breast_cancer", 30),
    )
]


# ------------------------------------------------------------------------------------------------------ search


def searched(id_: str) -> Candidates:
    """The family for one bound: small quadratics, and the algorithm's own small numbers."""
    case = TRIALS[id_]
    fixed_gamma, no_compression = id_ == "fedcom.corD6", case.qs == ("0",)
    as_assumed = _one_function if case.algorithm is FedCOM else lambda candidate: candidate

    def draw(rng: np.random.Generator) -> Candidate:
        d, m, tau = (int(rng.integers(low, high, endpoint=True)) for low, high in ((1, 2), (2, 4), (1, 4)))
        found = as_assumed(quadratic(rng, d, m, case.least))
        gamma = float(rng.choice([1, 2, m, 8]))
        q = str(rng.choice(["0", "1/4", "1", "3"]))
        settings = {
            "tau": tau,
            "gamma": 1.0 if fixed_gamma else gamma,
            "compressor": mask("0" if no_compression else q, case.shared),
        }
        return replace(found, settings=settings)

    def vary(rng: np.random.Generator, candidate: Candidate, width: float) -> Candidate:
        return as_assumed(varied(rng, candidate, width, case.least))

    # Undamped tracking grows threefold in every round; in more rounds, rounding errors would dominate.
    rounds = 20 if case.diverges else 60
    return Candidates(case.algorithm, draw, vary, largest_by("eta"), case.least, rounds, (40, 2), case.given(3, 2))


def _one_function(candidate: Candidate) -> Candidate:
    """All clients with the function of the first, and no slope."""
    return replace(of_one_hessian(candidate), slope=0 * candidate.slope)


SEARCHED = {id_: searched(id_) for id_ in TRIALS}
