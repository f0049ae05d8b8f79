"""The report, and its parts: the paper check and the figures."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedtheory.commands.options import Fresh, Full, Scheduler, workshop
from fedtheory.commands.summaries import end_with_errors, print_summary
from fedtheory.terminal import console, print_rows, progress

if TYPE_CHECKING:
    from fedtheory.records import Again
    from fedtheory.tasks import Workshop

# Stage of the work -> the word for its results
_RESULTS = {"checking statements": "verdicts", "running arenas": "measurements", "drawing figures": "figures"}


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
    results = {
        "verdict and evidence of every statement; errata": out,
        f"{len(pictures)} figures as PNG, with their data as CSV": f"{drawn}/",
        "the same as a site, with the bound explorer: open it in a browser (no server)": pages[0],
    }
    print_rows(("result", "where"), ((what, str(place)) for what, place in results.items()))
    if profile:
        print_profile(where)
    end_with_errors(checked)


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
    """Draw figures as PNG, tables as HTML, with the numbers as CSV."""
    from fedtheory.drawing import draw_all
    from fedtheory.figures import gallery

    if only_list:
        print_rows(("name", "says"), ((p.name, p.says) for p in gallery.pictures()))
        return
    endings: tuple[gallery.Format, ...] = ("svg", "pdf")
    more = tuple(e for e in endings if (svg and e == "svg") or any(n.endswith(f".{e}") for n in names or ()))
    plain = [n.rpartition(".")[0] if n.endswith((".png", ".svg", ".pdf")) else n for n in names or ()]
    chosen = [gallery.find(n) for n in plain] if plain else gallery.pictures()
    for name, picture in zip(names or (), chosen, strict=False):
        if picture.shown == "html" and name != picture.name:
            raise ValueError(f"{name}: {picture.name} is a table, written as HTML; expected its name without an ending")
    with progress() as tell:
        draw_all(chosen, out, full, tell, workshop(fresh, scheduler), more)
    console().print(f"{len(chosen)} figures in {out}")


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
    ordered = sorted(seconds.items(), key=lambda row: row[1]["all"])
    rows = [(kind, *(f"{s:.1f}" for s in own.values())) for kind, own in ordered]
    workers = [s for process, s in where.besides.items() if process != os.getpid()]
    start, main_process = sum(workers), time.process_time() + where.besides.get(os.getpid(), 0.0)
    whole = sum(spent.seconds or 0.0 for spent in where.spent) + start + main_process
    processes = {f"start of {len(workers)} worker processes": start, "the main process": main_process}
    for name, one in (processes | {"the whole command": whole}).items():
        rows.append((name, *[""] * len(papers), f"{one:.1f}"))
    print_rows(("CPU seconds", *papers, "all"), rows)
