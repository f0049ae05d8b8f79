"""Runs of FedBAT as Section 4 of its paper analyses it, with all outcomes, on small piecewise quadratics; expectations.

The binarisation by the largest entry is no quadratic function, so second moments follow no recursion.  Instead all
outcomes of binarisation, two-valued noise and samples are enumerated, through traces of the algorithm's own `round`.
Their number doubles with every entry but the largest, every client and every binarisation, so this is for one or two
coordinates, few clients and a few rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from itertools import combinations, count, product
from math import comb
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from fedtheory.simulations.algorithms.fedbat import Active, FedBAT, StepSize
from fedtheory.simulations.checked import brief
from fedtheory.simulations.engine import measures, provenance, requested
from fedtheory.simulations.exact.outcomes import DrawnVector, Outcomes
from fedtheory.simulations.exact.trace import Coder, Noise, Numbers, PiecewiseQuadratic, Trace, trace
from fedtheory.simulations.problems import Array, Problem
from fedtheory.simulations.problems.quadratic import Quadratic

Vectors = tuple[tuple[Any, ...], ...]  # (N, d)

MOST = 2**17  # outcomes
_MOST_BITS = 1000  # more outcomes than 2 to this power are counted as that many
_RECORDS = ("gap", "grad_sq", "dist2", "value")


def outcomes(problem: Problem, algorithm: FedBAT, rounds: int) -> int:
    """An upper bound on the number of outcomes."""
    K = algorithm.participants(problem)
    bits = (problem.d - 1) * problem.M * algorithm.tau * rounds
    if bits > _MOST_BITS or rounds > _MOST_BITS or problem.M > _MOST_BITS:
        return 2**_MOST_BITS
    return int(2**bits * comb(problem.M, K) ** rounds)


def why_not(problem: Problem, algorithm: Any, rounds: int) -> str | None:
    """Why not all outcomes can be enumerated; None if they can."""
    if (
        not isinstance(algorithm, FedBAT)
        or algorithm.step_size != "max"
        or algorithm.warm_up
        or algorithm.sent != "all"
        or algorithm.full
    ):
        return f"{algorithm}: expected FedBAT with step_size 'max', phi = 0 and sent 'all', all layers binarised"
    if not isinstance(problem, Quadratic) or problem.sigma or any(np.any(np.diag(np.diag(H)) != H) for H in problem.H):
        return f"{problem.name}: expected a quadratic without noise, its matrices diagonal"
    if outcomes(problem, algorithm, rounds) > MOST:
        return f"{brief(outcomes(problem, algorithm, rounds))} outcomes in {rounds} rounds: expected at most {MOST}"
    if problem.weights is not None and algorithm.participants(problem) < problem.M:
        return "unequal weights of sampled clients: expected all clients, or equal weights"
    return None


# ------------------------------------------------------------------------------------------- all outcomes of a run


@dataclass(frozen=True)
class EnumeratedRun:
    """A run of a few steps.

    h, b   (N, d): F_k(w) = sum over entries of h w^2/2 + b w, plus bend max(w, 0)^2/2
    p      (N,): the clients' shares, of sum 1
    w0     (d,): the start
    rates  eta_t of step t = 0, 1, ...; the rates after the last step are used in conditions only
    noise  c and s, (N, d) each: client k's gradient at w has the noise +-(c + s w), each sign with probability 1/2
    K      clients a round.  None: all, with weights p; else K of them, sampled without replacement, with equal weights
    bend   (N, d), or () for none: the curvature for w > 0 is h + bend, and F_k is no quadratic
    common what all clients draw together: "noise" (one sign), "binarisation" (one zeta for each entry)

    Raises ValueError for shapes that do not fit, shares that are negative or not of sum 1, too few rates, and a K, tau or
    number of steps out of range.
    """

    h: Vectors
    b: Vectors
    p: tuple[Any, ...]
    w0: tuple[Any, ...]
    rates: tuple[Any, ...]
    tau: int
    steps: int
    noise: tuple[Vectors, Vectors]
    K: int | None = None
    bend: Vectors = ()
    common: tuple[Literal["noise", "binarisation"], ...] = ()

    def __post_init__(self) -> None:
        given = {"h": self.h, "b": self.b, "noise[0]": self.noise[0], "noise[1]": self.noise[1]}
        for name, rows in (given | ({"bend": self.bend} if self.bend else {})).items():
            if len(rows) != len(self.p) or any(len(row) != len(self.w0) for row in rows):
                raise ValueError(f"{name} = {rows}: expected {len(self.p)} clients with {len(self.w0)} entries each")
        if not self.p or min(self.p) < 0 or abs(sum(self.p) - 1) > 1e-12:
            raise ValueError(f"p = {self.p}: expected shares >= 0 of sum 1")
        if self.K is not None and not 1 <= self.K <= self.N:
            raise ValueError(f"K = {self.K}: expected 1 to {self.N} clients")
        if self.tau < 1 or self.steps < 1 or len(self.rates) < self.steps + self.tau:
            raise ValueError(
                f"tau = {self.tau}, {self.steps} steps, {len(self.rates)} rates: expected at least 1 each, and rates for a "
                "round more than the steps"
            )

    @property
    def N(self) -> int:
        """Number of clients."""
        return len(self.h)

    @property
    def d(self) -> int:
        """Number of entries."""
        return len(self.w0)

    @property
    def exact(self) -> bool:
        """Whether its numbers are fractions."""
        return not isinstance(self.w0[0], float)

    @property
    def curvatures(self) -> list[Any]:
        """The curvatures of all clients and entries, first for w < 0, then for w > 0."""
        left = [v for row in self.h for v in row]
        bends = [v for row in self.bend for v in row]
        return left + [v + more for v, more in zip(left, bends, strict=False)]


@dataclass(frozen=True, eq=False)
class EnumeratedRound:
    """A round of the recursion that the paper analyses, (17) to (19) and (51) to (53).

    samples  the round's trace for each sample of the clients, all equally likely; they differ in its end alone
    tau      steps of a round; the trace of an unfinished one has fewer
    rates    eta_t from the round's first step on
    noise    of the clients at their steps, also at other points
    star     w*, None where there is none;  lowest  the F_k^*, or nothing where some F_k has none
    """

    samples: Mapping[tuple[int, ...], Trace]
    tau: int
    rates: Sequence[Any]
    noise: Noise
    star: Any
    lowest: Sequence[Any]

    @cached_property
    def trace(self) -> Trace:
        """The round with the first sample."""
        return next(iter(self.samples.values()))

    def parameters(self, k: int) -> Sequence[Any]:
        """The clients' parameters after k steps of the round: w_t^k, or v_t^k before they are binarised."""
        return [self.trace.x + message for message in self.trace.coded[k][0]]


@dataclass(frozen=True)
class Scheduled(FedBAT):
    """FedBAT as Section 4 of its paper analyses it, with given learning rates of a round's steps."""

    phi: float = 0.0
    step_size: StepSize = "max"
    active: Active = "all"
    schedule: Sequence[Any] = ()

    def rates(self, problem: Problem, eta: Array, t: int) -> Array:
        """The given learning rate of local step t; shape of eta."""
        return np.full_like(eta, self.schedule[t])


def rounds(run: EnumeratedRun) -> Iterator[EnumeratedRound]:
    """The rounds of a run in all outcomes, one after another: fractions in, fractions out; floats otherwise."""
    exact = object if run.exact else float
    h, b, c, s = (np.array(v, dtype=exact)[..., None] for v in (run.h, run.b, *run.noise))
    bend = np.array(run.bend, dtype=exact)[..., None] if run.bend else 0 * h
    p = None if len(set(run.p)) == 1 else run.p
    mean_h, mean_b, mean_bend = (
        sum(share * v for share, v in zip(run.p, several, strict=True)) for several in (h, b, bend)
    )
    start = np.array([run.w0], dtype=exact).T
    chances = start[:1, 0] * 0 + 1
    everyone = tuple(range(run.N))
    for first in range(0, run.steps, run.tau):
        now = Outcomes(chances)
        functions = [PiecewiseQuadratic(h[k], DrawnVector(b[k], now), bend[k]) for k in everyone]
        star = (
            DrawnVector(_lowest(mean_h, mean_b, mean_bend), now)
            if min(*mean_h.flat, *(mean_h + mean_bend).flat) > 0
            else None
        )
        least = (
            [DrawnVector(_lowest(*own), now) for own in zip(h, b, bend, strict=True)] if min(run.curvatures) > 0 else []
        )
        lowest = [function.at(w).value for function, w in zip(functions, least, strict=False)]
        steps, rates = min(run.tau, run.steps - first), run.rates[first:]
        draws, algorithm = _LazyDraws(run, now, c, s, steps), Scheduled(steps, 1.0, run.K, schedule=rates)
        x, zero = DrawnVector(start, now), DrawnVector(start[:, :1] * 0, now)
        samples = {
            some: trace(
                algorithm, functions, x, zero, rates[0], some, draws.noise, number=0, coder=draws.coder(), weights=p
            )
            for some in ([everyone] if run.K is None else combinations(everyone, run.K))
        }
        yield EnumeratedRound(samples, run.tau, rates, draws.noise, star, lowest)
        start, chances = _merged([one.end for one in samples.values()])


def _lowest(h: Numbers, b: Numbers, bend: Numbers) -> Numbers:
    """The minimiser of h w^2/2 + b w + bend max(w, 0)^2/2 for positive curvatures; it is negative if b > 0."""
    return -b / (h + np.where(b > 0, 0 * bend, bend))


def _merged(ends: Sequence[DrawnVector]) -> tuple[Numbers, Numbers]:
    """Equally likely models as one: each value once, (d, n), with its chance (n,)."""
    columns: dict[tuple[Any, ...], Any] = {}
    for end in ends:
        values = np.broadcast_to(end.values, (len(end.values), len(end.weights.chances)))
        for value, chance in zip(values.T.tolist(), end.weights.chances.tolist(), strict=True):
            columns[tuple(value)] = columns.get(tuple(value), 0) + chance / len(ends)
    kind = ends[0].values.dtype
    return np.array(list(columns), dtype=kind).T, np.array(list(columns.values()), dtype=kind)


@dataclass
class _LazyDraws:
    """The noise and the binarisations of a round, each drawn when it is first asked for.

    c, s  (N, d, 1), of the noise;  steps  the round's
    """

    run: EnumeratedRun
    now: Outcomes
    c: Numbers
    s: Numbers
    steps: int
    signs: dict[tuple[int, int], DrawnVector] = field(default_factory=dict)
    codes: list[Sequence[DrawnVector]] = field(default_factory=list)

    def noise(self, client: int, turn: int, k: int, at: DrawnVector) -> DrawnVector:
        """+-(c + s w) of a client at step k, at the point w."""
        c, s = self.c[client], self.s[client]
        if not any((*c.flat, *s.flat)):
            return DrawnVector(0 * c, at.weights)
        key = (0 if "noise" in self.run.common else client, k)
        if key not in self.signs:
            half = (self.now.chances * 0 + 1) / 2
            self.now, branch = self.now.split([half, half])
            self.signs[key] = DrawnVector((1 - 2 * branch)[None], self.now)
        sign, w, outcomes = self.signs[key].beside(at)
        return DrawnVector(sign * (c + s * w), outcomes)

    def coder(self) -> Coder:
        """S_m: for each sample of the clients the same."""
        calls = count()

        def code(messages: Sequence[DrawnVector]) -> Sequence[DrawnVector]:
            if (call := next(calls)) == len(self.codes):
                last = call == self.steps < self.run.tau  # no model is made
                self.codes.append(messages if last else self._binarised(messages))
            return self.codes[call]

        return code

    def _binarised(self, messages: Sequence[DrawnVector]) -> Sequence[DrawnVector]:
        """S of the clients' updates, with one zeta for each entry, which all clients or none have in common."""
        clients = range(self.run.N)
        return [
            code
            for own in ([clients] if "binarisation" in self.run.common else [[k] for k in clients])
            for code in self._together([messages[k] for k in own])
        ]

    def _together(self, messages: Sequence[DrawnVector]) -> Sequence[DrawnVector]:
        """S of updates with one zeta for each entry: zeta leads to a plus where it is at most (alpha + m) / (2 alpha)."""
        m = np.array([message.spread(self.now) for message in messages])  # (clients, d, n)
        alpha = np.abs(m).max(1, keepdims=True)
        moved = alpha.astype(bool)
        if not moved.any():
            return messages  # S(0) = 0
        up = (alpha + m) / np.where(moved, 2 * alpha, 1) + ~moved  # a single outcome where there is no update
        possible = {signs: _chance(up, signs) for signs in product((1, -1), repeat=len(messages))}
        possible = {signs: chance for signs, chance in possible.items() if chance.any()}
        signs, of_entry = list(possible), list(possible.values())  # (d, n) each
        branches = list(product(range(len(signs)), repeat=self.run.d))
        chances = [reduce(np.multiply, (of_entry[j][i] for i, j in enumerate(branch))) for branch in branches]
        self.now, drawn = self.now.split(chances)
        past, each = self.now.past, np.array(signs)[np.array(branches)[drawn]]  # (n, d, clients)
        return [DrawnVector(alpha[k][:, past] * each[..., k].T, self.now) for k in range(len(messages))]


def _chance(up: Numbers, signs: Sequence[int]) -> Numbers:
    """The chance of these signs of the clients, entry by entry: (clients, d, n) -> (d, n)."""
    if len(signs) == 1:
        return up[0] if signs == (1,) else 1 - up[0]
    least = reduce(np.minimum, [u for u, sign in zip(up, signs, strict=True) if sign > 0], 1 + 0 * up[0])
    most = reduce(np.maximum, [u for u, sign in zip(up, signs, strict=True) if sign < 0], 0 * up[0])
    return np.where(least > most, least - most, 0 * most)


# ------------------------------------------------------------------------------------------- expectations of runs


@dataclass(frozen=True, eq=False)
class Means:
    """What is expected of a run, in floats.

    laws     wbar_t, the mean of the clients' parameters, before every step and at the end: values (n, d), chances (n,)
    largest  G^2 of Assumption 4 at the binarised parameters: max over t, k of E||g_t^k||^2
    """

    laws: Sequence[tuple[Array, Array]]
    largest: float

    def expected(self, problem: Problem, name: str) -> list[float]:
        """The expectation of a quantity that `run` records, at every wbar_t."""
        (measure,) = measures(problem, (name,)).values()
        return [float(chances @ measure(values, values)) for values, chances in self.laws]


@lru_cache(maxsize=8)
def _followed(run: EnumeratedRun) -> Means:
    laws, largest = [], []
    for one in rounds(run):
        for k in range(run.tau):
            mean: DrawnVector = one.trace.mean(one.parameters(k))
            laws.append((mean.spread(mean.weights).T, mean.weights.chances))
        largest += [step.stochastic.square for step in one.trace.steps]
        values, chances = _merged([t.end for t in one.samples.values()])
    return Means([*laws, (values.T, chances)], max(largest))


def steps(problem: Quadratic, algorithm: FedBAT, rounds: int, x0: ArrayLike, eta: float) -> Means:
    """What is expected of a run, step by step.  Raises ValueError with the reason of `why_not`."""
    why = why_not(problem, algorithm, rounds)
    if why is not None:
        raise ValueError(f"no exact expectation: {why}; expected another problem or algorithm, or `run`")
    T, K = rounds * algorithm.tau, algorithm.participants(problem)
    rates = [float(algorithm.rates(problem, np.array(eta), t)) for t in range(T + algorithm.tau)]
    start = np.broadcast_to(np.asarray(x0, dtype=float), (problem.d,))
    shares = np.full(problem.M, 1 / problem.M) if problem.weights is None else problem.weights
    still = tuple((0.0,) * problem.d for _ in range(problem.M))

    def rows(v: Array) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(map(float, row)) for row in v)

    H = np.array([np.diag(H) for H in problem.H])
    run = EnumeratedRun(
        rows(H), rows(problem.b), tuple(map(float, shares)), tuple(map(float, start)), tuple(rates), algorithm.tau, T,
        (still, still), None if problem.M == K else K
    )  # fmt: skip
    return _followed(run)


def expectation(
    problem: Quadratic,
    algorithm: FedBAT,
    *,
    rounds: int,
    x0: ArrayLike = 1.0,
    record: Sequence[str] = ("gap", "grad_sq", "dist2"),
    at: Iterable[int] | None = None,
    average: ArrayLike = 1.0,
) -> xr.Dataset:
    """The expectation of what `run` records, over binarisation and samples of clients, exact up to rounding.

    record  some of gap, grad_sq, dist2, value, and `grad_sq_steps`, the mean over a round's steps of E||grad F(wbar_t)||^2

    Returns a Dataset over (step_size, round).  Raises ValueError with the reason of `why_not`, and for other records.
    """
    unknown = [name for name in record if name not in (*_RECORDS, "grad_sq_steps")]
    if unknown:
        raise ValueError(f"cannot record {unknown}: expected some of {', '.join((*_RECORDS, 'grad_sq_steps'))}")
    asked = requested(problem, algorithm, rounds, x0, [n for n in record if n in _RECORDS], at, average)
    tau = algorithm.tau
    series: dict[str, list[list[float]]] = {name: [] for name in record}
    for eta in asked.eta:
        found = steps(problem, algorithm, rounds, asked.x0, float(eta))
        for name in record:
            values = found.expected(problem, name.removesuffix("_steps"))
            if name == "grad_sq_steps":
                ends = [float(np.mean(values[r * tau : (r + 1) * tau])) for r in range(rounds)] + [np.nan]
            else:
                ends = values[::tau]
            series[name].append([ends[r] for r in asked.kept])
    return xr.Dataset(
        {name: (("step_size", "round"), values) for name, values in series.items()},
        coords={"step_size": asked.eta, "round": asked.kept},
        attrs=provenance(problem, algorithm, rounds, asked),
    )


def largest_gradient(problem: Quadratic, algorithm: FedBAT, rounds: int, x0: ArrayLike, eta: float) -> float:
    """The smallest G of Assumption 4 at the binarised parameters of the run."""
    return float(np.sqrt(steps(problem, algorithm, rounds, x0, eta).largest))
