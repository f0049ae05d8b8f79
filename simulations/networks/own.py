"""Data and networks of the user's own: a table of rows or a folder of images, and a `torch.nn.Module` in a Python file.

A table is read as by `simulations.data`; its columns are the channels of images of one pixel, or with `shape` the pixels of
images, row by row.  A folder of images has one sub-folder a class, alone or in the sub-folders train and test.

A module is the user's code as it is, with these rules.  Its starting point is what its constructor draws after
`torch.manual_seed(seed)`.  Its trainable parameters are x.  Parameters without gradients and buffers are constants, those
that seed 0 makes.  Layers of batch (and instance) normalisation keep no state: see `problem`.  Other buffers must not change
in a forward pass, and nothing in it may be random, for then a seed would not fix the training.
"""

from __future__ import annotations

import hashlib
import inspect
from collections import OrderedDict
from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.parameter import is_lazy

from fedtheory.simulations import data
from fedtheory.simulations.checked import brief, number, reading, reason, whole
from fedtheory.simulations.networks.images import Images
from fedtheory.simulations.own_file import blaming, digest_of, module_of

NAME = "own"
FORMATS = ("PNG", "JPEG", "BMP")
SHARE = 0.2  # of the rows of each class that are held out as test set
_TESTS = ("test", "val", "valid", "validation")  # usual names of the folder of test images
_AGAIN = 16  # times that a model is asked again for the outputs of the same rows


# ------------------------------------------------------------------------------------------------ data


def images(
    path: Path,
    target: str | int | None = None,
    client: str | int | None = None,
    without: Sequence[str | int] = (),
    separator: str | None = None,
    header: bool | None = None,
    shape: Sequence[int] | None = None,
    test: float | str | None = None,
    seed: int = 0,
) -> Images:
    """The user's own data as `Images`.

    path    a CSV, NPZ, Parquet or LIBSVM file, or a folder of images (PNG, JPEG or BMP, all of one size)
    target, client, without, separator, header   of a table, as `fedtheory.simulations.data.load` has them
    shape   (C, H, W) of the images whose pixels are the columns of a table; None: columns as they are
    test    the share of each class that is the test set, drawn at random; or the file, or folder, of the test set.  None:
            the folder's own test set if it has one, else a fifth
    seed    of that draw

    Raises ValueError for data that cannot be read, images of different sizes, test data with other classes, columns or
    clients' rows all in the test set, a single class, and settings that do not belong to the data.
    """
    whole("data: seed", seed, 0)
    if path.is_dir():
        if idle := [n for n, v in (("target", target), ("client", client), ("shape", shape)) if v is not None]:
            raise ValueError(f"data: {', '.join(idle)} for a folder of images: expected them for a table only")
        return _of_folders(path, test, seed)
    columns = [None if one is None else str(one) for one in (target, client)]
    left_out = [str(one) for one in ([without] if isinstance(without, str | int) else without)]
    table = data.table(path, columns[0], columns[1], left_out, separator, header)
    rows = data.classified(table)
    pixels, size = data.dense(rows.features, rows.name).astype(np.float32), (rows.features.shape[1], 1, 1)
    if shape is not None:
        size = tuple(whole("shape", side) for side in shape)  # type: ignore[assignment]
        if len(size) != 3 or np.prod(size) != pixels.shape[1]:
            raise ValueError(
                f"data: shape = {brief(list(shape))}: expected (C, H, W) with C H W = {pixels.shape[1]}, the columns of "
                f"{rows.name}"
            )
    pixels = pixels.reshape(-1, *size)
    if isinstance(test, str):
        other = data.table(Path(test), columns[0], None, left_out, separator, header)
        test_pixels = data.dense(other.features, other.name).astype(np.float32)
        if test_pixels.shape[1] != rows.features.shape[1]:
            raise ValueError(
                f"data: test = {brief(test)} has {test_pixels.shape[1]} columns of features: expected "
                f"{rows.features.shape[1]}, those of {rows.name}"
            )
        names = np.unique(table.targets)
        if unknown := set(other.targets.tolist()) - set(names.tolist()):
            raise ValueError(f"data: test = {brief(test)}: no class {brief(sorted(unknown)[0])} in {rows.name}")
        labels = np.searchsorted(names, other.targets)
        found = (pixels, rows.labels, test_pixels.reshape(-1, *size), labels, rows.clients)
        provenance = f"{rows.provenance}; test set: {other.provenance}"
    else:
        held, told = _held_out(rows.labels, test, seed, rows.name)
        owners = None if rows.clients is None else rows.clients[~held]
        if owners is not None and (gone := set(rows.clients.tolist()) - set(owners.tolist())):  # type: ignore[union-attr]
            raise ValueError(f"data: client {min(gone)} has no row left beside the test set: expected a smaller test")
        found = (pixels[~held], rows.labels[~held], pixels[held], rows.labels[held], owners)
        provenance = f"{rows.provenance}; {told}"
    return Images(rows.name, *found[:4], rows.classes, provenance, found[4])


def _held_out(labels: np.ndarray, test: Any, seed: int, name: str) -> tuple[np.ndarray, str]:
    """Which rows are the test set: of each class that share, rounded, at least one; and in words."""
    share = number("data: test", SHARE if test is None else test, "> 0")
    if share >= 1:
        raise ValueError(f"data: test = {brief(test)}: expected a share in (0, 1), or the file of the test set")
    held, rng = np.zeros(len(labels), bool), np.random.Generator(np.random.PCG64(seed))
    for label in range(int(labels.max()) + 1):
        own = rng.permutation(np.flatnonzero(labels == label))
        count = max(1, round(share * len(own)))
        if count >= len(own):
            raise ValueError(
                f"data: test = {share:g}: class {label} of {name} has {len(own)} rows: expected one at least beside the "
                "test set"
            )
        held[own[:count]] = True
    return held, f"test set: {share:g} of each class, {held.sum()} rows, seed {seed}"


def _of_folders(path: Path, test: Any, seed: int) -> Images:
    tests = [path / name for name in _TESTS if (path / name).is_dir()] if (path / "train").is_dir() else []
    if tests and test is not None:
        raise ValueError(
            f"data: test = {brief(test)}: expected none, {brief(str(path))} has the folder {tests[0].name}"
        )
    root = path / "train" if (path / "train").is_dir() else path
    names = _classes(root)
    if len(names) < 2:
        raise ValueError(
            f"{brief(str(root))} has the classes {brief(names)}: expected two sub-folders or more, one a class"
        )
    pixels, labels = _pixels(root, names)
    other = tests[0] if tests else Path(test) if isinstance(test, str) else None
    digest = f"folder {path}, {', '.join(names[:10])}{', ...' * (len(names) > 10)}, sha256 {digest_of_data(path)}"
    if other is None:
        held, told = _held_out(labels, test, seed, path.name)
        sets = (pixels[~held], labels[~held], pixels[held], labels[held])
        return Images(path.name, *sets, len(names), f"{digest}; {told}")
    if not other.is_dir():
        raise ValueError(f"data: test = {brief(str(other))}: expected a share in (0, 1), or a folder of images")
    if unknown := [name for name in _classes(other) if name not in names]:
        raise ValueError(
            f"{brief(str(other))}: no class {brief(unknown[0])} in {brief(str(root))}: expected some of {brief(names)}"
        )
    test_pixels, test_labels = _pixels(
        other, [name for name in names if (other / name).is_dir()], names, pixels.shape[1:]
    )
    return Images(path.name, pixels, labels, test_pixels, test_labels, len(names), f"{digest}; test set: {other}")


def _classes(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _pixels(
    root: Path, present: Sequence[str], names: Sequence[str] | None = None, like: tuple[int, ...] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (n, C, H, W) uint8 and labels (n,): grey where all images are grey, else RGB."""
    try:
        from PIL import Image
    except ImportError:
        raise ValueError("a folder of images needs Pillow: expected pip install pillow") from None
    files, labels = [], []
    for name in present:
        own = sorted(file for file in (root / name).rglob("*") if file.is_file() and not file.name.startswith("."))
        if not own:
            raise ValueError(f"{brief(str(root / name))} is empty: expected images of the class {name}")
        files += own
        labels += [(names or present).index(name)] * len(own)
    arrays = []
    for file in files:
        with reading(repr(brief(str(file))), ", ".join(FORMATS)), Image.open(file, formats=FORMATS) as picture:
            grey = picture.mode in ("1", "L")
            arrays.append(np.asarray(picture.convert("L" if grey else "RGB")))
        first = arrays[0].shape[:2] if like is None else like[1:]
        if arrays[-1].shape[:2] != first:
            high, wide = arrays[-1].shape[:2]
            raise ValueError(
                f"{brief(str(file))!r} has {high} x {wide} pixels: expected {first[0]} x {first[1]}, as the others; "
                "resize them first"
            )
    colours = any(array.ndim == 3 for array in arrays) if like is None else like[0] == 3
    if not colours and any(array.ndim == 3 for array in arrays):
        raise ValueError(f"{brief(str(root))} has coloured images: expected grey ones, as in the training set")
    alike = [np.repeat(a[..., None], 3, axis=2) if colours and a.ndim == 2 else a for a in arrays]
    pixels = np.stack(alike)
    return (pixels.transpose(0, 3, 1, 2).copy() if colours else pixels[:, None]), np.array(labels, np.int64)


def digest_of_data(path: Path, what: str = "data: path") -> str:
    """The sha256 of a file, or of all names and contents in a folder.  Raises ValueError where it is missing."""
    if not path.is_dir():
        return digest_of(path, what)
    found = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith(".")):
        found.update(f"{file.relative_to(path).as_posix()}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


# ------------------------------------------------------------------------------------------------ networks


def is_own(model: Any) -> bool:
    """Whether the name of a network is FILE.py:NAME."""
    return isinstance(model, str) and ".py:" in model


def file_of(model: str) -> Path:
    """The file of FILE.py:NAME."""
    return Path(model.rpartition(":")[0])


def constructed(model: str, seed: int) -> nn.Module:
    """The module FILE.py:NAME, a class or a function without arguments, as it is after `torch.manual_seed(seed)`.

    Raises ValueError for a file that is missing or fails, a name that is not in it, arguments without defaults, something
    that is no module, and lazy layers.
    """
    path, name = file_of(model).resolve(), model.rpartition(":")[2]
    source = module_of(path, digest_of(path, "network: model"))
    build = getattr(source, name, None)
    if build is None:
        there = [n for n, kind in vars(source).items() if isinstance(kind, type) and issubclass(kind, nn.Module)]
        raise ValueError(f"network: model: no {brief(name)} in {path.name}: expected one of {brief(', '.join(there))}")
    try:
        needed = [p.name for p in inspect.signature(build).parameters.values() if p.default is p.empty and p.kind < 2]
    except (TypeError, ValueError):
        needed = []
    if needed or not callable(build):
        wrong = f"needs the arguments {', '.join(needed)}" if needed else f"is {brief(build)}"
        raise ValueError(
            f"network: model: {name} of {path.name} {wrong}: expected a module, or function, without arguments"
        )
    with blaming(path), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = build()
    if not isinstance(module, nn.Module):
        raise ValueError(f"network: model: {name} of {path.name} makes {brief(module)}: expected a torch.nn.Module")
    if any(is_lazy(tensor) for tensor in (*module.parameters(), *module.buffers())):
        raise ValueError(f"network: model: {name} of {path.name} has lazy layers: expected layers of given sizes")
    return module.train()


def module(model: str, shape: tuple[int, int, int], running: bool = False) -> nn.Module:
    """The module, in float32 on the CPU; its normalisations without state, or with `running` with averages over batches.

    For a table, shape (p, 1, 1), it reads rows (B, p), else images (B, C, H, W).
    """
    own = deepcopy(_constants(model, digest_of(file_of(model), "network: model")))
    for layer in own.modules():
        if isinstance(layer, _NormBase):
            layer.track_running_stats, layer.momentum = running, None
            for name, value in (("running_mean", 0.0), ("running_var", 1.0), ("num_batches_tracked", 0)):
                size = () if name == "num_batches_tracked" else (layer.num_features,)
                layer.register_buffer(name, torch.full(size, value) if running else None)
    return nn.Sequential(OrderedDict(rows=nn.Flatten(), own=own)) if shape[1:] == (1, 1) else own


@lru_cache(maxsize=2)
def _constants(model: str, digest: str) -> nn.Module:
    return constructed(model, 0)


def initial(model: str, seed: int) -> Tensor:
    """The starting point (d,) of the seed: the trainable parameters as constructed, float64."""
    own = [p.detach().double().flatten() for p in constructed(model, seed).parameters() if p.requires_grad]
    return torch.cat(own)


@lru_cache(maxsize=8)
def probed(model: str, digest: str, shape: tuple[int, int, int], outputs: int) -> str:
    """Tries the module on two images; returns why its copies cannot be stacked by torch.func, or an empty text.

    Raises ValueError for a module that fails, gives another shape than (2, outputs), is random, changes its buffers, or
    has no trainable parameters, or some without effect.
    """
    name, own = f"network: model: {model.rpartition(':')[2]} of {file_of(model).name}", module(model, shape)
    parameters = {n: p for n, p in own.named_parameters() if p.requires_grad}
    if not parameters:
        raise ValueError(f"{name} has no trainable parameters: expected some")
    X = torch.randn(2, *shape, generator=torch.Generator("cpu").manual_seed(0))
    Y, before = torch.zeros(2, dtype=torch.int64), {n: b.clone() for n, b in own.named_buffers()}
    given = f"rows (2, {shape[0]})" if shape[1:] == (1, 1) else f"images {(2, *shape)}"
    try:
        z = own(X)
    except Exception as error:  # whatever the user's code does
        raise ValueError(f"{name} fails on {given}: {reason(error)}; expected outputs (2, {outputs})") from None
    if not isinstance(z, Tensor) or tuple(z.shape) != (2, outputs):
        made = f"outputs {tuple(z.shape)}" if isinstance(z, Tensor) else brief(z)
        raise ValueError(f"{name} makes {made} of {given}: expected (2, {outputs}), a number for each class")
    if changed := [n for n, b in own.named_buffers() if not torch.equal(b, before[n])]:
        raise ValueError(f"{name} changes its buffer {changed[0]}: expected constants, or torch's normalisations")
    if not all(torch.equal(own(X), z) for _ in range(_AGAIN)):  # a few outputs are now and then the same by chance
        raise ValueError(
            f"{name} is random, as with dropout: expected the same outputs for the same images, such as p=0"
        )

    def loss(z: Tensor) -> Tensor:
        return cross_entropy(z, Y) if outputs > 1 else z.sum()

    slopes = torch.autograd.grad(loss(z), list(parameters.values()), allow_unused=True)
    if idle := [n for n, slope in zip(parameters, slopes, strict=True) if slope is None]:
        raise ValueError(f"{name}: its output does not depend on {idle[0]}: expected it to, or requires_grad=False")

    def of(parameters: dict[str, Tensor], X: Tensor) -> Tensor:
        return loss(functional_call(own, parameters, (X,)))

    try:
        twice = {n: torch.stack([p.detach()] * 2) for n, p in parameters.items()}
        vmap(grad(of))(twice, torch.stack([X, X]))
    except Exception as error:  # torch.func knows no such operation, or the user's code looks at numbers
        return reason(error)
    return ""
