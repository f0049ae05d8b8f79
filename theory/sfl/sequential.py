"""SFL: the proof of Theorem 1 with partial participation (Appendix D), Theorem 1 and Corollary 1 (Section 3.2)."""

from __future__ import annotations

from collections.abc import Iterable

import sympy
from sympy import IndexedBase, Le, Min, Rational, Sum, exp, sqrt
from sympy.core.relational import Relational

from fedtheory.theory.notation import equal
from fedtheory.theory.sfl.setting import *
from fedtheory.theory.statement import (
    Application,
    Bound,
    Condition,
    Statement,
    at_most,
    equal_to,
    implied,
    order,
    relations,
    soft_order,
)

convex_cases = [lower_bounded, cases, smooth, unbiased, variance, heterogeneity_at_optimum]
nonconvex_case = [lower_bounded, smooth, unbiased, variance, heterogeneity]

curved: Condition = implied(mu <= L, "implied by strong convexity and smoothness")
sampled: list[Condition] = [
    implied(S <= M, "implied: S of M clients without replacement"),
    implied(M >= 2, "implied: the printed M - 1 divides"),
]
few: list[Condition] = [implied(S <= M, "implied: S of M clients without replacement")]

# A step size that is tuned to a distance needs a positive distance
away_from_optimum = implied(D > 0, "implied: at D = 0 the bound counts in the limit")
above_optimum = implied(A > 0, "needed: otherwise the tuned step size is 0")
# The same reading for all strongly convex orders: the range of Theorem 1, not empty for R >= 6 L / mu
long_enough = implied(6 * L / mu <= R, "read: the printed range 1/(mu R) <= eta_tilde <= 1/(6 L) is not empty")

# Variance of the mean of S clients sampled without replacement from M, per unit of zeta_star^2 (Lemma 3)
left_out = (M - S) / (S * (M - 1))

_small = [eta <= 1 / (6 * L * S * K)]

# D.1.1: the recursion, strongly convex

sfl.lemma(
    name="lemma5",
    place="Appendix D.1.1, Lemma 5, (27)",
    claim=at_most(
        dist2_next,
        contraction=(1 - mu * S * K * eta / 2) * dist2,
        noise=4 * S * K * eta**2 * sigma**2,
        sampling=4 * S**2 * K**2 * eta**2 * left_out * zeta_star**2,
        progress=-Rational(2, 3) * S * K * eta * D_F,
        drift=Rational(8, 3) * L * eta * E_r,
    ),
    when=[*_small, curved, *sampled],
    given=convex_cases,
    rests_on=["step.eq28", "step.eq29", "step.eq32", "eq33"],
)
sfl.step(
    name="step.eq28",
    place="Appendix D.1.1, proof of Lemma 5, (28)",
    claim=equal_to(dist2_next, start=dist2, progress=-2 * eta * inner_sum, step=eta**2 * step_sq),
    given=[unbiased],
    rests_on=["alg1"],
)
sfl.step(
    name="step.eq29",
    place="Appendix D.1.1, proof of Lemma 5, (29)",
    claim=at_most(
        -2 * eta * inner_sum,
        progress=-2 * S * K * eta * D_F,
        curvature=-Rational(1, 2) * mu * S * K * eta * dist2,
        drift=2 * L * eta * E_r,
    ),
    given=[lower_bounded, cases, smooth],
    when=[curved],
    rests_on=["lemma2"],
)
sfl.step(
    name="step.eq30",
    place="Appendix D.1.1, proof of Lemma 5, (30)",
    claim=at_most(step_sq, noise=4 * noise_sq, move=4 * move_sq, bias=4 * bias_sq, star=4 * star_sq),
    rests_on=["eq15"],
)
sfl.step(
    name="step.eq31",
    place="Appendix D.1.1, proof of Lemma 5, (31) and the display after it",
    claim=relations(
        Le(4 * bias_sq, 8 * L * S**2 * K**2 * D_F),
        Le(4 * star_sq, 4 * S**2 * K**2 * left_out * zeta_star**2),
        words="third and fourth term on the right side of (30)",
    ),
    given=[lower_bounded, cases, smooth, heterogeneity_at_optimum],
    when=sampled,
    rests_on=["eq15", "eq18", "lemma3.swor"],
)
sfl.step(
    name="step.eq32",
    place="Appendix D.1.1, proof of Lemma 5, (32)",
    claim=at_most(
        step_sq,
        noise=4 * S * K * sigma**2,
        drift=4 * L**2 * S * K * E_r,
        gap=8 * L * S**2 * K**2 * D_F,
        sampling=4 * S**2 * K**2 * left_out * zeta_star**2,
    ),
    given=convex_cases,
    when=sampled,
    rests_on=["step.eq30", "step.eq31", "lemma1", "eq15"],
)

# D.1.2: the drift

drift_at = IndexedBase("drift_mk", real=True)  # E||x_mk - x||^2 at (m, k)

sfl.definition(
    name="eq33",
    place="Appendix D.1.2, (33)",
    claim=relations(equal(E_r, Sum(Sum(drift_at[m, k], (k, 0, K - 1)), (m, 1, S))), words="client drift in SFL"),
)
sfl.lemma(
    name="lemma6",
    place="Appendix D.1.2, Lemma 6, (34)",
    claim=at_most(
        E_r,
        noise=Rational(9, 4) * S**2 * K**2 * eta**2 * sigma**2,
        heterogeneity=Rational(9, 4) * S**2 * K**3 * eta**2 * zeta_star**2,
        gap=3 * L * S**3 * K**3 * eta**2 * D_F,
    ),
    when=[*_small, *few],
    given=convex_cases,
    rests_on=["eq33", "step.eq35", "step.eq36", "lemma4"],
)
sfl.step(
    name="step.eq35",
    place="Appendix D.1.2, proof of Lemma 6, (35)",
    claim=at_most(
        drift_mk,
        noise=4 * eta**2 * noise_upto,
        move=4 * eta**2 * B_mk * move_upto,
        bias=4 * eta**2 * B_mk * bias_upto,
        star=4 * eta**2 * star_upto,
    ),
    given=[unbiased],
    rests_on=["alg1", "lemma1", "eq15"],
)
sfl.step(
    name="step.eq36",
    place="Appendix D.1.2, proof of Lemma 6, (36)",
    claim=at_most(client_bias_sq, gap=2 * L * D_F),
    given=[cases, smooth],
    rests_on=["eq18"],
)

# D.1.4

sfl.step(
    name="step.sc_recursion",
    place="Appendix D.1.4, first display",
    claim=at_most(
        dist2_next,
        contraction=(1 - mu * S * K * eta / 2) * dist2,
        progress=-Rational(1, 3) * S * K * eta * D_F,
        noise=4 * S * K * eta**2 * sigma**2,
        sampling=4 * S**2 * K**2 * eta**2 * left_out * zeta_star**2,
        noise_drift=6 * L * S**2 * K**2 * eta**3 * sigma**2,
        heterogeneity=6 * L * S**2 * K**3 * eta**3 * zeta_star**2,
    ),
    when=[*_small, curved, *sampled],
    given=convex_cases,
    rests_on=["lemma5", "lemma6"],
)


def recursion(contraction: sympy.Expr) -> dict[str, sympy.Expr]:
    """The terms of (41); `contraction` is its first term."""
    return {
        "contraction": contraction,
        "progress": -eta_tilde / 3 * D_F,
        "noise": 4 * eta_tilde**2 * sigma**2 / (S * K),
        "sampling": 4 * eta_tilde**2 * (M - S) * zeta_star**2 / (S * (M - 1)),
        "noise_drift": 6 * L * eta_tilde**3 * sigma**2 / (S * K),
        "heterogeneity": 6 * L * eta_tilde**3 * zeta_star**2 / S,
    }


sfl.step(
    name="eq41",
    place="Appendix D.1.4, (41)",
    claim=at_most(dist2_next, **recursion((1 - mu * eta_tilde / 2) * dist2)),
    when=[implied(eta_tilde <= 1 / (6 * L), "stated below (41)"), curved, *sampled],
    where={eta_tilde: M * K * eta},
    given=convex_cases,
    rests_on=["step.sc_recursion"],
    note="Printed with eta_tilde = M K eta, but the substitution uses S K eta.",
)

_noise2 = 4 * sigma**2 / (S * K) + 4 * (M - S) * zeta_star**2 / (S * (M - 1))
_noise3 = 6 * L * sigma**2 / (S * K) + 6 * L * zeta_star**2 / S
w_r = sfl.symbol("w_r", "w_r", "averaging weight of x^(r)", positive=True)
r = sfl.symbol("r", "r", "index of a training round", integer=True, nonnegative=True)
growing = (1 - mu * eta_tilde / 2) ** (-(r + 1))

convex_errors = {
    "noise": 12 * eta_tilde * sigma**2 / (S * K),
    "sampling": 12 * eta_tilde * (M - S) * zeta_star**2 / (S * (M - 1)),
    "noise_drift": 18 * L * eta_tilde**2 * sigma**2 / (S * K),
    "heterogeneity": 18 * L * eta_tilde**2 * zeta_star**2 / S,
}
strongly_convex_step = [1 / (mu * R) <= eta_tilde, eta_tilde <= 1 / (6 * L)]
linear = Rational(9, 2) * mu * D**2 * exp(-mu * eta_tilde * R / 2)
sublinear = 3 * D**2 / (eta_tilde * R)

sfl.bound(
    name="eq42",
    place="Appendix D.1.4, (42), partial participation",
    claim=at_most(gap, optimisation=linear, **convex_errors),
    when=[*strongly_convex_step, curved, *sampled],
    where={eta_tilde: M * K * eta, w_r: growing},
    given=convex_cases,
    rests_on=["eq41", "lemma7.eq38", "eq14"],
    applies=by_lemma7(_noise2, _noise3),
    note="The condition 1/(mu R) <= eta_tilde is printed in Theorem 1, not at (42). The paper remarks that Lemma 7 has "
    "no gamma^3 terms but 'can also be applied'. Printed with eta_tilde = M K eta, twice. (42) bounds the "
    "weighted mean of the gaps, which bounds the gap of the weighted mean by Jensen. Printed with R, but Lemma 7 at "
    "T = R gives R + 1: the printed bound is larger.",
)
sfl.order(
    name="eq43",
    place="Appendix D.1.4, (43), partial participation",
    claim=soft_order(
        gap,
        optimisation=mu * D**2 * exp(-mu * R / (12 * L)),
        noise=sigma**2 / (mu * S * K * R),
        sampling=(M - S) * zeta_star**2 / (mu * S * R * (M - 1)),
        noise_drift=L * sigma**2 / (mu**2 * S * K * R**2),
        heterogeneity=L * zeta_star**2 / (mu**2 * S * R**2),
    ),
    when=[curved, long_enough, *sampled],
    given=convex_cases,
    rests_on=["eq42", "lemma7.eq39"],
    note="The range of eta_tilde, and with it R >= 6 L / mu, comes from Theorem 1 and Corollary 1, as for (42).",
)

# D.2: general convex

sfl.step(
    name="step.gc_recursion",
    place="Appendix D.2.2, first display",
    claim=at_most(dist2_next, **recursion(dist2)),
    when=[implied(eta_tilde <= 1 / (6 * L), "stated below (41)"), *sampled],
    where={eta_tilde: M * K * eta},
    given=convex_cases,
    rests_on=["eq41"],
    note="(41) with mu = 0.",
)
sfl.bound(
    name="eq46",
    place="Appendix D.2.2, (46), partial participation",
    claim=at_most(gap, optimisation=sublinear, **convex_errors),
    when=[eta_tilde <= 1 / (6 * L), *sampled],
    where={eta_tilde: M * K * eta, w_r: sympy.Integer(1)},
    given=convex_cases,
    rests_on=["step.gc_recursion", "lemma8.eq44", "eq14"],
    applies=by_lemma8(_noise2, _noise3, 6 * L, D**2),
    note="Printed with R, but Lemma 8 at T = R gives R + 1: the printed bound is larger. Printed with "
    "eta_tilde = M K eta. 'When S = M, we can get the claim of the strongly convex case' (as printed, after "
    "(47)); the general convex case is meant.",
)
sfl.order(
    name="eq47",
    place="Appendix D.2.2, (47), partial participation",
    claim=order(
        gap,
        noise=sigma * D / sqrt(S * K * R),
        sampling=sqrt(1 - S / M) * zeta_star * D / sqrt(S * R),
        noise_drift=(L * sigma**2 * D**4) ** Rational(1, 3) / ((S * K) ** Rational(1, 3) * R ** Rational(2, 3)),
        heterogeneity=(L * zeta_star**2 * D**4) ** Rational(1, 3) / (S ** Rational(1, 3) * R ** Rational(2, 3)),
        optimisation=L * D**2 / R,
    ),
    when=[*few, away_from_optimum],
    given=convex_cases,
    rests_on=["eq46", "lemma8.eq45"],
    note="Printed without the expectation on the left. (M-S)/(M-1) has become 1 - S/M, smaller by a factor of at most 2.",
)

# D.3: non-convex

sfl.lemma(
    name="lemma9",
    place="Appendix D.3, Lemma 9, (48)",
    claim=at_most(
        descent,
        progress=-S * K * eta / 2 * grad_sq,
        noise=L * S * K * eta**2 * sigma**2,
        drift=L**2 * eta / 2 * E_r,
    ),
    when=[*_small, *few],
    given=[lower_bounded, smooth, unbiased, variance, heterogeneity_at_optimum],
    rests_on=["step.eq49", "step.eq50", "step.eq51", "eq33"],
    note="Printed with Assumption 3b, which the proof does not use.",
)
sfl.step(
    name="step.eq49",
    place="Appendix D.3, proof of Lemma 9, (49)",
    claim=at_most(descent, progress=-eta * cross_sum, step=L * eta**2 / 2 * step_sq),
    given=[smooth, unbiased],
    rests_on=["eq16", "alg1"],
)
sfl.step(
    name="step.eq50",
    place="Appendix D.3, proof of Lemma 9, (50)",
    claim=at_most(
        -eta * cross_sum,
        progress=-S * K * eta / 2 * grad_sq,
        local=-eta / 2 * local_grad_sq,
        drift=L**2 * eta / 2 * E_r,
    ),
    given=[smooth],
    note="Printed with 'Asm. 1' over the inequality, applied to ||grad F_{pi_m}(x_{m,k}) - grad F(x)||.",
)
sfl.step(
    name="step.eq51",
    place="Appendix D.3, proof of Lemma 9, (51)",
    claim=at_most(
        L * eta**2 / 2 * step_sq,
        noise=L * S * K * eta**2 * sigma**2,
        local=L * S * K * eta**2 * local_grad_sq,
    ),
    given=[smooth, unbiased, variance],
    rests_on=["lemma1", "eq15"],
    note="L is from Assumption 1; here it could be any number.",
)
sfl.lemma(
    name="lemma10",
    place="Appendix D.3.1, Lemma 10, (52)",
    claim=at_most(
        E_r,
        noise=Rational(9, 4) * S**2 * K**2 * eta**2 * sigma**2,
        heterogeneity=Rational(9, 4) * S**2 * K**3 * eta**2 * zeta**2,
        gradient=(Rational(9, 4) * beta**2 * S**2 * K**3 * eta**2 + Rational(3, 2) * S**3 * K**3 * eta**2) * grad_sq,
    ),
    when=[*_small, *few],
    given=[smooth, unbiased, variance, heterogeneity],
    rests_on=["eq33", "step.eq53", "lemma4"],
)
sfl.step(
    name="step.eq53",
    place="Appendix D.3.1, proof of Lemma 10, (53)",
    claim=at_most(
        drift_mk,
        noise=4 * eta**2 * noise_upto,
        move=4 * eta**2 * B_mk * move_upto,
        heterogeneity=4 * eta**2 * T_1,
        gradient=4 * B_mk**2 * eta**2 * grad_sq,
    ),
    given=[unbiased],
    rests_on=["alg1", "lemma1", "eq15"],
    note="T_1 is not defined in the transcription; restored from the display before (53). The text applies Jensen's "
    "inequality to 'the third and forth terms'; the second and fourth are meant.",
)
sfl.step(
    name="step.eq54_recursion",
    place="Appendix D.3.2, first display",
    claim=at_most(
        descent,
        progress=-Rational(1, 3) * S * K * eta * grad_sq,
        noise=L * S * K * eta**2 * sigma**2,
        noise_drift=Rational(9, 8) * L**2 * S**2 * K**2 * eta**3 * sigma**2,
        heterogeneity=Rational(9, 8) * L**2 * S**2 * K**3 * eta**3 * zeta**2,
    ),
    when=[beta * eta <= sqrt(S) / (6 * L * S * K), *_small, *few],
    given=nonconvex_case,
    rests_on=["lemma9", "lemma10"],
    note="Printed: eta <= (1/(6LSK)) min{1, sqrt(S)/beta}; written here as two conditions, so that beta = 0 is allowed.",
)

nonconvex_errors = {
    "noise": 3 * L * eta_tilde * sigma**2 / (S * K),
    "noise_drift": 27 * L**2 * eta_tilde**2 * sigma**2 / (8 * S * K),
    "heterogeneity": 27 * L**2 * eta_tilde**2 * zeta**2 / (8 * S),
}
nonconvex_step = [eta_tilde <= 1 / (6 * L * (beta + 1))]
nonconvex_sublinear = 3 * A / (eta_tilde * R)

sfl.bound(
    name="eq54",
    place="Appendix D.3.2, (54), partial participation",
    claim=at_most(min_grad_sq, optimisation=nonconvex_sublinear, **nonconvex_errors),
    when=[eta_tilde <= 1 / (6 * L), beta * eta_tilde <= sqrt(S) / (6 * L), *few],
    where={eta_tilde: S * K * eta, w_r: sympy.Integer(1)},
    given=nonconvex_case,
    rests_on=["step.eq54_recursion", "lemma8.eq44"],
    applies=by_lemma8(
        L * sigma**2 / (S * K),
        9 * L**2 * sigma**2 / (8 * S * K) + 9 * L**2 * zeta**2 / (8 * S),
        6 * L * sympy.Max(1, beta / sqrt(S)),
        A,
    ),
    note="Printed: eta_tilde <= (1/(6L)) min{1, sqrt(S)/beta}; written as two conditions, so that beta = 0 is allowed. "
    "There is no term for the sampling of S < M clients, unlike in (42) and (46); (50) replaces the sampled clients' "
    "gradients by those of F under 'Asm. 1'.",
)
sfl.step(
    name="step.eq54_range",
    place="Appendix D.3.2, after (54)",
    claim=relations(
        Le(eta_tilde, 1 / (6 * L * (beta + 1))),
        Le(1 / (6 * L * (beta + 1)), Min(1, sqrt(S) / beta)),
        words="printed as a chain; the right side is not a step size",
    ),
    note="As printed: without the factor 1/(6L) on the right; the definition of d in the same paragraph has it.",
)
vanishing = (
    "The printed last term vanishes when beta = 0; Lemma 8 with 1/d = 1/(6 L (beta + 1)) gives d A / (R + 1), of the "
    "order of L (beta + 1) A / R."
)

sfl.order(
    name="eq55",
    place="Appendix D.3.2, (55), partial participation",
    claim=order(
        min_grad_sq,
        noise=(L * sigma**2 * A) ** Rational(1, 2) / sqrt(S * K * R),
        noise_drift=(L**2 * sigma**2 * A**2) ** Rational(1, 3) / ((S * K) ** Rational(1, 3) * R ** Rational(2, 3)),
        heterogeneity=(L**2 * zeta**2 * A**2) ** Rational(1, 3) / (S ** Rational(1, 3) * R ** Rational(2, 3)),
        optimisation=L * beta * A / R,
    ),
    when=[*few, above_optimum],
    given=nonconvex_case,
    rests_on=["eq54", "lemma8.eq45"],
    note=vanishing,
)

# Section 3.2: full participation


def full_application(id_: str, **changed: sympy.Expr) -> Application:
    """The lemma as applied in the partial-participation bound, at S = M, with some of its symbols changed."""
    applied = sfl.statements[f"sfl.{id_}"].applies
    assert applied is not None
    at_M = {name: value.subs(S, M) for name, value in applied.substitution.items()}
    return Application(applied.lemma, {**at_M, **changed}, applied.tuned_by)


def theorem(
    name: str,
    place: str,
    claim: Bound,
    *,
    when: Iterable[Relational | Condition],
    weight: sympy.Expr,
    eta_of: sympy.Expr,
    given: list[Statement],
    partial: str,
    note: str = "",
    **changed: sympy.Expr,
) -> Statement:
    """One case of a theorem at S = M, resting on its partial-participation bound."""
    return sfl.theorem(
        name=name,
        place=place,
        claim=claim,
        when=when,
        where={eta_tilde: eta_of, w_r: weight},
        given=given,
        rests_on=[partial],
        applies=full_application(partial, **changed),
        note=note,
    )


theorem(
    "thm1.strongly_convex",
    "Theorem 1, (4)",
    at_most(
        gap,
        optimisation=Rational(9, 2) * mu * D**2 * exp(-mu * eta_tilde * R / 2),
        noise=12 * eta_tilde * sigma**2 / (M * K),
        noise_drift=18 * L * eta_tilde**2 * sigma**2 / (M * K),
        heterogeneity=18 * L * eta_tilde**2 * zeta_star**2 / M,
    ),
    when=[*strongly_convex_step, curved],
    weight=growing,
    eta_of=M * K * eta,
    given=convex_cases,
    partial="eq42",
)
theorem(
    "thm1.general_convex",
    "Theorem 1, (5)",
    at_most(
        gap,
        optimisation=3 * D**2 / (eta_tilde * R),
        noise=12 * eta_tilde * sigma**2 / (M * K),
        noise_drift=18 * L * eta_tilde**2 * sigma**2 / (M * K),
        heterogeneity=18 * L * eta_tilde**2 * zeta_star**2 / M,
    ),
    when=[eta_tilde <= 1 / (6 * L)],
    weight=sympy.Integer(1),
    eta_of=M * K * eta,
    given=convex_cases,
    partial="eq46",
)
theorem(
    "thm1.nonconvex",
    "Theorem 1, (6)",
    at_most(
        min_grad_sq,
        optimisation=3 * A / (eta_tilde * R),
        noise=3 * L * eta_tilde * sigma**2 / (M * K),
        noise_drift=27 * L**2 * eta_tilde**2 * sigma**2 / (8 * M * K),
        heterogeneity=27 * L**2 * eta_tilde**2 * zeta**2 / (8 * M),
    ),
    when=nonconvex_step,
    weight=sympy.Integer(1),
    eta_of=M * K * eta,
    given=nonconvex_case,
    partial="eq54",
    d=6 * L * (beta + 1),
)

_third, _two_thirds = Rational(1, 3), Rational(2, 3)

sfl.corollary(
    name="cor1.strongly_convex",
    place="Corollary 1, (7)",
    claim=soft_order(
        gap,
        noise=sigma**2 / (mu * M * K * R),
        noise_drift=L * sigma**2 / (mu**2 * M * K * R**2),
        heterogeneity=L * zeta_star**2 / (mu**2 * M * R**2),
        optimisation=mu * D**2 * exp(-mu * R / (12 * L)),
    ),
    when=[curved, long_enough],
    given=convex_cases,
    rests_on=["thm1.strongly_convex", "lemma7.eq39"],
)
sfl.corollary(
    name="cor1.general_convex",
    place="Corollary 1, (8)",
    claim=order(
        gap,
        noise=sigma * D / sqrt(M * K * R),
        noise_drift=(L * sigma**2 * D**4) ** _third / ((M * K) ** _third * R**_two_thirds),
        heterogeneity=(L * zeta_star**2 * D**4) ** _third / (M**_third * R**_two_thirds),
        optimisation=L * D**2 / R,
    ),
    when=[away_from_optimum],
    given=convex_cases,
    rests_on=["thm1.general_convex", "lemma8.eq45"],
)
sfl.corollary(
    name="cor1.nonconvex",
    place="Corollary 1, (9)",
    claim=order(
        min_grad_sq,
        noise=(L * sigma**2 * A) ** Rational(1, 2) / sqrt(M * K * R),
        noise_drift=(L**2 * sigma**2 * A**2) ** _third / ((M * K) ** _third * R**_two_thirds),
        heterogeneity=(L**2 * zeta**2 * A**2) ** _third / (M**_third * R**_two_thirds),
        optimisation=L * beta * A / R,
    ),
    when=[above_optimum],
    given=nonconvex_case,
    rests_on=["thm1.nonconvex", "lemma8.eq45"],
    note=vanishing,
)
