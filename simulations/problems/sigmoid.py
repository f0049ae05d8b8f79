"""Empirical risk minimisation with the sigmoid loss, which is not convex: (130) of the supplement of FedBCGD."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from fedtheory.simulations.constants import Certified, Constants
from fedtheory.simulations.problems import Array, in_html, in_one_line
from fedtheory.simulations.problems.logistic import Logistic, deviation_bound

_SLOPE = 1 / 4  # the largest |s'| of s(t) = 1 / (1 + exp(t)), at t = 0
_CURVATURE = 1 / (6 * np.sqrt(3))  # the largest |s''|, where s = (1 +- 1/sqrt(3)) / 2
_NOT_FOUND = "a minimum of a loss that is not convex is not known, only that F >= 0"


@dataclass(frozen=True, eq=False)
class SigmoidERM(Logistic):
    """F_m(x) = mean over client m's samples of 1 / (1 + exp(b a'x)) + (regularisation / 2) ||x||^2, b in {-1, +1}.

    Logistic regression on two classes with another loss: label 1 is b = +1, label 0 is b = -1, x (p,).

    regularisation  lambda > 0
    batch           mini-batch size, drawn with replacement; None: exact gradients
    weights         as in `Logistic`

    Raises ValueError for a data set of more than two classes, and as `Logistic` does.
    """

    kind = "sigmoid"

    __repr__, _repr_html_ = in_one_line, in_html

    def __post_init__(self) -> None:
        if self.dataset.classes != 2:
            raise ValueError(
                f"{self.dataset.name} has {self.dataset.classes} classes: expected 2, see `one_against_rest`"
            )
        super().__post_init__()

    @property
    def name(self) -> str:
        """Data set, partition, batch."""
        return super().name.replace("logistic regression", "sigmoid loss")

    def _residual(self, z: Array, targets: Array) -> Array:
        return (1 - 2 * targets) * expit(z) * expit(-z)

    def value(self, x: Array) -> Array:
        """F(x): (..., d) -> (...)."""
        _, T, w = self._pooled
        loss = expit((1 - 2 * T) * self._single_scores(x))[..., 0]
        return loss @ w[:, 0] + self.regularisation / 2 * (x**2).sum(-1)

    def _residual_along(self, z: Array, targets: Array, dz: Array) -> Array:
        s = expit((1 - 2 * targets) * z)
        return s * (1 - s) * (1 - 2 * s) * dz

    def client_values(self, x: Array) -> Array:
        """All F_m at one point (d,): (M,)."""
        s = self.shards
        loss = expit((1 - 2 * s.targets) * s.scores(x[:, None]))
        return s.means(loss[..., 0]) + self.regularisation / 2 * (x @ x)

    @property
    def client_minima(self) -> tuple[Certified, Certified]:
        """No minimiser of any F_m is known; instead of their least values, (M,), the lower bound 0."""
        return Certified(None, _NOT_FOUND), Certified(np.zeros(self.M), "a lower bound: the loss is positive")

    @cached_property
    def smoothness(self) -> float:
        """A proved smoothness constant of every client's loss, without the regularisation."""
        return float(_CURVATURE * self.shards.curvatures.max())

    @cached_property
    def constants(self) -> Constants:
        """L, curvature, sigma, zeta and G are proved bounds; F_star is a lower bound, so that A is an upper one."""
        s = self.shards
        lam = self.regularisation
        least = lam - self.smoothness
        if self.batch is None:
            sigma = Certified(0.0, "exact gradients")
        else:
            mean_square = float(s.means(s.square_norms).max())
            sigma = Certified(
                float(_SLOPE * np.sqrt(mean_square / self.batch)),
                "proved bound: a sample's loss gradient is at most 1/4 of its row norm",
            )
        # Residuals lie between 0 and -b/4.
        G = deviation_bound(s, _SLOPE, _SLOPE / 2 * (1 - 2 * s.targets), _SLOPE / 2, self.weights)
        curved = Certified(least, "proved bound: the regularisation less the smoothness constant of the losses")
        none = Certified(None, _NOT_FOUND)
        return Constants(
            {
                "L": Certified(
                    self.smoothness + lam,
                    f"proved bound: 1/(6 sqrt 3) of the largest eigenvalue of a client's A'A/n{s.precision}",
                ),
                "mu": curved
                if least > 0
                else Certified(None, f"F is not known to be convex: curvature >= {least:.6g}"),
                "mu_pl": curved if least > 0 else none,
                "curvature": curved,
                "sigma": sigma,
                "zeta_star": none,
                "beta": Certified(0.0, "chosen: zeta alone bounds the heterogeneity"),
                "zeta": G,
                "G": G,
                "F_star": Certified(0.0, "a lower bound of F, not its minimum: the loss is positive"),
                "x_star": none,
            }
        )
