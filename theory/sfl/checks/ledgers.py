"""The proofs of Appendices D and E, replayed step by step from the assumptions to the printed constants.

A proof is a function of an `Argument`: it gets its premises from the argument, and concludes the statement's claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import sympy
from sympy import Max, Min, Rational, Sum, exp

from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import (
    Argument,
    Fact,
    OverRounds,
    Proof,
    curried,
    evidence_of,
    spread_out,
    substituted,
)
from fedtheory.theory.proofs.arithmetic import at_least, at_most, everywhere
from fedtheory.theory.proofs.forms import gradient, value
from fedtheory.theory.proofs.ledger import powers
from fedtheory.theory.proofs.sequences import below_exponential, telescope
from fedtheory.theory.properties import Property
from fedtheory.theory.sfl.checks.quantities import *
from fedtheory.theory.sfl.corrected import tracked_sq
from fedtheory.theory.statement import Evidence

# Parts that several steps share


def noise(p: Argument, rule: rules.Rule) -> Fact:
    """Lemma 1 for all local steps of a round."""
    if rule is rules.SUCCESSIVE:
        p.follow("alg1")  # the clients work one after another
    variance = p.by(rules.VARIANCE, ALL.noise).over(I, C)
    return p.have("Lemma 1", noise_sq, "<=", S * K * sigma**2, p.by(rule, ALL.noise, I, C), variance)


def drifted(p: Argument, drift: sympy.Expr) -> Fact:
    """(15) and Assumption 1 for the changes of the local gradients; `drift` is the sum of the squared drifts."""
    jensen = p.by(rules.JENSEN_OVER, ALL.local - ALL.at_start, I, C)
    smooth = S * K * p.by(rules.LIPSCHITZ, ALL.function, ALL.point, x).over(I, C)
    return p.have("Jensen, Assumption 1", move_sq, "<=", S * K * L**2 * drift, jensen, smooth)


def biased(p: Argument) -> Fact:
    """(15) for the gradient differences to the optimum."""
    jensen = p.by(rules.JENSEN_OVER, ALL.at_start - ALL.at_optimum, I, C)
    return p.have("Jensen", bias_sq, "<=", (S * K) ** 2 * client_bias_sq, jensen)


def spread_at_optimum(p: Argument) -> Fact:
    """Assumption 3b."""
    rule = p.by(rules.HETEROGENEITY_AT_OPTIMUM, ALL.at_optimum)
    return p.have("Assumption 3b", at_optimum, "<=", zeta_star**2, rule)


def spread_at_x(p: Argument) -> Fact:
    """Assumption 3a."""
    rule = p.by(rules.HETEROGENEITY, ALL.at_start, global_grad)
    return p.have("Assumption 3a", at_x, "<=", beta**2 * grad_sq + zeta**2, rule)


def star(p: Argument) -> Fact:
    """Lemma 3 for the sampled clients' gradients at x*, whose mean is 0."""
    optimum = gradient(F_fun, x_star)
    sampled = K**2 * p.by(rules.CLIENTS_WITHOUT_REPLACEMENT, ALL.at_optimum, optimum, C, M)
    total = C.sum(ALL.at_optimum)
    stationary = p.by(rules.STATIONARY, F_fun, x_star, K**2 * (S**2 * optimum - 2 * S * total))
    variance = (M - S) / (M - 1) * S * K**2 * at_optimum
    fact = p.have("Lemma 3", star_sq, "=", variance, sampled, stationary)
    return p.put(fact, spread_at_optimum(p))


def inner(p: Argument, drift: sympy.Expr) -> Fact:
    """Lemma 2 at x_mk, x*, x for every step; the sampled clients' gaps have the mean D_F."""
    h, points = sfl.symbols["h"].sympy, [sfl.symbols[name].sympy for name in "xyz"]
    symbols = {h: ALL.function, **dict(zip(points, (ALL.point, x_star, x), strict=True))}
    lemma2 = p.at("lemma2", symbols).over(I, C)
    gaps = [p.by(rules.SAMPLED, value(ALL.function, at), value(F_fun, at), C, sympy.Integer(1)) for at in (x, x_star)]
    stationary = p.by(rules.STATIONARY, F_fun, x_star, x - x_star)
    bound = -S * K * D_F - S * K * mu / 4 * dist2 + L * drift
    because = (lemma2, K * gaps[0], -K * gaps[1], S * K * stationary)
    return p.have("Lemma 2 at every step", -inner_sum, "<=", bound, *because)


# Lemmas 5 and 6


def eq28(p: Argument) -> None:
    """(28): the square of x - eta g - x*, expanded; the noise has mean zero."""
    fresh = 2 * eta * p.by(rules.FRESH, ALL.noise, x - x_star).over(I, C)
    expanded = dist2 - 2 * eta * inner_sum + eta**2 * step_sq
    p.conclude(p.have("(28)", dist2_next, "=", expanded, fresh, after=p.follow("alg1")))


def eq29(p: Argument) -> None:
    """(29)."""
    p.conclude(p.scaled(inner(p, E_r), 2 * eta))


def eq30(p: Argument) -> None:
    """(30): noise, changes along the drift, differences to the optimum, and the gradients at the optimum."""
    vectors = (ALL.noise.vector, ALL.local - ALL.at_start, ALL.at_start - ALL.at_optimum, ALL.at_optimum)
    bound = 4 * (noise_sq + move_sq + bias_sq + star_sq)
    p.conclude(p.have("(30)", step_sq, "<=", bound, p.by(rules.JENSEN, *map(ALL.sum, vectors))))


def eq31(p: Argument) -> None:
    """(31): the third and fourth terms of (30)."""
    p.conclude(p.put(biased(p), p.claim("step.eq36")), part=0)
    p.conclude(star(p), part=1)


def eq32(p: Argument) -> None:
    """(32) from (30) and (31)."""
    four_parts = (
        noise(p, rules.SUCCESSIVE),
        drifted(p, E_r),
        p.claim("step.eq31", part=0),
        p.claim("step.eq31", part=1),
    )
    p.conclude(p.put(p.claim("step.eq30"), *four_parts))


def eq35(p: Argument) -> None:
    """(35), (53): four terms; successive noise for the first, Jensen for the sums of B_mk vectors."""
    U = BEFORE.steps[0]
    convex = bias_upto in p.goal().value.free_symbols
    middle = BEFORE.at_optimum if convex else global_grad
    vectors = (BEFORE.noise.vector, BEFORE.local - BEFORE.at_start, BEFORE.at_start - middle, middle)
    four_terms = p.by(rules.JENSEN, *map(BEFORE.sum, vectors))
    squares = [p.by(rules.JENSEN_OVER, BEFORE.local - BEFORE.at_start, U)]
    if convex:
        squares.append(p.by(rules.JENSEN_OVER, BEFORE.at_start - BEFORE.at_optimum, U))
        rest = B_mk * bias_upto + star_upto
    else:
        rest = T_1 + B_mk**2 * grad_sq
    terms = (four_terms, 4 * p.by(rules.SUCCESSIVE, BEFORE.noise, U), *(4 * one for one in squares))
    bound = 4 * eta**2 * (noise_upto + B_mk * move_upto + rest)
    because = tuple(eta**2 * one for one in terms)
    p.conclude(p.have("four terms", drift_mk, "<=", bound, *because, after=p.follow("alg1")))


def eq36(p: Argument) -> None:
    """(36): the average of (18) over the clients."""
    cocoercive = 2 * L / S * p.by(rules.COCOERCIVE, ALL.function, x, x_star).over(C)
    gaps = [p.by(rules.SAMPLED, value(ALL.function, at), value(F_fun, at), C, sympy.Integer(1)) for at in (x, x_star)]
    linear = p.by(rules.SAMPLED, ALL.at_optimum, gradient(F_fun, x_star), C, x - x_star)
    because = (cocoercive, -2 * L / S * gaps[0], 2 * L / S * gaps[1], 2 * L / S * linear)
    p.conclude(p.have("(18), averaged", client_bias_sq, "<=", 2 * L * D_F, *because))


def upto(p: Argument) -> tuple[Fact, Fact]:
    """Assumptions 2 and 1 for the steps before (m, k)."""
    U = BEFORE.steps[0]
    variance = p.by(rules.VARIANCE, BEFORE.noise).over(U)
    part = p.by(rules.PART, lambda s: s.local - s.at_start, BEFORE, ALL)
    smooth = p.by(rules.LIPSCHITZ, ALL.function, ALL.point, x).over(I, C)
    return (
        p.have("Assumption 2", noise_upto, "<=", B_mk * sigma**2, variance),
        p.have("Assumption 1", move_upto, "<=", L**2 * E_r, part, smooth),
    )


def over_steps(p: Argument, fact: Fact, sampled: sympy.Symbol) -> Fact:
    """The drift bound at (m, k), summed over m = 1..S, k = 0..K-1.  B_mk is (m-1) K + k; (33) is the sum of the drifts.

    sampled  the squared partial sum of the sampled clients' deviations from their mean; Lemma 4 bounds its sum
    """
    p.needs(Property.EQUAL_WEIGHTS)  # then their mean is F's gradient
    p.written_out("eq33")
    p.written_out("lemma4.lhs")
    if fact.quantity != drift_mk:
        p.fail("summed over the steps", f"{fact.quantity} is not the drift at one step")
    of_sampled = sympy.expand(fact.value).coeff(sampled)
    rest = sympy.Poly(sympy.expand(fact.value - of_sampled * sampled), B_mk)
    half = Rational(1, 2)
    sums = [S * K, S * K * (S * K - 1) / 2, (S * K - 1) * S * K * (S * K - half) / 3]
    for power in (1, 2):
        found = Sum(Sum(((m - 1) * K + k) ** power, (k, 0, K - 1)), (m, 1, S))
        p.equal(f"sum of B_mk^{power}", found, sums[power])
    total = sympy.Add(*(coefficient * sums[power] for (power,), coefficient in rest.terms()))
    return p.by_hand("summed over the steps", E_r, fact.sign, total + of_sampled * partial_sums, fact)


def lemma4_at(p: Argument, variance: sympy.Symbol) -> Fact:
    """Lemma 4 for a population with this variance."""
    return p.claim("lemma4", {zeta: sympy.sqrt(variance)})


def lemma6(p: Argument) -> None:
    """(34) from (35), (36), Lemma 4."""
    same = p.by(rules.EXCHANGEABLE, lambda s: (s.at_start - s.at_optimum) ** 2, BEFORE, ALL)
    bias = p.have("each client alike", bias_upto, "=", B_mk * client_bias_sq, -1 * same)
    optimum = gradient(F_fun, x_star)
    partly = B_mk * (2 * BEFORE.sum(BEFORE.at_optimum) - B_mk * optimum)
    mean_zero = p.by(rules.STATIONARY, F_fun, x_star, partly)
    deviations = p.have("the gradients at x* have the mean 0", star_upto, "=", star_apart, -1 * mean_zero)
    fact = p.put(p.claim("step.eq35"), *upto(p), bias, p.claim("step.eq36"), deviations)
    total = p.put(over_steps(p, fact, star_apart), lemma4_at(p, at_optimum), spread_at_optimum(p))
    p.conclude(p.solved("E_r", total, Rational(1, 18)))


@curried
def rewritten(p: Argument, source: str, **at: Any) -> None:
    """A bound in the statement's step size, with symbols replaced."""
    p.conclude(p.claim(source, {sfl.symbols[name].sympy: sympy.sympify(e) for name, e in at.items()}))


# PFL: Lemmas 11 and 12


def lemma11(p: Argument) -> None:
    """(62): the expansion, Lemma 2 for the inner products, four terms for the squared mean step."""
    fresh = 2 * eta / S * p.by(rules.FRESH, ALL.noise, x - x_star).over(I, C)
    expanded = dist2 - 2 * eta / S * inner_sum + (eta / S) ** 2 * step_sq
    square = p.have("expanded", dist2_next, "=", expanded, fresh, after=p.follow("alg2"))
    bias = p.put(biased(p), p.claim("step.eq36"))
    four_parts = (noise(p, rules.INDEPENDENT), drifted(p, S * Ecal_r), bias, star(p))
    step = p.put(p.claim("step.eq30"), *four_parts)
    p.conclude(p.put(square, inner(p, S * Ecal_r), step))


ONE = Steps((), ())  # the one client whose steps are OWN


def parallel_drift(p: Argument) -> None:
    """(69), (79): four terms for k local steps of one client, summed over k; sampled clients are exchangeable."""
    convex = D_F in p.goal().value.free_symbols
    middle = OWN.at_optimum if convex else global_grad
    vectors = (OWN.noise.vector, OWN.local - OWN.at_start, OWN.at_start - middle, middle)
    four_terms = p.by(rules.JENSEN, *map(OWN.sum, vectors))
    successive, variance = p.by(rules.SUCCESSIVE, OWN.noise, J), p.by(rules.VARIANCE, OWN.noise).over(J)
    jensen = p.by(rules.JENSEN_OVER, OWN.local - OWN.at_start, J)
    whole = Steps((), (I,))
    smooth = p.by(rules.LIPSCHITZ, whole.function, whole.point, x).over(I)
    part = p.by(rules.PART, lambda s: s.local - s.at_start, OWN, whole)
    drift = (4 * jensen, 4 * k * part, 4 * k * smooth)
    clients = Steps((C,), (C,))
    if convex:
        gap = p.by(rules.EXCHANGEABLE, lambda s: (s.at_start - s.at_optimum) ** 2, ONE, clients)
        at_star = p.by(rules.EXCHANGEABLE, lambda s: s.at_optimum**2, ONE, clients)
        optimum = gradient(F_fun, x_star)
        second = p.by(rules.SECOND_MOMENT, ALL.at_optimum, optimum, C)
        stationary = p.by(rules.STATIONARY, F_fun, x_star, optimum)
        rest = k**2 * client_bias_sq + k**2 * at_optimum
        of_clients = [-1 * gap, -1 * at_star, -1 / S * second, -1 * stationary]
    else:
        apart = p.by(rules.EXCHANGEABLE, lambda s: (s.at_start - global_grad) ** 2, ONE, clients)
        second = p.by(rules.SECOND_MOMENT, ALL.at_start, global_grad, C)
        mean = p.by(rules.SAMPLED, ALL.at_start, global_grad, C, global_grad)
        rest = k**2 * at_x + k**2 * grad_sq
        of_clients = [-1 * apart, -1 / S * second, 2 / S * mean]
    bound = 4 * (k * sigma**2 + k * L**2 * own_drift + rest)
    terms = (four_terms, 4 * successive, 4 * variance, *drift, *(4 * k**2 * one for one in of_clients))
    because = tuple(eta**2 * one for one in terms)
    fact = p.have("k steps", drift_mk, "<=", eta**2 * bound, *because, after=p.follow("alg2"))
    fact = p.put(fact, *((p.claim("step.eq36"), spread_at_optimum(p)) if convex else (spread_at_x(p),)))
    total = p.by_hand("summed over k", own_drift, fact.sign, powers(p, fact.value, k, K), fact)
    own = p.solved("drift of a client", total, Rational(1, 18))
    p.written_out("eq68")  # the mean over clients
    p.conclude(p.by_hand("so for each client, and for their mean", Ecal_r, own.sign, own.value, own))


# Non-convex case


def lemma10(p: Argument) -> None:
    """(52) from (53), Lemma 4 and Assumption 3a."""
    fact = p.put(p.claim("step.eq53"), *upto(p))
    total = p.put(over_steps(p, fact, T_1), lemma4_at(p, at_x), spread_at_x(p))
    p.conclude(p.solved("E_r", total, Rational(1, 18)))


def eq49(p: Argument) -> None:
    """(49): (16) for F, which is L-smooth as a mean of L-smooth functions."""
    smooth = p.by(rules.DESCENT_OF_MEAN, F_fun, x_next, x)
    fresh = eta * p.by(rules.FRESH, ALL.noise, global_grad).over(I, C)
    bound = -eta * cross_sum + L * eta**2 / 2 * step_sq
    p.conclude(p.have("(16) for F", descent, "<=", bound, smooth, fresh, after=p.follow("alg1")))


def eq50(p: Argument) -> None:
    """(50) as printed: 2<a, b> = |a|^2 + |b|^2 - |a - b|^2, then 'Asm. 1' on ||grad F_{pi_m}(x_mk) - grad F(x)||."""
    smooth = eta / 2 * p.by(rules.LIPSCHITZ, ALL.function, ALL.point, x).over(I, C)
    bound = -S * K * eta / 2 * grad_sq - eta / 2 * local_grad_sq + eta / 2 * L**2 * E_r
    p.conclude(
        p.have("'Asm. 1': ||grad F_pi(x_mk) - grad F(x)|| <= L ||x_mk - x||", -eta * cross_sum, "<=", bound, smooth)
    )


def cross(p: Argument, drift: sympy.Expr) -> Fact:
    """With t_mk = grad F(x) + grad F_pi(x_mk) - grad F_pi(x): polarisation for the sum of t_mk; the rest has mean zero."""
    deviation = K * p.by(rules.SAMPLED, ALL.at_start, global_grad, C, global_grad)
    count = S * K
    polarised = -(count**2 * grad_sq + tracked_sq - move_sq) / (2 * count)
    fact = p.have("polarisation", -cross_sum, "=", polarised, deviation)
    return p.put(fact, drifted(p, drift))


def eq50_corrected(p: Argument) -> None:
    """The sampled clients' gradients at x have the mean grad F(x); compared with this mean, only the drift remains."""
    p.conclude(p.scaled(cross(p, E_r), eta))


def eq51(p: Argument) -> None:
    """(51): two terms, Lemma 1, Jensen."""
    two = p.by(rules.JENSEN, ALL.sum(ALL.noise.vector), ALL.sum(ALL.local))
    fact = p.have("two terms", step_sq, "<=", 2 * (noise_sq + mean_grad_sq), two)
    jensen = p.by(rules.JENSEN_OVER, ALL.local, I, C)
    local = p.have("Jensen", mean_grad_sq, "<=", S * K * local_grad_sq, jensen)
    p.conclude(p.put(p.scaled(fact, L * eta**2 / 2), noise(p, rules.SUCCESSIVE), local))


def squared_step(p: Argument, rule: rules.Rule) -> Fact:
    """The sum of the local gradients is the sum of t_mk plus K times the sampled clients' deviations at x."""
    two = p.by(rules.JENSEN, ALL.sum(ALL.noise.vector), ALL.sum(ALL.local))
    tracked = ALL.sum(global_grad + ALL.local - ALL.at_start)
    deviation = ALL.sum(ALL.at_start - global_grad)
    young = 2 * p.by(rules.YOUNG, tracked, deviation, sympy.Integer(2))
    sampled = 3 * K**2 * p.by(rules.CLIENTS_WITHOUT_REPLACEMENT, ALL.at_start, global_grad, C, M)
    bound = 2 * noise_sq + 6 * tracked_sq + 3 * S * (M - S) / (M - 1) * K**2 * at_x
    fact = p.have("noise, tracked sum, deviations", step_sq, "<=", bound, two, young, sampled)
    return p.put(fact, noise(p, rule), spread_at_x(p))


def eq51_corrected(p: Argument) -> None:
    """(51) with a term for the sampling of clients."""
    p.conclude(p.scaled(squared_step(p, rules.SUCCESSIVE), L * eta**2 / 2))


def parallel_descent(p: Argument) -> Fact:
    """(16) for F along the mean of the clients' steps."""
    smooth = p.by(rules.DESCENT_OF_MEAN, F_fun, x_next, x)
    fresh = eta / S * p.by(rules.FRESH, ALL.noise, global_grad).over(I, C)
    bound = -eta / S * cross_sum + L * eta**2 / (2 * S**2) * step_sq
    return p.have("(16) for F", descent, "<=", bound, smooth, fresh, after=p.follow("alg2"))


def lemma13(p: Argument) -> None:
    """(75) as printed: (77) is (50) over S."""
    smooth = eta / (2 * S) * p.by(rules.LIPSCHITZ, ALL.function, ALL.point, x).over(I, C)
    bound = (-S * K * eta / 2 * grad_sq - eta / 2 * local_grad_sq + eta / 2 * L**2 * S * Ecal_r) / S
    printed = p.have("(77), 'Asm. 1' as in (50)", -eta / S * cross_sum, "<=", bound, smooth)
    p.conclude(p.put(parallel_descent(p), printed))


def lemma13_corrected(p: Argument) -> None:
    """As the corrected Lemma 9, with the mean over the clients instead of their sum."""
    p.conclude(p.put(parallel_descent(p), cross(p, S * Ecal_r), squared_step(p, rules.INDEPENDENT)))


# Recursions to bounds: Lemmas 7 and 8


def psi(p: Argument, mean: Fact) -> Fact:
    """Psi_T is b times the weighted mean of the s_t."""
    by = OverRounds("multiple", {"factor": b, "of": mean.quantity, "total": Psi_T})
    return p.by_hand("the definition of Psi_T", Psi_T, mean.sign, b * mean.value, mean, by=by)


def eq40(p: Argument) -> None:
    """(40): multiply (37) by w_t / gamma, telescope, drop -w_T r_{T+1}, divide by W_T."""
    mean = telescope(p, p.claim("lemma7"), (r_next, r_t), s_t, r0, W_T, count=T + 1)
    p.conclude(psi(p, mean))


def eq44(p: Argument) -> None:
    """(44): telescope, divide by T + 1."""
    mean = telescope(p, p.claim("lemma8"), (r_next, r_t), s_t, r0, T + 1)
    p.conclude(psi(p, mean))


def weights(p: Argument) -> None:
    """The chain about W_T, with u = a gamma and P = (1 - u)^(T+1)."""
    u = a * gamma
    power = (1 - u) ** (T + 1)
    closed = p.goal().value
    W = closed.subs({a: 1, gamma: sympy.Symbol("u", positive=True)})
    v = sympy.Symbol("u", positive=True)
    p.equal("W_0 = w_0", W.subs(T, 0), 1 / (1 - v))
    p.equal("W_{T+1} = W_T + w_{T+1}", W.subs(T, T + 1), W + (1 - v) ** (-(T + 2)))
    p.conclude(p.by_hand("W_T by induction", W_T, "=", closed), part=0)
    below = below_exponential(p, u)
    p.require(
        "1 - a gamma > 0: the weights are finite, and the power keeps the order", sympy.Gt(1 - u, 0, evaluate=False)
    )
    P, decay, root = p.named(P=power, q=exp(-u * (T + 1)), root=exp(-Rational(1, 2)))
    p.conclude(p.by_hand("(1 - u)^n <= exp(-u n) for 1 - u >= 0", P, "<=", decay, below), part=1)
    p.require("the exponent", at_most(-u * (T + 1), -Rational(1, 2)))
    p.conclude(p.by_hand("exp grows", decay, "<=", root), part=2)
    y = sympy.Symbol("y", real=True)
    p.step("exp(-1/2) <= 2/3", lambda: everywhere(exp(-y / 2) <= Rational(2, 3) + 0 * y, y, 1, 1))
    p.conclude(p.by_hand("interval arithmetic", root, "<=", Rational(2, 3)), part=3)
    p.require(
        "P <= 2/3", at_most(P, Rational(2, 3)), at_most(P, decay), at_most(decay, root), at_most(root, Rational(2, 3))
    )
    total = (1 - P) / (u * P)  # W_T, by its closed form
    known = at_most(P, Rational(2, 3))
    p.require("W_T from below", at_least(total, 1 / (3 * u * P)), known)
    p.conclude(p.by_hand("W_T by its closed form", W_T, ">=", 1 / (3 * u * P)), part=4)
    p.require("W_T from above: w_T is 1/P", at_most(total, 1 / (u * P)), known)
    last = sfl.symbols["w_T"].sympy
    p.conclude(p.by_hand("W_T by its closed form", W_T, "<=", last / u), part=5)


def eq38(p: Argument) -> None:
    """The last expression of (38), from (40) and the bound on W_T; with the gamma^3 term, c = c1 + c2 gamma."""
    cubic = c1 in p.goal().value.free_symbols
    noise_ = c1 + c2 * gamma if cubic else c
    supposed = {"lemma7": p.claim("lemma7.cubic" if cubic else "lemma7")}
    fact = p.claim("lemma7.eq40", {c: noise_}, given=supposed)
    from_below = p.claim("lemma7.WT", part=4)
    upper = p.claim("lemma7.WT", part=1)
    power, decay = upper.quantity, upper.value
    P = sympy.Symbol("P", positive=True)
    derived = fact.value.subs(W_T, from_below.value)  # r_0 / (gamma W_T) falls in W_T
    if from_below.sign != ">=" or upper.sign != "<=":
        p.fail("the bounds on W_T", "they point the other way")
    derived = spread_out(derived.xreplace({power: P, 1 / power: 1 / P}))
    p.require("before the power", at_least(derived.coeff(P), 0))
    if middle in p.statement.where:  # printed as a chain
        p.equal("the middle of the chain", derived, spread_out(p.statement.where[middle].xreplace({power: P})))
    decayed = derived.subs(P, decay)
    p.conclude(p.by_hand("W_T from below, the power from above", Psi_T, "<=", decayed, fact, from_below, upper))


def eq45(p: Argument) -> None:
    """(45): the three cases together, with u = (c1 rho)^(1/2), v = c2^(1/3) rho^(2/3), rho = r0/(T+1)."""
    goal = p.goal()
    if (goal.quantity, goal.sign) != (Psi_T, "<="):
        p.fail("(45)", f"it is about {goal.quantity} {goal.sign}")
    printed = p.statement.where[gamma]
    p.require("r_0 > 0: the choice of gamma is positive", sympy.Gt(r0, 0, evaluate=False))
    for symbol in (c1, c2):
        if any(symbol in power.base.as_numer_denom()[1].free_symbols for power in printed.atoms(sympy.Pow)):
            p.require(f"{symbol} > 0: the choice of gamma divides by it", sympy.Gt(symbol, 0, evaluate=False))
    u, v = sympy.symbols("u v", nonnegative=True)
    rho, g = sympy.symbols("rho gamma_", positive=True)
    at = {c1: u**2 / rho, c2: v**3 / rho**2, r0: rho * (T + 1)}
    largest = Max(u / rho, v / rho, d)  # 1/gamma
    inverse = Max(*(1 / choice for choice in printed.args)) if isinstance(printed, Min) else 1 / printed
    p.equal("the choice of gamma", sympy.simplify(inverse.subs(at, simultaneous=True)), largest)
    tuned = [sympy.Eq(g * largest, 1, evaluate=False)]
    recursion = {"lemma8": p.claim("lemma8", {gamma: g})}
    derived = p.claim("lemma8.eq44", {gamma: g}, given=recursion, under=tuned).value.subs(at, simultaneous=True)
    claimed = sympy.simplify(goal.value.subs(at, simultaneous=True))
    p.require("(45)", at_most(sympy.simplify(derived), claimed), *tuned)
    p.done()


def eq39_cubic(p: Argument) -> None:
    """The tuned bound: gamma = min(log B/(aT), 1/d); facts about exp and log are explicit steps."""
    goal = p.goal()
    if (goal.quantity, goal.sign) != (Psi_T, "<="):
        p.fail("the tuned bound", f"it is about {goal.quantity} {goal.sign}")
    w, B, log_B, q, near, y = sympy.symbols("w B log_B q near x", positive=True)
    # In units of r0 a = w, with c1 = x1 aT, c2 = x2 (aT)^2, the bound is 3 w q + (3 + log B) x1 + (3 + log^2 B) x2
    x1, x2 = sympy.symbols("x1 x2", nonnegative=True)
    at = {c1: x1 * a * T, c2: x2 * (a * T) ** 2, r0: w / a}
    step = p.statement.where[gamma]
    p.require("T divides", at_least(T, 1))
    p.require("a T c_1 + c_2 divides", sympy.Gt(a * T * c1 + c2, 0, evaluate=False))
    for logarithm in sorted(goal.value.atoms(sympy.log) | step.atoms(sympy.log), key=str):
        p.equal("B = max{2, w/(x1 + x2)}", sympy.simplify(logarithm.args[0].subs(at)), Max(2, w / (x1 + x2)))
    scaled = sympy.expand(goal.value.replace(sympy.log, lambda _: log_B).subs(at)).subs(exp(-T * a / d), q)
    chosen = step.replace(sympy.log, lambda _: log_B)
    p.equal("the choice of gamma", chosen, Min(log_B / (a * T), 1 / d))
    enough = [at_least(B, 2), at_least(B * (x1 + x2), w)]
    p.step("2 log 2 >= 1", lambda: everywhere(2 * sympy.log(y) >= 1 + 0 * y, y, 2, 2))
    shorter = [sympy.Eq(near, log_B / (a * T)), at_most(near, 1 / d), at_least(2 * log_B, 1)]
    recursion = {"lemma7.cubic": p.claim("lemma7.cubic", {gamma: near})}
    p.require("that is the choice", sympy.Eq(Min(log_B / (a * T), 1 / d), near, evaluate=False), *shorter)
    first = p.claim("lemma7.eq38.cubic", {gamma: near}, given=recursion, under=shorter)
    (decayed,) = first.value.atoms(exp)
    p.require("exp(-a gamma (T+1)) <= exp(-log B)", at_most(decayed.args[0], -log_B), *shorter)
    bound = spread_out(first.value.subs(decayed, 1 / B)).subs(at).subs(near, log_B / (a * T))
    p.require("gamma = log B/(aT), exp(-log B) = 1/B", at_most(bound, scaled), *enough)
    recursion = {"lemma7.cubic": p.claim("lemma7.cubic", {gamma: 1 / d})}
    longer = [at_least(log_B / (a * T), 1 / d)]
    p.require("that is the choice", sympy.Eq(Min(log_B / (a * T), 1 / d), 1 / d, evaluate=False), *longer)
    longest = p.claim("lemma7.eq38.cubic", {gamma: 1 / d}, given=recursion)
    (decayed,) = longest.value.atoms(exp)
    p.require("exp(-a (T+1)/d) <= exp(-a T/d)", at_most(decayed.args[0], -T * a / d))
    bound = spread_out(longest.value.subs(decayed, q)).subs(at).subs(1 / d, near / (a * T))
    p.require("gamma = 1/d <= log B/(aT)", at_most(bound, scaled), *enough, at_most(near, log_B))
    p.done()


def as_sequence(p: Argument, recursion: Fact) -> tuple[Fact, tuple[sympy.Symbol, sympy.Symbol], sympy.Symbol]:
    """One round as a lemma's recursion: the fact, (r_{t+1}, r_t), s_t; a descent becomes one of the gap to the infimum."""
    if recursion.quantity != descent:
        p.needs(Property.MINIMISER)  # then the divergence D_F is the gap
        return recursion, (dist2_next, dist2), D_F
    gap_next = p.have("the gap to F*", F_gap_next, "=", F_gap + descent)
    p.needs(Property.BOUNDED_BELOW)
    return p.put(gap_next, recursion), (F_gap_next, F_gap), grad_sq


@curried
def by_lemma(p: Argument, recursion: str, conclusion: str, everyone: bool = False) -> None:
    """A bound from its recursion by Lemma 7 (with the gamma^3 term) or Lemma 8, T = R, divided by b.

    everyone  whether the recursion is about S of M clients, and the bound about all of them
    """
    applied = p.statement.applies
    assert applied is not None
    at = {sfl.symbols[name].sympy: e for name, e in applied.substitution.items()}
    if c in at:
        at[c1] = at.pop(c)
    contraction = at.get(a, sympy.Integer(0))
    convex = {mu: sympy.Integer(0)} if contraction == 0 and p.speaks_of(recursion, mu) else {}
    fact = p.claim(recursion, convex | ({S: M} if everyone else {}))
    fact, state, of = as_sequence(p, fact)
    if p.start_of(state[1]) != at[r0]:
        p.fail("the start", f"the lemma starts from {at[r0]}, a run starts from {p.start_of(state[1])}")
    at |= {gamma: eta_tilde, a: contraction, r_next: state[0], r_t: state[1], s_t: of}
    supposed = "lemma7.cubic" if conclusion.startswith("lemma7") else "lemma8"
    if contraction == 0:
        at.pop(a)
    bound = p.claim(conclusion, at, given={supposed: fact})
    by = OverRounds("multiple", {"factor": at[b], "of": of, "total": bound.quantity})
    mean = p.by_hand("the definition of Psi_T", of, bound.sign, bound.value / at[b], bound, by=by)
    r = sfl.symbols["r"].sympy
    p.conclude(p.average(mean, of, (1 - contraction * eta_tilde) ** (-(r + 1))))


@curried
def at_full(p: Argument, source: str) -> None:
    """A theorem as its partial-participation bound at S = M; for M = 1, with two copies of the client and S = 1."""
    p.split(M, lambda: p.conclude(p.claim(source, {S: M})), lambda: one_client(p, source))


def one_client(p: Argument, source: str) -> None:
    """A run with one client is a run with two copies of this client, of which each round samples one."""
    p.copied()
    alike = dict.fromkeys((zeta_star, zeta, beta), sympy.Integer(0))
    p.conclude(p.claim(source, {M: sympy.Integer(2), S: sympy.Integer(1), **alike}))


# Lemma 4


def lemma4_term(p: Argument) -> None:
    """Squares and covariances of m - 1 whole clients and k steps of the m-th client."""
    covariance = p.claim("lemma3.cov", {n: M})
    squares = ((m - 1) * K**2 + k**2) * zeta**2
    pairs = (m - 1) * (m - 2) * K**2 + 2 * (m - 1) * K * k
    p.written_out("lemma4.lhs")
    value_ = squares + pairs * covariance.value
    p.conclude(p.by_hand("squares and pairs of the partial sum", partial_sum, covariance.sign, value_, covariance))


def lemma4_sums(p: Argument) -> None:
    """The sum of lemma4.term over m and k, in closed form, is the statement's sum."""
    p.conclude(_lemma4_left(p))


def _lemma4_left(p: Argument) -> Fact:
    p.written_out("lemma4.lhs")
    term = p.claim("lemma4.term", under=[at_most(m, S), at_most(k, K - 1)])
    return p.by_hand("summed over m and k", partial_sums, term.sign, _summed(term.value), term)


@cache
def _summed(e: sympy.Expr) -> sympy.Expr:
    """An expression summed over k = 0 ... K-1 and m = 1 ... S, in closed form."""
    over_steps = sympy.summation(sympy.expand(e), (k, 0, K - 1))
    return sympy.simplify(sympy.summation(over_steps, (m, 1, S)))


def lemma4(p: Argument) -> None:
    """(25): the sum in closed form, and one inequality in M, S, K; for one client the sum is zero."""

    def alone() -> None:
        p.conclude(p.by_hand("one unit is its own mean", partial_sums, "=", sympy.Integer(0)))

    p.split(M, lambda: p.conclude(_lemma4_left(p)), alone)


# The paper's own proofs, and the proofs of the corrected statements
PROOFS: dict[str, Proof] = {
    "lemma4.term": lemma4_term,
    "lemma4.sum": lemma4_sums,
    "lemma4.sum.corrected": lemma4_sums,
    "lemma4.closed_form": lemma4_sums,
    "lemma4.closed_form.corrected": lemma4_sums,
    "lemma4": lemma4,
    "step.eq28": eq28,
    "step.eq29": eq29,
    "step.eq35": eq35,
    "step.eq36": eq36,
    "step.eq49": eq49,
    "step.eq53": eq35,
    "step.eq30": eq30,
    "step.eq31": eq31,
    "step.eq32": eq32,
    "lemma5": substituted("step.eq28", "step.eq29", "step.eq32"),
    "lemma6": lemma6,
    "step.sc_recursion": substituted("lemma5", "lemma6"),
    "eq41": rewritten("step.sc_recursion"),
    "eq41.corrected": rewritten("step.sc_recursion"),
    "step.gc_recursion": rewritten("step.sc_recursion", mu=0),
    "step.gc_recursion.corrected": rewritten("step.sc_recursion", mu=0),
    "lemma7.eq40": eq40,
    "lemma7.WT": weights,
    "lemma7.eq38": eq38,
    "lemma7.eq38.cubic": eq38,
    "lemma7.eq39.cubic": eq39_cubic,
    "lemma8.eq44": eq44,
    "lemma8.eq45": eq45,
    "lemma8.eq45.corrected": eq45,
    "eq42": by_lemma("eq41", "lemma7.eq38.cubic"),
    "eq42.corrected": by_lemma("eq41.corrected", "lemma7.eq38.cubic"),
    "eq46": by_lemma("step.gc_recursion", "lemma8.eq44"),
    "eq46.corrected": by_lemma("step.gc_recursion.corrected", "lemma8.eq44"),
    "thm1.strongly_convex": at_full("eq42.corrected"),
    "thm1.general_convex": at_full("eq46.corrected"),
    "lemma11": lemma11,
    "lemma12": parallel_drift,
    "eq70": substituted("lemma11", "lemma12"),  # in eta_tilde
    "eq71": by_lemma("eq70", "lemma7.eq38.cubic"),
    "eq73": by_lemma("eq70", "lemma8.eq44"),
    "thm2.strongly_convex": at_full("eq71"),
    "thm2.general_convex": at_full("eq73"),
    "step.eq50": eq50,
    "step.eq50.corrected": eq50_corrected,
    "step.eq51": eq51,
    "step.eq51.corrected": eq51_corrected,
    "lemma9": substituted("step.eq49", "step.eq50", "step.eq51"),
    "lemma9.corrected": substituted("step.eq49", "step.eq50.corrected", "step.eq51.corrected"),
    "lemma10": lemma10,
    "step.eq54_recursion": substituted("lemma9", "lemma10"),
    "step.eq54_recursion.corrected": substituted("lemma9.corrected", "lemma10"),
    "eq54": by_lemma("step.eq54_recursion", "lemma8.eq44"),
    "eq54.corrected": by_lemma("step.eq54_recursion.corrected", "lemma8.eq44"),
    "lemma13": lemma13,
    "lemma13.corrected": lemma13_corrected,
    "lemma14.corrected": parallel_drift,
    "step.eq80_recursion": substituted("lemma13", "lemma14"),
    "step.eq80_recursion.corrected": substituted("lemma13.corrected", "lemma14.corrected"),
    "eq80": by_lemma("step.eq80_recursion", "lemma8.eq44"),
    "eq80.corrected": by_lemma("step.eq80_recursion.corrected", "lemma8.eq44"),
    "thm1.nonconvex": at_full("eq54"),
    "thm2.nonconvex": at_full("eq80"),
}

# Our proofs of statements with a broken printed proof
REPAIRS: dict[str, Proof] = {
    "thm1.nonconvex": at_full("eq54.corrected"),
    "thm2.nonconvex": at_full("eq80.corrected"),
}


def evidence() -> Iterator[Evidence]:
    """Every proof as evidence."""
    yield from evidence_of(PROOFS, "ledger", LANGUAGE, "sfl")
    yield from evidence_of(REPAIRS, "repair", LANGUAGE, "sfl")
