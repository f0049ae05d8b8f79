"""Theorem 2 (FedBCGD+): its three cases, the main paper's rates, and the lemmas of its proof."""

from __future__ import annotations

import sympy
from sympy import Ge, IndexedBase, Le, Min, Rational, Sum, exp, log, sqrt

from fedtheory.theory.fedbcgd.setting import *
from fedtheory.theory.notation import Grad, Norm, equal
from fedtheory.theory.statement import F as VALUE, Order, Relations, X, at_most, implied, order, relations, soft_order

_half = Rational(1, 2)
_two_thirds = Rational(2, 3)
_clients = [*sampled, gaining]
_curved = [*_clients, curved]
_together = implied(equal(S, N * K), "implied: S = N K clients are sampled")
_convex = [strongly_convex, smooth, unbiased, smooth_samples]
_exists = "It holds for some weights w_r and local step sizes eta."
_D = (
    "D_tilde^2 = ||x^0 - x*||^2 + (1/(2 N beta^2)) sum_{i=1}^N ||c_i^0 - grad f_i(x*)||^2; the printed sum is over the "
    "first N clients, N the number of blocks."
)

_named = "The theorem names Assumptions 1 to 3; Section 1.1 says that Assumption 5 is needed for FedBCGD+."

# ------------------------------------------------------------------------------------------------------- the theorem


def _linear(clients: sympy.Expr) -> Order:
    """A linear rate with this share of the clients in its exponent."""
    return soft_order(gap_bar, optimisation=M * mu / K * D_tilde**2 * exp(-Min(clients, mu / (162 * beta)) * R))


def _exponent(clients: sympy.Expr) -> Relations:
    condition = mu / (162 * beta)
    return relations(
        equal(decay, Min(clients, condition)),
        words="the exponent per round",
        parts=(("clients", clients), ("condition", condition)),
    )


fedbcgd.theorem(
    name="thm2.strongly_convex",
    place="Section 2, Theorem 2, case 1, (15)",
    claim=_linear(M / (30 * K)),
    when=[eta_tilde <= 1 / (81 * beta), eta_tilde <= S / (15 * mu * N), _together, *_curved],
    where=quarter,
    given=_convex,
    rests_on=["lemma15", "lemma7", "thm2.strongly_convex.exponent"],
    note=f"{_exists}  {_D}  (22) of the main paper is not legible.  {_named}",
)
fedbcgd.definition(
    name="thm2.strongly_convex.exponent",
    place="Section 2, Theorem 2, case 1, the minimum in (15)",
    claim=_exponent(M / (30 * K)),
    when=_curved,
)
fedbcgd.theorem(
    name="thm2.strongly_convex.proof",
    place="Section 5.1, (103)",
    claim=_linear(K / (30 * M)),
    when=[eta_tilde <= 1 / (81 * beta), eta_tilde <= K / (15 * mu * M), *_curved, of_z],
    where=whole,
    given=_convex,
    rests_on=["lemma15", "lemma7", "thm2.strongly_convex.exponent.proof"],
    note=f"{_exists}  {_D}",
)
fedbcgd.definition(
    name="thm2.strongly_convex.exponent.proof",
    place="Section 5.1, the minimum in (103)",
    claim=_exponent(K / (30 * M)),
    when=_curved,
)
fedbcgd.theorem(
    name="thm2.general_convex",
    place="Section 2, Theorem 2, case 2, (16)",
    claim=order(gap_bar, optimisation=sqrt(M / K) * beta * D_tilde**2 / R),
    when=[eta_tilde <= 1 / beta, *_clients],
    where=whole,
    given=_convex,
    rests_on=["lemma15", "lemma8"],
    note=f"{_exists}  mu = 0.  {_D}  In (113) of the main paper a denominator is lost in the scan.  The paper does not "
    f"define the step size in this case; the one here is from Lemma 15.  {_named}",
)
fedbcgd.theorem(
    name="thm2.general_convex.proof",
    place="Section 5.2, (106)",
    claim=order(gap_bar, optimisation=sqrt(M / K * beta * D_tilde**2)),
    when=_clients,
    given=_convex,
    rests_on=["lemma15", "lemma8"],
    note=f"mu = 0.  {_D}  It has no R.",
)
fedbcgd.theorem(
    name="thm2.nonconvex",
    place="Section 2, Theorem 2, case 3, (17); Section 5.3, (128)",
    claim=order(grad_sq_bar, optimisation=beta * F / R * (M / K) ** _two_thirds),
    when=[eta_tilde <= 1 / (24 * beta) * (K / M) ** _two_thirds, *_clients],
    where=quarter,
    given=[smooth, unbiased, smooth_samples, gradients_first],
    rests_on=["lemma18", "lemma8"],
    note=f"{_exists}  'eta_tilde = (1/4) alpha T' is printed, without eta.  (128) has z^R without its bar.  {_named}  "
    "Assumption 1 is not one of a non-convex f.  'If we initialize c_i^0 = grad f_i(x^0) then we "
    "have Xi_0 = 0', before (128) at the end of the proof, is read as a condition of the theorem, too.",
)

# ------------------------------------------------------------------------------------------------- in the main paper

_log = log(1 / eps)
_some = "For some values of eta and R; after R rounds the expected error is below eps."
fedbcgd.theorem(
    name="thm2.main.strongly_convex",
    place="main, Section 4.2, Theorem 2, strongly convex, and the text after it",
    claim=order(R, clients=M / K * _log, optimisation=beta / mu * _log),
    when=[eta_tilde <= 1 / (8 * beta), *_curved, of_z],
    where=quarter,
    given=[strongly_convex, smooth, unbiased, alike, smooth_samples],
    rests_on=["thm2.strongly_convex"],
    also=order(Com, clients=M / S * d * _log, optimisation=beta / (mu * N) * d * _log),
    note=f"{_some}  The first term of the communication is damaged in the scan; the text after the theorem and Table 1 "
    "have M/S.  1/(8 beta) is hard to read.  With S = M the text after it has sqrt(beta/mu) d log(1/eps), and calls it "
    "much better than FedLin's (beta/mu) d log(1/eps).",
)
fedbcgd.theorem(
    name="thm2.main.nonconvex",
    place="main, Section 4.2, Theorem 2, non-convex, and the text after it",
    claim=order(R, optimisation=beta * F / eps * (M / K) ** _two_thirds),
    when=_clients,
    where=quarter,
    given=[smooth, unbiased, alike, smooth_samples],
    rests_on=["thm2.nonconvex"],
    also=order(Com, optimisation=beta * F / eps * (M / S) ** _two_thirds * N ** -Rational(1, 3) * d),
    reads={"eps": VALUE**2 / X**2},
    note=f"{_some}  eps bounds a squared gradient, F is f(x^0) - f*.  Before this is a condition on the step size, "
    "which is not legible.  With S = M the text after it has (beta F/eps) N^{-1/3} d, and calls it much better than "
    "CE-LSGD's beta F d/eps.",
)

# ------------------------------------------------------------------------------------------------------- definitions

_y = IndexedBase("y_t", real=True)
_c = IndexedBase("c_i", real=True)
_E_r = Sum(Sum(Norm(_y[i] - z_r) ** 2, (t, 1, T)), (i, 1, M)) / (M * T)


def _lag(of: sympy.Expr) -> Relations:
    return relations(equal(C_r, Sum(Norm(E(_c[i]) - Grad(f_i, of)) ** 2, (i, 1, M)) / M))


fedbcgd.definition(
    name="thm2.drift",
    place="Section 5.1, (74), (89); Section 5.3, (111)",
    claim=relations(equal(E_r, _E_r), words="y_t[i] is y_i^{r,t}"),
    note="(74) is printed without an expectation, (89) and (111) with one.",
)
fedbcgd.definition(
    name="thm2.lag",
    place="Section 5.1, (70), (75), (86)",
    claim=_lag(z_r),
    also=[_lag(x_star), relations(equal(c_i, c_prev_i), words="(70): where client i is not sampled")],
    note="(75) measures the lag from grad f_i(z^r), (86) from grad f_i(x*): one name for two quantities.  Both take the "
    "expectation of c_i inside the norm.  For a sampled client i, (70) has c_i^r = c~_i^r.",
)
fedbcgd.step(
    name="thm2.step76",
    place="Section 5.1, (76)",
    claim=at_most(dist_next, before=dist_sq, inner=2 * eta * alpha * inner, square=eta**2 * alpha**2 * G_sq),
    when=momentum_constants,
    rests_on=["lemma10"],
)

# ------------------------------------------------------------------------------------------------------------ lemmas

fedbcgd.lemma(
    name="lemma11",
    place="Section 5.1, Lemma 11, (77), (78)",
    claim=at_most(
        G_sq,
        drift=4 * T**2 / (M * T) * drift_z,
        lag=8 * T**2 / M * M * C_prev,
        gap=4 * T**2 / M * 2 * beta * gap,
    ),
    when=sampled,
    given=_convex,
    rests_on=["lemma3", "thm2.lag"],
    note="The second term is printed as a sum over clients of ||E c_i^r - grad f_i(x^r)||^2, M times the lag; the last "
    "line of (78) has z^r, and instead of this term 4 T^2 ||E c^r||^2 and half of the term.  It is read as C_prev, for the "
    "control variates of this round, as Lemma 15 uses it.  With x^r the lemma fails, too: f_i(x) = x^2/2 of five clients, "
    "c_i = grad f_i(x^r), x^r = z^r = 1, T = 1.",
)
fedbcgd.lemma(
    name="lemma12",
    place="Section 5.1, Lemma 12, (79), (80)",
    claim=at_most(inner, gap=-gap, drift=beta / M * drift_z, contraction=-mu / 4 * T * dist_sq),
    given=[strongly_convex, smooth, unbiased],
    rests_on=["lemma1"],
)
fedbcgd.lemma(
    name="lemma13",
    place="Section 5.1, Lemma 13, (81) to (87)",
    claim=at_most(E_r, gap=18 * T**2 * beta * eta**2 * gap, lag=18 * T**2 * eta**2 * C_prev),
    when=[implied(alpha * eta * T <= 1 / (81 * beta), "implied: Lemma 15, where it is used")],
    given=[strongly_convex, smooth, unbiased, alike],
    rests_on=["lemma3", "thm2.lag", "thm2.drift"],
    note="No condition on the step size in the statement; that of Theorem 2 is put here.  "
    "The updates of its proof add the gradients, '+ eta grad f_i', "
    "and (85) is about x^r.",
)
fedbcgd.lemma(
    name="lemma14",
    place="Section 5.1, Lemma 14, (88) to (92)",
    claim=at_most(C_r, before=(1 - K / M) * C_prev, gap=K / M * 4 * beta * gap_prev),
    when=[eta_tilde <= 1 / beta, *sampled],
    where=whole,
    given=[smooth, unbiased, alike],
    rests_on=["thm2.lag"],
    note="beta is from Assumption 2, which the lemma does not name.  The restatement (97), times 9 eta_tilde^2 M/K, also "
    "has 2 beta^2 E.  (90) prints a norm minus a vector, "
    "||grad f_i(z^r)|| - grad f_i(x*), and (91) once f_k for f_i.",
)
_lyapunov = 9 * eta_tilde**2 * M / K
_contraction = 1 - eta_tilde * mu / 2
fedbcgd.lemma(
    name="lemma15",
    place="Section 5.1, Lemma 15, (93) to (102)",
    claim=at_most(
        dist_next + _lyapunov * C_r,
        before=_contraction * dist_sq,
        lag=_contraction * _lyapunov * C_prev,
    ),
    when=[eta_tilde <= 1 / (81 * beta), eta_tilde <= K / (15 * mu * M), *_curved, of_z],
    where=whole,
    given=_convex,
    rests_on=["thm2.step76", "lemma11", "lemma12", "lemma13", "lemma14"],
    also=relations(
        Ge(-54 * beta**2 * eta_tilde**2 - 36 * beta * eta_tilde + 2, 0),
        Le(-eta_tilde * beta + 4 * eta_tilde**2 * beta**2, 0),
        Le(9 * mu * eta_tilde * N / (2 * S) - 9 + 8 + 54 * eta_tilde, 0),
        words="(99), (100), (101)",
    ),
    note="(101) has N/S, but (97) has M/K, and (98) has M/(2S); the names of Lemmas 13 and 14 are exchanged; (94) has 4 "
    "eta_tilde^2 without the factor beta^2, and leaves out the last term of (77).",
)
fedbcgd.lemma(
    name="lemma16",
    place="Section 5.3, Lemma 16, (114) to (116)",
    claim=at_most(E_r, lag=24 * T**2 * eta**2 * beta**2 * Xi, gradient=12 * T**2 * eta**2 * grad_sq),
    when=[
        implied(alpha * eta * T <= 1 / (24 * beta) * (K / M) ** _two_thirds, "implied: Lemma 18, where it is used"),
        *sampled,
    ],
    given=[alike, smooth_samples],
    rests_on=["lemma3", "thm2.drift"],
    note="No condition on the step size in the statement; that of Theorem 2 is put here.  "
    "Xi is the mean of E||z^r - alpha_i||^2 over clients (and steps), alpha_i the "
    "points (108), at which the control variates are the gradients; (108) has y_i^{r,t} for them, (107) and (118) have x^r "
    "and z^{r-1}.  (114) prints Xi as E||z^r - alpha^r||^2, and E_r without the sum over t; (116) ||grad f(z^r)|| "
    "without its square.",
)
for _version, _where, _share in (
    ("", "Lemma 17, (117)", S / N),
    (".proof", "proof of Lemma 17, (118) to (120)", K / M),
):
    fedbcgd.lemma(
        name=f"lemma17{_version}",
        place=f"Section 5.3, {_where}",
        claim=at_most(
            Xi_r,
            before=(1 - 17 * K / (36 * M)) * Xi,
            gradient=1 / (48 * beta**2) * (K / M) ** (2 * a - 1) * grad_sq,
            drift=Rational(97, 48) * (K / M) ** (2 * a - 1) * E_r,
        ),
        when=[
            eta_tilde <= 1 / (24 * beta) * _share**a,
            a >= _half,
            a <= 1,
            *sampled,
            *([_together] if _share == S / N else []),
        ],
        where=whole,
        given=[smooth, unbiased, alike],
        rests_on=["lemma16"],
        note="beta is from Assumption 2, which the lemma does not name.  The condition of the statement has (S/N)^a, its "
        "proof has (K/M)^a; S/N = K.",
    )
fedbcgd.lemma(
    name="lemma18",
    place="Section 5.3, Lemma 18, (121) to (127)",
    claim=at_most(
        gap + 12 * beta**3 * eta_tilde**2 * M / K * Xi_r,
        before=gap_prev,
        lag=12 * beta**3 * eta_tilde**2 * M / K * Xi,
        progress=-eta_tilde / 14 * grad_sq_prev,
    ),
    when=[eta_tilde <= 1 / (24 * beta) * (K / M) ** _two_thirds, *_clients, of_z],
    where=whole,
    given=[smooth, unbiased, alike],
    rests_on=["lemma16", "lemma17.proof", "lemma10"],
    note="f(x*) is subtracted on both sides; the round goes from r-1 to r.",
)
