"""What one asks in a notebook or a script: the verdicts with the store of results, a statement's page, a figure."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas
    from pandas import DataFrame

    from fedtheory.figures.gallery import FigureData, Tabled
    from fedtheory.tasks import Workshop
    from fedtheory.theory.statement import Statement
    from fedtheory.verification import Checked


class Verdicts(list["Checked"]):
    """Checked statements; they show themselves by their headlines."""

    def __repr__(self) -> str:
        """A line for each; at most ten lines."""
        if len(self) == 1:
            return repr(self[0])
        some = [f"{c.statement.id}: {c.headline}" for c in self[:_SHOWN]]
        return "\n".join([*some, *([f"... {len(self)} in all"] if len(self) > _SHOWN else [])])

    def _repr_markdown_(self) -> str:
        """All of them, as a table for a notebook."""
        rows = [f"| {c.statement.id} | {c.headline.replace('|', chr(92) + '|')} |" for c in self]
        return "\n".join(["| statement | verdict |", "|---|---|", *rows])


_SHOWN = 9


def verify(ids: str | Sequence[str], full: bool = False, kinds: Sequence[str] = (), fresh: bool = False) -> Verdicts:
    """Run all evidence for statements, by their ids.  Results are kept in the store, and given out the next time.

    full   also the longer searches
    kinds  only evidence of these kinds
    fresh  compute all verdicts again

    Raises UnknownName for an unknown id or kind; ValueError if no statement has evidence of these kinds.
    """
    from fedtheory import verification
    from fedtheory.tasks import workshop

    asked = [ids] if isinstance(ids, str) else list(ids)
    return Verdicts(verification.verify(asked, full, workshop=workshop(True) if fresh else _kept(), kinds=kinds))


@cache
def _kept() -> Workshop:
    """One for the session: what it has computed it knows, also the short tasks that the store does not keep."""
    from fedtheory.tasks import workshop

    return workshop()


@dataclass(frozen=True, repr=False)
class Page:
    """A statement with all that belongs to it: conditions, symbols, what it rests on, what uses it, errata."""

    statement: Statement

    def __repr__(self) -> str:
        """For a terminal."""
        from fedtheory.pages import as_text

        return as_text(self.statement)

    def _repr_markdown_(self) -> str:
        """For a notebook: the formula, then all in plain text."""
        return f"{self.statement._repr_markdown_()}\n\n```text\n{self!r}\n```"


def show(id_: str) -> Page:
    """A statement's page.  Raises UnknownName."""
    from fedtheory.theory import catalogue

    return Page(catalogue.find(id_))


@dataclass(frozen=True, repr=False)
class Figure:
    """A figure by name, and every number in it; a table has HTML, and no canvas."""

    name: str
    full: bool
    canvas: Canvas | None
    data: DataFrame
    html: str | None = None

    def __repr__(self) -> str:
        """Its name and its size."""
        return f"<Figure {self.name}: {len(self.data)} rows of numbers in data>"

    def _repr_html_(self) -> str | None:
        """A table for a notebook."""
        return self.html

    def _repr_png_(self) -> bytes | None:
        """For a notebook."""
        if self.canvas is None:
            return None
        buffer = io.BytesIO()
        self.canvas.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()

    def save(self, path: str | Path) -> None:
        """Write it as PNG, SVG or PDF, by the name's ending, and its numbers beside it.  Raises ValueError for another.

        A table is written as HTML.
        """
        from fedtheory.figures.gallery import find, save_as, saveable

        picture = find(self.name)
        saveable(Path(path), picture)
        save_as(lambda: _drawn(self.name, self.full), Path(path))


def figure(name: str, full: bool = False) -> Figure:
    """A figure, by a name of `fedtheory figures --list`, drawn anew.  Raises UnknownName.

    full  with the longer runs
    """
    drawn = _drawn(name, full)
    return Figure(name, full, getattr(drawn, "canvas", None), drawn.data, getattr(drawn, "html", None))


def _drawn(name: str, full: bool) -> FigureData | Tabled:
    import matplotlib as mpl

    from fedtheory.figures import gallery

    with mpl.rc_context(gallery.STYLE):
        return gallery.find(name).draw(full)
