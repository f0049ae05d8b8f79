"""Arenas of the SFL paper: which problem and algorithm test which bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from sympy import Eq

from fedtheory.bounds.evaluation import Compiled
from fedtheory.bounds.trials.arena import Arena, bound_at
from fedtheory.bounds.trials.arena_search import Candidate, Candidates, quadratic, varied
from fedtheory.simulations import data, partitions
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.functions import huber
from fedtheory.simulations.problems import Problem
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.own import OfFunctions
from fedtheory.simulations.problems.quadratic import from_functions, generate
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound

# Ten clients in ten dimensions, L = 1.  Case -> [(name, problem, rounds)]
_random = partial(generate, 10, 10, L=1.0, sigma=0.5)
_HETEROGENEITY = (0.1, 1.0, 10.0)
QUADRATICS: dict[str, list[tuple[str, Callable[[], Problem], int]]] = {
    "strongly_convex": [
        (
            f"quadratics, kappa {kappa}, zeta_* {zeta_star:g}",
            partial(_random, mu=1 / kappa, zeta_star=zeta_star, delta=0.25 * (1 - 1 / kappa), seed=1),
            rounds,
        )
        for kappa, rounds in ((5, 300), (30, 1200), (100, 3000))
        for zeta_star in _HETEROGENEITY
    ],
    "general_convex": [  # each client flat in some direction
        (
            f"quadratics, mu 0, zeta_* {zeta_star:g}",
            partial(_random, mu=0.0, zeta_star=zeta_star, delta=0.2, seed=2),
            1000,
        )
        for zeta_star in _HETEROGENEITY
    ],
    "nonconvex": [  # eigenvalues in [-0.2, 1], F convex and bounded below
        (
            f"indefinite quadratics, zeta_* {zeta_star:g}",
            partial(_random, mu=-0.2, zeta_star=zeta_star, delta=0.4, seed=3),
            1000,
        )
        for zeta_star in _HETEROGENEITY
    ],
}


def two_opposed() -> Problem:
    """Table 2, Group 2: x^2/2 + x and x^2/2 - x."""
    return from_functions([0.5, 0.5], [1.0, -1.0], name="Table 2, Group 2")


def alike_huber() -> Problem:
    """Two equal clients with the Huber loss, whose gradient does not shrink with the distance: the first term is tight."""
    return OfFunctions((huber(1),) * 2)


def regression(dataset: str) -> Problem:
    """Logistic regression on a data set by name or path, mini-batches of 8.

    Ten clients with one class each, or two where there are more than two, ExDir(1, 10) or ExDir(2, 10).
    """
    every = data.scaled(data.load(dataset))
    C = 1 if every.classes == 2 else 2
    partition = partitions.exdir(every.labels, 10, C, 10.0, seed=0)
    return Logistic(every, partition, regularisation=0.01 * C, batch=8)


# Bounds by case: with all M clients; with S of M, correct ones; with S of M, the printed ones that are wrong
_Bounds = dict[str, dict[str, Callable[..., SFL | PFL]]]
_THEOREMS: tuple[tuple[str, Callable[..., SFL | PFL]], ...] = (("sfl.thm1", SFL), ("sfl.thm2", PFL))
_FULL: _Bounds = {case: {f"{name}.{case}": algorithm for name, algorithm in _THEOREMS} for case in QUADRATICS}
# The sharper theorems: the same runs, against better constants
_SHARP: _Bounds = {
    case: {
        f"{name}.{case}.{form}": algorithm
        for name, algorithm in _THEOREMS
        for form in ("sharp", "faster")[: 1 + (case == "strongly_convex")]
    }
    for case in QUADRATICS
}
_SAMPLED = {  # of SFL, and of PFL
    "strongly_convex": ("eq42.corrected", "eq71"),
    "general_convex": ("eq46.corrected", "eq73"),
    "nonconvex": ("eq54.corrected", "eq80.corrected"),
}
_PARTIAL: _Bounds = {
    case: {f"sfl.{sfl}{form}": SFL for form in ("", ".sharp")} | {f"sfl.{pfl}{form}": PFL for form in ("", ".sharp")}
    for case, (sfl, pfl) in _SAMPLED.items()
}
_WRONG: _Bounds = {
    "strongly_convex": {"sfl.eq42": SFL},
    "general_convex": {"sfl.eq46": SFL},
    "nonconvex": {"sfl.eq54": SFL, "sfl.eq80": PFL},
}


def searched(id_: str, algorithm: Callable[..., SFL | PFL]) -> Candidates:
    """The family of small quadratics, K and S for one bound."""
    statement = catalogue.find(id_)
    claim = statement.claim_of(Bound)
    symbols = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
    relations = [c.relation for c in statement.when]
    everyone = Eq(symbols["S"], symbols["M"])
    takes_all = everyone in relations or symbols["S"] not in set().union(*(r.free_symbols for r in relations))
    if claim.quantity.name == "min_grad_sq":
        least = -1.0
    else:
        least = 0.02 if symbols["mu"] in set().union(*(t.value.free_symbols for t in claim.terms)) else 0.0

    def draw(rng: np.random.Generator) -> Candidate:
        d, M, K = (int(rng.integers(low, high, endpoint=True)) for low, high in ((1, 2), (2, 4), (1, 3)))
        found = quadratic(rng, d, M, least)
        S = M if takes_all else int(rng.integers(1, M, endpoint=True))
        return replace(found, settings={"K": K, "S": S})

    return Candidates(algorithm, draw, partial(varied, least=least), _largest_of_a_grid, least)


def _largest_of_a_grid(bound: Compiled, values: Mapping[str, float], rounds: int) -> float | None:
    """From 1/(6L), the limit of every case or above it, downwards."""
    downwards = np.geomspace(1, 1e-3, 200) / (6 * values["L"])
    allowed = bound_at(bound, downwards, np.array(float(rounds)), **values).admissible
    return float(downwards[allowed.argmax()]) if allowed.any() else None


SEARCHED = {
    id_: searched(id_, algorithm)
    for bounds in (_FULL, _SHARP, _PARTIAL)
    for case in bounds.values()
    for id_, algorithm in case.items()
}

# M times x^2/2, neither noise nor heterogeneity: S of M clients make S/M of the progress of all M.
ten_alike, forty_alike = (partial(from_functions, (0.5,) * M, (0.0,) * M) for M in (10, 40))


def _refuting() -> list[Arena]:
    """Where printed bounds for S < M fail: no sampling term, or eta_tilde = M K eta where S K eta is meant."""
    # One of two opposed clients a round, K = 1: both algorithms are SGD with the sampling noise of the clients.
    name = "two opposed quadratics, 1 of 2"
    opposed = partial(Arena, name=name, problem=two_opposed, x0=0.2, rounds=4000, fractions=(1.0, 0.1))
    few = partial(Arena, algorithm=partial(SFL, K=1, S=1))
    found = []
    for form in ("", ".corrected"):
        found += [
            opposed(f"sfl.eq54{form}", algorithm=partial(SFL, K=1, S=1)),
            opposed(f"sfl.eq80{form}", algorithm=partial(PFL, K=1, S=1)),
            few(f"sfl.eq42{form}", "ten equal quadratics, 1 of 10", ten_alike, rounds=120),
            few(f"sfl.eq46{form}", "forty equal quadratics, 1 of 40", forty_alike, rounds=1000),
        ]
    return found


def _on_quadratics(case: str) -> Iterator[Arena]:
    for name, problem, rounds in QUADRATICS[case]:
        for K in (1, 5, 20):
            for id_, algorithm in (_FULL[case] | _SHARP[case]).items():
                yield Arena(id_, f"{name}, K {K}", problem, partial(algorithm, K=K), rounds)
            for id_, algorithm in _PARTIAL[case].items():
                for S in (1, 3, 10):
                    yield Arena(id_, f"{name}, K {K}, {S} of 10", problem, partial(algorithm, K=K, S=S), rounds)
        for id_, algorithm in _WRONG[case].items():
            yield Arena(id_, f"{name}, K 5, 3 of 10", problem, partial(algorithm, K=5, S=3), rounds)


def _at_the_edge() -> Iterator[Arena]:
    """Huber clients from where they are still on the slope after R rounds of the largest step size: D = R/(6L) + 1/L."""
    rounds = 300
    for case in ("general_convex", "nonconvex"):
        for id_, algorithm in (_FULL[case] | _SHARP[case]).items():
            start = rounds / 6 + 1.0
            yield Arena(id_, "two alike, Huber loss", alike_huber, partial(algorithm, K=1), rounds, start, 2, (1.0,))


def on_data(dataset: str) -> list[Arena]:
    """Every bound on logistic regression on a data set by name or path, all ten clients or 3 of them."""
    found = []
    for case in QUADRATICS:
        rounds = 600 if case == "strongly_convex" else 300
        ours = partial(Arena, problem=partial(regression, dataset), rounds=rounds, x0=0.0)
        name = f"logistic regression, {Path(dataset).name}"
        for id_, algorithm in (_FULL[case] | _SHARP[case]).items():
            found.append(ours(id_, name, algorithm=partial(algorithm, K=5)))
        for id_, algorithm in (_PARTIAL[case] | _WRONG[case]).items():
            found.append(ours(id_, f"{name}, 3 of 10", algorithm=partial(algorithm, K=5, S=3)))
    return found


ARENAS = [
    *_refuting(),
    *(arena for case in QUADRATICS for arena in _on_quadratics(case)),
    *_at_the_edge(),
    *on_data("breast_cancer"),
    # ten classes are slow
    *(replace(a, rounds=a.rounds * 2 // 3, seeds=5) for a in on_data("digits") if "of 10" not in a.name),
]
