"""A problem with a quadratic penalty that algorithms see and measurements leave out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.checked import number
from fedtheory.simulations.constants import Constants
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.problems import Array, in_html, in_one_line
from fedtheory.simulations.problems.wrapped import Wrapped


@dataclass(frozen=True, eq=False)
class Regularised(Wrapped):
    """Clients step on F_m(x) + (phi/2) ||x||^2; values, full gradients and constants are those of F.

    Raises ValueError for a phi that is no finite number >= 0.
    """

    phi: float

    __repr__, _repr_html_ = in_one_line, in_html

    def __post_init__(self) -> None:
        number("phi", self.phi, ">= 0")

    @property
    def name(self) -> str:
        """The problem's name, and phi."""
        return f"{self.plain.name}, regularised by {self.phi:g}"

    @property
    def constants(self) -> Constants:
        """The constants of F, without the penalty."""
        return self.plain.constants

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The problem's provenance, and phi."""
        return {"problem": "regularised", "phi": float(self.phi), "plain": self.plain.provenance}

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """Stochastic gradients of F_m, plus phi x: x (E, N, *clients, d), client (N or 1, *clients)."""
        return self.plain.gradient(x, client, draw) + self.phi * x

    def value(self, x: Array) -> Array:
        """F(x), without the penalty: (..., d) -> (...)."""
        return self.plain.value(x)

    def full_gradient(self, x: Array) -> Array:
        """Gradient of F, without the penalty: (..., d) -> (..., d)."""
        return self.plain.full_gradient(x)
