"""The lemmas of the FedBAT paper on random runs, in exact fractions, and the binarisation operator on random vectors.

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

from fedtheory.bounds.fedbat.rounds import BinarisedForm, cases, fits, form_of
from fedtheory.simulations.binarisation import error, law, mean_size
from fedtheory.simulations.exact.enumerated import Run
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound

F = Fraction
# Lemmas, and how much a constant can be tightened before runs of this size refute it
HOLD = {
    "lemma1": Rational(1, 2),
    "lemma2.corrected": Rational(9, 10),
    "lemma3.corrected": Rational(1, 3),
    "lemma4.corrected": Rational(1, 3),
    "lemma6.corrected": Rational(1, 3),
    "lemma7": None,  # terms of either sign
    "lemma5": None,  # no constant
    "eq25.corrected": Rational(1, 2),
    "eq57.corrected": Rational(1, 2),
    "eq38.corrected": None,
    "eq41.corrected": None,
    "eq42": Rational(1, 2),
    "eq46.corrected": Rational(1, 3),
    "eq47.corrected": Rational(9, 10),
    "eq71.corrected": None,
}
FAIL = ["lemma2", "eq38", "eq41", "eq44", "eq46", "eq47"]

eighths = st.integers(-8, 8).map(lambda n: F(n, 8))
halves = st.integers(-4, 4).map(lambda n: F(n, 2))
curved = st.integers(1, 8).map(lambda n: F(n, 8))


def speaks_of(name: str) -> BinarisedForm:
    return form_of(catalogue.find(f"fedbat.{name}"))[0]


@st.composite
def runs(draw: st.DrawFn, to: BinarisedForm) -> Run:
    """Two clients at most, in two coordinates at most, three steps at most, one client with noise; L = 1 serves."""
    N = 2 if to.appendix == "D" else draw(st.integers(1, 2))
    d, tau = draw(st.sampled_from([1, 2, 2])), draw(st.integers(1, 3 if N == 1 else 2))
    steps = draw(st.integers(tau, 3 if N == 1 else 2))

    def vector(entries: st.SearchStrategy[Fraction]) -> tuple[Fraction, ...]:
        return tuple(draw(entries) for _ in range(d))

    h = [vector(curved if to.strong else eighths) for _ in range(N)]
    p = (F(1, 2), F(1, 2)) if N == 2 else (F(1),)
    if to.appendix == "C" and N == 2:
        share = draw(st.integers(1, 7))
        p = (F(share, 8), F(8 - share, 8))
    rate = draw(st.sampled_from([F(1, 4), F(1, 4), F(1, 8), F(1), F(2)]))
    falls = 0 if to.appendix == "E" else draw(st.sampled_from([0, 3, 8]))
    rates = tuple(rate * falls / (falls + t) if falls else rate for t in range(steps + tau))
    quiet = ((F(0),) * d,) * (N - 1)
    noise = ((vector(halves), *quiet), (vector(halves), *quiet))
    K = draw(st.integers(1, N)) if to.appendix == "D" or (to.appendix == "E" and N == 2) else None
    run = Run(tuple(h), tuple(vector(halves) for _ in range(N)), p, vector(halves), rates, tau, steps, noise, K)
    assume(fits(run, to))
    return run


def violated(run: Run, to: BinarisedForm) -> bool:
    return any(not case.balance.holds for further in (False, True) for case in cases(run, to, further))


@pytest.mark.parametrize("name", HOLD)
def test_a_lemma_holds_on_random_runs(name: str) -> None:
    to, seen = speaks_of(name), []

    @SEARCH
    @given(runs(to))
    def holds(run: Run) -> None:
        found = [*cases(run, to), *cases(run, to, further=True)]
        seen.append(len(found))
        target(max((min(float(case.balance.ratio), 1e6) for case in found), default=0.0))
        assert all(case.balance.holds for case in found), run

    holds()
    assert sum(map(bool, seen)) >= 8  # runs that it speaks of


@pytest.mark.parametrize("name", [name for name, factor in HOLD.items() if factor is not None])
def test_a_sharpened_lemma_is_found_out(name: str) -> None:
    statement, factor = catalogue.find(f"fedbat.{name}"), HOLD[name]
    assert isinstance(statement.claim, Bound)
    to = form_of(replace(statement, claim=statement.claim.scaled(factor), also=()))[0]
    assert violated(find(runs(to), lambda run: violated(run, to), settings=settings(SEARCH, max_examples=2000)), to)


@pytest.mark.parametrize("name", FAIL)
def test_a_false_line_is_found_out(name: str) -> None:
    to = speaks_of(name)
    run = find(runs(to), lambda run: violated(run, to), settings=settings(SEARCH, max_examples=2000))
    assert violated(run, to)
    if name in ("lemma2", "eq44", "eq47"):  # the gradients at w_t^k are others where S moves them
        assert run.d == 2 and run.steps >= 2
    if name == "eq38":
        assert run.tau > 1
    if name == "eq46":
        assert len(set(run.rates)) > 1


@pytest.mark.parametrize("name", ["lemma2", "eq47"])
def test_in_one_coordinate_they_hold(name: str) -> None:
    """S is the identity there, and all gradients are where they are said to be."""
    to = speaks_of(name)

    @SEARCH
    @given(runs(to))
    def holds(run: Run) -> None:
        assume(run.d == 1)
        assert not violated(run, to)

    holds()


# ------------------------------------------------------------------------------------------------------ the operator

vectors = st.lists(st.integers(-12, 12).map(lambda n: F(n, 4)), min_size=1, max_size=5)


def largest(x: list[Fraction]) -> Fraction:
    return max(map(abs, x))


def mean_and_error(x: list[Fraction], alpha: Fraction) -> tuple[list[Fraction], Fraction]:
    """E S(x, alpha) and E||S(x, alpha) - x||^2, from the law."""
    outcomes = list(law(x, alpha))
    assert sum(chance for chance, _ in outcomes) == 1 and all(chance > 0 for chance, _ in outcomes)
    mean = [sum((chance * y[i] for chance, y in outcomes), F(0)) for i in range(len(x))]
    spread = sum((chance * sum((a - b) ** 2 for a, b in zip(y, x, strict=True)) for chance, y in outcomes), F(0))
    return mean, spread


@SEARCH
@given(vectors)
def test_the_operator_of_the_analysis(x: list[Fraction]) -> None:
    """alpha = ||x||_oo: no bias, squared error d ||x||_oo^2 - ||x||^2, at most (d - 1) ||x||^2."""
    alpha, size = largest(x), sum((v * v for v in x), F(0))
    mean, spread = mean_and_error(x, alpha)
    assert mean == x
    assert spread == len(x) * alpha**2 - size
    assert spread <= (len(x) - 1) * size
    target(float(spread / size) if size else 0.0)
    assert error([float(v) for v in x], float(alpha)) == pytest.approx(float(spread), abs=1e-9)


@SEARCH
@given(st.integers(1, 5), st.integers(0, 4), st.integers(1, 12))
def test_one_entry_attains_it(d: int, where: int, size: int) -> None:
    x = [F(size) if i == where % d else F(0) for i in range(d)]
    assert mean_and_error(x, F(size))[1] == (d - 1) * size**2


@SEARCH
@given(vectors, st.integers(0, 7))
def test_a_smaller_step_size_has_a_bias_and_any_larger_one_has_none(x: list[Fraction], eighth: int) -> None:
    alpha = largest(x)
    assume(alpha > 0)
    mean, _ = mean_and_error(x, alpha * F(eighth, 8))
    assert mean != x and mean == [max(min(v, alpha * F(eighth, 8)), -alpha * F(eighth, 8)) for v in x]
    mean, spread = mean_and_error(x, alpha * F(9, 8))
    assert mean == x and spread > mean_and_error(x, alpha)[1]


def test_a_smaller_variance_is_found_out() -> None:
    """q^2 = d - 1 is the least: a hundredth less is refuted by some vector."""

    def fails(x: list[Fraction]) -> bool:
        return mean_and_error(x, largest(x))[1] > F(99, 100) * (len(x) - 1) * sum(v * v for v in x)

    assert fails(find(vectors, fails, settings=settings(SEARCH, max_examples=3000)))


@SEARCH
@given(st.lists(st.floats(-4, 4), min_size=1, max_size=6))
def test_the_mean_size_is_the_best_for_signs(x: list[float]) -> None:
    """(13): ||x - alpha sign(x)|| is smallest at ||x||_1 / d."""
    v: Any = np.array(x)

    def missed(alpha: float) -> float:
        return float(((np.abs(v) - alpha) ** 2).sum())

    best = mean_size(v)
    assert all(missed(best) <= missed(best + step) + 1e-12 for step in (-0.5, -0.01, 0.01, 0.5))
