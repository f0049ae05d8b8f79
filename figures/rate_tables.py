"""Printed tables of rates as tables of exponents: printed, and measured on problems where a term of the rate is large."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from textwrap import fill
from typing import Any

import pandas as pd

from fedtheory.bounds.slopes import Experiment, hundredths, slopes, study
from fedtheory.figures.gallery import BLACK, GREY, Drawn, Picture, canvas
from fedtheory.theory import catalogue

_LETTERS = {
    "eps": r"$\epsilon$", "kappa": r"$\kappa$", "alpha": r"$\alpha$", "K": "$K$", "M": "$M$", "T": "$T$", "S": "$S$",
    "N": "$N$", "q": "$q$", "m": "$m$", "n": "$n$",
}  # fmt: skip
_ORDER = ("eps", "kappa", "K", "T", "M", "m", "S", "N", "alpha", "q", "n")
_SAME, _OTHER = "#E3F1EA", "#FBE3D3"  # backgrounds
_NAMES, _CELL = 3.3, 0.95  # inches


def _title(rows: Sequence[str]) -> str:
    """The names of the rows that an experiment is about."""
    names = (re.split(r"Table [^,]*, ", catalogue.find(row).place)[1].partition(";")[0] for row in rows)
    return "; ".join(dict.fromkeys(names))


def _rounded(exponent: float) -> float:
    """To three decimals, the same on every machine."""
    return round(exponent, 3) + 0.0


def _cells(experiments: Sequence[Experiment]) -> Iterator[dict[str, Any]]:
    for experiment in experiments:
        for slope in slopes(experiment):
            (low, high) = slope.interval
            for row in experiment.rows:
                exponent = experiment.printed(catalogue.find(row), slope.along)
                agrees = slope.agrees(exponent)
                for point, number in zip(slope.points, slope.measured, strict=True):
                    yield {
                        "row": row, "part": experiment.part, "problem": experiment.problem, "along": slope.along,
                        "printed": _rounded(exponent), "measured": _rounded(slope.exponent), "low": _rounded(low),
                        "high": _rounded(high),
                        "agrees": agrees, "why": "" if agrees else experiment.why.get(slope.along, ""), "at": point,
                        "number": number,
                    }  # fmt: skip


def draw(
    table: str, experiments: Sequence[Experiment], missing: Mapping[tuple[str, str], str], full: bool = False
) -> Drawn:
    """The table: a line for each part of a rate, a column for each variable; `table` is how its rows' ids begin."""
    data = pd.DataFrame(row for row in _cells(experiments) if row["row"].startswith(table))
    columns = [name for name in _ORDER if name in set(data.along)]
    titles = list(dict.fromkeys(_title(e.rows) for e in experiments))
    lines = len(experiments) + len(titles) + 1
    notes: dict[str, int] = {}
    cells = data.drop_duplicates(["row", "part", "along"]).set_index(["row", "part", "along"])
    for why in cells.why:
        if why:
            notes.setdefault(why, len(notes) + 1)
    lacking: dict[str, list[str]] = {}
    for (row, part), why in missing.items():
        if not row.startswith(table):
            continue
        lacking.setdefault(f"{part.replace('_', ' ')}: {why}", []).append(_title([row]))
    told = "\n".join(
        fill(note, 115)
        for note in (
            *(f"{number}  {why}" for why, number in notes.items()),
            *(f"{' and '.join(dict.fromkeys(rows))}, {why}" for why, rows in lacking.items()),
        )
    )
    height, width = 0.36 * lines + 0.15 * (told.count("\n") + 2), _NAMES + _CELL * len(columns)
    figure, axes = canvas(1, 1, width=width, height=height)
    axis = axes[0, 0]
    axis.set(xlim=(0, width), ylim=(lines, 0))
    axis.axis("off")

    def place(column: int) -> float:
        return _NAMES + _CELL * (column + 0.5)

    for column, name in enumerate(columns):
        axis.text(place(column), 0.6, _LETTERS[name], ha="center", va="center", fontsize=10)
    line = 1
    for title in titles:
        axis.text(0, line + 0.6, title, va="center", fontsize=8.5, weight="bold")
        axis.plot([0, width], [line + 0.05] * 2, color=GREY, lw=0.6)
        line += 1
        for experiment in (e for e in experiments if _title(e.rows) == title):
            axis.text(0.12, line + 0.32, experiment.part.replace("_", " "), va="center", fontsize=8)
            axis.text(0.12, line + 0.72, experiment.problem, va="center", fontsize=5.6, color=GREY)
            for column, name in enumerate(columns):
                if name not in experiment.along:
                    continue
                cell = cells.loc[(next(r for r in experiment.rows if r.startswith(table)), experiment.part, name)]
                left = _NAMES + _CELL * column
                axis.fill_between([left + 0.03, left + _CELL - 0.03], line + 0.04, line + 0.96,
                                  color=_SAME if cell.agrees else _OTHER, lw=0)  # fmt: skip
                mark = f"$^{{{notes[cell.why]}}}$" if cell.why else ""
                axis.text(left + 0.1, line + 0.5, f"{cell.printed:.2g}", va="center", fontsize=8, color=GREY)
                axis.text(left + 0.62, line + 0.36, f"{hundredths(cell.measured)}{mark}", ha="center", va="center",
                          fontsize=8, color=BLACK)  # fmt: skip
                axis.text(left + 0.62, line + 0.74, f"[{hundredths(cell.low)}, {hundredths(cell.high)}]", ha="center",
                          va="center", fontsize=5.4, color=GREY)  # fmt: skip
            line += 1
    figure.text(0.01, -0.005, told, va="top", fontsize=6.5, color=BLACK)
    figure.suptitle(
        "Exponents of what an accuracy takes: printed (grey), measured, and between neighbouring points [in brackets]",
        fontsize=9,
    )
    return Drawn(figure, data)


def picture(
    name: str, table: str, experiments: Sequence[Experiment], missing: Mapping[tuple[str, str], str]
) -> Picture:
    """The picture of a table, whose rows have ids that begin with `table`."""
    ids = tuple(dict.fromkeys(row for e in experiments for row in e.rows if row.startswith(table)))
    number = table.removeprefix(table.rstrip("0123456789"))
    says = (
        f"Table {number} as an experiment. Green: the measured exponent agrees with the printed one (grey); orange: it does "
        "not, and the note says why."
    )
    own = [e for e in experiments if any(row.startswith(table) for row in e.rows)]
    return Picture(name, says, partial(draw, table, own, missing), ids, study=partial(study, table.partition(".")[0]))
