"""Problems: gradients are gradients, certified constants are what their definitions say, and what is not is refused."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings, strategies as st
from scipy import stats
from scipy.optimize import minimize
from spy import small

from fedtheory.simulations import Certified, Constants, NoSuchConstant, start
from fedtheory.simulations.data import Dataset, from_arrays, load, one_against_rest, scaled
from fedtheory.simulations.draws import Draw, Draws
from fedtheory.simulations.partitions import Partition, dirichlet, iid, shards
from fedtheory.simulations.problems import start_of_clients
from fedtheory.simulations.problems.logistic import Logistic
from fedtheory.simulations.problems.quadratic import Quadratic, from_functions, generate
from fedtheory.simulations.problems.regularised import Regularised
from fedtheory.simulations.problems.sigmoid import SigmoidERM
from fedtheory.simulations.problems.two_part import TwoPart

torch.set_num_threads(1)  # these are small problems
Z = stats.norm.isf(1e-6 / 2)  # two-sided, probability 1e-6


def draw_of(clients: np.ndarray, seeds: object = (0,), step: int = 0) -> Draw:
    return Draws.of_seeds(np.asarray(seeds), 0).of(clients).step(step)


def all_clients(problem: object, x: np.ndarray) -> np.ndarray:
    """Gradients of all clients at x (d,), by the oracle itself: (M, d)."""
    clients = np.arange(problem.M)[None]
    return problem.gradient(np.broadcast_to(x, (1, 1, problem.M, problem.d)), clients, draw_of(clients))[0, 0]


# ------------------------------------------------------------------------------------------------ constants


def test_constants_are_a_mapping() -> None:
    constants = Constants({"L": Certified(2.0, "eigenvalue"), "mu": Certified(None, "not convex")})
    assert dict(constants) == {"L": 2.0} and len(constants) == 1
    assert "L" in constants and "mu" not in constants and "sigma" not in constants
    assert constants.get("mu") is None and constants.get("L") == 2.0
    assert constants.how("mu") == "not convex"
    with pytest.raises(NoSuchConstant, match=r"^mu does not exist: not convex$") as caught:
        constants["mu"]
    assert isinstance(caught.value, ValueError)
    with pytest.raises(NoSuchConstant, match=r"^no constant 'nu' is certified here; there are L, mu$"):
        constants["nu"]


def test_constants_print_as_a_table() -> None:
    entries = {
        "L": Certified(2.0, "eigenvalue"),
        "mu_pl": Certified(None, "flat"),
        "x_star": Certified(np.ones(3), "solved"),
    }
    assert [line.split() for line in str(Constants(entries)).splitlines()] == [
        ["L", "2", "eigenvalue"],
        ["mu_pl", "none", "flat"],
        ["x_star", "3", "numbers", "solved"],
    ]


# ------------------------------------------------------------------------------------------------ quadratics


def random_quadratic(rng: np.random.Generator, d: int, M: int, convex: bool) -> Quadratic:
    """Unrelated clients; the mean is positive definite, some clients indefinite unless `convex`."""
    root = rng.standard_normal((M, d, d))
    H = root @ root.swapaxes(1, 2) / d + 0.1 * np.eye(d)
    if not convex:
        tilt = rng.standard_normal((M, d, d))
        tilt = tilt + tilt.swapaxes(1, 2)
        H = H + tilt - tilt.mean(0)
    return Quadratic(H, rng.standard_normal((M, d)))


def client_gradients(p: Quadratic, x: np.ndarray) -> np.ndarray:
    """From the definition, by automatic differentiation of x'Hx/2 + b'x."""
    out = []
    for H, b in zip(p.H, p.b, strict=True):
        y = torch.tensor(x, requires_grad=True)
        (y @ torch.tensor(H) @ y / 2 + torch.tensor(b) @ y).backward()
        out.append(y.grad.numpy())
    return np.array(out)


CASES = [
    (d, M, convex, seed) for seed, (d, M) in enumerate([(1, 2), (2, 2), (3, 4), (5, 3)]) for convex in (True, False)
]


@pytest.mark.parametrize(("d", "M", "convex", "seed"), CASES)
def test_quadratic_constants_against_brute_force(d: int, M: int, convex: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = random_quadratic(rng, d, M, convex)
    c = p.constants
    F = lambda x: np.mean([x @ H @ x / 2 + b @ x for H, b in zip(p.H, p.b, strict=True)])  # noqa: E731
    found = minimize(F, rng.standard_normal(d), tol=1e-12)
    np.testing.assert_allclose(found.x, c["x_star"], atol=1e-5)
    assert found.fun == pytest.approx(c["F_star"], abs=1e-9) and found.fun >= c["F_star"] - 1e-12
    at_star = client_gradients(p, c["x_star"])
    assert np.abs(at_star.mean(0)).max() < 1e-12
    assert np.sqrt(np.mean(np.sum(at_star**2, axis=1))) == pytest.approx(c["zeta_star"], rel=1e-12)
    # the largest and smallest Rayleigh quotients, by optimisation
    quotient = lambda u, H: u @ H @ u / (u @ u)  # noqa: E731

    def least(H: np.ndarray) -> float:
        return min(minimize(quotient, rng.standard_normal(d), args=(H,), tol=1e-12).fun for _ in range(4))

    lows, highs = [least(H) for H in p.H], [-least(-H) for H in p.H]
    assert max(*highs, -min(lows)) == pytest.approx(c["L"], rel=1e-7)
    assert min(lows) == pytest.approx(c["curvature"], rel=1e-6, abs=1e-8)
    assert ("mu" in c) == (c["curvature"] > 0)
    assert "mu" not in c or c["mu"] == c["curvature"]
    mean = p.H.mean(0)
    assert max(max(-least(mean - H), -least(H - mean)) for H in p.H) == pytest.approx(c["delta"], rel=1e-6)


def test_quadratic_values_and_gradients() -> None:
    rng = np.random.default_rng(0)
    p = random_quadratic(rng, 3, 4, convex=False)
    x = rng.standard_normal((5, 6, 3))
    value, gradient = p.value(x), p.full_gradient(x)
    for i in np.ndindex(5, 6):
        each = client_gradients(p, x[i])
        np.testing.assert_allclose(gradient[i], each.mean(0), rtol=1e-12, atol=1e-13)
        assert value[i] == pytest.approx(
            np.mean([x[i] @ H @ x[i] / 2 + b @ x[i] for H, b in zip(p.H, p.b, strict=True)])
        )
    client = rng.integers(4, size=6)  # one a seed
    got = p.gradient(x, client, draw_of(client, range(6)))
    for i in np.ndindex(5, 6):
        np.testing.assert_allclose(got[i], client_gradients(p, x[i])[client[i[1]]], rtol=1e-12, atol=1e-13)
    for clients in (np.array([[2, 0]]), rng.integers(4, size=(6, 2))):  # shared by all seeds; several a seed
        X = rng.standard_normal((5, 6, 2, 3))
        got = p.gradient(X, clients, draw_of(clients, range(6)))
        for i in np.ndindex(5, 6, 2):
            m = np.broadcast_to(clients, (6, 2))[i[1:]]
            np.testing.assert_allclose(got[i], client_gradients(p, X[i])[m], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("d", [1, 4, 5])
def test_additive_noise(d: int) -> None:
    """Mean zero, E||noise||^2 = sigma^2 exactly, even over coordinates, different by client, alike over step sizes."""
    p = generate(d, 3, L=1 + (d > 1), mu=1, sigma=2.5)
    clients, N = np.arange(3)[None], 60_000
    x = np.zeros((2, N, 3, d))
    noise = p.gradient(x, clients, draw_of(clients, range(N))) - p.b
    np.testing.assert_array_equal(noise[0], noise[1])
    noise = noise[0]
    each = noise / (2.5 / np.sqrt(d))
    for m in range(3):
        squares = (noise[:, m] ** 2).sum(-1)
        assert abs(squares.mean() / 2.5**2 - 1) < Z * np.sqrt(2 / (N * d))
        assert np.abs(each[:, m].mean(0)).max() < Z / np.sqrt(N)
        assert np.abs((each[:, m] ** 2).mean(0) - 1).max() < Z * np.sqrt(2 / N)
    covariance = np.cov(each.reshape(N, -1), rowvar=False)
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < Z / np.sqrt(N)
    assert abs((1.06 * squares).mean() / 2.5**2 - 1) > Z * np.sqrt(2 / (N * d))  # 3 % more sigma is seen


def excess(p: Quadratic, beta: float, x: np.ndarray) -> float:
    """Left side of Assumption 3a minus beta^2 ||grad F||^2, from the definitions."""
    g = np.array([H @ x + b for H, b in zip(p.H, p.b, strict=True)])
    return float(((g - g.mean(0)) ** 2).sum(1).mean() - beta**2 * (g.mean(0) ** 2).sum())


def worst(p: Quadratic, beta: float, rng: np.random.Generator) -> float:
    """The largest excess over x that an optimiser can find."""
    starts = [rng.standard_normal(p.d) * scale for scale in (0.1, 1, 10)]
    return max(-minimize(lambda x: -excess(p, beta, x), x, tol=1e-10).fun for x in starts)


@pytest.mark.parametrize(("d", "M", "convex", "seed"), CASES)
@pytest.mark.parametrize("factor", [None, 1.2, 5.0])
def test_assumption_3a_holds_and_is_tight(d: int, M: int, convex: bool, seed: int, factor: float | None) -> None:
    rng = np.random.default_rng(seed)
    p = random_quadratic(rng, d, M, convex)
    doubled = p.heterogeneity()[0].value  # twice the smallest beta^2
    beta, zeta = (c.value for c in p.heterogeneity(factor and doubled * np.sqrt(factor / 2)))
    assert factor or (beta == p.constants["beta"] and zeta == p.constants["zeta"])
    assert zeta > 0
    for scale in 10.0 ** np.arange(-4, 7):
        x = rng.standard_normal((50, d)) * scale
        for y in x:
            bound = zeta**2 + beta**2 * (p.full_gradient(y) ** 2).sum()
            assert excess(p, beta, y) - zeta**2 <= 1e-12 * bound
    top = worst(p, beta, rng)
    assert top <= zeta**2 * (1 + 1e-9)
    assert top > (0.999 * zeta) ** 2  # a smaller zeta is violated


@pytest.mark.parametrize(("d", "M", "convex", "seed"), CASES)
def test_beta_below_the_smallest(d: int, M: int, convex: bool, seed: int) -> None:
    """No zeta then, and the excess is seen to grow without bound; just above, there is one."""
    rng = np.random.default_rng(seed)
    p = random_quadratic(rng, d, M, convex)
    smallest = p.heterogeneity()[0].value / np.sqrt(2)
    assert p.heterogeneity(smallest * 1.001)[1].value is not None
    none = p.heterogeneity(smallest * 0.999)[1]
    assert none.value is None and "smallest beta^2" in none.how
    H = p.H.mean(0)
    P = np.mean([(G - H).T @ (G - H) for G in p.H], axis=0)
    inverse = np.linalg.inv(H)
    u = inverse @ np.linalg.eigh(inverse @ P @ inverse)[1][:, -1]
    growth = [excess(p, 0.999 * smallest, t * u) for t in (1e5, 1e6, 1e7)]
    assert growth[2] > 50 * growth[1] > 2500 * growth[0] > 0
    # at the smallest beta itself the mixed term is outside the range (generically), and that is said
    assert p.heterogeneity(smallest)[1].value is None


@pytest.mark.parametrize("difference", [1e-1, 1e-5, 1e-7, 1e-9])
def test_slight_heterogeneity_is_not_rounded_away(difference: float) -> None:
    """H_m = 1 +- difference: the smallest beta is the difference itself."""
    p = from_functions([(1 + difference) / 2, (1 - difference) / 2], [1.0, -1.0])
    beta, zeta = p.constants["beta"], p.constants["zeta"]
    assert beta**2 == pytest.approx(2 * difference**2, rel=1e-5)
    assert zeta**2 == pytest.approx(2, rel=1e-5)  # 1 + difference^2 / (2 difference^2 - difference^2)
    for x in (0.0, 1 / difference, -1 / difference, 1e3 / difference):
        assert excess(p, beta, np.array([x])) <= zeta**2 * (1 + 1e-5)


@pytest.mark.parametrize("unit_of_F", [1e-12, 1e-6, 1.0, 1e9])
@pytest.mark.parametrize("unit_of_x", [1e-10, 1.0, 1e10])
@pytest.mark.parametrize("case", ["regular", "indefinite", "flat", "unbounded", "no beta", "no zeta", "mixed term"])
def test_constants_do_not_depend_on_units(unit_of_F: float, unit_of_x: float, case: str) -> None:
    """F in units of a and x in units of t: each constant scales by its dimension, and none appears or disappears."""
    rng = np.random.default_rng(1)
    p = random_quadratic(rng, 2, 3, convex=case == "regular")
    singular = np.array([np.diag([1.0, 0.0]), np.diag([3.0, 0.0])])
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    singular = turn @ singular @ turn.T
    if case == "flat":
        p = Quadratic(singular, np.array([[1.0, 1e-3], [2.0, -1e-3]]) @ turn.T)
    elif case == "unbounded":
        p = Quadratic(singular, np.array([[1.0, 1e-3], [2.0, 0.0]]) @ turn.T)
    elif case == "no beta":
        p = Quadratic(np.array([np.diag([1.0, 0.1]), np.diag([1.0, -0.1])]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    a, t = unit_of_F, unit_of_x
    q = Quadratic(p.H / a * t**2, p.b / a * t)
    # beta^2 is twice the smallest: below the smallest no zeta exists, and at it the mixed term stands in the way
    beta = {"no zeta": 0.5, "mixed term": np.sqrt(0.5)}.get(case, 0.0) * p.constants.get("beta", 0.0) or None
    one, two = (
        {**r.constants.entries, **dict(zip(("beta", "zeta"), r.heterogeneity(beta), strict=True))} for r in (p, q)
    )
    assert (one["F_star"].value is None) == (case == "unbounded")
    assert (one["beta"].value is None) == (case == "no beta")
    assert (one["zeta"].value is None) == (case in ("no beta", "no zeta", "mixed term"))
    units = {"L": t**2 / a, "mu": t**2 / a, "curvature": t**2 / a, "delta": t**2 / a, "beta": 1.0, "zeta": t / a}
    units |= {"zeta_star": t / a, "F_star": 1 / a, "x_star": 1 / t, "sigma": 1.0}
    for name, unit in units.items():
        assert (one[name].value is None) == (two[name].value is None), name
        if one[name].value is not None:
            np.testing.assert_allclose(
                two[name].value, one[name].value * unit, rtol=1e-8, atol=1e-12 * unit, err_msg=name
            )


def test_unbounded_and_flat_means() -> None:
    falling = from_functions([1.0, -2.0], [0.0, 0.0])  # F = -x^2/2
    sloped = from_functions([1.0, -1.0], [1.0, 0.0])  # F = x/2
    for p in (falling, sloped):
        for name in ("F_star", "x_star", "zeta_star", "mu"):
            assert name not in p.constants
        with pytest.raises(NoSuchConstant, match="F is unbounded below"):
            p.constants["F_star"]
        with pytest.raises(NoSuchConstant, match="unbounded below"):
            start(p, 1.0)["A"]
        with pytest.raises(NoSuchConstant, match="unbounded below"):
            start(p, 1.0)["D"]
    assert falling.constants["L"] == 4 and falling.constants["curvature"] == -4
    flat = Quadratic(np.array([np.diag([2.0, 0.0])] * 2), np.array([[1.0, 5.0], [3.0, -5.0]]))
    np.testing.assert_allclose(flat.constants["x_star"], [-1, 0], atol=1e-15)
    assert "least norm" in flat.constants.how("x_star") and flat.constants["F_star"] == pytest.approx(-1)
    assert "mu" not in flat.constants and "not strongly convex" in flat.constants.how("mu")
    nothing = Quadratic(np.zeros((2, 1, 1)), np.zeros((2, 1)))
    assert nothing.constants["F_star"] == 0 and nothing.constants["L"] == 0


def test_start() -> None:
    p = from_functions([1.0, 1.0], [2.0, 4.0])  # F = x^2 + 3x, x_star = -3/2, F_star = -9/4
    for x0 in ([2.0], 2.0):
        begin = start(p, x0)
        assert begin["D"] == pytest.approx(3.5) and begin["A"] == pytest.approx(10 + 2.25)


def test_start_of_clients() -> None:
    p = from_functions([1.0, 2.0], [2.0, -4.0])  # x^2 + 2x, least at -1: -1; 2x^2 - 4x, least at 1: -2
    begin = start_of_clients(p, 2.0)
    assert begin["fj_gap_mean"] == pytest.approx((9 + 2) / 2) and begin["dist_sq_mean"] == pytest.approx((9 + 1) / 2)
    assert begin["het_start"] == pytest.approx(1)  # gradients 6 and 4
    assert start(p, 2.0)["w0_norm"] == 2 and start(p, 2.0)["w_star_norm"] == pytest.approx(1 / 3)
    flat = Quadratic(np.array([np.diag([2.0, 0.0]), np.eye(2)]), np.array([[2.0, 0.0], [0.0, 0.0]]))
    assert start_of_clients(flat, 0.0)["dist_sq_mean"] == pytest.approx(1 / 2)  # (-1, 0), of least norm, and (0, 0)
    falling = from_functions([1.0, -0.5], [0.0, 0.0])
    assert start_of_clients(falling, 1.0)["het_start"] == pytest.approx(1.5**2)
    with pytest.raises(NoSuchConstant, match=r"F_m is unbounded below for the clients \[1\]"):
        start_of_clients(falling, 1.0)["fj_gap_mean"]


def test_a_polyak_constant() -> None:
    singular = Quadratic(np.array([np.diag([3.0, 0.5, 0.0])] * 2), np.array([[1.0, 1.0, 0.0]] * 2))
    assert "mu" not in singular.constants and singular.constants["mu_pl"] == pytest.approx(0.5)
    rng = np.random.default_rng(0)
    p = random_quadratic(rng, 4, 3, convex=False)
    x = rng.standard_normal((1000, 4)) * 10 + p.constants["x_star"]
    gap, square = p.value(x) - p.constants["F_star"], (p.full_gradient(x) ** 2).sum(-1)
    assert (square / 2 >= p.constants["mu_pl"] * gap * (1 - 1e-9)).all()
    flattest = p.constants["x_star"] + np.linalg.eigh(p.mean[0])[1][:, 0]
    tight = (p.full_gradient(flattest) ** 2).sum() / 2 / (p.value(flattest) - p.constants["F_star"])
    assert p.constants["mu_pl"] == pytest.approx(tight, rel=1e-9)
    assert "every mu will do" in Quadratic(np.zeros((2, 1, 1)), np.zeros((2, 1))).constants.how("mu_pl")
    assert "unbounded below" in from_functions([1.0, -2.0], [0.0, 0.0]).constants.how("mu_pl")


def test_the_clients_of_a_logistic_regression() -> None:
    dataset = scaled(load("breast_cancer"))
    p = Logistic(dataset, iid(dataset.labels, 3, seed=0), regularisation=0.1)
    x = np.linspace(-1, 1, p.d)
    minimisers, least = p.client_minima
    for m, point in enumerate(minimisers.value):
        np.testing.assert_allclose(p.client_gradients(point)[m], 0, atol=1e-9)
        assert p.client_values(point)[m] == pytest.approx(least.value[m], rel=1e-12)
    assert p.client_values(x).mean() == pytest.approx(float(p.value(x)), rel=1e-12)
    begin = start_of_clients(p, x)
    assert begin["fj_gap_mean"] == pytest.approx((p.client_values(x) - least.value).mean(), rel=1e-12)
    assert begin["dist_sq_mean"] == pytest.approx(((x - minimisers.value) ** 2).sum(1).mean(), rel=1e-12)
    assert p.constants["mu_pl"] == p.constants["mu"]


def test_a_problem_that_does_not_know_its_clients() -> None:
    dataset = load("digits")
    net = TwoPart(dataset, iid(dataset.labels, 3, seed=0), hidden=2)
    with pytest.raises(NoSuchConstant, match="the clients' own functions are not known for two-layer network"):
        start_of_clients(net, 0.0)["het_start"]


@pytest.mark.parametrize(
    ("build", "given_", "message"),
    [
        (Quadratic, (np.zeros((2, 3, 3)), np.zeros((2, 2))), r"\(2, 3, 3\) and b \(2, 2\)"),
        (Quadratic, (np.zeros((2, 3)), np.zeros((2, 3))), r"\(2, 3\)"),
        (Quadratic, (np.zeros((0, 1, 1)), np.zeros((0, 1))), r"\(0, 1, 1\)"),
        (Quadratic, (np.array([[[np.nan]]]), np.zeros((1, 1))), r"H\[0, 0, 0\] = nan: expected"),
        (Quadratic, (np.array([[[0.0, 1.0], [0.0, 0.0]]]), np.zeros((1, 2))), "not symmetric"),
        (Quadratic, (1e-14 * np.array([[[0.0, 1.0], [0.0, 0.0]]]), np.zeros((1, 2))), "not symmetric"),
        (Quadratic, (np.eye(1)[None], np.zeros((1, 1)), -1.0), r"sigma = -1\.0"),
        (Quadratic, (np.eye(1)[None], np.zeros((1, 1)), np.nan), "sigma = nan"),
        (from_functions([1.0], [0.0]).heterogeneity, (-1.0,), "beta = -1.0"),
        (from_functions([1.0], [0.0]).heterogeneity, (np.nan,), "beta = nan"),
    ],
)
def test_malformed_quadratics(build: Callable[..., object], given_: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(*given_)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_generate_attains_what_is_asked(data: st.DataObject) -> None:
    unit = 10.0 ** data.draw(st.integers(-4, 4))
    d, M = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 7))
    mu = data.draw(st.floats(-0.4, 1))
    if M == 1:
        delta = 0.0
    elif d == 1:
        delta = (1 - mu) / 2
    else:
        delta = data.draw(st.floats(0, (1 - mu) / 2))
    if d == 1 and M == 1:
        mu = 1.0
    assume(mu + delta > 1e-3 and (delta == 0 or delta > 1e-6) and abs(mu) > 1e-6)
    zeta_star = data.draw(st.sampled_from([0.0, 1e-3, 1.0, 50.0])) if M > 1 else 0.0
    x_star = np.array(data.draw(st.lists(st.floats(-10, 10), min_size=d, max_size=d)))
    p = generate(
        d, M, L=unit, mu=mu * unit, delta=delta * unit, zeta_star=zeta_star * unit, x_star=x_star, sigma=0.5,
        seed=data.draw(st.integers(0, 1000)),
    )  # fmt: skip
    assert (p.M, p.d, p.sigma) == (M, d, 0.5)
    values = np.linalg.eigvalsh(p.H) / unit
    assert values.max() == pytest.approx(1, rel=1e-12) and values.min() == pytest.approx(mu, abs=1e-12)
    mean = p.H.mean(0)
    norms = [np.linalg.norm(H - mean, 2) for H in p.H]
    assert max(norms) / unit == pytest.approx(delta, abs=1e-12)
    # x_star is known to rounding of b / (smallest eigenvalue of the mean), <= 1e-16 * 1e2 / 1e-3
    np.testing.assert_allclose(np.linalg.solve(mean, -p.b.mean(0)), x_star, atol=1e-10)
    at_star = np.array([H @ x_star + b for H, b in zip(p.H, p.b, strict=True)]) / unit
    assert np.sqrt((at_star**2).sum(1).mean()) == pytest.approx(zeta_star, abs=1e-12)
    c = p.constants
    certified = [c[name] / unit for name in ("L", "curvature", "delta", "zeta_star")]
    np.testing.assert_allclose(certified, [1, mu, delta, zeta_star], rtol=1e-9, atol=1e-10)
    assert ("mu" in c) == (mu > 0)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"d": 0}, r"d = 0: expected"),
        ({"M": 0}, r"M = 0: expected"),
        ({"L": np.nan}, "L = nan"),
        ({"zeta_star": np.inf}, "zeta_star = inf"),
        ({"L": -1.0}, r"L=-1\.0"),
        ({"mu": 3.0}, r"mu=3\.0"),
        ({"zeta_star": -1.0}, r"zeta_star=-1\.0"),
        ({"delta": -0.1}, r"delta=-0\.1"),
        ({"mu": -3.0, "delta": 2.5}, r"mu = -3\.0, L = 2\.0"),
        ({"mu": -0.5, "delta": 0.1}, r"mu = -0\.5, delta = 0\.1.*mu \+ delta"),
        ({"mu": -0.5, "delta": 0.5}, r"mu = -0\.5, delta = 0\.5.*mu \+ delta"),
        ({"delta": 0.96}, r"delta = 0\.96: expected at most \(L - mu\)/2 = 0\.95"),
        ({"M": 1, "delta": 0.5}, r"M = 1 with delta = 0\.5"),
        ({"M": 1, "zeta_star": 1.0}, r"M = 1 with .*zeta_star = 1\.0"),
        ({"d": 1, "delta": 0.5}, r"d = 1 with L = 2\.0, mu = 0\.1, delta = 0\.5"),
        ({"x_star": [1.0]}, r"x_star has shape \(1,\): expected \(3,\)"),
        ({"sigma": -1.0}, r"sigma = -1\.0"),
    ],
)
def test_generate_refuses(request_: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generate(**{"d": 3, "M": 4, "L": 2.0, "mu": 0.1} | request_)


# ---------------------------------------------------------------------------------------------------- data


BINARY, DIGITS = small("breast_cancer", 60, 5, 2), small("digits", 70, 6, 4)
PROBLEMS = {
    "binary": Logistic(BINARY, dirichlet(BINARY.labels, 6, 0.5, 1), 0.05),
    "digits": Logistic(DIGITS, dirichlet(DIGITS.labels, 5, 0.5, 2), 0.1),
    "network": TwoPart(DIGITS, dirichlet(DIGITS.labels, 5, 0.5, 2), 3, 0.01),
    "binary network": TwoPart(BINARY, iid(BINARY.labels, 7, 0), 2),
    "sigmoid": SigmoidERM(BINARY, dirichlet(BINARY.labels, 6, 0.5, 1), 0.05),
}


@pytest.fixture(params=list(PROBLEMS))
def problem(request: pytest.FixtureRequest) -> Logistic | TwoPart:
    return PROBLEMS[request.param]


@pytest.fixture(params=["binary", "digits", "sigmoid"])
def logistic(request: pytest.FixtureRequest) -> Logistic:
    return PROBLEMS[request.param]


def torch_loss(p: Logistic | TwoPart, x: torch.Tensor, rows: np.ndarray) -> torch.Tensor:
    """Mean loss over some samples, by torch's own loss functions."""
    A, y = torch.tensor(p.dataset.features[rows]), torch.tensor(p.dataset.labels[rows])
    if isinstance(p, TwoPart):
        U, V = x[: p.cut].reshape(-1, p.hidden), x[p.cut :].reshape(p.hidden, -1)
        loss = torch.nn.functional.cross_entropy(torch.tanh(A @ U) @ V, y)
    elif isinstance(p, SigmoidERM):
        loss = torch.sigmoid((1 - 2 * y) * (A @ x)).mean()
    elif p.dataset.classes == 2:
        loss = torch.nn.functional.binary_cross_entropy_with_logits(A @ x, y.double())
    else:
        loss = torch.nn.functional.cross_entropy(A @ x.reshape(-1, p.dataset.classes), y)
    return loss + p.regularisation / 2 * (x @ x)


def torch_gradient(p: Logistic | TwoPart, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    y = torch.tensor(x, requires_grad=True)
    torch_loss(p, y, rows).backward()
    return y.grad.numpy()


def test_sizes_differ(problem: Logistic | TwoPart) -> None:
    """The cases below are worth something only if the clients' sizes differ."""
    assert len(set(problem.shards.sizes)) > 1


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 30.0])
def test_gradient_and_value_against_torch(problem: Logistic | TwoPart, scale: float) -> None:
    x = scale * np.random.default_rng(0).standard_normal((2, 3, problem.d))
    clients = np.arange(problem.M)[None]
    parallel = np.repeat(x[:, :, None], problem.M, axis=2)
    got = problem.gradient(parallel, clients, draw_of(clients, range(3)))
    value, full = problem.value(x), problem.full_gradient(x)
    for i in np.ndindex(2, 3):
        each = np.array([torch_gradient(problem, x[i], rows) for rows in problem.partition.clients])
        losses = [torch_loss(problem, torch.tensor(x[i]), rows).item() for rows in problem.partition.clients]
        np.testing.assert_allclose(got[i], each, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(full[i], each.mean(0), rtol=1e-10, atol=1e-12)  # clients count equally
        assert value[i] == pytest.approx(np.mean(losses), rel=1e-12)
        if isinstance(problem, Logistic):
            np.testing.assert_allclose(problem.client_values(x[i]), losses, rtol=1e-12)
            np.testing.assert_allclose(problem.client_gradients(x[i]), each, rtol=1e-10, atol=1e-12)
    one = np.array([2, 0, 1])  # a client of its own for each seed
    got = problem.gradient(x, one, draw_of(one, range(3)))
    for i in np.ndindex(2, 3):
        expected = torch_gradient(problem, x[i], problem.partition.clients[one[i[1]]])
        np.testing.assert_allclose(got[i], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["quadratic", "binary", "digits", "sigmoid"])
def test_gradients_of_given_clients_and_samples(name: str) -> None:
    """Exact, whatever the noise; for clients of each seed, shared clients, a single client; also of some samples."""
    rng = np.random.default_rng(3)
    plain = random_quadratic(rng, 3, 4, convex=False)
    p = replace(plain, sigma=1.0) if name == "quadratic" else replace(PROBLEMS[name], batch=2)
    for shape in ((3, 4), (1, p.M), (3,), (3, 2, 2)):
        client = rng.integers(0, p.M, shape)
        x = rng.standard_normal((2, 3, *shape[1:], p.d))
        every, got = np.broadcast_to(client, (3, *shape[1:])), p.local_gradient(x, client)
        assert got.shape == x.shape
        if name != "quadratic":
            samples = np.array([rng.integers(0, n, 2) for n in p.sizes[client].ravel()]).reshape(*shape, 2)
            of_samples, whole = p.sample_gradient(x, client, samples), p.sample_gradient(x, client, None)
            chosen = np.broadcast_to(samples, (3, *shape[1:], 2))
            np.testing.assert_allclose(whole, got, rtol=1e-12)
        for place in np.ndindex(2, *every.shape):
            m = every[place[1:]]
            if name == "quadratic":
                expected = client_gradients(p, x[place])[m]
            else:
                rows = p.partition.clients[m]
                expected = torch_gradient(p, x[place], rows)
                some = torch_gradient(p, x[place], rows[chosen[place[1:]]])
                np.testing.assert_allclose(of_samples[place], some, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(got[place], expected, rtol=1e-10, atol=1e-12)


def test_mini_batch_gradient_against_torch(problem: Logistic | TwoPart) -> None:
    """The gradient of the samples drawn, repeated as often as they are drawn; drawn from the client's own."""
    p = replace(problem, batch=4)
    x = np.random.default_rng(0).standard_normal((2, 3, p.M, p.d))
    clients = np.arange(p.M)[None]
    draw = draw_of(clients, range(3), step=2)
    got, rows = p.gradient(x, clients, draw), draw.integers(p.shards.sizes[clients], 4)
    for e, n, m in np.ndindex(2, 3, p.M):
        samples = p.partition.clients[m][rows[n, m]]
        np.testing.assert_allclose(got[e, n, m], torch_gradient(p, x[e, n, m], samples), rtol=1e-10, atol=1e-12)


def test_hessian_against_torch(logistic: Logistic) -> None:
    p = logistic
    for scale in (0.0, 1.0, 5.0):
        x = scale * np.random.default_rng(0).standard_normal(p.d)
        H = np.mean(
            [
                torch.autograd.functional.hessian(lambda y, rows=rows: torch_loss(p, y, rows), torch.tensor(x)).numpy()
                for rows in p.partition.clients
            ],
            axis=0,
        )
        np.testing.assert_allclose(p.hessian(x), H, rtol=1e-10, atol=1e-13)
        values = np.linalg.eigvalsh(H)
        assert values.min() >= p.constants["curvature"] - 1e-12 and values.max() <= p.constants["L"]


def points(p: Logistic) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    minimisers = [p.constants["x_star"]] if "x_star" in p.constants else []
    return [*minimisers, np.zeros(p.d)] + [s * rng.standard_normal(p.d) for s in (0.1, 1, 10, 1e3) for _ in "abc"]


def test_smoothness_of_every_client(logistic: Logistic) -> None:
    for x in points(logistic):
        for rows in logistic.partition.clients:
            H = torch.autograd.functional.hessian(lambda y, r=rows: torch_loss(logistic, y, r), torch.tensor(x)).numpy()
            assert np.linalg.norm(H, 2) <= logistic.constants["L"] * (1 + 1e-12)
            assert np.linalg.eigvalsh(H)[0] >= logistic.constants["curvature"] - 1e-12


@pytest.mark.parametrize("batch", [None, 1, 3])
def test_variance_bound(logistic: Logistic, batch: int | None) -> None:
    p = replace(logistic, batch=batch)
    sigma = p.constants["sigma"]
    if batch is None:
        assert sigma == 0
        return
    for x in points(p):
        for rows in p.partition.clients:
            each = np.array([torch_gradient(p, x, np.array([row])) for row in rows])
            assert ((each - each.mean(0)) ** 2).sum(1).mean() / batch <= sigma**2


@pytest.mark.parametrize("name", ["binary", "digits"])
def test_heterogeneity(name: str) -> None:
    p = PROBLEMS[name]
    beta, zeta = p.constants["beta"], p.constants["zeta"]
    for x in points(p):
        g = all_clients(p, x)
        np.testing.assert_allclose(p.client_gradients(x), g, rtol=1e-10, atol=1e-12)
        assert ((g - g.mean(0)) ** 2).sum(1).mean() <= beta**2 * (g.mean(0) ** 2).sum() + zeta**2
    at_star = np.array([torch_gradient(p, p.constants["x_star"], rows) for rows in p.partition.clients])
    assert p.constants["zeta_star"] == pytest.approx(np.sqrt((at_star**2).sum(1).mean()), rel=1e-12)
    assert p.constants["zeta_star"] <= zeta


def test_logistic_bounds_are_nearly_attained() -> None:
    """Orthonormal samples: L at x = 0 exactly, sigma and zeta up to a factor 1 - 1/n, so the bounds have no room."""
    n = 40
    data = Dataset("orthonormal", np.eye(n), np.arange(n) % 2, 2, "made here")
    x = np.where(data.labels == 0, 1e3, -1e3).astype(float)  # every sample misclassified, every residual 1
    alone = Logistic(data, iid(data.labels, n, 0), 1e-3, batch=1)
    together = Logistic(data, iid(data.labels, 1, 0), 1e-3, batch=1)
    each = np.array([torch_gradient(together, x, np.array([row])) for row in range(n)])
    variance = ((each - each.mean(0)) ** 2).sum(1).mean()
    assert variance == pytest.approx((1 - 1 / n) * together.constants["sigma"] ** 2)
    assert variance == pytest.approx((1 - 1 / n) * alone.constants["zeta"] ** 2)
    H = torch.autograd.functional.hessian(lambda y: torch_loss(alone, y, np.array([3])), torch.zeros(n).double())
    assert torch.linalg.norm(H, 2).item() == pytest.approx(alone.constants["L"], rel=1e-12)
    # softmax: residual of norm^2 2, and curvature 1/2 between two equal scores far above the third
    three = Dataset("three classes", np.array([[2.0]]), np.array([0]), 3, "made here")
    p = Logistic(three, iid(three.labels, 1, 0), 1e-3, batch=1)
    wrong = torch_gradient(p, np.array([-500.0, 500.0, 0.0]), np.array([0])) - 1e-3 * np.array([-500.0, 500.0, 0.0])
    assert wrong @ wrong == pytest.approx(p.constants["sigma"] ** 2)
    assert np.linalg.norm(p.hessian(np.array([100.0, 100.0, 0.0])), 2) == pytest.approx(p.constants["L"], rel=1e-12)


@pytest.mark.parametrize("regularisation", [1e-5, 1e-2, 10.0])
def test_newton_certificate(regularisation: float) -> None:
    """Within the stated error of a minimiser found by another method, on the whole data set."""
    data = load("breast_cancer")
    p = Logistic(data, iid(data.labels, 9, 0), regularisation)
    x, how = p.constants["x_star"], p.constants.how("x_star")
    stated = float(re.search(r"error\|\| <= (\S+)", how)[1])
    residual = np.mean([torch_gradient(p, x, rows) for rows in p.partition.clients], axis=0)
    assert np.linalg.norm(residual) <= 1e-11 and stated <= 1e-11 / regularisation
    found = minimize(p.value, np.zeros(p.d), jac=p.full_gradient, hess=p.hessian, method="trust-exact", tol=1e-9)
    assert np.linalg.norm(found.x - x) <= stated + np.linalg.norm(found.jac) / regularisation
    assert p.constants["F_star"] <= found.fun + 1e-15


def test_digits_whole() -> None:
    data = load("digits")
    p = Logistic(data, iid(data.labels, 10, 0), 0.01, batch=8)
    assert p.d == 640
    assert np.linalg.norm(p.full_gradient(p.constants["x_star"])) < 1e-11
    assert np.linalg.eigvalsh(p.hessian(np.zeros(640))).max() <= p.constants["L"]


def test_no_constants_of_a_network() -> None:
    p = PROBLEMS["network"]
    assert dict(p.constants) == {"sigma": 0.0}
    assert "sigma" not in replace(p, batch=2).constants
    with pytest.raises(NoSuchConstant, match="not certified for a neural network"):
        p.constants["L"]


@pytest.mark.parametrize(("kind", "given_"), [(Logistic, 0.1), (SigmoidERM, 0.1), (TwoPart, 2)])
def test_malformed_data_problems(kind: type, given_: float) -> None:
    def make(data: Dataset, dealt: Partition, **settings_: object) -> object:
        return kind(data, dealt, given_, **settings_)

    empty = Partition((np.arange(60), np.array([], dtype=np.int64)), "all to the first")
    with pytest.raises(ValueError, match=r"clients \[1\] of all to the first have no samples"):
        make(BINARY, empty)
    with pytest.raises(ValueError, match=r"deals out 40 samples, breast_cancer has 60"):
        make(BINARY, iid(BINARY.labels[:40], 3, 0))
    for batch in (0, -1, 2.5):
        with pytest.raises(ValueError, match=f"batch = {batch}"):
            make(BINARY, iid(BINARY.labels, 3, 0), batch=batch)


def test_malformed_regularisation_and_width() -> None:
    dealt = iid(BINARY.labels, 3, 0)
    for regularisation in (0.0, -1.0, np.nan, np.inf):
        for kind in (Logistic, SigmoidERM):
            with pytest.raises(ValueError, match=f"regularisation = {regularisation}"):
                kind(BINARY, dealt, regularisation)
    for regularisation in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"regularisation = {regularisation}"):
            TwoPart(BINARY, dealt, 2, regularisation)
    for hidden in (0, 1.5):
        with pytest.raises(ValueError, match=f"hidden = {hidden}"):
            TwoPart(BINARY, dealt, hidden)


def test_blocks_cover_all_coordinates() -> None:
    for p in [*PROBLEMS.values(), generate(3, 2, L=1, mu=0.5)]:
        assert [c for s in p.blocks.values() for c in range(p.d)[s]] == list(range(p.d))


def test_problems_are_shown_in_one_line() -> None:
    data = from_arrays(np.ones((60, 3)) * np.arange(60)[:, None], np.arange(60) % 2)
    dealt = iid(data.labels, 4, 0)
    plain = generate(20, 4, L=1.0, mu=0.1)
    shown = (data, dealt, Logistic(data, dealt, 0.1), SigmoidERM(data, dealt, 0.1), plain, Regularised(plain, 0.1))
    for one in shown:
        assert repr(one).startswith(f"<{type(one).__name__}: ") and len(repr(one)) < 200 and "\n" not in repr(one)
    assert repr(shown[2]).endswith("IID, 4 clients, seed 0, exact gradients; d = 3, M = 4>")
    little = Quadratic(np.eye(1)[None] * 2, np.ones((1, 1)), 0.5, "little")  # a witness shows its numbers
    assert repr(eval(repr(little))) == repr(little) == "Quadratic([[[2.0]]], [[1.0]], sigma=0.5, name='little')"
    assert repr(plain.constants) == str(plain.constants) and "largest eigenvalue" in repr(plain.constants)


# The constant G: (1/M) sum ||grad F_m(x) - grad F(x)||^2 <= G^2 for all x; it holds, it is exact or not far off


def deviation(problem: Any, x: np.ndarray) -> float:
    """The root of (1/M) sum ||grad F_m(x) - grad F(x)||^2."""
    g = problem.client_gradients(x)
    return float(np.sqrt(((g - g.mean(0)) ** 2).sum(1).mean()))


SIXTY, SEVENTY = small("breast_cancer", 60, 4, 2), small("digits", 70, 5, 4)
ONE = one_against_rest(SEVENTY, 1)
DEALT = {
    "binary, by label": Logistic(SIXTY, shards(SIXTY.labels, 4, 1, 0), 0.1),
    "binary, Dirichlet": Logistic(SIXTY, dirichlet(SIXTY.labels, 6, 0.5, 1), 0.1),
    "binary, IID": Logistic(SIXTY, iid(SIXTY.labels, 3, 1), 0.1),
    "digits, by label": Logistic(SEVENTY, shards(SEVENTY.labels, 4, 1, 0), 0.1),
    "digits, Dirichlet": Logistic(SEVENTY, dirichlet(SEVENTY.labels, 5, 0.5, 1), 0.1),
    "sigmoid, by label": SigmoidERM(SIXTY, shards(SIXTY.labels, 4, 1, 0), 0.1),
    "sigmoid, Dirichlet": SigmoidERM(SIXTY, dirichlet(SIXTY.labels, 6, 0.5, 1), 0.1),
    "sigmoid, one against the rest": SigmoidERM(ONE, dirichlet(ONE.labels, 5, 0.5, 1), 0.1),
}


def largest(problem: Logistic) -> float:
    """The largest deviation that an optimiser finds, and that of many points at many scales."""
    rng = np.random.default_rng(0)
    points = [scale * rng.standard_normal(problem.d) for scale in 10.0 ** np.arange(-3, 5) for _ in range(40)]
    best = sorted(points, key=lambda x: -deviation(problem, x))[:3]
    found = [minimize(lambda x: -deviation(problem, x), x, method="Nelder-Mead").x for x in best]
    return max(deviation(problem, x) for x in [*points, *found, np.zeros(problem.d)])


@pytest.mark.parametrize("name", DEALT)
def test_it_holds_and_is_not_far_off(name: str) -> None:
    """Within a factor of three of the largest deviation that is found, where clients are dealt out unevenly."""
    problem = DEALT[name]
    G, found = problem.constants["G"], largest(problem)
    assert found <= G * (1 + 1e-12)
    assert G / found < (6 if "IID" in name else 3)
    assert G / problem.constants["zeta"] <= 1 + 1e-12  # at beta = 0 they mean the same
    assert problem.constants.how("G").startswith("proved bound")


@pytest.mark.parametrize("kind", [Logistic, SigmoidERM])
def test_nearly_attained(kind: type[Logistic]) -> None:
    """One orthonormal sample a client, every residual as large as can be: no room for more than a part in n."""
    n = 40
    data = Dataset("orthonormal", np.eye(n), np.arange(n) % 2, 2, "made here")
    problem = kind(data, iid(data.labels, n, 0), 1e-3)
    x = np.zeros(n) if kind is SigmoidERM else np.where(data.labels == 0, 1e3, -1e3)
    assert (1 - 1 / n) * problem.constants["G"] < deviation(problem, x) < problem.constants["G"]


def test_quadratics() -> None:
    """Equal Hessians: the same deviation everywhere; others: none bounds it."""
    problem = generate(4, 5, L=3, mu=0.5, zeta_star=2)
    rng = np.random.default_rng(0)
    for x in (np.zeros(4), 1e3 * rng.standard_normal(4)):
        assert problem.constants["G"] == pytest.approx(deviation(problem, x), rel=1e-12) == pytest.approx(2)
    flat = Quadratic(np.zeros((2, 1, 1)), np.array([[1.0], [-3.0]]))  # linear functions, unbounded below
    assert flat.constants["G"] == pytest.approx(2)
    assert Quadratic(np.ones((3, 2, 2)), np.zeros((3, 2))).constants["G"] == 0
    for tilt in (0.5, 1e-7):
        tilted = from_functions([1.0 + tilt, 1.0 - tilt], [0.0, 0.0])
        with pytest.raises(NoSuchConstant, match="G does not exist: the clients' Hessians differ"):
            tilted.constants["G"]
        assert deviation(tilted, np.array([1e12])) > 1e4
    assert Regularised(problem, 0.5).constants["G"] == problem.constants["G"]
