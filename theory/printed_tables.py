"""Printed experiments as data: a paper's file experiments.toml has its settings, tables, figures and sentences.

A statement there has what a printed one has: place, claims (its sentences), settings, what it rests on.  Its rows are a
list (`table`), comparisons (`sentences`), or a text in the printed layout (`printed`), whose lines have cells between bars:

    line      names of what a line begins with       columns   what stands above its cells: rows, or values for all pairs
    heading   name of what a line alone says         constant  what all cells have in common
    cell      how a cell looks: {name} a number, {name=†} whether the sign stands there, [...] what may be missing
    row       the names in a row, in order           form      a reader in `FORMS`, for the few tables of another form

In a value, "@name" is the list of this name at the top of the file (in a list: its elements), "@none" is None, and a key
that reads as a number is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, cast, get_args

from fedtheory.theory.data_files import DataEntry, data_file, folded
from fedtheory.theory.statement import Claim, Kind, Paper, Record

Row = Mapping[str, Any]
NUMBER = r"[-+]?(?:\d+\.?\d*|inf)"
RECORD = ("settings", "table", "printed", "sentences", "claims")
PARTS = ("kind", "place", "rests_on", "note", "also", *RECORD)
SENTENCE = ("methods", "is", "others", "how often", "where", "than")
FREQUENCIES = ("always", "mostly", "sometimes", "on the mean")
LAYOUT = ("form", "heading", "line", "columns", "before", "constant", "cell", "row", "text")


def experiments(
    paper: Paper, others: Mapping[str, Claim] | None = None, file: DataEntry | None = None
) -> Mapping[str, Any]:
    """Declare the statements of a paper's experiments.toml, in its order; returns the lists at its top.

    others  the claims that are no records of an experiment, by the names of their statements

    Raises ValueError for an entry that is wrong, with its file and its place there.
    """
    file = file or data_file(paper.name, "experiments.toml")
    lists = lists_of(file)
    for name in file.values:
        if name != "lists":
            _say(paper, name, file.entry(name).only(*PARTS), lists, (others or {}).get(name))
    if unknown := [name for name in others or {} if name not in file.values]:
        raise file.wrong(f"no entry {unknown[0]!r}, which has a claim in experiments.py")
    return lists


def _say(paper: Paper, name: str, entry: DataEntry, lists: Row, formula: Claim | None) -> None:
    """Declare one statement."""
    kind = cast(Kind, entry.text("kind", among=get_args(Kind)))
    if any(part in entry.values for part in RECORD) != (formula is None):
        raise entry.wrong("expected either an experiment or a claim in experiments.py")
    also = [_record(entry.entry("also").only(*RECORD), lists)] if "also" in entry.values else []
    claim, place, note = formula or _record(entry, lists), entry.text("place"), entry.text("note", "")
    entry.call(paper.say, kind, name, place, claim, rests_on=entry.texts("rests_on"), also=also, note=note)


def _record(entry: DataEntry, lists: Row) -> Record:
    """The settings, rows and sentences of an entry."""
    settings = value_of(entry, entry.of("settings", dict, {}), lists)
    rows = value_of(entry, entry.of("table", list, []), lists)
    if "printed" in entry.values:
        rows = tuple(_printed(entry.entry("printed").only(*LAYOUT), {**lists, **settings}))
    said = (DataEntry(e.where, value_of(e, e.only(*SENTENCE).values, lists)) for e in entry.entries("sentences"))
    return Record(settings, (*rows, *map(_sentence, said)), entry.texts("claims"))


def _sentence(entry: DataEntry) -> Row:
    """A sentence of the file."""
    methods, others = (entry.of(name, tuple) for name in ("methods", "others"))
    often = entry.text("how often", "always", among=FREQUENCIES)
    return sentence(methods, entry.text("is"), others, often, entry.of("where", dict, {}), entry.values.get("than"))


def sentence(
    methods: tuple[str, ...],
    relation: str,
    others: tuple[str, ...],
    how_often: str = "always",
    where: Row | None = None,
    than: str | Row | None = None,
) -> Row:
    """A sentence as a row: each method has this relation to the others, this often, in these columns.

    how_often  in which of a method's comparisons: always; mostly, in more than half; sometimes, at least once; on the
               mean, for the mean cell of the columns
    where      the columns; all by default
    than       a second object of the comparison: another method, or other columns
    """
    row = {"methods": methods, "is": relation, "others": others, "how often": how_often, "where": where or {}}
    return row if than is None else {**row, "than": than}


def lists_of(file: DataEntry) -> Mapping[str, Any]:
    """The lists at the top of a file, by their names."""
    lists: dict[str, Any] = {}
    for name, value in file.entry("lists").values.items():
        lists[name] = value_of(file.entry("lists"), value, lists)
    return lists


def value_of(entry: DataEntry, value: Any, lists: Row) -> Any:
    """A value of the file: lists as tuples, references as what they name, numbers as keys."""
    if isinstance(value, dict):
        return {_word(key): value_of(entry, inner, lists) for key, inner in value.items()}
    if isinstance(value, list):
        return tuple(one for inner in value for one in _spread(entry, inner, lists))
    if not isinstance(value, str) or value == "@none":
        return None if value == "@none" else value
    if value.startswith("@") and value[1:] not in lists:
        raise entry.wrong(f"{value} is no list: expected one of {', '.join(lists)}")
    return lists[value[1:]] if value.startswith("@") else folded(value)


def _spread(entry: DataEntry, value: Any, lists: Row) -> Sequence[Any]:
    """An element of a list; the elements of a list that it names."""
    found = value_of(entry, value, lists)
    return cast(Sequence[Any], found) if isinstance(value, str) and value.startswith("@") else (found,)


def _word(text: str) -> str | float:
    """A word, or the number as which it reads."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(NUMBER, text) else text


# Tables in the printed layout


def _printed(entry: DataEntry, lists: Row) -> Iterator[Row]:
    """The rows of a printed table, line by line."""
    layout = value_of(entry, {name: entry.values[name] for name in entry.values if name != "text"}, lists)
    lines = entry.of("text", str).strip("\n").splitlines()
    try:
        yield from FORMS[layout.get("form", "cells")](layout, lines)
    except KeyError as error:
        raise entry.wrong(f"{error} is missing") from error
    except ValueError as error:
        raise entry.wrong(str(error)) from error


def _cells(layout: Row, lines: Sequence[str]) -> Iterator[Row]:
    """One row for each cell."""
    heading: Row = {}
    for line in lines:
        first, *parts = line.split("|")
        if not parts:
            heading = {layout["heading"]: line.strip()}
            continue
        names = layout["line"]
        begin = dict(zip(names, map(_word, first.strip().split(maxsplit=len(names) - 1)), strict=True))
        found = [cell for part in parts for cell in _of_part(layout["cell"], part)]
        columns = _columns(layout.get("columns", {}))
        if len(found) != len(columns):
            raise ValueError(f"{line!r} has {len(found)} cells: expected {len(columns)}")
        for column, cell in zip(columns, found, strict=True):
            row = {**heading, **begin, **column, **layout.get("constant", {}), **cell}
            yield {name: row[name] for name in layout.get("row", row)}


def _columns(columns: Any) -> list[Row]:
    """What stands above the cells: a row of each column, or all pairs of values."""
    if isinstance(columns, Mapping):
        return [dict(zip(columns, values, strict=True)) for values in product(*columns.values())]
    return list(columns)


def _of_part(template: str, part: str) -> Iterator[Row]:
    """The cells between two bars.  Raises ValueError if something else stands there."""
    pattern, names = _pattern(template)
    if pattern.sub("", part).strip():
        raise ValueError(f"{part.strip()!r} is not {template}")
    for match in pattern.finditer(part):
        yield {
            name.partition("=")[0]: text is not None if "=" in name else None if text is None else float(text)
            for name, text in zip(names, match.groups(), strict=True)
        }


@cache
def _pattern(template: str) -> tuple[re.Pattern[str], list[str]]:
    """A template as a regular expression, and the names in it."""
    signs = {"[": "(?:", "]": ")?", " ": r"\s+"}
    pattern, names = "", []
    for piece in re.split(r"(\{.*?\}|[\[\] ])", template):
        if piece.startswith("{"):
            names.append(piece[1:-1])
            sign = names[-1].partition("=")[2]
            pattern += f"({re.escape(sign)})?" if sign else f"({NUMBER})"
        else:
            pattern += signs.get(piece, re.escape(piece))
    return re.compile(pattern), names


def _grid(layout: Row, lines: Sequence[str]) -> Iterator[Row]:
    """One row for each line and method: numbers below the method's grid, ? at a doubtful one; `before`, what they follow."""
    for line in lines:
        first, *parts = line.split("|")
        begin = dict(zip(layout["line"], map(_word, first.split()), strict=True))
        before = layout.get("before", ())
        for (method, grid), part in zip(layout["columns"].items(), parts, strict=True):
            words = part.split()
            head = dict(zip(before, map(float, words), strict=False))
            cells = dict(zip(grid, words[len(before) :], strict=True))
            accuracy = {at: float(cell.rstrip("?")) for at, cell in cells.items()}
            row = {**begin, "method": method, **head, "accuracy": accuracy}
            row["doubtful"] = tuple(at for at, cell in cells.items() if cell.endswith("?"))
            yield {name: row[name] for name in layout["row"]}


def _candidates(layout: Row, lines: Sequence[str]) -> Iterator[Row]:
    """One row for each line and method: candidates, in brackets their numbers where they are printed, * at the kept one."""
    for line in lines:
        first, *parts = line.split("|")
        begin = dict(zip(layout["line"], map(_word, first.split()), strict=True))
        for method, cells in zip(layout["columns"], map(str.split, parts), strict=True):
            printed = [cell.rstrip("*)").partition("(") for cell in cells]
            candidates = {float(at): float(number) if number else None for at, _, number in printed}
            (kept,) = (at for at, cell in zip(candidates, cells, strict=True) if cell.endswith("*"))
            yield {**begin, "method": method, "candidates": candidates, "kept": kept}


def _blocks(layout: Row, lines: Sequence[str]) -> Iterator[Row]:
    """One row for each layer of a network: its block of parameters, whether all clients share it, and how many it has."""
    for line in lines:
        block, layer, count = map(str.strip, line.split("|"))
        own = layer.removesuffix(" (share)")
        yield {"block": block, "layer": own, "share": block == "share" or own != layer, "parameters": int(count)}


def _layers(layout: Row, lines: Sequence[str]) -> Iterator[Row]:
    """One row for each layer of the networks, which stand side by side."""
    for network, column in zip(layout["columns"], zip(*(line.split("|") for line in lines), strict=True), strict=True):
        for layer in filter(None, map(str.strip, column)):
            kind, _, arguments = layer.rstrip(")").partition("(")
            yield {**network, "layer": kind, "arguments": tuple(map(int, arguments.split(",")))}


FORMS: dict[str, Callable[[Row, Sequence[str]], Iterator[Row]]] = {
    "cells": _cells,
    "grid": _grid,
    "candidates": _candidates,
    "blocks": _blocks,
    "layers": _layers,
}
