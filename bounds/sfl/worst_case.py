"""Rounds of SFL and PFL in vectors: worst cases of the inequalities about one round, and of whole runs of a round or two.

The rounds are traces of the algorithms' own `round`, and the quantities those of `fedtheory.bounds.sfl.quantities`.  All
orders of the clients are enumerated; x* is 0, where the clients' gradients sum to zero if it is a minimiser. Assumption 3a
is about all points: at x it is necessary, and clients whose gradients differ by constants satisfy it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations, product

import sympy

from fedtheory.bounds.sfl import worst_functions
from fedtheory.bounds.sfl.quantities import PARALLEL, QUANTITIES, SEQUENTIAL, of_step
from fedtheory.bounds.trials.cases import rational
from fedtheory.bounds.worst_cases import federation, numbers_of, of_class, two_valued, variances
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.trace import Trace, trace
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.gram import NOTHING, ZERO, GramVector, QuadraticForm, mean, number, total, vector
from fedtheory.theory.properties import Properties, Property
from fedtheory.theory.sfl import symbols as s
from fedtheory.theory.sfl.sequential import r, w_r
from fedtheory.theory.statement import Bound, Statement

ONE_ROUND = tuple(name for name in (*SEQUENTIAL, *PARALLEL) if name != "step.eq31")
# Whole runs.  The strongly convex theorems begin at R = 6 L / mu > 6, where SFL has too many orders of the clients
_CASES = ("general_convex", "general_convex.sharp", "nonconvex", "nonconvex.sharp")
_CURVED = ("strongly_convex", "strongly_convex.sharp", "strongly_convex.faster")
SEQUENTIAL_RUNS = tuple(f"thm1.{case}" for case in _CASES)
PARALLEL_RUNS = tuple(f"thm2.{case}" for case in (*_CASES, *_CURVED))
# Quantities of single local steps
_PLACED = (s.drift_mk, s.noise_upto, s.move_upto, s.bias_upto, s.star_upto, s.T_1)


@dataclass(frozen=True)
class Setting:
    """What the clients are: their functions, x, and what the assumptions say of the noise."""

    clients: Sequence[scenes.Oracle | scenes.Tilted]
    x: GramVector
    K: int
    S: int
    eta: Fraction
    given: Properties
    noisy: bool

    def outcomes(self, parallel: bool) -> Iterator[Trace]:
        """The traces of all outcomes, with equal chances."""
        algorithm = (PFL if parallel else SFL)(self.K, 1.0, self.S)
        count = self.K * self.S if self.noisy else 0
        samples = combinations if parallel else permutations
        for order in samples(range(len(self.clients)), self.S):
            for signs in product((1, -1), repeat=count):
                noise = two_valued(order, signs, self.K, parallel, self.given)
                yield trace(algorithm, self.clients, self.x, NOTHING, self.eta, order, noise)


def _clients(
    count: int, given: Properties, tilted: bool
) -> tuple[list[scenes.Oracle | scenes.Tilted], list[scenes.Oracle]]:
    """The clients' functions, and the functions that must be of the class."""
    # a minimiser of functions that are not convex may be as far away as it likes
    return federation(count, Property.MINIMISER in given and Property.CONVEX in given, tilted)


def scenes_of(statement: Statement, at: scenes.Numbers) -> list[scenes.Scene]:
    """A statement's round, for a statement about local steps one scene for each of them; or the run of a theorem."""
    given = catalogue.properties(statement)
    made = _run if _name(statement) in (*SEQUENTIAL_RUNS, *PARALLEL_RUNS) else _scenes
    found = made(statement, at, given, False)
    if Property.HETEROGENEITY not in given and not _powers(statement, at):
        return found
    within = made(statement, at, given, True)
    return [replace(scene, within=inner) for scene, inner in zip(found, within, strict=True)]


def _scenes(statement: Statement, at: scenes.Numbers, given: Properties, tilted: bool) -> list[scenes.Scene]:
    parallel = _name(statement) in PARALLEL
    clients, functions = _clients(int(at[s.M]), given, tilted)
    setting = Setting(
        clients, vector("x"), int(at[s.K]), int(at[s.S]), scenes.exact(s.eta, at), given, noisy=at[s.sigma] != 0
    )
    outcomes = list(setting.outcomes(parallel))
    means = _means(setting, outcomes, statement.symbols)
    steps = range(len(outcomes[0].steps)) if statement.symbols & {*_PLACED, s.B_mk} else []
    of_steps = [_of_step(outcomes, parallel, step, statement.symbols) for step in steps]
    conditions = _assumed(setting, outcomes, at, tilted)  # at the points of all quantities
    conditions |= of_class(functions, scenes.FunctionClass.of(given, at))
    if not of_steps:
        return [scenes.Scene(means, conditions, functions)]
    return [scenes.Scene(means | own, conditions, functions, place=numbers) for own, numbers in of_steps]


def _name(statement: Statement) -> str:
    return statement.id.removeprefix("sfl.")


def _powers(statement: Statement, at: scenes.Numbers) -> dict[sympy.Expr, tuple[Fraction, Fraction]]:
    """The powers of e in a claim, each between two fractions."""
    found = statement.claim.value.atoms(sympy.exp) if isinstance(statement.claim, Bound) else set()
    below = {e: int(sympy.floor(e * _PARTS)) for e in (one.subs(at) for one in found)}
    return {e: (Fraction(n, _PARTS), Fraction(n + 1, _PARTS)) for e, n in below.items()}


def weights_of(statement: Statement, at: scenes.Numbers) -> list[Fraction]:
    """The weights w_0, ..., w_R of the iterates."""
    return [scenes.exact(statement.where[w_r].subs(r, i), at) for i in range(int(at[s.R]) + 1)]


def _run(statement: Statement, at: scenes.Numbers, given: Properties, inner: bool) -> list[scenes.Scene]:
    """R rounds without noise: the gap of the weighted mean of the iterates, or the least squared gradient.

    inner  whether its instances are to be some of the class, instead of all and more: clients whose gradients differ by
           constants, and powers of e a little above

    Raises ValueError unless the claim is an upper bound: from below the least of several means is no such form.
    """
    if not isinstance(statement.claim, Bound) or statement.claim.sign != "<=":
        raise ValueError(f"{statement.id}: expected an upper bound")
    tilted = inner and Property.HETEROGENEITY in given
    clients, functions = _clients(int(at[s.M]), given, tilted)
    setting = Setting(clients, vector("x"), int(at[s.K]), int(at[s.S]), scenes.exact(s.eta, at), given, noisy=False)
    parallel, rounds, L, mu = (
        _name(statement) in PARALLEL_RUNS,
        int(at[s.R]),
        scenes.exact(s.L, at),
        scenes.exact(s.mu, at),
    )
    n = setting.K * (1 if parallel else setting.S)
    runs = [[setting.x]]
    for _ in range(rounds):
        runs = [[*run, o.end] for run in runs for o in replace(setting, x=run[-1]).outcomes(parallel)]
    means = {s.D**2: setting.x.square} | {symbol**2: number(f"{symbol}^2") for symbol in (s.sigma, s.zeta, s.zeta_star)}
    means |= {s.D**2 * e: means[s.D**2] * ends[inner] for e, ends in _powers(statement, at).items()}
    conditions: dict[str, QuadraticForm] = {}
    of = scenes.FunctionClass.of(given, at)
    known = dict.fromkeys((f"{symbol}^2" for symbol in (s.sigma, s.zeta, s.zeta_star)), Fraction(0))
    if s.gap in statement.symbols:
        weights = weights_of(statement, at)
        average = [
            scenes.mean_of(clients, total(x * w for x, w in zip(run, weights, strict=True)) / sum(weights))
            for run in runs
        ]
        means[s.gap] = mean(point.value for point in average) - scenes.mean_of(clients, NOTHING).value
        known |= {"x": Fraction(1)}
        worst: worst_functions.OnLine | None = worst_functions.worst_bowl(L, mu, setting.eta, n, weights)
    else:
        least, lowest = number("least"), number("F*")
        means |= {s.min_grad_sq: least, s.A: scenes.mean_of(clients, setting.x).value - lowest}
        for i in range(rounds + 1):
            conditions[f"least <= {i}"] = mean(scenes.mean_of(clients, run[i]).gradient.square for run in runs) - least
        conditions |= scenes.bounded_below(scenes.known_by_all(clients, functions), lowest, of, "F*")
        known |= {"x": Fraction(0), "least": Fraction(1), "F*": Fraction(0)}
        worst = worst_functions.staircase(L, setting.eta, n, rounds)
    conditions |= _assumed(setting, [], at, tilted) | of_class(functions, of)
    slopes = {
        name: Fraction(0) for client in clients if isinstance(client, scenes.Tilted) for name in client.slope.parts
    }
    line = {} if worst is None else scenes.alike(functions, known | slopes, worst)
    return [scenes.Scene(means, conditions, functions, line=line)]


def _means(setting: Setting, outcomes: Sequence[Trace], wanted: set[sympy.Symbol]) -> dict[sympy.Expr, QuadraticForm]:
    """The quantities of a round that are wanted, and the squares of the constants."""
    symbols = {symbol.name: symbol for symbol in wanted}
    means: dict[sympy.Expr, QuadraticForm] = {
        symbols[name]: mean(map(quantity, outcomes)) for name, quantity in QUANTITIES.items() if name in symbols
    }
    if s.client_bias_sq in wanted:
        clients = setting.clients
        means[s.client_bias_sq] = mean((c.at(setting.x).gradient - c.at(NOTHING).gradient).square for c in clients)
    return means | {symbol**2: number(f"{symbol}^2") for symbol in (s.sigma, s.zeta, s.zeta_star)}


def _of_step(
    outcomes: Sequence[Trace], parallel: bool, at: int, wanted: set[sympy.Symbol]
) -> tuple[dict[sympy.Expr, QuadraticForm], dict[sympy.Symbol, sympy.Integer]]:
    """The quantities of a local step, and its numbers."""
    step = outcomes[0].steps[at]
    numbers = {s.m: step.turn, s.k: step.k, s.B_mk: of_step("B_mk", at, not parallel)(outcomes[0])}
    means = {
        symbol: mean(map(of_step(symbol.name, at, not parallel), outcomes)) for symbol in _PLACED if symbol in wanted
    }
    return means, {symbol: sympy.Integer(value) for symbol, value in numbers.items()}


def _assumed(setting: Setting, outcomes: Sequence[Trace], at: scenes.Numbers, tilted: bool) -> dict[str, QuadraticForm]:
    """What the assumptions say of noise and heterogeneity, as forms >= 0."""
    given, clients = setting.given, setting.clients
    found = {f"{symbol}^2 >= 0": number(f"{symbol}^2") for symbol in (s.sigma, s.zeta, s.zeta_star)}
    found |= variances(outcomes, given)
    if {Property.HETEROGENEITY_AT_OPTIMUM, Property.MINIMISER, Property.CONVEX} <= given.keys():
        (most,) = given[Property.HETEROGENEITY_AT_OPTIMUM]
        found["heterogeneity at x*"] = scenes.squared(most) - mean(c.at(NOTHING).gradient.square for c in clients)
    if Property.HETEROGENEITY in given:
        factor, most = given[Property.HETEROGENEITY]
        full = scenes.mean_of(clients, setting.x).gradient
        apart = mean((c.at(setting.x).gradient - full).square for c in clients)
        # gradients that differ by constants differ by as much where grad F = 0
        room = ZERO if tilted else full.square * scenes.exact(factor, at) ** 2
        found["heterogeneity at x"] = scenes.squared(most) + room - apart
    return dict(sorted(found.items()))


def complete(statement: Statement, given: Mapping[str, Fraction]) -> scenes.Numbers:
    """The symbols' values; both step sizes, from the one that is given; S = M, beta = 0 and with noise unless told."""
    id_, symbols = statement.id, {s.name: s for s in catalogue.symbols(statement).values()}
    needed = {"M", "K", "L"} | ({"mu", "R"} & {s.name for s in statement.symbols})
    scenes.fitting(statement, given, needed, ("eta", "eta_tilde"), ("S", "mu", "beta"))
    at: dict[sympy.Symbol, sympy.Rational] = {symbols[name].sympy: rational(value) for name, value in given.items()}
    at.setdefault(s.S, at[s.M])
    at.setdefault(s.beta, sympy.S.Zero)
    at.setdefault(s.mu, sympy.S.Zero)
    for symbol, value in at.items():
        whole = symbol.is_integer and not value.is_integer
        if whole or value < 0 or (value == 0 and symbol.name in ("M", "K", "S", "R", "L", "eta", "eta_tilde")):
            raise ValueError(f"{id_}: {symbol} = {value}: expected {symbols[str(symbol)].domain}")
    if s.R in at and s.sigma not in at:
        raise ValueError(f"{id_}: expected sigma=0: whole runs are without noise")
    if at[s.S] > at[s.M] or at[s.mu] >= at[s.L]:
        raise ValueError(
            f"{id_}: S = {at[s.S]}, M = {at[s.M]}, mu = {at[s.mu]}, L = {at[s.L]}: expected S <= M and mu < L"
        )
    parallel = _name(statement) in (*PARALLEL, *PARALLEL_RUNS)
    # the statement's own definition; a lemma in eta has none, and eta_tilde is what it is in the theorem
    factor = statement.where.get(s.eta_tilde, s.K * s.eta if parallel else s.S * s.K * s.eta).subs(at) / at.get(
        s.eta, s.eta
    )
    at |= {s.eta_tilde: factor * at[s.eta]} if s.eta in at else {s.eta: at[s.eta_tilde] / factor}
    scenes.enumerable(statement, "clients, local steps or rounds", max(at[s.M], at[s.K], at.get(s.R, 1)), _MOST)
    outcomes = 1 if at.get(s.sigma) == 0 else scenes.tosses(at[s.S] * at[s.K])
    orders = sympy.binomial(at[s.M], at[s.S]) * (1 if parallel else sympy.factorial(at[s.S]))
    steps = orders ** at.get(s.R, 1) * outcomes * at[s.S] * at[s.K]
    scenes.enumerable(
        statement, "local steps in all outcomes", steps, _MOST_NOISE if parallel and outcomes > 1 else _MOST
    )
    return {s.sigma: s.sigma} | at


_MOST = 64
_PARTS = 2**80  # of the fractions around a power of e
_MOST_NOISE = 6 * 2**6  # parallel clients with noise, a step each: no outcome is at points of its own


def tried(statement: Statement, full: bool) -> list[dict[str, Fraction]]:
    """Two clients: with a step each and noise, all of them or one a round; with two steps each.  In full, more clients."""
    contracted = any(s.name == "mu" for s in statement.symbols)
    if _name(statement) in PARALLEL_RUNS and contracted:
        return []  # for each changed claim the solver would need ten seconds
    common = {"L": Fraction(1)} | ({"mu": Fraction(1, 10)} if contracted else {})
    counts = [(2, 2, 1, True), (2, 1, 1, True), (2, 2, 2, False)]
    if any(s.name == "descent" for s in statement.symbols):  # each outcome is another point
        counts = [(2, 2, 1, False), (2, 1, 1, True), (1, 1, 2, True), (2, 2, 2, False)]
    counts += [(3, 3, 1, False), (3, 2, 1, False), (2, 2, 4, False)] if full else []
    if _name(statement) in (*SEQUENTIAL_RUNS, *PARALLEL_RUNS):
        runs = [(1, 1), (2, 1), (1, 2)] + ([(3, 1), (2, 2)] if full else [])
        return numbers_of(("M", "K", "R", "sigma"), [(2, K, R, 0, True) for R, K in runs], common)
    return numbers_of(("M", "S", "K"), counts, common)


# With one step a run of PFL is gradient descent on F, so one client is enough; 6 L / mu = 12
_ONE_CLIENT = {"M": Fraction(1), "K": Fraction(1), "L": Fraction(1), "mu": Fraction(1, 2), "sigma": Fraction(0)}


def longer(statement: Statement) -> list[dict[str, Fraction]]:
    """Runs of the printed theorems, of as many rounds as the solver can do in seconds."""
    step = {"eta_tilde": Fraction(1, 6)}
    if _name(statement) in ("thm1.general_convex", "thm1.nonconvex"):
        return [{"M": Fraction(2), "K": Fraction(1), "R": Fraction(3), "L": Fraction(1), "sigma": Fraction(0)} | step]
    return [_ONE_CLIENT | {"R": Fraction(R)} | step for R in (12, 14, 16) if _name(statement) == "thm2.strongly_convex"]


_NO_NOISE = {"L": Fraction(1), "sigma": Fraction(0), "eta_tilde": Fraction(1, 6)}
ROUNDS = scenes.PaperScenes(
    (*ONE_ROUND, *SEQUENTIAL_RUNS, *PARALLEL_RUNS),
    complete,
    scenes_of,
    "eta_tilde",
    tried,
    "noise of two values; beta = 0",
    longer,
    dict.fromkeys(("lemma10", "lemma14.corrected"), (_NO_NOISE, ())),
)
