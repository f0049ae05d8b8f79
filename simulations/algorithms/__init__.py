"""The papers' algorithms, line by line: what an algorithm is, in `base`, and one file per paper."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from simulations.algorithms.base import Algorithm


@cache
def registry() -> dict[str, Callable[..., Algorithm]]:
    """Every algorithm that needs nothing but a problem, by name: the `ALGORITHMS` of the papers' modules.

    Raises ValueError for a name that two papers give.
    """
    found: dict[str, Callable[..., Algorithm]] = {}
    for paper in (module.name for module in pkgutil.iter_modules(__path__) if module.name != "base"):
        for name, build in importlib.import_module(f"simulations.algorithms.{paper}").ALGORITHMS.items():
            if name in found:
                raise ValueError(f"simulations.algorithms.{paper}: {name!r} is the name of another paper's algorithm")
            found[name] = build
    return found
