"""The papers' algorithms, line by line: what an algorithm is, in `base`, and one file per paper."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from fedtheory import plugins
from fedtheory.simulations.algorithms.base import Algorithm


def registry(networks: bool = False) -> dict[str, Callable[..., Algorithm]]:
    """Every algorithm that needs nothing but a problem, by name: the `ALGORITHMS` of the papers' modules.

    networks  also those that need a network in two parts, the modules' `ON_NETWORKS`

    Raises ValueError for a name that two papers give.
    """
    return _registry(networks, tuple(plugins.packages()))


@cache
def _registry(networks: bool, others: tuple[str, ...]) -> dict[str, Callable[..., Algorithm]]:
    ours = [module.name for module in pkgutil.iter_modules(__path__) if module.name != "base"]
    modules = [importlib.import_module(f"fedtheory.simulations.algorithms.{paper}") for paper in ours]
    modules += [module for paper in others if (module := plugins.load(paper, "algorithms")) is not None]
    found: dict[str, Callable[..., Algorithm]] = {}
    for module in modules:
        for name, build in {**module.ALGORITHMS, **(getattr(module, "ON_NETWORKS", {}) if networks else {})}.items():
            if found.get(name, build) is not build:
                raise ValueError(f"{module.__name__}: {name!r} is another paper's algorithm: expected a new name")
            found[name] = build
    return found
