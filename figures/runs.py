"""How runs are drawn: the rounds, the step size, mean and band over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fedtheory.simulations.problems import Array

Rows = list[dict[str, object]]
BAND = "line: mean, band: minimum and maximum of {} seeds"
CUT = 1e4  # times its start: a curve leaves the panel there
_LARGEST = 1e150  # that is drawn
ROUNDING = 64 * float(np.finfo(float).eps)  # of F* and of the gap at the start: smaller gaps are rounding


def rows_of(told: Mapping[str, object], **columns: Iterable[Any]) -> Rows:
    """A row for each place in the columns, which are as long as each other, after what is told of all rows."""
    return [{**told, **dict(zip(columns, row, strict=True))} for row in zip(*columns.values(), strict=True)]


def until_above(values: Array, top: float) -> NDArray[np.bool_]:
    """Of values over (..., rounds): the rounds until one of them is above the top, that one too if it can be drawn."""
    rows = values.reshape(-1, values.shape[-1])
    inside = np.logical_and.accumulate((rows <= top).all(0))
    return inside | (np.r_[True, inside[:-1]] & (rows <= _LARGEST).all(0))


def in_sight(axis: Any, start: float, values: Array) -> None:
    """Limit a linear axis, so that a curve which rises far above the start of all leaves the others as large as they are."""
    least = float(values.min())
    fall = start - least
    if fall > 0 and float(values.max()) > start + 2 * fall:
        axis.set_ylim(least - 0.05 * fall, start + fall)


def some(rounds: int, most: int = 60) -> list[int]:
    """At most about `most` of the rounds 0 ... rounds, evenly spread, with both ends."""
    return np.unique(np.linspace(0, rounds, most + 1).round().astype(int)).tolist()


def best_of_grid(runs: xr.Dataset, name: str = "gap", level: float = 0.0) -> tuple[xr.Dataset, bool]:
    """The runs of the step size with the smallest mean final `gap` or `value`, and whether they end below their start.

    level  differences up to it are rounding: of step sizes that differ by no more, the one that gets there first

    If a run diverges at every step size: the step size whose first divergence comes last.
    """
    stable = (runs.status == "ran").all("seed").values
    if not stable.any():
        last = np.where(runs.diverged_at < 0, np.inf, runs.diverged_at).min(-1)
        return runs.isel(step_size=int(last.argmax())), False
    means = np.where(stable[:, None], runs[name].mean("seed").transpose("step_size", "round").values, np.inf)
    final = means[:, -1]
    there = means <= final.min() + level
    first = np.where(there[:, -1], there.argmax(-1), means.shape[-1])
    best = runs.isel(step_size=int(first.argmin() if level else final.argmin()))
    return best, bool(final.min() < float(best[name].isel(round=0).mean()))


def curve(
    axis: Any, x: Array, series: xr.DataArray, told: dict[str, object], floor: float = -np.inf, **style: Any
) -> Rows:
    """Draw mean and band of a series (seed, round), at the rounds where all seeds are finite; returns the numbers.

    floor  what is below is drawn there; the numbers stay
    """
    there = np.isfinite(series.values).all(0)
    mean, low, high = (v.values[there] for v in (series.mean("seed"), series.min("seed"), series.max("seed")))
    axis.plot(x[there], mean.clip(floor), **style)
    axis.fill_between(x[there], low.clip(floor), high.clip(floor), color=style["color"], alpha=0.15, lw=0)
    return rows_of(told, round=series["round"].values[there], x=x[there], mean=mean, min=low, max=high)
