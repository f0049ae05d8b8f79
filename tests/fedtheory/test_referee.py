"""The reports on the papers as PDF: what they say, their formulas and fonts, the same bytes each time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader

from fedtheory.report import Report
from fedtheory.site import referee
from fedtheory.site.build import PaperView, page, parts, pdf_source, report_values, view
from fedtheory.site.referee import Box, Document, PageLine, broken, mathematics, pages
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Evidence, Status, Verdict
from fedtheory.verification import Checked

PAPERS = list(catalogue.papers())
NUMERATOR = "3" * 300  # a witness can be longer than a line


def wrong(paper: str) -> set[str]:
    """The statements with an erratum or a finding."""
    known = catalogue.papers()[paper]
    return {e.statement for e in known.errata} | {f.statement for f in known.findings}


def planted(paper: str, says: str = f"an instance, {NUMERATOR}/7 above 1") -> list[Checked]:
    """The statements of a paper; those that are wrong are refuted by a planted witness."""

    def never(*_: object) -> Verdict:
        raise AssertionError("the report runs no check")

    verdict = Verdict(Status.REFUTED, says)
    return [
        Checked(s, ((Evidence(s.id, "counterexample", never), verdict),) if s.id in wrong(paper) else ())
        for s in catalogue.statements(paper)
    ]


def values(checked: list[Checked]) -> dict[str, Any]:
    views = [view(c, []) for c in checked]
    (report,) = Report(checked).papers
    paper = PaperView(report, views, [])
    return {"paper": paper, "papers": [], **report_values(paper, {v.statement.id: v for v in views})}


@cache
def content(paper: str) -> bytes:
    return referee.pdf(*pdf_source(values(planted(paper))))


@cache
def text(paper: str) -> str:
    return text_of(content(paper))


def text_of(file: bytes) -> str:
    """The text of all pages, without what stands at their foot."""
    sheets = PdfReader(BytesIO(file)).pages
    found = [sheet.extract_text().rpartition("Report on ") for sheet in sheets]
    for number, (_, _, foot) in enumerate(found, 1):
        assert re.fullmatch(rf"[^·]+ · fedtheory [\d.]+\s*{number} of {len(sheets)}", foot)
    return "".join(shown for shown, _, _ in found)


def squeezed(words: str) -> str:
    """Without blanks: lines end elsewhere in the file."""
    return re.sub(r"\s+", "", words)


@pytest.mark.parametrize("paper", PAPERS)
def test_the_file_says_what_the_report_says(paper: str) -> None:
    known, shown = catalogue.papers()[paper], squeezed(text(paper))
    assert shown.startswith(squeezed(f"Report on {known.title}"))
    assert known.findings and all(squeezed(f"{f.title}. ") in shown for f in known.findings)
    for id_ in wrong(paper):
        assert squeezed(f"Run it again: fedtheory verify {id_}") in shown, id_
    for severity in {e.severity for e in known.errata}:
        count = sum(e.severity == severity for e in known.errata)
        assert shown.count(squeezed(f"{severity.capitalize()}. Printed: ")) == count, severity
    assert shown.count(NUMERATOR) == len(wrong(paper))  # over several lines
    assert "Howtoruneverythingagain" in shown and "\\" not in shown


def test_a_listing_is_there_line_by_line() -> None:
    lines = text("fedcom").splitlines()
    assert sum("for each client j in" in line for line in lines) >= 4
    assert not any(line.count("for each client j in") > 2 for line in lines)  # printed and corrected, side by side


def test_the_same_verdicts_are_the_same_file_and_others_are_not() -> None:
    assert referee.pdf(*pdf_source(values(planted("sfl")))) == content("sfl") and b"CreationDate" not in content("sfl")
    other = text_of(referee.pdf(*pdf_source(values(planted("sfl", "two clients, 2 above 1")))))
    assert "two clients, 2 above 1" in other and "two clients, 2 above 1" not in text("sfl")


def drawn(box: Box) -> Iterable[tuple[float, float, Box]]:
    return box.leaves(0.0, 0.0)


@pytest.fixture
def document() -> Iterator[Document]:
    with closing(Document("report")) as made:
        yield made


@pytest.mark.parametrize("paper", PAPERS)
def test_nothing_leaves_the_page_and_every_character_is_in_its_font(paper: str, document: Document) -> None:
    report = values(planted(paper))
    lines = referee.lines_of(page("report.html", in_latex=True, **report), document)
    wide = max(x + box.width for line in lines for x, _, box in drawn(line.box) if box.texts)
    assert wide <= referee.WIDTH - 2 * referee.MARGIN + 0.1
    room = referee.HEIGHT - 2 * referee.MARGIN
    sheets = pages(lines, room)
    assert [line for sheet in sheets for _, line in sheet] == lines
    assert all(y + line.height <= room for sheet in sheets for y, line in sheet)
    assert not any(sheet[-1][1].keep for sheet in sheets)  # no heading is the last of its page
    for line in lines:
        for _, _, box in drawn(line.box):
            for t in box.texts:
                assert t.size > 3.5, t.text
                assert all(ord(c) in document.loaded(t.font).cmap for c in t.text), t


def test_mathtext_reads_nearly_all_formulas(some: Callable[[Sequence[Any], int], Sequence[Any]]) -> None:
    unread, chosen = set(), some(catalogue.statements(), 3)
    for s in chosen:
        for part in (p for claim in (s.claim, *s.also) for p in parts(claim, s.paper) if p.kind == "formula"):
            for piece in part.content:
                braced = referee.BRACED.fullmatch(piece)
                if any(mathematics(one) is None for one in (braced.groups()[:2] if braced else [piece])):
                    unread.add(s.id)
    # Three definitions by cases
    assert unread == {"fedbat.eq6", "fedbat.eq8", "fedbat.eq9"} & {s.id for s in chosen}


def shown(box: Box) -> str:
    return "".join(t.text for _, _, one in drawn(box) for t in one.texts)


def test_a_formula_has_its_signs_and_its_lines(document: Document) -> None:
    set_ = document.formula(r"{} + \underbrace{\frac{L \tilde\eta}{R}}_{\text{noise drift}}")
    assert sorted(shown(set_)) == sorted("+Lη\u0303Rnoise drift")
    over, below = (bar for _, _, one in drawn(set_) for bar in one.bars)
    letters = {t.text: base + t.y for _, base, one in drawn(set_) for t in one.texts}
    assert letters["L"] < letters["R"] < letters["noise drift"]
    assert over.width < below.width < set_.width and set_.above > 5


def test_what_mathtext_cannot_read_is_shown_in_one_line_of_unicode(document: Document) -> None:
    text = r"= \begin{cases} \alpha & \text{for} \end{cases}"
    assert mathematics(text) is None and "α" in shown(document.formula(text))


def test_lines_are_filled_and_what_follows_is_further_right() -> None:
    words = [Box(10.0, 1.0, 0.0, space=2.0) for _ in range(5)]
    first, second = broken(words, 40.0, 8.0)
    assert first.width == 34.0 and [x for x, _, _ in second.inside] == [8.0] and second.width == 8.0 + 22.0


def test_a_heading_goes_to_the_next_page_with_its_text() -> None:
    text, heading = PageLine(Box(1, 10, 0), before=5.0), PageLine(Box(1, 10, 0), before=5.0, keep=True)
    first, second = pages([text, text, heading, text], 45.0)
    assert [y for y, _ in first] == [0.0, 15.0] and [(y, line.keep) for y, line in second] == [
        (0.0, True),
        (15.0, False),
    ]
    assert len(pages([heading] * 9, 45.0)) == 3  # more than a page
