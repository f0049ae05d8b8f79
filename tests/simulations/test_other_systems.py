"""SGD without local steps, other participation, variance reduction, FedDyn, Scaffnew: against loops over scalars.

Each loop is written from the paper's listing, with plain lists, exact gradients and one seed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fedtheory.simulations import expectation, has_expectation, run
from fedtheory.simulations.algorithms.base import FLOAT
from fedtheory.simulations.algorithms.baselines import FedDyn, Scaffnew
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

D, M, ETA, K = 3, 4, 0.05, 3
PLAIN = generate(d=D, M=M, L=2.0, mu=0.2, zeta_star=1.0, delta=0.5)
NOISY = generate(d=D, M=M, L=2.0, mu=0.2, zeta_star=1.0, delta=0.5, sigma=1.0)
WEIGHED = Quadratic(PLAIN.H, PLAIN.b, weights=np.array([0.1, 0.2, 0.3, 0.4]))
ORDERS = [[3, 0], [1, 2], [0, 1], [2, 3], [1, 3], [0, 2]]
ALL = [[0, 1, 2, 3]] * 6
Vector = list[float]


def g(m: int, y: Vector) -> Vector:
    return [sum(PLAIN.H[m, i, j] * y[j] for j in range(D)) + PLAIN.b[m, i] for i in range(D)]


def mean(vectors: list[Vector]) -> Vector:
    return [sum(v[i] for v in vectors) / len(vectors) for i in range(D)]


def plus(x: Vector, *more: tuple[float, Vector]) -> Vector:
    return [x[i] + sum(c * v[i] for c, v in more) for i in range(D)]


def steps(m: int, y: Vector, count: int, direction: Any) -> Vector:
    for _ in range(count):
        y = plus(y, (-ETA, direction(m, y)))
    return y


def fedavg(m: int, y: Vector) -> Vector:
    return steps(m, y, K, g)


def last(algorithm: Any, rounds: int = 6, problem: Quadratic = PLAIN, **given: Any) -> np.ndarray:
    running = RunState(problem, algorithm, rounds=rounds, x0=1.0, record=("value",), **given)
    while running.advance():
        pass
    return running.x[0, 0]


def agree(ours: np.ndarray, loop: Vector) -> None:
    np.testing.assert_allclose(ours, loop, rtol=1e-11, atol=1e-13)


# SGD without local steps


@pytest.mark.parametrize("orders", [ORDERS, ALL])
def test_minibatch_sgd_against_a_loop(orders: Any) -> None:
    x = [1.0] * D
    for clients in orders:
        x = plus(x, (-ETA, mean([g(m, x) for m in clients])))
    agree(last(MinibatchSGD(K, ETA, S=len(orders[0])), orders=np.array(orders)), x)


def test_a_minibatch_has_k_draws_of_each_client() -> None:
    """Its noise is the mean of the noise of K local steps that all start at the same point."""
    one = last(MinibatchSGD(K, ETA), 1, NOISY, seeds=[5])
    draws, x = Draws.of_seeds(np.array([5]), 0), np.ones((1, 1, M, D))
    clients = np.arange(M)[None]
    all_draws = [NOISY.gradient(x, clients, draws.of(clients, K).step(k)) for k in range(K)]
    np.testing.assert_allclose(one, 1 - ETA * np.mean(all_draws, axis=0)[0, 0].mean(0), rtol=1e-12)


@pytest.mark.parametrize(
    "algorithm",
    [MinibatchSGD(K, ETA), MinibatchSGD(K, ETA, S=2), SGDRR(ETA), CentralSGD(1, ETA), CentralSGD(3, ETA)],
    ids=["all", "sampled", "rr", "central", "central, K = 3"],
)
def test_the_mean_of_many_runs_is_the_exact_expectation(algorithm: Any) -> None:
    assert has_expectation(NOISY, algorithm, 5)
    exact = expectation(NOISY, algorithm, rounds=5, x0=1.0, record=("gap",)).gap[0, -1]
    found = run(NOISY, algorithm, rounds=5, seeds=range(4000), x0=1.0, record=("gap",)).gap[0, :, -1]
    assert abs(float(found.mean() - exact)) < 5 * float(found.std()) / 4000**0.5


def test_what_has_no_exact_expectation() -> None:
    assert not has_expectation(WEIGHED, SGDRR(ETA), 5)
    with pytest.raises(ValueError, match="drift, gap_average of SGD with K = 2: expected K = 1"):
        expectation(NOISY, CentralSGD(2, ETA), rounds=5, record=("gap", "gap_average", "drift"))


def test_rounds_of_central_sgd_are_every_kth_step() -> None:
    given = {"x0": 1.0, "record": ("gap", "dist2")}
    rounds = expectation(NOISY, CentralSGD(3, [ETA, 9.0]), rounds=400, at=[0, 2, 400], **given)
    steps = expectation(NOISY, CentralSGD(1, [ETA, 9.0]), rounds=1200, at=[0, 6, 1200], **given)
    np.testing.assert_array_equal(rounds.gap, steps.gap)
    assert rounds["round"].values.tolist() == [0, 2, 400]
    assert [rounds.diverged_at[i] for i in (0, 1)] == [-1, -(-int(steps.diverged_at[1]) // 3)]


def test_central_sgd_sends_nothing() -> None:
    assert CentralSGD(2, ETA).uplink_bits(PLAIN) == CentralSGD(2, ETA).downlink_bits(PLAIN) == 0


# Participation


def test_cycp_against_a_loop() -> None:
    x = [1.0] * D
    for r in range(6):
        x = mean([fedavg(m, x) for m in ([0, 1], [2, 3])[r % 2]])
    agree(last(CyCP(K, ETA, groups=2)), x)


def test_cycp_samples_within_the_group_whose_turn_it_is() -> None:
    within = [[0], [1], [1], [0]]  # places in the group
    x = [1.0] * D
    for r, (place,) in enumerate(within):
        x = fedavg(2 * (r % 2) + place, x)
    agree(last(CyCP(K, ETA, S=1, groups=2), 4, orders=np.array(within)), x)
    clients = CyCP(K, ETA, S=1, groups=2).clients(PLAIN, Draws.of_seeds(np.arange(200), 1))
    assert set(clients.ravel()) == {2, 3}


def test_amplified_fedavg_against_a_loop() -> None:
    x, rounds = [1.0] * D, 8
    start, u = x, [0.0] * D
    for r in range(rounds):
        change = plus(mean([fedavg(m, x) for m in ([0, 1], [2, 3])[r % 2]]), (-1, x))
        u, x = plus(u, (1, change)), plus(x, (1, change))
        if (r + 1) % 4 == 0:
            x = plus(start, (1.7, u))
            start, u = x, [0.0] * D
    agree(last(AmplifiedFedAvg(K, ETA, groups=2, amplification=1.7, period=4), rounds), x)


def test_rcp_takes_each_client_once_in_a_meta_epoch() -> None:
    algorithm = RCP(K, ETA, S=2)
    x = [1.0] * D
    for r in range(6):
        (order,) = Draws.of_seeds(np.array([0]), r - r % 2).order(M, M)
        x = mean([fedavg(int(m), x) for m in order[2 * (r % 2) : 2 * (r % 2) + 2]])
    agree(last(algorithm), x)
    agree(last(algorithm, orders=np.array(ORDERS)), last(PFL(K, ETA, S=2), orders=np.array(ORDERS)).tolist())


# Variance reduction


def test_ce_lsgd_against_a_loop() -> None:
    beta, x, before, v = 0.3, [1.0] * D, [1.0] * D, [0.0] * D
    for r, clients in enumerate(ORDERS):
        keep = 0.0 if r == 0 else 1 - beta
        v = plus(mean([plus(g(m, x), (-keep, g(m, before))) for m in clients]), (keep, v))
        w, u = x, v
        for _ in range(K):
            previous, w = w, plus(w, (-ETA, u))
            u = plus(u, (1, g(clients[0], w)), (-1, g(clients[0], previous)))
        before, x = x, w
    agree(last(CELSGD(K, ETA, S=2, beta=beta), orders=np.array(ORDERS)), x)


def test_bvr_l_sgd_against_a_loop() -> None:
    orders = [[2, 0, 1, 3], [0, 1, 2, 3], [3, 1, 0, 2], [1, 0, 2, 3], [2, 3, 1, 0], [3, 0, 1, 2]]
    x, before, v = [1.0] * D, [1.0] * D, [0.0] * D
    for r, (one, *_) in enumerate(orders):
        if r % 2 == 0:
            v = mean([g(m, x) for m in range(M)])
        else:
            v = plus(v, (1, mean([plus(g(m, x), (-1, g(m, before))) for m in range(M)])))
        w, u = x, v
        for _ in range(K):
            previous, w = w, plus(w, (-ETA, u))
            u = plus(u, (1, g(one, w)), (-1, g(one, previous)))
        before, x = x, w
    agree(last(BVRLSGD(K, ETA, stage=2), orders=np.array(orders)), x)


@pytest.mark.parametrize("orders", [ORDERS, ALL])
@pytest.mark.parametrize("momentum", [0.0, 0.6])
@pytest.mark.parametrize("kind", [Mime, MimeLite])
def test_mime_against_a_loop(kind: Any, momentum: float, orders: Any) -> None:
    x, m_ = [1.0] * D, [0.0] * D
    for clients in orders:
        c = mean([g(i, x) for i in clients])
        at, held = x, m_

        def direction(i: int, y: Vector, c: Vector = c, at: Vector = at, held: Vector = held) -> Vector:
            own = plus(g(i, y), (-1, g(i, at)), (1, c)) if kind is Mime else g(i, y)
            return plus([(1 - momentum) * one for one in own], (momentum, held))

        x = mean([steps(i, at, K, direction) for i in clients])
        m_ = plus([(1 - momentum) * one for one in c], (momentum, held))
    agree(last(kind(K, ETA, S=len(orders[0]), momentum=momentum), orders=np.array(orders)), x)


def test_stem_against_a_loop() -> None:
    a, x = 0.3, [1.0] * D
    d = mean([g(m, x) for m in range(M)])
    for _ in range(6):
        ends, directions = [], []
        for m in range(M):
            y, own = x, d
            for _ in range(K):
                previous, y = y, plus(y, (-ETA, own))
                own = plus(g(m, y), (1 - a, plus(own, (-1, g(m, previous)))))
            ends.append(y)
            directions.append(own)
        x, d = mean(ends), mean(directions)
    agree(last(STEM(K, ETA, a=a)), x)


def test_both_gradients_have_the_same_draw() -> None:
    """Additive noise cancels in every difference: only the first estimate has it."""
    for algorithm in (BVRLSGD(K, ETA, stage=100), Mime(K, ETA)):
        agree(last(algorithm, problem=NOISY, seeds=[3]), last(algorithm, seeds=[3]).tolist())


# FedDyn and Scaffnew


@pytest.mark.parametrize("orders", [ORDERS, ALL])
def test_feddyn_against_a_loop(orders: Any) -> None:
    alpha, x, h = 0.4, [1.0] * D, [0.0] * D
    own = [[0.0] * D for _ in range(M)]
    for clients in orders:
        ends, at = {}, x
        for m in clients:

            def direction(m: int, y: Vector, at: Vector = at) -> Vector:
                return plus(g(m, y), (-1, own[m]), (alpha, plus(y, (-1, at))))

            ends[m] = steps(m, at, K, direction)
            own[m] = plus(own[m], (-alpha, plus(ends[m], (-1, at))))
        h = plus(h, *((-alpha / M, plus(y, (-1, at))) for y in ends.values()))
        x = plus(mean(list(ends.values())), (-1 / alpha, h))
    agree(last(FedDyn(K, ETA, S=len(orders[0]), alpha=alpha), orders=np.array(orders)), x)


@pytest.mark.parametrize("p", [1.0, 0.4])
def test_scaffnew_against_a_loop_with_its_coins(p: float) -> None:
    """Step by step, with a coin after each: the rounds have the numbers of steps that the engine drew."""
    coins = [Draws.of_seeds(np.array([0]), r).of(np.full((1, 1), M), 1).step(0).uniform(1).item() for r in range(6)]
    x, h = [[1.0] * D for _ in range(M)], [[0.0] * D for _ in range(M)]
    for coin in coins:
        count = 1
        while p < 1 and 1 - coin <= (1 - p) ** count:  # P(more than `count` steps) = (1 - p)^count
            count += 1
        for step in range(1, count + 1):
            hat = [plus(x[m], (-ETA, plus(g(m, x[m]), (-1, h[m])))) for m in range(M)]
            x = [mean(hat)] * M if step == count else hat
            h = [plus(h[m], (p / ETA, plus(x[m], (-1, hat[m])))) for m in range(M)]
    agree(last(Scaffnew(p, ETA)), x[0])


# Masks, and features that parties hold


@pytest.mark.parametrize("reset", [1, 3])
@pytest.mark.parametrize("orders", [ORDERS, ALL])
def test_fedpm_against_a_loop_with_its_coins(orders: Any, reset: int) -> None:
    w, theta, ones, seen = [1.5] * D, [0.5] * D, [0.0] * D, 0

    def sigmoid(s: float) -> float:
        return 1 / (1 + math.exp(-s))

    for r, clients in enumerate(orders):
        coins = Draws.of_seeds(np.array([0]), r).coins(np.array([clients]), K + 1)
        if r % reset == 0:
            ones, seen = [0.0] * D, 0
        for place, m in enumerate(clients):
            s = [math.log(p / (1 - p)) for p in theta]
            for k in range(K):
                coin = coins.step(k).uniform(D)[0, place]
                slope = g(m, [w[i] if coin[i] < sigmoid(s[i]) else 0.0 for i in range(D)])
                s = [s[i] - ETA * slope[i] * w[i] * sigmoid(s[i]) * (1 - sigmoid(s[i])) for i in range(D)]
            coin = coins.step(K).uniform(D)[0, place]
            ones = [ones[i] + (coin[i] < sigmoid(s[i])) for i in range(D)]
            seen += 1
        theta = [min(max(one / seen, 0.01), 0.99) for one in ones]
    running = RunState(
        PLAIN,
        FedPM(K, ETA, S=len(orders[0]), reset=reset),
        rounds=6,
        x0=1.5,
        record=("value",),
        orders=np.array(orders),
    )
    while running.advance():
        pass
    agree(running.x[0, 0], [w[i] * theta[i] for i in range(D)])


@pytest.mark.parametrize("turns", ["parallel", "sequential"])
def test_fedbcd_against_a_loop(turns: Any) -> None:
    x, blocks = [1.0] * D, [[0, 1], [2]]
    for _ in range(6):
        new = list(x)
        for block in blocks:
            y = list(new if turns == "sequential" else x)
            for _ in range(K):
                slope = mean([g(m, y) for m in range(M)])
                y = [y[i] - ETA * slope[i] if i in block else y[i] for i in range(D)]
            for i in block:
                new[i] = y[i]
        x = new
    agree(last(FedBCD(K, ETA, N=2, turns=turns)), x)


def test_fedbcd_sends_predictions() -> None:
    assert FedBCD(K, ETA).uplink_bits(PLAIN) == FLOAT * D
    labels = np.tile([0, 1, 2], 8)
    data = Dataset("three classes", np.arange(48.0).reshape(24, 2) / 48, labels, 3, {})
    for batch, rows in ((None, 24), (2, M * 2)):
        problem = Logistic(data, iid(labels, M, 0), 0.1, batch=batch)
        assert FedBCD(K, ETA).uplink_bits(problem) == FedBCD(K, ETA).downlink_bits(problem) == FLOAT * rows * 3


# All of them


@pytest.mark.parametrize(
    ("algorithm", "up", "down"),
    [
        (MinibatchSGD(K, ETA), 1, 1),
        (SGDRR(ETA), 1, 1),
        (CyCP(K, ETA), 1, 1),
        (AmplifiedFedAvg(K, ETA), 1, 1),
        (RCP(K, ETA, S=2), 1, 1),
        (CELSGD(K, ETA, S=2), 1.5, 2.5),
        (BVRLSGD(K, ETA), 2, 2),
        (Mime(K, ETA, momentum=0.0), 2, 2),
        (Mime(K, ETA), 2, 3),
        (MimeLite(K, ETA, momentum=0.0), 1, 1),
        (MimeLite(K, ETA), 2, 2),
        (STEM(K, ETA), 2, 2),
        (FedPM(K, ETA), 1 / FLOAT, 1),
        (FedDyn(K, ETA), 1, 1),
        (Scaffnew(0.5, ETA), 1, 1),
    ],
)
def test_bits(algorithm: Any, up: float, down: float) -> None:
    assert algorithm.uplink_bits(PLAIN) == up * FLOAT * D
    assert algorithm.downlink_bits(PLAIN) == down * FLOAT * D


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: CentralSGD(0, 0.1), r"K = 0: expected a whole number of steps >= 1"),
        (lambda: CyCP(2, 0.1, groups=0), r"groups = 0: expected a whole number of groups"),
        (
            lambda: run(PLAIN, CyCP(2, 0.1, groups=3), rounds=1),
            r"groups = 3, .* M = 4 clients: expected a divisor of M",
        ),
        (lambda: run(PLAIN, CyCP(2, 0.1, S=3, groups=2), rounds=1), r"S = 3, but a group has 2 clients"),
        (lambda: AmplifiedFedAvg(2, 0.1, amplification=0.5), r"amplification = 0.5: expected a finite number >= 1"),
        (lambda: run(PLAIN, RCP(2, 0.1, S=3), rounds=1), r"S = 3, .* M = 4 clients: expected a divisor of M"),
        (lambda: CELSGD(2, 0.1, beta=0.0), r"beta = 0.0: expected a number in \(0, 1\]"),
        (lambda: BVRLSGD(2, 0.1, stage=0), r"stage = 0: expected a whole number of rounds >= 1"),
        (lambda: run(PLAIN, BVRLSGD(2, 0.1, S=2), rounds=1), r"S = 2, but in BVRLSGD all M = 4 clients take part"),
        (lambda: run(PLAIN, STEM(2, 0.1, S=2), rounds=1), r"S = 2, but in STEM all M = 4 clients take part"),
        (lambda: STEM(2, 0.1, a=2.0), r"a = 2.0: expected a number in \(0, 1\]"),
        (lambda: Mime(2, 0.1, momentum=1.0), r"momentum = 1.0: expected a number in \[0, 1\)"),
        (lambda: FedDyn(2, 0.1, alpha=0.0), r"alpha = 0.0: expected a finite number > 0"),
        (lambda: FedPM(2, 0.1, reset=0), r"reset = 0: expected a whole number of rounds >= 1"),
        (lambda: FedPM(2, 0.1, clamp=0.5), r"clamp = 0.5: expected"),
        (lambda: FedBCD(0, 0.1), r"Q = 0: expected a whole number of local steps >= 1"),
        (lambda: FedBCD(2, 0.1, turns="both"), r"turns = 'both'"),
        (lambda: run(PLAIN, FedBCD(2, 0.1, N=4), rounds=1), r"N = 4 blocks, d = 3"),
        (lambda: Scaffnew(0.0, 0.1), r"p = 0.0: expected a number in \(0, 1\]"),
        (lambda: run(WEIGHED, STEM(2, 0.1), rounds=1), r"STEM counts all clients alike"),
    ],
)
def test_bad_settings(build: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        build()
