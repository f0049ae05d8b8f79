"""A lesson as a person sees it: in a Chromium, opened with marimo, or exported and read without a network."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from course.build import build
from tests.fedtheory.browser import chromium

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SUMMARY = "Your exercises:"  # the last text of a lesson: it stands there when all cells have run
CUT = """() => [...document.querySelectorAll('.output-area')].filter(e => e.scrollHeight > e.clientHeight + 2).length"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@contextmanager
def served(*command: str) -> Iterator[str]:
    """The address of a server that Python runs, with {port} in its command."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = [part.format(port=port) for part in command]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    server = subprocess.Popen([sys.executable, "-m", *arguments], env=environment, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and server.poll() is None:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[Page]:
    """A page that reaches nothing but this machine."""
    context = browser.new_context()
    page = context.new_page()
    page.route("**/*", lambda route: route.continue_() if "127.0.0.1" in route.request.url else route.abort())
    page.goto(address)
    yield page
    context.close()


@pytest.mark.parametrize(
    ("mode", "says", "unsaid"),
    [("edit", "How to answer.", "the lesson as an app."), ("run", "the lesson as an app.", "How to answer.")],
)
def test_a_lesson_runs_when_it_is_opened_and_shows_all_of_it(
    mode: str, says: str, unsaid: str, browser: Browser, tmp_path: Path
) -> None:
    build(tmp_path, only=[1])
    lesson = str(tmp_path / "student" / "01_client_drift.py")
    sliders = Path(lesson).read_text().count("mo.ui.slider(")  # some stand beside two figures
    with (
        served("marimo", "--quiet", mode, lesson, "--headless", "--no-token", "--port", "{port}") as address,
        opened(browser, address) as page,
    ):
        page.locator("strong", has_text=SUMMARY).wait_for(timeout=240_000)
        assert page.get_by_text(says).count() == 1 and page.get_by_text(unsaid).count() == 0
        assert page.get_by_text("Exercise 1.1: open.").count() == 1
        assert page.get_by_text("What follows tells the answer of Exercise 1.1").count() == 1
        assert page.locator("marimo-slider").count() >= sliders > 0
        assert page.evaluate(CUT) == 0


def test_a_page_made_for_it_is_read_without_a_network(browser: Browser, tmp_path: Path) -> None:
    build(tmp_path, html=True, only=[13], offline=True)
    with (
        served("http.server", "{port}", "--bind", "127.0.0.1", "--directory", str(tmp_path)) as address,
        opened(browser, f"{address}/teacher/13_who_wins_where.html") as page,
    ):
        page.locator("strong", has_text=SUMMARY).wait_for(timeout=60_000)
        assert "13.7 right" in page.inner_text("body")
        assert page.evaluate(CUT) == 0
