"""The best possible constant of an inequality: a semidefinite programme, and a bracket that is verified exactly.

Performance estimation (Drori, Teboulle 2014; Taylor, Hendrickx, Glineur 2017): over all functions of the class, in every
dimension, the largest value of a quadratic form at finitely many points is a semidefinite programme in their Gram matrix.
Clarabel solves it in floating point.  From its solutions we round

    from below   a Gram matrix with function values: an instance, by interpolation
    from above   multipliers of the interpolation conditions: a proof

to fractions, and check both exactly.  Only the checks count.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

from theory.proofs.vectors import unknowns

Matrix = list[list[Fraction]]
_MARGINS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # how far an instance is inside the conditions
_ABOVE = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # how far a proved constant is above the best one
_PARTS = 2**40  # fractions have this denominator
_TRACE = 1e6  # of multipliers that are looked for
_TINY = 1e-6  # of multipliers, relative to the largest


class Unbounded(ValueError):
    """No constant is enough: without the amount, the rest of the inequality is false."""


class NotSolved(ValueError):
    """The solver did not solve the programme."""


@dataclass(frozen=True)
class Form:
    """A quadratic form in vectors, linear in function values, with exact coefficients."""

    gram: Matrix
    linear: list[Fraction]

    @property
    def floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same in floating point."""
        return np.array(self.gram, float), np.array(self.linear, float)


@dataclass(frozen=True)
class Bracket:
    """The best constant is between `lower` and `upper`.

    gram, values   the instance: inner products of the vectors, function values; its ratio is `lower`
    multipliers    of the conditions: with them, `upper` times the amount minus the objective is a sum of squares
    """

    lower: Fraction
    upper: Fraction
    vectors: tuple[str, ...]
    gram: tuple[tuple[Fraction, ...], ...]
    values: Mapping[str, Fraction]
    multipliers: Mapping[str, Fraction]


@dataclass(frozen=True)
class Programme:
    """The largest `objective` where `amount` is 1 and all conditions are >= 0; forms with rational coefficients."""

    objective: sympy.Expr
    amount: sympy.Expr
    conditions: Mapping[str, sympy.Expr]

    def exact(self) -> tuple[list[sympy.Symbol], list[sympy.Symbol], Form, Form, dict[str, Form]]:
        """(vectors, function values, objective, amount, conditions)."""
        vectors, values = unknowns([self.objective, self.amount, *self.conditions.values()])
        of = {name: _form(e, vectors, values) for name, e in self.conditions.items()}
        objective, amount = (_form(e, vectors, values) for e in (self.objective, self.amount))
        return vectors, values, objective, amount, of


def _form(e: sympy.Expr, vectors: Sequence[sympy.Symbol], values: Sequence[sympy.Symbol]) -> Form:
    gram = [[Fraction(0)] * len(vectors) for _ in vectors]
    linear = [Fraction(0)] * len(values)
    if e == 0:
        return Form(gram, linear)
    for powers, coefficient in sympy.Poly(e, *vectors, *values).terms():
        used = [i for i, p in enumerate(powers) for _ in range(p)]
        c = Fraction(int(coefficient.p), int(coefficient.q))
        if len(used) == 1 and used[0] >= len(vectors):
            linear[used[0] - len(vectors)] += c
        elif len(used) == 2 and max(used) < len(vectors):
            i, j = used
            gram[i][j] += c / 2
            gram[j][i] += c / 2
        else:
            raise ValueError(f"{e}: expected a form in {[v.name for v in vectors]} plus function values")
    return Form(gram, linear)


# Exact checks


def positive_semidefinite(matrix: Sequence[Sequence[Fraction]]) -> bool:
    """Whether a symmetric matrix of fractions is positive semidefinite, by elimination."""
    rest = [list(row) for row in matrix]
    while rest:
        pivot, row = rest[0][0], rest[0]
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        below = [r[1:] for r in rest[1:]]
        if pivot > 0:
            for i, r in enumerate(rest[1:]):
                if r[0]:
                    factor = r[0] / pivot
                    below[i] = [a - factor * b for a, b in zip(below[i], row[1:], strict=True)]
        rest = below
    return True


def _at(form: Form, gram: Sequence[Sequence[Fraction]], values: Sequence[Fraction]) -> Fraction:
    products = (a * b for own, other in zip(form.gram, gram, strict=True) for a, b in zip(own, other, strict=True) if a)
    return sum(products, Fraction(0)) + sum((a * b for a, b in zip(form.linear, values, strict=True) if a), Fraction(0))


def verified_instance(programme: Programme, bracket: Bracket) -> Fraction:
    """The ratio of the bracket's instance, computed exactly.  Raises ValueError if it is no instance of the class."""
    vectors, values, objective, amount, conditions = programme.exact()
    if tuple(v.name for v in vectors) != bracket.vectors or {v.name for v in values} != set(bracket.values):
        raise ValueError("the instance has other vectors or function values than the programme")
    own = [bracket.values[v.name] for v in values]
    for name, form in conditions.items():
        if _at(form, bracket.gram, own) < 0:
            raise ValueError(f"the instance does not satisfy {name}")
    if not positive_semidefinite(bracket.gram):
        raise ValueError("the instance's Gram matrix is not positive semidefinite")
    least = _at(amount, bracket.gram, own)
    if least <= 0:
        raise ValueError(f"the instance's amount is {least}: expected > 0")
    return _at(objective, bracket.gram, own) / least


def verified_proof(programme: Programme, bracket: Bracket) -> bool:
    """Whether upper * amount - objective is a combination of the conditions plus a sum of squares, checked exactly."""
    vectors, values, objective, amount, conditions = programme.exact()
    if set(bracket.multipliers) != set(conditions) or min(bracket.multipliers.values(), default=Fraction(0)) < 0:
        return False
    parts = [(bracket.upper, amount), (Fraction(-1), objective)]
    parts += [(-bracket.multipliers[name], form) for name, form in conditions.items()]
    rest = _sum(parts, len(vectors), len(values))
    return not any(rest.linear) and positive_semidefinite(rest.gram)


def _sum(parts: Sequence[tuple[Fraction, Form]], n: int, m: int) -> Form:
    gram, linear = [[Fraction(0)] * n for _ in range(n)], [Fraction(0)] * m
    for factor, form in parts:
        if factor:
            for i in range(n):
                for j in range(n):
                    if form.gram[i][j]:
                        gram[i][j] += factor * form.gram[i][j]
            for i in range(m):
                linear[i] += factor * form.linear[i]
    return Form(gram, linear)


# The programmes


def tight(programme: Programme) -> Bracket:
    """The best constant, bracketed.

    Raises Unbounded if there is none; NotSolved if the solver fails, or its solutions do not survive the rounding.
    """
    vectors, values, objective, amount, conditions = programme.exact()
    best, _, _ = _worst(objective, amount, conditions)
    instance = _instance(objective, amount, conditions)
    multipliers, upper = _proof(objective, amount, conditions, best)
    if instance is None or multipliers is None:
        side = "instance" if instance is None else "proof"
        raise NotSolved(f"the best constant is about {best:.6g}, but no {side} survives the rounding to fractions")
    ratio, fractions, numbers = instance
    return Bracket(
        ratio,
        upper,
        tuple(v.name for v in vectors),
        tuple(map(tuple, fractions)),
        dict(zip((v.name for v in values), numbers, strict=True)),
        dict(zip(conditions, multipliers, strict=True)),
    )


def _solve(problem: Any) -> None:
    import cvxpy

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the status says the same
            problem.solve(solver=cvxpy.CLARABEL)
    except cvxpy.SolverError as error:
        raise NotSolved(f"Clarabel: {error}") from None
    if problem.status in ("unbounded", "unbounded_inaccurate"):
        raise Unbounded("no constant is enough: without this term, the rest of the inequality is false")
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise NotSolved(f"Clarabel: {problem.status}")


def _loose(forms: Sequence[Form]) -> list[int]:
    """Vectors without a square in any form: their inner products are free, as their length can be as large as needed."""
    return [i for i in range(len(forms[0].gram)) if not any(form.gram[i][i] for form in forms)]


def _variables(forms: Sequence[Form]) -> tuple[Any, Any, Any, Callable[[Form], Any]]:
    """(Gram matrix of the vectors with a square, all inner products, function values, the value of a form)."""
    import cvxpy

    n, m, loose = len(forms[0].gram), len(forms[0].linear), _loose(forms)
    kept = [i for i in range(n) if i not in loose]
    gram, values = cvxpy.Variable((len(kept), len(kept)), PSD=True), cvxpy.Variable(max(m, 1))
    across = cvxpy.Variable((max(len(loose), 1), n))
    into = np.eye(n)[kept]
    whole = into.T @ gram @ into
    if loose:
        of_loose = np.eye(n)[loose]
        whole = whole + of_loose.T @ across + across.T @ of_loose

    def at(form: Form) -> Any:
        g, v = form.floats
        return cvxpy.trace(g @ whole) + (v @ values if m else 0)

    return gram, whole, values, at


def _worst(
    objective: Form, amount: Form, conditions: Mapping[str, Form], margin: float = 0.0
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """The programme in floating point: (the constant, inner products, function values).

    margin  how far inside all conditions the solution must be, relative to an amount of 1
    """
    import cvxpy

    gram, whole, values, at = _variables([objective, amount, *conditions.values()])
    limits = [at(amount) == 1, *(at(h) >= margin for h in conditions.values())]
    if margin:
        limits += [gram >> margin * np.eye(gram.shape[0])]
    problem = cvxpy.Problem(cvxpy.Maximize(at(objective)), limits)
    _solve(problem)
    return float(problem.value), np.asarray(whole.value), np.asarray(values.value)


def _instance(
    objective: Form, amount: Form, conditions: Mapping[str, Form]
) -> tuple[Fraction, Matrix, list[Fraction]] | None:
    """The best solution a little inside the conditions whose fractions are an instance: (ratio, Gram matrix, values)."""
    loose = _loose([objective, amount, *conditions.values()])
    for margin in _MARGINS:
        try:
            _, gram, own = _worst(objective, amount, conditions, margin)
        except NotSolved:
            continue
        fractions = [[_fraction(x) for x in row] for row in (gram + gram.T) / 2]
        numbers = [_fraction(x) for x in own][: len(objective.linear)]
        for i in loose:  # no form contains its square
            fractions[i][i] = _long_enough(fractions, i)
        least = _at(amount, fractions, numbers)
        inside = all(_at(form, fractions, numbers) >= 0 for form in conditions.values())
        if inside and least > 0 and positive_semidefinite(fractions):
            return _at(objective, fractions, numbers) / least, fractions, numbers
    return None


def _long_enough(gram: Matrix, i: int) -> Fraction:
    """A square of vector i with which the Gram matrix is positive semidefinite; 0 if there is none."""
    length = Fraction(1)
    for _ in range(60):
        tried = [list(row) for row in gram]
        tried[i][i] = length
        if positive_semidefinite(tried):
            return length
        length *= 4
    return Fraction(0)


def _proof(
    objective: Form, amount: Form, conditions: Mapping[str, Form], best: float
) -> tuple[list[Fraction] | None, Fraction]:
    """Multipliers for a constant a little above the best one, well inside, rounded: (multipliers, the constant)."""
    n, m = len(objective.gram), len(objective.linear)
    forms = list(conditions.values())
    # what stands before the function values, and before the products with vectors without a square, must vanish exactly
    loose = _loose([objective, amount, *forms])
    pairs = [(i, j) for i in loose for j in range(n) if j > i or j not in loose]
    equations = [[form.linear[i] for form in forms] for i in range(m)]
    equations += [[form.gram[i][j] for form in forms] for i, j in pairs]
    for share in _ABOVE:
        upper = _fraction(best + share * max(abs(best), 1e-3))
        wanted = [upper * a - b for a, b in zip(amount.linear, objective.linear, strict=True)]
        wanted += [upper * amount.gram[i][j] - objective.gram[i][j] for i, j in pairs]
        g = float(upper) * amount.floats[0] - objective.floats[0]
        forced = _forced(equations, wanted)
        # where other terms are as small as can be, more multipliers must be 0: those that the solver finds tiny
        weights = _multipliers(g, forms, loose, equations, wanted, forced, own=False)
        tiny = set() if weights is None else {i for i, x in enumerate(weights) if x <= _TINY * max(weights)}
        for none in (forced, forced | tiny):
            weights = _multipliers(g, forms, loose, equations, wanted, none, own=True)
            if weights is None:
                continue
            rounded = [Fraction(0) if i in none else _fraction(x) for i, x in enumerate(weights)]
            left = [[Fraction(0) if i in none else a for i, a in enumerate(row)] for row in equations]
            found = _corrected(rounded, left, wanted)
            if found is None or min(found, default=Fraction(0)) < 0:
                continue
            used = [(-w, form) for w, form in zip(found, forms, strict=True)]
            rest = _sum([(upper, amount), (Fraction(-1), objective), *used], n, m)
            if not any(rest.linear) and positive_semidefinite(rest.gram):
                return found, upper
    return None, Fraction(0)


def _multipliers(
    target: NDArray[np.float64],
    forms: Sequence[Form],
    loose: Sequence[int],
    equations: Matrix,
    wanted: Sequence[Fraction],
    none: set[int],
    own: bool,
) -> list[float] | None:
    """Multipliers that leave a form as far inside the positive semidefinite ones as possible; None if there are none.

    target  the form of which they take multiples of the others
    none    those that are 0
    own     whether the others must be inside, too, and not only >= 0
    """
    import cvxpy

    kept = [i for i in range(len(target)) if i not in loose]
    weights, room = cvxpy.Variable(len(forms)), cvxpy.Variable()
    rest = (target - sum(weights[i] * form.floats[0] for i, form in enumerate(forms)))[np.ix_(kept, kept)]
    rows = [i for i, row in enumerate(equations) if any(row)]
    limits = [rest >> room * np.eye(len(kept)), room <= 1, weights <= _TRACE]
    limits += [np.array([equations[i] for i in rows], float) @ weights == np.array([wanted[i] for i in rows], float)]
    free = [i for i in range(len(forms)) if i not in none]
    limits += [weights[free] >= (room if own else 0)]
    limits += [weights[sorted(none)] == 0] if none else []
    try:
        _solve(cvxpy.Problem(cvxpy.Maximize(room), limits))
    except NotSolved:
        return None
    if weights.value is None or room.value is None or room.value <= 0:
        return None
    return [float(x) for x in np.atleast_1d(weights.value)]


def _forced(equations: Matrix, wanted: Sequence[Fraction]) -> set[int]:
    """Multipliers >= 0 that must be 0: an equation with the right side 0 has them all with one sign."""
    none: set[int] = set()
    while True:
        found = set(none)
        for row, target in zip(equations, wanted, strict=True):
            left = {i: a for i, a in enumerate(row) if a and i not in none}
            if left and target == 0 and (min(left.values()) > 0 or max(left.values()) < 0):
                found |= left.keys()
        if found == none:
            return none
        none = found


def _corrected(weights: list[Fraction], equations: Matrix, wanted: list[Fraction]) -> list[Fraction] | None:
    """The weights, changed as little as needed to satisfy the equations exactly; None if these contradict each other."""
    rows = [row for row in equations if any(row)]
    reached = [sum((a * w for a, w in zip(row, weights, strict=True)), Fraction(0)) for row in equations]
    targets = [b - a for a, b in zip(reached, wanted, strict=True)]
    missing = [t for row, t in zip(equations, targets, strict=True) if any(row)]
    if any(t for row, t in zip(equations, targets, strict=True) if not any(row)):
        return None
    # normal equations A A' y = missing, by elimination
    products = [[sum((a * b for a, b in zip(r, s, strict=True)), Fraction(0)) for s in rows] for r in rows]
    system = [[*row, t] for row, t in zip(products, missing, strict=True)]
    solved = _eliminated(system)
    if solved is None:
        return None
    moves = [sum((y * row[i] for y, row in zip(solved, rows, strict=True)), Fraction(0)) for i in range(len(weights))]
    return [w + move for w, move in zip(weights, moves, strict=True)]


def _eliminated(system: Matrix) -> list[Fraction] | None:
    """A solution of a square system, augmented by its right side; free unknowns are 0, and None if there is none."""
    n = len(system)
    rows = [[QQ(x.numerator, x.denominator) for x in row] for row in system]
    reduced, pivots = DomainMatrix(rows, (n, n + 1), QQ).rref()
    if n in pivots:
        return None
    found = [Fraction(0)] * n
    for i, column in enumerate(pivots):
        x = reduced[i, n].element
        found[column] = Fraction(int(x.numerator), int(x.denominator))
    return found


def _fraction(x: float) -> Fraction:
    return Fraction(round(float(x) * _PARTS), _PARTS)
