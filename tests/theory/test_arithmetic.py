"""z3 as a judge of implications: proofs, rational counter-models, what it refuses."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings, strategies as st
from sympy import Max, Min, Rational, Symbol, exp, log, sqrt

from fedtheory.theory.proofs.arithmetic import (
    NotPolynomial,
    at_least,
    at_most,
    decide,
    everywhere,
    implied,
    note,
    recorded,
)
from fedtheory.theory.proofs.record import accepts
from fedtheory.theory.proofs.search import certificate
from fedtheory.theory.proofs.sequents import sequents
from fedtheory.theory.statement import Status

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


HALF = Rational(1, 2)
LESS = at_most(1 - p * q, sqrt(1 - p * q))
NESTED = at_least(sqrt(sqrt(x) - 1), 0)
# a claim is false where it is not defined, also where a part cancels or where a maximum would hide it
DEFINED = [
    ([], [at_least(sqrt(x), 0)], {x: -1}),
    ([], [at_least(sqrt(x), 0), at_least(x, 0)], {x: -1}),  # no claim may use what an earlier one is about
    ([], [at_least(sqrt(p), 0), at_least(sqrt(x), 0)], {x: -1, p: 1}),
    ([x >= 0], [at_least(sqrt(x), 0)], None),
    ([], [at_least(sqrt(x), -1)], {x: -1}),
    ([], [at_most(sqrt(x), sqrt(x))], {x: -1}),
    ([], [LESS], {p: 1, q: 2}),
    ([p * q <= 1], [LESS], None),
    ([], [at_least(1 / sqrt(x), 0)], {x: 0}),
    ([x >= 0], [at_least(1 / sqrt(x), 0)], {x: 0}),
    ([x > 0], [at_least(1 / sqrt(x), 0)], None),
    ([], [NESTED], {x: -1}),
    ([x >= 0], [NESTED], {x: HALF}),
    ([x >= 1], [NESTED], None),
    ([], [at_least(x**THIRD, -5)], {x: -1}),
    ([], [at_most(1 / x, 1 / x)], {x: 0}),
    ([], [at_most(1 / (x - 1), 1 / (x - 1))], {x: 1}),
    ([x >= 2], [at_most(1 / (x - 1), 1)], None),
    ([], [at_least(1 / (1 + 1 / a), 0)], {a: 0}),
    ([a > 0], [at_least(1 / (1 + 1 / a), 0)], None),
    ([], [at_least(x**-2, 0)], {x: 0}),
    ([], [at_most(1 / (x**2 + 1), 1)], None),
    ([], [at_least(Max(sqrt(x), 0), 0)], {x: -1}),
    ([], [at_most(Min(sqrt(x), -1), 0)], {x: -1}),
    ([], [at_least(Max(1 / x, 0), 0)], {x: 0}),
    ([x >= 0], [at_least(Max(sqrt(x), x), x)], None),
    ([], [at_least(abs(1 / x), 0)], {x: 0}),
    ([sympy.Ne(x, 0)], [at_least(abs(1 / x), 0)], None),
    ([], [at_least(sqrt(abs(x)), 0)], None),
    ([sqrt(x) <= 1], [at_least(x, 0)], None),  # a hypothesis says that it is defined
    ([1 / x <= 1], [sympy.Ne(x, 0)], None),
    ([], [at_most(log(x), 1 + log(x))], {x: 0}),
    ([x > 0], [at_most(log(x), 1 + log(x))], None),
    ([], [at_most(p**x, p**x)], None),
    ([], [at_most(x**n, x**n)], None),
]


@pytest.mark.parametrize(("hypotheses", "claims", "model"), DEFINED, ids=str)
def test_a_claim_must_be_defined(hypotheses, claims, model) -> None:
    """z3 and the certificates agree."""
    found = decide(hypotheses, claims)
    assert (found.status, found.model) == ((Status.PROVED, {}) if model is None else (Status.REFUTED, model))
    assert all(implied(hypotheses, claim) for claim in claims) is (model is None)
    if not any(
        isinstance(part, sympy.log) or not part.exp.is_number for part in sympy.And(*claims).atoms(log, sympy.Pow)
    ):
        steps = sequents(hypotheses, claims)
        assert model is None or not all(map(has_certificate, steps))


def has_certificate(step) -> bool:
    try:
        return (one := certificate(step)) is not None and accepts(step, one)
    except ValueError:  # a root of what is not known to be >= 0
        return False


def test_that_a_claim_is_not_defined_for_reals_says_nothing_about_integers() -> None:
    assert decide([n**2 >= 2, n**2 <= 3], at_least(sqrt(1 - n), 0)).status is Status.OPEN


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


@pytest.mark.parametrize(
    "e", [exp(x), log(p), x**y, p**q, 1 / x**n, Max(), Min(), sympy.Piecewise((sqrt(x), x > 0), (0, True))]
)
def test_what_is_not_polynomial_is_refused(e) -> None:
    with pytest.raises(NotPolynomial, match="expected sums, products, rational powers"):
        decide([], at_most(e, 1))


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
    for undefined, pole in ((at_least(1 / x, -9), 0), (at_most(log(x), log(x)), 0), (at_most(1 / (x - 1) ** 2, 99), 1)):
        assert everywhere(undefined, x, pole - 1, pole + 1).model == {x: pole}
    assert everywhere(at_least(1 / x, Rational(1, 2)), x, 0, 1).status is not Status.PROVED
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
