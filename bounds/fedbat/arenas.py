"""Arenas of the FedBAT paper: which problem tests which bound, for FedBAT as Section 4 analyses it.

Exact, over all outcomes, on quadratics in up to two coordinates, as long as the rounds have few outcomes.  Monte Carlo with
more coordinates, with noise, on logistic regression, and on the sigmoid loss, which is not convex.  q = sqrt(d - 1) is that
of the operator.  G is that of the run: the largest root of E||g_t^k||^2 over its steps and clients, at the binarised
parameters; exact, or the largest upper end of the confidence intervals.  Gamma is certified.  For the sigmoid loss, where
the clients' minima are unknown, Gamma = 0 is used, with which a bound claims most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy.special import stdtrit

from fedtheory.bounds.fedbat import local_steps
from fedtheory.bounds.trials.arena import CONFIDENCE, Arena, Given, build, seeds_of, steps_of
from fedtheory.simulations import data, has_expectation, partitions
from fedtheory.simulations.algorithms.fedbat import FedBAT, Gamma
from fedtheory.simulations.exact import enumerated
from fedtheory.simulations.problems import Problem
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, generate
from fedtheory.simulations.problems.sigmoid import SigmoidERM

CLIENTS = 4

# --------------------------------------------------------------------------------------------------- problems


@cache
def two_valleys(weights: tuple[float, ...] | None) -> Problem:
    """Two clients in two dimensions, no noise: curvatures 1 and 1/2, minima apart."""
    H, b = np.array([np.diag([1.0, 0.5]), np.diag([0.5, 1.0])]), np.array([[0.0, 1.0], [-1.0, 0.0]])
    return Quadratic(H, b, 0.0, "two valleys", None if weights is None else np.array(weights))


@cache
def two_bowls() -> Problem:
    """Two clients in two dimensions with one function, no noise: binarisation is the only error."""
    return Quadratic(np.array([np.diag([1.0, 0.25])] * 2), np.zeros((2, 2)), 0.0, "two equal bowls, kappa 4")


@cache
def narrow(second: float) -> Problem:
    """Two clients in one coordinate, where binarisation is exact: curvatures 1 and `second`, one minimum, no noise."""
    H = np.array([[[1.0]], [[second]]])
    return Quadratic(H, np.zeros((2, 1)), 0.0, f"one coordinate, curvatures 1, {second:g}")


@cache
def saddle() -> Problem:
    """Two clients in two dimensions, one of them concave in one; their mean is convex."""
    H = np.array([np.diag([1.0, -0.25]), np.diag([0.5, 1.0])])
    return Quadratic(H, np.array([[0.0, 1.0], [-1.0, 0.0]]), 0.0, "two clients, one concave")


@cache
def noisy(d: int, kappa: float) -> Problem:
    """Four quadratics with noise in d dimensions, L = 1."""
    mu, star = 1 / kappa, np.zeros(d)
    return generate(d, CLIENTS, L=1.0, mu=mu, zeta_star=1.0, delta=0.25 * (1 - mu), sigma=1.0, x_star=star, seed=d)


@cache
def dealt_out(dataset: str, convex: bool, weighed: bool) -> Problem:
    """A data set dealt out to four clients by shares of a half, a quarter and two eighths, mini-batches of 4."""
    every = data.two_classes(data.scaled(data.load(dataset)))
    rows = np.random.default_rng(0).permutation(len(every.labels))
    n = len(rows)
    parts = np.split(rows, [n // 2, 3 * n // 4, 7 * n // 8]) if weighed else np.array_split(rows, CLIENTS)
    own = partitions.Partition(tuple(np.sort(part) for part in parts), "in shares" if weighed else "evenly")
    made = Logistic if convex else SigmoidERM
    return made(every, own, regularisation=0.1, batch=4, weights="sizes" if weighed else None)


# ------------------------------------------------------------------------------------------------- symbols of the run


def largest_gradient(arena: Arena) -> float:
    """G, at the step size that the theorem fixes; see the head of this module."""
    steps, _ = steps_of(arena)
    algorithm = cast(FedBAT, arena.algorithm(eta=tuple(steps.tolist())))
    problem: Any = build(arena.problem)
    return _largest_gradient(problem, algorithm, arena.rounds, arena.x0, len(seeds_of(arena)))


@cache  # a printed statement and its corrected form may have the same run
def _largest_gradient(problem: Problem, algorithm: FedBAT, rounds: int, x0: float, seeds: int) -> float:
    if has_expectation(problem, algorithm, rounds):
        return enumerated.largest_gradient(cast(Quadratic, problem), algorithm, rounds, x0, float(algorithm.eta[0]))
    given: dict[str, Any] = {"rounds": rounds, "seeds": range(seeds), "x0": np.full(problem.d, x0)}
    squares = local_steps.run(problem, algorithm, **given, record=("client_grad_sq",)).client_grad_sq
    half = stdtrit(seeds - 1, (1 + CONFIDENCE) / 2) * squares.std("seed", ddof=1) / np.sqrt(seeds)
    return float(np.sqrt((squares.mean("seed") + half).max()))


def first_distance(arena: Arena) -> float:
    """E||w_1 - w*||^2, w_1 the mean of the clients' parameters after step 0: exact, or with sigma^2 as noise variance.

    Raises ValueError for a Monte Carlo arena with tau = 1, where w_1 is binarised.
    """
    problem, (steps, _) = build(arena.problem), steps_of(arena)
    algorithm, eta = cast(FedBAT, arena.algorithm(eta=steps.tolist())), float(steps[0])
    if has_expectation(problem, algorithm, arena.rounds):
        exact = enumerated.steps(cast(Quadratic, problem), algorithm, arena.rounds, arena.x0, eta)
        return exact.expected(problem, "dist2")[1]
    if algorithm.tau == 1:
        raise ValueError(f"{arena.label}: expected tau >= 2, where the first step is not binarised")
    start = np.full(problem.d, arena.x0)
    moved = start - eta * problem.full_gradient(start) - problem.constants["x_star"]
    return float(moved @ moved + eta**2 * algorithm.symbols(problem)["p_sq"] * problem.constants["sigma"] ** 2)


# ------------------------------------------------------------------------------------------------------ bounds


@dataclass(frozen=True)
class Trial:
    """How a theorem is tested.

    sampled  whether it is about K of N clients
    convex   whether it needs strong convexity
    gamma    of the learning rate, as in `FedBAT`; None: a constant learning rate
    given    symbols that are known only for the arena
    """

    sampled: bool
    convex: bool
    gamma: Gamma | None
    given: Given


_RUN: Given = (("G", largest_gradient),)
_FIRST: Given = (*_RUN, ("dist0_sq", first_distance))
TRIALS: dict[str, Trial] = {
    "fedbat.thm1": Trial(False, True, "printed", _FIRST),
    "fedbat.thm1.corrected": Trial(False, True, "printed", _FIRST),
    "fedbat.thm1.from_start": Trial(False, True, "theorem", _RUN),
    "fedbat.thm1.from_start.sharp": Trial(False, True, "theorem", _RUN),
    "fedbat.thm2": Trial(True, True, "printed", _FIRST),
    "fedbat.thm2.corrected": Trial(True, True, "printed", _FIRST),
    "fedbat.thm2.from_start": Trial(True, True, "theorem", _RUN),
    "fedbat.thm2.from_start.sharp": Trial(True, True, "theorem", _RUN),
    "fedbat.thm3": Trial(True, False, None, _RUN),
    "fedbat.thm3.corrected": Trial(True, False, None, _RUN),
    "fedbat.thm3.corrected.sharp": Trial(True, False, None, _RUN),
}


def _fedbat(case: Trial, tau: int, K: int | None) -> Callable[..., FedBAT]:
    return partial(FedBAT, tau=tau, K=K, phi=0.0, step_size="max", gamma=case.gamma, active="all")


# ------------------------------------------------------------------------------------------------------ arenas


def _by_all_outcomes(id_: str, case: Trial) -> Iterator[Arena]:
    """Two clients in one or two dimensions: as many rounds as can be enumerated."""
    problems: dict[str, Callable[[], Problem]] = {
        "two equal bowls, kappa 4": two_bowls,
        "two valleys": partial(two_valleys, None),
    }
    if not case.sampled:
        problems["two valleys, shares 1/4 and 3/4"] = partial(two_valleys, (0.25, 0.75))
    if "corrected" in id_ and not case.convex:  # it has no minima of clients, which the printed bound needs
        problems["two clients, one concave"] = saddle
    for second, rounds in product((1.0, 0.5), (1, 2)) if case.convex else ():
        name = f"one coordinate, curvatures 1 and {second:g}, tau 1, {rounds} round{'s' * (rounds > 1)}"
        yield _arena(id_, case, name, partial(narrow, second), 1, 2, rounds)
    for name, problem in problems.items():
        for tau, K, rounds in ((1, 2, 8), (2, 2, 4), (3, 2, 2), (1, 1, 5), (2, 1, 3)):
            if K == 2 or case.sampled:
                sample = f", {K} of 2 clients" if case.sampled else ""
                yield _arena(id_, case, f"{name}, tau {tau}{sample}, {rounds} rounds", problem, tau, K, rounds)


def _at_random(id_: str, case: Trial) -> Iterator[Arena]:
    """More dimensions, more rounds, noise."""
    for d, kappa in ((2, 4.0), (10, 10.0)):
        for tau, K in ((2, 4), (5, 2)) if case.sampled else ((2, 4), (5, 4)):
            sample = f", {K} of 4 clients" if case.sampled else ""
            name = f"quadratics with noise, d {d}, kappa {kappa:g}, tau {tau}{sample}"
            yield _arena(id_, case, name, partial(noisy, d, kappa), tau, K, 100, seeds=40)


def on_data(dataset: str) -> list[Arena]:
    """Every bound on a data set by name or path: logistic regression, and the sigmoid loss for Theorem 3."""
    return [arena for id_, case in TRIALS.items() for arena in _on_data(id_, case, dataset)]


def _on_data(id_: str, case: Trial, dataset: str) -> Iterator[Arena]:
    problem = partial(dealt_out, dataset, case.convex, not case.sampled)
    what = "logistic regression" if case.convex else "sigmoid loss"
    sample, K = (", 2 of 4 clients", 2) if case.sampled else (", clients of different size", CLIENTS)
    given: Given = case.given if case.convex else (*case.given, ("Gamma", 0.0))
    name = f"{what}, {Path(dataset).name}, tau 5{sample}"
    yield Arena(id_, name, problem, _fedbat(case, 5, K), 60, x0=0.0, seeds=20, fractions=(1.0,), given=given)


def _arena(
    id_: str, case: Trial, name: str, problem: Callable[[], Problem], tau: int, K: int, rounds: int, seeds: int = 20
) -> Arena:
    return Arena(id_, name, problem, _fedbat(case, tau, K), rounds, seeds=seeds, fractions=(1.0,), given=case.given)


ARENAS = [
    arena
    for id_, case in TRIALS.items()
    for arena in (*_by_all_outcomes(id_, case), *_at_random(id_, case), *_on_data(id_, case, "breast_cancer"))
]
