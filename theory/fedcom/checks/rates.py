"""The proofs of orders and rates from explicit bounds at a learning rate.

A rate says that with R and tau of some order, and step sizes of our choice, an error is of the order of epsilon.  Here R
and tau are between ENOUGH and 2 ENOUGH times the rate's, and the constants of the problem are one.  Then every term of the
bound is at most ENOUGH epsilon.  If a bound has both L and mu, then mu is one of these constants, and L is kappa.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import sympy
from sympy import exp
from sympy.logic.boolalg import Boolean

from fedtheory.theory.fedcom.checks.ledgers import PROOFS as BOUNDS
from fedtheory.theory.fedcom.checks.quantities import NOW, lowest
from fedtheory.theory.fedcom.homogeneous import b
from fedtheory.theory.fedcom.symbols import *
from fedtheory.theory.proofs import orders
from fedtheory.theory.proofs.argument import Argument, Fact, Proof, curried
from fedtheory.theory.proofs.arithmetic import at_least, at_most
from fedtheory.theory.proofs.rules import ONE_MINUS, STRONGLY_POLYAK
from fedtheory.theory.proofs.variants import uncompressed
from fedtheory.theory.properties import Property, closed
from fedtheory.theory.statement import Order, Premise, Rate, Rates, Term, Words

ENOUGH = 16
ELL = sympy.Symbol("log(1/epsilon)", positive=True)  # here at least log(1/epsilon) and at least 1

_UNIT = dict.fromkeys((L, mu, sigma, G_q, f_gap, het_start, w_star_norm, w0_norm), sympy.Integer(1))


@dataclass(frozen=True)
class RateRoute:
    """How to reach a rate: the bound, the learning rate to insert, and further choices.

    source  id of the bound, without the paper's short name
    step    our choice of eta, in terms of L (of the function that the algorithm runs on), tau, gamma, q, m
    given   conditions on gamma, such as gamma >= m: for a table we choose gamma so, elsewhere they must follow
    """

    source: str
    step: sympy.Expr
    given: tuple[Boolean, ...] = ()
    also: Mapping[sympy.Symbol, sympy.Expr] = field(default_factory=dict)


# row of a table -> the properties of its functions beyond the table's assumptions
_ROWS: dict[str, dict[StrEnum, tuple[sympy.Expr, ...]]] = {
    "PL": {Property.POLYAK: (mu,)},
    "strongly convex": {Property.STRONGLY_CONVEX_MEAN: (mu,)},
    "convex": {Property.CONVEX_MEAN: (), Property.MINIMISER: ()},
}
_GAPS = (
    *_ROWS,
    "PL, strongly convex",
    "gamma without bound",
)  # rates about the gap after R rounds, not the mean squared gradient


@contextmanager
def row(p: Argument, case: str) -> Iterator[None]:
    """Inside, the functions have the properties in the head of the row; strongly convex implies Polyak-Lojasiewicz."""
    before = p.properties
    for name, constants in _ROWS.get(case, {}).items() if p.statement.kind == "table" else ():
        p.premises[Premise("property", f"{name} (the row '{case}')")] = None
        p.properties = {**p.properties, **closed({name: constants})}
    if case == "strongly convex" and p.statement.kind == "table":
        p.by(STRONGLY_POLYAK, lowest.function, NOW.w, lowest)
        p.properties = {**p.properties, Property.POLYAK: (mu,)}
    yield
    p.properties = before


@curried
def rates(p: Argument, *ways: RateRoute, part: int = 0) -> None:
    """The rates that a statement claims, each in its own way; the last way serves all remaining rates."""
    claimed = p.goals[part]
    if not isinstance(claimed, Rates):
        p.fail("the rates", f"{p.statement.id} claims none")
        return
    for i, rate in enumerate(claimed.rates):
        with row(p, rate.case):
            reached(p, rate, ways[min(i, len(ways) - 1)])
    p.done(part)


def reached(p: Argument, rate: Rate, way: RateRoute) -> None:
    """Check that at this rate all terms of the bound are of the order of epsilon."""
    rounds = ENOUGH * rate.rounds * (ELL if rate.polylog else 1)
    steps = ENOUGH * rate.steps
    counts = [at_least(R, rounds), at_most(R, 2 * rounds), at_least(tau, steps), at_most(tau, 2 * steps)]
    domain = [at_most(epsilon, 1), at_least(kappa, 1), at_least(ELL, 1), at_least(rate.steps, 1)]
    unit = {**_UNIT, L: kappa} if p.speaks_of(way.source, mu) else _UNIT
    if p.statement.kind == "table":  # the table says nothing about gamma: we choose it
        p.fixing(unit, [*domain, *counts, *way.given, *rate.given], lambda: small(p, rate, way))
        return
    own = [c.relation for c in p.statement.when if gamma in c.relation.free_symbols and not c.relation.has(R, eta)]

    def of_all() -> None:
        """For every gamma that the statement admits."""
        for relation in way.given:
            p.require(f"{rate.case}: {relation}", relation)
        small(p, rate, way)

    p.fixing(unit, [*domain, *counts, *own, *rate.given], of_all)


def small(p: Argument, rate: Rate, way: RateRoute) -> None:
    """Check that every term of the bound is at most ENOUGH epsilon, and every decaying factor at most epsilon."""
    step = p.read(way.step.subs(dict(way.also)))
    fact = p.claim(way.source, {**({eta: step} if step != 1 else {}), **way.also})
    about = gap_last if rate.case in _GAPS else avg_grad_sq
    if (fact.quantity, fact.sign) != (about, "<="):
        p.fail(rate.case, f"{way.source} is about {fact.quantity}, the rate about {about}")
    for term in sympy.Add.make_args(fact.value):
        for decay in [*term.atoms(exp), *(a for a in term.atoms(sympy.Pow) if a.exp == R)]:
            per_round = -decay.args[0] / R if isinstance(decay, exp) else 1 - decay.base
            p.by(ONE_MINUS, per_round)
            enough = [at_least(per_round * R, ELL), at_most(per_round, 1)]
            p.require(f"{rate.case}: {decay} is at most epsilon", enough)
            term = term.xreplace({decay: epsilon})
        p.require(f"{rate.case}: {term} is of order epsilon", at_most(term, ENOUGH * epsilon))


@curried
def from_bound(p: Argument, source: str) -> None:
    """An order from an explicit bound at the learning rate of the statement."""
    fact: Fact = p.claim(source, {eta: p.read(eta)})
    terms = [sympy.simplify(term) for term in sympy.Add.make_args(fact.value)]
    orders.conclude(p, Order(fact.quantity, tuple(Term(str(i), term) for i, term in enumerate(terms))))


def _formulas(p: Argument) -> tuple[Any, ...]:
    claim = p.statement.claim_of(Words)
    return claim.formulas


def remark7(p: Argument) -> None:
    """(32) is (21); (33) and (34) follow from (21) at the learning rate of Corollary D.5; then the rates."""
    root, rounds, theta, least = _formulas(p)
    limit = p.definition("cond21")
    p.require("(21) implies (32)", root, limit)
    p.require("(32) implies (21)", limit, root)
    p.require("(33)", rounds, p.read(limit))
    p.require("Theta(1) <= 5", theta)
    p.require("(34)", least, p.read(limit))
    rates(_printed_nonconvex_D)(p)


def remark7_corrected(p: Argument) -> None:
    """A sufficient and a necessary number of rounds."""
    enough, least = _formulas(p)
    limit = p.read(p.definition("cond21"))
    p.require("sufficient", limit, enough)
    p.require("necessary", least, limit)


def remark8(p: Argument) -> None:
    """(75) is the first condition of (61) at this learning rate; (76) is necessary for it; the rates should meet (76)."""
    printed, least = _formulas(p)
    first = p.read(p.definition("cond61"))
    p.equal("(75) is the first condition of (61)", printed.gts - printed.lts, first.gts - first.lts)
    p.require("(76)", least, printed)
    rates_with_rounds(p, least)


def remark8_corrected(p: Argument) -> None:
    """A sufficient and a necessary number of rounds; the rates have the sufficient order."""
    enough, least = _formulas(p)
    both_conditions = [p.read(p.definition("cond61", part)) for part in (0, 1)]
    p.require("sufficient", both_conditions, enough)
    p.require("necessary", least, both_conditions[0])
    rates_with_rounds(p, enough)


def rates_with_rounds(p: Argument, enough: Boolean) -> None:
    """Check that the claimed rates have enough rounds: ENOUGH times as many, for up to twice their local steps."""
    claimed = p.goals[0]
    for rate in claimed.rates if isinstance(claimed, Rates) else ():
        given = [at_least(R, ENOUGH * rate.rounds), at_most(tau, 2 * rate.steps), at_least(rate.steps, 1)]
        p.require("the rates have enough rounds", enough, *given)
    p.done()


@curried
def both(p: Argument, first: Proof, second: Proof) -> None:
    """One proof after another."""
    first(p)
    second(p)


def without_compression(proof: Proof) -> Proof:
    """A proof about a run without compression."""

    def uncompressed_proof(p: Argument) -> None:
        with uncompressed(p):
            proof(p)

    return uncompressed_proof


_fast = (at_least(gamma, m),)
_late = (at_least(gamma, 2), at_least(gamma**2, m * tau))
_step_D = 1 / (4 * L * b * tau * gamma)
_step_E = 1 / (4 * L * (q + 1) * tau * gamma)
_nonconvex_D = RateRoute("thmD4.corrected", _step_D, _fast)
_polyak_D = RateRoute("thmD7.corrected", _step_D, _fast)
_printed_polyak_D = RateRoute("thmD7", _step_D, _fast)
_convex_D = RateRoute("thmD9.corrected", sympy.Integer(1), _fast, {phi: epsilon})
_nonconvex_E = RateRoute("thmE4.corrected", _step_E, _late)
_polyak_E = RateRoute("thmE6.corrected", _step_E, _late)
_convex_E = RateRoute("thmE9.corrected", _step_E.subs(L, L + phi), _late, {phi: epsilon})
_also_allowed = RateRoute("thmD4.corrected", 1 / (4 * L * (q + 1) * tau * gamma), _fast)
_alone = RateRoute("thmD4.corrected", epsilon / (4 * ENOUGH * L), (), {gamma: sympy.Integer(1), q: sympy.Integer(0)})

_printed_nonconvex_D = RateRoute("thmD4", _step_D)

PROOFS: dict[str, Proof] = {
    "rem7": remark7,
    "rem7.corrected": remark7_corrected,
    "rem8": remark8,
    "rem8.corrected": remark8_corrected,
    "tab5.fedcom.corrected": rates(_nonconvex_D, _polyak_D, _polyak_D, _convex_D),
    "tab6.fedcomgate.corrected": rates(_nonconvex_E, _polyak_E, _polyak_E, _convex_E),
    "tab6.fedcomgate": rates(_nonconvex_E, _polyak_E, _polyak_E, _convex_E),
    "corE10": rates(_convex_E),
    "corE10.corrected": rates(_convex_E),
    "corD5": from_bound("thmD4"),
    "corD5.corrected": both(from_bound("thmD4.corrected"), rates(_nonconvex_D, _also_allowed, part=1)),
    "corE5": from_bound("thmE4"),
    "corE5.corrected": both(from_bound("thmE4.corrected"), rates(_nonconvex_E, part=1)),
    "corD6": both(BOUNDS["corD6"], without_compression(rates(_alone, part=1))),
    "corD8": both(BOUNDS["corD8"], rates(_printed_polyak_D, part=1)),
    "corD8.corrected": both(BOUNDS["corD8.corrected"], rates(_polyak_D, part=1)),
    "corE8.corrected": both(BOUNDS["corE8.corrected"], rates(_polyak_E, part=1)),
}
