"""Section 5 and Appendices A and B: settings and printed numbers are read from theory.fedbat.experiments.

The authors' code is github.com/Leopold1423/fedbat-icml24; it has FedAvg and FedBAT, and no other method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import ceil
from typing import Any, cast

from bounds.presets import Cell, Preset
from simulations.networks.setup import Setup, settings_of
from theory import catalogue
from theory.statement import Record

Row = Mapping[str, Any]

DATA = {  # name, and images in the training set
    "FMNIST": ("fashion-mnist", 60_000),
    "SVHN": ("svhn", 73_257),
    "CIFAR-10": ("cifar-10", 50_000),
    "CIFAR-100": ("cifar-100", 50_000),
}
METHODS = {f"FedPAQ [{b}-bit]": f"FedPAQ, {b} bits" for b in (3, 4)}  # methods with another name in the registry
RECORD = ("value", "test_value", "accuracy")
EVERY = 2

COMMON = (
    "10 local epochs become local steps: as many as cover the mean number of images of a client, the same for all clients",
    "channels are standardised over the training set; torch's own initialisation; neither is printed",
    "strides, padding and pooling of the networks are not printed: see simulations.networks.models",
    "the source of batch normalisation's statistics in a test is not printed: the clients' images, passed through the "
    "tested model",
    "the weights and biases of batch normalisation are binarised and pruned as other layers are",
)
DEPARTS = (
    *COMMON,
    "one partition for all seeds, its seed not printed; classes are dealt out without keeping the clients' sizes alike, "
    "those of Non-IID-2 in equal parts to their owners",
    "no data augmentation is printed, and none used; weight decay and momentum are not printed: none",
    "the round of the accuracy is not printed: the last",
)
BASELINES = "ZeroFL also leaves out small activations in SWAT's backward pass; here it does not, see its docstring"
BIFL = "where BiFL leaves something open, see its docstring; its server's model is tested as it is, not binarised"


def _record(name: str) -> Record:
    return cast(Record, catalogue.find(f"fedbat.{name}").claim)


def _partition(row: Row) -> dict[str, Any]:
    """How the images are dealt out."""
    if row["partition"] == "IID":
        return {"partition": "iid"}
    if row["partition"] == "Non-IID-1":
        alphas = _record("data.noniid1").settings["Dirichlet parameter"]
        return {"partition": "dirichlet", "alpha": alphas[row["dataset"]]}
    return {"partition": "quantity", "C": _record("data.noniid2").settings["labels of a client"][row["dataset"]]}


def _algorithm(row: Row, steps: int) -> dict[str, Any]:
    """The algorithm's table: its name, and its settings by the algorithm's own names."""
    hyper = _record("hyper").settings
    name = METHODS.get(row["method"], row["method"].partition(" (")[0])
    own = settings_of(name)
    return {
        "name": name,
        "T" if "T" in own else "tau": steps,
        "S" if "S" in own else "K": hyper["participants"],
        "eta": hyper["learning rate"],
        **{symbol: row.get(symbol, hyper[symbol]) for symbol in ("rho", "phi") if symbol in own},
        **({"sparsity": _sparsity()} if "sparsity" in own else {}),
    }


def _sparsity() -> float:
    """The sparsity of ZeroFL."""
    (also,) = catalogue.find("fedbat.hyper").also
    return float(next(row["sparsity"] for row in cast(Record, also).table if row["method"] == "ZeroFL"))


def _setup(row: Row, record: tuple[str, ...] = RECORD, released: bool = False) -> Setup:
    """The training of a printed cell: method, dataset, clients, partition, and rho or phi."""
    hyper = _record("hyper").settings
    (model,) = [r["model"] for r in _record("data.sets").table if r["dataset"] == row["dataset"]]
    name, images = DATA[row["dataset"]]
    batches = images / row["clients"] / hyper["batch"]
    epochs = hyper["local epochs"]
    return Setup(
        data={
            "name": name,
            "clients": row["clients"],
            **_partition(row),
            **({"partition_seed": 1234} if released else {}),
        },
        network={"model": model, "batch": hyper["batch"], "order": "epochs", "weights": "sizes"},
        algorithm=_algorithm(row, epochs * ceil(batches) if released else ceil(epochs * batches)),
        rounds=hyper["rounds"][model],
        every=EVERY,
        record=record,
    )


def _cells(rows: Iterable[Row], **more: Any) -> tuple[Cell, ...]:
    return tuple(
        Cell(
            row["method"],
            f"{row['dataset']}, {row['clients']} clients, {row['partition']}",
            _setup(row, **more),
            {key: row[key] for key in ("accuracy", "std") if key in row},
        )
        for row in rows
    )


# --------------------------------------------------------------------------------------------------- presets


def _preset(id: str, says: str, cells: tuple[Cell, ...], *more: str) -> Preset:
    return Preset(f"fedbat.{id}", says, cells, _record("hyper").settings["runs"], last=1, departs=(*DEPARTS, *more))


def _table(id: str, says: str, *more: str) -> Preset:
    return _preset(id, says, _cells(_record(id).table), *more)


def _curves(id: str, says: str, *more: str, **measured: Any) -> Preset:
    """Figures 2 and 3: columns of Table 1 along the rounds."""
    drawn = _record(id).settings
    rows = [
        row
        for row in _record("table1").table
        if row["dataset"] in drawn["datasets"]
        and row["clients"] == drawn["clients"]
        and row["method"] in drawn["methods"]
    ]
    return _preset(id, says, _cells(rows, **measured), BASELINES, "the numbers are those of Table 1", *more)


def _released() -> Preset:
    rows = [row for row in _record("table1").table if row["method"] in ("FedAvg", "FedBAT")]
    return Preset(
        "fedbat.table1",
        "four data sets, 30 and 100 clients, FedAvg and FedBAT as the authors' code trains",
        _cells(rows, released=True),
        _record("hyper").settings["runs"],
        last=1,
        departs=(
            *COMMON,
            "follows github.com/Leopold1423/fedbat-icml24: an epoch ends with a smaller batch, here with a full one; the "
            "seed of the partitions is 1234; no weight decay, no momentum",
            "not followed: step sizes kept in [0.0005, 0.05], which FedBAT here has no setting for",
            "not followed: its ResNet-10 is twice as wide as printed; layers of batch normalisation are not binarised, and "
            "their statistics averaged",
            "not followed: clients weigh by numbers of batches, here by numbers of images",
            "not followed: Dirichlet draws that give no more to a client that has its share, and at least 10 images to "
            "everyone; labels of Non-IID-2 dealt out in turn",
            "not followed: random crops and flips of CIFAR; it reports the best round, here it is the last",
        ),
    )


PRESETS: dict[str, Callable[[], Preset]] = {
    "fedbat.table1": partial(_table, "table1", "four data sets, 30 and 100 clients, all methods", BASELINES),
    "fedbat.table1, as released": _released,
    "fedbat.table2": partial(_table, "table2", "FedBAT by rho, 100 clients, Non-IID-2"),
    "fedbat.table3": partial(_table, "table3", "FedBAT by phi, 100 clients, Non-IID-2"),
    "fedbat.table5": partial(
        _table,
        "table5",
        "FedPAQ and BiFL beside FedBAT, CIFAR-10, 100 clients",
        BIFL,
        "FedPAQ's bits are a sign and a level each, the levels of the Euclidean norm of the whole update",
    ),
    "fedbat.table6": partial(_table, "table6", "four data sets, 200 clients"),
    "fedbat.fig2": partial(
        _curves,
        "fig2",
        "CIFAR-100, 100 clients, all methods along the rounds",
        "the gradient norm is not in the figure",
        record=("value", "grad_sq", "test_value", "accuracy"),
    ),
    "fedbat.fig3": partial(_curves, "fig3", "FMNIST, SVHN and CIFAR-10, 100 clients, all methods along the rounds"),
}
