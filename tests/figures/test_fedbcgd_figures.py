"""Figures of the FedBCGD paper: drawn whole, labelled, and their data say what the figures are for."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from well_drawn import has_legends, is_well_drawn

from fedtheory.figures import fedbcgd
from fedtheory.figures.fedbcgd import ALGORITHM3, BLOCKS, BUDGET, EVERYONE, LAMBDAS, SAMPLED, THEOREMS, least
from fedtheory.simulations import expectation, run
from fedtheory.simulations.algorithms.fedbcgd import ABLATIONS, VARIANTS, FedBCGD
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.checks.counterexamples import Alike

BOUNDS = {p.name for p in fedbcgd.FIGURES if p.name.endswith("_bound_against_run")}
QUICK = {
    "fedbcgd_printed_theorems_crossing",
    "fedbcgd_algorithm1_printed_and_corrected",
    "fedbcgd_algorithm3_printed_and_corrected",
    "fedbcgd_bounds_blocks",
}


@pytest.mark.parametrize(
    "name", [pytest.param(p.name, marks=() if p.name in QUICK else pytest.mark.slow) for p in fedbcgd.FIGURES]
)
def test_figure(name: str, drawn) -> None:
    is_well_drawn(*drawn(name))
    what = drawn(name)[0]
    panels = [a for a in what.canvas.axes if a.get_subplotspec() is not None and a.axison]
    assert has_legends(what.canvas) or not panels  # a table has no curves
    for axis in panels:
        (low, high), (left, right) = axis.get_ylim(), axis.get_xlim()
        assert any(
            ((line.get_ydata() >= low) & (line.get_ydata() <= high)).sum() > 3
            and ((line.get_xdata() >= left) & (line.get_xdata() <= right)).sum() > 3
            for line in axis.get_lines()
        ), "an empty panel"


def test_names_and_statements() -> None:
    ids = {s for p in fedbcgd.FIGURES if p.name in BOUNDS for s in p.statements}
    sharper = {f"fedbcgd.{theorem}.corrected.sharp" for theorem in THEOREMS if theorem.startswith("thm1")}
    assert ids == {f"fedbcgd.{theorem}.corrected" for theorem in THEOREMS} | sharper and len(ids) == 9
    for picture in fedbcgd.FIGURES:
        assert picture.name.startswith("fedbcgd_")
        # that of the best constants is about the whole paper
        assert bool(picture.statements) is not picture.name.endswith("_best_constants")
        assert all(catalogue.find(s) for s in picture.statements)


# ------------------------------------------------------------------------------------------- printed theorems


def test_least_is_that_over_all_polynomials() -> None:
    """Against least squares over the coefficients, and against the fractions of the counter-example."""
    h, weights = np.linspace(0.1, 1.0, 12), np.arange(1.0, 13.0)
    for degree, found in enumerate(least(h, weights, 5)):
        powers = np.sqrt(weights)[:, None] * h[:, None] ** np.arange(1, degree + 1)
        rest = np.sqrt(weights)
        if degree:
            rest = rest + powers @ np.linalg.lstsq(powers, -rest, rcond=None)[0]
        assert found == pytest.approx(rest @ rest, rel=1e-6)
    instance, two = Alike(sympy.Integer(1), sympy.Rational(0), 1), np.array([1.0, 0.5])
    assert least(two, two / 2, 1)[1] == pytest.approx(float(instance.least_gap))
    assert least(two, two**2, 1)[1] == pytest.approx(float(instance.least_gradient))


def test_least_is_reached_by_no_run_of_momentum() -> None:
    """Gradient descent with momentum, whatever its settings, is never below, and conjugate gradients reach it."""
    h = fedbcgd.WELL_CONDITIONED
    lowest = least(h, h / 2, 10)
    for eta in (0.5, 1.0, 1.6):
        for lam in (0.0, 0.1, 0.5):
            x, v = np.ones_like(h), np.zeros_like(h)
            for r in range(11):
                assert (h * x**2).sum() / 2 >= lowest[r] * (1 - 1e-12)
                v = lam * v - eta * h * x
                x = x + v
    x, g = np.ones_like(h), h.copy()
    p = -g
    for r in range(1, 6):
        step = (g @ g) / (p @ (h * p))
        x, new = x + step * p, g + step * h * p
        p, g = -new + (new @ new) / (g @ g) * p, new
        assert (h * x**2).sum() / 2 == pytest.approx(lowest[r], rel=1e-6)


def test_every_printed_theorem_is_crossed_and_no_corrected_one(drawn) -> None:
    data = drawn("fedbcgd_printed_theorems_crossing")[0].data
    printed = data[data.curve == "printed"]
    assert set(printed.statement) == {f"fedbcgd.{theorem}" for theorem in THEOREMS}
    np.testing.assert_array_equal(printed.fails == 1, printed.value < printed.least * (1 - 1e-9))
    for _, rows in printed.groupby("statement"):
        assert 0 < rows.fails.sum() < len(rows), "it fails somewhere, and not everywhere"
    first = printed[printed.statement.str.contains("thm1")]
    harmless = first[(first.alpha == 1) & (first.beta == 1) & (first.K == 1)]
    assert (harmless.fails == 0).all(), "without momentum, and K = M = 1, these do not fail"
    assert first[(first.alpha == 100) & (first["R"] == 1)].groupby("statement").fails.max().eq(1).all()
    strongly = printed[printed.statement == "fedbcgd.thm2.strongly_convex"]
    assert strongly[strongly.constant == 1000].groupby("M").fails.max().eq(1).all(), "no constant helps"
    corrected = data[data.curve == "corrected"]
    assert corrected.statement.nunique() == 5
    for id_, rows in corrected.groupby("statement"):
        of = printed[printed.statement == id_.removesuffix(".corrected")]
        lowest = of[of["M"] == of["M"].min()].groupby("R").least.max()
        both = rows.set_index("R").value.to_frame().join(lowest, how="inner")
        assert len(both) > 5 and (both.value >= both.least).all()


def test_unseen_client_is_what_the_run_leaves() -> None:
    """One of four clients is sampled a round: the expected gap never falls below what the unseen client leaves."""
    M = 4
    problem = Quadratic(np.ones((M, 1, 1)), np.array([[0.0]] * (M - 1) + [[-float(M)]]))
    for variant in ("FedBCGD+", "FedBCGD+, as printed"):
        method = VARIANTS[variant](T=2, eta=[0.01, 0.1, 0.5], N=1, K=1)
        gap = expectation(problem, method, rounds=10, x0=0.0, record=("gap",)).gap
        assert (gap.values >= 0.5 * (1 - 1 / M) ** np.arange(11) * (1 - 1e-12)).all()


# ------------------------------------------------------------------------------------------------ algorithms


def test_algorithm1(drawn) -> None:
    data = drawn("fedbcgd_algorithm1_printed_and_corrected")[0].data
    gaps = data[data.panel == "gap"]
    runs = {key: rows.set_index("round").gap for key, rows in gaps.groupby(["T", "lam", "form"])}
    assert len(runs) == 16
    for lam in (0.0, 0.9):
        still = runs[1, lam, "FedBCGD, as printed"]
        assert (still == still[0]).all(), "T = 1 as printed never moves"
        assert runs[1, lam, "FedBCGD, momentum of lines 20-25"].iloc[-1] > 1e3 * still[0]
        assert runs[1, lam, "FedBCGD"].iloc[-1] < still[0] / 10
        for T in (1, 5):
            assert runs[T, lam, "FedBCGD, (42) and (43)"].iloc[-1] > 1e6, "uphill"
            assert runs[T, lam, "FedBCGD"].iloc[-1] < runs[T, lam, "FedBCGD"][0] / 10
    assert runs[1, 0.0, "FedBCGD"].iloc[-1] < 1e-8
    factor = data[(data.panel == "factor") & (data["T"] == 1)]
    limit = factor[factor.factor < 1].groupby(["form", "lam"]).eta.max()
    for lam in (0.0, 0.9):
        assert limit["FedBCGD, momentum of lines 20-25", lam] < 0.8 * limit["FedBCGD", lam]


def test_printed_momentum_takes_the_first_step_twice() -> None:
    """Printed, from v = 0: x + change + v, v = change; in the long run lam adds up to 1 + alpha."""
    problem = fedbcgd.quadratics(apart=0.0)
    twice = run(problem, FedBCGD(1, 0.2, 1, 4), rounds=5, x0=1.0).gap
    printed = run(problem, FedBCGD(1, 0.1, 1, 4, momentum="printed"), rounds=5, x0=1.0).gap
    np.testing.assert_allclose(printed, twice, rtol=1e-9)


def test_algorithm3(drawn) -> None:
    data = drawn("fedbcgd_algorithm3_printed_and_corrected")[0].data
    last = data.groupby("form").gap.last()
    assert set(last.index) == set(ALGORITHM3)
    whole, control, variance = (
        next(f for f in ALGORITHM3 if f.startswith(w)) for w in ("whole", "sign of c", "sign of t")
    )
    after = data[data["round"] == 30].set_index("form").gap
    assert last["corrected"] < 1e-12 and after["corrected"] < 0.1 * after.drop("corrected").min(), (
        "each defect does harm"
    )
    assert (last[["as printed", control, whole]] > 0.1).all() and last[variance] > 1e-2


# ------------------------------------------------------------------------------------------- the paper's figures


@pytest.mark.slow
def test_fig4(drawn) -> None:
    data = drawn("fedbcgd_fig4_blocks")[0].data
    curves, marks = data[data.reached == 0], data[data.reached == 1]
    assert set(curves.N) == set(BLOCKS) and curves.form.nunique() == 2
    assert curves.x.max() <= BUDGET + 1e-9
    np.testing.assert_allclose(curves.x, curves["round"] * curves.floats_a_round)
    for form, rows in marks.groupby("form"):
        each = rows.groupby("N").x.mean()
        assert np.isfinite(each).all() and each[20] < each[1], f"{form}: blocks save floats"
        assert each[20] > each[1] / 20, f"{form}: but less than N times"
    sent = curves.groupby(["form", "N"]).floats_a_round.first()
    np.testing.assert_allclose(sent["FedBCGD+"], 2 / np.array(BLOCKS))


@pytest.mark.slow
def test_fig5(drawn) -> None:
    data = drawn("fedbcgd_fig5_ablations")[0].data
    assert set(data.variant) == set(ABLATIONS)
    last = data[data.over == "rounds"].groupby("variant")["mean"].last()
    assert set(data[data.over == "floats"].variant) == {"share", "non-share"}
    assert data.groupby("panel").variant.nunique().eq(2).all()
    start = data[data["round"] == 0]["mean"].max()
    assert (last < start / 20).all()
    sent = data.groupby("variant").floats_a_round.first()
    assert sent["share"] == pytest.approx(16 / 64) and sent["non-share"] == pytest.approx(1 / 5)
    assert (data["min"] <= data["mean"] + 1e-12).all() and (data["mean"] <= data["max"] + 1e-12).all()


@pytest.mark.slow
def test_fig7(drawn) -> None:
    data = drawn("fedbcgd_fig7_momentum")[0].data
    assert set(data.lam) == set(LAMBDAS) and set(data.panel) == {"same", "best", "logistic"}
    same = data[data.panel == "same"]
    np.testing.assert_allclose(same.eta / (1 - same.lam), 0.2)
    best = data[data.panel == "best"].groupby("lam").gap.last()
    assert (best <= same.groupby("lam").gap.last()).all()
    eta = data[data.panel == "best"].groupby("lam").eta.first()
    assert eta.is_monotonic_decreasing and eta.min() > 2.1e-4, "the best is inside the grid"
    assert best.max() < 2 * best.min(), "at its best step size no momentum wins much"


@pytest.mark.slow
def test_fig8_and_fig9(drawn) -> None:
    data = drawn("fedbcgd_fig8_fig9")[0].data
    assert len(SAMPLED) == 10 and len(EVERYONE) == 5
    for loss, rows in data.groupby("loss"):
        for clients, methods in (("sampled", SAMPLED), ("all", EVERYONE)):
            own = rows[rows.clients == clients]
            assert set(own.method) == set(methods), loss
            assert (own.groupby("method")["mean"].last() < 0.3 * own[own["round"] == 0]["mean"].max()).all()
    sent = data[data.clients == "sampled"].groupby("method").floats_a_round.first()
    assert sent["FedBCGD"] == pytest.approx(1 / 5) and sent["FedBCGD+"] == 2 * sent["FedBCGD"]
    assert sent["SCAFFOLD"] == sent["FedDC"] == 2 and sent["QSGD(4)+FedBCGD"] < sent["FedBCGD"] / 3
    np.testing.assert_allclose(data.x, data["round"] * data.floats_a_round)
    logistic = data[(data.loss == "logistic regression") & (data.clients == "sampled")]
    at = logistic[logistic.x <= 20].groupby("method")["mean"].last()
    assert at["FedBCGD"] < at["FedAvg"], "at the same uplink blocks win"


def test_communication(drawn) -> None:
    data = drawn("fedbcgd_bounds_blocks")[0].data
    relative = data[data.N == 60].set_index("statement").relative
    assert (relative >= 1 / 60 * (1 - 1e-9)).all(), "1/N is not exceeded by any"
    for name in ("thm1.main.strongly_convex", "thm1.main.nonconvex", "thm2.main.nonconvex"):
        assert relative[f"fedbcgd.{name}.corrected"] > 2 * relative[f"fedbcgd.{name}"]
    assert relative["fedbcgd.thm2.main.nonconvex.corrected"] == pytest.approx(1.0), "blocks win nothing"
    assert relative["fedbcgd.thm2.main.strongly_convex"] == pytest.approx(
        relative["fedbcgd.thm2.main.strongly_convex.corrected"]
    )


# ---------------------------------------------------------------------------------------------- bound against run


@pytest.mark.slow
@pytest.mark.parametrize("theorem", THEOREMS)
def test_corrected_bounds_are_never_crossed(theorem: str, drawn) -> None:
    data = drawn(f"fedbcgd_{theorem.replace('.', '_')}_corrected_bound_against_run")[0].data
    assert set(data.statement) == {f"fedbcgd.{theorem}.corrected"}
    arenas = data.arena.drop_duplicates()
    made, huber = arenas.str.contains("quadratics"), arenas.str.contains("Huber")
    assert len(arenas) == 3 and made.sum() >= 1 and (~made & ~huber).sum() >= 1, "on quadratics, and on data"
    assert data.groupby("arena").size().min() > 5, "a curve, not a point"
    assert (data.high <= data.bound * (1 + 1e-9)).all()
    assert data.arena.str.contains("logistic|sigmoid").any()
