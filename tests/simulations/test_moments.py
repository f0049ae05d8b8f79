"""Exact expectations by kernels of orders: against those from the rounds themselves; kernels one by one."""

from typing import Any

import numpy as np
import pytest

from fedtheory.simulations import NoSuchConstant
from fedtheory.simulations.algorithms.sfl import PFL, SFL, SSL
from fedtheory.simulations.data import load
from fedtheory.simulations.engine import RECORDS
from fedtheory.simulations.exact import blocks, linear
from fedtheory.simulations.exact.moments import Kernel, affine, expectation, gradient_step, parallel, sequential
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


# ------------------------------------------------------------------------------- from the rounds themselves

CASES = [  # d, M, S, K, tilt, shift
    (2, 3, None, 2, 0.0, 0.0),
    (3, 4, 2, 3, 0.3, 0.0),
    (2, 4, 3, 1, 0.3, 0.0),
    (3, 4, 1, 3, 0.0, 0.0),
    (1, 3, 2, 2, 0.3, 0.0),
    (3, 1, None, 3, 0.0, 0.0),
    (2, 2, None, 1, 0.3, 0.0),
    (2, 3, None, 2, 0.0, 1.5),
    (2, 3, 2, 2, 0.0, 1.5),
]


PARTS = {  # whose coordinates do not mix, in this basis or in another one
    "diagonal": Quadratic(
        np.linspace(0.2, 1, 12).reshape(4, 3, 1) * np.eye(3), np.ones((4, 3)) - 2 * np.eye(4, 3), 0.5
    ),
    "turned": generate(3, 4, L=2, mu=-0.1, zeta_star=1, delta=0.5, sigma=0.5),
}


def agrees(p: Quadratic, method: Any, names: tuple[str, ...]) -> None:
    given_: dict[str, Any] = {"rounds": 150, "x0": np.linspace(1, -2, p.d), "record": names, "average": [0.8, 1.0]}
    exact, expected = (f(p, method, **given_) for f in (expectation, linear.expectation))
    for name in names:
        np.testing.assert_allclose(exact[name], expected[name], rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("algorithm", [SFL, PFL])
@pytest.mark.parametrize(("d", "M", "S", "K", "tilt", "shift"), CASES)
def test_against_the_rounds_themselves(
    d: int, M: int, S: int | None, K: int, tilt: float, shift: float, algorithm: Any
) -> None:
    """Of which `test_linear` enumerates every order; here with noise, and also where there is no minimum."""
    p, method = unrelated(d + M, d, M, tilt=tilt, shift=shift), algorithm(K=K, eta=[0.05, 0.15], S=S)
    assert not tilt or M == 1 or p.constants["curvature"] < 0
    assert ("x_star" in p.constants) == (shift == 0)
    agrees(p, method, WITHOUT_MINIMUM if shift else ALL)
    for name in ("gap", "gap_average", "dist2") if shift else ():
        with pytest.raises(NoSuchConstant, match="unbounded below"):
            expectation(p, method, rounds=3, record=(name,))


@pytest.mark.parametrize("algorithm", [SFL, PFL])
@pytest.mark.parametrize("S", [None, 2])
@pytest.mark.parametrize("kind", PARTS)
def test_coordinate_by_coordinate(kind: str, S: int | None, algorithm: Any) -> None:
    straight, basis = blocks.turned(PARTS[kind])
    assert (straight.H * (1 - np.eye(3)) == 0).all() and bool(np.ptp(basis - np.eye(3))) == (kind == "turned")
    agrees(PARTS[kind], algorithm(K=2, eta=[0.05, 0.1], S=S), ALL)


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


def test_gradient_step_and_mini_batch() -> None:
    """One uniformly drawn sample of three a step, plus noise, from the definition; step sizes broadcast."""
    rng = np.random.default_rng(0)
    p = unrelated(1, 2, 3)
    x, eta = rng.standard_normal(2), np.array([0.1, 0.4])
    covariance = np.array([[0.5, 0.2], [0.2, 1.0]])
    steps = [gradient_step(H, b, eta, covariance) for H, b in zip(p.H, p.b, strict=True)]
    kernel = Kernel(sum((step.second for step in steps), np.zeros(())) / 3)
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


# ------------------------------------------------------------------------------------------- divergence, refusals


SMALL = unrelated(0, 3, 3)


def test_the_last_iterate_starts_no_round() -> None:
    """x_r = 3 81^r: at r = 80 the drift 100 x_r^2 overflows, x_r^2 does not."""
    p = Quadratic(np.ones((1, 1, 1)), np.zeros((1, 1)))
    for rounds, status, at in ((80, "ran", -1), (81, "diverged", 80)):
        data = expectation(p, SFL(K=2, eta=10.0), rounds=rounds, x0=3.0, record=("drift",))
        assert (data["status"].item(), data["diverged_at"].item()) == (status, at)
        assert np.isfinite(data["drift"][0, :80]).all() and np.isnan(data["drift"][0, 80:]).all()


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
