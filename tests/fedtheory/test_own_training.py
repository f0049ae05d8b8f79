"""`fedtheory train` on one's own tables, images and modules; trainings extended by rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from fedtheory import training
from fedtheory.simulations.networks import own
from fedtheory.simulations.networks.problem import Network
from fedtheory.simulations.networks.setup import Setup

torch.set_num_threads(1)

Call = Callable[..., tuple[int, str, str]]
WORDS = ("PFL", "K=2", "eta=0.1", "batch=4")
MODULES = """
import torch
from torch import nn

class Rows(nn.Module):
    def __init__(self, width=5):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, width), nn.BatchNorm1d(width), nn.Linear(width, 3)
        self.frozen = nn.Linear(3, 3).requires_grad_(False)
        self.register_buffer("scale", torch.randn(()))

    def forward(self, x):
        return self.frozen(self.last(torch.relu(self.norm(self.first(x))))) * self.scale

class Pixels(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.last = nn.Conv2d(1, 3, 3, padding=1), nn.Linear(3, 3)

    def forward(self, x):
        return self.last(torch.relu(self.conv(x)).mean((2, 3)))

class Looks(Pixels):
    def forward(self, x):
        z = super().forward(x)
        return z if z.sum().item() < 1e9 else -z

class Needs(Rows):
    def __init__(self, width):
        super().__init__(width)

class Short(Rows):
    def forward(self, x):
        return super().forward(x)[:, :2]

class Drops(Rows):
    def forward(self, x):
        return nn.functional.dropout(super().forward(x))

class Counts(Rows):
    def forward(self, x):
        self.scale += 1
        return super().forward(x)

class Idle(Rows):
    def __init__(self):
        super().__init__()
        self.more = nn.Linear(2, 2)

class Fails(Rows):
    def __init__(self):
        super().__init__()
        raise KeyError("width")

number = 3
"""


@pytest.fixture(autouse=True)
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A table with clients, another with test rows, a folder of images, and modules, in the working directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    table = pd.DataFrame(rng.normal(labels[:, None], 0.5, (60, 4)), columns=list("abcd"))
    table = table.assign(who=[f"c{i % 4}" for i in range(60)], kind=np.array(["x", "y", "z"])[labels])
    table.to_csv("mine.csv", index=False)
    table.head(9).to_csv("test.csv", index=False)
    np.savez("mine.npz", features=table[list("abcd")], labels=labels)
    for i, label in enumerate(labels[:30]):
        Path("pictures", "xyz"[label]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (4, 4), np.uint8)).save(f"pictures/{'xyz'[label]}/{i}.png")
    Path("mine.py").write_text(MODULES)


def trained(call: Call, *arguments: str) -> pd.DataFrame:
    status, _, err = call("train", *arguments)
    assert status == 0 and err == "", err
    return training.history(Path("runs", Path(arguments[0]).stem)).drop(columns="seconds")


def test_a_table_with_clients_and_a_module(command: Call) -> None:
    rows = trained(command, "mine.csv", *WORDS, "client=who", "--model", "mine.py:Rows", "--rounds", "12")
    assert rows["seed"].unique().tolist() == [0, 1, 2]
    assert rows[rows["round"] == 12]["accuracy"].mean() > rows[rows["round"] == 0]["accuracy"].mean() + 0.2
    about = training.about(Path("runs/mine"))
    assert about["clients"] == 4 and about["d"] == 4 * 5 + 5 + 2 * 5 + 5 * 3 + 3  # without what is frozen
    again = trained(command, "runs/mine/setup.toml")  # from the folder alone
    pd.testing.assert_frame_equal(again, rows, check_exact=True)
    Path("mine.py").write_text(MODULES + "\n")
    status, _, err = command("train", "runs/mine/setup.toml", "--runs", "other")
    assert status == 2 and "model: " in err and "has the sha256" in err and not Path("other").exists()
    Path("mine.csv").unlink()
    status, _, err = command("train", "runs/mine/setup.toml", "--runs", "other")
    assert status == 2 and "mine.csv: No such file or directory; expected a file" in err


def test_images_in_folders_and_rows_as_images(command: Call) -> None:
    rows = trained(
        command, "pictures", *WORDS, "--model", "mine.py:Pixels", "--clients", "3", "--rounds", "2", "--seeds", "1"
    )
    assert rows["round"].tolist() == [0, 1, 2]
    setup = training.trained(Path("runs/pictures"))
    assert setup is not None and setup.problem().data.shape == (1, 4, 4) and len(setup.problem().data.test_labels) == 6
    data = own.images(Path("mine.npz"), shape=(1, 2, 2))
    table = pd.read_csv("mine.csv")[list("abcd")].to_numpy(np.float32)
    assert {tuple(image.ravel()) for image in (*data.images, *data.test_images)} == {tuple(row) for row in table}


def test_a_module_trains_to_the_same_numbers_stacked_as_one_by_one(command: Call) -> None:
    ends = []
    for way in ("loop", "stacked"):
        asked = ("mine.csv", *WORDS, "client=who", f"batching={way}", "--model", "mine.py:Rows", "--rounds", "3")
        assert command("train", *asked, "--runs", way)[0] == 0
        ends.append(training.arrays_of(Path(way, "mine", "seed-0.npz"))["x"])
    assert ends[0] == pytest.approx(ends[1], abs=1e-5) and not (ends[0] == 0).all()


def test_a_module_that_cannot_be_stacked_trains_one_by_one(command: Call) -> None:
    trained(command, "pictures", *WORDS, "--model", "mine.py:Looks", "--clients", "3", "--rounds", "1", "--seeds", "1")
    setup = training.trained(Path("runs/pictures"))
    assert setup is not None and setup.network["batching"] == "loop"
    with pytest.raises(ValueError, match="torch.func cannot stack mine.py:Looks .*; expected 'loop'"):
        replace(setup.problem(), batching="stacked")


def test_running_statistics_and_constants_of_a_module() -> None:
    """The test set is normalised by averages over the training batches; the other buffers stay as constructed."""
    setup = Setup(
        {"name": "own", "path": "mine.csv", "client": "who"},
        {"model": "mine.py:Rows", "batch": 4, "precision": "float64"},
        {"name": "PFL", "K": 1, "eta": 0.1},
        rounds=1,
    )
    net = setup.problem()
    assert isinstance(net, Network)
    x = torch.tensor(net.start(5))
    by_hand = own.constructed("mine.py:Rows", 5).double()
    constants = own.constructed("mine.py:Rows", 0).double()
    by_hand.frozen, by_hand.scale = constants.frozen, constants.scale  # type: ignore[assignment]
    by_hand.norm.momentum = None  # type: ignore[union-attr, assignment]
    mean, std = (s[:, 0, 0] for s in net._statistics)
    images, labels = ((torch.tensor(a[:, :, 0, 0]) - mean) / std for a in (net.data.images, net.data.test_images))
    by_hand.train()
    for rows in net.partition.clients:
        by_hand(images[rows])
    right = by_hand.eval()(labels).argmax(1) == torch.tensor(net.data.test_labels)
    assert float(net.accuracy(x[None])[0]) == pytest.approx(float(right.double().mean()))
    with torch.no_grad():
        losses = [torch.nn.functional.cross_entropy(by_hand.train()(images[r]), torch.tensor(net.data.labels[r])) for r in
                  net.partition.clients]  # fmt: skip
    assert float(net.value(x[None])[0]) == pytest.approx(float(torch.stack(losses).mean()))


REFUSED = [
    (("mine.csv", "client=who", "--model", "mine.py:Needs"), "Needs of mine.py needs the arguments width: expected"),
    (("mine.csv", "client=who", "--model", "mine.py:Short"), "makes outputs (2, 2) of rows (2, 4): expected (2, 3)"),
    (("mine.csv", "client=who", "--model", "mine.py:Drops"), "is random, as with dropout: expected"),
    (("mine.csv", "client=who", "--model", "mine.py:Counts"), "changes its buffer own.scale: expected constants"),
    (("mine.csv", "client=who", "--model", "mine.py:Idle"), "does not depend on own.more.weight: expected"),
    (("mine.csv", "client=who", "--model", "mine.py:Fails"), "mine.py, line"),
    (("mine.csv", "client=who", "--model", "mine.py:Nothing"), "no Nothing in mine.py: expected one of Rows, Pixels"),
    (("mine.csv", "client=who", "--model", "mine.py:number"), "number of mine.py is 3: expected a module"),
    (("mine.csv", "client=who", "--model", "mine.py:Pixels"), "Pixels of mine.py fails on rows (2, 4): "),
    (
        ("mine.csv", "client=who", "--model", "none.py:Net"),
        "none.py: No such file or directory; expected a Python file",
    ),
    (
        ("mine.csv", "client=who", "norm=batch", "--model", "mine.py:Rows"),
        "initial or norm with a network of one's own",
    ),
    (("mine.csv", "without=who", "test=1.5"), "test = 1.5: expected a share in (0, 1)"),
    (("mine.csv", "without=who", "test=0.99"), "has 20 rows: expected one at least beside the test set"),
    (("mine.csv", "without=who", "test=gone.csv"), "gone.csv"),
    (
        ("mine.csv", "client=who", "test=test.csv", "shape=1,3,3"),
        "shape = [1, 3, 3]: expected (C, H, W) with C H W = 4",
    ),
    (("mine.csv", "without=who", "against=7"), "against = 7: expected"),
    (("mine.csv", "target=colour"), "target=colour: expected a column of mine.csv"),
    (("mine.csv", "colour=3"), "unknown parameter colour; expected eta, K, S"),
    (("pictures", "target=a"), "target for a folder of images: expected them for a table only"),
    (("pictures/x",), "has the classes []: expected two sub-folders or more"),
    (("gone.csv",), "gone.csv is no file or folder of data"),
]


@pytest.mark.dear
@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_one_clear_error_and_nothing_written(command: Call, arguments: tuple[str, ...], message: str) -> None:
    status, _, err = command("train", arguments[0], *WORDS, *arguments[1:])
    assert status == 2 and message in err and len(err.splitlines()) == 1, err
    assert not Path("runs").exists()


def test_images_of_different_sizes_and_test_folders_with_other_classes(command: Call) -> None:
    Image.fromarray(np.zeros((5, 4), np.uint8)).save("pictures/y/big.png")
    status, _, err = command("train", "pictures", *WORDS)
    assert status == 2 and "big.png' has 5 x 4 pixels: expected 4 x 4, as the others" in err
    Path("pictures/y/big.png").write_text("no image")
    status, _, err = command("train", "pictures", *WORDS)
    assert status == 2 and "cannot read" in err and "expected PNG, JPEG, BMP" in err
    Path("pictures/y/big.png").unlink()
    Path("both").mkdir()
    Path("pictures").rename("both/train")
    Path("both/test/w").mkdir(parents=True)
    status, _, err = command("train", "both", *WORDS)
    assert status == 2 and "both/train: expected some of" in err and "no class w in" in err


EXTENDED = Setup(
    data={"name": "generated", "shape": [1, 8, 8], "classes": 3, "train": 60, "test": 20, "clients": 4},
    network={"model": "MLP, SFL", "batch": 5, "batching": "loop"},
    algorithm={"name": "SCAFFOLD", "tau": 2, "eta": 0.1, "S": 2},
    rounds=9,
    seeds=(0, 3),
    decay=0.95,
    every=2,
    tail=3,
    record=("value", "accuracy"),
    threads=1,
)


def test_an_extended_training_has_the_numbers_of_a_longer_one(tmp_path: Path) -> None:
    """With memories, a decaying step size, and other rounds that are measured; also from an interruption."""
    short = replace(EXTENDED, rounds=5)
    training.train(short, tmp_path / "run")
    assert training.extension(EXTENDED, tmp_path / "run").endswith("extends the training from 5 to 9 rounds")
    with pytest.raises(ValueError, match=r"rounds: 5, 9 here\): expected the same, --resume to extend it"):
        training.train(EXTENDED, tmp_path / "run")

    def tell(standing: training.Standing) -> None:
        if (standing.seed, standing.round) == (0, 7):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training.train(EXTENDED, tmp_path / "run", resume=True, tell=tell)
    found = training.train(EXTENDED, tmp_path / "run", resume=True)
    whole = training.train(EXTENDED, tmp_path / "whole")
    pd.testing.assert_frame_equal(found.drop(columns="seconds"), whole.drop(columns="seconds"), check_exact=True)
    ends: list[Any] = [training.arrays_of(tmp_path / name / "seed-3.npz")["x"] for name in ("run", "whole")]
    assert (ends[0] == ends[1]).all()
    with pytest.raises(ValueError, match="holds 9 rounds, more than rounds = 5: expected as many or more"):
        training.train(short, tmp_path / "run", resume=True)
