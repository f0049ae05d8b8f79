"""The exact expectation of whole runs of FedBAT, as Section 4 of its paper analyses it, on small quadratics.

The binarisation by the largest entry is no quadratic function, so second moments follow no recursion.  Instead
`exact.rounds.fedbat.follow` enumerates all outcomes.  Their number doubles with every entry but the largest, every
client and every binarisation, so this is for one or two coordinates, few clients and a few rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from fedtheory.simulations.algorithms.fedbat import FedBAT
from fedtheory.simulations.checked import brief
from fedtheory.simulations.engine import provenance, requested
from fedtheory.simulations.exact.rounds.fedbat import Run, follow
from fedtheory.simulations.problems import Array, Problem
from fedtheory.simulations.problems.quadratic import Quadratic

MOST = 2**17  # outcomes
_MOST_BITS = 1000  # more outcomes than 2 to this power are counted as that many
_SYMBOLS = {"gap": "gap_t", "grad_sq": "grad_sq", "dist2": "Delta_t", "value": "F_bar"}


def outcomes(problem: Problem, algorithm: FedBAT, rounds: int) -> int:
    """An upper bound on the number of outcomes."""
    K = algorithm.participants(problem)
    bits = (problem.d - 1) * problem.M * algorithm.tau * rounds
    if bits > _MOST_BITS or rounds > _MOST_BITS or problem.M > _MOST_BITS:
        return 2**_MOST_BITS
    return int(2**bits * comb(problem.M, K) ** rounds)


def why_not(problem: Problem, algorithm: Any, rounds: int) -> str | None:
    """Why not all outcomes can be enumerated; None if they can."""
    if (
        not isinstance(algorithm, FedBAT)
        or algorithm.step_size != "max"
        or algorithm.warm_up
        or algorithm.sent != "all"
        or algorithm.full
    ):
        return f"{algorithm}: expected FedBAT with step_size 'max', phi = 0 and sent 'all', all layers binarised"
    if not isinstance(problem, Quadratic) or problem.sigma or any(np.any(np.diag(np.diag(H)) != H) for H in problem.H):
        return f"{problem.name}: expected a quadratic without noise, its matrices diagonal"
    if outcomes(problem, algorithm, rounds) > MOST:
        return f"{brief(outcomes(problem, algorithm, rounds))} outcomes in {rounds} rounds: expected at most {MOST}"
    if problem.weights is not None and algorithm.participants(problem) < problem.M:
        return "unequal weights of sampled clients: expected all clients, or equal weights"
    return None


@lru_cache(maxsize=64)
def _followed(run: Run) -> tuple[Any, ...]:
    return follow(run)


def steps(problem: Quadratic, algorithm: FedBAT, rounds: int, x0: ArrayLike, eta: float) -> tuple[Any, ...]:
    """The quantities of `exact.rounds.fedbat.follow`, step by step.  Raises ValueError with the reason of `why_not`."""
    why = why_not(problem, algorithm, rounds)
    if why is not None:
        raise ValueError(f"no exact expectation: {why}; expected another problem or algorithm, or `run`")
    T, K = rounds * algorithm.tau, algorithm.participants(problem)
    rates = [float(algorithm.rates(problem, np.array(eta), t)) for t in range(T + algorithm.tau)]
    start = np.broadcast_to(np.asarray(x0, dtype=float), (problem.d,))
    shares = np.full(problem.M, 1 / problem.M) if problem.weights is None else problem.weights
    still = tuple((0.0,) * problem.d for _ in range(problem.M))

    def rows(v: Array) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(map(float, row)) for row in v)

    H = np.array([np.diag(H) for H in problem.H])
    run = Run(rows(H), rows(problem.b), tuple(map(float, shares)), tuple(map(float, start)), tuple(rates), algorithm.tau, T,
              (still, still), None if problem.M == K else K)  # fmt: skip
    return _followed(run)


def expectation(
    problem: Quadratic,
    algorithm: FedBAT,
    *,
    rounds: int,
    x0: ArrayLike = 1.0,
    record: Sequence[str] = ("gap", "grad_sq", "dist2"),
    at: Iterable[int] | None = None,
    average: ArrayLike = 1.0,
) -> xr.Dataset:
    """The expectation of what `run` records, over binarisation and samples of clients, exact up to rounding.

    record  some of gap, grad_sq, dist2, value, and `grad_sq_steps`, the mean over a round's steps of E||grad F(wbar_t)||^2

    Returns a Dataset over (step_size, round).  Raises ValueError with the reason of `why_not`, and for other records.
    """
    unknown = [name for name in record if name not in (*_SYMBOLS, "grad_sq_steps")]
    if unknown:
        raise ValueError(f"cannot record {unknown}: expected some of {', '.join((*_SYMBOLS, 'grad_sq_steps'))}")
    asked = requested(problem, algorithm, rounds, x0, [n for n in record if n in _SYMBOLS], at, average)
    tau = algorithm.tau
    series: dict[str, list[list[float]]] = {name: [] for name in record}
    for eta in asked.eta:
        rows = steps(problem, algorithm, rounds, asked.x0, float(eta))
        end = rows[-1]
        last = {"F_bar": end["F_bar_next"], "Delta_t": end.get("Delta_next", np.nan), "grad_sq": end["grad_next"]}
        last["gap_t"] = end["F_bar_next"] - end["F_bar"] + end.get("gap_t", np.nan)
        for name in record:
            if name == "grad_sq_steps":
                values = [
                    float(np.mean([row["grad_sq"] for row in rows[r * tau : (r + 1) * tau]])) for r in range(rounds)
                ]
                series[name].append([(*values, np.nan)[r] for r in asked.kept])
            else:
                symbol = _SYMBOLS[name]
                series[name].append([float(rows[r * tau][symbol] if r < rounds else last[symbol]) for r in asked.kept])
    return xr.Dataset(
        {name: (("step_size", "round"), values) for name, values in series.items()},
        coords={"step_size": asked.eta, "round": asked.kept},
        attrs=provenance(problem, algorithm, rounds, asked),
    )


def largest_gradient(problem: Quadratic, algorithm: FedBAT, rounds: int, x0: ArrayLike, eta: float) -> float:
    """The smallest G of Assumption 4 at the binarised parameters of the run: G^2 = max over t, k of E||g_t^k||^2."""
    return float(np.sqrt(max(row["largest_x"] for row in steps(problem, algorithm, rounds, x0, eta))))
