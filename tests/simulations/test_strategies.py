"""Functions have the constants they certify, strategies draw what they promise, and shrink to what a hand can check."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from scipy.optimize import minimize

from fedtheory import simulations
from fedtheory.simulations import functions, strategies
from fedtheory.simulations.algorithms.sfl import SFL
from fedtheory.simulations.functions import Function
from fedtheory.simulations.problems.quadratic import from_functions

SEARCH = settings(
    max_examples=40, derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

FAMILIES: dict[str, Function] = {
    h.name: h
    for h in (
        functions.quadratic([2.0, 0.5], [1.0, 2.0]),
        functions.quadratic([1.0, 0.0]),
        functions.quadratic([1.0, -3.0], [1.0, -1.0]),
        functions.quadratic([-1.0]),
        functions.huber(2),
        functions.hinge(2),
        functions.logcosh(2),
        functions.softplus(2),
        functions.logistic(2, 0.125),
        functions.logsumexp(3),
        functions.ripple(2),
        functions.dip(2),
        functions.saturating(2),
        functions.scaled(functions.logcosh(1), 3.0),
        functions.stretched(functions.hinge(2), 0.25),
        functions.shifted(functions.logistic(2, 0.75), [1.0, -2.0], 3.0),
        functions.regularised(functions.logsumexp(2), 0.25),
        functions.regularised(functions.ripple(1), 0.5),
        functions.beside(functions.ripple(1), functions.quadratic([2.0, 1.0], [1.0, 1.0])),
        functions.beside(functions.softplus(1), functions.huber(1)),
        functions.shifted(functions.stretched(functions.regularised(functions.huber(2), 0.5), 4.0), [1.0, 0.0], -8.0),
    )
}


def points(h: Function, count: int, spread: float = 4.0, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-spread, spread, (count, h.d))


def curvature(h: Function, x: np.ndarray, y: np.ndarray) -> float:
    """<grad h(x) - grad h(y), x - y> / ||x - y||^2, a mean of the second derivative along the segment."""
    u = x - y
    return float((h.gradient(x) - h.gradient(y)) @ u / (u @ u))


@pytest.mark.parametrize("h", FAMILIES.values(), ids=FAMILIES)
def test_the_gradient_is_the_gradient(h: Function) -> None:
    step = 1e-5
    for x in points(h, 30):
        differences = [(h.value(x + u) - h.value(x - u)) / (2 * step) for u in step * np.eye(h.d)]
        np.testing.assert_allclose(h.gradient(x), differences, rtol=0, atol=1e-6 * h.L)


@pytest.mark.parametrize("h", FAMILIES.values(), ids=FAMILIES)
def test_the_curvature_is_between_mu_and_L(h: Function) -> None:
    near = [(x, x + 0.01 * u) for x, u in zip(points(h, 500), points(h, 500, seed=1), strict=True)]
    far = list(zip(points(h, 500, seed=2), points(h, 500, seed=3), strict=True))
    for x, y in near + far:
        gradients, u = h.gradient(x) - h.gradient(y), x - y
        assert np.linalg.norm(gradients) <= h.L * np.linalg.norm(u) * (1 + 1e-9)
        divergence = h.value(x) - h.value(y) - h.gradient(y) @ u
        rounding = 1e-13 * (abs(h.value(x)) + abs(h.value(y)) + 1)
        assert h.mu / 2 * (u @ u) - rounding <= divergence <= h.L / 2 * (u @ u) + rounding


@pytest.mark.parametrize("h", FAMILIES.values(), ids=FAMILIES)
def test_the_constants_are_attained(h: Function) -> None:
    """The largest curvature in modulus is L and the least is mu, somewhere (in the limit, where they decay)."""
    axes = [*np.eye(h.d), np.array([1.0, -1.0, 0.0])[: h.d]]
    if h.name.startswith("quadratic") and h.d > 1:  # its own axes
        axes += [np.array([3.0, -4.0]) / 5, np.array([4.0, 3.0]) / 5]
    centre = np.zeros(h.d) if h.minimiser is None else h.minimiser
    places = [centre + t * u for t in np.linspace(-30, 30, 601) for u in axes]
    found = [curvature(h, x + 1e-4 * v, x - 1e-4 * v) for x in places for v in axes]
    assert max(np.abs(found)) == pytest.approx(h.L, rel=2e-2)
    assert min(found) == pytest.approx(h.mu, abs=2e-2 * h.L)


@pytest.mark.parametrize("h", FAMILIES.values(), ids=FAMILIES)
def test_the_minimum_is_the_minimum(h: Function) -> None:
    starts = points(h, 6, spread=3.0)
    if h.minimum is None:
        far = [h.value(1e6 * u) for u in (*np.eye(h.d), np.ones(h.d))]
        assert h.minimiser is None and min(far) < -1e10
        return
    found = min(minimize(h.value, x, jac=h.gradient).fun for x in starts)
    assert found >= h.minimum - 1e-12 * (1 + abs(h.minimum))
    if h.minimiser is None:  # an infimum
        assert h.value(-40.0 * np.ones(h.d) * (np.arange(h.d) == 0) - 40.0 * np.ones(h.d)) >= h.minimum
        assert found == pytest.approx(h.minimum, abs=1e-3)
    else:
        assert h.value(h.minimiser) == pytest.approx(h.minimum, abs=1e-14)
        np.testing.assert_allclose(h.gradient(h.minimiser), 0, atol=1e-14)


@pytest.mark.parametrize("h", FAMILIES.values(), ids=FAMILIES)
def test_the_name_builds_the_function(h: Function) -> None:
    again = eval(h.name, vars(functions))
    assert repr(again) == h.name
    assert (again.L, again.mu, again.minimum) == (h.L, h.mu, h.minimum)
    for x in points(h, 5):
        assert again.value(x) == h.value(x)


def test_a_failing_test_prints_the_name() -> None:
    """No addresses of functions: what is printed can be pasted."""

    @settings(SEARCH)
    @given(strategies.strongly_convex(2, 4.0, 1.0))
    def fails(h: Function) -> None:
        raise AssertionError

    with pytest.raises(AssertionError) as caught:
        fails()
    assert "h=quadratic([4.0, 4.0])" in "".join(caught.value.__notes__)


def test_away_from_the_origin_nothing_overflows() -> None:
    far = 1e4
    for build in (functions.logcosh, functions.softplus, lambda d: functions.logistic(d, 0.25)):
        h = build(1)
        values = np.array([h.value([-far]), h.value([far])])
        assert np.isfinite(values).all() and (np.abs(h.gradient([far])) <= 1).all()
    assert functions.logistic(1, 0.25).value([far]) == pytest.approx(0.75 * far, rel=1e-3)
    assert functions.logistic(1, 0.25).value([-far]) == pytest.approx(0.25 * far, rel=1e-3)


def test_at_the_origin_nothing_cancels() -> None:
    u = 1e-7
    for h in (functions.logcosh(1), functions.ripple(1), functions.dip(1), functions.saturating(1)):
        assert h.value([u]) == pytest.approx(u**2 / 2, rel=1e-12)


# --------------------------------------------------------------------------------------------- strategies of functions


def drawn(strategy: SearchStrategy[Any], count: int = 40) -> list[Any]:
    """Some draws, always the same."""
    found: list[Any] = []

    @settings(SEARCH, max_examples=count)
    @given(strategy)
    def draw(value: Any) -> None:
        found.append(value)

    draw()
    return found


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("L", [0.25, 3.0])
@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [("convex", 0.0, 1.0), ("strongly_convex", 0.5, 1.0), ("indefinite", -1.0, 0.0), ("smooth", -1.0, 1.0)],
)
def test_strategies_of_functions_keep_their_promise(kind: str, d: int, L: float, low: float, high: float) -> None:
    request = (d, L, low * L) if kind == "strongly_convex" else (d, L)
    found = drawn(getattr(strategies, kind)(*request), 60)
    for h in found:
        assert h.d == d and h.L <= L * (1 + 1e-12) and (low - 1e-12) * L <= h.mu <= (high + 1e-12) * L
        assert h.mu < 0 if kind == "indefinite" else True
        x, y = np.linspace(-2, 3, d), np.linspace(1, -4, d)
        assert h.mu - 1e-9 * L <= curvature(h, x, y) <= h.L * (1 + 1e-9)
        assert h.minimum is None or h.value(x) >= h.minimum
    assert sum("quadratic(" not in h.name for h in found) >= 10 and sum("quadratic(" in h.name for h in found) >= 5
    assert max(h.L for h in found) == pytest.approx(L)
    if kind in ("indefinite", "smooth"):
        assert any(h.minimum is None for h in found) and any(h.minimum is not None and h.mu < 0 for h in found)


def test_equal_constants_leave_one_quadratic() -> None:
    assert all(h.L == h.mu == 2.0 for h in drawn(strategies.strongly_convex(2, 2.0, 2.0), 10))


# ------------------------------------------------------------------------------------------------ numbers and samples


def test_vectors_and_populations_have_their_shape() -> None:
    assert {x.shape for x in drawn(strategies.vectors(3), 10)} == {(3,)}
    assert {x.shape for x in drawn(strategies.populations(4, 2), 10)} == {(4, 2)}


def test_orders_replay_a_run() -> None:
    problem = from_functions([1.0, 2.0, 0.5], [0.0, 1.0, -1.0])
    for order in drawn(strategies.orders(3, 2, rounds=4), 5):
        assert order.shape == (4, 2) and order.dtype == np.int64
        algorithm = SFL(K=1, eta=[0.1], S=2)
        data = simulations.run(problem, algorithm, rounds=4, x0=1.0, orders=order)
        assert data.attrs["orders"] == str(order.tolist())


# ------------------------------------------------------------------------------------------------ federations


@pytest.mark.parametrize("mu", [1.0, 0.0, -2.0])
@pytest.mark.parametrize(("M", "d"), [(1, 1), (3, 2)])
def test_federations_have_their_constants(M: int, d: int, mu: float) -> None:
    found = drawn(strategies.federations(M, d, 2.0, mu, sigma=0.5), 40)
    for problem in found:
        constants = problem.constants
        assert (problem.M, problem.d) == (M, d)
        assert constants["L"] == pytest.approx(2.0, rel=1e-12) and constants["sigma"] == 0.5
        assert mu - 1e-12 <= constants["curvature"] <= 2.0 + 1e-12
        if mu >= 0:  # a minimiser, and clients' gradients there that sum to zero
            x_star = constants["x_star"]
            np.testing.assert_allclose(problem.full_gradient(x_star), 0, atol=1e-9)
            at_star = np.einsum("mij,j->mi", problem.H, x_star) + problem.b
            assert constants["zeta_star"] == pytest.approx(np.sqrt((at_star**2).sum(-1).mean()))
    if M > 1:
        assert any(p.constants.get("zeta_star", 0) > 0 for p in found)
        assert any(p.constants["delta"] > 0 for p in found)
        assert (mu < 0) == any(p.constants.get("F_star") is None for p in found)


# ------------------------------------------------------------------------------------------------ noise


@pytest.mark.parametrize("d", [1, 2])
def test_noise_laws_are_centred_with_their_variance(d: int) -> None:
    found = drawn(strategies.noise_laws(d), 60)
    for law in found:
        assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-15) and (law.probabilities > 0).all()
        np.testing.assert_allclose(law.mean, 0, atol=1e-13)
        second_moment = sum(p * (u @ u) for p, u in zip(law.probabilities, law.points, strict=True))
        assert law.variance == pytest.approx(second_moment, rel=1e-12, abs=1e-12)
    assert any(law.variance > 0 for law in found) and any(len(law.points) == 3 for law in found)


@pytest.mark.parametrize(("n", "d"), [(1, 2), (3, 1)])
def test_noise_trees_are_adapted(n: int, d: int) -> None:
    """At every node: the conditional mean of x_i is e_i, the conditional variance at most sigma^2, once equal."""
    for tree in drawn(strategies.noise_trees(n, d), 25):
        assert sum(p.probability for p in tree.paths) == pytest.approx(1.0)
        assert all(p.x.shape == p.e.shape == (n, d) for p in tree.paths)
        largest = 0.0
        for i in range(n):
            # e_i is a function of the history; histories that agree up to rounding are told apart by e as well
            histories: dict[tuple[bytes, bytes], list[Any]] = {}
            for path in tree.paths:
                histories.setdefault((path.x[:i].tobytes(), path.e[: i + 1].tobytes()), []).append(path)
            for paths in histories.values():
                weight = sum(p.probability for p in paths)
                mean = sum(p.probability * p.x[i] for p in paths) / weight
                np.testing.assert_allclose(mean, paths[0].e[i], atol=1e-12)
                variance = sum(p.probability * ((p.x[i] - p.e[i]) ** 2).sum() for p in paths) / weight
                assert variance <= tree.sigma**2 * (1 + 1e-9) + 1e-12
                largest = max(largest, variance)
        assert largest <= tree.sigma**2 + 1e-9


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: functions.huber(2).value([1.0]), r"x has shape \(1,\): expected \(2,\), a point of huber\(2\)"),
        (lambda: functions.huber(0), r"d = 0: expected a number of coordinates >= 1"),
        (lambda: functions.logsumexp(1), r"d = 1: expected at least 2"),
        (lambda: functions.logistic(1, 1.0), r"p = 1.0: expected 0 < p < 1"),
        (lambda: functions.quadratic([0.0]), r"curvatures = \[0.0\]: expected a list of numbers, not all zero"),
        (lambda: functions.quadratic([1.0], [1.0, 0.0]), r"for 1 curvatures: expected a vector of that length"),
        (lambda: functions.quadratic([1.0], [0.0]), r"expected a vector other than zero"),
        (lambda: functions.scaled(functions.huber(1), -1.0), r"factor = -1.0: expected a number > 0"),
        (lambda: functions.stretched(functions.huber(1), 0.0), r"width = 0.0: expected a number > 0"),
        (lambda: functions.shifted(functions.huber(1), [1.0, 0.0]), r"centre has shape \(2,\): expected \(1,\)"),
        (lambda: functions.regularised(functions.huber(1), 0.0), r"mu = 0.0: expected a number > 0"),
        (lambda: functions.regularised(functions.softplus(1), 1.0), r"softplus\(1\) is not least at the origin"),
        (
            lambda: functions.regularised(functions.shifted(functions.huber(1), [1.0]), 1.0),
            r"shifted\(huber\(1\), \[1.0\]\) is not least at the origin",
        ),
        (lambda: functions.beside(), r"expected at least one function"),
        (lambda: Function(np.sum, np.ones_like, 1, 1.0, 2.0, None, None, "h"), r"L = 1.0, mu = 2.0: expected L > 0"),
        (
            lambda: Function(np.sum, np.ones_like, 0, 1.0, 0.0, None, None, "h"),
            r"d = 0: expected a number of coordinates >= 1",
        ),
        (lambda: strategies.samples(3, 4), r"S = 4, M = 3: expected S <= M"),
        (lambda: strategies.samples(3, 0), r"S = 0: expected a whole number >= 1"),
        (lambda: strategies.orders(3, 4), r"S = 4, M = 3: expected S <= M"),
        (lambda: strategies.orders(3, 2, rounds=0), r"rounds = 0: expected a whole number >= 1"),
        (lambda: strategies.strongly_convex(1, 1.0, 2.0), r"mu = 2.0, L = 1.0: expected 0 < mu <= L"),
        (lambda: strategies.strongly_convex(1, 1.0, 0.0), r"mu = 0.0, L = 1.0: expected 0 < mu <= L"),
        (lambda: strategies.convex(1, 0.0), r"L = 0.0: expected a finite number > 0"),
        (lambda: strategies.smooth(1, -1.0), r"L = -1.0: expected a finite number > 0"),
        (lambda: strategies.indefinite(1, float("inf")), r"L = inf: expected a finite number > 0"),
        (lambda: strategies.convex(0, 1.0), r"d = 0: expected a whole number >= 1"),
        (lambda: strategies.vectors(0), r"d = 0: expected a whole number >= 1"),
        (lambda: strategies.populations(0, 1), r"n = 0: expected a whole number >= 1"),
        (lambda: strategies.positive(0.0), r"most = 0.0: expected at least"),
        (lambda: strategies.federations(0, 1, 1.0), r"M = 0: expected a whole number >= 1"),
        (lambda: strategies.federations(1, 1, 1.0, mu=2.0), r"mu = 2.0, L = 1.0: expected -L <= mu <= L"),
        (lambda: strategies.federations(1, 1, 1.0, sigma=-1.0), r"sigma = -1.0: expected a finite number >= 0"),
        (lambda: strategies.noise_laws(0), r"d = 0: expected a whole number >= 1"),
        (lambda: strategies.noise_trees(0, 1), r"n = 0: expected a whole number >= 1"),
        (lambda: strategies.federations(1, 1, 1.0, mu="x"), r"mu = x: expected a number"),  # type: ignore[arg-type]
        (lambda: strategies.strongly_convex(1, 1.0, None), r"mu = None: expected a number"),  # type: ignore[arg-type]
    ],
)
def test_the_impossible_is_refused(attempt: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attempt()


def test_numbers_of_every_type_are_arguments() -> None:
    third, three = Fraction(1, 3), np.int8(3)
    made: list[Any] = [
        strategies.positive(third),  # type: ignore[arg-type]  # not a number in half precision
        strategies.vectors(three),  # type: ignore[arg-type]
        strategies.convex(three, third),  # type: ignore[arg-type]
        strategies.strongly_convex(three, 1.0, third),  # type: ignore[arg-type]
        strategies.federations(three, three, np.float32(2), mu=third),  # type: ignore[arg-type]
        strategies.orders(three, three, three),  # type: ignore[arg-type]
        strategies.noise_trees(np.int8(2), three),  # type: ignore[arg-type]
    ]
    for strategy in made:
        strategy.validate()
    found: list[float] = []

    @settings(max_examples=30, deadline=None, database=None)
    @given(made[0])
    def draw(number: float) -> None:
        found.append(number)

    draw()
    assert max(found) <= third
