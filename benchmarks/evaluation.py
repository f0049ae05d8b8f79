"""Evaluating a bound at a million parameter points: compiled numpy against sympy `subs`, per point.

python -m benchmarks.evaluation
"""

from benchmarks.common import in_turn, report

import numpy as np  # isort: skip

from fedtheory.bounds import evaluate
from fedtheory.bounds.evaluation import parameters
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound

ID, POINTS, FEW = "sfl.thm1.strongly_convex", 1_000_000, 100


def main() -> None:
    """Time both."""
    rng = np.random.default_rng(0)
    points = {
        "L": np.ones(POINTS),
        "mu": rng.uniform(0.01, 1, POINTS),
        "sigma": rng.uniform(0, 2, POINTS),
        "zeta_star": rng.uniform(0, 2, POINTS),
        "D": rng.uniform(0, 2, POINTS),
        "M": rng.integers(1, 100, POINTS),
        "K": rng.integers(1, 100, POINTS),
        "R": rng.integers(2000, 10000, POINTS),
        "eta_tilde": rng.uniform(0.05, 1 / 6, POINTS),
    }
    statement = catalogue.find(ID)
    claim, symbols = statement.claim, parameters(statement)
    assert isinstance(claim, Bound)
    value = claim.value

    def compiled() -> np.ndarray:
        return np.asarray(evaluate(ID, **points).value)

    def by_subs() -> list[float]:
        return [float(value.subs({s.sympy: points[s.name][i] for s in symbols})) for i in range(FEW)]

    agree = np.abs(compiled()[:FEW] / np.array(by_subs()) - 1).max()
    print(f"largest relative difference on {FEW} points: {agree:.1e}")
    works = {"sympy subs": (by_subs, POINTS / FEW), "fedtheory.bounds.evaluate": (compiled, 1.0)}
    report("evaluation", f"{ID} at {POINTS:,} points, with all conditions checked", in_turn(works, 3), "sympy subs")


if __name__ == "__main__":
    main()
