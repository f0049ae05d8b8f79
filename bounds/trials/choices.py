"""How a search changes and simplifies an instance: entry by entry, with values from lists.

An instance is a frozen dataclass of numbers, words and nested tuples of numbers, perhaps inside other dataclasses.  A field
has a name with dots, such as `start.eta`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from random import Random
from typing import Any, TypeVar

from fedtheory.simulations.exact.rational import Fraction

Instance = TypeVar("Instance")
Path = tuple[int, ...]  # to an entry of nested tuples

_NEAR = Fraction(1, 16)


@dataclass(frozen=True)
class Choice:
    """The values that a search gives to the entries of a field.

    grid    a change takes one of these; none: a search does not change the field
    simple  values from simple to complicated; a value that is none of them is more complicated than all
    depth   how many indices an entry has: 0 for the field itself
    near    whether half of the changes go 1/16 up or down from the old value, so that a search can converge
    alike   whether a change is one of all clients, the first index
    empty   whether () is simpler than all other values of the field
    """

    grid: Sequence[Any] = ()
    simple: tuple[Any, ...] = ()
    depth: int = 0
    near: bool = False
    alike: bool = False
    empty: bool = False

    def draw(self, old: Any, random: Random) -> Any:
        """The field with one entry changed."""
        path = random.choice(list(_paths(old, self.depth)))
        if self.near and random.random() < 0.5:
            new = _entry(old, path) + random.choice((-1, 1)) * _NEAR
        else:
            new = random.choice(self.grid)
        return _everywhere(old, path, new) if self.alike else _put(old, path, new)

    def simpler(self, old: Any) -> Iterator[Any]:
        """The field with one entry simpler, or this entry of all clients, the simplest first."""
        if self.empty and old:
            yield ()
        for path in _paths(old, self.depth):
            for new in self.simple[: self._place(_entry(old, path))]:
                yield _put(old, path, new)
                if path:
                    yield _everywhere(old, path, new)

    def length(self, old: Any) -> int:
        """How complicated the field is."""
        return sum(1 + self._place(_entry(old, path)) for path in _paths(old, self.depth))

    def _place(self, value: Any) -> int:
        return self.simple.index(value) if value in self.simple else len(self.simple)


Choices = Mapping[str, Choice]  # by the names of fields
Axis = Mapping[str, int]  # field -> which of its indices counts the same things, such as clients


def counts(most: int) -> Choice:
    """The whole numbers from 1 to `most`."""
    return Choice(range(1, most + 1), tuple(range(1, most + 1)))


def fractions(*values: int | tuple[int, int]) -> tuple[Fraction, ...]:
    """The fractions n, or n/d from (n, d)."""
    return tuple(Fraction(*v) if isinstance(v, tuple) else Fraction(v) for v in values)


def with_values(instance: Instance, values: Mapping[str, Any]) -> Instance:
    """The instance with other values of fields."""
    inner: dict[str, dict[str, Any]] = {}
    own: dict[str, Any] = {}
    for name, value in values.items():
        head, _, tail = name.partition(".")
        if tail:
            inner.setdefault(head, {})[tail] = value
        else:
            own[head] = value
    own |= {head: with_values(getattr(instance, head), rest) for head, rest in inner.items()}
    return replace(instance, **own)  # type: ignore[type-var]


def one_less(instance: Any, axes: Sequence[Axis]) -> Iterator[dict[str, Any]]:
    """The values of fields without one client, or whatever else an axis counts."""
    for axis in axes:
        fields = {name: attrgetter(name)(instance) for name in axis}
        (first, depth), *_ = axis.items()
        for i in range(_count(fields[first], depth) if _count(fields[first], depth) > 1 else 0):
            yield {name: _without(value, i, axis[name]) for name, value in fields.items()}


def _count(value: Any, depth: int) -> int:
    return len(value) if not depth else _count(value[0], depth - 1)


def _without(value: Any, i: int, depth: int) -> Any:
    return (*value[:i], *value[i + 1 :]) if not depth else tuple(_without(one, i, depth - 1) for one in value)


def _paths(value: Any, depth: int) -> Iterator[Path]:
    if not depth:
        yield ()
        return
    for i, one in enumerate(value):
        yield from ((i, *rest) for rest in _paths(one, depth - 1))


def _entry(value: Any, path: Path) -> Any:
    for i in path:
        value = value[i]
    return value


def _put(value: Any, path: Path, new: Any) -> Any:
    return (*value[: path[0]], _put(value[path[0]], path[1:], new), *value[path[0] + 1 :]) if path else new


def _everywhere(value: Any, path: Path, new: Any) -> Any:
    return tuple(_put(one, path[1:], new) for one in value) if path else new


def keep_sum(old: Sequence[Fraction], new: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """The new numbers, with the first that is not changed set so that the sum stays; as they are if there is none."""
    rest = sum(new, Fraction(0)) - sum(old, Fraction(0))
    same = [i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a == b]
    return tuple(new[i] - rest if i in same[:1] else v for i, v in enumerate(new))
