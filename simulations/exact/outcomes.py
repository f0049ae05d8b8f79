"""Random vectors whose outcomes are drawn one after another: a coin of noise, a binarisation, a start.

A draw splits every outcome so far.  A vector is known in the outcomes of the last draw that it depends on, and together
with a later one in those of the later one.  Numbers are fractions or floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.exact.trace import Numbers, RandomVector


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes of all draws so far.

    chances      (n,)
    past, parent (n,): of each outcome, its number among the outcomes before the last draw
    """

    chances: Numbers
    past: NDArray[np.int64] | None = None
    parent: Outcomes | None = None
    depth: int = 0
    known: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    def numbers(self, earlier: Outcomes) -> NDArray[np.int64]:
        """Of each outcome, its number among earlier ones, (n,)."""
        found = self.known.get(earlier.depth)
        if found is None:
            assert self.parent is not None and self.past is not None
            found = self.past if self.parent is earlier else self.parent.numbers(earlier)[self.past]
            self.known[earlier.depth] = found
        return found

    def split(self, chances: Sequence[Numbers]) -> tuple[Outcomes, NDArray[np.int64]]:
        """After a draw with these chances of each branch (n,), none 0; and the branch of each new outcome."""
        kept = [np.flatnonzero(one) for one in chances]
        past = np.concatenate(kept)
        chance = np.concatenate([one[rows] for one, rows in zip(chances, kept, strict=True)])
        branch = np.repeat(np.arange(len(kept)), [len(rows) for rows in kept])
        return Outcomes(self.chances[past] * chance, past, self, self.depth + 1), branch


@dataclass(eq=False, slots=True)
class DrawnVector(RandomVector):
    """A random vector; its weights are `Outcomes`, and a constant has a single column."""

    def at(self, outcomes: Outcomes) -> Numbers:
        """The values (d, n or 1) in the same or later outcomes."""
        if self.weights is outcomes or self.values.shape[1] == 1:
            return self.values
        found: Numbers = self.values[:, outcomes.numbers(self.weights)]
        return found

    def spread(self, outcomes: Outcomes) -> Numbers:
        """The values (d, n) in these outcomes."""
        return np.broadcast_to(self.at(outcomes), (len(self.values), len(outcomes.chances)))

    def beside(self, other: RandomVector) -> tuple[Numbers, Numbers, Outcomes]:
        """The values of both in the outcomes of the later one, and these."""
        mine, others = self.weights, other.weights
        if mine is others:
            return self.values, other.values, mine
        assert isinstance(other, DrawnVector)
        later = others if mine.depth < others.depth else mine
        return self.at(later), other.at(later), later

    def __matmul__(self, other: RandomVector) -> Any:
        """The expected inner product."""
        mine, others, outcomes = self.beside(other)
        products = mine * others
        total = products[0] if len(products) == 1 else products.sum(0)
        return total[0] if len(total) == 1 else total @ outcomes.chances

    @property
    def mean(self) -> list[Any]:
        """The expectation of each entry."""
        one = 0 * self.values[:1, :1] + 1
        return [entry @ DrawnVector(one, self.weights) for entry in self.coordinates]
