"""Problems with certified constants: what an algorithm sees of the world.

An algorithm needs `gradient(x, client, draw)` only.  The engine measures with `value`, `full_gradient` and the
certified `constants`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulations.constants import Certified, Constants
from simulations.draws import Draw

Array = NDArray[np.float64]


class Problem(Protocol):
    """F(x) = (1/M) sum_m F_m(x) over R^d."""

    @property
    def name(self) -> str:
        """What it is, readable, with its parameters."""

    @property
    def M(self) -> int:
        """Number of clients."""

    @property
    def d(self) -> int:
        """Number of coordinates."""

    @property
    def blocks(self) -> Mapping[str, slice]:
        """Named slices of the d coordinates (layers)."""

    @property
    def constants(self) -> Constants:
        """L, mu, sigma, zeta_star, beta, zeta, F_star, x_star, each with how it is known."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """All that is needed to build it again (JSON-able)."""

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """Stochastic gradients of F_client at x: x (E, N, *clients, d), client (N or 1, *clients)."""

    def value(self, x: Array) -> Array:
        """F(x): (..., d) -> (...)."""

    def full_gradient(self, x: Array) -> Array:
        """Gradient of F at x, exact: (..., d) -> (..., d)."""


def start(problem: Problem, x0: ArrayLike) -> Constants:
    """The constants of the starting point x0, (d,) or a number: D = ||x0 - x_star|| and A = F(x0) - F_star.

    Raises NoSuchConstant on access when F has no minimiser or no lower bound.
    """
    entries = problem.constants.entries
    x_star, F_star = entries["x_star"], entries["F_star"]
    x0 = np.broadcast_to(np.asarray(x0, dtype=float), (problem.d,))
    return Constants(
        {
            "D": Certified(
                None if x_star.value is None else float(np.linalg.norm(x0 - x_star.value)),
                f"||x0 - x_star||; x_star: {x_star.how}",
            ),
            "A": Certified(
                None if F_star.value is None else float(problem.value(x0) - F_star.value),
                f"F(x0) - F_star; F_star: {F_star.how}",
            ),
        }
    )
