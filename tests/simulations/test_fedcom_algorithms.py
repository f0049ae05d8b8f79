"""FedCOM, FedCOMGATE and those they are compared with, round by round by hand; paper_check.md has the paper's own lines."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from by_hand import ETAS, SEEDS, ByHand, Round, agree, by_hand, close, mean, start_of, trajectory
from spy import small

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
from fedtheory.simulations.problems.quadratic import generate

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


def remembered(problem: Any, algorithm: Any, rounds: int, seeds: Any = SEEDS) -> tuple[np.ndarray, list[dict]]:
    """Iterates (round, step_size, seed, d) and the memory after each round, without the engine."""
    eta = np.atleast_1d(np.asarray(algorithm.eta, dtype=float))[:, None, None]
    x, kept = np.broadcast_to(start_of(problem), (len(eta), len(seeds), problem.d)), []
    iterates, memory = [x], dict[str, np.ndarray]()
    for r in range(rounds):
        x = algorithm.round(problem, x, eta, Draws.of_seeds(np.array(seeds), r), lambda *_: None, memory)
        iterates.append(x)
        kept.append(dict(memory))
    return np.array(iterates), kept


# ------------------------------------------------------------------------------------------------ rounds by hand


def fedcomgate(h: ByHand, a: FedCOMGATE, w: np.ndarray) -> np.ndarray:
    S = h.clients({0.25: 1, 0.6: 2, 0.75: 3, 1.0: None}[a.k])
    delta, Delta = h.client["delta"], {}
    alpha = 1 / (1 + a.compressor.q(h.d).value) if a.damping is None else a.damping
    for j in S:
        w_j = h.steps(j, w, a.tau, lambda y, c: h.g(j, y, c) - delta[j])
        Delta[j] = h.code(a.compressor, (w - w_j) / h.eta, j)
    Delta_q = sum(Delta.values()) / (len(S) if a.divisor == "participants" else h.M)
    for j in S:
        delta[j] = delta[j] + a.sign * alpha / a.tau * (Delta[j] - Delta_q)
    return w - h.eta * a.gamma * Delta_q


def fedpaq(h: ByHand, a: FedPAQ, w: np.ndarray) -> np.ndarray:
    S = h.clients(a.S)
    return w + h.weighted(S, {j: h.code(a.compressor, h.steps(j, w, a.tau) - w, j) for j in S})


def scaffold(h: ByHand, a: SCAFFOLD, x: np.ndarray) -> np.ndarray:
    S, c_j = h.clients(a.S), h.client["c_j"]
    if h.r == 0 and a.start == "gradient":
        c_j[:] = [h.g(j, x, a.tau + 1) for j in range(h.M)]
    c, ends = mean(c_j), {}
    for j in S:
        ends[j] = h.steps(j, x, a.tau, lambda y, k: h.g(j, y, k) - c_j[j] + c)
        c_j[j] = h.g(j, x, a.tau) if a.option == "I" else c_j[j] - c + (x - ends[j]) / (a.tau * h.eta)
    return x + a.gamma * (mean(ends.values()) - x)


def diana(h: ByHand, a: DIANA, x: np.ndarray) -> np.ndarray:
    h_j, alpha, coin = h.client["h_j"], 1 / (1 + a.compressor.q(h.d).value) if a.alpha is None else a.alpha, h.coin()
    before, hats = mean(h_j), []
    for j in range(h.M):
        if isinstance(a, VRDIANA):
            one, reference = np.array([[j]]), h.client["w"]
            at = reference[j] if h.r else h.start
            drawn = h.draws.of(one).step(0).integers(h.p.sizes[one], 1)
            g, there, whole = (
                h.p.sample_gradient(y[None, None, None], one, rows)[0, 0, 0]
                for y, rows in ((x, drawn), (at, drawn), (at, None))
            )
            g = g - there + whole
            reference[j] = x if coin < 1 / h.p.sizes[j] else at
        else:
            g = h.g(j, x, 0)
        hats.append(h.code(a.compressor, g - h_j[j], j))
        h_j[j] = h_j[j] + alpha * hats[j]
    return x - h.eta * (before + mean(hats))


Make = Callable[..., Any]
WITH_COMPRESSOR: dict[str, tuple[Make, Round]] = {
    "FedCOMGATE, sampled": (partial(FedCOMGATE, tau=2, gamma=1.5, k=0.6), fedcomgate),
    "FedCOMGATE, one": (partial(FedCOMGATE, tau=2, k=0.25), fedcomgate),
    "FedCOMGATE, 1/m": (partial(VARIANTS["FedCOMGATE, 1/m as in Algorithm 4"], tau=2, gamma=0.7, k=0.75), fedcomgate),
    "FedCOMGATE, damped": (partial(VARIANTS["FedCOMGATE, damped"], tau=2), fedcomgate),
    "FedCOMGATE, damped by hand": (partial(FedCOMGATE, tau=2, damping=0.3, k=0.6), fedcomgate),
    "FedCOMGATE, sign": (partial(VARIANTS["FedCOMGATE, sign of (63)"], tau=2), fedcomgate),
    "FedPAQ": (partial(FedPAQ, tau=3), fedpaq),
    "FedPAQ, sampled": (partial(FedPAQ, tau=2, S=2), fedpaq),
    "DIANA": (DIANA, diana),
    "DIANA by hand": (partial(DIANA, alpha=0.2), diana),
    "VR-DIANA": (VRDIANA, diana),
}


def meaningful(name: str, code: str, problem: str) -> bool:
    """VR-DIANA is for finite sums; damping by 1/(1+q) needs a q, which top-1 has not."""
    without_q = code == "top-1" and name in ("FedCOMGATE, damped", "DIANA", "VR-DIANA")
    return not without_q and (problem in FINITE or name != "VR-DIANA")


@pytest.mark.parametrize(
    ("name", "code", "problem"), [c for c in product(WITH_COMPRESSOR, COMPRESSORS, PROBLEMS) if meaningful(*c)]
)
def test_rounds_by_hand(name: str, code: str, problem: str) -> None:
    make, round_ = WITH_COMPRESSOR[name]
    agree(PROBLEMS[problem], make(eta=ETAS, compressor=COMPRESSORS[code]), round_)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(
    "algorithm",
    [
        SCAFFOLD(3, ETAS, gamma=0.8),
        SCAFFOLD(2, ETAS, S=2),
        *(
            SCAFFOLD(3, ETAS, option=option, start=start)  # type: ignore[arg-type]
            for option, start in product(("I", "II"), ("zero", "gradient"))
        ),
    ],
    ids=str,
)
def test_scaffold_by_hand(algorithm: Any, problem: str) -> None:
    agree(PROBLEMS[problem], algorithm, scaffold)


def test_the_comparison_can_fail() -> None:
    """Another seed, another client's coins, shared coins taken for own ones, a sign, a divisor: all are seen."""
    p, a = PROBLEMS["noisy quadratic"], FedCOMGATE(2, 0.1, k=0.75, compressor=RandK(2))
    got = trajectory(p, a, seeds=[5])[:, 0, 0]
    assert close(got, by_hand(p, a, fedcomgate, 0.1, 5))
    assert not close(got, by_hand(p, a, fedcomgate, 0.1, 6))
    for change in (
        {"compressor": RandK(2, shared=True)},
        {"sign": -1},
        {"divisor": "clients"},
        {"damping": 0.99},
        {"tau": 3},
        {"gamma": 1.01},
    ):
        assert not close(got, by_hand(p, replace(a, **change), fedcomgate, 0.1, 5)), change


def test_damping_of_the_error_memory() -> None:
    """Another alpha changes the first tracking vectors by its factor, and nothing else in the first round."""
    p = PROBLEMS["noisy quadratic"]
    plain = SparseFedCOMGATE(2, ETAS, compressor=TopK(1), form="corrected")
    (x, (one,)), (y, (other,)) = (remembered(p, a, 1) for a in (plain, replace(plain, damping=0.3)))
    np.testing.assert_array_equal(x, y)
    np.testing.assert_allclose(other["delta"] * damping_of_memory(TopK(1), p.d), one["delta"] * 0.3, rtol=1e-12)


class Useless(TopK):
    def contraction(self, d: int) -> Any:
        return replace(super().contraction(d), value=1.0)


def test_share_of_a_message() -> None:
    for Q, share in ((TopK(1), 0.25), (TopK(4), 1), (RandK(3), 0.75), (Identity(), 1), (Bernoulli(0.4), 0.4)):
        assert damping_of_memory(Q, 4) == pytest.approx(share)
    with pytest.raises(ValueError, match=r"Useless\(k=1\): expected .* with c < 1"):
        damping_of_memory(Useless(1), 4)


# ------------------------------------------------------------------------------------------ finite sums


def test_vr_diana_estimator() -> None:
    """One client with n samples: the reference moves in about 1 of n rounds, to the model of that round."""
    p = Logistic(BINARY, Partition((np.arange(30),), "one client"), 0.1)
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


# ------------------------------------------------------------------------------------------------ bookkeeping


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
