"""The search for counter-examples among the rounds of any algorithm: for the statements of a paper outside.

An instance is a round on functions of one variable, in fractions: quadratics, some with another curvature right of 0.
The round is the algorithm's own (`fedtheory.simulations.exact.trace`); expectations are over all orders of the clients and
the noise.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import pairwise, permutations, product
from math import factorial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from fedtheory.bounds.quantities import Quantity
from fedtheory.bounds.trials.choices import Choice, Choices, fractions, keep_sum, with_values
from fedtheory.bounds.trials.claims import SQUARED, balance, condition, inequalities
from fedtheory.bounds.trials.rounds import Form, Occurrence, PaperRounds
from fedtheory.bounds.worst_cases import CONVEX, STEPS, letters_of_settings, readable
from fedtheory.simulations.algorithms.base import Algorithm
from fedtheory.simulations.exact.rational import Fraction
from fedtheory.simulations.exact.trace import PiecewiseQuadratic, RandomVector, Trace, refuse_coordinates, trace
from fedtheory.simulations.problems import Problem
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Statement, defined

_DRAWS = 6  # of noise in an instance
_ONE, _HALF, _TENTH = Fraction(1), Fraction(1, 2), Fraction(1, 10)


@dataclass(frozen=True)
class OwnInstance:
    """A round from x of M clients F_m(y) = h_m y^2/2 + bend_m max(y, 0)^2/2 + b_m y, sum b_m = 0, at a share of the step.

    K    local steps
    S    sampled clients; None where the algorithm has no such setting, or no statement speaks of it
    law  of the noise: independent, shared by all clients, or biased
    """

    h: tuple[Fraction, ...]
    b: tuple[Fraction, ...]
    x: Fraction
    K: int = 1
    S: int | None = None
    sigma: Fraction = Fraction(0)
    bend: tuple[Fraction, ...] = ()
    share: Fraction = _ONE
    law: str = "independent"

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.h)

    @property
    def curvatures(self) -> list[Fraction]:
        """The curvatures of all F_m on both sides of 0."""
        return [*self.h, *(h + bend for h, bend in zip(self.h, self.bend, strict=False))]

    @property
    def mean(self) -> list[Fraction]:
        """The curvatures of F on both sides of 0."""
        left = sum(self.h, Fraction(0)) / self.M
        return [left, left + sum(self.bend, Fraction(0)) / self.M]


@dataclass(frozen=True, kw_only=True)
class OwnForm(Form):
    """A statement ready for numbers: which functions, noises and step sizes its assumptions admit.

    convex    whether every client's function is convex
    bounded   whether F is bounded below; then x* = 0 is its minimiser
    of_mean   whether mu is that of F
    bounds    concept -> what its bounds are times their letters (`fedtheory.theory.catalogue.bounds`); a letter that
              bounds nothing may be any number
    laws      of the noise; none: there is none
    where     the statement's definitions
    concepts  symbol -> concept
    """

    convex: bool
    bounded: bool
    of_mean: bool
    bounds: Mapping[str, Mapping[str, Sequence[Fraction]]]
    laws: tuple[str, ...]
    where: Mapping[Any, Any]
    concepts: Mapping[str, str]


@dataclass(frozen=True)
class OwnRounds:
    """The rounds of an algorithm outside.

    build       the algorithm, called with eta and its settings
    quantities  of a round, by the names of their symbols
    """

    build: Callable[..., Algorithm]
    quantities: Mapping[str, Quantity]

    @property
    def settings(self) -> set[str]:
        """The names of the settings that it leaves open, but for eta."""
        return set(letters_of_settings(self.build, {}))

    @property
    def chosen(self) -> dict[str, int]:
        """The counts among the settings that are chosen."""
        given = self.build.keywords if isinstance(self.build, partial) else {}
        return {name: value for name, value in given.items() if isinstance(value, int)}

    @property
    def step(self) -> str | None:
        """The name of the setting that is the number of local steps."""
        return next((name for name in STEPS if name in self.settings), None)

    def own(self, r: OwnInstance) -> dict[str, int]:
        """The settings of the algorithm in an instance, but for those that are chosen."""
        return ({self.step: r.K} if self.step else {}) | ({} if r.S is None else {"S": r.S})

    def search(self) -> PaperRounds[OwnInstance, OwnForm]:
        """The search, ready to use as a check."""
        return PaperRounds(
            forms=self.forms, family=self.family, cases=self.cases, choices=self.choices, completion=self.completion,
            axes=(), witness=self.witness, described=self.described, effort=((4, 30), (12, 200)),
            searched="first rounds of up to 3 clients on the line, up to 5 local steps, quadratic and with one bend",
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------ a statement in numbers

    def forms(self, statement: Statement) -> list[OwnForm]:
        """The statement, if it is about one round.  Raises ValueError where its claim is not in numbers."""
        readable(statement)
        given = catalogue.properties(statement)
        laws = {"independent": (), "shared": (Property.INDEPENDENT_NOISE,), "biased": (Property.UNBIASED,)}
        concepts = {s.name: s.concept for s in catalogue.symbols(statement).values() if s.concept}
        bounds = catalogue.bounds(statement)
        noisy = bounds["gradient noise"] or "gradient noise" in {concepts.get(s.name) for s in statement.symbols}
        return [
            OwnForm(
                inequalities=tuple(inequalities(statement.claim, statement.where)),
                conditions=tuple(condition(defined(c.relation, statement.where)) for c in statement.when),
                symbols=frozenset(s.name for s in statement.symbols),
                convex=bool({Property.CONVEX, Property.STRONGLY_CONVEX} & given.keys()),
                bounded=bool(_BOUNDED_BELOW & given.keys()) or any(s.name in _OF_STAR for s in statement.symbols),
                of_mean=Property.STRONGLY_CONVEX not in given,
                bounds=bounds,
                laws=tuple(law for law, lost in laws.items() if noisy and not {*lost} & given.keys()),
                where=statement.where,
                concepts=concepts,
            )
        ]

    def exact(self, r: OwnInstance, to: OwnForm) -> dict[str, Fraction]:
        """What the assumptions bound, as it is in the instance, by concept; of the heterogeneity the square."""
        return {
            "smoothness": max(map(abs, r.curvatures)),
            "strong convexity": min(r.mean) if to.of_mean else min(r.curvatures),
            "gradient noise": r.sigma,
            "heterogeneity at the optimum": sum((b * b for b in r.b), Fraction(0)) / r.M,
        }

    def constants(self, r: OwnInstance, to: OwnForm) -> dict[str, Any]:
        """The numbers of the instance by the letters of the paper, but for step sizes and quantities of the round.

        Assumptions hold with equality; a letter of which none speaks has another number than the instance.
        """
        own, exact = self.chosen | self.own(r), self.exact(r, to)
        counts = {
            "clients": Fraction(r.M),
            "sampled clients": Fraction(own.get("S", r.M)),
            "local steps": Fraction(next((own[n] for n in STEPS if n in own), 1)),
        }
        L = exact["smoothness"]
        otherwise = {**exact, "smoothness": L / 10, "strong convexity": L, "gradient noise": Fraction(0)}
        found: dict[str, Any] = {"M": counts["clients"], **{n: Fraction(v) for n, v in own.items()}}
        for name, concept in to.concepts.items():
            if concept in exact:
                power, extreme = _power(concept), min if concept == "strong convexity" else max
                parts = to.bounds[concept].get(name, ())
                found[name] = extreme([exact[concept] / part**power for part in parts], default=otherwise[concept])
                if name in SQUARED:  # by the square, which a heterogeneity already is
                    found[SQUARED[name]] = found[name] ** (3 - power)
            elif concept in counts:
                found[name] = counts[concept]
        return found

    def admits(self, r: OwnInstance, to: OwnForm) -> bool:
        """Whether the instance is within the assumptions."""
        if (to.bounded and min(r.mean) <= 0) or (to.convex and min(r.curvatures) < 0):
            return False
        for concept, exact in self.exact(r, to).items():
            numbers = [part ** _power(concept) for part in to.bounds[concept].get("", ())]
            if concept == "strong convexity":
                letters = to.bounds[concept].keys() - {""}
                if (letters and exact <= 0) or any(exact < number for number in numbers):
                    return False
            elif any(exact > number for number in numbers):
                return False
        return True

    def admissible(self, r: OwnInstance, to: OwnForm) -> Fraction | None:
        """The largest step size that the conditions admit, of many fractions, times the share; None for none."""
        known = self.constants(r, to)
        limited = any("eta" in map(str, w.free_symbols) for w in to.where.values()) or "eta" in to.symbols
        L = max(map(abs, r.curvatures)) or _ONE

        def admits(step: Fraction) -> bool:
            at = known | {"eta": step / L}  # quantities of the round have no numbers before the step size is chosen
            return all(one.holds(at) for one in to.conditions if one.symbols <= at.keys())

        for above, step in pairwise((_CANDIDATES[0], *_CANDIDATES)) if limited else ():
            if admits(step):
                larger = _between(step, above)
                found = bisect_left(larger, True, key=lambda one: not admits(one))  # smaller ones are admitted
                return (larger[found - 1] if found else step) / L * r.share
        return None

    def cases(self, r: OwnInstance, to: OwnForm, further: bool) -> Iterator[Occurrence]:
        """The claim in numbers; nothing where the instance is not within conditions and assumptions."""
        if further or not self.admits(r, to):
            return
        eta = self.admissible(r, to)
        if eta is None:
            return
        known = self.constants(r, to) | {"eta": eta}
        known |= self.measured(r, eta, tuple(sorted(to.symbols & self.quantities.keys())))
        if not all(one.holds(known) for one in to.conditions):
            return
        for one in to.inequalities:
            yield Occurrence(balance(one, known), {})

    def measured(self, r: OwnInstance, eta: Fraction, names: tuple[str, ...]) -> dict[str, Any]:
        """The expectations of quantities of the round."""
        wanted = tuple((n, self.quantities[n]) for n in names)
        return _measured(self.build, tuple(self.own(r).items()), wanted, replace(r, share=_ONE), eta)

    # ------------------------------------------------------------------------------------------------------ the family

    def family(self, to: OwnForm, full: bool) -> Iterator[OwnInstance]:
        """Instances that the assumptions admit, from simple to complicated."""
        curvatures: list[tuple[Any, ...]] = [(1, 1), (1, _HALF), (1, _TENTH), (_HALF, 1, 1)] + (
            [] if to.convex else [(1, -_HALF), (-1, 1, 1)]
        )
        if "clients" not in to.concepts.values():  # a paper about one machine
            curvatures = [(1,), (_TENTH,), *([] if to.bounded else [(-1,)])]
        slopes: dict[int, list[tuple[int, ...]]]
        slopes = {1: [(0,)], 2: [(0, 0), (1, -1), (4, -4)], 3: [(0, 0, 0), (1, 1, -2)]}
        noise = min([_ONE, *to.bounds["gradient noise"].get("", ())])
        for h in curvatures:
            M = len(h)
            samples: list[int | None] = [M, 1] if "S" in self.settings and "S" in to.symbols else [None]
            counts: tuple[int, ...] = (1, 2, 5) if M <= 2 else (1, 2)
            if not self.step or "local steps" not in to.concepts.values():  # then a round is a step
                counts = (1,)
            for S in samples:
                for K in counts:
                    for b, x, share in product(
                        slopes[M], (1, 0, -1, 3), (_ONE, Fraction(1, 8)) if full or M <= 2 else (_ONE,)
                    ):
                        plain = OwnInstance(_fractions(h), _fractions(b), Fraction(x), K, S, share=share)
                        yield plain
                        if K * (S or M) <= _DRAWS:
                            yield from (replace(plain, sigma=noise, law=law) for law in to.laws if noise)
                        if x and M <= 2:
                            yield replace(
                                plain, bend=_fractions([-one * Fraction(4, 5) if one > 0 else 0 for one in h])
                            )

    def choices(self, r: OwnInstance, to: OwnForm) -> Choices:
        """The values that a search gives to the numbers of an instance."""
        parts = fractions(1, (9, 10), (3, 4), (5, 8), (1, 2), (3, 8), (1, 4), (1, 8), (1, 10), (1, 16))
        sizes = fractions((1, 8), (1, 4), (1, 2), 1, 2, 3, 4, 8, 16)
        either = (*sizes, *(-size for size in sizes))
        return {
            "sigma": Choice(sizes if r.sigma else (), fractions(0, 1)),
            "law": Choice(simple=to.laws),
            "bend": Choice(simple=fractions(0), depth=1, empty=True),
            "b": Choice(either, fractions(0, 1, -1), depth=1),
            "K": Choice(simple=tuple(range(1, r.K + 1))),
            "share": Choice(parts, (_ONE,)),
            "h": Choice((*parts, *([] if to.convex else (-p for p in parts))), fractions(1, (1, 2)), depth=1),
            "x": Choice((*either, Fraction(0)), fractions(0, 1)),
        }

    def completion(self, r: OwnInstance, values: Mapping[str, Any], to: OwnForm) -> OwnInstance | None:
        """The slopes of all clients go on to have sum 0."""
        other = with_values(r, values)
        other = replace(other, b=keep_sum(r.b, other.b))
        return other if not sum(other.b) else None

    def witness(self, r: OwnInstance, to: OwnForm) -> dict[str, Any]:
        """All that a person needs to recompute an instance."""
        functions = [_function(*one) for one in zip(r.h, r.b, r.bend or (Fraction(0),) * r.M, strict=True)]
        found: dict[str, Any] = {f"F_{m + 1}(y)": text for m, text in enumerate(functions)}
        found |= {"x": str(r.x), "x*": "0"} | {n: str(value) for n, value in (self.chosen | self.own(r)).items()}
        found["eta"] = str(self.admissible(r, to))
        known = self.constants(r, to)
        for name, concept in to.concepts.items():
            if concept in _TOLD and name in to.bounds[concept]:
                found[name] = str(known[name])
            elif concept in _TOLD and name in to.symbols:
                found[f"{name}, not assumed"] = str(known[name])
        if not r.sigma:
            return {**found, "sigma": "0"}
        return {**found, "noise": r.law + (f", of deviation {r.sigma}" if known.get("sigma") != r.sigma else "")}

    def described(self, r: OwnInstance, case: Occurrence) -> str:
        """The counts of an instance."""
        counts = self.chosen | self.own(r)
        return ", ".join([f"M = {r.M}", *(f"{name} = {value}" for name, value in counts.items())])


_OF_STAR = {"gap", "gap_next", "dist2", "dist2_next"}  # they have a meaning only where F has a minimiser
_BOUNDED_BELOW = {*CONVEX, Property.MINIMISER, Property.BOUNDED_BELOW}
_TOLD = ("smoothness", "strong convexity", "gradient noise")  # in a witness
_CANDIDATES = tuple(Fraction(n) for n in (64, 8, 4, 2)) + tuple(
    Fraction(1, d) for d in (1, 2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 32, 36, 48, 64, 81, 96, 144, 192, 256, 512)
)


def _power(concept: str) -> int:
    """The power in which `OwnRounds.exact` has what is bounded."""
    return 2 if concept == "heterogeneity at the optimum" else 1


@cache
def _between(low: Fraction, high: Fraction) -> list[Fraction]:
    """Fractions between two candidates, ascending: those with small denominators, and parts of the way."""
    found = {Fraction(n, d) for d in range(1, 13) for n in range(int(low * d), int(high * d) + 1)}
    found |= {Fraction(1, d) for d in range(13, 513)} | {low + (high - low) * k / 8 for k in range(1, 8)}
    return sorted(one for one in found if low < one < high)


def _fractions(numbers: Iterable[Any]) -> tuple[Fraction, ...]:
    return tuple(Fraction(x) for x in numbers)


def _function(h: Fraction, b: Fraction, bend: Fraction) -> str:
    square = f"{h / 2} y^2" if not bend else f"{h / 2} y^2 for y < 0, {(h + bend) / 2} y^2 for y > 0"
    slope = "" if not b else f" {'+' if b > 0 else '-'} {abs(b)} y"
    return square + (f", {slope.strip()}" if bend and b else slope)


@lru_cache(maxsize=20_000)
def _measured(
    build: Callable[..., Algorithm],
    settings: tuple[tuple[str, int], ...],
    quantities: tuple[tuple[str, Quantity], ...],
    r: OwnInstance,
    eta: Fraction,
) -> dict[str, Any]:
    algorithm = _built(build, settings, r.M)
    S = algorithm.participants(cast(Problem, SimpleNamespace(M=r.M, weights=None, name="an instance")))
    chances, traces = [], []
    for order in permutations(range(r.M), S):
        found = _trace(algorithm, r, eta, order)
        traces.append(found)
        chances.append(Fraction(factorial(r.M - S), factorial(r.M)))
    return {n: sum(chance * q(one) for chance, one in zip(chances, traces, strict=True)) for n, q in quantities}


@cache
def _built(build: Callable[..., Algorithm], settings: tuple[tuple[str, int], ...], M: int) -> Algorithm:
    try:
        algorithm = build(eta=1.0, **dict(settings))
    except TypeError as error:
        raise ValueError(f"{error}: a search expects numbers for all settings but eta and counts") from None
    refuse_coordinates(algorithm, M)
    return algorithm


def _trace(algorithm: Algorithm, r: OwnInstance, eta: Fraction, order: tuple[int, ...]) -> Trace:
    """The round with one order: without noise once, to count its steps, then with a column for each step's noise."""

    def made(count: int) -> Trace:
        outcomes = bool(r.bend) and count > 0 and r.law != "biased"
        biased = r.law == "biased"
        draws = 0 if biased else count
        columns = 2**draws if outcomes else 1 + draws
        one, nothing = Fraction(1), Fraction(0)
        weights = np.array([one / columns] * columns if outcomes else [one] * columns, dtype=object)

        def constant(v: Fraction) -> RandomVector:
            return RandomVector.constant(np.array([v], dtype=object), weights, outcomes)

        def noise(client: int, turn: int, k: int, at: RandomVector) -> RandomVector:
            place = (turn, k) if r.law != "shared" else (0, k)
            j = seen.setdefault(place, len(seen))
            if not count or not r.sigma:
                return constant(nothing)
            if biased:
                return constant(r.sigma)
            values = np.full((1, columns), nothing, dtype=object)
            if outcomes:
                values[0] = [r.sigma * sign[j] for sign in product((1, -1), repeat=draws)]
            else:
                values[0, 1 + j] = r.sigma
            return RandomVector(values, weights)

        seen: dict[tuple[int, int], int] = {}
        functions = [
            PiecewiseQuadratic(np.array([[h]], dtype=object), constant(b), bend)
            for h, b, bend in zip(r.h, r.b, r.bend or (Fraction(0),) * r.M, strict=True)
        ]
        zero = constant(nothing)
        return trace(algorithm, functions, constant(r.x), zero, eta, order, noise)

    plain = made(0)
    return made(len(plain.steps)) if r.sigma else plain
