"""Statements in numbers: evaluate, tune and compare them, and test them against runs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedtheory.bounds.comparison import compare
    from fedtheory.bounds.evaluation import BoundValue, ConditionViolated, evaluate
    from fedtheory.bounds.orders import rates
    from fedtheory.bounds.tuning import rounds_to, tune

_WHERE = {
    "ConditionViolated": "evaluation",
    "BoundValue": "evaluation",
    "compare": "comparison",
    "evaluate": "evaluation",
    "rates": "orders",
    "rounds_to": "tuning",
    "tune": "tuning",
}


def __getattr__(name: str) -> Any:
    """A public name, loaded on first use, because looking at a statement needs none of them."""
    if name not in _WHERE:
        raise AttributeError(f"module 'fedtheory.bounds' has no attribute {name!r}")
    return getattr(importlib.import_module(f"fedtheory.bounds.{_WHERE[name]}"), name)


__all__ = ["BoundValue", "ConditionViolated", "compare", "evaluate", "rates", "rounds_to", "tune"]
