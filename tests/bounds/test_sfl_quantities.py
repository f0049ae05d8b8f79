"""The quantities of a round, in fractions, from the trace of the algorithms' own rounds: identities, moments, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fedtheory.bounds.sfl.quantities import OF_STEPS, QUANTITIES, of_step
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.moments import expectation
from fedtheory.simulations.exact.trace import round_in_numbers
from fedtheory.simulations.problems.quadratic import Quadratic


def quantities(H: Any, b: Any, x: Any, *, K: int, S: int, sequential: bool, **given_: Any) -> Mapping[str, Any]:
    """Every quantity; those of local steps by (m, k)."""
    found = round_in_numbers((SFL if sequential else PFL)(K, 1.0, S), np.array(H), np.array(b), np.array(x), **given_)
    values: dict[str, Any] = {name: found.mean(quantity) for name, quantity in QUANTITIES.items()}
    for name in OF_STEPS:
        steps = enumerate(found.traces[0].steps)
        values[name] = {(s.turn, s.k): found.mean(of_step(name, i, sequential)) for i, s in steps}
    return values


def fractions(rng: np.random.Generator, *shape: int) -> np.ndarray:
    top, bottom = rng.integers(-6, 7, shape), rng.integers(1, 5, shape)
    return np.frompyfunc(Fraction, 2, 1)(top.astype(object), bottom.astype(object))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.booleans(), st.data(), st.integers(0, 10**6))
def test_identities(d: int, M: int, K: int, sequential: bool, data: Any, seed: int) -> None:
    """What the proofs write with an equals sign, exactly: (28) and (63), (33) and (68), Lemmas 1 and 3, smoothness."""
    S, rng = data.draw(st.integers(1, M)), np.random.default_rng(seed)
    H = fractions(rng, M, d, d)
    H = H + H.swapaxes(1, 2)
    H = H - H.sum(0) / M + 3 * np.eye(d, dtype=int)  # the mean is 3 I
    b, x = fractions(rng, M, d), fractions(rng, d)
    b = b - b.sum(0) / M
    eta, sigma2 = data.draw(st.fractions(Fraction(1, 50), 1, max_denominator=50)), Fraction(seed, 1000)
    setting: dict[str, Any] = {"K": K, "S": S, "eta": eta, "sequential": sequential}
    q = quantities(H, b, x, sigma2=sigma2, **setting)
    step = eta if sequential else eta / S
    assert q["dist2_next"] == q["dist2"] - 2 * step * q["inner_sum"] + step**2 * q["step_sq"]
    assert q["descent"] == -step * q["cross_sum"] + Fraction(3, 2) * step**2 * q["step_sq"]
    assert (q["E_r"] if sequential else q["Ecal_r"] * S) == sum(q["drift_mk"].values())
    assert q["noise_sq"] == S * K * sigma2
    assert q["D_F"] == Fraction(3, 2) * q["dist2"] and q["grad_sq"] == 9 * q["dist2"]
    zeta2 = (b**2).sum() / Fraction(M)
    left_out = Fraction(M - S, S * (M - 1)) if M > 1 else 0
    assert q["star_sq"] == S**2 * K**2 * left_out * zeta2
    for (m, k), number in q["B_mk"].items():
        assert number == ((m - 1) * K if sequential else 0) + k
        assert q["noise_upto"][m, k] == number * sigma2
        assert q["bias_upto"][m, k] == number * q["client_bias_sq"][m, k]
        assert q["client_bias_sq"][m, k] == q["client_bias_sq"][1, 0]
    alike = quantities(
        H * 0 + 3 * np.eye(d, dtype=int), b, x, sigma2=0 * sigma2, **setting
    )  # gradients differ by constants
    assert alike["step_sq"] == alike["mean_grad_sq"] and alike["T_1"] == alike["star_upto"]
    assert alike["bias_sq"] == 81 * (S * K) ** 2 * alike["client_bias_sq"][1, 0] / 81
    for (m, k), moved in alike["move_upto"].items():
        first = {place for place in alike["drift_mk"] if place < (m, k) and (sequential or place[0] == m)}
        assert moved == 9 * sum(alike["drift_mk"][place] for place in first)
    if S == K == 1:
        assert alike["tracked_sq"] == alike["grad_sq"] and alike["move_sq"] == 0
        assert alike["local_grad_sq"] == alike["mean_grad_sq"] == alike["grad_sq"] + zeta2
    if S == M:
        assert alike["move_sq"] == alike["tracked_sq"] - (S * K) ** 2 * alike["grad_sq"] - 2 * S * K * (
            alike["cross_sum"] - S * K * alike["grad_sq"]
        )


@pytest.mark.parametrize("algorithm", [SFL, PFL])
@pytest.mark.parametrize(("d", "M", "S", "K"), [(3, 4, 4, 2), (2, 4, 2, 3), (1, 3, 1, 4), (3, 1, 1, 3)])
def test_agrees_with_moments(algorithm: Any, d: int, M: int, S: int, K: int) -> None:
    """Floats, about x_star."""
    rng = np.random.default_rng(d)
    root = rng.standard_normal((M, d, d))
    b = rng.standard_normal((M, d))
    p = Quadratic(root @ root.swapaxes(1, 2) / d + 0.2 * np.eye(d), b - b.mean(0), sigma=0.8)
    x = rng.standard_normal(d)
    q = quantities(p.H, p.b, x, K=K, S=S, eta=0.15, sigma2=p.sigma**2, sequential=algorithm is SFL)
    record = ("dist2", "gap", "drift", "grad_sq")
    exact = expectation(p, algorithm(K=K, eta=0.15, S=S), rounds=1, x0=x, record=record).isel(step_size=0)
    assert q["dist2"] == pytest.approx(exact["dist2"][0].item(), rel=1e-12)
    assert q["dist2_next"] == pytest.approx(exact["dist2"][1].item(), rel=1e-12)
    assert q["D_F"] == pytest.approx(exact["gap"][0].item(), rel=1e-12)
    assert q["D_F"] + q["descent"] == pytest.approx(exact["gap"][1].item(), rel=1e-11)
    assert q["grad_sq"] == pytest.approx(exact["grad_sq"][0].item(), rel=1e-12)
    assert q["E_r" if algorithm is SFL else "Ecal_r"] == pytest.approx(exact["drift"][0].item(), rel=1e-12)


@pytest.mark.parametrize("sequential", [True, False])
@pytest.mark.parametrize(("S", "K", "sigma2"), [(1, 3, 1), (2, 2, 4), (2, 1, 0)])
def test_outcomes_give_what_linear_forms_give(sequential: bool, S: int, K: int, sigma2: int) -> None:
    """A bend that is almost nothing: every outcome of the noise is enumerated, with the same means up to this bend."""
    H, b = [[[Fraction(1)]], [[Fraction(1, 2)]], [[Fraction(-1, 4)]]], [[Fraction(1)], [Fraction(1)], [Fraction(-2)]]
    given_: dict[str, Any] = {
        "K": K,
        "S": S,
        "eta": Fraction(1, 5),
        "sigma2": Fraction(sigma2),
        "sequential": sequential,
    }
    linear, outcomes = (
        quantities(H, b, [Fraction(2)], bend=bend, **given_) for bend in ((), (Fraction(1, 10**12),) * 3)
    )
    for name in QUANTITIES:
        assert float(linear[name]) == pytest.approx(float(outcomes[name]), rel=1e-9, abs=1e-9), name


def test_a_bent_function() -> None:
    """F(y) = y^2/2 for y < 0 and y^2/8 for y > 0, two steps from 1 with eta = 2, sigma = 1."""
    one, zero = Fraction(1), Fraction(0)
    found = quantities(
        [[[one]]], [[zero]], [one], K=2, S=1, eta=Fraction(2), sigma2=one, sequential=True, bend=(Fraction(-3, 4),)
    )

    def slope(y: Fraction) -> Fraction:
        return y if y < 0 else y / 4

    def value(y: Fraction) -> Fraction:
        return slope(y) * y / 2

    middle = [1 - 2 * (slope(one) + sign) for sign in (1, -1)]
    ends = [y - 2 * (slope(y) + sign) for y in middle for sign in (1, -1)]
    assert min(middle) < 0 < max(middle)
    assert found["E_r"] == sum((y - 1) ** 2 for y in middle) / 2
    assert found["dist2_next"] == sum(y**2 for y in ends) / 4
    assert found["descent"] == sum(map(value, ends)) / 4 - value(one) and found["D_F"] == value(one)
    assert found["local_grad_sq"] == slope(one) ** 2 + sum(slope(y) ** 2 for y in middle) / 2
    assert found["move_sq"] == sum((slope(y) - slope(one)) ** 2 for y in middle) / 2
    with pytest.raises(ValueError, match="square of a fraction"):
        quantities([[[one]]], [[zero]], [one], K=1, S=1, eta=one, sigma2=Fraction(2), sequential=True, bend=(one,))
