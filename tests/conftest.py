"""The order of the files, and a store of results of the session's own: nothing is taken from earlier runs."""

from __future__ import annotations

import os
import tempfile

import pytest

FIRST = "test_paper_check.py"  # verifies all four papers; later tests find the results in the store
LAST = "fedtheory"  # the folder of those tests


def pytest_configure(config: pytest.Config) -> None:
    """The workers of pytest-xdist have the environment of the process that starts them."""
    if not hasattr(config, "workerinput"):
        kept = tempfile.TemporaryDirectory(prefix="fedtheory-tests-")
        config.add_cleanup(kept.cleanup)
        os.environ["FEDTHEORY_STORE"] = kept.name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (item.path.name != FIRST, item.path.parent.name == LAST))
