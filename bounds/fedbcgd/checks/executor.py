"""The listings of FedBCGD and FedBCGD+, carried out as they stand, in floating point or in fractions.

The lines are loops; what is sampled, divided, communicated, computed and sent; and assignments.  A right side is made of
+ - * / ( ), sum_j, sum_k, numbers, the letters eta, lam, K, N, M, T, and variables:

    x_(j)^r, x_s^r        the server's, block j and shared block, of round r; v likewise
    x^r, v^r              all of it, put together by [x_(1)^r; ...; x_(N)^r; x_s^r]
    c_(j), c_s, c         the same without rounds
    x_kj^(r,t)            the model of client k of client block j; x_kj(j)^(r,T), x_kj(s)^(r,T) parts of it
    c_kj, c_i, c_kj^+     what this client keeps, what it will keep; Dc_(j), Dc_s what it sends, Dc_kj(j) where it arrives
    grad f_kj(x; zeta)    a gradient on the mini-batch of this local step, grad f_kj(x) an exact one, once computed

What the lines leave open is read so: round r begins with the model that the server has put together in the round before,
x^(r-1) in its own lines and x^r in those of the clients; x_kj^(r,1) is x^r; v, c and the c_i begin at zero.  A client
knows what it has received or made itself, the server what has been sent to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bounds.trials import listings
from bounds.trials.listings import Carrier, Expression, KnownDraws, Line, Undefined, Unreadable, combine, tree
from simulations.algorithms.fedbcgd import exact, parameter_blocks
from theory.statement import Listing

Vector = NDArray[Any]  # of floats or of fractions
Part = int | str  # a block 1..N, "s" for the shared one, "" for all coordinates
At = Mapping[str, int]


class Place(NamedTuple):
    """Where a value is kept: a variable's name, its client (0: the server), its part, its round and local step.

    at  ("+",) for c_i^+, () for c and c_i
    """

    name: str
    client: int
    part: Part = ""
    at: tuple[int | str, ...] = ()

    def __str__(self) -> str:
        own, part = f"_{self.client}" if self.client else "", f"_({self.part})" if self.part else ""
        return f"{self.name}{own}{part}^({','.join(map(str, self.at))})"


_SUPER = r"\^(?:\+|\w+|\([^()]*\))"
_VARIABLE = re.compile(rf"(x|v|c|Dc)(?:_(kj|i))?(?:_?\((j|s|1|N)\)|_(s))?({_SUPER})?")
_GRADIENT = re.compile(rf"grad f_kj\((x(?:_kj)?{_SUPER})(; zeta)?\)")
_LETTERS = ("eta", "lam", "K", "N", "M", "T")
_ATOM = rf"grad f_kj\((?:[^()]|\([^()]*\))*\)|[A-Za-z]\w*(?:\(\w+\))?(?:{_SUPER})?"
_INDEX = re.compile(r"([A-Za-z]+)?([+-]?\d+)?")

_LOOP = re.compile(r"for (\w) = (\d+), \.\.\., (\w+)(?:(?: client)? blocks| clients| local update)?( in parallel)? do")
_SAMPLE = re.compile(r"Sample clients S in \{1, \.\.\., M\}, \|S\| = (\S+)")
_DIVIDE_MODEL = re.compile(r"Divide the model parameters x into N(?:\+1)? blocks")  # N = N besides the shared one
_DIVIDE = re.compile(r"Divide the sampled clients into (\S+) (?:client )?blocks")
_COMMUNICATE = re.compile(r"Communicate \((.+)\) to all clients i in S")
_COMPUTE = re.compile(r"Compute (?:full batch|batch|mini-batch) gradients? (.+)")
_SEND = re.compile(r"Send (.+) to server")
_ASSIGNMENT = re.compile(r"(\S+) = (.+)")
_WHOLE = re.compile(rf"\[([xvc])_\(1\)({_SUPER})?; \.\.\.; (\S+); (\S+)\]")


def _items(text: str) -> Iterator[str]:
    """What is separated by a comma, a semicolon or an and, outside of all brackets."""
    depth = start = at = 0
    while at < len(text):
        depth += (text[at] in "([") - (text[at] in ")]")
        mark = None if depth else re.match(r"[,;] | and ", text[at:])
        if mark:
            yield text[start:at]
            start = at = at + mark.end()
        else:
            at += 1
    yield text[start:]


@dataclass
class Machine(Carrier):
    """Carries out a listing.

    counts    M, N, K, T, R (the last round)
    letters   eta, lam
    number    how a whole number is read: float or Fraction
    blocks    the coordinates of block 1 ... N, and of "s"
    start     x^init
    sample    (round, how many) -> the clients 1..M, in their order
    gradient  (client, point, round, local step 1..T or None for the exact one) -> gradient
    known     what the server and the clients have; received what the clients, sent what the server got in this round
    kept      c and the c_i after every round
    """

    counts: Mapping[str, int]
    letters: Mapping[str, Any]
    number: Callable[[int], Any]
    blocks: Mapping[Part, slice]
    start: Vector
    sample: Callable[[int, int], Sequence[int]]
    gradient: Callable[[int, Vector, int, int | None], Vector]
    known: dict[Place, Vector] = field(default_factory=dict)
    sent: dict[Place, Vector] = field(default_factory=dict)
    received: dict[Place, Vector] = field(default_factory=dict)
    computed: dict[tuple[int, Place, int | None], Vector] = field(default_factory=dict)
    order: dict[int, tuple[int, ...]] = field(default_factory=dict)
    divided: dict[int, int] = field(default_factory=dict)  # round -> number of client blocks
    kept: list[dict[Place, Vector]] = field(default_factory=list)
    parts: bool = False
    who: str = ""

    def run(self, listing: Listing, unset: Sequence[str] = ()) -> Machine:
        """Carry it out and return the machine.  Raises Undefined or Unreadable, and Undefined where no x^R comes out.

        No line sets v of the round before the first, c and the c_i: they are 0, except the letters that are `unset`.
        """
        begin = [Place("v", 0, "", (-1,)), *(Place("c", i) for i in range(self.counts["M"] + 1))]
        self.known = {place: 0 * self.start for place in begin if place.name not in unset}
        self.execute(tree(listing.lines), {})
        for r in range(self.counts["R"] + 1):
            self.value("x", 0, "", r)
        return self

    def value(self, name: str, client: int, part: Part, *at: int | str) -> Vector:
        """A variable's value; a part that has none of its own is one of the whole.  Raises Undefined."""
        place = Place(name, client, part, at)
        whole = place._replace(part="")
        if place in self.known:
            return self.known[place]
        if whole in self.known:
            return self.known[whole][self._slice(part)]
        raise Undefined(f"{place} has no value")

    def carry_out(self, line: Line, at: At) -> None:
        """One line.  Raises Undefined or Unreadable."""
        text = line.text
        if loop := _LOOP.fullmatch(text):
            variable, first, last, parallel = loop.groups()
            if variable == "k" and self.who != "Client":
                raise Undefined("it is not the clients' turn")
            values = range(int(first), self._index(last, at) + 1)
            # What is done in parallel may be done in any order: backwards, so that nothing relies on what comes before.
            for value in reversed(values) if parallel else values:
                self.execute(line.body, {**at, variable: value})
                if variable == "r":
                    self.kept.append({place: kept for place, kept in self.known.items() if not place.at})
        elif text in ("Client:", "Server:"):
            self.who = text.removesuffix(":")
        elif text == "Initialize x_i^(0,0) = x^init for all i in [M]":
            self.known[Place("x", 0, "", (-1,))] = self.start
        elif _DIVIDE_MODEL.fullmatch(text):
            self.parts = True
        elif found := _SAMPLE.fullmatch(text):
            S = self._of(self._parse(found[1]), at)
            self.order[self._round(at)] = tuple(self.sample(self._round(at), int(S)))
            self.received, self.sent = {}, {}
        elif found := _DIVIDE.fullmatch(text):
            self._sampled(at)
            self.divided[self._round(at)] = int(self._of(self._parse(found[1]), at))
        elif found := _COMMUNICATE.fullmatch(text):
            self._sampled(at)
            self._communicate(found[1], at)
        elif found := _COMPUTE.fullmatch(text):
            for item in _items(found[1]):
                self._compute(item, at)
        elif found := _SEND.fullmatch(text):
            for item in _items(found[1]):
                self._send(item, at)
        elif text != "Block j computes":
            for item in _items(text):
                self._assign(item, at)

    # who, when, where

    def _round(self, at: At) -> int:
        return self._index("r", at)

    def _sampled(self, at: At) -> tuple[int, ...]:
        r = self._round(at)
        if r not in self.order:
            raise Undefined(f"no clients have been sampled in round {r}")
        return self.order[r]

    def _client(self, at: At) -> int:
        """Client k of client block j."""
        sampled, r = self._sampled(at), self._round(at)
        if r not in self.divided:
            raise Undefined(f"the clients of round {r} have not been divided")
        each, rest = divmod(len(sampled), self.divided[r])
        j, k = self._index("j", at), self._index("k", at)
        if rest or not (1 <= k <= each and 1 <= j <= self.divided[r]):
            raise Undefined(f"there is no client {k} of client block {j}")
        return sampled[(j - 1) * each + k - 1]

    def _slice(self, part: Part) -> slice:
        if not part:
            return slice(None)
        if not self.parts:
            raise Undefined("the model has not been divided into blocks")
        return self.blocks[part]

    def _index(self, text: str, at: At) -> int:
        found = _INDEX.fullmatch(text.replace(" ", ""))
        if not found or not text.strip():
            raise Unreadable(f"cannot read the index {text!r}")
        name, number = found.groups()
        known = {**self.counts, **at}
        if name and name not in known:
            raise Undefined(f"{name} has no value")
        return (known[name] if name else 0) + int(number or 0)

    def _place(self, text: str, at: At) -> Place:
        """The place of a variable; without an owner it is the server's."""
        found = _VARIABLE.fullmatch(text)
        if not found:
            raise Unreadable(f"cannot read the variable {text!r}")
        name, own, block, shared, above = found.groups()
        part: Part = "s" if "s" in (block, shared) else self._index(block, at) if block else ""
        if above is None:
            indices: tuple[int | str, ...] = ()
        elif above == "^+":
            indices = ("+",)
        else:
            indices = tuple(self._index(i, at) for i in above.strip("^()").split(","))
        return Place(name, self._client(at) if own else 0, part, indices)

    # reading

    def _parse(self, text: str) -> Expression:
        return listings.parse(text, _ATOM)

    def _of(self, read: Expression, at: At) -> Any:
        what, parts = read
        if what == "number":
            return self.number(parts)
        if what == "atom":
            return self._atom(parts, at)
        if what == "sum":
            index, summand = parts
            if index not in ("j", "k"):
                raise Unreadable(f"cannot sum over {index}")
            return sum(
                self._of(summand, {**at, index: i})
                for i in range(1, self.counts["N" if index == "j" else "K"] + 1)
            )  # fmt: skip
        if what not in listings.OPERATIONS:
            raise Unreadable(f"cannot read {what!r}")
        left, right = (self._of(part, at) for part in parts)
        if np.ndim(left) and np.ndim(right) and np.shape(left) != np.shape(right):
            raise Undefined("vectors of different blocks")
        return combine(what, left, right)

    def _atom(self, text: str, at: At) -> Any:
        if text in _LETTERS:
            return self.letters[text] if text in self.letters else self.number(self.counts[text])
        if found := _GRADIENT.fullmatch(text):
            key = self._gradient_key(found, at)
            if key not in self.computed:
                raise Undefined(f"{text} has not been computed")
            return self.computed[key]
        return self._read(self._place(text, at))

    def _read(self, place: Place) -> Vector:
        """A variable as the one whose turn it is knows it."""
        if self.who == "Server" and place.client:
            if place not in self.sent:
                raise Undefined(f"{place} has not been sent")
            return self.sent[place]
        if self.who == "Client" and not place.client:
            if place not in self.received:
                raise Undefined(f"the clients have not received {place}")
            return self.received[place]
        if place.name == "x" and place.client and len(place.at) == 2 and place.at[1] == 1:
            # no line sets x_kj^(r,1)
            return self._read(Place("x", 0, "", place.at[:1]))[self._slice(place.part)]
        return self.value(place.name, place.client, place.part, *place.at)

    def _gradient_key(self, found: re.Match[str], at: At) -> tuple[int, Place, int | None]:
        return self._client(at), self._place(found[1], at), self._index("t", at) if found[2] else None

    # doing

    def _communicate(self, text: str, at: At) -> None:
        r = self._round(at)
        for item in _items(text):
            place = self._place(item, at)
            if place.name == "x":
                (n,) = place.at or (r,)
                self.received[Place("x", 0, "", (n,))] = self.value("x", 0, "", int(n) - 1)
            else:
                self.received[place] = self.value(*place[:3], *place.at)

    def _compute(self, text: str, at: At) -> None:
        found = _GRADIENT.fullmatch(text)
        if not found:
            raise Unreadable(f"cannot compute {text!r}")
        client, place, step = key = self._gradient_key(found, at)
        self.computed[key] = self.gradient(client, self._read(place), self._round(at), step)

    def _send(self, text: str, at: At) -> None:
        client = self._client(at)
        if found := _ASSIGNMENT.fullmatch(text):
            target, right = found.groups()
            self.sent[self._place(target, at)._replace(client=client)] = self._of(self._parse(right), at)
        else:
            place = self._place(text, at)
            if place.client != client:
                raise Undefined(f"{place} is not the client's to send")
            self.sent[place] = self._read(place)

    def _assign(self, text: str, at: At) -> None:
        found = _ASSIGNMENT.fullmatch(text)
        if not found:
            raise Unreadable(f"cannot read {text!r}")
        target, right = found.groups()
        place = self._place(target, at)
        if bool(place.client) != (self.who == "Client"):
            raise Undefined(f"it is not the turn of whoever keeps {place}")
        value = self._put_together(right, at) if right.startswith("[") else self._of(self._parse(right), at)
        if np.shape(value) != self.start[self._slice(place.part)].shape:
            raise Undefined(f"{place} is given what is not of its size")
        if place.client and place.part:
            whole = self.value(place.name, place.client, "", *place.at).copy()
            whole[self._slice(place.part)] = value
            place, value = place._replace(part=""), whole
        self.known[place] = value

    def _put_together(self, text: str, at: At) -> Vector:
        """[x_(1)^r; ...; x_(N)^r; x_s^r]."""
        found = _WHOLE.fullmatch(text)
        if not found or found[3] != f"{found[1]}_(N){found[2] or ''}":
            raise Unreadable(f"cannot read {text!r}")
        first = self._place(f"{found[1]}_(1){found[2] or ''}", at)
        pieces = [self._read(first._replace(part=j)) for j in range(1, self.counts["N"] + 1)]
        return np.concatenate([*pieces, self._read(self._place(found[4], at))])


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
        """T, eta and the other settings, as the algorithms of `simulations` are given them."""
        names = ("T", "eta", "N", "K", "lam", "sizes", "share")
        return {name: getattr(self, name) for name in names}

    def at_step(self, client: int, x: Vector, r: int, t: int | None) -> Vector:
        """The stochastic gradient of client 1..M at local step t = 1..T of a round, or for None the exact one."""
        if t is not None:
            return self.gradient(client, x, r, t - 1)
        return np.asarray(exact(self.problem).local_gradient(x[None, None], np.array([client - 1]))[0, 0])

    def machine(self, listing: Listing, unset: Sequence[str] = ()) -> Machine:
        """The listing, carried out.  Raises Undefined or Unreadable."""
        counts = {"M": self.problem.M, "N": self.N, "K": self.K, "T": self.T, "R": self.rounds - 1}
        blocks = slices(self.problem.d, self.N, self.sizes, self.share)
        letters = {"eta": self.eta, "lam": self.lam}
        return Machine(counts, letters, float, blocks, self.start, self.drawn, self.at_step).run(listing, unset)


__all__ = ["Machine", "Part", "Place", "Replay", "Vector", "slices"]
