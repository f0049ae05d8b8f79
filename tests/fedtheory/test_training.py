"""Trainings in folders: killed and resumed, refused, read again; tables beside what is printed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks import difficulty, gpu, networks
from fedtheory import tables, training
from fedtheory.bounds.presets import Cell, Preset, with_tails
from fedtheory.simulations.compressors import from_text
from fedtheory.simulations.networks import images
from fedtheory.simulations.networks.problem import Network
from fedtheory.simulations.networks.setup import ALGORITHMS, Setup, from_table

torch.set_num_threads(1)

SETUP = Setup(
    data={"name": "generated", "shape": [1, 8, 8], "classes": 4, "train": 120, "test": 40}
    | {"partition": "dirichlet", "clients": 6, "alpha": 1.0},
    network={"model": "MLP", "batch": 5, "batching": "loop"},
    algorithm={"name": "FedCOMGATE", "tau": 2, "eta": 0.1, "k": 0.5, "compressor": "RandK(k=2000)"},
    rounds=8,
    seeds=(0, 3),
    decay=0.95,
    every=3,
    record=("value", "test_value", "accuracy", "grad_sq"),
    threads=1,
)


def numbers(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.drop(columns="seconds")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    training.train(SETUP, folder)
    return folder


def test_what_a_folder_holds(whole):
    assert sorted(p.name for p in whole.iterdir()) == [
        "environment.json",
        "history.csv",
        "seed-0.npz",
        "seed-3.npz",
        "setup.toml",
    ]
    assert training.trained(whole) == from_table(SETUP.table())
    rows = training.history(whole)
    assert rows["round"].tolist() == [0, 3, 6, 8] * 2 and rows["seed"].tolist() == [0] * 4 + [3] * 4
    last = rows.iloc[3]
    d = training.about(whole)["d"]
    width = (d - 1).bit_length()
    assert last["bits_up"] == 8 * 3 * 2000 * (32 + width) and last["bits_down"] == 8 * 3 * 2 * 32 * d
    assert last["client_steps"] == 8 * 3 * 2
    problem = SETUP.problem()
    with np.load(whole / "seed-3.npz") as model:
        assert {"history", "round", "x", "measured"} < set(model.files)
        accuracy = float(problem.accuracy(torch.tensor(model["x"]))[0, 0])
    assert accuracy == pytest.approx(rows["accuracy"].iloc[-1], abs=1e-6)
    assert not any(rows["value"].iloc[:4].to_numpy() == rows["value"].iloc[4:].to_numpy())  # seeds differ


def test_a_seed_has_the_same_history_alone(whole, tmp_path):
    alone = training.train(replace(SETUP, seeds=(3,)), tmp_path / "alone")
    both = training.history(whole)
    pd.testing.assert_frame_equal(
        numbers(alone), numbers(both[both["seed"] == 3].reset_index(drop=True)), check_exact=True
    )


def test_killed_and_resumed(whole, tmp_path):
    """A process that is killed in the middle of the second seed, once its first checkpoint is there."""
    folder = tmp_path / "run"
    program = (
        "import os, signal, torch; torch.set_num_threads(1)\n"
        "from pathlib import Path; from fedtheory import training\n"
        f"setup = training.read_setup(Path({str(whole / 'setup.toml')!r}))\n"
        "def tell(s):\n"
        "    if s.seed == 3 and s.round == 5: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"training.train(setup, Path({str(folder)!r}), tell=tell, checkpoint=0.0)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    setup = training.read_setup(whole / "setup.toml")
    assert training.history(folder)["round"].tolist() == [0, 3, 6, 8, 0, 3]
    with pytest.raises(ValueError, match="interrupted after round 3 of seed 3: expected --resume"):
        training.train(setup, folder)
    told = []
    found = training.train(setup, folder, resume=True, tell=told.append)
    assert [(s.seed, s.round) for s in told] == [(3, 6), (3, 7), (3, 8)]
    pd.testing.assert_frame_equal(numbers(found), numbers(training.history(whole)), check_exact=True)
    with np.load(folder / "seed-3.npz") as here, np.load(whole / "seed-3.npz") as there:
        assert (here["x"] == there["x"]).all()


@pytest.mark.parametrize("checksum", [np.array(["a", "b"]), np.zeros((2, 2)), np.array("a")])
def test_a_checkpoint_with_another_checksum(checksum):
    with pytest.raises(ValueError, match=r"seed-0.npz: the checksum is not that of its arrays: expected"):
        training._restore(None, {training._CHECKSUM: checksum, "round": np.zeros(3)}, Path("seed-0.npz"))


@pytest.mark.parametrize("where", ["gradient", "value"])
def test_interrupted_in_the_middle_of_a_round(where, tmp_path, monkeypatch):
    """What a broken round has touched is not kept: the last checkpoint is."""
    setup, calls = replace(SETUP, seeds=(0,), every=2), []
    plain = getattr(Network, where)

    def broken(self, *arguments):
        calls.append(None)
        if len(calls) == {"gradient": 9, "value": 4}[where]:
            raise KeyboardInterrupt
        return plain(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Network, where, broken)
        with pytest.raises(KeyboardInterrupt):
            training.train(setup, tmp_path / "run", checkpoint=0.0)
    assert 0 < training.history(tmp_path / "run")["round"].max() < 8
    assert (training.history(tmp_path / "run")["status"] == "ran").all()
    rows = training.train(setup, tmp_path / "run", resume=True)
    pd.testing.assert_frame_equal(numbers(rows), numbers(training.train(setup, tmp_path / "other")), check_exact=True)


def test_a_training_that_is_done_is_read(whole):
    def tell(standing: training.Standing) -> None:
        raise AssertionError("nothing is to be run")

    before = {p.name: p.stat().st_mtime_ns for p in whole.iterdir()}
    rows = training.train(SETUP, whole, tell=tell)
    assert len(rows) == 8 and before == {p.name: p.stat().st_mtime_ns for p in whole.iterdir()}


def test_another_set_up_is_refused(whole, tmp_path):
    with pytest.raises(ValueError, match=r"holds another set-up \(rounds: 8, 9 here\): expected the same, --resume to"):
        training.train(replace(SETUP, rounds=9), whole)
    with pytest.raises(ValueError, match=r"algorithm.eta: 0.1, 0.2 here"):
        training.train(replace(SETUP, algorithm={**SETUP.algorithm, "eta": 0.2}), whole)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds no training, but other files"):
        training.train(SETUP, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_killed_before_anything_was_set_up(whole, tmp_path):
    (tmp_path / "environment.json").write_text("{}")
    (tmp_path / "setup.toml.partial").write_text("rou")
    rows = training.train(SETUP, tmp_path)
    pd.testing.assert_frame_equal(numbers(rows), numbers(training.history(whole)), check_exact=True)


def test_divergence_ends_a_seed(tmp_path):
    setup = replace(SETUP, algorithm={"name": "PFL", "K": 5, "eta": 1e6}, seeds=(0,), every=1)
    rows = training.train(setup, tmp_path / "run")
    assert rows["status"].iloc[-1] == "diverged" and np.isnan(rows["value"].iloc[-1])
    assert len(rows) < 9 and (rows["status"].iloc[:-1] == "ran").all()
    assert training.done(setup, rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 0}, "rounds = 0"),
        ({"every": 2.5}, r"every = 2\.5"),
        ({"seeds": []}, r"seeds = \[\]"),
        ({"seeds": [1, 1]}, r"seeds = \[1, 1\]"),
        ({"record": ["beauty"]}, "expected some of value, grad_sq"),
        ({"speed": 3}, "speed unknown; expected some of data, network"),
        ({"data": {"name": "digits"}}, "data: clients missing"),
        ({"data": {"name": "digits", "clients": 3, "colour": 1}}, "colour unknown"),
        ({"data": {"name": "digits", "clients": 3, "partition": "heap"}}, "partition = 'heap'"),
        ({"data": {"name": "digits", "clients": 3, "partition": "exdir"}}, "C, alpha missing"),
        ({"network": {"batch": 3}}, "model missing"),
        ({"network": {"model": "MLP", "layers": 3}}, "layers unknown"),
        ({"network": 3}, r"network = 3: expected a table"),
        ({"network": {"model": "small CNN", "cut_after": "conv1"}}, r"cut_after with .*: expected none"),
        ({"algorithm": {"name": "PFL", "K": 3}}, "eta missing"),
        ({"algorithm": {"name": "PFL", "K": 3, "eta": [0.1, 0.2]}}, r"eta = \[0.1, 0.2\]: expected one number"),
        ({"threads": 0}, "threads = 0"),
        ({"decay": 2}, "decay = 2: expected a number in"),
        ({"decay": "x"}, "decay = x"),
        ({"record": []}, r"record = \[\]"),
        ({"algorithm": {"name": "PFL", "eta": 1.0}}, "K missing"),
        (
            {"algorithm": {"name": "PFL", "eta": 1.0, "K": 1, "tau": 3}},
            "tau unknown; expected some of name, from, K, eta, S",
        ),
        ({"algorithm": {"name": "Adam", "eta": 1.0}}, "algorithm 'Adam': expected one of"),
    ],
)
def test_refused_set_ups(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        from_table({**SETUP.table(), **change})


def test_refused_files(tmp_path):
    file = tmp_path / "setup.toml"
    file.write_text("rounds = \n")
    with pytest.raises(ValueError, match=r"setup\.toml: "):
        training.read_setup(file)
    with pytest.raises(ValueError, match="expected QSGD with s"):
        from_text("QSGD(levels=3)")
    with pytest.raises(ValueError, match="unknown compressor 'Zip'"):
        from_text("Zip")
    (tmp_path / "history.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="expected the history of a training"):
        training.history(tmp_path)
    with pytest.raises(ValueError, match="seeds = 'many'"):
        tables.which_seeds("many")
    assert tables.which_seeds("3") == (0, 1, 2) and tables.which_seeds("0,5") == (0, 5)


def test_images_that_are_read_need_a_folder():
    setup = replace(SETUP, data={"name": "cifar-10", "clients": 10})
    with pytest.raises(ValueError, match="cifar-10 is read from files: expected --data FOLDER"):
        tables.on(setup, None)
    with pytest.raises(ValueError, match="data.name = 'emnist-letters': no size is known"):
        tables.on(replace(SETUP, data={"name": "emnist-letters", "clients": 10}), "generated")
    assert tables.on(setup, "pictures").data["path"] == "pictures"
    stand_in = tables.on(setup, "generated").data
    assert stand_in["name"] == "generated" and stand_in["shape"] == [3, 32, 32] and stand_in["clients"] == 10
    assert tables.on(SETUP, None) == SETUP
    with pytest.raises(ValueError, match="generated is read from no file: expected no --data"):
        tables.on(SETUP, "pictures")
    with pytest.raises(
        ValueError, match="no images 'mine.csv': expected one of digits, generated, mnist.*or own with path"
    ):
        tables.on(replace(SETUP, data={"name": "mine.csv", "clients": 10}), None).problem()


def test_generated_images_are_as_hard_as_the_published_ones() -> None:
    """The noise is the measured one, and that of a data set without a reference is another one's."""
    measured = json.loads((Path(__file__).parents[2] / "benchmarks" / "results.json").read_text())
    for name, of in difficulty.references().items():
        *_, noise = tables.SIZES[name]
        found = measured[f"difficulty, {name}"]
        assert (found["model"], found["printed"], found["noise"]) == (of.model, of.printed, noise), name
        assert min(found["tried"].values()) < of.printed < max(found["tried"].values())
    alike = {"emnist": "mnist", "emnist-byclass": "mnist", "emnist-digits": "mnist", "tiny-imagenet": "cifar-100"}
    alike["cinic-10-enlarged"] = "cinic-10"
    assert tables.SIZES.keys() == {*difficulty.references(), *alike}
    assert all(tables.SIZES[name][-1] == tables.SIZES[as_][-1] for name, as_ in alike.items())
    stand_in = tables.on(replace(SETUP, data={"name": "mnist", "clients": 10}), "generated")
    assert stand_in.data["noise"] == tables.SIZES["mnist"][-1]


def test_the_noise_of_an_accuracy_is_sought_between_two_others() -> None:
    noise, tried = difficulty.sought(lambda noise: 100 / (1 + noise), 50)
    assert noise == pytest.approx(1, rel=0.02) and len(tried) == difficulty.EVALUATIONS
    with pytest.raises(ValueError, match="accuracy 99.9 %: not between the tried ones"):
        difficulty.sought(lambda noise: 100 / (1 + noise), 99.9)


def test_harder_images_are_learned_less_well() -> None:
    easy, hard = (
        difficulty.central_accuracy("MLP, SFL", images.generated((1, 8, 8), 4, 1000, 400, noise=noise), epochs=40)
        for noise in (0.1, 3.0)
    )
    assert easy > hard + 20


def test_how_long_a_training_takes_is_estimated_from_one_step() -> None:
    problem = SETUP.problem()
    ticks = iter([0.0, 9.0, 10.0, 12.0])  # gradients of 9 and of 2 seconds
    pace = training.pace(problem, SETUP.method(problem), SETUP.record, lambda: next(ticks))
    clients, images = 3, 120 + 40 + 40 + 3 * 120  # F, loss and accuracy on the test set, the gradient
    assert (pace.step, pace.local_steps, pace.round) == (2.0, 2, 2.0 * clients * 2)
    assert pace.measurement == pytest.approx(2 / 3 / 5 * images)
    assert pace.whole(SETUP) == pytest.approx(
        2 * (8 * pace.round + 4 * pace.measurement)
    )  # seeds, rounds, measured ones


def test_long_trainings_say_how_long(whole: Path, tmp_path: Path) -> None:
    long = replace(SETUP, rounds=10**8, every=10**7)
    assert tables.forecast({tmp_path / "short": SETUP}) == tables.forecast({whole: long}) == ""
    assert re.fullmatch(r"about \d[\d,.]* (hours|days) here, .*", tables.forecast({tmp_path / "long": long}))


def test_what_a_history_comes_to():
    rows = pd.DataFrame(
        {
            "seed": [0, 0, 0, 1, 1, 1, 2, 2],
            "round": [0, 5, 10, 0, 5, 10, 0, 5],
            "status": ["ran"] * 7 + ["diverged"],
            "accuracy": [0.1, 0.5, 0.7, 0.1, 0.6, 0.9, 0.1, np.nan],
            "value": [2.0, 1.0, 0.5, 2.0, 1.0, 0.7, 2.0, np.nan],
            "bits_up": [0, 320, 640, 0, 320, 640, 0, 320],
            "client_steps": [0, 10, 20, 0, 10, 20, 0, 10],
            "seconds": [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0, 1.0],
        }
    )
    setup = replace(SETUP, rounds=10)
    preset = Preset("an id", "two late rounds", (Cell("a", "b", setup, target=55.0),), 3, last=6, choices=())
    got = tables.found(preset, preset.cells[0], setup, rows, d=5, participants=2)
    assert (got.seeds, got.diverged) == (3, 1)
    assert got.accuracy == pytest.approx((60 + 75) / 2) and got.std == pytest.approx(np.std([60, 75], ddof=1))
    assert got.loss == pytest.approx(0.6) and got.rate == pytest.approx(10.0)
    assert got.floats == pytest.approx(320 / (2 * 32 * 5))
    never = tables.found(preset, Cell("a", "b", setup, target=99.0), setup, rows, d=5, participants=2)
    assert np.isinf(never.floats)
    for other, accuracies in (
        (replace(preset, accuracy="late"), [50, 70, 60, 90]),
        (replace(preset, accuracy="best", last=1), [70, 90]),
        (replace(preset, last=0.1), [70, 90]),  # a tenth of the rounds is one
    ):
        got = tables.found(other, other.cells[0], setup, rows, d=5, participants=2)
        assert (got.accuracy, got.std) == pytest.approx((np.mean(accuracies), np.std(accuracies, ddof=1)))


def test_what_is_averaged_is_measured():
    """SETUP measures every third round, and the last."""
    cells = (Cell("a", "b", replace(SETUP, rounds=100, every=30)),)
    preset = Preset("an id", "the last tenth", cells, 1, last=0.1, choices=())
    assert cells[0].setup.measured == [0, 30, 60, 90, 100]
    (tailed,) = with_tails(lambda: preset).cells
    assert tailed.setup.measured == [0, 30, 60, *range(90, 101)]
    late = replace(SETUP, rounds=7, every=2, tail=3)
    assert late.measured == [0, 2, 4, 5, 6, 7]


def test_order_of_methods():
    cell = [Cell(m, "c", SETUP, {"accuracy": a}) for m, a in (("x", 50.0), ("y", 60.0), ("z", 70.0))]
    other = Cell("w", "d", SETUP, {"accuracy": 10.0})

    def got(accuracy: float) -> tables.Result:
        return tables.Result(1, 0, accuracy, np.nan, 0.1, None, 1.0, 1.0)

    pairs = [(cell[0], got(1)), (cell[1], got(3)), (cell[2], got(2)), (other, got(0))]
    assert tables.order_kept(pairs) == (2, 3)
    assert tables.order_kept([(cell[0], got(1)), (cell[1], got(np.nan))]) == (0, 1)  # diverged: not more accurate


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_benchmark_of_networks_has_every_algorithm(name):
    assert gpu.begun(gpu.small_training(name, "cpu", "loop")).advance()


def test_the_benchmark_of_networks_does_rounds_in_every_way():
    for one_round in networks.works("MLP", (1, 28, 28), 10, "cpu").values():
        one_round()
