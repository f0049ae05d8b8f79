"""The documentation as `make docs` builds it: complete, and without anything that a network would have to bring."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fedtheory
from tests.fedtheory.browser import chromium
from tests.fedtheory.commands import COMMANDS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
    command += ["--config-file", "docs/mkdocs.yml", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def code(page: Path) -> str:
    """A page whose pieces of code have no classes."""
    return re.sub(r"<code [^>]+>", "<code>", page.read_text())


def test_the_pages_have_every_command_with_every_option(built: Path) -> None:
    page = code(built / "commands.html")
    sections = {s.split('"')[0]: s for s in page.split('<h3 id="')[1:]}
    for name, one in COMMANDS.items():
        for parameter in one.params:
            option = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar
            assert not option or f"<code>{option}" in sections[name.replace(" ", "-")], (name, option)
    assert set(sections) == {"options-of-all-commands", *(name.replace(" ", "-") for name in COMMANDS)}


def test_the_pages_have_every_public_name(built: Path) -> None:
    page = (built / "api.html").read_text()
    for name in set(fedtheory.__all__) - {"problems", "algorithms", "compressors"}:
        assert re.search(rf'<h3 id="[\w.]+\.{name}"', page), name


def test_the_pages_have_every_algorithm_and_compressor(built: Path) -> None:
    page = code(built / "names.html")
    for name in (*fedtheory.problems, *fedtheory.algorithms, *fedtheory.compressors):
        assert f"<code>{name}</code>" in page, name


def test_the_pages_load_nothing_from_elsewhere(built: Path) -> None:
    pages = [path for path in built.glob("*.html") if path.name != "404.html"]  # that is of a server
    assert len(pages) > 15
    for path in pages:
        loaded = re.findall(r'<(?:script|img|iframe)\b[^>]* src="?([^"> ]+)', path.read_text())
        loaded += re.findall(r'<link\b[^>]* href="?([^"> ]+)', path.read_text())
        assert loaded and all("//" not in one and (built / one).exists() for one in loaded), path.name


def test_links_to_files_of_the_repository_lead_somewhere(built: Path) -> None:
    found = {link for path in built.glob("*.html") for link in re.findall(r'href="(\.\./[^"#]+)', path.read_text())}
    # `make report` and `python -m course --html` write these
    later = {"../../site/index.html", "../../course/built/index.html"}
    assert later < found and all((ROOT / "docs" / "built" / link).resolve().exists() for link in found - later)


def test_the_search_works_in_a_page_opened_from_the_folder(built: Path) -> None:
    wrong: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.extend([] if request.url.startswith("file:") else [request.url]))
        page.goto((built / "index.html").as_uri())
        page.click(".md-search__input")
        page.keyboard.type("trade-off")
        link = page.locator(".md-search-result__link", has_text="sharpen").first
        link.wait_for(timeout=60_000)
        assert (link.get_attribute("href") or "").partition("?")[0].endswith("commands.html")
    assert wrong == []
