"""The FedBAT paper in numbers: its bounds in arenas, its one-round statements on exact instances."""

from bounds.fedbat import checks, one_sided, rounds, shared_noise
from bounds.fedbat.arenas import ARENAS, SEARCHED, on_data
from bounds.trials.arena import arena_evidence
from theory.statement import Evidence

__all__ = ["ARENAS", "SEARCHED", "evidence", "on_data"]


def evidence() -> list[Evidence]:
    """Every bound on whole runs against its arenas; every statement about one round; counter-examples; what is set up."""
    return [
        *arena_evidence(ARENAS),
        *rounds.evidence(),
        *one_sided.evidence(),
        *shared_noise.evidence(),
        *checks.evidence(),
    ]
