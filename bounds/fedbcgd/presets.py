"""Main 5.1 to 5.3, supplement 6.4 to 6.6: settings and printed numbers are read from fedtheory.theory.fedbcgd.experiments.

Every method runs until a participating client has sent the floats that the caption allows, as `uplink_bits` counts them:
1000 d are 1000 rounds of FedAvg, 500 of SCAFFOLD, about 4000 or 5000 of FedBCGD.  FedBCGD's blocks come from the network, by
`fedtheory.simulations.networks.models.blocks`.

The authors' code is github.com/junkangLiu0/FedBCGD, FedBCGD.py and readme.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from math import ceil
from types import SimpleNamespace
from typing import Any, cast

from fedtheory.bounds.presets import WITH_GRADIENT, Cell, Row, declared, record, with_tails
from fedtheory.simulations.algorithms.base import FLOAT
from fedtheory.simulations.networks import models
from fedtheory.simulations.networks.setup import Setup, settings_of
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Record

DATA: dict[str, tuple[str, models.Shape, int]] = {  # name, shape, classes
    "CIFAR10": ("cifar-10", (3, 32, 32), 10),
    "CIFAR100": ("cifar-100", (3, 32, 32), 100),
    "Tiny ImageNet": ("tiny-imagenet", (3, 64, 64), 200),
    "EMNIST": ("emnist-byclass", (1, 28, 28), 62),
}
EMNIST_IMAGES = 697_932  # in the training set of byclass
CENTRALISED = "Centralised SGD"
CONVOLUTIONAL, LOGISTIC, VIT = "convolutional networks", "logistic regression", "ViT-Base"
NAMES = {VIT: "ViT", LOGISTIC: "logistic, no bias"}  # where fedtheory.simulations.networks.models has another name
ETA = {VIT: 0.03}  # from the printed set; else 0.1, as in the authors' code for LeNet-5
PLUS = 0.01  # learning rate of FedBCGD+
KEPT = 0.1  # share of the coordinates that TOP-k sends
BITS = 16  # for each coordinate in FedPAQ and QSGD
NUMBERS = ("accuracy", "std", "floats")
_record = partial(record, "fedbcgd")


def _general(name: str) -> Any:
    return _record("setup").settings[name]


@cache
def momentum() -> float:
    """The best of Figure 7."""
    (row,) = [row for row in _record("fig7").table if row["is"] == "best of"]
    return float(row["momentum"])


@cache
def layout(dataset: str, model: str, norm: models.Norm | None) -> tuple[tuple[int, ...], int, int]:
    """The sizes of the blocks, that of the shared one, and d; for a network without printed blocks (), 0 and d."""
    _, shape, classes = DATA[dataset]
    if model == NAMES[LOGISTIC]:
        classes = 1
    module = models.build(model, shape, classes, norm)
    d = sum(part.stop - part.start for part in models.layers(module).values())
    sizes, share = models.blocks(model, module) if model in models.BLOCKS else ((), 0)
    return sizes, share, d


@dataclass(frozen=True)
class NetworkTask:
    """A network on a data set; floats: what a participating client may send, in units of d."""

    dataset: str
    model: str
    rho: float
    floats: float
    every: int = 10
    measured: tuple[str, ...] = ("value", "test_value", "accuracy")
    loss: str = "cross-entropy"

    @property
    def column(self) -> str:
        """Data set and network."""
        return f"{self.dataset} {self.model}"

    @property
    def training(self) -> Row:
        """Batch, local epochs and number of blocks, by the kind of network."""
        kinds = _general("training")
        return cast(Row, kinds.get(self.model, kinds[CONVOLUTIONAL]))

    @property
    def steps(self) -> int:
        """T: local epochs times images of a client by batch."""
        images = {row["dataset"]: row["images per client"] for row in _record("setup").table}
        each = images.get(self.dataset, EMNIST_IMAGES // _general("clients"))
        return ceil(self.training["local epochs"] * each / self.training["batch"])

    @property
    def participants(self) -> int:
        """S, where it is not N K."""
        return round(_general("participation") * _general("clients"))

    @property
    def network(self) -> dict[str, Any]:
        """The settings of the network."""
        return {
            "model": NAMES.get(self.model, self.model),
            **({"norm": "batch"} if self.model.startswith(("VGG", "ResNet")) else {}),
            **({"enlarge": (256, 224)} if self.model == VIT else {}),
            "batch": self.training["batch"],
            "order": "epochs",
            "weight_decay": _general("weight decay"),
            **({"loss": self.loss} if self.model == LOGISTIC else {}),
        }

    @property
    def layout(self) -> tuple[tuple[int, ...], int, int]:
        """Sizes of the blocks, of the shared one, and d."""
        return layout(self.dataset, self.network["model"], self.network.get("norm"))

    def blocks(self, N: int | None = None, shared: bool = True) -> dict[str, Any]:
        """FedBCGD's settings for the printed blocks, for N equal ones, or with the shared block as an ordinary one."""
        sizes, share, _ = self.layout
        if not sizes:
            return {"N": self.training["blocks"], "K": self._each(self.training["blocks"])}
        if N is not None:
            return {"N": N, "K": self._each(N), "share": share}
        if not shared:
            sizes, share = (*sizes, share), 0
        return {"N": len(sizes), "K": self._each(len(sizes)), "sizes": sizes, "share": share}

    def _each(self, N: int) -> int:
        return max(1, round(self.participants / N))

    def setup(self, name: str, **own: Any) -> Setup:
        """The training by the algorithm of that name, with its own settings, until the floats are sent."""
        settings = settings_of(name)
        algorithm = {
            "name": name,
            "T" if "T" in settings else "tau": self.steps,
            **({"S": self.participants} if "S" in settings else {}),
            "eta": ETA.get(self.model, 0.1),
            **own,
        }
        found = Setup(
            data={
                "name": DATA[self.dataset][0],
                "partition": "dirichlet_equal",
                "clients": _general("clients"),
                "alpha": self.rho,
                **({"against": 0} if self.model == LOGISTIC else {}),
            },
            network=self.network,
            algorithm=algorithm,
            rounds=1,
            decay=_general("decay of the learning rate per round"),
            every=self.every,
            record=self.measured,
        )
        *_, d = self.layout
        sent = cast(Any, found.method()).uplink_bits(SimpleNamespace(d=d))
        return replace(found, rounds=round(self.floats * FLOAT * d / sent))

    def method(self, name: str) -> Setup:
        """The training by the method of that name in the tables."""
        if name == CENTRALISED:
            return self.central()
        lam, levels = {"lam": momentum()}, {"compressor": f"QSGD(s={2 ** (BITS - 1) - 1})"}
        own: dict[str, dict[str, Any]] = {
            "FedAvgM": lam,
            "FedAdam": {"beta1": _general("alpha of FedAdam"), "eta_server": 0.15, "tau": 0.01},
            "FedDC": {"alpha": _general("alpha of FedDC")},
            "FedPAQ": levels,
            "TopKFedAvg": {"k": round(KEPT * self.layout[2])},
            "FedBCGD": {**self.blocks(), **lam},
            "FedBCGD+": {**self.blocks(), "eta": PLUS},
        }
        plain = "TopKFedAvg" if name == "TOP-k" else name.removeprefix("QSGD+")
        return self.setup(plain, **own.get(plain, {}), **(levels if name.startswith("QSGD+") else {}))

    def central(self) -> Setup:
        """The training of one client with all images; in a round it reads as many as the participants of FedAvg."""
        of_clients = self.setup("FedAvg")
        return replace(
            of_clients,
            data={
                "name": of_clients.data["name"],
                "partition": "iid",
                "clients": 1,
                **({"against": 0} if "against" in of_clients.data else {}),
            },
            algorithm={"name": "PFL", "K": self.participants * self.steps, "eta": of_clients.algorithm["eta"]},
        )


def _task(record: Record, column: str, **more: Any) -> NetworkTask:
    """The task of a table's column: a model on the table's data set, or a data set with the table's model."""
    s = record.settings
    return NetworkTask(s.get("dataset", column), s.get("model", column), s["rho"], s["total floats"], **more)


def _cells(table: str, in_full: bool = False, **more: Any) -> tuple[Cell, ...]:
    """The cells of a table, their columns named as in the table, or by data set and network."""
    record = _record(table)
    tasks = {column: _task(record, column, **more) for column in record.settings["targets"]}
    return tuple(
        Cell(
            row["method"],
            task.column if in_full else column,
            task.method(row["method"]),
            {key: row[key] for key in NUMBERS if row[key] is not None},
            None if row["floats"] is None else record.settings["targets"][column],
        )
        for row in record.table
        for column in [row["column"]]
        for task in [tasks[column]]
    )


# --------------------------------------------------------------------------------------------------- presets


def _fig3() -> tuple[Cell, ...]:
    return (*_cells("table3", in_full=True), *_cells("table2", in_full=True))


def _fig4() -> tuple[Cell, ...]:
    settings = _record("fig4").settings
    fewest, most = settings["blocks"]
    task = NetworkTask("CIFAR100", "ResNet-18", _record("table2").settings["rho"], settings["total floats"], every=5)
    return tuple(
        Cell(
            f"N={N}",
            task.column,
            task.setup("FedBCGD", lam=momentum(), **task.blocks(N)),
            target=settings["target"],
        )
        for N in (fewest, 5, 10, most)
    )


def _fig5() -> tuple[Cell, ...]:
    settings, floats = _record("fig5").settings, _record("table6").settings["total floats"]
    variants = {id.removeprefix("fedbcgd.variants."): id for id in catalogue.find("fedbcgd.fig5").rests_on}
    tasks = [
        NetworkTask(dataset, settings["model"], settings["rho"], floats, every=5, measured=WITH_GRADIENT)
        for dataset in settings["datasets"].values()
    ]
    return tuple(
        Cell(
            f"FedBCGD_{variant}",
            task.column,
            task.setup(
                "FedBCGD",
                lam=momentum() if how["momentum"] else 0.0,
                freeze=how["freeze"],
                **task.blocks(shared=how["share"]),
            ),
        )
        for task in tasks
        for variant, id in variants.items()
        for how in [catalogue.find(id).claim_of(Record).settings]
    )


def _fig7() -> tuple[Cell, ...]:
    settings = _record("fig7").settings
    task = NetworkTask(
        settings["dataset"], settings["model"], settings["rho"], _record("table2").settings["total floats"]
    )
    return tuple(
        Cell(f"lambda={lam:g}", task.column, task.setup("FedBCGD", lam=lam, **task.blocks()))
        for lam in settings["momentum"]
    )


def _binary(**losses: str) -> tuple[Cell, ...]:
    """Figure 8, (129), and Figure 9, (129) and (130); losses: column -> loss of the network."""
    figure = _record("fig8")
    methods = dict.fromkeys(name for row in figure.table for name in (*row["others"], row["method"]))
    cells = []
    for column, loss in losses.items():
        task = NetworkTask(
            "EMNIST", LOGISTIC, figure.settings["rho"], 200.0, every=2, measured=WITH_GRADIENT, loss=loss
        )
        cells += [Cell(name, column, task.method(name)) for name in methods]
    return tuple(cells)


def _released() -> tuple[Cell, ...]:
    """FedBCGD.py has LeNet-5 and ResNet-18 of Table 2."""
    record = _record("table2")
    printed = {(row["method"], row["column"]): row for row in record.table}
    cells = []
    for model, eta in (("LeNet-5", 0.1), ("ResNet-18", 0.05)):
        task = _task(record, model)
        blocks = task.blocks()
        if model == "LeNet-5":
            *sizes, fc2 = blocks["sizes"]
            blocks = {"N": 3, "K": 2, "sizes": tuple(sizes), "share": fc2 + blocks["share"]}
        for method, name, lam, clip in (
            ("FedBCGD", "FedBCGD", 0.0, {}),
            ("FedMoment", "FedBCGD", 0.45, {}),
            ("FedBCGD+", "FedBCGD+", 0.45, {"clip": 10.0}),
        ):
            setup = task.setup(name, lam=lam, **blocks)
            setup = replace(
                setup,
                network={**setup.network, "order": "whole epochs", "crop": 4, "flip": True, **clip},
                algorithm={**setup.algorithm, "eta": eta},
                rounds=1000,
            )
            numbers = {key: printed[method, model][key] for key in NUMBERS} if (method, model) in printed else {}
            cells.append(Cell(method, model, setup, numbers, record.settings["targets"][model]))
    return tuple(cells)


_CELLS: dict[str, Callable[[], tuple[Cell, ...]]] = {
    "table2": partial(_cells, "table2"),
    "table2, as released": _released,
    "table3": partial(_cells, "table3"),
    "table4": partial(_cells, "table4"),
    "table5": partial(_cells, "table5", every=2, measured=("test_value", "accuracy")),
    "table6": partial(_cells, "table6", every=5),
    "fig3": _fig3,
    "fig4": _fig4,
    "fig5": _fig5,
    "fig7": _fig7,
    "fig8": partial(_binary, EMNIST="logistic"),
    "fig9": partial(_binary, **{"EMNIST (a)": "logistic", "EMNIST (b)": "sigmoid"}),
}
PRESETS = {name: partial(with_tails, build) for name, build in declared("fedbcgd", _CELLS).items()}
