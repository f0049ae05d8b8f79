"""PFL: the proof of Theorem 2 with partial participation, Theorem 2 and Corollary 2 (Appendix E)."""

from __future__ import annotations

import sympy
from sympy import Rational, Sum, exp, sqrt

from fedtheory.theory.notation import equal
from fedtheory.theory.sfl.sequential import *
from fedtheory.theory.statement import at_most, implied, order, relations, soft_order

# Assumptions 1 to 3 in the convex and non-convex case, and the independence of the clients' samples
in_parallel = [*convex_cases, independent]
in_parallel_nonconvex = [*nonconvex_case, independent]

_small = [eta <= 1 / (6 * L * K)]
_third, _two_thirds, _half = Rational(1, 3), Rational(2, 3), Rational(1, 2)

# E.1: strongly convex

sfl.lemma(
    name="lemma11",
    place="Appendix E.1.1, Lemma 11, (62)",
    claim=at_most(
        dist2_next,
        contraction=(1 - mu * K * eta / 2) * dist2,
        noise=4 * K * eta**2 * sigma**2 / S,
        sampling=4 * K**2 * eta**2 * left_out * zeta_star**2,
        progress=-_two_thirds * K * eta * D_F,
        drift=Rational(8, 3) * L * eta * Ecal_r,
    ),
    when=[*_small, curved, *sampled],
    given=in_parallel,
    rests_on=["alg2", "lemma1", "lemma2", "lemma3.swor", "eq15", "eq18", "eq68"],
)
sfl.definition(
    name="eq68",
    place="Appendix E.1.2, (68)",
    claim=relations(equal(Ecal_r, Sum(Sum(drift_at[m, k], (k, 0, K - 1)), (m, 1, S)) / S), words="client drift in PFL"),
)
sfl.lemma(
    name="lemma12",
    place="Appendix E.1.2, Lemma 12, (69)",
    claim=at_most(
        Ecal_r,
        noise=Rational(9, 4) * K**2 * eta**2 * sigma**2,
        heterogeneity=Rational(3, 2) * K**3 * eta**2 * zeta_star**2,
        gap=3 * L * K**3 * eta**2 * D_F,
    ),
    when=_small,
    given=convex_cases,
    rests_on=["alg2", "eq68", "lemma1", "eq15", "eq18"],
    note="The proof prints '=' instead of '<=' for the sum over m and k, and loses the sum over k after the bound K^2/2.",
)


sfl.step(
    name="eq70",
    place="Appendix E.1.3, (70)",
    claim=at_most(
        dist2_next,
        contraction=(1 - mu * eta_tilde / 2) * dist2,
        progress=-eta_tilde / 3 * D_F,
        noise=4 * eta_tilde**2 * sigma**2 / (S * K),
        sampling=4 * eta_tilde**2 * (M - S) * zeta_star**2 / (S * (M - 1)),
        noise_drift=6 * L * eta_tilde**3 * sigma**2 / K,
        heterogeneity=4 * L * eta_tilde**3 * zeta_star**2,
    ),
    when=[implied(eta_tilde <= 1 / (6 * L), "stated below (70)"), curved, *sampled],
    where={eta_tilde: K * eta},
    given=in_parallel,
    rests_on=["lemma11", "lemma12"],
)

_noise2 = 4 * sigma**2 / (S * K) + 4 * (M - S) * zeta_star**2 / (S * (M - 1))
_noise3 = 6 * L * sigma**2 / K + 4 * L * zeta_star**2
convex_errors = {
    "noise": 12 * eta_tilde * sigma**2 / (S * K),
    "sampling": 12 * eta_tilde * (M - S) * zeta_star**2 / (S * (M - 1)),
    "noise_drift": 18 * L * eta_tilde**2 * sigma**2 / K,
    "heterogeneity": 12 * L * eta_tilde**2 * zeta_star**2,
}

sfl.bound(
    name="eq71",
    place="Appendix E.1.3, (71), partial participation",
    claim=at_most(gap, optimisation=linear, **convex_errors),
    when=[*strongly_convex_step, curved, *sampled],
    where={eta_tilde: K * eta, w_r: growing},
    given=in_parallel,
    rests_on=["eq70", "lemma7.eq38", "eq14"],
    applies=by_lemma7(_noise2, _noise3),
    note="The condition 1/(mu R) <= eta_tilde is printed in Theorem 2, not at (71). Printed with R, but Lemma 7 at T = R "
    "gives R + 1: the printed bound is larger.",
)
sfl.order(
    name="eq72",
    place="Appendix E.1.3, (72), partial participation",
    claim=soft_order(
        gap,
        optimisation=mu * D**2 * exp(-mu * R / (12 * L)),
        noise=sigma**2 / (mu * S * K * R),
        sampling=(M - S) * zeta_star**2 / (mu * S * R * (M - 1)),
        noise_drift=L * sigma**2 / (mu**2 * K * R**2),
        heterogeneity=L * zeta_star**2 / (mu**2 * R**2),
    ),
    when=[curved, long_enough, *sampled],
    given=in_parallel,
    rests_on=["eq71", "lemma7.eq39"],
    note="Remark: (M-S)/(S(M-1)) is about (1 - S/M)/S for large M.  The range of eta_tilde, and with it R >= 6 L / mu, "
    "comes from Theorem 2 and Corollary 2, as for (71).",
)

# E.2: general convex

sfl.bound(
    name="eq73",
    place="Appendix E.2.1, (73), partial participation",
    claim=at_most(gap, optimisation=sublinear, **convex_errors),
    when=[eta_tilde <= 1 / (6 * L), *sampled],
    where={eta_tilde: K * eta, w_r: sympy.Integer(1)},
    given=in_parallel,
    rests_on=["eq70", "lemma8.eq44", "eq14"],
    applies=by_lemma8(_noise2, _noise3, 6 * L, D**2),
    note="Printed with R, but Lemma 8 at T = R gives R + 1: the printed bound is larger. 'When S = M, we can get the "
    "claim of the strongly convex case' (as printed, after (74)); the general convex case is meant.",
)
sfl.order(
    name="eq74",
    place="Appendix E.2.1, (74), partial participation",
    claim=order(
        gap,
        noise=sigma * D / sqrt(S * K * R),
        sampling=sqrt(1 - S / M) * zeta_star * D / sqrt(S * R),
        noise_drift=(L * sigma**2 * D**4) ** _third / (K**_third * R**_two_thirds),
        heterogeneity=(L * zeta_star**2 * D**4) ** _third / R**_two_thirds,
        optimisation=L * D**2 / R,
    ),
    when=[*few, away_from_optimum],
    given=in_parallel,
    rests_on=["eq73", "lemma8.eq45"],
    note="Printed without the expectation on the left. (M-S)/(M-1) has become 1 - S/M, smaller by a factor of at most 2.",
)

# E.3: non-convex

sfl.lemma(
    name="lemma13",
    place="Appendix E.3, Lemma 13, (75)",
    claim=at_most(
        descent,
        progress=-K * eta / 2 * grad_sq,
        noise=L * K * eta**2 * sigma**2 / S,
        drift=L**2 * eta / 2 * Ecal_r,
    ),
    when=[*_small, *few],
    given=[lower_bounded, smooth, unbiased, variance, heterogeneity_at_optimum, independent],
    rests_on=["alg2", "eq16", "lemma1", "eq15", "eq68"],
    note="Printed with Assumption 3b, which the proof does not use. (77) cites 'Asm. 1' as (50) does; (78) is printed with "
    "L eta^2 instead of L eta^2 / S^2 before its second term.",
)
sfl.lemma(
    name="lemma14",
    place="Appendix E.3.1, Lemma 14, (79)",
    claim=at_most(
        Ecal_r,
        noise=Rational(9, 4) * K**2 * eta**2 * sigma**2,
        heterogeneity=Rational(3, 2) * K**3 * eta**2 * zeta**2,
        gradient=Rational(3, 2) * K**3 * eta**2 * (beta**2 + 1) * grad_sq,
    ),
    when=_small,
    given=[smooth, unbiased, variance, heterogeneity_at_optimum],
    rests_on=["alg2", "eq68", "lemma1", "eq15"],
    note="Printed 'Let Assumptions 1, 2, 3b hold'; the section's title, its proof and its symbols say Assumption 3a. The "
    "proof's first display prints grad F(x) in its third term, where grad F_{pi_m}(x) - grad F(x) is meant.",
)
sfl.step(
    name="step.eq80_recursion",
    place="Appendix E.3.2, first display",
    claim=at_most(
        descent,
        progress=-_third * K * eta * grad_sq,
        noise=L * K * eta**2 * sigma**2 / S,
        noise_drift=Rational(9, 8) * L**2 * K**2 * eta**3 * sigma**2,
        heterogeneity=Rational(3, 4) * L**2 * K**3 * eta**3 * zeta**2,
    ),
    when=[eta <= 1 / (6 * L * K * (beta + 1)), *few],
    given=in_parallel_nonconvex,
    rests_on=["lemma13", "lemma14"],
    note="Printed: 'Substituting (52) into (48)'; (79) into (75) is meant.",
)
nonconvex_errors = {
    "noise": 3 * L * eta_tilde * sigma**2 / (S * K),
    "noise_drift": 27 * L**2 * eta_tilde**2 * sigma**2 / (8 * K),
    "heterogeneity": Rational(9, 4) * L**2 * eta_tilde**2 * zeta**2,
}
sfl.bound(
    name="eq80",
    place="Appendix E.3.2, (80), partial participation",
    claim=at_most(min_grad_sq, optimisation=nonconvex_sublinear, **nonconvex_errors),
    when=[*nonconvex_step, *few],
    where={eta_tilde: K * eta, w_r: sympy.Integer(1)},
    given=in_parallel_nonconvex,
    rests_on=["step.eq80_recursion", "lemma8.eq44"],
    applies=by_lemma8(
        L * sigma**2 / (S * K),
        9 * L**2 * sigma**2 / (8 * K) + Rational(3, 4) * L**2 * zeta**2,
        6 * L * (beta + 1),
        A,
    ),
    note="There is no term for the sampling of S < M clients, unlike in (71) and (73); (77) replaces the sampled clients' "
    "gradients by those of F under 'Asm. 1'.",
)
sfl.order(
    name="eq81",
    place="Appendix E.3.2, (81), partial participation",
    claim=order(
        min_grad_sq,
        noise=(L * sigma**2 * A) ** _half / sqrt(S * K * R),
        noise_drift=(L**2 * sigma**2 * A**2) ** _third / (K**_third * R**_two_thirds),
        heterogeneity=(L**2 * zeta**2 * A**2) ** _third / R**_two_thirds,
        optimisation=L * beta * A / R,
    ),
    when=[*few, above_optimum],
    given=in_parallel_nonconvex,
    rests_on=["eq80", "lemma8.eq45"],
    note=vanishing,
)

# Theorem 2 and Corollary 2

theorem(
    "thm2.strongly_convex",
    "Theorem 2, (56)",
    at_most(
        gap,
        optimisation=Rational(9, 2) * mu * D**2 * exp(-mu * eta_tilde * R / 2),
        noise=12 * eta_tilde * sigma**2 / (M * K),
        noise_drift=18 * L * eta_tilde**2 * sigma**2 / K,
        heterogeneity=12 * L * eta_tilde**2 * zeta_star**2,
    ),
    when=[*strongly_convex_step, curved],
    weight=growing,
    eta_of=K * eta,
    given=in_parallel,
    partial="eq71",
)
theorem(
    "thm2.general_convex",
    "Theorem 2, (57)",
    at_most(
        gap,
        optimisation=3 * D**2 / (eta_tilde * R),
        noise=12 * eta_tilde * sigma**2 / (M * K),
        noise_drift=18 * L * eta_tilde**2 * sigma**2 / K,
        heterogeneity=12 * L * eta_tilde**2 * zeta_star**2,
    ),
    when=[eta_tilde <= 1 / (6 * L)],
    weight=sympy.Integer(1),
    eta_of=K * eta,
    given=in_parallel,
    partial="eq73",
)
theorem(
    "thm2.nonconvex",
    "Theorem 2, (58)",
    at_most(min_grad_sq, optimisation=nonconvex_sublinear, **nonconvex_errors),
    when=[*nonconvex_step, implied(equal(S, M), "implied: full participation")],
    weight=sympy.Integer(1),
    eta_of=K * eta,
    given=in_parallel_nonconvex,
    partial="eq80",
    note="Printed with S in the second term, although the theorem is on full participation; S = M is meant.",
)
sfl.corollary(
    name="cor2.strongly_convex",
    place="Corollary 2, (59)",
    claim=soft_order(
        gap,
        noise=sigma**2 / (mu * M * K * R),
        noise_drift=L * sigma**2 / (mu**2 * K * R**2),
        heterogeneity=L * zeta_star**2 / (mu**2 * R**2),
        optimisation=mu * D**2 * exp(-mu * R / (12 * L)),
    ),
    when=[curved, long_enough],
    given=in_parallel,
    rests_on=["thm2.strongly_convex", "lemma7.eq39"],
)
sfl.corollary(
    name="cor2.general_convex",
    place="Corollary 2, (60)",
    claim=order(
        gap,
        noise=sigma * D / sqrt(M * K * R),
        noise_drift=(L * sigma**2 * D**4) ** _third / (K**_third * R**_two_thirds),
        heterogeneity=(L * zeta_star**2 * D**4) ** _third / R**_two_thirds,
        optimisation=L * D**2 / R,
    ),
    when=[away_from_optimum],
    given=in_parallel,
    rests_on=["thm2.general_convex", "lemma8.eq45"],
)
sfl.corollary(
    name="cor2.nonconvex",
    place="Corollary 2, (61)",
    claim=order(
        min_grad_sq,
        noise=(L * sigma**2 * A) ** _half / sqrt(M * K * R),
        noise_drift=(L**2 * sigma**2 * A**2) ** _third / (K**_third * R**_two_thirds),
        heterogeneity=(L**2 * zeta**2 * A**2) ** _third / R**_two_thirds,
        optimisation=L * beta * A / R,
    ),
    when=[above_optimum],
    given=in_parallel_nonconvex,
    rests_on=["thm2.nonconvex", "lemma8.eq45"],
    note=vanishing,
)
