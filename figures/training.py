"""Figures of trainings: accuracy and loss against rounds and bits, and the gradient norm that the theorems bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from fedtheory.figures.gallery import GREY, FigureData, canvas, count_axis
from fedtheory.figures.runs import CUT, in_sight, until_above
from fedtheory.figures.styles import CURVES

_STYLES = ("-", "--", ":", "-.")
_LABELS = {
    "accuracy": "test accuracy (%)",
    "value": "training loss $F(x_r)$",
    "test_value": "test loss",
    "mean_grad_sq": r"$\|\nabla F(x_r)\|^2$, mean of" "\nmeasured rounds so far",
}
_UNITS = {"kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12}


def averaged(rows: pd.DataFrame) -> pd.DataFrame:
    """A history with `mean_grad_sq`: for each seed the mean of ||grad F||^2 over the measured rounds so far."""
    if "grad_sq" not in rows:
        return rows
    running = rows.groupby("seed")["grad_sq"].transform(lambda values: values.expanding().mean())
    return rows.assign(mean_grad_sq=running.where(rows["grad_sq"].notna()))


def over_seeds(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Mean, least and largest of a measured quantity over the seeds that have not diverged, by round."""
    ran = rows[rows["status"] == "ran"]
    grouped = ran.groupby("round")
    found = grouped[name].agg(["mean", "min", "max", "count"]).reset_index()
    return found.assign(bits_up=grouped["bits_up"].first().to_numpy())


def curves(histories: Mapping[str, pd.DataFrame], title: str) -> FigureData:
    """All trainings, by label: one row of axes for each measured quantity, against rounds and, if they differ, against bits.

    Lines are means over the seeds, bands run from the least to the largest.  A line ends where its first seed diverged.
    The gradient norm has double logarithmic axes and a line of slope -1/2 beside it: the theorems for non-convex
    functions prove that its mean falls like 1/sqrt(R) or faster.  Only slopes can be compared: the theorems' constants
    depend on the L, sigma and zeta of the loss, which are unknown for a network.
    """
    histories = {label: averaged(rows) for label, rows in histories.items()}
    measured = [name for name in _LABELS if all(name in rows for rows in histories.values())]
    most = max(float(rows["bits_up"].max()) for rows in histories.values())
    unit = next((name for name, size in reversed(_UNITS.items()) if most >= size), "kbit")
    labels = {"round": "round", "bits_up": f"sent by all clients together ({unit})"}
    moved = pd.concat(histories.values()).query("round > 0")
    each = moved["bits_up"] / moved["round"]
    if len(each) and np.allclose(each, each.iloc[0]):  # a second column would be the first one
        labels = {"round": f"round, in which all clients together send {each.iloc[0] / _UNITS[unit]:.3g} {unit}"}
    figure, axes = canvas(len(measured), len(labels), width=5.6 if len(labels) == 1 else 4.2, height=2.7)
    looks = _looks(list(histories))
    drawn = []
    for row, name in zip(axes, measured, strict=True):
        for axis, along in zip(row, labels, strict=True):
            for label, rows in histories.items():
                of = over_seeds(rows, name)
                of = of[of["count"] == of["count"].max()]
                scale = 100 if name == "accuracy" else 1
                logarithmic = name == "mean_grad_sq"
                if name != "accuracy" and len(of) and (start := float(of["max"].iloc[0])) > 0:
                    of = of[until_above(of["max"].to_numpy(), CUT * start)]
                of = of[of["round"] > 0] if logarithmic else of
                x = of[along] / (_UNITS[unit] if along == "bits_up" else 1)
                mean, low, high = (scale * of[c] for c in ("mean", "min", "max"))
                look = looks[label]
                axis.plot(x, mean, label=label, **look)
                axis.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0)
                drawn.append(
                    of.assign(label=label, quantity=name, along=along)[
                        ["label", "quantity", "along", along, "mean", "min", "max", "count"]
                    ].rename(columns={along: "x"})
                )
            if name in ("value", "test_value"):
                means = [np.asarray(line.get_ydata(), dtype=float) for line in axis.get_lines()]
                if starts := [own[0] for own in means if len(own)]:
                    in_sight(axis, max(starts), np.concatenate(means))
            if name == "mean_grad_sq":
                _with_slope(axis)
            elif along == "round":
                axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            axis.set_xlabel(labels[along])
            axis.set_ylabel(_LABELS[name])
    seeds = sorted({int(rows["seed"].nunique()) for rows in histories.values()})
    many = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
    spread = f"mean of {many} seeds, band from least to largest" if seeds[-1] > 1 else "one seed"
    lines = [fill(line, 110) for line in (*title.splitlines(), spread)]
    figure.suptitle("\n".join(lines), fontsize=10)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(4, len(names)), fontsize=8)
    return FigureData(figure, pd.concat(drawn, ignore_index=True))


def _looks(labels: Sequence[str]) -> dict[str, dict[str, str]]:
    """Colour and dashes of each label: of "SFL, eta=0.1" a colour of the method and dashes of the rest, if both repeat."""
    methods, rests = (list(dict.fromkeys(label.partition(", ")[i] for label in labels)) for i in (0, 2))
    if 1 < len(methods) < len(labels) and len(rests) <= len(_STYLES):
        places = [(methods.index(m), rests.index(r)) for m, _, r in (label.partition(", ") for label in labels)]
    else:
        places = [(i, i // len(CURVES)) for i in range(len(labels))]
    return {
        label: {"color": CURVES[i % len(CURVES)], "linestyle": _STYLES[j % len(_STYLES)]}
        for label, (i, j) in zip(labels, places, strict=True)
    }


def _with_slope(axis: Any) -> None:
    """Set logarithmic scales; draw a line of slope -1/2 from the smallest x and the largest y."""
    axis.set_xscale("log")
    axis.set_yscale("log")
    points = np.concatenate([np.asarray(line.get_xydata(), dtype=float).reshape(-1, 2) for line in axis.get_lines()])
    if not len(points):
        return
    x = np.array([points[:, 0].min(), points[:, 0].max()])
    y = points[:, 1].max() * (x / x[0]) ** -0.5
    (line,) = axis.plot(x, y, color=GREY, linestyle="--", linewidth=1)
    axis.legend([line], ["slope −1/2"], loc="lower left")
    count_axis(axis.xaxis, x[1], x[0])
