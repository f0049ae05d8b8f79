"""The sigmoid loss: how tight its constants are, what is not known of its minimum; its gradients are in `test_problems`."""

import json
from dataclasses import replace

import numpy as np
import pytest
from spy import small

from fedtheory.simulations import NoSuchConstant, expectation, run, start
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.compressors import Sparsifier
from fedtheory.simulations.data import Dataset, load, one_against_rest, scaled, two_classes
from fedtheory.simulations.partitions import Partition, dirichlet, iid
from fedtheory.simulations.problems import start_of_clients
from fedtheory.simulations.problems.logistic import Logistic, lightly_regularised
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
from fedtheory.simulations.problems.regularised import Regularised
from fedtheory.simulations.problems.sigmoid import SigmoidERM

CANCER, DIGITS = load("breast_cancer"), load("digits")
DATA = {"cancer": small("breast_cancer", 40, 4, 2), "digits": one_against_rest(small("digits", 60, 5, 10), 3)}
PROBLEMS = {name: SigmoidERM(data, dirichlet(data.labels, 4, 0.7, 1), 0.05) for name, data in DATA.items()}


@pytest.fixture(params=list(PROBLEMS))
def problem(request: pytest.FixtureRequest) -> SigmoidERM:
    return PROBLEMS[request.param]


def points(p: SigmoidERM) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [np.zeros(p.d)] + [s * rng.standard_normal(p.d) for s in (0.1, 0.3, 1, 3, 10) for _ in range(4)]


def test_far_away(problem: SigmoidERM) -> None:
    """No overflow (warnings are errors here)."""
    x = np.full(problem.d, 1e6)
    assert np.isfinite(problem.value(x)) and np.isfinite(problem.full_gradient(x)).all()


# ------------------------------------------------------------------------------------------------------- constants


def test_it_is_not_convex(problem: SigmoidERM) -> None:
    assert min(np.linalg.eigvalsh(problem.hessian(x))[0] for x in points(problem)) < 0
    assert "mu" not in problem.constants and "mu_pl" not in problem.constants


def test_smoothness_is_attained() -> None:
    """One sample, where s'' is largest, on either side; and the slope is largest at 0."""
    data = Dataset("one", np.array([[3.0], [3.0]]), np.array([0, 1]), 2, "made here")
    p = SigmoidERM(data, Partition((np.array([0]), np.array([1])), "one each"), 0.01, batch=1)
    steepest = np.log(2 + np.sqrt(3)) / 3
    h = np.array([1e-5])
    seen = [
        (p.client_gradients(x + h) - p.client_gradients(x - h)) / (2 * h) - 0.01
        for x in (np.array([steepest]), np.array([-steepest]))
    ]
    bend = 9 / (6 * np.sqrt(3))
    np.testing.assert_allclose(np.sort(np.ravel(seen)), [-bend, -bend, bend, bend], rtol=1e-6)
    assert p.constants["L"] == pytest.approx(bend + 0.01) and p.constants["curvature"] == pytest.approx(0.01 - bend)
    np.testing.assert_allclose(np.abs(p.client_gradients(np.zeros(1))), p.constants["sigma"])
    assert p.constants["sigma"] == pytest.approx(3 / 4)


def test_what_is_known_of_the_minimum(problem: SigmoidERM) -> None:
    """0 is below all values, so A bounds the gap; no minimiser is known."""
    c, x0 = problem.constants, np.ones(problem.d)
    lowest = min(float(problem.value(x)) for x in points(problem))
    assert c["F_star"] == 0 < lowest and "lower bound" in c.how("F_star")
    assert start(problem, x0)["A"] == float(problem.value(x0))
    for name in ("x_star", "zeta_star"):
        with pytest.raises(NoSuchConstant, match="not convex"):
            c[name]
    begin = start_of_clients(problem, x0)
    g = problem.client_gradients(x0)
    assert begin["het_start"] == pytest.approx(((g - g.mean(0)) ** 2).sum(1).mean())
    assert begin["fj_gap_mean"] == pytest.approx(float(problem.value(x0)))
    assert "dist_sq_mean" not in begin


def test_strongly_convex_where_the_ridge_is_large() -> None:
    p = replace(PROBLEMS["cancer"], regularisation=5.0)
    assert p.constants["mu"] == p.constants["curvature"] == 5 - p.smoothness > 0
    assert min(np.linalg.eigvalsh(p.hessian(x))[0] for x in points(p)) >= p.constants["mu"]


# --------------------------------------------------------------------------------------------------- data and runs


def test_one_against_the_rest() -> None:
    data = one_against_rest(DIGITS, 3)
    assert data.classes == 2 and (data.labels == (DIGITS.labels == 3)).all() and data.labels.dtype == np.int64
    assert data.name == "digits, class 3 against the rest" and "class 3" in data.provenance
    for label in (-1, 10, 1.5):
        with pytest.raises(ValueError, match=rf"label = {label}: expected a class of digits, 0\.\.9"):
            one_against_rest(DIGITS, label)
    only = replace(DIGITS, features=DIGITS.features[:1], labels=DIGITS.labels[:1])
    with pytest.raises(ValueError, match="0 of the 1 samples of digits have the label 3"):
        one_against_rest(only, 3)
    assert (two_classes(DIGITS).labels == (DIGITS.labels == 0)).all() and two_classes(data) is data


@pytest.mark.parametrize("kind", [Logistic, SigmoidERM])
def test_the_regularisation_of_the_paper(kind: type[Logistic]) -> None:
    data = DATA["cancer"]
    dealt = iid(data.labels, 3, 0)
    p = lightly_regularised(kind, data, dealt, batch=4)
    bare = p.constants["L"] - p.regularisation
    assert isinstance(p, kind) and p.batch == 4
    assert p.regularisation == pytest.approx(1e-4 * bare) and p.smoothness == pytest.approx(bare)
    assert lightly_regularised(kind, data, dealt, share=0.1).regularisation == pytest.approx(0.1 * bare)


@pytest.mark.parametrize("batch", [None, 5])
def test_a_run(batch: int | None) -> None:
    """Descends as L promises, on whole data sets; from a LIBSVM file as well."""
    for data in (scaled(CANCER), one_against_rest(DIGITS, 0)):
        p = lightly_regularised(SigmoidERM, data, dirichlet(data.labels, 10, 0.3, 0), batch)
        out = run(
            p, PFL(K=3, eta=0.1 / p.constants["L"], S=5), rounds=40, seeds=range(3), x0=0.0, record=("gap", "grad_sq")
        )
        assert (out["status"] == "ran").all() and out["gap"][0, :, 0].values == pytest.approx(0.5)
        assert (out["gap"][0, :, -1] < 0.45).all()
        assert json.loads(out.attrs["problem"])["problem"] == "sigmoid"
        assert "sigmoid loss, " in p.name and [*p.blocks] == ["weights"]


def test_two_classes_are_expected() -> None:
    with pytest.raises(ValueError, match="digits has 10 classes: expected 2, see `one_against_rest`"):
        SigmoidERM(DIGITS, iid(DIGITS.labels, 3, 0), 0.1)


# A penalty on what clients step on, not on what is measured


PLAIN = generate(3, 3, L=1.0, mu=0.1, zeta_star=1.0, delta=0.3, sigma=0.5, x_star=[2.0, -1.0, 1.0], seed=1)


def test_a_round_by_hand() -> None:
    """f = x^2/2 - 3x, phi = 1/2: x - eta (x - 3 + x/2), and the gap of f itself, whose minimum is at 3."""
    problem = Regularised(from_functions([0.5, 0.5], [-3.0, -3.0]), 0.5)
    x1 = 2 - 0.1 * (2 - 3 + 1)
    x2 = x1 - 0.1 * (1.5 * x1 - 3)
    for data in (
        expectation(problem, FedCOM(1, 0.1), rounds=2, x0=2.0, record=("gap",)).gap[0],
        run(problem, FedCOM(1, 0.1), rounds=2, x0=2.0, record=("gap",)).gap[0, 0],
    ):
        np.testing.assert_allclose(data, [(x - 3) ** 2 / 2 for x in (2, x1, x2)], rtol=1e-12)


def test_the_clients_steps_are_those_on_the_regularised_functions() -> None:
    algorithm = FedCOMGATE(3, 0.1, 2.0, Sparsifier(0.5, shared=True))
    penalised = Quadratic(PLAIN.H + 0.3 * np.eye(3), PLAIN.b, PLAIN.sigma)
    ours, its = (
        expectation(p, algorithm, rounds=20, x0=1.0, record=("drift",)) for p in (Regularised(PLAIN, 0.3), penalised)
    )
    np.testing.assert_allclose(ours.drift[0, :20], its.drift[0, :20], rtol=1e-9)


def test_without_a_penalty_it_is_the_problem() -> None:
    algorithm = FedCOM(2, 0.1, 1.0, Sparsifier(0.5))
    ours, its = (expectation(p, algorithm, rounds=9, x0=1.0) for p in (Regularised(PLAIN, 0.0), PLAIN))
    for name in ("gap", "grad_sq", "dist2"):
        np.testing.assert_allclose(ours[name], its[name], rtol=1e-12)
    assert '"phi": 0.0' in ours.attrs["problem"]


def test_what_it_refuses() -> None:
    for phi in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"phi = .*: expected a finite number >= 0"):
            Regularised(PLAIN, phi)
    with pytest.raises(ValueError, match="regularised by 0.5: expected a Quadratic"):
        expectation(Regularised(PLAIN, 0.5), PFL(1, 0.1), rounds=1)
    with pytest.raises(ValueError, match="expected a Quadratic"):
        expectation(Regularised(Regularised(PLAIN, 0.5), 0.5), FedCOM(1, 0.1), rounds=1)
