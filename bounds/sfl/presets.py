"""Section 4.2 and Appendix G: networks trained by PFL and SFL; settings and numbers from theory/sfl/experiments.toml.

The learning rates: Table 9 for VGG-9 on CIFAR-10.  Elsewhere the best of Table 10, which for MNIST and FMNIST is the whole
search.  For CIFAR-10 and CINIC-10 a fine search chose among the nearly best ones, and "for fine-grained search of other
settings, please refer to the code" (Appendix G.3).  `FINE` are the nine settings whose learning rate in the code's README,
github.com/liyipeng00/convergence, is not that of Table 10.  The README also lists the runs with K = 1 that Figure 3 needs,
with the learning rate for K = 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from math import isinf
from typing import Any

from fedtheory.bounds.presets import WITH_GRADIENT, Cell, Row, declared, record, with_tails
from fedtheory.simulations.networks.setup import Setup
from fedtheory.theory.statement import Record

Task = tuple[str, str, int, int, str]  # data set, model, C, K, method

DATA = {"MNIST": "mnist", "FMNIST": "fashion-mnist", "CIFAR-10": "cifar-10", "CINIC-10": "cinic-10"}
MODELS = {
    "Logistic": "logistic",
    "MLP": "MLP, SFL",
    "LeNet-5": "LeNet-5, SFL",
    "CNN": "CNN, SFL",
    "VGG-9": "VGG-9",
    "ResNet-18": "ResNet-18",
}
FINE: dict[Task, float] = {
    ("CIFAR-10", "ResNet-18", 1, 5, "PFL"): 0.3,
    ("CIFAR-10", "ResNet-18", 1, 50, "SFL"): 0.01,
    ("CIFAR-10", "ResNet-18", 2, 5, "SFL"): 0.03,
    ("CINIC-10", "VGG-9", 1, 5, "SFL"): 0.01,
    ("CINIC-10", "VGG-9", 1, 20, "SFL"): 0.003,
    ("CINIC-10", "VGG-9", 2, 5, "SFL"): 0.01,
    ("CINIC-10", "ResNet-18", 2, 5, "SFL"): 0.03,
    ("CINIC-10", "ResNet-18", 2, 20, "PFL"): 0.1,
    ("CINIC-10", "ResNet-18", 2, 50, "PFL"): 0.3,
}
SMALL, LARGE = ("MNIST", "FMNIST"), ("CIFAR-10", "CINIC-10")
EVERY = 10
_record = partial(record, "sfl")


def _task(row: Row) -> Task:
    return row["dataset"], row["model"], row["C"], row["K"], row["method"]


@cache
def _rates() -> dict[Task, float]:
    """The learning rate of every setting, as the module's docstring explains."""
    search, fine = _record("table10"), _record("table9")
    used = search.settings["values used"]
    best = {_task(row): used[max(row["accuracy"], key=row["accuracy"].get)] for row in search.table}
    kept = {_task(_in_full(fine, row)): row["kept"] for row in fine.table}
    return best | FINE | kept


def _in_full(record: Record, row: Row) -> Row:
    """A row of a table about one model on one data set, with the names of both."""
    return {"dataset": record.settings["dataset"], "model": record.settings["model"], **row}


def _column(row: Row) -> str:
    return f"{row['dataset']} {row['model']}, C={row['C']}, K={row['K']}"


def _setup(row: Row, eta: float, rounds: int, max_norm: float | None = None, **more: Any) -> Setup:
    """The training of a dataset, model, C, K and method; clipped at max_norm, by default the method's; inf: no clipping."""
    general = _record("nn.setup")
    settings = general.settings
    (about,) = [r for r in general.table if r["dataset"] == row["dataset"]]
    C, alpha = settings["partition"][row["C"]].removeprefix("ExDir(").removesuffix(")").split(", ")
    clip = settings["max norm"][row["method"]] if max_norm is None else max_norm
    return Setup(
        data={
            "name": DATA[row["dataset"]],
            "partition": "exdir",
            "clients": about["clients"],
            "C": int(C),
            "alpha": float(alpha),
        },
        network={
            "model": MODELS[row["model"]],
            "batch": settings["mini-batch size"],
            "weight_decay": settings["weight decay"],
            **({} if isinf(clip) else {"clip": clip}),
        },
        algorithm={"name": row["method"], "K": row["K"], "S": settings["participating clients"], "eta": eta},
        rounds=rounds,
        every=EVERY,
        **more,
    )


def _best(rows: Iterable[Row], rounds: Mapping[str, int]) -> tuple[Cell, ...]:
    """The cells of Tables 3 and 11."""
    return tuple(
        Cell(
            row["method"],
            _column(row),
            _setup(row, _rates()[_task(row)], rounds[row["dataset"]]),
            {"accuracy": row["mean"], "std": row["std"]},
        )
        for row in rows
    )


def _search(of: Record, rows: Iterable[Row], **more: Any) -> tuple[Cell, ...]:
    """The cells of Tables 7 and 10: every learning rate, keyed by its printed exponent."""
    return tuple(
        Cell(
            f"{row['method']}, {norm}eta={eta:g}",
            _column(row),
            _setup(row, eta, of.settings["rounds"], row.get("max norm"), **more),
            {"accuracy": accuracy},
        )
        for row in rows
        for norm in [f"max norm {row['max norm']:g}, " if "max norm" in row else ""]
        for exponent, accuracy in row["accuracy"].items()
        for eta in [of.settings["values used"][exponent]]
    )


def _clipped(run: str) -> tuple[Cell, ...]:
    """The "short" or the "long" runs of Table 8."""
    record = _record("table8")
    used = record.settings["values used"]
    return tuple(
        Cell(
            f"{row['method']}, max norm {row['max norm']:g}",
            _column(row),
            _setup(row, used[row["lr"]], record.settings[f"{run} run"]["rounds"], row["max norm"]),
            {"accuracy": row[run]},
        )
        for row in (_in_full(record, row) for row in record.table)
    )


def _candidates() -> tuple[Cell, ...]:
    """The cells of Table 9 and Figure 11."""
    record, rounds = _record("table9"), _record("nn.grid").settings["fine search"]["rounds"]
    return tuple(
        Cell(
            f"{row['method']}, eta={eta:g}",
            _column(row),
            _setup(row, eta, rounds),
            {} if accuracy is None else {"accuracy": accuracy},
        )
        for row in (_in_full(record, row) for row in record.table)
        for eta, accuracy in row["candidates"].items()
    )


# --------------------------------------------------------------------------------------------------- presets


def _fig2() -> tuple[Cell, ...]:
    record, search = _record("fig2"), _record("table10")
    what = record.settings["dataset"], record.settings["model"]
    rows = [row for row in search.table if (row["dataset"], row["model"]) == what]
    return _search(search, rows, record=WITH_GRADIENT)


def _fig3() -> tuple[Cell, ...]:
    """The plots are not in the text."""
    model, dataset = (_record("fig2").settings[name] for name in ("model", "dataset"))
    (about,) = [row for row in _record("nn.setup").table if row["dataset"] == dataset]
    return tuple(
        Cell(
            f"SFL, K={K}",
            f"{dataset} {model}, C={C}",
            _setup(row, _rates()[dataset, model, C, 5, "SFL"], about["rounds"]),
        )
        for C in _record("nn.setup").settings["partition"]
        for K in _record("fig3").settings["K"]
        for row in [{"dataset": dataset, "model": model, "C": C, "K": K, "method": "SFL"}]
    )


def _table3() -> tuple[Cell, ...]:
    record = _record("table3")
    return _best(record.table, dict.fromkeys(LARGE, record.settings["rounds"]))


def _released() -> tuple[Cell, ...]:
    return tuple(replace(cell, setup=_as_released(cell.setup)) for cell in _table3())


def _as_released(setup: Setup) -> Setup:
    network, algorithm = {**setup.network, "order": "whole epochs"}, dict(setup.algorithm)
    if setup.data["name"] == "cifar-10":
        network |= {"crop": 4, "flip": True}
    if algorithm["name"] == "PFL":
        network |= {"weights": "sizes"}
        algorithm |= {"name": "FedAvg", "tau": algorithm.pop("K")}
    data = {**setup.data, "partition": "exdir_capped"}
    return replace(setup, data=data, network=network, algorithm=algorithm, every=4)


def _searched(name: str) -> tuple[Cell, ...]:
    """Tables 7 and 10."""
    record = _record(name)
    return _search(record, (_in_full(record, row) for row in record.table) if name == "table7" else record.table)


def _table11(*datasets: str) -> tuple[Cell, ...]:
    """Half of the table: data sets of which the same number of last rounds is averaged."""
    record = _record("table11")
    return _best([row for row in record.table if row["dataset"] in datasets], record.settings["rounds"])


_CELLS: dict[str, Callable[[], tuple[Cell, ...]]] = {
    "fig2": _fig2,
    "fig3": _fig3,
    "table3": _table3,
    "table3, as released": _released,
    "table7": partial(_searched, "table7"),
    "table8": partial(_clipped, "long"),
    "table8, short run": partial(_clipped, "short"),
    "table9": _candidates,
    "table10": partial(_searched, "table10"),
    "table11": partial(_table11, *SMALL),
    "table11, CIFAR-10 and CINIC-10": partial(_table11, *LARGE),
}
PRESETS = {name: partial(with_tails, build) for name, build in declared("sfl", _CELLS).items()}
