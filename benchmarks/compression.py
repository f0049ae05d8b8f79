"""FedCOMGATE with rand-k on diagonal quadratics, d = M = tau = 10, R = 500: engine and exact expectation against loops.

    python -m benchmarks.compression

The loops are the obvious first version: numpy, over seeds, rounds, clients and steps.  They are timed on two seeds and
scaled to 100.
"""

from benchmarks.common import in_turn, report

import numpy as np  # isort: skip

from fedtheory.simulations import expectation, run
from fedtheory.simulations.algorithms.fedcom import FedCOMGATE
from fedtheory.simulations.compressors import RandK
from fedtheory.simulations.problems.quadratic import Quadratic

M, D, TAU, KEPT, R, SEEDS, FEW = 10, 10, 10, 5, 500, 100, 2
ETA = 0.02
REPEATED = 5  # times in a row: a single call is too short to measure
_rng = np.random.default_rng(0)
PROBLEM = Quadratic(_rng.uniform(0.1, 1.0, (M, D, 1)) * np.eye(D), _rng.standard_normal((M, D)), sigma=0.3)
ALGORITHM = FedCOMGATE(tau=TAU, eta=ETA, compressor=RandK(KEPT), damping=None)


def loops(seeds: int) -> np.ndarray:
    """Squared distances (seed, round) by nested loops."""
    x_star, scale, alpha = PROBLEM.constants["x_star"], PROBLEM.sigma / np.sqrt(D), KEPT / D
    out = np.empty((seeds, R))
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        w, delta = np.ones(D), np.zeros((M, D))
        for r in range(R):
            sent = np.zeros((M, D))
            for m in range(M):
                y = w.copy()
                for _ in range(TAU):
                    g = PROBLEM.H[m] @ y + PROBLEM.b[m] + scale * rng.standard_normal(D)
                    y -= ETA * (g - delta[m])
                kept = rng.choice(D, KEPT, replace=False)
                sent[m, kept] = (w - y)[kept] / ETA * D / KEPT
            mean = sent.mean(0)
            delta += alpha / TAU * (sent - mean)
            w = w - ETA * mean
            out[seed, r] = ((w - x_star) ** 2).sum()
    return out


def engine() -> float:
    """The mean over the seeds at the end."""
    data = run(PROBLEM, ALGORITHM, rounds=R, seeds=range(SEEDS), x0=1.0, record=("dist2",), at=(R,))
    return float(data.dist2.mean())


def exact() -> float:
    """The expectation at the end."""
    for _ in range(REPEATED):
        data = expectation(PROBLEM, ALGORITHM, rounds=R, x0=1.0, record=("dist2",), at=(R,))
    return float(data.dist2.values[0, -1])


def main() -> None:
    """Time all three."""
    few = loops(FEW)[:, -1].mean()
    print(f"final squared distance: exact {exact():.4g}, engine {engine():.4g}, loops ({FEW} seeds) {few:.4g}")
    works = {
        "nested numpy loops": (lambda: loops(FEW), SEEDS / FEW),
        "engine": (engine, 1.0),
        "expectation": (exact, 1 / REPEATED),
    }
    what = f"FedCOMGATE, rand-{KEPT}, d={D}, M={M}, tau={TAU}, R={R}, {SEEDS} seeds"
    report("compression", what, in_turn(works, repeats=3), "nested numpy loops")


if __name__ == "__main__":
    main()
