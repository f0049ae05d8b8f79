"""How the rounds to an accuracy scale: the exponents of a printed rate, beside those that experiments measure.

An experiment has a problem on which one term of a rate is large, and counts the fewest rounds to an accuracy over all
constant step sizes, by exact expectation where there is one.  It says something about that problem, and so nothing about the
rate, which is an upper bound for all problems: its verdict is `analogue`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import sympy

from fedtheory.bounds import papers
from fedtheory.bounds.orders import exponent
from fedtheory.bounds.studies import Numbers, Study
from fedtheory.simulations import expectation, has_expectation, run
from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.problems import Array, Problem
from fedtheory.theory.statement import Evidence, Order, Rates, Statement, Status, Verdict, Words

_CLOSE = 0.1  # of exponents that count as equal: other terms of a rate are never quite absent
_FEWEST, _MOST = 64, 2**20  # rounds that are looked at
_SEARCHES = 3  # each finer than the one before, around its best step size
_SETTLED = 1e-9  # of the accuracy: a smaller change from round to round is none
_LASTING = 16  # times the rounds to the accuracy: so long the quantity must stay below it


# ------------------------------------------------------------------------------------------------------------- measured


@dataclass(frozen=True, eq=False)
class SlopeSetting:
    """The setting in which rounds are counted.

    algorithm  of several step sizes
    scale      a step size; the first search is over scale times the powers of 2 in `span`
    ratio      of successive averaging weights, of the step sizes, where the average of the models is measured
    seeds      of runs, where there is no exact expectation
    """

    problem: Problem
    algorithm: Callable[[Array], Algorithm]
    x0: Any
    accuracy: float
    scale: float
    quantity: str = "gap"
    ratio: Callable[[Array], Array] | None = None
    span: tuple[int, int] = (-14, 4)
    seeds: int = 8

    def series(self, eta: Array, rounds: int) -> Array:
        """The expected quantity (E, rounds + 1), or its mean over the seeds."""
        algorithm = self.algorithm(eta)
        given: dict[str, Any] = {"rounds": rounds, "x0": self.x0, "record": (self.quantity,)}
        if self.ratio is not None:
            given["average"] = self.ratio(eta)
        if self.exact:
            return np.asarray(expectation(self.problem, algorithm, **given)[self.quantity])
        runs = run(self.problem, algorithm, seeds=range(self.seeds), **given)
        return np.asarray(runs[self.quantity].mean("seed", skipna=False))

    @cached_property
    def exact(self) -> bool:
        """Whether there is an exact expectation."""
        return has_expectation(self.problem, self.algorithm(np.array([self.scale])), _FEWEST)


def least_rounds(trial: SlopeSetting) -> float:
    """The fewest rounds after which the quantity stays below the accuracy, over all step sizes.

    It must stay there for 16 times as long, or until round 2^20; and an exact expectation must settle: its changes from
    round to round, which follow the recursion without its constant part, must not grow at the end.  So a step size with
    which it diverges slowly does not count.  Between two rounds by the logarithm of the quantity.  Infinite where
    no step size gets there in 2^19 rounds.  Raises ValueError where the best step size of the first search is its
    smallest or its largest.
    """
    first = np.arange(float(trial.span[0]), trial.span[1] + 1)
    eta, factor, horizon = np.asarray(trial.scale * 2.0**first), 2.0, _FEWEST
    best, at = np.inf, trial.scale
    for search in range(_SEARCHES):
        while True:
            found = _reached(trial.series(eta, horizon), trial.accuracy)
            lasting = (e for e in np.argsort(found) if found[e] < best and _lasts(trial, eta[e], found[e]))
            e = next(lasting, None)
            if e is not None or search or horizon >= _MOST:
                break
            horizon *= 4
        if e is not None:
            best, at = float(found[e]), float(eta[e])
        elif search == 0:
            return np.inf
        if search == 0 and at in (eta[0], eta[-1]):
            raise ValueError(f"the best step size, {at:g}, is at an end of the search: expected another span")
        factor **= 1 / 4
        eta, horizon = np.asarray(at * factor ** np.arange(-4.0, 5.0)), int(2.1 * best) + 4
    return best


def _lasts(trial: SlopeSetting, eta: float, rounds: float) -> bool:
    """Whether the quantity stays below the accuracy for 16 times these rounds, at this step size, and settles."""
    horizon = min(_LASTING * (int(rounds) + 1), _MOST)
    series = trial.series(np.array([eta]), horizon)[0]
    earlier, later = (np.abs(np.diff(part)).max() for part in np.array_split(series[horizon // 2 :], 2))
    settles = not trial.exact or later <= max(earlier, _SETTLED * trial.accuracy)
    return bool(settles and (series[int(np.ceil(rounds)) :] <= trial.accuracy).all())


def _reached(series: Array, accuracy: float) -> Array:
    """For each step size when the series (E, rounds + 1) is below the accuracy for as long again; infinite if never."""
    above = ~(series <= accuracy)
    rounds = series.shape[1] - 1
    last = np.where(above.any(1), rounds - above[:, ::-1].argmax(1), -1)
    found = np.full(len(series), np.inf)
    for e in np.flatnonzero(2 * last <= rounds):
        if last[e] < 0:
            found[e] = 0.0
            continue
        before, after = np.log(series[e, last[e]]), np.log(max(series[e, last[e] + 1], 1e-300))
        found[e] = last[e] + (before - np.log(accuracy)) / (before - after)
    return found


@dataclass(frozen=True)
class Slope:
    """How a measured number grows with one variable: the exponent over all points, and between neighbouring points."""

    along: str
    points: tuple[float, ...]
    measured: tuple[float, ...]

    @property
    def exponent(self) -> float:
        """By least squares of the logarithms."""
        return fitted(self.points, self.measured)

    @property
    def interval(self) -> tuple[float, float]:
        """The smallest and the largest exponent between neighbouring points."""
        between = np.diff(np.log(self.measured)) / np.diff(np.log(self.points))
        return float(between.min()), float(between.max())

    def agrees(self, printed: float) -> bool:
        """Whether an exponent lies in the interval, or within 0.1 of the exponent over all points."""
        low, high = self.interval
        return low <= printed <= high or abs(printed - self.exponent) <= _CLOSE


def fitted(points: Sequence[float], values: Sequence[float]) -> float:
    """The exponent p of values ~ points^p, by least squares of the logarithms."""
    return float(np.polyfit(np.log(points), np.log(np.asarray(values, dtype=float)), 1)[0])


def hundredths(number: float) -> str:
    """A number with two decimals, and no sign at 0."""
    return f"{round(number, 2) + 0.0:.2f}"


# -------------------------------------------------------------------------------------------------------------- printed

Formula = Callable[[Statement], sympy.Expr]


def term(name: str, case: int = 0) -> Formula:
    """The rounds, or communication, that a term of an order asks for; `case` is the number of the order in its row."""

    def formula(statement: Statement) -> sympy.Expr:
        orders = [claim for claim in (statement.claim, *statement.also) if isinstance(claim, Order)]
        (value,) = (t.value for t in orders[case].terms if t.name == name)
        return _rounds_of(value)

    return formula


def rounds(case: str) -> Formula:
    """The rounds of a row with rates."""
    return partial(_rate, case=case, part="rounds")


def gradients(case: str) -> Formula:
    """The stochastic gradients of a client in a row with rates: rounds times local steps."""

    def formula(statement: Statement) -> sympy.Expr:
        return _rate(statement, case, "rounds") * _rate(statement, case, "steps")

    return formula


def in_words(number: int) -> Formula:
    """A formula of a row in words."""

    def formula(statement: Statement) -> sympy.Expr:
        return sympy.sympify(statement.claim_of(Words).formulas[number])

    return formula


def _rate(statement: Statement, case: str, part: str) -> sympy.Expr:
    return sympy.sympify(getattr(statement.claim_of(Rates).by_case[case], part))


def _rounds_of(value: sympy.Expr) -> sympy.Expr:
    """R at which a term in R is epsilon; a term without R is a number of rounds already.  Logarithms count as 1."""
    R = next((s for s in value.free_symbols if s.name == "R"), None)
    if R is None:
        return value
    decay = next((power for power in value.atoms(sympy.exp) if R in power.free_symbols), None)
    if decay is not None:
        return sympy.simplify(-R / decay.args[0])
    power = -exponent(value, R)
    return sympy.powdenest((value * R**power / sympy.Symbol("eps", positive=True)) ** (1 / power), force=True)


def printed(formula: sympy.Expr, base: Mapping[str, float], along: str, points: Sequence[float]) -> float:
    """The exponent of a printed number of rounds over these points, its logarithms counted as 1.

    L and beta are 1, mu = 1/kappa, and what an experiment does not set is 1.
    """
    plain = formula.replace(sympy.log, lambda *_: sympy.S.One)
    values = []
    for point in points:
        at = {**base, along: point}
        at |= {"mu": 1 / at.get("kappa", 1.0), "epsilon": at.get("eps", 1.0), "eps_grad": at.get("eps", 1.0)}
        at |= {"tau": at.get("T", 1.0), "m": at.get("m", at.get("M", 1.0)), "S": at.get("S", at.get("M", 1.0))}
        values.append(float(plain.subs({s: at.get(s.name, 1.0) for s in plain.free_symbols})))
    return fitted(points, values)


# ---------------------------------------------------------------------------------------------------------- experiments


@dataclass(frozen=True, eq=False)
class Experiment:
    """One part of a rate: a problem on which it is large, and how the measured number grows with each variable.

    rows     ids of the rows whose rate this is
    part     of the rate, in words
    formula  the part, in a row
    problem  in words
    measure  the number at given values of the variables
    base     their values where they do not vary
    along    the values of each variable that varies
    why      variable -> why the measured exponent differs from the printed one
    """

    rows: tuple[str, ...]
    part: str
    formula: Formula
    problem: str
    measure: Callable[..., float]
    base: Mapping[str, float]
    along: Mapping[str, Sequence[float]]
    why: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its first row and its part: unique."""
        return f"{self.rows[0]}: {self.part}"

    def printed(self, statement: Statement, along: str) -> float:
        """The exponent that the row prints."""
        return printed(self.formula(statement), self.base, along, self.along[along])


@cache
def study(paper: str) -> Study:
    """All experiments of a paper, as one study."""
    experiments = {e.name: e for e in papers.experiments(paper)}

    def points() -> dict[str, dict[str, Any]]:
        return {
            _point(e, at): {"experiment": e.name, "at": at}
            for e in experiments.values()
            for along, values in e.along.items()
            for at in ({**e.base, along: value} for value in values)
        }

    def measure(experiment: str, at: Mapping[str, float]) -> Numbers:
        return {"number": [experiments[experiment].measure(**at)]}

    return Study(f"{paper}_rates", points, measure, (f"fedtheory.bounds.{paper}.rate_table",))


def _point(experiment: Experiment, at: Mapping[str, float]) -> str:
    return f"{experiment.name}; {', '.join(f'{name} = {value:g}' for name, value in sorted(at.items()))}"


def slopes(experiment: Experiment) -> tuple[Slope, ...]:
    """The slopes, one for each variable."""
    numbers = study(experiment.rows[0].partition(".")[0]).numbers
    return tuple(
        Slope(
            along,
            tuple(values),
            tuple(numbers[_point(experiment, {**experiment.base, along: value})]["number"][0] for value in values),
        )
        for along, values in experiment.along.items()
    )


def check(
    statement: Statement, full: bool = False, *, experiments: Sequence[Experiment], missing: Mapping[str, str]
) -> Verdict:
    """The measured exponents of a row beside its printed ones: an analogue."""
    told, differing = [], dict(missing)
    if study(statement.paper).old:
        told.append("numbers on record from older code")
    for experiment in experiments:
        each = []
        for slope in slopes(experiment):
            stated, (low, high) = experiment.printed(statement, slope.along), slope.interval
            interval = f"[{hundredths(low)}, {hundredths(high)}]"
            each.append(f"{slope.along} {hundredths(slope.exponent)} {interval} (printed {round(stated, 2) + 0:g})")
            if not slope.agrees(stated):
                reason = experiment.why.get(slope.along, "no reason is given")
                differing[f"{experiment.part}, {slope.along}"] = reason
        told.append(f"{experiment.part}: {', '.join(each)}")
    return Verdict(Status.ANALOGUE, "; ".join(told), witness=differing)


def evidence(experiments: Sequence[Experiment], missing: Mapping[tuple[str, str], str]) -> list[Evidence]:
    """For each row its experiments, as evidence.

    missing  (row, part) -> why there is no experiment for this part
    """
    rows = dict.fromkeys(row for experiment in experiments for row in experiment.rows)
    return [
        Evidence(
            row,
            "slopes",
            partial(
                check,
                experiments=[e for e in experiments if row in e.rows],
                missing={part: why for (of, part), why in missing.items() if of == row},
            ),
        )
        for row in rows
    ]
