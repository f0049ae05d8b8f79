"""Who wins where: the family of problems, best step sizes, budgets, and what the bounds predict."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtheory.bounds.tuning import tune
from fedtheory.bounds.winners import METHODS, Budget, MapPoint, predicted, smallest_gaps
from fedtheory.figures.winners import winners
from fedtheory.simulations import expectation

PLAIN = MapPoint()
EXACT = [name for name in METHODS if name != "FedBAT"]


@pytest.mark.parametrize("setting", [PLAIN, MapPoint(10.0, 3.0, 0.0, 0.0, 1), MapPoint(2.0, 0.1, 0.8)])
def test_the_family_has_the_constants_that_it_names(setting: MapPoint) -> None:
    problem, own = setting.problem, setting.problem.constants
    values = np.diag(problem.mean[0])
    assert values.max() / values.min() == pytest.approx(setting.kappa)
    assert own["L"] == pytest.approx(1.0) and own["sigma"] == setting.sigma
    assert own["zeta_star"] == pytest.approx(setting.zeta) and own["x_star"] == pytest.approx(0, abs=1e-12)
    assert problem.H / np.where(problem.mean[0], problem.mean[0], np.inf) == pytest.approx(
        np.where(np.eye(16), 1 + setting.delta * np.sign(problem.b)[:, None], 0), abs=1e-12
    )
    assert float(problem.value(setting.x0)) == pytest.approx(1.0)


@pytest.mark.parametrize("name", EXACT)
def test_the_smallest_gap_is_that_of_the_best_step_size(name: str) -> None:
    """No step size of a fine grid is better by more than a quarter of a percent, and one is as good."""
    (found,) = smallest_gaps(name, PLAIN, (Budget(30),))
    eta = np.geomspace(2.0**-6, 2.0, 400)
    runs = expectation(
        PLAIN.problem, METHODS[name].build(PLAIN.K, eta), rounds=30, x0=PLAIN.x0, record=("gap",), at=[30]
    )
    assert 0.9975 * found <= float(runs.gap.min()) <= 1.0025 * found


def test_a_longer_run_has_a_smaller_gap_for_each_method() -> None:
    for name in METHODS:
        short, long, none = smallest_gaps(name, PLAIN, (Budget(10), Budget(60), Budget(0)))
        assert long < short < none == pytest.approx(1.0), name


def test_budgets_in_bits() -> None:
    rounds = {name: Budget(100, in_bits=True).rounds_of(method, PLAIN) for name, method in METHODS.items()}
    assert rounds["PFL"] == rounds["SFL"] == rounds["Minibatch SGD"] == 100
    assert (rounds["SCAFFOLD"], rounds["FedBCGD"], rounds["FedCOMGATE"]) == (50, 200, 400)
    assert rounds["FedBAT"] > 1000
    assert {Budget(7).rounds_of(method, PLAIN) for method in METHODS.values()} == {7}
    assert str(Budget(100)) == "100 rounds" and str(Budget(100, in_bits=True)) == "51200 bits up"


def test_predictions_are_bounds_and_only_where_a_theorem_speaks() -> None:
    alike, budget = MapPoint(2.0, 0.3, 0.0, 0.1), Budget(100)
    bounds = {name: predicted(name, alike, budget) for name in METHODS}
    assert {name for name, bound in bounds.items() if bound is None} == {"SCAFFOLD", "FedBAT"}
    for name, bound in bounds.items():
        if bound is not None:
            assert bound > smallest_gaps(name, alike, (budget,))[0], name
    assert predicted("FedBCGD", PLAIN, budget) is None  # curvatures differ: there is no G
    assert predicted("SFL", alike, Budget(11)) is None  # R < 6 L / mu
    assert predicted("SFL", alike, Budget(12)) is not None


def test_a_prediction_is_the_theorem_with_the_constants_of_the_problem() -> None:
    """d0 of FedBCGD is a square, D of SFL is none."""
    setting, budget = MapPoint(2.0, 0.3, 0.0, 0.1), Budget(100)
    dist2 = float((setting.x0**2).sum())
    own: dict[str, float] = {"M": 4, "R": 100, "mu": 0.5, "sigma": 0.1}
    sfl = tune("sfl.thm1.strongly_convex", **own, K=4, L=1, zeta_star=0.3, D=dist2**0.5)
    minibatch = tune("sfl.thm2.strongly_convex", **{**own, "sigma": 0.05}, K=1, L=1, zeta_star=0.3, D=dist2**0.5)
    fedbcgd = tune(
        "fedbcgd.thm1.strongly_convex.corrected", **own, N=2, K=2, T=4, beta=1, G=0.3, alpha=1, gamma=0, d0=dist2, F=1
    )
    for name, tuned in (("SFL", sfl), ("Minibatch SGD", minibatch), ("FedBCGD", fedbcgd)):
        assert predicted(name, setting, budget) == pytest.approx(float(tuned.best.value)), name


def test_methods_within_five_percent_win_together() -> None:
    table = pd.DataFrame({"method": ["a", "b", "c"], "gap": [2.09, 2.0, 2.11], "bound": [np.nan, 7.0, np.nan]})
    assert winners(table) == ["b", "a"] and winners(table, "bound") == ["b"]
    assert winners(table.assign(bound=np.nan), "bound") == []
