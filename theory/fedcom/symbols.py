"""The paper, its symbols, and the quantities that its statements are about.

One declaration per symbol: ASCII name, LaTeX, meaning, dimension.  X is the dimension of w, F that of f(w).  Section F
writes p for the number of clients, the rest of the paper m; here it is m throughout.
"""

from __future__ import annotations

from typing import Any

import sympy

from fedtheory.theory.statement import NUMBER, F, Paper, X

fedcom = Paper(
    "fedcom",
    "Federated Learning with Compression: Unified Analysis and Sharp Guarantees (supplement)",
    "Farzin Haddadpour, Mohammad Mahdi Kamani, Aryan Mokhtari and Mehrdad Mahdavi, AISTATS 2021",
    step_sizes=("eta", "gamma"),
    published="2021-04",
    url="https://arxiv.org/abs/2007.01154",
)

_count = {"integer": True, "positive": True}
_positive = {"positive": True}
_amount = {"nonnegative": True}
_index = {"integer": True, "nonnegative": True}


def _symbol(name: str, latex: str, meaning: str, dimension: sympy.Expr = NUMBER, **more: Any) -> sympy.Symbol:
    return fedcom.symbol(name, latex, meaning, dimension, **more)


# Counts
m = _symbol("m", "m", "number of clients (p in Section F)", concept="clients", **_count)
tau = _symbol("tau", r"\tau", "number of local steps in a round", concept="local steps", **_count)
R = _symbol("R", "R", "number of communication rounds", concept="rounds", **_count)
n = _symbol("n", "n", "largest number of samples of a client (finite sums)", **_count)
j = _symbol("j", "j", "index of a client", **_count)
c = _symbol("c", "c", "index of a local step", **_index)

# Constants of the problem, of the compressor and of the run
L = _symbol("L", "L", "smoothness constant of every f_j (Assumption 1)", F / X**2, concept="smoothness", **_positive)
mu = _symbol(
    "mu",
    r"\mu",
    "PL or strong convexity constant (Assumptions 6, 7)",
    F / X**2,
    concept="strong convexity",
    **_positive,
)
kappa = _symbol("kappa", r"\kappa", "condition number L / mu", concept="condition number", **_positive)
sigma = _symbol(
    "sigma",
    r"\sigma",
    "bound on the standard deviation of stochastic gradients",
    F / X,
    concept="gradient noise",
    **_amount,
)
q = _symbol("q", "q", "compression variance factor (Assumption 2)", **_amount)
G_q = _symbol("G_q", "G_q", "heterogeneity of compression (Assumption 5)", F**2 / X**2, **_amount)
eta = _symbol("eta", r"\eta", "local learning rate", X**2 / F, concept="learning rate", **_positive)
gamma = _symbol("gamma", r"\gamma", "global learning rate", **_positive)
phi = _symbol("phi", r"\phi", "regularisation: f(w) + (phi/2) ||w||^2", F / X**2, concept="regularisation", **_positive)
epsilon = _symbol("epsilon", r"\epsilon", "target accuracy", **_positive)
f_gap = _symbol("f_gap", r"(f(w^{(0)})-f(w^{(*)}))", "initial gap", F, concept="initial gap", **_amount)
fj_gap_mean = _symbol(
    "fj_gap_mean",
    r"\frac1m\sum_j[f_j(w_j^{(0)})-f_j(w_j^{(*)})]",
    "mean initial gap of the clients",
    F,
    concept="gaps of the clients at the start",
    **_amount,
)
dist_sq_mean = _symbol(
    "dist_sq_mean",
    r"\frac1m\sum_j\|w_j^{(0,0)}-w_j^{(*)}\|^2",
    "mean squared initial distance to the clients' own minimisers",
    X**2,
    concept="squared distances to the clients' minimisers",
    **_amount,
)
w_star_norm = _symbol(
    "w_star_norm", r"\|w^{(*)}\|", "norm of the minimiser", X, concept="norm of the minimiser", **_amount
)
w0_norm = _symbol("w0_norm", r"\|w^{(0)}\|", "norm of the start", X, concept="norm of the start", **_amount)
het_start = _symbol(
    "het_start",
    r"\frac1m\sum_j\|\nabla f_j(w^{(0)})-\nabla f(w^{(0)})\|^2",
    "heterogeneity of the gradients at the start",
    F**2 / X**2,
    concept="heterogeneity at the start",
    **_amount,
)

# Functions, points and vectors in assumptions and identities
f = _symbol("f", "f", "the global objective", F)
f_j = _symbol("f_j", "f_j", "client j's objective", F)
u = _symbol("u", r"\mathbf{u}", "a point", X)
v = _symbol("v", r"\mathbf{v}", "a point", X)
w = _symbol("w", r"\mathbf{w}", "a point; the global model", X)
w_star = _symbol("w_star", r"\mathbf{w}^{(*)}", "a minimiser of f", X)
Q = _symbol("Q", "Q", "the compressor", F / X)
x = _symbol("x", r"\mathbf{x}", "a message", F / X)
x_i = _symbol("x_i", r"\mathbf{x}_i", "another client's message", F / X)
g_tilde = _symbol("g_tilde", r"\tilde{\mathbf{g}}_j(w)", "stochastic gradient of client j at w", F / X)
w_end = _symbol("w_end", r"w_j^{(\tau,r)}", "client j's model after the local steps", X)
g_sum = _symbol("g_sum", r"\sum_c\tilde g_j^{(c,r)}", "client j's stochastic gradients of the round, summed", F / X)
g_sum_mean = _symbol("g_sum_mean", r"\frac1m\sum_j\sum_c\tilde g_j^{(c,r)}", "the same, mean over clients", F / X)
message_mean = _symbol("message_mean", r"\frac1m\sum_jQ(\sum_c\tilde g_j^{(c,r)})", "mean of the messages", F / X)
w_r = _symbol("w_r", r"w^{(r)}", "global model before round r", X)
w_next = _symbol("w_next", r"w^{(r+1)}", "global model after round r", X)
g_Q_mean = _symbol("g_Q_mean", r"\mathbb{E}_Q[\tilde g_Q^{(r)}]", "mean of the compressed global step, printed", X)
delta = _symbol("delta", r"\delta_j^{(r)}", "gradient tracking of client j before round r", F / X)
delta_next = _symbol("delta_next", r"\delta_j^{(r+1)}", "the same a round later", F / X)
delta_sum = _symbol("delta_sum", r"\sum_{k}(\Delta_q^{(k)}-\Delta_{j,q}^{(k)})", "sum over the rounds 0 ... r", F / X)
delta_mean = _symbol("delta_mean", r"\frac1m\sum_j\delta_j^{(r)}", "mean of the gradient trackings", F / X)
Delta_jq = _symbol("Delta_jq", r"\Delta_{j,q}^{(r)}", "client j's message", F / X)
Delta_q = _symbol("Delta_q", r"\Delta_q^{(r)}", "mean of the messages", F / X)
d_next = _symbol("d_next", r"\mathbb{E}_Q[\tilde d_{jq}^{(c,r+1)}]", "mean local direction a round later", F / X)
g_next = _symbol("g_next", r"\tilde g_j^{(c,r+1)}", "stochastic gradient a round later", F / X)
g_i = _symbol("g_i", r"\mathbf{g}_i", "full gradient of client i", F / X)
g_j = _symbol("g_j", r"\mathbf{g}_j", "full gradient of client j", F / X)
d_ij = _symbol("d_ij", "d_{ij}", "cosine similarity of two clients' gradients")

# Quantities that the statements bound.  E is over all randomness.
_g2 = F**2 / X**2


def _quantity(name: str, latex: str, meaning: str, dimension: sympy.Expr, **more: Any) -> sympy.Symbol:
    return _symbol(name, latex, meaning, dimension, **_amount, **more)


avg_grad_sq = _quantity(
    "avg_grad_sq",
    r"\frac1R\sum_{r<R}\mathbb{E}\|\nabla f(w^{(r)})\|^2",
    "average of the squared gradient norms of rounds 0 ... R-1",
    _g2,
    concept="mean squared gradient",
)
gap_last = _quantity(
    "gap_last",
    r"\mathbb{E}[f(w^{(R)})-f(w^{(*)})]",
    "expected gap after R rounds",
    F,
    concept="gap of the last iterate",
)
gap_r = _quantity("gap_r", r"\mathbb{E}[f(w^{(r)})-f(w^{(*)})]", "expected gap before round r", F)
grad_sq = _quantity("grad_sq", r"\mathbb{E}\|\nabla f(w^{(r)})\|^2", "expected squared gradient norm", _g2)
inner = _symbol(
    "inner",
    r"\mathbb{E}\langle\nabla f(w^{(r)}),\tilde g^{(r)}\rangle",
    "inner product of the gradient with the mean of the clients' summed stochastic gradients",
    _g2,
)
message_sq = _quantity(
    "message_sq",
    r"\mathbb{E}\|\frac1m\sum_jQ(\sum_c\tilde g_j^{(c,r)})\|^2",
    "squared norm of the mean message",
    _g2,
)
tracked_message_sq = _quantity(
    "tracked_message_sq",
    r"\mathbb{E}\|\frac1m\sum_jQ(\sum_c\tilde g_j^{(c,r)}-\delta_j^{(r)})\|^2",
    "squared norm of the mean message, with gradient tracking",
    _g2,
)
grad_sq_sum_mean = _quantity(
    "grad_sq_sum_mean",
    r"\frac1m\sum_j\sum_c\|g_j^{(c,r)}\|^2",
    "squared local gradients, summed over the steps of a round, mean over clients",
    _g2,
)
grad_sq_sum = _quantity(
    "grad_sq_sum", r"\sum_c\|g_j^{(c,r)}\|^2", "squared local gradients of client j, summed over the round", _g2
)
mean_grad_sq_sum = _quantity(
    "mean_grad_sq_sum",
    r"\sum_c\|\frac1m\sum_jg_j^{(c,r)}\|^2",
    "squared norm of the clients' mean local gradient, summed over the round",
    _g2,
)
mean_grad_sq_prev = _quantity(
    "mean_grad_sq_prev", r"\sum_c\|\frac1m\sum_jg_j^{(c,r-1)}\|^2", "the same, a round before", _g2
)
drift = _quantity("drift", r"\mathbb{E}\|w^{(r)}-w_j^{(c,r)}\|^2", "drift of client j at local step c", X**2)
drift_sum = _quantity("drift_sum", r"\sum_c\|w_j^{(c,r)}-w^{(r)}\|^2", "drift of client j, summed over the round", X**2)
drift_sum_prev = _quantity("drift_sum_prev", r"\sum_c\|w_j^{(c,r-1)}-w^{(r-1)}\|^2", "the same, a round before", X**2)
drift_mean = _quantity(
    "drift_mean",
    r"\frac1m\sum_j\sum_c\mathbb{E}\|w_j^{(c,r)}-w^{(r)}\|^2",
    "drift summed over the round, mean over clients",
    X**2,
)
drift_mean_prev = _quantity(
    "drift_mean_prev", r"\frac1m\sum_j\sum_c\mathbb{E}\|w_j^{(c,r-1)}-w^{(r-1)}\|^2", "the same, a round before", X**2
)
drift_start = _quantity(
    "drift_start", r"\frac1m\sum_j\sum_c\|w_j^{(c,0)}-w^{(0)}\|^2", "the same, in the first round", X**2
)
drift_total = _quantity(
    "drift_total",
    r"\sum_{r<R}\frac1m\sum_j\sum_c\mathbb{E}\|w_j^{(c,r)}-w^{(r)}\|^2",
    "drift summed over all rounds, mean over clients",
    X**2,
)
direction_sq = _quantity(
    "direction_sq",
    r"\frac1m\sum_j\mathbb{E}\|\sum_c\tilde d_j^{(c,r)}\|^2",
    "squared sum of the local directions (65), mean over clients",
    _g2,
)
direction_total = _quantity(
    "direction_total",
    r"\sum_{r<R}\frac1m\sum_j\sum_c\mathbb{E}\|\sum_{c}\tilde d_j^{(c,r)}\|^2",
    "the same, times tau, summed over all rounds",
    _g2,
)
noise_sq = _quantity(
    "noise_sq",
    r"\frac2m\sum_j\mathbb{E}\|\sum_c[(\tilde g_j^{(c,r)}-g_j^{(c,r)})"
    r"+\frac1\tau\sum_c(\frac1m\sum_i(\tilde g_i^{(c,r-1)}-g_i^{(c,r-1)})+g_j^{(c,r-1)}-\tilde g_j^{(c,r-1)})]\|^2",
    "noise of the local directions, times 2",
    _g2,
)
tracked_grad_sq = _quantity(
    "tracked_grad_sq",
    r"\|\sum_c[g_j^{(c,r)}+\frac1\tau\sum_c(\frac1m\sum_ig_i^{(c,r-1)}-g_j^{(c,r-1)})]\|^2",
    "squared sum of the noiseless local directions of client j",
    _g2,
)
move_sq = _quantity("move_sq", r"\mathbb{E}\|w^{(r)}-w^{(r-1)}\|^2", "squared global step of the round before", X**2)
next_move_sq = _quantity("next_move_sq", r"\mathbb{E}\|w^{(r+1)}-w^{(r)}\|^2", "squared global step of the round", X**2)
move_total = _quantity(
    "move_total",
    r"\frac1m\sum_j\sum_{r}\sum_{c,r}\sum_{c,r-1}\mathbb{E}\|w^{(r)}-w^{(r-1)}\|^2",
    "squared global steps, tau^2 times each, summed over the rounds",
    X**2,
)
grad_sq_prev = _quantity("grad_sq_prev", r"\|g^{(r-1)}\|^2", "squared global gradient, a round before", _g2)
grad_sq_start = _quantity("grad_sq_start", r"\|g^{(0)}\|^2", "squared global gradient at the start", _g2)
grad_sq_total = _quantity(
    "grad_sq_total", r"\sum_{r<R}\sum_c\|g^{(r)}\|^2", "tau times the squared gradients, summed over the rounds", _g2
)
mean_grad_sq_total = _quantity(
    "mean_grad_sq_total",
    r"\sum_{r=1}^{R-1}\sum_c\|\frac1m\sum_jg_j^{(c,r-1)}\|^2",
    "squared norms of the mean local gradients, summed over all rounds but the last",
    _g2,
)
start_sum = _quantity(
    "start_sum",
    r"\frac1m\sum_j\|\sum_c(g_j^{(c,0)}-g^{(0)})\|^2",
    "squared sum of the gradient differences in the first round, mean over clients",
    _g2,
)
start_partial = _quantity(
    "start_partial",
    r"\frac1m\sum_j\sum_c\|\sum_{k\le c}(\nabla f_j(w_j^{(k,0)})-\nabla f(w^{(0)}))\|^2",
    "C of Lemma F.1: the same with partial sums, summed over the round",
    _g2,
)
tracking_sq = _quantity(
    "tracking_sq",
    r"\frac1m\sum_j\mathbb{E}\|\delta_j^{(r)}-(\nabla f_j-\nabla f)(w^{(r)})\|^2",
    "error of the gradient tracking before round r",
    _g2,
)
tracking_next = _quantity(
    "tracking_next",
    r"\frac1m\sum_j\mathbb{E}\|\delta_j^{(r+1)}-(\nabla f_j-\nabla f)(w^{(r+1)})\|^2",
    "the same, a round later",
    _g2,
)
a_next = _quantity("a_next", r"a_{r+1}", "expected gap a round later, in the proof of Theorem E.6", F)
a_prev = _quantity("a_prev", r"a_{r-1}", "expected gap a round before", F)
e_prev = _quantity("e_prev", r"e_{r-1}", "squared mean local gradients, summed over the round before", _g2)
e_prev2 = _quantity("e_prev2", r"e_{r-2}", "the same, two rounds before", _g2)
c_noise = _quantity("c_noise", "c", "the constant (85)", F)
