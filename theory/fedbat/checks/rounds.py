"""The proofs of Appendix C about one step and one round with all clients, and the parts that later proofs share.

A proof is a function of an `Argument`: it gets its premises from the argument, and concludes the statement's claim.
"""

from __future__ import annotations

from collections.abc import Mapping

import sympy
from sympy import Rational

from fedtheory.theory.fedbat.checks.quantities import *
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import Argument, Fact, Sign, curried, spread_out
from fedtheory.theory.proofs.arithmetic import at_least, at_most
from fedtheory.theory.proofs.forms import Family, LearningStep, gradient, replaced
from fedtheory.theory.proofs.vectors import quadratic_form
from fedtheory.theory.properties import Property

# the paper's symbols for the points in vector notation, and what they stand for
SYMBOLS = {name: fedbat.symbols[name].sympy for name in ("x_k", "w_bar", "w_bar_next", "v_bar", "w_star", "g_t")}
AT = {name: LANGUAGE.vectors[symbol] for name, symbol in SYMBOLS.items()}
ONE, ONE_LOWEST = LANGUAGE.vectors[F_k], LANGUAGE.vectors[F_k_star]
OF_CLIENT = {F_k: EVERY.function, F_k_star: EVERY.lowest, SYMBOLS["w_star"]: w_star, SYMBOLS["w_bar"]: w_bar}


# Parts that several steps share


def shown(p: Argument, part: int, *because: rules.RuleInstance) -> None:
    """Conclude the claim, or one of several, as printed, by rules."""
    p.conclude_form(lambda e: p.meaning(quadratic_form(replaced(p.read(e), LANGUAGE.vectors))), *because, part=part)


def of_clients(p: Argument, name: str, x: sympy.Expr = EVERY.x) -> rules.RuleInstance:
    """The weighted sum over the clients of a line about one client, at x."""
    return p.at(name, {**OF_CLIENT, SYMBOLS["x_k"]: x}).over(EVERY.family)


def conclude_step(
    p: Argument,
    name: str,
    quantity: sympy.Expr,
    value: sympy.Expr,
    *because: rules.RuleInstance,
    by: str,
    sign: Sign = "=",
) -> None:
    """A line about a synchronisation step, and about any other step, where wbar_{t+1} is vbar_{t+1}."""
    p.conclude(p.have(name, quantity, sign, value, *because, after=p.follow(by)))
    p.conclude(p.have(f"{name}, between synchronisations", quantity, sign, value, after=p.follow("c1.sync")))


def conclude_jump(p: Argument, fact: Fact) -> None:
    """A bound on the jump at a synchronisation step; at any other step there is no jump."""
    p.conclude(fact)
    p.conclude(p.loosened("between synchronisations", unmoved(p), Fact(jump_sq, "<=", fact.value)))


def unmoved(p: Argument) -> Fact:
    """There is no jump between synchronisations."""
    return p.have("no jump between synchronisations", jump_sq, "=", sympy.Integer(0), after=p.follow("c1.sync"))


def falling(p: Argument) -> None:
    """At each step s of the round, the condition on the learning rate gives eta_s <= the first learning rate."""
    p.by_hand("the conditions on the learning rate hold at every step", eta_t, "=", eta_t)
    eta_s = sympy.Symbol("eta_s", positive=True)
    given = [c.subs(eta_t, eta_s) for c in p.conditions if {eta_t, eta_start} <= c.free_symbols]
    p.require("the learning rate at each step of the round", at_most(eta_s, eta_start), *given)


def update(p: Argument, clients: ClientVectors, steps: Family) -> tuple[rules.RuleInstance, rules.RuleInstance]:
    """(47) for the clients' updates over `steps`, and the bounds on the squares of these steps."""
    later = steps is UP_TO
    fact = p.claim("eq47.corrected", {t: t + 1} if later else {})
    own = (one_step_on if later else so_far)(clients)
    bounded = p.by(rules.BOUNDED_STEP, clients.step(steps), eta_start).over(steps, clients.family)
    return p.as_rule("eq47.corrected", fact, own).over(clients.family), bounded


def alike(p: Argument) -> Mapping[sympy.Expr, sympy.Expr]:
    """All shares are 1/N, and the sum of their squares is 1/N, too."""
    p.needs(Property.EQUAL_WEIGHTS)
    return {p_sq: 1 / N}


def drawn(p: Argument) -> None:
    """Check that a sample has K of N clients."""
    p.require("K of N clients", at_most(K, N))


def mean_of_sample(p: Argument, known: sympy.Expr) -> tuple[rules.RuleInstance, rules.RuleInstance]:
    """The sampled clients' v have the mean vbar."""
    drawn(p)
    sampled = p.by(rules.MEAN_OF_SAMPLE, SAMPLED.v, SAMPLED.family, EACH.family, known)
    return sampled, K / N * p.by(rules.EQUAL_SHARES, lambda c: c.v, EACH, EVERY, known)


# Appendix C: one step


def eq24(p: Argument) -> None:
    """(24): given their inputs, the clients' binarisation errors have mean zero."""
    mean_zero = -2 * p.by(rules.BINARISED, EVERY.sent, v_bar - w_star).over(EVERY.family)
    conclude_step(p, "(24)", Delta_next, jump_sq + v_dist, mean_zero, by="c1.update")


def eq31(p: Argument) -> None:
    """(31): the noise has mean zero."""
    fresh = 2 * eta_t * p.by(rules.FRESH, EVERY.noise, w_bar - w_star - eta_t * g_bar).over(EVERY.family)
    p.conclude(p.have("(31)", v_dist, "=", A_1 + eta_t**2 * noise_sq, fresh, after=p.follow("c1.virtual")))


def eq32(p: Argument) -> None:
    """(32): the square of a difference."""
    p.conclude(p.have("(32)", A_1, "=", Delta_t - 2 * eta_t * inner_star + eta_t**2 * gbar_sq))


def eq33(p: Argument) -> None:
    """(33): after a gradient step of size 1/L from x_t^k, F_k is still at least F_k^*."""
    (L_,) = p.needs(Property.SMOOTH_ABOVE) or (L,)
    x = AT["x_k"]
    there = x - gradient(ONE, x) / L_
    lower = 2 * L_ * p.by(rules.LOWEST_OF_CLIENT, ONE, there, ONE_LOWEST)
    shown(p, 0, 2 * L_ * p.by(rules.DESCENT, ONE, there, x), lower)


def eq34(p: Argument) -> None:
    """(34): Jensen, then (33) for every client."""
    jensen = p.have("Jensen", gbar_sq, "<=", grads_x_sq, p.by(rules.JENSEN_OVER, EVERY.local, EVERY.family))
    smooth = p.have("(33)", grads_x_sq, "<=", 2 * L * local_gap, of_clients(p, "eq33"))
    p.conclude(p.put(jensen, smooth), jensen, smooth)


def eq35(p: Argument) -> None:
    """(35): wbar - w* is the sum of wbar - x_t^k and x_t^k - w*."""
    p.conclude(p.scaled(p.have("(35)", inner_star, "=", inner_move + inner_down), -2 * eta_t))


def eq36(p: Argument) -> None:
    """(36): the square of wbar - x_t^k + eta_t grad F_k(x_t^k) is >= 0."""
    x = AT["x_k"]
    young = p.by(rules.YOUNG, gradient(ONE, x), -(AT["w_bar"] - x), eta_t)
    shown(p, 0, young)


def eq37(p: Argument) -> None:
    """(37): strong convexity between x_t^k and w*."""
    shown(p, 0, p.by(rules.TANGENT, ONE, AT["w_star"], AT["x_k"]))


def eq38(p: Argument) -> None:
    """(38): (32) with (34) to (37), and the mean of ||x_t^k - w*||^2."""
    move = p.have("(36)", -2 * inner_move, "<=", spread_x / eta_t + eta_t * grads_x_sq, of_clients(p, "eq36"))
    down = p.have("(37)", -inner_down, "<=", -star_gap - mu / 2 * x_star_sq, of_clients(p, "eq37"))
    smooth = p.have("(33)", grads_x_sq, "<=", 2 * L * local_gap, of_clients(p, "eq33"))
    mean_zero = -2 * p.by(rules.BINARISED, EVERY.rounding, w_bar - w_star).over(EVERY.family)
    apart = p.have("x_t^k has the mean w_t^k", x_star_sq, "=", spread_x + Delta_t, mean_zero)
    between = p.put(p.claim("eq32"), p.claim("eq35"), p.claim("eq34"), move, down)
    p.conclude(p.put(between, smooth, apart), between, p.scaled(apart, sympy.Integer(-1)))


def eq39(p: Argument) -> None:
    """(39): sum_k p_k F_k(w*) = F*, so the gaps differ by Gamma."""
    at_star = 2 * eta_t * p.by(rules.MEAN_VALUE, EVERY.function, F_fun, w_star, EVERY.family)
    attained = 2 * eta_t * p.by(rules.ATTAINED, F_fun, w_star, lowest)
    shown(p, 0, at_star, -1 * attained)
    shown(p, 1)
    shown(p, 2, at_star, -1 * attained)
    p.decided(3)
    p.decided(4)


def eq40(p: Argument) -> None:
    """(40), line by line: convexity at wbar, AM-GM, (33) at wbar."""
    at_bar = gradient(EVERY.function, w_bar)
    mean = p.by(rules.MEAN_VALUE, EVERY.function, F_fun, w_bar, EVERY.family)
    shown(p, 0, p.by(rules.CONVEX, EVERY.function, EVERY.x, w_bar).over(EVERY.family), -1 * mean)
    am_gm = p.by(rules.YOUNG, -at_bar, EVERY.x - w_bar, eta_t).over(EVERY.family)
    shown(p, 1, Rational(1, 2) * am_gm)
    shown(p, 2, eta_t / 2 * of_clients(p, "eq33", w_bar))


def eq41(p: Argument) -> None:
    """(41): (39), with (40) for the terms in D; the gap to the F_k^* is larger by Gamma."""
    below = p.chained(*(p.claim("eq40", part=line) for line in range(3)))
    first = p.put(p.weakened(p.claim("eq39"), "<="), below)
    mean = p.by(rules.MEAN_VALUE, EVERY.function, F_fun, w_bar, EVERY.family)
    gaps = p.have("the gaps differ by Gamma", local_gap_bar, "=", gap_t + Gamma, mean)
    p.conclude(p.put(first, gaps), first)
    goal = p.goal(2)
    second = Fact(p.read(goal.quantity), goal.sign, p.read(goal.value))
    p.compare("second line", p.put(p.have("first line", second.quantity, "=", second.quantity), gaps), second)
    p.done(2)
    for part in range(3, len(p.goals)):
        p.decided(part)


@curried
def eq42(p: Argument, source: str, rest: str) -> None:
    """(42): (38) and (41), times the coefficient of C in (38)."""
    before, remainder = p.claim(source), p.claim(rest)
    inside, own = (spread_out(e).coeff(star_gap) for e in (before.value, remainder.quantity))
    taken = p.scaled(remainder, inside / own)
    p.conclude(p.shifted(p.added(before, taken), -spread_out(taken.quantity)))


# Appendix C: noise, and the effect of a round on the clients


def eq44(p: Argument) -> None:
    """(44): independent clients, and Assumption 3 at the points of the gradients."""
    independent = p.by(rules.INDEPENDENT_WEIGHTED, lambda c: c.noise, SQUARED, EVERY)
    variance = p.by(rules.VARIANCE, SQUARED.noise).over(SQUARED.family)
    p.conclude(p.have("(44)", noise_sq, "<=", p_sq * sigma**2, independent, variance))


def eq45(p: Argument) -> None:
    """(45): given w_t^k, x_t^k has the mean w_t^k."""
    mean_zero = -2 * p.by(rules.BINARISED, EVERY.rounding, w_bar - EVERY.w).over(EVERY.family)
    p.conclude(p.have("(45)", spread_x, "=", spread_w + binarised_sq, -1 * mean_zero))


def eq46(p: Argument) -> None:
    """(46): clients are no further from their mean than from wbar_{t_0}; (47); at most tau - 1 steps."""
    falling(p)
    p.symbols_of("c1.t0")
    moved, bounded = update(p, EVERY, BEFORE)
    around = p.have("the mean is nearest", spread_w, "<=", moved_sq, p.by(rules.SQUARE, w_bar - w_0))
    rest = (tau - 1 - (t - t_0)) * p.by(rules.SQUARE, EVERY.step(BEFORE)).over(BEFORE, EVERY.family)
    steps = p.have("(47), at most tau - 1 steps", moved_sq, "<=", steps_mean, moved, rest)
    bound = (tau - 1) * (t - t_0) * eta_start**2 * G**2
    size = p.have("Assumption 4", steps_mean, "<=", bound, (tau - 1) * bounded)
    p.conclude(p.chained(around, steps, size), around, steps, size)


def eq47(p: Argument) -> None:
    """(47): the client's update is the sum of its t - t_0 steps."""
    p.require("a number of steps", at_least(t - t_0, 0))
    jensen = p.by(rules.JENSEN_OVER, LearningStep("u", BEFORE), BEFORE)
    update_ = p.have("its steps", moved_k_sq, "=", steps_sum, after=p.follow("c1.t0"))
    sum_ = p.have("Jensen", steps_sum, "<=", (t - t_0) * steps_sq, jensen)
    p.conclude(p.put(update_, sum_), update_, sum_)


def eq48(p: Argument) -> None:
    """(48): Assumption 5 for the clients' updates, and (46)."""
    error = p.by(rules.BINARISATION_ERROR, EVERY.rounding).over(EVERY.family)
    binarised = p.have("Assumption 5", binarised_sq, "<=", q**2 * moved_sq, error)
    moved = p.chained(p.claim("eq46.corrected", part=2), p.claim("eq46.corrected", part=3))
    p.conclude(p.put(binarised, moved), binarised)


def binarised_parts(p: Argument, squares: ClientVectors) -> rules.RuleInstance:
    """Assumption 5 for the clients' messages."""
    return p.by(rules.BINARISATION_ERROR, squares.sent).over(squares.family)


def eq50(p: Argument) -> None:
    """(50): independent binarisations, Assumption 5, and (47) for the whole round."""
    falling(p)
    p.symbols_of("c1.t0")
    independent = p.by(rules.INDEPENDENT_BINARISATION, lambda c: c.sent, SQUARED, EVERY)
    parts = p.have("independent", jump_sq, "=", jump_parts, independent, after=p.follow("c1.update"))
    error = p.have("Assumption 5", jump_parts, "<=", q**2 * v_moved, binarised_parts(p, SQUARED))
    steps, bounded = update(p, SQUARED, UP_TO)
    count = t + 1 - t_0
    bound = p_sq * count**2 * eta_start**2 * G**2
    moved = p.have("(47)", v_moved, "<=", bound, steps, count * bounded)
    conclude_jump(p, p.put(p.chained(parts, error), moved))
    p.conclude(parts, error, part=1)
