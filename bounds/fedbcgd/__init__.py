"""The FedBCGD paper in numbers: its bounds in arenas, one round in fractions, its listings, assumptions and figures."""

from fedtheory.bounds import slopes
from fedtheory.bounds.fedbcgd import checks, rounds, whole_runs, worst_case
from fedtheory.bounds.fedbcgd.arenas import ARENAS, SEARCHED, on_data
from fedtheory.bounds.fedbcgd.rate_table import EXPERIMENTS, MISSING
from fedtheory.bounds.trials import independence
from fedtheory.bounds.trials.arena import arena_evidence
from fedtheory.bounds.trials.arena_search import search_evidence
from fedtheory.bounds.trials.quantities import Quantity
from fedtheory.theory.proofs import scenes
from fedtheory.theory.statement import Evidence

QUANTITIES = {
    "gap_xbar": Quantity("gap_average", r"$\mathbb{E}[f(\bar x^R)-f(x^*)]$  (units of $f$)"),
    "avg_grad_sq": Quantity(
        "grad_sq", r"$\frac{1}{R}\sum_{r<R}\mathbb{E}\|\nabla f(x^r)\|^2$  (units of $f^2/x^2$)", "mean"
    ),
}

__all__ = ["ARENAS", "EXPERIMENTS", "QUANTITIES", "SEARCHED", "evidence", "on_data"]


def evidence() -> list[Evidence]:
    """Worst cases; bounds on whole runs in their arenas and in the search; statements about one round; other checks."""
    return [
        *scenes.evidence("fedbcgd", worst_case.ROUNDS),
        *arena_evidence(ARENAS),
        *search_evidence(SEARCHED),
        *rounds.evidence(),
        *whole_runs.evidence(),
        Evidence("fedbcgd.assumption3.independent", "enumeration", independence.check),
        *checks.evidence(),
        *slopes.evidence(EXPERIMENTS, MISSING),
    ]
