"""Presets: complete, equal to the records, and every training of them can be built; in small also run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from fedtheory.bounds.fedbat import presets as fedbat
from fedtheory.bounds.fedbcgd import presets as fedbcgd
from fedtheory.bounds.presets import Cell, Preset, declared, presets, quick, summary
from fedtheory.bounds.sfl import presets as sfl
from fedtheory.simulations import run
from fedtheory.simulations.networks import images, models
from fedtheory.simulations.networks.setup import Setup, from_table
from fedtheory.tables import SIZES
from fedtheory.theory import catalogue
from fedtheory.theory.data_files import DataEntry

torch.set_num_threads(1)

NAMES = list(presets())
Facts = Mapping[str, Any]


@cache
def built(name: str) -> Preset:
    return presets()[name]()


@cache
def problem(data: tuple, network: tuple):
    setup = Setup(dict(data), dict(network), {"name": "PFL", "K": 1, "eta": 0.1}, rounds=1)
    return setup.problem()


def small_problem(setup: Setup):
    return problem(tuple(setup.data.items()), tuple(setup.network.items()))


def facts(cell: Cell) -> dict[str, Any]:
    own = {"method": cell.method, "column": cell.column, "target": cell.target, "network.clip": inf}
    return own | summary(cell.setup)


# ------------------------------------------------------------------------------------- against the records


def rows_of_sfl(name: str) -> Iterator[tuple[Facts, Facts]]:
    record = catalogue.find(f"sfl.{name}").claim
    for row in record.table:
        dataset, model = (row.get(key, record.settings.get(key)) for key in ("dataset", "model"))
        common = {
            "data.name": sfl.DATA[dataset],
            "network.model": sfl.MODELS[model],
            "data.clients": 1000 if dataset == "CINIC-10" else 500,
            "data.C": row["C"],
            "algorithm.K": row["K"],
            "algorithm.name": row["method"],
            "network.clip": row.get("max norm", {"PFL": 10.0, "SFL": 50.0}[row["method"]]),
        }
        used = record.settings.get("values used", {})
        if name in ("table3", "table11"):
            rounds = {"MNIST": 1000, "FMNIST": 1000}.get(dataset, 4000)
            yield common | {"rounds": rounds}, {"accuracy": row["mean"], "std": row["std"]}
        elif name == "table8":
            for run_, rounds in (("short", 1000), ("long", 4000)):
                yield common | {"algorithm.eta": used[row["lr"]], "rounds": rounds}, {"accuracy": row[run_]}
        elif name == "table9":
            for eta, accuracy in row["candidates"].items():
                yield (
                    common | {"algorithm.eta": eta, "rounds": 4000},
                    {} if accuracy is None else {"accuracy": accuracy},
                )
        else:
            for exponent, accuracy in row["accuracy"].items():
                yield common | {"algorithm.eta": used[exponent], "rounds": 1000}, {"accuracy": accuracy}


def rows_of_fedbcgd(name: str) -> Iterator[tuple[Facts, Facts]]:
    record = catalogue.find(f"fedbcgd.{name}").claim
    for row in record.table:
        dataset = record.settings.get("dataset", row["column"])
        model = record.settings.get("model", row["column"])
        known = {
            "method": row["method"],
            "column": row["column"],
            "data.name": {"CIFAR10": "cifar-10", "CIFAR100": "cifar-100", "Tiny ImageNet": "tiny-imagenet"}[dataset],
            "network.model": {"ViT-Base": "ViT"}.get(model, model),
            "network.batch": 16 if model == "ViT-Base" else 50,
            "network.weight_decay": 0.001,
            "decay": 0.998,
        }
        if row["floats"] is None:
            yield known | {"data.clients": 1, "target": None}, {key: row[key] for key in ("accuracy", "std")}
            continue
        known |= {"data.clients": 100, "data.alpha": record.settings["rho"], "data.partition": "dirichlet_equal"}
        known |= {"target": record.settings["targets"][row["column"]]}
        yield known, {key: row[key] for key in ("accuracy", "std", "floats")}


def rows_of_fedbat(name: str) -> Iterator[tuple[Facts, Facts]]:
    for row in catalogue.find(f"fedbat.{name}").claim.table:
        hundred = row["dataset"] == "CIFAR-100"
        resnet = row["dataset"].startswith("CIFAR")
        dealt = {
            "IID": {"data.partition": "iid"},
            "Non-IID-1": {"data.partition": "dirichlet", "data.alpha": 0.1 if hundred else 0.3},
            "Non-IID-2": {"data.partition": "quantity", "data.C": 10 if hundred else 3},
        }
        known = {
            "method": row["method"],
            "data.name": fedbat.DATA[row["dataset"]],
            "data.clients": row["clients"],
            **dealt[row["partition"]],
            "network.model": "ResNet-10" if resnet else "CNN",
            "network.batch": 64,
            "network.weights": "sizes",
            "network.local_epochs": 10,
            "algorithm.eta": 0.1,
            "rounds": 200 if resnet else 100,
        }
        if row["method"].startswith("FedBAT"):
            known |= {"algorithm.rho": row.get("rho", 6.0), "algorithm.phi": row.get("phi", 0.5), "algorithm.K": 10}
        else:
            known |= {"algorithm.S": 10}
        yield known, {key: row[key] for key in ("accuracy", "std") if key in row}


PRINTED = {
    **{f"sfl.{name}": (rows_of_sfl, name) for name in ("table3", "table7", "table8", "table9", "table10", "table11")},
    **{f"fedbcgd.table{i}": (rows_of_fedbcgd, f"table{i}") for i in (2, 3, 4, 5, 6)},
    **{f"fedbat.table{i}": (rows_of_fedbat, f"table{i}") for i in (1, 2, 3, 5, 6)},
}


@pytest.mark.parametrize("id", PRINTED)
def test_every_printed_cell_is_there_once(id):
    rows, name = PRINTED[id]
    expected = list(rows(name))
    ours = [n for n in NAMES if built(n).id == id and "as released" not in n]
    found = [(facts(cell), cell.printed) for n in ours for cell in built(n).cells]
    assert len(found) == len(expected) > 0
    for known, numbers in expected:
        there = [printed for fact, printed in found if all(fact.get(key) == known[key] for key in known)]
        assert there == [numbers], known


def test_every_figure_and_table_of_networks_has_a_preset():
    ids = {built(name).id for name in NAMES}
    assert ids <= {statement.id for statement in catalogue.statements()}
    assert {name for name in NAMES if "," not in name} == ids  # each has one by its own name
    assert all(name.partition(",")[0] == built(name).id for name in NAMES)
    assert ids >= {
        *(f"sfl.{i}" for i in ("fig2", "fig3", "table3", "table7", "table8", "table10", "table11", "fig10", "fig16")),
        *(f"fedbcgd.{i}" for i in ("table2", "table3", "table4", "table5", "table6")),
        *(f"fedbcgd.fig{i}" for i in range(3, 10)),
        *(f"fedcom.fig{i}" for i in (6, 8, 9)),
        *(f"fedbat.{i}" for i in ("table1", "table2", "table3", "table5", "table6", "fig2", "fig3")),
    }
    for name in ("sfl.table3", "fedbcgd.table2", "fedcom.fig6", "fedbat.table1"):
        plain, released = built(name), built(f"{name}, as released")
        assert {cell.name for cell in plain.cells} & {cell.name for cell in released.cells}
        assert not any(cell.setup in [c.setup for c in plain.cells] for cell in released.cells)
        assert any(line.startswith("follows github.com/") for line in released.choices)


def test_the_chosen_learning_rates_are_those_of_table_8():
    """Which has them for its own clipping only; Table 9 repeats them."""
    table = catalogue.find("sfl.table8").claim
    for row in table.table:
        if row["max norm"] == {"PFL": 10.0, "SFL": 50.0}[row["method"]]:
            (cell,) = [
                c
                for c in built("sfl.table3").cells
                if c.column == f"CIFAR-10 VGG-9, C={row['C']}, K={row['K']}" and c.method == row["method"]
            ]
            assert cell.setup.algorithm["eta"] == table.settings["values used"][row["lr"]]


@pytest.mark.parametrize(
    ("name", "key", "values"),
    [
        ("sfl.table3", "algorithm.name", {"FedAvg", "SFL"}),
        ("sfl.table3", "network.order", {"whole epochs"}),
        ("sfl.table3", "network.weights", {"sizes", None}),
        ("sfl.table3", "every", {4}),
        ("sfl.table3", "network.crop", {4, None}),
        ("sfl.table3", "data.partition", {"exdir_capped"}),
        ("fedbcgd.table2", "algorithm.lam", {0.0, 0.45}),
        ("fedbcgd.table2", "network.clip", {None, 10.0}),
        ("fedbcgd.table2", "network.weight_decay", {0.001}),
        ("fedbcgd.table2", "network.crop", {4}),
        ("fedcom.fig6", "algorithm.compressor", {None, "Rounding(s=127)"}),
        ("fedcom.fig6", "network.weight_decay", {1e-4}),
        ("fedbat.table1", "algorithm.name", {"FedAvg", "FedBAT"}),
        ("fedbat.table1", "data.partition_seed", {1234}),
        ("fedbat.table1", "algorithm.clamp", {None, (0.0005, 0.05)}),
        ("fedbat.table1", "network.weights", {"batches"}),
        ("fedbat.table1", "data.partition", {"iid", "dirichlet_capped", "quantity_in_turn"}),
    ],
)
def test_settings_of_the_authors_code(name: str, key: str, values: set[Any]) -> None:
    assert {summary(cell.setup).get(key) for cell in built(f"{name}, as released").cells} == values


# ---------------------------------------------------------------------------------------------------- built


@pytest.mark.parametrize("name", NAMES)
def test_presets_build(name):
    preset = built(name)
    assert preset.cells and preset.says and preset.seeds >= 1
    assert preset.choices and len({*preset.choices}) == len(preset.choices)
    assert all(what and why for what, why in preset.departs) and len({*preset.departs}) == len(preset.departs)
    for cell in preset.cells:
        setup = cell.setup
        assert setup.data["name"] in images.READERS and "path" not in setup.data
        assert setup.network["model"] in models.ARCHITECTURES
        assert from_table(setup.table()) == setup
        setup.method(SimpleNamespace(steps=np.array([3, 7])))
        late = [r for r in setup.measured if r > setup.rounds - preset.averaged(setup.rounds)]
        assert len(setup.measured) > 20 and len(late) >= min(4, preset.averaged(setup.rounds))


def test_some_preset_of_each_paper_measures_the_gradient():
    with_gradient = {n.partition(".")[0] for n in NAMES if "grad_sq" in built(n).cells[0].setup.record}
    assert with_gradient == set(catalogue.papers())


def test_blocks_fill_the_network():
    """And what top_k keeps is less."""
    seen = set()
    for name in NAMES:
        for cell in built(name).cells:
            data, network, algorithm = cell.setup.data, cell.setup.network, cell.setup.algorithm
            k = algorithm.get("k", 0) if algorithm["name"] == "TopKFedAvg" else 0
            if algorithm.get("compressor", "").startswith("TopK"):
                k = cell.setup.method().compressor.k
            if not k and "sizes" not in algorithm:
                continue
            shape, classes, *_ = SIZES[data["name"]]
            module = models.build(network["model"], shape, classes, network.get("norm"))
            d = sum(parameter.numel() for parameter in module.parameters())
            assert k < d
            if "sizes" in algorithm:
                assert sum(algorithm["sizes"]) + algorithm["share"] == d
                assert len(algorithm["sizes"]) == algorithm["N"]
                seen.add((network["model"], data["name"]))
    assert len(seen) == 10  # four networks on both CIFAR, ViT on CIFAR100 and Tiny ImageNet


def test_sizes_of_the_data_sets():
    assert set(fedbat.DATA.values()) < set(SIZES)
    for name, shape, classes in fedbcgd.DATA.values():
        assert SIZES[name][:2] == (shape, classes)
    assert SIZES["emnist-byclass"][2] == fedbcgd.EMNIST_IMAGES


def test_rounds_spend_the_floats():
    """1000 d: as many rounds of FedAvg, half of those with control variates, more with blocks."""
    rounds = {cell.method: cell.setup.rounds for cell in built("fedbcgd.table3").cells if cell.column == "ResNet-18"}
    assert rounds["FedAvg"] == rounds["FedAdam"] == 1000 == 2 * rounds["SCAFFOLD"] == 2 * rounds["FedDC"]
    assert 4950 < rounds["FedBCGD"] < 5000 and abs(2 * rounds["FedBCGD+"] - rounds["FedBCGD"]) <= 1


# ------------------------------------------------------------------------------------------------- in small


@pytest.mark.dear
@pytest.mark.parametrize("name", NAMES)
def test_quick_fits(name):
    small = quick(built(name))
    assert len(small.cells) <= 64
    for cell in small.cells:
        there, method = small_problem(cell.setup), cell.setup.method()
        assert 1 <= method.participants(there) <= there.M <= 20


def test_quick_runs():
    """A round of each kind of training that there is."""
    kinds = {}
    for name in NAMES:
        for cell in quick(built(name)).cells:
            algorithm = cell.setup.algorithm
            kind = algorithm["name"], str(algorithm.get("compressor"))[:4], cell.setup.network["model"]
            kinds.setdefault(kind, cell.setup)
    assert len({algorithm for algorithm, *_ in kinds}) >= 20
    for setup in kinds.values():
        there = small_problem(setup)
        data = run(there, setup.method(), rounds=1, seeds=[0], x0=there.start(0), record=("value",))
        assert np.isfinite(data.value.values).all(), setup


def test_quick_keeps_fewer_coordinates_and_steps():
    for name in ("fedbcgd.table6", "fedbcgd.table2", "fedcom.fig8"):
        for cell in quick(built(name)).cells:
            there, method = small_problem(cell.setup), cell.setup.method()
            assert getattr(method, "T", getattr(method, "tau", 5)) == 5
            k = getattr(getattr(method, "compressor", method), "k", 1)
            assert k < there.d / 2


# ------------------------------------------------------------------------------------- words of presets as data

WORDS = {"says": "a table", "seeds": "@table3, random seeds", "last": 0.1, "choices": ["@open", "and more"]}
FILE = {"lists": {"open": ["not printed"], "form": [["another form", "as proved"]]}, "table3": WORDS}


def declare(**entries: Any) -> Preset:
    made = declared("sfl", {"table3": lambda: ()}, DataEntry("sfl/presets.toml", {**FILE, **entries}))
    return made[f"sfl.{next(iter(entries), 'table3')}"]()


def test_words_of_a_preset_are_read_from_its_file():
    whole, other = declare(), declare(**{"fig3, again": {"like": "table3"}})
    assert (whole.id, whole.seeds, whole.choices) == ("sfl.table3", 3, ("not printed", "and more"))
    assert (other.id, other.says, other.last) == ("sfl.fig3", "a table", 0.1)


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"fig9": WORDS}, "fig9: no trainings: expected one of table3"),
        ({"fig9": {"like": "fig3"}}, "fig9: like is 'fig3': expected one of table3, fig9"),
        ({"table3": {**WORDS, "choices": ["@closed"]}}, "table3: @closed is no list: expected one of open, form"),
        ({"table3": {**WORDS, "rounds": 3}}, "table3: 'rounds' is not known: expected says, "),
        ({"table3": {**WORDS, "accuracy": "first"}}, "table3: accuracy is 'first': expected one of late, "),
    ],
)
def test_a_wrong_entry_is_named(entries, says):
    with pytest.raises(ValueError, match=f"^sfl/presets.toml, {says}"):
        declare(**entries)
