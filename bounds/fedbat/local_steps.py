"""A run seen at every local step: gradients at the clients' own points, and at the mean of their parameters.

For algorithms whose clients take one SGD step for each gradient.  FedBAT as Section 4 of its paper analyses it is one:
parameters move from w to w - eta g, where g is the gradient at the binarised parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from fedtheory.simulations.algorithms.base import Memory
from fedtheory.simulations.algorithms.fedbat import FedBAT
from fedtheory.simulations.draws import Draw, Draws, Purpose, seed_keys
from fedtheory.simulations.engine import provenance, requested
from fedtheory.simulations.problems import Array, Problem, mean_over_clients


@dataclass(eq=False)
class Meter:
    """A problem that records every gradient that it computes, and the points."""

    problem: Problem
    points: list[Array] = field(default_factory=list)
    gradients: list[Array] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def gradient(self, x: Array, client: NDArray[np.int64], draw: Draw) -> Array:
        """The problem's gradient, recorded."""
        self.points.append(x.copy())
        self.gradients.append(self.problem.gradient(x, client, draw))
        return self.gradients[-1]


def run(
    problem: Problem,
    algorithm: FedBAT,
    *,
    rounds: int,
    seeds: Iterable[int],
    x0: ArrayLike = 1.0,
    record: Sequence[str] = ("grad_sq_steps", "client_grad_sq"),
    **_: Any,
) -> xr.Dataset:
    """Run FedBAT with all clients training in every round, and measure at every local step.

    Returns a Dataset over (step_size, seed) with what is recorded of `grad_sq_steps` (round) and `client_grad_sq` (step,
    client).  The first is the mean over a round's steps t of ||grad F(wbar_t)||^2, wbar_t the mean of all clients'
    parameters; NaN at the last iterate, which starts no round.  The second is ||g_t^k||^2.  The attributes are those of
    `fedtheory.simulations.run`.

    Raises ValueError for an algorithm in which only some clients train (`active` "sampled", K < N), or whose steps are
    not those of SGD (a learned step size), and where `fedtheory.simulations.run` does.
    """
    if algorithm.step_size != "max" or (algorithm.participants(problem) < problem.M and algorithm.active != "all"):
        raise ValueError(f"{algorithm}: expected step_size 'max', and all clients at work")
    asked = requested(problem, algorithm, rounds, x0, ("grad_sq",), None, 1.0)
    seeds = np.asarray(list(seeds))
    keys = {purpose: seed_keys(seeds, purpose) for purpose in Purpose}
    eta, memory = asked.eta[:, None, None], Memory()
    x = np.broadcast_to(asked.x0, (len(asked.eta), len(seeds), problem.d)).copy()
    means, squares = np.full((*x.shape[:2], rounds + 1), np.nan), []
    with np.errstate(over="ignore", invalid="ignore"):
        for r in range(rounds):
            meter = Meter(problem)
            after = algorithm.round(cast(Problem, meter), x, eta, Draws(keys, r), lambda *_: None, memory)
            if "client_grad_sq" in record:
                squares += [(g**2).sum(-1) for g in meter.gradients]
            if "grad_sq_steps" in record:
                at, steps = x, []
                for s, g in enumerate(meter.gradients):
                    steps.append((problem.full_gradient(at) ** 2).sum(-1))
                    rate = algorithm.rates(problem, eta, r * algorithm.tau + s)
                    at = at - rate * mean_over_clients(np.moveaxis(g, -2, 0), problem.weights)
                means[..., r] = np.mean(steps, axis=0)
            x = after
    attributes = provenance(problem, algorithm, rounds, asked) | {"seeds": str(seeds.tolist())}
    found: dict[str, Any] = {}
    if "grad_sq_steps" in record:
        found["grad_sq_steps"] = (("step_size", "seed", "round"), means)
    if "client_grad_sq" in record:
        found["client_grad_sq"] = (("step_size", "seed", "step", "client"), np.stack(squares, axis=2))
    return xr.Dataset(
        found,
        coords={"step_size": asked.eta, "seed": seeds, "round": np.arange(rounds + 1)},
        attrs=attributes,
    )
