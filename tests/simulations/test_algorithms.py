"""The algorithms of the SFL paper round by round by hand, also of a model in two parts; paper_check.md has its own lines."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from by_hand import ETAS, ROUNDS, ByHand, Round, agree, close, mean, start_of, trajectory
from spy import small

from fedtheory.simulations import run
from fedtheory.simulations.algorithms.sfl import PFL, SFL, SSL, SplitFed
from fedtheory.simulations.partitions import dirichlet
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import from_functions, generate
from fedtheory.simulations.problems.two_part import TwoPart

BINARY, DIGITS = small("breast_cancer", 30, 3, 2), small("digits", 30, 4, 3)
NETWORK = TwoPart(DIGITS, dirichlet(DIGITS.labels, 4, 0.7, 3), 2, 0.01)
PROBLEMS = {
    "quadratic": generate(3, 4, L=2, mu=0.2, zeta_star=1, delta=0.5),
    "noisy quadratic": generate(3, 4, L=2, mu=-0.2, zeta_star=1, delta=0.5, sigma=0.7),
    "scalar": from_functions([1, 0.3, -0.1], [1, -1, 0.5], sigma=0.2),
    "logistic": Logistic(BINARY, dirichlet(BINARY.labels, 4, 0.7, 0), 0.1),
    "mini-batches": Logistic(BINARY, dirichlet(BINARY.labels, 4, 0.7, 0), 0.1, batch=3),
    "multinomial": Logistic(DIGITS, dirichlet(DIGITS.labels, 4, 0.7, 0), 0.1, batch=2),
    "network": NETWORK,
    "network, mini-batches": replace(NETWORK, batch=2),
}
TAU = (1, 4, 2, 3)


def sequential(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    """Algorithm 1; in split learning a client may have its own number of steps."""
    tau = getattr(a, "tau", None) or [a.K] * h.M
    for m in h.order(a.S):
        x = h.steps(m, x, tau[m])
    return x


def parallel(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    """Algorithm 2."""
    return mean(h.steps(m, x, a.K) for m in h.order(a.S))


ROUND_OF: dict[Any, Round] = {SFL: sequential, PFL: parallel, SSL: sequential, SplitFed: parallel}


@pytest.mark.parametrize("S", [None, 1, 2])
@pytest.mark.parametrize(
    ("name", "algorithm"),
    [(n, a) for n in PROBLEMS for a in (SFL, PFL, *((SSL, SplitFed) if n.startswith("network") else ()))],
)
def test_rounds_by_hand(name: str, algorithm: Any, S: int | None) -> None:
    agree(PROBLEMS[name], algorithm(K=3, eta=ETAS, S=S), ROUND_OF[algorithm], 1e-12)


@pytest.mark.parametrize("name", ["noisy quadratic", "mini-batches", "network, mini-batches"])
@pytest.mark.parametrize("S", [2, None])
@pytest.mark.parametrize("algorithm", [SFL, PFL])
def test_replayed_orders(name: str, S: int | None, algorithm: Any) -> None:
    """Somebody else's orders; the samples remain the seed's own."""
    p, rng = PROBLEMS[name], np.random.default_rng(1)
    orders = [rng.permutation(p.M)[: S or p.M].tolist() for _ in range(ROUNDS)]
    agree(p, algorithm(K=2, eta=ETAS, S=S), ROUND_OF[algorithm], 1e-12, orders)


@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("S", [None, 2])
def test_split_learning_with_unequal_steps(batch: int | None, S: int | None) -> None:
    p = replace(NETWORK, batch=batch)
    agree(p, SSL(K=1, eta=ETAS, S=S, tau=TAU), sequential, 1e-12)
    equal = trajectory(p, SSL(K=9, eta=ETAS, S=S, tau=(2,) * 4))
    assert close(equal, trajectory(p, SFL(K=2, eta=ETAS, S=S)), 1e-12)


def test_drift_with_unequal_steps_is_the_seeds_own() -> None:
    """A client that has done its steps drifts no more, though other seeds' clients still run beside it."""
    p, tau, x0 = replace(NETWORK, batch=2), (1, 7, 2, 3), start_of(NETWORK)
    algorithm = SSL(K=1, eta=0.3, tau=tau)
    together = run(p, algorithm, rounds=3, seeds=range(8), x0=x0, record=("drift",))["drift"][0]
    for seed in range(8):
        h, drift, x = ByHand(p, 0.3, seed, x0), 0.0, x0
        for m in h.order():
            for k in range(tau[m]):
                drift += ((x - x0) ** 2).sum()
                x = x - 0.3 * h.g(m, x, k)
        assert together[seed, 0] == pytest.approx(drift, rel=1e-12)
        alone = run(p, algorithm, rounds=3, seeds=[seed], x0=x0, record=("drift",))["drift"][0, 0]
        np.testing.assert_allclose(together[seed, :-1], alone[:-1], rtol=1e-12)


@pytest.mark.parametrize("tau", [(1, 2), (1, 2, 3, 0), (1, 2, 3, -4), (1.5, 1, 1, 1), ()])
def test_malformed_tau(tau: tuple) -> None:
    with pytest.raises(ValueError, match=r"tau = .*expected 4 whole numbers >= 1"):
        run(NETWORK, SSL(K=1, eta=0.1, tau=tau), rounds=1, record=("value",))


@pytest.mark.parametrize("algorithm", [SSL, SplitFed])
def test_split_learning_needs_two_parts(algorithm: Any) -> None:
    with pytest.raises(ValueError, match="expected a model in two parts"):
        run(PROBLEMS["quadratic"], algorithm(K=1, eta=0.1), rounds=1)
