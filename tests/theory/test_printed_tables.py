"""The reader of printed experiments: layouts of tables, references, and errors that name the entry."""

from __future__ import annotations

import re
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, lists, tuples

from fedtheory.theory.data_files import DataEntry
from fedtheory.theory.printed_tables import experiments
from fedtheory.theory.statement import Claim, Paper, Record, Statement, Words


def said(entry: dict[str, Any], formulas: dict[str, Claim] | None = None, **lists: Any) -> Statement:
    own = Paper("own", "A paper", "A. Author, 2026")
    values = {"lists": lists, "tab1": {"kind": "table", "place": "Table 1", **entry}}
    experiments(own, formulas, DataEntry("own/experiments.toml", values))
    return own.statements["own.tab1"]


def rows(**printed: Any) -> tuple[Any, ...]:
    claim = said({"printed": printed}).claim
    assert isinstance(claim, Record)
    return claim.table


def test_a_cell_is_read_by_its_template() -> None:
    """What is optional may be missing; a sign is there or not."""
    text = "1 A | 10.0(+7.2)\n2 B | inf†\n"
    found = rows(line=["row", "name"], columns=[{"C": 1}], cell="{long}[({gain})]{diverged=†}", text=text)
    assert found == (
        {"row": 1, "name": "A", "C": 1, "long": 10.0, "gain": 7.2, "diverged": False},
        {"row": 2, "name": "B", "C": 1, "long": inf, "gain": None, "diverged": True},
    )


def test_columns_are_all_pairs_and_a_line_alone_is_a_heading() -> None:
    layout = {"heading": "data", "line": ["method"], "columns": {"C": [1, 2], "K": [5, 20]}, "cell": "{accuracy}"}
    found = rows(
        **layout, constant={"seed": 3}, row=["method", "data", "C", "K", "accuracy", "seed"], text="A\nSGD | 1 2 | 3 4"
    )
    assert [(row["C"], row["K"], row["accuracy"]) for row in found] == [(1, 5, 1), (1, 20, 2), (2, 5, 3), (2, 20, 4)]
    assert list(found[0].items())[:2] == [("method", "SGD"), ("data", "A")] and found[0]["seed"] == 3


@settings(deadline=None)
@given(lists(lists(tuples(floats(-99, 99).map(lambda x: round(x, 2)), floats(0, 9).map(lambda x: round(x, 1))),
                   min_size=2, max_size=2), min_size=1))  # fmt: skip
def test_every_number_is_read_as_printed(cells: list[list[tuple[float, float]]]) -> None:
    text = "\n".join(
        f"m{i} | {' | '.join(f'{mean:.2f}+-{std:.1f}' for mean, std in line)}" for i, line in enumerate(cells)
    )
    found = rows(line=["method"], columns={"C": [1, 2]}, cell="{mean}+-{std}", text=text)
    assert [(row["mean"], row["std"]) for row in found] == [cell for line in cells for cell in line]


def test_forms_of_their_own() -> None:
    grid = {"form": "grid", "line": ["K"], "before": ["norm"], "columns": {"A": [0.1, 0.2]}}
    (row,) = rows(**grid, row=["K", "method", "norm", "accuracy", "doubtful"], text="5 | inf 40.1 50.2?")
    assert row == {"K": 5, "method": "A", "norm": inf, "accuracy": {0.1: 40.1, 0.2: 50.2}, "doubtful": (0.2,)}
    (row,) = rows(form="candidates", line=["K"], columns=["A"], text="5 | 0.01(81.5)* 0.03")
    assert row == {"K": 5, "method": "A", "candidates": {0.01: 81.5, 0.03: None}, "kept": 0.01}
    blocks = rows(form="blocks", text="1 | conv3-64 | 1728\n2 | FC-10 (share) | 50\nshare | FC-5 | 20")
    assert [(row["layer"], row["share"]) for row in blocks] == [("conv3-64", False), ("FC-10", True), ("FC-5", True)]
    layers = rows(form="layers", columns=[{"net": "A"}, {"net": "B"}], text="C(3,8) | C(1,8)\n       | L(8)")
    assert [(row["net"], row["arguments"]) for row in layers] == [("A", (3, 8)), ("B", (1, 8)), ("B", (8,))]


def test_references_and_keys() -> None:
    own = {
        "several": ["@two", "c"],
        "alone": "@two",
        "nothing": "@none",
        "by rate": {"-1.5": 1, "20": 2, "x": "a\n b"},
    }
    claim = said({"settings": own}, two=["a", "b"]).claim
    assert isinstance(claim, Record)
    assert claim.settings["several"] == ("a", "b", "c") and claim.settings["alone"] == ("a", "b")
    assert claim.settings["nothing"] is None and claim.settings["by rate"] == {-1.5: 1, 20: 2, "x": "a b"}


SENTENCE = {"methods": ["A"], "is": "better than"}
LAYOUT = {"line": ["m"], "columns": {"C": [1]}, "cell": "{x}"}


def test_a_claim_with_formulas_stands_in_the_code() -> None:
    words = Words("a sentence")
    assert said({"note": "x"}, {"tab1": words}).claim is words
    for formulas, says in (({}, "tab1: expected either"), ({"tab2": words, "tab1": words}, "no entry 'tab2'")):
        with pytest.raises(ValueError, match=f"^own/experiments.toml[,:] {says}"):
            said({}, formulas)
    with pytest.raises(ValueError, match="tab1: expected either an experiment or a claim"):
        said({"claims": ["x"]}, {"tab1": words})


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"kind": "tabel"}, "tab1: kind is 'tabel': expected one of setting, "),
        ({"place": 3}, "tab1: place is 3: expected a value of type str"),
        ({"setting": {}}, "tab1: 'setting' is not known: expected kind, place, "),
        ({"settings": {"x": "@rates"}}, "tab1: @rates is no list: expected one of two"),
        ({"claims": [3]}, "tab1: claims is [3]: expected texts"),
        ({"also": {"place": "x"}}, "tab1, also: 'place' is not known"),
        ({"sentences": [SENTENCE]}, "tab1, sentences 1: others is nothing: expected "),
        (
            {"sentences": [{**SENTENCE, "others": ["B"], "how often": "often"}]},
            "tab1, sentences 1: how often is 'often'",
        ),
        ({"printed": {**LAYOUT, "text": "A | 3 4"}}, "tab1, printed: 'A | 3 4' has 2 cells: expected 1"),
        ({"printed": {**LAYOUT, "text": "A | 3 x"}}, "tab1, printed: '3 x' is not {x}"),
        ({"printed": {"text": "A | 3", "cell": "{x}"}}, "tab1, printed: 'line' is missing"),
        ({"printed": {**LAYOUT, "text": "A | 3", "form": "round"}}, "tab1, printed: 'round' is missing"),
    ],
)
def test_a_wrong_entry_is_named(entry: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(f'own/experiments.toml, {says}')}"):
        said({"claims": ["x"], **entry}, two=["a", "b"])
