"""Plain-text mathematics becomes HTML; words, ids and commands stay as they are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from fedtheory.site.typeset import breakable, typeset
from fedtheory.texts import cell
from fedtheory.theory import catalogue


@pytest.mark.parametrize(
    ("plain", "html"),
    [
        ("eta_tilde <= 1/(6 L)", "<i>η̃</i> ≤ 1/(6 <i>L</i>)"),
        ("||x^0 - x*||^2", "‖<i>x</i><sup>0</sup> − <i>x</i>*‖<sup>2</sup>"),
        ("grad F_k(w_t^k)", "∇<i>F</i><sub><i>k</i></sub>(<i>w</i><sub><i>t</i></sub><sup><i>k</i></sup>)"),
        ("R^(-2/3)", "<i>R</i><sup>−2/3</sup>"),
        ("(1 - mu eta)^{1-r}", "(1 − <i>μ</i> <i>η</i>)<sup>1-<i>r</i></sup>"),
        ("1/(2*L*tau)", "1/(2\u202f<i>L</i>\u202f<i>τ</i>)"),  # narrow spaces that do not break
        ("sum_k p_k, a sum of squares", "Σ<sub><i>k</i></sub> <i>p</i><sub><i>k</i></sub>, a sum of squares"),
        ("alpha' = ||m||_inf", "<i>α</i>′ = ‖<i>m</i>‖<sub>∞</sub>"),
        ("What is true", "What is true"),
        ("xbar_t is a mean, that is all", "<i>x̄</i><sub><i>t</i></sub> is a mean, that is all"),
        ("w^(r) + x^(r+1)", "<i>w</i><sup>(<i>r</i>)</sup> + <i>x</i><sup>(<i>r</i>+1)</sup>"),
        ("c_i^+ + zeta_*^2", "<i>c</i><sub><i>i</i></sub><sup>+</sup> + <i>ζ</i><sub>*</sub><sup>2</sup>"),
        ("(1 - u)^-(t+1)", "(1 − <i>u</i>)<sup>−(<i>t</i>+1)</sup>"),
        ("sqrt(d - 1)", "√(<i>d</i> − 1)"),
        ("E||g||^2", "𝔼‖<i>g</i>‖<sup>2</sup>"),
    ],
)
def test_mathematics_becomes_readable(plain: str, html: str) -> None:
    assert typeset(plain) == html


@pytest.mark.parametrize(
    "words",
    [
        "Theorem E.4 and Corollary E.8 (89)",
        "fedtheory verify sfl.lemma9.corrected",
        "a client's gradient at what I call a point",
        "well-known, non-convex: 5x5 kernels of conv3-64",
    ],
)
def test_words_stay_as_they_are(words: str) -> None:
    assert typeset(words) == words


def test_everything_is_escaped() -> None:
    assert typeset('<b> & "x"') == "&lt;<i>b</i>&gt; &amp; &#34;<i>x</i>&#34;"


TAGS = re.compile(r"</?(i|su[bp])>")


@given(st.text(st.sampled_from("xMa eta_tilde^2{}()|<>=*-'/.&;0b"), max_size=60))
def test_no_text_breaks_the_page(text: str) -> None:
    """Only our tags are in it, and each that opens closes again."""
    html = typeset(text)
    assert "<" not in TAGS.sub("", html)
    open_tags: list[str] = []
    for tag in TAGS.finditer(html):
        if tag[0].startswith("</"):
            assert open_tags.pop() == tag[1]
        else:
            open_tags.append(tag[1])
    assert open_tags == []


def test_the_errata_have_no_names_of_greek_letters_left() -> None:
    for paper in catalogue.papers().values():
        for e in paper.errata:
            for text in (e.printed, e.true):
                assert not re.search(r"(?<![\w.])(eta|sigma|beta|mu|tau)(?![\w.])", typeset(text)), text


def test_an_id_breaks_after_dots_and_underscores_only() -> None:
    assert breakable("sfl.step.eq54_recursion") == "sfl.<wbr>step.<wbr>eq54_<wbr>recursion"
    assert breakable("sfl.lemma5") == "sfl.lemma5"
    assert breakable("a<b") == "a&lt;b"


# What the reports write as Markdown, read by a CommonMark parser


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
