"""What every figure must be: drawn whole, labelled, with finite data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.image import imread

from figures import gallery

Saved = tuple[gallery.Drawn, Path, Path, Path]  # what was drawn, its PNG, SVG and CSV


def saved(name: str, folder: Path) -> Saved:
    """A figure, drawn once and written to an empty folder."""
    picture, kept = gallery.find(name), []
    copy = replace(picture, draw=lambda full: kept.append(picture.draw(full)) or kept[0])
    paths = gallery.save(copy, folder)
    assert sorted(p.name for p in folder.iterdir()) == sorted(p.name for p in paths)  # nothing half-written
    return kept[0], *paths


def is_well_drawn(what: gallery.Drawn, png: Path, svg: Path, csv: Path) -> None:
    pixels = imread(png)
    assert pixels.shape[0] > 200 and pixels.shape[1] > 400 and pixels.std() > 0.01
    assert svg.read_text().rstrip().endswith("</svg>")
    data = pd.read_csv(csv)
    assert len(data) and np.isfinite(data.select_dtypes("number").to_numpy()).all()
    is_labelled(what.canvas)


def is_labelled(canvas: Figure) -> None:
    assert canvas.get_suptitle()
    for axis in (a for a in canvas.axes if a.get_subplotspec() is not None):
        assert axis.has_data(), "an empty panel"
        spec = axis.get_subplotspec()
        assert spec is not None
        assert axis.get_xlabel() or not spec.is_last_row(), "no label below the last row"
        assert axis.get_ylabel() or not spec.is_first_col(), "no label left of the first column"
