"""`fedtheory train` and `fedtheory table`, as a newcomer types them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from fedtheory import training

torch.set_num_threads(1)
pytestmark = pytest.mark.usefixtures("elsewhere")

TOML = """
rounds = 4
seeds = [0, 1]
every = 2
record = ["value", "accuracy", "grad_sq"]

[data]
name = "generated"
shape = [1, 8, 8]
classes = 3
train = 60
test = 30
clients = 4

[network]
model = "logistic"
batch = 5

[algorithm]
name = "SFL"
K = 2
eta = 0.1
"""


def test_a_file(call):
    Path("mine.toml").write_text(TOML)
    status, out, err = call("train", "mine.toml")
    assert status == 0 and err == "", err
    folder = Path("runs/mine")
    names = {p.name for p in folder.iterdir()}
    assert names >= {"setup.toml", "history.csv", "environment.json", "curves.png", "curves.svg", "curves.csv"}
    assert "accuracy" in out and "client steps/s" in out and f"written: {folder}" in out
    drawn = pd.read_csv(folder / "curves.csv")
    history = training.history(folder)
    mean = history[history["round"] == 4]["grad_sq"].mean()
    assert mean < history[history["round"] == 0]["grad_sq"].mean()
    last = drawn[(drawn.quantity == "mean_grad_sq") & (drawn.along == "round") & (drawn.x == 4)]
    assert float(last["mean"].iloc[0]) == pytest.approx(
        history["grad_sq"].mean(), rel=1e-4
    )  # rounds 0, 2, 4 of each seed
    # the folder's own set-up runs again, and another one is refused
    status, _, _ = call("train", str(folder / "setup.toml"), "--runs", "again")
    assert status == 0
    pd.testing.assert_frame_equal(
        training.history(Path("again/setup")).drop(columns="seconds"), history.drop(columns="seconds")
    )
    status, _, err = call("train", "mine.toml", "--rounds", "5")
    assert status == 2 and "holds another set-up (rounds: 4, 5 here)" in err and len(err.splitlines()) == 1
    status, out, _ = call("train", "mine.toml", "--rounds", "5", "--seeds", "1", "--runs", "five")
    assert status == 0 and training.history(Path("five/mine"))["seed"].unique().tolist() == [0]


def test_a_preset_in_small_beside_the_printed_numbers(call):
    status, _, err = call("table", "sfl.table3", "--quick")
    assert status == 2 and "no training of sfl.table3" in err and "fedtheory train 'sfl.table3' --quick" in err
    cells = ("--cells", "CIFAR-10 VGG-9, C=1, K=5")
    status, out, err = call("train", "sfl.table3", "--quick", *cells, "--seeds", "1", "--rounds", "4")
    assert status == 0 and err == "", err
    status, out, err = call("table", "sfl.table3", "--quick", *cells)
    assert status == 0, err
    lines = out.splitlines()
    methods = {line.split()[0]: line for line in lines if line.startswith(("PFL", "SFL"))}
    assert "67.61 ± 4.02" in methods["PFL"] and "78.43 ± 2.46" in methods["SFL"]  # printed for CIFAR-10, VGG-9
    assert "order of two methods in one column as printed: 1 of 1 pairs" in out or "0 of 1 pairs" in out
    assert "C=1, K=5 (*)" in methods["PFL"] and "(*) other images than in print: our numbers" in out
    assert "what the paper leaves open, and what is chosen here" in out and "where the trainings depart" not in out
    for difference in (
        "data.name: cifar-10, digits",
        "network.model: VGG-9, small CNN",
        "data.clients: 500, 20",
        "rounds: 4000, 4",
    ):
        assert difference in out, out


def test_errors(call):
    for arguments, message in (
        (("train", "sfl.table33"), "unknown preset 'sfl.table33'"),
        (("train", "nothing.toml"), "nothing.toml"),
        (("train", "sfl.table3"), "cifar-10 is read from files: expected --data FOLDER, or --data generated"),
        (("train", "sfl.table3", "--data", "here"), "nothing is downloaded"),
        (("train", "sfl.table3", "--quick", "--cells", "ResNet-5"), "no cell of sfl.table3 has ResNet-5"),
        (("train", "sfl.table3", "--quick", "--device", "tpu9"), "device = 'tpu9': expected cpu"),
        (("train", "sfl.table3", "--quick", "--seeds", "x"), "seeds = 'x'"),
        (("train", "sfl.table3", "--quick", "--rounds", "0"), "rounds = 0"),
    ):
        status, _, err = call(*arguments)
        assert status == 2 and message in err and len(err.splitlines()) == 1, (arguments, err)
        assert not Path("runs").exists() or not any(Path("runs").iterdir()), arguments


def test_list(call):
    status, out, _ = call("train", "--list")
    assert status == 0 and "sfl.table3" in out and "fedbat.table1" in out


def test_the_set_up_of_the_documentation_trains(call):
    page = (Path(__file__).parents[2] / "docs" / "pages" / "networks.md").read_text()
    toml, own = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    Path("mine.toml").write_text(toml)
    status, _, err = call("train", "mine.toml", "--seeds", "1")
    assert status == 0, err
    rows = training.history(Path("runs/mine"))
    assert rows["round"].iloc[-1] == 30 and rows["value"].iloc[0] > 2.2 and rows["value"].iloc[-1] < 1.0
    (module,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    Path("mine.py").write_text(module)
    labels = np.arange(60) % 3
    table = pd.DataFrame(np.random.default_rng(0).normal(labels[:, None], 0.4, (60, 4)), columns=list("abcd"))
    table.assign(hospital=np.arange(60) // 15, label=labels).to_csv("mine.csv", index=False)
    Path("own.toml").write_text(own)
    status, _, err = call("train", "own.toml")
    assert status == 0, err
    rows = training.history(Path("runs/own"))
    assert rows[rows["round"] == 20]["accuracy"].min() > 0.7
