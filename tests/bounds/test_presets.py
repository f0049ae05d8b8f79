"""Presets: complete, equal to the records, and every training of them can be built; in small also run."""

from __future__ import annotations

import re
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


# What a row of a printed table is about -> where a cell's set-up has it
SETTINGS = {
    "K": "algorithm.K",
    "C": "data.C",
    "clients": "data.clients",
    "max norm": "network.clip",
    "rho": "algorithm.rho",
    "phi": "algorithm.phi",
}
WORDED, DATA = ("method", "column", "dataset", "model", "partition"), sfl.DATA | fedbat.DATA
ALL_CELLS = {  # of a paper's printed cells, but for centralised ones
    "sfl": {"network.batch": 20, "network.weight_decay": 1e-4, "algorithm.S": 10, "data.alpha": 10.0},
    "fedbcgd": {
        "network.weight_decay": 0.001,
        "decay": 0.998,
        "data.partition": "dirichlet_equal",
        "data.clients": 100,
    },
    "fedbat": {"network.batch": 64, "network.weights": "sizes", "network.local_epochs": 10, "algorithm.eta": 0.1},
}


def about(row: Facts, settings: Facts) -> Facts:
    """What the cells of a row have in common."""
    known = {SETTINGS[key]: value for key, value in row.items() if key in SETTINGS}
    if "dataset" in row:
        known["data.name"] = DATA[row["dataset"]]
    if "model" in row:
        known["network.model"] = sfl.MODELS[row["model"]]
    if "targets" in settings:
        known["target"] = None if row["floats"] is None else settings["targets"][row["column"]]
    return known


def cells_of(row: Facts, settings: Facts) -> Iterator[tuple[Facts, Facts]]:
    """The settings and the numbers of the cells of a row: one, or one for each learning rate or length of the run."""
    used = settings.get("values used", {})
    if "lr" in row:
        for length in ("short", "long"):
            rounds = settings[f"{length} run"]["rounds"]
            yield {"rounds": rounds, "algorithm.eta": used[row["lr"]]}, {"accuracy": row[length]}
    elif "candidates" in row:
        for eta, accuracy in row["candidates"].items():
            yield {"algorithm.eta": eta}, {} if accuracy is None else {"accuracy": accuracy}
    elif isinstance(row.get("accuracy"), Mapping):
        for exponent, accuracy in row["accuracy"].items():
            yield {"algorithm.eta": used[exponent]}, {"accuracy": accuracy}
    else:
        numbers = {"accuracy": row.get("mean", row.get("accuracy")), "std": row.get("std"), "floats": row.get("floats")}
        yield {}, {key: value for key, value in numbers.items() if value is not None}


def says(text: str, row: Facts) -> bool:
    words = (re.escape(row[key]) for key in WORDED if key in row)
    return all(re.search(rf"(?<![\w+-]){word}(?![\w+-])", text) for word in words)


PRINTED = [
    *(f"sfl.table{i}" for i in (3, 7, 8, 9, 10, 11)),
    *(f"fedbcgd.table{i}" for i in (2, 3, 4, 5, 6)),
    *(f"fedbat.table{i}" for i in (1, 2, 3, 5, 6)),
]


@pytest.mark.parametrize("id", PRINTED)
def test_every_printed_cell_is_there_once(id):
    """Its settings and the words of its row, with its numbers."""
    record, every = catalogue.find(id).claim, ALL_CELLS[id.partition(".")[0]]
    ours = [n for n in NAMES if built(n).id == id and "as released" not in n]
    found = [(facts(cell), f"{cell.method}, {cell.column}", cell.printed) for n in ours for cell in built(n).cells]
    expected = [(row, *cell) for row in record.table for cell in cells_of(row, record.settings)]
    assert len(found) == len(expected) > 0
    for row, own, numbers in expected:
        known = about(row, record.settings) | own | (every if row["method"] != "Centralised SGD" else {})
        assert [n for fact, text, n in found if says(text, row) and known.items() <= fact.items()] == [numbers], known


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
