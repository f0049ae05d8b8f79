"""FedAnchor: local SGD whose clients subtract their own anchor gradient and add the mean one; a paper outside."""

from __future__ import annotations

from fedtheory.theory.listing import Gradient, Line, Listing, Total, Variable, let, loop, names
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import F, Paper, Words, X, at_most, implied

paper = Paper("fedanchor", "Anchored local SGD", "A. Student, thesis chapter 3", step_sizes=("eta", "eta_tilde"))

_amount, _positive, _count = {"nonnegative": True}, {"positive": True}, {"integer": True, "positive": True}
s = paper.symbol
R = s("R", "R", "number of rounds", concept="rounds", **_count)
M = s("M", "M", "number of clients", concept="clients", **_count)
K = s("K", "K", "number of local steps", concept="local steps", **_count)
L = s("L", "L", "smoothness constant", F / X**2, concept="smoothness", **_positive)
mu = s("mu", r"\mu", "strong convexity constant", F / X**2, concept="strong convexity", **_positive)
sigma = s(
    "sigma", r"\sigma", "standard deviation of the stochastic gradients", F / X, concept="gradient noise", **_amount
)
eta = s("eta", r"\eta", "learning rate", X**2 / F, concept="learning rate", **_positive)
h = s("eta_tilde", r"\tilde\eta", "K eta", X**2 / F, concept="effective learning rate", **_positive)
Delta = s("Delta", r"\Delta", "F(x_0) - F*", F, concept="initial gap", **_amount)
gap = s("gap", r"\mathbb{E}F(x_r)-F^*", "gap before a round", F, **_amount)
gap_next = s("gap_next", r"\mathbb{E}F(x_{r+1})-F^*", "gap after a round", F, **_amount)
gap_last = s(
    "gap_last", r"\mathbb{E}F(x_R)-F^*", "gap of the last iterate", F, concept="gap of the last iterate", **_amount
)
grad_sq = s("grad_sq", r"\mathbb{E}\|\nabla F(x_r)\|^2", "squared gradient before a round", F**2 / X**2, **_amount)
E_r = s("E_r", r"\mathcal{E}_r", "mean squared drift of a round: (1/MK) sum E||y_ik - x_r||^2", X**2, **_amount)

smooth = paper.say("assumption", "smooth", "ch. 3", Words("Every F_i is L-smooth."), gives={Property.SMOOTH: (L,)})
convex = paper.say(
    "assumption",
    "convex",
    "ch. 3",
    Words("F is mu-strongly convex."),
    gives={Property.STRONGLY_CONVEX_MEAN: (mu,), Property.MINIMISER: ()},
)
noise = paper.say(
    "assumption",
    "noise",
    "ch. 3",
    Words("Gradients at local steps are unbiased, of variance at most sigma^2, independent."),
    gives={Property.UNBIASED: (), Property.VARIANCE: (sigma,), Property.INDEPENDENT_NOISE: ()},
)
clients = paper.say(
    "assumption", "clients", "ch. 3", Words("F is the mean of the F_i."), gives={Property.EQUAL_WEIGHTS: ()}
)
_where = {h: K * eta}

# Algorithm 1
_r, _i, _j, _k, _eta, _K, _M, _R = names("r i j k eta K M R")
_x, _y = Variable("x", "x^({0})"), Variable("y", "y_{{{client},{1}}}^({0})", client=_i)
_g = Gradient(_i, _y[_r, _k], _k, "g_{i,k}")
_own, _other = (Gradient(one, _x[_r], None, f"grad F_{one}(x^(r))") for one in (_i, _j))  # exact
paper.say(
    "algorithm",
    "alg1",
    "ch. 3, Algorithm 1",
    Listing(
        (
            Line(1, 0, loop(_r, 0, _R - 1, "for round {index} = {first}, ..., {last} do")),
            Line(2, 1, loop(_i, 1, _M, "for client {index} = {first}, ..., {last} in parallel do", parallel=True)),
            Line(3, 2, let(_y[_r, 0], _x[_r])),
            Line(4, 2, loop(_k, 0, _K - 1, "for local step {index} = {first}, ..., {last} do")),
            Line(5, 3, let(_y[_r, _k + 1], _y[_r, _k] - _eta * (_g - _own + 1 / _M * Total(_j, _M, _other)))),
            Line(6, 1, let(_x[_r + 1], 1 / _M * Total(_i, _M, _y[_r, _K]))),
        )
    ),
)

paper.say(
    "lemma",
    "drift",
    "ch. 3, Lemma 1",
    at_most(E_r, noise=6 * h**2 * sigma**2 / K, gradient=6 * h**2 * grad_sq),
    where=_where,
    when=[h <= 1 / (3 * L)],
    assumes=[smooth, noise, clients],
)
paper.say(
    "lemma",
    "descent",
    "ch. 3, Lemma 2",
    at_most(
        gap_next, gap=gap, progress=-h / 2 * grad_sq, drift=h * L**2 / 2 * E_r, noise=L * h**2 * sigma**2 / (M * K)
    ),
    where=_where,
    when=[h <= 1 / (2 * L)],
    assumes=[smooth, convex, noise, clients],
)
paper.say(
    "theorem",
    "thm",
    "ch. 3, Theorem 1",
    at_most(
        gap_last,
        optimisation=(1 - mu * h / 2) ** R * Delta,
        noise=2 * L * h * sigma**2 / (mu * M * K),
        drift=6 * L**2 * h**2 * sigma**2 / (mu * K),
    ),
    where=_where,
    when=[h <= 1 / (4 * L), implied(mu <= L, "of every function with both constants")],
    assumes=[smooth, convex, noise, clients],
    rests_on=["drift", "descent"],
)
