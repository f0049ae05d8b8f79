"""Statements in numbers: evaluate, tune, compare, and try them against runs."""

from bounds.compare import compare
from bounds.evaluate import ConditionViolated, Value, evaluate
from bounds.rates import rates
from bounds.tune import rounds_to, tune

__all__ = ["ConditionViolated", "Value", "compare", "evaluate", "rates", "rounds_to", "tune"]
