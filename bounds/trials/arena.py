"""A bound against a run: a problem with certified constants, an algorithm, the theorem's step size and weights.

On quadratics the bounded quantity is an exact expectation, elsewhere a mean over seeds with its confidence interval.
An arena is measured once.  Then a statement's claim, printed or sharpened, is compared with the measurement.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any, cast

import numpy as np
import sympy
import xarray as xr
from numpy.typing import ArrayLike

from fedtheory import plugins
from fedtheory.bounds import papers
from fedtheory.bounds.evaluation import BoundValue, Compiled, compile_statement, compiled, evaluate, parameters
from fedtheory.bounds.trials.claims import rescaled, unassumed
from fedtheory.bounds.trials.fit import misfit, on_trust, unmet
from fedtheory.bounds.trials.quantities import AT_START, CONSTANTS, OF_CLIENTS, bounded, by_letter, quantities
from fedtheory.bounds.tuning import admissible_interval
from fedtheory.simulations import NoSuchConstant, expectation, has_expectation, start
from fedtheory.simulations.algorithms.base import Algorithm, check_algorithm, keywords_of
from fedtheory.simulations.checked import brief, reals, whole
from fedtheory.simulations.problems import Problem, check_problem, start_of_clients, starting_point
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.simulations.problems.regularised import Regularised
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Bound, Evidence, EvidenceKind, Statement, Status, Verdict, Words, circular

CONFIDENCE = 0.999  # of the two-sided interval of every mean over seeds
ROUNDING = 1e-9  # relative: an exact expectation that exceeds a bound by this or less is rounding
_ROUNDED = 1e-12  # of the largest value so far: what is less may be rounding

Given = tuple[tuple[str, "float | str | Callable[[Arena], float]"], ...]


@dataclass(frozen=True)
class Arena:
    """The problem and the algorithm that test a statement.

    statement   id of an explicit bound on one of the quantities that `quantities` has
    name        readable: problem, heterogeneity, participation
    problem     a problem, or a function that builds it (once)
    algorithm   an algorithm, whose eta does not matter, or what gives one when it is called with eta=[...] only
    x0          start: a number for all coordinates, or one for each
    rounds      R of the run; every R of the grid up to it is a test
    seeds       number of seeds, or the seeds themselves; not used on quadratics
    fractions   step sizes, as fractions of the largest admissible one; not used where the statement fixes eta
    given       symbols that neither problem nor algorithm knows.  Each has its number, or the name of the certified
                constant or of the number of `start_of_clients` that it is here, or a function of the arena:
                (("G_q", 0.0), ("mu", "mu_pl"), ("C_0", "grads_apart"))
    changed     the statement in another form, whose definitions are used; None: that of the catalogue

    Where a statement has a letter phi for a regularisation, the algorithm runs on F_m(x) + (phi/2) ||x||^2, but F is
    measured.

    Raises ValueError for a statement that is no explicit bound on one of these quantities, and for other arguments that
    are not as described; UnknownName.
    """

    statement: str
    name: str
    problem: Callable[[], Problem]
    algorithm: Callable[..., Algorithm]
    rounds: int
    x0: float | tuple[float, ...] = 1.0
    seeds: int | tuple[int, ...] = 20
    fractions: tuple[float, ...] = (1.0, 0.5)
    given: Given = ()
    changed: Statement | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        claim = catalogue.find(self.statement).claim
        if not isinstance(claim, Bound):
            raise ValueError(
                f"{self.statement} is no explicit bound but {type(claim).__name__.lower()}: expected one, such as "
                "sfl.thm1.strongly_convex"
            )
        problem, given = cast(Any, self.problem), cast(Any, self.algorithm)
        if hasattr(problem, "full_gradient") and not isinstance(problem, type):
            object.__setattr__(self, "problem", partial(_itself, problem))
        if hasattr(given, "participants") and not isinstance(given, type):
            settings = {f.name: getattr(given, f.name) for f in fields(given) if f.name != "eta" and f.init}
            kind: Callable[..., Algorithm] = type(given)
            object.__setattr__(self, "algorithm", partial(kind, **settings))
        for name in ("problem", "algorithm"):
            if not callable(getattr(self, name)):
                article = "an" if name == "algorithm" else "a"
                raise ValueError(
                    f"{name} = {brief(getattr(self, name))}: expected {article} {name}, or what builds one"
                )
        whole("rounds", self.rounds)
        count = len(set(self.seeds)) if isinstance(self.seeds, tuple) else self.seeds
        whole("seeds", count, 2, "a whole number of seeds")
        x0 = reals("x0", self.x0, "a finite number for all coordinates, or one for each")
        object.__setattr__(self, "x0", float(x0) if x0.ndim == 0 else tuple(x0.tolist()))
        fractions = reals("fractions", self.fractions, "numbers in (0, 1]")
        if fractions.ndim != 1 or not fractions.size or not ((fractions > 0) & (fractions <= 1)).all():
            raise ValueError(f"fractions = {brief(self.fractions)}: expected numbers in (0, 1]")
        object.__setattr__(self, "fractions", tuple(fractions.tolist()))
        if isinstance(self.given, Mapping):
            object.__setattr__(self, "given", tuple(self.given.items()))

    @property
    def stated(self) -> Statement:
        """The statement that it is about."""
        return self.changed or catalogue.find(self.statement)

    @property
    def settings(self) -> tuple[Any, ...]:
        """All that its measurement depends on: two arenas with the same settings share one."""
        defined = repr(definitions(self.changed)) if self.changed else ""
        made = _told_apart(self.problem), _told_apart(self.algorithm)
        return self.label, *made, self.x0, self.rounds, self.seeds, self.fractions, self.given, defined

    @property
    def label(self) -> str:
        """Statement and name: unique."""
        return f"{self.statement}: {self.name}"

    @property
    def kind(self) -> EvidenceKind:
        """`moments`, exact expectation, on quadratics; `run`, Monte Carlo, elsewhere."""
        problem, algorithm = build(self.problem), self.algorithm(eta=1.0)
        form = (type(problem), problem.M, problem.d, problem.weights is None, algorithm, self.rounds)
        if form not in _EXACT:  # on problems of one form it is the same
            _EXACT[form] = has_expectation(problem, algorithm, self.rounds)
        return "moments" if _EXACT[form] else "run"


_EXACT: dict[Hashable, bool] = {}


def seeds_of(arena: Arena, full: bool = False) -> Sequence[int]:
    """The seeds of an arena: 0, 1, 2 ..., with `full` five times as many, or those that are given."""
    given = arena.seeds
    return given if isinstance(given, tuple) else range(given * (5 if full else 1))


def _itself(problem: Problem) -> Problem:
    return problem


def _told_apart(made: Callable[..., Any]) -> Any:
    """A function by itself, a partial by its function and the content of its arguments."""
    if not isinstance(made, partial):
        return made
    try:
        return made.func, pickle.dumps((made.args, made.keywords))
    except (pickle.PicklingError, AttributeError, TypeError):  # an argument is a function without a name
        return made


@cache
def build(problem: Callable[[], Problem]) -> Problem:
    """The arena's problem, built once per process."""
    return problem()


def constants_of(arena: Arena) -> dict[str, float]:
    """The bound's parameters other than R and the step size.

    Raises NoSuchConstant when the problem lacks one, there is no number for it, or one is beyond a number that is assumed
    or given.
    """
    given = tuple((name, value(arena) if callable(value) else value) for name, value in arena.given)
    certified = build(arena.problem).constants
    if arena.changed is None:
        _refuse_false(arena, given)
    for concept, own in catalogue.bounds(arena.stated).items():
        name, least = CONSTANTS[concept], concept == "strong convexity"
        for number in own.get("", ()):
            if least and not number:
                continue  # convex: no constant of a problem tells
            if certified[name] < number if least else certified[name] > number:
                wanted = f"at {'least' if least else 'most'} {number}, as {arena.stated.id} assumes"
                raise NoSuchConstant(f"{build(arena.problem).name} has {name} = {certified[name]:g}: expected {wanted}")
    return known(arena.stated, build(arena.problem), arena.x0, arena.algorithm(eta=1.0), given)


def _refuse_false(arena: Arena, given: Given) -> None:
    """Raises NoSuchConstant where a number that is given for a letter is not what the problem certifies."""
    problem, letters = build(arena.problem), by_letter(arena.stated.paper, CONSTANTS)
    for name, value in given:
        if isinstance(value, str) or callable(value) or name not in letters:
            continue
        several = ("mu", "mu_pl") if letters[name] == "mu" else (letters[name],)
        certified = [
            float(v) for n in several if n in problem.constants.entries and (v := problem.constants.entries[n].value)
        ]
        least = letters[name] == "mu"
        if certified and (value > max(certified) * (1 + ROUNDING) if least else value < certified[0] * (1 - ROUNDING)):
            wanted = f"at {'most' if least else 'least'} {max(certified):g}, as the problem has it"
            raise NoSuchConstant(f"{name} = {value:g} is given for {problem.name}: expected {wanted}")


def constants_for(
    id_: str, problem: Problem, algorithm: Algorithm, x0: ArrayLike = 1.0, **given: float | str
) -> dict[str, float]:
    """The parameters of a bound other than R and the step size, by the constants of a problem: for `evaluate`.

    x0     start: a number for all coordinates, or one for each
    given  symbols that neither problem nor algorithm knows: a number, or the name of a certified constant

    Raises UnknownName; NoSuchConstant where there is no number for a symbol.
    """
    check_problem(problem)
    check_algorithm(algorithm)
    return known(catalogue.find(id_), problem, x0, algorithm, tuple(given.items()))


def known(
    statement: Statement,
    problem: Problem,
    x0: ArrayLike,
    algorithm: Algorithm,
    given: Given = (),
    wanted: Sequence[str] | None = None,
) -> dict[str, float]:
    """The parameters of a bound other than R and the step size, or the `wanted` symbols of its paper, in numbers.

    A symbol's number is, in this order: given; the algorithm's own; of the starting point; a certified constant of the
    problem; defined by the statement; for the condition number that of the function that the clients step on.
    Raises NoSuchConstant when it is none of these, and ValueError where definitions read themselves.
    """
    if names := circular(statement.where):
        raise ValueError(f"{statement.id} defines {', '.join(names)} by themselves")
    own, chosen, defined = letters_of(statement.paper, algorithm, problem), dict(given), definitions(statement)
    beginning, of_each, certified = (by_letter(statement.paper, of) for of in (AT_START, OF_CLIENTS, CONSTANTS))
    letters = {s.concept: s.name for s in catalogue.symbols(statement).values() if s.concept}
    bounds, assumed = catalogue.bounds(statement), catalogue.properties(statement)
    mu = problem.constants.entries.get("mu")
    strong = (mu is not None and mu.value is not None) or Property.STRONGLY_CONVEX_MEAN in assumed
    alone = Property.POLYAK in assumed and not strong  # mu is that of Polyak-Lojasiewicz
    if wanted is None:
        others = ("R", step_symbol(statement), *_lengths(statement))
        wanted = [s.name for s in parameters(statement) if s.name not in others]

    @cache
    def number(name: str) -> float:
        if name in chosen:
            value = chosen[name]
            if callable(value):
                raise NoSuchConstant(f"{name} of {statement.id} is only known for a whole arena")
            if isinstance(value, str):
                of_problem = value in problem.constants.entries
                value = problem.constants[value] if of_problem else start_of_clients(problem, x0)[value]
            return float(value)
        if name in own:
            return float(own[name])
        if name in beginning:
            return float(start(problem, x0)[beginning[name]])
        if name in of_each:
            return float(start_of_clients(problem, x0)[of_each[name]])
        if name in certified:
            concept, entry = catalogue.symbols(statement)[name].concept or "", certified[name]
            value = float(problem.constants["mu_pl" if entry == "mu" and alone else entry])
            parts = bounds.get(concept, {}).get(name, (1,))
            return (min if concept == "strong convexity" else max)(value / float(part) for part in parts)
        if name in defined:
            value = defined[name].subs({s: number(s.name) for s in defined[name].free_symbols})
            if not value.is_finite:
                raise NoSuchConstant(f"{name} = {defined[name]} of {statement.id} is not finite on {problem.name}")
            return float(value)
        if name == letters.get("condition number"):
            phi = penalty(statement)
            L = number(letters["smoothness"])
            return L / number(letters["strong convexity"]) if phi is None else 1 + L / number(phi)
        raise NoSuchConstant(
            f"{statement.id} needs {name}: expected it among the symbols of {type(algorithm).__name__}, or declared "
            f"with a concept that {problem.name} knows, or given"
        )

    return {name: number(name) for name in wanted}


def letters_of(paper: str, algorithm: Algorithm, problem: Problem) -> dict[str, float]:
    """The numbers of an algorithm by a paper's letters.

    Those of an algorithm of another paper are found by their concepts, all others are in the paper's letters.
    """
    found, module = algorithm.symbols(problem), type(algorithm).__module__
    home = plugins.home(module) or module.rpartition(".")[2]
    if home == paper or home not in catalogue.names():
        return dict(found)
    theirs = {name: s.concept for name, s in catalogue.paper(home).symbols.items()}
    by_concept: dict[str | None, float] = {"sampled clients": float(algorithm.participants(problem))}
    by_concept |= {theirs[name]: value for name, value in found.items() if theirs.get(name)}
    ours = catalogue.paper(paper).symbols.values()
    return {s.name: by_concept[s.concept] for s in ours if s.concept in by_concept}


def letters_in(arena: Arena) -> dict[str, float]:
    """The numbers of the arena's algorithm by the paper's letters, and those that are given."""
    given = {name: float(value) for name, value in arena.given if isinstance(value, int | float)}
    return {**letters_of(arena.stated.paper, arena.algorithm(eta=1.0), build(arena.problem)), **given}


def definitions(statement: Statement) -> dict[str, sympy.Expr]:
    """The definitions of the statement, by name."""
    return {symbol.name: expression for symbol, expression in statement.where.items()}


def step_symbol(statement: Statement) -> str:
    """The symbol of the bound's step size: eta_tilde, or eta_t where it changes from step to step, if defined; else eta."""
    return next((symbol for symbol in ("eta_tilde", "eta_t") if symbol in definitions(statement)), "eta")


def fixes_step(statement: Statement) -> bool:
    """Whether the statement defines the size of its step."""
    return step_symbol(statement) in definitions(statement) and step_symbol(statement) != "eta_tilde"


def fixes_length(statement: Statement) -> bool:
    """Whether the step size that the statement fixes depends on the length R of the run: then only its end is a test."""
    defined, name = definitions(statement), step_symbol(statement)
    if not fixes_step(statement):
        return False
    symbols = {s.name for s in defined[name].free_symbols}
    symbols |= {s.name for symbol in symbols & set(defined) for s in defined[symbol].free_symbols}
    return "R" in symbols


def penalty(statement: Statement) -> str | None:
    """The statement's letter for a regularisation; None if it has none."""
    names = {*definitions(statement), *(s.name for s in parameters(statement))}
    own = (s.name for s in catalogue.symbols(statement).values() if s.concept == "regularisation")
    return next((name for name in own if name in names), None)


def regularisation(arena: Arena) -> float | None:
    """The regularisation of a statement that has one, else None."""
    name = penalty(arena.stated)
    if name is None:
        return None
    algorithm = arena.algorithm(eta=1.0)
    return known(arena.stated, build(arena.problem), arena.x0, algorithm, arena.given, (name,))[name]


@cache
def _ratio(w: sympy.Expr, r: sympy.Symbol) -> sympy.Expr:
    """The weight of round r - 1, divided by that of round r."""
    return sympy.simplify(w.subs(r, r - 1) / w)


@cache
def _of_symbols(expression: sympy.Expr) -> Callable[..., Any]:
    """An expression as a function of its symbols by name; it ignores others."""
    symbols = sorted(expression.free_symbols, key=str)
    function = sympy.lambdify(symbols, expression, "numpy")

    def at(**values: Any) -> Any:
        missing = [s.name for s in symbols if s.name not in values]
        if missing:
            raise NoSuchConstant(
                f"{expression} needs {', '.join(missing)}: expected it among the symbols of the algorithm, or `given`; the "
                "step size is eta, eta_tilde or eta_t, the number of rounds R, the weights w_r"
            )
        return function(*(values[s.name] for s in symbols))

    return at


def learning_rate(statement: Statement, step: np.ndarray, **values: float) -> np.ndarray:
    """eta, by the statement's definition of its step size; values: those of the algorithm's symbols."""
    if step_symbol(statement) != "eta_tilde":
        return step
    per_eta = _of_symbols(definitions(statement)["eta_tilde"] / catalogue.symbols(statement)["eta"].sympy)
    return np.asarray(step / per_eta(**values))


def weight_ratio(statement: Statement, step: np.ndarray, **values: float) -> np.ndarray:
    """w_{r-1} / w_r at each step size, by the statement's definition of its averaging weights; 1 where it has none."""
    if "w_r" not in definitions(statement):
        return np.ones_like(step)
    ratio = _of_symbols(_ratio(definitions(statement)["w_r"], catalogue.symbols(statement)["r"].sympy))
    ratio = ratio(**{step_symbol(statement): step, **values})
    return np.broadcast_to(np.asarray(ratio, dtype=float), np.shape(step))


@cache
def _interval(id_: str, name: str, values: tuple[tuple[str, float], ...]) -> tuple[float, float]:
    return admissible_interval(id_, name, **dict(values))


def admissible_steps(statement: Statement, **values: float) -> tuple[float, float]:
    """`admissible_interval`, solved once for all arenas with the same values in the conditions on the step size.

    The conditions are those of the catalogue.  Raises ValueError where they leave the step size without a limit.
    """
    id_, name = statement.id, step_symbol(statement)
    relations = [{s.name for s in c.relation.free_symbols} for c in catalogue.find(id_).when]
    symbols = set().union(*(names for names in relations if name in names))
    low, high = _interval(id_, name, tuple(sorted((n, value) for n, value in values.items() if n in symbols)))
    if not np.isfinite(high):
        raise ValueError(f"{id_} has no largest admissible {name}: expected conditions on it")
    return low, high


def steps_of(arena: Arena) -> tuple[np.ndarray, float]:
    """The arena's step sizes, (E,), and the smallest one admissible at R = rounds, 0 where all small ones are."""
    if fixes_step(arena.stated):
        algorithm, name = arena.algorithm(eta=1.0), step_symbol(arena.stated)
        given = (*arena.given, ("R", float(arena.rounds)), ("t", 0.0))  # a step size that falls: its first
        fixed = known(arena.stated, build(arena.problem), arena.x0, algorithm, given, (name,))
        return np.array([fixed[name]]), 0.0
    low, high = admissible_steps(arena.stated, R=arena.rounds, **constants_of(arena))
    return np.array([max(low, fraction * high) for fraction in arena.fractions]), low


def _lengths(statement: Statement) -> dict[str, sympy.Expr]:
    """The symbols that the statement defines by R, such as T = R tau."""
    return {n: e for n, e in definitions(statement).items() if "R" in [s.name for s in e.free_symbols]}


def with_lengths(statement: Statement, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, with the symbols that the statement defines by R, such as T = R tau."""
    found = dict(values)
    for symbol, length in _lengths(statement).items():
        if {s.name for s in length.free_symbols} <= set(found):
            found[symbol] = _of_symbols(length)(**found)
    return found


def bound_at(statement: Statement | Compiled, step: np.ndarray, R: np.ndarray, **values: float) -> BoundValue:
    """The bound at step sizes (E, 1) and R (1, R), as far as it depends on them; ignores values that it does not have."""
    made = statement if isinstance(statement, Compiled) else compiled_once(statement)
    everything = with_lengths(made.statement, {step_symbol(made.statement): step, "R": R, **values})
    return evaluate(made, strict=False, **{s.name: everything[s.name] for s in made.parameters if s.name in everything})


_MEASURED: dict[tuple[Any, ...], xr.Dataset] = {}  # by the arena's settings, default or full scale
_RUNS: dict[tuple[Any, ...], xr.Dataset] = {}  # by all that a run depends on


def measure(arena: Arena, full: bool = False) -> xr.Dataset:
    """`measured_afresh`, once per process."""
    if (*arena.settings, full) not in _MEASURED:
        _MEASURED[*arena.settings, full] = measured_afresh(arena, full)
    return _MEASURED[*arena.settings, full]


def recall(found: Iterable[xr.Dataset], arenas: Iterable[Arena], full: bool) -> None:
    """Take over measurements that other processes made; `arenas` has theirs among others."""
    by_label = {arena.label: arena for arena in arenas}
    for data in found:
        _MEASURED[*by_label[data.attrs["arena"]].settings, full] = data


def measured_afresh(arena: Arena, full: bool = False) -> xr.Dataset:
    """Run the arena: mean and confidence interval of the bounded quantity over (step size, R), a point where exact.

    Arenas with the same runs share them within a process.

    The step size has the name of the statement's symbol.  `full` takes five times the seeds.  Variables mean, low, high;
    attributes as `fedtheory.simulations.run`, with the number of seeds, 0 where the expectation is exact, and the bound's
    `constants` (`constants_of`).  Once all runs of a step size have diverged, all three are infinite; where only some
    have, low is 0.
    """
    statement = arena.stated
    claim = catalogue.find(arena.statement).claim_of(Bound)
    exact, name = arena.kind == "moments", step_symbol(statement)
    quantity = quantities(statement.paper)[bounded(statement.paper, claim)[0]]
    recorded = quantity.recorded
    steps, low = steps_of(arena)
    values = constants_of(arena) if "w_r" in definitions(statement) else {}
    first = 1 if low == 0 else int(np.ceil(low * arena.rounds / min(steps) - 1e-9))
    grid = np.unique(np.round(np.geomspace(first, arena.rounds, 40)).astype(int))
    if fixes_length(statement):
        grid = np.array([arena.rounds])
    problem, phi = build(arena.problem), regularisation(arena)
    eta = learning_rate(statement, steps, **letters_in(arena))
    seeds = seeds_of(arena, full)
    at, average = grid if quantity.over == "last" else None, weight_ratio(statement, steps, **values)
    # Many statements are about the same runs: printed and sharper forms of one theorem
    made = _told_apart(arena.problem), _told_apart(arena.algorithm), arena.rounds, arena.x0, phi, seeds, exact
    key = *made, quantity, tuple(eta.tolist()), tuple(average.tolist()), None if at is None else tuple(at.tolist())
    if key not in _RUNS:
        measured: Callable[..., xr.Dataset] = expectation if exact else partial(quantity.run, seeds=seeds)
        _RUNS[key] = measured(
            problem if phi is None else Regularised(problem, phi),
            arena.algorithm(eta=eta.tolist()),
            rounds=arena.rounds,
            x0=np.broadcast_to(starting_point(problem, arena.x0), (problem.d,)),
            record=(recorded,),
            at=at,
            average=average,
        )
    data = _RUNS[key]
    series = data[recorded].values
    if quantity.over == "mean":
        series = mean_before(series)
    bounds = (series, series, series) if exact else interval_of(series)
    limits = [np.where(np.isnan(values), np.inf, values) for values in bounds]
    if not exact:
        diverged = np.isnan(series)
        limits[1] = np.where(diverged.all(1) | ~diverged.any(1), limits[1], 0.0)
    if quantity.over == "smallest":  # smallest so far: a refutation needs the intervals of all rounds above the bound
        limits = [np.minimum.accumulate(values, axis=-1) for values in limits]
    tests = grid[grid >= 1]
    columns = np.searchsorted(data["round"].values, tests)
    found = {"arena": arena.label, "seeds": 0 if exact else len(seeds), "constants": constants_of(arena)}
    return xr.Dataset(
        {of: ((name, "R"), values[:, columns]) for of, values in zip(("mean", "low", "high"), limits, strict=True)},
        coords={name: steps, "R": tests},
        attrs={**data.attrs, **found},
    )


def interval_of(series: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean over seeds and its confidence interval: (E, N, rounds) -> three times (E, rounds); NaN where a seed is."""
    from scipy.special import stdtrit  # Student's quantiles; scipy.stats would take a second to import

    seeds = series.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):  # runs that diverge are infinite
        mean = series.mean(1)
        half = stdtrit(seeds - 1, (1 + CONFIDENCE) / 2) * series.std(1, ddof=1) / np.sqrt(seeds)
        return mean, mean - half, mean + half


def mean_before(series: np.ndarray) -> np.ndarray:
    """The means of rounds 0 ... R-1 at R = 0, 1, 2 ... along the last axis; at R = 0 the value of round 0."""
    sums = np.cumsum(series, axis=-1)[..., :-1] / np.arange(1, series.shape[-1])
    return np.concatenate([series[..., :1], sums], axis=-1)


def confront(arena: Arena, stated: Statement | Compiled, full: bool = False) -> xr.Dataset:
    """The measurement with the statement's bound added: value `bound`, `terms` by name, and `admissible`.

    A factor on the left side divides bound and terms.  Raises ValueError for a bound on another quantity than the arena's.
    """
    measured, made = measure(arena, full), stated if isinstance(stated, Compiled) else compiled_once(stated)
    statement = made.statement
    claim, own = statement.claim_of(Bound), catalogue.find(arena.statement).claim_of(Bound)
    (quantity, factor), (recorded, _) = bounded(statement.paper, claim), bounded(statement.paper, own)
    if quantity != recorded:
        raise ValueError(f"{statement.id}: a bound on {quantity}; expected one on {recorded}, which the arena measures")
    name = step_symbol(arena.stated)
    R, steps = measured.R.values.astype(float), measured[name].values
    bound = bound_at(made, steps[:, None], R[None], **measured.attrs["constants"])
    dims, shape = (name, "R"), (len(steps), len(R))
    values, inside = (np.broadcast_to(v, shape) for v in (bound.value, bound.admissible))
    each = np.stack([np.broadcast_to(v, shape) for v in bound.terms.values()])
    found = {"bound": values / factor, "admissible": inside}
    return xr.Dataset(  # put together anew, which is several times as fast as adding to the measurement
        {
            **{of: (dims, measured[of].values) for of in measured.data_vars},
            **{of: (dims, values) for of, values in found.items()},
            "terms": (("term", *dims), each / factor),
        },
        coords={name: steps, "R": measured.R.values, "term": list(bound.terms)},
        attrs=measured.attrs,
    )


def tightest_ratio(arena: Arena, full: bool = False) -> float:
    """The smallest ratio of the bound to what is measured, where the bound is admissible; NaN where it is nowhere."""
    held = confront(arena, catalogue.find(arena.statement), full)
    with np.errstate(all="ignore"):
        ratio = (held["bound"].values / held["mean"].values)[held["admissible"].values]
    known = ratio[~np.isnan(ratio)]
    return float(known.min()) if known.size else float("nan")


def compiled_once(statement: Statement) -> Compiled:
    """The compiled statement: cached for one of the catalogue, compiled anew for another, such as a sharpened one."""
    return compiled(statement.id) if statement is catalogue.find(statement.id) else compile_statement(statement)


def at_same_rate(arena: Arena, step: float, other: Arena) -> Arena | None:
    """Another statement's arena, such as a corrected one's, at the learning rate that `arena` has at this step size.

    The other statement defines its step size and its averaging weights.  None where it does not admit that learning rate.
    """
    eta = _rate(arena, step)
    its_own = float(eta / _rate(other, 1.0))
    if fixes_step(other.stated):
        return other if abs(steps_of(other)[0][0] / its_own - 1) <= ROUNDING else None
    low, high = admissible_steps(other.stated, R=other.rounds, **constants_of(other))
    if not low <= its_own <= high * (1 + ROUNDING):
        return None
    return replace(other, fractions=(its_own / high,))


def _rate(arena: Arena, step: float) -> float:
    return float(learning_rate(arena.stated, np.array(step), **letters_in(arena)))


def described(build_problem: Callable[[], Problem]) -> str:
    """How to rebuild an arena's problem: small quadratics by their functions, others by the call that builds them."""
    problem = build(build_problem)
    if isinstance(problem, Quadratic) and problem.d <= 2:
        return functions(problem)
    if isinstance(build_problem, partial) and build_problem.func is _itself:
        return problem.name
    if isinstance(build_problem, partial):
        given = [_told(a) for a in build_problem.args] + [f"{k}={_told(v)}" for k, v in build_problem.keywords.items()]
        return f"{build_problem.func.__name__}({', '.join(given)})"
    return f"{build_problem.__module__}.{getattr(build_problem, '__qualname__', build_problem)}()"


def _told(argument: object) -> str:
    return argument.__name__ if isinstance(argument, type) else repr(argument)


def functions(problem: Quadratic) -> str:
    """The functions of a quadratic's clients, in one or two coordinates: 'x^2/2 + x, x^2/2 - x; sigma = 0'."""
    clients: dict[str, int] = {}
    for H, b in zip(problem.H, problem.b, strict=True):
        terms = [(H[0, 0] / 2, "x^2"), (b[0], "x")]
        if problem.d == 2:
            terms = [terms[0], (H[0, 1], "xy"), (H[1, 1] / 2, "y^2"), terms[1], (b[1], "y")]
        text = " + ".join(_times(c, symbol) for c, symbol in terms if c).replace("+ -", "- ") or "0"
        clients[text] = clients.get(text, 0) + 1
    found = ", ".join(one if times == 1 else f"{times} times {one}" for one, times in clients.items())
    return f"{found}; sigma = {problem.sigma:g}"


def _times(c: float, symbol: str) -> str:
    """A coefficient and its monomial: 'x', '-x^2/2', '0.207 x'."""
    simple = Fraction(float(c)).limit_denominator(12)
    if abs(simple - Fraction(float(c))) > 1e-12:
        return f"{c:.6g} {symbol}"
    count = {1: "", -1: "-"}.get(simple.numerator, f"{simple.numerator} ")
    return f"{count}{symbol}" + (f"/{simple.denominator}" if simple.denominator > 1 else "")


def as_stated(statement: Statement, arena: Arena) -> Iterator[Arena]:
    """The arena under the definitions of its statement in another form.

    An unassumed constant may be any number: then there are several arenas, each with another number for it.
    """
    factors = unassumed(statement)
    if statement.where == catalogue.find(arena.statement).where and factors == [{}]:
        yield arena
        return
    changed = replace(arena, changed=statement)
    settings = [name for name in definitions(statement) if name in keywords_of(arena.algorithm)]
    if settings:
        values = known(statement, build(arena.problem), arena.x0, arena.algorithm(eta=1.0), arena.given, settings)
        changed = replace(changed, algorithm=partial(arena.algorithm, **values))
    own = constants_of(arena)
    for chosen in factors:
        given = tuple((name, value) for name, value in rescaled(own, chosen).items() if name in chosen)
        yield replace(changed, given=(*arena.given, *given))


def judge(arenas: Sequence[Arena], statement: Statement, full: bool = False) -> Verdict:
    """Compare a bound with the measurements of its arenas, all of one kind.

    refuted where the measurement exceeds the bound: an exact expectation by more than rounding, or the lower end of a
    confidence interval; open where the bound is inside an interval; tested (on these arenas) otherwise.  The slack is the
    smallest ratio of bound to lower end.  A claim with >= or = is also refuted where the upper end is below the bound;
    the slack of one with >= is the smallest ratio of upper end to bound.  Also open, with the reason, where an arena is not
    about the statement: another algorithm or setting, or a problem that does not meet an assumption.
    """
    claim, made = statement.claim_of(Bound), compiled_once(statement)
    for arena in arenas:
        if why := _misfit(arena, statement):
            return Verdict(Status.OPEN, f"{arena.label} is not about the statement: {why}")
    slack = np.inf
    found: list[tuple[float, float, str]] = []  # smallest and largest bound/measured of each arena
    straddles = []
    for arena in (form for one in arenas for form in as_stated(statement, one)):
        try:
            data = confront(arena, made, full)
        except NoSuchConstant:  # with another number for a symbol its definitions may divide by 0
            if arena.changed is None:
                raise
            continue
        inside = data.admissible.values
        if not inside.any():
            if arena.changed is None:
                return Verdict(Status.VACUOUS, f"{arena.label}: no step size and R of the arena is admissible")
            continue
        if (refuted := crossing(arena, data, claim.sign)) is not None:
            unsure = on_trust(statement, arena.algorithm(eta=1.0), _arenas_of(arena, statement))
            sure = replace(refuted, status=Status.OPEN, says=f"{refuted.says}; {unsure}") if unsure else refuted
            return unless_in_words(sure, statement)
        bound, mean, low, high = (data[name].values[inside] for name in ("bound", "mean", "low", "high"))
        least = _least(data)[inside]
        above = (high > np.maximum(bound * (1 + ROUNDING), least)).any()
        below = (low + least < bound * (1 - ROUNDING)).any()
        if (above and claim.sign != ">=") or (below and claim.sign != "<="):
            straddles.append(arena.name)
        upper, lower = (high, bound) if claim.sign == ">=" else (bound, low)
        positive = lower > least
        slack = min(slack, float((upper[positive] / lower[positive]).min(initial=np.inf)))
        ratios = bound[mean > 0] / mean[mean > 0]
        found.append((float(ratios.min(initial=np.inf)), float(ratios.max(initial=0.0)), arena.name))
    if straddles:
        return Verdict(Status.OPEN, f"the bound is inside the confidence interval on {', '.join(straddles)}")
    if not found:
        return Verdict(Status.VACUOUS, "no step size and R of any arena is admissible")
    tightest, loosest = min(found), max(found, key=lambda f: f[1])
    exact = arenas[0].kind == "moments"
    span = f"the bound is {tightest[0]:.3g} ({tightest[2]}) to {loosest[1]:.3g} ({loosest[2]}) times the measured value"
    says = (
        f"{'exact expectation' if exact else 'mean of runs'} in {len(arenas)} arena{'s' * (len(arenas) > 1)}"
        f"{f' (relative rounding of {ROUNDING:g} allowed)' * exact}: "
        f"{span if loosest[1] else 'what is measured is 0'}{_on_trust(arenas)}"
    )
    return Verdict(Status.TESTED, says, slack=slack if np.isfinite(slack) else None)


def _arenas_of(arena: Arena, statement: Statement) -> list[Arena]:
    """The arenas of the statement's paper that test it."""
    return [one for one in papers.arenas(statement.paper) if one.statement == arena.statement]


def _misfit(arena: Arena, statement: Statement) -> str:
    """Why an arena is not about the statement; of our own arenas, only what their problem does not meet."""
    algorithm, problem, tested = arena.algorithm(eta=1.0), build(arena.problem), _arenas_of(arena, statement)
    if statement.paper not in plugins.packages() and any(one is arena for one in tested):
        return unmet(statement, algorithm, problem)
    return misfit(statement, algorithm, problem, tested)


def _on_trust(arenas: Sequence[Arena]) -> str:
    """The constants that rest on the word of the caller, in words; nothing where there are none."""
    names = {name for arena in arenas for name in build(arena.problem).constants.vouched}
    return f"; vouched for, not certified: {', '.join(sorted(names - {'x_star'}))}" if names else ""


def crossing(arena: Arena, data: xr.Dataset, sign: str) -> Verdict | None:
    """`exceeded` at the step size and R where a confronted arena violates its bound most; None where it never does."""
    inside = data.admissible.values
    bound, mean, low, high = (data[name].values[inside] for name in ("bound", "mean", "low", "high"))
    least = _least(data)[inside]
    over, under = low > np.maximum(bound * (1 + ROUNDING), least), high + least < bound * (1 - ROUNDING)
    above, below = bool(over.any()) and sign != ">=", bool(under.any()) and sign != "<="
    if not above and not below:
        return None
    end = low if above else high
    with np.errstate(over="ignore"):
        ratio = np.where(over if above else under, end / np.maximum(bound, float(np.finfo(float).tiny)), 1.0)
    worst, diverged = int(ratio.argmax() if above else ratio.argmin()), None
    places = np.argwhere(inside)
    if np.isinf(low[worst]):
        diverged = int(data.R[places[worst][1]])
        # the round before, of the same step size
        worst -= 1 if worst and (places[worst] - places[worst - 1] == (0, 1)).all() else 0
    step, R = places[worst]
    return exceeded(
        arena,
        step=float(data[step_symbol(arena.stated)][step]),
        R=int(data.R[R]),
        measured=float(mean[worst]),
        end=float(end[worst]),
        bound=float(bound[worst]),
        seeds=int(data.attrs["seeds"]),
        above=above,
        diverged=diverged,
    )


def _least(data: xr.Dataset) -> np.ndarray:
    """What an exact expectation must exceed to tell it from rounding; 0 for runs, which have an interval."""
    values = np.where(np.isfinite(data["mean"].values), data["mean"].values, 0)
    return (0.0 if data.attrs["seeds"] else _ROUNDED) * np.maximum.accumulate(values, axis=1)


def exceeded(
    arena: Arena,
    *,
    step: float,
    R: int,
    measured: float,
    end: float,
    bound: float,
    seeds: int,
    above: bool = True,
    diverged: int | None = None,
) -> Verdict:
    """Refuted, with everything needed to reproduce it; `ratio` is that of `end` to the bound.

    end       the end of the confidence interval nearer to the bound: the lower one of a measurement above the bound
    diverged  the round, after R, by which the measured quantity is no longer finite
    """
    algorithm, problem = arena.algorithm(eta=1.0), build(arena.problem)
    symbols, phi, constants = algorithm.symbols(problem), regularisation(arena), constants_of(arena)
    others = {n: symbols.get(n, repr(v)) for n, v in keywords_of(arena.algorithm).items() if n not in constants}
    table = catalogue.symbols(arena.stated)
    counted = any(table[name].concept == "clients" for name in constants if name in table)
    witness: dict[str, Any] = {
        "arena": arena.name,
        "problem": described(arena.problem),
        "algorithm": type(algorithm).__name__,
        **others,
        "x0": arena.x0,
        **({} if phi is None else {"phi": phi}),
        **({} if counted else {"M": problem.M}),
        **constants,
        step_symbol(arena.stated): step,
        "R": R,
        "measured": measured,
        "printed_bound": bound,
        **({"ratio": end / bound} if bound > 0 else {}),
    }
    if seeds:
        most = "least" if above else "most"
        witness |= {f"measured_at_{most}": end, "seeds": seeds}
        found = f"measured {measured:.3g} (at {most} {end:.3g})"
    else:
        found = f"exact expectation {measured:.3g}"
    if diverged is not None:
        witness["diverged_at"] = diverged
        found += f" at R = {R}, infinite by R = {diverged}"
    says = f"{arena.name}: {found}, bound {bound:.3g}{_on_trust([arena])}"
    larger, smaller = (end, bound) if above else (bound, end)
    slack = smaller / larger if smaller > 0 else None
    return Verdict(Status.REFUTED, says, slack=slack, witness=witness)


def arena_evidence(arenas: Sequence[Arena]) -> list[Evidence]:
    """One piece of evidence per statement and kind of arena: `moments` on quadratics, `run` elsewhere."""
    groups: dict[tuple[str, EvidenceKind], list[Arena]] = {}
    for arena in arenas:
        groups.setdefault((arena.statement, arena.kind), []).append(arena)

    def check_with(own: list[Arena]) -> Callable[[Statement, bool], Verdict]:
        return lambda statement, full: judge(own, statement, full)

    return [Evidence(id_, kind, check_with(own)) for (id_, kind), own in groups.items()]


def unless_in_words(found: Verdict, statement: Statement) -> Verdict:
    """The verdict of a check that reads no words: what it refutes is open where an assumption is in words alone."""
    assumed = map(catalogue.find, statement.assumes)
    words = [f"{one.id} ({one.claim.text})" for one in assumed if isinstance(one.claim, Words) and not one.gives]
    if found.status is not Status.REFUTED or not words:
        return found
    says = f"an instance violates the claim, but perhaps also {', '.join(words)}"
    says = f"{found.says}; {says}: searches, worst cases and runs cannot read an assumption in words"
    return replace(found, status=Status.OPEN, says=says)
