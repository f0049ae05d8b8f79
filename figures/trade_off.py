"""The constants of a sharpened theorem against its largest step size: `fedtheory sharpen --trade-off`, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pandas as pd
from matplotlib.ticker import NullLocator

from bounds.sharpening import Answer
from figures.gallery import GREY, Drawn, canvas
from figures.styles import term_colours


def draw(panels: Sequence[Sequence[Answer]]) -> Drawn:
    """How many times smaller each term is than in the theorem that is sharpened; one panel for each theorem."""
    figure, axes = canvas(1, len(panels), width=5.4, height=3.4, sharey=True)
    rows = []
    colours = term_colours(list(dict.fromkeys(row.term for answers in panels for a in answers for row in a.rows)))
    for axis, answers in zip(axes[0], panels, strict=True):
        of = answers[0].sharpens
        spans = [float(a.span) for a in answers]
        for term in dict.fromkeys(row.term for a in answers for row in a.rows):
            own = [(float(a.span), r.over[of]) for a in answers for r in a.rows if r.term == term and of in r.over]
            axis.plot(*zip(*own, strict=True), "o-", ms=4, lw=1.2, color=colours[term], label=term)
            rows += [{"theorem": of, "term": term, "span": span, "times_smaller": ratio} for span, ratio in own]
        axis.axhline(1, color=GREY, lw=0.8)
        axis.axvline(1, color=GREY, lw=0.8, ls=":")
        axis.set(xscale="log", yscale="log", xlabel="largest step size / printed largest step size")
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xticks(spans, [str(Fraction(span).limit_denominator(1000)) for span in spans])
        axis.set_title(of, fontsize=9)
    axes[0, 0].set_ylabel("printed term / ours")
    handles = {label: h for axis in axes[0] for h, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
    figure.suptitle("Sharpened for a range of step sizes; every point is proved")
    return Drawn(figure, pd.DataFrame(rows))
