"""A textbook page as a paper: SGD on a smooth and strongly convex function."""

from __future__ import annotations

from enum import StrEnum

from sympy import Le

from theory.properties import Property
from theory.statement import F, Paper, Words, X, at_most, implied


class Own(StrEnum):
    """A property that no other paper has."""

    ALWAYS_BOUNDED = "noise bounded in every draw"  # (sigma): ||g - grad F(x)|| <= sigma


paper = Paper("sgd", "Stochastic gradient descent, a page of a textbook", "nobody, for the tests", step_sizes=("eta",))

# its symbols
_amount, _positive = {"nonnegative": True}, {"positive": True}
R = paper.symbol("R", "R", "number of steps", concept="rounds", integer=True, positive=True)
L = paper.symbol("L", "L", "smoothness constant", F / X**2, concept="smoothness", **_positive)
mu = paper.symbol("mu", r"\mu", "strong convexity constant", F / X**2, concept="strong convexity", **_positive)
sigma = paper.symbol(
    "sigma", r"\sigma", "bound on the deviation of the stochastic gradients", F / X, concept="gradient noise", **_amount
)
eta = paper.symbol("eta", r"\eta", "learning rate", X**2 / F, concept="learning rate", **_positive)
D = paper.symbol("D", "D", "||x_0 - x*||", X, concept="initial distance", **_amount)
dist2 = paper.symbol("dist2", r"\|x_r-x^*\|^2", "squared distance before a step", X**2, **_amount)
dist2_next = paper.symbol("dist2_next", r"\mathbb{E}\|x_{r+1}-x^*\|^2", "and after it", X**2, **_amount)
gap_last = paper.symbol(
    "gap_last", r"\mathbb{E}[F(x_R)]-F(x^*)", "gap of the last iterate", F, concept="gap of the last iterate", **_amount
)
gap_mean = paper.symbol(
    "gap_mean", r"\frac1R\sum_{r<R}\mathbb{E}[F(x_r)]-F(x^*)", "mean gap of the iterates", F, **_amount
)

# what it states
strongly_convex = paper.say(
    "assumption",
    "convex",
    "page 1",
    Words("F is L-smooth and mu-strongly convex."),
    gives={Property.SMOOTH: (L,), Property.STRONGLY_CONVEX: (mu,)},
)
noise = paper.say(
    "assumption",
    "noise",
    "page 1",
    Words("E g = grad F(x) and, in every draw, ||g - grad F(x)|| <= sigma."),
    gives={Property.UNBIASED: (), Own.ALWAYS_BOUNDED: (sigma,)},
)
_step = [eta <= 1 / L, implied(Le(mu, L), "of every function with both constants")]

paper.say(
    "step",
    "one_step",
    "page 2, (1)",
    at_most(dist2_next, contraction=(1 - eta * mu) * dist2, noise=eta**2 * sigma**2),
    when=_step,
    assumes=[strongly_convex, noise],
)
paper.say(
    "theorem",
    "thm",
    "page 2, Theorem",
    at_most(gap_last, optimisation=L / 2 * (1 - eta * mu) ** R * D**2, noise=L * eta * sigma**2 / (2 * mu)),
    when=_step,
    assumes=[strongly_convex, noise],
    rests_on=["one_step"],
)
paper.say(
    "theorem",
    "mean",
    "page 2, Remark",
    at_most(gap_mean, optimisation=D**2 / (eta * R), noise=eta * sigma**2),
    when=[eta <= 1 / (2 * L)],
    assumes=[strongly_convex, noise],
)


__all__ = ["paper"]
