"""The figure of `fedtheory compare --plot`: bounds along one symbol, and the step sizes at which they are smallest."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedtheory.bounds.comparison import Along
from fedtheory.figures.gallery import FigureData, canvas
from fedtheory.figures.styles import CURVES

_STYLES = ("-", "--", "-.", ":")


def draw(found: Along, title: str) -> FigureData:
    """The bounds above, the chosen step sizes below; where a bound has no value, none of its step sizes is admissible."""
    figure, axes = canvas(2 if found.steps else 1, 1, width=5.6, height=2.6, sharex=True)
    rows = []
    for i, (id_, values) in enumerate(found.values.items()):
        style = {"color": CURVES[i % 8], "ls": _STYLES[i // 8 % 4], "label": id_}
        axes[0, 0].plot(found.points, values, **style)
        steps = found.steps.get(id_, np.full(len(values), np.nan))
        if id_ in found.steps:
            axes[1, 0].plot(found.points, steps, **style)
        for x, value, step in zip(found.points, values, steps, strict=True):
            rows.append({"bound": id_, found.name: x, "value": value, "step_size": step})
    for axis, drawn in zip(axes[:, 0], (found.values, found.steps), strict=False):
        positive = any((np.asarray(values) > 0).any() for values in drawn.values())
        axis.set(xscale="log", yscale="log" if positive else "linear")  # a bound can be 0 everywhere
    axes[0, 0].set_ylabel("bound")
    if found.steps:
        axes[1, 0].set_ylabel("its best step size")
    axes[-1, 0].set_xlabel("rounds R" if found.name == "R" else found.name)
    axes[0, 0].legend()
    figure.suptitle(title, fontsize=9)
    return FigureData(figure, pd.DataFrame(rows))
