"""The constants of a sharpened theorem against its largest step size: `fedtheory sharpen --trade-off`, and the report."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import sympy
from matplotlib.ticker import NullLocator

from fedtheory.figures.gallery import GREY, FigureData, canvas
from fedtheory.figures.styles import term_colours


def draw(panels: Mapping[str, Mapping[sympy.Rational, Mapping[str, float]]]) -> FigureData:
    """How many times smaller each term is; a panel for each theorem: span of step sizes -> term -> factor."""
    figure, axes = canvas(1, len(panels), width=5.4, height=3.4, sharey=True)
    rows = []
    colours = term_colours(list(dict.fromkeys(term for own in panels.values() for one in own.values() for term in one)))
    for axis, (theorem, own) in zip(axes[0], panels.items(), strict=True):
        for term in dict.fromkeys(term for factors in own.values() for term in factors):
            points = [(float(span), factors[term]) for span, factors in own.items() if term in factors]
            axis.plot(*zip(*points, strict=True), "o-", ms=4, lw=1.2, color=colours[term], label=term.replace("_", " "))
            rows += [{"theorem": theorem, "term": term, "span": span, "times_smaller": ratio} for span, ratio in points]
        axis.axhline(1, color=GREY, lw=0.8)
        axis.axvline(1, color=GREY, lw=0.8, ls=":")
        axis.set(xscale="log", yscale="log", xlabel="largest step size / printed largest step size")
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xticks(list(map(float, own)), list(map(str, own)))
        axis.set_title(theorem, fontsize=9)
    axes[0, 0].set_ylabel("printed term / ours")
    handles = {label: h for axis in axes[0] for h, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
    figure.suptitle(
        f"{next(iter(panels)).partition('.')[0]}: sharpened for a range of step sizes; every point is proved"
    )
    return FigureData(figure, pd.DataFrame(rows))
