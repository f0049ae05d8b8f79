"""What checks share: constants that a statement does not assume, and claims over cases."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy
from sympy import Eq, Ne

from fedtheory.bounds.fedbat.rounds import ROUNDS
from fedtheory.bounds.trials.cases import Case, ExactVector, compared, known_at, number, relations, root, substituted
from fedtheory.bounds.trials.claims import exact, rescaled, unassumed
from fedtheory.simulations.exact.rational import Fraction as Gmp
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Relations, Status, Words


def test_only_constants_that_nothing_gives_are_free() -> None:
    lemma = catalogue.find("fedbat.lemma2.corrected")
    assert unassumed(lemma) == [{}]
    without = unassumed(replace(lemma, assumes=("fedbat.assump3.independent",)))
    assert {tuple(factors) for factors in without} == {("sigma",)} and len(without) == 4
    assert len(unassumed(replace(catalogue.find("fedbat.lemma4.corrected"), assumes=()))) == 16  # G and q


def test_a_lemma_is_false_of_a_constant_that_it_does_not_assume() -> None:
    lemma = catalogue.find("fedbat.lemma2.corrected")
    assert ROUNDS.check(lemma).status is Status.TESTED
    found = ROUNDS.check(replace(lemma, assumes=("fedbat.assump3.independent",)))
    assert found.status is Status.REFUTED and found.witness["sigma, not assumed"] == "1/1000 times that of the problem"


def test_a_square_goes_with_its_root() -> None:
    known = {"L": Fraction(3), "sigma_sq": Fraction(4), "q": 0.5}
    factors = {"L": Fraction(2), "sigma": Fraction(1, 2), "q": Fraction(2), "mu": Fraction(7)}
    assert rescaled(known, factors) == {"L": 6, "sigma_sq": 1, "q": 1.0}
    assert known["L"] == 3


def test_a_comparison_is_exact_only_without_floats() -> None:
    x, y = sympy.symbols("x y")
    claim = Relations((sympy.Le(x, y),))
    exact, floats = Case("", {"x": Fraction(1, 3), "y": Fraction(1, 2)}), Case("", {"x": 0.25, "y": Fraction(1, 2)})
    assert "2 exact comparisons" in compared(claim, [exact, exact], "").says
    assert "2 comparisons in floating point" in compared(claim, [exact, floats], "").says
    equal = Relations((sympy.Eq(x, y),))
    vectors = Case("", {"x": ExactVector((Fraction(1), Fraction(0))), "y": ExactVector((Fraction(1), Fraction(0)))})
    assert "1 exact comparisons" in compared(equal, [vectors], "").says


def test_an_operator_is_known_at_one_point_alone() -> None:
    x, value = ExactVector((Fraction(1), Fraction(2))), ExactVector((Fraction(3), Fraction(0)))
    assert known_at(x, value).value(1 * x) == value
    with pytest.raises(ValueError, match=r"the operator at \(2, 4\): expected it at \(1, 2\)"):
        known_at(x, value).value(2 * x)


def test_numbers_for_symbols_or_one_clear_error() -> None:
    x, y = sympy.symbols("x y")
    assert substituted(sympy.Le(1 / x, y), {"x": 2, "y": 1}) == sympy.true
    with pytest.raises(ValueError, match="no number for y"):
        substituted(x + y, {"x": 2})
    with pytest.raises(ValueError, match="1/x is not defined at x = 0"):
        substituted(1 / x, {"x": 0})
    with pytest.raises(ValueError, match=r"x \+ y: no number for y"):
        exact(x + y)({"x": Fraction(2)})


def test_a_power_of_a_count_is_exact() -> None:
    x, k = sympy.Symbol("x"), sympy.Symbol("k", integer=True, positive=True)
    found = exact((1 - x) ** k - x)({"x": Gmp(1, 3), "k": Gmp(50)})
    assert found == Fraction(2, 3) ** 50 - Fraction(1, 3)


def test_exact_vectors() -> None:
    x, y = ExactVector((Fraction(3), Fraction(4))), ExactVector((Fraction(1, 2), Fraction(0)))
    assert 0 + x == x and (x - y).entries == (Fraction(5, 2), 4)
    assert abs(x) ** 2 == 25 and abs(x) == 5.0 and root(2) ** 2 == 2 and root(2) ** 3 == pytest.approx(2 * 2**0.5)
    assert str(Fraction(1, 2) * y) == "(1/4, 0)"
    with pytest.raises(ValueError, match="expected two vectors"):
        x + 1


def test_relations_of_numbers() -> None:
    a, b = sympy.symbols("a b")
    case = Case("here", {"a": Fraction(1), "b": Fraction(2)})
    for status, several in (
        (Status.TESTED, (Eq(2 * a, b), Ne(a, b), a < b, b > a, b >= a)),
        (Status.REFUTED, (b <= a, b < a, a >= b)),
    ):
        for relation in several:
            assert compared(Relations((relation,)), [case], "").status is status, relation
    assert number(a / b, case) == Fraction(1, 2)
    with pytest.raises(ValueError, match="expected relations"):
        relations(Words("nothing"))
