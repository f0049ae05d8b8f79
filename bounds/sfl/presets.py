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

from fedtheory.bounds.presets import Cell, Departure, Preset, with_tails
from fedtheory.simulations.networks.setup import Setup
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Record

Row = Mapping[str, Any]
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

COMMON = (
    "channels are standardised over the training set; not printed",
    "the seed of the partition is not printed: one partition for all seeds",
    "only the names of the networks are printed: the authors' layers, without the dropout of their MLP; torch's own "
    "initialisation, for VGG-9 He's",
    "of the seeds the paper prints one, 1234: here they are 0, 1, 2 ...",
)
CHOICES = (
    "how mini-batches are drawn is not printed: with replacement, as in the theory",
    "no data augmentation is printed, and none used",
    *COMMON,
    "what ExDir leaves open is decided as in fedtheory.simulations.partitions",
)
GRADIENT = "the gradient norm is measured too, which is not in the figure"
CHOSEN = "learning rates: Table 9, the best of Table 10, or, in nine settings, those of the authors' repository"
RELEASED = (
    "follows github.com/liyipeng00/convergence: PFL weighs clients by their numbers of images; a round reads images without "
    "replacement, in epochs that end with a smaller batch; random crops and flips of CIFAR-10; ExDir with its cap and least "
    "size; accuracy is measured every 4 rounds",
)
FILES = Departure(
    "the repository's partitions are files; here the same rule draws others",
    "they belong to its numbering of the images, and the preset should also run on other images",
)


def _record(name: str) -> Record:
    return catalogue.find(f"sfl.{name}").claim_of(Record)


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


def _fig2() -> Preset:
    record, search = _record("fig2"), _record("table10")
    what = record.settings["dataset"], record.settings["model"]
    rows = [row for row in search.table if (row["dataset"], row["model"]) == what]
    return Preset(
        "sfl.fig2",
        "VGG-9 on CIFAR-10 after 1000 rounds, by learning rate",
        _search(search, rows, record=("value", "grad_sq", "test_value", "accuracy")),
        seeds=1,
        last=search.settings["last rounds averaged"],
        choices=(*CHOICES, "the numbers of the bars are those of Table 10", GRADIENT),
    )


def _fig3() -> Preset:
    """The plots are not in the text."""
    model, dataset = (_record("fig2").settings[name] for name in ("model", "dataset"))
    (about,) = [row for row in _record("nn.setup").table if row["dataset"] == dataset]
    cells = tuple(
        Cell(
            f"SFL, K={K}",
            f"{dataset} {model}, C={C}",
            _setup(row, _rates()[dataset, model, C, 5, "SFL"], about["rounds"]),
        )
        for C in _record("nn.setup").settings["partition"]
        for K in _record("fig3").settings["K"]
        for row in [{"dataset": dataset, "model": model, "C": C, "K": K, "method": "SFL"}]
    )
    return Preset(
        "sfl.fig3",
        "the number of local steps of SFL",
        cells,
        seeds=_record("nn.setup").settings["random seeds"],
        last=about["last"],
        choices=(
            *CHOICES,
            "model, data set, rounds and learning rate of the two plots are not printed: VGG-9 on CIFAR-10, which the "
            "authors' repository ran with K = 1 too, one plot for each C, the learning rate of K = 5 throughout",
        ),
    )


def _table3(released: bool = False) -> Preset:
    record = _record("table3")
    rounds = dict.fromkeys(LARGE, record.settings["rounds"])
    cells = _best(record.table, rounds)
    if released:
        cells = tuple(replace(cell, setup=_as_released(cell.setup)) for cell in cells)
    return Preset(
        "sfl.table3",
        "CIFAR-10 and CINIC-10, PFL against SFL" + (", as the authors' code trains" if released else ""),
        cells,
        seeds=record.settings["random seeds"],
        last=record.settings["last rounds averaged"],
        choices=(*((*RELEASED, *COMMON) if released else CHOICES), CHOSEN),
        departs=(FILES,) if released else (),
        accuracy="late",
    )


def _as_released(setup: Setup) -> Setup:
    network, algorithm = {**setup.network, "order": "whole epochs"}, dict(setup.algorithm)
    if setup.data["name"] == "cifar-10":
        network |= {"crop": 4, "flip": True}
    if algorithm["name"] == "PFL":
        network |= {"weights": "sizes"}
        algorithm |= {"name": "FedAvg", "tau": algorithm.pop("K")}
    data = {**setup.data, "partition": "exdir_capped"}
    return replace(setup, data=data, network=network, algorithm=algorithm, every=4)


def _table7() -> Preset:
    record = _record("table7")
    return Preset(
        "sfl.table7",
        "gradient clipping, VGG-9 on CIFAR-10, by learning rate",
        _search(record, (_in_full(record, row) for row in record.table)),
        seeds=1,
        last=record.settings["last rounds averaged"],
        choices=(*CHOICES, "the number of seeds is not printed: one, as in the grid search"),
    )


def _table8(id: str, run: str) -> Preset:
    settings = _record("table8").settings[f"{run} run"]
    return Preset(
        id,
        f"gradient clipping, VGG-9 on CIFAR-10, {settings['rounds']} rounds",
        _clipped(run),
        seeds=1,
        last=settings["last rounds averaged"],
        choices=(*CHOICES, "the number of seeds is not printed: one, as in the grid search"),
    )


def _table9(id: str) -> Preset:
    return Preset(
        id,
        "fine search of the learning rate, VGG-9 on CIFAR-10",
        _candidates(),
        seeds=1,
        last=_record("table8").settings["long run"]["last rounds averaged"],
        choices=(*CHOICES, "how many rounds are averaged is not printed: as in the long run of Table 8"),
    )


def _table10(id: str) -> Preset:
    record = _record("table10")
    return Preset(
        id,
        "grid search of the learning rate",
        _search(record, record.table),
        seeds=1,
        last=record.settings["last rounds averaged"],
        choices=(*CHOICES, "digits that the scan of Table 10 leaves in doubt are its best reading"),
    )


def _table11(id: str, datasets: tuple[str, ...]) -> Preset:
    """Half of the table: data sets of which the same number of last rounds is averaged."""
    settings = _record("table11").settings
    (last,) = {settings["last rounds averaged"][dataset] for dataset in datasets}
    return Preset(
        id,
        f"{' and '.join(datasets)}, PFL against SFL",
        _best([row for row in _record("table11").table if row["dataset"] in datasets], settings["rounds"]),
        seeds=settings["random seeds"],
        last=last,
        choices=(*CHOICES, CHOSEN),
        accuracy="late",
    )


_BUILD: dict[str, Callable[[], Preset]] = {
    "sfl.fig2": _fig2,
    "sfl.fig3": _fig3,
    "sfl.table3": _table3,
    "sfl.table3, as released": partial(_table3, released=True),
    "sfl.table7": _table7,
    "sfl.table8": partial(_table8, "sfl.table8", "long"),
    "sfl.table8, short run": partial(_table8, "sfl.table8", "short"),
    "sfl.fig10": partial(_table8, "sfl.fig10", "long"),
    "sfl.table9": partial(_table9, "sfl.table9"),
    "sfl.fig10, Figure 11": partial(_table9, "sfl.fig10"),
    "sfl.table10": partial(_table10, "sfl.table10"),
    "sfl.fig10, Figure 12": partial(_table10, "sfl.fig10"),
    "sfl.table11": partial(_table11, "sfl.table11", SMALL),
    "sfl.table11, CIFAR-10 and CINIC-10": partial(_table11, "sfl.table11", LARGE),
    "sfl.fig16": partial(_table11, "sfl.fig16", LARGE),
    "sfl.fig16, Figures 13 and 14": partial(_table11, "sfl.fig16", SMALL),
}
PRESETS: dict[str, Callable[[], Preset]] = {name: partial(with_tails, build) for name, build in _BUILD.items()}
