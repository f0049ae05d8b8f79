"""The bounds of the FedBCGD paper on whole runs, and what they assume: runs in fractions.

All clients have f(x) = x^2/2 in one coordinate, so G = 0 and x* = 0, and all take part, with one step in each round.  From
the minimum, x^0 = 0, the model is moved by

* noise: 100 clients with gradient errors +-1, the signs independent or the same for all clients;
* a bias: two clients with gradient errors 1;
* an offset: two clients, c^0 = 1 and c_i^0 = 0, so that c is never the mean of the c_i, and x^r tends to -1;
* a push: two clients, v^0 = 1;

and by a sample: of two clients, x^2/2 + x and x^2/2 - x, always the first.  A statement is tested on all runs that it does
not exclude.  Every sum is finite, and every number a fraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy

from bounds.trials.cases import substituted
from simulations.exact.rational import Fraction
from theory import catalogue
from theory.properties import Property
from theory.statement import Bound, Evidence, F as VALUE, Statement, Status, Verdict, defined

CLIENTS = 100
_ZERO, _USUAL, _SMALL = Fraction(0), Fraction(1, 36), Fraction(1, 1000)


@dataclass(frozen=True)
class Start:
    """A run: its start and its noise.

    excluded_by  the property that excludes it, if one does
    plus         whether it is a run of FedBCGD+, which has no noise left, or of FedBCGD
    clients      number of clients
    sampled      how many of them take part
    x            x^0
    lam          the server's momentum
    v            v^0
    offset       what every gradient has besides x: c^0 - c_i^0, where every c_i^0 is 0, or an error
    G            of Assumption 4
    variance     of the mean noise of a round
    eta_tilde    the effective step size
    """

    says: str
    excluded_by: Property | None
    plus: bool
    clients: int = 2
    sampled: int = 2
    G: int = 0
    x: Fraction = _ZERO
    lam: Fraction = _ZERO
    v: Fraction = _ZERO
    offset: Fraction = _ZERO
    variance: Fraction = _ZERO
    eta_tilde: Fraction = _USUAL


_HALF, _ONE = Fraction(1, 2), Fraction(1)
_MANY: dict[str, Any] = {"clients": CLIENTS, "sampled": CLIENTS, "eta_tilde": _SMALL}
STARTS = (
    Start("independent signs", None, False, **_MANY, variance=Fraction(1, CLIENTS)),
    Start("one sign for all clients", Property.INDEPENDENT_NOISE, False, **_MANY, variance=_ONE),
    Start("all gradients too large by 1", Property.UNBIASED, False, offset=_ONE, eta_tilde=_SMALL),
    Start(
        "always the same of two clients", Property.BLOCK_SAMPLING, False, sampled=1, offset=_ONE, G=1, eta_tilde=_SMALL
    ),
    Start("x^0 = 1", None, False, x=_ONE, lam=_HALF),
    Start("v^0 = 1", Property.AT_REST, False, lam=_HALF, v=_ONE),
    Start("x^0 = 1", None, True, x=_ONE, lam=_HALF),
    Start("v^0 = 1", Property.AT_REST, True, lam=_HALF, v=_ONE),
    Start("c^0 = 1, c_i^0 = 0", Property.INITIAL_VARIATES, True, offset=_ONE),
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
def _ends(start: Start, eta: Fraction, rounds: int, shrink: Fraction) -> tuple[Moments, Fraction, Fraction]:
    """The moments after all rounds, and the means of E x^2 before and after the rounds."""
    runs = _followed(start, eta, rounds, shrink)
    squares = [m.xx for m in runs]
    return runs[-1], sum(squares[:-1], _ZERO) / rounds, sum(squares[1:], _ZERO) / rounds


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
    """The symbols of the statement on a run with T = 1 and the fewest rounds that the strongly convex case allows."""
    alpha = 1 / (1 - start.lam)
    small = start.eta_tilde
    where = {s.name: e for s, e in statement.where.items()}
    table = catalogue.symbols(statement)
    known: dict[str, Any] = {
        **{
            "M": start.clients,
            "K": start.sampled,
            "N": 1,
            "S": start.sampled,
            "T": 1,
            "beta": 1,
            "mu": 1,
            "G": start.G,
        },
        **{"alpha": _number(alpha), "gamma": _number(alpha - 1), "lam": _number(start.lam)},
        **{"eta_tilde": _number(small), "sigma": int(bool(start.variance) or start.excluded_by is Property.UNBIASED)},
        **{"C_0": 0, "d0": _number(start.x**2), "lag_0": _number(start.x**2), "F": _number(start.x**2 / 2)},
    }
    if statement.reads.get("d0") == VALUE:
        known["d0"] = known["F"]
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
        ratio = where["w_r"].subs(table["r"].sympy, 0) / where["w_r"].subs(table["r"].sympy, 1)
        shrink = _fraction(sympy.simplify(substituted(ratio, known)))
    last, before, after = _ends(start, eta, rounds, shrink)
    weight = sum((shrink**r for r in range(rounds + 1)), Fraction(0)) if shrink != 1 else Fraction(rounds + 1)
    return known | {
        "eta": _number(eta), "R": rounds, "gap_xbar": _number(last.SS / weight**2 / 2), "avg_grad_sq": _number(before),
        "avg_grad_sq_later": _number(after),
    }  # fmt: skip


def _sides(statement: Statement, start: Start) -> tuple[str, Any, Any, bool] | None:
    """The claim as text, its sides in numbers, and whether it holds; None where a condition does not.

    Raises ValueError for a claim that is no bound, and for symbols without a number.
    """
    claim = statement.claim
    if not isinstance(claim, Bound):
        raise ValueError(f"{statement.id}: expected a bound")
    sign = {"<=": sympy.Le, ">=": sympy.Ge, "=": sympy.Eq}[claim.sign]
    relation = sign(claim.quantity, claim.value, evaluate=False)
    known = symbols(statement, start)
    for condition in statement.when:
        e = defined(condition.relation, dict(statement.where))
        if substituted(e, known) != sympy.true:
            return None
    relation = defined(relation, dict(statement.where))
    left, right = (substituted(side, known) for side in relation.args)
    return str(relation), left, right, bool(relation.func(left, right) == sympy.true)


def starts(statement: Statement) -> tuple[Start, ...]:
    """The runs of the statement's algorithm: Theorem 2 is about FedBCGD+."""
    plus = catalogue.as_printed(statement).startswith("fedbcgd.thm2")
    return tuple(s for s in STARTS if s.plus is plus)


def check(statement: Statement, full: bool = False) -> Verdict:
    """The claim on every run that the statement does not exclude; the verdict also reports the others."""
    given, told, slack = catalogue.properties(statement), [], sympy.oo
    for start in starts(statement):
        sides = _sides(statement, start)
        if sides is None:
            continue
        says, left, right, holds = sides
        numbers = f"{start.says}: left side {float(left):.3g}, right side {float(right):.3g}"
        excluded = start.excluded_by in given
        if holds or excluded:
            told.append(numbers + ("" if holds else f", which '{start.excluded_by}' excludes"))
            slack = min(slack, right / left) if left > 0 and not excluded else slack
            continue
        witness = {
            "f_i": "x^2/2, with one slope 1 and one -1" if start.G else "x^2/2", "x^0": str(start.x), "M": start.clients,
            "K": start.sampled, "N": 1, "T": 1, "lam": str(start.lam), "eta_tilde": str(start.eta_tilde),
            "what": start.says, "relation": says, "left": f"{float(left):.12g}", "right": f"{float(right):.12g}",
        }  # fmt: skip
        return Verdict(Status.REFUTED, f"{numbers}, from fractions", witness=witness)
    if not told:
        return Verdict(Status.OPEN, "no run meets the conditions")
    says = f"f_i = x^2/2, in fractions; {'; '.join(told)}"
    return Verdict(Status.TESTED, says, slack=float(slack) if slack < sympy.oo else None)


QUANTITIES = {"gap_xbar", "avg_grad_sq", "avg_grad_sq_later"}


def used() -> Iterator[Statement]:
    """The bounds on whole runs, in all forms, that say with which step size they hold."""
    for statement in catalogue.statements("fedbcgd"):
        claim = statement.claim
        if not isinstance(claim, Bound) or not {s.name for s in claim.quantity.free_symbols} <= QUANTITIES:
            continue
        if "eta_tilde" in {s.name for s in claim.value.free_symbols}:
            yield statement


def evidence() -> list[Evidence]:
    """Checks of the bounds on whole runs."""
    return [Evidence(statement.id, "counterexample", check) for statement in used()]


__all__ = ["CLIENTS", "STARTS", "check", "evidence", "starts", "symbols", "used"]
