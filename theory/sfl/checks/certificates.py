"""The basic identities and inequalities, proved in every dimension: Appendices C.2 and C.3.

Each check reads its statement, in vector notation, as a form.  The form is then a sum of instances of inference rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import sympy
from sympy import Rational

from fedtheory.theory import catalogue
from fedtheory.theory.notation import NOTATION, Expectation, Norm, Value
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import Argument, Language, Proof, as_evidence, evidence_of
from fedtheory.theory.proofs.arithmetic import at_least
from fedtheory.theory.proofs.forms import (
    Alone,
    Family,
    Infimum,
    Mean,
    SampleDraw,
    StochasticGradient,
    Vector,
    gradient,
    replaced,
    value,
    vector,
)
from fedtheory.theory.proofs.vectors import (
    difference,
    equated,
    in_the_mean,
    point,
    quadratic_form,
    smooth_convex,
    worst_case,
)
from fedtheory.theory.sfl.symbols import L, cov_pq, h, h_star, mu, n, s, var_swor, var_swr, x, y, z, zeta
from fedtheory.theory.statement import Evidence, Relations, Statement, Status, Verdict

# The units of Lemma 3, and the sums of (13), (15) and Lemma 1
SAMPLE, TERMS, LAW = Family("P", s), Family("i", n), Family("law", sympy.Integer(1))
unit = vector("unit", SAMPLE)
mean = Mean("mean", unit, SAMPLE)
first, second = (
    SampleDraw("first", unit, SAMPLE),
    SampleDraw("second", unit, SAMPLE),
)  # two different draws of one sample
function, at_x, at_y, at_z = Alone(h.name), *(vector(point.name) for point in (x, y, z))
lowest = Infimum(h_star.name, function)
random = StochasticGradient("x_seq", function, vector("x", TERMS))  # a vector with its mean e, in Lemma 1
LANGUAGE = Language(
    means={
        var_swr: (SAMPLE.sum(unit) / s - mean) ** 2,
        var_swor: (SAMPLE.sum(unit) / s - mean) ** 2,
        cov_pq: (first - mean) * (second - mean),
        zeta: sympy.sqrt(rules.spread(unit)),
    },
    algorithms={},
    amounts=(var_swr, var_swor, cov_pq, zeta),
    vectors={h: function, h_star: lowest, x: at_x, y: at_y, z: at_z},
)
_INDEXED: dict[str, Vector] = {"x_seq": random, "e": random.mean}


def read(e: sympy.Expr) -> sympy.Expr:
    """Vector notation about a function as a form."""
    return quadratic_form(replaced(e, LANGUAGE.vectors))


def summed(
    e: sympy.Expr, values: Mapping[sympy.Expr, sympy.Expr] | None = None, within: frozenset[sympy.Basic] = frozenset()
) -> sympy.Expr:
    """Vector notation as a form: sums of indexed vectors over i = 1..n, means over the law of a random vector x.

    values  the values of h: point, as a form -> value
    within  the indices of the sums, and Expectation, around this part

    Raises ValueError for anything else: other limits, a vector outside its sum or mean, h at another point.
    """

    def inside(part: sympy.Expr, *around: sympy.Basic) -> sympy.Expr:
        return summed(part, values, within | {*around})

    if isinstance(e, Expectation):
        return LAW.sum(inside(e.args[0], Expectation))
    if isinstance(e, sympy.Sum):
        ((index, low, high),) = e.limits
        if (low, high) != (1, n):
            raise ValueError(f"{e}: expected a sum over i = 1..n")
        return TERMS.sum(inside(e.function, index))
    if isinstance(e, sympy.Indexed) and {*e.indices} <= within:
        return _INDEXED.get(str(e.base), vector(str(e.base), TERMS))
    if isinstance(e, sympy.Pow) and isinstance(e.base, Norm) and e.exp == 2:
        return sympy.expand(inside(e.base.args[0]) ** 2)
    if e == x and Expectation in within:
        return vector("x", LAW)
    if isinstance(e, Value) and e.args[0] == h and (at := inside(e.args[1])) in (values or {}):
        return (values or {})[at]
    if isinstance(e, NOTATION) or (not e.args and e.is_nonnegative is None):  # numbers have a sign
        raise ValueError(f"{e}: expected sums and means of squared norms, and vectors inside them")
    return sympy.expand(e.func(*map(inside, e.args))) if e.args else e


def identity(p: Argument) -> None:
    """(12), (13): by linearity alone."""
    p.conclude_form(summed)


def convexity_of_square(p: Argument) -> None:
    """(15): Jensen for n vectors, divided by n^2."""
    p.conclude_form(summed, 1 / n**2 * p.by(rules.JENSEN_OVER, vector("x", TERMS), TERMS))


def martingale(p: Argument) -> None:
    """Lemma 1: each term has mean zero given the terms before it, and a variance of at most sigma^2."""
    noise = rules.Noise(random.error, frozenset())
    p.conclude_form(summed, p.by(rules.SUCCESSIVE, noise, TERMS), part=0)
    p.conclude_form(summed, p.by(rules.VARIANCE, noise).over(TERMS), part=1)


def jensen(p: Argument) -> None:
    """(14): the average of the subgradient inequalities at the mean, in which the inner products cancel."""
    each, middle = vector("x", TERMS), vector("mean")
    of_all = sympy.expand(TERMS.sum(each) / n)
    values = {each: value(function, each), of_all: value(function, middle)}
    tangent = p.by(rules.TANGENT, function, each, middle).over(TERMS)
    bare = 1 / n * replace(tangent, slack=sympy.expand(tangent.slack.subs(middle, of_all)))
    squares = p.by(rules.SQUARE, each - of_all).over(TERMS)
    p.conclude_form(partial(summed, values=values), bare, mu / (2 * n) * squares)


def sampling(p: Argument) -> None:
    """(22), (23): s squares, and pairs of different draws; the deviations from the mean sum to zero."""
    rule = rules.WITH_REPLACEMENT if var_swr in p.goal().quantity.free_symbols else rules.WITHOUT_REPLACEMENT
    p.conclude_form(p.meaning, 1 / s**2 * p.by(rule, unit, mean, SAMPLE, n))


def covariance(p: Argument) -> None:
    """(24)."""
    p.conclude_form(p.meaning, p.by(rules.PAIR_OF_SAMPLE, first, second, mean, unit, n))


# Function classes: (16)-(19), Lemma 2


def eq16(p: Argument) -> None:
    """(16): the meaning of smoothness from above."""
    p.conclude_form(read, p.by(rules.DESCENT, function, at_x, at_y))


def eq17(p: Argument) -> None:
    """(17): a gradient step of size 1/L from x; there h is at least h_*."""
    down = at_x - gradient(function, at_x) / L
    smooth, below = p.by(rules.DESCENT, function, down, at_x), p.by(rules.BELOW, function, down, lowest)
    p.conclude_form(read, 2 * L * smooth, 2 * L * below)


def eq18(p: Argument) -> None:
    """(18)."""
    p.conclude_form(read, p.by(rules.COCOERCIVE, function, at_x, at_y))


def eq19(p: Argument) -> None:
    """(19): the meaning of strong convexity."""
    p.conclude_form(read, p.by(rules.TANGENT, function, at_x, at_y))


def lemma2(p: Argument) -> None:
    """Lemma 2: (19) at (y, x), (16) at (z, x), and ||y - z||^2 <= 2 ||y - x||^2 + 2 ||x - z||^2."""
    p.require("mu <= L", at_least(L, mu))
    triangle = mu / 4 * p.by(rules.JENSEN, at_y - at_x, at_x - at_z)
    rest = (L - mu) / 2 * p.by(rules.SQUARE, at_z - at_x)
    tangent, smooth = p.by(rules.TANGENT, function, at_y, at_x), p.by(rules.DESCENT, function, at_z, at_x)
    p.conclude_form(read, tangent, smooth, triangle, rest)


def coefficient_needed(relation: sympy.Basic, share: sympy.Rational) -> float:
    """The smallest factor of ||z - x||^2 for which Lemma 2 holds with mu = share L, L = 1: a worst case (SDP)."""
    points = {name: point(h, p) for name, p in zip("xyz", (x, y, z), strict=True)}
    hypotheses = {
        f"{p}{q}": smooth_convex(points[p], points[q], sympy.Integer(1), share)
        for p in points
        for q in points
        if p != q
    }
    without = difference(relation).subs({L: 0, mu: share})
    found = worst_case(sympy.expand(-without), hypotheses, sympy.expand((z - x) ** 2))
    return float("inf") if found is None else found.value


def with_coefficient(proved: Callable[[Statement, bool], Verdict]) -> Callable[[Statement, bool], Verdict]:
    """The verdict on Lemma 2, with the smallest sufficient factor of ||z - x||^2."""

    def check(statement: Statement, full: bool) -> Verdict:
        found = proved(statement, full)
        if found.status is not Status.PROVED:
            return found
        shares = (Rational(0), Rational(1, 2), Rational(99, 100))
        needed = {share: coefficient_needed(statement.claim_of(Relations).relations[0], share) for share in shares}
        told = ", ".join(f"{factor:.3g} L at mu = {float(share):.3g} L" for share, factor in needed.items())
        says = f"{found.says}; smallest sufficient factor of ||z - x||^2: {told}"
        return replace(found, says=says, slack=1 / max(needed.values()))

    return check


def unbiased_mean(statement: Statement, full: bool = False) -> Verdict:
    """Every draw, with or without replacement, is uniform over the population; so E[mean of s draws] is its mean."""
    xbar, xbar_pi = (catalogue.symbols(statement)[name].sympy for name in ("xbar", "xbar_pi"))
    if not isinstance(statement.claim, Relations):
        raise ValueError(f"{statement.id} claims no relations")
    for relation in statement.claim.relations:
        left, right = (in_the_mean(side, {xbar_pi: xbar}) for side in equated(relation))
        rest = sympy.simplify(left - right)
        if rest != 0:
            witness = {"difference of the sides": str(rest)}
            return Verdict(Status.REFUTED, f"the sides differ by {rest}", witness=witness)
    return Verdict(Status.PROVED, "linearity: every draw is uniform over the population", slack=1.0)


DERIVATIONS: dict[str, Proof] = {
    "eq12": identity,
    "eq13": identity,
    "eq14": jensen,
    "eq15": convexity_of_square,
    "lemma1": martingale,
    "lemma3.swr": sampling,
    "lemma3.swor": sampling,
    "lemma3.cov": covariance,
}
CERTIFICATES: dict[str, Proof] = {"eq16": eq16, "eq17": eq17, "eq18": eq18, "eq19": eq19, "lemma2": lemma2}


def evidence() -> Iterator[Evidence]:
    """Derivations and certificates of the basic facts."""
    yield from evidence_of(DERIVATIONS, "derivation", LANGUAGE, "sfl")
    yield Evidence("sfl.lemma3.mean", "derivation", unbiased_mean)
    for name, proof in CERTIFICATES.items():
        found = as_evidence(name, "certificate", proof, LANGUAGE, "sfl")
        yield replace(found, check=with_coefficient(found.check)) if name == "lemma2" else found
