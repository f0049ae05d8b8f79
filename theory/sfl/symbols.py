"""The paper, its symbols, and the quantities that its statements are about.

The symbols are declared in `symbols.toml`, in the order below.  [x] is the dimension of x, [F] that of F(x).
"""

from __future__ import annotations

from fedtheory.theory.statement import Paper
from fedtheory.theory.symbols import declare as _declare

sfl = Paper(
    "sfl",
    "Convergence Analysis of Sequential Federated Learning on Heterogeneous Data",
    "Yipeng Li and Xinchen Lyu, NeurIPS 2023",
    step_sizes=("eta_tilde", "eta", "gamma"),
    published="2023-12",
    url="https://arxiv.org/abs/2311.03154",
)

(
    M, S, K, R, m, k,
    L, mu, sigma, sigma_star, beta, zeta, zeta_star, D, A, eta, eta_tilde, delta,
    x, y, z, x_star, xbar, xbar_pi, x_pi, x_pi_p, x_pi_q, x_seq, e, h, g_fun, h_star, F_fun, F_m, f_m, F_star, F_pi_m,
    own_m, noise_j, f_pi_m, x_mk, i, n, s,
    a, b, c, c1, c2, d, gamma, T, r0, r_t, r_next, s_t, W_T, w_T, Psi_T, middle,
    gap, gap_mean, min_grad_sq, last_dist2, dist2, dist2_next, D_F, grad_sq, descent, E_r, Ecal_r, drift_mk,
    inner_sum, cross_sum, step_sq, noise_sq, move_sq, bias_sq, star_sq, local_grad_sq, mean_grad_sq, client_bias_sq,
    B_mk, noise_upto, move_upto, bias_upto, star_upto, T_1,
    var_swr, var_swor, cov_pq, partial_sum, partial_sums,
) = _declare(sfl)  # fmt: skip
