"""The FedCOM paper in numbers: its bounds in arenas, its one-round statements on exact instances."""

from fedtheory.bounds import slopes
from fedtheory.bounds.fedcom import checks, rounds, worst_case
from fedtheory.bounds.fedcom.arenas import ARENAS, SEARCHED, on_data
from fedtheory.bounds.fedcom.rate_table import EXPERIMENTS, MISSING, linear_rate
from fedtheory.bounds.trials.arena import arena_evidence
from fedtheory.bounds.trials.arena_search import search_evidence
from fedtheory.theory.proofs import scenes
from fedtheory.theory.statement import Evidence

__all__ = ["ARENAS", "EXPERIMENTS", "SEARCHED", "evidence", "on_data"]


def evidence() -> list[Evidence]:
    """Worst cases; bounds on whole runs in their arenas and in the search; statements about one round; all checks."""
    return [
        *scenes.evidence("fedcom", worst_case.ROUNDS),
        *arena_evidence(ARENAS),
        *search_evidence(SEARCHED),
        *rounds.evidence(),
        *checks.evidence(),
        *(Evidence(f"fedcom.{table}.diana", "moments", linear_rate) for table in ("tab5", "tab6")),
        *slopes.evidence(EXPERIMENTS, MISSING),
    ]
