"""name=value arguments of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

Lists = Mapping[str, tuple[str, Callable[[Sequence[float]], float]]]  # see Paper.lists


def numbers(arguments: list[str] | None, lists: Lists | None = None) -> dict[str, float]:
    """name=value arguments as numbers; fractions are allowed.

    lists  symbols that take a list, such as p=1/2,1/4,1/4: the parameter that each sets, and its value from the list

    Raises ValueError naming the argument.
    """
    found: dict[str, float] = {}
    for argument in arguments or []:
        name, equals, text = argument.partition("=")
        if not equals or not name:
            raise ValueError(f"{argument!r} is no parameter: expected name=value, such as L=1 or eta_tilde=1/6")
        if name in found:
            raise ValueError(f"parameter {name} is given twice")
        if name in (lists or {}):
            name, of = (lists or {})[name]
            found[name] = of([number(argument, part) for part in text.split(",")])
        else:
            found[name] = number(name, text)
    return found


def number(name: str, text: str) -> float:
    """A decimal number or a fraction.  Raises ValueError naming the parameter."""
    try:
        top, _, bottom = text.partition("/")
        if bottom:
            return float(Fraction(top) / Fraction(bottom))
        return float(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{name}={text}: expected a number, such as 0.1, 1e-3 or 1/6") from None
