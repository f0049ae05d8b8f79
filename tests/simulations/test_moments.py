"""Exact expectations: against enumeration of every order, against runs, against closed forms; kernels one by one."""

import json
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings, strategies as st

from fedtheory.simulations import NoSuchConstant, run
from fedtheory.simulations.algorithms.sfl import PFL, SFL, SSL
from fedtheory.simulations.data import load
from fedtheory.simulations.engine import RECORDS
from fedtheory.simulations.exact import blocks, moments
from fedtheory.simulations.exact.moments import (
    Kernel,
    affine,
    expectation,
    gradient_step,
    parallel,
    sequential,
)
from fedtheory.simulations.partitions import iid
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, generate

ALL = tuple(RECORDS)
WITHOUT_MINIMUM = ("grad_sq", "drift", "value")


def unrelated(seed: int, d: int, M: int, sigma: float = 0.7, tilt: float = 0.0, shift: float = 0.0) -> Quadratic:
    """Non-commuting Hessians; `tilt` makes clients indefinite, their mean stays; `shift` makes that indefinite too."""
    rng = np.random.default_rng(seed)
    root, tilted = rng.standard_normal((2, M, d, d))
    H = root @ root.swapaxes(1, 2) / d + 0.2 * np.eye(d)
    tilted = tilted + tilted.swapaxes(1, 2)
    H = H + tilt * (tilted - tilted.mean(0)) - shift * np.eye(d)
    return Quadratic((H + H.swapaxes(1, 2)) / 2, rng.standard_normal((M, d)), sigma)


# ------------------------------------------------------------------------------- all orders, one by one


def enumerated(p: Quadratic, algorithm: Any, rounds: int, x0: Any, ratio: float) -> dict[str, np.ndarray]:
    """Every quantity by its definition, averaged over every sequence of ordered samples.

    On one such path x is affine in all noise vectors: (d, 1 + steps d), column 0 the constant part.
    """
    M, d, K, eta = p.M, p.d, algorithm.K, algorithm.eta
    S = algorithm.S or M
    H, b = p.H.mean(0), p.b.mean(0)
    variance = p.sigma**2 / d
    paths = list(product(permutations(range(M), S), repeat=rounds))
    out = {name: np.zeros(rounds + 1) for name in ALL}

    def square(x: np.ndarray) -> float:
        return (x[:, 0] ** 2).sum() + variance * (x[:, 1:] ** 2).sum()

    def value(x: np.ndarray) -> float:
        spread = np.einsum("in,ij,jn", x[:, 1:], H, x[:, 1:]) * variance
        return x[:, 0] @ H @ x[:, 0] / 2 + b @ x[:, 0] + spread / 2

    for path in paths:
        x = np.zeros((d, 1 + rounds * S * K * d))
        x[:, 0] = x0
        fresh = 1
        iterates = []
        for r in range(rounds + 1):
            iterates.append(x)
            weights = float(ratio) ** -np.arange(1.0, r + 2)
            average = sum(w * y for w, y in zip(weights, iterates, strict=True)) / weights.sum()
            gradient = H @ x
            gradient[:, 0] += b
            out["value"][r] += value(x)
            out["grad_sq"][r] += square(gradient)
            if "x_star" in p.constants:
                out["gap"][r] += value(x) - p.constants["F_star"]
                out["gap_average"][r] += value(average) - p.constants["F_star"]
                away = x.copy()
                away[:, 0] -= p.constants["x_star"]
                out["dist2"][r] += square(away)
            if r == rounds:
                break
            local, ends = x, []
            for m in path[r]:
                if isinstance(algorithm, PFL):
                    local = x
                for _ in range(K):
                    out["drift"][r] += square(local - x) / (S if isinstance(algorithm, PFL) else 1)
                    step = p.H[m] @ local
                    step[:, 0] += p.b[m]
                    step[:, fresh : fresh + d] += np.eye(d)
                    fresh += d
                    local = local - eta * step
                ends.append(local)
            x = sum(ends) / S if isinstance(algorithm, PFL) else local
    out = {name: values / len(paths) for name, values in out.items()}
    out["drift"][rounds] = np.nan
    return out


CASES = [  # d, M, S, K, rounds, tilt
    (2, 3, None, 2, 3, 0.0),
    (3, 4, None, 2, 2, 0.0),
    (3, 4, 2, 3, 2, 0.3),
    (2, 4, 3, 1, 2, 0.3),
    (3, 4, 1, 3, 3, 0.0),
    (1, 3, 2, 2, 3, 0.3),
    (3, 1, None, 3, 3, 0.0),
    (2, 2, None, 1, 3, 0.3),
]


@pytest.mark.parametrize("algorithm", [SFL, PFL])
@pytest.mark.parametrize(("d", "M", "S", "K", "rounds", "tilt"), CASES)
def test_enumeration(d: int, M: int, S: int | None, K: int, rounds: int, tilt: float, algorithm: Any) -> None:
    p = unrelated(d + M, d, M, tilt=tilt)
    assert not tilt or M == 1 or p.constants["curvature"] < 0
    x0 = np.linspace(1, -2, d)
    method = algorithm(K=K, eta=0.15, S=S)
    exact = expectation(p, method, rounds=rounds, x0=x0, record=ALL, average=0.8)
    expected = enumerated(p, method, rounds, x0, 0.8)
    for name in ALL:
        np.testing.assert_allclose(exact[name][0], expected[name], rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("algorithm", [SFL, PFL])
@pytest.mark.parametrize("S", [None, 2])
def test_enumeration_without_minimum(algorithm: Any, S: int | None) -> None:
    p = unrelated(5, 2, 3, shift=1.5)
    assert "x_star" not in p.constants
    method = algorithm(K=2, eta=0.1, S=S)
    exact = expectation(p, method, rounds=3, x0=1.0, record=WITHOUT_MINIMUM)
    expected = enumerated(p, method, 3, 1.0, 1.0)
    for name in WITHOUT_MINIMUM:
        np.testing.assert_allclose(exact[name][0], expected[name], rtol=1e-12, err_msg=name)
    for name in ("gap", "gap_average", "dist2"):
        with pytest.raises(NoSuchConstant, match="unbounded below"):
            expectation(p, method, rounds=3, record=(name,))


# --------------------------------------------------------------------------------------- against runs


@pytest.mark.parametrize("algorithm", [SFL, PFL])
@pytest.mark.parametrize("ratio", [0.9, 1.0])
def test_long_runs_where_nothing_is_random(algorithm: Any, ratio: float) -> None:
    """One client, no noise: a run is its own expectation, round after round, over several goes of rounds."""
    p = unrelated(3, 3, 1, sigma=0.0)
    settings_: dict[str, Any] = {"rounds": 300, "x0": [1.0, -2.0, 3.0], "record": ALL, "average": ratio}
    data, exact = (f(p, algorithm(K=2, eta=[0.004, 0.02]), **settings_) for f in (run, expectation))
    for name in ALL:
        np.testing.assert_allclose(exact[name], data[name].isel(seed=0), rtol=1e-9, atol=1e-12, err_msg=name)


# --------------------------------------------------------------------------- separable and general path


@pytest.mark.parametrize("algorithm", [SFL, PFL])
@pytest.mark.parametrize("S", [None, 2])
@pytest.mark.parametrize("rotated", [False, True])
def test_separable_equals_general(algorithm: Any, S: int | None, rotated: bool, monkeypatch: Any) -> None:
    rng = np.random.default_rng(0)
    H = rng.uniform(-0.2, 1, (4, 3))[:, :, None] * np.eye(3)
    H = np.abs(H) if not rotated else generate(3, 4, L=2, mu=-0.1, zeta_star=1, delta=0.5).H
    p = Quadratic(H, rng.standard_normal((4, 3)), 0.5)
    settings_: dict[str, Any] = {"rounds": 150, "x0": [1.0, -1.0, 2.0], "record": ALL, "average": [0.9, 1.0]}
    method = algorithm(K=2, eta=[0.05, 0.1], S=S)
    straight, basis = blocks.turned(p)
    assert (straight.H * (1 - np.eye(3)) == 0).all() and (rotated == bool(np.ptp(basis - np.eye(3))))
    fast = expectation(p, method, **settings_)
    monkeypatch.setattr(moments, "turned", lambda problem: (problem, np.eye(3)))
    slow = expectation(p, method, **settings_)
    for name in ALL:
        np.testing.assert_allclose(fast[name], slow[name], rtol=1e-11, err_msg=name)


def test_common_eigenvectors() -> None:
    """Found where they exist, also with repeated eigenvalues; not found where they do not, however little is amiss."""
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    values = rng.integers(1, 3, (5, 4)).astype(float)
    H = np.einsum("ij,mj,kj->mik", turn, values, turn)
    H = (H + H.swapaxes(1, 2)) / 2
    straight, basis = blocks.turned(Quadratic(H, np.ones((5, 4))))
    np.testing.assert_allclose(basis @ basis.T, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(basis @ straight.H @ basis.T, H, atol=1e-13)
    H[0, 0, 1] += 1e-9
    H[0, 1, 0] += 1e-9
    problem = Quadratic(H, np.ones((5, 4)))
    assert blocks.turned(problem)[0] is problem


# --------------------------------------------------------------------------------------------- kernels


def mixture(kernels: list[Kernel], weights: Any) -> Kernel:
    """One of the kernels, drawn anew at every step."""
    return Kernel(sum((w * k.second for w, k in zip(weights, kernels, strict=True)), np.zeros(())))


def chained(first: Kernel, second: Kernel) -> Kernel:
    """One step, then the other, independently."""
    return Kernel(second.second @ first.second)


def random_kernel(rng: np.random.Generator, d: int) -> Kernel:
    """A mixture of two affine maps with noise."""
    maps = rng.standard_normal((2, d + 1, d + 1))
    maps[:, 0] = np.eye(d + 1)[0]
    root = rng.standard_normal((d, d))
    return mixture([affine(A, root @ root.T) for A in maps], [0.3, 0.7])


def same(one: Kernel, second: np.ndarray, mean: np.ndarray) -> None:
    scale = np.abs(second).max()
    np.testing.assert_allclose(one.second, second, rtol=1e-12, atol=1e-13 * scale)
    np.testing.assert_allclose(one.mean, mean, rtol=1e-12, atol=1e-13 * scale)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), st.data(), st.integers(0, 10**6))
def test_orders_of_kernels(d: int, M: int, data: Any, seed: int) -> None:
    """`sequential` and `parallel` against all ordered samples."""
    S = data.draw(st.integers(1, M))
    rng = np.random.default_rng(seed)
    kernels = [random_kernel(rng, d) for _ in range(M)]
    samples = list(permutations(kernels, S))
    second, mean = np.zeros_like(kernels[0].second), np.zeros((d + 1, d + 1))
    for sample in samples:
        chain = sample[0]
        for kernel in sample[1:]:
            chain = chained(chain, kernel)
        second += chain.second / len(samples)
        mean += chain.mean / len(samples)
    same(sequential(kernels, S), second, mean)
    second, mean = np.zeros_like(second), np.zeros_like(mean)
    for sample in samples:
        for i, j in product(range(S), repeat=2):
            both = sample[i].second if i == j else np.kron(sample[i].mean, sample[j].mean)
            second += both / S**2 / len(samples)
        mean += sum(k.mean for k in sample) / S / len(samples)
    same(parallel(kernels, S), second, mean)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.integers(0, 10**6))
def test_affine_and_composition(d: int, seed: int) -> None:
    """Second moments of A z + noise from their definition; a chain of two; quadratic forms pulled back."""
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, d + 1, d + 1))
    A[0] = B[0] = np.eye(d + 1)[0]
    root = rng.standard_normal((d, d))
    covariance = root @ root.T
    z = np.concatenate([[1.0], rng.standard_normal(d)])
    V = np.outer(z, z)
    noise = np.zeros((d + 1, d + 1))
    noise[1:, 1:] = covariance
    chain = chained(affine(A, covariance), affine(B))
    expected = B @ (A @ V @ A.T + noise) @ B.T
    np.testing.assert_allclose((chain.second @ V.ravel()).reshape(V.shape), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(chain.mean, B @ A, rtol=1e-12, atol=1e-12)
    form = rng.standard_normal((d + 1, d + 1))
    assert z @ chain.pull(form) @ z == pytest.approx((form * expected).sum(), rel=1e-9, abs=1e-9)
    thrice = affine(A, covariance).repeated(3).second
    np.testing.assert_allclose(thrice, np.linalg.matrix_power(affine(A, covariance).second, 3), rtol=1e-12)


def test_gradient_step_and_mini_batch() -> None:
    """One uniformly drawn sample of three a step, plus noise, from the definition; step sizes broadcast."""
    rng = np.random.default_rng(0)
    p = unrelated(1, 2, 3)
    x, eta = rng.standard_normal(2), np.array([0.1, 0.4])
    covariance = np.array([[0.5, 0.2], [0.2, 1.0]])
    kernel = mixture([gradient_step(H, b, eta, covariance) for H, b in zip(p.H, p.b, strict=True)], np.full(3, 1 / 3))
    z = np.concatenate([[1.0], x])
    got = (kernel.second @ np.outer(z, z).ravel()).reshape(2, 3, 3)
    for e, rate in enumerate(eta):
        ends = [x - rate * (H @ x + b) for H, b in zip(p.H, p.b, strict=True)]
        expected = np.mean([np.outer(end, end) for end in ends], axis=0) + rate**2 * covariance
        np.testing.assert_allclose(got[e, 1:, 1:], expected, rtol=1e-13)
        np.testing.assert_allclose(got[e, 0], [1, *np.mean(ends, axis=0)], rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: affine(np.ones((2, 2))), r"shape \(2, 2\): expected square matrices with first row \(1, 0"),
        (lambda: affine(np.eye(3)[:2]), r"shape \(2, 3\)"),
        (lambda: affine(np.eye(3), np.eye(3)), r"covariance of shape \(3, 3\): expected \(..., 2, 2\)"),
        (lambda: sequential([affine(np.eye(2))] * 2, 3), "S = 3 of 2 kernels: expected 1 <= S <= 2"),
        (lambda: sequential([affine(np.eye(2))] * 17, 1), "17 kernels in sequence: expected at most 16"),
        (lambda: parallel([affine(np.eye(2))] * 2, 0), "S = 0 of 2 kernels"),
    ],
)
def test_malformed_kernels(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# --------------------------------------------------------------------------------------------- data set

SMALL = unrelated(0, 3, 3)


@pytest.mark.parametrize("at", [[0], [9], [3, 7, 3, 1], range(0, 10, 4), np.array([2, 5])])
def test_rounds_to_record(at: Any) -> None:
    settings_: dict[str, Any] = {"rounds": 9, "x0": 1.0, "record": ALL, "average": 0.9}
    whole, some = (expectation(SMALL, PFL(K=2, eta=[0.1, 0.2]), at=a, **settings_) for a in (None, at))
    assert some["round"].values.tolist() == sorted({int(r) for r in at})
    xr.testing.assert_equal(some, whole.sel(round=some["round"]))


def test_shape_and_labels() -> None:
    data = expectation(SMALL, SFL(K=2, eta=[0.1, 0.2]), rounds=3, record=(*ALL, "gap_average"))
    xr.testing.assert_equal(data, expectation(SMALL, SFL(K=2, eta=[0.1, 0.2]), rounds=3, record=ALL))
    like = run(SMALL, SFL(K=2, eta=[0.1, 0.2]), rounds=3, record=ALL)
    assert dict(data.sizes) == {"step_size": 2, "round": 4} and set(data.data_vars) == set(like.data_vars)
    for name in ALL:
        assert data[name].dims == ("step_size", "round")
        assert data[name].attrs["units"] == like[name].attrs["units"]
        assert data[name].attrs["long_name"] == "expectation of " + like[name].attrs["long_name"]
    assert data["status"].dims == data["diverged_at"].dims == ("step_size",)
    assert np.isnan(data["drift"][:, 3]).all() and (data["status"] == "ran").all()
    assert {"seeds", "orders"} == set(like.attrs) - set(data.attrs)
    assert all(json.loads(data.attrs[key]) == json.loads(like.attrs[key]) for key in data.attrs)
    assert set(expectation(SMALL, SFL(K=1, eta=0.1), rounds=1, record=()).data_vars) == {"status", "diverged_at"}


# ------------------------------------------------------------------------------------------- divergence


@pytest.mark.parametrize("record", [("value",), ("grad_sq",), (), ("gap", "dist2"), ALL])
def test_round_of_divergence(record: tuple[str, ...]) -> None:
    """F = x^2/2, no noise, x_r = (-9)^r: as in `run`, at the same round; the other step size runs on."""
    p = Quadratic(np.ones((1, 1, 1)), np.zeros((1, 1)))
    data, like = (f(p, SFL(K=1, eta=[0.5, 10.0]), rounds=200, x0=1.0, record=record) for f in (expectation, run))
    first = next(r for r in range(200) if 81**r > int(np.finfo(float).max))
    assert data["diverged_at"].values.tolist() == [-1, like["diverged_at"][1, 0].item()]
    assert record == ALL or data["diverged_at"][1] == first
    assert data["status"].values.tolist() == ["ran", "diverged"]
    for name in record:
        values, end = data[name][1].values, int(data["diverged_at"][1])
        assert np.isfinite(values[:end]).all() and np.isnan(values[end:]).all()
        np.testing.assert_allclose(values[:end], like[name][1, 0, :end], rtol=1e-12)
        assert np.isfinite(data[name][0].values[:200]).all()


def test_the_last_iterate_starts_no_round() -> None:
    """x_r = 3 81^r: at r = 80 the drift 100 x_r^2 overflows, x_r^2 does not."""
    p = Quadratic(np.ones((1, 1, 1)), np.zeros((1, 1)))
    for rounds, status, at in ((80, "ran", -1), (81, "diverged", 80)):
        data = expectation(p, SFL(K=2, eta=10.0), rounds=rounds, x0=3.0, record=("drift",))
        assert (data["status"].item(), data["diverged_at"].item()) == (status, at)
        assert np.isfinite(data["drift"][0, :80]).all() and np.isnan(data["drift"][0, 80:]).all()


@pytest.mark.parametrize("algorithm", [SFL, PFL])
@pytest.mark.parametrize("problem", [SMALL, generate(3, 4, L=2, mu=0.2, zeta_star=1, delta=0.5, sigma=0.7)])
def test_huge_steps(algorithm: Any, problem: Quadratic) -> None:
    """No warning (errors here), whatever overflows inside; the small step size is as if alone."""
    settings_: dict[str, Any] = {"rounds": 200, "x0": 1.0, "record": ALL}
    data = expectation(problem, algorithm(K=4, eta=[1e-3, 10.0, 1e155, 1e300]), **settings_)
    assert data["status"].values.tolist() == ["ran"] + ["diverged"] * 3
    end = int(data["diverged_at"][1])
    assert 5 < end < 150 and (data["diverged_at"][2:] <= 1).all()
    alone = expectation(problem, algorithm(K=4, eta=1e-3), **settings_)
    for name in ALL:
        np.testing.assert_allclose(data[name][0], alone[name][0], rtol=1e-13)
        assert np.isfinite(data[name][1, :end]).all() and np.isnan(data[name][1, end:]).all()


# --------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"record": ("gap", "speed")}, r"cannot record \['speed'\]: expected some of gap, gap_average"),
        ({"x0": [1.0, 2.0]}, r"x0 of shape \(2,\): expected a finite number, or \(d,\) = \(3,\)"),
        ({"x0": np.nan}, "x0 .* finite"),
        ({"rounds": 0}, "rounds = 0"),
        ({"rounds": 2.5}, r"rounds = 2\.5"),
        ({"at": []}, r"at = \[\]: expected whole numbers between 0 and rounds = 4"),
        ({"at": [5]}, r"at = \[5\]"),
        ({"at": [-1, 2]}, r"at = \[-1, 2\]"),
        ({"at": [0.5]}, r"at = \[0\.5\]"),
        ({"average": 0.0}, r"average = 0\.0: expected a weight ratio in \(0, 1\]"),
        ({"average": [0.5, 0.5, 0.5]}, r"average = \[0\.5, 0\.5, 0\.5\]: .* or 2 of them"),
    ],
)
def test_malformed_requests(settings_: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        expectation(SMALL, SFL(K=1, eta=[0.1, 0.2]), **{"rounds": 4} | settings_)


def test_only_quadratics_and_local_steps() -> None:
    dataset = load("breast_cancer")
    logistic: Any = Logistic(dataset, iid(dataset.labels, 3, 0), 0.1)
    with pytest.raises(ValueError, match="logistic.*: expected a Quadratic"):
        expectation(logistic, SFL(K=1, eta=0.1), rounds=1)
    other: Any = SSL(K=1, eta=0.1)
    with pytest.raises(ValueError, match="SSL: expected SFL or PFL"):
        expectation(SMALL, other, rounds=1)
    with pytest.raises(ValueError, match="S = 4, but quadratic has M = 3"):
        expectation(SMALL, SFL(K=1, eta=0.1, S=4), rounds=1)
    many = generate(2, 17, L=1, mu=0.5, delta=0.1)
    with pytest.raises(ValueError, match="17 kernels in sequence: expected at most 16"):
        expectation(many, SFL(K=1, eta=0.1), rounds=1)
    assert expectation(many, PFL(K=1, eta=0.1), rounds=1, x0=1.0)["gap"][0, 1] > 0
