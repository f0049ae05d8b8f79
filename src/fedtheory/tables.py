"""Trainings of a preset beside the printed numbers: `fedtheory train`, `fedtheory table`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from fedtheory import training
from fedtheory.bounds.presets import Cell, Preset
from fedtheory.figures import gallery
from fedtheory.figures.training import curves
from fedtheory.simulations.checked import affordable, brief
from fedtheory.simulations.networks import images, own
from fedtheory.simulations.networks.problem import threads_of
from fedtheory.simulations.networks.setup import Setup

# Published data sets: image shape, classes, training and test images, and the noise of generated images that replace them.
# With this noise the best small convolutional network of the papers on the data set, trained centrally, is as accurate as
# printed (`python -m benchmarks.difficulty`).  For EMNIST no paper prints an accuracy: the noise is MNIST's.  For Tiny
# ImageNet the only printed network is a pretrained ViT: the noise is that of CIFAR-100.
SIZES = {
    "mnist": ((1, 28, 28), 10, 60_000, 10_000, 0.15),
    "fashion-mnist": ((1, 28, 28), 10, 60_000, 10_000, 0.68),
    "emnist-byclass": ((1, 28, 28), 62, 697_932, 116_323, 0.15),
    "emnist": ((1, 28, 28), 62, 697_932, 116_323, 0.15),
    "emnist-digits": ((1, 28, 28), 10, 240_000, 40_000, 0.15),
    "cifar-10": ((3, 32, 32), 10, 50_000, 10_000, 0.95),
    "cifar-100": ((3, 32, 32), 100, 50_000, 10_000, 0.57),
    "svhn": ((3, 32, 32), 10, 73_257, 26_032, 1.0),
    "tiny-imagenet": ((3, 64, 64), 200, 100_000, 10_000, 0.57),
    "cinic-10": ((3, 32, 32), 10, 90_000, 90_000, 1.5),
    "cinic-10-enlarged": ((3, 32, 32), 10, 180_000, 90_000, 1.5),
}


def slug(name: str) -> str:
    """The name in a form that a folder can have."""
    return name.replace(", ", "-").replace(" ", "-")


def on(setup: Setup, data: str | None) -> Setup:
    """The set-up with images from the folder `data`; "generated": with generated ones of that size; None: unchanged.

    Raises ValueError for other data than images, and for a folder where none is needed or none where one is.
    """
    name = setup.data["name"]
    if name == own.NAME:
        return (
            setup if data is None else replace(setup, data={**setup.data, "path": str(Path(data).resolve())}, sha256={})
        )
    if name in images.EMBEDDED:
        if data is not None:
            raise ValueError(f"{name} is read from no file: expected no --data")
        return setup
    if name not in images.READERS:
        mine = f"{own.NAME} with path, your own table or folder of images"
        raise ValueError(f"no images {brief(name)!r}: expected one of {', '.join(images.READERS)}, or {mine}")
    if data is None and "path" not in setup.data:
        raise ValueError(
            f"{name} is read from files: expected --data FOLDER, or --data generated for generated images of that size"
        )
    if data == "generated":
        if name not in SIZES:
            raise ValueError(
                f"data.name = {name!r}: no size is known for generated images; expected {', '.join(SIZES)}"
            )
        shape, classes, train, test, noise = SIZES[name]
        counts = {"classes": classes, "train": train, "test": test}
        stand_in = {"name": "generated", "shape": list(shape), **counts, "noise": noise}
        return replace(setup, data={k: v for k, v in setup.data.items() if k not in ("name", "path")} | stand_in)
    return replace(setup, data={**setup.data, **({} if data is None else {"path": str(data)})})


def chosen(preset: Preset, cells: list[str] | None) -> Preset:
    """The preset, only with cells whose method and column contain one of the texts.  Raises ValueError if none do."""
    if not cells:
        return preset
    kept = tuple(c for c in preset.cells if any(text in f"{c.method} {c.column}" for text in cells))
    if not kept:
        names = "; ".join(f"{c.method} {c.column}" for c in preset.cells[:8])
        raise ValueError(
            f"no cell of {preset.id} has {' or '.join(cells)} in its name: expected part of a name, such as {names}"
        )
    return replace(preset, cells=kept)


@dataclass(frozen=True)
class Result:
    """The results of a cell's training over its seeds.

    accuracy, std  in percent, as the preset's `accuracy` and `last` say; std is NaN for one number
    loss           training loss at the end
    floats         sent up by a client until the mean accuracy reaches the target, in units of d
    """

    seeds: int
    diverged: int
    accuracy: float
    std: float
    loss: float
    floats: float | None
    bits_up: float
    rate: float


def found(preset: Preset, cell: Cell, setup: Setup, rows: pd.DataFrame, d: int, participants: int) -> Result:
    """The results in a history, as in the paper's table."""
    diverged = set(rows[rows["status"] == "diverged"]["seed"])
    ran = rows[~rows["seed"].isin(diverged)]
    seeds = rows["seed"].nunique()
    late = ran[ran["round"] > setup.rounds - preset.averaged(setup.rounds)]
    averaged = {
        "late": late["accuracy"],
        "late, by seed": late.groupby("seed")["accuracy"].mean(),
        "best": ran.groupby("seed")["accuracy"].max(),
    }
    means = 100 * averaged[preset.accuracy].to_numpy()
    ends = ran[ran["round"] == setup.rounds]
    floats: float | None = None
    if cell.target is not None:
        by_round = ran.groupby("round")[["accuracy", "bits_up"]].mean()
        there = by_round[100 * by_round["accuracy"] >= cell.target]
        floats = math.inf if there.empty else float(there["bits_up"].iloc[0]) / (participants * 32 * d)
    last_rows = rows.groupby("seed")[["client_steps", "seconds"]].max().sum()
    return Result(
        seeds=seeds,
        diverged=len(diverged),
        accuracy=float(means.mean()) if len(means) else math.nan,
        std=float(means.std(ddof=1)) if len(means) > 1 else math.nan,
        loss=float(ends["value"].mean()) if "value" in ends and len(ends) else math.nan,
        floats=floats,
        bits_up=float(rows["bits_up"].max()),
        rate=float(last_rows["client_steps"] / max(last_rows["seconds"], 1e-9)),
    )


def of_cells(preset: Preset, folder: Path) -> Iterator[tuple[Cell, Setup, pd.DataFrame, Result]]:
    """The cells whose training is complete, each with its set-up, its history and its results."""
    for cell in preset.cells:
        setup = training.trained(folder / cell.name)
        if setup is None:
            continue
        rows = training.history(folder / cell.name)
        if not training.done(setup, rows):
            continue
        about = training.about(folder / cell.name)
        yield cell, setup, rows, found(preset, cell, setup, rows, about["d"], about["participants"])


def train_preset(
    preset: Preset,
    folder: Path,
    resume: bool,
    tell: Callable[[str], training.Tell],
    checkpoint: float = training.CHECKPOINT,
    **changes: Any,
) -> None:
    """Train every cell into its own folder.  Changes: data, device, rounds, seeds, as in `changed`."""
    setups = setups_of(preset, **changes)
    for number, (cell, setup) in enumerate(zip(preset.cells, setups, strict=True), 1):
        what = f"{number} of {len(setups)}: {cell.method} {cell.column}"
        training.train(setup, folder / cell.name, resume, tell(what), checkpoint)


def forecast(setups: Mapping[Path, Setup]) -> str:
    """How long the trainings without any history take here, if each is as fast as the first of them.

    Empty for ten minutes or less.
    """
    new = [setup for folder, setup in setups.items() if not (folder / "history.csv").exists()]
    if not new:
        return ""
    problem = new[0].problem()
    with threads_of(new[0].threads or 1):
        pace = training.pace(problem, new[0].method(problem), new[0].record)
    seconds = sum(map(pace.whole, new))
    if seconds <= 600:
        return ""
    long = f"{seconds / 3600:.2g} hours" if seconds < 360_000 else f"{seconds / 86400:,.0f} days"
    return (
        f"about {long} here, estimated from one step of a client ({pace.step:.2g} s); "
        f"a round takes about {pace.round:.2g} s, a measurement {pace.measurement:.2g} s"
    )


def setups_of(preset: Preset, **changes: Any) -> list[Setup]:
    """The set-ups of a preset's cells, with changes as in `changed`."""
    return [changed(cell.setup, **{"seeds": tuple(range(preset.seeds)), **changes}) for cell in preset.cells]


def changed(
    setup: Setup,
    seeds: tuple[int, ...] | None = None,
    data: str | None = None,
    device: str | None = None,
    rounds: int | None = None,
    model: str | None = None,
) -> Setup:
    """The set-up with the changes that the command line asks for."""
    setup = on(setup, data)
    if model is not None:
        setup = replace(setup, network={**setup.network, "model": model}, sha256={})
    if device is not None:
        setup = replace(setup, network={**setup.network, "device": device})
    if rounds is not None:
        setup = replace(setup, rounds=rounds)
    return setup if seeds is None else replace(setup, seeds=seeds)


def in_words(setup: Setup) -> str:
    """Network, images, their partition among the clients, and the number of rounds."""
    data = setup.data
    own = ", ".join(f"{name} {data[name]:g}" for name in ("C", "alpha", "shards_per_client") if name in data)
    dealt = data.get("partition", "iid") + (f" ({own})" if own else "")
    return f"{setup.network['model']} on {data['name']}, {data['clients']} clients, {dealt}, {setup.rounds} rounds"


def draw(preset: Preset, folder: Path) -> list[Path]:
    """One figure for each trained column, one line for each method: curves-COLUMN.png, .svg and .csv in the folder."""
    columns: dict[str, dict[str, pd.DataFrame]] = {}
    trained: dict[str, set[str]] = {}
    for cell, setup, rows, _ in of_cells(preset, folder):
        columns.setdefault(cell.column, {})[cell.method] = rows
        trained.setdefault(cell.column, set()).add(in_words(setup))
    written = []
    for column, histories in columns.items():
        plain = "".join(c if c.isalnum() or c in "+-.=" else "_" for c in column)
        title = f"{preset.id}{', ' if column else ''}{column}\ntrained here: {'; '.join(sorted(trained[column]))}"
        written += draw_curves(f"curves-{plain}" if plain else "curves", title, histories, folder)
    return written


def draw_curves(name: str, title: str, histories: Mapping[str, pd.DataFrame], folder: Path) -> list[Path]:
    """Write one figure of trainings by their labels: PNG, SVG and a CSV of the drawn numbers."""
    return gallery.save(gallery.Picture(name, title, lambda full: curves(histories, title)), folder)


def print_found(preset: Preset, folder: Path, out: Console) -> int:
    """Print our numbers beside the printed ones; returns the number of cells."""
    cells = list(of_cells(preset, folder))
    others = [bool(cell.printed) and setup.data["name"] in images.EMBEDDED for cell, setup, _, _ in cells]
    with_floats = any(cell.target is not None for cell, *_ in cells)
    head = ["method", "column", "printed %", "here %", *(["printed floats/d", "here"] if with_floats else [])]
    table = Table(*head, "loss", "seeds", "Mbit up", "client steps/s", box=None, pad_edge=False)
    for (cell, _, _, got), other in zip(cells, others, strict=True):
        printed = cell.printed
        row = [
            cell.method,
            cell.column + (" (*)" if other else ""),
            _accuracy(printed.get("accuracy"), printed.get("std")),
        ]
        row.append("diverged" if got.diverged == got.seeds else _accuracy(got.accuracy, got.std))
        if with_floats:
            row += [_number(printed.get("floats")), _number(got.floats)]
        seeds = f"{got.seeds}" + (f", {got.diverged} diverged" if got.diverged else "")
        out_row = [*row, f"{got.loss:.4g}", seeds, f"{got.bits_up / 1e6:.4g}", f"{got.rate:.0f}"]
        table.add_row(*out_row)
    out.print(table)
    if any(others):
        out.print("(*) other images than in print: our numbers and the printed ones cannot be compared")
    for words in sorted({in_words(setup) for _, setup, _, _ in cells}):
        out.print(f"trained here: {words}")
    return len(cells)


def _accuracy(mean: float | None, std: float | None) -> str:
    if mean is None or math.isnan(mean):
        return "-"
    return f"{mean:.2f}" + ("" if std is None or math.isnan(std) else f" ± {std:.2f}")


def _number(value: float | None) -> str:
    return "-" if value is None else "never" if math.isinf(value) else f"{value:.3g}"


def set_up_differences(whole: Preset, small: Preset, folder: Path) -> list[str]:
    """Settings in which the trainings in the folder differ from the preset: "setting: printed, here (in how many)"."""
    printed = {(c.method, c.column): c.setup for c in whole.cells}
    where: dict[str, int] = {}
    cells = list(of_cells(small, folder))
    for cell, setup, _, _ in cells:
        for difference in training.differences(printed[cell.method, cell.column], setup):
            if not difference.startswith(("network.batching:", "threads:", "seeds:")):
                where[difference] = where.get(difference, 0) + 1
    return [d if count == len(cells) else f"{d} (in {count} of {len(cells)})" for d, count in where.items()]


def order_kept(cells: list[tuple[Cell, Result]]) -> tuple[int, int]:
    """(Same, all): of all pairs of methods in a column with different printed accuracies, how many ours order the same.

    A method that diverged with every seed counts as less accurate than one that did not.
    """
    same = total = 0
    for i, (a, ours_a) in enumerate(cells):
        for b, ours_b in cells[i + 1 :]:
            if a.column == b.column and "accuracy" in a.printed and "accuracy" in b.printed:
                gap = a.printed["accuracy"] - b.printed["accuracy"]
                ours = np.nan_to_num(ours_a.accuracy, nan=-1.0) - np.nan_to_num(ours_b.accuracy, nan=-1.0)
                total += gap != 0
                same += gap * ours > 0
    return same, total


def which_seeds(text: str) -> tuple[int, ...]:
    """The seeds from their number, such as "3" (0, 1 and 2), or from a list, such as "0,5,7".  Raises ValueError."""
    parts = text.split(",")
    if not all(part.strip().isascii() and part.strip().isdigit() and len(part) < 20 for part in parts):
        raise ValueError(f"seeds = {brief(text)!r}: expected a number of seeds, such as 3, or a list, such as 0,5,7")
    affordable(f"seeds = {text}", numbers=float(parts[0]) if len(parts) == 1 else 0)
    return tuple(range(int(text))) if len(parts) == 1 else tuple(int(part) for part in parts)


def print_history(rows: pd.DataFrame, out: Console) -> None:
    """Print the last measured round of each seed."""
    measured = [c for c in ("value", "test_value", "accuracy", "grad_sq") if c in rows]
    table = Table("seed", "round", "status", *measured, "Mbit up", "client steps/s", box=None, pad_edge=False)
    for seed, of in rows.groupby("seed"):
        last = of.iloc[-1]
        numbers = [f"{last[c]:.4g}" for c in measured]
        rate = last["client_steps"] / max(last["seconds"], 1e-9)
        status = str(last["status"])
        table.add_row(str(seed), str(last["round"]), status, *numbers, f"{last['bits_up'] / 1e6:.4g}", f"{rate:.0f}")
    out.print(table)


def print_beside(whole: Preset, small: Preset, folder: Path, out: Console, command: str) -> None:
    """Print our numbers beside the printed ones, how often both order the methods alike, and where the set-ups differ.

    Raises ValueError if nothing has been trained.
    """
    cells = list(of_cells(small, folder))
    if not cells:
        raise ValueError(f"no training of {whole.id} in {folder}: expected one, run {command} first")
    out.print(f"{whole.id}: {whole.says}")
    print_found(small, folder, out)
    same, total = order_kept([(cell, got) for cell, _, _, got in cells])
    if total:
        out.print(f"order of two methods in one column as printed: {same} of {total} pairs")
    missing = len(small.cells) - len(cells)
    if missing:
        out.print(f"{missing} of {len(small.cells)} cells not trained yet")
    out.print("settings that differ (setting: printed, here)")
    for line in set_up_differences(whole, small, folder):
        out.print(f"  {line}")
    out.print("what the paper leaves open, and what is chosen here")
    for line in whole.choices:
        out.print(f"  {line}")
    if whole.departs:
        out.print("where the trainings depart from it, and why")
    for what, why in whole.departs:
        out.print(f"  {what}: {why}")
