"""What the machines that carry out a paper's listings have in common; each paper's machine reads its own lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class Undefined(ValueError):
    """A line of a listing that cannot be carried out: says which, and what is missing."""


class Unreadable(ValueError):
    """A line of a listing outside the language of its machine."""


@dataclass(frozen=True)
class Line:
    """A line of a listing, and the lines that stand deeper below it."""

    number: int
    text: str
    body: tuple[Line, ...] = ()


def tree(lines: Sequence[tuple[int, str]]) -> tuple[Line, ...]:
    """The lines by indentation.  Raises Undefined for a line that stands deeper than those it follows."""
    found: list[Line] = []
    depth = _depth(lines[0][1]) if lines else 0
    at = 0
    while at < len(lines):
        number, text = lines[at]
        below = at + 1
        while below < len(lines) and _depth(lines[below][1]) > depth:
            below += 1
        body = lines[at + 1 : below]
        if _depth(text) < depth or (body and not text.strip().startswith("for ")):
            raise Undefined(f"line {number} does not stand where its block does")
        found.append(Line(number, text.strip(), tree(body)))
        at = below
    return tuple(found)


def _depth(text: str) -> int:
    return len(text) - len(text.lstrip())


class Carrier(ABC):
    """Carries out a listing line by line."""

    def execute(self, block: Sequence[Line], at: Mapping[str, int]) -> None:
        """Carry out lines; `at` are the loops' variables.  Raises Undefined or Unreadable, naming the line."""
        for line in block:
            try:
                self.carry_out(line, at)
            except (Undefined, Unreadable) as error:
                raise error if str(error).startswith("line") else type(error)(f"line {line.number}: {error}") from None

    @abstractmethod
    def carry_out(self, line: Line, at: Mapping[str, int]) -> None:
        """Carry out one line, with what stands below it.  Raises Undefined or Unreadable."""


__all__ = ["Carrier", "Line", "Undefined", "Unreadable", "tree"]
