"""The paper, its symbols, and the quantities that its statements are about.

The symbols are declared in `symbols.toml`, in the order below.  [x] is the dimension of w, [F] that of f(w).  Section F
writes p for the number of clients, the rest of the paper m; here it is m throughout.
"""

from __future__ import annotations

from fedtheory.theory.statement import Paper
from fedtheory.theory.symbols import declare as _declare

fedcom = Paper(
    "fedcom",
    "Federated Learning with Compression: Unified Analysis and Sharp Guarantees (supplement)",
    "Farzin Haddadpour, Mohammad Mahdi Kamani, Aryan Mokhtari and Mehrdad Mahdavi, AISTATS 2021",
    step_sizes=("eta", "gamma"),
    published="2021-04",
    url="https://arxiv.org/abs/2007.01154",
)

(
    m, tau, R, n, j, c,
    L, mu, kappa, sigma, q, G_q, eta, gamma, phi, epsilon, f_gap, fj_gap_mean, dist_sq_mean, w_star_norm, w0_norm,
    het_start,
    f, f_j, u, v, w, w_star, Q, x, x_i, g_tilde, w_end, g_sum, g_sum_mean, message_mean, w_r, w_next, g_Q_mean, delta,
    delta_next, delta_sum, delta_mean, Delta_jq, Delta_q, d_next, g_next, g_i, g_j, d_ij,
    avg_grad_sq, gap_last, gap_r, grad_sq, inner, message_sq, tracked_message_sq, grad_sq_sum_mean, grad_sq_sum,
    mean_grad_sq_sum, mean_grad_sq_prev, drift, drift_sum, drift_sum_prev, drift_mean, drift_mean_prev, drift_start,
    drift_total, direction_sq, direction_total, noise_sq, tracked_grad_sq, move_sq, next_move_sq, move_total,
    grad_sq_prev, grad_sq_start, grad_sq_total, mean_grad_sq_total, start_sum, start_partial, tracking_sq,
    tracking_next, a_next, a_prev, e_prev, e_prev2, c_noise,
) = _declare(fedcom)  # fmt: skip
