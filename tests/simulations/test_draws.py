"""The draws: of statistical quality, and a function of (seed, purpose, round, client, step) and of nothing else.

Every statistic below is a standard normal or chi-square variable when the draws are what they claim to be; it is
refused at a probability of 1e-6 (|z| > 4.89).  Seeds are fixed: a test that passes once passes always.
"""

from collections.abc import Iterator
from itertools import permutations
from math import cos, log, pi, sin, sqrt

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from fedtheory.simulations import draws as module
from fedtheory.simulations.draws import Draws, LocalDraws, Purpose, seed_keys

CHANCE = 1e-6
Z = stats.norm.isf(CHANCE / 2)


def draws_of(seeds: object, round_: int = 0) -> Draws:
    return Draws.of_seeds(np.asarray(seeds), round_)


def local(seed: int, round_: int, client: int) -> LocalDraws:
    """One seed, one client, on their own."""
    return draws_of([seed], round_).of(np.array([client]))


# ---------------------------------------------------------------- the generator, written again from its definition

MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def stream(*path: int) -> Iterator[int]:
    key = 0
    for number in path:
        key = mix((key + (number + 1) * GAMMA) & MASK)
    while True:
        key = (key + GAMMA) & MASK
        yield mix(key)


def test_words_are_splitmix64() -> None:
    """The first outputs of SplitMix64 from state 0, as published with the reference implementation."""
    words = module._words(np.zeros(1, np.uint64), 4)[0].tolist()
    assert words == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]


@pytest.mark.parametrize(
    ("seed", "round_", "client", "step"), [(0, 0, 0, 0), (3, 17, 5, 2), (2**63 + 5, 4000, 999, 50)]
)
def test_draws_equal_the_definition(seed: int, round_: int, client: int, step: int) -> None:
    d = 5
    path = (Purpose.SAMPLE, seed, round_, client, step)
    words = [word for word, _ in zip(stream(*path), range(7), strict=False)]
    draw = local(seed, round_, client).step(step)
    np.testing.assert_array_equal(draw.integers(np.array([1000]), 7)[0], [(w >> 11) * 1000 >> 53 for w in words])
    radius = [sqrt(-2 * log(((w >> 40) + 1) / 2**24)) for w in words[:3]]
    angle = [2 * pi * ((w & 0xFFFFFFFF) >> 8) / 2**24 for w in words[:3]]
    expected = [r * cos(a) for r, a in zip(radius, angle, strict=True)]
    expected += [r * sin(a) for r, a in zip(radius, angle, strict=True)]
    np.testing.assert_allclose(draw.normal(d)[0], expected[:d], atol=2e-6)
    ranks = [word for word, _ in zip(stream(Purpose.ORDER, seed, round_), range(9), strict=False)]
    assert draws_of([seed], round_).order(9, 9)[0].tolist() == sorted(range(9), key=ranks.__getitem__)


@pytest.mark.parametrize(("seed", "round_", "client"), [(0, 0, 0), (3, 17, 5), (2**63 + 5, 4000, 999)])
def test_coins_of_compressors_equal_their_definition(seed: int, round_: int, client: int) -> None:
    """A stream of their own: client m has number m + 1 there, and the coins that all clients share have number 0."""
    draws = draws_of([seed], round_)
    for shared, number in ((False, client + 1), (True, 0)):
        words = [word for word, _ in zip(stream(Purpose.CODE, seed, round_, number, 0), range(6), strict=False)]
        coins = draws.codes(np.array([[client]]), shared).uniform(6)
        assert coins.ravel().tolist() == [(word >> 11) * 2.0**-53 for word in words]


# ------------------------------------------------------------------------------------------- statistical quality


def normals() -> np.ndarray:
    """(seed, round, client, step, coordinate): 40 x 20 x 10 x 12 x 11 = 1 056 000 numbers."""
    clients = np.arange(10)[None]
    out = []
    for r in range(20):
        local_ = draws_of(range(40), r).of(clients)
        out.append(np.stack([local_.step(k).normal(11) for k in range(12)], axis=2))
    return np.stack(out, axis=1).astype(float)


def moments(x: np.ndarray) -> dict[str, float]:
    """z-values of mean, variance, third and fourth moment of numbers that should be standard normal."""
    root = sqrt(x.size)
    return {
        "mean": x.mean() * root,
        "variance": ((x**2).mean() - 1) * root / sqrt(2),
        "third": (x**3).mean() * root / sqrt(15),
        "fourth": ((x**4).mean() - 3) * root / sqrt(96),
    }


def neighbours(x: np.ndarray) -> dict[tuple[int, int, int], float]:
    """z-values of E x_i^p x_{i+lag}^p along each axis, p = 1 and 2 (centred)."""
    out = {}
    for power, y in ((1, x), (2, (x**2 - 1) / sqrt(2))):
        for axis in range(x.ndim):
            for lag in (1, 2, 3, 6):
                if lag < x.shape[axis]:
                    z = np.moveaxis(y, axis, 0)
                    out[axis, lag, power] = float((z[lag:] * z[:-lag]).mean() * sqrt(z[lag:].size))
    return out


def worst(z_values: dict) -> float:
    return max(abs(z) for z in z_values.values())


def test_normal_numbers() -> None:
    x = normals()
    assert worst(moments(x)) < Z, moments(x)
    assert stats.kstest(x.ravel(), "norm").pvalue > CHANCE
    assert worst(neighbours(x)) < Z, neighbours(x)
    # every coordinate on its own, cosines as well as sines
    each = [moments(x[..., j]) for j in range(x.shape[-1])]
    assert max(map(worst, each)) < stats.norm.isf(CHANCE / 2 / x.shape[-1])


def test_the_test_of_normal_numbers_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    x = normals()
    assert worst(moments(x * 1.01)) > Z  # variance 2 % too large
    shared = x + 0.1 * np.roll(x, 1, axis=0)  # neighbouring seeds share a hundredth of their variance
    assert worst(neighbours(shared)) > Z
    monkeypatch.setattr(module, "_mix", lambda z: z * np.uint64(0xBF58476D1CE4E5B9))  # no finaliser
    assert worst(neighbours(normals())) > Z


def test_extreme_words() -> None:
    """No NaN, no infinity, never the upper end, at the words where rounding could reach it."""
    ends = np.array([0, 2**64 - 1, 2**63, 2**32 - 1, 0xFFFFFF << 40], dtype=np.uint64)
    normal = module._normal(ends)
    assert np.isfinite(normal).all() and np.abs(normal).max() <= sqrt(48 * log(2)) * (1 + 1e-6)
    below = np.concatenate([np.arange(1, 10**5), 2 ** np.arange(17, 40), 2 ** np.arange(17, 40) + 1])
    assert ((module._uniform(ends[1:2]) * below).astype(np.int64) == below - 1).all()


def test_orders_are_uniform() -> None:
    """Chi-square over all 4! orders, and over all ordered pairs of 5 clients when two take part."""
    for M, S in ((4, 4), (5, 2), (3, 1)):
        orders = np.concatenate([draws_of(range(2000), r).order(M, S) for r in range(30)])
        code = orders @ M ** np.arange(S)
        possible = [np.array(p) @ M ** np.arange(S) for p in permutations(range(M), S)]
        counts = np.array([(code == p).sum() for p in possible])
        assert counts.sum() == len(orders)
        assert stats.chisquare(counts).pvalue > CHANCE
        assert stats.chisquare(np.bincount(orders.ravel(), minlength=M)).pvalue > CHANCE  # inclusion
    shifted = np.where(np.arange(len(orders)) % 20 == 0, 0, orders[:, 0])  # client 0 in one round of twenty more
    assert stats.chisquare(np.bincount(shifted, minlength=3)).pvalue < CHANCE


def test_orders_of_neighbours_are_independent() -> None:
    """Position of client 0 in neighbouring seeds and rounds; the full order of neighbouring rounds (chi-square)."""
    orders = np.stack([draws_of(range(3000), r).order(3, 3) for r in range(20)], axis=1)  # (seed, round, position)
    place = (orders == 0).argmax(-1)
    z = neighbours((place - 1.0) / sqrt(2 / 3))
    assert worst(z) < Z
    code = orders @ 3 ** np.arange(3)
    code = np.unique(code, return_inverse=True)[1].reshape(code.shape)
    for one, next_ in ((code[1:], code[:-1]), (code[:, 1:], code[:, :-1])):
        counts = np.bincount((6 * one + next_).ravel(), minlength=36)
        assert stats.chisquare(counts).pvalue > CHANCE


def test_purposes_are_independent() -> None:
    """The order of a round says nothing of the numbers drawn in it, nor do these of the coins of any client."""
    seeds = np.arange(20000)
    for r in range(3):
        draws = draws_of(seeds, r)
        place = (draws.order(2, 2)[:, 0] - 0.5) * 2
        x = draws.of(np.array([[0, 1]])).step(0).normal(4).reshape(len(seeds), -1)
        z = (place[:, None] * x).mean(0) * sqrt(len(seeds))
        assert np.abs(z).max() < Z
        row = draws.of(np.array([[0, 1]])).step(0).integers(np.array([[2, 2]]), 3).reshape(len(seeds), -1)
        assert np.abs((place[:, None] * (2 * row - 1)).mean(0) * sqrt(len(seeds))).max() < Z
        samples = draws.of(np.array([[0, 1, 2]])).step(0).uniform(3)
        coins = draws.codes(np.array([[0, 1]])).uniform(3)
        pairs = np.einsum("nik,njk->nij", samples - 0.5, coins - 0.5) * 12 / sqrt(3)  # of variance 1
        assert np.abs(pairs.mean(0) * sqrt(len(seeds))).max() < Z
    keys = np.concatenate([seed_keys(seeds, purpose) for purpose in Purpose])
    assert len(np.unique(keys)) == len(keys)


def test_no_two_steps_share_a_stream() -> None:
    """The keys of 400 000 (seed, round, client, step) differ (a coincidence has probability 4e-9)."""
    keys = np.stack([draws_of(range(10), r).of(np.arange(20)[None]).keys for r in range(100)])
    steps = module._fold(keys[..., None], np.arange(20))
    assert len(np.unique(steps)) == steps.size == 400_000


# ------------------------------------------------------------------- a function of its address and of nothing else

SEEDS = st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 5), min_size=1, max_size=6, unique=True)


@settings(max_examples=100, deadline=None)
@given(
    SEEDS,
    st.integers(0, 10**6),
    st.lists(st.integers(0, 10**5), min_size=1, max_size=7, unique=True),
    st.lists(st.integers(0, 5000), min_size=1, max_size=6),
    st.integers(1, 300),
)
def test_alone_and_beside_others(seeds: list[int], round_: int, clients: list[int], steps: list[int], d: int) -> None:
    """Bit for bit the same alone and in a batch, steps asked in any order, other draws asked in between."""
    together = draws_of(seeds, round_).of(np.array([clients]))
    below = np.arange(1, len(clients) + 1)[None] * 37
    for k in steps:
        normal, rows = together.step(k).normal(d), together.step(k).integers(below, 3)
        for i, seed in enumerate(seeds):
            for j, client in enumerate(clients):
                own = local(seed, round_, client).step(k)
                np.testing.assert_array_equal(own.normal(d)[0], normal[i, j])
                np.testing.assert_array_equal(own.integers(below[0, j : j + 1], 3)[0], rows[i, j])


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(0, 10**6), st.integers(1, 30), st.data())
def test_orders_alone_and_beside_others(seeds: list[int], round_: int, M: int, data: st.DataObject) -> None:
    S = data.draw(st.integers(1, M))
    together = draws_of(seeds, round_).order(M, S)
    np.testing.assert_array_equal(draws_of(seeds[::-1], round_).order(M, S)[::-1], together)
    for i, seed in enumerate(seeds):
        full = draws_of([seed], round_).order(M, M)[0]
        assert sorted(full) == list(range(M))
        np.testing.assert_array_equal(full[:S], together[i])  # S does not matter


def test_look_ahead_does_not_matter() -> None:
    """One client or two hundred, one step or many, forwards or backwards, each step asked once or again."""
    few, many = draws_of([3, 8]), draws_of(range(20))
    rng = np.random.default_rng(0)
    for d in (1, 2, 3, 64, 9000):
        forward = [few.of(np.array([[5]])).step(k).normal(d) for k in range(30)]  # a new Local each: nothing ahead
        one = few.of(np.array([[5]]))
        for k in [*range(30), *range(29, -1, -1), *rng.permutation(30)]:
            np.testing.assert_array_equal(one.step(int(k)).normal(d), forward[k])
        if d < 100:
            beside = many.of(np.arange(200)[None])
            for k in (0, 29, 7):
                np.testing.assert_array_equal(beside.step(k).normal(d)[[3, 8], 5], forward[k][:, 0])


def test_per_seed_clients() -> None:
    """Clients that differ by seed, (N, S) and (N,), read what shared clients (1, M) read."""
    draws = draws_of(range(6), 11)
    shared = draws.of(np.arange(9)[None]).step(4).normal(3)
    order = draws.order(9, 4)
    own = draws.of(order).step(4).normal(3)
    np.testing.assert_array_equal(own, np.take_along_axis(shared, order[..., None], axis=1))
    np.testing.assert_array_equal(draws.of(order[:, 2]).step(4).normal(3), own[:, 2])


@pytest.mark.parametrize("kind", [int, np.int64, np.uint64, np.int32])
def test_rounds_of_any_integer_type(kind: type) -> None:
    """No overflow warning (they are errors here) and the same numbers."""
    a = draws_of([1, 2], kind(70)).of(np.array([[0, 1]])).step(kind(3)).normal(2)
    np.testing.assert_array_equal(a, draws_of([1, 2], 70).of(np.array([[0, 1]])).step(3).normal(2))


def test_replay_is_passed_on() -> None:
    replay = np.array([[2, 0], [1, 2]])
    assert Draws.of_seeds(np.arange(2), 0, replay).order(3, 2) is replay
