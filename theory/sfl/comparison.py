"""Table 1, the partial-participation bounds of Section 3.3, and the claims of Sections 3.2, 3.3, 4.1 and Appendix B."""

from __future__ import annotations

from sympy import Expr, Ge, Le, exp, sqrt

from fedtheory.theory.sfl.sequential import convex_cases, curved, long_enough, sampled
from fedtheory.theory.sfl.setting import independent
from fedtheory.theory.sfl.symbols import *
from fedtheory.theory.statement import Order, Words, implied, soft_order

# Table 1: constants and polylogarithmic factors omitted, strongly convex case

faster = (
    "Printed exp(-mu R / L), but the bound behind it has exp(-mu R / (12 L)): in an exponent, O does not hide the 12."
)

steep = implied(mu > 0, "implied: strongly convex")

sfl.table(
    name="table1",
    place="Section 3.3, Table 1",
    claim=Words(
        "Upper bounds in the strongly convex case, absolute constants and polylogarithmic factors omitted: SGD, PFL "
        "(three results), SFL. All results are for heterogeneous settings."
    ),
    rests_on=[f"table1.{row}" for row in ("sgd", "pfl_karimireddy", "pfl_koloskova", "pfl_thm2", "sfl_thm1")],
    note="D = x^(0) - x^* as printed, without the norm.",
)
sfl.table(
    name="table1.sgd",
    place="Table 1, SGD (Stich 2019b)",
    claim=soft_order(gap, noise=sigma**2 / (mu * M * K * R), optimisation=L * D**2 * exp(-mu * R / L)),
    when=[curved],
    note="(1) SGD with a large mini-batch: sigma^2 replaced by sigma^2/(MK).",
)
sfl.table(
    name="table1.pfl_karimireddy",
    place="Table 1, PFL (Karimireddy et al. 2020)",
    claim=soft_order(
        gap,
        noise=sigma**2 / (mu * M * K * R),
        noise_drift=L * sigma**2 / (mu**2 * K * R**2),
        heterogeneity=L * zeta**2 / (mu**2 * R**2),
        optimisation=mu * D**2 * exp(-mu * R / L),
    ),
    when=[curved],
    note="(2) They use (1/M) sum ||grad F_m(x)||^2 <= B^2 ||grad F(x)|| + G^2 (printed without the square on the "
    "right), 'equivalent to Assumption 3a'; no global learning rate.",
)
sfl.table(
    name="table1.pfl_koloskova",
    place="Table 1, PFL (Koloskova et al. 2020)",
    claim=soft_order(
        gap,
        noise=sigma_star**2 / (mu * M * K * R),
        noise_drift=L * sigma_star**2 / (mu**2 * K * R**2),
        heterogeneity=L * zeta_star**2 / (mu**2 * R**2),
        optimisation=L * K * D**2 * exp(-mu * R / L),
    ),
    when=[curved],
    note="(3) sigma_*^2 = (1/M) sum E||grad f_m(x*;xi) - grad F_m(x*)||^2, 'weaker than Assumption 3b' (printed so, but "
    "the assumption on stochasticity is Assumption 2).",
)
sfl.table(
    name="table1.pfl_thm2",
    place="Table 1, PFL, Theorem 2",
    claim=soft_order(
        gap,
        noise=sigma**2 / (mu * M * K * R),
        noise_drift=L * sigma**2 / (mu**2 * K * R**2),
        heterogeneity=L * zeta_star**2 / (mu**2 * R**2),
        optimisation=mu * D**2 * exp(-mu * R / L),
    ),
    when=[curved, long_enough],
    given=[*convex_cases, independent],
    rests_on=["cor2.strongly_convex"],
    note=faster,
)
sfl.table(
    name="table1.sfl_thm1",
    place="Table 1, SFL, Theorem 1",
    claim=soft_order(
        gap,
        noise=sigma**2 / (mu * M * K * R),
        noise_drift=L * sigma**2 / (mu**2 * M * K * R**2),
        heterogeneity=L * zeta_star**2 / (mu**2 * M * R**2),
        optimisation=mu * D**2 * exp(-mu * R / L),
    ),
    when=[curved, long_enough],
    given=convex_cases,
    rests_on=["cor1.strongly_convex"],
    note=faster,
)

sfl.order(
    name="eq10",
    place="Section 3.3, (10), PFL with partial participation",
    claim=soft_order(
        gap,
        noise=sigma**2 / (mu * S * K * R),
        sampling=zeta_star**2 / (mu * R) * (M - S) / (S * (M - 1)),
        noise_drift=L * sigma**2 / (mu**2 * K * R**2),
        heterogeneity=L * zeta_star**2 / (mu**2 * R**2),
        optimisation=mu * D**2 * exp(-mu * R / L),
    ),
    when=[curved, long_enough, *sampled],
    given=[*convex_cases, independent],
    rests_on=["eq72"],
    note=faster,
)
sfl.order(
    name="eq11",
    place="Section 3.3, (11), SFL with partial participation",
    claim=soft_order(
        gap,
        noise=sigma**2 / (mu * S * K * R),
        sampling=zeta_star**2 / (mu * R) * (M - S) / (S * (M - 1)),
        noise_drift=L * sigma**2 / (mu**2 * S * K * R**2),
        heterogeneity=L * zeta_star**2 / (mu**2 * S * R**2),
        optimisation=mu * D**2 * exp(-mu * R / L),
    ),
    when=[curved, long_enough, *sampled],
    given=convex_cases,
    rests_on=["eq43"],
    note=faster,
)

# Claims in words, with their formulas


def _row(name: str) -> Expr:
    """The sum of a row of Table 1."""
    claim = sfl.statements[f"sfl.table1.{name}"].claim_of(Order)
    return claim.value


sfl.claim(
    name="claim.rate",
    place="Section 3.2, 'Convergence rate'",
    claim=Words(
        "For sufficiently large R the first term determines the rate: O~(1/(MKR)) strongly convex, O(1/sqrt(MKR)) general "
        "convex, O(1/sqrt(MKR)) non-convex.",
        (1 / (M * K * R), 1 / sqrt(M * K * R), 1 / sqrt(M * K * R)),
    ),
    rests_on=["cor1.strongly_convex", "cor1.general_convex", "cor1.nonconvex"],
)
sfl.claim(
    name="claim.sfl_better",
    place="Section 3.3",
    claim=Words(
        "The upper bound of SFL is better than that of PFL, with an advantage of 1/M on the second and third terms "
        "(1/S with partial participation).",
        (1 / M, 1 / S),
    ),
    rests_on=["table1.sfl_thm1", "table1.pfl_thm2", "eq10", "eq11"],
)
sfl.claim(
    name="claim.minibatch",
    place="Section 3.3",
    claim=Words(
        "The upper bounds of both PFL and SFL are worse than that of Minibatch SGD.",
        tuple(Ge(_row(name), _row("sgd")) for name in ("pfl_thm2", "sfl_thm1")),
    ),
    rests_on=["table1.sgd", "table1.pfl_thm2", "table1.sfl_thm1"],
)
sfl.claim(
    name="claim.sgd_rr",
    place="Section 3.2, 'SGD-RR vs. SFL'",
    claim=Words(
        "With K = 1 and sigma = 0 the SFL bound becomes the first formula; SGD-RR (Mishchenko et al. 2020, Corollary 1) "
        "has E||x^(R) - x*||^2 of the order of the second, with an advantage on the second term only. The bound matches "
        "the lower bound (third formula, Cha et al. 2023, Theorem 3.1); the general convex and non-convex bounds match "
        "Theorems 3 and 4 of Mishchenko et al.",
        (
            L * zeta_star**2 / (mu**2 * M * R**2) + mu * D**2 * exp(-mu * R / L),
            L * zeta_star**2 / (mu**3 * M * R**2) + D**2 * exp(-mu * M * R / L),
            L * zeta_star**2 / (mu**2 * M * R**2),
        ),
    ),
    rests_on=["cor1.strongly_convex"],
)
sfl.claim(
    name="claim.local_steps",
    place="Section 3.2, 'Effect of local steps'",
    claim=Words(
        "Local updates help with a small enough learning rate. When sigma^2/(mu M K R) <= L zeta_*^2/(mu^2 M R^2) the "
        "latter is dominant and does not depend on K: beyond K of the order (sigma^2/zeta_*^2)(mu/L) R more local steps "
        "do not help the dominant term.",
        (
            Le(sigma**2 / (mu * M * K * R), L * zeta_star**2 / (mu**2 * M * R**2)),
            Ge(K, sigma**2 / zeta_star**2 * mu / L * R),
        ),
    ),
    when=[steep],
    rests_on=["cor1.strongly_convex"],
)
sfl.claim(
    name="claim.cyclic",
    place="Appendix B, FL with cyclic client participation (Cho et al. 2023)",
    claim=Words(
        "Cho et al.'s Theorem 2, specialised, gives PFL the order of the first formula and SFL that of the second: no "
        "clear advantage of SFL.",
        (
            L * sigma**2 / (mu**2 * M * K * R) + L**2 * zeta**2 / (mu**3 * M**2 * R**2),
            L * sigma**2 / (mu**2 * K * R) + L**2 * zeta**2 / (mu**3 * R**2) + L**2 * zeta**2 / (mu**3 * M**2 * R**2),
        ),
    ),
    when=[steep],
)
sfl.claim(
    name="claim.malinovsky",
    place="Appendix B, FL with shuffling client participation (Malinovsky et al. 2023)",
    claim=Words(
        "Malinovsky et al.'s bound is of the order of the first formula with eta <= 1/L; Theorem 1 (sigma = 0) of the "
        "second with eta <= 1/(LMK): they almost match.",
        (
            L * M * K**2 * eta**2 * zeta_star**2 / mu + D**2 * exp(-mu * M * K * R * eta),
            L * M * K**2 * eta**2 * zeta_star**2 + mu * D**2 * exp(-mu * M * K * R * eta),
        ),
    ),
    when=[eta <= 1 / (L * M * K)],
    rests_on=["thm1.strongly_convex"],
    note="The condition belongs to the second formula.  Theorem 1 has eta <= 1/(6LMK) and half the exponent.",
)
sfl.claim(
    name="claim.limitation",
    place="Section 4.1, 'Limitation and intuitive explanation'",
    claim=Words(
        "The bounds suggest that SFL outperforms PFL whatever the heterogeneity, the simulations show it in extremely "
        "heterogeneous settings only; PFL performs much better than its bounds suggest at moderate heterogeneity (Wang "
        "et al. 2022)."
    ),
    rests_on=["table1", "fig1"],
)
