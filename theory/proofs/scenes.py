"""Worst cases of inequalities about a round, over all functions of the class in every dimension.

A paper enumerates the outcomes of a round for small counts: samples and orders of the clients, and noise that is +n or -n
with equal chances, for any vector n.  In each outcome points and gradients are vectors.  The paper's quantities are then
exact means of quadratic forms, and its assumptions are inequalities between such forms (`Scene`).  Here a statement
becomes semidefinite programmes (`fedtheory.theory.proofs.tight`), and their exact brackets a verdict.

Brackets that were found earlier are kept in files, and are verified again whenever they are used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, singledispatch
from pathlib import Path
from typing import Any

import sympy

from fedtheory.theory import catalogue
from fedtheory.theory.proofs.gram import GramVector, QuadraticForm, number, summed, total, vector
from fedtheory.theory.proofs.linear import fraction
from fedtheory.theory.proofs.tight import (
    PARTS,
    Bracket,
    GramInstance,
    NotSolved,
    Programme,
    Unbounded,
    Units,
    checked as verify,
    close,
    needed_on_line,
    on_line,
    tight,
    verified_instance,
    verified_proof,
    violation,
)
from fedtheory.theory.properties import Properties, Property
from fedtheory.theory.statement import Bound, Evidence, F, Statement, Status, Verdict, defined

Numbers = Mapping[sympy.Symbol, sympy.Rational]

# Functions


@dataclass(frozen=True)
class ScenePoint:
    """A point, with a function's value and gradient there."""

    x: GramVector
    value: QuadraticForm
    gradient: GramVector


@dataclass(frozen=True)
class FunctionClass:
    """L-smooth (None: not), mu-strongly convex (None: not convex); one-sided if only smooth from above."""

    L: Fraction | None
    mu: Fraction | None
    one_sided: bool = False

    @staticmethod
    def of(given: Properties, at: Numbers) -> FunctionClass:
        """What the properties say of each client's function."""

        def constant(name: Property) -> Fraction | None:
            return exact(given[name][0], at) if name in given else None

        convex = Fraction(0) if Property.CONVEX in given else None
        mu = constant(Property.STRONGLY_CONVEX) if Property.STRONGLY_CONVEX in given else convex
        # the mean of functions that are smooth on every mini-batch is smooth
        L = constant(Property.SMOOTH) if Property.SMOOTH in given else constant(Property.SMOOTH_SAMPLES)
        above = constant(Property.SMOOTH_ABOVE)
        # a convex function that is smooth from above is two-sided smooth
        return FunctionClass(above if L is None else L, mu, one_sided=L is None and mu is None)

    def condition(self, i: ScenePoint, j: ScenePoint) -> QuadraticForm | None:
        """What is >= 0 for the function's values and gradients at two points; sufficient, if for all pairs, both ways."""
        L, mu = self.L, self.mu
        if L is not None and self.one_sided:
            move = j.x - i.x
            return i.value + i.gradient @ move + move.square * (L / 2) - j.value
        step, change = i.x - j.x, i.gradient - j.gradient
        above = i.value - j.value - j.gradient @ step
        if L is None:
            return None if mu is None else above - step.square * (mu / 2)
        if mu is None:
            mu = -L
        room = change.square / L + step.square * mu - (change @ step) * (2 * mu / L)
        return above - room / (2 * (1 - mu / L))


class Oracle:
    """A function, known where its value and gradient were asked."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.points: dict[GramVector, ScenePoint] = {}

    def at(self, x: GramVector) -> ScenePoint:
        """The function at a point; the same point gives the same value and gradient."""
        if x not in self.points:
            label = f"{self.name}{len(self.points)}"
            self.points[x] = ScenePoint(x, number(f"f{label}"), vector(f"g{label}"))
        return self.points[x]

    def put(self, x: GramVector, gradient: GramVector, value: QuadraticForm | None = None) -> ScenePoint:
        """Fix the gradient at a point."""
        self.points[x] = ScenePoint(x, number(f"f{self.name}{len(self.points)}") if value is None else value, gradient)
        return self.points[x]

    def conditions(self, of: FunctionClass) -> dict[str, QuadraticForm]:
        """What is >= 0 for a function of the class."""
        found = {}
        for (a, i), (b, j) in (
            (a, b) for a in enumerate(self.points.values()) for b in enumerate(self.points.values())
        ):
            condition = of.condition(i, j) if a != b else None
            if condition:
                found[f"f{self.name}: {a}, {b}"] = condition
        return found


class Tilted:
    """A function plus a linear one: the clients of a class in which all gradients differ by constants."""

    def __init__(self, base: Oracle, slope: GramVector) -> None:
        self.base, self.slope = base, slope

    def at(self, x: GramVector) -> ScenePoint:
        """The function at a point."""
        point = self.base.at(x)
        return ScenePoint(x, point.value + self.slope @ x, point.gradient + self.slope)


def mean_of(clients: Sequence[Oracle | Tilted], x: GramVector) -> ScenePoint:
    """F, the mean of the clients' functions, at a point."""
    points = [client.at(x) for client in clients]
    return ScenePoint(x, summed(p.value for p in points) / len(points), total(p.gradient for p in points) / len(points))


def alike(
    functions: Sequence[Oracle], known: Mapping[str, Fraction], f: Callable[[Fraction], Any]
) -> dict[str, Fraction]:
    """The instance on a line in which every function is f, of which we get value and slope; `known` is what no f tells."""
    found, points = dict(known), [point for function in functions for point in function.points.values()]
    while points:
        there = [point for point in points if point.x.parts.keys() <= found.keys()]
        for point in there:
            value, slope = f(sum((c * found[name] for name, c in point.x.parts.items()), Fraction(0)))
            found |= dict.fromkeys(point.value.numbers, value) | dict.fromkeys(point.gradient.parts, slope)
        points = [point for point in points if point not in there]
    return found


def squared(constant: sympy.Expr) -> QuadraticForm:
    """The square of an assumption's constant, such as sigma or a multiple of it, in the unknown number sigma^2."""
    factor, symbol = constant.as_coeff_Mul()
    if not symbol.is_Symbol or not factor.is_Rational:
        raise ValueError(f"{constant}: expected a symbol, or a multiple of one")
    return number(f"{symbol}^2") * fraction(factor) ** 2


def bounded_below(
    points: Iterable[ScenePoint], lowest: QuadraticForm, of: FunctionClass, name: str
) -> dict[str, QuadraticForm]:
    """That a function of the class is nowhere below a number: by a gradient step further down, where it is smooth."""
    found = {}
    for i, point in enumerate(points):
        room = point.value - lowest
        if of.L is not None:
            room = room - point.gradient.square / (2 * of.L)
        if room:
            found[f"{name} below {i}"] = room
    return found


def known_by_all(clients: Sequence[Oracle | Tilted], functions: Sequence[Oracle]) -> list[ScenePoint]:
    """F at the points where all clients' functions were asked."""
    common = [x for x in functions[0].points if all(x in function.points for function in functions)]
    return [mean_of(clients, x) for x in common]


# Scenes


@dataclass(frozen=True)
class Scene:
    """A round in vectors.

    means       monomials in the paper's symbols, such as dist2 or sigma^2, as forms: exact means over all outcomes
    conditions  what is >= 0 by the assumptions
    functions   the clients' functions
    within      the same for a smaller class, if the conditions are necessary, but perhaps not sufficient
    place       numbers of the local step that the statement is about
    line        an instance in one dimension that is known, as in `Programme`
    """

    means: Mapping[sympy.Expr, QuadraticForm]
    conditions: Mapping[str, QuadraticForm]
    functions: Sequence[Oracle] = ()
    within: Scene | None = None
    place: Numbers = field(default_factory=dict)
    line: Mapping[str, Fraction] = field(default_factory=dict)

    def form(self, e: sympy.Expr, at: Numbers) -> dict[sympy.Expr, tuple[Fraction, QuadraticForm]]:
        """The monomials of an expression, each with its coefficient and its form.  Raises ValueError for unknown ones."""
        found = {}
        for monomial, coefficient in sympy.expand(e.subs(dict(at) | dict(self.place))).as_coefficients_dict().items():
            if coefficient == 0:
                continue
            if monomial not in self.means:
                raise ValueError(f"{monomial}: expected one of {', '.join(sorted(map(str, self.means)))}")
            found[monomial] = fraction(coefficient), self.means[monomial]
        return found


def exact(e: Any, at: Numbers) -> Fraction:
    """An expression as a fraction.  Raises ValueError where it has none."""
    value = sympy.sympify(e).subs(at)
    if not value.is_Rational:
        raise ValueError(f"{e} = {value}: expected a fraction")
    return fraction(value)


@dataclass(frozen=True)
class PaperScenes:
    """What a paper supplies.

    names    of its statements about a round, without the paper's short name
    complete all numbers, from those that are given; raises ValueError for numbers that do not fit
    scenes   the round of a statement: one scene, or one for each local step
    step     name of the step size to which the candidates below are put
    tried    counts and constants to try, more of them for a full check; each with the largest step size of the candidates
             that the conditions admit
    setting  what all scenes have in common and the statements do not say, in words
    runs     numbers of whole runs, more than are tried: only the constant of the term of the start is on record there
    drifts   statements about drift for every number of steps (`every_step`): numbers besides counts, and counts that are
             that of the clients
    """

    names: tuple[str, ...]
    complete: Callable[[Statement, Mapping[str, Fraction]], Numbers]
    scenes: Callable[[Statement, Numbers], Sequence[Scene]]
    step: str
    tried: Callable[[Statement, bool], Sequence[Mapping[str, Fraction]]]
    setting: str
    runs: Callable[[Statement], Sequence[Mapping[str, Fraction]]] = lambda statement: ()
    drifts: Mapping[str, tuple[Mapping[str, Fraction], Sequence[str]]] = field(default_factory=dict)

    def of_start(self, statement: Statement) -> Iterator[tuple[SceneCase, Search]]:
        """The programmes of the term of the start in these runs."""
        for numbers in self.runs(statement):
            (case,) = cases_at(statement, self, numbers)
            yield case, searches(statement, case)[START]


def fitting(
    statement: Statement,
    given: Mapping[str, Fraction],
    needed: Iterable[str],
    steps: Sequence[str],
    others: Iterable[str],
) -> None:
    """Check the names of numbers, one of several step sizes, and that sigma is left out or 0, which means no noise.

    Raises ValueError for names that are missing or not needed, and for another sigma.
    """
    chosen, optional = [name for name in steps if name in given], [*others, "sigma"]
    missing = sorted(set(needed) - given.keys()) + ([] if chosen else [" or ".join(steps)])
    unknown = sorted(given.keys() - {*needed, *steps, *optional}) or (chosen if len(chosen) > 1 else [])
    if missing or unknown:
        wrong = f"missing {', '.join(missing)}" if missing else f"not needed: {', '.join(unknown)}"
        expected = f"{', '.join(sorted(needed))}, {' or '.join(steps)}, and perhaps {', '.join(optional)}=0"
        raise ValueError(f"{statement.id}: {wrong}; expected {expected}")
    if given.get("sigma", 0) != 0:
        raise ValueError(f"{statement.id}: sigma = {given['sigma']}: expected 0, for no noise, or no sigma")


def enumerable(statement: Statement, what: str, count: Any, most: int) -> None:
    """Raises ValueError if there are more outcomes, or parts of them, than can be enumerated."""
    if count > most:
        shown = count if count < _COUNTABLE else f"more than {_COUNTABLE}"
        raise ValueError(f"{statement.id}: {shown} {what}: expected {most} at most, with smaller numbers")


def tosses(number: Any) -> int:
    """The outcomes of so many coins, or a number that is too large as well."""
    return 2 ** int(min(number, 64))


# If no condition limits the step size, it is 1
_STEPS = tuple(Fraction(n) for n in (64, 8, 4, 2)) + tuple(
    Fraction(1, d)
    for d in (1, 2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 32, 36, 48, 64, 72, 81, 96, 128, 144, 192, 256, 384, 512)
)


_COUNTABLE = 10**9


@dataclass(frozen=True)
class SceneCase:
    """A statement in numbers, about one scene.

    numbers  those that are named in words
    solved   the same in the units in which the smoothness constant is 1, if they are others
    factor   the smoothness constant
    """

    numbers: Mapping[str, Fraction]
    at: Numbers
    scene: Scene
    solved: SceneCase | None = None
    factor: Fraction = Fraction(1)

    @property
    def told(self) -> str:
        """The numbers."""
        numbers = {**self.numbers, **{str(symbol): value for symbol, value in self.scene.place.items()}}
        return ", ".join(f"{name} = {value}" for name, value in numbers.items())


def admitted(statement: Statement, at: Numbers) -> str | None:
    """The first condition that the numbers violate, in words; None if there is none."""
    for condition in statement.when:
        relation = defined(condition.relation, statement.where)
        if relation.free_symbols <= at.keys():
            values = [side.subs(at) for side in relation.args]  # none, where the definitions decide it
            if not all(value.is_real for value in values) or relation.func(*values) != sympy.true:
                shown = ", ".join(f"{s} = {at[s]}" for s in sorted(relation.free_symbols, key=str))
                return f"{condition} is violated" + (f" at {shown}" if shown else "")
    return None


def _about_quantities(statement: Statement, at: Numbers, scene: Scene) -> Scene:
    """The scene with the conditions that are about quantities of the round."""
    within = None if scene.within is None else _about_quantities(statement, at, scene.within)
    found = dict(scene.conditions)
    for condition in statement.when:
        relation = defined(condition.relation, statement.where)
        if not relation.free_symbols <= at.keys():
            if not isinstance(relation, sympy.Le | sympy.Lt | sympy.Ge | sympy.Gt):
                raise ValueError(f"{condition}: expected an inequality between quantities of the round")
            room = relation.gts - relation.lts  # ValueError, as for a claim, if it has no value in the round
            found[str(condition)] = summed(form * c for c, form in scene.form(room, at).values())
    return replace(scene, conditions=found, within=within)


def cases(statement: Statement, rounds: PaperScenes, full: bool = False) -> Iterator[SceneCase]:
    """The statement at the numbers to try, each with the largest step size of the candidates that its conditions admit."""
    for given in rounds.tried(statement, full):

        def at(step: Fraction, given: Mapping[str, Fraction] = given) -> Numbers | None:
            try:
                found = rounds.complete(statement, dict(given) | {rounds.step: step})
            except ValueError:
                return None
            return None if admitted(statement, found) else found

        candidates = _STEPS[_STEPS.index(1) :] if at(_STEPS[0]) else _STEPS
        for step in candidates:
            found = at(step)
            if found is not None:
                numbers = dict(given) | {rounds.step: step}
                for scene in rounds.scenes(statement, found):
                    yield SceneCase(numbers, found, _about_quantities(statement, found, scene))
                break


def cases_at(statement: Statement, rounds: PaperScenes | None, numbers: Mapping[str, Fraction]) -> list[SceneCase]:
    """The statement at these numbers, by its paper's rounds.

    Raises ValueError for another statement, for numbers that are missing or do not fit, and for violated conditions.
    """
    paper, _, name = statement.id.partition(".")
    if rounds is None:
        raise ValueError(f"{statement.id}: expected a statement about a round, such as sfl.lemma6")
    if name not in rounds.names:
        raise ValueError(f"{statement.id}: expected one of {', '.join(f'{paper}.{n}' for n in rounds.names)}")
    at = rounds.complete(statement, numbers)
    if violated := admitted(statement, at):
        raise ValueError(f"{statement.id}: {violated}")
    found = _cases(statement, numbers, at, rounds)
    factor, other = _with_smoothness_one(statement, at)
    if factor == 1:
        return found
    solved = _cases(statement, numbers, other, rounds)
    return [replace(case, solved=same, factor=factor) for case, same in zip(found, solved, strict=True)]


def _cases(statement: Statement, numbers: Mapping[str, Fraction], at: Numbers, rounds: PaperScenes) -> list[SceneCase]:
    return [SceneCase(numbers, at, _about_quantities(statement, at, scene)) for scene in rounds.scenes(statement, at)]


def _with_smoothness_one(statement: Statement, at: Numbers) -> tuple[Fraction, Numbers]:
    """The smoothness constant, and the numbers in units of the objective in which it is 1; 1 and the same without one."""
    symbols = {one.name: one for one in catalogue.symbols(statement).values()}
    factor = next((value for s, value in at.items() if symbols[s.name].concept == "smoothness"), sympy.S.One)
    other = {
        s: v / factor ** symbols[s.name].dimension.as_powers_dict()[F] if v.is_Rational else v for s, v in at.items()
    }
    return exact(factor, {}), other


# Programmes


@dataclass(frozen=True)
class Search:
    """The programmes for the best factor of one or all terms, with the others as they are.

    above  every instance of the class is one of this programme, so that a proof is about the class
    below  every instance of this programme is one of the class
    sign   -1 for a term on the smaller side: then the best factor is minus the largest value
    """

    above: Programme
    below: Programme
    sign: int = 1

    def in_units_of(self, other: Search, factor: Fraction) -> Search:
        """The same, to be solved in the units of another search."""
        above = replace(self.above, solved=Units(other.above, factor))
        if self.below is self.above:
            return replace(self, above=above, below=above)
        return replace(self, above=above, below=replace(self.below, solved=Units(other.below, factor)))


@singledispatch
def sign(coefficient: Any) -> int:
    """1, -1 or 0."""
    return (coefficient > 0) - (coefficient < 0)


START = "optimisation"  # the term of the start in a theorem about a run
ALL, REVERSED = "all terms", ", reversed"  # of the larger side, multiplied by one factor; in the other direction
_DIRECTIONS = {"<=": (1,), ">=": (-1,), "=": (1, -1)}


def searches(statement: Statement, case: SceneCase) -> dict[str, Search]:
    """For all terms of the larger side at once, then for each term of a bound.

    Raises ValueError for another claim, and for symbols that have no value in the round.
    """
    if case.solved is not None:
        plain, solved = (searches(statement, one) for one in (replace(case, solved=None), case.solved))
        return {name: one.in_units_of(solved[name], case.factor) for name, one in plain.items()}
    claim = statement.claim
    if not isinstance(claim, Bound):
        raise ValueError(f"{statement.id}: expected a bound")
    found = {}
    for direction in _DIRECTIONS[claim.sign]:
        above = below = _programmes(statement, claim, case.at, case.scene, direction)
        if case.scene.within is not None:
            below = _programmes(statement, claim, case.at, case.scene.within, direction)
        for name, (programme, sign) in above.items():
            if not (programme.objective if name == ALL else programme.amount):
                continue  # nothing to bound, or a term that is 0 here
            label = name + REVERSED if direction < 0 and claim.sign == "=" else name
            found[label] = Search(programme, below[name][0], sign)
    return found


def _programmes(
    statement: Statement, claim: Bound, at: Numbers, scene: Scene, direction: int
) -> dict[str, tuple[Programme, int]]:
    """`searches` in one scene, of direction * (quantity - sum of terms) <= 0."""
    parts = {"": scene.form(defined(claim.quantity, statement.where), at)}
    for term in claim.terms:
        own = scene.form(defined(term.value, statement.where), at)
        parts[term.name] = {monomial: (-coefficient, form) for monomial, (coefficient, form) in own.items()}
    need: list[QuadraticForm] = []
    room: list[QuadraticForm] = []
    for own in parts.values():
        for monomial, (coefficient, form) in own.items():
            helps = direction * sign(coefficient) < 0 and monomial.is_nonnegative
            (room if helps else need).append(form * (coefficient * (-direction if helps else direction)))
    whole = summed([*need, *(-form for form in room)])
    found = {ALL: (Programme(summed(need), summed(room), scene.conditions, line=scene.line), 1)}
    for name, own in parts.items():
        signs = {direction * sign(coefficient) > 0 for coefficient, _ in own.values()}
        if name and len(signs) == 1 and all(monomial.is_nonnegative for monomial in own) and claim.sign != "=":
            amount = summed(form * (coefficient * sign(coefficient)) for coefficient, form in own.values())
            larger = signs == {False}
            found[name] = (
                Programme(whole + amount if larger else whole - amount, amount, scene.conditions, line=scene.line),
                (1 if larger else -1),
            )
    return found


# Brackets that were found earlier


UNBOUNDED, NOT_SOLVED, VIOLATION = "unbounded", "not solved", "violation of "


def file_of(paper: str) -> Path:
    """The file of a paper's brackets, which may be missing."""
    return Path(__file__).parents[1] / paper / "checks" / "brackets.json"


def key(programme: Programme) -> str:
    """The name of a programme: a digest of its forms."""

    def told(form: QuadraticForm) -> str:
        products = sorted((*pair, str(c)) for pair, c in form.products.items())
        return f"{products} {sorted((n, str(c)) for n, c in form.numbers.items())}"

    text = "\n".join([*map(told, (programme.objective, programme.amount)), *map(told, programme.conditions.values())])
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@cache
def kept(paper: str) -> dict[str, Any]:
    """The brackets in a paper's file, by the keys of their programmes."""
    file = file_of(paper)
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def written_instance(found: GramInstance) -> dict[str, Any]:
    """An instance as JSON; what is below the diagonal of the Gram matrix is left out."""

    def parts(x: Fraction) -> int:
        whole = x * PARTS
        assert whole.denominator == 1  # by the rounding
        return whole.numerator

    gram = [parts(x) for i, row in enumerate(found.gram) for x in row[i:]]
    return {"gram": gram, "values": [parts(x) for x in found.values.values()]}


def written(found: Bracket, programme: Programme) -> dict[str, Any]:
    """A bracket as JSON; without its instance, if that is the known one on a line."""
    names = list(programme.conditions)
    multipliers = {str(names.index(name)): str(x) for name, x in found.multipliers.items()}
    own = {} if found.instance == on_line(programme) else written_instance(found.instance)
    return {"upper": str(found.upper), "multipliers": multipliers} | own


def read_instance(told: Mapping[str, Any], programme: Programme) -> GramInstance:
    """An instance from JSON; the known one on a line, if none is told."""
    known = None if "gram" in told else on_line(programme)
    if known is not None:
        return known
    n, entries = len(programme.vectors), iter(told["gram"])
    if len(told["gram"]) != n * (n + 1) // 2:
        raise ValueError(f"{len(told['gram'])} inner products of {n} vectors: expected {n * (n + 1) // 2}")
    gram = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            gram[i][j] = gram[j][i] = Fraction(next(entries), PARTS)
    values = {name: Fraction(x, PARTS) for name, x in zip(programme.values, told["values"], strict=True)}
    return GramInstance(programme.vectors, tuple(map(tuple, gram)), values)


def read(told: Mapping[str, Any], programme: Programme) -> Bracket:
    """A bracket from JSON, with its lower end computed from its instance.  Raises ValueError if it is none."""
    names = list(programme.conditions)
    multipliers = {names[int(i)]: Fraction(x) for i, x in told["multipliers"].items()}
    found = Bracket(Fraction(0), Fraction(told["upper"]), read_instance(told, programme), multipliers)
    found = replace(found, lower=verified_instance(programme, found))
    if not verified_proof(programme, found):
        raise ValueError("the multipliers prove another inequality")
    return found


def bracket(programme: Programme, paper: str) -> Bracket:
    """The best constant: as it was found earlier, if that is verified, else solved now.

    Raises Unbounded and NotSolved as `tight` does, also for programmes that are known to end so.
    """
    if programme.solved is not None:
        found = programme.solved.bracket(bracket(programme.solved.programme, paper), programme)
        if found is not None:
            return found
    known = kept(paper).get(key(programme), "")
    if known == UNBOUNDED:
        raise Unbounded("no constant is enough: without this term, the rest of the inequality is false")
    if known == NOT_SOLVED:
        raise NotSolved("the solver found no bracket that survives the rounding to fractions")
    return read(known, programme) if known else tight(programme)


def violated(programme: Programme, paper: str) -> GramInstance | None:
    """An instance with objective > amount: as it was found earlier, if that is verified, else looked for now."""
    if programme.solved is not None:
        there = violated(programme.solved.programme, paper)
        here = None if there is None else programme.solved.instance(there, programme)
        if here is not None:
            return here
    known = kept(paper).get(VIOLATION + key(programme))
    if known is None:
        return violation(programme)
    found = read_instance(known, programme)
    verify(found, programme)
    return found if found.at(programme.objective) > found.at(programme.amount) else None


# Verdicts


@dataclass(frozen=True)
class FactorRange:
    """The best factor of a term is between `least` and `most`; `sign` is -1 for a term that may be larger."""

    least: Fraction
    most: Fraction
    sign: int

    @property
    def proves(self) -> bool:
        """Whether the factor 1 is proved."""
        return self.most <= 1 if self.sign > 0 else self.least >= 1

    @property
    def refutes(self) -> bool:
        """Whether an instance refutes the factor 1."""
        return self.least > 1 if self.sign > 0 else self.most < 1


def best(search: Search, paper: str) -> FactorRange:
    """The best factor.  Raises Unbounded if no factor is enough; NotSolved if an end is not known."""
    found = bracket(search.above, paper)
    if search.above is search.below:
        ends = found.lower, found.upper
    else:
        least = needed_on_line(search.below)
        near = least is not None and close(least, found.upper)
        ends = least if near and least is not None else bracket(search.below, paper).lower, found.upper
    low, high = sorted(search.sign * end for end in ends)
    return FactorRange(low, high, search.sign)


def check(rounds: PaperScenes) -> Callable[[Statement, bool], Verdict]:
    """The check of evidence of kind `worst_case`."""

    def checked(statement: Statement, full: bool = False) -> Verdict:
        from fedtheory.theory.proofs import every_record, every_step

        told: list[str] = []
        undecided: list[str] = []
        largest = Fraction(0)  # of the best factors of all terms
        constants: dict[str, dict[str, tuple[float, float]]] = {}
        if statement is catalogue.find(statement.id):
            # ValueError where a certificate on record is wrong, or an induction
            every_record.checked(statement, rounds)
            every_step.checked(statement, rounds)
            for case, search in rounds.of_start(statement):
                of_run = best(search, statement.paper)
                constants[case.told] = {START: (float(of_run.least), float(of_run.most))}
        for case in cases(statement, rounds, full):
            missing: list[str] = []
            proved: set[bool] = set()  # by direction
            every = searches(statement, case)
            for name, search in every.items():
                found: FactorRange | None = None
                try:
                    found = best(search, statement.paper)
                except Unbounded:
                    pass  # then `found` stays None
                except NotSolved as error:
                    missing.append(f"{name} at {case.told}: {error}")
                    if not name.startswith(ALL) or violated(search.below, statement.paper) is None:
                        continue
                if (found is None and name.startswith(ALL)) or (found is not None and found.refutes):
                    return _refuted(
                        statement, case, search, found, every[ALL + (REVERSED if name.endswith(REVERSED) else "")]
                    )
                if found is None:
                    continue
                if found.proves:
                    proved.add(name.endswith(REVERSED))
                if name.startswith(ALL):
                    largest = max(largest, found.least)
                constants.setdefault(case.told, {})[name] = float(found.least), float(found.most)
            # a direction in which nothing stands on the smaller side has no search
            if proved >= {name.endswith(REVERSED) for name in every if name.startswith(ALL)}:
                told.append(case.told)
            else:
                undecided.append(
                    missing[0] if missing else f"{case.told}: a larger constant is proved, the stated one is not"
                )
        where, left = ("; ".join(dict.fromkeys(several)) for several in (told, undecided))
        if not told:
            return Verdict(
                Status.OPEN, f"not decided: {left}" if left else "no numbers to try meet the conditions", best=constants
            )
        return Verdict(
            Status.TESTED,
            f"for all functions of the class in every dimension ({rounds.setting}), at {where}"
            + (f"; not decided: {left}" if left else ""),
            slack=float(1 / largest) if largest else None,
            best=constants,
        )

    return checked


def _refuted(
    statement: Statement, case: SceneCase, search: Search, found: FactorRange | None, whole: Search
) -> Verdict:
    """The verdict, with an instance whose left side is larger than its right side; `whole` is the search for all terms."""
    if found is None:
        instance = violated(whole.below, statement.paper)
        if instance is None:
            return Verdict(Status.OPEN, f"no factor seems to be enough at {case.told}, but no instance was found")
    else:
        instance = bracket(search.below, statement.paper).instance
    left, right = instance.at(whole.below.objective), instance.at(whole.below.amount)
    if left <= right:
        raise ValueError(f"{statement.id} at {case.told}: the instance does not refute it")
    numbers = {name: str(value) for name, value in case.numbers.items()}
    again = " ".join(["fedtheory tight", statement.id, *(f"{n}={v}" for n, v in numbers.items()), "--json"])
    witness = {**numbers, "left": str(left), "right": str(right), "functions": f"as `{again}` prints them"}
    says = f"at {case.told}: left side {float(left):.6g}, right side {float(right):.6g}, for functions of the class"
    slack = float(1 / found.least) if found is not None and search is whole else None
    return Verdict(Status.REFUTED, says, slack=slack, witness=witness)


def evidence(paper: str, rounds: PaperScenes) -> Iterator[Evidence]:
    """Evidence of kind `worst_case` for every statement that has numbers to try."""
    checked = check(rounds)
    for id_ in (f"{paper}.{name}" for name in rounds.names):
        if rounds.tried(catalogue.find(id_), False):
            yield Evidence(id_, "worst_case", checked)
