"""The parts of papers, and where papers outside this repository are.

A paper of this repository has a place on each floor (`_HERE`).  One outside is a package of its own,

    NAME/statements.py    `paper`
    NAME/checks.py        `evidence()`, `OPEN`, `QUANTITIES` of a round
    NAME/algorithms.py    `ALGORITHMS`
    NAME/arenas.py        `ARENAS`, `evidence()`, `QUANTITIES`, `on_data`
    NAME/presets.py       `PRESETS`
    NAME/figures.py       `FIGURES`

of which only the first is needed.  It lies in a folder of FEDTHEORY_PAPERS, to which `fedtheory --path FOLDER` adds one, or
is installed and has an entry point NAME = "PACKAGE" in the group fedtheory.papers.  `fedtheory new-paper` writes one.

Every floor may import this module, and it imports none of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from traceback import extract_tb
from typing import Any

VARIABLE, GROUP = "FEDTHEORY_PAPERS", "fedtheory.papers"
_PAPERS = Path(__file__).with_name("theory").resolve()  # those of this repository
_HERE = {  # part -> its module below `fedtheory`, of a paper of this repository
    "statements": "theory.{}",
    "checks": "theory.{}.checks",
    "algorithms": "simulations.algorithms.{}",
    "arenas": "bounds.{}",
    "worst_case": "bounds.{}.worst_case",
    "presets": "bounds.{}.presets",
    "figures": "figures.{}",
}

_WRITTEN: dict[str, Callable[[], Mapping[str, Any]]] = {}  # papers of this process: name -> its parts


def add(name: str, parts: Callable[[], Mapping[str, Any]]) -> None:
    """A paper that is no package but was written in this process; `parts` gives what its modules would have."""
    _WRITTEN[name] = parts


def add_folder(path: str | Path) -> None:
    """The papers of a folder, for this process and its workers.  Raises ValueError for a path with a separator in it."""
    others, folder = os.environ.get(VARIABLE, "").split(os.pathsep), os.path.abspath(path)
    if os.pathsep in folder:
        raise ValueError(f"--path {folder[:200]}: expected a folder without {os.pathsep!r} in its path")
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*filter(None, others), folder]))


def remove(name: str) -> None:
    """Forget a paper of this process; nothing happens where there is none."""
    _WRITTEN.pop(name, None)


def packages() -> dict[str, str]:
    """The papers outside: short name -> package; empty for one of this process.

    Raises ValueError for a name that is taken.
    """
    return {**_packages(os.environ.get(VARIABLE, "")), **dict.fromkeys(_WRITTEN, "")}


@cache
def _packages(folders: str) -> dict[str, str]:
    found = {point.name: point.value for point in entry_points(group=GROUP)}
    for folder in filter(None, folders.split(os.pathsep)):
        place = Path(folder).resolve()
        if not place.is_dir():
            raise ValueError(
                f"{VARIABLE}: no folder {folder!r}: expected folders with papers, separated by {os.pathsep}"
            )
        for statements in sorted(place.glob("*/statements.py")):
            name = statements.parent.name
            if name.startswith(".") or statements.parent.is_relative_to(_PAPERS):
                continue
            check_name(name)
            if name in found:
                raise ValueError(f"two papers {name!r} outside this repository: expected different names")
            found[name] = name
            if str(place) not in sys.path:
                sys.path.append(str(place))
            origin = getattr(find_spec(name), "origin", None)
            if origin is not None and not Path(origin).is_relative_to(statements.parent):
                raise ValueError(f"paper {name!r} in {place}: expected another name, this one is that of {origin}")
    return found


def check_name(name: str) -> None:
    """Raises ValueError for what cannot be the short name of a paper outside."""
    ours = {"fedtheory", *(path.name for path in _PAPERS.iterdir() if path.is_dir())}
    if not (name.isidentifier() and name.isascii() and name == name.lower()) or len(name) > 40:
        raise ValueError(f"paper {name[:60]!r}: expected a short name of small letters, digits and _, such as scaffold")
    if name in ours or name in sys.stdlib_module_names or iskeyword(name):
        raise ValueError(f"paper {name!r}: expected another name, this one is taken")


def load(paper: str, part: str) -> Any:
    """A part of a paper, imported; None where it has no such part.

    Raises ValueError that names the file and the line where the own code of a paper outside fails.
    """
    if paper in _WRITTEN:
        return _WRITTEN[paper]().get(part)
    package = packages().get(paper)
    if package is None:
        return _module(f"fedtheory.{_HERE[part].format(paper)}")
    spec = find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    with blaming(Path(places[0] if places else package).resolve()):
        if (found := _module(f"{package}.{part}")) is not None:
            return found
        statements = import_module(f"{package}.statements") if part != "statements" else None
        return getattr(getattr(statements, "paper", None), "parts", {}).get(part)  # all in one file


def _module(name: str) -> Any:
    """The module; None where there is none."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # it is there, and what it imports is not
        return None


@contextmanager
def blaming(place: Path) -> Iterator[None]:
    """Turn an exception of a user's own code, a file or a folder, into a ValueError that names the file and the line."""
    try:
        yield
    except (Exception, SystemExit) as error:  # whatever the user's code does
        frames = [(Path(frame.filename), frame.lineno) for frame in extract_tb(error.__traceback__)]
        if isinstance(error, SyntaxError) and error.filename:
            frames.append((Path(error.filename), error.lineno))
        own = [(file, line) for file, line in frames if file == place or place in file.parents]
        if not own:
            raise
        file, line = own[-1]
        says = " ".join(str(error).split())
        expected = "" if "expected" in says or "did you mean" in says else "; expected code that runs"
        raise ValueError(f"{file.name}, line {line}: {type(error).__name__}: {says[:150]}{expected}") from error


def home(module_name: str) -> str | None:
    """The paper outside to which a module belongs; None for any other module."""
    named = {paper: package for paper, package in packages().items() if package}
    return next((paper for paper, package in named.items() if module_name.startswith(f"{package}.")), None)
