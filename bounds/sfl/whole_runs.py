"""The bounds of the SFL paper on whole runs, and what they assume: runs whose iterates have closed forms.

Clients have parabolas with second derivative 1, or Huber functions, in one coordinate; x* = 0 and L = 1.  A run is one of

* a slope: identical Huber functions that are a line where the run is, from 1, without noise;
* a parabola: identical clients, from 1, without noise;
* noise, from x*: many clients with gradient errors +-1, the signs independent or the same for all clients;
* a rest: a point where a round ends as it began, because gradients are biased, or the order or sample is always the same.

A statement is tested on all runs that it does not exclude.  The left side is a fraction, the right side has 30 digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Literal

import mpmath
import sympy
from sympy.logic.boolalg import Boolean

from fedtheory.bounds.trials.cases import rational
from fedtheory.simulations.exact.rational import Fraction
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Bound, Condition, Evidence, Statement, Status, Verdict, defined

_ONE, _ZERO = Fraction(1), Fraction(0)
_STEPS = (Fraction(1, 6), Fraction(1, 1000))  # S K eta for SFL, K eta for PFL
_ROUNDS = (1, 400, 10**4)


@dataclass(frozen=True)
class RunKind:
    """A kind of runs with one local step.

    says         what it is
    kind         slope, parabola, noise or rest
    M, S         clients, and how many of them take part
    excluded_by  the property that excludes it, if one does
    of           the algorithms that make it
    variance     of the mean noise of a round
    zeta         of the clients
    sigma        of a gradient
    """

    says: str
    kind: Literal["slope", "parabola", "noise", "rest"]
    M: int
    S: int
    excluded_by: Property | None = None
    of: tuple[str, ...] = ("SFL", "PFL")
    variance: Fraction = _ZERO
    zeta: int = 0
    sigma: int = 0


_MANY = 10**4
RUNS = (
    RunKind("Huber functions", "slope", 2, 2),
    RunKind("parabolas", "parabola", 2, 2),
    RunKind("independent signs", "noise", _MANY, _MANY, of=("PFL",), variance=Fraction(1, _MANY), sigma=1),
    RunKind("one sign for all clients", "noise", _MANY, _MANY, Property.INDEPENDENT_NOISE, ("PFL",), _ONE, sigma=1),
    RunKind("all gradients too large by 1", "rest", 10, 10, Property.UNBIASED, sigma=1),
    RunKind("always the order 1, ..., 10", "rest", 10, 10, Property.SAMPLING, ("SFL",), zeta=1),
    RunKind("always the order 1, ..., 1000", "rest", 1000, 1000, Property.SAMPLING, ("SFL",), zeta=1),
    RunKind("always the same of two clients", "rest", 2, 1, Property.SAMPLING, zeta=1),
)


def _rest(run: RunKind, step: Fraction) -> Fraction:
    """The point where a round ends as it began; in a fixed order the slopes are 1 for one half of the clients, then -1."""
    if run.S < run.M or run.excluded_by is Property.UNBIASED:
        return -_ONE
    left = (1 - step / run.S) ** (run.S // 2)  # what half of the clients leave of the distance to their minimum
    return (1 - left) / (1 + left)


def _sum(q: Fraction, n: int) -> Fraction:
    """1 + q + ... + q^(n-1)."""
    return Fraction(n) if q == 1 else (q**n - 1) / (q - 1)


@cache
def _spread(a: Fraction, q: Fraction, n: int) -> Fraction:
    """The mean square of the average of x^0 ... x^(n-1) with weights 1, q, q^2 ...

    x^0 = 0 and x^(r+1) = a x^r + e_r with E e_r^2 = 1 - a^2, so E x^r x^s = a^|r-s| - a^(r+s).
    """
    apart = a / (q - a) * (_sum(q * q, n) - _sum(q * a, n))  # sum over r < s
    return (_sum(q * q, n) + 2 * apart - _sum(q * a, n) ** 2) / _sum(q, n) ** 2


def symbols(run: RunKind, sequential: bool, step: Fraction, rounds: int, growth: Fraction) -> Mapping[str, Fraction]:
    """The symbols of a statement by name; `growth` is the weight of a round over that of the round before.

    eta_tilde is missing, because statements define it.
    """
    known: dict[str, Any] = {"M": run.M, "S": run.S, "K": 1, "R": rounds, "L": 1, "beta": 0, "sigma": run.sigma}
    known |= {"zeta": run.zeta, "zeta_star": run.zeta, "eta": step / run.S if sequential else step}
    if run.kind == "slope":
        slope = 1 / (step * rounds + 1)  # the last model is where the parabola begins
        mean = 1 - step * slope * rounds / 2
        found = {"D": _ONE, "A": slope - slope**2 / 2, "gap": slope * mean - slope**2 / 2, "min_grad_sq": slope**2}
    elif run.kind == "parabola":
        a = (1 - step / run.S) ** run.S if sequential else 1 - step
        mean = _sum(growth * a, rounds + 1) / _sum(growth, rounds + 1)
        found = {"mu": _ONE, "D": _ONE, "A": _ONE / 2, "gap": mean**2 / 2, "min_grad_sq": a ** (2 * rounds)}
    elif run.kind == "rest":
        square = _rest(run, step) ** 2
        found = {"mu": _ONE, "D_squared": square, "A": square / 2, "gap": square / 2, "min_grad_sq": square}
    else:
        a = 1 - step
        level = step**2 * run.variance / (1 - a * a)  # E x^2 after many rounds, for a run from there its only value
        found = {"mu": _ONE, "D": _ZERO, "gap": level * _spread(a, growth, rounds + 1) / 2}
        found |= {"A": level / 2, "min_grad_sq": level}
    return {name: Fraction(value) for name, value in (known | found).items()}


@dataclass(frozen=True)
class RunCase:
    """A statement on a run, in numbers."""

    run: RunKind
    known: Mapping[str, Fraction]
    left: Fraction
    right: Any

    @property
    def holds(self) -> bool:
        """With room for the rounding of the right side."""
        left = mpmath.mpf(int(self.left.numerator)) / int(self.left.denominator)
        return bool(self.right >= left * (1 - mpmath.mpf(10) ** -25))

    @property
    def room(self) -> float:
        """right / left."""
        return float(self.right * int(self.left.denominator) / int(self.left.numerator)) if self.left else float("inf")

    @property
    def says(self) -> str:
        """Both sides."""
        sides = f"left side {float(self.left):.3g}, right side {float(self.right):.3g}"
        return f"{self.run.says}, R = {self.known['R']}: {sides}"


def cases(statement: Statement) -> Iterator[RunCase]:
    """The statement on every run of its algorithm that meets its conditions and has all its symbols.

    A statement without S is about the case that all clients take part.  Raises ValueError for another claim than
    factor * quantity <= terms, and another quantity than QUANTITIES.
    """
    claim, where = statement.claim, dict(statement.where)
    if not isinstance(claim, Bound) or claim.sign != "<=":
        raise ValueError(f"{statement.id}: expected an upper bound")
    factor, quantity = claim.quantity.as_coeff_Mul()
    if str(quantity) not in QUANTITIES or not factor.is_Rational:
        raise ValueError(f"{statement.id}: {claim.quantity} is no multiple of {' or '.join(QUANTITIES)}")
    table = {s.name: s.sympy for s in catalogue.symbols(statement).values()}
    eta_tilde = where[table["eta_tilde"]]
    sequential = table["S"] in eta_tilde.free_symbols or table["M"] in eta_tilde.free_symbols
    value, conditions = defined(claim.value, where), [Condition(defined(c.relation, where)) for c in statement.when]
    variables = sorted(value.free_symbols, key=str)
    bound = sympy.lambdify(variables, value.doit(), "mpmath")
    needed = value.free_symbols | {s for c in conditions for s in c.relation.free_symbols}
    for run, step, rounds in product(RUNS, _STEPS, _ROUNDS):
        if ("SFL" if sequential else "PFL") not in run.of or (run.S < run.M and table["S"] not in needed):
            continue
        known = dict(symbols(run, sequential, step, rounds, _ONE))
        at = {table[name]: rational(number) for name, number in known.items() if name in table}
        if "D_squared" in known:
            # as a number with digits: for an exact root sympy looks for divisors, of a number of a thousand digits
            at[table["D"]] = sympy.sqrt(sympy.Float(rational(known["D_squared"]), 60))
        if table["w_r"] in where and run.kind in ("parabola", "noise"):
            weight = defined(where[table["w_r"]], where).subs(at)
            growth = sympy.nsimplify(weight.subs(table["r"], 1) / weight.subs(table["r"], 0))
            if not growth.is_Rational:
                raise ValueError(f"{statement.id}: the weights grow by {growth}: expected a rational number")
            known = dict(symbols(run, sequential, step, rounds, Fraction(int(growth.p), int(growth.q))))
        if needed <= at.keys() and all(_holds(c.relation, _values(c.relation, at)) for c in conditions):
            with mpmath.workdps(60):
                right = bound(*(mpmath.mpmathify(at[s]) for s in variables))
            if not mpmath.isfinite(right):
                raise ValueError(f"{statement.id}: the right side is {right} on {run.says}")
            yield RunCase(run, known, known[quantity.name] * Fraction(int(factor.p), int(factor.q)), right)


Values = tuple[tuple[sympy.Symbol, sympy.Expr], ...]


def _values(relation: Boolean, at: Mapping[sympy.Symbol, sympy.Expr]) -> Values:
    return tuple((symbol, at[symbol]) for symbol in sorted(relation.free_symbols, key=str))


@cache
def _holds(relation: Boolean, values: Values) -> bool:
    """Whether a condition holds: many runs have the same values of its symbols."""
    return bool(relation.subs(dict(values)) == sympy.true)


def check(statement: Statement, full: bool = False) -> Verdict:
    """The claim on every run that the statement does not exclude; the verdict also reports the others."""
    given, tightest = catalogue.properties(statement), None
    excluded: dict[str, RunCase] = {}
    with mpmath.workdps(30):
        for case in cases(statement):
            if case.run.excluded_by in given:
                if not case.holds:
                    excluded.setdefault(case.run.says, case)
                continue
            if not case.holds:
                witness = {name: str(value) for name, value in case.known.items()} | {
                    "what": case.run.says, "left": f"{float(case.left):.12g}", "right": f"{float(case.right):.12g}",
                }  # fmt: skip
                return Verdict(Status.REFUTED, case.says, slack=case.room, witness=witness)
            tightest = case if tightest is None or case.room < tightest.room else tightest
    if tightest is None:
        return Verdict(Status.OPEN, "no run meets the conditions")
    told = "; ".join(f"{case.says} (excluded by '{case.run.excluded_by}')" for case in excluded.values())
    fails = f"; it fails only in runs that an assumption excludes: {told}" if told else ""
    return Verdict(Status.TESTED, f"tightest with {tightest.says}{fails}", slack=tightest.room)


QUANTITIES = ("gap", "min_grad_sq")


def evidence() -> list[Evidence]:
    """Checks of the bounds on whole runs, in all forms."""
    bounds = ((one.id, one.claim) for one in catalogue.statements("sfl") if isinstance(one.claim, Bound))
    of_runs = (id_ for id_, claim in bounds if {s.name for s in claim.quantity.free_symbols} <= {*QUANTITIES})
    return [Evidence(id_, "counterexample", check) for id_ in of_runs]
