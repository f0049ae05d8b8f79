"""The order of the files.  Results are taken from the user's store, and kept there: after `make report` most are known."""

from __future__ import annotations

import pytest

FIRST = "test_paper_check.py"  # verifies all four papers; later tests find the results in the store
LAST = "fedtheory"  # the folder of those tests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (item.path.name != FIRST, item.path.parent.name == LAST))
