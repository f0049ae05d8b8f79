"""Algorithms and problems in a Python file of the user's own: `--from mine.py`."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from errno import EINVAL
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from fedtheory.plugins import blaming
from fedtheory.simulations.checked import brief


@dataclass(frozen=True)
class OwnFile:
    """What a file adds.

    algorithms  its dictionary ALGORITHMS, else its dataclasses with a method `round`, by their names
    problems    its dictionary PROBLEMS: problems, or functions without arguments that build them
    """

    algorithms: Mapping[str, Callable[..., Any]]
    problems: Mapping[str, Any]


@cache
def module_of(path: Path, digest: str) -> ModuleType:
    """The module of a Python file with that sha256, run once.  Raises ValueError for a file that fails."""
    name = f"fedtheory_own_{digest[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{brief(str(path))}: expected a Python file, such as mine.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    with blaming(path):
        spec.loader.exec_module(module)
    return module


def digest_of(path: str | Path, what: str = "from") -> str:
    """The sha256 of the file.  Raises ValueError where there is none; `what` names the setting."""
    path = Path(path)
    try:
        if path.exists() and not path.is_file():  # a pipe may have no end
            raise OSError(EINVAL, "it is no file")
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ValueError(
            f"{what} = {brief(str(path))}: {error.strerror}; expected "
            f"{'a file, or a folder of images' if 'data' in what else 'a Python file, such as mine.py'}"
        ) from None


def own(path: str | Path | None) -> OwnFile:
    """What the file adds; nothing for None.  The file's code is run.

    Raises ValueError for a file that is missing or fails, or one that adds nothing, and for an algorithm that is no
    dataclass with a field eta.
    """
    if path is None:
        return OwnFile({}, {})
    digest, path = digest_of(path), Path(path).resolve()
    module = module_of(path, digest)
    problems, algorithms = (getattr(module, name, {}) for name in ("PROBLEMS", "ALGORITHMS"))
    for name, given in (("PROBLEMS", problems), ("ALGORITHMS", algorithms)):
        if not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
            raise ValueError(f"{path.name}: {name} = {brief(given)}: expected a dictionary by names")
    if not algorithms:
        classes = {name: kind for name, kind in vars(module).items() if isinstance(kind, type)}
        own_classes = {name: kind for name, kind in classes.items() if kind.__module__ == module.__name__}
        algorithms = {name: kind for name, kind in own_classes.items() if hasattr(kind, "round") and is_dataclass(kind)}
    for name, build in algorithms.items():
        kind = build.func if isinstance(build, partial) else build
        if not (isinstance(kind, type) and is_dataclass(kind) and "eta" in kind.__dataclass_fields__):
            raise ValueError(f"{path.name}: algorithm {name} = {brief(build)}: expected a dataclass with a field eta")
        if missing := [needed for needed in _NEEDED if not hasattr(kind, needed)]:
            raise ValueError(
                f"{path.name}: algorithm {name} has no {', '.join(missing)}: expected {', '.join(_NEEDED)}"
            )
    if not (problems or algorithms):
        raise ValueError(f"{path.name} adds nothing: expected a dataclass with a method `round`, or PROBLEMS = {{...}}")
    return OwnFile(dict(algorithms), dict(problems))


_NEEDED = ("participants", "round", "symbols", "uplink_bits", "downlink_bits")
