"""What checks share: constants that a statement does not assume, and claims over cases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
import sympy
from sympy import Eq, Ne

from fedtheory.bounds.fedbat.rounds import ROUNDS
from fedtheory.bounds.trials.cases import Case, ExactVector, compared, known_at, number, relations, root, substituted
from fedtheory.bounds.trials.choices import Choice, counts, fractions, keep_sum, one_less, with_values
from fedtheory.bounds.trials.claims import exact, rescaled, unassumed
from fedtheory.bounds.trials.rounds import PaperRounds
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


# How a search changes and simplifies an instance: one entry at a time, until nothing is simpler


@dataclass(frozen=True)
class Functions:
    h: tuple[Any, ...]
    b: tuple[tuple[Any, ...], ...]
    bend: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Round:
    of: Functions
    K: int = 1


LONG = Round(Functions(fractions(3, 5), ((7, 0), (1, 2)), fractions(1, 1)), 4)


def test_one_entry_changes() -> None:
    random, seen = Random(0), set()
    for _ in range(50):
        new = Choice((9,), depth=2).draw(LONG.of.b, random)
        assert (
            sum(old != v for row, rows in zip(new, LONG.of.b, strict=True) for v, old in zip(row, rows, strict=True))
            == 1
        )
        assert Choice((9,), depth=2, alike=True).draw(LONG.of.b, random) in (((9, 0), (9, 2)), ((7, 9), (1, 9)))
        (value,) = {*Choice((9,), depth=1, near=True, alike=True).draw(fractions(3, 3), random)}
        seen.add(value)
    assert seen == {*fractions(9, (47, 16), (49, 16))}


def test_the_simplest_comes_first() -> None:
    assert list(Choice(simple=(0, 1, -1)).simpler(-1)) == [0, 1]
    assert list(Choice(simple=(0, 1), depth=1).simpler((1, 7))) == [(0, 7), (0, 0), (1, 0), (0, 0), (1, 1), (1, 1)]
    assert list(counts(3).simpler(3)) == [1, 2]
    assert list(Choice(depth=1, empty=True).simpler((4,))) == [()] and not list(Choice(depth=1, empty=True).simpler(()))


def test_fields_inside_fields_and_what_is_left_out() -> None:
    assert with_values(LONG, {"of.h": (1,), "K": 2, "of.b": ((0,),)}) == Round(
        Functions((1,), ((0,),), LONG.of.bend), 2
    )
    clients, entries = {"of.h": 0, "of.b": 0, "of.bend": 0}, {"of.b": 1}
    one, other, *rest = one_less(LONG, (clients, entries))
    assert one == {"of.h": (5,), "of.b": ((1, 2),), "of.bend": (1,)} and other["of.b"] == ((7, 0),)
    assert rest == [{"of.b": ((0,), (2,))}, {"of.b": ((7,), (1,))}]
    assert not list(one_less(Round(Functions((1,), ((1,),))), (clients, entries)))
    assert keep_sum(fractions(1, 2, -3), fractions(1, 4, -3)) == fractions(-1, 4, -3)
    assert keep_sum(fractions(1, -1), fractions(0, 0)) == fractions(0, 0)


SIMPLEST = Round(Functions((0,), ((0, 0),)))


@pytest.mark.parametrize(
    ("violates", "left"),
    [
        (lambda r: True, SIMPLEST),
        (lambda r: r.K > 2, with_values(SIMPLEST, {"K": 3})),
        (lambda r: sum(r.of.h) > 4, with_values(SIMPLEST, {"of.h": (5,)})),
    ],
)
def test_simplifying_ends_with_the_simplest_instance_that_is_left(violates: Any, left: Round) -> None:
    choices = {
        "K": counts(9),
        "of.bend": Choice(depth=1, empty=True),
        "of.h": Choice(simple=fractions(0, 1, 2), depth=1),
        "of.b": Choice(simple=fractions(0, 1), depth=2),
    }
    rounds: PaperRounds[Round, Any] = PaperRounds(
        forms=None, family=None, cases=None, witness=None, described=None, searched="", effort=((0, 0), (0, 0)),  # type: ignore[arg-type]
        choices=lambda *_: choices, axes=({"of.h": 0, "of.b": 0, "of.bend": 0},),
        completion=lambda at, values, _: with_values(at, values),
    )  # fmt: skip
    at = LONG
    while found := next((one for one in rounds.simpler(at, None) if violates(one)), None):
        at = found
    assert at == left
