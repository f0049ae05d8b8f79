"""Fuzzed: train, by TOML files and options, and its folders: changed, damaged, resumed."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from driver import NASTY, ODD_NUMBERS, ODD_OTHERS, cases, fedtheory
from hypothesis import strategies as st

from fedtheory import training
from fedtheory.simulations.networks.setup import Setup

torch.set_num_threads(1)

# A set-up that trains in a few milliseconds
GOOD: dict[str, dict[str, Any]] = {
    "": {"rounds": 3, "seeds": [0, 2], "every": 2, "record": ["value", "accuracy"], "threads": 1},
    "data": {"name": "generated", "shape": [1, 4, 4], "classes": 2, "train": 12, "test": 4, "clients": 3},
    "network": {"model": "logistic", "batch": 2, "batching": "loop"},
    "algorithm": {"name": "SFL", "K": 2, "eta": 0.1},
}
_WORDS = "SFL PFL FedCOMGATE FedBAT SSL MLP digits cifar-10 dirichlet exdir sizes QSGD(s=3) / .. cuda meta conv1"
ODD: list[Any] = [*ODD_NUMBERS, *ODD_OTHERS, *_WORDS.split(), 3.5, "x" * 400, [0, 0], [0, 1, 2], 1e-300]
SETTINGS = {"": ["rounds", "seeds", "every", "record", "decay", "threads", "more"], "data": ["name", "shape",
    "classes", "train", "test", "clients", "partition", "alpha", "C", "path", "noise", "partition_seed"],
    "network": ["model", "batch", "batching", "norm", "order", "weight_decay", "clip", "weights", "cut_after",
    "device", "precision"], "algorithm": ["name", "K", "eta", "S", "tau", "T", "compressor", "k", "from", "gamma",
    "phi"]}  # fmt: skip
_OPTIONS = """--resume --rounds=2 --rounds=-1 --rounds=x --seeds=1 --seeds=0,0 --seeds=999999999999 --seeds=-1 --seeds=1,
--checkpoint=0 --checkpoint=nan --checkpoint=-1 --device=cpu --device=nowhere --device=cuda --data=generated --data=.
--cells=x --quick --from=no.py --runs=file --runs=other"""
OPTIONS = [*_OPTIONS.split(), "--runs=" + "y" * 300]


def toml(table: dict[str, dict[str, Any]]) -> str:
    lines = []
    for name, inner in table.items():
        lines += [f"[{name}]"] * bool(name)
        for key, value in inner.items():
            text = "nan" if value != value else "inf" if value == float("inf") else json.dumps(value)
            lines.append(f"{key} = {'{a = 1}' if isinstance(value, dict) and value else text}")
    return "\n".join(lines)


@st.composite
def commands(draw: Any) -> tuple[str, str, list[str]]:
    table = {name: dict(inner) for name, inner in GOOD.items()}
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2, 3]))):
        name = draw(st.sampled_from(list(GOOD)))
        key = draw(st.sampled_from(SETTINGS[name]))
        if draw(st.integers(0, 6)):
            table[name][key] = draw(st.sampled_from(ODD))
        else:
            table[name].pop(key, None)
    text = toml(table)
    if not draw(st.integers(0, 12)):
        text = draw(
            st.one_of(st.text(max_size=60), st.just(text[: len(text) // 2]), st.just(text + "\n[x]\n"), st.just("\x00"))
        )
    name = (
        "mine"
        if draw(st.integers(0, 12))
        else draw(st.sampled_from([".", "..", "x" * 300, "a b", "é", "", "%s", "-x"]))
    )
    options = draw(st.lists(st.sampled_from(OPTIONS), max_size=1 if draw(st.booleans()) else 2, unique=True))
    return name, text, options


def right(case: tuple[str, str, list[str]]) -> None:
    """Trains, or is refused before anything is written; what is trained has the rows that it should."""
    name, text, options = case
    for folder in ("runs", "other"):
        shutil.rmtree(folder, ignore_errors=True)
    Path("file").write_text("no folder")
    try:
        Path(f"{name}.toml").write_text(text, encoding="utf-8")
    except (OSError, UnicodeError):
        return
    answer = fedtheory("train", f"{name}.toml", *options)
    Path(f"{name}.toml").unlink()
    written = [p for folder in ("runs", "other") for p in Path(folder).rglob("*")]
    assert not [p for p in written if p.name.endswith(".partial")], written
    if answer.status:
        assert not [p for p in written if p.is_file()], written
        return
    folder = Path("other" if "--runs=other" in options else "runs", name)
    setup, rows = training.trained(folder), training.history(folder)
    assert isinstance(setup, Setup) and training.done(setup, rows)
    assert [s for s, _ in rows.groupby("seed")] == sorted(setup.seeds)
    assert np.isfinite(rows[rows["status"] == "ran"].drop(columns="status").to_numpy(float)).all()


test_toml = cases(commands())(right)


def damaged(draw: Any, folder: Path) -> str:
    """Change a file of a training; returns how."""
    what = draw(st.sampled_from(["cut", "empty", "byte", "gone", "pickle", "row", "cell", "array", "nan", "text"]))
    files = sorted(p for p in folder.iterdir() if p.is_file())
    file = draw(st.sampled_from(files))
    if what == "cut":
        file.write_bytes(file.read_bytes()[: draw(st.integers(0, file.stat().st_size))])
    elif what == "empty":
        file.write_bytes(b"")
    elif what == "byte":
        content = bytearray(file.read_bytes())
        content[draw(st.integers(0, len(content) - 1))] ^= draw(st.integers(1, 255))
        file.write_bytes(bytes(content))
    elif what == "gone":
        file.unlink()
    elif what == "pickle":
        file.write_bytes(pickle.dumps(Payload()))
    elif what == "text":
        file.write_text(draw(st.sampled_from(NASTY)), errors="replace")
    elif what in ("row", "cell"):
        file = folder / "history.csv"
        lines = file.read_text().splitlines()
        at = draw(st.integers(1, len(lines) - 1))
        cells = lines[at].split(",")
        cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(["nan", "x", "", "7", "1e999", "-1"]))
        lines[at : at + 1] = [] if what == "row" else [",".join(cells)]
        file.write_text("\n".join(lines) + "\n")
    else:
        file = draw(st.sampled_from(sorted(folder.glob("*.npz"))))
        with np.load(file) as found:
            arrays = {name: found[name] for name in found.files}
        name = draw(st.sampled_from(sorted(arrays)))
        if what == "array":
            del arrays[name]
        elif arrays[name].dtype.kind == "f":
            arrays[name] = np.full_like(arrays[name], np.nan)
        elif arrays[name].dtype.kind == "i":
            arrays[name] = arrays[name] + 10**6
        np.savez(file, **arrays)
    return f"{what} {file.name}"


class Payload:
    """A pickle that would create a file."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("ran"),))


SETUP = Setup(
    **{k: tuple(v) if isinstance(v, list) else v for k, v in GOOD[""].items()}, **{k: GOOD[k] for k in list(GOOD)[1:]}
)


def interrupted(folder: Path) -> None:
    """A training that ended after round 1 of its second seed, with a checkpoint."""

    def tell(standing: training.Standing) -> None:
        if standing.seed == SETUP.seeds[1] and standing.round == 1:
            raise KeyboardInterrupt

    try:
        training.train(SETUP, folder, tell=tell, checkpoint=0.0)
    except KeyboardInterrupt:
        return
    raise AssertionError("not interrupted")


def same_or_refused(data: st.DataObject) -> None:
    """A training that is resumed from changed files is refused, or ends with the numbers of an untouched one."""
    if not Path("whole").exists():
        training.train(SETUP, Path("whole"))
        interrupted(Path("half"))
    source = data.draw(st.sampled_from(["half", "half", "whole"]))
    shutil.rmtree("runs", ignore_errors=True)
    shutil.copytree(source, "runs/mine")
    how = damaged(data.draw, Path("runs/mine"))
    Path("mine.toml").write_text(toml(GOOD))
    answer = fedtheory("train", "mine.toml", "--resume")
    assert not Path("ran").exists()
    if answer.status == 0:
        found, expected = (training.history(Path(f)).drop(columns="seconds") for f in ("runs/mine", "whole"))
        pd.testing.assert_frame_equal(found, expected, check_exact=True, obj=how)


test_folders = cases(st.data())(same_or_refused)
