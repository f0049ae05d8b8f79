"""The proof of a best constant as a lemma in Coq, for all vectors of all spaces with an inner product.

    forall V : Inner, vectors of V, numbers,  0 <= condition_1 -> ... -> 0 <= condition_k -> objective <= upper * amount

The lemma has the conditions with a multiplier, each written out, as a form in inner products and function values.  Its
proof computes in Coq what `tight.verified_proof` computes here: upper * amount - objective is the sum of the conditions
times their multipliers, and a form that is a sum of squares (`by_squares` in squares.v says why this is enough).

Elimination in exact fractions takes Coq long for large matrices.  Where the matrix is positive definite it is told the
roots instead: a rounded Cholesky factor, with which the rest of the form is dominated by its diagonal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fedtheory.theory.proofs.gram import QuadraticForm, summed
from fedtheory.theory.proofs.tight import Bracket, Programme

PRELUDE = """\
Require Import Reals Lra List QArith rules squares.
Import ListNotations.
Open Scope R_scope.
"""
_SMALL = 8  # vectors; then elimination is fast
_BITS = (16, 24, 32, 40, 48)  # of the entries of roots
_NOTHING = 1e-12  # of eigenvalues, relative to the largest entry


@dataclass(frozen=True)
class _Places:
    """The vectors and the numbers of a programme: their names in Coq, and their places."""

    vectors: Mapping[str, str]
    numbers: Mapping[str, str]

    def said(self, form: QuadraticForm) -> str:
        """A form as a statement says it."""
        parts = [f"{real(c)} * ip {self.vectors[a]} {self.vectors[b]}" for (a, b), c in form.products.items()]
        parts += [f"{real(c)} * {self.numbers[name]}" for name, c in form.numbers.items()]
        return " + ".join(parts) or "0"

    def data(self, form: QuadraticForm) -> str:
        """The same form for the computation, term by term in the same order."""
        vectors, numbers = list(self.vectors), list(self.numbers)
        parts = [
            f"({_fraction(c)}, Product {vectors.index(a)} {vectors.index(b)})" for (a, b), c in form.products.items()
        ]
        parts += [f"({_fraction(c)}, Number {numbers.index(name)})" for name, c in form.numbers.items()]
        return _listed(parts)


def lemma(name: str, programme: Programme, bracket: Bracket) -> str:
    """The upper end of a bracket as a lemma, with its proof."""
    used = {condition: x for condition, x in bracket.multipliers.items() if x}
    return (
        f"Lemma {name} : {statement(programme, bracket.upper, list(used))}.\n{proof(programme, bracket.upper, used)}\n"
    )


def statement(programme: Programme, upper: Fraction, used: Iterable[str]) -> str:
    """That the objective is at most `upper` times the amount, under these conditions."""
    at = _places(programme)
    variables = ["(V : Inner)"]
    variables += [f"({' '.join(at.vectors.values())} : V)"] if at.vectors else []
    variables += [f"({' '.join(at.numbers.values())} : R)"] if at.numbers else []
    given = [f"0 <= {at.said(programme.conditions[condition])} ->" for condition in used]
    claim = f"{at.said(programme.objective)} <= {real(upper)} * ({at.said(programme.amount)})"
    return "\n  ".join([f"forall {' '.join(variables)},", *given, claim])


def proof(programme: Programme, upper: Fraction, multipliers: Mapping[str, Fraction]) -> str:
    """The proof with these multipliers of the conditions, from Proof to Qed."""
    at = _places(programme)
    given = [f"given_{i}" for i in range(len(multipliers))]
    used = [f"({_fraction(x)}, {at.data(programme.conditions[c])})" for c, x in multipliers.items()]
    names = " ".join(["V", *at.vectors.values(), *at.numbers.values(), *given])
    proved = "I"
    for one in reversed(given):
        proved = f"(conj {one} {proved})"
    return "\n".join(
        [
            "Proof.",
            f"intros {names}.",
            f"apply (by_squares (V := V) {_listed(at.vectors.values())} {_listed(at.numbers.values())}",
            f"  {_fraction(upper)} {at.data(programme.amount)} {at.data(programme.objective)}",
            f"  {_listed(used)}",
            f"  {_roots(programme, upper, multipliers)}).",
            "- vm_cast_no_check (eq_refl true).",
            f"- exact {proved}.",
            "Qed.",
        ]
    )


def _roots(programme: Programme, upper: Fraction, multipliers: Mapping[str, Fraction]) -> str:
    """A factor q, and integer vectors whose squares times q are nearly the form; none where elimination is to do it."""
    parts = [programme.amount * upper, -programme.objective]
    form = summed([*parts, *(programme.conditions[c] * -x for c, x in multipliers.items())])
    n, place = len(programme.vectors), {name: i for i, name in enumerate(programme.vectors)}
    exact = [[Fraction(0)] * n for _ in range(n)]
    for (a, b), c in form.products.items():
        i, j = sorted((place[a], place[b]))
        exact[i][j] = c
    found = _factor(exact) if n > _SMALL else None
    if found is None:
        return "0%Q []"
    bits, factor = found
    rows = (_listed(f"{x}" for x in row) for row in factor)
    return f"(1 # {4**bits})%Q (map (map inject_Z) [{'; '.join(f'{row}%Z' for row in rows)}])"


def _factor(exact: Sequence[Sequence[Fraction]]) -> tuple[int, list[list[int]]] | None:
    """Bits, and a Cholesky factor times 2^bits, rounded, that leaves a rest which its diagonal dominates; or None.

    exact  the upper triangle, with the whole coefficients of products
    """
    n = len(exact)
    upper = np.array(exact, dtype=float)
    symmetric = (upper + upper.T) / 2
    least = float(np.linalg.eigvalsh(symmetric)[0])
    if least <= _NOTHING * float(np.abs(symmetric).max()):
        return None
    root = np.linalg.cholesky(symmetric - least / 2 * np.eye(n)).T
    for bits in _BITS:
        factor = [[round(x * 2**bits) for x in row] for row in root.tolist()]
        if _dominant(exact, bits, factor):
            return bits, factor
    return None


def _dominant(exact: Sequence[Sequence[Fraction]], bits: int, factor: Sequence[Sequence[int]]) -> bool:
    n = len(exact)

    def rest(i: int, j: int) -> Fraction:
        product = sum(row[i] * row[j] for row in factor[: i + 1])
        return exact[i][j] - (1 if i == j else 2) * Fraction(product, 4**bits)

    left = [[rest(i, j) for j in range(i, n)] for i in range(n)]
    off = [Fraction(0)] * n
    for i in range(n):
        for j in range(i + 1, n):
            size = abs(left[i][j - i]) / 2
            off[i] += size
            off[j] += size
    return all(left[i][0] >= off[i] for i in range(n))


def _places(programme: Programme) -> _Places:
    return _Places(named("v", programme.vectors), named("n", programme.values))


def named(kind: str, names: Sequence[str]) -> dict[str, str]:
    """A name in Coq for each of these: its letters and digits, after a kind that no word of Coq starts with."""
    found: dict[str, str] = {}
    for name in names:
        plain = own = f"{kind}_" + re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
        while own in found.values():
            own = f"{plain}_{len(found)}"
        found[name] = own
    return found


def real(c: Fraction) -> str:
    """A fraction as a real number in Coq."""
    return str(c.numerator) if c.denominator == 1 else f"{c.numerator} / {c.denominator}"


def _fraction(c: Fraction) -> str:
    return f"({c.numerator} # {c.denominator})%Q"


def _listed(parts: Iterable[str]) -> str:
    return f"[{'; '.join(parts)}]"
