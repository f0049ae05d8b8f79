"""FedBCGD, FedBCGD+ and those they are compared with, against loops written from the listings, one client at a time."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import permutations, product
from typing import Any, get_args

import numpy as np
import pytest
from spy import Spy, small

from fedtheory.simulations import run
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.fedbcgd import (
    ALGORITHMS,
    VARIANTS,
    FedAdam,
    FedAvgM,
    FedBCGD,
    FedBCGDPlus,
    FedDC,
    FedLin,
    Sent,
    SLocalGD,
    TopKFedAvg,
    parameter_blocks,
)
from fedtheory.simulations.algorithms.fedcom import FedPAQ
from fedtheory.simulations.compressors import QSGD, Bernoulli, Identity, RandK, TopK
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.partitions import dirichlet
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, generate

BINARY, DIGITS = small("breast_cancer", 40, 5, 2), small("digits", 40, 3, 3)
EXACT = generate(5, 6, L=2, mu=0.2, zeta_star=1, delta=0.5)
PROBLEMS: dict[str, Any] = {
    "noisy quadratic": replace(EXACT, sigma=0.7),
    "logistic": Logistic(BINARY, dirichlet(BINARY.labels, 6, 2.0, 0), 0.1),
    "multinomial, mini-batches": Logistic(DIGITS, dirichlet(DIGITS.labels, 6, 2.0, 0), 0.1, batch=2),
}
SEEDS, ETAS, ROUNDS = [5, 0, 2**40], [0.05, 0.2], 4


def trajectory(problem: Any, algorithm: Any, rounds: int = ROUNDS, seeds: Any = SEEDS, **settings: Any) -> np.ndarray:
    """Iterates through the engine: (round, step_size, seed, d)."""
    spy = Spy(problem)
    given: dict[str, Any] = {"x0": start_of(problem), "record": ("value",)} | settings
    run(spy, algorithm, rounds=rounds, seeds=seeds, **given)
    return np.array(spy.iterates)


def start_of(p: Any) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(p.d)


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-12) -> bool:
    """Equal to rounding, of the size of the iterates."""
    return bool(np.abs(a - b).max() <= tolerance * np.abs(b).max())


# -------------------------------------------------------------------- the same, one client at a time


def draws_alone(seed: int, r: int) -> Draws:
    return Draws.of_seeds(np.array([seed]), r)


def grad(p: Any, x: np.ndarray, m: Any, seed: int = 0, r: int = 0, t: int | None = None) -> np.ndarray:
    """Gradient of client m at x, exact, or at local step t stochastic from the draws of this seed alone."""
    draw = None if t is None else draws_alone(seed, r).of(np.array([m])).step(t)
    if isinstance(p, Quadratic):
        noise = np.zeros(p.d) if draw is None or not p.sigma else draw.normal(p.d)[0].astype(float)
        return p.H[m] @ x + p.b[m] + p.sigma / np.sqrt(p.d) * noise
    rows, total = p.partition.clients[m], np.zeros(p.d)
    if draw is not None and p.batch is not None:
        rows = rows[draw.integers(np.array([len(rows)]), p.batch)[0]]
    for a, y in zip(p.dataset.features[rows], p.dataset.labels[rows], strict=True):
        if p.dataset.classes == 2:
            total += (1 / (1 + np.exp(-a @ x)) - y) * a
        else:
            e = np.exp(a @ x.reshape(len(a), -1))
            total += np.outer(a, e / e.sum() - np.eye(p.dataset.classes)[y]).ravel()
    return total / len(rows) + p.regularisation * x


def code(Q: Any, v: np.ndarray, m: int, seed: int, r: int, slice_number: int) -> np.ndarray:
    """Q(v) with the coins of client m for one slice of a message."""
    draw = draws_alone(seed, r).codes(np.array([[m]]), shared=Q.shared).local.step(slice_number)
    return Q(v[None, None, None], draw)[0, 0, 0]


def client_blocks(p: Any, a: Any, seed: int, r: int) -> list[list[int]]:
    order = list(draws_alone(seed, r).order(p.M, a.N * a.K)[0])
    return [order[j * a.K : (j + 1) * a.K] for j in range(a.N)]


def naive_server(
    a: Any, x: np.ndarray, hat: np.ndarray, v: np.ndarray, shared: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinate by coordinate."""
    x_new, v_new = np.zeros_like(x), np.zeros_like(x)
    for i in range(len(x)):
        if a.momentum == "theory":
            v_new[i] = a.lam * v[i] + (hat[i] - x[i])
            x_new[i] = x[i] + v_new[i]
        elif a.momentum == "printed":
            v_new[i] = a.lam * v[i] + (x[i] - x[i] if i in shared else hat[i] - x[i])
            x_new[i] = hat[i] + v_new[i]
        else:
            v_new[i] = a.lam * v[i] + (x[i] - hat[i])
            x_new[i] = x[i] + v[i]
    return x_new, v_new


def naive_blocks(p: Any, a: Any) -> tuple[list[list[int]], list[int]]:
    sizes = list(a.sizes or [(p.d - a.share) // a.N + (j < (p.d - a.share) % a.N) for j in range(a.N)])
    blocks, first = [], 0
    for size in sizes:
        blocks.append(list(range(first, first + size)))
        first += size
    return blocks, list(range(first, p.d))


def naive_fedbcgd(p: Any, a: FedBCGD, eta: float, seed: int, rounds: int, x: np.ndarray) -> np.ndarray:
    (blocks, shared), v, out = naive_blocks(p, a), np.zeros(p.d), [x]
    for r in range(rounds):
        hat = np.zeros(p.d)
        for j, group in enumerate(client_blocks(p, a, seed, r)):
            for i in group:
                y = x.copy()
                for t in range(a.T if a.sent == "all" else a.T - 1):
                    g = grad(p, y, i, seed, r, t)
                    for l in blocks[j] + shared if a.freeze else range(p.d):
                        y[l] -= eta * g[l]
                for number, (part, count) in enumerate(((blocks[j], a.K), (shared, a.N * a.K))):
                    if part:
                        coins = j if number == 0 else a.N
                        hat[part] += (x[part] + code(a.compressor, (y - x)[part], i, seed, r, coins)) / count
        x, v = naive_server(a, x, hat, v, shared)
        out.append(x)
    return np.array(out)


def naive_fedbcgdplus(p: Any, a: FedBCGDPlus, eta: float, seed: int, rounds: int, x: np.ndarray) -> np.ndarray:
    (blocks, shared), v, out = naive_blocks(p, a), np.zeros(p.d), [x]
    c_i = [grad(p, x, i) if a.begin == "gradients" else np.zeros(p.d) for i in range(p.M)]
    c = sum(c_i) / p.M
    for r in range(rounds):
        hat, grown = np.zeros(p.d), np.zeros(p.d)
        for j, group in enumerate(client_blocks(p, a, seed, r)):
            for i in group:
                full, y = grad(p, x, i), x
                for t in range(a.T if a.sent == "all" else a.T - 1):
                    y_new = y - eta * grad(p, y, i, seed, r, t)
                    y_new = y_new - eta * (c - c_i[i]) if a.control == "theory" else y_new + eta * c - eta * c_i[i]
                    at_x = grad(p, x, i, seed, r, t)
                    if a.variance == "theory":
                        y = y_new - eta * full + eta * at_x
                    else:
                        y = y_new + eta * full - eta * at_x
                c_new = full.copy() if a.kept == "whole" else c_i[i].copy()
                for number, (part, count) in enumerate(((blocks[j], a.K), (shared, a.N * a.K))):
                    if not part:
                        continue
                    coins = j if number == 0 else a.N
                    hat[part] += (x[part] + code(a.compressor, (y - x)[part], i, seed, r, coins)) / count
                    Dc = code(a.compressor, (full - c_i[i])[part], i, seed, r, a.N + 1 + coins)
                    factor = 1.0
                    if a.server == "(71)" and number == 0:
                        factor = a.K
                    if a.server == "printed" and number == 1:
                        factor = 1 / a.N
                    grown[part] += factor / p.M * Dc
                    if a.kept == "sent":
                        c_new[part] += Dc
                c_i[i] = c_new
        c = c + grown
        x, v = naive_server(a, x, hat, v, shared)
        out.append(x)
    return np.array(out)


def naive_participants(p: Any, a: Any, seed: int, r: int) -> list[int]:
    return list(draws_alone(seed, r).order(p.M, a.S)[0]) if getattr(a, "S", None) else list(range(p.M))


def naive_sgd(p: Any, x: np.ndarray, i: int, T: int, eta: float, seed: int, r: int) -> np.ndarray:
    y = x
    for t in range(T):
        y = y - eta * grad(p, y, i, seed, r, t)
    return y


def naive_fedavgm(p: Any, a: FedAvgM, eta: float, seed: int, rounds: int, x: np.ndarray) -> np.ndarray:
    v, out = np.zeros(p.d), [x]
    for r in range(rounds):
        S = naive_participants(p, a, seed, r)
        Delta = sum(x - naive_sgd(p, x, i, a.T, eta, seed, r) for i in S) / len(S)
        v = a.lam * v + Delta
        x = x - v
        out.append(x)
    return np.array(out)


def naive_fedadam(p: Any, a: FedAdam, eta: float, seed: int, rounds: int, x: np.ndarray) -> np.ndarray:
    m, v, out = [0.0] * p.d, [a.tau**2] * p.d, [x]
    for r in range(rounds):
        S = naive_participants(p, a, seed, r)
        Delta = sum(naive_sgd(p, x, i, a.T, eta, seed, r) - x for i in S) / len(S)
        x = x.copy()
        for l in range(p.d):
            m[l] = a.beta1 * m[l] + (1 - a.beta1) * Delta[l]
            v[l] = a.beta2 * v[l] + (1 - a.beta2) * Delta[l] ** 2
            x[l] += a.eta_server * m[l] / (v[l] ** 0.5 + a.tau)
        out.append(x)
    return np.array(out)


def naive_feddc(p: Any, a: FedDC, eta: float, seed: int, rounds: int, x: np.ndarray) -> np.ndarray:
    h, g, g_mean, out = [np.zeros(p.d)] * p.M, [np.zeros(p.d)] * p.M, np.zeros(p.d), [x]
    for r in range(rounds):
        S, ends, new = naive_participants(p, a, seed, r), [], list(g)
        for i in S:
            y = x
            for t in range(a.T):
                penalty, correction = a.alpha * (y - (x - h[i])), g_mean - g[i]
                y = y - eta * (grad(p, y, i, seed, r, t) + penalty + correction)
            h[i] = h[i] + (y - x)
            new[i] = g[i] - g_mean - (y - x) / (eta * a.T)
            ends.append(y)
        x = sum(ends) / len(S) + sum(h) / p.M
        g_mean = g_mean + sum(n - o for n, o in zip(new, g, strict=True)) / p.M
        g = new
        out.append(x)
    return np.array(out)


def naive_fedlin(p: Any, a: FedLin, eta: float, seed: int, rounds: int, x: np.ndarray) -> np.ndarray:
    out = [x]
    for r in range(rounds):
        anchors = [grad(p, x, i) for i in range(p.M)]
        ends = []
        for i in range(p.M):
            y = x
            for t in range(a.T):
                y = y - eta * (grad(p, y, i, seed, r, t) - anchors[i] + sum(anchors) / p.M)
            ends.append(y)
        x = sum(ends) / p.M
        out.append(x)
    return np.array(out)


def naive_slocalgd(p: Any, a: SLocalGD, eta: float, seed: int, rounds: int, x: np.ndarray) -> np.ndarray:
    w, out = x, [x]
    for r in range(rounds):
        if r and draws_alone(seed, r).of(np.array([p.M])).step(0).uniform(1)[0, 0] < a.q:
            w = x
        full = sum(grad(p, w, i) for i in range(p.M)) / p.M
        ends = []
        for i in range(p.M):
            y = x
            for t in range(a.T):
                y = y - eta * (grad(p, y, i, seed, r, t) - grad(p, w, i, seed, r, t) + full)
            ends.append(y)
        x = sum(ends) / p.M
        out.append(x)
    return np.array(out)


def naive_topk(p: Any, a: TopKFedAvg, eta: float, seed: int, rounds: int, x: np.ndarray) -> np.ndarray:
    e, out = [np.zeros(p.d) for _ in range(p.M)], [x]
    for r in range(rounds):
        S, total = naive_participants(p, a, seed, r), np.zeros(p.d)
        for i in S:
            message = e[i] + naive_sgd(p, x, i, a.T, eta, seed, r) - x
            largest = sorted(range(p.d), key=lambda l: -abs(message[l]))[: a.k]
            total[largest] += message[largest]
            e[i] = message
            e[i][largest] = 0.0
        x = x + total / len(S)
        out.append(x)
    return np.array(out)


def agree(p: Any, algorithm: Any, naive: Callable, tolerance: float = 1e-12) -> None:
    got = trajectory(p, algorithm)
    for n, seed in enumerate(SEEDS):
        e = n % len(ETAS)
        assert close(got[:, e, n], naive(p, algorithm, ETAS[e], seed, ROUNDS, start_of(p)), tolerance), (e, seed)


SHAPES: dict[str, dict] = {  # five or nine coordinates, six clients
    "one block": {"N": 1, "K": 4},
    "two of two, some": {"N": 2, "K": 2, "share": 1},
    "two of three, all": {"N": 2, "K": 3, "share": 2},
    "three of one": {"N": 3, "K": 1},
}


@pytest.mark.parametrize(("shape", "problem"), list(product(SHAPES, PROBLEMS)))
@pytest.mark.parametrize("name", [name for name, build in VARIANTS.items() if isinstance(build(1, 1, 1, 1), FedBCGD)])
def test_algorithm_1_against_naive_loops(name: str, shape: str, problem: str) -> None:
    for freeze in (False, True):
        agree(PROBLEMS[problem], VARIANTS[name](3, ETAS, lam=0.6, freeze=freeze, **SHAPES[shape]), naive_fedbcgd)


@pytest.mark.parametrize(("shape", "problem"), list(product(SHAPES, PROBLEMS)))
@pytest.mark.parametrize(
    "name", [name for name, build in VARIANTS.items() if isinstance(build(1, 1, 1, 1), FedBCGDPlus)]
)
def test_algorithm_3_against_naive_loops(name: str, shape: str, problem: str) -> None:
    begin = "gradients" if problem == "logistic" else "zero"
    agree(PROBLEMS[problem], VARIANTS[name](3, ETAS, lam=0.6, begin=begin, **SHAPES[shape]), naive_fedbcgdplus)


def test_single_settings_against_naive_loops() -> None:
    """Each setting alone on its printed word, which also makes it another run."""
    p = PROBLEMS["noisy quadratic"]
    corrected = FedBCGDPlus(3, ETAS, 2, 3, 0.6, share=1, begin="gradients")
    for changed in ("control", "variance", "kept", "server", "momentum", "sent"):
        setting: dict[str, Any] = {changed: "whole" if changed == "kept" else "printed"}
        other = replace(corrected, **setting)
        agree(p, other, naive_fedbcgdplus)
        assert not close(trajectory(p, other), trajectory(p, corrected), 1e-3), changed
        with pytest.raises(AssertionError):
            agree(p, other, lambda _, *rest: naive_fedbcgdplus(p, corrected, *rest[1:]))


@pytest.mark.parametrize(
    "Q", [RandK(1), RandK(1, shared=True), TopK(1), QSGD(2), Bernoulli(0.6, shared=True)], ids=lambda Q: Q.name
)
@pytest.mark.parametrize("shape", SHAPES)
def test_compressed_against_naive_loops(Q: Any, shape: str) -> None:
    p = PROBLEMS["noisy quadratic"]
    settings: dict = {"T": 2, "eta": ETAS, "lam": 0.5, "compressor": Q} | SHAPES[shape]
    agree(p, FedBCGD(**settings), naive_fedbcgd)
    agree(p, FedBCGDPlus(**settings), naive_fedbcgdplus)
    agree(p, FedBCGDPlus(**settings, kept="whole"), naive_fedbcgdplus)


def test_slices_toss_their_own_coins() -> None:
    """Two blocks of the same size and the shared block do not keep the same coordinates of the same client."""
    p = generate(12, 2, L=1, mu=0.5, zeta_star=1, delta=0.1)
    algorithm = FedBCGDPlus(1, 0.1, 1, 2, share=6, compressor=RandK(1))
    change, clients = np.ones((1, 50, 2, 12)), np.arange(2)[None]
    draws = Draws.of_seeds(np.arange(50), 0)
    kept = [
        algorithm.message(p, change, clients, np.ones((1, 2, 12), bool), draws, first).reshape(-1, 2, 6).argmax(-1)
        for first in (0, 2)
    ]
    places = np.concatenate(kept, axis=1)  # of a block and the shared block, in either message
    for a, b in permutations(range(4), 2):
        assert 0.02 < (places[:, a] == places[:, b]).mean() < 0.4


BASELINES: dict[str, tuple[Callable, Callable]] = {
    "FedAvgM": (partial(FedAvgM, 3, ETAS, lam=0.7), naive_fedavgm),
    "FedAvgM, sampled": (partial(FedAvgM, 2, ETAS, S=4, lam=0.7), naive_fedavgm),
    "FedAdam": (partial(FedAdam, 3, ETAS, beta1=0.6, beta2=0.8, tau=0.02, eta_server=0.3), naive_fedadam),
    "FedAdam, sampled": (partial(FedAdam, 3, ETAS, S=2, tau=0.1), naive_fedadam),
    "FedDC": (partial(FedDC, 3, ETAS, alpha=0.3), naive_feddc),
    "FedDC, sampled": (partial(FedDC, 2, ETAS, S=3, alpha=0.3), naive_feddc),
    "FedDC, alpha 0": (partial(FedDC, 2, ETAS, S=3, alpha=0), naive_feddc),
    "FedLin": (partial(FedLin, 3, ETAS), naive_fedlin),
    "SLocalGD": (partial(SLocalGD, 3, ETAS), naive_slocalgd),
    "SLocalGD, loopless": (partial(SLocalGD, 3, ETAS, q=0.4), naive_slocalgd),
    "TopKFedAvg": (partial(TopKFedAvg, 3, ETAS, k=2), naive_topk),
    "TopKFedAvg, sampled": (partial(TopKFedAvg, 3, ETAS, S=4, k=1), naive_topk),
}


@pytest.mark.parametrize(("name", "problem"), list(product(BASELINES, PROBLEMS)))
def test_baselines_against_naive_loops(name: str, problem: str) -> None:
    build, naive = BASELINES[name]
    agree(PROBLEMS[problem], build(), naive, 1e-11)


EVERYTHING: dict[str, Any] = {
    **{name: build(2, ETAS, 2, 2, lam=0.5, share=1) for name, build in VARIANTS.items()},
    "FedBCGD, everyone": FedBCGD(2, ETAS, 2, 3, 0.5, share=1, freeze=True, compressor=QSGD(2)),
    **{name: build() for name, (build, _) in BASELINES.items()},
}


@pytest.mark.parametrize("name", EVERYTHING)
def test_seeds_and_step_sizes_beside_do_not_matter(name: str) -> None:
    p, algorithm = PROBLEMS["multinomial, mini-batches"], EVERYTHING[name]
    together = trajectory(p, algorithm)
    assert not close(together[:, :, 0], together[:, :, 1], 1e-3)
    for (e, eta), (n, seed) in product(enumerate(ETAS), enumerate(SEEDS)):
        alone = trajectory(p, replace(algorithm, eta=eta), seeds=[seed])
        assert close(alone[:, 0, 0], together[:, e, n], 1e-13)


# ---------------------------------------------------------------------------------------------- blocks


def test_parameter_blocks() -> None:
    """They cover all coordinates once, in their order; as equal as can be, or of given sizes."""
    assert parameter_blocks(7, 3, share=0) == {"block 1": slice(0, 3), "block 2": slice(3, 5), "block 3": slice(5, 7)}
    assert parameter_blocks(6, 2, (4, 1), 1) == {
        "block 1": slice(0, 4),
        "block 2": slice(4, 5),
        "share": slice(5, 6),
    }
    for d, share in product(range(1, 12), range(4)):
        for N in range(1, d - share + 1):
            blocks = parameter_blocks(d, N, share=share)
            covered = np.concatenate([np.arange(d)[part] for part in blocks.values()])
            np.testing.assert_array_equal(covered, np.arange(d))
            sizes = [part.stop - part.start for name, part in blocks.items() if name != "share"]
            assert len(sizes) == N and sizes == sorted(sizes, reverse=True) and sizes[0] - sizes[-1] <= 1
            assert ("share" in blocks) == (share > 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, 1), "d = 0: expected a whole number >= 1"),
        ((4, 0), "N = 0: expected a whole number >= 1"),
        ((4, 1.5), "N = 1.5: expected a whole number >= 1"),
        ((4, 1, None, -1), "share = -1: expected a whole number >= 0"),
        ((4, 4, None, 1), r"N = 4 blocks, d = 4, share = 1: expected N <= d - share"),
        ((4, 2, (2, 1)), r"sizes = \(2, 1\): expected N = 2 whole numbers >= 1 with the sum d - share = 4"),
        ((4, 2, (2, 2), 1), r"with the sum d - share = 3"),
        ((4, 2, (2, 1, 1)), r"expected N = 2 whole numbers"),
        ((4, 2, (4, 0)), r"sizes = \(4, 0\)"),
        ((4, 2, (2.5, 1.5)), r"sizes = \(2.5, 1.5\)"),
        ((4, 2, 4), r"sizes = 4: expected N = 2 whole numbers"),
    ],
)
def test_blocks_that_do_not_fit(arguments: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parameter_blocks(*arguments)


def test_unequal_sizes() -> None:
    """Given sizes: the run is the loop's with these blocks, and not that with equal ones."""
    p = PROBLEMS["noisy quadratic"]
    algorithm = FedBCGD(2, ETAS, 2, 2, 0.5, sizes=(1, 3), share=1)
    agree(p, algorithm, naive_fedbcgd)
    agree(p, FedBCGDPlus(2, ETAS, 2, 2, 0.5, sizes=(3, 2)), naive_fedbcgdplus)
    assert not close(trajectory(p, algorithm), trajectory(p, replace(algorithm, sizes=None)), 1e-3)
    assert close(trajectory(p, replace(algorithm, sizes=(2, 2))), trajectory(p, replace(algorithm, sizes=None)))


def test_every_client_takes_its_turn_in_every_block() -> None:
    """With all clients, too, each round assigns them to the blocks anew, at random."""
    p, algorithm = EXACT, FedBCGD(1, 0.1, 3, 2, share=2)
    taken = np.zeros((p.M, 3))
    for r in range(300):
        clients, own = algorithm.sampling(p, Draws.of_seeds(np.array([3]), r))
        assert own.shape == (1, p.M, p.d) and own[..., 3:].all() and (own[..., :3].sum(1) == 2).all()
        np.testing.assert_array_equal(clients, np.arange(p.M)[None])
        taken += own[0, :, :3]
    assert np.abs(taken / 300 - 1 / 3).max() < 0.12


# ------------------------------------------------------------------------------------------ reductions


@pytest.mark.parametrize("share", [0, 2])
def test_freezing(share: int) -> None:
    """With frozen blocks a client's own iterates move in its block and the shared one only."""
    p, rounds, steps = PROBLEMS["noisy quadratic"], 3, 3
    orders = np.array([draws_alone(4, r).order(p.M, 4)[0] for r in range(rounds)])
    for freeze in (True, False):
        spy = Spy(p)
        run(spy, FedBCGD(steps, ETAS, 2, 2, 0.5, share=share, freeze=freeze), rounds=rounds, orders=orders, x0=1.0)
        seen = np.array([x for x, _ in spy.gradients]).reshape(rounds, steps, len(ETAS), 1, 4, p.d)
        moved = (seen[:, 1:] != seen[:, :1]).any(axis=(0, 1, 2, 3))
        own = np.ones((4, p.d), bool)
        if freeze:
            middle = (p.d - share + 1) // 2
            own[:2, middle : p.d - share] = own[2:, :middle] = False
        np.testing.assert_array_equal(moved, own)


# ------------------------------------------------------------------------------------------- baselines


def test_fedadam_by_hand() -> None:
    """One coordinate, one client, one step: Delta = -eta F'(x), m and v from their starts."""
    p = Quadratic(np.array([[[2.0]]]), np.array([[1.0]]))
    algorithm = FedAdam(1, 0.1, eta_server=0.5, beta1=0.9, beta2=0.75, tau=0.2)
    x = trajectory(p, algorithm, rounds=1, x0=1.0)[1, 0, 0, 0]
    Delta = -0.1 * 3.0
    assert x == pytest.approx(1 + 0.5 * 0.1 * Delta / (np.sqrt(0.75 * 0.04 + 0.25 * Delta**2) + 0.2), rel=1e-12)
    # no memory and large tau: a plain step of size eta_server / tau, nearly
    plain = FedAdam(3, 0.05, eta_server=1e6, beta1=0.0, beta2=0.0, tau=1e6)
    assert close(trajectory(EXACT, plain), trajectory(EXACT, FedPAQ(3, 0.05)), 1e-5)


# ------------------------------------------------------------------------------- exact local gradients


@pytest.mark.parametrize("problem", PROBLEMS)
def test_local_gradient(problem: str) -> None:
    """Exact, whatever the noise; for clients of each seed, shared clients, and a single client."""
    p = PROBLEMS[problem]
    rng = np.random.default_rng(3)
    for shape in ((3, 4), (1, p.M), (3,), (3, 2, 2)):
        client = rng.integers(0, p.M, shape)
        x = rng.standard_normal((2, 3, *shape[1:], p.d))
        got = p.local_gradient(x, client)
        assert got.shape == x.shape
        every = np.broadcast_to(client, (3, *shape[1:]))
        for place in np.ndindex(2, *every.shape):
            np.testing.assert_allclose(got[place], grad(p, x[place], every[place[1:]]), rtol=1e-10, atol=1e-12)


# ------------------------------------------------------------------------------- symbols, bits, errors


def test_symbols() -> None:
    p = EXACT
    for algorithm in (FedBCGD(3, ETAS, 2, 2, 0.75), FedBCGDPlus(3, ETAS, 2, 2, 0.75)):
        assert algorithm.symbols(p) == {"M": 6, "N": 2, "K": 2, "S": 4, "T": 3, "lam": 0.75, "alpha": 4, "gamma": 3}
        assert all(type(value) is float for value in algorithm.symbols(p).values())
    assert FedAvgM(3, ETAS, 4, lam=0.5).symbols(p) == {"M": 6, "S": 4, "T": 3, "lam": 0.5}
    assert FedAdam(3, ETAS).symbols(p).keys() == {"M", "S", "T", "eta_server", "beta1", "beta2", "tau"}
    assert FedDC(3, ETAS, alpha=0.2).symbols(p) == {"M": 6, "S": 6, "T": 3, "alpha": 0.2}
    assert FedLin(3, ETAS).symbols(p) == {"M": 6, "S": 6, "T": 3}
    assert SLocalGD(3, ETAS, q=0.5).symbols(p) == {"M": 6, "S": 6, "T": 3, "q": 0.5}
    assert TopKFedAvg(3, ETAS, 2, k=3).symbols(p) == {"M": 6, "S": 2, "T": 3, "k": 3}


def test_bits() -> None:
    """Float by float: d/N and the shared block up, everything down; FedBCGD+ twice that."""
    p = EXACT  # d = 5
    block = FedBCGD(2, 0.1, 2, 2, share=1)
    assert (block.uplink_bits(p), block.downlink_bits(p)) == (32 * (2 + 1), 32 * 5)
    assert FedBCGD(2, 0.1, 2, 2).uplink_bits(p) == 32 * 2.5
    assert FedBCGD(2, 0.1, 2, 2, sizes=(1, 3), share=1).uplink_bits(p) == 32 * 3
    Q = QSGD(2)
    assert FedBCGD(2, 0.1, 2, 2, share=1, compressor=Q, sizes=(1, 3)).uplink_bits(p) == (
        Q.bits(1) + Q.bits(3)
    ) / 2 + Q.bits(1)
    plus = FedBCGDPlus(2, 0.1, 2, 2, share=1, compressor=Q)
    assert plus.uplink_bits(p) == 2 * FedBCGD(2, 0.1, 2, 2, share=1, compressor=Q).uplink_bits(p)
    assert plus.downlink_bits(p) == 2 * 32 * 5
    vector = 32.0 * 5
    for algorithm, up, down in (
        (FedAvgM(2, 0.1), 1, 1),
        (FedAdam(2, 0.1), 1, 1),
        (FedDC(2, 0.1), 2, 2),
        (FedLin(2, 0.1), 2, 2),
        (SLocalGD(2, 0.1, q=0.25), 1.25, 1.25),
    ):
        assert (algorithm.uplink_bits(p), algorithm.downlink_bits(p)) == (up * vector, down * vector)
    top = TopKFedAvg(2, 0.1, k=2)
    assert (top.uplink_bits(p), top.downlink_bits(p)) == (TopK(2).bits(5), vector)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: FedBCGD(0, 0.1, 1, 1), "T = 0: expected a whole number >= 1"),
        (lambda: FedBCGD(1.5, 0.1, 1, 1), "T = 1.5: expected a whole number >= 1"),  # type: ignore[arg-type]
        (lambda: FedBCGD(1, 0.1, 0, 1), "N = 0: expected a whole number >= 1"),
        (lambda: FedBCGD(1, 0.1, 1, 0), "K = 0: expected a whole number >= 1"),
        (lambda: FedBCGDPlus(1, 0.1, 1, 0.5), "K = 0.5: expected a whole number >= 1"),  # type: ignore[arg-type]
        (lambda: FedBCGD(1, 0.0, 1, 1), "eta = 0.0: expected a positive finite number, or several"),
        (lambda: FedBCGD(1, [], 1, 1), r"eta = \[\]: expected a positive"),
        (lambda: FedBCGDPlus(1, [0.1, np.inf], 1, 1), "eta.* = .* expected a positive"),
        (lambda: FedBCGD(1, 0.1, 1, 1, 1.0), r"lam = 1.0: expected a number in \[0, 1\)"),
        (lambda: FedBCGD(1, 0.1, 1, 1, -0.1), r"lam = -0.1: expected a number in \[0, 1\)"),
        (lambda: FedBCGDPlus(1, 0.1, 1, 1, np.nan), r"lam = nan: expected a number in \[0, 1\)"),
        (lambda: FedBCGD(1, 0.1, 1, 1, share=-1), "share = -1: expected a whole number >= 0"),
        (
            lambda: FedBCGD(1, 0.1, 1, 1, momentum="heavy"),  # type: ignore[arg-type]
            "momentum = 'heavy': expected one of 'theory', 'printed', 'display'",
        ),
        (
            lambda: FedBCGD(1, 0.1, 1, 1, sent="some"),  # type: ignore[arg-type]
            "sent = 'some': expected one of 'all', 'printed'",
        ),
        (lambda: FedBCGD(1, 0.1, 1, 1, freeze=1), "freeze = 1: expected True or False"),  # type: ignore[arg-type]
        (
            lambda: FedBCGDPlus(1, 0.1, 1, 1, control="+"),  # type: ignore[arg-type]
            r"control = '\+': expected one of 'theory', 'printed'",
        ),
        (
            lambda: FedBCGDPlus(1, 0.1, 1, 1, variance="-"),  # type: ignore[arg-type]
            "variance = '-': expected one of 'theory', 'printed'",
        ),
        (
            lambda: FedBCGDPlus(1, 0.1, 1, 1, kept="none"),  # type: ignore[arg-type]
            "kept = 'none': expected one of 'sent', 'whole'",
        ),
        (
            lambda: FedBCGDPlus(1, 0.1, 1, 1, server="sum"),  # type: ignore[arg-type]
            r"server = 'sum': expected one of 'mean', 'printed', '\(71\)'",
        ),
        (
            lambda: FedBCGDPlus(1, 0.1, 1, 1, begin="one"),  # type: ignore[arg-type]
            "begin = 'one': expected one of 'zero', 'gradients'",
        ),
        (lambda: FedAvgM(1, 0.1, 0), "S = 0: expected a whole number"),
        (lambda: FedAvgM(1, 0.1, lam=1), r"lam = 1: expected a number in \[0, 1\)"),
        (lambda: FedAdam(1, 0.1, beta1=1), r"beta1 = 1: expected a number in \[0, 1\)"),
        (lambda: FedAdam(1, 0.1, beta2=-1), r"beta2 = -1: expected a number in \[0, 1\)"),
        (lambda: FedAdam(1, 0.1, tau=0), "tau = 0: expected a finite number > 0"),
        (lambda: FedAdam(1, 0.1, eta_server=np.inf), "eta_server = inf: expected a finite number > 0"),
        (lambda: FedDC(1, 0.1, alpha=-1), "alpha = -1: expected a finite number >= 0"),
        (lambda: FedDC(1, 0.1, alpha=np.nan), "alpha = nan: expected a finite number >= 0"),
        (lambda: FedLin(0, 0.1), "T = 0: expected a whole number >= 1"),
        (lambda: SLocalGD(1, 0.1, q=0), r"q = 0: expected a number in \(0, 1\]"),
        (lambda: SLocalGD(1, 0.1, q=1.1), r"q = 1.1: expected a number in \(0, 1\]"),
        (lambda: TopKFedAvg(1, 0.1, k=0), "k = 0: expected a whole number >= 1"),
    ],
)
def test_bad_settings(build: Callable, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build()


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [
        (FedBCGD(1, 0.1, 2, 4), "N = 2 and K = 4, but quadratic.* has M = 6 clients: expected N K <= M"),
        (FedBCGDPlus(1, 0.1, 3, 1, share=3), "N = 3 blocks, d = 5, share = 3: expected N <= d - share"),
        (FedBCGD(1, 0.1, 2, 1, sizes=(3, 3)), r"sizes = \(3, 3\): expected N = 2 .* d - share = 5"),
        (FedAvgM(1, 0.1, 7), "expected S <= M"),
        (FedDC(1, 0.1, 7), "expected S <= M"),
        (TopKFedAvg(1, 0.1, k=6), "k = 6"),
    ],
)
def test_settings_that_do_not_fit_the_problem(algorithm: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        run(EXACT, algorithm, rounds=1)


class Noisy(Spy):
    """A problem that keeps its exact gradients to itself."""

    def __getattr__(self, name: str) -> Any:
        if name == "local_gradient":
            raise AttributeError(name)
        return super().__getattr__(name)


@pytest.mark.parametrize("algorithm", [FedBCGDPlus(1, 0.1, 1, 1), FedLin(1, 0.1), SLocalGD(1, 0.1)], ids=repr)
def test_problems_without_exact_gradients(algorithm: Any) -> None:
    assert np.isfinite(trajectory(Noisy(EXACT), FedBCGD(1, 0.1, 1, 1))).all()
    with pytest.raises(ValueError, match="no local_gradient in quadratic.*: expected a problem with exact gradients"):
        run(Noisy(EXACT), algorithm, rounds=1)


def test_names() -> None:
    """The command line offers all of them, under different names, built from T, eta and, for blocks, N and K."""
    assert set(ALGORITHMS) <= set(registry()) and len(registry()) >= len(ALGORITHMS) + 10
    assert set(get_args(Sent)) == {"all", "printed"}
    for name, build in VARIANTS.items():
        algorithm = build(2, 0.1, 2, 3)
        assert isinstance(algorithm, FedBCGDPlus) == name.startswith("FedBCGD+")
        assert np.isfinite(trajectory(PROBLEMS["logistic"], algorithm)).all()
    printed = VARIANTS["FedBCGD+, as printed"](2, 0.1, 2, 3)
    assert printed == FedBCGDPlus(
        2, 0.1, 2, 3, 0.0, None, 0, "printed", "printed", Identity(), "printed", "printed", "whole", "printed", "zero"
    )
