"""What a round by hand is written with: one seed, one step size, one client after another.

A round by hand is a function (h, a, x) -> x of the next round: `h` a `ByHand`, `a` the algorithm with its settings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fedtheory.simulations.draws import Draws
from fedtheory.simulations.engine import RunState

SEEDS, ETAS, ROUNDS = [5, 0, 2**40], [0.05, 0.2], 4
Round = Callable[["ByHand", Any, np.ndarray], np.ndarray]
Direction = Callable[[np.ndarray, int], np.ndarray]  # what local step t subtracts at y, times eta


class ByHand:
    """A run from x; r is the number of the round.

    server, client  what is kept from round to round, by name: a vector, one vector for each client; 0 at first
    orders          round -> the clients that take part, in order, instead of the drawn ones
    """

    def __init__(self, p: Any, eta: float, seed: int, x: np.ndarray, orders: Any = None) -> None:
        self.p, self.eta, self.seed, self.start, self.orders, self.r = p, eta, seed, x, orders, 0
        self.M, self.d = p.M, p.d
        self.server: dict[str, Any] = defaultdict(lambda: np.zeros(p.d))
        self.client: dict[str, list[Any]] = defaultdict(lambda: [np.zeros(p.d)] * p.M)

    @property
    def draws(self) -> Draws:
        """Those of this seed alone."""
        return Draws.of_seeds(np.array([self.seed]), self.r)

    def order(self, S: int | None = None) -> list[int]:
        """The first S clients of the drawn order, or of the given one."""
        return list(self.draws.order(self.M, S or self.M)[0] if self.orders is None else self.orders[self.r])

    def clients(self, S: int | None = None) -> list[int]:
        """S drawn clients, or all in their own order."""
        return list(range(self.M)) if S is None and self.orders is None else self.order(S)

    def g(self, m: int, x: np.ndarray, t: int | None = None) -> np.ndarray:
        """Gradient of client m: exact, or stochastic with the draws of local step t; `test_problems` has their tests."""
        one, at = np.array([[m]]), x[None, None, None]
        found = self.p.local_gradient(at, one) if t is None else self.p.gradient(at, one, self.draws.of(one).step(t))
        return np.asarray(found[0, 0, 0])

    def steps(self, m: int, x: np.ndarray, T: int, direction: Direction | None = None) -> np.ndarray:
        """The end of T local steps of client m from x."""
        y = x
        for t in range(T):
            y = y - self.eta * (self.g(m, y, t) if direction is None else direction(y, t))
        return y

    def code(self, Q: Any, v: np.ndarray, m: int, part: int = 0) -> np.ndarray:
        """Q(v) with the coins of client m for one part of a message, or of the round when all clients share them."""
        draw = self.draws.codes(np.array([[m]]), shared=Q.shared)
        return np.asarray(Q(v[None, None, None], draw if part == 0 else draw.local.step(part))[0, 0, 0])

    def coin(self) -> float:
        """A number in [0, 1) that all clients share."""
        return float(self.draws.of(np.array([self.M])).step(0).uniform(1)[0, 0])

    def weighted(self, S: Iterable[int], sent: dict[int, np.ndarray]) -> np.ndarray:
        """The mean of what the clients S sent, by their weights."""
        p = [1.0 if self.p.weights is None else self.p.weights[m] for m in S]
        return np.asarray(sum(w * sent[m] for w, m in zip(p, S, strict=True)) / sum(p))


def mean(vectors: Iterable[np.ndarray]) -> np.ndarray:
    every = list(vectors)
    return np.asarray(sum(every) / len(every))


def start_of(p: Any) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(p.d)


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-11) -> bool:
    """Equal to rounding, of the size of the iterates."""
    return bool(np.abs(a - b).max() <= tolerance * np.abs(b).max())


def trajectory(p: Any, algorithm: Any, rounds: int = ROUNDS, seeds: Any = SEEDS, **settings: Any) -> np.ndarray:
    """Iterates through the engine: (round, step_size, seed, d)."""
    given: dict[str, Any] = {"x0": start_of(p), "record": ("value",)} | settings
    running = RunState(p, algorithm, rounds=rounds, seeds=seeds, **given)
    iterates = [running.x]
    while running.advance():
        iterates.append(running.x)
    return np.array(iterates)


def by_hand(
    p: Any, a: Any, round_: Round, eta: float, seed: int, rounds: int = ROUNDS, x: Any = None, orders: Any = None
) -> np.ndarray:
    """Iterates (round, d) of rounds by hand."""
    iterates = [start_of(p) if x is None else x]
    h = ByHand(p, eta, seed, iterates[0], orders)
    for r in range(rounds):
        h.r = r
        iterates.append(round_(h, a, iterates[-1]))
    return np.array(iterates)


def agree(p: Any, a: Any, round_: Round, tolerance: float = 1e-11, orders: Any = None, **settings: Any) -> None:
    """The engine's run is that by hand: each seed with one of the step sizes of `a`."""
    rounds = ROUNDS if orders is None else len(orders)
    given = settings if orders is None else {"orders": np.array(orders)} | settings
    got, etas = trajectory(p, a, rounds, **given), np.atleast_1d(a.eta)
    for n, seed in enumerate(SEEDS):
        e = n % len(etas)
        assert close(got[:, e, n], by_hand(p, a, round_, etas[e], seed, rounds, settings.get("x0"), orders), tolerance)


class Layered:
    """A problem whose coordinates are layers."""

    def __init__(self, problem: Any, blocks: dict[str, slice]) -> None:
        self.problem, self.blocks = problem, blocks

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)
