"""The binarisation operator of FedBAT: its law, its straight-through derivatives, numpy and torch alike, on the wire."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import sympy
import torch
from hypothesis import given, strategies as st

from fedtheory.simulations.binarisation import (
    binarise,
    derivatives,
    error,
    law,
    pack,
    step_size,
    unpack,
    wire_bits,
)
from fedtheory.simulations.networks import straight_through

NUMBERS = st.integers(-20, 20).map(lambda n: n / 8)
STEPS = st.integers(0, 16).map(lambda n: n / 8)
ZETAS = st.integers(0, 63).map(lambda n: n / 64)
LAYERS = {"a": slice(0, 3), "b": slice(3, 4), "c": slice(4, 13)}


def as_printed(x: float, alpha: float, zeta: float) -> float:
    """(6) and (7), a scalar."""
    if abs(x) > alpha:
        return alpha if x > 0 else -alpha
    return float(alpha * (2 * np.floor((alpha + x) / (2 * alpha) + zeta) - 1))


@given(NUMBERS, STEPS.filter(bool), ZETAS)
def test_one_entry_at_a_time_as_printed(x: float, alpha: float, zeta: float) -> None:
    assert binarise([x], alpha, [zeta])[0] == as_printed(x, alpha, zeta)


def test_the_law_is_that_of_zeta() -> None:
    """zeta in the middles of 64 equal parts of [0, 1), alpha + x whole multiples of alpha/32: probabilities are counts."""
    x = [Fraction(n, 16) for n in (-40, -16, -9, 0, 3, 16, 17)]
    zeta = (np.arange(64) + 0.5) / 64
    found = law(x, Fraction(1))
    assert sum(p for p, _ in found) == 1
    for i, v in enumerate(x):
        up = sum(p for p, outcome in found if outcome[i] > 0)
        counted = binarise(np.full(64, float(v)), 1.0, zeta)
        assert up == Fraction(int((counted > 0).sum()), 64)


def test_unbiased_if_nothing_is_clipped_and_its_error() -> None:
    x = [Fraction(n, 8) for n in (-8, -3, 0, 5)]
    for alpha in (Fraction(1), Fraction(3, 2)):
        found = law(x, alpha)
        mean = [sum(p * outcome[i] for p, outcome in found) for i in range(4)]
        assert mean == x
        squared = sum(p * sum((s - v) ** 2 for s, v in zip(outcome, x, strict=True)) for p, outcome in found)
        assert error(np.array(x, dtype=float), float(alpha)) == pytest.approx(float(squared), rel=1e-14)
        assert squared == 4 * alpha**2 - sum(v**2 for v in x)
    clipped = law(x, Fraction(1, 2))
    assert [sum(p * outcome[i] for p, outcome in clipped) for i in range(4)] == [
        -Fraction(1, 2),
        x[1],
        0,
        Fraction(1, 2),
    ]


@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_q_is_the_root_of_d_minus_1_and_attained_where_all_but_one_entry_are_zero(d: int) -> None:
    """alpha the largest size: E||S(x) - x||^2 = d alpha^2 - ||x||^2, at most (d - 1)||x||^2."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, d))
    ratio = error(x, np.abs(x).max(-1, keepdims=True)) / (x**2).sum(-1)
    assert ratio.max() <= d - 1 + 1e-12
    one = np.eye(d)[0]
    assert error(one, 1.0) == d - 1 and (d == 1 or ratio.mean() < d - 1)


# ------------------------------------------------------------------------------------------------------- edges


def test_at_the_ends_and_at_zero() -> None:
    """Where the printed floor rounds to 2, or divides by 0."""
    last = np.nextafter(np.float32(1), np.float32(0))
    for alpha in np.float32([1, 0.1, 3e-38, 1.5e-45, 3e38 / 2]):
        x = np.array([alpha, -alpha], dtype=np.float32)
        for zeta in (np.float32(0), last):
            found = binarise(x, alpha, np.array([zeta, zeta]))
            assert found.dtype == np.float32 and (found == x).all()
    under_the_floor = np.float32(1) + last
    assert np.floor(under_the_floor) == 2, "as printed S(alpha, alpha) is 3 alpha there"
    assert (binarise([-1.0, 0.0, 2.0], 0.0, [0.3, 0.3, 0.3]) == 0).all()
    by_x, by_alpha = derivatives(np.array([-1.0, 0.0, 2.0]), 0.0, np.array([0.3, 0.3, 0.3]))
    assert by_x.tolist() == [0, 1, 0] and by_alpha.tolist() == [-1, 1, 1]
    assert np.isnan(binarise([np.nan], 1.0, [0.5])[0]) and np.isnan(binarise([1.0], np.nan, [0.5])[0])
    for function in (binarise, derivatives):
        with pytest.raises(ValueError, match="alpha = -1: expected a step size >= 0"):
            function([0.5], -1.0, [0.5])
    with pytest.raises(ValueError, match="expected a step size >= 0"):
        error([0.5], -1.0)
    with pytest.raises(ValueError, match="8192 outcomes of S: expected at most 4096"):
        law([Fraction(0)] * 13, Fraction(1))
    with pytest.raises(ValueError, match="alpha = -1"):
        law([Fraction(0)], Fraction(-1))


# ------------------------------------------------------------------------------------------------- derivatives


def test_the_derivatives_are_those_of_7_with_the_floor_as_the_identity() -> None:
    x, alpha, zeta, floor = sympy.symbols("x alpha zeta floor", real=True)
    inside = (alpha + x) / (2 * alpha) + zeta
    value = alpha * (2 * floor - 1)
    through = {
        "x": value.diff(floor) * inside.diff(x),
        "alpha": value.diff(alpha) + value.diff(floor) * inside.diff(alpha),
    }
    for v in (-1.0, -0.6, 0.0, 0.25, 1.0):
        for noise in (0.0, 0.3, 0.9):
            at = {x: v, alpha: 1.0, zeta: noise, floor: np.floor((1 + v) / 2 + noise)}
            by_x, by_alpha = derivatives(np.array([v]), 1.0, np.array([noise]))
            assert by_x[0] == pytest.approx(float(through["x"].subs(at)))
            assert by_alpha[0] == pytest.approx(float(through["alpha"].subs(at)))


def test_beyond_the_ends_they_are_true_derivatives() -> None:
    """There S does not depend on zeta: finite differences."""
    x, alpha, h = np.array([-3.0, 1.5]), 1.0, 1e-6
    by_x, by_alpha = derivatives(x, alpha, np.array([0.2, 0.8]))
    change = (binarise(x, alpha + h, [0.2, 0.8]) - binarise(x, alpha - h, [0.2, 0.8])) / (2 * h)
    np.testing.assert_allclose(by_alpha, change, rtol=1e-9)
    assert (by_x == 0).all() and (binarise(x + h, alpha, [0.2, 0.8]) == binarise(x, alpha, [0.2, 0.8])).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_and_torch_are_identical(dtype: type) -> None:
    """Values bit by bit, and gradients, with an alpha for each of three layers."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 50)).astype(dtype)
    alpha = np.array([[0.0], [0.4], [2.0]], dtype=dtype)
    x[1, :2], x[0, :5] = (alpha[1, 0], -alpha[1, 0]), 0.0
    zeta, upstream = rng.random((3, 50)).astype(dtype), rng.normal(size=(3, 50)).astype(dtype)
    tensors = [torch.tensor(v, requires_grad=True) for v in (x, alpha)]
    found = straight_through.binarise(*tensors, torch.tensor(zeta))
    found.backward(torch.tensor(upstream))
    assert found.dtype == tensors[0].dtype
    np.testing.assert_array_equal(found.detach().numpy(), binarise(x, alpha, zeta))
    by_x, by_alpha = derivatives(x, alpha, zeta)
    np.testing.assert_array_equal(tensors[0].grad.numpy(), upstream * by_x)  # type: ignore[union-attr]
    summed = (upstream * by_alpha).sum(1, keepdims=True)
    np.testing.assert_allclose(tensors[1].grad.numpy(), summed, rtol=1e-4 if dtype == np.float32 else 1e-12)  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=r"alpha = -1\.0: expected step sizes >= 0"):
        straight_through.binarise(tensors[0], torch.tensor(-1.0), torch.tensor(zeta))


def test_the_exponent_keeps_alpha_positive() -> None:
    """(10) with (9): the slope in alpha_e is rho alpha times that in alpha."""
    exponent = torch.tensor(-0.7, dtype=torch.float64, requires_grad=True)
    alpha = 0.3 * torch.exp(6 * exponent)
    x, zeta = torch.tensor([0.001, -2.0], dtype=torch.float64), torch.tensor([0.5, 0.5], dtype=torch.float64)
    straight_through.binarise(x, alpha, zeta).sum().backward()
    assert step_size(0.3, 6, -0.7) == pytest.approx(alpha.item()) and alpha.item() > 0
    _, by_alpha = derivatives(x.numpy(), alpha.item(), zeta.numpy())
    assert exponent.grad is not None and exponent.grad.item() == pytest.approx(6 * alpha.item() * by_alpha.sum())


# ------------------------------------------------------------------------------------------------------ on the wire


def test_an_update_on_the_wire() -> None:
    rng = np.random.default_rng(2)
    alphas = np.repeat(np.float32([0.1, 0.0, 3.0]), [3, 1, 9])
    update = binarise(rng.normal(size=13).astype(np.float32), alphas, rng.random(13).astype(np.float32))
    data = pack(update, LAYERS)
    assert wire_bits(LAYERS) == 3 * 32 + 13 and len(data) == 3 * 4 + 2
    np.testing.assert_array_equal(unpack(data, LAYERS), update)
    for wrong in (update[:-1], np.append(update, 1)):
        with pytest.raises(ValueError, match="expected slices one after another from 0 to"):
            pack(wrong, LAYERS)
    with pytest.raises(ValueError, match="layer c: expected finite entries of one size"):
        pack(np.where(np.arange(13) == 7, 0.5, update), LAYERS)
    with pytest.raises(ValueError, match="13 bytes: expected 14"):
        unpack(data[:-1], LAYERS)
    assert all(a.stop == b.start for a, b in pairwise(LAYERS.values()))
