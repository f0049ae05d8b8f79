"""Supplement B.2: Figures 6, 8 and 9, as far as settings are printed; Figure 7 shows cosines of gradients, no training.

The paper prints no numbers for them, and few settings: data, model, and for Figure 6 clients, participation and learning
rate.  Where B.2 does not say, we follow the commands in the README of the authors' code, github.com/MLOPTPSU/FedTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fedtheory.bounds.presets import Cell, Departure, Preset
from fedtheory.simulations.algorithms.base import FLOAT
from fedtheory.simulations.networks import models
from fedtheory.simulations.networks.setup import Setup
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Record

DATA = {"EMNIST": "emnist-byclass", "MNIST": "mnist", "Fashion MNIST": "fashion-mnist"}
MODEL, SHAPE, CLASSES = "MLP", (1, 28, 28), 10
STEPS, BATCH, ETA, ROUNDS, EVERY, SEEDS = 10, 50, 0.1, 200, 2, 3
LEVELS = 127  # with 8 bits for each coordinate
CLIENTS, LABELS = 20, 2  # those of Figure 7 on MNIST
RATIOS = (0.5, 0.25, 0.1)  # only the last one is printed
WITH_GRADIENT = ("value", "grad_sq", "test_value", "accuracy")

COMMON = (
    "the number of runs in the figures is not printed: 3, of one partition",
    "channels are standardised over the training set; torch's own initialisation; neither is printed",
    "the global step size is not printed: gamma = 1",
    "local steps, batch and rounds are not printed: 10 and 50, as in a command of the authors' README, and 200 rounds",
)
DRAWN = "how mini-batches are drawn is not printed: with replacement, as in the theory"
QUANTISER = (
    "the quantiser is not printed: random dithering to 127 levels of the largest modulus, 8 bits a coordinate, the unbiased "
    "one beside that of the authors' code"
)
ON_MNIST = (
    "clients and partition are not printed: 20 with 2 labels each, as in Figure 7, all taking part",
    "the learning rate is not printed: 0.1, as in the README",
)


def _record(name: str) -> Record:
    return catalogue.find(f"fedcom.{name}").claim_of(Record)


# --------------------------------------------------------------------------------------------------- Figure 6


def _methods(compressor: str, k: float, S: int) -> dict[str, dict[str, Any]]:
    """The methods that Section B.1 names; FedGATE with sampled clients is Algorithm 4 without a compressor."""
    return {
        "FedAvg": {"name": "FedAvg", "S": S},
        "FedPAQ": {"name": "FedPAQ", "S": S, "compressor": compressor},
        "SCAFFOLD": {"name": "SCAFFOLD", "S": S},
        "FedGATE": {"name": "FedCOMGATE", "k": k},
        "FedCOMGATE": {"name": "FedCOMGATE", "k": k, "compressor": compressor},
    }


def _fig6(released: bool = False) -> Preset:
    figure = _record("fig6").settings
    clients = figure["clients"]
    name = "Rounding" if released else "Dithering"
    methods = _methods(f"{name}(s={LEVELS})", figure["k"], round(figure["k"] * clients))
    extra: Mapping[str, Any] = {"order": "epochs", "weight_decay": 1e-4} if released else {}
    cells = tuple(
        Cell(
            method,
            figure["data"],
            Setup(
                data={
                    "name": "emnist-digits" if released else DATA[figure["data"]],
                    "partition": "iid",
                    "clients": clients,
                },
                network={"model": MODEL, "batch": BATCH, **extra},
                algorithm={**algorithm, "tau": STEPS, "eta": figure["learning rate"]},
                rounds=ROUNDS,
                decay=1 / 1.01 if released else 1.0,
                every=EVERY,
            ),
        )
        for method, algorithm in methods.items()
    )
    methods_of = (
        "of the methods in the figure the text names only FedCOMGATE and FedPAQ: the others are those of Section B.1"
    )
    departs = (
        Departure(
            "Algorithm 4's server divides by the number of participants",
            "divided by all clients, as printed, a run is pulled back to its starting point",
        ),
        Departure(
            "images are dealt out at random, not by the authors of the digits",
            "EMNIST's files do not say who wrote an image; B.2 calls its own partition close to random",
        ),
    )
    printed = (DRAWN, QUANTISER, "which split of EMNIST is not printed: byclass, all 62 classes")
    followed = (
        "follows github.com/MLOPTPSU/FedTorch: deterministic rounding to 8 bits, which is biased; digits only; images read "
        "without replacement; weight decay 0.0001; the learning rate divided by 1.01 every round",
    )
    of_code = (
        Departure(
            "levels reach up to the largest modulus of the whole update, and the server's message is not rounded",
            "Algorithm 2 compresses vectors, on the way up only; the code's levels run from the least to the largest entry "
            "of each tensor, in both directions",
        ),
        Departure(
            "the MLP has biases, and neither batch normalisation nor dropout",
            "the paper prints an MLP of two layers of 200; a run with dropout has no gradient of an F",
        ),
    )
    return Preset(
        "fedcom.fig6",
        "EMNIST, 1000 clients, 10 % a round" + (", as the authors' code trains" if released else ""),
        cells,
        SEEDS,
        last=10,
        choices=(*COMMON, methods_of, *(followed if released else printed)),
        departs=(*departs, *(of_code if released else ())),
    )


# ------------------------------------------------------------------------------------------- Figures 8 and 9


def _on_mnist(data: str, algorithm: Mapping[str, Any], tau: int = STEPS, **more: Any) -> Setup:
    return Setup(
        data={"name": DATA[data], "partition": "quantity", "clients": CLIENTS, "C": LABELS},
        network={"model": MODEL, "batch": BATCH},
        algorithm={**algorithm, "tau": tau, "eta": ETA},
        rounds=ROUNDS,
        every=EVERY,
        **more,
    )


def _top(ratio: float) -> str:
    """top_k with k such that values and indices take that share of the bits of all coordinates."""
    layers = models.layers(models.build(MODEL, SHAPE, CLASSES))
    d = max(part.stop for part in layers.values())
    return f"TopK(k={round(ratio * d * FLOAT / (FLOAT + (d - 1).bit_length()))})"


def _fig8() -> Preset:
    methods = {"FedGATE": {"name": "FedGATE"}} | {
        f"C_r={ratio:g}": {"name": "SparseFedCOMGATE", "compressor": _top(ratio)} for ratio in RATIOS
    }
    cells = tuple(
        Cell(method, data, _on_mnist(data, algorithm))
        for data in _record("fig8").settings["data"]
        for method, algorithm in methods.items()
    )
    return Preset(
        "fedcom.fig8",
        "sparsification with memory, MNIST and Fashion MNIST",
        cells,
        SEEDS,
        last=10,
        choices=(
            *COMMON,
            DRAWN,
            *ON_MNIST,
            "of the compression ratios only 0.1 is printed: 0.5 and 0.25 besides; values and indices are counted",
            "the memory's rule is (9) as printed, in the units of (8)",
        ),
    )


def _fig9() -> Preset:
    data = _record("fig9").settings["data"]

    def cell(method: str, panel: str, s: int, tau: int) -> Cell:
        algorithm = {"name": "FedCOMGATE", "compressor": f"Dithering(s={s})"}
        return Cell(method, f"{data} ({panel})", _on_mnist(data, algorithm, tau, record=WITH_GRADIENT))

    return Preset(
        "fedcom.fig9",
        "MNIST by (a) the noise of quantisation, (b) the number of local steps",
        (
            *(cell(f"s={s}", "a", s, STEPS) for s in (LEVELS, 31, 7, 3)),
            *(cell(f"tau={tau}", "b", 7, tau) for tau in (5, 10, 20, 50)),
        ),
        SEEDS,
        last=10,
        choices=(
            *COMMON,
            DRAWN,
            QUANTISER,
            *ON_MNIST,
            "the numbers of local steps are not printed: 5, 10, 20 and 50, at 7 levels",
            "the gradient norm is measured too, which is not in the figure",
        ),
        departs=(
            Departure(
                "q grows as the quantiser has fewer levels",
                "in print random integers are added to its zero-point, in ranges that are not printed",
            ),
        ),
    )


PRESETS: dict[str, Callable[[], Preset]] = {
    "fedcom.fig6": _fig6,
    "fedcom.fig6, as released": partial(_fig6, released=True),
    "fedcom.fig8": _fig8,
    "fedcom.fig9": _fig9,
}
