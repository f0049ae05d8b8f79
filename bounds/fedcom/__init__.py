"""The FedCOM paper in numbers: its bounds in arenas, its one-round statements on exact instances."""

from bounds.arena import arena_evidence
from bounds.fedcom import one_round, practice, rates
from bounds.fedcom.arenas import ARENAS, SEARCHED, on_data
from bounds.search_arena import search_evidence
from theory.statement import Evidence

__all__ = ["ARENAS", "SEARCHED", "evidence", "on_data"]


def evidence() -> list[Evidence]:
    """Every bound on whole runs against its arenas and where it is tightest; every statement about one round."""
    return [
        *arena_evidence(ARENAS),
        *search_evidence(SEARCHED),
        *one_round.evidence(),
        *practice.evidence(),
        *rates.evidence(),
    ]
