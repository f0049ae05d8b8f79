"""Inequalities between inner products, norms and function values, for a whole class of functions in every dimension.

An inequality is written as a quadratic form.  A product of two vector symbols stands for their inner product.  So a
polynomial identity is an identity of Gram matrices, and a form that is non-negative for all real values of its symbols
is non-negative for vectors of every dimension.  The class enters through interpolation conditions at finitely many
points (Taylor, Hendrickx, Glineur 2017, Theorems 4 and 6), necessary and sufficient for such a function to exist.

`worst_case` and `certificate` solve semidefinite programmes by cvxpy with Clarabel.  `certify` rounds the multipliers to
rationals, and z3 decides the remaining form exactly: that verdict is a proof.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import sympy
from sympy.logic.boolalg import Boolean

from fedtheory.theory.notation import NOTATION, Bregman, Expectation, Grad, Inner, Norm, Value
from fedtheory.theory.proofs.arithmetic import decide
from fedtheory.theory.proofs.forms import Function, gradient, value
from fedtheory.theory.statement import Status, Verdict

if TYPE_CHECKING:
    import cvxpy  # takes a second to load, and only a search for a certificate needs it

_TOLERANCE = 1e-6  # for the residual of a semidefinite programme; a proof has no tolerance


@dataclass(frozen=True)
class Point:
    """A point with the function's value and gradient there, as symbols."""

    x: sympy.Expr
    value: sympy.Expr
    gradient: sympy.Expr


def point(function: sympy.Symbol, x: sympy.Expr) -> Point:
    """The point x of a function, with symbols for its value and gradient; the same x gives the same symbols."""
    x = sympy.expand(x)
    if isinstance(function, Function):
        return Point(x, value(function, x), gradient(function, x))
    name = f"{function.name}[{x}]"
    return Point(x, sympy.Symbol(f"{name}", real=True), sympy.Symbol(f"grad {name}", real=True))


def quadratic_form(e: sympy.Basic) -> sympy.Expr:
    """Vector notation as a polynomial in vector symbols and function values: norms squared, inner products, D_h."""
    if isinstance(e, Bregman):
        h, x, y = e.args
        at_x, at_y = point(h, quadratic_form(x)), point(h, quadratic_form(y))
        return sympy.expand(at_x.value - at_y.value - at_y.gradient * (at_x.x - at_y.x))
    if isinstance(e, Value):
        return point(e.args[0], quadratic_form(e.args[1])).value
    if isinstance(e, Grad):
        return point(e.args[0], quadratic_form(e.args[1])).gradient
    if isinstance(e, sympy.Pow) and isinstance(e.base, Norm):
        if e.exp != 2:
            raise ValueError(f"{e}: expected a squared norm")
        return sympy.expand(quadratic_form(e.base.args[0]) ** 2)
    if isinstance(e, Inner):
        return sympy.expand(sympy.Mul(*map(quadratic_form, e.args)))
    if isinstance(e, sympy.Sum):
        return quadratic_form(e.doit())
    if isinstance(e, Norm):
        raise ValueError(f"{e}: expected a squared norm")
    return e.func(*map(quadratic_form, e.args)) if e.args and not isinstance(e, sympy.Indexed) else e


def difference(relation: sympy.Basic) -> sympy.Expr:
    """The quadratic form that an inequality in vector notation claims to be >= 0."""
    if not isinstance(relation, sympy.Le | sympy.Ge):
        raise ValueError(f"{relation}: expected <= or >=")
    small, large = relation.args if isinstance(relation, sympy.Le) else relation.args[::-1]
    return sympy.expand(quadratic_form(large) - quadratic_form(small))


def equated(relation: sympy.Basic) -> tuple[sympy.Expr, sympy.Expr]:
    """The sides of an equation.  Raises ValueError for another relation."""
    if not isinstance(relation, sympy.Eq):
        raise ValueError(f"{relation}: expected an equation")
    return relation.args


def in_numbers(e: sympy.Expr, known: Mapping[sympy.Expr, sympy.Expr]) -> sympy.Expr:
    """An expression with known numbers for its parts in vector notation.

    known  part -> number

    Raises ValueError if something else in vector notation, or a vector (a symbol without a known sign), is left: the
    expression is about another quantity.
    """
    read: sympy.Expr = e.xreplace(dict(known))
    numbers = {s for number in known.values() for s in number.free_symbols}
    left = [*read.atoms(*NOTATION, sympy.Sum), *(s for s in read.free_symbols - numbers if s.is_nonnegative is None)]
    if left:
        raise ValueError(f"{', '.join(map(str, left))}: expected {', '.join(map(str, known))}, and numbers")
    return read


def in_the_mean(e: sympy.Expr, means: Mapping[sympy.Expr, sympy.Expr]) -> sympy.Expr:
    """An expression with all expectations evaluated; each is linear in random quantities with known means.

    means  random quantity -> its mean

    Raises ValueError for an expectation of anything else.
    """
    drawn = {q: sympy.Dummy(str(q), real=True) for q in means}

    def mean(inside: sympy.Expr) -> sympy.Expr:
        inside = sympy.expand(inside.xreplace(drawn))
        parts = [inside.coeff(q) * q for q in drawn.values()]
        rest = sympy.expand(inside - sympy.Add(*parts))
        if inside.atoms(*NOTATION) or rest.free_symbols & {*drawn.values()}:
            raise ValueError(f"E[{inside}]: expected an expression linear in {', '.join(map(str, means))}")
        return inside.xreplace({drawn[q]: value for q, value in means.items()})

    return e.replace(Expectation, mean)


# Interpolation conditions, each an expression >= 0


def convex(i: Point, j: Point) -> sympy.Expr:
    """h(x_i) >= h(x_j) + <grad h(x_j), x_i - x_j>."""
    return sympy.expand(i.value - j.value - j.gradient * (i.x - j.x))


def smooth_convex(i: Point, j: Point, L: sympy.Expr, mu: sympy.Expr = sympy.S.Zero) -> sympy.Expr:
    """L-smooth and mu-strongly convex (mu < L); with mu = -L only smooth."""
    g, x = i.gradient - j.gradient, i.x - j.x
    room = (g**2 / L + mu * x**2 - 2 * mu / L * g * x) / (2 * (1 - mu / L))
    return sympy.expand(sympy.simplify(i.value - j.value - j.gradient * x - room))


def smooth(i: Point, j: Point, L: sympy.Expr) -> sympy.Expr:
    """L-smooth, convex or not."""
    return smooth_convex(i, j, L, -L)


@dataclass(frozen=True)
class VectorCertificate:
    """claim = sum of multipliers times hypotheses + a positive semidefinite form.

    residual   the largest error of this identity in the solver's numbers
    """

    multipliers: Mapping[str, float]
    residual: float


@dataclass(frozen=True)
class WorstCase:
    """The largest value of an objective over the class, with the dual multipliers of the conditions."""

    value: float
    multipliers: Mapping[str, float]
    residual: float


def _split(e: sympy.Expr, vectors: Sequence[sympy.Symbol], values: Sequence[sympy.Symbol]) -> tuple:
    """(Gram matrix, coefficients of the function values, constant) of a numeric quadratic form."""
    poly = sympy.Poly(e, *vectors, *values)
    gram = np.zeros((len(vectors), len(vectors)))
    linear, constant = np.zeros(len(values)), 0.0
    for powers, coefficient in poly.terms():
        used = [i for i, p in enumerate(powers) for _ in range(p)]
        c = float(coefficient)
        if not used:
            constant += c
        elif len(used) == 1 and used[0] >= len(vectors):
            linear[used[0] - len(vectors)] += c
        elif len(used) == 2 and max(used) < len(vectors):
            gram[used[0], used[1]] += c / 2
            gram[used[1], used[0]] += c / 2
        else:
            raise ValueError(f"{e}: expected a form in {[v.name for v in vectors]} plus function values")
    return gram, linear, constant


def unknowns(expressions: Sequence[sympy.Expr]) -> tuple[list[sympy.Symbol], list[sympy.Symbol]]:
    """(vectors, function values) of numeric forms: a function value is a symbol that occurs in no product."""
    symbols = sorted(set().union(*(e.free_symbols for e in expressions)), key=str)
    monomials = [m for e in expressions for m in sympy.Poly(e, *symbols).monoms()]
    in_products = {s for i, s in enumerate(symbols) if any(m[i] and sum(m) > 1 for m in monomials)}
    return [s for s in symbols if s in in_products], [s for s in symbols if s not in in_products]


def certificate(claim: sympy.Expr, hypotheses: Mapping[str, sympy.Expr]) -> VectorCertificate | None:
    """Multipliers >= 0 with claim - sum multiplier * hypothesis positive semidefinite; None when there are none.

    claim, hypotheses   numeric quadratic forms, each to be >= 0
    """
    import cvxpy

    vectors, values = unknowns([claim, *hypotheses.values()])
    target = _split(claim, vectors, values)
    if not hypotheses:  # then the claim itself is the form
        return VectorCertificate({}, 0.0)
    parts = [_split(h, vectors, values) for h in hypotheses.values()]
    weights = cvxpy.Variable(len(parts), nonneg=True)
    form = cvxpy.Variable((len(vectors), len(vectors)), PSD=True)
    gram, linear, constant = (
        target[part] - sum(weights[i] * h[part] for i, h in enumerate(parts)) for part in range(3)
    )
    constraints = [gram == form, constant >= 0, *([linear == 0] if values else [])]
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(weights)), constraints)
    if not _solved(problem) or weights.value is None:
        return None
    errors = [np.abs(np.asarray(c.violation())).max() for c in constraints]
    return VectorCertificate(
        dict(zip(hypotheses, np.atleast_1d(weights.value).tolist(), strict=True)), float(max(errors))
    )


def worst_case(objective: sympy.Expr, hypotheses: Mapping[str, sympy.Expr], normalised: sympy.Expr) -> WorstCase | None:
    """The largest objective over all functions of the class in every dimension, subject to `normalised` <= 1.

    objective, hypotheses, normalised   numeric quadratic forms; None when the programme is unbounded or fails
    """
    import cvxpy

    vectors, values = unknowns([objective, normalised, *hypotheses.values()])
    gram = cvxpy.Variable((len(vectors), len(vectors)), PSD=True)
    value = cvxpy.Variable(len(values)) if values else None

    def at(e: sympy.Expr) -> cvxpy.Expression:
        g, v, c = _split(e, vectors, values)
        return cvxpy.trace(g @ gram) + (0 if value is None else v @ value) + c

    conditions = [at(h) >= 0 for h in hypotheses.values()]
    problem = cvxpy.Problem(cvxpy.Maximize(at(objective)), [*conditions, at(normalised) <= 1])
    if not _solved(problem):
        return None
    residual = max(float(np.abs(np.asarray(c.violation())).max()) for c in problem.constraints)
    duals = {name: float(c.dual_value) for name, c in zip(hypotheses, conditions, strict=True)}
    return WorstCase(float(problem.value), duals, residual)


def _solved(problem: cvxpy.Problem) -> bool:
    import cvxpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status says the same
        try:
            problem.solve(solver=cvxpy.CLARABEL)
        except cvxpy.SolverError:
            return False
    return problem.status in ("optimal", "optimal_inaccurate")


def certify(
    claim: sympy.Expr,
    hypotheses: Mapping[str, sympy.Expr],
    sample: Mapping[sympy.Symbol, sympy.Rational],
    conditions: Sequence[Boolean] = (),
) -> Verdict:
    """Decide claim >= 0 from hypotheses >= 0, for all parameters that satisfy the conditions.

    sample   parameter values at which the semidefinite programme looks for multipliers

    The verdict is proved if the multipliers, rounded to rationals, leave a form that z3 finds non-negative for all
    parameters; refuted if z3 finds rational points, values and gradients on the real line that meet every hypothesis
    but not the claim; open otherwise.
    """
    numeric = {name: h.subs(sample) for name, h in hypotheses.items()}
    found = certificate(claim.subs(sample), numeric)
    if found is not None and found.residual < _TOLERANCE:
        multipliers = {name: _rational(m) for name, m in found.multipliers.items()}
        rest = sympy.expand(claim - sympy.Add(*(m * hypotheses[name] for name, m in multipliers.items())))
        exact = decide(conditions, rest >= 0) if rest != 0 else None
        if exact is None or exact.status is Status.PROVED:
            used = ", ".join(f"{m} x {name}" for name, m in multipliers.items() if m)
            form = "0" if rest == 0 else sympy.factor(rest)
            return Verdict(
                Status.PROVED, f"every dimension: claim = {used + ' + ' if used else ''}form, form = {form} >= 0"
            )
    against = decide([*conditions, *(h >= 0 for h in hypotheses.values())], claim >= 0)
    if against.status is Status.REFUTED:
        return Verdict(
            Status.REFUTED, "fails for a function on the real line, by interpolation", witness=against.witness
        )
    if found is not None:
        rounded = ", ".join(f"{m:.6g} x {name}" for name, m in found.multipliers.items())
        why = f"multipliers ({rounded}; residual {found.residual:.1e}), but none that are exact once rounded"
        return Verdict(Status.OPEN, f"{why}, and no counter-example on the real line")
    return Verdict(Status.OPEN, "no multipliers, and no counter-example on the real line")


def _rational(number: float) -> sympy.Rational:
    close = Fraction(number).limit_denominator(48)
    return sympy.Rational(close.numerator, close.denominator)
