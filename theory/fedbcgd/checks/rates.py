"""Rounds to an accuracy: the orders of the main paper, from the bounds with explicit constants.

The proofs choose a step size and a number of rounds for which every summand of a bound is at most eps, up to constants
and, in a linear rate, up to a logarithm.  Then the rounds have the claimed order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import sympy
from sympy import Eq, Gt, Rational, exp, sqrt
from sympy.logic.boolalg import Boolean

from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.checks.quantities import LANGUAGE, grad_sq_z, share_linear, state, state_next
from fedtheory.theory.fedbcgd.corrected import spread
from fedtheory.theory.fedbcgd.symbols import *
from fedtheory.theory.proofs import orders
from fedtheory.theory.proofs.argument import Argument, Proof, curried, evidence_of, facts
from fedtheory.theory.proofs.arithmetic import Decision, at_least, at_most, decide, everywhere
from fedtheory.theory.proofs.sequences import contracted, telescope
from fedtheory.theory.statement import Evidence, Order, Status, Term

_others = sympy.Symbol("M-K", nonnegative=True)  # one symbol, so that M - K is not split


def summands(value: sympy.Expr) -> list[sympy.Expr]:
    """The summands of a bound, with all sums multiplied out except M - K."""
    parts = sympy.Add.make_args(sympy.expand(value.xreplace({M - K: _others}), power_exp=False))
    return [part.subs(_others, M - K) for part in parts]


def rounds_needed(part: sympy.Expr) -> sympy.Expr:
    """The rounds after which a summand is at most eps; in a linear rate, up to a logarithm.

    Raises ValueError for a summand of another form.
    """
    decays = part.atoms(exp)
    if decays:
        (decay,) = decays
        needed = -R / decay.args[0]
    else:
        needed = part * R / eps
    needed = sympy.simplify(needed)
    if R in needed.free_symbols or (decays and R in (part / decay).free_symbols):
        raise ValueError(f"{part}: expected a multiple of 1/R or of exp(-rate R)")
    return needed


def _below(step: sympy.Expr) -> Boolean:
    """eta_tilde times the limit is at most 1; squared if there is a root."""
    power = 2 if _has_root(step) else 1
    return at_most(sympy.expand(step**power) * eta_tilde**power, 1)


def _has_root(e: sympy.Expr) -> bool:
    return any(not power.exp.is_integer for power in e.atoms(sympy.Pow))


def _by_one(conditions: Sequence[Boolean], claim: Boolean, small: Sequence[Boolean]) -> Decision:
    """The claim, from one of the conditions that make the step size small: those with the claim's symbols first."""
    own = claim.free_symbols
    likely = sorted(small, key=lambda one: len(one.free_symbols ^ own))
    found = (decide([*conditions, one], claim) for one in likely)
    return next((f for f in found if f.status is Status.PROVED), None) or decide([*conditions, small[0]], claim)


@curried
def rounds_from(p: Argument, source: str, *limits: sympy.Expr) -> None:
    """The order of R, and of the floats sent, from an explicit bound at the step size 1/eta_tilde = sum of `limits`."""
    bound = catalogue.find(f"fedbcgd.{source}")
    ratio = sympy.simplify(bound.where[eta_tilde] / p.statement.where[eta_tilde])  # the bound's eta_tilde in ours
    steps = [ratio * limit for limit in limits]
    small = [_below(step) for step in steps]
    (claimed,) = facts(bound)[:1]
    value = claimed.value.subs(eta_tilde, ratio * eta_tilde)
    enough = [at_least(R, rounds_needed(part)) for part in summands(value) if R in part.free_symbols]
    simple = [one for one, step in zip(small, steps, strict=True) if not _has_root(step)]
    fact = p.claim(source, {eta_tilde: ratio * eta_tilde}, under=[*simple, *enough])
    if fact.sign != "<=":
        p.fail("an error", f"{fact.quantity} {fact.sign} ... is no upper bound")
    needed: list[sympy.Expr] = []
    for part in summands(fact.value):
        if R in part.free_symbols:
            needed += at_steps(rounds_needed(part), steps)
        else:
            p.step(f"{part} is at most eps", partial(_by_one, list(p.conditions), at_most(part, eps), small))
    polylog = bool(fact.value.atoms(exp))
    p.conditions = [c for c in p.conditions if not isinstance(c, Eq)]
    named = tuple(Term(f"rounds_{i}", one) for i, one in enumerate(dict.fromkeys(needed)))
    orders.conclude(p, Order(R, named, polylog))
    p.claim("blocks")  # S = N K clients are sampled, and each sends d/N numbers
    p.conditions = [c for c in (c.subs(K, S / N) for c in p.conditions) if c != sympy.true]
    sent = tuple(Term(t.name, (t.value * d / N).subs(K, S / N)) for t in named)
    orders.conclude(p, Order(Com, sent, polylog), part=1)


def at_steps(needed: sympy.Expr, steps: Sequence[sympy.Expr]) -> list[sympy.Expr]:
    """Rounds at 1/eta_tilde = sum of the steps; the rounds are a multiple of 1/eta_tilde, or do not depend on it."""
    multiple = sympy.simplify(needed * eta_tilde)
    if eta_tilde not in needed.free_symbols:
        return [needed]
    if eta_tilde in multiple.free_symbols:
        raise ValueError(f"{needed}: expected a multiple of 1/eta_tilde")
    return [multiple * step for step in steps]


_noise1 = (8 * spread * G**2 / eps, 16 * sigma**2 / (T * K * eps))
_drift1 = (sqrt(Rational(320, 3) * beta / (alpha * eps)) * G, sqrt(80 * beta / (alpha * T * eps)) * sigma)
_noise3 = (16 * beta * spread * G**2 / eps, 32 * beta * sigma**2 / (T * K * eps))
_momentum3 = (8 * beta * gamma * sqrt(spread / eps) * G, 12 * beta * gamma / sqrt(T * K * eps) * sigma)
_drift3 = (12 * beta / (alpha * sqrt(eps)) * G, 11 * beta / (alpha * sqrt(T * eps)) * sigma)
ORDERS: dict[str, Proof] = {
    "thm1.main.strongly_convex.corrected": rounds_from("thm1.strongly_convex.corrected", 32 * beta, *_noise1, *_drift1),
    "thm1.main.nonconvex.corrected": rounds_from(
        "thm1.nonconvex.corrected", 48 * beta + 14 * beta * gamma, *_noise3, *_momentum3, *_drift3
    ),
    "thm2.main.strongly_convex.corrected": rounds_from(
        "thm2.strongly_convex.corrected", 36 * beta, 2 * mu * M / (alpha * K)
    ),
    "thm2.main.nonconvex.corrected": rounds_from("thm2.nonconvex.corrected", 16 * beta * M / K, gamma**2 * beta),
}


# As printed


@curried
def from_rate(p: Argument, source: str) -> None:
    """An order of rounds from a printed rate at a step size that the rate allows; uses 1/min(a, b) <= 1/a + 1/b."""
    bound = catalogue.find(f"fedbcgd.{source}")
    small = [c.relation for c in bound.when if eta_tilde in c.relation.free_symbols]
    ratio = bound.where[eta_tilde] / p.statement.where[eta_tilde]
    p.source(source, {eta_tilde: ratio * eta_tilde}, under=[c.subs(eta_tilde, ratio * eta_tilde) for c in small])
    claim = bound.claim_of(Order)
    needed: list[sympy.Expr] = []
    for term in claim.terms:
        (*least,) = term.value.atoms(sympy.Min) or {term.value}
        needed += [1 / one for one in least[0].args] if term.value.has(exp) else [rounds_needed(term.value)]
    p.conditions = [c for c in p.conditions if not isinstance(c, Eq)]
    polylog = claim.polylog or claim.value.has(exp)
    named = tuple(Term(f"rounds_{i}", one) for i, one in enumerate(needed))
    orders.conclude(p, Order(R, named, polylog))
    sent = tuple(Term(t.name, (t.value * d / N).subs(K, S / N)) for t in named)
    orders.conclude(p, Order(Com, sent, polylog), part=1)


def linear(p: Argument) -> None:
    """(103) from Lemma 15; but Lemma 15 leaves out the progress of a round in the gap."""
    fact = p.claim("lemma15")
    gained = -sympy.expand(fact.value).coeff(gap)
    p.require("there is progress in the gap, of which (103) is about the mean", Gt(gained, 0, evaluate=False))


def telescoped18(p: Argument) -> None:
    """(128): Lemma 18 summed over the rounds, from Xi_0 = 0, at the largest step size that it allows."""
    fact, lemma = p.claim("lemma18"), catalogue.find("fedbcgd.lemma18")
    gained = -sympy.expand(fact.value).coeff(grad_sq_z) / eta_tilde
    (limit,) = [c.relation.rhs for c in lemma.when if c.relation.lhs == eta_tilde]
    orders.conclude(p, Order(grad_sq_bar, (Term("optimisation", F / (gained * limit * R)),)))


def lemma7(p: Argument) -> None:
    """(38) for a step size eta <= (1 - 1/(2R)) eta_max, so that the weights are finite even if mu eta_max = 1.

    The mean is at most 3 mu d_0 exp(-mu eta (R+1)) + c eta.  eta is log B/(mu R), B = max(2, mu^2 d_0 R/c), or the largest
    step size if that is smaller or c = 0.
    """
    largest = eta_max * (1 - 1 / (2 * R))
    noise = c_lemma * eta**2
    given = p.conditions
    p.conditions = [*given, at_most(eta, largest), at_least(mu * eta * (R + 1), Rational(1, 2))]
    recursion = p.have("a round's share", state_next, "=", (1 - mu * eta) * state - eta * share_linear + noise)
    total = sympy.Symbol("W", positive=True)
    mean = telescope(p, recursion, (state_next, state), share_linear, d0, total)
    mean = contracted(p, mean, total, mu * eta, R + 1, times=3)
    (decay,) = mean.value.atoms(exp)
    p.by_hand("Psi_R is the mean of the shares, for a step size to be chosen", Psi_R, mean.sign, mean.value, mean)
    p.equal("the mean", mean.value, 3 * mu * d0 * decay + c_lemma * eta)
    p.conditions = given
    log_B, B, y = sympy.symbols("log_B B y", positive=True)
    p.step("2 log 2 >= 1", lambda: everywhere(2 * sympy.log(y) >= 1 + 0 * y, y, 2, 2))
    near, logs = log_B / (mu * R), at_least(2 * log_B, 1)

    def noisy() -> None:
        chosen = [at_most(near, largest), logs]
        p.require("log B/(mu R): long enough", at_least(mu * near * (R + 1), Rational(1, 2)), *chosen)
        p.require("exp(-mu eta (R+1)) <= 1/B", at_most(-mu * near * (R + 1), -log_B), *chosen)
        enough = at_least(B * c_lemma, mu**2 * d0 * R)
        p.require("mu d_0/B", at_most(mu * d0 / B, c_lemma / (mu * R)), enough)
        p.require("the largest where it is smaller", at_most(c_lemma * largest, c_lemma * near), at_most(largest, near))
        tuned(c_lemma / (mu * R))

    def tuned(rest: sympy.Expr) -> None:
        p.require("the largest: long enough", at_least(mu * largest * (R + 1), Rational(1, 2)))
        terms = (Term("optimisation", mu * d0 * exp(-mu * largest * (R + 1))), Term("noise", rest))
        orders.conclude(p, Order(Psi_R, terms, polylog=True))

    p.split_zero(c_lemma, noisy, lambda: tuned(sympy.Integer(0)))


PRINTED: dict[str, Proof] = {
    "lemma7": lemma7,
    "thm2.strongly_convex.proof": linear,
    "thm2.nonconvex": telescoped18,
    "thm2.main.strongly_convex": from_rate("thm2.strongly_convex.proof"),
    "thm2.main.nonconvex": from_rate("thm2.nonconvex"),
}


def evidence() -> Iterator[Evidence]:
    """Every order as evidence."""
    yield from evidence_of(PRINTED, "ledger", LANGUAGE, "fedbcgd")
    yield from evidence_of(ORDERS, "repair", LANGUAGE, "fedbcgd")
