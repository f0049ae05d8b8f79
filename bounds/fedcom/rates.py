"""Rates quoted from another paper (DIANA), compared with the exact linear rate of the algorithm on quadratics."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import sympy

from fedtheory.simulations.algorithms.fedcom import DIANA
from fedtheory.simulations.compressors import RandK
from fedtheory.simulations.exact.linear import spectral_radius
from fedtheory.simulations.problems.quadratic import diagonal
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Evidence, Rates, Statement, Status, Verdict

CONSTANT = 4  # largest constant that the order may hide: rounds per factor e, divided by the table's number
_KEPT = ((8, 8), (8, 4), (8, 1), (32, 1))  # coordinates, and number of them that are sent: q = 0, 1, 7, 31
_STEPS = 2.0 ** -np.arange(0, 12)  # learning rates tried, in units of 1/L


@cache
def rounds_needed(clients: int, kappa: int, d: int, kept: int) -> float:
    """Rounds in which E||x - x*||^2 falls by a factor e, at the best learning rate of a grid: exact, by the spectral radius.

    Diagonal quadratics with curvatures between 1/kappa and 1 that differ between the clients; independent masks.
    """
    spread = np.linspace(1 / kappa, 1, d)
    tilt = np.linspace(-1, 1, clients)[:, None] if clients > 1 else np.zeros((1, 1))
    curvatures = np.clip(spread * (1 + tilt / 2), 1 / kappa, 1)
    slopes = tilt * np.ones(d)
    problem = diagonal(curvatures, slopes - slopes.mean(0))
    radius = spectral_radius(problem, DIANA(eta=_STEPS.tolist(), compressor=RandK(kept)))
    best = float(np.min(radius))
    return float("inf") if best >= 1 else 1 / -float(np.log(best))


def linear_rate(statement: Statement, full: bool = False) -> Verdict:
    """Checks that the exact rounds are at most a constant times the strongly convex rate, on the family of quadratics."""
    claim = statement.claim_of(Rates)
    rounds = claim.by_case["strongly convex"].rounds
    symbols = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
    worst, at = 0.0, {}
    clients, kappas = ((1, 2, 4, 8), (2, 20, 200, 2000)) if full else ((1, 4), (2, 20, 200))
    for m in clients:
        for kappa in kappas:
            for d, kept in _KEPT:
                q = d / kept - 1
                values = {symbols["kappa"]: kappa, symbols["q"]: sympy.Rational(q), symbols["m"]: m}
                ratio = rounds_needed(m, kappa, d, kept) / float(rounds.subs(values))
                if ratio > worst:
                    worst, at = ratio, {"m": m, "kappa": kappa, "q": q, "d": d, "rounds / rate": ratio}
    if worst > CONSTANT:
        return Verdict(Status.REFUTED, f"{worst:.3g} times the rounds of the rate are needed", witness=at)
    says = (
        f"exact linear rates on diagonal quadratics: at most {worst:.3g} times the rate in rounds per factor e, at {at}"
    )
    return Verdict(Status.TESTED, says)


def evidence() -> Iterator[Evidence]:
    """DIANA's rows of the two tables; the quadratics are heterogeneous, and so are the homogeneous ones among them."""
    for table in ("tab5", "tab6"):
        yield Evidence(f"fedcom.{table}.diana", "moments", linear_rate)
