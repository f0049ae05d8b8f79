"""The papers' experiments with networks, as trainings: one `Preset` for each table or figure.

A preset has, for each cell, the training that the paper describes, as a `Setup`, and the printed numbers, read from the
statement: bounds/PAPER/presets.py.  What it chooses and where it departs is in words, in bounds/PAPER/presets.toml.
`quick` scales it down to a minute on a CPU; then at most the order of the methods can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from fedtheory.bounds import papers
from fedtheory.simulations.networks.setup import Setup, settings_of, steps_of
from fedtheory.theory import catalogue
from fedtheory.theory.data_files import DataEntry, data_file
from fedtheory.theory.printed_tables import lists_of, value_of
from fedtheory.theory.statement import Record


@dataclass(frozen=True)
class Cell:
    """One training of a preset.

    method, column  the names of its row and column in the table, or of its curve and panel in the figure
    setup           the training
    printed         its printed numbers: "accuracy" and "std" in percent, "floats" in units of d; or none
    target          the accuracy, in percent, up to which the floats are counted; None: no floats
    """

    method: str
    column: str
    setup: Setup
    printed: Mapping[str, float] = field(default_factory=dict)
    target: float | None = None

    @property
    def name(self) -> str:
        """Method and column, as a valid folder name."""
        plain = f"{self.method} {self.column}".strip()
        return "".join(c if c.isalnum() or c in "+-.=" else "_" for c in plain)


class Departure(NamedTuple):
    """Where the trainings of a preset differ from the paper, and why they must."""

    what: str
    why: str


Accuracy = Literal["late", "late, by seed", "best"]


@dataclass(frozen=True)
class Preset:
    """A printed table or figure with networks.

    id        of the statement
    says      a description in one line
    cells     all its trainings
    seeds     number of runs
    last      number of last rounds whose accuracies are averaged; below 1: their share of the cell's rounds
    accuracy  "late": mean and deviation are over the seeds and the last rounds together; "late, by seed": over the seeds,
              of each the mean over the last rounds; "best": over the seeds, of each the best round
    choices   what the paper leaves open, and what is chosen here
    departs   where these trainings differ from the paper, or from its authors' code where they follow that
    """

    id: str
    says: str
    cells: tuple[Cell, ...]
    seeds: int
    last: float
    choices: tuple[str, ...]
    departs: tuple[Departure, ...] = ()
    accuracy: Accuracy = "late, by seed"

    def averaged(self, rounds: int) -> int:
        """The number of last rounds that are averaged, of a training of so many."""
        return int(self.last) if self.last >= 1 else max(1, round(self.last * rounds))

    def __post_init__(self) -> None:
        names = [cell.name for cell in self.cells]
        for cell in self.cells:
            late = set(range(cell.setup.rounds - self.averaged(cell.setup.rounds) + 1, cell.setup.rounds + 1))
            if not late & set(cell.setup.measured):
                raise ValueError(f"{self.id}, {cell.name}: no round of the last ones is measured")
        if len(set(names)) < len(names):
            raise ValueError(f"{self.id}: two cells of one name among {names}, expected different ones")


def with_tails(build: Callable[[], Preset]) -> Preset:
    """The built preset; in each training all rounds are measured that are averaged at its end."""
    preset = build()
    cells = (replace(cell, setup=replace(cell.setup, tail=preset.averaged(cell.setup.rounds))) for cell in preset.cells)
    return replace(preset, cells=tuple(cells))


Cells = Callable[[], tuple[Cell, ...]]
Row = Mapping[str, Any]
WITH_GRADIENT = ("value", "grad_sq", "test_value", "accuracy")


def record(paper: str, name: str) -> Record:
    """The settings and printed numbers of a statement of a paper."""
    return catalogue.find(f"{paper}.{name}").claim_of(Record)


def declared(paper: str, cells: Mapping[str, Cells], file: DataEntry | None = None) -> dict[str, Callable[[], Preset]]:
    """The presets of a paper's presets.toml, in its order, with their trainings by the names of its entries.

    An entry has what a `Preset` has but its cells; or the name of another one (`like`), which has the same words, and the
    same trainings if it has none of its own.  In choices and departures (what, why), "@name" is the list of this name at
    the top of the file.  In seeds and last, "@statement, setting, ..." is a printed setting.

    Raises ValueError for an entry that is wrong, with its file and its place there.
    """
    file = file or data_file(paper, "presets.toml", Path(__file__).parent)
    lists = lists_of(file)
    entries = {name: file.entry(name) for name in file.values if name != "lists"}
    found: dict[str, Callable[[], Preset]] = {}
    for name, entry in entries.items():
        like = entry.text("like", name, among=entries)
        own = cells.get(name) or cells.get(like)
        if own is None:
            raise entry.wrong(f"no trainings: expected one of {', '.join(cells)}")
        found[f"{paper}.{name}"] = partial(_declared, paper, name, entries[like], lists, own)
    return found


def _declared(paper: str, name: str, entry: DataEntry, lists: Mapping[str, Any], cells: Cells) -> Preset:
    """The preset of an entry."""
    entry.only("says", "seeds", "last", "accuracy", "choices", "departs")

    def number(of: str) -> Any:
        value = entry.values.get(of)
        if isinstance(value, str):
            statement, *names = value.removeprefix("@").split(", ")
            return reduce(getitem, names, record(paper, statement).settings)
        return value

    choices, departs = (value_of(entry, entry.of(of, list, []), lists) for of in ("choices", "departs"))
    return Preset(
        f"{paper}.{name.partition(',')[0]}",
        entry.text("says"),
        cells(),
        number("seeds"),
        number("last"),
        choices,
        tuple(Departure(*one) for one in departs),
        cast(Accuracy, entry.text("accuracy", "late, by seed", among=get_args(Accuracy))),
    )


def presets() -> Mapping[str, Callable[[], Preset]]:
    """All presets by name: the id of their statement, with ", as released" for those that follow the authors' code."""
    found: dict[str, Callable[[], Preset]] = {}
    for paper in catalogue.papers():
        found |= papers.presets(paper)
    return found


def preset(name: str) -> Preset:
    """A preset by name.  Raises UnknownName with the nearest names."""
    known = presets()
    if name not in known:
        raise catalogue.unknown("preset", name, list(known))
    return known[name]()


# --------------------------------------------------------------------------------------------------- quick

QUICK_ROUNDS, QUICK_EVERY, QUICK_STEPS, QUICK_BATCH, QUICK_CLIENTS, QUICK_PARTICIPANTS = 20, 2, 5, 16, 20, 5
QUICK_CELLS = 16  # with more, one seed; with more than twice as many, half of the rounds
QUICK_KEPT = 40  # divisor of the number of coordinates that are kept


def quick(whole: Preset) -> Preset:
    """The preset scaled down: digits, small networks, few clients, rounds and local steps, and one or two seeds.

    Convolutional networks and ViT become the "small CNN", logistic regression and MLP stay.  Cells that have become equal
    run once.  Only an order remains to be compared with the printed numbers.
    """
    cells: dict[tuple[str, str], Cell] = {}
    for cell in whole.cells:
        small = _small(cell.setup)
        alike = (c for c in cells.values() if cell.method == c.method or cell.column == c.column)
        if not any(c.setup == small for c in alike):
            cells[cell.method, cell.column] = replace(cell, setup=small)
    kept, seeds = tuple(cells.values()), min(whole.seeds, 2 if len(cells) <= QUICK_CELLS else 1)
    if len(kept) > 2 * QUICK_CELLS:
        kept = tuple(replace(cell, setup=replace(cell.setup, rounds=QUICK_ROUNDS // 2)) for cell in kept)
    return replace(whole, cells=kept, seeds=seeds, last=2 * QUICK_EVERY)


_AS_PUBLISHED = ("device", "norm", "crop", "flip", "enlarge", "local_epochs")  # settings for images of their own size


def _small(setup: Setup) -> Setup:
    model, alone = setup.network["model"], setup.algorithm["name"] == "SFL"
    network = {k: v for k, v in setup.network.items() if k not in _AS_PUBLISHED} | {
        "model": model if model.startswith(("logistic", "MLP")) else "small CNN",
        "batch": min(setup.network.get("batch") or QUICK_BATCH, QUICK_BATCH),
        "batching": "loop" if alone else "stacked",  # no trial: with one thread these are faster
    }
    data = {k: v for k, v in setup.data.items() if k in ("partition", "C", "alpha", "against")} | {
        "name": "digits",
        "clients": min(setup.data["clients"], QUICK_CLIENTS),
    }
    if "C" in data:
        data["C"] = min(data["C"], 5)
    algorithm = dict(setup.algorithm)
    own = settings_of(algorithm["name"])
    steps = steps_of(algorithm["name"])
    algorithm[steps] = min(algorithm.get(steps, QUICK_STEPS), QUICK_STEPS)
    if "N" in own:
        algorithm |= {"K": 1, "sizes": None, "share": min(algorithm.get("share", 0), 330)}
    elif "S" in own and algorithm.get("S"):
        algorithm["S"] = min(algorithm["S"], QUICK_PARTICIPANTS)
    elif steps == "tau" and "K" in own and algorithm.get("K"):
        algorithm["K"] = min(algorithm["K"], QUICK_PARTICIPANTS)
    elif "k" in own and "gamma" in own and algorithm.get("k"):
        algorithm["k"] = max(algorithm["k"], QUICK_PARTICIPANTS / QUICK_CLIENTS)
    if "k" in own and "gamma" not in own:
        algorithm["k"] = max(1, algorithm["k"] // QUICK_KEPT)
    if "compressor" in algorithm:
        algorithm["compressor"] = re.sub(
            r"\bk=(\d+)", lambda k: f"k={max(1, int(k[1]) // QUICK_KEPT)}", algorithm["compressor"]
        )
    algorithm = {k: v for k, v in algorithm.items() if v is not None}
    return replace(
        setup,
        data=data,
        network=network,
        algorithm=algorithm,
        rounds=QUICK_ROUNDS,
        every=QUICK_EVERY,
        tail=0,
        threads=1,
    )


def summary(setup: Setup) -> dict[str, Any]:
    """The set-up as one flat table, to compare two of them."""
    table = setup.table()
    flat = {name: value for name, value in table.items() if not isinstance(value, dict)}
    for name in ("data", "network", "algorithm", "sha256"):
        flat |= {f"{name}.{key}": value for key, value in table.get(name, {}).items()}
    return flat
