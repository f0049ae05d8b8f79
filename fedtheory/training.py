"""A training is a folder: its set-up, its environment, its measurements, and checkpoints from which it can continue.

FOLDER/setup.toml         the set-up; `fedtheory train` reads it again
FOLDER/environment.json   versions, machine, data, and the numbers of parameters and clients
FOLDER/history.csv        one row for each seed and measured round
FOLDER/seed-0.npz         the run state until the seed is done, then the model
"""

from __future__ import annotations

import io
import json
import math
import os
import platform
import time
import tomllib
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bounds.communication import Cost, cost
from bounds.presets import summary
from fedtheory.tasks import Progress, Task, Workshop
from figures.files import write
from simulations.engine import RunState, requested
from simulations.networks.problem import Network, available, fastest, threads_of
from simulations.networks.setup import Setup, from_table

CHECKPOINT = 30.0  # seconds between checkpoints
_FIRST = ("environment.json", "setup.toml")  # the first files of a training; one that was killed may have no others
_RUNNING = ("x", "round")  # the arrays of a checkpoint that a finished model keeps


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
    from its last checkpoint and gives the same numbers as without the interruption.

    checkpoint  seconds between checkpoints; 0: after every round

    Raises ValueError if the folder holds another set-up or other files, or an interrupted training without `resume`;
    and what images, network and algorithm raise.
    """
    setup = _settled(setup, folder)
    found = history(folder)
    if done(setup, found):
        return found
    available(setup.network.get("device", "cpu"))
    _is_new(folder, found, resume)
    problem, method = setup.problem(), setup.method()
    requested(problem, method, setup.rounds, 0.0, setup.record, None, 1.0)  # refuses before anything is written
    spent = cost(method, problem)
    setup = _batched(setup, problem, method)
    problem = replace(problem, batching=setup.network["batching"])
    if not (folder / "setup.toml").exists():
        here = environment(setup, problem) | {"participants": spent.clients}
        write(folder / "environment.json", json.dumps(here, indent=2).encode())
        write(folder / "setup.toml", as_toml(setup).encode())  # last: a folder with it has environment.json too
    with repeatable(setup.network.get("device", "cpu")), threads_of(setup.threads or 1):
        for seed in setup.seeds:
            rows = found[found["seed"] == seed] if len(found) else found
            if len(rows) and _over(setup, rows):
                continue
            found = _train_seed(setup, problem, method, seed, spent, folder, found, tell, checkpoint)
    return found


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
        setup = _settled(asked, folder)
        found = history(folder)
        if done(setup, found):
            continue
        _is_new(folder, found, resume)
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
    return as_toml(_batched(setup, setup.problem(), setup.method()))


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
    before, new = history(folder), pd.read_csv(io.BytesIO(files["history.csv"]))
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
) -> pd.DataFrame:
    """One seed, from its checkpoint if there is one; returns the history with it."""
    at = sorted({*range(0, setup.rounds + 1, setup.every), setup.rounds})
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
        with np.load(kept) as state:
            running.restore({name: state[name] for name in state.files if not name.startswith("mark.")})
            marks = dict(
                zip(
                    state["mark.round"].tolist(),
                    zip(state["mark.steps"], state["mark.seconds"], strict=True),
                    strict=True,
                )
            )
    others = before[before["seed"] != seed] if len(before) else before
    earlier, began, saved = marks[max(marks)][1], time.perf_counter(), time.perf_counter()
    earlier_steps = running.steps

    def table() -> pd.DataFrame:
        rows = _rows(running, seed, marks, spent)
        return pd.concat([others, rows], ignore_index=True) if len(others) else rows

    def save() -> None:
        state = running.state()
        rounds = np.array(list(marks))
        steps, seconds = (np.array([mark[i] for mark in marks.values()]) for i in range(2))
        savez(kept, state | {"mark.round": rounds, "mark.steps": steps, "mark.seconds": seconds})
        write(folder / "history.csv", table().to_csv(index=False, lineterminator="\n").encode())

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
    final = running.state()
    savez(kept, {name: final[name] for name in _RUNNING})
    return table()


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
        found = pd.read_csv(path)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}; expected the history of a training") from None
    if not {"seed", "round", "status", "bits_up"} <= set(found.columns):
        raise ValueError(f"{path} with columns {', '.join(found.columns)}: expected the history of a training")
    return found


def trained(folder: Path) -> Setup | None:
    """The set-up in a folder, or None.  Raises ValueError if the file is not a set-up."""
    path = folder / "setup.toml"
    return read_setup(path) if path.exists() else None


def about(folder: Path) -> dict[str, Any]:
    """The environment of a training, as `environment` gave it."""
    found: dict[str, Any] = json.loads((folder / "environment.json").read_text())
    return found


def read_setup(path: Path) -> Setup:
    """A set-up from a TOML file.  Raises ValueError, which names the file and the error; FileNotFoundError."""
    try:
        return from_table(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def done(setup: Setup, found: pd.DataFrame) -> bool:
    """Whether the history has all seeds, each to its end."""
    return len(found) > 0 and all(_over(setup, found[found["seed"] == seed]) for seed in setup.seeds)


def _over(setup: Setup, rows: pd.DataFrame) -> bool:
    return bool(len(rows)) and bool((rows["round"].max() == setup.rounds) or (rows["status"] == "diverged").any())


def _settled(setup: Setup, folder: Path) -> Setup:
    """The set-up with the batching and threads of the one in the folder.  Raises ValueError if that is another one."""
    there = trained(folder)
    if there is None:
        if folder.exists() and any(p.name.removesuffix(".partial") not in _FIRST for p in folder.iterdir()):
            raise ValueError(f"{folder} holds no training, but other files: expected an empty or new folder")
        return setup
    chosen = {"batching": there.network["batching"]} if "batching" in there.network else {}
    wanted = replace(setup, network={**chosen, **setup.network}, threads=setup.threads or there.threads)
    differing = differences(there, wanted)
    if differing:
        raise ValueError(f"{folder} holds another set-up ({differing[0]} here): expected the same, or another folder")
    return wanted


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
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        np.savez(file, allow_pickle=False, **dict(arrays))
    os.replace(partial, path)


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
