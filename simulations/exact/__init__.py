"""Exact expectations of whole runs: the algorithm's `exact` names the module that computes them.

The module, such as "exact.moments" of `simulations`, has two functions:

    why_not(problem, algorithm, rounds)            why there is no exact expectation; None if there is one
    expectation(problem, algorithm, **settings)    the expectation of what `run` records, see `moments.expectation`
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import xarray as xr

from simulations.algorithms.base import Algorithm, check_algorithm
from simulations.checked import brief, listed, whole
from simulations.problems import Problem, check_problem


def _recursion(algorithm: Algorithm) -> ModuleType | None:
    name = getattr(algorithm, "exact", None)
    return importlib.import_module(f"simulations.{name}") if name else None


def expectation(problem: Problem, algorithm: Algorithm, **settings: Any) -> xr.Dataset:
    """The expectation of what `run` records, over all randomness, exact up to rounding.

    settings  the settings of `run` without seeds and orders: rounds, x0, record, at, average

    Returns a Dataset over (step_size, round), see `moments.expectation`.  Raises ValueError for an algorithm that names
    no module, and the errors of the named module's `expectation`.
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
    recursion = _recursion(algorithm)
    if recursion is None:
        raise ValueError(f"{type(algorithm).__name__} has no exact expectation: expected an algorithm that names one")
    found: xr.Dataset = recursion.expectation(problem, algorithm, **settings)
    return found


def has_expectation(problem: Problem, algorithm: Algorithm, rounds: int) -> bool:
    """Whether `expectation` is possible for this number of rounds."""
    recursion = _recursion(algorithm)
    return recursion is not None and recursion.why_not(problem, algorithm, rounds) is None


__all__ = ["expectation", "has_expectation"]
