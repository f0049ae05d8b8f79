"""A round of any algorithm, by its own `round`, over vectors that are no arrays: the trace has every local step.

A vector is whatever can be added, multiplied by numbers and has an inner product `@`: a `Form` here, in numbers of one type,
or a vector with unknown entries (`theory.proofs.gram`).  One cell of the algorithm's arrays holds one vector.  Functions
say their value and gradient at a vector; orders and noise are given.
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
from simulations.exact.given import Given
from simulations.exact.rational import square_root
from simulations.problems import Array

Numbers = NDArray[Any]  # of floats, or of objects that are Fractions


# ------------------------------------------------------------------------------------------------- vectors in numbers


@dataclass(frozen=True, eq=False)
class Form:
    """A random vector in d coordinates, in n columns: values (d, n), whose products have the weights (n,).

    Either the columns are outcomes, and the weights their chances; or the first column is the mean, the others are factors
    of independent noise, and the weights their variances.
    """

    values: Numbers
    weights: Numbers

    def __add__(self, other: Form) -> Form:
        return Form(self.values + other.values, self.weights)

    def __radd__(self, zero: int) -> Form:
        """0 + v: an array of zeros to which an algorithm adds."""
        return self if zero == 0 else NotImplemented

    def __sub__(self, other: Form) -> Form:
        return Form(self.values - other.values, self.weights)

    def __mul__(self, factor: Any) -> Form:
        return Form(self.values * factor, self.weights)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Form:
        return Form(self.values / (int(number) if isinstance(number, np.integer) else number), self.weights)

    def __neg__(self) -> Form:
        return Form(-self.values, self.weights)

    def __matmul__(self, other: Form) -> Any:
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


@dataclass(eq=False)
class _Traced:
    """In place of a problem: every gradient that the round asks for becomes a step."""

    functions: Sequence[Function]
    noise: Noise
    steps: list[Step] = field(default_factory=list)
    turns: int = 0
    weights: None = None
    d: int = 1
    name: str = "a trace"

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.functions)

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Any) -> Array:
        """The stochastic gradients of the clients at their points, a vector in each cell."""
        out, several = np.empty(x.shape, dtype=object), client.ndim > 1
        for cell in np.ndindex(*x.shape[:-1]):
            who = int(client[0, cell[-1]] if several else client[0])
            if draw.step == 0 and (not several or not cell[-1]):
                self.turns += client.shape[-1] if several else 1
            turn = self.turns - (client.shape[-1] - 1 - cell[-1] if several else 0)
            point = self.functions[who].at(x[cell][0])
            made = Step(turn, draw.step, who, self.functions[who], point, self.noise(who, turn, draw.step))
            self.steps.append(made)
            out[cell] = [made.stochastic]
        return out


def trace(
    algorithm: Algorithm, functions: Sequence[Function], x: Any, zero: Any, eta: Any, order: Sequence[int], noise: Noise
) -> Trace:
    """One round of the algorithm from x, by its own `round`, with this order of the clients and this noise."""
    problem = _Traced(functions, noise)
    cell, step = np.empty((1, 1, 1), dtype=object), np.empty((1, 1, 1), dtype=object)
    cell[0, 0, 0], step[0, 0, 0] = x, eta
    draws, memory = Given(len(functions), 0, np.array([order]), None), dict[str, Any]()
    draws.replay = draws.orders  # type: ignore[assignment]  # who is where counts, also where all take part
    end = algorithm.round(problem, cell, step, draws, lambda y, active=True: None, memory)  # type: ignore[arg-type]
    steps = sorted(problem.steps, key=lambda one: (one.turn, one.k))
    return Trace(functions, x, zero, end[0, 0, 0], tuple(steps))


# ------------------------------------------------------------------------------------------------- rounds in numbers

LAWS = ("independent", "shared", "biased", "one order")


class Straight:
    """A client's function x'Hx / 2 + b'x, and in one coordinate bend max(x, 0)^2 / 2 more."""

    def __init__(self, H: Numbers, b: Form, bend: Any = 0) -> None:
        self.H, self.b, self.bend = H, b, bend
        self.known: dict[int, _AtForm] = {}  # by the form's identity: x and 0 are asked for many times

    def at(self, x: Form) -> _AtForm:
        """The function at a form, whose columns are outcomes if there is a bend."""
        if id(x) not in self.known:
            self.known[id(x)] = _AtForm(self, x)
        return self.known[id(x)]


class _AtForm:
    """A function at a form; computed where it is asked for."""

    def __init__(self, function: Straight, x: Form) -> None:
        self.function, self.x = function, x

    @cached_property
    def gradient(self) -> Form:
        """The gradient."""
        f, values = self.function, self.x.values
        straight = f.H @ values + f.b.values
        return Form(
            straight + f.bend * np.where(values > 0, values, 0 * values) if f.bend else straight, self.x.weights
        )

    @cached_property
    def value(self) -> Any:
        """The expected value."""
        return (self.gradient + self.function.b) @ self.x / 2


@dataclass(frozen=True, eq=False)
class Outcomes:
    """All orders of the clients, each with its chance; the noise is in the forms."""

    chances: Sequence[Any]
    traces: Sequence[Trace]

    def mean(self, quantity: Callable[[Trace], Any]) -> Any:
        """The expectation of a quantity of a trace."""
        return sum(chance * quantity(trace) for chance, trace in zip(self.chances, self.traces, strict=True))


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

    def constant(v: Any) -> Form:
        """The vector v (d,)."""
        values = np.full((d, columns), nothing, dtype=weights.dtype)
        values[:, : columns if bend else 1] = np.reshape(v, (d, 1))
        return Form(values, weights)

    def error(j: int) -> Form:
        """The noise of draw j."""
        if law == "biased":
            return constant(np.eye(1, d, dtype=int)[0] * root_of(sigma2))
        if bend:
            signs = np.array(list(product((1, -1), repeat=draws)), dtype=int)[:, j]
            return Form(signs[None] * root_of(sigma2), weights)
        return Form(constant(np.zeros(d, dtype=int)).values + np.eye(d, columns, 1 + j * d, dtype=int), weights)

    zero = constant(np.zeros(d, dtype=int))
    errors = [error(j) if sigma2 else zero for j in range(S * K)]
    functions = [Straight(H[m], constant(b[m]), bend[m] if bend else 0) for m in range(M)]
    orders, start = _orders(H, b, bend, S, law), constant(x)

    def noise(client: int, turn: int, k: int) -> Form:
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
