"""Runs of algorithms, alone and beside their theorems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fedtheory.commands.options import (
    AsJson,
    Clients,
    From,
    OutFile,
    PartitionName,
    PlotFile,
    ProblemName,
    Scheduler,
    Words,
    dealt,
)
from fedtheory.terminal import console, print_json, progress


def print_read(asked: Any) -> None:
    """Print what was read of a file of data."""
    from fedtheory import simulate

    if told := simulate.told(asked):
        console().print(told, soft_wrap=True)


def files_apart(problem: str, source: str | None, out: Path | None, plot: Path | None) -> None:
    """Checks, before long work, that the results can be written, and over nothing that is read.  Raises ValueError."""
    from fedtheory.figures.files import apart, writable
    from fedtheory.simulations.data import is_file

    written = {"--out": out, "--plot": plot}
    if out is not None:
        writable(out)
    if plot is not None:
        from fedtheory.figures.gallery import numbers_of, saveable

        saveable(plot)
        written["the numbers of --plot"] = numbers_of(plot)
    read = Path(problem) if is_file(Path(problem)) else None
    apart(written, {"the problem": read, "--from": None if source is None else Path(source)})


def simulate_command(
    problem: ProblemName,
    words: Words,
    partition: PartitionName = None,
    clients: Clients = None,
    best: Annotated[
        bool, typer.Option("--best", help="run each algorithm at its best step size, of eta=... or of a grid")
    ] = False,
    plot: PlotFile = None,
    out: OutFile = None,
    source: From = None,
    as_json: AsJson = False,
    scheduler: Scheduler = None,
) -> None:
    """Run algorithms.  Parameters are NAME=VALUE: eta, rounds, seeds (3, or 7,9), x0; the settings of the algorithms (K, S,
    tau, gamma, compressor=RandK:2 ...), or of one of them as ALGORITHM:NAME=VALUE; the settings of the problem (d, M, L, mu
    ...; for data loss=sigmoid or squared, label=3, regularisation=1e-4L ...; for a table target=COLUMN, client=COLUMN,
    without=COLUMN, separator=semicolon, header=false)."""
    from fedtheory import simulate
    from fedtheory.figures.files import write
    from fedtheory.tasks import Workshop

    asked = simulate.read(problem, dealt(words, partition, clients), source, best)
    files_apart(problem, source, out, plot)
    with progress() as tell:
        found = simulate.simulate(asked, tell, Workshop(None, scheduler))
    if out is not None:
        write(out, simulate.csv(found))
    if plot is not None:
        from fedtheory.figures.gallery import save_as

        save_as(lambda: simulate.plot(asked, found), plot)
    if as_json:
        print_json(simulate.as_json(found))
    else:
        print_read(asked)
        simulate.print_table(found, simulate.problem_of(asked), console())


def confront_command(
    problem: ProblemName,
    words: Words,
    partition: PartitionName = None,
    clients: Clients = None,
    best: Annotated[
        bool, typer.Option("--best", help="also run each algorithm at its own best step size, of a grid")
    ] = False,
    plot: PlotFile = None,
    out: OutFile = None,
    source: From = None,
    as_json: AsJson = False,
) -> None:
    """Put each algorithm's own theorems beside its runs, on your data.  Parameters are those of simulate.

    Without eta=NUMBER each theorem has the admissible step size at which its bound is smallest. A theorem that does not
    apply is listed with the reason in numbers. Papers of --path count."""
    from fedtheory import simulate
    from fedtheory.confrontation import confront_asked
    from fedtheory.figures.files import write

    asked = simulate.read(problem, dealt(words, partition, clients), source, best)
    files_apart(problem, source, out, plot)
    with progress() as tell:
        found = confront_asked(asked, tell)
    if out is not None:
        write(out, found.to_dataframe().to_csv(index=False, lineterminator="\n").encode())
    if as_json:
        print_json(found.as_json())
    else:
        print_read(asked)
        found.print_to(console())
    if plot is not None:
        found.plot(plot)
