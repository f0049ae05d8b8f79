"""Section E: FedCOMGATE, heterogeneous data."""

from __future__ import annotations

from sympy import Rational, exp, sqrt

from fedtheory.theory.fedcom.homogeneous import balanced
from fedtheory.theory.fedcom.setting import *
from fedtheory.theory.notation import equal
from fedtheory.theory.statement import Rate, Words, at_most, implied, order, rates, relations

compression = [compressed, heterogeneous, gap_of_compression]
small = 30 * eta**2 * L**2 * tau**2 <= 1

fedcom.lemma(
    name="lemmaE1",
    place="Section E, Lemma E.1, (50)",
    claim=at_most(
        eta**2 * tracked_message_sq,
        noise=(q + 1) * eta**2 * tau * sigma**2 / m,
        gradients=(q + 1) * eta**2 * tau * mean_grad_sq_sum,
        compression=eta**2 * G_q,
    ),
    given=compression,
    rests_on=["alg2"],
    note="(52) prints eta^2 in its bound, (53) does not.",
)
fedcom.lemma(
    name="lemmaE2",
    place="Section E, Lemma E.2, (58)",
    claim=at_most(
        -eta * inner,
        gradient=-eta * tau * grad_sq / 2,
        mean_gradients=-eta * mean_grad_sq_sum / 2,
        drift=eta * L**2 * drift_mean / 2,
    ),
    given=[smooth],
    rests_on=["alg2"],
    note="g^(t) is printed for g^(r), with eta before it, which it contains already by (67): read with eta once.  The last "
    "line of (59) has a further factor 1/m.  It uses Assumption 4 without naming it.",
)
fedcom.lemma(
    name="lemmaE3",
    place="Section E, Lemma E.3, (60)",
    claim=at_most(
        drift_total / R,
        noise=36 * eta**2 * tau**2 * sigma**2,
        heterogeneity=8 * eta**2 * tau * start_sum / R,
        gradients=10 * eta**2 * (eta * gamma) ** 2 * (q + 1) * L**2 * tau**4 / R * mean_grad_sq_total,
        noise_of_moves=10 * eta**2 * (eta * gamma) ** 2 * (q + 1) * L**2 * tau**4 * sigma**2 / m,
        compression=10 * eta**2 * (eta * gamma) ** 2 * (q + 1) * L**2 * tau**3 * G_q,
        gradient=20 * eta**2 * tau**2 / R * grad_sq_total,
    ),
    when=[small],
    given=[smooth, *compression],
    rests_on=["lemmaF1", "lemmaF6"],
    note="L is from Assumption 1, which the lemma does not name.  The outer sum over c gives the second term a factor tau.",
)

limit61 = 1 - 10 * eta**2 * (eta * gamma) ** 2 * (q + 1) * L**4 * tau**4 - L * eta * gamma * tau * (q + 1)
_small_side = 30 * eta**2 * L**2 * tau**2
fedcom.definition(
    name="cond61",
    place="Section E.1, (61); also (72), (77)",
    claim=relations(
        limit61 >= 0,
        _small_side <= 1,
        words="the condition on the learning rate",
        parts=(("first", limit61), ("second", _small_side)),
    ),
)
_E4 = {
    "optimisation": 2 * f_gap / (tau * eta * gamma * R),
    "noise": (q + 1) * gamma * L * eta * sigma**2 / m,
    "drift": 36 * eta**2 * L**2 * tau * sigma**2,
    "noise_of_moves": 10 * eta**2 * L**4 * tau**3 * (eta * gamma) ** 2 * (q + 1) * sigma**2 / m,
    "compression_of_moves": 10 * eta**2 * L**4 * tau**2 * (eta * gamma) ** 2 * (q + 1) * G_q,
}
fedcom.theorem(
    name="thmE4",
    place="Section E.1, Theorem E.4 (general non-convex), (62)",
    claim=at_most(
        avg_grad_sq,
        **_E4,
        heterogeneity=32 * eta * L**2 * tau / R * fj_gap_mean,
        noise_at_start=16 * eta**3 * L**2 * tau**2 / R * sigma**2,
        gradient_at_start=32 * eta**2 * L**3 * tau**2 / R * f_gap,
        compression=gamma * eta * L / tau * G_q,
    ),
    when=[limit61 >= 0, small],
    given=[smooth, *compression],
    rests_on=["thmE4.eq73", "thmE4.items", "cond61"],
    note="The left side is printed without an expectation; it is read with one.",
)
fedcom.step(
    name="thmE4.eq73",
    place="Section E.1, proof of Theorem E.4, (73)",
    claim=at_most(
        (1 - 20 * eta**2 * L**2 * tau**2) * avg_grad_sq,
        **_E4,
        heterogeneity=8 * eta**2 * L**2 / R * start_sum,
        compression=gamma * eta * L / tau * G_q,
    ),
    when=[limit61 >= 0, small],
    given=[smooth, *compression],
    rests_on=["lemmaE1", "lemmaE2", "lemmaE3", "cond61"],
    note="(8/(m tau)) sum_j sum_c ||.||^2 is 8 times the mean over clients.  (71) prints its sigma^2 term divided by R.",
)
_limit75 = 10 * m**2 * tau**2 / (gamma**2 * R**2 * (q + 1)) + sqrt(m * tau * (q + 1) / R)
fedcom.claim(
    name="rem8",
    place="Section E.1, Remark 8, (75), (76)",
    claim=Words(
        "With eta gamma = (1/L) sqrt(m/(R tau (q+1))), condition (61) needs (75).  Letting gamma >= sqrt(20 m), a "
        "necessary solution is (76).  This requires having R = (q+1)/(m epsilon) and tau = 1/(m epsilon).",
        (_limit75 <= 1, m * tau * (q + 1) / 2 <= R),
    ),
    when=[gamma >= sqrt(20 * m)],
    where={eta: balanced},
    rests_on=["cond61"],
    also=rates(Rate("nonconvex", (q + 1) / (m * epsilon), 1 / (m * epsilon))),
    note="The extracted text has sqrt{20m}.",
)
fedcom.corollary(
    name="corE5",
    place="Section E.1, Corollary E.5",
    claim=order(
        avg_grad_sq,
        optimisation=L * sqrt(q + 1) * f_gap / sqrt(m * R * tau),
        noise=sqrt(q + 1) * sigma**2 / sqrt(m * R * tau),
        drift=m * sigma**2 / (R * (q + 1) * gamma**2),
        noise_of_moves=m * sigma**2 * tau / ((q + 1) * gamma**2 * R**2),
        compression_of_moves=m**2 * G_q / ((q + 1) * gamma**2 * R**2),
        heterogeneity=L * sqrt(tau) / (gamma * sqrt(q + 1) * sqrt(m) * R ** Rational(3, 2)) * m * fj_gap_mean,
        noise_at_start=16 * m * sqrt(m) * sqrt(tau) * sigma**2 / (L * gamma**3 * R**2 * (q + 1) * sqrt(R * (q + 1))),
        gradient_at_start=L * m / (gamma**2 * R**2 * (q + 1)) * f_gap,
        compression=m * G_q / (R * tau * gamma**2 * (q + 1)),
    ),
    when=[gamma >= m, (30 * eta**2 * L**2 * tau**2).subs(eta, balanced) <= 1],
    where={eta: balanced},
    given=[smooth, *compression],
    rests_on=["thmE4", "rem8"],
    also=rates(Rate("nonconvex", (1 + q) / epsilon, 1 / (m * epsilon))),
    note="The root in the sixth denominator is read as sqrt(m) R^1.5.  The text says 1-20 eta^2 L^2 = Theta(1).",
)
fedcom.claim(
    name="rem9",
    place="Section E.1, Remark 9, (77)",
    claim=Words(
        "The choice of eta <= 1/(L gamma (q+1) tau sqrt(30)) satisfies both conditions of (61) for gamma >= m.",
        (limit61 >= 0, _small_side <= 1),
    ),
    when=[eta <= 1 / (L * gamma * (q + 1) * tau * sqrt(30)), gamma >= m],
    rests_on=["cond61"],
)

contraction78 = 1 - mu * tau * gamma * eta + 20 * mu * gamma * eta**3 * L**2 * tau**3
limit78 = (
    1 - (q + 1) * L * eta * gamma * tau - 10 * (q + 1) * eta**2 * tau**4 * L**4 * (eta * gamma) ** 2 / contraction78
)
fedcom.definition(
    name="cond78",
    place="Section E.2, (78); also (86), (90)",
    claim=relations(
        limit78 >= 0,
        _small_side <= 1,
        words="the condition on the learning rate",
        parts=(("first", limit78), ("second", _small_side), ("denominator", contraction78)),
    ),
)
curved = implied(mu <= L, "implied: an L-smooth function is PL with mu <= L")
_E6 = {
    "drift": L**2 * 18 * eta**2 * tau * sigma**2,
    "heterogeneity": 8 * L**4 * eta**2 * tau**2 * dist_sq_mean,
    "gradient_at_start": 16 * L**3 * tau**2 * eta**2 * f_gap,
    "noise_of_moves": 5 * L**4 * eta**2 * tau**3 * (eta * gamma) ** 2 * (q + 1) * sigma**2 / m,
    "compression_of_moves": 5 * L**2 * eta**2 * L**2 * tau**2 * (eta * gamma) ** 2 * (q + 1) * G_q,
    "noise": (q + 1) * eta * gamma * L / 2 * sigma**2 / m,
    "compression": L * eta * gamma * G_q / (2 * tau),
}
fedcom.theorem(
    name="thmE6",
    place="Section E.2, Theorem E.6 (strongly convex or PL), (79)",
    claim=at_most(
        gap_last,
        optimisation=(1 - mu * eta * gamma * tau / 3) ** R * f_gap,
        **{name: 3 / mu * term for name, term in _E6.items()},
    ),
    when=[limit78 >= 0, small, curved],
    given=[smooth, *compression, polyak],
    rests_on=["lemmaE1", "lemmaE2", "lemmaE7", "thmE6.recursion", "thmE6.eq88", "cond78"],
)
fedcom.step(
    name="thmE6.recursion",
    place="Section E.2, proof of Theorem E.6, (84) to (86)",
    claim=at_most(
        a_next,
        contraction=contraction78 * gap_r,
        previous=gamma * eta / 2 * 10 * eta**2 * L**4 * tau**4 * (eta * gamma) ** 2 * (q + 1) * e_prev,
        constant=c_noise,
    ),
    when=[limit78 >= 0, small, curved],
    given=[smooth, *compression, polyak],
    where={
        c_noise: gamma
        * eta
        * (
            18 * L**2 * eta**2 * tau**2 * sigma**2
            + 4 * L**2 * eta**2 * tau * start_sum
            + 5 * L**4 * eta**2 * tau**4 * (eta * gamma) ** 2 * (q + 1) * sigma**2 / m
            + 5 * L**4 * eta**2 * tau**3 * (eta * gamma) ** 2 * (q + 1) * G_q
            + eta * gamma * L / 2 * (q + 1) * tau * sigma**2 / m
            + eta * gamma * L / 2 * G_q
        )
    },
    rests_on=["lemmaE1", "lemmaE2", "lemmaE7", "cond78"],
    also=at_most(
        gap_r,
        contraction=contraction78 * a_prev,
        dropped=gamma * eta / 2 * (1 - (q + 1) * L * eta * gamma * tau) * e_prev,
        previous=gamma * eta / 2 * 10 * eta**2 * L**4 * tau**4 * (eta * gamma) ** 2 * (q + 1) * e_prev2,
        constant=c_noise,
    ),
    note="a_r is the expected gap, e_r the sum over c of ||(1/m) sum_j grad f_j(w_j^(c,r))||^2.  The second claim is "
    "the bound that step (a) of (84) inserts for a_r; step (b) must then remove e_{r-1}.",
)
fedcom.step(
    name="thmE6.eq83",
    place="Section E.2, proof of Theorem E.6, (83)",
    claim=relations((q + 1) * L * eta * gamma * tau <= 1, words="used in step 1 of (82)"),
    when=[limit78 >= 0, small, curved],
    rests_on=["cond78"],
    note="Printed as 1 - (q+1) L eta gamma tau >= 0, from which step 1 of (82) follows; "
    "read as a consequence of (78), the only condition of the theorem.",
)
fedcom.step(
    name="thmE6.eq88",
    place="Section E.2, proof of Theorem E.6, (88)",
    claim=at_most(
        4 * L**2 * eta**2 * start_sum,
        heterogeneity=8 * L**4 * eta**2 * tau**2 * dist_sq_mean,
        noise=8 * L**4 * eta**3 * tau**2 * sigma**2 / (mu * (1 - eta * L)),
        gradient_at_start=16 * L**3 * tau**2 * eta**2 * f_gap,
    ),
    when=[small, implied(eta * L < 1, "implied: 30 eta^2 L^2 tau^2 <= 1"), curved],
    given=[smooth, heterogeneous, strongly_convex],
    note="(V) is (4 L^2 eta^2/(m tau)) sum_j sum_c ||.||^2.  Here mu is the strong convexity constant of every f_j.  The "
    "contraction is read as in the display, with the noise outside the power; the bracket of the last line closes after "
    "the first term.",
)
fedcom.lemma(
    name="lemmaE7",
    place="Section E.2, Lemma E.7, (80)",
    claim=at_most(
        drift_mean,
        noise=36 * eta**2 * tau**2 * sigma**2,
        heterogeneity=8 * eta**2 * tau * start_sum,
        gradients=10 * eta**2 * L**2 * tau**4 * (eta * gamma) ** 2 * (q + 1) * mean_grad_sq_prev,
        noise_of_moves=10 * eta**2 * L**2 * tau**4 * (eta * gamma) ** 2 * (q + 1) * sigma**2 / m,
        compression=10 * eta**2 * L**2 * tau**3 * (eta * gamma) ** 2 * (q + 1) * G_q,
        gradient=20 * eta**2 * tau**2 * tau * grad_sq,
    ),
    when=[small],
    given=[smooth, *compression],
    rests_on=["lemmaF2", "lemmaF5", "lemmaF6"],
    also=relations(equal(drift_mean, tau * eta**2 * direction_sq), words="the equality in the middle"),
    note="For every round r; the sums over c of terms without c contribute a factor tau.",
)
_E8 = {
    "drift": Rational(9, 2) * sigma**2 / (tau * gamma**2 * (q + 1) ** 2),
    "heterogeneity": 2 * L**2 / ((q + 1) ** 2 * gamma**2) * dist_sq_mean,
    "gradient_at_start": 2 * L * f_gap / ((q + 1) ** 2 * gamma**2),
    "noise_at_start": kappa * sigma**2 / ((q + 1) ** 2 * gamma**2 * ((q + 1) * gamma * tau - Rational(1, 2))),
    "noise_of_moves": Rational(5, 16) / ((q + 1) ** 3 * tau * gamma**2) * sigma**2 / m,
    "compression_of_moves": Rational(5, 16) / ((q + 1) ** 3 * tau**2 * gamma**2) * G_q,
    "noise": sigma**2 / (4 * tau * m),
    "compression": G_q / (4 * (q + 1) * tau**2),
}
eta_E8 = 1 / (2 * L * (q + 1) * tau * gamma)
_decayed = f_gap * exp(-R / (6 * (q + 1) * kappa))
_rates_E8 = rates(Rate("PL, strongly convex", kappa * (q + 1), 1 / (m * epsilon), polylog=True))
_late = [gamma >= sqrt(m * tau), implied(kappa >= 1, "implied: mu <= L")]
fedcom.corollary(
    name="corE8",
    place="Section E.2, Corollary E.8, (89)",
    claim=at_most(gap_last, optimisation=_decayed, **{name: 3 / mu * term for name, term in _E8.items()}),
    when=_late,
    where={eta: eta_E8, kappa: L / mu},
    given=[smooth, *compression, polyak],
    rests_on=["thmE6", "thmE6.eq88"],
    also=_rates_E8,
    note="The extracted text closes the bracket after the third term; here it encloses all eight terms, as in (79).",
)
fedcom.corollary(
    name="corE8.early_bracket",
    place="Section E.2, Corollary E.8, (89), bracket as extracted",
    claim=at_most(
        gap_last,
        optimisation=_decayed,
        **{name: (3 / mu if i < 3 else 1) * term for i, (name, term) in enumerate(_E8.items())},
    ),
    when=_late,
    where={eta: eta_E8, kappa: L / mu},
    given=[smooth, *compression, polyak],
    rests_on=["thmE6", "thmE6.eq88"],
    note="The literal reading: the last five terms without 3/mu.",
)
eta_E9 = 1 / (2 * L * gamma * tau * (1 + q))
fedcom.theorem(
    name="thmE9",
    place="Section E.3, Theorem E.9 (convex), (91)",
    claim=at_most(
        gap_last,
        optimisation=exp(-R / (6 * (1 + q) * L * sqrt(m * tau))) * f_gap,
        drift=Rational(27, 2) * sqrt(m) * sigma**2 / ((q + 1) ** 2 * gamma**2 * sqrt(tau)),
        heterogeneity=6 * sqrt(m * tau) * L**2 / ((q + 1) ** 2 * gamma**2) * dist_sq_mean,
        gradient_at_start=12 * L * sqrt(m * tau) / (gamma**2 * (q + 1) ** 2) * f_gap,
        noise_at_start=3
        * sqrt(m * tau)
        * kappa
        * sigma**2
        / ((q + 1) ** 2 * gamma**2 * ((q + 1) * gamma * tau - Rational(1, 2))),
        noise_of_moves=15 * sigma**2 / (16 * (q + 1) ** 3 * gamma**2 * sqrt(m * tau)),
        compression_of_moves=15 * G_q * sqrt(m) / (16 * (q + 1) ** 3 * tau ** Rational(3, 2) * gamma**2),
        noise=3 * sigma**2 / (4 * sqrt(m * tau)),
        compression=3 * sqrt(m) * G_q / (4 * (q + 1) * tau ** Rational(3, 2)),
        regularisation=w_star_norm**2 / (2 * sqrt(m * tau)),
    ),
    when=[
        limit78.subs({mu: 1 / sqrt(m * tau), eta: eta_E9}) >= 0,
        (_small_side <= 1).subs(eta, eta_E9),
    ],
    where={phi: 1 / sqrt(m * tau), eta: eta_E9},
    given=[smooth, *compression, convex],
    rests_on=["thmE6", "thmE6.eq88", "cond78"],
    note="FedCOMGATE on f(w) + (phi/2) ||w||^2.  (90) prints mu, which the proof replaces by phi = 1/sqrt(m tau); it is "
    "read so here, with the theorem's step size.  kappa is not defined; it is a symbol of its own.  (94) to (96) print "
    "the regularised objective on the left side, (92) once lambda for phi.  (95) keeps the sum that (88) bounds.",
)
fedcom.corollary(
    name="corE10",
    place="Section E.3, Corollary E.10",
    claim=rates(Rate("convex", L * (1 + q) / epsilon, 1 / (m * epsilon**2), polylog=True)),
    when=[gamma >= sqrt(m * tau)],
    given=[smooth, *compression, convex],
    rests_on=["thmE9"],
)
