"""The best constants that a proof gives: its free choices, such as Young's weights, as parameters to optimise.

The proof is read twice.  First with symbols for its choices: `Sketch` collects which conditions the proof needs, and what it
derives.  These conditions are polynomial inequalities in the choices; they must hold for all numbers of clients, all step
sizes and so on.  The optimum on a grid of such numbers is rounded to fractions with small denominators.  Then the same proof
is read with these fractions, and decided exactly.  Only this second reading counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.logic.boolalg import Boolean

from fedtheory.theory import catalogue
from fedtheory.theory.proofs.argument import Argument, Fact, Language, Proof, spread_out
from fedtheory.theory.proofs.arithmetic import Decision
from fedtheory.theory.statement import Statement, Status, Verdict

Points = Mapping[str, NDArray[np.float64]]
_LEAST, _MOST = 1e-3, 1e2  # of a choice
_CLOSE = 0.01  # how far the fractions may be from the optimum, in the sum of the logarithms of the constants
_NEAREST = 6  # fractions tried for each choice
_DENOMINATORS = (6, 12, 24, 60, 120, 400)
_ROOM = 1e-9  # relative to the terms of a condition: the optimum lies on the edge, and doubles round


class NoChoices(ValueError):
    """No free choices prove the theorem for this range of step sizes."""


class Sketch(Argument):
    """A proof with symbols for its choices: nothing is decided, but what it needs and what it derives is kept.

    needed   expressions that must be >= 0
    derived  the fact that the proof concludes with
    """

    def __init__(self, statement: Statement, language: Language) -> None:
        super().__init__(statement, language)
        self.needed: list[sympy.Expr] = []
        self.derived: Fact | None = None

    def step(self, name: str, decide_it: Callable[[], Decision]) -> None:
        """No step is decided."""

    def require(self, name: str, claim: Boolean | Sequence[Boolean], *given: Boolean) -> None:
        """Keep what the proof needs."""
        for one in [claim] if isinstance(claim, Boolean) else claim:
            if isinstance(one, sympy.Ge | sympy.Le | sympy.Gt | sympy.Lt):  # equations have no choices
                self.needed.append(one.gts - one.lts)

    def conclude(self, *several: Fact, part: int = 0) -> None:
        """Keep what the proof derives."""
        self.derived = several[-1]


@dataclass(frozen=True)
class Sharpening:
    """A sharper theorem whose proof has free choices.

    theorem   its id
    step      the id of the recursion for one round in which the choices are
    choices   a frozen dataclass of numbers, those of the catalogue
    free      the names of the choices to optimise
    proof     the proof of the recursion with these choices
    language  of the proof
    points    the largest step size over the printed one -> numbers for all symbols, at which the conditions are looked at;
              the first of them is where the constants are compared
    before    the quantity that the recursion contracts, and the least of 1 minus its factor; None: it is kept whole
    progress  the quantity of which a round makes progress
    amounts   what the constants stand before
    settled   (choices, the fact that is derived, points) -> the choices with the numbers that follow from the others
    declare   (suffix, choices, largest step size over the printed one): declares recursion and theorem
    proofs    the suffix and the choices -> the proofs of both, by id
    """

    theorem: str
    step: str
    choices: Any
    free: tuple[str, ...]
    proof: Callable[[Any], Proof]
    language: Language
    points: Callable[[float], Points]
    before: tuple[sympy.Symbol, sympy.Expr] | None
    progress: sympy.Symbol
    amounts: tuple[sympy.Expr, ...]
    settled: Callable[[Any, Fact, Points], Any]
    declare: Callable[[str, Any, sympy.Rational], tuple[str, str]]
    proofs: Callable[[str, str, Any], Mapping[str, tuple[Proof, Language]]]


@dataclass(frozen=True)
class _Reading:
    """What a sketch says, as functions of the free choices and of the points: all must be >= 0; the constants."""

    needed: Callable[[Sequence[float]], list[NDArray[np.float64]]]
    constants: Callable[[Sequence[float]], NDArray[np.float64]]
    fact: Fact
    symbols: Mapping[str, sympy.Symbol]


def _read(one: Sharpening, points: Points) -> _Reading:
    symbols = {name: sympy.Symbol(name, positive=True) for name in one.free}
    sketch = Sketch(catalogue.find(one.step), one.language)
    one.proof(replace(one.choices, **symbols))(sketch)
    fact = sketch.derived
    assert fact is not None
    fact = replace(fact, value=spread_out(sketch.read(fact.value)))
    needed = [e for e in sketch.needed if e.free_symbols & set(symbols.values())]
    if one.before is not None:
        quantity, rate = one.before
        needed.append(sympy.factor(1 - rate - fact.value.coeff(quantity)))
    arguments = list(symbols.values())

    def at_points(e: sympy.Expr) -> Callable[[Sequence[float]], NDArray[np.float64]]:
        others = sorted(e.free_symbols - set(arguments), key=str)
        missing = [s.name for s in others if s.name not in points]
        if missing:
            raise ValueError(f"{one.theorem}: no numbers for {', '.join(missing)}")
        made = sympy.lambdify([*arguments, *others], e, "numpy")
        values = [points[s.name] for s in others]
        return lambda x: np.atleast_1d(np.asarray(made(*x, *values), float))

    conditions = [(at_points(e), at_points(_size(e))) for e in map(sympy.expand, needed)]
    coefficients = [at_points(sympy.factor(fact.value.coeff(a))) for a in one.amounts]
    progress = at_points(sympy.factor(-fact.value.coeff(one.progress)))
    return _Reading(
        lambda x: [value(x) + _ROOM * size(x) for value, size in conditions],
        lambda x: np.array([progress(x)[0], *(c(x)[0] / progress(x)[0] for c in coefficients)]),
        fact,
        symbols,
    )


def _size(e: sympy.Expr) -> sympy.Expr:
    return sympy.Add(*(sympy.Abs(term) for term in sympy.Add.make_args(e)))


def _cost(reading: _Reading, x: Sequence[float]) -> float:
    """The sum of the logarithms of the constants; beyond 100 where a condition fails, the more the further."""
    with np.errstate(all="ignore"):
        worst = min(float(np.min(value)) for value in reading.needed(x))
        progress, *constants = reading.constants(x)
    if not worst >= 0 or not progress > 0:
        return 100.0 + (1.0 - worst if np.isfinite(worst) else 1e9)
    return float(np.sum(np.log(constants)) - np.log(progress))


def optimised(one: Sharpening, span: float = 1.0) -> Iterator[Any]:
    """Choices for step sizes up to `span` times the printed limit, with fractions of growing denominators.

    The first are within 1 % of the best constants on the grid.  Raises NoChoices if none are admissible there.
    """
    from scipy.optimize import differential_evolution  # takes a moment to load, and no proof needs it

    points = one.points(span)
    reading = _read(one, points)
    bounds = [(np.log(_LEAST), np.log(_MOST))] * len(one.free)
    found = differential_evolution(
        lambda u: _cost(reading, np.exp(u)), bounds, seed=0, tol=1e-10, maxiter=400, popsize=20
    )
    if found.fun >= 100:
        raise NoChoices(f"{one.theorem}: no choices prove it for step sizes up to {span:g} times the printed limit")
    best = np.exp(found.x)
    last = None
    for denominator in _DENOMINATORS:
        near = [_fractions(float(x), denominator) for x in best]
        cost, choice = min(((_cost(reading, [float(f) for f in each]), each) for each in product(*near)), key=_simplest)
        if cost >= 100 or choice == last or (cost > found.fun + _CLOSE and denominator != _DENOMINATORS[-1]):
            continue
        last = choice
        exact = {name: sympy.Rational(f.numerator, f.denominator) for name, f in zip(one.free, choice, strict=True)}
        at = {reading.symbols[name]: value for name, value in exact.items()}
        fact = replace(reading.fact, value=reading.fact.value.subs(at))
        yield one.settled(replace(one.choices, **exact), fact, points)


def _simplest(pair: tuple[float, tuple[Fraction, ...]]) -> tuple[float, int, tuple[Fraction, ...]]:
    """The smaller cost first; where it is the same to three digits, the smaller denominators."""
    cost, choice = pair
    return round(cost, 3), sum(f.denominator for f in choice), choice


def _fractions(x: float, denominator: int) -> set[Fraction]:
    """Fractions around a number, of this denominator at most."""
    found = {Fraction(x).limit_denominator(denominator)}
    for d in range(max(1, denominator // 2), denominator + 1):
        below = Fraction(int(np.floor(x * d)), d)
        found |= {below, below + Fraction(1, d)}
    return {f for f in sorted(found, key=lambda f: abs(float(f) - x))[:_NEAREST] if f > 0}


@dataclass(frozen=True)
class Sharpened:
    """A theorem with optimised choices, and its proofs.

    theorem   the statement
    choices   of its proof
    verdicts  of the recursion and of the theorem
    """

    theorem: Statement
    choices: Mapping[str, sympy.Rational]
    verdicts: tuple[Verdict, ...]


@contextmanager
def sharpened(one: Sharpening, span: sympy.Rational = sympy.S.One) -> Iterator[Sharpened]:
    """The theorem with the best constants for step sizes up to `span` times the printed limit, proved.

    Within the context it is in the catalogue.  Raises NoChoices if none are admissible, or no fractions near the best.
    """
    suffix = f"{one.theorem.rsplit('.', 1)[1]}.up_to_{str(span).replace('/', '_')}"
    for choices in optimised(one, float(span)):
        with _declared(one, suffix, choices, span) as (step, theorem):
            verdicts = []
            for id_, (proof, language) in one.proofs(step, theorem, choices).items():
                argument = Argument(catalogue.find(id_), language)
                proof(argument)
                verdicts.append(argument.verdict())
            if all(v.status is Status.PROVED for v in verdicts):
                chosen = {f.name: getattr(choices, f.name) for f in fields(choices)}
                yield Sharpened(catalogue.find(theorem), chosen, tuple(verdicts))
                return
    raise NoChoices(f"{one.theorem}: no fractions near the best choices prove it")


@contextmanager
def _declared(one: Sharpening, suffix: str, choices: Any, span: sympy.Rational) -> Iterator[tuple[str, str]]:
    """The ids of recursion and theorem, which are in the catalogue as long as the proofs need them."""
    statements = catalogue.paper(catalogue.find(one.theorem).paper).statements
    step, theorem = one.declare(suffix, choices, span)
    try:
        yield step, theorem
    finally:
        for id_ in (step, theorem):
            del statements[id_]
