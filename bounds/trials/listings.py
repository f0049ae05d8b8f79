"""What the machines that carry out a paper's listings have in common; each paper's machine reads its own lines."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import add, mul, sub, truediv
from typing import Any

import numpy as np

from simulations.algorithms.base import Memory
from simulations.draws import Draws
from simulations.problems import Array, Problem


class Undefined(ValueError):
    """A line of a listing that cannot be carried out: says which, and what is missing."""


class Unreadable(ValueError):
    """A line of a listing outside the language of its machine."""


@dataclass(frozen=True)
class Line:
    """A line of a listing, and the lines that stand deeper below it."""

    number: int
    text: str
    body: tuple[Line, ...] = ()


def tree(lines: Sequence[tuple[int, str]]) -> tuple[Line, ...]:
    """The lines by indentation.  Raises Undefined for a line that stands deeper than those it follows."""
    found: list[Line] = []
    depth = _depth(lines[0][1]) if lines else 0
    at = 0
    while at < len(lines):
        number, text = lines[at]
        below = at + 1
        while below < len(lines) and _depth(lines[below][1]) > depth:
            below += 1
        body = lines[at + 1 : below]
        if _depth(text) < depth or (body and not text.strip().startswith("for ")):
            raise Undefined(f"line {number} does not stand where its block does")
        found.append(Line(number, text.strip(), tree(body)))
        at = below
    return tuple(found)


def _depth(text: str) -> int:
    return len(text) - len(text.lstrip())


class Carrier(ABC):
    """Carries out a listing line by line."""

    def execute(self, block: Sequence[Line], at: Mapping[str, int]) -> None:
        """Carry out lines; `at` are the loops' variables.  Raises Undefined or Unreadable, naming the line."""
        for line in block:
            try:
                self.carry_out(line, at)
            except (Undefined, Unreadable) as error:
                raise error if str(error).startswith("line") else type(error)(f"line {line.number}: {error}") from None

    @abstractmethod
    def carry_out(self, line: Line, at: Mapping[str, int]) -> None:
        """Carry out one line, with what stands below it.  Raises Undefined or Unreadable."""


# ---------------------------------------------------------------------------------------------------- expressions

Expression = tuple[str, Any]  # what is done, and with what
OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}


@cache
def parse(text: str, atom: str) -> Expression:
    """A right side of + - * / ( ), whole numbers, sums "sum_j ..." over an index, Q(...), and atoms.

    atom  what else stands in it, as a regular expression

    The result is (operation, (left, right)), ("number", n), ("sum", (index, summand)), ("Q", inside) or ("atom", text).
    Raises Unreadable.
    """
    token = re.compile(rf"\s*(sum_\w\b|Q(?=\()|\d+|{atom}|[-+*/()])")
    tokens, at = [], 0
    while text[at:].strip():
        found = token.match(text, at)
        if not found:
            raise Unreadable(f"cannot read {text!r}")
        tokens.append(found[1])
        at = found.end()
    rest = tokens[::-1]
    try:
        read = _sum(rest)
    except IndexError:
        raise Unreadable(f"{text!r} breaks off") from None
    if rest:
        raise Unreadable(f"cannot read {text!r} from {rest[-1]!r} on")
    return read


def _sum(rest: list[str]) -> Expression:
    read = _product(rest)
    while rest and rest[-1] in "+-":
        read = (rest.pop(), (read, _product(rest)))
    return read


def _product(rest: list[str]) -> Expression:
    read = _factor(rest)
    while rest and rest[-1] in "*/":
        read = (rest.pop(), (read, _factor(rest)))
    return read


def _factor(rest: list[str]) -> Expression:
    token = rest.pop()
    if token in ("Q", "("):
        if token == "Q":
            rest.pop()  # its parenthesis
        inside = _sum(rest)
        if rest.pop() != ")":
            raise Unreadable("a parenthesis is not closed")
        return ("Q", inside) if token == "Q" else inside
    if token.startswith("sum_"):
        return "sum", (token.removeprefix("sum_"), _product(rest))
    if token.isdigit():
        return "number", int(token)
    if token in "+-*/)":
        raise Unreadable(f"cannot read {token!r} here")
    return "atom", token


def combine(operation: str, left: Any, right: Any) -> Any:
    """left (+ - * /) right.  Raises Unreadable for a product of two vectors or a quotient by one."""
    if operation in "*/" and np.ndim(right) and (operation == "/" or np.ndim(left)):
        raise Unreadable("a product of two vectors, or a quotient by one")
    return OPERATIONS[operation](left, right)


# --------------------------------------------------------------------------------------------------------- replay


@dataclass(frozen=True, eq=False)
class KnownDraws:
    """A run on a problem with known draws, those of seed 0, from the start (1, 1/2, 1/3 ...)."""

    problem: Problem
    eta: float = field(default=0.1, kw_only=True)
    rounds: int = field(default=3, kw_only=True)

    @property
    def start(self) -> Array:
        """The first model, (d,)."""
        return 1 / np.arange(1.0, self.problem.d + 1)

    def draws(self, r: int) -> Draws:
        """The randomness of a round."""
        return Draws.of_seeds(np.arange(1), r)

    def drawn(self, r: int, S: int) -> tuple[int, ...]:
        """The S of the clients 1..M that take part in a round, in the order in which they are drawn."""
        return tuple(int(m) + 1 for m in self.draws(r).order(self.problem.M, S)[0])

    def gradient(self, client: int, x: Any, r: int, step: int) -> Array:
        """The stochastic gradient of client 1..M at x, with the draws of a local step, 0, 1 ..., of a round."""
        who = np.array([client - 1])
        return np.asarray(self.problem.gradient(x[None, None], who, self.draws(r).of(who).step(step))[0, 0])

    def implemented(self, algorithm: Any) -> list[tuple[Array, Memory]]:
        """The model and what is remembered, before round 0 and after every round, of an algorithm of `simulations`."""
        found: list[tuple[Array, Memory]] = [(self.start, {})]
        eta, memory = np.full((1, 1, 1), self.eta), Memory()
        for r in range(self.rounds):
            x = found[-1][0][None, None]
            x = algorithm.round(self.problem, x, eta, self.draws(r), lambda *_: None, memory)
            found.append((x[0, 0], {name: kept[0, 0] for name, kept in memory.items()}))
        return found


__all__ = [
    "OPERATIONS",
    "Carrier",
    "Expression",
    "KnownDraws",
    "Line",
    "Undefined",
    "Unreadable",
    "combine",
    "parse",
    "tree",
]
