"""The figures as tasks: drawn beside each other, or taken from the store.

The committed figures are kept with a digest of the code that drew them (`made_of.json`).  While it is the same, a report
draws one figure again, which the commit chooses, and takes the others as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from fedtheory import plugins
from fedtheory.figures import gallery
from fedtheory.figures.files import writable, write
from fedtheory.figures.gallery import Format
from fedtheory.records import commit, worker_of
from fedtheory.store import FLOORS, ROOT, contents
from fedtheory.tasks import Progress, Task, Workshop
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Verdict
from fedtheory.verification import Found, failed, measurement, taken_over

_MADE_OF = gallery.DRAWN / "made_of.json"

Files = Mapping[str, bytes]  # of a figure, by their endings


def drawn(paper: str, name: str, full: bool, more: tuple[Format, ...], *found: Found) -> Files | Verdict:
    """A figure's files by their endings, or the error that drawing it ended in; `found` is what it needs."""
    (picture,) = (p for p in gallery.pictures(paper) if p.name == name)
    if error := taken_over(found, picture.arenas(), full):
        return error
    try:
        return gallery.rendered(picture, full, ("png", *more))
    except Exception as exception:
        return failed(exception, f"figure {name}")


def draw_all(
    chosen: Sequence[gallery.Picture],
    folder: Path,
    full: bool = False,
    progress: Progress | None = None,
    workshop: Workshop | None = None,
    more: tuple[Format, ...] = (),
    known: Mapping[str, Files] | None = None,
) -> dict[str, Files]:
    """Write the figures into the folder as PNG and CSV, and in more formats if asked for; known ones as they are.

    A table is written as HTML and CSV.

    Returns the files by the names.

    Raises ValueError, before the work, where a file cannot be written; after all other figures are written, for those that
    ended in an exception.
    """
    ready(chosen, folder, more)
    found = (workshop or Workshop()).do(tasks_of(chosen, full, more), progress)
    by_name = dict(zip([p.name for p in chosen], found, strict=True))
    errors = {files.says: None for files in by_name.values() if isinstance(files, Verdict)}
    whole = {name: files for name, files in by_name.items() if not isinstance(files, Verdict)}
    whole |= known or {}
    for name, files in whole.items():
        gallery.write_files(name, files, folder)
    if errors:
        raise ValueError("; ".join(errors))
    return whole


def current() -> dict[str, Files]:
    """The committed figures that today's code has drawn, but for one that the commit chooses: it is to be drawn again.

    None after a change of code, and beside papers of others.
    """
    try:
        made = json.loads(_MADE_OF.read_text())
        if made["code"] != _code() or plugins.packages():
            return {}
        found = {name: committed(name) for name in made["figures"]}
    except (OSError, ValueError, KeyError):  # there is none, or it is damaged
        return {}
    known = sorted(name for name, files in found.items() if _digest(files) == made["figures"][name])
    chosen = known[int(commit(), 16) % len(known)] if known else ""
    return {name: found[name] for name in known if name != chosen}


def keep(figures: Mapping[str, Files], folder: Path) -> None:
    """Say which code has drawn the figures in the folder, if these are the committed ones."""
    if folder.resolve() == gallery.DRAWN and not plugins.packages():
        made = {"code": _code(), "figures": {name: _digest(files) for name, files in sorted(figures.items())}}
        write(_MADE_OF, (json.dumps(made, indent=1) + "\n").encode())


def committed(name: str) -> Files:
    """The files of a committed figure.  Raises OSError if there is none."""
    shown = "html" if (gallery.DRAWN / f"{name}.html").exists() else "png"
    return {ending: path.read_bytes() for ending, path in gallery.files_in(gallery.DRAWN, name, (shown, "csv")).items()}


def _digest(files: Files) -> str:
    return sha256(files.get("html", files.get("png", b"")) + files["csv"]).hexdigest()[:16]


@cache
def _code() -> str:
    """A digest of all code and of all records from which figures are made, and of the environment that is pinned."""
    ours = sorted(path for name in FLOORS for end in ("py", "json", "toml") for path in (ROOT / name).rglob(f"*.{end}"))
    read = [path for path in (*ours, ROOT / "constraints.txt") if path != _MADE_OF]
    return sha256("\n".join(contents(read)).encode()).hexdigest()[:16]


def ready(chosen: Iterable[gallery.Picture], folder: Path, more: tuple[Format, ...] = ()) -> None:
    """Raises ValueError where a figure's files cannot be written into the folder."""
    for picture in chosen:
        others = more if picture.shown == "png" else ()
        for path in gallery.files_in(folder, picture.name, (picture.shown, "csv", *others)).values():
            writable(path)


def tasks_of(chosen: Iterable[gallery.Picture], full: bool, more: tuple[Format, ...] = ()) -> list[Task]:
    """The tasks to draw these figures."""
    papers = {picture.name: name for name in catalogue.papers() for picture in gallery.pictures(name)}
    return [_task(papers[picture.name], picture.name, full, more) for picture in chosen]


@cache
def _task(paper: str, name: str, full: bool, more: tuple[Format, ...]) -> Task:
    (picture,) = (p for p in gallery.pictures(paper) if p.name == name)
    needs = tuple(measurement(arena.label, None, full) for arena in picture.arenas())
    worker = paper if picture.study is None else worker_of(paper, picture.study().name)
    return Task("drawing figures", worker, "figure", drawn, (paper, name, full, more), needs)
