"""Problems with certified constants, the papers' algorithms, and the engine that runs them.

Knows nothing of `theory`.  Each public name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedtheory.simulations.constants import Certified, Constants, NoSuchConstant
    from fedtheory.simulations.engine import run
    from fedtheory.simulations.exact import expectation, has_expectation
    from fedtheory.simulations.problems import Problem, start

_WHERE = {
    "Certified": "constants",
    "Constants": "constants",
    "NoSuchConstant": "constants",
    "Problem": "problems",
    "expectation": "exact",
    "has_expectation": "exact",
    "run": "engine",
    "start": "problems",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'fedtheory.simulations' has no attribute {name!r}")
    return getattr(importlib.import_module(f"fedtheory.simulations.{_WHERE[name]}"), name)


__all__ = ["Certified", "Constants", "NoSuchConstant", "Problem", "expectation", "has_expectation", "run", "start"]
