"""Best constants by semidefinite programmes: closed forms, and the exact checks of both sides."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy
from sympy import Rational

from fedtheory.theory.proofs.tight import (
    Bracket,
    NotSolved,
    Programme,
    Unbounded,
    checked,
    positive_semidefinite,
    quadratic,
    tight,
    verified_instance,
    verified_proof,
    violation,
)
from fedtheory.theory.proofs.vectors import Point, smooth_convex
from tests.theory.pepit_examples import EXAMPLES, Example, Numbers


def holds(programme: Programme, found: Bracket, value: float, within: float = 1e-4) -> None:
    """Both sides are verified, close, and on either side of the value."""
    assert verified_proof(programme, found) and verified_instance(programme, found) == found.lower
    assert found.lower <= found.upper
    assert float(found.lower) <= value * (1 + 1e-12) and float(found.upper) >= value * (1 - 1e-12)
    assert float(found.upper - found.lower) <= within * abs(value)


# The examples of PEPit, against the literature: smooth and convex functions, steps of all kinds, operators

CASES = [
    pytest.param(example, numbers, id=f"{example.path}, " + ", ".join(f"{k}={v}" for k, v in numbers.items()))
    for example in EXAMPLES
    for numbers in example.cases
]


@pytest.mark.dear
@pytest.mark.parametrize(("example", "numbers"), CASES)
def test_the_closed_form_is_in_the_bracket(example: Example, numbers: Numbers) -> None:
    programme, value = example.made(**numbers), float(example.value(**numbers))
    found = tight(programme)
    holds(programme, found, value, within=1e-3)
    for other in (0.998, 1.002):
        with pytest.raises(AssertionError):
            holds(programme, found, other * value, within=1e-3)


def descent(steps: int, rate: Rational, mu: sympy.Expr = sympy.S.Zero) -> Programme:
    """Gradient descent on a 1-smooth function: f(x_n) - f* against ||x_0 - x*||^2."""
    x = start = sympy.Symbol("x", real=True)
    points = [Point(sympy.S.Zero, sympy.S.Zero, sympy.S.Zero)]
    for i in range(steps + 1):
        points.append(Point(x, sympy.Symbol(f"f{i}", real=True), sympy.Symbol(f"g{i}", real=True)))
        x = sympy.expand(x - rate * points[-1].gradient)
    pairs = {
        f"{i}, {j}": smooth_convex(a, b, sympy.S.One, mu)
        for i, a in enumerate(points)
        for j, b in enumerate(points)
        if i != j
    }
    return Programme.of(points[-1].value, start**2, pairs)


def test_two_opposite_conditions_are_an_equality() -> None:
    """A Polyak step, gamma ||g||^2 = 2 (f - f*): Barré, Taylor, d'Aspremont (2020), Proposition 1."""
    rate, mu = Rational(3, 2), Rational(1, 10)
    made = descent(0, rate, mu)
    x, g, f = sympy.symbols("x g0 f0", real=True)
    polyak = rate * g**2 - 2 * f
    pair = {"up": polyak, "down": -polyak}
    for equality in (pair, pair | {"again": polyak}, pair | {"nothing": sympy.S.Zero}):
        forms = {name: quadratic(e) for name, e in equality.items()}
        programme = Programme(quadratic((x - rate * g) ** 2), quadratic(x**2), {**made.conditions, **forms})
        holds(programme, tight(programme), float((rate - 1) * (1 - rate * mu) / (rate * (1 + mu) - 1)))


def test_without_an_amount_there_is_no_constant() -> None:
    programme = descent(1, Rational(1))
    with pytest.raises(Unbounded, match="no constant is enough"):
        tight(replace(programme, amount=quadratic(sympy.Symbol("g0", real=True) ** 2)))


def test_that_there_is_no_constant_is_shown_by_an_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedtheory.theory.proofs.tight.violation", lambda programme: None)
    with pytest.raises(NotSolved, match="no instance that needs 1000"):
        tight(replace(descent(1, Rational(1)), amount=quadratic(sympy.Symbol("g0", real=True) ** 2)))


def test_a_violation_is_an_instance() -> None:
    """Half of the best constant is too small, and nothing at all, too."""
    programme = descent(1, Rational(1))
    for amount in (programme.amount * Fraction(1, 12), programme.amount * 0):
        tried = replace(programme, amount=amount)
        found = violation(tried)
        assert found is not None
        checked(found, tried)
        assert found.at(tried.objective) > found.at(tried.amount)
    assert violation(replace(programme, amount=programme.amount * Fraction(1, 5))) is None


def test_without_an_amount_the_objective_is_at_most_zero_or_there_is_no_bracket() -> None:
    programme = descent(1, Rational(1))
    nothing = replace(programme, objective=-programme.objective, amount=programme.amount * 0)
    found = tight(nothing)
    assert verified_proof(nothing, found) and (found.lower, found.upper) == (0, 1)
    with pytest.raises(Unbounded, match="nothing stands on the larger side"):
        tight(replace(programme, amount=programme.amount * 0))


def test_what_is_changed_is_not_verified() -> None:
    programme = descent(2, Rational(1))
    found = tight(programme)
    name, multiplier = max(found.multipliers.items(), key=lambda pair: pair[1])
    assert not verified_proof(programme, replace(found, multipliers={**found.multipliers, name: multiplier * 2}))
    assert not verified_proof(programme, replace(found, multipliers={**found.multipliers, name: -multiplier}))
    assert not verified_proof(programme, replace(found, upper=found.lower * Fraction(99, 100)))
    assert not verified_proof(replace(programme, objective=2 * programme.objective), found)
    higher = {n: v + 1 for n, v in found.instance.values.items()}
    with pytest.raises(ValueError, match="does not satisfy|not positive semidefinite"):
        verified_instance(programme, replace(found, instance=replace(found.instance, values=higher)))
    flat = tuple(tuple(-x for x in row) for row in found.instance.gram)
    with pytest.raises(ValueError, match="does not satisfy|not positive semidefinite"):
        verified_instance(programme, replace(found, instance=replace(found.instance, gram=flat)))
    with pytest.raises(ValueError, match="other vectors"):
        verified_instance(descent(1, Rational(1)), found)


def test_positive_semidefinite_is_decided_exactly() -> None:
    tiny = Fraction(1, 10**40)
    for matrix, expected in (
        ([[1, 1], [1, 1]], True),
        ([[1, 1], [1, 1 - tiny]], False),
        ([[0, 0], [0, 1]], True),
        ([[0, tiny], [tiny, 1]], False),
        ([[2, -1, 0], [-1, 2, -1], [0, -1, 2]], True),
    ):
        assert positive_semidefinite([[Fraction(x) for x in row] for row in matrix]) is expected
