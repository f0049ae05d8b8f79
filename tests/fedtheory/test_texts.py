"""What the reports write as Markdown, read by a CommonMark parser."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from fedtheory.texts import cell
from fedtheory.theory import catalogue


def read(markdown: str) -> str:
    """What a reader sees; the kind of what is no text, such as emphasis, in brackets."""
    (inline,) = MarkdownIt("commonmark").parseInline(markdown.replace(r"\|", "|"))
    plain = ("text", "text_special", "code_inline")
    return "".join(one.content if one.type in plain else f"[{one.type}]" for one in inline.children or ())


@given(st.text("ab1 *_<>|[]()\\~&;#!.-^", min_size=1, max_size=40))
def test_a_cell_shows_a_text_as_it_is(text: str) -> None:
    assert read(cell(text)) == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("(q + 1)/(2*epsilon) of 3*x", "(q + 1)/(2*epsilon) of 3*x"),
        ("||x_* - x||**2 <= <grad F(x), y>", "||x_* - x||**2 <= <grad F(x), y>"),
        ("`a*b*c` and *d*", "a*b*c and *d*"),
        ("a single ` quote", "a single ` quote"),
    ],
)
def test_formulas_and_code(text: str, shown: str) -> None:
    assert read(cell(text)) == shown


def test_errata_and_places() -> None:
    for paper in catalogue.papers().values():
        texts = [text for e in paper.errata for text in (e.printed, e.true)]
        for text in [*texts, *(s.place for s in paper.statements.values())]:
            assert read(cell(text)) == " ".join(text.split()).replace("`", ""), text
