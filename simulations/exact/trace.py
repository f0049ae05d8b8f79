"""The trace of a round: every local step of an algorithm, and its memories, by its own `round`.

The vectors are no arrays.  A vector can be added and multiplied by numbers, and has an inner product `@`: a
`RandomVector` here, or a vector with unknown entries (`fedtheory.theory.proofs.gram`).  One cell of the algorithm's arrays
holds one vector.  Functions say their value and gradient at a vector; order, noise and coin are given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction as PlainFraction  # also beside vectors of names
from functools import cached_property, partial
from itertools import chain, permutations, product
from pathlib import Path
from traceback import extract_tb
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.exact.rational import Fraction, square_root
from fedtheory.simulations.problems import Array, Problem

Numbers = NDArray[Any]  # of floats, or of objects that are Fractions


# ------------------------------------------------------------------------------------------------- vectors in numbers


@dataclass(eq=False, slots=True)  # not frozen: a search makes millions, each in half the time
class RandomVector:
    """A random vector in d coordinates, in n columns: values (d, n), whose products have the weights (n,).

    Either the columns are outcomes, and the weights their chances; or the first column is the mean, the others are factors
    of independent noise, and the weights their variances.
    """

    values: Numbers
    weights: Any

    def __add__(self, other: RandomVector | float) -> RandomVector:
        if not isinstance(other, RandomVector):
            return self if other == 0 else NotImplemented
        mine, others, weights = self.beside(other)
        return type(self)(mine + others, weights)

    def __radd__(self, zero: float) -> RandomVector:
        """0 + v: an array of zeros to which an algorithm adds."""
        return self if zero == 0 else NotImplemented

    def __sub__(self, other: RandomVector | float) -> RandomVector:
        if not isinstance(other, RandomVector):
            return self if other == 0 else NotImplemented
        mine, others, weights = self.beside(other)
        return type(self)(mine - others, weights)

    def __rsub__(self, zero: float) -> RandomVector:
        return -self if zero == 0 else NotImplemented

    def __mul__(self, factor: Any) -> RandomVector:
        return type(self)(self.values * self._number(factor), self.weights)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> RandomVector:
        return type(self)(self.values / self._number(number), self.weights)

    def beside(self, other: RandomVector) -> tuple[Numbers, Numbers, Any]:
        """The values of both in the same columns, and the weights of these."""
        return self.values, other.values, self.weights

    def _number(self, factor: Any) -> Any:
        """A number of the algorithm; beside fractions the float itself, which is one."""
        if self.values.dtype != object:
            return factor
        return Fraction(float(factor)) if isinstance(factor, float | np.integer) else factor

    def __neg__(self) -> RandomVector:
        return type(self)(-self.values, self.weights)

    @classmethod
    def constant(cls, v: Any, weights: Numbers, outcomes: bool) -> RandomVector:
        """A vector (d,) that is not random: the same in all outcomes, or a mean without noise."""
        values = np.full((len(v), len(weights)), 0 * weights[0], dtype=weights.dtype)
        values[:, : len(weights) if outcomes else 1] = np.reshape(v, (len(v), 1))
        return cls(values, weights)

    @property
    def coordinates(self) -> list[RandomVector]:
        """Each coordinate alone."""
        return [type(self)(row[None], self.weights) for row in self.values]

    @classmethod
    def of_coordinates(cls, several: Iterable[RandomVector]) -> RandomVector:
        """The vector with these coordinates."""
        first, *others = several
        return cls(np.concatenate([one.values for one in (first, *others)]), first.weights)

    def __matmul__(self, other: RandomVector) -> Any:
        """The expected inner product."""
        products = self.values * other.values
        return (products[0] if len(products) == 1 else products.sum(0)) @ self.weights

    @property
    def square(self) -> Any:
        """The expected squared norm."""
        return self @ self


class At(Protocol):
    """A function at a point."""

    @property
    def x(self) -> Any:
        """The point."""

    @property
    def value(self) -> Any:
        """The expected value."""

    @property
    def gradient(self) -> Any:
        """The gradient."""


class ClientFunction(Protocol):
    """A client's function."""

    def at(self, x: Any) -> At:
        """The function at a vector."""


class _Mean:
    """The mean of functions at a point, by their weights; computed where it is asked for."""

    def __init__(self, functions: Sequence[ClientFunction], x: Any, weights: Sequence[Any] | None) -> None:
        self.x, self.points, self.weights = x, [function.at(x) for function in functions], weights

    @cached_property
    def value(self) -> Any:
        """The mean of their expected values."""
        return _mean([point.value for point in self.points], self.weights)

    @cached_property
    def gradient(self) -> Any:
        """The mean of their gradients."""
        return _mean([point.gradient for point in self.points], self.weights)


def _mean(items: Sequence[Any], weights: Sequence[Any] | None) -> Any:
    if weights is None:
        return _sum(items) / len(items) if len(items) > 1 else items[0]
    return _sum([item * weight for item, weight in zip(items, weights, strict=True)])


def _sum(items: Sequence[Any]) -> Any:
    total = items[0]
    for item in items[1:]:
        total = total + item
    return total


# --------------------------------------------------------------------------------------------------------- the trace


class TraceStep(NamedTuple):
    """A local step of a client: its turn among the round's clients 1 ... S, k = 0, 1 ... in this turn, its function, and
    where it is; its stochastic gradient is the gradient there plus the noise."""

    turn: int
    k: int
    client: int
    function: ClientFunction
    point: At
    noise: Any

    @property
    def x(self) -> Any:
        """The point of the step."""
        return self.point.x

    @property
    def gradient(self) -> Any:
        """The gradient of the client's function there."""
        return self.point.gradient

    @property
    def stochastic(self) -> Any:
        """The stochastic gradient."""
        return self.point.gradient + self.noise


@dataclass(frozen=True, eq=False)
class Trace:
    """A round with one order of the clients and one outcome of the noise; x* is the vector 0.

    functions       of all clients
    x, end          the server's model before and after the round
    zero            the vector 0
    steps           turn after turn
    before, memory  before and after the round: name -> the server's vector, or those of all clients
    coded           time after time, what the clients compress, turn after turn, and what arrives of it
    weights         of the clients, of sum 1; None: equal
    known           the quantities of the trace that were asked for
    """

    functions: Sequence[ClientFunction]
    x: Any
    zero: Any
    end: Any
    steps: tuple[TraceStep, ...]
    before: Mapping[str, Any] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)
    coded: Sequence[tuple[Sequence[Any], Sequence[Any]]] = ()
    weights: Sequence[Any] | None = None
    known: dict[Callable[[Trace], Any], Any] = field(default_factory=dict)

    def of(self, quantity: Callable[[Trace], Any]) -> Any:
        """A quantity of this trace; computed once."""
        if quantity not in self.known:
            self.known[quantity] = quantity(self)
        return self.known[quantity]

    @property
    def vectors(self) -> list[Any]:
        """The model after the round, the points of the steps, and the memories after the round, by their names."""
        kept = [
            v for _, value in sorted(self.memory.items()) for v in (value if isinstance(value, tuple) else (value,))
        ]
        return [self.end, *(step.x for step in self.steps), *kept]

    @cached_property
    def turns(self) -> Sequence[Sequence[TraceStep]]:
        """The steps of each turn."""
        return [[step for step in self.steps if step.turn == turn] for turn in sorted({s.turn for s in self.steps})]

    def F(self, x: Any) -> At:
        """The mean of the clients' functions at a point."""
        return _Mean(self.functions, x, self.weights)

    def mean(self, items: Iterable[Any]) -> Any:
        """The mean over all clients of vectors, or of numbers, by the clients' weights."""
        return _mean(list(items), self.weights)

    @cached_property
    def start(self) -> At:
        """F at x."""
        return self.F(self.x)

    @cached_property
    def star(self) -> At:
        """F at x*."""
        return self.F(self.zero)

    def at_x(self, step: TraceStep) -> Any:
        """The gradient of the step's client at x."""
        return step.function.at(self.x).gradient

    def at_star(self, step: TraceStep) -> Any:
        """The gradient of the step's client at x*."""
        return step.function.at(self.zero).gradient

    def total(self, vectors: Iterable[Any]) -> Any:
        """The sum of vectors."""
        return _sum([self.zero, *vectors])

    def sum(self, numbers: Iterable[Any]) -> Any:
        """The sum of numbers."""
        return _sum([self.zero.square, *numbers])


Noise = Callable[[int, int, int, Any], Any]  # client, turn, step, point -> the noise of the gradient there
Coder = Callable[[Sequence[Any]], Sequence[Any]]  # what the clients compress, turn after turn -> what arrives


@dataclass(frozen=True)
class _Coin:
    """In place of a number in [0, 1) that the server draws: it is only compared with the chance of the algorithm's coin."""

    number: float
    chance: Any

    def __lt__(self, chance: Any) -> bool:
        if chance != self.chance:
            raise ValueError(
                f"it compares its coin with {chance}: expected {self.chance}, the setting that `coin` names"
            )
        return bool(self.number < chance)

    def __ge__(self, chance: Any) -> bool:
        return not self < chance


class _Turns(NamedTuple):
    """In place of the draws of some clients at a step: their turns, and the step."""

    clients: tuple[int, ...] = ()
    turns: tuple[int, ...] = ()
    k: int = 0
    toss: Callable[[int], _Coin | float] | None = None

    @property
    def local(self) -> _Turns:
        """Those of the local steps."""
        return self

    def step(self, k: int) -> _Turns:
        """Those at local step k."""
        return self._replace(k=k)

    def uniform(self, count: int) -> Array:
        """The coin of the server.  Raises ValueError for other numbers."""
        if self.toss is None or count != 1 or len(self.clients) != 1:
            raise ValueError("it draws numbers of clients, or several: expected one coin of the server")
        return np.full((1, 1, 1), self.toss(self.k))

    def __getattr__(self, name: str) -> Any:
        raise _not_given(name)


@dataclass
class _GivenDraws:
    """In place of `Draws`: order and coin are given, and each client that asks for draws has a turn.

    round  its number; None: any
    """

    M: int
    clients: Sequence[int]
    round: int | None = None
    coin: _Coin | float | None = None
    turns: dict[int, list[int]] = field(default_factory=dict)  # those of a client, each time that it has asked
    tossed: set[tuple[int, int]] = field(default_factory=set)  # whose draw the coin is, and at which step

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if found is None and name == "round":
            raise ValueError("it depends on the number of the round: expected rounds that are alike")
        return found

    @property
    def replay(self) -> NDArray[np.int64]:
        """The order, which counts also where all clients take part: it says whose turn is which."""
        return self.order(self.M, len(self.clients))

    def order(self, M: int, S: int) -> NDArray[np.int64]:
        """The given order, among the first M clients, (1, S)."""
        return np.array([[client for client in self.clients if client < M][:S]])

    def of(self, client: NDArray[np.int64], steps: int = 0) -> _Turns:
        """The turns of the clients, the next ones of those that ask for the first time in the round.

        The coin that all share is drawn for a client beyond them; those who do not take part have draws beyond, too.
        """
        own = client.ravel().tolist()
        if own and own[0] >= self.M:
            return _Turns(tuple(one % self.M for one in own), tuple(range(len(own))), toss=partial(self._toss, own[0]))
        return _Turns(tuple(own), tuple(map(self._turn, own)))

    def _toss(self, client: int, k: int) -> _Coin | float:
        """The coin, the same each time; a second one is refused, as it may show the other side."""
        self.tossed.add((client, k))
        if self.coin is None or len(self.tossed) > 1:
            several = "a number" if self.coin is None else f"{len(self.tossed)} coins"
            raise ValueError(
                f"it draws {several}: expected one coin, and `coin`, the name of the setting that is its chance"
            )
        return self.coin

    def _turn(self, client: int) -> int:
        """The next turn of a client; a client that stands for several equal ones has one for each of them."""
        mine = self.turns.setdefault(client, [])
        different = max(1, self.clients.count(client))
        again = mine[len(mine) % different] if len(mine) >= different else 1 + len({*chain(*self.turns.values())})
        mine.append(again)
        return again

    def codes(self, client: NDArray[np.int64], shared: bool = False) -> _Turns:
        """The draws of a compressor; one that draws must be given, and nobody takes a turn.

        Raises ValueError for draws that the clients share.
        """
        if shared:
            raise ValueError("its compressors draw the same for all clients: expected independent draws")
        return _Turns(tuple(client.ravel().tolist()))

    def __getattr__(self, name: str) -> Any:
        raise _not_given(name)


def _not_given(name: str) -> Exception:
    if name.startswith("__"):
        return AttributeError(name)
    return ValueError(f"it draws numbers that are not given here: {name}; expected orders of clients, noise or a coin")


@dataclass(eq=False)
class _TraceProblem:
    """In place of a problem: every gradient that the round asks for becomes a step.

    apart  whether each coordinate of a vector has a cell of its own
    """

    functions: Sequence[ClientFunction]
    noise: Noise
    apart: bool = False
    weights: NDArray[Any] | None = None
    d: int = 1
    name: str = "a trace"
    made: list[TraceStep] = field(default_factory=list)

    @property
    def blocks(self) -> dict[str, slice]:
        """All entries together."""
        return {"all": slice(0, self.d)}

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.functions)

    def gradient(self, x: Array, client: NDArray[np.int64], draw: _Turns) -> Array:
        """The stochastic gradients of the clients (1, S) or (1,) at their points, vectors in cells.

        Where a round asks for several at one draw, such as at y and at x, the first are its steps.
        """

        def step(lead: int, i: int, who: int, at: Any) -> Any:
            if draw.clients[i : i + 1] != (who,):
                raise ValueError(
                    f"client {who + 1} takes a gradient with draws of another: expected draws.of of the same clients"
                )
            function, turn = self.functions[who], draw.turns[i]
            found = TraceStep(turn, draw.k, who, function, function.at(at), self.noise(who, turn, draw.k, at))
            if not lead:
                self.made.append(found)
            return found.stochastic

        return self._each(x, client, step)

    def local_gradient(self, x: Array, client: NDArray[np.int64]) -> Array:
        """The same without noise; no step."""
        return self._each(x, client, lambda lead, i, who, at: self.functions[who].at(at).gradient)

    def _each(self, x: Array, client: NDArray[np.int64], of: Callable[[int, int, int, Any], Any]) -> Array:
        """A vector for each client, from leading index, number in the list, name and point."""
        out = np.empty(x.shape, dtype=object)
        for lead in range(len(x)):
            for i, who in enumerate(client.ravel().tolist()):
                cell = (lead, 0, i) if client.ndim > 1 else (lead, 0)
                out[cell] = _parts(of(lead, i, who, _joined(x[cell])), self.apart)
        return out


def _parts(vector: Any, apart: bool) -> Sequence[Any]:
    """The cells of a vector."""
    return vector.coordinates if apart else [vector]


def _joined(cells: Sequence[Any] | Array) -> Any:
    """The vector in its cells."""
    return cells[0] if len(cells) == 1 else RandomVector.of_coordinates(cells)


@dataclass
class _Compressor:
    """In place of a compressor that draws: it keeps what it is asked for."""

    coder: Coder
    zero: Any
    apart: bool
    coded: list[tuple[Sequence[Any], Sequence[Any]]] = field(default_factory=list)
    drawn: set[tuple[int, int]] = field(default_factory=set)  # by which clients, and at which step
    shared: bool = False

    def __call__(self, x: Array, draw: _Turns, *_: Any) -> Array:
        """What arrives of the clients' vectors x (1, 1, S, 1).  Raises ValueError for draws that are used twice."""
        if draw.turns:
            raise ValueError("it compresses with the draws of a sample: expected draws.codes")
        own = {(client, draw.k) for client in draw.clients}
        if own & self.drawn:
            raise ValueError("it compresses twice with the same draws: expected other draws")
        self.drawn |= own
        messages = _vectors(x, self.zero, self.apart)
        self.coded.append((messages, list(self.coder(messages))))
        return _cells(self.coded[-1][1], self.apart)


def _exact(algorithm: Algorithm) -> Algorithm:
    """The algorithm with fractions for its floats: a product of a fraction and a float would be rounded."""
    found = copy(algorithm)
    for name, value in vars(algorithm).items():
        if isinstance(value, float):
            object.__setattr__(found, name, PlainFraction(value))
    return found


def trace(
    algorithm: Algorithm,
    functions: Sequence[ClientFunction],
    x: Any,
    zero: Any,
    eta: Any,
    order: Sequence[int],
    noise: Noise,
    memory: Mapping[str, Any] | None = None,
    number: int | None = None,
    coin: float | None = None,
    coder: Coder | None = None,
    apart: bool = False,
    weights: Sequence[Any] | None = None,
) -> Trace:
    """A round of the algorithm from x, by its own `round`.

    order, noise  of the clients, and at their steps
    memory        before the round, as in `Trace`; nothing before the first
    number        of the round; None: any, and an algorithm that asks for it cannot be traced
    coin          the number in [0, 1) that the server draws, if it draws one; an algorithm with a `coin` may only compare it
                  with that chance
    coder         in place of the algorithm's compressor
    apart         whether the algorithm looks at single coordinates, as one with blocks does; for vectors in numbers
    weights       of the clients, as in `Trace`

    Raises ValueError, with the line and the reason, for an algorithm that these vectors cannot go through, such as one that
    looks at entries.
    """
    shares = None if weights is None else np.array(weights)
    problem, found, given = (
        _TraceProblem(functions, noise, apart, shares, len(_parts(x, apart))),
        _exact(algorithm),
        None,
    )
    if coder is not None:
        given = _Compressor(coder, zero, apart)
        object.__setattr__(found, "compressor", given)
    step, kept = (
        np.empty((1, 1, 1), dtype=object),
        {name: _cells(value, apart) for name, value in (memory or {}).items()},
    )
    step[0, 0, 0] = eta
    chance = getattr(found, getattr(found, "coin", ""), None)
    tossed = coin if coin is None or chance is None else _Coin(coin, chance)
    draws = _GivenDraws(len(functions), order, number, tossed)
    try:
        start = _cells(x, apart)
        end = found.round(problem, start, step, draws, lambda y, active=True: None, kept)  # type: ignore[arg-type]
        if np.shape(end) != start.shape:
            raise ValueError(
                f"its model has the shape {np.shape(end)}: expected that of x, {start.shape}; a memory of the server is one "
                'that is declared as "any of the server"'
            )
        after = {name: _vectors(values, zero, apart) for name, values in kept.items()}
    except (TypeError, AttributeError, ValueError, KeyError) as error:
        own = [one for one in extract_tb(error.__traceback__) if one.name != "trace" and one.filename != __file__]
        where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno}: {own[-1].line})" if own else ""
        raise ValueError(f"{type(algorithm).__name__} cannot be traced: {error}{where}") from None
    steps = sorted(problem.made, key=lambda one: (one.turn, one.k))
    coded = () if given is None else given.coded
    return Trace(functions, x, zero, _joined(end[0, 0]), tuple(steps), memory or {}, after, coded, weights)


def refuse_coordinates(
    algorithm: Algorithm, M: int, coder: Coder | None = None, memory: Mapping[str, bool] | None = None
) -> None:
    """Raises ValueError for a round that does not do the same with each coordinate alone as with the whole vector.

    M       clients
    coder   of an algorithm that compresses
    memory  name -> whether each client has its own
    """
    one = np.array([PlainFraction(1)], dtype=object)

    def vector(start: int, step: int) -> RandomVector:
        return RandomVector.constant([PlainFraction(start + step * c**2) for c in range(_COORDINATES)], one, False)

    H = np.array([[1 + c] for c in range(_COORDINATES)], dtype=object)
    functions = [PiecewiseQuadratic(H * (m + 1), vector(m, 1 - m)) for m in range(M)]
    before = {
        name: [vector(i + m, 2 * m - 3) for m in range(M)] if own else vector(i, 5)
        for i, (name, own) in enumerate((memory or {}).items())
    }
    order = range(algorithm.participants(cast(Problem, SimpleNamespace(M=M, weights=None, name="a trace"))))
    for coin in (0.0, 1 - 2.0**-53):  # the least and the largest that the server can draw
        several = [
            trace(algorithm, functions, vector(1, 7), vector(0, 0), PlainFraction(1, 8), order,
                  lambda client, turn, k, at: vector(client, k), before, None, coin, coder, apart)
            for apart in (False, True)
        ]  # fmt: skip
        whole, alone = ([v.values.tolist() for v in t.vectors] for t in several)
        if whole != alone:
            raise ValueError(
                f"{type(algorithm).__name__} mixes coordinates: expected the same of each, with sums over clients alone, "
                "which are axis 2 of their models"
            )


_COORDINATES = 5  # of `refuse_coordinates`; a prime, so that no part of them is alike


def _cells(value: Any, apart: bool) -> Array:
    """A vector as (1, 1, d), the vectors of M clients as (1, 1, M, d), a cell for each coordinate or d = 1."""
    several = isinstance(value, list | tuple)
    rows = [_parts(vector, apart) for vector in (value if several else [value])]
    cells = np.empty((1, 1, len(rows), len(rows[0])), dtype=object)
    cells[0, 0] = rows
    return cells if several else cells[:, :, 0]


def _vectors(cells: Array, zero: Any, apart: bool) -> Any:
    """A vector, or a tuple of those of all clients.  Raises ValueError for other numbers than 0."""
    zeros = _parts(zero, apart)
    rows = [
        [
            none if isinstance(value, int | float) and value == 0 else value
            for value, none in zip(row, zeros, strict=True)
        ]
        for row in cells.reshape(-1, len(zeros)).tolist()
    ]
    if other := [value for row in rows for value in row if not isinstance(value, type(zero))]:
        raise ValueError(f"its memory has {other[0]!r}: expected vectors")
    found = tuple(map(_joined, rows))
    return found if cells.ndim > 3 else found[0]


# ------------------------------------------------------------------------------------------------- rounds in numbers

LAWS = ("independent", "shared", "biased", "one order")


class PiecewiseQuadratic:
    """A client's function x'Hx / 2 + b'x, and bend max(x, 0)^2 / 2 more.

    H     (d, d), or (d, 1): its diagonal
    bend  a number, in one coordinate, or (d, 1), of each
    """

    def __init__(self, H: Numbers, b: RandomVector, bend: Any = 0) -> None:
        self.H, self.b, self.bend, self.bent = H, b, bend, bool(np.any(bend))
        self.known: dict[int, _AtVector] = {}  # by the vector's identity: x and 0 are asked for many times

    def at(self, x: RandomVector) -> _AtVector:
        """The function at a vector, whose columns are outcomes if there is a bend."""
        if id(x) not in self.known:
            self.known[id(x)] = _AtVector(self, x)
        return self.known[id(x)]


class _AtVector:
    """A function at a random vector; computed where it is asked for."""

    def __init__(self, function: PiecewiseQuadratic, x: RandomVector) -> None:
        self.function, self.x = function, x

    @cached_property
    def gradient(self) -> RandomVector:
        """The gradient."""
        f, values = self.function, self.x.values
        straight = (f.H * values if f.H.shape[1] == 1 else f.H @ values) + f.b.values
        if f.bent:
            straight = straight + f.bend * np.where(values > 0, values, 0 * values)
        return type(self.x)(straight, self.x.weights)

    @cached_property
    def value(self) -> Any:
        """The expected value."""
        return (self.gradient + self.function.b) @ self.x / 2


@dataclass(frozen=True, eq=False)
class OrderOutcomes:
    """All orders of the clients, each with its chance; the noise is in the random vectors."""

    chances: Sequence[Any]
    traces: Sequence[Trace]
    known: dict[Callable[[Trace], Any], Any] = field(default_factory=dict)

    def mean(self, quantity: Callable[[Trace], Any]) -> Any:
        """The expectation of a quantity of a trace; computed once."""
        if quantity not in self.known:
            values = zip(self.chances, self.traces, strict=True)
            self.known[quantity] = sum(chance * quantity(trace) for chance, trace in values)
        return self.known[quantity]


def round_in_numbers(
    algorithm: Any,
    H: Numbers,
    b: Numbers,
    x: Numbers,
    eta: Any,
    sigma2: Any,
    bend: Sequence[Any] = (),
    law: str = LAWS[0],
) -> OrderOutcomes:
    """One round from x, of F_m(y) = y'H_m y / 2 + b_m'y with the minimiser 0 of their mean; exact for Fractions.

    algorithm  SFL or PFL, or another without memory whose S participating clients make K local steps each; its own step size
               is not used
    H, b, x    (M, d, d), (M, d), (d,)
    sigma2     E||g - grad F_m||^2, spread evenly over the coordinates
    bend       (M,), in one coordinate: F_m(y) has the extra term bend_m max(y, 0)^2 / 2, and the noise is +-sigma
    law        `independent` noise; `shared`: all clients draw the same; `biased`: every gradient has the error
               (sigma, 0, ...); `one order`: always the clients 1 ... S, in this order

    Raises ValueError for a fraction sigma2 whose root is asked for and is irrational.
    """
    M, d = b.shape
    S, K = algorithm.S or M, algorithm.K
    one, nothing = 0 * eta + 1, 0 * eta
    draws = S * K if sigma2 and law != "biased" else 0
    columns = 2**draws if bend else 1 + draws * d
    weights = np.array([one / columns] * columns if bend else [one] + [sigma2 / d] * (columns - 1))

    def constant(v: Any) -> RandomVector:
        """The vector v (d,)."""
        return RandomVector.constant(v, weights, bool(bend))

    def error(j: int) -> RandomVector:
        """The noise of draw j."""
        if law == "biased":
            return constant(np.eye(1, d, dtype=int)[0] * root_of(sigma2))
        if bend:
            signs = np.array(list(product((1, -1), repeat=draws)), dtype=int)[:, j]
            return RandomVector(signs[None] * root_of(sigma2), weights)
        return RandomVector(constant(np.zeros(d, dtype=int)).values + np.eye(d, columns, 1 + j * d, dtype=int), weights)

    zero = constant(np.zeros(d, dtype=int))
    errors = [error(j) if sigma2 else zero for j in range(S * K)]
    functions = [PiecewiseQuadratic(H[m], constant(b[m]), bend[m] if bend else 0) for m in range(M)]
    orders, start = _orders(H, b, bend, S, law), constant(x)

    def noise(client: int, turn: int, k: int, at: RandomVector) -> RandomVector:
        return errors[k if law == "shared" else (turn - 1) * K + k]

    return OrderOutcomes(
        [(nothing + times) / sum(orders.values()) for times in orders.values()],
        [trace(algorithm, functions, start, zero, eta, order, noise) for order in orders],
    )


def root_of(sigma2: Any) -> Any:
    """The root of a variance.  Raises ValueError for a fraction whose root is irrational."""
    return sigma2**0.5 if isinstance(sigma2, float) else square_root(sigma2, "sigma2")


def _orders(H: Numbers, b: Numbers, bend: Sequence[Any], S: int, law: str) -> Counter[tuple[int, ...]]:
    """The ordered samples of S clients, each with its number; equal clients count as the first of them."""
    if law == "one order":
        return Counter([tuple(range(S))])
    functions = [(*np.ravel(H[m]), *b[m], *bend[m : m + 1]) for m in range(len(b))]
    alike = [functions.index(function) for function in functions]
    if len({*alike}) == 1:
        return Counter([(0,) * S])
    return Counter(tuple(alike[m] for m in order) for order in permutations(range(len(b)), S))
