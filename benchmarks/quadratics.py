"""PFL (and SFL) on quadratics, d = M = K = 10, R = 1000, 100 seeds, gradient noise: the engine against nested loops.

    python -m benchmarks.quadratics

The loops are the obvious first version: numpy, over seeds, rounds, clients and steps.  They are timed on two seeds and
scaled to 100.
"""

from benchmarks.common import in_turn, report

import numpy as np  # isort: skip

from fedtheory.simulations import run
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.problems.quadratic import Quadratic, generate

M, D, K, R, SEEDS, FEW = 10, 10, 10, 1000, 100, 2
PROBLEM = generate(D, M, L=1.0, mu=0.1, zeta_star=1.0, delta=0.2, sigma=0.3, seed=0)


def loops(problem: Quadratic, sequential: bool, eta: float, seeds: int) -> np.ndarray:
    """Squared distances (seed, round) by nested loops."""
    x_star = problem.constants["x_star"]
    scale = problem.sigma / np.sqrt(D)
    out = np.empty((seeds, R))
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        x = np.ones(D)
        for r in range(R):
            order = rng.permutation(M) if sequential else range(M)
            total, y = np.zeros(D), x
            for m in order:
                y = (y if sequential else x).copy()
                for _ in range(K):
                    y -= eta * (problem.H[m] @ y + problem.b[m] + scale * rng.standard_normal(D))
                total += y
            x = y if sequential else total / M
            out[seed, r] = ((x - x_star) ** 2).sum()
    return out


def main() -> None:
    """Time both algorithms."""
    for name, algorithm, eta in (("PFL", PFL, 0.1), ("SFL", SFL, 0.01)):
        sequential = algorithm is SFL

        def engine(algorithm: type = algorithm, eta: float = eta) -> float:
            data = run(PROBLEM, algorithm(K=K, eta=eta), rounds=R, seeds=range(SEEDS), x0=1.0, record=("dist2",))
            return float(data.dist2.isel(round=-1).mean())

        def naive(sequential: bool = sequential, eta: float = eta) -> np.ndarray:
            return loops(PROBLEM, sequential, eta, FEW)

        print(
            f"{name}: mean final squared distance, engine {engine():.4g}, loops (2 seeds) {naive()[:, -1].mean():.4g}"
        )
        medians = in_turn({"nested numpy loops": (naive, SEEDS / FEW), "engine": (engine, 1.0)}, repeats=3)
        report(
            f"quadratics_{name}", f"{name}, d={D}, M={M}, K={K}, R={R}, {SEEDS} seeds", medians, "nested numpy loops"
        )


if __name__ == "__main__":
    main()
