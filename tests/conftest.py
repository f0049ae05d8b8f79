"""The order of the files, so that the longest does not begin last."""

from __future__ import annotations

import pytest

LONGEST = "test_paper_check.py"  # verifies all four papers, twice


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name != LONGEST)
