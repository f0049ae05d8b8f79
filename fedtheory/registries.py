"""Problems, algorithms and compressors by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simulations.algorithms import registry
from simulations.algorithms.base import Algorithm
from simulations.compressors import COMPRESSORS, Compressor
from simulations.problems import Problem
from simulations.problems.least_squares import least_squares
from simulations.problems.logistic import Logistic
from simulations.problems.own import OfFunctions
from simulations.problems.quadratic import Quadratic, from_functions, generate
from simulations.problems.sigmoid import SigmoidERM
from theory.names import unknown


class Named(dict[str, Any]):
    """Builders by name.  An unknown name raises UnknownName, with the nearest known ones."""

    def __init__(self, what: str, builders: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(builders)
        self._what = what

    def __missing__(self, name: object) -> Any:
        raise unknown(self._what, name, list(self))


def _network(**settings: Any) -> Problem:
    """A neural network as a problem (needs torch), with the settings of `simulations.networks.problem.Network`."""
    from simulations.networks.problem import Network

    return Network(**settings)


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
problems: Mapping[str, Callable[..., Problem]] = Named("problem", _PROBLEMS)
algorithms: Mapping[str, Callable[..., Algorithm]] = Named("algorithm", registry())
compressors: Mapping[str, Callable[..., Compressor]] = Named("compressor", COMPRESSORS)

__all__ = ["algorithms", "compressors", "problems"]
