"""Every figure: labelled axes, finite data, bound and run on one axis, files whole."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from figures import gallery
from figures.sfl import ROUNDS, best_runs, group
from theory import catalogue

PICTURES = gallery.pictures()
LONG = {"sfl_slopes_in_R_K_M"}


@pytest.mark.parametrize(
    "picture",
    [pytest.param(p, marks=pytest.mark.slow if p.name in LONG else ()) for p in PICTURES],
    ids=lambda p: p.name,
)
def test_figure(picture, tmp_path) -> None:
    png, svg, csv = gallery.save(picture, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(p.name for p in (png, svg, csv))  # nothing half-written
    pixels = imread(io.BytesIO(png.read_bytes()))
    assert pixels.shape[0] > 200 and pixels.shape[1] > 400 and pixels.std() > 0.01
    assert svg.read_text().rstrip().endswith("</svg>")
    data = pd.read_csv(csv)
    assert len(data) and np.isfinite(data.select_dtypes("number").to_numpy()).all()


@pytest.mark.parametrize("picture", [p for p in PICTURES if p.name not in LONG], ids=lambda p: p.name)
def test_axes_are_labelled(picture) -> None:
    canvas = picture.draw(False).canvas
    assert canvas.get_suptitle()
    grid = [a for a in canvas.axes if a.get_subplotspec() is not None]
    for axis in grid:
        spec = axis.get_subplotspec()
        if spec.is_last_row():
            assert axis.get_xlabel(), "no label below the last row"
        if spec.is_first_col():
            assert axis.get_ylabel(), "no label left of the first column"


def test_bound_and_run_share_an_axis_with_uncertainty() -> None:
    (picture,) = [p for p in PICTURES if p.name == "sfl_eq54_bound_against_run"]
    drawn = picture.draw(False)
    above = drawn.canvas.axes[0]
    labels = [line.get_label() for line in above.get_lines()]
    assert "bound (sum)" in labels and any(str(label).startswith("measured") for label in labels)
    assert above.collections, "no confidence band"
    assert (drawn.data.low <= drawn.data["mean"]).all() and (drawn.data["mean"] <= drawn.data.high).all()
    terms = [c for c in drawn.data.columns if c not in ("arena", "eta_tilde", "R", "mean", "low", "high", "bound")]
    np.testing.assert_allclose(drawn.data[terms].sum(axis=1), drawn.data.bound, rtol=1e-9)


def test_groups_are_read_from_the_statements() -> None:
    problem = group("sfl.quad.table2.g3")
    np.testing.assert_allclose(problem.H[:, 0, 0], [4 / 3, 2 / 3])
    np.testing.assert_allclose(problem.b[:, 0], [1, -1])


def test_best_step_size_is_the_best_of_the_grid() -> None:
    """Group 2, PFL: deterministic, |1 - eta|^K per round, so every large step size reaches zero; the fastest wins."""
    eta, distance = best_runs("sfl.quad.table2.g2", 10, "PFL")
    assert eta == 0.6
    assert distance.sizes["round"] < ROUNDS and distance.isel(round=-1).max() < 1e-4


def test_unknown_figure_names_the_nearest() -> None:
    with pytest.raises(catalogue.UnknownName, match="did you mean sfl_slopes_in_R_K_M"):
        gallery.find("sfl_slopes")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    target = tmp_path / "x.csv"
    gallery.write(target, b"old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        gallery.write(target, b"new")
    assert target.read_bytes() == b"old"
