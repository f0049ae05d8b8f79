"""Test problems with certified constants, for checks of assumptions in numbers.

An assumption is no claim.  A check can show two facts: the test problems meet the assumption with their certified
constants, and on some problem no smaller constant is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fedtheory.bounds.trials.cases import Case
from fedtheory.simulations import data, partitions
from fedtheory.simulations.draws import Draw
from fedtheory.simulations.functions import Function, beside, dip, hinge, huber, logcosh, ripple
from fedtheory.simulations.partitions import Partition
from fedtheory.simulations.problems import Array, Problem
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, generate


@dataclass(frozen=True)
class ValueAndGradient:
    """A function by its value and its gradient."""

    value: Callable[[Any], Any]
    gradient: Callable[[Any], Any]


@dataclass(frozen=True)
class Example:
    """A test problem with certified constants, on which an assumption is evaluated.

    clients    F_1 ... F_M;  F  their mean
    pairs      points (x, y): seeded ones, and ones that attain the constants
    """

    name: str
    constants: Mapping[str, Any]
    F: ValueAndGradient
    clients: Sequence[Any]
    pairs: Sequence[tuple[Array, Array]]


def points(d: int, seed: int, count: int = 6) -> list[tuple[Array, Array]]:
    """Seeded pairs of points, near each other and far apart."""
    rng = np.random.default_rng(seed)
    return [
        (y + size * rng.standard_normal(d), y) for size in (0.01, 1.0, 10.0) for y in rng.standard_normal((count, d))
    ]


def objective(problem: Problem) -> ValueAndGradient:
    """F of a problem."""
    return ValueAndGradient(lambda x: float(problem.value(x)), problem.full_gradient)


def quadratic_clients(problem: Quadratic) -> list[ValueAndGradient]:
    """The clients of a quadratic."""
    return [
        ValueAndGradient(
            partial(lambda H, b, x: float(x @ H @ x / 2 + b @ x), H, b), partial(lambda H, b, x: H @ x + b, H, b)
        )
        for H, b in zip(problem.H, problem.b, strict=True)
    ]


def alone(problem: Logistic, rows: Any) -> Logistic:
    """The problem of a single client with these samples of a problem's data."""
    own = replace(problem.dataset, features=problem.dataset.features[rows], labels=problem.dataset.labels[rows])
    return type(problem)(own, Partition((np.arange(len(rows)),), "one client"), problem.regularisation)


def quadratic_example(problem: Quadratic, seed: int) -> Example:
    """A quadratic with seeded pairs, and pairs along the eigenvectors of the H_m, which attain L and mu."""
    vectors = [v for H in problem.H for v in np.linalg.eigh(H)[1].T[[0, -1]]]
    pairs = [*points(problem.d, seed), *((v, 0 * v) for v in vectors)]
    return Example(problem.name, problem.constants, objective(problem), quadratic_clients(problem), pairs)


def _function_example(h: Function, seed: int) -> Example:
    """A single client; pairs: seeded ones, and close ones at the origin, where most families curve most."""
    constants = {"L": h.L, "curvature": h.mu, "F_star": h.minimum, "x_star": h.minimiser}
    near = [(1e-4 * v, -1e-4 * v) for v in np.eye(h.d)]
    return Example(h.name, constants, ValueAndGradient(h.value, h.gradient), [h], [*points(h.d, seed), *near])


@cache
def logistic() -> Logistic:
    """Logistic regression on breast_cancer, ten clients with one class each, one sample per step."""
    dataset = data.scaled(data.load("breast_cancer"))
    return Logistic(dataset, partitions.exdir(dataset.labels, 10, 1, 10.0, seed=0), regularisation=0.01, batch=1)


@cache
def logistic_clients() -> tuple[ValueAndGradient, ...]:
    """The clients of `logistic`, each computed by a logistic regression on its own samples only."""
    return tuple(objective(alone(logistic(), rows)) for rows in logistic().partition.clients)


@cache
def examples() -> tuple[Example, ...]:
    """Strongly convex, flat and indefinite quadratics; functions with huge and no curvature; logistic regression."""
    quadratics = [
        generate(4, 4, L=1.0, mu=mu, zeta_star=1.0, delta=delta, x_star=[1.0, -1.0, 0.5, 2.0], seed=seed)
        for seed, (mu, delta) in enumerate(((0.1, 0.3), (0.0, 0.2), (-0.2, 0.4)))
    ]
    functions = [huber(2), hinge(2), logcosh(2), ripple(2), beside(dip(1), huber(1))]
    whole = logistic()
    return (
        *(quadratic_example(q, seed) for seed, q in enumerate(quadratics)),
        *(_function_example(h, seed) for seed, h in enumerate(functions)),
        Example(whole.name, whole.constants, objective(whole), logistic_clients(), points(whole.d, 3, 2)),
    )


FAMILY = "quadratics (d = 4, M = 4; strongly convex, flat, indefinite), huber, hinge, logcosh, ripple, dip, logistic"


CONVEX = f"the convex ones of {FAMILY}"


def convex_examples() -> list[Example]:
    """Those whose clients are convex."""
    return [g for g in examples() if g.constants["curvature"] >= -1e-12]


def at_pairs(
    client: str, x: str, y: str, several: Iterable[Example], both_ways: bool = False, **constants: str
) -> Iterator[Case]:
    """Every client of these examples at every pair of points, with certified constants, by the letters of a paper.

    None of these constants is negative: a smallest curvature that is, by rounding errors, counts as 0.
    """
    for g in several:
        numbers = {letter: max(0.0, float(g.constants[name])) for letter, name in constants.items()}
        for m, f in enumerate(g.clients, 1):
            for one, two in g.pairs:
                for u, v in ((one, two), (two, one))[: 1 + both_ways]:
                    yield Case(f"{g.name}, client {m}", {client: f, x: u, y: v, **numbers})


@dataclass(frozen=True, eq=False)
class Every:
    """Replaces a `Draw`: all mini-batches side by side, or a two-point law instead of the normal law."""

    rows: NDArray[np.int64]

    def once(self, client: NDArray[np.int64], look_up: Callable[[], Any]) -> Any:
        """look_up()."""
        return look_up()

    def integers(self, below: NDArray[np.integer], count: int) -> NDArray[np.int64]:
        """The mini-batches, (batches, count)."""
        return self.rows

    def places(self, client: NDArray[np.int64], sizes: NDArray[np.int64], stride: int, count: int) -> NDArray[np.int64]:
        """The mini-batches of one client, as rows of the table of all, (batches, count)."""
        return self.rows + (client * stride)[..., None]

    def normal(self, d: int) -> NDArray[np.int64]:
        """The points +-1 in every coordinate, (2^d, d): mean 0 and covariance I, as the normal law has."""
        return self.rows


def _law(problem: Problem, client: int, x: Array, rows: NDArray[np.int64]) -> list[Any]:
    """The law of the client's stochastic gradient at x, computed by the problem; all rows have equal probability."""
    at = np.broadcast_to(x, (1, len(rows), len(x)))
    gradients = problem.gradient(at, np.array([client]), cast(Draw, Every(rows)))[0]

    def fixed(g: Array) -> ValueAndGradient:
        return ValueAndGradient(lambda _: 0.0, lambda _: g)

    return [(1 / len(rows), {"f_m": fixed(g)}) for g in gradients]


def samples(symbol: Callable[[Problem], Mapping[str, float]]) -> Iterator[Case]:
    """Cases with enumerated stochastic gradients: scalars, quadratics with noise, logistic regression.

    symbol   the values of the claim's other symbols, from the problem
    """
    two = [(0.5, {"f_m": ValueAndGradient(partial(lambda s, x: x * x / 2 + s * x, s), partial(lambda s, x: x + s, s))})
           for s in (-1.0, 1.0)]  # fmt: skip
    mean = ValueAndGradient(lambda x: x * x / 2, lambda x: x)
    like = Quadratic(np.eye(1)[None], np.zeros((1, 1)), sigma=1.0)
    for at in (1.0, -2.0, 0.5):
        yield Case(f"samples x^2/2 + x, x^2/2 - x, at {at}", {"F_m": mean, "x": at, **symbol(like)}, two)
    noisy = generate(2, 3, L=1.0, mu=0.2, zeta_star=1.0, delta=0.3, sigma=0.7, seed=5)
    example = quadratic_example(noisy, 6)
    signs = np.array(list(product((-1, 1), repeat=2)))
    for m, client in enumerate(example.clients):
        for x, _ in example.pairs[:6]:
            values = {"F_m": client, "x": x, **symbol(noisy)}
            yield Case(f"{noisy.name}, sigma = 0.7, client {m + 1}", values, _law(noisy, m, x, signs))
    problem = logistic()
    for m, client in enumerate(logistic_clients()):
        rows = np.arange(problem.shards.sizes[m])[:, None]
        for x, _ in points(problem.d, m, 1)[1:]:
            values = {"F_m": client, "x": x, **symbol(problem)}
            yield Case(f"{problem.name}, client {m + 1}", values, _law(problem, m, x, rows))


def in_letters(place: Case, client: str, point: str, gradient: str, **numbers: float) -> Case:
    """A case of `samples` by the letters of a paper, with the stochastic gradients at the point and these numbers."""
    x = place.values["x"]
    law = [(p, {gradient: drawn["f_m"].gradient(x)}) for p, drawn in place.law]
    return Case(place.where, {client: place.values["F_m"], point: x, **numbers}, law)


SAMPLES = (
    "the clients x^2/2 with samples x^2/2 +- x, quadratics with noise (a two-point law of the same moments), logistic "
    "regression on breast_cancer with all batches of one"
)
