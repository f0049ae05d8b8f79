"""The sigmoid loss: gradients of the values, unbiased batches, constants that bound what they say, refusals."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from fedtheory.simulations import NoSuchConstant, run, start
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.data import Dataset, load, one_against_rest, scaled, two_classes
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.partitions import Partition, dirichlet, iid
from fedtheory.simulations.problems import start_of_clients
from fedtheory.simulations.problems.logistic import Logistic, lightly_regularised
from fedtheory.simulations.problems.sigmoid import SigmoidERM


def small(dataset: Dataset, rows: int, columns: int) -> Dataset:
    features = dataset.features[:rows, np.argsort(-dataset.features.var(0), kind="stable")[:columns]]
    return replace(dataset, features=features, labels=dataset.labels[:rows])


CANCER, DIGITS = load("breast_cancer"), load("digits")
DATA = {"cancer": small(CANCER, 40, 4), "digits": small(one_against_rest(DIGITS, 3), 60, 5)}
PROBLEMS = {name: SigmoidERM(data, dirichlet(data.labels, 4, 0.7, 1), 0.05) for name, data in DATA.items()}


@pytest.fixture(params=list(PROBLEMS))
def problem(request: pytest.FixtureRequest) -> SigmoidERM:
    return PROBLEMS[request.param]


def loss(p: SigmoidERM, x: np.ndarray, rows: np.ndarray) -> float:
    """By the formula, sample by sample."""
    total = 0.0
    for row in rows:
        b = 1 if p.dataset.labels[row] == 1 else -1
        total += 1 / (1 + np.exp(b * (p.dataset.features[row] @ x)))
    return total / len(rows) + p.regularisation / 2 * float(x @ x)


def slope(p: SigmoidERM, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Its gradient by central differences."""
    h = 1e-6
    return np.array([(loss(p, x + h * e, rows) - loss(p, x - h * e, rows)) / (2 * h) for e in np.eye(p.d)])


def points(p: SigmoidERM) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [np.zeros(p.d)] + [s * rng.standard_normal(p.d) for s in (0.1, 0.3, 1, 3, 10) for _ in range(4)]


# ---------------------------------------------------------------------------------------------------- the function


def test_values_and_gradients(problem: SigmoidERM) -> None:
    p, clients = problem, np.arange(problem.M)[None]
    assert len(set(p.sizes)) > 1  # clients count equally, whatever their sizes
    for x in points(p):
        each = np.array([slope(p, x, rows) for rows in p.partition.clients])
        values = [loss(p, x, rows) for rows in p.partition.clients]
        np.testing.assert_allclose(p.client_values(x), values, rtol=1e-12)
        assert float(p.value(x)) == pytest.approx(np.mean(values), rel=1e-12)
        np.testing.assert_allclose(p.client_gradients(x), each, atol=1e-8)
        np.testing.assert_allclose(p.full_gradient(x), each.mean(0), atol=1e-8)
        same = np.broadcast_to(x, (1, 1, p.M, p.d))
        draw = Draws.of_seeds(np.arange(1), 0).of(clients).step(0)
        np.testing.assert_allclose(p.gradient(same, clients, draw)[0, 0], each, atol=1e-8)
        np.testing.assert_allclose(p.sample_gradient(same, clients, None)[0, 0], each, atol=1e-8)
    many = np.random.default_rng(0).standard_normal((2, 3, p.d))
    for i in np.ndindex(2, 3):
        assert p.value(many)[i] == pytest.approx(float(p.value(many[i])), rel=1e-13)
        np.testing.assert_allclose(p.full_gradient(many)[i], p.full_gradient(many[i]), rtol=1e-12)


def test_far_away(problem: SigmoidERM) -> None:
    """No overflow (warnings are errors here)."""
    x = np.full(problem.d, 1e6)
    assert np.isfinite(problem.value(x)) and np.isfinite(problem.full_gradient(x)).all()


def test_exact_gradients_of_some_clients(problem: SigmoidERM) -> None:
    p, clients = replace(problem, batch=2), np.array([[2, 0], [1, 3], [3, 3]])
    x = np.random.default_rng(1).standard_normal((2, 3, 2, p.d))
    got = p.local_gradient(x, clients)
    for i in np.ndindex(2, 3, 2):
        np.testing.assert_allclose(got[i], p.client_gradients(x[i])[clients[i[1:]]], rtol=1e-12)


def test_hessian(problem: SigmoidERM) -> None:
    for x in points(problem):
        differences = [
            (problem.full_gradient(x + 1e-6 * e) - problem.full_gradient(x - 1e-6 * e)) / 2e-6
            for e in np.eye(problem.d)
        ]
        np.testing.assert_allclose(problem.hessian(x), differences, atol=1e-7)


def test_batches_are_unbiased() -> None:
    """All batches of two of one client's samples, drawn with replacement; and those that are drawn are such batches."""
    p = replace(PROBLEMS["cancer"], batch=2)
    client = int(np.argmin(p.sizes))
    n, x = int(p.sizes[client]), np.linspace(-1, 1, p.d)
    which = np.array([[client]])
    batches = np.array(list(product(range(n), repeat=2)))
    means = np.array([p.sample_gradient(x[None, None, None], which, rows[None, None])[0, 0, 0] for rows in batches])
    exact = p.client_gradients(x)[client]
    np.testing.assert_allclose(means.mean(0), exact, rtol=1e-12)
    variance = ((means - exact) ** 2).sum(1).mean()
    assert 0 < variance <= p.constants["sigma"] ** 2
    seeds = np.arange(200)
    draw = Draws.of_seeds(seeds, 0).of(which).step(1)
    drawn = p.gradient(np.broadcast_to(x, (1, 200, 1, p.d)), which, draw)[0, :, 0]
    nearest = np.abs(drawn[:, None] - means).max(-1).min(1)
    assert nearest.max() < 1e-14 and len(np.unique(drawn.round(12), axis=0)) > n


# ------------------------------------------------------------------------------------------------------- constants


def hessians(p: SigmoidERM, x: np.ndarray) -> np.ndarray:
    """Of all clients, by differences of their gradients: (M, d, d)."""
    h = 1e-5
    sides = [(p.client_gradients(x + h * e) - p.client_gradients(x - h * e)) / (2 * h) for e in np.eye(p.d)]
    H = np.stack(sides, axis=-1)
    return (H + H.swapaxes(1, 2)) / 2


def test_smoothness_and_curvature(problem: SigmoidERM) -> None:
    values = np.concatenate([np.linalg.eigvalsh(hessians(problem, x)).ravel() for x in points(problem)])
    c = problem.constants
    assert np.abs(values).max() <= c["L"] + 1e-8 and values.min() >= c["curvature"] - 1e-8
    assert values.min() < 0  # not convex, indeed
    assert "mu" not in c and "mu_pl" not in c


def test_smoothness_is_attained() -> None:
    """One sample, where s'' is largest, on either side; and the slope is largest at 0."""
    data = Dataset("one", np.array([[3.0], [3.0]]), np.array([0, 1]), 2, "made here")
    p = SigmoidERM(data, Partition((np.array([0]), np.array([1])), "one each"), 0.01, batch=1)
    steepest = np.log(2 + np.sqrt(3)) / 3
    seen = [hessians(p, np.array([x])).ravel() - 0.01 for x in (steepest, -steepest)]
    bend = 9 / (6 * np.sqrt(3))
    np.testing.assert_allclose(np.sort(np.ravel(seen)), [-bend, -bend, bend, bend], rtol=1e-6)
    assert p.constants["L"] == pytest.approx(bend + 0.01) and p.constants["curvature"] == pytest.approx(0.01 - bend)
    np.testing.assert_allclose(np.abs(p.client_gradients(np.zeros(1))), p.constants["sigma"])
    assert p.constants["sigma"] == pytest.approx(3 / 4)


@pytest.mark.parametrize("batch", [1, 3])
def test_variance(problem: SigmoidERM, batch: int) -> None:
    p = replace(problem, batch=batch)
    for x in points(p):
        for m, rows in enumerate(p.partition.clients):
            some = np.arange(len(rows))[:, None]
            clients = np.full((1, len(rows)), m)
            each = p.sample_gradient(np.broadcast_to(x, (1, 1, len(rows), p.d)), clients, some[None])[0, 0]
            assert ((each - each.mean(0)) ** 2).sum(1).mean() / batch <= p.constants["sigma"] ** 2
    assert problem.constants["sigma"] == 0


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


def test_a_libsvm_file(tmp_path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{1 if v > 0 else -1} 1:{v:.3f} 3:{w:.3f}" for v, w in rng.standard_normal((30, 2))]
    (tmp_path / "few.libsvm").write_text("\n".join(lines) + "\n")
    data = load(str(tmp_path / "few.libsvm"))
    p = SigmoidERM(data, iid(data.labels, 3, 0), 1e-3)
    out = run(p, PFL(K=2, eta=1.0), rounds=50, x0=0.0, record=("value",))
    assert out["value"][0, 0, -1] < 0.3


def test_refusals() -> None:
    data = DATA["cancer"]
    with pytest.raises(ValueError, match="digits has 10 classes: expected 2, see `one_against_rest`"):
        SigmoidERM(DIGITS, iid(DIGITS.labels, 3, 0), 0.1)
    for regularisation in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match=f"regularisation = {regularisation}"):
            SigmoidERM(data, iid(data.labels, 3, 0), regularisation)
    for batch in (0, 2.5):
        with pytest.raises(ValueError, match=f"batch = {batch}"):
            SigmoidERM(data, iid(data.labels, 3, 0), 0.1, batch)
    empty = Partition((np.arange(40), np.array([], dtype=np.int64)), "all to the first")
    with pytest.raises(ValueError, match=r"clients \[1\] of all to the first have no samples"):
        SigmoidERM(data, empty, 0.1)
    with pytest.raises(ValueError, match="deals out 30 samples, breast_cancer has 40"):
        SigmoidERM(data, iid(data.labels[:30], 3, 0), 0.1)
