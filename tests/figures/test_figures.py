"""Every figure: labelled axes, finite data, bound and run on one axis, files whole."""

from __future__ import annotations

import io
import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Canvas
from PIL import Image
from well_drawn import has_legends, is_labelled, is_well_drawn

from fedtheory.bounds.fedcom.arenas import ARENAS as FEDCOM
from fedtheory.figures import bound_against_run, fedbat, fedbcgd, fedcom, gallery, styles
from fedtheory.figures.fedbcgd import THEOREMS
from fedtheory.figures.sfl import ROUNDS, best_runs, exact_distance, group, worst_mean
from fedtheory.theory import catalogue

REPOSITORY = Path(__file__).parents[2]
NAMES = [p.name for p in gallery.pictures()]
QUICK = {
    "sfl_fig1_distance_on_quadratics",
    "sfl_fig7_distance_on_quadratics",
    "sfl_fig8_exdir_partitions",
    "sfl_lemma7_against_worst_sequence",
    "sfl_eq54_bound_against_run",
    "sfl_table1_as_an_experiment",
    "fedbat_bias_of_signs",
    "fedbcgd_printed_theorems_crossing",
    "fedbcgd_algorithm1_printed_and_corrected",
    "fedbcgd_algorithm3_printed_and_corrected",
    "fedbcgd_bounds_blocks",
    "fedcom_algorithms_printed_and_corrected",
}


@pytest.mark.dear
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in NAMES])
def test_figure(name: str, drawn) -> None:
    """Well drawn, no panel without a curve, and with the numbers that are committed."""
    if gallery.find(name).shown == "html":
        files = gallery.rendered(gallery.find(name))
        assert all((gallery.DRAWN / f"{name}.{ending}").read_bytes() == files[ending] for ending in ("html", "csv"))
        return
    what, *_, csv = drawn(name)
    is_well_drawn(*drawn(name))
    panels = [a for a in what.canvas.axes if a.get_subplotspec() is not None and a.axison]
    assert has_legends(what.canvas) or not panels or not name.startswith(("fedbat", "fedbcgd"))
    for axis in panels:
        (low, high), (left, right) = axis.get_ylim(), axis.get_xlim()
        inside = [
            ((y >= low) & (y <= high)).sum() > 3 and ((x >= left) & (x <= right)).sum() > 3
            for x, y in (np.array(line.get_data(), dtype=float) for line in axis.get_lines())
        ]
        assert any(inside) or not axis.get_lines(), "an empty panel"
    committed = pd.read_csv(REPOSITORY / f"figures/drawn/{name}.csv")
    pd.testing.assert_frame_equal(pd.read_csv(csv), committed, rtol=1e-6, atol=1e-12)


def test_every_theorem_has_a_picture_of_each_form() -> None:
    """And each picture is about statements of its paper; that of the best constants is about the whole paper."""
    forms = {f"fedcom.thm{t}{form}" for t in ("D4", "D7", "D9", "E4", "E6", "E9") for form in ("", ".corrected")}
    forms |= {f"fedcom.thm{t}.corrected.sharp" for t in ("D4", "D7")}
    forms |= {f"fedbat.thm{n}{form}" for n in (1, 2) for form in ("", ".from_start", ".from_start.sharp")}
    forms |= {f"fedbcgd.{theorem}.corrected" for theorem in THEOREMS}
    forms |= {f"fedbcgd.{theorem}.corrected.sharp" for theorem in THEOREMS if theorem.startswith("thm1")}
    papers = {"fedcom": fedcom, "fedbat": fedbat, "fedbcgd": fedbcgd}
    bounds = [p for paper in papers.values() for p in paper.FIGURES if p.name.endswith("_bound_against_run")]
    assert {s for p in bounds for s in p.statements} == forms
    for name, paper in papers.items():
        assert len({p.name for p in paper.FIGURES}) == len(paper.FIGURES)
        for picture in paper.FIGURES:
            assert picture.name.startswith(f"{name}_") and all(catalogue.find(s) for s in picture.statements)
            assert name == "fedcom" or bool(picture.statements) is not picture.name.endswith("_best_constants")


def test_a_png_in_few_colours_is_smaller_and_still_the_same() -> None:
    canvas = Canvas(figsize=(6, 4))
    axis = canvas.subplots()
    for colour in (gallery.ORANGE, gallery.BLUE, gallery.GREEN, gallery.RED):
        axis.plot(np.cos(np.linspace(0, 9, 200) + len(axis.lines)), color=colour, label=colour)
    axis.legend()
    whole = io.BytesIO()
    FigureCanvasAgg(canvas).print_png(whole)
    few = gallery._in_few_colours(whole, "made of this")
    assert len(few) < 0.6 * len(whole.getvalue())
    with Image.open(whole) as one, Image.open(io.BytesIO(few)) as two:
        a, b = (np.asarray(i.convert("RGB"), dtype=float) for i in (one, two))
        assert two.info["Source"] == "made of this"
    assert a.shape == b.shape and np.abs(a - b).mean() < 1.0  # of 255


@pytest.mark.parametrize("number", [42, 46, 54, 80])
def test_a_refuted_bound_is_crossed_and_its_correction_is_not(number: int, drawn) -> None:
    what = drawn(f"sfl_eq{number}_bound_against_run")[0]
    above = what.canvas.axes[0]
    labels = [line.get_label() for line in above.get_lines()]
    assert {"printed bound", "measured", "corrected bound"} <= set(labels)
    assert ("measured, corrected form" in labels) == (number == 42)  # the others average alike
    for axis in what.canvas.axes[: len(what.canvas.axes) // 2]:
        assert bool(axis.collections) == ("seeds" in axis.get_title()), "a band where there are seeds"
    data = what.data
    assert (data.low <= data["mean"]).all() and (data["mean"] <= data.high).all()
    terms = data.columns.difference(["statement", "arena", "eta_tilde", "R", "mean", "low", "high", "bound"])
    np.testing.assert_allclose(data[terms].sum(axis=1), data.bound, rtol=1e-9)
    printed, corrected = (data[data.statement == f"sfl.eq{number}{form}"] for form in ("", ".corrected"))
    first = printed[printed.arena == printed.arena.iloc[0]]
    assert (first.low == first.high).all(), "exact"
    assert (first["mean"] < first.bound).iloc[0] and (first["mean"] > first.bound).iloc[-1]
    assert (corrected.high < corrected.bound).all() and printed.arena.iloc[0] in set(corrected.arena)


@pytest.mark.parametrize(
    ("id_", "name"),
    [
        ("fedcom.thmD7", "equal quadratics, kappa 5, tau 1, gamma 1, q 0"),  # with the corrected one beside it
        ("fedcom.thmE4", "two quadratics, q 3"),  # refuted; other colours for its many terms
        ("fedcom.corE8", "quadratics, kappa 5, tau 5, gamma 5, q 1/4"),  # a step size that is fixed
    ],
)
def test_arenas_of_the_last_iterate_and_of_averages_are_drawn(id_: str, name: str) -> None:
    own = [a for a in FEDCOM if (a.statement, a.name) == (id_, name)]
    what = bound_against_run.draw(id_, own)
    is_labelled(what.canvas)
    above = what.canvas.axes[0]
    assert {"gap_last": "w^{(R)}", "avg_grad_sq": "frac{1}{R}"}[str(catalogue.find(id_).claim.quantity)] in (
        above.get_ylabel()
    )
    assert r"$\eta$ =" in above.get_title() and "tilde" not in above.get_title()
    assert ("corrected bound" in [line.get_label() for line in above.get_lines()]) == (id_ == "fedcom.thmD7")
    assert "eta" in what.data and np.isfinite(what.data.select_dtypes("number").to_numpy()).all()
    first = what.data[what.data.statement == id_]
    assert (first["mean"] > first.bound).iloc[-1] == (id_ == "fedcom.thmE4")


def test_what_diverges_is_drawn_as_far_as_it_goes() -> None:
    arena = next(a for a in FEDCOM if (a.statement, a.name) == ("fedcom.thmE6", "two quadratics, q 3"))
    data = bound_against_run.draw("fedcom.thmE6", [replace(arena, rounds=2000)]).data
    assert data.R.max() < 2000 and np.isfinite(data["mean"]).all()


def test_the_worst_sequence_is_worst() -> None:
    a, b, c, gamma, r0, T = 0.5, 2.0, 3.0, 0.1, 4.0, 12
    worst = worst_mean(a, b, c, gamma, r0, T + 1)
    W = (1 - a * gamma) ** -np.arange(1.0, T + 2)
    np.testing.assert_allclose(worst, r0 / (gamma * W.cumsum()) + c * gamma, rtol=1e-12)  # (40), with equality
    rng = np.random.default_rng(0)
    for _ in range(50):  # any other sequence that satisfies (37) stays below
        r, s = [r0], []
        for _ in range(T + 1):
            spent = rng.uniform() * ((1 - a * gamma) * r[-1] + c * gamma**2)
            s.append(spent / (b * gamma))
            r.append((1 - a * gamma) * r[-1] + c * gamma**2 - spent)
        assert (b * np.cumsum(W * s) / W.cumsum() <= worst * (1 + 1e-12)).all()


def test_the_exact_distance_lies_among_the_sampled_ones() -> None:
    """Group 2, SFL, K = 10: the stationary distance of random orders, against 5 seeds and 400 rounds after the descent."""
    eta, distance = best_runs("sfl.quad.table2.g2", 10, "SFL")
    exact = exact_distance("sfl.quad.table2.g2", 10, "SFL", eta)
    late = distance["round"] > 200
    assert float(exact[-1]) == pytest.approx(float(np.sqrt((distance[:, late] ** 2).mean())), rel=0.15)
    np.testing.assert_allclose(exact[:10], distance.isel(seed=0)[:10], rtol=0.05)  # the descent is not random


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


@pytest.mark.parametrize(
    "picture", [p for p in gallery.pictures() if p.name.endswith("_bound_against_run")], ids=lambda p: p.name
)
def test_no_two_terms_of_a_bound_share_a_colour(picture) -> None:
    id_, *_ = picture.statements  # and maybe the one that it sharpens
    claim = catalogue.find(id_).claim
    names = [term.name for term in claim.terms]
    colours = styles.term_colours(names)
    assert list(colours) == names and len(set(colours.values())) == len(names)
    assert not set(colours.values()) & {role["color"] for role in (*styles.BOUNDS.values(), styles.MEASURED)}


def test_a_bound_of_more_terms_than_colours_is_told() -> None:
    with pytest.raises(ValueError, match="11 terms, expected no more than there are colours"):
        styles.term_colours([f"term {i}" for i in range(11)])


def test_the_same_term_has_the_same_colour_in_every_order() -> None:
    one, other = (styles.term_colours(names) for names in (["noise", "drift", "x"], ["x", "drift", "noise"]))
    assert one["noise"] == other["noise"] and one["drift"] == other["drift"]


# What a colour becomes for a reader without one kind of cones (Machado, Oliveira, Fernandes 2009), in linear RGB
EYES = {
    "usual": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
NOTICEABLE = 2.3  # in CIE Lab


def lab(colour: str, eye: np.ndarray) -> np.ndarray:
    rgb = np.array(to_rgb(colour))
    linear = np.clip(eye @ np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4), 0, 1)
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    x, y, z = np.cbrt(to_xyz @ linear / [0.95047, 1, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eye", EYES)
def test_colour_blind_readers_tell_the_curves_apart(eye: str) -> None:
    """Bounds, measurement and terms: the nearest two colours are several times the noticeable difference apart."""
    terms = list(styles.term_colours([f"term {i}" for i in range(10)]).values())
    roles = [role["color"] for role in (*styles.BOUNDS.values(), styles.MEASURED)]
    apart = [
        np.linalg.norm(lab(a, EYES[eye]) - lab(b, EYES[eye])) for a, b in itertools.combinations([*roles, *terms], 2)
    ]
    assert min(apart) > 6 * NOTICEABLE


def test_the_roles_differ_in_colour_and_in_dashes() -> None:
    looks = [*styles.BOUNDS.values(), styles.LEAST, styles.MEASURED_CORRECTED]
    assert len({str(look["ls"]) for look in looks}) == len(looks)
    assert len({look["color"] for look in styles.BOUNDS.values()} | {styles.MEASURED["color"]}) == 4


def test_a_curve_that_leaves_the_panel_is_marked_there() -> None:
    _, axes = gallery.canvas(1, 1)
    axis = axes[0, 0]
    axis.set(xscale="log", yscale="log", xlim=(1, 1e4), ylim=(1, 1e4))
    for x, y, at in (
        (np.array([10.0, 1e3]), np.array([1e2, 1e6]), (0.5, 0.97)),
        (np.array([1.0, 1e4]), np.array([1e2, 1e-2]), (0.5, 0.03)),
    ):
        styles.runs_off(axis, x, y, "red")
        (mark,) = axis.get_lines()[-1:]
        assert mark.get_xydata()[0] == pytest.approx(at)
    assert [text.get_text() for text in axis.texts] == ["diverges\n($10^{6}$ at the end)"]
    styles.runs_off(axis, np.array([1.0, 10.0, 100.0]), np.array([1e2, 1e5, 1e3]), "red")
    assert len(axis.get_lines()) == 2, "a curve that comes back is not marked"


@pytest.mark.parametrize(
    "picture", [p for p in gallery.pictures() if p.name.endswith("_bound_against_run")], ids=lambda p: p.name
)
def test_what_a_caption_says_of_a_bound_is_so_in_the_numbers(picture) -> None:
    """Of the committed numbers: which bounds are crossed, and that no corrected or sharper one is."""
    id_, *_ = picture.statements  # and maybe the one that it sharpens
    data = pd.read_csv(REPOSITORY / f"figures/drawn/{picture.name}.csv")
    crossed = set(data[data.low > data.bound * (1 + 1e-9)].statement)
    assert crossed <= {id_}, "a corrected or sharper bound is crossed"
    assert ("rises above the " in picture.says) is bool(crossed)
    assert ("stays below the " in picture.says) is (not crossed)
    if not crossed:
        assert (data[data.statement == id_]["mean"] <= data[data.statement == id_].bound * (1 + 1e-9)).all()


@pytest.mark.parametrize("printed", ["sfl.eq54", "fedcom.thmE4"])
def test_the_picture_of_a_finding_shows_the_printed_bound_crossed_and_no_other(printed: str) -> None:
    data = pd.read_csv(gallery.DRAWN / f"{printed.replace('.', '_')}_is_crossed.csv")
    assert set(data[data.low > data.bound * (1 + 1e-9)].statement) == {printed}
    assert set(data.statement) == {printed, f"{printed}.corrected"}


def test_what_is_said_of_stable_step_sizes() -> None:
    data = pd.read_csv(REPOSITORY / "figures/drawn/fedbcgd_plus_unstable.csv")
    steps = data[data.panel == "quadratic"].pivot(index="x", columns="curve", values="y")
    assert (steps["no blocks, K = 1"] >= 1).all()
    for K in (1, 4):
        assert (np.diff(steps[f"2 blocks, K = {K}"].loc[2:]) < 0).all()


@pytest.mark.parametrize("paper", ["sfl", "fedcom", "fedbcgd", "fedbat"])
def test_the_best_constants_are_those_of_the_table(paper: str) -> None:
    """The drawn factors leave the least room of several numbers; a term that cannot be improved is not drawn."""
    table = {}
    for line in (REPOSITORY / "paper_check" / f"{paper}.md").read_text().splitlines():
        cells = [one.strip() for one in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 6 and cells[0].startswith(f"`{paper}."):
            table[cells[0].strip("`"), cells[1]] = float(cells[3]), float(cells[4])
    drawn = pd.read_csv(REPOSITORY / f"figures/drawn/{paper}_best_constants.csv")
    factors = drawn.set_index(["mark", "statement", "term"]).factor
    assert len(factors["at_least"]) == len(factors["at_most"]) > 10
    for term, at_least in factors["at_least"].items():
        # the table has three digits
        assert (at_least, factors["at_most"][term]) == pytest.approx(table[term], rel=6e-3, abs=5e-4)
        assert abs(at_least - 1) >= 1e-3
