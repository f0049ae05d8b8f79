"""One round of FedBCGD or FedBCGD+ in fractions, in one or two dimensions, by the algorithms' own `round`.

The equally likely assignments of clients to blocks are always enumerated.  On quadratics a point is affine in the noise of
the steps, so its mean and the factors of the noises are enough.  On functions of one coordinate with another curvature for
x > 0, the noise of a step is sigma or -sigma, and all outcomes are enumerated.

With bends, perhaps of 0, a round can have another law (`LAWS`):

    shared      all clients draw the same noise                     rough    noise sigma where y is not x, shared
    biased      every gradient has the error sigma                  curved   noise rho (y - x), shared
    adrift      c is 1 more than the mean of the c_i                leaning  the error rho (y - x)
    one sample  always the first clients

The last three in the right column are for FedBCGD+, whose noise sigma cancels, and whose biased gradients have no error at
x; rho is what beta leaves to a mini-batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction as PlainFraction
from functools import cache, cached_property, partial
from itertools import combinations, product
from typing import Any

import numpy as np

from fedtheory.bounds.fedbcgd import quantities
from fedtheory.bounds.quantities import Values
from fedtheory.simulations.algorithms.fedbcgd import FedBCGD, FedBCGDPlus
from fedtheory.simulations.exact.rational import Fraction, square_root
from fedtheory.simulations.exact.trace import PiecewiseQuadratic, RandomVector, Trace, trace

LAWS = ("independent", "shared", "biased", "one sample", "adrift", "rough", "curved", "leaning")

Vector = tuple[Fraction, ...]
Matrix = tuple[Vector, ...]
Groups = tuple[tuple[int, ...], ...]  # the clients of each client block

_ZERO = Fraction(0)


def _square(v: Sequence[Fraction]) -> Fraction:
    return sum([a * a for a in v], _ZERO)


def _apart(u: Sequence[Vector], v: Sequence[Vector]) -> Fraction:
    """The mean of ||u_i - v_i||^2."""
    differences = [a - b for one, other in zip(u, v, strict=True) for a, b in zip(one, other, strict=True)]
    return _square(differences) / len(u)


def _mean(vectors: Sequence[Vector]) -> Vector:
    return tuple([sum(entries, _ZERO) / len(vectors) for entries in zip(*vectors, strict=True)])


def _diagonal(A: Matrix) -> Fraction:
    return sum([row[c] for c, row in enumerate(A)], _ZERO)


def curvatures(H: Matrix) -> Vector:
    """The eigenvalues of a symmetric matrix (d, d), d <= 2, ascending.  Raises ValueError where they are irrational."""
    if len(H) == 1:
        return H[0]
    middle, radius_sq = _diagonal(H) / 2, ((H[0][0] - H[1][1]) / 2) ** 2 + H[0][1] ** 2
    radius = square_root(radius_sq, "squared half the difference of the eigenvalues")
    return middle - radius, middle + radius


@dataclass(frozen=True)
class BlockRound:
    """A round from the state (x, v), and for FedBCGD+ the control variates; numbers are Fractions, counts integers.

    H, b      f_i(x) = x'H_i x / 2 + b_i'x, one of each per client; H_i (d, d) symmetric with rational eigenvalues, d <= 2
    beta      smoothness constant of every f_i: no curvature has a larger absolute value
    x, v      the model and the momentum, v = x - x_prev
    points    for each client the point a_i with c_i = grad f_i(a_i); empty: FedBCGD, which has no control variates
    sigma_sq  variance of a stochastic gradient, sigma^2 / d in every coordinate, the noises independent
    N, K      blocks (1, or d with one coordinate each), clients per block
    T, eta    local steps and their size
    lam       momentum of the server
    bend      in one dimension: f_i has the extra term bend_i max(x, 0)^2 / 2, one number per client; () for quadratics
    law       one of `LAWS`; another than independent needs bends

    Raises ValueError for another law, for shapes that do not fit, a matrix that is not symmetric or has irrational
    eigenvalues, a beta that is too small, N other than 1 and d, counts below 1, N K > M, negative sigma_sq, eta <= 0, lam
    outside [0, 1), or, with bends, a sigma_sq that is no square.
    """

    H: tuple[Matrix, ...]
    b: tuple[Vector, ...]
    beta: Fraction
    x: Vector
    v: Vector
    points: tuple[Vector, ...]
    sigma_sq: Fraction
    N: int
    K: int
    T: int
    eta: Fraction
    lam: Fraction
    bend: Vector = ()
    law: str = "independent"

    def __post_init__(self) -> None:
        d, M = self.d, self.M
        if self.law not in LAWS or not (self.bend or self.law == LAWS[0]):
            raise ValueError(f"law = {self.law!r}, bend = {self.bend}: expected one of {', '.join(LAWS)}, and bends")
        vectors = (*self.b, self.v, *self.points, *(row for H in self.H for row in H))
        if d not in (1, 2) or not M or len(self.b) != M or len(self.points) not in (0, M):
            raise ValueError(f"d = {d}, M = {M}: expected d <= 2, a client, and H, b (and points) for each client")
        if any(len(vector) != d for vector in vectors) or any(len(H) != d for H in self.H):
            raise ValueError(f"d = {d}: expected all vectors and matrices of this dimension")
        if self.bend and (d != 1 or len(self.bend) != M):
            raise ValueError(f"d = {d}, bend = {self.bend}: expected d = 1 and {M} bends")
        if self.bend:
            square_root(self.sigma_sq, "sigma^2")  # the noise is sigma or -sigma
        if any(H[0][-1] != H[-1][0] for H in self.H):
            raise ValueError(f"H = {self.H}: expected symmetric matrices")
        if not 0 < self.beta >= self.largest:
            raise ValueError(f"beta = {self.beta}: expected a positive number, at least {self.largest}")
        if self.N not in (1, d) or self.K < 1 or self.T < 1 or self.N * self.K > M:
            raise ValueError(
                f"N = {self.N}, K = {self.K}, T = {self.T}: expected N 1 or {d}, counts >= 1, N K <= M = {M}"
            )
        if self.sigma_sq < 0 or self.eta <= 0 or not 0 <= self.lam < 1:
            raise ValueError(
                f"sigma^2 = {self.sigma_sq}, eta = {self.eta}, lam = {self.lam}: expected >= 0, > 0, in [0, 1)"
            )

    def with_step(self, eta: Fraction) -> BlockRound:
        """The same round with another step size; keeps what is known of the problem.  Raises ValueError for eta <= 0."""
        if eta <= 0:
            raise ValueError(f"eta = {eta}: expected > 0")
        other = copy(self)
        object.__setattr__(other, "eta", eta)
        return other

    @property
    def d(self) -> int:
        """The dimension."""
        return len(self.x)

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.H)

    @property
    def noisy(self) -> bool:
        """Whether noise enters the round: sigma, which cancels in FedBCGD+."""
        return (bool(self.sigma_sq) and not self.points) or self.law in ("rough", "curved")

    @property
    def together(self) -> bool:
        """Whether all clients draw the same noise."""
        return self.law in ("shared", "rough", "curved")

    @property
    def samples(self) -> list[Groups]:
        """The possible assignments of clients to blocks, equally likely."""
        every = list(assignments(range(self.M), self.K, self.N))
        return every[:1] if self.law == "one sample" else every

    @cached_property
    def first_alike(self) -> list[int]:
        """For each client the first one that is equal to it."""
        kinds = list(zip(self.H, self.b, self.bend or self.b, self.points or self.b, strict=True))
        return [kinds.index(kind) for kind in kinds]

    @property
    def sigma(self) -> Fraction:
        """The root of sigma_sq; ValueError where it is irrational."""
        return square_root(self.sigma_sq, "sigma^2")

    @property
    def right(self) -> Vector:
        """With bends, the curvatures of the f_i for x > 0."""
        return tuple(H[0][0] + more for H, more in zip(self.H, self.bend, strict=True)) if self.bend else ()

    @cached_property
    def spectrum(self) -> Vector:
        """The curvatures of all f_i."""
        return tuple(value for H in self.H for value in curvatures(H)) + self.right

    @cached_property
    def alike(self) -> bool:
        """Whether all f_i have the same curvatures."""
        return len(set(self.H)) == 1 and len(set(self.bend)) <= 1

    @property
    def largest(self) -> Fraction:
        """The largest absolute curvature of any f_i."""
        return max(map(abs, self.spectrum))

    @cached_property
    def mu(self) -> Fraction:
        """The smallest curvature of any f_i, of either sign."""
        return min(self.spectrum)

    @cached_property
    def alpha(self) -> Fraction:
        """1/(1 - lam)."""
        return 1 / (1 - self.lam)

    @property
    def gamma(self) -> Fraction:
        """lam/(1 - lam)."""
        return self.lam * self.alpha

    @cached_property
    def mean_b(self) -> Vector:
        """The slope of f at 0."""
        return _mean(self.b)

    @cached_property
    def x_star(self) -> Vector | None:
        """The minimiser of f, 0 if f is constant; else None if there is none, or more than one."""
        H, b = tuple(_mean(rows) for rows in zip(*self.H, strict=True)), self.mean_b  # of f; with bends, for x < 0
        right = H[0][0] + sum(self.bend, _ZERO) / self.M
        if not any(map(any, (*H, b))) and not right:
            return b
        if curvatures_positive(H) and right > 0:
            if self.d == 1:
                return (-b[0] / (right if b[0] < 0 else H[0][0]),)
            determinant = H[0][0] * H[1][1] - H[0][1] ** 2
            return (H[0][1] * b[1] - H[1][1] * b[0]) / determinant, (H[0][1] * b[0] - H[0][0] * b[1]) / determinant
        return None

    @cached_property
    def known(self) -> Mapping[str, Fraction]:
        """`constants`, without eta."""
        found = {name: Fraction(getattr(self, name)) for name in ("M", "N", "K", "T", "beta", "sigma_sq", "lam")}
        found |= {"S": Fraction(self.N * self.K), "alpha": self.alpha, "gamma": self.gamma}
        if self.mu > 0:
            found["mu"] = self.mu
        if self.alike:
            found["G_squared"] = _apart(self.b, [self.mean_b] * self.M)
        return found


def curvatures_positive(H: Matrix) -> bool:
    """Whether a symmetric matrix (d, d), d <= 2, is positive definite."""
    return _diagonal(H) > 0 and (len(H) == 1 or H[0][0] * H[1][1] > H[0][1] ** 2)


def constants(r: BlockRound) -> dict[str, Fraction]:
    """The values of the problem's and the settings' symbols; of sigma and G, the squares.

    mu is missing if an f_i is not strongly convex.  G_squared, the smallest G^2 of Assumption 4, is missing if the
    curvatures of the f_i differ, because then no G exists.
    """
    return {**r.known, "eta": r.eta}


# The traces of a round


def assignments(clients: Sequence[int], K: int, N: int) -> Iterator[Groups]:
    """All ways to put N K of the clients into N ordered groups of K."""
    if N == 0:
        yield ()
        return
    for first in combinations(clients, K):
        rest = [i for i in clients if i not in first]
        for others in assignments(rest, K, N - 1):
            yield first, *others


class _Round:
    """The round with any sample of this many clients.

    Its random vectors are means and factors of noise, or outcomes (see `fedtheory.simulations.exact.trace.RandomVector`).
    """

    def __init__(self, r: BlockRound, clients: int) -> None:
        self.r = r
        self.biased = r.law in ("biased", "leaning")
        draws = (1 if r.together else clients) * r.T if r.noisy and not self.biased else 0
        self.signs = np.array(list(product((1, -1), repeat=draws)), dtype=object) if r.bend else None
        if self.signs is not None:
            self.weights = np.full(len(self.signs), Fraction(1, len(self.signs)))
        else:
            self.weights = np.array([Fraction(1)] + [r.sigma_sq / r.d] * (draws * r.d))
        self.zero, self.x = self.constant((_ZERO,) * r.d), self.constant(r.x)
        self.functions = [
            PiecewiseQuadratic(np.array(H), self.constant(b), bend)
            for H, b, bend in zip(r.H, r.b, r.bend or (_ZERO,) * r.M, strict=True)
        ]
        self.points = [self.constant(a) for a in r.points]
        self.memory: dict[str, Any] = {"v": self.constant(r.v)}
        if r.points:
            c_i = [f.at(a).gradient for f, a in zip(self.functions, self.points, strict=True)]
            away = self.constant((Fraction(r.law == "adrift"),) * r.d)
            self.memory |= {"c_i": c_i, "c": sum(c_i[1:], start=c_i[0]) / r.M + away}

    def constant(self, v: Vector) -> RandomVector:
        """A vector that is not random."""
        return RandomVector.constant(np.array(v, dtype=object), self.weights, bool(self.r.bend))

    def noise(self, client: int, turn: int, t: int, at: RandomVector) -> RandomVector | int:
        """The noise of a gradient at a point, or, where gradients are biased, its error."""
        r, draw = self.r, (0 if self.r.together else turn - 1) * self.r.T + t
        if not self.biased and not r.noisy:
            return 0  # it can be added to any vector
        if self.signs is None:
            values = np.full(at.values.shape, _ZERO)
            values[:, 1 + draw * r.d : 1 + (draw + 1) * r.d] = np.eye(r.d, dtype=int)
            return RandomVector(values, self.weights)
        if r.law in ("curved", "leaning"):
            size = (at.values - self.x.values) * (r.beta - r.largest)
        else:
            size = np.full(at.values.shape, r.sigma)
            size = np.where(at.values != self.x.values, size, 0 * size) if r.points else size
        return RandomVector(size if self.biased else size * self.signs[:, draw], self.weights)

    def of(self, groups: Groups) -> Trace:
        """The round of these client blocks."""
        r = self.r
        algorithm = _algorithm(bool(r.points), r.T, len(groups), len(groups[0]), r.lam)
        return trace(
            algorithm, self.functions, self.x, self.zero, r.eta,
            [i for group in groups for i in group], self.noise, self.memory, apart=len(groups) > 1,
        )  # fmt: skip


@cache
def _algorithm(plus: bool, T: int, N: int, K: int, lam: Fraction) -> FedBCGD | FedBCGDPlus:
    exact: Any = PlainFraction(int(lam.numerator), int(lam.denominator))
    return (FedBCGDPlus if plus else FedBCGD)(T, 1.0, N, K, exact)


def _alike(r: BlockRound, groups: Groups) -> Groups:
    """The sample with the first of each kind of equal clients in place of others: its round has the same quantities."""
    first = r.first_alike
    taken: Counter[int] = Counter()
    found = []
    for group in groups:
        own = []
        for kind in sorted(first[i] for i in group):
            own.append([i for i in range(r.M) if first[i] == kind][taken[kind]])
            taken[kind] += 1
        found.append(tuple(sorted(own)))
    return tuple(found)


def _sample_rounds(r: BlockRound) -> list[tuple[quantities.SampleRound, Fraction]]:
    """The rounds with the different samples of clients, each with its chance; see `_alike`."""
    own = _Round(r, r.N * r.K)
    star = None if r.x_star is None else own.constant(r.x_star)
    points = own.points if r.N == 1 else []
    times = Counter(_alike(r, groups) for groups in r.samples)
    return [
        (quantities.SampleRound(own.of(groups), groups, r.lam, r.eta, star, points), Fraction(n, len(r.samples)))
        for groups, n in times.items()
    ]


# The quantities of a round


def block_round(r: BlockRound) -> Values:
    """The quantities of a round, means over the sample and all noise.

    Those of `fedtheory.bounds.fedbcgd.quantities` that the round has; G_mean_sq, ||E G||^2; and for FedBCGD+ with x*
    C_r_of_means, the mean of ||E c_i - grad f_i(x*)||^2 after the round.
    """
    return Values(_quantities(r.x_star is not None, bool(r.points), r.N == 1), _Samples(r))


class _Samples:
    """The rounds with all samples of clients."""

    def __init__(self, r: BlockRound) -> None:
        self.r = r

    @cached_property
    def rounds(self) -> list[tuple[quantities.SampleRound, Fraction]]:
        """The different ones, each with its chance."""
        return _sample_rounds(self.r)

    @cached_property
    def first(self) -> quantities.SampleRound:
        """One of them."""
        return self.rounds[0][0]

    @cached_property
    def every(self) -> quantities.SampleRound:
        """The round in which all clients take part."""
        r, everyone = self.r, (tuple(range(self.r.M)),)
        if r.samples == [everyone]:
            return self.first
        return quantities.SampleRound(_Round(r, r.M).of(everyone), everyone, r.lam, r.eta)

    def mean(self, quantity: quantities.Quantity) -> Fraction:
        """A quantity's mean."""
        return sum((quantity(s) * chance for s, chance in self.rounds), _ZERO)

    def of_means(self, vector: Callable[[quantities.SampleRound], RandomVector]) -> Vector:
        """The mean of a random vector."""
        return _total([(_expected(self.r, vector(s)), chance) for s, chance in self.rounds])


@cache
def _quantities(star: bool, variates: bool, whole: bool) -> dict[str, Callable[[_Samples], Fraction]]:
    """The quantities of a round: with x*, with control variates, with one block."""
    tables = [(quantities.OF_SAMPLE, True), (quantities.OF_STAR, star), (quantities.OF_VARIATES, variates)]
    tables += [(quantities.OF_VARIATES_AND_STAR, star and variates), (quantities.OF_POINTS, variates and whole)]
    how: dict[str, Callable[[_Samples], Fraction]] = {
        **{name: partial(lambda of, s: of(s.first), quantity) for name, quantity in quantities.OF_STATE.items()},
        **{name: partial(lambda of, s: of(s.every), quantity) for name, quantity in quantities.OF_ALL.items()},
        **{
            name: partial(lambda of, s: s.mean(of), of)
            for table, there in tables
            if there
            for name, of in table.items()
        },
        "G_mean_sq": lambda s: _square(s.of_means(lambda one: one.G)),
    }
    return how | ({"C_r_of_means": _variates_of_means} if star and variates else {})


def _variates_of_means(samples: _Samples) -> Fraction:
    """The mean of ||E c_i - grad f_i(x*)||^2 after the round."""
    r, first = samples.r, samples.first
    kept = [samples.of_means(lambda s, i=i: s.t.memory["c_i"][i]) for i in range(r.M)]  # type: ignore[misc]
    means = [_mean([c for c, other in zip(kept, r.first_alike, strict=True) if other == i]) for i in r.first_alike]
    at_star = [_expected(r, g) for g in first.gradients(first.star)]
    return _apart(means, at_star)


def advanced(r: BlockRound) -> dict[BlockRound, Fraction] | None:
    """The states before the next round, with their probabilities; None if noise enters the round.

    Also None for control variates with several blocks: then a c_i is not a gradient at a single point.
    """
    if (r.points and r.N > 1) or r.noisy:
        return None
    several = {s.groups: s.t for s, _ in _sample_rounds(r)}
    found: dict[BlockRound, Fraction] = {}
    for groups in r.samples:
        t = several[_alike(r, groups)]
        points = tuple(r.x if i in groups[0] else a for i, a in enumerate(r.points))
        after = replace(r, x=_expected(r, t.end), v=_expected(r, t.memory["v"]), points=points)
        found[after] = found.get(after, _ZERO) + Fraction(1, len(r.samples))
    return found


def _total(vectors: Sequence[tuple[Vector, Fraction]]) -> Vector:
    """The sum of vectors, each times a number."""
    return tuple(sum((v[c] * factor for v, factor in vectors), _ZERO) for c in range(len(vectors[0][0])))


def _expected(r: BlockRound, v: RandomVector) -> Vector:
    """The mean of a random vector."""
    return tuple(v.values @ v.weights) if r.bend else tuple(v.values[:, 0])
