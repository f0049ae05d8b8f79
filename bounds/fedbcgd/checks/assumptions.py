"""Assumptions 1 to 5, and the corrected ones: an assumption is no claim; the check is that it can be met.

The test problems meet it with their certified constants, and with no smaller constant, as for the other papers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from fedtheory.bounds.fedbcgd.checks.listings import each
from fedtheory.bounds.trials.cases import Case, met
from fedtheory.bounds.trials.problems import (
    FAMILY,
    SAMPLES,
    Example,
    ValueAndGradient,
    examples,
    logistic,
    points,
    quadratic_example,
    samples,
)
from fedtheory.simulations import data, partitions
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.logistic import Logistic, lightly_regularised
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.simulations.problems.sigmoid import SigmoidERM
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Relations, Statement, Verdict


@cache
def sigmoid() -> SigmoidERM:
    """The sigmoid loss on breast_cancer, ten clients with one class each, one sample per step."""
    dataset = data.scaled(data.load("breast_cancer"))
    partition = partitions.exdir(dataset.labels, 10, 1, 10.0, seed=0)
    return lightly_regularised(SigmoidERM, dataset, partition, batch=1)


# ------------------------------------------------------------------------------------------- Assumptions 1, 2 and 4


def _pairs(chosen: Callable[[Example], bool]) -> Iterator[tuple[Example, int, Any, Array, Array]]:
    """(test problem, client's number, client, two points), in both orders."""
    for g in examples():
        if chosen(g):
            for i, client in enumerate(g.clients, 1):
                for one, two in g.pairs:
                    yield g, i, client, one, two
                    yield g, i, client, two, one


def strongly_convex(statement: Statement, full: bool = False) -> Verdict:
    """(1) with the certified mu of convex clients, including mu = 0."""
    places = (
        Case(f"{g.name}, client {i}", {"f_i": client, "x": x, "y": y, "mu": float(g.constants["curvature"])})
        for g, i, client, x, y in _pairs(lambda g: g.constants["curvature"] >= 0)
    )
    return met(statement.claim_of(Relations), places, f"the convex ones of {FAMILY}")


def smooth(statement: Statement, full: bool = False) -> Verdict:
    """(2) of f, or of every f_i, with the certified smoothness constant of the clients."""
    places = (
        Case(f"{g.name}, client {i}", {"f": g.F, "f_i": client, "x1": x1, "x2": x2, "beta": float(g.constants["L"])})
        for g, i, client, x1, x2 in _pairs(lambda g: True)
    )
    return met(statement.claim_of(Relations), places, FAMILY)


@dataclass(frozen=True)
class Deviating:
    """Clients with a certified bound G on the deviations of their gradients from the mean."""

    name: str
    f: ValueAndGradient
    clients: Sequence[ValueAndGradient]
    G: float
    points: Sequence[Array]


@cache
def _deviating() -> tuple[Deviating, ...]:
    """Quadratics with a common Hessian, which attain G everywhere; logistic regression and sigmoid loss, far and near."""
    found = []
    for seed, zeta in enumerate((1.0, 0.3)):
        quadratic = generate(4, 4, L=1.0, mu=0.1, zeta_star=zeta, seed=seed)
        example = quadratic_example(quadratic, seed)
        where = [x for x, _ in example.pairs[:6]]
        found.append(Deviating(quadratic.name, example.F, example.clients, float(quadratic.constants["G"]), where))
    for problem in (logistic(), sigmoid()):
        mean = ValueAndGradient(lambda _: 0.0, problem.full_gradient)
        own = [ValueAndGradient(lambda _: 0.0, partial(_client_gradient, problem, m)) for m in range(problem.M)]
        where = [x for x, _ in points(problem.d, 1, 2)]
        found.append(Deviating(problem.name, mean, own, float(problem.constants["G"]), where))
    return tuple(found)


def _client_gradient(problem: Logistic, m: int, x: Array) -> Array:
    gradient: Array = problem.client_gradients(x)[m]
    return gradient


def alike(statement: Statement, full: bool = False) -> Verdict:
    """(5) with the certified G: attained if all clients have the same Hessian."""
    f_i = catalogue.paper("fedbcgd").symbols["f_i"].sympy
    claim = replace(
        statement.claim_of(Relations), relations=tuple(each(r, f_i) for r in statement.claim_of(Relations).relations)
    )
    places = (
        Case(g.name, {"f": g.f, "f_i": list(g.clients), "M": len(g.clients), "G": g.G, "x": x})
        for g in _deviating()
        for x in g.points
    )
    return met(
        claim, places, "quadratics with a common Hessian, logistic regression and the sigmoid loss on breast_cancer"
    )


# ------------------------------------------------------------------------------------------------ Assumptions 3, 5


def unbiased(statement: Statement, full: bool = False) -> Verdict:
    """(3) and (4) with the certified sigma, all mini-batches enumerated."""
    places = []
    for place in samples(lambda problem: {"sigma": float(problem.constants["sigma"])}):
        law = [(p, {"f_iz": drawn["f_m"]}) for p, drawn in place.law]
        places.append(Case(place.where, {n if n != "F_m" else "f_i": v for n, v in place.values.items()}, law))
    return met(statement.claim_of(Relations), places, SAMPLES)


@dataclass(frozen=True)
class BatchFunction:
    """A function on a mini-batch, with its smoothness constant, and pairs of points."""

    name: str
    function: ValueAndGradient
    beta: float
    pairs: Sequence[tuple[Array, Array]]


def _batches(loss: type[Logistic]) -> Iterator[BatchFunction]:
    """Single samples: the curvature along a sample a is at most the loss's largest curvature times ||a||^2."""
    whole = sigmoid() if loss is SigmoidERM else logistic()
    for rows in whole.partition.clients[:3]:
        for row in rows[:3]:
            chosen = np.array([row])
            own = replace(whole.dataset, features=whole.dataset.features[chosen], labels=whole.dataset.labels[chosen])
            alone = loss(own, partitions.iid(own.labels, 1, 0), whole.regularisation)
            function = ValueAndGradient(lambda x, alone=alone: float(alone.value(x)), alone.full_gradient)  # type: ignore[misc]
            a = own.features[0] / np.linalg.norm(own.features[0])
            along = [(s * a + 1e-3 * a, s * a - 1e-3 * a) for s in np.linspace(-1.0, 1.0, 9)]
            yield BatchFunction(
                f"{alone.name}, sample {row}", function, float(alone.constants["L"]), [*points(alone.d, 0, 1), *along]
            )


@cache
def _single(convex: bool) -> tuple[BatchFunction, ...]:
    """Mini-batches: quadratics with additive noise, samples of logistic regression, and of the sigmoid unless `convex`."""
    found = []
    for g in examples():
        if len(g.clients) > 1 and g.name.startswith("quadratics") and (g.constants["curvature"] >= 0 or not convex):
            for i, client in enumerate(g.clients, 1):
                noisy = ValueAndGradient(client.value, lambda x, client=client: client.gradient(x) + 0.5)  # type: ignore[misc]
                found.append(
                    BatchFunction(f"{g.name}, client {i}, with noise", noisy, float(g.constants["L"]), g.pairs)
                )
    found += _batches(Logistic)
    return tuple(found if convex else [*found, *_batches(SigmoidERM)])


def smooth_batches(statement: Statement, full: bool = False, *, symbol: str, convex: bool) -> Verdict:
    """(6) for every mini-batch; and convexity, which the corrected form adds, for the convex mini-batches."""
    places = (
        Case(batch.name, _of(symbol, batch, x1, x2)) for batch in _single(convex) for x1, x2 in batch.pairs
    )  # fmt: skip
    kinds = "quadratics with additive noise, logistic regression by single samples"
    return met(
        statement.claim_of(Relations), places, kinds if convex else f"{kinds}, the sigmoid loss by single samples"
    )


def _of(symbol: str, batch: BatchFunction, x1: Array, x2: Array) -> Mapping[str, Any]:
    return {symbol: batch.function, "x1": x1, "x2": x2, "beta": batch.beta}
