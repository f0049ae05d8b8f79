"""The statements about one round of SFL or PFL, decided on exact instances, and a search for counter-examples.

An instance is a federation of quadratics, a start and a round; every letter of a statement is then a fraction: the
constants of the problem by closed forms, the expectations by `simulations.one_round`.  So a violated claim is a proof,
and its witness can be checked by hand.  The search runs over two kinds of clients in floating point; what it finds
counts once it is confirmed in fractions.

Slack.  A claim `quantity <= sum of terms` is read as need <= room: the room is the sum of the terms with a plus sign,
the need is the quantity plus what the terms with a minus sign take away.  The slack is the smallest room / need: by that
factor all terms with a plus sign can be divided before an instance refutes the claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from math import inf, isqrt, nan
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.core.relational import Relational

from bounds.comparisons import (
    Comparison,
    Condition,
    Function,
    Inequality,
    Number,
    compared as comparison,
    condition,
    decided,
    exact,
    inequalities,
    letters_of,
    not_assumed,
    rescaled,
    unassumed,
)
from simulations.one_round import one_round
from simulations.rational import Fraction
from theory import catalogue
from theory.proofs.search import Range, maximise, shrink
from theory.properties import Properties, Property
from theory.statement import Evidence, Statement, Status, Verdict, defined

Numbers = NDArray[Any]

SEQUENTIAL = (
    "step.eq28", "step.eq29", "step.eq30", "step.eq31", "step.eq32", "lemma5",
    "step.eq35", "step.eq36", "lemma6",
    "step.sc_recursion", "eq41", "eq41.corrected", "step.gc_recursion", "step.gc_recursion.corrected",
    "step.eq49", "step.eq50", "step.eq50.corrected", "step.eq51", "step.eq51.corrected", "lemma9", "lemma9.corrected",
    "step.eq53", "lemma10",
    "step.eq54_recursion", "step.eq54_recursion.corrected",
)  # fmt: skip
PARALLEL = (
    "lemma11", "lemma12", "eq70",
    "lemma13", "lemma13.corrected", "lemma14.corrected",
    "step.eq80_recursion", "step.eq80_recursion.corrected",
)  # fmt: skip

# Instances


@dataclass(frozen=True)
class Instance:
    """A round from x of M functions F_m(y) = y'H_m y / 2 + b_m'y, in coordinates in which grad F(0) = 0.

    H, b, x   nested tuples (M, d, d), (M, d), (d,) of Fractions (of floats in the search), d = 1 or 2; sum b_m = 0
    S, K      participating clients, local steps
    sigma_sq  variance of a stochastic gradient
    bend      in one coordinate: F_m has bend_m max(y, 0)^2 / 2 besides, so that it is no quadratic; () for none

    Raises ValueError for shapes that do not fit, or slopes b_m that do not sum to 0.
    """

    H: tuple[tuple[tuple[Number, ...], ...], ...]
    b: tuple[tuple[Number, ...], ...]
    x: tuple[Number, ...]
    S: int
    K: int
    sigma_sq: Number
    bend: tuple[Number, ...] = ()

    def __post_init__(self) -> None:
        H: Numbers = np.asarray(self.H)
        b: Numbers = np.asarray(self.b)
        if H.shape != (*b.shape, len(self.x)) or len(self.x) not in (1, 2):
            raise ValueError(f"H {H.shape}, b {b.shape}, x ({len(self.x)},): expected (M, d, d), (M, d), (d,), d <= 2")
        if b.sum(0).any():
            raise ValueError(f"b = {self.b}: expected slopes that sum to 0, so that grad F(0) = 0")

    @property
    def M(self) -> int:
        """Number of clients."""
        return len(self.H)

    @cached_property
    def curvatures(self) -> list[Number]:
        """Of all F_m, those right of 0 too."""
        own = [value for H in self.H for value in eigenvalues(H)]
        return own + [value + more for value, more in zip(own, self.bend, strict=False)]

    @cached_property
    def mean(self) -> Numbers:
        """The second derivative of F, (d, d)."""
        return np.asarray(self.H).sum(0) / self.M

    @cached_property
    def L(self) -> Number:
        """The smallest L of Assumption 1: the largest eigenvalue in modulus."""
        return max(map(abs, self.curvatures))

    @cached_property
    def mu(self) -> Number:
        """The smallest curvature of all F_m, of either sign."""
        return min(self.curvatures)

    @cached_property
    def zeta_star_sq(self) -> Number:
        """(1/M) sum ||grad F_m(0)||^2 (Assumption 3b)."""
        return (np.asarray(self.b) ** 2).sum() / self.M

    def zeta_sq(self, beta: Number) -> Number | None:
        """The smallest zeta^2 of Assumption 3a for this beta, or None where beta is too small for any, or F_m bent.

        With G_m = H_m - H and P, q, s the means of G_m G_m, G_m b_m, ||b_m||^2 it is s + q'(beta^2 H H - P)^-1 q, the
        maximum over y of (1/M) sum ||G_m y + b_m||^2 - beta^2 ||H y||^2, if that matrix is positive definite.
        """
        if self.bend:
            return None
        b: Numbers = np.asarray(self.b)
        G: Numbers = np.asarray(self.H) - self.mean
        P, q = sum(g @ g for g in G) / self.M, sum(g @ v for g, v in zip(G, b, strict=True)) / self.M
        if not G.any():
            return self.zeta_star_sq
        A = beta**2 * self.mean @ self.mean - P
        if not (A.trace() > 0 and determinant(A) > 0):
            return None
        turned = q if len(q) == 1 else np.array([[A[1, 1], -A[0, 1]], [-A[0, 1], A[0, 0]]]) @ q  # adjugate
        return self.zeta_star_sq + q @ turned / determinant(A)

    def fits(self, given: Properties) -> bool:
        """Whether it has those of the properties that not every quadratic has."""
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
        }


def determinant(A: Numbers) -> Number:
    """Of a matrix (d, d), d = 1 or 2."""
    return A[0, 0] if len(A) == 1 else A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]


def eigenvalues(A: tuple[tuple[Number, ...], ...]) -> list[Number]:
    """Of a symmetric matrix (d, d), d = 1 or 2.  Raises ValueError where they are irrational, for fractions."""
    if len(A) == 1:
        return [A[0][0]]
    middle, radius_sq = (A[0][0] + A[1][1]) / 2, ((A[0][0] - A[1][1]) / 2) ** 2 + A[0][1] ** 2
    radius = root(radius_sq)
    if radius**2 != radius_sq:
        raise ValueError(f"{A}: expected a matrix with rational eigenvalues")
    return [middle - radius, middle + radius]


def root(q: Number) -> Number:
    """The square root of q >= 0; of a fraction that has none, a fraction slightly below."""
    if isinstance(q, float):
        return q**0.5
    fine = 1000 * q.denominator
    return Fraction(isqrt(q.numerator * q.denominator * 1_000_000), fine)


@cache
def measured(instance: Instance, eta: Fraction, sequential: bool) -> Mapping[str, Any]:
    """What `simulations.one_round` returns for an exact instance; computed once."""
    return measured_afresh(instance, eta, sequential)


def measured_afresh(instance: Instance, eta: Number, sequential: bool) -> Mapping[str, Any]:
    """What `simulations.one_round` returns for an instance."""
    i, star, bend = instance, [0 * v for v in instance.x], instance.bend or None
    return one_round(
        i.H, i.b, i.x, K=i.K, S=i.S, eta=eta, sigma2=i.sigma_sq, sequential=sequential, x_star=star, bend=bend
    )


# The family


def _line(curvatures: Iterable[Any], slopes: Iterable[Any], x: Any, S: int, K: int, sigma_sq: Any) -> Instance:
    """In one dimension, in fractions."""
    H, b = (tuple(map(Fraction, q)) for q in (curvatures, slopes))
    return Instance(tuple(((h,),) for h in H), tuple((v,) for v in b), (Fraction(x),), S, K, Fraction(sigma_sq))


# One dimension: curvatures, slopes, and (S, K), from simple to complicated
_HALF = Fraction(1, 2)
_LINES: tuple[tuple[tuple[tuple[Any, ...], ...], tuple[Any, ...], tuple[tuple[int, int], ...]], ...] = (
    (((1,),), (0,), ((1, 1), (1, 2), (1, 3))),
    (((1, 1), (1, 0), (1, _HALF), (1, -_HALF)), (1, -1), ((2, 1), (1, 1), (2, 2), (1, 2))),
    (((1, 1, 1), (1, _HALF, 0), (1, 1, -_HALF)), (2, -1, -1), ((1, 1), (2, 1), (3, 1))),
)
# x, whether the slopes are there, sigma^2
_STARTS = ((0, 1, 0), (1, 0, 0), (0, 0, 1), (1, 1, 0), (-1, 1, 0), (2, 1, 1), (-Fraction(1, 4), 1, 0))
# Two dimensions: matrices that do not commute, along the first axis and along (3, 4)/5; convex, strongly, indefinite
_ALONG = np.array([[9, 12], [12, 16]], dtype=object) / Fraction(25)
_AXIS = np.array([[1, 0], [0, 0]], dtype=object) * Fraction(1)
_PLANES = ((Fraction(0), Fraction(1)), (Fraction(1, 4), Fraction(3, 4)), (-Fraction(1, 4), Fraction(5, 4)))
_PLANE_STARTS = (((0, 0), (0, 1), 0), ((1, 0), (0, 0), 0), ((1, 1), (1, 0), 1))


@cache
def family() -> tuple[Instance, ...]:
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
    return (*found, *map(_bent, (i for i in found if len(i.x) == 1 and i.M <= 3 and i.S * i.K <= 2)))


def _bent(instance: Instance) -> Instance:
    """The instance on functions that are no quadratics: every other one is flatter right of 0, the first of them too."""
    return replace(instance, bend=tuple(-3 * H[0][0] / 4 * ((m + 1) % 2) for m, H in enumerate(instance.H)))


FAMILY = (
    "quadratics in one dimension and (not commuting) in two, in one dimension functions flatter right of 0 too, M = 1, 2, "
    "3, 12, S = 1..3, K = 1..3, convex or not as the assumptions allow"
)

# Claims and conditions, compiled to exact arithmetic


_PLACED = ("drift_mk", "B_mk", "noise_upto", "move_upto", "bias_upto", "star_upto", "T_1", "client_bias_sq")


@dataclass(frozen=True)
class Compiled:
    """A statement about one round, ready for numbers.

    inequalities  of the claim
    always        the conditions that do not speak of the step: left <= right
    on_step       the others; squared where a root stands in them
    caps          what they say, as eta A <= B: pairs (A^2, B^2)
    letters       ASCII names of what the claim and the conditions are about
    factors       by which the constants that it assumes nothing of are not those of the instance
    given         the properties that it assumes
    """

    inequalities: tuple[Inequality, ...]
    always: tuple[Condition, ...]
    on_step: tuple[Condition, ...]
    caps: tuple[tuple[Function, Function], ...]
    letters: frozenset[str]
    factors: Mapping[str, Fraction]
    given: Properties


def compiled(statement: Statement) -> list[Compiled]:
    """A statement with its definitions put in; several times where it assumes nothing of a constant.

    Raises ValueError for a claim that is neither Bound nor Relations of the signs <=, >= and =, for a condition that is not
    linear in eta, and for roots that do not disappear on squaring.
    """
    where, given = dict(statement.where), catalogue.properties(statement)
    relations = [r if r.rel_op == "<=" else r.reversed for r in (defined(c.relation, where) for c in statement.when)]
    steps = [r for r in relations if "eta" in {s.name for s in r.free_symbols}]
    always, on_step = (tuple(condition(r) for r in relations if (r in steps) is about) for about in (False, True))
    letters = letters_of(statement.claim, where) | {s.name for r in relations for s in r.free_symbols}
    form = Compiled(
        tuple(inequalities(statement.claim, where)),
        always,
        on_step,
        tuple(map(_cap, steps)),
        frozenset(letters),
        {},
        given,
    )
    return [replace(form, factors=factors) for factors in unassumed(statement)]


def _squared(e: sympy.Expr) -> Function:
    return exact(sympy.expand_power_base(e**2, force=True))


def _cap(relation: Relational) -> tuple[Function, Function]:
    """A condition on the step as eta A <= B: squares of A and B."""
    (eta,) = [s for s in relation.free_symbols if s.name == "eta"]
    difference = sympy.expand(relation.lhs - relation.rhs)
    slope, rest = difference.coeff(eta, 1), difference.coeff(eta, 0)
    if sympy.expand(difference - slope * eta - rest) != 0:
        raise ValueError(f"condition {relation}: expected it linear in eta")
    return _squared(sympy.factor(slope)), _squared(sympy.factor(rest))


# An instance's letters


def letters(instance: Instance, beta: Number | None, factors: Mapping[str, Fraction]) -> dict[str, Number]:
    """The constants by name, all of the type of the instance's numbers; with beta, those of Assumption 3a too.

    factors  of those that are not the instance's own
    """
    number = type(instance.sigma_sq)
    known = {
        **{name: number(count) for name, count in (("M", instance.M), ("S", instance.S), ("K", instance.K))},
        **{"L": instance.L, "mu": instance.mu},
        **{"sigma_sq": instance.sigma_sq, "zeta_star_sq": instance.zeta_star_sq},
    }
    if beta is not None:
        known |= {"beta": beta, "zeta_sq": instance.zeta_sq(beta)}
    return rescaled(known, factors)


def speaks_of(instance: Instance, to: Compiled) -> bool:
    """Whether the instance has the statement's properties, and meets its conditions apart from those on the step."""
    known = letters(instance, None, to.factors)
    return instance.fits(to.given) and all(condition.holds(known) for condition in to.always)


def largest_step(known: Mapping[str, Number], to: Compiled) -> Number | None:
    """The largest eta that the conditions admit (for an irrational one a fraction below); None where none is named."""
    caps = [(slope(known), rest(known)) for slope, rest in to.caps]
    return min((root(rest / slope) for slope, rest in caps if slope > 0), default=None)


def compared(
    instance: Instance, eta: Number, beta: Number | None, to: Compiled, sequential: bool
) -> list[tuple[Comparison, dict[str, int]]]:
    """The claim in numbers, each with its place (m, k) if it has one; empty where a condition on the step fails.

    In floating point the conditions are not looked at: rounding could fail the largest admissible step.
    """
    known, is_exact = letters(instance, beta, to.factors) | {"eta": eta}, not isinstance(eta, float)
    if is_exact and not all(condition.holds(known) for condition in to.on_step):
        return []
    found = (measured if is_exact else measured_afresh)(instance, eta, sequential)
    placed = [name for name in _PLACED if name in to.letters]
    out = []
    for place in found[placed[0]] if placed else [()]:
        values = {**found, **known, **{name: found[name][place] for name in placed}}
        where = dict(zip(("m", "k"), place, strict=False))
        out += [(comparison(claim, values), where) for claim in to.inequalities]
    return out


# The verdict on the family

_BETAS = tuple(Fraction(*pair) for pair in ((0, 1), (1, 2), (1, 1), (2, 1), (4, 1), (8, 1)))
_SHARES = (Fraction(1), Fraction(1, 2))  # of the largest admissible step


def steps(known: Mapping[str, Number], to: Compiled) -> list[Number]:
    """Step sizes to try: the largest admissible one and half of it; 1/(6 L S K) and 1/L where none is named."""
    largest = largest_step(known, to)
    if largest is None:
        return [1 / (6 * known["L"] * known["S"] * known["K"]), 1 / known["L"]]
    return [share * largest for share in _SHARES]


def betas(instance: Instance, to: Compiled, count: int) -> list[Number | None]:
    """The smallest betas to try with which Assumption 3a holds; [None] where the statement has none."""
    if not to.letters & {"beta", "zeta"}:
        return [None]
    found: list[Number | None] = [beta for beta in _BETAS if instance.zeta_sq(beta) is not None]
    return found[:count]


def check(statement: Statement, full: bool = False) -> Verdict:
    """A statement about one round against the family, then against what a search finds (a longer one in full).

    refuted by the first instance of the family, from simple to complicated, that violates the claim within its
    conditions and assumptions, or by one that the search has found; holds otherwise.

    Raises ValueError for a statement that is not one of `SEQUENTIAL` and `PARALLEL`.
    """
    name = statement.id.removeprefix("sfl.")
    if name not in (*SEQUENTIAL, *PARALLEL):
        raise ValueError(f"{statement.id}: expected one of {', '.join(SEQUENTIAL + PARALLEL)}")
    return decided(_checked(to, name in SEQUENTIAL, full) for to in compiled(statement))


def _checked(to: Compiled, sequential: bool, full: bool) -> Verdict:
    largest: Number = Fraction(0)
    instances = 0
    for instance in family():
        if not speaks_of(instance, to):
            continue
        for beta in betas(instance, to, 2 if full else 1):
            for eta in steps(letters(instance, beta, to.factors), to):
                found = compared(instance, eta, beta, to, sequential)
                instances += bool(found)
                for one, place in found:
                    if not one.holds:
                        return _refuted(instance, eta, beta, one, place, to)
                    largest = max(largest, one.ratio)
    says = f"exact on {instances} instances ({FAMILY})"
    if not instances:
        return Verdict(Status.OPEN, f"no instance meets the conditions: {FAMILY}")
    if any(i.equality for i in to.inequalities):
        return Verdict(Status.HOLDS, says, slack=1.0)
    shapes, effort = (_SHAPES + _LARGER, 300) if full else (_SHAPES, 60)
    for seed, shape in enumerate(shapes):
        hunted = hunt(_Ground(to, sequential, shape), seed, effort)
        if isinstance(hunted, Verdict):
            return hunted
        largest = max(largest, hunted)
    says += f", and in a search of {effort} more in each of {len(shapes)} shapes"
    return Verdict(Status.HOLDS, says, slack=float(1 / largest) if largest else None)


def _refuted(
    instance: Instance, eta: Fraction, beta: Fraction | None, found: Comparison, place: Mapping[str, int], to: Compiled
) -> Verdict:
    witness = instance.described() | {"eta": str(eta)}
    if beta is not None:
        witness |= {"beta": str(beta), "zeta^2": str(instance.zeta_sq(beta))}
    left, right = found.quantity, found.minus + found.plus
    witness |= {**not_assumed(to.factors), **place, "relation": found.says, "left": str(left), "right": str(right)}
    kind = "functions that are no quadratics" if instance.bend else "quadratics"
    says = f"{instance.M} {kind}, S = {instance.S}, K = {instance.K}: left side {left}, right side {right}, exactly"
    slack = float(1 / found.ratio) if not found.equality and found.ratio < inf else None
    return Verdict(Status.REFUTED, says, slack=slack, witness=witness)


# The search

_SHAPES = ((2, 2, 1), (2, 1, 1), (2, 2, 2), (2, 1, 2))  # (M, S, K)
_LARGER = ((2, 2, 4), (4, 2, 1))

_Point = Mapping[str, Number]


@dataclass(frozen=True)
class _Ground:
    """Where a search for one shape (M, S, K) takes place: federations of two kinds of clients, in turns.

    One kind has curvature 1 and slope b, the other curvature h and slope -b, so that L = 1.
    """

    to: Compiled
    sequential: bool
    shape: tuple[int, int, int]

    @property
    def box(self) -> dict[str, Range]:
        """The parameters; share is that of the largest admissible step (of 2/L where none is named)."""
        least = 0.0 if Property.CONVEX in self.to.given else -0.9
        box = {"b": Range(0, 1), "x": Range(-1, 1), "sigma_sq": Range(0, 1), "h": Range(least, 1)}
        box["share"] = Range(1 / 64, 1, log=True)
        return box | ({"beta": Range(1 / 16, 16, log=True)} if self.to.letters & {"beta", "zeta"} else {})

    def round(self, point: _Point) -> tuple[Instance, Number, Number | None] | None:
        """(instance, eta, beta) at a point; None outside the box or the assumptions."""
        M, S, K = self.shape
        x, beta = point["x"], point.get("beta")
        kinds = [(type(x)(1), point["b"]), (point["h"], -point["b"])] * (M // 2)
        if not (point["sigma_sq"] >= 0 and abs(point["h"]) <= 1 and 0 < point["share"] <= 1):
            return None
        H, b = tuple(((h,),) for h, _ in kinds), tuple((slope,) for _, slope in kinds)
        instance = Instance(H, b, (x,), S, K, point["sigma_sq"])
        if not speaks_of(instance, self.to):
            return None
        if beta is not None and (beta < 0 or instance.zeta_sq(beta) is None):
            return None
        largest = largest_step(letters(instance, beta, self.to.factors), self.to)
        return instance, point["share"] * (2 / instance.L if largest is None else largest), beta

    def compared(self, point: _Point) -> list[tuple[Comparison, dict[str, int]]]:
        """The claim at a point; empty outside."""
        at = self.round(point)
        return [] if at is None else compared(*at, self.to, self.sequential)


def hunt(ground: _Ground, seed: int, effort: int) -> float | Verdict:
    """The largest need / room that a search finds, at most 1; the verdict `refuted` where it exceeds 1 in fractions."""
    found = maximise(
        lambda point: max((c.rounded for c, _ in ground.compared(point)), default=nan), ground.box, seed, effort
    )
    if not found.value > 1 + 1e-9:
        return 0.0 if np.isnan(found.value) else min(found.value, 1.0)
    try:
        point = shrink(lambda point: max((c.ratio for c, _ in ground.compared(point)), default=nan), found.point)
    except ValueError:  # an artefact of rounding: nothing of it is left in fractions
        return 1.0
    at = ground.round(point)
    assert at is not None
    return _refuted(*at, *max(ground.compared(point), key=lambda pair: pair[0].ratio), ground.to)


def evidence() -> list[Evidence]:
    """Evidence of kind `search` for every statement about one round."""
    return [Evidence(f"sfl.{name}", "search", check) for name in (*SEQUENTIAL, *PARALLEL)]


__all__ = ["PARALLEL", "SEQUENTIAL", "Instance", "check", "compared", "compiled", "evidence", "family"]
