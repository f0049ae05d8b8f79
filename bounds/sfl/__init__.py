"""The SFL paper in numbers: its bounds in arenas, its one-round statements on exact instances, its claims in practice."""

from bounds.arena import arena_evidence
from bounds.search_arena import search_evidence
from bounds.sfl import counterexamples, decimals, one_round, practice
from bounds.sfl.arenas import ARENAS, SEARCHED, on_data
from theory.statement import Evidence

__all__ = ["ARENAS", "SEARCHED", "evidence", "on_data"]


def evidence() -> list[Evidence]:
    """Every bound against its arenas and where it is tightest; every other statement that can be run."""
    return [
        *arena_evidence(ARENAS),
        *search_evidence(SEARCHED),
        *one_round.evidence(),
        *practice.evidence(),
        *counterexamples.evidence(),
        *decimals.evidence(),
    ]
