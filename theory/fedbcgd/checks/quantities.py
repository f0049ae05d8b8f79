"""The meaning of the quantities in the proofs: squared norms and inner products of the vectors of one round.

A runs over all M clients; a client that is not sampled has the local steps that it would make.  C runs over the K sampled
clients of a block; their vectors are put together block by block.  I runs over the T local steps, J over the t steps
before step t.  The vectors of a round are the paper's own symbols x_r, v_r, G_r ...; z^r is x_r + gamma v_r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from fedtheory.theory.fedbcgd import symbols
from fedtheory.theory.fedbcgd.symbols import *
from fedtheory.theory.proofs.argument import Language
from fedtheory.theory.proofs.forms import (
    Client,
    Family,
    Gradient,
    MiniBatch,
    Minimiser,
    Objective,
    Renewed,
    ServerVariate,
    StochasticGradient,
    Variate,
    Vector,
    gradient,
    value,
    vector,
)
from fedtheory.theory.proofs.rules import Noise, Sample

A, C, I = Family("A", M, at_once=True), Family("C", K, at_once=True), Family("I", T)
J = Family("J", t, (I,))  # the steps before step t

f = Objective("f")
x_r, x_next, x_star = vector("x_r"), vector("x_next"), Minimiser("x_star", f)
v_r, v_next, z_next, G_r = vector("v_r"), vector("v_next"), vector("z_next"), vector("G_r")
c = ServerVariate("c", Variate("c_i", A), A)
z = x_r + gamma * v_r
x_prev = x_r - v_r


@dataclass(frozen=True)
class Steps:
    """The vectors of the local steps of some families: the clients' family, then the family of steps, if any."""

    client: Family
    steps: tuple[Family, ...]

    @property
    def families(self) -> tuple[Family, ...]:
        """The families that the steps run over."""
        return self.client, *self.steps

    def sum(self, e: Any) -> sympy.Expr:
        """The sum over all families, first over the steps."""
        for family in (*self.steps, self.client):
            e = family.sum(sympy.expand(e))
        return e

    def of_client(self, e: Any) -> sympy.Expr:
        """The sum over the steps of each client."""
        for family in self.steps:
            e = family.sum(sympy.expand(e))
        return e

    @property
    def function(self) -> Client:
        """f_i."""
        return f.client("f_i", self.client)

    @property
    def point(self) -> Vector:
        """y_i^{r,t}, the point of a local gradient."""
        return vector("y", self.client, *self.steps)

    @property
    def batch(self) -> MiniBatch:
        """zeta."""
        return MiniBatch("zeta", self.families)

    @property
    def stochastic(self) -> StochasticGradient:
        """grad f_i(y_i^{r,t}; zeta)."""
        return self.batch.gradient("g", self.function, self.point)

    @property
    def stochastic_at_start(self) -> StochasticGradient:
        """grad f_i(x^r; zeta), on the same mini-batch."""
        return self.batch.gradient("g_x", self.function, x_r)

    @property
    def local(self) -> Gradient:
        """grad f_i(y_i^{r,t})."""
        return gradient(self.function, self.point)

    @property
    def at_start(self) -> Gradient:
        """grad f_i(x^r)."""
        return gradient(self.function, x_r)

    @property
    def at_optimum(self) -> Gradient:
        """grad f_i(x*)."""
        return gradient(self.function, x_star)

    @property
    def variate(self) -> Variate:
        """c_i."""
        return Variate("c_i", self.client)

    @property
    def renewed(self) -> Renewed:
        """c_i after the round."""
        return Renewed("c_i_next", self.variate)

    @property
    def tracked(self) -> sympy.Expr:
        """grad f_i(x^r) - c_i + c: the direction of FedBCGD+ without the changes along the drift."""
        return self.at_start - self.variate + c

    @property
    def changed(self) -> sympy.Expr:
        """The change of a stochastic gradient since the start of the round."""
        return self.stochastic - self.stochastic_at_start

    @property
    def noise(self) -> Noise:
        """The noise at y_i^{r,t}, and the vectors known before it is drawn."""
        return Noise(self.stochastic.error, frozenset({*self._known, self.point, self.local}))

    @property
    def noise_at_start(self) -> Noise:
        """The noise of the same mini-batch at x^r."""
        return Noise(self.stochastic_at_start.error, frozenset(self._known))

    @property
    def _known(self) -> set[Any]:
        clients = {self.at_start, self.at_optimum, self.variate, self.client.sum(self.at_start)}
        return {x_r, v_r, x_star, c, gradient(f, x_r), gradient(f, z), *clients}


ALL, SAMPLED, EARLIER = Steps(A, (I,)), Steps(C, (I,)), Steps(A, (J,))
_made = {ALL.point, ALL.stochastic, ALL.stochastic_at_start, ALL.function, ALL.variate}
SAMPLE = Sample(C, A, frozenset({x_r, v_r, x_star, f, c, *_made}))

at_z, at_x = gradient(f, z), gradient(f, x_r)
y_at = vector("y_at", A)  # y_i after t local steps
renewed_variate = ALL.renewed
mean_local = ALL.sum(ALL.local) / M  # (10): the mean of the virtual gradient over sample and noise

# Amounts in the proofs that the paper does not have
drift_at = sympy.Symbol("drift_at", nonnegative=True)  # the drift at one local step, summed over the clients
bias_sq = sympy.Symbol("bias_sq", nonnegative=True)  # (1/M) sum ||grad f_i(x^r) - grad f_i(x*)||^2
server_sq = sympy.Symbol("server_sq", nonnegative=True)  # ||c||^2
tracked_sq = sympy.Symbol("tracked_sq", nonnegative=True)  # (1/M) sum ||grad f_i(x^r) - c_i + c||^2
turn_sq = sympy.Symbol("turn_sq", nonnegative=True)  # ||grad f(z^r) - grad f(x^r)||^2
state, state_next = sympy.symbols("state state_next", nonnegative=True)  # the state of a recursion; d_{r-1}, d_r
share = sympy.Symbol("share", real=True)  # a round's share of the mean in Lemma 8
share_linear = sympy.Symbol("share_linear", real=True)  # the same in Lemma 7
each_sq = sympy.Symbol("each_sq", nonnegative=True)  # sum over the clients of ||sum of the stochastic gradients||^2
each_local_sq = sympy.Symbol("each_local_sq", nonnegative=True)  # the same for the local gradients
each_moved_sq = sympy.Symbol("each_moved_sq", nonnegative=True)  # the same for their changes since the start
every_sq = sympy.Symbol("every_sq", nonnegative=True)  # ||sum over all clients of the stochastic gradients||^2
alpha_i = vector("alpha_i", A)
alpha_next = Renewed("alpha_next", alpha_i)  # (108); z^{r-1} for a sampled client
kept_sq = sympy.Symbol("kept_sq", nonnegative=True)  # (1/M) sum ||alpha_i - z^{r+1}||^2
step_sq = sympy.Symbol("step_sq", nonnegative=True)  # ||z^r - z^{r+1}||^2

# Symbols in another meaning
grad_sq_steps = sympy.Symbol("grad_sq_steps", nonnegative=True)  # the sum over clients and steps of Lemma 6
grad_sq_z = sympy.Symbol("grad_sq_z", nonnegative=True)  # ||grad f(z^r)||^2

_MEANS = {
    dist_sq: (z - x_star) ** 2,
    dist_next: (z_next - x_star) ** 2,
    zx_sq: (z - x_r) ** 2,
    v_sq: v_r**2,
    v_next_sq: v_next**2,
    gap: value(f, z) - value(f, x_star),
    gap_next: value(f, z_next) - value(f, x_star),
    gap_x: value(f, x_r) - value(f, x_star),
    gap_x_prev: value(f, x_prev) - value(f, x_star),
    grad_sq_x: at_x**2,
    grad_sq_z: at_z**2,
    grad_sq: A.sum(ALL.at_start**2),
    grad_sq_steps: ALL.sum(ALL.local**2),
    mean_grad_sq: A.sum(ALL.at_start**2) / M,
    sample_sq: C.sum(SAMPLED.at_start) ** 2 / K**2,
    block_sample_sq: C.sum(SAMPLED.at_start) ** 2 / K**2,
    G_sq: G_r**2,
    G_mean_sq: mean_local**2,
    local_sum_sq: ALL.sum(ALL.local) ** 2,
    inner: -G_r * (z - x_star),
    inner_grad: -G_r * at_z,
    drift_x: ALL.sum((ALL.point - x_r) ** 2),
    drift_z: ALL.sum((ALL.point - z) ** 2),
    E_r: ALL.sum((ALL.point - z) ** 2) / (M * T),
    drift_at: A.sum(sympy.expand((y_at - x_r) ** 2)),
    C_prev: A.sum(sympy.expand((ALL.variate - ALL.at_optimum) ** 2)) / M,
    C_r: A.sum(sympy.expand((renewed_variate - ALL.at_optimum) ** 2)) / M,
    lag: A.sum(sympy.expand((ALL.variate - ALL.at_start) ** 2)) / M,
    lag_next: A.sum(sympy.expand((renewed_variate - gradient(ALL.function, x_next)) ** 2)) / M,
    bias_sq: A.sum(sympy.expand((ALL.at_start - ALL.at_optimum) ** 2)) / M,
    tracked_sq: A.sum(sympy.expand(ALL.tracked**2)) / M,
    server_sq: c**2,
    turn_sq: (at_z - at_x) ** 2,
    each_sq: A.sum(sympy.expand(ALL.of_client(ALL.stochastic) ** 2)),
    each_local_sq: A.sum(sympy.expand(ALL.of_client(ALL.local) ** 2)),
    each_moved_sq: A.sum(sympy.expand(ALL.of_client(ALL.local - ALL.at_start) ** 2)),
    every_sq: ALL.sum(ALL.stochastic) ** 2,
    Xi_r: A.sum(sympy.expand((alpha_next - z_next) ** 2)) / M,
    kept_sq: A.sum(sympy.expand((alpha_i - z_next) ** 2)) / M,
    step_sq: (z - z_next) ** 2,
    share: (state - state_next) / eta + c1 * eta + c2 * eta**2,
    share_linear: ((1 - mu * eta) * state - state_next) / eta + c_lemma * eta,
}
_ALGORITHMS = {
    # the updates of a round
    "momentum_form.corrected": {v_next: lam * v_r - eta * G_r, x_next: x_r + v_next},
    # lines 12 and 20: the virtual gradient, and a client after t local steps
    "alg1.corrected": {
        G_r: SAMPLED.sum(SAMPLED.stochastic) / K,
        y_at: x_r - eta * EARLIER.of_client(EARLIER.stochastic),
    },
    # lines 13, 15 and 17, 23
    "alg3.corrected": {
        G_r: SAMPLED.sum(SAMPLED.changed + SAMPLED.tracked) / K,
        y_at: x_r - eta * EARLIER.of_client(EARLIER.changed + EARLIER.tracked),
        renewed_variate: SAMPLED.at_start,  # the new value of a sampled block of c_i
    },
}
_CONSTANTS = (sigma, G, d0, F, C_0, lag_0, c1, c2, c_lemma)
_OTHERS = (G_discounted, Xi, gap_prev, grad_sq_prev, C_1, Psi_R, state, state_next)
_WRITTEN = {
    "momentum_form.corrected": "d2871cd02612",
    "alg1.corrected": "75f33ae63ba4",
    "alg3.corrected": "734ff4a7c9b6",
}
LANGUAGE = Language(
    _MEANS,
    _ALGORITHMS,
    (*_MEANS, *_OTHERS, *_CONSTANTS),
    # x^{-1} = z^0 = x^0 without momentum at the start
    start={dist_sq: d0, gap: F, gap_x_prev: F, v_sq: sympy.Integer(0), C_prev: C_0, lag: lag_0},
    average={gap_xbar: gap_x},
    mean={avg_grad_sq: grad_sq_x, Psi_R: share},
    following={
        dist_sq: dist_next,
        gap_x_prev: gap_x,
        C_prev: C_r,
        gap: gap_next,
        v_sq: v_next_sq,
        lag: lag_next,
        state: state_next,
    },
    readings={
        "lemma6": {grad_sq: grad_sq_steps},
        "lemma6.corrected": {grad_sq: grad_sq_steps},
        "lemma14": {gap_prev: gap},  # the round that starts at z^{r-1}
        "lemma16": {grad_sq: grad_sq_z},
        "lemma17": {grad_sq: grad_sq_z},
        "lemma17.proof": {grad_sq: grad_sq_z},
        "lemma18": {gap: gap_next, gap_prev: gap, grad_sq_prev: grad_sq_z},  # the round from z^{r-1} to z^r
    },
    written=_WRITTEN,
    vectors={symbols.z_r: z, symbols.z_next: z_next, symbols.G_r: G_r},
)
