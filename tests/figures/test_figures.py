"""Every figure: labelled axes, finite data, bound and run on one axis, files whole."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from well_drawn import is_labelled, is_well_drawn

from bounds.fedcom.arenas import ARENAS as FEDCOM
from figures import bound_against_run, gallery
from figures.sfl import ROUNDS, best_runs, exact_distance, group, worst_mean
from theory import catalogue

NAMES = [p.name for p in gallery.pictures()]  # the other papers' are looked at in files of their own
QUICK = {
    "sfl_fig1_distance_on_quadratics",
    "sfl_fig8_exdir_partitions",
    "sfl_lemma7_against_worst_sequence",
    "sfl_eq54_bound_against_run",
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in NAMES if n.startswith("sfl_")]
)
def test_figure(name: str, drawn) -> None:
    is_well_drawn(*drawn(name))


@pytest.mark.parametrize("number", [42, 46, 54, 80])
def test_a_refuted_bound_is_crossed_and_its_correction_is_not(number: int, drawn) -> None:
    what = drawn(f"sfl_eq{number}_bound_against_run")[0]
    above = what.canvas.axes[0]
    labels = [line.get_label() for line in above.get_lines()]
    assert {"bound (sum)", "measured", "corrected"} <= set(labels)
    assert ("measured, corrected form" in labels) == (number == 42)  # the others average alike
    assert above.collections, "no band"
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
    assert ("corrected" in [line.get_label() for line in above.get_lines()]) == (id_ == "fedcom.thmD7")
    assert "eta" in what.data and np.isfinite(what.data.select_dtypes("number").to_numpy()).all()
    first = what.data[what.data.statement == id_]
    assert (first["mean"] > first.bound).iloc[-1] == (id_ == "fedcom.thmE4")


def test_what_diverges_is_drawn_as_far_as_it_goes() -> None:
    arena = next(a for a in FEDCOM if (a.statement, a.name) == ("fedcom.thmE6", "two quadratics, q 3"))
    data = bound_against_run.draw("fedcom.thmE6", [replace(arena, rounds=2000)]).data
    assert data.R.max() < 2000 and np.isfinite(data["mean"]).all()


def test_lemma_7_is_crossed_before_its_condition_only(drawn) -> None:
    data = drawn("sfl_lemma7_against_worst_sequence")[0].data
    fails = data.printed < data.worst
    assert fails.any() and not fails[data.corrected_speaks == 1].any()
    assert set(data[data.corrected_speaks == 0]["T"]) == set(range(49))  # T + 1 < 1/(2 a gamma) = 50


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
    (id_,) = picture.statements
    claim = catalogue.find(id_).claim
    colours = bound_against_run.term_colours(claim)
    assert list(colours) == [term.name for term in claim.terms]
    assert len(set(colours.values())) == len(colours)


def test_a_bound_of_more_terms_than_colours_is_told() -> None:
    claim = catalogue.find("fedcom.thmE9").claim
    more = replace(claim, terms=[replace(claim.terms[0], name=f"term {i}") for i in range(9)])
    with pytest.raises(ValueError, match="9 terms, expected no more than there are colours"):
        bound_against_run.term_colours(more)


REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("paper", ["sfl", "fedcom", "fedbcgd", "fedbat"])
def test_the_best_constants_are_those_of_the_table(paper: str) -> None:
    """The drawn factors leave the least room of several numbers; a term that cannot be improved is not drawn."""
    table = {}
    for line in (REPOSITORY / "paper_check" / f"{paper}.md").read_text().splitlines():
        cells = [one.strip() for one in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 6 and cells[0].startswith(f"`{paper}."):
            table[cells[0].strip("`"), cells[1]] = float(cells[3]), float(cells[4])
    drawn = pd.read_csv(REPOSITORY / f"figures/drawn/{paper}_best_constants.csv")
    assert len(drawn) > 10
    for row in drawn.itertuples():
        # the table has three digits
        assert (row.at_least, row.at_most) == pytest.approx(table[row.statement, row.term], rel=6e-3, abs=5e-4)
        assert abs(row.at_least - 1) >= 1e-3
