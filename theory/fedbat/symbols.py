"""The paper, its symbols, and the quantities that its statements are about.

One declaration per symbol: ASCII name, LaTeX, meaning, dimension.  X is the dimension of w, F that of F(w).  k is a
client, l a layer, t a step of the whole run (in Section 3 a round, with s for the step), t0 the last synchronisation
before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any

import sympy

from fedtheory.theory.statement import NUMBER, F, ListOf, Paper, X


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

_count = {"integer": True, "positive": True}
_index = {"integer": True, "nonnegative": True}
_positive = {"positive": True}
_amount = {"nonnegative": True}


def _symbol(name: str, latex: str, meaning: str, dimension: sympy.Expr = NUMBER, **more: Any) -> sympy.Symbol:
    return fedbat.symbol(name, latex, meaning, dimension, **more)


# Counts
N = _symbol("N", "N", "number of clients", concept="clients", **_count)
K = _symbol("K", "K", "number of clients sampled in a round", concept="sampled clients", **_count)
R = _symbol("R", "R", "number of rounds", concept="rounds", **_count)
tau = _symbol("tau", r"\tau", "number of local steps in a round", concept="local steps", **_count)
T = _symbol("T", "T", "number of steps in all, R tau", **_count)
d = _symbol("d", "d", "dimension", **_count)
d_l = _symbol("d_l", "d_l", "number of entries of a layer", **_count)
k = _symbol("k", "k", "index of a client", **_count)
i = _symbol("i", "i", "index of an entry", **_count)
t = _symbol("t", "t", "step of the whole run", **_index)
t_0 = _symbol("t_0", "t_0", "last synchronisation not after t", **_index)
n = _symbol("n", "n", "index of a round", **_count)
n_last = _symbol("n_last", "n_R", "index of the last synchronisation", **_count)

# Constants of the problem, of the operator and of the run
L = _symbol("L", "L", "smoothness constant of every F_k (Assumption 1)", F / X**2, concept="smoothness", **_positive)
mu = _symbol(
    "mu",
    r"\mu",
    "strong convexity constant of every F_k (Assumption 2)",
    F / X**2,
    concept="strong convexity",
    **_positive,
)
kappa = _symbol("kappa", r"\kappa", "condition number L / mu", concept="condition number", **_positive)
sigma = _symbol(
    "sigma",
    r"\sigma",
    "bound on the noise of stochastic gradients (Assumption 3)",
    F / X,
    concept="gradient noise",
    **_amount,
)
G = _symbol("G", "G", "bound on stochastic gradients (Assumption 4)", F / X, **_amount)
q = _symbol("q", "q", "variance of the binarisation (Assumption 5)", **_amount)
Gamma = _symbol(
    "Gamma",
    r"\Gamma",
    "heterogeneity F* - sum_k p_k F_k*",
    F,
    concept="gap between the minimum and those of the clients",
    **_amount,
)
p = _symbol("p", "p", "the clients' shares of the data, p[1] ... p[N], of sum 1", **_amount)
p_k = _symbol("p_k", "p_k", "client k's share of the data", **_amount)
p_prime = _symbol("p_prime", "p'", "the shares among the sampled clients, of sum 1", **_amount)
p_sq = _symbol("p_sq", r"(\sum_kp_k^2)", "sum of the squared shares; 1/N for equal shares", **_positive)
eta = _symbol("eta", r"\eta", "learning rate", X**2 / F, concept="learning rate", **_positive)
eta_t = _symbol("eta_t", r"\eta_t", "learning rate of step t", X**2 / F, **_positive)
eta_first = _symbol("eta_first", r"\eta_1", "learning rate of step 1", X**2 / F, **_positive)
eta_later = _symbol("eta_later", r"\eta_{t+\tau}", "learning rate a round later", X**2 / F, **_positive)
eta_start = _symbol("eta_start", r"\eta_{t_0}", "learning rate of the round's first step", X**2 / F, **_positive)
gamma = _symbol("gamma", r"\gamma", "shift of the decreasing learning rate", **_positive)
beta = _symbol("beta", r"\beta", "numerator of the decreasing learning rate", X**2 / F, **_positive)
v = _symbol("v", "v", "constant of the induction", X**2, **_amount)
gamma_t = _symbol("gamma_t", r"\gamma_t", "2 eta_t (1 - 2 L eta_t)", X**2 / F, **_amount)
B = _symbol("B", "B", "constant of the recursion", F**2 / X**2, **_amount)
rho = _symbol("rho", r"\rho", "coefficient of the learnable step size", **_amount)
phi = _symbol("phi", r"\phi", "share of the local steps before binarisation", **_amount)
f_gap = _symbol("f_gap", r"(F(\mathbf{w}_0)-F^*)", "initial gap", F, concept="initial gap", **_amount)
dist0_sq = _symbol(
    "dist0_sq", r"\mathbb{E}\|\mathbf{w}_1-\mathbf{w}^*\|^2", "squared distance after step 0", X**2, **_amount
)
d0 = _symbol(
    "d0",
    r"\|\mathbf{w}_0-\mathbf{w}^*\|^2",
    "squared distance of the start",
    X**2,
    concept="squared initial distance",
    **_amount,
)

# The operator, on one number x or on a vector
x = _symbol("x", "x", "a number to be binarised", X)
x_vec = _symbol("x_vec", r"\mathbf{x}", "a vector to be binarised", X)
alpha = _symbol("alpha", r"\alpha", "step size of the binarisation", X, **_amount)
alpha_prime = _symbol("alpha_prime", r"\alpha'", "its initial value", X, **_amount)
alpha_e = _symbol("alpha_e", r"\alpha_e", "learnable exponent of the step size")
zeta = _symbol("zeta", r"\zeta", "noise of the binarisation, uniform in [0, 1)", **_amount)
S_value = _symbol("S_value", r"\mathcal{S}(x,\alpha)", "x binarised", X)
S_noisy = _symbol("S_noisy", r"\mathcal{S}'(x,\alpha)", "x within [-alpha, alpha] binarised", X)
S_by_x = _symbol("S_by_x", r"\partial\mathcal{S}/\partial x", "derivative in x, straight through")
S_by_alpha = _symbol("S_by_alpha", r"\partial\mathcal{S}/\partial\alpha", "derivative in alpha, straight through")
prob_plus = _symbol("prob_plus", r"\mathbb{P}(\mathcal{S}'=\alpha)", "probability of alpha", **_amount)
S = _symbol("S", r"\mathcal{S}", "the binarisation, alpha = ||x||_inf", X)
S_m = _symbol("S_m", r"\mathcal{S}_m", "the binarisation of the update since t0", X)
error_sq = _symbol(
    "error_sq", r"\mathbb{E}\|\mathcal{S}(\mathbf{x})-\mathbf{x}\|^2", "squared error of S", X**2, **_amount
)
x_sq = _symbol("x_sq", r"\|\mathbf{x}\|^2", "squared Euclidean norm of the binarised vector", X**2, **_amount)
x_max = _symbol("x_max", r"\|\mathbf{x}\|_\infty", "its largest entry in modulus", X, **_amount)
sign_m = _symbol("sign_m", r"\operatorname{sign}(\boldsymbol{m})", "signs of the update")
sign_w = _symbol("sign_w", r"\operatorname{sign}(\mathbf{w}^k)", "signs of the weights of a binary network")
w_hat = _symbol("w_hat", r"\hat{\mathbf{w}}^k", "its binarised weights, layer by layer", X)
bits = _symbol("bits", "b", "bits per parameter", **_count)
levels = _symbol("levels", "s", "positive levels of a quantisation", **_count)
pruned = _symbol("pruned", "s", "pruned share", **_amount)
m_i = _symbol("m_i", r"\boldsymbol{m}_i", "an entry of the update", X)
m_norm = _symbol("m_norm", r"\|\boldsymbol{m}\|", "a norm of the update", X, **_positive)

# Functions, points and vectors
F_fun = _symbol("F", "F", "the global objective", F)
F_i = _symbol("F_i", "F", "the clients' objectives, F_i[1] ... F_i[N]", F)
F_k = _symbol("F_k", "F_k", "client k's objective", F)
F_star = _symbol("F_star", "F^*", "minimum of F", F)
F_k_star = _symbol("F_k_star", "F_k^*", "minimum of F_k", F)
F_i_star = _symbol("F_i_star", "F^*", "minima of the clients' objectives", F)
w = _symbol("w", r"\mathbf{w}", "a point", X)
u = _symbol("u", r"\mathbf{v}", "a point (v in the paper)", X)
w_star = _symbol("w_star", r"\mathbf{w}^*", "minimiser of F", X)
w_t = _symbol("w_t", r"\mathbf{w}_t", "global model", X)
w_next = _symbol("w_next", r"\mathbf{w}_{t+1}", "global model after the round", X)
w_next_all = _symbol(
    "w_next_all",
    r"\mathbf{w}_{t+1}^{\mathrm{all}}",
    "the same if all clients train, but only the sampled ones count",
    X,
)
w_i = _symbol("w_i", r"\mathbf{w}_{t+1}^k", "the sampled clients' models after the round, w_i[1] ... w_i[K]", X)
m_hat_i = _symbol("m_hat_i", r"\hat{\boldsymbol{m}}_{t+1}^k", "the sampled clients' binarised updates", X)
m = _symbol("m", r"\boldsymbol{m}_{t+1}^k", "client k's update", X)
m_s = _symbol("m_s", r"\boldsymbol{m}_{t,s}^k", "client k's update before local step s", X)
m_next = _symbol("m_next", r"\boldsymbol{m}_{t,s+1}^k", "the same after local step s", X)
m_hat = _symbol("m_hat", r"\hat{\boldsymbol{m}}_{t,s}^k", "its binarisation", X)
m_hat_next = _symbol("m_hat_next", r"\hat{\boldsymbol{m}}_{t,s+1}^k", "its binarisation after local step s", X)
by_m = _symbol("by_m", r"\partial F_k/\partial\boldsymbol{m}_{t,s}^k", "gradient in the update, through (8)", F / X)
by_alpha = _symbol(
    "by_alpha", r"\partial F_k/\partial\alpha_{t,s}^k", "derivative in the step size, through (9)", F / X
)
alpha_s = _symbol("alpha_s", r"\alpha_{t,s}^k", "step size before local step s", X, **_amount)
alpha_next = _symbol("alpha_next", r"\alpha_{t,s+1}^k", "step size after local step s", X)
S_s = _symbol(
    "S_s", r"\mathcal{S}(\cdot,\alpha_{t,s+1}^k)", "the binarisation with the step size after local step s", X
)
w_k = _symbol("w_k", r"\mathbf{w}_t^k", "client k's parameters at step t", X)
w_k_next = _symbol("w_k_next", r"\mathbf{w}_{t+1}^k", "client k's parameters at step t+1", X)
x_k = _symbol("x_k", r"\mathbf{x}_t^k", "client k's binarised parameters at step t", X)
v_k = _symbol("v_k", r"\mathbf{v}_{t+1}^k", "client k's parameters after a step of SGD", X)
v_i = _symbol("v_i", r"\mathbf{v}_{t+1}^k", "the same for all clients, v_i[1] ... v_i[N]", X)
v_old_i = _symbol("v_old_i", r"\mathbf{v}_t^k", "the same a step before", X)
g_k = _symbol("g_k", r"\nabla F_k(\mathbf{x}_t^k,\xi_t^k)", "stochastic gradient of client k at x_t^k", F / X)
g_w = _symbol("g_w", r"\nabla F_k(\mathbf{w}_t^k,\xi_t^k)", "stochastic gradient of client k at w_t^k", F / X)
g_i = _symbol("g_i", r"\nabla F_k(\mathbf{x}_t^k,\xi_t^k)_k", "the stochastic gradients of all clients", F / X)
x_i = _symbol("x_i", r"\mathbf{x}_t^k", "the binarised parameters of all clients", X)
w_all = _symbol("w_all", r"\mathbf{w}_t^k", "the parameters of all clients", X)
w_bar = _symbol("w_bar", r"\bar{\mathbf{w}}_t", "mean of the clients' parameters", X)
w_bar_next = _symbol("w_bar_next", r"\bar{\mathbf{w}}_{t+1}", "the same at step t+1", X)
w_bar_0 = _symbol("w_bar_0", r"\bar{\mathbf{w}}_{t_0}", "the global model of the round", X)
v_bar = _symbol("v_bar", r"\bar{\mathbf{v}}_{t+1}", "mean of the clients' parameters after a step of SGD", X)
g_t = _symbol("g_t", r"\mathbf{g}_t", "mean of the clients' stochastic gradients", F / X)
g_bar = _symbol("g_bar", r"\bar{\mathbf{g}}_t", "mean of the clients' gradients at their x_t^k", F / X)

# Quantities that the statements bound.  E is over mini-batches, binarisation and samples of clients; a sum over k runs
# over all clients, with weights p_k.
_g2, _x2 = F**2 / X**2, X**2


def _quantity(
    name: str, latex: str, meaning: str, dimension: sympy.Expr, concept: str | None = None, **domain: bool
) -> sympy.Symbol:
    return _symbol(name, latex, meaning, dimension, concept=concept, **(domain or _amount))


_real = {"real": True}
_E, _sum = r"\mathbb{E}", r"\sum_kp_k\mathbb{E}"


def _signed(name: str, latex: str, meaning: str, dimension: sympy.Expr) -> sympy.Symbol:
    """A quantity of either sign."""
    return _symbol(name, latex, meaning, dimension)


gap_last = _quantity(
    "gap_last", rf"{_E}[F(\mathbf{{w}}_T)]-F^*", "expected gap after T steps", F, concept="gap of the last iterate"
)
gap_t = _quantity("gap_t", rf"{_E}[F(\bar{{\mathbf{{w}}}}_t)]-F^*", "expected gap of the mean parameters at step t", F)
avg_step_grad_sq = _quantity(
    "avg_step_grad_sq",
    rf"\frac1T\sum_{{t<T}}{_E}\|\nabla F(\bar{{\mathbf{{w}}}}_t)\|^2",
    "mean over steps 0 ... T-1 of the squared gradient norm at the mean parameters",
    _g2,
)
Delta_t = _quantity("Delta_t", r"\Delta_t", "E||wbar_t - w*||^2", _x2)
Delta_next = _quantity("Delta_next", r"\Delta_{t+1}", "E||wbar_{t+1} - w*||^2", _x2)
Delta_1 = _quantity("Delta_1", r"\Delta_1", "E||wbar_1 - w*||^2", _x2)
v_dist = _quantity("v_dist", rf"{_E}\|\bar{{\mathbf{{v}}}}_{{t+1}}-\mathbf{{w}}^*\|^2", "E||vbar_{t+1} - w*||^2", _x2)
noise_sq = _quantity("noise_sq", rf"{_E}\|\mathbf{{g}}_t-\bar{{\mathbf{{g}}}}_t\|^2", "noise of the mean gradient", _g2)
noise_w_sq = _quantity(
    "noise_w_sq",
    rf"{_E}\|\sum_kp_k(\nabla F_k(\mathbf{{w}}_t^k,\xi_t^k)-\nabla F_k(\mathbf{{w}}_t^k))\|^2",
    "noise of the mean gradient, at the parameters that are not binarised",
    _g2,
)
noise_w_sum = _quantity(
    "noise_w_sum",
    rf"\sum_kp_k^2{_E}\|\nabla F_k(\mathbf{{w}}_t^k,\xi_t^k)-\nabla F_k(\mathbf{{w}}_t^k)\|^2",
    "noise of the clients' gradients, at the parameters that are not binarised",
    _g2,
)
noise_x_sum = _quantity(
    "noise_x_sum",
    rf"\sum_kp_k^2{_E}\|\nabla F_k(\mathbf{{x}}_t^k,\xi_t^k)-\nabla F_k(\mathbf{{x}}_t^k)\|^2",
    "noise of the clients' gradients, at the binarised parameters, where the algorithm takes them",
    _g2,
)
spread_x = _quantity(
    "spread_x", rf"{_sum}\|\bar{{\mathbf{{w}}}}_t-\mathbf{{x}}_t^k\|^2", "spread of the binarised parameters", _x2
)
spread_w = _quantity(
    "spread_w", rf"{_sum}\|\bar{{\mathbf{{w}}}}_t-\mathbf{{w}}_t^k\|^2", "spread of the clients' parameters", _x2
)
binarised_sq = _quantity(
    "binarised_sq", rf"{_sum}\|\mathbf{{w}}_t^k-\mathbf{{x}}_t^k\|^2", "squared error of the binarisation", _x2
)
moved_sq = _quantity(
    "moved_sq", rf"{_sum}\|\mathbf{{w}}_t^k-\bar{{\mathbf{{w}}}}_{{t_0}}\|^2", "squared updates since t0", _x2
)
moved_k_sq = _quantity(
    "moved_k_sq", r"\|\mathbf{w}_t^k-\bar{\mathbf{w}}_{t_0}\|^2", "squared update of client k since t0", _x2
)
steps_sum_w = _quantity(
    "steps_sum_w",
    r"\|\sum_{t=t_0}^{t-1}\eta_t\nabla F_k(\mathbf{w}_t^k,\xi_t^k)\|^2",
    "squared sum of client k's steps, with gradients at w_t^k, where it takes none",
    _x2,
)
steps_sq_w = _quantity(
    "steps_sq_w",
    r"\sum_{t=t_0}^{t-1}\eta_t^2\|\nabla F_k(\mathbf{w}_t^k,\xi_t^k)\|^2",
    "squares of client k's steps, with gradients at w_t^k, where it takes none",
    _x2,
)
steps_sum = _quantity(
    "steps_sum",
    r"\|\sum_{t=t_0}^{t-1}\eta_t\nabla F_k(\mathbf{x}_t^k,\xi_t^k)\|^2",
    "squared sum of client k's steps since t0",
    _x2,
)
steps_sq = _quantity(
    "steps_sq",
    r"\sum_{t=t_0}^{t-1}\eta_t^2\|\nabla F_k(\mathbf{x}_t^k,\xi_t^k)\|^2",
    "squares of client k's steps since t0",
    _x2,
)
steps_mean = _quantity(
    "steps_mean",
    rf"{_sum}\sum_{{t=t_0}}^{{t-1}}(\tau-1)\eta_t^2\|\nabla F_k(\mathbf{{x}}_t^k,\xi_t^k)\|^2",
    "tau-1 times the squares of the clients' steps since t0",
    _x2,
)
jump_sq = _quantity(
    "jump_sq",
    rf"{_E}\|\bar{{\mathbf{{w}}}}_{{t+1}}-\bar{{\mathbf{{v}}}}_{{t+1}}\|^2",
    "squared change by binarisation and by the sample of clients at a synchronisation",
    _x2,
)
jump_parts = _quantity(
    "jump_parts",
    rf"\sum_kp_k^2{_E}\|\mathcal{{S}}_m(\mathbf{{v}}_{{t+1}}^k)-\mathbf{{v}}_{{t+1}}^k\|^2",
    "the clients' parts of it",
    _x2,
)
v_moved = _quantity(
    "v_moved",
    rf"\sum_kp_k^2{_E}\|\mathbf{{v}}_{{t+1}}^k-\bar{{\mathbf{{w}}}}_{{t_0}}\|^2",
    "squared updates of the round, weighed by p_k^2",
    _x2,
)
A_1 = _quantity("A_1", r"A_1", "E||wbar_t - w* - eta_t gbar_t||^2, in the proof of Lemma 1", _x2)
A_bin = _quantity("A_bin", r"A_1", "the part of the binarisation, in the proof of Lemma 6", _x2)
A_2 = _quantity("A_2", r"A_2", "the part of the sample of clients (Lemma 6)", _x2)
A_1_parts = _quantity(
    "A_1_parts",
    rf"K^{{-2}}\sum_{{k\in\mathbb{{S}}_{{t+1}}}}{_E}\|\mathcal{{S}}_m(\mathbf{{v}}_{{t+1}}^k)-\mathbf{{v}}_{{t+1}}^k\|^2",
    "the sampled clients' errors of binarisation",
    _x2,
)
v_spread = _quantity(
    "v_spread",
    rf"\sum_i{_E}\|\mathbf{{v}}_{{t+1}}^i-\bar{{\mathbf{{v}}}}_{{t+1}}\|^2",
    "summed squared distances of the clients' parameters from their mean",
    _x2,
)
B_1 = _signed("B_1", "B_1", "-2 eta_t <wbar_t - w*, gbar_t>", _x2)
B_2 = _quantity("B_2", "B_2", "eta_t^2 ||gbar_t||^2", _x2)
C = _signed("C", "C", "4 L eta_t^2 sum_k p_k (F_k(x_t^k) - F_k*) - 2 eta_t sum_k p_k (F_k(x_t^k) - F_k(w*))", _x2)
D = _signed("D", "D", "-gamma_t sum_k p_k (F_k(x_t^k) - F*)", _x2)
inner_star = _signed(
    "inner_star", rf"{_E}\langle\bar{{\mathbf{{w}}}}_t-\mathbf{{w}}^*,\bar{{\mathbf{{g}}}}_t\rangle", "inner product", F
)
inner_move = _signed(
    "inner_move",
    rf"{_sum}\langle\bar{{\mathbf{{w}}}}_t-\mathbf{{x}}_t^k,\nabla F_k(\mathbf{{x}}_t^k)\rangle",
    "inner product, mean over clients",
    F,
)
inner_down = _signed(
    "inner_down",
    rf"{_sum}\langle\mathbf{{x}}_t^k-\mathbf{{w}}^*,\nabla F_k(\mathbf{{x}}_t^k)\rangle",
    "inner product, mean over clients",
    F,
)
inner_bar = _signed(
    "inner_bar",
    rf"{_sum}\langle\nabla F_k(\bar{{\mathbf{{w}}}}_t),\mathbf{{x}}_t^k-\bar{{\mathbf{{w}}}}_t\rangle",
    "inner product, mean over clients",
    F,
)
gbar_sq = _quantity("gbar_sq", rf"{_E}\|\bar{{\mathbf{{g}}}}_t\|^2", "squared mean gradient", _g2)
g_sq = _quantity("g_sq", rf"{_E}\|\mathbf{{g}}_t\|^2", "squared mean stochastic gradient", _g2)
grads_x_sq = _quantity(
    "grads_x_sq", rf"{_sum}\|\nabla F_k(\mathbf{{x}}_t^k)\|^2", "squared gradients of the clients at x_t^k", _g2
)
grads_bar_sq = _quantity(
    "grads_bar_sq",
    rf"{_sum}\|\nabla F_k(\bar{{\mathbf{{w}}}}_t)\|^2",
    "squared gradients of the clients at wbar_t",
    _g2,
)
local_gap = _quantity(
    "local_gap", rf"{_sum}(F_k(\mathbf{{x}}_t^k)-F_k^*)", "gaps to the clients' own minima at x_t^k", F
)
star_gap = _signed("star_gap", rf"{_sum}(F_k(\mathbf{{x}}_t^k)-F_k(\mathbf{{w}}^*))", "gaps to the values at w*", F)
global_gap = _signed("global_gap", rf"{_sum}(F_k(\mathbf{{x}}_t^k)-F^*)", "gaps to the minimum of F at x_t^k", F)
local_gap_bar = _quantity(
    "local_gap_bar", rf"{_sum}(F_k(\bar{{\mathbf{{w}}}}_t)-F_k^*)", "gaps to the clients' own minima at wbar_t", F
)
star_own = _quantity("star_own", r"\sum_kp_k(F_k(\mathbf{w}^*)-F_k^*)", "gaps of w* to the clients' own minima", F)
x_star_sq = _quantity(
    "x_star_sq", rf"{_sum}\|\mathbf{{x}}_t^k-\mathbf{{w}}^*\|^2", "squared distances of the x_t^k to w*", _x2
)
x_star_k = _quantity("x_star_k", rf"{_E}\|\mathbf{{x}}_t^k-\mathbf{{w}}^*\|^2", "squared distance of x_t^k to w*", _x2)
spread_k = _quantity(
    "spread_k", rf"{_E}\|\bar{{\mathbf{{w}}}}_t-\mathbf{{x}}_t^k\|^2", "squared distance of x_t^k to wbar_t", _x2
)
w_mean = _signed("w_mean", rf"{_E}\bar{{\mathbf{{w}}}}_{{t+1}}", "mean of wbar_{t+1}, entry by entry", X)
v_mean = _signed("v_mean", rf"{_E}\bar{{\mathbf{{v}}}}_{{t+1}}", "mean of vbar_{t+1}, entry by entry", X)
grad_sq = _quantity("grad_sq", rf"{_E}\|\nabla F(\bar{{\mathbf{{w}}}}_t)\|^2", "squared gradient at wbar_t", _g2)
inner_grad = _signed(
    "inner_grad", rf"{_E}\langle\nabla F(\bar{{\mathbf{{w}}}}_t),\mathbf{{g}}_t\rangle", "inner product", _g2
)
apart_sq = _quantity(
    "apart_sq",
    rf"{_E}\|\nabla F(\bar{{\mathbf{{w}}}}_t)-\mathbf{{g}}_t\|^2",
    "squared distance of g_t from the gradient",
    _g2,
)
apart_bar_sq = _quantity(
    "apart_bar_sq",
    rf"{_E}\|\nabla F(\bar{{\mathbf{{w}}}}_t)-\bar{{\mathbf{{g}}}}_t\|^2",
    "squared distance of gbar_t from the gradient",
    _g2,
)
F_bar = _signed("F_bar", rf"{_E}F(\bar{{\mathbf{{w}}}}_t)", "expected value at wbar_t", F)
F_bar_next = _signed("F_bar_next", rf"{_E}F(\bar{{\mathbf{{w}}}}_{{t+1}})", "expected value at wbar_{t+1}", F)
F_v = _signed("F_v", rf"{_E}F(\bar{{\mathbf{{v}}}}_{{t+1}})", "expected value at vbar_{t+1}", F)
F_0 = _signed("F_0", r"F(\mathbf{w}_0)", "value at the start", F)
F_T = _signed("F_T", rf"{_E}F(\mathbf{{w}}_T)", "expected value at the end", F)
