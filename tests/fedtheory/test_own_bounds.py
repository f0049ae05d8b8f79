"""Bounds of a paper of one's own in numbers: step sizes, rounds, comparisons, orders, and which runs are about them."""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import Any

import numpy as np
import pytest
import sympy

import fedtheory as ft
from fedtheory.bounds import compare, rates, rounds_to, tune
from fedtheory.bounds.trials.arena import Arena, judge
from fedtheory.paper import (
    D,
    Delta,
    K,
    L,
    R,
    dist2,
    eta,
    gap,
    grad_sq,
    h,
    mu,
    paper,
    sigma,
    smooth,
    strongly_convex,
    strongly_convex_mean,
)  # fmt: skip
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.functions import ripple
from fedtheory.simulations.problems.quadratic import generate
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import orders
from fedtheory.theory.statement import Order, Status, Term

pytestmark = pytest.mark.usefixtures("alone")


def mine(name: str = "mine", algorithm: Any = PFL) -> Any:
    p = paper(name, step=K * eta)
    p.algorithm(algorithm)
    return p


def quadratic(**more: Any) -> Any:
    return generate(**{"d": 3, "M": 4, "L": 1.0, "mu": 0.1, "zeta_star": 1.0, "delta": 0.3, **more})


def judged(id_: str, problem: Any, algorithm: Any, **more: Any) -> Any:
    return judge([Arena(id_, "mine", problem, algorithm, **{"rounds": 60, **more})], catalogue.find(id_))


@pytest.mark.parametrize(
    ("id_", "problem", "algorithm", "says"),
    [
        ("sfl.thm2.general_convex", ft.problems["functions"]([ripple(1)] * 2), PFL(1, 1), "needs every F_m convex"),
        ("sfl.thm1.strongly_convex", quadratic(), PFL(2, 1), "is about SFL; here the algorithm is PFL"),
        ("sfl.thm2.strongly_convex", quadratic(), PFL(2, 1, S=2), "all clients take part; here 2 of 4 do"),
        (
            "fedcom.thmD7.corrected",
            quadratic(),
            ft.algorithms["FedCOM"](tau=5, eta=1),
            "clients with the same function",
        ),
        ("fixed.t", quadratic(), PFL(5, 1), "is about K = 1; here K = 5"),
        ("fixed.t", quadratic(sigma=1.0), PFL(1, 1), "about exact gradients; here sigma = 1"),
        ("fixed.t", quadratic(), PFL(1, 1, S=1), "all clients take part; here 1 of 4 do"),
    ],
)
def test_a_run_about_something_else_decides_nothing(id_: str, problem: Any, algorithm: Any, says: str) -> None:
    p = mine("fixed", partial(PFL, K=1))
    t = p.theorem(dist2.last <= (1 - mu * h) ** R * D**2, "t", when=h <= 1 / L, given=[smooth, strongly_convex])
    found = judged(id_, problem, algorithm)
    assert found.status is Status.OPEN and says in found.says
    assert judged(t.id, quadratic(), PFL(1, 1)).status is Status.TESTED
    p.arena(t, quadratic(sigma=1.0), rounds=60)
    assert p.check(t)[t.id].status is Status.TESTED  # by the search alone


def test_two_quadratics_of_one_minimiser_are_not_one_function() -> None:
    apart = quadratic(zeta_star=0.0)
    assert apart.constants["zeta_star"] < 1e-9 and apart.constants["beta"] > 0
    found = judged("fedcom.thmD7.corrected", apart, ft.algorithms["FedCOM"](tau=5, eta=1))
    assert "nothing bounds how far their gradients are apart" in found.says


def test_sides_that_round_to_the_same_are_compared_in_many_digits() -> None:
    p, given = mine(), [smooth, strongly_convex_mean]
    false = p.theorem(
        gap.last <= (1 - mu * h) ** (20 * R) * Delta, when=(1 - h * mu) ** K <= 1 - h * mu * K / 2, given=given
    )
    low, high = tune(false.id, mu=0.1, K=3, R=60, Delta=1.0).interval
    assert low == 0 and high == pytest.approx((3 - sqrt(3)) / 0.2, rel=1e-12)
    assert judged(false.id, quadratic(zeta_star=0.0), PFL(3, 1)).status is Status.REFUTED
    strict = p.theorem(grad_sq.mean <= Delta / (h * R), when=(1 + h * L) ** K < 1 + 2 * K * h * L, given=[smooth])
    assert tune(strict.id, Delta=1, R=10, L=1, K=3).interval == (0, pytest.approx((sqrt(21) - 3) / 2, rel=1e-12))
    never = p.theorem(grad_sq.mean <= Delta / (h * R), when=(1 + h * L) ** K <= 1 + h * L / 2, given=[smooth])
    with pytest.raises(ValueError, match="is violated for every eta_tilde"):
        tune(never.id, Delta=1, R=10, L=1, K=3)


def test_open_ends_and_several_intervals() -> None:
    p = mine()
    bound = grad_sq.mean <= Delta / (h * R) + h * L * sigma**2
    numbers = {"Delta": 1, "L": 1, "R": 100, "sigma": 1}
    for when, end in ((h < 2 / L, 2), (h * L / (1 - h * L) <= 1, 0.5), (h**2 * L / (2 - h * L) < L, 1)):
        found = tune(p.theorem(bound, when=when, given=[smooth]).id, **numbers)
        assert found.step_size == pytest.approx(0.1, rel=1e-6) and found.interval == (0, pytest.approx(end, rel=1e-12))
    assert tune(p.theorem(bound, when=h < 1 / L, given=[smooth]).id, **{**numbers, "sigma": 0}).best.admissible
    false = p.theorem(
        gap.last <= (1 - mu * h) ** (9 * R) * Delta, when=h < 1 / (2 * L), given=[smooth, strongly_convex]
    )
    assert judged(false.id, quadratic(delta=0.0), PFL(1, 1), fractions=(1.0,)).status is Status.REFUTED


def test_the_best_step_size_does_not_depend_on_units_and_may_be_none() -> None:
    p = mine()
    id_ = p.theorem(grad_sq.mean <= Delta / (h * R) + h * L * sigma**2, given=[smooth]).id
    for at in ({"L": 1e-20, "sigma": 1e-10, "Delta": 1}, {"L": 1, "sigma": 1e-10, "Delta": 1e30}):
        found = tune(id_, R=10, **at)
        assert found.best.value == pytest.approx(2 * sqrt(at["Delta"] * at["L"] * at["sigma"] ** 2 / 10))
        assert found.limit == ""
    assert tune(id_, R=10, L=1, sigma=0, Delta=1).limit == "infinity"
    assert tune(id_, R=10, L=1, sigma=1, Delta=0).limit == "0"


def test_rounds_where_the_bound_grows_again() -> None:
    p = mine()
    grows = p.theorem(grad_sq.mean <= Delta / (h * R) + h * L * sigma**2 * R**2, when=h <= 1 / L, given=[smooth])
    at = {"Delta": 1, "L": 1, "sigma": 0.006014}
    first = next(R for R in range(1, 60) if tune(grows.id, R=R, **at).best.value <= 0.065)
    assert rounds_to(0.065, grows.id, most=10**6, **at) == first
    few = p.theorem(grad_sq.mean <= Delta / (h * R), when=[h <= 1 / L, R <= 100], given=[smooth])
    assert rounds_to(1 / 80, few.id, most=10**6, Delta=1, L=1) == 80
    assert rounds_to(1 / 101, few.id, most=10**6, Delta=1, L=1) is None


def test_comparisons_and_rates_of_other_forms() -> None:
    p = mine()

    def bound(value: sympy.Expr) -> str:
        return str(p.theorem(gap.last <= value, when=h <= 1 / L, given=[smooth]).id)

    one, other = bound(5 * K * Delta / R), bound((K**2 + 4) * Delta / R)
    (when,) = compare(one, other).smaller_when.values()
    assert [when.subs(K, n) == sympy.true for n in (1, 2, 4, 5)] == [False, False, False, True]
    beyond = compare("sfl.thm1.strongly_convex", "sfl.thm2.strongly_convex", L=1, mu=0.1, sigma=1, zeta_star=1, D=1, M=10,
                     K=5, R=100, eta_tilde=5).violations  # fmt: skip
    assert len(beyond) == 2 and all("eta_tilde <= 1/(6*L) is violated" in one for one in beyond)
    half = sympy.Rational(1, 2)
    for value, p_of_R in (
        (sympy.Max(1 / R, 1 / sympy.sqrt(R)) * Delta, -half),
        (sympy.Min(1 / R, 1 / sympy.sqrt(R)) * Delta, -1),
        (sympy.Piecewise((Delta, R < 5), (Delta / R, True)), -1),
        ((1 - 3 * mu * h) ** R * Delta, -sympy.oo),
    ):
        assert [*rates(bound(value)).exponents.values()] == [{"R": p_of_R}]
    with pytest.raises(ValueError, match=r"how it grows with R is not known"):
        rates(bound((2 + sympy.cos(R)) * Delta))


def test_an_order_hides_every_constant_and_no_power() -> None:
    one = L * D**2 / R

    def of(value: sympy.Expr, order: sympy.Expr) -> Any:
        return orders._cover(value, Order(gap.last, (Term("o", order),)), [])

    assert of(2000 * one, one).status is of(3 * one, one / 10**12).status is Status.PROVED
    for power in (1, sympy.Rational(1, 3)):
        wrong = of(3 * one, one / R**power)
        assert wrong.status is Status.REFUTED and "it grows without limit" in wrong.says
    undecided = of((D**2 * L + sigma**2 / L) ** 2 / (D**2 * L * R), one + sigma**4 / (L**3 * D**2 * R))
    assert undecided.status is Status.OPEN and "exceeds" not in undecided.says


def test_what_is_refused_when_it_is_declared() -> None:
    p = mine()
    with pytest.raises(ValueError, match=r"O\(1/R\): expected Order\(quantity"):
        p.theorem(gap.last <= sympy.O(1 / R))
    with pytest.raises(ValueError, match="expected conditions such as"):
        p.theorem(gap.last <= Delta, when=sympy.Ne(h, 1))
    with pytest.raises(ValueError, match="quantity 'x_last': expected its name before a round, without _last"):
        p.quantity("x_last", "", L, lambda t, _: t.x.square)


def test_a_start_at_the_minimiser_measures_nothing() -> None:
    problem = quadratic(zeta_star=0.0, delta=0.0)
    star = tuple(np.asarray(problem.constants["x_star"]).tolist())
    found = judged("sfl.thm2.strongly_convex", problem, PFL(2, 1), x0=star)
    assert found.status is Status.TESTED and found.says.endswith("what is measured is 0")
