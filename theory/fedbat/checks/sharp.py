"""Our proofs of sharper forms of Theorems 1 to 3.

They add up a whole round: at its step t the clients are t - t_0 steps apart, and it has one binarisation and one sample.
With decreasing learning rates, the weights (gamma+t)(gamma+t-1) turn the recursion into a sum.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from fedtheory.theory.fedbat.checks.ledgers import largest, smooth_at_minimum
from fedtheory.theory.fedbat.checks.quantities import *
from fedtheory.theory.fedbat.checks.rounds import alike, falling, unmoved, update
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import (
    WITHOUT_LEMMA,
    Argument,
    Fact,
    Proof,
    Symbols,
    curried,
    evidence_of,
    spread_out,
    substituted,
)
from fedtheory.theory.proofs.arithmetic import at_least, at_most
from fedtheory.theory.proofs.forms import vector
from fedtheory.theory.proofs.ledger import powers
from fedtheory.theory.statement import Evidence


def spread_so_far(p: Argument) -> None:
    """(45), and (46) and (48) with the t - t_0 steps so far."""
    falling(p)
    p.symbols_of("c1.t0")
    around = p.have("the mean is nearest", spread_w, "<=", moved_sq, p.by(rules.SQUARE, w_bar - w_0))
    error = p.by(rules.BINARISATION_ERROR, EVERY.rounding).over(EVERY.family)
    binarised = p.have("Assumption 5", binarised_sq, "<=", q**2 * moved_sq, error)
    steps, bounded = update(p, EVERY, BEFORE)
    bound = (t - t_0) ** 2 * eta_start**2 * G**2
    moved = p.have("(47), Assumption 4", moved_sq, "<=", bound, steps, (t - t_0) * bounded)
    p.conclude(p.put(p.claim("eq45"), around, binarised, moved))


def of_sample(p: Argument) -> None:
    """The same from (56), with p_k = 1/N."""
    step, noise, spread = p.claim("lemma1"), p.claim("lemma2.corrected", alike(p)), p.claim("lemma3.corrected.sharp")
    p.conclude(p.put(p.claim("eq56"), step, noise, spread))


def descent(p: Argument) -> None:
    """(71), with p_k = 1/N and a constant learning rate."""
    constant = {eta_t: eta, eta_later: eta, eta_start: eta}
    facts = p.claim("lemma2.corrected", alike(p)), p.claim("lemma3.corrected.sharp", constant)
    p.conclude(p.put(p.claim("eq70.corrected"), *facts))


def of_run(p: Argument, step: sympy.Expr, jump: Fact) -> tuple[sympy.Expr, Fact]:
    """The sum over all steps of a run: of `step`, a polynomial in t - t_0, and of a jump at the end of every round.

    Also the fact that there is no jump at other steps.
    """
    p.equal("the last step ends a round", p.read(T), R * tau)
    so_far = sympy.Symbol("s", integer=True, nonnegative=True)
    return R * (powers(p, step.subs(t, t_0 + so_far), so_far, tau) + jump.value), unmoved(p)


_REASON = "added up over the rounds: each has the steps t - t_0 = 0 ... tau-1, and a jump at its end"


@curried
def decreasing(p: Argument, source: str, of_jump: str) -> None:
    """Theorems 1 and 2: the recursion times (gamma+t)(gamma+t-1), which is its weight at t-1 over 1 - eta_t mu."""
    shift = largest(p)
    rate = 2 / (mu * (shift + t))
    p.equal("the learning rate", p.read(eta_t).xreplace({sympy.Max(8 * L / mu, tau): shift}), rate)
    under, first = [at_least(t, 0), *p.symbols_of("c1.t0")], rate.subs(t, t_0)
    at = {eta_t: rate, eta_start: first, eta_later: rate.subs(t, t + tau)}
    weight = (shift + t) * (shift + t - 1)
    p.require("the weights are positive", sympy.Gt(weight.subs(t, t - 1), 0), *under)
    p.equal("the weights", weight * (1 - rate * mu), weight.subs(t, t - 1))
    recursion = p.claim(source, at, under=under)
    rest = spread_out(recursion.value - (1 - rate * mu) * Delta_t - jump_sq)
    p.require("a round's first learning rate is at most twice a later one", at_most(first, 2 * rate), *under)
    # times the weight: learning rates squared become 4 / mu^2, the round's first one 16 / mu^2
    plain = rest.coeff(G, 0)
    drift = (t - t_0) ** 2 * 2 * (1 + q**2) * G**2
    p.equal("the recursion", rest, plain + first**2 * drift)
    step = 4 / mu**2 * spread_out(sympy.simplify(plain / rate**2)) + 16 / mu**2 * drift
    whole = weight.subs(t, t - 1) * Delta_t + step + weight * jump_sq
    weighted = p.relaxed("the recursion times its weight", p.scaled(recursion, weight), whole)
    jumps = p.scaled(p.claim(of_jump, at, under=under), weight)
    value = 16 / mu**2 * sympy.simplify(jumps.value / (weight * first**2))
    jump = p.relaxed("a jump times its weight", jumps, value)
    all_steps, no_jump = of_run(p, step, jump)
    total = weight.subs(t, -1) * d0 + all_steps
    last = weight.subs(t, p.read(T) - 1)
    p.require("the last weight is positive", sympy.Gt(last, 0))
    distance = p.by_hand(_REASON, Delta_t, "<=", total / last, weighted, jump, no_jump, by=WITHOUT_LEMMA)
    server = p.have("w_T is the mean of the clients' parameters", gap_last, "=", gap_t)
    p.conclude(p.put(server, p.put(smooth_at_minimum(p), distance)))


def nonconvex(p: Argument) -> None:
    """Theorem 3: (71) added up over a run; F(w_T) >= F*."""
    under = [at_least(t, 0), *p.symbols_of("c1.t0")]
    constant: Symbols = {eta: p.read(eta)}
    recursion = p.claim("eq71.corrected.sharp", constant, under=under)
    value = spread_out(recursion.value)
    progress, before = -value.coeff(grad_sq), value.coeff(jump_sq)
    p.equal("F(wbar_t) is kept", value.coeff(F_bar), sympy.Integer(1))
    step = spread_out(value - F_bar + progress * grad_sq - before * jump_sq)
    same = {eta_t: p.read(eta), eta_start: p.read(eta), eta_later: p.read(eta)}
    jump = p.scaled(p.claim("lemma6.corrected", same, under=under), before)
    all_steps, no_jump = of_run(p, step, jump)
    mean = (F_0 - F_T + all_steps) / (p.read(T) * progress)
    p.require("there is progress", sympy.Gt(progress, 0))
    fact = p.by_hand(_REASON, grad_sq, "<=", mean, recursion, jump, no_jump, by=WITHOUT_LEMMA)
    fact = p.average(fact, grad_sq, sympy.Integer(1))
    above = p.by(rules.BELOW, F_fun, vector("w_T"), lowest)
    p.conclude(p.put(fact, p.have("F(w_T) >= F*", -F_T, "<=", f_gap - F_0, above)))


PROOFS: dict[str, Proof] = {
    "lemma3.corrected.sharp": spread_so_far,
    "eq25.corrected.sharp": substituted("eq24", "lemma1", "lemma2.corrected", "lemma3.corrected.sharp"),
    "eq57.corrected.sharp": of_sample,
    "thm1.from_start.sharp": decreasing("eq25.corrected.sharp", "lemma4.corrected"),
    "thm2.from_start.sharp": decreasing("eq57.corrected.sharp", "lemma6.corrected"),
    "eq71.corrected.sharp": descent,
    "thm3.corrected.sharp": nonconvex,
}


def evidence() -> Iterator[Evidence]:
    """Every proof as evidence."""
    return evidence_of(PROOFS, "repair", LANGUAGE, "fedbat")
