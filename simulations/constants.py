"""Certified constants: a number together with how it is known. Never fitted, never sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np


class NoSuchConstant(KeyError, ValueError):
    """The constant does not exist for this problem; says why."""

    def __str__(self) -> str:  # KeyError's own would put the sentence in quotes
        return str(self.args[0])


@dataclass(frozen=True)
class Certified:
    """A constant of a concrete problem.

    value    the number (or vector, for x_star); None when the constant does not exist
    how      eigenvalue, closed form, Newton residual, a proved upper bound ... or why it does not exist
    vouched  whether it rests on the word of the caller, for a problem of his own
    """

    value: Any
    how: str
    vouched: bool = False

    def then(self, function: Callable[[Any], Any], how: str) -> Certified:
        """What a function makes of the value; None where there is none."""
        return Certified(None if self.value is None else function(self.value), how)


class Constants(Mapping[str, Any]):
    """Certified constants by ASCII name; indexing one that does not exist raises NoSuchConstant with the reason."""

    def __init__(self, entries: Mapping[str, Certified]) -> None:
        self.entries = dict(entries)

    def __getitem__(self, name: str) -> Any:
        if name not in self.entries:
            raise NoSuchConstant(f"no constant {name!r} is certified here; there are {', '.join(self.entries)}")
        if self.entries[name].value is None:
            raise NoSuchConstant(f"{name} does not exist: {self.entries[name].how}")
        return self.entries[name].value

    def __iter__(self) -> Iterator[str]:
        return (name for name, entry in self.entries.items() if entry.value is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __str__(self) -> str:
        """A line for each constant: name, number, how it is known or why it does not exist."""
        width = max(map(len, self.entries), default=0)
        return "\n".join(f"{name:<{width}}  {_told(e.value):<12}  {e.how}" for name, e in self.entries.items())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """For a notebook: the same as a table."""
        rows = (
            f"<tr><td>{n}</td><td>{_told(e.value)}</td><td>{escape(e.how)}</td></tr>" for n, e in self.entries.items()
        )
        return f"<table><tr><th>constant</th><th>value</th><th>how it is known</th></tr>{''.join(rows)}</table>"

    @property
    def vouched(self) -> tuple[str, ...]:
        """The constants that rest on the word of the caller."""
        return tuple(name for name, entry in self.entries.items() if entry.vouched and entry.value is not None)

    def how(self, name: str) -> str:
        """How the constant is known, or why it does not exist."""
        return self.entries[name].how


def _told(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.6g}" if np.ndim(value) == 0 else f"{np.size(value)} numbers"
