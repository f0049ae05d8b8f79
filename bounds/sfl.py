"""Arenas of the SFL paper: which problem and algorithm put which bound to the test."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bounds.arena import Arena, run_evidence
from simulations import data, partitions
from simulations.algorithms import Algorithm
from simulations.algorithms.sfl import PFL, SFL
from simulations.problems import Problem
from simulations.problems.logistic import Logistic
from simulations.problems.quadratic import from_functions, generate
from theory.statement import Evidence


def strongly_convex(L_over_mu: float, zeta_star: float) -> Problem:
    """Ten clients in ten dimensions, L = 1."""
    mu = 1 / L_over_mu
    return generate(10, 10, L=1.0, mu=mu, zeta_star=zeta_star, delta=0.25 * (1 - mu), sigma=0.5, seed=1)


def convex() -> Problem:
    """Ten convex clients, each flat in some direction: mu = 0."""
    return generate(10, 10, L=1.0, mu=0.0, zeta_star=1.0, delta=0.2, sigma=0.5, seed=2)


def indefinite() -> Problem:
    """Ten clients with eigenvalues in [-0.2, 1], F convex and bounded below."""
    return generate(10, 10, L=1.0, mu=-0.2, zeta_star=0.5, delta=0.4, sigma=0.5, seed=3)


def two_opposed() -> Problem:
    """Table 2, Group 2: x^2/2 + x and x^2/2 - x."""
    return from_functions([0.5, 0.5], [1.0, -1.0], name="Table 2, Group 2")


def breast_cancer() -> Problem:
    """Binary logistic regression, ten clients with one class each (ExDir(1, 10)), mini-batches of 8."""
    dataset = data.scaled(data.load("breast_cancer"))
    partition = partitions.exdir(dataset.labels, 10, 1, 10.0, seed=0)
    return Logistic(dataset, partition, regularisation=0.01, batch=8)


def digits() -> Problem:
    """Multinomial logistic regression, ten clients with two classes each (ExDir(2, 10)), mini-batches of 8."""
    dataset = data.scaled(data.load("digits"))
    partition = partitions.exdir(dataset.labels, 10, 2, 10.0, seed=0)
    return Logistic(dataset, partition, regularisation=0.02, batch=8)


mild, ill = partial(strongly_convex, 5.0, 1.0), partial(strongly_convex, 30.0, 5.0)

_FULL: dict[str, Callable[..., Algorithm]] = {"thm1": SFL, "thm2": PFL}
_PARTIAL: dict[str, dict[str, Callable[..., Algorithm]]] = {
    "strongly_convex": {"sfl.eq42": SFL, "sfl.eq71": PFL},
    "general_convex": {"sfl.eq46": SFL, "sfl.eq73": PFL},
    "nonconvex": {"sfl.eq54": SFL, "sfl.eq80": PFL},
}
# case -> (name, problem, x0, rounds)
_PROBLEMS: dict[str, list[tuple[str, Callable[[], Problem], float, int]]] = {
    "strongly_convex": [
        ("quadratics, kappa 5, zeta_* 1", mild, 1.0, 300),
        ("quadratics, kappa 30, zeta_* 5", ill, 1.0, 1200),
        ("logistic regression, breast_cancer", breast_cancer, 0.0, 600),
        ("logistic regression, digits", digits, 0.0, 400),
    ],
    "general_convex": [
        ("quadratics, mu 0, zeta_* 1", convex, 1.0, 300),
        ("logistic regression, breast_cancer", breast_cancer, 0.0, 300),
        ("logistic regression, digits", digits, 0.0, 200),
    ],
    "nonconvex": [
        ("indefinite quadratics", indefinite, 1.0, 300),
        ("logistic regression, breast_cancer", breast_cancer, 0.0, 300),
        ("logistic regression, digits", digits, 0.0, 200),
    ],
}


def _arenas() -> list[Arena]:
    found = []
    for case, problems in _PROBLEMS.items():
        for name, problem, x0, rounds in problems:
            for theorem, algorithm in _FULL.items():
                seeds = 10 if problem is digits else 20
                found.append(
                    Arena(f"sfl.{theorem}.{case}", name, problem, algorithm, K=5, x0=x0, rounds=rounds, seeds=seeds)
                )
        for id_, algorithm in _PARTIAL[case].items():
            for name, problem, x0, rounds in problems:
                if "digits" in name:
                    continue  # the same class of problem as breast_cancer, an order of magnitude dearer
                found.append(Arena(id_, f"{name}, 3 of 10", problem, algorithm, K=5, S=3, x0=x0, rounds=rounds))
    # One of two opposed clients a round, K = 1: both algorithms are SGD with the sampling noise of the clients.
    for id_, algorithm in _PARTIAL["nonconvex"].items():
        found.append(
            Arena(
                id_,
                "two opposed quadratics, 1 of 2",
                two_opposed,
                algorithm,
                K=1,
                S=1,
                x0=0.2,
                rounds=4000,
                seeds=400,
                fractions=(1.0, 0.1),
            )
        )
    return found


ARENAS = _arenas()


def evidence() -> list[Evidence]:
    """Evidence of kind `run`: every bound against its arenas."""
    return run_evidence(ARENAS)
