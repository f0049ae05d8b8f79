"""How far the theorems are from networks: bounds with estimated constants, beside trainings of a small CNN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from fedtheory.bounds.networks import CLIENTS, METHODS, ROUNDS, SEEDS, STEPS, STUDY, over_seeds
from fedtheory.figures.gallery import GREEN, GREY, ORANGE, RED, FigureData, Picture, canvas
from fedtheory.figures.runs import rows_of


def _rows() -> Iterator[dict[str, Any]]:
    for name, numbers in over_seeds(STUDY.numbers).items():
        for what, values in numbers.items():
            yield from rows_of({"method": name, "what": what}, seed=SEEDS, value=values)


def draw(full: bool = False) -> FigureData:
    """Left the gradients and the bounds, right the step sizes: means over the seeds, bars from the least to the largest."""
    data = pd.DataFrame(_rows())
    over = data.groupby(["method", "what"])["value"].agg(["mean", "min", "max"])
    figure, ((left, right),) = canvas(1, 2, width=4.6, height=3.7, sharey=True)

    def marked(axis: Any, row: int, of: pd.Series, colour: str, marker: str) -> float:
        axis.plot([of["min"], of["max"]], [row, row], color=colour, lw=2.5, solid_capstyle="butt")
        axis.plot(of["mean"], row, marker, color=colour)
        return float(of["mean"])

    for row, name in enumerate(METHODS):
        left.axhline(row, color=GREY, lw=0.3)
        right.axhline(row, color=GREY, lw=0.3)
        own = over.loc[name]
        marked(left, row, own.loc["gradient, practised step size"], GREEN, "o")
        admitted = marked(left, row, own.loc["gradient, step size of the theorem"], ORANGE, "s")
        bound = marked(left, row, own.loc["bound"], RED, "D")
        told = f"{bound / admitted:.0f} ×" if bound / admitted < 1000 else f"{bound / admitted:.0e} ×"
        left.annotate(told, (own.loc["bound", "max"], row), (6, -3), textcoords="offset points", fontsize=7, color=RED)
        steps = (
            marked(right, row, own.loc["practised step size"], GREEN, "o"),
            marked(right, row, own.loc["step size of the theorem"], ORANGE, "s"),
        )
        right.annotate(
            f"{steps[0] / steps[1]:.0f} ×", (float(np.sqrt(steps[0] * steps[1])), row), (0, 2),
            textcoords="offset points", fontsize=7, ha="center",
        )  # fmt: skip
    labels = [f"{name}{'*' if method.fails else ''}" for name, method in METHODS.items()]
    left.set_yticks(range(len(labels)), labels)
    left.invert_yaxis()
    left.set(xscale="log", xlabel="squared gradient norm, as the theorem bounds it", xlim=(5e-3, 3e5))
    right.set(xscale="log", xlabel="step size of a client")
    for marker, colour, label in (
        ("o", GREEN, "measured, a step size that trains well"),
        ("s", ORANGE, "measured, the theorem's step size"),
        ("D", RED, "the theorem's bound, with its factor to the square"),
    ):
        left.plot([], [], marker, color=colour, label=label)
    figure.legend(loc="outside lower center", ncols=3, fontsize=7.5)
    fails = "; ".join(
        f"*assumes that {method.fails}, which is not so here" for method in METHODS.values() if method.fails
    )
    figure.suptitle(
        "Bounds with estimated constants, beside a small CNN on digits\n"
        f"{CLIENTS} clients, {ROUNDS} rounds of {STEPS} local steps; mean of {len(SEEDS)} seeds, bar from least to largest\n"
        f"{fails}",
        fontsize=9.5,
    )
    return FigureData(figure, data)


PICTURES = [
    Picture(
        "theory_beside_networks",
        "Diamonds: the bounds with estimated constants. Squares: measured values of runs at the theorem's step size; "
        "circles: at one that trains well. Means over three seeds, bars from the least to the largest. The number beside a "
        "diamond is the factor from square to diamond.",
        draw,
        study=lambda: STUDY,
    )
]
