"""How a search changes and simplifies an instance: one entry at a time, until nothing is simpler."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from fedtheory.bounds.trials.choices import Choice, counts, fractions, keep_sum, one_less, with_values
from fedtheory.bounds.trials.rounds import PaperRounds


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
