"""Figures of the FedCOM paper: drawn whole, labelled, and their data say what the figures are for."""

from __future__ import annotations

import numpy as np
import pytest
from well_drawn import is_well_drawn

from fedtheory.figures import fedcom
from fedtheory.figures.fedcom import admits, admitted, contraction_limit, pair, quadratics, resting_point, with_q
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.exact.linear import spectral_radius
from fedtheory.theory import catalogue

BOUNDS = {p.name for p in fedcom.FIGURES if p.name.endswith("_bound_against_run")}
OWN = [p for p in fedcom.FIGURES if p.name not in BOUNDS]
QUICK = {"fedcom_algorithms_printed_and_corrected"}


@pytest.mark.parametrize(
    "name", [pytest.param(p.name, marks=() if p.name in QUICK else pytest.mark.slow) for p in fedcom.FIGURES]
)
def test_figure(name: str, drawn) -> None:
    is_well_drawn(*drawn(name))


def test_every_theorem_has_a_picture_of_each_form() -> None:
    ids = {s for p in fedcom.FIGURES if p.name in BOUNDS for s in p.statements}
    both = {f"fedcom.thm{t}{f}" for t in ("D4", "D7", "D9", "E4", "E6", "E9") for f in ("", ".corrected")}
    assert ids == both | {f"fedcom.thm{t}.corrected.sharp" for t in ("D4", "D7")}
    for picture in fedcom.FIGURES:
        assert picture.name.startswith("fedcom_")
        assert all(catalogue.find(s) for s in picture.statements)


@pytest.mark.slow
@pytest.mark.parametrize("theorem", ["D4", "D7", "D9", "E4", "E6", "E9"])
def test_bounds_that_are_refuted_are_crossed_and_corrected_ones_never(theorem: str, drawn) -> None:
    printed = drawn(f"fedcom_thm{theorem}_bound_against_run")[0].data
    corrected = drawn(f"fedcom_thm{theorem}_corrected_bound_against_run")[0].data
    arenas = printed[printed.statement == f"fedcom.thm{theorem}"].arena.unique()
    assert 2 <= len(arenas) <= 3
    crossed = set(printed[printed.low > printed.bound * (1 + 1e-9)].arena)
    if theorem in ("D9", "E4", "E6", "E9"):
        assert crossed and all(a.startswith("two ") for a in crossed)
        beside = set(printed[printed.statement == f"fedcom.thm{theorem}.corrected"].arena)
        assert crossed <= beside | set(corrected.arena), "the corrected bound is shown where the printed one fails"
    assert (corrected.high <= corrected.bound * (1 + 1e-9)).all()


@pytest.mark.slow
def test_bits_by_compressor(drawn) -> None:
    data = drawn("fedcom_bits_by_compressor")[0].data
    assert data.compressor.nunique() == 11
    ends = data.groupby(["panel", "compressor"]).last()
    start = data[data["round"] == 0]["mean"].max()
    q = {Q.name: Q.q(30).value for group in fedcom.COMPRESSORS.values() for Q, _ in group.values()}
    for panel, compressor in ends.index:
        undamped = "printed" in panel and (q[compressor] or 0) >= 1
        assert ends.loc[(panel, compressor)].converges == (0 if undamped else 1)
        assert (ends.loc[(panel, compressor)]["mean"] > start) == undamped
    np.testing.assert_allclose(data.x, data["round"] * data.bits_a_round / 1000)
    assert data.x.max() <= fedcom.BUDGET / 1000
    one = data[data.compressor == "QSGD(s=4)"]
    assert set(one.bits_a_round) == {32 + 30 * 4}


@pytest.mark.slow
def test_bits_by_method(drawn) -> None:
    """Exact gradients: methods that track reach what averaging alone does not; SCAFFOLD sends twice as much."""
    data = drawn("fedcom_bits_by_method")[0].data
    exact = data[data.panel.str.startswith("exact")].groupby("method").last()
    tracking = ["FedGATE", "SCAFFOLD", "DIANA", "FedCOMGATE, printed", "FedCOMGATE, damped"]
    assert exact.loc[tracking, "mean"].max() < exact.loc[["FedAvg", "FedPAQ"], "mean"].min() / 3
    assert exact.loc["SCAFFOLD"].bits_a_round == 2 * exact.loc["FedAvg"].bits_a_round
    assert (data["min"] <= data["mean"] + 1e-12).all() and (data["mean"] <= data["max"] + 1e-12).all()


@pytest.mark.slow
def test_q_and_tau(drawn) -> None:
    data = drawn("fedcom_fig9_q_and_tau")[0].data
    for on in data.on[data.on != "factor"].unique():
        ends = data[(data.on == on) & (data.panel == "q")].groupby(["form", "q"])["mean"].last()
        damped = ends["damped"].to_numpy()
        assert (np.diff(damped) > 0).all(), "(a): the larger q, the larger the gap"
        assert damped.max() < 1e-2 and (ends["printed"][[2.0, 4.0]] > 1).all()
        taus = data[(data.on == on) & (data.panel == "tau") & (data["round"] == 30)].set_index(["q", "tau"])["mean"]
        assert (np.diff(taus[2.0]) < 0).all(), "(b): more local steps reach in fewer rounds what q had cost"
        assert taus[2.0, 10] < taus[0.0, 5], "q = 2 with ten steps is ahead of q = 0 with five"
        assert (taus[2.0] / taus[0.0]).is_monotonic_increasing, "but relative to q = 0 at the same tau q costs more"
    factor = data[(data.on == "factor") & (data.panel == "q")]
    printed, damped = (factor[factor.form == form] for form in ("printed", "damped"))
    assert (printed[printed.q >= 1.2]["mean"] > 1).all() and (printed[printed.q <= 0.9]["mean"] < 1).all()
    assert (damped["mean"] < 1).all()


def test_algorithms_printed_and_corrected(drawn) -> None:
    data = drawn("fedcom_algorithms_printed_and_corrected")[0].data
    last = data.groupby(["panel", "form"]).distance.last()
    start = data[data["round"] == 0].distance.max()
    assert last["divisor", "printed"] == pytest.approx(last["divisor", "predicted"], rel=1e-6)
    assert last["divisor", "predicted"] > 0.3 and last["divisor", "corrected"] < 1e-9
    assert last["sign", "printed"] > 1e9 * start and last["sign", "corrected"] < 1e-9
    assert last["memory", "printed, k=5"] > 1e5 * last["memory", "corrected, k=5"]
    assert last["memory", "rule alone, k=1"] > 1e9, "the rule alone is no cure where little is sent"
    assert last["memory", "corrected, k=1"] < 1e-3 * last["memory", "printed, k=1"]
    assert last["damping", "printed, q=3"] > 1e9 and last["damping", "damped, q=3"] < 1e-9
    assert last["damping", "printed, q=1.1"] > 1e3 * last["damping", "damped, q=1.1"]
    assert last["damping", "printed, q=0.9"] < 1e-9


def test_the_resting_point_is_one() -> None:
    """All clients: the minimiser; fewer: the gradient balances the pull to the start."""
    problem, x0 = quadratics(), np.ones(5)
    np.testing.assert_allclose(resting_point(problem, 4, 0.1, 1.0, 5, x0), problem.constants["x_star"], atol=1e-12)
    w = resting_point(problem, 1, 0.1, 2.0, 5, x0)
    np.testing.assert_allclose(problem.full_gradient(w), 0.75 * (x0 - w), atol=1e-12)


@pytest.mark.slow
def test_similarities(drawn) -> None:
    data = drawn("fedcom_fig7_cosine_similarities")[0].data
    assert data.cosine.between(-1, 1).all()
    np.testing.assert_allclose(data[data.i == data.j].cosine, 1)
    off = data[(data.i != data.j) & (data["at"] == "w = 0")]
    mean = off.groupby("clients").cosine.mean()
    assert mean["IID"] > 0.5 > 0.1 > mean["two classes"]
    close = off[off.cosine > 0.5].groupby(["clients", "i"]).size()
    assert close["two classes"].max() <= 4 < close["IID"].min()
    at_minimiser = data[(data.i != data.j) & (data["at"] != "w = 0")].groupby("clients").cosine.mean()
    assert (at_minimiser.abs() < 0.1).all(), "where the gradients add up to nothing, IID ones differ as much"


def test_compression_ratio_counts_the_indices() -> None:
    for ratio in (0.5, 0.25, 0.1):
        k = fedcom.kept_at(ratio, 640)
        assert k * (32 + 10) <= ratio * 32 * 640 < (k + 1) * (32 + 10)


@pytest.mark.slow
def test_sparsification(drawn) -> None:
    data = drawn("fedcom_fig8_sparsification")[0].data
    last = data.groupby(["form", "C_r"]).last()
    printed, corrected = last.loc["printed"]["mean"], last.loc["corrected"]["mean"]
    assert printed.max() < 3 * printed.min(), "as printed the ratio does not show"
    assert corrected[1.0] < printed[1.0] / 3 and corrected[0.5] < printed[0.5] / 3
    alone = last.loc["rule alone"]["mean"]
    assert alone[0.1] > 10 * alone[0.5] and last.loc["rule alone", 0.1].converges == 0, "with the tracking undamped"
    assert corrected[0.1] < printed[0.1] and (last.loc["corrected"].converges == 1).all()


def test_cond78_admits_where_the_algorithm_diverges() -> None:
    symbols = {"L": 1.0, "mu": 0.1, "m": 2.0, "tau": 5.0, "q": 0.5}
    found = admitted("fedcom.cond78", np.array([0.03]), np.geomspace(1e-2, 1e6, 4000), **symbols)
    (_, _, below, first), (_, above, high, second) = found
    assert not first and second and below < 10 and 100 < above < 1000 and high == pytest.approx(1e6)
    for gamma in (2 * above, 1e4, high):
        inside, negative = admits("fedcom.cond78", eta=0.03, gamma=gamma, **symbols)
        assert inside and negative
        for damping in (1.0, None):
            method = FedCOMGATE(5, 0.03, gamma, with_q(0.5), damping=damping)
            assert spectral_radius(pair(), method)[0] > 100
        assert not admits("fedcom.cond61", eta=0.03, gamma=gamma, **symbols)[0]
    assert pair().constants["L"] == pytest.approx(1.0) and pair().constants["mu_pl"] == pytest.approx(0.1)


def test_contraction_limit() -> None:
    eta = np.array([0.01, 0.1])
    for gamma, one in zip(contraction_limit(FedCOM, eta, 1e-2, 1e6, with_q(0.5)), eta, strict=True):
        inside, outside = (spectral_radius(pair(), FedCOM(5, one, f * gamma, with_q(0.5)))[0] for f in (0.99, 1.03))
        assert inside < 1 < outside
    assert (contraction_limit(FedCOMGATE, eta, 1e-2, 1e6, with_q(2.0)) == 0).all()


@pytest.mark.slow
def test_conditions(drawn) -> None:
    data = drawn("fedcom_conditions_on_step_sizes")[0].data
    limit = data[data.kind.str.startswith("contracts") & ~data.kind.str.endswith("damped")]
    merged = data[data.kind.isin(["admitted", "negative denominator"])].merge(
        limit, on=["condition", "q", "eta"], how="left", suffixes=("", "_contracts")
    )
    merged["to_contracts"] = merged.to_contracts.fillna(0.0)
    negative = merged.kind == "negative denominator"
    assert set(merged[negative].condition) == {"fedcom.cond78"} and set(merged[negative].q) == {0.5, 2.0}
    assert (merged[negative]["from"] > merged[negative].to_contracts).all()
    ordinary = merged[~negative]
    tracked = ordinary.condition != "fedcom.cond21"
    assert (ordinary.to <= ordinary.to_contracts)[(ordinary.q == 0.5) | ~tracked].all()
    assert (ordinary.to_contracts == 0)[(ordinary.q == 2.0) & tracked].all()
