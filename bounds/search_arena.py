"""Where a bound is tightest: a deterministic search over small quadratics, each measured by exact expectation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import sympy

from bounds.arena import (
    RECORDED,
    ROUNDING,
    Arena,
    compiled_once,
    counts,
    exceeded,
    functions,
    known,
    learning_rate,
    weight_ratio,
)
from bounds.evaluate import Compiled, evaluate
from simulations.algorithms.sfl import PFL, SFL
from simulations.constants import NoSuchConstant
from simulations.moments import expectation
from simulations.problems import Array
from simulations.problems.quadratic import Quadratic
from theory import catalogue
from theory.statement import Bound, Evidence, Statement, Status, Verdict

_X0 = 1.0  # in every coordinate: bounds and runs scale alike
_ROUNDS = 512  # every R up to it
_FRACTIONS = np.array([1, 1 / 2, 1 / 4, 1 / 8, 1 / 16])  # of the largest admissible step size


@dataclass(frozen=True, eq=False)
class Candidate:
    """A small quadratic: eigenvalues (M, d) and angle (M,) of H_m, slopes (M, d), noise, and K, S of the algorithm."""

    eigenvalues: Array
    angle: Array
    slope: Array
    sigma: float
    K: int
    S: int

    @property
    def problem(self) -> Quadratic:
        """With three decimals, so that it can be written down."""
        H = self.eigenvalues[..., None]
        if H.shape[1] == 2:
            c, s = np.cos(self.angle), np.sin(self.angle)
            turn = np.stack([c, -s, s, c], axis=-1).reshape(-1, 2, 2)
            H = turn @ (H * np.eye(2)) @ turn.swapaxes(1, 2)
        return Quadratic(np.round(H, 3), np.round(self.slope, 3), round(self.sigma, 3), "small quadratics")


@dataclass(frozen=True)
class Found:
    """Where the ratio of bound to measured is smallest, on how many quadratics."""

    ratio: float
    candidate: Candidate
    eta_tilde: float
    R: int
    measured: float
    bound: float
    tried: int = 1


def tightest(statement: Statement, algorithm: Callable[..., SFL | PFL], full: bool = False) -> Found:
    """The smallest ratio of bound to exact expectation that a search finds: random quadratics, the best ones varied.

    One or two coordinates, two to four clients, up to three local steps; every R up to 512, five step sizes.  The
    random numbers are fixed, so that the same claim gives the same answer.  `full` searches ten times as long.
    """
    compiled, rng = compiled_once(statement), np.random.default_rng(0)
    tried = 0

    def best(old: list[Found], candidates: list[Candidate]) -> list[Found]:
        """The six smallest ratios, the older first where equal."""
        nonlocal tried
        new = [f for f in (_tightest_point(compiled, algorithm, c) for c in candidates) if f is not None]
        tried += len(new)
        return sorted([*old, *new], key=lambda f: f.ratio)[:6]

    found = best([], [_draw(rng, statement) for _ in range(600 if full else 60)])
    for width in (0.5, 0.2, 0.05):
        for _ in range(40 if full else 4):
            found = best(found, [_varied(rng, statement, f.candidate, width) for f in found])
    return replace(found[0], tried=tried)


def search_evidence(algorithms: Mapping[str, Callable[..., SFL | PFL]]) -> list[Evidence]:
    """One piece of evidence of kind `search` for each bound, given with its algorithm."""

    def check_with(algorithm: Callable[..., SFL | PFL]) -> Callable[[Statement, bool], Verdict]:
        return lambda statement, full: judge(tightest(statement, algorithm, full), statement, algorithm)

    return [Evidence(id_, "search", check_with(algorithm)) for id_, algorithm in algorithms.items()]


def judge(found: Found, statement: Statement, algorithm: Callable[..., SFL | PFL]) -> Verdict:
    """Refuted where the exact expectation exceeds the bound by more than rounding, holds on what was searched if not."""
    candidate = found.candidate
    if found.measured > found.bound * (1 + ROUNDING):
        arena = Arena(
            statement.id, "tightest small quadratics", partial(_same, candidate.problem), algorithm, candidate.K,
            _ROUNDS, candidate.S, _X0,
        )  # fmt: skip
        return exceeded(
            arena, eta_tilde=found.eta_tilde, R=found.R, measured=found.measured, at_least=found.measured,
            bound=found.bound, seeds=0,
        )  # fmt: skip
    where = f"{functions(candidate.problem)}; K = {candidate.K}, S = {candidate.S} of {candidate.problem.M}"
    says = (
        f"{found.tried} small quadratics searched by exact expectation, smallest bound/measured {found.ratio:.3g}: "
        f"{where}, x0 = {_X0:g}, eta_tilde = {found.eta_tilde:.3g}, R = {found.R}"
    )
    return Verdict(Status.HOLDS, says, slack=found.ratio)


def _same(problem: Quadratic) -> Quadratic:
    return problem


def _least(statement: Statement) -> float:
    """The smallest eigenvalue that the statement's case allows, for a largest of 1."""
    claim = statement.claim
    assert isinstance(claim, Bound)
    if claim.quantity.name == "min_grad_sq":
        return -1.0
    return 0.02 if "mu" in {s.name for t in claim.terms for s in t.value.free_symbols} else 0.0


def _takes_all(statement: Statement) -> bool:
    """Whether the statement is on full participation."""
    letters = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
    free = set().union(*(c.relation.free_symbols for c in statement.when))
    everyone = sympy.Eq(letters["S"], letters["M"])
    return letters["S"] not in free or everyone in [c.relation for c in statement.when]


def _draw(rng: np.random.Generator, statement: Statement) -> Candidate:
    """Clients alike or not, in half of the cases without noise, in half without slopes."""
    d, M, K = (int(rng.integers(low, high, endpoint=True)) for low, high in ((1, 2), (2, 4), (1, 3)))
    least = _least(statement)
    eigenvalues = rng.uniform(max(least, -0.3), 1, (M, d)) ** (2 if least >= 0 else 1)
    if rng.random() < 0.5:
        eigenvalues[:] = eigenvalues[0]
    eigenvalues = np.clip(eigenvalues / np.abs(eigenvalues).max(), least, 1)
    angle = rng.uniform(0, np.pi, M) * (rng.random() < 0.5)
    slope = rng.standard_normal((M, d)) * 10 ** rng.uniform(-1, 1) * (rng.random() < 0.5)
    sigma = 10 ** rng.uniform(-1, 1) * (rng.random() < 0.5)
    S = M if _takes_all(statement) else int(rng.integers(1, M, endpoint=True))
    return Candidate(eigenvalues, angle, slope - slope.mean(0), sigma, K, S)


def _varied(rng: np.random.Generator, statement: Statement, candidate: Candidate, width: float) -> Candidate:
    """Each number multiplied by about 1 +- width; what is zero stays zero."""

    def near(values: Array) -> Array:
        return np.asarray(values * np.exp(width * rng.standard_normal(values.shape)))

    eigenvalues, slope = near(candidate.eigenvalues), near(candidate.slope)
    return replace(
        candidate,
        eigenvalues=np.clip(eigenvalues / np.abs(eigenvalues).max(), _least(statement), 1),
        angle=near(candidate.angle),
        slope=slope - slope.mean(0),
        sigma=float(near(np.array(candidate.sigma))),
    )


def _tightest_point(compiled: Compiled, algorithm: Callable[..., SFL | PFL], candidate: Candidate) -> Found | None:
    """The step size and R with the smallest ratio; None where the problem or every step size is outside the conditions."""
    statement, problem = compiled.statement, candidate.problem
    claim = statement.claim
    assert isinstance(claim, Bound)
    try:
        values = known(statement.id, problem, _X0, candidate.K, candidate.S)
    except NoSuchConstant:
        return None
    if problem.constants["curvature"] < min(_least(statement), 0):
        return None  # rounding to three decimals has made a convex client concave
    downwards = np.geomspace(1, 1e-3, 200) / (6 * values["L"])  # 1/(6L) is the limit of every case, or above it
    allowed = evaluate(compiled, strict=False, R=_ROUNDS, eta_tilde=downwards, **values).admissible
    if not allowed.any():
        return None
    steps = downwards[allowed.argmax()] * _FRACTIONS
    recorded = RECORDED[claim.quantity.name]
    eta = learning_rate(statement.id, steps, **counts(problem, candidate.K, candidate.S))
    measured = expectation(
        problem,
        algorithm(K=candidate.K, S=candidate.S, eta=eta.tolist()),
        rounds=_ROUNDS,
        x0=_X0,
        record=(recorded,),
        average=weight_ratio(statement.id, steps, **values),
    )[recorded].values
    if recorded == "grad_sq":
        measured = np.minimum.accumulate(measured, axis=1)
    measured = measured[:, 1:]
    bound = evaluate(compiled, strict=False, R=np.arange(1.0, _ROUNDS + 1)[None], eta_tilde=steps[:, None], **values)
    inside = bound.admissible & (measured > 0)
    ratio = np.where(inside, bound.value / np.where(inside, measured, 1.0), np.inf)
    e, i = np.unravel_index(int(ratio.argmin()), ratio.shape)
    if not np.isfinite(ratio[e, i]):
        return None
    found = (float(ratio[e, i]), candidate, float(steps[e]), int(i) + 1)
    return Found(*found, measured=float(measured[e, i]), bound=float(bound.value[e, i]))
