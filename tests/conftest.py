"""The order of the files, and which cases of long tests run.  Results are taken from the user's store, and kept there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from fedtheory import plugins
from fedtheory.records import commit

FIRST = "test_paper_check.py"  # verifies all four papers; later tests find the results in the store
LAST = "fedtheory"  # the folder of those tests
# No time decides a test: examples of the pages have hypothesis' own settings, which give up on a slow machine
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
MANY, PARTS, DEAR = 4, 3, 10  # of a test with so many cases a third runs, of a dear one a tenth, chosen by the commit


def everything(config: pytest.Config) -> bool:
    """Whether no case is left out: files are named, or the slow tests run, too."""
    return config.args != config.getini("testpaths") or config.option.markexpr != "not slow"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (item.path.name != FIRST, item.path.parent.name == LAST))
    if everything(config):
        return
    now, cases = commit(), defaultdict(list)
    for item in items:
        if not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for several in cases.values():
        if len(several) >= MANY:
            several.sort(key=lambda item: crc32((now + item.nodeid).encode()))
            parts = DEAR if several[0].get_closest_marker("dear") else PARTS
            for item in several[max(1, len(several) // parts) :]:
                item.add_marker(pytest.mark.slow)


@pytest.fixture
def some(request: pytest.FixtureRequest) -> Callable[[Sequence[Any], int], Sequence[Any]]:
    """One of so many parts of what a test goes through, chosen by the commit; all of it where no case is left out."""
    whole = everything(request.config)
    return lambda several, parts: several if whole else several[int(commit(), 16) % parts :: parts]


@contextmanager
def own_papers() -> Iterator[None]:
    """The papers that are written inside are forgotten at the end."""
    before = plugins.packages()
    yield
    for name in plugins.packages().keys() - before.keys():
        plugins.remove(name)


@pytest.fixture
def alone() -> Iterator[None]:
    """No other test sees a paper that this test writes."""
    with own_papers():
        yield


@pytest.fixture(autouse=True, scope="module")
def _alone_in_its_file() -> Iterator[None]:
    """No other file's tests see the papers that the tests of a file write."""
    with own_papers():
        yield
