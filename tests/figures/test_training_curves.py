"""Curves of trainings: means, bands, ends, units and the slope of the theorems."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtheory.figures.training import averaged, curves, over_seeds

ROUNDS = [0, 1, 2, 4, 8]


def history(scale: float = 1.0, diverged: int | None = None) -> pd.DataFrame:
    """Three seeds whose squared gradient norm falls like 1/sqrt(r); the last one diverges in a round, if at all."""
    rows = []
    for seed in range(3):
        for r in ROUNDS:
            gone = seed == 2 and diverged == r
            number = np.nan if gone else scale * (seed + 1) / np.sqrt(r + 1)
            rows.append(
                {"seed": seed, "round": r, "status": "diverged" if gone else "ran", "accuracy": 0.1 * (seed + 1)}
                | {"value": number, "grad_sq": number, "bits_up": 2e9 * r}
            )
            if gone:
                break
    return pd.DataFrame(rows)


def test_running_mean_of_the_gradient_norm():
    found = averaged(history())
    of = found[found.seed == 1]
    expected = np.cumsum(2 / np.sqrt(np.array(ROUNDS) + 1)) / np.arange(1, 6)
    np.testing.assert_allclose(of.mean_grad_sq, expected)


def test_mean_and_band_over_seeds():
    found = over_seeds(history(), "value")
    np.testing.assert_allclose(found["mean"], 2 / np.sqrt(found["round"] + 1))
    np.testing.assert_allclose(found["min"], found["mean"] / 2)
    np.testing.assert_allclose(found["max"], found["mean"] * 1.5)
    assert found["bits_up"].tolist() == [2e9 * r for r in ROUNDS]


def test_a_line_ends_where_a_seed_diverged():
    drawn = curves({"good": history(), "bad": history(diverged=4)}, "title")
    of = drawn.data[(drawn.data.quantity == "value") & (drawn.data.along == "round")]
    assert of[of.label == "good"].x.tolist() == ROUNDS and of[of.label == "bad"].x.tolist() == [0, 1, 2]
    assert (of[of.label == "bad"]["count"] == 3).all()


def test_axes_have_names_and_units():
    other = history(2.0)
    drawn = curves({"one": history(), "other": other.assign(bits_up=2 * other.bits_up)}, "a title")
    axes = drawn.canvas.axes
    assert {a.get_xlabel() for a in axes} == {"round", "sent by all clients together (Gbit)"}
    alike = curves({"one": history(), "other": other}, "a title")
    assert {a.get_xlabel() for a in alike.canvas.axes} == {"round, in which all clients together send 2 Gbit"}
    assert "test accuracy (%)" in {a.get_ylabel() for a in axes}
    bits = drawn.data[(drawn.data.along == "bits_up") & (drawn.data.label == "one")]
    assert bits.x.max() == 2e9 * 8  # the data keep bits
    accuracy = drawn.data[drawn.data.quantity == "accuracy"]
    assert accuracy["mean"].iloc[0] == pytest.approx(0.2)  # and shares, drawn in percent
    assert "a title" in drawn.canvas.get_suptitle() and "mean of 3 seeds" in drawn.canvas.get_suptitle()
    (line,) = axes[0].get_lines()[:1]
    assert max(line.get_ydata()) == pytest.approx(20)


def test_a_method_has_a_colour_and_a_setting_has_dashes():
    drawn = curves({f"{name}, eta={eta}": history(eta) for name in ("PFL", "SFL") for eta in (1, 2)}, "title")
    lines = {line.get_label(): line for line in drawn.canvas.axes[0].get_lines()}
    looks = {label: (line.get_color(), line.get_linestyle()) for label, line in lines.items()}
    assert looks["PFL, eta=1"][0] == looks["PFL, eta=2"][0] != looks["SFL, eta=1"][0]
    assert looks["PFL, eta=1"][1] == looks["SFL, eta=1"][1] != looks["PFL, eta=2"][1]


def test_the_slope_of_the_theorems_is_minus_a_half():
    drawn = curves({"one": history()}, "title")
    axis = next(a for a in drawn.canvas.axes if "nabla" in a.get_ylabel())
    assert axis.get_xscale() == axis.get_yscale() == "log"
    x, y = axis.get_lines()[-1].get_data()
    assert np.log(y[1] / y[0]) / np.log(x[1] / x[0]) == pytest.approx(-0.5)
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["slope −1/2"]
