"""The objective, Gamma and Assumptions 1 to 4: met with certified constants, and with no smaller ones.

Assumption 5 is about the operator: see `fedtheory.bounds.fedbat.checks.operator`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from fedtheory.bounds.fedbat.checks.replay import shares_of
from fedtheory.bounds.trials import problems
from fedtheory.bounds.trials.cases import Case, met
from fedtheory.simulations.functions import Function, huber, logcosh
from fedtheory.simulations.problems import Problem, start_of_clients
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, generate
from fedtheory.theory.statement import Statement, Verdict

# ------------------------------------------------------------------------------------------- (1), Gamma


@cache
def _quadratics() -> tuple[Quadratic, ...]:
    """Two to five clients, with equal weights and with seeded weights."""
    found = []
    for M in range(2, 6):
        alike = generate(3, M, L=1.0, mu=0.2, zeta_star=1.0, delta=0.3, seed=M)
        drawn = np.random.default_rng(M).dirichlet(np.ones(M))
        found += [alike, replace(alike, weights=drawn / drawn.sum())]
    return tuple(found)


@cache
def _regressions() -> tuple[Logistic, ...]:
    """Logistic regression, with equal weights and with weights by the number of samples."""
    return problems.logistic(), replace(problems.logistic(), weights="sizes")


def objective(statement: Statement, full: bool = False) -> Verdict:
    """(1): F of the problem, with its own weights, against the sum over its clients, each computed separately."""
    several: list[tuple[Any, list[problems.ValueAndGradient]]] = [
        *((q, problems.quadratic_clients(q)) for q in _quadratics()),
        *((r, list(problems.logistic_clients())) for r in _regressions()),
    ]
    places = (
        Case(problem.name, {"F": F, "F_i": clients, "p": list(shares_of(problem)), "N": problem.M, "w": w})
        for problem, clients in several
        for F in [problems.objective(problem)]
        for w, _ in problems.points(problem.d, problem.M, 1)
    )
    family = "quadratics and logistic regression (breast_cancer), equal and unequal weights"
    return met(statement.claim, places, family)


def heterogeneity(statement: Statement, full: bool = False) -> Verdict:
    """Gamma of `start_of_clients` against the minima; for quadratics they are solved for here.  Gamma is not negative."""
    places = []
    for q in _quadratics():
        p = shares_of(q)
        whole = np.tensordot(p, q.H, 1), p @ q.b
        own = [_least(H, b) for H, b in zip(q.H, q.b, strict=True)]
        places.append(_gamma(q, _least(*whole), own))
    for r in _regressions():
        places.append(_gamma(r, float(r.constants["F_star"]), list(r.client_minima[1].value)))
    family = "random quadratics and logistic regression (breast_cancer), equal and unequal weights"
    return met(statement.claim, places, family)


def _least(H: Any, b: Any) -> float:
    x = np.linalg.solve(H, -b)
    return float(x @ H @ x / 2 + b @ x)


def _gamma(problem: Any, F_star: float, own: list[float]) -> Case:
    known = {"Gamma": float(start_of_clients(problem, 0.0)["Gamma"]), "F_star": F_star, "F_i_star": own}
    return Case(problem.name, {**known, "p": list(shares_of(problem)), "N": problem.M})


# ------------------------------------------------------------------------------------------- Assumptions 1 and 2


def smooth(statement: Statement, full: bool = False) -> Verdict:
    """Assumption 1, as printed or with gradients, with the certified L."""
    return met(statement.claim, problems.at_pairs("F_k", "u", "w", problems.examples(), L="L"), problems.FAMILY)


def strongly_convex(statement: Statement, full: bool = False) -> Verdict:
    """Assumption 2 with the certified mu."""
    curved = [g for g in problems.examples() if (g.constants.get("mu") or 0) > 0]
    places = problems.at_pairs("F_k", "u", "w", curved, both_ways=True, mu="mu")
    return met(statement.claim, places, ", ".join(g.name for g in curved))


# ------------------------------------------------------------------------------------------- Assumptions 3 and 4


def noisy(statement: Statement, full: bool = False, *, point: str, gradient: str) -> Verdict:
    """Assumption 3 at any point, w_t^k or x_t^k, with the certified sigma."""
    places = problems.samples(lambda problem: {"sigma": problem.constants["sigma"]})
    named = (problems.in_letters(place, "F_k", point, gradient, sigma=place.values["sigma"]) for place in places)
    return met(statement.claim, named, problems.SAMPLES)


def _reach(problem: Problem) -> dict[str, float]:
    """Bounds on stochastic gradients for ||x|| <= r: E||g||^2 <= (slope + growth r)^2 + sigma^2."""
    if isinstance(problem, Logistic):  # a sample's gradient is (expit(z) - y) a + lambda x, with |expit(z) - y| <= 1
        rows = np.linalg.norm(problem.dataset.features, axis=1)
        return {"slope": float(rows.max()), "growth": problem.regularisation, "sigma": 0.0}
    assert isinstance(problem, Quadratic)
    slope = float(np.linalg.norm(problem.b, axis=1).max())
    return {"slope": slope, "growth": float(problem.constants["L"]), "sigma": problem.sigma}


def _within_a_ball(point: str, gradient: str) -> Iterator[Case]:
    every: dict[str, list[Case]] = {}
    for place in problems.samples(_reach):
        every.setdefault(place.where.split(",")[0], []).append(place)
    for own in every.values():
        r = max(float(np.linalg.norm(place.values["x"])) for place in own)
        for place in own:
            slope, growth, sigma = (place.values[symbol] for symbol in ("slope", "growth", "sigma"))
            yield problems.in_letters(place, "F_k", point, gradient, G=float(np.hypot(slope + growth * r, sigma)))


def _everywhere(point: str, gradient: str) -> Iterator[Case]:
    """Functions with slopes of at most 1 in every coordinate, exact gradients: G = sqrt(d)."""
    losses: list[Function] = [huber(2), logcosh(2)]
    for h in losses:
        for x, _ in [*problems.points(2, 0), (np.full(2, 3.0), None)]:
            values = {"F_k": h, point: x, "G": float(np.sqrt(h.d))}
            yield Case(f"{h.name} at {x.tolist()}", values, [(1.0, {gradient: h.gradient(x)})])


def bounded(statement: Statement, full: bool = False, *, point: str, gradient: str) -> Verdict:
    """Assumption 4 where a G is certified: everywhere for losses of bounded slope, on a ball for others."""
    places = [*_everywhere(point, gradient), *_within_a_ball(point, gradient)]
    return met(
        statement.claim,
        places,
        f"huber and logcosh everywhere, with G^2 = d; on a ball ||x|| <= r, with G^2 = (slope + growth r)^2 + sigma^2 (no G "
        f"holds for all x: gradients of a strongly convex F_k are unbounded): {problems.SAMPLES}",
    )
