"""Statements in numbers: evaluate, tune and compare them, and test them against runs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bounds.comparison import compare
    from bounds.evaluation import ConditionViolated, Value, evaluate
    from bounds.orders import rates
    from bounds.tuning import rounds_to, tune

_WHERE = {
    "ConditionViolated": "evaluation",
    "Value": "evaluation",
    "compare": "comparison",
    "evaluate": "evaluation",
    "rates": "orders",
    "rounds_to": "tuning",
    "tune": "tuning",
}


def __getattr__(name: str) -> Any:
    """A public name, loaded on first use, because looking at a statement needs none of them."""
    if name not in _WHERE:
        raise AttributeError(f"module 'bounds' has no attribute {name!r}")
    return getattr(importlib.import_module(f"bounds.{_WHERE[name]}"), name)


__all__ = ["ConditionViolated", "Value", "compare", "evaluate", "rates", "rounds_to", "tune"]
