"""The exact expectation of a run against the mean of 100 seeds: diagonal quadratics, d = M = K = 10, R = 1000.

    python -m benchmarks.moments

The baseline is the nested numpy loops of `benchmarks.quadratics`, timed on two seeds and scaled to 100.
"""

from benchmarks.common import in_turn, report

import numpy as np  # isort: skip

from benchmarks.quadratics import FEW, SEEDS, D, K, M, R, loops
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.moments import expectation
from fedtheory.simulations.problems.quadratic import Quadratic

REPEATED = 20  # times in a row: a single call is too short to measure
_rng = np.random.default_rng(0)
PROBLEM = Quadratic(_rng.uniform(0.1, 1.0, (M, D, 1)) * np.eye(D), _rng.standard_normal((M, D)), sigma=0.3)


def main() -> None:
    """Time both algorithms."""
    for name, algorithm, eta in (("PFL", PFL, 0.1), ("SFL", SFL, 0.01)):

        def exact(algorithm: type = algorithm, eta: float = eta) -> float:
            for _ in range(REPEATED):
                data = expectation(PROBLEM, algorithm(K=K, eta=eta), rounds=R, x0=1.0)
            return float(data.dist2.isel(round=-1, step_size=0))

        def naive(sequential: bool = algorithm is SFL, eta: float = eta) -> np.ndarray:
            return loops(PROBLEM, sequential, eta, FEW)

        print(f"{name}: final squared distance, exact {exact():.4g}, loops (2 seeds) {naive()[:, -1].mean():.4g}")
        medians = in_turn({"nested numpy loops": (naive, SEEDS / FEW), "expectation": (exact, 1 / REPEATED)}, repeats=3)
        report(f"moments_{name}", f"{name}, d={D}, M={M}, K={K}, R={R}, {SEEDS} seeds", medians, "nested numpy loops")


if __name__ == "__main__":
    main()
