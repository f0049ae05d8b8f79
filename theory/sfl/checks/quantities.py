"""The meaning of the quantities in the proofs: squared norms and inner products of the vectors of one round.

C runs over the S sampled clients, I over the K local steps of a client, U over the local steps of a round before (m, k),
and J over the k steps of a client before step k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from fedtheory.theory.proofs.argument import Language
from fedtheory.theory.proofs.forms import (
    Client,
    Family,
    Gradient,
    Infimum,
    Minimiser,
    Objective,
    StochasticGradient,
    Vector,
    gradient,
    value,
    vector,
)
from fedtheory.theory.proofs.rules import Noise, spread
from fedtheory.theory.sfl.corrected import tracked_sq
from fedtheory.theory.sfl.symbols import *

C, I = Family("C", S), Family("I", K)
U, J = Family("U", B_mk, (C, I)), Family("J", k, (I,))  # the steps of the round so far, and the client's own

F_fun = Objective("F")
x, x_star = vector("x"), Minimiser("x*", F_fun)  # x^(r), and a minimiser
x_next = vector("x_next")  # x^(r+1)
x_at = vector("x_at")  # x_{m,k}, the iterate at one local step


@dataclass(frozen=True)
class Steps:
    """The vectors of the local steps of some families, outermost first; the last family in `clients` names the client."""

    clients: tuple[Family, ...]
    steps: tuple[Family, ...]

    @property
    def families(self) -> tuple[Family, ...]:
        """The families that the steps run over."""
        return self.steps

    def sum(self, e: Any) -> sympy.Expr:
        """The sum over all steps."""
        for family in reversed(self.steps):
            e = family.sum(e)
        return e

    @property
    def mass(self) -> sympy.Expr:
        """The number of steps."""
        return sympy.Mul(*(family.mass for family in self.steps))

    @property
    def function(self) -> Client:
        """F_{pi_m}."""
        return F_fun.client("F_pi", *self.clients)

    @property
    def point(self) -> Vector:
        """x_{m,k}."""
        return vector("x_mk", *self.steps)

    @property
    def stochastic(self) -> StochasticGradient:
        """g_{pi_m,k}."""
        return StochasticGradient("g", self.function, self.point)

    @property
    def local(self) -> Gradient:
        """grad F_{pi_m}(x_{m,k})."""
        return gradient(self.function, self.point)

    @property
    def at_start(self) -> Gradient:
        """grad F_{pi_m}(x)."""
        return gradient(self.function, x)

    @property
    def at_optimum(self) -> Gradient:
        """grad F_{pi_m}(x*)."""
        return gradient(self.function, x_star)

    @property
    def noise(self) -> Noise:
        """g_{pi_m,k} - grad F_{pi_m}(x_{m,k}), and the vectors known before it is drawn."""
        known = {x, x_star, self.point, self.local, self.at_start, self.at_optimum, gradient(F_fun, x)}
        return Noise(self.stochastic.error, frozenset(known))


ALL = Steps((C,), (C, I))
BEFORE = Steps((U,), (U,))
OWN = Steps((), (J,))

global_grad = gradient(F_fun, x)
at_x, at_optimum = spread(ALL.at_start), spread(ALL.at_optimum)  # variances over all clients

# The gap to the infimum, which `descent` changes; non-negative if F is bounded below
F_gap, F_gap_next = sympy.symbols("F_gap F_gap_next", nonnegative=True)
lowest = Infimum("F*", F_fun)
# The squared partial sum of the deviations from grad F(x*), and the drift of one client, summed over its steps
star_apart, own_drift = sympy.symbols("star_apart own_drift", nonnegative=True)
_WHOLE = Steps((), (I,))

_MEANS = {
    dist2: (x - x_star) ** 2,
    dist2_next: (x_next - x_star) ** 2,
    descent: value(F_fun, x_next) - value(F_fun, x),
    D_F: value(F_fun, x) - value(F_fun, x_star) - gradient(F_fun, x_star) * (x - x_star),
    F_gap: value(F_fun, x) - lowest,
    F_gap_next: value(F_fun, x_next) - lowest,
    grad_sq: global_grad**2,
    E_r: ALL.sum((ALL.point - x) ** 2),
    Ecal_r: ALL.sum((ALL.point - x) ** 2) / S,
    drift_mk: (x_at - x) ** 2,
    inner_sum: ALL.sum(ALL.local) * (x - x_star),
    cross_sum: ALL.sum(ALL.local) * global_grad,
    step_sq: ALL.sum(ALL.stochastic) ** 2,
    noise_sq: ALL.sum(ALL.noise.vector) ** 2,
    move_sq: ALL.sum(ALL.local - ALL.at_start) ** 2,
    bias_sq: ALL.sum(ALL.at_start - ALL.at_optimum) ** 2,
    star_sq: ALL.sum(ALL.at_optimum) ** 2,
    local_grad_sq: ALL.sum(ALL.local**2),
    mean_grad_sq: ALL.sum(ALL.local) ** 2,
    tracked_sq: ALL.sum(global_grad + ALL.local - ALL.at_start) ** 2,
    client_bias_sq: C.sum(sympy.expand((ALL.at_start - ALL.at_optimum) ** 2)) / S,
    noise_upto: BEFORE.sum(BEFORE.noise.vector**2),
    move_upto: BEFORE.sum((BEFORE.local - BEFORE.at_start) ** 2),
    bias_upto: BEFORE.sum((BEFORE.at_start - BEFORE.at_optimum) ** 2),
    star_upto: BEFORE.sum(BEFORE.at_optimum) ** 2,
    star_apart: BEFORE.sum(BEFORE.at_optimum - gradient(F_fun, x_star)) ** 2,
    own_drift: _WHOLE.sum((_WHOLE.point - x) ** 2),
    T_1: BEFORE.sum(BEFORE.at_start - global_grad) ** 2,
}
_ALGORITHMS = {
    "alg1": {x_next: x - eta * ALL.sum(ALL.stochastic), x_at: x - eta * BEFORE.sum(BEFORE.stochastic)},
    "alg2": {x_next: x - eta / S * ALL.sum(ALL.stochastic), x_at: x - eta * OWN.sum(OWN.stochastic)},
}
_CONSTANTS = (sigma, zeta, zeta_star, at_x, at_optimum, A, D, r0, c, c1, c2, r_t, s_t, partial_sums)
_WRITTEN = {
    "alg1": "fc9634cd482c",
    "alg2": "45070a244a88",
    "eq33": "b6eab2d3a378",
    "lemma4.lhs": "7a64fcd36d1f",
    "eq68": "a8743105a4c8",
}
LANGUAGE = Language(
    _MEANS,
    _ALGORITHMS,
    (*_MEANS, *_CONSTANTS),
    start={dist2: D**2, F_gap: A},
    average={gap: D_F},
    least={min_grad_sq: grad_sq},
    written=_WRITTEN,
    vectors={h: F_fun.client("h")},
)
