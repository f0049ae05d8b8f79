"""How hard generated images must be to replace a published data set: `fedtheory.tables.SIZES`.

    python -m benchmarks.difficulty            every data set with a printed accuracy: two hours on one core
    python -m benchmarks.difficulty mnist ...  only these; the results go into benchmarks/results.json

For each data set, `references` finds the best accuracy that the four papers print for a small convolutional network (SMALL).
Here the same network is trained centrally (EPOCHS epochs of Adam, at most STEPS steps, batches of
100, the step size falls from 0.001 to 0 as a cosine) on as many generated images of the same shape.  The search is for the
noise with which it reaches the printed accuracy, on at most TESTED test images; everything else stays as in
`fedtheory.simulations.networks.images.generated`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial

from benchmarks.common import store

import numpy as np  # isort: skip
import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedtheory.bounds import presets
from fedtheory.simulations.networks import images, models
from fedtheory.tables import SIZES

SMALL = ("LeNet-5", "LeNet-5, SFL", "CNN", "CNN, SFL", "VGG-9")  # convolutional networks
EPOCHS, STEPS, TESTED, BATCH, RATE = 3, 1800, 10_000, 100, 1e-3
EASY, HARD, EVALUATIONS = 1 / 16, 4.0, 4
STDERR = Console(stderr=True)


@dataclass(frozen=True)
class Reference:
    """The best accuracy printed for a small network on a data set, in percent, and where it is printed."""

    model: str
    printed: float
    where: str


@cache
def references() -> dict[str, Reference]:
    """The reference of each data set that has one, from the printed numbers of all presets."""
    found: dict[str, Reference] = {}
    for preset in (build() for build in presets.presets().values()):
        for cell in preset.cells:
            name, model, printed = (
                cell.setup.data["name"],
                cell.setup.network["model"],
                cell.printed.get("accuracy", 0.0),
            )
            if model in SMALL and name in SIZES and printed > (found[name].printed if name in found else 0.0):
                found[name] = Reference(model, printed, f"{preset.id}: {cell.method}, {cell.column}")
    return found


def central_accuracy(model: str, data: images.Images, epochs: int = EPOCHS, tell: str = "") -> float:
    """Test accuracy, in percent, after central training of the network."""
    mean, deviation = (torch.tensor(a, dtype=torch.float32).view(-1, 1, 1) for a in images.channel_statistics(data))

    def pixels(of: np.ndarray) -> Tensor:
        return (torch.from_numpy(of).to(torch.float32) / 255 - mean) / deviation

    module = models.build(model, data.shape, data.classes).to_empty(device="cpu")
    nn.utils.vector_to_parameters(models.initial(module, seed=0).float(), module.parameters())
    in_epoch = len(data.images) // BATCH
    steps = min(STEPS, epochs * in_epoch)
    optimiser = torch.optim.Adam(module.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    rng = np.random.default_rng(0)
    orders = np.concatenate([rng.permutation(len(data.images))[: in_epoch * BATCH] for _ in range(epochs)])
    bar = track(orders.reshape(-1, BATCH)[:steps], tell, console=STDERR, transient=True, disable=not STDERR.is_terminal)
    for rows in bar:
        optimiser.zero_grad()
        cross_entropy(module(pixels(data.images[rows])), torch.from_numpy(data.labels[rows])).backward()
        optimiser.step()
        schedule.step()
    right = 0
    with torch.no_grad():
        for start in range(0, len(data.test_images), 1000):
            part = slice(start, start + 1000)
            guess = module(pixels(data.test_images[part])).argmax(1).numpy()
            right += int((guess == data.test_labels[part]).sum())
    return 100 * right / len(data.test_images)


def sought(accuracy: Callable[[float], float], target: float) -> tuple[float, dict[float, float]]:
    """The noise with that accuracy, and the accuracy at every noise that was tried.

    By bisection, then by linear interpolation between the two nearest, both in the logarithm of the noise.  Raises
    ValueError if all noises that were tried give a larger accuracy, or all a smaller one.
    """
    low, high = math.log(EASY), math.log(HARD)
    tried: dict[float, float] = {}
    for _ in range(EVALUATIONS):
        middle = (low + high) / 2
        tried[middle] = accuracy(math.exp(middle))
        low, high = (middle, high) if tried[middle] > target else (low, middle)
    if low not in tried or high not in tried:
        raise ValueError(f"accuracy {target} %: not between the tried ones, {', '.join(map(str, tried.values()))}")
    share = (tried[low] - target) / (tried[low] - tried[high])
    return math.exp(low + share * (high - low)), {math.exp(noise): got for noise, got in tried.items()}


def accuracy(name: str, noise: float) -> float:
    """Test accuracy of a data set's reference network on generated images with this noise, in percent."""
    shape, classes, train, test, _ = SIZES[name]
    data = images.generated(shape, classes, train, min(test, TESTED), seed=0, noise=noise)
    found = central_accuracy(references()[name].model, data, tell=f"{name}, noise {noise:.3g}")
    print(f"{name}: noise {noise:.3g}, accuracy {found:.2f} %", flush=True)
    return found


def main(names: list[str]) -> None:
    """Seek the noise for the data sets."""
    for name in names or references():
        of = references()[name]
        noise, tried = sought(partial(accuracy, name), of.printed)
        print(f"{name}: noise {noise:.2g} for {of.model} at {of.printed} % ({of.where})", flush=True)
        store(
            f"difficulty, {name}",
            asdict(of) | {"noise": float(f"{noise:.2g}"), "tried": {f"{n:.3g}": round(a, 2) for n, a in tried.items()}},
        )


if __name__ == "__main__":
    main(sys.argv[1:])
