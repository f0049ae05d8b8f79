"""Maps of the winner: which methods have the smallest expected gap, and whether the bounds put one of them first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.patches import Patch

from fedtheory.bounds.winners import BUDGETS, KAPPAS, MAPS, METHODS, STUDIES, cells
from fedtheory.figures.gallery import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, FigureData, Picture, canvas

_AXES = {
    "zeta": r"heterogeneity at the optimum $\zeta_*$",
    "sigma": r"noise $\sigma$",
    "delta": r"heterogeneity of curvature $\delta$",
    "K": "local steps $K$",
}
TIE = 1.05  # methods whose gap is at most this factor above the smallest one tie
_LETTERS = dict(zip(METHODS, "SPMGBCT", strict=True))
_COLOURS = dict(zip(METHODS, (RED, BLUE, GREEN, ORANGE, GREY, SKY, PURPLE), strict=True))


def _rows(which: str) -> Iterator[dict[str, Any]]:
    """For each cell and budget every method's gap and bound."""
    for point, cell in cells(which).items():
        numbers = STUDIES[which].numbers[point]
        for (i, budget), name in product(enumerate(BUDGETS), METHODS):
            gap, bound = (numbers[f"{name}: {what}"][i] for what in ("gap", "bound"))
            yield {**cell, "budget": str(budget), "method": name, "gap": gap, "bound": bound}


def winners(table: pd.DataFrame, value: str = "gap") -> list[str]:
    """The methods of a cell whose value is at most `TIE` times the smallest one, the best first; none without values."""
    values = table.set_index("method")[value].dropna().sort_values()
    return [str(name) for name in values.index[values <= TIE * values.min()]]


def draw(which: str, full: bool = False) -> FigureData:
    """A map for each budget and condition number: in a cell the letters of the methods that win it."""
    data = pd.DataFrame(_rows(which))
    (x, xs), (y, ys) = MAPS[which].items()
    figure, axes = canvas(len(BUDGETS), len(KAPPAS), width=4.1, height=2.3, sharex=True, sharey=True)
    ties = right = total = 0
    present: set[str] = set()
    for (i, budget), (j, kappa) in product(enumerate(BUDGETS), enumerate(KAPPAS)):
        axis = axes[i, j]
        own = data[(data.budget == str(budget)) & (data.kappa == kappa)]
        for (a, b), table in own.groupby([x, y]):
            column, row, best = xs.index(a), ys.index(b), winners(table)
            agrees = not set(winners(table, "bound")[:1]).isdisjoint(best)
            total, ties, right, present = total + 1, ties + (len(best) > 1), right + agrees, present | set(best)
            for k, name in enumerate(sorted(best, key=list(METHODS).index)):  # a stripe for each
                edges = column - 0.48 + 0.96 * k / len(best), column - 0.48 + 0.96 * (k + 1) / len(best)
                axis.fill_between(edges, row - 0.48, row + 0.48, color=_COLOURS[name], alpha=0.4, lw=0)
                axis.text(sum(edges) / 2, row - 0.06, _LETTERS[name], ha="center", va="center", fontsize=9)
            if agrees:
                axis.plot([column - 0.4], [row + 0.34], "o", ms=3.5, color=BLACK)
        axis.set(xlim=(-0.5, len(xs) - 0.5), ylim=(-0.5, len(ys) - 0.5))
        axis.set_xticks(range(len(xs)), [f"{v:g}" for v in xs])
        axis.set_yticks(range(len(ys)), [f"{v:g}" for v in ys])
        axis.grid(False)
        axis.set_title(rf"{budget}, $\kappa$ = {kappa:g}", fontsize=9)
        if i == len(BUDGETS) - 1:
            axis.set_xlabel(_AXES[x])
        if j == 0:
            axis.set_ylabel(_AXES[y])
    names = [name for name in METHODS if name in present]
    patches = [Patch(color=_COLOURS[name], alpha=0.4, lw=0) for name in names]
    labels = [f"{_LETTERS[name]}  {name}" for name in names]
    figure.legend(patches, labels, loc="outside lower center", ncols=4)
    figure.suptitle(
        f"Which method has the smallest gap, each at its best step size? In {ties} of {total} cells several are within "
        f"{100 * (TIE - 1):.0f} %.\nThe bounds name one of the best methods in {right} of {total} cells (dots).",
        fontsize=9.5,
    )
    return FigureData(figure, data)


PICTURES = [
    Picture(
        f"who_wins_{which}",
        f"The letters of a cell are the methods that are best or within {100 * (TIE - 1):.0f} % of the best. A dot says "
        f"that the method with the smallest bound is one of them. The axes are {axes}.",
        partial(draw, which),
        study=partial(STUDIES.__getitem__, which),
    )
    for which, axes in (
        ("noise", "heterogeneity at the optimum and noise"),
        ("curvature", "heterogeneity of curvature and local steps"),
    )
]
