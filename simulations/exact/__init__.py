"""Exact expectations of whole runs on quadratics, whatever the algorithm: one door to `moments`, `tracking`,
`block_moments` and `enumerated`."""

from __future__ import annotations

from typing import Any

import xarray as xr

from simulations.algorithms.base import Algorithm
from simulations.algorithms.fedbat import FedBAT
from simulations.algorithms.fedbcgd import FedAvgM, FedBCGD, FedBCGDPlus
from simulations.algorithms.sfl import PFL, SFL
from simulations.exact import block_moments, enumerated, moments, tracking
from simulations.problems import Problem
from simulations.problems.quadratic import Quadratic
from simulations.problems.regularised import Regularised


def expectation(
    problem: Quadratic | Regularised,
    algorithm: SFL | PFL | FedBAT | tracking.Tracking | block_moments.BlockAlgorithm,
    **settings: Any,
) -> xr.Dataset:
    """What `run` would record, in expectation over everything random, exactly up to rounding.

    settings  those of `run`, without seeds and orders: rounds, x0, record, at, average

    Returns a Dataset over (step_size, round), see `moments.expectation`; raises as that, as `tracking.expectation`,
    `block_moments.expectation`, or `enumerated.expectation`.
    """
    if isinstance(algorithm, FedBAT | SFL | PFL | FedBCGD | FedBCGDPlus | FedAvgM):
        if isinstance(problem, Regularised):
            raise ValueError(f"{type(algorithm).__name__} on {problem.name}: expected it without the penalty")
        if isinstance(algorithm, FedBAT):
            return enumerated.expectation(problem, algorithm, **settings)
        if isinstance(algorithm, SFL | PFL):
            return moments.expectation(problem, algorithm, **settings)
        return block_moments.expectation(problem, algorithm, **settings)
    return tracking.expectation(problem, algorithm, **settings)


def has_expectation(problem: Problem, algorithm: Algorithm, rounds: int) -> bool:
    """Whether an arena goes by `expectation`: on quadratics, FedBAT on those where all outcomes can be gone through.

    Not for an algorithm of somebody else's, whose moments are not known here.
    """
    if isinstance(algorithm, FedBAT):
        return enumerated.why_not(problem, algorithm, rounds) is None
    known = isinstance(algorithm, SFL | PFL | tracking.Tracking | block_moments.BlockAlgorithm)
    return isinstance(problem, Quadratic) and known
