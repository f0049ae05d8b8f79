"""Imports that wait until they are needed, in a test by hypothesis.  Loads no mathematics."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def untimed(module: str) -> Iterator[None]:
    """Around the import of a module.  If it is new, a test by hypothesis drops its example, and tries others.

    Else the import would count as the test's own time, which then exceeds its deadline.
    """
    new = module not in sys.modules
    yield
    hypothesis = sys.modules.get("hypothesis")
    if new and hypothesis is not None and hypothesis.currently_in_test_context():
        hypothesis.reject()
