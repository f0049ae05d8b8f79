"""Data sets for logistic regression and neural networks: features, labels, and where they come from.

Two small data sets come with scikit-learn and need no file; any other is a LIBSVM file (plain, .gz or .bz2), the format
in which a9a, w8a and mushrooms are published.
"""

import hashlib
import zlib
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

EMBEDDED = ("breast_cancer", "digits")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A classification data set.

    Attributes:
        name: short name, used in titles and messages.
        features: (n, p) float64, one sample a row, all entries finite.
        labels: (n,) int64, each in 0..classes-1 (a class may be absent, as in a subset of a larger set).
        classes: number of classes, at least 2.
        provenance: where the numbers come from and what was done to them.

    Raises:
        ValueError: if the arrays do not fit this description; the message says what was passed and what was expected.
    """

    name: str
    features: np.ndarray
    labels: np.ndarray
    classes: int
    provenance: str

    def __post_init__(self) -> None:
        def refuse(passed: str, expected: str) -> None:
            raise ValueError(f"data set {self.name!r}: {passed}; expected {expected}")

        for array, what, rank, dtype in (
            (self.features, "features", 2, "float64"),
            (self.labels, "labels", 1, "int64"),
        ):
            if not isinstance(array, np.ndarray) or array.ndim != rank or array.dtype != dtype:
                passed = f"{array.ndim}-d {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
                refuse(f"{what} are {passed}", f"a {rank}-d {dtype} array")
        if self.features.size == 0:
            refuse(f"features of shape {self.features.shape} are empty", "at least one row and one column")
        if len(self.features) != len(self.labels):
            refuse(
                f"features have {len(self.features)} rows but there are {len(self.labels)} labels", "as many of each"
            )
        if not np.isfinite(self.features).all():
            row, column = np.argwhere(~np.isfinite(self.features))[0]
            refuse(f"feature [{row}, {column}] is {self.features[row, column]}", "finite numbers only")
        if self.classes < 2:
            refuse(f"classes = {self.classes}", "at least 2 classes")
        if self.labels.min() < 0 or self.labels.max() >= self.classes:
            refuse(f"labels run from {self.labels.min()} to {self.labels.max()}", f"labels in 0..{self.classes - 1}")


def load(name_or_path: str) -> Dataset:
    """Load an embedded data set by name, or a LIBSVM file by path.

    Args:
        name_or_path: "breast_cancer" (569 x 30, 2 classes; each column standardised to mean 0 and variance 1),
            "digits" (1797 x 64, 10 classes; pixels 0..16 divided by 16), or the path of a LIBSVM file (plain, .gz or
            .bz2), which is made dense; its labels are renamed 0..C-1 in increasing order, so -1 and +1 become 0 and 1.

    Returns:
        the `Dataset`; for a file, its provenance gives the file's size, number of rows and sha256.

    Raises:
        ValueError: one line: no such name or file (with those that exist), a file that cannot be read as LIBSVM (with
            the reader's reason), no rows, NaN or infinite features, labels that are not integers, a single class.
    """
    return _embedded(name_or_path) if name_or_path in EMBEDDED else _libsvm(Path(name_or_path))


def scaled(dataset: Dataset) -> Dataset:
    """The same data with all rows divided by the largest row norm, so that the largest norm is 1.

    The Hessian of a sample's logistic loss is s (1 - s) a a^T with 0 < s < 1, hence at most |a|^2 / 4: after scaling
    the loss is 1/4-smooth. Rows of zeros stay zero.

    Raises:
        ValueError: if every row is zero.
    """
    largest = float(np.linalg.norm(dataset.features, axis=1).max())
    if largest == 0:
        raise ValueError(
            f"data set {dataset.name!r}: all {len(dataset.labels)} rows are zero; expected one that is not"
        )
    return replace(
        dataset,
        features=dataset.features / largest,
        provenance=f"{dataset.provenance}; rows divided by the largest row norm {largest:.6g}",
    )


def one_against_rest(dataset: Dataset, label: int) -> Dataset:
    """Two classes of many: label 1 for the samples of one class, 0 for all others.

    Raises ValueError for a label that is no class of the data set, or where all or none of the samples have it.
    """
    if not (isinstance(label, int | np.integer) and 0 <= label < dataset.classes):
        raise ValueError(f"label = {label}: expected a class of {dataset.name}, 0..{dataset.classes - 1}")
    labels = (dataset.labels == label).astype(np.int64)
    if labels.min() == labels.max():
        raise ValueError(
            f"{labels.sum()} of the {len(labels)} samples of {dataset.name} have the label {label}: "
            "expected some with it and some without"
        )
    name, provenance = f"{dataset.name}, class {label} against the rest", f"{dataset.provenance}; class {label} or not"
    return replace(dataset, name=name, labels=labels, classes=2, provenance=provenance)


def two_classes(dataset: Dataset) -> Dataset:
    """A data set of two classes as it is; of one with more, the first class against the rest."""
    return dataset if dataset.classes == 2 else one_against_rest(dataset, 0)


def packaged(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """A data set in scikit-learn's package: features (n, p), labels (n,), and the source.

    The table is read without scikit-learn, which takes a second to import.
    """
    spec = find_spec("sklearn")
    assert spec is not None and spec.origin is not None
    file, header = {"breast_cancer": ("breast_cancer.csv", 1), "digits": ("digits.csv.gz", 0)}[name]
    rows = np.loadtxt(Path(spec.origin).parent / "datasets" / "data" / file, delimiter=",", skiprows=header)
    return rows[:, :-1], rows[:, -1].astype(np.int64), f"scikit-learn {version('scikit-learn')}, load_{name}()"


def _embedded(name: str) -> Dataset:
    raw, labels, source = packaged(name)
    if name == "breast_cancer":
        features, done = (raw - raw.mean(axis=0)) / raw.std(axis=0), "each column standardised to mean 0, variance 1"
    else:
        features, done = raw / 16, "pixels 0..16 divided by 16"
    return Dataset(name, features, labels, len(np.unique(labels)), f"{source}, {len(labels)} rows; {done}")


def _libsvm(path: Path) -> Dataset:
    from sklearn.datasets import load_svmlight_file

    if not path.exists():
        there = sorted(file.name for file in path.parent.glob("*") if file.is_file())
        listing = ", ".join(there[:10]) + (f" and {len(there) - 10} more" if len(there) > 10 else "")
        raise ValueError(
            f"no data set or file {str(path)!r}: the embedded data sets are {', '.join(EMBEDDED)}; "
            f"the folder {str(path.parent)!r} {f'holds {listing}' if there else 'holds no file'}"
        )
    try:
        content = path.read_bytes()
        sparse, raw_labels = load_svmlight_file(str(path))
        features = sparse.toarray()
    except (ValueError, OverflowError, OSError, EOFError, zlib.error, MemoryError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"cannot read {str(path)!r} as a LIBSVM file: {reason}") from error

    if not len(raw_labels):
        raise ValueError(f"{str(path)!r} has no rows; expected lines 'label index:value ...'")
    fractional = raw_labels[~(np.isfinite(raw_labels) & (raw_labels == np.floor(raw_labels)))]
    if len(fractional):
        raise ValueError(f"{str(path)!r} has the label {fractional[0]:g}; expected integers (is it a regression file?)")
    names, labels = np.unique(raw_labels, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"{str(path)!r} has the single label {names[0]:g}; expected at least 2 classes")
    renamed = ", ".join(f"{name:g}" for name in names[:10]) + (", ..." if len(names) > 10 else "")
    provenance = (
        f"LIBSVM file {path}, {len(content)} bytes, {len(labels)} rows, sha256 {hashlib.sha256(content).hexdigest()}; "
        f"labels {renamed} renamed 0..{len(names) - 1}"
    )
    name = path.name.removesuffix(".gz").removesuffix(".bz2").removesuffix(".libsvm").removesuffix(".txt")
    return Dataset(name, features, labels.astype(np.int64), len(names), provenance)
