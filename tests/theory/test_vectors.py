"""Certificates for function classes: exact where they prove, interpolated functions where they refute."""

from __future__ import annotations

import pytest
import sympy
from sympy import Rational, Symbol

from fedtheory.theory import catalogue
from fedtheory.theory.notation import Grad, Inner, Norm, Value
from fedtheory.theory.proofs.vectors import (
    certificate,
    certify,
    convex,
    difference,
    point,
    quadratic_form,
    smooth,
    smooth_convex,
    worst_case,
)
from fedtheory.theory.sfl.checks.certificates import coefficient_needed
from fedtheory.theory.statement import Relations, Status

h, x, y, z = (Symbol(name, real=True) for name in "hxyz")
L, mu = Symbol("L", positive=True), Symbol("mu", positive=True)
ONE = {L: sympy.Integer(1)}
X, Y = point(h, x), point(h, y)


def test_vector_notation_becomes_a_form() -> None:
    form = quadratic_form(Norm(x - y) ** 2 + Inner(Grad(h, x), y) - Value(h, x))
    assert sympy.expand(form - (x**2 - 2 * x * y + y**2 + X.gradient * y - X.value)) == 0
    with pytest.raises(ValueError, match="expected a squared norm"):
        quadratic_form(Norm(x))
    with pytest.raises(ValueError, match="expected <= or >="):
        difference(sympy.Eq(x, y))


@pytest.mark.parametrize("mu_over_L", [-1, Rational(-1, 2), 0, Rational(1, 2)])
@pytest.mark.parametrize("curvature", [-1, Rational(-1, 2), 0, Rational(1, 3), Rational(1, 2), 1])
def test_interpolation_conditions_hold_for_quadratics_of_the_class_only(mu_over_L, curvature) -> None:
    condition = smooth_convex(X, Y, sympy.Integer(1), sympy.sympify(mu_over_L))
    at = {p.value: curvature * p.x**2 / 2 for p in (X, Y)} | {p.gradient: curvature * p.x for p in (X, Y)}
    value = sympy.factor(condition.subs(at, simultaneous=True))
    holds = all(value.subs({x: a, y: b}) >= 0 for a, b in [(1, 0), (0, 1), (2, -3)])
    assert holds == (curvature >= mu_over_L)


def test_cocoercivity_is_proved_and_its_sharpening_refuted_by_a_function() -> None:
    hypotheses = {"xy": smooth_convex(X, Y, L), "yx": smooth_convex(Y, X, L)}
    change = X.gradient - Y.gradient
    claim = sympy.expand(change * (x - y) - change**2 / L)
    assert certify(claim, hypotheses, ONE).status is Status.PROVED
    found = certify(sympy.expand(claim - change**2 / (100 * L)), hypotheses, ONE)
    assert found.status is Status.REFUTED
    values = {Symbol(name, real=True): sympy.Rational(v) for name, v in found.witness.items() if name != "L"}
    at = values | {L: sympy.Rational(found.witness["L"])}
    assert all(h_.subs(at) >= 0 for h_ in hypotheses.values())
    assert (claim - change**2 / (100 * L)).subs(at) < 0


def test_convexity_is_needed() -> None:
    change = X.gradient - Y.gradient
    claim = sympy.expand(change * (x - y) - change**2 / L)
    nonconvex = {"xy": smooth(X, Y, L), "yx": smooth(Y, X, L)}
    assert certify(claim, nonconvex, ONE).status is Status.REFUTED


def test_multipliers_of_a_sample_prove_nothing_for_other_parameters() -> None:
    """At L = 1 the multiplier 1 shows (2 - L) x^2 + h(x) >= 0; for L above 2 nothing does."""
    claim, hypotheses = sympy.expand((2 - L) * x**2 + X.value), {"a": X.value}
    at_one = certificate(claim.subs(ONE), hypotheses)
    assert at_one is not None and at_one.residual < 1e-6
    found = certify(claim, hypotheses, ONE)
    assert found.status is Status.REFUTED and sympy.Rational(found.witness["L"]) > 2
    assert certify(claim, hypotheses, ONE, [L <= 2]).status is Status.PROVED


def test_multipliers_that_rounding_spoils_prove_nothing() -> None:
    """x^2 + h(x)/101 >= 0 needs 1/101 of h(x) >= 0, of which rounding to denominators of at most 48 leaves nothing."""
    hypotheses = {"a": X.value}
    needed = certificate(x**2 + X.value / 101, hypotheses)
    assert needed is not None and needed.multipliers["a"] == pytest.approx(1 / 101, abs=1e-6)
    found = certify(x**2 + X.value / 101, hypotheses, {})
    assert found.status is Status.OPEN and "but none that are exact once rounded" in found.says
    assert certify(x**2 + X.value / 48, hypotheses, {}).status is Status.PROVED


def test_certificate_finds_the_known_multipliers() -> None:
    found = certificate(x**2 + y**2 - 2 * z, {"a": x**2 - z, "b": y**2 - z})
    assert found is not None and found.residual < 1e-6
    assert found.multipliers["a"] == pytest.approx(1, abs=1e-5)
    assert certificate(-(x**2), {"a": y**2}) is None


@pytest.mark.parametrize("share", [0, Rational(1, 4), Rational(1, 2), Rational(9, 10)])
def test_lemma2_needs_half_of_L_plus_mu(share) -> None:
    claim = catalogue.find("sfl.lemma2").claim
    assert isinstance(claim, Relations)
    needed = coefficient_needed(claim.relations[0], sympy.sympify(share))
    assert needed == pytest.approx((1 + float(share)) / 2, rel=1e-4)


def test_convex_condition_is_the_subgradient_inequality() -> None:
    assert convex(X, Y) == sympy.expand(X.value - Y.value - Y.gradient * (x - y))


def test_forms_without_function_values() -> None:
    """Young's inequality, from nothing and from one hypothesis; a false form is refuted."""
    young = sympy.expand((x - y) ** 2)
    assert certify(young, {}, {}).status is Status.PROVED
    assert certify(2 * young, {"young": young}, {}).status is Status.PROVED
    assert certify(young - x**2, {}, {}).status is Status.REFUTED
    with pytest.raises(ValueError, match="expected a form"):
        certify(x**4, {}, {})
    found = worst_case(x**2, {"larger": y**2 - x**2}, y**2)
    assert found is not None and found.value == pytest.approx(1)
