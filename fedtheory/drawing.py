"""The figures as tasks: drawn beside each other, or taken from the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from fedtheory.records import worker_of
from fedtheory.site.build import smaller
from fedtheory.tasks import Progress, Task, Workshop
from fedtheory.verification import Found, failed, measurement, taken_over
from figures import gallery
from figures.files import writable
from theory import catalogue
from theory.statement import Verdict

SMALL = "small.png"  # the figure of the site, among a figure's files


def drawn(paper: str, name: str, full: bool, svg: bool, *found: Found) -> dict[str, bytes] | Verdict:
    """A figure's files by their endings, or the error that drawing it ended in; `found` is what it needs."""
    (picture,) = (p for p in gallery.pictures(paper) if p.name == name)
    if error := taken_over(found, picture.arenas(), full):
        return error
    try:
        files = gallery.rendered(picture, full, ("png", "svg") if svg else ("png",))
    except Exception as exception:
        return failed(exception, f"figure {name}")
    return {**files, SMALL: smaller(files["png"])}


def draw_all(
    chosen: Sequence[gallery.Picture],
    folder: Path,
    full: bool = False,
    progress: Progress | None = None,
    workshop: Workshop | None = None,
    svg: bool = False,
) -> dict[str, dict[str, bytes]]:
    """Write the figures into the folder as PNG and CSV, and as SVG if asked for.

    Returns the site's "png" and "csv" files by the names.

    Raises ValueError, before the work, where a file cannot be written; after all other figures are written, for those that
    ended in an exception.
    """
    ready(chosen, folder, svg)
    found = (workshop or Workshop()).do(tasks_of(chosen, full, svg), progress)
    by_name = dict(zip([p.name for p in chosen], found, strict=True))
    errors = {files.says: None for files in by_name.values() if isinstance(files, Verdict)}
    whole = {name: files for name, files in by_name.items() if not isinstance(files, Verdict)}
    for name, files in whole.items():
        gallery.write_files(name, {ending: own for ending, own in files.items() if ending != SMALL}, folder)
    if errors:
        raise ValueError("; ".join(errors))
    return {name: {"png": files[SMALL], "csv": files["csv"]} for name, files in whole.items()}


def ready(chosen: Iterable[gallery.Picture], folder: Path, svg: bool = False) -> None:
    """Raises ValueError where a figure's files cannot be written into the folder."""
    endings = ("png", "csv", "svg") if svg else ("png", "csv")
    for picture in chosen:
        for path in gallery.files_in(folder, picture.name, endings).values():
            writable(path)


def tasks_of(chosen: Iterable[gallery.Picture], full: bool, svg: bool = False) -> list[Task]:
    """The tasks to draw these figures."""
    papers = {picture.name: name for name in catalogue.papers() for picture in gallery.pictures(name)}
    return [_task(papers[picture.name], picture.name, full, svg) for picture in chosen]


@cache
def _task(paper: str, name: str, full: bool, svg: bool) -> Task:
    (picture,) = (p for p in gallery.pictures(paper) if p.name == name)
    needs = tuple(measurement(arena.label, None, full) for arena in picture.arenas())
    worker = paper if picture.study is None else worker_of(paper, picture.study().name)
    return Task("drawing figures", worker, "figure", drawn, (paper, name, full, svg), needs)


__all__ = ["SMALL", "draw_all", "drawn", "ready", "tasks_of"]
