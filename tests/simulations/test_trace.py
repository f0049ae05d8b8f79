"""Traces: a round over fractions is the round over floats, step by step; noise and orders are those that are given."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
import pytest

from fedtheory.simulations import run
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedPAQ
from fedtheory.simulations.algorithms.minibatch import MinibatchSGD
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.trace import PiecewiseQuadratic, RandomVector, trace
from fedtheory.simulations.problems.quadratic import Quadratic
from tests.fedtheory.test_systems import built

M, D = 3, 2
RNG = np.random.default_rng(0)
H = [[[2, 1], [1, 3]], [[1, 0], [0, 1]], [[3, -1], [-1, 1]]]
B = [[1, -2], [0, 1], [-1, 1]]
FLOATS = Quadratic(np.array(H, dtype=float), np.array(B, dtype=float))
X, ETA = [Fraction(3, 2), Fraction(-1)], Fraction(1, 8)


def constant(v: Any) -> RandomVector:
    values = np.array([[Fraction(int(n)) if isinstance(n, np.integer) else Fraction(n)] for n in v], dtype=object)
    return RandomVector(values, np.array([Fraction(1)], dtype=object))


def of(algorithm: Any, order: tuple[int, ...], noise: Any = lambda client, turn, k, at: constant([0] * D)) -> Any:
    functions = [PiecewiseQuadratic(np.array(H[m], dtype=object), constant(B[m])) for m in range(M)]
    return trace(algorithm, functions, constant(X), constant([0] * D), ETA, order, noise)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize(
    "algorithm",
    [
        SFL(2, 0.125),
        SFL(3, 0.125, S=2),
        PFL(2, 0.125),
        PFL(2, 0.125, S=2),
        FedCOM(2, 0.125, Fraction(3, 2)),  # type: ignore[arg-type]
        FedPAQ(3, 0.125, S=2),
        MinibatchSGD(2, 0.125, S=2),
    ],
    ids=str,
)
def test_a_round_over_fractions_is_the_round_over_floats(algorithm: Any, order: tuple[int, ...]) -> None:
    found = of(algorithm, order)
    assert all(isinstance(value, Fraction) for value in found.end.values.ravel())
    S = algorithm.participants(FLOATS)
    given: Any = {} if isinstance(algorithm, FedCOM) else {"orders": np.array([[order[:S]]])}
    floats = replace(algorithm, gamma=1.5) if isinstance(algorithm, FedCOM) else algorithm
    step = run(FLOATS, floats, rounds=1, x0=[float(v) for v in X], record=("value", "drift"), **given)
    end = found.end.values[:, 0].astype(float)
    assert float(FLOATS.value(end)) == pytest.approx(step.value.values[0, 0, 1], rel=1e-13)
    parallel = 1 if isinstance(algorithm, SFL) else S
    drift = sum(float(((s.x.values - found.x.values) ** 2).sum()) for s in found.steps) / parallel
    assert drift == pytest.approx(step.drift.values[0, 0, 0], rel=1e-13)


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
    "FedBAT", "SignSGD", "EF-SignSGD", "Noisy-SignSGD", "Stoc-SignSGD", "FedPAQ, 2 bits", "FedPAQ, 3 bits", "FedPAQ, 4 bits",
    "FedPAQ, 5 bits", "FedPAQ, 6 bits", "FedPAQ, 7 bits", "FedPAQ, 8 bits", "ZeroFL", "BiFL", "BiFL-Full", "FedAdam",
    "TopKFedAvg", "FedPM",
}  # fmt: skip
DRAW_ORDERS = {"SFL", "SGD-RR", "CE-LSGD", "BVR-L-SGD"}
OTHERS = {"VRDIANA", "Scaffnew", "SLocalGD", "SGD"}  # a finite sum; a coin, which is not given here


@pytest.mark.parametrize("name", sorted(registry()))
def test_three_rounds_of_every_algorithm_over_fractions_are_those_over_floats(name: str) -> None:
    """With memories, from round to round; an algorithm that looks at entries of vectors is refused with its line."""
    algorithm = built(registry()[name])
    clients, blocks = 4, name.startswith("FedBC")
    matrices, slopes = np.array([*H, H[0]], dtype=float), np.array([*B, B[1]], dtype=float)
    functions = [
        PiecewiseQuadratic(np.array([*H, H[0]][m], dtype=object), constant([*B, B[1]][m])) for m in range(clients)
    ]
    x, order = constant(X), (2, 0, 3, 1)

    def traced() -> Any:
        found, kept = x, None
        for r in range(3):
            eta = Fraction(algorithm.eta)
            one = trace(
                algorithm, functions, found, constant([0] * D), eta, order, lambda *_: constant([0] * D), kept, r,
                apart=blocks,
            )  # fmt: skip
            found, kept = one.end, one.memory
        return found.values[:, 0]

    if name.split(", ")[0] in LOOK_AT_ENTRIES or name in LOOK_AT_ENTRIES | OTHERS:
        with pytest.raises(ValueError, match=r" cannot be traced: .* \(\w+.py, line \d+: "):
            traced()
        return
    end = traced()
    assert all(isinstance(value, Rational) for value in end)
    S = algorithm.participants(Quadratic(matrices, slopes))
    given: Any = {"orders": np.array([[order[:S]] * 3])} if name in DRAW_ORDERS or blocks else {}
    found = run(Quadratic(matrices, slopes), algorithm, rounds=3, x0=[float(v) for v in X], record=("value",), **given)
    value = float(Quadratic(matrices, slopes).value(end.astype(float)))
    assert value == pytest.approx(found.value.values[0, 0, -1], rel=1e-12)
