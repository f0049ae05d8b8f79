"""Symbols across the papers."""

from __future__ import annotations

import pytest

from fedtheory.glossary import apart, glossary, rows
from fedtheory.theory import catalogue
from fedtheory.theory.catalogue import UnknownName


def test_every_symbol_of_every_paper_is_there() -> None:
    expected = {(s.name, name) for name, p in catalogue.papers().items() for s in p.symbols.values()}
    assert {(row["symbol"], row["paper"]) for row in rows()} == expected
    assert [row["symbol"].lower() for row in rows()] == sorted(row["symbol"].lower() for row in rows())


def test_one_symbol_means_different_things() -> None:
    found = glossary("K")["K"]
    assert "local steps" in found["sfl"].meaning and "client" in found["fedbat"].meaning
    assert apart(found) and {row["elsewhere"] for row in rows("K")} == {"different"}
    alone = next(row for row in rows() if not row["elsewhere"])
    assert len(glossary(alone["symbol"])[alone["symbol"]]) == 1
    assert all(row["elsewhere"] for row in rows(shared=True)) and len(rows(shared=True)) < len(rows())
    symbol = found["sfl"]
    assert not apart({"one": symbol, "other": symbol})


def test_an_unknown_symbol() -> None:
    with pytest.raises(UnknownName, match="unknown symbol 'etaa'; did you mean eta"):
        glossary("etaa")


def test_symbols_are_told_apart_by_their_concepts() -> None:
    smoothness = {paper: symbol for paper, symbol in glossary("L")["L"].items() if paper != "fedbcgd"}
    assert len(smoothness) == 3 and not apart(smoothness) and apart(glossary("L")["L"])
    assert apart(glossary("beta")["beta"]) and apart(glossary("q")["q"]) and not apart(glossary("sigma")["sigma"])
