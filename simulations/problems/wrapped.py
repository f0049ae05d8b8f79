"""A problem that adds something to another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fedtheory.simulations.problems import Array, Problem


@dataclass(frozen=True, eq=False)
class Wrapped:
    """Clients, coordinates, weights and blocks are those of the plain problem."""

    plain: Problem

    @property
    def M(self) -> int:
        """Number of clients."""
        return self.plain.M

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return self.plain.d

    @property
    def weights(self) -> Array | None:
        """The weight of each client; None: all equal."""
        return self.plain.weights

    @property
    def blocks(self) -> Mapping[str, slice]:
        """Named slices of the coordinates."""
        return self.plain.blocks
