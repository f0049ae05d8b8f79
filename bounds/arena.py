"""A bound against a run: a problem with certified constants, an algorithm, the theorem's own step size and weights.

An arena is run once; a statement's claim, printed or sharpened, is then held against what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import sympy
import xarray as xr
from joblib import Parallel, delayed
from scipy.stats import t as student

from bounds.evaluate import compile_statement, evaluate, parameters
from bounds.tune import admissible_interval
from simulations import run, start
from simulations.algorithms import Algorithm
from simulations.problems import Problem
from theory import catalogue
from theory.statement import Bound, Evidence, Statement, Status, Verdict

CONFIDENCE = 0.999  # of the two-sided interval of every measured mean

# What a bound is about -> what the run records
_RECORDED = {"gap": "gap_average", "min_grad_sq": "grad_sq"}


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
    seeds       number of seeds
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
    def label(self) -> str:
        """Statement and name: unique."""
        return f"{self.statement}: {self.name}"


@cache
def build(problem: Callable[[], Problem]) -> Problem:
    """The arena's problem, built once per process."""
    return problem()


def constants_of(arena: Arena) -> dict[str, float]:
    """The bound's parameters other than R and eta_tilde, from certified constants and the arena's K, S.

    Raises NoSuchConstant when the problem lacks one.
    """
    problem = build(arena.problem)
    known = problem.constants
    at_start = start(problem, np.full(problem.d, arena.x0))
    counts = {"M": problem.M, "S": problem.M if arena.S is None else arena.S, "K": arena.K}
    wanted = [s.name for s in parameters(catalogue.find(arena.statement)) if s.name not in ("R", "eta_tilde")]
    return {n: float(counts[n] if n in counts else at_start[n] if n in ("D", "A") else known[n]) for n in wanted}


def _from_definitions(statement: Statement, values: dict[str, float]) -> tuple[float, float]:
    """(eta_tilde / eta, w_{r-1} / w_r) from the statement's definitions of eta_tilde and w_r."""
    definitions = {symbol.name: e for symbol, e in statement.where.items()}
    letters = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
    at = {letters[name]: value for name, value in values.items()}
    per_eta = float((definitions["eta_tilde"] / letters["eta"]).subs(at))
    w, r = definitions["w_r"], letters["r"]
    ratio = sympy.simplify(w.subs(r, r - 1) / w)
    return per_eta, float(ratio.subs(at))


_MEASURED: dict[tuple[Arena, bool], xr.Dataset] = {}


def measure(arena: Arena, full: bool = False) -> xr.Dataset:
    """`measured_afresh`, once per process."""
    if (arena, full) not in _MEASURED:
        _MEASURED[arena, full] = measured_afresh(arena, full)
    return _MEASURED[arena, full]


def measured_afresh(arena: Arena, full: bool = False) -> xr.Dataset:
    """Run the arena: mean and confidence interval of the bounded quantity over (eta_tilde, R).

    `full` takes five times the seeds.  Variables mean, low, high; attributes as `simulations.run`.
    Raises ValueError when a run diverges inside the theorem's conditions.
    """
    statement = catalogue.find(arena.statement)
    claim = statement.claim
    assert isinstance(claim, Bound)
    recorded = _RECORDED[claim.quantity.name]
    values = constants_of(arena)
    low, high = admissible_interval(arena.statement, R=arena.rounds, **values)
    eta_tilde = [max(low, fraction * high) for fraction in arena.fractions]
    definitions = [_from_definitions(statement, {**values, "eta_tilde": step}) for step in eta_tilde]
    first = 1 if low == 0 else int(np.ceil(low * arena.rounds / min(eta_tilde) - 1e-9))
    grid = np.unique(np.round(np.geomspace(first, arena.rounds, 40)).astype(int))
    problem = build(arena.problem)
    data = run(
        problem,
        arena.algorithm(
            K=arena.K, S=arena.S, eta=[s / per for s, (per, _) in zip(eta_tilde, definitions, strict=True)]
        ),
        rounds=arena.rounds,
        seeds=range(arena.seeds * (5 if full else 1)),
        x0=np.full(problem.d, arena.x0),
        record=(recorded,),
        at=None if recorded == "grad_sq" else grid,
        average=[ratio for _, ratio in definitions],
    )
    if (data.status == "diverged").any():
        raise ValueError(f"{arena.label}: a run diverged at an admissible step size")
    series = data[recorded]
    seeds = series.sizes["seed"]
    mean = series.mean("seed")
    half = student.ppf((1 + CONFIDENCE) / 2, seeds - 1) * series.std("seed", ddof=1) / np.sqrt(seeds)
    interval = xr.Dataset({"mean": mean, "low": mean - half, "high": mean + half})
    if recorded == "grad_sq":  # smallest so far: a refutation then needs every round's interval above the bound
        interval = interval.map(lambda v: v.copy(data=np.minimum.accumulate(v.values, axis=-1)))
    interval = interval.rename(round="R", step_size="eta_tilde").assign_coords(eta_tilde=eta_tilde)
    interval = interval.sel(R=[r for r in grid if r >= 1])
    interval.attrs = {**data.attrs, "arena": arena.label, "seeds": seeds}
    return interval


def measure_all(arenas: Sequence[Arena], full: bool = False, done: Callable[[int], None] | None = None) -> None:
    """Run all arenas that have not been run yet, side by side on the machine's cores; `done` is told how many are."""
    waiting = [a for a in arenas if (a, full) not in _MEASURED]
    found = Parallel(n_jobs=-1, return_as="generator")(delayed(measured_afresh)(a, full) for a in waiting)
    for i, (arena, data) in enumerate(zip(waiting, found, strict=True), 1):
        _MEASURED[arena, full] = data
        if done is not None:
            done(i)


def confront(arena: Arena, statement: Statement, full: bool = False) -> xr.Dataset:
    """The measurement with the statement's bound beside it: value `bound`, `terms` by name, and `admissible`."""
    measured = measure(arena, full)
    values = constants_of(arena)
    R, steps = measured.R.values.astype(float), measured.eta_tilde.values
    bound = evaluate(compile_statement(statement), strict=False, R=R[None], eta_tilde=steps[:, None], **values)
    dims = ("eta_tilde", "R")
    terms = xr.DataArray(np.stack(list(bound.terms.values())), dims=("term", *dims), coords={"term": list(bound.terms)})
    return measured.assign(bound=(dims, bound.value), admissible=(dims, bound.admissible), terms=terms)


def judge(arenas: Sequence[Arena], statement: Statement, full: bool = False) -> Verdict:
    """Hold a bound against all its arenas.

    refuted where the lower end of a confidence interval exceeds the bound, open where the interval straddles it,
    holds (on these arenas) otherwise; the slack is the smallest ratio of bound to lower end.
    """
    slack, tightest, loosest = np.inf, np.inf, 0.0
    straddles = []
    for arena in arenas:
        data = confront(arena, statement, full)
        inside = data.admissible.values
        if not inside.any():
            return Verdict(Status.VACUOUS, f"{arena.label}: no step size and R of the arena is admissible")
        bound, mean, low, high = (data[name].values[inside] for name in ("bound", "mean", "low", "high"))
        worst = int(np.argmax(low / bound))
        if low[worst] > bound[worst]:
            at = [i[worst] for i in np.nonzero(inside)]
            witness = {
                "arena": arena.name,
                **constants_of(arena),
                "eta_tilde": float(data.eta_tilde[at[0]]),
                "R": int(data.R[at[1]]),
                "measured": float(mean[worst]),
                "measured_at_least": float(low[worst]),
                "printed_bound": float(bound[worst]),
                "seeds": int(data.attrs["seeds"]),
            }
            says = f"{arena.name}: measured {mean[worst]:.3g} (at least {low[worst]:.3g}), bound {bound[worst]:.3g}"
            return Verdict(Status.REFUTED, says, slack=float(bound[worst] / low[worst]), witness=witness)
        if (high > bound).any():
            straddles.append(arena.name)
        positive = low > 0
        slack = min(slack, float((bound[positive] / low[positive]).min(initial=np.inf)))
        ratios = bound[mean > 0] / mean[mean > 0]
        tightest, loosest = min(tightest, ratios.min(initial=np.inf)), max(loosest, ratios.max(initial=0.0))
    if straddles:
        return Verdict(Status.OPEN, f"the confidence interval straddles the bound on {', '.join(straddles)}")
    says = f"{len(arenas)} arenas, bound/measured {tightest:.3g} to {loosest:.3g} ({', '.join(a.name for a in arenas)})"
    return Verdict(Status.HOLDS, says, slack=slack if np.isfinite(slack) else None)


def run_evidence(arenas: Sequence[Arena]) -> list[Evidence]:
    """One piece of evidence of kind `run` per statement that has arenas."""
    by_statement: dict[str, list[Arena]] = {}
    for arena in arenas:
        by_statement.setdefault(arena.statement, []).append(arena)

    def check_with(own: list[Arena]) -> Callable[[Statement, bool], Verdict]:
        return lambda statement, full: judge(own, statement, full)

    return [Evidence(id_, "run", check_with(own)) for id_, own in by_statement.items()]
