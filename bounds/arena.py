"""A bound against a run: a problem with certified constants, an algorithm, the theorem's own step size and weights.

On quadratics the bounded quantity is an exact expectation, elsewhere a mean over seeds with its confidence interval.
An arena is measured once; a statement's claim, printed or sharpened, is then held against what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import sympy
import xarray as xr
from joblib import Parallel, delayed
from scipy.stats import t as student

from bounds.evaluate import Compiled, compile_statement, compiled, evaluate
from bounds.tune import admissible_interval
from simulations import run, start
from simulations.algorithms import Algorithm
from simulations.moments import expectation
from simulations.problems import Problem
from simulations.problems.quadratic import Quadratic
from theory import catalogue
from theory.statement import Bound, Evidence, EvidenceKind, Statement, Status, Verdict

CONFIDENCE = 0.999  # of the two-sided interval of every mean over seeds
ROUNDING = 1e-9  # relative: an exact expectation that exceeds a bound by no more counts as rounding

# What a bound is about -> what the run records
RECORDED = {"gap": "gap_average", "min_grad_sq": "grad_sq"}


@dataclass(frozen=True)
class Arena:
    """Which problem and algorithm put a statement to the test.

    statement   id of an explicit bound on `gap` or `min_grad_sq` with the step size eta_tilde
    name        readable: problem, heterogeneity, participation
    problem     builds the problem (once)
    algorithm   (K, S, eta) -> algorithm
    K, S        local steps, participating clients (None: all)
    x0          start: a number for all coordinates
    rounds      R of the run; every R of the grid up to it is a test
    seeds       number of seeds; of no account on quadratics
    fractions   step sizes, as fractions of the largest admissible eta_tilde
    """

    statement: str
    name: str
    problem: Callable[[], Problem]
    algorithm: Callable[..., Algorithm]
    K: int
    rounds: int
    S: int | None = None
    x0: float = 1.0
    seeds: int = 20
    fractions: tuple[float, ...] = (1.0, 0.5)

    @property
    def settings(self) -> tuple[Any, ...]:
        """All but the functions, which another process has its own copies of."""
        return self.label, self.K, self.S, self.x0, self.rounds, self.seeds, self.fractions

    @property
    def label(self) -> str:
        """Statement and name: unique."""
        return f"{self.statement}: {self.name}"

    @property
    def kind(self) -> EvidenceKind:
        """`moments`, exact expectation, on quadratics; `run`, Monte Carlo, elsewhere."""
        return "moments" if isinstance(build(self.problem), Quadratic) else "run"


@cache
def build(problem: Callable[[], Problem]) -> Problem:
    """The arena's problem, built once per process."""
    return problem()


def constants_of(arena: Arena) -> dict[str, float]:
    """The bound's parameters other than R and eta_tilde, from certified constants and the arena's K, S.

    Raises NoSuchConstant when the problem lacks one.
    """
    return known(arena.statement, build(arena.problem), arena.x0, arena.K, arena.S)


def counts(problem: Problem, K: int, S: int | None) -> dict[str, int]:
    """M, S and K; S is M where all clients take part."""
    return {"M": problem.M, "S": problem.M if S is None else S, "K": K}


def known(id_: str, problem: Problem, x0: float, K: int, S: int | None) -> dict[str, float]:
    """The parameters of a bound other than R and eta_tilde, on a problem.  Raises NoSuchConstant when it lacks one."""
    at_start = start(problem, np.full(problem.d, x0))
    numbers = counts(problem, K, S)
    wanted = [s.name for s in compiled(id_).parameters if s.name not in ("R", "eta_tilde")]
    return {
        n: float(numbers[n] if n in numbers else (at_start if n in ("D", "A") else problem.constants)[n])
        for n in wanted
    }


@cache
def _definitions(id_: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """eta_tilde / eta and w_{r-1} / w_r by the statement's definitions, as functions of its letters by name."""
    statement = catalogue.find(id_)
    definitions = {symbol.name: e for symbol, e in statement.where.items()}
    letters = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
    w, r = definitions["w_r"], letters["r"]
    per_eta, ratio = definitions["eta_tilde"] / letters["eta"], sympy.simplify(w.subs(r, r - 1) / w)

    def function(expression: sympy.Expr) -> Callable[..., Any]:
        free = sorted(expression.free_symbols, key=str)
        compiled = sympy.lambdify(free, expression, "numpy")
        return lambda **values: compiled(*(values[s.name] for s in free))

    return function(per_eta), function(ratio)


def learning_rate(id_: str, eta_tilde: np.ndarray, **values: float) -> np.ndarray:
    """eta, by the statement's definition of eta_tilde."""
    return np.asarray(eta_tilde / _definitions(id_)[0](**values))


def weight_ratio(id_: str, eta_tilde: np.ndarray, **values: float) -> np.ndarray:
    """w_{r-1} / w_r at each step size, by the statement's definition of its averaging weights."""
    ratio = _definitions(id_)[1](eta_tilde=eta_tilde, **values)
    return np.broadcast_to(np.asarray(ratio, dtype=float), np.shape(eta_tilde))


@cache
def _interval(id_: str, values: tuple[tuple[str, float], ...]) -> tuple[float, float]:
    return admissible_interval(id_, **dict(values))


def _admissible_steps(id_: str, **values: float) -> tuple[float, float]:
    """`admissible_interval`, solved once for all arenas that agree in the letters of the conditions on the step size."""
    relations = [{s.name for s in c.relation.free_symbols} for c in catalogue.find(id_).when]
    letters = set().union(*(names for names in relations if "eta_tilde" in names))
    return _interval(id_, tuple(sorted((name, value) for name, value in values.items() if name in letters)))


Measurements = dict[tuple[Any, ...], xr.Dataset]  # by the arena's settings, default or full scale
_MEASURED: Measurements = {}


def measure(arena: Arena, full: bool = False) -> xr.Dataset:
    """`measured_afresh`, once per process."""
    if (*arena.settings, full) not in _MEASURED:
        _MEASURED[*arena.settings, full] = measured_afresh(arena, full)
    return _MEASURED[*arena.settings, full]


def measurements() -> Measurements:
    """All that this process has measured."""
    return dict(_MEASURED)


def recall(known: Measurements) -> None:
    """Take over what another process has measured."""
    _MEASURED.update(known)


def measured_afresh(arena: Arena, full: bool = False) -> xr.Dataset:
    """Run the arena: mean and confidence interval of the bounded quantity over (eta_tilde, R), a point where exact.

    `full` takes five times the seeds.  Variables mean, low, high; attributes as `simulations.run`, with the number of
    seeds, 0 where the expectation is exact.
    Raises ValueError when a run diverges inside the theorem's conditions.
    """
    statement = catalogue.find(arena.statement)
    claim = statement.claim
    assert isinstance(claim, Bound)
    recorded, exact = RECORDED[claim.quantity.name], arena.kind == "moments"
    values = constants_of(arena)
    low, high = _admissible_steps(arena.statement, R=arena.rounds, **values)
    eta_tilde = np.array([max(low, fraction * high) for fraction in arena.fractions])
    first = 1 if low == 0 else int(np.ceil(low * arena.rounds / min(eta_tilde) - 1e-9))
    grid = np.unique(np.round(np.geomspace(first, arena.rounds, 40)).astype(int))
    problem = build(arena.problem)
    eta = learning_rate(arena.statement, eta_tilde, **counts(problem, arena.K, arena.S))
    seeds = arena.seeds * (5 if full else 1)
    measured: Callable[..., xr.Dataset] = expectation if exact else partial(run, seeds=range(seeds))
    data = measured(
        problem,
        arena.algorithm(K=arena.K, S=arena.S, eta=eta.tolist()),
        rounds=arena.rounds,
        x0=np.full(problem.d, arena.x0),
        record=(recorded,),
        at=None if recorded == "grad_sq" else grid,
        average=weight_ratio(arena.statement, eta_tilde, **values),
    )
    if (data.status == "diverged").any():
        raise ValueError(f"{arena.label}: a run diverged at an admissible step size")
    series = data[recorded]
    if exact:
        mean, half = series, 0.0
    else:
        mean = series.mean("seed")
        half = student.ppf((1 + CONFIDENCE) / 2, seeds - 1) * series.std("seed", ddof=1) / np.sqrt(seeds)
    interval = xr.Dataset({"mean": mean, "low": mean - half, "high": mean + half})
    if recorded == "grad_sq":  # smallest so far: a refutation then needs every round's interval above the bound
        interval = interval.map(lambda v: v.copy(data=np.minimum.accumulate(v.values, axis=-1)))
    interval = interval.rename(round="R", step_size="eta_tilde").assign_coords(eta_tilde=eta_tilde)
    interval = interval.sel(R=[r for r in grid if r >= 1])
    interval.attrs = {**data.attrs, "arena": arena.label, "seeds": 0 if exact else seeds}
    return interval


def measure_all(arenas: Sequence[Arena], full: bool = False, done: Callable[[int], None] | None = None) -> None:
    """Measure all arenas not measured yet, runs side by side on the machine's cores; `done` is told how many are."""
    waiting = [a for a in arenas if (*a.settings, full) not in _MEASURED]
    # Starting worker processes takes longer than one run, or than all exact expectations.
    workers = -1 if sum(a.kind == "run" for a in waiting) > 1 else 1
    found = Parallel(n_jobs=workers, return_as="generator")(delayed(measured_afresh)(a, full) for a in waiting)
    for i, (arena, data) in enumerate(zip(waiting, found, strict=True), 1):
        _MEASURED[*arena.settings, full] = data
        if done is not None:
            done(i)


def confront(arena: Arena, statement: Statement, full: bool = False) -> xr.Dataset:
    """The measurement with the statement's bound beside it: value `bound`, `terms` by name, and `admissible`."""
    measured = measure(arena, full)
    values = constants_of(arena)
    R, steps = measured.R.values.astype(float), measured.eta_tilde.values
    bound = evaluate(compiled_once(statement), strict=False, R=R[None], eta_tilde=steps[:, None], **values)
    dims = ("eta_tilde", "R")
    terms = xr.DataArray(np.stack(list(bound.terms.values())), dims=("term", *dims), coords={"term": list(bound.terms)})
    return measured.assign(bound=(dims, bound.value), admissible=(dims, bound.admissible), terms=terms)


def compiled_once(statement: Statement) -> Compiled:
    """Compiled once where the statement is the catalogue's own, afresh where it is another, such as a sharpened one."""
    return compiled(statement.id) if statement is catalogue.find(statement.id) else compile_statement(statement)


def at_same_rate(arena: Arena, eta_tilde: float, other: str) -> Arena | None:
    """The arena for another statement, such as a corrected one, at the same learning rate; None where that is too large.

    Its eta_tilde and its averaging weights are those that the other statement defines.
    """
    problem = build(arena.problem)
    numbers = counts(problem, arena.K, arena.S)
    eta = learning_rate(arena.statement, np.array(eta_tilde), **numbers)
    its_own = float(eta / learning_rate(other, np.array(1.0), **numbers))
    values = known(other, problem, arena.x0, arena.K, arena.S)
    low, high = _admissible_steps(other, R=arena.rounds, **values)
    if not low <= its_own <= high * (1 + ROUNDING):
        return None
    return replace(arena, statement=other, fractions=(its_own / high,))


def described(build_problem: Callable[[], Problem]) -> str:
    """How to build an arena's problem again: small quadratics by their functions, others by the call that builds them."""
    problem = build(build_problem)
    if isinstance(problem, Quadratic) and problem.d <= 2:
        return functions(problem)
    if isinstance(build_problem, partial):
        given = [repr(a) for a in build_problem.args] + [f"{k}={v!r}" for k, v in build_problem.keywords.items()]
        return f"{build_problem.func.__name__}({', '.join(given)})"
    return f"{build_problem.__module__}.{getattr(build_problem, '__qualname__', build_problem)}()"


def functions(problem: Quadratic) -> str:
    """The functions of a quadratic's clients, in one or two coordinates: 'x^2/2 + x, x^2/2 - x; sigma = 0'."""
    clients: dict[str, int] = {}
    for H, b in zip(problem.H, problem.b, strict=True):
        terms = [(H[0, 0] / 2, "x^2"), (b[0], "x")]
        if problem.d == 2:
            terms = [terms[0], (H[0, 1], "xy"), (H[1, 1] / 2, "y^2"), terms[1], (b[1], "y")]
        text = " + ".join(_times(c, letter) for c, letter in terms if c).replace("+ -", "- ") or "0"
        clients[text] = clients.get(text, 0) + 1
    found = ", ".join(one if times == 1 else f"{times} times {one}" for one, times in clients.items())
    return f"{found}; sigma = {problem.sigma:g}"


def _times(c: float, letter: str) -> str:
    """A coefficient and its letter: 'x', '-x^2/2', '0.207 x'."""
    simple = Fraction(float(c)).limit_denominator(12)
    if abs(simple - Fraction(float(c))) > 1e-12:
        return f"{c:.6g} {letter}"
    count = {1: "", -1: "-"}.get(simple.numerator, f"{simple.numerator} ")
    return f"{count}{letter}" + (f"/{simple.denominator}" if simple.denominator > 1 else "")


def judge(arenas: Sequence[Arena], statement: Statement, full: bool = False) -> Verdict:
    """Hold a bound against its arenas, all of one kind.

    refuted where what was measured exceeds the bound: an exact expectation by more than rounding, or the lower end of a
    confidence interval; open where an interval straddles it; holds (on these arenas) otherwise.  The slack is the
    smallest ratio of bound to lower end.
    """
    slack = np.inf
    found: list[tuple[float, float, str]] = []  # tightest and loosest bound/measured of each arena
    straddles = []
    for arena in arenas:
        data = confront(arena, statement, full)
        inside = data.admissible.values
        if not inside.any():
            return Verdict(Status.VACUOUS, f"{arena.label}: no step size and R of the arena is admissible")
        bound, mean, low, high = (data[name].values[inside] for name in ("bound", "mean", "low", "high"))
        allowed = bound * (1 + ROUNDING)
        worst = int(np.argmax(low / np.maximum(bound, np.finfo(float).tiny)))
        if low[worst] > allowed[worst]:
            at = [i[worst] for i in np.nonzero(inside)]
            return exceeded(
                arena,
                eta_tilde=float(data.eta_tilde[at[0]]),
                R=int(data.R[at[1]]),
                measured=float(mean[worst]),
                at_least=float(low[worst]),
                bound=float(bound[worst]),
                seeds=int(data.attrs["seeds"]),
            )
        if (high > allowed).any():
            straddles.append(arena.name)
        positive = low > 0
        slack = min(slack, float((bound[positive] / low[positive]).min(initial=np.inf)))
        ratios = bound[mean > 0] / mean[mean > 0]
        found.append((float(ratios.min(initial=np.inf)), float(ratios.max(initial=0.0)), arena.name))
    if straddles:
        return Verdict(Status.OPEN, f"the confidence interval straddles the bound on {', '.join(straddles)}")
    tightest, loosest = min(found), max(found, key=lambda f: f[1])
    how = (
        f"exact expectation, relative rounding {ROUNDING:g} allowed" if arenas[0].kind == "moments" else "mean of runs"
    )
    says = (
        f"{how}: {len(arenas)} arenas, bound/measured {tightest[0]:.3g} ({tightest[2]}) "
        f"to {loosest[1]:.3g} ({loosest[2]})"
    )
    return Verdict(Status.HOLDS, says, slack=slack if np.isfinite(slack) else None)


def exceeded(
    arena: Arena, *, eta_tilde: float, R: int, measured: float, at_least: float, bound: float, seeds: int
) -> Verdict:
    """Refuted, with everything needed to see it again; `ratio` is that of what was measured (at least) to the bound."""
    witness: dict[str, Any] = {
        "arena": arena.name,
        "problem": described(arena.problem),
        "algorithm": arena.algorithm.__name__,
        "x0": arena.x0,
        **constants_of(arena),
        "eta_tilde": eta_tilde,
        "R": R,
        "measured": measured,
        "printed_bound": bound,
        "ratio": at_least / max(bound, float(np.finfo(float).tiny)),
    }
    if seeds:
        witness |= {"measured_at_least": at_least, "seeds": seeds}
        found = f"measured {measured:.3g} (at least {at_least:.3g})"
    else:
        found = f"exact expectation {measured:.3g}"
    says = f"{arena.name}: {found}, bound {bound:.3g}"
    return Verdict(Status.REFUTED, says, slack=bound / at_least, witness=witness)


def arena_evidence(arenas: Sequence[Arena]) -> list[Evidence]:
    """One piece of evidence per statement and kind of arena: `moments` on quadratics, `run` elsewhere."""
    groups: dict[tuple[str, EvidenceKind], list[Arena]] = {}
    for arena in arenas:
        groups.setdefault((arena.statement, arena.kind), []).append(arena)

    def check_with(own: list[Arena]) -> Callable[[Statement, bool], Verdict]:
        return lambda statement, full: judge(own, statement, full)

    return [Evidence(id_, kind, check_with(own)) for (id_, kind), own in groups.items()]
