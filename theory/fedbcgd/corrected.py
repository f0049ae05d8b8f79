"""Corrected and completed statements, each with its own proof.

The constants are ours; the ledgers of `fedtheory.theory.fedbcgd.checks.ledgers` prove them.  The paper claims nothing of
this.

What changes.  Momentum: <grad, x^r - x^{r-1}> is at least f(x^r) - f(x^{r-1}) for a convex f, so gaps of successive
rounds telescope, and the bounds are about x^r, not z^r.  In the linear rate, momentum costs a factor alpha; it gains
none.  Sampling: (M-K)/(K(M-1)) instead of (1-K/M)/K.  FedBCGD+: the signs of line 13; control variates change only on
the blocks that were sent, so that c stays their mean; the lag has the expectation outside the norm.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy
from sympy import Le, Rational, exp, sqrt

from fedtheory.theory.fedbcgd import algorithms
from fedtheory.theory.fedbcgd.setting import *
from fedtheory.theory.notation import Grad, equal
from fedtheory.theory.statement import Bound, Order, Term, at_most, equal_to, implied, order, relations, soft_order

_half, _third = Rational(1, 2), Rational(1, 3)
spread = (M - K) / (K * (M - 1))  # of the mean of K of M, drawn without replacement
_two = implied(M >= 2, "needed: one client is not sampled")
_momentum = [gaining, of_z]
_clients = [*sampled, _two, *_momentum]
_curved = [*_clients, curved]
_short = [2 * beta * eta * T <= 1]

# ------------------------------------------------------------------------------------------------------- algorithms


fedbcgd.correct(
    "alg1",
    algorithms.ALG1_CORRECTED,
    given=[at_rest],
    note="The result of all T steps is sent.  The momentum, which already contains the mean's step, is added to the model "
    "before the round and not to the mean.  The shared block gets momentum, too.  The proofs are about this algorithm.",
)
fedbcgd.correct(
    "alg3",
    algorithms.ALG3_CORRECTED,
    given=[at_rest, controlled],
    note="Both signs of line 13; a client keeps only what it has sent, so that c is the mean of the c_i; the rest as in "
    "FedBCGD.",
)
_step = y_t - eta * (Grad(f_iz, y_t) + c - c_i + Grad(f_i, x_r) - Grad(f_iz, x_r))
fedbcgd.correct(
    "eq4",
    relations(equal(y_next, _step), words="what the virtual gradient of (78) and (113) sums up"),
    note="At y = x^r the step is -eta (grad f_i(x^r) - c_i + c), free of noise.",
)
fedbcgd.correct(
    "eq6",
    relations(
        equal(c_next, c + Dc_sum / M),
        equal(c_shared_next, c_shared + Dc_shared_sum / M),
        words="with c_i changed on the blocks that client i has sent, and on no others",
    ),
    also=[],
    note="Then c = (1/M) sum_i c_i in every round, (72).",
)
fedbcgd.correct(
    "momentum_form",
    relations(equal(v_next, lam * v_r - eta * G_r), equal(x_next, x_r + v_next), words="the updates of a round"),
    also=[],
    note="(45) uses this: (42) with the other sign, and (43) a round earlier.",
)

# ------------------------------------------------------------------------------------------------------------ lemmas

_sampling = [implied(K <= M, "implied: K of M clients"), implied(grad_sq_x <= mean_grad_sq, "implied: Jensen"), _two]
fedbcgd.correct(
    "lemma4",
    relations(
        equal(sample_sq, grad_sq_x + spread * (mean_grad_sq - grad_sq_x)),
        Le(sample_sq, mean_grad_sq),
        words="K of M clients, drawn without replacement",
    ),
    when=_sampling,
    also=[],
    note="An equality, with the dispersion of the gradients.",
)
fedbcgd.correct(
    "lemma4.part1",
    equal_to(sample_sq, mean=grad_sq_x, sampling=spread * (mean_grad_sq - grad_sq_x)),
    when=_sampling,
)
fedbcgd.correct(
    "lemma5",
    at_most(drift_x, gradients=Rational(8, 3) * T**3 * eta**2 * grad_sq, noise=2 * M * T**2 * eta**2 * sigma**2),
    when=_short,
    given=[smooth_clients, unbiased],
    rests_on=["lemma3", "lemma9", "local_step"],
    note="y_i^{r,1} = x^r: the drift is that of the points at which the T gradients are taken.",
)

# ------------------------------------------------------------------------------------------------------- Theorem 1

_square = {
    "drift": 4 * T * beta**2 / M * drift_x,
    "sampling": 2 * T**2 * spread * G**2,
    "noise": 4 * T / K * sigma**2,
}
fedbcgd.correct(
    "lemma6",
    given=[unbiased, independent],
    note="For clients that draw independently.",
)
fedbcgd.correct(
    "lemma12",
    given=[strongly_convex, smooth, unbiased, controlled],
    note="For control variates that start at their mean.  A gap T times as large is possible, as in (47).",
)
fedbcgd.correct(
    "thm1.step46",
    at_most(dist_next, before=dist_sq, inner=2 * eta * alpha * inner, square=eta**2 * alpha**2 * G_sq),
    when=momentum_constants,
    given=[],
)
fedbcgd.correct(
    "thm1.step47",
    at_most(
        inner,
        gap=-alpha * T * gap_x,
        gap_before=gamma * T * gap_x_prev,
        contraction=-T * mu / (4 * alpha) * dist_sq,
        drift=alpha * beta / M * drift_x,
    ),
    when=_momentum,
    given=[strongly_convex, smooth_clients, unbiased],
    note="About the gap at x^r, where the clients start, with z^r - x* = x^r - x* + gamma (x^r - x^{r-1}).",
)
fedbcgd.correct(
    "thm1.step48",
    at_most(G_sq, gap=4 * T**2 * beta * gap_x, **_square),
    when=[*sampled, _two],
    given=[smooth_clients, unbiased, independent, alike],
    rests_on=["lemma4.part1.corrected", "lemma9"],
)
_W = 8 * eta_tilde * gamma * (1 + 4 * mu * eta_tilde / alpha)
_q1 = 2 * mu * eta_tilde / alpha
_noise1 = {
    "sampling": 8 * spread * eta_tilde * G**2,
    "noise": 16 * eta_tilde * sigma**2 / (T * K),
    "heterogeneity": Rational(320, 3) * beta * eta_tilde**2 / alpha * G**2,
    "noise_drift": 80 * beta * eta_tilde**2 / (alpha * T) * sigma**2,
}
_limit1 = [eta_tilde <= 1 / (32 * beta)]
fedbcgd.correct(
    "thm1.step50",
    at_most(
        dist_next + _W * gap_x,
        before=(1 - _q1) * dist_sq,
        gap_before=(1 - _q1) * _W * gap_x_prev,
        progress=-4 * eta_tilde * gap_x,
        **{name: 4 * eta_tilde * term for name, term in _noise1.items()},
    ),
    when=[*_limit1, *_curved],
    given=[strongly_convex, smooth_clients, unbiased, independent, alike],
    rests_on=["thm1.step46.corrected", "thm1.step47.corrected", "thm1.step48.corrected", "lemma5.corrected", "lemma2"],
)
fedbcgd.correct(
    "thm1.strongly_convex",
    at_most(
        gap_xbar,
        optimisation=mu / alpha * (d0 + 9 * eta_tilde * gamma * F) * exp(-2 * mu * eta_tilde * R / alpha),
        **_noise1,
    ),
    when=[*_limit1, alpha / (2 * mu * eta_tilde) <= R, *_curved],
    where={**quarter, w_r: (1 - _q1) ** (-(r + 1))},
    given=[strongly_convex, smooth_clients, unbiased, independent, alike, at_rest],
    rests_on=["thm1.step50.corrected"],
    note="For the average of x^0 ... x^R with weights w_r.  Momentum makes the rate alpha times slower; (12) has it "
    "alpha times faster.",
)
fedbcgd.correct(
    "thm1.general_convex",
    at_most(gap_xbar, optimisation=(d0 + 8 * eta_tilde * gamma * F) / (4 * eta_tilde * R), **_noise1),
    when=[*_limit1, *_clients],
    where={**quarter, w_r: 1},
    given=[convex, smooth_clients, unbiased, independent, alike, at_rest],
    rests_on=["thm1.step50.corrected"],
    note="For the plain average of x^0 ... x^R.",
)
_m1 = 1 + 4 * gamma**2 * beta * eta_tilde
fedbcgd.correct(
    "thm1.step56",
    at_most(
        inner_grad,
        momentum=T * beta**2 / 2 * gamma**2 * v_sq,
        gradient=-T * _half * grad_sq_x,
        drift=beta**2 / (2 * M) * drift_x,
    ),
    given=[smooth_clients, unbiased],
    note="With a = 1/T the squared mean of the virtual gradient drops out; z^r - x^r = gamma v^r.",
)
fedbcgd.correct(
    "thm1.step59",
    at_most(v_next_sq, before=lam * v_sq, square=alpha * eta**2 * G_sq),
    when=[lam < 1],
    where={alpha: 1 / (1 - lam)},
    rests_on=["momentum_form.corrected"],
    note="A recursion for the momentum, by convexity of the square: v^{r+1} is lambda v^r + (1-lambda) (-alpha eta G^r).",
)
fedbcgd.correct(
    "thm1.step59",
    at_most(zx_sq, bound=eta**2 * gamma**2 / (1 - lam) * G_discounted),
    suffix="momentum",
    when=[lam < 1],
    given=[at_rest],
    rests_on=["momentum_form.corrected", "thm1.step59.corrected"],
    note="As printed, with lambda for beta, and with the rounds before: (45) computes v^{r+1} from G^r.",
)
_per_square = [
    Term("momentum", alpha * eta * beta**2 / (2 * a) * eta**2 * gamma**2 / (1 - lam) ** 2),
    Term("square", beta / 2 * eta**2 * alpha**2),
]
fedbcgd.correct(
    "thm1.step64",
    Bound(C_1, tuple(_per_square), "="),
    suffix="momentum",
    when=momentum_constants,
    given=[smooth_clients, unbiased, at_rest],
    rests_on=["thm1.step59.momentum", "thm1.step55", "thm1.step56"],
    note="As printed, with lambda for beta.",
)
fedbcgd.correct(
    "thm1.step48",
    suffix="four",
    when=[*sampled, M >= 4],
    given=[smooth_clients, unbiased, independent, alike],
    rests_on=["lemma4.part1.corrected"],
    note="As printed, for four or more clients.",
)
fedbcgd.correct(
    "thm1.step48",
    suffix="exact",
    when=[*sampled, M >= 3, equal(sigma, 0)],
    given=[smooth_clients, unbiased, alike],
    rests_on=["lemma4.part1.corrected"],
    note="As printed, for three or more clients, without noise.",
)
fedbcgd.correct(
    "thm1.step61",
    at_most(G_sq, gradient=2 * T**2 * grad_sq_x, **_square),
    when=[*sampled, _two],
    given=[smooth_clients, unbiased, independent, alike],
    rests_on=["lemma4.part1.corrected", "lemma9"],
)
fedbcgd.correct(
    "thm1.nonconvex",
    at_most(
        avg_grad_sq,
        optimisation=F / (eta_tilde * R),
        sampling=16 * beta * eta_tilde * _m1 * spread * G**2,
        noise=32 * beta * eta_tilde * _m1 * sigma**2 / (T * K),
        heterogeneity=Rational(1280, 9) * beta**2 * eta_tilde**2 / alpha**2 * G**2,
        noise_drift=Rational(320, 3) * beta**2 * eta_tilde**2 / (alpha**2 * T) * sigma**2,
    ),
    when=[24 * beta * eta_tilde * _m1 <= 1, *_clients],
    given=[smooth_clients, unbiased, independent, alike, at_rest],
    rests_on=[
        "thm1.step55",
        "thm1.step56.corrected",
        "thm1.step59.corrected",
        "thm1.step61.corrected",
        "lemma5.corrected",
    ],
    note="Without noise, K, T and alpha gain nothing.",
)

# ------------------------------------------------------------------------------------------------------- Theorem 2

_plus = [strongly_convex, smooth_clients, unbiased, smooth_samples, controlled]
_convex_plus = [convex, *_plus[1:]]
fedbcgd.correct(
    "lemma11",
    at_most(G_sq, drift=4 * T * beta**2 / M * drift_x, lag=8 * T**2 * C_prev, gap=8 * T**2 * beta * gap_x),
    given=[convex, smooth_clients, smooth_samples, controlled],
    rests_on=["lemma3"],
    note="C_prev is (1/M) sum_i E||c_i - grad f_i(x*)||^2, the expectation outside the norm, for the control variates of "
    "this round.",
)
fedbcgd.correct(
    "lemma13",
    at_most(
        drift_x,
        gap=Rational(16, 3) * M * T**3 * eta**2 * beta * gap_x,
        lag=Rational(16, 3) * M * T**3 * eta**2 * C_prev,
    ),
    when=_short,
    given=[convex, smooth_clients, smooth_samples, controlled],
    rests_on=["lemma3", "eq4.corrected", "eq6.corrected"],
    note="About x^r, where the clients start.  It needs no convexity of the mini-batches' functions, which the printed "
    "proof uses.",
)
fedbcgd.correct(
    "lemma14",
    at_most(C_r, before=(1 - K / M) * C_prev, gap=K / M * 2 * beta * gap_x),
    when=sampled,
    where={},
    given=[convex, smooth_clients],
    rests_on=["eq6.corrected"],
    note="C_r is for the control variates after the round that starts at x^r.",
)
_W2 = 2 * eta_tilde * gamma * (1 + mu * eta_tilde / alpha)
_q2 = mu * eta_tilde / (2 * alpha)
_lyapunov = 12 * eta_tilde**2 * M / K
_limit2 = eta_tilde <= 1 / (36 * beta)
_limit2_clients = eta_tilde <= alpha * K / (2 * mu * M)
fedbcgd.correct(
    "lemma15",
    at_most(
        dist_next + _W2 * gap_x + _lyapunov * C_r,
        before=(1 - _q2) * dist_sq,
        gap_before=(1 - _q2) * _W2 * gap_x_prev,
        lag=(1 - _q2) * _lyapunov * C_prev,
        progress=-eta_tilde * gap_x,
    ),
    when=[_limit2, _limit2_clients, *_curved],
    given=_plus,
    rests_on=[
        "thm1.step46.corrected",
        "thm1.step47.corrected",
        "lemma11.corrected",
        "lemma13.corrected",
        "lemma14.corrected",
    ],
    also=[],
)
fedbcgd.correct(
    "thm2.strongly_convex",
    at_most(
        gap_xbar,
        optimisation=mu / alpha * (d0 + 3 * eta_tilde * gamma * F) * exp(-_q2 * R),
        lag=mu / alpha * _lyapunov * C_0 * exp(-_q2 * R),
    ),
    when=[_limit2, _limit2_clients, 1 / _q2 <= R, *_curved],
    where={**whole, w_r: (1 - _q2) ** (-(r + 1))},
    given=[*_plus, at_rest],
    rests_on=["lemma15.corrected"],
    note="For the average of x^0 ... x^R with weights (1 - mu eta_tilde/(2 alpha))^-(r+1).  At the largest step size "
    "the exponent per round is min(K/(4M), mu/(72 alpha beta)).",
)
fedbcgd.correct(
    "thm2.general_convex",
    at_most(
        gap_xbar,
        optimisation=(d0 + 2 * eta_tilde * gamma * F) / (eta_tilde * R),
        lag=12 * eta_tilde * M / K * C_0 / R,
    ),
    when=[_limit2, *_clients],
    where={**whole, w_r: 1},
    given=[*_convex_plus, at_rest],
    rests_on=["lemma15.corrected"],
    note="For the plain average of x^0 ... x^R.  With eta_tilde = sqrt(K/M)/(36 beta) it is of the order of (16), if "
    "D_tilde sums over all M clients.",
)
fedbcgd.correct(
    "lemma16",
    at_most(
        drift_x, lag=Rational(8, 9) * M * T**3 * eta**2 * lag, gradient=Rational(8, 9) * M * T**3 * eta**2 * grad_sq_x
    ),
    when=_short,
    given=[smooth_samples, controlled],
    rests_on=["lemma3", "eq4.corrected", "eq6.corrected"],
)
fedbcgd.correct(
    "lemma17",
    at_most(lag_next, before=(1 - K / (2 * M)) * lag, moved=2 * M / K * beta**2 * v_next_sq),
    when=sampled,
    where={},
    given=[smooth_clients],
    rests_on=["eq6.corrected"],
    note="The lag of gradients, block by block, with a step size of the order K/M.  The proof of the printed lemma is "
    "about points and has a gap; for N = 1 the lemma is not refuted.",
)
_square2 = at_most(
    G_sq, drift=2 * T * beta**2 / M * drift_x, gradient=2 * T**2 * grad_sq_x, lag=2 * T**2 * spread * lag
)
fedbcgd.correct(
    "lemma11",
    _square2,
    suffix="nonconvex",
    when=[*sampled, _two],
    given=[smooth_samples, controlled],
    rests_on=["lemma4.part1.corrected", "eq6.corrected"],
    note="For functions that need not be convex, (113).",
)
_lag_weight = eta_tilde / 2
_v_weight = alpha * (eta_tilde * beta**2 * gamma**2 / 2 + 2 * _lag_weight * lam * beta**2 * M / K)
fedbcgd.correct(
    "lemma18",
    at_most(
        gap_next + _v_weight * v_next_sq + _lag_weight * lag_next,
        before=gap,
        momentum=_v_weight * v_sq,
        lag=_lag_weight * lag,
        progress=-eta_tilde / 4 * grad_sq_x,
    ),
    when=[
        eta_tilde <= K / (16 * beta * M),
        gamma**2 * beta * eta_tilde <= 1,
        *_clients,
        *momentum_constants,
    ],
    given=[smooth_clients, unbiased, smooth_samples, controlled],
    rests_on=[
        "thm1.step55",
        "thm1.step56.corrected",
        "thm1.step59.corrected",
        "lemma11.nonconvex",
        "lemma16.corrected",
        "lemma17.corrected",
    ],
)
fedbcgd.correct(
    "thm2.nonconvex",
    at_most(avg_grad_sq, optimisation=4 * F / (eta_tilde * R), lag=2 * lag_0 / R),
    when=[eta_tilde <= K / (16 * beta * M), gamma**2 * beta * eta_tilde <= 1, *_clients],
    where=whole,
    given=[smooth_clients, unbiased, smooth_samples, controlled, at_rest],
    rests_on=["lemma18.corrected"],
    note="Of the order beta F M/(K R) if c_i^0 = grad f_i(x^0).  Whether (M/K)^{2/3} is possible is open.",
)

# ------------------------------------------------------------------------------------------------- rounds and floats

_root_T = sqrt(T)


def _rounds(name: str, rounds: Order, per: dict[str, sympy.Expr], **changed: Any) -> None:
    """R of a main theorem, and the communication: rounds times d/N with K = S/N; `per` gives its terms."""
    sent = type(rounds)(Com, tuple(replace(t, value=per[t.name]) for t in rounds.terms), rounds.polylog)
    fedbcgd.correct(name, rounds, also=sent, **changed)


_rounds(
    "thm1.main.strongly_convex",
    soft_order(
        R,
        optimisation=alpha * beta / mu,
        sampling=alpha * spread * G**2 / (mu * eps),
        noise=alpha * sigma**2 / (mu * K * T * eps),
        drift=sqrt(alpha * beta) * (G + sigma / _root_T) / (mu * sqrt(eps)),
    ),
    {
        "optimisation": alpha * beta / (mu * N) * d,
        "sampling": alpha * (M - S / N) / (S * (M - 1)) * G**2 / (mu * eps) * d,
        "noise": alpha * sigma**2 / (mu * S * T * eps) * d,
        "drift": sqrt(alpha * beta) * (G + sigma / _root_T) / (mu * N * sqrt(eps)) * d,
    },
    when=_curved,
    given=[strongly_convex, smooth_clients, unbiased, independent, alike, at_rest],
    rests_on=["thm1.strongly_convex.corrected"],
    note="Local steps do not average out the choice of clients, so G^2 is not divided by T.  Blocks do not change the "
    "first two terms of the communication.  Momentum gains nothing.",
)
_rounds(
    "thm1.main.nonconvex",
    order(
        R,
        optimisation=beta * F * (1 + gamma) / eps,
        sampling=beta * F * spread * G**2 / eps**2,
        noise=beta * F * sigma**2 / (T * K * eps**2),
        drift=beta * F * (G + sigma / _root_T) / (alpha * eps ** Rational(3, 2)),
        momentum=beta * F * gamma * (sqrt(spread) * G + sigma / sqrt(T * K)) / eps ** Rational(3, 2),
    ),
    {
        "optimisation": beta * F * (1 + gamma) / (N * eps) * d,
        "sampling": beta * F * (M - S / N) / (S * (M - 1)) * G**2 / eps**2 * d,
        "noise": beta * F * sigma**2 / (T * S * eps**2) * d,
        "drift": beta * F * (G + sigma / _root_T) / (alpha * N * eps ** Rational(3, 2)) * d,
        "momentum": beta
        * F
        * gamma
        * (sqrt(spread.subs(K, S / N)) * G + sigma / sqrt(T * S / N))
        / (N * eps ** Rational(3, 2))
        * d,
    },
    when=_clients,
    given=[smooth_clients, unbiased, independent, alike, at_rest],
    rests_on=["thm1.nonconvex.corrected"],
    note="eps bounds a squared gradient.  In print F and a root of beta are missing, so the sides differ in dimension.",
)
_rounds(
    "thm2.main.strongly_convex",
    soft_order(R, clients=M / K, optimisation=alpha * beta / mu),
    {"clients": M / S * d, "optimisation": alpha * beta / (mu * N) * d},
    when=_curved,
    given=[*_plus, at_rest],
    rests_on=["thm2.strongly_convex.corrected"],
    note="The printed order, without momentum.",
)
_rounds(
    "thm2.main.nonconvex",
    order(R, optimisation=beta * F / eps * M / K, momentum=gamma**2 * beta * F / eps, lag=lag_0 / eps),
    {
        "optimisation": beta * F / eps * M / S * d,
        "momentum": gamma**2 * beta * F / (N * eps) * d,
        "lag": lag_0 / (N * eps) * d,
    },
    when=_clients,
    given=[smooth_clients, unbiased, smooth_samples, controlled, at_rest],
    rests_on=["thm2.nonconvex.corrected"],
    note="Proved with M/K, not (M/K)^{2/3}; so blocks gain nothing in the first term of the communication.  lag_0 is 0 if "
    "c_i^0 = grad f_i(x^0).",
)
