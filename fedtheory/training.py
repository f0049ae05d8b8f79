"""Trainings in folders: what was set up, where it ran, what was measured, and a checkpoint from which it goes on.

FOLDER/setup.toml         the set-up; `fedtheory train` reads it again
FOLDER/environment.json   versions, machine, data, and the numbers of parameters and clients
FOLDER/history.csv        one row a seed and measured round
FOLDER/seed-0.npz         until the seed is done: all that the rest of its run depends on; then the model
"""

from __future__ import annotations

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
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bounds.communication import Cost, cost
from bounds.presets import summary
from figures.files import write
from simulations.algorithms.sfl import SFL, SSL
from simulations.engine import Course, requested
from simulations.networks.problem import Network, available, fastest, threads_of
from simulations.networks.setup import Setup, from_table

CHECKPOINT = 30.0  # seconds between checkpoints
_FIRST = ("environment.json", "setup.toml")  # what a training writes first, perhaps before it is killed
_RUNNING = ("x", "round")  # of the arrays of a checkpoint, those that a finished model keeps


@dataclass(frozen=True)
class Standing:
    """How far a training is, for whoever looks on."""

    seed: int
    round: int
    rounds: int
    latest: Mapping[str, float]  # what was measured last
    bits_up: float  # sent by all participants together
    rate: float  # client steps per second


Tell = Callable[[Standing], None]


def train(
    setup: Setup, folder: Path, resume: bool = False, tell: Tell | None = None, checkpoint: float = CHECKPOINT
) -> pd.DataFrame:
    """Train, seed by seed, and keep everything in the folder; returns the history.

    A folder that has this very training, done, is read and nothing is run.  With `resume`, one that was interrupted goes
    on at its last checkpoint, to the same numbers as if it had not been.

    checkpoint  seconds between checkpoints; 0: after every round

    Raises ValueError for a folder that holds another set-up or anything else, or an interrupted one without `resume`; and
    what images, network and algorithm raise.
    """
    setup = _settled(setup, folder)
    found = history(folder)
    if done(setup, found):
        return found
    available(setup.network.get("device", "cpu"))
    if len(found) and not resume:
        raise ValueError(
            f"{folder} holds this training, interrupted after round {int(found['round'].iloc[-1])} of seed "
            f"{int(found['seed'].iloc[-1])}: expected --resume, or another folder"
        )
    problem, method = setup.problem(), setup.method()
    requested(problem, method, setup.rounds, 0.0, setup.record, None, 1.0)  # refused before anything is written
    spent = cost(method, problem)
    if "batching" not in setup.network or setup.threads is None:
        way, threads = fastest(problem, 1 if isinstance(method, SFL | SSL) else spent.clients)
        way = setup.network.get("batching", way)
        setup = replace(setup, network={**setup.network, "batching": way}, threads=setup.threads or threads)
        problem = replace(problem, batching=way)
    if not (folder / "setup.toml").exists():
        here = environment(setup, problem) | {"participants": spent.clients}
        write(folder / "environment.json", json.dumps(here, indent=2).encode())
        write(folder / "setup.toml", as_toml(setup).encode())  # last: a folder with it has all the rest
    with repeatable(setup.network.get("device", "cpu")), threads_of(setup.threads or 1):
        for seed in setup.seeds:
            rows = found[found["seed"] == seed] if len(found) else found
            if len(rows) and _over(setup, rows):
                continue
            found = _train_seed(setup, problem, method, seed, spent, folder, found, tell, checkpoint)
    return found


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
    course = Course(
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
            course.restore({name: state[name] for name in state.files if not name.startswith("mark.")})
            marks = dict(
                zip(
                    state["mark.round"].tolist(),
                    zip(state["mark.steps"], state["mark.seconds"], strict=True),
                    strict=True,
                )
            )
    others = before[before["seed"] != seed] if len(before) else before
    earlier, began, saved = marks[max(marks)][1], time.perf_counter(), time.perf_counter()
    earlier_steps = course.steps

    def table() -> pd.DataFrame:
        rows = _rows(course, seed, marks, spent)
        return pd.concat([others, rows], ignore_index=True) if len(others) else rows

    def save() -> None:
        state = course.state()
        rounds = np.array(list(marks))
        steps, seconds = (np.array([mark[i] for mark in marks.values()]) for i in range(2))
        savez(kept, state | {"mark.round": rounds, "mark.steps": steps, "mark.seconds": seconds})
        write(folder / "history.csv", table().to_csv(index=False, lineterminator="\n").encode())

    between = True  # rounds: in the middle of one, memories may have gone on without the model
    try:
        while True:
            between = False
            if not course.advance():
                break
            between, now = True, time.perf_counter()
            if course.round in at or (course.diverged_at >= 0).all():
                marks[course.round] = (course.steps, earlier + now - began)
            if now - saved >= checkpoint:
                marks[course.round] = (course.steps, earlier + now - began)
                save()
                saved = time.perf_counter()
            if tell is not None:
                tell(_standing(course, seed, spent, (course.steps - earlier_steps) / max(now - began, 1e-9)))
    except KeyboardInterrupt:
        if between:
            marks[course.round] = (course.steps, earlier + time.perf_counter() - began)
            save()
        raise
    save()
    final = course.state()
    savez(kept, {name: final[name] for name in _RUNNING})
    return table()


def _rows(course: Course, seed: int, marks: Mapping[int, tuple[int, float]], spent: Cost) -> pd.DataFrame:
    """The history of a seed so far; the rounds after it diverged have no rows, the one in which it did has no numbers."""
    data = course.dataset().isel(step_size=0, seed=0)
    gone = int(data.diverged_at)
    kept = [r for r in data["round"].values.tolist() if r <= course.round and (gone < 0 or r < gone)]
    kept += [gone] if gone >= 0 else []
    rows = []
    for r in kept:
        steps, seconds = marks.get(r, marks[max(m for m in marks if m <= r)])
        measured = {name: math.nan if r == gone else float(data[name].sel(round=r)) for name in course.series}
        rows.append(
            {"seed": seed, "round": r, "status": "diverged" if r == gone else "ran"}
            | measured
            | {"bits_up": r * spent.clients * spent.up, "bits_down": r * spent.clients * spent.down}
            | {"client_steps": int(steps), "seconds": float(seconds)}
        )
    return pd.DataFrame(rows)


def _standing(course: Course, seed: int, spent: Cost, rate: float) -> Standing:
    slots = [i for i, r in enumerate(course.asked.kept) if r <= course.round]
    latest = {name: float(values[0, 0, slots[-1]]) for name, values in course.series.items()}
    return Standing(seed, course.round, course.rounds, latest, course.round * spent.clients * spent.up, rate)


# ------------------------------------------------------------------------------------------------ folders


def history(folder: Path) -> pd.DataFrame:
    """What was measured so far; empty where nothing was.  Raises ValueError for a file that is no history."""
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
    """The set-up that a folder holds; None where there is none.  Raises ValueError for a file that is none."""
    path = folder / "setup.toml"
    return read_setup(path) if path.exists() else None


def about(folder: Path) -> dict[str, Any]:
    """What `environment` wrote about a training."""
    found: dict[str, Any] = json.loads((folder / "environment.json").read_text())
    return found


def read_setup(path: Path) -> Setup:
    """A set-up from a TOML file.  Raises ValueError, naming the file and what is wrong; FileNotFoundError."""
    try:
        return from_table(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def done(setup: Setup, found: pd.DataFrame) -> bool:
    """Whether the history has all seeds to their ends."""
    return len(found) > 0 and all(_over(setup, found[found["seed"] == seed]) for seed in setup.seeds)


def _over(setup: Setup, rows: pd.DataFrame) -> bool:
    return bool(len(rows)) and bool((rows["round"].max() == setup.rounds) or (rows["status"] == "diverged").any())


def _settled(setup: Setup, folder: Path) -> Setup:
    """The set-up with the batching and threads that the folder has.  Raises ValueError where that holds another one."""
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
    """In which settings two set-ups differ: "rounds: 100, 200", those of one first; "-" where there is none."""
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
    """Where and with what a training ran."""
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
    """On a GPU: convolutions by algorithms that give the same numbers every time, in full float32."""
    if not device.startswith("cuda"):
        return nullcontext()
    import torch

    return torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)
