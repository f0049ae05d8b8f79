"""The SFL paper in numbers: its bounds in arenas, its one-round statements on exact instances, its claims in checks."""

from fedtheory.bounds import slopes
from fedtheory.bounds.sfl import checks, counterexamples, rounds, whole_runs, worst_case
from fedtheory.bounds.sfl.arenas import ARENAS, SEARCHED, on_data
from fedtheory.bounds.sfl.rate_table import EXPERIMENTS, MISSING
from fedtheory.bounds.trials import independence
from fedtheory.bounds.trials.arena import arena_evidence
from fedtheory.bounds.trials.arena_search import search_evidence
from fedtheory.theory.proofs import scenes
from fedtheory.theory.statement import Evidence

__all__ = ["ARENAS", "EXPERIMENTS", "SEARCHED", "evidence", "on_data"]


def evidence() -> list[Evidence]:
    """Every bound against its arenas and in the search for where it is tightest; every other statement that can be run."""
    return [
        *scenes.evidence("sfl", worst_case.ROUNDS),
        *arena_evidence(ARENAS),
        *search_evidence(SEARCHED),
        *rounds.evidence(),
        *whole_runs.evidence(),
        Evidence("sfl.asm.independent", "enumeration", independence.check),
        *checks.evidence(),
        *counterexamples.evidence(),
        *slopes.evidence(EXPERIMENTS, MISSING),
    ]
