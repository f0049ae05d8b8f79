"""Why FedBCGD+ diverges on networks with step sizes at which FedAvg and SCAFFOLD train, and on which quadratic it does too.

The cause is a cut through local steps.  After T local steps a client's model lies, along steep directions, close to the
minimiser of its own corrected function.  The server takes each block from other clients, whose corrections c - c_i differ,
and in the result the parts that cancelled along steep directions belong to different clients.  So the error along steep
directions is as large as the clients' moves along flat ones, T eta times the differences of c - c_i; and the new gradients,
with this error, become the next c_i.  The loop is stable if T eta L is small: on the quadratic below, for two blocks, where
T eta L is less than about 1.8 sqrt(K), K clients a block.  Without blocks every eta <= 1/L is stable, for any T, even with
one client a round.  FedBCGD, without control variates, has no loop.  The age of c_i is not the cause: with twice the
clients, of which as many take part, the largest stable step size is the same.

What helps: step sizes of the order 1/(T L), as the theorem demands; more clients a block; no blocks.
"""

from __future__ import annotations

import numpy as np

from fedtheory.bounds.studies import Numbers, Study
from fedtheory.simulations import expectation, partitions, run
from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus
from fedtheory.simulations.problems.quadratic import Quadratic

_TRIED = 2.0 ** np.arange(-7.0, 1.01, 0.25)  # step sizes; L = 1
_ROUNDS = 400


def coupled(M: int, kappa: float = 20.0, zeta: float = 1.0) -> Quadratic:
    """Two coordinates, steep along (1, 1) with L = 1, flat along (1, -1) with mu = 1/kappa; the same for all clients.

    The clients' gradients at the minimiser 0 are +-zeta (1, -1).
    """
    h = np.array([[1 + 1 / kappa, 1 - 1 / kappa], [1 - 1 / kappa, 1 + 1 / kappa]]) / 2
    sign = np.where(np.arange(M) % 2 == 0, 1.0, -1.0)
    return Quadratic(np.tile(h, (M, 1, 1)), np.outer(sign, [zeta, -zeta]), name="two coupled coordinates")


def largest_stable(N: int, K: int, T: int, M: int = 10) -> float:
    """The largest step size of a grid up to which the expected gap of FedBCGD+ falls, exactly; 2 at most, 0 for none.

    N blocks with K clients each, T local steps, on `coupled`: from round 200 to round 400.
    """
    algorithm = FedBCGDPlus(T, _TRIED, N, K)
    gaps = expectation(coupled(M), algorithm, rounds=_ROUNDS, x0=1.0, record=("gap",), at=[_ROUNDS // 2, _ROUNDS]).gap
    halfway, end = gaps.values.T
    grows = np.flatnonzero(~(end < halfway))
    if not len(grows):
        return float(_TRIED[-1])
    return float(_TRIED[grows[0] - 1]) if grows[0] else 0.0


STEPS = (1, 2, 5, 10, 20, 50)  # local steps on the quadratic
BLOCKS = {"no blocks, K = 1": (1, 1), "2 blocks, K = 1": (2, 1), "2 blocks, K = 4": (2, 4)}  # (N, K)
TRAINED: dict[str, Algorithm] = {
    "FedBCGD+, 5 blocks": FedBCGDPlus(10, 0.03, 5, 2),
    "FedBCGD+, 5 blocks, T = 3, step size 0.1": FedBCGDPlus(3, 0.1, 5, 2),
    "FedBCGD+, no blocks": FedBCGDPlus(10, 0.03, 1, 10),
    "FedBCGD, 5 blocks": FedBCGD(10, 0.03, 5, 2),
}
AT = tuple(range(0, 61, 2))  # rounds of the trainings in which the loss is measured
SEEDS = (0, 1, 2)  # of the trainings


def _losses(algorithm: Algorithm, seed: int) -> list[float]:
    """The loss of the small CNN on digits, 100 clients, in the rounds AT.

    In float64: an unstable run enlarges rounding errors, in float32 until the losses differ from processor to processor.
    """
    from fedtheory.simulations.networks import images
    from fedtheory.simulations.networks.problem import Network

    digits = images.load("digits")
    dealt = partitions.dirichlet_equal(digits.labels, 100, 0.6, 0)
    network = Network(digits, dealt, "small CNN", batch=5, order="epochs", precision="float64", batching="stacked")
    x0 = network.start(seed)
    data = run(network, algorithm, rounds=AT[-1], seeds=[seed], x0=x0, record=("value",), at=list(AT))
    return [float(value) for value in data.value.values.ravel()]


def point(curve: str, seed: int) -> str:
    """The name of a training in the record."""
    return f"{curve}, seed {seed}"


def _measured(curve: str, seed: int | None = None) -> Numbers:
    """The largest stable step sizes on the quadratic, over STEPS, or the losses of a training with a seed, over AT."""
    found = [largest_stable(*BLOCKS[curve], T) for T in STEPS] if seed is None else _losses(TRAINED[curve], seed)
    return {"y": found}


STUDY = Study(
    "fedbcgd_plus_unstable",
    lambda: {
        **{curve: {"curve": curve} for curve in BLOCKS},
        **{point(curve, seed): {"curve": curve, "seed": seed} for curve in TRAINED for seed in SEEDS},
    },
    _measured,
    ("fedtheory.simulations.engine", "fedtheory.simulations.networks.problem"),
)
