"""The proofs of Theorems 1 and 2, and of the corrected statements, from one round to a whole run; and all proofs by name.

`rounds` has the proofs about one round.  A proof is a function of an `Argument`: it gets its premises from the argument,
and concludes the statement's claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import sympy
from sympy import Eq, Gt, Rational

from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.checks import rounds
from fedtheory.theory.fedbcgd.checks.quantities import *
from fedtheory.theory.fedbcgd.checks.rounds import FEDBCGD, FEDBCGD_PLUS
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import (
    WITHOUT_LEMMA,
    Argument,
    Fact,
    Proof,
    Symbols,
    curried,
    evidence_of,
    facts,
    for_printed,
)
from fedtheory.theory.proofs.arithmetic import at_least, at_most
from fedtheory.theory.proofs.sequences import at_start, contracted, gathered, telescope
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Evidence

_half = Rational(1, 2)
by_alpha = {lam: 1 - 1 / alpha}  # lambda of a round, in statements with alpha


def gradients_at_x(p: Argument) -> Fact:
    """The sum of the clients' squared gradients, by (25)."""
    total = p.have("summed over the clients", grad_sq, "=", M * mean_grad_sq)
    return p.put(total, rounds.heterogeneous(p))


# One round, convex


def one_round(p: Argument, inner_product: Fact) -> Fact:
    """FedBCGD: (46), (47), (48) and the drift."""
    fact = p.put(p.claim("thm1.step46.corrected", by_alpha), inner_product, p.claim("thm1.step48.corrected"))
    drift = p.put(p.claim("lemma5.corrected"), p.put(gradients_at_x(p), rounds.gradient_and_gap(p)))
    return p.put(fact, drift)


def one_round_plus(p: Argument, square: Fact, drift: Fact) -> Fact:
    """FedBCGD+: (46), (47), Lemma 11 and Lemma 13."""
    fact = p.claim("thm1.step46.corrected", by_alpha)
    return p.put(fact, rounds.inner_product(p, FEDBCGD_PLUS), square, drift)


def with_gap_and_lag(p: Argument, fact: Fact, quantity: sympy.Expr, *others: Fact) -> Fact:
    """Add to both sides the rest of the quantity beyond E||z^{r+1} - x*||^2; `others` are bounds on this rest."""
    quantity = sympy.expand(quantity)
    besides = sympy.expand(quantity / quantity.coeff(dist_next) - dist_next)
    return p.put(p.shifted(fact, besides), *others)


def step50_corrected(p: Argument) -> None:
    """One round of FedBCGD, with the gap of the round before."""
    fact = one_round(p, p.claim("thm1.step47.corrected"))
    p.conclude(with_gap_and_lag(p, fact, p.goal().quantity))


def lemma15(p: Argument) -> None:
    """One round of FedBCGD+, with the gap of the round before and the lag."""
    fact = one_round_plus(p, p.claim("lemma11.corrected"), p.claim("lemma13.corrected"))
    p.conclude(with_gap_and_lag(p, fact, p.goal().quantity, p.claim("lemma14.corrected")))


# From one round to a run


def whole_run(p: Argument, fact: Fact, progress: sympy.Symbol, rho: sympy.Expr, total: sympy.Expr) -> Fact:
    """The weighted mean of the progress over the rounds; without momentum at the start, x^{-1} = z^0 = x^0."""
    p.needs(Property.AT_REST)
    recursion = gathered(p, fact, (state_next, state), rho)
    count = total if total.free_symbols <= {R} else R + 1
    return telescope(p, recursion, (state_next, state), progress, at_start(p, fact.quantity), total, count=count)


@curried
def decayed(p: Argument, name: str, *closed: Any) -> None:
    """mu > 0: the rounds r = 0 ... R, with weights (1-q)^-(r+1).

    closed  `times` and `least` of `contracted`, if they are not the usual ones
    """
    fact = p.claim(name)
    rho = sympy.expand(fact.value).coeff(dist_sq)
    total = sympy.Symbol("W", positive=True)
    mean = whole_run(p, fact, gap_x, rho, total)
    bound = contracted(p, mean, total, 1 - rho, R + 1, *closed)
    p.conclude(p.average(bound, gap_x, rho ** (-(r + 1))))


def at_zero(name: str) -> Fact:
    """The claim of a statement at mu = 0: a goal, not a premise."""
    (claimed,) = facts(catalogue.find(f"fedbcgd.{name}"))[:1]
    return Fact(claimed.quantity.subs(mu, 0), claimed.sign, claimed.value.subs(mu, 0))


def averaged(p: Argument, name: str, fact: Fact, *others: Fact) -> None:
    """mu = 0: the rounds r = 0 ... R with equal weights, from the recursion of `name` at mu = 0."""
    recursion = at_zero(name)
    fact = with_gap_and_lag(p, fact, recursion.quantity, *others)
    recursion = p.loosened(f"{name} at mu = 0", fact, recursion)
    mean = whole_run(p, recursion, gap_x, sympy.Integer(1), R + 1)
    p.conclude(p.average(mean, gap_x, sympy.Integer(1)))


def general_convex(p: Argument) -> None:
    """Theorem 1, case 2."""
    averaged(p, "thm1.step50.corrected", one_round(p, rounds.inner_product(p, FEDBCGD)))


def general_convex_plus(p: Argument) -> None:
    """Theorem 2, case 2."""
    fact = one_round_plus(p, p.claim("lemma11.corrected"), p.claim("lemma13.corrected"))
    averaged(p, "lemma15.corrected", fact, p.claim("lemma14.corrected"))


# Non-convex


def dimensionless(p: Argument, at: Symbols, back: Symbols) -> None:
    """Replace beta eta_tilde, gamma^2 beta eta_tilde and others by symbols for z3; beta and gamma occur only in these."""
    step, turn = sympy.Symbol("step", positive=True), sympy.Symbol("turn", nonnegative=True)
    own = {beta: step / eta_tilde, gamma: sympy.sqrt(turn / step)}
    p.show({**own, **at}, {step: beta * eta_tilde, turn: gamma**2 * beta * eta_tilde, **back})


def nonconvex(p: Argument) -> None:
    """f(z^r) + weight ||v^r||^2 falls; with this weight the momentum drops out."""
    dimensionless(p, {}, {})
    fact = p.put(p.claim("thm1.step55", by_alpha), p.claim("thm1.step56.corrected"))
    weight = alpha * sympy.expand(fact.value).coeff(v_sq)
    fact = p.put(p.shifted(fact, weight * v_next_sq), p.claim("thm1.step59.corrected", by_alpha))
    drift = p.put(p.claim("lemma5.corrected"), gradients_at_x(p))
    fact = p.put(fact, p.claim("thm1.step61.corrected"), drift)
    rest = sympy.expand(fact.value)
    noise = sympy.expand(rest - sum(rest.coeff(one) * one for one in (gap, v_sq, grad_sq_x)))
    simpler = Fact(fact.quantity, "<=", gap + weight * v_sq - eta_tilde * grad_sq_x + noise)
    simpler = p.loosened("the progress is at least eta_tilde", fact, simpler)
    mean = whole_run(p, simpler, grad_sq_x, sympy.Integer(1), R)
    p.conclude(p.average(mean, grad_sq_x, sympy.Integer(1)))


def lemma18(p: Argument) -> None:
    """The same with the lag of the control variates; K and M enter as K/M and as the spread of a sample's mean (<= 1)."""
    part = sympy.Symbol("part", positive=True)
    square = p.claim("lemma11.nonconvex")
    simpler = Fact(G_sq, "<=", square.value + lag * (2 * T**2 - sympy.expand(square.value.coeff(lag))))
    simpler = p.loosened("the spread of a sample's mean is at most 1", square, simpler)
    dimensionless(p, {lam: 1 - 1 / alpha, K: part * M}, {part: K / M})
    quantity = sympy.expand(p.read(p.goal().quantity))
    fact = p.put(p.claim("thm1.step55"), rounds.gradients_inner(p, FEDBCGD_PLUS))
    besides = sympy.expand(quantity / quantity.coeff(gap_next) - gap_next)
    fact = p.put(p.shifted(fact, besides), p.claim("lemma17.corrected"), p.claim("thm1.step59.corrected"))
    p.conclude(p.put(fact, simpler, p.claim("lemma16.corrected")))


def summed(p: Argument) -> None:
    """The corrected Lemma 18, telescoped."""
    mean = whole_run(p, p.claim("lemma18.corrected", by_alpha), grad_sq_x, sympy.Integer(1), R)
    p.conclude(p.average(mean, grad_sq_x, sympy.Integer(1)))


# The printed steps that fail, and the steps that rest on them


def lemma5_printed(p: Argument) -> None:
    """(34), (35): the recursion of one step, unrolled; in print the powers begin with 1, here with 0, as they must."""
    steps = 64  # one at which it fails
    powers = sum(((1 + Rational(2, steps - 1)) ** power for power in range(steps - 1)), sympy.S.Zero)
    name = f"(34) at T = {steps}: the powers of 1 + 2/(T-1) add up to at most 3T"
    p.step(name, lambda: p.decided_by_z3((), at_most(sympy.floor(powers), 3 * steps)))
    unrolled = 3 * T**2 * (2 * T * eta**2 * grad_sq + M * eta**2 * sigma**2)
    p.conclude(p.by_hand("(34) in every step of every client, (35)", drift_x, "<=", unrolled))


def step49(p: Argument) -> None:
    """(49) from (46), (47), (48) and Lemma 5, which is about x^r but is applied at z^r."""
    fact = p.put(p.claim("thm1.step46"), p.claim("thm1.step47"))
    square, drift = p.claim("thm1.step48"), p.claim("lemma5")
    gradients = p.put(p.have("summed", grad_sq, "=", M * mean_grad_sq), p.claim("lemma2"))
    gaps = p.have("the clients start from z^r, not x^r = z^r - gamma v^r", gap_x, "=", gap)
    from_z = p.have("the drift from x^r is that from z^r", drift_x, "=", drift_z)
    from_x = p.have("the drift from z^r is that from x^r", drift_z, "=", drift_x)
    drift = p.put(from_x, p.put(drift, p.put(gradients, gaps)))
    p.conclude(p.put(fact, p.put(square, gaps, from_z), drift))


def step50(p: Argument) -> None:
    """(50), (51): the bracket is at least alpha eta T/4; then a division by alpha eta T/4."""
    fact = p.claim("thm1.step49")
    value = sympy.expand(fact.value)
    bracket = -value.coeff(gap)
    p.require("the bracket is at least alpha eta T/4", at_least(bracket / eta_tilde, 1))
    rest = sympy.expand((value + bracket * gap - fact.quantity) / eta_tilde)
    p.conclude(p.by_hand("the gap on the left, divided by alpha eta T/4", gap, fact.sign, rest, fact))


def discounted(p: Argument) -> None:
    """(57) to (59), by induction over the rounds, without momentum at the start.

    E||v^r||^2 <= eta^2/(1 - lambda) times the discounted sum.  A round turns this sum into lambda times it plus E||G^r||^2.
    """
    p.needs(Property.AT_REST)
    share_ = eta**2 / (1 - lam)
    moved_on = p.claim("thm1.step59.corrected")
    reason = "the rounds before, by induction"
    before = p.by_hand(reason, v_sq, "<=", share_ * G_discounted, moved_on, by=WITHOUT_LEMMA)
    after = Fact(v_next_sq, "<=", share_ * (lam * G_discounted + G_sq))
    p.loosened("from round to round", p.put(moved_on, before), after)
    moved = p.have("z^r - x^r = gamma v^r", zx_sq, "=", gamma**2 * v_sq)
    p.conclude(p.put(replace(moved, value=p.read(moved.value)), before))


def drawn_printed(p: Argument) -> Fact:
    """The second line of (61): Lemma 4 (27) for the sums of the clients' stochastic gradients."""
    jensen = 1 / M**2 * p.by(rules.JENSEN_OVER, ALL.of_client(ALL.stochastic), A)
    mean = p.have("Jensen", every_sq / M**2, "<=", each_sq / M, jensen)
    at = {sample_sq: G_sq, grad_sq_x: mean.quantity, mean_grad_sq: mean.value}
    return p.claim("lemma4.part1", at, under=[mean])


def three_terms(p: Argument) -> Fact:
    """The clients' summed gradients in three parts: changes, dispersion, T grad f(x)."""
    parts = (ALL.of_client(ALL.local - ALL.at_start), T * (ALL.at_start - at_x), T * at_x)
    jensen = p.by(rules.JENSEN, *parts).over(A)
    alike = 3 * T**2 * p.by(rules.DISSIMILAR, A, ALL.function, f, x_r)
    bound = 3 * (each_moved_sq + M * T**2 * G**2 + M * T**2 * grad_sq_x)
    return p.have("three terms", each_local_sq, "<=", bound, jensen, alike)


def square_nonconvex_printed(p: Argument) -> None:
    """(61): Lemma 4 for the clients' sums, their noise, and the three parts of the summed gradients."""
    noise, local = ALL.of_client(ALL.noise.vector), ALL.of_client(ALL.local)
    successive = 2 * p.by(rules.SUCCESSIVE, ALL.noise, I).over(A)
    variance = 2 * p.by(rules.VARIANCE, ALL.noise).over(I, A)
    two = p.by(rules.JENSEN, noise, local).over(A)
    each = p.have("noise", each_sq, "<=", 2 * each_local_sq + 2 * M * T * sigma**2, two, successive, variance)
    fact = p.put(drawn_printed(p), p.put(each, three_terms(p)))
    goal = sympy.expand(p.goal().value)
    p.at_most("(61)", sympy.expand(fact.value).coeff(G**2) * G**2, goal.coeff(G**2) * G**2, [G], measured=False)
    jensen = p.by(rules.JENSEN_OVER, ALL.local - ALL.at_start, I).over(A)
    smooth = T * p.by(rules.LIPSCHITZ, ALL.function, ALL.point, x_r).over(I, A)
    moved = p.have("changes", each_moved_sq, "<=", T * beta**2 * drift_x, jensen, smooth)
    apart = p.by(rules.JENSEN, ALL.sum(ALL.noise.vector), ALL.sum(ALL.local))
    independent = (2 * p.by(rules.INDEPENDENT, ALL.noise, I, A), 2 * p.by(rules.VARIANCE, ALL.noise).over(I, A))
    bound = 2 * local_sum_sq + 2 * M * T * sigma**2
    every = p.have("all clients", every_sq, "<=", bound, apart, *independent)
    p.conclude(p.put(fact, moved, every))


def collected(p: Argument) -> None:
    """(64): the coefficient of E||G^r||^2 from (55), (56) and (59), summed over the rounds as in (60)."""
    smooth, inner_, momentum = p.claim("thm1.step55"), p.claim("thm1.step56"), p.claim("thm1.step59.momentum")
    moved = sympy.expand(smooth.value).coeff(inner_grad) * sympy.expand(inner_.value).coeff(zx_sq)
    of_sum = moved * sympy.expand(momentum.value).coeff(G_discounted) / (1 - lam)
    value = sympy.expand(smooth.value).coeff(G_sq) + of_sum
    reason = "discounted sums, added up over the rounds, are at most 1/(1 - lambda) times the sum, (60)"
    p.conclude(p.by_hand(reason, C_1, "=", value, smooth, inner_, momentum, by=WITHOUT_LEMMA))


def step66(p: Argument) -> None:
    """(66): the coefficient of the squared gradients is >= alpha eta T/4, even without the momentum; a = 1/(4T)."""
    fact = p.put(p.claim("thm1.step55", by_alpha), p.claim("thm1.step56", {a: 1 / (4 * T)}))
    drift = p.put(p.claim("lemma5"), twice_heterogeneous(p))
    fact = p.put(fact, p.claim("thm1.step61"), drift)
    progress = -sympy.expand(fact.value).coeff(grad_sq_x) / eta_tilde
    p.require("the coefficient of ||grad f(x^r)||^2 is at least alpha eta T/4", at_least(progress, 1))


def twice_heterogeneous(p: Argument) -> Fact:
    """The sum of the clients' squared gradients as in (65): 2 M (G^2 + ||grad f||^2)."""
    exact = gradients_at_x(p)
    printed = Fact(grad_sq, "<=", 2 * M * (G**2 + grad_sq_x))
    return p.loosened("(65)", exact, printed)


def lemma15_printed(p: Argument) -> None:
    """(94) to (98): (76), Lemmas 11 to 14 as printed; the gap of the round before replaces the gap of the round."""
    fact = p.put(p.claim("thm2.step76", by_alpha), p.claim("lemma12"), p.claim("lemma11"))
    drifts = p.have("(74)", drift_z, "=", M * T * E_r)
    drift, lagging = p.claim("lemma13"), p.claim("lemma14")
    p.conclude(with_gap_and_lag(p, p.put(fact, drifts, drift), p.goal().quantity, lagging))


def lemma17_printed(p: Argument) -> None:
    """(119): for a sampled client alpha_i^r is z^{r-1}; (119) compares it with the model, which depends on the sample."""
    renewed = -1 / M * p.by(rules.RENEWED, (alpha_next - rounds.z_next) ** 2, alpha_next, z, SAMPLE)
    value = (1 - K / M) * kept_sq + K / M * step_sq
    p.conclude(p.have("the sampled clients are independent of z^r, (119)", Xi_r, "=", value, renewed))


def lemma18_printed(p: Argument) -> None:
    """(122) to (127) with a = 2/3, Lemmas 16 and 17 as printed."""
    drift, lagging = p.claim("lemma16"), p.claim("lemma17.proof", {a: Rational(2, 3)})
    fact = p.put(p.claim("thm1.step55", by_alpha), p.claim("thm1.step56", {a: 1 / T}))
    besides = sympy.expand(p.goal().quantity - gap)
    p.conclude(p.put(p.shifted(fact, besides), lagging, drift))


def lemma8(p: Argument) -> None:
    """(39): d_r = d_{r-1} - eta (share) + c_1 eta^2 + c_2 eta^3, telescoped, at the smallest of three step sizes.

    With u = (c_1 rho)^(1/2), v = c_2^(1/3) rho^(2/3), rho = d_0/(R+1): 1/eta = max(u/rho, v/rho, 1/eta_max).
    """
    p.require("d_0 > 0: otherwise no step size is small enough", Gt(d0, 0, evaluate=False))
    noise = c1 * eta**2 + c2 * eta**3
    recursion = p.have("a round's share of the mean", state_next, "=", state - eta * share + noise)
    mean = telescope(p, recursion, (state_next, state), share, d0, R + 1)
    mean = p.average(mean, share, sympy.Integer(1))
    if (mean.quantity, mean.sign) != (p.goal().quantity, p.goal().sign):
        p.fail("(39)", f"it is about {p.goal().quantity} {p.goal().sign}")
    u, v = sympy.symbols("u v", nonnegative=True)
    rho = sympy.Symbol("rho", positive=True)
    at = {c1: u**2 / rho, c2: v**3 / rho**2, d0: rho * (R + 1)}
    largest = sympy.Max(u / rho, v / rho, 1 / eta_max)
    derived, claimed = (sympy.simplify(e.subs(at, simultaneous=True)) for e in (mean.value, p.goal().value))
    p.require("(39)", at_most(derived, claimed), Eq(eta * largest, 1, evaluate=False))
    p.done()


# The paper's own proofs
PROOFS: dict[str, Proof] = {
    "lemma2": rounds.lemma2,
    "lemma4.part1": rounds.sample_printed,
    "lemma4.part2": rounds.sample_most,
    "lemma6": rounds.lemma6,
    "lemma8": lemma8,
    "lemma12": rounds.inner_printed(FEDBCGD_PLUS),
    "thm1.step47": rounds.inner_printed(FEDBCGD),
    "thm1.step48": rounds.square_printed,
    "thm1.step49": step49,
    "thm1.step50": step50,
    "thm1.step55": rounds.descent,
    "thm1.step56": rounds.step56,
    "thm1.step61": square_nonconvex_printed,
    "thm1.step66": step66,
    "thm2.step76": rounds.combined,
    "lemma15": lemma15_printed,
    "lemma5": lemma5_printed,
    "lemma17.proof": lemma17_printed,
    "lemma18": lemma18_printed,
}

# The proofs of the corrected statements
REPAIRS: dict[str, Proof] = {
    "lemma4.part1.corrected": rounds.of_identity,
    "lemma5.corrected": rounds.lemma5,
    "thm1.step46.corrected": rounds.combined,
    "thm1.step47.corrected": rounds.inner_corrected,
    "thm1.step48.corrected": rounds.square,
    "thm1.step50.corrected": step50_corrected,
    "thm1.strongly_convex.corrected": decayed("thm1.step50.corrected"),
    "thm1.general_convex.corrected": general_convex,
    "thm1.step56.corrected": rounds.step56_corrected,
    "thm1.step59.corrected": rounds.momentum,
    "thm1.step59.momentum": discounted,
    "thm1.step64.momentum": collected,
    "thm1.step48.four": rounds.square_of_many(noisy=True),
    "thm1.step48.exact": rounds.square_of_many(noisy=False),
    "thm1.step61.corrected": rounds.square,
    "thm1.nonconvex.corrected": nonconvex,
    "lemma6.corrected": rounds.lemma6,
    "lemma12.corrected": rounds.inner_printed(FEDBCGD_PLUS),
    "lemma11.corrected": rounds.lemma11,
    "lemma11.nonconvex": rounds.lemma11_nonconvex,
    "lemma13.corrected": rounds.lemma13,
    "lemma14.corrected": rounds.lemma14,
    "lemma15.corrected": lemma15,
    "thm2.strongly_convex.corrected": decayed("lemma15.corrected"),
    "thm2.general_convex.corrected": general_convex_plus,
    "lemma16.corrected": rounds.lemma16,
    "lemma17.corrected": rounds.lemma17,
    "lemma18.corrected": lemma18,
    "thm2.nonconvex.corrected": summed,
}


def evidence() -> Iterator[Evidence]:
    """Every proof as evidence."""
    yield from evidence_of(PROOFS, "ledger", LANGUAGE, "fedbcgd")
    yield from evidence_of(REPAIRS, "repair", LANGUAGE, "fedbcgd")
    yield from for_printed({**PROOFS, **REPAIRS}, LANGUAGE, "fedbcgd")
