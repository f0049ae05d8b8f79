"""Theorems beside a network: the right numbers in the right theorem, and what is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

from fedtheory.bounds import networks
from fedtheory.bounds.evaluation import evaluate
from fedtheory.bounds.tuning import tune
from fedtheory.simulations import run
from fedtheory.simulations.algorithms.sfl import PFL


@pytest.fixture(scope="module")
def beside() -> Iterator[Callable[[str], networks.Beside]]:
    """Five rounds of a method with seed 1, run once."""
    with pytest.MonkeyPatch.context() as short:
        short.setattr(networks, "ROUNDS", 5)
        short.setattr(networks, "_AT", (0, 5))
        short.setattr(networks, "_EVERY", 2)
        yield cache(lambda name: networks.beside(name, 1))


@pytest.mark.dear
@pytest.mark.parametrize("name", ["PFL", "SFL", "FedBCGD+", "FedBAT"])
def test_the_bound_has_the_largest_estimates(beside: Callable[[str], networks.Beside], name: str) -> None:
    found, net = beside(name), networks.network()
    L, sigma, zeta, G = (max(getattr(at, n) for at in found.at.values()) for n in ("L", "sigma", "zeta", "G"))
    first = found.at[0]
    A, M, K = first.value, 6, 5
    if name == "FedBAT":
        T = 5 * K
        assert found.eta == pytest.approx(1 / (L * T**0.5))
        q = (max(part.stop - part.start for part in net.blocks.values()) - 1) ** 0.5
        expected = evaluate("fedbat.thm3.corrected", G=G, K=M, N=M, L=L, T=T, f_gap=A, q=q, sigma=sigma, tau=K).value
    elif name == "FedBCGD+":
        tuned = tune("fedbcgd.thm2.nonconvex.corrected", F=A, K=3, M=M, N=2, R=5, alpha=1, gamma=0, beta=L,
                     lag_0=first.grads)  # fmt: skip
        expected = tuned.best.value
        assert found.eta == pytest.approx(tuned.step_size / K)
    else:
        number, moves = (1, M * K) if name == "SFL" else (2, K)
        more = {} if name == "SFL" else {"S": M}
        tuned = tune(f"sfl.thm{number}.nonconvex", A=A, K=K, L=L, M=M, R=5, beta=0, sigma=sigma, zeta=zeta, **more)
        expected = tuned.best.value
        assert found.eta == pytest.approx(tuned.step_size / moves)
    assert float(found.bound.value) == pytest.approx(float(expected))


def test_what_is_measured(beside: Callable[[str], networks.Beside]) -> None:
    """PFL: the smallest squared gradient norm of the measured rounds."""
    net, found = networks.network(), beside("PFL")
    data = run(net, PFL(5, 0.1), rounds=5, seeds=[1], x0=net.start(1), record=("grad_sq",), at=[0, 2, 4, 5])
    assert found.practised == pytest.approx(float(data.grad_sq.min()), rel=1e-9)
    assert found.at[0].grad_sq == pytest.approx(float(data.grad_sq.values.ravel()[0]), rel=1e-9)
    assert np.isfinite(found.admitted) and found.admitted != found.practised


def test_the_record_has_three_seeds_of_every_method_which_differ() -> None:
    numbers = networks.STUDY.numbers
    assert list(numbers) == list(networks.STUDY.points()) and len(numbers) == 3 * len(networks.METHODS)
    for name, own in networks.over_seeds(numbers).items():
        measured = own["gradient, practised step size"]
        assert measured == [numbers[f"{name}, seed {seed}"]["gradient, practised step size"][0] for seed in (0, 1, 2)]
        assert len(set(measured)) == len(set(own["bound"])) == 3
