"""Figures of `simulate --plot`: divergent runs, exact zeros and rounding spoil none; the best step size is not noise's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from fedtheory.figures.gallery import FigureData, Picture, rendered
from fedtheory.figures.runs import best_of_grid
from fedtheory.simulate import Asked, plot, simulate, summary

GIVEN = {"rounds": "400", "seeds": "2", "K": "5"}
ONE = {"d": "1", "M": "1", "mu": "1", "delta": "0", "zeta_star": "0", "K": "1", "seeds": "1", "rounds": "10"}
SIGMOID = {"loss": "sigmoid", "label": "3", "M": "4", "partition": "iid", "N": "2", "K": "2", "T": "2", "rounds": "20"}


def drawn(problem: str, algorithms: tuple[str, ...], given: dict[str, str]) -> tuple[FigureData, Any, list[str]]:
    """The figure, which all formats can have without a warning; its first axes; what the legend says."""
    asked = Asked(problem, algorithms, given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = plot(asked, simulate(asked))
        assert rendered(Picture("name", "", lambda full: made))["png"]
    axes = made.canvas.axes[0]
    return made, axes, axes.get_legend_handles_labels()[1]


@pytest.mark.parametrize(("algorithm", "eta"), [("PFL", "50"), ("PFL", "100"), ("SFL", "5"), ("SFL", "100,200")])
def test_a_run_that_diverges_leaves_the_panel(algorithm: str, eta: str) -> None:
    found, axes, labels = drawn("quadratic", (algorithm,), {**GIVEN, "eta": eta})
    assert "2 of 2 seeds diverge" in labels
    start = found.data["mean"].iloc[0]
    assert axes.get_ylim()[1] <= 1.0001e4 * start and found.data["mean"].max() < 1e150


def test_one_bad_step_size_leaves_the_others_readable() -> None:
    _, axes, labels = drawn("quadratic", ("PFL",), {**GIVEN, "rounds": "40", "eta": "0.1,2.5"})
    assert labels[-1].startswith("leaves the panel at ") and axes.get_ylim()[0] > 1e-9
    _, axes, _ = drawn("digits", ("FedBCGD",), {**SIGMOID, "seeds": "2", "eta": "0.5,500"})
    low, high = axes.get_ylim()
    assert 1 < low < high < 1.4  # linear, of values and not of gaps


def test_exact_zeros_are_at_the_lower_edge() -> None:
    found, axes, labels = drawn("quadratic", ("PFL",), {**ONE, "eta": "1"})
    assert labels[-1] == "0 from round 1 on" and (found.data[found.data["round"] > 0]["mean"] == 0).all()
    assert axes.get_lines()[0].get_ydata()[-1] == axes.get_ylim()[0] > 0
    at_minimum = {**GIVEN, "x0": "0", "d": "2", "M": "2", "eta": "0.1"}
    assert drawn("quadratic", ("PFL",), at_minimum)[2][-1] == "0 in 1 of the rounds"


def test_the_best_step_size_is_not_that_of_noise() -> None:
    """Of those that end at the rounding level, the one that gets there first; no gap below 0 is shown."""
    given = {"M": "2", "partition": "iid", "rounds": "3000", "regularisation": "0.1", "K": "1", "seeds": "1"}
    asked = Asked("breast_cancer", ("PFL",), {**given, "eta": "0.0719491,0.5,3"}, best=True)
    (found,) = simulate(asked)
    assert float(found.runs.step_size[0]) == 3 and found.alike == 3 and 1e-15 < found.level < 1e-12
    every = found.runs.assign(gap=found.runs.gap.where(found.runs["round"] < 3000, -found.level / 2))
    assert summary(every, found.level)[-1]["gap"] == 0 and summary(every)[-1]["gap"] < 0
    chosen, _ = best_of_grid(found.runs, "grad_sq", np.inf)
    assert float(chosen.step_size) == 3
