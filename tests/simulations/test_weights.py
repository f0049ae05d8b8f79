"""Clients that count differently: F = sum p_k F_k and its constants, who aggregates by p'_k and who refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from by_hand import trajectory
from spy import small

from fedtheory.simulations import NoSuchConstant, expectation, has_expectation, run
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.base import aggregated
from fedtheory.simulations.algorithms.fedbcgd import FedAvgM, TopKFedAvg
from fedtheory.simulations.algorithms.fedcom import SCAFFOLD, FedPAQ
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.compressors import QSGD
from fedtheory.simulations.partitions import Partition
from fedtheory.simulations.problems import checked_weights, start_of_clients
from fedtheory.simulations.problems.logistic import Logistic, lightly_regularised
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
from fedtheory.simulations.problems.regularised import Regularised
from fedtheory.simulations.problems.sigmoid import SigmoidERM
from fedtheory.simulations.problems.two_part import TwoPart
from tests.fedtheory.test_systems import built

BINARY, DIGITS = small("breast_cancer", 60, 4, 2), small("digits", 60, 5, 3)


def rows(*ends: int) -> Partition:
    """Client after client takes the next rows, up to its end."""
    return Partition(tuple(np.arange(a, b) for a, b in zip((0, *ends), ends, strict=False)), f"up to {ends}")


QUADRATIC = generate(5, 4, L=1.0, mu=0.1, zeta_star=1.0, delta=0.3, sigma=0.5, seed=0)
UNEQUAL = (0.1, 0.2, 0.3, 0.4)
WEIGHTED = replace(QUADRATIC, weights=UNEQUAL)
PROBLEMS: dict[str, Callable[..., Any]] = {
    "quadratic": partial(Quadratic, QUADRATIC.H, QUADRATIC.b, 0.5),
    "logistic": partial(Logistic, BINARY, rows(8, 20, 40, 60), 0.1, 3),
    "softmax": partial(Logistic, DIGITS, rows(8, 20, 40, 60), 0.1),
    "sigmoid": partial(SigmoidERM, BINARY, rows(8, 20, 40, 60), 0.1, 3),
    "network": partial(TwoPart, BINARY, rows(8, 20, 40, 60), 2, 0.1, 3),
}
each = pytest.mark.parametrize("build", PROBLEMS.values(), ids=PROBLEMS)


def certified(problem: Any, x0: Any = 0.7) -> dict[str, Any]:
    """All constants, those of the start among them; None for those that there are not."""
    every = problem.constants.entries | start_of_clients(problem, x0).entries
    return {name: entry.value for name, entry in every.items()}


# ------------------------------------------------------------------------------------------------ alike


@each
def test_equal_weights_are_none_bit_by_bit(build: Callable[..., Any]) -> None:
    plain, equal = build(), build(weights=[0.25] * 4)
    assert plain.weights is None and equal.weights is None
    assert plain.name == equal.name and plain.provenance == equal.provenance and "weights" not in plain.provenance
    for (name, value), other in zip(certified(plain).items(), certified(equal).values(), strict=True):
        np.testing.assert_array_equal(value, other, err_msg=name)
    x = np.random.default_rng(0).standard_normal((3, plain.d))
    np.testing.assert_array_equal(plain.value(x), equal.value(x))
    np.testing.assert_array_equal(plain.full_gradient(x), equal.full_gradient(x))
    runs = [
        run(p, FedPAQ(2, 0.1, QSGD(3), S=3), rounds=3, seeds=range(3), x0=1.0, record=("value",))
        for p in (plain, equal)
    ]
    assert runs[0].identical(runs[1])


def test_aggregation_by_hand() -> None:
    problem = replace(QUADRATIC, weights=[0.1, 0.2, 0.3, 0.4])
    sent = np.arange(24.0).reshape(1, 2, 3, 4) ** 2
    clients = np.array([[3, 0, 1], [2, 1, 0]])
    for n, p in enumerate(((4 / 7, 1 / 7, 2 / 7), (3 / 6, 2 / 6, 1 / 6))):
        by_hand = sum(p[s] * sent[0, n, s] for s in range(3))
        np.testing.assert_allclose(aggregated(problem, clients, sent)[0, n], by_hand, rtol=1e-14)
    full = np.ones((1, 1, 4, 1)) * np.array([1.0, 10.0, 100.0, 1000.0])[:, None]
    assert aggregated(problem, np.arange(4)[None], full)[0, 0, 0] == pytest.approx(432.1, rel=1e-14)
    np.testing.assert_array_equal(aggregated(QUADRATIC, clients, sent), sent.mean(axis=2))


# ------------------------------------------------------------------------------------------------ constants


def random_quadratic(seed: int, M: int, d: int) -> Quadratic:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((M, d, d))
    return Quadratic(root @ root.swapaxes(1, 2) / d + 0.1 * np.eye(d), rng.standard_normal((M, d)), 0.3)


def twice(dataset: Any, partition: Partition, times: tuple[int, ...]) -> tuple[Any, Partition]:
    """Client k as so many clients with the same data."""
    chosen = [rows for rows, n in zip(partition.clients, times, strict=True) for _ in range(n)]
    every = np.concatenate(chosen)
    dealt = rows(*np.cumsum([len(rows) for rows in chosen]).tolist())
    return replace(dataset, features=dataset.features[every], labels=dataset.labels[every]), dealt


TIMES = (1, 2, 3)
BY_COPIES: dict[str, Callable[[], tuple[Any, Any]]] = {
    f"quadratic {seed}": (
        lambda seed=seed: (
            replace(p := random_quadratic(seed, 3, 2 + seed), weights=np.array(TIMES) / 6),
            Quadratic(np.repeat(p.H, TIMES, 0), np.repeat(p.b, TIMES, 0), 0.3),
        )
    )
    for seed in range(4)
} | {
    name: (
        lambda kind=kind, data=data, given=given: (
            kind(data, rows(8, 20, 60), *given, weights=np.array(TIMES) / 6),
            kind(*twice(data, rows(8, 20, 60), TIMES), *given),
        )
    )
    for name, kind, data, given in (
        ("logistic", Logistic, BINARY, (0.1, 3)),
        ("softmax", Logistic, DIGITS, (0.1,)),
        ("sigmoid", SigmoidERM, BINARY, (0.1, 3)),
        ("network", TwoPart, BINARY, (2, 0.1)),
    )
}


@pytest.mark.parametrize("both", BY_COPIES.values(), ids=BY_COPIES)
def test_weights_are_copies_of_clients(both: Callable[[], tuple[Any, Any]]) -> None:
    """p = (1, 2, 3)/6 and six clients that count alike, the first, twice the second, three times the third."""
    weighted, copies = both()
    assert weighted.M == 3 and copies.M == 6
    x = np.random.default_rng(1).standard_normal((5, weighted.d))
    np.testing.assert_allclose(weighted.value(x), copies.value(x), rtol=1e-12)
    np.testing.assert_allclose(weighted.full_gradient(x), copies.full_gradient(x), rtol=1e-11, atol=1e-13)
    for (name, value), other in zip(certified(weighted).items(), certified(copies).values(), strict=True):
        if other is None:
            assert value is None, name
        else:
            np.testing.assert_allclose(value, other, rtol=1e-7, atol=1e-12, err_msg=name)
    if isinstance(weighted, Quadratic):
        given = 1.5 * weighted.constants["beta"]
        assert weighted.heterogeneity(given)[1].value == pytest.approx(copies.heterogeneity(given)[1].value)


@pytest.mark.parametrize(("kind", "data"), [(Logistic, BINARY), (Logistic, DIGITS), (SigmoidERM, BINARY)])
def test_by_size_all_samples_count_alike(kind: type[Logistic], data: Any) -> None:
    p, alone = kind(data, rows(8, 20, 60), 0.1, weights="sizes"), kind(data, rows(60), 0.1)
    np.testing.assert_allclose(p.weights, [8 / 60, 12 / 60, 40 / 60])
    x = np.linspace(-1, 1, p.d)
    assert p.value(x) == pytest.approx(float(alone.value(x)), rel=1e-13)
    np.testing.assert_allclose(p.full_gradient(x), alone.full_gradient(x), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(p.hessian(x), alone.hessian(x), rtol=1e-10, atol=1e-13)
    plain = kind(data, rows(8, 20, 60), 0.1)
    assert abs(float(plain.value(x)) / float(p.value(x)) - 1) > 1e-3
    for name in ("L", "mu", "curvature", "sigma"):  # of every client by itself
        assert p.constants.entries[name] == plain.constants.entries[name]
    assert "weighted" in p.name and p.provenance["weights"] == p.weights.tolist()
    light = lightly_regularised(kind, data, rows(8, 20, 60), weights="sizes")
    np.testing.assert_array_equal(light.weights, p.weights)
    assert kind(data, rows(20, 40, 60), 0.1, weights="sizes").weights is None


def test_gamma() -> None:
    """F_star less the clients' minima, never below 0; of a loss whose minimum is not known an upper bound; not computed for
    the constants alone."""
    p = Logistic(BINARY, rows(8, 20, 60), 0.1, weights="sizes")
    assert p.constants["L"] and "client_minima" not in vars(p)
    own = [Logistic(*twice(BINARY, rows(8, 20, 60), tuple(np.eye(3, dtype=int)[k])), 0.1) for k in range(3)]
    least = [alone.constants["F_star"] for alone in own]
    assert start_of_clients(p, 0.0)["Gamma"] == pytest.approx(p.constants["F_star"] - p.weights @ least, rel=1e-9)
    assert start_of_clients(p, 5.0)["Gamma"] == start_of_clients(p, 0.0)["Gamma"] > 1e-3
    alike = Quadratic(np.repeat(QUADRATIC.H[:1], 3, 0), np.repeat(QUADRATIC.b[:1], 3, 0), weights=[0.2, 0.3, 0.5])
    assert 0 <= start_of_clients(alike, 0.0)["Gamma"] < 1e-12
    bumpy = SigmoidERM(BINARY, rows(8, 20, 60), 0.1, weights="sizes")
    found = start_of_clients(bumpy, 0.0)
    assert found["Gamma"] == pytest.approx(0.5) and "upper bound" in found.how("Gamma")
    falling = replace(from_functions([1.0, -0.25], [0.0, 0.0]), weights=[0.75, 0.25])
    with pytest.raises(NoSuchConstant, match="Gamma does not exist: F_m is unbounded below"):
        start_of_clients(falling, 1.0)["Gamma"]
    with pytest.raises(NoSuchConstant, match="Gamma does not exist: the clients' own functions are not known"):
        start_of_clients(PROBLEMS["network"](), 1.0)["Gamma"]


@each
@pytest.mark.parametrize(
    "weights",
    [
        [0.5, 0.6, 0.2, -0.3],
        [0.25, 0.25, 0.25, 0.2],
        [0.5, 0.25, 0.25],
        [0.5, 0.25, 0.25, 0.0],
        [0.5, 0.25, 0.25, np.nan],
        [np.inf, 0.25, 0.25, 0.25],
        [[0.25, 0.25, 0.25, 0.25]],
        0.25,
        "size",
        [[0.5], [0.25, 0.25]],
    ],
    ids=str,
)
def test_bad_weights(build: Callable[..., Any], weights: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^weights.* = .*(sum to .*)?: expected (M = 4 positive numbers that sum to 1|'sizes', or)"
    ):
        build(weights=weights)


def test_weights_in_single_precision() -> None:
    exact, coarse = np.array([0.2, 0.3, 0.5]), np.array([0.2, 0.3, 0.5], np.float32)
    found = checked_weights(coarse, 3)
    assert found is not None and abs(found.sum() - 1) < 1e-15
    np.testing.assert_allclose(found, exact, rtol=1e-7)
    with pytest.raises(ValueError, match=r"weights = .* sum to 1\.00000002: expected M = 3 positive"):
        checked_weights(exact * (1 + 2e-8), 3)
    with pytest.raises(ValueError, match=r"sum to 1\.000001"):
        checked_weights(np.array([0.2, 0.3, 0.500001], np.float32), 3)


def test_matrices_in_single_precision() -> None:
    H = np.array([[[1, 1 / 3], [np.nextafter(np.float32(1 / 3), np.float32(1)), 1]]], np.float32)
    exact = Quadratic(H, np.zeros((1, 2))).H
    assert (exact == exact.swapaxes(1, 2)).all() and np.abs(exact - H).max() < 1e-7
    for wrong in (H.astype(float), H + np.array([[0, 1e-5], [0, 0]], np.float32)):
        with pytest.raises(ValueError, match="H is not symmetric, entries differ by"):
            Quadratic(wrong, np.zeros((1, 2)))


# ------------------------------------------------------------------------------------------------ algorithms


WEIGH = {  # with all their variants
    *(
        "FedBAT",
        "EF-SignSGD",
        "SignSGD",
        "Noisy-SignSGD",
        "Stoc-SignSGD",
        "FedPAQ",
        "FedAvg",
        "ZeroFL",
        "BiFL",
        "BiFL-Full",
    ),
    *("FedProx", "FedNova", "Minibatch SGD", "SGD", "FedBCD"),
}


@pytest.mark.parametrize("name", sorted(registry()))
def test_who_weighs_and_who_refuses(name: str) -> None:
    problem = replace(QUADRATIC, weights=UNEQUAL)
    algorithm = built(registry()[name])
    if name.split(", ")[0] in WEIGH:
        one, other = (run(p, algorithm, rounds=2, x0=1.0, record=("value",)) for p in (problem, QUADRATIC))
        assert (one.status == "ran").all() and not np.allclose(one.value, other.value)
        return
    for weighed in (problem, Regularised(problem, 0.1)):
        with pytest.raises(ValueError, match=f"{type(algorithm).__name__} counts all clients alike"):
            run(weighed, algorithm, rounds=1)


@pytest.mark.parametrize("algorithm", [SFL(2, 0.1), PFL(2, 0.1), SCAFFOLD(2, 0.1), FedAvgM(2, 0.1)])
def test_the_exact_expectation_refuses(algorithm: Any) -> None:
    assert "gap" in expectation(QUADRATIC, algorithm, rounds=2)
    with pytest.raises(ValueError, match=r"expected no weights|counts all clients alike"):
        expectation(WEIGHTED, algorithm, rounds=2)
    with pytest.raises(ValueError, match="TopKFedAvg counts all clients alike"):
        run(WEIGHTED, TopKFedAvg(2, 0.1), rounds=1)


# ------------------------------------------------------------------------------------------------ sampling by weights


def test_only_the_unbiased_schemes_have_the_mean_of_all_clients() -> None:
    problem = replace(QUADRATIC, sigma=0.0, weights=(0.7, 0.1, 0.1, 0.1))
    whole = trajectory(problem, FedPAQ(2, 0.1), 1)[-1, 0, 0]
    for S, scheme in product((1, 2), ("shares", "I", "II")):
        x = trajectory(problem, FedPAQ(2, 0.1, S=S, scheme=scheme), 1, range(4000))[-1, 0]  # type: ignore[arg-type]
        error, noise = float(np.abs(x.mean(0) - whole).max()), float((x.std(0) / np.sqrt(len(x))).max())
        assert error > 10 * noise if scheme == "shares" else error < 5 * noise


def test_a_client_that_is_drawn_twice_counts_twice() -> None:
    problem = replace(QUADRATIC, sigma=0.0, weights=np.array([1 - 3e-12, 1e-12, 1e-12, 1e-12]))
    alone = replace(QUADRATIC, H=QUADRATIC.H[:1], b=QUADRATIC.b[:1], sigma=0.0)
    method = FedPAQ(2, 0.1, S=3, scheme="I")
    one, many = trajectory(alone, FedPAQ(2, 0.1), 1), trajectory(problem, method, 1, range(20))
    np.testing.assert_allclose(many, np.broadcast_to(one[:, :, :1], many.shape), rtol=1e-9)
    assert not has_expectation(problem, method, 1)
