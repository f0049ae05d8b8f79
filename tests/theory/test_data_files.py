"""The data files of the papers: an entry that is wrong is named by its file and its place."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
import sympy

from fedtheory.theory import catalogue, errata, symbols
from fedtheory.theory.data_files import DataEntry, data_file, folded
from fedtheory.theory.statement import Paper, Words


def paper() -> Paper:
    own = Paper("own", "A paper", "A. Author, 2026")
    for name in ("lemma1", "lemma1.corrected", "lemma2"):
        own.say("lemma", name, "Lemma", Words("a sentence"))
    return own


def declared(**entries: Any) -> Paper:
    own = paper()
    errata.declare(own, DataEntry("own/errata.toml", entries))
    return own


ERROR = {"of": "lemma1", "severity": "misprint", "printed": "x", "true": "y"}


def test_errata_of_several_statements() -> None:
    two = declared(erratum=[{**ERROR, "corrected": True}, {**ERROR, "of": ["lemma1", "lemma2"], "corrected": "lemma1"}])
    assert [(e.statement, e.corrected) for e in two.errata] == [
        ("own.lemma1", "own.lemma1.corrected"),
        ("own.lemma1", "own.lemma1"),
        ("own.lemma2", "own.lemma1"),
    ]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"severity": "bad"}, "erratum 2: severity is 'bad': expected one of breaks the statement, "),
        ({"printed": 3}, "erratum 2: printed is 3: expected a value of type str"),
        ({"true": None}, "erratum 2: true is nothing: expected a value of type str"),
        ({"of": 3}, "erratum 2: of is 3: expected texts"),
        ({"of": "lemma3"}, r"erratum 2: erratum about \['own.lemma3'\]: expected statements that have been declared"),
        ({"of": "lemma2", "corrected": True}, "erratum 2: erratum about .*lemma2.corrected"),
        ({"corrected": 3}, "erratum 2: corrected is 3: expected a value of type str"),
        ({"form": "x"}, "erratum 2: 'form' is not known: expected of, severity, printed, true, corrected"),
    ],
)
def test_a_wrong_erratum_is_named(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"^own/errata.toml, {says}"):
        declared(erratum=[ERROR, {**ERROR, **wrong}])


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"errata": []}, "own/errata.toml: 'errata' is not known"),
        ({"erratum": [3]}, "own/errata.toml: erratum 1 is 3: expected a table"),
        ({"repair": [{"of": ["lemma9"], "says": "x"}]}, "own/errata.toml, repair 1: repair of own.lemma9"),
        (
            {"one_error": [{"root": "lemma1", "of": ["lemma2"]}]},
            "own/errata.toml, one_error 1: one error of own.lemma1",
        ),
        ({"finding": [{"of": "lemma1"}]}, "own/errata.toml, finding 1: title is nothing"),
    ],
)
def test_other_wrong_entries_are_named(entries: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{says}"):
        declared(**entries)


def test_a_file_that_is_no_toml_is_named(tmp_path: Any) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "errata.toml").write_text("of = [")
    with pytest.raises(ValueError, match="^own/errata.toml: "):
        data_file("own", "errata.toml", tmp_path)


def test_a_text_of_several_lines_is_one_line() -> None:
    assert folded("\n  one sentence.  Another\n  one\n") == "one sentence.  Another one"


LETTER = {"latex": "L", "says": "a constant"}


def test_symbols_are_declared_in_the_order_of_the_file() -> None:
    own, file = (
        paper(),
        DataEntry("own/symbols.toml", {"N": {**LETTER, "domain": "count"}, "L": {**LETTER, "dimension": "[F]/[x]^2"}}),
    )
    N, L = symbols.declare(own, file)
    assert (N.name, N.is_integer, N.is_positive, L.name, L.is_positive) == ("N", True, True, "L", None)
    assert own.symbols["L"].dimension == symbols.F / symbols.X**2


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"says": 3}, "says is 3: expected a value of type str"),
        ({"domain": "natural"}, "domain is 'natural': expected one of count, index, positive, amount, real"),
        ({"dimension": "[x"}, r"dimension is '\[x': expected one such as \[F\]/\[x\]\^2"),
        ({"dimension": "[x] m"}, r"dimension is '\[x\] m': expected"),
        ({"concept": "beauty"}, "L of own: "),
        ({"meaning": "x"}, "'meaning' is not known: expected latex, says, domain, dimension, concept"),
    ],
)
def test_a_wrong_symbol_is_named(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"^own/symbols.toml, L: {says}"):
        symbols.declare(paper(), DataEntry("own/symbols.toml", {"L": {**LETTER, **wrong}}))


@pytest.mark.parametrize("name", ["sfl", "fedcom", "fedbcgd", "fedbat"])
def test_the_symbols_of_a_paper_have_their_own_names(name: str) -> None:
    catalogue.paper(name)
    module = import_module(f"fedtheory.theory.{name}.symbols")
    names = {key: s.name for key, s in vars(module).items() if isinstance(s, sympy.Symbol)}
    assert names == {key: key.removesuffix("_fun") for key in names}
