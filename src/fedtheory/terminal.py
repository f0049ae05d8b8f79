"""What all commands print to: the console, progress on a terminal, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table


def console() -> Console:
    """Standard output; in a pipe without colours and 160 columns wide.  Brackets are text, as in a dimension [F]."""
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False, markup=False)


@contextmanager
def progress() -> Iterator[Any]:
    """A callback (task, done, total) that draws progress bars on a terminal and nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description:<22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield tell


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """On a terminal a line that says what is being done; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(f"{what} ..."):
        yield


@contextmanager
def training_progress() -> Iterator[Any]:
    """A function from a training's name to its callback, which draws one line on a terminal and nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda what: lambda standing: None
        return
    now = TextColumn("{task.fields[now]}")
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), now)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None, now="")

        def of(what: str) -> Any:
            bars.update(task, description=what, completed=0, total=None, now="")  # the first round may take long

            def tell(standing: Any) -> None:
                parts = [f"{name} {value:.4g}" for name, value in standing.latest.items()]
                parts += [f"{standing.bits_up / 1e6:.4g} Mbit up", f"{standing.rate:.0f} client steps/s"]
                bars.update(
                    task,
                    description=f"{what}, seed {standing.seed}",
                    completed=standing.round,
                    total=standing.rounds,
                    now=", ".join(parts),
                )

            return tell

        yield of


def print_rows(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table: rows below the titles of their columns."""
    table = Table(*titles, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_json(data: Any) -> None:
    """Print JSON; numbers that are not finite become the texts "inf", "-inf" and "nan"."""
    print(json.dumps(_plain_json(data), indent=2, allow_nan=False))


def _plain_json(value: Any) -> Any:
    """The value in the types of JSON; any other value becomes text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): _plain_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_json(one) for one in value]
    is_plain = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value))
    return value if is_plain else str(value)
