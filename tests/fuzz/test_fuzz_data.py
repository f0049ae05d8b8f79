"""Fuzzed: LIBSVM, CSV and NPZ files, arrays, and the files of images; no code in any of them is run."""

from __future__ import annotations

import csv as standard
import io
import pickle
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from driver import NASTY, cases, refused_or, within_limits
from hypothesis import strategies as st

from fedtheory.simulations import data
from fedtheory.simulations.networks import images

NUMBERS = st.one_of(
    st.integers(-5, 5).map(str),
    st.floats(-1e3, 1e3).map(repr),
    st.sampled_from(["1e3", "-0.5", ".5", "1.", "+1", "1E-2"]),
)
CELLS = st.one_of(NUMBERS, NUMBERS, NUMBERS, st.sampled_from(NASTY), st.text(max_size=6))


class Payload:
    """A pickle that would create a file."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("ran"),))


@st.composite
def libsvm(draw: Any) -> bytes:
    rows = []
    for _ in range(draw(st.integers(0, 6))):
        places = sorted(draw(st.sets(st.integers(1, 8), max_size=4)))
        words = [draw(st.sampled_from(["1", "-1", "+1", "2", "0", "1.0"])), *(f"{i}:{draw(NUMBERS)}" for i in places)]
        if not draw(st.integers(0, 8)):
            more = ["qid:3", "3:x", "9999999999:1", "# a comment", "1:1 1:2", "0:1", ":", "1:nan"]
            words.insert(draw(st.integers(0, len(words))), draw(st.one_of(st.sampled_from(more), CELLS)))
        rows.append(" ".join(words))
    return "\n".join(rows).encode(errors="replace")


@st.composite
def csv(draw: Any) -> bytes:
    columns, good = draw(st.integers(1, 4)), draw(st.booleans())
    head = [",".join(draw(st.sampled_from(["a", "b", "y", "who", "1"])) for _ in range(columns))] * draw(
        st.integers(0, 1)
    )
    rows = [
        ",".join([draw(NUMBERS if good else CELLS) for _ in range(columns - 1)] + [str(draw(st.integers(0, 2)))])
        for _ in range(draw(st.integers(0, 6)))
    ]
    if not draw(st.integers(0, 8)):
        rows.append(draw(st.text(max_size=20)))
    return "\n".join(head + rows).encode(errors="replace")


@st.composite
def npz(draw: Any) -> bytes:
    n, buffer = draw(st.integers(0, 5)), io.BytesIO()
    kinds = [np.zeros((n, 2)), np.arange(n), np.array(["a", "b"] * n)[:n], np.array(3.0), np.full((n, 2), np.nan)]
    kinds += [np.zeros((n, 2), complex), np.array([Payload()] * max(n, 1), dtype=object), np.zeros(n, "datetime64[s]")]
    names = draw(st.lists(st.sampled_from(["features", "labels", "clients", "H", "x"]), max_size=4, unique=True))
    np.savez(buffer, allow_pickle=True, **{name: kinds[draw(st.integers(0, len(kinds) - 1))] for name in names})
    content = bytearray(buffer.getvalue())
    if content and not draw(st.integers(0, 3)):
        content[draw(st.integers(0, len(content) - 1))] ^= 0xFF
    return bytes(content[: len(content) - draw(st.sampled_from([0, 0, 0, 10, 100]))])


ANYTHING = st.one_of(
    st.binary(max_size=60),
    st.just(pickle.dumps(Payload())),
    st.text(max_size=40).map(lambda t: t.encode(errors="replace")),
)
FILES = st.one_of(
    st.tuples(st.just("x.libsvm"), st.one_of(libsvm(), libsvm(), ANYTHING)),
    st.tuples(st.just("x.csv"), st.one_of(csv(), csv(), ANYTHING)),
    st.tuples(st.just("x.npz"), st.one_of(npz(), npz(), ANYTHING)),
    st.tuples(st.sampled_from(["x.libsvm.gz", "x.csv.gz", "x.bz2"]), ANYTHING),
)


def rows_of_libsvm(text: str) -> list[tuple[Fraction, dict[int, Fraction]]] | None:
    """A strict reader: label, then index:value with increasing indices from 1; None for anything else."""
    rows = []
    for line in text.split("\n"):
        words = line.split("#")[0].split()
        if not words:
            continue
        if not all(re.fullmatch(r"\d+:[^:]+", word) for word in words[1:]):
            return None
        try:
            pairs = [(int(i), Fraction(float(v))) for i, v in (word.split(":") for word in words[1:])]
            rows.append((Fraction(float(words[0])), dict(pairs)))
        except (ValueError, OverflowError):
            return None
    return rows


def right(case: tuple[str, bytes]) -> None:
    name, content = case
    Path(name).write_bytes(content)
    found = refused_or(lambda: data.load(name))
    assert not Path("ran").exists()
    if found is None:
        return
    assert np.isfinite(found.features).all() and found.features.shape[0] == len(found.labels) > 0
    assert set(found.labels) == set(range(found.classes)) and found.classes >= 2
    if name == "x.libsvm":
        rows = rows_of_libsvm(content.decode(errors="replace"))
        assert rows is not None and len(rows) == len(found.labels)
        first = 0 if any(0 in own for _, own in rows) else 1  # indices that begin with 0
        for (_, own), features in zip(rows, found.features, strict=True):
            expected = [float(own.get(i + first, 0)) for i in range(len(features))]
            assert np.array_equal(features, expected), (features, expected)
        order = sorted({label for label, _ in rows})
        assert [order.index(label) for label, _ in rows] == found.labels.tolist()
    if name == "x.csv":
        rows = [row for row in standard.reader(io.StringIO(content.decode())) if row]
        skipped = len(rows) - len(found.labels)
        assert skipped in (0, 1)
        for row, features in zip(rows[skipped:], found.features, strict=True):
            assert [float(cell) for cell in row[:-1]] == features.tolist()


test_files = cases(FILES)(right)

VALUES: st.SearchStrategy[Any] = st.one_of(
    st.lists(st.lists(st.floats(-9, 9), min_size=2, max_size=2), max_size=5).map(np.array),
    st.lists(st.integers(0, 2), max_size=5).map(np.array),
    st.sampled_from(
        [
            *(
                None,
                3,
                "x",
                [],
                [[1], [1, 2]],
                np.zeros((3, 2), complex),
                np.zeros(3, "datetime64[s]"),
                np.array([None] * 3),
            ),
            *(
                np.ma.masked_array(np.zeros((3, 2)), mask=True),
                np.array(["a", "b", "a"]),
                np.array([True, False, True]),
            ),
            *(np.full((3, 2), np.inf), np.zeros((3, 2), object), [[10**400, 1]] * 3, {"a": 1}, np.float64, [[1j, 2]]),
            *([[Fraction(1, 3), 1], [2, 3], [4, 5]], np.zeros((3, 0)), np.arange(3.0) / 2, [Payload()] * 3),
        ]
    ),
)


def arrays_are_right(case: tuple[Any, Any, Any]) -> None:
    found = refused_or(lambda: data.from_arrays(*case))
    if found is not None:
        assert found.features.dtype == float and np.isfinite(found.features).all() and found.classes >= 2
        given = np.asarray(case[0], dtype=float)
        assert np.array_equal(given, found.features)
        names = np.asarray(case[1])
        assert all(
            (a == b) == (x == y)
            for a, x in zip(names, found.labels, strict=True)
            for b, y in zip(names, found.labels, strict=True)
        )


test_arrays = cases(st.tuples(VALUES, VALUES, st.one_of(st.none(), VALUES)))(arrays_are_right)


def images_are_refused(case: tuple[str, bytes]) -> None:
    """No such file is a set of images, and none is run."""
    name, content = case
    folder = Path("images")
    folder.mkdir(exist_ok=True)
    wanted = {"cifar-10": "data_batch_1", "mnist": "train-images-idx3-ubyte", "svhn": "train_32x32.mat"}.get(name, "x")
    for file in folder.iterdir():
        file.unlink()
    for other in (wanted, "test_batch", "test_32x32.mat", "train-labels-idx1-ubyte", "batches.meta"):
        (folder / other).write_bytes(content)
    with within_limits():
        try:
            images.load(name, folder)
        except ValueError as error:
            assert "\n" not in str(error) and ("expected" in str(error) or "cannot read" in str(error)), error
        else:
            raise AssertionError(f"{name}: {content!r} was read")
    assert not Path("ran").exists()


NAMES = ["cifar-10", "cifar-100", "mnist", "emnist", "svhn", "tiny-imagenet", "cinic-10", "no such set", ""]
test_images = cases(st.tuples(st.sampled_from(NAMES), ANYTHING))(images_are_refused)
