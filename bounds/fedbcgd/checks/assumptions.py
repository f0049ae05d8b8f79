"""Assumptions 1 to 5, and the corrected ones: an assumption is no claim; the check is that it can be met.

The test problems meet it with their certified constants, and with no smaller constant, as for the other papers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np

from fedtheory.bounds.fedbcgd.checks.listings import each
from fedtheory.bounds.trials import problems
from fedtheory.bounds.trials.cases import Case, met
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


def strongly_convex(statement: Statement, full: bool = False) -> Verdict:
    """(1) with the certified mu of convex clients, including mu = 0."""
    places = problems.at_pairs("f_i", "x", "y", problems.convex_examples(), both_ways=True, mu="curvature")
    return met(statement.claim, places, problems.CONVEX)


def smooth(statement: Statement, full: bool = False) -> Verdict:
    """(2) of f, or of every f_i, with the certified smoothness constant of the clients."""
    places = (
        replace(place, values={**place.values, "f": g.F})
        for g in problems.examples()
        for place in problems.at_pairs("f_i", "x1", "x2", [g], both_ways=True, beta="L")
    )
    return met(statement.claim, places, problems.FAMILY)


@cache
def _deviating() -> tuple[problems.Example, ...]:
    """Quadratics with a common Hessian, which attain G everywhere; logistic regression and sigmoid loss, far and near."""
    found = []
    for seed, zeta in enumerate((1.0, 0.3)):
        example = problems.quadratic_example(generate(4, 4, L=1.0, mu=0.1, zeta_star=zeta, seed=seed), seed)
        found.append(replace(example, pairs=example.pairs[:6]))
    for problem in (problems.logistic(), sigmoid()):
        mean = problems.ValueAndGradient(lambda _: 0.0, problem.full_gradient)
        own = [
            problems.ValueAndGradient(lambda _: 0.0, partial(_client_gradient, problem, m)) for m in range(problem.M)
        ]
        found.append(problems.Example(problem.name, problem.constants, mean, own, problems.points(problem.d, 1, 2)))
    return tuple(found)


def _client_gradient(problem: Logistic, m: int, x: Array) -> Array:
    gradient: Array = problem.client_gradients(x)[m]
    return gradient


def alike(statement: Statement, full: bool = False) -> Verdict:
    """(5) with the certified G: attained if all clients have the same Hessian."""
    f_i = catalogue.paper("fedbcgd").symbols["f_i"].sympy
    claim = Relations(tuple(each(r, f_i) for r in statement.claim_of(Relations).relations))
    places = (
        Case(g.name, {"f": g.F, "f_i": list(g.clients), "M": len(g.clients), "G": float(g.constants["G"]), "x": x})
        for g in _deviating()
        for x, _ in g.pairs
    )
    family = "quadratics with a common Hessian, logistic regression and the sigmoid loss on breast_cancer"
    return met(claim, places, family)


# ------------------------------------------------------------------------------------------------ Assumptions 3, 5


def unbiased(statement: Statement, full: bool = False) -> Verdict:
    """(3) and (4) with the certified sigma, all mini-batches enumerated."""
    places = []
    for place in problems.samples(lambda problem: {"sigma": float(problem.constants["sigma"])}):
        law = [(p, {"f_iz": drawn["f_m"]}) for p, drawn in place.law]
        places.append(Case(place.where, {n if n != "F_m" else "f_i": v for n, v in place.values.items()}, law))
    return met(statement.claim, places, problems.SAMPLES)


def _batches(loss: type[Logistic]) -> Iterator[problems.Example]:
    """Single samples: the curvature along a sample a is at most the loss's largest curvature times ||a||^2."""
    whole = sigmoid() if loss is SigmoidERM else problems.logistic()
    for row in (row for rows in whole.partition.clients[:3] for row in rows[:3]):
        one = problems.alone(whole, np.array([row]))
        (a,) = one.dataset.features / np.linalg.norm(one.dataset.features[0])
        pairs = [
            *problems.points(one.d, 0, 1),
            *((s * a + 1e-3 * a, s * a - 1e-3 * a) for s in np.linspace(-1.0, 1.0, 9)),
        ]
        yield problems.Example(f"{one.name}, sample {row}", one.constants, problems.objective(one), (), pairs)


@cache
def _single(convex: bool) -> tuple[problems.Example, ...]:
    """Mini-batches: quadratics with additive noise, samples of logistic regression, and of the sigmoid unless `convex`."""
    found = []
    for g in problems.examples():
        if len(g.clients) > 1 and g.name.startswith("quadratics") and (g.constants["curvature"] >= 0 or not convex):
            for i, client in enumerate(g.clients, 1):
                noisy = problems.ValueAndGradient(client.value, lambda x, client=client: client.gradient(x) + 0.5)  # type: ignore[misc]
                name = f"{g.name}, client {i}, with noise"
                found.append(problems.Example(name, g.constants, noisy, (), g.pairs))
    found += _batches(Logistic)
    return tuple(found if convex else [*found, *_batches(SigmoidERM)])


def smooth_batches(statement: Statement, full: bool = False, *, symbol: str, convex: bool) -> Verdict:
    """(6) for every mini-batch; and convexity, which the corrected form adds, for the convex mini-batches."""
    places = (
        Case(batch.name, {symbol: batch.F, "x1": x1, "x2": x2, "beta": float(batch.constants["L"])})
        for batch in _single(convex)
        for x1, x2 in batch.pairs
    )
    kinds = "quadratics with additive noise, logistic regression by single samples"
    return met(statement.claim, places, kinds if convex else f"{kinds}, the sigmoid loss by single samples")
