"""Supplement B.2: Figures 6, 8 and 9, as far as settings are printed; Figure 7 shows cosines of gradients, no training.

The paper prints no numbers for them, and few settings: data, model, and for Figure 6 clients, participation and learning
rate.  Where B.2 does not say, we follow the commands in the README of the authors' code, github.com/MLOPTPSU/FedTorch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fedtheory.bounds.presets import WITH_GRADIENT, Cell, declared, record
from fedtheory.simulations.algorithms.base import FLOAT
from fedtheory.simulations.networks import models
from fedtheory.simulations.networks.setup import Setup

DATA = {"EMNIST": "emnist-byclass", "MNIST": "mnist", "Fashion MNIST": "fashion-mnist"}
MODEL, SHAPE, CLASSES = "MLP", (1, 28, 28), 10
STEPS, BATCH, ETA, ROUNDS, EVERY = 10, 50, 0.1, 200, 2
LEVELS = 127  # with 8 bits for each coordinate
CLIENTS, LABELS = 20, 2  # those of Figure 7 on MNIST
RATIOS = (0.5, 0.25, 0.1)  # only the last one is printed
_record = partial(record, "fedcom")


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


def _fig6(released: bool = False) -> tuple[Cell, ...]:
    figure = _record("fig6").settings
    clients = figure["clients"]
    name = "Rounding" if released else "Dithering"
    methods = _methods(f"{name}(s={LEVELS})", figure["k"], round(figure["k"] * clients))
    extra: Mapping[str, Any] = {"order": "epochs", "weight_decay": 1e-4} if released else {}
    return tuple(
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


def _fig8() -> tuple[Cell, ...]:
    methods = {"FedGATE": {"name": "FedGATE"}} | {
        f"C_r={ratio:g}": {"name": "SparseFedCOMGATE", "compressor": _top(ratio)} for ratio in RATIOS
    }
    return tuple(
        Cell(method, data, _on_mnist(data, algorithm))
        for data in _record("fig8").settings["data"]
        for method, algorithm in methods.items()
    )


def _fig9() -> tuple[Cell, ...]:
    data = _record("fig9").settings["data"]

    def cell(method: str, panel: str, s: int, tau: int) -> Cell:
        algorithm = {"name": "FedCOMGATE", "compressor": f"Dithering(s={s})"}
        return Cell(method, f"{data} ({panel})", _on_mnist(data, algorithm, tau, record=WITH_GRADIENT))

    return (
        *(cell(f"s={s}", "a", s, STEPS) for s in (LEVELS, 31, 7, 3)),
        *(cell(f"tau={tau}", "b", 7, tau) for tau in (5, 10, 20, 50)),
    )


PRESETS = declared(
    "fedcom", {"fig6": _fig6, "fig6, as released": partial(_fig6, released=True), "fig8": _fig8, "fig9": _fig9}
)
