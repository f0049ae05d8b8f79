"""One look for one role, in every figure: bounds, what is measured, the terms of a bound, what runs away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex

from fedtheory.figures.gallery import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, YELLOW
from fedtheory.simulations.problems import Array

# The keyword arguments of `plot` for a role.  Colour and dashes both tell, so that a grey print can be read too.
PRINTED: dict[str, Any] = {"color": BLACK, "ls": "-", "lw": 2.2}
CORRECTED: dict[str, Any] = {"color": BLUE, "ls": (0, (6, 1.5, 1.2, 1.5)), "lw": 2.2}
SHARPER: dict[str, Any] = {"color": PURPLE, "ls": (0, (8, 1.5)), "lw": 2.2}
MEASURED: dict[str, Any] = {"color": RED, "ls": "-", "lw": 1.4}
MEASURED_CORRECTED: dict[str, Any] = {"color": BLUE, "ls": ":", "lw": 1.8}  # where the two forms measure two quantities
LEAST: dict[str, Any] = {"color": GREY, "ls": (0, (1, 1)), "lw": 2.0}  # what no bound, or no run, can be below
INTERVAL: dict[str, Any] = {"color": RED, "alpha": 0.25, "lw": 0}  # of `fill_between`
BOUNDS = {"printed": PRINTED, "corrected": CORRECTED, "sharper": SHARPER}  # by `Statement.form`

CURVES = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK, GREY)  # side by side, in this order

# The terms of the theorems.  No colour of a bound or of a measurement is among them.
_INDIGO, _BROWN, _SAND, _TEAL, _VIOLET, _MAROON = "#332288", "#8b5e3c", "#DDCC77", "#01665E", "#5f5fff", "#5a1a1a"
_TERMS = {
    "optimisation": SKY,
    "start": SKY,
    "noise": GREEN,
    "heterogeneity": ORANGE,
    "lag": ORANGE,
    "divergence": ORANGE,
    "drift": _BROWN,
    "noise_drift": _BROWN,
    "sampling": _INDIGO,
    "compression": _TEAL,
    "gradient_at_start": _VIOLET,
    "noise_of_moves": YELLOW,
    "regularisation": _VIOLET,
}
_FREE = (_INDIGO, _TEAL, _VIOLET, _SAND, _MAROON, YELLOW, _BROWN, SKY, GREEN, ORANGE)  # in this order
TERM: dict[str, Any] = {"ls": (0, (3, 2)), "lw": 1.2}


def ordered(number: int, palette: str = "viridis") -> tuple[str, ...]:
    """Colours of ordered values, from dark to light; `palette` is one of matplotlib's names."""
    return tuple(to_hex(colormaps[palette](place)) for place in np.linspace(0, 0.85, number))


MOST_CURVES = 8  # in a panel; a band belongs to its line
MOST_DECADES = 12  # on a logarithmic axis


def term_colours(names: Sequence[str]) -> dict[str, str]:
    """The colours of a bound's terms, by their names, in the order of the names; no two are alike.

    A term that many theorems have, such as "noise", always has the same colour.  Any other one gets the first colour that
    is free.  Colour-blind readers can distinguish them.  Raises ValueError for more names than there are colours.
    """
    if len(names) > len(_FREE):
        raise ValueError(f"{len(names)} terms, expected no more than there are colours for: {len(_FREE)}")
    found: dict[str, str] = {}
    for name in names:
        if (colour := _TERMS.get(name)) and colour not in found.values():
            found[name] = colour
    left: Iterator[str] = (c for c in _FREE if c not in found.values())
    return {name: found.get(name) or next(left) for name in names}


def runs_off(axis: Any, x: Array, y: Array, colour: str, name: str = "diverges", height: float = 0.97) -> None:
    """Mark where a curve leaves a panel for good: an arrow at the edge, and at the top a word and how far it goes.

    Nothing is drawn for a curve that ends in the panel.  The scales and limits of the axes must be set before.  `height` is
    that of the word, from 0 to 1.
    """
    (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
    axis.set_xlim(left, right)  # the mark must not change them
    there = np.isfinite(y)
    x, y = x[there], y[there]
    inside = np.flatnonzero((y >= low) & (y <= high))
    if not len(inside) or inside[-1] == len(y) - 1:
        return
    last = slice(inside[-1], inside[-1] + 2)
    up = bool(y[last][1] > high)
    along, across = axis.xaxis.get_transform(), axis.yaxis.get_transform()
    (a, b), (c, d) = along.transform(x[last]), across.transform(y[last])
    edge = float(across.transform(high if up else low))
    crossed = a + (edge - c) / (d - c) * (b - a)
    start, end = along.transform(np.array([left, right]))
    share = float((crossed - start) / (end - start))  # of the panel's width
    axis.plot([share], [0.97 if up else 0.03], marker="^" if up else "v", ms=7, color=colour, label="_mark",
              transform=axis.transAxes, clip_on=False, zorder=6)  # fmt: skip
    if up and name:
        told = f"{name}\n" + rf"($10^{{{np.log10(y[-1]):.0f}}}$ at the end)"
        aside = {"xytext": (7, 0), "ha": "left"} if share < 0.4 else {"xytext": (-7, 0), "ha": "right"}
        axis.annotate(told, (share, height), xycoords="axes fraction", textcoords="offset points", va="top", fontsize=7,
                      color=colour, **aside)  # fmt: skip


def mark_all(axis: Any, name: str = "diverges") -> None:
    """`runs_off` for every line of a panel that leaves it at the top; their words are below each other."""
    height = 0.97
    for line in list(axis.get_lines()):
        x, y = np.asarray(line.get_xydata(), dtype=float).T
        if y[np.isfinite(y)][-1] > axis.get_ylim()[1]:
            runs_off(axis, x, y, str(line.get_color()), name, height)
            height -= 0.15
