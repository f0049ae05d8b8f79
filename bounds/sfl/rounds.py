"""The statements about one round of SFL or PFL, decided on exact instances, and a search for counter-examples.

An instance is a federation of quadratics, a start and a round with its step size.  Every symbol of a statement is then a
fraction: the constants of the problem by closed forms, the expectations by the traces of the algorithms' own rounds.

The family has instances for what a statement does not assume: noise that all clients share, biased gradients, one fixed
order of the clients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import product
from math import isqrt, perm
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.core.relational import Relational

from fedtheory.bounds.sfl.quantities import OF_STEPS, PARALLEL, QUANTITIES, SEQUENTIAL, of_step
from fedtheory.bounds.trials import claims
from fedtheory.bounds.trials.choices import Choice, Choices, counts, fractions, keep_sum, with_values
from fedtheory.bounds.trials.rounds import Form, Occurrence, PaperRounds
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.rational import Fraction
from fedtheory.simulations.exact.trace import LAWS, OrderOutcomes, round_in_numbers
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Properties, Property
from fedtheory.theory.statement import Evidence, Statement, defined

Numbers = NDArray[Any]

# Instances


@dataclass(frozen=True)
class Instance:
    """A round from x of M functions F_m(y) = y'H_m y / 2 + b_m'y, in coordinates in which grad F(0) = 0.

    H, b, x   nested tuples (M, d, d), (M, d), (d,) of Fractions, d = 1 or 2; sum b_m = 0
    S, K      participating clients, local steps
    sigma_sq  variance of a stochastic gradient
    bend      in one coordinate: adds bend_m max(y, 0)^2 / 2 to F_m, so that it is not quadratic; () for none
    law       of the noise and the order, one of `LAWS`

    Raises ValueError for shapes that do not fit, or slopes b_m that do not sum to 0.
    """

    H: tuple[tuple[tuple[Fraction, ...], ...], ...]
    b: tuple[tuple[Fraction, ...], ...]
    x: tuple[Fraction, ...]
    S: int
    K: int
    sigma_sq: Fraction
    bend: tuple[Fraction, ...] = ()
    law: str = "independent"

    def __post_init__(self) -> None:
        H: Numbers = np.asarray(self.H)
        b: Numbers = np.asarray(self.b)
        if H.shape != (*b.shape, len(self.x)) or len(self.x) not in (1, 2):
            raise ValueError(f"H {H.shape}, b {b.shape}, x ({len(self.x)},): expected (M, d, d), (M, d), (d,), d <= 2")
        if b.sum(0).any():
            raise ValueError(f"b = {self.b}: expected slopes that sum to 0, so that grad F(0) = 0")

    @property
    def M(self) -> int:
        """Fraction of clients."""
        return len(self.H)

    @cached_property
    def curvatures(self) -> list[Fraction]:
        """The curvatures of all F_m, also those right of 0."""
        own = [value for H in self.H for value in eigenvalues(H)]
        return own + [value + more for value, more in zip(own, self.bend, strict=False)]

    @cached_property
    def mean(self) -> Numbers:
        """The second derivative of F, (d, d)."""
        return np.asarray(self.H).sum(0) / self.M

    @cached_property
    def L(self) -> Fraction:
        """The smallest L of Assumption 1: the largest eigenvalue in modulus."""
        return max(map(abs, self.curvatures))

    @cached_property
    def mu(self) -> Fraction:
        """The smallest curvature of all F_m, of either sign."""
        return min(self.curvatures)

    @cached_property
    def zeta_star_sq(self) -> Fraction:
        """(1/M) sum ||grad F_m(0)||^2 (Assumption 3b)."""
        return (np.asarray(self.b) ** 2).sum() / self.M

    @cached_property
    def _deviations(self) -> tuple[Numbers, Numbers]:
        """The means of G_m G_m and of G_m b_m, with G_m = H_m - H: (d, d), (d,)."""
        G: Numbers = np.asarray(self.H) - self.mean
        both = [(g @ g, g @ v) for g, v in zip(G, np.asarray(self.b), strict=True)]
        return sum(square for square, _ in both) / self.M, sum(mixed for _, mixed in both) / self.M

    def zeta_sq(self, beta: Fraction) -> Fraction | None:
        """The smallest zeta^2 of Assumption 3a for this beta, or None where beta is too small for any, or F_m bent.

        With G_m = H_m - H and P, q, s the means of G_m G_m, G_m b_m, ||b_m||^2 it is s + q'(beta^2 H H - P)^-1 q, the
        maximum over y of (1/M) sum ||G_m y + b_m||^2 - beta^2 ||H y||^2, if that matrix is positive definite.
        """
        if self.bend:
            return None
        P, q = self._deviations
        if not P.any():
            return self.zeta_star_sq
        A = beta**2 * self.mean @ self.mean - P
        if not (A.trace() > 0 and determinant(A) > 0):
            return None
        turned = q if len(q) == 1 else np.array([[A[1, 1], -A[0, 1]], [-A[0, 1], A[0, 0]]]) @ q  # adjugate
        return self.zeta_star_sq + q @ turned / determinant(A)

    def fits(self, given: Properties) -> bool:
        """Whether it has the given properties; checks only those that some quadratics lack."""
        convex = self.mu >= 0
        right = self.mean[0, 0] + sum(self.bend) / self.M
        bounded = self.mean.trace() >= 0 and determinant(self.mean) >= 0 and (not self.bend or right >= 0)
        return (convex or Property.CONVEX not in given) and (bounded or Property.BOUNDED_BELOW not in given)

    def described(self) -> dict[str, Any]:
        """As a witness shows it: fractions as text, numbers instead of one-dimensional vectors and matrices."""
        one = len(self.x) == 1
        return {
            "H": [str(H[0][0]) if one else [[str(h) for h in row] for row in H] for H in self.H],
            **({"bend": [str(v) for v in self.bend]} if self.bend else {}),
            "b": [str(b[0]) if one else [str(v) for v in b] for b in self.b],
            "x": str(self.x[0]) if one else [str(v) for v in self.x],
            "x_star": 0 if one else [0, 0],
            **{"M": self.M, "S": self.S, "K": self.K, "sigma^2": str(self.sigma_sq)},
            **({"law": self.law} if self.law != LAWS[0] else {}),
        }


def determinant(A: Numbers) -> Fraction:
    """The determinant of a matrix (d, d), d = 1 or 2."""
    return A[0, 0] if len(A) == 1 else A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]


def eigenvalues(A: tuple[tuple[Fraction, ...], ...]) -> list[Fraction]:
    """Eigenvalues of a symmetric matrix (d, d), d = 1 or 2.  Raises ValueError where they are irrational, for fractions."""
    if len(A) == 1:
        return [A[0][0]]
    middle, radius_sq = (A[0][0] + A[1][1]) / 2, ((A[0][0] - A[1][1]) / 2) ** 2 + A[0][1] ** 2
    radius = root(radius_sq)
    if radius**2 != radius_sq:
        raise ValueError(f"{A}: expected a matrix with rational eigenvalues")
    return [middle - radius, middle + radius]


def root(q: Fraction) -> Fraction:
    """The square root of q >= 0; where it is irrational, a fraction slightly below it."""
    fine = 1000 * q.denominator
    return Fraction(isqrt(q.numerator * q.denominator * 1_000_000), fine)


@lru_cache(maxsize=5_000)
def outcomes(instance: Instance, eta: Fraction, sequential: bool) -> OrderOutcomes:
    """The round of an instance by SFL or PFL, in every order; cached."""
    H, b, x = (np.array(given, dtype=object) for given in (instance.H, instance.b, instance.x))
    algorithm = (SFL if sequential else PFL)(instance.K, 1.0, instance.S)
    return round_in_numbers(algorithm, H, b, x, eta, instance.sigma_sq, instance.bend, instance.law)


# The instances


def _line(curvatures: Iterable[Any], slopes: Iterable[Any], x: Any, S: int, K: int, sigma_sq: Any) -> Instance:
    """An instance in one dimension, with fractions."""
    H, b = (tuple(map(Fraction, q)) for q in (curvatures, slopes))
    return Instance(tuple(((h,),) for h in H), tuple((v,) for v in b), (Fraction(x),), S, K, Fraction(sigma_sq))


# One dimension: curvatures, slopes, and (S, K), from simple to complicated
_HALF = Fraction(1, 2)
_LINES: tuple[tuple[tuple[tuple[Any, ...], ...], tuple[Any, ...], tuple[tuple[int, int], ...]], ...] = (
    (((1,),), (0,), ((1, 1), (1, 2), (1, 3))),
    (((1, 1), (1, 0), (1, _HALF), (1, -_HALF)), (1, -1), ((2, 1), (1, 1), (2, 2), (1, 2))),
    (((1, 1, 1), (1, _HALF, 0), (1, 1, -_HALF)), (2, -1, -1), ((1, 1), (2, 1), (3, 1))),
)
# x, factor of the slopes (0 or 1), sigma^2
_STARTS = ((0, 1, 0), (1, 0, 0), (0, 0, 1), (1, 1, 0), (-1, 1, 0), (2, 1, 1), (-Fraction(1, 4), 1, 0))
# Two dimensions: matrices that do not commute, along the first axis and along (3, 4)/5; convex, strongly, indefinite
_ALONG = np.array([[9, 12], [12, 16]], dtype=object) / Fraction(25)
_AXIS = np.array([[1, 0], [0, 0]], dtype=object) * Fraction(1)
_PLANES = ((Fraction(0), Fraction(1)), (Fraction(1, 4), Fraction(3, 4)), (-Fraction(1, 4), Fraction(5, 4)))
_PLANE_STARTS = (((0, 0), (0, 1), 0), ((1, 0), (0, 0), 0), ((1, 1), (1, 0), 1))


@cache
def instances() -> tuple[Instance, ...]:
    """The exact instances, from simple to complicated."""
    found: dict[Instance, None] = {}
    for curvatures, slopes, rounds in _LINES:
        for (S, K), own, (x, sloped, sigma_sq) in product(rounds, curvatures, _STARTS):
            found[_line(own, [sloped * v for v in slopes], x, S, K, sigma_sq)] = None
    for (S, K), (floor, rise), (start, slope, sigma_sq) in product(((2, 1), (1, 1), (2, 2)), _PLANES, _PLANE_STARTS):
        matrices = (floor * np.eye(2, dtype=int) + rise * direction for direction in (_AXIS, _ALONG))
        H = tuple(tuple(map(tuple, matrix.tolist())) for matrix in matrices)
        b = tuple(tuple(sign * Fraction(v) for v in slope) for sign in (1, -1))
        found[Instance(H, b, tuple(map(Fraction, start)), S, K, Fraction(sigma_sq))] = None
    found[_line([1] * 12, [0] * 12, 1, 1, 1, 0)] = None  # one of many equal clients
    straight = (*found, *map(_bent, (i for i in found if len(i.x) == 1 and i.M <= 3 and i.S * i.K <= 2)))
    # Noise that many clients share is not divided by their number; errors that many steps repeat add up
    long = [_line([1] * M, [0] * M, x, M, K, 1) for M, K in ((12, 1), (1, 20)) for x in (0, 2)]
    long.append(
        _line([1] * 10, [1] * 5 + [-1] * 5, Fraction(1, 24), 10, 1, 0)
    )  # near where this order ends as it began
    return (*straight, *(replace(i, law=law) for i in (*straight, *long) for law in LAWS[1:] if _matters(law, i)))


def _matters(law: str, instance: Instance) -> bool:
    """Whether the law makes a difference."""
    if law == "one order":
        return len({*zip(instance.H, instance.b, instance.bend or instance.b, strict=True)}) > 1
    return bool(instance.sigma_sq) and (law == "biased" or instance.S > 1)


def _bent(instance: Instance) -> Instance:
    """The instance on functions that are not quadratic: every other one, from the first on, is flatter right of 0."""
    return replace(instance, bend=tuple(-3 * H[0][0] / 4 * ((m + 1) % 2) for m, H in enumerate(instance.H)))


FAMILY = (
    "quadratics in one dimension and in two, where their Hessians need not commute, one-dimensional functions that are "
    "flatter right of 0, M = 1, 2, 3, 12, S = 1..3, K = 1..3, convex or not as the assumptions allow; where they allow it, "
    "noise that all clients share, biased gradients, one order"
)

# Claims and conditions, compiled to exact arithmetic


@dataclass(frozen=True, kw_only=True)
class RoundForm(Form):
    """A statement about one round, ready for numbers; `conditions` are those without the step size.

    on_step       the others; squared where they have a root
    caps          these as eta A <= B: pairs (A^2, B^2)
    given         the properties that it assumes
    sequential    whether it is about SFL, not PFL
    """

    on_step: tuple[claims.NumericCondition, ...]
    caps: tuple[tuple[claims.Function, claims.Function], ...]
    given: Properties
    sequential: bool


def forms(statement: Statement) -> list[RoundForm]:
    """`form_of`, for a statement that is searched.

    Raises ValueError as `form_of` does, and for a statement that is not one of `SEQUENTIAL` and `PARALLEL`.
    """
    if statement.id.removeprefix("sfl.") not in (*SEQUENTIAL, *PARALLEL):
        raise ValueError(f"{statement.id}: expected one of {', '.join(SEQUENTIAL + PARALLEL)}")
    return form_of(statement)


def form_of(statement: Statement) -> list[RoundForm]:
    """A statement with its definitions substituted; several forms where a constant is unassumed.

    Raises ValueError as `inequalities` and `condition` do, and for a condition that is not linear in eta.
    """
    where, given = dict(statement.where), catalogue.properties(statement)
    relations = [defined(c.relation, where) for c in statement.when]
    relations = [r.reversed if isinstance(r, Relational) and r.rel_op != "<=" else r for r in relations]
    steps = [r for r in relations if "eta" in {s.name for s in r.free_symbols}]
    always, on_step = (
        tuple(claims.condition(r) for r in relations if (r in steps) is about) for about in (False, True)
    )
    form = RoundForm(
        inequalities=tuple(claims.inequalities(statement.claim, where)),
        conditions=always,
        symbols=frozenset(claims.symbols_of(statement.claim, where, statement.when)),
        on_step=on_step,
        caps=tuple(map(_cap, steps)),
        given=given,
        sequential=statement.id.removeprefix("sfl.") in SEQUENTIAL,
    )
    return [replace(form, factors=factors) for factors in claims.unassumed(statement)]


def _squared(e: sympy.Expr) -> claims.Function:
    return claims.exact(sympy.expand_power_base(e**2, force=True))


def _cap(relation: Relational) -> tuple[claims.Function, claims.Function]:
    """A condition on the step as eta A <= B: squares of A and B."""
    (eta,) = [s for s in relation.free_symbols if s.name == "eta"]
    difference = sympy.expand(relation.lhs - relation.rhs)
    slope, rest = difference.coeff(eta, 1), difference.coeff(eta, 0)
    if sympy.expand(difference - slope * eta - rest) != 0:
        raise ValueError(f"condition {relation}: expected it linear in eta")
    return _squared(sympy.factor(slope)), _squared(sympy.factor(rest))


# The symbols of an instance


@dataclass(frozen=True)
class RoundInstance:
    """A round of an instance, with step size eta, and beta where the statement uses Assumption 3a."""

    instance: Instance
    eta: Fraction
    beta: Fraction | None


def symbols(instance: Instance, beta: Fraction | None, factors: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """The constants by name; with beta, those of Assumption 3a too.

    factors  multiply the instance's values of unassumed constants
    """
    known: dict[str, Any] = {
        **{name: Fraction(count) for name, count in (("M", instance.M), ("S", instance.S), ("K", instance.K))},
        **{"L": instance.L, "mu": instance.mu},
        **{"sigma_sq": instance.sigma_sq, "zeta_star_sq": instance.zeta_star_sq},
    }
    if beta is not None:
        known |= {"beta": beta, "zeta_sq": instance.zeta_sq(beta)}
    return claims.rescaled(known, factors)


def excluded_by(law: str, sequential: bool) -> Property | None:
    """The property that the law does not have.  Noise that the next client repeats is no news to SFL: it is biased."""
    shared = Property.UNBIASED if sequential else Property.INDEPENDENT_NOISE
    return {"shared": shared, "biased": Property.UNBIASED, "one order": Property.SAMPLING}.get(law)


def speaks_of(instance: Instance, to: RoundForm) -> bool:
    """Whether the instance has the statement's properties, and meets its conditions apart from those on the step."""
    if excluded_by(instance.law, to.sequential) in to.given:
        return False
    known = symbols(instance, None, to.factors)
    return instance.L > 0 and instance.fits(to.given) and all(condition.holds(known) for condition in to.conditions)


def largest_step(known: Mapping[str, Fraction], to: RoundForm) -> Fraction | None:
    """The largest eta that the conditions admit (a fraction below it if irrational); None where they do not limit it."""
    caps = [(slope(known), rest(known)) for slope, rest in to.caps]
    return min((root(rest / slope) for slope, rest in caps if slope > 0), default=None)


def cases(round: RoundInstance, to: RoundForm, further: bool = False) -> Iterator[Occurrence]:
    """The claim in numbers, for every client and step that it is about; none where a condition or assumption fails."""
    instance, eta, beta = round.instance, round.eta, round.beta
    if further or eta <= 0 or not speaks_of(instance, to) or (beta is not None and instance.zeta_sq(beta) is None):
        return
    known = symbols(instance, beta, to.factors) | {"eta": eta}
    if not all(condition.holds(known) for condition in to.on_step):
        return
    found = outcomes(instance, eta, to.sequential)
    known |= {name: found.mean(QUANTITIES[name]) for name in to.symbols & QUANTITIES.keys()}
    placed = to.symbols & OF_STEPS.keys()
    for number, step in enumerate(found.traces[0].steps if placed else [None]):
        values = known | {name: found.mean(of_step(name, number, to.sequential)) for name in placed}
        where = {} if step is None else {"m": step.turn, "k": step.k}
        yield from (Occurrence(claims.balance(claim, values), where) for claim in to.inequalities)


# The family of a statement

_BETAS = tuple(Fraction(*pair) for pair in ((0, 1), (1, 2), (1, 1), (2, 1), (4, 1), (8, 1)))
_SHARES = (Fraction(1), Fraction(1, 2))  # of the largest admissible step


def steps(known: Mapping[str, Fraction], to: RoundForm) -> list[Fraction]:
    """Step sizes to try: the largest admissible one and half of it; 1/(6 L S K) and 1/L where there is no limit."""
    largest = largest_step(known, to)
    if largest is None:
        return [1 / (6 * known["L"] * known["S"] * known["K"]), 1 / known["L"]]
    return [share * largest for share in _SHARES]


def betas(instance: Instance, to: RoundForm, count: int) -> list[Fraction | None]:
    """The smallest betas on the list for which Assumption 3a holds; [None] where the statement has no beta or zeta."""
    if not to.symbols & {"beta", "zeta"}:
        return [None]
    found: list[Fraction | None] = [beta for beta in _BETAS if instance.zeta_sq(beta) is not None]
    return found[:count]


def family(to: RoundForm, full: bool) -> Iterator[RoundInstance]:
    """The rounds of the instances that have the statement's properties, from simple to complicated."""
    for instance in instances():
        for beta in betas(instance, to, 2 if full else 1) if speaks_of(instance, to) else ():
            yield from (RoundInstance(instance, eta, beta) for eta in steps(symbols(instance, beta, to.factors), to))


# The search

_ORDERS = 24  # most samples of clients to enumerate


def _eighths(least: int, most: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(n, 8) for n in range(least, most + 1))


def _choices(round: RoundInstance, to: RoundForm) -> Choices:
    instance = round.instance
    one = len(instance.x) == 1
    found = {
        "instance.law": Choice(simple=(LAWS[0],)),
        "instance.K": counts(6),
        "instance.S": counts(instance.M) if one else Choice(),
        "instance.bend": Choice(_eighths(-8, 8), fractions(0, (-3, 4)), depth=1, empty=True),
        "instance.b": Choice(_eighths(-16, 16), fractions(0, 1, -1), depth=2),
        "instance.sigma_sq": Choice(fractions(0, (1, 16), (1, 4), 1, 4), fractions(0, 1)),
        "instance.x": Choice(_eighths(-16, 16), fractions(0, 1, -1), depth=1),
        "eta": Choice(simple=tuple(Fraction(1, d) for d in (1, 2, 3, 4, 6, 8, 12, 24, 48))),
    }
    if one:
        found["instance.H"] = Choice(_eighths(-7, 8), fractions(1, 0, (1, 2), (-1, 2)), depth=3)
    if round.beta is not None:
        found["beta"] = Choice(fractions(0, (1, 8), (1, 4), (1, 2), 1, (3, 2), 2, 4, 8), _BETAS)
    return found


def _completion(round: RoundInstance, values: Mapping[str, Any], _: RoundForm) -> RoundInstance | None:
    """The slopes of all clients go on to have sum 0, and a round has not too many outcomes."""
    old, new = round.instance.b, values.get("instance.b", ())
    if len(new) == len(old):
        columns = [keep_sum(*both) for both in zip(zip(*old, strict=True), zip(*new, strict=True), strict=True)]
        values = {**values, "instance.b": tuple(zip(*columns, strict=True))}
    other = with_values(round, values)
    instance = other.instance
    most = 4 if instance.bend else 6  # steps: with bends every outcome of the noise is enumerated
    independent = instance.law != "one order"
    if instance.S > instance.M or (independent and perm(instance.M, instance.S) > _ORDERS):
        return None
    return other if max(most, round.instance.S * round.instance.K) >= instance.S * instance.K else None


def _largest(round: RoundInstance, to: RoundForm) -> Fraction | None:
    """The largest step that the conditions admit, 2/L where they do not limit it; None for what they are not about."""
    instance, beta = round.instance, round.beta
    if not speaks_of(instance, to) or (beta is not None and instance.zeta_sq(beta) is None):
        return None
    largest = largest_step(symbols(instance, beta, to.factors), to)
    return 2 / instance.L if largest is None else largest


def _witness(round: RoundInstance, to: RoundForm) -> dict[str, Any]:
    witness = round.instance.described() | {"eta": str(round.eta)}
    if round.beta is not None:
        witness |= {"beta": str(round.beta), "zeta^2": str(round.instance.zeta_sq(round.beta))}
    return witness


def _described(round: RoundInstance, case: Occurrence) -> str:
    instance = round.instance
    kind = "functions that are no quadratics" if instance.bend else "quadratics"
    law = {"shared": ", one noise for all", "biased": ", biased gradients", "one order": ", in one fixed order"}
    return f"{instance.M} {kind}, S = {instance.S}, K = {instance.K}{law.get(instance.law, '')}"


ROUNDS = PaperRounds(
    forms=forms,
    family=family,
    cases=cases,
    choices=_choices,
    axes=({"instance.H": 0, "instance.b": 0, "instance.bend": 0},),
    witness=_witness,
    described=_described,
    searched=FAMILY,
    effort=((3, 80), (8, 300)),
    completion=_completion,
    step="eta",
    largest=_largest,
)


def evidence() -> list[Evidence]:
    """Evidence of kind `search` for every statement about one round."""
    return [Evidence(f"sfl.{name}", "search", ROUNDS.check) for name in (*SEQUENTIAL, *PARALLEL)]
