"""What the exact expectations of whole runs on quadratics have in common: independent parts, local steps, the request.

Gaps keep their relative accuracy near the optimum, because x is taken about x_star: that avoids cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from simulations import engine
from simulations.algorithms.base import Algorithm
from simulations.engine import Request, provenance, requested
from simulations.problems import Array
from simulations.problems.quadratic import Quadratic
from simulations.problems.regularised import Regularised

_ROUNDING = 1e-14  # relative: off-diagonal entries below it count as zero
_NEEDS = dict.fromkeys(("gap", "gap_average", "z_gap", "z_gap_average"), "F_star") | {"dist2": "x_star"}


@dataclass(frozen=True, eq=False)
class Blocks:
    """A problem as B independent ones of p coordinates each: d of 1 where all H_m commute, 1 of d otherwise.

    Coordinates are those of an orthonormal basis about x_star, or about 0 where F has no minimiser.

    H       (B, M, p, p), slope (B, M, p): the clients' gradients H_m x + slope_m
    centre  F(x) = centre + mean_slope'x + x'Hx / 2, mean_slope (B, p)
    start   (B, p), x_0
    """

    H: Array
    slope: Array
    centre: float
    mean_slope: Array
    start: Array

    @classmethod
    def of(cls, problem: Quadratic, x0: Array, turned: bool = True) -> Blocks:
        """The blocks of a problem and a start; with `turned` another basis than that of x is allowed.

        Raises ValueError if the problem weighs its clients: every recursion here gives them equal weights.
        """
        if problem.weights is not None:
            raise ValueError(
                f"{problem.name} weighs its clients: expected no weights, the exact expectation counts all alike"
            )
        x_star = problem.constants.get("x_star")
        centre = np.zeros(problem.d) if x_star is None else x_star
        if turned:
            basis, separable = _common_eigenvectors(problem.H)
        else:
            basis, separable = np.eye(problem.d), not (problem.H * (1 - np.eye(problem.d))).any()
        H, slope = basis.T @ problem.H @ basis, (problem.H @ centre + problem.b) @ basis
        start = (x0 - centre) @ basis
        # at x_star the slope of F is only rounding
        mean_slope = slope.mean(0) if x_star is None else np.zeros(problem.d)
        value = float(problem.value(centre))
        if not separable:
            return cls(H[None], slope[None], value, mean_slope[None], start[None])
        curvatures = np.diagonal(H, axis1=1, axis2=2)
        return cls(curvatures.T[..., None, None], slope.T[..., None], value, mean_slope[:, None], start[:, None])

    def forms(self) -> dict[str, Array]:
        """Quadratic forms (B, p+1, p+1) of z = (1, x) whose sums over the blocks are the recorded quantities."""
        B, p = self.start.shape
        mean = self.H.mean(1)
        gap, size = np.zeros((2, B, p + 1, p + 1))
        gap[:, 1:, 1:] = mean / 2
        gap[:, 0, 1:] = gap[:, 1:, 0] = self.mean_slope / 2
        size[:, 1:, 1:] = np.eye(p)
        value = gap.copy()
        value[0, 0, 0] = self.centre
        gradient = np.concatenate([self.mean_slope[..., None], mean], axis=-1)
        grad_sq = gradient.swapaxes(-1, -2) @ gradient
        return {"gap": gap, "gap_average": gap, "grad_sq": grad_sq, "dist2": size, "size": size, "value": value}


def _common_eigenvectors(H: Array) -> tuple[Array, bool]:
    """An orthonormal basis in which all H_m (M, d, d) are diagonal, and True; without one, the old basis and False.

    If common eigenvectors exist, a generic combination of the H_m has them.  Several combinations are tried, because
    eigenvectors are most accurate if the eigenvalues lie far apart.
    """
    combinations = (np.tensordot(np.cos(i * np.arange(len(H))), H, 1) for i in range(4))
    off_diagonal = 1 - np.eye(H.shape[-1])
    bases = [np.linalg.eigh(combination)[1] for combination in combinations]
    left = [float(np.abs((basis.T @ H @ basis) * off_diagonal).max()) for basis in bases]
    best = int(np.argmin(left))
    separable = left[best] <= _ROUNDING * np.abs(H).max()
    return (bases[best] if separable else np.eye(H.shape[-1])), bool(separable)


@dataclass(frozen=True, eq=False)
class LocalSteps:
    """The local steps of a round, by step size, part of the problem, client block and client: (E, B, N or 1, M, p, p).

    T      y - x is -eta T times the first direction; the sum of the gradients is T times the first
    noise  the covariance of y - x over eta^2, for noise of covariance 1
    moved  sum over the steps of ||y - x||^2 as a form of the first direction
    shaken the part of that sum, (E, B, N or 1, M), which is due to noise of covariance 1
    """

    T: Array
    noise: Array
    moved: Array
    shaken: Array

    @classmethod
    def of(cls, H: Array, eta: Array, steps: int, trained: Array | None = None) -> LocalSteps:
        """H (B, M, p, p); trained (B, N or 1, p), 1 for the coordinates that local steps change, else 0; None for all."""
        p = H.shape[-1]
        if trained is None:
            trained = np.ones((len(H), 1, p))
        eta = eta[:, None, None, None, None, None]
        D = trained[:, :, None, :, None] * np.eye(p)
        A = np.eye(p) - eta * (D @ H[:, None] @ D)
        T, noise, moved, shaken = np.zeros((4, *A.shape))
        for _ in range(steps):
            moved, shaken = moved + eta * T @ (eta * T), shaken + eta * noise * eta
            T, noise = D + A @ T, D + A @ noise @ A
        return cls(T, noise, moved, np.trace(shaken, axis1=-2, axis2=-1))

    def alike(self) -> LocalSteps:
        """Without the axis of client blocks, if all blocks are equal: (E, B, M, p, p)."""
        return LocalSteps(self.T[:, :, 0], self.noise[:, :, 0], self.moved[:, :, 0], self.shaken[:, :, 0])


def mean_square(rows: Array, images: Array) -> Array:
    """The mean over clients of rows' images, both (..., M, p, n): forms (..., n, n)."""
    square: Array = (rows.swapaxes(-1, -2) @ images).mean(-3)
    return square


def second_moment(mean: Array, covariance: Array) -> Array:
    """E[(1, z) (1, z)']: (..., n), (..., n, n) -> (..., 1 + n, 1 + n)."""
    z = np.concatenate([np.ones((*mean.shape[:-1], 1)), mean], axis=-1)
    second = z[..., :, None] * z[..., None, :]
    second[..., 1:, 1:] += covariance
    return second


def whole_run(
    problem: Quadratic | Regularised,
    algorithm: Algorithm,
    series: Callable[[Request, list[str]], dict[str, Array]],
    records: Mapping[str, tuple[str, str]],
    *,
    rounds: int,
    x0: ArrayLike,
    record: Sequence[str],
    at: Iterable[int] | None,
    average: ArrayLike,
) -> xr.Dataset:
    """The Dataset of an expectation, for a request with the arguments of `run`.

    series   (request, names) -> the expected quantities (E, rounds + 1) by name, E||x_r||^2 among them
    records  (dimension, meaning) of every quantity that may be recorded

    Raises ValueError for a malformed request; NoSuchConstant if the problem does not have a constant that a recorded
    quantity needs.
    """
    unknown = [name for name in record if name not in records]
    if unknown:
        raise ValueError(f"cannot record {unknown}: expected some of {', '.join(records)}")
    asked = requested(problem, algorithm, rounds, x0, [n for n in record if n in engine.RECORDS], at, average)
    for name in record:
        if name in _NEEDS:
            problem.constants[_NEEDS[name]]
    # Divergence is a result, so overflow raises no warning; `_dataset` detects it.
    with np.errstate(over="ignore", invalid="ignore"):
        found = series(asked, list(dict.fromkeys([*record, "size"])))
    return _dataset(problem, algorithm, rounds, asked, record, found, records)


def _dataset(
    problem: Quadratic | Regularised,
    algorithm: Algorithm,
    rounds: int,
    asked: Request,
    record: Sequence[str],
    series: dict[str, Array],
    records: Mapping[str, tuple[str, str]],
) -> xr.Dataset:
    """The Dataset of expected quantities (E, rounds + 1) by name."""
    eta, kept = asked.eta, asked.kept
    bad = ~np.isfinite(np.stack(list(series.values())))
    if "drift" in series:
        bad[list(series).index("drift"), :, rounds] = False  # the last iterate starts no round
        series["drift"][:, rounds] = np.nan
    bad = np.asarray(bad.any(0))
    diverged_at = np.where(bad.any(-1), bad.argmax(-1), -1)
    late = (diverged_at[:, None] >= 0) & (np.arange(rounds + 1) >= diverged_at[:, None])
    quantities = {
        name: (
            ("step_size", "round"),
            np.where(late, np.nan, series[name])[:, kept],
            {"units": records[name][0], "long_name": f"expectation of {records[name][1]}"},
        )
        for name in record
    }
    status = np.where(diverged_at >= 0, "diverged", "ran")
    return xr.Dataset(
        {**quantities, "status": ("step_size", status), "diverged_at": ("step_size", diverged_at)},
        coords={"step_size": eta, "round": kept},
        attrs=provenance(problem, algorithm, rounds, asked),
    )
