"""Settings of the server: damped momentum and its step size, control variates at the server's model, unbiased sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedtheory.simulations import expectation, has_expectation, run
from fedtheory.simulations.algorithms.fedbcgd import FedAvgM
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD, FedPAQ
from fedtheory.simulations.problems.quadratic import Quadratic, generate
from tests.simulations.spy import Spy

PROBLEM = generate(3, 4, L=1.0, mu=0.2, zeta_star=1.0, delta=0.3, seed=1)
H, B = PROBLEM.H, PROBLEM.b


def gradient(m: int, y: np.ndarray) -> np.ndarray:
    return np.asarray(H[m] @ y + B[m])


def last(algorithm: Any, rounds: int, problem: Any = PROBLEM, **more: Any) -> np.ndarray:
    spy = Spy(problem)
    run(spy, algorithm, rounds=rounds, x0=1.0, record=("value",), at=[0, rounds], **{"seeds": (0,), **more})
    return np.asarray(spy.iterates[-1][0])


def test_damped_momentum_and_the_step_size_of_the_server() -> None:
    eta, T, lam, dampening, server = 0.1, 3, 0.8, 0.7, 1.5
    x, v = np.ones(3), np.zeros(3)
    for _ in range(6):
        ends = []
        for m in range(4):
            y = x
            for _ in range(T):
                y = y - eta * gradient(m, y)
            ends.append(y)
        v = lam * v + (1 - dampening) * (np.mean(ends, axis=0) - x)
        x = x + server * v
    method = FedAvgM(T, eta, lam=lam, dampening=dampening, eta_server=server)
    assert np.allclose(last(method, 6)[0], x, rtol=1e-12)
    for wrong in ({"dampening": 1.0}, {"dampening": -0.1}, {"eta_server": 0.0}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} = .*: expected a"):
            FedAvgM(T, eta, **wrong)


@pytest.mark.parametrize("option", ["I", "II"])
@pytest.mark.parametrize("start", ["zero", "gradient"])
def test_scaffold_by_its_option_and_its_start(option: Any, start: Any) -> None:
    eta, tau = 0.1, 3
    x = np.ones(3)
    each = [gradient(m, x) if start == "gradient" else np.zeros(3) for m in range(4)]
    for _ in range(5):
        c, ends = np.mean(each, axis=0), []
        for m in range(4):
            y = x
            for _ in range(tau):
                y = y - eta * (gradient(m, y) - each[m] + c)
            ends.append(y)
        each = [
            gradient(m, x) if option == "I" else each[m] - c + (x - ends[m]) / (tau * eta) for m in range(4)
        ]  # fmt: skip
        x = np.mean(ends, axis=0)
    method = SCAFFOLD(tau, eta, option=option, start=start)
    assert np.allclose(last(method, 5)[0], x, rtol=1e-12)
    assert has_expectation(PROBLEM, method, 5)
    found = expectation(PROBLEM, method, rounds=5, x0=1.0, record=("gap",)).gap.values[0, -1]
    assert found == pytest.approx(float(PROBLEM.value(x) - PROBLEM.constants["F_star"]), rel=1e-9)


def test_option_and_start_are_words() -> None:
    with pytest.raises(ValueError, match="option = 'III': expected one of 'I', 'II'"):
        SCAFFOLD(2, 0.1, option="III")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="start = 'warm': expected one of 'zero', 'gradient'"):
        SCAFFOLD(2, 0.1, start="warm")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scheme = 'III': expected one of 'shares', 'I', 'II'"):
        FedPAQ(2, 0.1, scheme="III")  # type: ignore[arg-type]


def test_only_the_unbiased_schemes_have_the_mean_of_all_clients() -> None:
    weights = np.array([0.7, 0.1, 0.1, 0.1])
    problem = Quadratic(H, B, 0.0, "weighted", weights)
    whole = last(FedPAQ(2, 0.1), 1, problem)[0]
    many: dict[str, Any] = {"seeds": range(4000)}
    for S in (1, 2):
        far = {s: last(FedPAQ(2, 0.1, S=S, scheme=s), 1, problem, **many) for s in ("shares", "I", "II")}  # type: ignore[arg-type]
        error = {s: float(np.abs(x.mean(0) - whole).max()) for s, x in far.items()}
        noise = {s: float((x.std(0) / np.sqrt(len(x))).max()) for s, x in far.items()}
        assert error["I"] < 5 * noise["I"] and error["II"] < 5 * noise["II"] and error["shares"] > 10 * noise["shares"]


def test_a_client_that_is_drawn_twice_counts_twice() -> None:
    problem = Quadratic(H, B, 0.0, "one has all", np.array([1 - 3e-12, 1e-12, 1e-12, 1e-12]))
    alone = np.ones(3)
    for _ in range(2):
        alone = alone - 0.1 * gradient(0, alone)
    assert np.allclose(last(FedPAQ(2, 0.1, S=3, scheme="I"), 1, problem, seeds=range(20)), alone, rtol=1e-9)
    assert not has_expectation(problem, FedPAQ(2, 0.1, S=3, scheme="I"), 1)
