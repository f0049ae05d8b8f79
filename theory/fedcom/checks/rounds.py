"""The proofs of the FedCOM supplement's lemmas about one round: messages, drift, directions, gradient tracking.

Expectations are over all randomness in a round.  Some printed proofs ignore the correlation of noise and later gradients;
they break at this step.
"""

from __future__ import annotations

import sympy
from sympy import Rational

from fedtheory.theory.fedcom.checks.quantities import *
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import Argument, Fact, Proof, curried
from fedtheory.theory.proofs.forms import gradient
from fedtheory.theory.proofs.rules import times
from fedtheory.theory.proofs.sequences import over_steps, within

_local = L * eta * tau
_correlated = "noise and later gradients are uncorrelated"


# Parts that several lemmas share; with sums over the clients, not means


def noise_of_clients(p: Argument, one: RoundVectors) -> tuple[rules.RuleInstance, ...]:
    """sum_j E||N_j||^2 <= m tau sigma^2 for N_j, the sum of client j's noises."""
    return p.by(rules.SUCCESSIVE, one.noise, I).over(C), p.by(rules.VARIANCE, one.noise).over(I, C)


def noise_of_mean(p: Argument) -> tuple[rules.RuleInstance, ...]:
    """E||sum_j N_j||^2 <= m tau sigma^2."""
    return p.by(rules.INDEPENDENT, NOW.noise, I, C), p.by(rules.VARIANCE, NOW.noise).over(I, C)


def gradient_of_mean(p: Argument) -> tuple[rules.RuleInstance, ...]:
    """||mean of the clients' summed gradients||^2 <= tau sum_c ||mean of the gradients of step c||^2."""
    one, other = I.sum(C.sum(NOW.local)), C.sum(I.sum(NOW.local))
    commute = m**-2 * p.by(rules.SUMS_COMMUTE, NOW.local, I, C, one + other)
    return p.by(rules.JENSEN_OVER, mean(NOW.local), I), commute


def along_drift(p: Argument, one: RoundVectors) -> tuple[rules.RuleInstance, ...]:
    """sum_j ||sum_c (grad f_j(w_j^(c)) - grad f_j(w))||^2 <= tau L^2 times the drift."""
    jensen = p.by(rules.JENSEN_OVER, one.local - one.at_start, I).over(C)
    return jensen, tau * p.by(rules.LIPSCHITZ, f_own, one.point, one.w).over(I, C)


# Section D


def compressed(p: Argument) -> Fact:
    """(11): independent compressors of relative variance q."""
    apart = p.by(rules.COMPRESSED_APART, MESSAGE, C), p.by(rules.COMPRESSION, MESSAGE).over(C)
    cross = -2 * p.by(rules.DECODED, MESSAGE, C.sum(NOW.moved)).over(C)
    return p.have("(11)", message_sq, "<=", q / m * own_sq + mean_sq, *times(m**-2, (*apart, cross)))


def lemmaD1_proof(p: Argument) -> None:
    """(11) to (16) as printed: variance of independent compressors, variance of the noise, Jensen over the steps."""
    bound = tau * sigma**2 + tau * grad_sq_sum_mean
    steps = p.by(rules.JENSEN_OVER, NOW.local, I).over(C)
    own = p.have(_correlated, own_sq, "<=", bound, *times(1 / m, (*noise_of_clients(p, NOW), steps)))
    bound = tau * sigma**2 / m + tau * grad_sq_sum_mean
    clients = p.by(rules.JENSEN_OVER, NOW.gradients, C)
    because = times(m**-2, (*noise_of_mean(p), clients, m * steps))
    of_mean = p.have(f"{_correlated}, of the mean", mean_sq, "<=", bound, *because)
    p.conclude(p.put(compressed(p), own, of_mean))


def correlated(p: Argument) -> Fact:
    """E||x||^2 for a client's sum x = N + G: E<N, G> = E<N, G - tau grad f(w)>, which the drift bounds."""
    change = NOW.gradients - tau * NOW.at_start
    young = p.by(rules.YOUNG, NOW.noises, change, _local).over(C)
    fresh = -2 * tau * p.by(rules.FRESH, NOW.noise, NOW.at_start).over(I, C)
    steps = p.by(rules.JENSEN_OVER, NOW.local, I).over(C)
    because = (
        *times(1 + _local, noise_of_clients(p, NOW)),
        young,
        fresh,
        steps,
        *times(1 / _local, along_drift(p, NOW)),
    )
    bound = (1 + _local) * tau * sigma**2 + tau * grad_sq_sum_mean + tau * L**2 * drift_mean / _local
    return p.have("one client's sum", own_sq, "<=", bound, *times(1 / m, because))


def mean_of_clients(p: Argument) -> Fact:
    """Clients are independent given the start of the round: E||sum x_j||^2 = sum E||x_j - e_j||^2 + ||sum e_j||^2."""
    total = C.sum(expected)
    own, of_sum = p.by(rules.CENTRED, DRAWN, expected).over(C), p.by(rules.CENTRED, DRAWN, total).over(C)
    fresh = p.by(rules.FRESH, NOW.noise, expected).over(I, C)
    less = p.by(rules.SQUARE, NOW.gradients - expected).over(C)
    steps = p.by(rules.JENSEN_OVER, NOW.local, I).over(C)
    because = (
        p.by(rules.CLIENTS_APART, DRAWN, C),
        2 * m * own,
        -2 * of_sum,
        p.by(rules.JENSEN_OVER, expected, C),
        (m - 1) * steps,
        (m - 1) * less,
        -2 * (m - 1) * fresh,
    )
    bound = own_sq / m + (1 - 1 / m) * tau * grad_sq_sum_mean
    return p.have("independent clients", mean_sq, "<=", bound, *times(m**-2, because))


def lemmaD1_corrected(p: Argument) -> None:
    """With the correlation of a client's noise and its later gradients."""
    p.conclude(p.put(compressed(p), mean_of_clients(p), correlated(p), p.claim("lemmaD3.summed")))


def lemmaD1(p: Argument) -> None:
    """(10) is weaker than (16)."""
    p.conclude(p.claim("lemmaD1.proof"))


def lemmaD2(p: Argument) -> None:
    """(17): polarisation at every local step, Assumption 1."""
    fresh = eta / m * p.by(rules.FRESH, NOW.noise, NOW.glob).over(I, C)
    smooth = p.by(rules.LIPSCHITZ, f_own, NOW.point, NOW.w).over(I, C)
    alike = -1 * p.by(rules.IDENTICAL, f_own, f, NOW.w, 2 * NOW.local - NOW.at_start - NOW.glob).over(I, C)
    bound = eta / 2 * (-tau * grad_sq - grad_sq_sum_mean + L**2 * drift_mean)
    because = (fresh, *times(eta / (2 * m), (smooth, alike)))
    p.conclude(p.have("polarisation at every step, Assumption 1", -eta * inner, "<=", bound, *because))


def steps_before(p: Argument) -> tuple[rules.RuleInstance, rules.RuleInstance]:
    """Bounds on the noises and gradients before step c, by those of all steps."""
    noise = p.by(rules.PART, lambda one: one.noise.vector, UNTIL, NOW)
    return noise, p.by(rules.JENSEN_PART, lambda one: one.local, UNTIL, NOW)


def lemmaD3_printed(p: Argument) -> None:
    """(20) as printed."""
    noise, gradients = steps_before(p)
    because = (p.by(rules.SUCCESSIVE, UNTIL.noise, J), noise, p.by(rules.VARIANCE, NOW.noise).over(I), gradients)
    bound = eta**2 * (tau * sigma**2 + tau * grad_sq_sum)
    p.conclude(p.have(_correlated, drift, "<=", bound, *times(eta**2, because), after=p.follow("alg1")))


def lemmaD3_corrected(p: Argument) -> None:
    """w_j^(c) - w is -eta times the sum of c gradients and c noises: two-term Jensen, then c <= tau."""
    noise, gradients = steps_before(p)
    two = p.by(rules.JENSEN, UNTIL.noises, UNTIL.gradients)
    parts = (p.by(rules.SUCCESSIVE, UNTIL.noise, J), noise, p.by(rules.VARIANCE, NOW.noise).over(I), gradients)
    bound = 2 * eta**2 * tau * (grad_sq_sum + sigma**2)
    because = times(eta**2, (two, *times(sympy.Integer(2), parts)))
    p.conclude(p.have("c steps of tau", drift, "<=", bound, *because, after=p.follow("alg1")))


def lemmaD3_summed(p: Argument) -> None:
    """The same summed over c; there are c steps before step c."""
    two = p.by(rules.JENSEN, UNTIL.noises, UNTIL.gradients)
    noise = p.by(rules.SUCCESSIVE, UNTIL.noise, J), p.by(rules.VARIANCE, UNTIL.noise).over(J)
    part = p.by(rules.PART, lambda one: one.local, UNTIL, NOW)
    parts = (*noise, p.by(rules.JENSEN_OVER, UNTIL.local, J), c * part)
    because = times(eta**2, (two, *times(sympy.Integer(2), parts)))
    bound = 2 * eta**2 * c * (grad_sq_sum + sigma**2)
    one = p.have("c steps", drift, "<=", bound, *because, after=p.follow("alg1"))
    total = 1 / m * over_steps(p, one, c, I).over(C)
    bound = eta**2 * tau * (tau - 1) * (grad_sq_sum_mean + sigma**2)
    p.conclude(p.have("summed over c", drift_mean, "<=", bound, total))


# Section E


def tracked_message(p: Argument) -> Fact:
    """(51): Assumption 5, the variance of one compressor; the trackings sum to zero."""
    both = OF_MEAN.sent + mean(NOW.moved)
    because = (
        p.by(rules.COMPRESSION_DRIFT, TRACKED, OF_MEAN, C),
        p.by(rules.COMPRESSION, OF_MEAN),
        -2 * p.by(rules.DECODED, OF_MEAN, OF_MEAN.sent),
        (q + 1) * tau / m * p.by(rules.BALANCED, delta, C, both),
    )
    return p.have("(51)", tracked_message_sq, "<=", (q + 1) * mean_sq + G_q, *because)


def mean_message(p: Argument) -> Fact:
    """Twice the noise and twice the gradients of the mean."""
    two = p.by(rules.JENSEN, mean(NOW.noises), mean(NOW.gradients))
    parts = (*times(m**-2, noise_of_mean(p)), *gradient_of_mean(p))
    bound = 2 * (tau * sigma**2 / m + tau * mean_grad_sq_sum)
    return p.have("noise and gradients of the mean", mean_sq, "<=", bound, two, *times(sympy.Integer(2), parts))


def lemmaE1_printed(p: Argument) -> None:
    """(51) to (57) as printed."""
    bound = tau * sigma**2 / m + tau * mean_grad_sq_sum
    parts = (*times(m**-2, noise_of_mean(p)), *gradient_of_mean(p))
    of_mean = p.have(_correlated, mean_sq, "<=", bound, *parts)
    p.conclude(p.put(tracked_message(p), of_mean))


def lemmaE1_corrected(p: Argument) -> None:
    """The same with two-term Jensen."""
    p.conclude(p.put(tracked_message(p), mean_message(p)))


def lemmaE2(p: Argument) -> None:
    """(58): polarisation at every local step, Jensen over the clients, Assumption 1."""
    fresh = eta / m * p.by(rules.FRESH, NOW.noise, NOW.glob).over(I, C)
    commute = eta / m * p.by(rules.SUMS_COMMUTE, NOW.local, C, I, NOW.glob)
    start, local = mean(NOW.at_start), mean(NOW.local)
    centre = p.by(rules.GRADIENT_OF_MEAN, f_own, f, NOW.w, C, 2 * local - start - NOW.glob).over(I)
    jensen = m**-2 * p.by(rules.JENSEN_OVER, NOW.local - NOW.at_start, C).over(I)
    smooth = 1 / m * p.by(rules.LIPSCHITZ, f_own, NOW.point, NOW.w).over(C, I)
    order = L**2 / m * p.by(rules.SUMS_COMMUTE, squared(NOW.point - NOW.w), C, I, sympy.Integer(1))
    bound = eta / 2 * (-tau * grad_sq - mean_grad_sq_sum + L**2 * drift_mean)
    because = (fresh, commute, *times(eta / 2, (centre, jensen, smooth, order)))
    p.conclude(p.have("polarisation at every step, Assumption 1", -eta * inner, "<=", bound, *because))


def moved(p: Argument, message: str) -> Fact:
    """The global step of a round is eta gamma times the mean message, whose square Lemma E.1 bounds."""
    step = p.have("(49)", next_move_sq, "=", gamma**2 * eta**2 * tracked_message_sq, after=p.follow("alg2"))
    return p.put(step, p.claim(message))


@curried
def moves(p: Argument, message: str) -> None:
    """(113) to (115): the global steps of all rounds but the last."""
    one = moved(p, message)
    rounds = tau**2 * p.every(one).in_each(EARLIER).over(EARLIER)
    gradients = one.value.coeff(mean_grad_sq_sum)
    rest = one.value - gradients * mean_grad_sq_sum
    bound = tau**2 * (gradients * mean_grad_sq_total + (R - 1) * rest)
    p.conclude(p.have("summed over the rounds", move_total, "<=", bound, rounds))


def lemmaE7_corrected(p: Argument) -> None:
    """w_j^(c) - w = -eta sum_{k<c} of gradient change, noise, and c times grad f(w) minus the error of the tracking."""
    changes = UNTIL.gradients - c * UNTIL.at_start
    four = p.by(rules.JENSEN, UNTIL.noises, changes, c * NOW.glob, -c * error)
    noise = p.by(rules.SUCCESSIVE, UNTIL.noise, J), p.by(rules.VARIANCE, UNTIL.noise).over(J)
    jensen = p.by(rules.JENSEN_OVER, UNTIL.local - UNTIL.at_start, J)
    part = c * p.by(rules.PART, lambda one: one.local - one.at_start, UNTIL, NOW)
    smooth = c * p.by(rules.LIPSCHITZ, f_own, NOW.point, NOW.w).over(I)
    parts = (*noise, jensen, part, smooth)
    because = times(eta**2, (four, *times(sympy.Integer(4), parts)))
    bound = 4 * eta**2 * (c * sigma**2 + c * L**2 * drift_sum + c**2 * (grad_sq + squared(error)))
    one = p.have("c steps", drift, "<=", bound, *because, after=p.follow("alg2"))
    total = 1 / m * over_steps(p, one, c, I).over(C)
    once, twice = tau * (tau - 1) / 2, tau * (tau - 1) * (2 * tau - 1) / 6
    bound = 4 * eta**2 * (once * (sigma**2 + L**2 * drift_mean) + twice * (grad_sq + tracking_sq))
    fact = p.have("summed over c", drift_mean, "<=", bound, total)
    p.conclude(p.solved("drift", fact, Rational(1, 15)))


def tracking(p: Argument) -> None:
    """The damped tracking follows the gradients: a contraction, then Young to separate the change of the gradients."""
    damping = 1 / (1 + q)
    p.conclude(p.put(changed(p, damping), damped(p, damping), mean_message(p)))


def damped(p: Argument, damping: sympy.Expr) -> Fact:
    """e + alpha (y - ybar) + alpha (u - ubar), alpha = 1/(1+q); tau y_j is client j's message before compression.

    tau u_j is its compression error.  y - ybar = z - e with z the gradient change and noise of the round, and
    ||e + alpha (z - e)||^2 + alpha^2 q ||z - e||^2 = (1 - alpha) ||e||^2 + alpha ||z||^2.
    """
    sent, errors = TRACKED.sent, TRACKED.received - TRACKED.sent
    shift = sympy.expand(error + damping / tau * (sent - mean(sent)))
    unbiased = p.by(rules.DECODED, TRACKED, shift).over(C), p.by(rules.DECODED, TRACKED, C.sum(shift)).over(C)
    relative = p.by(rules.COMPRESSION, TRACKED).over(C), 1 / m * p.by(rules.SQUARE, C.sum(errors))
    balance = p.by(rules.BALANCED, delta, C, C.sum(sent) + C.sum(NOW.moved))
    none = C.sum(delta) / m + NOW.glob - mean(NOW.at_start)  # zero: the trackings and their targets sum to zero
    aims = p.by(rules.BALANCED, delta, C, none), m * p.by(rules.GRADIENT_OF_MEAN, f_own, f, NOW.w, C, none)
    change = NOW.moved - tau * NOW.at_start
    two = p.by(rules.JENSEN, NOW.noises, NOW.gradients - tau * NOW.at_start).over(C)
    doubled = times(sympy.Integer(2), (*noise_of_clients(p, NOW), *along_drift(p, NOW)))
    because = (
        -2 * damping / tau * unbiased[0],
        2 * damping / (tau * m) * unbiased[1],
        *times(damping**2 / tau**2, relative),
        damping**2 * q / (m * tau) * balance,
        *times(-damping, aims),
        *times(damping / tau**2, (1 / m * p.by(rules.SQUARE, C.sum(change)), two, *doubled)),
    )
    kept = (1 - damping) * tracking_sq + 2 * damping * (sigma**2 + L**2 * drift_mean) / tau
    bound = kept + damping**2 * q * mean_sq / tau**2
    moved_to = squared(error + damping / tau * (TRACKED.received - mean(TRACKED.received)))
    aim = squared(delta_next - NOW.at_start + NOW.glob)
    step = p.every(p.have("line 10", aim, "=", moved_to, after=p.follow("alg2.corrected"))).over(C)
    return p.have("a damped step", mid_sq, "<=", bound, *times(1 / m, (step, *because)))


def changed(p: Argument, damping: sympy.Expr) -> Fact:
    """Young, with the share alpha/2, separates the change of the gradients in a round."""
    share = damping / 2
    own = gradient(f_own, w_next) - NOW.at_start
    of_f = gradient(f, w_next) - NOW.glob
    young = p.by(rules.YOUNG, delta_next - NOW.at_start + NOW.glob, of_f - own, share).over(C)
    none = of_f - mean(own)
    means = [p.by(rules.GRADIENT_OF_MEAN, f_own, f, at, C, none) for at in (w_next, NOW.w)]
    smooth = p.by(rules.LIPSCHITZ, f_own, w_next, NOW.w).over(C)
    change = (smooth, 1 / m * p.by(rules.SQUARE, C.sum(own)), -m * means[0], m * means[1])
    because = times(1 / m, (young, *times(1 + 1 / share, change)))
    bound = (1 + share) * mid_sq + (1 + 1 / share) * L**2 * next_move_sq
    return p.have("the change of the gradients split off", tracking_next, "<=", bound, *because)


# Section F, and (88)


def noises_of_directions(p: Argument) -> tuple[rules.RuleInstance, ...]:
    """The noise of round r has mean zero given round r-1; the squared deviation from a mean is at most the square."""
    before = BEFORE.noises
    fresh = -2 * p.by(rules.FRESH, NOW.noise, mean(before) - before).over(I, C)
    less = 1 / m * p.by(rules.SQUARE, C.sum(before))
    return fresh, less, *noise_of_clients(p, NOW), *noise_of_clients(p, BEFORE)


def directed(p: Argument, algorithm: str, made: sympy.Expr) -> rules.RuleInstance:
    """The sum of a client's local directions, by the algorithm; squared and summed over the clients."""
    return p.every(p.have("(65)", squared(directions), "=", squared(made), after=p.follow(algorithm))).over(C)


def lemmaF3(p: Argument) -> None:
    """(100)."""
    because = times(2 / m, noises_of_directions(p))
    p.conclude(p.have("2 (tau sigma^2 + tau sigma^2)", noise_sq, "<=", 4 * tau * sigma**2, *because))


def five_parts(p: Argument) -> tuple[tuple[sympy.Expr, ...], tuple[rules.RuleInstance, ...]]:
    """A client's local direction without its noise, as five vectors, and the smoothness bounds on their squares."""
    changes = BEFORE.gradients - tau * BEFORE.at_start
    of_mean = mean(BEFORE.gradients) - tau * BEFORE.glob
    parts = (
        NOW.gradients - tau * NOW.at_start,
        tau * (NOW.at_start - BEFORE.at_start),
        -changes,
        of_mean,
        tau * BEFORE.glob,
    )

    def own(one: RoundVectors) -> tuple[rules.RuleInstance, ...]:
        jensen = p.by(rules.JENSEN_OVER, one.local - one.at_start, I)
        return jensen, tau * p.by(rules.LIPSCHITZ, f_own, one.point, one.w).over(I)

    because = (
        *own(NOW),
        tau**2 * p.by(rules.LIPSCHITZ, f_own, NOW.w, BEFORE.w),
        *own(BEFORE),
        m**-2 * p.by(rules.JENSEN_OVER, changes, C),
        *times(1 / m, along_drift(p, BEFORE)),
        tau * p.by(rules.GRADIENT_OF_MEAN, f_own, f, BEFORE.w, C, of_mean + mean(changes)),
    )
    return parts, because


def of_five_parts(own: sympy.Expr, own_before: sympy.Expr) -> sympy.Expr:
    """The sum of the bounds on the five squares."""
    drifts = tau * own + tau**2 * move_sq + tau * own_before + tau * drift_mean_prev
    return L**2 * drifts + tau**2 * grad_sq_prev


def lemmaF4(p: Argument) -> None:
    """(103): five-term Jensen."""
    parts, because = five_parts(p)
    bound = 5 * of_five_parts(drift_sum, drift_sum_prev)
    because = (p.by(rules.JENSEN, *parts), *times(sympy.Integer(5), because))
    p.conclude(p.have("(105)", tracked_grad_sq, "<=", bound, *because))


def lemmaF2(p: Argument) -> None:
    """(98) by (99): twice the noise and twice Lemma F.4, averaged over clients."""
    noises = NOW.noises + mean(BEFORE.noises) - BEFORE.noises
    noiseless = NOW.gradients + mean(BEFORE.gradients) - BEFORE.gradients
    two = p.by(rules.JENSEN, noises, noiseless).over(C)
    lemma = p.claim("lemmaF4")
    of_clients = lemma.value.subs({drift_sum: drift_mean, drift_sum_prev: drift_mean_prev})
    made = directed(p, "thmE4.items.corrected", noises + noiseless)
    because = times(1 / m, (made, two, 2 * p.every(lemma).over(C)))
    fact = p.have("(99)", direction_sq, "<=", noise_sq + 2 * of_clients, *because)
    p.conclude(p.put(fact, p.claim("lemmaF3")))


def lemmaF2_repaired(p: Argument) -> None:
    """(98) by six-term Jensen: the noise is one of the six terms."""
    noises = NOW.noises + mean(BEFORE.noises) - BEFORE.noises
    parts, squares = five_parts(p)
    six = p.by(rules.JENSEN, noises, *parts).over(C)
    of_clients = tuple(one.over(C) for one in squares)
    because = (six, *times(sympy.Integer(6), (*noises_of_directions(p), *of_clients)))
    bound = 6 * (2 * tau * sigma**2 + of_five_parts(drift_mean, drift_mean_prev))
    made = directed(p, "thmE4.items.corrected", noises + sympy.Add(*parts))
    p.conclude(p.have("six terms", direction_sq, "<=", bound, *times(1 / m, (made, *because))))


def lemmaF5(p: Argument) -> None:
    """(107), in the first round: three terms, namely noise, differences to the global gradient, the global gradient."""
    parts = FIRST.noises, FIRST.gradients - tau * FIRST.glob, tau * FIRST.glob
    because = (p.by(rules.JENSEN, *parts).over(C), *times(sympy.Integer(3), noise_of_clients(p, FIRST)))
    bound = 3 * (tau * sigma**2 + start_sum + tau**2 * grad_sq_start)
    made = directed(p, "alg2", sympy.Add(*parts))
    p.conclude(p.have("three terms", direction_sq, "<=", bound, *times(1 / m, (made, *because))))


def lemmaF1(p: Argument) -> None:
    """(110): the drift as the squares of the local directions; Lemmas F.2 and F.5 would continue from there."""
    p.conclude(p.have("the equality in the middle", drift_total, "=", direction_total), part=1)


def lemmaE7_printed(p: Argument) -> None:
    """(117): the same for one round; Lemmas F.2 and F.6 would continue from there."""
    p.conclude(p.have("the equality in the middle", drift_mean, "=", tau * eta**2 * direction_sq), part=1)


def eq88(p: Argument) -> None:
    """(88): around the clients' own minimisers, to which local SGD contracts up to its noise."""
    d, minimum = FIRST.point - w_own, gradient(f_own, w_own)
    after = p.follow("alg2")
    rho = 2 * mu * eta * (1 - eta * L)
    slope = 2 * eta - eta**2 * L
    steps = (
        2 * eta * p.by(rules.FRESH, FIRST.noise, d),
        -2 * eta**2 * p.by(rules.FRESH, FIRST.noise, FIRST.local),
        eta**2 * p.by(rules.VARIANCE, FIRST.noise),
        eta**2 * L * p.by(rules.COCOERCIVE_PAIR, f_own, FIRST.point, w_own),
        slope * p.by(rules.MONOTONE, f_own, FIRST.point, w_own),
        eta**2 * L * mu * p.by(rules.SQUARE, d),
        p.by(rules.OWN_MINIMISER, f_own, w_own, eta**2 * (minimum - 2 * FIRST.local) + 2 * eta * d),
    )
    bound = (1 - rho) * own_dist + eta**2 * sigma**2
    step = p.have("a local step", own_dist_next, "<=", bound, *steps, after=after)
    near = within(p, step, own_dist, 1 - rho)
    noise = near.value - own_dist_start
    two = p.by(rules.JENSEN, FIRST.gradients - tau * minimum, tau * (minimum - FIRST.glob)).over(C)
    because = (
        two,
        2 * p.by(rules.JENSEN_OVER, FIRST.local - minimum, I).over(C),
        2 * tau * p.by(rules.LIPSCHITZ, f_own, FIRST.point, w_own).over(I, C),
        2 * tau * L**2 * p.every(near).over(I, C),
        -2 * tau**2 * p.by(rules.OWN_MINIMISER, f_own, w_own, minimum - 2 * FIRST.glob).over(C),
        2 * tau**2 * m * p.by(rules.SMALL_GRADIENT, f, FIRST.w, lowest),
    )
    bound = 2 * tau**2 * L**2 * (dist_sq_mean + noise) + 4 * tau**2 * L * f_gap
    p.conclude(p.have("(88)", start_sum, "<=", bound, *times(1 / m, because)))


PROOFS: dict[str, Proof] = {
    "lemmaD1": lemmaD1,
    "lemmaD1.proof": lemmaD1_proof,
    "lemmaD1.corrected": lemmaD1_corrected,
    "lemmaD2": lemmaD2,
    "lemmaD2.corrected": lemmaD2,
    "lemmaD3": lemmaD3_printed,
    "lemmaD3.corrected": lemmaD3_corrected,
    "lemmaD3.summed": lemmaD3_summed,
    "lemmaE1": lemmaE1_printed,
    "lemmaE1.corrected": lemmaE1_corrected,
    "lemmaE2": lemmaE2,
    "lemmaE2.corrected": lemmaE2,
    "lemmaE7": lemmaE7_printed,
    "lemmaE7.corrected": lemmaE7_corrected,
    "lemmaF1": lemmaF1,
    "lemmaF1.corrected": tracking,
    "lemmaF2": lemmaF2,
    "lemmaF3": lemmaF3,
    "lemmaF4": lemmaF4,
    "lemmaF5": lemmaF5,
    "lemmaF6": moves("lemmaE1"),
    "lemmaF6.corrected": moves("lemmaE1.corrected"),
    "thmE6.eq88": eq88,
}
REPAIRS: dict[str, Proof] = {"lemmaF2": lemmaF2_repaired}
