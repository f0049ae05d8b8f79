"""Quadratics with kinks in the gradient: the functions on which lower bounds of local methods are attained.

On quadratics the mean of a local step is a step from the mean.  A kink breaks this: noise, or the order of the clients,
biases the next gradients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.checked import number, reals
from fedtheory.simulations.constants import Certified, Constants
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.problems import Array, in_html, in_one_line
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.simulations.problems.wrapped import Wrapped


@dataclass(frozen=True, eq=False)
class Kinked(Wrapped):
    """F_m(x) = the quadratic's F_m(x) + (curvature / 2) sum_j min(0, a_j'x)^2, the same kinks for all clients.

    directions  (J, d), the a_j
    curvature   >= 0

    The quadratic's noise and weights are those of the problem.  Raises ValueError for directions of another shape, or
    where the quadratic has no minimiser with all a_j'x >= 0: there it is a minimiser of F, with the same value.
    """

    plain: Quadratic
    directions: Array
    curvature: float

    __repr__, _repr_html_ = in_one_line, in_html

    def __post_init__(self) -> None:
        a = reals("directions", self.directions)
        if a.ndim != 2 or a.shape[1] != self.d:
            raise ValueError(f"directions of shape {a.shape}: expected (J, {self.d})")
        object.__setattr__(self, "directions", a)
        number("curvature", self.curvature, ">= 0")
        x_star = self.plain.constants.get("x_star")
        if x_star is None or (a @ x_star < -1e-12 * np.abs(a).max(initial=0.0) * np.abs(x_star).max(initial=0.0)).any():
            raise ValueError(f"{self.plain.name}: expected a minimiser x_star with all a_j'x_star >= 0")

    @property
    def name(self) -> str:
        """The quadratic's name, and the number of kinks."""
        return f"{self.plain.name}, {len(self.directions)} kinks of curvature {self.curvature:g}"

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The quadratic's, with the kinks."""
        kinks = {"directions": self.directions.tolist(), "kink_curvature": float(self.curvature)}
        return {**self.plain.provenance, "problem": "kinked", "name": self.name, **kinks}

    def _below(self, x: Array) -> Array:
        """min(0, a_j'x): (..., d) -> (..., J)."""
        return np.minimum(x @ self.directions.T, 0.0)

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """grad F_m at x + noise: x (E, N, *clients, d), client (N or 1, *clients) -> the shape of x."""
        return self.plain.gradient(x, client, draw) + self.curvature * self._below(x) @ self.directions

    def local_gradient(self, x: Array, client: NDArray[np.int64]) -> Array:
        """grad F_m at x without noise: x (E, N, *clients, d), client (N or 1, *clients) -> the shape of x."""
        return self.plain.local_gradient(x, client) + self.curvature * self._below(x) @ self.directions

    def value(self, x: Array) -> Array:
        """F(x): (..., d) -> (...)."""
        return self.plain.value(x) + self.curvature / 2 * (self._below(x) ** 2).sum(-1)

    def full_gradient(self, x: Array) -> Array:
        """Gradient of F: (..., d) -> (..., d)."""
        return self.plain.full_gradient(x) + self.curvature * self._below(x) @ self.directions

    @cached_property
    def constants(self) -> Constants:
        """Those of the quadratic, with a larger L; the clients differ as there, because they share the kinks."""
        own, G = dict(self.plain.constants.entries), self.plain.heterogeneity(0.0)
        largest = float(np.linalg.eigvalsh(self.directions.T @ self.directions)[-1]) if self.directions.size else 0.0
        L = own["L"].value + self.curvature * largest
        lower = "that of the quadratic, a lower bound: kinks add curvature"
        own |= {
            "L": Certified(L, "that of the quadratic plus the largest of the kinks, an upper bound"),
            "beta": Certified(*((0.0, G[0].how) if G[1].value is not None else (None, G[1].how))),
            "zeta": G[1],
        }
        own |= {name: Certified(own[name].value, lower) for name in ("mu", "mu_pl", "curvature") if own[name].value}
        return Constants(own)
