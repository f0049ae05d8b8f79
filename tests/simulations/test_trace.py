"""Traces: a round over fractions is the round over floats, step by step; noise and orders are those that are given."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
import pytest
from spy import built
from test_every_algorithm import OWN, SETTINGS

from fedtheory.simulations import run
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.trace import PiecewiseQuadratic, RandomVector, trace
from fedtheory.simulations.problems.quadratic import Quadratic

M, D = 3, 2
H = [[[2, 1], [1, 3]], [[1, 0], [0, 1]], [[3, -1], [-1, 1]]]
B = [[1, -2], [0, 1], [-1, 1]]
X, ETA = [Fraction(3, 2), Fraction(-1)], Fraction(1, 8)


def constant(v: Any) -> RandomVector:
    values = np.array([[Fraction(int(n)) if isinstance(n, np.integer) else Fraction(n)] for n in v], dtype=object)
    return RandomVector(values, np.array([Fraction(1)], dtype=object))


def of(algorithm: Any, order: tuple[int, ...], noise: Any = lambda client, turn, k, at: constant([0] * D)) -> Any:
    functions = [PiecewiseQuadratic(np.array(H[m], dtype=object), constant(B[m])) for m in range(M)]
    return trace(algorithm, functions, constant(X), constant([0] * D), ETA, order, noise)


@pytest.mark.parametrize(("algorithm", "turns"), [(SFL(2, 0.1, S=2), 2), (PFL(3, 0.1), 3)], ids=str)
def test_the_steps_of_a_trace(algorithm: Any, turns: int) -> None:
    """Turn after turn; each point follows from the one before by the stochastic gradient, whose noise is the given one."""
    order = (2, 0, 1)
    found = of(algorithm, order, lambda client, turn, k, at: constant([Fraction(client + 1, turn), k]))
    assert [(s.turn, s.k, s.client) for s in found.steps] == [
        (turn, k, order[turn - 1]) for turn in range(1, turns + 1) for k in range(algorithm.K)
    ]
    for before, after in zip(found.steps, found.steps[1:], strict=False):
        moved = before.x - ETA * before.stochastic
        if after.turn == before.turn or isinstance(algorithm, SFL):
            assert (after.x.values == moved.values).all()
        else:
            assert (after.x.values == found.x.values).all()
    for s in found.steps:
        gradient = np.array(H[s.client], dtype=object) @ s.x.values + constant(B[s.client]).values
        assert (s.gradient.values == gradient).all()
        assert s.noise.values[:, 0].tolist() == [Fraction(s.client + 1, s.turn), s.k]


def test_products_of_random_vectors() -> None:
    """Weights are variances of noise, or chances of outcomes."""
    noisy = RandomVector(np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 1.0]]), np.array([1.0, 0.5, 0.5]))
    assert noisy.square == 1 + 9 + 0.5 * (4 + 1) and (noisy - noisy).square == 0
    assert (noisy * 2 @ (noisy / np.int64(4))) == noisy.square / 2 and (-noisy) @ noisy == -noisy.square


LOOK_AT_ENTRIES = {
    *("FedBAT", "SignSGD", "EF-SignSGD", "Noisy-SignSGD", "Stoc-SignSGD", "ZeroFL", "BiFL", "BiFL-Full"),
    *("FedAdam", "TopKFedAvg", "FedPM", *(f"FedPAQ, {b} bits" for b in range(2, 9))),
}
DRAW_ORDERS = {"SFL", "SGD-RR", "CE-LSGD", "BVR-L-SGD"}
TURNS = {"CyCP", "AmplifiedFedAvg", "RCP"}  # here with all clients
OTHERS = {"VRDIANA", "Scaffnew", "SLocalGD", "SGD"}  # a finite sum; a coin, which is not given here
LOCAL_STEPS = {"SFL": 1, "PFL": 2, "FedCOM": 4, "FedPAQ": 2, "Minibatch SGD": 2}  # clients that train in parallel


@pytest.mark.parametrize("name", sorted(registry()))
def test_three_rounds_of_every_algorithm_over_fractions_are_those_over_floats(name: str) -> None:
    """With memories, from round to round; an algorithm that looks at entries of vectors is refused with its line."""
    algorithm = built(name, **SETTINGS | ({} if name in TURNS else {"S": 2} | OWN.get(name, {})))
    matrices, slopes = [*H, H[0]], [*B, B[1]]
    functions = [
        PiecewiseQuadratic(np.array(own, dtype=object), constant(b)) for own, b in zip(matrices, slopes, strict=True)
    ]
    order, apart, kept = (2, 0, 3, 1), name.startswith("FedBC"), None
    drift: list[float] = []

    def traced() -> Any:
        nonlocal kept
        at = constant(X)
        for r in range(3):
            one = trace(algorithm, functions, at, constant([0] * D), Fraction(algorithm.eta), order,
                        lambda *_: constant([0] * D), kept, r, apart=apart)  # fmt: skip
            drift.append(sum(float(((s.x.values - at.values) ** 2).sum()) for s in one.steps))
            at, kept = one.end, one.memory
        return at.values[:, 0]

    if name.split(", ")[0] in LOOK_AT_ENTRIES or name in LOOK_AT_ENTRIES | OTHERS:
        with pytest.raises(ValueError, match=r" cannot be traced: .* \(\w+.py, line \d+: "):
            traced()
        return
    end = traced()
    assert all(isinstance(value, Rational) for value in end)
    problem = Quadratic(np.array(matrices, dtype=float), np.array(slopes, dtype=float))
    S = algorithm.participants(problem)
    replayed = name in DRAW_ORDERS or apart or (S < 4 and name not in TURNS)
    given: Any = {"orders": np.array([[order[:S]] * 3])} if replayed else {}
    found = run(problem, algorithm, rounds=3, x0=[float(v) for v in X], record=("value", "drift"), **given)
    assert float(problem.value(end.astype(float))) == pytest.approx(found.value.values[0, 0, -1], rel=1e-12)
    if name in LOCAL_STEPS:
        assert np.array(drift) / LOCAL_STEPS[name] == pytest.approx(found.drift.values[0, 0, :3], rel=1e-12)
