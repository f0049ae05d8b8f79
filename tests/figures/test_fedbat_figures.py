"""Figures of the FedBAT paper: drawn whole, labelled; their numbers computed again, their sentences true of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_digits

from fedtheory.bounds.fedbat.arenas import ARENAS
from fedtheory.figures import bound_against_run, fedbat
from fedtheory.figures.fedbat import (
    digits,
    told_of,
    updates,
)
from fedtheory.simulations.algorithms.base import Memory
from fedtheory.simulations.algorithms.fedbat import FedBAT
from fedtheory.simulations.binarisation import law
from fedtheory.simulations.compressors import NoisySign
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems.quadratic import Quadratic, generate

# ------------------------------------------------------------------------------------------------ Theorems 1 and 2


def test_a_corrected_form_with_another_bound_is_still_drawn() -> None:
    """Theorem 3 has one; Theorem 1 does not."""
    drawn = {}
    for id_ in ("fedbat.thm1", "fedbat.thm3"):
        arena = next(a for a in ARENAS if a.statement == id_ and a.name.startswith("two valleys, tau 1"))
        axis = bound_against_run.draw(id_, [arena]).canvas.axes[0]
        drawn[id_] = {line.get_label() for line in axis.get_lines()}
    assert "corrected bound" in drawn["fedbat.thm3"] and "corrected bound" not in drawn["fedbat.thm1"]


def test_counts_stay_together() -> None:
    assert "2\u00a0of\u00a04\u00a0clients" in bound_against_run.titled("x, 2 of 4 clients")
    assert bound_against_run.titled("a few of them, 5 cats") == "a few of them, 5 cats"


# ------------------------------------------------------------------------------------------------------ dimension


def test_updates_are_what_is_binarised() -> None:
    """One client: what the model moves by is the update binarised, so all its entries have the update's largest size."""
    made = generate(6, 2, L=1.0, mu=0.25, delta=0.1, zeta_star=1.0, sigma=0.5, seed=1)
    alone = Quadratic(made.H[:1], made.b[:1], 0.5)
    method = FedBAT(3, 0.2, phi=0.0, step_size="max", gamma=5.0)
    found = list(updates(alone, method, 4, 2, np.ones(6)))
    x = np.ones((1, 2, 6))
    for r, m in enumerate(found):
        assert m.shape == (2, 1, 6)
        draws = Draws.of_seeds(np.arange(2), r)
        after = method.round(alone, x, np.full((1, 1, 1), method.eta), draws, lambda *_: None, Memory())
        moved, m = (after - x)[0], m[:, 0]
        np.testing.assert_allclose(np.abs(moved), np.abs(m).max(-1, keepdims=True) * np.ones(6), rtol=1e-9)
        largest = np.abs(m).argmax(-1)
        np.testing.assert_allclose(moved[[0, 1], largest], m[[0, 1], largest], rtol=1e-9)
        x = after


def test_relative_errors_are_those_of_the_law() -> None:
    m = [Fraction(3), Fraction(-1), Fraction(2)]
    worst, best = fedbat.relative_errors(np.array([[float(v) for v in m]]))

    def squared(alpha: Fraction) -> Fraction:
        return sum(p * sum((a - b) ** 2 for a, b in zip(s, m, strict=True)) for p, s in law(m, alpha))

    square = sum(v * v for v in m)
    assert worst[0] == pytest.approx(float(squared(Fraction(3)) / square), rel=1e-12)
    on_grid = min(squared(Fraction(j, 60)) for j in range(1, 300)) / square
    assert best[0] == pytest.approx(float(on_grid), rel=1e-3) and best[0] <= float(on_grid) + 1e-12


def test_gaussian_error_is_that_of_gaussian_updates() -> None:
    for d in (2, 32):
        m = np.random.default_rng(d).standard_normal((40_000, d))
        factor = d * np.abs(m).max(-1) ** 2 / (m**2).sum(-1) - 1
        assert fedbat.gaussian_error(d) == pytest.approx(factor.mean(), abs=5 * factor.std() / 200)
    assert fedbat.gaussian_error(2) == pytest.approx(2 / np.pi, rel=1e-9)


# ------------------------------------------------------------------------------------------------ signs against bits


def test_what_the_title_tells_of_fedbat() -> None:
    ends = {"FedBAT": (2.0, 1.5, 2.5), "SignSGD": (4.0, 3.0, 5.0), "EF-SignSGD": (1.0, 0.9, 1.4),
            "Noisy-SignSGD": (1.4, 1.0, 1.6), "Stoc-SignSGD": (1.0, 0.5, 1.2)}  # fmt: skip
    assert told_of(ends) == (
        "Every run of EF-SignSGD and Stoc-SignSGD ends below every run of FedBAT; "
        "every run of SignSGD ends above every run of FedBAT"
    )
    assert told_of(dict.fromkeys(ends, (1.0, 0.5, 2.0))) == "The runs of every binarisation baseline overlap FedBAT's"


def test_the_clients_are_as_the_title_says() -> None:
    problem = digits()
    raw = load_digits().target
    dealt = problem.partition.clients
    assert len(dealt) == 30 and all(len(np.unique(raw[rows])) == 3 for rows in dealt)
    np.testing.assert_allclose(problem.weights, [len(rows) / len(raw) for rows in dealt])
    assert problem.weights.max() > 1.5 * problem.weights.min() and problem.batch == 8
    np.testing.assert_array_equal(problem.dataset.labels, raw == 0)


# ---------------------------------------------------------------------------------------------------------- bias


def test_noisy_signs_are_those_of_a_normal_noise() -> None:
    x = np.array([0.3])
    mean, deviation = fedbat.outcomes(NoisySign(0.5, 0.2), x)
    sampled = 0.5 * np.sign(x + 0.2 * np.random.default_rng(0).standard_normal(200_000))
    assert mean[0] == pytest.approx(sampled.mean(), abs=0.004)
    assert deviation[0] == pytest.approx(sampled.std(), abs=0.004)
