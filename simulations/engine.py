"""Run an algorithm on a problem: many step sizes and many seeds side by side, recorded as an xarray Dataset."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from fedtheory.simulations.algorithms.base import Algorithm, Memory, Watch, check_algorithm, refuse_misfits
from fedtheory.simulations.arrays import is_tensor, known_as, like, on_host
from fedtheory.simulations.checked import affordable, brief, listed, number, reals, reason, step_sizes, whole
from fedtheory.simulations.draws import Draws, Purpose, seed_keys
from fedtheory.simulations.problems import Array, Problem, check_problem, example, starting_point, tested

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
_IN_CACHE = 2**18  # numbers: two megabytes
_WORTH_LOADING = 1e8  # local steps times coordinates: from here on loops save more time than numba takes to load
_MOST_WRITTEN = 10_000  # a starting point with more coordinates is recorded by its hash
# only for problems with a test set
TESTED = {
    "test_value": ("[F]", "mean loss at x_r on the test set"),
    "accuracy": ("1", "share of the test set that the model x_r classifies right"),
}


class WeightedAverage:
    """xbar_r = sum_{i<=r} w_i x_i / sum_{i<=r} w_i for weights with a constant ratio q = w_{r-1} / w_r.

    The weights (1 - a gamma)^-(r+1) of the theorems grow without bound; only w_r / W_r is kept:
    W_r / w_r = 1 + q W_{r-1} / w_{r-1}.
    """

    def __init__(self, ratio: Array) -> None:
        self.ratio = ratio
        self.total = ratio * 0  # W_r / w_r
        self.mean = ratio * 0

    def add(self, x: Array) -> Array:
        """Add the next iterate; returns the average so far."""
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
    """Check the arguments.  Raises ValueError for the first wrong one, and says what was expected.

    Wrong is also a problem that weighs its clients with an algorithm that does not.
    """
    check_problem(problem)
    check_algorithm(algorithm)
    rounds = whole("rounds", rounds)
    affordable(f"{rounds} rounds", steps=rounds)
    eta = step_sizes(algorithm.eta)
    S = algorithm.participants(problem)
    refuse_misfits(problem, algorithm)
    start = starting_point(problem, x0)
    ratio = reals("average", average, "a weight ratio in (0, 1]")
    if ratio.shape not in ((), (1,), eta.shape) or not ((ratio > 0) & (ratio <= 1)).all():
        raise ValueError(f"average = {brief(average)}: expected a weight ratio in (0, 1], or {len(eta)} of them")
    names = listed("record", record, f"some of {', '.join(RECORDS | TESTED)}")
    unknown = [name for name in names if not isinstance(name, str) or name not in RECORDS | TESTED]
    if unknown:
        raise ValueError(f"cannot record {brief(unknown)}: expected some of {', '.join(RECORDS | TESTED)}")
    if set(TESTED) & set(names):
        tested(problem)
    if at is None:
        affordable(f"recording all of {rounds} rounds", numbers=rounds * len(eta))
        return Request(eta, np.broadcast_to(ratio, eta.shape), start, S, np.arange(rounds + 1))
    expected = f"whole numbers between 0 and rounds = {rounds}"
    kept = np.unique(reals("at", listed("at", at, expected), expected))
    if not kept.size or (kept != np.round(kept)).any() or kept[0] < 0 or kept[-1] > rounds:
        raise ValueError(f"at = {brief(at)}: expected {expected}")
    return Request(eta, np.broadcast_to(ratio, eta.shape), start, S, kept.astype(np.int64))


def local_steps_of(algorithm: Algorithm) -> int:
    """At least the number of local steps of a client in a round, by the algorithm's own numbers K, tau or T; else 1."""
    given = [getattr(algorithm, name, None) for name in ("K", "tau", "T")]
    return max((int(np.max(n)) for n in given if isinstance(n, int | np.integer | tuple) and np.size(n)), default=1)


def affordable_run(
    problem: Problem, algorithm: Algorithm, asked: Request, rounds: int, seeds: int, series: int
) -> float:
    """The local steps of all runs, times coordinates.

    Raises ValueError for a run that would take more memory or time than `fedtheory.simulations.checked` allows.
    """
    runs, K = len(asked.eta) * seeds, local_steps_of(algorithm)
    in_turn = rounds * K * (asked.S if getattr(algorithm, "sequential", False) else 1)
    work = float(rounds) * K * asked.S * runs * problem.d
    affordable(
        f"{rounds} rounds of {runs} runs with {asked.S} clients of {K} local steps in {problem.d} coordinates",
        numbers=runs * (series * len(asked.kept) + 6 * asked.S * problem.d),
        steps=in_turn,
        arithmetic=work,
    )
    return work


def _loops(work: float) -> ModuleType | None:
    """The compiled loops, for a run of so much work that their loading pays, where numba is installed; else None."""
    if work < _WORTH_LOADING or find_spec("numba") is None:
        return None
    from fedtheory.simulations import loops

    return loops


def checked_seeds(seeds: Any) -> NDArray[np.int64]:
    """The seeds (N,).  Raises ValueError unless there is at least one, and all are whole numbers in [0, 2^63)."""
    wrong = f"seeds = {brief(seeds)}: expected a list of at least one whole number >= 0"
    if isinstance(seeds, range):
        affordable(f"a list of {len(seeds)} seeds", numbers=len(seeds))
    try:
        found = np.asarray(list(seeds))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(wrong) from None
    if found.ndim != 1 or not found.size or found.dtype.kind != "i" or (found < 0).any():
        raise ValueError(wrong)
    return found.astype(np.int64)


def run(
    problem: Problem,
    algorithm: Algorithm,
    *,
    rounds: int,
    seeds: Iterable[int] = (0,),
    x0: ArrayLike = 1.0,
    orders: ArrayLike | None = None,
    record: Sequence[str] = ("gap", "grad_sq", "dist2"),
    at: Iterable[int] | None = None,
    average: ArrayLike = 1.0,
    decay: float = 1.0,
    progress: Callable[[int], None] | None = None,
) -> xr.Dataset:
    """Run `algorithm` on `problem` for `rounds` rounds from x0.

    seeds     one run each; more seeds or rounds change the others by rounding at most
    x0        (d,) or a number for all coordinates; not 0 by default, the minimiser of many quadratics
    orders    integer array (round, position), or (seed, round, position): the clients' order, to replay a run
    record    which of gap, gap_average, grad_sq, dist2, drift, value; with a test set test_value, accuracy
    at        rounds at which to record (0 ... rounds); every round by default
    average   ratio w_{r-1}/w_r in (0, 1] of successive averaging weights, one for all step sizes or one each;
              1: plain average; 1 - mu eta_tilde / 2: the weights of the strongly convex theorems
    decay     factor in (0, 1] on eta after every round
    progress  called with the number of rounds done

    Returns a Dataset over (step_size, seed, round).  Over (step_size, seed) it has `status` ("ran" or "diverged") and
    `diverged_at` (the first round whose iterate, its squared norm or a recorded quantity is not finite, -1 if none).
    Values before divergence are finite, later ones NaN.  The attributes hold what is needed to repeat the run.
    Where no round draws a number, one run is that of all seeds.
    Large runs on noisy quadratics use compiled loops where numba is installed: the same numbers up to rounding.

    Raises ValueError for a malformed request, a problem that weighs its clients and an algorithm that does not, or an
    algorithm whose round does not return an array like x; NoSuchConstant when a recorded quantity needs a constant that the
    problem does not have.
    """
    every, rounds = checked_seeds(seeds).tolist(), whole("rounds", rounds)
    begin = partial(
        RunState,
        problem,
        algorithm,
        rounds=rounds,
        x0=x0,
        orders=orders,
        record=record,
        at=at,
        average=average,
        decay=decay,
    )
    together = max(1, len(every) if orders is not None else _together(problem, algorithm, len(every)))
    parts = []
    for first in range(0, max(1, len(every)), together):
        running = begin(seeds=every[first : first + together])
        going = running.advance()
        if first == 0 and orders is None and len(every) > 1 and _same_for_all(running, begin, every[1]):
            found = _one_for_all(begin(seeds=every[:1]), every, progress)
            if found is not None:
                return found
        while going:
            if progress is not None:
                progress((first * rounds + len(running.seeds) * running.round) // len(every))
            going = running.advance()
        parts.append(running.dataset())
    if len(parts) == 1:
        return parts[0]
    return xr.concat(parts, "seed", combine_attrs="override").assign_attrs(seeds=str(np.asarray(every).tolist()))


def exact_run(problem: Problem, algorithm: Algorithm, **settings: Any) -> xr.Dataset | None:
    """The run where no round draws a number, which is its own expectation; None where one does.

    The arguments are those of `run`, without seeds, orders and progress.
    """
    begin = partial(RunState, problem, algorithm, **settings)
    running = begin(seeds=[0])
    running.advance()
    return _one_for_all(running, [0], None) if _same_for_all(running, begin, 1) else None


def _same_for_all(running: RunState, begin: Callable[..., RunState], another: int) -> bool:
    """Whether the first round, which is done, drew no number, and ends alike for two seeds (no own randomness)."""
    if running.drew:
        return False
    other = running
    if len(running.seeds) == 1:
        other = begin(seeds=[another])
        other.advance()
    return np.allclose(on_host(running.x)[:, 0], on_host(other.x)[:, -1], rtol=1e-9, atol=0, equal_nan=True)


def _one_for_all(running: RunState, seeds: list[int], progress: Callable[[int], None] | None) -> xr.Dataset | None:
    """The runs of all seeds as one, which is that of each of them; None where a round draws a number after all."""
    while running.advance():
        if running.drew:
            return None
        if progress is not None:
            progress(running.round)
    found = running.dataset().isel(seed=[0] * len(seeds)).assign_coords(seed=seeds)
    return found.assign_attrs(seeds=json.dumps(seeds))


def _together(problem: Problem, algorithm: Algorithm, seeds: int) -> int:
    """The number of seeds to run as one array: as many as a processor's cache holds the numbers of, if that is known."""
    numbers = getattr(problem, "numbers", None)
    if numbers is None:
        return seeds
    return max(1, _IN_CACHE // numbers(algorithm.participants(problem), np.size(algorithm.eta)))


class RunState:
    """A run that goes round by round, and its state; arguments and errors are those of `run`.

    round  number of rounds done
    steps  number of local steps done, over all clients and runs
    drew   whether any round so far has drawn a number
    """

    def __init__(
        self,
        problem: Problem,
        algorithm: Algorithm,
        *,
        rounds: int,
        seeds: Iterable[int] = (0,),
        x0: ArrayLike = 1.0,
        orders: ArrayLike | None = None,
        record: Sequence[str] = ("gap", "grad_sq", "dist2"),
        at: Iterable[int] | None = None,
        average: ArrayLike = 1.0,
        decay: float = 1.0,
    ) -> None:
        self.seeds, rounds = checked_seeds(seeds), whole("rounds", rounds)
        self.asked = asked = requested(problem, algorithm, rounds, x0, record, at, average)
        decay = number("decay", decay, "in (0, 1]")
        work = affordable_run(problem, algorithm, asked, rounds, len(self.seeds), len(record))
        self.problem, self.algorithm, self.rounds, self.orders, self.decay = problem, algorithm, rounds, orders, decay
        self._replay = _orders(orders, rounds, asked.S, problem.M, len(self.seeds))
        self._keys = {purpose: seed_keys(self.seeds, purpose) for purpose in Purpose}
        kind = example(problem)
        self._place = kind.device if is_tensor(kind) else None
        self._loops = _loops(work) if getattr(problem, "noisy", False) is True else None
        self._eta = like(asked.eta[:, None, None], kind)
        self._measure = measures(problem, record)
        self._slot = {int(r): i for i, r in enumerate(asked.kept)}

        runs = (len(asked.eta), len(self.seeds))
        self.round, self.steps, self.drew = 0, 0, False
        self.x = like(np.broadcast_to(asked.x0, (*runs, problem.d)).copy(), kind)
        self.memory: Memory = {}
        self.mean = WeightedAverage(like(asked.ratio[:, None, None], kind)) if "gap_average" in record else None
        self.series = {name: np.full((*runs, len(asked.kept)), np.nan) for name in record}
        self.diverged_at = np.full(runs, -1)
        with np.errstate(over="ignore", invalid="ignore"):
            self._look()

    def advance(self) -> bool:
        """Do one round.  Returns False and does nothing when all rounds are done, or all runs have diverged."""
        if self.round == self.rounds or (self.diverged_at >= 0).all():
            return False
        r, x, problem = self.round, self.x, self.problem
        drift = np.zeros(tuple(x.shape[:2]))
        draws = Draws(self._keys, r, None if self._replay is None else self._replay[:, r], self._place, self._loops)
        drifting = _drift(x, drift) if "drift" in self.series else None

        def watch(x_local: Array, active: NDArray[np.bool_] | bool = True) -> None:
            runs = x_local.shape[:-1]
            if active is not True and np.ndim(active) == 1 and len(runs) == 3:
                active = np.asarray(active)[:, None]  # all clients of the active seeds
            self.steps += math.prod(runs) if active is True else runs[0] * int(np.broadcast_to(active, runs[1:]).sum())
            if drifting is not None:
                drifting(x_local, active)

        eta = self._eta if self.decay == 1 else self._eta * self.decay**r
        # Divergence is a result here: overflow is caught by `_look`, not warned about.
        with np.errstate(over="ignore", invalid="ignore"):
            self.x = self._like_x(self.algorithm.round(problem, x, eta, draws, watch, self.memory), x)
            self.drew |= draws.drawn
            if "drift" in self.series and r in self._slot:
                self.series["drift"][:, :, self._slot[r]] = drift
            if r == 0:
                self._try_other_seeds()
            self.round = r + 1
            self._look()
        return True

    def _try_other_seeds(self) -> None:
        """The first round with another number of seeds, if this one is also the number of clients.

        Then a mean over seeds has the shape of a mean over clients.  Raises ValueError where the round cannot be done.
        """
        (E, N, d), S, M = self.x.shape, self.asked.S, self.problem.M
        if N == 1 or N not in (S, M):
            return
        other = next(n for n in range(2, 7) if n not in (E, S, M, d))
        x = like(np.broadcast_to(self.asked.x0, (E, other, d)).copy(), self.x)
        keys = {purpose: seed_keys(np.arange(other), purpose) for purpose in Purpose}
        draws = Draws(keys, 0, None if self._replay is None else self._replay[[0] * other, 0], self._place)
        try:
            new = self.algorithm.round(self.problem, x, self._eta, draws, lambda x_local, active=True: None, {})
        except Exception as error:  # of any kind: the same round could be done with N seeds
            raise ValueError(
                f"{type(self.algorithm).__name__}.round fails with {other} seeds, but not with {N}, the number of clients: "
                f"{reason(error)}; expected a mean over the axis of the clients, not over that of the seeds"
            ) from error
        self._like_x(new, x)

    def _like_x(self, new: Any, x: Array) -> Array:
        """What a round returned.  Raises ValueError unless it is an array like x (E, N, d)."""
        if type(new) is not type(x) or new.shape != x.shape or new.dtype != x.dtype:
            what = f"{new.dtype} array of shape {tuple(new.shape)}" if hasattr(new, "dtype") else brief(new)
            raise ValueError(
                f"{type(self.algorithm).__name__}.round returned {what}: expected the next x, a {x.dtype} array of shape "
                f"(E, N, d) = {tuple(x.shape)}, for {x.shape[0]} step sizes and {x.shape[1]} seeds"
            )
        return new

    def _look(self) -> None:
        """Check x for divergence, and record the quantities at x."""
        gone = (self.diverged_at < 0) & ~np.isfinite(on_host((self.x**2).sum(-1)))
        self.diverged_at[gone] = self.round
        if (self.diverged_at >= 0).any():
            self.x[known_as(self.diverged_at >= 0, self.x)] = np.nan
        xbar = self.x if self.mean is None else self.mean.add(self.x)
        if self.round in self._slot:
            for name, function in self._measure.items():
                self.series[name][:, :, self._slot[self.round]] = on_host(function(self.x, xbar))

    def state(self) -> dict[str, NDArray[Any]]:
        """The run state: all that the rest of the run depends on besides the arguments.  Arrays by name, some not copies."""
        found = {
            "round": np.asarray(self.round),
            "steps": np.asarray(self.steps),
            "x": on_host(self.x),
            "diverged_at": self.diverged_at,
        }
        if self.mean is not None:
            found |= {"mean.total": on_host(self.mean.total), "mean.mean": on_host(self.mean.mean)}
        found |= {f"series.{name}": values for name, values in self.series.items()}
        found |= {f"memory.{name}": on_host(values) for name, values in self.memory.items()}
        away = [name for name, values in self.memory.items() if is_tensor(values) and values.device != self.x.device]
        return found | ({"on_host": np.array(away)} if away else {})

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `state` of a run with the same arguments.  Raises ValueError for one that does not fit."""
        here, there = (
            {name: array.shape for name, array in s.items() if not name.startswith(("memory.", "on_host"))}
            for s in (self.state(), state)
        )
        if here != there:
            raise ValueError(f"a state with {there}: expected {here}, that of a run with the same arguments")
        self.round, self.steps = int(state["round"]), int(state["steps"])
        self.x = like(state["x"].copy(), self.x)
        self.diverged_at = state["diverged_at"].copy()
        self.series = {name: state[f"series.{name}"].copy() for name in self.series}
        if self.mean is not None:
            self.mean.total = like(state["mean.total"], self.x)
            self.mean.mean = like(state["mean.mean"], self.x)
        self.memory.clear()
        away = set(state["on_host"].tolist()) if "on_host" in state else set()
        for key, values in state.items():
            if key.startswith("memory."):
                name = key.removeprefix("memory.")
                self.memory[name] = like(values.copy(), self.x.cpu() if name in away else self.x)

    def dataset(self) -> xr.Dataset:
        """The values recorded so far, in the form that `run` returns."""
        asked, kept = self.asked, self.asked.kept
        series = {name: values.copy() for name, values in self.series.items()}
        diverged_at = self.diverged_at.copy()
        # A quantity can overflow before the iterate does: from there on the run counts as diverged too.
        done = kept <= self.round
        for name, values in series.items():
            bad = ~np.isfinite(values) & done
            if name == "drift":
                bad[..., kept == self.round] = False  # the last iterate starts no round
            first = np.where(bad.any(-1), kept[bad.argmax(-1)], -1)
            earlier = (first >= 0) & ((diverged_at < 0) | (first < diverged_at))
            diverged_at[earlier] = first[earlier]
        for values in series.values():
            values[(diverged_at[..., None] >= 0) & (kept >= diverged_at[..., None])] = np.nan

        dims = ("step_size", "seed", "round")
        data = xr.Dataset(
            {
                name: (dims, values, dict(zip(("units", "long_name"), (RECORDS | TESTED)[name], strict=True)))
                for name, values in series.items()
            },
            coords={"step_size": asked.eta, "seed": self.seeds, "round": kept},
        )
        data["status"] = (dims[:2], np.where(diverged_at >= 0, "diverged", "ran"))
        data["diverged_at"] = (dims[:2], diverged_at)
        data.attrs = provenance(self.problem, self.algorithm, self.rounds, asked) | {
            "seeds": json.dumps(self.seeds.tolist()),
            "orders": json.dumps(None if self.orders is None else np.asarray(self.orders).tolist()),
        }
        if self.decay != 1:
            data.attrs["decay"] = str(self.decay)
        if self._loops is not None:
            data.attrs["versions"] = json.dumps(json.loads(data.attrs["versions"]) | {"numba": version("numba")})
        if vouched := self.problem.constants.vouched:
            data.attrs["vouched"] = json.dumps(vouched)
        return data


def _drift(x: Array, total: Array) -> Watch:
    """Add up ||x_local - x||^2 over the local steps of a round, averaging over parallel clients."""

    def watch(x_local: Array, active: NDArray[np.bool_] | bool = True) -> None:
        parallel = x_local.ndim > x.ndim
        squares = on_host(((x_local - (x[:, :, None, :] if parallel else x)) ** 2).sum(-1))
        if parallel and np.ndim(active) == 2:  # seeds by clients
            squares = np.where(active, squares, 0.0)
            active = True
        total[...] += np.where(active, squares.mean(-1) if parallel else squares, 0.0)

    return watch


def measures(problem: Problem, record: Sequence[str]) -> dict[str, Callable[[Array, Array], Array]]:
    """Functions of (x, xbar) for the recorded quantities; the drift is gathered during the round instead."""
    F_star: Any = problem.constants["F_star"] if {"gap", "gap_average"} & set(record) else None
    x_star: Any = problem.constants["x_star"] if "dist2" in record else None
    functions: dict[str, Callable[[Array, Array], Array]] = {
        "gap": lambda x, xbar: problem.value(x) - F_star,
        "gap_average": lambda x, xbar: problem.value(xbar) - F_star,
        "grad_sq": lambda x, xbar: (problem.full_gradient(x) ** 2).sum(-1),
        "dist2": lambda x, xbar: ((x - x_star) ** 2).sum(-1),
        "value": lambda x, xbar: problem.value(x),
        "test_value": lambda x, xbar: tested(problem).test_value(x),
        "accuracy": lambda x, xbar: tested(problem).accuracy(x),
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
    """Versions of Python and the packages, as JSON; cached, because each look-up reads files."""
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
    if hasattr(value, "name"):
        return value.name
    numbers = np.asarray(value)
    return repr(value) if numbers.dtype.kind == "O" else numbers.tolist()


def _start(x0: Array) -> Any:
    """A starting point as JSON-able data; a very long one as its hash."""
    if x0.size <= _MOST_WRITTEN:
        return x0.tolist()
    return {"d": x0.size, "sha256": hashlib.sha256(x0.tobytes()).hexdigest()}


def provenance(problem: Problem, algorithm: Any, rounds: int, asked: Request) -> dict[str, str]:
    """What is needed to repeat the run, as JSON strings (so that the Dataset can be written to netCDF)."""
    settings = {field.name: _settings(getattr(algorithm, field.name)) for field in fields(algorithm)}
    return {
        "problem": json.dumps(problem.provenance),
        "algorithm": json.dumps({"name": type(algorithm).__name__, **settings}),
        "rounds": str(rounds),
        "x0": json.dumps(_start(asked.x0)),
        "average": json.dumps(asked.ratio.tolist()),
        "versions": _versions(),
    }
