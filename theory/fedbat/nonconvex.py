"""Appendix E, non-convex: Lemma 7, and the proof of Theorem 3 line by line.  p_k = 1/N, a constant learning rate."""

from __future__ import annotations

from sympy import IndexedBase, Le, Sum, sqrt

from fedtheory.theory.fedbat.setting import *
from fedtheory.theory.fedbat.theorems import balanced, chosen, divergence, sampled, theorem3
from fedtheory.theory.notation import Grad, Inner, Norm, Value, equal
from fedtheory.theory.statement import at_most, equal_to, implied, relations

_p, _F, _x, _v = (IndexedBase(symbol.name, real=True) for symbol in (p, F_i, x_i, v_i))
_step = {eta: 1 / (L * sqrt(T))}

fedbat.definition(
    name="e1.update",
    place="Appendix E.1, (66) to (68)",
    claim=relations(
        equal(v_k, w_k - eta_t * g_k),
        equal(x_k, Value(S_m, w_k)),
        equal(w_k_next, v_k),
        equal(w_k_next, Sum(_p[k] * Value(S_m, _v[k]), (k, 1, N))),
        words="as (17) to (19); and gbar_t = grad F(x_t^k) = sum_k p_k grad F_k(x_t^k)",
    ),
    rests_on=["c1.sync", "setting_theory"],
    also=relations(
        equal(g_bar, Grad(F_fun, x_k)),
        equal(Grad(F_fun, x_k), Sum(_p[k] * Grad(_F[k], _x[k]), (k, 1, N))),
        words="gbar_t as printed",
    ),
    note="All clients take part in (68), but Theorem 3 samples them.  'E vbar_t = E wbar_t' is Lemma 5.",
)
_lemma7 = {
    "before": F_bar,
    "gradient": -eta / 2 * grad_sq,
    "local_gradients": (L * eta**2 - eta) / 2 * gbar_sq,
    "divergence": eta / 2 * L**2 * spread_x,
    "noise": L * eta**2 / 2 * noise_sq,
    "jump": L / 2 * jump_sq,
}
fedbat.lemma(
    name="lemma7",
    place="Appendix E.2, Lemma 7, (69)",
    claim=at_most(F_bar_next, **_lemma7),
    given=[smooth, noisy, balanced],
    rests_on=["eq75", "eq82"],
    note="No condition on the learning rate.  Assumption 1 is read as its formula, from above only.",
)
fedbat.step(
    name="eq70",
    place="Appendix E.3, (70)",
    claim=at_most(F_bar_next, **{name: value for name, value in _lemma7.items() if name != "local_gradients"}),
    when=[implied(eta <= 1 / L, "eta = 1/(L sqrt(T))")],
    given=[smooth, noisy, balanced],
    rests_on=["lemma7"],
    also=relations(Le((L * eta**2 - eta) / 2, 0), words="that the term is not positive"),
)
_rest71 = {
    "divergence": eta / 2 * L**2 * 4 * eta**2 * divergence,
    "noise": L * eta**2 / 2 * sigma**2 / N,
    "jump": L / 2 * 4 * eta_t**2 * sampled,
}
_constant = {eta_t: eta}
fedbat.step(
    name="eq71",
    place="Appendix E.3, (71)",
    claim=at_most(F_bar_next, before=F_bar, gradient=-eta / 2 * grad_sq, **_rest71),
    when=[implied(eta <= 1 / L, "eta = 1/(L sqrt(T))"), *chosen],
    where=_constant,
    given=[smooth, noisy, bounded, binarised, balanced],
    rests_on=["eq70", "lemma2", "lemma3", "lemma6"],
    note="eta_t stands for eta in the last term.",
)
fedbat.step(
    name="eq72",
    place="Appendix E.3, (72)",
    claim=at_most(eta / 2 * avg_step_grad_sq, telescoped=(F_0 - F_T) / T, **_rest71),
    when=[implied(eta <= 1 / L, "eta = 1/(L sqrt(T))"), *chosen],
    where=_constant,
    given=[smooth, noisy, bounded, binarised, balanced],
    rests_on=["eq71"],
    note="eta_t stands for eta in the last term; F(w_T) is printed without its expectation.",
)
fedbat.step(
    name="eq73",
    place="Appendix E.3, (73)",
    claim=theorem3.claim,
    when=chosen,
    where=_step,
    given=[smooth, noisy, bounded, binarised, balanced],
    rests_on=["eq72"],
    note="F(w_T) >= F* is enough: Gamma is not needed.",
)
fedbat.step(
    name="eq74",
    place="Appendix E.4, (74)",
    claim=relations(
        Le(
            Value(F_fun, w_bar_next),
            Value(F_fun, v_bar) + Inner(Grad(F_fun, v_bar), w_bar_next - v_bar) + L / 2 * Norm(w_bar_next - v_bar) ** 2,
        )
    ),
    given=[smooth],
)
fedbat.step(
    name="eq75",
    place="Appendix E.4, (75)",
    claim=at_most(F_bar_next, step=F_v, jump=L / 2 * jump_sq),
    given=[smooth, balanced],
    rests_on=["eq74", "lemma5"],
)
fedbat.step(
    name="eq76",
    place="Appendix E.4, (76)",
    claim=relations(
        Le(
            Value(F_fun, w_bar - eta * g_t),
            Value(F_fun, w_bar) - eta * Inner(Grad(F_fun, w_bar), g_t) + L * eta**2 / 2 * Norm(g_t) ** 2,
        )
    ),
    given=[smooth],
    note="vbar_{t+1} is written out.",
)
fedbat.step(
    name="eq77",
    place="Appendix E.4, (77)",
    claim=equal_to(2 * inner_grad, gradient=grad_sq, step=g_sq, apart=-apart_sq),
)
fedbat.step(
    name="eq78",
    place="Appendix E.4, (78)",
    claim=at_most(apart_sq, divergence=L**2 * spread_x, noise=noise_sq),
    given=[smooth],
    also=relations(equal(apart_sq, apart_bar_sq + noise_sq), Le(apart_bar_sq, L**2 * spread_x), words="in between"),
)
fedbat.step(
    name="eq79",
    place="Appendix E.4, (79)",
    claim=at_most(
        -eta * inner_grad,
        gradient=-eta / 2 * grad_sq,
        step=-eta / 2 * g_sq,
        divergence=eta / 2 * L**2 * spread_x,
        noise=eta / 2 * noise_sq,
    ),
    given=[smooth],
    rests_on=["eq77", "eq78"],
)
fedbat.step(
    name="eq80",
    place="Appendix E.4, (80)",
    claim=at_most(
        F_v,
        before=F_bar,
        gradient=-eta / 2 * grad_sq,
        step=(L * eta**2 / 2 - eta / 2) * g_sq,
        divergence=eta / 2 * L**2 * spread_x,
        noise=eta / 2 * noise_sq,
    ),
    given=[smooth],
    rests_on=["eq76", "eq79"],
    note="'Summing Eq. 79 into Eq. 77' means into (76).",
)
fedbat.step(
    name="eq81",
    place="Appendix E.4, (81)",
    claim=equal_to(g_sq, mean=gbar_sq, noise=noise_sq),
    rests_on=["c1.virtual"],
)
fedbat.step(
    name="eq82",
    place="Appendix E.4, (82)",
    claim=at_most(
        F_v,
        before=F_bar,
        gradient=-eta / 2 * grad_sq,
        local_gradients=(L * eta**2 / 2 - eta / 2) * gbar_sq,
        divergence=eta / 2 * L**2 * spread_x,
        noise=L * eta**2 / 2 * noise_sq,
    ),
    given=[smooth, noisy],
    rests_on=["eq80", "eq81"],
)
