"""Section 5 and Appendices A and B: settings and printed numbers are read from fedtheory.theory.fedbat.experiments.

The authors' code is github.com/Leopold1423/fedbat-icml24; it has FedAvg and FedBAT, and no other method.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, cast

from fedtheory.bounds.presets import WITH_GRADIENT, Cell, Row, declared, record
from fedtheory.simulations.networks.setup import Setup, settings_of
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Record

DATA = {"FMNIST": "fashion-mnist", "SVHN": "svhn", "CIFAR-10": "cifar-10", "CIFAR-100": "cifar-100"}
METHODS = {f"FedPAQ [{b}-bit]": f"FedPAQ, {b} bits" for b in (3, 4)}  # methods with another name in the registry
EVERY = 2
_record = partial(record, "fedbat")


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


def _setup(row: Row, released: bool = False, **more: Any) -> Setup:
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
        **more,
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


def _table(name: str) -> tuple[Cell, ...]:
    return _cells(_record(name).table)


def _curves(name: str, **measured: Any) -> tuple[Cell, ...]:
    """Figures 2 and 3: columns of Table 1 along the rounds."""
    drawn = _record(name).settings
    return _cells(
        [
            row
            for row in _record("table1").table
            if row["dataset"] in drawn["datasets"]
            and row["clients"] == drawn["clients"]
            and row["method"] in drawn["methods"]
        ],
        **measured,
    )


def _released() -> tuple[Cell, ...]:
    return _cells([row for row in _record("table1").table if row["method"] in ("FedAvg", "FedBAT")], released=True)


PRESETS = declared(
    "fedbat",
    {
        **{f"table{n}": partial(_table, f"table{n}") for n in (1, 2, 3, 5, 6)},
        "table1, as released": _released,
        "fig2": partial(_curves, "fig2", record=WITH_GRADIENT),
        "fig3": partial(_curves, "fig3"),
    },
)
