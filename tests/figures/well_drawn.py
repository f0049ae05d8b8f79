"""What every figure must be: drawn whole, labelled, with finite data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.image import imread

from fedtheory.figures import gallery
from fedtheory.figures.styles import MOST_CURVES, MOST_DECADES

Saved = tuple[gallery.FigureData, Path, Path, Path]  # what was drawn, its PNG, SVG and CSV


def saved(name: str, folder: Path) -> Saved:
    """A figure, drawn once and written to an empty folder."""
    picture, kept = gallery.find(name), []
    copy = replace(picture, draw=lambda full: kept.append(picture.draw(full)) or kept[0])
    paths = gallery.save(copy, folder)
    assert sorted(p.name for p in folder.iterdir()) == sorted(p.name for p in paths)  # nothing half-written
    return kept[0], *paths


def is_well_drawn(what: gallery.FigureData, png: Path, svg: Path, csv: Path) -> None:
    pixels = imread(png)
    assert pixels.shape[0] > 200 and pixels.shape[1] > 400 and pixels.std() > 0.01
    assert svg.read_text().rstrip().endswith("</svg>")
    data = pd.read_csv(csv)
    assert len(data) and np.isfinite(data.select_dtypes("number").to_numpy()).all()
    is_labelled(what.canvas)
    is_readable(what.canvas)


def is_labelled(canvas: Figure) -> None:
    assert canvas.get_suptitle()
    for axis in (a for a in canvas.axes if a.get_subplotspec() is not None):
        assert axis.has_data(), "an empty panel"
        spec = axis.get_subplotspec()
        assert spec is not None
        assert axis.get_xlabel() or not spec.is_last_row(), "no label below the last row"
        assert axis.get_ylabel() or not spec.is_first_col(), "no label left of the first column"


def is_readable(canvas: Figure) -> None:
    """No more curves in a panel than can be told apart, none that looks like another one, and no immense axis."""
    for axis in canvas.axes:
        curves = [line for line in axis.get_lines() if not str(line.get_label()).startswith("_")]
        assert len(curves) <= MOST_CURVES, f"{len(curves)} curves in '{axis.get_title()}'"
        looks = {
            (str(c.get_color()), str(c._unscaled_dash_pattern), c.get_marker())
            for c in curves  # a dash pattern has no public getter
        }
        assert len(looks) == len(curves), f"two curves look alike in '{axis.get_title()}'"
        for side in (axis.xaxis, axis.yaxis):
            if side.get_scale() == "log":
                low, high = side.get_view_interval()
                assert high <= low * 10.0 ** (MOST_DECADES + 0.01), (
                    f"from {low:.1g} to {high:.1g} in '{axis.get_title()}'"
                )


def has_legends(canvas: Figure) -> bool:
    """Whether each panel has a legend, or each column of panels, or the figure."""
    panels = [a for a in canvas.axes if a.get_subplotspec() is not None]
    told = {a.get_subplotspec().colspan.start for a in panels if a.get_legend()}
    return bool(canvas.legends) or told == {a.get_subplotspec().colspan.start for a in panels}
