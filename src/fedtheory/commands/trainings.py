"""Trainings of networks, and the papers' tables beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fedtheory.commands.options import Cells, Clients, From, PartitionName, Quick, Runs, Scheduler
from fedtheory.simulations.checked import brief, number
from fedtheory.terminal import console, print_rows, progress, training_progress


def train_command(
    what: Annotated[
        str | None,
        typer.Argument(
            help="a preset, such as sfl.table3; a TOML file; or data of your own: a CSV, NPZ, Parquet or LIBSVM file, or a "
            "folder of images with a sub-folder for each class",
            metavar="[PRESET|FILE.toml|DATA]",
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="for data of your own: an algorithm, such as PFL, and settings of it, of the network and of the data",
            metavar="[ALGORITHM] [NAME=VALUE]...",
        ),
    ] = None,
    only_list: Annotated[bool, typer.Option("--list", help="list the presets instead")] = False,
    quick: Quick = False,
    cells: Cells = None,
    data: Annotated[
        str | None,
        typer.Option("--data", help="folder of the images; or 'generated', for generated images of the same size"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", help="a network, such as MLP, or a torch.nn.Module of your own: mine.py:Net", metavar="NAME"
        ),
    ] = None,
    partition: PartitionName = None,
    clients: Clients = None,
    device: Annotated[str | None, typer.Option("--device", help="cpu or cuda")] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", help="number of rounds, instead of the set-up's")] = None,
    seeds: Annotated[str | None, typer.Option("--seeds", help="number of seeds (3) or a list of seeds (0,5,7)")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="continue an interrupted training, or one with fewer rounds")
    ] = False,
    checkpoint: Annotated[float, typer.Option("--checkpoint", help="seconds between checkpoints")] = 30.0,
    runs: Runs = Path("runs"),
    source: From = None,
    scheduler: Scheduler = None,
) -> None:
    """Train networks, measure and draw: every table and figure of the papers that shows networks has a preset."""
    from fedtheory import own_training, tables, training
    from fedtheory.bounds import presets
    from fedtheory.simulations.networks import own
    from fedtheory.tasks import Workshop

    if only_list or what is None:
        listed = {name: build() for name, build in presets.presets().items()}
        print_rows(("preset", "cells", "says"), ((name, str(len(p.cells)), p.says) for name, p in listed.items()))
        return
    number("--checkpoint", checkpoint, ">= 0")
    if model is not None and own.is_own(model):
        model = f"{own.file_of(model).resolve()}:{model.rpartition(':')[2]}"
    changes: dict[str, Any] = {"data": data, "device": device, "rounds": rounds}
    if seeds is not None:
        changes["seeds"] = tables.which_seeds(seeds)
    is_preset = not what.endswith(".toml") and what in presets.presets()
    is_data = not what.endswith(".toml") and not is_preset and Path(what).exists()
    if not is_data and (words or partition or clients):
        raise ValueError(
            f"{brief(what)} is no file or folder of data: expected an algorithm, settings, --partition and --clients for "
            "data of your own only"
        )
    if what.endswith(".toml") or is_data:
        name = Path(what).resolve().name if Path(what).is_dir() else Path(what).stem
        if not is_data and (Path(what).suffix != ".toml" or name.strip(".") == ""):
            raise ValueError(
                f"{brief(what)}: expected a name before .toml, because the folder of the training has this name"
            )
        if is_data:
            asked = own_training.read(Path(what), words or [], partition, clients, model or "MLP", source)
            changes["rounds"] = rounds or asked.rounds
        else:
            asked, changes["model"] = training.read_setup(Path(what), source), model
        setup = tables.changed(asked, **changes)
        folder = runs / name
        if resume and (told := training.extension(setup, folder)):
            console().print(told)
        if scheduler is None:
            if told := tables.forecast({folder: setup}):
                console().print(told)
            with training_progress() as tell:
                training.train(setup, folder, resume, tell(name), checkpoint)
        else:
            with progress() as tell:
                training.train_there({folder: setup}, Workshop(None, scheduler), resume, tell)
        rows = training.history(folder)
        tables.draw_curves("curves", name, {setup.algorithm["name"]: rows}, folder)
        tables.print_history(rows, console())
        console().print(f"written: {folder}")
        return
    if model is not None:
        raise ValueError("--model with a preset: expected it with a TOML file, or data of your own")
    if source is not None:
        raise ValueError("--from with a preset: expected --from with a TOML file that names the algorithm in it")
    preset = presets.preset(what)
    if quick:
        preset = presets.quick(preset)
    preset = tables.chosen(preset, cells)
    folder = runs / tables.slug(what + (", quick" if quick else ""))
    setups = {
        folder / cell.name: setup for cell, setup in zip(preset.cells, tables.setups_of(preset, **changes), strict=True)
    }
    for own_folder, setup in setups.items():
        if resume and (told := training.extension(setup, own_folder)):
            console().print(told)
    if scheduler is None:
        if told := tables.forecast(setups):
            console().print(f"{told}; --quick trains small networks" if not quick else told)
        with training_progress() as tell:
            tables.train_preset(preset, folder, resume, tell, checkpoint, **changes)
    else:
        with progress() as tell:
            training.train_there(setups, Workshop(None, scheduler), resume, tell)
    drawn = tables.draw(preset, folder)
    tables.print_found(preset, folder, console())
    console().print(f"{len(preset.cells)} trainings and {len(drawn) // 3} figures in {folder}")


def table_command(
    name: Annotated[str, typer.Argument(help="a preset, such as sfl.table3", metavar="PRESET")],
    quick: Quick = False,
    cells: Cells = None,
    runs: Runs = Path("runs"),
) -> None:
    """Print our numbers beside the printed ones, and the settings in which our trainings differ."""
    from fedtheory import tables
    from fedtheory.bounds import presets

    whole = presets.preset(name)
    small = tables.chosen(presets.quick(whole) if quick else whole, cells)
    folder = runs / tables.slug(name + (", quick" if quick else ""))
    tables.print_beside(whole, small, folder, console(), f"fedtheory train '{name}'{' --quick' if quick else ''}")
