"""Symbols across the papers."""

from __future__ import annotations

import pytest

from fedtheory.glossary import apart, glossary, rows
from fedtheory.theory import catalogue, field
from fedtheory.theory.catalogue import UnknownName
from fedtheory.theory.concepts import CONCEPTS, same
from fedtheory.theory.statement import F, Paper, X


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


# Concepts: what letters of different papers have in common


def test_each_concept_is_a_letter_of_some_paper_and_no_paper_has_two_letters_for_one() -> None:
    used = {s.concept for s in field.SYMBOLS.values() if s.concept}
    for paper in catalogue.papers().values():
        own = [s.concept for s in paper.symbols.values() if s.concept]
        assert len(own) == len(set(own)), paper.name
        used |= set(own)
    assert used == set(CONCEPTS)


def test_a_symbol_with_a_concept_has_its_dimension() -> None:
    paper = Paper("mine", "Mine", "nobody")
    with pytest.raises(
        ValueError, match=r"beta of mine has dimension \[F\]/\[x\]\*\*2: expected 1, that of 'relative het"
    ):
        paper.symbol("beta", "b", "smoothness", F / X**2, concept="relative heterogeneity")
    with pytest.raises(ValueError, match="unknown concept 'smooth'; did you mean smoothness"):
        paper.symbol("beta", "b", "smoothness", F / X**2, concept="smooth")
    assert not paper.symbols


def test_the_same_quantity() -> None:
    symbols = {name: paper.symbols for name, paper in catalogue.papers().items()}
    assert same(symbols["sfl"]["L"], symbols["fedbcgd"]["beta"])  # other letters
    assert not same(symbols["sfl"]["beta"], symbols["fedbcgd"]["beta"])  # the same letter
    assert not same(symbols["sfl"]["K"], symbols["fedbcgd"]["K"])
    assert same(symbols["sfl"]["y"], symbols["fedbcgd"]["y"])  # without a concept, by meaning
