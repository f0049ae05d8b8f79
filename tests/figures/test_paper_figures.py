"""Figures of the papers: their data say what the figures are for, and their sentences are true of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy
from sklearn.datasets import load_digits

from fedtheory.bounds.fedbat.arenas import ARENAS
from fedtheory.figures import bound_against_run, fedbat, fedbcgd, fedcom
from fedtheory.figures.fedbat import (
    digits,
    told_of,
    updates,
)
from fedtheory.figures.fedbcgd import least
from fedtheory.figures.fedcom import admits, admitted, contraction_limit, pair, quadratics, resting_point, with_q
from fedtheory.simulations import expectation, run
from fedtheory.simulations.algorithms.base import Memory
from fedtheory.simulations.algorithms.fedbat import FedBAT
from fedtheory.simulations.algorithms.fedbcgd import VARIANTS, FedBCGD
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.binarisation import law
from fedtheory.simulations.compressors import NoisySign
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.exact.linear import spectral_radius
from fedtheory.simulations.problems.quadratic import Quadratic, generate
from fedtheory.theory.fedbcgd.checks.counterexamples import Alike

# ------------------------------------------------------------------------------------------- printed theorems


def test_least_is_that_over_all_polynomials() -> None:
    """Against least squares over the coefficients, and against the fractions of the counter-example."""
    h, weights = np.linspace(0.1, 1.0, 12), np.arange(1.0, 13.0)
    for degree, found in enumerate(least(h, weights, 5)):
        powers = np.sqrt(weights)[:, None] * h[:, None] ** np.arange(1, degree + 1)
        rest = np.sqrt(weights)
        if degree:
            rest = rest + powers @ np.linalg.lstsq(powers, -rest, rcond=None)[0]
        assert found == pytest.approx(rest @ rest, rel=1e-6)
    instance, two = Alike(sympy.Integer(1), sympy.Rational(0), 1), np.array([1.0, 0.5])
    assert least(two, two / 2, 1)[1] == pytest.approx(float(instance.least_gap))
    assert least(two, two**2, 1)[1] == pytest.approx(float(instance.least_gradient))


def test_least_is_reached_by_no_run_of_momentum() -> None:
    """Gradient descent with momentum, whatever its settings, is never below, and conjugate gradients reach it."""
    h = fedbcgd.WELL_CONDITIONED
    lowest = least(h, h / 2, 10)
    for eta in (0.5, 1.0, 1.6):
        for lam in (0.0, 0.1, 0.5):
            x, v = np.ones_like(h), np.zeros_like(h)
            for r in range(11):
                assert (h * x**2).sum() / 2 >= lowest[r] * (1 - 1e-12)
                v = lam * v - eta * h * x
                x = x + v
    x, g = np.ones_like(h), h.copy()
    p = -g
    for r in range(1, 6):
        step = (g @ g) / (p @ (h * p))
        x, new = x + step * p, g + step * h * p
        p, g = -new + (new @ new) / (g @ g) * p, new
        assert (h * x**2).sum() / 2 == pytest.approx(lowest[r], rel=1e-6)


def test_unseen_client_is_what_the_run_leaves() -> None:
    """One of four clients is sampled a round: the expected gap never falls below what the unseen client leaves."""
    M = 4
    problem = Quadratic(np.ones((M, 1, 1)), np.array([[0.0]] * (M - 1) + [[-float(M)]]))
    for variant in ("FedBCGD+", "FedBCGD+, as printed"):
        method = VARIANTS[variant](T=2, eta=[0.01, 0.1, 0.5], N=1, K=1)
        gap = expectation(problem, method, rounds=10, x0=0.0, record=("gap",)).gap
        assert (gap.values >= 0.5 * (1 - 1 / M) ** np.arange(11) * (1 - 1e-12)).all()


# ------------------------------------------------------------------------------------------------ algorithms


def test_printed_momentum_takes_the_first_step_twice() -> None:
    """Printed, from v = 0: x + change + v, v = change; in the long run lam adds up to 1 + alpha."""
    problem = fedbcgd.quadratics(apart=0.0)
    twice = run(problem, FedBCGD(1, 0.2, 1, 4), rounds=5, x0=1.0).gap
    printed = run(problem, FedBCGD(1, 0.1, 1, 4, momentum="printed"), rounds=5, x0=1.0).gap
    np.testing.assert_allclose(printed, twice, rtol=1e-9)


# Figures of the FedCOM paper


def test_the_resting_point_is_one() -> None:
    """All clients: the minimiser; fewer: the gradient balances the pull to the start."""
    problem, x0 = quadratics(), np.ones(5)
    np.testing.assert_allclose(resting_point(problem, 4, 0.1, 1.0, 5, x0), problem.constants["x_star"], atol=1e-12)
    w = resting_point(problem, 1, 0.1, 2.0, 5, x0)
    np.testing.assert_allclose(problem.full_gradient(w), 0.75 * (x0 - w), atol=1e-12)


def test_compression_ratio_counts_the_indices() -> None:
    for ratio in (0.5, 0.25, 0.1):
        k = fedcom.kept_at(ratio, 640)
        assert k * (32 + 10) <= ratio * 32 * 640 < (k + 1) * (32 + 10)


def test_cond78_admits_where_the_algorithm_diverges() -> None:
    symbols = {"L": 1.0, "mu": 0.1, "m": 2.0, "tau": 5.0, "q": 0.5}
    found = admitted("fedcom.cond78", np.array([0.03]), np.geomspace(1e-2, 1e6, 4000), **symbols)
    (_, _, below, first), (_, above, high, second) = found
    assert not first and second and below < 10 and 100 < above < 1000 and high == pytest.approx(1e6)
    for gamma in (2 * above, 1e4, high):
        inside, negative = admits("fedcom.cond78", eta=0.03, gamma=gamma, **symbols)
        assert inside and negative
        for damping in (1.0, None):
            method = FedCOMGATE(5, 0.03, gamma, with_q(0.5), damping=damping)
            assert spectral_radius(pair(), method)[0] > 100
        assert not admits("fedcom.cond61", eta=0.03, gamma=gamma, **symbols)[0]
    assert pair().constants["L"] == pytest.approx(1.0) and pair().constants["mu_pl"] == pytest.approx(0.1)


def test_contraction_limit() -> None:
    eta = np.array([0.01, 0.1])
    for gamma, one in zip(contraction_limit(FedCOM, eta, 1e-2, 1e6, with_q(0.5)), eta, strict=True):
        inside, outside = (spectral_radius(pair(), FedCOM(5, one, f * gamma, with_q(0.5)))[0] for f in (0.99, 1.03))
        assert inside < 1 < outside
    assert (contraction_limit(FedCOMGATE, eta, 1e-2, 1e6, with_q(2.0)) == 0).all()


# Figures of the FedBAT paper


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
