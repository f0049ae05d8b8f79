"""Appendix C: full participation, strongly convex; the lemmas, and the proof of Theorem 1 line by line.

Every line about one step is meant in expectation; the symbols of sums over clients include the expectation.
"""

from __future__ import annotations

from sympy import Ge, IndexedBase, Le, Max, Min, Rational, Sum

from fedtheory.theory.fedbat.setting import *
from fedtheory.theory.fedbat.theorems import B_full, alone, divergence, shift
from fedtheory.theory.notation import Grad, Inner, Norm, Value, equal
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Condition, Words, at_most, equal_to, implied, relations

_half = Rational(1, 2)
_p, _F, _g, _x, _w, _v = (IndexedBase(symbol.name, real=True) for symbol in (p, F_i, g_i, x_i, w_all, v_i))

# ------------------------------------------------------------------------------------------------- C.1, notation

fedbat.definition(
    name="c1.sync",
    place="Appendix C.1",
    claim=Words("The steps of synchronisation: I_tau = {n tau | n = 1, 2, ...}.", (n * tau,)),
)
fedbat.definition(
    name="c1.update",
    place="Appendix C.1, (17) to (19)",
    claim=relations(
        equal(v_k, w_k - eta_t * g_k),
        equal(x_k, Value(S_m, w_k)),
        equal(w_k_next, v_k),
        equal(w_k_next, Sum(_p[k] * Value(S_m, _v[k]), (k, 1, N))),
        words="g_k a stochastic gradient at x_k; the third where t+1 is no step of synchronisation, the fourth where it "
        "is one",
    ),
    rests_on=["c1.sync", "setting_theory"],
)
virtual = fedbat.definition(
    name="c1.virtual",
    place="Appendix C.1",
    claim=relations(
        equal(w_bar, Sum(_p[k] * _w[k], (k, 1, N))),
        equal(g_bar, Sum(_p[k] * Grad(_F[k], _x[k]), (k, 1, N))),
        equal(g_t, Sum(_p[k] * _g[k], (k, 1, N))),
        equal(v_bar, Sum(_p[k] * _v[k], (k, 1, N))),
        equal(v_bar, w_bar - eta_t * g_t),
        words="and E g_t = gbar_t",
    ),
    rests_on=["c1.update"],
    gives={Property.UNBIASED: ()},
)
fedbat.background = (*fedbat.background, virtual)
fedbat.inequality(
    name="c1.t0",
    place="Appendix C.1",
    claim=relations(
        equal(Value(S_m, w_k), Value(S, w_k - w_bar_0) + w_bar_0),
        equal(E(Value(S_m, w_k)), w_k),
        Le(E(Norm(Value(S_m, w_k) - w_k) ** 2), q**2 * Norm(w_k - w_bar_0) ** 2),
        words="for any t there is t_0 <= t with t - t_0 <= tau - 1 at which all clients have the same parameters",
    ),
    given=[binarised],
    rests_on=["c1.update", "setting_theory"],
    note="The last follows from Assumption 5 'therefore': for the operator of the analysis it is true.",
)

# ------------------------------------------------------------------------------------------------- C.2, key lemmas

small = eta_t <= 1 / (4 * L)
curved = implied(mu <= L, "implied: Assumptions 1 and 2")
slow = [eta_later <= eta_t, eta_t <= 2 * eta_later]  # the conditions of Lemmas 3 and 4 on the learning rate
rounds = [implied(eta_t <= eta_start, "non-increasing"), implied(eta_start <= 2 * eta_t, "from eta_t <= 2 eta_{t+tau}")]
shares = [implied(p_sq <= 1, "implied: shares of sum 1")]

fedbat.lemma(
    name="lemma1",
    place="Appendix C.2, Lemma 1, (20), (43)",
    claim=at_most(
        v_dist,
        contraction=(1 - eta_t * mu) * Delta_t,
        noise=eta_t**2 * noise_sq,
        heterogeneity=6 * L * eta_t**2 * Gamma,
        divergence=2 * spread_x,
    ),
    when=[small, curved],
    given=[smooth, strongly_convex],
    rests_on=["eq31", "eq42"],
)
fedbat.lemma(
    name="lemma2",
    place="Appendix C.2, Lemma 2, (21)",
    claim=at_most(noise_sq, noise=p_sq * sigma**2),
    when=shares,
    given=[noisy],
    rests_on=["eq44"],
)
fedbat.lemma(
    name="lemma3",
    place="Appendix C.2, Lemma 3, (22), (49)",
    claim=at_most(spread_x, gradients=4 * eta_t**2 * divergence),
    when=slow,
    given=[bounded, binarised],
    rests_on=["eq45", "eq46", "eq48"],
    note="The conditions are for all t >= 0; the learning rate is non-increasing.  q is from Assumption 5, which the "
    "lemma does not name.",
)
fedbat.lemma(
    name="lemma4",
    place="Appendix C.2, Lemma 4, (23)",
    claim=at_most(jump_sq, gradients=4 * eta_t**2 * alone),
    when=[*slow, *shares],
    given=[bounded, binarised],
    rests_on=["eq50"],
    note="The conditions are for all t >= 0.",
)

# --------------------------------------------------------------------------------------- C.3, the proof of Theorem 1

fedbat.step(
    name="eq24",
    place="Appendix C.3, (24)",
    claim=equal_to(Delta_next, jump=jump_sq, step=v_dist),
    rests_on=["c1.t0"],
    note="E wbar_{t+1} = E vbar_{t+1} alone would not be enough; the conditional mean given vbar_{t+1} is meant.",
)
fedbat.step(
    name="eq25",
    place="Appendix C.3, (25)",
    claim=at_most(Delta_next, contraction=(1 - eta_t * mu) * Delta_t, constant=eta_t**2 * B),
    when=[small, curved, *slow, *shares],
    where={B: B_full},
    given=[smooth, strongly_convex, noisy, bounded, binarised],
    rests_on=["eq24", "lemma1", "lemma2", "lemma3", "lemma4", "eq26"],
)
fedbat.definition(
    name="eq26",
    place="Appendix C.3, (26)",
    claim=equal_to(
        B,
        noise=p_sq * sigma**2,
        heterogeneity=6 * L * Gamma,
        divergence=8 * divergence,
        binarisation=4 * alone,
    ),
)
eta_of = beta / (t + gamma)
recursion = fedbat.assumption(
    name="eq27.recursion",
    place="Appendix C.3, (27), first line",
    claim=at_most(Delta_next, contraction=(1 - eta_t * mu) * Delta_t, constant=eta_t**2 * B),
    when=[implied(t >= 1, "from t = 1 on")],
    note="The assumption of the induction: the recursion (25), or (57), for every t >= 1, with its B.",
)
_noise27 = beta**2 * B / (t + gamma) ** 2
_first27 = (1 - beta * mu / (t + gamma)) * v / (t + gamma) + _noise27
_second27 = (t + gamma - 1) / (t + gamma) ** 2 * v + _noise27 - (beta * mu - 1) / (t + gamma) ** 2 * v
_largest = Max(beta**2 * B / (beta * mu - 1), (gamma + 1) * Delta_1)  # the v of (29)
fedbat.step(
    name="eq27",
    place="Appendix C.3, (27)",
    claim=relations(
        Le((1 - eta_of * mu) * Delta_t + eta_of**2 * B, _first27),
        equal(_first27, _second27),
        Le(_second27, v / (t + gamma + 1)),
        words="the induction from Delta_t <= v/(t+gamma) to Delta_{t+1} <= v/(t+gamma+1)",
    ),
    when=[
        beta > 1 / mu,
        beta / (1 + gamma) <= Min(1 / mu, 1 / (4 * L)),
        implied(t >= 1, "from t = 1 on"),
        Condition(Delta_t <= v / (t + gamma), "induction"),
        Condition(beta**2 * B / (beta * mu - 1) <= v, "definition of v"),
        curved,
    ],
    rests_on=["eq25"],
    also=relations(
        Le((gamma + 1) * Delta_1 / (1 + gamma), _largest / (1 + gamma)),
        equal(Min(1 / mu, 1 / (4 * L)), 1 / (4 * L)),
        words="t = 1; and min{1/mu, 1/(4L)} = 1/(4L)",
    ),
)
fedbat.step(
    name="eq28",
    place="Appendix C.3, (28)",
    claim=at_most(gap_t, smoothness=L / 2 * v / (gamma + t)),
    when=[Condition(Delta_t <= v / (t + gamma), "(27)")],
    given=[smooth],
    rests_on=["eq27"],
    also=relations(Le(gap_t, L / 2 * Delta_t), Le(L / 2 * Delta_t, L / 2 * v / (gamma + t)), words="in between"),
)
fedbat.step(
    name="eq29.choice",
    place="Appendix C.3, before (29)",
    claim=relations(
        eta_t <= 2 * eta_later,
        eta_first <= 1 / (4 * L),
        words="with beta = 2/mu and gamma = max{8 L/mu, tau} - 1, for t >= 1",
    ),
    when=[implied(t >= 1, "t >= 1"), curved],
    where={
        eta_t: 2 / (mu * (shift + t)),
        eta_later: 2 / (mu * (shift + t + tau)),
        eta_first: 2 / (mu * (shift + 1)),
    },
    note="Lemmas 3 and 4 require it for all t >= 0.",
)
fedbat.step(
    name="eq29",
    place="Appendix C.3, (29)",
    claim=at_most(_largest, noise=4 * B / mu**2, start=(gamma + 1) * Delta_1),
    where={beta: 2 / mu},
    rests_on=["eq29.choice"],
    also=relations(
        Le(_largest, beta**2 * B / (beta * mu - 1) + (gamma + 1) * Delta_1),
        words="in between",
    ),
)
last_step = fedbat.step(
    name="eq30",
    place="Appendix C.3, (30)",
    claim=at_most(
        gap_t, noise=kappa / (gamma + t) * (2 * B / mu), start=kappa / (gamma + t) * (mu * (gamma + 1) / 2 * Delta_1)
    ),
    when=[implied(t >= 1, "t >= 1"), curved],
    where={kappa: L / mu, beta: 2 / mu, gamma: shift, eta_t: 2 / (mu * (gamma + t))},
    given=[smooth, recursion],
    rests_on=["eq28", "eq29"],
    note="With the beta and the gamma of (29); for any B for which the recursion holds.",
)

# ---------------------------------------------------------------------------------------- C.4, the proof of Lemma 1

fedbat.step(
    name="eq31",
    place="Appendix C.4, (31)",
    claim=equal_to(v_dist, step=A_1, noise=eta_t**2 * noise_sq),
    rests_on=["c1.virtual"],
)
fedbat.step(
    name="eq32",
    place="Appendix C.4, (32)",
    claim=equal_to(A_1, before=Delta_t, inner=B_1, square=B_2),
    where={B_1: -2 * eta_t * inner_star, B_2: eta_t**2 * gbar_sq},
)
fedbat.step(
    name="eq33",
    place="Appendix C.4, (33)",
    claim=relations(Le(Norm(Grad(F_k, x_k)) ** 2, 2 * L * (Value(F_k, x_k) - F_k_star)), words="for every client"),
    given=[smooth],
)
fedbat.step(
    name="eq34",
    place="Appendix C.4, (34)",
    claim=at_most(B_2, gaps=2 * L * eta_t**2 * local_gap),
    where={B_2: eta_t**2 * gbar_sq},
    given=[smooth],
    rests_on=["eq33"],
    also=relations(
        Le(eta_t**2 * gbar_sq, eta_t**2 * grads_x_sq),
        Le(eta_t**2 * grads_x_sq, 2 * L * eta_t**2 * local_gap),
        words="in between",
    ),
)
fedbat.step(
    name="eq35",
    place="Appendix C.4, (35)",
    claim=equal_to(B_1, move=-2 * eta_t * inner_move, down=-2 * eta_t * inner_down),
    where={B_1: -2 * eta_t * inner_star},
)
fedbat.step(
    name="eq36",
    place="Appendix C.4, (36)",
    claim=relations(
        Le(
            -2 * Inner(w_bar - x_k, Grad(F_k, x_k)),
            Norm(w_bar - x_k) ** 2 / eta_t + eta_t * Norm(Grad(F_k, x_k)) ** 2,
        ),
        words="Cauchy-Schwarz and AM-GM, for every client",
    ),
)
fedbat.step(
    name="eq37",
    place="Appendix C.4, (37)",
    claim=relations(
        Le(
            -Inner(x_k - w_star, Grad(F_k, x_k)),
            -(Value(F_k, x_k) - Value(F_k, w_star)) - mu / 2 * Norm(x_k - w_star) ** 2,
        ),
        words="for every client",
    ),
    given=[strongly_convex],
)
_C = 4 * L * eta_t**2 * local_gap - 2 * eta_t * star_gap
fedbat.step(
    name="eq38",
    place="Appendix C.4, (38)",
    claim=at_most(A_1, contraction=(1 - mu * eta_t) * Delta_t, divergence=spread_x, rest=tau * C),
    where={C: _C},
    given=[smooth, strongly_convex],
    rests_on=["eq32", "eq33", "eq34", "eq35", "eq36", "eq37"],
    also=relations(
        Le(
            A_1,
            Delta_t
            + 2 * L * eta_t**2 * local_gap
            + spread_x
            + eta_t**2 * grads_x_sq
            - 2 * eta_t * star_gap
            - mu * eta_t * x_star_sq,
        ),
        equal(-x_star_k, -spread_k - Delta_t),
        Le(-x_star_k, -Delta_t),
        words="in between; the last two for every client",
    ),
    note="In print there is a tau before C.",
)
fedbat.step(
    name="eq39",
    place="Appendix C.4, (39)",
    claim=equal_to(C, below=D, heterogeneity=4 * L * eta_t**2 * Gamma),
    when=[small],
    where={gamma_t: 2 * eta_t * (1 - 2 * L * eta_t), C: _C, D: -gamma_t * global_gap},
    also=relations(
        equal(C, -2 * eta_t * (1 - 2 * L * eta_t) * local_gap + 2 * eta_t * star_own),
        equal(C, -gamma_t * global_gap + (2 * eta_t - gamma_t) * Gamma),
        Le(eta_t, gamma_t),
        Le(gamma_t, 2 * eta_t),
        words="in between, and what gamma_t is",
    ),
    rests_on=["def.Gamma"],
)
fedbat.step(
    name="eq40",
    place="Appendix C.4, (40)",
    claim=relations(
        Ge(global_gap, inner_bar + gap_t),
        Ge(inner_bar + gap_t, -_half * (eta_t * grads_bar_sq + spread_x / eta_t) + gap_t),
        Ge(
            -_half * (eta_t * grads_bar_sq + spread_x / eta_t) + gap_t,
            -(eta_t * L * local_gap_bar + spread_x / (2 * eta_t)) + gap_t,
        ),
        words="convexity, AM-GM, (33)",
    ),
    given=[smooth, strongly_convex],
    rests_on=["eq33"],
)
_first41 = gamma_t * (eta_t * L * local_gap_bar + spread_x / (2 * eta_t)) - gamma_t * gap_t + 4 * L * eta_t**2 * Gamma
_second41 = (
    gamma_t * (eta_t * L - 1) * local_gap_bar
    + (4 * L * eta_t**2 + gamma_t * eta_t * L) * Gamma
    + gamma_t / (2 * eta_t) * spread_x
)
fedbat.step(
    name="eq41",
    place="Appendix C.4, (41)",
    claim=at_most(C, heterogeneity=6 * L * eta_t**2 * Gamma, divergence=spread_x),
    when=[small],
    where={gamma_t: 2 * eta_t * (1 - 2 * L * eta_t), C: _C},
    given=[smooth, strongly_convex],
    rests_on=["eq39", "eq40"],
    also=relations(
        equal(C, _first41),
        equal(_first41, _second41),
        Le(_second41, 6 * L * eta_t**2 * Gamma + spread_x),
        Le(eta_t * L - 1, -Rational(3, 4)),
        Le(4 * L * eta_t**2 + gamma_t * eta_t * L, 6 * eta_t**2 * L),
        Le(gamma_t / (2 * eta_t), 1, evaluate=False),
        words="in between, and the facts used",
    ),
)
fedbat.step(
    name="eq42",
    place="Appendix C.4, (42)",
    claim=at_most(
        A_1, contraction=(1 - mu * eta_t) * Delta_t, divergence=2 * spread_x, heterogeneity=6 * L * eta_t**2 * Gamma
    ),
    when=[small, curved],
    given=[smooth, strongly_convex],
    rests_on=["eq38", "eq41"],
)

# ----------------------------------------------------------------------------------- C.4, the proofs of Lemmas 2 to 4

fedbat.step(
    name="eq44",
    place="Appendix C.4, (44)",
    claim=at_most(noise_sq, noise=p_sq * sigma**2),
    when=shares,
    given=[noisy],
    also=relations(equal(noise_sq, noise_w_sq), equal(noise_w_sq, noise_w_sum), Le(noise_w_sum, p_sq * sigma**2)),
    note="The sums in between have the gradients at w_t^k, but g_t has those at x_t^k.",
)
fedbat.step(
    name="eq45",
    place="Appendix C.4, (45)",
    claim=equal_to(spread_x, clients=spread_w, binarisation=binarised_sq),
    rests_on=["c1.t0"],
    note="Printed (wbar - w^k) - (w^k - x^k) instead of (wbar - w^k) + (w^k - x^k); the cross term is 0 either way.",
)
fedbat.step(
    name="eq46",
    place="Appendix C.4, (46)",
    claim=at_most(spread_w, gradients=4 * eta_t**2 * (tau - 1) ** 2 * G**2),
    when=slow,
    given=[bounded],
    rests_on=["eq47"],
    also=relations(
        Le(spread_w, moved_sq),
        Le(moved_sq, steps_mean),
        Le(steps_mean, eta_t**2 * (tau - 1) ** 2 * G**2),
        words="in between",
    ),
    note="The fifth line has eta_t, but eta_{t_0} is meant; the sixth line makes up for it with the factor 4.",
)
fedbat.step(
    name="eq47",
    place="Appendix C.4, (47)",
    claim=at_most(moved_k_sq, steps=(t - t_0) * steps_sq_w),
    when=[implied(t_0 <= t, "implied: t_0 is before t")],
    also=relations(equal(moved_k_sq, steps_sum_w), Le(steps_sum_w, (t - t_0) * steps_sq_w), words="in between"),
    note="With gradients at w_t^k; the steps (17) have the gradients at x_t^k.",
)
fedbat.step(
    name="eq48",
    place="Appendix C.4, (48)",
    claim=at_most(binarised_sq, gradients=4 * q**2 * eta_t**2 * (tau - 1) ** 2 * G**2),
    when=slow,
    given=[bounded, binarised],
    rests_on=["c1.t0", "eq46"],
    also=relations(Le(binarised_sq, q**2 * moved_sq), words="in between"),
)
fedbat.step(
    name="eq50",
    place="Appendix C.4, (50)",
    claim=at_most(jump_sq, gradients=4 * eta_t**2 * alone),
    when=[*slow, *shares],
    given=[bounded, binarised],
    rests_on=["c1.t0", "eq47"],
    also=relations(
        equal(jump_sq, jump_parts), Le(jump_parts, q**2 * v_moved), words="in between, where t+1 is in I_tau"
    ),
)
