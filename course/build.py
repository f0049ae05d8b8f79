"""The student's and the teacher's version of every lesson, from one source.

A source is a notebook that runs.  What only teachers see stands between `# solution` and `# end`; what students see in its
place stands before it, commented out, after `# student:`, line by line:

    def slope(h, eta, K):
        # student: return ...  # your turn: what K local steps make of x - a
        # solution
        return (1 - eta * h) ** K
        # end

The teacher's version is the source without these marks.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from html import escape
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import marimo

from fedtheory.figures.files import write

LESSONS = Path(__file__).parent / "lessons"
NETWORK = f"https://cdn.jsdelivr.net/npm/@marimo-team/frontend@{marimo.__version__}/dist"
SETTINGS = ("pyproject.toml", "lessons.css")  # how marimo shows the lessons beside which they stand
_CONTENTS = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>The course</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1.05rem/1.8 sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem }}
</style>
<h1>The course</h1>
<p>Pages to read: their sliders and boxes for answers do nothing. To work on a lesson, open its notebook with
<code>marimo edit</code>.</p>
<ul style="list-style: none; padding: 0">{}</ul>
<p>{}</p>
"""
Version = Literal["student", "teacher"]
VERSIONS: tuple[Version, ...] = get_args(Version)


def sources(only: Sequence[int] = ()) -> list[Path]:
    """The lessons in order; only those of these numbers, if any are given.  Raises ValueError for a number of none."""
    found = {int(path.name[:2]): path for path in sorted(LESSONS.glob("[0-9][0-9]_*.py"))}
    if lost := [n for n in only if n not in found]:
        raise ValueError(f"lesson {lost[0]} does not exist; expected one of {', '.join(map(str, found))}")
    return [path for n, path in found.items() if n in only or not only]


def version(source: str, which: Version) -> str:
    """A lesson for students or for teachers.  Raises ValueError for marks that do not pair."""
    kept: list[str] = []
    inside = False
    for number, line in enumerate(source.splitlines(), 1):
        mark = line.strip()
        if mark == "# solution":
            if inside:
                raise ValueError(f"line {number}: a solution inside a solution; expected '# end' before it")
            inside = True
        elif mark == "# end":
            if not inside:
                raise ValueError(f"line {number}: '# end' without '# solution'")
            inside = False
        elif mark.startswith("# student: "):
            if which == "student":
                indent = line[: len(line) - len(line.lstrip())]
                kept.append(indent + mark.removeprefix("# student: "))
        elif not inside or which == "teacher":
            kept.append(line)
    if inside:
        raise ValueError("a solution without '# end'")
    return "\n".join(kept) + "\n"


def build(out: Path, html: bool = False, only: Sequence[int] = (), offline: bool = False) -> list[Path]:
    """Write the lessons, student/NAME.py and teacher/NAME.py; where asked, run them and export them to HTML too.

    A student's page shows no code; a teacher's page has the solutions.  `index.html` leads to the students' pages.

    offline  put marimo's front end beside the pages, which otherwise load it from the network
    """
    written = []
    for which, name in product(VERSIONS, SETTINGS):
        write(out / which / name, (LESSONS / name).read_bytes())
    if html and offline:
        shutil.copytree(Path(marimo.__file__).parent / "_static", out / "marimo", dirs_exist_ok=True)
    for source, which in product(sources(only), VERSIONS):
        path = out / which / source.name
        write(path, version(source.read_text(), which).encode())
        written.append(path)
        if html:
            written.append(exported(path, "../marimo" if offline else NETWORK, code=which == "teacher"))
    if html:
        write(out / "index.html", contents(out).encode())
        written.append(out / "index.html")
    return written


def contents(out: Path) -> str:
    """A page that leads to the students' lessons in this folder, and to site and documentation where they are built."""
    pages = [source.with_suffix(".html").name for source in sources()]
    titles = [re.findall(r'app_title="(.+?)"', source.read_text())[0] for source in sources()]
    rows = [
        f'<li><a href="student/{page}">{escape(title)}</a></li>'
        for page, title in zip(pages, titles, strict=True)
        if (out / "student" / page).is_file()
    ]
    beside = {"The site": "../../site/index.html", "Documentation": "../../docs/built/index.html"}
    links = [f'<a href="{path}">{name}</a>' for name, path in beside.items() if (out / path).is_file()]
    return _CONTENTS.format("".join(rows), " · ".join(links))


def exported(path: Path, front_end: str = NETWORK, code: bool = True) -> Path:
    """Run a lesson and write it as HTML beside it; the page loads marimo's front end from there.

    code   whether the page shows the code of the cells

    Raises ValueError if the page does not name the place of the front end, as after a change of marimo.
    """
    page = path.with_suffix(".html")
    command = [
        sys.executable,
        "-m",
        "marimo",
        "--quiet",
        "--yes",
        "export",
        "html",
        str(path),
        "-o",
        str(page),
        "--force",
        "--include-code" if code else "--no-include-code",
    ]
    subprocess.run(command, check=True)
    text = page.read_text()
    if NETWORK not in text:
        raise ValueError(f"{page} does not load its front end from {NETWORK}; expected it there")
    write(page, text.replace(NETWORK, front_end).encode())
    return page


def main() -> None:
    """`python -m course`."""
    parser = argparse.ArgumentParser(
        prog="python -m course", description="Write the lessons for students and teachers."
    )
    parser.add_argument("--out", type=Path, default=Path("course/built"), help="folder to write to")
    parser.add_argument("--html", action="store_true", help="run each lesson and export it to HTML too")
    parser.add_argument(
        "--offline",
        action="store_true",
        help="with --html: put marimo's front end beside the pages, for `python -m http.server` without a network",
    )
    parser.add_argument(
        "--only", type=int, nargs="+", default=(), metavar="N", help="only the lessons of these numbers"
    )
    given = parser.parse_args()
    if given.offline and not given.html:
        parser.error("--offline is about the pages of --html; expected both")
    try:
        written = build(given.out, given.html, given.only, given.offline)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print(f"{len(written)} files in {given.out}/student and {given.out}/teacher")
