"""Whether a statement of the FedBAT paper needs independent mini-batches of the clients: a run with and one without them.

All clients have F_k(w) = w^2/2 in one coordinate.  The run starts at the minimum, with one step in each round and all
clients.  Every client's gradient has an error +-1.  Either the signs of the clients are independent, or all clients draw
the same sign.  In one coordinate S(m) = m, so q = 0, and E w_t^2 follows a recursion in fractions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy

from theory import catalogue
from theory.statement import Bound, Evidence, Relations, Statement, Status, Verdict

INDEPENDENT = "fedbat.assump3.independent"
CLIENTS, STEPS = 10, 40


@dataclass(frozen=True)
class Law:
    """How the clients' noise is drawn, and the variance of its mean."""

    says: str
    variance: Fraction
    independent: bool


LAWS = (
    Law("independent signs", Fraction(1, CLIENTS), True),
    Law("one sign for all clients", Fraction(1), False),
)


def _number(e: Any) -> Fraction:
    value = sympy.nsimplify(e)
    if not value.is_Rational:
        raise ValueError(f"{e}: expected a rational number")
    return Fraction(int(value.p), int(value.q))


def symbols(statement: Statement, law: Law) -> Mapping[str, Any]:
    """The symbols of the statement on this run, with the statement's learning rate if it defines one."""
    table = catalogue.symbols(statement)
    known: dict[str, Any] = {
        **{
            "N": CLIENTS,
            "K": CLIENTS,
            "tau": 1,
            "T": STEPS,
            "R": STEPS,
            "L": 1,
            "mu": 1,
            "sigma": 1,
            "q": 0,
            "Gamma": 0,
        },
        **{"G": sympy.sqrt(2), "p_sq": sympy.Rational(1, CLIENTS), "d0": 0},  # |w| is at most 1, so E g^2 at most 2
        **{"noise_sq": sympy.Rational(law.variance.numerator, law.variance.denominator)},
        **{"noise_x_sum": sympy.Rational(1, CLIENTS)},
    }
    where = {s.name: e for s, e in statement.where.items()}
    if "eta_t" not in where:
        return known
    step, square = table["t"].sympy, [Fraction(0)]
    numbers = {table[n].sympy: v for n, v in known.items() if n in table}
    rate = where["eta_t"].subs({s: e for s, e in statement.where.items() if s.name == "gamma"}).subs(numbers)
    for t in range(STEPS):
        eta = _number(rate.subs(step, t))
        square.append((1 - eta) ** 2 * square[-1] + eta**2 * law.variance)
    first, last = square[1], square[-1] / 2
    return {
        **known,
        "dist0_sq": sympy.Rational(first.numerator, first.denominator),
        "gap_last": sympy.Rational(last.numerator, last.denominator),
    }


def _sides(statement: Statement, law: Law) -> tuple[str, Any, Any, bool]:
    """The claim as text, its sides in numbers, and whether it holds."""
    claim = statement.claim
    if isinstance(claim, Bound):
        sign = {"<=": sympy.Le, ">=": sympy.Ge, "=": sympy.Eq}[claim.sign]
        relation = sign(claim.quantity, claim.value, evaluate=False)
    elif isinstance(claim, Relations) and len(claim.relations) == 1:
        (relation,) = claim.relations
    else:
        raise ValueError(f"{statement.id}: expected a bound or one relation")
    known = symbols(statement, law)
    left, right = (sympy.nsimplify(side.subs({s: known[s.name] for s in side.free_symbols})) for side in relation.args)
    return str(relation), left, right, relation.func(left, right) == sympy.true


def check(statement: Statement, full: bool = False) -> Verdict:
    """The claim under both laws of the noise; under the second only if the statement does not exclude it."""
    asks = INDEPENDENT in statement.assumes
    told = []
    for law in LAWS:
        says, left, right, holds = _sides(statement, law)
        numbers = f"{law.says}: left side {float(left):.3g}, right side {float(right):.3g}"
        if holds or (asks and not law.independent):
            told.append(numbers + ("" if holds else f", which {INDEPENDENT} excludes"))
            continue
        witness = {
            "F_k": "w^2/2", "w_0": 0, "N": CLIENTS, "tau": 1, "T": STEPS, "noise": f"+-1, {law.says}",
            "relation": says, "left": str(left), "right": str(right),
        }  # fmt: skip
        return Verdict(
            Status.REFUTED, f"{CLIENTS} clients, {STEPS} steps, {numbers}, in exact arithmetic", witness=witness
        )
    return Verdict(Status.TESTED, f"{CLIENTS} clients, {STEPS} steps, in fractions; {'; '.join(told)}")


def independent(statement: Statement, full: bool = False) -> Verdict:
    """Checks the assumption: independent signs meet it, a common one does not."""
    _, left, right, met = _sides(statement, LAWS[0])
    if not met:
        witness = {"noise": LAWS[0].says, "left": str(left), "right": str(right)}
        return Verdict(Status.REFUTED, "independent noise does not meet it", witness=witness)
    _, left, right, common = _sides(statement, LAWS[1])
    apart = "" if common else f", by {LAWS[1].says} not: {left} against {right}"
    return Verdict(Status.TESTED, f"met by {LAWS[0].says} of {CLIENTS} clients{apart}")


USED = (
    "lemma2.corrected", "eq44.corrected", "thm1.corrected", "thm1.from_start", "thm1.from_start.sharp", "thm2.corrected",
    "thm2.from_start", "thm2.from_start.sharp",
)  # fmt: skip


def evidence() -> list[Evidence]:
    """Checks of the corrected statements that need independent clients, and of the assumption."""
    return [
        *(Evidence(f"fedbat.{name}", "counterexample", check) for name in USED),
        Evidence(INDEPENDENT, "enumeration", independent),
    ]


__all__ = ["CLIENTS", "INDEPENDENT", "LAWS", "STEPS", "check", "evidence", "independent", "symbols"]
