"""The recursion that FedBAT's analysis is about: every symbol against all outcomes one by one, and against the algorithm."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, product
from math import floor
from typing import Any

import numpy as np
import pytest

from fedtheory.simulations.algorithms.fedbat import FedBAT
from fedtheory.simulations.draws import Draw, Draws
from fedtheory.simulations.exact.rounds.fedbat import Leaves, Run, follow
from fedtheory.simulations.problems.quadratic import Quadratic

F = Fraction
HALF = F(1, 2)
Point = tuple[Fraction, ...]


def vectors(*rows: Any) -> tuple[Point, ...]:
    return tuple(tuple(map(F, row)) for row in rows)


def a_run(h: Any, b: Any, w0: Any, tau: int, steps: int, **other: Any) -> Run:
    """Shares alike, a constant learning rate of 1/4 and no noise, unless told otherwise."""
    h, b = vectors(*h), vectors(*b)
    nothing = vectors(*[[0] * len(w0)] * len(h))
    given: dict[str, Any] = {
        "p": (F(1, len(h)),) * len(h), "rates": (F(1, 4),) * (steps + tau), "noise": (nothing, nothing),
    } | other  # fmt: skip
    return Run(h, b, w0=tuple(map(F, w0)), tau=tau, steps=steps, **given)


def falling(rate: Any, by: int, count: int) -> tuple[Fraction, ...]:
    return tuple(F(rate) * by / (by + t) for t in range(count))


TWO = a_run([(1, HALF), (F(1, 4), 1)], [(1, 0), (-1, 2)], (1, -1), 2, 3)
NOISE = (vectors((1, 0), (HALF, -1)), vectors((-1, 2), (0, HALF)))
RUNS = {
    "two clients": TWO,
    "weighted": replace(TWO, p=(F(1, 6), F(5, 6)), rates=falling(HALF, 3, 5)),
    "noise": replace(TWO, noise=NOISE, p=(F(1, 3), F(2, 3)), steps=2),
    "noise of one client": replace(TWO, noise=(NOISE[0], vectors((0, 0), (0, 0))), steps=2),
    "one noise for both": replace(TWO, noise=NOISE, p=(F(1, 3), F(2, 3)), steps=2, common=("noise",)),
    "one zeta for both": replace(TWO, p=(F(1, 3), F(2, 3)), common=("binarisation",)),
    "one of two": replace(TWO, K=1),
    "one of two, noise": replace(TWO, K=1, noise=NOISE, steps=2),
    "both of two": replace(TWO, K=2, rates=falling(1, 2, 5)),
    "two of three": a_run([(1, 1), (HALF, 1), (1, 0)], [(1, 0), (0, -2), (1, 1)], (0, 1), 1, 2, K=2),
    "three coordinates": a_run([(1, HALF, F(1, 4))], [(1, -1, 2)], (1, 0, 2), 3, 3),
    "one coordinate": a_run([(1,), (HALF,)], [(1,), (-2,)], (1,), 2, 4, noise=(vectors((1,), (0,)), vectors((1,), (1,)))),
    "a synchronisation a step": replace(TWO, tau=1, rates=falling(1, 2, 4)),
    "curved down": replace(TWO, h=vectors((-1, HALF), (F(1, 4), -1)), noise=NOISE, steps=2),
    "convex together": replace(TWO, h=vectors((-HALF, 1), (1, 1))),
    "four steps a round": a_run([(1, HALF)], [(1, -2)], (0, 1), 4, 4),
}  # fmt: skip
OF_CLIENTS = {"moved_k_sq", "spread_k", "x_star_k", "steps_sum", "steps_sq", "steps_sum_w", "steps_sq_w"}


# --- (17) to (19) and (51) to (53), one outcome after another ---------------------------------------------------------


def sq(v: Any) -> Fraction:
    return sum((e * e for e in v), F(0))


def dot(u: Any, v: Any) -> Fraction:
    return sum((a * b for a, b in zip(u, v, strict=True)), F(0))


def plus(u: Any, v: Any, times: Any = 1) -> Point:
    return tuple(a + times * b for a, b in zip(u, v, strict=True))


def minus(u: Any, v: Any) -> Point:
    return plus(u, v, -1)


def mixed(weights: Any, points: Any) -> Point:
    out = (F(0),) * len(points[0])
    for weight, point in zip(weights, points, strict=True):
        out = plus(out, point, weight)
    return out


def binarisations(w: Point, centre: Point) -> list[tuple[Fraction, Point]]:
    """S_m(w) = S(w - centre, ||w - centre||_oo) + centre, by (6) and (7)."""
    m = minus(w, centre)
    alpha = max(map(abs, m))
    if alpha == 0:
        return [(F(1), centre)]
    out = []
    for signs in product((1, -1), repeat=len(m)):
        chance = F(1)
        for sign, entry in zip(signs, m, strict=True):
            chance *= (alpha + sign * entry) / (2 * alpha)
        if chance:
            out.append((chance, plus(centre, signs, alpha)))
    return out


def jointly(options: list[list[tuple[Fraction, Any]]]) -> Iterator[tuple[Fraction, list[Any]]]:
    """Independent choices, one of each list."""
    for chosen in product(*options):
        chance = F(1)
        for c, _ in chosen:
            chance *= c
        yield chance, [value for _, value in chosen]


def binarised(run: Run, w: Any, centre: Point) -> Iterator[tuple[Fraction, list[Point]]]:
    """All clients' S_m: independent, or with one zeta in [0, 1) for each entry, by (6) and (7) between the jumps of S'."""
    if "binarisation" not in run.common:
        yield from jointly([binarisations(own, centre) for own in w])
        return
    m = [minus(own, centre) for own in w]
    alpha = [max(map(abs, own)) for own in m]
    jumps = [
        sorted({F(0), F(1), *(1 - (a + own[i]) / (2 * a) for a, own in zip(alpha, m, strict=True) if a)})
        for i in range(run.d)
    ]
    for pieces in product(*(list(pairwise(one)) for one in jumps)):
        chance, points = F(1), []
        for low, high in pieces:
            chance *= high - low
        for a, own in zip(alpha, m, strict=True):
            signs = [
                2 * floor((a + e) / (2 * a) + (low + high) / 2) - 1 if a else F(0)
                for e, (low, high) in zip(own, pieces, strict=True)
            ]
            points.append(plus(centre, signs, a))
        yield chance, points


class Reference:
    """The means over all outcomes, by step and symbol; `total` the probability of all outcomes."""

    def __init__(self, run: Run) -> None:
        self.run, self.sums = run, [{"": F(0)} for _ in range(run.steps)]  # type: list[dict[Any, Fraction]]
        start = (run.w0,) * run.N
        self.explore(0, F(1), start, run.w0, [[] for _ in range(run.N)])

    def add(self, t: int, chance: Fraction, name: Any, value: Any) -> None:
        if isinstance(value, tuple):
            for i, entry in enumerate(value):
                self.add(t, chance, (name, i), entry)
        else:
            self.sums[t][name] = self.sums[t].get(name, F(0)) + chance * value

    def grad(self, k: int, w: Point) -> Point:
        return tuple(h * e + b for h, e, b in zip(self.run.h[k], w, self.run.b[k], strict=True))

    def value(self, k: int, w: Point) -> Fraction:
        return sum((h * e * e / 2 + b * e for h, e, b in zip(self.run.h[k], w, self.run.b[k], strict=True)), F(0))

    def overall(self, w: Point) -> Fraction:
        return sum((p * self.value(k, w) for k, p in enumerate(self.run.p)), F(0))

    def noise(self, k: int, sign: int, w: Point) -> Point:
        constant, slope = self.run.noise[0][k], self.run.noise[1][k]
        return tuple(sign * (c + s * e) for c, s, e in zip(constant, slope, w, strict=True))

    @property
    def star(self) -> Point | None:
        h, b = mixed(self.run.p, self.run.h), mixed(self.run.p, self.run.b)
        return tuple(-y / x for x, y in zip(h, b, strict=True)) if min(h) > 0 else None

    @property
    def least(self) -> list[Fraction] | None:
        """The F_k^*, where all have one."""
        if min(min(row) for row in self.run.h) <= 0:
            return None
        own = [tuple(-y / x for x, y in zip(*rows, strict=True)) for rows in zip(self.run.h, self.run.b, strict=True)]
        return [self.value(k, w) for k, w in enumerate(own)]

    def explore(self, t: int, chance: Fraction, w: Any, centre: Point, history: Any) -> None:
        """From step t on; history: (eta, gradient at x, gradient at w) of every client's steps since the centre."""
        run = self.run
        if t == run.steps:
            return
        signs: list[list[tuple[Fraction, int]]] = [
            [(HALF, 1), (HALF, -1)] if any(run.noise[0][k]) or any(run.noise[1][k]) else [(F(1), 1)]
            for k in range(run.N)
        ]
        for c, x in binarised(run, w, centre):
            for s, xi in [(HALF, [1] * run.N), (HALF, [-1] * run.N)] if "noise" in run.common else jointly(signs):
                self.step(t, chance * c * s, w, centre, history, x, xi)

    def step(self, t: int, chance: Fraction, w: Any, centre: Point, history: Any, x: Any, xi: Any) -> None:
        run, clients, star, least = self.run, range(self.run.N), self.star, self.least
        p, eta = run.p, run.rates[t]

        def add(name: str, value: Any) -> None:
            self.add(t, chance, name, value)

        def over_clients(name: str, values: Any, weights: Any = p) -> None:
            add(name, dot(weights, list(values)))

        gx, gw = ([self.grad(k, at[k]) for k in clients] for at in (x, w))
        nx, nw = ([self.noise(k, xi[k], at[k]) for k in clients] for at in (x, w))
        g, g_at_w = [plus(a, b) for a, b in zip(gx, nx, strict=True)], [plus(a, b) for a, b in zip(gw, nw, strict=True)]
        v = [plus(w[k], g[k], -eta) for k in clients]
        w_bar, v_bar, g_bar, g_t = (mixed(p, vs) for vs in (w, v, gx, g))
        full = mixed(p, [self.grad(k, w_bar) for k in clients])
        squares = [a * a for a in p]
        add("", 1)
        add("noise_sq", sq(minus(g_t, g_bar)))
        add("noise_w_sq", sq(mixed(p, nw)))
        over_clients("noise_w_sum", map(sq, nw), squares)
        over_clients("spread_x", (sq(minus(w_bar, a)) for a in x))
        over_clients("spread_w", (sq(minus(w_bar, a)) for a in w))
        over_clients("binarised_sq", (sq(minus(a, b)) for a, b in zip(w, x, strict=True)))
        over_clients("moved_sq", (sq(minus(a, centre)) for a in w))
        add("moved_k_sq", tuple(sq(minus(a, centre)) for a in w))
        add("spread_k", tuple(sq(minus(w_bar, a)) for a in x))
        zero = (F(0),) * run.d
        for name, i in (("", 1), ("_w", 2)):
            sums = [mixed([s[0] for s in past], [s[i] for s in past]) if past else zero for past in history]
            add(f"steps_sum{name}", tuple(map(sq, sums)))
            add(f"steps_sq{name}", tuple(sum((s[0] ** 2 * sq(s[i]) for s in past), F(0)) for past in history))
        taken = [sum((rate**2 * sq(one) for rate, one, _ in past), F(0)) for past in history]
        over_clients("steps_mean", [(run.tau - 1) * e for e in taken])
        add("gbar_sq", sq(g_bar))
        add("g_sq", sq(g_t))
        over_clients("grads_x_sq", map(sq, gx))
        over_clients("grads_bar_sq", (sq(self.grad(k, w_bar)) for k in clients))
        add("grad_sq", sq(full))
        add("inner_grad", dot(full, g_t))
        add("apart_sq", sq(minus(full, g_t)))
        add("apart_bar_sq", sq(minus(full, g_bar)))
        over_clients("inner_move", (dot(minus(w_bar, x[k]), gx[k]) for k in clients))
        over_clients("inner_bar", (dot(minus(x[k], w_bar), self.grad(k, w_bar)) for k in clients))
        add("F_bar", self.overall(w_bar))
        add("F_v", self.overall(v_bar))
        for name, values in (("largest_x", g), ("largest_w", g_at_w), ("noise_x_most", nx), ("noise_w_most", nw)):
            add(name, tuple(map(sq, values)))
        if star is not None:
            best = self.overall(star)
            add("Delta_t", sq(minus(w_bar, star)))
            add("v_dist", sq(minus(v_bar, star)))
            add("gap_t", self.overall(w_bar) - best)
            add("A_1", sq(plus(minus(w_bar, star), g_bar, -eta)))
            add("inner_star", dot(minus(w_bar, star), g_bar))
            over_clients("inner_down", (dot(minus(x[k], star), gx[k]) for k in clients))
            over_clients("x_star_sq", (sq(minus(a, star)) for a in x))
            add("x_star_k", tuple(sq(minus(a, star)) for a in x))
            over_clients("global_gap", (self.value(k, x[k]) - best for k in clients))
            over_clients("star_gap", (self.value(k, x[k]) - self.value(k, star) for k in clients))
            if least is not None:
                over_clients("Gamma", (best - low for low in least))
                over_clients("local_gap", (self.value(k, x[k]) - least[k] for k in clients))
                over_clients("local_gap_bar", (self.value(k, w_bar) - least[k] for k in clients))
                over_clients("star_own", (self.value(k, star) - least[k] for k in clients))
        past = [[*history[k], (eta, g[k], g_at_w[k])] for k in clients]
        if (t + 1) % run.tau:
            add("jump_sq", F(0))
            self.arrive(t, chance, w_bar_next=v_bar)
            self.explore(t + 1, chance, v, centre, past)
        else:
            self.synchronise(t, chance, v, centre)

    def synchronise(self, t: int, chance: Fraction, v: Any, centre: Point) -> None:
        run, clients = self.run, range(self.run.N)
        v_bar = mixed(run.p, v)
        self.add(t, chance, "v_moved", sum((p * p * sq(minus(a, centre)) for p, a in zip(run.p, v, strict=True)), F(0)))
        self.add(t, chance, "v_spread", sum((sq(minus(a, v_bar)) for a in v), F(0)))
        self.add(t, chance, "v_mean", v_bar)
        samples = [None] if run.K is None else list(combinations(clients, run.K))
        for c, y in binarised(run, v, centre):
            errors = [minus(a, b) for a, b in zip(y, v, strict=True)]
            self.add(
                t, chance * c, "jump_parts", sum((p * p * sq(e) for p, e in zip(run.p, errors, strict=True)), F(0))
            )
            for sample in samples:
                each = chance * c / len(samples)
                if sample is None:
                    new = mixed(run.p, y)
                else:
                    K = len(sample)
                    part = [F(int(k in sample), K) for k in clients]
                    new = mixed(part, y)
                    self.add(t, each, "A_bin", sq(mixed(part, errors)))
                    self.add(t, each, "A_2", sq(minus(mixed(part, v), v_bar)))
                    self.add(t, each, "A_1_parts", sum((sq(errors[k]) for k in sample), F(0)) / K**2)
                self.add(t, each, "jump_sq", sq(minus(new, v_bar)))
                self.add(t, each, "w_mean", new)
                self.arrive(t, each, w_bar_next=new)
                self.explore(t + 1, each, (new,) * run.N, new, [[] for _ in clients])

    def arrive(self, t: int, chance: Fraction, w_bar_next: Point) -> None:
        self.add(t, chance, "F_bar_next", self.overall(w_bar_next))
        self.add(t, chance, "grad_next", sq(mixed(self.run.p, [self.grad(k, w_bar_next) for k in range(self.run.N)])))
        if self.star is not None:
            self.add(t, chance, "Delta_next", sq(minus(w_bar_next, self.star)))

    def row(self, t: int) -> dict[str, Any]:
        """The symbols of step t: numbers, lists, and the largest over the clients."""
        out: dict[str, Any] = {}
        for name, mean in self.sums[t].items():
            if isinstance(name, tuple):
                out.setdefault(name[0], []).append(mean)
            elif name:
                out[name] = mean
        largest = {n: max(out[n]) for n in ("largest_x", "largest_w", "noise_x_most", "noise_w_most")}
        rates, first = self.run.rates, self.run.tau * (t // self.run.tau)
        steps = {
            "t": t,
            "t_0": first,
            "eta_t": rates[t],
            "eta_start": rates[first],
            "eta_later": rates[t + self.run.tau],
        }
        return out | largest | steps | {"synchronises": (t + 1) % self.run.tau == 0}


@cache
def reference(name: str) -> Reference:
    return Reference(RUNS[name])


@pytest.mark.parametrize("name", RUNS)
def test_every_symbol_against_all_outcomes(name: str) -> None:
    found, expected = follow(RUNS[name]), reference(name)
    assert len(found) == RUNS[name].steps
    for t, row in enumerate(found):
        typed = expected.row(t)
        assert expected.sums[t][""] == 1
        assert set(row) == set(typed)
        for symbol, value in typed.items():
            assert row[symbol] == value, (t, symbol)


@pytest.mark.parametrize("name", RUNS)
def test_fractions_in_fractions_out(name: str) -> None:
    for row in follow(RUNS[name]):
        for symbol, value in row.items():
            for number in value if isinstance(value, list) else [value]:
                whole = symbol in ("t", "t_0", "synchronises")
                assert isinstance(number, int) if whole else isinstance(number, numbers.Rational), symbol


def rough(run: Run) -> Run:
    def low(v: Any) -> Any:
        return tuple(map(low, v)) if isinstance(v, tuple) else float(v)

    names = ("h", "b", "p", "w0", "rates", "noise")
    given: dict[str, Any] = {name: low(getattr(run, name)) for name in names}
    return replace(run, **given)


@pytest.mark.parametrize("name", RUNS)
def test_floats_against_fractions(name: str) -> None:
    for row, exact in zip(follow(rough(RUNS[name])), follow(RUNS[name]), strict=True):
        assert set(row) == set(exact)
        for symbol, value in exact.items():
            np.testing.assert_allclose(row[symbol], np.array(value, dtype=float), rtol=1e-9, atol=1e-12, err_msg=symbol)


def test_what_is_there_when() -> None:
    """Symbols of the sample where clients are sampled, of the minimum where there is one, of synchronisation where it is."""
    rows = {name: follow(run) for name, run in RUNS.items()}
    for name, run in RUNS.items():
        for t, row in enumerate(rows[name]):
            last = (t + 1) % run.tau == 0
            assert row["synchronises"] is last
            assert ({"A_bin", "A_2", "A_1_parts"} <= set(row)) is (last and run.K is not None)
            assert ({"jump_parts", "v_moved", "v_spread", "w_mean", "v_mean"} <= set(row)) is last
            assert last or row["jump_sq"] == 0
            assert OF_CLIENTS - {"x_star_k"} <= set(row)
    assert "Delta_t" not in rows["curved down"][0] and "Gamma" not in rows["curved down"][0]
    assert "Delta_t" in rows["convex together"][0] and "Gamma" not in rows["convex together"][0]


def test_an_outcome_by_hand() -> None:
    """F(w) = w_1^2/2 + w_2 from (1, 0), two steps of 1/2."""
    run = a_run([(1, 0)], [(0, 1)], (1, 0), 2, 2, rates=(HALF,) * 4)
    first, second = follow(run)
    # g_0 = (1, 1), m = (-1/2, -1/2): both entries are the largest, nothing is random
    assert first["spread_x"] == second["binarised_sq"] == 0 and second["moved_sq"] == HALF
    # g_1 = (1/2, 1), m = (-3/4, -1): the first entry becomes -1 with probability 7/8, 1 with 1/8; the error is 1 - 9/16
    assert second["jump_sq"] == 1 - F(9, 16)
    assert second["F_bar_next"] == F(1, 8) * F(2**2, 2) + F(7, 8) * 0 - 1
    assert second["w_mean"] == [F(1, 4), F(-1)] == second["v_mean"]


# --- What must be so in every run ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_nothing_here_has_a_bias(name: str) -> None:
    for t, row in enumerate(follow(RUNS[name])):
        if row["synchronises"]:
            assert row["w_mean"] == row["v_mean"]
        # E x_t^k = w_t^k, given w_t^k; E g_t = gbar_t, given x_t^k; E w = E v, given v
        assert row["spread_x"] == row["spread_w"] + row["binarised_sq"], t
        assert row["g_sq"] == row["gbar_sq"] + row["noise_sq"], t
        if "Delta_t" in row:
            assert row["Delta_next"] == row["v_dist"] + row["jump_sq"], t
            assert row["v_dist"] == row["A_1"] + row["eta_t"] ** 2 * row["noise_sq"], t


def leaves(w: tuple[Fraction, ...]) -> Leaves:
    start = np.array([[F(0)] * len(w)], dtype=object)
    return Leaves(np.array([F(1)], dtype=object), {"W": np.array([[w]], dtype=object), "W0": start})


@pytest.mark.parametrize("w", [(F(1), F(-2)), (F(3), F(0), F(1, 2)), (F(1), F(-1)), (F(-5),)])
def test_one_binarisation(w: Point) -> None:
    """Probabilities of sum 1, no outcome twice, the right mean, the squared error d max^2 - ||w||^2."""
    found = leaves(w)
    found.split({"Y": found.binarised("W", "W0", [0])})
    outcomes = [tuple(v) for (v,) in found.known["Y"]]
    assert found.probability.sum() == 1 and min(found.probability) > 0
    assert len(set(outcomes)) == len(outcomes) == 2 ** sum(abs(v) < max(map(abs, w)) for v in w)
    assert dict(zip(outcomes, found.probability, strict=True)) == {y: c for c, y in binarisations(w, (F(0),) * len(w))}
    assert tuple(found.mean(found.known["Y"][:, 0])) == w
    error = found.mean(((found.known["Y"] - found.known["W"]) ** 2)[:, 0].sum(-1))
    assert error == len(w) * max(map(abs, w)) ** 2 - sq(w)


def test_nothing_becomes_nothing() -> None:
    """S(0) = 0: one outcome, whose probability is 1."""
    found = leaves((F(0), F(0)))
    found.split({"Y": found.binarised("W", "W0", [0])})
    assert found.known["Y"].tolist() == [[[0, 0]]] and found.probability.tolist() == [1]


def test_probabilities_through_a_round() -> None:
    found = leaves((F(1), F(2)))
    third = found.probability / 3
    found.split({"coin": [(third, found.probability), (2 * third, -found.probability), (0 * third, 0 * third)]})
    assert found.known["coin"].tolist() == [1, -1] and found.probability.tolist() == [F(1, 3), F(2, 3)]
    found.split({"Y": found.binarised("W", "W0", [0])})
    assert found.probability.sum() == 1 and len(found.known["coin"]) == len(found.known["Y"]) == 4
    assert found.mean(found.known["coin"]) == F(-1, 3)


@pytest.mark.parametrize("K", [None, 1])
def test_a_start_at_rest_stays_there(K: int | None) -> None:
    """All clients at their common minimum: every quantity but the learning rates is 0, at every step."""
    run = a_run([(1, HALF), (HALF, 1)], [(-1, -1), (-HALF, -2)], (1, 2), 2, 4, K=K)
    for row in follow(run):
        moving = {"t", "t_0", "eta_t", "eta_start", "eta_later", "synchronises", "F_bar", "F_v", "F_bar_next", "w_mean",
                  "v_mean"}  # fmt: skip
        for symbol in set(row) - moving:
            assert not np.any(row[symbol]), symbol
        assert row["F_bar"] == row["F_v"] == row["F_bar_next"]


def test_a_client_at_rest_beside_one_that_moves() -> None:
    """S of an update 0 is 0 while the other client's is random: only the second has an error of binarisation."""
    run = a_run([(1, 1), (1, HALF)], [(0, 0), (1, 2)], (0, 0), 2, 2)
    _, second = follow(run)
    assert second["moved_k_sq"] == [0, F(5, 16)]
    assert second["binarised_sq"] == HALF * (2 * F(1, 4) - F(5, 16))


def test_one_coordinate_is_gradient_descent() -> None:
    """d = 1: q = 0, nothing is random, and w_T is that of federated averaging."""
    run = a_run([(1,), (HALF,)], [(1,), (-2,)], (1,), 2, 4, p=(F(1, 4), F(3, 4)))
    w = [F(1), F(1)]
    for t, row in enumerate(follow(run)):
        assert row["binarised_sq"] == row["jump_sq"] == row["noise_sq"] == 0
        w = [e - F(1, 4) * (h * e + b) for e, h, b in zip(w, (F(1), HALF), (F(1), F(-2)), strict=True)]
        mean = w[0] / 4 + 3 * w[1] / 4
        assert row["F_bar_next"] == F(5, 8) * mean**2 / 2 - F(5, 4) * mean
        if t % 2:
            w = [mean, mean]


def test_steps_of_a_round_are_those_of_a_longer_run() -> None:
    for name in ("two clients", "weighted", "one of two"):
        run = RUNS[name]
        assert follow(replace(run, steps=2)) == follow(run)[:2]


def test_all_clients_sampled_are_all_clients() -> None:
    run = RUNS["both of two"]
    of_sample = {"A_bin", "A_2", "A_1_parts"}
    for row, plain in zip(follow(run), follow(replace(run, K=None)), strict=True):
        assert {n: v for n, v in row.items() if n not in of_sample} == plain
        assert row.get("A_2", 0) == 0


# --- The algorithm itself --------------------------------------------------------------------------------------------


class Noisy:
    """A run's quadratics, with its noise."""

    def __init__(self, run: Run) -> None:
        H = np.array([np.diag([float(v) for v in row]) for row in run.h])
        b = np.array([[float(v) for v in row] for row in run.b])
        alike = len(set(run.p)) == 1
        self.quadratic = Quadratic(H, b, weights=None if alike else np.array([float(v) for v in run.p]))
        self.noise = [np.array(part, dtype=float) for part in run.noise]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.quadratic, name)

    def gradient(self, x: np.ndarray, client: np.ndarray, draw: Draw) -> np.ndarray:
        """The sign of the noise is the client's, one for all coordinates."""
        sign = np.where(draw.uniform(1) < 0.5, 1.0, -1.0)
        constant, slope = (part[client] for part in self.noise)
        return self.quadratic.gradient(x, client, draw) + sign * (constant + slope * x)


COUNT = 20_000
OF_ALGORITHM = {
    "three clients, weighted": a_run(
        [(1, HALF), (F(1, 4), 1), (1, 1)], [(1, 0), (-1, 2), (0, -1)], (1, -1), 1, 2, p=(F(1, 2), F(1, 3), F(1, 6))
    ),
    "weighted, two steps, two rounds": replace(RUNS["weighted"], rates=(HALF,) * 6, steps=4),
    "noise, weighted, falling": replace(RUNS["noise"], rates=falling(HALF, 4, 4)),
    "one of two, noise": RUNS["one of two, noise"],
    "two of three": RUNS["two of three"],
    "three coordinates": RUNS["three coordinates"],
}


def models(run: Run, **settings: Any) -> np.ndarray:
    """The server's models after the run's steps, (COUNT, d), by the algorithm."""
    falls = run.rates[0] / run.rates[1] - 1  # 1 over what the learning rates fall by
    given: dict[str, Any] = {"K": run.K, "phi": 0.0, "step_size": "max", "gamma": float(1 / falls) if falls else None}
    algorithm = FedBAT(run.tau, float(run.rates[0]), **(given | settings))
    problem: Any = Noisy(run)
    x = np.tile(np.array([float(v) for v in run.w0]), (1, COUNT, 1))
    eta = np.full((1, 1, 1), float(run.rates[0]))
    for r in range(run.steps // run.tau):
        x = algorithm.round(problem, x, eta, Draws.of_seeds(np.arange(COUNT), r), lambda *_: None, {})
    return np.asarray(x[0])


def errors(run: Run, w: np.ndarray) -> list[float]:
    """How many standard errors the mean model, E F(w_T) and E||w_T - w*||^2 are from the exact ones."""
    problem: Any = Noisy(run)
    row = follow(run)[-1]
    star = np.linalg.solve(*(part if part.ndim == 2 else -part for part in problem.mean))
    pairs = [*zip(w.T, row["w_mean"], strict=True), (problem.value(w), row["F_bar_next"])]
    pairs.append((((w - star) ** 2).sum(-1), row["Delta_next"]))
    out = []
    for seen, exact in pairs:
        width = seen.std(ddof=1) / np.sqrt(len(seen))
        out.append(abs(seen.mean() - float(exact)) / width if width > 1e-12 else abs(seen.mean() - float(exact)) * 1e9)
    return out


@pytest.mark.parametrize("name", OF_ALGORITHM)
def test_against_the_algorithm(name: str) -> None:
    """Within 3.5 standard errors, at fixed seeds: for a true mean that fails once in 2000 times."""
    run = OF_ALGORITHM[name]
    assert run.steps % run.tau == 0
    assert max(errors(run, models(run))) < 3.5


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("weighted, two steps, two rounds", {"sent": "printed"}),  # the result of one step less
        ("noise, weighted, falling", {"gamma": None}),
        ("two of three", {"K": 3}),
    ],
)
def test_another_algorithm_is_told_apart(name: str, settings: dict[str, Any]) -> None:
    run = OF_ALGORITHM[name]
    assert max(errors(run, models(run, **settings))) > 6


def test_another_problem_is_told_apart() -> None:
    """Shares alike in place of the weights; noise of half the size."""
    run = OF_ALGORITHM["weighted, two steps, two rounds"]
    assert max(errors(run, models(replace(run, p=(HALF, HALF))))) > 6
    run = OF_ALGORITHM["one of two, noise"]
    quieter = tuple(tuple(tuple(v / 2 for v in row) for row in part) for part in run.noise)
    assert max(errors(run, models(replace(run, noise=quieter)))) > 6


def test_a_function_that_is_no_quadratic() -> None:
    """F(w) = w^2/4 + w for w < 0 and w^2 + w for w > 0, least at -2; and F(w) = w^2/4 - w, w^2 - w, least at 1/2."""
    zero = (((F(0),),), ((F(0),),))
    for slope, star, least in ((F(1), F(-2), F(-1)), (F(-1), F(1, 2), F(-1, 4))):
        for start in (F(-3), F(3)):
            run = Run(((F(1, 2),),), ((slope,),), (F(1),), (start,), (F(1, 4),) * 3, 1, 1, zero, bend=((F(3, 2),),))
            assert run.curvatures == [F(1, 2), F(2)]
            (row,) = follow(run)
            curvature = F(2) if start > 0 else F(1, 2)
            gradient = curvature * start + slope
            assert row["F_bar"] == curvature * start**2 / 2 + slope * start
            assert row["grad_sq"] == row["g_sq"] == row["grads_bar_sq"] == gradient**2
            assert row["gap_t"] == row["local_gap"] == row["F_bar"] - least and row["Gamma"] == 0
            after = start - gradient / 4
            assert row["Delta_t"] == (start - star) ** 2 and row["Delta_next"] == (after - star) ** 2
            assert row["grad_next"] == ((F(2) if after > 0 else F(1, 2)) * after + slope) ** 2
