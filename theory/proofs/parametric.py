"""Certificates whose multipliers are polynomials in the constants: a form is a sum of others, times these, and of squares.

Clarabel solves one semidefinite programme for all coefficients, at several numbers of the constants at once.  The rounded
coefficients are checked exactly, for all constants that meet the conditions.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.logic.boolalg import Boolean

from fedtheory.theory.proofs.arithmetic import NotPolynomial, decide
from fedtheory.theory.proofs.linear import fraction
from fedtheory.theory.proofs.tight import corrected
from fedtheory.theory.statement import Status

At = Mapping[sympy.Symbol, sympy.Rational]
_DEGREES = (0, 1, 2)  # of multipliers in the constants
_FEW = 3  # conditions in a certificate that is looked for first
_SIMPLE = (48, 5040)  # largest denominators of coefficients
_TINY, _ROOM, _EXACT = 1e-4, 1e-8, 1e-9  # of the solver's numbers: what counts as 0


def certificate(
    claim: sympy.Expr,
    known: Mapping[str, sympy.Expr],
    when: Sequence[Boolean],
    constants: Sequence[sympy.Symbol],
    at: Sequence[At],
    like_claim: bool = False,
) -> tuple[dict[str, sympy.Expr], sympy.Expr] | None:
    """Multipliers >= 0 of known forms >= 0, and the sum of squares that is left of the claim; None if none are found.

    claim, known  polynomials in vectors and function values, whose coefficients are polynomials in the constants
    at            numbers of the constants that meet the conditions
    like_claim    whether multipliers that are made of the same monomials as the claim come first
    """
    joint = Joint(claim, known, constants, at)
    tried = [_monomials(constants, degree) for degree in (_DEGREES if constants else _DEGREES[:1])]
    for powers in [joint.own, *tried] if like_claim else tried:
        for found in chain(joint.sparse(powers), joint.multipliers(powers)) if at else ():
            rest = sympy.expand(claim - sympy.Add(*(m * known[name] for name, m in found.items())))
            if all(follows(when, m >= 0) is True for m in found.values()) and is_square(rest, when, constants):
                return found, rest
    return None


def follows(when: Sequence[Boolean], claim: Any) -> bool | None:
    """Whether the conditions imply the claim; None if not decided."""
    if claim in (sympy.true, sympy.false):
        return bool(claim)
    try:
        found = decide(when, claim).status
    except NotPolynomial:
        return None
    return {Status.PROVED: True, Status.REFUTED: False}.get(found)


def _monomials(left: Sequence[sympy.Symbol], degree: int) -> list[sympy.Expr]:
    """All products of the constants of at most this degree."""
    powers = (p for p in product(range(degree + 1), repeat=len(left)) if sum(p) <= degree)
    return [sympy.Mul(*(s**n for s, n in zip(left, p, strict=True))) for p in powers]


class Joint:
    """Multipliers that are polynomials in the constants, by one semidefinite programme at several numbers at once."""

    def __init__(
        self, claim: sympy.Expr, known: Mapping[str, sympy.Expr], left: Sequence[sympy.Symbol], at: Sequence[At]
    ) -> None:
        self.known, self.left, self.at = dict(known), left, at
        symbols = sorted(
            set().union(claim.free_symbols, *(e.free_symbols for e in known.values())) - set(left), key=str
        )
        self.polys = [sympy.Poly(e, *symbols) for e in (claim, *known.values())]
        squared = {
            i for p in self.polys for powers in p.monoms() if sum(powers) == 2 for i, n in enumerate(powers) if n
        }
        self.vectors = sorted(squared)
        self.linear = sorted({m for p in self.polys for m in p.monoms() if sum(m) == 1})
        # the directions that some form sees, such as x - y: in the others every sum of squares is 0
        every = np.array([self._gram(poly, p) for p in at for poly in self.polys]).reshape(-1, len(self.vectors))
        _, lengths, directions = np.linalg.svd(every, full_matrices=False) if every.size else (None, np.zeros(0), every)
        self.seen = directions[lengths > _EXACT * lengths.max(initial=0)]

    @property
    def own(self) -> list[sympy.Expr]:
        """The monomials in the constants of which the claim's coefficients are made."""
        found: dict[sympy.Expr, None] = {}
        for c in self.polys[0].coeffs():
            terms = sympy.Poly(c, *self.left).monoms() if self.left else [()]
            found |= dict.fromkeys(sympy.Mul(*(s**n for s, n in zip(self.left, m, strict=True))) for m in terms)
        return list(found)

    def sparse(self, powers: Sequence[sympy.Expr]) -> Iterator[dict[str, sympy.Expr]]:
        """Candidates with at most three conditions, where function values leave no choice and the numbers look right."""
        rows, wanted = self._equations(powers)
        matrix, target = np.array(rows, dtype=float), np.array(wanted, dtype=float)
        matrix = matrix.reshape(len(rows), len(self.known) * len(powers))
        values = np.array([[float(m.subs(p)) for m in powers] for p in self.at])
        grams = [np.array([self._gram(poly, p) for p in self.at]) for poly in self.polys]
        for few in (
            some for n in range(min(_FEW, len(self.known)) + 1) for some in combinations(range(len(self.known)), n)
        ):
            columns = [i * len(powers) + j for i in few for j in range(len(powers))]
            c, _, rank, _ = np.linalg.lstsq(matrix[:, columns], target, rcond=None)
            if rank < len(columns) or not np.allclose(matrix[:, columns] @ c, target, atol=_EXACT):
                continue
            weights = values @ c.reshape(len(few), len(powers)).T
            rest = grams[0] - sum(w[:, None, None] * grams[1 + i] for w, i in zip(weights.T, few, strict=True))
            if weights.min(initial=0) < -_EXACT or (rest.size and np.linalg.eigvalsh(rest).min() < -_EXACT):
                continue
            near = [Fraction(float(x)).limit_denominator(_SIMPLE[0]) for x in c]
            found = corrected(near, [[row[i] for i in columns] for row in rows], wanted)
            if found is not None:
                own = dict(zip(columns, found, strict=True))
                yield self._named([own.get(i, Fraction(0)) for i in range(len(self.known) * len(powers))], powers)

    def multipliers(self, powers: Sequence[sympy.Expr]) -> Iterator[dict[str, sympy.Expr]]:
        """Candidates whose terms without products of vectors cancel exactly: the smallest, and those with most room."""
        import cvxpy

        count, size = len(self.known), len(self.seen)
        c, room = cvxpy.Variable(count * len(powers)), cvxpy.Variable()
        rows, wanted = self._equations(powers)
        limits = [room >= 0, room <= 1]
        order = (
            1 + (np.arange(count * len(powers)) / count / len(powers)) ** 2 / 10
        )  # so that no two solutions are equally good
        sizes = order @ cvxpy.abs(c)  # few and small coefficients
        if rows:
            limits.append(np.array(rows, dtype=float) @ c == np.array(wanted, dtype=float))
        for p in self.at:
            monomials = np.array([float(m.subs(p)) for m in powers])
            weights = [c[i * len(powers) : (i + 1) * len(powers)] @ monomials for i in range(count)]
            grams = [self._gram(poly, p) for poly in self.polys]
            scale = float(np.abs(grams[0]).max(initial=0)) or 1.0
            limits += [w >= 0 for w in weights]
            plain = [self._constant(poly, p) for poly in self.polys]
            if any(plain):
                limits.append(plain[0] - sum(w * x for w, x in zip(weights, plain[1:], strict=True)) >= 0)
            if size:
                rest = grams[0] - sum(w * g for w, g in zip(weights, grams[1:], strict=True))
                seen = self.seen @ ((rest + rest.T) / 2 / scale) @ self.seen.T
                limits.append((seen + seen.T) / 2 >> (room - _ROOM) * np.eye(size))
        for aim in (cvxpy.Minimize(sizes), cvxpy.Maximize(room - 1e-4 * sizes)):
            problem = cvxpy.Problem(aim, limits)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the status says the same
                try:
                    problem.solve(solver=cvxpy.CLARABEL)
                except cvxpy.SolverError:
                    continue
            if problem.status not in ("optimal", "optimal_inaccurate") or c.value is None:
                if problem.status == "infeasible":
                    return
                continue
            kept = [i for i, x in enumerate(c.value) if abs(x) > _TINY * np.abs(c.value).max()]
            for largest in _SIMPLE:
                near = [Fraction(float(c.value[i])).limit_denominator(largest) for i in kept]
                found = corrected(near, [[row[i] for i in kept] for row in rows], wanted)
                if found is not None:
                    own = dict(zip(kept, found, strict=True))
                    yield self._named([own.get(i, Fraction(0)) for i in range(len(c.value))], powers)

    def _named(self, found: Sequence[Fraction], powers: Sequence[sympy.Expr]) -> dict[str, sympy.Expr]:
        each = [found[i : i + len(powers)] for i in range(0, len(found), len(powers))]
        own = [sympy.Add(*(sympy.Rational(x) * m for x, m in zip(row, powers, strict=True))) for row in each]
        return {name: m for name, m in zip(self.known, own, strict=True) if m != 0}

    def _gram(self, poly: sympy.Poly, at: At) -> NDArray[np.float64]:
        found = np.zeros((len(self.vectors),) * 2)
        for powers, coefficient in poly.terms():
            used = [self.vectors.index(i) for i, n in enumerate(powers) for _ in range(n)] if sum(powers) == 2 else []
            if used:
                value = float(coefficient.subs(at)) / 2
                found[used[0], used[1]] += value
                found[used[1], used[0]] += value
        return found

    def _constant(self, poly: sympy.Poly, at: At) -> float:
        return float(sympy.sympify(poly.coeff_monomial(1)).subs(at))

    def _equations(self, powers: Sequence[sympy.Expr]) -> tuple[list[list[Fraction]], list[Fraction]]:
        """What the coefficients satisfy where function values and constants cancel, as polynomials in the constants."""
        rows: dict[Any, dict[int, Fraction]] = {}
        wanted: dict[Any, Fraction] = {}

        def parts(e: sympy.Expr) -> Iterator[tuple[Any, Fraction]]:
            if self.left:
                yield from ((m, fraction(sympy.Rational(x))) for m, x in sympy.Poly(e, *self.left).terms() if x != 0)
            elif e != 0:
                yield (), fraction(sympy.Rational(e))

        for place in self.linear:
            for m, x in parts(self.polys[0].coeff_monomial(place)):
                wanted[place, m] = x
            for i, poly in enumerate(self.polys[1:]):
                own = poly.coeff_monomial(place)
                for j, power in enumerate(powers):
                    for m, x in parts(sympy.expand(own * power)):
                        row = rows.setdefault((place, m), {})
                        row[i * len(powers) + j] = row.get(i * len(powers) + j, Fraction(0)) + x
        places = sorted(rows.keys() | wanted.keys(), key=str)
        width = len(powers) * len(self.known)
        matrix = [[rows.get(p, {}).get(i, Fraction(0)) for i in range(width)] for p in places]
        return matrix, [wanted.get(p, Fraction(0)) for p in places]


def is_square(rest: sympy.Expr, when: Sequence[Boolean], left: Sequence[sympy.Symbol]) -> bool:
    """Whether a form is >= 0 for all vectors, and for all constants that meet the conditions: by elimination."""
    rest = sympy.expand(sympy.together(rest))
    names = sorted(rest.free_symbols - set(left), key=str)
    if not names:
        return follows(when, sympy.simplify(rest) >= 0) is True
    poly = sympy.Poly(sympy.together(rest), *names) if rest.is_polynomial(*names) else None
    if poly is None:
        return False
    matrix = sympy.zeros(len(names), len(names))
    constant = sympy.S.Zero
    for powers, c in poly.terms():
        used = [i for i, n in enumerate(powers) for _ in range(n)]
        c = sympy.cancel(c)
        if not used:
            constant = c
        elif len(used) != 2:
            if c != 0:
                return False  # a function value is left
        else:
            i, j = used
            matrix[i, j] += c / 2
            matrix[j, i] += c / 2
    if follows(when, constant >= 0) is not True:
        return False
    rows = matrix.tolist()
    while rows:
        k = min(range(len(rows)), key=lambda i: _order(rows, i, left))
        pivot, row = rows[k][k], rows[k]
        others = [i for i in range(len(rows)) if i != k]
        if pivot == 0:
            if any(row[i] != 0 for i in others):
                return False
            rows = [[rows[a][b] for b in others] for a in others]
            continue
        if follows(when, pivot >= 0) is not True:
            return False
        rows = [[sympy.cancel(rows[a][b] - row[a] * row[b] / pivot) for b in others] for a in others]
    return True


def _order(rows: list[list[sympy.Expr]], i: int, left: Sequence[sympy.Symbol]) -> tuple[bool, bool, int]:
    """First a pivot that is not 0, and divides its row: then no denominator may vanish; then the simplest."""
    pivot = rows[i][i]
    divides = pivot != 0 and all(sympy.cancel(x / pivot).is_polynomial(*left) for x in rows[i] if x != 0)
    return pivot == 0, not divides, sympy.count_ops(pivot)
