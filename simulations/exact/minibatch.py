"""The exact expectation of SGD without local steps: its runs have the law of runs of `PFL` or `SFL` with K = 1.

A round of `MinibatchSGD` is one of PFL with noise of variance sigma^2/K; a step of `CentralSGD` is a round of SFL with one
client, and a round is K of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import xarray as xr

from simulations.algorithms.base import Algorithm
from simulations.algorithms.minibatch import CentralSGD, MinibatchSGD
from simulations.algorithms.sfl import PFL, SFL
from simulations.engine import provenance, requested
from simulations.exact import moments
from simulations.problems import Problem
from simulations.problems.quadratic import Quadratic


def why_not(problem: Problem, algorithm: Algorithm, rounds: int) -> str | None:
    """Why there is no recursion: a problem that is no Quadratic, or weighs its clients."""
    if problem.weights is not None:
        return f"{problem.name} weighs its clients: expected no weights"
    return moments.why_not(problem, PFL(1, algorithm.eta), rounds)


def expectation(problem: Quadratic, algorithm: MinibatchSGD | CentralSGD, **settings: Any) -> xr.Dataset:
    """The expectation of what `run` records; see `moments.expectation`.

    Raises ValueError also for `CentralSGD` with K > 1 where the drift or the average of the rounds' models is recorded.
    """
    why = why_not(problem, algorithm, settings.get("rounds", 1))
    if why is not None:
        raise ValueError(why)
    if isinstance(algorithm, MinibatchSGD):
        S = algorithm.participants(problem)
        less_noise = replace(problem, sigma=problem.sigma / algorithm.K**0.5)
        return moments.expectation(less_noise, PFL(1, algorithm.eta, S), **settings)
    step = SFL(1, algorithm.eta, S=1)
    if algorithm.K == 1:
        return moments.expectation(problem, step, **settings)
    if refused := {"drift", "gap_average"} & set(settings.get("record", ())):
        raise ValueError(f"{', '.join(sorted(refused))} of SGD with K = {algorithm.K}: expected K = 1")
    given: dict[str, Any] = {"x0": 0.0, "record": ("value",), "at": None, "average": 1.0} | settings
    asked = requested(problem, algorithm, **given)
    steps = settings | {"rounds": algorithm.K * given["rounds"], "at": algorithm.K * asked.kept}
    found = moments.expectation(problem, step, **steps).assign_coords(round=asked.kept)
    found["diverged_at"] = -(-found["diverged_at"] // algorithm.K).where(found["diverged_at"] >= 0, 1)
    return found.assign_attrs(provenance(problem, algorithm, given["rounds"], asked))
