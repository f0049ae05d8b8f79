"""Rounds of FedCOM and FedCOMGATE in fractions: against the listing in all outcomes of noises and coins, one by one."""

from __future__ import annotations

import numbers
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from fedtheory.bounds.fedcom.runs import FedCOMGATERun, ldl, minimum, rows

HALF = Fraction(1, 2)
OF_A_ROUND = {
    "message_sq", "tracked_message_sq", "inner", "grad_sq", "grad_sq_sum", "grad_sq_sum_mean", "mean_grad_sq_sum",
    "drift", "drift_sum", "drift_mean", "direction_sq", "next_move_sq", "tracking_sq", "tracking_next", "descent",
    "gap_r", "gap_next", "mean_grad_sq_prev",
}  # fmt: skip
LATER = {"noise_sq", "tracked_grad_sq", "move_sq", "grad_sq_prev", "drift_sum_prev", "drift_mean_prev"}
OF_THE_START = {
    "drift_start", "grad_sq_start", "start_sum", "start_partial", "f_gap", "fj_gap_mean", "dist_sq_mean", "het_start",
}  # fmt: skip
TOTALS = {
    "drift_total", "direction_total", "move_total", "grad_sq_total", "mean_grad_sq_total", "avg_grad_sq", "gap_last",
}  # fmt: skip


def a_run(
    h: Any, b: Any, w0: Any, sigma_sq: int, q: Any, shared: bool, tau: int, R: int, **steps: Any
) -> FedCOMGATERun:
    given: dict[str, Any] = {"eta": Fraction(1, 3), "gamma": Fraction(3, 2), "alpha": Fraction(1)} | steps
    return FedCOMGATERun(
        tuple(map(Fraction, h)), tuple(map(Fraction, b)), Fraction(w0), Fraction(sigma_sq), Fraction(q), shared, tau,
        R=R, **given,
    )  # fmt: skip


RUNS = {
    "two clients, two rounds": a_run((1, HALF), (1, -2), 1, 1, 1, False, 2, 2),
    "the same coin": a_run((1, HALF), (1, -2), 1, 1, 3, True, 2, 2),
    "the same coin, damped": a_run((1, HALF), (1, -2), 1, 4, 3, True, 1, 3, alpha=Fraction(1, 4)),
    "three rounds": a_run((1, 1), (2, 0), -1, 1, 1, True, 1, 3),
    "FedCOM": a_run((1, 1), (1, 1), 1, 1, 1, False, 2, 2, alpha=Fraction(0)),
    "three clients": a_run((1, HALF, 2), (1, -1, 3), 1, 0, 1, False, 2, 2),
    "concave clients": a_run((-1, 2), (1, 1), 1, 1, HALF, True, 2, 2),
    "concave": a_run((-1, -HALF), (1, 1), 1, 1, HALF, False, 1, 2),
    "one client": a_run((1,), (1,), 2, 1, 1, False, 2, 3),
    "one client, many steps": a_run((-1,), (0,), 0, 1, 0, False, 4, 2),
    "common noise": a_run((1, HALF), (1, -2), 1, 1, 1, False, 2, 2, law="shared"),
    "bent, common noise": a_run((1, HALF), (1, -2), 1, 1, 1, True, 2, 2, law="shared", bend=(-HALF, Fraction(1))),
    "biased": a_run((1, HALF), (1, -2), 1, 4, 1, True, 2, 2, law="biased"),
    "bent": a_run((1, HALF), (1, -2), 1, 1, 1, False, 2, 1, bend=(-HALF, Fraction(1))),
    "bent, two rounds, the same coin": a_run((1, HALF), (1, -1), 1, 4, 3, True, 1, 2, bend=(-HALF, HALF)),
    "bent, concave right of 0": a_run((1,), (0,), -1, 1, 3, True, 1, 3, bend=(Fraction(-3, 2),)),
    "bent, no noise": a_run((1, -HALF), (1, 1), 1, 0, 1, False, 3, 2, bend=(-HALF, Fraction(1))),
}


# --- The listing, outcome by outcome ---------------------------------------------------------------------------------


def outcomes(run: FedCOMGATERun) -> Iterator[tuple[Fraction, np.ndarray, np.ndarray]]:
    """(probability, noises (R, m, tau), coins Z (R, m)): noises +-sigma; Z = 1+q with probability 1/(1+q), else 0."""
    sigma = {0: Fraction(0), 1: Fraction(1), 4: Fraction(2)}[int(run.sigma_sq)]
    signs = (1,) if run.law == "biased" else (-1, 1) if sigma else (0,)
    p = 1 / (1 + run.q)
    coins = ((p, 1 + run.q), (1 - p, Fraction(0))) if run.q else ((Fraction(1), Fraction(1)),)
    thrown = run.R if run.shared else run.R * run.m
    drawn = 1 if run.law == "shared" else run.m
    for noise in product(signs, repeat=run.R * drawn * run.tau):
        for coin in product(coins, repeat=thrown):
            chance = Fraction(1, len(signs) ** len(noise))
            for probability, _ in coin:
                chance *= probability
            Z = np.array([z for _, z in coin], dtype=object).reshape(run.R, -1).repeat(run.m // (thrown // run.R), 1)
            xi = np.array(noise, dtype=object).reshape(run.R, drawn, run.tau).repeat(run.m // drawn, 1)
            yield chance, xi * sigma, Z


def replayed(run: FedCOMGATERun, noises: np.ndarray, coins: np.ndarray) -> list[dict[Any, Any]]:
    """One outcome of Algorithm 2 with damping, and what the atoms are the means of."""
    h, b, m, tau, eta = np.array(run.h), np.array(run.b), run.m, run.tau, run.eta
    bend = np.array(run.bend or [Fraction(0)] * m)

    def slopes(at: Any) -> Any:
        return h * at + bend * np.maximum(at, 0) + b

    def value(at: Any) -> Any:
        return (h * at**2 / 2 + bend * max(at, Fraction(0)) ** 2 / 2 + b * at).sum() / m

    w, delta = run.w0, np.array([Fraction(0)] * m)
    rounds: list[dict[Any, Any]] = []
    history: list[tuple[Any, ...]] = []
    for r in range(run.R):
        local = np.array([w] * m)
        points, gradients, stochastic = [], [], []
        for c in range(tau):
            g = slopes(local)
            points.append(local)
            gradients.append(g)
            stochastic.append(g + noises[r, :, c])
            local = local - eta * (stochastic[-1] - delta)
        P, G, T = np.array(points), np.array(gradients), np.array(stochastic)  # (tau, m)
        message = coins[r] * (w - local) / eta
        after = w - eta * run.gamma * message.sum() / m
        delta_after = delta + run.alpha / tau * (message - message.sum() / m)
        full = slopes(w).sum() / m

        def error(d: Any, at: Any) -> Any:
            return ((d - (slopes(at) - slopes(at).sum() / m)) ** 2).sum() / m

        q: dict[Any, Any] = {
            "message_sq": (message.sum() / m) ** 2,
            "tracked_message_sq": (message.sum() / m) ** 2,
            "inner": full * T.sum() / m,
            "grad_sq": full**2,
            "grad_sq_sum_mean": (G**2).sum() / m,
            "mean_grad_sq_sum": ((G.sum(1) / m) ** 2).sum(),
            "drift_mean": ((P - w) ** 2).sum() / m,
            "next_move_sq": (after - w) ** 2,
            "tracking_sq": error(delta, w),
            "tracking_next": error(delta_after, after),
            "f": value(w),
            "f_next": value(after),
        }
        for j in range(m):
            q["grad_sq_sum", j + 1] = (G[:, j] ** 2).sum()
            q["drift_sum", j + 1] = ((P[:, j] - w) ** 2).sum()
            for c in range(tau):
                q["drift", j + 1, c] = (P[c, j] - w) ** 2
        if r == 0:
            q["direction_sq"] = (T.sum(0) ** 2).sum() / m
            q["start_sum"] = ((G - full).sum(0) ** 2).sum() / m
            q["start_partial"] = (np.cumsum(G - full, axis=0) ** 2).sum() / m
        else:
            w_before, G_before, T_before, drift_before = history[-1]
            shift = T_before.sum() / m - T_before.sum(0)
            q["direction_sq"] = ((T.sum(0) + shift) ** 2).sum() / m
            tracked = (G + (G_before.sum() / m - G_before.sum(0)) / tau).sum(0)
            for j in range(m):
                q["tracked_grad_sq", j + 1] = tracked[j] ** 2
                q["drift_sum_prev", j + 1] = drift_before[j]
            N, N_before = T - G, T_before - G_before
            q["noise_sq"] = 2 * ((N + (N_before.sum() / m - N_before.sum(0)) / tau).sum(0) ** 2).sum() / m
            q["move_sq"] = (w - w_before) ** 2
            q["grad_sq_prev"] = (slopes(w_before).sum() / m) ** 2
            q["drift_mean_prev"] = drift_before.sum() / m
            q["mean_grad_sq_prev"] = ((G_before.sum(1) / m) ** 2).sum()
        history.append((w, G, T, ((P - w) ** 2).sum(0)))
        rounds.append(q)
        w, delta = after, delta_after
    return rounds


@cache
def enumerated(name: str) -> tuple[dict[Any, Fraction], ...]:
    """The means of `replayed` over all outcomes."""
    run = RUNS[name]
    means: list[dict[Any, Fraction]] = [defaultdict(Fraction) for _ in range(run.R)]
    total = Fraction(0)
    for chance, noises, coins in outcomes(run):
        total += chance
        for mean, values in zip(means, replayed(run, noises, coins), strict=True):
            for key, value in values.items():
                mean[key] += chance * value
    assert total == 1
    return tuple(dict(mean) for mean in means)


@pytest.mark.dear
@pytest.mark.parametrize("name", RUNS)
def test_against_all_outcomes(name: str) -> None:
    run, expected, found = RUNS[name], enumerated(name), rows(RUNS[name])
    assert len(found) == run.R
    drift_start = expected[0]["drift_mean"]
    for r, (values, row) in enumerate(zip(found, expected, strict=True)):
        flat = {
            key if not isinstance(value, dict) else (key, *place): number
            for key, value in values.items()
            for place, number in (value.items() if isinstance(value, dict) else [((), value)])
        }
        assert all(isinstance(number, numbers.Rational) for number in flat.values())
        for key, mean in row.items():
            if key not in ("f", "f_next"):
                assert flat[key] == mean, (r, key)
        assert values["descent"] == row["f_next"] - row["f"]
        before = expected[: r + 1]
        totals: dict[str, Any] = {
            "drift_total": sum(e["drift_mean"] for e in before),
            "direction_total": run.tau * sum(e["direction_sq"] for e in before),
            "move_total": run.tau**2 * sum(e["move_sq"] for e in before[1:]),
            "grad_sq_total": run.tau * sum(e["grad_sq"] for e in before),
            "mean_grad_sq_total": sum(e["mean_grad_sq_sum"] for e in before[:-1]),
            "avg_grad_sq": sum(e["grad_sq"] for e in before) / (r + 1),
        }
        assert {key: values[key] for key in totals} == totals
        assert values["drift_start"] == drift_start and values["grad_sq_start"] == expected[0]["grad_sq"]
        assert {key: values[key] for key in ("start_sum", "start_partial")} == {
            key: expected[0][key] for key in ("start_sum", "start_partial")
        }
        if run.minimum is not None:
            gaps = row["f"] - run.minimum, row["f_next"] - run.minimum
            assert (values["gap_r"], values["gap_next"], values["gap_last"]) == (*gaps, gaps[1])
        known = OF_A_ROUND | OF_THE_START | TOTALS | (LATER if r else set())
        assert known >= set(values)
        missing = known - set(values)
        assert missing == set() if min(run.curvatures) > 0 else missing <= {
            "gap_r", "gap_next", "gap_last", "f_gap", "fj_gap_mean", "dist_sq_mean",
        }  # fmt: skip


def test_the_start_by_hand() -> None:
    """f_1 = w^2/2 + w, f_2 = w^2/4 - 2 w: f = 3 w^2 / 8 - w/2, minima at -1, 4 and 2/3."""
    (first, _) = rows(RUNS["two clients, two rounds"])
    assert first["f_gap"] == Fraction(3, 8) - HALF + Fraction(1, 6)
    assert first["fj_gap_mean"] == (Fraction(3, 2) + HALF + (Fraction(1, 4) - 2) + 4) / 2
    assert first["dist_sq_mean"] == Fraction(2**2 + 3**2, 2)
    assert first["het_start"] == Fraction(7, 4) ** 2  # gradients 2 and -3/2, their mean 1/4


@pytest.mark.parametrize(
    ("left", "right", "slope", "lowest"),
    [
        (1, 2, 1, -HALF),  # downhill to the left
        (1, 2, -1, -HALF / 2),
        (1, 0, 1, -HALF),
        (1, 0, 0, 0),
        (1, 0, -1, None),  # falls for ever
        (0, 1, 1, None),
        (1, -1, 1, None),
        (0, 0, 0, 0),
    ],
)
def test_the_minimum_of_a_bent_function(left: int, right: int, slope: int, lowest: Fraction | None) -> None:
    assert minimum(*map(Fraction, (left, right, slope))) == lowest


def test_ldl_of_a_covariance() -> None:
    for C in ([[2, 1, 1], [1, 1, 1], [1, 1, 1]], [[0, 0, 0], [0, 4, -2], [0, -2, 3]]):
        L, D = ldl([[Fraction(x) for x in row] for row in C])
        assert [[sum(L[i][k] * D[k] * L[j][k] for k in range(3)) for j in range(3)] for i in range(3)] == C
        assert all(L[i][i] == 1 and not any(L[i][i + 1 :]) for i in range(3)) and min(D) >= 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (dict(h=()), "a client"),
        (dict(b=(Fraction(1),)), "one of each per client"),
        (dict(tau=0), "tau = 0"),
        (dict(R=0), "R = 0"),
        (dict(eta=Fraction(0)), "eta = 0"),
        (dict(gamma=Fraction(-1)), "gamma = -1"),
        (dict(q=Fraction(-1)), "q = -1"),
        (dict(sigma_sq=Fraction(-1)), "none negative"),
        (dict(bend=(Fraction(1),)), "one of each per client"),
        (dict(bend=(Fraction(1),) * 2, sigma_sq=Fraction(2)), "sigma.2 = 2: expected the square"),
        (dict(law="biased", sigma_sq=Fraction(2)), "sigma.2 = 2: expected the square"),
        (dict(law="none"), "law = 'none': expected one of independent, shared, biased"),
    ],
)
def test_what_is_no_run(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(RUNS["three rounds"], **changed)
