"""Section 3: Lemmas 1 to 9; Section 4.1: Lemma 10."""

from __future__ import annotations

from sympy import Ge, Le, Rational, Sum, exp, sqrt

from fedtheory.theory.fedbcgd.setting import *
from fedtheory.theory.notation import Grad, Inner, Norm, Value, equal
from fedtheory.theory.statement import at_most, equal_to, implied, relations, soft_order

_perturbed = Inner(Grad(h, x), z - y)

fedbcgd.lemma(
    name="lemma1",
    place="Section 3, Lemma 1, (18) to (22)",
    claim=relations(
        Ge(_perturbed, Value(h, z) - Value(h, y) + mu / 4 * Norm(y - z) ** 2 - beta * Norm(z - x) ** 2),
        words="h beta-smooth and mu-strongly convex, any x, y, z",
    ),
    when=[implied(mu <= beta, "implied: h is beta-smooth and mu-strongly convex")],
    also=relations(
        Ge(Inner(Grad(h, x), z - x), Value(h, z) - Value(h, x) - beta / 2 * Norm(z - x) ** 2),
        Ge(Inner(Grad(h, x), x - y), Value(h, x) - Value(h, y) + mu / 2 * Norm(y - x) ** 2),
        Ge(mu / 2 * Norm(y - x) ** 2, mu / 4 * Norm(y - z) ** 2 - mu / 2 * Norm(x - z) ** 2),
        Ge(
            _perturbed,
            Value(h, z) - Value(h, y) + mu / 4 * Norm(y - z) ** 2 - (beta + mu) / 2 * Norm(z - x) ** 2,
        ),
        words="(19) to (22)",
    ),
)
fedbcgd.lemma(
    name="lemma2",
    place="Section 3, Lemma 2, (24)",
    claim=at_most(mean_grad_sq, heterogeneity=G**2, gap=2 * beta * gap_x),
    given=[strongly_convex, smooth, alike],
    note="At a point x, written x^r here.  The last step of (26) uses the smoothness of each f_i.",
)
fedbcgd.lemma(
    name="lemma3",
    place="Section 3, Lemma 3",
    claim=relations(
        Le(Norm(v_i + v_j) ** 2, (1 + a) * Norm(v_i) ** 2 + (1 + 1 / a) * Norm(v_j) ** 2),
        Le(Norm(Sum(v_t, (t, 1, tau))) ** 2, tau * Sum(Norm(v_t) ** 2, (t, 1, tau))),
        words="for any a > 0, and any tau vectors",
    ),
)

# Lemma 4.  mean_grad_sq: (1/M) sum_i ||grad f_i||^2; grad_sq_x: ||grad f||^2

_sampling = [implied(K <= M, "implied: K of M clients"), implied(grad_sq_x <= mean_grad_sq, "implied: Jensen")]
fedbcgd.lemma(
    name="lemma4",
    place="Section 3, Lemma 4",
    claim=relations(
        Le(sample_sq, grad_sq_x + (1 - K / M) / K * mean_grad_sq),
        Le(sample_sq, mean_grad_sq),
        words="K of M clients, drawn without replacement",
    ),
    when=_sampling,
    rests_on=["lemma4.lhs"],
    note="Both parts, (27) and (28), and (29), which ends with: the right side of (27) is at most the right side of (28).",
    also=relations(Le(grad_sq_x + (1 - K / M) / K * mean_grad_sq, mean_grad_sq), words="end of (29)"),
)
fedbcgd.lemma(
    name="lemma4.part1",
    place="Section 3, Lemma 4, (27)",
    claim=at_most(sample_sq, mean=grad_sq_x, sampling=(1 - K / M) / K * mean_grad_sq),
    when=_sampling,
    rests_on=["lemma4.lhs"],
)
fedbcgd.lemma(
    name="lemma4.part2",
    place="Section 3, Lemma 4, (28)",
    claim=at_most(sample_sq, mean=mean_grad_sq),
    when=_sampling,
    rests_on=["lemma4.lhs"],
)
_two = implied(M >= 2, "implied: M - 1 divides")
fedbcgd.identity(
    name="lemma4.lhs",
    place="Section 3, proof of Lemma 4, (29) to (33)",
    claim=equal_to(
        sample_sq,
        pairs=K * (K - 1) / (M * (M - 1)) * M**2 * grad_sq_x / K**2,
        singles=K * (M - K) / (M * (M - 1)) * M * mean_grad_sq / K**2,
    ),
    when=[*_sampling, _two],
    note="The left side of (27) and (28), by E[I_i I_j] = K(K-1)/(M(M-1)) and E[I_i] = K/M.  The brackets of (29) leave "
    "the second sum without the factor 1/K^2; the brackets of the second part include it.",
)
fedbcgd.identity(
    name="lemma4.lhs_blocks",
    place="Section 4.2, (48), use of Lemma 4 for each block",
    claim=equal_to(
        block_sample_sq,
        pairs=K * (K - 1) / (M * (M - 1)) * M**2 * grad_sq_x / K**2,
        singles=K * (M - K) / (M * (M - 1)) * M * mean_grad_sq / K**2,
    ),
    when=[*_sampling, _two, *sampled],
    rests_on=["lemma4.lhs"],
    note="(48) treats the blocks as if there were one sample of K clients for all of them.",
)

fedbcgd.lemma(
    name="lemma5",
    place="Section 3, Lemma 5",
    claim=at_most(drift_x, gradients=6 * T**3 * eta**2 * grad_sq, noise=3 * M * T**2 * eta**2 * sigma**2),
    when=[implied(2 * T * (T - 1) * eta**2 * beta**2 <= 1, "printed in the proof: 2 T eta^2 beta^2 <= 1/(T-1)")],
    given=[smooth, unbiased],
    rests_on=["lemma3", "local_step"],
    note="grad_sq is the sum over the clients of ||grad f_i(x^r)||^2.",
)
fedbcgd.lemma(
    name="lemma6",
    place="Section 3, Lemma 6, (36)",
    claim=at_most(G_sq, gradients=2 * T / K * grad_sq * K / M, noise=2 * T / K * sigma**2),
    given=[unbiased],
    when=sampled,
    rests_on=["lemma3", "lemma9", "virtual_gradient"],
    note="The index i is unbound in print.  grad_sq is the sum of ||grad f_i(y_i^{r,t})||^2 over all M clients and T steps; "
    "the mean over the sample of the printed sum over K clients is K/M times it.  (37) has T/M in its second line.",
)
fedbcgd.lemma(
    name="lemma7",
    place="Section 3, Lemma 7, (38)",
    claim=soft_order(Psi_R, optimisation=mu * d0 * exp(-mu * eta_max * R), noise=c_lemma / (mu * R)),
    when=[eta_max <= 1 / mu, 1 / (2 * eta_max * mu) <= R],
    note="There are a constant step size eta <= eta_max and weights w_r = (1 - mu eta)^(1-r), W_R the sum of w_1 ... "
    "w_{R+1}; Psi_R = (1/W_R) sum_{r=1}^{R+1} ((w_r/eta)(1 - mu eta) d_{r-1} - (w_r/eta) d_r + c eta w_r).",
)
fedbcgd.lemma(
    name="lemma8",
    place="Section 3, Lemma 8, (39)",
    claim=at_most(
        Psi_R,
        optimisation=d0 / (eta_max * (R + 1)),
        second_order=2 * sqrt(c1 * d0) / sqrt(R + 1),
        third_order=2 * (d0 / (R + 1)) ** Rational(2, 3) * c2 ** Rational(1, 3),
    ),
    when=[implied(d0 > 0, "implied: at d_0 = 0 the bound counts in the limit")],
    note="There are a constant step size eta <= eta_max and weights; they are printed as 'w_r = 1/r', but "
    "Psi_R = (1/(R+1)) sum_{r=1}^{R+1} (d_{r-1}/eta - d_r/eta + c1 eta + c2 eta^2).  'c >= 0' is read as c1, c2 >= 0, and "
    "eta_max >= 0 as eta_max > 0.",
)
fedbcgd.lemma(
    name="lemma9",
    place="Section 3, Lemma 9, (40), (41)",
    claim=relations(
        Le(E(Norm(Sum(V_t, (t, 1, tau))) ** 2), Norm(Sum(m_t, (t, 1, tau))) ** 2 + tau**2 * sigma_x**2),
        Le(
            E(Norm(Sum(V_t, (t, 1, tau))) ** 2),
            2 * E(Norm(Sum(m_t, (t, 1, tau))) ** 2) + 2 * tau * sigma_x**2,
        ),
        words="first for means m_t = E V_t; then for conditional means m_t = E[V_t | V_1 ... V_{t-1}]",
    ),
    note="Symbols here: V_t for Xi_t, m_t for xi_t, sigma_x for sigma; E||V_t - m_t||^2 <= sigma_x^2.  (41) is printed "
    "without an expectation on its right side, but the conditional means are random; it is read with one.",
)
fedbcgd.lemma(
    name="lemma10",
    place="Section 4.1, Lemma 10, (44)",
    claim=relations(equal(z_next, z_r - eta * G_r / (1 - lam)), words="z^r = x^r + gamma (x^r - x^{r-1})"),
    where={z_r: x_r + gamma * (x_r - x_prev), gamma: lam / (1 - lam)},
    rests_on=["momentum_form"],
    note="Line (45)a prints beta for lambda.",
)
