"""The field's quantities of a round, as functions of its trace: each is written once.  x* is 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fedtheory.simulations.exact.trace import Trace

Quantity = Callable[[Trace], Any]


def mean(values: Iterable[Any]) -> Any:
    """The mean of vectors, or of numbers."""
    first, *others = values
    return sum(others, start=first) / (1 + len(others))


class Values(Mapping[str, Any]):
    """Quantities by name, as functions of the same things, each computed when it is first read."""

    def __init__(self, how: Mapping[str, Callable[..., Any]], *of: Any) -> None:
        self._how, self._of, self._known = how, of, dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._how[name](*self._of)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._how

    def __iter__(self) -> Iterator[str]:
        return iter(self._how)

    def __len__(self) -> int:
        return len(self._how)


FIELD: Mapping[str, Quantity] = {
    "dist2": lambda t: t.x.square,
    "dist2_next": lambda t: t.end.square,
    "gap": lambda t: t.start.value - t.star.value,
    "gap_next": lambda t: t.F(t.end).value - t.star.value,
    "grad_sq": lambda t: t.start.gradient.square,
    "grad_next": lambda t: t.F(t.end).gradient.square,
    "local_sq": lambda t: t.mean(f.at(t.x).gradient.square for f in t.functions),
    "descent": lambda t: t.F(t.end).value - t.start.value,
    "drift_sum": lambda t: t.sum((s.x - t.x).square for s in t.steps),
    "drift": lambda t: t.sum((s.x - t.x).square for s in t.steps) / len(t.steps),
}
