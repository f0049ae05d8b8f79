"""The executor of Algorithms 1 to 5, in floating point or in fractions, and runs with known draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from fedtheory.bounds.trials.listings import At, Executor, KnownDraws, Place, Undefined, Vector
from fedtheory.simulations.algorithms.fedcom import UNCOMPRESSED, variance_factor
from fedtheory.simulations.compressors import Compressor, Identity, RandK, TopK
from fedtheory.theory.listing import Listing


@dataclass(kw_only=True)
class Machine(Executor):
    """Executes Algorithms 1 to 5.  A client that does not take part in a round keeps its values.

    constants   also m, tau, R; q if Q has one; d, and k if Q sends k coordinates
    sample    round -> S^(r), of clients 1..m
    compress  (client, message, round) -> Q(message); without compression the message itself
    """

    sample: Callable[[int], Sequence[int]]
    compress: Callable[[int, Vector, int], Vector] = lambda client, message, r: message

    def run(self, listing: Listing) -> Machine:
        """Execute it and return the machine.  Raises Undefined or Unreadable, and Undefined where no w^(R) comes out."""
        self.values[Place("w", 0, "", (0,))] = self.start
        super().run(listing)
        for r in range(1, int(self.constants["R"]) + 1):
            self.value("w", 0, r)
        return self

    def do_sample(self, at: At) -> None:
        """Sample the clients of a round."""
        self.values[Place("S", 0, "", (self.round(at),))] = tuple(self.sample(self.round(at)))

    def read(self, place: Place) -> Any:
        """A value; a client that did not take part in the round before has its earlier value.  Raises Undefined."""
        if place not in self.values and place.client and len(place.at) == 1:
            before = place.at[0] - 1
            if place.client not in self.values.get(Place("S", 0, "", (before,)), (place.client,)):
                return self.read(place._replace(at=(before,)))
        return super().read(place)

    def call(self, name: str, arguments: list[Any], at: At) -> Any:
        """Q(message) of the client whose turn it is.  Raises Undefined."""
        if name != "Q":
            return super().call(name, arguments, at)
        if "j" not in at:
            raise Undefined("Q outside a loop over clients")
        return self.compress(at["j"], arguments[0], self.round(at))


@dataclass(frozen=True, eq=False)
class Replay(KnownDraws):
    """A run on a problem with known draws.

    k  share of participating clients, if they are sampled
    """

    tau: int
    compressor: Compressor = UNCOMPRESSED
    k: Fraction = Fraction(1)
    gamma: float = field(default=1.5, kw_only=True)

    def __str__(self) -> str:
        sampled = f", k = {float(self.k):.3g}" if self.k < 1 else ""
        return f"m = {self.problem.M}, tau = {self.tau}, Q = {self.compressor.name}{sampled}"

    def sample(self, r: int) -> tuple[int, ...]:
        """S^(r), of clients 1..m."""
        return self.drawn(r, floor(self.k * self.problem.M))

    def compress(self, client: int, message: Vector, r: int) -> Vector:
        """Q(message) with the coins of client 1..m in a round."""
        coins = self.draws(r).codes(np.array([[client - 1]]), shared=self.compressor.shared)
        return self.compressor(message[None, None, None], coins)[0, 0, 0]

    def built(self, kind: Any, **others: Any) -> Any:
        """An algorithm of `simulations` with the settings of this run, and others."""
        own = {"tau": self.tau, "eta": self.eta, "gamma": self.gamma, "compressor": self.compressor, "k": float(self.k)}
        return kind(**{f.name: own[f.name] for f in fields(kind) if f.name in own}, **others)

    def machine(self, listing: Listing) -> Machine:
        """The listing, executed.  Raises Undefined or Unreadable."""
        constants: dict[str, Any] = {"eta": self.eta, "gamma": self.gamma, "d": float(self.problem.d)}
        if isinstance(self.compressor, Identity | RandK | TopK):
            constants["k"] = float(getattr(self.compressor, "k", self.problem.d))
        if self.compressor.q(self.problem.d).value is not None:
            constants["q"] = variance_factor(self.compressor, self.problem.d)
        constants |= {"m": self.problem.M, "tau": self.tau, "R": self.rounds}
        machine = Machine(
            constants=constants, start=self.start, oracle=self.gradient, sample=self.sample, compress=self.compress
        )
        return machine.run(listing)
