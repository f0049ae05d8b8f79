"""The command line, called in the tests' own process; a folder and a browser for tests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fedtheory import cli

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The arguments of `fedtheory` -> its exit status, standard output and standard error."""

    def fedtheory(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fedtheory", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return fedtheory


@pytest.fixture
def call(command: Call) -> Call:
    """The command, in the folder of the repository; files with a `call` of their own call it in another."""
    return command


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the test is the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from tests.fedtheory.browser import chromium  # few files need playwright

    with chromium() as found:
        yield found
