"""Exact expectations from the rounds themselves: against every order and mask, runs, closed forms, to the last digit."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, count, permutations, product
from typing import Any

import numpy as np
import pytest
import xarray as xr
from test_moments import unrelated

from fedtheory.simulations import NoSuchConstant, expectation, has_expectation, run
from fedtheory.simulations.algorithms.base import LocalSteps, participating
from fedtheory.simulations.algorithms.baselines import FedDyn, FedNova, FedProx, Scaffnew
from fedtheory.simulations.algorithms.fedbat import FedBAT
from fedtheory.simulations.algorithms.fedbcgd import FedAvgM, FedBCGD, FedBCGDPlus, FedDC, FedLin, SLocalGD
from fedtheory.simulations.algorithms.fedcom import DIANA, SCAFFOLD, FedCOM, FedCOMGATE, FedGATE, FedPAQ
from fedtheory.simulations.algorithms.minibatch import SGDRR, CentralSGD, MinibatchSGD
from fedtheory.simulations.algorithms.participation import RCP, AmplifiedFedAvg, CyCP
from fedtheory.simulations.algorithms.reduced import BVRLSGD, CELSGD, STEM, Mime, MimeLite
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.algorithms.vertical import FedBCD
from fedtheory.simulations.compressors import QSGD, Bernoulli, Identity, RandK, Sparsifier, TopK
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.engine import RECORDS
from fedtheory.simulations.exact import linear
from fedtheory.simulations.exact.linear import spectral_radius
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
from fedtheory.simulations.problems.regularised import Regularised

ALL = tuple(RECORDS)
ETA = [0.02, 0.05]


def diagonal(seed: int, d: int, M: int, sigma: float = 0.7) -> Quadratic:
    """Hessians that do not mix the coordinates."""
    rng = np.random.default_rng(seed)
    return Quadratic(rng.uniform(0.2, 2, (M, d, 1)) * np.eye(d), rng.standard_normal((M, d)), sigma)


def turned(d: int, M: int, sigma: float = 0.7) -> Quadratic:
    """Hessians that do not mix the coordinates of another basis."""
    return generate(d, M, L=2, mu=0.2, zeta_star=1, delta=0.5, sigma=sigma)


def label(case: Any) -> str:
    return case.name if isinstance(case, Quadratic) else str(case)


# --------------------------------------------------------------------------------- every order and mask, one by one


@dataclass(frozen=True)
class Listed:
    """A compressor that multiplies the message of each run, round and position by a given mask (N, rounds, S, d)."""

    masks: np.ndarray
    plain: Any
    calls: Any = field(default_factory=count)

    def __call__(self, x: Any, draw: Any) -> Any:
        return x * self.masks[:, next(self.calls)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


def enumerated(p: Quadratic, algorithm: Any, rounds: int, **settings: Any) -> dict[str, np.ndarray]:
    """The mean of the runs over every sequence of orders and masks, without noise: each run is one outcome."""
    S, d = algorithm.participants(p), p.d
    clients = p.M // algorithm.groups if isinstance(algorithm, CyCP) else p.M
    orders = list(permutations(range(clients), S))
    compressor = getattr(algorithm, "compressor", Identity())
    law = [(float(chance), [float(v) for v in out]) for chance, out in compressor.law([Fraction(1)] * d)]
    if compressor.shared:
        of_round = [(chance, order, [mask] * S) for order in orders for chance, mask in law]
    else:
        of_round = [
            (float(np.prod([chance for chance, _ in some])), order, [mask for _, mask in some])
            for order in orders
            for some in product(law, repeat=S)
        ]
    outcomes = list(product(of_round, repeat=rounds))
    chances = np.array([np.prod([chance for chance, *_ in one]) for one in outcomes])
    if not isinstance(compressor, Identity):
        masks = np.array([[mask for *_, mask in one] for one in outcomes])
        algorithm = replace(algorithm, compressor=Listed(masks, compressor))
    every = np.array([[order for _, order, _ in one] for one in outcomes])
    found = run(replace(p, sigma=0.0), algorithm, rounds=rounds, seeds=range(len(every)), orders=every, **settings)
    return {name: (found[name].values * chances[:, None]).sum(1) / chances.sum() for name in settings["record"]}


ENUMERATED = [
    SFL(2, ETA),
    SFL(2, ETA, S=2),
    PFL(2, ETA, S=2),
    MinibatchSGD(2, ETA, S=2),
    FedCOM(2, ETA, 0.7, RandK(1)),
    FedCOM(2, ETA, 0.7, Sparsifier(0.25, shared=True)),
    FedPAQ(2, ETA, RandK(1), S=2),
    FedPAQ(2, ETA, RandK(1, shared=True), S=1),
    FedCOMGATE(2, ETA, 0.7, RandK(1), damping=None),
    FedCOMGATE(2, ETA, 0.7, Bernoulli(0.5, shared=True), sign=-1),
    FedCOMGATE(2, ETA, 0.7, RandK(1), k=2 / 3),
    FedCOMGATE(2, ETA, 0.7, RandK(1), k=2 / 3, divisor="clients"),
    FedGATE(2, ETA, 1.2),
    SCAFFOLD(2, ETA, 0.9, S=2),
    SCAFFOLD(1, ETA, 0.9, S=1),
    SCAFFOLD(2, ETA, option="I", start="gradient"),
    DIANA(ETA, RandK(1)),
    DIANA(ETA, Sparsifier(0.5, shared=True), alpha=0.3),
    FedAvgM(2, ETA, S=2, lam=0.5),
    FedBCGD(2, ETA, 2, 1, lam=0.6, share=0, freeze=True),
    FedBCGD(2, ETA, 2, 1, lam=0.6, momentum="display"),
    FedBCGD(3, ETA, 1, 2, lam=0.6, share=1, momentum="printed", sent="printed"),
    FedBCGDPlus(2, ETA, 2, 1, lam=0.4),
    FedBCGDPlus(2, ETA, 2, 1, lam=0.4, kept="whole", variance="printed", server="printed", begin="gradients"),
    FedBCGDPlus(2, ETA, 1, 2, lam=0.4, control="printed", server="(71)", share=1, momentum="printed"),
    FedBCGDPlus(2, ETA, 2, 1, lam=0.4, momentum="display"),
    CELSGD(2, ETA, S=2),
    CyCP(2, ETA, groups=1, S=2),
    Mime(2, ETA, S=2),
    MimeLite(2, ETA, S=2, momentum=0.5),
    STEM(2, ETA, a=0.3),
    FedDyn(2, ETA, S=2, alpha=0.5),
    FedBCD(2, ETA, turns="sequential"),
    FedProx(2, ETA, S=2),
    FedNova((1, 2, 3), ETA, S=2, momentum=0.3),
    FedLin(2, ETA),
    FedDC(2, ETA, S=2, alpha=0.1),
]


@pytest.mark.parametrize("p", [unrelated(1, 2, 3), diagonal(0, 2, 3), turned(2, 3)], ids=["mixed", "parts", "turned"])
@pytest.mark.parametrize("algorithm", ENUMERATED, ids=str)
def test_the_mean_over_every_order_and_mask(p: Quadratic, algorithm: Any) -> None:
    settings: dict[str, Any] = {"x0": [1.0, -2.0], "record": ALL, "average": 0.8}
    expected = enumerated(p, algorithm, 2, **settings)
    found = linear.expectation(replace(p, sigma=0.0), algorithm, rounds=2, **settings)
    for name in ALL:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-10, atol=1e-13, err_msg=name)


def test_cohorts_take_turns() -> None:
    """The runs over every partition of four clients into two cohorts, for two cycles: a partition lasts for a cycle."""
    p = generate(d=2, M=4, L=2.0, mu=0.2, zeta_star=1.0, delta=0.5)
    turns = [[*first, *(m for m in range(4) if m not in first)] for first in combinations(range(4), 2)]
    orders = np.array([[one[:2], one[2:], two[:2], two[2:]] for one in turns for two in turns])
    settings: dict[str, Any] = {"rounds": 4, "x0": [1.0, -2.0], "record": ALL[:-1]}
    runs = run(p, RCP(2, [0.1, 0.4], S=2), seeds=range(len(orders)), orders=orders, **settings)
    found = expectation(p, RCP(2, [0.1, 0.4], S=2), **settings)
    for name in settings["record"]:
        np.testing.assert_allclose(found[name], runs[name].mean("seed"), rtol=1e-11, err_msg=name)


def test_no_minimiser() -> None:
    p = unrelated(5, 2, 3, shift=1.5)
    assert "x_star" not in p.constants
    for algorithm in (FedCOM(2, 0.2, 0.7, RandK(1)), DIANA(0.2), FedBCGDPlus(2, 0.2, 2, 1, begin="gradients")):
        names = ("grad_sq", "value", "drift")
        found = expectation(replace(p, sigma=0.0), algorithm, rounds=2, x0=1.0, record=names)
        expected = enumerated(p, algorithm, 2, x0=1.0, record=names)
        for name in names:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-11, atol=1e-13, err_msg=name)
        for name in ("gap", "gap_average", "dist2"):
            with pytest.raises(NoSuchConstant, match="unbounded below"):
                expectation(p, algorithm, rounds=2, record=(name,))


# ---------------------------------------------------------------------------------------------------- against runs

FOUR = generate(d=3, M=4, L=2.0, mu=0.2, zeta_star=1.0, delta=0.5, sigma=1.0, x_star=[1.0, 2.0, -1.0])
WEIGHED = Quadratic(FOUR.H, FOUR.b, 1.0, weights=np.array([0.1, 0.2, 0.3, 0.4]))
NO_MINIMISER = Quadratic(np.array([[[1.0, 0.0], [0.0, -0.5]]] * 2), np.array([[1.0, 0.5], [0.5, 1.0]]), 0.5)
RUNS = [
    *(a for a in ENUMERATED if isinstance(a, FedPAQ | FedCOMGATE | SCAFFOLD | DIANA | FedBCGD | FedBCGDPlus | STEM)),
    MinibatchSGD(3, ETA, S=2),
    CentralSGD(1, ETA),
    SGDRR(ETA),
    CyCP(3, ETA, S=1),
    AmplifiedFedAvg(2, ETA, groups=4),
    AmplifiedFedAvg(2, ETA, period=3),
    RCP(2, ETA, S=2),
    RCP(2, ETA, S=1),
    CELSGD(3, ETA, S=2, batch=2, first=3),
    BVRLSGD(3, ETA, stage=3),
    Scaffnew(0.5, ETA),
    FedBCD(3, ETA),
    FedNova((1, 2, 3, 4), ETA, S=2, momentum=0.3),
    SLocalGD(3, ETA, q=0.4),
]


def means_agree(problem: Any, algorithm: Any, record: tuple[str, ...], **given: Any) -> None:
    seeds = 3000
    exact = expectation(problem, algorithm, record=record, **given)
    found = run(problem, algorithm, seeds=range(seeds), record=record, **given)
    for quantity in record:
        error = found[quantity].std("seed") / seeds**0.5
        room = 5 * error + 1e-9 * abs(exact[quantity])
        off = abs(found[quantity].mean("seed") - exact[quantity])
        assert bool((off <= room)[:, : given["rounds"]].all()), (quantity, off / room)


@pytest.mark.parametrize("algorithm", RUNS, ids=str)
def test_the_mean_of_many_runs_is_the_expectation(algorithm: Any) -> None:
    assert has_expectation(FOUR, algorithm, 7)
    means_agree(FOUR, algorithm, ALL, rounds=7, x0=1.0, average=0.9)


@pytest.mark.parametrize("algorithm", [FedProx(3, ETA, S=2), FedPAQ(3, ETA, S=2), FedBCD(2, ETA), CentralSGD(3, ETA)])
def test_clients_with_weights(algorithm: Any) -> None:
    means_agree(WEIGHED, algorithm, ("gap", "dist2"), rounds=5, x0=1.0)


@pytest.mark.parametrize(
    "algorithm", [FedCOM(2, ETA, 1.0, RandK(1)), FedCOMGATE(2, ETA, 1.0, RandK(1)), FedDyn(2, ETA)]
)
def test_regularised_and_without_a_minimiser(algorithm: Any) -> None:
    means_agree(Regularised(FOUR, 0.3), algorithm, ("gap", "drift"), rounds=5, x0=1.0)
    means_agree(NO_MINIMISER, algorithm, ("value", "grad_sq"), rounds=5, x0=1.0)


@pytest.mark.parametrize("algorithm", [FedGATE(2, ETA, 0.9), SCAFFOLD(2, ETA), DIANA(ETA), FedBCGDPlus(2, ETA, 1, 4)])
def test_long_runs_where_nothing_is_random(algorithm: Any) -> None:
    """Without noise and compression a run is its own expectation, round after round."""
    p = unrelated(3, 3, 4, sigma=0.0)
    settings: dict[str, Any] = {"rounds": 300, "x0": [1.0, -2.0, 3.0], "record": ALL, "average": 0.9}
    data, exact = (f(p, algorithm, **settings) for f in (run, expectation))
    for name in ALL:
        np.testing.assert_allclose(exact[name], data[name].isel(seed=0), rtol=1e-8, atol=1e-12, err_msg=name)


# --------------------------------------------------------------------------------------------- other ways to the same

SIX = unrelated(0, 3, 6)


# --------------------------------------------------------------------------------------------------- near the optimum

EXACT = [
    FedCOMGATE(2, 0.2, 0.7, RandK(2), damping=None),
    FedCOMGATE(2, 0.2, 0.7, Bernoulli(0.8), k=0.6, damping=0.5),
    FedGATE(3, 0.2),
    SCAFFOLD(2, 0.2, 0.8, S=2),
    DIANA(0.3, RandK(1)),
    FedBCGDPlus(2, 0.2, 2, 1),
    FedBCGDPlus(3, 0.1, 3, 1, lam=0.3, begin="gradients"),
    FedBCGDPlus(2, 0.05, 2, 2, lam=0.2, momentum="printed", server="(71)", share=1),
]


@pytest.mark.parametrize("algorithm", EXACT, ids=str)
def test_linear_convergence_to_the_last_digit(algorithm: Any) -> None:
    """Unequal clients, no noise: the gap falls at the rate of the spectral radius, from 1e200 to 1e-185 and below."""
    for p in (unrelated(0, 3, 5, sigma=0.0), diagonal(4, 3, 5, sigma=0.0)):
        rate = spectral_radius(p, algorithm).item()
        assert rate < 0.99
        rounds = int(2 * np.log(1e-200) / np.log(rate))
        data = expectation(p, algorithm, rounds=rounds, x0=1e100, record=("gap", "grad_sq"))
        for name in ("gap", "grad_sq"):
            late = data[name][0].values[-rounds // 4 :]
            assert (late > 0).all() and late[-1] < 1e-185
            assert (late[-1] / late[0]) ** (1 / (len(late) - 1)) == pytest.approx(rate, rel=3e-3)


def test_singular_values_where_the_fast_algorithm_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    matrices = np.random.default_rng(0).standard_normal((2, 3, 4, 6))
    expected = np.linalg.svd(matrices, full_matrices=False)[1]

    def fails(*_: Any, **__: Any) -> Any:
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", fails)
    left, size, rows = linear._singular(matrices)
    np.testing.assert_allclose(size, expected, rtol=1e-12)
    np.testing.assert_allclose(left * size[..., None, :] @ rows, matrices, atol=1e-12)


# ---------------------------------------------------------------------------------------------------- spectral radius


@pytest.mark.parametrize("shared", [False, True])
def test_spectral_radius_of_one_coordinate(shared: bool) -> None:
    """w -> w - eta gamma h mean_j(mask_j) w, E[mask^2] = 1/p."""
    p, m, eta, gamma, chance = from_functions([0.5] * 4, [1.0, -1.0, 2.0, 0.0], sigma=3.0), 4, [0.1, 1.5, 4.0], 1.2, 0.4
    s = np.array(eta) * gamma
    expected = (1 - s) ** 2 + s**2 * (1 / chance - 1) / (1 if shared else m)
    for algorithm in (FedCOM(1, eta, gamma, Bernoulli(chance, shared)), FedPAQ(1, s, Bernoulli(chance, shared))):
        np.testing.assert_allclose(spectral_radius(p, algorithm), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("algorithm", "memory"),
    [
        (FedCOM(2, 0.2), {}),
        (FedGATE(2, 0.2, 1.1, option="II"), {"delta": (3, 2)}),
        (SCAFFOLD(2, 0.2, 1.1), {"c_j": (3, 2), "c": (2,)}),
        (DIANA(0.2, alpha=0.7), {"h_j": (3, 2), "h": (2,)}),
        (FedBCGDPlus(2, 0.2, 1, 3, lam=0.6), {"v": (2,), "c_i": (3, 2), "c": (2,)}),
    ],
    ids=label,
)
def test_spectral_radius_where_nothing_is_random(algorithm: Any, memory: dict[str, tuple[int, ...]]) -> None:
    """The square of that of the linear map which a round is, on what is not conserved."""
    p = Quadratic(unrelated(3, 2, 3).H, np.zeros((3, 2)))
    sizes = [2, *(int(np.prod(shape)) for shape in memory.values())]
    n = sum(sizes)
    x, *kept = np.split(np.eye(n)[None], np.cumsum(sizes)[:-1], axis=-1)
    state = {name: k.reshape(1, n, *shape) for (name, shape), k in zip(memory.items(), kept, strict=True)}
    draws = Draws.of_seeds(np.arange(n), 0)
    x = algorithm.round(p, x, np.full((1, 1, 1), 0.2), draws, lambda x_local, active=True: None, state)
    parts = [x[0], *(state[name].reshape(n, -1) for name in memory)]
    size = np.abs(np.linalg.eigvals(np.concatenate(parts, axis=-1)))
    conserved = np.abs(size - 1) < 1e-9
    assert conserved.sum() == (2 if memory else 0)
    assert spectral_radius(p, algorithm).item() == pytest.approx(size[~conserved].max() ** 2, rel=1e-9)


def test_spectral_radius_of_overflow_and_what_has_none() -> None:
    assert spectral_radius(SIX, FedCOM(2, [0.1, 1e200])).tolist()[1] == np.inf
    with pytest.raises(ValueError, match="66 entries of z: expected at most 64"):
        spectral_radius(unrelated(0, 6, 11), FedCOMGATE(1, 0.1, 1.0, RandK(2)))
    with pytest.raises(ValueError, match="CyCP takes turns: expected an algorithm whose rounds are all alike"):
        spectral_radius(SIX, CyCP(1, 0.1))


# ----------------------------------------------------------------------------------------------------------- divergence


@pytest.mark.parametrize("record", [("value",), ("grad_sq",), (), ("gap", "dist2")])
def test_round_of_divergence(record: tuple[str, ...]) -> None:
    """F = x^2/2, no noise, x_r = (-9)^r: as in `run`, at the same round; the other step size runs on."""
    p = Quadratic(np.ones((1, 1, 1)), np.zeros((1, 1)))
    first = next(r for r in range(200) if 81**r > int(np.finfo(float).max))
    for algorithm in (FedCOM(1, [0.5, 10.0]), FedGATE(1, [0.5, 10.0]), SFL(1, [0.5, 10.0])):
        data, like = (f(p, algorithm, rounds=200, x0=1.0, record=record) for f in (expectation, run))
        assert data["diverged_at"].values.tolist() == [-1, like["diverged_at"][1, 0].item()] == [-1, first]
        assert data["status"].values.tolist() == ["ran", "diverged"]
        for name in record:
            values, end = data[name][1].values, int(data["diverged_at"][1])
            assert np.isfinite(values[:end]).all() and np.isnan(values[end:]).all()
            np.testing.assert_allclose(values[:end], like[name][1, 0, :end], rtol=1e-12)


@pytest.mark.parametrize("problem", [SIX, turned(3, 6), diagonal(0, 3, 6)], ids=["mixed", "turned", "parts"])
@pytest.mark.parametrize(
    "algorithm",
    [
        FedCOMGATE(4, 0.1, 1.0, RandK(2), k=0.6),
        SCAFFOLD(4, 0.1, S=2),
        DIANA(0.1, Sparsifier(0.5)),
        FedBCGDPlus(4, 0.1, 2, 1),
        Mime(3, 0.05, momentum=0.0),
        SFL(1, 0.1),
        PFL(4, 0.1),
    ],
    ids=str,
)
def test_huge_steps(algorithm: Any, problem: Quadratic) -> None:
    """No warning (errors here), whatever overflows inside; the small step size is as if alone."""
    settings: dict[str, Any] = {"rounds": 200, "x0": 1.0, "record": ALL}
    data = expectation(problem, replace(algorithm, eta=[1e-3, 10.0, 1e155, 1e300]), **settings)
    assert data["status"].values.tolist() == ["ran"] + ["diverged"] * 3
    end = int(data["diverged_at"][1])
    assert 5 < end < 180 and (data["diverged_at"][2:] <= 1).all()
    alone = expectation(problem, replace(algorithm, eta=1e-3), **settings)
    for name in ALL:
        np.testing.assert_allclose(data[name][0], alone[name][0], rtol=1e-9)
        assert np.isfinite(data[name][1, :end]).all() and np.isnan(data[name][1, end:]).all()


# ---------------------------------------------------------------------------------------------------------- the Dataset


@pytest.mark.parametrize("at", [[0], [9], [3, 7, 3, 1], range(0, 10, 4), np.array([2, 5])])
@pytest.mark.parametrize("algorithm", [FedGATE(2, ETA), PFL(2, ETA)])
def test_rounds_to_record(algorithm: Any, at: Any) -> None:
    settings: dict[str, Any] = {"rounds": 9, "x0": 1.0, "record": ALL, "average": 0.9}
    for asked in (run, expectation):
        whole, some = (asked(SIX, algorithm, at=a, **settings) for a in (None, at))
        assert some["round"].values.tolist() == sorted({int(r) for r in at})
        xr.testing.assert_equal(some, whole.sel(round=some["round"]))


def test_step_sizes_beside_each_other() -> None:
    for algorithm in (FedCOMGATE(2, [0.1, 0.3], 0.9, RandK(2), k=0.6), FedBCGDPlus(2, [0.1, 0.3], 2, 1, lam=0.4)):
        settings: dict[str, Any] = {"rounds": 5, "x0": 1.0, "record": ALL}
        both = expectation(SIX, algorithm, average=[0.5, 1.0], **settings)
        for e, (eta, ratio) in enumerate(((0.1, 0.5), (0.3, 1.0))):
            one = expectation(SIX, replace(algorithm, eta=eta), average=ratio, **settings)
            for name in ALL:
                np.testing.assert_allclose(one[name][0], both[name][e], rtol=1e-11)
            radius = spectral_radius(SIX, replace(algorithm, eta=eta))[0]
            assert radius == pytest.approx(spectral_radius(SIX, algorithm)[e], rel=1e-11)


@pytest.mark.parametrize("algorithm", [FedCOMGATE(2, [0.1, 0.2], compressor=RandK(1)), SFL(2, [0.1, 0.2])])
def test_shape_and_labels(algorithm: Any) -> None:
    data, like = (f(SIX, algorithm, rounds=3, record=(*ALL, "gap_average")) for f in (expectation, run))
    xr.testing.assert_equal(data, expectation(SIX, algorithm, rounds=3, record=ALL))
    assert dict(data.sizes) == {"step_size": 2, "round": 4} and set(data.data_vars) == set(like.data_vars)
    for name in ALL:
        assert data[name].dims == ("step_size", "round")
        assert data[name].attrs["units"] == like[name].attrs["units"]
        assert data[name].attrs["long_name"] == "expectation of " + like[name].attrs["long_name"]
    assert data["status"].dims == data["diverged_at"].dims == ("step_size",)
    assert np.isnan(data["drift"][:, 3]).all() and (data["status"] == "ran").all()
    assert {"seeds", "orders"} == set(like.attrs) - set(data.attrs)
    assert all(json.loads(data.attrs[key]) == json.loads(like.attrs[key]) for key in data.attrs)
    assert set(expectation(SIX, algorithm, rounds=1, record=()).data_vars) == {"status", "diverged_at"}


# ------------------------------------------------------------------------------------------------------------- refusals


@dataclass(frozen=True)
class Cubed(LocalSteps):
    """No linear round."""

    def round(self, problem: Any, x: Any, eta: Any, draws: Any, watch: Any, memory: Any) -> Any:
        return x - eta * x**3


@dataclass(frozen=True)
class FirstCounts(LocalSteps):
    """Only the first client of a round counts: it matters who is where, though all are trained alike."""

    def round(self, problem: Any, x: Any, eta: Any, draws: Any, watch: Any, memory: Any) -> Any:
        clients = participating(problem, draws, self.participants(problem))
        g = problem.gradient(x[:, :, None].repeat(clients.shape[1], 2), clients, draws.of(clients, 1).step(0))
        weights = 1.0 / np.arange(1, clients.shape[1] + 1) ** 2
        return x - eta * (g * weights[:, None]).sum(2)


@dataclass(frozen=True)
class Own(LocalSteps):
    """One gradient step of all clients, and then what `then` makes of it."""

    then: Any = None

    def round(self, problem: Any, x: Any, eta: Any, draws: Any, watch: Any, memory: Any) -> Any:
        clients = np.arange(problem.M)[None]
        g = problem.gradient(x[:, :, None].repeat(problem.M, 2), clients, draws.of(clients, 1).step(0)).mean(2)
        return self.then(x, eta, g, draws, memory)


def counting(x: Any, eta: Any, g: Any, draws: Any, memory: Any) -> Any:
    memory["t"] = memory.get("t", 0) + 1
    return x - eta * g


def other_memory(x: Any, eta: Any, g: Any, draws: Any, memory: Any) -> Any:
    memory["later" if "first" in memory else "first"] = x
    return x - eta * g


@pytest.mark.parametrize(
    ("then", "message"),
    [
        (lambda x, eta, g, draws, memory: x - eta * np.sign(g), "Own is not linear"),
        (lambda x, eta, g, draws, memory: x - eta * g + 0.1, "Own is not linear"),
        (lambda x, eta, g, draws, memory: x - eta * np.clip(g, -10, 10), "Own is not linear"),
        (lambda x, eta, g, draws, memory: x - eta / (1 + draws.round) * g, "rounds of Own depend on their number"),
        (lambda x, eta, g, draws, memory: x - eta * g * draws.keys, "it draws what is not given here"),
        (
            lambda x, eta, g, draws, memory: x - eta * (draws.order(2, 1) + draws.order(2, 2)).mean() * g,
            "draws clients twice",
        ),
        (counting, "Own keeps numbers that are no vectors"),
        (other_memory, "Own keeps other memories from round to round"),
    ],
)
def test_what_is_not_linear_of_ones_own(then: Any, message: str) -> None:
    """In one coordinate, without noise: nothing hides there."""
    p = from_functions([0.5, 0.5], [0.3, -0.3])
    with pytest.raises(ValueError, match=message):
        linear.expectation(p, Own(1, 0.1, then=then), rounds=2)
    assert not has_expectation(p, Own(1, 0.1, then=then), 2)


def test_clients_without_a_slope_and_many_local_steps() -> None:
    """A client whose gradient is constant takes part; with 200 local steps it still matters who trains which block."""
    flat = Quadratic(np.array([[[2.0]], [[0.0]]]), np.array([[1.0], [-1.0]]))
    for algorithm in (
        FedCOM(2, 0.1, 1.0, Bernoulli(0.5)),
        FedPAQ(2, 0.1, Bernoulli(0.5), S=2),
        DIANA(0.1, Bernoulli(0.5)),
    ):
        found, expected = (
            f(flat, algorithm, rounds=2, x0=1.0, record=("gap", "dist2")) for f in (linear.expectation, enumerated)
        )
        np.testing.assert_allclose(found["gap"], expected["gap"], rtol=1e-10)
    p = diagonal(0, 3, 3, sigma=0.0)
    long = FedBCGD(200, 5e-4, 2, 1)
    found, expected = (f(p, long, rounds=1, x0=1.0, record=("dist2",)) for f in (linear.expectation, enumerated))
    np.testing.assert_allclose(found["dist2"], expected["dist2"], rtol=1e-10)


def test_a_round_of_sgd_is_several_steps() -> None:
    p = from_functions([0.2, 0.7], [0.1, -0.1], sigma=0.3)
    one, three = (spectral_radius(p, CentralSGD(K, 0.3)) for K in (1, 3))
    np.testing.assert_allclose(three, one**3, rtol=1e-12)
    with pytest.raises(ValueError, match="steps would take about"):
        expectation(p, CentralSGD(10**9, 0.1), rounds=10**5, at=[0])


def test_positions_matter() -> None:
    """The positions of the drawn order are found out, also where two clients have the same function."""
    p = generate(d=3, M=4, L=2.0, mu=0.2, zeta_star=1.0, delta=0.5)
    settings: dict[str, Any] = {"x0": 1.0, "record": ("gap", "grad_sq")}
    for S in (2, 3):
        found, expected = (f(p, FirstCounts(1, ETA, S), rounds=2, **settings) for f in (linear.expectation, enumerated))
        np.testing.assert_allclose(found["gap"], expected["gap"], rtol=1e-11)


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        (Cubed(2, 0.1), "Cubed is not linear: expected an algorithm with linear rounds"),
        (RCP(2, 0.1, S=1), "more than 3000 choices in a round, which would all be visited"),
        (FedCOM(1, 0.1, 1.0, QSGD(2)), r"QSGD\(s=2\): expected a random mask, one of Identity, RandK, Bernoulli"),
        (FedCOMGATE(1, 0.1, 1.0, TopK(1)), r"TopK\(k=1\): expected a random mask"),
        (FedBCGD(1, 0.1, 2, 1, compressor=RandK(1)), "it draws what is not given here: expected orders of clients"),
        (FedCOMGATE(1, 0.1, k=0.05), r"k = 0\.05, but .* has M = 10 clients"),
        (FedPAQ(1, 0.1, S=11), "S = 11, but .* has M = 10"),
        (FedCOM(1, 0.1, 1.0, RandK(4)), "k = 4 of d = 2 coordinates"),
    ],
    ids=label,
)
def test_what_has_no_expectation(algorithm: Any, message: str) -> None:
    many = generate(d=2, M=10, L=1.0, mu=0.5, delta=0.1)
    with pytest.raises(ValueError, match=message):
        linear.expectation(many, algorithm, rounds=1)


def test_a_method_named_compressor_is_no_compressor() -> None:
    """FedBAT draws its binarisations itself."""
    quadratic = generate(d=2, M=2, L=1, mu=0.5, zeta_star=1, delta=0, sigma=0, seed=0)
    assert "draws what is not given here" in str(linear.why_not(quadratic, FedBAT(2, 0.1), 3))
