"""A Chromium for tests: found on the machine, skipped clearly where there is none, a failure where one is demanded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium.  FEDTHEORY_BROWSER=required makes it a failure that there is none, as .ci/run does."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        told = f"no Chromium is installed (looked for {', '.join(_NAMES)}): `make chromium` installs Debian's"
        if os.environ.get("FEDTHEORY_BROWSER") == "required":
            pytest.fail(told)
        pytest.skip(told)
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses root otherwise
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=sandbox)
        try:
            yield browser
        finally:
            browser.close()
