"""Exact expectations of whole runs, by `exact.linear`, or by the module that the algorithm's `exact` names.

The module, such as "exact.moments" of `simulations`, has two functions:

    why_not(problem, algorithm, rounds)            why there is no exact expectation; None if there is one
    expectation(problem, algorithm, **settings)    the expectation of what `run` records, see `moments.expectation`
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import xarray as xr

from fedtheory.simulations.algorithms.base import Algorithm, check_algorithm
from fedtheory.simulations.checked import brief, listed, whole
from fedtheory.simulations.problems import Problem, check_problem


def _recursion(algorithm: Algorithm) -> ModuleType:
    return importlib.import_module(f"fedtheory.simulations.{getattr(algorithm, 'exact', 'exact.linear')}")


def expectation(problem: Problem, algorithm: Algorithm, **settings: Any) -> xr.Dataset:
    """The expectation of what `run` records, over all randomness, exact up to rounding.

    settings  the settings of `run` without seeds and orders: rounds, x0, record, at, average

    Returns a Dataset over (step_size, round), see `moments.expectation`.  Raises the errors of the module's `expectation`.
    """
    check_problem(problem)
    check_algorithm(algorithm)
    if "record" in settings:
        record = listed("record", settings["record"], "a list of names, such as gap")
        if not all(isinstance(name, str) for name in record):
            raise ValueError(f"record = {brief(record)}: expected a list of names, such as gap")
        settings["record"] = tuple(record)
    if "rounds" in settings:
        settings["rounds"] = whole("rounds", settings["rounds"])
    found: xr.Dataset = _recursion(algorithm).expectation(problem, algorithm, **settings)
    return found


def has_expectation(problem: Problem, algorithm: Algorithm, rounds: int) -> bool:
    """Whether `expectation` is possible for this number of rounds."""
    return _recursion(algorithm).why_not(problem, algorithm, rounds) is None


__all__ = ["expectation", "has_expectation"]
