"""The search finds maxima that are known, always the same way; shrinking ends at numbers one can compute with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from theory.proofs.search import SIMPLE, Range, maximise, shrink

SQUARE = {"x": Range(-2, 3), "y": Range(-1, 1)}


def hill(point: Mapping[str, float]) -> float:
    """Largest, 5, at (1, 1/2)."""
    return 5 - (point["x"] - 1) ** 2 - 3 * (point["y"] - 0.5) ** 2


def test_a_hill_in_a_box() -> None:
    found = maximise(hill, SQUARE, seed=0, effort=200)
    assert found.value == pytest.approx(5, abs=1e-6) == hill(found.point)
    assert found.point == pytest.approx({"x": 1, "y": 0.5}, abs=1e-2)


def test_a_maximum_in_the_corner() -> None:
    found = maximise(lambda point: point["x"] - point["y"], SQUARE, seed=0, effort=400)
    assert found.value == pytest.approx(4, rel=1e-3)
    assert -2 <= found.point["x"] <= 3 and -1 <= found.point["y"] <= 1


def test_many_orders_of_magnitude() -> None:
    """x / (1 + x^2) has its maximum 1/2 at 1, in the middle of a logarithmic scale."""
    found = maximise(lambda p: p["x"] / (1 + p["x"] ** 2), {"x": Range(1e-8, 1e8, log=True)}, seed=3, effort=120)
    assert found.value == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("effort", [8, 41, 200])
def test_the_effort_is_kept_and_the_path_is_that_of_every_positive_multiple(effort: int) -> None:
    paths: list[list[float]] = [[], [], []]
    for path, factor in zip(paths, (1.0, 1.0, 8.0), strict=True):

        def ratio(point: Mapping[str, float], path: list[float] = path, factor: float = factor) -> float:
            path.append(point["x"])
            return factor * hill(point)

        maximise(ratio, SQUARE, seed=7, effort=effort)
    assert paths[0] == paths[1] == paths[2]
    assert effort // 2 < len(paths[0]) <= effort + 2
    assert len(set(paths[0])) > effort // 2


def test_seeds_differ() -> None:
    first, second = (maximise(hill, SQUARE, seed=seed, effort=8).point for seed in (0, 1))
    assert first != second


def test_where_there_is_no_ratio() -> None:
    """NaN is worse than everything else; nothing but NaN is NaN."""
    half = maximise(lambda p: hill(p) if p["x"] < 0 else float("nan"), SQUARE, seed=0, effort=300)
    assert half.value == pytest.approx(4, abs=1e-2) and half.point["x"] < 0
    assert np.isnan(maximise(lambda p: float("nan"), SQUARE, seed=0, effort=8).value)


def test_infinity_ends_the_search() -> None:
    calls = []

    def ratio(point: Mapping[str, float]) -> float:
        calls.append(point)
        return float("inf") if point["x"] > 1 else 0.0

    found = maximise(ratio, SQUARE, seed=0, effort=100)
    assert found.value == float("inf") and found.point["x"] > 1 and len(calls) == 50


# --- Shrinking -------------------------------------------------------------------------------------------------------


def test_to_simple_numbers() -> None:
    """x y > 1 at (1.7, 3.1): x becomes 1, for x = 0 or -1 will not do; then y, whose sign may not change either."""
    found = shrink(lambda p: p["x"] * p["y"], {"x": 1.7, "y": 3.1})
    assert found == {"x": Fraction(1), "y": Fraction(2)}
    assert all(isinstance(value, Fraction) for value in found.values())


def test_again_until_nothing_changes() -> None:
    """From (4, 7): x cannot become 1 before y has become 1, so it does on the second pass."""

    def ratio(p: Mapping[str, Fraction]) -> Any:
        return 2 if p["x"] == 4 or (p["x"], p["y"]) == (1, 1) else 0

    assert shrink(ratio, {"x": 4.0, "y": 7.0}, candidates=[Fraction(1)]) == {"x": 1, "y": 1}


def test_to_small_denominators_where_no_candidate_will_do() -> None:
    """0.3 < x < 0.34: not 1/4, 1/2 ... but 1/3."""

    def ratio(p: Mapping[str, Fraction]) -> Any:
        return 2 if Fraction(3, 10) < p["x"] < Fraction(34, 100) else float("nan")

    assert shrink(ratio, {"x": 0.3217}) == {"x": Fraction(1, 3)}


def test_the_threshold_is_exceeded_not_met() -> None:
    assert shrink(lambda p: p["x"], {"x": 1 + 1e-9})["x"] > 1
    assert shrink(lambda p: p["x"], {"x": 3.3}, above=Fraction(3))["x"] == Fraction(7, 2)
    assert shrink(lambda p: p["x"], {"x": 1.3}) == {"x": 2}
    with pytest.raises(ValueError, match=r"the ratio does not exceed 1 at \{'x': 1\.0\}"):
        shrink(lambda p: p["x"], {"x": 1.0})


def test_simplest_first() -> None:
    assert SIMPLE[:3] == (0, 1, -1) and len(set(SIMPLE)) == len(SIMPLE)


# --- Refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: Range(1, 1), r"a range from 1 to 1: expected low < high"),
        (lambda: Range(0, float("inf")), r"a range from 0 to inf"),
        (lambda: Range(0, 1, log=True), r"a range from 0 to 1 \(log\).*positive"),
        (lambda: maximise(hill, {}, seed=0, effort=100), r"a box of 0 parameters"),
        (lambda: maximise(hill, SQUARE, seed=0, effort=7), r"an effort of 7: expected at least 1 and 8"),
    ],
)
def test_refusals(attempt: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attempt()
