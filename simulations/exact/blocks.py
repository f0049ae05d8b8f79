"""What the exact expectations of whole runs on quadratics have in common: independent parts, local steps, the request.

Gaps keep their relative accuracy near the optimum, because x is taken about x_star: that avoids cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from fedtheory.simulations import engine
from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.engine import Request, provenance, requested
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.simulations.problems.regularised import Regularised

_ROUNDING = 1e-14  # relative: off-diagonal entries below it count as zero
_NEEDS = dict.fromkeys(("gap", "gap_average"), "F_star") | {"dist2": "x_star"}


@dataclass(frozen=True, eq=False)
class Blocks:
    """A problem as B independent ones of p coordinates each: d of 1 where all H_m are diagonal, 1 of d otherwise.

    Coordinates are relative to x_star, or to 0 where F has no minimiser.

    H       (B, M, p, p), slope (B, M, p): the clients' gradients H_m x + slope_m
    mean    (B, p, p), the mean of the H_m by the clients' weights
    centre  F(x) = centre + mean_slope'x + x'Hx / 2, mean_slope (B, p)
    start   (B, p), x_0
    """

    H: Array
    slope: Array
    mean: Array
    centre: float
    mean_slope: Array
    start: Array

    @classmethod
    def of(cls, problem: Quadratic, x0: Array, parted: bool = True) -> Blocks:
        """The blocks of a problem in its own coordinates; without `parted` just one."""
        x_star = problem.constants.get("x_star")
        centre = np.zeros(problem.d) if x_star is None else x_star
        mean, slopes = problem.mean
        H, slope, start = problem.H, problem.H @ centre + problem.b, x0 - centre
        # at x_star the slope of F is only rounding
        mean_slope = mean @ centre + slopes if x_star is None else np.zeros(problem.d)
        value = float(problem.value(centre))
        if not parted or (H * (1 - np.eye(problem.d))).any():
            return cls(H[None], slope[None], mean[None], value, mean_slope[None], start[None])
        curvatures = np.diagonal(H, axis1=1, axis2=2).T[..., None, None]
        of_mean = np.diagonal(mean)[:, None, None]
        return cls(curvatures, slope.T[..., None], of_mean, value, mean_slope[:, None], start[:, None])

    def forms(self) -> dict[str, Array]:
        """Quadratic forms (B, p+1, p+1) of z = (1, x) whose sums over the blocks are the recorded quantities."""
        B, p = self.start.shape
        mean = self.mean
        gap, size = np.zeros((2, B, p + 1, p + 1))
        gap[:, 1:, 1:] = mean / 2
        gap[:, 0, 1:] = gap[:, 1:, 0] = self.mean_slope / 2
        size[:, 1:, 1:] = np.eye(p)
        value = gap.copy()
        value[0, 0, 0] = self.centre
        gradient = np.concatenate([self.mean_slope[..., None], mean], axis=-1)
        grad_sq = gradient.swapaxes(-1, -2) @ gradient
        return {"gap": gap, "gap_average": gap, "grad_sq": grad_sq, "dist2": size, "size": size, "value": value}


def turned(problem: Quadratic) -> tuple[Quadratic, Array]:
    """The problem in coordinates in which all H_m are diagonal, and their basis (d, d); itself where there are none."""
    basis = _common_eigenvectors(problem.H) if (problem.H * (1 - np.eye(problem.d))).any() else None
    if basis is None:
        return problem, np.eye(problem.d)
    return replace(problem, H=np.eye(problem.d) * (basis.T @ problem.H @ basis), b=problem.b @ basis), basis


def _common_eigenvectors(H: Array) -> Array | None:
    """An orthonormal basis (d, d) in which all H_m (M, d, d) are diagonal; None if there is none.

    If common eigenvectors exist, a generic combination of the H_m has them.  Several combinations are tried, because
    eigenvectors are most accurate if the eigenvalues lie far apart.
    """
    combinations = (np.tensordot(np.cos(i * np.arange(len(H))), H, 1) for i in range(4))
    off_diagonal = 1 - np.eye(H.shape[-1])
    bases = [np.linalg.eigh(combination)[1] for combination in combinations]
    left = [float(np.abs((basis.T @ H @ basis) * off_diagonal).max()) for basis in bases]
    best = int(np.argmin(left))
    return bases[best] if left[best] <= _ROUNDING * np.abs(H).max() else None


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
