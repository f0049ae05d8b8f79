"""Data sets for regression and neural networks: features, labels, and where they come from.

Two small data sets come with scikit-learn and need no file.  Any other is a file or arrays of one's own:

    LIBSVM   plain, .gz, .bz2 or .xz: the format in which a9a, w8a, mushrooms, news20 and rcv1 are published
    CSV      name.csv, packed or not: a row for each sample; a first line without numbers has the columns' names.  Where
             that line has semicolons or tabs, they separate the columns, and numbers may have decimal commas.  `separator`
             and `header` say so where it cannot be seen; then, or with commas in its first line, the ending is any
    Parquet  name.parquet, where pyarrow is installed: a row for each sample, columns with names
    NPZ      name.npz: arrays `features` (n, p), `labels` (n,) and, if they are known, `clients` (n,); or the sparse
             matrix of scipy.sparse.save_npz, with `labels` and perhaps `clients` beside it, or with the labels in a column

Sparse features, of a LIBSVM file, an NPZ file or arrays, stay sparse where that takes at most a twentieth of the memory.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from errno import EISDIR
from functools import reduce
from importlib.metadata import version
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import ArrayLike

from fedtheory.simulations.checked import affordable, brief, reading, reals, reason

if TYPE_CHECKING:
    from scipy.sparse import csr_array

EMBEDDED = ("breast_cancer", "digits")
_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": r"\s+"}  # by their names
_MOST_LABELS = 10  # that a summary counts
_LIGHT = 1 / 20  # of the memory of dense features: sparse ones that take no more stay sparse
_PACKED: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
_BROKEN = (
    ValueError,
    OverflowError,
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    MemoryError,
)  # ValueError: pandas' too
_ABSENT = {"NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?"}  # instead of a number
_NUMBER = rb"(?:[-+.\deE]+|[-+]?(?:nan|inf))"
_PAIRS = re.compile(rb"\s*(?:%b(?:\s+\d+:%b)*)?\s*(?:#.*)?" % (_NUMBER, _NUMBER))  # a line of a LIBSVM file


@dataclass(frozen=True, eq=False)
class Dataset:
    """A classification data set.

    Attributes:
        name: short name, used in titles and messages.
        features: (n, p) float64, one sample a row, all entries finite; an array, or a csr_array of scipy.sparse.
        labels: (n,) int64, each in 0..classes-1 (a class may be absent, as in a subset of a larger set).
        classes: number of classes, at least 2.
        provenance: where the numbers come from and what was done to them.
        clients: (n,) int64, the client of each sample, each of 0..M-1 at least once; None where nobody has said.
        summary: what was read of a file, in a line; empty for other data.

    Raises ValueError if the arrays do not fit this description; the message says what was passed and what was expected.
    """

    name: str
    features: np.ndarray | csr_array
    labels: np.ndarray
    classes: int
    provenance: str
    clients: np.ndarray | None = None
    summary: str = ""

    def __post_init__(self) -> None:
        def refuse(passed: str, expected: str) -> None:
            raise ValueError(f"data set {self.name!r}: {passed}; expected {expected}")

        for array, what, rank, dtype in (
            (self.features, "features", 2, "float64"),
            (self.labels, "labels", 1, "int64"),
        ):
            fits = isinstance(array, np.ndarray) or (what == "features" and is_sparse(array) and array.format == "csr")
            if not fits or array.ndim != rank or array.dtype != dtype:
                passed = f"{array.ndim}-d {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
                refuse(f"{what} are {passed}", f"a {rank}-d {dtype} array")
        if not all(self.features.shape):
            refuse(f"features of shape {self.features.shape} are empty", "at least one row and one column")
        if self.features.shape[0] != len(self.labels):
            refuse(
                f"features have {self.features.shape[0]} rows but there are {len(self.labels)} labels",
                "as many of each",
            )
        if told := not_finite(self.features):
            refuse(told, "finite numbers only")
        if self.classes < 2:
            refuse(f"classes = {self.classes}", "at least 2 classes")
        if self.labels.min() < 0 or self.labels.max() >= self.classes:
            refuse(f"labels run from {self.labels.min()} to {self.labels.max()}", f"labels in 0..{self.classes - 1}")
        if self.clients is not None and (
            self.clients.shape != self.labels.shape or set(self.clients) != set(range(max(self.clients) + 1))
        ):
            refuse(f"clients are {brief(self.clients)}", "for each row one of 0..M-1, and each of these at least once")

    def __repr__(self) -> str:
        rows, columns = self.features.shape
        kind = "sparse, " if is_sparse(self.features) else ""
        return f"<Dataset: {self.name}, {rows} x {columns}, {kind}{self.classes} classes>"


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers as they are in a file: features (n, p), targets (n,), numbers or names, and perhaps clients (n,)."""

    name: str
    features: np.ndarray | csr_array
    targets: np.ndarray
    provenance: str
    clients: np.ndarray | None = None
    layout: str = ""  # of a file, in words

    @property
    def summary(self) -> str:
        """What was read, in a line: rows, features, layout, and how often each label is there."""
        if not self.layout:
            return ""
        rows, columns = self.features.shape
        values, counts = np.unique(self.targets, return_counts=True)
        names = [f"{v:.6g}" if isinstance(v, np.floating) else str(v) for v in values]
        told = ", ".join(f"{name} ({n})" for name, n in zip(names, counts, strict=True))
        told = told if len(values) <= _MOST_LABELS else f"{len(values)} different, {names[0]} to {names[-1]}"
        owners = "" if self.clients is None else f"; {len(set(self.clients))} clients"
        return f"{self.name}: {rows} rows, {columns} features, {self.layout}: {told}{owners}"


def is_sparse(features: Any) -> bool:
    """Whether these are features of scipy.sparse; does not import it for arrays."""
    if isinstance(features, np.ndarray):
        return False
    from scipy.sparse import issparse

    return bool(issparse(features))


def dense(features: Any, name: str) -> np.ndarray:
    """The features (n, p) as an array.  Raises ValueError for sparse ones that would take too much memory."""
    if isinstance(features, np.ndarray):
        return features
    rows, columns = features.shape
    affordable(f"{name} as a dense array of {rows} rows of {columns} features", numbers=float(rows) * columns)
    return np.asarray(features.toarray())


def not_finite(features: Any) -> str:
    """The first of the features (n, p) that is not finite, in words; empty where all are."""
    numbers = features.data if is_sparse(features) else features
    if np.isfinite(numbers).all():
        return ""
    if numbers is features:
        row, column = np.argwhere(~np.isfinite(features))[0]
    else:
        at = int(np.flatnonzero(~np.isfinite(numbers))[0])
        row, column = np.searchsorted(features.indptr, at, side="right") - 1, features.indices[at]
    return f"feature [{row}, {column}] is {features[row, column]}"


def _in_rows(name: str, given: Any) -> csr_array:
    """Sparse features row by row, as a copy.  Raises ValueError for anything but a matrix of finite real numbers."""
    from scipy.sparse import csr_array

    expected = "an (n, p) matrix of finite real numbers, n >= 1, p >= 1"
    if given.ndim != 2 or not all(given.shape) or given.dtype.kind not in "biuf":
        raise ValueError(
            f"features of {name} are a sparse {given.dtype} array of shape {given.shape}: expected {expected}"
        )
    found = csr_array(given, dtype=float, copy=True)
    found.check_format(full_check=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    return found


def _kept(name: str, found: csr_array) -> np.ndarray | csr_array:
    """Sparse features as they are kept: dense where that takes less than twenty times as much memory.

    Raises ValueError for features that are not sparse enough, and too large to be dense.
    """
    light = found.data.nbytes + found.indices.nbytes + found.indptr.nbytes <= _LIGHT * 8 * float(
        np.prod(found.shape, dtype=float)
    )
    return found if light else dense(found, name)


def load(
    name_or_path: str,
    target: str | None = None,
    client: str | None = None,
    without: Sequence[str] = (),
    separator: str | None = None,
    header: bool | None = None,
) -> Dataset:
    """Load an embedded data set by name, or a LIBSVM, CSV, NPZ or Parquet file by path.

    name_or_path    "breast_cancer" (569 x 30, 2 classes; each column standardised to mean 0 and variance 1), "digits" (1797
                    x 64, 10 classes; pixels 0..16 divided by 16), or the path of a file, see the head of this module; its
                    labels are renamed 0..C-1 in increasing order, so -1 and +1 become 0 and 1.
    target, client  of a table (CSV, Parquet) the columns that hold the labels, by default the last, and the clients, by
                    default none; a column's name, or its number from 0.
    without         of a table the columns that are left out.
    separator       between the columns of a CSV file: comma, semicolon, tab, space (any blanks), or a character; by default
                    what its first line shows.
    header          whether the first line of a CSV file has names; by default, whether it has no number.

    Returns the `Dataset`; for a file, its provenance gives the file's size, number of rows and sha256.

    Raises ValueError, in one line: no such name or file (with those that exist), a file that cannot be read (with the
    reader's reason), no rows, NaN or infinite features, labels that are not integers, a single class.
    """
    if name_or_path in EMBEDDED:
        _refuse_columns(name_or_path, target, client, without, separator, header is not None)
        return _embedded(name_or_path)
    return classified(table(name_or_path, target, client, without, separator, header))


def from_arrays(
    features: ArrayLike | csr_array, labels: ArrayLike, clients: ArrayLike | None = None, name: str = "own"
) -> Dataset:
    """A data set from arrays: features (n, p), labels (n,), numbers or names, and perhaps the client of each row (n,).

    Features may be any sparse array or matrix of scipy.sparse.
    Labels and clients are renamed 0, 1, ... in increasing order.  Raises ValueError for features that are not finite real
    numbers, other shapes, a single class, or numbers as labels that are not whole.
    """
    return classified(_table(name, features, labels, clients, "arrays"))


def classified(table: Table) -> Dataset:
    """The table as a data set of classes.  Raises ValueError for labels that are not whole, or of a single class."""
    if table.targets.dtype.kind in "iuf":
        fractional = table.targets[~(np.isfinite(table.targets) & (table.targets == np.floor(table.targets)))]
        if len(fractional):
            raise ValueError(
                f"{table.name} has the label {fractional[0]:g}; expected integers (is it a regression file?)"
            )
    names, labels = np.unique(table.targets, return_inverse=True)
    told = [f"{name:g}" if isinstance(name, np.floating) else str(name) for name in names[:10]]
    if len(names) < 2:
        raise ValueError(f"{table.name} has the single label {told[0]}; expected at least 2 classes")
    renamed = ", ".join(told) + (", ..." if len(names) > 10 else "")
    provenance = f"{table.provenance}; labels {renamed} renamed 0..{len(names) - 1}"
    return Dataset(
        table.name, table.features, labels.astype(np.int64), len(names), provenance, table.clients, table.summary
    )


def _table(name: str, features: Any, targets: Any, clients: Any, provenance: str, layout: str = "") -> Table:
    """The arrays, checked.  Raises ValueError for shapes that do not fit, or features that are no finite real numbers."""
    expected = "an (n, p) array of finite real numbers, n >= 1, p >= 1"
    if is_sparse(features):
        rows = _in_rows(name, features)
        if told := not_finite(rows):
            raise ValueError(f"{name}: {told}; expected finite numbers only")
        numbers = _kept(name, rows)
        if is_sparse(numbers):
            share = f"{rows.nnz / np.prod(rows.shape, dtype=float):.2g}"
            provenance, layout = f"{provenance}, sparse", layout and f"kept sparse ({share} is not zero), {layout}"
    else:
        boolean = isinstance(features, np.ndarray) and features.dtype.kind == "b"
        numbers = reals(f"features of {name}", features.astype(int) if boolean else features, expected)
    if numbers.ndim != 2 or not all(numbers.shape):
        raise ValueError(f"features of {name} have the shape {numbers.shape}: expected {expected}")
    labels = _column(f"labels of {name}", targets, numbers.shape[0])
    owners = None
    if clients is not None:
        _, owners = np.unique(_column(f"clients of {name}", clients, numbers.shape[0]), return_inverse=True)
    return Table(name, numbers, labels, provenance, owners, layout)


def _column(what: str, given: Any, rows: int) -> np.ndarray:
    """Numbers or names, (n,).  Raises ValueError for anything else."""
    try:
        found = np.asarray(given)
    except ValueError:  # lists of different lengths
        found = np.asarray(None)
    if found.shape != (rows,) or found.dtype.kind not in "biufU":
        raise ValueError(f"{what} are {brief(given)}: expected {rows} numbers or names, one for each row")
    return found.astype(np.int64) if found.dtype.kind == "b" else found


def _refuse_columns(name: str, *columns: Any) -> None:
    if any(columns):
        raise ValueError(
            f"target, client, without, separator or header for {name}: expected them for a table only, a CSV or Parquet file"
        )


def table(
    path: str | Path,
    target: str | None = None,
    client: str | None = None,
    without: Sequence[str] = (),
    separator: str | None = None,
    header: bool | None = None,
) -> Table:
    """The rows of a LIBSVM, CSV, NPZ or Parquet file; see `load`.  Raises ValueError."""
    path = Path(path)
    if not is_file(path):
        folder = path.parent
        try:
            if path.is_dir():
                raise IsADirectoryError(EISDIR, "it is a directory")
            there = sorted(file.name for file in folder.glob("*") if file.is_file())
        except (OSError, ValueError) as error:  # such as a name that is too long, or with a null byte
            why = error.strerror if isinstance(error, OSError) else error
            raise ValueError(f"{brief(str(path))!r}: {why}; expected a file") from None
        listing = ", ".join(there[:5]) + (f" and {len(there) - 5} more" if len(there) > 5 else "")
        raise ValueError(
            f"no data set or file {brief(str(path))!r}: expected {', '.join(EMBEDDED)} or a LIBSVM, CSV, NPZ or Parquet "
            f"file; the folder {brief(str(folder))!r} {f'holds {listing}' if there else 'holds no file'}"
        )
    kind = _plain(path).rpartition(".")[2].lower()
    content = path.read_bytes()
    digest = f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}"
    told = separator is not None or header is not None
    if kind in ("parquet", "pq") and not told:
        rows = _parquet(path)
        return _of_columns(path, rows, [str(name) for name in rows], True, (target, client, without), digest, "Parquet")
    if kind in ("csv", "tsv") or (kind not in ("npz", "json", "parquet", "pq") and (told or _has_commas(content))):
        return _csv(path, (target, client, without), digest, separator, header)
    if kind == "npz" and {"format", "shape"} <= set(found := arrays_of(path)):  # by scipy.sparse.save_npz
        return _of_matrix(path, set(found), (target, client, without), digest)
    _refuse_columns(path.name, target, client, without, told)
    if kind == "json":
        raise ValueError(
            f"{path.name} is a JSON file: expected a LIBSVM, CSV, NPZ or Parquet file; as CSV a row for each sample, with a "
            "column for its client (client=COLUMN)"
        )
    return _npz(path, found, digest) if kind == "npz" else _libsvm(path, content, digest)


def is_file(path: Path) -> bool:
    """Whether there is a file of that name; no name, however long or strange, is an error."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _plain(path: Path) -> str:
    """The file's name without the ending of a packed file."""
    return path.stem if path.suffix in _PACKED else path.name


def _short(path: Path) -> str:
    return reduce(str.removesuffix, (".libsvm", ".txt", ".csv", ".npz", ".parquet"), _plain(path))


def _has_commas(content: bytes) -> bool:
    """Whether the first line is a row of a table: columns, but no index:value pairs as in a LIBSVM file."""
    first = content[:10_000].lstrip().partition(b"\n")[0]
    return b":" not in first and b"\0" not in first and any(sign in first for sign in (b",", b";"))


def _parquet(path: Path) -> Any:
    import pandas as pd

    if find_spec("pyarrow") is None:
        raise ValueError(
            f"{brief(path.name)}: a Parquet file needs pyarrow; expected pip install pyarrow, or a CSV file"
        )
    with reading(f"{brief(str(path))!r} as a Parquet file", "one"):
        return pd.read_parquet(path).reset_index(drop=True)


Columns = tuple[str | None, str | None, Sequence[str]]  # target, client, without


def _csv(path: Path, columns: Columns, digest: str, separator: str | None, header: bool | None) -> Table:
    import pandas as pd

    wrong, options = f"cannot read {brief(str(path))!r} as a CSV file", {"skipinitialspace": True, "na_values": [""]}
    sign = None if separator is None else _SEPARATORS.get(separator, separator)
    if sign is not None and len(sign) != 1 and sign not in _SEPARATORS.values():
        raise ValueError(f"separator={brief(separator)}: expected {', '.join(_SEPARATORS)}, or a single character")
    try:
        line = str(pd.read_csv(path, nrows=1, header=None, dtype=str, sep="\x1f", quoting=3).iloc[0, 0])
        unquoted = re.sub('"[^"]*"', "", line)
        sign = sign or next((one for one in ";\t" if one in unquoted), ",")
        word = next((name for name, one in _SEPARATORS.items() if one == sign), repr(sign))
        between = f"{word}s as separators" if word != repr(sign) else f"{word} as separator"
        wrong += "" if word == "comma" else f" with {between}"
        options |= {"sep": sign, "keep_default_na": False, "low_memory": False}
        first = pd.read_csv(path, nrows=100, header=None, dtype=str, **options)
        titles = first.iloc[0].fillna("").tolist()
        numbers = [cell for cell in titles if _is_number(cell.replace(",", "."))]
        named = not numbers if header is None else header
        if header is None and len(numbers) > 2 and numbers == [str(i) for i in range(len(numbers))]:
            raise ValueError("its first line counts from 0, as names or as numbers (header=true or false says which)")
        commas = sign != "," and first.apply(lambda own: own.str.fullmatch(r"-?\d+,\d+", na=False)).any(axis=None)
        rows = pd.read_csv(path, header=0 if named else None, decimal="," if commas else ".", **options)
    except _BROKEN as error:
        raise ValueError(
            f"{wrong}: {reason(error)}; expected rows of numbers, with or without a name for each column above"
        ) from None
    if not isinstance(rows.index, pd.RangeIndex):  # so pandas reads a row that is longer than the first line
        raise ValueError(
            f"{wrong}: {len(titles)} names above rows of {len(titles) + rows.index.nlevels} values; expected as many"
        )
    layout = f"{between}, {'with' if named else 'without'} a header{', decimal commas' * bool(commas)}"
    return _of_columns(path, rows, titles, named, columns, digest, layout, wrong)


def _of_columns(
    path: Path, rows: Any, titles: list[str], named: bool, columns: Columns, digest: str, layout: str, wrong: str = ""
) -> Table:
    """The table of a frame of columns; `titles` are their names, if it has some."""
    import pandas as pd

    target, client, without = columns
    wrong, kind = wrong or f"cannot read {brief(str(path))!r}", "CSV" if wrong else layout
    names = titles if named else [str(i) for i in range(len(titles))]

    def column(what: str, name: str) -> int:
        if names.count(name) > 1:
            raise ValueError(f"{what}={brief(name)}: {path.name} has several such columns, expected its number from 0")
        found = names.index(name) if name in names else int(name) if name.isdecimal() else len(names)
        if found >= len(names):
            raise ValueError(f"{what}={brief(name)}: expected a column of {path.name}: {brief(', '.join(names))}")
        return found

    left_out = {column("without", name) for name in without}
    kept = [i for i in range(len(names)) if i not in left_out]
    if named and (nameless := [i for i in kept if not names[i]]):
        raise ValueError(f"{wrong}: column {nameless[0]} has no name; expected one, or without={nameless[0]}")
    of_labels = column("target", target) if target is not None else kept[-1] if kept else -1
    of_clients = None if client is None else column("client", client)
    if of_clients == of_labels:
        raise ValueError(f"target and client are both the column {brief(names[of_labels])!r}: expected two columns")
    if both := left_out & {of_labels, of_clients}:
        raise ValueError(f"without={brief(names[both.pop()])!r}: expected no column of labels or clients")
    features = [i for i in kept if i not in (of_labels, of_clients)]
    if not len(rows) or not features:
        raise ValueError(
            f"{wrong}: {len(rows)} rows, {len(features)} columns of features; expected at least one of each, "
            "separated by commas, semicolons or tabs"
        )
    for i in kept:
        own, name = rows.iloc[:, i], brief(names[i])
        if own.isna().any():
            row = int(own.isna().argmax()) + 1
            raise ValueError(f"{wrong}: row {row} has no {name!r}; expected a value in every cell")
        if own.dtype.kind in "biuf":
            continue
        words = own[pd.to_numeric(own, errors="coerce").isna()]
        # "NA" is a name among names, and a missing number among numbers; a word above numbers is the column's name
        above = not named and words.index.tolist() == [0]
        if i in features or (len(words) < len(own) and (above or _ABSENT.issuperset(words))):
            word, row = (words.iloc[0], words.index[0] + 1) if len(words) else (own.iloc[0], 1)
            raise ValueError(f"{wrong}: {name!r} is {brief(str(word))!r} in row {row}; expected numbers in this column")

    def array(i: int) -> np.ndarray:
        own = rows.iloc[:, i]
        return own.to_numpy() if own.dtype.kind in "biuf" else own.astype(str).to_numpy(str)

    owners = None if of_clients is None else array(of_clients)
    provenance = f"{kind} file {path}, {len(rows)} rows, {digest}; labels in {names[of_labels]}"
    provenance += "".join(f"; without {names[i] or i}" for i in sorted(left_out))
    told = f"{layout}; features {brief(', '.join(names[i] for i in features))}; labels in {names[of_labels]}"
    return _table(_short(path), rows.iloc[:, features].to_numpy(float), array(of_labels), owners, provenance, told)


def _is_number(cell: object) -> bool:
    try:
        return bool(np.isfinite(float(str(cell))))
    except ValueError:
        return False


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file by name.  Raises ValueError for another file, or one that holds Python objects."""
    with reading(f"{brief(str(path))!r} as an NPZ file", "named arrays"):
        with ZipFile(path) as parts:
            affordable(path.name, numbers=sum(part.file_size for part in parts.infolist()) / 8)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            if isinstance(found, np.ndarray):
                raise ValueError("it is a single array without a name")
            return {name: found[name] for name in found.files}


def _of_matrix(path: Path, names: set[str], columns: Columns, digest: str) -> Table:
    """The table of an NPZ file with a sparse matrix; the labels and clients are arrays beside it, or columns of it."""
    from scipy.sparse import load_npz

    with reading(f"{brief(str(path))!r} as a sparse matrix", "one of scipy.sparse.save_npz"):
        rows = _in_rows(path.name, load_npz(path))
    provenance = f"NPZ file {path}, sparse matrix, {rows.shape[0]} rows, {digest}"
    target, client, without = columns
    if "labels" in names:
        _refuse_columns(f"{path.name}, which has labels beside its matrix,", target, client, without)
        with np.load(path, allow_pickle=False) as found:
            owners = found["clients"] if "clients" in names else None
            return _table(_short(path), rows, found["labels"], owners, provenance, "NPZ; labels")
    if target is None:
        raise ValueError(
            f"{path.name} holds a sparse matrix without labels: expected target=COLUMN, the column with "
            "the labels, counted from 0, or labels beside it: numpy.savez(name, labels=y, **numpy.load(matrix))"
        )

    def column(what: str, text: str) -> int:
        if not (text.isdecimal() and int(text) < rows.shape[1]):
            raise ValueError(f"{what}={brief(text)}: expected a column of {path.name}, 0..{rows.shape[1] - 1}")
        return int(text)

    of_labels, of_clients = column("target", target), None if client is None else column("client", client)
    left_out = {of_labels, *([] if of_clients is None else [of_clients]), *(column("without", one) for one in without)}
    if len(left_out) < 1 + (client is not None) + len(without):
        raise ValueError(
            f"target={target}, client={client}, without={brief(','.join(without))}: expected different columns"
        )
    features = rows[:, np.setdiff1d(np.arange(rows.shape[1]), list(left_out))]
    labels, owners = (None if i is None else rows[:, [i]].toarray().ravel() for i in (of_labels, of_clients))
    return _table(_short(path), features, labels, owners, provenance, f"NPZ; labels in {of_labels}")


def _npz(path: Path, found: dict[str, np.ndarray], digest: str) -> Table:
    if not {"features", "labels"} <= set(found) <= {"features", "labels", "clients"}:
        raise ValueError(f"{path.name} holds {brief(', '.join(found))}: expected features and labels, perhaps clients")
    provenance = f"NPZ file {path}, {found['labels'].size} rows, {digest}"
    return _table(_short(path), found["features"], found["labels"], found.get("clients"), provenance, "NPZ; labels")


def row_norms(features: np.ndarray | csr_array) -> np.ndarray:
    """The norm of each row of features (n, p): (n,)."""
    if isinstance(features, np.ndarray):
        return np.asarray(np.linalg.norm(features, axis=1))
    from scipy.sparse.linalg import norm

    return np.asarray(norm(features, axis=1))


def scaled(dataset: Dataset) -> Dataset:
    """The same data with all rows divided by the largest row norm, so that the largest norm is 1.

    The Hessian of a sample's logistic loss is s (1 - s) a a^T with 0 < s < 1, hence at most |a|^2 / 4: after scaling
    the loss is 1/4-smooth. Rows of zeros stay zero.

    Raises ValueError if every row is zero.
    """
    largest = float(row_norms(dataset.features).max())
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


def _libsvm(path: Path, content: bytes, digest: str) -> Table:
    from sklearn.datasets import load_svmlight_file

    wrong = f"cannot read {brief(str(path))!r} as a LIBSVM file"
    lines = b""
    try:
        lines = re.sub(
            rb":[ \t]+", b":", _PACKED.get(path.suffix, bytes)(content)
        )  # LIBSVM skips blanks before a value
        sparse, labels, queries = load_svmlight_file(BytesIO(lines), query_id=True)
    except _BROKEN as error:
        bad = next((i for i, line in enumerate(lines.splitlines(), 1) if not _PAIRS.fullmatch(line)), None)
        where = "" if bad is None else f"line {bad}: "
        raise ValueError(
            f"{wrong}: {where}{reason(error)}; expected lines 'label index:value ...', or separator=... for a table"
        ) from None
    if len(queries):
        raise ValueError(f"{wrong}: a row has a query, qid:{queries[0]}; expected labels and features alone")
    if not len(labels):
        raise ValueError(f"{brief(str(path))!r} has no rows; expected lines 'label index:value ...'")
    provenance = f"LIBSVM file {path}, {len(labels)} rows, {digest}"
    return _table(_short(path), sparse, labels, None, provenance, "LIBSVM; labels")
