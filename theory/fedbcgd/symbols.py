"""The paper, its symbols, and the quantities that its statements are about.

"FedBCGD: Communication-Efficient Accelerated Block Coordinate Gradient Descent for Federated Learning" (Liu et al., ACM
Multimedia 2024).  Places are places in the supplement; "main" is the paper itself, whose appendix prints the supplement
once more with every number raised by 7.

One declaration per symbol: ASCII name, LaTeX, meaning, dimension.  X is the dimension of x, F that of f(x).  A statement
that uses a symbol in another meaning says so (`reads`).
"""

from __future__ import annotations

from typing import Any

import sympy

from fedtheory.theory.statement import NUMBER, F as _F, Paper, X

fedbcgd = Paper(
    "fedbcgd",
    "FedBCGD: Communication-Efficient Accelerated Block Coordinate Gradient Descent for Federated Learning",
    "Liu et al., ACM Multimedia 2024, supplementary materials",
    step_sizes=("eta_tilde", "eta"),
    published="2024-10",
    url="https://doi.org/10.1145/3664647.3681094",
)

_count = {"integer": True, "positive": True}
_positive = {"positive": True}
_amount = {"nonnegative": True}
_index = {"integer": True, "nonnegative": True}
_g = _F / X  # gradients
_g2 = _g**2


def _symbol(name: str, latex: str, meaning: str, dimension: sympy.Expr = NUMBER, **more: Any) -> sympy.Symbol:
    return fedbcgd.symbol(name, latex, meaning, dimension, **more)


# Counts
M = _symbol("M", "M", "number of clients", concept="clients", **_count)
N = _symbol("N", "N", "number of parameter blocks", **_count)
K = _symbol("K", "K", "clients per block", **_count)
S = _symbol("S", "S", "sampled clients, S = N K", concept="sampled clients", **_count)
T = _symbol("T", "T", "local steps in a round", concept="local steps", **_count)
R = _symbol("R", "R", "number of communication rounds", concept="rounds", **_count)
d = _symbol("d", "d", "number of parameters", **_count)
n_i = _symbol("n_i", "n_i", "number of samples of client i", **_count)
i = _symbol("i", "i", "index of a client", **_count)
j = _symbol("j", "j", "index of a block", **_count)
k = _symbol("k", "k", "index of a client in its client block", **_count)
t = _symbol("t", "t", "index of a local step", **_index)
r = _symbol("r", "r", "index of a round", **_index)
s = _symbol("s", "s", "index of an earlier round", **_index)
tau = _symbol("tau", r"\tau", "number of vectors", **_count)

# Constants of the problem and of the run
beta = _symbol("beta", r"\beta", "smoothness constant", _F / X**2, concept="smoothness", **_positive)
mu = _symbol("mu", r"\mu", "strong convexity constant", _F / X**2, concept="strong convexity", **_positive)
sigma = _symbol(
    "sigma",
    r"\sigma",
    "bound on the standard deviation of stochastic gradients",
    _g,
    concept="gradient noise",
    **_amount,
)
G = _symbol(
    "G", "G", "bound on the heterogeneity of gradients (not squared)", _g, concept="heterogeneity everywhere", **_amount
)
lam = _symbol("lam", r"\lambda", "server momentum, 0 <= lambda < 1", **_amount)
alpha = _symbol("alpha", r"\alpha", "1/(1-lambda)", **_positive)
gamma = _symbol("gamma", r"\gamma", "lambda/(1-lambda)", **_amount)
eta = _symbol("eta", r"\eta", "local step size", X**2 / _F, concept="learning rate", **_positive)
eta_tilde = _symbol(
    "eta_tilde", r"\tilde\eta", "effective step size", X**2 / _F, concept="effective learning rate", **_positive
)
eta_max = _symbol("eta_max", r"\eta_{\max}", "largest step size", X**2 / _F, **_positive)
a = _symbol("a", "a", "a constant to be chosen", **_positive)
eps = _symbol("eps", r"\epsilon", "target accuracy", _F, **_positive)
eps_grad = _symbol("eps_grad", r"\epsilon", "target accuracy for a squared gradient", _g2, **_positive)
d0 = _symbol("d0", "d_0", "||x^0 - x*||^2", X**2, concept="squared initial distance", **_amount)
D_tilde = _symbol("D_tilde", r"\tilde D", "initial distance with control variates, Theorem 2", X, **_amount)
F = _symbol("F", "F", "f(x^0) - f(x*)", _F, concept="initial gap", **_amount)
Com = _symbol("Com", r"\mathrm{Com}", "communication: rounds times floats sent per round", **_amount)
decay = _symbol("decay", r"\mathrm{rate}", "exponent per round of a linear rate", **_positive)

w_r = _symbol("w_r", "w_r", "averaging weight of round r", **_positive)

# Functions, points and vectors in assumptions, definitions and identities
f = _symbol("f", "f", "the global objective", _F)
f_i = _symbol("f_i", "f_i", "client i's objective", _F)
f_iz = _symbol("f_iz", r"f_i(\cdot;\zeta)", "client i's objective on a mini-batch", _F)
f_z = _symbol("f_z", r"f(\cdot;\zeta)", "the objective on a mini-batch", _F)
f_ij = _symbol("f_ij", r"f_i(\cdot;\zeta_{i,j})", "client i's loss on its sample j", _F)
h = _symbol("h", "h", "a function", _F)
x = _symbol("x", r"\mathbf{x}", "a point", X)
y = _symbol("y", r"\mathbf{y}", "a point", X)
z = _symbol("z", r"\mathbf{z}", "a point", X)
x1 = _symbol("x1", r"\mathbf{x}_1", "a point", X)
x2 = _symbol("x2", r"\mathbf{x}_2", "a point", X)
x_star = _symbol("x_star", r"\mathbf{x}^*", "a minimiser of f", X)
v_i = _symbol("v_i", r"\mathbf{v}_i", "a vector", X)
v_j = _symbol("v_j", r"\mathbf{v}_j", "a vector", X)
v_t = _symbol("v_t", r"\mathbf{v}_t", "one of tau vectors", X)
x_r = _symbol("x_r", r"x^r", "global model before round r", X)
x_next = _symbol("x_next", r"x^{r+1}", "global model after round r", X)
x_prev = _symbol("x_prev", r"x^{r-1}", "global model a round before", X)
x_hat = _symbol("x_hat", r"\hat x^r", "mean of what the clients sent", X)
v_r = _symbol("v_r", r"v^r", "momentum", X)
v_next = _symbol("v_next", r"v^{r+1}", "momentum a round later", X)
v_prev = _symbol("v_prev", r"v^{r-1}", "momentum a round before", X)
Dx_prev = _symbol("Dx_prev", r"\Delta x^{r-1}", "the step of (42)", X)
z_r = _symbol("z_r", r"z^r", "auxiliary iterate x^r + gamma (x^r - x^{r-1})", X)
z_next = _symbol("z_next", r"z^{r+1}", "auxiliary iterate a round later", X)
G_r = _symbol("G_r", r"\mathbf{G}^r", "virtual gradient", _g)
G_prev = _symbol("G_prev", r"\mathbf{G}^{r-1}", "virtual gradient a round before", _g)
y_t = _symbol("y_t", r"y_i^{r,t}", "client i's model after t local steps", X)
y_next = _symbol("y_next", r"y_i^{r,t+1}", "client i's model a local step later", X)
c = _symbol("c", r"\mathbf{c}", "server's control variate", _g)
c_i = _symbol("c_i", r"\mathbf{c}_i", "client i's control variate", _g)
c_next = _symbol("c_next", r"\mathbf{c}_{(j)}^{+}", "server's control variate after a round, block j", _g)
c_prev_i = _symbol("c_prev_i", r"\mathbf{c}_i^{r-1}", "client i's control variate a round before", _g)
Dc_sum = _symbol(
    "Dc_sum", r"\sum_k\Delta \mathbf{c}_{k,j,(j)}", "changes of the control variates, summed over block j", _g
)
c_shared = _symbol("c_shared", r"\mathbf{c}_s", "server's control variate, shared block", _g)
c_shared_next = _symbol("c_shared_next", r"\mathbf{c}_s^{+}", "the same after a round", _g)
Dc_shared_sum = _symbol(
    "Dc_shared_sum", r"\sum_j\sum_k\Delta \mathbf{c}_{k,j,s}", "its changes, summed over all sampled", _g
)
own_m = _symbol("own_m", r"\mathbf{a}_m", "a vector that client m computes in a round from its mini-batches", _g)
noise_j = _symbol("noise_j", r"\mathbf{n}_j", "the noise of another client's stochastic gradient", _g)
V_t = _symbol("V_t", r"\Xi_t", "one of tau random vectors", X)
m_t = _symbol("m_t", r"\xi_t", "its mean, or conditional mean", X)
sigma_x = _symbol("sigma_x", r"\sigma", "bound on the standard deviation of the random vectors", X, **_amount)
local_sum = _symbol("local_sum", r"\sum_t\nabla_{(j)}f_{k,j}(y_{k,j}^{r,t};\zeta)", "a client's summed gradients", _g)


# Quantities that the statements bound.  E is over all randomness.
def _quantity(name: str, latex: str, meaning: str, dimension: sympy.Expr, **more: Any) -> sympy.Symbol:
    return _symbol(name, latex, meaning, dimension, **_amount, **more)


gap_bar = _quantity("gap_bar", r"\mathbb{E}[f(\bar z^R)]-f(x^*)", "expected gap of the output", _F)
gap_xbar = _quantity(
    "gap_xbar",
    r"\mathbb{E}[f(\bar x^R)]-f(x^*)",
    "expected gap of the weighted average of x^0 ... x^R",
    _F,
    concept="gap of the average",
)
avg_grad_sq_later = _quantity(
    "avg_grad_sq_later",
    r"\frac1R\sum_{r=1}^R\|\nabla f(x^r)\|^2",
    "average of the squared gradient norms of rounds 1 ... R",
    _g2,
)
avg_grad_sq = _quantity(
    "avg_grad_sq",
    r"\frac1R\sum_{r<R}\mathbb{E}\|\nabla f(x^r)\|^2",
    "average of the squared gradient norms of rounds 0 ... R-1",
    _g2,
    concept="mean squared gradient",
)
grad_sq_bar = _quantity("grad_sq_bar", r"\mathbb{E}\|\nabla f(\bar z^R)\|^2", "squared gradient of the output", _g2)
gap = _quantity("gap", r"f(z^r)-f(x^*)", "gap at the auxiliary iterate", _F)
gap_next = _quantity("gap_next", r"\mathbb{E}f(z^{r+1})-f(x^*)", "the same a round later", _F)
gap_prev = _quantity("gap_prev", r"\mathbb{E}f(z^{r-1})-f(x^*)", "the same a round before", _F)
gap_x = _quantity("gap_x", r"f(x^r)-f(x^*)", "gap at the global model", _F)
gap_x_prev = _quantity("gap_x_prev", r"f(x^{r-1})-f(x^*)", "gap at the global model a round before", _F)
grad_sq = _quantity("grad_sq", r"\|\nabla f\|^2", "squared gradient norms, in the sum of the statement", _g2)
grad_sq_x = _quantity("grad_sq_x", r"\|\nabla f(x^r)\|^2", "squared gradient at the global model", _g2)
grad_sq_prev = _quantity("grad_sq_prev", r"\mathbb{E}\|\nabla f(z^{r-1})\|^2", "squared gradient a round before", _g2)
mean_grad_sq = _quantity(
    "mean_grad_sq", r"\frac1M\sum_i\|\nabla f_i(x)\|^2", "squared gradients of the clients, mean", _g2
)
sample_sq = _quantity(
    "sample_sq", r"\mathbb{E}\|\frac1K\sum_{i\in S}\nabla f_i(x)\|^2", "squared mean gradient of K sampled clients", _g2
)
block_sample_sq = _quantity(
    "block_sample_sq",
    r"\sum_j\mathbb{E}\|\frac1K\sum_{k\in S_j}\nabla_{(j)}f_k(x)\|^2",
    "the same, each block from K clients of its own",
    _g2,
)
G_sq = _quantity("G_sq", r"\mathbb{E}\|\mathbf{G}^r\|^2", "squared virtual gradient", _g2)
G_mean_sq = _quantity("G_mean_sq", r"\|\mathbb{E}\mathbf{G}^r\|^2", "squared mean virtual gradient", _g2)
G_discounted_beta = _quantity(
    "G_discounted_beta",
    r"\sum_{s\le r}\beta^{r-s}\mathbb{E}\|\mathbf{G}^s\|^2",
    "squared virtual gradients, discounted, as printed",
    _g2,
)
G_discounted = _quantity(
    "G_discounted",
    r"\sum_{s<r}\lambda^{r-1-s}\mathbb{E}\|\mathbf{G}^s\|^2",
    "squared virtual gradients of the rounds before, discounted",
    _g2,
)
inner = _symbol("inner", r"\mathbb{E}\langle-\mathbf{G}^r,z^r-x^*\rangle", "inner product with the way to x*", _F)
inner_grad = _symbol(
    "inner_grad", r"\mathbb{E}\langle\nabla f(z^r),-\mathbf{G}^r\rangle", "inner product of gradients", _g2
)
dist_sq = _quantity("dist_sq", r"\mathbb{E}\|z^r-x^*\|^2", "squared distance", X**2)
dist_next = _quantity("dist_next", r"\mathbb{E}\|z^{r+1}-x^*\|^2", "squared distance a round later", X**2)
zx_sq = _quantity("zx_sq", r"\mathbb{E}\|z^r-x^r\|^2", "squared distance of the two iterates", X**2)
drift_x = _quantity(
    "drift_x",
    r"\sum_i\sum_t\mathbb{E}\|y_i^{r,t}-x^r\|^2",
    "drift from the global model, summed over clients, steps",
    X**2,
)
drift_z = _quantity(
    "drift_z", r"\sum_i\sum_t\mathbb{E}\|y_i^{r,t}-z^r\|^2", "drift from the auxiliary iterate, summed likewise", X**2
)
E_r = _quantity("E_r", r"\mathcal{E}_r", "drift, mean over clients and steps", X**2)
local_sum_sq = _quantity(
    "local_sum_sq", r"\mathbb{E}\|\sum_i\sum_t\nabla f_i(y_i^{r,t})\|^2", "squared sum of all local gradients", _g2
)
C_prev = _quantity("C_prev", r"C_{r-1}", "lag of the control variates before the round", _g2)
C_r = _quantity("C_r", r"C_r", "lag of the control variates", _g2)
Xi = _quantity("Xi", r"\Xi_{r-1}", "lag of the points of the control variates", X**2)
Xi_r = _quantity("Xi_r", r"\Xi_r", "the same a round later", X**2)
Psi_R = _quantity("Psi_R", r"\Psi_R", "the left side of the recursion lemmas", _F)
c_lemma = _quantity("c_lemma", "c", "noise constant of Lemma 7", _g2)
c1 = _quantity("c1", "c_1", "noise constants of Lemma 8", _g2)
c2 = _quantity("c2", "c_2", "noise constants of Lemma 8", _F**3 / X**4)
Com_other = _symbol("Com_other", r"\mathrm{Com}'", "the communication of another method", **_amount)
C_1 = _quantity("C_1", "C_1", "the constant (64)", X**2 / _F)

# Quantities of the corrected statements
v_sq = _quantity("v_sq", r"\mathbb{E}\|v^r\|^2", "squared momentum, v^r = x^r - x^{r-1}", X**2)
v_next_sq = _quantity("v_next_sq", r"\mathbb{E}\|v^{r+1}\|^2", "the same a round later", X**2)
lag = _quantity(
    "lag", r"\frac1M\sum_i\mathbb{E}\|\mathbf{c}_i-\nabla f_i(x^r)\|^2", "lag of the control variates from x^r", _g2
)
lag_next = _quantity(
    "lag_next", r"\frac1M\sum_i\mathbb{E}\|\mathbf{c}_i^+-\nabla f_i(x^{r+1})\|^2", "a round later", _g2
)
C_0 = _quantity(
    "C_0",
    r"\frac1M\sum_i\|\mathbf{c}_i^0-\nabla f_i(x^*)\|^2",
    "lag of the control variates from x*, at the start",
    _g2,
)
lag_0 = _quantity(
    "lag_0", r"\frac1M\sum_i\|\mathbf{c}_i^0-\nabla f_i(x^0)\|^2", "lag of the control variates, at the start", _g2
)
