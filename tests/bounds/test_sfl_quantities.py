"""The quantities of a round, in fractions, from the trace of the algorithms' own rounds: identities, moments, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

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
