"""Section D: FedCOM, homogeneous data."""

from __future__ import annotations

from sympy import Rational, exp, sqrt

from fedtheory.theory.fedcom.setting import *
from fedtheory.theory.statement import Rate, Words, at_most, implied, order, rates, relations

b = q / m + 1

fedcom.lemma(
    name="lemmaD1",
    place="Section D, Lemma D.1, (10)",
    claim=at_most(message_sq, gradients=tau * (q + 1) * grad_sq_sum_mean, noise=(q + 1) * tau * sigma**2 / m),
    given=[compressed, homogeneous],
    rests_on=["alg1"],
)
fedcom.step(
    name="lemmaD1.proof",
    place="Section D, proof of Lemma D.1, (16)",
    claim=at_most(message_sq, gradients=tau * b * grad_sq_sum_mean, noise=(q + 1) * tau * sigma**2 / m),
    given=[compressed, homogeneous],
    rests_on=["alg1"],
)
fedcom.lemma(
    name="lemmaD2",
    place="Section D, Lemma D.2, (17)",
    claim=at_most(
        -eta * inner,
        gradient=-eta * tau * grad_sq / 2,
        local_gradients=-eta * grad_sq_sum_mean / 2,
        drift=eta * L**2 * drift_mean / 2,
    ),
    given=[smooth],
    rests_on=["alg1"],
    note="g_Q of the lemma contains eta.  By Assumptions 2 and 3, which the lemma does not name, its mean over Q and the "
    "mini-batches is eta times the clients' summed gradients.",
)
fedcom.lemma(
    name="lemmaD3",
    place="Section D, Lemma D.3, (19)",
    claim=at_most(drift, gradients=eta**2 * tau * grad_sq_sum, noise=eta**2 * tau * sigma**2),
    given=[homogeneous],
    rests_on=["alg1"],
    note="For every local step c < tau.  The proof sums the gradients up to step c; w_j^(c,r) has only those up to c-1.",
)

limit21 = tau**2 * L**2 * eta**2 + b * eta * gamma * L * tau

fedcom.definition(
    name="cond21",
    place="Section D.1, (21); also (29), (37), (39), (44)",
    claim=relations(limit21 <= 1, words="the condition on the learning rate", parts=(("limit", limit21),)),
)
fedcom.theorem(
    name="thmD4",
    place="Section D.1, Theorem D.4 (non-convex), (22)",
    claim=at_most(
        avg_grad_sq,
        optimisation=2 * f_gap / (eta * gamma * tau * R),
        noise=L * eta * gamma * (q + 1) / m * sigma**2,
        drift=L**2 * eta**2 * tau * sigma**2,
    ),
    when=[limit21 <= 1],
    given=[smooth, compressed, homogeneous],
    rests_on=["lemmaD1.proof", "lemmaD2", "lemmaD3", "cond21"],
    note="The left side is printed without an expectation; it is read with one.  The compressors are read as independent.",
)

balanced = sqrt(m / (R * tau * (q + 1))) / (L * gamma)  # eta with eta gamma = (1/L) sqrt(m / (R tau (q+1)))

fedcom.corollary(
    name="corD5",
    place="Section D.1, Corollary D.5, (31)",
    claim=order(
        avg_grad_sq,
        optimisation=L * sqrt(q + 1) * f_gap / sqrt(m * R * tau),
        noise=sqrt(q + 1) * sigma**2 / sqrt(m * R * tau),
        drift=m * sigma**2 / (R * gamma**2),
    ),
    when=[gamma >= m],
    where={eta: balanced},
    given=[smooth, compressed, homogeneous],
    rests_on=["thmD4"],
    also=rates(
        Rate("fixed gamma", 1 / epsilon, (q + 1) / (m * epsilon)),
        Rate("also allowed", (q + 1) / epsilon, 1 / (m * epsilon)),
    ),
    note="The step size is printed up to a constant; here with the constant 1.",
)
root32 = (sqrt(b**2 * gamma**2 + 4) - b * gamma) / (2 * L * tau)
theta = gamma**2 * (sqrt((q + 1) ** 2 * gamma**2 + 4) - (q + 1) * gamma) ** 2
_rounds33 = tau * m / ((q + 1) * gamma**2 * (sqrt(b**2 * gamma**2 + 4) - b * gamma) ** 2)
fedcom.claim(
    name="rem7",
    place="Section D.1, Remark 7, (32) to (34)",
    claim=Words(
        "Condition (21) can be rewritten as (32).  So with the step size of Corollary D.5 it implies (33).  gamma^2 "
        "(sqrt((q+1)^2 gamma^2 + 4) - (q+1) gamma)^2 = Theta(1) <= 5, therefore even for gamma >= m (34) is needed, and "
        "R = O(1/epsilon) for tau = O((q+1)/(m epsilon)).",
        (
            eta <= root32,
            _rounds33 <= R,
            theta <= 5,
            tau * m / (5 * (q + 1)) <= R,
        ),
    ),
    where={eta: balanced},
    rests_on=["cond21", "corD5"],
    also=rates(
        Rate("fixed gamma", 1 / epsilon, (q + 1) / (m * epsilon)),
        Rate("similarly", (q + 1) / epsilon, 1 / (m * epsilon)),
    ),
)
fedcom.corollary(
    name="corD6",
    place="Section D.1, Corollary D.6, (35), (36)",
    claim=at_most(
        avg_grad_sq,
        optimisation=2 * f_gap / (eta * R * tau),
        noise=L * eta / m * sigma**2,
        drift=L**2 * eta**2 * tau * sigma**2,
    ),
    when=[tau**2 * L**2 * eta**2 + eta * L * tau <= 1],
    given=[smooth, homogeneous],
    rests_on=["thmD4"],
    also=rates(Rate("gamma = 1, q = 0", m / epsilon, 1 / epsilon)),
    note="Condition (21) at gamma = 1, q = 0.",
)
fedcom.theorem(
    name="thmD7",
    place="Section D.2, Theorem D.7 (PL or strongly convex), (38)",
    claim=at_most(
        gap_last,
        optimisation=(1 - eta * gamma * mu * tau) ** R * f_gap,
        drift=L**2 * tau * eta**2 * sigma**2 / (2 * mu),
        noise=(1 + q) * gamma * eta * L * sigma**2 / (2 * m * mu),
    ),
    when=[limit21 <= 1, implied(mu <= L, "implied: an L-smooth function is PL with mu <= L")],
    given=[smooth, compressed, homogeneous, polyak],
    rests_on=["lemmaD1.proof", "lemmaD2", "lemmaD3", "cond21"],
    note="(41) prints (q/m+1) gamma, but (40) and (42) print (q+1) gamma.  The compressors are read as independent.",
)
fedcom.corollary(
    name="corD8",
    place="Section D.2, Corollary D.8, (43)",
    claim=at_most(
        gap_last,
        optimisation=exp(-R / (2 * b * kappa)) * f_gap,
        drift=Rational(1, 2) * L**2 * tau * sigma**2 / (L**2 * b**2 * gamma**2 * tau**2) / mu,
        noise=(1 + q) * L * sigma**2 / (2 * b * L * tau * m) / mu,
    ),
    when=[1 / (2 * b * kappa) <= Rational(1, 2), gamma >= m, implied(kappa >= 1, "implied: mu <= L")],
    where={eta: 1 / (2 * L * b * tau * gamma), kappa: L / mu},
    given=[smooth, compressed, homogeneous, polyak],
    rests_on=["thmD7"],
    also=rates(
        Rate("PL, strongly convex", b * kappa, (q + 1) / (b * m * epsilon), polylog=True),
        Rate("gamma without bound", (q + 1) * kappa, (q + 1) / (b * m * epsilon), polylog=True),
    ),
    note="The second line of (43); its first condition is eta gamma mu tau <= 1/2 with the learning rate of the corollary.  "
    "The compressors are read as independent.",
)
eta_D9 = 1 / (2 * L * gamma * tau * b)
fedcom.theorem(
    name="thmD9",
    place="Section D.3, Theorem D.9 (convex), (45)",
    claim=at_most(
        gap_last,
        optimisation=exp(-R / (2 * L * b * sqrt(m * tau))) * f_gap,
        drift=sqrt(m) * sigma**2 / (8 * sqrt(tau) * gamma**2 * b**2),
        noise=(1 + q) * sigma**2 / (4 * b * sqrt(m * tau)),
        regularisation=w_star_norm**2 / (2 * sqrt(m * tau)),
    ),
    when=[limit21.subs(eta, eta_D9) <= 1],
    where={phi: 1 / sqrt(m * tau), eta: eta_D9},
    given=[smooth, compressed, homogeneous, convex],
    rests_on=["thmD7", "cond21"],
    also=rates(Rate("convex", L * (1 + q) / epsilon, (q + 1) ** 2 / (m * b**2 * epsilon**2), polylog=True)),
    note="FedCOM on f(w) + (phi/2) ||w||^2.  (44) is (21); with the step size of the theorem it is a condition on gamma "
    "and q only.",
)
