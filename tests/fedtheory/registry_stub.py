"""The types of the registries, written from the registries: `python -m tests.fedtheory.registry_stub`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fedtheory.registries import algorithms, compressors, problems

FILE = Path(__file__).parents[2] / "src" / "fedtheory" / "typed.pyi"
_HEAD = '''"""The registries, name by name, for type checkers; written by `python -m tests.fedtheory.registry_stub`."""

from collections.abc import Callable
from typing import Literal, overload

'''


def written() -> str:
    """The stub of the three registries."""
    parts: list[str] = []
    modules: set[str] = {
        "fedtheory.simulations.algorithms.base.Algorithm",
        "fedtheory.simulations.compressors.Compressor",
    }
    modules |= {"fedtheory.simulations.problems.Problem"}
    for kind, registry in (("Algorithm", algorithms), ("Compressor", compressors), ("Problem", problems)):
        parts += [f"class {kind}s(dict[str, Callable[..., {kind}]]):"]
        for name, cls in _classes(registry).items():
            modules.add(f"{cls.__module__}.{cls.__qualname__}")
            parts += [
                "    @overload",
                f'    def __getitem__(self, name: Literal["{name}"], /) -> type[{cls.__qualname__}]: ...',
            ]
        parts += ["    @overload", f"    def __getitem__(self, name: str, /) -> Callable[..., {kind}]: ...", ""]
    by_module: dict[str, list[str]] = {}
    for one in sorted(modules):
        module, _, name = one.rpartition(".")
        by_module.setdefault(module, []).append(name)
    imports = [f"from {module} import {', '.join(names)}" for module, names in sorted(by_module.items())]
    return _HEAD + "\n".join([*imports, "", *parts])


def _classes(registry: Mapping[str, Callable[..., Any]]) -> dict[str, type]:
    """The names of classes, also with some settings given; a function's settings are not typed."""
    found = {name: build.func if isinstance(build, partial) else build for name, build in registry.items()}
    return {name: one for name, one in found.items() if isinstance(one, type)}


if __name__ == "__main__":
    FILE.write_text(written())
