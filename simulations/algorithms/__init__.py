"""The papers' algorithms, line by line: what an algorithm is, in `base`, and one file per paper."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from functools import cache, partial
from typing import Any

from fedtheory import plugins
from fedtheory.simulations.algorithms.base import Algorithm, class_of, keywords_of
from fedtheory.simulations.own_file import own


def registry(networks: bool = False) -> dict[str, Callable[..., Algorithm]]:
    """Every algorithm that needs nothing but a problem, by name: the `ALGORITHMS` of the papers' modules.

    networks  also those that need a network in two parts, the modules' `ON_NETWORKS`

    Where papers give one algorithm with different settings, it is without any.  A name that another algorithm has gets
    that of its paper before it: mine.SGD.
    """
    return _registry(networks, tuple(plugins.packages()))


@cache
def _registry(networks: bool, others: tuple[str, ...]) -> dict[str, Callable[..., Algorithm]]:
    ours = [module.name for module in pkgutil.iter_modules(__path__) if module.name != "base"]
    modules = {paper: importlib.import_module(f"fedtheory.simulations.algorithms.{paper}") for paper in ours}
    modules |= {paper: module for paper in others if (module := plugins.load(paper, "algorithms")) is not None}
    found: dict[str, Callable[..., Algorithm]] = {}
    for paper, module in modules.items():
        for name, build in {**module.ALGORITHMS, **(getattr(module, "ON_NETWORKS", {}) if networks else {})}.items():
            known = found.get(name, build)
            kind, other = map(class_of, (build, known))
            if (kind.__module__, kind.__qualname__) != (other.__module__, other.__qualname__):
                found[f"{paper}.{name}"] = build
            else:
                found[name] = build if keywords_of(known) == keywords_of(build) else kind
    return found


def builders(source: str | None = None, networks: bool = False) -> dict[str, Callable[..., Algorithm]]:
    """The registry, with the algorithms of a file of the user's own.  Raises ValueError for a name that is taken."""
    mine, known = own(source).algorithms, registry(networks)
    if taken := [name for name in mine if name in known]:
        raise ValueError(f"{source}: {', '.join(taken)} is the name of an algorithm here: expected another name")
    return {**known, **mine}


def settings_of(build: Callable[..., Algorithm], free: bool = False) -> dict[str, Field[Any]]:
    """The settings that are left to set, by name; free: also those that the registry has set."""
    fixed = build.keywords if isinstance(build, partial) and not free else {}
    return {f.name: f for f in fields(class_of(build)) if f.init and f.name not in fixed}


def must_be_given(field: Field[Any]) -> bool:
    """Whether a field of a dataclass has no default."""
    return field.default is MISSING and field.default_factory is MISSING
