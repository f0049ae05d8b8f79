"""fedtheory checks the claims of papers on federated optimisation.  Each public name is loaded when it is first used.

import fedtheory

fedtheory.find("sfl.eq54")                       a statement
fedtheory.evaluate("sfl.thm1.strongly_convex", L=1, mu=0.1, ...)
problem = fedtheory.problems["quadratic"](d=2, M=4, L=1.0, mu=0.1)
data = fedtheory.run(problem, fedtheory.algorithms["SFL"](K=2, eta=0.1), rounds=100, seeds=range(10))
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedtheory.bounds import compare, evaluate, tune
    from fedtheory.bounds.trials.arena import Arena, constants_for, judge
    from fedtheory.claims import check, constants, function, points, round
    from fedtheory.confrontation import confront
    from fedtheory.notebook import figure, show, verify
    from fedtheory.simulations import expectation, partitions, run, strategies
    from fedtheory.simulations.data import from_arrays, load
    from fedtheory.theory.catalogue import find, statements
    from fedtheory.typed import Algorithms, Compressors, Problems

    problems: Problems
    algorithms: Algorithms
    compressors: Compressors

if not (Path(__file__).parent / "theory" / "__init__.py").exists():  # git has written a link as a text
    raise ImportError(
        f"{Path(__file__).parent / 'theory'} is no folder: expected a link to ../../theory; clone again with "
        "git -c core.symlinks=true, or install a wheel"
    )

from fedtheory.theory.imports import untimed

_WHERE = {
    "find": "fedtheory.theory.catalogue",
    "statements": "fedtheory.theory.catalogue",
    "evaluate": "fedtheory.bounds.evaluation",
    "tune": "fedtheory.bounds.tuning",
    "compare": "fedtheory.bounds.comparison",
    "Arena": "fedtheory.bounds.trials.arena",
    "confront": "fedtheory.confrontation",
    "constants_for": "fedtheory.bounds.trials.arena",
    "judge": "fedtheory.bounds.trials.arena",
    "verify": "fedtheory.notebook",
    "show": "fedtheory.notebook",
    "figure": "fedtheory.notebook",
    "check": "fedtheory.claims",
    "constants": "fedtheory.claims",
    "function": "fedtheory.claims",
    "points": "fedtheory.claims",
    "round": "fedtheory.claims",
    "run": "fedtheory.simulations.engine",
    "expectation": "fedtheory.simulations.exact",
    "from_arrays": "fedtheory.simulations.data",
    "load": "fedtheory.simulations.data",
    "partitions": "fedtheory.simulations",
    "strategies": "fedtheory.simulations",
    "problems": "fedtheory.registries",
    "algorithms": "fedtheory.registries",
    "compressors": "fedtheory.registries",
}


_MODULES = ("partitions", "strategies")


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(
            f"module 'fedtheory' has no attribute {name!r}: expected one of {', '.join(sorted(_WHERE))}"
        )
    if name in _MODULES:
        return importlib.import_module(f"{_WHERE[name]}.{name}")
    with untimed(_WHERE[name]):
        module = importlib.import_module(_WHERE[name])
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(_WHERE)


__all__ = [
    "Arena", "algorithms", "check", "compare", "compressors", "confront", "constants", "constants_for", "evaluate",
    "expectation", "figure", "find", "from_arrays", "function", "judge", "load", "partitions", "points", "problems", "round",
    "run", "show", "statements", "strategies", "tune", "verify",
]  # fmt: skip
