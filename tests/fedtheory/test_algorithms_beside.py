"""Algorithms on the site: typeset lines, printed beside corrected, the changes marked, nothing cut off."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import fedtheory
from fedtheory.report import PaperReport
from fedtheory.site import listings
from fedtheory.site.build import PaperView, page, view
from fedtheory.theory import catalogue
from fedtheory.theory.listing import Listing
from fedtheory.theory.statement import Status
from fedtheory.verification import Checked
from tests.fedtheory.browser import chromium

LISTED = [s for s in catalogue.statements() if isinstance(s.claim, Listing)]


def marked(text: str) -> list[str]:
    return [re.sub("<.*?>", "", one) for one in re.findall("<mark>(.*?)</mark>", text)]


def row(id_: str, number: int) -> listings.LinePair:
    both = listings.beside(catalogue.find(id_))
    assert both is not None
    (found,) = (one for one in listings.comparison(*both) if one.printed and one.printed.number == number)
    return found


@pytest.mark.parametrize("statement", LISTED, ids=lambda s: s.id)
def test_the_lines_that_differ_are_marked_and_no_others(statement) -> None:
    forms = [catalogue.find(id_).claim for id_ in catalogue.corrected_by(statement.id)]
    both = listings.beside(statement)
    assert (both is None) == (not statement.corrects and not any(isinstance(one, Listing) for one in forms))
    if both is None:
        return
    printed, corrected = both
    assert statement.claim in both and printed != corrected
    own, other = ({line.number: str(line) for line in one.lines} for one in both)
    rows = listings.comparison(*both)
    assert len(rows) == len(own.keys() | other.keys()) and any(one.changed for one in rows)
    for one in rows:
        number = (one.printed or one.corrected).number
        assert one.changed == (own.get(number) != other.get(number))
        assert one.changed or one.printed == one.corrected
        assert one.changed == any("<mark>" in cell.text for cell in (one.printed, one.corrected) if cell)


def test_the_words_that_change_are_marked() -> None:
    signs = row("fedbcgd.alg3", 13)
    assert signs.printed and signs.corrected
    assert marked(signs.printed.text) == ["+", "−", "+", "−"] and marked(signs.corrected.text) == ["−", "+", "−", "+"]
    assert row("fedbcgd.alg3", 31).changed and not row("fedbcgd.alg3", 26).changed
    assert row("fedbcgd.alg3.corrected", 13) == signs  # the same on its own place


def test_an_algorithm_with_two_forms_stands_beside_the_corrected_one() -> None:
    forms = {
        id_: listings.beside(catalogue.find(id_)) for id_ in ("fedcom.alg5", "fedcom.alg5.corrected", "fedcom.alg5.own")
    }
    assert forms["fedcom.alg5"] == forms["fedcom.alg5.corrected"] != forms["fedcom.alg5.own"]


def test_lines_are_typeset() -> None:
    (line,) = (one for one in listings.shown(catalogue.find("fedbcgd.alg3").claim) if one.number == 12)
    assert "∇<i>f</i><sub>" in line.text and "grad f" not in line.text and line.depth == 4
    assert any("Δ<i>c</i>" in one.text for one in listings.shown(catalogue.find("fedbcgd.alg3").claim))


@pytest.mark.dear
@pytest.mark.parametrize("width", [390, 1400])
def test_no_line_is_cut_off(width: int, tmp_path: Path) -> None:
    shutil.copytree(Path(fedtheory.__file__).parent / "site" / "assets", tmp_path / "assets")
    views = [
        view(Checked(catalogue.find(id_), ()), []) for id_ in ("fedbcgd.alg3", "fedbcgd.alg1", "fedbcgd.alg3.corrected")
    ]
    paper = PaperView(PaperReport(catalogue.paper("fedbcgd"), [v.checked for v in views]), views, [])
    (tmp_path / "p.html").write_text(
        page("paper.html", papers=[paper], statuses=list(Status), kinds=[], severities=(), paper=paper)
    )
    with chromium() as browser:
        fresh = browser.new_page(viewport={"width": width, "height": 900})
        fresh.goto((tmp_path / "p.html").as_uri())
        sizes = fresh.evaluate(
            "[...document.querySelectorAll('.code, .code > span')].filter(e => e.offsetParent)"
            ".map(e => [e.scrollWidth - e.clientWidth, e.getBoundingClientRect().right])"
        )
        assert len(sizes) > 100 and fresh.evaluate("document.documentElement.scrollWidth") == width
        assert all(right <= width for _, right in sizes)
        assert fresh.locator("[id='fedbcgd.alg3'] .changed td:nth-child(2)").first.is_visible()
        same = fresh.locator("[id='fedbcgd.alg3'] tr:not(.changed) td:nth-child(2)").first
        assert same.is_visible() == (width == 1400)  # on a phone a line that stays is there once
