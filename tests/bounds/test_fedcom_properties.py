"""The lemmas of the FedCOM paper on random runs, in exact fractions: those that hold, and those that must be seen to fail.

Printed and corrected claims are read from the catalogue.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from admissible import SEARCH
from hypothesis import assume, find, given, settings, strategies as st, target
from sympy import Rational

from fedtheory.bounds.fedcom.rounds import CompressedForm, cases, fits, form_of, largest_step
from fedtheory.bounds.fedcom.runs import Run
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound

HOLD = ["lemmaD2.corrected", "lemmaE2.corrected", "lemmaF2", "lemmaF3", "lemmaF4", "lemmaF5", "lemmaD1.corrected",
    "lemmaD3.corrected", "lemmaD3.summed", "lemmaE1.corrected", "lemmaE7.corrected", "lemmaF1.corrected",
    "lemmaF6.corrected"]  # fmt: skip
FAIL = ["lemmaD1", "lemmaD1.proof", "lemmaD3", "lemmaE1"]
HOLD_BY_ROOM = {"lemmaF2": 4, "lemmaF3": 8, "lemmaF4": 4, "lemmaF5": 4, "lemmaE7.corrected": 8}

eighths = st.integers(-8, 8).map(lambda n: Fraction(n, 8))
amounts = st.integers(0, 8).map(lambda n: Fraction(n, 4))


def speaks_of(name: str) -> CompressedForm:
    return form_of(catalogue.find(f"fedcom.{name}"))[0]


@st.composite
def runs(draw: st.DrawFn, to: CompressedForm, most_steps: int = 4) -> Run:
    """Any curvature between -1 and 1, so that L = 1 serves; step sizes up to the largest that the conditions admit."""
    m = draw(st.integers(1, 3))
    alike = not to.tracks
    h, b = (tuple([draw(eighths)] * m) if alike else tuple(draw(eighths) for _ in range(m)) for _ in "hb")
    q = draw(amounts)
    run = Run(
        h, b, w0=draw(eighths), sigma_sq=draw(amounts), q=q, shared=not alike, tau=draw(st.integers(1, most_steps)),
        eta=Fraction(1), gamma=draw(st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(3)])),
        alpha=Fraction(0) if alike else 1 / (1 + q) if to.damped else Fraction(1), R=draw(st.integers(1, 3)),
    )  # fmt: skip
    largest = largest_step(run, to)
    assume(largest is not None)
    assert largest is not None
    run = replace(
        run, eta=min(largest, Fraction(2)) * draw(st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 8)]))
    )
    assume(fits(run, to))
    return run


def violated(run: Run, to: CompressedForm) -> bool:
    return any(not case.balance.holds for case in cases(run, to))


@pytest.mark.parametrize("name", HOLD)
def test_a_lemma_holds_on_random_runs(name: str) -> None:
    to = speaks_of(name)

    @SEARCH
    @given(runs(to))
    def holds(run: Run) -> None:
        found = list(cases(run, to))
        target(max((float(case.balance.ratio) for case in found), default=0.0))
        assert all(case.balance.holds for case in found), run

    holds()


@pytest.mark.parametrize("name", FAIL)
def test_a_false_lemma_is_found_out(name: str) -> None:
    to = speaks_of(name)
    run = find(runs(to, most_steps=8), lambda run: violated(run, to), settings=settings(SEARCH, max_examples=4000))
    assert violated(run, to) and min(run.h) < 0  # noise and later gradients add up where f is concave


@pytest.mark.parametrize("name", HOLD)
def test_a_sharpened_lemma_is_found_out(name: str) -> None:
    statement = catalogue.find(f"fedcom.{name}")
    assert isinstance(statement.claim, Bound)
    term = "drift" if name in ("lemmaD2.corrected", "lemmaE2.corrected") else None  # the other terms are negative
    sharper = statement.claim.scaled(Rational(1, HOLD_BY_ROOM.get(name, 3)), term)
    to = form_of(statement.with_claim(sharper))[0]
    assert violated(find(runs(to), lambda run: violated(run, to), settings=settings(SEARCH, max_examples=4000)), to)
