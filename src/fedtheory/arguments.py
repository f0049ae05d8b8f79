"""name=value arguments of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.checked import brief, fraction

if TYPE_CHECKING:
    from fedtheory.theory.statement import ListOf

Lists = Mapping[str, "ListOf"]  # see Paper.lists


def numbers(arguments: list[str] | None, lists: Lists | None = None) -> dict[str, float]:
    """name=value arguments as numbers; fractions are allowed.

    lists  symbols that take a list, such as p=1/2,1/4,1/4: the parameter that each sets, and its value from the list

    Raises ValueError naming the argument.
    """
    found: dict[str, float] = {}
    listed: dict[str, list[float]] = {}
    for argument in arguments or []:
        name, equals, text = argument.partition("=")
        if not equals or not name:
            raise ValueError(f"{brief(argument)!r} is no parameter: expected name=value, such as L=1 or eta_tilde=1/6")
        if name in found or name in listed:
            raise ValueError(f"parameter {brief(name)} is given twice: expected it once")
        if name in (lists or {}):
            listed[name] = [number(argument, part) for part in text.split(",")]
        else:
            found[name] = number(name, text)
    for name, values in listed.items():
        of = (lists or {})[name]
        if of.needed in found:
            raise ValueError(f"{name} and {of.needed}: expected one of them, as {name} gives the other")
        found[of.needed] = of.checked(name, values, found)
    return found


@dataclass(frozen=True)
class Range:
    """NAME=LOW..HIGH."""

    name: str
    low: float
    high: float

    def points(self, most: int) -> NDArray[np.float64]:
        """At most so many points with equal ratios, both ends among them."""
        return np.geomspace(self.low, self.high, most) if self.low < self.high else np.array([self.low])


def with_range(arguments: list[str] | None, lists: Lists | None = None) -> tuple[dict[str, float], Range | None]:
    """name=value arguments as `numbers`, of which one may be a range, such as R=10..1e4.

    Raises ValueError naming the argument: also for several ranges, and unless 0 < LOW <= HIGH.
    """
    single, found = [], []
    for argument in arguments or []:
        name, _, text = argument.partition("=")
        low, dots, high = text.partition("..")
        if not dots:
            single.append(argument)
            continue
        ends = Range(name, number(name, low), number(name, high))
        if not 0 < ends.low <= ends.high < np.inf:
            raise ValueError(f"{brief(argument)}: expected NAME=LOW..HIGH with 0 < LOW <= HIGH, such as R=10..10000")
        found.append(ends)
    if len(found) > 1:
        raise ValueError(f"ranges of {' and '.join(one.name for one in found)}: expected one range")
    given = numbers(single, lists)
    if found and found[0].name in given:
        raise ValueError(f"parameter {found[0].name} is given twice: expected it once")
    return given, found[0] if found else None


def number(name: str, text: str) -> float:
    """A decimal number or a fraction.  Raises ValueError naming the parameter."""
    try:
        return float(fraction(text)) if "/" in text else float(text)
    except (ValueError, OverflowError):
        raise ValueError(f"{brief(name)}={brief(text)}: expected a number, such as 0.1, 1e-3 or 1/6") from None
