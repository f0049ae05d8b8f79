"""The basic identities and inequalities, proved in every dimension: Appendices C.2 and C.3.

Means over n vectors and expectations are treated by their first two moments; function classes by interpolation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import sympy
from sympy import Rational
from sympy.logic.boolalg import Boolean

from theory import catalogue
from theory.notation import Expectation, Norm, Value
from theory.proofs.arithmetic import decide
from theory.proofs.ledger import Ledger, bound_of, conditions_of
from theory.proofs.vectors import (
    Point,
    certify,
    convex,
    difference,
    point,
    smooth,
    smooth_convex,
    worst_case,
)
from theory.sfl.paper import L, h, h_star, mu, n, s, sigma, x, y, z, zeta
from theory.statement import Evidence, Relations, Statement, Status, Verdict

_SAMPLE = {L: sympy.Integer(1), mu: Rational(1, 3)}


def _relations(statement: Statement) -> tuple[sympy.Basic, ...]:
    assert isinstance(statement.claim, Relations)
    return statement.claim.relations


# Means and expectations: (12)-(15), Lemma 1


def moments(statement: Statement, full: bool = False) -> Verdict:
    """(12), (13), (15) for every law and every n: E is linear, and E||v||^2 >= ||E v||^2 as E||v - E v||^2 >= 0."""
    first, second = sympy.symbols("mean_norm mean_square", nonnegative=True)  # ||E v||, E||v||^2
    for relation in _relations(statement):
        left, right = (sympy.expand(_mean(side, first, second)) for side in relation.args)
        claim: list[Boolean] = [left <= right] if isinstance(relation, sympy.Le) else [left <= right, left >= right]
        found = decide([second >= first**2], [c for c in claim if c != sympy.true])
        if found.status is not Status.PROVED:
            witness = {symbol.name: str(v) for symbol, v in found.model.items()}
            return Verdict(found.status, f"fails for a law with these two moments: {relation}", witness=witness)
    return Verdict(Status.PROVED, "by linearity, for every law, every n and every dimension", slack=1.0)


def _mean(e: sympy.Basic, first: sympy.Symbol, second: sympy.Symbol) -> sympy.Expr:
    """An expression in E||v||^2 and ||E v|| (or means over i = 1..n); v stands for x or x_i."""
    v = sympy.Symbol("v", real=True)

    def inner(e: sympy.Basic) -> sympy.Expr:
        """A vector as a linear form in v and its mean."""
        if isinstance(e, sympy.Indexed) or e == x:
            return v
        if isinstance(e, Expectation) or (isinstance(e, sympy.Sum) and isinstance(e.function, sympy.Indexed)):
            return first if isinstance(e, Expectation) else n * first
        return e.func(*map(inner, e.args)) if e.args else e

    def average(e: sympy.Expr) -> sympy.Expr:
        poly = sympy.Poly(sympy.expand(inner(e.base.args[0]) ** 2), v)
        return sympy.Add(*(c * {0: 1, 1: first, 2: second}[p] for (p,), c in poly.terms()))

    if isinstance(e, Expectation):
        return average(e.args[0])
    if isinstance(e, sympy.Sum):
        return n * average(e.function)
    if isinstance(e, sympy.Pow) and isinstance(e.base, Norm):
        return inner(e.base.args[0]) ** 2
    return e.func(*(_mean(a, first, second) for a in e.args)) if e.args else e


def jensen(statement: Statement, full: bool = False) -> Verdict:
    """(14) for every n: the mean of the subgradient inequalities at the mean, whose linear parts cancel."""
    (relation,) = _relations(statement)
    values, at_mean = sympy.symbols("mean_of_h h_at_mean", real=True)

    def read(e: sympy.Basic) -> sympy.Expr:
        if isinstance(e, Value):
            return values if isinstance(e.args[1], sympy.Indexed) else at_mean
        if isinstance(e, sympy.Sum):
            return n * read(e.function)
        return e.func(*map(read, e.args)) if e.args else e

    left, right = (read(side) for side in relation.args)
    found = decide([values - at_mean >= 0], left <= right if isinstance(relation, sympy.Le) else left >= right)
    witness = {symbol.name: str(v) for symbol, v in found.model.items()}
    says = "mean of h(x_i) - h(xbar) - <g, x_i - xbar> >= 0, for every n; the inner products cancel"
    return Verdict(found.status, says if found.status is Status.PROVED else found.says, witness=witness)


def martingale(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 1 by induction on n: E||P + u||^2 = E||P||^2 + E||u||^2, since E[u | past] = 0 and P is past."""
    past, u, square = sympy.symbols("P u v", real=True)
    terms = sympy.Poly(sympy.expand((past + u) ** 2), u)
    tower = sympy.Add(*(c * {0: 1, 1: 0, 2: square}[p] for (p,), c in terms.terms()))
    if sympy.expand(tower - past**2 - square) != 0:
        return Verdict(Status.OPEN, "the induction step does not close")
    total = sympy.Symbol("total", nonnegative=True)

    def read(e: sympy.Basic) -> sympy.Expr:
        if (isinstance(e, Expectation) and e.has(sympy.Sum)) or isinstance(e, sympy.Sum):
            return total
        return e.func(*map(read, e.args)) if e.args else e

    for relation in _relations(statement):
        left, right = (read(side) for side in relation.args)
        claim = [left <= right] if isinstance(relation, sympy.Le) else [left <= right, left >= right]
        found = decide([total <= n * sigma**2], [c for c in claim if c != sympy.true])
        if found.status is not Status.PROVED:
            witness = {symbol.name: str(v) for symbol, v in found.model.items()}
            return Verdict(found.status, f"{relation} does not follow", witness=witness)
    return Verdict(Status.PROVED, "induction on n by the tower rule", slack=1.0)


# Sampling: Lemma 3


def sampling(derived: Callable[[], sympy.Expr]) -> Callable[[Statement, bool], Verdict]:
    """A part of Lemma 3 for every n, s and population: u_i = x_i - xbar sum to zero, their squares to n zeta^2."""

    def check(statement: Statement, full: bool = False) -> Verdict:
        ledger = Ledger([c for c in conditions_of(statement) if not isinstance(c, bool)])
        ledger.equal("sum over all pairs of draws", derived(), bound_of(statement).value)
        found = ledger.verdict()
        status = Status.REFUTED if found.status is Status.BROKEN else found.status
        return Verdict(status, found.says, slack=1.0 if status is Status.PROVED else None, witness=found.witness)

    return check


def pair_covariance() -> sympy.Expr:
    """Two different draws: (||sum u||^2 - sum ||u||^2) / (n (n-1)) with sum u = 0."""
    return (0 - n * zeta**2) / (n * (n - 1))


def mean_variance_without() -> sympy.Expr:
    """s squares and s (s - 1) covariances."""
    return (s * zeta**2 + s * (s - 1) * pair_covariance()) / s**2


def mean_variance_with() -> sympy.Expr:
    """s squares; independent draws have no covariance."""
    return s * zeta**2 / s**2


def unbiased_mean(statement: Statement, full: bool = False) -> Verdict:
    """Every draw, with or without replacement, is uniform over the population: the mean of s of them has its mean."""
    xbar, xbar_pi = (catalogue.symbols(statement)[name].sympy for name in ("xbar", "xbar_pi"))
    for relation in _relations(statement):
        left, right = (side.replace(Expectation, lambda e: e.subs(xbar_pi, s * xbar / s)) for side in relation.args)
        rest = sympy.simplify(left - right)
        if rest != 0:
            witness = {"difference of the sides": str(rest)}
            return Verdict(Status.REFUTED, f"the sides differ by {rest}", witness=witness)
    return Verdict(Status.PROVED, "linearity: every draw is uniform over the population", slack=1.0)


# Function classes: (16)-(19), Lemma 2

_X, _Y, _Z = (point(h, p) for p in (x, y, z))


def _down_step() -> Point:
    """The point x - grad h(x) / L."""
    return point(h, x - _X.gradient / L)


def _shifted(p: Point) -> Point:
    """A point of g = h - (mu/2)||.||^2, which is convex when h is mu-strongly convex."""
    return Point(p.x, p.value - mu / 2 * p.x**2, p.gradient - mu * p.x)


_CLASSES: dict[str, Callable[[], Mapping[str, sympy.Expr]]] = {
    "sfl.eq16": lambda: {"smooth(y, x)": smooth(_Y, _X, L), "smooth(x, y)": smooth(_X, _Y, L)},
    "sfl.eq17": lambda: {
        "smooth(x, x - g/L)": smooth(_X, _down_step(), L),
        "smooth(x - g/L, x)": smooth(_down_step(), _X, L),
        "h >= h_*": _down_step().value - h_star,
    },
    "sfl.eq18": lambda: {
        "smooth convex(x, y)": smooth_convex(_X, _Y, L),
        "smooth convex(y, x)": smooth_convex(_Y, _X, L),
    },
    "sfl.eq19": lambda: {"g convex(x, y)": convex(_shifted(_X), _shifted(_Y))},
    "sfl.lemma2": lambda: {
        "(19)(y, x)": convex(_shifted(_Y), _shifted(_X)),
        "(16)(z, x)": sympy.expand(_X.value + _X.gradient * (z - x) + L / 2 * (z - x) ** 2 - _Z.value),
    },
}


def of_class(statement: Statement, full: bool = False) -> Verdict:
    """(16)-(19) and Lemma 2, by interpolation conditions; multipliers from an SDP, rounded, then decided exactly."""
    (relation,) = _relations(statement)
    form = difference(relation)
    if statement.id == "sfl.eq17":
        form = sympy.expand(form / (2 * L))  # so that the multipliers are numbers
    conditions = [mu <= L] if statement.id == "sfl.lemma2" else []
    found = certify(form, _CLASSES[statement.id](), _SAMPLE, conditions)
    if found.status is not Status.PROVED or statement.id != "sfl.lemma2":
        # (16), (17), (18) are attained by L/2 ||x||^2, (19) by mu/2 ||x||^2
        return Verdict(found.status, found.says, 1.0 if found.status is Status.PROVED else None, found.witness)
    needed = {share: coefficient_needed(relation, share) for share in (Rational(0), Rational(1, 2), Rational(99, 100))}
    told = ", ".join(f"{value:.3g} L at mu = {float(share):.3g} L" for share, value in needed.items())
    return Verdict(found.status, f"{found.says}; needed before ||z - x||^2: {told}", 1 / max(needed.values()))


def coefficient_needed(relation: sympy.Basic, share: sympy.Rational) -> float:
    """The smallest factor before ||z - x||^2 with which Lemma 2 holds for mu = share L, L = 1: a worst case (SDP)."""
    points = {"x": _X, "y": _Y, "z": _Z}
    hypotheses = {
        f"{p}{q}": smooth_convex(points[p], points[q], sympy.Integer(1), share)
        for p in points
        for q in points
        if p != q
    }
    without = difference(relation).subs({L: 0, mu: share})
    found = worst_case(sympy.expand(-without), hypotheses, sympy.expand((z - x) ** 2))
    return float("inf") if found is None else found.value


def evidence() -> Iterator[Evidence]:
    """Derivations and certificates of the basic facts."""
    for name in ("eq12", "eq13", "eq15"):
        yield Evidence(f"sfl.{name}", "derivation", moments)
    yield Evidence("sfl.eq14", "derivation", jensen)
    yield Evidence("sfl.lemma1", "derivation", martingale)
    yield Evidence("sfl.lemma3.mean", "derivation", unbiased_mean)
    yield Evidence("sfl.lemma3.swr", "derivation", sampling(mean_variance_with))
    yield Evidence("sfl.lemma3.swor", "derivation", sampling(mean_variance_without))
    yield Evidence("sfl.lemma3.cov", "derivation", sampling(pair_covariance))
    for id_ in _CLASSES:
        yield Evidence(id_, "certificate", of_class)
