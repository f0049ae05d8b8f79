"""The figure of `fedtheory confront --plot`: theorems and runs of several methods, a panel for each quantity."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import pandas as pd
import xarray as xr
from matplotlib.lines import Line2D

from fedtheory.bounds.trials.arena import step_symbol
from fedtheory.bounds.trials.theorems import Theorem
from fedtheory.figures.gallery import FigureData, canvas, count_axis
from fedtheory.figures.styles import CURVES

_LABELS = {"gap": "$F-F^*$", "squared gradient": r"$\|\nabla F\|^2$"}
_STEPS = {"eta_tilde": r"$\tilde\eta$", "eta": r"$\eta$", "eta_t": r"$\eta_0$"}
_DEEPEST, _ABOVE = 1e-12, 1e3  # of the largest bound: what is lower or higher is cut off
_NOTE = 130  # characters in a line

Shown = Sequence[tuple[str, str, Theorem, xr.Dataset]]  # method, quantity, theorem, its data over R
Best = Sequence[tuple[str, str, xr.DataArray, float]]  # method, recorded name, its series (seed, round), eta


def draw(shown: Shown, best: Best, title: str, notes: Sequence[str], data: pd.DataFrame) -> FigureData:
    """Bounds dashed, what they bound solid, the last iterate at a method's best step size dotted; a colour for a method."""
    methods = dict.fromkeys([*(method for method, *_ in shown), *(method for method, *_ in best)])
    colours = {method: CURVES[i % len(CURVES)] for i, method in enumerate(methods)}
    panels = [label for label in _LABELS if any(quantity == label for _, quantity, *_ in shown)]
    told = "\n".join(fill(note, _NOTE) for note in notes)
    lines = {p: 2 * sum(q == p for _, q, *_ in shown) + sum(_of(name) == p for _, name, *_ in best) for p in panels}
    below = 0.19 * max(lines.values()) + 0.13 * len(told.splitlines())  # inches, for the legend
    figure, axes = canvas(1, len(panels), width=4.8, height=3.0 + below)
    for axis, panel in zip(axes[0], panels, strict=True):
        own = [(method, theorem, of) for method, quantity, theorem, of in shown if quantity == panel]
        top = max(float(of.bound.max()) for _, _, of in own)
        floor, ceiling = top * _DEEPEST, top * _ABOVE
        unseen = floor / 1000  # below the panel
        lowest = []
        for method, theorem, of in own:
            R, name = of.R.values, step_symbol(theorem.statement)
            step = f"{_STEPS[name]} = {theorem.step:.3g}"
            label = f"{method}: bound of {theorem.statement.id}, {step}"
            axis.plot(R, of.bound, color=colours[method], ls=(0, (5, 2)), lw=1.8, label=label)
            label = f"{method}: {theorem.concept}"
            mean, low, high = (of[part].clip(unseen, ceiling) for part in ("mean", "low", "high"))
            axis.plot(R, mean, color=colours[method], ls="-", label=label)
            axis.fill_between(R, low, high, color=colours[method], alpha=0.2, lw=0)
            lowest += [float(of["mean"].min()), float(of.bound.min())]
        for method, recorded, series, eta in best:
            if _of(recorded) == panel:
                label = f"{method}: last iterate, best $\\eta$ = {eta:.3g}"
                mean = series.mean("seed").isel(round=slice(1, None)).clip(unseen, ceiling)
                axis.plot(mean["round"], mean, color=colours[method], ls=":", lw=1.6, label=label)
                lowest.append(float(mean.min()))
        axis.set(xscale="log", yscale="log", xlabel="rounds R", ylabel=_LABELS[panel])
        axis.set_ylim(max(min(lowest), floor) / 2, None)
        count_axis(axis.xaxis, max(float(of.R.max()) for *_, of in own), 1.0)
    figure.suptitle(title, fontsize=9)
    columns = [a.get_legend_handles_labels() for a in axes[0]]
    rows = max(lines.values())
    blank = Line2D([], [], ls="")  # so that each panel has a column of the legend
    handles = [h for own, _ in columns for h in [*own, *[blank] * (rows - len(own))]]
    names = [n for _, own in columns for n in [*own, *[""] * (rows - len(own))]]
    figure.legend(
        handles,
        names,
        loc="outside lower center",
        ncols=len(panels),
        title=told or None,
        title_fontsize=6.5,
        alignment="left",
    )
    return FigureData(figure, data)


def _of(recorded: str) -> str:
    """The panel of a recorded quantity."""
    return "squared gradient" if "grad" in recorded else "gap"
