"""One round in expectation: against every order and sign of the noise, one by one, against `expectation`, identities."""

import numbers
from collections.abc import Mapping
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simulations.algorithms.sfl import PFL, SFL
from simulations.exact.moments import expectation
from simulations.exact.rounds.sfl import one_round
from simulations.problems.quadratic import Quadratic

PLACED = {"drift_mk", "B_mk", "noise_upto", "move_upto", "bias_upto", "star_upto", "T_1", "client_bias_sq"}
ABOUT_STAR = {
    "dist2", "dist2_next", "D_F", "inner_sum", "bias_sq", "star_sq", "bias_upto", "star_upto", "client_bias_sq",
}  # fmt: skip
PLAIN = {
    "dist2", "dist2_next", "D_F", "grad_sq", "descent", "inner_sum", "cross_sum", "local_grad_sq", "mean_grad_sq",
    "step_sq", "noise_sq", "move_sq", "tracked_sq", "bias_sq", "star_sq",
}  # fmt: skip


def flat(found: Mapping[str, Any]) -> dict[Any, Any]:
    """One number a key: a name, or (name, m, k)."""
    out = {}
    for name, value in found.items():
        out |= {(name, *place): v for place, v in value.items()} if isinstance(value, Mapping) else {name: value}
    return out


def fractions(rng: np.random.Generator, *shape: int) -> np.ndarray:
    top, bottom = rng.integers(-6, 7, shape), rng.integers(1, 5, shape)
    return np.frompyfunc(Fraction, 2, 1)(top.astype(object), bottom.astype(object))


def random_problem(rng: np.random.Generator, d: int, M: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """H (often indefinite), b, x, x_star in fractions, grad F(x_star) = 0."""
    H = fractions(rng, M, d, d)
    H = H + H.swapaxes(1, 2)
    x_star, gradients = fractions(rng, d), fractions(rng, M, d)
    gradients = gradients - gradients.sum(0) / M
    return H, gradients - H @ x_star, fractions(rng, d), x_star


def by_signs(
    H: Any, b: Any, x: Any, star: Any, *, K: int, S: int, eta: Any, sigma2: Any, sequential: bool
) -> dict[Any, Any]:
    """Every quantity by its definition, as a mean over all orders and all noise of +-1 a coordinate (sigma2 = d)."""
    M, d = b.shape
    assert sigma2 == d
    mean_H, mean_b = H.sum(0) / M, b.sum(0) / M
    out: dict[Any, Any] = {}
    trials = list(product(permutations(range(M), S), product([-1, 1], repeat=S * K * d)))

    def norm2(v: Any) -> Any:
        return (v * v).sum()

    def F(y: Any) -> Any:
        return (y * (mean_H @ y)).sum() / 2 + (mean_b * y).sum()

    def add(key: Any, value: Any) -> None:
        out[key] = out.get(key, 0) + value / Fraction(len(trials))

    for order, signs in trials:
        noise = np.array(signs, dtype=object).reshape(S, K, d)
        own = [H[i] @ x + b[i] for i in order]
        there = [H[i] @ star + b[i] for i in order]
        points, gradients, ends, y = {}, {}, [], x
        for m, i in enumerate(order):
            y = y if sequential else x
            for k in range(K):
                points[m, k], gradients[m, k] = y, H[i] @ y + b[i]
                y = y - eta * (gradients[m, k] + noise[m, k])
            ends.append(y)
        end = y if sequential else sum(ends) / Fraction(S)
        full, places = mean_H @ x + mean_b, list(points)
        add("dist2", norm2(x - star))
        add("dist2_next", norm2(end - star))
        add("D_F", F(x) - F(star))
        add("grad_sq", norm2(full))
        add("descent", F(end) - F(x))
        drift = sum(norm2(points[q] - x) for q in places)
        add(*(("E_r", drift) if sequential else ("Ecal_r", drift / Fraction(S))))
        add("inner_sum", sum((gradients[q] * (x - star)).sum() for q in places))
        add("cross_sum", sum((gradients[q] * full).sum() for q in places))
        add("local_grad_sq", sum(norm2(gradients[q]) for q in places))
        add("mean_grad_sq", norm2(sum(gradients[q] for q in places)))
        add("step_sq", norm2(sum(gradients[q] + noise[q] for q in places)))
        add("noise_sq", norm2(sum(noise[q] for q in places)))
        add("move_sq", norm2(sum(gradients[q] - own[q[0]] for q in places)))
        add("tracked_sq", norm2(sum(full + gradients[q] - own[q[0]] for q in places)))
        add("bias_sq", norm2(sum(own[m] - there[m] for m, _ in places)))
        add("star_sq", norm2(sum(there[m] for m, _ in places)))
        for m, k in places:
            upto = [q for q in places if q < (m, k)] if sequential else [(m, j) for j in range(k)]
            add(("B_mk", m + 1, k), len(upto))
            add(("drift_mk", m + 1, k), norm2(points[m, k] - x))
            add(("noise_upto", m + 1, k), sum(norm2(noise[q]) for q in upto))
            add(("move_upto", m + 1, k), sum(norm2(gradients[q] - own[q[0]]) for q in upto))
            add(("bias_upto", m + 1, k), sum(norm2(own[i] - there[i]) for i, _ in upto))
            add(("star_upto", m + 1, k), norm2(sum((there[i] for i, _ in upto), 0 * x)))
            add(("T_1", m + 1, k), norm2(sum((own[i] - full for i, _ in upto), 0 * x)))
            add(("client_bias_sq", m + 1, k), norm2(own[m] - there[m]))
    return out


@pytest.mark.parametrize("sequential", [True, False])
@pytest.mark.parametrize(
    ("d", "M", "S", "K"), [(1, 3, 2, 2), (1, 2, 2, 3), (1, 4, 1, 2), (2, 3, 2, 1), (2, 3, 3, 1), (2, 1, 1, 3)]
)
def test_every_order_and_sign(d: int, M: int, S: int, K: int, sequential: bool) -> None:
    """Equal as fractions, all of them."""
    H, b, x, star = random_problem(np.random.default_rng(d + 10 * M + 100 * S), d, M)
    given_: dict[str, Any] = {"K": K, "S": S, "eta": Fraction(1, 7), "sigma2": d, "sequential": sequential}
    found = one_round(H, b, x, x_star=star, **given_)
    assert set(found) == PLAIN | PLACED | {"E_r" if sequential else "Ecal_r"}
    assert all(isinstance(value, numbers.Rational) for value in flat(found).values())
    assert flat(found) == by_signs(H, b, x, star, **given_)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.booleans(), st.data(), st.integers(0, 10**6))
def test_identities(d: int, M: int, K: int, sequential: bool, data: Any, seed: int) -> None:
    """What the proofs write with an equals sign, exactly: (28) and (63), (33) and (68), Lemmas 1 and 3, smoothness."""
    S = data.draw(st.integers(1, M))
    H, b, x, star = random_problem(np.random.default_rng(seed), d, M)
    eta, sigma2 = data.draw(st.fractions(Fraction(1, 50), 1, max_denominator=50)), Fraction(seed, 1000)
    H_same = H - H.sum(0) / M + 3 * np.eye(d, dtype=int)  # the mean is 3 I
    b = b + (H - H_same) @ star
    q = one_round(H_same, b, x, K=K, S=S, eta=eta, sigma2=sigma2, sequential=sequential, x_star=star)
    step = eta if sequential else eta / S
    assert q["dist2_next"] == q["dist2"] - 2 * step * q["inner_sum"] + step**2 * q["step_sq"]
    assert q["descent"] == -step * q["cross_sum"] + Fraction(3, 2) * step**2 * q["step_sq"]
    drifts = sum(q["drift_mk"].values())
    assert (q["E_r"] if sequential else q["Ecal_r"] * S) == drifts
    assert q["noise_sq"] == S * K * sigma2
    assert q["D_F"] == Fraction(3, 2) * q["dist2"] and q["grad_sq"] == 9 * q["dist2"]
    zeta2 = sum(((H_same @ star + b) ** 2).ravel()) / Fraction(M)
    left_out = Fraction(M - S, S * (M - 1)) if M > 1 else 0
    assert q["star_sq"] == S**2 * K**2 * left_out * zeta2
    for (m, k), number in q["B_mk"].items():
        assert number == ((m - 1) * K if sequential else 0) + k
        assert q["noise_upto"][m, k] == number * sigma2
        assert q["bias_upto"][m, k] == number * q["client_bias_sq"][m, k]
        assert q["client_bias_sq"][m, k] == q["client_bias_sq"][1, 0]


@pytest.mark.parametrize("algorithm", [SFL, PFL])
@pytest.mark.parametrize(("d", "M", "S", "K"), [(3, 4, 4, 2), (2, 4, 2, 3), (1, 3, 1, 4), (3, 1, 1, 3)])
def test_agrees_with_moments(algorithm: Any, d: int, M: int, S: int, K: int) -> None:
    rng = np.random.default_rng(d)
    root = rng.standard_normal((M, d, d))
    p = Quadratic(root @ root.swapaxes(1, 2) / d + 0.2 * np.eye(d), rng.standard_normal((M, d)), sigma=0.8)
    x, star = rng.standard_normal(d), p.constants["x_star"]
    q = one_round(p.H, p.b, x, K=K, S=S, eta=0.15, sigma2=p.sigma**2, sequential=algorithm is SFL, x_star=star)
    exact = expectation(
        p, algorithm(K=K, eta=0.15, S=S), rounds=1, x0=x, record=("dist2", "gap", "drift", "grad_sq")
    ).isel(step_size=0)
    assert q["dist2"] == pytest.approx(exact["dist2"][0].item(), rel=1e-12)
    assert q["dist2_next"] == pytest.approx(exact["dist2"][1].item(), rel=1e-12)
    assert q["D_F"] == pytest.approx(exact["gap"][0].item(), rel=1e-12)
    assert q["D_F"] + q["descent"] == pytest.approx(exact["gap"][1].item(), rel=1e-11)
    assert q["grad_sq"] == pytest.approx(exact["grad_sq"][0].item(), rel=1e-12)
    assert q["E_r" if algorithm is SFL else "Ecal_r"] == pytest.approx(exact["drift"][0].item(), rel=1e-12)


@pytest.mark.parametrize("sequential", [True, False])
def test_floats_and_fractions(sequential: bool) -> None:
    """The same numbers; lists do as well as arrays; whole numbers among fractions are fractions."""
    H, b, x, star = random_problem(np.random.default_rng(5), 2, 3)
    given_: dict[str, Any] = {"K": 2, "S": 2, "sequential": sequential}
    exact = flat(one_round(H, b, x, eta=Fraction(1, 8), sigma2=3, x_star=star, **given_))
    floats = flat(
        one_round(*(v.astype(float) for v in (H, b, x)), eta=1 / 8, sigma2=3, x_star=star.astype(float), **given_)
    )
    assert exact.keys() == floats.keys()
    for key, value in floats.items():
        assert isinstance(value, float) and value == pytest.approx(float(exact[key]), rel=1e-12, abs=1e-12), key
    lists = one_round(H.tolist(), b.tolist(), [0, 1], eta=1, sigma2=Fraction(1, 3), **given_)
    assert all(isinstance(value, numbers.Rational) for value in flat(lists).values())
    whole = one_round([[[2]]], [[1]], [1], K=1, S=1, eta=Fraction(1, 4), sigma2=0, sequential=True)
    assert whole["descent"] == -9 / 4 + 9 / 16 and isinstance(whole["descent"], float)


def test_without_x_star() -> None:
    H, b, x, star = random_problem(np.random.default_rng(5), 2, 3)
    given_: dict[str, Any] = {"K": 2, "S": 2, "eta": Fraction(1, 8), "sigma2": 3, "sequential": True}
    whole, some = one_round(H, b, x, x_star=star, **given_), one_round(H, b, x, **given_)
    assert set(whole) - set(some) == ABOUT_STAR
    assert some == {name: value for name, value in whole.items() if name not in ABOUT_STAR}


GOOD: dict[str, Any] = {
    "H": np.eye(2)[None].repeat(3, 0), "b": np.zeros((3, 2)), "x": np.ones(2),
    "K": 1, "S": 2, "eta": 0.1, "sigma2": 1.0, "sequential": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"H": np.eye(2)}, r"H \(2, 2\), b \(3, 2\), x \(2,\): expected \(M, d, d\), \(M, d\) and \(d,\)"),
        ({"b": np.zeros((2, 2))}, r"b \(2, 2\)"),
        ({"x": np.ones(3)}, r"x \(3,\)"),
        ({"H": np.array([[[1.0, 2.0], [0.0, 1.0]]] * 3)}, "not symmetric"),
        ({"S": 4}, "S = 4, K = 1: expected 1 <= S <= 3"),
        ({"S": 0}, "S = 0"),
        ({"K": 0}, "K = 0"),
        ({"eta": 0.0}, r"eta = 0\.0"),
        ({"sigma2": -1.0}, r"sigma2 = -1\.0"),
        ({"sigma2": np.nan}, "sigma2 = nan"),
        ({"x_star": [0.0, 0.1]}, r"x_star = \[0\.0, 0\.1\]: expected grad F\(x_star\) = 0, not"),
        ({"x_star": [0.0]}, r"x_star of shape \(1,\): expected \(2,\)"),
        (
            {"H": np.eye(2, dtype=int)[None].repeat(3, 0), "x": [Fraction(1), 0.5]},
            r"0\.0 among exact numbers: expected Fractions and whole numbers only",
        ),
        ({"x": [Fraction(1), Fraction(0)]}, r"1\.0 among exact numbers"),
    ],
)
def test_refusals(changed: dict[str, Any], message: str) -> None:
    arguments = GOOD | changed
    arrays = [arguments.pop(name) for name in ("H", "b", "x")]
    with pytest.raises(ValueError, match=message):
        one_round(*arrays, **arguments)


# --- Functions that are no quadratics ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sequential", [True, False])
@pytest.mark.parametrize(("S", "K", "sigma2"), [(1, 3, 1), (2, 2, 4), (2, 1, 0)])
def test_without_a_bend_outcomes_give_what_linear_forms_give(sequential: bool, S: int, K: int, sigma2: int) -> None:
    H, b = [[[Fraction(1)]], [[Fraction(1, 2)]], [[Fraction(-1, 4)]]], [[Fraction(1)], [Fraction(1)], [Fraction(-2)]]
    given = {
        "K": K,
        "S": S,
        "eta": Fraction(1, 5),
        "sigma2": Fraction(sigma2),
        "sequential": sequential,
        "x_star": [Fraction(0)],
    }
    linear, gone_through = (one_round(H, b, [Fraction(2)], bend=bend, **given) for bend in (None, [Fraction(0)] * 3))
    assert linear == gone_through


def test_a_bent_function() -> None:
    """F(y) = y^2/2 for y < 0 and y^2/8 for y > 0, two steps from 1 with eta = 2, sigma = 1."""
    found = one_round(
        [[[Fraction(1)]]],
        [[Fraction(0)]],
        [Fraction(1)],
        K=2,
        S=1,
        eta=Fraction(2),
        sigma2=Fraction(1),
        sequential=True,
        x_star=[Fraction(0)],
        bend=[Fraction(-3, 4)],
    )

    def slope(y: Fraction) -> Fraction:
        return y if y < 0 else y / 4

    def value(y: Fraction) -> Fraction:
        return slope(y) * y / 2

    middle = [1 - 2 * (slope(Fraction(1)) + sign) for sign in (1, -1)]
    ends = [y - 2 * (slope(y) + sign) for y in middle for sign in (1, -1)]
    assert min(middle) < 0 < max(middle)
    assert found["E_r"] == sum((y - 1) ** 2 for y in middle) / 2
    assert found["dist2_next"] == sum(y**2 for y in ends) / 4
    assert found["descent"] == sum(map(value, ends)) / 4 - value(Fraction(1)) and found["D_F"] == value(Fraction(1))
    assert found["local_grad_sq"] == slope(Fraction(1)) ** 2 + sum(slope(y) ** 2 for y in middle) / 2
    assert found["move_sq"] == sum((slope(y) - slope(Fraction(1))) ** 2 for y in middle) / 2


def test_refusals_of_bends() -> None:
    given = {"K": 1, "S": 1, "eta": Fraction(1), "sequential": True, "bend": [Fraction(1)]}
    with pytest.raises(ValueError, match="square of a fraction"):
        one_round([[[Fraction(1)]]], [[Fraction(0)]], [Fraction(1)], sigma2=Fraction(2), **given)
    with pytest.raises(ValueError, match=r"expected \(M,\) and \(M, 1, 1\)"):
        one_round(
            [[[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]],
            [[Fraction(0)] * 2],
            [Fraction(1)] * 2,
            sigma2=Fraction(1),
            **given,
        )
