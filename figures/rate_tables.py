"""Printed tables of rates as tables of exponents: printed, and measured on problems where a term of the rate is large."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import groupby
from typing import Any

import pandas as pd

from fedtheory.bounds.slopes import Experiment, hundredths, slopes, study
from fedtheory.figures.gallery import Picture, Tabled
from fedtheory.theory import catalogue

_LETTERS = {  # of the columns, in their order
    "eps": "ε", "kappa": "κ", "K": "K", "T": "T", "M": "M", "m": "m", "S": "S", "N": "N", "alpha": "α", "q": "q", "n": "n",
}  # fmt: skip
MINUS = "\u2212"


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
) -> Tabled:
    """The table: a line for each part of a rate, a column for each variable; `table` is how its rows' ids begin."""
    data = pd.DataFrame(row for row in _cells(experiments) if row["row"].startswith(table))
    columns = [name for name in _LETTERS if name in set(data.along)]
    cells = data.drop_duplicates(["row", "part", "along"]).set_index(["row", "part", "along"])
    notes = {why: number for number, why in enumerate(dict.fromkeys(why for why in cells.why if why), 1)}
    heads = "".join(f'<th scope="col"><i>{_LETTERS[name]}</i></th>' for name in columns)
    lines = [f'<table class="rates">\n<thead><tr><th scope="col">part of the rate</th>{heads}</tr></thead>']
    for title, own in groupby(experiments, key=lambda e: _title(e.rows)):
        lines.append(f'<tbody>\n<tr><th scope="rowgroup" colspan="{len(columns) + 1}">{escape(title)}</th></tr>')
        for experiment in own:
            row = next(r for r in experiment.rows if r.startswith(table))
            name = f"{escape(experiment.part.replace('_', ' '))}<br><small>{escape(experiment.problem)}</small>"
            told = (
                _cell(cells.loc[(row, experiment.part, along)], notes) if along in experiment.along else "<td></td>"
                for along in columns
            )
            lines.append(f'<tr><th scope="row">{name}</th>{"".join(told)}</tr>')
        lines.append("</tbody>")
    lines += ["</table>", *_notes(table, notes, missing)]
    return Tabled("\n".join(lines) + "\n", data)


def _cell(cell: Any, notes: Mapping[str, int]) -> str:
    """The printed exponent, the measured one, whether they agree, and below the exponents between neighbouring points."""
    kind, sign = ("agrees", "✓") if cell.agrees else ("differs", "✗")
    note = f"<sup>{notes[cell.why]}</sup>" if cell.why else ""
    low, high = hundredths(cell.low), hundredths(cell.high)
    between = low if low == high else f"{low} to {high}"
    shown = f"{cell.printed:.2g} <b>{hundredths(cell.measured)}</b> {sign}{note}<br><small>{between}</small>"
    return f'<td class="{kind}">{shown.replace("-", MINUS)}</td>'


def _notes(table: str, notes: Mapping[str, int], missing: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Why exponents differ, and what is not in the table, as lists."""
    if notes:
        yield f"<ol>{''.join(f'<li>{escape(why)}</li>' for why in notes)}</ol>"
    lacking: dict[str, list[str]] = {}
    for (row, part), why in missing.items():
        if row.startswith(table):
            lacking.setdefault(f"{part.replace('_', ' ')}: {why}", []).append(_title([row]))
    if lacking:
        told = (f"{' and '.join(dict.fromkeys(rows))}, {why}" for why, rows in lacking.items())
        yield f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in told)}</ul>"


def picture(
    name: str, table: str, experiments: Sequence[Experiment], missing: Mapping[tuple[str, str], str]
) -> Picture:
    """The picture of a table, whose rows have ids that begin with `table`."""
    ids = tuple(dict.fromkeys(row for e in experiments for row in e.rows if row.startswith(table)))
    number = table.removeprefix(table.rstrip("0123456789"))
    says = (
        f"Table {number} as an experiment: how the cost of an accuracy scales. A cell has the printed exponent, the "
        "measured one in bold, ✓ where they agree or ✗ and a note where they do not, and below the range of local slopes."
    )
    own = [e for e in experiments if any(row.startswith(table) for row in e.rows)]
    numbers = partial(study, table.partition(".")[0])
    return Picture(name, says, partial(draw, table, own, missing), ids, study=numbers, shown="html")
