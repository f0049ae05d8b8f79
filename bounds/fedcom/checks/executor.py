"""The listings of Algorithms 1 to 5, carried out as they stand, in floating point or in fractions.

The lines are loops, `sample S^(r) of |S| = floor(k m) clients`, and assignments; an assignment's right side is made of
+ - * / ( ), Q(...), sum_j, numbers, the letters eta, gamma, tau, m, q, k, d, |S| (k of the d coordinates are sent), and
variables:

    w^(r)          the server's, of round r
    delta_j^(r)    client j's, of round r
    w_j^(c,r)      client j's, of local step c of round r
    g_j^(c,r)      a stochastic gradient of f_j at w_j^(c,r), never assigned

sum_j runs over the clients that take part in round r.  A client that sits a round out keeps what it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bounds.trials import listings
from bounds.trials.listings import Carrier, Expression, KnownDraws, Line, Undefined, Unreadable, combine, tree
from simulations.algorithms.fedcom import UNCOMPRESSED, variance_factor
from simulations.compressors import Compressor, Identity, RandK, TopK
from theory.statement import Listing

Vector = NDArray[Any]  # (d,), of floats or of fractions


class Place(NamedTuple):
    """Where a value is kept: a variable's name, its client (0: the server), and its round, or local step and round."""

    name: str
    client: int
    at: tuple[int, ...]

    def __str__(self) -> str:
        own = f"_{self.client}" if self.client else ""
        return f"{self.name}{own}^({','.join(map(str, self.at))})"


# ---------------------------------------------------------------------------------------------------- expressions

_VARIABLE = re.compile(r"([A-Za-z]+)(_j)?\^\(([^()]*)\)")
_INDEX = re.compile(r"([A-Za-z]+)?([+-]?\d+)?")


def parse(text: str) -> Expression:
    """A right side as an expression.  Raises Unreadable."""
    return listings.parse(text, r"\|S\||[A-Za-z]+(?:_j)?(?:\^\([^()]*\))?")


# -------------------------------------------------------------------------------------------------------- machine

_STEPS = re.compile(r"for (\w) = (\w+), \.\.\., (\S+) do")
_CLIENTS = re.compile(r"for each client j in (\[m\]|S\^\((\w)\)) do in parallel")
_SAMPLE = re.compile(r"sample S\^\((\w)\) of \|S\| = floor\(k m\) clients")
_ASSIGNMENT = re.compile(r"(?:send )?(\S+) = (.+?)( for each client j in \[m\])?")


@dataclass
class Machine(Carrier):
    """Carries out a listing.

    counts    m, tau, R
    letters   eta, gamma; q where Q has one; d, and k where Q sends so many coordinates
    number    how a whole number is read: float or Fraction
    sample    round -> S^(r), of clients 1..m
    gradient  (client, point, round, c) -> stochastic gradient
    compress  (client, message, round) -> Q(message)
    known     what has a value; w^(0) to begin with
    """

    counts: Mapping[str, int]
    letters: Mapping[str, Any]
    number: Callable[[int], Any]
    sample: Callable[[int], Sequence[int]]
    gradient: Callable[[int, Vector, int, int], Vector]
    compress: Callable[[int, Vector, int], Vector]
    known: dict[Place, Vector]
    sampled: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def run(self, listing: Listing) -> Machine:
        """Carry it out and return the machine.  Raises Undefined or Unreadable, and Undefined where no w^(R) comes out."""
        self.execute(tree(listing.lines), {})
        for r in range(1, self.counts["R"] + 1):
            self.value("w", 0, r)
        return self

    def value(self, name: str, client: int, *at: int) -> Vector:
        """A variable's value.  Raises Undefined."""
        place = Place(name, client, at)
        while place not in self.known:
            (*_, r) = place.at
            # who sat out the round before has what it had before that
            if not (client and len(at) == 1 and r - 1 in self.sampled and client not in self.sampled[r - 1]):
                raise Undefined(f"{Place(name, client, at)} has no value")
            place = Place(name, client, (r - 1,))
        return self.known[place]

    def carry_out(self, line: Line, at: Mapping[str, int]) -> None:
        """A loop, a sample or an assignment.  Raises Undefined or Unreadable."""
        if loop := _STEPS.fullmatch(line.text):
            variable, first, last = loop.groups()
            for value in range(self._index(first, at), self._index(last, at) + 1):
                self.execute(line.body, {**at, variable: value})
        elif loop := _CLIENTS.fullmatch(line.text):
            clients = self._sampled(self._index(loop[2], at)) if loop[2] else self._everyone()
            # What is done in parallel may be done in any order: backwards, so that no client relies on the one before.
            for j in reversed(clients):
                self.execute(line.body, {**at, "j": j})
        elif found := _SAMPLE.fullmatch(line.text):
            r = self._index(found[1], at)
            self.sampled[r] = tuple(self.sample(r))
        elif found := _ASSIGNMENT.fullmatch(line.text):
            target, right, each = found.groups()
            for j in self._everyone() if each else [at.get("j", 0)]:
                self._assign(target, parse(right), {**at, "j": j} if j else at)
        else:
            raise Unreadable(f"cannot read {line.text!r}")

    def _everyone(self) -> tuple[int, ...]:
        return tuple(range(1, self.counts["m"] + 1))

    def _sampled(self, r: int) -> tuple[int, ...]:
        if r not in self.sampled:
            raise Undefined(f"S^({r}) has not been sampled")
        return self.sampled[r]

    def _assign(self, target: str, right: Expression, at: Mapping[str, int]) -> None:
        if not _VARIABLE.fullmatch(target) or target.startswith("g_"):
            raise Unreadable(f"cannot assign to {target!r}")
        # a number stands for the vector of that number in every coordinate
        self.known[self._place(target, at)] = self._of(right, at) + 0 * self.value("w", 0, 0)

    def _place(self, text: str, at: Mapping[str, int]) -> Place:
        found = _VARIABLE.fullmatch(text)
        if not found:
            raise Unreadable(f"cannot read the variable {text!r}")
        name, own, indices = found.groups()
        if own and "j" not in at:
            raise Undefined(f"{text} outside a loop over clients")
        return Place(name, at["j"] if own else 0, tuple(self._index(i, at) for i in indices.split(",")))

    def _index(self, text: str, at: Mapping[str, int]) -> int:
        found = _INDEX.fullmatch(text.replace(" ", ""))
        if not found or not text.strip():
            raise Unreadable(f"cannot read the index {text!r}")
        name, number = found.groups()
        known = {**self.counts, **at}
        if name and name not in known:
            raise Undefined(f"{name} has no value")
        return (known[name] if name else 0) + int(number or 0)

    def _of(self, read: Expression, at: Mapping[str, int]) -> Any:
        what, parts = read
        if what == "number":
            return self.number(parts)
        if what == "atom" and not _VARIABLE.fullmatch(parts):
            return self._letter(parts, at)
        if what == "atom":
            name, client, place = self._place(parts, at)
            if name == "g":
                c, r = place
                return self.gradient(client, self.value("w", client, c, r), r, c)
            return self.value(name, client, *place)
        if what == "sum":
            index, summand = parts
            r = self._index("r", at)
            return sum(self._of(summand, {**at, index: j}) for j in self.sampled.get(r, self._everyone()))
        if what == "Q":
            if "j" not in at:
                raise Undefined("Q outside a loop over clients")
            return self.compress(at["j"], self._of(parts, at), self._index("r", at))
        left, right = (self._of(part, at) for part in parts)
        return combine(what, left, right)

    def _letter(self, name: str, at: Mapping[str, int]) -> Any:
        if name == "|S|":
            return self.number(len(self._sampled(self._index("r", at))))
        if name in self.letters:
            return self.letters[name]
        if name in self.counts:
            return self.number(self.counts[name])
        raise Undefined(f"{name} has no value")


# --------------------------------------------------------------------------------------------------------- replay


@dataclass(frozen=True, eq=False)
class Replay(KnownDraws):
    """A run on a problem with known draws.

    k  ratio of clients taking part, where they are sampled
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

    def machine(self, listing: Listing) -> Machine:
        """The listing, carried out.  Raises Undefined or Unreadable."""
        letters = {"eta": self.eta, "gamma": self.gamma, "d": float(self.problem.d)}
        if isinstance(self.compressor, Identity | RandK | TopK):
            letters["k"] = float(getattr(self.compressor, "k", self.problem.d))
        if self.compressor.q(self.problem.d).value is not None:
            letters["q"] = variance_factor(self.compressor, self.problem.d)
        counts = {"m": self.problem.M, "tau": self.tau, "R": self.rounds}
        start = {Place("w", 0, (0,)): self.start}
        return Machine(counts, letters, float, self.sample, self.gradient, self.compress, start).run(listing)


__all__ = ["Machine", "Place", "Replay", "Vector", "parse"]
