"""Runs with known draws, recorded step by step: the clients' gradients, their points, and the models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import sympy
from sympy.core.relational import Relational

from fedtheory.bounds.fedbat.local_steps import Meter
from fedtheory.bounds.trials.listings import KnownDraws
from fedtheory.simulations.algorithms.base import participating
from fedtheory.simulations.algorithms.fedbat import FedBAT
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.quadratic import Quadratic, generate
from fedtheory.theory.proofs.instances import interpret


@dataclass(frozen=True, eq=False)
class Layered(Quadratic):
    """Quadratics in six coordinates, three layers of two, one and three."""

    @property
    def blocks(self) -> Mapping[str, slice]:
        """The layers."""
        return {"a": slice(0, 2), "b": slice(2, 3), "c": slice(3, 6)}


@cache
def layered(M: int = 4, sigma: float = 0.3, weighted: bool = False) -> Layered:
    """M clients, unequal if M > 1; weighted: with the shares 1 : 2 : 3 ..."""
    unequal = {"zeta_star": 1.0, "delta": 0.3} if M > 1 else {}
    like = generate(6, M, L=1.0, mu=0.2, sigma=sigma, seed=M, **unequal)
    shares = np.arange(1.0, M + 1)
    return Layered(like.H, like.b, sigma, f"{M} clients", shares / shares.sum() if weighted else None)


def shares_of(problem: Quadratic) -> Array:
    """p_k."""
    return np.full(problem.M, 1 / problem.M) if problem.weights is None else problem.weights


@dataclass(frozen=True)
class RecordedRound:
    """A recorded round.

    r              its number, from 0
    clients        the clients whose updates are used, of 0 ... M - 1
    trained        the clients that took steps
    shares         p'_k of the clients
    before, after  the model (d,)
    asked          for each step, the points and values of the trained clients' gradients, (S, d) each
    memory         the memory before and after the round
    """

    r: int
    clients: tuple[int, ...]
    trained: tuple[int, ...]
    shares: Array
    before: Array
    after: Array
    asked: Sequence[tuple[Array, Array]]
    memory: tuple[Mapping[str, Array], Mapping[str, Array]] = ({}, {})


@dataclass(frozen=True, eq=False)
class Replay(KnownDraws):
    """An algorithm on a problem, with known draws."""

    problem: Quadratic
    algorithm: Any
    eta: float = field(default=0.05, kw_only=True)

    def __str__(self) -> str:
        K, M = self.algorithm.participants(self.problem), self.problem.M
        whom = f"{K} of {M} clients" if K < M else f"{M} clients"
        names = ["tau", "phi", "gamma"] if getattr(self.algorithm, "step_size", "") == "max" else ["tau", "phi", "rho"]
        settings = {name: getattr(self.algorithm, name, None) for name in names}
        shown = [f"{name} = {value}" for name, value in settings.items() if value is not None]
        weighted = "" if self.problem.weights is None else ", weighted"
        return ", ".join([f"{type(self.algorithm).__name__}, {whom}{weighted}", *shown])

    def rate(self, r: int, step: int) -> float:
        """The learning rate of a local step of a round."""
        if not isinstance(self.algorithm, FedBAT):
            return self.eta
        t = r * self.algorithm.tau + step
        return float(self.algorithm.rates(self.problem, np.full((1, 1, 1), self.eta), t)[0, 0, 0])

    def zeta(self, client: int, r: int, step: int) -> Array:
        """The noise of the binarisation of client 0 ... M - 1."""
        return self.draws(r).codes(np.array([[client]])).local.step(step).uniform(self.problem.d)[0, 0]

    def ends(self, round: RecordedRound) -> Array:
        """The clients' parameters after their last step, a step of SGD, (S, d)."""
        at, g = round.asked[-1]
        return at - self.eta * g

    def history(self) -> Iterator[RecordedRound]:
        """The rounds, in order."""
        x, eta = self.start, np.full((1, 1, 1), self.eta)
        memory: dict[str, Array] = {}
        everyone = getattr(self.algorithm, "active", "sampled") == "all"
        for r in range(self.rounds):
            meter, draws, known = Meter(self.problem), self.draws(r), dict(memory)
            S = self.algorithm.participants(self.problem)
            clients = tuple(participating(self.problem, draws, S)[0].tolist())
            after = self.algorithm.round(meter, x[None, None], eta, draws, lambda *_: None, memory)[0, 0]
            p = shares_of(self.problem)[list(clients)]
            trained = tuple(range(self.problem.M)) if everyone else clients
            kept = tuple({name: v[0, 0] for name, v in m.items()} for m in (known, memory))
            asked = [(points[0, 0], g[0, 0]) for points, g in zip(meter.points, meter.gradients, strict=True)]
            yield RecordedRound(r, clients, trained, p / p.sum(), x, after, asked, (kept[0], kept[1]))
            x = after


# ------------------------------------------------------------------------------- relations, one after another


class OwnVector(np.ndarray[Any, np.dtype[np.float64]]):
    """A client's vector; S_m binarises it with this client's noise."""

    client: int = -1


def own(v: Array, client: int) -> OwnVector:
    """v as a vector of this client."""
    found = np.array(v).view(OwnVector)
    found.client = client
    return found


def evaluated(expression: sympy.Basic, values: Mapping[str, Any]) -> Any:
    """A number or a vector (d,) in floating point.  Raises ValueError for a symbol without a value."""
    found = np.asarray(interpret(expression, values, (), lambda q: float(q)), dtype=float)
    return found if found.ndim else float(found)


def settle(relation: Relational, values: dict[str, Any]) -> float:
    """Apply a relation: a left side that is a symbol without a value gets the right side's value; else compare the sides.

    Returns the difference of the sides, relative to the larger of 1 and the right side.
    """
    left, right = relation.args
    value = evaluated(right, values)
    if isinstance(left, sympy.Symbol) and left.name not in values:
        values[left.name] = value
        return 0.0
    apart = np.abs(evaluated(left, values) - value)
    return float(np.max(apart) / max(1.0, np.max(np.abs(value))))
