"""z3 as a judge of implications: proofs, rational counter-models, what it refuses."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings, strategies as st
from sympy import Max, Min, Rational, Symbol, exp, log, sqrt

from theory.proofs.arithmetic import NotPolynomial, decide, everywhere, implied, note, recorded
from theory.statement import Status

x, y = (Symbol(name, real=True) for name in "xy")
p, q = (Symbol(name, positive=True) for name in "pq")
n, m = (Symbol(name, integer=True, positive=True) for name in "nm")
a, k = Symbol("a", nonnegative=True), Symbol("k", integer=True, nonnegative=True)
THIRD = Rational(1, 3)

PROVED = [
    ([], (x + y) ** 2 <= 2 * x**2 + 2 * y**2),
    ([p <= Rational(1, 6)], -2 * (1 - 4 * p) <= -Rational(2, 3)),
    ([m <= n, n >= 2], (n - m) / (n - 1) <= 2 * (1 - m / n)),
    ([x < 0], 1 / x < 0),  # the sign of a denominator comes from the hypotheses
    ([x >= 2, y <= 1], 1 / (x - y) <= 1),
    ([p * q <= 1], sqrt(p) * sqrt(q) <= 1),
    ([p**THIRD <= 2], p <= 8),
    ([], Min(x, y) <= Max(x, y)),
    ([], abs(x) >= x),
    ([], n >= 1),
    ([], a >= 0),
    ([a > 0], 1 / a > 0),
]
REFUTED = [
    ([], (x + y) ** 2 <= Rational(19, 10) * (x**2 + y**2)),
    ([p <= Rational(1, 6)], -2 * (1 - 4 * p) <= -Rational(7, 10)),
    ([m <= n, n >= 2], (n - m) / (n - 1) <= Rational(19, 10) * (1 - m / n)),
    ([x <= 1], 1 / x <= 1),
    ([], sqrt(p) <= p),
    ([], n >= 2),
    ([], sympy.Ne(x, 1)),
    ([], a > 0),  # a symbol >= 0 may be 0
    ([], p < p + a),
    ([a <= 1], a * p > 0),
    ([], k >= 1),
]


@pytest.mark.parametrize(("hypotheses", "claim"), PROVED, ids=str)
def test_proved(hypotheses, claim) -> None:
    assert decide(hypotheses, claim).status is Status.PROVED
    assert implied(hypotheses, claim)


@pytest.mark.parametrize(("hypotheses", "claim"), REFUTED, ids=str)
def test_refuted_with_a_model_that_anyone_can_check(hypotheses, claim) -> None:
    found = decide(hypotheses, claim)
    assert found.status is Status.REFUTED and not implied(hypotheses, claim)
    assert all(value.is_rational for value in found.model.values())
    assert all(value.is_integer for symbol, value in found.model.items() if symbol.is_integer)
    assert all(h.subs(found.model) == sympy.true for h in hypotheses)
    assert claim.subs(found.model) == sympy.false


def test_models_are_small_numbers() -> None:
    assert decide([], x <= 0).model == {x: 1}
    assert decide([x >= 7], x <= 9).model == {x: 10}


def test_a_counter_model_of_reals_only_refutes_nothing_about_integers() -> None:
    found = decide([n**2 >= 2, n**2 <= 3], n >= 2)  # no whole number is there; reals are
    assert found.status is not Status.REFUTED


def test_hypotheses_that_exclude_each_other_are_vacuous() -> None:
    assert decide([p <= 1, p >= 2], p <= 100).status is Status.VACUOUS
    assert decide([p <= 1, p >= 2], []).status is Status.VACUOUS
    assert decide([p <= 1], []).status is Status.PROVED
    assert decide([a <= 0], []).status is Status.PROVED  # a = 0


def test_gives_up_rather_than_guess() -> None:
    symbols = sympy.symbols("a:6", real=True)
    hard = sum(v**6 for v in symbols) - 3 * sympy.prod(symbols) + Rational(1, 10**6) >= 0
    assert decide([], hard, effort=1000).status in (Status.OPEN, Status.PROVED)
    assert decide([], hard, effort=1).status is Status.OPEN


@pytest.mark.parametrize("e", [exp(x), log(p), x**y, p**q])
def test_what_is_not_polynomial_is_refused(e) -> None:
    with pytest.raises(NotPolynomial, match="expected sums, products, rational powers"):
        decide([], e <= 1)


def test_what_is_no_relation_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a relation"):
        decide([x], x <= 1)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.integers(-3, 3), min_size=3, max_size=3), st.integers(-3, 3))
def test_agrees_with_the_discriminant(coefficients: list[int], shift: int) -> None:
    a, b, c = coefficients
    truth = (a > 0 and b * b <= 4 * a * c) or (a == 0 and b == 0 and c >= 0)
    assert implied([], a * x**2 + b * x + c >= 0) == truth
    assert decide([x >= shift], x >= shift - 1).status is Status.PROVED


def test_everywhere_proves_refutes_and_gives_up() -> None:
    assert everywhere(exp(-x) <= 1 - x + x**2 / 2 + Rational(1, 100), x, 0, 2).status is Status.PROVED
    assert everywhere(log(x) >= Rational(1, 2) + 0 * x, x, 2, 3).status is Status.PROVED
    found = everywhere(exp(-x) <= Rational(1, 2) + 0 * x, x, 0, 2)
    assert found.status is Status.REFUTED and exp(-found.model[x]) > Rational(1, 2)
    assert everywhere(exp(-x) > 1 - x, x, 0, 1, pieces=50).status is Status.OPEN  # equal at 0
    with pytest.raises(ValueError, match="expected an inequality in x alone"):
        everywhere(x <= y, x, 0, 1)


def test_questions_are_recorded_with_their_answers() -> None:
    decide([], p > 0)
    note("before")
    with recorded() as outer:
        decide([p <= 1], [p <= 2, p <= 3])
        with recorded() as inner:
            decide([], p > 1)
            decide([], p > 1)  # z3 is not asked twice, but the question was
            note("inside")
        with pytest.raises(NotPolynomial):
            decide([], exp(p) > 1)
        implied([], p > 0)
    decide([], p > 2)
    note("after")
    assert [(one.hypotheses, one.claims) for one in outer.questions] == [((p <= 1,), (p <= 2, p <= 3))]
    assert [one.decision.status for one in inner.questions] == [Status.REFUTED, Status.REFUTED]
    assert (outer.ledgers, inner.ledgers) == ([], ["inside"])
    with recorded() as empty:
        pass
    assert not empty.questions and not empty.ledgers
