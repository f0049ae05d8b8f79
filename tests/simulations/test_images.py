"""Images: every reader on tiny files in the published format, refusals in one line, and what the generator promises."""

import gzip
import hashlib
import io
import os
import pickle
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from fedtheory.simulations.networks.images import (
    CINIC_CLASSES,
    EMNIST_CLASSES,
    READERS,
    Images,
    channel_statistics,
    generated,
    load,
)


def pixels(n: int, *shape: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(n)).integers(0, 256, (n, *shape), dtype=np.uint8)


def refused(name: str, path: Path | None, *reasons: str, **settings: object) -> None:
    with pytest.raises(ValueError) as caught:
        load(name, path, **settings)
    for reason in reasons:
        assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def agrees(
    data: Images, images: np.ndarray, labels: list[int], test_images: np.ndarray, test_labels: list[int]
) -> None:
    np.testing.assert_array_equal(data.images, images)
    np.testing.assert_array_equal(data.test_images, test_images)
    assert data.labels.tolist() == labels and data.test_labels.tolist() == test_labels
    for array in (data.images, data.test_images, data.labels, data.test_labels):
        assert array.flags.c_contiguous and array.flags.writeable  # what torch.from_numpy asks for
    assert f"{len(labels)} training and {len(test_labels)} test images" in data.provenance


def noted(data: Images, *files: Path) -> None:
    for file in files:
        content = file.read_bytes()
        assert f"{file}, {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}" in data.provenance


# What every set has in common


def tried(**changed: object) -> Images:
    x, y = np.zeros((3, 1, 2, 2), np.float32), np.array([0, 1, 1])
    return Images(
        **{
            **dict(
                name="tried", images=x, labels=y, test_images=x[:2], test_labels=y[:2], classes=2, provenance="made"
            ),
            **changed,
        }
    )


GREY = np.zeros((3, 1, 2, 2), np.float32)
HOLE = np.where(np.arange(12).reshape(3, 1, 2, 2) == 6, np.nan, GREY).astype(np.float32)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (dict(images=GREY[0]), "images are 3-d float32; expected a 4-d uint8 or float32 array"),
        (dict(images=GREY.astype(float)), "images are 4-d float64; expected a 4-d uint8 or float32 array"),
        (dict(test_images=[1]), "test_images are list; expected a 4-d"),
        (dict(test_labels=np.zeros(2)), "test_labels are 1-d float64; expected a 1-d int64 array"),
        (dict(test_images=GREY[:0]), "test_images of shape (0, 1, 2, 2) are empty"),
        (dict(images=GREY[..., :0]), "images of shape (3, 1, 2, 0) are empty"),
        (dict(test_images=GREY[..., :1]), "shape (1, 2, 2), test_images float32 of shape (1, 2, 1); expected the same"),
        (dict(test_images=GREY.astype(np.uint8)), "test_images uint8 of shape (1, 2, 2); expected the same type"),
        (dict(classes=1), "classes = 1; expected at least 2"),
        (dict(labels=np.array([0, 1])), "there are 3 images but 2 labels; expected as many of each"),
        (dict(test_labels=np.array([0])), "there are 2 test_images but 1 test_labels"),
        (dict(labels=np.array([0, 1, 2])), "labels run from 0 to 2; expected labels in 0..1"),
        (dict(test_labels=np.array([-1, 1])), "test_labels run from -1 to 1; expected labels in 0..1"),
        (dict(images=HOLE), "images[1, 0, 1, 0] is nan; expected finite numbers only"),
        (dict(test_images=HOLE[1:]), "test_images[0, 0, 1, 0] is nan; expected finite numbers only"),
    ],
)
def test_images_say_what_was_passed_and_expected(changed: dict, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        tried(**changed)
    assert str(caught.value).startswith("images 'tried': ")


def test_channel_statistics() -> None:
    data = generated(shape=(3, 8, 8), train=700, test=1)
    constant = data.images.copy()
    constant[:, 1] = 51
    mean, std = channel_statistics(replace(data, images=constant))
    np.testing.assert_allclose(mean, (constant / 255).mean(axis=(0, 2, 3)), rtol=1e-12)
    np.testing.assert_allclose(std[[0, 2]], (constant / 255).std(axis=(0, 2, 3))[[0, 2]], rtol=1e-12)
    assert mean[1] == 0.2 and std[1] == 1 and mean.dtype == std.dtype == np.float64
    scaled = [(part / 255).astype(np.float32) for part in (data.images, data.test_images)]
    as_float = replace(data, images=scaled[0], test_images=scaled[1])
    np.testing.assert_allclose(channel_statistics(as_float), channel_statistics(data), rtol=1e-6)


def test_channel_statistics_of_more_than_one_part() -> None:
    x = pixels(40, 3, 256, 256)
    y = np.arange(40) % 2
    mean, std = channel_statistics(Images("large", x, y, x[:1], y[:1], 2, "made"))
    np.testing.assert_allclose(mean, x.mean(axis=(0, 2, 3)) / 255, rtol=1e-12)
    np.testing.assert_allclose(std, x.std(axis=(0, 2, 3)) / 255, rtol=1e-12)


def test_digits() -> None:
    data = load("digits")
    assert data.shape == (1, 8, 8) and data.classes == 10 and data.images.dtype == np.float32
    assert data.images.min() == 0 and data.images.max() == 1 and len(data.labels) + len(data.test_labels) == 1797
    counts, test_counts = np.bincount(data.labels), np.bincount(data.test_labels)
    np.testing.assert_array_equal(test_counts, (counts + test_counts) // 5)
    np.testing.assert_array_equal(data.images, load("digits").images)
    assert "scikit-learn" in data.provenance and "1442 training and 355 test images" in data.provenance
    # scikit-learn's first image is a zero: dark in the middle, bright at the top.
    assert data.labels[0] == 0 and data.images[0, 0, 0].tolist() == [0, 0, 5 / 16, 13 / 16, 9 / 16, 1 / 16, 0, 0]


def test_unknown_names_settings_and_paths(tmp_path: Path) -> None:
    refused("cifar10", tmp_path, "no images 'cifar10': expected one of digits, generated, mnist,", *READERS)
    refused("digits", None, "digits: setting 'seed'; expected none", seed=1)
    refused("mnist", tmp_path, "mnist: setting 'classes'; expected none", classes=3)
    refused("generated", None, "generated: setting 'sed'; expected one of shape, classes, train", sed=1)
    refused("digits", tmp_path, "expected none, for these images are read from no file", str(tmp_path))
    refused("generated", tmp_path, "expected none, for these images are read from no file")
    refused("cifar-10", None, "cifar-10: no path; expected the folder", "nothing is downloaded")
    for path, why in (("x" * 5000, "File name too long"), (5, "not int"), ("a\0b", "null byte")):
        refused("cifar-10", path, "cifar-10: path = ", why, "expected the folder that holds its files")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in READERS if name not in ("digits", "generated")])
def test_missing_files_name_the_folder_all_files_and_what_is_there(tmp_path: Path, name: str) -> None:
    expected = {
        "cifar-10": ["data_batch_1.bin", "data_batch_5.bin", "test_batch.bin", "data_batch_1,", "test_batch;"],
        "cifar-100": ["train.bin, test.bin", "train, test"],
        "svhn": ["train_32x32.mat, test_32x32.mat"],
        "tiny-imagenet": ["wnids.txt, train/, val/images/, val/val_annotations.txt"],
        "cinic-10": [f"{split}/{c}/" for split in ("train", "test") for c in CINIC_CLASSES],
        "cinic-10-enlarged": ["train/airplane/", "valid/airplane/", "test/truck/"],
    }
    train, test = ("train", "t10k")
    if name.startswith("emnist"):
        split = name.removeprefix("emnist").removeprefix("-") or "byclass"
        train, test = f"emnist-{split}-train", f"emnist-{split}-test"
    idx = [f"{prefix}-{kind}-ubyte[.gz]" for prefix in (train, test) for kind in ("images-idx3", "labels-idx1")]
    files = [str(tmp_path), "nothing is downloaded", *expected.get(name, idx)]
    refused(name, tmp_path, *files, "has none", f"{str(tmp_path)!r} holds nothing")
    (tmp_path / "notes.txt").touch()
    refused(name, tmp_path, *files, f"{str(tmp_path)!r} holds notes.txt")
    refused(name, tmp_path / "nowhere", f"{str(tmp_path / 'nowhere')!r} is no folder")
    refused(name, tmp_path / "notes.txt", "notes.txt' is a file")


# MNIST, Fashion-MNIST, EMNIST


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_idx(
    folder: Path, names: tuple[str, str], x: np.ndarray, y: list, ending: str = "", test_y: list | None = None
) -> list[Path]:
    """The four IDX files: x[:3] and y for training, x[3:] and test_y for testing."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for prefix, images, labels in zip(names, (x[:3], x[3:]), (y, test_y if test_y else y[:2]), strict=True):
        for kind, array in (("images-idx3", images), ("labels-idx1", np.array(labels, np.uint8))):
            file = folder / f"{prefix}-{kind}-ubyte{ending}"
            file.write_bytes(gzip.compress(idx(array)) if ending else idx(array))
            written.append(file)
    return written


MNIST = ("train", "t10k")


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize(
    ("name", "subfolder"), [("mnist", "."), ("mnist", "MNIST/raw"), ("fashion-mnist", "FashionMNIST/raw")]
)
def test_mnist(tmp_path: Path, name: str, subfolder: str, ending: str) -> None:
    x = pixels(5, 28, 28)
    files = write_idx(tmp_path / subfolder, MNIST, x, [0, 9, 4], ending, [7, 2])
    data = load(name, str(tmp_path))
    assert data.name == name and data.classes == 10 and data.shape == (1, 28, 28) and data.images.dtype == np.uint8
    agrees(data, x[:3, None], [0, 9, 4], x[3:, None], [7, 2])
    noted(data, *files)


# The names of the official files
@pytest.mark.parametrize("split", ["byclass", "bymerge", "balanced", "letters", "digits", "mnist"])
def test_emnist_stands_upright(tmp_path: Path, split: str) -> None:
    x = pixels(5, 28, 28)  # upright; the files have rows and columns exchanged
    first, last = int(split == "letters"), EMNIST_CLASSES[split] - int(split != "letters")
    names = (f"emnist-{split}-train", f"emnist-{split}-test")
    write_idx(tmp_path / "gzip", names, x.transpose(0, 2, 1), [first, last, 5], ".gz", [last, first])
    data = load(f"emnist-{split}", tmp_path)
    assert data.name == f"emnist-{split}" and data.classes == EMNIST_CLASSES[split]
    agrees(data, x[:3, None], [0, last - first, 5 - first], x[3:, None], [last - first, 0])
    assert "transposed" in data.provenance
    assert ("labels 1..26 renamed 0..25" in data.provenance) == (split == "letters")
    if split == "byclass":
        assert load("emnist", tmp_path).provenance == data.provenance


@pytest.mark.parametrize(
    ("which", "content", "reasons"),
    [
        (0, idx(pixels(3, 28, 28))[:-1], ["2367 bytes unpacked; expected 2368, for its header says n = 3"]),
        (0, idx(pixels(3, 28, 28)) + b"0", ["2369 bytes unpacked; expected 2368"]),
        (0, idx(np.array([1, 2, 3], np.uint8)), ["11 bytes; expected an IDX header of 16"]),
        (0, idx(pixels(40)), ["magic number 2049; expected 2051, bytes in 3 dimensions"]),
        (0, gzip.compress(idx(pixels(3, 28, 28))), ["magic number 529205248; expected 2051"]),
        (0, idx(pixels(3, 32, 32)), ["images of 32 x 32 pixels; expected 28 x 28"]),
        (0, idx(pixels(4, 28, 28)), ["3 labels for the 4 images", "labels-idx1"]),
        (1, b"", ["0 bytes; expected an IDX header of 8"]),
        (1, idx(pixels(3, 28, 28)), ["magic number 2051; expected 2049, bytes in 1 dimensions"]),
        (3, idx(np.array([3, 10], np.uint8)), ["labels run from 3 to 10; expected labels in 0..9"]),
    ],
)
def test_malformed_idx_file(tmp_path: Path, which: int, content: bytes, reasons: list[str]) -> None:
    file = write_idx(tmp_path, MNIST, pixels(5, 28, 28), [1, 2, 3])[which]
    file.write_bytes(content)
    refused("mnist", tmp_path, str(file), *reasons)


def test_no_images_in_an_idx_file(tmp_path: Path) -> None:
    files = write_idx(tmp_path, MNIST, pixels(3, 28, 28), [1, 2, 3], test_y=[])
    files[3].write_bytes(idx(np.zeros(0, np.uint8)))
    refused("mnist", tmp_path, "images 'mnist': test_images of shape (0, 1, 28, 28) are empty")


@pytest.mark.parametrize("damage", [lambda packed: packed[:-9], lambda packed: packed[:5], lambda packed: b"plain" * 9])
@pytest.mark.parametrize("which", [0, 3])
def test_damaged_gz_file(tmp_path: Path, which: int, damage: Callable[[bytes], bytes]) -> None:
    file = write_idx(tmp_path, MNIST, pixels(5, 28, 28), [1, 2, 3], ".gz")[which]
    file.write_bytes(damage(file.read_bytes()))
    refused("mnist", tmp_path, f"cannot read {str(file)!r}: ")


def test_one_missing_file_is_named(tmp_path: Path) -> None:
    files = write_idx(tmp_path / "MNIST" / "raw", MNIST, pixels(5, 28, 28), [1, 2, 3])
    files[2].unlink()
    lacks = f"of these {str(files[2].parent)!r} lacks t10k-images-idx3-ubyte[.gz]; "
    there = "holds t10k-labels-idx1-ubyte, train-images-idx3-ubyte, train-labels-idx1-ubyte"
    refused("mnist", tmp_path, lacks, there, f"expected in {str(tmp_path)!r} or in its subfolder MNIST/raw")


# CIFAR


def python_2_pickle(entries: dict[str, object]) -> bytes:
    """A dictionary as Python 2's cPickle wrote it, protocol 2, in the layout of CIFAR's python version."""

    def text(raw: bytes) -> bytes:
        return b"U" + bytes([len(raw)]) + raw if len(raw) < 256 else b"T" + struct.pack("<i", len(raw)) + raw

    def written(value: object) -> bytes:
        if isinstance(value, np.ndarray):
            n, width = (b"M" + struct.pack("<H", size) for size in value.shape)
            start = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text(b"b") + b"\x87R"
            dtype = b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R(K\x03" + text(b"|") + b"NNN"
            dtype += (b"J" + struct.pack("<i", -1)) * 2 + b"K\x00tb"
            return start + b"(K\x01" + n + width + b"\x86" + dtype + b"\x89" + text(value.tobytes()) + b"tb"
        if isinstance(value, list):
            return b"](" + b"".join(written(each) for each in value) + b"e"
        return text(value) if isinstance(value, bytes) else b"K" + bytes([value])

    return b"\x80\x02}(" + b"".join(text(key.encode()) + written(value) for key, value in entries.items()) + b"u."


def batch(x: np.ndarray, y: list[int], classes: int) -> dict[str, object]:
    labels = {"labels": y} if classes == 10 else {"fine_labels": y, "coarse_labels": [3] * len(y)}
    rows = x.reshape(-1, 3072)
    return {"batch_label": b"training batch 1 of 5", **labels, "data": rows, "filenames": [b"a.png"] * len(y)}


def python_3_pickle(entries: dict[str, object], protocol: int) -> bytes:
    return pickle.dumps({key.encode(): value for key, value in entries.items()}, protocol)


def binary(x: np.ndarray, y: list[int], classes: int) -> bytes:
    heads = [[label] if classes == 10 else [3, label] for label in y]
    return b"".join(bytes(head) + image.tobytes() for head, image in zip(heads, x, strict=True))


WRITERS = {
    "binary": lambda x, y, classes: binary(x, y, classes),
    "python 2": lambda x, y, classes: python_2_pickle(batch(x, y, classes)),
    "python 3, protocol 2": lambda x, y, classes: python_3_pickle(batch(x, y, classes), 2),
    "python 3, protocol 4": lambda x, y, classes: python_3_pickle(batch(x, y, classes), 4),
    "python 3, text keys": lambda x, y, classes: pickle.dumps(batch(x, y, classes)),
    "numpy before 2": lambda x, y, classes: python_3_pickle(batch(x, y, classes), 2).replace(b"._core.", b".core."),
}


def write_cifar(folder: Path, classes: int, form: str, x: np.ndarray, y: list[int]) -> list[Path]:
    """x[:10] for training, in five batches of CIFAR-10, x[10:] for testing."""
    folder.mkdir(parents=True, exist_ok=True)
    if classes == 10:
        parts = {f"data_batch_{i + 1}": slice(2 * i, 2 * i + 2) for i in range(5)} | {"test_batch": slice(10, None)}
    else:
        parts = {"train": slice(10), "test": slice(10, None)}
    files = []
    for name, part in parts.items():
        files.append(folder / (f"{name}.bin" if form == "binary" else name))
        files[-1].write_bytes(WRITERS[form](x[part], y[part], classes))
    return files


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("classes", [10, 100])
@pytest.mark.parametrize("nested", [False, True])
def test_cifar(tmp_path: Path, classes: int, form: str, nested: bool) -> None:
    usual = {10: ("cifar-10-batches-bin", "cifar-10-batches-py"), 100: ("cifar-100-binary", "cifar-100-python")}
    folder = tmp_path / usual[classes][form != "binary"] if nested else tmp_path
    x, y = pixels(13, 3, 32, 32), [*range(9), classes - 1, 4, 5, classes - 1]
    files = write_cifar(folder, classes, form, x, y)
    data = load(f"cifar-{classes}", tmp_path)
    assert data.name == f"cifar-{classes}" and data.classes == classes and data.shape == (3, 32, 32)
    agrees(data, x[:10], y[:10], x[10:], y[10:])
    noted(data, *files)


def test_folders_named_like_files_of_cifar_do_not_matter(tmp_path: Path) -> None:
    for folder in ("train", "test"):
        (tmp_path / folder).mkdir()
    x, y = pixels(13, 3, 32, 32), [*range(13)]
    write_cifar(tmp_path / "cifar-100-python", 100, "python 2", x, y)
    agrees(load("cifar-100", tmp_path), x[:10], y[:10], x[10:], y[10:])


class Attack:
    """Unpickled, it calls `function` with `arguments`."""

    def __init__(self, function: Callable, *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple:
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("hidden", [False, True])
def test_a_malicious_pickle_is_refused_and_does_not_run(tmp_path: Path, protocol: int, hidden: bool) -> None:
    folder, x, y = tmp_path / "cifar-10-batches-py", pixels(12, 3, 32, 32), [1] * 12
    write_cifar(folder, 10, "python 2", x, y)
    attack: object = Attack(os.system, f"touch {tmp_path / 'ran'}")
    if hidden:
        attack = {b"data": x[:2].reshape(2, 3072), b"labels": y[:2], b"filenames": [attack]}
    (folder / "data_batch_3").write_bytes(pickle.dumps(attack, protocol))
    system = f"{os.system.__module__}.system"
    hit = "numpy" if hidden and protocol == 5 else system  # protocol 5 writes arrays in another way, refused as well
    refused("cifar-10", tmp_path, str(folder / "data_batch_3"), "it asks for " + hit, "which is refused")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (lambda raw: raw[:-1], "6145 bytes; expected a positive multiple of 3073"),
        (lambda raw: b"", "0 bytes; expected a positive multiple of 3073"),
        (lambda raw: b"\x0a" + raw[1:], "to 10; expected labels in 0..9"),
        (pickle.dumps(Attack(eval, "1")), "asks for builtins.eval, which is refused"),
        (pickle.dumps(Attack(getattr, "", "join")), "asks for builtins.getattr, which is refused"),
        (pickle.dumps(Attack(np.load, "x")), "asks for numpy.load, which is refused"),
        (b"\x80\x04\x8c\x05numpy\x8c\x0cndarray.fill\x93.", "asks for numpy.ndarray.fill, which is refused"),
        (b"", "cannot read"),
        (b"\x80\x02}(", "cannot read"),
        (b"certainly no pickle", "cannot read"),
        (pickle.dumps([1, 2]), "list; expected a dictionary of b'data', n x 3072 bytes, and b'labels'"),
        (pickle.dumps({b"data": [1]}), "a dictionary of [\"b'data'\"]; expected a dictionary"),
        (python_3_pickle(batch(pixels(2, 3072), [1, 2, 3], 10), 4), "expected a dictionary"),
        (python_3_pickle(batch(pixels(2, 3072), [1, "2"], 10), 4), "expected a dictionary"),
        (python_3_pickle(batch(pixels(2, 3072), [1, 10], 10), 4), "labels run from 1 to 10; expected labels in 0..9"),
        (python_3_pickle(batch(pixels(2, 3072), [1, 2**70], 10), 4), "expected labels in 0..9"),
        (python_3_pickle(batch(pixels(2, 3072), [1, 2], 100), 4), "and b'labels', a list"),
        (python_3_pickle({"data": np.zeros((2, 3072)), "labels": [1, 2]}, 4), "an array of type 'f8'; expected 'u1'"),
        (python_3_pickle({"data": np.array([None]), "labels": [1]}, 4), "an array of type 'O8'; expected 'u1'"),
        (b"\x80\x02}(U\x04datacnumpy\nndarray\n)\x81U\x06labels]u.", "expected a dictionary"),
        (b"\x80\x02cnumpy\nndarray\n)\x81(K\x01K\x02K\x03tb.", "cannot read"),
    ],
)
def test_malformed_cifar(tmp_path: Path, content: bytes | Callable[[bytes], bytes], reason: str) -> None:
    """In Python's version, or damage to its binary version."""
    form = "binary" if callable(content) else "python 2"
    file = write_cifar(tmp_path, 10, form, pixels(12, 3, 32, 32), [1] * 12)[-1]
    file.write_bytes(content(file.read_bytes()) if callable(content) else content)
    refused("cifar-10", tmp_path, str(file), reason)


def test_any_damage_to_a_pickle_is_refused_or_harmless(tmp_path: Path) -> None:
    files = write_cifar(tmp_path, 100, "python 2", pixels(12, 3, 32, 32), [1] * 12)
    whole = files[1].read_bytes()
    rng = np.random.Generator(np.random.PCG64(0))
    for trial in range(300):
        damaged = bytearray(whole)
        # Where the opcodes are, before and after the pixels.
        at = rng.integers(260) if trial % 2 else len(whole) - 1 - rng.integers(60)
        damaged[at] = rng.integers(256)
        files[1].write_bytes(damaged)
        try:
            assert load("cifar-100", tmp_path).shape == (3, 32, 32)
        except ValueError as error:
            assert str(files[1]) in str(error) and "\n" not in str(error)


# SVHN


def write_svhn(folder: Path, x: np.ndarray, y: list[int], name: str) -> Path:
    file = folder / f"{name}_32x32.mat"
    savemat(file, {"X": x.transpose(2, 3, 1, 0), "y": np.array(y, np.uint8)[:, None]}, do_compression=True)
    return file


def test_svhn(tmp_path: Path) -> None:
    x = pixels(5, 3, 32, 32)
    files = write_svhn(tmp_path, x[:3], [10, 1, 9], "train"), write_svhn(tmp_path, x[3:], [2, 10], "test")
    data = load("svhn", tmp_path)
    assert data.classes == 10
    agrees(data, x[:3], [0, 1, 9], x[3:], [2, 0])
    noted(data, *files)


def mat(**variables: np.ndarray) -> bytes:
    file = io.BytesIO()
    savemat(file, variables)
    return file.getvalue()


ONE = np.ones((1, 1), np.uint8)
GOOD = mat(X=pixels(32, 32, 3, 2), y=np.array([[1], [2]], np.uint8))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "cannot read"),
        (b"no such format" * 20, "cannot read"),
        (GOOD[:200], "cannot read"),
        (GOOD[:-1000], "cannot read"),
        (mat(z=ONE), "neither X nor y; expected X uint8 (32, 32, 3, n) and y (n, 1)"),
        (mat(X=pixels(32, 32, 3, 1), y=np.ones((2, 1))), "X uint8 (32, 32, 3, 1), y float64 (2, 1); expected X uint8"),
        (mat(X=pixels(32, 32, 3, 1), y=np.array([[1.5]])), "y float64 (1, 1); expected X uint8"),
        (mat(X=np.ones((32, 32, 3, 1)), y=ONE), "X float64 (32, 32, 3, 1), y uint8 (1, 1); expected X uint8"),
        (mat(X=pixels(32, 32, 3, 1), y=0 * ONE), "labels run from 0 to 0; expected labels in 1..10"),
    ],
)
def test_malformed_svhn(tmp_path: Path, content: bytes, reason: str) -> None:
    write_svhn(tmp_path, pixels(2, 3, 32, 32), [1, 2], "train")
    file = tmp_path / "test_32x32.mat"
    file.write_bytes(content)
    refused("svhn", tmp_path, str(file), reason)


# Folders of images


def smooth(n: int, side: int) -> np.ndarray:
    """Colours that JPEG keeps to within a few levels: (n, 3, side, side), each image a ramp in each channel."""
    ramp = np.linspace(0, 1, side)
    slopes = np.random.Generator(np.random.PCG64(n)).uniform(-100, 100, (2, n, 3, 1, 1))
    return (127 + slopes[0] * (ramp[:, None] - 0.5) + slopes[1] * (ramp - 0.5)).astype(np.uint8)


def write_picture(file: Path, image: np.ndarray) -> None:
    """image: (3, H, W), or (H, W) for a grey one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image.transpose(1, 2, 0) if image.ndim == 3 else image).save(
        file, quality=100, **({"subsampling": 0} if file.suffix == ".JPEG" and image.ndim == 3 else {})
    )


def write_tiny(folder: Path, x: np.ndarray) -> None:
    """Two classes, wnids.txt not in alphabetical order; x[:4] for training, x[4:] for validation, x[3] grey."""
    for i, (wnid, k) in enumerate([("n02", 0), ("n02", 1), ("n01", 0), ("n01", 1)]):
        write_picture(folder / f"train/{wnid}/images/{wnid}_{k}.JPEG", x[i] if i < 3 else x[i, 0])
    for k, image in enumerate(x[4:]):
        write_picture(folder / f"val/images/val_{k}.JPEG", image)
    (folder / "wnids.txt").write_text("n02\nn01\n")
    lines = [f"val_{k}.JPEG\t{wnid}\t0\t32\t44\t62\n" for k, wnid in enumerate(["n01", "n02", "n01"])]
    (folder / "val/val_annotations.txt").write_text("".join(lines))


@pytest.mark.parametrize("nested", [False, True])
def test_tiny_imagenet(tmp_path: Path, nested: bool) -> None:
    x = smooth(7, 64)
    folder = tmp_path / "tiny-imagenet-200" if nested else tmp_path
    write_tiny(folder, x)
    data = load("tiny-imagenet", tmp_path)
    x[3] = x[3, 0]  # grey: the three channels alike
    assert data.classes == 2 and data.shape == (3, 64, 64) and data.images.dtype == np.uint8
    assert data.labels.tolist() == [0, 0, 1, 1] and data.test_labels.tolist() == [1, 0, 1]
    for read, written in ((data.images, x[:4]), (data.test_images, x[4:])):
        assert np.abs(read.astype(int) - written).max() <= 6
    noted(data, folder / "wnids.txt", folder / "val/val_annotations.txt")
    assert f"{folder / 'train'}, 4 image files, sha256 of their names and sizes " in data.provenance
    assert f"{folder / 'val/images'}, 3 image files" in data.provenance
    write_picture(folder / "train/n01/images/n01_2.JPEG", x[0])
    assert load("tiny-imagenet", tmp_path).provenance != data.provenance


def spoilt_picture(folder: Path) -> None:
    file = folder / "train/n01/images/n01_1.JPEG"
    file.write_bytes(file.read_bytes()[:-400])


@pytest.mark.parametrize(
    ("spoil", "reasons"),
    [
        (spoilt_picture, ["cannot read", "n01_1.JPEG' as a PNG or JPEG image"]),
        (lambda f: (f / "val/images/val_1.JPEG").write_bytes(b"text"), ["cannot read", "val_1.JPEG' as a PNG or JPEG"]),
        (
            lambda f: write_picture(f / "val/images/val_1.JPEG", smooth(1, 32)[0]),
            ["val_1.JPEG': an image of 32 x 32 pixels; expected 64 x 64"],
        ),
        (lambda f: (f / "wnids.txt").write_text("n01\nn02\nn03\n"), ["n03", "is no folder; expected files *.JPEG"]),
        (
            lambda f: (f / "wnids.txt").write_text("n01\n"),
            ["val_annotations.txt': the line 'val_1.JPEG\\tn02", "one of the 1 names of wnids.txt"],
        ),
        (
            lambda f: (f / "val/val_annotations.txt").write_text("val_0.JPEG\n"),
            ["val_annotations.txt': the line 'val_0.JPEG'"],
        ),
        (
            lambda f: (f / "val/val_annotations.txt").write_text("val_0.JPEG\tn01\t0\t0\t9\t9\n"),
            ["val_annotations.txt': 1 images, in", "3, 'val_1.JPEG' not in both; expected the same"],
        ),
        (lambda f: (f / "val/images/val_2.JPEG").unlink(), ["'val_2.JPEG' not in both"]),
    ],
)
def test_malformed_tiny_imagenet(tmp_path: Path, spoil: Callable[[Path], None], reasons: list[str]) -> None:
    write_tiny(tmp_path, smooth(7, 64))
    spoil(tmp_path)
    refused("tiny-imagenet", tmp_path, str(tmp_path), *reasons)


def write_cinic(folder: Path) -> dict[str, np.ndarray]:
    """One image of each class for training and testing, two for validation; the images by split."""
    x = {"train": pixels(10, 3, 32, 32), "valid": pixels(20, 3, 32, 32), "test": pixels(10, 3, 32, 32)}
    for split, images in x.items():
        for i, image in enumerate(images):
            write_picture(folder / split / CINIC_CLASSES[i * 10 // len(images)] / f"{split}_{i:02}.png", image)
    return x


@pytest.mark.parametrize("subfolder", [".", "CINIC-10"])
def test_cinic(tmp_path: Path, subfolder: str) -> None:
    x = write_cinic(tmp_path / subfolder)
    agrees(load("cinic-10", tmp_path), x["train"], [*range(10)], x["test"], [*range(10)])
    data = load("cinic-10-enlarged", tmp_path)
    labels = [*range(10), *np.repeat(range(10), 2)]
    agrees(data, np.concatenate([x["train"], x["valid"]]), labels, x["test"], [*range(10)])
    assert data.name == "cinic-10-enlarged" and data.classes == 10 and "valid, 20 image files" in data.provenance


def test_malformed_cinic(tmp_path: Path) -> None:
    write_cinic(tmp_path)
    file = tmp_path / "test/frog/test_06.png"
    whole = file.read_bytes()
    file.write_bytes(whole[:-600])
    refused("cinic-10", tmp_path, f"cannot read {str(file)!r} as a PNG or JPEG image")
    write_picture(file, pixels(3, 33, 32).astype(np.uint8))
    refused("cinic-10", tmp_path, f"{str(file)!r}: an image of 32 x 33 pixels; expected 32 x 32")
    file.unlink()
    refused("cinic-10", tmp_path, f"{str(file.parent)!r} holds nothing; expected files *.png")
    file.parent.rmdir()
    refused("cinic-10", tmp_path, f"of these {str(tmp_path)!r} lacks test/frog/; ", "holds test/, train/, valid/")


# The generator


def test_generated_is_a_function_of_its_arguments() -> None:
    data = load("generated", shape=(2, 9, 12), classes=4, train=50, test=20, seed=3)
    again = generated((2, 9, 12), 4, 50, 20, 3)
    agrees(data, again.images, again.labels.tolist(), again.test_images, again.test_labels.tolist())
    assert data.shape == (2, 9, 12) and data.images.dtype == np.uint8
    np.testing.assert_array_equal(generated((2, 9, 12), 4, 50, 7, 3).images, data.images)
    np.testing.assert_array_equal(generated((2, 9, 12), 4, 9, 20, 3).test_images, data.test_images)
    assert not np.array_equal(generated((2, 9, 12), 4, 50, 20, 4).images, data.images)
    assert not np.array_equal(data.images[:20], data.test_images)
    for fact in ("(2, 9, 12)", "4 classes", "50 training and 20 test", "seed 3", "noise 0.5", "3 prototypes"):
        assert fact in data.provenance


def test_generated_leaves_the_global_generator_alone() -> None:
    state = np.random.get_state()[1].tolist()
    generated((1, 4, 4), train=10, test=10)
    assert np.random.get_state()[1].tolist() == state


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 2, 7), (3, 64, 64), (5, 8, 3)])
@pytest.mark.parametrize("classes", [2, 7, 200])
def test_generated_of_any_size(shape: tuple, classes: int) -> None:
    data = generated(shape, classes, train=450, test=40)
    assert data.shape == shape and data.classes == classes
    for length in (41, 200, 450):
        counts = np.bincount(data.labels[:length], minlength=classes)
        assert counts.max() - counts.min() <= 1
    assert 25 < data.images.std() < 80 and ((data.images == 0) | (data.images == 255)).mean() < 0.15


def test_without_noise_an_image_is_its_prototype_moved() -> None:
    # The spectrum's size does not see translations: one prototype, contrast divided out, looks always the same.
    data = generated((1, 16, 16), 2, train=40, test=1, noise=0, prototypes=1)
    spectrum = np.abs(np.fft.fft2(data.images[:, 0] - 127.5))[:, :4, :4].reshape(40, -1)
    spectrum /= np.linalg.norm(spectrum, axis=1, keepdims=True)
    alike = spectrum @ spectrum.T
    same = data.labels[:, None] == data.labels
    assert alike[same].min() > 0.99 > 0.97 > alike[~same].max()
    assert not np.array_equal(data.images[0], data.images[2])


def test_generated_is_learnable_but_not_trivially() -> None:
    data = generated((1, 12, 12), train=3000, test=1000)
    x, test = (images.reshape(len(images), -1) / 255 - 0.5 for images in (data.images, data.test_images))
    linear = LogisticRegression(C=0.1, max_iter=300).fit(x, data.labels).score(test, data.test_labels)
    network = MLPClassifier((64,), alpha=0.01, learning_rate_init=3e-3, early_stopping=True, random_state=0)
    net = network.fit(x, data.labels).score(test, data.test_labels)
    assert 0.15 < linear < 0.4 and linear + 0.2 < net < 0.95  # chance is 0.1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(shape=(32, 32)), "shape = (32, 32); expected three numbers"),
        (dict(shape=(3, 0, 32)), "a size in shape = 0: expected a whole number >= 1"),
        (dict(classes=1), "classes = 1: expected a whole number >= 2"),
        (dict(train=0), "train = 0: expected a whole number >= 1"),
        (dict(test=2.5), "test = 2.5: expected a whole number >= 1"),
        (dict(seed=-1), "seed = -1: expected a whole number >= 0"),
        (dict(seed=None), "seed = None: expected a whole number >= 0"),
        (dict(prototypes=0), "prototypes = 0: expected a whole number >= 1"),
        (dict(noise=-0.1), "noise = -0.1: expected a number in [0, 1e30]"),
        (dict(noise=np.nan), "noise = nan: expected a number in [0, 1e30]"),
    ],
)
def test_generated_refuses(settings: dict, message: str) -> None:
    refused("generated", None, f"generated: {message}", **settings)
