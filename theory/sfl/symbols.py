"""The paper, its symbols, and the quantities that its statements are about.

One declaration per symbol: ASCII name, LaTeX, meaning, dimension.  X is the dimension of x, F that of F(x).
"""

from __future__ import annotations

from typing import Any

import sympy

from fedtheory.theory.statement import NUMBER, F, Paper, X

sfl = Paper(
    "sfl",
    "Convergence Analysis of Sequential Federated Learning on Heterogeneous Data",
    "Yipeng Li and Xinchen Lyu, NeurIPS 2023",
    step_sizes=("eta_tilde", "eta", "gamma"),
    published="2023-12",
    url="https://arxiv.org/abs/2311.03154",
)

_count = {"integer": True, "positive": True}
_positive = {"positive": True}
_amount = {"nonnegative": True}


def _symbol(name: str, latex: str, meaning: str, dimension: sympy.Expr = NUMBER, **more: Any) -> sympy.Symbol:
    return sfl.symbol(name, latex, meaning, dimension, **more)


# Counts (Table 5)
M = _symbol("M", "M", "number of clients", concept="clients", **_count)
S = _symbol(
    "S",
    "S",
    "number of participating clients, sampled without replacement each round",
    concept="sampled clients",
    **_count,
)
K = _symbol("K", "K", "number of local steps", concept="local steps", **_count)
R = _symbol("R", "R", "number of training rounds", concept="rounds", **_count)
m = _symbol("m", "m", "index of a client in the order of the round", **_count)
k = _symbol("k", "k", "index of a local step", integer=True, nonnegative=True)

# Constants of the problem and of the run
L = _symbol("L", "L", "smoothness constant of every F_m (Assumption 1)", F / X**2, concept="smoothness", **_positive)
mu = _symbol(
    "mu",
    r"\mu",
    "strong convexity constant of every F_m; 0 in the convex case",
    F / X**2,
    concept="strong convexity",
    **_amount,
)
sigma = _symbol(
    "sigma",
    r"\sigma",
    "bound on the standard deviation of stochastic gradients",
    F / X,
    concept="gradient noise",
    **_amount,
)
sigma_star = _symbol("sigma_star", r"\sigma_*", "standard deviation of stochastic gradients at x*", F / X, **_amount)
beta = _symbol("beta", r"\beta", "relative heterogeneity (Assumption 3a)", concept="relative heterogeneity", **_amount)
zeta = _symbol(
    "zeta", r"\zeta", "absolute heterogeneity (Assumption 3a)", F / X, concept="absolute heterogeneity", **_amount
)
zeta_star = _symbol(
    "zeta_star",
    r"\zeta_*",
    "heterogeneity at the optimum (Assumption 3b)",
    F / X,
    concept="heterogeneity at the optimum",
    **_amount,
)
D = _symbol("D", "D", "||x0 - x*||, initial distance", X, concept="initial distance", **_amount)
A = _symbol("A", "A", "F(x0) - F*, initial gap", F, concept="initial gap", **_amount)
eta = _symbol("eta", r"\eta", "learning rate", X**2 / F, concept="learning rate", **_positive)
eta_tilde = _symbol(
    "eta_tilde", r"\tilde\eta", "effective learning rate", X**2 / F, concept="effective learning rate", **_positive
)
delta = _symbol("delta", r"\delta", "Hessian heterogeneity, max ||hess F_m - hess F||", F / X**2, **_amount)

# Vectors and functions that appear in identities; sampled units are gradients where Lemmas 3 and 4 are applied
x = _symbol("x", r"\mathbf{x}", "a point, or a random vector", X)
y = _symbol("y", r"\mathbf{y}", "a point", X)
z = _symbol("z", r"\mathbf{z}", "a point", X)
x_star = _symbol("x_star", r"\mathbf{x}^*", "a minimiser of F", X)
xbar = _symbol("xbar", r"\bar{\mathbf{x}}", "mean of the population x_1 ... x_n", F / X)
xbar_pi = _symbol("xbar_pi", r"\bar{\mathbf{x}}_\pi", "mean of a sample x_{pi_1} ... x_{pi_s}", F / X)
x_pi = _symbol("x_pi", r"\mathbf{x}_{\pi}", "the sampled units x_{pi_1}, x_{pi_2}, ...", F / X)
x_pi_p = _symbol("x_pi_p", r"\mathbf{x}_{\pi_p}", "the p-th sampled unit", F / X)
x_pi_q = _symbol("x_pi_q", r"\mathbf{x}_{\pi_q}", "the q-th sampled unit, q != p", F / X)
x_seq = _symbol("x_seq", r"\mathbf{x}", "the random sequence of Lemma 1; gradients in its applications", F / X)
e = _symbol("e", r"\mathbf{e}", "conditional expectations e_i = E[x_i | xi_{i-1} ... xi_1]", F / X)
h = _symbol("h", "h", "a function", F)
g_fun = _symbol("g", "g", "a convex function", F)
h_star = _symbol("h_star", "h_*", "a lower bound of h", F)
F_fun = _symbol("F", "F", "the global objective", F)
F_m = _symbol("F_m", "F_m", "client m's objective", F)
f_m = _symbol("f_m", "f_m", "client m's loss on one sample", F)
F_star = _symbol("F_star", "F^*", "a lower bound (minimum) of F", F)
F_pi_m = _symbol("F_pi_m", r"F_{\pi_m}", "the objective of the m-th client in the order", F)
own_m = _symbol("own_m", r"\mathbf{a}_m", "a vector that client m computes in a round from its own samples", F / X)
noise_j = _symbol("noise_j", r"\mathbf{n}_j", "the noise of another client's stochastic gradient", F / X)
f_pi_m = _symbol("f_pi_m", r"f_{\pi_m}", "the loss of the m-th client in the order on one sample", F)
x_mk = _symbol("x_mk", r"\mathbf{x}_{m,k}", "local parameters of the m-th client after k local steps", X)
i = _symbol("i", "i", "an index", **_count)
n = _symbol("n", "n", "number of units, terms or random variables", **_count)
s = _symbol("s", "s", "number of units sampled", **_count)

# Lemmas 7 and 8; gamma is a step size, r_t a squared distance, s_t a gap
a = _symbol("a", "a", "contraction (Lemma 7)", F / X**2, **_amount)
b = _symbol("b", "b", "weight of s_t (Lemmas 7, 8)", NUMBER, **_positive)
c = _symbol("c", "c", "noise (Lemma 7)", F**2 / X**2, **_amount)
c1 = _symbol("c1", "c_1", "noise of second order (Lemma 8)", F**2 / X**2, **_amount)
c2 = _symbol("c2", "c_2", "noise of third order (Lemma 8)", F**3 / X**4, **_amount)
d = _symbol("d", "d", "inverse of the largest step size (Lemmas 7, 8)", F / X**2, **_positive)
gamma = _symbol("gamma", r"\gamma", "Lemmas 7, 8: constant step size", X**2 / F, **_positive)
T = _symbol("T", "T", "index of the last iterate (Lemmas 7, 8)", integer=True, nonnegative=True)
r0 = _symbol("r0", "r_0", "first element of (r_t)", X**2, **_amount)
r_t = _symbol("r_t", "r_t", "element of (r_t)", X**2, **_amount)
r_next = _symbol("r_next", "r_{t+1}", "next element of (r_t)", X**2, **_amount)
s_t = _symbol("s_t", "s_t", "element of (s_t)", F, **_amount)
W_T = _symbol("W_T", "W_T", "sum of the weights w_0 ... w_T", NUMBER, **_positive)
w_T = _symbol("w_T", "w_T", "last weight", NUMBER, **_positive)
Psi_T = _symbol("Psi_T", r"\Psi_T", "(b / W_T) sum of s_t w_t", F, **_amount)
middle = _symbol("middle", r"\mathrm{middle}", "the middle expression of (38)", F, **_amount)

# Quantities: what the statements bound
gap = _symbol(
    "gap",
    r"\mathbb{E}[F(\bar x^{(R)})-F(x^*)]",
    "expected gap of the weighted average",
    F,
    concept="gap of the average",
    **_amount,
)
gap_mean = _symbol(
    "gap_mean",
    r"W_R^{-1}\sum_{r\le R} w_r\mathbb{E}[F(x^{(r)})-F(x^*)]",
    "weighted mean of expected gaps",
    F,
    **_amount,
)
min_grad_sq = _symbol(
    "min_grad_sq",
    r"\min_{0\le r\le R}\mathbb{E}\|\nabla F(x^{(r)})\|^2",
    "smallest expected squared gradient norm",
    F**2 / X**2,
    concept="smallest squared gradient",
    **_amount,
)
last_dist2 = _symbol(
    "last_dist2", r"\mathbb{E}\|x^{(R)}-x^*\|^2", "squared distance of the last iterate", X**2, **_amount
)
dist2 = _symbol("dist2", r"\mathbb{E}\|x^{(r)}-x^*\|^2", "squared distance", X**2, **_amount)
dist2_next = _symbol("dist2_next", r"\mathbb{E}\|x^{(r+1)}-x^*\|^2", "squared distance, a round later", X**2, **_amount)
D_F = _symbol("D_F", r"\mathbb{E}D_F(x^{(r)},x^*)", "expected Bregman divergence, E F(x^(r)) - F(x*)", F, **_amount)
grad_sq = _symbol(
    "grad_sq", r"\mathbb{E}\|\nabla F(x^{(r)})\|^2", "expected squared gradient norm", F**2 / X**2, **_amount
)
descent = _symbol("descent", r"\mathbb{E}[F(x^{(r+1)})-F(x^{(r)})]", "expected change of F in a round", F)
E_r = _symbol("E_r", "E_r", "client drift of SFL (33)", X**2, **_amount)
Ecal_r = _symbol("Ecal_r", r"\mathcal{E}_r", "client drift of PFL (68)", X**2, **_amount)
drift_mk = _symbol("drift_mk", r"\mathbb{E}\|x_{m,k}-x\|^2", "drift at one local step", X**2, **_amount)

# Atoms of the proofs; sums run over m = 1..S, k = 0..K-1 (or, up to (m,k), over i <= m, j <= b_mk(i))
inner_sum = _symbol(
    "inner_sum",
    r"\sum_{m,k}\mathbb{E}\langle\nabla F_{\pi_m}(x_{m,k}),x-x^*\rangle",
    "inner products of local gradients with x - x*",
    F,
)
cross_sum = _symbol(
    "cross_sum",
    r"\sum_{m,k}\mathbb{E}\langle\nabla F(x),\nabla F_{\pi_m}(x_{m,k})\rangle",
    "inner products of the global with local gradients",
    F**2 / X**2,
)
_g2 = F**2 / X**2
step_sq = _symbol(
    "step_sq", r"\mathbb{E}\|\sum_{m,k}g_{\pi_m,k}\|^2", "squared sum of stochastic gradients", _g2, **_amount
)
noise_sq = _symbol(
    "noise_sq",
    r"\mathbb{E}\|\sum_{m,k}(g_{\pi_m,k}-\nabla F_{\pi_m}(x_{m,k}))\|^2",
    "squared sum of gradient noise",
    _g2,
    **_amount,
)
move_sq = _symbol(
    "move_sq",
    r"\mathbb{E}\|\sum_{m,k}(\nabla F_{\pi_m}(x_{m,k})-\nabla F_{\pi_m}(x))\|^2",
    "squared sum of gradient changes along the drift",
    _g2,
    **_amount,
)
bias_sq = _symbol(
    "bias_sq",
    r"\mathbb{E}\|\sum_{m,k}(\nabla F_{\pi_m}(x)-\nabla F_{\pi_m}(x^*))\|^2",
    "squared sum of gradient differences to the optimum",
    _g2,
    **_amount,
)
star_sq = _symbol(
    "star_sq",
    r"\mathbb{E}\|\sum_{m,k}\nabla F_{\pi_m}(x^*)\|^2",
    "squared sum of client gradients at the optimum",
    _g2,
    **_amount,
)
local_grad_sq = _symbol(
    "local_grad_sq",
    r"\sum_{m,k}\mathbb{E}\|\nabla F_{\pi_m}(x_{m,k})\|^2",
    "sum of squared local gradients",
    _g2,
    **_amount,
)
mean_grad_sq = _symbol(
    "mean_grad_sq",
    r"\mathbb{E}\|\sum_{m,k}\nabla F_{\pi_m}(x_{m,k})\|^2",
    "squared sum of local gradients",
    _g2,
    **_amount,
)
client_bias_sq = _symbol(
    "client_bias_sq",
    r"\mathbb{E}\|\nabla F_{\pi_i}(x)-\nabla F_{\pi_i}(x^*)\|^2",
    "squared gradient difference to the optimum of one sampled client",
    _g2,
    **_amount,
)
B_mk = _symbol("B_mk", r"\mathcal{B}_{m,k}", "(m-1)K + k, number of local steps before (m,k)", **_amount)
noise_upto = _symbol(
    "noise_upto",
    r"\sum_{i\le m,\,j\le b_{m,k}(i)}\mathbb{E}\|g_{\pi_i,j}-\nabla F_{\pi_i}(x_{i,j})\|^2",
    "sum of noise variances up to (m,k)",
    _g2,
    **_amount,
)
move_upto = _symbol(
    "move_upto",
    r"\sum_{i\le m,\,j\le b_{m,k}(i)}\mathbb{E}\|\nabla F_{\pi_i}(x_{i,j})-\nabla F_{\pi_i}(x)\|^2",
    "sum of squared gradient changes up to (m,k)",
    _g2,
    **_amount,
)
bias_upto = _symbol(
    "bias_upto",
    r"\sum_{i\le m,\,j\le b_{m,k}(i)}\mathbb{E}\|\nabla F_{\pi_i}(x)-\nabla F_{\pi_i}(x^*)\|^2",
    "sum of squared gradient differences to the optimum up to (m,k)",
    _g2,
    **_amount,
)
star_upto = _symbol(
    "star_upto",
    r"\mathbb{E}\|\sum_{i\le m,\,j\le b_{m,k}(i)}\nabla F_{\pi_i}(x^*)\|^2",
    "squared sum of client gradients at the optimum up to (m,k)",
    _g2,
    **_amount,
)
T_1 = _symbol(
    "T_1",
    r"T_1",
    "squared sum of grad F_{pi_i}(x) - grad F(x) up to (m,k)",
    _g2,
    **_amount,
)

# Lemmas 3 and 4
var_swr = _symbol(
    "var_swr", r"\mathbb{E}\|\bar x_\pi-\bar x\|^2_{\mathrm{SWR}}", "variance, with replacement", _g2, **_amount
)
var_swor = _symbol(
    "var_swor", r"\mathbb{E}\|\bar x_\pi-\bar x\|^2_{\mathrm{SWOR}}", "variance, without replacement", _g2, **_amount
)
cov_pq = _symbol(
    "cov_pq", r"\mathbb{E}\langle x_{\pi_p}-\bar x,x_{\pi_q}-\bar x\rangle", "covariance of two sampled units", _g2
)
partial_sum = _symbol(
    "partial_sum",
    r"\mathbb{E}\|\sum_{i\le m}\sum_{j\le b_{m,k}(i)}(x_{\pi_i}-\bar x)\|^2",
    "squared partial sum up to (m,k) (Lemma 4)",
    _g2,
    **_amount,
)
partial_sums = _symbol(
    "partial_sums",
    r"\sum_{m=1}^{S}\sum_{k=0}^{K-1}\mathbb{E}\|\sum_{i\le m}\sum_{j\le b_{m,k}(i)}(x_{\pi_i}-\bar x)\|^2",
    "left-hand side of Lemma 4",
    _g2,
    **_amount,
)
