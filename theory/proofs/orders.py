"""Orders: every summand of an explicit bound is at most an absolute constant times a printed term, decided exactly."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import mpmath
import numpy as np
import sympy
from sympy import exp

from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.proofs.arithmetic import Decision, at_most, implied
from fedtheory.theory.proofs.ledger import Ledger
from fedtheory.theory.statement import Order, Status, Term

_DIGITS, _DIRECTIONS, _DECADES = 100, 400, 4
_CONSTANTS = (1, 4, 16, 64, 256, 1024)  # absolute constants that an O may hide, tried in turn


def covered(terms: list[sympy.Expr], claim: Order, conditions: list[sympy.Basic], ledger: Ledger) -> None:
    """Add steps: every term is at most an absolute constant times a printed term."""
    ledger.require("the conditions can be met", [])
    for term in terms:
        ledger.step(f"{term} is of the printed order", partial(_cover, term, claim, conditions))


def conclude(p: Argument, derived: Order, part: int = 0) -> None:
    """Check that the claimed order follows: same quantity, logarithms hidden only if O~ is claimed, every term covered.

    An O covers the terms of the derived order; an Omega is covered by them.

    `derived` has `polylog` if its terms leave out logarithms.
    """
    claimed = p.goals[part]
    if not isinstance(claimed, Order):
        p.fail("the order", f"{p.statement.id} claims no order")
        return
    p.done(part)
    if claimed.quantity != derived.quantity:
        p.fail("the order", f"it is about {claimed.quantity}, the derived order is about {derived.quantity}")
    if claimed.lower != derived.lower:
        p.fail("the order", f"it claims {claimed.letter}, the derived order is {derived.letter}")
    if derived.polylog and not claimed.polylog:
        p.fail("the order", "the derived order leaves out logarithms, which O may not")
    printed = replace(claimed, terms=tuple(Term(t.name, p.read(t.value)) for t in claimed.terms))
    smaller, larger = (printed, derived) if claimed.lower else (derived, printed)
    terms = [t.value for t in smaller.terms if t.value != 0]
    # Leave out the conditions of the current case: they are not needed here, and slow z3 down much
    covered(terms, larger, [c for c in p.conditions if c not in p.case_conditions], p)


def claim(p: Argument, name: str) -> Order:
    """The order that another statement claims; checks that its conditions and assumptions follow."""
    return p.source(name).claim_of(Order)


def cover(term: sympy.Expr, claim: Order, conditions: list[sympy.Basic]) -> bool:
    """Whether a term is at most an absolute constant times one of the claim's."""
    return _cover(term, claim, conditions).status is Status.PROVED


def _cover(term: sympy.Expr, claim: Order, conditions: list[sympy.Basic]) -> Decision:
    own, part = _without_constant(term)
    for printed in claim.terms:
        theirs, whole = _without_constant(printed.value)
        needed, _ = _largest_ratio(part, whole, conditions)
        for constant in [number for number in _CONSTANTS if number >= needed][:2]:
            if _at_most(part, constant * whole, conditions):
                return Decision(Status.PROVED, f"at most {constant * own / theirs} x {printed.name}")
    summands = sympy.Add.make_args(sympy.expand(part))
    if len(summands) > 1 and all(cover(one, claim, conditions) for one in summands):
        return Decision(Status.PROVED, "each of its summands is at most a constant times a printed term")
    near, _ = _largest_ratio(part, claim.value, conditions, -2, 2)
    for least, widest in ((-6, 4), (-6, 12), (-24, 24)):
        ratio, at = _largest_ratio(part, claim.value, conditions, least, widest)
        much = max(_CONSTANTS) * max(near, 1)
        if ratio > much and _grows(part, claim.value, conditions, at, much):
            model = {symbol: sympy.Rational(f"{value:.12g}") for symbol, value in at.items()}
            return Decision(Status.REFUTED, "beside the printed sum it grows without limit", model)
    return Decision(Status.OPEN, "not shown to be at most a constant times a printed term")


def _without_constant(e: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """The number > 0 that multiplies an expression, and the rest; 1 and all of it for a number that is not > 0."""
    number, rest = e.as_coeff_Mul()
    return (number, rest) if number > 0 else (sympy.S.One, e)


def _grows(
    small: sympy.Expr, large: sympy.Expr, conditions: list[sympy.Basic], at: dict[sympy.Symbol, float], much: float
) -> bool:
    """Whether small / large is `much` at a point, and grows from there in some direction, in many digits.

    It must grow at least twofold in each of four decades.  So it is no constant inside a term, or of a condition, that makes
    it large at the point, and no rounding.
    """
    of = sympy.lambdify(list(at), [small, large, *conditions], "mpmath")

    def ratio(decades: np.ndarray) -> mpmath.mpf | None:
        point = [mpmath.mpf(x) * mpmath.mpf(10) ** int(n) for x, n in zip(at.values(), decades, strict=True)]
        point = [max(mpmath.nint(x), 1) if s.is_integer else x for s, x in zip(at, point, strict=True)]
        try:
            one, other, *hold = of(*point)
            return one / other if all(map(bool, hold)) else None
        except (ZeroDivisionError, TypeError, OverflowError):
            return None

    with mpmath.workdps(_DIGITS):
        start = ratio(np.zeros(len(at)))
        if start is None or not start > much:
            return False
        for direction in np.random.default_rng(0).integers(-1, 2, (_DIRECTIONS, len(at))):
            before, decades = start, 0
            while before is not None and decades < _DECADES:
                later = ratio((decades + 1) * direction)
                before = later if later is not None and later > 2 * before else None
                decades += 1
            if before is not None:
                return True
    return False


def _largest_ratio(
    small: sympy.Expr, large: sympy.Expr, conditions: list[sympy.Basic], least: int = -6, widest: int = 4
) -> tuple[float, dict[sympy.Symbol, float]]:
    """The largest small / large on sampled parameters, and where; shows which constants z3 need not try.

    least, widest  parameters are powers of ten from 10^least, below 10^widest
    """
    if large == 0:
        return (0.0 if small == 0 else np.inf), {}
    symbols = sorted(
        small.free_symbols | large.free_symbols | set().union(*(c.free_symbols for c in conditions)), key=str
    )
    rng = np.random.default_rng(0)
    counts = [1.0, 2.0, 3.0, 10.0, *([1000.0] if widest > 2 else []), *(10.0**power for power in range(4, widest))]
    points = [
        rng.choice(counts, 4000) if symbol.is_integer else 10.0 ** rng.integers(least, widest, 4000)
        for symbol in symbols
    ]
    with np.errstate(all="ignore"):
        inside = np.ones(4000, dtype=bool)
        for condition in conditions:
            inside &= np.asarray(sympy.lambdify(symbols, condition, "numpy")(*points), dtype=bool)
        ratio = sympy.lambdify(symbols, small / large, "numpy")(*points) * np.ones(4000)
    ratio = np.where(inside & ~np.isnan(ratio), ratio, 0.0)
    worst = int(np.argmax(ratio))
    return float(ratio[worst]), {symbol: float(point[worst]) for symbol, point in zip(symbols, points, strict=True)}


def _at_most(small: sympy.Expr, large: sympy.Expr, conditions: list[sympy.Basic]) -> bool:
    """Whether small <= large, both >= 0: compares exponentials by exponents, and powers of both sides for roots."""
    exponents = [e.atoms(exp) for e in (small, large)]
    if exponents[0] or exponents[1]:
        if len(exponents[0]) != len(exponents[1]):
            return False
        (ours,), (theirs,) = exponents
        if not implied(conditions, at_most(ours.args[0], theirs.args[0])):
            return False
        small, large = small.subs(ours, 1), large.subs(theirs, 1)
    power = sympy.ilcm(1, 1, *(p.exp.q for e in (small, large) for p in e.atoms(sympy.Pow) if p.exp.is_Rational))
    both = [sympy.powdenest(sympy.expand_power_base(e**power, force=True), force=True) for e in (small, large)]
    return implied(conditions, at_most(*both), effort=2_000_000)
