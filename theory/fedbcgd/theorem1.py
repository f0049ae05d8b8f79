"""Theorem 1 (FedBCGD): its three cases in the statement and at the end of their proofs, in the main paper, and the steps."""

from __future__ import annotations

from sympy import Rational, exp, log, sqrt

from fedtheory.theory.fedbcgd.setting import *
from fedtheory.theory.statement import Bound, F as VALUE, Term, X, at_most, implied, order

_half, _third = Rational(1, 2), Rational(1, 3)
out = 1 - K / M
_limit = [eta_tilde <= 1 / beta]
_limit8 = [eta_tilde <= 1 / (8 * beta)]
# The step sizes of the proofs that have these steps
_of_case1 = implied(alpha * eta * T / 4 <= 1 / (8 * beta), "implied: the proof of case 1")
_of_case3 = implied(alpha * eta * T / 4 <= 1 / (16 * beta), "implied: the proof of case 3")
_clients = [*sampled, gaining]
_convex_clients = [*_clients, curved]
_drift2 = (6144 * beta**2 * G**2 + 3072 / T * beta**2 * sigma**2) / alpha**2
_drift = 384 * beta * G**2 + 192 * beta / T * sigma**2
_at_the_end = ["thm1.step50", "lemma7", "lemma10"]
_exists = "It holds for some weights w_r and local step sizes eta within the conditions."
_named = "The theorem names Assumptions 1 to 3; Assumption 4 gives G its meaning."


def _strongly_convex(sampling: int, noise: int) -> Bound:
    return at_most(
        gap_bar,
        optimisation=d0 * mu * exp(-alpha * mu * R / beta),
        noise=(sampling * out / K * G**2 + noise * sigma**2 / (K * T)) / (mu * R),
        drift=_drift / (alpha**2 * mu**2 * R**2),
        drift2=_drift2 / (mu**3 * R**3),
    )


fedbcgd.theorem(
    name="thm1.strongly_convex",
    place="Section 2, Theorem 1, case 1, (12)",
    claim=_strongly_convex(128, 32),
    when=[*_limit, *_convex_clients],
    where=quarter,
    given=[strongly_convex, smooth, unbiased, alike],
    rests_on=_at_the_end,
    note=f"{_exists}  {_named}  (19) of the main paper is the same; its scan has 18 for 128.",
)
fedbcgd.theorem(
    name="thm1.strongly_convex.proof",
    place="Section 4.2, (52)",
    claim=_strongly_convex(32, 64),
    when=[*_limit8, *_convex_clients],
    where=quarter,
    given=[strongly_convex, smooth, unbiased, alike],
    rests_on=_at_the_end,
    note=f"{_exists}  {_named}",
)
_optimisation_gc = beta ** Rational(3, 2) * d0 / (alpha * R)
fedbcgd.theorem(
    name="thm1.general_convex",
    place="Section 2, Theorem 1, case 2, (13)",
    claim=at_most(
        gap_bar,
        optimisation=_optimisation_gc,
        drift2=_drift2 / R,
        noise=sqrt(32 * out / K * G**2 + 32 * sigma**2 / (K * T)) * sqrt(d0) / sqrt(R),
        drift=_drift**_third * d0 ** Rational(2, 3) / (alpha ** Rational(2, 3) * R ** Rational(2, 3)),
    ),
    when=[*_limit, *_clients],
    where=quarter,
    given=[strongly_convex, smooth, unbiased, alike],
    rests_on=["thm1.step50", "lemma8", "lemma10"],
    note=f"{_exists}  mu = 0; d0 is ||x^0 - x*||^2, as in Lemma 8.  {_named}",
)
fedbcgd.theorem(
    name="thm1.general_convex.proof",
    place="Section 4.3, (53), (54)",
    claim=at_most(
        gap_bar,
        optimisation=_optimisation_gc,
        drift2=_drift2 / R,
        noise=sqrt(32 * out / K * G**2 + 64 * sigma**2 / (K * T)) * sqrt(d0) / sqrt(R),
        drift=(_drift / alpha**2) ** _third * d0 ** Rational(2, 3) / (alpha ** Rational(2, 3) * R ** Rational(2, 3)),
    ),
    when=[eta_tilde <= 1 / (192 * T * beta**3 + 64 * beta), *_clients],
    where=quarter,
    given=[strongly_convex, smooth, unbiased, alike],
    rests_on=["thm1.step50", "lemma8", "lemma10"],
    note=f"{_exists}  The condition goes on '<= 1/(64 beta)'.  {_named}",
)
_b = (16 * gamma**2 * beta**2 / (T * M)) * sigma**2 + 16 * gamma**2 * beta**2 / (T * K) * sigma**2 * out
nonconvex = at_most(
    avg_grad_sq_later,
    optimisation=16 * beta * d0 / (T * K * alpha * R),
    noise=2
    * sqrt(d0)
    / sqrt(R * T * M)
    * sqrt(8 * beta / K * out * G**2 + 8 * beta * sigma**2 / (T * K) * out + 8 * beta / (T * M) * sigma**2),
    drift=2
    * (d0 / R) ** Rational(2, 3)
    * (
        384 * beta**2 / alpha**2 * G**2
        + 92 * beta**2 / T * sigma**2 / alpha**2
        + _b
        + 16 * gamma**2 * beta**2 / K * out * G**2
    )
    ** _third,
    drift2=2
    * (d0 / R) ** Rational(3, 4)
    * (4608 / alpha**2 * beta**3 / K * out * G**2 + 1152 * beta**3 / (K * T * alpha**2) * out * sigma**2)
    ** Rational(1, 4),
    drift3=2
    * (d0 / R) ** Rational(4, 5)
    * (
        9216 / alpha**2 * gamma**2 * beta**4 / K * out * G**2
        + 2304 * beta**4 / K * gamma**2 / (alpha**2 * T) * out * sigma**2
    )
    ** Rational(1, 5),
)
_gap = {"d0": VALUE}
_d0 = "The paper does not define d0 for this case; it is read as f(x^0) - f(x*)."
fedbcgd.theorem(
    name="thm1.nonconvex",
    place="Section 2, Theorem 1, case 3, (14)",
    claim=nonconvex,
    when=[*_limit, *_clients],
    where=quarter,
    given=[smooth, unbiased, alike],
    rests_on=["thm1.step66", "lemma8", "lemma10"],
    reads=_gap,
    note=f"{_exists}  {_d0}  gamma = alpha - 1.  {_named}  Assumption 1 is not one of a non-convex f.",
)
fedbcgd.theorem(
    name="thm1.nonconvex.proof",
    place="Section 4.4, (68), (69)",
    claim=nonconvex,
    when=[eta_tilde <= 1 / (16 * beta), *_clients],
    where=quarter,
    given=[smooth, unbiased, alike],
    rests_on=["thm1.step66", "lemma8", "lemma10"],
    reads=_gap,
    note=f"{_exists}  {_d0}  {_named}  Assumption 1 is not one of a non-convex f.",
)

# ------------------------------------------------------------------------------------------------- in the main paper

_restored = (
    "Put together from the scan, the sentence after Theorem 2, and Table 1.  For some values of eta and R; after R rounds "
    "the expected error is below eps."
)
fedbcgd.theorem(
    name="thm1.main.strongly_convex",
    place="main, Section 4.1, Theorem 1, strongly convex",
    claim=order(
        R,
        noise=(sigma**2 + G**2) / (mu * K * T * eps),
        drift=(sigma + G) / (alpha * mu * sqrt(eps)),
        optimisation=beta / mu * log(1 / eps),
    ),
    when=[eta_tilde <= 1 / (8 * beta), *_clients],
    where=quarter,
    given=[strongly_convex, smooth, unbiased, alike, smooth_samples],
    rests_on=["thm1.strongly_convex"],
    also=order(
        Com,
        noise=(sigma**2 + G**2) / (mu * S * T * eps) * d,
        drift=(sigma + G) / (alpha * mu * N * sqrt(eps)) * d,
        optimisation=beta / (mu * N) * log(1 / eps) * d,
    ),
    note=f"{_restored}",
)
fedbcgd.theorem(
    name="thm1.main.nonconvex",
    place="main, Section 4.1, Theorem 1, non-convex",
    claim=order(
        R,
        noise=beta * sigma**2 / (T * K * eps**2),
        drift=(sqrt(beta) * G + sqrt(beta) * sigma) / eps ** Rational(3, 2),
        optimisation=F * beta / eps,
    ),
    when=[eta_tilde <= 1 / (8 * beta), *_clients],
    where=quarter,
    given=[smooth, unbiased, alike, smooth_samples],
    rests_on=["thm1.nonconvex"],
    also=order(
        Com,
        noise=beta * sigma**2 / (T * S * eps**2) * d,
        drift=(sqrt(beta) * G + sqrt(beta) * sigma) / (N * eps ** Rational(3, 2)) * d,
        optimisation=F * beta / (N * eps) * d,
    ),
    reads={"eps": VALUE**2 / X**2},
    note=f"{_restored}  eps bounds a squared gradient.  The condition on the step size is not legible in the scan; the "
    "condition here is from the strongly convex case.",
)

# -------------------------------------------------------------------------------------------------- steps: convex

fedbcgd.step(
    name="thm1.step46",
    place="Section 4.2, (46)",
    claim=at_most(dist_next, before=dist_sq, inner=eta * alpha * inner, square=eta**2 * alpha**2 * G_sq),
    when=[gaining, _of_case1],
    given=[smooth],
    rests_on=["lemma10"],
    note="beta is from Assumption 2.  C_1 and C_2 of the display are the inner product and the square.",
)
fedbcgd.step(
    name="thm1.step47",
    place="Section 4.2, (47)",
    claim=at_most(inner, gap=-T * gap, contraction=-T * mu / 4 * dist_sq, drift=beta / M * drift_z),
    given=[strongly_convex, smooth, unbiased],
    rests_on=["lemma1", "virtual_gradient"],
)
fedbcgd.step(
    name="thm1.step48",
    place="Section 4.2, (48)",
    claim=at_most(
        G_sq,
        drift=4 * T * beta**2 / M * drift_x,
        gap=4 * T**2 * beta * gap_x,
        sampling=2 * out * T**2 / K * (G**2 + 2 * beta * gap_x),
        noise=4 * T / K * sigma**2,
    ),
    when=sampled,
    given=[strongly_convex, smooth, unbiased, alike],
    rests_on=["lemma6", "lemma3", "lemma4.part1", "lemma2"],
)
fedbcgd.step(
    name="thm1.step49",
    place="Section 4.2, (49), its fourth line",
    claim=at_most(
        dist_next,
        before=dist_sq,
        gap=-alpha * eta * T * gap,
        contraction=-alpha * eta * T * mu / 4 * dist_sq,
        drift_gap=(alpha * eta * beta + 4 * T * beta**2 * alpha**2 * eta**2) * 6 * T**3 * eta**2 * 2 * beta * gap,
        drift=(alpha * eta * beta + 4 * T * beta**2 * alpha**2 * eta**2) * 6 * T**3 * eta**2 * G**2,
        drift_noise=(alpha * eta * beta + 4 * T * beta**2 * alpha**2 * eta**2) * 3 * T**2 * eta**2 * sigma**2,
        sampling=2 * out * T**2 * alpha**2 * eta**2 / K * G**2,
        square_gap=(4 * T**2 * beta * alpha**2 * eta**2 + out * 4 * T**2 * alpha**2 * eta**2 / K * beta) * gap,
        noise=4 * alpha**2 * eta**2 * T / K * sigma**2,
    ),
    when=[*_clients, _of_case1],
    given=[strongly_convex, smooth, unbiased, alike],
    rests_on=["thm1.step46", "thm1.step47", "thm1.step48", "lemma5", "lemma2"],
    note="(48) and Lemma 5 are about x^r; here they are applied at z^r.  Two lines print G for G^2, and the first of them "
    "'G + 2 beta ...'; the last line loses the sign of the contraction.  Lemma 5 is summed over T, so its factor is "
    "4 T beta^2 as here, not 4 T^2 beta^2.",
)
fedbcgd.step(
    name="thm1.step50",
    place="Section 4.2, (50), (51)",
    claim=at_most(
        gap,
        before=(1 - mu * eta_tilde) / eta_tilde * dist_sq,
        after=-dist_next / eta_tilde,
        noise=(32 * out / K * G**2 + 64 * sigma**2 / (T * K)) * eta_tilde,
        drift=(384 / alpha**2 * beta * G**2 + 192 * beta / (T * alpha**2) * sigma**2) * eta_tilde**2,
        drift2=(6144 / alpha**2 * beta**2 * G**2 + 3072 / (T * alpha**2) * beta**2 * sigma**2) * eta_tilde**3,
    ),
    when=[*_limit8, *_clients],
    where=quarter,
    given=[strongly_convex, smooth, unbiased, alike],
    rests_on=["thm1.step49"],
    note="(50) leaves out -E||z^{r+1} - x*||^2, which (51) has, and has the noise inside 2 [...].  The bracket must be at "
    "least alpha eta T/4; (50) prints 6 T^3 alpha^2 eta^2 beta (...), the sentence "
    "after (51) 6 T^3 alpha^2 eta^2 2 beta (...).  The second line of (51) has not been divided by alpha eta T/4.",
)

# ---------------------------------------------------------------------------------------------- steps: non-convex

fedbcgd.step(
    name="thm1.step55",
    place="Section 4.4, (55)",
    claim=at_most(gap_next, before=gap, inner=alpha * eta * inner_grad, square=beta / 2 * eta**2 * alpha**2 * G_sq),
    when=momentum_constants,
    given=[smooth],
    rests_on=["lemma10"],
    note="f(x*) is subtracted on both sides.  The braces of D_1 and D_2 include alpha eta and (beta/2) eta^2 alpha^2; "
    "but (56) bounds D_1 without this factor, and (61) bounds E||G^r||^2 as D_2.",
)
fedbcgd.step(
    name="thm1.step56",
    place="Section 4.4, (56)",
    claim=at_most(
        inner_grad,
        momentum=beta**2 / (2 * a) * zx_sq,
        progress=-(1 / (4 * T) - a / 2) * G_mean_sq,
        gradient=-T * _half * grad_sq_x,
        drift=beta**2 / (2 * M) * drift_x,
    ),
    given=[smooth, unbiased],
    rests_on=["virtual_gradient"],
    note="(E[G^r])^2 is printed without norm bars.",
)
fedbcgd.step(
    name="thm1.step59",
    place="Section 4.4, (57) to (60)",
    claim=at_most(zx_sq, bound=eta**2 * gamma**2 / (1 - beta) * G_discounted_beta),
    when=[implied(lam < 1, "implied: lambda/(1-lambda)")],
    where={gamma: lam / (1 - lam)},
    rests_on=["momentum_form"],
    note="beta, the smoothness constant, is printed for the momentum lambda.  (57) prints ||x^r - x^{r-1}||^2 = gamma^2 "
    "||eta^2 G^r + beta v^{r-1}||^2.  (60) sums over r; this gives 1/(1-beta)^2 times the sum of E||G^r||^2.",
)
fedbcgd.step(
    name="thm1.step61",
    place="Section 4.4, (61)",
    claim=at_most(
        G_sq,
        mean=local_sum_sq / M**2,
        sampling_drift=out / (K * M) * 3 * T * beta**2 * drift_x,
        sampling=out / (K * M) * M * T**2 * G**2,
        sampling_gradient=out / (K * M) * M * T**2 * grad_sq_x,
        noise=T / M * sigma**2,
        sampling_noise=T / K * out * sigma**2,
    ),
    when=[*sampled, _of_case3],
    given=[smooth, unbiased, alike],
    rests_on=["lemma4.part1", "lemma3"],
    note="||y - x|| and ||grad f(x)|| are printed without r.",
)
fedbcgd.definition(
    name="thm1.step64",
    place="Section 4.4, (64)",
    claim=Bound(
        C_1,
        (
            Term("momentum", alpha * eta * beta**2 / (2 * a) * eta**2 * gamma**2 / (1 - beta) ** 2),
            Term("square", beta / 2 * eta**2 * alpha**2),
        ),
        "=",
    ),
    rests_on=["thm1.step59", "thm1.step55"],
    note="(1-beta)^2 is printed for (1-lambda)^2.",
)
fedbcgd.step(
    name="thm1.step66",
    place="Section 4.4, (66) to (68)",
    claim=at_most(
        avg_grad_sq_later,
        optimisation=d0 / (eta_tilde * R),
        noise=8 * beta / (T * M) * sigma**2 * eta_tilde
        + 8 * beta / (T * K) * out * sigma**2 * eta_tilde
        + 8 * beta / K * out * G**2 * eta_tilde,
        drift=(
            384 * beta**2 / alpha**2 * G**2
            + 92 * beta**2 / (alpha**2 * T) * sigma**2
            + 16 * gamma**2 * beta**2 / (T * M) * sigma**2
            + 16 * gamma**2 * beta**2 / (T * K) * out * sigma**2
            + 16 * gamma**2 * beta**2 / K * G**2
        )
        * eta_tilde**2,
        drift2=(4608 / alpha**2 * beta**3 / K * out * G**2 + 1152 * beta**3 / (K * T * alpha**2) * out * sigma**2)
        * eta_tilde**3,
        drift3=(
            9216 / alpha**2 * gamma**2 * beta**4 / K * out * G**2
            + 2304 * beta**4 / K * gamma**2 / (alpha**2 * T) * out * sigma**2
        )
        * eta_tilde**4,
    ),
    when=[eta_tilde <= 1 / (16 * beta), *_clients, of_z],
    where=quarter,
    given=[smooth, unbiased, alike],
    rests_on=["thm1.step55", "thm1.step56", "thm1.step59", "thm1.step61", "thm1.step64", "lemma5"],
    reads=_gap,
    note="The last display of (68).  f(x*) is subtracted from E f(z^0), which remains in the sum; d0 is f(x^0) - f(x*).  "
    "The proof lets the coefficient of the squared gradients be at most alpha eta T/4 ('<=', but it uses '>='), and says "
    "nothing about the coefficient of ||E G^r||^2.  (67) keeps C_1 (T R/M) sigma^2 + ... after division by R.",
)
