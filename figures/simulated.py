"""The figure of `fedtheory simulate --plot`: algorithms side by side, against rounds and against bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from fedtheory.figures.gallery import FigureData, canvas
from fedtheory.figures.runs import BAND, CUT, ROUNDING, Rows, curve, in_sight, until_above
from fedtheory.figures.styles import CURVES

_STYLES = ("-", "--", ":", "-.")
_APART = 5.0  # times the bits of another algorithm: then only a logarithmic axis shows both
_LABELS = {"gap": r"$F(x_r)-F^*$", "value": "$F(x_r)$"}


@dataclass(frozen=True)
class Curve:
    """An algorithm at one step size: its name, its run over (seed, round), and the bits that all clients send in a round."""

    label: str
    run: xr.Dataset
    bits: float


def draw(curves: Sequence[Curve], title: str, level: float = 0.0) -> FigureData:
    """The gap to the minimum (the value where no minimum is known) over rounds, and over the bits that clients have sent.

    A curve ends where a seed diverges, or leaves the panel.

    level  gaps up to it are rounding, and are drawn at the lower edge, as a gap of 0 is
    """
    name = "gap" if all("gap" in c.run for c in curves) else "value"
    seeds = curves[0].run.sizes["seed"]
    figure, axes = canvas(1, 2, width=4.2, height=3.0, sharey=True)
    tops = [_top(c.run, name) for c in curves]
    floor = -np.inf if name == "value" else level or ROUNDING * max(tops) / CUT or ROUNDING
    series = [c.run[name].isel(round=_inside(c.run[name], top)) for c, top in zip(curves, tops, strict=True)]
    values = np.concatenate([one.values.ravel() for one in series])
    rows: Rows = []
    for axis, along in zip(axes[0], ("rounds", "bits"), strict=True):
        for i, (c, one, top) in enumerate(zip(curves, series, tops, strict=True)):
            x = one["round"].values * (1.0 if along == "rounds" else c.bits)
            style = {"color": CURVES[i % 8], "ls": _STYLES[i // 8 % 4], "label": c.label}
            style["marker"] = "o" if len(x) == 1 else ""  # one point makes no line
            rows += curve(axis, x, one, {"algorithm": c.label, "along": along}, floor, **style)
            for line in _remarks(c.run, one, floor, top) if along == "rounds" else ():
                axis.plot([], [], " ", label=line)
        sent = [one["round"].values[-1] * c.bits for c, one in zip(curves, series, strict=True)]
        if along == "bits" and max(sent) > _APART * min(sent) > 0:
            axis.set_xscale("log")
        axis.set_xlabel("rounds" if along == "rounds" else "bits sent by all clients together")
    if name == "gap":
        axes[0, 0].set_yscale("log")
        low, high = max(float(values.min()), floor), max(float(values.max()), floor)
        axes[0, 0].set_ylim(low / 2 if low > floor else floor, min(2 * high, max(*tops, 2 * floor)))
    else:
        in_sight(axes[0, 0], float(series[0].isel(round=0).max()), values)
    axes[0, 0].set_ylabel(_LABELS[name])
    figure.suptitle(f"{title}\n{BAND.format(seeds) if seeds > 1 else 'one seed'}", fontsize=9)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(3, len(names)))
    return FigureData(figure, pd.DataFrame(rows, columns=["algorithm", "along", "round", "x", "mean", "min", "max"]))


def _top(run: xr.Dataset, name: str) -> float:
    """Where a curve leaves the panel: at CUT times its start, or times what it soon becomes if that start is a minimum."""
    soon = run["round"].values <= (0 if (run.status == "diverged").any() else 0.05 * run["round"].values[-1] + 1)
    return CUT * float(np.abs(run[name].values[..., soon]).max())


def _inside(series: xr.DataArray, top: float) -> NDArray[np.bool_]:
    return until_above(series.transpose("seed", "round").values, top)


def _remarks(run: xr.Dataset, drawn: xr.DataArray, floor: float, top: float) -> Iterator[str]:
    """What the legend says of a curve: seeds that diverge, where it is cut, where all seeds are at the lower edge."""
    gone = int((run.status == "diverged").sum())
    if gone:
        yield f"{gone} of {run.sizes['seed']} seeds diverge"
    elif float(drawn.max()) > top:
        yield f"leaves the panel at {top:.2g}"
    low = (drawn <= floor).all("seed")
    if low.any():
        zero = "0" if bool((drawn.where(low, 0.0) == 0).all()) else f"at most {floor:.2g}, which is rounding,"
        rounds = drawn["round"].values[np.logical_and.accumulate(low.values[::-1])[::-1]]
        yield f"{zero} from round {int(rounds[0])} on" if len(rounds) else f"{zero} in {int(low.sum())} of the rounds"
