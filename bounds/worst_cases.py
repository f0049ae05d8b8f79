"""Worst cases of a round: of any algorithm, from its trace; of a paper's statements, where they are written in vectors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from fractions import Fraction
from itertools import combinations, permutations, product
from types import SimpleNamespace
from typing import Any, cast

import sympy

from fedtheory import plugins
from fedtheory.bounds.quantities import FIELD
from fedtheory.bounds.trials.cases import rational
from fedtheory.simulations.algorithms.base import MEAN, SERVER, SUM_0, Algorithm, class_of, keywords_of
from fedtheory.simulations.exact.trace import Noise, Trace, refuse_coordinates, trace
from fedtheory.simulations.problems import Problem
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import scenes
from fedtheory.theory.proofs.gram import NOTHING, GramVector, QuadraticForm, number, summed, total, vector
from fedtheory.theory.proofs.tight import Bracket, Programme, tight
from fedtheory.theory.properties import Properties, Property
from fedtheory.theory.statement import Bound, Statement, defined

Form = Callable[[Trace], QuadraticForm]  # a quantity of a round, such as those of `fedtheory.bounds.quantities`
_MOST = 64  # outcomes of orders, coins and noise


def best_constant(
    algorithm: Algorithm,
    larger: Form,
    smaller: Form,
    *,
    of: scenes.FunctionClass,
    M: int,
    eta: Fraction,
    memory: Mapping[str, GramVector | Sequence[GramVector]] | None = None,
    coins: Mapping[float, Fraction] | None = None,
    noise: int = 0,
) -> Bracket:
    """The least c with E[larger] <= c E[smaller] over a round, for all functions of a class, in every dimension.

    The round is the algorithm's own, from x = vector("x"); x* is 0.  Each client's function is of the class, and where the
    class is convex, 0 is a minimiser of their mean; else 0 is any point.

    algorithm        any whose round can be traced; its own step size is not used
    larger, smaller  functions of a trace; number("sigma^2") is the variance of the noise
    memory           before the round, such as {"c_j": [vector("c0"), -vector("c0")]}; by default what the first round has
    coins            the numbers in [0, 1) that the server may draw, each with its chance
    noise            how many local steps a client takes with noise, unbiased and independent: see `two_valued`; 0: none

    Returns an exact bracket of c: a proof above, an instance below (Clarabel finds both).  Raises ValueError for an
    algorithm that cannot be traced, and for more than 64 outcomes; Unbounded where no c is enough; NotSolved where no
    bracket is found.
    """
    return tight(
        round_programme(algorithm, larger, smaller, of=of, M=M, eta=eta, memory=memory, coins=coins, noise=noise)
    )


def round_programme(
    algorithm: Algorithm,
    larger: Form,
    smaller: Form,
    *,
    of: scenes.FunctionClass,
    M: int,
    eta: Fraction,
    memory: Mapping[str, GramVector | Sequence[GramVector]] | None = None,
    coins: Mapping[float, Fraction] | None = None,
    noise: int = 0,
) -> Programme:
    """The programme of `best_constant`, as `fedtheory.theory.proofs.symmetry` takes it, too."""
    _, clients = federation(M, stationary=of.mu is not None)
    given: Properties = {
        Property.UNBIASED: (),
        Property.INDEPENDENT_NOISE: (),
        Property.VARIANCE: (sympy.Symbol("sigma"),),
    }
    outcomes = list(_outcomes(algorithm, clients, eta, noise, given, memory, coins))
    need, room = (summed(form(t) * chance for chance, t in outcomes) for form in (larger, smaller))
    return Programme(need, room, _conditions(clients, outcomes, of, given))


def federation(
    M: int, stationary: bool, tilted: bool = False
) -> tuple[list[scenes.Oracle | scenes.Tilted], list[scenes.Oracle]]:
    """The clients' functions, and the functions that must be of the class.

    stationary  whether 0 is a stationary point of their mean: then their gradients there sum to 0
    tilted      whether the clients are one function, each plus a linear one: their gradients differ by constants
    """
    slopes = [vector(f"g{m}*") for m in range(M - 1)]
    slopes.append(-total(slopes))
    functions = [scenes.Oracle("")] if tilted else [scenes.Oracle(f"{m}.") for m in range(M)]
    if stationary:
        for function, slope in zip(functions, [NOTHING] if tilted else slopes, strict=True):
            function.put(NOTHING, slope)
    return [scenes.Tilted(functions[0], slope) for slope in slopes] if tilted else list(functions), functions


def two_valued(
    order: Sequence[int], signs: Sequence[int], steps: int, parallel: bool, given: Collection[StrEnum]
) -> Noise:
    """The noise of the first steps of each client in a round: +n or -n, for any n that may depend on what was before.

    signs     of all clients, one turn after another; empty: no noise
    parallel  what was before are then the client's own steps alone
    given     the properties: without independent noise parallel clients have the signs of the first, without unbiased noise
              there is any vector more
    """

    def noise(client: int, turn: int, k: int, at: GramVector) -> GramVector:
        if not signs or k >= steps:
            return NOTHING
        first, apart = (turn - 1) * steps, Property.INDEPENDENT_NOISE in given or not parallel
        if apart and first + steps > len(signs):
            raise ValueError(f"turn {turn} of {len(signs) // steps}: expected no more clients than its `participants`")
        own = signs[first : first + steps] if apart else signs[:steps]
        past = own[:k] if parallel else signs[: first + k]
        who = f"{client}" if parallel else "".join(map(str, order[:turn]))
        name = f"{who}:{k}:{''.join('+' if sign > 0 else '-' for sign in past)}"
        bias = NOTHING if Property.UNBIASED in given else vector(f"bias({name})")
        return vector(f"n({name})") * own[k] + bias

    return noise


def variances(traces: Iterable[Trace], given: Properties) -> dict[str, QuadraticForm]:
    """That the variance of the noise of all steps is bounded, where it is assumed."""
    if Property.VARIANCE not in given:
        return {}
    (most,) = given[Property.VARIANCE]
    names = sorted({n for t in traces for step in t.steps for n in step.noise.parts if n.startswith("n(")})
    return {f"variance of {name}": scenes.squared(most) - vector(name).square for name in names}


def of_class(functions: Iterable[scenes.Oracle], of: scenes.FunctionClass) -> dict[str, QuadraticForm]:
    """What is >= 0 for functions of the class."""
    return {name: form for function in functions for name, form in function.conditions(of).items()}


def numbers_of(
    names: Sequence[str], counts: Iterable[Sequence[int]], common: Mapping[str, Fraction]
) -> list[dict[str, Fraction]]:
    """The numbers to try: those in common, with each of these counts, of which the last says whether there is noise."""
    return [
        {**dict(zip(names, map(Fraction, some), strict=True)), **common, **({} if noisy else {"sigma": Fraction(0)})}
        for *some, noisy in counts
    ]


def _outcomes(
    algorithm: Algorithm,
    clients: Sequence[scenes.Oracle],
    eta: Fraction,
    noise: int,
    given: Collection[StrEnum],
    memory: Mapping[str, Any] | None = None,
    coins: Mapping[float, Fraction] | None = None,
) -> Iterator[tuple[Fraction, Trace]]:
    """The round with every order, coin and sign of the noise, each with its chance; a parallel round needs samples only."""
    M = len(clients)
    S = algorithm.participants(cast(Problem, SimpleNamespace(M=M, weights=None, name="a trace")))
    refuse_coordinates(algorithm, M)

    def traced(order: Sequence[int], coin: float | None, signs: Sequence[int] = (), parallel: bool = True) -> Trace:
        error = two_valued(order, signs, noise, parallel, given)
        return trace(algorithm, clients, vector("x"), NOTHING, eta, order, error, memory, None, coin)

    tosses: list[tuple[float | None, Fraction]] = list((coins or {}).items()) or [(None, Fraction(1))]
    first = tuple(range(S))
    parallel = traced(first, tosses[0][0]).end == traced(first[::-1], tosses[0][0]).end
    orders = list((combinations if parallel else permutations)(range(M), S))
    signs = list(product((1, -1), repeat=S * noise))
    if len(orders) * len(tosses) * len(signs) > _MOST:
        counts = f"{len(orders)} orders, {len(tosses)} coins, {len(signs)} signs of noise"
        raise ValueError(f"{counts}: expected {_MOST} outcomes at most")
    for order, (coin, chance), own in product(orders, tosses, signs):
        yield chance / len(orders) / len(signs), traced(order, coin, own, parallel)


def coins(algorithm: Algorithm) -> dict[float, Fraction]:
    """Numbers that the server may draw, with their chances; `coin` of an algorithm names the chance of a small one."""
    name = getattr(algorithm, "coin", None)
    if name is None:
        return {}
    chance = Fraction(getattr(algorithm, name))
    return {number: one for number, one in ((0.0, chance), (float(1 + chance) / 2, 1 - chance)) if one}


def _before(name: str, kind: str, M: int) -> GramVector | list[GramVector]:
    """The memory of the server, or those of the clients, before a round."""
    if kind == SERVER:
        return vector(name)
    several = [vector(f"{name}{m}") for m in range(M)]
    return [*several[:-1], -total(several[:-1])] if kind == SUM_0 else several


def _conditions(
    clients: Sequence[scenes.Oracle],
    outcomes: Sequence[tuple[Fraction, Trace]],
    of: scenes.FunctionClass,
    given: Properties,
) -> dict[str, QuadraticForm]:
    """What is >= 0 by the variance of the noise and the class of the functions."""
    return variances((t for _, t in outcomes), given) | of_class(clients, of)


def rounds(paper: str) -> scenes.PaperScenes | None:
    """The paper's rounds in vectors: traces in `bounds.PAPER.worst_case`, else those among its checks, if it has any."""
    own = getattr(plugins.load(paper, "worst_case"), "ROUNDS", None)
    here: scenes.PaperScenes | None = own or catalogue.rounds(paper)
    return here or (of_traces(paper) if paper in plugins.packages() else None)


# ------------------------------------------------------------------------------------------- papers outside: from traces

_OF_F = {Property.CONVEX_MEAN, Property.STRONGLY_CONVEX_MEAN, Property.POLYAK, Property.SMOOTH_MEAN}
READ = _OF_F | {
    Property.SMOOTH, Property.SMOOTH_ABOVE, Property.CONVEX, Property.STRONGLY_CONVEX, Property.BOUNDED_BELOW,
    Property.CLIENTS_BOUNDED_BELOW, Property.MINIMISER, Property.UNBIASED, Property.VARIANCE, Property.VARIANCE_ELSEWHERE,
    Property.INDEPENDENT_NOISE, Property.EQUAL_WEIGHTS, Property.WEIGHTS, Property.HETEROGENEITY_AT_OPTIMUM,
    Property.SAMPLING,
}  # fmt: skip
CONVEX = {
    Property.CONVEX,
    Property.STRONGLY_CONVEX,
    Property.CONVEX_MEAN,
    Property.STRONGLY_CONVEX_MEAN,
    Property.POLYAK,
}
_OF_STAR = {"dist2", "dist2_next"}  # they ask no function at x*
# without a minimiser: gaps above any number, which must cancel
_ABOVE_ANY: Mapping[str, Form] = {
    "gap": lambda t: t.start.value - number("F*"),
    "gap_next": lambda t: t.F(t.end).value - number("F*"),
}
STEPS = ("K", "tau", "T")  # names of the number of local steps
_ZETA = "zeta_star"  # its square is the mean of ||grad F_m(x*)||^2


def algorithm_of(paper: str) -> Any:
    """The paper's algorithm; None for several, or none."""
    several = list(getattr(plugins.load(paper, "algorithms"), "ALGORITHMS", {}).values())
    return several[0] if len(several) == 1 else None


def quantities_of(paper: str) -> Mapping[str, Any]:
    """The quantities of a round, by the names of their symbols: the field's, and the paper's own."""
    return {**FIELD, **getattr(plugins.load(paper, "checks"), "QUANTITIES", {})}


def of_traces(paper: str) -> scenes.PaperScenes | None:
    """The rounds of a paper outside that has none: from traces of its algorithm.  None for several algorithms, or none.

    A statement has them if it is a bound, its quantities are the field's (`fedtheory.bounds.quantities`) or the paper's own
    (`QUANTITIES` in its checks: name of a symbol -> function of a trace), and its other symbols are M, L, mu, sigma, eta,
    eta_tilde, or settings of the algorithm.
    """
    algorithm = algorithm_of(paper)
    if algorithm is None:
        return None
    letters = {s.concept: s.name for s in catalogue.paper(paper).symbols.values() if s.concept}
    settings = {letter: name for name, letter in letters_of_settings(algorithm, letters).items()}
    chosen = keywords_of(algorithm)
    fixed = {
        letters.get("local steps", n) if n in STEPS else n: Fraction(v) for n, v in chosen.items() if isinstance(v, int)
    }
    of = _OfTraces(algorithm, quantities_of(paper), settings, fixed, memory_of(paper))
    names = tuple(s.id.removeprefix(f"{paper}.") for s in catalogue.statements(paper) if of.about_a_round(s))
    which = "any memories before the round" if of.memory else "a first round"
    return scenes.PaperScenes(names, of.complete, of.scenes_of, "eta", of.tried, f"noise of two values; {which}")


def memory_of(paper: str) -> Mapping[str, str]:
    """What the memories of a paper's algorithm may be before a round, by name, as `OwnPaper.algorithm` has it."""
    found: Mapping[str, str] = getattr(plugins.load(paper, "algorithms"), "MEMORY", {})
    return found


def readable(statement: Statement) -> None:
    """Raises ValueError where a statement assumes something that small problems and worst cases do not look at."""
    if more := catalogue.properties(statement).keys() - READ:
        told = ", ".join(sorted(more))
        raise ValueError(f"{statement.id} assumes {told}: expected assumptions on functions and noise alone")


def letters_of_settings(algorithm: Callable[..., Algorithm], letters: Mapping[str, str]) -> dict[str, str]:
    """The settings that an algorithm leaves open, each with a paper's letter for it; `letters` are those by concept."""
    kind = class_of(algorithm)
    chosen = {"eta", *keywords_of(algorithm)}
    names = [one.name for one in fields(cast(Any, kind)) if one.init and one.name not in chosen]
    return {name: letters.get("local steps", name) if name in STEPS else name for name in names}


def refuse_settings(statement: Statement, algorithm: Callable[..., Algorithm], open_: bool = False) -> None:
    """Raises ValueError for a number of the statement that is a setting which the paper has chosen.

    open_  also for one that it leaves open, where the round is read with its default
    """
    chosen = keywords_of(algorithm)
    names = {n for n in chosen if n not in (*STEPS, "S")}
    names |= {n for n in letters_of_settings(algorithm, {}) if n not in (*STEPS, "S")} if open_ else set()
    if wrong := sorted(names & {s.name for s in statement.symbols}):
        how = "the round is read with one number for it" if wrong[0] not in chosen else f"it is {chosen[wrong[0]]} here"
        raise ValueError(
            f"{wrong[0]} is a setting of the algorithm, and {how}: expected a statement without {wrong[0]}"
        )


@dataclass(frozen=True)
class _OfTraces:
    """An algorithm, and the quantities of its rounds by the names of their symbols.

    settings  the paper's letter for a setting -> its name
    fixed     the paper's letter for a setting that is chosen -> its number
    memory    as `memory_of` says
    """

    algorithm: Callable[..., Algorithm]
    quantities: Mapping[str, Form]
    settings: Mapping[str, str]
    fixed: Mapping[str, Fraction]
    memory: Mapping[str, str]

    @property
    def coin(self) -> str | None:
        """The paper's letter for the chance of the algorithm's coin."""
        name = getattr(class_of(self.algorithm), "coin", None)
        return next((letter for letter, own in self.settings.items() if own == name), name)

    def about_a_round(self, statement: Statement) -> bool:
        """Whether the statement bounds a quantity of a round, and all its symbols have values."""
        if not isinstance(statement.claim, Bound):
            return False
        known = {*self.quantities, *self.settings, *self.fixed, "M", "S", "L", "mu", "sigma", _ZETA, "eta", "eta_tilde"}
        bounded = {s.name for s in statement.claim.quantity.free_symbols}
        return bool(bounded & self.quantities.keys()) and {s.name for s in statement.symbols} <= known

    def complete(self, statement: Statement, given: Mapping[str, Fraction]) -> scenes.Numbers:
        """The symbols' values; both step sizes, from the one that is given; with the noise that it assumes."""
        symbols = {s.name: s for s in catalogue.symbols(statement).values()}
        given = {**{n: v for n, v in self.fixed.items() if n in symbols}, **given}
        needed = {"L", *({"M", *self.settings, *self.fixed} & symbols.keys())}
        needed |= {"mu"} if self._constant(statement, "mu") else set()
        scenes.fitting(statement, given, needed, ("eta", "eta_tilde"), ())
        at = {symbols[name].sympy: rational(value) for name, value in given.items()}
        for symbol, value in at.items():
            whole = symbol.is_integer and not value.is_integer
            if whole or value < 0 or (value == 0 and symbol.name not in ("mu", "sigma")):
                raise ValueError(f"{statement.id}: {symbol} = {value}: expected {symbols[symbol.name].domain}")
        if given.get("mu", 0) and rational(given["mu"]) >= rational(given["L"]):
            raise ValueError(f"{statement.id}: mu = {given['mu']}, L = {given['L']}: expected mu < L")
        if "eta_tilde" in symbols and symbols["eta_tilde"].sympy in statement.where:
            eta, eta_tilde = symbols["eta"].sympy, symbols["eta_tilde"].sympy
            factor = statement.where[eta_tilde].subs(at) / at.get(eta, eta)
            at |= {eta_tilde: factor * at[eta]} if eta in at else {eta: at[eta_tilde] / factor}
        sigma = symbols["sigma"].sympy if "sigma" in symbols else None
        noise = sigma if self._constant(statement, "sigma") else sympy.S.Zero  # none where the statement assumes none
        return at if sigma is None else {sigma: noise} | at

    def tried(self, statement: Statement, full: bool) -> list[dict[str, Fraction]]:
        """Two clients, in full three too, with one and two local steps, all clients or one; with noise one step."""
        names, one = {s.name for s in statement.symbols}, Fraction(1)
        own = [letter for letter in self.settings if letter in catalogue.symbols(statement)]
        steps = next((letter for letter in own if self.settings[letter] in STEPS), None)
        several, found = "M" in catalogue.symbols(statement), []
        sampled = "S" in own and "S" in names
        clients = (2, 3) if full and several else (2,)
        for M, K, everyone in product(clients, (1, 2) if steps else (1,), (True, False) if sampled else (True,)):
            at, S = {"M": Fraction(M)} if several else {}, M if everyone else 1
            at |= {"L": one} | ({"mu": one / 10} if self._constant(statement, "mu") else {}) | dict.fromkeys(own, one)
            at |= {steps: Fraction(K)} if steps else {}
            at |= {self.coin: one / 2} if self.coin in own else {}
            at |= {"S": Fraction(S if several else 1)} if "S" in own else {}
            found += [at | {"sigma": Fraction(0)}] + ([at] if self._constant(statement, "sigma") and K == 1 else [])
        return found

    def _constant(self, statement: Statement, name: str) -> bool:
        """Whether it is a symbol of the statement or of its assumptions."""
        assumed = sympy.Tuple(*(one for several in catalogue.properties(statement).values() for one in several))
        return name in {s.name for s in statement.symbols | assumed.free_symbols}

    def _any_lowest(self, statement: Statement, at: scenes.Numbers) -> bool:
        """Whether the gaps of a claim cancel but for a difference, so that F* may be any number."""
        claim = statement.claim_of(Bound)
        gaps = [s for s in statement.symbols if s.name in _ABOVE_ANY]
        difference = sympy.expand(defined(claim.quantity - claim.value, statement.where).subs(dict(at)))
        return sympy.Add(*(difference.coeff(s) for s in gaps)) == 0

    def scenes_of(self, statement: Statement, at: scenes.Numbers) -> list[scenes.Scene]:
        """The round of the statement.  Raises ValueError for assumptions on other things than functions and noise."""
        given, numbers = catalogue.properties(statement), {symbol.name: value for symbol, value in at.items()}
        readable(statement)
        if Property.EQUAL_WEIGHTS not in given and "M" in numbers:
            raise ValueError(f"{statement.id} does not assume equal weights of the clients: expected that it does")
        chosen = {self.settings[name]: value for name, value in numbers.items() if name in self.settings}
        build = {name: int(value) if value.is_integer else float(value) for name, value in chosen.items()}
        build |= {name: 1 for letter, name in self.settings.items() if name in STEPS and letter not in numbers}
        algorithm, noisy = self.algorithm(eta=1.0, **build), numbers.get("sigma", 0) != 0
        noise = max([int(build[name]) for name in STEPS if name in build], default=1) if noisy else 0
        tosses = coins(algorithm)

        def scene(of: scenes.FunctionClass, stationary: bool) -> scenes.Scene:
            M = int(numbers.get("M", 1))
            _, clients = federation(M, stationary)
            means_of = {name: kind.removeprefix(MEAN) for name, kind in self.memory.items() if kind.startswith(MEAN)}
            memory: dict[str, Any] = {
                name: _before(name, kind, M) for name, kind in self.memory.items() if name not in means_of
            }
            memory |= {name: total(memory[several]) / M for name, several in means_of.items()}
            eta = scenes.exact(numbers["eta"], {})
            outcomes = list(_outcomes(algorithm, clients, eta, noise, given, memory or None, tosses))
            means: dict[sympy.Expr, QuadraticForm] = {
                s: summed(own[s.name](t) * chance for chance, t in outcomes)
                for s in sorted(statement.symbols, key=str)  # the order of the points is that of the quantities
                if s.name in own
            }
            means |= {symbol**2: number("sigma^2") for symbol in at if symbol.name == "sigma"}
            apart = [s for s in statement.symbols if s.name == _ZETA]
            part = max(catalogue.bounds(statement)["heterogeneity at the optimum"].get(_ZETA, [Fraction(1)]))
            many = len(clients) * part**2
            means |= {s**2: summed(c.at(NOTHING).gradient.square for c in clients) / many for s in apart}
            if not least and (
                _OF_STAR & {s.name for s in statement.symbols} or any(NOTHING in c.points for c in clients)
            ):
                raise ValueError(
                    f"{statement.id} is about x* or F*: expected a minimiser and convexity among its assumptions"
                )
            return scenes.Scene(means, _conditions(clients, outcomes, of, given), clients)

        of = scenes.FunctionClass.of(given, at)
        # a strongly convex function has a minimiser; where F is not convex, a stationary 0 may be none
        least = Property.STRONGLY_CONVEX in given or (Property.MINIMISER in given and bool(given.keys() & CONVEX))
        own = self.quantities if least or not self._any_lowest(statement, at) else {**self.quantities, **_ABOVE_ANY}
        whole = scene(of, least)
        if not given.keys() & _OF_F:
            return [whole]
        # what is said of F alone is left out above; below every client has it
        mu = [
            scenes.exact(given[name][0], at)
            for name in (Property.STRONGLY_CONVEX_MEAN, Property.POLYAK)
            if name in given
        ]
        L = [scenes.exact(given[Property.SMOOTH_MEAN][0], at)] if Property.SMOOTH_MEAN in given else []
        smaller = scenes.FunctionClass(
            min([*L, *([of.L] if of.L else [])], default=None), max([*mu, of.mu or Fraction(0)])
        )
        return [replace(whole, within=scene(smaller, least))]
