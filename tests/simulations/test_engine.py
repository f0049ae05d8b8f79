"""The engine: what is recorded, what a seed's trajectory depends on (nothing else), divergence, provenance, refusals."""

import importlib
import inspect
import json
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from by_hand import ByHand, trajectory
from mpmath import mp, mpf
from spy import Spy, small

from fedtheory.simulate import RUN
from fedtheory.simulations import NoSuchConstant, engine, expectation, run
from fedtheory.simulations.algorithms import registry
from fedtheory.simulations.algorithms.base import LocalSteps, participating, to_clients
from fedtheory.simulations.algorithms.sfl import PFL, SFL, SSL, SplitFed
from fedtheory.simulations.draws import Draws
from fedtheory.simulations.engine import RECORDS, WeightedAverage
from fedtheory.simulations.partitions import dirichlet, iid
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
from fedtheory.simulations.problems.two_part import TwoPart

QUADRATIC = generate(3, 4, L=2, mu=0.2, zeta_star=1, delta=0.5, sigma=0.7)
DATA = small("breast_cancer", 60, 4, 2)
LOGISTIC = Logistic(DATA, dirichlet(DATA.labels, 4, 0.7, 0), 0.1, batch=3)
NETWORK = TwoPart(DATA, iid(DATA.labels, 4, 0), 2, 0.01, batch=3)
ALL = tuple(RECORDS)


def assert_same(one: xr.Dataset, two: xr.Dataset, names: tuple[str, ...] = ALL) -> None:
    for name in names:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-12, atol=1e-13, err_msg=name)


# --------------------------------------------------------------------- a seed's run is its own


@dataclass(frozen=True)
class Jumping(LocalSteps):
    """Local steps, and from round `later` on a jump by a number of the draws, or by one of its own in every round."""

    later: int = 10**9
    own: Any = None

    def round(self, problem: Any, x: Any, eta: Any, draws: Draws, watch: Any, memory: Any) -> Any:
        new = PFL.round(PFL(self.K, self.eta), problem, x, eta, draws, watch, memory)  # type: ignore[arg-type]
        if self.own is not None:
            return new + self.own.standard_normal(x.shape)
        if draws.round >= self.later:
            new = new + draws.of(np.zeros((1, 1), int)).step(0).normal(x.shape[-1])[:, 0]
        return new


@pytest.mark.parametrize(
    "problem", [replace(QUADRATIC, sigma=0.0), replace(LOGISTIC, batch=None)], ids=["quadratic", "data"]
)
def test_without_noise_one_run_is_that_of_all_seeds(problem: Any) -> None:
    algorithm = PFL(K=2, eta=[0.1, 0.2])
    spy = Spy(problem, every_seed=False)
    told: list[int] = []
    found = run(spy, algorithm, rounds=8, seeds=[3, 1, 7], record=ALL, progress=told.append)
    assert [x.shape[1] for x in spy.iterates[-8:]] == [1] * 8 and told[-1] == 8
    assert found.seed.values.tolist() == json.loads(found.attrs["seeds"]) == [3, 1, 7]
    for seed in (3, 1, 7):
        alone = run(problem, algorithm, rounds=8, seeds=[seed], record=ALL)
        assert_same(found.sel(seed=[seed]), alone)
        assert (found.status.sel(seed=[seed]) == alone.status).all()


@pytest.mark.parametrize("later", [0, 1, 5])
def test_a_round_that_draws_runs_every_seed(later: int) -> None:
    problem, algorithm = replace(QUADRATIC, sigma=0.0), Jumping(K=1, eta=0.1, later=later)
    found = run(problem, algorithm, rounds=8, seeds=[0, 1, 2], record=("value",))
    assert (found.value.std("seed").values[0] > 1e-6).tolist() == [r > later for r in range(9)]
    for seed in (0, 1, 2):
        assert_same(
            found.sel(seed=[seed]), run(problem, algorithm, rounds=8, seeds=[seed], record=("value",)), ("value",)
        )


@pytest.mark.parametrize("cache", [2**18, 1], ids=["all seeds at once", "a seed at once"])
def test_an_algorithm_with_randomness_of_its_own_runs_every_seed(cache: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_IN_CACHE", cache)
    for problem in (replace(QUADRATIC, sigma=0.0), replace(LOGISTIC, batch=None)):
        own = Jumping(K=1, eta=0.1, own=np.random.default_rng(0))
        found = run(problem, own, rounds=4, seeds=[0, 1], record=("value",))
        assert (found.value.std("seed").values[0, 1:] > 1e-6).all()


# ------------------------------------------------------------------------------------ decay


@pytest.mark.parametrize("algorithm", [SFL, PFL])
def test_step_sizes_decay_from_the_second_round_on(algorithm: Any) -> None:
    """F = x^2/2, no noise, K = 2: x_{r+1} = (1 - eta decay^r)^2 x_r, so that the first round has all of eta."""
    p = Quadratic(np.ones((1, 1, 1)), np.zeros((1, 1)))
    etas, decay, rounds = np.array([0.3, 0.1]), 0.5, 4
    x = trajectory(p, algorithm(K=2, eta=etas.tolist()), rounds=rounds, x0=1.0, decay=decay)[:, :, 0, 0]
    expected = np.cumprod([np.ones(2), *[(1 - etas * decay**r) ** 2 for r in range(rounds)]], axis=0)
    np.testing.assert_allclose(x, expected, rtol=1e-13)


# ------------------------------------------------------------------------------------ recording


@pytest.mark.parametrize("algorithm", [SFL, PFL])
@pytest.mark.parametrize("S", [None, 2])
@pytest.mark.parametrize("problem", [QUADRATIC, LOGISTIC])
def test_recorded_quantities(problem: Any, algorithm: Any, S: int | None) -> None:
    """Each from its definition, at the iterates; the drift, (33) or (68), from a loop over clients and steps."""
    seeds, K, R, etas, ratios = [4, 1], 3, 5, [0.2, 0.05], [0.8, 1.0]
    method = algorithm(K=K, eta=etas, S=S)
    data = run(problem, method, rounds=R, seeds=seeds, x0=0.7, record=ALL, average=ratios)
    x = trajectory(problem, method, rounds=R, seeds=seeds, x0=0.7)
    x_star, F_star = problem.constants["x_star"], problem.constants["F_star"]
    for (e, eta), (n, seed) in product(enumerate(etas), enumerate(seeds)):
        weights = ratios[e] ** -np.arange(1, R + 2)
        for r in range(R + 1):
            now = x[r, e, n]
            at = data.isel(step_size=e, seed=n, round=r)
            assert at["value"] == pytest.approx(float(problem.value(now)), rel=1e-13)
            assert at["gap"] == pytest.approx(float(problem.value(now) - F_star), rel=1e-12)
            assert at["grad_sq"] == pytest.approx((problem.full_gradient(now) ** 2).sum(), rel=1e-13)
            assert at["dist2"] == pytest.approx(((now - x_star) ** 2).sum(), rel=1e-13)
            mean = np.average(x[: r + 1, e, n], axis=0, weights=weights[: r + 1])
            assert at["gap_average"] == pytest.approx(float(problem.value(mean) - F_star), rel=1e-11)
        for r in range(R):
            h = ByHand(problem, eta, seed, x[0, e, n])
            h.r = r
            start, drift, taking_part = x[r, e, n], [], h.order(S)
            local = start
            for m in taking_part:
                local = start if algorithm is PFL else local
                for k in range(K):
                    drift.append(((local - start) ** 2).sum())
                    local = local - eta * h.g(m, local, k)
            expected = sum(drift) / (len(taking_part) if algorithm is PFL else 1)
            assert data["drift"][e, n, r] == pytest.approx(expected, rel=1e-11)
    assert np.isnan(data["drift"][..., R]).all() and (data["status"] == "ran").all()


def test_start_is_recorded() -> None:
    x0 = np.array([1.0, -2.0, 0.5])
    data = run(QUADRATIC, SFL(K=2, eta=0.1), rounds=2, seeds=[0, 1], x0=x0, record=("value",))
    np.testing.assert_allclose(data["value"][..., 0], QUADRATIC.value(x0), rtol=1e-14)
    alike = [run(QUADRATIC, SFL(K=2, eta=0.1), rounds=2, x0=x, record=("value",)) for x in (0.5, [0.5] * 3)]
    np.testing.assert_array_equal(alike[0]["value"], alike[1]["value"])


def test_record_nothing_twice_or_one() -> None:
    assert set(run(QUADRATIC, SFL(K=1, eta=0.1), rounds=1, record=()).data_vars) == {"status", "diverged_at"}
    for name in ALL:
        data = run(QUADRATIC, SFL(K=1, eta=0.1), rounds=1, record=(name,))
        assert set(data.data_vars) == {name, "status", "diverged_at"}


def test_only_what_is_needed_is_asked_for() -> None:
    """Values and gradients need no minimiser, distances and gaps do and say so."""
    falling = from_functions([1.0, -2.0], [0.0, 0.0])
    data = run(falling, SFL(K=1, eta=0.1), rounds=2, x0=1.0, record=("value", "grad_sq", "drift"))
    assert (data["value"] < 0).all()
    for name in ("gap", "gap_average", "dist2"):
        with pytest.raises(NoSuchConstant, match="unbounded below"):
            run(falling, SFL(K=1, eta=0.1), rounds=2, record=(name,))
    with pytest.raises(NoSuchConstant, match="not certified for a neural network"):
        run(NETWORK, SFL(K=1, eta=0.1), rounds=2)


def test_progress() -> None:
    seen: list[int] = []
    run(QUADRATIC, SFL(K=1, eta=0.1), rounds=4, progress=seen.append)
    assert seen == [1, 2, 3, 4]


# --------------------------------------------------------------------------- weighted averages


@pytest.mark.parametrize("ratio", [0.9, 0.5, 0.999, 1.0])
def test_weighted_average_in_high_precision(ratio: float) -> None:
    """5000 rounds: weights up to 1e1505 for a ratio of 0.5, which no float holds."""
    rounds, rng = 5000, np.random.default_rng(0)
    x = rng.standard_normal((rounds + 1, 1, 2, 1)) + np.linspace(5, 0, rounds + 1)[:, None, None, None]
    average = WeightedAverage(np.full((1, 1, 1), ratio))
    got = np.array([average.add(row) for row in x])[:, 0, :, 0]
    with mp.workdps(60):
        for column in range(2):
            weight, total, weighted, wrong = mpf(1), mpf(0), mpf(0), mpf(0)
            for r in range(rounds + 1):
                weight /= mpf(ratio)  # w_r = ratio^-(r+1)
                total += weight
                weighted += weight * mpf(float(x[r, 0, column, 0]))
                wrong += mpf(float(x[r, 0, column, 0])) / weight
                if r in (0, 1, 2, 10, 100, 1000, 4999, 5000):
                    assert got[r, column] == pytest.approx(float(weighted / total), rel=1e-12, abs=1e-13)
        assert ratio == 1 or abs(got[-1, column] - float(wrong * weight / total)) > 1e-3  # weights upside down: seen


def test_average_does_not_hold_on_to_the_iterate() -> None:
    """An algorithm may overwrite the iterate it is given; the average stays."""
    average, x = WeightedAverage(np.ones((1, 1, 1))), np.ones((1, 1, 2))
    mean = average.add(x)
    x += 5
    assert (mean == 1).all() and (average.add(x) == 3.5).all()


# ------------------------------------------------------------------------------------ replay


def test_orders_of_the_run_itself() -> None:
    """The seeds' own orders, handed back, change nothing; others do."""
    for S in (None, 2):
        orders = np.stack([Draws.of_seeds(np.arange(3), r).order(4, S or 4) for r in range(5)], axis=1)
        settings_: dict[str, Any] = {"rounds": 5, "seeds": range(3), "x0": 1.0, "record": ALL}
        for algorithm in (SFL, PFL):
            own, replayed, other = (
                run(QUADRATIC, algorithm(K=2, eta=0.1, S=S), orders=o, **settings_)
                for o in (None, orders, orders[::-1])
            )
            assert_same(own, replayed)
            assert (algorithm is PFL and S is None) or not np.allclose(own["value"][..., 1:], other["value"][..., 1:])
        shared = run(QUADRATIC, SFL(K=2, eta=0.1, S=S), orders=orders[1].tolist(), **settings_)
        one = run(QUADRATIC, SFL(K=2, eta=0.1, S=S), orders=np.repeat(orders[1:2], 3, axis=0), **settings_)
        xr.testing.assert_equal(shared, one)


@pytest.mark.parametrize(
    ("orders", "message"),
    [
        ([[0, 1], [1, 2], [0, 1]], r"shape \(3, 2\)"),  # a round too many
        ([[0, 1, 2], [1, 2, 3]], r"shape \(2, 3\)"),  # a client too many
        ([0, 1], r"shape \(2,\)"),
        (np.zeros((1, 1, 2, 2), int), r"shape \(1, 1, 2, 2\)"),
        (np.array([[[0, 1], [1, 2]]] * 2), r"shape \(2, 2, 2\)"),  # two seeds of three
        (np.array([[[0, 1], [1, 2]]]), r"shape \(1, 2, 2\)"),
        ([[0.0, 1.0], [1.0, 2.0]], "float64"),
        ([[0, 4], [1, 2]], r"clients 0\.\.4"),
        ([[0, -1], [1, 2]], r"clients -1\.\.2"),
        ([[0, 1], [2, 2]], "repetitions"),
    ],
)
def test_malformed_orders(orders: Any, message: str) -> None:
    expected = r"expected integers 0\.\.3 of shape \(2, 2\) or \(3, 2, 2\), each round without repetition"
    with pytest.raises(ValueError, match=f"{message}.*{expected}"):
        run(QUADRATIC, SFL(K=1, eta=0.1, S=2), rounds=2, seeds=range(3), orders=orders)


# ------------------------------------------------------------------------------------ divergence


def test_divergence() -> None:
    """Status, the right round, finite values before and NaN after, the others untouched, no warnings (errors here)."""
    p = from_functions([0.5, 0.5], [1, -1], sigma=0.1)
    etas, settings_ = (
        [0.1, 50.0, 1e80, 0.2],
        {"rounds": 60, "seeds": [0, 1, 2], "x0": 2.0, "record": ALL, "average": 0.9},
    )
    data = run(p, SFL(K=2, eta=etas), **settings_)
    assert data["status"][:, 0].values.tolist() == ["ran", "diverged", "diverged", "ran"]
    assert (data["diverged_at"][[0, 3]] == -1).all()
    assert_same(data.sel(step_size=[0.1, 0.2]), run(p, SFL(K=2, eta=[0.1, 0.2]), **settings_))
    for e, s in np.ndindex(4, 3):
        d = int(data["diverged_at"][e, s])
        for name in ALL:
            values = data[name][e, s].values
            if d < 0:
                assert np.isfinite(values[:-1]).all()
            else:
                assert np.isfinite(values[:d]).all() and np.isnan(values[d:]).all()
    # |x| grows by 49^4 a round at eta = 50, from 2 or so: x^2 overflows where 2 log10|x| passes 308.25
    x = 2.0 * 49.0 ** (4 * np.arange(40))
    assert abs(int(data["diverged_at"][1, 0]) - int((np.log10(x) * 2 < 308.25).sum())) <= 1
    assert (data["diverged_at"][2] <= 1).all()


def test_a_quantity_that_overflows_first() -> None:
    """||grad F||^2 = 1e40 x^2: the run ends where the recorded quantity does, and all quantities end together."""
    p = Quadratic(np.full((1, 1, 1), 1e20), np.zeros((1, 1)))
    data = run(p, SFL(K=1, eta=1e-19), rounds=200, x0=1.0, record=("value", "grad_sq"))
    first = int(data["diverged_at"][0, 0])
    assert first == next(r for r in range(200) if 1e40 * 81.0**r > np.finfo(float).max)
    for name in ("value", "grad_sq"):
        assert np.isfinite(data[name][0, 0, :first]).all() and np.isnan(data[name][0, 0, first:]).all()


@pytest.mark.parametrize("algorithm", [SFL, PFL, SSL, SplitFed])
def test_huge_steps_everywhere(algorithm: Any) -> None:
    """No warning from any problem, whatever overflows inside it; the small step size runs on."""
    problems = [NETWORK] if algorithm in (SSL, SplitFed) else [QUADRATIC, LOGISTIC, NETWORK]
    for p in problems:
        names = ("value", "grad_sq", "drift") if p is NETWORK else ALL
        data = run(p, algorithm(K=4, eta=[1e-3, 1e155, 1e300]), rounds=10, seeds=range(3), x0=1.0, record=names)
        assert (data["status"][0] == "ran").all() and (data["status"][2] == "diverged").all()
        assert np.isnan(data["value"][2, :, -1]).all()


# ------------------------------------------------------------------------------------ the data set


def test_shape_and_labels() -> None:
    data = run(QUADRATIC, SFL(K=2, eta=[0.1, 0.2]), rounds=3, seeds=[5, 1, 8], record=ALL)
    assert dict(data.sizes) == {"step_size": 2, "seed": 3, "round": 4}
    assert data["step_size"].values.tolist() == [0.1, 0.2]
    assert data["seed"].values.tolist() == [5, 1, 8] and data["round"].values.tolist() == [0, 1, 2, 3]
    for name, (units, meaning) in RECORDS.items():
        assert data[name].dims == ("step_size", "seed", "round")
        assert data[name].attrs == {"units": units, "long_name": meaning}
    for name in ("status", "diverged_at"):
        assert data[name].dims == ("step_size", "seed")
    assert all(isinstance(value, str) for value in data.attrs.values())
    assert {"problem", "algorithm", "rounds", "seeds", "x0", "orders", "average", "versions"} == set(data.attrs)
    one = run(QUADRATIC, SFL(K=2, eta=0.1), rounds=1)
    assert dict(one.sizes) == {"step_size": 1, "seed": 1, "round": 2}


@pytest.mark.parametrize("algorithm", [SFL(K=3, eta=np.array([0.1, 0.03])), PFL(K=np.int64(2), eta=0.1, S=2)])
@pytest.mark.parametrize("replay", [False, True])
def test_attributes_suffice_to_run_again(algorithm: Any, replay: bool) -> None:
    """From the text of the attributes alone, to the last bit."""
    rng = np.random.default_rng(0)
    p = generate(3, 4, L=np.float64(2), mu=0.2, zeta_star=1, delta=0.5, sigma=np.float32(0.7))
    orders = np.array([rng.permutation(4)[: algorithm.S] for _ in range(6)]) if replay else None
    data = run(
        p, algorithm, rounds=6, seeds=[3, 2**60], x0=rng.standard_normal(3), orders=orders, record=ALL, average=0.9
    )
    text = {key: json.loads(value) for key, value in data.attrs.items()}
    problem, settings_ = text["problem"], text["algorithm"]
    assert problem["problem"] == "quadratic"
    again = run(
        Quadratic(problem["H"], problem["b"], problem["sigma"], problem["name"]),
        {"SFL": SFL, "PFL": PFL}[settings_.pop("name")](**settings_),
        rounds=text["rounds"],
        seeds=text["seeds"],
        x0=text["x0"],
        orders=text["orders"],
        average=text["average"],
        record=[name for name in data.data_vars if name in RECORDS],
        at=data["round"].values,
    )
    assert {key: json.loads(v) for key, v in again.attrs.items() if key != "algorithm"} == {
        key: value for key, value in text.items() if key != "algorithm"
    }
    xr.testing.assert_equal(data, again)
    assert "numpy" in text["versions"] and "python" in text["versions"]


def test_attributes_of_other_problems() -> None:
    for p, algorithm in ((LOGISTIC, SFL(K=1, eta=0.1)), (NETWORK, SSL(K=1, eta=0.1, tau=(1, 2, 3, 4)))):
        text = run(p, algorithm, rounds=1, record=("value",)).attrs
        problem = json.loads(text["problem"])
        assert problem["regularisation"] == p.regularisation and problem["batch"] == 3
        assert problem["partition"] == p.partition.method and problem["dataset"] == DATA.provenance
    assert json.loads(text["algorithm"]) == {"name": "SSL", "K": 1, "eta": 0.1, "S": None, "tau": [1, 2, 3, 4]}


def test_written_to_netcdf_and_read_back(tmp_path: Path) -> None:
    data = run(QUADRATIC, SFL(K=2, eta=[0.1, 1e200]), rounds=4, seeds=[1, 2], x0=1.0, record=ALL)
    data.to_netcdf(tmp_path / "run.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "run.nc", engine="scipy") as back:
        xr.testing.assert_equal(data, back)
        assert back.attrs == data.attrs and back["gap"].attrs == data["gap"].attrs


# ------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"record": ("gap", "speed")}, r"cannot record \['speed'\]: expected some of gap, gap_average"),
        ({"x0": [1.0, 2.0]}, r"x0 of shape \(2,\): expected a finite number, or \(d,\) = \(3,\)"),
        ({"x0": np.zeros((1, 3))}, r"x0 of shape \(1, 3\)"),
        ({"x0": np.nan}, "x0 .* finite"),
        ({"rounds": 0}, "rounds = 0"),
        ({"rounds": -2}, "rounds = -2"),
        ({"rounds": 2.5}, r"rounds = 2\.5"),
        ({"seeds": []}, r"seeds = \[\]"),
        ({"seeds": [1, -1]}, r"seeds = \[1, -1\]"),
        ({"seeds": [0.5]}, r"seeds = \[0\.5\]"),
        ({"seeds": [[1, 2]]}, r"seeds = \[\[1, 2\]\]"),
        ({"seeds": ["a"]}, r"seeds = \['a'\]"),
        ({"at": []}, r"at = \[\]: expected whole numbers between 0 and rounds = 4"),
        ({"at": [5]}, r"at = \[5\]"),
        ({"at": [-1, 2]}, r"at = \[-1, 2\]"),
        ({"at": [0.5]}, r"at = \[0\.5\]"),
        ({"average": 0.0}, r"average = 0\.0: expected a weight ratio in \(0, 1\]"),
        ({"average": 1.1}, r"average = 1\.1"),
        ({"average": np.nan}, "average = nan"),
        ({"average": [0.5, 0.5, 0.5]}, r"average = \[0\.5, 0\.5, 0\.5\]: .* or 2 of them"),
    ],
)
def test_malformed_requests(settings_: dict, message: str) -> None:
    for asked in (run, expectation) if "seeds" not in settings_ else (run,):
        with pytest.raises(ValueError, match=message):
            asked(QUADRATIC, SFL(K=1, eta=[0.1, 0.2]), **{"rounds": 4} | settings_)


@dataclass(frozen=True)
class Returning(LocalSteps):
    """What a round returns is a function of x (E, N, d) and of the clients' gradients (E, N, S, d)."""

    what: Any = None

    def round(self, problem: Any, x: Any, eta: Any, draws: Any, watch: Any, memory: Any) -> Any:
        clients = participating(problem, draws, self.participants(problem))
        return self.what(x, problem.gradient(to_clients(x, clients.shape[1]), clients, draws.of(clients, 1).step(0)))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda x, g: None, r"Returning.round returned None: expected .* \(E, N, d\) = \(2, 4, 3\)"),
        (lambda x, g: x[0], r"returned float64 array of shape \(4, 3\): expected"),
        (lambda x, g: x.astype(np.float32), "returned float32 array"),
        (lambda x, g: g.mean(1), r"returned float64 array of shape \(2, 4, 3\): expected .* = \(2, 5, 3\)"),
        (lambda x, g: x - g.mean(1), "fails with 5 seeds, but not with 4, the number of clients"),
    ],
)
def test_what_a_round_returns(what: Any, message: str) -> None:
    four = generate(3, 4, L=1.0, mu=0.5, seed=0)
    run(four, Returning(1, [0.1, 0.2], what=lambda x, g: x - g.mean(2)), rounds=1, seeds=range(4))
    with pytest.raises(ValueError, match=message):
        run(four, Returning(1, [0.1, 0.2], what=what), rounds=1, seeds=range(4))


@pytest.mark.parametrize("count", [3, np.int8(3)])
def test_everything_starts_at_one_unless_told(count: Any) -> None:
    for algorithm in registry().values():
        kind = algorithm.func if isinstance(algorithm, partial) else algorithm
        if getattr(kind, "exact", None):
            module = importlib.import_module(f"fedtheory.simulations.{kind.exact}")
            default = inspect.signature(module.expectation).parameters.get("x0")
            assert default is None or default.default == 1.0
    plain, told = (run(QUADRATIC, PFL(2, 0.1), rounds=count, **x0) for x0 in ({}, {"x0": float(RUN["x0"])}))
    assert plain.identical(told) and plain.gap[0, 0, 0] > 0.1
    plain, told = (expectation(QUADRATIC, PFL(2, 0.1), rounds=count, **x0) for x0 in ({}, {"x0": 1.0}))
    assert plain.identical(told)
