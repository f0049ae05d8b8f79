"""Corrected and completed statements, each with its own proof, and the errata.

The constants are ours; the ledgers of `fedtheory.theory.sfl.checks.ledgers` prove them.  The paper claims nothing of this.
"""

from __future__ import annotations

import sympy
from sympy import Le, Max, Min, Rational, Sum, exp, log, sqrt

from fedtheory.theory.notation import Expectation, Grad, equal
from fedtheory.theory.sfl.sequential import *
from fedtheory.theory.statement import Words, at_most, equal_to, implied, order, relations

_half, _third, _two_thirds = Rational(1, 2), Rational(1, 3), Rational(2, 3)

# Setting and Lemma 4

sfl.correct("asm.unbiased", relations(equal(Expectation(Grad(f_m, x)), Grad(F_m, x))), note="With the gradient.")

sfl.correct(
    "lemma4.sum",
    {"fourth": -2 * K * zeta**2 / (M - 1) * Sum(m - 1, (m, 1, S)) * Sum(k, (k, 0, K - 1))},
)
sfl.correct(
    "lemma4.closed_form",
    equal_to(
        sfl.statements["sfl.lemma4.closed_form"].claim.quantity,  # type: ignore[union-attr]
        first=_half * S * K**2 * (S * K - 1) * zeta**2,
        second=-Rational(1, 6) * S * K * (K**2 - 1) * zeta**2,
        third=-S * (S - 1) / (M - 1) * K**2 * (K * (2 * S - 1) / 6 - _half) * zeta**2,
    ),
    rests_on=["lemma4.sum.corrected"],
)

# Lemma 7, with its condition on T, and with the gamma^3 term of its applications

_long = 1 / (2 * a * gamma) <= T + 1
contracting = [
    gamma <= 1 / d,
    a <= d,
    implied(a > 0, "implied by the condition on T"),
    implied(a * gamma < 1, "implied: the weights (1 - a gamma)^-(t+1) are finite"),
]

lemma7_cubic = sfl.correct(
    "lemma7",
    at_most(
        r_next, previous=(1 - a * gamma) * r_t, progress=-b * gamma * s_t, second_order=c1 * gamma**2,
        third_order=c2 * gamma**3,
    ),
    suffix="cubic",
    note="The recursion of (41) and (70).",
)  # fmt: skip
sfl.correct(
    "lemma7.eq38",
    at_most(
        Psi_T, optimisation=3 * a * r0 * exp(-a * gamma * (T + 1)), second_order=c1 * gamma, third_order=c2 * gamma**2
    ),
    suffix="cubic",
    given=[lemma7_cubic],
    where={},
    rests_on=["lemma7.cubic", "lemma7.WT"],
    note="Lemma 7 with c = c1 + c2 gamma.",
)
_log = log(Max(2, a**3 * r0 * T**2 / (a * T * c1 + c2)))
sfl.correct(
    "lemma7.eq39",
    at_most(
        Psi_T,
        optimisation=3 * a * r0 * exp(-a * T / d),
        second_order=(3 + _log) * c1 / (a * T),
        third_order=(3 + _log**2) * c2 / (a * T) ** 2,
    ),
    suffix="cubic",
    given=[lemma7_cubic],
    when=[
        implied(a < d, "needed: the weights are finite at gamma = 1/d"),
        d / (2 * a) <= T + 1,
        implied(T >= 1, "implied: T divides"),
        implied(a > 0, "implied: a divides"),
        implied(a * T * c1 + c2 > 0, "implied: it divides"),
    ],
    where={gamma: Min(_log / (a * T), 1 / d)},
    rests_on=["lemma7.eq38.cubic"],
    note="Explicit, with the gamma^3 term. The printed choice divides by c, which is c1 = 0 for sigma = 0 and S = M.",
)

# (41), (42), (46): eta_tilde = S K eta

_by_S = {eta_tilde: S * K * eta}
sfl.correct("eq41", where=_by_S, note="eta_tilde = S K eta.")
sfl.correct("step.gc_recursion", where=_by_S, rests_on=["eq41.corrected"], note="eta_tilde = S K eta.")
sfl.correct("eq42", where={**_by_S, w_r: growing}, rests_on=["eq41.corrected", "lemma7.eq38.cubic", "eq14"])
sfl.correct(
    "eq46",
    where={**_by_S, w_r: sympy.Integer(1)},
    rests_on=["step.gc_recursion.corrected", "lemma8.eq44", "eq14"],
)

# Lemma 8 with r_0 > 0, and a step size that is defined for c_1 = 0 and c_2 = 0, too

_per_round = r0 / (T + 1)
sfl.correct(
    "lemma8.eq45",
    when=[r0 > 0],
    where={gamma: 1 / Max(d, sqrt(c1 / _per_round), (c2 / _per_round) ** _third)},
    note="Also for c_1 = 0 or c_2 = 0.  At r_0 = 0 no step size reaches 0, but small step sizes come arbitrarily close.",
)

# The strongly convex orders: 12 in the exponent

for _name in ("eq10", "eq11", "table1.pfl_thm2", "table1.sfl_thm1"):
    sfl.correct(_name, {"optimisation": mu * D**2 * exp(-mu * R / (12 * L))})

# Non-convex: the sampling of S < M clients

tracked_sq = sfl.symbol(
    "tracked_sq",
    r"\mathbb{E}\|\sum_{m,k}(\nabla F(x)+\nabla F_{\pi_m}(x_{m,k})-\nabla F_{\pi_m}(x))\|^2",
    "squared sum of global gradients plus changes of the local ones",
    sfl.symbols["step_sq"].dimension,
    nonnegative=True,
)
_spread = left_out * (zeta**2 + beta**2 * grad_sq)
_descending = [lower_bounded, smooth, unbiased, variance, heterogeneity]
_only_descending = "Assumption 3a instead of 3b; for S = M there is no term for the sampling of clients."

sfl.correct(
    "step.eq50",
    at_most(
        -eta * cross_sum,
        progress=-S * K * eta / 2 * grad_sq,
        tracked=-eta / (2 * S * K) * tracked_sq,
        drift=L**2 * eta / 2 * E_r,
    ),
    when=few,
    rests_on=["lemma3.mean", "eq15"],
    note="The sampled clients' gradients at x have the mean grad F(x); compared with this mean, only the drift remains.",
)
sfl.correct(
    "step.eq51",
    at_most(
        L * eta**2 / 2 * step_sq,
        noise=L * S * K * eta**2 * sigma**2,
        tracked=3 * L * eta**2 * tracked_sq,
        sampling=Rational(3, 2) * L * S**2 * K**2 * eta**2 * _spread,
    ),
    when=sampled,
    given=[unbiased, variance, heterogeneity],
    rests_on=["lemma1", "eq15", "lemma3.swor"],
)
sfl.correct(
    "lemma9",
    at_most(
        descent,
        progress=-S * K * eta / 2 * grad_sq,
        noise=L * S * K * eta**2 * sigma**2,
        sampling=Rational(3, 2) * L * S**2 * K**2 * eta**2 * left_out * zeta**2,
        sampling_gradient=Rational(3, 2) * L * S**2 * K**2 * eta**2 * left_out * beta**2 * grad_sq,
        drift=L**2 * eta / 2 * E_r,
    ),
    when=[eta <= 1 / (6 * L * S * K), *sampled],
    given=_descending,
    rests_on=["step.eq49", "step.eq50.corrected", "step.eq51.corrected", "eq33"],
    note=_only_descending,
)
_spread_step = 14 * L * beta**2 * left_out * eta_tilde <= 1
sfl.correct(
    "step.eq54_recursion",
    at_most(
        descent,
        progress=-_third * S * K * eta * grad_sq,
        noise=L * S * K * eta**2 * sigma**2,
        sampling=Rational(3, 2) * L * S**2 * K**2 * eta**2 * left_out * zeta**2,
        noise_drift=Rational(9, 8) * L**2 * S**2 * K**2 * eta**3 * sigma**2,
        heterogeneity=Rational(9, 8) * L**2 * S**2 * K**3 * eta**3 * zeta**2,
    ),
    when=[
        eta <= 1 / (6 * L * S * K),
        beta * eta <= sqrt(S) / (6 * L * S * K),
        _spread_step.subs(eta_tilde, S * K * eta),
        *sampled,
    ],
    rests_on=["lemma9.corrected", "lemma10"],
)
_sampling = Rational(9, 2) * L * eta_tilde * left_out * zeta**2
sfl.correct(
    "eq54",
    at_most(
        min_grad_sq,
        optimisation=nonconvex_sublinear,
        noise=3 * L * eta_tilde * sigma**2 / (S * K),
        sampling=_sampling,
        noise_drift=27 * L**2 * eta_tilde**2 * sigma**2 / (8 * S * K),
        heterogeneity=27 * L**2 * eta_tilde**2 * zeta**2 / (8 * S),
    ),
    when=[eta_tilde <= 1 / (6 * L), beta * eta_tilde <= sqrt(S) / (6 * L), _spread_step, *sampled],
    rests_on=["step.eq54_recursion.corrected", "lemma8.eq44"],
    applies=by_lemma8(
        L * sigma**2 / (S * K) + Rational(3, 2) * L * left_out * zeta**2,
        9 * L**2 * sigma**2 / (8 * S * K) + 9 * L**2 * zeta**2 / (8 * S),
        Max(6 * L, 6 * L * beta / sqrt(S), 14 * L * beta**2 * left_out),
        A,
    ),
    note="With the variance of the sampled clients' mean gradient, as in (42) and (46).",
)
sfl.correct(
    "step.eq54_range",
    relations(Le(eta_tilde, Min(1 / (6 * L), sqrt(S) / (6 * L * beta)))),
    when=[eta_tilde <= 1 / (6 * L * (beta + 1)), implied(beta > 0, "implied: beta divides")],
)
_sampling_order = sqrt(L * zeta**2 * A * left_out / R)
sfl.correct(
    "eq55",
    order(
        min_grad_sq,
        noise=(L * sigma**2 * A) ** _half / sqrt(S * K * R),
        sampling=_sampling_order,
        noise_drift=(L**2 * sigma**2 * A**2) ** _third / ((S * K) ** _third * R**_two_thirds),
        heterogeneity=(L**2 * zeta**2 * A**2) ** _third / (S**_third * R**_two_thirds),
        optimisation=L * (1 + beta / sqrt(S) + beta**2 * left_out) * A / R,
    ),
    when=[*sampled, above_optimum],
    rests_on=["eq54.corrected", "lemma8.eq45.corrected"],
)
sfl.correct("cor1.nonconvex", {"optimisation": L * (beta + 1) * A / R})

# The same for PFL

sfl.correct(
    "lemma13",
    at_most(
        descent,
        progress=-K * eta / 2 * grad_sq,
        noise=L * K * eta**2 * sigma**2 / S,
        sampling=Rational(3, 2) * L * K**2 * eta**2 * left_out * zeta**2,
        sampling_gradient=Rational(3, 2) * L * K**2 * eta**2 * left_out * beta**2 * grad_sq,
        drift=L**2 * eta / 2 * Ecal_r,
    ),
    when=[eta <= 1 / (6 * L * K), *sampled],
    given=[*_descending, independent],
    rests_on=["alg2", "eq16", "lemma1", "lemma3.mean", "lemma3.swor", "eq15", "eq68"],
    note=_only_descending,
)
sfl.correct("lemma14", given=[smooth, unbiased, variance, heterogeneity], note="Under Assumption 3a.")
sfl.correct(
    "step.eq80_recursion",
    at_most(
        descent,
        progress=-_third * K * eta * grad_sq,
        noise=L * K * eta**2 * sigma**2 / S,
        sampling=Rational(3, 2) * L * K**2 * eta**2 * left_out * zeta**2,
        noise_drift=Rational(9, 8) * L**2 * K**2 * eta**3 * sigma**2,
        heterogeneity=Rational(3, 4) * L**2 * K**3 * eta**3 * zeta**2,
    ),
    when=[eta <= 1 / (6 * L * K * (beta + 1)), _spread_step.subs(eta_tilde, K * eta), *sampled],
    rests_on=["lemma13.corrected", "lemma14.corrected"],
)
sfl.correct(
    "eq80",
    at_most(
        min_grad_sq,
        optimisation=nonconvex_sublinear,
        noise=3 * L * eta_tilde * sigma**2 / (S * K),
        sampling=_sampling,
        noise_drift=27 * L**2 * eta_tilde**2 * sigma**2 / (8 * K),
        heterogeneity=Rational(9, 4) * L**2 * eta_tilde**2 * zeta**2,
    ),
    when=[eta_tilde <= 1 / (6 * L * (beta + 1)), _spread_step, *sampled],
    rests_on=["step.eq80_recursion.corrected", "lemma8.eq44"],
    applies=by_lemma8(
        L * sigma**2 / (S * K) + Rational(3, 2) * L * left_out * zeta**2,
        9 * L**2 * sigma**2 / (8 * K) + Rational(3, 4) * L**2 * zeta**2,
        Max(6 * L * (beta + 1), 14 * L * beta**2 * left_out),
        A,
    ),
    note="With the variance of the sampled clients' mean gradient, as in (71) and (73).",
)
sfl.correct(
    "eq81",
    order(
        min_grad_sq,
        noise=(L * sigma**2 * A) ** _half / sqrt(S * K * R),
        sampling=_sampling_order,
        noise_drift=(L**2 * sigma**2 * A**2) ** _third / (K**_third * R**_two_thirds),
        heterogeneity=(L**2 * zeta**2 * A**2) ** _third / R**_two_thirds,
        optimisation=L * (1 + beta + beta**2 * left_out) * A / R,
    ),
    when=[*sampled, above_optimum],
    rests_on=["eq80.corrected", "lemma8.eq45.corrected"],
)
sfl.correct("cor2.nonconvex", {"optimisation": L * (beta + 1) * A / R})

# Claims

sfl.correct(
    "claim.malinovsky",
    Words(
        "Theorem 1 (sigma = 0) is of the order of the formula, with 1/(mu R) <= M K eta <= 1/(6L): half the exponent of the "
        "printed one.",
        (L * M * K**2 * eta**2 * zeta_star**2 + mu * D**2 * exp(-mu * M * K * R * eta / 2),),
    ),
    when=[
        eta <= 1 / (6 * L * M * K),
        1 / (mu * R) <= M * K * eta,
        implied(mu <= L, "implied by strong convexity and smoothness"),
    ],
)
_of_noise_drift = L * sigma**2 / (mu**2 * M * K * R**2) + L * zeta_star**2 / (mu**2 * M * R**2)
sfl.correct(
    "claim.minibatch",
    when=[L * D**2 * exp(-mu * R / L) <= _of_noise_drift],
    note="With noise or heterogeneity, and R so large that SGD's last term is at most SFL's second and third terms.",
)
_rr, *_theirs = sfl.statements["sfl.claim.sgd_rr"].claim.formulas  # type: ignore[union-attr]
sfl.correct(
    "claim.sgd_rr",
    Words(
        "With K = 1 and sigma = 0 the SFL bound becomes the first formula; the comparison with SGD-RR and with the lower "
        "bound stands.",
        (_rr.replace(exp, lambda power: exp(power / 12)), *_theirs),
    ),
    note="With the exponent of Corollary 1.",
)
