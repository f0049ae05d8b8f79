"""The paper, its symbols, and the quantities that its statements are about.

"FedBCGD: Communication-Efficient Accelerated Block Coordinate Gradient Descent for Federated Learning" (Liu et al., ACM
Multimedia 2024).  Places are places in the supplement; "main" is the paper itself, whose appendix prints the supplement
once more with every number raised by 7.

The symbols are declared in `symbols.toml`, in the order below.  [x] is the dimension of x, [F] that of f(x).  A statement
that uses a symbol in another meaning says so (`reads`).
"""

from __future__ import annotations

from fedtheory.theory.statement import Paper
from fedtheory.theory.symbols import declare as _declare

fedbcgd = Paper(
    "fedbcgd",
    "FedBCGD: Communication-Efficient Accelerated Block Coordinate Gradient Descent for Federated Learning",
    "Liu et al., ACM Multimedia 2024, supplementary materials",
    step_sizes=("eta_tilde", "eta"),
    published="2024-10",
    url="https://doi.org/10.1145/3664647.3681094",
)

(
    M, N, K, S, T, R, d, n_i, i, j, k, t, r, s, tau,
    beta, mu, sigma, G, lam, alpha, gamma, eta, eta_tilde, eta_max, a, eps, eps_grad, d0, D_tilde, F, Com, decay, w_r,
    f, f_i, f_iz, f_z, f_ij, h, x, y, z, x1, x2, x_star, v_i, v_j, v_t, x_r, x_next, x_prev, x_hat, v_r, v_next,
    v_prev, Dx_prev, z_r, z_next, G_r, G_prev, y_t, y_next, c, c_i, c_next, c_prev_i, Dc_sum, c_shared, c_shared_next,
    Dc_shared_sum, own_m, noise_j, V_t, m_t, sigma_x, local_sum,
    gap_bar, gap_xbar, avg_grad_sq_later, avg_grad_sq, grad_sq_bar, gap, gap_next, gap_prev, gap_x, gap_x_prev,
    grad_sq, grad_sq_x, grad_sq_prev, mean_grad_sq, sample_sq, block_sample_sq, G_sq, G_mean_sq, G_discounted_beta,
    G_discounted, inner, inner_grad, dist_sq, dist_next, zx_sq, drift_x, drift_z, E_r, local_sum_sq, C_prev, C_r, Xi,
    Xi_r, Psi_R, c_lemma, c1, c2, Com_other, C_1,
    v_sq, v_next_sq, lag, lag_next, C_0, lag_0,
) = _declare(fedbcgd)  # fmt: skip
