"""Studies: experiments that take long and decide no verdict.  Their numbers are on record.

`fedtheory record experiments` measures them.  The report draws the recorded numbers, and measures one point of each study
again.  A record knows the code that made it: numbers of other code are called old where they are shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fedtheory.bounds.sources import digest
from fedtheory.theory import catalogue

FOLDER = Path(__file__).with_name("records")
_DIGITS = 12  # significant digits on record

Numbers = Mapping[str, Sequence[float]]  # by their names; NaN where there is no number


@dataclass(frozen=True, eq=False)
class Study:
    """An experiment that decides no verdict, point by point.

    name        of the record
    points      name of a point -> the arguments of `measure`
    measure     the numbers at a point
    modules     where the numbers are computed, besides the module of `measure`; what these import from bounds and
                simulations counts, too
    statements  ids of the statements whose formulas are evaluated
    """

    name: str
    points: Callable[[], Mapping[str, Mapping[str, Any]]]
    measure: Callable[..., Numbers]
    modules: tuple[str, ...]
    statements: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """A digest of the code that computes the numbers, without its comments, of the points and of the statements."""
        says = [repr((s.claim, s.when, s.where)) for s in map(catalogue.find, self.statements)]
        measure = getattr(self.measure, "func", self.measure).__module__
        return digest((measure, *self.modules), ("bounds", "simulations"), repr(self.points()), *says)

    @property
    def file(self) -> Path:
        """The record."""
        return FOLDER / f"{self.name}.json"

    @cached_property
    def _record(self) -> dict[str, Any]:
        return dict(json.loads(self.file.read_text())) if self.file.exists() else {}

    @property
    def old(self) -> bool:
        """Whether there is a record, made by other code than today's."""
        return bool(self._record) and self._record["code"] != self.digest

    @cached_property
    def numbers(self) -> dict[str, Numbers]:
        """The numbers of all points, as they are on record; those that are not are measured now."""
        known = self._record.get("numbers", {})
        return {
            point: _numbers(known[point]) if point in known else self.measure(**arguments)
            for point, arguments in self.points().items()
        }

    def at(self, point: str) -> Numbers:
        """The numbers at a point now.  Raises KeyError for an unknown one."""
        return self.measure(**self.points()[point])

    def text(self, numbers: Mapping[str, Numbers]) -> str:
        """The record of these numbers."""
        known = {
            point: {name: [_json(v) for v in values] for name, values in own.items()} for point, own in numbers.items()
        }
        return json.dumps({"code": self.digest, "numbers": known}, indent=0) + "\n"

    def same(self, point: str, numbers: Numbers) -> bool:
        """Whether these numbers are on record, to six digits."""
        known = _numbers(self._record.get("numbers", {}).get(point, {}))
        if {name: len(values) for name, values in known.items()} != {name: len(v) for name, v in numbers.items()}:
            return False
        return all(
            np.allclose(
                np.asarray(numbers[name], dtype=float), np.asarray(known[name], dtype=float), 1e-6, 0, equal_nan=True
            )
            for name in known
        )


def _json(value: float) -> float | None:
    return None if np.isnan(value) else float(f"{value:.{_DIGITS}g}")


def _numbers(own: Mapping[str, Sequence[float | None]]) -> Numbers:
    return {name: [np.nan if v is None else v for v in values] for name, values in own.items()}
