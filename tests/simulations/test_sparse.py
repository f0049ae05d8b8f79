"""Sparse features: the numbers of the dense ones, memory in proportion to what is not zero, and refusals in one line."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse
from scipy.sparse import csr_array

from fedtheory.simulations import partitions, run
from fedtheory.simulations.algorithms.fedcom import VRDIANA
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.data import Dataset, dense, from_arrays, load, scaled
from fedtheory.simulations.problems import sparse as blocks, start_of_clients
from fedtheory.simulations.problems.least_squares import least_squares
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.sigmoid import SigmoidERM
from fedtheory.simulations.problems.two_part import TwoPart


def both(features: np.ndarray, labels: np.ndarray, classes: int) -> tuple[Dataset, Dataset]:
    return tuple(Dataset("own", own, labels, classes, "made up") for own in (csr_array(features), features))  # type: ignore[return-value]


def words(n: int, p: int, each: int, seed: int = 0, sign: bool = False) -> csr_array:
    """Rows of about `each` numbers, the first columns more often than the last."""
    rng = np.random.default_rng(seed)
    columns = (p * rng.random((n, each)) ** 3).astype(int)
    values = rng.random(n * each) - (0.5 if sign else 0.0)
    return csr_array((values, (np.repeat(np.arange(n), each), columns.ravel())), shape=(n, p))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_sparse_features_give_the_numbers_of_dense_ones(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99), "seed"))
    n, p, M = data.draw(st.integers(6, 25), "n"), data.draw(st.integers(1, 12), "p"), data.draw(st.integers(1, 4), "M")
    loss = data.draw(st.sampled_from([Logistic, SigmoidERM]), "loss")
    classes = 2 if loss is SigmoidERM else data.draw(st.integers(2, 3), "classes")
    features = rng.standard_normal((n, p)) * (rng.random((n, p)) < data.draw(st.sampled_from([0.0, 0.2, 0.7]), "share"))
    labels = np.arange(n) % classes
    dealt = partitions.dirichlet(labels, M=M, alpha=1.0, seed=0)
    settings_ = {
        "batch": data.draw(st.sampled_from([None, 1, 3]), "batch"),
        "weights": data.draw(st.sampled_from([None, "sizes"]), "weights"),
    }
    light, full = (loss(own, dealt, 0.1, **settings_) for own in both(features, labels, classes))
    x = rng.standard_normal((2, 3, light.d))

    def same(name: str) -> None:
        given_, expected = (getattr(one, name)(x[0, 0]) for one in (light, full))
        np.testing.assert_allclose(given_, expected, rtol=1e-9, atol=1e-12, err_msg=name)

    for name in ("client_gradients", "client_values", "hessian"):
        same(name)
    for name in ("value", "full_gradient"):
        np.testing.assert_allclose(getattr(light, name)(x), getattr(full, name)(x), rtol=1e-9, atol=1e-12)
    constants, starts = (
        [{n: e.value for n, e in found(one).entries.items()} for one in (light, full)]
        for found in (lambda one: one.constants, lambda one: start_of_clients(one, 1.0))
    )
    for ours, theirs in (constants, starts):
        assert list(ours) == list(theirs)
        for name, value in theirs.items():
            assert (ours[name] is None) == (value is None)
            if value is not None:
                np.testing.assert_allclose(ours[name], value, rtol=1e-7, atol=1e-9, err_msg=name)
    S = data.draw(st.integers(1, M), "S")
    for algorithm in (SFL(K=2, eta=[0.1, 0.5], S=S), PFL(K=2, eta=[0.1, 0.5], S=S), VRDIANA(eta=0.1)):
        if full.weights is not None and not getattr(algorithm, "weighs", False):
            continue
        light_run, full_run = (run(one, algorithm, rounds=3, seeds=[0, 5], record=("value",)) for one in (light, full))
        np.testing.assert_allclose(light_run.value, full_run.value, rtol=1e-9, err_msg=type(algorithm).__name__)


@pytest.mark.parametrize("sign", [False, True])
def test_a_large_eigenvalue_lies_between_its_bounds(sign: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    A = words(60, 90, 5, sign=sign)
    exact = float(np.linalg.eigvalsh((A.T @ A).toarray())[-1])
    low, high = blocks.largest_eigenvalue(A)
    assert low == high == pytest.approx(exact)
    monkeypatch.setattr(blocks, "_EXACT", 0)
    low, high = blocks.largest_eigenvalue(A)
    assert low <= exact <= high
    assert high <= (low * 1.001 if not sign else float((A.data**2).sum()))
    assert blocks.largest_eigenvalue(csr_array((3, 4))) == (0.0, 0.0)
    problem = Logistic(both(A.toarray(), np.arange(60) % 2, 2)[0], partitions.iid(np.zeros(60, int), 2, 0), 0.1)
    assert "too large by at most" in problem.constants.how("L")


def test_the_bound_of_two_parts_that_share_no_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weaker part vanishes from the power iteration; rows of zeros belong to no part."""
    monkeypatch.setattr(blocks, "_EXACT", 0)
    monkeypatch.setattr(blocks, "_CLOSE", -1)
    A = csr_array(np.diag([2.0, 1.0, 0.0, 1e-3]))
    with np.errstate(all="raise", under="ignore"):
        low, high = blocks.largest_eigenvalue(A)
    assert low <= 4 <= high <= 4.01


def test_memory_is_in_proportion_to_the_numbers_and_the_models() -> None:
    rows, p, M = words(2000, 50_000, 10), 50_000, 4
    tracemalloc.start()
    dataset = scaled(from_arrays(rows, np.arange(2000) % 2))
    problem = Logistic(dataset, partitions.iid(dataset.labels, M, 0), 0.01)
    found = run(problem, PFL(K=2, eta=1 / problem.constants["L"]), rounds=2, record=("gap",))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.gap.values[0, 0, -1] < found.gap.values[0, 0, 0]
    assert peak < 12 * 8 * (3 * rows.nnz + M * p)  # dense features alone would be thirty times as much


def test_what_is_sparse_enough_stays_sparse(tmp_path: Path) -> None:
    path = tmp_path / "wide.libsvm"
    path.write_text("+1 7:1\n-1 90000:2\n+1\n")
    wide = load(str(path))
    assert (
        repr(wide) == "<Dataset: wide, 3 x 90000, sparse, 2 classes>"
        and "kept sparse (7.4e-06 is not zero)" in wide.summary
    )
    assert wide.features[[0], [6]] == 1 and wide.features[[1], [89_999]] == 2
    path.write_text("+1 7:1\n-1 9:2\n+1\n")
    assert isinstance(load(str(path)).features, np.ndarray)
    assert scaled(wide).features.max() == 1 and "sparse" in wide.provenance


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_sparse_arrays_of_any_kind(kind: str) -> None:
    A = words(50, 4000, 3)
    kept = from_arrays(A.asformat(kind), np.arange(50) % 2).features
    assert (abs(kept - A)).max() == 0 and kept.format == "csr"
    truths = from_arrays((A > 0).asformat("csr"), np.arange(50) % 2).features
    assert truths.dtype == float and set(truths.data) == {1.0}


def test_the_callers_arrays_stay_as_they_are() -> None:
    given_ = csr_array((np.array([1.0, 2.0, 0.0]), np.array([3000, 3000, 5]), np.array([0, 2, 3])), shape=(2, 4000))
    kept = from_arrays(given_, [0, 1]).features
    assert kept.nnz == 1 and kept[[0], [3000]] == 3 and given_.nnz == 3


def test_a_file_of_save_npz(tmp_path: Path) -> None:
    A, y, owner = words(40, 3000, 4), np.arange(40) % 2, np.arange(40) % 3
    own, beside = tmp_path / "own.npz", tmp_path / "beside.npz"
    sparse.save_npz(own, sparse.hstack([A, y[:, None], owner[:, None]]))
    sparse.save_npz(tmp_path / "matrix.npz", A)
    np.savez(beside, labels=y, clients=owner, **np.load(tmp_path / "matrix.npz"))
    for found in (load(str(own), target="3000", client="3001"), load(str(beside))):
        assert abs(found.features - A).max() == 0
        assert (
            found.labels.tolist() == y.tolist()
            and found.clients is not None
            and found.clients.tolist() == owner.tolist()
        )
    assert load(str(own), target="3000", without=["3001", "0"]).features.shape == (40, 2999)
    for columns, told in (
        ({}, "own.npz holds a sparse matrix without labels: expected target=COLUMN"),
        ({"target": "3002"}, "target=3002: expected a column of own.npz, 0..3001"),
        ({"target": "label"}, "target=label: expected a column of own.npz, 0..3001"),
        ({"target": "1", "client": "1"}, "expected different columns"),
    ):
        with pytest.raises(ValueError, match=told) as error:
            load(str(own), **columns)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="which has labels beside its matrix"):
        load(str(beside), target="1")
    np.savez(own, format=b"csr", shape=(2, 3), data=[1.0], indices=[7], indptr=[0, 1, 1])
    with pytest.raises(ValueError, match=r"as a sparse matrix: .*; expected one of scipy.sparse.save_npz"):
        load(str(own), target="0")


@pytest.mark.parametrize(
    ("features", "told"),
    [
        (csr_array((3, 0)), "of shape (3, 0): expected an (n, p) matrix of finite real numbers"),
        (csr_array(np.array([[1j, 0], [0, 0], [0, 0]])), "complex128 array of shape (3, 2): expected"),
        (csr_array(np.array([[0, 0, 0], [0, 0, np.inf], [0, np.nan, 0]])), "feature [1, 2] is inf; expected finite"),
        (csr_array((2, 90_000)), "labels of own are [0, 1, 1]: expected 2 numbers or names"),
    ],
)
def test_malformed_sparse_arrays(features: Any, told: str) -> None:
    with pytest.raises(ValueError) as error:
        from_arrays(features, [0, 1, 1])
    assert told in str(error.value) and "\n" not in str(error.value)


def test_what_needs_dense_features_says_how_much_memory_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    A = words(50, 40_000, 3)
    wide = from_arrays(A, np.arange(50) % 2)
    dealt = partitions.iid(wide.labels, 2, 0)
    monkeypatch.setenv("FEDTHEORY_MEMORY", "0.01")
    for call, told in (
        (lambda: dense(A, "own"), "own as a dense array of 50 rows of 40000 features would take about 0.0149 GiB"),
        (
            lambda: TwoPart(wide, dealt, 2),
            "own as a dense array of 50 rows of 40000 features would take about 0.0149 GiB",
        ),
        (lambda: from_arrays(words(50, 40_000, 9000), wide.labels), "own as a dense array of 50 rows"),
        (
            lambda: Logistic(from_arrays(words(50, 400_000, 3), wide.labels), dealt, 0.1),
            "gradients of the 2 clients of own in 400000 coordinates would take about 0.0238 GiB",
        ),
        (
            lambda: least_squares(np.ones((50, 2000)), np.ones(50), dealt),
            "the 2 Hessians of least squares in 2000 coordinates would take about 0.119 GiB",
        ),
    ):
        with pytest.raises(ValueError) as error:
            call()
        assert told in str(error.value) and "\n" not in str(error.value)


def test_dense_features_with_more_columns_than_rows() -> None:
    rng = np.random.default_rng(0)
    features, labels = rng.standard_normal((20, 50)), np.arange(20) % 2
    dealt = partitions.iid(labels, 3, 0)
    problem = Logistic(from_arrays(features, labels), dealt, 0.1)
    exact = [np.linalg.eigvalsh(features[rows].T @ features[rows] / len(rows))[-1] for rows in dealt.clients]
    np.testing.assert_allclose(problem.shards.curvatures, exact)
