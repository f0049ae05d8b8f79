"""The meaning of the quantities in the proofs: squared norms and inner products of the vectors of one or two rounds.

C runs over the m clients, I over the tau local steps of a client, J over the c steps before step c, ROUNDS over all
rounds of a run and EARLIER over all rounds but the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from fedtheory.theory.fedcom.symbols import *
from fedtheory.theory.proofs.argument import Language
from fedtheory.theory.proofs.forms import (
    Compressed,
    Family,
    Gradient,
    Infimum,
    MeanAtStart,
    Minimiser,
    Objective,
    PenalisedInfimum,
    StochasticGradient,
    Tracking,
    Vector,
    gradient,
    tagged,
    value,
    vector,
    vectors_in,
)
from fedtheory.theory.proofs.rules import CompressionError, ConditionalMean, Noise, RoundsOfRun

C, I = Family("C", m, at_once=True), Family("I", tau)
J, UP_TO = Family("J", c, (I,)), Family("U", c + 1, (I,))  # the steps before step c, and these with step c
ROUNDS = Family("R", R)
EARLIER = Family("E", R - 1, (ROUNDS,))

f = Objective("f")
f_own = f.client("f_j", C)  # f_j
lowest = Infimum("f*", f)  # inf f
w_star = Minimiser("w*", f)  # a minimiser of f
w_own = Minimiser("w_j*", f_own)  # the minimiser of f_j
w_last = vector("w_R")  # w^(R)


def mean(e: sympy.Expr) -> sympy.Expr:
    """The mean over the clients."""
    return C.sum(sympy.expand(e)) / m


@dataclass(frozen=True)
class RoundVectors:
    """The vectors of a round at the local steps of a family.

    name  suffix of their names
    """

    name: str = ""
    steps: Family = I

    @property
    def families(self) -> tuple[Family, ...]:
        """The families that the steps run over."""
        return (self.steps,)

    def sum(self, e: Any) -> sympy.Expr:
        """The sum over the steps."""
        return self.steps.sum(e)

    @property
    def mass(self) -> sympy.Expr:
        """The number of steps."""
        return self.steps.mass

    @property
    def w(self) -> Vector:
        """w^(r)."""
        return vector(f"w{self.name}")

    @property
    def point(self) -> Vector:
        """w_j^(c,r)."""
        return vector(f"w_jc{self.name}", C, self.steps)

    @property
    def stochastic(self) -> StochasticGradient:
        """The stochastic gradient at w_j^(c,r)."""
        return StochasticGradient(f"g{self.name}", f_own, self.point)

    @property
    def local(self) -> Gradient:
        """grad f_j(w_j^(c,r))."""
        return gradient(f_own, self.point)

    @property
    def at_start(self) -> Gradient:
        """grad f_j(w^(r))."""
        return gradient(f_own, self.w)

    @property
    def glob(self) -> Gradient:
        """grad f(w^(r))."""
        return gradient(f, self.w)

    @property
    def moved(self) -> sympy.Expr:
        """The sum of a client's stochastic gradients over the steps."""
        return self.sum(self.stochastic)

    @property
    def gradients(self) -> sympy.Expr:
        """The sum of a client's local gradients over the steps."""
        return self.sum(self.local)

    @property
    def noises(self) -> sympy.Expr:
        """The sum of a client's noises over the steps."""
        return sympy.expand(self.moved - self.gradients)

    @property
    def noise(self) -> Noise:
        """The noise of a step; known before it are the point of the step, the start of the round and the round before."""
        known = {self.w, self.point, self.local, self.at_start, self.glob, delta, expected, w_star, w_own}
        if self.name == "":
            before = RoundVectors("_prev")
            known |= vectors_in(before.noises) | vectors_in(C.sum(before.noises))
        return Noise(self.stochastic.error, frozenset(known))


# A round, the round before, and the first
delta = Tracking("delta", C)  # delta_j^(r)
NOW, BEFORE, FIRST = RoundVectors(), RoundVectors("_prev"), RoundVectors("_0")
UNTIL = RoundVectors(steps=J)  # the same round, up to step c
expected = MeanAtStart("mean of g", NOW.moved)  # mean of the sum of a client's stochastic gradients
w_next = vector("w_next")  # w^(r+1)
RUN = RoundsOfRun(ROUNDS, NOW.w, w_next, FIRST.w, w_last)

# Known before the compressors draw their coins: everything that the clients have computed
_computed = [NOW.moved, NOW.gradients, *(C.sum(e) for e in (NOW.moved, NOW.gradients))]
_start = [NOW.w, NOW.glob, NOW.at_start, C.sum(NOW.at_start), delta, C.sum(delta), w_star]
_known = frozenset([*_start, *_computed])
DRAWN = ConditionalMean(expected, frozenset({NOW.w, NOW.glob, NOW.at_start, delta, expected, C.sum(expected)}))
MESSAGE = CompressionError(Compressed("Q(g)", NOW.moved).error, _known)
tracked = sympy.expand(NOW.moved - tau * delta)
TRACKED = CompressionError(Compressed("Q(d)", tracked).error, _known)
OF_MEAN = CompressionError(Compressed("Q(mean d)", mean(tracked)).error, _known)

delta_next = vector("delta_next", C)
error = sympy.expand(delta - NOW.at_start + NOW.glob)  # of the gradient tracking
error_next = delta_next - gradient(f_own, w_next) + gradient(f, w_next)
directions = vector("sum_c d", C)  # the local directions (65) of a client, summed over the round

# Quantities without a symbol in the paper
own_sq = sympy.Symbol("E||sum_c g_j||^2", nonnegative=True)  # a client's summed stochastic gradients, mean over clients
mean_sq = sympy.Symbol("E||(1/m) sum_j sum_c g_j||^2", nonnegative=True)  # the same for their mean
mid_sq = sympy.Symbol("tracking error before the model moves", nonnegative=True)
own_dist = sympy.Symbol("E||w_j^(c,0)-w_j^(*)||^2", nonnegative=True)
own_dist_next = sympy.Symbol("E||w_j^(c+1,0)-w_j^(*)||^2", nonnegative=True)
own_dist_start = sympy.Symbol("||w_j^(0,0)-w_j^(*)||^2", nonnegative=True)
penalised_start = sympy.Symbol("penalised gap at the start", nonnegative=True)
penalised_last = sympy.Symbol("penalised gap after R rounds", nonnegative=True)
penalised_lowest = PenalisedInfimum("f~*", f, phi)
own_step = vector("w_jc+1_0", C, I)  # a local step further, in the first round


@dataclass(frozen=True)
class Everywhere:
    """The local steps of all rounds of a family."""

    rounds: Family

    @property
    def families(self) -> tuple[Family, ...]:
        """The families that the steps run over."""
        return I, self.rounds

    def sum(self, e: Any) -> sympy.Expr:
        """The sum of a step's vectors over the steps and the rounds."""
        return self.rounds.sum(tagged(I.sum(e), self.rounds))


def squared(e: sympy.Expr) -> sympy.Expr:
    """||e||^2."""
    return sympy.expand(e**2)


def _penalised(at: sympy.Symbol) -> sympy.Expr:
    return value(f, at) + phi / 2 * at**2 - penalised_lowest


_drift = {one: I.sum(squared(one.point - one.w)) for one in (NOW, BEFORE, FIRST)}
_MEANS = {
    f_gap: value(f, FIRST.w) - lowest,
    gap_r: value(f, NOW.w) - lowest,
    a_next: value(f, w_next) - lowest,
    gap_last: value(f, w_last) - lowest,
    grad_sq: NOW.glob**2,
    inner: NOW.glob * mean(NOW.moved),
    own_sq: mean(NOW.moved**2),
    mean_sq: squared(mean(NOW.moved)),
    message_sq: squared(mean(MESSAGE.received)),
    tracked_message_sq: squared(mean(TRACKED.received)),
    grad_sq_sum: I.sum(NOW.local**2),
    grad_sq_sum_mean: mean(I.sum(NOW.local**2)),
    mean_grad_sq_sum: I.sum(mean(NOW.local) ** 2),
    mean_grad_sq_prev: I.sum(mean(BEFORE.local) ** 2),
    e_prev: I.sum(mean(BEFORE.local) ** 2),
    drift: (NOW.point - NOW.w) ** 2,
    drift_sum: _drift[NOW],
    drift_sum_prev: _drift[BEFORE],
    drift_mean: mean(_drift[NOW]),
    drift_mean_prev: mean(_drift[BEFORE]),
    drift_start: mean(_drift[FIRST]),
    drift_total: ROUNDS.sum(tagged(mean(_drift[NOW]), ROUNDS)),
    direction_sq: mean(directions**2),
    direction_total: tau * ROUNDS.sum(tagged(mean(directions**2), ROUNDS)),
    noise_sq: 2 * mean(squared(NOW.noises + mean(BEFORE.noises) - BEFORE.noises)),
    tracked_grad_sq: squared(NOW.gradients + mean(BEFORE.gradients) - BEFORE.gradients),
    move_sq: squared(NOW.w - BEFORE.w),
    next_move_sq: squared(w_next - NOW.w),
    move_total: tau**2 * EARLIER.sum(tagged(squared(w_next - NOW.w), EARLIER)),
    mean_grad_sq_total: EARLIER.sum(tagged(I.sum(mean(NOW.local) ** 2), EARLIER)),
    grad_sq_prev: BEFORE.glob**2,
    grad_sq_start: FIRST.glob**2,
    grad_sq_total: tau * ROUNDS.sum(tagged(NOW.glob**2, ROUNDS)),
    avg_grad_sq: ROUNDS.sum(tagged(NOW.glob**2, ROUNDS)) / R,
    start_sum: mean(squared(FIRST.gradients - tau * FIRST.glob)),
    start_partial: mean(I.sum(UP_TO.sum(vector("grad f_j - grad f", C, I, UP_TO)) ** 2)),
    tracking_sq: mean(error**2),
    tracking_next: mean(error_next**2),
    mid_sq: mean(squared(delta_next - NOW.at_start + NOW.glob)),
    het_start: mean(squared(FIRST.at_start - FIRST.glob)),
    dist_sq_mean: mean(squared(FIRST.w - w_own)),
    own_dist: squared(FIRST.point - w_own),
    own_dist_next: squared(own_step - w_own),
    own_dist_start: squared(FIRST.w - w_own),
    penalised_start: _penalised(FIRST.w),
    penalised_last: _penalised(w_last),
    w0_norm: FIRST.w,
    w_star_norm: w_star,
}
_next = (C.sum(TRACKED.received) / m, delta + (TRACKED.received - C.sum(TRACKED.received) / m) / tau)
_damped = delta + (TRACKED.received - C.sum(TRACKED.received) / m) / ((1 + q) * tau)
_message = C.sum(MESSAGE.received) / m
_ALGORITHMS = {
    "alg1": {
        w_next: NOW.w - eta * gamma * _message,
        NOW.point: NOW.w - eta * UNTIL.moved,
    },
    "alg2": {
        w_next: NOW.w - eta * gamma * _next[0],
        delta_next: _next[1],
        NOW.point: NOW.w - eta * (UNTIL.moved - c * delta),
        directions: FIRST.moved,  # of the first round, whose trackings are zero
        own_step: FIRST.point - eta * FIRST.stochastic,
    },
    "alg2.corrected": {delta_next: _damped},
    # item 8, (65), of a round after the first
    "thmE4.items.corrected": {directions: NOW.moved + mean(BEFORE.moved) - BEFORE.moved},
}
_CONSTANTS = (sigma, G_q, fj_gap_mean, a_prev, e_prev2)
_WRITTEN = {
    "alg1": "71bf9cffc7cb",
    "alg2": "7179bafda21f",
    "alg2.corrected": "65d615a4c0ad",
    "thmE4.items.corrected": "019d01707c3f",
}
LANGUAGE = Language(
    _MEANS,
    _ALGORITHMS,
    (*_MEANS, *_CONSTANTS),
    start={gap_r: f_gap, tracking_sq: het_start, own_dist: own_dist_start},
    mean={avg_grad_sq: grad_sq},
    following={
        a_prev: gap_r,
        gap_r: a_next,
        e_prev2: e_prev,
        e_prev: mean_grad_sq_sum,
        tracking_sq: tracking_next,
        own_dist: own_dist_next,
    },
    last={gap_r: gap_last},
    written=_WRITTEN,
)
