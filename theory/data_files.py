"""The data files of a paper, in TOML: what an entry has, checked by its type; an error names the file and the entry.

A text may go over several lines: a line break in it counts as one blank.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Declared = TypeVar("Declared")


def folded(text: str) -> str:
    """A text of several lines as one line."""
    return " ".join(line.strip() for line in text.strip().splitlines())


@dataclass(frozen=True)
class DataEntry:
    """An entry of a data file, and where it stands."""

    where: str
    values: Mapping[str, Any]

    def wrong(self, what: str) -> ValueError:
        """The error that something is wrong here."""
        return ValueError(f"{self.where}: {what}")

    def only(self, *names: str) -> DataEntry:
        """Itself.  Raises ValueError if it has something else than these."""
        if others := [name for name in self.values if name not in names]:
            raise self.wrong(f"{others[0]!r} is not known: expected {', '.join(names)}")
        return self

    def of(self, name: str, kind: type, default: Any = None) -> Any:
        """A value of this type, or the default.  Raises ValueError for another type, and where there is neither."""
        value = self.values.get(name, default)
        if not isinstance(value, kind):
            found = "nothing" if value is None else f"{value!r}"
            raise self.wrong(f"{name} is {found}: expected a value of type {kind.__name__}")
        return value

    def text(self, name: str, default: str | None = None, among: Iterable[str] = ()) -> str:
        """A text in one line.  Raises ValueError if it is none, or not among those."""
        text = folded(self.of(name, str, default))
        if among and text not in (known := tuple(among)):
            raise self.wrong(f"{name} is {text!r}: expected one of {', '.join(known)}")
        return text

    def texts(self, name: str) -> tuple[str, ...]:
        """Several texts, or one alone, each in one line; none if there is none.  Raises ValueError for others."""
        texts = self.values.get(name, [])
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self.wrong(f"{name} is {texts!r}: expected texts")
        return tuple(map(folded, texts))

    def call(self, declared: Callable[..., Declared], *given: Any, **named: Any) -> Declared:
        """Declare what stands here.  Raises ValueError, with the place, where that does."""
        try:
            return declared(*given, **named)
        except ValueError as error:
            raise self.wrong(str(error)) from error

    def entry(self, name: str) -> DataEntry:
        """An entry in this one; empty if there is none."""
        return DataEntry(f"{self.where}, {name}", self.of(name, dict, {}))

    def entries(self, name: str) -> Iterator[DataEntry]:
        """The entries of a list of tables."""
        for number, values in enumerate(self.of(name, list, []), 1):
            if not isinstance(values, dict):
                raise self.wrong(f"{name} {number} is {values!r}: expected a table")
            yield DataEntry(f"{self.where}, {name} {number}", values)


def data_file(paper: str, name: str, folder: Path = Path(__file__).parent) -> DataEntry:
    """A file of a paper, as one entry.  Raises ValueError for a file that is no TOML."""
    path = folder / paper / name
    try:
        return DataEntry(f"{paper}/{name}", tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{paper}/{name}: {error}") from error
