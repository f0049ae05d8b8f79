"""Claims in numbers: against formulas by hand, over exact numbers too, and what has no meaning is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Eq, Ge, IndexedBase, Le, Max, Min, Ne, Rational, Sum, exp, log, sqrt

from fedtheory.theory import catalogue
from fedtheory.theory.notation import Bregman, Expectation, Grad, Inner, Norm, Value
from fedtheory.theory.proofs.instances import TOLERANCE, SizedNumber, conditions, interpret, read, sides, value_at
from fedtheory.theory.sfl.symbols import L, T, a, b, gamma, h, i, k, mu, n, s_t, var_swr, x, xbar, y, zeta
from fedtheory.theory.statement import Relations, Words, at_most, equal_to

E = Expectation
X, R = IndexedBase("x", real=True), IndexedBase("r", real=True)


class Bowl:
    """x'H x / 2, no more than a value and a gradient."""

    H = np.array([[2.0, 1.0], [1.0, 3.0]])

    def value(self, x: np.ndarray) -> float:
        return float(x @ self.H @ x / 2)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return self.H @ x


P, Q = np.array([1.0, 2.0]), np.array([-2.0, 0.5])
POINTS = {"x": P, "y": Q, "z": np.array([0.0, 4.0]), "h": Bowl(), "L": 4.0, "mu": 1.0}
ROWS = np.array([[1.0, 0.0], [3.0, 4.0], [-1.0, 2.0]])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (x, P),
        (2 * x - y / 2, 2 * P - Q / 2),
        (Norm(x - y), np.sqrt(9 + 2.25)),
        (Norm(mu * x) ** 2, 5.0),
        (Inner(x, y), -1.0),
        (Value(h, x), 9.0),
        (Grad(h, x), np.array([4.0, 7.0])),
        (Value(h, x - 2 * y), Bowl().value(P - 2 * Q)),
        (Bregman(h, x, y), Bowl().value(P - Q)),  # of a quadratic, half the squared distance in its own norm
        (Inner(Grad(h, x) - Grad(h, y), x - y), 2 * Bowl().value(P - Q)),
        (exp(-mu) * log(L) + Max(mu, L) - Min(mu, L), np.exp(-1) * np.log(4) + 3),
        (sqrt(L) + L ** Rational(-1, 2) + sympy.pi, 2.5 + np.pi),
        (Norm(-L), 4.0),
        (Inner(L, mu), 4.0),
    ],
)
def test_vectors_and_functions(expression: sympy.Expr, expected: Any) -> None:
    assert value_at(expression, POINTS) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Sum(X[i], (i, 1, n)) / n, ROWS.mean(0)),
        (Sum(Norm(X[i] - Sum(X[k], (k, 1, n)) / n) ** 2, (i, 1, n)) / n, ((ROWS - ROWS.mean(0)) ** 2).sum(-1).mean()),
        (Sum(k * X[i] - X[1], (i, 1, n), (k, 0, 2)), 3 * ROWS.sum(0) - 9 * ROWS[0]),
        (Sum(Sum(X[k], (k, 1, i)), (i, 1, n)), 3 * ROWS[0] + 2 * ROWS[1] + ROWS[2]),
        (X[2] + Sum(X[i], (i, 1, 0)), ROWS[1]),  # an empty sum fits everything
        (Norm(Sum(X[i], (i, 1, 0))), 0.0),
        (Inner(Sum(X[i], (i, 1, 0)), X[1]), 0.0),
        (X[n - 1], ROWS[1]),
    ],
)
def test_sequences_and_sums(expression: sympy.Expr, expected: Any) -> None:
    assert value_at(expression, {"x": ROWS, "n": 3}) == pytest.approx(expected, rel=1e-14)
    assert value_at(expression, {"x": list(ROWS), "n": 3}) == pytest.approx(expected, rel=1e-14)


def test_sequences_of_numbers() -> None:
    assert value_at(R[1] - R[3] ** 2, {"r": [5.0, 0.0, 2.0]}) == 1.0


LAW = [(0.25, {"x": P}), (0.75, {"x": Q})]
MEAN = P / 4 + 3 * Q / 4


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (E(x), MEAN),
        (Norm(E(x)) ** 2, MEAN @ MEAN),
        (E(Norm(x - E(x)) ** 2), 0.25 * (P - MEAN) @ (P - MEAN) + 0.75 * (Q - MEAN) @ (Q - MEAN)),
        (E(Inner(x, y)), MEAN @ np.array([1.0, 1.0])),
        (E(L), 2.0),
    ],
)
def test_expectations(expression: sympy.Expr, expected: Any) -> None:
    values = {"y": np.ones(2), "L": 2.0}
    assert value_at(expression, values, LAW) == pytest.approx(expected, rel=1e-14)


# --- Over exact numbers and symbols ----------------------------------------------------------------------------------


def test_exact_numbers_stay_exact() -> None:
    units = [Rational(1, 3), Rational(2), Rational(-1, 7)]
    value = interpret(Sum(Norm(X[i]) ** 2, (i, 1, n)) / n, {"x": units, "n": sympy.Integer(3)})
    assert value == (Rational(1, 9) + 4 + Rational(1, 49)) / 3
    law = [(Rational(1, 3), {"x": Rational(1)}), (Rational(2, 3), {"x": Rational(1, 2)})]
    assert interpret(E(x) ** 2, {}, law) == Rational(4, 9)


# --- Sides -----------------------------------------------------------------------------------------------------------


def test_every_relation_is_turned_to_left_at_most_right() -> None:
    relations = Relations((Le(L, 2 * mu), Ge(L, 2 * mu), Eq(L, 4 * mu), sympy.Lt(mu, L), sympy.Gt(mu, L)))
    found = sides(relations, {"L": 4.0, "mu": 1.0})
    assert [(side.left, side.right) for side in found] == [(4, 2), (2, 4), (4, 4), (1, 4), (4, 1)]
    assert [side.holds for side in found] == [False, True, True, True, False]
    assert [side.ratio for side in found] == [2.0, 0.5, 1.0, 0.25, 4.0]
    assert [side.equality for side in found] == [False, False, True, False, False]
    assert str(found[0]) == "L <= 2*mu: 4.0 <= 2.0 is false"
    assert str(found[1]) == "L >= 2*mu: 2.0 <= 4.0 is true"
    assert str(found[2]) == "L = 4*mu: 4.0 = 4.0 is true"


@pytest.mark.parametrize(("factor", "holds"), [(1, [True]), (Rational(1, 3), [False])])
def test_bounds(factor: Any, holds: list[bool]) -> None:
    claim = at_most(s_t, first=a * gamma, second=b).scaled(factor)
    values = {"s_t": 3.0, "a": 2.0, "gamma": 1.0, "b": 1.0}
    assert [side.holds for side in sides(claim, values)] == holds


def test_vectors_are_compared_as_wholes() -> None:
    mean = catalogue.find("sfl.lemma3.mean").claim
    law = [(0.5, {"xbar_pi": ROWS[0]}), (0.5, {"xbar_pi": ROWS[1]})]
    (good,) = sides(mean, {"xbar": np.array([2.0, 2.0])}, law)
    (bad,) = sides(mean, {"xbar": np.array([2.0, 1.0])}, law)
    assert good.holds and good.ratio == pytest.approx(1.0) and not bad.holds


def test_quantities_in_vector_notation() -> None:
    """`where` says what a symbol of the claim is the name of."""
    claim = equal_to(var_swr, variance=zeta**2 / 2)
    law = [(0.5, {"x": np.array([1.0])}), (0.5, {"x": np.array([-1.0])})]
    where = {var_swr: E(Norm(x - xbar) ** 2)}
    (side,) = sides(claim, {"xbar": np.zeros(1), "zeta": np.sqrt(2.0)}, law, where)
    assert (side.left, side.right) == (1.0, pytest.approx(1.0))


def test_conditions() -> None:
    statement = catalogue.find("sfl.lemma7.eq38")  # gamma <= 1/d, a <= d, and T is large enough
    met = conditions(statement, {"gamma": 0.5, "d": 2.0, "a": 2.0, "T": 9.0})
    assert len(met) > 2 and all(side.holds for side in met)
    missed = conditions(statement, {"gamma": 0.5, "d": 4.0, "a": 5.0, "T": 9.0})
    assert {"gamma <= 1/d", "a <= d"} <= {side.says for side in missed if not side.holds}


# --- Rounding --------------------------------------------------------------------------------------------------------


def test_cancellation_is_not_taken_for_a_violation() -> None:
    """(L + mu)^2 - L^2 of numbers far apart: off by far more than 1e-9 of itself, by nothing of what was subtracted."""
    claim = Relations((Eq(Norm(L + mu) ** 2 - Norm(L) ** 2, 2 * L * mu + mu**2),))
    (side,) = sides(claim, {"L": 1e6, "mu": 1e-7 / 3})
    assert abs(side.left - side.right) > TOLERANCE * abs(side.right)
    assert side.holds


def test_sizes_are_kept_small_by_powers() -> None:
    """(1 - q)^-(T+1) is as well known as 1 - q is, however large T: a wrong claim about it is seen."""
    claim = Relations((Le((1 - a * gamma) ** (-(T + 1)), exp(a * gamma * (T + 1))),))
    (side,) = sides(claim, {"a": 0.5, "gamma": 0.5, "T": 60})
    assert side.excess > 1e-3 and not side.holds


def test_nothing_against_nothing_holds_and_a_nan_does_not() -> None:
    assert sides(Relations((Le(L, mu),)), {"L": 0.0, "mu": 0.0})[0].holds
    nan = sides(Relations((Le(Value(h, x), L),)), {"h": _NaN(), "x": P, "L": 1.0})[0]
    assert not nan.holds
    assert sides(Relations((Le(L, mu),)), {"L": -1.0, "mu": 0.0})[0].ratio == 0.0


class _NaN:
    def value(self, x: np.ndarray) -> float:
        return float("nan")

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return np.zeros(2)


# --- Refusals --------------------------------------------------------------------------------------------------------


def says(expression: sympy.Expr, **values: Any) -> Callable[[], Any]:
    return lambda: value_at(expression, values)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (says(x + y, x=P), r"no value for 'y'; the instance has x"),
        (says(x), r"no value for 'x'; the instance has none"),
        (says(X[n], x=ROWS, n=4), r"x\[n\] at index 4: expected an index in 1..3"),
        (says(X[0], x=ROWS), r"at index 0: expected an index in 1..3"),
        (says(X[n], x=ROWS, n=1.5), r"1.5: expected a whole number"),
        (says(x, x="P"), r"'P': expected a number, a vector, a sequence of them, or a function"),
        (says(x, x=[1.0, float("nan")]), r"nan: expected finite numbers"),
        (says(x, x=ROWS), r"x is a sequence or a function: expected a number or a vector"),
        (says(2 * x, x=ROWS), r"x is a sequence: expected a number or a vector"),
        (lambda: interpret(E(x), {}, [(1, {"x": [1]})]), r"x is a sequence: expected a number or a vector"),
        (says(x + L, x=P, L=1.0), r"expected two numbers, or two vectors of one length"),
        (says(x + y, x=P, y=np.ones(3)), r"expected two numbers, or two vectors of one length"),
        (says(x * y, x=P, y=Q), r"two vectors have an inner product, Inner\(x, y\)"),
        (says(Inner(x, y), x=P, y=np.ones(3)), r"expected vectors of one length"),
        (says(x**2, x=P), r"to the power 2.0 is no real number"),
        (says(1 / L, L=0.0), r"0.0 to the power -1.0 is no real number"),
        (says(sqrt(L), L=-1.0), r"-1.0 to the power 0.5 is no real number"),
        (lambda: sides(Words("x is large"), {}), r"a claim of kind Words has no sides; expected Bound or Relations"),
        (lambda: sides(Relations((Ne(x, y),)), {"x": P, "y": Q}), r"expected a relation with one of the signs"),
        (lambda: sides(Relations((Le(x, y),)), {"x": P, "y": Q}), r"x <= y: vectors have no order"),
        (lambda: sides(Relations((Eq(x, y),)), {"x": P, "y": np.ones(3)}), r"two vectors of one length"),
        (says(E(x), x=P), r"Expectation\(x\): expected a law to take the expectation over"),
        (lambda: value_at(E(x), {}, [(0.5, {"x": P})]), r"the probabilities \[0.5\] do not sum to 1"),
        (lambda: interpret(Value(h, x), {"h": [1], "x": 1}), r"h = \[1\]: expected a function"),
        (lambda: interpret(sympy.Tuple(x), {"x": 1}), r"is no expression but a Tuple"),
    ],
)
def test_refusals(attempt: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attempt()


def test_readings() -> None:
    assert read(Fraction(1, 2)) == SizedNumber(0.5, 0.5)
    assert [q.value for q in read((1, 2))] == [1.0, 2.0]
    assert read(np.array([3.0, 4.0])).size == 5.0
    assert (read(1.0) - read(1.0)).size == 2.0
