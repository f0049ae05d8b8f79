"""The compressors: their laws against their constants on fractions, their draws against their laws, their bits.

Statistics of samples are refused at a probability of 1e-6 (|z| > 4.89).  Seeds are fixed: a test that passes once
passes always.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction as Fr
from itertools import product
from math import ceil, inf, nan, prod, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import ArrayLike
from scipy import stats

from fedtheory.simulations.compressors import (
    COMPRESSORS,
    QSGD,
    Bernoulli,
    Compressor,
    Dithering,
    G_q,
    G_q_on,
    Identity,
    Law,
    MaxSign,
    NoisySign,
    RandK,
    Rounding,
    Sign,
    Sparsifier,
    StochasticSign,
    TopK,
    from_text,
)
from fedtheory.simulations.draws import Draw, Draws

CHANCE = 1e-6
Z = stats.norm.isf(CHANCE / 2)

RANDOM = [
    RandK(1),
    RandK(2),
    RandK(2, shared=True),
    Bernoulli(Fr(1, 4)),
    Bernoulli(0.5, shared=True),
    Sparsifier(Fr(1, 4)),
    Sparsifier(0.5, shared=True),
    QSGD(1),
    QSGD(3),
    Dithering(1),
    Dithering(3),
    StochasticSign(),
    MaxSign(),
]
BIASED = [TopK(1), TopK(2), Rounding(1), Rounding(3), Sign()]
OWN_STEP = [Sign(0.5), MaxSign(0.25), StochasticSign(0.25), NoisySign(0.5, 0.3), NoisySign(None, 0.3)]
ALL = [Identity(), *RANDOM, *BIASED]
each = pytest.mark.parametrize("Q", ALL, ids=lambda Q: Q.name)
each_random = pytest.mark.parametrize("Q", RANDOM, ids=lambda Q: Q.name)


def coins(Q: Compressor, seeds: ArrayLike, clients: int = 1, round_: int = 0) -> Draw:
    return Draws.of_seeds(np.atleast_1d(np.asarray(seeds)), round_).codes(np.arange(clients)[None], shared=Q.shared)


def sampled(Q: Compressor, x: ArrayLike, seeds: int, clients: int = 1) -> np.ndarray:
    """Q(x) (seeds, clients, d), of one x."""
    point = np.asarray(x, dtype=float)
    tiled = np.broadcast_to(point, (1, seeds, clients, point.size))
    return Q(tiled, coins(Q, np.arange(seeds), clients))[0]


def expected(law: Law, f: Callable[[tuple[Fr, ...]], Fr]) -> Fr:
    return sum((p * f(outcome) for p, outcome in law), Fr(0))


def square(x: Sequence[Fr]) -> Fr:
    return sum((v * v for v in x), Fr(0))


def error(law: Law, x: Sequence[Fr]) -> Fr:
    return expected(law, lambda out: sum(((a - b) ** 2 for a, b in zip(out, x, strict=True)), Fr(0)))


@st.composite
def points(draw: st.DrawFn, least: int = 2, most: int = 4) -> list[Fr]:
    """Rational points whose Euclidean norm is rational too, by stereographic projection; zeros and signs included."""
    small = st.fractions(-3, 3, max_denominator=4)
    t = draw(st.lists(small, min_size=least - 1, max_size=most - 1))
    radius, total = draw(st.sampled_from([Fr(0), Fr(1), Fr(3, 2), Fr(10)])), square(t)
    on_sphere = [2 * v / (total + 1) for v in t] + [(total - 1) / (total + 1)]
    return [radius * v for v in draw(st.permutations(on_sphere))]


# ------------------------------------------------------------------------------------------------ laws, constants


@each
@given(x=points())
@settings(max_examples=60, deadline=None)
def test_law_has_the_claimed_moments(Q: Compressor, x: list[Fr]) -> None:
    d, law = len(x), Q.law(x)
    assert sum(p for p, _ in law) == 1 and all(p > 0 for p, _ in law)
    assert len({outcome for _, outcome in law}) == len(law)
    if Q.unbiased:
        assert [expected(law, lambda out: out[i]) for i in range(d)] == x
    exact = error(law, x)
    assert float(exact) == pytest.approx(float(Q.error(np.array(x, dtype=float))), rel=1e-9, abs=1e-12)
    assert float(exact) <= Q.contraction(d).value * float(square(x)) * (1 + 1e-12)
    if (moments := Q.moments(d)) is not None:
        first, second = moments
        assert first.shape == (d,) and second.shape == (d, d) and (first == 1).all()
        for i, j in product(range(d), repeat=2):
            of_law = float(expected(law, lambda out: out[i] * out[j]))
            assert of_law == pytest.approx(second[i, j] * float(x[i] * x[j]), rel=1e-12, abs=1e-300)


ones = lambda d: [Fr(1)] * d  # noqa: E731
ATTAINED = [
    (Identity(), ones(3), Fr(0)),
    (RandK(2), [Fr(3), Fr(-1), Fr(0), Fr(2)], Fr(1)),
    (RandK(3), ones(7), Fr(4, 3)),
    (Bernoulli(Fr(1, 4)), [Fr(5), Fr(0)], Fr(3)),
    (Sparsifier(Fr(2, 5)), [Fr(1), Fr(-2), Fr(3)], Fr(3, 2)),
    (StochasticSign(), [Fr(3), Fr(4)], Fr(1)),
    (StochasticSign(), [Fr(2), Fr(-3), Fr(6)], Fr(2)),
    (QSGD(7), [Fr(-3)], Fr(0)),
    (QSGD(1), ones(4), Fr(1)),  # sqrt(d)/s - 1
    (QSGD(1), ones(9), Fr(2)),
    (QSGD(2), [Fr(1), Fr(3), Fr(1), Fr(-1), Fr(-1), Fr(1), Fr(1), Fr(1)], Fr(1, 2)),  # d / (4 s^2), A = 16 = 4 s^2
    (QSGD(3), [Fr(1), Fr(-1), Fr(3), Fr(5)], Fr(1, 9)),  # A = 36
    (Dithering(1), [Fr(3), Fr(1), Fr(-1), Fr(1)], Fr(1, 2)),
    (Dithering(2), [Fr(5), Fr(1), Fr(-1), Fr(1), Fr(1), Fr(1)], Fr(1, 4)),
    (Dithering(5), [Fr(-3)], Fr(0)),
    (TopK(2), [Fr(1), Fr(1), Fr(-1), Fr(1), Fr(1)], Fr(3, 5)),
    (Rounding(2), [Fr(4), Fr(1), Fr(-1)], Fr(1, 9)),
    (Rounding(1), [Fr(2), Fr(1)], Fr(1, 5)),
]


@pytest.mark.parametrize(("Q", "x", "claim"), ATTAINED)
def test_constant_is_attained(Q: Compressor, x: list[Fr], claim: Fr) -> None:
    """The worst x attains it on fractions: a smaller constant would be wrong."""
    constant = Q.contraction(len(x))
    assert error(Q.law(x), x) == claim * square(x)
    assert constant.value == pytest.approx(float(claim), rel=1e-15) and "exact" in constant.how
    if Q.unbiased:
        assert Q.q(len(x)) == Q.contraction(len(x))


def worst_by_search(Q: Compressor, d: int) -> float:
    """The largest error of many x of norm 1, uphill from the best ones; not above the supremum but for rounding."""
    rng = np.random.default_rng(d)
    x = rng.standard_normal((20_000, d)) * rng.random((20_000, d))
    step = 0.3
    for _ in range(120):
        ratio = Q.error(x) / (x**2).sum(-1)
        x = x[np.argsort(-ratio)[:50]]
        x = np.concatenate([x, np.repeat(x, 20, axis=0) * (1 + step * rng.standard_normal((1000, d)))])
        step *= 0.9
    return float((Q.error(x) / (x**2).sum(-1)).max())


@pytest.mark.parametrize("d", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("Q", [QSGD(1), QSGD(2), QSGD(3), Dithering(1), Dithering(2), Rounding(2), TopK(1)], ids=repr)
def test_exact_suprema_against_search(Q: Compressor, d: int) -> None:
    claim = Q.contraction(d).value
    found = worst_by_search(Q, d)
    assert found <= claim * (1 + 1e-9) + 1e-15
    assert found >= claim * (1 - 2e-3)


@given(d=st.integers(1, 10**7), s=st.integers(1, 10**4))
def test_qsgd_is_below_the_published_bound(d: int, s: int) -> None:
    Q = QSGD(s)
    exact, published = Q.q(d).value, Q.q_published(d)
    assert 0 <= exact <= d / (4 * s * s) * (1 + 1e-12)
    assert exact <= published.value * (1 + 1e-12) and "proved bound" in published.how
    assert published.value == min(d / s**2, sqrt(d) / s)
    if d >= 4 * s * s:
        assert exact == pytest.approx(sqrt(d) / s - 1, rel=1e-9)


def test_no_bias_where_nothing_is_lost() -> None:
    assert TopK(3).q(3).value == 0 == Rounding(2).q(1).value


def test_ties() -> None:
    x = np.array([1.0, -2.0, 2.0, 2.0])
    assert TopK(2)(x).tolist() == [0, -2, 2, 0]
    assert TopK(2).law([Fr(v) for v in x.tolist()]) == [(1, (0, -2, 2, 0))]
    y = np.array([4.0, 1.0, 3.0, -1.0])  # 4 t: 2, 1/2, 3/2, 1/2
    assert Rounding(2)(y).tolist() == [4, 0, 4, 0]
    assert Rounding(2).law([Fr(v) for v in y.tolist()]) == [(1, (4, 0, 4, 0))]


# -------------------------------------------------------------------------------------------------------- samples


@each
@pytest.mark.parametrize("x", [(3, 4, 0), (2, -3, 6), (1, 4, -8)], ids=str)
def test_samples_follow_the_law(Q: Compressor, x: tuple[int, ...]) -> None:
    """Means, second moments, and how often each outcome comes: over seeds and, unless shared, clients."""
    seeds, clients = 6000, 1 if Q.shared else 3
    samples = sampled(Q, x, seeds, clients).reshape(-1, len(x))
    law = Q.law([Fr(v) for v in x])
    n = len(samples)

    def agrees(of_samples: np.ndarray, of_law: Callable[[tuple[Fr, ...]], Fr]) -> None:
        mean = expected(law, of_law)
        variance = float(expected(law, lambda out: of_law(out) ** 2) - mean**2)
        difference = of_samples.mean() - float(mean)
        assert abs(difference) <= Z * sqrt(variance / n) + 1e-12 * max(1.0, abs(float(mean)))

    for i in range(len(x)):
        agrees(samples[:, i], lambda out: out[i])
        for j in range(i + 1):
            agrees(samples[:, i] * samples[:, j], lambda out: out[i] * out[j])
    outcomes = np.array([out for _, out in law], dtype=float)
    counts = np.isclose(samples[:, None], outcomes, rtol=1e-12, atol=1e-12).all(-1).sum(0)
    assert counts.sum() == n  # nothing but outcomes of the law
    chances = np.array([float(p) for p, _ in law])
    often = n * chances >= 5
    if often.sum() > 1:
        seen, due = counts[often], n * chances[often]
        statistic = ((seen - due) ** 2 / due).sum()
        assert stats.chi2.sf(statistic, often.sum() - 1) > CHANCE


@each
def test_draws_do_not_depend_on_what_runs_beside(Q: Compressor) -> None:
    x = np.random.default_rng(1).standard_normal((12, 4, 5))
    full = Q(x[None], coins(Q, np.arange(12), 4))[0]
    some = [3, 5, 9]
    np.testing.assert_array_equal(Q(x[None, some], coins(Q, some, 4))[0], full[some])
    np.testing.assert_array_equal(Q(x[None, :, :2], coins(Q, np.arange(12), 2))[0], full[:, :2])


@each_random
def test_coins_differ_by_round_seed_and_client_unless_shared(Q: Compressor) -> None:
    x = np.broadcast_to(np.arange(1.0, 8.0), (1, 40, 6, 7))
    now = Q(x, coins(Q, np.arange(40), 6))[0]
    assert (now != Q(x, coins(Q, np.arange(40), 6, round_=1))[0]).any()
    assert (now[0] != now).any()
    same = (now[:, 1:] == now[:, :1]).all((0, -1))  # as the first client, in every run
    assert same.all() if Q.shared else not same.any()


@each_random
def test_coins_of_other_shapes_are_refused(Q: Compressor) -> None:
    x = np.ones((2, 4, 5, 6))
    other = Draws.of_seeds(np.arange(4), 0).codes(np.arange(5)[None], shared=not Q.shared)
    with pytest.raises(ValueError, match="expected"):
        Q(x, other)
    with pytest.raises(ValueError, match="expected"):
        Q(x, coins(Q, np.arange(3), 5))


@each
def test_zero_goes_to_zero(Q: Compressor) -> None:
    x = np.zeros((1, 3, 2, 4))
    x[0, 1] = np.random.default_rng(4).standard_normal((2, 4))
    out = Q(x, coins(Q, np.arange(3), 2))
    assert not out[0, [0, 2]].any() and np.isfinite(out).all()
    assert Q.law([Fr(0)] * 3) == [(1, (0, 0, 0))]
    assert Q.error(np.zeros(3)) == 0
    if not Q.shared:
        assert not Q.decode(Q.encode(np.zeros(4)), 4).any()


@each
def test_tiny_and_huge_vectors(Q: Compressor) -> None:
    """Squares that vanish or overflow do no harm."""
    x = np.array([3.0, -4, 12, 0.1])
    plain = sampled(Q, x, 50)
    for power in (-600, 600):
        np.testing.assert_allclose(sampled(Q, np.ldexp(x, power), 50), np.ldexp(plain, power), rtol=1e-12)


@each
@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_what_is_not_finite_stays_so(Q: Compressor, bad: float) -> None:
    x = np.random.default_rng(5).standard_normal((1, 6, 3, 4))
    y = x.copy()
    y[0, 2, 1, 3] = bad
    draw = coins(Q, np.arange(6), 3)
    with np.errstate(invalid="ignore"):  # as the engine does
        out = Q(y, draw)
    assert not np.isfinite(out[0, 2, 1]).all()
    others = np.isfinite(y).all(-1)
    np.testing.assert_array_equal(out[others], Q(x, draw)[others])


# ----------------------------------------------------------------------------------------------------------- wire


def length(Q: Compressor, message: np.ndarray, kept: np.ndarray) -> float:
    """Bits of one message, from its formula."""
    match Q:
        case Bernoulli():
            return (0 if Q.shared else 1) + 32 * len(message) * bool(kept.any())
        case Sparsifier():
            return (0 if Q.shared else len(message)) + 32 * int(kept.sum())
    return Q.bits(len(message))


@each
@pytest.mark.parametrize("d", [2, 5, 8, 33])
def test_round_trip_and_byte_counts(Q: Compressor, d: int) -> None:
    x = np.random.default_rng(d).standard_normal(d)
    draw = coins(Q, np.arange(20))
    for seed, message in enumerate(sampled(Q, x, 20)[:, 0]):
        mask = Q.mask(draw, d)[seed, 0] if Q.shared else None  # type: ignore[attr-defined]
        data = Q.encode(message, mask)
        assert len(data) == ceil(length(Q, message, message != 0) / 8)
        back = Q.decode(data, d, mask)
        np.testing.assert_allclose(back, message, rtol=2.0**-23)
        assert Q.encode(back, mask) == data  # nothing is lost twice
        np.testing.assert_array_equal(Q.decode(data, d, mask), back)


@pytest.mark.parametrize("Q", [QSGD(1), QSGD(5), QSGD(127), Dithering(1), Dithering(10), Rounding(7)], ids=repr)
@given(norm=st.floats(2.0**-20, 2.0**20, width=32), data=st.data())
@settings(max_examples=60, deadline=None)
def test_messages_of_a_float32_norm_come_back_exactly(Q: Compressor, norm: float, data: st.DataObject) -> None:
    s: int = Q.s  # type: ignore[attr-defined]
    levels = data.draw(st.lists(st.integers(-s, s), min_size=2, max_size=7))
    if not isinstance(Q, QSGD):
        levels[0] = s
    message = norm * (np.array(levels) / s)
    np.testing.assert_array_equal(Q.decode(Q.encode(message), len(levels)), message)


BITS: list[tuple[Compressor, int, float]] = [
    (Identity(), 10, 320),
    (RandK(3), 10, 3 * (32 + 4)),
    (RandK(3), 8, 3 * (32 + 3)),
    (RandK(3), 9, 3 * (32 + 4)),
    (RandK(1), 1, 32),
    (RandK(3, shared=True), 10, 96),
    (TopK(2), 5, 2 * (32 + 3)),
    (QSGD(1), 10, 32 + 2 * 10),
    (QSGD(3), 10, 32 + 3 * 10),
    (QSGD(4), 10, 32 + 4 * 10),
    (Dithering(127), 10, 32 + 8 * 10),
    (Rounding(128), 10, 32 + 9 * 10),
    (StochasticSign(), 10, 42),
    (Bernoulli(0.25), 10, 1 + 80),
    (Bernoulli(0.25, shared=True), 10, 80),
    (Sparsifier(0.25), 10, 10 + 80),
    (Sparsifier(0.25, shared=True), 10, 80),
]  # fmt: skip


def test_bits() -> None:
    for Q, d, bits in BITS:
        assert Q.bits(d) == bits, Q


@each
def test_data_of_another_length(Q: Compressor) -> None:
    x = np.random.default_rng(6).standard_normal(9)
    draw = coins(Q, [1])
    mask = Q.mask(draw, 9)[0, 0] if Q.shared else None  # type: ignore[attr-defined]
    data = Q.encode(sampled(Q, x, 2)[1, 0], mask)
    with pytest.raises(ValueError, match="bytes: expected"):
        Q.decode(data + b"\0", 9, mask)
    if data:
        with pytest.raises(ValueError, match="bytes: expected more"):
            Q.decode(data[:-1], 9, mask)


# --------------------------------------------------------------------------------------------------- Assumption 5


def left_side(Q: Compressor, x: list[list[Fr]]) -> Fr:
    """Of Assumption 5, over all outcomes of all clients together."""
    m, d = len(x), len(x[0])
    laws = [Q.law(point) for point in x]
    total = Fr(0)
    for joint in product(*laws):
        mean = [sum((out[i] for _, out in joint), Fr(0)) / m for i in range(d)]
        total += prod((p for p, _ in joint), start=Fr(1)) * square(mean)
    mean = [sum((point[i] for point in x), Fr(0)) / m for i in range(d)]
    return total - expected(Q.law(mean), square)


# all clients and their mean have rational norms
TRIPLES = [
    [[Fr(3), Fr(4)], [Fr(3), Fr(4)]],
    [[Fr(3), Fr(4)], [Fr(-3), Fr(-4)]],
    [[Fr(8), Fr(0)], [Fr(0), Fr(6)]],
    [[Fr(9), Fr(0)], [Fr(0), Fr(12)], [Fr(0), Fr(0)]],
]


@each
@pytest.mark.parametrize("x", TRIPLES)
def test_left_side_of_assumption_5(Q: Compressor, x: list[list[Fr]]) -> None:
    value = G_q_on(Q, np.array(x, dtype=float))
    if Q.shared:
        assert value == 0
    else:
        assert value == pytest.approx(float(left_side(Q, x)), rel=1e-12, abs=1e-12)


@each
def test_G_q(Q: Compressor) -> None:
    assert G_q(Q, 3, 1).value == 0
    G = G_q(Q, 3, 4)
    if Q.shared or isinstance(Q, Identity):
        assert G.value == 0 and "exact" in G.how
        assert G_q_on(Q, np.random.default_rng(7).standard_normal((4, 3))) == 0
        return
    assert G.value is None and "unbounded" in G.how
    x = np.zeros((4, 3))
    if Q.unbiased:
        x[:2] = np.array([[1.0, 2.2, 3.1], [-1, -2.2, -3.1]])
    elif isinstance(Q, Sign):
        x[:2] = np.array([[1, 0.1, 0.1], [-1, 0.1, 0.1]])
    elif isinstance(Q, TopK):
        x[:2] = np.array([[1.1, 1.1, 1], [-1, -1.1, -1.1]])
    else:
        half = 0.5 / Q.s  # type: ignore[attr-defined]
        x[:2] = np.array([[1, half + 0.01, 0], [-1, -half + 0.01, 0]])
    left = G_q_on(Q, x)
    assert left > 0 and G_q_on(Q, 1000 * x) == pytest.approx(1e6 * left)  # no constant is above all of these
    if Q.unbiased:
        assert left == pytest.approx(2 * float(Q.error(x[0])) / 16)


@given(x=points())
@settings(max_examples=60, deadline=None)
def test_signs_with_a_step_size_of_their_own(x: list[Fr]) -> None:
    """Law, error and bias of alpha sign(x) and of alpha with probability (1 + x_i/||x||_oo)/2 or (1 + x_i/||x||)/2; one norm
    for all messages."""
    d, largest, norm = len(x), max(abs(v) for v in x), Fr(sqrt(square(x))).limit_denominator(1000)
    for Q, alpha in ((Sign(0.5), Fr(1, 2)), (MaxSign(0.25), Fr(1, 4)), (StochasticSign(0.25), Fr(1, 4))):
        law = Q.law(x)
        assert float(error(law, x)) == pytest.approx(float(Q.error(np.array(x, dtype=float))), rel=1e-9, abs=1e-12)
        assert all(abs(v) == alpha for _, outcome in law for v in outcome)
        assert Q.contraction(d).value is None and Q.q(d).value is None and not Q.unbiased
        assert G_q(Q, d, 3).value == 0 and Q.bits(d) == d
        mean = [expected(law, lambda out: out[i]) for i in range(d)]
        if isinstance(Q, MaxSign):
            assert mean == [alpha * v / (largest or 1) for v in x]
        elif isinstance(Q, StochasticSign):
            assert norm**2 == square(x) and mean == [alpha * v / (norm or 1) for v in x]
        else:
            assert mean == [alpha if v >= 0 else -alpha for v in x]


@pytest.mark.parametrize("Q", OWN_STEP, ids=lambda Q: Q.name)
def test_draws_of_signs(Q: Compressor) -> None:
    """Frequencies against `error` and the probabilities, at |z| < 4.89; NaN stays; what is sent is what arrives."""
    x = np.array([0.4, -0.1, 0.0, 0.25])
    found = sampled(Q, x, 20000)[:, 0]
    alpha = Q.step(x)[0]  # type: ignore[attr-defined]
    assert (np.abs(found) == alpha).all()
    up = Q.up(x)  # type: ignore[attr-defined]
    assert (np.abs((found > 0).mean(0) - up) <= Z * np.sqrt(up * (1 - up) / len(found)) + 1e-12).all()
    squares = ((found - x) ** 2).sum(1)
    assert abs(squares.mean() - Q.error(x)) <= Z * squares.std() / np.sqrt(len(found)) + 1e-12
    if isinstance(Q, NoisySign):
        np.testing.assert_allclose(up, stats.norm.cdf(x / Q.noise))
        with pytest.raises(ValueError, match="irrational"):
            Q.law([Fr(1)])
    np.testing.assert_allclose(Q.decode(Q.encode(found[0]), 4), found[0], rtol=1e-7)
    assert len(Q.encode(found[0])) == ceil(Q.bits(4) / 8)
    assert np.isnan(sampled(Q, [np.nan, 1.0], 1)[0, 0, 0])
    with pytest.raises(ValueError, match="expected an output of"):
        Q.encode(np.array([1.0, 0.3, 0.3, 0.3]))


def test_noisy_signs_come_near_their_worst() -> None:
    Q, x = NoisySign(None, 1.0), np.full(4, 1e-6)
    assert 1.999 < Q.error(x) / (x**2).sum() <= Q.contraction(4).value == 2


def test_G_q_where_nothing_is_lost() -> None:
    for Q in (RandK(3), TopK(3), Sparsifier(1), Bernoulli(1.0)):
        assert G_q(Q, 3, 5).value == 0
    assert G_q(StochasticSign(), 1, 5).value == G_q(QSGD(2), 1, 5).value == G_q(Rounding(2), 1, 5).value == 0


# --------------------------------------------------------------------------------------------- names and bad input


@each
def test_a_name_builds_its_compressor(Q: Compressor) -> None:
    assert eval(Q.name, {**COMPRESSORS, "Fraction": Fr}) == Q
    assert type(Q).__name__ in COMPRESSORS


REFUSED: list[tuple[Callable[..., object], tuple[Any, ...], str]] = [
    (RandK, (0,), "k = 0"),
    (RandK, (1.5,), "k = 1.5"),
    (TopK, (0,), "k = 0"),
    (QSGD, (0,), "s = 0"),
    (Dithering, (-1,), "s = -1"),
    (Rounding, (0,), "s = 0"),
    (Bernoulli, (0,), "p = 0"),
    (Bernoulli, (nan,), "p = nan"),
    (Sparsifier, (1.01,), "p = 1.01"),
    (Sparsifier, ("half",), "p = half"),
    (Sign, (0.0,), r"alpha = 0\.0"),
    (MaxSign, (-1.0,), r"alpha = -1\.0"),
    (StochasticSign, (0.0,), r"alpha = 0\.0"),
    (NoisySign, (0.1, 0.0), r"noise = 0\.0"),
    (G_q, (QSGD(1), 3, 0), "m = 0"),
    (G_q, (RandK(4), 3, 1), "k = 4 of d = 3"),
    (G_q_on, (Identity(), [1.0, 2.0]), r"shape \(2,\)"),
    (G_q_on, (Identity(), [[nan]]), "finite"),
    # laws that cannot be listed
    (QSGD(2).law, ([Fr(1), Fr(1)],), r"sqrt\(2\)"),
    (StochasticSign().law, ([Fr(1), Fr(1)],), r"expected a rational norm, not sqrt\(2\)"),
    (Sparsifier(0.5).law, (ones(13),), "8192 outcomes of Sparsifier"),
    (RandK(8).law, (ones(16),), "at most 4096"),
    (Identity().law, ([],), "expected d >= 1"),
    # messages that no compressor sends, and data that no message has
    (RandK(1).encode, ([1.0, 2.0],), "expected an output of RandK"),
    (TopK(1).encode, ([1.0, 2.0],), "expected an output of TopK"),
    (QSGD(2).encode, ([1.0, 0.3],), "expected an output of QSGD"),
    (Dithering(2).encode, ([1.0, 0.3],), "expected an output of Dithering"),
    (StochasticSign().encode, ([1.0, 0.3],), "expected an output of StochasticSign"),
    (Identity().encode, ([1e300, 0.0],), "range of float32"),
    (QSGD(2).encode, ([1e300, 0.0],), "range of float32"),
    (Identity().encode, ([nan, 0.0],), "finite"),
    (Identity().encode, ([[1.0]],), r"shape \(1, 1\)"),
    (RandK(1, shared=True).encode, ([1.0, 0.0],), "coins of RandK.* are shared"),
    (TopK(1).decode, (b"\xff" * 5, 5), "index 7: expected one of 5"),
    (QSGD(1).decode, (bytes(4) + b"\xff", 4), "level 2: expected at most s = 1"),
]


@pytest.mark.parametrize(("call", "given_", "why"), REFUSED)
def test_refused(call: Callable[..., object], given_: tuple[Any, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        call(*given_)


def test_the_longest_law_that_is_listed() -> None:
    assert len(Sparsifier(0.5).law(ones(12))) == 4096


@pytest.mark.parametrize("Q", [RandK(4), RandK(4, shared=True), TopK(4)], ids=repr)
@pytest.mark.parametrize("call", ["__call__", "error", "q", "contraction", "bits", "law", "moments", "decode"])
def test_k_above_d(Q: Compressor, call: str) -> None:
    arguments = {
        "__call__": (np.ones((1, 2, 1, 3)), coins(Q, [0, 1])),
        "error": (np.ones(3),),
        "law": (ones(3),),
        "decode": (bytes(4), 3, np.ones(3)),
    }.get(call, (3,))
    if call == "moments" and isinstance(Q, TopK):
        return  # none for any d
    if call == "decode" and Q.shared:
        return  # the mask says how many
    with pytest.raises(ValueError, match="k = 4 of d = 3 coordinates: expected k <= d"):
        getattr(Q, call)(*arguments)


@each
def test_no_coordinates(Q: Compressor) -> None:
    for call in (Q.q, Q.contraction, Q.bits):
        with pytest.raises(ValueError, match="d = 0"):
            call(0)


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ("Identity", Identity()),
        ("RandK:2", RandK(2)),
        ("RandK:2:shared", RandK(2, shared=True)),
        ("RandK(k=2, shared=True)", RandK(2, shared=True)),
        (" QSGD( s=7 ) ", QSGD(7)),
        ("QSGD(7)", QSGD(7)),
        ("Bernoulli:1/4:shared", Bernoulli(0.25, shared=True)),
        ("Bernoulli(p=1/4)", Bernoulli(0.25)),
    ],
)
def test_a_compressor_is_read_in_full_and_in_short(text: str, built: Compressor) -> None:
    assert from_text(text) == built
    assert from_text(repr(built)) == built


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Rand:2", "unknown compressor 'Rand'; did you mean RandK"),
        ("", "unknown compressor ''; expected one of Identity"),
        ("RandK", "expected RandK with k, shared"),
        ("RandK:two", "expected RandK with k, shared"),
        ("RandK(m=2)", "expected RandK with k, shared"),
        ("QSGD:1/0", "expected QSGD with s"),
        ("RandK:0", "RandK"),
        *(
            (odd, "compressor.*expected")
            for odd in ([1, 2], 0, None, "RandK:" + "9" * 5000, "x" * 5000, "TopK:" + "1/" * 5000)
        ),
    ],
)
def test_a_compressor_that_there_is_not_is_refused(text: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        from_text(text)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("odd", ["x", None, 3.0, 1j, [1j], ["a"], [np.inf, 1], [], [[1], [1, 2]], len], ids=repr)
def test_what_is_no_vector_is_refused(odd: Any) -> None:
    for Q in (Identity(), RandK(1), TopK(1), QSGD(4), Dithering(2), Sign(), StochasticSign()):
        for ask in (Q.error, Q.law, Q.encode):
            with pytest.raises(ValueError, match="expected") as caught:
                ask(odd)
            assert len(str(caught.value)) < 200


def test_vectors_of_any_kind_of_numbers() -> None:
    for Q in (Identity(), RandK(1), TopK(1), QSGD(4), Sign()):
        assert Q.error([1, 2]) == Q.error(np.array([1.0, 2.0])) and Q.law(np.array([3, 4])) == Q.law([Fr(3), Fr(4)])
    assert QSGD(4).error([1e308, 1]) == np.inf
