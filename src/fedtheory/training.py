"""A training is a folder: its set-up, its environment, its measurements, and checkpoints from which it can continue.

FOLDER/setup.toml         the set-up; `fedtheory train` reads it again
FOLDER/environment.json   versions, machine, data, and the numbers of parameters and clients
FOLDER/history.csv        one row for each seed and measured round
FOLDER/seed-0.npz         the run state: the model, the algorithm's memories, the measurements

The state of a seed that is done stays, so a training can be extended: with more rounds it goes on from there, to the
numbers of a training with as many from the start.  The set-up has checksums of the user's own files.

A checkpoint has a checksum of its arrays, and each seed-N.npz one of the seed's rows in history.csv: a file that was
changed or damaged is not taken for the training's own.  While a training runs it holds a lock on its folder; not on
Windows.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import platform
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from errno import EINVAL
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedtheory.bounds.communication import Cost, cost
from fedtheory.bounds.presets import summary
from fedtheory.figures.files import PARTIAL, whole, writable, write
from fedtheory.simulations.arrays import like, on_host
from fedtheory.simulations.checked import brief, number, reason
from fedtheory.simulations.data import arrays_of
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.engine import RunState, local_steps_of
from fedtheory.simulations.networks import own
from fedtheory.simulations.networks.problem import Network, available, fastest, threads_of
from fedtheory.simulations.networks.setup import Setup, from_table
from fedtheory.tasks import Progress, Task, Workshop

try:
    import fcntl
except ImportError:  # Windows: a folder has no lock there
    fcntl = None  # type: ignore[assignment]

CHECKPOINT = 30.0  # seconds between checkpoints
_FIRST = ("environment.json", "setup.toml")  # the first files of a training; one that was killed may have no others
# in seed-N.npz: the checksum of its arrays; those of the seed's rows, as they are and as they were; the measured rounds
_CHECKSUM, _ROWS, _MEASURED = "checksum", "history", "measured"
_COLUMNS = {"seed", "round", "status", "bits_up", "bits_down", "client_steps", "seconds"}


@dataclass(frozen=True)
class Standing:
    """The progress of a training, for a callback."""

    seed: int
    round: int
    rounds: int
    latest: Mapping[str, float]  # the last measurements
    bits_up: float  # sent by all participants together
    rate: float  # client steps per second


Tell = Callable[[Standing], None]


def train(
    setup: Setup, folder: Path, resume: bool = False, tell: Tell | None = None, checkpoint: float = CHECKPOINT
) -> pd.DataFrame:
    """Train, seed by seed, and store everything in the folder; returns the history.

    If the folder holds the same training, complete, it is only read.  With `resume`, an interrupted training continues
    from its last checkpoint and gives the same numbers as without the interruption; and one with fewer rounds is extended
    (`extension`).

    checkpoint  seconds between checkpoints; 0: after every round

    Nothing is written before the first round is done.  Raises ValueError if the folder holds another set-up, other or
    damaged files, or an interrupted training without `resume`, or if another process trains there; and what images,
    network and algorithm raise.
    """
    number("checkpoint", checkpoint, ">= 0")
    setup = _settled(setup.sealed(), folder, resume)
    found = history(folder)
    if done(setup, found):
        for seed in setup.seeds:
            _compare(folder, seed)
        return found
    available(setup.network.get("device", "cpu"))
    _is_new(folder, found, resume)
    problem = setup.problem()
    method = setup.method(problem)
    spent = cost(method, problem)
    with repeatable(setup.network.get("device", "cpu")):  # timed as it will train
        setup = _batched(setup, problem, method)
    problem = replace(problem, batching=setup.network["batching"])
    here = environment(setup, problem) | {"participants": spent.clients}

    def begin() -> None:
        there = trained(folder)
        if there is None:
            write(folder / "environment.json", json.dumps(here, indent=2).encode())
        if there is None or there.rounds < setup.rounds:
            write(folder / "setup.toml", as_toml(setup).encode())  # last: a folder with it has environment.json too

    with locked(folder), repeatable(setup.network.get("device", "cpu")), threads_of(setup.threads or 1), setup.blamed():
        found = history(folder)  # by now another process may have done it
        for seed in setup.seeds:
            rows = found[found["seed"] == seed] if len(found) else found
            if len(rows) and _over(setup, rows):
                _compare(folder, seed)
                continue
            found = _train_seed(setup, problem, method, seed, spent, folder, found, tell, checkpoint, begin)
    return found


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder, which is created if it is missing, for this process; the lock ends with the process.

    Raises ValueError where another process holds it, or where the folder cannot be made or written into.
    """
    made = not folder.exists()
    writable(folder / "setup.toml")
    handle = None if fcntl is None else os.open(folder, os.O_RDONLY)
    try:
        if handle is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise ValueError(f"another process is training in {folder}: expected another folder, or its end") from None
    try:
        yield
    finally:
        if made and not any(folder.iterdir()):
            folder.rmdir()
        if handle is not None:
            os.close(handle)


def _is_new(folder: Path, found: pd.DataFrame, resume: bool) -> None:
    """Raises ValueError for an interrupted training that is not to be continued."""
    if len(found) and not resume:
        raise ValueError(
            f"{folder} holds this training, interrupted after round {int(found['round'].iloc[-1])} of seed "
            f"{int(found['seed'].iloc[-1])}: expected --resume, or another folder"
        )


def _batched(setup: Setup, problem: Network, method: Any) -> Setup:
    """The set-up with batching and threads; those that it leaves open are chosen by a short trial."""
    if "batching" in setup.network and setup.threads is not None:
        return setup
    way, threads = fastest(problem, 1 if getattr(method, "sequential", False) else cost(method, problem).clients)
    network = {"batching": way, **setup.network}
    return replace(setup, network=network, threads=setup.threads or threads)


@dataclass(frozen=True)
class Pace:
    """What a training takes, in seconds, if all that it does goes as fast as one gradient of one client: an estimate."""

    step: float  # that gradient
    local_steps: float  # of a client, the mean
    round: float
    measurement: float  # a third of a step for each forward pass of as many images

    def whole(self, setup: Setup) -> float:
        """Seconds of all rounds and measurements of all seeds."""
        return len(setup.seeds) * (setup.rounds * self.round + len(setup.measured) * self.measurement)


def pace(problem: Network, method: Any, record: Sequence[str], clock: Callable[[], float] = time.perf_counter) -> Pace:
    """The pace of a training that records these quantities, from the faster one of two gradients.

    Raises ValueError for a module of the user's own that cannot be trained.
    """
    _ = problem.unstackable  # tries the module
    client = np.zeros((1, 1), np.int64)
    x = like(problem.start(0)[None, None, None], problem.example)
    draw, took = Draws.of_seeds(np.zeros(1, np.int64), 0).of(client, 1).step(0), []
    for _ in range(2):
        began = clock()
        on_host(problem.gradient(x, client, draw)[..., :1])  # waits for a GPU
        took.append(clock() - began)
    step, own = min(took), problem.steps
    local_steps = local_steps_of(method) if own is None else float(own.mean())
    images = {"value": len(problem.data.labels), "accuracy": len(problem.data.test_labels)}
    passes = images | {"grad_sq": 3 * images["value"], "test_value": images["accuracy"]}
    forward = step / 3 / min(int(problem.batch or problem.sizes[0]), int(problem.sizes[0]))
    of_round = step * cost(method, problem).clients * local_steps
    return Pace(step, local_steps, of_round, forward * sum(passes[name] for name in record))


# ------------------------------------------------------------------------------------------------ on a cluster


def train_there(
    setups: Mapping[Path, Setup], workshop: Workshop, resume: bool = False, progress: Progress | None = None
) -> None:
    """Train into these folders on the workers of a Dask scheduler, a task for each seed; a folder is as `train` leaves it.

    A seed's results are written as soon as they come.  A worker sees the images at the paths that the set-ups name, and
    there are no checkpoints: of a training whose worker dies another one does the seed again.  Set-ups for a GPU go to
    workers with the Dask resource GPU.

    Raises ValueError as `train`, and what a worker raises.
    """
    of: dict[Task, tuple[Path, Setup, int]] = {}
    for folder, asked in setups.items():
        if resume and (told := extension(asked, folder)):
            raise ValueError(
                f"{told}: expected this without --scheduler, because the state of a training is in its folder"
            )
        setup = _settled(asked.sealed(), folder)
        found = history(folder)
        if done(setup, found):
            continue
        _is_new(folder, found, resume)
        writable(folder / "setup.toml")
        gpu, text = setup.network.get("device", "cpu").startswith("cuda"), as_toml(setup)
        first = Task("choosing batches", "", "training", batched, (text,), kept=False, gpu=gpu)
        for seed in setup.seeds:
            if not len(found) or not _over(setup, found[found["seed"] == seed]):
                task = Task("training", "", "training", seed_apart, (seed,), (first,), kept=False, gpu=gpu)
                of[task] = folder, setup, seed
    for task in workshop.each(list(of), progress):
        if task in of:
            folder, setup, seed = of[task]
            _take(folder, setup, seed, workshop.results.pop(task))


def batched(text: str) -> str:
    """The set-up of a TOML text with batching and threads, as a TOML text."""
    setup = from_table(tomllib.loads(text))
    available(setup.network.get("device", "cpu"))
    problem = setup.problem()
    return as_toml(_batched(setup, problem, setup.method(problem)))


def seed_apart(seed: int, text: str) -> dict[str, bytes]:
    """Train one seed of the set-up of a TOML text; returns the files of its folder."""
    setup = from_table(tomllib.loads(text))
    with TemporaryDirectory(prefix="fedtheory-") as name:
        folder = Path(name, "training")
        train(replace(setup, seeds=(seed,)), folder)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return files | {"setup.toml": text.encode()}


def _take(folder: Path, setup: Setup, seed: int, files: Mapping[str, bytes]) -> None:
    """Put a seed, trained elsewhere, into the training's folder."""
    for name in ("environment.json", "setup.toml", f"seed-{seed}.npz"):  # in this order, see `train`
        if name.startswith("seed") or not (folder / name).exists():
            write(folder / name, files[name])
    before, new = history(folder), _read(io.BytesIO(files["history.csv"]))
    rows = pd.concat([before[before["seed"] != seed], new], ignore_index=True) if len(before) else new
    order = {s: i for i, s in enumerate(setup.seeds)}
    rows = rows.sort_values("seed", key=lambda column: column.map(order), kind="stable")
    write(folder / "history.csv", rows.to_csv(index=False, lineterminator="\n").encode())


# ------------------------------------------------------------------------------------------------ a seed


def _train_seed(
    setup: Setup,
    problem: Network,
    method: Any,
    seed: int,
    spent: Cost,
    folder: Path,
    before: pd.DataFrame,
    tell: Tell | None,
    checkpoint: float,
    begin: Callable[[], None],
) -> pd.DataFrame:
    """One seed, from its checkpoint if there is one; returns the history with it.  Calls `begin` before it first writes."""
    at = setup.measured
    running = RunState(
        problem,
        method,
        rounds=setup.rounds,
        seeds=[seed],
        x0=problem.start(seed),
        record=setup.record,
        at=at,
        decay=setup.decay,
    )
    kept = folder / f"seed-{seed}.npz"
    marks: dict[int, tuple[int, float]] = {0: (0, 0.0)}  # round: client steps, seconds
    if kept.exists():
        state = arrays_of(kept)
        marks = _restore(running, state, kept)
        _compare(folder, seed, state)
    others = before[before["seed"] != seed] if len(before) else before
    earlier, began, saved = marks[max(marks)][1], time.perf_counter(), time.perf_counter()
    earlier_steps = running.steps

    def table() -> pd.DataFrame:
        rows = _rows(running, seed, marks, spent)
        return pd.concat([others, rows], ignore_index=True) if len(others) else rows

    def save() -> None:
        begin()
        state, text = running.state(), table().to_csv(index=False, lineterminator="\n")
        steps, seconds = (np.array([mark[i] for mark in marks.values()]) for i in range(2))
        state |= {
            "mark.round": np.array(list(marks)),
            "mark.steps": steps,
            "mark.seconds": seconds,
            _MEASURED: np.array(at),
        }
        state[_CHECKSUM] = np.array(checksum(state))
        # The rows last: a process that is killed in between leaves the earlier ones
        savez(kept, state | {_ROWS: np.array([rows_of(text, seed), *_earlier(folder, seed)])})
        write(folder / "history.csv", text.encode())

    between = True  # False within a round: memories may then be ahead of the model
    try:
        while True:
            between = False
            if not running.advance():
                break
            between, now = True, time.perf_counter()
            if running.round in at or (running.diverged_at >= 0).all():
                marks[running.round] = (running.steps, earlier + now - began)
            if now - saved >= checkpoint:
                marks[running.round] = (running.steps, earlier + now - began)
                save()
                saved = time.perf_counter()
            if tell is not None:
                tell(_standing(running, seed, spent, (running.steps - earlier_steps) / max(now - began, 1e-9)))
    except KeyboardInterrupt:
        if between:
            marks[running.round] = (running.steps, earlier + time.perf_counter() - began)
            save()
        raise
    save()
    return table()


def checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    """A sha256 of the arrays: names, types, shapes and content."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def rows_of(text: str, seed: int) -> str:
    """A sha256 of a seed's rows in a history."""
    head, *rows = text.splitlines()
    return hashlib.sha256("\n".join([head, *(row for row in rows if row.startswith(f"{seed},"))]).encode()).hexdigest()


def _earlier(folder: Path, seed: int) -> list[str]:
    """The checksum of the seed's rows that are in the folder, if there is a history."""
    path = folder / "history.csv"
    return [rows_of(path.read_text(), seed)] if path.exists() else []


def _compare(folder: Path, seed: int, state: Mapping[str, NDArray[Any]] | None = None) -> None:
    """Raises ValueError unless the seed's rows in history.csv are those that the training wrote."""
    kept, path = folder / f"seed-{seed}.npz", folder / "history.csv"
    known = (arrays_of(kept) if state is None else state).get(_ROWS)
    if known is None:  # of a version without checksums
        return
    if not path.exists() or rows_of(path.read_text(), seed) not in known.tolist():
        raise ValueError(
            f"{path}: the rows of seed {seed} are not those that the training wrote: expected the file as it was, or "
            f"without {kept.name} the seed is trained anew"
        )


def _restore(running: RunState, state: Mapping[str, NDArray[Any]], kept: Path) -> dict[int, tuple[int, float]]:
    """Continue from a checkpoint; returns its marks.  Raises ValueError for one that is damaged or another run's."""
    own = {name: array for name, array in state.items() if name not in (_CHECKSUM, _ROWS)}
    if {*own} == {"x", "round"}:
        raise ValueError(
            f"{kept}: the model alone, of a version that could not extend a training: expected another folder, or without "
            "this file the seed is trained anew"
        )
    expected = f"expected the checkpoint that the training wrote; without {kept.name} the seed is trained anew"
    if str(state.get(_CHECKSUM)) != checksum(own):  # a text, whatever the array's shape
        raise ValueError(f"{kept}: the checksum is not that of its arrays: {expected}")
    try:
        if _MEASURED in own:  # an extended training may measure other rounds
            own = _remeasured(own, own.pop(_MEASURED), running.asked.kept)
        running.restore({name: array for name, array in own.items() if not name.startswith("mark.")})
        rounds, steps, seconds = (own[f"mark.{name}"].tolist() for name in ("round", "steps", "seconds"))
    except (ValueError, KeyError) as error:
        raise ValueError(f"{kept}: {reason(error)}: {expected}") from None
    return dict(zip(rounds, zip(steps, seconds, strict=True), strict=True))


def _remeasured(
    state: Mapping[str, NDArray[Any]], before: NDArray[Any], now: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """The state with its series (..., measured rounds) at other rounds: NaN at those that were not measured before."""
    slot = {int(r): i for i, r in enumerate(before)}
    found = dict(state)
    for name, values in state.items():
        if name.startswith("series."):
            columns = [values[..., slot[int(r)]] if int(r) in slot else np.full(values.shape[:-1], np.nan) for r in now]
            found[name] = np.stack(columns, axis=-1)
    return found


def _rows(running: RunState, seed: int, marks: Mapping[int, tuple[int, float]], spent: Cost) -> pd.DataFrame:
    """The history of a seed so far.  The round of a divergence has no numbers; the rounds after it have no rows."""
    data = running.dataset().isel(step_size=0, seed=0)
    gone = int(data.diverged_at)
    kept = [r for r in data["round"].values.tolist() if r <= running.round and (gone < 0 or r < gone)]
    kept += [gone] if gone >= 0 else []
    rows = []
    for r in kept:
        steps, seconds = marks.get(r, marks[max(m for m in marks if m <= r)])
        measured = {name: math.nan if r == gone else float(data[name].sel(round=r)) for name in running.series}
        rows.append(
            {"seed": seed, "round": r, "status": "diverged" if r == gone else "ran"}
            | measured
            | {"bits_up": r * spent.clients * spent.up, "bits_down": r * spent.clients * spent.down}
            | {"client_steps": int(steps), "seconds": float(seconds)}
        )
    return pd.DataFrame(rows)


def _standing(running: RunState, seed: int, spent: Cost, rate: float) -> Standing:
    slots = [i for i, r in enumerate(running.asked.kept) if r <= running.round]
    latest = {name: float(values[0, 0, slots[-1]]) for name, values in running.series.items()}
    return Standing(seed, running.round, running.rounds, latest, running.round * spent.clients * spent.up, rate)


# ------------------------------------------------------------------------------------------------ folders


def history(folder: Path) -> pd.DataFrame:
    """The measurements so far; empty if there are none.  Raises ValueError if the file is not a history."""
    path = folder / "history.csv"
    if not path.exists():
        return pd.DataFrame()
    try:
        return _read(path)
    except (ValueError, OSError) as error:  # ValueError: pandas' own and decoding errors
        raise ValueError(f"{path}: {reason(error)}; expected the history of a training") from None


def _read(file: Any) -> pd.DataFrame:
    """A history, its numbers as exact as they were written.  Raises ValueError."""
    found = pd.read_csv(file, dtype=str, keep_default_na=False)
    if not set(found.columns) >= _COLUMNS:
        raise ValueError(f"columns {brief(', '.join(map(str, found.columns)))}")
    for name in set(found.columns) - {"status"}:
        if name in ("seed", "round") or all(cell.lstrip("-").isdigit() for cell in found[name]):
            found[name] = [int(cell) for cell in found[name]]
        else:
            found[name] = [float(cell or "nan") for cell in found[name]]
    return found


def trained(folder: Path) -> Setup | None:
    """The set-up in a folder, or None.  Raises ValueError if the file is not a set-up."""
    path = folder / "setup.toml"
    return read_setup(path) if path.exists() else None


def about(folder: Path) -> dict[str, Any]:
    """The environment of a training, as `environment` gave it."""
    path = folder / "environment.json"
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else reason(error)
        raise ValueError(f"{path}: {why}; expected the environment of a training") from None
    if not isinstance(found, dict) or not {"d", "participants"} <= set(found):
        raise ValueError(f"{path} without d and participants: expected the environment of a training")
    return found


def read_setup(path: Path, source: str | None = None) -> Setup:
    """A set-up from a TOML file.  Raises ValueError, which names the file.

    source  the Python file of its algorithm, instead of the one that the set-up names relative to itself
    """
    try:
        if path.exists() and not path.is_file():  # a pipe may have no end
            raise OSError(EINVAL, "it is no file")
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        algorithm = table.get("algorithm")
        if source is not None and isinstance(algorithm, dict):
            algorithm["from"] = str(Path(source).resolve())
        elif isinstance(algorithm, dict) and isinstance(algorithm.get("from"), str):
            algorithm["from"] = str((path.parent / algorithm["from"]).resolve())
        return from_table(located(table, path.parent))
    except OSError as error:
        raise ValueError(f"{brief(str(path))}: {error.strerror}; expected a TOML file with a set-up") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError, RecursionError) as error:
        raise ValueError(f"{brief(str(path))}: {reason(error)}; expected a TOML file with a set-up") from None
    except ValueError as error:
        raise ValueError(f"{brief(str(path))}: {error}") from None


def located(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The tables of a set-up with whole paths of the user's own data and network, which are relative to the folder."""
    found = dict(table)
    data, network = found.get("data"), found.get("network")
    if isinstance(data, dict) and data.get("name") == own.NAME:
        named = {name: data[name] for name in ("path", "test") if isinstance(data.get(name), str)}
        found["data"] = data | {name: str((folder / value).resolve()) for name, value in named.items()}
    if isinstance(network, dict) and own.is_own(network.get("model")):
        file, _, name = network["model"].rpartition(":")
        found["network"] = network | {"model": f"{(folder / file).resolve()}:{name}"}
    return found


def done(setup: Setup, found: pd.DataFrame) -> bool:
    """Whether the history has all seeds, each to its end."""
    return len(found) > 0 and all(_over(setup, found[found["seed"] == seed]) for seed in setup.seeds)


def _over(setup: Setup, rows: pd.DataFrame) -> bool:
    return bool(len(rows)) and bool((rows["round"].max() == setup.rounds) or (rows["status"] == "diverged").any())


def extension(setup: Setup, folder: Path) -> str:
    """What `train` with `resume` would do to a training of fewer rounds, in words; empty where there is none to extend."""
    there = trained(folder)
    if there is None or there.rounds >= setup.rounds:
        return ""
    return f"{folder}: extends the training from {there.rounds} to {setup.rounds} rounds"


def _settled(setup: Setup, folder: Path, extend: bool = False) -> Setup:
    """The set-up with the batching and threads of the one in the folder.  Raises ValueError if that is another one.

    extend  the one in the folder may have fewer rounds
    """
    try:
        is_file = folder.exists() and not folder.is_dir()
    except (OSError, ValueError) as error:  # such as a name that is too long
        why = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{brief(str(folder))}: {why}; expected an empty or new folder") from None
    if is_file:
        raise ValueError(f"{brief(str(folder))} is a file: expected an empty or new folder")
    there = trained(folder)
    if there is None:
        if folder.exists() and not all(_is_first(p.name) for p in folder.iterdir()):
            raise ValueError(f"{folder} holds no training, but other files: expected an empty or new folder")
        return setup
    chosen = {"batching": there.network["batching"]} if "batching" in there.network else {}
    wanted = replace(setup, network={**chosen, **setup.network}, threads=setup.threads or there.threads)
    alike = replace(there, sha256=there.sha256 or wanted.sha256)  # older versions kept no checksums
    differing = differences(alike, wanted)
    more = [one for one in differing if not one.startswith("rounds:")]
    if not more and there.rounds > wanted.rounds:
        raise ValueError(
            f"{folder} holds {there.rounds} rounds, more than rounds = {wanted.rounds}: expected as many or more, or "
            "another folder"
        )
    if not more and there.rounds < wanted.rounds and extend:
        return wanted
    if not more and differing:
        raise ValueError(
            f"{folder} holds another set-up ({differing[0]} here): expected the same, --resume to extend it, or another "
            "folder"
        )
    if differing and all(one.startswith("sha256.") for one in differing):
        what = differing[0].removeprefix("sha256.").partition(":")[0]
        raise ValueError(
            f"{wanted.files[what]} has changed since {folder} was begun: expected the same file, or another folder"
        )
    if differing:
        raise ValueError(f"{folder} holds another set-up ({differing[0]} here): expected the same, or another folder")
    return wanted


def _is_first(name: str) -> bool:
    """Whether a file is one of the first of a training, whole or not."""
    return name in _FIRST or (name.startswith(_FIRST) and name.endswith(PARTIAL))


def differences(one: Setup, other: Setup) -> list[str]:
    """The settings in which two set-ups differ: "rounds: 100, 200", the value of `one` first; "-" for no value."""
    a, b = summary(one), summary(other)
    names = [name for name in {**a, **b} if _plain(a.get(name, "-")) != _plain(b.get(name, "-"))]
    return [f"{name}: {_plain(a.get(name, '-'))}, {_plain(b.get(name, '-'))}" for name in names]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def as_toml(setup: Setup) -> str:
    """The set-up as a TOML file: plain values first, then the tables."""
    table = setup.table()
    lines = [f"{name} = {json.dumps(value)}" for name, value in table.items() if not isinstance(value, dict)]
    for name, inner in table.items():
        if isinstance(inner, dict):
            entries = [f"{key} = {json.dumps(value)}" for key, value in inner.items() if value is not None]
            lines += ["", f"[{name}]", *entries]
    return "\n".join(lines) + "\n"


def savez(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to an .npz file, whole or not at all."""
    with whole(path) as partial, partial.open("wb") as file:
        np.savez(file, allow_pickle=False, **dict(arrays))


def environment(setup: Setup, problem: Network) -> dict[str, Any]:
    """Start time, versions, machine and data of a training."""
    import torch

    device = setup.network.get("device", "cpu")
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        **{package: version(package) for package in ("fedtheory", "torch", "numpy")},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
        "d": problem.d,
        "clients": problem.M,
        "images of each client": problem.sizes.tolist(),
        "problem": dict(problem.provenance),
    }


def repeatable(device: str) -> Any:
    """A context: on a GPU, convolutions are deterministic and in full float32."""
    if not device.startswith("cuda"):
        return nullcontext()
    import torch

    return torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)
