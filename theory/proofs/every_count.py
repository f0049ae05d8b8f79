"""Constants that are proved for every number of clients: multipliers that are rational functions of M.

With them, constant * amount - objective is a combination of the conditions plus a sum of squares, in means and deviations
(`symmetry`).  The check is exact, for all real M >= 2: function values vanish as rational functions, and multipliers and the
pivots of an elimination have polynomials in m = M - 2 without negative coefficients, or without roots (Sturm).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

from fedtheory.theory.proofs.gram import collected
from fedtheory.theory.proofs.linear import fraction, solution_over, symmetric
from fedtheory.theory.proofs.symmetry import (
    COUNT,
    COUNTS,
    FIELD,
    Form,
    ProgrammeFamily,
    in_field,
    nonnegative,
    sign_of,
    value,
)
from fedtheory.theory.proofs.tight import NotSolved, Unbounded, corrected, positive_semidefinite, solve, tight

_AT = (2, 3, 4, 6, 10, 30, 1000, 10**6)  # numbers of clients at which a proof is looked for
_DEGREES = (0, 1, 2)  # of constants and multipliers
_ABOVE = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # how far a constant is above the least that was found, relatively
_TINY = 1e-6  # of multipliers, relative to the largest
_CLOSE = 1e-3  # a constant to the best one, relatively; then no other is looked for
_SIMPLE = 1000  # largest denominator of numbers that are guessed
_PARTS = 2**30  # fractions have this denominator
_SPARE = 2  # numbers of clients that a guess must meet, besides those that fix it


@dataclass(frozen=True)
class ParametricCertificate:
    """A constant that is enough for every M >= 2, and multipliers of the conditions: rational functions of M."""

    constant: Any
    multipliers: Mapping[str, Any]


# ------------------------------------------------------------------------------------------------ the check


def proves(family: ProgrammeFamily, found: ParametricCertificate) -> bool:
    """Whether the certificate proves its constant for every number of clients, exactly."""
    used = found.multipliers
    if not used.keys() <= family.conditions.keys() or not all(nonnegative(x) and finite(x) for x in used.values()):
        return False
    rest = rest_of(family, found)
    if any(c for part, c in rest.items() if isinstance(part, str)) or not all(map(finite, rest.values())):
        return False
    return _semidefinite(symmetric(rest, sorted({name for part in rest for name in part}), FIELD.zero))


def rest_of(family: ProgrammeFamily, found: ParametricCertificate) -> dict[Any, Any]:
    """constant * amount - objective - the conditions times their multipliers."""
    forms = [(found.constant, family.amount), (-FIELD.one, family.objective)]
    forms += [(-x, family.conditions[name]) for name, x in found.multipliers.items()]
    return collected((part, factor * c) for factor, form in forms for part, c in form.items())


def _semidefinite(matrix: list[list[Any]]) -> bool:
    """Whether a matrix without poles is positive semidefinite for all M >= 2, by elimination.

    A pivot may vanish at single M: there the matrix is a limit of positive semidefinite ones.
    """
    if all(x.numer.is_ground and x.denom.is_ground for row in matrix for x in row):
        return positive_semidefinite([[value(x, 2) for x in row] for row in matrix])
    rest = matrix
    while rest:
        pivot, row = rest[0][0], rest[0]
        if not nonnegative(pivot) or (not pivot and any(row)):
            return False
        rest = [
            [x - (r[0] * y / pivot if r[0] and y else FIELD.zero) for x, y in zip(r[1:], row[1:], strict=True)]
            for r in rest[1:]
        ]
    return True


def finite(function: Any) -> bool:
    """Whether a rational function has no pole where M >= 2."""
    return bool(function.denom.is_ground) or (sign_of(function.denom) != 0 and function.denom(2) != 0)


# ------------------------------------------------------------------------------------------------ the search


def certificate(family: ProgrammeFamily) -> ParametricCertificate:
    """A constant a little above the best one, proved for every number of clients.

    Where M is in no coefficient, the proof of one bracket is a proof for all.  Else Clarabel looks for polynomials in 1/M.
    Raises NotSolved where none is found, and Unbounded where no constant is enough for few clients.
    """
    if family.constant:
        bracket = tight(family.at(2))
        multipliers = {name: in_field(x) for name, x in bracket.multipliers.items()}
        candidates = iter([ParametricCertificate(in_field(bracket.upper), multipliers)])
    else:
        candidates = _candidates(family)
    proved: list[tuple[float, ParametricCertificate]] = []
    for one in candidates:
        if proves(family, one):
            far = 0.0 if family.constant else _far(family, one)
            proved.append((far, one))
            if far < _CLOSE:
                break
    if not proved:
        raise NotSolved("no multipliers were found of degree 2 or less")
    return min(proved, key=lambda pair: pair[0])[1]


def _far(family: ProgrammeFamily, found: ParametricCertificate) -> float:
    """How far a constant is at most above those that are needed."""
    best = ((tight(family.at(M)).lower, value(found.constant, M)) for M in _AT[:5])
    return max(float((own - least) / max(abs(least), Fraction(1))) for least, own in best)


def _candidates(family: ProgrammeFamily) -> Iterator[ParametricCertificate]:
    best = np.array([float(tight(family.at(M)).upper) for M in _AT])
    for base, degree in product(_bases(family), _DEGREES):
        search = _ConstantSearch(family, base, degree)
        least = search.solved(best)
        if least is None:
            continue
        for above in _ABOVE:
            # the best constant itself is proved with simple numbers, a larger one with many digits
            round_, width = _simple if not above else _fraction, degree + 1
            raised = [round_(c) for c in least[:width]]
            raised[0] += _fraction(above * max(map(abs, best)))
            free = search.solved(constants=raised)
            if free is None:
                continue
            found = list(search.rounded(raised, free, frozenset(), round_))
            sizes = np.abs(free[width:]).reshape(-1, width).max(axis=1) * search.scale
            none = frozenset(np.flatnonzero(sizes <= _TINY * sizes.max(initial=0)).tolist())
            again = search.solved(constants=raised, none=none, inside=True) if none and above else None
            if again is not None:
                found += search.rounded(raised, again, none, round_)
            good = next((one for one in found if proves(family, one)), None)
            if good is not None:
                yield good
                break


def _bases(family: ProgrammeFamily) -> list[Any]:
    """By what constants and multipliers are divided: 1, and what the best constants for few clients look like."""
    guess = _guess({M: _simple(float(tight(family.at(M)).upper)) for M in COUNTS})
    if guess is None:
        return [FIELD.one]
    base = COUNT ** guess.denom.degree() / FIELD(guess.denom)
    return [base] if base == FIELD.one else [base, FIELD.one]


def _guess(values: Mapping[int, Fraction]) -> Any:
    """The simplest ratio of polynomials with these values that leaves two to spare; None if there is none."""
    for size in range(len(values) - _SPARE):
        for below in range(size + 1):
            found = _ratio(values, size - below + 1, below + 1)
            if found is not None:
                return found
    return None


def _ratio(values: Mapping[int, Fraction], over: int, under: int) -> Any:
    """A ratio of polynomials with so many coefficients that has these values; None if there is none."""
    rows = [
        [*(QQ(M**n) for n in range(over)), *(QQ(-x.numerator * M**n, x.denominator) for n in range(under))]
        for M, x in values.items()
    ]
    for one in DomainMatrix(rows, (len(rows), over + under), QQ).nullspace().to_list():
        p, q = (sum((c * COUNT**n for n, c in enumerate(part)), FIELD.zero) for part in (one[:over], one[over:]))
        if q and all(value(q, M) for M in values):
            return p / q
    return None


class _ConstantSearch:
    """Constants and multipliers that are sums of `basis`, at several M at once.

    basis  powers of 1/M, or of 1/(M - 1) where samples of the clients have such coefficients, times a base
    """

    def __init__(self, family: ProgrammeFamily, base: Any, degree: int) -> None:
        self.family, self.degree = family, degree
        self.forms = [family.amount, *family.conditions.values()]
        poles = any(not c.denom(1) for form in family.forms for c in form.values())
        step = 1 / (COUNT - 1) if poles else 1 / COUNT
        self.basis = [base * step**n for n in range(degree + 1)]
        parts = sorted({part for form in family.forms for part in form}, key=str)
        self.names = family.vectors
        squared = {part[0] for part in parts if isinstance(part, tuple) and part[0] == part[1]}
        # what stands before function values and products with vectors without a square must vanish for all M
        loose = [part for part in parts if isinstance(part, str) or not squared.issuperset(part)]
        self.kept = [i for i, name in enumerate(self.names) if name in squared]
        self.rows: list[list[Fraction]] = []
        self.wanted: list[Fraction] = []
        for part in loose:
            self._equations(part)
        self.scale = np.array(
            [max((abs(float(value(c, 2))) for c in form.values()), default=1.0) for form in self.forms[1:]]
        )

    def _equations(self, part: Any) -> None:
        signs = [1, *[-1] * (len(self.forms) - 1)]
        terms = [
            form.get(part, FIELD.zero) * sign * one
            for form, sign in zip(self.forms, signs, strict=True)
            for one in self.basis
        ]
        terms.append(self.family.objective.get(part, FIELD.zero))
        below = FIELD.ring.one
        for one in terms:
            below = below.lcm(one.denom)
        whole = [dict((one.numer * below.exquo(one.denom)).terms()) for one in terms]
        for power in sorted({p for one in whole for p in one}):
            numbers = [one.get(power, QQ(0)) for one in whole]
            *row, target = map(fraction, numbers)
            self.rows.append(row)
            self.wanted.append(target)

    def _grams(self, form: Form) -> NDArray[np.float64]:
        """A form at each M, (M, vectors, vectors)."""
        found = np.zeros((len(_AT), len(self.names), len(self.names)))
        place = {name: i for i, name in enumerate(self.names)}
        for part, c in form.items():
            if isinstance(part, tuple):
                numbers = np.array([float(value(c, M)) for M in _AT]) / 2
                found[:, place[part[0]], place[part[1]]] += numbers
                found[:, place[part[1]], place[part[0]]] += numbers
        return found[:, self.kept][:, :, self.kept]

    def solved(
        self,
        best: NDArray[np.float64] | None = None,
        constants: Sequence[Fraction] | None = None,
        none: frozenset[int] = frozenset(),
        inside: bool = False,
    ) -> NDArray[np.float64] | None:
        """Coefficients (1 + conditions, degree + 1), flat: of the least constants; of given ones as far inside as possible.

        best    constants at each M, by which the least ones are measured

        none    conditions without a multiplier
        inside  whether the other multipliers must be inside, too
        """
        import cvxpy

        count, width = len(self.forms), self.degree + 1
        x, room = cvxpy.Variable(count * width), cvxpy.Variable()
        powers = np.array([[float(value(one, M)) for one in self.basis] for M in _AT])
        grams, goal = np.array([self._grams(form) for form in self.forms]), self._grams(self.family.objective)
        limits = [room >= 0, room <= 1] if constants is not None else [room == 0]
        if self.rows:
            size = np.abs(np.array(self.rows, float)).max(axis=1, initial=0.0)[:, None]
            size[size == 0] = 1
            limits.append(np.array(self.rows, float) / size @ x == np.array(self.wanted, float) / size[:, 0])
        for i, row in enumerate(powers):
            weights = [row @ x[k * width : (k + 1) * width] for k in range(count)]
            limits += [
                weights[k] == 0 if k - 1 in none else weights[k] * self.scale[k - 1] >= (room if inside else 0)
                for k in range(1, count)
            ]
            rest = (
                weights[0] * grams[0, i] - goal[i] - sum(w * g for w, g in zip(weights[1:], grams[1:, i], strict=True))
            )
            size_of = float(np.abs(goal[i]).max(initial=0)) or 1.0
            limits.append((rest + rest.T) / (2 * size_of) >> room * np.eye(len(self.kept)))
        if constants is not None:
            limits.append(x[:width] == np.array(constants, float))
            aim: Any = cvxpy.Maximize(room)
        else:
            assert best is not None
            aim = cvxpy.Minimize(cvxpy.sum(cvxpy.multiply(powers @ x[:width], 1 / np.maximum(np.abs(best), 1e-9))))
        try:
            solve(cvxpy.Problem(aim, limits))
        except (NotSolved, Unbounded):
            return None
        return None if x.value is None else np.asarray(x.value)

    def rounded(
        self,
        constants: Sequence[Fraction],
        near: NDArray[np.float64],
        none: frozenset[int],
        round_: Callable[[float], Fraction],
    ) -> Iterator[ParametricCertificate]:
        """A certificate near a solution, whose equations hold exactly."""
        width = self.degree + 1
        moved = [
            target - sum((a * c for a, c in zip(row[:width], constants, strict=True)), Fraction(0))
            for row, target in zip(self.rows, self.wanted, strict=True)
        ]
        free = [i for i in range(width, len(near)) if i // width - 1 not in none]
        found = corrected([round_(near[i]) for i in free], [[row[i] for i in free] for row in self.rows], moved)
        if found is None:
            return
        whole = dict(zip(free, found, strict=True)) | dict(enumerate(constants))
        sums = [
            sum((in_field(whole.get(k * width + n, Fraction(0))) * one for n, one in enumerate(self.basis)), FIELD.zero)
            for k in range(len(self.forms))
        ]
        yield ParametricCertificate(
            sums[0], {name: x for name, x in zip(self.family.conditions, sums[1:], strict=True) if x}
        )


def _simple(x: float) -> Fraction:
    return Fraction(float(x)).limit_denominator(_SIMPLE)


def _fraction(x: float) -> Fraction:
    return Fraction(round(float(x) * _PARTS), _PARTS)


# ------------------------------------------------------------------------------------------------ instances


@dataclass(frozen=True)
class Instances:
    """An instance for every M >= 2, in means and deviations: inner products and function values are rational functions."""

    products: Mapping[tuple[str, str], Any]
    values: Mapping[str, Any]

    def at(self, form: Form) -> Any:
        """The value of a form."""
        known: dict[Any, Any] = {**self.products, **self.values}
        return sum((c * known.get(part, FIELD.zero) for part, c in form.items()), FIELD.zero)


def needed(family: ProgrammeFamily, found: Instances) -> Any:
    """The constant that the instances need: a function of M; None if they are not of the class for every M >= 2, exactly."""
    every = (*found.products.values(), *found.values.values())
    conditions = [found.at(one) for one in family.conditions.values()]
    names = sorted({name for pair in found.products for name in pair})
    twice = {(a, b): c if a == b else 2 * c for (a, b), c in found.products.items()}
    ratio = found.at(family.objective) / amount if (amount := found.at(family.amount)) else None
    if ratio is None or not all(map(finite, (*every, *conditions, ratio))) or not nonnegative(amount):
        return None
    return ratio if all(map(nonnegative, conditions)) and _semidefinite(symmetric(twice, names, FIELD.zero)) else None


def close(constant: Any, least: Any) -> bool:
    """Whether a proved constant is near one that is needed, or the same, for every number of clients."""
    apart = constant - least
    near = ((least if nonnegative(least) else -least) * 2 * _CLOSE, FIELD.one / 10**6)
    return any(nonnegative(one - apart) for one in near) and nonnegative(apart)


def instances(family: ProgrammeFamily, proof: ParametricCertificate) -> Instances | None:
    """Instances that need a proved constant, or nearly as much; None if none are found.

    First a known one on a line; then those that the proof leaves, if there is only one choice; then the best one for some M,
    for all M alike.
    """
    on_line = _on_line(family)
    least = None if on_line is None else needed(family, on_line)
    if least is not None and close(proof.constant, least):
        return on_line
    if proof.multipliers.keys() <= family.conditions.keys():  # a smaller class may have others
        found = _complementary(family, proof)
        if found is not None:
            return found
    for M in (2, 10, 1000):
        try:
            best = tight(family.at(M)).instance
        except (NotSolved, Unbounded):
            continue
        names = best.vectors
        products = {
            (a, b): in_field(best.gram[i][j]) for i, a in enumerate(names) for j, b in enumerate(names) if i <= j
        }
        found = Instances(products, {name: in_field(x) for name, x in best.values.items()})
        least = needed(family, found)
        if least is not None and close(proof.constant, least):
            return found
    return None


def _on_line(family: ProgrammeFamily) -> Instances | None:
    """The known instance on a line, for every number of clients; None without one."""
    if not family.line:
        return None
    names = [name for name in family.vectors if name in family.line]
    products = {(a, b): in_field(family.line[a] * family.line[b]) for i, a in enumerate(names) for b in names[i:]}
    return Instances(products, {name: in_field(family.line[name]) for name in family.values})


def _product(vectors: Sequence[Sequence[Any]], pair: tuple[int, int], a: int, b: int) -> Any:
    """The entry a, b of the symmetric product of two vectors, or of one with itself."""
    u, v = (vectors[i] for i in pair)
    return u[a] * v[b] + (v[a] * u[b] if pair[0] != pair[1] else 0)


def _complementary(family: ProgrammeFamily, proof: ParametricCertificate) -> Instances | None:
    """Where what is left of the proof is 0, and so are the conditions with a multiplier: linear equations."""
    names, values, domain = family.vectors, family.values, FIELD.to_domain()
    rest = DomainMatrix(symmetric(rest_of(family, proof), names, FIELD.zero), (len(names),) * 2, domain)
    kernel = rest.nullspace().to_list()
    pairs = [(i, j) for i in range(len(kernel)) for j in range(i, len(kernel))]
    place = {name: i for i, name in enumerate(names)}

    def row(form: Form, right: Any) -> list[Any]:
        terms = [(place[p[0]], place[p[1]], c) for p, c in form.items() if isinstance(p, tuple)]
        found = (sum((c * _product(kernel, pair, a, b) for a, b, c in terms), FIELD.zero) for pair in pairs)
        return [*found, *(form.get(name, FIELD.zero) for name in values), right]

    rows = [row(family.conditions[name], FIELD.zero) for name in proof.multipliers]
    rows.append(row(family.amount, FIELD.one))
    solved = solution_over(domain, rows)
    if solved is None:
        return None
    products = collected(
        ((names[a], names[b]), x * _product(kernel, pair, a, b))
        for pair, x in zip(pairs, solved, strict=False)
        for a, b in combinations_with_replacement(range(len(names)), 2)
        if x
    )
    found = Instances(products, dict(zip(values, solved[len(pairs) :], strict=True)))
    least = needed(family, found)
    return found if least is not None and least == proof.constant else None  # 0 equals None in sympy
