"""The picture of what rests on what: its layout, what it shows of a paper, and how a person goes through it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import fedtheory
from fedtheory.report import PaperReport
from fedtheory.site.build import PaperView, page
from fedtheory.site.graph import Graph, graph
from fedtheory.site.layered import layered
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Evidence, Status, Verdict
from fedtheory.verification import Checked

PAPERS = list(catalogue.papers())


def checked(id_: str, status: Status) -> Checked:
    kind = "counterexample" if status is Status.REFUTED else "ledger"
    return Checked(catalogue.find(id_), ((Evidence(id_, kind, lambda *_: Verdict(status, "")), Verdict(status, "")),))


def drawn(paper: str, **statuses: Status) -> Graph:
    """A paper's picture, with these verdicts, by names without the paper's and with _ for dots."""
    own = []
    for s in catalogue.statements(paper):
        status = statuses.get(s.id.partition(".")[2].replace(".", "_"))
        own.append(Checked(s, ()) if status is None else checked(s.id, status))
    return graph(own)


def test_a_layout_goes_from_left_to_right() -> None:
    sizes = dict.fromkeys("abcdefg", (50.0, 20.0))
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("d", "c"), ("c", "a"), ("e", "f"), ("a", "elsewhere")]
    found = layered(sizes, edges)
    assert set(found.routes) == {*edges[:4], ("e", "f")}  # ("c", "a") would close a circle
    for (a, b), points in found.routes.items():
        assert found.corners[a][0] + 50 < found.corners[b][0]
        across = [x for x, _ in points]
        assert (
            across == sorted(across)
            and points[0][0] == found.corners[a][0] + 50
            and points[-1][0] == found.corners[b][0]
        )
    assert found.corners["d"][0] == found.corners["b"][0]  # just left of what rests on it
    for one, other in combinations(found.corners.values(), 2):
        assert one[0] != other[0] or abs(one[1] - other[1]) >= 20
    above, below = max(found.corners[n][1] for n in "abcd"), min(found.corners[n][1] for n in "efg")
    assert above < below  # the largest part first
    assert layered({}, []).corners == {}


def printed(id_: str) -> str:
    return catalogue.as_printed(catalogue.find(id_))


@pytest.mark.parametrize("paper", PAPERS)
def test_a_picture_has_every_statement_and_every_line(paper: str) -> None:
    found = drawn(paper)
    statements = catalogue.statements(paper)
    nodes = {node.id: node for node in found.nodes}
    assert sorted([*nodes, *found.alone]) == sorted(s.id for s in statements)
    rests = {(other, s.id) for s in statements for other in s.rests_on if s.id in nodes and other in nodes}
    lines = {(line.first, line.second) for line in found.lines if not line.form}
    own = {(a, b) for a, b in rests - lines if printed(a) == printed(b)}  # a form that rests on another one
    assert lines | own == rests and len(lines) > 50
    assert {(line.first, line.second) for line in found.lines if line.form} == {
        (s.corrects or s.sharpens, s.id) for s in statements if s.ours and s.id in nodes
    }
    for line in found.lines:
        if not line.form:
            assert nodes[line.first].x + nodes[line.first].width < nodes[line.second].x, line
        assert line.ours == catalogue.find(line.second).ours
    for one, other in combinations(found.nodes, 2):
        apart = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert apart or abs(one.y - other.y) >= one.height, (one.id, other.id)
    assert all(node.x + node.width <= found.width and node.y + node.height <= found.height for node in found.nodes)


def test_what_rests_on_a_refuted_statement_is_hatched() -> None:
    found = drawn("sfl", lemma9=Status.REFUTED)
    nodes = {node.id: node for node in found.nodes}
    infected = {id_ for id_, node in nodes.items() if node.infected}
    assert {"sfl.step.eq54_recursion", "sfl.eq54"} <= infected  # the second through the first
    assert not infected & {"sfl.lemma9", "sfl.eq54.corrected", "sfl.step.eq49"}
    assert "✗" in nodes["sfl.lemma9"].label and "rests on a refuted statement" in nodes["sfl.eq54"].says
    assert not any(node.infected for node in drawn("sfl").nodes)


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The page of a picture, on a phone."""
    shutil.copytree(Path(fedtheory.__file__).parent / "site" / "assets", tmp_path / "assets")
    paper = PaperView(PaperReport(catalogue.paper("fedcom"), []), [], [])
    picture = drawn("fedcom", lemmaD1=Status.REFUTED)
    shown = page("graph.html", papers=[paper], statuses=[], kinds=[], paper=paper, picture=picture)
    (tmp_path / "graph_fedcom.html").write_text(shown)
    context = browser.new_context(viewport={"width": 390, "height": 800})
    fresh = context.new_page()
    fresh.goto((tmp_path / "graph_fedcom.html").as_uri())
    yield fresh
    context.close()


def test_a_phone_scrolls_the_picture_in_its_own_box(opened: Page) -> None:
    wide, box, inside = opened.evaluate(
        "[document.documentElement.scrollWidth, ...(g => [g.clientWidth, g.scrollWidth])(document.querySelector('.graph'))]"
    )
    assert wide == 390 and box < 390 < inside


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_picture(opened: Page, scheme: Any) -> None:
    opened.emulate_media(color_scheme=scheme)
    assert Axe().run(opened, options={"resultTypes": ["violations"], "preload": False}).response["violations"] == []


def test_the_keyboard_goes_from_box_to_box(opened: Page) -> None:
    opened.locator(".graph").focus()
    opened.keyboard.press("Tab")
    first = opened.evaluate("document.activeElement.id")
    assert first.startswith("g-fedcom.")
    near = opened.evaluate("[...document.querySelectorAll('.line.near')].map(l => [l.dataset.a, l.dataset.b])")
    assert near and all(first.removeprefix("g-") in ends for ends in near)
    edge = "getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth"
    assert opened.evaluate(edge) == "3px"  # the focus is seen
    assert opened.evaluate("document.activeElement.querySelector('title').textContent").startswith(first[2:])
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.id") != first


def test_a_box_leads_to_its_statement_and_a_link_to_the_box(opened: Page) -> None:
    node = opened.locator("[id='g-fedcom.lemmaD1']")
    assert node.get_attribute("href") == "fedcom.lemmaD1.html"
    assert node.locator("rect").evaluate("e => getComputedStyle(e).fill") == "rgb(179, 71, 0)"  # red
    opened.evaluate("location.hash = 'g-fedcom.thmE9'")
    opened.wait_for_function("document.querySelector('.graph').classList.contains('chosen')")
    box = opened.locator("[id='g-fedcom.thmE9']").bounding_box()
    assert box and abs(box["x"] + box["width"] / 2 - 195) < 60 and 100 < box["y"] < 700  # it was far to the right
