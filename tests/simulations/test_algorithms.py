"""The algorithms, against loops written from the paper's listings one seed, one client, one step at a time."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from spy import Spy

from fedtheory.simulations import run
from fedtheory.simulations.algorithms.sfl import PFL, SFL, SSL, SplitFed
from fedtheory.simulations.data import Dataset, load
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.partitions import dirichlet
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
from fedtheory.simulations.problems.two_part import TwoPart


def trajectory(problem: Any, algorithm: Any, **settings: Any) -> np.ndarray:
    """Iterates through the engine: (round, step_size, seed, d)."""
    spy = Spy(problem)
    if isinstance(algorithm, SSL | SplitFed):  # they ask for a TwoPart, so the spy must be one
        measured: list[np.ndarray] = []
        problem = replace(problem)
        value, batch_of = problem.value, problem.batch_of
        object.__setattr__(problem, "value", lambda x: (measured.append(x.copy()), value(x))[1])
        # as if a number were drawn, so that each seed has a run of its own
        object.__setattr__(problem, "batch_of", lambda client, draw: (draw.local.keys, batch_of(client, draw))[1])
        run(problem, algorithm, record=("value",), **settings)
        return np.array(measured)
    run(spy, algorithm, record=("value",), **settings)
    return np.array(spy.iterates)


# -------------------------------------------------------------------- the same, one number at a time


def draws_alone(seed: int, r: int) -> Draws:
    return Draws.of_seeds(np.array([seed]), r)


def naive_gradient(p: Any, x: np.ndarray, m: int, seed: int, r: int, k: int) -> np.ndarray:
    """Stochastic gradient of client m at local step k, from the draws of this seed alone."""
    draw = draws_alone(seed, r).of(np.array([m])).step(k)
    if isinstance(p, Quadratic):
        noise = draw.normal(p.d)[0].astype(float) if p.sigma else np.zeros(p.d)
        return p.H[m] @ x + p.b[m] + p.sigma / np.sqrt(p.d) * noise
    samples = p.partition.clients[m]
    if p.batch is not None:
        samples = samples[draw.integers(np.array([len(samples)]), p.batch)[0]]
    total = np.zeros(p.d)
    for i in samples:
        a, y = p.dataset.features[i], p.dataset.labels[i]
        if isinstance(p, TwoPart):
            U, V = x[: p.cut].reshape(-1, p.hidden), x[p.cut :].reshape(p.hidden, -1)
            hidden = np.tanh(a @ U)
            e = np.exp(hidden @ V)
            residual = e / e.sum() - np.eye(p.dataset.classes)[y]
            inner = np.outer(a, (V @ residual) * (1 - hidden**2))
            total += np.concatenate([inner.ravel(), np.outer(hidden, residual).ravel()])
        elif p.dataset.classes == 2:
            total += (1 / (1 + np.exp(-a @ x)) - y) * a
        else:
            e = np.exp(a @ x.reshape(len(a), -1))
            total += np.outer(a, e / e.sum() - np.eye(p.dataset.classes)[y]).ravel()
    return total / len(samples) + p.regularisation * x


Order = Callable[[int, int], np.ndarray]  # (seed, round) -> the clients that take part, in order


def own_orders(M: int, S: int) -> Order:
    return lambda seed, r: draws_alone(seed, r).order(M, S)[0]


def naive_sequential(p: Any, tau: Any, eta: float, seed: int, rounds: int, x0: np.ndarray, order: Order) -> np.ndarray:
    """Algorithm 1; tau[m] local steps at client m (K for all, but in split learning)."""
    x, out = x0.copy(), [x0.copy()]
    for r in range(rounds):
        for m in order(seed, r):
            for k in range(tau[m]):
                x = x - eta * naive_gradient(p, x, m, seed, r, k)
        out.append(x)
    return np.array(out)


def naive_parallel(p: Any, tau: Any, eta: float, seed: int, rounds: int, x0: np.ndarray, order: Order) -> np.ndarray:
    """Algorithm 2."""
    x, out = x0.copy(), [x0.copy()]
    for r in range(rounds):
        ends = []
        for m in order(seed, r):
            local = x.copy()
            for k in range(tau[m]):
                local = local - eta * naive_gradient(p, local, m, seed, r, k)
            ends.append(local)
        x = sum(ends) / len(ends)
        out.append(x)
    return np.array(out)


def small(name: str, rows: int, columns: int, classes: int) -> Dataset:
    whole = load(name)
    chosen = np.flatnonzero(whole.labels < classes)[:rows]
    features = whole.features[chosen][:, np.argsort(-whole.features.var(0), kind="stable")[:columns]]
    return replace(whole, features=features, labels=whole.labels[chosen], classes=classes)


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
PAIRS = [(SFL, naive_sequential), (PFL, naive_parallel)]
SEEDS, ETAS, ROUNDS = [5, 0, 2**40], [0.05, 0.3], 4


def close(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to 1e-12 of the size of the iterates."""
    return bool(np.abs(a - b).max() <= 1e-12 * np.abs(b).max())


def start_of(p: Any) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(p.d)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("S", [None, 1, 2])
@pytest.mark.parametrize(("algorithm", "naive"), PAIRS)
def test_against_naive_loops(name: str, S: int | None, algorithm: Any, naive: Any) -> None:
    p, x0 = PROBLEMS[name], start_of(PROBLEMS[name])
    got = trajectory(p, algorithm(K=3, eta=ETAS, S=S), rounds=ROUNDS, seeds=SEEDS, x0=x0)
    order = own_orders(p.M, S or p.M)
    for (e, eta), (n, seed) in product(enumerate(ETAS), enumerate(SEEDS)):
        expected = naive(p, [3] * p.M, eta, seed, ROUNDS, x0, order)
        assert close(got[:, e, n], expected)


@pytest.mark.parametrize("name", ["noisy quadratic", "mini-batches", "network, mini-batches"])
@pytest.mark.parametrize("S", [2, None])
@pytest.mark.parametrize(("algorithm", "naive"), PAIRS)
def test_replayed_orders(name: str, S: int | None, algorithm: Any, naive: Any) -> None:
    """Somebody else's orders, shared by all seeds or one for each; the samples remain the seed's own."""
    p, x0, rng = PROBLEMS[name], start_of(PROBLEMS[name]), np.random.default_rng(1)
    full = np.array([[rng.permutation(p.M)[: S or p.M] for _ in range(ROUNDS)] for _ in SEEDS])
    for orders in (full[0], full):
        got = trajectory(p, algorithm(K=2, eta=0.1, S=S), rounds=ROUNDS, seeds=SEEDS, x0=x0, orders=orders)
        for n, seed in enumerate(SEEDS):
            table = orders if orders.ndim == 2 else orders[n]
            expected = naive(p, [2] * p.M, 0.1, seed, ROUNDS, x0, lambda seed, r, t=table: t[r])
            assert close(got[:, 0, n], expected)
            shifted = naive(p, [2] * p.M, 0.1, seed, ROUNDS, x0, lambda seed, r, t=table: t[r - 1])
            if algorithm is SFL or S:  # one round late is seen
                assert not close(got[:, 0, n], shifted)


def test_the_comparison_can_fail() -> None:
    """A step too many, another seed's draws, an order reversed, a last client left out: all are seen."""
    p, x0 = PROBLEMS["noisy quadratic"], start_of(PROBLEMS["noisy quadratic"])
    got = trajectory(p, SFL(K=3, eta=0.1), rounds=2, seeds=[5], x0=x0)[:, 0, 0]
    order = own_orders(4, 4)
    assert close(got, naive_sequential(p, [3] * 4, 0.1, 5, 2, x0, order))
    assert not close(got, naive_sequential(p, [4] * 4, 0.1, 5, 2, x0, order))
    assert not close(got, naive_sequential(p, [3] * 4, 0.1, 6, 2, x0, lambda seed, r: order(5, r)))
    assert not close(got, naive_sequential(p, [3] * 4, 0.1, 5, 2, x0, lambda seed, r: order(5, r)[::-1]))
    assert not close(got, naive_sequential(p, [3] * 4, 0.1, 5, 2, x0, lambda seed, r: order(5, r)[:-1]))
    assert not close(got, naive_parallel(p, [3] * 4, 0.1, 5, 2, x0, order))


# ------------------------------------------------------------------------------------- special cases


@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("S", [None, 2])
def test_split_learning_with_unequal_steps(batch: int | None, S: int | None) -> None:
    p, tau, x0 = replace(NETWORK, batch=batch), (1, 4, 2, 3), start_of(NETWORK)
    got = trajectory(p, SSL(K=1, eta=ETAS, S=S, tau=tau), rounds=ROUNDS, seeds=SEEDS, x0=x0)
    for (e, eta), (n, seed) in product(enumerate(ETAS), enumerate(SEEDS)):
        assert close(got[:, e, n], naive_sequential(p, tau, eta, seed, ROUNDS, x0, own_orders(4, S or 4)))
    equal = trajectory(p, SSL(K=9, eta=ETAS, S=S, tau=(2,) * 4), rounds=2, seeds=SEEDS, x0=x0)
    assert close(equal, trajectory(p, SFL(K=2, eta=ETAS, S=S), rounds=2, seeds=SEEDS, x0=x0))


def test_drift_with_unequal_steps_is_the_seeds_own() -> None:
    """A client that has done its steps drifts no more, though other seeds' clients still run beside it."""
    p, tau, x0 = replace(NETWORK, batch=2), (1, 7, 2, 3), start_of(NETWORK)
    algorithm = SSL(K=1, eta=0.3, tau=tau)
    together = run(p, algorithm, rounds=3, seeds=range(8), x0=x0, record=("drift",))["drift"][0]
    for seed in range(8):
        naive = 0.0
        x = x0
        for m in own_orders(4, 4)(seed, 0):
            for k in range(tau[m]):
                naive += ((x - x0) ** 2).sum()
                x = x - 0.3 * naive_gradient(p, x, m, seed, 0, k)
        assert together[seed, 0] == pytest.approx(naive, rel=1e-12)
        alone = run(p, algorithm, rounds=3, seeds=[seed], x0=x0, record=("drift",))["drift"][0, 0]
        np.testing.assert_allclose(together[seed, :-1], alone[:-1], rtol=1e-12)


# ------------------------------------------------------------------------------------ malformed requests


@pytest.mark.parametrize("algorithm", [SFL, PFL, SSL, SplitFed])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"K": 0}, "K = 0"),
        ({"K": -3}, "K = -3"),
        ({"K": 1.5}, r"K = 1\.5"),
        ({"K": np.nan}, "K = nan"),
        ({"S": 0}, "S = 0"),
        ({"S": 2.0}, r"S = 2\.0"),
        ({"eta": 0.0}, r"eta = 0\.0"),
        ({"eta": -0.1}, r"eta = -0\.1"),
        ({"eta": np.nan}, "eta = nan"),
        ({"eta": [0.1, np.inf]}, r"eta\[1\] = inf"),
        ({"eta": []}, r"eta = \[\]"),
        ({"eta": [[0.1]]}, r"eta = \[\[0\.1\]\]"),
    ],
)
def test_malformed_settings(algorithm: Any, settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        algorithm(**{"K": 2, "eta": 0.1} | settings)


@pytest.mark.parametrize("algorithm", [SFL, PFL])
def test_too_few_clients(algorithm: Any) -> None:
    with pytest.raises(ValueError, match=r"S = 5, but .* has M = 4 clients"):
        run(PROBLEMS["quadratic"], algorithm(K=1, eta=0.1, S=5), rounds=1)


@pytest.mark.parametrize("tau", [(1, 2), (1, 2, 3, 0), (1, 2, 3, -4), (1.5, 1, 1, 1), ()])
def test_malformed_tau(tau: tuple) -> None:
    with pytest.raises(ValueError, match=r"tau = .*expected 4 whole numbers >= 1"):
        run(NETWORK, SSL(K=1, eta=0.1, tau=tau), rounds=1, record=("value",))


@pytest.mark.parametrize("algorithm", [SSL, SplitFed])
def test_split_learning_needs_two_parts(algorithm: Any) -> None:
    with pytest.raises(ValueError, match="expected a model in two parts"):
        run(PROBLEMS["quadratic"], algorithm(K=1, eta=0.1), rounds=1)
