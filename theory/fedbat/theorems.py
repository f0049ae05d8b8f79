"""Section 4: Theorems 1 to 3 and the remarks on them."""

from __future__ import annotations

from sympy import Le, Lt, Max, Symbol, sqrt
from sympy.core.expr import Expr

from fedtheory.theory.fedbat.setting import *
from fedtheory.theory.notation import equal
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import NUMBER, Words, at_most, implied, order, relations

# The parts of the constants
divergence = (1 + q**2) * (tau - 1) ** 2 * G**2  # Lemma 3, without its 4 eta_t^2
alone = p_sq * q**2 * tau**2 * G**2  # Lemma 4, likewise: binarisation at the synchronisation
sampled = (q**2 * (N - 1) + N - K) / (K * (N - 1)) * tau**2 * G**2  # Lemma 6, likewise: and the sample of clients
B_full = p_sq * sigma**2 + 6 * L * Gamma + 8 * divergence + 4 * alone  # (26)
B_partial = sigma**2 / N + 6 * L * Gamma + 8 * divergence + 4 * sampled  # (58)
shift = Max(8 * L / mu, tau) - 1

curved = implied(mu <= L, "implied: Assumptions 1 and 2")
shares = [implied(p_sq <= 1, "implied: shares of sum 1"), implied(N * p_sq >= 1, "implied: shares of sum 1")]
chosen = [implied(K <= N, "implied: K of N clients"), implied(N >= 2, "implied: N - 1 divides")]
strong = [smooth, strongly_convex, noisy, bounded, binarised]
balanced = fedbat.assumption(
    name="balanced",
    place="Section 4, Theorem 2",
    claim=relations(
        equal(p_k, 1 / N), words="for every client; K of the N clients are randomly selected in every round"
    ),
    note="Printed in Theorem 2; Theorem 3 has 'the local dataset is balanced' and 'partial device participation'.  "
    "'Randomly' is read as uniformly, without replacement, as in (63).",
    gives={Property.EQUAL_WEIGHTS: (), Property.SAMPLING: ()},
)


def decreasing(B: Expr, start: Expr = (shift + 1) / 2 * mu * dist0_sq, g: Expr = shift) -> dict[str, Expr]:
    """The two terms of Theorems 1 and 2."""
    return {"noise": L / mu / (g + T) * (2 * B / mu), "start": L / mu / (g + T) * start}


_step: dict[Symbol, Expr] = {T: R * tau, gamma: shift, eta_t: 2 / (mu * (gamma + t))}
_first = (
    "w_1 is read as the mean of the clients' parameters after step 0, (17); w_T, with tau | T, as the server's model."
)

fedbat.theorem(
    name="thm1",
    place="Section 4, Theorem 1, (15)",
    claim=at_most(gap_last, **decreasing(B_full)),
    when=[curved, *shares],
    where=_step,
    given=strong,
    rests_on=["lemma1", "lemma2", "lemma3", "lemma4", "eq24", "eq27", "eq28", "eq29.choice", "eq30"],
    note=f"{_first}  q is for the operator of the analysis, alpha = ||m||_inf.",
)
fedbat.theorem(
    name="thm2",
    place="Section 4, Theorem 2",
    claim=at_most(gap_last, **decreasing(B_partial)),
    when=[curved, *chosen],
    where=_step,
    given=[*strong, balanced],
    rests_on=["lemma1", "lemma2", "lemma3", "lemma5", "lemma6", "eq27", "eq29.choice", "eq59"],
    note=f"p_1 = ... = p_N = 1/N.  {_first}",
)
theorem3 = fedbat.theorem(
    name="thm3",
    place="Section 4, Theorem 3, (16)",
    claim=at_most(
        avg_step_grad_sq,
        optimisation=2 * L * (f_gap + Gamma) / sqrt(T),
        noise=(sigma**2 / N + 4 * sampled) / sqrt(T),
        divergence=4 * divergence / T,
    ),
    when=chosen,
    where={T: R * tau, eta: 1 / (L * sqrt(T))},
    given=[smooth, noisy, bounded, binarised, balanced],
    rests_on=["lemma2", "lemma3", "lemma6", "lemma7", "eq73"],
    note="The left side is printed with w_t, but only every tau-th w_t exists; the proof, (73), is about wbar_t, which "
    "stands here.  'Balanced' is read as p_k = 1/N.",
)

_li = 6 * L * Gamma + 8 * (tau - 1) ** 2 * G**2
fedbat.claim(
    name="remark1",
    place="Section 4, Remark 1",
    claim=Words(
        "With K = N Theorem 2 becomes Theorem 1.  With q = 0 both are the analysis of FedAvg of (Li et al. 2020).  With "
        "K = N, tau = 1 they recover the rate of Stoc-SignSGD in distributed training; with q = 0 besides, that of SGD, "
        "O(1/T) for strongly convex losses.",
        (p_sq * sigma**2 + _li, sigma**2 / N + _li + 4 / K * (N - K) / (N - 1) * tau**2 * G**2),
    ),
    rests_on=["thm1", "thm2"],
    note="The formulas are the constants B of Theorems 1 and 3 of (Li et al. 2020), with tau for their E.",
)
fedbat.claim(
    name="remark2",
    place="Section 4, Remark 2",
    claim=order(gap_last, rate=1 / T),
    when=[curved, *shares, *chosen],
    given=[*strong, balanced],
    rests_on=["thm1", "thm2", "thm3"],
    also=order(avg_step_grad_sq, fast=1 / T, slow=1 / sqrt(T)),
    reads={"gap_last": NUMBER, "avg_step_grad_sq": NUMBER},
    note="For FedBAT and, with q = 0, for FedAvg.  Everything except T is a constant here, also tau and d, which is in q.",
)
fedbat.claim(
    name="remark3",
    place="Section 4, Remark 3",
    claim=Words(
        "The analysis sets alpha = ||m||_inf without optimisation; learning the step size shall be able to achieve a "
        "smaller value of q; optimising it by (13) and (14) achieves better accuracy."
    ),
    rests_on=["assump5"],
    also=relations(
        Le(error_sq, d * x_max**2 - x_sq),
        Lt(error_sq, x_sq),
        words="the error of S with the step size that makes it least, for every x but 0",
    ),
    note="The relations say what is true for a step size for given x: its error is at most the error with ||x||_inf, and "
    "less than ||x||^2.  S then has a bias.",
)
