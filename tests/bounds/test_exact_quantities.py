"""The quantities of a round in fractions, by the algorithms' own rounds: against expectations, by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from fedtheory.bounds.fedbcgd import quantities as of_fedbcgd
from fedtheory.bounds.fedbcgd.instances import BlockRound, advanced, assignments, block_round, constants, curvatures
from fedtheory.bounds.fedcom import quantities as of_fedcom
from fedtheory.bounds.fedcom.instances import FedCOMGATERun, minimum, rows
from fedtheory.bounds.sfl.quantities import OF_STEPS, QUANTITIES, of_step
from fedtheory.simulations import expectation
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.trace import round_in_numbers
from fedtheory.simulations.problems.quadratic import Quadratic

F = Fraction
HALF = F(1, 2)


# The rounds


def of_sfl(H: Any, b: Any, x: Any, *, K: int, S: int, sequential: bool, **given_: Any) -> Mapping[str, Any]:
    """Every quantity; those of local steps by (m, k)."""
    found = round_in_numbers((SFL if sequential else PFL)(K, 1.0, S), np.array(H), np.array(b), np.array(x), **given_)
    values: dict[str, Any] = {name: found.mean(quantity) for name, quantity in QUANTITIES.items()}
    for name in OF_STEPS:
        steps = enumerate(found.traces[0].steps)
        values[name] = {(s.turn, s.k): found.mean(of_step(name, i, sequential)) for i, s in steps}
    return values


def a_run(
    h: Any, b: Any, w0: Any, sigma_sq: int, q: Any, shared: bool, tau: int, R: int, **steps: Any
) -> FedCOMGATERun:
    """Rounds of FedCOMGATE, or with alpha = 0 of FedCOM."""
    given: dict[str, Any] = {"eta": F(1, 3), "gamma": F(3, 2), "alpha": F(1)} | steps
    return FedCOMGATERun(tuple(map(F, h)), tuple(map(F, b)), F(w0), F(sigma_sq), F(q), shared, tau, R=R, **given)


RUNS = {
    "two clients, two rounds": a_run((1, HALF), (1, -2), 1, 1, 1, False, 2, 2),
    "the same coin": a_run((1, HALF), (1, -2), 1, 1, 3, True, 2, 2),
    "the same coin, damped": a_run((1, HALF), (1, -2), 1, 4, 3, True, 1, 3, alpha=F(1, 4)),
    "three rounds": a_run((1, 1), (2, 0), -1, 1, 1, True, 1, 3),
    "FedCOM": a_run((1, 1), (1, 1), 1, 1, 1, False, 2, 2, alpha=F(0)),
    "three clients": a_run((1, HALF, 2), (1, -1, 3), 1, 0, 1, False, 2, 2),
    "the same coin of three": a_run((1, HALF, 2), (1, -1, 3), 1, 0, 1, True, 2, 2),
    "concave clients": a_run((-1, 2), (1, 1), 1, 1, HALF, True, 2, 2),
    "concave": a_run((-1, -HALF), (1, 1), 1, 1, HALF, False, 1, 2),
    "one client, many steps": a_run((-1,), (0,), 0, 1, 0, False, 4, 2),
    "common noise": a_run((1, HALF), (1, -2), 1, 1, 1, False, 2, 2, law="shared"),
    "biased": a_run((1, HALF), (1, -2), 1, 4, 1, True, 2, 2, law="biased"),
}


def vectors(*entries: Any) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(map(F, e if isinstance(e, tuple) else (e,))) for e in entries)


LINE = BlockRound(
    H=tuple(vectors(h) for h in (1, F(1, 2), -1)), b=vectors(1, -2, 0), beta=F(1), x=(F(1),), v=(F(-1, 2),), points=(),
    sigma_sq=F(1), N=1, K=2, T=2, eta=F(1, 3), lam=F(1, 2),
)  # fmt: skip
PLANE = replace(
    LINE, H=(vectors((1, 0), (0, 0)), vectors((F(9, 25), F(12, 25)), (F(12, 25), F(16, 25)))),
    b=vectors((1, -1), (0, 2)), x=(F(1), F(-1)), v=(F(0), F(1, 3)), sigma_sq=F(2), N=2, K=1,
)  # fmt: skip
ROUNDS = {
    "one client a block": replace(LINE, K=1),
    "two clients a block": LINE,
    "everyone": replace(LINE, K=3, lam=F(0)),
    "control variates": replace(LINE, points=vectors(0, 1, 2), K=1),
    "control variates, two": replace(LINE, points=vectors(HALF, -1, 3)),
}


# One round after another


@pytest.mark.parametrize("lam", [F(0), HALF])
@pytest.mark.parametrize("points", [(), vectors(0, 1, 2)])
def test_what_is_after_a_round_of_fedbcgd_is_before_the_next(points: Any, lam: Fraction) -> None:
    """In the mean over the states, one for each sample of clients."""
    r = replace(LINE, points=points, lam=lam, sigma_sq=F(0))
    found, states = block_round(r), advanced(r)
    assert states is not None and len(states) == 3 and sum(states.values()) == 1
    after = {"gap_next": "gap", "dist_next": "dist_sq", "v_next_sq": "v_sq"} | ({"lag_next": "lag"} if points else {})
    for next_, before in after.items():
        assert found[next_] == sum(block_round(state)[before] * chance for state, chance in states.items()), next_
    assert advanced(replace(LINE, lam=lam)) is None  # noise enters the round
    if not lam:
        assert found["grad_sq_z"] == found["grad_sq_x"] > 0  # z = x


# Exact expectations of the engine


@pytest.mark.parametrize("algorithm", [SFL, PFL])
@pytest.mark.parametrize(("d", "M", "S", "K"), [(3, 4, 4, 2), (2, 4, 2, 3), (1, 3, 1, 4), (3, 1, 1, 3)])
def test_a_round_of_sfl_has_its_expectation(algorithm: Any, d: int, M: int, S: int, K: int) -> None:
    """Floats, about x_star."""
    rng = np.random.default_rng(d)
    root = rng.standard_normal((M, d, d))
    b = rng.standard_normal((M, d))
    p = Quadratic(root @ root.swapaxes(1, 2) / d + 0.2 * np.eye(d), b - b.mean(0), sigma=0.8)
    x = rng.standard_normal(d)
    q = of_sfl(p.H, p.b, x, K=K, S=S, eta=0.15, sigma2=p.sigma**2, sequential=algorithm is SFL)
    record = ("dist2", "gap", "drift", "grad_sq")
    exact = expectation(p, algorithm(K=K, eta=0.15, S=S), rounds=1, x0=x, record=record).isel(step_size=0)
    expected = {name: exact[name].values for name in record}
    assert (q["dist2"], q["dist2_next"]) == pytest.approx(expected["dist2"], rel=1e-12)
    assert (q["D_F"], q["D_F"] + q["descent"]) == pytest.approx(expected["gap"], rel=1e-11)
    assert q["grad_sq"] == pytest.approx(expected["grad_sq"][0], rel=1e-12)
    assert q["E_r" if algorithm is SFL else "Ecal_r"] == pytest.approx(expected["drift"][0], rel=1e-12)


# By hand


def test_noise_of_two_values_needs_a_rational_sigma() -> None:
    with pytest.raises(ValueError, match="square of a fraction"):
        of_sfl([[[F(1)]]], [[F(0)]], [F(1)], K=1, S=1, eta=F(1), sigma2=F(2), sequential=True, bend=(F(1),))


def test_the_start_of_fedcom() -> None:
    """f_1 = w^2/2 + w, f_2 = w^2/4 - 2 w: f = 3 w^2 / 8 - w/2, minima at -1, 4 and 2/3."""
    (first, _) = rows(RUNS["two clients, two rounds"])
    assert first["f_gap"] == F(3, 8) - HALF + F(1, 6)
    assert first["fj_gap_mean"] == (F(3, 2) + HALF + (F(1, 4) - 2) + 4) / 2
    assert first["dist_sq_mean"] == F(2**2 + 3**2, 2)
    assert first["het_start"] == F(7, 4) ** 2  # gradients 2 and -3/2, their mean 1/4


def test_a_state_of_fedbcgd() -> None:
    """f_1 = y^2/2 + y, f_2 = y^2/2 - y, so f = y^2/2; x = 1, x_prev = 2, lam = 1/2, z = 0; a_i = 1, 3."""
    r = replace(LINE, H=(vectors(1), vectors(1)), b=vectors(1, -1), v=(F(-1),), points=vectors(1, 3), K=1)
    assert (r.alpha, r.gamma, r.x_star, r.mu, r.largest) == (2, 1, (0,), 1, 1)
    found = block_round(r)
    by_hand = {"gap": 0, "gap_x": F(1, 2), "gap_x_prev": 2, "dist_sq": 0, "zx_sq": 1, "v_sq": 1, "grad_sq_x": 1}
    by_hand |= {"grad_sq_z": 0, "grad_sq_clients": 4, "mean_grad_sq": 2}  # 1 + 1, 1 - 1
    by_hand |= {"C_prev": 5, "lag": 2, "Xi": 5}  # c_i = 2, 2; grad f_i(x*) = 1, -1; grad f_i(x) = 2, 0
    assert {key: found[key] for key in by_hand} == by_hand
    one_step = block_round(replace(r, T=1))  # gradients 2 and 0
    assert one_step["grad_sq_steps"] == 4 and one_step["local_sum_sq"] == 2**2
    known = constants(r)
    assert known["G_squared"] == 1 and known["mu"] == 1 and known["S"] == 1


def test_what_does_not_exist_is_missing() -> None:
    found = block_round(replace(LINE, H=(vectors(-1),) * 3))
    assert not {"gap", "gap_next", "dist_sq", "inner", "C_prev", "lag", "Xi"} & set(found)
    assert {"G_squared", "mu"} & set(constants(LINE)) == set()
    assert "mu" not in constants(replace(LINE, H=(vectors(0),) * 3))
    of_two_blocks = block_round(replace(PLANE, points=vectors((1, 2), (0, -1))))
    assert {"lag", "C_prev"} <= set(of_two_blocks) and not {"Xi", "Xi_r"} & set(of_two_blocks)
    constant = replace(LINE, H=(vectors(0),) * 3, b=vectors(1, -2, 1))
    assert constant.x_star == (0,) and block_round(constant)["gap_next"] == 0
    assert not {"gap_r", "f_gap"} & set(rows(RUNS["concave"])[0])


@pytest.mark.parametrize(
    ("left", "right", "slope", "lowest"),
    [
        (1, 2, 1, -HALF),  # downhill to the left
        (1, 2, -1, -HALF / 2),
        (1, 0, 1, -HALF),
        (1, 0, 0, 0),
        (1, 0, -1, None),  # falls for ever
        (0, 1, 1, None),
        (1, -1, 1, None),
        (0, 0, 0, 0),
    ],
)
def test_the_minimum_of_a_bent_function(left: int, right: int, slope: int, lowest: Fraction | None) -> None:
    assert minimum(*map(F, (left, right, slope))) == lowest


def test_the_minimiser_of_a_bent_function() -> None:
    """f = x^2 left of 0 and x^2/2 right of it, with a slope."""
    at = {b: replace(LINE, H=(vectors(2),), b=vectors(b), bend=(F(-1),), beta=F(2), K=1).x_star for b in (1, -1, 0)}
    assert at == {1: (F(-1, 2),), -1: (F(1),), 0: (F(0),)}
    assert replace(LINE, H=(vectors(1),), b=vectors(1), bend=(F(-1),), K=1).x_star is None


def test_assignments_and_curvatures() -> None:
    found = list(assignments(range(4), 1, 2))
    assert len(found) == len(set(found)) == 12 and ((0,), (3,)) in found and ((3,), (0,)) in found
    assert len(list(assignments(range(4), 2, 2))) == 6 and list(assignments(range(3), 3, 1)) == [((0, 1, 2),)]
    assert curvatures(vectors((F(9, 25), F(12, 25)), (F(12, 25), F(16, 25)))) == (0, 1)
    assert curvatures(vectors(-3)) == (-3,)


@pytest.mark.parametrize(
    ("of", "changed", "message"),
    [
        (LINE, dict(H=(), b=()), "a client"),
        (LINE, dict(b=vectors(1, 2)), "for each client"),
        (LINE, dict(points=vectors(1, 2)), "for each client"),
        (LINE, dict(x=vectors((1, 1, 1))[0]), "d <= 2"),
        (LINE, dict(v=vectors((1, 1))[0]), "this dimension"),
        (PLANE, dict(H=(vectors((1, 0), (1, 0)),) * 2), "symmetric"),
        (PLANE, dict(H=(vectors((1, 1), (1, 0)),) * 2), "expected the square of a fraction"),
        (LINE, dict(beta=F(1, 2)), "at least 1"),
        (LINE, dict(bend=(F(1),) * 3), "at least 2"),
        (LINE, dict(bend=(F(1),)), "3 bends"),
        (LINE, dict(bend=(F(0),) * 3, sigma_sq=F(2)), "sigma.2 = 2: expected the square of a fraction"),
        (PLANE, dict(bend=(F(0),) * 2), "expected d = 1"),
        (LINE, dict(H=(vectors(0),) * 3, beta=F(0)), "expected a positive number"),
        (LINE, dict(N=2), "expected N 1 or 1"),
        (PLANE, dict(K=2), "N K <= M = 2"),
        (LINE, dict(K=0), "counts >= 1"),
        (LINE, dict(T=0), "counts >= 1"),
        (LINE, dict(sigma_sq=F(-1)), "expected >= 0"),
        (LINE, dict(eta=F(0)), "> 0"),
        (LINE, dict(lam=F(1)), r"in \[0, 1\)"),
        (RUNS["three rounds"], dict(h=()), "a client"),
        (RUNS["three rounds"], dict(b=(F(1),)), "one of each per client"),
        (RUNS["three rounds"], dict(tau=0), "tau = 0"),
        (RUNS["three rounds"], dict(R=0), "R = 0"),
        (RUNS["three rounds"], dict(eta=F(0)), "eta = 0"),
        (RUNS["three rounds"], dict(gamma=F(-1)), "gamma = -1"),
        (RUNS["three rounds"], dict(q=F(-1)), "q = -1"),
        (RUNS["three rounds"], dict(sigma_sq=F(-1)), "none negative"),
        (RUNS["three rounds"], dict(bend=(F(1),)), "one of each per client"),
        (RUNS["three rounds"], dict(bend=(F(1),) * 2, sigma_sq=F(2)), "sigma.2 = 2: expected the square"),
        (RUNS["three rounds"], dict(law="biased", sigma_sq=F(2)), "sigma.2 = 2: expected the square"),
        (RUNS["three rounds"], dict(law="none"), "law = 'none': expected one of independent, shared, biased"),
    ],
)
def test_what_is_no_round(of: Any, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(of, **changed)


# All outcomes: every quantity a second time, by loops over all noises, coins and samples.  The loops share no formula with
# the code, and every name in its tables has a number here, so a wrong formula cannot stay.


Point = list[Fraction]
Numbers = dict[Any, Any]


def expected(outcomes: Iterable[tuple[Fraction, Numbers]]) -> Numbers:
    """The means of numbers over outcomes with these chances."""
    found: Numbers = defaultdict(Fraction)
    total = F(0)
    for chance, values in outcomes:
        total += chance
        for key, value in values.items():
            found[key] += chance * value
    assert total == 1
    return dict(found)


# SFL and PFL


def a_round_of_sfl(
    h: Any, b: Any, bend: Any, x: Fraction, order: Any, noises: Any, eta: Fraction, K: int, sequential: bool
) -> Numbers:
    """One outcome of a round in one dimension, with the minimiser 0 of F."""

    def slope(m: int, y: Fraction) -> Fraction:
        return h[m] * y + bend[m] * max(y, F(0)) + b[m]

    def whole(y: Fraction) -> tuple[Fraction, Fraction]:
        """F(y) and its derivative."""
        values = [h[m] * y**2 / 2 + bend[m] * max(y, F(0)) ** 2 / 2 + b[m] * y for m in range(len(h))]
        return sum(values) / len(h), sum(slope(m, y) for m in range(len(h))) / len(h)

    steps, ends, y = [], [], x  # of a step: client, its point, noise; and which steps lead to it
    for turn, m in enumerate(order):
        y = y if sequential else x
        for k in range(K):
            noise = noises[turn * K + k]
            steps.append((m, y, noise, [*range(0 if sequential else turn * K, turn * K + k)]))
            y = y - eta * (slope(m, y) + noise)
        ends.append(y)
    end = y if sequential else sum(ends) / len(ends)
    g, full = [slope(m, y) for m, y, *_ in steps], whole(x)[1]
    at_x, at_star = [slope(m, x) for m, *_ in steps], [slope(m, F(0)) for m, *_ in steps]
    xi = [noise for *_, noise, _ in steps]
    moved = [a - o for a, o in zip(g, at_x, strict=True)]
    bias = [o - s for o, s in zip(at_x, at_star, strict=True)]
    drift = [(y - x) ** 2 for _, y, *_ in steps]
    found: Numbers = {
        "dist2": x**2, "dist2_next": end**2, "grad_sq": full**2, "descent": whole(end)[0] - whole(x)[0],
        "E_r": sum(drift), "Ecal_r": sum(drift) / len(order), "D_F": whole(x)[0] - whole(F(0))[0],
        "inner_sum": sum(g) * x, "cross_sum": sum(g) * full, "local_grad_sq": sum(a * a for a in g),
        "mean_grad_sq": sum(g) ** 2, "step_sq": (sum(g) + sum(xi)) ** 2, "noise_sq": sum(xi) ** 2,
        "move_sq": sum(moved) ** 2, "tracked_sq": sum(full + v for v in moved) ** 2,
        "bias_sq": sum(bias) ** 2, "star_sq": sum(at_star) ** 2,
    }  # fmt: skip
    for i, (*_, before) in enumerate(steps):
        of_step = {
            "drift_mk": drift[i], "B_mk": len(before), "noise_upto": sum(xi[j] ** 2 for j in before),
            "move_upto": sum(moved[j] ** 2 for j in before), "bias_upto": sum(bias[j] ** 2 for j in before),
            "star_upto": sum(at_star[j] for j in before) ** 2, "client_bias_sq": bias[i] ** 2,
            "T_1": sum(at_x[j] - full for j in before) ** 2,
        }  # fmt: skip
        found |= {(name, i // K + 1, i % K): value for name, value in of_step.items()}
    return found


@pytest.mark.parametrize("sequential", [True, False])
@pytest.mark.parametrize(("S", "K", "sigma"), [(1, 3, 1), (2, 2, 2), (3, 1, 0)])
@pytest.mark.parametrize("bend", [(F(0),) * 3, (F(-1, 2), F(1), F(1, 4))])
def test_sfl(sequential: bool, S: int, K: int, sigma: int, bend: tuple[Fraction, ...]) -> None:
    h, b, x, eta = (F(1), HALF, F(-1, 4)), (F(1), F(1), F(-2)), F(2), F(1, 5)
    orders, signs = list(permutations(range(3), S)), list(product((-sigma, sigma), repeat=S * K))
    chance = F(1, len(orders) * len(signs))
    at = partial(a_round_of_sfl, h, b, bend, x)
    brute = expected((chance, at(order, sign, eta, K, sequential)) for order in orders for sign in signs)
    found = of_sfl(
        [[[v]] for v in h], [[v] for v in b], [x],
        S=S, K=K, eta=eta, sigma2=F(sigma**2), sequential=sequential, bend=bend if any(bend) else (),
    )  # fmt: skip
    flat = {(n, *place): v for n in OF_STEPS for place, v in found[n].items()} | {n: found[n] for n in QUANTITIES}
    assert flat == brute


# FedCOM and FedCOMGATE


def outcomes(run: FedCOMGATERun) -> Iterator[tuple[Fraction, np.ndarray, np.ndarray]]:
    """(probability, noises (R, m, tau), coins Z (R, m)): noises +-sigma; Z = 1+q with probability 1/(1+q), else 0."""
    sigma = {0: F(0), 1: F(1), 4: F(2)}[int(run.sigma_sq)]
    signs = (1,) if run.law == "biased" else (-1, 1) if sigma else (0,)
    p = 1 / (1 + run.q)
    coins = ((p, 1 + run.q), (1 - p, F(0))) if run.q else ((F(1), F(1)),)
    thrown = run.R if run.shared else run.R * run.m
    drawn = 1 if run.law == "shared" else run.m
    for noise in product(signs, repeat=run.R * drawn * run.tau):
        for coin in product(coins, repeat=thrown):
            chance = F(1, len(signs) ** len(noise))
            for probability, _ in coin:
                chance *= probability
            Z = np.array([z for _, z in coin], dtype=object).reshape(run.R, -1).repeat(run.m // (thrown // run.R), 1)
            xi = np.array(noise, dtype=object).reshape(run.R, drawn, run.tau).repeat(run.m // drawn, 1)
            yield chance, xi * sigma, Z


def replayed(run: FedCOMGATERun, noises: np.ndarray, coins: np.ndarray) -> list[Numbers]:
    """One outcome of Algorithm 2 with damping, and what the atoms are the means of."""
    h, b, m, tau, eta = np.array(run.h), np.array(run.b), run.m, run.tau, run.eta
    bend = np.array(run.bend or [F(0)] * m)

    def slopes(at: Any) -> Any:
        return h * at + bend * np.maximum(at, 0) + b

    def value(at: Any) -> Any:
        return (h * at**2 / 2 + bend * max(at, F(0)) ** 2 / 2 + b * at).sum() / m

    w, delta = run.w0, np.array([F(0)] * m)
    rounds: list[Numbers] = []
    history: list[tuple[Any, ...]] = []
    for r in range(run.R):
        local = np.array([w] * m)
        points, gradients, stochastic = [], [], []
        for c in range(tau):
            g = slopes(local)
            points.append(local)
            gradients.append(g)
            stochastic.append(g + noises[r, :, c])
            local = local - eta * (stochastic[-1] - delta)
        P, G, T = np.array(points), np.array(gradients), np.array(stochastic)  # (tau, m)
        message = coins[r] * (w - local) / eta
        after = w - eta * run.gamma * message.sum() / m
        delta_after = delta + run.alpha / tau * (message - message.sum() / m)
        full = slopes(w).sum() / m

        def error(d: Any, at: Any) -> Any:
            return ((d - (slopes(at) - slopes(at).sum() / m)) ** 2).sum() / m

        q: Numbers = {
            "message_sq": (message.sum() / m) ** 2,
            "tracked_message_sq": (message.sum() / m) ** 2,
            "inner": full * T.sum() / m,
            "grad_sq": full**2,
            "grad_sq_sum_mean": (G**2).sum() / m,
            "mean_grad_sq_sum": ((G.sum(1) / m) ** 2).sum(),
            "drift_mean": ((P - w) ** 2).sum() / m,
            "next_move_sq": (after - w) ** 2,
            "tracking_sq": error(delta, w),
            "tracking_next": error(delta_after, after),
            "f": value(w),
            "f_next": value(after),
        }
        for j in range(m):
            q["grad_sq_sum", j + 1] = (G[:, j] ** 2).sum()
            q["drift_sum", j + 1] = ((P[:, j] - w) ** 2).sum()
            for c in range(tau):
                q["drift", j + 1, c] = (P[c, j] - w) ** 2
        if r == 0:
            q["direction_sq"] = (T.sum(0) ** 2).sum() / m
            q["het_start"] = ((G[0] - full) ** 2).sum() / m
            q["start_sum"] = ((G - full).sum(0) ** 2).sum() / m
            q["start_partial"] = (np.cumsum(G - full, axis=0) ** 2).sum() / m
        else:
            w_before, G_before, T_before, drift_before = history[-1]
            shift = T_before.sum() / m - T_before.sum(0)
            q["direction_sq"] = ((T.sum(0) + shift) ** 2).sum() / m
            tracked = (G + (G_before.sum() / m - G_before.sum(0)) / tau).sum(0)
            for j in range(m):
                q["tracked_grad_sq", j + 1] = tracked[j] ** 2
                q["drift_sum_prev", j + 1] = drift_before[j]
            N, N_before = T - G, T_before - G_before
            q["noise_sq"] = 2 * ((N + (N_before.sum() / m - N_before.sum(0)) / tau).sum(0) ** 2).sum() / m
            q["move_sq"] = (w - w_before) ** 2
            q["grad_sq_prev"] = (slopes(w_before).sum() / m) ** 2
            q["drift_mean_prev"] = drift_before.sum() / m
            q["mean_grad_sq_prev"] = ((G_before.sum(1) / m) ** 2).sum()
        history.append((w, G, T, ((P - w) ** 2).sum(0)))
        rounds.append(q)
        w, delta = after, delta_after
    return rounds


_BENT = {
    "bent, common noise": a_run((1, HALF), (1, -2), 1, 1, 1, True, 2, 2, law="shared", bend=(-HALF, F(1))),
    "bent": a_run((1, HALF), (1, -2), 1, 1, 1, False, 2, 1, bend=(-HALF, F(1))),
    "bent, two rounds, the same coin": a_run((1, HALF), (1, -1), 1, 4, 3, True, 1, 2, bend=(-HALF, HALF)),
    "bent, concave right of 0": a_run((1,), (0,), -1, 1, 3, True, 1, 3, bend=(F(-3, 2),)),
}


@pytest.mark.dear
@pytest.mark.parametrize("run", [pytest.param(run, id=name) for name, run in (RUNS | _BENT).items()])
def test_fedcom(run: FedCOMGATERun) -> None:
    tried = [(chance, replayed(run, noises, coins)) for chance, noises, coins in outcomes(run)]
    brute = [expected((chance, several[r]) for chance, several in tried) for r in range(run.R)]
    names = {
        *of_fedcom.OF_ROUND,
        *of_fedcom.OF_TWO,
        *of_fedcom.OF_START,
        *of_fedcom.OF_RUN,
        *of_fedcom.OF_CLIENTS,
        "drift",
    }
    for r, (found, own) in enumerate(zip(rows(run), brute, strict=True)):
        before, first = brute[: r + 1], brute[0]
        own["descent"] = own.pop("f_next") - own.pop("f")
        own |= {
            **{"drift_start": first["drift_mean"], "grad_sq_start": first["grad_sq"]},
            **{name: first[name] for name in ("start_sum", "start_partial", "het_start")},
            "drift_total": sum(e["drift_mean"] for e in before),
            "direction_total": run.tau * sum(e["direction_sq"] for e in before),
            "move_total": run.tau**2 * sum(e["move_sq"] for e in before[1:]),
            "grad_sq_total": run.tau * sum(e["grad_sq"] for e in before),
            "mean_grad_sq_total": sum(e["mean_grad_sq_sum"] for e in before[:-1]),
            "avg_grad_sq": sum(e["grad_sq"] for e in before) / (r + 1),
        }
        own.setdefault("mean_grad_sq_prev", F(0))
        wanted = names - (of_fedcom.LATER if not r else set())
        flat = {
            (name, *place) if place else name: value
            for name in wanted
            for place, value in (found[name].items() if isinstance(found[name], dict) else [((), found[name])])
        }
        assert flat == own


# FedBCGD and FedBCGD+


def sq(v: Any) -> Fraction:
    return sum((e * e for e in v), F(0))


def minus(u: Any, v: Any) -> Point:
    return [a - b for a, b in zip(u, v, strict=True)]


def mean(vs: Any) -> Point:
    vs = list(vs)
    return [sum(es, F(0)) / len(vs) for es in zip(*vs, strict=True)]


def gradient(r: BlockRound, i: int, y: Any) -> Point:
    """grad f_i(y)."""
    straight = [sum((r.H[i][c][e] * y[e] for e in range(r.d)), F(0)) + r.b[i][c] for c in range(r.d)]
    return [straight[0] + r.bend[i] * max(y[0], F(0))] if r.bend else straight


def trials(r: BlockRound) -> Iterator[tuple[Numbers, list[Point]]]:
    """(what there is to average over noises and samples, the new control variates), one coin for every noise."""
    d, M = r.d, r.M
    assert r.sigma_sq == d  # so that every coordinate of a noise is 1 or -1
    x, v, lam = list(r.x), list(r.v), r.lam
    alpha, gamma = 1 / (1 - lam), lam / (1 - lam)
    z = [a + gamma * b for a, b in zip(x, v, strict=True)]

    grad = partial(gradient, r)

    def f(y: Point) -> Fraction:
        return sum(
            (
                sum((r.H[i][c][e] * y[c] * y[e] / 2 for c in range(d) for e in range(d)), F(0))
                + sum((r.b[i][c] * y[c] for c in range(d)), F(0))
                + (r.bend[i] * max(y[0], F(0)) ** 2 / 2 if r.bend else 0)
                for i in range(M)
            ),
            F(0),
        ) / F(M)

    star = r.x_star
    controls = [grad(i, list(a)) for i, a in enumerate(r.points)]
    c = mean(controls) if controls else []
    full_z = mean(grad(i, z) for i in range(M))
    for coins in product((F(-1), F(1)), repeat=M * r.T * d if not r.points else 0):
        noise = iter(coins)
        paths, sums = [], []
        for i in range(M):
            y, path, total = list(x), [], [F(0)] * d
            for _ in range(r.T):
                path.append(y)
                if r.points:  # the same noise in both stochastic gradients
                    parts = zip(grad(i, y), grad(i, x), grad(i, x), controls[i], c, strict=True)
                    s = [g - at + exact - own + every for g, at, exact, own, every in parts]
                else:
                    s = [g + next(noise) for g in grad(i, y)]
                y = [a - r.eta * b for a, b in zip(y, s, strict=True)]
                total = [a + b for a, b in zip(total, s, strict=True)]
            paths.append(path)
            sums.append(total)
        gradients = [[grad(i, y) for y in path] for i, path in enumerate(paths)]
        flat = [(i, y) for i, path in enumerate(paths) for y in path]
        for order in permutations(range(M), r.N * r.K):
            group = [order[j * r.K : (j + 1) * r.K] for j in range(r.N)]
            own = [group[e if r.N > 1 else 0] for e in range(d)]  # who sends coordinate e
            G = [sum((sums[i][e] for i in own[e]), F(0)) / r.K for e in range(d)]
            v_next = [lam * a - r.eta * b for a, b in zip(v, G, strict=True)]
            x_next = [a + b for a, b in zip(x, v_next, strict=True)]
            z_next = [a - alpha * r.eta * b for a, b in zip(z, G, strict=True)]
            row = {
                "drift_x": sum((sq(minus(y, x)) for _, y in flat), F(0)),
                "drift_z": sum((sq(minus(y, z)) for _, y in flat), F(0)),
                "grad_sq_steps": sum((sq(g) for own_ in gradients for g in own_), F(0)),
                "local_sum_sq": sq([sum(es, F(0)) for es in zip(*(g for o in gradients for g in o), strict=True)]),
                "G_sq": sq(G),
                "v_next_sq": sq(v_next),
                "sample_sq": sq(mean(grad(i, x) for i in order[: r.K])),
                "block_sample_sq": sq([sum((grad(i, x)[e] for i in own[e]), F(0)) / r.K for e in range(d)]),
                "inner_grad": -sum((a * b for a, b in zip(full_z, G, strict=True)), F(0)),
                **{f"G{e}": G[e] for e in range(d)},
            }
            row["E_r"] = row["drift_z"] / (M * r.T)
            new = [[grad(i, x)[e] if i in own[e] else controls[i][e] for e in range(d)] for i in range(len(controls))]
            if star is not None:
                row["gap_next"] = f(z_next) - f(list(star))
                row["dist_next"] = sq(minus(z_next, star))
                row["inner"] = -sum((g * (a - b) for g, a, b in zip(G, z, star, strict=True)), F(0))
            if controls:
                row["lag_next"] = sum((sq(minus(new[i], grad(i, x_next))) for i in range(M)), F(0)) / M
                if star is not None:
                    row["C_r"] = sum((sq(minus(new[i], grad(i, list(star)))) for i in range(M)), F(0)) / M
                if r.N == 1:
                    a = [x if i in order else r.points[i] for i in range(M)]
                    row["Xi_r"] = sum((sq(minus(z_next, a_i)) for a_i in a), F(0)) / M
            yield row, new


_ROUNDS = ROUNDS | {
    "bent": replace(LINE, bend=(-HALF, HALF, F(3, 2))),
    "bent, one client a block": replace(LINE, K=1, bend=(F(-3, 4), F(0), F(2)), x=(F(0),)),
    "bent, control variates": replace(LINE, points=vectors(-1, 1, 2), K=2, bend=(F(-3, 4), HALF, F(2))),
    "two blocks": PLANE,
    "one block of two": replace(PLANE, N=1),
    "two blocks, control variates": replace(PLANE, points=vectors((1, 2), (0, -1))),
    "one block of two, control variates": replace(PLANE, N=1, points=vectors((1, 2), (0, -1))),
}
_OF_STATE = {*of_fedbcgd.OF_STATE, "gap", "gap_x", "gap_x_prev", "dist_sq", "C_prev", "lag", "Xi"}  # by hand elsewhere


@pytest.mark.parametrize("name", _ROUNDS)
def test_fedbcgd(name: str) -> None:
    r = _ROUNDS[name]
    tried = list(trials(r))
    brute = expected((F(1, len(tried)), row) for row, _ in tried)
    brute["G_mean_sq"] = sum((brute.pop(f"G{e}") ** 2 for e in range(r.d)), F(0))
    if r.points and r.x_star is not None:
        new = [mean(new[i] for _, new in tried) for i in range(r.M)]
        brute["C_r_of_means"] = sum((sq(minus(new[i], gradient(r, i, r.x_star))) for i in range(r.M)), F(0)) / r.M
    found = block_round(r)
    assert {key: found[key] for key in set(found) - _OF_STATE} == brute
    assert {*of_fedbcgd.QUANTITIES} - _OF_STATE <= {*brute} or not (r.points and r.x_star and r.N == 1)
