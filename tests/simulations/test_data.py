"""Data sets: the embedded ones are as described, LIBSVM files are read, and what cannot be is refused in one line."""

import bz2
import gzip
import hashlib
import lzma
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from fedtheory.simulations.data import EMBEDDED, Dataset, load, scaled

LIBSVM = b"# three samples\n+1 1:0.5 3:-2\n-1 2:1\n+1\n"
FEATURES = np.array([[0.5, 0.0, -2.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])


def test_breast_cancer_is_standardised() -> None:
    data = load("breast_cancer")
    assert data.features.shape == (569, 30) and data.classes == 2
    np.testing.assert_allclose(data.features.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(data.features.var(axis=0), 1, atol=1e-12)
    assert "569 rows" in data.provenance and "scikit-learn" in data.provenance


def test_digits_are_in_the_unit_interval() -> None:
    data = load("digits")
    assert data.features.shape == (1797, 64) and data.classes == 10
    assert data.features.min() == 0 and data.features.max() == 1
    assert set(data.labels) == set(range(10))


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
    ids=["plain", "gz", "bz2", "xz"],
)
def test_libsvm_file(tmp_path: Path, ending: str, pack: type) -> None:
    path = tmp_path / f"tiny.libsvm{ending}"
    path.write_bytes(pack(LIBSVM))
    data = load(str(path))
    assert data.name == "tiny" and data.classes == 2
    np.testing.assert_array_equal(data.features, FEATURES)
    np.testing.assert_array_equal(data.labels, [1, 0, 1])
    content = path.read_bytes()
    for fact in (str(path), f"{len(content)} bytes", "3 rows", hashlib.sha256(content).hexdigest(), "-1, 1 renamed"):
        assert fact in data.provenance


def test_labels_are_renamed_in_increasing_order(tmp_path: Path) -> None:
    path = tmp_path / "labels"
    path.write_text("10 1:1\n-3 1:2\n2 1:3\n10 1:4\n")
    data = load(str(path))
    assert data.labels.tolist() == [2, 0, 1, 2] and data.classes == 3 and data.labels.dtype == np.int64


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"one 1:1\n", "could not convert string to float"),
        (b"1 1:1\n-1 x:1\n", "line 2: invalid literal"),
        (b"# a: b\n\n1 1:1 # c\n-1 2: x\n", "line 4: could not convert"),
        (b"1 2:1 1:1\n", "sorted and unique"),
        (b"1 99999999999999999999:1\n", "too large"),
        (b"", "no rows"),
        (b"# only a comment\n", "no rows"),
        (b"1 1:1\n1 1:2\n", "single label 1; expected at least 2 classes"),
        (b"0.5 1:1\n1 1:2\n", "label 0.5; expected integers (is it a regression file?)"),
        (b"nan 1:1\n1 1:2\n", "label nan; expected integers"),
        (b"inf 1:1\n1 1:2\n", "label inf; expected integers"),
        (b"1 1:1\n-1 2:nan\n", "feature [1, 1] is nan; expected finite numbers only"),
        (b"1 1:1\n-1 1:inf\n", "feature [1, 0] is inf; expected finite numbers only"),
    ],
)
def test_malformed_file_is_refused_in_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "malformed.libsvm"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(reason)) as caught:
        load(str(path))
    assert "malformed" in str(caught.value) and "\n" not in str(caught.value)


def test_a_blank_before_a_value_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "blank").write_bytes(LIBSVM.replace(b"3:", b"3: "))
    np.testing.assert_array_equal(load(str(tmp_path / "blank")).features, FEATURES)


def csv(folder: Path, text: str) -> str:
    (folder / "mine.csv").write_text(text)
    return str(folder / "mine.csv")


@pytest.mark.parametrize(
    "text", ["a;b;y\n1,5;2;NA\n-1;0,5;EU\n", "a\tb\ty\n1.5\t2\tNA\n-1\t.5\tEU\n", "1,5;2;NA\n-1;,5;EU"]
)
def test_semicolons_and_tabs_separate_columns_and_na_is_a_name(tmp_path: Path, text: str) -> None:
    found = load(csv(tmp_path, text))
    np.testing.assert_array_equal(found.features, [[1.5, 2], [-1, 0.5]])
    assert found.labels.tolist() == [1, 0] and "labels EU, NA" in found.provenance


def test_columns_are_left_out(tmp_path: Path) -> None:
    rows = [',"a;b","a;b",y', "7,1,2,0", "8,3,4,1"]  # as pandas writes an index; two columns of a name
    for without, features in ((["0"], [[1, 2], [3, 4]]), (["0", "2"], [[1], [3]])):
        found = load(csv(tmp_path, "\n".join(rows)), without=without)
        np.testing.assert_array_equal(found.features, features)
    assert found.provenance.split("; ")[2:4] == ["without 0", "without a;b"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (",a,y\n0,1,0\n1,2,1\n", "column 0 has no name; expected one, or without=0"),
        ("a,y\n1,2,0\n3,4,1\n", "Expected 2 fields in line 2, saw 3"),
        ("a,y\n" + 99 * "1,0\n" + "3,4,1\n", "Expected 2 fields in line 101, saw 3"),
        ("a,y\n1,0\n2,NA\n3,1\n", "'y' is 'NA' in row 2; expected numbers"),
        ("a,y\nNA,0\n2,1\n", "'a' is 'NA' in row 1; expected numbers"),
        ("a,y\n1,0\n,1\n", "row 2 has no 'a'"),
        ("0,1,2,y\n1,2,3,0\n4,5,6,1\n", "its first line counts from 0, as names or as numbers"),
        ("2019,2020,y\n1,2,0\n4,5,1\n", "'2' is 'y' in row 1; expected numbers"),
        ("a b y\n1 2 0\n3 4 1\n", "separated by commas, semicolons or tabs"),
    ],
)
def test_a_csv_file_that_can_be_read_in_two_ways_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        load(csv(tmp_path, text))


def test_json_and_columns_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "leaf.json").write_text("{}")
    with pytest.raises(ValueError, match=r"JSON file.*as CSV a row for each sample.*client=COLUMN"):
        load(str(tmp_path / "leaf.json"))
    path = csv(tmp_path, "a,a,y\n1,2,0\n3,4,1\n")
    for columns, reason in (
        ({"target": "a"}, "several such columns, expected its number"),
        ({"without": ["z"]}, "without=z: expected a column of mine.csv: a, a, y"),
        ({"target": "y", "without": ["2"]}, "without='y': expected no column of labels or clients"),
    ):
        with pytest.raises(ValueError, match=re.escape(reason)):
            load(path, **columns)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="for breast_cancer: expected them for a table only, a CSV or Parquet file"):
        load("breast_cancer", without=["0"])


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("damage", [lambda packed: LIBSVM, lambda packed: packed[:-9], lambda packed: packed[:5]])
def test_damaged_archive_is_refused(tmp_path: Path, ending: str, damage: type) -> None:
    path = tmp_path / f"damaged{ending}"
    path.write_bytes(damage({".gz": gzip, ".bz2": bz2, ".xz": lzma}[ending].compress(LIBSVM * 50)))
    with pytest.raises(ValueError, match=r"cannot read .*damaged.* as a LIBSVM file: \S"):
        load(str(path))


def test_missing_file_names_what_exists(tmp_path: Path) -> None:
    (tmp_path / "a9a.libsvm").write_bytes(LIBSVM)
    with pytest.raises(ValueError, match=r"a9b.*breast_cancer, digits.*holds a9a\.libsvm$"):
        load(str(tmp_path / "a9b.libsvm"))
    with pytest.raises(ValueError, match=r"breast_cancer, digits.*nowhere' holds no file$"):
        load(str(tmp_path / "nowhere" / "a9a.libsvm"))
    with pytest.raises(ValueError, match="no data set or file 'breast-cancer'"):
        load("breast-cancer")


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="directory"):
        load(str(tmp_path))


def dataset(features: np.ndarray, labels: object = None, classes: int = 2) -> Dataset:
    labels = np.arange(len(features)) % 2 if labels is None else labels
    return Dataset("tried", features, labels, classes, "made for a test")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("features", "labels", "classes", "message"),
    [
        (FEATURES, np.array([0, 1]), 2, "features have 3 rows but there are 2 labels; expected as many of each"),
        (FEATURES[0], None, 2, "features are 1-d float64; expected a 2-d float64 array"),
        (FEATURES.astype(np.float32), None, 2, "features are 2-d float32; expected a 2-d float64 array"),
        (FEATURES, [0, 1, 1], 2, "labels are list; expected a 1-d int64 array"),
        (FEATURES, np.array([0.0, 1.0, 1.0]), 2, "labels are 1-d float64; expected a 1-d int64 array"),
        (FEATURES[:0], None, 2, "features of shape (0, 3) are empty; expected at least one row and one column"),
        (FEATURES[:, :0], None, 2, "features of shape (3, 0) are empty"),
        (np.where(FEATURES == -2, np.nan, FEATURES), None, 2, "feature [0, 2] is nan; expected finite numbers only"),
        (FEATURES, np.array([0, 0, 0]), 1, "classes = 1; expected at least 2 classes"),
        (FEATURES, np.array([0, 1, 2]), 2, "labels run from 0 to 2; expected labels in 0..1"),
        (FEATURES, np.array([-1, 1, 1]), 2, "labels run from -1 to 1; expected labels in 0..1"),
    ],
)
def test_dataset_says_what_was_passed_and_expected(
    features: np.ndarray, labels: object, classes: int, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(f"data set 'tried': {message}")):
        dataset(features, labels, classes)


@settings(max_examples=100, deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e6, 1e6, width=32)))
def test_scaled_has_largest_row_norm_one(features: np.ndarray) -> None:
    if not np.linalg.norm(features, axis=1).max():
        with pytest.raises(ValueError, match=f"all {len(features)} rows are zero"):
            scaled(dataset(features))
        return
    norms = np.linalg.norm(scaled(dataset(features)).features, axis=1)
    assert norms.max() == pytest.approx(1, abs=1e-12)
    np.testing.assert_array_equal(norms == 0, np.linalg.norm(features, axis=1) == 0)


@pytest.mark.parametrize("name", EMBEDDED)
def test_scaled_makes_the_logistic_loss_quarter_smooth(name: str) -> None:
    data = scaled(load(name))
    # The Hessian of one sample at x = 0 is a a^T / 4, with s = 1/2, where the bound |a|^2 / 4 is attained.
    assert (np.linalg.norm(data.features, axis=1) ** 2 / 4).max() == pytest.approx(1 / 4, abs=1e-15)
    assert "largest row norm" in data.provenance and load(name).provenance in data.provenance
