"""How far the theorems are from networks: bounds with estimated constants, beside trainings of a small CNN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from fedtheory.bounds.networks import CLIENTS, METHODS, ROUNDS, STEPS, STUDY
from fedtheory.figures.gallery import GREEN, GREY, ORANGE, RED, Drawn, Picture, canvas


def _rows() -> Iterator[dict[str, Any]]:
    for name, numbers in STUDY.numbers.items():
        for what, (value,) in numbers.items():
            yield {"method": name, "what": what, "value": value}


def draw(full: bool = False) -> Drawn:
    """Left the gradients and the bounds, right the step sizes."""
    data = pd.DataFrame(_rows())
    numbers = data.pivot(index="method", columns="what", values="value")
    figure, ((left, right),) = canvas(1, 2, width=4.6, height=3.4, sharey=True)
    for row, name in enumerate(METHODS):
        own = numbers.loc[name]
        bound, trained, admitted = (
            own[what] for what in ("bound", "gradient, practised step size", "gradient, step size of the theorem")
        )
        left.plot([trained, bound], [row, row], color=GREY, lw=0.8)
        for value, colour, marker in ((trained, GREEN, "o"), (admitted, ORANGE, "s"), (bound, RED, "D")):
            left.plot(value, row, marker, color=colour)
        told = f"{bound / admitted:.0f} ×" if bound / admitted < 1000 else f"{bound / admitted:.0e} ×"
        left.annotate(told, (bound, row), (6, -3), textcoords="offset points", fontsize=7, color=RED)
        steps = own["practised step size"], own["step size of the theorem"]
        right.plot(steps, [row, row], color=GREY, lw=0.8)
        for value, colour, marker in zip(steps, (GREEN, ORANGE), "os", strict=True):
            right.plot(value, row, marker, color=colour)
        right.annotate(
            f"{steps[0] / steps[1]:.0f} ×", (float(np.sqrt(steps[0] * steps[1])), row), (0, 4),
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
        f"{CLIENTS} clients, {ROUNDS} rounds of {STEPS} local steps, one seed.  {fails}",
        fontsize=9.5,
    )
    return Drawn(figure, data)


PICTURES = [
    Picture(
        "theory_beside_networks",
        "Red diamonds: the bounds with estimated constants. Orange squares: the measured value of a run at the theorem's "
        "step size. The number beside a diamond is the factor between the two.",
        draw,
        study=lambda: STUDY,
    )
]
