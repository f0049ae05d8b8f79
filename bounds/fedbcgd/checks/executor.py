"""The executor of FedBCGD and FedBCGD+, in floating point or in fractions, and runs with known draws.

The lines leave some points open.  Our reading: round r begins with the server's model of the round before, which is
x^(r-1) in the server's lines and x^r in the clients' lines; x_kj^(r,1) is x^r; v, c and the c_i begin at zero.  A client
knows the values that it has received or computed; of the clients' values the server knows those that were sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedtheory.bounds.trials.listings import At, Block, Executor, KnownDraws, Place, Undefined, Vector
from fedtheory.simulations.algorithms.fedbcgd import parameter_blocks
from fedtheory.theory.listing import Entry, Expression, For, Gradient, Joined, Let, Listing, Name, Step

Part = int | str  # a block 1..N, "s" for the shared one, "" for all coordinates


@dataclass(kw_only=True)
class Machine(Executor):
    """Executes FedBCGD and FedBCGD+.

    constants   eta, lam, M, N, K, T, R (the last round)
    blocks    the coordinates of block 1 ... N, and of "s"
    sample    (round, number) -> the sampled clients of 1..M, in order
    received  the values that the clients got in this round;  sent  those that the server got
    computed  the gradients, by client, point and local step
    order     round -> the sampled clients;  divided  round -> the number of client blocks
    kept      c and the c_i after every round
    turn      the owner of the current lines, "clients" or "server"
    """

    blocks: Mapping[Part, slice]
    sample: Callable[[int, int], Sequence[int]]
    sent: dict[Place, Vector] = field(default_factory=dict)
    received: dict[Place, Vector] = field(default_factory=dict)
    computed: dict[tuple[int, Place, int | None], Vector] = field(default_factory=dict)
    order: dict[int, tuple[int, ...]] = field(default_factory=dict)
    divided: dict[int, int] = field(default_factory=dict)
    kept: list[dict[Place, Vector]] = field(default_factory=list)
    parts: bool = False
    turn: str = ""

    def run(self, listing: Listing, unset: Sequence[str] = ()) -> Machine:
        """Execute it and return the machine.  Raises Undefined or Unreadable, and Undefined where no x^R comes out.

        No line sets the first v, c and the c_i: they are 0, except for the variables in `unset`.
        """
        begin = [Place("v", 0, "", (-1,)), *(Place("c", i) for i in range(self.constants["M"] + 1))]
        self.values = {place: 0 * self.start for place in begin if place.name not in unset}
        super().run(listing)
        for r in range(self.constants["R"] + 1):
            self.value("x", 0, r)
        return self

    # Actions

    def step(self, step: Step, block: Block, at: At) -> None:
        """One step; only clients have a loop over the clients of a block."""
        if isinstance(step, For) and step.index.name == "k" and self.turn != "clients":
            raise Undefined("it is not the clients' turn")
        super().step(step, block, at)

    def after(self, loop: For, at: At) -> None:
        """After a round, record the values that carry over to later rounds."""
        if loop.index.name == "r":
            self.kept.append({place: value for place, value in self.values.items() if not place.at})

    def do_clients(self, at: At) -> None:
        """The clients' lines begin."""
        self.turn = "clients"

    def do_server(self, at: At) -> None:
        """The server's lines begin."""
        self.turn = "server"

    def do_initialise(self, at: At) -> None:
        """The first model."""
        self.values[Place("x", 0, "", (-1,))] = self.start

    def do_divide_model(self, at: At, count: Expression) -> None:
        """Divide the coordinates into blocks, and the shared block."""
        self.parts = True

    def do_sample(self, at: At, S: Expression) -> None:
        """Sample S clients."""
        r = self.round(at)
        self.order[r] = tuple(self.sample(r, self.index(S, at)))
        self.received, self.sent = {}, {}

    def do_divide_clients(self, at: At, count: Expression) -> None:
        """Divide the sampled clients into client blocks."""
        self._sampled(at)
        self.divided[self.round(at)] = self.index(count, at)

    def do_communicate(self, at: At, *entries: Entry) -> None:
        """Send to the clients: x^r is the model of the round before."""
        self._sampled(at)
        for entry in entries:
            place = self.place(entry, at)
            if place.name == "x":
                (n,) = place.at or (self.round(at),)
                self.received[Place("x", 0, "", (n,))] = self.value("x", 0, n - 1)
            else:
                self.received[place] = self.known(place)

    def do_compute(self, at: At, *gradients: Gradient) -> None:
        """Compute gradients."""
        for g in gradients:
            client, place, step = key = self._key(g, at)
            self.computed[key] = self.oracle(client, self.read(place), self.round(at), step)

    def do_send(self, at: At, *items: Entry | Let) -> None:
        """Send to the server."""
        client = self._client(at)
        for item in items:
            if isinstance(item, Let):
                self.sent[self.place(item.target, at)._replace(client=client)] = self.of(item.value, at)
                continue
            place = self.place(item, at)
            if place.client != client:
                raise Undefined(f"{place} is not the client's to send")
            self.sent[place] = self.read(place)

    # Who and where

    def _sampled(self, at: At) -> tuple[int, ...]:
        r = self.round(at)
        if r not in self.order:
            raise Undefined(f"no clients have been sampled in round {r}")
        return self.order[r]

    def _client(self, at: At) -> int:
        """Client k of client block j."""
        sampled, r = self._sampled(at), self.round(at)
        if r not in self.divided:
            raise Undefined(f"the clients of round {r} have not been divided")
        each, rest = divmod(len(sampled), self.divided[r])
        j, k = (self.index(Name(name), at) for name in ("j", "k"))
        if rest or not (1 <= k <= each and 1 <= j <= self.divided[r]):
            raise Undefined(f"there is no client {k} of client block {j}")
        return sampled[(j - 1) * each + k - 1]

    def client(self, who: Expression | None, at: At) -> int:
        """Client kj, also written i; 0 for the server."""
        return 0 if who is None else self._client(at)

    def _slice(self, part: Part) -> slice:
        if not part:
            return slice(None)
        if not self.parts:
            raise Undefined("the model has not been divided into blocks")
        return self.blocks[part]

    # Values

    def known(self, place: Place) -> Vector:
        """A value, as its owner knows it; a part without its own value is a part of the whole.  Raises Undefined."""
        whole = place._replace(part="")
        if place in self.values:
            return np.asarray(self.values[place])
        if whole in self.values:
            return np.asarray(self.values[whole][self._slice(place.part)])
        raise Undefined(f"{place} has no value")

    def value(self, name: str, client: int, *at: int) -> Vector:
        """A variable of all coordinates, of client 1 ... or of the server.  Raises Undefined."""
        return self.known(Place(name, client, "", at))

    def read(self, place: Place) -> Vector:
        """A value, as the owner of the current lines knows it.  Raises Undefined."""
        if self.turn == "server" and place.client:
            if place not in self.sent:
                raise Undefined(f"{place} has not been sent")
            return self.sent[place]
        if self.turn == "clients" and not place.client:
            if place not in self.received:
                raise Undefined(f"the clients have not received {place}")
            return self.received[place]
        if place.name == "x" and place.client and len(place.at) == 2 and place.at[1] == 1:
            # no line sets x_kj^(r,1)
            return self.read(Place("x", 0, "", place.at[:1]))[self._slice(place.part)]
        return self.known(place)

    def of(self, e: Expression, at: At) -> Any:
        """The value of an expression, also of joined blocks.  Raises Undefined."""
        if not isinstance(e, Joined):
            return super().of(e, at)
        blocks = [self.place(e.blocks, {**at, "j": j}) for j in range(1, self.constants["N"] + 1)]
        return np.concatenate([self.read(place) for place in (*blocks, self.place(e.shared, at))])

    def _key(self, g: Gradient, at: At) -> tuple[int, Place, int | None]:
        return self._client(at), self.place(g.point, at), None if g.step is None else self.index(g.step, at)

    def gradient(self, g: Gradient, at: At) -> Vector:
        """A gradient that has been computed.  Raises Undefined."""
        key = self._key(g, at)
        if key not in self.computed:
            raise Undefined(f"{g} has not been computed")
        return self.computed[key]

    def put(self, target: Entry, value: Any, at: At) -> None:
        """Store a value; a client's part is stored in the whole.  Raises Undefined."""
        place = self.place(target, at)
        if bool(place.client) != (self.turn == "clients"):
            raise Undefined(f"it is not the turn of the owner of {place}")
        if np.shape(value) != self.start[self._slice(place.part)].shape:
            raise Undefined(f"{place} is given a value of another size")
        if place.client and place.part:
            whole = place._replace(part="")
            new = self.known(whole).copy()
            new[self._slice(place.part)] = value
            place, value = whole, new
        self.values[place] = value


def slices(d: int, N: int, sizes: tuple[int, ...] | None, share: int) -> dict[Part, slice]:
    """The coordinates of block 1 ... N, and of "s", which may have none."""
    named = parameter_blocks(d, N, sizes, share)
    numbered: dict[Part, slice] = {j: named[f"block {j}"] for j in range(1, N + 1)}
    return {**numbered, "s": slice(d - share, d)}


@dataclass(frozen=True, eq=False)
class Replay(KnownDraws):
    """A run on a problem with known draws."""

    T: int
    N: int
    K: int
    lam: float = 0.5
    sizes: tuple[int, ...] | None = None
    share: int = 0

    def __str__(self) -> str:
        share = f", shared block of {self.share}" if self.share else ""
        return f"M = {self.problem.M}, N = {self.N}, K = {self.K}, T = {self.T}, lam = {self.lam:g}{share}"

    @property
    def settings(self) -> dict[str, Any]:
        """T, eta and the other settings, as arguments of the algorithms of `simulations`."""
        names = ("T", "eta", "N", "K", "lam", "sizes", "share")
        return {name: getattr(self, name) for name in names}

    def at_step(self, client: int, x: Vector, r: int, t: int | None) -> Vector:
        """The stochastic gradient of client 1..M at local step t = 1..T of a round; for None the exact gradient."""
        return self.exact(client, x, r, t) if t is None else self.gradient(client, x, r, t - 1)

    def machine(self, listing: Listing, unset: Sequence[str] = ()) -> Machine:
        """The listing, executed.  Raises Undefined or Unreadable."""
        constants = {name: getattr(self, name) for name in ("N", "K", "T", "eta", "lam")}
        constants |= {"M": self.problem.M, "R": self.rounds - 1}
        blocks = slices(self.problem.d, self.N, self.sizes, self.share)
        machine = Machine(constants=constants, start=self.start, oracle=self.at_step, blocks=blocks, sample=self.drawn)
        return machine.run(listing, unset)
