"""fedtheory checks the claims of papers on federated optimisation.  Each public name is loaded when it is first used.

import fedtheory

fedtheory.find("sfl.eq54")                       a statement
fedtheory.evaluate("sfl.thm1.strongly_convex", L=1, mu=0.1, ...)
problem = fedtheory.problems["quadratic"](d=2, M=4, L=1.0, mu=0.1)
data = fedtheory.run(problem, fedtheory.algorithms["SFL"](K=2, eta=0.1), rounds=100, seeds=range(10))
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bounds import compare, evaluate, tune
    from bounds.trials.arena import Arena, constants_for, judge
    from fedtheory.claims import check, constants, function, points, round
    from fedtheory.confrontation import confront
    from fedtheory.notebook import figure, show, verify
    from fedtheory.typed import Algorithms, Compressors, Problems
    from simulations import expectation, partitions, run, strategies
    from simulations.data import from_arrays, load
    from theory.catalogue import find, statements

    problems: Problems
    algorithms: Algorithms
    compressors: Compressors

_HOME = Path(__file__).resolve().parents[1]
for _name in ("theory", "simulations", "bounds", "figures"):
    _spec = find_spec(_name)
    _file = Path(_spec.origin).resolve() if _spec and _spec.origin else None
    if _file is None or not _file.is_relative_to(_HOME):
        raise ImportError(
            f"{_file or _name} hides fedtheory's own package {_name!r}, expected in {_HOME}: rename your module, or run "
            "Python from another folder"
        )

from theory.imports import untimed  # noqa: E402 -- ours, as the loop has seen

_WHERE = {
    "find": "theory.catalogue",
    "statements": "theory.catalogue",
    "evaluate": "bounds.evaluation",
    "tune": "bounds.tuning",
    "compare": "bounds.comparison",
    "Arena": "bounds.trials.arena",
    "confront": "fedtheory.confrontation",
    "constants_for": "bounds.trials.arena",
    "judge": "bounds.trials.arena",
    "verify": "fedtheory.notebook",
    "show": "fedtheory.notebook",
    "figure": "fedtheory.notebook",
    "check": "fedtheory.claims",
    "constants": "fedtheory.claims",
    "function": "fedtheory.claims",
    "points": "fedtheory.claims",
    "round": "fedtheory.claims",
    "run": "simulations.engine",
    "expectation": "simulations.exact",
    "from_arrays": "simulations.data",
    "load": "simulations.data",
    "partitions": "simulations",
    "strategies": "simulations",
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
