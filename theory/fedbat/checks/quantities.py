"""The meaning of the quantities in the proofs: squared norms and inner products of the vectors of one step.

C runs over all clients with their weights p_k, Q over all clients with the squares of the weights, A over all N clients
without weights, P over the K sampled clients.  J runs over the steps of the round before step t, H over these and step t.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import sympy

from fedtheory.theory.fedbat import symbols
from fedtheory.theory.fedbat.symbols import *
from fedtheory.theory.proofs.argument import Language
from fedtheory.theory.proofs.arithmetic import at_most
from fedtheory.theory.proofs.forms import (
    Binarised,
    Client,
    Family,
    Gradient,
    Infimum,
    LearningStep,
    Minimiser,
    Objective,
    StochasticGradient,
    Vector,
    gradient,
    value,
    vector,
)
from fedtheory.theory.proofs.rules import BinarisationError, Noise

BEFORE, UP_TO = Family("J", t - t_0), Family("H", t + 1 - t_0)

F_fun = Objective("F")
w_star = Minimiser("w*", F_fun)
w_0 = vector("wbar_t0")  # the global model of the round
w_next = vector("wbar_next")  # wbar_{t+1}
w_one = vector("w_k")  # the parameters of one client
any_vector = vector("a")  # to say entry by entry that two means are equal
lowest = Infimum("F*", F_fun)


@dataclass(frozen=True)
class ClientVectors:
    """The vectors of the clients of a family."""

    family: Family

    def sum(self, e: Any) -> sympy.Expr:
        """The sum over the clients, with the family's weights."""
        return self.family.sum(sympy.expand(e))

    @property
    def mass(self) -> sympy.Expr:
        """The number of clients, or the sum of their weights."""
        return self.family.mass

    @property
    def function(self) -> Client:
        """F_k."""
        return F_fun.client("F_k", self.family)

    @property
    def lowest(self) -> Infimum:
        """F_k^*."""
        return Infimum("F_k*", self.function)

    @property
    def w(self) -> Vector:
        """w_t^k."""
        return vector("w", self.family)

    @property
    def x(self) -> Binarised:
        """x_t^k: w_t^k, with the update since the round began binarised."""
        return Binarised("x", self.w - w_0, self.w)

    @property
    def v(self) -> Vector:
        """v_{t+1}^k."""
        return vector("v", self.family)

    @property
    def stochastic(self) -> StochasticGradient:
        """grad F_k(x_t^k, xi_t^k)."""
        return StochasticGradient("g", self.function, self.x)

    @property
    def local(self) -> Gradient:
        """grad F_k(x_t^k)."""
        return gradient(self.function, self.x)

    def step(self, steps: Family) -> LearningStep:
        """eta_s grad F_k(x_s^k, xi_s^k) for the steps s of the round."""
        return LearningStep("u", self.family, steps)

    @property
    def noise(self) -> Noise:
        """The noise of the stochastic gradient, and the vectors known before its sample is drawn."""
        return Noise(self.stochastic.error, frozenset({w_bar, w_star, g_bar, grad_bar, self.x, self.local}))

    @property
    def rounding(self) -> BinarisationError:
        """x_t^k - w_t^k, and the vectors known before the parameters are binarised."""
        return BinarisationError(self.x.error, frozenset({w_bar, w_star, w_0, self.w}))

    @property
    def sent(self) -> BinarisationError:
        """S_m(v_{t+1}^k) - v_{t+1}^k at a synchronisation step; known before it are the sample and the v."""
        known = {w_bar, w_star, w_0, v_bar, self.v, sum_of_sampled, grad_v, any_vector}
        return BinarisationError(Binarised("e", self.v - w_0, sympy.S.Zero).error, frozenset(known))


_clients = partial(Family, at_once=True)
EVERY = ClientVectors(_clients("C", sympy.Integer(1)))
SQUARED = ClientVectors(_clients("Q", p_sq, square_of=EVERY.family))
EACH, SAMPLED = ClientVectors(_clients("A", N)), ClientVectors(_clients("P", K))

w_bar, g_bar, g_t, v_bar = (EVERY.sum(e) for e in (EVERY.w, EVERY.local, EVERY.stochastic, EVERY.v))
sum_of_sampled = SAMPLED.sum(SAMPLED.v)
grad_bar, grad_v = gradient(F_fun, w_bar), gradient(F_fun, v_bar)
_POINTS = {
    one: vector(one.name) for one in (symbols.x_k, symbols.w_bar, symbols.w_bar_next, symbols.v_bar, symbols.g_t)
}
_one = F_fun.client(symbols.F_k.name)
_F_bar, _F_v, _F_next = (value(F_fun, at) for at in (w_bar, v_bar, w_next))


def _own(c: ClientVectors, at: sympy.Expr) -> sympy.Expr:
    """F_k at a point."""
    return value(c.function, at)


_VALUES = {
    F_bar: _F_bar,
    F_bar_next: _F_next,
    F_v: _F_v,
    F_0: value(F_fun, vector("w_0")),
    F_T: value(F_fun, vector("w_T")),
    f_gap: value(F_fun, vector("w_0")) - lowest,
    gap_t: _F_bar - lowest,
    gap_last: _F_bar - lowest,  # at t = T, where w_T is wbar_T: see `at_the_end`
    Gamma: lowest - EVERY.sum(EVERY.lowest),
    local_gap: EVERY.sum(_own(EVERY, EVERY.x) - EVERY.lowest),
    local_gap_bar: EVERY.sum(_own(EVERY, w_bar) - EVERY.lowest),
    global_gap: EVERY.sum(_own(EVERY, EVERY.x)) - lowest,
    star_gap: EVERY.sum(_own(EVERY, EVERY.x) - _own(EVERY, w_star)),
    star_own: EVERY.sum(_own(EVERY, w_star) - EVERY.lowest),
}
_DISTANCES = {
    Delta_t: (w_bar - w_star) ** 2,
    Delta_next: (w_next - w_star) ** 2,
    Delta_1: (vector("wbar_1") - w_star) ** 2,
    dist0_sq: (vector("wbar_1") - w_star) ** 2,
    d0: (vector("w_0") - w_star) ** 2,
    v_dist: (v_bar - w_star) ** 2,
    A_1: (w_bar - w_star - eta_t * g_bar) ** 2,
    x_star_sq: EVERY.sum((EVERY.x - w_star) ** 2),
    spread_x: EVERY.sum((w_bar - EVERY.x) ** 2),
    spread_w: EVERY.sum((w_bar - EVERY.w) ** 2),
    binarised_sq: EVERY.sum((EVERY.w - EVERY.x) ** 2),
    moved_sq: EVERY.sum((EVERY.w - w_0) ** 2),
    moved_k_sq: (w_one - w_0) ** 2,
    steps_sum: BEFORE.sum(LearningStep("u", BEFORE)) ** 2,
    steps_sq: BEFORE.sum(LearningStep("u", BEFORE) ** 2),
    steps_mean: (tau - 1) * EVERY.sum(BEFORE.sum(EVERY.step(BEFORE) ** 2)),
    jump_sq: (w_next - v_bar) ** 2,
    jump_parts: SQUARED.sum(SQUARED.sent.vector**2),
    v_moved: SQUARED.sum((SQUARED.v - w_0) ** 2),
    A_bin: (SAMPLED.sum(SAMPLED.sent.vector) / K) ** 2,
    A_1_parts: SAMPLED.sum(SAMPLED.sent.vector**2) / K**2,
    A_2: (sum_of_sampled / K - v_bar) ** 2,
    v_spread: EACH.sum((EACH.v - v_bar) ** 2),
    w_mean: w_next * any_vector,
    v_mean: v_bar * any_vector,
}
_GRADIENTS = {
    noise_sq: (g_t - g_bar) ** 2,
    gbar_sq: g_bar**2,
    g_sq: g_t**2,
    grads_x_sq: EVERY.sum(EVERY.local**2),
    grads_bar_sq: EVERY.sum(gradient(EVERY.function, w_bar) ** 2),
    grad_sq: grad_bar**2,
    apart_sq: (grad_bar - g_t) ** 2,
    apart_bar_sq: (grad_bar - g_bar) ** 2,
    inner_star: (w_bar - w_star) * g_bar,
    inner_move: EVERY.sum((w_bar - EVERY.x) * EVERY.local),
    inner_down: EVERY.sum((EVERY.x - w_star) * EVERY.local),
    inner_bar: EVERY.sum(gradient(EVERY.function, w_bar) * (EVERY.x - w_bar)),
    inner_grad: grad_bar * g_t,
}
_MEANS = {**_VALUES, **_DISTANCES, **_GRADIENTS}

# The values that the algorithm gives the vectors, by definition
_ALGORITHMS = {
    # at a step without synchronisation
    "c1.sync": {w_next: v_bar, _F_next: _F_v},
    # at a synchronisation step: all clients, or the sampled clients
    "c1.update": {w_next: v_bar + EVERY.sum(EVERY.sent.vector)},
    "d1.update.corrected": {w_next: SAMPLED.sum(SAMPLED.v + SAMPLED.sent.vector) / K},
    "c1.virtual": {v_bar: w_bar - eta_t * g_t},
    # with a constant learning rate; the value at vbar, with vbar written out
    "e1.update.corrected": {v_bar: w_bar - eta * g_t, _F_v: value(F_fun, w_bar - eta * g_t)},
    # the steps since the round began
    "c1.t0": {w_one: w_0 - BEFORE.sum(LearningStep("u", BEFORE))},
}


def so_far(c: ClientVectors) -> dict[sympy.Expr, sympy.Expr]:
    """A client's update before step t, and the squares of its steps."""
    return {moved_k_sq: (c.w - w_0) ** 2, steps_sq: BEFORE.sum(c.step(BEFORE) ** 2)}


def one_step_on(c: ClientVectors) -> dict[sympy.Expr, sympy.Expr]:
    """The same a step later, when the client is at v_{t+1}^k."""
    return {moved_k_sq: (c.v - w_0) ** 2, steps_sq: UP_TO.sum(c.step(UP_TO) ** 2)}


_WRITTEN = {
    "c1.sync": "96fa0f4b69bd",
    "c1.update": "ed4053d48787",
    "d1.update.corrected": "c3023df98ab1",
    "c1.virtual": "7044993a8b59",
    "e1.update.corrected": "497ddb9fdbdb",
    "c1.t0": "c29fb9f55894",
}
LANGUAGE = Language(
    _MEANS,
    _ALGORITHMS,
    (*_MEANS, sigma, G, B, v, avg_step_grad_sq),
    start={F_bar: F_0},
    mean={avg_step_grad_sq: grad_sq},
    weighted=(EVERY.family, SQUARED.family),
    definitions={"c1.t0": (at_most(t_0, t), at_most(t - t_0, tau - 1)), "d1.update.corrected": (at_most(K, N),)},
    written=_WRITTEN,
    vectors={
        **_POINTS,
        symbols.w_star: Minimiser(symbols.w_star.name, F_fun),
        symbols.F_fun: F_fun,
        symbols.F_k: _one,
        symbols.F_k_star: Infimum(symbols.F_k_star.name, _one),
    },
)
