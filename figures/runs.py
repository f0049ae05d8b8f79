"""How runs are drawn: the rounds, the step size, mean and band over the seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from simulations.problems import Array

Rows = list[dict[str, object]]
BAND = "line: mean, band: minimum and maximum of {} seeds"


def some(rounds: int, most: int = 60) -> list[int]:
    """At most about `most` of the rounds 0 ... rounds, evenly spread, with both ends."""
    return np.unique(np.linspace(0, rounds, most + 1).round().astype(int)).tolist()


def best_of_grid(runs: xr.Dataset, name: str = "gap") -> tuple[xr.Dataset, bool]:
    """The runs of the step size with the smallest mean final `gap` or `value`, and whether they end below their start.

    If a run diverges at every step size: the step size whose first divergence comes last.
    """
    stable = (runs.status == "ran").all("seed").values
    if not stable.any():
        last = np.where(runs.diverged_at < 0, np.inf, runs.diverged_at).min(-1)
        return runs.isel(step_size=int(last.argmax())), False
    final = np.where(stable, runs[name].isel(round=-1).mean("seed").values, np.inf)
    best = runs.isel(step_size=int(final.argmin()))
    return best, bool(final.min() < float(best[name].isel(round=0).mean()))


def curve(axis: Any, x: Array, series: xr.DataArray, told: dict[str, object], **style: Any) -> Rows:
    """Draw mean and band of a series (seed, round), at the rounds where all seeds are finite; returns the numbers."""
    there = np.isfinite(series.values).all(0)
    mean, low, high = (v.values[there] for v in (series.mean("seed"), series.min("seed"), series.max("seed")))
    axis.plot(x[there], mean, **style)
    axis.fill_between(x[there], low, high, color=style["color"], alpha=0.15, lw=0)
    return [
        {**told, "round": int(r), "x": a, "mean": b, "min": c, "max": d}
        for r, a, b, c, d in zip(series["round"].values[there], x[there], mean, low, high, strict=True)
    ]
