"""Each figure is drawn once, whichever tests look at it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from well_drawn import Saved, saved


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Saved]:
    """Name -> what was drawn, its PNG, SVG and CSV."""
    kept: dict[str, Saved] = {}

    def find(name: str) -> Saved:
        if name not in kept:
            kept[name] = saved(name, tmp_path_factory.mktemp("figure"))
        return kept[name]

    return find
