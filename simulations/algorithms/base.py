"""What an algorithm is, and what algorithms of several papers share.

An algorithm is a frozen dataclass with a learning rate eta and one method,

    round(problem, x, eta, draws, watch, memory) -> x of the next round

x (E, N, d): E step sizes by N seeds; eta (E, 1, 1); `watch(x_local)` is called with the local parameters
before every local step: (E, N, d), or (E, N, S, d) for clients in parallel.  Where only some seeds take the step, or
some of the parallel clients, `watch(x_local, active)` says which: (N,), or (N or 1, S) bool.  `memory` is what the
algorithm keeps from round to round besides x (control variates, error memory), by name, each (E, N, ...).  It is empty
before the first round; the algorithm fills it.

An algorithm in which clients train one after another says `sequential = True`.
An algorithm whose whole runs have an exact expectation has `exact`, the name of the module that computes it; see
`fedtheory.simulations.exact`.

An algorithm whose server weighs the clients as the problem does, by `aggregated`, has `weighs = True`.  The others count
all clients alike, and are refused where a problem has weights.  An algorithm whose clients stay where they are once their
gradients are 0 has `own_steps = True`.  The others are refused where a problem gives clients their own numbers of steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedtheory.simulations.arrays import descended, full, is_tensor, like, namespace
from fedtheory.simulations.checked import StepSizes, brief, check_settings
from fedtheory.simulations.draws import Draw, Draws
from fedtheory.simulations.problems import Array, Problem

FLOAT = 32  # bits of a number that is not compressed
Memory = dict[str, Array]  # what an algorithm keeps between rounds, by name
LocalCount = Annotated[int, "a whole number of local steps"]
Participants = Annotated[int, "a whole number of participating clients"]


class Watch(Protocol):
    """A callback for every local step."""

    def __call__(self, x_local: Array, active: NDArray[np.bool_] | bool = True) -> None:
        """Called with the parameters before a step that the active seeds (N,), or clients (N or 1, S), take."""


class Algorithm(Protocol):
    """What the engine needs to know of an algorithm."""

    @property
    def eta(self) -> ArrayLike:
        """Learning rate, or several (one run each)."""

    def participants(self, problem: Problem) -> int:
        """S, the number of clients in a round; raises ValueError when the problem has too few."""

    def round(self, problem: Problem, x: Array, eta: Array, draws: Draws, watch: Watch, memory: Memory) -> Array:
        """One round from x (E, N, d) to the next."""

    def symbols(self, problem: Problem) -> dict[str, float]:
        """The algorithm's numbers, those of clients included, by the symbols of its paper's bounds."""

    def uplink_bits(self, problem: Problem) -> float:
        """Expected bits that a participating client sends in a round."""

    def downlink_bits(self, problem: Problem) -> float:
        """Bits that a participating client receives in a round."""


# What a memory may be before a round of a lemma: of the clients, any vectors, or those with sum 0; of the server, any, or
# the mean of the clients' memory whose name follows
ANY, SUM_0, SERVER, MEAN = "any", "sum 0", "any of the server", "mean of "


def class_of(algorithm: Callable[..., Any]) -> Any:
    """The class of an algorithm, which may be given with some of its settings, as a `partial`."""
    return algorithm.func if isinstance(algorithm, partial) else algorithm


def keywords_of(algorithm: Callable[..., Any]) -> dict[str, Any]:
    """The settings that it is given with, by name."""
    if not isinstance(algorithm, partial):
        return {}
    names = [f.name for f in fields(algorithm.func)] if is_dataclass(algorithm.func) else []
    return dict(zip(names, algorithm.args, strict=False)) | algorithm.keywords


def check_algorithm(given: Any) -> None:
    """Raises ValueError for what is no algorithm."""
    if isinstance(given, type) or not hasattr(given, "participants"):
        raise ValueError(f"algorithm = {brief(given)}: expected an algorithm, such as those of fedtheory.algorithms")


def refuse_misfits(problem: Problem, algorithm: Algorithm) -> None:
    """Raises ValueError where the problem weighs its clients, or gives each its own steps, and the algorithm does not."""
    if getattr(problem, "steps", None) is not None and not getattr(algorithm, "own_steps", False):
        raise ValueError(
            f"{type(algorithm).__name__} has one number of local steps, {problem.name} one for each client: expected no "
            "local_epochs, or an algorithm whose clients may stop early"
        )
    if problem.weights is not None and not getattr(algorithm, "weighs", False):
        raise ValueError(
            f"{type(algorithm).__name__} counts all clients alike, {problem.name} weighs them: expected no weights, or "
            "an algorithm that aggregates by them"
        )


def aggregated(problem: Problem, clients: NDArray[np.int64], sent: Array) -> Array:
    """sum_k p'_k sent_k over a round's clients, p'_k = p_k over the sum of their p; without weights the mean.

    clients (1, M) or (N, S), sent (E, N, S, d) -> (E, N, d).
    """
    if problem.weights is None:
        mean: Array = sent.mean(axis=2)
        return mean
    p = problem.weights[clients]
    shares = p / p.sum(axis=1, keepdims=True)
    total: Array = (like(shares[..., None], sent) * sent).sum(axis=2)
    return total


def sampled(problem: Problem, S: int | None) -> int:
    """S, by default all M.  Raises ValueError when S > M."""
    if S is not None and problem.M < S:
        raise ValueError(f"S = {S}, but {problem.name} has M = {problem.M} clients: expected S <= M")
    return problem.M if S is None else S


class Messages:
    """What most algorithms have: settings that their annotations describe, and messages of whole vectors.

    up, down    the vectors that a participating client sends and receives in a round
    as_symbols  the settings, besides those of the base class, that are among its `symbols`

    Raises ValueError as `check_settings` does.
    """

    up: ClassVar[float] = 1
    down: ClassVar[float] = 1
    as_symbols: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_settings(self)

    def uplink_bits(self, problem: Problem) -> float:
        """Expected bits that a participating client sends in a round."""
        return float(self.up * FLOAT * problem.d)

    def downlink_bits(self, problem: Problem) -> float:
        """Bits that a participating client receives in a round."""
        return float(self.down * FLOAT * problem.d)

    def more_symbols(self) -> dict[str, float]:
        """The settings in `as_symbols`, as numbers."""
        return {name: float(getattr(self, name)) for name in self.as_symbols}


@dataclass(frozen=True)
class LocalSteps(Messages):
    """What every algorithm of local steps has: K steps, S participating clients (None: all), learning rate eta.

    It sends and receives the model, from and to the server or other clients.
    """

    K: LocalCount
    eta: StepSizes
    S: Participants | None = None

    def participants(self, problem: Problem) -> int:
        """S, by default all M.  Raises ValueError when S > M."""
        return sampled(problem, self.S)

    def symbols(self, problem: Problem) -> dict[str, float]:
        """M, S, K, and the settings in `as_symbols`.  Raises ValueError when S > M."""
        return {"M": problem.M, "S": self.participants(problem), "K": self.K, **self.more_symbols()}


def participating(problem: Problem, draws: Draws, S: int) -> NDArray[np.int64]:
    """The clients of a parallel round: all, in their own order and shared by all seeds (1, M), or S per seed (N, S)."""
    if S == problem.M and draws.replay is None:
        return everyone(problem)
    return draws.order(problem.M, S)


def everyone(problem: Problem) -> NDArray[np.int64]:
    """All clients in their own order, shared by all seeds: (1, M)."""
    return np.arange(problem.M)[None]


def to_clients(x: Array, S: int) -> Array:
    """One copy of x (E, N, d) for each client: (E, N, S, d)."""
    copies: Array = namespace(x).repeat(x[:, :, None, :], S, axis=2)
    return copies


def kept(memory: Memory, name: str, x: Array, M: int | None = None, value: float = 0.0) -> Array:
    """The array `name` of the memory; before the first round one filled with `value`, like x (E, N, d).

    M  one vector for each of M clients: (E, N, M, d), in host memory where the device has no room for it
    """
    if name in memory:
        return memory[name]
    filled: Array = (
        full(tuple(x.shape), value, x) if M is None else full((*x.shape[:2], M, x.shape[-1]), value, x, True)
    )
    return filled


def at_clients(every: Array, clients: NDArray[np.int64], x: Array) -> Array:
    """The vectors of the clients (1, M) or (N, S) among those of all, (E, N, M, d): (E, N, S, d), on x's device."""
    chosen: Array = like(every[:, np.arange(every.shape[1])[:, None], clients], x)
    return chosen


def with_clients(every: Array, clients: NDArray[np.int64], new: Array) -> Array:
    """The vectors of all clients (E, N, M, d), with new (E, N, S, d) at the clients (1, M) or (N, S).

    Tensors are changed in place, because the memories of a network's clients can fill the device.
    """
    every = every if is_tensor(every) else every.astype(np.result_type(every, new))
    every[:, np.arange(every.shape[1])[:, None], clients] = like(new, every)
    return every


# Steps that several algorithms share

Direction = Callable[[Array, Draw], Array]  # what a step subtracts, times eta: from y (E, N, S, d) and its draw


def local_steps(
    x: Array, eta: Array, clients: NDArray[np.int64], draws: Draws, T: int, watch: Watch, direction: Direction
) -> Array:
    """y (E, N, S, d): T times y = y - eta direction(y, draw) at the clients (1, M) or (N, S).

    From x (E, N, d), the same for all clients, or (E, N, S, d).
    """
    draw, eta = draws.of(clients, T), eta[..., None]
    y = to_clients(x, clients.shape[1]) if x.ndim == 3 else x
    for t in range(T):
        watch(y)
        y = descended(y, eta, direction(y, draw.step(t)))
    return y


def at_both(problem: Problem, y: Array, z: Array, clients: NDArray[np.int64], draw: Draw) -> tuple[Array, Array]:
    """The clients' stochastic gradients at y and at z (E, N, S, d), both with the same draw."""
    g = problem.gradient(namespace(y).concat([y, z]), clients, draw)
    return g[: len(y)], g[len(y) :]


def gradients(problem: Problem, clients: NDArray[np.int64], less: Array | None = None) -> Direction:
    """The direction of plain SGD: the clients' stochastic gradients, less what each tracks (E, N, S, d)."""
    if less is None:
        return lambda y, draw: problem.gradient(y, clients, draw)
    return lambda y, draw: problem.gradient(y, clients, draw) - less


class ExactGradients(Problem, Protocol):
    """A problem that also offers the exact gradients of the F_m, whatever noise its `gradient` has."""

    def local_gradient(self, x: Array, client: NDArray[np.int64]) -> Array:
        """Exact gradients of F_client at x: x (E, N, *clients, d), client (N or 1, *clients) -> the shape of x."""


def exact(problem: Problem) -> ExactGradients:
    """The problem with exact local gradients.  Raises ValueError when it offers none."""
    if not hasattr(problem, "local_gradient"):
        raise ValueError(f"no local_gradient in {problem.name}: expected a problem with exact gradients of its clients")
    return cast(ExactGradients, problem)
