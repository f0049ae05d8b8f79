"""Corrected and completed statements, each with its own proof.

The constants are ours; the ledgers of `fedtheory.theory.fedcom.checks.ledgers` prove them.  The paper claims nothing of
this.

Section D: the noise of a local step and the gradients of later steps are correlated; the printed lemmas ignore this.
Section E: the gradient tracking takes a compressed step of length 1, so its error grows by q per round.  Here it is
damped by alpha = 1/(1+q), as in DIANA, and has its own recursion (`tracking_sq`).
"""

from __future__ import annotations

from dataclasses import replace

from sympy import Rational, exp, sqrt

from fedtheory.theory.fedcom import algorithms
from fedtheory.theory.fedcom.heterogeneous import compression, contraction78, curved, eta_E8
from fedtheory.theory.fedcom.homogeneous import b
from fedtheory.theory.fedcom.setting import *
from fedtheory.theory.notation import equal
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Rate, Rates, Words, at_most, implied, order, rates, relations

_half = Rational(1, 2)

# ------------------------------------------------------------------------------------------------- algorithms


fedcom.correct(
    "alg2",
    algorithms.ALG2_DAMPED,
    gives={Property.ZERO_TRACKINGS: (), Property.DAMPED_TRACKING: ()},
    note="Damped by alpha = 1/(1+q).  Without compression (q = 0) this is the printed algorithm.",
)
fedcom.correct(
    "alg4",
    algorithms.ALG4_MEAN_OF_SAMPLED,
    note="The mean over the clients that sent a message: then the sum of the gradient trackings stays zero.",
)
fedcom.correct(
    "alg5",
    algorithms.ALG5_DAMPED,
    note="The memory keeps the part that client j's own message left out; with k = d it stays zero, and the lines are as "
    "in Algorithm 3.  Line 11 is damped by k/d: a coordinate that is sent every T rounds brings T differences at once.  "
    "This multiplies its tracking error by 1 - T without damping, which is unstable for k < d/2, and by 1 - T k/d with "
    "damping.  It also moves the model by T steps at once: with identical clients some runs diverge for L eta tau a "
    "little above 2 k/d.  Not proved: runs on quadratics converge for L eta tau <= 2 k/d.",
)
fedcom.correct(
    "alg5",
    algorithms.ALG5_OWN_PROGRESS,
    suffix="own",
    note="The same without damping: uses the client's own progress of this round, which it knows, instead of its message.  "
    "Not proved: runs on quadratics converge.",
)
fedcom.correct(
    "thmE4.items",
    relations(
        equal(delta_next, -delta_sum / tau),
        equal(delta_mean, 0),
        equal(w_next, w_r - gamma * eta * Delta_q),
        equal(delta_next, delta + (Delta_jq - Delta_q) / tau),
        equal(E(delta_next), (g_sum - g_sum_mean) / tau),
        equal(d_next, g_next + (g_sum_mean - g_sum) / tau),
        equal(g_Q_mean, eta * g_sum_mean),
        words="for the updates of Algorithm 2, from a round r to the next",
    ),
)

damped = fedcom.assumption(
    name="asm.damped",
    place="Algorithm 2, damped",
    claim=relations(
        equal(delta_next, delta + (Delta_jq - Delta_q) / ((1 + q) * tau)), words="line 10 of the corrected Algorithm 2"
    ),
    note="Ours.",
    gives={Property.DAMPED_TRACKING: ()},
)

# ------------------------------------------------------------------------------------------- Section D: FedCOM

_local = L * eta * tau  # the length of a round's local steps, relative to the scale of the function

fedcom.correct(
    "lemmaD1",
    at_most(
        message_sq,
        gradients=(1 - 1 / m + (q + 1) * (1 + _local) / m) * tau * grad_sq_sum_mean,
        noise=(q + 1) * (1 + 2 * _local) * tau * sigma**2 / m,
    ),
    when=[_local <= 1],
    given=[smooth, independent, homogeneous],
    rests_on=["lemmaD3.summed"],
)
fedcom.correct(
    "lemmaD3",
    at_most(drift, gradients=2 * eta**2 * tau * grad_sq_sum, noise=2 * eta**2 * tau * sigma**2),
    note="The factor 2 pays for the correlation of noise and later gradients.",
)
fedcom.correct(
    "lemmaD3",
    at_most(drift_mean, gradients=eta**2 * tau**2 * grad_sq_sum_mean, noise=eta**2 * tau**2 * sigma**2),
    suffix="summed",
    rests_on=["lemmaD3.corrected"],
    note="Summed over the steps of a round, the printed constants are right: before step c there are c of the tau steps.",
)
fedcom.correct(
    "lemmaD2",
    given=[smooth, homogeneous],
    note="Also under Assumption 3: the functions are identical, and the gradients unbiased.  The inner product is with the "
    "clients' gradients before compression; by Assumption 2 the messages have the same mean.",
)
limit_D = tau**2 * L**2 * eta**2 + (1 - 1 / m + (q + 1) * (1 + _local) / m) * eta * gamma * L * tau
fedcom.correct(
    "thmD4",
    {"noise": L * eta * gamma * (q + 1) / m * (1 + 2 * _local) * sigma**2},
    when=[limit_D <= 1],
    given=[smooth, independent, homogeneous],
    rests_on=["lemmaD1.corrected", "lemmaD2.corrected", "lemmaD3.summed"],
)
fedcom.correct(
    "thmD7",
    {"noise": (1 + q) * (1 + 2 * _local) * gamma * eta * L * sigma**2 / (2 * m * mu)},
    when=[limit_D <= 1, curved],
    given=[smooth, independent, homogeneous, polyak],
    rests_on=["lemmaD1.corrected", "lemmaD2.corrected", "lemmaD3.summed"],
)
_eta_D9 = 1 / (2 * (L + phi) * gamma * tau * b)
fedcom.correct(
    "thmD9",
    at_most(
        gap_last,
        optimisation=exp(-phi * R / (2 * (L + phi) * b)) * (f_gap + phi * w0_norm**2 / 2),
        drift=sigma**2 / (8 * phi * tau * gamma**2 * b**2),
        noise=(1 + q) * (1 + 1 / (gamma * b)) * sigma**2 / (4 * phi * b * tau * m),
        regularisation=phi * w_star_norm**2 / 2,
    ),
    when=[gamma >= 1],
    where={eta: _eta_D9},
    given=[smooth, independent, homogeneous, convex],
    rests_on=["thmD7.corrected"],
    also=[],
    note="For every phi > 0.  The regularised function is (L+phi)-smooth, and its initial gap has a term in w^(0).",
)
fedcom.correct(
    "corD8",
    given=[smooth, independent, homogeneous, polyak],
    rests_on=["thmD7.corrected"],
    note="For independent compressors.",
)
fedcom.correct(
    "corD5",
    when=[gamma >= m, 9 * (b + 1) ** 2 * m * tau / (q + 1) <= R],
    given=[smooth, independent, homogeneous],
    rests_on=["thmD4.corrected"],
    also=rates(
        Rate("fixed gamma", b / epsilon, (q + 1) / (b * m * epsilon)),
        Rate("also allowed", (q + 1) / epsilon, 1 / (m * epsilon)),
    ),
    note="With the condition on R that makes the step size admissible, and rates that meet it.",
)
fedcom.correct(
    "rem7",
    Words(
        "Condition (21) holds with the step size of Corollary D.5 and gamma >= 1 when R is at least (q/m+2)^2 "
        "tau m/(q+1); it needs R to be at least (q/m+1)^2 tau m/(q+1).",
        ((b + 1) ** 2 * tau * m / (q + 1) <= R, b**2 * tau * m / (q + 1) <= R),
    ),
    when=[gamma >= 1],
    rests_on=["cond21"],
    also=[],
    note="The first relation is sufficient, the second necessary.",
)
fedcom.correct(
    "tab5.fedcom",
    rates(
        Rate("nonconvex", b / epsilon, (q + 1) / (b * m * epsilon)),
        Rate("PL", kappa * b, (q + 1) / (b * m * epsilon), polylog=True),
        Rate("strongly convex", kappa * b, (q + 1) / (b * m * epsilon), polylog=True),
        Rate("convex", b / epsilon, (q + 1) / (b * m * epsilon**2), polylog=True),
    ),
    rests_on=["thmD4.corrected", "thmD7.corrected", "thmD9.corrected"],
    given=[smooth, independent, homogeneous],
    note="The number of local steps is larger by (q+1)/(q/m+1) than printed, or the rounds by q/m+1.  In the PL and "
    "strongly convex rows mu is a constant, and L is kappa; with L as a constant the error is kappa epsilon.",
)

# --------------------------------------------------------------------------------------- Section E: FedCOMGATE

fedcom.correct("lemmaE2", given=[smooth, heterogeneous], note="Also under Assumption 4: the gradients are unbiased.")
small_q = 30 * (q + 1) * eta**2 * L**2 * tau**2 <= 1
slow_q = 4 * (q + 1) * L * eta * gamma * tau <= 1
_few = (epsilon * m**2 <= 1,)  # or G_q = 0: the bounds have a term of the order of G_q m^2 epsilon^2
_few_fast = (*_few, gamma >= sqrt(m * tau))
_damped = "For the algorithm with damping alpha = 1/(1+q) (fedcom.alg2.corrected)."

fedcom.correct(
    "lemmaE1",
    {
        "noise": 2 * (q + 1) * eta**2 * tau * sigma**2 / m,
        "gradients": 2 * (q + 1) * eta**2 * tau * mean_grad_sq_sum,
    },
    note="The factor 2 pays for the correlation of noise and later gradients.",
)
fedcom.correct(
    "lemmaF6",
    at_most(
        move_total,
        gradients=2 * tau**3 * (eta * gamma) ** 2 * (q + 1) * mean_grad_sq_total,
        noise=2 * tau**3 * R * (eta * gamma) ** 2 * (q + 1) * sigma**2 / m,
        compression=tau**2 * (eta * gamma) ** 2 * R * G_q,
    ),
    rests_on=["lemmaE1.corrected"],
    note="Lemma E.1 for every round.",
)
fedcom.correct(
    "lemmaE7",
    at_most(
        drift_mean,
        gradient=Rational(3, 2) * eta**2 * tau**3 * grad_sq,
        tracking=Rational(3, 2) * eta**2 * tau**3 * tracking_sq,
        noise=Rational(9, 4) * eta**2 * tau**2 * sigma**2,
    ),
    given=[smooth, heterogeneous],
    rests_on=["alg2"],
    also=[],
    note="In terms of the gradient tracking's own error, which compression increases and the printed lemma leaves out.  "
    "Holds for every delta_j, however it was computed.",
)
fedcom.correct(
    "lemmaF1",
    at_most(
        tracking_next,
        contraction=(1 - 1 / (2 * (q + 1))) * tracking_sq,
        drift=3 / (q + 1) * L**2 * drift_mean / tau,
        noise=3 / (q + 1) * sigma**2 / tau,
        gradients=3 * q / (q + 1) ** 2 * mean_grad_sq_sum / tau,
        noise_of_mean=3 * q / (q + 1) ** 2 * sigma**2 / (tau * m),
        move=3 * (q + 1) * L**2 * next_move_sq,
    ),
    when=[],
    given=[smooth, *compression, damped],
    rests_on=["alg2.corrected"],
    also=[],
    note=f"{_damped}  It says how the gradient tracking follows the gradients.",
)
_moves_4 = (q + 1) * eta**2 * L**4 * tau**2 * (eta * gamma) ** 2
_E4 = {
    "optimisation": Rational(20, 9) * f_gap / (tau * eta * gamma * R),
    "noise": Rational(20, 9) * (q + 1) * gamma * L * eta * sigma**2 / m,
    "drift": 34 * eta**2 * L**2 * tau * sigma**2,
    "noise_of_moves": 30 * (q + 1) ** 2 * _moves_4 * tau * sigma**2 / m,
    "compression_of_moves": 15 * (q + 1) * _moves_4 * G_q,
    "heterogeneity": 5 * (q + 1) * eta**2 * L**2 * tau**2 / R * het_start,
    "compression": Rational(10, 9) * gamma * eta * L / tau * G_q,
}
_tracked = ["lemmaE1.corrected", "lemmaE2.corrected", "lemmaE7.corrected", "lemmaF1.corrected"]
fedcom.correct(
    "thmE4",
    at_most(avg_grad_sq, **_E4),
    when=[slow_q, small_q],
    given=[smooth, *compression, damped],
    rests_on=_tracked,
    note=f"{_damped}  No lower bound of the clients' own functions is needed.",
)
_start = f_gap + Rational(9, 2) * eta * gamma * tau * (eta * L * tau) ** 2 * (q + 1) * het_start
_noise_E6 = {
    "drift": 30 * eta**2 * L**2 * tau * sigma**2,
    "noise_of_moves": 27 * (q + 1) ** 2 * _moves_4 * tau * sigma**2 / m,
    "compression_of_moves": Rational(27, 2) * (q + 1) * _moves_4 * G_q,
    "noise": (q + 1) * eta * gamma * L * sigma**2 / m,
    "compression": L * eta * gamma * G_q / (2 * tau),
}
fedcom.correct(
    "thmE6",
    at_most(
        gap_last,
        optimisation=(1 - mu * eta * gamma * tau / 2) ** R * _start,
        **{name: 2 / mu * term for name, term in _noise_E6.items()},
    ),
    when=[slow_q, small_q, curved],
    given=[smooth, *compression, damped, polyak],
    rests_on=_tracked,
    note=f"{_damped}  The clients' own functions need neither strong convexity nor minimisers.",
)
fedcom.correct(
    "thmE6.eq83",
    when=[*fedcom.statements["fedcom.thmE6.eq83"].when, contraction78 > 0],
    note="For a positive denominator in (78).",
)
_smooth_phi = {L: L + phi, mu: phi}
fedcom.correct(
    "thmE9",
    at_most(
        gap_last,
        optimisation=(1 - phi * eta * gamma * tau / 2) ** R
        * (_start.subs(_smooth_phi, simultaneous=True) + phi * w0_norm**2 / 2),
        **{name: (2 / mu * term).subs(_smooth_phi, simultaneous=True) for name, term in _noise_E6.items()},
        regularisation=phi * w_star_norm**2 / 2,
    ),
    when=[c.subs(L, L + phi) for c in (slow_q, small_q)],
    where={},
    given=[smooth, *compression, damped, convex],
    rests_on=["thmE6.corrected"],
    note=f"{_damped}  For every phi > 0 and every admissible eta, gamma.",
)
_eta_E8 = eta_E8 / 2
fedcom.correct(
    "corE8",
    at_most(
        gap_last,
        optimisation=exp(-R / (8 * (q + 1) * kappa)) * _start.subs(eta, _eta_E8),
        **{name: 2 / mu * term.subs(eta, _eta_E8) for name, term in _noise_E6.items()},
    ),
    when=[gamma >= 2, implied(kappa >= 1, "implied: mu <= L")],
    where={eta: _eta_E8, kappa: L / mu},
    given=[smooth, *compression, damped, polyak],
    rests_on=["thmE6.corrected"],
    also=rates(Rate("PL, strongly convex", kappa * (q + 1), 1 / (m * epsilon), polylog=True, given=_few_fast)),
    note=_damped,
)
fedcom.correct(
    "corE5",
    order(
        avg_grad_sq,
        optimisation=L * sqrt(q + 1) * f_gap / sqrt(m * R * tau),
        noise=sqrt(q + 1) * sigma**2 / sqrt(m * R * tau),
        drift=m * sigma**2 / (R * (q + 1) * gamma**2),
        noise_of_moves=m * (q + 1) * sigma**2 * tau / (gamma**2 * R**2),
        compression_of_moves=m**2 * G_q / (gamma**2 * R**2),
        heterogeneity=m * tau / (gamma**2 * R**2) * het_start,
        compression=sqrt(m) * G_q / sqrt(R * tau**3 * (q + 1)),
    ),
    when=[gamma >= 2, 16 * (q + 1) * m * tau <= R],
    given=[smooth, *compression, damped],
    rests_on=["thmE4.corrected"],
    also=rates(Rate("nonconvex", (1 + q) / epsilon, 1 / (m * epsilon), given=_few_fast)),
    note=_damped,
)
fedcom.correct(
    "rem8",
    Words(
        "Condition (61) holds with this step size and gamma >= sqrt(20 m) when R is at least 2 (q+1) m tau; it needs R "
        "to be at least (q+1) m tau.",
        (2 * m * tau * (q + 1) <= R, m * tau * (q + 1) <= R),
    ),
    also=rates(Rate("nonconvex", (q + 1) / epsilon, 1 / (m * epsilon))),
    note="The first relation is sufficient, the second necessary.",
)
fedcom.correct(
    "corE10",
    rates(Rate("convex", (1 + q) / epsilon, 1 / (m * epsilon**2), polylog=True, given=_few)),
    given=[smooth, *compression, damped, convex],
    rests_on=["thmE9.corrected"],
    note=f"{_damped}  As in the corollary, for L of the order of 1.",
)
fedcom.correct(
    "claim.tab6",
    when=[sqrt(n) / m + 1 / sqrt(n) >= 1],
    note="In the convex column, compare (1+q)/epsilon with ((1+q/m) sqrt(n) + q/sqrt(n))/epsilon.",
)
fedcom.correct(
    "tab6.fedcomgate",
    rates(*(replace(rate, given=_few) for rate in fedcom.statements["fedcom.tab6.fedcomgate"].claim_of(Rates).rates)),
    given=[smooth, *compression, damped],
    rests_on=["thmE4.corrected", "thmE6.corrected", "thmE9.corrected"],
    note=f"{_damped}  The printed rates, for so few clients that the term in G_q is of the order of epsilon, too.  In "
    "the PL and strongly convex rows mu is a constant, and L is kappa; with L as a constant the error is kappa epsilon.",
)
