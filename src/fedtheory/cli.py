"""The `fedtheory` command."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from typer.exceptions import Abort, TyperException

from fedtheory import plugins
from fedtheory.arguments import Range, with_range
from fedtheory.simulations.checked import brief, fraction, number, shortened
from fedtheory.theory.names import UnknownName

if TYPE_CHECKING:
    from fedtheory.records import Again
    from fedtheory.score import Score
    from fedtheory.tasks import Workshop

# Without this, torch's waiting threads spin: three times slower beside other work.  torch reads it on import, later.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

exports = typer.Typer(no_args_is_help=True)
records = typer.Typer(no_args_is_help=True)
app.add_typer(records, name="record", help="Measure again what is kept on record.")
app.add_typer(exports, name="export", help="Write the proofs for other programs.")

_LONGEST_ERROR = 300  # characters
_LARGEST_COUNT = 64  # of clients or steps, in a round whose outcomes are listed
# Stage of the work -> the word for its results
_RESULTS = {"checking statements": "verdicts", "running arenas": "measurements", "drawing figures": "figures"}

# Packages that only an extra installs, with that extra
EXTRAS = {
    "torch": "networks",
    "z3": "proofs",
    "cvxpy": "proofs",
    "flint": "proofs",
    "clarabel": "proofs",
    "marimo": "course",
    "distributed": "cluster",
}

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


def workshop(fresh: bool, scheduler: str | None) -> Workshop:
    """Where the work is done, with the store of results if it can be used."""
    from fedtheory import tasks

    return tasks.workshop(fresh, scheduler)


def print_stored(where: Workshop) -> None:
    """Print how many results came from the store."""
    stored, all_ = (
        Counter(s.task.stage for s in where.spent if s.seconds is None or not only) for only in (True, False)
    )
    told = [f"{stored[stage]} of {all_[stage]} {_RESULTS[stage]}" for stage in _RESULTS if all_[stage]]
    console().print(f"from earlier runs: {', '.join(told)}; --fresh computes all verdicts again")


def print_again(points: Sequence[Again], where: Workshop) -> None:
    """Print what the points of experiments that were measured again say of the records."""
    wrong = [says for one in points if (says := one.says(where.results[one.task]))]
    told = f"experiments: {len(points)} on record, a point of each compared with today's code"
    console().print(f"{told}: {'; '.join(wrong) or 'the same numbers'}", soft_wrap=True)


def print_profile(where: Workshop) -> None:
    """Print the CPU seconds of the tasks by paper and kind, and of all processes; what came from the store took none."""
    seconds: dict[str, dict[str, float]] = {}
    papers = sorted({spent.task.paper for spent in where.spent})
    for spent in where.spent:
        for kind in (spent.task.kind, "all"):
            own = seconds.setdefault(kind, dict.fromkeys((*papers, "all"), 0.0))
            for column in (spent.task.paper, "all"):
                own[column] += spent.seconds or 0.0
    table = Table("CPU seconds", *papers, "all", box=None, pad_edge=False)
    for kind, own in sorted(seconds.items(), key=lambda row: row[1]["all"]):
        table.add_row(kind, *(f"{s:.1f}" for s in own.values()))
    workers = [s for process, s in where.besides.items() if process != os.getpid()]
    start, main_process = sum(workers), time.process_time() + where.besides.get(os.getpid(), 0.0)
    whole = sum(spent.seconds or 0.0 for spent in where.spent) + start + main_process
    for name, one in (
        (f"start of {len(workers)} worker processes", start),
        ("the main process", main_process),
        ("the whole command", whole),
    ):
        table.add_row(name, *[""] * len(papers), f"{one:.1f}")
    console().print(table)


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


def dealt(words: Sequence[str], partition: str | None, clients: int | None) -> list[str]:
    """The parameters, with those of --partition and --clients."""
    return [*words, *([f"partition={partition}"] if partition else []), *([] if clients is None else [f"M={clients}"])]


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


def print_version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        from importlib.metadata import version

        print(f"fedtheory {version('fedtheory')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="print the version")
    ] = False,
    path: Annotated[
        str | None, typer.Option("--path", help="folder with papers of your own (see new-paper)", metavar="FOLDER")
    ] = None,
) -> None:
    """Verify the convergence theory of federated optimisation: statements, evidence, runs."""
    if path is not None:
        # in the environment, so that worker processes know it too
        others, folder = os.environ.get(plugins.VARIABLE, "").split(os.pathsep), os.path.abspath(path)
        if os.pathsep in folder:
            raise ValueError(f"--path {brief(folder)}: expected a folder without {os.pathsep!r} in its path")
        os.environ[plugins.VARIABLE] = os.pathsep.join(dict.fromkeys([*filter(None, others), folder]))


@app.command("new-paper")
def new_paper_command(
    name: Annotated[str, typer.Argument(help="short name of the paper, such as scaffold", metavar="NAME")],
    path: Annotated[Path, typer.Option(help="folder in which the paper gets a folder of its own")] = Path("."),
) -> None:
    """Write a paper of your own in one file: algorithm, two lemmas, a theorem, an arena.  It works at once."""
    from fedtheory.new_paper import write_paper

    for file in write_paper(name, path):
        console().print(str(file))
    console().print("'FILL IN' says what to write.  First commands to try:")
    for command in (f"verify --paper {name}", f"figures {name}_thm", f"show {name}.thm"):
        console().print(f"    fedtheory --path {path} {command}")


@app.command("list")
def list_command(paper: PaperName = None, as_json: AsJson = False) -> None:
    """List the statements, in the order of their papers."""
    from fedtheory.pages import as_json as describe
    from fedtheory.theory import catalogue

    found = catalogue.statements(paper)
    if as_json:
        print_json([describe(s) for s in found])
        return
    table = Table("id", "kind", "place", box=None, pad_edge=False)
    for s in found:
        table.add_row(s.id, s.kind, s.place)
    console().print(table)


@app.command()
def show(
    id_: Id,
    as_latex: Annotated[bool, typer.Option("--latex", help="print LaTeX")] = False,
    proofs: Annotated[
        bool, typer.Option("--proofs", help="also run its proofs, and print them with their premises")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a statement: its formula, conditions and symbols, its place, the statements that it rests on or that use it."""
    from fedtheory import pages as render
    from fedtheory.theory import catalogue

    statement = catalogue.find(id_)
    if as_json:
        found = {"proofs": render.proofs_as_json(statement)} if proofs else {}
        print_json({**render.as_json(statement), **found})
    else:
        print(render.as_latex(statement) if as_latex else render.as_text(statement, proofs))


@app.command("glossary")
def glossary_command(
    symbol: Annotated[str | None, typer.Argument(help="a symbol, such as K (default: all)")] = None,
    shared: Annotated[bool, typer.Option("--shared", help="only symbols that several papers use")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the symbols of all papers side by side: a symbol can have a different meaning in each paper."""
    from fedtheory.glossary import rows

    found = rows(symbol, shared)
    if as_json:
        print_json(found)
        return
    table = Table("symbol", "paper", "meaning", "dimension", "in other papers", box=None, pad_edge=False)
    for row in found:
        table.add_row(row["symbol"], row["paper"], row["meaning"], row["dimension"], row["elsewhere"])
    console().print(table)


@app.command()
def bound(
    id_: Id,
    values: Values = None,
    as_json: AsJson = False,
    lenient: Annotated[bool, typer.Option("--lenient", help="evaluate the bound outside its conditions too")] = False,
) -> None:
    """Evaluate a bound: its terms, its value, the violated conditions (an error without --lenient or --json)."""
    from fedtheory.bounds.evaluation import adds_up, claim_of, evaluate
    from fedtheory.bounds.orders import rates_at
    from fedtheory.theory import catalogue
    from fedtheory.theory.statement import Rates

    statement = catalogue.find(id_)
    if isinstance(statement.claim, Rates):
        found = rates_at(id_, **with_range(values)[0])
        if as_json:
            print_json({"id": id_, "rates": {case: {"R": R, "tau": tau} for case, (R, tau) in found.items()}})
            return
        table = Table("case", "R", "tau", box=None, pad_edge=False)
        for case, (R, tau) in found.items():
            table.add_row(case, f"{R:.6g}", f"{tau:.6g}")
        console().print(table)
        console().print(
            "up to absolute constants" + (" and logarithms" if any(r.polylog for r in statement.claim.rates) else "")
        )
        return
    given, _ = parameters_given([id_], values, ranges=False)
    result = evaluate(id_, strict=not (lenient or as_json), **given)
    if as_json:
        print_json({"id": id_, "value": result.value, "terms": result.terms, "violations": result.violations})
        return
    table = Table("term", "value", box=None, pad_edge=False)
    for name, value in result.terms.items():
        table.add_row(name, f"{value:.6g}")
    if result.value is not None:
        table.add_row("sum" if adds_up(claim_of(catalogue.find(id_))) else "value", f"{result.value:.6g}")
    console().print(table)
    for violation in result.violations:
        console().print(f"outside its conditions: {violation}")


@app.command()
def tune(
    id_: Id,
    values: Values = None,
    epsilon: Annotated[
        float | None, typer.Option(help="instead: find the number of rounds that bring the bound down to this value")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the best admissible constant step size of a bound, beside the closed-form choice of the proof.

    With a range, such as R=10..10000, print a row for each of its points."""
    from fedtheory.bounds import ConditionViolated, rounds_to, tune as best

    given, along = parameters_given([id_], values)
    if epsilon is not None:
        if along is not None:
            raise ValueError(f"{along.name} has a range: expected a number, because --epsilon asks for rounds")
        R = rounds_to(epsilon, id_, **given)
        if as_json:
            print_json({"id": id_, "epsilon": epsilon, "R": R})
        else:
            console().print(f"R = {R}" if R is not None else f"the bound does not come down to {epsilon:g}")
        return
    points: list[dict[str, float]] = [{}]
    if along is not None:
        whole = next((s.domain.startswith("integer") for s in parameters_of(id_) if s.name == along.name), False)
        grid = along.points(13)
        points = [{along.name: float(p)} for p in np.unique(np.round(grid) if whole else grid)]
    found: list[tuple[dict[str, float], Any]] = []
    for point in points:
        try:
            found.append((point, best(id_, **given, **point)))
        except ConditionViolated:
            if along is None:
                raise
            found.append((point, None))
    if all(tuned is None for _, tuned in found):
        best(id_, **given, **points[-1])  # says which condition
    if as_json:
        told = [{**point, **_tuned_as_json(id_, tuned)} for point, tuned in found]
        print_json(told[0] if along is None else told)
        return
    name = next(tuned.name for _, tuned in found if tuned is not None)
    if along is None:
        ((_, tuned),) = found
        table = Table("choice", name, "bound", "violated", box=None, pad_edge=False)
        table.add_row("best admissible", f"{tuned.step_size:.6g}", f"{tuned.best.value:.6g}", "")
        if tuned.closed is not None:
            violated = "; ".join(tuned.closed.violations)
            table.add_row("closed form", f"{tuned.closed_form:.6g}", f"{tuned.closed.value:.6g}", violated)
        console().print(table)
        console().print(f"admissible: {tuned.interval[0]:.6g} <= {name} <= {tuned.interval[1]:.6g}")
        return
    table = Table(along.name, f"best {name}", "bound", "closed form", "its bound", box=None, pad_edge=False)
    for point, tuned in found:
        if tuned is None:
            table.add_row(f"{point[along.name]:.6g}", "none is admissible")
            continue
        closed = () if tuned.closed is None else (f"{tuned.closed_form:.6g}", f"{tuned.closed.value:.6g}")
        table.add_row(f"{point[along.name]:.6g}", f"{tuned.step_size:.6g}", f"{tuned.best.value:.6g}", *closed)
    console().print(table)


def parameters_of(id_: str) -> Any:
    """The parameters of a bound."""
    from fedtheory.bounds.evaluation import parameters
    from fedtheory.theory import catalogue

    return parameters(catalogue.find(id_))


def _tuned_as_json(id_: str, tuned: Any) -> dict[str, Any]:
    if tuned is None:
        return {"id": id_, "step_size": None}
    closed = None if tuned.closed is None else {"value": tuned.closed.value, "violations": tuned.closed.violations}
    return {
        "id": id_,
        "step_size": {tuned.name: tuned.step_size},
        "interval": tuned.interval,
        "value": tuned.best.value,
        "terms": tuned.best.terms,
        "closed_form": None if closed is None else {tuned.name: tuned.closed_form, **closed},
    }


@app.command()
def compare(
    words: Annotated[
        list[str], typer.Argument(help="ids of bounds, and parameters", metavar="ID ID... [NAME=VALUE]...")
    ],
    tuned: Annotated[bool, typer.Option("--tuned", help="each bound at its own best admissible step size")] = False,
    over: Annotated[
        str | None,
        typer.Option(
            "--over",
            help="compare over this symbol, with its range as R=10..10000; R alone goes from 1 to a million",
            metavar="NAME[=LOW..HIGH]",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="draw the bounds over the symbol into this PNG, SVG or PDF file")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two bounds: the ratio of each term, when the first is smaller, dominant terms, crossings.

    With --tuned or --over, compare two or more: their values, and where each of them is the smallest."""
    ids = [word for word in words if "=" not in word]
    if len(ids) < 2:
        raise ValueError(f"{len(ids)} bounds: expected the ids of two or more, before the parameters")
    if over is not None and "=" in over:
        words, over = [*words, over], over.partition("=")[0]
    values, given = parameters_given(ids, [word for word in words if "=" in word])
    if not (tuned or over or plot or given):
        if len(ids) > 2:
            raise ValueError(f"{len(ids)} bounds: expected two, or --tuned or --over")
        return compare_two(ids[0], ids[1], values, as_json)
    if given is not None and over not in (None, given.name):
        raise ValueError(f"--over {over} with a range of {given.name}: expected a range of {over}")
    if given is None and over not in (None, "R"):
        raise ValueError(f"--over {over}: expected its range too, such as {over}=0.1..10")
    name = over or (given.name if given else "")
    if plot is not None:
        from fedtheory.figures.gallery import saveable

        if not name:
            raise ValueError("--plot without --over: expected the symbol over which to draw, such as --over R")
        saveable(plot)
    compare_along(ids, name, given or (Range("R", 1, 1e6) if name else None), values, tuned, plot, as_json)


def compare_along(
    ids: list[str],
    name: str,
    given: Range | None,
    values: dict[str, float],
    tuned: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Print where which bound is the smallest; without a range, their values at the given parameters."""
    from fedtheory.bounds.comparison import along

    if given is None:  # one point, of any parameter that all know
        shared = [n for n in values if all(n in {s.name for s in parameters_of(id_)} for id_ in ids)]
        if not shared:
            raise ValueError(f"no parameters: expected those of {', '.join(ids)} as NAME=VALUE, except the step size")
        name, rest = shared[0], {n: v for n, v in values.items() if n != shared[0]}
        found = along(ids, name, [values[name]], tuned, **rest)
    else:
        if name in values:
            raise ValueError(f"{name} = {values[name]:g}: expected a range, {name}=LOW..HIGH, because of --over")
        found = along(ids, name, given.points(61), tuned, **values)
    if plot is not None:
        from fedtheory.figures.compared import draw
        from fedtheory.figures.gallery import save_as

        title = ", ".join(f"{n} = {v:.4g}" for n, v in values.items())
        save_as(lambda: draw(found, shortened(title, 100)), plot)
    if as_json:
        print_json(
            {
                "over": found.name,
                "points": found.points.tolist(),
                "values": {id_: v.tolist() for id_, v in found.values.items()},
                "step_sizes": {id_: v.tolist() for id_, v in found.steps.items()},
                "smallest": [{"from": low, "to": high, "bound": id_} for low, high, id_ in found.smallest],
            }
        )
        return
    few = np.unique(np.linspace(0, len(found.points) - 1, 7).astype(int))
    columns = [title for id_ in ids for title in ([id_, "step size"] if id_ in found.steps else [id_])]
    table = Table(found.name, *columns, box=None, pad_edge=False)
    for i in few:
        cells = []
        for id_ in ids:
            value = found.values[id_][i]
            cells.append("not admissible" if np.isnan(value) else f"{value:.4g}")
            if id_ in found.steps:
                cells.append("" if np.isnan(value) else f"{found.steps[id_][i]:.4g}")
        table.add_row(f"{found.points[i]:.4g}", *cells)
    console().print(table)
    if len(found.points) == 1:
        console().print(f"the smallest: {found.smallest[0][2]}")
    elif len(found.smallest) == 1 and found.smallest[0][:2] == (found.points[0], found.points[-1]):
        low, high, id_ = found.smallest[0]
        console().print(
            f"the smallest at all {len(found.points)} points, {low:.4g} <= {found.name} <= {high:.4g}: {id_}"
        )
    else:
        for low, high, id_ in found.smallest:
            console().print(f"the smallest from {found.name} = {low:.4g} to {high:.4g}: {id_}")


def compare_two(first: str, second: str, values: dict[str, float], as_json: bool) -> None:
    """Print the ratios of two bounds, term by term."""
    from fedtheory.bounds import compare as beside
    from fedtheory.theory.printing import plain

    c = beside(first, second, **values)
    if as_json:
        print_json(
            {
                "first": first,
                "second": second,
                "ratios": {n: plain(r) for n, r in c.ratios.items()},
                "smaller_when": {n: plain(r) for n, r in c.smaller_when.items()},
                "only": c.only,
                "dominant": c.dominant,
                "dominant_ratio": None if c.dominant_ratio is None else plain(c.dominant_ratio),
                "values": c.values,
                "crossings": c.crossings,
            }
        )
        return
    table = Table("term", "first / second", "first smaller when", box=None, pad_edge=False)
    for name, ratio in c.ratios.items():
        condition = {"False": "never", "True": "always"}.get(plain(c.smaller_when[name]), plain(c.smaller_when[name]))
        table.add_row(name, plain(ratio), "equal" if ratio == 1 else condition)
    for name, owner in c.only.items():
        table.add_row(name, f"only in {owner}", "")
    console().print(table)
    console().print("as R grows, at fixed other parameters:")
    for id_, names in c.dominant.items():
        console().print(f"  {id_}: {', '.join(names)}")
    if c.dominant_ratio is not None:
        console().print(f"  ratio of these: {plain(c.dominant_ratio)}")
    if c.values is not None:
        smaller = "the first is" if c.values[0] < c.values[1] else "the second is"
        smaller = "they are equal" if c.values[0] == c.values[1] else f"{smaller} smaller"
        console().print(f"here: first {c.values[0]:.6g}, second {c.values[1]:.6g}; {smaller}")
        for name, points in c.crossings.items():
            console().print(f"  over {name} the two bounds cross at {', '.join(f'{p:.4g}' for p in points)}")
        if not c.crossings:
            console().print("  they do not cross if one parameter changes by a factor of up to 10^4, up or down")


@app.command("sharpen")
def sharpen_command(
    id_: Annotated[str, typer.Argument(help="id of a theorem that has a sharper form, or of that form", metavar="ID")],
    span: Annotated[
        str, typer.Option(help="allow step sizes up to this multiple of the printed limit, such as 2 or 1/2")
    ] = "1",
    trade_off: Annotated[
        Path | None,
        typer.Option(help="draw the constants against the largest step size into this PNG, SVG or PDF file"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the best constants that the proof of a theorem gives: optimise, round to fractions, prove.

    The free choices of a proof are the weights in Young's inequality and the shares of its non-negative terms."""
    from fedtheory.bounds import sharpening as own
    from fedtheory.theory import catalogue
    from fedtheory.theory.printing import plain

    one = own.family_of(id_)
    if trade_off is not None:
        from fedtheory.figures.gallery import saveable

        saveable(trade_off)
    with progress() as tell:
        tell("the best constants", 0, 1)
        found = own.answer(one, own.span_of(span))
    sharpened, catalogued = found.sharpens, found.catalogued
    if trade_off is not None:
        from fedtheory.figures.gallery import save_as
        from fedtheory.figures.trade_off import draw

        with progress() as tell:
            points = own.trade_off(one, lambda done: tell("step sizes", done, len(own.SPANS)))
        save_as(lambda: draw({points[0].sharpens: {a.span: own.smaller(a) for a in points}}), trade_off)
    if as_json:
        print_json(
            {
                "sharpens": sharpened,
                "when": [str(c) for c in found.found.theorem.when],
                "terms": {r.term: plain(r.value) for r in found.rows},
                "times_smaller": {r.term: r.over for r in found.rows},
                "choices": {name: str(value) for name, value in found.found.choices.items()},
                "verdicts": [{"status": v.status, "says": v.says} for v in found.found.verdicts],
                "runs": None if found.runs is None else {"status": found.runs.status, "says": found.runs.says},
            }
        )
        return
    print(f"{sharpened}, sharpened, when {'; '.join(str(c) for c in found.found.theorem.when)}")
    form = catalogue.find(sharpened).form
    table = Table("term", "bound", f"{form} / this", "in the catalogue / this", box=None, pad_edge=False)
    for row in found.rows:
        cells = [f"{row.over[id_]:.4g}" if id_ in row.over else "" for id_ in (sharpened, catalogued)]
        table.add_row(row.term, plain(row.value), *cells)
    console().print(table)
    print("choices: " + ", ".join(f"{name} = {value}" for name, value in found.found.choices.items()))
    for verdict in found.found.verdicts:
        print(f"{verdict.status}: {verdict.says}")
    if found.runs is not None:
        print(f"{found.runs.status}: {found.runs.says}")
    if trade_off is not None:
        print(f"drawn to {trade_off}")


@app.command()
def tight(
    id_: Annotated[str, typer.Argument(help="id of an inequality about one round", metavar="ID")],
    words: Annotated[
        list[str], typer.Argument(help="numbers, such as M=2 K=1 L=1 eta_tilde=1/6", metavar="NAME=VALUE...")
    ],
    as_json: AsJson = False,
) -> None:
    """Find the best constant of each term of an inequality about one round, for all functions in every dimension.

    A semidefinite programme (Clarabel) finds a bracket, which is checked exactly:
    an instance from below, multipliers from above. First it takes all terms of
    the larger side together, then one at a time while the others stay as they
    are. Noise is +n or -n with equal probability, for any vector n."""
    from fedtheory.bounds import worst_cases
    from fedtheory.theory import catalogue
    from fedtheory.theory.proofs import scenes
    from fedtheory.theory.proofs.tight import NotSolved, Unbounded

    statement, numbers = catalogue.find(id_), {}
    counts = {name for name, symbol in catalogue.symbols(statement).items() if symbol.domain.startswith("integer")}
    for word in words:
        name, _, text = word.partition("=")
        try:
            numbers[name] = fraction(text)
        except ValueError:
            raise ValueError(f"{brief(word)}: expected NAME=VALUE with a fraction, such as eta_tilde=1/6") from None
        if name in counts and numbers[name] > _LARGEST_COUNT:
            raise ValueError(f"{brief(word)}: expected at most {_LARGEST_COUNT}: all outcomes of a round are listed")
    every = [
        (case, term, search)
        for case in scenes.cases_at(statement, worst_cases.rounds(statement.paper), numbers)
        for term, search in scenes.searches(statement, case).items()
    ]
    found: list[tuple[scenes.Case, str, scenes.Search, scenes.Best | str]] = []
    with progress() as tell:
        for done, (case, term, search) in enumerate(every, start=1):
            try:
                found.append((case, term, search, scenes.best(search, statement.paper)))
            except (NotSolved, Unbounded) as error:
                found.append((case, term, search, str(error)))
            tell("terms", done, len(every))
    if as_json:
        print_json([_bracket(*one, statement.paper) for one in found])
        return
    table = Table("term", "best / stated, at least", "at most", "", box=None, pad_edge=False)
    for case, term, search, own in found:
        place = "".join(f", {symbol} = {value}" for symbol, value in case.scene.place.items())
        if isinstance(own, str):
            table.add_row(term + place, "", "", own)
        else:
            side = "may be larger" if search.sign < 0 else "may be smaller" if own.most < 0.9995 else ""
            table.add_row(term + place, f"{float(own.least):.3g}", f"{float(own.most):.3g}", side)
    console().print(table)


def _bracket(case: Any, term: str, search: Any, found: Any, paper: str) -> dict[str, Any]:
    """A term's best constant as JSON, with its instance and its proof; without one, an instance that refutes the whole."""
    from fedtheory.theory.proofs import scenes

    shown = {"term": term, "numbers": {str(symbol): str(value) for symbol, value in case.scene.place.items()}}
    if isinstance(found, str):
        instance = scenes.violated(search.below, paper) if term == scenes.ALL else None
        return shown | {"not_found": found} | ({} if instance is None else {"refuted_by": _instance(instance)})
    below, above = (scenes.bracket(programme, paper) for programme in (search.below, search.above))
    return shown | {
        "best_over_stated": [str(found.least), str(found.most)],
        "multipliers": {n: str(m) for n, m in above.multipliers.items()},
        **_instance(below.instance),
    }


def _instance(instance: Any) -> dict[str, Any]:
    """An instance as JSON: the Gram matrix of its vectors, and its function values."""
    rows = [[str(x) for x in row] for row in instance.gram]
    values = {n: str(v) for n, v in instance.values.items()}
    return {"gram": {"vectors": instance.vectors, "rows": rows}, "values": values}


@app.command("check")
def check_command(
    file: Annotated[Path, typer.Argument(help="a TOML file with a claim", metavar="FILE")], as_json: AsJson = False
) -> None:
    """Say whether one inequality of your own is proved, refuted with a witness, or tested.

    The file has a claim between points, values and gradients of functions:

        claim = "f(x) - f(y) - f.grad(y).dot(x - y) >= (f.grad(x) - f.grad(y)).norm2 / (2*L)"
        points = "x y"
        functions = {f = {smooth = "L", convex = true}}

    or between quantities of a round or a run of an algorithm:

        round = "PFL"
        sigma = 0
        claim = "dist2.next <= (1 - mu*h)*dist2 - h*gap"
        when = "h <= 1/(6*L)"
    """
    from fedtheory.claims import check_file

    with waiting("deciding"):
        answer = check_file(file)
    if as_json:
        evidence = {kind: {"verdict": v.status, "says": v.says} for kind, v in answer.evidence.items()}
        told = {"claim": answer.claim, "verdict": answer.status, "says": answer.says, "witness": dict(answer.witness)}
        print_json(told | {"evidence": evidence})
    else:
        print(answer)


@app.command()
def verify(
    ids: Ids = None,
    paper: PaperName = None,
    as_json: AsJson = False,
    full: Full = False,
    data: Annotated[
        str | None,
        typer.Option(
            help="instead: compare the bounds with runs on breast_cancer, digits or a LIBSVM, CSV, NPZ or Parquet file; "
            "settings as in simulate, such as K=5 target=label, stand behind the ids"
        ),
    ] = None,
    partition: PartitionName = None,
    clients: Clients = None,
    mutate: Annotated[
        bool, typer.Option("--mutate", help="change the statements, and show which changes the evidence notices")
    ] = False,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--evidence", help="only this kind, such as ledger; may be given several times", metavar="KIND"),
    ] = None,
    terms: Annotated[
        list[str] | None,
        typer.Option(
            "--with", help="another value of a term of one bound, such as noise=eta^2*sigma^2", metavar="TERM=EXPR"
        ),
    ] = None,
    when: Annotated[
        list[str] | None, typer.Option(help="a condition in place of the printed ones, such as 'eta <= 1/L'")
    ] = None,
    assumes: Annotated[
        list[str] | None, typer.Option(help="an assumption in place of the listed ones", metavar="ID")
    ] = None,
    expect_clean: Annotated[
        bool, typer.Option("--expect-clean", help="exit status 1 if a statement is refuted or vacuous")
    ] = False,
    fresh: Fresh = False,
    scheduler: Scheduler = None,
) -> None:
    """Run all evidence for the statements; print the verdicts, with a witness for each refuted statement."""
    from fedtheory.agreed import in_coq
    from fedtheory.claims import changed
    from fedtheory.pages import premises
    from fedtheory.score import scores
    from fedtheory.theory import catalogue
    from fedtheory.theory.statement import Status
    from fedtheory.verification import seen_to_fail, verify as check, verify_changed, verify_on

    settings = dealt([word for word in ids or () if "=" in word], partition, clients)
    ids = [word for word in ids or () if "=" not in word]
    if settings and data is None:
        raise ValueError(f"{brief(', '.join(settings))}: expected --data DATA, on which settings have an effect")
    chosen = list(ids or [s.id for s in catalogue.statements(paper)])
    if ids and paper:
        raise ValueError("ids and --paper: expected one of them")
    if mutate and data is not None:
        raise ValueError(
            "--data and --mutate: expected one of them, because --mutate tests the evidence that counts without --data"
        )
    if kinds and data is not None:
        raise ValueError("--data and --evidence: expected one of them, because --data uses runs only")
    where = workshop(fresh, scheduler)
    if terms or when or assumes:
        if len(chosen) != 1 or mutate or data is not None or kinds:
            raise ValueError("--with, --when, --assumes: expected one id, and none of --mutate, --data, --evidence")
        pairs = [text.partition("=") for text in terms or ()]
        if wrong := [text for text, (_, equal, value) in zip(terms or (), pairs, strict=True) if not (equal and value)]:
            raise ValueError(f"{brief(wrong[0])}: expected TERM=EXPR, such as noise=eta^2*sigma^2")
        own = changed(catalogue.find(chosen[0]), {name: value for name, _, value in pairs}, when or (), assumes or ())
        with progress() as tell, waiting("verifying"):
            checked = [verify_changed(own, full, tell, where)]
        print_verdicts(checked, {}, {})
        end_with_errors(checked)
        return
    with progress() as tell:
        if data is None:
            checked = check(chosen, full, tell, where, kinds or ())
        else:
            checked = verify_on(data, chosen, full, tell, where, settings)
        seen = seen_to_fail(checked, tell, where) if mutate else {}
        noticed = scores(checked, tell, where) if mutate else {}
    if as_json:
        print_json(
            [
                {
                    "id": c.statement.id,
                    "verdict": c.status,
                    "headline": c.headline,
                    "added": c.added,
                    "slack": c.slack,
                    "evidence": [
                        {
                            "kind": e.kind,
                            "verdict": v.status,
                            "slack": v.slack,
                            "says": v.says,
                            "witness": dict(v.witness),
                            "premises": premises(v),
                            "in_coq": [asdict(one) for one in in_coq(c) if one.kind == e.kind],
                            **({"seen_to_fail": seen[c.statement.id, e.kind]} if mutate else {}),
                        }
                        for e, v in c.verdicts
                    ],
                    **({"changes": asdict(noticed[c.statement.id])} if c.statement.id in noticed else {}),
                }
                for c in checked
            ]
        )
    else:
        if data is not None:
            from fedtheory import simulate

            print_read(simulate.Asked(data, (), simulate.settings_of(settings)))
        print_verdicts(checked, seen, noticed)
        if data is not None:
            console().print(f"by runs on {data} alone; without --data all evidence counts")
        if kinds:
            console().print(f"by {', '.join(kinds)} alone; without --evidence all evidence counts")
    end_with_errors(checked)
    if expect_clean and any(c.status in (Status.REFUTED, Status.VACUOUS) for c in checked):
        raise typer.Exit(1)


def end_with_errors(checked: list[Any]) -> None:
    """Where checks ended in exceptions, say so on standard error and exit with status 1."""
    from fedtheory.verification import errors

    if found := list(dict.fromkeys(errors(checked))):
        for says in found:
            print(f"fedtheory: {says}", file=sys.stderr)
        raise typer.Exit(1)


def print_verdicts(checked: list[Any], seen: Mapping[tuple[str, str], str | None], changed: Mapping[str, Any]) -> None:
    """Print the evidence with its witnesses; if known, a changed claim that it refutes, and the noticed changes."""
    from fedtheory.agreed import in_coq
    from fedtheory.pages import premises

    out = console()
    for c in checked:
        numbers = {"slack": c.slack, "room": c.room}
        told = "".join(f"  {name} {number:.3g}" for name, number in numbers.items() if number is not None)
        rest = c.headline.removeprefix(c.status)
        out.print(Text.assemble(f"{c.statement.id}: ", (str(c.status), "bold"), rest, told), soft_wrap=True)
        for e, v in c.verdicts:
            added = f" with {', '.join(v.added)}" if v.added else ""
            out.print(f"    {e.kind}: {v.status}{added}. {v.says}", soft_wrap=True)
            if v.without:
                out.print(f"        without: refuted. {v.without}", soft_wrap=True)
            for name, value in v.witness.items():
                out.print(f"        {name} = {value}", soft_wrap=True)
            for title, names in premises(v).items():
                out.print(f"        {title}: {'; '.join(names)}", soft_wrap=True)
            for one in in_coq(c):
                if one.kind == e.kind:
                    out.print(f"        in Coq: {'; '.join(one.names)}", soft_wrap=True)
            if (c.statement.id, e.kind) in seen:
                what = seen[c.statement.id, e.kind] or "nothing: it refutes none of the changed claims"
                out.print(f"        seen to fail: {what}", soft_wrap=True)
        if c.statement.id in changed:
            print_changes(changed[c.statement.id])
    print_summary(checked)


def print_changes(score: Score) -> None:
    """Print how many changes of a statement were noticed, by which evidence, and which changes were not noticed."""
    from fedtheory.score import totals

    out = console()
    noticed, of = totals([score]).get("all", (0, 0))
    out.print(f"    changes noticed: {noticed} of {of}")
    for title, says in (
        ("by part", ", ".join(f"{part} {n} of {of}" for part, (n, of) in score.parts.items())),
        ("by evidence", ", ".join(f"{kind} {n}" for kind, n in score.by.items())),
        ("not noticed", "; ".join(score.missed)),
        ("undecided (read, and not refuted)", "; ".join(score.undecided)),
        ("not needed", "; ".join(score.needless)),
    ):
        if says:
            out.print(f"        {title}: {says}", soft_wrap=True)


def print_summary(checked: list[Any]) -> None:
    """Print how many statements of each paper have each verdict."""
    from fedtheory.verification import count

    columns = list(count(checked))
    table = Table("paper", *map(str, columns), "all", box=None, pad_edge=False)
    for name in dict.fromkeys(c.statement.paper for c in checked):
        own = [c for c in checked if c.statement.paper == name]
        totals = count(own)
        table.add_row(name, *[str(totals.get(s, 0)) for s in columns], str(len(own)))
    console().print(table)


@app.command("figures")
def figures_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="names of figures (default: all); with NAME.pdf or NAME.svg in this format, too", metavar="[NAME]..."
        ),
    ] = None,
    full: Full = False,
    out: Annotated[Path, typer.Option(help="folder for the figures")] = Path("figures/drawn"),
    fresh: Fresh = False,
    scheduler: Scheduler = None,
    svg: Annotated[bool, typer.Option("--svg", help="write each figure as SVG, too")] = False,
    only_list: Annotated[bool, typer.Option("--list", help="list the figures instead")] = False,
) -> None:
    """Draw figures as PNG, with the drawn numbers as CSV."""
    from fedtheory.drawing import draw_all
    from fedtheory.figures import gallery

    if only_list:
        table = Table("name", "says", box=None, pad_edge=False)
        for p in gallery.pictures():
            table.add_row(p.name, p.says)
        console().print(table)
        return
    endings: tuple[gallery.Format, ...] = ("svg", "pdf")
    more = tuple(e for e in endings if (svg and e == "svg") or any(n.endswith(f".{e}") for n in names or ()))
    plain = [n.rpartition(".")[0] if n.endswith((".png", ".svg", ".pdf")) else n for n in names or ()]
    chosen = [gallery.find(n) for n in plain] if plain else gallery.pictures()
    with progress() as tell:
        draw_all(chosen, out, full, tell, workshop(fresh, scheduler), more)
    console().print(f"{len(chosen)} figures in {out}")


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


@app.command("simulate")
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


@app.command("confront")
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


Quick = Annotated[
    bool, typer.Option("--quick", help="a small version: digits, small networks, 20 rounds; about a minute on a CPU")
]
Cells = Annotated[
    list[str] | None,
    typer.Option("--cells", help="only cells with this text in their name; may be given several times"),
]
Runs = Annotated[Path, typer.Option("--runs", help="folder of the trainings")]


@app.command("train")
def train_command(
    what: Annotated[
        str | None, typer.Argument(help="a preset, such as sfl.table3, or a TOML file", metavar="[PRESET|FILE.toml]")
    ] = None,
    only_list: Annotated[bool, typer.Option("--list", help="list the presets instead")] = False,
    quick: Quick = False,
    cells: Cells = None,
    data: Annotated[
        str | None,
        typer.Option("--data", help="folder of the images; or 'generated', for generated images of the same size"),
    ] = None,
    device: Annotated[str | None, typer.Option("--device", help="cpu or cuda")] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", help="number of rounds, instead of the set-up's")] = None,
    seeds: Annotated[str | None, typer.Option("--seeds", help="number of seeds (3) or a list of seeds (0,5,7)")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="continue an interrupted training")] = False,
    checkpoint: Annotated[float, typer.Option("--checkpoint", help="seconds between checkpoints")] = 30.0,
    runs: Runs = Path("runs"),
    source: From = None,
    scheduler: Scheduler = None,
) -> None:
    """Train networks, measure and draw: every table and figure of the papers that shows networks has a preset."""
    from fedtheory import tables, training
    from fedtheory.bounds import presets
    from fedtheory.tasks import Workshop

    if only_list or what is None:
        table = Table("preset", "cells", "says", box=None, pad_edge=False)
        for name, build in presets.presets().items():
            preset = build()
            table.add_row(name, str(len(preset.cells)), preset.says)
        console().print(table)
        return
    number("--checkpoint", checkpoint, ">= 0")
    changes: dict[str, Any] = {"data": data, "device": device, "rounds": rounds}
    if seeds is not None:
        changes["seeds"] = tables.which_seeds(seeds)
    if what.endswith(".toml"):
        name = Path(what).stem
        if Path(what).suffix != ".toml" or name.strip(".") == "":
            raise ValueError(
                f"{brief(what)}: expected a name before .toml, because the folder of the training has this name"
            )
        setup = tables.changed(training.read_setup(Path(what), source), **changes)
        folder = runs / name
        if scheduler is None:
            with training_progress() as tell:
                training.train(setup, folder, resume, tell(Path(what).stem), checkpoint)
        else:
            with progress() as tell:
                training.train_there({folder: setup}, Workshop(None, scheduler), resume, tell)
        rows = training.history(folder)
        tables.draw_curves("curves", Path(what).stem, {setup.algorithm["name"]: rows}, folder)
        tables.print_history(rows, console())
        console().print(f"written: {folder}")
        return
    if source is not None:
        raise ValueError("--from with a preset: expected --from with a TOML file that names the algorithm in it")
    preset = presets.preset(what)
    if quick:
        preset = presets.quick(preset)
    preset = tables.chosen(preset, cells)
    folder = runs / tables.slug(what + (", quick" if quick else ""))
    if scheduler is None:
        with training_progress() as tell:
            tables.train_preset(preset, folder, resume, tell, checkpoint, **changes)
    else:
        setups = zip((folder / cell.name for cell in preset.cells), tables.setups_of(preset, **changes), strict=True)
        with progress() as tell:
            training.train_there(dict(setups), Workshop(None, scheduler), resume, tell)
    drawn = tables.draw(preset, folder)
    tables.print_found(preset, folder, console())
    console().print(f"{len(preset.cells)} trainings and {len(drawn) // 3} figures in {folder}")


@app.command("table")
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


@app.command("paper-check")
def paper_check_command(
    full: Full = False,
    out: Annotated[Path, typer.Option(help="file to write")] = Path("paper_check.md"),
    fresh: Fresh = False,
    scheduler: Scheduler = None,
) -> None:
    """Run all evidence for every statement; write paper_check.md, and a folder with its details beside it."""
    from fedtheory.paper_check import write_whole

    where = workshop(fresh, scheduler)
    with progress() as tell:
        checked = write_whole(out, full, tell, where)
    print_summary(checked)
    print_stored(where)
    console().print(f"written: {out}")
    end_with_errors(checked)


@records.callback()
def records_callback() -> None:
    """Measure again what is kept on record."""


@records.command("experiments")
def record_experiments_command(
    names: Annotated[list[str] | None, typer.Argument(help="names of experiments; all if there are none")] = None,
    fresh: Fresh = False,
    scheduler: Scheduler = None,
) -> None:
    """Measure the experiments that decide no verdict, such as slopes of rates, and write their numbers to bounds/records.

    Figures show these numbers; the report measures one point of each experiment again."""
    from fedtheory.records import record

    with progress() as tell:
        files = record(names or [], tell, workshop(fresh, scheduler))
    for file in files:
        print(f"written: {file}")


@exports.callback()
def exports_callback() -> None:
    """Write the proofs for other programs."""


@exports.command("coq")
def export_coq_command(
    folder: Annotated[Path, typer.Argument(help="folder for the files", metavar="FOLDER")],
    paper: PaperName = None,
    fresh: Fresh = False,
    scheduler: Scheduler = None,
) -> None:
    """Write each step of the proofs as a lemma for Coq, with a proof that its kernel can check: one file for each paper."""
    from fedtheory import coq
    from fedtheory.theory import catalogue

    papers = [catalogue.paper(paper).name] if paper is not None else list(catalogue.names())
    with progress() as tell:
        told = coq.export(folder, papers, tell, workshop(fresh, scheduler))
    for line in told:
        console().print(line)
    files = " && ".join(f'coqc -Q . "" {name}' for name in ("fedtheory.v", *(f"{name}.v" for name in papers)))
    console().print(f"written: {folder}; to check the files: cd {folder} && {files}", soft_wrap=True)


@app.command()
def report(
    full: Full = False,
    site: Annotated[Path, typer.Option(help="folder for the site")] = Path("site"),
    fresh: Fresh = False,
    scheduler: Scheduler = None,
    profile: Annotated[bool, typer.Option("--profile", help="print the CPU seconds by paper and kind of task")] = False,
) -> None:
    """The main job: write the paper check, all figures and the site; print the number of statements with each verdict."""
    from fedtheory import drawing, paper_check
    from fedtheory.figures import gallery
    from fedtheory.records import again
    from fedtheory.site import build, ready as site_ready
    from fedtheory.site.build import tasks_of as explorer_tasks
    from fedtheory.theory import catalogue
    from fedtheory.verification import pieces

    out, drawn, where = Path("paper_check.md"), Path("figures/drawn"), workshop(fresh, scheduler)
    pictures = gallery.pictures()
    paper_check.ready(out)
    drawing.ready(pictures, drawn)
    site_ready(site)
    with progress() as tell:
        evidence = pieces([s.id for s in catalogue.statements()], full)
        # All at once, so that no core waits for the end of a stage
        points = again()
        known = {} if full or fresh else drawing.current()
        left = [p for p in pictures if p.name not in known]
        tasks = [*drawing.tasks_of(left, full), *(one.task for one in points), *explorer_tasks(evidence, full)]
        where.do([*tasks, *(task for own in evidence.values() for _, task in own)], tell)
        checked = paper_check.write_whole(out, full, tell, where)
        figures = drawing.draw_all(left, drawn, full, tell, where, known=known)
        if not full:
            drawing.keep(figures, drawn)
        pages = build(site, checked, figures, full, tell, where)
    print_summary(checked)
    print_stored(where)
    print_again(points, where)
    if known:
        told = f"figures: {len(known)} as this code drew them before, and {', '.join(p.name for p in left)} drawn again"
        console().print(told, soft_wrap=True)
    table = Table("result", "where", box=None, pad_edge=False)
    table.add_row("verdict and evidence of every statement; errata", str(out))
    table.add_row(f"{len(pictures)} figures as PNG, with their data as CSV", f"{drawn}/")
    table.add_row("the same as a site, with the bound explorer: open it in a browser (no server)", str(pages[0]))
    console().print(table)
    if profile:
        print_profile(where)
    end_with_errors(checked)


def main() -> None:
    """Entry point: exit status 0 done, 2 bad usage (one line); 1 a check ended in an exception, or --expect-clean."""
    gc.set_threshold(50_000)  # a paper is many small objects that stay: looking through them again and again takes time
    sys.stderr = sys.stderr or StringIO()  # closed
    if sys.stdout is None:
        refuse("standard output is closed: expected it open, such as > /dev/null")
    try:
        with ended_like_ctrl_c() as signals:
            status = app(standalone_mode=False)
        sys.exit(128 + signals[0] if signals else status if isinstance(status, int) else 0)
    except TyperException as error:
        refuse(f"{error.format_message()} See fedtheory --help.")
    except Abort:
        sys.exit(130)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS:
            raise
        refuse(f"this needs {missing}: expected pip install '.[{EXTRAS[missing]}]' in the folder of fedtheory")
    except ImportError as error:  # such as of a library that finds no memory
        refuse(f"{error}; expected a library that can be loaded, and memory for it")
    except MemoryError as error:
        refuse(f"not enough memory: {error or 'expected a smaller request'}")
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        refuse(f"cannot print {letter!a} as {error.encoding}: expected UTF-8, such as by PYTHONIOENCODING=utf-8")
    except (ValueError, UnknownName, OSError) as error:
        refuse(str(error))


@contextmanager
def ended_like_ctrl_c() -> Iterator[list[int]]:
    """SIGTERM and SIGHUP interrupt the work, so that worker processes end and a training keeps its rounds; yields which."""
    received: list[int] = []

    def interrupt(number: int, frame: object) -> NoReturn:
        received.append(number)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows has one
    before = {n: signal.signal(n, interrupt) for n in numbers if signal.getsignal(n) is signal.SIG_DFL}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def refuse(what: str) -> NoReturn:
    """Say in one line of at most 300 characters what was wrong, and exit with status 2."""
    try:
        print(shortened(f"fedtheory: {' '.join(what.split())}", _LONGEST_ERROR), file=sys.stderr)
    finally:
        sys.exit(2)


if __name__ == "__main__":
    main()
