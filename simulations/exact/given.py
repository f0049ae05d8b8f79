"""A round whose draws are given: the clients in their order, coins, noise and masks; and the law of the clients' choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import ceil, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.algorithms.baselines import Scaffnew
from fedtheory.simulations.algorithms.minibatch import CentralSGD
from fedtheory.simulations.compressors import Compressor
from fedtheory.simulations.problems import Array, Problem

_MOST = 3000  # choices of clients, or numbers of local steps, in a round
_TOO_MANY = f"more than {_MOST} choices in a round, which would all be visited: expected fewer clients or local steps"
_OWN = "it draws what is not given here: expected orders of clients, noise, and one mask for each message"
_REST = 1e-13  # probability of the longest rounds of Scaffnew, which count as a little shorter
ROUNDING = 1e-12  # relative: a smaller difference is none
LINEAR = 1e-9  # relative: a larger difference is none of rounding


Noise = Callable[[NDArray[np.int64], int, int], Array]  # clients (N or 1, *clients), step, d -> (N or 1, *clients, d)


def any_noise(client: NDArray[np.int64], step: int, d: int) -> Array:
    """Noise without any structure, another for each client, step and coordinate."""
    return np.sin(1 + 2.3 * client[..., None] + 7.1 * step + 3.7 * np.arange(d))


@dataclass(frozen=True, eq=False)
class OneNoise:
    """Noise at one client and step of each run, and in some runs at all of them.

    client, step  (N,), values (N, d): the noise there; every (N,): where all have `any_noise`
    """

    client: NDArray[np.int64]
    step: NDArray[np.int64]
    values: Array
    every: NDArray[np.bool_]

    def __call__(self, client: NDArray[np.int64], step: int, d: int) -> Array:
        """The noise (N, *clients, d)."""

        def of_runs(values: NDArray[Any]) -> NDArray[Any]:
            return values.reshape(len(values), *[1] * (client.ndim - 1), *values.shape[1:])

        here = (of_runs(self.client) == client) & (of_runs(self.step) == step)
        found: Array = here[..., None] * of_runs(self.values)
        whole = any_noise(client, step, d)
        return np.where(of_runs(self.every)[..., None], whole, found)


@dataclass
class Given:
    """In place of `Draws`, for N runs: what is random is given.

    orders  (N, clients): of the clients, as `Draws.order` gives them
    coin    (N,): the uniform number that all clients share; None: there is none
    noise   of clients at a step, as they are given to `Draws.normal`; None: no noise
    drawn   the numbers (clients, sampled) with which the round drew an order
    asked   the steps and clients (N or 1, *clients) whose noise it read; a client beyond M is a stream of its own
    """

    M: int
    round: int
    orders: NDArray[np.int64]
    coin: Array | None
    noise: Noise | None = None
    drawn: set[tuple[int, int]] = field(default_factory=set)
    asked: list[tuple[int, NDArray[np.int64]]] = field(default_factory=list)
    replay: None = None

    @property
    def read(self) -> NDArray[np.int64]:
        """The client and the step of each noise that a run read, (N, Q, 2), padded with -1."""
        each: list[list[tuple[int, int]]] = []
        for run in range(len(self.orders)):
            whose = {(int(m), step) for step, client in self.asked for m in np.ravel(client[min(run, len(client) - 1)])}
            each.append(sorted(whose, key=lambda pair: pair[::-1]))
        found = np.full((len(each), max(map(len, each), default=0), 2), -1)
        for run, pairs in enumerate(each):
            found[run, : len(pairs)] = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return found

    def order(self, M: int, S: int) -> NDArray[np.int64]:
        """The given order, (N, S)."""
        self.drawn.add((M, S))
        return self.orders[:, :S]

    def of(self, client: NDArray[np.int64], steps: int = 0) -> _Steps:
        """The draws of the clients."""
        return _Steps(self, client)

    def codes(self, client: NDArray[np.int64], shared: bool = False) -> _Draw:
        """The coins of compressors: there are none, reading them raises ValueError."""
        return _Draw(self, client, 0)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise ValueError(_OWN)


class _Steps(NamedTuple):
    given: Given
    client: NDArray[np.int64]

    def step(self, k: int) -> _Draw:
        """The draw at local step k."""
        return _Draw(self.given, self.client, k)

    def __getattr__(self, name: str) -> Any:
        """Nothing else is given."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise ValueError(_OWN)


class _Draw(NamedTuple):
    given: Given
    client: NDArray[np.int64]
    step: int
    loops: None = None

    def once(self, client: NDArray[np.int64], look_up: Any) -> Any:
        return look_up()

    def uniform(self, count: int) -> Array:
        """The coin that all clients share, which algorithms draw for client M."""
        if self.given.coin is None or (self.client != self.given.M).any():
            raise ValueError(_OWN)
        coins = self.given.coin.reshape(-1, *[1] * self.client.ndim)
        return np.broadcast_to(coins, (len(coins), *self.client.shape[1:], count))

    def __getattr__(self, name: str) -> Any:
        """Nothing else is given, such as the coins of a compressor."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise ValueError(_OWN)

    def normal(self, d: int) -> Array:
        """The noise (N, *clients, d)."""
        given, runs = self.given, len(self.given.orders)
        given.asked.append((self.step, self.client))
        shape = (runs, *self.client.shape[1:], d)
        return (
            np.zeros(shape) if given.noise is None else np.broadcast_to(given.noise(self.client, self.step, d), shape)
        )


def rows_of(client: NDArray[np.int64], runs: int) -> NDArray[np.int64]:
    """The number of each run, to index with the clients (N or 1, *clients)."""
    return np.arange(runs).reshape(-1, *[1] * (client.ndim - 1))


@dataclass(frozen=True)
class Masked:
    """In place of a random mask: what is random is given, and what clients hand to it is noted.

    factor, more  (N, M, d): client m sends factor x + more
    """

    plain: Compressor
    factor: Array
    more: Array
    noted: list[tuple[NDArray[np.int64], Array]]

    def __call__(self, x: Array, draw: Any) -> Array:
        """The message of x (E, N, S, d)."""
        self.noted.append((draw.client, x))
        at = rows_of(draw.client, len(self.factor)), draw.client
        return x * self.factor[at] + self.more[at]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


# -------------------------------------------------------------------------------------------------- choices of clients


@dataclass(frozen=True, eq=False)
class ChoiceLaw:
    """The choices of a round, C orders and coins, as random coefficients w_c of the map that each makes.

    coins   (C,); None: the round draws none
    mean    (C,), E[w]
    root    (C, r) with Cov[w] = root root'; None: just one choice is made, with probabilities `mean`
    """

    orders: NDArray[np.int64]
    coins: Array | None
    mean: Array
    root: Array | None = None

    @classmethod
    def of(cls, orders: Iterable[tuple[int, ...]]) -> ChoiceLaw:
        """One of these, all equally likely.  Raises ValueError for more than 3000."""
        some = np.array(list(islice(orders, _MOST + 1)))
        if len(some) > _MOST:
            raise ValueError(_TOO_MANY)
        return cls(some, None, np.full(len(some), 1 / len(some)))

    def mixed(self, maps: Array) -> Array:
        """The mean map, then uncorrelated deviations of variance 1: (E, B, C, ...) -> (E, B, 1 + r, ...)."""
        mean = weighed(self.mean[None], maps)
        if len(self.mean) == 1:
            return mean
        off = maps - mean
        off[np.abs(off) <= ROUNDING * np.abs(maps).max(2, keepdims=True)] = 0.0
        if self.root is None:
            return np.concatenate([mean, np.sqrt(self.mean).reshape(-1, *[1] * (maps.ndim - 3)) * off], axis=2)
        return np.concatenate([mean, weighed(self.root.T, off)], axis=2)


def weighed(weights: Array, maps: Array) -> Array:
    """sum_c weights_lc maps_c: (L, C), (E, B, C, ...) -> (E, B, L, ...)."""
    flat = maps.reshape(*maps.shape[:3], -1)
    return (weights @ flat).reshape(*maps.shape[:2], len(weights), *maps.shape[3:])


def coins_of(problem: Problem, algorithm: Algorithm) -> ChoiceLaw | None:
    """The law of the coin that all clients share; None: the algorithm draws none.

    Raises ValueError where there are more than 3000 numbers of local steps.
    """
    name = getattr(algorithm, "coin", None)  # the setting that is the chance of a number below it
    match algorithm:
        case _ if name is not None:
            chance = getattr(algorithm, name)
            chances, coins = np.array([chance, 1 - chance]), np.array([chance / 2, (1 + chance) / 2])
            coins, chances = coins[chances > 0], chances[chances > 0]
        case Scaffnew(p=1):
            coins, chances = np.full(1, 0.5), np.ones(1)
        case Scaffnew():  # one coin for each number of local steps
            count = log(_REST) / np.log1p(-algorithm.p)
            if count > _MOST:
                raise ValueError(_TOO_MANY)
            steps = np.arange(ceil(count))
            chances = algorithm.p * (1 - algorithm.p) ** steps
            chances[-1] += 1 - chances.sum()
            coins = -np.expm1((steps + 0.5) * np.log1p(-algorithm.p))  # the middle of those with this number of steps
        case CentralSGD():  # whose gradient
            chances = np.full(problem.M, 1 / problem.M) if problem.weights is None else problem.weights
            coins = np.cumsum(chances) - chances / 2
        case _:
            return None
    return ChoiceLaw(np.tile(np.arange(problem.M), (len(coins), 1)), coins, chances)


def assignments(clients: tuple[int, ...], sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to fill groups of these sizes with clients, one group after another in one tuple."""
    if not sizes:
        yield ()
        return
    for first in combinations(clients, sizes[0]):
        for rest in assignments(tuple(m for m in clients if m not in first), sizes[1:]):
            yield first + rest


def affine_basis(M: int, sizes: Sequence[int]) -> tuple[ChoiceLaw, Callable[[Any], Array]]:
    """Orders whose assignments of clients to groups are an affine basis of all, and the weights of other orders in it.

    A map that is affine in the assignment is the weighted sum of the maps of the basis.  With I_gm = 1 if client m is in
    group g, else 0: E[I_gm] = s_g/M, and Cov[I_gm, I_hl] = (1/(M - 1)) (s_g [g = h] - s_g s_h/M) ([m = l] - 1/M).
    """
    size, G = np.array(sizes, dtype=float), len(sizes)
    group, rng = np.repeat(np.arange(G), sizes), np.random.default_rng(0)
    rank = 1 + (G if len(group) < M else G - 1) * (M - 1)

    def assigned(order: NDArray[np.int64]) -> Array:
        """(I, 1) of an order."""
        row = np.zeros(G * M + 1)
        row[group * M + order[: len(group)]] = row[-1] = 1
        return row

    basis = np.zeros((0, G * M + 1))
    orders: list[NDArray[np.int64]] = []
    while len(orders) < rank:
        order = rng.permutation(M) if orders else np.arange(M)
        rest = assigned(order)
        for _ in range(2):  # twice, against rounding
            rest = rest - basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > 1e-3:
            orders, basis = [*orders, order], np.vstack([basis, rest / np.linalg.norm(rest)])
    weights = np.linalg.pinv(np.array([assigned(order) for order in orders]).T)
    mean = weights @ np.append(np.repeat(size / M, M), 1.0)
    values, vectors = np.linalg.eigh((np.diag(size) - np.outer(size, size) / M) / max(1, M - 1))
    root = np.kron(vectors * np.sqrt(np.maximum(values, 0)), np.eye(M) - 1 / M)
    root = root[:, np.abs(root).max(0) > LINEAR]
    law = ChoiceLaw(np.array(orders), None, mean, weights[:, :-1] @ root)
    return law, lambda some: np.array([weights @ assigned(order) for order in some])
