"""The best step size, two bounds side by side, and orders: against grids, closed forms and hand-written exponents."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log, nan, sqrt
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings, strategies as st

from fedtheory.bounds import ConditionViolated, compare, evaluate, rates, rounds_to, tune
from fedtheory.bounds.comparison import Comparison
from fedtheory.bounds.evaluation import compile_statement, compiled
from fedtheory.bounds.tuning import admissible_interval, closed_form, largest_step
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Condition, Order
from tests.bounds.points import BOUNDS, points_inside

STRONG: dict[str, Any] = dict(L=1.0, mu=0.1, sigma=0.5, zeta_star=1.0, D=3.0, M=10, K=5, R=500)
CONVEX: dict[str, Any] = {k: v for k, v in STRONG.items() if k != "mu"}
ROUGH: dict[str, Any] = dict(L=2.0, beta=0.5, sigma=0.5, zeta=1.0, A=3.0, M=10, K=5, R=500)


def parameters(id_: str) -> set[str]:
    return {s.name for s in compiled(id_).parameters}


# --- tune ------------------------------------------------------------------------------------------------------------


TUNABLE = [id_ for id_ in BOUNDS if {"eta_tilde", "R"} <= parameters(id_)]


@pytest.mark.dear
@pytest.mark.parametrize("examples", [3, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("id_", TUNABLE)
def test_nothing_admissible_beats_the_tuned_step_size(id_: str, examples: int) -> None:
    for values in points_inside(id_, examples):
        del values["eta_tilde"]
        found = tune(id_, **values)
        low, high = found.interval
        assert low <= found.step_size * (1 + 1e-12) and found.step_size <= high * (1 + 1e-12)
        grid = np.geomspace(max(low, high * 1e-9), high, 5000)
        assert found.best.value <= evaluate(id_, eta_tilde=grid, **values).value.min() * (1 + 1e-9)
        assert found.best.admissible
        # the interval is the whole of what is admissible
        for outside in [high * (1 + 1e-6)] + ([low * (1 - 1e-6)] if low > 0 else []):
            with pytest.raises(ConditionViolated):
                evaluate(id_, eta_tilde=outside, **values)


@given(D=st.floats(0.1, 10), zeta_star=st.floats(0.1, 10), R=st.integers(10, 10**6))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_two_terms_have_the_minimum_of_the_calculus(D: float, zeta_star: float, R: int) -> None:
    """sigma = 0: 3 D^2/(x R) + 18 L x^2 zeta^2/M is least at x^3 = D^2 M/(12 L R zeta^2), or at 1/(6L)."""
    found = tune("sfl.thm1.general_convex", L=1.0, sigma=0.0, zeta_star=zeta_star, D=D, M=10, K=5, R=R)
    best = min((D**2 * 10 / (12 * R * zeta_star**2)) ** (1 / 3), 1 / 6)
    assert found.step_size == pytest.approx(best, rel=1e-5)
    assert found.best.value == pytest.approx(3 * D**2 / (best * R) + 1.8 * best**2 * zeta_star**2, rel=1e-9)


def test_without_errors_the_largest_step_size_is_best() -> None:
    found = tune("sfl.thm1.strongly_convex", **{**STRONG, "sigma": 0.0, "zeta_star": 0.0})
    assert found.step_size == pytest.approx(1 / 6, rel=1e-12) and found.interval == pytest.approx((0.02, 1 / 6))
    assert found.best.value == pytest.approx(4.5 * 0.1 * 9 * np.exp(-0.05 / 6 * 500), rel=1e-12)


def test_the_interval_of_conditions_that_are_not_linear() -> None:
    """(21) is (32) solved for eta; (61) and (78) hold up to the interval's end and fail beyond."""
    values: dict[str, Any] = dict(L=2.0, tau=5, gamma=3.0, q=3.0, m=4, sigma=1.0, f_gap=1.0, R=10)
    b = 3 / 4 + 1
    root = (sqrt(b**2 * 9 + 4) - b * 3) / (2 * 2 * 5)
    low, high = admissible_interval("fedcom.thmD4", **values)
    assert low == 0 and high == pytest.approx(root, rel=1e-12) and high <= root * (1 + 1e-13)
    more = values | dict(G_q=0.0, fj_gap_mean=1.0, mu=0.1, dist_sq_mean=1.0)
    for id_ in ("fedcom.thmE4", "fedcom.thmE6"):
        given = {s.name: more[s.name] for s in compiled(id_).parameters if s.name != "eta"}
        low, high = admissible_interval(id_, "eta", **given)
        assert low == 0 and evaluate(id_, **given, eta=high).admissible
        assert largest_step(compiled(id_), "eta", given) == high
        with pytest.raises(ConditionViolated):
            evaluate(id_, **given, eta=high * (1 + 1e-9))


def test_the_interval_of_a_condition_that_needs_large_step_sizes() -> None:
    """Condition (44) of Theorem D.9, 1/(4 gamma^2 b^2) + 1/2 <= 1, gamma >= m of Corollary D.8, and T of Lemma 7."""
    values: dict[str, Any] = dict(L=2.0, tau=5, q=3.0, m=4, sigma=1.0, f_gap=1.0, R=10, w_star_norm=1.0)
    low, high = admissible_interval("fedcom.thmD9", "gamma", **values)
    assert low == pytest.approx(1 / (sqrt(2) * (3 / 4 + 1)), rel=1e-12) and high == inf
    del values["w_star_norm"], values["L"]
    assert admissible_interval("fedcom.corD8", mu=1.0, kappa=2.0, **values) == (4, inf)
    assert admissible_interval("sfl.lemma7.eq39", a=0.1, d=1, T=20, c=1, r0=1) == pytest.approx((1 / 4.2, 1))


def test_a_condition_that_holds_between_two_step_sizes() -> None:
    symbols = {s.name: s.sympy for s in compiled("fedcom.thmD4").parameters}
    eta, L = symbols["eta"], symbols["L"]
    between = Condition(sympy.Le((eta * L - 1) ** 2, sympy.Rational(1, 4)))
    odd = compile_statement(replace(catalogue.find("fedcom.thmD4"), when=(between,)))
    assert largest_step(odd, "eta", {"L": 1.0}) == pytest.approx(1.5, rel=1e-12)
    free = compile_statement(replace(catalogue.find("fedcom.thmD4"), when=()))
    assert largest_step(free, "eta", {"L": 1.0}) == inf


def test_too_few_rounds_leave_no_step_size() -> None:
    with pytest.raises(ConditionViolated, match=r"no eta_tilde is admissible, expected one in \[0.169492, 0.166"):
        tune("sfl.thm1.strongly_convex", **{**STRONG, "R": 59})
    with pytest.raises(ConditionViolated, match="it needs R >= 60$"):
        tune("sfl.thm1.strongly_convex", **{**STRONG, "R": 1})
    at_the_edge = tune("sfl.thm1.strongly_convex", **{**STRONG, "R": 60})
    assert at_the_edge.step_size == pytest.approx(1 / 6)
    with pytest.raises(ConditionViolated, match="S <= M"):
        tune("sfl.eq46", **{**CONVEX, "S": 11})


def test_tuning_refuses_what_it_chooses_itself() -> None:
    with pytest.raises(ValueError, match=r"eta_tilde = 0.1 was given, but tuning chooses it"):
        tune("sfl.thm1.general_convex", eta_tilde=0.1, **CONVEX)
    with pytest.raises(
        ValueError, match=r"sfl.lemma4: expected a bound with a step size to tune; its parameters are M, S, K, zeta"
    ):
        tune("sfl.lemma4", M=3, S=2, K=2, zeta=1)
    with pytest.raises(ValueError, match="needs D too"):
        tune("sfl.thm1.general_convex", **{k: v for k, v in CONVEX.items() if k != "D"})


def test_the_closed_form_is_that_of_lemma_7() -> None:
    """a = mu/2, c = 4 sigma^2/(MK), d = 6L, r0 = D^2, T = R: min(ln(max(2, a^2 r0 T/c))/(aT), 1/d)."""
    for sigma, L in ((0.5, 0.2), (20.0, 1.0), (0.5, 1.0)):
        found = tune("sfl.thm1.strongly_convex", **{**STRONG, "sigma": sigma, "L": L})
        a, c, T = 0.05, 4 * sigma**2 / 50, 500
        assert found.closed_form == pytest.approx(min(log(max(2, a**2 * 9 * T / c)) / (a * T), 1 / (6 * L)), rel=1e-12)
        assert found.closed is not None and found.closed.value >= found.best.value * (1 - 1e-12)


def test_the_closed_form_is_that_of_lemma_8() -> None:
    """c1, c2 as printed at (46), d = 6L, r0 = D^2, T = R."""
    for sigma, zeta_star in ((0.5, 1.0), (30.0, 0.0), (0.0, 30.0), (0.0, 0.0)):
        found = tune("sfl.eq46", **{**CONVEX, "S": 4, "sigma": sigma, "zeta_star": zeta_star})
        c1 = 4 * sigma**2 / 20 + 4 * 6 * zeta_star**2 / (4 * 9)
        c2 = 6 * sigma**2 / 20 + 6 * zeta_star**2 / 4
        roots = [(9 / (c1 * 501)) ** (1 / 2) if c1 else inf, (9 / (c2 * 501)) ** (1 / 3) if c2 else inf, 1 / 6]
        assert found.closed_form == pytest.approx(min(roots), rel=1e-12)
        assert found.closed is not None and found.closed.admissible


def test_the_closed_form_of_the_nonconvex_case_keeps_its_own_d() -> None:
    quiet = {**ROUGH, "sigma": 0.0, "zeta": 0.0, "beta": 4.0}
    assert tune("sfl.thm1.nonconvex", **quiet).closed_form == pytest.approx(1 / (6 * 2 * 5))
    assert tune("sfl.eq54", **{**quiet, "S": 4}).closed_form == pytest.approx(1 / (6 * 2 * 2))


def test_a_proof_without_a_choice_has_no_closed_form() -> None:
    assert closed_form(catalogue.find("sfl.lemma8.eq44"), {}) is None
    started_at_the_optimum = tune("sfl.thm1.general_convex", **{**CONVEX, "D": 0.0})
    assert started_at_the_optimum.closed_form is None and started_at_the_optimum.closed is None


# --- rounds_to -------------------------------------------------------------------------------------------------------


@pytest.mark.dear
@pytest.mark.parametrize(
    ("id_", "values"),
    [("sfl.thm1.strongly_convex", STRONG), ("sfl.thm2.general_convex", CONVEX), ("sfl.thm1.nonconvex", ROUGH)],
)
def test_rounds_to_is_the_smallest_and_monotone(id_: str, values: dict[str, Any]) -> None:
    rest = {k: v for k, v in values.items() if k != "R"}
    previous = 0
    for epsilon in (1.0, 0.5, 0.2):
        R = rounds_to(epsilon, id_, **rest)
        assert R is not None and previous <= R
        assert tune(id_, R=R, **rest).best.value <= epsilon
        if R > 1:
            try:
                assert tune(id_, R=R - 1, **rest).best.value > epsilon
            except ConditionViolated:  # R - 1 < 6 L / mu
                assert R - 1 < 60
        previous = R


def test_rounds_to_knows_its_limits() -> None:
    rest = {k: v for k, v in CONVEX.items() if k != "R"}
    R = rounds_to(0.5, "sfl.thm1.general_convex", **rest)
    assert R is not None and R & (R - 1)  # no power of two: the limit falls between two doublings
    assert rounds_to(0.5, "sfl.thm1.general_convex", most=R, **rest) == R
    assert rounds_to(0.5, "sfl.thm1.general_convex", most=R - 1, **rest) is None
    with pytest.raises(ValueError, match="most = 1000000000000000000000000000000: expected a whole number"):
        rounds_to(0.5, "sfl.thm1.general_convex", most=10**30, **rest)
    for epsilon in (0.0, -1.0, nan, inf):
        with pytest.raises(ValueError, match="expected a finite number > 0"):
            rounds_to(epsilon, "sfl.thm1.general_convex", **rest)
    with pytest.raises(ValueError, match="R = 3 was given"):
        rounds_to(1.0, "sfl.thm1.general_convex", **{**rest, "R": 3})
    with pytest.raises(ValueError, match="does not depend on R"):
        rounds_to(1.0, "sfl.lemma4", M=3, S=2, K=2, zeta=1)


# --- compare ---------------------------------------------------------------------------------------------------------

m = next(s.sympy for s in catalogue.paper("sfl").symbols.values() if s.name == "M")


def test_the_table_has_one_over_m_on_both_terms() -> None:
    found = compare("sfl.table1.sfl_thm1", "sfl.table1.pfl_thm2")
    assert found.ratios == {"noise": 1, "noise_drift": 1 / m, "heterogeneity": 1 / m, "optimisation": 1}
    assert found.dominant == {"sfl.table1.sfl_thm1": ["noise"], "sfl.table1.pfl_thm2": ["noise"]}
    assert found.dominant_ratio == 1
    against_sgd = compare("sfl.table1.sgd", "sfl.table1.pfl_thm2")
    assert against_sgd.only == dict.fromkeys(("noise_drift", "heterogeneity"), "sfl.table1.pfl_thm2")


def changed(found: Comparison, name: str, at: float, whole: bool, values: dict[str, float]) -> bool:
    """Whether the smaller bound differs just below and at (or just above) the crossing."""

    def first_is_smaller(x: float) -> bool:
        one, two = (
            evaluate(id_, strict=False, **{k: v for k, v in {**values, name: x}.items() if k in parameters(id_)}).value
            for id_ in (found.first, found.second)
        )
        return bool(one < two)

    below, above = (at - 1, at) if whole else (at * (1 - 1e-6), at * (1 + 1e-6))
    return first_is_smaller(below) != first_is_smaller(above)


def test_a_crossing_is_where_the_smaller_bound_changes() -> None:
    values = {**STRONG, "sigma_star": 0.3}
    found = compare("sfl.table1.sfl_thm1", "sfl.table1.pfl_koloskova", **values)
    assert found.values is not None
    assert set(found.crossings) >= {"M", "sigma", "zeta_star"}
    for name, places in found.crossings.items():
        for at in places:
            assert changed(found, name, at, name in "MKR", values), (name, at)
            if name not in "MKR":
                assert not changed(found, name, at * 1.01, False, values)
    assert compare("sfl.thm1.strongly_convex", "sfl.thm2.strongly_convex", eta_tilde=0.1, **STRONG).crossings == {
        "M": [2.0]
    }


def test_bounds_that_do_not_compare_are_refused() -> None:
    with pytest.raises(ValueError, match="an explicit bound and an order do not compare"):
        compare("sfl.thm1.strongly_convex", "sfl.cor1.strongly_convex")
    with pytest.raises(ValueError, match=r"sfl.thm1.strongly_convex bounds gap, sfl.thm1.nonconvex bounds min_grad_sq"):
        compare("sfl.thm1.strongly_convex", "sfl.thm1.nonconvex")
    with pytest.raises(ValueError, match="expected a statement with terms to evaluate"):
        compare("sfl.alg1", "sfl.thm1.nonconvex")
    with pytest.raises(ValueError, match="unknown parameter eta; expected D, K, L, M, R"):
        compare("sfl.thm1.strongly_convex", "sfl.thm2.strongly_convex", eta=1.0)


# --- rates -----------------------------------------------------------------------------------------------------------

ORDERS = [s.id for s in catalogue.statements() if isinstance(s.claim, Order)]


def power(term: sympy.Expr, symbols: dict[str, sympy.Symbol], count: str) -> sympy.Expr:
    """The slope of a term between 2^80 and 2^81, the other symbols near 1; where S grows, M is far above."""
    at = {
        x: sympy.Rational(sympy.prime(i + 3), sympy.prime(i + 4))
        for i, x in enumerate(sorted(term.free_symbols, key=str))
    }
    at |= {symbols["M"]: sympy.Integer(2) ** 400} if count == "S" and "M" in symbols else {}
    low, high = (term.subs(at | {symbols[count]: sympy.Integer(2) ** n}) for n in (80, 81))
    return sympy.log(abs(high / low), 2).evalf(60)


@pytest.mark.parametrize("id_", ORDERS)
def test_the_exponents_are_slopes_far_out(id_: str) -> None:
    found, symbols = rates(id_, tuple("RKMS")).exponents, {s.name: s.sympy for s in compiled(id_).parameters}
    claim = catalogue.find(id_).claim
    assert isinstance(claim, Order)
    for term in claim.terms:
        for count, exponent in found[term.name].items():
            slope = power(term.value, symbols, count)
            assert slope < -(10**6) if exponent == -sympy.oo else abs(slope - exponent) < 1e-9, (term.name, count)
    assert found.keys() == {term.name for term in claim.terms}


def test_many_orders_have_terms_that_fall_and_vanish() -> None:
    """A list that is computed may become empty."""
    every = [p for id_ in ORDERS for row in rates(id_, tuple("RKMS")).exponents.values() for p in row.values()]
    assert len(ORDERS) >= 30 and {-sympy.oo, -2, -1, -sympy.Rational(1, 2), 0, 1} <= {*every}


def test_the_dominant_terms() -> None:
    assert rates("sfl.cor1.strongly_convex").dominant == {
        "R": ["noise"],
        "K": ["heterogeneity", "optimisation"],
        "M": ["optimisation"],
    }
    assert rates("sfl.cor2.strongly_convex").dominant["M"] == ["noise_drift", "heterogeneity", "optimisation"]
    assert rates("sfl.eq43", ("R",)).dominant == {"R": ["noise", "sampling"]}


def test_an_explicit_bound_is_taken_at_a_fixed_step_size() -> None:
    found = rates("sfl.thm1.general_convex")
    assert found.exponents["optimisation"] == {"R": -1, "K": 0, "M": 0}
    assert found.exponents["noise"] == {"R": 0, "K": -1, "M": -1}
    with pytest.raises(ValueError, match="expected a statement with terms"):
        rates("sfl.alg1")


def test_letters_that_mean_different_things_do_not_compare() -> None:
    with pytest.raises(ValueError, match="q is 'compression variance factor .* and 'variance of the binarisation"):
        compare("fedcom.thmD7.corrected", "fedbat.thm1.from_start")
    with pytest.raises(ValueError, match="gamma is 'global learning rate'"):
        compare("fedcom.thmD4.corrected", "fedbcgd.thm1.nonconvex.corrected")
