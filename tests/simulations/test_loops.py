"""Compiled loops: the bits of numpy, but for the sums of products; which runs use them."""

import json
import sys
from typing import Any

import numpy as np
import pytest
import xarray as xr

from fedtheory.simulations import draws, engine, loops, run
from fedtheory.simulations.algorithms.base import LocalSteps
from fedtheory.simulations.algorithms.baselines import FedProx
from fedtheory.simulations.algorithms.fedcom import FedCOMGATE
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.compressors.masks import RandK
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.problems.quadratic import Quadratic, generate

ROUNDING = 1e-12
SEEDS, ETAS = range(7), (0.02, 0.1)
PLAIN = generate(5, 4, L=1.0, mu=0.1, zeta_star=1.0, delta=0.2, sigma=0.3)
WIDE = generate(8, 3, L=1.0, mu=0.1, zeta_star=1.0, delta=0.2, sigma=0.3)
LINE = generate(1, 4, L=1.0, mu=0.6, zeta_star=1.0, delta=0.2, sigma=0.3)


def both(monkeypatch: pytest.MonkeyPatch, problem: Any, algorithm: LocalSteps, **asked: Any) -> list[xr.Dataset]:
    """The run by numpy, and with the loops."""
    found = []
    for least in (float("inf"), 0.0):
        monkeypatch.setattr(engine, "_WORTH_LOADING", least)
        found.append(run(problem, algorithm, **({"rounds": 12, "seeds": SEEDS, "record": ("dist2", "gap")} | asked)))
    assert ["numba" in json.loads(data.attrs["versions"]) for data in found] == [False, True]
    return found


CLIENTS = [
    np.arange(3),
    np.array([[0, 2]]),
    np.array([[0, 1], [2, 1], [1, 0]]),
    np.array([[0, 1], [2, 1], [1, 0]], order="F"),
    np.broadcast_to(np.array([[2, 0]]), (3, 2)),  # an order that all seeds share, replayed
]


@pytest.mark.parametrize("clients", CLIENTS)
@pytest.mark.parametrize("d", [1, 4, 7])
@pytest.mark.parametrize("steps", [1, 6, 9000])
def test_the_numbers_are_those_of_numpy(clients: np.ndarray, d: int, steps: int) -> None:
    numpy_s = Draws.of_seeds(np.array([0, 5, 2**40]), 3)
    ours = Draws(numpy_s.keys, 3, loops=loops)
    one, two = (each.of(clients, steps) for each in (numpy_s, ours))
    np.testing.assert_array_equal(one.keys, two.keys)
    for k in {0, steps // 2, steps - 1}:
        np.testing.assert_array_equal(one.step(k).normal(d), two.step(k).normal(d))
        np.testing.assert_array_equal(one.step(k).uniform(d), two.step(k).uniform(d))
    assert two.step(0).loops is loops and one.step(0).loops is None


def test_all_normal_numbers_are_those_of_numpy() -> None:
    words = np.concatenate(
        [np.array([0, 2**64 - 1, 2**40, 2**40 - 1], np.uint64), draws._words(np.ones(1, np.uint64), 10**6)[0]]
    )
    np.testing.assert_array_equal(draws._normal(words), draws._normal(words, loops))


@pytest.mark.parametrize("problem", [PLAIN, WIDE, LINE])
@pytest.mark.parametrize("eta", [0.05, ETAS])
def test_the_same_clients_in_every_run_give_the_same_bits(monkeypatch, problem, eta) -> None:
    for algorithm in (PFL(3, eta), FedProx(3, eta, prox=0.1)):
        one, two = both(monkeypatch, problem, algorithm)
        xr.testing.assert_equal(one, two)


@pytest.mark.parametrize("problem", [PLAIN, WIDE, LINE])
@pytest.mark.parametrize("eta", [0.05, ETAS])
def test_other_clients_give_the_same_numbers_up_to_rounding(monkeypatch, problem, eta) -> None:
    for algorithm in (SFL(3, eta), SFL(3, eta, S=2), PFL(3, eta, S=2)):
        for seeds in (SEEDS, [3]):
            one, two = both(monkeypatch, problem, algorithm, seeds=seeds)
            xr.testing.assert_allclose(one, two, rtol=ROUNDING, atol=0)


def test_a_long_run_keeps_to_the_rounding(monkeypatch) -> None:
    one, two = both(monkeypatch, WIDE, SFL(10, 0.02), rounds=2000, seeds=range(3))
    xr.testing.assert_allclose(one, two, rtol=ROUNDING, atol=0)


def test_orders_of_another_run(monkeypatch) -> None:
    orders = np.array([[2, 0], [1, 2], [0, 1]])  # shared by all seeds
    for algorithm in (SFL(3, 0.05, S=2), PFL(3, 0.05, S=2)):
        one, two = both(monkeypatch, WIDE, algorithm, rounds=3, orders=orders)
        xr.testing.assert_allclose(one, two, rtol=ROUNDING, atol=0)


def test_compressed_runs_give_the_same_bits(monkeypatch) -> None:
    xr.testing.assert_equal(*both(monkeypatch, WIDE, FedCOMGATE(2, 0.05, compressor=RandK(2))))


def test_runs_diverge_alike(monkeypatch) -> None:
    one, two = both(monkeypatch, WIDE, SFL(3, (0.05, 60.0)), rounds=60)
    assert (two.status.sel(step_size=60.0) == "diverged").all()
    np.testing.assert_array_equal(one.diverged_at, two.diverged_at)


def test_which_runs_use_them(monkeypatch) -> None:
    asked = {"seeds": range(10), "record": ("dist2",), "at": [0]}

    def uses(rounds: int, problem: Quadratic = WIDE) -> bool:
        return engine.RunState(problem, SFL(10, 0.05), rounds=rounds, **asked)._loops is loops

    coordinates = 10 * 10 * 3 * 8  # seeds, steps, clients, d
    least = int(engine._WORTH_LOADING / coordinates) + 1
    assert uses(least) and not uses(least - 1) and not uses(least, Quadratic(WIDE.H, WIDE.b))
    monkeypatch.setattr(engine, "find_spec", lambda name: None)  # not installed
    assert not uses(least)


def test_where_no_folder_can_be_written_to(monkeypatch) -> None:
    real, asked = loops.njit, []

    def njit(*given: Any, cache: bool = False, **options: Any) -> Any:
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(*given, **options)

    monkeypatch.setattr(loops, "njit", njit)
    double = loops._compiled("f8(f8)")(lambda x: 2 * x)
    assert double(1.5) == 3 and asked == [True, False]


def test_the_loops_are_compiled() -> None:
    assert all(
        getattr(loops, name).signatures for name in ("mix", "words", "halves", "polar", "add_noise", "gradients")
    )
    assert "numba" in sys.modules
