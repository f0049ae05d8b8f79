"""The FedBCGD paper in numbers: its bounds in arenas, one round in fractions, its listings, assumptions and figures."""

from bounds.arena import arena_evidence
from bounds.fedbcgd import one_round, practice, whole_runs
from bounds.fedbcgd.arenas import ARENAS, SEARCHED, on_data
from bounds.search_arena import search_evidence
from theory.statement import Evidence

__all__ = ["ARENAS", "SEARCHED", "evidence", "on_data"]


def evidence() -> list[Evidence]:
    """Every bound on whole runs against its arenas and where it is tightest; one round; what the paper sets up."""
    return [
        *arena_evidence(ARENAS),
        *search_evidence(SEARCHED),
        *one_round.evidence(),
        *whole_runs.evidence(),
        *practice.evidence(),
    ]
