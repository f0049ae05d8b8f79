"""Run an algorithm on a problem: many step sizes and many seeds side by side, recorded as an xarray Dataset."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from simulations.algorithms import Algorithm, Memory, Watch, refuse_weights
from simulations.constants import NoSuchConstant
from simulations.draws import Draws, Purpose, seed_keys
from simulations.problems import Array, Problem

# name -> (dimension of the quantity, meaning)
RECORDS = {
    "gap": ("[F]", "F(x_r) - F_star"),
    "gap_average": ("[F]", "F(xbar_r) - F_star, xbar_r the weighted average of x_0 ... x_r"),
    "grad_sq": ("[F]^2/[x]^2", "||grad F(x_r)||^2"),
    "dist2": ("[x]^2", "||x_r - x_star||^2"),
    "drift": (
        "[x]^2",
        "client drift of round r: sum over local steps (mean over parallel clients) of ||x_mk - x_r||^2",
    ),
    "value": ("[F]", "F(x_r)"),
}


class WeightedAverage:
    """xbar_r = sum_{i<=r} w_i x_i / sum_{i<=r} w_i for weights with a constant ratio q = w_{r-1} / w_r.

    The weights (1 - a gamma)^-(r+1) of the theorems grow without bound; only w_r / W_r is kept:
    W_r / w_r = 1 + q W_{r-1} / w_{r-1}.
    """

    def __init__(self, ratio: Array) -> None:
        self.ratio = ratio
        self.total = np.zeros_like(ratio)  # W_r / w_r
        self.mean = np.zeros_like(ratio)

    def add(self, x: Array) -> Array:
        """Take in the next iterate; returns the average so far."""
        self.total = 1 + self.ratio * self.total
        self.mean = self.mean + (x - self.mean) / self.total
        return self.mean


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments that runs and exact expectations share, checked.

    eta    (E,) step sizes;  ratio (E,) of successive averaging weights
    x0     () or (d,), the start
    S      participating clients
    kept   rounds to record, increasing
    """

    eta: Array
    ratio: Array
    x0: Array
    S: int
    kept: NDArray[np.int64]


def requested(
    problem: Problem,
    algorithm: Algorithm,
    rounds: int,
    x0: ArrayLike,
    record: Sequence[str],
    at: Iterable[int] | None,
    average: ArrayLike,
) -> Request:
    """Check what was asked for.  Raises ValueError on the first thing that is wrong, saying what was expected.

    Also where the problem weighs its clients and the algorithm does not.
    """
    if not (isinstance(rounds, int | np.integer) and rounds >= 1):
        raise ValueError(f"rounds = {rounds}: expected a whole number >= 1")
    eta = np.atleast_1d(np.asarray(algorithm.eta, dtype=float))
    S = algorithm.participants(problem)
    refuse_weights(problem, algorithm)
    start = np.asarray(x0, dtype=float)
    if start.shape not in ((), (problem.d,)) or not np.isfinite(start).all():
        raise ValueError(f"x0 of shape {start.shape}: expected a number or ({problem.d},), finite")
    given = np.asarray(average, dtype=float)
    if given.shape not in ((), (1,), eta.shape) or not ((given > 0) & (given <= 1)).all():
        raise ValueError(f"average = {given.tolist()}: expected a weight ratio in (0, 1], or {len(eta)} of them")
    unknown = [name for name in record if name not in RECORDS]
    if unknown:
        raise ValueError(f"cannot record {unknown}: expected some of {', '.join(RECORDS)}")
    kept = np.arange(rounds + 1) if at is None else np.unique(np.asarray(list(at)))
    if not np.issubdtype(kept.dtype, np.integer) or kept[0] < 0 or kept[-1] > rounds:
        raise ValueError(f"at = {kept.tolist()}: expected rounds between 0 and {rounds}")
    return Request(eta, np.broadcast_to(given, eta.shape), start, S, kept)


def run(
    problem: Problem,
    algorithm: Algorithm,
    *,
    rounds: int,
    seeds: Iterable[int] = (0,),
    x0: ArrayLike = 0.0,
    orders: ArrayLike | None = None,
    record: Sequence[str] = ("gap", "grad_sq", "dist2"),
    at: Iterable[int] | None = None,
    average: ArrayLike = 1.0,
    progress: Callable[[int], None] | None = None,
) -> xr.Dataset:
    """Run `algorithm` on `problem` for `rounds` rounds from x0.

    seeds     one run each; adding seeds never changes the others
    x0        (d,) or a number for all coordinates
    orders    integer array (round, position), or (seed, round, position): the clients' order, to replay a run
    record    which of gap, gap_average, grad_sq, dist2, drift, value
    at        rounds at which to record (0 ... rounds); every round by default
    average   ratio w_{r-1}/w_r in (0, 1] of successive averaging weights, one for all step sizes or one each;
              1: plain average; 1 - mu eta_tilde / 2: the weights of the strongly convex theorems
    progress  called with the number of rounds done

    Returns a Dataset over (step_size, seed, round) with `status` ("ran" or "diverged") and `diverged_at`
    (the first round whose iterate, its squared norm or a recorded quantity is not finite, -1 if none) over
    (step_size, seed); values before divergence are finite, later ones NaN.  Its attributes hold what is needed to run
    it again.

    Raises ValueError for a malformed request, or a problem that weighs its clients and an algorithm that does not;
    NoSuchConstant when a recorded quantity needs a constant that the problem does not have.
    """
    seeds = np.asarray(list(seeds))
    if seeds.ndim != 1 or not len(seeds) or not np.issubdtype(seeds.dtype, np.integer) or (seeds < 0).any():
        raise ValueError(f"seeds = {seeds.tolist()}: expected at least one whole number >= 0")
    asked = requested(problem, algorithm, rounds, x0, record, at, average)
    eta, start, ratio, S, kept = asked.eta, asked.x0, asked.ratio, asked.S, asked.kept
    replay = _orders(orders, rounds, S, problem.M, len(seeds))

    keys = {purpose: seed_keys(seeds, purpose) for purpose in Purpose}
    memory: Memory = {}
    x = np.broadcast_to(start, (len(eta), len(seeds), problem.d)).copy()
    mean = WeightedAverage(ratio[:, None, None])
    measure = _measures(problem, record)
    series = {name: np.full((len(eta), len(seeds), len(kept)), np.nan) for name in record}
    diverged_at = np.full(x.shape[:2], -1)
    slot = {int(r): i for i, r in enumerate(kept)}

    # Divergence is a result here: overflow is caught below, not warned about.
    with np.errstate(over="ignore", invalid="ignore"):
        for r in range(rounds + 1):
            gone = (diverged_at < 0) & ~np.isfinite((x**2).sum(-1))
            diverged_at[gone] = r
            x[diverged_at >= 0] = np.nan
            xbar = mean.add(x) if "gap_average" in record else x
            if r in slot:
                for name, function in measure.items():
                    series[name][:, :, slot[r]] = function(x, xbar)
            if r == rounds or (diverged_at >= 0).all():
                break
            drift = np.zeros(x.shape[:2])
            draws = Draws(keys, r, None if replay is None else replay[:, r])
            watch = _drift(x, drift) if "drift" in record else _unwatched
            x = algorithm.round(problem, x, eta[:, None, None], draws, watch, memory)
            if "drift" in record and r in slot:
                series["drift"][:, :, slot[r]] = drift
            if progress is not None:
                progress(r + 1)
    # A quantity can overflow before the iterate does: from there on the run counts as diverged too.
    for name, values in series.items():
        bad = ~np.isfinite(values)
        if name == "drift":
            bad[..., kept == rounds] = False  # the last iterate starts no round
        first = np.where(bad.any(-1), kept[bad.argmax(-1)], -1)
        earlier = (first >= 0) & ((diverged_at < 0) | (first < diverged_at))
        diverged_at[earlier] = first[earlier]
    for values in series.values():
        values[(diverged_at[..., None] >= 0) & (kept >= diverged_at[..., None])] = np.nan

    dims = ("step_size", "seed", "round")
    data = xr.Dataset(
        {
            name: (dims, values, {"units": RECORDS[name][0], "long_name": RECORDS[name][1]})
            for name, values in series.items()
        },
        coords={"step_size": eta, "seed": seeds, "round": kept},
    )
    data["status"] = (dims[:2], np.where(diverged_at >= 0, "diverged", "ran"))
    data["diverged_at"] = (dims[:2], diverged_at)
    data.attrs = provenance(problem, algorithm, rounds, asked) | {
        "seeds": json.dumps(seeds.tolist()),
        "orders": json.dumps(None if orders is None else np.asarray(orders).tolist()),
    }
    return data


def _unwatched(x_local: Array, active: NDArray[np.bool_] | bool = True) -> None:
    """Watch nothing."""


def _drift(x: Array, total: Array) -> Watch:
    """Add up ||x_local - x||^2 over the local steps of a round, averaging over parallel clients."""

    def watch(x_local: Array, active: NDArray[np.bool_] | bool = True) -> None:
        parallel = x_local.ndim > x.ndim
        squares = ((x_local - (x[:, :, None, :] if parallel else x)) ** 2).sum(-1)
        total[...] += np.where(active, squares.mean(-1) if parallel else squares, 0.0)

    return watch


def _measures(problem: Problem, record: Sequence[str]) -> dict[str, Callable[[Array, Array], Array]]:
    """Functions of (x, xbar) for the recorded quantities; the drift is gathered during the round instead."""
    F_star: Any = problem.constants["F_star"] if {"gap", "gap_average"} & set(record) else None
    x_star: Any = problem.constants["x_star"] if "dist2" in record else None
    functions: dict[str, Callable[[Array, Array], Array]] = {
        "gap": lambda x, xbar: problem.value(x) - F_star,
        "gap_average": lambda x, xbar: problem.value(xbar) - F_star,
        "grad_sq": lambda x, xbar: (problem.full_gradient(x) ** 2).sum(-1),
        "dist2": lambda x, xbar: ((x - x_star) ** 2).sum(-1),
        "value": lambda x, xbar: problem.value(x),
    }
    return {name: functions[name] for name in record if name in functions}


def _orders(orders: ArrayLike | None, rounds: int, S: int, M: int, seeds: int) -> NDArray[np.int64] | None:
    """Orders to replay as (seed, round, position); raises ValueError when they do not fit."""
    if orders is None:
        return None
    given = np.asarray(orders)
    expected = (
        f"integers 0..{M - 1} of shape ({rounds}, {S}) or ({seeds}, {rounds}, {S}), each round without repetition"
    )
    if not np.issubdtype(given.dtype, np.integer) or given.shape not in ((rounds, S), (seeds, rounds, S)):
        raise ValueError(f"orders of shape {given.shape} and type {given.dtype}: expected {expected}")
    full = np.broadcast_to(given, (seeds, rounds, S))
    ranked = np.sort(full, axis=-1)
    if ranked.min() < 0 or ranked.max() >= M or (np.diff(ranked, axis=-1) == 0).any():
        raise ValueError(f"orders with clients {ranked.min()}..{ranked.max()} or repetitions: expected {expected}")
    return full.astype(np.int64)


@cache
def _versions() -> str:
    """Versions of what computes, as JSON; looked up once, as each look-up reads files."""
    packages = {}
    for package in ("fedtheory", "numpy", "scipy"):
        try:
            packages[package] = version(package)
        except PackageNotFoundError:
            packages[package] = "not installed"
    return json.dumps({"python": platform.python_version(), **packages})


def _settings(value: Any) -> Any:
    """A field of an algorithm as JSON-able data: numbers and texts as they are, anything else by its name."""
    if value is None or isinstance(value, str | bool):
        return value
    return value.name if hasattr(value, "name") else np.asarray(value).tolist()


def provenance(problem: Problem, algorithm: Any, rounds: int, asked: Request) -> dict[str, str]:
    """What is needed to do it again, as JSON strings (so that the Dataset can be written to netCDF)."""
    settings = {field.name: _settings(getattr(algorithm, field.name)) for field in fields(algorithm)}
    return {
        "problem": json.dumps(problem.provenance),
        "algorithm": json.dumps({"name": type(algorithm).__name__, **settings}),
        "rounds": str(rounds),
        "x0": json.dumps(asked.x0.tolist()),
        "average": json.dumps(asked.ratio.tolist()),
        "versions": _versions(),
    }


__all__ = ["RECORDS", "NoSuchConstant", "Request", "WeightedAverage", "provenance", "requested", "run"]
