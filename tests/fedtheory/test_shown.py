"""Objects show themselves: in at most ten lines of text, and in a notebook by formulas."""

from __future__ import annotations

import pytest

import fedtheory as ft
from theory.statement import Bound


@pytest.mark.parametrize("paper", ["sfl", "fedbat", "fedcom", "fedbcgd"])
def test_every_statement_shows_itself(paper: str) -> None:
    """Its id, its kind, its claim."""
    for s in ft.statements(paper):
        lines = repr(s).splitlines()
        assert 2 <= len(lines) <= 10 and lines[0].startswith(f"{s.id} ({s.kind}, "), s.id
        assert all(len(line) < 400 for line in lines) and "object at" not in repr(s)
        assert s._repr_markdown_().startswith(f"**{s.id}**")
        if isinstance(s.claim, Bound):
            assert "$$ " in s._repr_markdown_() and f" {s.claim.sign} " in lines[1]


def test_several_statements_are_a_table() -> None:
    """Of ten lines at most; in a notebook of all of them."""
    found = ft.statements("sfl")
    assert repr(found).splitlines()[0] == f"{len(found)} statements" and len(repr(found).splitlines()) == 10
    assert found._repr_markdown_().count("\n| ") == len(found)


def test_a_verdict_is_its_headline_and_its_evidence() -> None:
    """One line each."""
    (found,) = ft.verify(["sfl.lemma2"])
    lines = repr(found).splitlines()
    assert lines[0] == f"sfl.lemma2: {found.headline}" and len(lines) == 1 + len(found.verdicts)
