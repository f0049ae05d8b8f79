"""What sentences say about printed numbers, checked: one vocabulary for the tables of all papers.

A cell is a row of a table: its method, its accuracy in percent, and what else is printed, such as a standard deviation or
the floats that it takes to reach a target.  A sentence compares methods (`fedtheory.theory.printed_tables.sentence`): each
of them has a relation to others in all columns, in most, in some, or on the mean over them.  Numbers are compared as
printed decimals, so that binary rounding decides no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from fedtheory.theory import catalogue
from fedtheory.theory.printed_tables import Row
from fedtheory.theory.statement import Record, Statement, Status, Verdict

Witness = dict[str, Any]
Mismatch = tuple[str, Any]
Key = TypeVar("Key")


def record_of(statement: Statement | str) -> Record:
    """The claim of a statement, or of the statement with this id.  Raises ValueError for a claim of another kind."""
    return (catalogue.find(statement) if isinstance(statement, str) else statement).claim_of(Record)


def besides(statement: Statement) -> Iterator[Row]:
    """The rows of a statement's further claims."""
    return (row for claim in statement.also if isinstance(claim, Record) for row in claim.table)


def verdict_of(family: str, witness: Witness) -> Verdict:
    """Refuted by the mismatches, if there are any; else tested on the family."""
    if witness:
        count = "1 mismatch" if len(witness) == 1 else f"{len(witness)} mismatches"
        return Verdict(Status.REFUTED, f"{count}: {family}", witness=witness)
    return Verdict(Status.TESTED, family)


# Numbers and places


def exact(number: float | Fraction) -> Fraction:
    """A decimal number, exactly."""
    return number if isinstance(number, Fraction) else Fraction(str(number))


def mean(numbers: Iterable[Fraction]) -> Fraction:
    """The mean."""
    values = list(numbers)
    return Fraction(sum(values), len(values))


def half_unit(printed: float) -> Fraction:
    """Half a unit of the last printed digit: a rounded number is no farther from the true one."""
    return Fraction(1, 2 * 10 ** len(str(printed).partition(".")[2]))


def best(numbers: Mapping[Key, Any]) -> list[Key]:
    """The keys with the highest number."""
    return [key for key, number in numbers.items() if number == max(numbers.values())]


def short(number: Fraction) -> str:
    """A number for display: at most two decimals."""
    return f"{float(round(number, 2)):g}"


def _signed(difference: Fraction) -> str:
    """A difference for display, with its sign."""
    return f"+{short(difference)}" if difference > 0 else short(difference)


_SHOWN = {"clients": "N = {}", "C": "C = {}", "K": "K = {}"}


def place(row: Row, keys: Iterable[str]) -> str:
    """Where a row stands, for display: its values for these keys."""
    return ", ".join(_SHOWN.get(key, "{}").format(row[key]) for key in keys)


def pivot(table: Iterable[Row], outer: Sequence[str], inner: str, value: str) -> dict[str, dict[Any, Any]]:
    """Place -> value of the inner key -> number."""
    found: dict[str, dict[Any, Any]] = {}
    for row in table:
        found.setdefault(place(row, outer), {})[row[inner]] = row[value]
    return found


# Sentences

Cells = Mapping[tuple[str, str], Row]  # (column, method) -> cell


def cells_of(rows: Iterable[Row], keys: Sequence[str]) -> Cells:
    """The cells of some tables, whose columns have these keys; of the same cell in two tables the first."""
    cells: dict[tuple[str, str], Row] = {}
    for row in rows:
        cells.setdefault((place(row, keys), row["method"]), row)
    return cells


def columns(cells: Cells, method: str, where: Row) -> list[str]:
    """The columns that match `where` and in which the method has a cell."""
    return [column for (column, name), row in cells.items() if name == method and where.items() <= row.items()]


def accuracy(cell: Row) -> Fraction:
    """The accuracy in percent."""
    return exact(cell["accuracy"])


def deviation(cell: Row) -> Fraction:
    """The standard deviation; 0 where none is printed."""
    return exact(cell.get("std", 0.0))


def _lead(one: Row, other: Row, deviations: int = 0) -> Fraction:
    """By how much a cell is more accurate than another, with so many times both deviations."""
    return accuracy(one) - accuracy(other) + deviations * (deviation(one) + deviation(other))


def _faster(one: Row, other: Row) -> bool:
    return bool(one["floats"] < other["floats"])


# What a sentence may say about two cells, or about two and a third
RELATIONS: dict[str, Callable[..., bool]] = {
    "faster than": _faster,
    "more accurate than": lambda one, other: _lead(one, other) > 0,
    "less accurate than": lambda one, other: _lead(one, other) < 0,
    "not more accurate than": lambda one, other: _lead(one, other) <= 0,
    "ahead of": lambda one, other: _lead(one, other) > 0 or _faster(one, other),
    "above, or within both deviations of,": lambda one, other: _lead(one, other, 1) >= 0,
    "below, by more than both deviations,": lambda one, other: _lead(one, other, 1) < 0,
    "nearer to": lambda one, other, third: abs(_lead(one, other)) < abs(_lead(third, other)),
}
# ... and how often: (true comparisons, all comparisons) -> whether the sentence is true
_ENOUGH: dict[str, Callable[[int, int], bool]] = {
    "mostly": lambda true, of: 2 * true > of,
    "sometimes": lambda true, of: true > 0,
}


class Compared(NamedTuple):
    """One comparison of a method with another: where, whether the sentence is true there, the cells by their names."""

    where: str
    other: str
    true: bool
    cells: Mapping[str, Row]
    difference: Fraction


def _mean_cell(cells: Cells, method: str, where: Iterable[str]) -> Row:
    """The mean accuracy and the mean deviation of a method."""
    own = [cells[column, method] for column in where]
    return {"accuracy": mean(map(accuracy, own)), "std": mean(map(deviation, own))}


def _loses_more(cells: Cells, said: Row, method: str, other: str) -> Compared:
    """Whether a method's mean loss to another is larger in the columns `where` than in the columns `than`."""
    losses: dict[str, Row] = {}
    for where in (said["where"], said["than"]):
        one, two = (_mean_cell(cells, name, columns(cells, method, where)) for name in (method, other))
        losses[place(where, where)] = {"accuracy": _lead(two, one)}
    here, there = losses.values()
    return Compared("mean losses", other, _lead(here, there) > 0, losses, _lead(there, here))


def compared(cells: Cells, said: Row, method: str) -> Iterator[Compared]:
    """Every comparison of a sentence with one of its methods."""
    where = columns(cells, method, said["where"])
    for other in said["others"]:
        names = [method, other, *([said["than"]] if "than" in said else [])]
        if said["is"] == "losing more to":
            yield _loses_more(cells, said, method, other)
            continue
        on_the_mean = said["how often"] == "on the mean"
        for column in [f"mean of {len(where)} columns"] if on_the_mean else where:
            own = [_mean_cell(cells, name, where) if on_the_mean else cells[column, name] for name in names]
            true = RELATIONS[said["is"]](*own)
            yield Compared(column, other, true, dict(zip(names, own, strict=True)), _lead(own[0], own[1]))


def _sentence(cells: Cells, said: Row) -> tuple[str, Witness]:
    """A sentence in numbers, and where it is false."""
    than, where = said.get("than", ""), place(said["where"], said["where"])
    suffix = f" than {than if isinstance(than, str) else place(than, than)}" if than else ""
    relation = f"{said['is']} {' or '.join(said['others'])}{f' ({where})' if where else ''}{suffix}"
    needed = [*said["others"], *([than] if than and isinstance(than, str) else [])]
    told, witness = [], Witness()
    for method in said["methods"]:
        missing = [name for name in (method, *needed) if not columns(cells, name, said["where"])]
        if missing:
            witness[f"{method} {relation}"] = {"no cell": missing}
            continue
        found = list(compared(cells, said, method))
        true, of = sum(c.true for c in found), len(found)
        enough = _ENOUGH.get(said["how often"])
        if enough is None:
            witness |= {
                f"{c.where}: {method} {said['is']} {c.other}{suffix}": {
                    name: float(round(accuracy(cell), 2)) for name, cell in c.cells.items()
                }
                for c in found
                if not c.true
            }
        elif not enough(true, of):
            witness[f"{method} {relation}, {said['how often']}"] = {"true": true, "of": of}
        low, high = (_signed(extreme(c.difference for c in found)) for extreme in (min, max))
        range_ = low if low == high else f"{low} to {high}"
        told.append(f"{method} {range_}" if of == 1 else f"{method} {true} of {of} ({range_})")
    return f"{relation}: {', '.join(told)}", witness


def _ahead(cells: Cells, said: Row) -> tuple[str, Witness]:
    """'By up to': the largest lead over the best of the others in one column is the printed number."""
    (method,), others = said["methods"], said["others"]
    leads = {
        column: {other: _lead(cells[column, method], cells[column, other]) for other in others}
        for column in columns(cells, method, {})
    }
    least = {column: min(lead.values()) for column, lead in leads.items()}
    column = best(least)[0]
    witness: Witness = {}
    if least[column] != exact(said["up to"]):
        witness["largest lead"] = {"printed": said["up to"], "table": float(least[column]), "column": column}
    told = ", ".join(f"{other} {short(max(lead[other] for lead in leads.values()))}" for other in others)
    return (
        f"{method} ahead of the best of {len(others)} baselines by {short(min(least.values()))} to "
        f"{short(least[column])} ({column}); of each of them by up to: {told}",
        witness,
    )


def sentences(cells: Cells, rows: Iterable[Row]) -> tuple[str, Witness]:
    """Sentences in numbers, and where they are false."""
    found = [(_ahead if row["is"] == "ahead of the best of" else _sentence)(cells, row) for row in rows]
    return "; ".join(told for told, _ in found), {what: why for _, witness in found for what, why in witness.items()}


def impossible(name: str, cell: Row) -> Iterator[Mismatch]:
    """An accuracy that is no percentage, a deviation below zero."""
    if not 0 <= cell["accuracy"] <= 100:
        yield f"{name}, percent", {"accuracy": cell["accuracy"]}
    if deviation(cell) < 0:
        yield f"{name}, deviation", {"std": cell["std"]}
