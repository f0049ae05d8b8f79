"""Bounds of a paper of one's own in numbers: step sizes, rounds, comparisons, orders, and which runs are about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
import pytest
import sympy

import fedtheory as ft
from fedtheory.bounds import compare, rates, rounds_to, tune
from fedtheory.bounds.evaluation import compiled
from fedtheory.bounds.trials.arena import Arena, judge
from fedtheory.paper import (
    D,
    Delta,
    K,
    L,
    R,
    convex,
    convex_mean,
    dist2,
    eta,
    gap,
    grad_sq,
    h,
    heterogeneity,
    mu,
    paper,
    sigma,
    smooth,
    spread_everywhere,
    strongly_convex,
    strongly_convex_mean,
    zeta,
)  # fmt: skip
from fedtheory.simulations import NoSuchConstant
from fedtheory.simulations.algorithms.base import LocalSteps
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.functions import huber, ripple
from fedtheory.simulations.problems.quadratic import Quadratic, generate
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


MINE = {n: ft.problems["functions"](f) for n, f in {"ripple": [ripple(1)] * 2, "huber": [huber(1)]}.items()}
APART = Quadratic(np.array([[[1.0]], [[0.0]]]), np.zeros((2, 1)))


@pytest.mark.parametrize(
    ("given", "problem", "says"),
    [
        ([smooth, convex, spread_everywhere], APART, "beta = 0; here beta = 1.4"),
        ([smooth, convex_mean], MINE["ripple"], "F convex, which is not known"),
        ([smooth, strongly_convex], MINE["huber"], "strongly convex; here the smallest curvature is 0"),
        ([smooth, strongly_convex_mean], MINE["huber"], "F strongly convex, which is not known"),
    ],
)
def test_an_assumption_that_the_problem_does_not_meet(given: Any, problem: Any, says: str) -> None:
    t = mine().theorem(gap.last <= L * D**2 / (h * L * R), when=h <= 1 / L, given=given)
    found = judged(t.id, problem, PFL(1, 1))
    assert found.status is Status.OPEN and says in found.says


def test_what_does_not_narrow_a_theorem() -> None:
    """An arena at one K, S = M, sampling that the paper fixes, noise in words."""
    p, given = mine(), [smooth, strongly_convex]
    claim, when = gap.last <= L / 2 * (1 - mu * h / 2) ** R * D**2, h <= 1 / (4 * L)
    t = p.theorem(claim, "t", when=when, given=given)
    p.arena(t, quadratic(zeta_star=0.0), rounds=20, K=2)
    equal = quadratic(zeta_star=0.0)
    for run in (PFL(3, 1), PFL(1, 1, S=4), type("Mine", (PFL,), {})(2, 1)):
        assert judged(t.id, equal, run).status is Status.TESTED
    words = p.theorem(claim, "w", when=when, given=[*given, p.assume("words", "Noise as in Assumption 3.")])
    assert "not about" not in judged(words.id, quadratic(sigma=0.1), PFL(1, 1)).says
    q = mine("few", partial(PFL, 1, S=2))
    few = q.theorem(claim, "t", when=when, given=given)
    assert "not about" not in judged(few.id, equal, PFL(1, 1, S=2)).says
    assert "is about K = 1; here K = 3" in judged(few.id, equal, PFL(3, 1, S=2)).says
    assert "is about S = 2; here S = 4" in judged(few.id, equal, PFL(1, 1)).says


def test_numbers_that_are_given_may_not_be_smaller_than_certified_ones() -> None:
    t = mine().theorem(gap.last <= L * D**2 / (h * L * R), when=h <= 1 / L, given=[smooth, convex])
    with pytest.raises(
        NoSuchConstant, match="L = 0.2 is given for quadratics.*: expected at least 1, as the problem has it"
    ):
        judged(t.id, quadratic(), PFL(1, 1), given=(("L", 0.2),))


def test_an_algorithm_of_ones_own_does_not_refute_a_theorem_of_the_papers() -> None:
    @dataclass(frozen=True)
    class Away(LocalSteps):
        def round(self, problem: Any, x: Any, *rest: Any) -> Any:
            return 1.5 * x

    found = judged("sfl.thm2.strongly_convex", quadratic(), Away(2, 1), given=(("K", 2.0),), rounds=80)
    assert found.status is Status.OPEN and "whether Away is PFL in another form, nobody checks" in found.says


def test_a_theorem_of_a_paper_with_two_algorithms_is_refuted_by_that_of_its_arenas() -> None:
    p = mine()
    p.algorithm(SFL)
    t = p.theorem(gap.last <= (1 - mu * h) ** (9 * R) * Delta, "t", when=h <= 1 / L, given=[smooth, strongly_convex])
    found = judged(t.id, quadratic(delta=0.0), PFL(1, 1))
    assert found.status is Status.OPEN and found.says.endswith("no arena says that this is about PFL")
    p.arena(t, quadratic(delta=0.0), rounds=20, algorithm=PFL, K=1)
    assert judged(t.id, quadratic(delta=0.0), PFL(1, 1)).status is Status.REFUTED


def test_conditions_of_several_kinds_have_their_intervals() -> None:
    p = mine()
    bound = grad_sq.mean <= Delta / (h * R) + h * L * sigma**2
    at: dict[str, Any] = {"Delta": 1, "L": 1, "R": 100, "sigma": 1, "mu": 0.1, "D": 1, "K": 1}

    def interval(*when: Any, **other: Any) -> tuple[float, float]:
        id_ = p.theorem(bound, when=list(when), given=[smooth]).id
        own = {s.name for s in compiled(id_).parameters}
        return tune(id_, **{n: v for n, v in {**at, **other}.items() if n in own}).interval

    two = (h * L - 1) * (h * L - 5)
    assert interval(sympy.Eq(h, 1 / L)) == (1, 1)
    assert interval(two >= 0) == (0, pytest.approx(1)) and interval(two >= 0, h >= 6 / L) == (pytest.approx(6), np.inf)
    assert interval(two <= 0) == (pytest.approx(1), pytest.approx(5))
    assert interval(h <= 1 / L, h <= D / (sigma * sympy.sqrt(R)), sigma=0) == (0, 1)
    assert interval(h <= sympy.Min(1 / L, D / (sigma * sympy.sqrt(R))), sigma=0) == (0, pytest.approx(1, rel=1e-12))
    assert interval(h <= 1 / (L * (K - 1)), h <= 1 / L) == (0, 1)
    for kappa in (10, 10**4):  # the sides of this one round to 1 where h is small
        found = interval((1 - h * mu) ** 2 + h**2 * L**2 < 1, mu=1 / kappa)
        assert found == (0, pytest.approx(2 / kappa / (1 + 1 / kappa**2), rel=1e-9))


def test_a_constant_in_the_bound_hides_no_limit() -> None:
    p = mine()
    falls = p.theorem(grad_sq.mean <= zeta**2 + h * L * sigma**2, when=h <= 1 / L, given=[smooth, heterogeneity]).id
    assert tune(falls, zeta_star=1, L=1, sigma=1).limit == "0"
    both = p.theorem(grad_sq.mean <= zeta**2 + Delta / (h * R) + h * L * sigma**2, when=h <= 1 / L, given=[smooth]).id
    found = tune(both, zeta_star=1e6, Delta=1, R=10**7, L=1, sigma=1)
    assert found.step_size == pytest.approx(10**-3.5, rel=1e-6)


def test_exponents_are_those_of_constants_that_meet_the_conditions() -> None:
    p = mine()
    for value, when, p_of_R in (
        ((1 - mu * h + 4 * h**2 * L**2) ** R, h <= mu / (8 * L**2), -sympy.oo),
        ((2 * h * L) ** R, h < 1 / (2 * L), -sympy.oo),
        ((1 - mu / L) ** R, mu <= L, -sympy.oo),
        (sympy.Piecewise((1 / R, K > 1), (1 / R**2, True)), K >= 2, -1),
        (R ** (-mu / L), mu <= L, -mu / L),
    ):
        found = rates(p.theorem(gap.last <= Delta * value, when=when, given=[smooth]).id, ("R",)).exponents
        assert [*found.values()] == [{"R": p_of_R}]
    with pytest.raises(ValueError, match="or depends on constants"):
        rates(p.theorem(gap.last <= Delta / (1 + R ** (mu / L)), when=mu <= L).id, ("R",))
    one, other = (p.theorem(gap.last <= Delta * e, when=h <= 1 / L).id for e in (2**K / R, K**3 / R))
    assert compare(one, other).smaller_when["optimisation"] == (2**K / K**3 < 1)


def test_no_true_order_is_broken() -> None:
    def of(value: sympy.Expr, order: sympy.Expr, *when: Any) -> Status:
        return orders._cover(value, Order(gap.last, (Term("o", order),)), list(when)).status

    one = L * D**2 / R
    for value, order, *when in (
        ((1 - mu / L) ** R, sympy.exp(-mu * R / L), mu <= L),
        (L * D**2 / (1 + R / 10**6), one),
        (K * one / R, one, K <= 10**7 * R),
        (L * D**2, one, R <= 10**5),
    ):
        assert of(value, order, *when) is Status.OPEN
    assert of(one, sympy.Integer(0)) is not Status.PROVED and of(one, -one) is not Status.PROVED
    two = Order(gap.last, (Term("one", one), Term("two", sigma**2 / (L * R))))
    assert orders._cover((D**2 * L + sigma**2 / L) / R, two, []).status is Status.PROVED


def test_the_best_step_size_is_best_where_the_bound_falls_at_both_ends() -> None:
    third = sympy.Rational(1, 3)
    value = 10 * L * Delta * (1 - h * mu / 2) ** R / 3 + 10 * L**third * h**third * sigma**2 / 3
    id_ = mine().theorem(gap.last <= value, when=h <= 1 / L, given=[smooth]).id
    found = tune(id_, L=1, mu=0.01, R=100, sigma=1, Delta=1)
    assert found.limit == "0" and found.best.value == pytest.approx(10 / 3)


def test_missing_numbers_are_told_also_where_no_step_size_is_admissible() -> None:
    p = mine()
    id_ = p.theorem(grad_sq.mean <= Delta / (h * R), when=h <= (1 - 100 / R) / L, given=[smooth]).id
    with pytest.raises(ValueError, match="needs? .*Delta"):
        rounds_to(0.1, id_, L=1)
    with pytest.raises(ValueError, match="is violated for every eta_tilde; with these numbers it needs R >= 101"):
        tune(id_, L=1, Delta=1, R=10)
