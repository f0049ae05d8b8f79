"""Section 5 and Appendices A and B: settings and printed numbers are read from fedtheory.theory.fedbat.experiments.

The authors' code is github.com/Leopold1423/fedbat-icml24; it has FedAvg and FedBAT, and no other method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, cast

from fedtheory.bounds.presets import Cell, Departure, Preset
from fedtheory.simulations.networks.setup import Setup, settings_of
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Record

Row = Mapping[str, Any]

DATA = {"FMNIST": "fashion-mnist", "SVHN": "svhn", "CIFAR-10": "cifar-10", "CIFAR-100": "cifar-100"}
METHODS = {f"FedPAQ [{b}-bit]": f"FedPAQ, {b} bits" for b in (3, 4)}  # methods with another name in the registry
RECORD = ("value", "test_value", "accuracy")
EVERY = 2

COMMON = (
    "an epoch ends with a smaller batch, as in the authors' code; not printed",
    "channels are standardised over the training set; not printed",
    "strides, padding and pooling of the networks are not printed: see fedtheory.simulations.networks.models",
)
CHOICES = (
    *COMMON,
    "the source of batch normalisation's statistics in a test is not printed: the clients' images, passed through the "
    "tested model",
    "how the parameters of batch normalisation are sent is not printed: binarised and pruned as other layers are",
    "the seed of the partition is not printed: one partition for all seeds; nor whether clients' sizes are kept alike: they "
    "are not, and the classes of Non-IID-2 are dealt out in equal parts to their owners",
    "neither data augmentation nor weight decay nor momentum is printed: none; torch's own initialisation",
    "the round of the accuracy is not printed: the last",
)
BIFL = "where BiFL leaves something open, see its docstring; its server's model is tested as it is, not binarised"
STATISTICS = Departure(
    "the statistics of batch normalisation in a test are those of the clients' images in the tested model",
    "the code averages running statistics; here a model is its parameters, so that theory and code have the same x",
)


def _record(name: str) -> Record:
    return catalogue.find(f"fedbat.{name}").claim_of(Record)


def _partition(row: Row) -> dict[str, Any]:
    """How the images are dealt out."""
    if row["partition"] == "IID":
        return {"partition": "iid"}
    if row["partition"] == "Non-IID-1":
        alphas = _record("data.noniid1").settings["Dirichlet parameter"]
        return {"partition": "dirichlet", "alpha": alphas[row["dataset"]]}
    return {"partition": "quantity", "C": _record("data.noniid2").settings["labels of a client"][row["dataset"]]}


def _algorithm(row: Row) -> dict[str, Any]:
    """The algorithm's table: its name, and its settings by the algorithm's own names; local epochs are the network's."""
    hyper = _record("hyper").settings
    name = METHODS.get(row["method"], row["method"].partition(" (")[0])
    own = settings_of(name)
    return {
        "name": name,
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
    network = {
        "model": model,
        "batch": hyper["batch"],
        "order": "whole epochs",
        "local_epochs": hyper["local epochs"],
        "weights": "sizes",
    }
    data = {"name": DATA[row["dataset"]], "clients": row["clients"], **_partition(row)}
    algorithm = _algorithm(row)
    if released:
        data |= {"partition": _CAPPED[data["partition"]], "partition_seed": 1234}
        network |= {"weights": "batches", "initial": "0.01", "model": _WIDE.get(model, model)}
        if row["dataset"].startswith("CIFAR"):
            network |= {"crop": 4, "flip": True}
        if algorithm["name"] == "FedBAT":
            algorithm |= {"clamp": (0.0005, 0.05), "full": ("norm",)}
    return Setup(
        data=data,
        network=network,
        algorithm=algorithm,
        rounds=hyper["rounds"][model],
        every=1 if released else EVERY,
        record=record,
    )


_CAPPED = {"iid": "iid", "dirichlet": "dirichlet_capped", "quantity": "quantity_in_turn"}
_WIDE = {"ResNet-10": "ResNet-10, wide"}


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
    return Preset(f"fedbat.{id}", says, cells, _record("hyper").settings["runs"], last=1, choices=(*CHOICES, *more))


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
    return _preset(id, says, _cells(rows, **measured), "the numbers are those of Table 1", *more)


def _released() -> Preset:
    rows = [row for row in _record("table1").table if row["method"] in ("FedAvg", "FedBAT")]
    return Preset(
        "fedbat.table1",
        "four data sets, 30 and 100 clients, FedAvg and FedBAT as the authors' code trains",
        _cells(rows, released=True),
        _record("hyper").settings["runs"],
        last=1,
        choices=(
            *COMMON,
            "follows github.com/Leopold1423/fedbat-icml24: the seed of the partitions is 1234, Dirichlet draws give no more "
            "to a client that has its share, and at least 10 images to everyone, labels of Non-IID-2 are dealt out in turn; "
            "clients weigh by numbers of batches; random crops and flips of CIFAR; weights start normal with deviation "
            "0.01; ResNet-10 is twice as wide as printed; alpha is kept in [0.0005, 0.05]; layers of batch normalisation "
            "are not binarised; no weight decay, no momentum; the accuracy is that of the best round",
        ),
        departs=(STATISTICS,),
        accuracy="best",
    )


PRESETS: dict[str, Callable[[], Preset]] = {
    "fedbat.table1": partial(_table, "table1", "four data sets, 30 and 100 clients, all methods"),
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
        "the gradient norm is measured too, which is not in the figure",
        record=("value", "grad_sq", "test_value", "accuracy"),
    ),
    "fedbat.fig3": partial(_curves, "fig3", "FMNIST, SVHN and CIFAR-10, 100 clients, all methods along the rounds"),
}
