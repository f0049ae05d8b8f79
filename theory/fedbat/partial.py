"""Appendix D: K of N clients, p_k = 1/N; the lemmas, and the proof of Theorem 2 line by line."""

from __future__ import annotations

from sympy import IndexedBase, Le, Sum

from fedtheory.theory.fedbat.lemmas import curved, last_step, recursion, slow, small
from fedtheory.theory.fedbat.setting import *
from fedtheory.theory.fedbat.theorems import B_partial, balanced, chosen, divergence, sampled
from fedtheory.theory.notation import Value, equal
from fedtheory.theory.statement import Words, at_most, equal_to, relations

_v, _v_old = (IndexedBase(symbol.name, real=True) for symbol in (v_i, v_old_i))
constant = [eta_later <= eta_t, eta_t <= eta_later]  # non-increasing, and eta_t <= eta_{t+tau} as printed
_mean = Sum(Value(S_m, _v[k]), (k, 1, K)) / K

fedbat.definition(
    name="d1.sync",
    place="Appendix D.1",
    claim=relations(
        equal(n_last, N), Le(R * tau, n_last * tau), words="I_tau = {n tau | n = 1, 2, ..., N}, the end of every round"
    ),
    note="(53) needs the second relation: the run of R rounds ends in I_tau.",
)
fedbat.claim(
    name="d1.scheme",
    place="Appendix D.1",
    claim=Words(
        "All devices are activated at the beginning of a round, only those sampled are used at its end: this updating "
        "scheme is equivalent to the original."
    ),
    rests_on=["alg1"],
    also=relations(equal(w_next, w_next_all), words="the model, from the same draws"),
)
fedbat.definition(
    name="d1.update",
    place="Appendix D.1, (51) to (53)",
    claim=relations(
        equal(v_k, w_k - eta_t * g_k),
        equal(x_k, Value(S_m, w_k)),
        equal(w_k_next, v_k),
        equal(w_k_next, Sum(Value(S_m, _v_old[k]), (k, 1, K)) / K),
        equal(w_k_next, _mean),
        words="the third where t+1 is no step of synchronisation, the others where it is one; k counts the sampled clients",
    ),
    rests_on=["d1.sync", "setting_theory"],
    note="In (53) the last two are equal, with p_k = 1/N; the first has v_t^k, the second v_{t+1}^k.",
)
fedbat.lemma(
    name="lemma5",
    place="Appendix D.2, Lemma 5, (54), (60)",
    claim=relations(equal(w_mean, v_mean)),
    when=chosen,
    given=[balanced],
    rests_on=["d1.update", "setting_theory"],
)
fedbat.lemma(
    name="lemma6",
    place="Appendix D.2, Lemma 6, (55), (65)",
    claim=at_most(jump_sq, gradients=4 * eta_t**2 * sampled),
    when=[*constant, *chosen],
    given=[bounded, binarised, balanced],
    rests_on=["eq61", "eq62", "eq64"],
    note="Printed eta_t <= eta_{t+tau}, but Lemmas 3 and 4 have eta_t <= 2 eta_{t+tau}: a non-increasing learning rate "
    "would have to be constant.",
)
fedbat.step(
    name="eq56",
    place="Appendix D.3, (56)",
    claim=equal_to(Delta_next, jump=jump_sq, step=v_dist),
    when=chosen,
    given=[balanced],
    rests_on=["lemma5"],
)
fedbat.step(
    name="eq57",
    place="Appendix D.3, (57)",
    claim=at_most(Delta_next, contraction=(1 - eta_t * mu) * Delta_t, constant=eta_t**2 * B),
    when=[small, curved, *slow, *chosen],
    where={B: B_partial},
    given=[smooth, strongly_convex, noisy, bounded, binarised, balanced],
    rests_on=["eq56", "lemma1", "lemma2", "lemma3", "lemma6", "eq58"],
)
fedbat.definition(name="eq58",
    place="Appendix D.3, (58)",
    claim=equal_to(B, noise=sigma**2 / N, heterogeneity=6 * L * Gamma, divergence=8 * divergence,
             sampling=4 * sampled),
    when=chosen,
)  # fmt: skip
fedbat.step(
    name="eq59",
    place="Appendix D.3, (59)",
    claim=last_step.claim,
    when=last_step.when,
    where=dict(last_step.where),
    given=[smooth, recursion],
    rests_on=["eq57", "eq28", "eq29"],
    note="The start is printed without an expectation; w_1 is random.  (28) is the middle of the line.  With the beta and "
    "the gamma of (29), 'following the same process'; for any B for which the recursion holds.",
)
fedbat.step(
    name="eq61",
    place="Appendix D.4, (61)",
    claim=equal_to(jump_sq, binarisation=A_bin, sampling=A_2),
    when=chosen,
    rests_on=["d1.update"],
)
fedbat.step(
    name="eq62",
    place="Appendix D.4, (62)",
    claim=at_most(A_bin, gradients=4 * q**2 * eta_t**2 * tau**2 * G**2 / K),
    when=[*constant, *chosen],
    given=[bounded, binarised, balanced],
    rests_on=["eq50"],
    also=relations(equal(A_bin, A_1_parts), Le(A_1_parts, 4 * q**2 * eta_t**2 * tau**2 * G**2 / K), words="in between"),
    note="The sum in between is over a random set; its expectation is meant.",
)
fedbat.step(
    name="eq63",
    place="Appendix D.4, (63)",
    claim=equal_to(A_2, spread=(N - K) / (K * N * (N - 1)) * v_spread),
    when=chosen,
    given=[balanced],
    rests_on=["d1.update"],
)
fedbat.step(
    name="eq64",
    place="Appendix D.4, (64)",
    claim=at_most(A_2, gradients=(N - K) / (K * (N - 1)) * 4 * eta_t**2 * tau**2 * G**2),
    when=[*constant, *chosen],
    given=[bounded, balanced],
    rests_on=["eq63", "eq50"],
)
