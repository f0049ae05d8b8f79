"""FedBAT round by round by hand; its learning rates; who is active; its messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import floor
from typing import Any

import numpy as np
import pytest
from by_hand import ByHand, Layered, agree, trajectory
from spy import Spy

from fedtheory.simulations import NoSuchConstant, run
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.fedbat import SIGNS, VARIANTS, FedBAT
from fedtheory.simulations.binarisation import binarise, derivatives, error, pack, step_size, unpack
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems.quadratic import Quadratic, generate

LAYERS = {"a": slice(0, 2), "b": slice(2, 3), "c": slice(3, 6)}
QUADRATIC = generate(6, 4, L=1.0, mu=0.1, zeta_star=1.0, delta=0.3, seed=0)
PROBLEM: Any = Layered(replace(QUADRATIC, sigma=0.3), LAYERS)
WEIGHTED: Any = Layered(replace(PROBLEM.problem, weights=(0.1, 0.2, 0.3, 0.4)), LAYERS)
GAMMA: dict[Any, Any] = {None: np.inf, "theorem": 80.0, "printed": 79.0}  # L/mu = 10, and tau < 80 below


def fedbat(h: ByHand, a: FedBAT, w: np.ndarray) -> np.ndarray:
    """Lines 10 to 25; the derivatives are those of `test_binarisation`.  A client may have its own number of steps."""
    gamma: Any = GAMMA.get(a.gamma, a.gamma)
    layers = list(h.p.blocks.values())

    def of_layers(of: Callable[[np.ndarray], Any], v: np.ndarray) -> np.ndarray:
        return np.array([of(v[part]) for part in layers])

    def trained(k: int) -> np.ndarray:
        own = a.tau if getattr(h.p, "steps", None) is None else min(int(h.p.steps[k]), a.tau)
        warm_up = min(own, max(a.least, floor(a.phi * own)))
        coins = h.draws.codes(np.array([[k]])).local
        m, mhat, initial, exponent = np.zeros(h.d), np.zeros(h.d), np.zeros(len(layers)), np.zeros(len(layers))
        for s in range(a.tau + (a.sent == "all")):
            if s == warm_up:
                initial = of_layers(lambda v: np.abs(v).mean(), m)
            learned = step_size(initial, a.rho, exponent)
            alpha = learned if a.step_size == "learned" else of_layers(lambda v: np.abs(v).max(), m)
            spread, zeta = np.repeat(alpha, of_layers(len, m)), coins.step(s).uniform(h.d)[0, 0]
            aware = s >= warm_up
            mhat = binarise(m, spread, zeta) if aware else m
            if s >= own:
                continue
            rate = h.eta if gamma == np.inf else h.eta * gamma / (gamma + h.r * a.tau + s)
            g = h.g(k, w + mhat, s)
            by_m, by_alpha = derivatives(m, spread, zeta) if aware and a.step_size == "learned" else (1.0, 0.0 * m)
            exponent = exponent - rate * a.rho * alpha * of_layers(np.sum, g * by_alpha)
            m = m - rate * g * by_m
        return mhat

    S = h.clients(a.K)
    return w + h.weighted(S, {k: trained(k) for k in S})


@pytest.mark.parametrize(
    "algorithm",
    [
        *(FedBAT(tau, 0.02, K, phi, rho) for tau, K, phi, rho in product((2, 5), (None, 2), (0.5, 0.3), (0.0, 6.0))),
        FedBAT(1, 0.2),
        FedBAT(4, 0.02, 3, sent="printed"),
        *(FedBAT(tau, 0.02, 2, phi, least=1) for tau, phi in ((1, 0.0), (1, 0.5), (3, 0.0), (4, 0.5))),
        FedBAT(3, 0.02, None, 0.5, least=5),
        *(FedBAT(3, 0.02, K, least=1, active="all") for K in (2, 3, None)),
        FedBAT(3, 0.2, None, 0.0, step_size="max"),
        FedBAT(4, 0.2, 2, 0.5, step_size="max"),
        FedBAT(3, 0.25, None, 0.0, step_size="max", gamma=8.0),
        FedBAT(4, 0.025, 3, gamma=20.0),
        FedBAT(3, 0.25, 2, 0.0, step_size="max", gamma="theorem"),
        FedBAT(3, 0.25, 2, 0.0, step_size="max", gamma="printed"),
    ],
    ids=str,
)
@pytest.mark.parametrize("problem", [PROBLEM, WEIGHTED], ids=["alike", "weighted"])
def test_rounds_by_hand(algorithm: FedBAT, problem: Any) -> None:
    agree(problem, algorithm, fedbat, 1e-12)


def test_learning_rates() -> None:
    """eta at first; with gamma eta gamma/(gamma + t), by the theorems max(8 L/mu, tau), as they print it less 1."""
    eta = np.array([[[0.3]], [[0.6]]])
    L, mu = PROBLEM.constants["L"], PROBLEM.constants["mu"]
    for tau, most in ((4, 8 * L / mu), (200, 200.0)):
        for gamma, expected in ((7.0, 7.0), ("theorem", most), ("printed", most - 1)):
            algorithm = FedBAT(tau, eta.ravel().tolist(), gamma=gamma)
            np.testing.assert_array_equal(algorithm.rates(PROBLEM, eta, 0), eta)
            for t in (1, 50):
                found = algorithm.rates(PROBLEM, eta, t)
                np.testing.assert_allclose(found, eta * expected / (expected + t), rtol=1e-14)
        assert FedBAT(tau, 0.3).rates(PROBLEM, eta, 50) is eta
    flat = Quadratic(np.diag([1.0, 0.0])[None], np.zeros((1, 2)))
    with pytest.raises(NoSuchConstant, match="mu does not exist"):
        run(flat, FedBAT(2, 0.1, gamma="theorem"), rounds=1)


def test_symbols() -> None:
    """q of the operator with the largest size layer by layer, attained; p_sq, the sum of the squares of the shares."""
    analysed = FedBAT(4, 0.2, K=2, phi=0.0, step_size="max")
    found = analysed.symbols(WEIGHTED)
    assert found == {"N": 4.0, "K": 2.0, "tau": 4.0, "p_sq": pytest.approx(0.3), "q": pytest.approx(np.sqrt(2))}
    assert analysed.symbols(PROBLEM)["p_sq"] == 0.25
    assert "q" not in FedBAT(4, 0.2).symbols(PROBLEM)

    def ratio(m: np.ndarray) -> float:
        whole = sum(float(error(m[part], np.abs(m[part]).max())) for part in LAYERS.values())
        return whole / float((m**2).sum())

    worst = [ratio(m) for m in np.random.default_rng(0).standard_normal((200, 6))]
    assert max(worst) < found["q"] ** 2 == pytest.approx(ratio(np.eye(6)[4]))


@pytest.mark.parametrize("K", [1, 3, 4])
def test_all_active_is_the_same_model(K: int) -> None:
    """Appendix D.1: all clients train, those sampled are used; bit for bit."""
    for settings in ({"phi": 0.5}, {"phi": 0.0, "step_size": "max"}):
        spies: list[Any] = [Spy(WEIGHTED), Spy(WEIGHTED)]
        sampled, every = (
            trajectory(spy, FedBAT(3, [0.02, 0.05], K, active=active, **settings), 3, [5])  # type: ignore[arg-type]
            for spy, active in zip(spies, ("sampled", "all"), strict=True)
        )
        np.testing.assert_array_equal(sampled, every)
        assert [sum(x.shape[2] for x, _ in spy.gradients) for spy in spies] == [9 * K, 9 * 4]


def test_what_is_sent_is_a_bit_an_entry_and_a_number_a_layer() -> None:
    algorithm = FedBAT(4, 0.2, K=1)
    w = np.ones((1, 1, 6))
    new = algorithm.round(PROBLEM, w, np.full((1, 1, 1), 0.2), Draws.of_seeds(np.array([3]), 0), lambda *_: None, {})
    sent = np.float32((new - w)[0, 0])
    for part in LAYERS.values():
        sent[part] = np.sign(sent[part]) * np.abs(sent[part]).mean()  # w + mhat - w has rounded
    np.testing.assert_array_equal(unpack(pack(sent, LAYERS), LAYERS), sent)
    assert algorithm.uplink_bits(PROBLEM) == 3 * 32 + 6 and algorithm.downlink_bits(PROBLEM) == 6 * 32
    assert algorithm.symbols(PROBLEM) == {"N": 4.0, "K": 1.0, "tau": 4.0, "p_sq": 0.25}


def test_names_and_warm_up() -> None:
    assert set(VARIANTS) | set(SIGNS) <= set(registry())
    assert FedBAT(100, 0.1, phi=0.29).warm_up == 29
