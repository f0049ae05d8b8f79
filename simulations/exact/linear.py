"""The exact expectation of a whole run, on quadratics, of every algorithm whose rounds are linear.

Once it is known which clients take part, such a round maps the server's model and the memories, together z, and the noise
of the gradients linearly to the next z.  The matrices of this map are not derived here: the algorithm's own `round` makes
them, run on a unit vector for each column.  So there is no second form of the algorithm that could differ from it.
Mean and covariance of z follow from the matrices, and all possible choices of clients are visited.

x is taken about x_star, and mean and covariance are separate.  This avoids cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, permutations
from math import ceil, lcm, log
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from simulations import engine
from simulations.algorithms.base import Algorithm, Memory
from simulations.algorithms.baselines import Scaffnew
from simulations.algorithms.fedbcgd import SLocalGD
from simulations.algorithms.participation import RCP, AmplifiedFedAvg, CyCP
from simulations.algorithms.reduced import BVRLSGD, CELSGD
from simulations.checked import affordable
from simulations.engine import Request
from simulations.exact.blocks import Blocks, second_moment, whole_run
from simulations.problems import Array, Problem
from simulations.problems.quadratic import Quadratic

_MOST = 3000  # choices of clients, or numbers of local steps, in a round
_TOO_MANY = f"more than {_MOST} choices in a round, which would all be visited: expected fewer clients or local steps"
_OWN = "a client draws uniform numbers of its own: expected an algorithm with linear rounds"
_REST = 1e-13  # probability of the longest rounds of Scaffnew, which count as a little shorter


# ------------------------------------------------------------------------------------- what is random besides the noise


class Choice(NamedTuple):
    """One possible choice of a round, or of several rounds that share it.

    probability  of this choice
    order        the clients in their order, as `Draws.order` gives them
    coin         the uniform number that all clients share
    """

    probability: float
    order: tuple[int, ...] = ()
    coin: float = 0.0


def _choices(problem: Problem, algorithm: Algorithm) -> list[Choice]:
    """All choices: sets of clients, where their order does not matter; for some algorithms the order, or a coin.

    Raises ValueError where there are more than 3000.
    """
    M, S = problem.M, algorithm.participants(problem)
    orders: Iterable[tuple[int, ...]]
    match algorithm:
        case Scaffnew():
            return _numbers_of_steps(algorithm.p)
        case SLocalGD():
            q = algorithm.q
            return [Choice(1.0)] if q == 1 else [Choice(q, (), q / 2), Choice(1 - q, (), (1 + q) / 2)]
        case CyCP():
            orders = combinations(range(M // algorithm.groups), S)
        case CELSGD():  # one of the participants, the first, makes the local steps
            sets = combinations(range(M), S)
            orders = ((one, *(m for m in members if m != one)) for members in sets for one in members)
        case BVRLSGD():
            orders = ((one, *(m for m in range(M) if m != one)) for one in range(M))
        case RCP():
            orders = _cohorts(tuple(range(M)), S)
        case _ if getattr(algorithm, "sequential", False):
            orders = permutations(range(M), S)
        case _:
            orders = combinations(range(M), S)
    first = list(islice(orders, _MOST + 1))
    if len(first) > _MOST:
        raise ValueError(_TOO_MANY)
    return [Choice(1 / len(first), order) for order in first]


def _numbers_of_steps(p: float) -> list[Choice]:
    """The coins of Scaffnew, one for each number of local steps."""
    if p == 1:
        return [Choice(1.0)]
    count = log(_REST) / np.log1p(-p)
    if count > _MOST:
        raise ValueError(_TOO_MANY)
    steps = np.arange(ceil(count))
    chances = p * (1 - p) ** steps
    chances[-1] += 1 - chances.sum()
    middle = -np.expm1((steps + 0.5) * np.log1p(-p))  # of the coins with this number of steps
    return [Choice(float(chance), (), float(coin)) for chance, coin in zip(chances, middle, strict=True)]


def _cohorts(clients: tuple[int, ...], S: int) -> Iterator[tuple[int, ...]]:
    """All ways to divide the clients into cohorts of S that take turns, one after another in one tuple."""
    if not clients:
        yield ()
    for first in combinations(clients, S) if clients else ():
        for rest in _cohorts(tuple(m for m in clients if m not in first), S):
            yield first + rest


def _period(problem: Problem, algorithm: Algorithm) -> int:
    """Rounds after which the algorithm does the same again."""
    match algorithm:
        case AmplifiedFedAvg():
            return lcm(algorithm.groups, algorithm.period or algorithm.groups)
        case CyCP():
            return algorithm.groups
        case BVRLSGD():
            return algorithm.stage
        case RCP():
            return problem.M // algorithm.participants(problem)
    return 1


# --------------------------------------------------------------------------------------------- a round as a linear map


@dataclass
class _Given:
    """In place of `Draws`: the choice is given, and so is the noise (N, M, T, d); without it there is none.

    asked  the (client, step) whose noise a round has read
    """

    round: int
    choice: Choice
    M: int
    runs: int = 1
    noise: Array | None = None
    asked: dict[tuple[int, int], None] = field(default_factory=dict)
    replay: None = None

    def order(self, M: int, S: int) -> NDArray[np.int64]:
        """The given order, (N, S)."""
        return np.tile(np.array(self.choice.order[:S], dtype=np.int64), (self.runs, 1))

    def of(self, client: NDArray[np.int64], steps: int = 0) -> _GivenSteps:
        """The draws of the clients."""
        return _GivenSteps(self, client)

    def codes(self, client: NDArray[np.int64], shared: bool = False) -> _GivenDraw:
        """The coins of compressors: there are none, reading them raises ValueError."""
        return _GivenDraw(self, client, 0)


class _GivenSteps(NamedTuple):
    given: _Given
    client: NDArray[np.int64]

    def step(self, k: int) -> _GivenDraw:
        """The draw at local step k."""
        return _GivenDraw(self.given, self.client, k)


class _GivenDraw(NamedTuple):
    given: _Given
    client: NDArray[np.int64]
    step: int

    def once(self, client: NDArray[np.int64], look_up: Callable[[], Any]) -> Any:
        return look_up()

    def uniform(self, count: int) -> Array:
        """The coin that all clients share, which algorithms draw for client M."""
        if (self.client != self.given.M).any():
            raise ValueError(_OWN)
        return np.full((self.given.runs, *self.client.shape[1:], count), self.given.choice.coin)

    @property
    def local(self) -> Any:
        """The coins of a compressor, of which there are none."""
        raise ValueError(_OWN)

    def normal(self, d: int) -> Array:
        """The noise (N, *clients, d); the clients are the same in all N runs."""
        who = self.client[0]
        if self.given.noise is None:
            self.given.asked |= dict.fromkeys((int(m), self.step) for m in who.flat)
            return np.zeros((self.given.runs, *self.client.shape[1:], d))
        return self.given.noise[:, who, self.step]


Layout = dict[str, tuple[int, ...]]  # the memories' shapes, without the axes of step sizes and runs


@dataclass(frozen=True, eq=False)
class Round:
    """A round, given the choice: z = A z + c + G (independent noise of variance 1), for E step sizes.

    A (E, n', n), c (E, n'), covariance G G' (E, n', n')
    drift   (E, 1 + n, 1 + n): the mean client drift as a form of (1, z)
    layout  of the memories after the round
    """

    A: Array
    c: Array
    covariance: Array
    drift: Array
    layout: Layout

    @classmethod
    def stacked(cls, choices: Sequence[Round]) -> Round:
        """The round for all choices, with a first axis (C,)."""
        A, c, covariance, drift = (
            np.stack([getattr(one, name) for one in choices]) for name in ("A", "c", "covariance", "drift")
        )
        return cls(A, c, covariance, drift, choices[0].layout)


def _round(
    problem: Quadratic, algorithm: Algorithm, eta: Array, number: int, choice: Choice, layout: Layout, centre: Array
) -> Round:
    """Round `number`, given the choice; the memories before it have this layout."""
    n = problem.d + sum(int(np.prod(shape)) for shape in layout.values())
    still = _Given(number, choice, problem.M)
    at_centre = np.concatenate([centre, np.zeros(n - problem.d)])
    after, watched, after_layout = _run(problem, algorithm, eta, still, at_centre[None], layout)
    asked = list(still.asked) if problem.sigma else []
    columns = n + len(asked) * problem.d
    # without b the round is linear, and each unit vector gives a column of its matrix; the last one tests that it is
    mixed = np.cos(np.arange(columns))
    inputs = np.vstack([np.eye(columns), mixed])
    steps = max((k for _, k in asked), default=0) + 1
    noise = np.zeros((columns + 1, problem.M, steps, problem.d))
    for i, (m, k) in enumerate(asked):
        noise[:, m, k] = inputs[:, n + i * problem.d : n + (i + 1) * problem.d]
    given = _Given(number, choice, problem.M, columns + 1, noise)
    linear, moved, _ = _run(replace(problem, b=0 * problem.b), algorithm, eta, given, inputs[:, :n], layout)
    expected = linear[..., :-1] @ mixed
    if (np.abs(linear[..., -1] - expected) > 1e-9 * np.abs(linear).max((1, 2))[:, None]).any():
        raise ValueError(f"{type(algorithm).__name__} is not linear: expected an algorithm with linear rounds")
    A, G = linear[..., :n], linear[..., n:-1]
    c = after[..., 0].copy()
    c[:, : problem.d] -= centre
    rows = np.concatenate([watched, moved[..., :n]], axis=-1)
    drift = rows.swapaxes(-1, -2) @ rows
    drift[:, 0, 0] += (moved[..., n:-1] ** 2).sum((1, 2))
    return Round(A, c, G @ G.swapaxes(-1, -2), drift, after_layout)


def _run(
    problem: Quadratic, algorithm: Algorithm, eta: Array, given: _Given, z: Array, layout: Layout
) -> tuple[Array, Array, Layout]:
    """The next z (E, n', N) from z (N, n), all y - x of the round's local steps (E, rows, N), and the new layout."""
    E, N, d = len(eta), len(z), problem.d
    pieces = np.split(z, np.cumsum([d, *(int(np.prod(shape)) for shape in layout.values())])[:-1], axis=1)
    x, *kept = (np.repeat(piece[None], E, axis=0) for piece in pieces)
    memory: Memory = {
        name: values.reshape(E, N, *shape) for (name, shape), values in zip(layout.items(), kept, strict=True)
    }
    rows: list[Array] = []

    def watch(y: Array, active: NDArray[np.bool_] | bool = True) -> None:
        parallel = y.ndim > 3
        moved = y - (x[:, :, None] if parallel else x)
        taking = np.asarray(active)
        share = (taking[0] if taking.ndim else taking) / np.sqrt(y.shape[2] if parallel else 1)
        rows.append(np.reshape(moved * (share[:, None] if np.ndim(share) else share), (E, N, -1)))

    after = algorithm.round(problem, x.copy(), eta[:, None, None], given, watch, memory)  # type: ignore[arg-type]
    new = {name: np.broadcast_to(values, (E, N, *values.shape[2:])) for name, values in memory.items()}
    flat = np.concatenate([after, *(values.reshape(E, N, -1) for values in new.values())], axis=-1)
    every = np.concatenate(rows, axis=-1) if rows else np.zeros((E, N, 0))
    return flat.swapaxes(1, 2), every.swapaxes(1, 2), {name: values.shape[2:] for name, values in new.items()}


# ------------------------------------------------------------------------------------------------------------ whole runs


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean (C, E, n) and covariance (C, E, n, n) of z for each of C choices; C = 1 where they are merged."""

    mean: Array
    covariance: Array

    def merged(self, probability: Array) -> Moments:
        """The moments over all choices, which have these probabilities (C,)."""
        if len(self.mean) == 1:
            return self
        p = probability[:, None, None]
        mean = (p * self.mean).sum(0)
        off = self.mean - mean
        covariance = (p[..., None] * (self.covariance + off[..., :, None] * off[..., None, :])).sum(0)
        return Moments(mean[None], covariance[None])

    def after(self, A: Array, c: Array, covariance: Array) -> Moments:
        """The moments of A z + c + noise: (C, E, n', n), (C, E, n'), (C, E, n', n')."""
        mean = (A @ self.mean[..., None])[..., 0] + c
        return Moments(mean, A @ self.covariance @ A.swapaxes(-1, -2) + covariance)


def why_not(problem: Problem, algorithm: Algorithm, rounds: int) -> str | None:
    """Why there is no recursion: a problem that is no Quadratic, or too many choices of clients."""
    if not isinstance(problem, Quadratic):
        return f"{getattr(problem, 'name', problem)}: expected a Quadratic, whose moments follow a recursion"
    try:
        _choices(problem, algorithm)
    except ValueError as error:
        return str(error)
    return None


def expectation(
    problem: Quadratic,
    algorithm: Algorithm,
    *,
    rounds: int,
    x0: ArrayLike = 1.0,
    record: Sequence[str] = ("gap", "grad_sq", "dist2"),
    at: Iterable[int] | None = None,
    average: ArrayLike = 1.0,
) -> xr.Dataset:
    """The expectation of what `run` records, over all randomness, exact up to rounding.

    The arguments are those of `run`, without seeds and orders.  Returns a Dataset over (step_size, round).  Raises
    ValueError with the reason of `why_not`, for a malformed request, and for more work than `simulations.checked` allows.
    """
    why = why_not(problem, algorithm, rounds)
    if why is not None:
        raise ValueError(why)

    def series(asked: Request, names: list[str]) -> dict[str, Array]:
        return _series(problem, algorithm, rounds, asked, names)

    return whole_run(problem, algorithm, series, engine.RECORDS, rounds=rounds, x0=x0, record=record, at=at,
                     average=average)  # fmt: skip


def _series(
    problem: Quadratic, algorithm: Algorithm, rounds: int, asked: Request, names: list[str]
) -> dict[str, Array]:
    """The expected quantities (E, rounds + 1) by name."""
    d, E = problem.d, len(asked.eta)
    choices, period = _choices(problem, algorithm), _period(problem, algorithm)
    shared = period if isinstance(algorithm, RCP) else 1  # rounds that share one choice
    probability = np.array([choice.probability for choice in choices])
    x_star = problem.constants.get("x_star")
    centre = np.zeros(d) if x_star is None else x_star
    forms = _forms(problem, centre)
    mean_of = "gap_average" in names  # then the average xbar is at the end of z
    rounds_made: dict[tuple[bool, int], Round] = {}

    def made(r: int, layout: Layout) -> Round:
        """Round r for all choices, (C, E, ...)."""
        key = (r == 0, r % period)  # the memories are empty before the first round only
        if key not in rounds_made:
            n = d + sum(int(np.prod(shape)) for shape in layout.values())
            noise = problem.M * d * engine.local_steps_of(algorithm)
            what = f"the moments of {n} numbers, for {len(choices)} choices and {E} step sizes"
            affordable(what, numbers=float(len(choices)) * E * n * (4 * n + noise))
            number = r % period + (period if r else 0)
            rounds_made[key] = Round.stacked(
                [_round(problem, algorithm, asked.eta, number, choice, layout, centre) for choice in choices]
            )
        return rounds_made[key]

    start = np.tile(asked.x0 - centre, (1, E, 1 + mean_of))
    z, weight = Moments(start, np.zeros((1, E, start.shape[-1], start.shape[-1]))), np.ones(E)
    layout: Layout = {}
    found = {name: np.zeros((E, rounds + 1)) for name in names}
    for r in range(rounds + 1):
        whole = z.merged(probability)
        for name in set(names) - {"drift"}:
            of = slice(-d, None) if name == "gap_average" else slice(d)
            second = second_moment(whole.mean[0, :, of], whole.covariance[0, :, of, of])
            found[name][:, r] = (second * forms[name]).sum((-2, -1))
        if r == rounds:
            break
        if r % shared == 0:
            z = whole
        step = made(r, layout)
        n = step.A.shape[-1]
        if "drift" in names:
            second = second_moment(z.mean[..., :n], z.covariance[..., :n, :n])
            found["drift"][:, r] = probability @ (second * step.drift).sum((-2, -1))
        weight = 1 + asked.ratio * weight
        z = z.after(*_with_average(step, weight, d)) if mean_of else z.after(step.A, step.c, step.covariance)
        layout = step.layout
    return found


def _with_average(step: Round, weight: Array, d: int) -> tuple[Array, Array, Array]:
    """The maps of a round, with xbar = xbar + (x - xbar) / weight at the end of z; weight (E,)."""
    (*batch, after, n), share = step.A.shape, 1 / weight[:, None, None]
    into = np.zeros((len(weight), after + d, after))  # from the next z to it and its part of xbar
    into[:, :after] = np.eye(after)
    into[:, after:, :d] = share * np.eye(d)
    A = np.zeros((*batch, after + d, n + d))
    A[..., :n] = into @ step.A
    A[..., after:, n:] = (1 - share) * np.eye(d)
    return A, (into @ step.c[..., None])[..., 0], into @ step.covariance @ into.swapaxes(-1, -2)


def _forms(problem: Quadratic, centre: Array) -> dict[str, Array]:
    """Quadratic forms (1 + d, 1 + d) of (1, x - centre): the recorded quantities."""
    H, b = problem.mean
    slope = np.zeros(problem.d) if centre is problem.constants.get("x_star") else H @ centre + b
    blocks = Blocks(H[None, None], slope[None, None], float(problem.value(centre)), slope[None], centre[None])
    return {name: form[0] for name, form in blocks.forms().items()}
