"""Problems, algorithms and compressors by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.compressors import COMPRESSORS, Compressor
from fedtheory.simulations.problems import Problem
from fedtheory.simulations.problems.least_squares import least_squares
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.own import OfFunctions
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
from fedtheory.simulations.problems.sigmoid import SigmoidERM
from fedtheory.theory.names import unknown


def _network(**settings: Any) -> Problem:
    """A neural network as a problem (needs torch), with the settings of `fedtheory.simulations.networks.problem.Network`."""
    from fedtheory.simulations.networks.problem import Network

    return Network(**settings)


_T = TypeVar("_T")


class _ByName(dict[str, _T]):
    """What has a name; another name is an UnknownName with the nearest ones."""

    def __init__(self, what: str, entries: Mapping[str, _T]) -> None:
        super().__init__(entries)
        self.what = what

    def __missing__(self, name: object) -> NoReturn:
        raise unknown(self.what, name, list(self))


_PROBLEMS: Mapping[str, Callable[..., Problem]] = {
    "quadratic": generate,
    "quadratic, from matrices": Quadratic,
    "quadratic, one dimension": from_functions,
    "least squares": least_squares,
    "functions": OfFunctions,
    "logistic": Logistic,
    "sigmoid": SigmoidERM,
    "network": _network,
}
problems: Mapping[str, Callable[..., Problem]] = _ByName("problem", _PROBLEMS)
algorithms: Mapping[str, Callable[..., Algorithm]] = _ByName("algorithm", registry())
compressors: Mapping[str, Callable[..., Compressor]] = _ByName("compressor", COMPRESSORS)
