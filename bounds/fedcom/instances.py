"""Runs of a few rounds of FedCOM and FedCOMGATE in fractions, in one dimension, by the algorithms' own `round`.

A message is Q(x) = Z x with a random coin Z, E Z = 1, E Z^2 = 1 + q.  On quadratics only second moments matter: a coin adds
to x an error that is uncorrelated with all that was before, of variance q E x^2; if all clients have one coin, their errors
have the covariances q E[x_i x_j].  On functions with another curvature right of 0 the laws matter: a noise is sigma or
-sigma; a coin is 1 + q with probability 1/(1+q), else 0; all outcomes are enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction as PlainFraction
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from fedtheory.bounds.fedcom.quantities import LATER, OF_CLIENTS, OF_ROUND, OF_RUN, OF_START, OF_TWO, Rounds, drift
from fedtheory.bounds.quantities import Values
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE
from fedtheory.simulations.exact.rational import Fraction, square_root
from fedtheory.simulations.exact.trace import Coder, Noise, PiecewiseQuadratic, RandomVector, Trace, trace

LAWS = ("independent", "shared", "biased")
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class FedCOMGATERun:
    """R rounds of FedCOMGATE from w0 and delta_j = 0; all numbers are Fractions, all counts integers.

    h, b        f_j(w) = h_j w^2 / 2 + b_j w, one entry per client; h_j of either sign
    w0          the start, the same for every client
    sigma_sq    variance of a stochastic gradient
    q           variance factor of the compressor Q(x) = Z x
    shared      whether all clients have the same coin Z in a round; otherwise their coins are independent
    tau, R      local steps, rounds
    eta, gamma  local and global step size
    alpha       delta_j = delta_j + (alpha/tau) (Q(x_j) - mean of the messages): 1 as printed; 0 makes it FedCOM
    bend        f_j has the extra term bend_j max(w, 0)^2 / 2, one entry per client; () for quadratics
    law         of the noise: `independent`; `shared`, all clients have the same in a step; `biased`, every gradient has the
                error sigma

    Raises ValueError for counts below 1, no clients, a wrong number of slopes or bends, eta or gamma not positive, negative
    sigma_sq, q, alpha, another law, or a sigma_sq that is no square where its root is needed.
    """

    h: tuple[Fraction, ...]
    b: tuple[Fraction, ...]
    w0: Fraction
    sigma_sq: Fraction
    q: Fraction
    shared: bool
    tau: int
    eta: Fraction
    gamma: Fraction = _ONE
    alpha: Fraction = _ONE
    R: int = 1
    bend: tuple[Fraction, ...] = ()
    law: str = "independent"

    def __post_init__(self) -> None:
        if not self.h or len(self.h) != len(self.b) or len(self.bend) not in (0, self.m):
            raise ValueError(
                f"h = {self.h}, b = {self.b}, bend = {self.bend}: expected one of each per client, and a client"
            )
        if self.law not in LAWS:
            raise ValueError(f"law = {self.law!r}: expected one of {', '.join(LAWS)}")
        if self.bend or self.law == "biased":
            square_root(self.sigma_sq, "sigma^2")  # the noise is sigma or -sigma
        if self.tau < 1 or self.R < 1:
            raise ValueError(f"tau = {self.tau}, R = {self.R}: expected whole numbers >= 1")
        if self.eta <= 0 or self.gamma <= 0:
            raise ValueError(f"eta = {self.eta}, gamma = {self.gamma}: expected positive step sizes")
        if min(self.sigma_sq, self.q, self.alpha) < 0:
            raise ValueError(f"sigma^2 = {self.sigma_sq}, q = {self.q}, alpha = {self.alpha}: expected none negative")

    @property
    def m(self) -> int:
        """Number of clients."""
        return len(self.h)

    @property
    def right(self) -> tuple[Fraction, ...]:
        """The second derivatives of the f_j for w > 0."""
        return tuple(h + more for h, more in zip(self.h, self.bend, strict=True)) if self.bend else self.h

    @property
    def curvatures(self) -> tuple[Fraction, ...]:
        """The second derivatives of all f_j, on either side of 0."""
        return self.h + self.right

    @property
    def mean(self) -> tuple[Fraction, Fraction, Fraction]:
        """Of f, the mean of the f_j: its second derivatives for w < 0 and w > 0, and its slope at 0."""
        left, right, slope = (sum(numbers, _ZERO) / self.m for numbers in (self.h, self.right, self.b))
        return left, right, slope

    @property
    def minimum(self) -> Fraction | None:
        """The minimum of f; None where f is not bounded below."""
        return minimum(*self.mean)

    @property
    def minima(self) -> list[Fraction | None]:
        """The minima of the f_j."""
        return [minimum(*one) for one in zip(self.h, self.right, self.b, strict=True)]

    @property
    def draws(self) -> tuple[int, int]:
        """How many noises, and how many coins, are drawn in a round."""
        clients = 1 if self.law == "shared" else self.m
        return (
            0 if self.law == "biased" or not self.sigma_sq else clients * self.tau,
            0 if not self.q else 1 if self.shared else self.m,
        )


def minimum(left: Fraction, right: Fraction, slope: Fraction) -> Fraction | None:
    """The minimum for this slope at 0 and these curvatures left and right of 0; None if there is none."""
    if any(h < 0 or (h == 0 and slope * side < 0) for side, h in ((-1, left), (1, right))):
        return None
    downhill = right if slope < 0 else left
    return -(slope**2) / (2 * downhill) if slope else _ZERO


# Random numbers


class _Moments:
    """Columns of random vectors: their means, then factors of noises, then of the errors of messages."""

    def __init__(self, run: FedCOMGATERun) -> None:
        noises, _ = run.draws
        self.run, self.noises = run, noises
        self.errors = run.m if run.q else 0
        self.weights = np.array([_ONE] + [run.sigma_sq] * (run.R * noises) + [_ZERO] * (run.R * self.errors))

    def constant(self, value: Fraction) -> RandomVector:
        """A number that is not random."""
        return RandomVector.constant([value], self.weights, outcomes=False)

    def _at(self, column: int) -> RandomVector:
        values = np.full((1, len(self.weights)), _ZERO)
        values[0, column] = _ONE
        return RandomVector(values, self.weights)

    def noise(self, r: int, number: int) -> RandomVector:
        """A noise of round r."""
        return self._at(1 + r * self.noises + number)

    def codes(self, r: int, messages: Sequence[RandomVector]) -> list[RandomVector]:
        """What arrives of messages in round r, whose errors get their variances now."""
        if not self.errors:
            return list(messages)
        first = 1 + self.run.R * self.noises + r * self.errors
        factors = [self._at(first + j) for j in range(len(messages))]
        if not self.run.shared:
            self.weights[first : first + len(messages)] = [self.run.q * x.square for x in messages]
            return [x + e for x, e in zip(messages, factors, strict=True)]
        shares, variances = ldl([[self.run.q * (x @ y) for y in messages] for x in messages])
        self.weights[first : first + len(messages)] = variances
        return [
            sum((e * share for e, share in zip(factors, own, strict=True)), start=x)
            for x, own in zip(messages, shares, strict=True)
        ]


def ldl(covariance: Sequence[Sequence[Fraction]]) -> tuple[list[list[Fraction]], list[Fraction]]:
    """L, with ones on its diagonal, and D of C = L diag(D) L', for a positive semidefinite C."""
    n = len(covariance)
    L = [[Fraction(i == j) for j in range(n)] for i in range(n)]
    D: list[Fraction] = []
    for j in range(n):
        D.append(covariance[j][j] - sum((L[j][k] ** 2 * D[k] for k in range(j)), _ZERO))
        for i in range(j + 1, n):
            rest = covariance[i][j] - sum((L[i][k] * L[j][k] * D[k] for k in range(j)), _ZERO)
            L[i][j] = rest / D[j] if D[j] else _ZERO
    return L, D


class _Outcomes:
    """Columns of random vectors: all outcomes of noises and coins."""

    def __init__(self, run: FedCOMGATERun) -> None:
        self.run, (noises, coins) = run, run.draws
        self.sigma, self.noises, self.coins = square_root(run.sigma_sq, "sigma^2"), noises, coins
        p = 1 / (1 + run.q)
        signs = ((self.sigma, Fraction(1, 2)), (-self.sigma, Fraction(1, 2)))
        faces = ((1 + run.q, p), (_ZERO, 1 - p))
        outcomes = list(product(*[signs] * (run.R * noises), *[faces] * (run.R * coins)))
        self.weights = np.array([prod((chance for _, chance in row), start=_ONE) for row in outcomes])
        self.values = [[value for value, _ in row] for row in outcomes]

    def constant(self, value: Fraction) -> RandomVector:
        """A number that is not random."""
        return RandomVector.constant([value], self.weights, outcomes=True)

    def _column(self, column: int) -> Any:
        return np.array([[row[column] for row in self.values]])

    def noise(self, r: int, number: int) -> RandomVector:
        """A noise of round r."""
        return RandomVector(self._column(r * self.noises + number), self.weights)

    def codes(self, r: int, messages: Sequence[RandomVector]) -> list[RandomVector]:
        """What arrives of messages in round r."""
        first = self.run.R * self.noises + r * self.coins
        if not self.coins:
            return list(messages)
        coins = [self._column(first + (0 if self.run.shared else j)) for j in range(len(messages))]
        return [RandomVector(x.values * Z, self.weights) for x, Z in zip(messages, coins, strict=True)]


def traces(run: FedCOMGATERun) -> Iterator[Trace]:
    """The rounds of a run, one after another."""
    numbers = _Outcomes(run) if run.bend else _Moments(run)
    zero, x = numbers.constant(_ZERO), numbers.constant(run.w0)
    bends = run.bend or (_ZERO,) * run.m
    functions = [
        PiecewiseQuadratic(np.array([[h]]), numbers.constant(b), bend)
        for h, b, bend in zip(run.h, run.b, bends, strict=True)
    ]
    gamma, alpha = (PlainFraction(int(x.numerator), int(x.denominator)) for x in (run.gamma, run.alpha))
    given: dict[str, Any] = {"tau": run.tau, "eta": 1.0, "gamma": gamma}
    algorithm = FedCOMGATE(**given, damping=alpha) if alpha else FedCOM(**given)  # type: ignore[arg-type]  # exact
    memory: Mapping[str, Any] = {}
    for r in range(run.R):
        coder: Coder = partial(numbers.codes, r)
        found = trace(
            algorithm, functions, x, zero, run.eta, range(run.m), _noise(run, numbers, r, zero), memory, r, coder=coder
        )
        yield found
        x, memory = found.end, found.memory


def _noise(run: FedCOMGATERun, numbers: _Moments | _Outcomes, r: int, zero: RandomVector) -> Noise:
    if run.law == "biased":
        error = numbers.constant(square_root(run.sigma_sq, "sigma^2"))
        return lambda client, turn, k, at: error
    if not run.sigma_sq:
        return lambda client, turn, k, at: zero
    return lambda client, turn, k, at: numbers.noise(r, (0 if run.law == "shared" else client * run.tau) + k)


def compression_gap(run: FedCOMGATERun) -> Fraction:
    """The least G_q of Assumption 5: the largest E||mean Q(x_j)||^2 - E||Q(mean x_j)||^2 over all messages of the run, or 0.

    Raises ValueError for own coins on quadratics, where the messages have moments and no values: a bend of 0 helps.
    """
    if run.shared or not run.q or run.m == 1:
        return _ZERO
    if not run.bend:
        raise ValueError(f"{run}: expected one coin for all clients, or a bend (0 for quadratics), to have G_q")
    messages = [np.array([x.values[0] for x in t.coded[-1][0]]) for t in traces(run)]
    return max(_ZERO, *(max(run.q * ((x**2).sum(0) - x.sum(0) ** 2) / run.m**2) for x in messages))


# The quantities of a run


def values(run: FedCOMGATERun, several: Rounds) -> Values:
    """The quantities of the last of these rounds.

    Those of `fedtheory.bounds.fedcom.quantities`, and, from the minima of f and the f_j where they exist: gap_r, gap_next,
    gap_last, f_gap, fj_gap_mean, dist_sq_mean.  Quantities per client are mappings from (j,), per client and step from (j,
    c); j = 1 ... m, c = 0 ... tau-1.
    """
    first, t = several[0], several[-1]
    how: dict[str, Callable[[], Any]] = {
        **{name: partial(t.of, quantity) for name, quantity in OF_ROUND.items()},
        **{name: partial(first.of, quantity) for name, quantity in OF_START.items()},
        **{name: partial(quantity, several) for name, quantity in {**OF_RUN, **OF_TWO}.items()},
        **{
            name: partial(lambda of: {(j + 1,): of(several, j) for j in range(run.m)}, of)
            for name, of in OF_CLIENTS.items()
        },
        "drift": lambda: {(j + 1, c): drift(several, j, c) for j in range(run.m) for c in range(run.tau)},
    }
    if len(several) == 1:
        how = {name: of for name, of in how.items() if name not in LATER}
    least, lowest = run.minimum, [one for one in run.minima if one is not None]
    if least is not None:
        how |= {
            "gap_r": lambda: t.start.value - least,
            "gap_next": lambda: t.F(t.end).value - least,
            "gap_last": lambda: t.F(t.end).value - least,
            "f_gap": lambda: first.start.value - least,
        }
    if len(lowest) == run.m:
        how["fj_gap_mean"] = lambda: first.start.value - sum(lowest, _ZERO) / run.m
    if min(run.curvatures) > 0:
        curved = [(h if b >= 0 else right, b) for h, right, b in zip(run.h, run.right, run.b, strict=True)]
        how["dist_sq_mean"] = lambda: sum((run.w0 + b / h) ** 2 for h, b in curved) / run.m
    return Values(how)


def rows(run: FedCOMGATERun) -> list[Values]:
    """The quantities of rounds r = 0 ... R-1 of a run."""
    several = list(traces(run))
    return [values(run, several[: r + 1]) for r in range(run.R)]
