"""The constants of the FedBAT paper, and of what corrects it, typed a second time and compared in numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pytest
import sympy

from fedtheory.bounds import evaluate
from fedtheory.bounds.evaluation import compile_statement, compiled
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound

Formula = Callable[..., float]


def variance(q: float, N: float, K: float) -> float:
    """(q^2 (N-1) + N - K) / (K (N-1)), in Theorems 2 and 3 and Lemma 6."""
    return (q**2 * (N - 1) + N - K) / (K * (N - 1))


def full(L: float, sigma: float, G: float, q: float, Gamma: float, tau: float, p_sq: float) -> float:
    """B of Theorem 1, (26)."""
    return p_sq * sigma**2 + 6 * L * Gamma + 8 * (1 + q**2) * (tau - 1) ** 2 * G**2 + 4 * p_sq * q**2 * tau**2 * G**2


def part(L: float, sigma: float, G: float, q: float, Gamma: float, tau: float, N: float, K: float) -> float:
    """B of Theorem 2, (58)."""
    drift = 8 * (1 + q**2) * (tau - 1) ** 2 * G**2
    return sigma**2 / N + 6 * L * Gamma + drift + 4 * variance(q, N, K) * tau**2 * G**2


def printed(B: float, L: float, mu: float, tau: float, T: float, dist: float) -> float:
    """(15): kappa / (gamma + T) (2 B / mu + mu (gamma + 1) / 2 ||w_1 - w*||^2)."""
    kappa = L / mu
    gamma = max(8 * kappa, tau) - 1
    return kappa / (gamma + T) * (2 * B / mu + mu * (gamma + 1) / 2 * dist)


def from_start(B: float, L: float, mu: float, tau: float, T: float, dist: float) -> float:
    """With gamma = max{8 kappa, tau}, from w_0: L/2 times (4 B/mu^2 + gamma ||w_0 - w*||^2) / (gamma + T)."""
    gamma = max(8 * L / mu, tau)
    return L / 2 * (4 * B / mu**2 + gamma * dist) / (gamma + T)


def not_convex(L: float, T: float, gap: float, P: float, Q: float) -> float:
    """(16), (73)."""
    return 2 * L * gap / sqrt(T) + P / sqrt(T) + Q / T


PRINTED: dict[str, Formula] = {
    # (15), Theorem 2, (16)
    "thm1": lambda L, mu, sigma, G, q, Gamma, tau, p_sq, T, dist0_sq, **_: printed(
        full(L, sigma, G, q, Gamma, tau, p_sq), L, mu, tau, T, dist0_sq
    ),
    "thm2": lambda L, mu, sigma, G, q, Gamma, tau, N, K, T, dist0_sq: printed(
        part(L, sigma, G, q, Gamma, tau, N, K), L, mu, tau, T, dist0_sq
    ),
    "thm3": lambda L, sigma, G, q, Gamma, f_gap, tau, N, K, T: not_convex(
        L,
        T,
        f_gap + Gamma,
        sigma**2 / N + 4 * variance(q, N, K) * tau**2 * G**2,
        4 * (1 + q**2) * (tau - 1) ** 2 * G**2,
    ),
    # Appendix C: (20) to (23), (25), (26), (28) to (30)
    "lemma1": lambda L, mu, Gamma, eta_t, Delta_t, noise_sq, spread_x: (
        (1 - eta_t * mu) * Delta_t + eta_t**2 * noise_sq + 6 * L * eta_t**2 * Gamma + 2 * spread_x
    ),
    "lemma2": lambda sigma, p_sq: p_sq * sigma**2,
    "lemma3": lambda tau, G, q, eta_t, **_: 4 * (1 + q**2) * eta_t**2 * (tau - 1) ** 2 * G**2,
    "lemma4": lambda tau, G, q, p_sq, eta_t, **_: 4 * p_sq * q**2 * eta_t**2 * tau**2 * G**2,
    "eq25": lambda mu, eta_t, Delta_t, B, **_: (1 - eta_t * mu) * Delta_t + eta_t**2 * B,
    "eq26": full,
    "eq28": lambda L, v, gamma, t, **_: L / 2 * v / (gamma + t),
    "eq29": lambda B, mu, gamma, Delta_1: 4 * B / mu**2 + (gamma + 1) * Delta_1,
    "eq30": lambda kappa, gamma, t, B, mu, Delta_1, **_: (
        kappa / (gamma + t) * (2 * B / mu + mu * (gamma + 1) / 2 * Delta_1)
    ),
    # (38), (41), (42), (46) to (50)
    "eq38": lambda mu, eta_t, Delta_t, spread_x, tau, C: (1 - mu * eta_t) * Delta_t + spread_x + tau * C,
    "eq41": lambda L, eta_t, Gamma, spread_x: 6 * L * eta_t**2 * Gamma + spread_x,
    "eq42": lambda L, mu, eta_t, Delta_t, spread_x, Gamma: (
        (1 - mu * eta_t) * Delta_t + 2 * spread_x + 6 * L * eta_t**2 * Gamma
    ),
    "eq34": lambda L, eta_t, local_gap: 2 * L * eta_t**2 * local_gap,
    "eq46": lambda eta_t, tau, G, **_: 4 * eta_t**2 * (tau - 1) ** 2 * G**2,
    "eq47": lambda t, t_0, steps_sq_w: (t - t_0) * steps_sq_w,
    "eq48": lambda eta_t, tau, G, q, **_: 4 * q**2 * eta_t**2 * (tau - 1) ** 2 * G**2,
    "eq50": lambda eta_t, tau, G, q, p_sq, **_: 4 * p_sq * q**2 * eta_t**2 * tau**2 * G**2,
    # Appendix D: (55), (57) to (59), (62) to (64)
    "lemma6": lambda N, K, q, eta_t, tau, G, **_: 4 * variance(q, N, K) * eta_t**2 * tau**2 * G**2,
    "eq57": lambda mu, eta_t, Delta_t, B, **_: (1 - eta_t * mu) * Delta_t + eta_t**2 * B,
    "eq58": part,
    "eq59": lambda kappa, gamma, t, B, mu, Delta_1, **_: (
        kappa / (gamma + t) * (2 * B / mu + mu * (gamma + 1) / 2 * Delta_1)
    ),
    "eq62": lambda K, q, eta_t, tau, G, **_: 4 / K * q**2 * eta_t**2 * tau**2 * G**2,
    "eq63": lambda N, K, v_spread: (N - K) / (K * N * (N - 1)) * v_spread,
    "eq64": lambda N, K, eta_t, tau, G, **_: (N - K) / (K * (N - 1)) * 4 * eta_t**2 * tau**2 * G**2,
    # Appendix E: (69) to (73), (82)
    "lemma7": lambda L, eta, F_bar, grad_sq, gbar_sq, spread_x, noise_sq, jump_sq: (
        F_bar
        - eta / 2 * grad_sq
        + (L * eta**2 - eta) / 2 * gbar_sq
        + eta / 2 * L**2 * spread_x
        + L * eta**2 / 2 * noise_sq
        + L / 2 * jump_sq
    ),
    "eq70": lambda L, eta, F_bar, grad_sq, spread_x, noise_sq, jump_sq: (
        F_bar - eta / 2 * grad_sq + eta / 2 * L**2 * spread_x + L * eta**2 / 2 * noise_sq + L / 2 * jump_sq
    ),
    "eq71": lambda L, eta, eta_t, F_bar, grad_sq, q, tau, G, sigma, N, K: (
        F_bar
        - eta / 2 * grad_sq
        + eta / 2 * L**2 * 4 * (1 + q**2) * eta**2 * (tau - 1) ** 2 * G**2
        + L * eta**2 / 2 * sigma**2 / N
        + L / 2 * 4 * variance(q, N, K) * eta_t**2 * tau**2 * G**2
    ),
    "eq72": lambda L, eta, eta_t, F_0, F_T, T, q, tau, G, sigma, N, K: (
        (F_0 - F_T) / T
        + eta / 2 * L**2 * 4 * (1 + q**2) * eta**2 * (tau - 1) ** 2 * G**2
        + L * eta**2 / 2 * sigma**2 / N
        + L / 2 * 4 * variance(q, N, K) * eta_t**2 * tau**2 * G**2
    ),
    "eq73": lambda L, sigma, G, q, Gamma, f_gap, tau, N, K, T: not_convex(
        L,
        T,
        f_gap + Gamma,
        sigma**2 / N + 4 * variance(q, N, K) * tau**2 * G**2,
        4 * (1 + q**2) * (tau - 1) ** 2 * G**2,
    ),
    "eq82": lambda L, eta, F_bar, grad_sq, gbar_sq, spread_x, noise_sq: (
        F_bar
        - eta / 2 * grad_sq
        + (L * eta**2 / 2 - eta / 2) * gbar_sq
        + eta / 2 * L**2 * spread_x
        + L * eta**2 / 2 * noise_sq
    ),
}
# Worked out with tau - 1 steps before t, tau before a synchronisation, none longer than eta_{t_0} G
OURS: dict[str, Formula] = {
    "thm1.corrected": PRINTED["thm1"],
    "thm2.corrected": PRINTED["thm2"],
    "thm1.from_start": lambda L, mu, sigma, G, q, Gamma, tau, p_sq, T, d0, **_: from_start(
        full(L, sigma, G, q, Gamma, tau, p_sq), L, mu, tau, T, d0
    ),
    "thm2.from_start": lambda L, mu, sigma, G, q, Gamma, tau, N, K, T, d0: from_start(
        part(L, sigma, G, q, Gamma, tau, N, K), L, mu, tau, T, d0
    ),
    "thm3.corrected": lambda L, sigma, G, q, f_gap, tau, N, K, T: not_convex(
        L, T, f_gap, sigma**2 / N + variance(q, N, K) * tau**2 * G**2, (1 + q**2) * (tau - 1) ** 2 * G**2
    ),
    "lemma2.corrected": PRINTED["lemma2"],
    "lemma3.corrected": lambda tau, G, q, eta_start, **_: (1 + q**2) * ((tau - 1) * eta_start * G) ** 2,
    "lemma4.corrected": lambda tau, G, q, p_sq, eta_start, **_: p_sq * (q * tau * eta_start * G) ** 2,
    "lemma6.corrected": lambda N, K, q, eta_start, tau, G, **_: variance(q, N, K) * (tau * eta_start * G) ** 2,
    "eq38.corrected": lambda mu, eta_t, Delta_t, spread_x, C: (1 - mu * eta_t) * Delta_t + spread_x + C,
    "eq46.corrected": lambda tau, G, eta_start, **_: ((tau - 1) * eta_start * G) ** 2,
    "eq48.corrected": lambda tau, G, q, eta_start, **_: (q * (tau - 1) * eta_start * G) ** 2,
    "eq50.corrected": lambda tau, G, q, p_sq, eta_start, **_: p_sq * (q * tau * eta_start * G) ** 2,
    "eq62.corrected": lambda K, tau, G, q, eta_start, **_: (q * tau * eta_start * G) ** 2 / K,
    "eq64.corrected": lambda N, K, tau, G, eta_start, **_: (N - K) / (K * (N - 1)) * (tau * eta_start * G) ** 2,
    "eq71.corrected": lambda L, eta, F_bar, grad_sq, q, tau, G, sigma, N, K: (
        F_bar
        - eta / 2 * grad_sq
        + L**2 * eta**3 / 2 * (1 + q**2) * (tau - 1) ** 2 * G**2
        + L * eta**2 / 2 * (sigma**2 / N + variance(q, N, K) * tau**2 * G**2)
    ),
}
TYPED = PRINTED | OURS


def some_values(names: list[str], rng: np.random.Generator) -> dict[str, float]:
    """Random parameters, K <= N; whether they are admissible does not matter to the formula."""
    N = int(rng.integers(2, 40))
    T = int(rng.integers(1, 90))
    counts = {"N": N, "K": int(rng.integers(1, N + 1)), "tau": int(rng.integers(2, 30)), "T": T, "t": T, "t_0": T - 1}
    return {name: counts[name] if name in counts else float(rng.uniform(0.05, 3)) for name in names}


@pytest.mark.parametrize("name", TYPED)
def test_the_constants(name: str) -> None:
    """Equal to 1e-12; and a constant off by a thousandth, in any one term, is seen."""
    id_, rng = f"fedbat.{name}", np.random.default_rng(len(name))
    statement = catalogue.find(id_)
    claim = statement.claim
    assert isinstance(claim, Bound)
    names = [s.name for s in compiled(id_).parameters]
    off = {t.name: compile_statement(statement.with_claim(claim.scaled(1.001, t.name))) for t in claim.terms}
    unseen = set(off)
    for _ in range(20):
        values = some_values(names, rng)
        typed = TYPED[name](**values)
        found = evaluate(id_, strict=False, **values)
        close = 1e-12 * sum(abs(t) for t in found.terms.values())
        assert abs(found.value - typed) <= close
        unseen -= {n for n, wrong in off.items() if abs(evaluate(wrong, strict=False, **values).value - typed) > close}
    assert not unseen


def test_every_corrected_bound_with_other_constants_is_typed() -> None:
    different = {
        s.id.removeprefix("fedbat.")
        for s in catalogue.statements("fedbat")
        if s.corrects and isinstance(s.claim, Bound) and s.claim != catalogue.find(s.corrects).claim
    }
    assert different - set(OURS) == {"eq47.corrected", "eq72.corrected"}  # as (47), (72) and (71) have them


@pytest.mark.parametrize(
    "name", ["thm1", "thm2", "thm1.corrected", "thm2.corrected", "thm1.from_start", "thm2.from_start"]
)
def test_the_learning_rate(name: str) -> None:
    """eta_t = 2/(mu (gamma + t)), gamma = max{8 kappa, tau} - 1 as printed, without the 1 from the start on."""
    rng, where = np.random.default_rng(1), dict(catalogue.find(f"fedbat.{name}").where)
    symbols = {s.name: value for s, value in where.items()}
    for _ in range(10):
        L, mu, tau, t = 1 + rng.uniform(0, 5), rng.uniform(0.1, 1), int(rng.integers(1, 60)), int(rng.integers(0, 50))
        gamma = max(8 * L / mu, tau) - (0 if name.endswith("from_start") else 1)
        values = {"L": L, "mu": mu, "tau": tau, "t": t}

        def number(e: Any) -> float:
            e = e.subs(where)
            return float(e.subs({s: values[s.name] for s in e.free_symbols}))

        assert number(symbols["gamma"]) == pytest.approx(gamma, rel=1e-12)
        assert number(symbols["eta_t"]) == pytest.approx(2 / (mu * (gamma + t)), rel=1e-12)


def test_theorem_2_at_all_clients_is_theorem_1_with_shares_alike() -> None:
    """Remark 1: K = N and p_k = 1/N; with q = 0 and K < N the sample of clients is left."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        values = some_values(["L", "mu", "sigma", "G", "q", "Gamma", "tau", "T", "dist0_sq", "N"], rng)
        one = evaluate("fedbat.thm1", strict=False, **values, p_sq=1 / values["N"]).value
        two = evaluate("fedbat.thm2", strict=False, **values, K=values["N"]).value
        assert one == pytest.approx(two, rel=1e-12)


def test_ours_are_no_larger_than_what_is_printed() -> None:
    """Theorem 3 without Gamma and the factor 4; from w_0, for an equal distance, the denominator is larger by one."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        values = some_values(["L", "sigma", "G", "q", "f_gap", "tau", "N", "K", "T"], rng)
        corrected = evaluate("fedbat.thm3.corrected", strict=False, **values).value
        assert corrected <= evaluate("fedbat.thm3", strict=False, **values, Gamma=0.0).value
        values = some_values(["L", "mu", "sigma", "G", "q", "Gamma", "tau", "N", "K", "T"], rng)
        start = evaluate("fedbat.thm2.from_start", strict=False, **values, d0=1.0).value
        assert start < evaluate("fedbat.thm2.corrected", strict=False, **values, dist0_sq=1.0).value


def test_from_the_start_by_hand() -> None:
    """L = mu = 1, tau = 1, one client, q = 0: gamma = 8, B = sigma^2, and L/2 (4 sigma^2 + 8 d_0)/(8 + T)."""
    given = {"L": 1, "mu": 1, "tau": 1, "N": 1, "p_sq": 1, "q": 0, "G": 5, "Gamma": 0, "sigma": 3, "d0": 2, "T": 10}
    assert evaluate("fedbat.thm1.from_start", **given).value == pytest.approx((4 * 9 + 8 * 2) / 2 / 18)
    assert catalogue.find("fedbat.thm1.from_start").claim.value.has(sympy.Max)  # type: ignore[union-attr]
