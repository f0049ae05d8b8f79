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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import lcm
from typing import Any

import numpy as np
import sympy
from flint import fmpq
from numpy.typing import NDArray
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

from fedtheory.theory.proofs.gram import QuadraticForm, pair, summed
from fedtheory.theory.proofs.linear import fraction, solution, symmetric

Matrix = list[list[Fraction]]
_MARGINS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # how far an instance is inside the conditions
_CLOSE = 1e-3  # relative difference between the ends of a bracket
_SHARES = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # of the centre in an instance
_ABOVE = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # how far a proved constant is above the best one
_DIGITS = 100  # of coefficients: their products must be floating point numbers, too
_SIZES = Fraction(1, 10**_DIGITS), Fraction(10**_DIGITS)
_POWERS = 12  # of a change of units in a coefficient, at most
_ENOUGH = 1000  # a constant; where an instance needs a larger one, and the solver finds none, there is none
PARTS = 2**40  # fractions have this denominator
_TRACE = 1e6  # of multipliers that are looked for
_TINY = 1e-6  # of multipliers, relative to the largest; of an amount
_SMALL = 1e-4  # of eigenvalues, in a trace of 1
_FAR = 10.0  # function values and inner products of an instance, in a trace of 1
_SIMPLE = (36, 1000)  # largest denominators of directions that are guessed


class Unbounded(ValueError):
    """No constant is enough: without the amount, the rest of the inequality is false."""


class NotSolved(ValueError):
    """The solver did not solve the programme."""


@dataclass(frozen=True)
class GramInstance:
    """Inner products of the vectors, as a Gram matrix, and function values: by interpolation, functions of the class."""

    vectors: tuple[str, ...]
    gram: tuple[tuple[Fraction, ...], ...]
    values: Mapping[str, Fraction]

    def at(self, form: QuadraticForm) -> Fraction:
        """The value of a quadratic form.  Raises KeyError for other vectors or function values."""
        place = self._place
        products = (c * self.gram[place[a]][place[b]] for (a, b), c in form.products.items())
        return sum(products, Fraction(0)) + sum((c * self.values[n] for n, c in form.numbers.items()), Fraction(0))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.vectors)}


@dataclass(frozen=True)
class Bracket:
    """The best constant is between `lower` and `upper`.

    instance     its ratio is `lower`
    multipliers  of the conditions: with them, `upper` times the amount minus the objective is a sum of squares
    """

    lower: Fraction
    upper: Fraction
    instance: GramInstance
    multipliers: Mapping[str, Fraction]


def quadratic(e: sympy.Expr) -> QuadraticForm:
    """A polynomial with rational coefficients as a form: symbols in products are vectors, the others function values.

    Raises ValueError for other terms than products of two symbols and single symbols.
    """
    products: dict[tuple[str, str], Fraction] = {}
    numbers: dict[str, Fraction] = {}
    symbols = sorted(e.free_symbols, key=str)
    names = [s.name for s in symbols]
    for powers, coefficient in sympy.Poly(e, *symbols).terms() if symbols else []:
        used = [name for name, p in zip(names, powers, strict=True) for _ in range(p)]
        if len(used) not in (1, 2):
            raise ValueError(f"{e}: expected a form in vectors plus function values")
        c = fraction(coefficient)
        if len(used) == 1:
            numbers[used[0]] = c
        else:
            products[pair(*used)] = c
    if both := numbers.keys() & {name for pair in products for name in pair}:
        raise ValueError(f"{e}: {', '.join(sorted(both))}: expected either vectors or function values")
    return QuadraticForm(products, numbers)


@dataclass(frozen=True)
class Programme:
    """The largest `objective` where `amount` is 1 and all conditions are >= 0.

    solved  the same in the units in which it is solved, if they are others
    line    an instance in one dimension that is known: coordinates of the vectors, and function values; empty if none is
    """

    objective: QuadraticForm
    amount: QuadraticForm
    conditions: Mapping[str, QuadraticForm]
    solved: Units | None = field(default=None, compare=False, repr=False)
    line: Mapping[str, Fraction] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(objective: sympy.Expr, amount: sympy.Expr, conditions: Mapping[str, sympy.Expr]) -> Programme:
        """The same from polynomials: see `quadratic`."""
        return Programme(
            quadratic(objective), quadratic(amount), {name: quadratic(e) for name, e in conditions.items()}
        )

    @cached_property
    def forms(self) -> list[QuadraticForm]:
        """Objective, amount and conditions."""
        return [self.objective, self.amount, *self.conditions.values()]

    @cached_property
    def vectors(self) -> tuple[str, ...]:
        """The names of the vectors."""
        return tuple(sorted({name for form in self.forms for pair in form.products for name in pair}))

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The names of the function values."""
        return tuple(sorted({name for form in self.forms for name in form.numbers}))


@dataclass(frozen=True)
class Units:
    """A programme in other units: its vectors, function values and forms are there `factor` to some power times smaller."""

    programme: Programme
    factor: Fraction

    def bracket(self, found: Bracket, wanted: Programme) -> Bracket | None:
        """A bracket of this programme in the units of the wanted one, checked exactly; None if it is none there."""
        sizes, instance = self._sizes(wanted), self.instance(found.instance, wanted)
        if sizes is None or instance is None:
            return None
        of_objective, _, *of_conditions = sizes[1]
        of = {name: of_objective / size for name, size in zip(wanted.conditions, of_conditions, strict=True)}
        other = replace(found, instance=instance, multipliers={n: x * of[n] for n, x in found.multipliers.items()})
        same = verified_proof(wanted, other) and verified_instance(wanted, other) == found.lower
        return other if same else None

    def instance(self, found: GramInstance, wanted: Programme) -> GramInstance | None:
        """An instance in the units of the wanted programme, checked exactly; None if it is none there."""
        sizes = self._sizes(wanted)
        if sizes is None:
            return None
        of, _ = sizes
        rows = zip(found.vectors, found.gram, strict=True)
        gram = tuple(tuple(x * of[a] * of[b] for x, b in zip(row, found.vectors, strict=True)) for a, row in rows)
        other = GramInstance(found.vectors, gram, {name: x * of[name] for name, x in found.values.items()})
        try:
            checked(other, wanted)
        except ValueError:
            return None
        return other

    def _sizes(self, wanted: Programme) -> tuple[dict[str, Fraction], list[Fraction]] | None:
        """How much larger the vectors and function values, and the forms, of the wanted programme are.

        None if the coefficients are not those of one programme in two units.
        """
        exponents = {self.factor**n: n for n in range(-_POWERS, _POWERS + 1)}
        # the free unknowns are the last ones: a vector is 1 there, and whole powers follow
        names = (*wanted.values, *wanted.vectors)
        forms: list[list[list[Fraction]]] = []  # for each coefficient: how often it has each name, and an exponent
        for own, other in zip(self.programme.forms, wanted.forms, strict=True):
            here, there = own.parts, other.parts
            if here.keys() != there.keys() or any(here[part] / there[part] not in exponents for part in there):
                return None
            rows = [[(part if isinstance(part, tuple) else (part,)).count(n) for n in names] for part in there]
            powers = [exponents[here[part] / there[part]] for part in there]
            forms.append([[*map(Fraction, row), Fraction(power)] for row, power in zip(rows, powers, strict=True)])
        # all parts of a form are of one size, and so are the objective and the amount
        together = [[*forms[0], *forms[1]], *forms[2:]]
        equations = {tuple(a - b for a, b in zip(row, form[0], strict=True)) for form in together for row in form}
        found = solution(sorted(equations))
        if found is None or any(x.denominator != 1 for x in found):
            return None
        of_names = {name: self.factor ** int(x) for name, x in zip(names, found, strict=True)}
        values = [*found, Fraction(-1)]
        of_forms = [
            sum((a * x for a, x in zip(form[0], values, strict=True)), Fraction(0)) if form else 0 for form in forms
        ]
        return of_names, [self.factor ** int(x) for x in of_forms]


# Exact checks


def positive_semidefinite(matrix: Sequence[Sequence[Fraction]]) -> bool:
    """Whether a symmetric matrix of fractions is positive semidefinite, by elimination (in flint's fractions: faster)."""
    rest = [[fmpq(*x.as_integer_ratio()) for x in row] for row in matrix]
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


def checked(instance: GramInstance, programme: Programme) -> None:
    """Raises ValueError unless the instance is one of the programme's class, exactly."""
    if instance.vectors != programme.vectors or tuple(instance.values) != programme.values:
        raise ValueError("the instance has other vectors or function values than the programme")
    for name, form in programme.conditions.items():
        if instance.at(form) < 0:
            raise ValueError(f"the instance does not satisfy {name}")
    if not positive_semidefinite(instance.gram):
        raise ValueError("the instance's Gram matrix is not positive semidefinite")


def verified_instance(programme: Programme, bracket: Bracket) -> Fraction:
    """The ratio of the bracket's instance, computed exactly.  Raises ValueError if it is no instance of the class."""
    checked(bracket.instance, programme)
    if not programme.amount:
        return Fraction(0)
    least = bracket.instance.at(programme.amount)
    if least <= 0:
        raise ValueError(f"the instance's amount is {least}: expected > 0")
    return bracket.instance.at(programme.objective) / least


def verified_proof(programme: Programme, bracket: Bracket) -> bool:
    """Whether upper * amount - objective is a combination of the conditions plus a sum of squares, checked exactly."""
    used = bracket.multipliers
    if not used.keys() <= programme.conditions.keys() or min(used.values(), default=Fraction(0)) < 0:
        return False
    parts = [programme.amount * bracket.upper, -programme.objective]
    return is_square(summed([*parts, *(programme.conditions[name] * -x for name, x in used.items())]))


def is_square(form: QuadraticForm) -> bool:
    """Whether a form is >= 0 for all vectors of any dimension, and all function values."""
    names = sorted({name for pair in form.products for name in pair})
    return not form.numbers and positive_semidefinite(symmetric(form.products, names))


def on_line(programme: Programme) -> GramInstance | None:
    """The known instance in one dimension, made so large that its inner products are whole numbers; None without one.

    Raises ValueError if it is no instance of the class.
    """
    if not programme.line:
        return None
    names, line = programme.vectors, programme.line
    gram = [[line[a] * line[b] for b in names] for a in names]
    values = {name: line[name] for name in programme.values}
    whole = lcm(*(x.denominator for x in [*values.values(), *(x for row in gram for x in row)]))
    rows = tuple(tuple(x * whole for x in row) for row in gram)
    found = GramInstance(names, rows, {name: x * whole for name, x in values.items()})
    checked(found, programme)
    return found


def needed_on_line(programme: Programme) -> Fraction | None:
    """The constant that the known instance on a line needs; None without one, or where it has no amount."""
    found = on_line(programme)
    amount = Fraction(0) if found is None else found.at(programme.amount)
    return None if found is None or amount <= 0 else found.at(programme.objective) / amount


def close(lower: Fraction, upper: Fraction | float) -> bool:
    """Whether the ends of a bracket are near each other."""
    return float(upper) - float(lower) <= _CLOSE * abs(float(upper))


# The programmes


def tight(programme: Programme) -> Bracket:
    """The best constant, bracketed; without an amount, between 0 and 1 if the objective is at most 0.

    Raises Unbounded if there is none, as far as an instance can show it; NotSolved if the solver fails, or its solutions
    do not survive the rounding.
    """
    dense = _Dense(programme)
    if not programme.amount:
        only = dense.proof(1.0)
        if only is None:
            raise Unbounded("nothing stands on the larger side, and the smaller one may be positive")
        zero = Fraction(0)
        rows = tuple((zero,) * len(dense.vectors) for _ in dense.vectors)
        nothing = GramInstance(dense.vectors, rows, dict.fromkeys(dense.values, zero))
        return Bracket(zero, Fraction(1), nothing, {n: x for n, x in only[0].items() if x})
    try:
        best = dense.largest()
    except (Unbounded, NotSolved) as error:  # where there is no best constant, the solver may fail
        if violation(replace(programme, amount=programme.amount * _ENOUGH)) is not None:
            raise Unbounded(_NOT_ENOUGH) from None
        if isinstance(error, Unbounded):
            raise NotSolved(f"the solver finds no best constant, and no instance that needs {_ENOUGH}") from None
        raise
    known = needed_on_line(programme)
    instance = on_line(programme) if known is not None and close(known, best) else dense.instance(best)
    if instance is None:
        raise NotSolved("no instance that the solver found survives the rounding to fractions")
    proof = dense.proof(best)
    if proof is None:
        raise NotSolved("no proof that the solver found survives the rounding to fractions")
    lower = instance.at(programme.objective) / instance.at(programme.amount)
    return Bracket(lower, proof[1], instance, {n: x for n, x in proof[0].items() if x})


def violation(programme: Programme) -> GramInstance | None:
    """An instance with objective > amount, checked exactly; None if the solver finds none."""
    import cvxpy

    dense = _Dense(programme)
    gram, whole, values = dense.variables()
    forms = dense.at(whole, values)
    limits = [cvxpy.trace(gram) <= 1, cvxpy.abs(values) <= _FAR, cvxpy.abs(whole) <= _FAR, *dense.inside(whole, values)]
    gain = dense.scale[0] * forms[0] - dense.scale[1] * forms[1]
    try:
        solve(cvxpy.Problem(cvxpy.Maximize(gain), limits))
        near = dense.near(np.asarray(whole.value), np.asarray(values.value))
        return next((one for one in near if one.at(programme.objective) > one.at(programme.amount)), None)
    except (NotSolved, Unbounded):
        return None


# Sometimes the solver's scaling of the problem, or its regularisation, is to blame for a failure
_NOT_ENOUGH = "no constant is enough: without this term, the rest of the inequality is false"
_SETTINGS: tuple[dict[str, Any], ...] = ({}, {"equilibrate_enable": False}, {"static_regularization_constant": 1e-6})


def solve(problem: Any) -> None:
    """Solve a problem of cvxpy by Clarabel.  Raises Unbounded and NotSolved."""
    import cvxpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status says the same
        # A rough solution only where no setting gives a fine one
        for rough, settings in product((False, True), _SETTINGS):
            try:
                problem.solve(solver=cvxpy.CLARABEL, **settings)
            except cvxpy.SolverError as error:
                failure = str(error)
                continue
            if rough or not problem.status.endswith("_inaccurate"):
                break
        else:
            raise NotSolved(f"the solver found no solution (Clarabel: {failure})")
    if problem.status in ("unbounded", "unbounded_inaccurate"):
        raise Unbounded(_NOT_ENOUGH)
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise NotSolved(f"the solver found no solution (Clarabel: {problem.status})")


class _Dense:
    """A programme in floating point: every form as a row over the entries of the Gram matrix, then over the values."""

    def __init__(self, programme: Programme) -> None:
        self.programme = programme
        self.vectors, self.values = programme.vectors, programme.values
        n, m, forms = len(self.vectors), len(self.values), programme.forms
        place = {name: i for i, name in enumerate(self.vectors)}
        at = {name: i for i, name in enumerate(self.values)}
        self.grams, self.linear = np.zeros((len(forms), n, n)), np.zeros((len(forms), max(m, 1)))
        for row, form in enumerate(forms):
            for (a, b), c in form.products.items():
                self.grams[row, place[a], place[b]] += _float(c) / 2
                self.grams[row, place[b], place[a]] += _float(c) / 2
            for name, c in form.numbers.items():
                self.linear[row, at[name]] += _float(c)
        # every form with a largest coefficient of 1
        self.scale = [max((abs(_float(c)) for c in form.parts.values()), default=0.0) or 1.0 for form in forms]
        self.grams /= np.array(self.scale)[:, None, None]
        self.linear /= np.array(self.scale)[:, None]
        self.equal, self.others = _equalities(forms)
        # vectors without a square in any form: their inner products are free, as their length can be as large as needed
        squared = {a for form in forms for a, b in form.products if a == b}
        self.loose = [i for i, name in enumerate(self.vectors) if name not in squared] if squared else []
        self.kept = [i for i in range(n) if i not in self.loose]

    def variables(self) -> tuple[Any, Any, Any]:
        """(Gram matrix of the vectors with a square, all inner products, function values)."""
        import cvxpy

        n = len(self.vectors)
        gram, values = cvxpy.Variable((len(self.kept),) * 2, PSD=True), cvxpy.Variable(self.linear.shape[1])
        into = np.eye(n)[self.kept]
        whole = into.T @ gram @ into
        if self.loose:
            across, of_loose = cvxpy.Variable((len(self.loose), n)), np.eye(n)[self.loose]
            whole = whole + of_loose.T @ across + across.T @ of_loose
        return gram, whole, values

    def at(self, whole: Any, values: Any) -> Any:
        """The values of all forms."""
        import cvxpy

        return self.grams.reshape(len(self.grams), -1) @ cvxpy.vec(whole, order="C") + self.linear @ values

    def inside(self, whole: Any, values: Any, margin: Any = 0.0) -> list[Any]:
        """All conditions, with room to spare; equalities have none."""
        forms = self.at(whole, values)
        limits = [forms[self.equal] == 0] if self.equal else []
        return limits + ([forms[self.others] >= margin] if self.others else [])

    def largest(self, margin: float = 0.0) -> float:
        """The constant; the solution is kept."""
        import cvxpy

        gram, whole, values = self.variables()
        forms = self.at(whole, values)
        limits = [forms[1] == 1 / self.scale[1], *self.inside(whole, values, margin)]
        limits += [gram >> margin * np.eye(len(self.kept))] if margin else []
        problem = cvxpy.Problem(cvxpy.Maximize(forms[0]), limits)
        solve(problem)
        self.solution = np.asarray(whole.value), np.asarray(values.value)
        return float(problem.value) * self.scale[0]

    @cached_property
    def centre(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """An instance of trace 1 as far inside the conditions as possible.  Raises NotSolved where the solver fails."""
        import cvxpy

        gram, whole, values = self.variables()
        room = cvxpy.Variable()
        limits = [cvxpy.trace(gram) == 1, gram >> room * np.eye(len(self.kept)), *self.inside(whole, values, room)]
        limits += [cvxpy.abs(values) <= _FAR, cvxpy.abs(whole) <= _FAR]
        solve(cvxpy.Problem(cvxpy.Maximize(room), limits))
        return np.asarray(whole.value), np.asarray(values.value)

    def rounded(self, gram: NDArray[np.float64], values: NDArray[np.float64]) -> GramInstance | None:
        """A solution in fractions; None if it is no instance of the class."""
        fractions = [[_fraction(x) for x in row] for row in (gram + gram.T) / 2]
        own = {name: _fraction(x) for name, x in zip(self.values, values, strict=False)}
        if self.equal:
            fractions, own = self._satisfying(fractions, own)
        _long_enough(fractions, self.loose)  # no form contains their squares
        found = GramInstance(self.vectors, tuple(map(tuple, fractions)), own)
        try:
            checked(found, self.programme)
        except ValueError:
            return None
        return found

    def _satisfying(self, gram: Matrix, values: dict[str, Fraction]) -> tuple[Matrix, dict[str, Fraction]]:
        """Inner products and function values, changed as little as needed to make the equalities hold exactly."""
        forms, zero = [self.programme.forms[i] for i in self.equal], Fraction(0)
        pairs = [(a, b) for i, a in enumerate(self.vectors) for b in self.vectors[i:]]
        rows = [
            [form.products.get(pair, zero) for pair in pairs] + [form.numbers.get(n, zero) for n in values]
            for form in forms
        ]
        place = {name: i for i, name in enumerate(self.vectors)}
        near = [*(gram[place[a]][place[b]] for a, b in pairs), *values.values()]
        found = corrected(near, rows, [zero] * len(rows))
        assert found is not None  # zeros make every form 0
        at = dict(zip(pairs, found, strict=False))
        matrix = [[at[pair(a, b)] for b in self.vectors] for a in self.vectors]
        return matrix, dict(zip(values, found[len(pairs) :], strict=True))

    def near(self, gram: NDArray[np.float64], values: NDArray[np.float64]) -> Iterator[GramInstance]:
        """Instances near a solution, the nearest first: all instances are a cone, so that the centre may be added."""
        size = max(1.0, float(np.trace(gram[np.ix_(self.kept, self.kept)])))
        for share in _SHARES:
            found = self.rounded(gram + share * size * self.centre[0], values + share * size * self.centre[1])
            if found is not None:
                yield found

    def _rated(self, instance: GramInstance | None) -> list[tuple[Fraction, GramInstance]]:
        """An instance with its ratio; none if it has no amount."""
        amount = Fraction(0) if instance is None else instance.at(self.programme.amount)
        return [(instance.at(self.programme.objective) / amount, instance)] if instance and amount > 0 else []

    def instance(self, best: float) -> GramInstance | None:
        """An instance near the solution; if its ratio is far from the best one, others a little inside the conditions."""
        found = next(filter(None, map(self._rated, self.near(*self.solution))), [])
        for margin in _MARGINS:
            if found and best - max(ratio for ratio, _ in found) <= _CLOSE * max(abs(best), _CLOSE):
                break
            try:
                self.largest(margin)
            except NotSolved:
                continue
            found = [*found, *self._rated(self.rounded(*self.solution))]
        return max(found, key=lambda pair: pair[0])[1] if found else None

    def proof(self, best: float) -> tuple[dict[str, Fraction], Fraction] | None:
        """Multipliers for a constant a little above the best one, well inside, rounded; and the constant."""
        whole = round(best)  # often the constant is a whole number, and may be proved itself
        near = [Fraction(whole)] if abs(best - whole) < _ABOVE[3] else []
        shares = [_fraction(best + share * max(abs(best), 1e-3)) for share in _ABOVE]
        shares += [_fraction(best + more) for more in (1e-4, 1e-3) if abs(best) < more]
        attempts = [(upper, _Face()) for upper in near]
        attempts += [(upper, face) for upper in near for face in self._faces(upper)]
        attempts += [(upper, _Face()) for upper in shares]
        for upper, face in attempts:
            found = _Dual(self, upper, face).multipliers()
            if found is not None:
                return found, upper
        for upper, face in product(shares, self._faces(None)):
            found = _Dual(self, upper, face).multipliers()
            if found is not None:
                return found, upper
        return None

    def _faces(self, constant: Fraction | None) -> list[_Face]:
        """What all proofs of a constant have in common, where it is the best one; of None, those of larger constants.

        An instance without an amount, whose objective is 0, has 0 on either side of a proof: on its Gram matrix the sum of
        squares is 0, and each multiplier of a condition with room to spare is 0, too.  So does one whose objective is the
        best constant times the amount.
        """
        import cvxpy

        gram, whole, values = self.variables()
        forms = self.at(whole, values)
        limits = [cvxpy.trace(gram) == 1, *self.inside(whole, values)]
        if constant is None:
            far, limits = forms[1], [*limits, forms[0] >= 0]
        else:
            far = float(constant) * self.scale[1] / self.scale[0] * forms[1] - forms[0]
        problem = cvxpy.Problem(cvxpy.Minimize(far), limits)
        try:
            solve(problem)
        except (NotSolved, Unbounded):
            return []
        if problem.value > _TINY:
            return []
        sizes, directions = np.linalg.eigh(gram.value)
        rows = np.zeros((int(np.sum(sizes > _SMALL)), len(self.vectors)))
        rows[:, self.kept] = directions.T[sizes > _SMALL]
        indices: list[int] = []
        for k, row in enumerate(rows):
            indices.append(int(np.argmax(np.abs(row))))
            row /= row[indices[-1]]
            for other in [*range(k), *range(k + 1, len(rows))]:
                rows[other] -= rows[other, indices[-1]] * row
        none = frozenset(i for i, x in enumerate(forms.value[2:]) if x > _SMALL)
        found = []
        for largest in _SIMPLE:
            simple = [[Fraction(float(x)).limit_denominator(largest) for x in row] for row in rows]
            kernel = dict(zip(indices, simple, strict=True))
            found += [_Face(kernel, none), _Face(kernel)]
        return found


@dataclass(frozen=True)
class _Face:
    """What is known of the sum of squares of every proof.

    kernel  vectors at which it is 0, by an index at which it is then looked at no more
    none    multipliers that are 0
    """

    kernel: Mapping[int, Sequence[Fraction]] = field(default_factory=dict)
    none: frozenset[int] = frozenset()


class _Dual:
    """The multipliers with which upper * amount - objective is a combination of the conditions plus a sum of squares."""

    def __init__(self, dense: _Dense, upper: Fraction, face: _Face) -> None:
        self.dense, self.upper = dense, upper
        programme = dense.programme
        self.goal = summed([programme.amount * upper, -programme.objective])
        self.forms = list(programme.conditions.values())
        self.kept = [i for i in dense.kept if i not in face.kernel]
        # what stands before function values, before products with vectors without a square, and what the kernel makes 0,
        # must vanish exactly
        loose = {dense.vectors[i] for i in dense.loose}
        pairs = sorted({pair for form in programme.forms for pair in form.products if loose & set(pair)})
        zero = Fraction(0)

        def row(form: QuadraticForm) -> list[Fraction]:
            found = [form.numbers.get(n, zero) for n in dense.values] + [form.products.get(p, zero) for p in pairs]
            matrix = symmetric(form.products, dense.vectors) if face.kernel else []
            for z in face.kernel.values():
                found += [sum((a * b for a, b in zip(r, z, strict=True) if a and b), zero) for r in matrix]
            return found

        rows = [list(column) for column in zip(*map(row, self.forms), strict=True)] if self.forms else []
        wanted = row(self.goal)
        chosen = _independent(rows) if face.kernel else range(len(rows))
        self.equations, self.wanted = [rows[i] for i in chosen], [wanted[i] for i in chosen]
        self.none = face.none | _forced(self.equations, self.wanted)

    def multipliers(self) -> dict[str, Fraction] | None:
        """The multipliers as fractions; None if none survive the rounding."""
        if not self.forms or not self.goal:
            return {} if is_square(self.goal) else None
        # where other terms are as small as can be, more multipliers must be 0: those that the solver finds tiny
        least = self._solved(self.none, own=False)
        tiny = self.none if least is None else self.none | {i for i, x in enumerate(least) if x <= _TINY * max(least)}
        for none, weights in ((self.none, None), (tiny, None), (tiny, least)):
            found = self._rounded(none, self._solved(none, own=True) if weights is None else weights)
            if found is not None:
                return found
        return None

    def _rounded(self, none: frozenset[int], weights: list[float] | None) -> dict[str, Fraction] | None:
        """The multipliers in fractions, so that all equations hold; None if they are no proof."""
        if weights is None:
            return None
        zero = Fraction(0)
        left = [[zero if i in none else a for i, a in enumerate(row)] for row in self.equations]
        near = [zero if i in none else _fraction(x) for i, x in enumerate(weights)]
        found = corrected(near, left, self.wanted)
        if found is None or min(found) < 0:
            return None
        used = (form * -x for x, form in zip(found, self.forms, strict=True) if x)
        if not is_square(summed([self.goal, *used])):
            return None
        return dict(zip(self.dense.programme.conditions, found, strict=True))

    def _solved(self, none: frozenset[int], own: bool) -> list[float] | None:
        """Multipliers that leave a sum of squares, as far inside as possible; None if there are none.

        none  those that are 0
        own   whether the others must be inside, too, and not only >= 0
        """
        import cvxpy

        dense = self.dense
        grams = dense.grams[np.ix_(range(len(dense.grams)), self.kept, self.kept)]
        count, size = len(grams) - 2, len(self.kept)
        scale = np.array(dense.scale[2:]) / dense.scale[0]  # of multipliers of scaled forms
        weights, room = cvxpy.Variable(count), cvxpy.Variable()
        limits = [room <= 1, weights <= _TRACE]
        if size:
            used = cvxpy.reshape(grams[2:].reshape(count, -1).T @ weights, (size, size), order="C")
            rest = float(self.upper) * dense.scale[1] / dense.scale[0] * grams[1] - grams[0] - used
            limits.append((rest + rest.T) / 2 >> room * np.eye(size))
        rows = [i for i, row in enumerate(self.equations) if any(row)]
        if rows:
            left, right = ([x[i] for i in rows] for x in (self.equations, self.wanted))
            limits.append(np.array(left, float) / dense.scale[2:] @ weights == np.array(right, float) / dense.scale[0])
        free = [i for i in range(count) if i not in none]
        limits += [weights[free] >= (room if own else 0)] if free else []
        limits += [weights[sorted(none)] == 0] if none else []
        try:
            solve(cvxpy.Problem(cvxpy.Maximize(room), limits))
        except (NotSolved, Unbounded):
            return None
        if weights.value is None or room.value is None or room.value <= 0:
            return None
        return [float(x) for x in np.atleast_1d(weights.value) / scale]


def _equalities(forms: Sequence[QuadraticForm]) -> tuple[list[int], list[int]]:
    """The conditions whose opposite is one too, once each; and the other conditions: by their places among the forms."""
    known = {frozenset(form.parts.items()) for form in forms[2:]}
    equal, others, seen = [], [], set()
    for i, form in enumerate(forms[2:], start=2):
        own, opposite = (frozenset(one.parts.items()) for one in (form, -form))
        if opposite not in known:
            others.append(i)
        elif opposite not in seen:
            equal.append(i)
            seen.add(own)
    return equal, others


def _independent(rows: Matrix) -> list[int]:
    """The first rows of which all others are combinations: the solver fails where equations say the same twice."""
    columns = [[QQ(x.numerator, x.denominator) for x in column] for column in zip(*rows, strict=True)]
    return list(DomainMatrix(columns, (len(columns), len(rows)), QQ).rref()[1])


def _long_enough(gram: Matrix, loose: Sequence[int]) -> None:
    """Give some vectors squares with which the Gram matrix is positive semidefinite, if there are any."""
    length = Fraction(1)
    for _ in range(60 if loose else 0):
        for i in loose:
            gram[i][i] = length
        if positive_semidefinite(gram):
            return
        length *= 4


def _forced(equations: Matrix, wanted: Sequence[Fraction]) -> frozenset[int]:
    """Multipliers >= 0 that must be 0: an equation with the right side 0 has them all with one sign."""
    none: set[int] = set()
    while True:
        found = set(none)
        for row, target in zip(equations, wanted, strict=True):
            left = {i: a for i, a in enumerate(row) if a and i not in none}
            if left and target == 0 and (min(left.values()) > 0 or max(left.values()) < 0):
                found |= left.keys()
        if found == none:
            return frozenset(none)
        none = found


def corrected(weights: list[Fraction], equations: Matrix, wanted: list[Fraction]) -> list[Fraction] | None:
    """The weights, changed as little as needed to satisfy the equations exactly; None if these contradict each other."""
    rows = [row for row in equations if any(row)]
    reached = [sum((a * w for a, w in zip(row, weights, strict=True) if a), Fraction(0)) for row in equations]
    targets = [b - a for a, b in zip(reached, wanted, strict=True)]
    missing = [t for row, t in zip(equations, targets, strict=True) if any(row)]
    if any(t for row, t in zip(equations, targets, strict=True) if not any(row)):
        return None
    # normal equations A A' y = missing, by elimination
    products = [[sum((a * b for a, b in zip(r, s, strict=True) if a and b), Fraction(0)) for s in rows] for r in rows]
    solved = solution([[*row, t] for row, t in zip(products, missing, strict=True)])
    if solved is None:
        return None
    moves = [sum((y * row[i] for y, row in zip(solved, rows, strict=True)), Fraction(0)) for i in range(len(weights))]
    return [w + move for w, move in zip(weights, moves, strict=True)]


def _float(x: Fraction) -> float:
    """A fraction in floating point.  Raises NotSolved for one that the solver cannot work with."""
    if x and not _SIZES[0] < abs(x) < _SIZES[1]:
        raise NotSolved(f"a coefficient is too large or too small for the solver: expected 1e-{_DIGITS} to 1e{_DIGITS}")
    return float(x)


def _fraction(x: float) -> Fraction:
    return Fraction(round(float(x) * PARTS), PARTS)
