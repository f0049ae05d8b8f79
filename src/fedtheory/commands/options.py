"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedtheory.arguments import Range, with_range
from fedtheory.simulations.checked import brief
from fedtheory.terminal import console

if TYPE_CHECKING:
    from fedtheory.tasks import Workshop

Ids = Annotated[list[str] | None, typer.Argument(help="ids of statements (default: all)", metavar="[ID]...")]
Id = Annotated[str, typer.Argument(help="id of a statement, such as sfl.thm1.strongly_convex", metavar="ID")]
Values = Annotated[
    list[str] | None, typer.Argument(help="parameters, such as L=1 eta_tilde=1/6", metavar="[NAME=VALUE]...")
]
PaperName = Annotated[str | None, typer.Option("--paper", help="only this paper", metavar="P")]
AsJson = Annotated[
    bool, typer.Option("--json", help='print JSON; numbers that are not finite are "inf", "-inf", "nan"')
]
Full = Annotated[bool, typer.Option("--full", help="search deeper, on larger families and with more seeds")]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", help="address of a Dask scheduler whose workers do the work", metavar="ADDRESS"),
]
PartitionName = Annotated[
    str | None, typer.Option("--partition", help="how data are dealt out, such as dirichlet", metavar="NAME")
]
Clients = Annotated[int | None, typer.Option("--clients", help="number of clients, M")]
Fresh = Annotated[bool, typer.Option("--fresh", help="compute everything again: use no result of an earlier run")]
From = Annotated[
    str | None, typer.Option("--from", help="Python file with algorithms and problems of your own", metavar="FILE.py")
]
ProblemName = Annotated[
    str,
    typer.Argument(
        help="quadratic, a group of a paper such as sfl.quad.table2.g3, breast_cancer, digits, a LIBSVM, CSV, NPZ or "
        "Parquet file, or a problem in the file of --from",
        metavar="PROBLEM",
    ),
]
Words = Annotated[
    list[str],
    typer.Argument(
        help="algorithms, such as SFL, PFL, 'FedCOMGATE, damped'; and parameters",
        metavar="ALGORITHM... [NAME=VALUE]...",
    ),
]
PlotFile = Annotated[
    Path | None,
    typer.Option("--plot", help="draw into this PNG, SVG or PDF file, and write the drawn numbers to FILE.png.csv"),
]
OutFile = Annotated[Path | None, typer.Option("--out", help="write every number to this CSV file")]
Quick = Annotated[
    bool, typer.Option("--quick", help="a small version: digits, small networks, 20 rounds; about a minute on a CPU")
]
Cells = Annotated[
    list[str] | None,
    typer.Option("--cells", help="only cells with this text in their name; may be given several times"),
]
Runs = Annotated[Path, typer.Option("--runs", help="folder of the trainings")]


def workshop(fresh: bool, scheduler: str | None) -> Workshop:
    """Where the work is done, with the store of results if it can be used."""
    from fedtheory import tasks

    return tasks.workshop(fresh, scheduler)


def parameters_given(
    ids: list[str], values: list[str] | None, ranges: bool = True
) -> tuple[dict[str, Any], Range | None]:
    """The parameters of the bounds, as they were given, one of them perhaps as a range.

    Raises UnknownName; ValueError for one that is malformed, or that no bound has.
    """
    from fedtheory.theory import catalogue

    lists = {name: of for id_ in ids for name, of in catalogue.paper(catalogue.find(id_).paper).lists.items()}
    found, along = with_range(values, lists)
    if along is not None and not ranges:
        raise ValueError(f"{along.name} has a range: expected a number")
    known = [s.name for id_ in ids for s in parameters_of(id_)]
    surplus = [name for name in (*found, *([along.name] if along else [])) if name not in (*known, "kappa")]
    if surplus:
        expected = ", ".join(dict.fromkeys(known))
        raise ValueError(f"{', '.join(ids)}: no parameter {brief(', '.join(surplus))}; expected {expected}")
    return found, along


def parameters_of(id_: str) -> Any:
    """The parameters of a bound."""
    from fedtheory.bounds.evaluation import parameters
    from fedtheory.theory import catalogue

    return parameters(catalogue.find(id_))


def dealt(words: Sequence[str], partition: str | None, clients: int | None) -> list[str]:
    """The parameters, with those of --partition and --clients."""
    return [*words, *([f"partition={partition}"] if partition else []), *([] if clients is None else [f"M={clients}"])]


def print_unless_explicit(*ids: str) -> None:
    """Print what numbers of an order, O(...), leave out."""
    from fedtheory.theory import catalogue
    from fedtheory.theory.statement import Order

    orders = [claim for id_ in ids if isinstance(claim := catalogue.find(id_).claim, Order)]
    if orders:
        logarithms = " and logarithms" if any(claim.polylog for claim in orders) else ""
        console().print(f"absolute constants{logarithms} are set to 1")
