"""Our proofs of the sharper forms of Theorem 1.

As for SFL and PFL, they keep both Bregman divergences of a local step and the noise beside its own trajectory.  Here the
server has momentum: the step of z^r is alpha eta, a local step only eta, so the drift counts 1/alpha as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, replace
from functools import partial
from itertools import product

import numpy as np
import sympy
from sympy import Rational

from fedtheory.theory.fedbcgd.checks import rounds
from fedtheory.theory.fedbcgd.checks.ledgers import by_alpha, decayed, dimensionless, whole_run, with_gap_and_lag
from fedtheory.theory.fedbcgd.checks.quantities import *
from fedtheory.theory.fedbcgd.checks.rounds import FEDBCGD
from fedtheory.theory.fedbcgd.sharp import CHOICES, Young, declare
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import Argument, Fact, Proof, curried, evidence_of, spread_out
from fedtheory.theory.proofs.forms import before, gradient
from fedtheory.theory.proofs.rules import Noise, RuleInstance, times
from fedtheory.theory.proofs.sharpening import Points, Sharpening
from fedtheory.theory.statement import Evidence

_half = Rational(1, 2)
_alpha = 1 + gamma  # forms have gamma only

# The gradients of a client's step: at the step's point, at x^r, at x*; of all clients, and of a sampled one
local, start, star = ALL.local, ALL.at_start, ALL.at_optimum
u, w, noise = local - star, start - local, ALL.noise.vector
noise_sampled = SAMPLED.noise.vector
far, optimum = z - x_star, gradient(f, x_star)


def so_far(e: sympy.Expr) -> sympy.Expr:
    """The sum over a client's steps before this one."""
    return before(e, I)


OURS = replace(
    LANGUAGE,
    algorithms={
        **LANGUAGE.algorithms,
        FEDBCGD: {**LANGUAGE.algorithms[FEDBCGD], ALL.point: x_r - eta * so_far(ALL.stochastic)},
    },
)


def moved(p: Argument, of: sympy.Expr) -> RuleInstance:
    """A form of a step's point: x^r minus eta times the client's steps before."""
    return p.made(FEDBCGD, ALL.point, lambda y: of.xreplace({ALL.point: y}), I, A)


def fresh_so_far(p: Argument, known: sympy.Expr) -> RuleInstance:
    """<noise of the steps before, known> = 0: it is drawn after the start of the round."""
    given = {x_r, x_star, *far.free_symbols, start, star, *so_far(start + star).free_symbols}
    return p.by(rules.FRESH, Noise(so_far(noise), frozenset(given)), known).over(I, A)


def balanced(p: Argument, known: sympy.Expr) -> tuple[RuleInstance, ...]:
    """- <sum of all clients' gradients at x*, known> = 0."""
    return -1 * rounds.mean_gradient(p, x_star, known), -M * p.by(rules.STATIONARY, f, x_star, known)


def spread_at_optimum(p: Argument) -> tuple[RuleInstance, ...]:
    """The sum of the clients' squared gradients at x* is at most M G^2."""
    known = M * optimum - 2 * A.sum(star)
    return p.by(rules.DISSIMILAR, A, ALL.function, f, x_star), p.by(rules.STATIONARY, f, x_star, known)


def square_of(p: Argument, known: sympy.Expr) -> tuple[RuleInstance, ...]:
    """K^2 ||G||^2: noise, noise beside later gradients, and the variance of the samples of a client's summed `known`."""
    earlier = so_far(SAMPLED.stochastic).free_symbols | so_far(SAMPLED.local).free_symbols
    drawn = Noise(noise_sampled, SAMPLED.noise.known | earlier)
    beside = (
        p.by(rules.NOISE_APART, SAMPLED.local, SAMPLED.noise, C, I),
        p.by(rules.IN_ORDER, SAMPLED.local, noise_sampled, I).over(C),
        p.by(rules.FRESH, drawn, SAMPLED.local + so_far(SAMPLED.local)).over(I, C),
        p.by(rules.APART, SAMPLE, I.sum(sympy.expand(SAMPLED.local * so_far(noise_sampled)))),
    )
    sample = p.by(rules.BLOCK_VARIANCE, SAMPLE, I.sum(known))
    return (*times(K**2, rounds.noise_of_mean(p)), *times(sympy.Integer(-2), beside), sample)


def square(p: Argument, phi: Rational) -> tuple[RuleInstance, ...]:
    """The same, by the changes since x* and the spread of the clients' gradients at x*.

    phi  weight of Young's inequality between the two
    """
    pairs, singles = K * (K - 1) / (M * (M - 1)), K * (M - K) / (M * (M - 1))
    at_optimum = T * A.sum(star)
    return (
        *square_of(p, SAMPLED.local),
        *times(pairs * T, balanced(p, 2 * ALL.sum(u) + at_optimum)),
        pairs * p.by(rules.JENSEN_OVER, u, I, A),
        singles * p.by(rules.YOUNG, I.sum(u), T * star, phi).over(A),
        singles * (1 + phi) * p.by(rules.JENSEN_OVER, u, I).over(A),
        *times(singles * (1 + 1 / phi) * T**2, spread_at_optimum(p)),
    )


def divergences(p: Argument, s: sympy.Expr, curved: Rational) -> list[RuleInstance]:
    """From <grad f_i(y), z - x*> to gaps, by both Bregman divergences at y: towards x* and, gamma times, towards x^{r-1}.

    curved  the share of the divergence to x* that goes to (mu / 2) ||y - x*||^2, and so for x^{r-1}
    """
    to_optimum = (1 - curved) * p.by(rules.COCOERCIVE, ALL.function, x_star, ALL.point)
    to_previous = (1 - curved) * p.by(rules.CONVEX, ALL.function, x_prev, ALL.point)
    bent = [p.by(rules.TANGENT, ALL.function, y, ALL.point) for y in (x_star, x_prev)] if curved else []
    each = [to_optimum, gamma * to_previous, *(curved * b for b in bent[:1]), *(curved * gamma * b for b in bent[1:])]
    from_start = _alpha * p.by(rules.COCOERCIVE, ALL.function, ALL.point, x_r)
    values = [
        _alpha * T * p.by(rules.SUM_VALUE, A, ALL.function, f, x_r),
        *(-c * T * p.by(rules.SUM_VALUE, A, ALL.function, f, y) for c, y in ((1, x_star), (gamma, x_prev))),
    ]
    because = [one.over(I, A) for one in (*each, from_start)] + [_alpha * moved(p, w * ALL.point), *values]
    return [2 * s / M * one for one in because]


def convex_round(
    p: Argument, phi: Rational, rho: Rational, of_noise: Rational, curved: sympy.Expr = sympy.S.Zero
) -> Fact:
    """One round: E||z^{r+1} - x*||^2.

    phi       see `square`
    rho       weight of Young's inequality for the gradients at x* before a step
    of_noise  its weight for the noise before a step
    curved    see `divergences`
    """
    p.require("alpha", sympy.Eq(alpha, _alpha, evaluate=False))
    e = p.read(eta).subs(alpha, _alpha)
    s, q, spread = _alpha * e, 1 - 1 / K, (M - K) / (K * (M - 1))
    U, V, Z = so_far(u), so_far(star), so_far(noise)
    of_u, unit = 1 + 1 / rho + 1 / of_noise, s**2 * e / M
    near = s * curved * mu / M
    mixed = unit * (beta - curved * mu)
    left = s / (M * beta) * (1 - curved) - s**2 * T / M * (1 + phi * spread) - unit * beta * of_u * T * (T - 1) / 2
    of_star, of_z = mixed * (1 + rho), unit * beta * q**2 * (1 + of_noise)
    squares = T * (T - 1) * (2 * T - 1) / 6
    because = [
        *times(2 * s, rounds.virtual_inner(p, FEDBCGD, far)),
        *divergences(p, s, curved),
        *times(s**2 / K**2, square(p, phi)),
        # 2 <w, U + V + q Z>
        -2 * s**2 / (K * M) * fresh_so_far(p, start),
        s**2 / M * p.by(rules.YOUNG, w, U + V + q * Z, 1 / (e * beta)).over(I, A),
        -2 * unit * beta * q * fresh_so_far(p, V),
        unit * beta * p.by(rules.YOUNG, U, q * Z, 1 / of_noise).over(I, A),
        of_z * p.by(rules.NOISE_BEFORE, ALL.noise, I).over(A),
        mixed * p.by(rules.YOUNG, U, V, 1 / rho).over(I, A),
        unit * beta * of_u * p.by(rules.SUMS_BEFORE, u, I).over(A),
        left * p.by(rules.SQUARE, u).over(I, A),
        of_star * p.by(rules.COPIES_SQUARED, star, I).over(A),
        *times(of_star * squares, spread_at_optimum(p)),
    ]
    bound = -2 * s * T * (_alpha * gap_x - gamma * gap_x_prev)
    bound += s**2 * (T / K * sigma**2 + (1 + 1 / phi) * T**2 * spread * G**2)
    bound += of_z * M * T * (T - 1) / 2 * sigma**2 + of_star * squares * M * G**2
    if curved:
        because += contraction(p, near, s, rho)
        bound -= near * (1 - rho) / _alpha * M * T * dist_sq
    name = "square and inner product"
    after = {**p.follow(FEDBCGD), eta: e}
    step = p.have(name, spread_out(2 * s * inner + s**2 * G_sq), "<=", bound, *because, after=after)
    return p.shifted(p.added(p.claim("thm1.step46.corrected", by_alpha), step), -step.quantity)


def contraction(p: Argument, near: sympy.Expr, s: sympy.Expr, rho: Rational) -> list[RuleInstance]:
    """||y - x*||^2 + gamma ||y - x^{r-1}||^2 >= ||z - x* - s (steps before)||^2 / alpha; the noise costs nothing."""
    U, V, Z, part = so_far(u), so_far(star), so_far(noise), near / _alpha
    both = sympy.expand((ALL.point - x_star) ** 2 + gamma * (ALL.point - x_prev) ** 2)
    return [
        near * moved(p, both),
        near * gamma / _alpha * T * M * p.by(rules.SQUARE, x_star - x_prev),
        part * fresh_so_far(p, 2 * s**2 * V - 2 * s * far),
        part * s**2 * p.by(rules.SQUARE, U + Z).over(I, A),
        part * s * p.by(rules.YOUNG, far, U, rho / s).over(I, A),
        -2 * part * s * p.by(rules.COPIES, far, star, I).over(A),
        *times(part * s * T * (T - 1), balanced(p, far)),
    ]


@curried
def recursion(p: Argument, phi: Rational, rho: Rational, of_noise: Rational, curved: sympy.Expr = sympy.S.Zero) -> None:
    """One round with the weighted gap of the round before; see `convex_round`."""
    p.conclude(with_gap_and_lag(p, convex_round(p, phi, rho, of_noise, curved), p.goal().quantity))


@curried
def averaged(p: Argument, name: str) -> None:
    """mu = 0: equal weights for r = 0 ... R."""
    mean = whole_run(p, p.claim(name), gap_x, sympy.Integer(1), R + 1)
    p.conclude(p.average(mean, gap_x, sympy.Integer(1)))


# One round, non-convex


def descent(p: Argument, c: sympy.Expr, kappa: Rational, tau: Rational, phi: Rational) -> Fact:
    """s <-G, grad f(z)> + c ||G||^2, for the step s = alpha eta of z.

    kappa  weight of Young's inequality between the mean local gradient and the change of grad f from x to z
    tau    its weight between grad f(x) and the mean change of the local gradients
    phi    its weight between a client's change and the spread of the clients' gradients
    """
    e = p.read(eta)
    s, moving, turn = alpha * e, I.sum(w), at_z - at_x
    singles, of_mean = K * (M - K) / (M * (M - 1)), A.sum(start) / M
    changed = mean_local - T * at_x
    k = s * kappa / (2 * T) + c
    kept = s * T - k * T**2 - (s - 2 * k * T) * tau * T / 2
    of_changed, of_each = k + (s - 2 * k * T) / (2 * tau * T), c * singles / K**2 * (1 + phi)
    of_client = p.by(rules.YOUNG, A.sum(moving) / M - moving, T * (start - of_mean), phi).over(A)
    apart = p.by(rules.DISSIMILAR, A, ALL.function, f, x_r), rounds.mean_gradient(p, x_r, of_mean - at_x)
    equal_means = rounds.mean_gradient(p, x_r, changed - A.sum(moving) / M)
    drifting = (of_changed - of_each * M) * T / M + of_each * T + c * T / M
    because = [
        *times(s, rounds.virtual_inner(p, FEDBCGD, at_z)),
        *times(c / K**2, square_of(p, SAMPLED.local)),
        # the noise beside the local gradients: only their change counts
        -2 * c / (K * M) * fresh_so_far(p, start),
        c / (K * M) * p.by(rules.YOUNG, -w, so_far(noise), K * T).over(I, A),
        c / (K**2 * M * T) * p.by(rules.NOISE_BEFORE, ALL.noise, I).over(A),
        # the sampled clients about the mean
        c * singles / K**2 * of_client,
        *times(c * singles / K**2 * (1 + 1 / phi) * T**2, apart),
        of_each * p.by(rules.JENSEN_OVER, w, I).over(A),
        # the mean
        s / 2 * p.by(rules.YOUNG, turn, -mean_local, T / kappa),
        (s / 2 - k * T) * p.by(rules.YOUNG, at_x, -changed, tau * T),
        -of_changed * T / M * equal_means,
        (of_changed - of_each * M) / M**2 * p.by(rules.JENSEN_OVER, w, I, A),
        drifting * p.by(rules.LIPSCHITZ, ALL.function, ALL.point, x_r).over(I, A),
    ]
    bound = -kept * grad_sq_x + s * T / (2 * kappa) * turn_sq + drifting * beta**2 * drift_x
    bound += c * (T / K + (T - 1) / (2 * K**2)) * sigma**2
    bound += c * (1 + 1 / phi) * T**2 * (M - K) / (K * (M - 1)) * G**2
    name, left = "smoothness", spread_out(s * inner_grad + c * G_sq)
    return p.have(name, left, "<=", bound, *because, after={**p.follow(FEDBCGD), eta: e})


def drift(p: Argument, theta: Rational, share: Rational) -> Fact:
    """The drift by itself, by the gradients at x^r, and by the noise.

    theta  weight of Young's inequality between the changes of the gradients and the rest
    share  the largest part of the drift that returns in its own bound
    """
    e = p.read(eta)
    W, P, Z = so_far(w), so_far(start), so_far(noise)
    pairs, squares = T * (T - 1) / 2, T * (T - 1) * (2 * T - 1) / 6
    alike = p.by(rules.DISSIMILAR, A, ALL.function, f, x_r), -2 * rounds.mean_gradient(p, x_r, at_x)
    because = [
        -1 * moved(p, sympy.expand((ALL.point - x_r) ** 2)),
        e**2 * p.by(rules.YOUNG, -W, P + Z, 1 / theta).over(I, A),
        e**2 * (1 + theta) * p.by(rules.COPIES_SQUARED, start, I).over(A),
        *times(e**2 * (1 + theta) * squares, alike),
        e**2 * (1 + theta) * p.by(rules.NOISE_BEFORE, ALL.noise, I).over(A),
        -2 * e**2 * (1 + theta) * fresh_so_far(p, P),
        e**2 * (1 + 1 / theta) * p.by(rules.SUMS_BEFORE, w, I).over(A),
        e**2 * (1 + 1 / theta) * pairs * p.by(rules.LIPSCHITZ, ALL.function, ALL.point, x_r).over(I, A),
    ]
    apart = (1 + theta) * M * (squares * (G**2 + grad_sq_x) + pairs * sigma**2)
    bound = e**2 * ((1 + 1 / theta) * pairs * beta**2 * drift_x + apart)
    return p.solved("drift", p.have("the drift", drift_x, "<=", bound, *because, after={eta: e}), share)


def nonconvex(p: Argument) -> None:
    """f(z^r) + weight ||v^r||^2 falls; with this weight the momentum drops out."""
    kappa, tau, phi, theta, share = _half, Rational(3, 4), sympy.Integer(2), Rational(1, 8), Rational(1, 8)
    dimensionless(p, {}, {})
    weight = p.read(alpha**2 * eta * T * beta**2 * gamma**2 / (2 * kappa))
    fact = p.put(
        p.shifted(p.claim("thm1.step55", by_alpha), weight * v_next_sq), p.claim("thm1.step59.corrected", by_alpha)
    )
    c = spread_out(fact.value).coeff(G_sq)
    step = descent(p, c, kappa, tau, phi)
    fact = p.shifted(p.added(fact, step), -step.quantity)
    fact = p.put(fact, rounds.turned(p, gamma**2 * v_sq), drift(p, theta, share))
    rest = spread_out(fact.value)
    noise_ = spread_out(rest - sum(rest.coeff(one) * one for one in (gap, v_sq, grad_sq_x)))
    simpler = Fact(fact.quantity, "<=", gap + weight * v_sq - 2 * eta_tilde * grad_sq_x + noise_)
    simpler = p.loosened("the progress is at least 2 eta_tilde", fact, simpler)
    mean = whole_run(p, simpler, grad_sq_x, sympy.Integer(1), R)
    p.conclude(p.average(mean, grad_sq_x, sympy.Integer(1)))


def of_case(choices: Young) -> Proof:
    """The proof of the recursion, with these choices."""
    return recursion(*astuple(choices))


def of_theorem(case: str, step: str) -> Proof:
    """The proof of Theorem 1 for a case, from its recursion."""
    name = step.removeprefix("fedbcgd.")
    return decayed(name, Rational(1306, 825), sympy.Integer(1)) if case == "strongly_convex" else averaged(name)


_STEPS = {
    "strongly_convex": "thm1.step50.corrected.sharp",
    "general_convex": "thm1.step50.corrected.sharp.general_convex",
}
PROOFS: dict[str, Proof] = {
    **{_STEPS[case]: of_case(choices) for case, choices in CHOICES.items()},
    **{f"thm1.{case}.corrected.sharp": of_theorem(case, step) for case, step in _STEPS.items()},
    "thm1.nonconvex.corrected.sharp": nonconvex,
}


def _points(span: float) -> Points:
    """Numbers of clients and steps, momentum, curvatures and step sizes; first those at which constants are compared."""
    first = [(10, 2, 5, 2.0, 0.01, 1.0)]
    clients = [(m, k) for m, k in product((2, 3, 1e9), (1, 2, 1e9)) if k <= m]
    rest = product(clients, (1, 2, 1e9), (1.0, 2.0, 1e3), (1e-6, 1.0), (1.0, 0.5, 0.01))
    rows = first + [(m, k, t, a, mu_, share) for (m, k), t, a, mu_, share in rest]
    own = dict(zip(("M", "K", "T", "alpha", "mu", "share"), np.array(rows).T, strict=True))
    steps = span / 32 * own.pop("share")
    return {**own, "gamma": own["alpha"] - 1, "beta": np.ones(len(rows)), "eta_tilde": steps}


def _sharpening(case: str) -> Sharpening:
    strongly = case == "strongly_convex"
    return Sharpening(
        theorem=f"fedbcgd.thm1.{case}.corrected.sharp",
        step=f"fedbcgd.{_STEPS[case]}",
        choices=CHOICES[case],
        free=("phi", "rho", "of_noise", "curved")[: 3 + strongly],
        proof=of_case,
        language=OURS,
        points=_points,
        before=(dist_sq, 2 * mu * eta_tilde / alpha) if strongly else None,
        progress=gap_x,
        amounts=(sigma**2, G**2),
        settled=lambda choices, fact, points: choices,
        declare=partial(declare, case),
        proofs=lambda step, theorem, chosen: {
            step: (of_case(chosen), OURS),
            theorem: (of_theorem(case, step), OURS),
        },
    )


SHARPENINGS = {one.theorem: one for one in map(_sharpening, CHOICES)}


def evidence() -> Iterator[Evidence]:
    """Every proof as evidence."""
    return evidence_of(PROOFS, "repair", OURS, "fedbcgd")
