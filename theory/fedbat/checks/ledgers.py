"""The proofs of Appendices D and E, of the end of Appendix C, and of the corrected statements; every proof by name.

A proof is a function of an `Argument`: it gets its premises from the argument, and concludes the statement's claim.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy
from sympy import Max

from fedtheory.theory.fedbat.checks.rounds import *
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import (
    Argument,
    Fact,
    Proof,
    curried,
    evidence_of,
    for_printed,
    spread_out,
    substituted,
)
from fedtheory.theory.proofs.arithmetic import at_least
from fedtheory.theory.proofs.forms import gradient, vector
from fedtheory.theory.proofs.sequences import induction, telescope
from fedtheory.theory.statement import Evidence

# Appendix C: from one step to the end


def decided(p: Argument) -> None:
    """All claims, which are relations between constants."""
    for part in range(len(p.goals)):
        p.decided(part)


def smooth_at_minimum(p: Argument) -> Fact:
    """F(wbar) - F* <= (L/2) ||wbar - w*||^2."""
    smooth = p.by(rules.DESCENT_OF_MEAN, F_fun, w_bar, w_star)
    stationary = p.by(rules.STATIONARY, F_fun, w_star, w_bar - w_star)
    attained = p.by(rules.ATTAINED, F_fun, w_star, lowest)
    return p.have("smooth at w*", gap_t, "<=", L / 2 * Delta_t, smooth, -1 * stationary, -1 * attained)


def eq28(p: Argument) -> None:
    """(28): smoothness at w*, then the induction."""
    smooth = smooth_at_minimum(p)
    supposed = p.given(Delta_t)
    p.conclude(p.put(smooth, supposed), smooth, p.scaled(supposed, L / 2))


def largest(p: Argument) -> sympy.Symbol:
    """A symbol for max{8 L/mu, tau}."""
    symbol = sympy.Symbol("max{8L/mu,tau}", positive=True)
    p.largest(symbol, Max(8 * L / mu, tau))
    return symbol


def eq30(p: Argument) -> None:
    """(30), (59): the induction (27) with the v of (29), then (28)."""
    symbol = largest(p)
    named = {Max(8 * L / mu, tau): symbol}
    shift, rate, factor = (p.read(e).xreplace(named) for e in (gamma, eta_t, beta))
    maximum = p.claim("eq29", {gamma: shift})
    p.largest(v, maximum.quantity)
    recursion = p.claim("eq27.recursion", {eta_t: rate})
    bound = v / (t + shift)

    def next_step(hypothesis: sympy.Basic) -> Fact:
        choice = {beta: factor, gamma: shift}
        lines = [p.claim("eq27", choice, part=part, under=[hypothesis]) for part in range(3)]
        return p.chained(recursion, *lines)

    distance = induction(p, (Delta_next, Delta_t), bound, (t, 1), Delta_1, next_step)
    fact = p.claim("eq28", {gamma: shift}, under=[distance])
    p.conclude(p.put(fact, p.by_hand("v is that maximum", v, maximum.sign, maximum.value, maximum)))


def at_the_end(p: Argument, fact: Fact, first: int) -> Fact:
    """From a bound on the gap at every step from `first` on to t = T: T = R tau ends a round, so the server has wbar_T."""
    last = p.read(T)
    p.equal("the last step ends a round", last, R * tau)
    p.require("the last step is one of them", at_least(last, first))
    server = p.have("w_T is the mean of the clients' parameters", gap_last, "=", gap_t)
    return p.put(server, p.by_hand("at one of the steps", fact.quantity, fact.sign, fact.value.subs(t, last), fact))


def of_round(p: Argument, source: str, lemmas: tuple[str, ...], first: int) -> tuple[Fact, sympy.Expr]:
    """The recursion at the learning rates of the theorem, for every step from the first on, and its constant.

    lemmas  lemmas with conditions for all t >= 0; the corrected lemmas are about one round
    """
    symbol = largest(p)
    rate = p.read(eta_t).xreplace({Max(8 * L / mu, tau): symbol})
    at = {eta_t: rate, eta_later: rate.subs(t, t + tau), eta_start: rate.subs(t, t_0)}
    for name in lemmas:
        p.source(name, {eta_t: rate, eta_later: at[eta_later]})
    recursion = p.claim(source, at, under=[at_least(t, first), *p.symbols_of("c1.t0")])
    value = spread_out(recursion.value)
    # the constant does not depend on t: it is the rest at learning rate 1
    where_one = sympy.solve(rate - 1, t) or [t]
    constant = spread_out(value - value.coeff(Delta_t) * Delta_t).subs(t, where_one[0])
    p.equal("the recursion", value, spread_out((1 - rate * mu) * Delta_t + rate**2 * constant))
    return recursion, constant


@curried
def decreasing(p: Argument, source: str, last: str, *lemmas: str) -> None:
    """Theorems 1 and 2: the recursion from t = 1 on, then (30) or (59) at t = T."""
    recursion, constant = of_round(p, source, lemmas, 1)
    fact = p.claim(last, {B: constant}, given={"eq27.recursion": recursion}, under=[at_least(t, 1)])
    start = p.have("w_1 is the mean of the clients' parameters", Delta_1, "=", dist0_sq)
    p.conclude(at_the_end(p, p.put(fact, start), 1))


@curried
def decreasing_from_start(p: Argument, source: str) -> None:
    """gamma = max{8 L/mu, tau}: Delta_t <= v/(gamma+t) from t = 0 on, v = 4 B/mu^2 + gamma ||w_0 - w*||^2."""
    recursion, constant = of_round(p, source, (), 0)
    symbol = sympy.Symbol("max{8L/mu,tau}", positive=True)
    rate = p.read(eta_t).xreplace({Max(8 * L / mu, tau): symbol})
    by_symbol = (1 - rate * mu) * Delta_t + rate**2 * B
    whole = p.by_hand("B is a symbol for the constant", Delta_next, recursion.sign, by_symbol, recursion)
    p.require("a constant >= 0", at_least(constant, 0))
    top = 4 * B / mu**2 + symbol * d0
    distance = induction(p, (Delta_next, Delta_t), top / (symbol + t), (t, 0), d0, lambda hypothesis: whole)
    gap = p.put(smooth_at_minimum(p), distance)
    full = p.by_hand("B is a symbol for the constant", gap.quantity, gap.sign, gap.value.subs(B, constant), gap)
    p.conclude(at_the_end(p, full, 0))


# Appendix D: a sample of clients


def lemma5(p: Argument) -> None:
    """(60): the binarisations have mean zero, and the sampled clients' v have the mean vbar, in each entry."""
    mean_zero = p.by(rules.BINARISED, SAMPLED.sent, any_vector).over(SAMPLED.family)
    sampled = mean_of_sample(p, any_vector)
    because = tuple(1 / K * one for one in (mean_zero, *sampled))
    conclude_step(p, "(60)", w_mean, v_mean, *(-1 * one for one in because), by="d1.update.corrected")


def eq56(p: Argument) -> None:
    """(56): Lemma 5, given the v."""
    mean_zero = p.by(rules.BINARISED, SAMPLED.sent, v_bar - w_star).over(SAMPLED.family)
    sampled = mean_of_sample(p, v_bar - w_star)
    because = tuple(-2 / K * one for one in (mean_zero, *sampled))
    conclude_step(p, "(56)", Delta_next, jump_sq + v_dist, *because, by="d1.update.corrected")


@curried
def eq57(p: Argument, *lemmas: str) -> None:
    """(57): Lemmas 1, 2, 3 and 6 substituted into (56), with p_k = 1/N."""
    shares = alike(p)
    step, noise, spread, jump = lemmas
    facts = (p.claim(step), p.claim(noise, shares), p.claim(spread), p.claim(jump))
    p.conclude(p.put(p.claim("eq56"), *facts))


def eq61(p: Argument) -> None:
    """(61): the binarisations have mean zero, given the sample."""
    apart = SAMPLED.sum(SAMPLED.v) / K - v_bar
    mean_zero = -2 / K * p.by(rules.BINARISED, SAMPLED.sent, apart).over(SAMPLED.family)
    p.conclude(p.have("(61)", jump_sq, "=", A_bin + A_2, mean_zero, after=p.follow("d1.update.corrected")))


def eq62(p: Argument) -> None:
    """(62): independent binarisations, Assumption 5; the sample is drawn after the clients' local steps."""
    falling(p)
    drawn(p)
    p.symbols_of("c1.t0")
    count = t + 1 - t_0
    independent = p.by(rules.INDEPENDENT_BINARISATION, lambda c: c.sent, SAMPLED, SAMPLED)
    parts = p.have("independent", A_bin, "=", A_1_parts, 1 / K**2 * independent)
    sampled = p.by(rules.MEAN_OF_SAMPLE, (SAMPLED.v - w_0) ** 2, SAMPLED.family, EACH.family, sympy.Integer(1))
    steps, bounded = update(p, EACH, UP_TO)
    because = (binarised_parts(p, SAMPLED), -(q**2) * sampled, q**2 * K / N * steps, q**2 * K / N * count * bounded)
    bound = q**2 * count**2 * eta_start**2 * G**2 / K
    error = p.have("Assumption 5, (47)", A_1_parts, "<=", bound, *(1 / K**2 * one for one in because))
    p.conclude(p.put(parts, error), parts, error)


def eq63(p: Argument) -> None:
    """(63): the variance of a sample; the mean over all clients is vbar."""
    mean = EACH.sum(EACH.v) / N
    share = (N - K) / (K * N * (N - 1))
    variance = 1 / K**2 * p.by(rules.SAMPLE_OF, lambda c: c.v, SAMPLED, EACH)
    apart = share * (mean - v_bar) - (2 * SAMPLED.sum(SAMPLED.v) / K - mean - v_bar) / N
    p.conclude(
        p.have(
            "(63)", A_2, "=", share * v_spread, variance, p.by(rules.EQUAL_SHARES, lambda c: c.v, EACH, EVERY, apart)
        )
    )


def eq64(p: Argument) -> None:
    """(64): (63); clients are no further from their mean than from wbar_{t_0}; and (47) for the whole round."""
    falling(p)
    p.symbols_of("c1.t0")
    count = t + 1 - t_0
    mean = p.by(rules.EQUAL_SHARES, lambda c: c.v, EACH, EVERY, 2 * (v_bar - w_0))
    nearest = (mean, N * p.by(rules.SQUARE, v_bar - w_0))
    steps, bounded = update(p, EACH, UP_TO)
    bound = N * count**2 * eta_start**2 * G**2
    spread = p.have("the mean is nearest, (47)", v_spread, "<=", bound, *nearest, steps, count * bounded)
    p.conclude(p.put(p.claim("eq63"), spread))


@curried
def lemma6(p: Argument, of_binarisation: str, of_sample: str) -> None:
    """(65): (61), (62), (64)."""
    conclude_jump(p, p.put(p.claim("eq61"), p.claim(of_binarisation), p.claim(of_sample)))


# Appendix E: the non-convex case


def eq74(p: Argument) -> None:
    """(74): F is smooth as a mean of smooth functions."""
    shown(p, 0, p.by(rules.DESCENT_OF_MEAN, F_fun, AT["w_bar_next"], AT["v_bar"]))


def eq75(p: Argument) -> None:
    """(75): (74) in expectation; given the v, the inner product has mean 0."""
    p.symbols_of("d1.update.corrected")
    smooth = p.at("eq74", {SYMBOLS["w_bar_next"]: w_next, SYMBOLS["v_bar"]: v_bar})
    mean_zero = p.by(rules.BINARISED, SAMPLED.sent, grad_v).over(SAMPLED.family)
    because = (smooth, *(-1 / K * one for one in (mean_zero, *mean_of_sample(p, grad_v))))
    bound = F_v + L / 2 * jump_sq
    conclude_step(p, "(74), Lemma 5", F_bar_next, bound, *because, by="d1.update.corrected", sign="<=")


def eq76(p: Argument) -> None:
    """(76): F is smooth as a mean of smooth functions."""
    w, g = AT["w_bar"], AT["g_t"]
    shown(p, 0, p.by(rules.DESCENT_OF_MEAN, F_fun, w - eta * g, w))


def eq77(p: Argument) -> None:
    """(77): 2 <u, w> = ||u||^2 + ||w||^2 - ||u - w||^2."""
    p.conclude(p.have("(77)", 2 * inner_grad, "=", grad_sq + g_sq - apart_sq))


def eq78(p: Argument) -> None:
    """(78): the noise has mean zero; Jensen, and Lipschitz gradients."""
    fresh = 2 * p.by(rules.FRESH, EVERY.noise, grad_bar - g_bar).over(EVERY.family)
    noise = p.have("the noise has mean zero", apart_sq, "=", apart_bar_sq + noise_sq, fresh)
    at_bar = gradient(EVERY.function, w_bar)
    difference = grad_bar + EVERY.sum(at_bar) - 2 * g_bar
    mean = p.by(rules.MEAN_GRADIENT, EVERY.function, F_fun, w_bar, EVERY.family, difference)
    jensen = p.by(rules.JENSEN_OVER, at_bar - EVERY.local, EVERY.family)
    smooth = p.by(rules.LIPSCHITZ, EVERY.function, w_bar, EVERY.x).over(EVERY.family)
    apart = p.have("Jensen, Lipschitz gradients", apart_bar_sq, "<=", L**2 * spread_x, smooth, jensen, -1 * mean)
    p.conclude(p.put(noise, apart), noise, apart)


@curried
def eq79(p: Argument, apart: str) -> None:
    """(79): (77), then (78)."""
    p.conclude(p.put(p.scaled(p.claim("eq77"), -eta / 2), p.claim(apart)))


@curried
def eq80(p: Argument, inner: str) -> None:
    """(80): (76) in expectation, with (79)."""
    smooth = p.at("eq76", {SYMBOLS["w_bar"]: w_bar, SYMBOLS["g_t"]: g_t})
    bound = F_bar - eta * inner_grad + L * eta**2 / 2 * g_sq
    p.conclude(p.put(p.have("(76)", F_v, "<=", bound, smooth, after=p.follow("e1.update.corrected")), p.claim(inner)))


def eq81(p: Argument) -> None:
    """(81): the noise has mean zero."""
    fresh = p.by(rules.FRESH, EVERY.noise, g_bar).over(EVERY.family)
    p.conclude(p.have("(81)", g_sq, "=", gbar_sq + noise_sq, -2 * fresh))


@curried
def eq70(p: Argument, lemma7: str) -> None:
    """(70): the term of ||gbar||^2 is not positive."""
    p.conclude(p.claim(lemma7), part=0)
    p.decided(1)


@curried
def eq71(p: Argument, *sources: str) -> None:
    """(71): Lemmas 2, 3 and 6 substituted into (70), with p_k = 1/N and a constant learning rate."""
    descent, noise, spread, jump = sources
    constant = {eta_t: eta, eta_later: eta, eta_start: eta}
    facts = (p.claim(noise, alike(p)), p.claim(spread, constant), p.claim(jump, constant))
    p.conclude(p.put(p.claim(descent), *facts))


@curried
def eq72(p: Argument, source: str) -> None:
    """(72): (71) summed over t = 0 ... T-1, divided by T."""
    recursion = p.claim(source)
    mean = telescope(p, recursion, (F_bar_next, F_bar), grad_sq, p.start_of(F_bar), T, end=F_T)
    p.conclude(p.average(mean, grad_sq, sympy.Integer(1)))


@curried
def eq73(p: Argument, source: str) -> None:
    """(73): (72) with eta = 1/(L sqrt(T)), divided by eta/2; F(w_T) >= F*."""
    fact = p.claim(source, {eta: p.read(eta), T: p.read(T)})
    above = p.by(rules.BELOW, F_fun, vector("w_T"), lowest)
    p.conclude(p.put(fact, p.have("F(w_T) >= F*", -F_T, "<=", f_gap - F_0, above)))


def thm3(p: Argument) -> None:
    """(16) is (73), T = R tau."""
    p.conclude(p.claim("eq73", {T: p.read(T)}))


_OURS = ("lemma1", "lemma2.corrected", "lemma3.corrected")
PROOFS: dict[str, Proof] = {
    "lemma1": substituted("eq31", "eq42"),
    "lemma2": substituted("eq44"),
    "lemma2.corrected": substituted("eq44.corrected"),
    "lemma3": substituted("eq45", "eq46", "eq48"),
    "lemma3.corrected": substituted("eq45", "eq46.corrected", "eq48.corrected"),
    "lemma4": substituted("eq50"),
    "lemma4.corrected": substituted("eq50.corrected"),
    "eq24": eq24,
    "eq25": substituted("eq24", "lemma1", "lemma2", "lemma3", "lemma4"),
    "eq25.corrected": substituted("eq24", *_OURS, "lemma4.corrected"),
    "eq27": decided,
    "eq28": eq28,
    "eq29.choice": decided,
    "eq29": decided,
    "eq30": eq30,
    "thm1": decreasing("eq25", "eq30", "lemma3", "lemma4"),
    "thm1.corrected": decreasing("eq25.corrected", "eq30"),
    "thm1.from_start": decreasing_from_start("eq25.corrected"),
    "eq31": eq31,
    "eq32": eq32,
    "eq33": eq33,
    "eq34": eq34,
    "eq35": eq35,
    "eq36": eq36,
    "eq37": eq37,
    "eq38": eq38,
    "eq38.corrected": eq38,
    "eq39": eq39,
    "eq40": eq40,
    "eq41": eq41,
    "eq41.corrected": eq41,
    "eq42": eq42("eq38", "eq41"),
    "eq44.corrected": eq44,
    "eq45": eq45,
    "eq46.corrected": eq46,
    "eq47.corrected": eq47,
    "eq48.corrected": eq48,
    "eq50.corrected": eq50,
    "lemma5": lemma5,
    "eq56": eq56,
    "eq57": eq57("lemma1", "lemma2", "lemma3", "lemma6"),
    "eq57.corrected": eq57(*_OURS, "lemma6.corrected"),
    "eq59": eq30,
    "eq61": eq61,
    "eq62.corrected": eq62,
    "eq63": eq63,
    "eq64.corrected": eq64,
    "lemma6": lemma6("eq62", "eq64"),
    "lemma6.corrected": lemma6("eq62.corrected", "eq64.corrected"),
    "thm2": decreasing("eq57", "eq59", "lemma3", "lemma6"),
    "thm2.corrected": decreasing("eq57.corrected", "eq59"),
    "thm2.from_start": decreasing_from_start("eq57.corrected"),
    "eq74": eq74,
    "eq75": eq75,
    "eq76": eq76,
    "eq77": eq77,
    "eq78": eq78,
    "eq78.corrected": eq78,
    "eq79": eq79("eq78"),
    "eq79.corrected": eq79("eq78.corrected"),
    "eq80": eq80("eq79"),
    "eq80.corrected": eq80("eq79.corrected"),
    "eq81": eq81,
    "eq82": substituted("eq80", "eq81"),
    "eq82.corrected": substituted("eq80.corrected", "eq81"),
    "lemma7": substituted("eq75", "eq82"),
    "lemma7.corrected": substituted("eq75", "eq82.corrected"),
    "eq70": eq70("lemma7"),
    "eq70.corrected": eq70("lemma7.corrected"),
    "eq71": eq71("eq70", "lemma2", "lemma3", "lemma6"),
    "eq71.corrected": eq71("eq70.corrected", "lemma2.corrected", "lemma3.corrected", "lemma6.corrected"),
    "eq72": eq72("eq71"),
    "eq72.corrected": eq72("eq71.corrected"),
    "eq73": eq73("eq72"),
    "thm3": thm3,
    "thm3.corrected": eq73("eq72.corrected"),
}

# Our proofs of statements with a broken printed proof
REPAIRS: dict[str, Proof] = {"eq42": eq42("eq38.corrected", "eq41.corrected")}


def evidence() -> Iterator[Evidence]:
    """Every proof as evidence."""
    yield from evidence_of(PROOFS, "ledger", LANGUAGE, "fedbat")
    yield from evidence_of(REPAIRS, "repair", LANGUAGE, "fedbat")
    yield from for_printed({**PROOFS, **REPAIRS}, LANGUAGE, "fedbat")
