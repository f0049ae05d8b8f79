"""Exact expectations from the rounds themselves: equal to the derived recursions, and to the means of many runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from simulations import expectation, has_expectation, run
from simulations.algorithms.base import LocalSteps
from simulations.algorithms.baselines import FedDyn, FedNova, FedProx, Scaffnew
from simulations.algorithms.fedbcgd import FedAvgM, FedDC, FedLin, SLocalGD
from simulations.algorithms.fedcom import SCAFFOLD, FedCOM, FedCOMGATE, FedGATE
from simulations.algorithms.participation import RCP, AmplifiedFedAvg, CyCP
from simulations.algorithms.reduced import BVRLSGD, CELSGD, STEM, Mime, MimeLite
from simulations.algorithms.sfl import PFL, SFL
from simulations.algorithms.vertical import FedBCD
from simulations.compressors import RandK
from simulations.exact import linear
from simulations.problems.quadratic import Quadratic, generate
from simulations.problems.regularised import Regularised

PROBLEM = generate(d=3, M=4, L=2.0, mu=0.2, zeta_star=1.0, delta=0.5, sigma=1.0, x_star=[1.0, 2.0, -1.0])
WEIGHED = Quadratic(PROBLEM.H, PROBLEM.b, 1.0, weights=np.array([0.1, 0.2, 0.3, 0.4]))
NO_MINIMISER = Quadratic(np.array([[[1.0, 0.0], [0.0, -0.5]]] * 2), np.array([[1.0, 0.5], [0.5, 1.0]]), 0.5)
ETA = [0.02, 0.05]
RECORD = ("gap", "gap_average", "grad_sq", "dist2", "drift", "value")
GIVEN: dict[str, Any] = {"rounds": 7, "x0": 1.0, "record": RECORD, "average": 0.9}

DERIVED = [
    SFL(2, ETA),
    SFL(2, ETA, S=2),
    PFL(3, ETA),
    PFL(3, ETA, S=2),
    SCAFFOLD(3, ETA, S=2),
    FedCOMGATE(3, ETA, gamma=1.3),
    FedGATE(3, ETA),
    FedAvgM(3, ETA, S=2),
]
LINEAR = [
    CyCP(3, ETA),
    CyCP(3, ETA, S=1),
    AmplifiedFedAvg(2, ETA, groups=4),
    AmplifiedFedAvg(2, ETA, period=3),
    RCP(2, ETA, S=2),
    RCP(2, ETA, S=1),
    CELSGD(3, ETA),
    CELSGD(3, ETA, S=2, batch=2, first=3),
    BVRLSGD(3, ETA, stage=3),
    Mime(3, ETA),
    Mime(3, ETA, S=2),
    MimeLite(3, ETA, S=2, momentum=0.5),
    STEM(3, ETA, a=0.3),
    FedDyn(3, ETA, S=2, alpha=0.5),
    Scaffnew(0.5, ETA),
    FedBCD(3, ETA),
    FedBCD(3, ETA, turns="sequential"),
    FedProx(3, ETA, S=2),
    FedNova((1, 2, 3, 4), ETA, S=2, momentum=0.3),
    FedLin(3, ETA),
    SLocalGD(3, ETA, q=0.4),
    FedDC(3, ETA, S=2, alpha=0.1),
]


def name(algorithm: Any) -> str:
    return f"{type(algorithm).__name__} S={getattr(algorithm, 'S', None)} {getattr(algorithm, 'period', '')}"


@pytest.mark.parametrize("algorithm", DERIVED, ids=name)
def test_the_derived_recursions_say_the_same(algorithm: Any) -> None:
    """They were derived by hand, algorithm by algorithm, and share no step with what is tested here."""
    here, there = linear.expectation(PROBLEM, algorithm, **GIVEN), expectation(PROBLEM, algorithm, **GIVEN)
    for quantity in RECORD:
        np.testing.assert_allclose(here[quantity], there[quantity], rtol=1e-11)


def means_agree(problem: Quadratic, algorithm: Any, record: tuple[str, ...], **given: Any) -> None:
    seeds = 3000
    exact = expectation(problem, algorithm, record=record, **given)
    found = run(problem, algorithm, seeds=range(seeds), record=record, **given)
    for quantity in record:
        error = found[quantity].std("seed") / seeds**0.5
        room = 5 * error + 1e-9 * abs(exact[quantity])
        off = abs(found[quantity].mean("seed") - exact[quantity])
        assert bool((off <= room)[:, : given["rounds"]].all()), (quantity, off / room)


@pytest.mark.parametrize("algorithm", LINEAR, ids=name)
def test_the_mean_of_many_runs_is_the_expectation(algorithm: Any) -> None:
    assert has_expectation(PROBLEM, algorithm, 7)
    means_agree(PROBLEM, algorithm, RECORD, rounds=7, x0=1.0, average=0.9)


@pytest.mark.parametrize("algorithm", [FedProx(3, ETA, S=2), FedNova((1, 2, 3, 4), ETA), FedBCD(2, ETA)], ids=name)
def test_clients_with_weights(algorithm: Any) -> None:
    means_agree(WEIGHED, algorithm, ("gap", "dist2"), rounds=5, x0=1.0)


def test_a_function_without_a_minimiser() -> None:
    means_agree(NO_MINIMISER, FedDyn(2, ETA), ("value", "grad_sq"), rounds=5, x0=1.0)


def test_it_is_accurate_near_the_optimum() -> None:
    """Mime with all clients and no noise: its gap falls by a constant factor, far below the rounding errors of F(x_star)."""
    quiet = generate(d=3, M=4, L=2.0, mu=0.5, zeta_star=1.0, delta=0.5)
    gaps = expectation(quiet, Mime(3, 0.2, momentum=0.0), rounds=120, x0=1.0, record=("gap",)).gap[0].values
    rates = (gaps[1:] / gaps[:-1])[(gaps[1:] < 1e-8) & (gaps[1:] > 1e-26)]
    assert gaps[-1] < 1e-28 and len(rates) > 5
    np.testing.assert_allclose(rates[15:], rates[15], rtol=5e-3)


def test_divergence_is_a_status() -> None:
    found = expectation(PROBLEM, Mime(3, [0.05, 5.0], momentum=0.0), rounds=400, x0=1.0, record=("gap",))
    assert found.status.values.tolist() == ["ran", "diverged"]
    assert 0 < found.diverged_at[1] < 400


@dataclass(frozen=True)
class Cubed(LocalSteps):
    """No linear round."""

    exact = "exact.linear"

    def round(self, problem: Any, x: Any, eta: Any, draws: Any, watch: Any, memory: Any) -> Any:
        return x - eta * x**3


def test_what_has_no_expectation() -> None:
    assert not has_expectation(Regularised(PROBLEM, 0.1), CyCP(2, 0.1), 1)
    many = generate(d=2, M=10, L=1.0, mu=0.5)
    with pytest.raises(ValueError, match="more than 3000 choices in a round, which would all be visited"):
        expectation(many, RCP(2, 0.1, S=1), rounds=1)
    with pytest.raises(ValueError, match="Cubed is not linear: expected an algorithm with linear rounds"):
        expectation(PROBLEM, Cubed(2, 0.1), rounds=1)
    with pytest.raises(ValueError, match="a client draws uniform numbers of its own"):
        linear.expectation(PROBLEM, FedCOM(2, 0.1, compressor=RandK(2)), rounds=1)
