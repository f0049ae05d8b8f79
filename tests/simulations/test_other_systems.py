"""SGD without local steps, other participation, variance reduction, FedProx, FedNova, FedDyn, Scaffnew, masks: by hand.

Each round is written from its paper's listing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from by_hand import ByHand, Round, agree, mean, trajectory
from spy import small
from test_fedcom_algorithms import fedpaq

from fedtheory.simulations import expectation, has_expectation, run
from fedtheory.simulations.algorithms.base import FLOAT
from fedtheory.simulations.algorithms.baselines import FedDyn, FedNova, FedProx, Scaffnew
from fedtheory.simulations.algorithms.fedbat import EFSignSGD
from fedtheory.simulations.algorithms.fedcom import FedPAQ
from fedtheory.simulations.algorithms.masks import FedPM
from fedtheory.simulations.algorithms.minibatch import SGDRR, CentralSGD, MinibatchSGD
from fedtheory.simulations.algorithms.participation import RCP, AmplifiedFedAvg, CyCP
from fedtheory.simulations.algorithms.reduced import BVRLSGD, CELSGD, STEM, Mime, MimeLite
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.simulations.algorithms.vertical import FedBCD
from fedtheory.simulations.data import Dataset
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.engine import RunState
from fedtheory.simulations.partitions import iid
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, generate

D, M, ETA, K = 3, 4, [0.05, 0.1], 3
PLAIN = generate(d=D, M=M, L=2.0, mu=0.2, zeta_star=1.0, delta=0.5)
NOISY = replace(PLAIN, sigma=1.0)
WEIGHED = Quadratic(PLAIN.H, PLAIN.b, weights=np.array([0.1, 0.2, 0.3, 0.4]))
CANCER = small("breast_cancer", 40, 3, 2)
BATCHES = Logistic(CANCER, iid(CANCER.labels, M, 0), 0.1, batch=2)
ORDERS = [[3, 0], [1, 2], [0, 1], [2, 3], [1, 3], [0, 2]]
ALL = [[0, 1, 2, 3]] * 6
SHUFFLED = [[2, 0, 1, 3], [0, 1, 2, 3], [3, 1, 0, 2], [1, 0, 2, 3], [2, 3, 1, 0], [3, 0, 1, 2]]
TAU = (2, 5, 1, 3)


def minibatch(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    return x - h.eta * mean(mean(h.g(m, x, k) for k in range(a.K)) for m in h.clients(a.S))


def cycp(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    """Groups of two take turns; the given orders are places in the group."""
    turn = h.r % 2
    group = [0, 1] if h.orders is None else h.orders[h.r]
    return mean(h.steps(2 * turn + place, x, a.K) for place in group)


def amplified(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    if h.r % a.period == 0:
        h.server["start"] = x
    x = cycp(h, a, x)
    start = h.server["start"]
    return start + a.amplification * (x - start) if (h.r + 1) % a.period == 0 else x


def rcp(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    """The order of the first round of a meta-epoch: each client once."""
    if h.r % 2 == 0:
        h.server["order"] = h.order()
    return mean(h.steps(m, x, a.K) for m in h.server["order"][2 * (h.r % 2) : 2 * (h.r % 2) + 2])


def ends_of(h: ByHand, one: int, w: np.ndarray, u: np.ndarray, steps: range) -> np.ndarray:
    """Steps along a direction that the differences of one client's gradients keep up to date."""
    for t in steps:
        before, w = w, w - h.eta * u
        u = u + h.g(one, w, t) - h.g(one, before, t)
    return w


def celsgd(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    S, keep, before = h.clients(a.S), 1 - a.beta if h.r else 0.0, h.server["x"]
    h.server["v"] = v = mean(h.g(m, x, 0) - keep * h.g(m, before, 0) for m in S) + keep * h.server["v"]
    h.server["x"] = x
    return ends_of(h, S[0], x, v, range(1, 1 + a.K))


def bvrlsgd(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    before = h.server["x"]
    if h.r % a.stage == 0:
        h.server["v"] = mean(h.g(m, x) for m in range(M))
    else:
        changes = [h.g(m, x, t) - h.g(m, before, t) for m in range(M) for t in range(a.K)]
        h.server["v"] = h.server["v"] + mean(changes)
    h.server["x"] = x
    return ends_of(h, h.clients()[0], x, h.server["v"], range(a.K, 2 * a.K))


def mime(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    S, held, beta = h.clients(a.S), h.server["m"], a.momentum
    c = mean(h.g(i, x) for i in S)

    def direction(i: int, y: np.ndarray, t: int) -> np.ndarray:
        own = h.g(i, y, t) - h.g(i, x, t) + c if type(a) is Mime else h.g(i, y, t)
        return (1 - beta) * own + beta * held

    h.server["m"] = (1 - beta) * c + beta * held
    return mean(h.steps(i, x, a.K, lambda y, t: direction(i, y, t)) for i in S)


def stem(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    ends, directions = [], []
    d = h.server["d"] if h.r else mean(h.g(m, x, a.K) for m in range(M))
    for m in range(M):
        y, own = x, d
        for t in range(a.K):
            before, y = y, y - h.eta * own
            own = h.g(m, y, t) + (1 - a.a) * (own - h.g(m, before, t))
        ends.append(y)
        directions.append(own)
    h.server["d"] = mean(directions)
    return mean(ends)


def fedprox(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    S = h.clients(a.S)
    return h.weighted(S, {m: h.steps(m, x, a.K, lambda y, t: h.g(m, y, t) + a.prox * (y - x)) for m in S})


def fednova(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    """By its printed a_m: its normalised changes, times their mean length; or a plain weighted mean of models."""
    S, changes, length = h.clients(a.S), {}, {}
    for m in S:
        y, v = x, np.zeros(D)
        for t in range(a.tau[m]):
            v = a.momentum * v + h.g(m, y, t) + a.prox * (y - x)
            y = y - h.eta * v
        changes[m] = x - y
        if a.momentum:  # the paper's a = (1 - rho^tau, ..., 1 - rho) / (1 - rho)
            length[m] = sum((1 - a.momentum**k) / (1 - a.momentum) for k in range(1, a.tau[m] + 1))
        else:  # its a = ((1 - eta mu)^(tau - 1), ..., 1)
            length[m] = sum((1 - h.eta * a.prox) ** k for k in range(a.tau[m]))
    if not a.normalises:
        return x - h.weighted(S, changes)
    effective = a.tau_eff or h.weighted(S, length)
    return x - effective * h.weighted(S, {m: changes[m] / length[m] for m in S})


def feddyn(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    S, own, ends = h.clients(a.S), h.client["own"], {}
    for m in S:
        ends[m] = h.steps(m, x, a.K, lambda y, t: h.g(m, y, t) - own[m] + a.alpha * (y - x))
        own[m] = own[m] - a.alpha * (ends[m] - x)
    h.server["h"] = h.server["h"] - a.alpha / M * sum(y - x for y in ends.values())
    return mean(ends.values()) - h.server["h"] / a.alpha


def scaffnew(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    """Step by step, with a coin after each: the round has the number of steps that the engine drew."""
    count, control, models = 1, h.client["h"], [x] * M
    while a.p < 1 and 1 - h.coin() <= (1 - a.p) ** count:  # P(more than `count` steps) = (1 - p)^count
        count += 1
    for step in range(1, count + 1):
        hat = [models[m] - h.eta * (h.g(m, models[m], step - 1) - control[m]) for m in range(M)]
        models = [mean(hat)] * M if step == count else hat
        control[:] = [control[m] + a.p / h.eta * (models[m] - hat[m]) for m in range(M)]
    return models[0]


def fedpm(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    def sigmoid(s: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-s))

    S, w, theta = h.clients(a.S), h.start, h.server["theta"] if h.r else np.full(D, 0.5)
    coins = h.draws.coins(np.array([S]), a.K + 1)
    if h.r % a.reset == 0:
        h.server["ones"], h.server["seen"] = np.zeros(D), 0
    for place, m in enumerate(S):
        s = np.log(theta / (1 - theta))
        for k in range(a.K):
            g = h.g(m, np.where(coins.step(k).uniform(D)[0, place] < sigmoid(s), w, 0.0), k)
            s = s - h.eta * g * w * sigmoid(s) * (1 - sigmoid(s))
        h.server["ones"] = h.server["ones"] + (coins.step(a.K).uniform(D)[0, place] < sigmoid(s))
        h.server["seen"] += 1
    h.server["theta"] = theta = np.clip(h.server["ones"] / h.server["seen"], 0.01, 0.99)
    return w * theta


def fedbcd(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    new = x.copy()
    for block in ([0, 1], [2]):
        y = (new if a.turns == "sequential" else x).copy()
        for _ in range(a.Q):
            slope = mean(h.g(m, y) for m in range(M))
            y[block] = y[block] - h.eta * slope[block]
        new[block] = y[block]
    return new


def efsign(h: ByHand, a: Any, x: np.ndarray) -> np.ndarray:
    S, memory, sent = h.clients(a.S), h.client["e"], {}
    for m in S:
        update = h.steps(m, x, a.T) - x + memory[m]
        sent[m] = np.abs(update).mean() * np.where(update >= 0, 1.0, -1.0)
        memory[m] = update - sent[m]
    return x + h.weighted(S, sent)


CASES: list[tuple[Any, Round, Any, Any]] = [  # algorithm, round, problem, orders
    (MinibatchSGD(K, ETA), minibatch, NOISY, None),
    (MinibatchSGD(K, ETA, S=2), minibatch, NOISY, ORDERS),
    (CyCP(K, ETA, groups=2), cycp, NOISY, None),
    (CyCP(K, ETA, S=1, groups=2), cycp, NOISY, [[0], [1], [1], [0]]),
    (AmplifiedFedAvg(K, ETA, groups=2, amplification=1.7, period=2), amplified, NOISY, None),
    (RCP(K, ETA, S=2), rcp, NOISY, None),
    (CELSGD(K, ETA, S=2, beta=0.3), celsgd, BATCHES, ORDERS),
    (BVRLSGD(K, ETA, stage=2), bvrlsgd, BATCHES, SHUFFLED),
    *(
        (kind(K, ETA, S=len(orders[0]), momentum=momentum), mime, BATCHES, orders)
        for kind in (Mime, MimeLite)
        for momentum in (0.0, 0.6)
        for orders in (ORDERS, ALL)
    ),
    (STEM(K, ETA, a=0.3), stem, BATCHES, None),
    *(
        (algorithm, round_, problem, orders)
        for problem in (NOISY, WEIGHED)
        for orders in (ORDERS, ALL)
        for S in (len(orders[0]),)
        for algorithm, round_ in (
            *((FedProx(K, ETA, S=S, prox=prox), fedprox) for prox in (0.0, 2.0)),
            (FedNova(TAU, ETA, S=S), fednova),
            (FedNova(TAU, ETA, S=S, momentum=0.6), fednova),
            (FedNova(TAU, ETA, S=S, prox=2.0), fednova),
            (FedNova(TAU, ETA, S=S, normalises=False), fednova),
            (FedNova(TAU, ETA, S=S, tau_eff=1.5), fednova),
            (FedPAQ(K, ETA, S=S), fedpaq),
            (EFSignSGD(K, ETA, S=S), efsign),
        )
    ),
    *((FedDyn(K, ETA, S=len(orders[0]), alpha=0.4), feddyn, NOISY, orders) for orders in (ORDERS, ALL)),
    (Scaffnew(1.0, ETA), scaffnew, PLAIN, None),
    (Scaffnew(0.4, ETA), scaffnew, PLAIN, None),
    *(
        (FedPM(K, ETA, S=len(orders[0]), reset=reset), fedpm, PLAIN, orders)
        for reset in (1, 3)
        for orders in (ORDERS, ALL)
    ),
    *((FedBCD(K, ETA, N=2, turns=turns), fedbcd, PLAIN, None) for turns in ("parallel", "sequential")),
]


@pytest.mark.parametrize(("algorithm", "round_", "problem", "orders"), CASES, ids=[str(a) for a, *_ in CASES])
def test_rounds_by_hand(algorithm: Any, round_: Round, problem: Any, orders: Any) -> None:
    agree(problem, algorithm, round_, orders=orders)


def test_cycp_samples_within_the_group_whose_turn_it_is() -> None:
    clients = CyCP(K, ETA, S=1, groups=2).clients(PLAIN, Draws.of_seeds(np.arange(200), 1))
    assert set(clients.ravel()) == {2, 3}


def test_rcp_with_the_orders_of_others_is_federated_averaging() -> None:
    mine, others = (trajectory(NOISY, a, 6, orders=np.array(ORDERS)) for a in (RCP(K, ETA, S=2), PFL(K, ETA, S=2)))
    np.testing.assert_allclose(mine, others, rtol=1e-11)


# Exact expectations


def test_what_has_no_exact_expectation() -> None:
    assert not has_expectation(WEIGHED, SGDRR(ETA), 5)
    with pytest.raises(ValueError, match="drift, gap_average of SGD with K = 2: expected K = 1"):
        expectation(NOISY, CentralSGD(2, ETA), rounds=5, record=("gap", "gap_average", "drift"))


def test_rounds_of_central_sgd_are_every_kth_step() -> None:
    given = {"x0": 1.0, "record": ("gap", "dist2")}
    rounds = expectation(NOISY, CentralSGD(3, [0.05, 9.0]), rounds=400, at=[0, 2, 400], **given)
    steps = expectation(NOISY, CentralSGD(1, [0.05, 9.0]), rounds=1200, at=[0, 6, 1200], **given)
    np.testing.assert_array_equal(rounds.gap, steps.gap)
    assert rounds["round"].values.tolist() == [0, 2, 400]
    assert [rounds.diverged_at[i] for i in (0, 1)] == [-1, -(-int(steps.diverged_at[1]) // 3)]


# What is counted


def test_fedbcd_sends_predictions() -> None:
    assert FedBCD(K, ETA).uplink_bits(PLAIN) == FLOAT * D
    labels = np.tile([0, 1, 2], 8)
    data = Dataset("three classes", np.arange(48.0).reshape(24, 2) / 48, labels, 3, "made here")
    for batch, rows in ((None, 24), (2, M * 2)):
        problem = Logistic(data, iid(labels, M, 0), 0.1, batch=batch)
        assert FedBCD(K, ETA).uplink_bits(problem) == FedBCD(K, ETA).downlink_bits(problem) == FLOAT * rows * 3


def test_steps_are_counted_client_by_client() -> None:
    running = RunState(PLAIN, FedNova(TAU, [0.1, 0.2]), rounds=3, seeds=[0, 1, 2], record=("drift",))
    while running.advance():
        pass
    assert running.steps == 2 * 3 * 3 * sum(TAU)  # step sizes, seeds, rounds


def test_drift_is_that_of_active_clients() -> None:
    """A client that has stopped adds nothing: with one step each there is none, whatever the others' numbers."""
    found = run(PLAIN, FedNova((1, 1, 1, 2), 0.1), rounds=1, x0=1.0, record=("drift",))
    first = PLAIN.H[3] @ np.ones(D) + PLAIN.b[3]  # the last client moves by eta times this before its second step
    assert float(found.drift[0, 0, 0]) == pytest.approx(0.1**2 * float(first @ first) / 4)
