"""Image data sets for neural networks: scikit-learn's digits, generated images, and published sets read from files.

Nothing is ever downloaded: MNIST, Fashion-MNIST, EMNIST, CIFAR, SVHN, Tiny ImageNet and CINIC-10 are read in the form
in which their authors publish them, from the folder they were unpacked to. `generated` needs no file and has any size.
"""

import gzip
import hashlib
import inspect
import io
import pickle
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fedtheory.simulations.checked import affordable, brief, number, reading, whole
from fedtheory.simulations.data import packaged

EMBEDDED = ("digits", "generated")
EMNIST_CLASSES = {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 26, "digits": 10, "mnist": 10}
CINIC_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_AT_ONCE = 2**20  # pixels processed at once, so that no temporary array is large


@dataclass(frozen=True, eq=False)
class Images:
    """Images in classes, in a training and a test set.

    Attributes:
        name: short name, used in titles and messages.
        images: (n, C, H, W) training images; uint8 are pixels 0..255, which the user divides by 255; float32 are used as
            they are, all entries finite.
        labels: (n,) int64, each in 0..classes-1.
        test_images: (n', C, H, W) of the same type.
        test_labels: (n',) int64, each in 0..classes-1.
        classes: number of classes, at least 2.
        provenance: where the pixels come from and what was done to them.
        clients: (n,) int64, the client of each training image, each of 0..M-1 at least once; None where nobody has said.

    Raises ValueError if the arrays do not fit this description; the message says what was passed and what was expected.
    """

    name: str
    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    classes: int
    provenance: str
    clients: np.ndarray | None = None

    def __post_init__(self) -> None:
        def refuse(passed: str, expected: str) -> None:
            raise ValueError(f"images {self.name!r}: {passed}; expected {expected}")

        for array, what, rank, dtypes in (
            (self.images, "images", 4, ("uint8", "float32")),
            (self.test_images, "test_images", 4, ("uint8", "float32")),
            (self.labels, "labels", 1, ("int64",)),
            (self.test_labels, "test_labels", 1, ("int64",)),
        ):
            if not isinstance(array, np.ndarray) or array.ndim != rank or array.dtype not in dtypes:
                passed = f"{array.ndim}-d {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
                refuse(f"{what} are {passed}", f"a {rank}-d {' or '.join(dtypes)} array")
            if array.size == 0:
                refuse(f"{what} of shape {array.shape} are empty", "at least one image of at least one pixel")
        if self.test_images.shape[1:] != self.shape or self.test_images.dtype != self.images.dtype:
            refuse(
                f"images are {self.images.dtype} of shape {self.shape}, test_images {self.test_images.dtype} of shape "
                f"{self.test_images.shape[1:]}",
                "the same type and shape",
            )
        if self.classes < 2:
            refuse(f"classes = {self.classes}", "at least 2 classes")
        for images, labels, test in (
            (self.images, self.labels, ""),
            (self.test_images, self.test_labels, "test_"),
        ):
            if len(images) != len(labels):
                refuse(f"there are {len(images)} {test}images but {len(labels)} {test}labels", "as many of each")
            if labels.min() < 0 or labels.max() >= self.classes:
                refuse(f"{test}labels run from {labels.min()} to {labels.max()}", f"labels in 0..{self.classes - 1}")
            if images.dtype == "float32" and not np.isfinite(images).all():
                where = tuple(int(i) for i in np.argwhere(~np.isfinite(images))[0])
                refuse(f"{test}images[{', '.join(map(str, where))}] is {images[where]}", "finite numbers only")

    def __repr__(self) -> str:
        return f"<Images: {self.name}, {len(self.labels)} of shape {self.shape}, {self.classes} classes>"

    @property
    def shape(self) -> tuple[int, int, int]:
        """(C, H, W): channels, height and width of an image."""
        C, H, W = self.images.shape[1:]
        return C, H, W


def load(name: str, path: str | Path | None = None, **settings: Any) -> Images:
    """Load a set of images by name.

    name      "digits" (scikit-learn's, 1 x 8 x 8, float32 in 0..1; the last fifth of each class is the test set);
              "generated" (see `generated`); or a set read from files: "mnist", "fashion-mnist", "emnist" or "emnist-SPLIT"
              with SPLIT byclass (which "emnist" means), bymerge, balanced, letters, digits or mnist: the IDX files, plain or
              .gz; "cifar-10", "cifar-100" (its 100 fine labels): the binary or the python version; "svhn": the cropped
              digits, train_32x32.mat and test_32x32.mat; "tiny-imagenet": its validation set is the test set, because the
              labels of its test set are not public; "cinic-10", and "cinic-10-enlarged", whose training set is the training
              and the validation set.
    path      the folder of the files, or the one that holds the archive's usual subfolder, such as cifar-10-batches-bin; for
              a set read from files only.
    settings  the arguments of `generated`, for that one only.

    Returns the `Images`; for files, the provenance gives their sizes and sha256.

    Raises ValueError for an unknown name (with those that exist), unknown settings, a path too many or too few, missing
    files (with all that are expected and what the folder holds), or a file that is not as it should be.
    """
    if name not in READERS:
        raise ValueError(f"no images {brief(name)!r}: expected one of {', '.join(READERS)}")
    known = tuple(inspect.signature(generated).parameters) if name == "generated" else ()
    unknown = [setting for setting in settings if setting not in known]
    if unknown:
        raise ValueError(f"{name}: setting {unknown[0]!r}; expected {'one of ' if known else 'none'}{', '.join(known)}")
    if name in EMBEDDED:
        if path is not None:
            raise ValueError(f"{name}: path = {str(path)!r}; expected none, for these images are read from no file")
        return READERS[name](**settings)
    if path is None:
        raise ValueError(f"{name}: no path; expected the folder that holds its files, for nothing is downloaded")
    try:
        folder = Path(path)
        folder.stat()
    except FileNotFoundError:  # the reader says what the folder should hold
        pass
    except (OSError, TypeError, ValueError) as error:  # such as a name that is too long, or with a null byte
        why = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{name}: path = {brief(path)}: {why}; expected the folder that holds its files") from None
    return READERS[name](folder)


_LEAST = {"classes": 2, "train": 1, "test": 1, "seed": 0, "prototypes": 1}


def _refuse(shape: Sequence[int], counts: Mapping[str, int], noise: float) -> None:
    """Raises ValueError for arguments of `generated` that it cannot use, and for images that do not fit into memory."""
    if not isinstance(shape, Sequence) or len(shape) != 3:
        raise ValueError(f"generated: shape = {brief(shape)}; expected three numbers, channels, height and width")
    for size in shape:
        whole("generated: a size in shape", size)
    for name, n in counts.items():
        whole(f"generated: {name}", n, _LEAST[name])
    number("generated: noise", noise, "in [0, 1e30]")
    C, H, W = shape
    size = C * H * W * (counts["train"] + counts["test"])  # bytes
    affordable(
        "generated images", numbers=size / 8 + 50.0 * counts["classes"] * counts["prototypes"] * C + 50.0 * H * W
    )


def _waves(H: int, W: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Waves exp(2 pi i (v y / H + u x / W)), one of each conjugate pair, n of them: v, u, amplitudes (n,), real parts.

    A field is the real part of their sum; moving it multiplies its coefficients by phases.  It has variance 1.  The real
    parts are (2 n, H W): the cosine and minus the sine of each wave.
    """
    high, wide = min(3, (H - 1) // 2), min(3, (W - 1) // 2)
    v, u = np.array([(v, u) for v in range(high + 1) for u in range(-wide, wide + 1) if v > 0 or u >= 0]).T
    amplitude = 1 / (1 + np.hypot(v, u))
    amplitude = (amplitude / np.linalg.norm(amplitude)).astype(np.float32)
    y, x = np.indices((H, W)).reshape(2, -1)
    phase = 2 * np.pi * (np.outer(v, y) / H + np.outer(u, x) / W)
    waves = np.stack([np.cos(phase), -np.sin(phase)], axis=1).reshape(2 * len(v), -1).astype(np.float32)
    return v, u, amplitude, waves


def generated(
    shape: Sequence[int] = (3, 32, 32),
    classes: int = 10,
    train: int = 5000,
    test: int = 1000,
    seed: int = 0,
    noise: float = 0.5,
    prototypes: int = 3,
) -> Images:
    """Images of smooth random patterns, which replace photographs where there are none.

    Each class has a few prototypes, random sums of waves of low frequency, different in each channel. An image is a
    prototype of its class, moved cyclically by up to a quarter of its height and width, with contrast times 1/2 to 3/2,
    plus noise as smooth as the prototypes, plus independent noise at every pixel. A linear classifier cannot handle the
    translations; a small network learns them, with some errors.

    Labels repeat 0, 1, ..., classes-1, so the first images are balanced, however many. The same arguments give the same
    images, and the training images do not depend on `test`.

    shape       (C, H, W).
    classes     number of classes, at least 2.
    train       number of training images.
    test        number of test images.
    seed        seed of the generators, at least 0.
    noise       standard deviation of both noises, relative to that of a prototype; more is harder.
    prototypes  number of prototypes of each class; more is harder.

    Returns the `Images`, uint8.

    Raises ValueError for a number that is not as described; the message says which.
    """
    _refuse(shape, {"classes": classes, "train": train, "test": test, "seed": seed, "prototypes": prototypes}, noise)
    C, H, W = shape
    v, u, amplitude, waves = _waves(H, W)

    def fields(rng: np.random.Generator, n: int) -> np.ndarray:
        return amplitude * rng.standard_normal((n, C, 2 * len(v)), dtype=np.float32).view(np.complex64)

    def drawn(rng: np.random.Generator, labels: np.ndarray) -> np.ndarray:
        out = np.empty((len(labels), C, H, W), np.uint8)
        for part in _parts(out):
            label = labels[part]
            n = len(label)
            down, right = rng.uniform(-0.25, 0.25, (2, n, 1, 1))
            turn = rng.uniform(0.5, 1.5, (n, 1, 1)) * np.exp(-2j * np.pi * (v * down + u * right))
            field = patterns[label, rng.integers(prototypes, size=n)] * turn.astype(np.complex64)
            field += np.float32(noise) * fields(rng, n)
            image = (field.view(np.float32).reshape(n * C, -1) @ waves).reshape(n, C, H, W)
            image += np.float32(noise) * rng.standard_normal(image.shape, dtype=np.float32)
            image *= 48
            image += 127.5
            out[part] = np.clip(np.rint(image, out=image), 0, 255, out=image)
        return out

    patterns_rng, train_rng, test_rng = (np.random.Generator(np.random.PCG64([seed, stream])) for stream in range(3))
    patterns = fields(patterns_rng, classes * prototypes).reshape(classes, prototypes, C, -1)
    labels, test_labels = np.arange(train) % classes, np.arange(test) % classes
    provenance = (
        f"generated: shape ({C}, {H}, {W}), {classes} classes, {train} training and {test} test images, seed {seed}, "
        f"noise {noise:g}, {prototypes} prototypes a class"
    )
    images, test_images = drawn(train_rng, labels), drawn(test_rng, test_labels)
    return Images("generated", images, labels, test_images, test_labels, classes, provenance)


def one_against_rest(images: Images, label: int) -> Images:
    """The same images in two classes: 1 for those of this label, 0 for all others.

    Raises ValueError for a label that no training image has, or all have.
    """
    whole("against", label, 0, most=images.classes - 1)
    ours, ours_test = (np.asarray(of == label, np.int64) for of in (images.labels, images.test_labels))
    if ours.min() == ours.max():
        raise ValueError(f"against = {label}: {images.name} has {ours.sum()} such images, expected some and others")
    provenance = f"{images.provenance}; class {label} against the others"
    name = f"{images.name}, {label} against the rest"
    return replace(images, name=name, labels=ours, test_labels=ours_test, classes=2, provenance=provenance)


def channel_statistics(images: Images) -> tuple[np.ndarray, np.ndarray]:
    """Mean (C,) and standard deviation (C,) of each channel over the training set, float64.

    On the scale of a network's input: uint8 pixels divided by 255, float32 as they are. The deviation of a constant
    channel is given as 1, so that division by it is safe.
    """
    scale = 255 if images.images.dtype == "uint8" else 1
    mean = images.images.mean(axis=(0, 2, 3), dtype=np.float64)
    squares = np.zeros_like(mean)
    for part in _parts(images.images):
        squares += np.square(images.images[part] - mean[:, None, None]).sum(axis=(0, 2, 3))
    std = np.sqrt(squares / (images.images.size / len(mean)))
    return mean / scale, np.where(std == 0, 1, std / scale)


def _parts(images: np.ndarray) -> Iterator[slice]:
    """The images (n, ...), a few at a time."""
    at_once = max(1, _AT_ONCE // images[0].size)
    return (slice(first, first + at_once) for first in range(0, len(images), at_once))


def _digits() -> Images:
    raw, labels, source = packaged("digits")
    pixels = (raw.reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    test = np.zeros(len(labels), dtype=bool)
    for c in range(10):
        members = np.flatnonzero(labels == c)
        test[members[len(members) - len(members) // 5 :]] = True
    provenance = (
        f"{source}, {(~test).sum()} training and {test.sum()} test images, "
        "the last fifth of each class; pixels 0..16 divided by 16"
    )
    return Images("digits", pixels[~test], labels[~test], pixels[test], labels[test], 10, provenance)


def _located(name: str, path: Path, subfolders: Sequence[str], *layouts: Sequence[str]) -> list[Path]:
    """The files of one of the layouts, in `path` or in one of its subfolders.

    In a layout "x[.gz]" is a file x or x.gz, and "x/" a folder.


    Raises ValueError where no folder has all files of a layout; names what is missing, all that is expected, what is there.
    """

    def found(folder: Path, file: str) -> Path | None:
        if file.endswith("/"):
            return folder / file if (folder / file).is_dir() else None
        names = (file.replace("[.gz]", ""), file.replace("[.gz]", ".gz"))
        return next((folder / name for name in names if (folder / name).is_file()), None)

    folders = [path, *(path / subfolder for subfolder in subfolders)]
    missing = {}
    for folder in folders:
        for layout in layouts:
            files = [found(folder, file) for file in layout]
            missing[folder, layout] = [file for file, is_found in zip(layout, files, strict=True) if not is_found]
            if not missing[folder, layout]:
                return [file for file in files if file]
    nearest, layout = min(missing, key=lambda tried: len(missing[tried]) / len(tried[1]))
    usual = f" or in its subfolder {' or '.join(subfolders)}" if subfolders else ""
    expected = "; or ".join(", ".join(layout) for layout in layouts)
    lacks = (
        f"lacks {', '.join(missing[nearest, layout])}" if len(missing[nearest, layout]) < len(layout) else "has none"
    )
    raise ValueError(
        f"{name}: nothing is downloaded; expected in {str(path)!r}{usual} the files {expected}; of these "
        f"{str(nearest)!r} {lacks}; {_holdings(nearest)}"
    )


def _holdings(folder: Path) -> str:
    if not folder.is_dir():
        return f"{str(folder)!r} is {'a file' if folder.exists() else 'no folder'}"
    there = sorted(entry.name + "/" * entry.is_dir() for entry in folder.iterdir())
    listing = ", ".join(there[:10]) + (f" and {len(there) - 10} more" if len(there) > 10 else "")
    return f"{str(folder)!r} holds {listing or 'nothing'}"


def _content(file: Path) -> tuple[bytes, str]:
    """The content of a file, unpacked where its name ends in .gz, and a note for provenance of the file as it is."""
    with reading(repr(str(file)), "a file of images", (OSError, EOFError, zlib.error)):
        raw = file.read_bytes()
        content = gzip.decompress(raw) if file.suffix == ".gz" else raw
    return content, f"{file}, {len(raw)} bytes, sha256 {hashlib.sha256(raw).hexdigest()}"


def _within(file: Path, labels: np.ndarray, classes: int, first: int = 0) -> np.ndarray:
    """The labels first, ..., first+classes-1 of a file as int64 labels 0, ..., classes-1."""
    if len(labels) and (labels.min() < first or labels.max() >= first + classes):
        passed = f"labels run from {labels.min()} to {labels.max()}"
        raise ValueError(f"{str(file)!r}: {passed}; expected labels in {first}..{first + classes - 1}")
    return labels.astype(np.int64) - first


def _images(
    name: str,
    sets: Sequence[tuple[np.ndarray, np.ndarray]],
    classes: int,
    origin: str,
    notes: Sequence[str],
) -> Images:
    """Images of a training and a test set (pixels, labels) read from files."""
    (images, labels), (test_images, test_labels) = sets
    provenance = f"{origin}, {len(labels)} training and {len(test_labels)} test images; {'; '.join(notes)}"
    return Images(name, images, labels, test_images, test_labels, classes, provenance)


def _idx(file: Path, shape: tuple[int, ...]) -> tuple[np.ndarray, str]:
    """The n items of an IDX file of bytes, (n, *shape) uint8, and a note of the file."""
    content, note = _content(file)
    start, magic = 4 * (2 + len(shape)), 0x801 + len(shape)
    if len(content) < start:
        raise ValueError(f"{str(file)!r}: {len(content)} bytes; expected an IDX header of {start}")
    number, n, *sizes = struct.unpack(f">{2 + len(shape)}I", content[:start])
    if number != magic:
        raise ValueError(
            f"{str(file)!r}: magic number {number}; expected {magic}, bytes in {len(shape) + 1} dimensions"
        )
    if tuple(sizes) != shape:
        raise ValueError(f"{str(file)!r}: images of {' x '.join(map(str, sizes))} pixels; expected 28 x 28")
    length = start + n * int(np.prod(shape))
    if len(content) != length:
        raise ValueError(
            f"{str(file)!r}: {len(content)} bytes unpacked; expected {length}, for its header says n = {n}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(n, *shape), note


def _mnist(
    name: str,
    path: Path,
    subfolders: Sequence[str],
    prefixes: tuple[str, str] = ("train", "t10k"),
    classes: int = 10,
    first: int = 0,
    transpose: bool = False,
) -> Images:
    layout = tuple(f"{p}-{kind}-ubyte[.gz]" for p in prefixes for kind in ("images-idx3", "labels-idx1"))
    files = _located(name, path, subfolders, layout)
    sets, notes = [], []
    for pixel_file, label_file in (files[:2], files[2:]):
        pixels, pixel_note = _idx(pixel_file, (28, 28))
        labels, label_note = _idx(label_file, ())
        if len(pixels) != len(labels):
            passed = f"{len(labels)} labels for the {len(pixels)} images of {str(pixel_file)!r}"
            raise ValueError(f"{str(label_file)!r}: {passed}; expected as many of each")
        # A copy, because the content of a file is read-only.
        upright = np.array(pixels.transpose(0, 2, 1) if transpose else pixels, order="C")[:, None]
        sets.append((upright, _within(label_file, labels, classes, first)))
        notes += [pixel_note, label_note]
    origin = f"IDX files of {name}"
    origin += ", images transposed to stand upright" if transpose else ""
    origin += f", labels {first}..{first + classes - 1} renamed 0..{classes - 1}" if first else ""
    return _images(name, sets, classes, origin, notes)


def _emnist(split: str, path: Path) -> Images:
    prefixes = (f"emnist-{split}-train", f"emnist-{split}-test")
    # EMNIST's files hold each image column by column, MNIST's row by row.
    first, subfolders = int(split == "letters"), ("gzip", "EMNIST/raw")
    return _mnist(f"emnist-{split}", path, subfolders, prefixes, EMNIST_CLASSES[split], first, transpose=True)


class _Array:
    """Replaces numpy.ndarray in a pickle: `array` is uint8; `__setstate__` checks it."""

    array: np.ndarray | None = None

    def __setstate__(self, state: tuple) -> None:
        _, shape, dtype, fortran, raw = state
        if dtype.name not in ("u1", b"u1"):
            raise ValueError(f"an array of type {dtype.name!r}; expected 'u1', bytes")
        self.array = np.frombuffer(raw, np.uint8).reshape(shape, order="F" if fortran else "C")


class _Dtype:
    """Replaces numpy.dtype in a pickle: only its name is used."""

    def __init__(self, name: object, *_: object) -> None:
        self.name = name

    def __setstate__(self, state: object) -> None:
        pass


class _CifarUnpickler(pickle.Unpickler):
    """Reads a pickle of plain data and arrays of bytes; refuses all other globals, so that no foreign code runs.

    The pickle does not even get numpy's own classes, because a forged state can make numpy read foreign memory.
    """

    ALLOWED: ClassVar[dict[tuple[str, str], Any]] = {
        ("numpy.core.multiarray", "_reconstruct"): lambda *_: _Array(),
        ("numpy._core.multiarray", "_reconstruct"): lambda *_: _Array(),
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Dtype,
        ("_codecs", "encode"): lambda text, *_: text.encode("latin1"),  # how Python 3 writes bytes for Python 2
    }

    def find_class(self, module: str, name: str) -> Any:
        """The replacement for a global of the pickle.  Raises ValueError that names one that is not allowed."""
        if (module, name) not in self.ALLOWED:
            raise ValueError(f"it asks for {module}.{name}, which is refused; expected plain data and numpy arrays")
        return self.ALLOWED[module, name]


def _cifar_python(file: Path, content: bytes, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (n, 3072) and labels (n,) of a file of CIFAR's python version."""
    with reading(f"{str(file)!r} as a pickle of CIFAR-{classes}", "the python version of its files"):
        # Python 2 wrote these files: its strings are bytes.
        read = _CifarUnpickler(io.BytesIO(content), encoding="bytes").load()
    batch = read if isinstance(read, dict) else {}
    wanted = b"labels" if classes == 10 else b"fine_labels"
    pixels, labels = (batch.get(key, batch.get(key.decode())) for key in (b"data", wanted))
    if not (
        isinstance(pixels, _Array)
        and pixels.array is not None
        and isinstance(labels, list)
        and pixels.array.shape == (len(labels), 3072)
        and all(isinstance(label, int) for label in labels)
    ):
        passed = f"a dictionary of {sorted(map(str, batch))}" if isinstance(read, dict) else type(read).__name__
        expected = f"a dictionary of b'data', n x 3072 bytes, and {wanted!r}, a list of n numbers"
        raise ValueError(f"{str(file)!r}: {passed}; expected {expected}")
    return pixels.array, _within(file, np.array(labels), classes)


def _cifar_binary(file: Path, content: bytes, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (n, 3072) and labels (n,) of a file of CIFAR's binary version."""
    record = 3073 if classes == 10 else 3074
    if not content or len(content) % record:
        raise ValueError(f"{str(file)!r}: {len(content)} bytes; expected a positive multiple of {record}")
    rows = np.frombuffer(content, np.uint8).reshape(-1, record)
    return rows[:, -3072:], _within(file, rows[:, -3073], classes)


def _cifar(classes: int, path: Path) -> Images:
    name = f"cifar-{classes}"
    train = tuple(f"data_batch_{i}" for i in range(1, 6)) if classes == 10 else ("train",)
    python = (*train, "test_batch" if classes == 10 else "test")
    binary = tuple(f"{file}.bin" for file in python)
    subfolders = (
        ("cifar-10-batches-bin", "cifar-10-batches-py") if classes == 10 else (f"{name}-binary", f"{name}-python")
    )
    parts, notes = [], []
    for file in _located(name, path, subfolders, binary, python):
        content, note = _content(file)
        parts.append((_cifar_binary if file.suffix == ".bin" else _cifar_python)(file, content, classes))
        notes.append(note)
    sets = []
    for batches in (parts[:-1], parts[-1:]):
        pixels, labels = (np.concatenate(arrays) for arrays in zip(*batches, strict=True))
        sets.append((pixels.reshape(-1, 3, 32, 32), labels))
    return _images(name, sets, classes, f"files of {name}{', fine labels' if classes == 100 else ''}", notes)


def _svhn(path: Path) -> Images:
    from scipy.io import loadmat

    sets, notes = [], []
    for file in _located("svhn", path, (), ("train_32x32.mat", "test_32x32.mat")):
        content, note = _content(file)
        with reading(f"{str(file)!r} as a MATLAB file", "one of SVHN's"):
            read = loadmat(io.BytesIO(content), variable_names=("X", "y"))
        X, y = read.get("X"), read.get("y")
        if (
            X is None
            or y is None
            or X.dtype != "uint8"
            or X.shape != (32, 32, 3, y.size)
            or y.shape != (y.size, 1)
            or y.dtype.kind not in "iu"
        ):
            passed = ", ".join(f"{key} {value.dtype} {value.shape}" for key, value in read.items() if key in ("X", "y"))
            expected = "X uint8 (32, 32, 3, n) and y (n, 1)"
            raise ValueError(f"{str(file)!r}: {passed or 'neither X nor y'}; expected {expected}")
        labels = (_within(file, y[:, 0], 10, first=1) + 1) % 10
        sets.append((np.array(X.transpose(3, 2, 0, 1), order="C"), labels))
        notes.append(note)
    return _images("svhn", sets, 10, "cropped digits of SVHN, label 10 renamed 0", notes)


def _pictures(files: Sequence[Path], side: int) -> np.ndarray:
    """The pixels of PNG and JPEG files, grey ones converted to RGB: (n, 3, side, side) uint8."""
    from PIL import Image

    out = np.empty((len(files), 3, side, side), np.uint8)
    for i, file in enumerate(files):
        with (
            reading(f"{str(file)!r} as a PNG or JPEG image", "one"),
            Image.open(file, formats=("PNG", "JPEG")) as picture,
        ):
            size = picture.size
            if size == (side, side):
                out[i] = np.asarray(picture.convert("RGB")).transpose(2, 0, 1)
        if size != (side, side):
            raise ValueError(f"{str(file)!r}: an image of {size[0]} x {size[1]} pixels; expected {side} x {side}")
    return out


def _listed(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder that fit a pattern, by name; ValueError if there is none."""
    files = sorted(folder.glob(pattern))
    if not files:
        raise ValueError(f"{_holdings(folder)}; expected files {pattern}")
    return files


def _folder_note(folder: Path, files: Sequence[Path]) -> str:
    names = sorted((file.relative_to(folder).as_posix(), file.stat().st_size) for file in files)
    digest = hashlib.sha256("".join(f"{name} {size}\n" for name, size in names).encode()).hexdigest()
    return f"{folder}, {len(files)} image files, sha256 of their names and sizes {digest}"


def _tiny_imagenet(path: Path) -> Images:
    layout = ("wnids.txt", "train/", "val/images/", "val/val_annotations.txt")
    wnids_file, train, val, annotations_file = _located("tiny-imagenet", path, ("tiny-imagenet-200",), layout)
    (wnids, wnids_note), (annotations, annotations_note) = _text(wnids_file), _text(annotations_file)
    number = {wnid.strip(): i for i, wnid in enumerate(wnids)}
    by_class = [_listed(train / wnid / "images", "*.JPEG") for wnid in number]
    label = {}
    for line in annotations:
        file, wnid, *_ = *line.split("\t"), ""
        if wnid.strip() not in number:
            expected = f"FILE, a tab, and one of the {len(number)} names of wnids.txt"
            raise ValueError(f"{str(annotations_file)!r}: the line {line!r}; expected {expected}")
        label[file] = number[wnid.strip()]
    test_files = _listed(val, "*.JPEG")
    unlike = sorted({file.name for file in test_files} ^ label.keys())
    if unlike:
        passed = f"{len(label)} images, in {str(val)!r} {len(test_files)}, {unlike[0]!r} not in both"
        raise ValueError(f"{str(annotations_file)!r}: {passed}; expected the same")
    train_files = [file for files in by_class for file in files]
    sets = (
        (_pictures(train_files, 64), np.repeat(np.arange(len(number)), [len(files) for files in by_class])),
        (_pictures(test_files, 64), np.array([label[file.name] for file in test_files])),
    )
    notes = [wnids_note, annotations_note, _folder_note(train, train_files), _folder_note(val, test_files)]
    origin = "Tiny ImageNet, labels in the order of wnids.txt, its validation set as test set"
    return _images("tiny-imagenet", sets, len(number), origin, notes)


def _text(file: Path) -> tuple[list[str], str]:
    """The lines of a text file that are not blank, and a note of the file."""
    content, note = _content(file)
    return [line for line in content.decode("utf-8", "replace").splitlines() if line.strip()], note


def _cinic(name: str, training: Sequence[str], path: Path) -> Images:
    splits = (*training, "test")
    layout = tuple(f"{split}/{c}/" for split in splits for c in CINIC_CLASSES)
    folders = iter(_located(name, path, ("CINIC-10",), layout))
    by_split = {split: [_listed(next(folders), "*.png") for _ in CINIC_CLASSES] for split in splits}

    def read(splits: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        files = [files for split in splits for files in by_split[split]]
        labels = np.repeat(np.tile(np.arange(10), len(splits)), [len(each) for each in files])
        return _pictures([file for each in files for file in each], 32), labels

    def notes() -> Iterator[str]:
        for by_class in by_split.values():
            yield _folder_note(by_class[0][0].parents[1], [file for files in by_class for file in files])

    origin = f"CINIC-10, training set {' and '.join(training)}"
    return _images(name, (read(training), read(("test",))), 10, origin, list(notes()))


READERS: dict[str, Callable[..., Images]] = {
    "digits": _digits,
    "generated": generated,
    "mnist": partial(_mnist, "mnist", subfolders=("MNIST/raw",)),
    "fashion-mnist": partial(_mnist, "fashion-mnist", subfolders=("FashionMNIST/raw",)),
    "emnist": partial(_emnist, "byclass"),
    **{f"emnist-{split}": partial(_emnist, split) for split in EMNIST_CLASSES},
    "cifar-10": partial(_cifar, 10),
    "cifar-100": partial(_cifar, 100),
    "svhn": _svhn,
    "tiny-imagenet": _tiny_imagenet,
    "cinic-10": partial(_cinic, "cinic-10", ("train",)),
    "cinic-10-enlarged": partial(_cinic, "cinic-10-enlarged", ("train", "valid")),
}
