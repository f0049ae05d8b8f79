"""The theorem against runs: quadratics, tight and heterogeneous."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from fedanchor.algorithms import FedAnchor
from fedtheory.bounds.trials.arena import Arena, arena_evidence
from fedtheory.bounds.trials.arena_search import Candidates, quadratic, search_evidence, varied
from fedtheory.bounds.tuning import largest_step
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.theory.statement import Evidence

_problem = partial(generate, 5, 4, L=1.0, mu=0.1, zeta_star=1.0, delta=0.3, seed=0)
ARENAS = [
    Arena(
        "fedanchor.thm",
        f"K = {K}, sigma = {sigma:g}",
        partial(_problem, sigma=sigma),
        partial(FedAnchor, K=K),
        rounds=100,
        seeds=50,
    )
    for K in (1, 5)
    for sigma in (0.0, 0.5)
]


_LEAST = 0.05


def _draw(rng: np.random.Generator):
    d, m, K = int(rng.integers(1, 3)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
    return replace(quadratic(rng, d, m, _LEAST), settings={"K": K})


def _largest(bound, values, rounds):
    return largest_step(bound, "eta_tilde", values)


SEARCHED = Candidates(
    FedAnchor, _draw, lambda rng, c, width: varied(rng, c, width, _LEAST), _largest, _LEAST, 20, (10, 1)
)


def evidence() -> list[Evidence]:
    """Every bound in its arenas."""
    return [*arena_evidence(ARENAS), *search_evidence({"fedanchor.thm": SEARCHED})]
