"""The field's symbols, quantities and assumptions, ready for a paper of one's own: each with unit, concept and LaTeX.

    gap        F(x_r) - F*         gap.next after the round, gap.last after R rounds, gap.average of the averaged iterate
    dist2      ||x_r - x*||^2      dist2.next, dist2.last
    grad_sq    ||grad F(x_r)||^2   grad_sq.next, grad_sq.mean over the rounds, grad_sq.smallest
    drift      the mean over clients and local steps of ||y - x_r||^2
    local_sq   the mean over clients of ||grad F_m(x_r)||^2

Expectations are meant.  h is the effective step size; a paper says what it is, such as K eta.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import sympy

from fedtheory.theory.concepts import NUMBER, F, X
from fedtheory.theory.properties import Property
from fedtheory.theory.statement import Symbol

SYMBOLS: dict[str, Symbol] = {}


class RoundQuantity(sympy.Symbol):  # sympy prints a `Quantity` as one of physics
    """A quantity before a round.  `next`, `last`, `average`, `mean`, `smallest` are the same at other times of a run."""

    def _at(self, time: str) -> RoundQuantity:
        name = _TIMES.get((self.name, time))
        if name is None:
            known = ", ".join(other for one, other in _TIMES if one == self.name) or "none"
            raise AttributeError(f"{self.name}.{time}: expected one of {known}")
        found = SYMBOLS[name].sympy
        assert isinstance(found, RoundQuantity)
        return found

    @property
    def of_run(self) -> bool:
        """Whether it is about all rounds of a run, not about one."""
        return any(name == self.name and time != "next" for (_, time), name in _TIMES.items())

    @property
    def next(self) -> RoundQuantity:
        """After the round."""
        return self._at("next")

    @property
    def last(self) -> RoundQuantity:
        """After R rounds."""
        return self._at("last")

    @property
    def average(self) -> RoundQuantity:
        """Of the average of x_0 ... x_R, with the paper's weights."""
        return self._at("average")

    @property
    def mean(self) -> RoundQuantity:
        """The mean over the rounds 0 ... R - 1."""
        return self._at("mean")

    @property
    def smallest(self) -> RoundQuantity:
        """The smallest of the rounds 0 ... R."""
        return self._at("smallest")


class OwnQuantity(RoundQuantity):
    """A quantity of a paper's own: `next` after the round, `last` after R rounds."""

    def _at(self, time: str) -> RoundQuantity:
        if time not in ("next", "last"):
            raise AttributeError(f"{self.name}.{time}: expected one of next, last")
        return OwnQuantity(f"{self.name}_{time}", real=True, nonnegative=True)

    @property
    def of_run(self) -> bool:
        """Whether it is about all rounds of a run, not about one."""
        return self.name.endswith("_last")


_TIMES: dict[tuple[str, str], str] = {}


def _symbol(name: str, latex: str, meaning: str, unit: Any = NUMBER, concept: str | None = None, **domain: bool) -> Any:
    found = sympy.Symbol(name, real=True, **domain)
    SYMBOLS[name] = Symbol(name, latex, meaning, sympy.sympify(unit), found, concept)
    return found


def _quantity(
    name: str, latex: str, meaning: str, unit: Any, concept: str | None = None, of: str = "", time: str = ""
) -> RoundQuantity:
    found = RoundQuantity(name, real=True, nonnegative=True)
    SYMBOLS[name] = Symbol(name, latex, meaning, sympy.sympify(unit), found, concept)
    if of:
        _TIMES[of, time] = name
    return found


_COUNT, _POSITIVE, _AMOUNT = {"integer": True, "positive": True}, {"positive": True}, {"nonnegative": True}
_GRAD = F**2 / X**2
# fmt: off
# ruff: noqa: E501
M = _symbol("M", "M", "number of clients", concept="clients", **_COUNT)
S = _symbol("S", "S", "sampled clients of a round", concept="sampled clients", **_COUNT)
K = _symbol("K", "K", "local steps", concept="local steps", **_COUNT)
R = _symbol("R", "R", "rounds", concept="rounds", **_COUNT)
eta = _symbol("eta", r"\eta", "learning rate", X**2 / F, "learning rate", **_POSITIVE)
h = _symbol("eta_tilde", r"\tilde\eta", "effective learning rate", X**2 / F, "effective learning rate", **_POSITIVE)
L = _symbol("L", "L", "smoothness constant", F / X**2, "smoothness", **_POSITIVE)
mu = _symbol("mu", r"\mu", "strong convexity constant", F / X**2, "strong convexity", **_POSITIVE)
sigma = _symbol("sigma", r"\sigma", "standard deviation of the stochastic gradients", F / X, "gradient noise", **_AMOUNT)
G = _symbol("G_max", "G", "bound on the root of E||g||^2", F / X, None, **_AMOUNT)
omega = _symbol("omega", r"\omega", "variance of the compressor: E||Q(v) - v||^2 <= omega ||v||^2", NUMBER, None, **_POSITIVE)
delta = _symbol("delta", r"\delta", "E||C(v) - v||^2 <= (1 - delta) ||v||^2", NUMBER, None, **_POSITIVE)
spread = _symbol("zeta", r"\zeta", "root of the mean of ||grad F_m - grad F||^2 at its largest", F / X, "absolute heterogeneity", **_AMOUNT)
zeta = _symbol("zeta_star", r"\zeta_*", "root of the mean of ||grad F_m(x*)||^2", F / X, "heterogeneity at the optimum", **_AMOUNT)
D = _symbol("D", "D", "||x_0 - x*||", X, "initial distance", **_AMOUNT)
Delta = _symbol("Delta", r"\Delta", "F(x_0) - F*", F, "initial gap", **_AMOUNT)
r = _symbol("r", "r", "a round", NUMBER, None, integer=True, nonnegative=True)
w_r = _symbol("w_r", "w_r", "weight of round r in the average", NUMBER, None, **_POSITIVE)
gap = _quantity("gap", r"\mathbb{E}F(x_r)-F^*", "gap before a round", F)
_quantity("gap_next", r"\mathbb{E}F(x_{r+1})-F^*", "gap after the round", F, None, "gap", "next")
_quantity("gap_last", r"\mathbb{E}F(x_R)-F^*", "gap after R rounds", F, "gap of the last iterate", "gap", "last")
_quantity("gap_average", r"\mathbb{E}F(\bar x_R)-F^*", "gap of the averaged iterate", F, "gap of the average", "gap", "average")
dist2 = _quantity("dist2", r"\mathbb{E}\|x_r-x^*\|^2", "squared distance before a round", X**2)
_quantity("dist2_next", r"\mathbb{E}\|x_{r+1}-x^*\|^2", "squared distance after the round", X**2, None, "dist2", "next")
_quantity("dist2_last", r"\mathbb{E}\|x_R-x^*\|^2", "squared distance after R rounds", X**2, "squared distance of the last iterate", "dist2", "last")
grad_sq = _quantity("grad_sq", r"\mathbb{E}\|\nabla F(x_r)\|^2", "squared gradient before a round", _GRAD)
_quantity("grad_next", r"\mathbb{E}\|\nabla F(x_{r+1})\|^2", "squared gradient after the round", _GRAD, None, "grad_sq", "next")
_quantity("grad_mean", r"\frac1R\sum_{r<R}\mathbb{E}\|\nabla F(x_r)\|^2", "mean squared gradient", _GRAD,
          "mean squared gradient", "grad_sq", "mean")
_quantity("grad_smallest", r"\min_{r\le R}\mathbb{E}\|\nabla F(x_r)\|^2", "smallest squared gradient", _GRAD,
          "smallest squared gradient", "grad_sq", "smallest")
drift = _quantity("drift", r"\mathcal{E}_r", "mean squared distance of the clients from x_r in a round", X**2)
local_sq = _quantity("local_sq", r"\frac1M\sum_m\mathbb{E}\|\nabla F_m(x_r)\|^2", "mean squared gradient of the clients before a round", _GRAD)
AT_START = frozenset({gap, dist2, grad_sq, local_sq})  # the steps of a round do not change them
# fmt: on


@dataclass(frozen=True)
class Assumption:
    """An assumption by its name, in words, with the properties that it gives to checks and proofs."""

    name: str
    words: str
    gives: Mapping[StrEnum, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def independent(self) -> Assumption:
        """The same with noise that is independent across clients."""
        words = f"{self.words} The noise is independent across clients."
        return replace(
            self, name=f"{self.name}_independent", words=words, gives={**self.gives, Property.INDEPENDENT_NOISE: ()}
        )


_MINIMISER: dict[StrEnum, tuple[Any, ...]] = {Property.MINIMISER: ()}
smooth = Assumption("smooth", "Every F_m is L-smooth.", {Property.SMOOTH: (L,)})
convex = Assumption("convex", "Every F_m is convex, and F has a minimiser.", {Property.CONVEX: (), **_MINIMISER})
strongly_convex = Assumption(
    "strongly_convex", "Every F_m is mu-strongly convex.", {Property.STRONGLY_CONVEX: (mu,), **_MINIMISER}
)
convex_mean = Assumption("convex_mean", "F is convex and has a minimiser.", {Property.CONVEX_MEAN: (), **_MINIMISER})
strongly_convex_mean = Assumption(
    "strongly_convex_mean", "F is mu-strongly convex.", {Property.STRONGLY_CONVEX_MEAN: (mu,), **_MINIMISER}
)
bounded_below = Assumption("bounded_below", "F is bounded below.", {Property.BOUNDED_BELOW: ()})
noise = Assumption(
    "noise",
    "Stochastic gradients are unbiased and have a variance of at most sigma^2.",
    {Property.UNBIASED: (), Property.VARIANCE: (sigma,)},
)
heterogeneity = Assumption(
    "heterogeneity",
    "The mean of ||grad F_m(x*)||^2 is at most zeta_*^2.",
    {Property.HETEROGENEITY_AT_OPTIMUM: (zeta,)},
)
spread_everywhere = Assumption(
    "spread_everywhere",
    "At every point the mean of ||grad F_m - grad F||^2 is at most zeta^2.",
    {Property.HETEROGENEITY: (sympy.S.Zero, spread)},
)
bounded_gradient = Assumption(
    "bounded_gradient", "E||g||^2 <= G^2 for every stochastic gradient.", {Property.BOUNDED_GRADIENT: (G,)}
)
compressor = Assumption(
    "compressor",
    "Every compressor is unbiased, E||Q(v) - v||^2 <= omega ||v||^2, independently of the others.",
    {Property.COMPRESSOR: (omega,), Property.INDEPENDENT_COMPRESSORS: ()},
)
contractive = Assumption("contractive", "E||C(v) - v||^2 <= (1 - delta) ||v||^2.", {Property.CONTRACTIVE: (delta,)})

__all__ = [
    "D", "Delta", "G", "K", "L", "M", "R", "S", "bounded_below", "bounded_gradient", "compressor", "contractive", "convex",
    "convex_mean", "delta", "dist2", "drift", "eta", "gap", "grad_sq", "h", "heterogeneity", "local_sq", "mu", "noise", "omega",
    "r", "sigma", "smooth", "spread", "spread_everywhere", "strongly_convex", "strongly_convex_mean", "w_r", "zeta",
]  # fmt: skip
