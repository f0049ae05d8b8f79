"""The proofs of Theorems 1 and 2, and of the corrected statements, replayed from the lemmas to the constants.

Every premise is the catalogue's claim, every conclusion the statement's own, so that a changed constant anywhere breaks
the ledger at the step that used it.  gamma is alpha - 1 and lambda 1 - 1/alpha throughout; where a statement defines
eta_tilde, eta is written in it, and f measured in units in which beta = 1: all terms scale alike, as the units check says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from sympy import Eq, Rational, exp

from theory import catalogue
from theory.fedbcgd.paper import (
    C_0,
    C_prev,
    C_r,
    E_r,
    F,
    G,
    G_discounted,
    G_mean_sq,
    G_sq,
    K,
    M,
    N,
    R,
    T,
    Xi,
    Xi_r,
    a,
    alpha,
    beta,
    d0,
    dist_next,
    dist_sq,
    drift_x,
    drift_z,
    eta,
    eta_tilde,
    gamma,
    gap,
    gap_prev,
    gap_x,
    gap_x_prev,
    grad_sq,
    grad_sq_prev,
    grad_sq_x,
    inner,
    inner_grad,
    lag,
    lag_0,
    lag_next,
    lam,
    local_sum_sq,
    mean_grad_sq,
    mu,
    sigma,
    t,
    v_next_sq,
    v_sq,
    zx_sq,
)
from theory.proofs.arithmetic import below_exponential, everywhere
from theory.proofs.ledger import Ledger, Proof, bound_of, conditions_of, jensen, powers, proof
from theory.statement import Bound, Order, Statement

ATOMS = [C_0, C_prev, F, G, G_mean_sq, G_sq, Xi, d0, dist_sq, drift_x, drift_z, gap, gap_prev, gap_x, gap_x_prev]
ATOMS += [grad_sq, grad_sq_prev, grad_sq_x, inner, inner_grad, lag, lag_0, local_sum_sq, mean_grad_sq, sigma]
ATOMS += [v_next_sq, v_sq, zx_sq, E_r, Xi_r]
_momentum = {gamma: alpha - 1, lam: 1 - 1 / alpha}
_half = Rational(1, 2)
# Drift and noise of the virtual gradient about its value at x: twice, and twice again
_split = 4 * T * beta**2 / M * drift_x + 4 * T / K * sigma**2


def claimed(name: str) -> Bound:
    """The claim of a statement of this paper, as it stands in the catalogue."""
    return bound_of(catalogue.find(f"fedbcgd.{name}"))


def read(statement: Statement, e: sympy.Expr) -> sympy.Expr:
    """An expression in alpha and eta_tilde, where the statement defines that, in the place of gamma, lambda and eta."""
    if eta_tilde in statement.where:
        e = e.subs(eta, eta_tilde / (statement.where[eta_tilde] / eta)).subs(beta, 1)
    return e.subs(_momentum)


def opened(statement: Statement) -> tuple[Ledger, Callable[[sympy.Expr], sympy.Expr], sympy.Expr]:
    """A ledger under the statement's conditions, how to read expressions in it, and the value it claims."""
    relations = [read(statement, c) for c in conditions_of(statement)]
    return (
        Ledger([r for r in relations if r != sympy.true and not r.has(exp)]),
        lambda e: read(statement, e),
        sympy.expand(read(statement, bound_of(statement).value)),
    )


def used(ledger: Ledger, of: Callable[[Any], Any], *names: str) -> None:
    """The conditions of what is used follow from those of the statement."""
    for name in names:
        ledger.admits(catalogue.find(f"fedbcgd.{name}"), of)


# What is used of vectors: identities and inequalities of inner products hold when they hold on the line.


def gradients_and_gaps(ledger: Ledger) -> None:
    """||grad h||^2 <= 2 beta (h - min h): min h is at most h after a step of length 1/beta.

    Of f; and of f_i - <grad f_i(x*), .>, convex and least at x*, whose mean over clients is f.
    """
    g, drop = sympy.symbols("g h-min(h)", real=True)
    ledger.require(
        "squared gradients and gaps", g**2 <= 2 * beta * drop, drop >= g**2 / beta - beta / 2 * (g / beta) ** 2
    )


# Lemmas


def lemma2(statement: Statement) -> Ledger:
    """(25), (26): the mean square is the square of the mean and the dispersion."""
    ledger, _, value = opened(statement)
    gradients_and_gaps(ledger)
    ledger.at_most("(26)", 2 * beta * gap_x + G**2, value, ATOMS)
    return ledger


def sample(statement: Statement) -> Ledger:
    """Lemma 4, an identity: the proof's fourth line."""
    ledger, _, value = opened(statement)
    ledger.equal("K of M", claimed("lemma4.lhs").value, value)
    return ledger


def sample_most(statement: Statement) -> Ledger:
    """(27), (28) from the identity."""
    ledger, _, value = opened(statement)
    ledger.require("from the identity", claimed("lemma4.lhs").value <= value, M >= 2)
    return ledger


def lemma5(statement: Statement) -> Ledger:
    """y_t - x is -eta times t noises and t gradients; Lemma 9 (41), Jensen, and each gradient about its value at x."""
    ledger, _, value = opened(statement)
    jensen(ledger, 2)
    drifts = 4 * eta**2 * beta**2 * powers(ledger, t, t, T) * drift_x  # each step's drift is counted at the later steps
    rest = 4 * eta**2 * powers(ledger, t**2, t, T) * grad_sq + 2 * eta**2 * powers(ledger, t, t, T) * M * sigma**2
    ledger.at_most("summed over the round", ledger.solve("drift", drifts + rest, drift_x, _half), value, ATOMS)
    return ledger


def lemma6(statement: Statement) -> Ledger:
    """Noise and gradients apart by Lemma 9 (41); Jensen over K and T; the K clients of a block are independent."""
    ledger, _, value = opened(statement)
    jensen(ledger, 2)
    ledger.at_most("(36)", 2 * T / M * grad_sq + 2 * T / K * sigma**2, value, ATOMS)
    return ledger


def tracked_drift(start: Callable[[Ledger], sympy.Expr]) -> Callable[[Statement], Ledger]:
    """Lemmas 13, 16: y_t - x is -eta times t gradient changes on the same mini-batches, and t times h_i.

    h_i = grad f_i(x) - c_i + c; `start` bounds the mean of their squares.
    """

    def check(statement: Statement) -> Ledger:
        ledger, _, value = opened(statement)
        jensen(ledger, 2)
        drifts = 2 * eta**2 * beta**2 * powers(ledger, t, t, T) * drift_x
        rest = 2 * eta**2 * powers(ledger, t**2, t, T) * M * start(ledger)
        ledger.at_most(
            "summed over the round", ledger.solve("drift", drifts + rest, drift_x, Rational(1, 4)), value, ATOMS
        )
        return ledger

    return check


def about_optimum(ledger: Ledger) -> sympy.Expr:
    """(83): h_i is grad f_i(x) - grad f_i(x*), minus c_i - grad f_i(x*), plus the mean of those."""
    jensen(ledger, 3)
    gradients_and_gaps(ledger)
    return 3 * (2 * beta * gap_x + C_prev + C_prev)


def about_mean(ledger: Ledger) -> sympy.Expr:
    """h_i is grad f(x) plus a deviation of mean zero, whose mean square is at most the lag."""
    return grad_sq_x + lag


def lemma11(statement: Statement) -> Ledger:
    """Jensen over K, T and four parts: gradient change, gradient at x, c_i and c about their values at x*."""
    ledger, _, value = opened(statement)
    jensen(ledger, 4)
    gradients_and_gaps(ledger)
    derived = 4 * T * beta**2 / M * drift_x + 4 * T**2 * (2 * beta * gap_x + C_prev + C_prev)
    ledger.at_most("(77)", derived, value, ATOMS)
    return ledger


def lemma11_nonconvex(statement: Statement) -> Ledger:
    """Gradient changes apart; T grad f(x), and deviations of the lag's size from clients drawn without replacement."""
    ledger, _, value = opened(statement)
    jensen(ledger, 2)
    deviations = claimed("lemma4.part1.corrected").value.subs({grad_sq_x: 0, mean_grad_sq: lag})
    ledger.at_most("(113)", 2 * T * beta**2 / M * drift_x + 2 * T**2 * (grad_sq_x + deviations), value, ATOMS)
    return ledger


def lemma12(statement: Statement) -> Ledger:
    """(80), which is (47); the statement leaves out a factor T >= 1."""
    ledger, _, value = opened(statement)
    ledger.at_most("(80)", claimed("thm1.step47").value, value, ATOMS)
    return ledger


def lemma14(statement: Statement) -> Ledger:
    """A block of c_i becomes that of grad f_i(x^r) with probability K/M."""
    ledger, _, value = opened(statement)
    gradients_and_gaps(ledger)
    ledger.at_most("(88)", (1 - K / M) * C_prev + K / M * 2 * beta * gap_x, value, ATOMS)
    return ledger


def lemma17(statement: Statement) -> Ledger:
    """A block of c_i lags by nothing behind grad f_i(x^r) with probability K/M; then the model moves by v^{r+1}."""
    ledger, _, value = opened(statement)
    p = sympy.Symbol("p", positive=True)  # K/M
    share = p / (2 * (1 - p))
    u, v = sympy.symbols("u v", real=True)
    both = (1 + share) * u**2 + (1 + 1 / share) * v**2
    ledger.require("relaxed triangle", (u + v) ** 2 <= both, p < 1)
    ledger.require("what is kept", (1 + share) * (1 - p) <= 1 - p / 2, p < 1)
    ledger.require("what the move costs", 1 + 1 / share <= 2 / p, p < 1)
    derived = (1 - K / (2 * M)) * lag + 2 * M / K * beta**2 * v_next_sq
    ledger.at_most("(117)", derived, value, ATOMS)
    return ledger


# One round, convex


def combined(statement: Statement) -> Ledger:
    """(46): z^{r+1} - x* = z^r - x* - alpha eta G^r, by Lemma 10."""
    ledger, _, value = opened(statement)
    ledger.at_most("the square", dist_sq + 2 * eta * alpha * inner + eta**2 * alpha**2 * G_sq, value, ATOMS)
    return ledger


def inner_product(statement: Statement) -> Ledger:
    """(47): Lemma 1 for every client and step, about z^r."""
    ledger, _, value = opened(statement)
    ledger.at_most("Lemma 1", -T * gap - T * mu / 4 * dist_sq + beta / M * drift_z, value, ATOMS)
    return ledger


def inner_product_corrected(statement: Statement) -> Ledger:
    """Lemma 1 about x^r, towards x* and, gamma times, towards x^{r-1}."""
    ledger, of, value = opened(statement)
    u, w = sympy.symbols("u w", real=True)
    ledger.require(
        "||z - x*||^2 <= alpha (||x - x*||^2 + gamma ||x - x_prev||^2)",
        (u + of(gamma) * w) ** 2 <= alpha * (u**2 + of(gamma) * w**2),
    )
    towards = -T * gap_x + beta / M * drift_x
    back = -T * (gap_x - gap_x_prev) + beta / M * drift_x
    ledger.at_most("Lemma 1 twice", of(towards + gamma * back) - T * mu / (4 * alpha) * dist_sq, value, ATOMS)
    return ledger


def square_printed(statement: Statement) -> Ledger:
    """(48): Lemma 6 and 3 for the drift, Lemma 4 and 2 for the gradients at x^r."""
    ledger, _, value = opened(statement)
    sampled = (
        claimed("lemma4.part1").value.subs(grad_sq_x, 2 * beta * gap_x).subs(mean_grad_sq, claimed("lemma2").value)
    )
    ledger.at_most("(48)", _split + 2 * T**2 * sampled, value, ATOMS)
    return ledger


def square(of_mean: sympy.Expr) -> Callable[[Statement], Ledger]:
    """(48), (61) corrected: Lemma 9 and Jensen for noise and drift, Lemma 4 as an identity, Assumption 4."""

    def check(statement: Statement) -> Ledger:
        ledger, _, value = opened(statement)
        jensen(ledger, 2)
        if of_mean != grad_sq_x:
            gradients_and_gaps(ledger)
        sampled = claimed("lemma4.part1.corrected").value.subs(mean_grad_sq, grad_sq_x + G**2).subs(grad_sq_x, of_mean)
        ledger.at_most("drift, noise, gradients at x", _split + 2 * T**2 * sampled, value, ATOMS)
        return ledger

    return check


def one_round(
    ledger: Ledger,
    of: Callable[[sympy.Expr], sympy.Expr],
    square_of: str,
    drift_of: str,
    gradients: sympy.Expr,
) -> sympy.Expr:
    """A bound on E||z^{r+1} - x*||^2: (46), (47), (48) and the drift."""
    used(ledger, of, "thm1.step46.corrected", "thm1.step47.corrected", square_of, drift_of)
    v = claimed("thm1.step46.corrected").value
    v = v.subs(inner, claimed("thm1.step47.corrected").value).subs(G_sq, claimed(square_of).value)
    drift = claimed(drift_of).value.subs(grad_sq, gradients)
    return sympy.expand(of(sympy.expand(v).subs(drift_x, drift)))


def step50_corrected(statement: Statement) -> Ledger:
    """One round of FedBCGD, with the gap of the round before."""
    ledger, of, value = opened(statement)
    quantity = bound_of(statement).quantity
    weight = of(quantity.coeff(gap_x))
    v = one_round(ledger, of, "thm1.step48.corrected", "lemma5.corrected", M * claimed("lemma2").value)
    ledger.at_most("one round", v + weight * gap_x, value, ATOMS)
    return ledger


def lemma15(statement: Statement) -> Ledger:
    """One round of FedBCGD+, with the gap of the round before and the lag."""
    ledger, of, value = opened(statement)
    quantity = sympy.expand(bound_of(statement).quantity)
    v = one_round(ledger, of, "lemma11.corrected", "lemma13.corrected", grad_sq)
    used(ledger, of, "lemma14.corrected")
    v += of(quantity.coeff(gap_x)) * gap_x + of(quantity.coeff(C_r) * claimed("lemma14.corrected").value)
    ledger.at_most("one round", v, value, ATOMS)
    return ledger


# From one round to a run


def recursion(name: str) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr]:
    """Of a claim V_next <= (1-q) V - progress gap_x + noise: V before the round without its factor, progress, noise."""
    value = sympy.expand(claimed(name).value)
    progress = -value.coeff(gap_x)
    state = {dist_sq: d0, gap_x_prev: F, C_prev: C_0}
    before = sympy.Add(*(value.coeff(atom) * start for atom, start in state.items()))
    noise = value - sympy.Add(*(value.coeff(atom) * atom for atom in [*state, gap_x]))
    return before, progress, sympy.expand(noise)


def averaged(name: str) -> Callable[[Statement], Ledger]:
    """mu = 0: telescoped over the rounds from x^0 ... x^R, R + 1 >= R of them; x^{-1} = x^0, whose gap is F."""

    def check(statement: Statement) -> Ledger:
        ledger, of, value = opened(statement)
        before, progress, noise = (of(e).subs(mu, 0) for e in recursion(name))
        used(ledger, lambda c: sympy.true if mu in of(c).free_symbols else of(c), name)
        ledger.at_most("telescoped", sympy.expand((before / R + noise) / progress), value, ATOMS)
        return ledger

    return check


def contracted(name: str) -> Callable[[Statement], Ledger]:
    """mu > 0: weights (1-q)^-(r+1); over R rounds their sum is ((1-q)^-R - 1)/q, more over R + 1.

    (1-q)^R <= exp(-q R) <= 1/2 for q R >= 1.
    """

    def check(statement: Statement) -> Ledger:
        ledger, of, value = opened(statement)
        used(ledger, of, name)
        before, progress, noise = (of(e) for e in recursion(name))
        claim = claimed(name)
        rate = sympy.expand(1 - of(sympy.expand(claim.value).coeff(dist_sq)))
        q, P, decay, x = sympy.symbols("q P decay x", positive=True)
        index = sympy.Symbol("n", integer=True, nonnegative=True)
        total = ((1 - q) ** (-index) - 1) / q
        ledger.equal("the weights' sum, 0 rounds", total.subs(index, 0), sympy.Integer(0))
        ledger.equal("the weights' sum, one more", total.subs(index, index + 1), total + (1 - q) ** (-(index + 1)))
        ledger.step("1 - u <= exp(-u)", below_exponential)
        written = {e.args[0] for e in value.atoms(exp)}
        for exponent in written:
            ledger.require("exponent", -exponent / R <= rate)
        ledger.require("q R >= 1", rate * R >= 1)
        ledger.step("exp(-1) <= 1/2", lambda: everywhere(exp(-x) <= _half + 0 * x, x, 1, 1))
        ledger.require("P/(1-P) <= 2 exp(-q R)", 2 * decay >= P / (1 - P), decay >= P, decay <= _half)
        # V before the first round is `before` over 1 - q
        start = sympy.expand(sympy.cancel(before / (1 - rate)))
        derived = sympy.expand(2 * rate / progress * start) * decay + sympy.expand(noise / progress)
        goal = value.xreplace(dict.fromkeys(value.atoms(exp), decay))
        ledger.at_most("unrolled", sympy.expand(derived), sympy.expand(goal), [*ATOMS, decay])
        return ledger

    return check


# Non-convex


def descent(statement: Statement) -> Ledger:
    """(55): smoothness of f between z^r and z^{r+1}."""
    ledger, _, value = opened(statement)
    ledger.at_most("smoothness", gap + alpha * eta * inner_grad + beta / 2 * alpha**2 * eta**2 * G_sq, value, ATOMS)
    return ledger


def inner_nonconvex(statement: Statement) -> Ledger:
    """(56): Young for the gradients at z^r and x^r, polarisation, smoothness."""
    ledger, of, value = opened(statement)
    u, v = sympy.symbols("u v", real=True)
    ledger.require("Young", -u * v <= u**2 / (2 * a) + a / 2 * v**2)
    ledger.equal("polarisation", -u * v, (-(u**2) - v**2 + (u - v) ** 2) / 2)
    derived = beta**2 / (2 * a) * zx_sq + a / 2 * G_mean_sq
    derived += -(T / 2) * grad_sq_x - G_mean_sq / (2 * T) + beta**2 / (2 * M) * drift_x
    if statement.corrects:
        derived = sympy.expand(derived.subs(a, 1 / T)).subs(zx_sq, of(gamma**2) * v_sq)
    ledger.at_most("(56)", sympy.expand(derived), value, ATOMS)
    return ledger


def momentum(statement: Statement) -> Ledger:
    """v^{r+1} is lambda v^r + (1 - lambda) (-alpha eta G^r); its square by convexity."""
    ledger, of, value = opened(statement)
    u, w = sympy.symbols("u w", real=True)
    share = of(lam)
    ledger.require("convexity", (share * u + (1 - share) * w) ** 2 <= share * u**2 + (1 - share) * w**2, alpha >= 1)
    ledger.conditions = [alpha >= 1]
    derived = share * v_sq + (1 - share) * (alpha * eta) ** 2 * G_sq
    ledger.at_most("the square", derived, of(value), ATOMS)
    return ledger


def one_round_nonconvex(
    of: Callable[[sympy.Expr], sympy.Expr], weight: sympy.Expr, square: sympy.Expr, drift_of: str, gradients: sympy.Expr
) -> sympy.Expr:
    """A bound on E f(z^{r+1}) - f(x*) + weight E||v^{r+1}||^2 in squared gradients, momentum, lag and noise."""
    v = claimed("thm1.step55").value + weight * claimed("thm1.step59.corrected").value
    v = v.subs(inner_grad, claimed("thm1.step56.corrected").value).subs(G_sq, square)
    return sympy.expand(of(sympy.expand(v).subs(drift_x, claimed(drift_of).value.subs(grad_sq, gradients))))


_DESCENT = ("thm1.step55", "thm1.step56.corrected")


def nonconvex(statement: Statement) -> Ledger:
    """f(z^r) + weight ||v^r||^2 falls; the weight is the one that the momentum needs to drop out.

    gamma enters by w = eta_tilde (1 + 4 gamma^2 beta eta_tilde) alone, of which the condition says 24 beta w <= 1.
    """
    ledger, of, _ = opened(statement)
    used(ledger, of, *_DESCENT, "thm1.step61.corrected", "lemma5.corrected")
    w = sympy.Symbol("w", positive=True)

    def by_w(e: sympy.Expr) -> sympy.Expr:
        e = e.subs({eta: eta_tilde / (statement.where[eta_tilde] / eta), lam: 1 - 1 / alpha}).subs(beta, 1)
        return e.subs(gamma**2, (w / eta_tilde - 1) / (4 * eta_tilde))

    relations = [sympy.simplify(by_w(c)) for c in conditions_of(statement) if not isinstance(c, Eq)]
    ledger.conditions = [eta_tilde <= w, *(r for r in relations if r != sympy.true)]
    weight = alpha * (alpha * eta * T) * beta**2 * gamma**2 / 2
    square = claimed("thm1.step61.corrected").value
    v = one_round_nonconvex(by_w, weight, square, "lemma5.corrected", M * (grad_sq_x + G**2))
    kept = sympy.expand(v - gap).coeff(v_sq)
    ledger.require("momentum drops out", kept <= by_w(weight))
    rest = sympy.expand(v - gap - kept * v_sq)
    ledger.require("progress", sympy.expand(-rest.coeff(grad_sq_x) / eta_tilde) >= 1)
    noise = sympy.expand(rest.subs(grad_sq_x, 0) / eta_tilde)
    ledger.at_most("telescoped", F / (eta_tilde * R) + noise, sympy.expand(by_w(bound_of(statement).value)), ATOMS)
    return ledger


def lemma18(statement: Statement) -> Ledger:
    """The same with the lag of the control variates.

    gamma enters by w = gamma^2 beta eta_tilde alone, K and M by p = K/M and by the spread of a sample's mean.
    """
    ledger, of, _ = opened(statement)
    used(ledger, of, *_DESCENT, "lemma11.nonconvex", "lemma16.corrected", "lemma17.corrected")
    w, p, spread = sympy.symbols("w p spread", positive=True)
    square = claimed("lemma11.nonconvex").value
    ledger.require("the spread of a sample's mean", square.coeff(lag) <= 2 * T**2)

    def short(e: sympy.Expr) -> sympy.Expr:
        e = e.subs({eta: eta_tilde / (statement.where[eta_tilde] / eta), lam: 1 - 1 / alpha, K: p * M, beta: 1})
        return sympy.expand(sympy.expand(e).subs(gamma**2, w / eta_tilde))

    relations = [c for c in conditions_of(statement) if not isinstance(c, Eq)]
    relations = [c.func(short(c.lhs), short(c.rhs)) for c in relations]
    ledger.conditions = [p <= 1, spread <= 1, *(c for c in relations if c != sympy.true)]
    quantity = sympy.expand(bound_of(statement).quantity)
    of_lag = quantity.coeff(lag_next)
    moved = sympy.expand(claimed("lemma17.corrected").value)
    weight = quantity.coeff(v_next_sq) + of_lag * moved.coeff(v_next_sq)
    square += lag * (2 * T**2 * spread - square.coeff(lag))
    v = one_round_nonconvex(short, weight, square, "lemma16.corrected", grad_sq)
    v = sympy.expand(v + short(of_lag * moved.coeff(lag)) * lag)
    ledger.at_most("one round", v, short(bound_of(statement).value), ATOMS)
    return ledger


def summed(statement: Statement) -> Ledger:
    """Lemma 18, corrected, telescoped: v^0 = 0."""
    ledger, of, value = opened(statement)
    found = sympy.expand(claimed("lemma18.corrected").value)
    used(ledger, of, "lemma18.corrected")
    progress = -found.coeff(grad_sq_x)
    start = found.coeff(gap) * F + found.coeff(lag) * lag_0
    ledger.at_most("telescoped", sympy.expand(start / (progress * R)), value, ATOMS)
    return ledger


# The printed steps that fail, and what rests on them


def step49(statement: Statement) -> Ledger:
    """(49) from (46), (47), (48) and Lemma 5, which is about x^r and is applied at z^r."""
    ledger, of, value = opened(statement)
    at_z = {gap_x: gap, drift_x: drift_z}
    v = claimed("thm1.step46").value.subs(inner, claimed("thm1.step47").value)
    v = sympy.expand(v.subs(G_sq, claimed("thm1.step48").value.subs(at_z)))
    drift = claimed("lemma5").value.subs(grad_sq, M * claimed("lemma2").value.subs(at_z))
    ledger.at_most("combined", sympy.expand(of(v.subs(drift_z, drift))), value, ATOMS)
    ledger.require("the clients start from z^r, not x^r = z^r - gamma v^r", of(gamma) <= 0)
    return ledger


def step50(statement: Statement) -> Ledger:
    """(50), (51): the bracket is at least alpha eta T/4; divided by it."""
    ledger, of, value = opened(statement)
    v = sympy.expand(of(claimed("thm1.step49").value))
    bracket = sympy.expand(-v.coeff(gap))
    ledger.require("the bracket is at least alpha eta T/4", sympy.expand(bracket / eta_tilde) >= 1)
    rest = sympy.expand((v + bracket * gap) / eta_tilde)
    known = sympy.expand(value + dist_next / eta_tilde)
    ledger.at_most("divided", rest, known, ATOMS)
    return ledger


def momentum_printed(statement: Statement) -> Ledger:
    """(57) to (59): v^r is -eta times the discounted sum of the virtual gradients; Cauchy-Schwarz with the weights' sum."""
    ledger, _, _ = opened(statement)
    value = sympy.expand(bound_of(statement).value.subs(gamma, lam / (1 - lam)))
    ledger.conditions = [lam < 1]
    u, w, p, q = sympy.symbols("u w p q", positive=True)
    ledger.require("weights and squares", (p * u + q * w) ** 2 <= (p + q) * (p * u**2 + q * w**2))
    ledger.require("the weights' sum", 1 + lam / (1 - lam) <= 1 / (1 - lam))
    derived = (lam / (1 - lam)) ** 2 * eta**2 / (1 - lam) * G_discounted
    ledger.at_most("(59)", derived, value, [G_discounted])
    return ledger


def square_nonconvex_printed(statement: Statement) -> Ledger:
    """(61): Lemma 4 for the clients' sums, their variances, and three terms about grad f(x)."""
    ledger, _, value = opened(statement)
    jensen(ledger, 3)
    out = (1 - K / M) / (K * M)
    each = 3 * T * beta**2 * drift_x + 3 * M * T**2 * G**2 + 3 * M * T**2 * grad_sq_x
    derived = local_sum_sq / M**2 + T / M * sigma**2 + out * (each + M * T * sigma**2)
    ledger.at_most("(61)", derived, value, ATOMS)
    return ledger


def step66(statement: Statement) -> Ledger:
    """(66): the coefficient of the squared gradients is at least alpha eta T/4; a = 1/(4T), gamma = alpha - 1."""
    ledger, of, _ = opened(statement)
    of_C1 = of(claimed("thm1.step64").value.subs(a, 1 / (4 * T)))
    drifts = 12 * T**3 * eta**2 * (alpha * eta * beta**2 / 2 + 3 * T * beta**2 * of_C1 / K * (1 - K / M))
    progress = sympy.expand(of(alpha * eta * T / 2 - of_C1 * T**2 / K - drifts) / eta_tilde)
    ledger.require("the coefficient of ||grad f(x^r)||^2 is at least alpha eta T/4", progress >= 1)
    return ledger


def independent(ledger: Ledger) -> None:
    """What (119) takes for granted of the clients sampled in a round and of the step they make."""
    cross = sympy.Symbol("Cov(sampled, step)", real=True)
    one, two = sympy.symbols("Var(sampled) Var(step)", nonnegative=True)
    ledger.require("the sampled clients are independent of z^r", cross <= 0, cross**2 <= one * two)


def lemma15_printed(statement: Statement) -> Ledger:
    """(94) to (98) at z^r = x^r: (76), Lemmas 11 to 14 as printed."""
    ledger, of, value = opened(statement)
    v = claimed("thm2.step76").value.subs(inner, claimed("lemma12").value).subs(G_sq, claimed("lemma11").value)
    v = v.subs(drift_z, M * T * claimed("lemma13").value)
    quantity = sympy.expand(bound_of(statement).quantity)
    lagging = quantity.coeff(C_r) * claimed("lemma14").value.subs(gap_prev, gap)
    ledger.at_most("(98)", sympy.expand(of(sympy.expand(v + lagging))), value, ATOMS)
    return ledger


def lemma17_printed(statement: Statement) -> Ledger:
    """(119) to (120) at a = 1/2, 2/3 and 1, with K/M = p^3."""
    ledger, _, _ = opened(statement)
    p = sympy.Symbol("p", positive=True)
    value = bound_of(statement).value
    b = p**3 / (2 * (1 - p**3))
    for power in (_half, Rational(2, 3), sympy.Integer(1)):
        root = sympy.Symbol("root", positive=True)  # (K/M)^(2a - 1)
        exponent = 3 * (2 * power - 1)
        ledger.conditions = [
            p < 1,
            Eq(root, p**exponent) if exponent else Eq(root, 1),
        ]
        square = p**3 * root / 576  # the largest eta_tilde^2 for beta = 1, (1/24)^2 (K/M)^(2a)
        claim = value.subs(beta, 1).subs(a, power).subs(K, p**3 * M)
        claim = sympy.expand(sympy.powdenest(sympy.powsimp(claim, force=True), force=True))
        claim = claim.subs(p**exponent, root) if exponent else claim
        derived = ((1 - p**3) * (1 + b) + 8 * square) * Xi + (4 + 2 * (1 - p**3) / b) * square * (E_r + grad_sq)
        ledger.at_most(f"(120), a = {power}", derived, claim, [Xi, E_r, grad_sq])
    independent(ledger)
    return ledger


def lemma18_printed(statement: Statement) -> Ledger:
    """(122) to (127) with a = 2/3 and K/M = p^3, Lemmas 16 and 17 as printed."""
    ledger, _, _ = opened(statement)
    p = sympy.Symbol("p", positive=True)
    ledger.conditions = [p <= 1, 24 * eta_tilde <= p**2, alpha >= 1]
    value, quantity = (sympy.expand(e.subs({beta: 1, K: p**3 * M})) for e in _sides(statement))
    before = {gap_prev: gap_prev, grad_sq: grad_sq_prev}
    weight = quantity.coeff(Xi_r)
    lagging = claimed("lemma17.proof").value.subs({beta: 1, a: Rational(2, 3), K: p**3 * M}).subs(before)
    lagging = sympy.expand(sympy.powdenest(sympy.powsimp(lagging, force=True), force=True))
    square = 4 * E_r + 8 * Xi + 4 * grad_sq_prev  # (113), over T^2
    v = gap_prev - eta_tilde / 2 * grad_sq_prev + eta_tilde / 2 * E_r + eta_tilde**2 / 2 * square + weight * lagging
    v = sympy.expand(v)
    drift = claimed("lemma16").value.subs({eta: eta_tilde / (alpha * T), beta: 1}).subs(before)
    ledger.at_most("(127)", sympy.expand(v.subs(E_r, drift)), value, ATOMS)
    return ledger


def _sides(statement: Statement) -> tuple[sympy.Expr, sympy.Expr]:
    claim = bound_of(statement)
    return claim.value, claim.quantity


def linear(statement: Statement) -> Ledger:
    """(103) from Lemma 15: its contraction at the largest step size that the statement allows."""
    ledger = Ledger([K * N <= M, mu <= beta, alpha >= 1])
    assert isinstance(statement.claim, Order)
    (rate,) = statement.claim.value.atoms(exp)
    largest = sympy.Min(1 / (81 * beta), K / (15 * mu * M))
    ledger.require("exponent", -rate.args[0] / R <= mu * largest / 2)
    return ledger


_FACTS = ("lemma2",)
LEDGERS: dict[str, Proof] = {
    "lemma2": proof(lemma2),
    "lemma4.part1": proof(sample_most, "lemma4.lhs"),
    "lemma4.part2": proof(sample_most, "lemma4.lhs"),
    "lemma6": proof(lemma6, "lemma9"),
    "lemma12": proof(lemma12, "thm1.step47"),
    "thm1.step47": proof(inner_product, "lemma1"),
    "thm1.step48": proof(square_printed, "lemma4.part1", "lemma2", "lemma6"),
    "thm1.step49": proof(step49, "thm1.step46", "thm1.step47", "thm1.step48", "lemma5", "lemma2"),
    "thm1.step50": proof(step50, "thm1.step49"),
    "thm1.step55": proof(descent, "lemma10"),
    "thm1.step56": proof(inner_nonconvex),
    "thm1.step59": proof(momentum_printed, "momentum_form.corrected"),
    "thm1.step61": proof(square_nonconvex_printed, "lemma4.part1"),
    "thm1.step66": proof(step66, "thm1.step55", "thm1.step56", "thm1.step59", "thm1.step61", "lemma5"),
    "thm2.step76": proof(combined, "lemma10"),
    "lemma15": proof(lemma15_printed, "thm2.step76", "lemma11", "lemma12", "lemma13", "lemma14"),
    "lemma17.proof": proof(lemma17_printed, "lemma16"),
    "lemma18": proof(lemma18_printed, "lemma16", "lemma17.proof"),
    "thm2.strongly_convex.proof": proof(linear, "lemma15", "lemma7"),
}
REPAIRS: dict[str, Proof] = {
    "lemma4.part1.corrected": proof(sample, "lemma4.lhs"),
    "lemma5.corrected": proof(lemma5, "lemma3", "lemma9"),
    "thm1.step46.corrected": proof(combined, "lemma10"),
    "thm1.step47.corrected": proof(inner_product_corrected, "lemma1"),
    "thm1.step48.corrected": proof(square(2 * beta * gap_x), "lemma4.part1.corrected", "lemma9"),
    "thm1.step50.corrected": proof(
        step50_corrected,
        "thm1.step46.corrected",
        "thm1.step47.corrected",
        "thm1.step48.corrected",
        "lemma5.corrected",
        *_FACTS,
    ),
    "thm1.strongly_convex.corrected": proof(contracted("thm1.step50.corrected"), "thm1.step50.corrected"),
    "thm1.general_convex.corrected": proof(averaged("thm1.step50.corrected"), "thm1.step50.corrected"),
    "thm1.step56.corrected": proof(inner_nonconvex),
    "thm1.step59.corrected": proof(momentum, "momentum_form.corrected"),
    "thm1.step61.corrected": proof(square(grad_sq_x), "lemma4.part1.corrected", "lemma9"),
    "thm1.nonconvex.corrected": proof(
        nonconvex,
        "thm1.step55",
        "thm1.step56.corrected",
        "thm1.step59.corrected",
        "thm1.step61.corrected",
        "lemma5.corrected",
    ),
    "lemma11.corrected": proof(lemma11, "lemma3"),
    "lemma11.nonconvex": proof(lemma11_nonconvex, "lemma4.part1.corrected"),
    "lemma13.corrected": proof(tracked_drift(about_optimum), "lemma3"),
    "lemma14.corrected": proof(lemma14),
    "lemma15.corrected": proof(
        lemma15,
        "thm1.step46.corrected",
        "thm1.step47.corrected",
        "lemma11.corrected",
        "lemma13.corrected",
        "lemma14.corrected",
    ),
    "thm2.strongly_convex.corrected": proof(contracted("lemma15.corrected"), "lemma15.corrected"),
    "thm2.general_convex.corrected": proof(averaged("lemma15.corrected"), "lemma15.corrected"),
    "lemma16.corrected": proof(tracked_drift(about_mean), "lemma3"),
    "lemma17.corrected": proof(lemma17),
    "lemma18.corrected": proof(
        lemma18,
        "thm1.step55",
        "thm1.step56.corrected",
        "thm1.step59.corrected",
        "lemma11.nonconvex",
        "lemma16.corrected",
        "lemma17.corrected",
    ),
    "thm2.nonconvex.corrected": proof(summed, "lemma18.corrected"),
}
