"""One round of FedBCGD and FedBCGD+: every symbol against a round in which every noise and every assignment is tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from typing import Any

import pytest

from fedtheory.bounds.fedbcgd.runs import BlockRound, assignments, block_round, constants, curvatures

F = Fraction
Point = list[Fraction]


def vectors(*entries: Any) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(map(F, e if isinstance(e, tuple) else (e,))) for e in entries)


LINE = BlockRound(
    H=tuple(vectors(h) for h in (1, F(1, 2), -1)),
    b=vectors(1, -2, 0),
    beta=F(1),
    x=(F(1),),
    v=(F(-1, 2),),
    points=(),
    sigma_sq=F(1),
    N=1,
    K=2,
    T=2,
    eta=F(1, 3),
    lam=F(1, 2),
)
PLANE = replace(
    LINE,
    H=(vectors((1, 0), (0, 0)), vectors((F(9, 25), F(12, 25)), (F(12, 25), F(16, 25)))),
    b=vectors((1, -1), (0, 2)),
    x=(F(1), F(-1)),
    v=(F(0), F(1, 3)),
    sigma_sq=F(2),
    N=2,
    K=1,
)
ROUNDS = {
    "one client a block": replace(LINE, K=1),
    "two clients a block": LINE,
    "everyone": replace(LINE, K=3, lam=F(0)),
    "control variates": replace(LINE, points=vectors(0, 1, 2), K=1),
    "control variates, two": replace(LINE, points=vectors(F(1, 2), -1, 3)),
    "bent": replace(LINE, bend=(F(-1, 2), F(1, 2), F(3, 2))),
    "bent, one client a block": replace(LINE, K=1, bend=(F(-3, 4), F(0), F(2)), x=(F(0),)),
    "bent, everyone, one of them concave": replace(LINE, K=3, T=1, bend=(F(-3, 4), F(-3, 4), F(2))),
    "bent, control variates": replace(LINE, points=vectors(-1, 1, 2), K=2, bend=(F(-3, 4), F(1, 2), F(2))),
    "two blocks": PLANE,
    "one block of two": replace(PLANE, N=1),
    "two blocks, control variates": replace(PLANE, points=vectors((1, 2), (0, -1))),
    "one block of two, control variates": replace(PLANE, N=1, points=vectors((1, 2), (0, -1))),
}


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


def trials(r: BlockRound) -> Iterator[tuple[dict[str, Fraction], list[Point]]]:
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


@pytest.mark.parametrize("name", ROUNDS)
def test_every_expectation_by_trying_everything(name: str) -> None:
    r = ROUNDS[name]
    tried = list(trials(r))
    brute = {key: sum((row[key] for row, _ in tried), F(0)) / len(tried) for key in tried[0][0]}
    brute["G_mean_sq"] = sum((brute.pop(f"G{e}") ** 2 for e in range(r.d)), F(0))
    found = block_round(r)
    if r.points and r.x_star is not None:
        new = [mean(new[i] for _, new in tried) for i in range(r.M)]
        brute["C_r_of_means"] = sum((sq(minus(new[i], gradient(r, i, r.x_star))) for i in range(r.M)), F(0)) / r.M
    assert {key: found[key] for key in brute} == brute
    of_state = {"gap", "gap_x", "gap_x_prev", "dist_sq", "zx_sq", "v_sq", "grad_sq_x", "grad_sq_z", "mean_grad_sq"}
    assert set(found) - set(brute) - of_state <= {"grad_sq_clients", "C_prev", "lag", "Xi"}


def test_the_state_by_hand() -> None:
    """f_1 = y^2/2 + y, f_2 = y^2/2 - y, so f = y^2/2; x = 1, x_prev = 2, lam = 1/2, z = 0; a_i = 1, 3."""
    r = replace(LINE, H=(vectors(1), vectors(1)), b=vectors(1, -1), v=(F(-1),), points=vectors(1, 3), K=1)
    assert (r.alpha, r.gamma, r.x_star, r.mu, r.largest) == (2, 1, (0,), 1, 1)
    found = block_round(r)
    by_hand = {"gap": 0, "gap_x": F(1, 2), "gap_x_prev": 2, "dist_sq": 0, "zx_sq": 1, "v_sq": 1, "grad_sq_x": 1}
    by_hand |= {"grad_sq_z": 0, "grad_sq_clients": 4, "mean_grad_sq": 2}  # 1 + 1, 1 - 1
    by_hand |= {"C_prev": 5, "lag": 2, "Xi": 5}  # c_i = 2, 2; grad f_i(x*) = 1, -1; grad f_i(x) = 2, 0
    assert {key: found[key] for key in by_hand} == by_hand
    known = constants(r)
    assert known["G_squared"] == 1 and known["mu"] == 1 and known["S"] == 1


def test_what_does_not_exist_is_missing() -> None:
    found = block_round(replace(LINE, H=(vectors(-1),) * 3))
    assert not {"gap", "gap_next", "dist_sq", "inner", "C_prev", "lag", "Xi"} & set(found)
    assert {"G_squared", "mu"} & set(constants(LINE)) == set()
    assert "mu" not in constants(replace(LINE, H=(vectors(0),) * 3))
    assert {"lag", "C_prev"} <= set(block_round(ROUNDS["two blocks, control variates"]))
    assert not {"Xi", "Xi_r"} & set(block_round(ROUNDS["two blocks, control variates"]))
    constant = replace(LINE, H=(vectors(0),) * 3, b=vectors(1, -2, 1))
    assert constant.x_star == (0,) and block_round(constant)["gap_next"] == 0


def test_the_minimiser_of_a_bent_function() -> None:
    """f = x^2 left of 0 and x^2/2 right of it, with a slope."""
    at = {b: replace(LINE, H=(vectors(2),), b=vectors(b), bend=(F(-1),), beta=F(2), K=1).x_star for b in (1, -1, 0)}
    assert at == {1: (F(-1, 2),), -1: (F(1),), 0: (F(0),)}
    assert replace(LINE, H=(vectors(1),), b=vectors(1), bend=(F(-1),), K=1).x_star is None


def test_assignments() -> None:
    found = list(assignments(range(4), 1, 2))
    assert len(found) == len(set(found)) == 12 and ((0,), (3,)) in found and ((3,), (0,)) in found
    assert len(list(assignments(range(4), 2, 2))) == 6 and list(assignments(range(3), 3, 1)) == [((0, 1, 2),)]


def test_curvatures() -> None:
    assert curvatures(vectors((F(9, 25), F(12, 25)), (F(12, 25), F(16, 25)))) == (0, 1)
    assert curvatures(vectors(-3)) == (-3,)
    with pytest.raises(ValueError, match="expected the square of a fraction"):
        curvatures(vectors((1, 1), (1, 0)))


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
    ],
)
def test_what_is_no_round(of: BlockRound, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(of, **changed)
