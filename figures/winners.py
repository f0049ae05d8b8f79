"""Maps of the winner: which method has the smallest expected gap, and which method the bounds put first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from fedtheory.bounds.winners import BUDGETS, KAPPAS, MAPS, METHODS, STUDIES, cells
from fedtheory.figures.gallery import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, Drawn, Picture, canvas

_AXES = {
    "zeta": r"heterogeneity at the optimum $\zeta_*$",
    "sigma": r"noise $\sigma$",
    "delta": r"heterogeneity of curvature $\delta$",
    "K": "local steps $K$",
}
_MARGINS, _SHADES = (1.05, 1.5), (0.25, 0.5, 0.85)  # up to each margin a paler shade
_COLOURS = dict(zip(METHODS, (RED, BLUE, GREEN, ORANGE, GREY, SKY, PURPLE), strict=True))


def _rows(which: str) -> Iterator[dict[str, Any]]:
    """For each cell and budget every method's gap and bound."""
    for point, cell in cells(which).items():
        numbers = STUDIES[which].numbers[point]
        for (i, budget), name in product(enumerate(BUDGETS), METHODS):
            gap, bound = (numbers[f"{name}: {what}"][i] for what in ("gap", "bound"))
            yield {**cell, "budget": str(budget), "method": name, "gap": gap, "bound": bound}


def first(table: pd.DataFrame, value: str) -> tuple[str, float] | None:
    """The method with the smallest value, and the factor to the next; None where there are no values."""
    found = table.set_index("method")[value].dropna().sort_values()
    return (
        None
        if found.empty
        else (str(found.index[0]), float(found.iloc[1] / found.iloc[0]) if len(found) > 1 else np.inf)
    )


def _near(table: pd.DataFrame, name: str) -> bool:
    """Whether the gap of a method is at most 1.1 times the smallest one."""
    gaps = table.set_index("method").gap
    return bool(gaps[name] <= 1.1 * gaps.min())


def draw(which: str, full: bool = False) -> Drawn:
    """Four budgets by two condition numbers; for each a map of the measured winners, and of the predicted ones."""
    data = pd.DataFrame(_rows(which))
    (x, xs), (y, ys) = MAPS[which].items()
    figure, axes = canvas(len(BUDGETS), 2 * len(KAPPAS), width=2.3, height=2.1, sharex=True, sharey=True)
    near = spoken = cells = 0
    for (i, budget), (j, kappa) in product(enumerate(BUDGETS), enumerate(KAPPAS)):
        own = data[(data.budget == str(budget)) & (data.kappa == kappa)]
        winners = {cell: [first(table, value) for value in ("gap", "bound")] for cell, table in own.groupby([x, y])}
        cells += len(winners)
        spoken += sum(bound is not None for _, bound in winners.values())
        near += sum(bound is not None and _near(own[(own[x] == a) & (own[y] == b)], bound[0])
                    for (a, b), (_, bound) in winners.items())  # fmt: skip
        for k, title in enumerate(("measured", "predicted by the bounds")):
            axis = axes[i, 2 * j + k]
            for (a, b), pair in winners.items():
                column, row = xs.index(a), ys.index(b)
                if (found := pair[k]) is None:
                    axis.text(column, row, "–", ha="center", va="center", color=GREY)
                    continue
                name, margin = found
                axis.fill_between([column - 0.48, column + 0.48], row - 0.48, row + 0.48, color=_COLOURS[name],
                                  alpha=_SHADES[np.searchsorted(_MARGINS, margin)], lw=0)  # fmt: skip
                told = "only" if margin == np.inf else f"{margin:.2f}" if margin < 10 else f"{margin:.0f}"
                axis.text(column, row, told, ha="center", va="center", fontsize=6)
            axis.set(xlim=(-0.5, len(xs) - 0.5), ylim=(-0.5, len(ys) - 0.5))
            axis.set_xticks(range(len(xs)), [f"{v:g}" for v in xs], fontsize=7)
            axis.set_yticks(range(len(ys)), [f"{v:g}" for v in ys], fontsize=7)
            axis.grid(False)
            if i == 0:
                axis.set_title(rf"$\kappa$ = {kappa:g}, {title}", fontsize=8.5)
            if i == len(BUDGETS) - 1:
                axis.set_xlabel(_AXES[x], fontsize=7.5)
        axes[i, 0].set_ylabel(f"{budget}\n{_AXES[y]}", fontsize=7.5)
    patches = [Patch(color=colour, alpha=_SHADES[-1], lw=0) for colour in _COLOURS.values()]
    figure.legend(patches, _COLOURS, loc="outside lower center", ncols=len(METHODS), fontsize=7.5)
    figure.suptitle(
        "The method with the smallest gap at its own best step size; in a cell the factor to the next one.\n"
        f"Bounds speak in {spoken} of {cells}; the method that they name is within 10 % of the smallest gap in {near}.",
        fontsize=9.5,
    )
    return Drawn(figure, data)


PICTURES = [
    Picture(
        "who_wins_noise",
        "Compare each measured map with the map on its right, which the bounds predict. The axes are heterogeneity at the "
        "optimum and noise.",
        partial(draw, "noise"),
        study=lambda: STUDIES["noise"],
    ),
    Picture(
        "who_wins_curvature",
        "Compare each measured map with the map on its right, which the bounds predict. The axes are heterogeneity of "
        "curvature and local steps.",
        partial(draw, "curvature"),
        study=lambda: STUDIES["curvature"],
    ),
]
