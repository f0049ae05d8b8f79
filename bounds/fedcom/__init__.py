"""The FedCOM paper in numbers: its bounds in arenas, its one-round statements on exact instances."""

from bounds import slopes
from bounds.fedcom import checks, rates, rounds
from bounds.fedcom.arenas import ARENAS, SEARCHED, on_data
from bounds.fedcom.rate_table import EXPERIMENTS, MISSING
from bounds.trials.arena import arena_evidence
from bounds.trials.arena_search import search_evidence
from theory.statement import Evidence

__all__ = ["ARENAS", "EXPERIMENTS", "SEARCHED", "evidence", "on_data"]


def evidence() -> list[Evidence]:
    """Every bound on whole runs against its arenas and in the search; every statement about one round; all checks."""
    return [
        *arena_evidence(ARENAS),
        *search_evidence(SEARCHED),
        *rounds.evidence(),
        *checks.evidence(),
        *rates.evidence(),
        *slopes.evidence(EXPERIMENTS, MISSING),
    ]
