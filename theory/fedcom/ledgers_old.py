"""The proofs of Sections D, E and F, and of the corrected statements, replayed from the lemmas to the constants.

Every premise is the catalogue's claim, every conclusion the statement's own, so that a changed constant anywhere breaks
the ledger at the step that used it.  Expectations over a round are total; E||v||^2 is an atom, so a step that needs
more than Cauchy-Schwarz about two of them says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy
from sympy import Rational, exp

from theory import catalogue
from theory.fedcom.heterogeneous import contraction78
from theory.fedcom.paper import (
    G_q,
    L,
    R,
    a_prev,
    c,
    c_noise,
    dist_sq_mean,
    drift_mean,
    drift_mean_prev,
    drift_start,
    drift_sum,
    drift_sum_prev,
    e_prev,
    e_prev2,
    eta,
    f_gap,
    fj_gap_mean,
    gamma,
    gap_r,
    grad_sq,
    grad_sq_prev,
    grad_sq_start,
    grad_sq_sum,
    grad_sq_sum_mean,
    grad_sq_total,
    het_start,
    kappa,
    m,
    mean_grad_sq_prev,
    mean_grad_sq_sum,
    mean_grad_sq_total,
    message_sq,
    move_sq,
    move_total,
    mu,
    next_move_sq,
    noise_sq,
    phi,
    q,
    sigma,
    start_partial,
    start_sum,
    tau,
    tracked_grad_sq,
    tracking_sq,
    w0_norm,
    w_star_norm,
)
from theory.proofs.ledger import Ledger, Proof, bound_of, conditions_of, jensen, opened, powers, proof
from theory.proofs.orders import covered, order_of
from theory.statement import Bound, Statement, at_most

_ROUND = [grad_sq, grad_sq_sum_mean, grad_sq_sum, mean_grad_sq_sum, drift_mean, tracking_sq, sigma, G_q, gap_r]
_BEFORE = [drift_mean_prev, drift_sum, drift_sum_prev, drift_start, mean_grad_sq_prev, grad_sq_prev, grad_sq_start]
_WHOLE = [start_sum, start_partial, move_sq, move_total, mean_grad_sq_total, grad_sq_total, next_move_sq]
_START = [f_gap, fj_gap_mean, dist_sq_mean, het_start, w0_norm, w_star_norm]
_PROOF = [a_prev, e_prev, e_prev2, c_noise]
ATOMS = [*_ROUND, *_BEFORE, *_WHOLE, *_START, *_PROOF]

_half = Rational(1, 2)
_local = L * eta * tau


def claimed(name: str) -> Bound:
    """The claim of a statement of this paper, as it stands in the catalogue."""
    return bound_of(catalogue.find(f"fedcom.{name}"))


def per_quantity(name: str, atom: sympy.Symbol) -> Bound:
    """A claim on a multiple of the atom, as one on the atom itself."""
    claim = claimed(name)
    return at_most(atom, claim=sympy.expand(claim.value / sympy.simplify(claim.quantity / atom)))


def used(ledger: Ledger, *names: str) -> None:
    """The conditions of what is used follow from those of the statement."""
    for name in names:
        ledger.admits(catalogue.find(f"fedcom.{name}"))


# What is used of vectors: identities and inequalities of inner products hold when they hold on the line.


def young(ledger: Ledger, share: sympy.Expr) -> None:
    """2 <u, v> is at most share ||u||^2 + ||v||^2 / share."""
    u, v = sympy.symbols("u v", real=True)
    ledger.require("Young", 2 * u * v <= share * u**2 + v**2 / share)


def polarisation(ledger: Ledger) -> None:
    """-2 <u, v> = -||u||^2 - ||v||^2 + ||u - v||^2."""
    u, v = sympy.symbols("u v", real=True)
    ledger.equal("polarisation", -2 * u * v, -(u**2) - v**2 + (u - v) ** 2)


def uncorrelated(ledger: Ledger) -> None:
    """What the printed proofs take for granted of the noise N of a round and the gradients G at its local steps.

    E||N + G||^2 <= E||N||^2 + E||G||^2 needs E<N, G> <= 0.  All that is known is Cauchy-Schwarz, as the gradient of a
    later step depends on the noise of an earlier one.
    """
    cross = sympy.Symbol("E<N,G>", real=True)
    noise, gradients = sympy.symbols("E||N||^2 E||G||^2", nonnegative=True)
    ledger.require("noise and later gradients are uncorrelated", cross <= 0, cross**2 <= noise * gradients)


# Section D, the lemmas


def inner_product(of_clients: sympy.Symbol) -> Callable[[Statement], Ledger]:
    """Lemmas D.2, E.2: polarisation at every local step, smoothness (after Jensen, for the mean over clients)."""

    def check(statement: Statement) -> Ledger:
        ledger, value = opened(statement)
        polarisation(ledger)
        derived = eta / 2 * (-tau * grad_sq - of_clients + L**2 * drift_mean)
        ledger.at_most("polarisation at every step, Assumption 1", derived, value, ATOMS)
        return ledger

    return check


def message(statement: Statement) -> Ledger:
    """(11) to (16) as printed: variance of independent compressors, variance of the noise, Jensen over the steps."""
    ledger, value = opened(statement)
    uncorrelated(ledger)
    each = tau * sigma**2 + tau * grad_sq_sum_mean
    ledger.at_most("(16)", q / m * each + tau * sigma**2 / m + tau * grad_sq_sum_mean, value, ATOMS)
    return ledger


def message_corrected(statement: Statement) -> Ledger:
    """E||x||^2 of one client's sum x = N + G with the correlation of N and G; clients are independent and alike.

    E<N, G> = E<N, G - tau grad f(w)>, and G - tau grad f(w) is a sum of tau gradient differences along the drift.
    """
    ledger, value = opened(statement)
    young(ledger, _local)
    cross = _local * tau * sigma**2 + tau * L**2 * drift_mean / _local
    cross = ledger.apply("Lemma D.3, summed", cross, drift_mean, claimed("lemmaD3.summed"))
    each = tau * sigma**2 + tau * grad_sq_sum_mean + cross
    total = (q + 1) / m * each + (1 - 1 / m) * tau * grad_sq_sum_mean
    ledger.at_most("(q+1)/m E||x||^2 + (1-1/m) ||E G||^2", total, value, ATOMS)
    return ledger


def drift_printed(statement: Statement) -> Ledger:
    """(20) as printed."""
    ledger, value = opened(statement)
    uncorrelated(ledger)
    ledger.at_most("(20)", eta**2 * (tau * sigma**2 + tau * grad_sq_sum), value, ATOMS)
    return ledger


def drift_corrected(statement: Statement) -> Ledger:
    """w_j^(c) - w is -eta times c gradients and c noises: two-term Jensen, then c <= tau."""
    ledger, value = opened(statement)
    jensen(ledger, 2)
    ledger.at_most("c steps of tau", 2 * eta**2 * tau * (grad_sq_sum + sigma**2), value, ATOMS)
    return ledger


def drift_summed(statement: Statement) -> Ledger:
    """The same summed over c: the squared gradient of a step is counted at the later steps only."""
    ledger, value = opened(statement)
    jensen(ledger, 2)
    once = powers(ledger, c, c, tau)
    ledger.at_most("sum over c", 2 * eta**2 * once * (grad_sq_sum_mean + sigma**2), value, ATOMS)
    return ledger


# Section D, the theorems


def descent_D(ledger: Ledger, of_message: str, of_drift: Callable[[], Bound]) -> sympy.Expr:
    """A bound on E[f(w+) - f(w)] in grad_sq and sigma: (27), the lemmas, and the conditions for the local gradients."""
    used(ledger, of_message, "lemmaD2")
    v = gamma * claimed("lemmaD2").value + gamma**2 * eta**2 * L / 2 * message_sq
    v = ledger.apply("Lemma D.1", v, message_sq, claimed(of_message))
    v = sympy.expand(ledger.apply("Lemma D.3", v, drift_mean, of_drift()))
    local = v.coeff(grad_sq_sum_mean)
    ledger.require("the condition on the learning rate: local gradients drop out", local <= 0)
    return sympy.expand(v - local * grad_sq_sum_mean)


def printed_drift() -> Bound:
    """Lemma D.3 at each of the tau steps, mean over clients."""
    value = claimed("lemmaD3").value.subs(grad_sq_sum, grad_sq_sum_mean)
    return at_most(drift_mean, steps=sympy.expand(tau * value))


def summed_drift() -> Bound:
    """Lemma D.3, summed, in its corrected form."""
    return claimed("lemmaD3.summed")


def averaged(ledger: Ledger, v: sympy.Expr, value: sympy.Expr) -> None:
    """From E[f(w+) - f(w)] <= -progress grad_sq + rest: telescoped over R rounds, divided by R and the progress."""
    v = sympy.expand(v)
    progress = -v.coeff(grad_sq)
    ledger.require("progress", progress > 0)
    rest = v + progress * grad_sq
    average = sympy.expand((f_gap / R + rest) / sympy.factor(progress))
    ledger.at_most("telescoped", average, value, ATOMS)


def nonconvex_D(of_message: str, of_drift: Callable[[], Bound]) -> Callable[[Statement], Ledger]:
    """(28) to (30)."""

    def check(statement: Statement) -> Ledger:
        ledger, value = opened(statement)
        averaged(ledger, descent_D(ledger, of_message, of_drift), value)
        return ledger

    return check


def contracted(
    ledger: Ledger,
    value: sympy.Expr,
    contraction: sympy.Expr,
    start: sympy.Expr,
    noise: sympy.Expr,
    rate: sympy.Expr | None = None,
) -> None:
    """a_R <= contraction^R start + noise / (1 - contraction), against the claimed value.

    `rate`, where given, is a lower bound of 1 - contraction; the claim's power (or exponential) of R is matched.
    """
    rate = 1 - contraction if rate is None else rate
    decay = sympy.Symbol("decay", nonnegative=True)
    ledger.require("0 <= contraction < 1", [contraction >= 0, rate > 0, contraction <= 1 - rate])
    claimed_powers = [p for p in value.atoms(sympy.Pow) if p.exp == R] + list(value.atoms(exp))
    if len(claimed_powers) != 1:
        raise ValueError(f"{value}: expected one power of R or one exponential")
    (power,) = claimed_powers
    if isinstance(power, exp):  # (1 - u)^R <= exp(-u R)
        ledger.require("exponent", -power.args[0] / R <= rate)
    else:
        ledger.require("base of the power", contraction <= power.base)
    goal = value.xreplace({power: decay})
    derived = decay * start + sympy.expand(noise / sympy.factor(rate))
    ledger.at_most("geometric sum", derived, goal, [*ATOMS, decay])


def polyak_D(of_message: str, of_drift: Callable[[], Bound]) -> Callable[[Statement], Ledger]:
    """(40) to (42)."""

    def check(statement: Statement) -> Ledger:
        ledger, value = opened(statement)
        v = sympy.expand(descent_D(ledger, of_message, of_drift))
        progress = -v.coeff(grad_sq)
        ledger.require("progress", progress >= 0)
        contracted(ledger, value, 1 - sympy.factor(2 * mu * progress), f_gap, v + progress * grad_sq)
        return ledger

    return check


def at(source: str, **letters: Any) -> Callable[[Statement], Ledger]:
    """A bound with letters replaced, and its conditions."""

    def check(statement: Statement) -> Ledger:
        ledger, value = opened(statement)
        found = catalogue.find(f"fedcom.{source}")
        given = {catalogue.symbols(statement)[name].sympy: sympy.sympify(e) for name, e in letters.items()}
        ledger.admits(found, lambda c: c.subs(given))
        ledger.at_most(f"{source} there", bound_of(found).value.subs(given), value, ATOMS)
        return ledger

    return check


def tuned_contraction(source: str, also_uses: str = "") -> Callable[[Statement], Ledger]:
    """Corollaries D.8, E.8: a linear rate with the statement's learning rate inserted and (1-u)^R <= exp(-u R).

    `also_uses`: a bound whose noise term the corollary prints besides, as (89) does with (88).
    """

    def check(statement: Statement) -> Ledger:
        ledger, value = opened(statement)
        found = catalogue.find(f"fedcom.{source}")
        step = statement.where[eta]
        given = {eta: step, kappa: L / mu}
        v = bound_of(found).value
        if also_uses:
            v += 3 / mu * {t.name: t.value for t in claimed(also_uses).terms}["noise"]
        (power,) = [p for p in v.atoms(sympy.Pow) if p.exp == R]
        decay = sympy.Symbol("decay", nonnegative=True)
        (decayed,) = value.atoms(exp)
        exponent = (-decayed.args[0] / R).subs(kappa, L / mu)
        ledger.require("exponent", exponent <= sympy.simplify((1 - power.base).subs(eta, step)), mu <= L)
        derived = sympy.expand(v.xreplace({power: decay}).subs(eta, step))
        goal = value.xreplace({decayed: decay}).subs(given)
        ledger.conditions = [r.subs(given) for r in ledger.conditions if r.subs(given) != sympy.true]
        ledger.at_most("learning rate inserted", derived, goal, [*ATOMS, decay])
        ledger.admits(found, lambda c: c.subs(eta, step), mu <= L)
        return ledger

    return check


def regularised(source: str, smoothness: sympy.Expr, start: sympy.Expr) -> Callable[[Statement], Ledger]:
    """Theorems D.9, E.9: a linear rate for f + (phi/2) ||w||^2, which is phi-PL and (L + phi)-smooth, brought back to f.

    smoothness  the constant that the proof inserts for the regularised function
    start       its bound on the regularised gap between w^(0) and w*, in letters of f
    """

    def check(statement: Statement) -> Ledger:
        ledger, value = opened(statement)
        gap, g, d = sympy.symbols("gap g d", real=True)
        ledger.require(
            "convex, so with the penalty phi-strongly convex and PL",
            gap <= g**2 / (2 * phi),
            gap <= -g * d - phi / 2 * d**2,
        )
        ledger.require("the regularised function is (L + phi)-smooth", smoothness >= L + phi)
        found = catalogue.find(f"fedcom.{source}")
        step = statement.where.get(eta, eta)
        regular = statement.where.get(phi, phi)
        inserted = {L: smoothness, mu: phi}

        def of(e: Any) -> Any:
            return e.subs(inserted, simultaneous=True).subs(eta, step)

        ledger.admits(found, of)
        # with a = f~(w_R) - f~(w*), a_0 the same at w^(0), s = f~(w*) - min f~ and a power of R between 0 and 1
        a, a_0 = sympy.symbols("a a_0", real=True)
        s, power, rest = sympy.symbols("s P N", nonnegative=True)
        given = [a + s <= power * (a_0 + s) + rest, power <= 1]
        ledger.require("the gap to w* instead of the minimum", a <= power * a_0 + rest, *given)
        decay = sympy.Symbol("decay", nonnegative=True)
        v = bound_of(found).value
        (own,) = [p for p in v.atoms(sympy.Pow) if p.exp == R]
        written = list(value.atoms(exp)) + [p for p in value.atoms(sympy.Pow) if p.exp == R]
        if isinstance(written[0], exp):
            exponent = (-written[0].args[0] / R).subs(phi, regular)
            ledger.require("exponent", exponent <= sympy.simplify(of(1 - own.base)).subs(phi, regular))
        else:
            ledger.require("base of the power", of(own.base) <= written[0].base)
        initial = sympy.Symbol("initial", nonnegative=True)
        v = of(sympy.expand(v.xreplace({own: decay}).subs(f_gap, initial)))
        v = v.subs(initial, f_gap + phi * w0_norm**2 / 2) + phi * w_star_norm**2 / 2
        goal = value.xreplace({written[0]: decay})
        ledger.require("the regularised gap at the start", f_gap + phi * w0_norm**2 / 2 <= start)
        ledger.at_most("back to f", sympy.expand(v).subs(phi, regular), goal.subs(phi, regular), [*ATOMS, decay])
        return ledger

    return check


# Orders


def from_bound(source: str) -> Callable[[Statement], Ledger]:
    """An order from an explicit bound at the learning rate of the statement."""

    def check(statement: Statement) -> Ledger:
        found = catalogue.find(f"fedcom.{source}")
        step = statement.where[eta]
        ledger = Ledger(conditions_of(statement))
        terms = [sympy.simplify(t.value.subs(eta, step)) for t in bound_of(found).terms]
        covered(terms, order_of(statement), list(ledger.conditions), ledger)
        ledger.admits(found, lambda c: c.subs(eta, step))
        return ledger

    return check


# Section E, the lemmas


def tracked_message(factor: int) -> Callable[[Statement], Ledger]:
    """(51) to (57): Assumption 5, the variance of one compressor, and the mean's noise and gradients.

    factor  1 as printed, where noise and gradients are uncorrelated; 2 for two-term Jensen
    """

    def check(statement: Statement) -> Ledger:
        ledger, value = opened(statement)
        if factor == 1:
            uncorrelated(ledger)
        else:
            jensen(ledger, factor)
        mean = factor * (tau * sigma**2 / m + tau * mean_grad_sq_sum)
        ledger.at_most("(57)", eta**2 * ((q + 1) * mean + G_q), value, ATOMS)
        return ledger

    return check


def moves(source: str) -> Callable[[Statement], Ledger]:
    """(113) to (115): the global step is eta gamma times the mean message, whose square Lemma E.1 bounds."""

    def check(statement: Statement) -> Ledger:
        ledger, value = opened(statement)
        one = sympy.expand(claimed(source).value / eta**2 * (eta * gamma) ** 2 * tau**2)
        rounds = {mean_grad_sq_sum: mean_grad_sq_total / R}  # summed over R - 1 rounds, noise and G_q over R of them
        ledger.at_most("summed over the rounds", sympy.expand(one.subs(rounds) * R), value, ATOMS)
        return ledger

    return check


def local_drift(statement: Statement) -> Ledger:
    """w_j^(c) - w = -eta sum_{k<c} of gradient change, noise, and c times grad f(w) minus the error of the tracking.

    Four terms; the trackings sum to zero, so grad f_j(w) - delta_j = grad f(w) - e_j.
    """
    ledger, value = opened(statement)
    jensen(ledger, 4)
    gradients = powers(ledger, c, c, tau) * L**2 * drift_mean  # each step's drift is counted at the later steps
    squares, steps = powers(ledger, c**2, c, tau), powers(ledger, c, c, tau)
    total = 4 * eta**2 * (gradients + squares * (grad_sq + tracking_sq) + steps * sigma**2)
    v = ledger.solve("drift", total, drift_mean, Rational(1, 15))
    ledger.at_most("summed over the round", v, value, ATOMS)
    return ledger


def tracking(statement: Statement) -> Ledger:
    """e+ = e + alpha (y - ybar) + alpha (u - ubar) - change of the gradients, with alpha = 1/(1+q).

    y_j = x_j / tau is what client j compresses: y - ybar = z - e, z the gradient change and noise of the round, mean
    over the steps; u its compression error, E||u||^2 <= q ||y||^2, mean zero.  Squared and averaged over clients:
    ||e + alpha (z - e)||^2 + alpha^2 q (||z - e||^2 + ||ybar||^2).
    """
    ledger, value = opened(statement)
    alpha = 1 / (1 + q)
    e, z = sympy.symbols("e z", real=True)
    squares = (e + alpha * (z - e)) ** 2 + alpha**2 * q * (z - e) ** 2
    ledger.require("damped step", squares <= (1 - alpha) * e**2 + alpha * z**2)
    young(ledger, alpha / 2)
    jensen(ledger, 2)
    z_sq = 2 * L**2 * drift_mean / tau + 2 * sigma**2 / tau
    y_sq = 2 * mean_grad_sq_sum / tau + 2 * sigma**2 / (tau * m)
    before = (1 - alpha) * tracking_sq + alpha * z_sq + alpha**2 * q * y_sq
    v = (1 + alpha / 2) * before + (1 + 2 / alpha) * L**2 * next_move_sq
    ledger.at_most("the change of the gradients split off", sympy.expand(sympy.simplify(v)), value, ATOMS)
    return ledger


# Section E, the corrected theorems: f + weight * tracking_sq


def energy(ledger: Ledger, weight: sympy.Expr) -> sympy.Expr:
    """A bound on E[f(w+) - f(w)] + weight * tracking_sq of the next round, in grad_sq, tracking_sq, sigma, G_q.

    The mean local gradients drop out by the conditions on the learning rate.
    """
    used(ledger, "lemmaE1.corrected", "lemmaE2", "lemmaE7.corrected", "lemmaF1.corrected")
    step = at_most(next_move_sq, lemmaE1=sympy.expand(claimed("lemmaE1.corrected").value * gamma**2))
    v = gamma * claimed("lemmaE2").value + L / 2 * next_move_sq + weight * claimed("lemmaF1.corrected").value
    v = ledger.apply("Lemma E.1, corrected", v, next_move_sq, step)
    v = sympy.expand(ledger.apply("Lemma E.7, corrected", v, drift_mean, claimed("lemmaE7.corrected")))
    local = sympy.factor(v.coeff(mean_grad_sq_sum))
    ledger.require("mean local gradients drop out", sympy.simplify(local * 2 / (eta * gamma)) <= 0)
    return sympy.expand(v - v.coeff(mean_grad_sq_sum) * mean_grad_sq_sum)


def nonconvex_E(statement: Statement) -> Ledger:
    """Telescoped f + weight * tracking_sq, weight = (9/4) eta gamma tau (L eta tau)^2 (q+1)."""
    ledger, value = opened(statement)
    weight = Rational(9, 4) * eta * gamma * tau * _local**2 * (q + 1)
    v = energy(ledger, weight)
    held = v.coeff(tracking_sq)
    ledger.require("the tracking error is held", sympy.simplify(held / weight) <= 1)
    progress = sympy.factor(-v.coeff(grad_sq))
    share = Rational(9, 20)
    ledger.require("progress", sympy.simplify(progress / (eta * gamma * tau)) >= share)
    rest = sympy.expand(v - held * tracking_sq + progress * grad_sq)
    average = (f_gap / R + weight * het_start / R + rest) / (share * eta * gamma * tau)
    ledger.at_most("telescoped", sympy.expand(average), value, ATOMS)
    return ledger


def polyak_E(statement: Statement) -> Ledger:
    """f + weight * tracking_sq contracts by 1 - mu eta gamma tau / 2, weight = (9/2) eta gamma tau (L eta tau)^2 (q+1)."""
    ledger, value = opened(statement)
    weight = Rational(9, 2) * eta * gamma * tau * _local**2 * (q + 1)
    rate = mu * eta * gamma * tau / 2
    v = energy(ledger, weight)
    held = v.coeff(tracking_sq)
    slow = L * eta * gamma * tau / 2  # rate <= slow as mu <= L
    ledger.require("rate", rate <= slow)
    ledger.require("the tracking error contracts as fast", sympy.simplify(held / weight) <= 1 - slow)
    progress = sympy.factor(-v.coeff(grad_sq))
    ledger.require("progress", 2 * sympy.simplify(progress / (eta * gamma * tau)) >= _half)
    rest = sympy.expand(v - held * tracking_sq + progress * grad_sq)
    contracted(ledger, value, 1 - rate, f_gap + weight * het_start, rest)
    return ledger


# Section E, the printed theorems


def summed_drift_E(statement: Statement) -> Ledger:
    """(60) from Lemmas F.1 and F.6."""
    ledger, value = opened(statement)
    v = ledger.apply("Lemma F.6", claimed("lemmaF1").value, move_total, claimed("lemmaF6"))
    first, second = sympy.symbols("d_0 d_1", real=True)  # tau = 2: differences at the two steps of the first round
    ledger.require(
        "partial sums of the first round are at most its whole sum",
        first**2 + (first + second) ** 2 <= 2 * (first + second) ** 2,
    )
    v = ledger.apply("C", v, start_partial, at_most(start_partial, whole=tau * start_sum))
    ledger.at_most("(116)", sympy.expand(v / R), value, ATOMS)
    return ledger


def eq73(statement: Statement) -> Ledger:
    """(70), (71) from Lemmas E.1, E.2, E.3: sums over the rounds, divided by R."""
    ledger, value = opened(statement)
    total = sympy.Symbol("drift_total", nonnegative=True)
    v = gamma * claimed("lemmaE2").value.subs(drift_mean, total) + gamma**2 * L / 2 * claimed("lemmaE1").value
    lemma = claimed("lemmaE3").value.subs({grad_sq_total: R * tau * grad_sq, mean_grad_sq_total: R * mean_grad_sq_sum})
    v = sympy.expand(ledger.apply("Lemma E.3", v, total, at_most(total, lemmaE3=lemma)))
    local = v.coeff(mean_grad_sq_sum)
    ledger.require("(72)", sympy.simplify(local * 2 / (eta * gamma)) <= 0)
    v = sympy.expand(v - local * mean_grad_sq_sum)
    progress = -v.coeff(grad_sq)
    rest = sympy.expand(v + progress * grad_sq)
    ledger.equal("the factor on the left", progress * 2 / (eta * gamma * tau), 1 - 20 * eta**2 * L**2 * tau**2)
    ledger.at_most("(73)", sympy.expand((f_gap / R + rest) * 2 / (eta * gamma * tau)), value, ATOMS)
    return ledger


def thmE4(statement: Statement) -> Ledger:
    """(62) from (73): the factor on the left, and (74)."""
    ledger, value = opened(statement)
    left = sympy.simplify(claimed("thmE4.eq73").quantity / bound_of(statement).quantity)
    ledger.require("(73) divided by its factor, printed as if it were 1", left >= 1)
    first_round = 2 * fj_gap_mean / (eta * tau) + L * eta * sigma**2  # of local SGD, mean over its tau steps
    het = at_most(start_sum, eq74=2 * tau**2 * (first_round + 2 * L * f_gap))
    v = ledger.apply("(74)", claimed("thmE4.eq73").value, start_sum, het)
    ledger.at_most("(62)", v, value, ATOMS)
    return ledger


def recursion(statement: Statement) -> Ledger:
    """(82), (84): Lemmas E.1, E.2, E.7 and the PL inequality; then step (a) with what it inserts for a_r, step (b)."""
    ledger, value = opened(statement)
    v = gamma * claimed("lemmaE2").value + gamma**2 * L / 2 * claimed("lemmaE1").value
    v = sympy.expand(ledger.apply("Lemma E.7", v, drift_mean, claimed("lemmaE7")))
    local = v.coeff(mean_grad_sq_sum)
    ledger.require("(83)", sympy.simplify(local * 2 / (eta * gamma)) <= 0)
    progress = sympy.factor(-v.coeff(grad_sq))
    ledger.require("progress", sympy.simplify(progress * 2 / (eta * gamma * tau)) >= 0)
    before = v.coeff(mean_grad_sq_prev)
    derived = (1 - 2 * mu * progress) * gap_r + before * e_prev + c_noise
    ledger.at_most("(84)", sympy.expand(derived), value, ATOMS)
    inserted = next(claim for claim in statement.also if isinstance(claim, Bound))
    v = ledger.apply("step (a)", value, gap_r, inserted)
    ledger.require("step (b): e_(r-1) drops out by (86)", sympy.factor(sympy.expand(v).coeff(e_prev)) <= 0)
    return ledger


def thmE6(statement: Statement) -> Ledger:
    """(79) from the recursion with c of (85), and (88)."""
    ledger, value = opened(statement)
    ledger.conditions = [*ledger.conditions, contraction78 > 0]  # without which the recursion breaks already
    whole = gamma * claimed("lemmaE2").value + gamma**2 * L / 2 * claimed("lemmaE1").value
    whole = sympy.expand(ledger.apply("Lemma E.7", whole, drift_mean, claimed("lemmaE7")))
    constant = sympy.expand(whole.subs({grad_sq: 0, mean_grad_sq_sum: 0, mean_grad_sq_prev: 0}))
    het = per_quantity("thmE6.eq88", start_sum)
    constant = ledger.apply("(88)", constant, start_sum, het)
    delta = {t.name: t.value for t in claimed("thmE6.recursion").terms}["contraction"].coeff(gap_r)
    contracted(ledger, value, delta, f_gap, constant, rate=mu * eta * gamma * tau / 3)
    return ledger


def first_round(statement: Statement) -> Ledger:
    """(88): around the clients' own minimisers, where local SGD contracts up to its noise."""
    ledger, value = opened(statement)
    jensen(ledger, 2)
    start, noise = dist_sq_mean, eta * sigma**2 / (mu * (1 - eta * L))
    rho = 2 * mu * eta * (1 - eta * L)
    n = sympy.Symbol("n", nonnegative=True)
    ledger.require("rho <= 1", rho <= 1)
    square, product, slope = sympy.symbols("||d||^2 <g|d> ||g||^2", nonnegative=True)  # g the gradient, d = w - w*
    convex = [slope <= L * product, product >= mu * square]
    ledger.require("a step", square - 2 * eta * product + eta**2 * slope <= (1 - rho) * square, *convex)
    ledger.require("local SGD stays below start + noise", (1 - rho) * (start + n) + rho * n <= start + n, rho <= 1)
    ledger.equal("the noise is a fixed point", rho * noise, 2 * eta**2 * sigma**2)  # of which one step adds half
    bound = 2 * tau * (tau * L**2 * (start + noise)) + 2 * tau**2 * 2 * L * f_gap
    ledger.at_most("(88)", sympy.expand(4 * L**2 * eta**2 * bound), value, ATOMS)
    return ledger


# Section F


def noise_of_directions(statement: Statement) -> Ledger:
    """(100): the noise of round r has mean zero given round r-1; a deviation from the mean is at most the whole (13)."""
    ledger, value = opened(statement)
    ledger.at_most("2 (tau sigma^2 + tau sigma^2)", 4 * tau * sigma**2, value, ATOMS)
    return ledger


def five_terms(own: sympy.Expr, own_before: sympy.Expr) -> sympy.Expr:
    """Squared norms of the five parts of a local direction without its noise, each bounded by smoothness."""
    drifts = tau * own + tau**2 * move_sq + tau * own_before + tau * drift_mean_prev
    return L**2 * drifts + tau**2 * grad_sq_prev


def noiseless_direction(statement: Statement) -> Ledger:
    """(103): five-term Jensen."""
    ledger, value = opened(statement)
    jensen(ledger, 5)
    ledger.at_most("(105)", 5 * five_terms(drift_sum, drift_sum_prev), value, ATOMS)
    return ledger


def direction_printed(statement: Statement) -> Ledger:
    """(98) by (99): twice the noise and twice Lemma F.4, averaged over clients."""
    ledger, value = opened(statement)
    averaged_F4 = claimed("lemmaF4").value.subs({drift_sum: drift_mean, drift_sum_prev: drift_mean_prev})
    v = noise_sq + 2 * tracked_grad_sq
    v = ledger.apply("Lemma F.3", v, noise_sq, claimed("lemmaF3"))
    v = ledger.apply("Lemma F.4", v, tracked_grad_sq, at_most(tracked_grad_sq, lemmaF4=averaged_F4))
    ledger.at_most("(98)", v, value, ATOMS)
    return ledger


def direction_repaired(statement: Statement) -> Ledger:
    """(98) by six-term Jensen: the noise is one of six."""
    ledger, value = opened(statement)
    jensen(ledger, 6)
    noise = 2 * tau * sigma**2  # as for Lemma F.3, without its factor 2
    ledger.at_most("(98)", 6 * noise + 6 * five_terms(drift_mean, drift_mean_prev), value, ATOMS)
    return ledger


def first_direction(statement: Statement) -> Ledger:
    """(107): noise, differences to the global gradient, the global gradient: three terms."""
    ledger, value = opened(statement)
    jensen(ledger, 3)
    ledger.at_most("(107)", 3 * (tau * sigma**2 + start_sum + tau**2 * grad_sq_start), value, ATOMS)
    return ledger


def all_rounds(statement: Statement) -> Ledger:
    """(110) to (112): Lemma F.5 in the first round, Lemma F.2 in the others, tau eta^2 times each, summed."""
    ledger, value = opened(statement)
    total = sympy.Symbol("drift_total", nonnegative=True)
    later = claimed("lemmaF2").value.subs(
        {drift_mean: total, drift_mean_prev: total, move_sq: move_total / tau**2, grad_sq_prev: grad_sq_total / tau}
    )
    later = sympy.expand(later) + (R - 1) * later.coeff(sigma**2) * sigma**2
    first = claimed("lemmaF5").value.subs({drift_start: total, grad_sq_start: grad_sq_total / tau, sigma: 0})
    first = first.subs(start_sum, start_partial / tau)
    v = sympy.expand(eta**2 * tau * (later + first))
    v = ledger.solve("drift on the right", v, total, _half)
    ledger.at_most("(112)", v, value, ATOMS)
    return ledger


def one_round_drift(statement: Statement) -> Ledger:
    """(117): Lemmas F.2 and F.6 for one round."""
    ledger, value = opened(statement)
    v = sympy.expand(eta**2 * tau * claimed("lemmaF2").value)
    v = ledger.solve("drift on the right", v, drift_mean, _half)
    one = sympy.expand(claimed("lemmaF6").value / (R * tau**2)).subs(mean_grad_sq_total, R * mean_grad_sq_prev)
    v = ledger.apply("Lemma F.6", v, move_sq, at_most(move_sq, lemmaF6=one))
    ledger.at_most("(117)", v, value, ATOMS)
    return ledger


# Remarks on the conditions


def remark9(statement: Statement) -> Ledger:
    """The choice of eta meets both conditions of (61)."""
    ledger = Ledger(conditions_of(statement))
    formulas: tuple[Any, ...] = statement.claim.formulas  # type: ignore[union-attr]
    for formula in formulas:
        ledger.require(f"{formula}", formula)
    return ledger


def weaker(source: str) -> Callable[[Statement], Ledger]:
    """A bound by a sharper one."""

    def check(statement: Statement) -> Ledger:
        ledger, value = opened(statement)
        ledger.at_most(f"from {source}", claimed(source).value, value, ATOMS)
        return ledger

    return check


LEDGERS: Mapping[str, Proof] = {
    "lemmaD1": proof(weaker("lemmaD1.proof"), "lemmaD1.proof"),
    "lemmaD1.proof": proof(message),
    "lemmaD1.corrected": proof(message_corrected, "lemmaD3.summed"),
    "lemmaD2": proof(inner_product(grad_sq_sum_mean)),
    "lemmaD3": proof(drift_printed),
    "lemmaD3.corrected": proof(drift_corrected),
    "lemmaD3.summed": proof(drift_summed),
    "thmD4": proof(nonconvex_D("lemmaD1.proof", printed_drift), "lemmaD1.proof", "lemmaD2", "lemmaD3"),
    "thmD4.corrected": proof(
        nonconvex_D("lemmaD1.corrected", summed_drift), "lemmaD1.corrected", "lemmaD2", "lemmaD3.summed"
    ),
    "corD6": proof(at("thmD4", gamma=1, q=0), "thmD4"),
    "corD5": proof(from_bound("thmD4"), "thmD4"),
    "corD5.corrected": proof(from_bound("thmD4.corrected"), "thmD4.corrected"),
    "thmD7": proof(polyak_D("lemmaD1.proof", printed_drift), "lemmaD1.proof", "lemmaD2", "lemmaD3"),
    "thmD7.corrected": proof(
        polyak_D("lemmaD1.corrected", summed_drift), "lemmaD1.corrected", "lemmaD2", "lemmaD3.summed"
    ),
    "corD8": proof(tuned_contraction("thmD7"), "thmD7"),
    "thmD9": proof(regularised("thmD7", L, f_gap), "thmD7"),
    "thmD9.corrected": proof(regularised("thmD7.corrected", L + phi, f_gap + phi * w0_norm**2 / 2), "thmD7.corrected"),
    "lemmaE1": proof(tracked_message(1)),
    "lemmaE1.corrected": proof(tracked_message(2)),
    "lemmaE2": proof(inner_product(mean_grad_sq_sum)),
    "lemmaE3": proof(summed_drift_E, "lemmaF1", "lemmaF6"),
    "lemmaE7": proof(one_round_drift, "lemmaF2", "lemmaF6"),
    "lemmaE7.corrected": proof(local_drift),
    "lemmaF1": proof(all_rounds, "lemmaF2", "lemmaF5"),
    "lemmaF1.corrected": proof(tracking),
    "lemmaF2": proof(direction_printed, "lemmaF3", "lemmaF4"),
    "lemmaF3": proof(noise_of_directions),
    "lemmaF4": proof(noiseless_direction),
    "lemmaF5": proof(first_direction),
    "lemmaF6": proof(moves("lemmaE1"), "lemmaE1"),
    "lemmaF6.corrected": proof(moves("lemmaE1.corrected"), "lemmaE1.corrected"),
    "thmE4.eq73": proof(eq73, "lemmaE1", "lemmaE2", "lemmaE3"),
    "thmE4": proof(thmE4, "thmE4.eq73"),
    "thmE4.corrected": proof(nonconvex_E, "lemmaE1.corrected", "lemmaE2", "lemmaE7.corrected", "lemmaF1.corrected"),
    "corE5": proof(from_bound("thmE4"), "thmE4"),
    "corE5.corrected": proof(from_bound("thmE4.corrected"), "thmE4.corrected"),
    "rem9": proof(remark9),
    "thmE6.recursion": proof(recursion, "lemmaE1", "lemmaE2", "lemmaE7"),
    "thmE6.eq88": proof(first_round),
    "thmE6": proof(thmE6, "lemmaE1", "lemmaE2", "lemmaE7", "thmE6.recursion", "thmE6.eq88"),
    "thmE6.corrected": proof(polyak_E, "lemmaE1.corrected", "lemmaE2", "lemmaE7.corrected", "lemmaF1.corrected"),
    "corE8": proof(tuned_contraction("thmE6", "thmE6.eq88"), "thmE6", "thmE6.eq88"),
    "corE8.early_bracket": proof(tuned_contraction("thmE6", "thmE6.eq88"), "thmE6", "thmE6.eq88"),
    "corE8.corrected": proof(tuned_contraction("thmE6.corrected"), "thmE6.corrected"),
    "thmE9": proof(regularised("thmE6", L, f_gap), "thmE6"),
    "thmE9.corrected": proof(regularised("thmE6.corrected", L + phi, f_gap + phi * w0_norm**2 / 2), "thmE6.corrected"),
}

# Our proofs of statements whose printed proof breaks
REPAIRS: Mapping[str, Proof] = {
    "corD8": proof(tuned_contraction("thmD7.corrected"), "thmD7.corrected"),
    "lemmaF2": proof(direction_repaired),
}
