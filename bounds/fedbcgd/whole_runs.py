"""Conditions that the corrected theorems of the FedBCGD paper need and its assumptions lack: whole runs in fractions.

All clients have f(x) = x^2/2 in one coordinate, so G = 0 and x* = 0, and all take part, with one step in each round.  From
the minimum, x^0 = 0, the model is moved by

* noise: 100 clients with gradient errors +-1, the signs independent or the same for all clients;
* an offset: two clients, c^0 = 1 and c_i^0 = 0, so that c is never the mean of the c_i, and x^r tends to -1;
* a push: two clients, v^0 = 1.

A statement is tested on all runs that it does not exclude.  Every sum is finite, and every number a fraction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy

from simulations.exact.rational import Fraction
from theory import catalogue
from theory.statement import Bound, Evidence, Relations, Statement, Status, Verdict

INDEPENDENT = "fedbcgd.assumption3.independent"
AT_REST = "fedbcgd.alg1.initial"
CONTROLLED = "fedbcgd.alg3.initial"
CLIENTS = 100
_ZERO, _USUAL, _SMALL = Fraction(0), Fraction(1, 36), Fraction(1, 1000)


@dataclass(frozen=True)
class Start:
    """A run: its start and its noise.

    excluded_by  the assumption that excludes it; empty: none
    plus         whether it is a run of FedBCGD+, which has no noise left, or of FedBCGD
    clients      number of clients
    x            x^0
    lam          the server's momentum
    v            v^0
    offset       c^0 - c_i^0, where every c_i^0 is 0
    variance     of the mean noise of a round
    eta_tilde    the effective step size
    """

    says: str
    excluded_by: str
    plus: bool
    clients: int = 2
    x: Fraction = _ZERO
    lam: Fraction = _ZERO
    v: Fraction = _ZERO
    offset: Fraction = _ZERO
    variance: Fraction = _ZERO
    eta_tilde: Fraction = _USUAL


_HALF, _ONE = Fraction(1, 2), Fraction(1)
STARTS = (
    Start("independent signs", "", False, CLIENTS, variance=Fraction(1, CLIENTS), eta_tilde=_SMALL),
    Start("one sign for all clients", INDEPENDENT, False, CLIENTS, variance=_ONE, eta_tilde=_SMALL),
    Start("v^0 = 1", AT_REST, False, lam=_HALF, v=_ONE),
    Start("x^0 = 1", "", True, x=_ONE, lam=_HALF),
    Start("v^0 = 1", AT_REST, True, lam=_HALF, v=_ONE),
    Start("c^0 = 1, c_i^0 = 0", CONTROLLED, True, offset=_ONE),
)


@dataclass(frozen=True)
class Moments:
    """E of x^2, x v, v^2, S x, S v, S^2, x, v and S, where S is the weighted sum of the models so far."""

    xx: Fraction
    xv: Fraction
    vv: Fraction
    Sx: Fraction
    Sv: Fraction
    SS: Fraction
    x: Fraction
    v: Fraction
    S: Fraction


@cache
def _ends(start: Start, eta: Fraction, rounds: int, shrink: Fraction) -> tuple[Moments, Moments, Fraction]:
    """The moments after the first round and after all, and the mean of E x^2 before the rounds."""
    runs = _followed(start, eta, rounds, shrink)
    return runs[1], runs[-1], sum((m.xx for m in runs[:-1]), _ZERO) / rounds


def _followed(start: Start, eta: Fraction, rounds: int, shrink: Fraction) -> list[Moments]:
    """The moments before round 0, 1 ... rounds.

    In S the last model x^r has weight 1, each earlier one `shrink` times the weight of the next.
    v <- lam v - eta (x + offset + noise), x <- x + v.
    """
    x0, v0, a, b = start.x, start.v, start.lam, start.offset
    found = [Moments(x0 * x0, x0 * v0, v0 * v0, x0 * x0, x0 * v0, x0 * x0, x0, v0, x0)]
    for _ in range(rounds):
        m = found[-1]
        v = a * m.v - eta * (m.x + b)
        vv = a * a * m.vv - 2 * a * eta * (m.xv + b * m.v) + eta**2 * (m.xx + 2 * b * m.x + b * b + start.variance)
        xv_ = a * m.xv - eta * (m.xx + b * m.x)  # E x v+
        Sv = a * m.Sv - eta * (m.Sx + b * m.S)  # E S v+
        xx, Sx_ = m.xx + 2 * xv_ + vv, m.Sx + Sv
        found.append(
            Moments(
                xx, xv_ + vv, vv, shrink * Sx_ + xx, shrink * Sv + xv_ + vv,
                shrink**2 * m.SS + 2 * shrink * Sx_ + xx, m.x + v, v, shrink * m.S + m.x + v,
            )
        )  # fmt: skip
    return found


def _number(value: Fraction) -> sympy.Rational:
    return sympy.Rational(int(value.numerator), int(value.denominator))


def _fraction(e: Any) -> Fraction:
    value = sympy.nsimplify(e)
    if not value.is_Rational:
        raise ValueError(f"{e}: expected a rational number")
    return Fraction(int(value.p), int(value.q))


def symbols(statement: Statement, start: Start) -> Mapping[str, Any]:
    """The symbols of the statement on a run with T = 1 and the fewest rounds that the strongly convex case allows.

    Symbols of one round are those of the first.
    """
    alpha = 1 / (1 - start.lam)
    small = start.eta_tilde
    where = {s.name: e for s, e in statement.where.items()}
    table = catalogue.symbols(statement)
    known: dict[str, Any] = {
        **{"M": start.clients, "K": start.clients, "N": 1, "S": start.clients, "T": 1, "beta": 1, "mu": 1, "G": 0},
        **{
            "alpha": _number(alpha),
            "gamma": _number(alpha - 1),
            "lam": _number(start.lam),
            "eta_tilde": _number(small),
        },
        **{"sigma": 1 if start.variance else 0, "C_0": 0, "C_prev": 0, "drift_x": 0},
        **dict.fromkeys(("d0", "grad_sq_x", "lag", "lag_0", "C_r"), _number(start.x**2)),
        **dict.fromkeys(("F", "gap_x"), _number(start.x**2 / 2)),
    }
    scale = Fraction(1, 1)
    if "eta_tilde" in where:
        scale = _fraction(where["eta_tilde"].subs({table["eta"].sympy: 1, table["alpha"].sympy: known["alpha"],
                                                   table["T"].sympy: 1}))  # fmt: skip
    eta = small / scale
    rounds = int((2 * alpha if start.plus else alpha / 2) / small)
    if "gap_xbar" in table and "mu" not in table:
        rounds = 250  # the plain average: its noise falls with the rounds
    shrink = Fraction(1)
    if "w_r" in where:
        ratio = where["w_r"].subs(table["r"].sympy, 1) / where["w_r"].subs(table["r"].sympy, 0)
        ratio = ratio.subs({s.sympy: known[n] for n, s in table.items() if n in known})
        shrink = 1 / _fraction(sympy.simplify(ratio))
    one, last, mean_square = _ends(start, eta, rounds, shrink)
    weight = sum((shrink**r for r in range(rounds + 1)), Fraction(0)) if shrink != 1 else Fraction(rounds + 1)
    step = _number(eta)
    square = (start.x + start.offset) ** 2 + start.variance
    known |= {
        "eta": step, "R": rounds, "gap_xbar": _number(last.SS / weight**2 / 2),
        "avg_grad_sq": _number(mean_square),
        "G_sq": _number(square), "dist_sq": _number((start.x + (alpha - 1) * start.v) ** 2),
        "dist_next": _number(one.xx + 2 * (alpha - 1) * one.xv + (alpha - 1) ** 2 * one.vv),
        "gap_x_prev": _number((start.x - start.v) ** 2 / 2), "v_sq": _number(start.v**2),
        "mean_noise_sq": _number(start.variance), "mean_noise_sum": sympy.Rational(1, start.clients),
    }  # fmt: skip
    return known


def _sides(statement: Statement, start: Start) -> tuple[str, Any, Any, bool]:
    """The claim as text, its sides in numbers, and whether it holds.  Raises ValueError for symbols without a number."""
    claim = statement.claim
    if isinstance(claim, Bound):
        sign = {"<=": sympy.Le, ">=": sympy.Ge, "=": sympy.Eq}[claim.sign]
        relation = sign(claim.quantity, claim.value, evaluate=False)
    elif isinstance(claim, Relations) and len(claim.relations) == 1:
        (relation,) = claim.relations
    else:
        raise ValueError(f"{statement.id}: expected a bound or one relation")
    known = symbols(statement, start)
    for condition in statement.when:
        e = condition.relation.xreplace(dict(statement.where))
        if e.subs({s: known[s.name] for s in e.free_symbols}) != sympy.true:
            raise ValueError(f"{statement.id}: {condition} does not hold on {start.says}")
    left, right = (side.subs({s: known[s.name] for s in side.free_symbols}) for side in relation.args)
    return str(relation), left, right, bool(relation.func(left, right) == sympy.true)


def starts(statement: Statement) -> tuple[Start, ...]:
    """The runs of the statement's algorithm: FedBCGD+ where it assumes smooth mini-batches, which FedBCGD does not need."""
    plus = "fedbcgd.assumption5" in statement.assumes
    return tuple(s for s in STARTS if s.plus is plus)


def check(statement: Statement, full: bool = False) -> Verdict:
    """The claim on every run that the statement does not exclude; the verdict also reports the others."""
    told = []
    for start in starts(statement):
        says, left, right, holds = _sides(statement, start)
        numbers = f"{start.says}: left side {float(left):.3g}, right side {float(right):.3g}"
        if holds or start.excluded_by in statement.assumes:
            told.append(numbers + ("" if holds else f", which {start.excluded_by} excludes"))
            continue
        witness = {
            "f_i": "x^2/2", "x^0": str(start.x), "M": start.clients, "K": start.clients, "N": 1, "T": 1,
            "lam": str(start.lam), "eta_tilde": str(start.eta_tilde), "what": start.says, "relation": says,
            "left": f"{float(left):.12g}", "right": f"{float(right):.12g}",
        }  # fmt: skip
        return Verdict(Status.REFUTED, f"{numbers}, from fractions", witness=witness)
    return Verdict(Status.TESTED, f"f_i = x^2/2, in fractions; {'; '.join(told)}")


def independent(statement: Statement, full: bool = False) -> Verdict:
    """Checks the assumption of independent clients: independent signs meet it, a common one does not."""
    own, common = STARTS[:2]
    _, left, right, met = _sides(statement, own)
    if not met:
        witness = {"noise": own.says, "left": str(left), "right": str(right)}
        return Verdict(Status.REFUTED, "independent noise does not meet it", witness=witness)
    _, left, right, other = _sides(statement, common)
    apart = "" if other else f", by {common.says} not: {left} against {right}"
    return Verdict(Status.TESTED, f"met by {own.says} of {CLIENTS} clients{apart}")


USED = (
    "thm1.strongly_convex.corrected", "thm1.general_convex.corrected", "thm1.nonconvex.corrected", "thm1.step48.corrected",
    "thm1.step61.corrected", "thm2.strongly_convex.corrected", "thm2.general_convex.corrected", "thm2.nonconvex.corrected",
    "lemma11.corrected", "lemma11.nonconvex", "thm1.strongly_convex.corrected.sharp", "thm1.general_convex.corrected.sharp",
    "thm1.nonconvex.corrected.sharp",
)  # fmt: skip


def evidence() -> list[Evidence]:
    """Checks of the corrected statements that need independent clients or initial values, and of the first assumption."""
    return [
        *(Evidence(f"fedbcgd.{name}", "counterexample", check) for name in USED),
        Evidence(INDEPENDENT, "enumeration", independent),
    ]


__all__ = [
    "AT_REST",
    "CLIENTS",
    "CONTROLLED",
    "INDEPENDENT",
    "STARTS",
    "USED",
    "check",
    "evidence",
    "independent",
    "starts",
    "symbols",
]  # fmt: skip
