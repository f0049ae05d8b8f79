"""The proofs of Sections D and E of the FedCOM supplement, and of the corrected statements.

A proof is a function of an `Argument`: it gets its premises from the argument, and concludes the statement's claim.  The
lemmas about one round are in `fedtheory.theory.fedcom.checks.rounds`.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Rational, exp

from fedtheory.theory.fedcom.checks.quantities import *
from fedtheory.theory.fedcom.checks.rounds import PROOFS as ROUND_PROOFS, REPAIRS as ROUND_REPAIRS, moved
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import Argument, Fact, Proof, curried, spread_out
from fedtheory.theory.proofs.arithmetic import at_least, at_most
from fedtheory.theory.proofs.forms import value
from fedtheory.theory.proofs.sequences import averaged, decayed, lasting
from fedtheory.theory.proofs.variants import penalised, uncompressed

_step = eta * gamma * tau
_local = L * eta * tau

# Section D


def descent(p: Argument) -> Fact:
    """(27): smoothness of f; the mean of the messages is the mean of the clients' gradients."""
    fresh = gamma * eta / C.mass * p.by(rules.DECODED, MESSAGE, NOW.glob).over(C)
    bound = gap_r - gamma * eta * inner + gamma**2 * eta**2 * L / 2 * message_sq
    smooth = p.by(rules.DESCENT_OF_MEAN, f, w_next, NOW.w)
    return p.have("(27)", a_next, "<=", bound, smooth, fresh, after=p.follow("alg1"))


def drift_of_steps(p: Argument) -> Fact:
    """Lemma D.3 at each of the tau steps, averaged over the clients."""
    lemma = 1 / C.mass * p.every(p.claim("lemmaD3")).over(I, C)
    bound = tau * (eta**2 * tau * grad_sq_sum_mean + eta**2 * tau * _sigma_sq)
    return p.have("Lemma D.3 at every step", drift_mean, "<=", bound, lemma)


def dropped(p: Argument, fact: Fact, quantity: sympy.Symbol, vector: sympy.Expr, *over: Any) -> Fact:
    """The fact without a sum of squares that has a factor <= 0."""
    square = p.by(rules.SQUARE, vector).over(*over)
    if over[-1] is C:
        square = 1 / C.mass * square
    return p.put(fact, p.have("squares are not negative", quantity, ">=", sympy.Integer(0), square))


def descent_D(p: Argument, corrected: bool) -> Fact:
    """(28): the lemmas substituted into (27); the local gradients drop out by the condition on the learning rate."""
    names = ("lemmaD1.corrected", "lemmaD2.corrected") if corrected else ("lemmaD1.proof", "lemmaD2")
    fact = p.put(descent(p), *map(p.claim, names))
    fact = p.put(fact, p.claim("lemmaD3.summed") if corrected else drift_of_steps(p))
    return dropped(p, fact, grad_sq_sum_mean, NOW.local, I, C)


def by_gap(p: Argument, fact: Fact) -> Fact:
    """The squared gradient is at least 2 mu times the gap."""
    return p.put(fact, p.have("PL", grad_sq, ">=", 2 * mu * gap_r, p.by(rules.POLYAK, f, NOW.w, lowest)))


@curried
def nonconvex_D(p: Argument, corrected: bool) -> None:
    """(28) to (30)."""
    p.conclude(averaged(p, descent_D(p, corrected), gap_r, grad_sq, R))


@curried
def polyak_D(p: Argument, corrected: bool) -> None:
    """(40) to (42)."""
    fact = by_gap(p, descent_D(p, corrected))
    p.conclude(lasting(p, fact, gap_r, spread_out(fact.value).coeff(gap_r), R))


def corD6(p: Argument) -> None:
    """Theorem D.4 without compression."""
    with uncompressed(p):
        fact = p.claim("thmD4", {gamma: sympy.Integer(1), q: sympy.Integer(0)})
    p.conclude(fact)


@curried
def at_step(p: Argument, source: str) -> None:
    """A linear rate at the statement's learning rate, and (1 - u)^R <= exp(-u R)."""
    p.conclude(decayed(p, p.claim(source, {eta: p.read(eta)}), R))


# Convex functions: Theorems D.9 and E.9


@curried
def regularised(p: Argument, source: str, corrected: bool) -> None:
    """A linear rate for f + (phi/2) ||w||^2, which is phi-PL and (L + phi)-smooth, turned into a bound for f.

    corrected  whether to insert the constant of the penalised function; otherwise that of f, as printed
    """
    own_phi, step = p.read(phi), p.read(eta)
    with penalised(p, own_phi) as smoothness:
        inserted = smoothness if corrected else p.read(L)
        p.require("the regularised function is (L + phi)-smooth", at_least(inserted, smoothness))
        at = {L: inserted, mu: own_phi, eta: step, f_gap: penalised_start, gap_last: penalised_last}
        fact = p.claim(source, at)
    if any(isinstance(e, exp) for e in p.goal().value.atoms(exp)):
        fact = decayed(p, fact, R)
    p.conclude(back_to_f(p, fact, own_phi))


def back_to_f(p: Argument, fact: Fact, own_phi: sympy.Expr) -> Fact:
    """From a bound P * (penalised gap at the start) + N on the penalised gap to one on the gap of f; 0 <= P <= 1."""
    whole = spread_out(fact.value)
    powers = [a for a in whole.atoms(sympy.Pow) if a.exp == R] + list(whole.atoms(exp))
    share = sympy.Symbol("P", positive=True)
    for power in powers:
        if isinstance(power, exp):
            p.require("P <= 1", at_most(power.args[0], 0))
        else:
            p.require("0 <= P <= 1", [at_least(power.base, 0), at_most(power.base, 1)])
    if len(powers) != 1:
        p.fail("back to f", f"{fact.value} has {len(powers)} powers of R")
    named = whole.xreplace(dict.fromkeys(powers, share))
    bound = p.by_hand("a symbol for the power of R", fact.quantity, fact.sign, named, fact)
    least = p.by(rules.PENALISED_INFIMUM, f, w_star, own_phi, penalised_lowest)
    minimum = p.by(rules.ATTAINED, f, w_star, lowest)
    squares = own_phi / 2 * p.by(rules.SQUARE, w_last), share * own_phi / 2 * p.by(rules.SQUARE, w_star)
    start = f_gap + own_phi / 2 * w0_norm**2
    value_ = bound.value.subs(penalised_start, start) + own_phi / 2 * w_star_norm**2
    because = (p.every(bound), (1 - share) * least, -(1 - share) * minimum, *squares)
    found = p.have("back to f", gap_last, "<=", value_, *because, under=[at_most(share, 1)])
    unnamed = spread_out(found.value).xreplace({share: powers[0]})
    return p.by_hand("a symbol for the power of R", found.quantity, found.sign, unnamed, found)


# Section E


def descent_E(p: Argument) -> Fact:
    """(69): smoothness of f; the trackings sum to zero."""
    known = gamma * eta / C.mass * p.by(rules.DECODED, TRACKED, NOW.glob).over(C)
    balanced = -gamma * eta * tau / C.mass * p.by(rules.BALANCED, delta, C, NOW.glob)
    bound = gap_r - gamma * eta * inner + L / 2 * next_move_sq
    smooth = p.by(rules.DESCENT_OF_MEAN, f, w_next, NOW.w)
    return p.have("(69)", a_next, "<=", bound, smooth, known, balanced, after=p.follow("alg2"))


def energy(p: Argument, weight: sympy.Expr, share: sympy.Expr) -> Fact:
    """A bound on f + weight * tracking_sq a round later, in terms of grad_sq, tracking_sq, sigma, G_q.

    share  the part of eta gamma tau that stays as the factor of the squared gradient
    """
    fact = p.added(descent_E(p), p.claim("lemmaF1.corrected"), weight)
    fact = p.put(fact, moved(p, "lemmaE1.corrected"), p.claim("lemmaE2.corrected"), p.claim("lemmaE7.corrected"))
    fact = dropped(p, fact, mean_grad_sq_sum, mean(NOW.local), I)
    progress = -spread_out(fact.value).coeff(grad_sq)
    return p.relaxed("progress", fact, spread_out(fact.value + (progress - share * _step) * grad_sq))


def nonconvex_E(p: Argument) -> None:
    """Telescoping f + weight * tracking_sq."""
    weight = Rational(9, 4) * _step * _local**2 * (q + 1)
    fact = energy(p, weight, Rational(9, 20))
    p.conclude(averaged(p, fact, gap_r + weight * tracking_sq, grad_sq, R))


def polyak_E(p: Argument) -> None:
    """f + weight * tracking_sq contracts by 1 - mu eta gamma tau / 2."""
    weight = Rational(9, 2) * _step * _local**2 * (q + 1)
    fact = by_gap(p, energy(p, weight, Rational(1, 4)))
    p.conclude(lasting(p, fact, gap_r + weight * tracking_sq, 1 - mu * _step / 2, R))


# Section E as printed


def lemmaE3(p: Argument) -> None:
    """(60) from Lemmas F.1 and F.6."""
    partial = p.have("partial sums of the first round are at most its whole sum", start_partial, "<=", tau * start_sum)
    p.conclude(p.put(p.claim("lemmaF1"), p.claim("lemmaF6"), partial))


def eq73(p: Argument) -> None:
    """(70), (71) from Lemmas E.1, E.2, E.3: summed over the rounds, divided by R."""
    fact = p.put(descent_E(p), moved(p, "lemmaE1"), p.claim("lemmaE2"))
    lemma = p.claim("lemmaE3")
    v, e3 = spread_out(fact.value), spread_out(lemma.value)
    drifts, local = v.coeff(drift_mean), -v.coeff(mean_grad_sq_sum)
    moves, own = drifts * e3.coeff(mean_grad_sq_total), drifts * e3.coeff(grad_sq_total)
    every = Everywhere(ROUNDS), Everywhere(EARLIER)
    one = p.every(fact).in_each(ROUNDS).over(ROUNDS)
    ends = p.by(rules.TELESCOPED, RUN, lambda w: value(f, w)), p.by(rules.BELOW, f, w_last, lowest)
    part = p.by(rules.PART, lambda _: mean(NOW.local), every[1], every[0])
    square = p.by(rules.SQUARE, mean(NOW.local)).over(I).in_each(ROUNDS).over(ROUNDS)
    p.require("(72)", at_least(sympy.simplify((local - R * moves) * 2 / (eta * gamma)), 0))
    rest = v - gap_r - v.coeff(grad_sq) * grad_sq + local * mean_grad_sq_sum - drifts * drift_mean
    rest += drifts * (e3 - e3.coeff(mean_grad_sq_total) * mean_grad_sq_total - e3.coeff(grad_sq_total) * grad_sq_total)
    progress = -v.coeff(grad_sq) - own * R * tau
    because = (
        one,
        ends[0],
        ends[1],
        drifts * R * p.every(lemma),
        R * moves * part,
        (local - R * moves) * square,
    )
    total = p.have("(71)", R * progress * avg_grad_sq, "<=", f_gap + R * rest, *because)
    p.conclude(total)


def thmE4(p: Argument) -> None:
    """(62) from (73), with the printed factor 1 on the left instead of its own; (74) would follow."""
    fact = p.claim("thmE4.eq73")
    factor = sympy.simplify(fact.quantity / avg_grad_sq)
    p.conclude(p.relaxed("(73) divided by its factor, printed as if it were 1", p.scaled(fact, 1 / factor), fact.value))


def recursion(p: Argument) -> None:
    """(82), (84): Lemmas E.1, E.2, E.7 and PL; then step (a) with its bound inserted for a_r, and step (b)."""
    fact = p.put(descent_E(p), moved(p, "lemmaE1"), p.claim("lemmaE2"), p.claim("lemmaE7"))
    before = p.have("e_(r-1)", mean_grad_sq_prev, "=", e_prev)
    fact = by_gap(p, p.put(fact, before))
    p.require("(83)", at_most(sympy.simplify(spread_out(fact.value).coeff(mean_grad_sq_sum) * 2 / (eta * gamma)), 0))
    p.conclude(dropped(p, fact, mean_grad_sq_sum, mean(NOW.local), I))
    earlier = {later: now for now, later in LANGUAGE.following.items()}
    value_ = spread_out(fact.value).xreplace(earlier)
    shifted = p.by_hand("a round earlier", fact.quantity.xreplace(earlier), fact.sign, value_, fact)
    p.conclude(shifted, part=1)
    inserted = p.put(p.established(0), p.established(1))
    left = sympy.factor(spread_out(inserted.value).coeff(e_prev))
    p.require("step (b): e_(r-1) drops out by (86)", at_most(left, 0))


def thmE6(p: Argument) -> None:
    """(79) from the recursion, whose steps (a) to (f) keep its constant, and (88)."""
    fact = p.claim("thmE6.recursion")
    fact = dropped(p, p.put(fact, p.claim("thmE6.eq88")), e_prev, mean(BEFORE.local), I)
    p.conclude(lasting(p, fact, gap_r, 1 - mu * _step / 3, R))


def _remark9(p: Argument) -> None:
    """The choice of eta meets both conditions of (61)."""
    formulas: tuple[Any, ...] = p.statement.claim.formulas  # type: ignore[union-attr]
    for formula in formulas:
        p.require(f"{formula}", formula)


_sigma_sq = fedcom.symbols["sigma"].sympy ** 2

# The paper's own proofs, and the proofs of the corrected statements
PROOFS: dict[str, Proof] = {
    **ROUND_PROOFS,
    "thmD4": nonconvex_D(corrected=False),
    "thmD4.corrected": nonconvex_D(corrected=True),
    "corD6": corD6,
    "thmD7": polyak_D(corrected=False),
    "thmD7.corrected": polyak_D(corrected=True),
    "corD8": at_step("thmD7"),
    "corD8.corrected": at_step("thmD7.corrected"),
    "thmD9": regularised("thmD7", corrected=False),
    "thmD9.corrected": regularised("thmD7.corrected", corrected=True),
    "lemmaE3": lemmaE3,
    "thmE4.eq73": eq73,
    "thmE4": thmE4,
    "thmE4.corrected": nonconvex_E,
    "rem9": _remark9,
    "thmE6.recursion": recursion,
    "thmE6": thmE6,
    "thmE6.corrected": polyak_E,
    "corE8": at_step("thmE6"),  # (79), with the noise term of (88)
    "corE8.early_bracket": at_step("thmE6"),
    "corE8.corrected": at_step("thmE6.corrected"),
    "thmE9": regularised("thmE6", corrected=False),
    "thmE9.corrected": regularised("thmE6.corrected", corrected=True),
}

# Our proofs of statements with a broken printed proof
REPAIRS: dict[str, Proof] = {**ROUND_REPAIRS}
