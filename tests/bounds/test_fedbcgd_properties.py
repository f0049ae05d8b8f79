"""The lemmas of the FedBCGD paper on random rounds, in exact fractions, and on random functions and vectors.

Printed and corrected claims are read from the catalogue: those that hold, and those that must be seen to fail.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from admissible import SEARCH
from hypothesis import assume, find, given, settings, strategies as st, target
from sympy import Rational

from fedtheory.bounds.fedbcgd.rounds import BlockForm, Instance, cases, fits, form_of, largest_step
from fedtheory.bounds.fedbcgd.runs import BlockRound
from fedtheory.simulations.strategies import convex, vectors
from fedtheory.theory import catalogue
from fedtheory.theory.proofs.instances import sides
from fedtheory.theory.statement import Bound, Relations

HOLD = ["lemma6", "lemma12", "thm1.step47", "thm1.step55", "thm2.step76", "lemma5.corrected",
    "thm1.step47.corrected", "thm1.step48.corrected", "thm1.step50.corrected", "thm1.step56.corrected",
    "thm1.step61.corrected", "lemma11.corrected", "lemma11.nonconvex", "lemma13.corrected", "lemma14.corrected",
    "lemma15.corrected", "lemma16.corrected", "lemma17.corrected", "lemma18.corrected"]  # fmt: skip
FAIL = ["thm1.step46", "thm1.step50", "lemma11", "lemma13", "lemma14", "lemma16"]

eighths = st.integers(-8, 8).map(lambda n: Fraction(n, 8))
curved = st.integers(1, 8).map(lambda n: Fraction(n, 8))
amounts = st.integers(0, 8).map(lambda n: Fraction(n, 4))


def speaks_of(name: str) -> BlockForm:
    """In any state, those too that the algorithm does not reach from its start."""
    return replace(form_of(catalogue.find(f"fedbcgd.{name}"))[0], at_rest=False)


@st.composite
def rounds(draw: st.DrawFn, to: BlockForm) -> BlockRound:
    """Diagonal quadratics in one or two dimensions, any state; step sizes up to the largest that the conditions admit."""
    d, M = draw(st.integers(1, 2)), draw(st.integers(2, 4))
    N = draw(st.sampled_from(sorted({1, d})))
    K = draw(st.integers(1, M // N))
    curvature = curved if to.convex or "mu" in to.symbols else eighths
    alike = to.alike or "G" in to.symbols

    def vector(entries: st.SearchStrategy[Fraction]) -> tuple[Fraction, ...]:
        return tuple(draw(entries) for _ in range(d))

    diagonals = [vector(curvature)] * M if alike else [vector(curvature) for _ in range(M)]
    beta = draw(st.sampled_from([Fraction(1), Fraction(4)]))
    H = tuple(tuple(tuple(beta * h[r] * (r == c) for c in range(d)) for r in range(d)) for h in diagonals)
    points = tuple(vector(eighths) for _ in range(M)) if draw(st.sampled_from(to.plus)) else ()
    lam = draw(st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(9, 10)]))
    one = BlockRound(
        H, tuple(vector(eighths) for _ in range(M)), beta, vector(eighths), vector(eighths), points,
        draw(amounts), N, K, draw(st.integers(1, 3)), Fraction(1), lam,
    )  # fmt: skip
    largest = largest_step(one, to)
    assume(largest is not None)
    assert largest is not None
    one = replace(one, eta=largest * draw(st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 8)])))
    assume(fits(one, to))
    return one


def violated(one: BlockRound, to: BlockForm) -> bool:
    return any(not case.balance.holds for case in cases(Instance(one), to))


@pytest.mark.parametrize("name", HOLD)
def test_a_lemma_holds_on_random_rounds(name: str) -> None:
    to = speaks_of(name)
    seen = []

    @SEARCH
    @given(rounds(to))
    def holds(one: BlockRound) -> None:
        found = [case.balance for case in cases(Instance(one), to)]
        seen.append(len(found))
        target(max((min(float(comparison.ratio), 1e6) for comparison in found), default=0.0))
        assert all(comparison.holds for comparison in found), one

    holds()
    assert sum(seen) >= 10  # rounds that it speaks of


LONG = ("lemma13", "lemma16")  # searches of several seconds


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in FAIL])
def test_a_false_lemma_is_found_out(name: str) -> None:
    to = speaks_of(name)
    one = find(rounds(to), lambda one: violated(one, to), settings=settings(SEARCH, max_examples=3000))
    assert violated(one, to)


@pytest.mark.parametrize("name", ["lemma14", "thm1.step50"])
def test_what_fails_by_momentum_alone_holds_without(name: str) -> None:
    to = speaks_of(name)

    @SEARCH
    @given(rounds(to))
    def holds(one: BlockRound) -> None:
        assert not violated(replace(one, lam=Fraction(0)), to)

    holds()


@pytest.mark.parametrize(
    "name", ["lemma14.corrected", "thm1.step47.corrected", "thm1.step48.corrected", "lemma11.nonconvex"]
)
def test_a_sharpened_lemma_is_found_out(name: str) -> None:
    statement = catalogue.find(f"fedbcgd.{name}")
    assert isinstance(statement.claim, Bound)
    term = "drift" if name == "thm1.step47.corrected" else None  # the other terms are of either sign
    (to,) = form_of(statement.with_claim(statement.claim.scaled(Rational(1, 5), term)))
    assert violated(find(rounds(to), lambda one: violated(one, to), settings=settings(SEARCH, max_examples=3000)), to)


# ------------------------------------------------------------------------------------------- functions and vectors


def _relations(name: str) -> Relations:
    claim = catalogue.find(f"fedbcgd.{name}").claim
    assert isinstance(claim, Relations)
    return claim


@SEARCH
@given(convex(d=2, L=4.0), vectors(2), vectors(2), vectors(2))
def test_perturbed_convexity(h: Any, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
    """Lemma 1 with mu = 0 and its steps, on functions with certified smoothness."""
    statement = catalogue.find("fedbcgd.lemma1")
    for claim in (statement.claim, *statement.also):
        assert isinstance(claim, Relations)
        for side in sides(claim, {"h": h, "beta": 4.0, "mu": 0.0, "x": x, "y": y, "z": z}):
            assert side.holds, str(side)


@SEARCH
@given(st.floats(0.01, 100.0), vectors(3), vectors(3))
def test_relaxed_triangle(a: float, u: np.ndarray, v: np.ndarray) -> None:
    first, _ = _relations("lemma3").relations
    (side,) = sides(Relations((first,)), {"a": a, "v_i": u, "v_j": v})
    target(side.ratio)
    assert side.holds, str(side)


def test_a_sharper_relaxed_triangle_is_found_out() -> None:
    first, _ = _relations("lemma3").relations
    sharper = Relations((first.func(first.lhs, Rational(9, 10) * first.rhs),))

    def fails(case: tuple[float, np.ndarray]) -> bool:
        a, u = case
        (side,) = sides(sharper, {"a": a, "v_i": u, "v_j": u})
        return not side.holds

    found = find(st.tuples(st.floats(0.5, 2.0), vectors(3)), fails, settings=settings(SEARCH, max_examples=3000))
    assert fails(found)
