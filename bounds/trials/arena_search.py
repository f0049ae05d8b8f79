"""A deterministic search for the small problems on which a bound is tightest.

They are quadratics, each measured by exact expectation, and functions of one coordinate whose curvature jumps, each
measured by a run without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, cast

import numpy as np

from fedtheory.bounds.evaluation import Compiled
from fedtheory.bounds.trials import arena as arenas
from fedtheory.bounds.trials.quantities import bounded, quantities
from fedtheory.bounds.tuning import largest_step
from fedtheory.simulations import NoSuchConstant, expectation
from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.engine import exact_run
from fedtheory.simulations.problems import Array, Problem
from fedtheory.simulations.problems.piecewise import Piecewise
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.simulations.problems.regularised import Regularised
from fedtheory.theory.statement import Bound, Evidence, Statement, Status, Verdict

_X0 = 1.0  # in every coordinate; bounds and runs scale in the same way
_UNITS = 32  # in the last place: errors of a value of F
_NOTHING = 1e-10  # of the value at the start: less than this decides nothing, because it may be rounding
_FRACTIONS = np.array([1, 1 / 2, 1 / 4, 1 / 8, 1 / 16])  # of the largest admissible step size


@dataclass(frozen=True, eq=False)
class Candidate:
    """A small quadratic: eigenvalues (M, d) and angle (M,) of H_m, slopes (M, d), noise; and the algorithm's settings."""

    eigenvalues: Array
    angle: Array
    slope: Array
    sigma: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    what: ClassVar[str] = "small quadratics"
    how: ClassVar[str] = "exact expectation"

    @cached_property
    def problem(self) -> Quadratic:
        """The quadratic, rounded to three decimals, so that it can be written down."""
        H = self.eigenvalues[..., None]
        if H.shape[1] == 2:
            c, s = np.cos(self.angle), np.sin(self.angle)
            turn = np.stack([c, -s, s, c], axis=-1).reshape(-1, 2, 2)
            H = turn @ (H * np.eye(2)) @ turn.swapaxes(1, 2)
        return Quadratic(np.round(H, 3), np.round(self.slope, 3), round(self.sigma, 3), "small quadratics")

    @property
    def told(self) -> str:
        """The clients' functions and the noise."""
        return arenas.functions(self.problem)


@dataclass(frozen=True, eq=False)
class Jumps:
    """Convex functions whose curvature jumps: knots (M, 2), curvatures (M, 3), F_m' at 0 (M,); the algorithm's settings."""

    knots: Array
    curvatures: Array
    slopes: Array
    settings: Mapping[str, Any] = field(default_factory=dict)
    what: ClassVar[str] = "functions with jumps of the curvature"
    how: ClassVar[str] = "runs without noise"

    @cached_property
    def problem(self) -> Piecewise:
        """The functions, rounded to three digits, so that they can be written down."""
        return Piecewise(*(_three_digits(part) for part in (self.knots, self.curvatures, self.slopes)))

    @property
    def told(self) -> str:
        """The clients' functions."""
        return self.problem.name


def _three_digits(values: Array) -> Array:
    return np.array([float(f"{v:.3g}") for v in values.flat]).reshape(values.shape)


@dataclass(frozen=True)
class Candidates:
    """The candidates of the search for one bound.

    algorithm  called with eta=[...] and a candidate's settings
    draw       rng -> a random `Candidate`, or `Jumps`
    vary       (rng, candidate, width) -> the candidate with each of its numbers multiplied by about 1 +- width
    largest    (compiled bound, its parameters, largest R) -> the largest admissible step size, None where there is none;
               not used where the statement fixes it
    least      smallest eigenvalue that the bound's case allows, for a largest of 1
    rounds     every R up to it is tried
    tries      number of candidates drawn, and number of variations of the best six at each of three widths
    given      as in an arena
    """

    algorithm: Callable[..., Algorithm]
    draw: Callable[[np.random.Generator], Any]
    vary: Callable[[np.random.Generator, Any, float], Any]
    largest: Callable[[Compiled, Mapping[str, float], int], float | None]
    least: float
    rounds: int = 512
    tries: tuple[int, int] = (60, 4)
    given: arenas.Given = ()

    def arena(self, statement_id: str, candidate: Candidate | Jumps) -> arenas.Arena:
        """The candidate as an arena."""
        made, problem = partial(self.algorithm, **candidate.settings), cast(Any, candidate.problem)
        return arenas.Arena(
            statement_id, f"tightest {candidate.what}", problem, made, self.rounds, x0=_X0, given=self.given
        )


@dataclass(frozen=True)
class Tightest:
    """The smallest ratio of bound to measured value, where it occurs, and the number of candidates tried.

    For a claim with >= it is the ratio of measured to bound, for one with = the smaller of both.

    arena     the candidate as the arena that was measured
    diverged  the round by which the expectation is no longer finite: then R is the round before
    rounding  of the measured value, relative: a gap is a difference of values that may be much larger
    """

    ratio: float
    candidate: Candidate | Jumps
    arena: arenas.Arena
    step: float
    R: int
    measured: float
    bound: float
    diverged: int | None = None
    tried: int = 1
    rounding: float = 0.0


def tightest(statement: Statement, family: Candidates, full: bool = False) -> Tightest | None:
    """The smallest ratio of bound to measured value that a search finds: random candidates, the best ones varied.

    None where the bound applies to none of them.

    One or two coordinates, two to four clients; every R up to the family's, five step sizes.  The seed is fixed, so the
    same claim gives the same answer.  `full` searches ten times as long.
    """
    compiled, rng = arenas.compiled_once(statement), np.random.default_rng(0)
    tried = 0

    def best(old: list[Tightest], candidates: list[Candidate | Jumps]) -> list[Tightest]:
        """The six smallest ratios, the older first where equal."""
        nonlocal tried
        new = [f for c in candidates for f in _tightest_points(compiled, family, c)]
        tried += len(new)
        return sorted([*old, *new], key=lambda f: f.ratio)[:6]

    drawn, varied = (n * (10 if full else 1) for n in family.tries)
    found = best([], [family.draw(rng) for _ in range(drawn)])
    for width in (0.5, 0.2, 0.05):
        for _ in range(varied):
            found = best(found, [family.vary(rng, f.candidate, width) for f in found])
    return replace(found[0], tried=tried) if found else None


def search_evidence(families: Mapping[str, Candidates]) -> list[Evidence]:
    """One piece of evidence of kind `search` for each bound, by its family."""

    def check_with(family: Candidates) -> Callable[[Statement, bool], Verdict]:
        return lambda statement, full: judge(tightest(statement, family, full), statement)

    return [Evidence(id_, "search", check_with(family)) for id_, family in families.items()]


def judge(found: Tightest | None, statement: Statement) -> Verdict:
    """Refuted where the exact expectation exceeds the bound by more than rounding; else tested on the quadratics tried."""
    if found is None:
        return Verdict(Status.VACUOUS, "no step size is admissible on any of the quadratics that were searched")
    claim, candidate, name = statement.claim_of(Bound), found.candidate, arenas.step_symbol(statement)
    if found.ratio * (1 + arenas.ROUNDING + found.rounding) < 1 or found.diverged is not None:
        return arenas.exceeded(
            found.arena, step=found.step, R=found.R, measured=found.measured, end=found.measured, bound=found.bound,
            seeds=0, above=found.measured > found.bound, diverged=found.diverged,
        )  # fmt: skip
    settings = dict(candidate.settings)
    if "S" in settings:
        settings["S"] = f"{settings['S']} of {candidate.problem.M}"
    settings |= {"x0": f"{_X0:g}", name: f"{found.step:.3g}", "R": str(found.R)}
    where = ", ".join(f"{n} = {v}" for n, v in settings.items())
    of = {"<=": "bound to measured value", ">=": "measured value to bound", "=": "bound and measured value"}[claim.sign]
    says = (
        f"{found.tried} {candidate.what}, searched by {candidate.how}: the smallest ratio of {of} is {found.ratio:.3g}, for "
        f"{candidate.told}; {where}"
    )
    return Verdict(Status.TESTED, says, slack=found.ratio)


def quadratic(rng: np.random.Generator, d: int, M: int, least: float) -> Candidate:
    """Random clients with eigenvalues in [least, 1]; half of the time equal, half without noise, half without slopes."""
    eigenvalues = rng.uniform(max(least, -0.3), 1, (M, d)) ** (2 if least >= 0 else 1)
    if rng.random() < 0.5:
        eigenvalues[:] = eigenvalues[0]
    eigenvalues = np.clip(eigenvalues / np.abs(eigenvalues).max(), least, 1)
    angle = rng.uniform(0, np.pi, M) * (rng.random() < 0.5)
    slope = rng.standard_normal((M, d)) * 10 ** rng.uniform(-1, 1) * (rng.random() < 0.5)
    sigma = 10 ** rng.uniform(-1, 1) * (rng.random() < 0.5)
    return Candidate(eigenvalues, angle, slope - slope.mean(0), sigma)


def _near(rng: np.random.Generator, width: float, values: Array) -> Array:
    """Each number multiplied by about 1 +- width; zeros stay zero."""
    return np.asarray(values * np.exp(width * rng.standard_normal(values.shape)))


def varied(rng: np.random.Generator, candidate: Candidate, width: float, least: float) -> Candidate:
    """The quadratic with each of its numbers multiplied by about 1 +- width."""
    near = partial(_near, rng, width)
    eigenvalues, slope = near(candidate.eigenvalues), near(candidate.slope)
    return replace(
        candidate,
        eigenvalues=np.clip(eigenvalues / np.abs(eigenvalues).max(), least, 1),
        angle=near(candidate.angle),
        slope=slope - slope.mean(0),
        sigma=float(near(np.array(candidate.sigma))),
    )


def of_one_hessian(candidate: Candidate) -> Candidate:
    """All clients with the Hessian of the first."""
    eigenvalues, angle = (np.repeat(values[:1], len(values), 0) for values in (candidate.eigenvalues, candidate.angle))
    return replace(candidate, eigenvalues=eigenvalues / np.abs(eigenvalues).max(), angle=angle)


def largest_by(name: str) -> Callable[[Compiled, Mapping[str, float], int], float | None]:
    """The largest step size of this name that all conditions admit, numerically; None where none limits it."""

    def largest(bound: Compiled, values: Mapping[str, float], rounds: int) -> float | None:
        found = largest_step(bound, name, {"R": float(rounds), **values})
        return found if np.isfinite(found) else None

    return largest


def jumps(rng: np.random.Generator, M: int, least: float) -> Jumps:
    """Random convex clients with curvatures in [least, 1] and a minimiser: Huber functions, one-sided ones, and others.

    Half of the time all are equal; half of the time minimisers are at 0, and the start at 1 is far beyond the knots or near.
    """
    kinds = [(least, 1.0, least), (1.0, least, least), (least, least, 1.0), tuple(rng.uniform(least, 1, 3))]
    curvatures = np.array([kinds[i] for i in rng.integers(0, len(kinds), M)])
    centre = rng.uniform(-1, 1, M) * (rng.random() < 0.5)
    knots = centre[:, None] + np.sort(rng.choice([-1.0, 1.0], (M, 2)) * 10 ** rng.uniform(-2.5, 0, (M, 2)), axis=1)
    if rng.random() < 0.5:
        knots, curvatures, centre = knots[:1].repeat(M, 0), curvatures[:1].repeat(M, 0), centre[:1].repeat(M)
    curvatures[0, rng.integers(0, 3)] = 1.0
    own = Piecewise(knots, curvatures, np.zeros(M))
    at_centre = np.diagonal(own.client_slopes(centre[:, None]))
    return Jumps(knots, curvatures, -at_centre)


def jumps_varied(rng: np.random.Generator, candidate: Jumps, width: float, least: float) -> Jumps:
    """The functions with each of their numbers multiplied by about 1 +- width."""
    near = partial(_near, rng, width)
    curvatures = np.clip(near(candidate.curvatures), least, None)
    return replace(
        candidate,
        knots=np.sort(near(candidate.knots), axis=1),
        curvatures=np.clip(curvatures / curvatures.max(), least, 1),
        slopes=near(candidate.slopes),
    )


def _tightest_points(compiled: Compiled, family: Candidates, candidate: Candidate | Jumps) -> Iterator[Tightest]:
    """The step size and R with the smallest ratio; none where the problem or every step size is outside the conditions."""
    statement, problem = compiled.statement, candidate.problem
    if isinstance(problem, Quadratic) and problem.least_curvature < min(family.least, 0):
        return  # rounding to three decimals has made a convex client concave
    try:
        for arena in arenas.as_stated(statement, family.arena(statement.id, candidate)):
            found = _tightest_point(compiled, family, candidate, replace(arena, changed=statement))
            if found is not None:
                yield found
    except NoSuchConstant:
        return


def _tightest_point(
    compiled: Compiled, family: Candidates, candidate: Candidate | Jumps, arena: arenas.Arena
) -> Tightest | None:
    """`_tightest_points` for one arena.  Raises NoSuchConstant where the problem lacks a symbol of the statement."""
    statement, problem, symbols = compiled.statement, candidate.problem, arena.algorithm(eta=1.0)
    claim = statement.claim_of(Bound)
    values, phi = arenas.constants_of(arena), arenas.regularisation(arena)
    if arenas.fixes_step(statement):
        steps, _ = arenas.steps_of(arena)
    else:
        largest = family.largest(compiled, values, family.rounds)
        if largest is None:
            return None
        steps = largest * _FRACTIONS
    name, factor = bounded(statement.paper, claim)
    quantity = quantities(statement.paper)[name]
    eta = arenas.learning_rate(statement, steps, **symbols.symbols(problem))
    exactly: Callable[..., Any] = expectation if isinstance(problem, Quadratic) else exact_run
    runs = exactly(
        problem if phi is None else Regularised(problem, phi),
        arena.algorithm(eta=eta.tolist()),
        rounds=family.rounds,
        x0=_X0,
        record=(quantity.recorded,),
        average=arenas.weight_ratio(statement, steps, **values),
    )
    if runs is None:
        return None
    measured = runs[quantity.recorded].values
    measured = measured if isinstance(problem, Quadratic) else measured[:, 0]
    if quantity.over == "smallest":
        measured = np.minimum.accumulate(measured, axis=1)
    elif quantity.over == "mean":
        measured = arenas.mean_before(measured)
    beginning, measured = measured[:, :1], measured[:, 1:]
    bound = arenas.bound_at(compiled, steps[:, None], np.arange(1.0, family.rounds + 1)[None], **values)
    value, admissible = (np.broadcast_to(v, measured.shape) for v in (bound.value / factor, bound.admissible))
    inside = admissible & (measured > _NOTHING * beginning)
    room = np.where(inside, value / np.where(inside, measured, 1.0), np.inf)
    below = 1 / np.maximum(room, np.finfo(float).tiny)  # the factor by which a lower bound could be larger
    below[~inside] = np.inf
    ratio = {"<=": room, ">=": below, "=": np.minimum(room, below)}[claim.sign]
    e, i = (int(at) for at in np.unravel_index(int(ratio.argmin()), ratio.shape))
    if not np.isfinite(ratio[e, i]):
        return None
    gone = np.isnan(measured) & admissible & (claim.sign != ">=")
    diverged = None
    if gone.any():  # divergence exceeds every bound
        e = int(gone.any(1).argmax())
        diverged = int(gone[e].argmax()) + 1
        i = max(diverged - 2, 0)
    found, step, at_it, bounded_by = (float(x) for x in (ratio[e, i], steps[e], measured[e, i], value[e, i]))
    rounding = _rounding(problem, quantity.recorded, at_it, float(beginning[e, 0]))
    return Tightest(found, candidate, arena, step, i + 1, at_it, bounded_by, diverged, rounding=rounding)


def _rounding(problem: Problem, recorded: str, measured: float, beginning: float) -> float:
    """The rounding error of what is measured, relative to it: of the values of a gap, or of second moments at the start."""
    if measured <= 0:
        return 0.0
    largest = beginning + float(np.square(getattr(problem, "b", 0)).sum()) + problem.d * _X0**2
    if "gap" in recorded:
        largest = abs(float(problem.value(np.full(problem.d, _X0)))) + abs(float(problem.constants["F_star"]))
    return _UNITS * float(np.finfo(float).eps) * largest / measured
