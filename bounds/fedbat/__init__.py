"""The FedBAT paper in numbers: its bounds in arenas, its one-round statements on exact instances."""

from fedtheory.bounds.fedbat import checks, local_steps, rounds, whole_runs, worst_case
from fedtheory.bounds.fedbat.arenas import ARENAS, on_data
from fedtheory.bounds.trials.arena import arena_evidence
from fedtheory.bounds.trials.quantities import Quantity
from fedtheory.theory.proofs import scenes
from fedtheory.theory.statement import Evidence

QUANTITIES = {
    "gap_last": Quantity("gap", r"$\mathbb{E}[F(\mathbf{w}_T)]-F^*$  (units of $F$)"),
    "avg_step_grad_sq": Quantity(
        "grad_sq_steps",
        r"$\frac{1}{T}\sum_{t<T}\mathbb{E}\|\nabla F(\bar{\mathbf{w}}_t)\|^2$  (units of $F^2/w^2$)",
        "mean",
        local_steps.run,
    ),
}

__all__ = ["ARENAS", "QUANTITIES", "evidence", "on_data"]


def evidence() -> list[Evidence]:
    """Worst cases; bounds on whole runs in their arenas; statements about one round; counter-examples; checks."""
    return [
        *scenes.evidence("fedbat", worst_case.ROUNDS),
        *arena_evidence(ARENAS),
        *rounds.evidence(),
        *whole_runs.evidence(),
        *checks.evidence(),
    ]
