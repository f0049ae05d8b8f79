"""Corrected and completed statements, each with its own proof.

The algorithm takes gradients at the binarised parameters, so Assumptions 3 and 4 are about these points; Assumption 5 is a
second moment.  The lemmas about a round use eta_{t_0}, the learning rate of its first step, and need only a learning rate
that does not increase.  The constants are ours; the ledgers of `fedtheory.theory.fedbat.checks.ledgers` prove them.
"""

from __future__ import annotations

from sympy import Le, Max, exp, sqrt

from fedtheory.theory.fedbat import algorithms
from fedtheory.theory.fedbat.lemmas import curved, shares, small
from fedtheory.theory.fedbat.setting import *
from fedtheory.theory.fedbat.theorems import B_full, B_partial, alone, balanced, chosen, decreasing, divergence, sampled
from fedtheory.theory.notation import Value, equal
from fedtheory.theory.statement import Relations, X, at_most, implied, relations

# ------------------------------------------------------------------------------------------- the operator, Algorithm 1

_S_s = fedbat.symbols["S_s"].sympy

fedbat.correct(
    "eq14",
    relations(
        equal(m_next, m_s - eta_t * by_m),
        equal(alpha_next, alpha_s * exp(-(rho**2) * eta_t * alpha_s * by_alpha)),
        equal(m_hat_next, Value(_S_s, m_next)),
        words="a step at the binarised update; alpha_e of (10) is what is learned, by the chain rule",
    ),
    reads={"rho": 1 / X},
    note="alpha_e has no dimension, but eta has one; rho^2 makes up for the difference.",
)
fedbat.correct(
    "alg1",
    algorithms.ALG1_CORRECTED,
    rests_on=["eq6", "eq8", "eq9", "eq10", "eq11", "eq12", "eq13", "eq14.corrected"],
    note="The result of all tau steps is sent, and there is at least one step before the step sizes are set.",
)

# --------------------------------------------------------------------------------- Appendix C: the lemmas about a round

_falling = [implied(eta_t <= eta_start, "non-increasing")]
_before = 2 * L * eta_t**2 * local_gap + spread_x + eta_t**2 * grads_x_sq - 2 * eta_t * star_gap
_C = 4 * L * eta_t**2 * local_gap - 2 * eta_t * star_gap
gamma_t = fedbat.symbols["gamma_t"].sympy

fedbat.correct("lemma2", given=[noisy_x, independent], rests_on=["eq44.corrected"])
fedbat.correct("eq44", given=[noisy_x, independent], also=[])
fedbat.correct(
    "eq38",
    at_most(A_1, contraction=(1 - mu * eta_t) * Delta_t, divergence=spread_x, rest=C),
    also=relations(
        Le(A_1, Delta_t + _before - mu * eta_t * x_star_sq),
        equal(-x_star_sq, -spread_x - Delta_t),
        words="in between; the equality after summing over the clients",
    ),
)
_first41 = gamma_t * (eta_t * L * local_gap_bar + spread_x / (2 * eta_t)) - gamma_t * gap_t + 4 * L * eta_t**2 * Gamma
fedbat.correct(
    "eq41",
    also=relations(
        Le(C, _first41),
        equal(
            _first41,
            gamma_t * (eta_t * L - 1) * gap_t
            + (4 * L * eta_t**2 + gamma_t * eta_t * L) * Gamma
            + gamma_t / (2 * eta_t) * spread_x,
        ),
        words="in between",
    ),
)
fedbat.correct(
    "eq46",
    at_most(spread_w, gradients=eta_start**2 * (tau - 1) ** 2 * G**2),
    when=_falling,
    given=[bounded_x],
    rests_on=["eq47.corrected"],
    also=relations(
        Le(spread_w, moved_sq),
        Le(moved_sq, steps_mean),
        Le(steps_mean, eta_start**2 * (tau - 1) ** 2 * G**2),
        words="in between",
    ),
)
fedbat.correct(
    "eq47",
    at_most(moved_k_sq, steps=(t - t_0) * steps_sq),
    also=relations(equal(moved_k_sq, steps_sum), Le(steps_sum, (t - t_0) * steps_sq), words="in between"),
)
fedbat.correct(
    "eq48",
    at_most(binarised_sq, gradients=q**2 * eta_start**2 * (tau - 1) ** 2 * G**2),
    when=_falling,
    given=[bounded_x, binarised_sq_x],
    rests_on=["c1.t0", "eq46.corrected"],
)
fedbat.correct(
    "eq50",
    at_most(jump_sq, gradients=eta_start**2 * alone),
    when=[*_falling, *shares],
    given=[bounded_x, binarised_sq_x],
    rests_on=["c1.t0", "eq47.corrected"],
)
fedbat.correct(
    "lemma3",
    at_most(spread_x, gradients=eta_start**2 * divergence),
    when=_falling,
    given=[bounded_x, binarised_sq_x],
    rests_on=["eq45", "eq46.corrected", "eq48.corrected"],
)
fedbat.correct(
    "lemma4",
    at_most(jump_sq, gradients=eta_start**2 * alone),
    when=[*_falling, *shares],
    given=[bounded_x, binarised_sq_x],
    rests_on=["eq50.corrected"],
)
_slow = [*_falling, eta_start <= 2 * eta_t]
_assumed = [smooth, strongly_convex, noisy_x, independent, bounded_x, binarised_sq_x]
fedbat.correct(
    "eq25",
    when=[small, curved, *_slow, *shares],
    given=_assumed,
    rests_on=["eq24", "lemma1", "lemma2.corrected", "lemma3.corrected", "lemma4.corrected", "eq26"],
)
_theorem = ["eq27", "eq28", "eq29", "eq30"]
fedbat.correct(
    "thm1",
    given=_assumed,
    rests_on=["eq25.corrected", *_theorem],
    note="As printed, under assumptions about the points at which gradients are taken.",
)
from_start = Max(8 * L / mu, tau)
_step = {T: R * tau, gamma: from_start, eta_t: 2 / (mu * (gamma + t))}
fedbat.correct(
    "thm1",
    at_most(gap_last, **decreasing(B_full, from_start / 2 * mu * d0, from_start)),
    suffix="from_start",
    where=_step,
    given=_assumed,
    rests_on=["eq25.corrected"],
    note="From the model w_0 at the start of the algorithm, with gamma larger by one: then Lemma 1 covers step 0, too.",
)

# ------------------------------------------------------------------------------------- Appendix D: K of N clients

fedbat.correct(
    "d1.sync",
    relations(equal(n_last, R), Le(R * tau, n_last * tau, evaluate=False), words="n = 1, 2, ..., R"),
)
_update = fedbat.statements["fedbat.d1.update"].claim_of(Relations)
fedbat.correct(
    "d1.update",
    relations(*_update.relations[:3], _update.relations[4], words="the third where t+1 is no step of synchronisation"),
    rests_on=["d1.sync.corrected", "setting_theory"],
)
fedbat.correct(
    "eq62",
    at_most(A_bin, gradients=q**2 * eta_start**2 * tau**2 * G**2 / K),
    when=[*_falling, *chosen],
    given=[bounded_x, binarised_sq_x, balanced],
    rests_on=["eq50.corrected"],
    also=relations(equal(A_bin, A_1_parts), Le(A_1_parts, q**2 * eta_start**2 * tau**2 * G**2 / K), words="in between"),
)
fedbat.correct(
    "eq64",
    at_most(A_2, gradients=(N - K) / (K * (N - 1)) * eta_start**2 * tau**2 * G**2),
    when=[*_falling, *chosen],
    given=[bounded_x, balanced],
    rests_on=["eq63", "eq47.corrected"],
)
fedbat.correct(
    "lemma6",
    at_most(jump_sq, gradients=eta_start**2 * sampled),
    when=[*_falling, *chosen],
    given=[bounded_x, binarised_sq_x, balanced],
    rests_on=["eq61", "eq62.corrected", "eq64.corrected"],
)
fedbat.correct(
    "eq57",
    when=[small, curved, *_slow, *chosen],
    given=[*_assumed, balanced],
    rests_on=["eq56", "lemma1", "lemma2.corrected", "lemma3.corrected", "lemma6.corrected", "eq58"],
)
fedbat.correct(
    "thm2",
    given=[*_assumed, balanced],
    rests_on=["eq57.corrected", "eq27", "eq59"],
    note="As printed, under assumptions about the points at which gradients are taken.",
)
fedbat.correct(
    "thm2",
    at_most(gap_last, **decreasing(B_partial, from_start / 2 * mu * d0, from_start)),
    suffix="from_start",
    where=_step,
    given=[*_assumed, balanced],
    rests_on=["eq57.corrected"],
    note="From the model w_0 at the start of the algorithm, with gamma larger by one.",
)

# -------------------------------------------------------------------------------- Appendix E: the non-convex case

fedbat.correct(
    "e1.update", also=[], note="gbar_t is sum_k p_k grad F_k(x_t^k), which is no gradient of F at any one x_t^k."
)
_two_sided = "The printed Assumption 1 bounds the functions from above only; this needs bounds from both sides."
for _name, _premises in {
    "eq78": [],
    "eq79": ["eq77", "eq78.corrected"],
    "eq80": ["eq76", "eq79.corrected"],
}.items():
    fedbat.correct(_name, given=[lipschitz], rests_on=_premises, note=_two_sided)
fedbat.correct("eq82", given=[lipschitz], rests_on=["eq80.corrected", "eq81"], note=_two_sided)
fedbat.correct(
    "lemma7",
    given=[lipschitz, balanced],
    rests_on=["eq75", "eq82.corrected"],
    note=_two_sided,
)
fedbat.correct("eq70", given=[lipschitz, balanced], rests_on=["lemma7.corrected"], note=_two_sided)
_rest = {
    "divergence": eta / 2 * L**2 * eta**2 * divergence,
    "noise": L * eta**2 / 2 * sigma**2 / N,
    "jump": L / 2 * eta**2 * sampled,
}
_rough = [lipschitz, noisy_x, independent, bounded_x, binarised_sq_x, balanced]
fedbat.correct(
    "eq71",
    at_most(F_bar_next, before=F_bar, gradient=-eta / 2 * grad_sq, **_rest),
    where={},
    given=_rough,
    rests_on=["eq70.corrected", "lemma2.corrected", "lemma3.corrected", "lemma6.corrected"],
)
fedbat.correct(
    "eq72",
    at_most(eta / 2 * avg_step_grad_sq, telescoped=(F_0 - F_T) / T, **_rest),
    where={},
    given=_rough,
    rests_on=["eq71.corrected"],
)
fedbat.correct(
    "thm3",
    at_most(
        avg_step_grad_sq,
        optimisation=2 * L * f_gap / sqrt(T),
        noise=(sigma**2 / N + sampled) / sqrt(T),
        divergence=divergence / T,
    ),
    given=_rough,
    rests_on=["eq72.corrected"],
    note="F(w_T) >= F*, so Gamma is not needed; the factor 4 is for a decreasing learning rate, and this one is "
    "constant.",
)

fedbat.correct(
    "remark2",
    given=[strongly_convex, *_rough],
    rests_on=["thm1.corrected", "thm2.corrected", "thm3.corrected"],
    note="Under the conditions of the corrected theorems; everything except T is a constant, also tau and d, which is in "
    "q.",
)
