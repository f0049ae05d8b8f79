"""Convex functions of one coordinate whose curvature jumps: Huber functions, one-sided parabolas, and what lies between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.checked import brief, reals
from fedtheory.simulations.constants import Certified, Constants
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.problems import Array, in_html, in_one_line, settings_of


@dataclass(frozen=True, eq=False)
class Piecewise:
    """F_m with F_m(0) = 0, F_m'(0) = slopes[m], and F_m'' = curvatures[m, j] between the knots j - 1 and j of client m.

    knots       (M, J), increasing
    curvatures  (M, J + 1), >= 0, not all zero
    slopes      (M,)

    Gradients are exact, clients have equal weights.  Raises ValueError for arrays that do not fit.
    """

    knots: Array
    curvatures: Array
    slopes: Array

    __repr__, _repr_html_ = in_one_line, in_html

    def __post_init__(self) -> None:
        k, h, s = (reals(name, getattr(self, name)) for name in ("knots", "curvatures", "slopes"))
        if k.ndim != 2 or not len(k) or h.shape != (len(k), k.shape[1] + 1) or s.shape != (len(k),):
            raise ValueError(
                f"knots {k.shape}, curvatures {h.shape}, slopes {s.shape}: expected (M, J), (M, J + 1) and (M,), M >= 1"
            )
        if (np.diff(k) < 0).any():
            raise ValueError(f"knots = {brief(k.tolist())}: expected increasing ones for each client")
        if (h < 0).any() or not h.any():
            raise ValueError(f"curvatures = {brief(h.tolist())}: expected numbers >= 0, not all 0")
        for name, values in (("knots", k), ("curvatures", h), ("slopes", s)):
            object.__setattr__(self, name, values)

    @property
    def name(self) -> str:
        """Each client's curvatures, knots and slope at 0."""
        clients: dict[str, int] = {}
        for k, h, s in zip(self.knots, self.curvatures, self.slopes, strict=True):
            told = f"curvature {', '.join(f'{v:g}' for v in h)} with knots {', '.join(f'{v:g}' for v in k)}"
            told += f" and slope {s:g} at 0" if s else ""
            clients[told] = clients.get(told, 0) + 1
        return "; ".join(one if times == 1 else f"{times} times {one}" for one, times in clients.items())

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.knots)

    @property
    def d(self) -> int:
        """Number of coordinates: 1."""
        return 1

    @property
    def weights(self) -> None:
        """None: all clients have equal weight."""
        return None

    @property
    def blocks(self) -> Mapping[str, slice]:
        """One block: the coordinate."""
        return {"x": slice(0, 1)}

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Knots, curvatures, slopes."""
        return settings_of(self, "piecewise")

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """Where each piece begins and ends: (M, J + 1) twice."""
        far = np.full((self.M, 1), np.inf)
        return np.concatenate([-far, self.knots], axis=1), np.concatenate([self.knots, far], axis=1)

    def _slope(self, x: Array, client: NDArray[np.int64]) -> Array:
        """F_client'(x), x (..., 1) and client broadcast to (...): (..., 1)."""
        low, high = (ends[client] for ends in self._ends)
        inside = np.clip(x, low, high) - np.clip(0.0, low, high)  # the part of each piece between 0 and x
        return (self.slopes[client] + (self.curvatures[client] * inside).sum(-1))[..., None]

    def _values(self, x: Array) -> Array:
        """All F_m: (..., 1) -> (..., M)."""
        low, high = self._ends
        z = x[..., None]
        moved, start = np.clip(z, low, high), np.clip(0.0, low, high)
        # a piece adds h (inside) to the slope, and to the value what the slope adds up to on the way from 0 to x
        across = (moved - start) * (z - (moved + start) / 2)
        return np.asarray(self.slopes * x + (self.curvatures * across).sum(-1))

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """F_m'(x): x (E, N, *clients, 1), client (N or 1, *clients) -> the shape of x."""
        return self.local_gradient(x, client)

    def local_gradient(self, x: Array, client: NDArray[np.int64]) -> Array:
        """The same as `gradient`: there is no noise."""
        return self._slope(x, client)

    def value(self, x: Array) -> Array:
        """F(x): (..., 1) -> (...)."""
        return np.asarray(self._values(x).mean(-1))

    def full_gradient(self, x: Array) -> Array:
        """Gradient of F: (..., 1) -> (..., 1)."""
        return np.asarray(self.client_slopes(x).mean(-1, keepdims=True))

    def client_slopes(self, x: Array) -> Array:
        """All F_m'(x): (..., 1) -> (..., M)."""
        return self._slope(x[..., None], np.arange(self.M))[..., 0]

    @cached_property
    def constants(self) -> Constants:
        """Closed forms; the minimiser is a root of F', which is linear between knots."""
        h, least = self.curvatures, float(self.curvatures.min())
        root = self._root()
        how = "closed form" if root is not None else "F' has no root"
        x_star = Certified(None if root is None else np.array([root]), how)
        alike = all(np.ptp(h[:, j]) == 0 for j in (0, -1))
        slopes = self.client_slopes(self._corners[:, None])
        apart = float(np.sqrt(slopes.var(-1).max(initial=0.0))) if alike else None
        zeta = Certified(apart, "largest at a knot" if alike else "clients with different curvature far away")
        curved = Certified(least, "the smallest curvature of a client")
        return Constants(
            {
                "L": Certified(float(h.max()), "the largest curvature of a client"),
                "mu": curved,
                "mu_pl": curved if least > 0 else Certified(None, "F is not strongly convex"),
                "curvature": curved,
                "sigma": Certified(0.0, "exact gradients"),
                "zeta_star": x_star.then(lambda x: float(np.sqrt((self.client_slopes(x) ** 2).mean())), how),
                "beta": Certified(0.0, "chosen: zeta alone bounds the heterogeneity"),
                "zeta": zeta,
                "G": zeta,
                "F_star": x_star.then(lambda x: float(self.value(x)), how),
                "x_star": x_star,
            }
        )

    @cached_property
    def _corners(self) -> Array:
        """Where any curvature jumps, in order; 0 if nowhere."""
        return np.unique(self.knots) if self.knots.size else np.zeros(1)

    def _root(self) -> float | None:
        """A root of F', which increases; None where it has none."""
        knots, slopes = self._corners, self.full_gradient(self._corners[:, None])[:, 0]
        if (slopes == 0).any():
            return float(knots[(slopes == 0).argmax()])
        at = int((slopes < 0).sum())  # the root is between the knots at - 1 and at
        if 0 < at < len(knots):
            (a, b), (low, high) = slopes[at - 1 : at + 1], knots[at - 1 : at + 1]
            return float(low - a * (high - low) / (b - a))
        outer = float(self.curvatures[:, 0 if at == 0 else -1].mean())
        end = 0 if at == 0 else -1
        return float(knots[end] - slopes[end] / outer) if outer else None
