"""The paper, its symbols, and the quantities that its statements are about.

The symbols are declared in `symbols.toml`, in the order below.  [x] is the dimension of w, [F] that of F(w).  k is a
client, l a layer, t a step of the whole run (in Section 3 a round, with s for the step), t0 the last synchronisation
before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from fedtheory.theory.statement import ListOf, Paper
from fedtheory.theory.symbols import declare as _declare


def squared_shares(p: Sequence[float]) -> float:
    """sum_k p_k^2.  Raises ValueError for shares that are not positive, or whose sum is not 1."""
    if not all(share > 0 for share in p) or abs(fsum(p) - 1) > 1e-9:
        raise ValueError(f"p = {list(p)}: expected the clients' shares, positive and of sum 1")
    return fsum(share**2 for share in p)


fedbat = Paper(
    "fedbat",
    "FedBAT: Communication-Efficient Federated Learning via Learnable Binarization",
    "Shiwei Li, Wenchao Xu, Haozhao Wang, Xing Tang, Yining Qi, Shijie Xu, Weihong Luo, Yuhua Li, Xiuqiang He and Ruixuan "
    "Li, ICML 2024",
    step_sizes=("eta",),
    published="2024-07",
    url="https://arxiv.org/abs/2408.03215",
    lists={"p": ListOf("p_sq", squared_shares, "N")},
)

(
    N, K, R, tau, T, d, d_l, k, i, t, t_0, n, n_last,
    L, mu, kappa, sigma, G, q, Gamma, p, p_k, p_prime, p_sq, eta, eta_t, eta_first, eta_later, eta_start, gamma, beta,
    v, gamma_t, B, rho, phi, f_gap, dist0_sq, d0,
    x, x_vec, alpha, alpha_prime, alpha_e, zeta, S_value, S_noisy, S_by_x, S_by_alpha, prob_plus, S, S_m, error_sq,
    x_sq, x_max, sign_m, sign_w, w_hat, bits, levels, pruned, m_i, m_norm,
    F_fun, F_i, F_k, F_star, F_k_star, F_i_star, w, u, w_star, w_t, w_next, w_next_all, w_i, m_hat_i, m, m_s, m_next,
    m_hat, m_hat_next, by_m, by_alpha, alpha_s, alpha_next, S_s, w_k, w_k_next, x_k, v_k, v_i, v_old_i, g_k, g_w, g_i,
    x_i, w_all, w_bar, w_bar_next, w_bar_0, v_bar, g_t, g_bar,
    gap_last, gap_t, avg_step_grad_sq, Delta_t, Delta_next, Delta_1, v_dist, noise_sq, noise_w_sq, noise_w_sum,
    noise_x_sum, spread_x, spread_w, binarised_sq, moved_sq, moved_k_sq, steps_sum_w, steps_sq_w, steps_sum, steps_sq,
    steps_mean, jump_sq, jump_parts, v_moved, A_1, A_bin, A_2, A_1_parts, v_spread, B_1, B_2, C, D, inner_star,
    inner_move, inner_down, inner_bar, gbar_sq, g_sq, grads_x_sq, grads_bar_sq, local_gap, star_gap, global_gap,
    local_gap_bar, star_own, x_star_sq, x_star_k, spread_k, w_mean, v_mean, grad_sq, inner_grad, apart_sq,
    apart_bar_sq, F_bar, F_bar_next, F_v, F_0, F_T,
) = _declare(fedbat)  # fmt: skip
