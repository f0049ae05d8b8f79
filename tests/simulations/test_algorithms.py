"""The algorithms, against loops written from the paper's listings one seed, one client, one step at a time."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from spy import Spy

from fedtheory.simulations import run
from fedtheory.simulations.algorithms.sfl import PFL, SFL, SSL, SplitFed
from fedtheory.simulations.data import Dataset, load
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.partitions import dirichlet
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
from fedtheory.simulations.problems.two_part import TwoPart

Z = stats.norm.isf(1e-6 / 2)


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


def test_random_reshuffling() -> None:
    """K = 1, sigma = 0, S = M: one pass over the components in random order, SGD-RR."""
    p, x0 = PROBLEMS["quadratic"], start_of(PROBLEMS["quadratic"])
    got = trajectory(p, SFL(K=1, eta=0.2), rounds=10, seeds=[3], x0=x0)[:, 0, 0]
    x, seen = x0, set()
    for epoch in range(10):
        permutation = draws_alone(3, epoch).order(p.M, p.M)[0]
        assert sorted(permutation) == list(range(p.M))
        seen.add(tuple(permutation))
        for i in permutation:
            x = x - 0.2 * (p.H[i] @ x + p.b[i])
        assert close(got[epoch + 1], x)
    assert len(seen) > 5


@pytest.mark.parametrize("batch", [None, 2])
def test_one_client(batch: int | None) -> None:
    for p in (
        generate(3, 1, L=2, mu=0.1, sigma=0.5 if batch else 0.0),
        Logistic(BINARY, dirichlet(BINARY.labels, 1, 1.0, 0), 0.1, batch),
    ):
        one, two = (trajectory(p, A(K=5, eta=ETAS), rounds=5, seeds=SEEDS, x0=start_of(p)) for A in (SFL, PFL))
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-15)  # BLAS may sum in another order


@pytest.mark.parametrize("name", PROBLEMS)
def test_one_participant(name: str) -> None:
    """S = 1 (K = 1, and more): both algorithms are SGD on a client drawn each round."""
    p = PROBLEMS[name]
    for K in (1, 3):
        one, two = (trajectory(p, A(K=K, eta=ETAS, S=1), rounds=5, seeds=SEEDS, x0=start_of(p)) for A in (SFL, PFL))
        assert close(one, two)


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("S", [None, 1, 3])
@pytest.mark.parametrize(("split", "whole"), [(SSL, SFL), (SplitFed, PFL)])
def test_split_learning_is_federated_learning(batch: int | None, S: int | None, split: Any, whole: Any) -> None:
    """Appendix A: SSL and SplitFed share the update rules of SFL and PFL."""
    p = replace(NETWORK, batch=batch)
    settings = {"rounds": 6, "seeds": SEEDS, "x0": start_of(p)}
    one, two = (trajectory(p, A(K=3, eta=ETAS, S=S), **settings) for A in (split, whole))
    assert close(one, two)
    assert not close(one[:-1], two[1:])


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


@pytest.mark.parametrize("S", [None, 2])
@pytest.mark.parametrize("parallel", [False, True])
def test_telescoped_update(S: int | None, parallel: bool) -> None:
    """x_{r+1} - x_r = -eta sum over clients and steps of g (SFL), -(eta/S) sum of g (PFL)."""
    spy, K, eta = Spy(PROBLEMS["noisy quadratic"]), 3, 0.1
    taking_part = S or spy.M
    run(spy, (PFL if parallel else SFL)(K=K, eta=eta, S=S), rounds=3, seeds=SEEDS, x0=1.0, record=("value",))
    calls = K if parallel else K * taking_part  # gradient evaluations a round
    assert len(spy.gradients) == 3 * calls
    for r in range(3):
        own = spy.gradients[r * calls : (r + 1) * calls]
        total = sum(g.sum(2) / taking_part if parallel else g for _, g in own)
        change = spy.iterates[r + 1] - spy.iterates[r]
        np.testing.assert_allclose(change, -eta * total, rtol=1e-12, atol=1e-13)
        if not parallel:  # x_{m,k} - x_r = -eta sum of the gradients so far
            for i, (x, _) in enumerate(own):
                so_far = sum((g for _, g in own[:i]), np.zeros_like(x))
                np.testing.assert_allclose(x - spy.iterates[r], -eta * so_far, rtol=1e-12, atol=1e-13)


# ------------------------------------------------------------------ exact expectations over the orders

TABLE_2 = {
    "group 1": ((Fraction(1, 2), Fraction(1, 2)), (0, 0)),
    "group 2": ((Fraction(1, 2), Fraction(1, 2)), (1, -1)),
    "group 3": ((Fraction(2, 3), Fraction(1, 3)), (1, -1)),
    "group 4": ((Fraction(1), Fraction(0)), (1, -1)),
}


@pytest.mark.parametrize("group", TABLE_2)
@pytest.mark.parametrize("parallel", [False, True])
def test_expectation_over_all_orders(group: str, parallel: bool) -> None:
    """Three rounds of two clients: 8 sequences of orders in rational arithmetic, replayed, and sampled by 20 000 seeds."""
    curvature, slope = TABLE_2[group]
    p = from_functions([float(c) for c in curvature], slope)
    algorithm = (PFL if parallel else SFL)(K=2, eta=0.25)
    sequences = list(product(permutations(range(2)), repeat=3))

    def local(x: Fraction, m: int) -> Fraction:
        for _ in range(2):
            x -= Fraction(1, 4) * (2 * curvature[m] * x + slope[m])
        return x

    def end(sequence: tuple) -> Fraction:
        x = Fraction(3)
        for order in sequence:
            x = (local(x, 0) + local(x, 1)) / 2 if parallel else local(local(x, order[0]), order[1])
        return x

    exact = [end(sequence) ** 2 for sequence in sequences]
    replayed = run(p, algorithm, rounds=3, seeds=range(8), x0=3.0, orders=np.array(sequences), record=("dist2",))
    np.testing.assert_allclose(replayed["dist2"][0, :, -1], np.array(exact, dtype=float), rtol=1e-12)
    mean = sum(exact) / 8
    variance = sum((e - mean) ** 2 for e in exact) / 8
    assert variance == 0 if parallel or group == "group 1" else variance > 0
    N = 20_000
    sampled = run(p, algorithm, rounds=3, seeds=range(N), x0=3.0, record=("dist2",), at=[3])["dist2"][0, :, 0]
    error = Z * float(variance / N) ** 0.5 + 1e-12 * float(mean)
    assert abs(float(sampled.mean()) - float(mean)) <= error
    one_order = float(end(((0, 1),) * 3) ** 2)  # always client 0 first: seen unless the order does not matter
    assert variance == 0 or abs(one_order - float(mean)) > error


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
