"""FedCOM, FedCOMGATE and those they are compared with, against loops written from the listings, one client at a time."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from spy import Spy, small

from fedtheory.simulations import run
from fedtheory.simulations.algorithms.fedcom import (
    DIANA,
    SCAFFOLD,
    VARIANTS,
    VRDIANA,
    FedCOM,
    FedCOMGATE,
    FedGATE,
    FedPAQ,
    SparseFedCOMGATE,
    damping_of_memory,
)
from fedtheory.simulations.compressors import QSGD, Bernoulli, Identity, RandK, TopK
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.partitions import Partition, dirichlet
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, generate

BINARY, DIGITS = small("breast_cancer", 30, 3, 2), small("digits", 30, 4, 3)
EXACT = generate(3, 4, L=2, mu=0.2, zeta_star=1, delta=0.5)
FINITE = {
    "logistic": Logistic(BINARY, dirichlet(BINARY.labels, 4, 0.7, 0), 0.1),
    "multinomial, mini-batches": Logistic(DIGITS, dirichlet(DIGITS.labels, 4, 0.7, 0), 0.1, batch=2),
}
PROBLEMS: dict[str, Any] = {"noisy quadratic": replace(EXACT, sigma=0.7), **FINITE}
COMPRESSORS: dict[str, Any] = {
    "none": Identity(),
    "rand-2": RandK(2),
    "rand-2, shared": RandK(2, shared=True),
    "top-1": TopK(1),
    "QSGD": QSGD(2),
    "all or nothing, shared": Bernoulli(0.6, shared=True),
}
SEEDS, ETAS, ROUNDS = [5, 0, 2**40], [0.05, 0.2], 4


def trajectory(problem: Any, algorithm: Any, rounds: int = ROUNDS, seeds: Any = SEEDS, **settings: Any) -> np.ndarray:
    """Iterates through the engine: (round, step_size, seed, d)."""
    spy = Spy(problem)
    settings = {"x0": start_of(problem), "record": ("value",)} | settings
    run(spy, algorithm, rounds=rounds, seeds=seeds, **settings)
    return np.array(spy.iterates)


def remembered(problem: Any, algorithm: Any, rounds: int, seeds: Any = SEEDS) -> tuple[np.ndarray, list[dict]]:
    """Iterates (round, step_size, seed, d) and the memory after each round, without the engine."""
    eta = np.atleast_1d(np.asarray(algorithm.eta, dtype=float))[:, None, None]
    x, memory, kept = np.broadcast_to(start_of(problem), (len(eta), len(seeds), problem.d)), {}, []
    iterates = [x]
    for r in range(rounds):
        x = algorithm.round(problem, x, eta, Draws.of_seeds(np.array(seeds), r), lambda *_: None, memory)
        iterates.append(x)
        kept.append(dict(memory))
    return np.array(iterates), kept


def start_of(p: Any) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(p.d)


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-11) -> bool:
    """Equal to rounding, of the size of the iterates."""
    return bool(np.abs(a - b).max() <= tolerance * np.abs(b).max())


# -------------------------------------------------------------------- the same, one client at a time


def draws_alone(seed: int, r: int) -> Draws:
    return Draws.of_seeds(np.array([seed]), r)


def naive_sample_gradient(p: Logistic, x: np.ndarray, m: int, i: int) -> np.ndarray:
    """Gradient of client m's i-th function, the regulariser included."""
    sample = p.partition.clients[m][i]
    a, y = p.dataset.features[sample], p.dataset.labels[sample]
    if p.dataset.classes == 2:
        return (1 / (1 + np.exp(-a @ x)) - y) * a + p.regularisation * x
    e = np.exp(a @ x.reshape(len(a), -1))
    return np.outer(a, e / e.sum() - np.eye(p.dataset.classes)[y]).ravel() + p.regularisation * x


def naive_gradient(p: Any, x: np.ndarray, m: int, seed: int, r: int, c: int) -> np.ndarray:
    """Stochastic gradient of client m at local step c, from the draws of this seed alone."""
    draw = draws_alone(seed, r).of(np.array([m])).step(c)
    if isinstance(p, Quadratic):
        noise = draw.normal(p.d)[0].astype(float) if p.sigma else np.zeros(p.d)
        return p.H[m] @ x + p.b[m] + p.sigma / np.sqrt(p.d) * noise
    n = len(p.partition.clients[m])
    chosen = range(n) if p.batch is None else draw.integers(np.array([n]), p.batch)[0]
    return sum(naive_sample_gradient(p, x, m, i) for i in chosen) / len(chosen)


def naive_code(Q: Any, v: np.ndarray, m: int, seed: int, r: int) -> np.ndarray:
    """Q(v) with the coins of client m, or of the round when all clients share them."""
    return Q(v[None, None, None], draws_alone(seed, r).codes(np.array([[m]]), shared=Q.shared))[0, 0, 0]


def naive_fedcom(p: Any, a: FedCOM, eta: float, seed: int, rounds: int, w: np.ndarray) -> np.ndarray:
    out = [w]
    for r in range(rounds):
        Delta = []
        for j in range(p.M):
            w_j = w
            for c in range(a.tau):
                w_j = w_j - eta * naive_gradient(p, w_j, j, seed, r, c)
            Delta.append(naive_code(a.compressor, (w - w_j) / eta, j, seed, r))
        w = w - eta * a.gamma / p.M * sum(Delta)
        out.append(w)
    return np.array(out)


def naive_fedcomgate(p: Any, a: FedCOMGATE, eta: float, seed: int, rounds: int, w: np.ndarray) -> np.ndarray:
    S = {0.25: 1, 0.6: 2, 0.75: 3, 1.0: p.M}[a.k]
    delta, out = {j: np.zeros(p.d) for j in range(p.M)}, [w]
    alpha = 1 / (1 + a.compressor.q(p.d).value) if a.damping is None else a.damping
    for r in range(rounds):
        selected = draws_alone(seed, r).order(p.M, S)[0] if p.M > S else range(p.M)
        Delta = {}
        for j in selected:
            w_j = w
            for c in range(a.tau):
                d_j = naive_gradient(p, w_j, j, seed, r, c) - delta[j]
                w_j = w_j - eta * d_j
            Delta[j] = naive_code(a.compressor, (w - w_j) / eta, j, seed, r)
        Delta_q = sum(Delta.values()) / (len(Delta) if a.divisor == "participants" else p.M)
        for j in selected:
            change = Delta[j] - Delta_q if a.sign == 1 else Delta_q - Delta[j]
            delta[j] = delta[j] + alpha / a.tau * change
        w = w - eta * a.gamma * Delta_q
        out.append(w)
    return np.array(out)


def naive_fedgate(p: Any, a: FedGATE, eta: float, seed: int, rounds: int, w: np.ndarray) -> np.ndarray:
    delta, out = [np.zeros(p.d)] * p.M, [w]
    for r in range(rounds):
        ends = []
        for j in range(p.M):
            w_j = w
            for c in range(a.tau):
                w_j = w_j - eta * (naive_gradient(p, w_j, j, seed, r, c) - delta[j])
            ends.append(w_j)
        u = sum(w - w_j for w_j in ends) / p.M
        wbar = w - u
        delta = [delta[j] + 1 / (eta * a.tau) * (wbar - ends[j]) for j in range(p.M)]
        w = w - a.gamma * u
        out.append(w)
    return np.array(out)


def naive_sparse(p: Any, a: SparseFedCOMGATE, eta: float, seed: int, rounds: int, w: np.ndarray) -> np.ndarray:
    delta, nu, out = [np.zeros(p.d)] * p.M, [np.zeros(p.d)] * p.M, [w]
    alpha = a.damping or 1.0
    if a.damping is None and a.form == "corrected":
        Q = a.compressor
        alpha = Q.k / p.d if isinstance(Q, TopK) else 1 / (1 + Q.q(p.d).value)
    for r in range(rounds):
        ends, sent = [], []
        for j in range(p.M):
            w_j = w
            for c in range(a.tau):
                w_j = w_j - eta * (naive_gradient(p, w_j, j, seed, r, c) - delta[j])
            ends.append(w_j)
            sent.append(naive_code(a.compressor, (w - w_j) + nu[j], j, seed, r))
        Delta = sum(sent) / p.M
        for j in range(p.M):
            delta[j] = delta[j] + alpha / (eta * a.tau) * (sent[j] - Delta)
            if a.form == "printed":
                nu[j] = nu[j] + 1 / p.M * (w - ends[j]) - Delta
            else:
                nu[j] = nu[j] + (w - ends[j]) - sent[j]
        w = w - a.gamma * Delta
        out.append(w)
    return np.array(out)


def naive_fedpaq(p: Any, a: FedPAQ, eta: float, seed: int, rounds: int, w: np.ndarray) -> np.ndarray:
    out = [w]
    for r in range(rounds):
        selected = draws_alone(seed, r).order(p.M, a.S)[0] if a.S else range(p.M)
        total = np.zeros(p.d)
        for j in selected:
            w_j = w
            for c in range(a.tau):
                w_j = w_j - eta * naive_gradient(p, w_j, j, seed, r, c)
            total += naive_code(a.compressor, w_j - w, j, seed, r)
        w = w + total / len(selected)
        out.append(w)
    return np.array(out)


def naive_scaffold(p: Any, a: SCAFFOLD, eta: float, seed: int, rounds: int, x: np.ndarray) -> np.ndarray:
    c, c_i, out = np.zeros(p.d), [np.zeros(p.d)] * p.M, [x]
    for r in range(rounds):
        selected = draws_alone(seed, r).order(p.M, a.S)[0] if a.S else range(p.M)
        dx, dc = [], []
        for i in selected:
            y = x
            for k in range(a.tau):
                y = y - eta * (naive_gradient(p, y, i, seed, r, k) - c_i[i] + c)
            c_plus = c_i[i] - c + 1 / (a.tau * eta) * (x - y)
            dx.append(y - x)
            dc.append(c_plus - c_i[i])
            c_i[i] = c_plus
        x = x + a.gamma / len(selected) * sum(dx)
        c = c + len(selected) / p.M * (sum(dc) / len(selected))
        out.append(x)
    return np.array(out)


def naive_diana(p: Any, a: DIANA, eta: float, seed: int, rounds: int, x: np.ndarray) -> np.ndarray:
    h_i, h, out = [np.zeros(p.d)] * p.M, np.zeros(p.d), [x]
    reference = [x] * p.M
    alpha = 1 / (1 + a.compressor.q(p.d).value) if a.alpha is None else a.alpha
    for r in range(rounds):
        hats = []
        coin = draws_alone(seed, r).of(np.array([p.M])).step(0).uniform(1)[0, 0]
        for i in range(p.M):
            g = naive_gradient(p, x, i, seed, r, 0) if not isinstance(a, VRDIANA) else None
            if g is None:
                n = len(p.partition.clients[i])
                l = draws_alone(seed, r).of(np.array([i])).step(0).integers(np.array([n]), 1)[0, 0]
                mu = sum(naive_sample_gradient(p, reference[i], i, s) for s in range(n)) / n
                g = naive_sample_gradient(p, x, i, l) - naive_sample_gradient(p, reference[i], i, l) + mu
                if coin < 1 / n:
                    reference[i] = x
            hats.append(naive_code(a.compressor, g - h_i[i], i, seed, r))
        g_hat = h + sum(hats) / p.M
        h = h + alpha * sum(hats) / p.M
        h_i = [h_i[i] + alpha * hats[i] for i in range(p.M)]
        x = x - eta * g_hat
        out.append(x)
    return np.array(out)


Make = Callable[..., Any]
WITH_COMPRESSOR: dict[str, tuple[Make, Callable]] = {
    "FedCOM": (partial(FedCOM, tau=3, gamma=1.5), naive_fedcom),
    "FedCOMGATE": (partial(FedCOMGATE, tau=3, gamma=1.5), naive_fedcomgate),
    "FedCOMGATE, sampled": (partial(FedCOMGATE, tau=2, k=0.6), naive_fedcomgate),
    "FedCOMGATE, one": (partial(FedCOMGATE, tau=2, k=0.25), naive_fedcomgate),
    "FedCOMGATE, 1/m": (
        partial(VARIANTS["FedCOMGATE, 1/m as in Algorithm 4"], tau=2, gamma=0.7, k=0.75),
        naive_fedcomgate,
    ),
    "FedCOMGATE, damped": (partial(VARIANTS["FedCOMGATE, damped"], tau=2), naive_fedcomgate),
    "FedCOMGATE, damped by hand": (partial(FedCOMGATE, tau=2, damping=0.3, k=0.6), naive_fedcomgate),
    "FedCOMGATE, sign": (partial(VARIANTS["FedCOMGATE, sign of (63)"], tau=2), naive_fedcomgate),
    "memory, printed": (partial(SparseFedCOMGATE, tau=3, gamma=1.5, form="printed"), naive_sparse),
    "memory, corrected": (partial(SparseFedCOMGATE, tau=3, gamma=1.5, form="corrected"), naive_sparse),
    "memory, damped by hand": (partial(SparseFedCOMGATE, tau=2, form="corrected", damping=0.3), naive_sparse),
    "FedPAQ": (partial(FedPAQ, tau=3), naive_fedpaq),
    "FedPAQ, sampled": (partial(FedPAQ, tau=2, S=2), naive_fedpaq),
    "DIANA": (DIANA, naive_diana),
    "DIANA by hand": (partial(DIANA, alpha=0.2), naive_diana),
    "VR-DIANA": (VRDIANA, naive_diana),
}
WITHOUT: dict[str, tuple[Make, Callable]] = {
    "FedGATE I": (partial(FedGATE, tau=3, gamma=1.5, option="I"), naive_fedgate),
    "FedGATE II": (partial(FedGATE, tau=3, gamma=1.5, option="II"), naive_fedgate),
    "SCAFFOLD": (partial(SCAFFOLD, tau=3, gamma=0.8), naive_scaffold),
    "SCAFFOLD, sampled": (partial(SCAFFOLD, tau=2, S=2), naive_scaffold),
}


def agree(p: Any, algorithm: Any, naive: Callable, **settings: Any) -> None:
    got = trajectory(p, algorithm, **settings)
    for n, seed in enumerate(SEEDS):
        e = n % len(ETAS)
        assert close(got[:, e, n], naive(p, algorithm, ETAS[e], seed, ROUNDS, start_of(p))), (ETAS[e], seed)


def meaningful(name: str, code: str, problem: str) -> bool:
    """VR-DIANA is for finite sums; damping by 1/(1+q) needs a q, which top-1 has not."""
    without_q = code == "top-1" and name in ("FedCOMGATE, damped", "DIANA", "VR-DIANA")
    return not without_q and (problem in FINITE or name != "VR-DIANA")


@pytest.mark.parametrize(
    ("name", "code", "problem"), [c for c in product(WITH_COMPRESSOR, COMPRESSORS, PROBLEMS) if meaningful(*c)]
)
def test_against_naive_loops(name: str, code: str, problem: str) -> None:
    make, naive = WITH_COMPRESSOR[name]
    agree(PROBLEMS[problem], make(eta=ETAS, compressor=COMPRESSORS[code]), naive)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", WITHOUT)
def test_uncompressed_against_naive_loops(name: str, problem: str) -> None:
    make, naive = WITHOUT[name]
    agree(PROBLEMS[problem], make(eta=ETAS), naive)


def test_the_comparison_can_fail() -> None:
    """Another seed, another client's coins, shared coins taken for own ones, a sign, a divisor: all are seen."""
    p, x0 = PROBLEMS["noisy quadratic"], start_of(PROBLEMS["noisy quadratic"])
    a = FedCOMGATE(2, 0.1, k=0.75, compressor=RandK(2))
    got = trajectory(p, a, seeds=[5])[:, 0, 0]
    assert close(got, naive_fedcomgate(p, a, 0.1, 5, ROUNDS, x0))
    assert not close(got, naive_fedcomgate(p, a, 0.1, 6, ROUNDS, x0))
    for change in (
        {"compressor": RandK(2, shared=True)},
        {"sign": -1},
        {"divisor": "clients"},
        {"damping": 0.99},
        {"tau": 3},
        {"gamma": 1.01},
    ):
        assert not close(got, naive_fedcomgate(p, replace(a, **change), 0.1, 5, ROUNDS, x0)), change


@pytest.mark.parametrize(
    "algorithm",
    [
        FedCOMGATE(2, ETAS, k=0.5, compressor=RandK(2)),
        FedPAQ(2, ETAS, S=2),
        SCAFFOLD(2, ETAS, S=2),
        FedCOMGATE(2, ETAS),
    ],
)
def test_replayed_orders(algorithm: Any) -> None:
    """The clients that a run took, replayed, give the same run; others do not."""
    p = PROBLEMS["noisy quadratic"]
    S = algorithm.participants(p)
    orders = np.array([[draws_alone(seed, r).order(p.M, S)[0] for r in range(ROUNDS)] for seed in SEEDS])
    got = trajectory(p, algorithm)
    assert close(trajectory(p, algorithm, orders=orders), got)
    if p.M > S:
        assert not close(trajectory(p, algorithm, orders=(orders + 1) % p.M), got)


# ------------------------------------------------------------------------- where they go, and where not


def ends(p: Any, algorithm: Any, rounds: int, seeds: Any = range(5), x0: Any = 1.0) -> np.ndarray:
    """||x_R - x_star||^2, (step size, seed); infinite where the run diverged."""
    data = run(p, algorithm, rounds=rounds, seeds=seeds, x0=x0, record=("dist2",), at=[rounds])
    return np.nan_to_num(data["dist2"].values[..., 0], nan=np.inf)


class Useless(TopK):
    def contraction(self, d: int) -> Any:
        return replace(super().contraction(d), value=1.0)


def test_share_of_a_message() -> None:
    for Q, share in ((TopK(1), 0.25), (TopK(4), 1), (RandK(3), 0.75), (Identity(), 1), (Bernoulli(0.4), 0.4)):
        assert damping_of_memory(Q, 4) == pytest.approx(share)
    with pytest.raises(ValueError, match=r"Useless\(k=1\): expected .* with c < 1"):
        damping_of_memory(Useless(1), 4)


# ------------------------------------------------------------------------------------------ finite sums


@pytest.mark.parametrize("problem", FINITE)
def test_sample_gradients(problem: str) -> None:
    """Gradients of given samples against one at a time; the mean over all of them is the client's gradient."""
    p = replace(FINITE[problem], batch=None)
    rng = np.random.default_rng(3)
    clients, draw = np.arange(p.M)[None], draws_alone(0, 0).of(np.arange(p.M)[None]).step(0)
    x = rng.standard_normal((2, 1, p.M, p.d))
    assert p.sizes.tolist() == [len(rows) for rows in p.partition.clients]
    np.testing.assert_array_equal(p.sample_gradient(x, clients, None), p.gradient(x, clients, draw))
    rows = np.array([[rng.integers(0, n, 2) for n in p.sizes]])
    got = p.sample_gradient(x, clients, rows)
    for e, m in product(range(2), range(p.M)):
        alone = [naive_sample_gradient(p, x[e, 0, m], m, i) for i in range(p.sizes[m])]
        np.testing.assert_allclose(got[e, 0, m], (alone[rows[0, m, 0]] + alone[rows[0, m, 1]]) / 2, rtol=1e-12)
        np.testing.assert_allclose(p.gradient(x, clients, draw)[e, 0, m], np.mean(alone, axis=0), rtol=1e-9)


def test_vr_diana_estimator() -> None:
    """One client with n samples: the reference moves in about 1 of n rounds, to the model of that round."""
    p = Logistic(BINARY, Partition([np.arange(30)], "one client"), 0.1)
    iterates, kept = remembered(p, VRDIANA(0.1), 300, seeds=range(40))
    moved, before = 0, np.broadcast_to(iterates[0][:, :, None], kept[0]["w"].shape)
    for x, memory in zip(iterates, kept, strict=False):
        now = memory["w"]
        changed = (now != before).any(-1)
        np.testing.assert_array_equal(now[changed], np.broadcast_to(x[:, :, None], now.shape)[changed])
        moved, before = moved + int(changed.sum()), now
    np.testing.assert_allclose(kept[-1]["mu"][0, :, 0], p.full_gradient(kept[-1]["w"][0, :, 0]), rtol=1e-10)
    expected, trials = 40 * 300 / 30, 40 * 300
    assert abs(moved - expected) < 5 * np.sqrt(trials / 30 * (1 - 1 / 30)) + 40  # a first move to x^(0) is not seen


def test_vr_diana_needs_a_finite_sum() -> None:
    with pytest.raises(ValueError, match=r"quadratics, d=3.* with VR-DIANA: expected a finite sum"):
        run(EXACT, VRDIANA(0.1), rounds=1)


# ------------------------------------------------------------------------------- seeds and bookkeeping

EVERY: list[Any] = [
    FedCOM(2, ETAS, compressor=RandK(2)),
    FedCOMGATE(2, ETAS, compressor=QSGD(2)),
    FedCOMGATE(2, ETAS, compressor=RandK(2, shared=True), k=0.5),
    FedGATE(2, ETAS),
    SparseFedCOMGATE(2, ETAS, compressor=TopK(1)),
    FedPAQ(2, ETAS, compressor=RandK(2), S=2),
    SCAFFOLD(2, ETAS, S=2),
    DIANA(ETAS, compressor=RandK(2)),
    VRDIANA(ETAS, compressor=RandK(2)),
]


@pytest.mark.parametrize("algorithm", EVERY, ids=lambda a: type(a).__name__)
def test_seeds_and_step_sizes_run_alone(algorithm: Any) -> None:
    """A run is the same twice, and whichever seeds and step sizes run beside it, diverged ones included."""
    p = FINITE["multinomial, mini-batches"]
    together = trajectory(p, algorithm)
    np.testing.assert_array_equal(together, trajectory(p, algorithm))
    for n, seed in enumerate(SEEDS):
        assert close(trajectory(p, algorithm, seeds=[seed])[:, :, 0], together[:, :, n], 1e-12)
    q = PROBLEMS["noisy quadratic"]
    if not isinstance(algorithm, VRDIANA):
        wild = ends(q, replace(algorithm, eta=[0.05, 1e3, 0.2]), 150, seeds=SEEDS)
        tame = ends(q, replace(algorithm, eta=[0.05, 0.2]), 150, seeds=SEEDS)
        assert (wild[1] == np.inf).all()
        np.testing.assert_allclose(wild[::2], tame, rtol=1e-9)
    assert not close(together[:, :, 0], together[:, :, 1], 1e-6) or isinstance(algorithm, FedGATE)


def test_drift_is_watched() -> None:
    """Before every local step: none at the first, so DIANA drifts nowhere, and two steps count the second only."""
    p = EXACT
    for algorithm in (DIANA(0.1), VRDIANA(0.1)):
        problem = FINITE["logistic"] if isinstance(algorithm, VRDIANA) else p
        assert (run(problem, algorithm, rounds=2, record=("drift",))["drift"][..., :-1] == 0).all()
    x0 = start_of(p)
    expected = np.mean([((0.1 * (p.H[j] @ x0 + p.b[j])) ** 2).sum() for j in range(p.M)])
    for A in (FedCOM, FedCOMGATE, FedGATE, SparseFedCOMGATE, FedPAQ, SCAFFOLD):
        drift = run(p, A(2, 0.1), rounds=1, x0=x0, record=("drift",))["drift"]
        assert float(drift[0, 0, 0]) == pytest.approx(expected, rel=1e-12)


def test_bits() -> None:
    p, Q = EXACT, RandK(2)
    d = 32 * p.d
    for algorithm, up, down in (
        (FedCOM(2, 0.1, compressor=Q), Q.bits(p.d), d),
        (FedCOM(2, 0.1), Identity().bits(p.d), d),
        (FedCOMGATE(2, 0.1, compressor=Q), Q.bits(p.d), d),
        (FedCOMGATE(2, 0.1, compressor=Q, k=0.5), Q.bits(p.d), 2 * d),
        (FedGATE(2, 0.1), d, d),
        (FedGATE(2, 0.1, option="II"), d, 2 * d),
        (SparseFedCOMGATE(2, 0.1, compressor=TopK(1)), TopK(1).bits(p.d), d),
        (FedPAQ(2, 0.1, Q), Q.bits(p.d), d),
        (SCAFFOLD(2, 0.1), 2 * d, 2 * d),
        (DIANA(0.1, Q), Q.bits(p.d), d),
        (VRDIANA(0.1, Q), Q.bits(p.d), d),
    ):
        assert algorithm.uplink_bits(p) == up and algorithm.downlink_bits(p) == down


def test_symbols() -> None:
    p, Q = EXACT, RandK(2)
    q = Q.q(p.d).value
    assert FedCOM(3, 0.1, 2.0, Q).symbols(p) == {"m": 4, "tau": 3, "gamma": 2, "q": q}
    assert FedCOMGATE(3, 0.1, 2.0, Q, k=0.5).symbols(p) == {"m": 4, "tau": 3, "gamma": 2, "q": q}
    assert FedGATE(3, 0.1, 2.0).symbols(p) == {"m": 4, "tau": 3, "gamma": 2, "q": 0}
    assert DIANA(0.1, Q).symbols(p) == {"m": 4, "tau": 1, "gamma": 1, "q": q}
    assert FedPAQ(3, 0.1).symbols(p) == {"m": 4, "tau": 3, "gamma": 1, "q": 0}


class NoFactor(Identity):
    def q(self, d: int) -> Any:
        return replace(super().q(d), value=None, how="for a test")


def test_no_variance_factor() -> None:
    Q = NoFactor()
    for call in (
        lambda: FedCOM(2, 0.1, compressor=Q).symbols(EXACT),
        lambda: run(EXACT, VARIANTS["FedCOMGATE, damped"](2, 0.1, compressor=Q), rounds=1),
        lambda: run(EXACT, DIANA(0.1, Q), rounds=1),
    ):
        with pytest.raises(ValueError, match="has no q: for a test"):
            call()
    run(EXACT, FedCOMGATE(2, 0.1, compressor=Q), rounds=1)
    run(EXACT, DIANA(0.1, Q, alpha=0.5), rounds=1)


@pytest.mark.parametrize(
    ("k", "M", "S"), [(1.0, 4, 4), (0.5, 4, 2), (0.6, 4, 2), (0.25, 4, 1), (0.29, 100, 29), (1 / 3, 3, 1), (0.1, 10, 1)]
)
def test_participants(k: float, M: int, S: int) -> None:
    p = generate(2, M, L=1, mu=0.1, delta=0.1)
    assert FedCOMGATE(1, 0.1, k=k).participants(p) == S
    assert FedCOM(1, 0.1).participants(p) == M


def test_too_few_participants() -> None:
    with pytest.raises(ValueError, match=r"k = 0\.2, but .* has M = 4 clients: expected k M >= 1"):
        run(EXACT, FedCOMGATE(1, 0.1, k=0.2), rounds=1)
    for A in (FedPAQ, SCAFFOLD):
        with pytest.raises(ValueError, match=r"S = 5, but .* has M = 4 clients"):
            run(EXACT, A(1, 0.1, S=5), rounds=1)


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        *[
            (make, settings, message)
            for make in (FedCOM, FedCOMGATE, FedGATE, SparseFedCOMGATE, FedPAQ, SCAFFOLD)
            for settings, message in (
                ({"tau": 0}, "tau = 0: expected a whole number"),
                ({"tau": 1.5}, r"tau = 1\.5"),
                ({"eta": 0.0}, r"eta = 0\.0: expected a positive"),
                ({"eta": [0.1, np.inf]}, r"eta\[1\] = inf"),
                ({"eta": []}, r"eta = \[\]"),
            )
        ],
        *[
            (make, settings, message)
            for make in (FedCOM, FedCOMGATE, FedGATE, SparseFedCOMGATE, SCAFFOLD)
            for settings, message in (({"gamma": 0.0}, r"gamma = 0\.0"), ({"gamma": np.nan}, "gamma = nan"))
        ],
        (FedCOMGATE, {"k": 0.0}, r"k = 0\.0: expected a number in \(0, 1\]"),
        (FedCOMGATE, {"k": 1.1}, r"k = 1\.1"),
        (FedCOMGATE, {"k": np.nan}, "k = nan"),
        (FedCOMGATE, {"divisor": "m"}, "divisor = 'm': expected one of 'participants', 'clients'"),
        (FedCOMGATE, {"damping": 0.0}, r"damping = 0\.0"),
        (FedCOMGATE, {"sign": 0}, "sign = 0: expected 1 or -1"),
        (FedGATE, {"option": "III"}, "option = 'III': expected one of 'I', 'II'"),
        (SparseFedCOMGATE, {"damping": -1.0}, r"damping = -1\.0"),
        (SparseFedCOMGATE, {"form": "repaired"}, "form = 'repaired': expected one of 'printed', 'corrected'"),
        (FedPAQ, {"S": 0}, "S = 0"),
        (SCAFFOLD, {"S": 2.0}, r"S = 2\.0"),
    ],
)
def test_malformed_settings(make: Any, settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**{"tau": 2, "eta": 0.1} | settings)


@pytest.mark.parametrize("make", [DIANA, VRDIANA])
def test_malformed_diana(make: Any) -> None:
    with pytest.raises(ValueError, match=r"alpha = -1\.0"):
        make(0.1, alpha=-1.0)
    with pytest.raises(ValueError, match=r"eta = -0\.1"):
        make(-0.1)
