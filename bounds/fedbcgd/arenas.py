"""Arenas of the FedBCGD paper: which problem, blocks and momentum test which bound.

Assumption 4 requires one G for all points: quadratics have one where all clients have the same Hessian, logistic
regression and the sigmoid loss always.  The printed theorems say that weights and step sizes exist.  No run refutes this;
`fedtheory.theory.fedbcgd.checks.counterexamples` does.  Runs are compared with the corrected theorems, which name both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np

from fedtheory.bounds.trials.arena import Arena, Given
from fedtheory.bounds.trials.arena_search import Candidate, Candidates, largest_by, of_one_hessian, quadratic, varied
from fedtheory.simulations import data, partitions
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus
from fedtheory.simulations.functions import huber
from fedtheory.simulations.problems import Problem
from fedtheory.simulations.problems.logistic import Logistic, lightly_regularised
from fedtheory.simulations.problems.own import OfFunctions
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.simulations.problems.sigmoid import SigmoidERM

CLIENTS = 4

# --------------------------------------------------------------------------------------------------- problems


@cache
def shifted(kappa: float, sigma: float) -> Problem:
    """Strongly convex quadratics in four dimensions with one Hessian and different minimisers: G is 1."""
    return generate(4, CLIENTS, L=1.0, mu=1 / kappa, zeta_star=1.0, sigma=sigma, x_star=(2.0, 0.0, -1.0, 1.0), seed=1)


@cache
def flat(sigma: float) -> Problem:
    """The same with one direction in which all clients are flat."""
    return generate(4, CLIENTS, L=1.0, mu=0.0, zeta_star=0.0, sigma=sigma, x_star=(2.0, 0.0, -1.0, 1.0), seed=2)


@cache
def unlike(kappa: float, sigma: float) -> Problem:
    """Strongly convex quadratics in four dimensions with different Hessians: no G."""
    delta = 0.25 * (1 - 1 / kappa)
    return generate(4, CLIENTS, L=1.0, mu=1 / kappa, zeta_star=1.0, delta=delta, sigma=sigma, seed=3)


@cache
def indefinite(sigma: float) -> Problem:
    """Quadratics with eigenvalues in [-0.2, 1], their mean strongly convex."""
    return generate(4, CLIENTS, L=1.0, mu=-0.2, zeta_star=1.0, delta=0.4, sigma=sigma, seed=4)


@cache
def on(dataset: str, loss: type[Logistic], batch: int | None, regularisation: float | None = None) -> Problem:
    """A loss on a data set by name or path, one class for each client; of several classes the first against the rest.

    regularisation  lambda; None: 1e-4 L, the rule of Section 6.5
    """
    two = data.two_classes(data.scaled(data.load(dataset)))
    partition = partitions.exdir(two.labels, CLIENTS, 1, 10.0, seed=0)
    if regularisation is None:
        return lightly_regularised(loss, two, partition, batch)
    return loss(two, partition, regularisation, batch)


# ------------------------------------------------------------------------------------------------------ bounds


@dataclass(frozen=True)
class Trial:
    """How a theorem is tested.

    algorithm  FedBCGD or FedBCGD+
    problems   quadratics, by name
    least      smallest curvature of a client that the theorem allows, for a largest of 1
    rounds     R of the runs on quadratics
    given      symbols that neither problem nor algorithm knows
    """

    algorithm: Callable[..., FedBCGD | FedBCGDPlus]
    problems: Mapping[str, Callable[[], Problem]]
    least: float
    rounds: int
    given: Given

    @property
    def linear(self) -> bool:
        """Whether the theorem has a linear rate, which needs many rounds to show."""
        return self.rounds in (_LINEAR, _LINEAR_PLUS)

    @property
    def one_hessian(self) -> bool:
        """Whether the theorem has G, so that all Hessians must be the same."""
        return ("G", "G") in self.given


_SHIFTED = {
    "quadratics, kappa 5": partial(shifted, 5.0, 1.0),
    "quadratics, kappa 30": partial(shifted, 30.0, 1.0),
    "quadratics, kappa 30, no noise": partial(shifted, 30.0, 0.0),
}
_UNLIKE = {
    "quadratics, kappa 2": partial(unlike, 2.0, 1.0),
    "quadratics, kappa 3": partial(unlike, 3.0, 1.0),
}
_FLAT = {"flat quadratics": partial(flat, 1.0)}
_INDEFINITE = {"indefinite quadratics": partial(indefinite, 1.0)}
_SMOOTH: Given = (("beta", "L"),)
_SIMILAR: Given = (*_SMOOTH, ("G", "G"))
_AT_STAR: Given = (*_SMOOTH, ("C_0", "grads_at_star"))
_AT_START: Given = (*_SMOOTH, ("lag_0", "grads_start"))
_LINEAR, _LINEAR_PLUS = 5000, 3000  # rounds until a linear rate of the corrected theorems shows

TRIALS: dict[str, Trial] = {
    "fedbcgd.thm1.strongly_convex.corrected": Trial(FedBCGD, _SHIFTED, 0.02, _LINEAR, _SIMILAR),
    "fedbcgd.thm1.general_convex.corrected": Trial(FedBCGD, _SHIFTED | _FLAT, 0.0, 300, _SIMILAR),
    "fedbcgd.thm1.nonconvex.corrected": Trial(FedBCGD, _SHIFTED | _FLAT, -1.0, 300, _SIMILAR),
    "fedbcgd.thm1.strongly_convex.corrected.sharp": Trial(FedBCGD, _SHIFTED, 0.02, _LINEAR, _SIMILAR),
    "fedbcgd.thm1.general_convex.corrected.sharp": Trial(FedBCGD, _SHIFTED | _FLAT, 0.0, 300, _SIMILAR),
    "fedbcgd.thm1.nonconvex.corrected.sharp": Trial(FedBCGD, _SHIFTED | _FLAT, -1.0, 300, _SIMILAR),
    "fedbcgd.thm2.strongly_convex.corrected": Trial(FedBCGDPlus, _UNLIKE, 0.02, _LINEAR_PLUS, _AT_STAR),
    "fedbcgd.thm2.general_convex.corrected": Trial(FedBCGDPlus, _UNLIKE | _FLAT, 0.0, 300, _AT_STAR),
    "fedbcgd.thm2.nonconvex.corrected": Trial(FedBCGDPlus, _UNLIKE | _INDEFINITE, -1.0, 300, _AT_START),
}
_BLOCKS = ((1, 4, 0.0), (2, 1, 0.0), (2, 1, 0.9), (4, 1, 0.5))  # N, K, lambda: all four clients, or two


def _on_quadratics(id_: str, case: Trial) -> Iterator[Arena]:
    steps = (5,) if case.rounds == _LINEAR_PLUS else (1, 5)  # so many rounds of control variates are slow
    for (name, problem), T, (N, K, lam) in product(case.problems.items(), steps, _BLOCKS):
        yield Arena(
            id_,
            f"{name}, T {T}, N {N}, K {K}, lambda {lam:g}",
            problem,
            partial(case.algorithm, T=T, N=N, K=K, lam=lam),
            rounds=case.rounds,
            given=case.given,
        )


def _at_the_edge() -> Iterator[Arena]:
    """Huber clients from where they are still on the slope after R rounds of the largest step size, 4 eta_tilde = 1/(8 L).

    In the non-convex case, 1/(6 L).
    """
    rounds, problem = 300, partial(OfFunctions, (huber(1),) * 2)
    for case, least in (("general_convex", 8), ("nonconvex", 6)):
        for form in ("", ".sharp"):
            id_ = f"fedbcgd.thm1.{case}.corrected{form}"
            algorithm, start = partial(FedBCGD, T=1, N=1, K=2, lam=0.0), rounds / least + 1.0
            yield Arena(id_, "two alike, Huber loss", problem, algorithm, rounds, start, 2, (1.0,), _SIMILAR)


def on_data(dataset: str) -> list[Arena]:
    """Every bound on a data set by name or path: logistic regression, or the sigmoid loss where it need not be convex.

    The regularisation is 1e-4 L, but 0.1 for the linear rates, which begin after at least alpha / (2 eta_tilde mu)
    rounds: with mu = 1e-4 L after 160000 alpha.
    """
    found = []
    for id_, case in TRIALS.items():
        # Assumption 5 is about mini-batches: with all of a client's data it is Assumption 2.
        batch, seeds = (None, 5) if case.algorithm is FedBCGDPlus else (4, 10)
        loss, name = (Logistic, "logistic regression") if case.least >= 0 else (SigmoidERM, "sigmoid loss")
        regularisation, rounds = (0.1, 600) if case.linear else (None, 200)
        found.append(
            Arena(
                id_,
                f"{name}, {Path(dataset).name}, N 3, K 1, lambda 0.5",
                partial(on, dataset, loss, batch, regularisation),
                partial(case.algorithm, T=3, N=3, K=1, lam=0.5),
                rounds,
                x0=0.0,
                seeds=seeds,
                fractions=(1.0,),
                given=case.given,
            )
        )
    return found


ARENAS = [
    *(arena for id_, case in TRIALS.items() for arena in _on_quadratics(id_, case)),
    *_at_the_edge(),
    *(arena for dataset in data.EMBEDDED for arena in on_data(dataset)),
]


# ------------------------------------------------------------------------------------------------------ search


def searched(id_: str) -> Candidates:
    """The family for one bound: small quadratics, and the algorithm's own small numbers."""
    case = TRIALS[id_]
    as_assumed = of_one_hessian if case.one_hessian else lambda candidate: candidate

    def draw(rng: np.random.Generator) -> Candidate:
        d, M, T = (int(rng.integers(low, high, endpoint=True)) for low, high in ((1, 2), (2, 4), (1, 4)))
        N = int(rng.integers(1, min(d, M), endpoint=True))
        K = int(rng.integers(1, M // N, endpoint=True))
        settings = {"T": T, "N": N, "K": K, "lam": float(rng.choice([0.0, 0.0, 0.5, 0.9]))}
        return replace(as_assumed(quadratic(rng, d, M, case.least)), settings=settings)

    def vary(rng: np.random.Generator, candidate: Candidate, width: float) -> Candidate:
        return as_assumed(varied(rng, candidate, width, case.least))

    rounds = 400 if case.linear else 60
    return Candidates(case.algorithm, draw, vary, largest_by("eta_tilde"), case.least, rounds, (40, 2), case.given)


SEARCHED = {id_: searched(id_) for id_ in TRIALS}
