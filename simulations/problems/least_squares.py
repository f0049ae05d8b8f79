"""Least squares on a data set dealt out to clients: quadratics, so every constant is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fedtheory.simulations.checked import affordable, brief, number, reals
from fedtheory.simulations.partitions import Partition
from fedtheory.simulations.problems.logistic import weights_of
from fedtheory.simulations.problems.quadratic import Quadratic


def least_squares(
    features: ArrayLike,
    targets: ArrayLike,
    partition: Partition,
    regularisation: float = 0.0,
    weights: Any = None,
    name: str = "least squares",
) -> Quadratic:
    """F_m(x) = mean over client m's samples of (a'x - y)^2 / 2, less its value at 0, + (regularisation / 2) ||x||^2.

    features  (n, p), targets (n,)
    weights   as in `Logistic`

    Gradients are exact: mini-batches have no noise of constant variance.  Raises ValueError for arrays that do not fit, a
    partition of another number of samples, a negative regularisation, or Hessians that take too much memory.
    """
    A, y = reals("features", features), reals("targets", targets)
    if A.ndim != 2 or not A.size or y.shape != A.shape[:1]:
        raise ValueError(f"features {A.shape} and targets {y.shape}: expected (n, p) and (n,), n >= 1, p >= 1")
    ridge = number("regularisation", regularisation, ">= 0")
    sizes = np.array([len(rows) for rows in partition.clients])
    if sizes.sum() != len(y) or not sizes.all():
        raise ValueError(
            f"{partition.method} deals {brief(sizes.tolist())} samples out: expected all {len(y)}, none without"
        )
    affordable(
        f"the {len(sizes)} Hessians of {name} in {A.shape[1]} coordinates", numbers=2.0 * len(sizes) * A.shape[1] ** 2
    )
    H = np.stack([A[rows].T @ A[rows] / len(rows) + ridge * np.eye(A.shape[1]) for rows in partition.clients])
    b = np.stack([-A[rows].T @ y[rows] / len(rows) for rows in partition.clients])
    return Quadratic((H + H.swapaxes(1, 2)) / 2, b, 0.0, f"{name}, {partition.method}", weights_of(weights, sizes))
