"""The parts of a paper on this floor; each may be missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from fedtheory import plugins

if TYPE_CHECKING:
    from fedtheory.bounds.presets import Preset
    from fedtheory.bounds.slopes import Experiment
    from fedtheory.bounds.trials.arena import Arena
    from fedtheory.bounds.trials.quantities import Quantity
    from fedtheory.theory.statement import Evidence


def _part(paper: str, name: str, missing: Any) -> Any:
    return getattr(plugins.load(paper, "arenas"), name, missing)


def arenas(paper: str) -> list[Arena]:
    """The paper's arenas."""
    return list(_part(paper, "ARENAS", ()))


def on_data(paper: str, dataset: str) -> list[Arena]:
    """The paper's arenas on a data set.  Raises ValueError for a data set that cannot be used."""
    return list(_part(paper, "on_data", lambda _: ())(dataset))


def evidence(paper: str) -> list[Evidence]:
    """The paper's evidence on this floor; of a paper outside, its listings against its algorithms and what needs no line."""
    found = list(_part(paper, "evidence", tuple)())
    if paper in plugins.packages():
        from fedtheory.bounds import defaults
        from fedtheory.theory import catalogue

        found += _listings(paper)
        found += defaults.evidence(paper, [*catalogue.evidence(paper), *found])
    return found


def _listings(paper: str) -> Iterator[Evidence]:
    from fedtheory.bounds.trials.listings import round_or_lines
    from fedtheory.theory import catalogue
    from fedtheory.theory.listing import Listing
    from fedtheory.theory.statement import Evidence

    algorithms = getattr(plugins.load(paper, "algorithms"), "ALGORITHMS", {})
    for statement in catalogue.statements(paper):
        if isinstance(statement.claim, Listing):
            yield Evidence(statement.id, "run", partial(round_or_lines, algorithms=algorithms))


def experiments(paper: str) -> list[Experiment]:
    """The paper's experiments on how rounds scale."""
    return list(_part(paper, "EXPERIMENTS", ()))


def quantities(paper: str) -> Mapping[str, Quantity]:
    """The paper's quantities besides the common ones."""
    return dict(_part(paper, "QUANTITIES", {}))


def presets(paper: str) -> Mapping[str, Callable[[], Preset]]:
    """The paper's experiments with networks."""
    return dict(getattr(plugins.load(paper, "presets"), "PRESETS", {}))
