"""FedProx and FedNova against loops over scalars, and where they are FedAvg."""

from typing import Any

import numpy as np
import pytest

from fedtheory.simulations import run
from fedtheory.simulations.algorithms.baselines import FedNova, FedProx
from fedtheory.simulations.engine import RunState
from fedtheory.simulations.problems.quadratic import Quadratic, generate

D, ETA = 3, 0.1
EQUAL = generate(d=D, M=4, L=2.0, mu=0.2, zeta_star=1.0, delta=0.5)
UNEQUAL = Quadratic(EQUAL.H, EQUAL.b, weights=np.array([0.1, 0.2, 0.3, 0.4]))


def gradient(problem: Quadratic, m: int, y: list[float]) -> list[float]:
    return [sum(problem.H[m, i, j] * y[j] for j in range(D)) + problem.b[m, i] for i in range(D)]


def last(problem: Quadratic, algorithm: Any, rounds: int, **given: Any) -> np.ndarray:
    """The last iterate of the first seed."""
    running = RunState(problem, algorithm, rounds=rounds, x0=1.0, record=("value",), **given)
    while running.advance():
        pass
    return running.x[0, 0]


def loop(problem: Quadratic, tau: list[int], momentum: float, prox: float, nova: bool, orders: list[list[int]]) -> Any:
    """FedNova by its printed a_m, or a plain weighted mean of the clients' models."""
    p = [1 / 4] * 4 if problem.weights is None else problem.weights.tolist()
    x = [1.0] * D
    for clients in orders:
        share = [p[m] / sum(p[n] for n in clients) for m in clients]
        models, sizes = [], []
        for m in clients:
            y, v = list(x), [0.0] * D
            for _ in range(tau[m]):
                g = gradient(problem, m, y)
                v = [momentum * v[i] + g[i] + prox * (y[i] - x[i]) for i in range(D)]
                y = [y[i] - ETA * v[i] for i in range(D)]
            models.append(y)
            if momentum:  # the paper's a = (1 - rho^tau, ..., 1 - rho) / (1 - rho)
                sizes.append(sum((1 - momentum**k) / (1 - momentum) for k in range(1, tau[m] + 1)))
            else:  # its a = ((1 - eta mu)^(tau - 1), ..., 1)
                sizes.append(sum((1 - ETA * prox) ** k for k in range(tau[m])))
        if nova:
            effective = sum(s * a for s, a in zip(share, sizes, strict=True))
            change = [
                sum(s * (x[i] - y[i]) / (ETA * a) for s, y, a in zip(share, models, sizes, strict=True))
                for i in range(D)
            ]
            x = [x[i] - ETA * effective * change[i] for i in range(D)]
        else:
            x = [sum(s * y[i] for s, y in zip(share, models, strict=True)) for i in range(D)]
    return x


ORDERS = [[3, 0], [1, 2], [0, 1], [2, 3]]
ALL = [[0, 1, 2, 3]] * 4
TAU = (2, 5, 1, 3)


@pytest.mark.parametrize("problem", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("orders", [ORDERS, ALL])
@pytest.mark.parametrize(("momentum", "prox"), [(0.0, 0.0), (0.6, 0.0), (0.0, 2.0)])
def test_fednova_against_a_loop(problem: Quadratic, orders: Any, momentum: float, prox: float) -> None:
    algorithm = FedNova(TAU, ETA, S=len(orders[0]), momentum=momentum, prox=prox)
    ours = last(problem, algorithm, 4, orders=np.array(orders))
    np.testing.assert_allclose(ours, loop(problem, list(TAU), momentum, prox, True, orders), rtol=1e-12)


@pytest.mark.parametrize("problem", [EQUAL, UNEQUAL])
def test_the_mean_of_models_and_another_factor(problem: Quadratic) -> None:
    plain = FedNova(TAU, ETA, normalises=False)
    np.testing.assert_allclose(last(problem, plain, 4), loop(problem, list(TAU), 0.0, 0.0, False, ALL), rtol=1e-12)
    known, other = FedNova(TAU, ETA).symbols(problem), FedNova(TAU, ETA, tau_eff=1.5)
    assert (known["tau_max"], known["tau_min"]) == (5, 1)
    moved = [last(problem, one, 1) - 1.0 for one in (FedNova(TAU, ETA), other)]
    np.testing.assert_allclose(moved[1] * known["tau_eff"], moved[0] * other.symbols(problem)["tau_eff"], rtol=1e-12)


@pytest.mark.parametrize("problem", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("orders", [ORDERS, ALL])
@pytest.mark.parametrize("prox", [0.0, 2.0])
def test_fedprox_against_a_loop(problem: Quadratic, orders: Any, prox: float) -> None:
    ours = last(problem, FedProx(3, ETA, S=len(orders[0]), prox=prox), 4, orders=np.array(orders))
    np.testing.assert_allclose(ours, loop(problem, [3] * 4, 0.0, prox, False, orders), rtol=1e-12)


def test_steps_are_counted_client_by_client() -> None:
    running = RunState(EQUAL, FedNova(TAU, [0.1, 0.2]), rounds=3, seeds=[0, 1, 2], record=("drift",))
    while running.advance():
        pass
    assert running.steps == 2 * 3 * 3 * sum(TAU)  # step sizes, seeds, rounds


def test_drift_is_that_of_active_clients() -> None:
    """A client that has stopped adds nothing: with one step each there is none, whatever the others' numbers."""
    found = run(EQUAL, FedNova((1, 1, 1, 2), ETA), rounds=1, x0=1.0, record=("drift",))
    first = np.array(gradient(EQUAL, 3, [1.0] * D))  # the last client moves by eta times this before its second step
    assert float(found.drift[0, 0, 0]) == pytest.approx(ETA**2 * float(first @ first) / 4)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: FedProx(2, 0.1, prox=-1), r"prox = -1: expected a finite number >= 0"),
        (lambda: FedNova((2, 0), 0.1), r"tau = 0: expected a whole number of local steps >= 1"),
        (lambda: FedNova(2.5, 0.1), r"tau = 2.5: expected a whole number"),  # type: ignore[arg-type]
        (lambda: FedNova(2, 0.1, tau_eff=0), r"tau_eff = 0: expected a finite number > 0"),
        (lambda: FedNova(2, 0.1, normalises=1), r"normalises = 1: expected"),  # type: ignore[arg-type]
        (lambda: FedNova(2, 0.1, momentum=1.0), r"momentum = 1.0: expected a number in \[0, 1\)"),
        (
            lambda: run(EQUAL, FedNova((2, 3), 0.1), rounds=1),
            r"tau = \(2, 3\): expected a number for each of the M = 4",
        ),
    ],
)
def test_bad_settings(build: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        build()
