"""The trace of a round: every local step of an algorithm without memory, by its own `round`.

The vectors are no arrays.  A vector can be added and multiplied by numbers, and has an inner product `@`: a
`RandomVector` here, or a vector with unknown entries (`theory.proofs.gram`).  One cell of the algorithm's arrays holds
one vector.  Functions say their value and gradient at a vector; order and noise are given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations, product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simulations.algorithms.base import Algorithm
from simulations.exact.rational import square_root
from simulations.problems import Array

Numbers = NDArray[Any]  # of floats, or of objects that are Fractions


# ------------------------------------------------------------------------------------------------- vectors in numbers


@dataclass(frozen=True, eq=False)
class RandomVector:
    """A random vector in d coordinates, in n columns: values (d, n), whose products have the weights (n,).

    Either the columns are outcomes, and the weights their chances; or the first column is the mean, the others are factors
    of independent noise, and the weights their variances.
    """

    values: Numbers
    weights: Numbers

    def __add__(self, other: RandomVector) -> RandomVector:
        return RandomVector(self.values + other.values, self.weights)

    def __radd__(self, zero: int) -> RandomVector:
        """0 + v: an array of zeros to which an algorithm adds."""
        return self if zero == 0 else NotImplemented

    def __sub__(self, other: RandomVector) -> RandomVector:
        return RandomVector(self.values - other.values, self.weights)

    def __mul__(self, factor: Any) -> RandomVector:
        return RandomVector(self.values * factor, self.weights)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> RandomVector:
        return RandomVector(self.values / (int(number) if isinstance(number, np.integer) else number), self.weights)

    def __neg__(self) -> RandomVector:
        return RandomVector(-self.values, self.weights)

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


class Function(Protocol):
    """A client's function."""

    def at(self, x: Any) -> At:
        """The function at a vector."""


class _Mean:
    """The mean of functions at a point; computed where it is asked for."""

    def __init__(self, functions: Sequence[Function], x: Any) -> None:
        self.x, self.points = x, [function.at(x) for function in functions]

    @cached_property
    def value(self) -> Any:
        """The mean of their expected values."""
        return _sum([point.value for point in self.points]) / len(self.points)

    @cached_property
    def gradient(self) -> Any:
        """The mean of their gradients."""
        return _sum([point.gradient for point in self.points]) / len(self.points)


def _sum(items: Sequence[Any]) -> Any:
    total = items[0]
    for item in items[1:]:
        total = total + item
    return total


# --------------------------------------------------------------------------------------------------------- the trace


class Step(NamedTuple):
    """A local step of a client: its turn among the round's clients 1 ... S, k = 0, 1 ... in this turn, its function, and
    where it is; its stochastic gradient is the gradient there plus the noise."""

    turn: int
    k: int
    client: int
    function: Function
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

    functions  of all clients
    x, end     the server's model before and after the round
    zero       the vector 0
    steps      turn after turn
    """

    functions: Sequence[Function]
    x: Any
    zero: Any
    end: Any
    steps: tuple[Step, ...]

    def F(self, x: Any) -> At:
        """The mean of the clients' functions at a point."""
        return _Mean(self.functions, x)

    @cached_property
    def start(self) -> At:
        """F at x."""
        return self.F(self.x)

    @cached_property
    def star(self) -> At:
        """F at x*."""
        return self.F(self.zero)

    def at_x(self, step: Step) -> Any:
        """The gradient of the step's client at x."""
        return step.function.at(self.x).gradient

    def at_star(self, step: Step) -> Any:
        """The gradient of the step's client at x*."""
        return step.function.at(self.zero).gradient

    def total(self, vectors: Iterable[Any]) -> Any:
        """The sum of vectors."""
        return _sum([self.zero, *vectors])

    def sum(self, numbers: Iterable[Any]) -> Any:
        """The sum of numbers."""
        return _sum([self.zero.square, *numbers])


Noise = Callable[[int, int, int], Any]  # client, turn, step -> the noise


class _Turns(NamedTuple):
    """In place of the draws of some clients at a step: the turn of the first of them, and the step."""

    first: int
    k: int = 0

    def step(self, k: int) -> _Turns:
        """Those at local step k."""
        return self._replace(k=k)


@dataclass
class _Draws:
    """In place of `Draws`: the clients' order is given, and each client that asks for draws has a turn."""

    clients: Sequence[int]
    turns: int = 0

    @property
    def replay(self) -> NDArray[np.int64]:
        """The order, which counts also where all clients take part: it says whose turn is which."""
        return self.order(0, len(self.clients))

    def order(self, M: int, S: int) -> NDArray[np.int64]:
        """The given order, (1, S)."""
        return np.array([self.clients[:S]])

    def of(self, client: NDArray[np.int64], steps: int = 0) -> _Turns:
        """The next turns, one for each of the clients."""
        first, self.turns = self.turns + 1, self.turns + client.shape[-1]
        return _Turns(first)

    def codes(self, client: NDArray[np.int64], shared: bool = False) -> _Turns:
        """The draws of a compressor; only one that draws nothing can be traced, and nobody takes a turn."""
        return _Turns(0)


@dataclass(eq=False)
class _Problem:
    """In place of a problem: every gradient that the round asks for becomes a step."""

    functions: Sequence[Function]
    noise: Noise
    steps: list[Step] = field(default_factory=list)
    weights: None = None
    d: int = 1
    name: str = "a trace"

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.functions)

    def gradient(self, x: Array, client: NDArray[np.int64], draw: _Turns) -> Array:
        """The stochastic gradients of the clients (1, S) or (1,) at their points, a vector in each cell."""
        out = np.empty(x.shape, dtype=object)
        for i, who in enumerate(client.ravel().tolist()):
            cell = (0, 0, i) if client.ndim > 1 else (0, 0)
            function, turn = self.functions[who], draw.first + i
            step = Step(turn, draw.k, who, function, function.at(x[cell][0]), self.noise(who, turn, draw.k))
            self.steps.append(step)
            out[cell] = [step.stochastic]
        return out


def trace(
    algorithm: Algorithm, functions: Sequence[Function], x: Any, zero: Any, eta: Any, order: Sequence[int], noise: Noise
) -> Trace:
    """One round of the algorithm from x, by its own `round`, with this order of the clients and this noise."""
    problem = _Problem(functions, noise)
    cell, step = np.empty((1, 1, 1), dtype=object), np.empty((1, 1, 1), dtype=object)
    cell[0, 0, 0], step[0, 0, 0] = x, eta
    end = algorithm.round(problem, cell, step, _Draws(order), lambda y, active=True: None, {})  # type: ignore[arg-type]
    steps = sorted(problem.steps, key=lambda one: (one.turn, one.k))
    return Trace(functions, x, zero, end[0, 0, 0], tuple(steps))


# ------------------------------------------------------------------------------------------------- rounds in numbers

LAWS = ("independent", "shared", "biased", "one order")


class PiecewiseQuadratic:
    """A client's function x'Hx / 2 + b'x, and in one coordinate bend max(x, 0)^2 / 2 more."""

    def __init__(self, H: Numbers, b: RandomVector, bend: Any = 0) -> None:
        self.H, self.b, self.bend = H, b, bend
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
        straight = f.H @ values + f.b.values
        return RandomVector(
            straight + f.bend * np.where(values > 0, values, 0 * values) if f.bend else straight, self.x.weights
        )

    @cached_property
    def value(self) -> Any:
        """The expected value."""
        return (self.gradient + self.function.b) @ self.x / 2


@dataclass(frozen=True, eq=False)
class Outcomes:
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
) -> Outcomes:
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
        values = np.full((d, columns), nothing, dtype=weights.dtype)
        values[:, : columns if bend else 1] = np.reshape(v, (d, 1))
        return RandomVector(values, weights)

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

    def noise(client: int, turn: int, k: int) -> RandomVector:
        return errors[k if law == "shared" else (turn - 1) * K + k]

    return Outcomes(
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
