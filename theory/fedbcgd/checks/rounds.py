"""One round of FedBCGD and FedBCGD+: what the inference rules say about its vectors, and the lemmas about it.

The proofs are functions of an `Argument`: they get their premises from the argument, and conclude the statement's claim.
"""

from __future__ import annotations

import sympy
from sympy import Rational

from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.checks.quantities import *
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import Argument, Fact, Symbols, curried
from fedtheory.theory.proofs.forms import gradient
from fedtheory.theory.proofs.ledger import powers
from fedtheory.theory.proofs.rules import times
from fedtheory.theory.properties import Property

_half = Rational(1, 2)
FEDBCGD, FEDBCGD_PLUS = "alg1.corrected", "alg3.corrected"
_f_i = ALL.function


# Gradients at the global model


def mean_gradient(p: Argument, at: sympy.Expr, v: sympy.Expr) -> rules.RuleInstance:
    """<sum of grad f_i, v> = M <grad f, v> at a point."""
    return p.by(rules.SUM_GRADIENT, A, _f_i, f, at, v)


def heterogeneous(p: Argument) -> Fact:
    """(25): the mean square is the square of the mean plus the dispersion."""
    alike = 1 / M * p.by(rules.DISSIMILAR, A, _f_i, f, x_r)
    return p.have("(25)", mean_grad_sq, "<=", grad_sq_x + G**2, alike, -2 / M * mean_gradient(p, x_r, at_x))


def gradient_and_gap(p: Argument) -> Fact:
    """||grad f||^2 is at most 2 beta times the gap."""
    return p.have("gradient and gap", grad_sq_x, "<=", 2 * beta * gap_x, p.by(rules.GRADIENT_AND_GAP, f, x_r, x_star))


def gradients_of_clients(p: Argument) -> Fact:
    """The clients' gradients at x minus those at x*: by cocoercivity, and x* is stationary for their mean."""
    cocoercive = p.by(rules.COCOERCIVE, _f_i, x_r, x_star).over(A)
    gaps = (-1 * p.by(rules.SUM_VALUE, A, _f_i, f, x_r), p.by(rules.SUM_VALUE, A, _f_i, f, x_star))
    way = x_r - x_star
    linear = (mean_gradient(p, x_star, way), M * p.by(rules.STATIONARY, f, x_star, way))
    because = times(2 * beta / M, (cocoercive, *gaps, *linear))
    return p.have("cocoercive, for every client", bias_sq, "<=", 2 * beta * gap_x, *because)


def jensen_at_x(p: Argument) -> Fact:
    """||grad f||^2 is at most the mean square of the clients' gradients."""
    jensen = 1 / M**2 * p.by(rules.JENSEN_OVER, ALL.at_start, A)
    total = A.sum(ALL.at_start)
    mean = 1 / M**2 * mean_gradient(p, x_r, total + M * at_x)
    return p.have("Jensen", grad_sq_x, "<=", mean_grad_sq, jensen, mean)


# Samples


def of_sample(p: Argument, per_step: sympy.Expr) -> tuple[rules.RuleInstance, ...]:
    """||(1/K) sum over the sampled clients and their steps of u||^2 <= (T/M) sum over all clients and steps of ||u||^2."""
    jensen = 1 / K**2 * p.by(rules.JENSEN_OVER, per_step, I, C)
    return jensen, -T / K * p.by(rules.APART, SAMPLE, I.sum(sympy.expand(per_step**2)))


def lemma2(p: Argument) -> None:
    """(25), (26)."""
    p.conclude(p.put(heterogeneous(p), gradient_and_gap(p)))


def of_identity(p: Argument) -> None:
    """Lemma 4, from the identity of its proof."""
    p.conclude(p.claim("lemma4.lhs"))


def sample_printed(p: Argument) -> None:
    """(27) from the identity for M >= 2; for M = 1 the sample is all clients."""
    p.split(M, lambda: of_identity(p), lambda: sample_most(p))


def sample_most(p: Argument) -> None:
    """(28): Jensen for the sample of each block."""
    jensen = 1 / K**2 * p.by(rules.JENSEN_OVER, SAMPLED.at_start, C)
    apart = -1 / K * p.by(rules.APART, SAMPLE, SAMPLED.at_start**2)
    p.conclude(p.have("Jensen, for the sample", sample_sq, "<=", mean_grad_sq, jensen, apart))


def mean_of_sample(p: Argument) -> Fact:
    """The correct Lemma 4: the square of the mean plus the dispersion of the gradients."""
    jensen = jensen_at_x(p)
    return p.claim("lemma4.part1.corrected", under=[jensen])


# The virtual gradient of FedBCGD


def noise_of_mean(p: Argument) -> tuple[rules.RuleInstance, ...]:
    """E||(1/K) sum of the noises||^2 <= (T/K) sigma^2: the clients' noises are independent."""
    square = I.sum(sympy.expand(SAMPLED.noise.vector**2))
    independent = 1 / K**2 * p.by(rules.INDEPENDENT, SAMPLED.noise, I, C)
    return (
        independent,
        -1 / K**2 * p.by(rules.APART, SAMPLE, square),
        1 / (K * M) * p.by(rules.VARIANCE, ALL.noise).over(I, A),
    )


def changes(p: Argument) -> tuple[rules.RuleInstance, ...]:
    """||(1/K) sum of the changes of the sampled clients' gradients||^2 is at most (T/M) beta^2 times the drift."""
    smooth = T / M * p.by(rules.LIPSCHITZ, _f_i, ALL.point, x_r).over(I, A)
    return (*of_sample(p, SAMPLED.local - SAMPLED.at_start), smooth)


def three_parts(p: Argument) -> Fact:
    """Separates noise and drift from the sampled clients' gradients at x."""
    noise = SAMPLED.sum(SAMPLED.noise.vector) / K
    moved = SAMPLED.sum(SAMPLED.local - SAMPLED.at_start) / K
    at_start = SAMPLED.sum(SAMPLED.at_start) / K
    two = (p.by(rules.JENSEN, noise + moved, at_start), 2 * p.by(rules.JENSEN, noise, moved))
    because = (*two, *times(sympy.Integer(4), (*noise_of_mean(p), *changes(p))))
    bound = 4 * T / K * sigma**2 + 4 * T * beta**2 / M * drift_x + 2 * T**2 * sample_sq
    return p.have("noise, drift, gradients at x", G_sq, "<=", bound, *because, after=p.follow(FEDBCGD))


def square(p: Argument) -> None:
    """(48), (61) corrected: Lemma 4 as an identity, Assumption 4, and the gap if the claim contains it."""
    fact = p.put(three_parts(p), mean_of_sample(p), heterogeneous(p))
    p.conclude(p.put(fact, gradient_and_gap(p)) if gap_x in p.goal().value.free_symbols else fact)


@curried
def square_of_many(p: Argument, noisy: bool) -> None:
    """(48) as printed, for several clients.

    G is A + B + n: A is the changes of the gradients, B the gradients at x^r, n the noise.  The noise has mean 0 given the
    sample, so <B, n> is 0.  Young with M/(M-2) for A and B makes up for M/(M-1) in the variance of a sample; Young for A
    and n uses the rest of the factor 3.
    """
    change = SAMPLED.sum(SAMPLED.local - SAMPLED.at_start) / K
    at_start, noise = SAMPLED.sum(SAMPLED.at_start) / K, SAMPLED.sum(SAMPLED.noise.vector) / K
    of_mean, of_noise = M / (M - 2), (2 * M - 6) / (M - 2)
    fresh = -2 * T / K**2 * p.by(rules.FRESH, SAMPLED.noise, C.sum(SAMPLED.at_start)).over(I, C)
    because = [p.by(rules.YOUNG, change, at_start, of_mean), fresh]
    of_change, bound = 1 + of_mean, (1 + 1 / of_mean) * T**2 * sample_sq
    if noisy:
        because += [p.by(rules.YOUNG, change, noise, of_noise), *times(1 + 1 / of_noise, noise_of_mean(p))]
        of_change, bound = of_change + of_noise, bound + (1 + 1 / of_noise) * T / K * sigma**2
    else:
        because += [-1 / K * p.by(rules.SILENT, SAMPLED.noise, 2 * change + noise, sigma).over(I, C)]
    bound += of_change * T * beta**2 / M * drift_x
    because += times(of_change, changes(p))
    fact = p.have("three parts", G_sq, "<=", bound, *because, after=p.follow(FEDBCGD))
    p.conclude(p.put(fact, mean_of_sample(p), heterogeneous(p), gradient_and_gap(p)))


def lemma6(p: Argument) -> None:
    """(36): noise and gradients separately, Jensen over the sample and the steps."""
    noise, local = SAMPLED.sum(SAMPLED.noise.vector) / K, SAMPLED.sum(SAMPLED.local) / K
    because = (
        p.by(rules.JENSEN, noise, local),
        *times(sympy.Integer(2), (*noise_of_mean(p), *of_sample(p, SAMPLED.local))),
    )
    bound = 2 * T / M * grad_sq_steps + 2 * T / K * sigma**2
    p.conclude(p.have("noise and gradients", G_sq, "<=", bound, *because, after=p.follow(FEDBCGD)))


def square_printed(p: Argument) -> None:
    """(48) as printed: Lemma 4 (27), then Lemma 2."""
    fact = three_parts(p)
    jensen = jensen_at_x(p)
    sample = p.claim("lemma4.part1", under=[jensen])
    p.conclude(p.put(fact, sample, p.claim("lemma2"), gradient_and_gap(p)))


# The inner product with the direction to x*


def virtual_inner(p: Argument, algorithm: str, way: sympy.Expr) -> tuple[rules.RuleInstance, ...]:
    """<G, way> has the mean <(1/M) sum of grad f_i(y_i), way>, for a vector `way` known at the start of the round."""
    noise = p.by(rules.FRESH, ALL.noise, way).over(I, A)
    if algorithm == FEDBCGD:
        return 1 / K * p.by(rules.APART, SAMPLE, I.sum(SAMPLED.stochastic) * way), 1 / M * noise
    step = SAMPLED.of_client(SAMPLED.changed + SAMPLED.tracked)
    at_start = p.by(rules.FRESH, ALL.noise_at_start, way).over(I, A)
    mean = p.by(rules.CONTROLLED, A, ALL.variate, c, way)
    return 1 / K * p.by(rules.APART, SAMPLE, step * way), 1 / M * noise, -1 / M * at_start, -T / M * mean


def towards(p: Argument, start: sympy.Expr, target: sympy.Expr) -> tuple[rules.RuleInstance, ...]:
    """Lemma 1 for every client and step, over M: bounds <sum of grad f_i(y_i), start - target> by the gap of the two."""
    lemma1 = 1 / M * p.by(rules.PERTURBED, _f_i, ALL.point, target, start).over(I, A)
    gaps = (T / M * p.by(rules.SUM_VALUE, A, _f_i, f, start), -T / M * p.by(rules.SUM_VALUE, A, _f_i, f, target))
    return lemma1, *gaps


def inner_product(p: Argument, algorithm: str) -> Fact:
    """(47) at x^r: Lemma 1 towards x* and, with the factor gamma, towards x^{r-1}.

    ||z - x*||^2 <= (1 + gamma) (||x - x*||^2 + gamma ||v||^2) for the contraction.
    """
    (mu_,) = p.needs(Property.STRONGLY_CONVEX) or (mu,)
    way = z - x_star
    share = T * mu_ / (4 * (1 + gamma))
    because = (
        *virtual_inner(p, algorithm, way),
        *towards(p, x_r, x_star),
        *times(gamma, towards(p, x_r, x_prev)),
        share * gamma * p.by(rules.SQUARE, x_r - x_star - (x_r - x_prev)),
    )
    bound = -T * gap_x - gamma * T * (gap_x - gap_x_prev) + (1 + gamma) * beta / M * drift_x - share * dist_sq
    return p.have("Lemma 1 twice", inner, "<=", bound, *because, after=p.follow(algorithm))


def inner_corrected(p: Argument) -> None:
    """(47), about the gap at x^r."""
    p.conclude(inner_product(p, FEDBCGD))


@curried
def inner_printed(p: Argument, algorithm: str) -> None:
    """(47), (80): Lemma 1 for every client and step, about z^r."""
    because = (*virtual_inner(p, algorithm, z - x_star), *towards(p, z, x_star))
    bound = -T * gap - T * mu / 4 * dist_sq + beta / M * drift_z
    p.conclude(p.have("Lemma 1", inner, "<=", bound, *because, after=p.follow(algorithm)))


def inner_of_gradients(p: Argument, algorithm: str, share: sympy.Expr) -> Fact:
    """(56): Young with `share` for the gradients at z^r and x^r, polarisation for those at x^r and the local gradients."""
    jensen = 1 / (2 * T * M**2) * p.by(rules.JENSEN_OVER, ALL.local - ALL.at_start, I, A)
    smooth = 1 / (2 * M) * p.by(rules.LIPSCHITZ, _f_i, ALL.point, x_r).over(I, A)
    young = _half * p.by(rules.YOUNG, at_z - at_x, -mean_local, 1 / share)
    total = ALL.sum(ALL.local - ALL.at_start) / M
    # (1/M) sum of (local - at_start) = mean_local - T grad f(x), times itself
    polarised = total + mean_local - T * at_x
    mean = -1 / (2 * M) * mean_gradient(p, x_r, polarised)
    because = (*virtual_inner(p, algorithm, at_z), young, jensen, smooth, mean)
    bound = turn_sq / (2 * share) + (share / 2 - 1 / (2 * T)) * G_mean_sq
    bound += -T * grad_sq_x / 2 + beta**2 / (2 * M) * drift_x
    return p.have("Young, polarisation", inner_grad, "<=", bound, *because, after=p.follow(algorithm))


def turned(p: Argument, moved: sympy.Expr) -> Fact:
    """The difference of the gradients at z^r and x^r; `moved` is ||z^r - x^r||^2."""
    return p.have("smooth", turn_sq, "<=", beta**2 * moved, p.by(rules.LIPSCHITZ_OF_MEAN, f, z, x_r))


def gradients_inner(p: Argument, algorithm: str) -> Fact:
    """(56) with the share 1/T: the squared mean of the virtual gradient drops out; z^r - x^r = gamma v^r."""
    return p.put(inner_of_gradients(p, algorithm, 1 / T), turned(p, gamma**2 * v_sq))


def step56(p: Argument) -> None:
    """(56)."""
    p.conclude(p.put(inner_of_gradients(p, FEDBCGD, a), turned(p, zx_sq)))


def step56_corrected(p: Argument) -> None:
    """(56) with a = 1/T."""
    p.conclude(gradients_inner(p, FEDBCGD))


# z^{r+1}


def lemma10(p: Argument) -> Symbols:
    """z^{r+1} = z^r - eta G^r/(1 - lambda), for the gamma of Lemma 10."""
    values = p.values("lemma10")
    p.require("the gamma of z^r", sympy.Eq(gamma, catalogue.find("fedbcgd.lemma10").where[gamma], evaluate=False))
    return values


def combined(p: Argument) -> None:
    """(46), (76): the square, expanded."""
    after = lemma10(p)
    step = -sympy.expand(after[z_next]).coeff(G_r)
    bound = dist_sq + 2 * step * inner + step**2 * G_sq
    p.conclude(p.have("the square", dist_next, "=", bound, after=after))


def descent(p: Argument) -> None:
    """(55): smoothness of f between z^r and z^{r+1}."""
    after = lemma10(p)
    step = -sympy.expand(after[z_next]).coeff(G_r)
    smooth = p.by(rules.SMOOTH_DESCENT, f, z_next, z)
    bound = gap + step * inner_grad + beta / 2 * step**2 * G_sq
    p.conclude(p.have("smoothness", gap_next, "<=", bound, smooth, after=after))


# Drift


def steps_of_fedbcgd(p: Argument) -> Fact:
    """y - x after t steps: noises by Lemma 9 (41), gradients by Jensen, each minus its value at x."""
    noise, local = EARLIER.of_client(EARLIER.noise.vector), EARLIER.of_client(EARLIER.local)
    made = p.made(FEDBCGD, y_at, lambda y: (y - x_r) ** 2, A)
    two = eta**2 * p.by(rules.JENSEN, noise, local).over(A)
    noisy = (p.by(rules.SUCCESSIVE, EARLIER.noise, J).over(A), p.by(rules.VARIANCE, EARLIER.noise).over(J, A))
    jensen = p.by(rules.JENSEN_OVER, EARLIER.local, J).over(A)
    about = t * p.by(rules.JENSEN, EARLIER.local - EARLIER.at_start, EARLIER.at_start).over(J, A)
    part = 2 * t * p.by(rules.PART, lambda s: s.local - s.at_start, EARLIER, ALL)
    smooth = 2 * t * p.by(rules.LIPSCHITZ, _f_i, ALL.point, x_r).over(I, A)
    because = (-1 * made, two, *times(2 * eta**2, (*noisy, jensen, about, part, smooth)))
    bound = 2 * eta**2 * (t * M * sigma**2 + 2 * t * beta**2 * drift_x + 2 * t**2 * grad_sq)
    return p.have("t steps", drift_at, "<=", bound, *because)


def steps_of_fedbcgd_plus(p: Argument) -> Fact:
    """y - x after t steps: t changes of gradients on the same mini-batches, and t times the tracked direction."""
    changed, tracked = EARLIER.of_client(EARLIER.changed), t * EARLIER.tracked
    made = p.made(FEDBCGD_PLUS, y_at, lambda y: (y - x_r) ** 2, A)
    two = p.by(rules.JENSEN, changed, tracked).over(A)
    jensen = 2 * p.by(rules.JENSEN_OVER, EARLIER.changed, J).over(A)
    part = 2 * t * p.by(rules.PART, lambda s: s.changed, EARLIER, ALL)
    smooth = 2 * t * p.by(rules.SMOOTH_SAMPLE, ALL.stochastic, ALL.stochastic_at_start).over(I, A)
    because = (-1 * made, *times(eta**2, (two, jensen, part, smooth)))
    bound = 2 * eta**2 * (t * beta**2 * drift_x + t**2 * M * tracked_sq)
    return p.have("t steps", drift_at, "<=", bound, *because)


def whole_drift(p: Argument, fact: Fact, share: sympy.Rational) -> Fact:
    """The sum of the drift over the steps t = 0 ... T-1 of a round; the bound contains at most `share` times the sum."""
    if fact.quantity != drift_at:
        p.fail("summed over the round", f"{fact.quantity} is not the drift at one step")
    total = p.by_hand("summed over t = 0 ... T-1", drift_x, fact.sign, powers(p, fact.value, t, T), fact)
    return p.solved("drift", total, share)


def lemma5(p: Argument) -> None:
    """Lemma 5 for 2 beta eta T <= 1."""
    p.conclude(whole_drift(p, steps_of_fedbcgd(p), _half))


# Control variates


def server(p: Argument) -> Fact:
    """||c||^2 <= the mean of ||c_i - grad f_i(x*)||^2: c is the mean of the c_i, and of c_i - grad f_i(x*)."""
    apart = ALL.variate - ALL.at_optimum
    both = A.sum(apart) + M * c
    jensen = p.by(rules.JENSEN_OVER, apart, A)
    mean = p.by(rules.CONTROLLED, A, ALL.variate, c, both)
    zero = (mean_gradient(p, x_star, both), M * p.by(rules.STATIONARY, f, x_star, both))
    because = times(1 / M**2, (jensen, mean, *(-1 * one for one in zero)))
    return p.have("c is the mean of the c_i", server_sq, "<=", C_prev, *because)


def tracked_to_optimum(p: Argument) -> Fact:
    """(83): grad f_i(x) - grad f_i(x*), minus c_i - grad f_i(x*), plus c."""
    parts = (ALL.at_start - ALL.at_optimum, ALL.at_optimum - ALL.variate, c)
    jensen = 1 / M * p.by(rules.JENSEN, *parts).over(A)
    fact = p.have("three terms", tracked_sq, "<=", 3 * (bias_sq + C_prev + server_sq), jensen)
    return p.put(fact, gradients_of_clients(p), server(p))


def tracked_about_mean(p: Argument) -> Fact:
    """The tracked direction has the mean grad f(x); its squared deviation from it is on average at most the lag."""
    away = at_x - c
    because = times(
        1 / M,
        (
            M * p.by(rules.SQUARE, away),
            -2 * mean_gradient(p, x_r, c),
            2 * p.by(rules.CONTROLLED, A, ALL.variate, c, c),
        ),
    )
    return p.have("about the mean", tracked_sq, "<=", grad_sq_x + lag, *because)


def lemma13(p: Argument) -> None:
    """Lemma 13 about x^r."""
    fact = whole_drift(p, steps_of_fedbcgd_plus(p), Rational(1, 4))
    p.conclude(p.put(fact, tracked_to_optimum(p)))


def lemma16(p: Argument) -> None:
    """Lemma 16 about x^r."""
    fact = whole_drift(p, steps_of_fedbcgd_plus(p), Rational(1, 4))
    p.conclude(p.put(fact, tracked_about_mean(p)))


def sampled_changes(p: Argument) -> tuple[rules.RuleInstance, ...]:
    """The sampled clients' changes on the same mini-batches: at most (T/M) beta^2 times the drift."""
    smooth = p.by(rules.SMOOTH_SAMPLE, ALL.stochastic, ALL.stochastic_at_start)
    return (*of_sample(p, SAMPLED.changed), T / M * smooth.over(I, A))


def lemma11(p: Argument) -> None:
    """(77): Jensen over the sample, the steps and four parts."""
    parts = (SAMPLED.changed, SAMPLED.at_start - SAMPLED.at_optimum, SAMPLED.at_optimum - SAMPLED.variate, c)
    step = sympy.Add(*parts)
    of_parts = [I.sum(sympy.expand(part**2)) for part in parts]
    four = T / K * p.by(rules.JENSEN, *parts).over(I, C)
    jensen = 1 / K**2 * p.by(rules.JENSEN_OVER, step, I, C)
    apart = [-4 * T / K * p.by(rules.APART, SAMPLE, square_) for square_ in of_parts]
    smooth = 4 * T / M * p.by(rules.SMOOTH_SAMPLE, ALL.stochastic, ALL.stochastic_at_start).over(I, A)
    bound = 4 * T * beta**2 / M * drift_x + 4 * T**2 * (bias_sq + C_prev + server_sq)
    fact = p.have("four parts", G_sq, "<=", bound, jensen, four, *apart, smooth, after=p.follow(FEDBCGD_PLUS))
    p.conclude(p.put(fact, gradients_of_clients(p), server(p)))


def lemma11_nonconvex(p: Argument) -> None:
    """(113): changes separately; the tracked direction has the mean grad f(x), and deviates at most by the lag."""
    changed, tracked = SAMPLED.sum(SAMPLED.changed) / K, SAMPLED.sum(SAMPLED.tracked) / K
    two = p.by(rules.JENSEN, changed, tracked)
    moved = times(sympy.Integer(2), sampled_changes(p))
    drawn = 2 * T**2 / K**2 * p.by(rules.BLOCK_VARIANCE, SAMPLE, SAMPLED.tracked)
    total = A.sum(ALL.tracked)
    pairs, singles = (K * (K - 1) / (M * (M - 1)), K * (M - K) / (M * (M - 1)))
    # the sum of the tracked directions is M grad f(x); for its square ...
    whole = total + M * at_x
    mean = (mean_gradient(p, x_r, whole), -1 * p.by(rules.CONTROLLED, A, ALL.variate, c, whole))
    bound = 2 * T * beta**2 / M * drift_x + 2 * T**2 / K**2 * (pairs * M**2 * grad_sq_x + singles * M * tracked_sq)
    because = (two, *moved, drawn, *times(-2 * T**2 / K**2 * pairs, mean))
    fact = p.have("changes, and what is tracked", G_sq, "<=", bound, *because, after=p.follow(FEDBCGD_PLUS))
    p.conclude(p.put(fact, tracked_about_mean(p)))


def renewed(p: Argument, of: sympy.Expr) -> tuple[rules.RuleInstance, ...]:
    """A square of the new c_i, summed over the clients: a block becomes grad f_i(x^r) with probability K/M, or is kept."""
    new = p.follow(FEDBCGD_PLUS)[renewed_variate]
    kept = SAMPLE.of_some(of.subs(renewed_variate, ALL.variate))
    change = SAMPLE.of_some(of).subs(SAMPLED.renewed, new) - kept
    because = p.by(rules.RENEWED, of, renewed_variate, new, SAMPLE)
    return -1 / M * because, -1 / M * p.by(rules.APART, SAMPLE, sympy.expand(change))


def lemma14(p: Argument) -> None:
    """(88): a block of c_i becomes the block of grad f_i(x^r) with probability K/M."""
    because = renewed(p, (renewed_variate - ALL.at_optimum) ** 2)
    fact = p.have("kept or renewed", C_r, "=", (1 - K / M) * C_prev + K / M * bias_sq, *because)
    p.conclude(p.put(fact, gradients_of_clients(p)))


def lag_after_round(p: Argument) -> Fact:
    """A block of c_i is grad f_i(x^r) with probability K/M; then the model moves by v^{r+1}.

    Young with the share K/(2M - K), with which (1 + share) (1 - K/M) <= 1 - K/(2M) and 1 + 1/share = 2M/K.
    """
    share = K / (2 * M - K)
    behind, moved = renewed_variate - ALL.at_start, ALL.at_start - gradient(_f_i, x_next)
    young = 1 / M * p.by(rules.YOUNG, behind, moved, share).over(A)
    kept = times(1 + share, renewed(p, sympy.expand(behind**2)))
    smooth = (1 + 1 / share) / M * p.by(rules.LIPSCHITZ, _f_i, x_next, x_r).over(A)
    bound = (1 + share) * (1 - K / M) * lag + (1 + 1 / share) * beta**2 * v_next_sq
    after = {x_next: p.follow("momentum_form.corrected")[x_next]}
    return p.have("kept or renewed, then moved", lag_next, "<=", bound, young, *kept, smooth, after=after)


def lemma17(p: Argument) -> None:
    """The lag of the gradients."""
    p.conclude(lag_after_round(p))


# Momentum


def momentum(p: Argument) -> None:
    """v^{r+1} is lambda v^r + (1 - lambda) (-eta G^r/(1 - lambda)): its square by convexity."""
    after = {v_next: p.follow("momentum_form.corrected")[v_next]}
    convex = lam * (1 - lam) * p.by(rules.SQUARE, v_r + eta * G_r / (1 - lam))
    bound = lam * v_sq + eta**2 / (1 - lam) * G_sq
    p.conclude(p.have("convexity of the square", v_next_sq, "<=", bound, convex, after=after))
