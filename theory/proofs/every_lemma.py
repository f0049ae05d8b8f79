"""The proof of a constant for every number of clients as a lemma in Coq.

    forall V : Inner, vectors of V, numbers, M,  2 <= M -> 0 <= condition_1 -> ... -> objective <= constant * amount

The vectors are means and deviations of what the clients have (`symmetry`); that a round is one in these, and how M enters
it, is not in the lemma.  Where M is in no coefficient, it is the lemma of one programme (`squares`), for all M as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy
from sympy import QQ

from fedtheory.theory.proofs import squares
from fedtheory.theory.proofs.every_count import ParametricCertificate, finite, rest_of
from fedtheory.theory.proofs.linear import symmetric
from fedtheory.theory.proofs.squares import named
from fedtheory.theory.proofs.symmetry import COUNT, FIELD, Form, ProgrammeFamily, sign_of, value

_MORE = sympy.Symbol("m")
_MOST = 16  # powers of 1 + m that are tried


def lemma(name: str, family: ProgrammeFamily, proof: ParametricCertificate) -> str:
    """That the certificate's constant is enough for every number of clients, with its proof.

    Raises ValueError where a pivot of the elimination vanishes, or nearly so, for some M: the proof would divide by it.
    """
    if family.constant:
        one, multipliers = family.at(2), {name: value(x, 2) for name, x in proof.multipliers.items()}
        upper = value(proof.constant, 2)
        said, shown = squares.statement(one, upper, multipliers), squares.proof(one, upper, multipliers)
    else:
        section = _FamilySection(family, proof)
        said, shown = section.statement, section.proof
    return f"Lemma {name} : {said}.\n{shown}\n"


class _FamilySection:
    """The names in Coq of a family's vectors and numbers, and what is said with them."""

    def __init__(self, family: ProgrammeFamily, proof: ParametricCertificate) -> None:
        self.family, self.certificate = family, proof
        self.vectors, self.numbers = named("v", family.vectors), named("n", family.values)

    @property
    def statement(self) -> str:
        variables = ["(V : Inner)"]
        variables += [
            f"({' '.join(own.values())} : {of})" for own, of in ((self.vectors, "V"), (self.numbers, "R")) if own
        ]
        given = [f"0 <= {self.said(self.family.conditions[name])} ->" for name in self.certificate.multipliers]
        claim = f"{self.said(self.family.objective)} <= {self.most}"
        return "\n  ".join([f"forall {' '.join(variables)} (M : R),", "2 <= M ->", *given, claim])

    @property
    def proof(self) -> str:
        """The slack is the sum of the conditions and of squares, each with a factor >= 0."""
        names = list(self.vectors.values())
        given = [f"given_{i}" for i in range(len(self.certificate.multipliers))]
        parts = [
            (x, f"({self.said(self.family.conditions[name])})", f"exact {own}")
            for own, (name, x) in zip(given, self.certificate.multipliers.items(), strict=True)
        ]
        for pivot, row in self.squares():
            parts.append((pivot, f"sq {self.combination(row)}", "apply square"))
        turned = " ".join(f"?(ip_sym {b} {a})," for i, a in enumerate(names) for b in names[i + 1 :])
        total = " + ".join(f"{_function(x)} * {term}" for x, term, _ in parts) or "0"
        lines = [
            "Proof.",
            f"intros {' '.join(['V', *names, *self.numbers.values(), 'M', 'least', *given])}.",
            f"assert (identity : {self.most} - ({self.said(self.family.objective)}) = {total}).",
            f"{{ products. rewrite {turned} ?Rmult_1_l. field; repeat split; intro; nra. }}",
        ]
        for i, (x, term, known) in enumerate(parts):
            by = f"apply Rmult_le_pos; [{_least(x)} | {known}]"
            lines.append(f"assert (part_{i} : 0 <= {_function(x)} * {term}) by ({by}).")
        return "\n".join([*lines, "lra.", "Qed."])

    @property
    def most(self) -> str:
        return f"{_function(self.certificate.constant)} * ({self.said(self.family.amount)})"

    def said(self, form: Form) -> str:
        """A form as a statement says it."""
        parts = [
            f"{_function(c)} * "
            + (self.numbers[p] if isinstance(p, str) else "ip {} {}".format(*map(self.vectors.get, p)))
            for p, c in form.items()
        ]
        return " + ".join(parts) or "0"

    def squares(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        """What is left of the slack besides the conditions: factors, and combinations of vectors to be squared."""
        names = list(self.vectors)
        rest = symmetric(rest_of(self.family, self.certificate), names, FIELD.zero)
        for k, name in enumerate(names):
            pivot, row = rest[k][k], rest[k][k:]
            if not pivot:
                continue
            shares = {other: x / pivot for other, x in zip(names[k:], row, strict=True) if x}
            if not all(map(finite, shares.values())):
                raise ValueError(f"the pivot {pivot} of {name} vanishes for some M: expected one that is positive")
            yield pivot, shares
            for i in range(k + 1, len(names)):
                share = rest[k][i] / pivot
                rest[i] = [x - share * y for x, y in zip(rest[i], rest[k], strict=True)]

    def combination(self, row: Mapping[str, Any]) -> str:
        first, *others = [f"(scale {_function(x)} {self.vectors[name]})" for name, x in row.items()]
        for one in others:
            first = f"(add {first} {one})"
        return first


def _function(function: Any) -> str:
    """A rational function of M; its denominator, which is positive for all M >= 2, by its factors."""
    if function.numer.is_ground and function.denom.is_ground:
        return f"({squares.real(value(function, 2))})"
    over, factors = _parts(function)
    return f"({_text(over)} / ({' * '.join(_power(_text(p), n) for p, n in factors) or '1'}))"


def _parts(function: Any) -> tuple[Any, list[tuple[Any, int]]]:
    """The numerator, and the factors of the denominator, which are positive for all M >= 2, with their powers."""
    number, factors = function.denom.factor_list()
    for p, n in factors:
        number *= sign_of(p) ** n
    return function.numer.mul_ground(1 / number), [(p * sign_of(p), n) for p, n in factors]


def _text(p: Any) -> str:
    """A polynomial in M."""
    return _said(_moved(p, 0), "M")


def _said(p: sympy.Poly, variable: str) -> str:
    terms = (f"({c}) * {_power(variable, n)}" if n else f"({c})" for (n,), c in p.terms())
    return f"({' + '.join(terms)})"


def _power(base: str, n: int) -> str:
    return base if n == 1 else f"{base} ^ {n}"


def _moved(p: Any, less: int) -> sympy.Poly:
    return sympy.Poly(p.as_expr().subs(COUNT.as_expr(), _MORE + less), _MORE, domain=QQ)


def _grown(p: Any) -> str:
    """A polynomial that is >= 0 where M >= 2, as one in m = M - 2 without negative coefficients over a power of 1 + m.

    Polya's theorem: if it is positive for all m >= 0, some power is enough.
    """
    known, factor = _moved(p, 2), sympy.Poly(1 + _MORE, _MORE, domain=QQ)
    for power in range(_MOST):
        if all(c >= 0 for c in known.all_coeffs()):
            said = _said(known, "(M - 2)")
            return f"({said} / (M - 1) ^ {power})" if power else said
        known *= factor
    raise ValueError(f"{p}: expected one that is >= 0 for all M >= 2, and has no root near")


def _least(function: Any) -> str:
    """The proof that a function is >= 0 where M >= 2."""
    if function.numer.is_ground and function.denom.is_ground:
        return "lra"
    over, factors = _parts(function)
    shown = [f"replace {_text(p)} with {_grown(p)} by (field; lra); grows" for p in (over, *(p for p, _ in factors))]
    under = "lra"
    for n, one in enumerate(shown[1:]):
        power = f"apply pow_lt; {one}" if factors[n][1] > 1 else one
        under = f"apply Rmult_lt_0_compat; [{under} | {power}]" if n else power
    return f"apply Rle_mult_inv_pos; [{shown[0]} | {under}]"
