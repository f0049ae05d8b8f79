"""Hypothesis strategies: vectors, functions, populations, federations, samples and noise with certified constants.

For property tests of lemmas about federated optimisation, your own or a paper's:

    @given(strongly_convex(d=2, L=4.0, mu=1.0), vectors(2), vectors(2))
    def test_eq19(h, x, y):
        divergence = h.value(x) - h.value(y) - h.gradient(y) @ (x - y)
        assert h.mu / 2 * ((x - y) @ (x - y)) <= divergence + 1e-9 * (abs(h.value(x)) + abs(h.value(y)))

All numbers are zero or between 2^-6 and 2^4 in modulus, and short (half precision).  So sums and products of a few of
them are exact, a comparison in doubles at relative 1e-9 is sound, and a shrunk witness can be checked by hand.  A
function has constants of its own, h.L <= L and h.mu >= mu, which may be sharper than the arguments.  Arguments that
cannot be met raise ValueError at once, when the strategy is made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from numpy.typing import NDArray

from fedtheory.simulations import functions
from fedtheory.simulations.checked import number, whole
from fedtheory.simulations.functions import Function
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.quadratic import Quadratic

SMALLEST, LARGEST = 2.0**-6, 2.0**4
_HALF = 65504.0  # the largest number in half precision
_LARGEST_SIZE, _DEEPEST = 10_000, 12  # of vectors and lists; of noise trees
_SHARES = (1.0, 0.0, 0.5, 0.25, 0.75)  # position of a curvature in its interval: 0 the lower end, 1 the upper


# Numbers and vectors


def numbers() -> SearchStrategy[float]:
    """Real numbers: 0, or of modulus 2^-6 to 2^4, in half precision."""
    return st.floats(-LARGEST, LARGEST, width=16).map(lambda q: q if abs(q) >= SMALLEST else 0.0)


def positive(most: float = LARGEST) -> SearchStrategy[float]:
    """Numbers from 2^-6 to `most`, in half precision, for constants such as L, a step size or a weight.

    Raises ValueError for most < 2^-6.
    """
    most = number("most", most)
    if not SMALLEST <= most <= _HALF:
        raise ValueError(f"most = {most}: expected at least {SMALLEST}, at most {_HALF}")
    half = np.float16(most)
    return st.floats(SMALLEST, float(half if half <= most else np.nextafter(half, np.float16(0))), width=16)


def vectors(d: int) -> SearchStrategy[Array]:
    """Points of R^d, (d,).  Raises ValueError for d < 1."""
    (d,) = _at_least_one(d=d)
    return st.lists(numbers(), min_size=d, max_size=d).map(np.array)


def populations(n: int, d: int) -> SearchStrategy[Array]:
    """Fixed vectors x_1 ... x_n of R^d, (n, d).  Raises ValueError for n < 1 or d < 1."""
    n, d = _at_least_one(n=n, d=d)
    return st.lists(vectors(d), min_size=n, max_size=n).map(np.array)


# Functions


def convex(d: int, L: float) -> SearchStrategy[Function]:
    """Convex, L-smooth functions on R^d: quadratics (definite or flat), Huber, hinge, logistic, log-sum-exp, ...

    Raises ValueError for d < 1 or L <= 0.
    """
    d, L = _smoothness(d, L)
    others = _convex_at_origin(d) | st.just(functions.softplus(d))
    return _moved(_quadratics(d, 0.0, L) | others.map(lambda h: _of_smoothness(h, L)))


def strongly_convex(d: int, L: float, mu: float) -> SearchStrategy[Function]:
    """mu-strongly convex, L-smooth functions on R^d: quadratics, and convex ones + (mu/2) ||x||^2; quadratic if mu = L.

    Raises ValueError for d < 1, L <= 0, mu <= 0 or mu > L.
    """
    (d, L), mu = _smoothness(d, L), number("mu", mu)
    if not 0 < mu <= L:
        raise ValueError(f"mu = {mu}, L = {L}: expected 0 < mu <= L")
    if mu == L:
        return _moved(_quadratics(d, mu, L))
    others = _convex_at_origin(d).map(lambda h: functions.regularised(_of_smoothness(h, L - mu), mu))
    return _moved(_quadratics(d, mu, L) | others)


def indefinite(d: int, L: float) -> SearchStrategy[Function]:
    """L-smooth functions on R^d that are not convex: quadratics (unbounded below), ripples, dips, rippled bowls, ...

    Raises ValueError for d < 1 or L <= 0.
    """
    d, L = _smoothness(d, L)
    return _moved(_saddles(d, L) | _indefinite_at_origin(d).map(lambda h: _of_smoothness(h, L)))


def smooth(d: int, L: float) -> SearchStrategy[Function]:
    """L-smooth functions on R^d, convex or not.  Raises ValueError for d < 1 or L <= 0."""
    return convex(d, L) | indefinite(d, L)


def _of_smoothness(h: Function, L: float) -> Function:
    return h if h.L == L else functions.scaled(h, L / h.L)


def _convex_at_origin(d: int) -> SearchStrategy[Function]:
    """Convex functions other than quadratics, least at the origin."""
    same = [functions.huber(d), functions.hinge(d), functions.logcosh(d), functions.logistic(d, 0.25)]
    if d == 1:
        return _one_of(same)
    other = st.sampled_from([functions.hinge(1), functions.logistic(1, 0.125), functions.quadratic([1.0])])
    mixed = other.map(lambda h: functions.beside(functions.huber(d - 1), h))
    return _one_of([*same, functions.logsumexp(d)]) | mixed


def _indefinite_at_origin(d: int) -> SearchStrategy[Function]:
    """Functions that are not convex, least at the origin."""
    ripple = functions.ripple(d)
    same = [ripple, functions.regularised(ripple, 0.5), functions.dip(d), functions.saturating(d)]
    return _one_of([*same, functions.beside(functions.huber(d - 1), functions.ripple(1))] if d > 1 else same)


def _one_of(family: list[Function]) -> SearchStrategy[Function]:
    """One of the functions; in a union each is as likely as any other alternative."""
    return st.one_of(*map(st.just, family))


def _quadratics(d: int, low: float, high: float) -> SearchStrategy[Function]:
    """Quadratics with curvatures in [low, high], low >= 0, not all zero; eigenvectors are the axes, or reflected axes."""
    shares = st.lists(st.sampled_from(_SHARES), min_size=d, max_size=d).filter(lambda s: low > 0 or any(s))
    curvatures = shares.map(lambda shares: [(1 - share) * low + share * high for share in shares])
    simplest = functions.quadratic([high] * d)  # no choice to make: a witness shrinks to it if it can
    return st.just(simplest) | st.builds(functions.quadratic, curvatures, _mirrors(d))


def _saddles(d: int, L: float) -> SearchStrategy[Function]:
    """Quadratics with curvatures in [-L, L], the first one negative."""
    first = st.sampled_from((-L, -L / 2, -L / 4))
    rest = st.lists(st.sampled_from((L, 0.0, -L, L / 2)), min_size=d - 1, max_size=d - 1)
    curvatures = st.tuples(first, rest).map(lambda c: [c[0], *c[1]])
    return st.just(functions.quadratic([-L] + [L] * (d - 1))) | st.builds(functions.quadratic, curvatures, _mirrors(d))


def _mirrors(d: int) -> SearchStrategy[list[float] | None]:
    """A small normal of a reflection, or None."""
    whole = st.sampled_from((0.0, 1.0, -1.0, 2.0))
    return st.none() if d == 1 else st.lists(whole, min_size=d, max_size=d).map(lambda v: v if any(v) else None)


@st.composite
def _moved(draw: st.DrawFn, family: SearchStrategy[Function]) -> Function:
    """A function stretched, moved and raised, which does not change its constants L and mu."""
    h = draw(family)
    width, level = draw(st.sampled_from((1.0, 8.0, 0.5))), draw(st.sampled_from((0.0, 1.0, -8.0)))
    centre = draw(vectors(h.d))
    h = h if width == 1 else functions.stretched(h, width)
    return functions.shifted(h, centre, level) if centre.any() or level else h


# Federations


@st.composite
def _federations(draw: st.DrawFn, M: int, d: int, L: float, mu: float, sigma: float) -> Quadratic:
    shares = draw(st.lists(st.lists(st.sampled_from(_SHARES), min_size=d, max_size=d), min_size=M, max_size=M))
    shares[0][0] = 1.0  # the first client attains L
    H = []
    for share in np.array(shares):
        normal = draw(_mirrors(d))
        Q = np.eye(d) if normal is None else functions.reflection(normal)
        H.append((Q * ((1 - share) * mu + share * L)) @ Q)
    x_star = draw(vectors(d))
    gradients = np.zeros((M, d))
    if M > 1:
        gradients[1:] = draw(populations(M - 1, d))
        gradients[0] = -gradients.sum(0)  # exact: short numbers
    matrices = (np.array(H) + np.swapaxes(H, 1, 2)) / 2
    return Quadratic(matrices, gradients - matrices @ x_star + 0.0, sigma, f"drawn: M={M}, d={d}, L={L:g}, mu>={mu:g}")


def federations(M: int, d: int, L: float, mu: float = 0.0, sigma: float = 0.0) -> SearchStrategy[Quadratic]:
    """M quadratic clients on R^d whose curvatures are in [mu, L], L attained; F is stationary at some x_star.

    mu     > 0: every client strongly convex; 0: convex; negative: indefinite (F may be unbounded below)
    sigma  standard deviation of the gradient noise

    The clients' gradients at x_star are any vectors that sum to zero, so a client of a convex federation may be
    unbounded below.  The certified constants (mu, zeta_star, beta, zeta, delta, F_star ...) are `problem.constants`.
    Raises ValueError for M < 1, d < 1, L <= 0, mu outside [-L, L], or sigma < 0.
    """
    (M,), (d, L) = _at_least_one(M=M), _smoothness(d, L)
    mu, sigma = number("mu", mu), number("sigma", sigma, ">= 0")
    if not -L <= mu <= L:
        raise ValueError(f"mu = {mu}, L = {L}: expected -L <= mu <= L")
    return _federations(M, d, L, mu, sigma)


def samples(M: int, S: int) -> SearchStrategy[tuple[int, ...]]:
    """One round's clients pi_1 ... pi_S, in order, without replacement, from 0 ... M-1; shrinks to 0, 1, ..., S-1.

    Raises ValueError unless 1 <= S <= M.
    """
    M, S = _at_least_one(M=M, S=S)
    if S > M:
        raise ValueError(f"S = {S}, M = {M}: expected S <= M, clients are sampled without replacement")
    return st.permutations(range(M)).map(lambda order: tuple(order[:S]))


def orders(M: int, S: int, rounds: int = 1) -> SearchStrategy[NDArray[np.int64]]:
    """The clients of several rounds, (rounds, S), as `fedtheory.simulations.run` replays them.

    Raises ValueError unless 1 <= S <= M and rounds >= 1.
    """
    (rounds,) = _at_least_one(rounds=rounds)
    return st.lists(samples(M, S), min_size=rounds, max_size=rounds).map(lambda o: np.array(o, dtype=np.int64))


# Noise


@dataclass(frozen=True, eq=False)
class Law:
    """A random vector with finitely many values: probabilities (k,), points (k, d)."""

    probabilities: Array
    points: Array

    @property
    def mean(self) -> Array:
        """The expectation, (d,)."""
        return self.probabilities @ self.points

    @property
    def variance(self) -> float:
        """E||x - E x||^2."""
        return float(self.probabilities @ ((self.points - self.mean) ** 2).sum(-1))


@st.composite
def _noise_laws(draw: st.DrawFn, d: int) -> Law:
    weights = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    points = draw(populations(len(weights), d))
    balance = -np.array(weights) @ points  # exact: short numbers
    return Law(np.array([*weights, 1]) / (sum(weights) + 1), np.vstack([points, balance]))


def noise_laws(d: int) -> SearchStrategy[Law]:
    """Mean-zero laws on two or three points of R^d, skewed or not, with their exact variance; shrinks to no noise.

    The weights are small integers, and the last point balances the others.  Raises ValueError for d < 1.
    """
    (d,) = _at_least_one(d=d)
    return _noise_laws(d)


@dataclass(frozen=True, eq=False)
class NoisePath:
    """One history of adapted noise: its probability, x_1 ... x_n and e_1 ... e_n along it, (n, d) each."""

    probability: float
    x: Array
    e: Array


@dataclass(frozen=True, eq=False)
class NoiseTree:
    """Adapted noise x_1 ... x_n: given the history, x_i has mean e_i and variance at most sigma^2.

    e_i and the law of x_i - e_i depend on the history x_1 ... x_{i-1}; the paths are all histories.
    """

    paths: tuple[NoisePath, ...]
    sigma: float


@st.composite
def _noise_trees(draw: st.DrawFn, n: int, d: int) -> NoiseTree:
    paths, variance = [NoisePath(1.0, np.zeros((0, d)), np.zeros((0, d)))], 0.0
    for _ in range(n):
        grown = []
        for path in paths:
            e, law = draw(vectors(d)), draw(noise_laws(d))
            variance = max(variance, law.variance)
            grown += [
                NoisePath(path.probability * float(p), np.vstack([path.x, e + noise]), np.vstack([path.e, e]))
                for p, noise in zip(law.probabilities, law.points, strict=True)
            ]
        paths = grown
    return NoiseTree(tuple(paths), float(np.sqrt(variance)))


def noise_trees(n: int, d: int) -> SearchStrategy[NoiseTree]:
    """Adapted noise of n steps in R^d, two or three branches at each node: at most 3^n paths.

    sigma^2 is the largest conditional variance.  Lemma 1, (20) of Li and Lyu (2023) is about such sequences.
    Raises ValueError for n < 1 or n > 12, or d < 1.
    """
    n, d = _at_least_one(n=n, d=d)
    whole("n", n, most=_DEEPEST)
    return _noise_trees(n, d)


# Requests


def _at_least_one(**counts: int) -> tuple[int, ...]:
    return tuple(whole(name, count, most=_LARGEST_SIZE) for name, count in counts.items())


def _smoothness(d: int, L: float) -> tuple[int, float]:
    (d,) = _at_least_one(d=d)
    return d, number("L", L, "> 0")


__all__ = [
    "Law",
    "NoisePath",
    "NoiseTree",
    "convex",
    "federations",
    "indefinite",
    "noise_laws",
    "noise_trees",
    "numbers",
    "orders",
    "populations",
    "positive",
    "samples",
    "smooth",
    "strongly_convex",
    "vectors",
]
