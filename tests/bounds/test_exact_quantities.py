"""The quantities of a round in fractions, by the algorithms' own rounds: against expectations, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fedtheory.bounds.fedbcgd.instances import BlockRound, advanced, assignments, block_round, constants, curvatures
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


def test_lemma11_fails_also_with_the_lag_that_it_prints() -> None:
    """(77) prints the lag about grad f_i(x^r); Lemma 15 uses it about grad f_i(x*), as the catalogue has it."""
    one = ((F(1),),)
    r = BlockRound(H=(one,) * 5, b=((F(0),),) * 5, beta=F(1), x=(F(1),), v=(F(0),), points=((F(1),),) * 5, sigma_sq=F(0),
                   N=1, K=1, T=1, eta=F(1, 100), lam=F(0))  # fmt: skip
    found = block_round(r)
    assert (
        found["lag"] == 0
        and found["G_sq"] == 1 > F(4, 5) * found["drift_z"] + 8 * found["lag"] + F(8, 5) * found["gap"]
    )
