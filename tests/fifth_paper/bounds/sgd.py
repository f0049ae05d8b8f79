"""The theorem against runs on quadratics."""

from __future__ import annotations

from functools import partial

from simulations.algorithms.sgd import SGD

from bounds.trials.arena import Arena, arena_evidence
from bounds.trials.quantities import Quantity
from simulations.problems.quadratic import generate
from theory.statement import Evidence

_problem = partial(generate, 5, 1, L=1.0, zeta_star=0.0, delta=0.0, seed=0)
ARENAS = [
    Arena("sgd.thm", "quadratic, kappa 10", partial(_problem, mu=0.1, sigma=0.5), SGD, rounds=200),
    Arena("sgd.thm", "quadratic, kappa 10, no noise", partial(_problem, mu=0.1, sigma=0.0), SGD, rounds=200),
    Arena("sgd.mean", "quadratic, kappa 10", partial(_problem, mu=0.1, sigma=0.5), SGD, rounds=200),
]
QUANTITIES = {"gap_mean": Quantity("gap", r"$\frac{1}{R}\sum_{r<R}\mathbb{E}[F(x_r)]-F(x^*)$  (units of $F$)", "mean")}


def on_data(dataset: str) -> list[Arena]:
    """None: a textbook has no data."""
    return []


def evidence() -> list[Evidence]:
    """Every bound in its arenas."""
    return arena_evidence(ARENAS)
