"""Our proofs of sharper theorems, for all clients or S of M clients in every round.

They keep what the printed proofs drop: both Bregman divergences of a local step, the mean over the random order at every
position, and each noise beside its own trajectory.  Both algorithms are treated at once: they differ in the steps that come
before a step, and in the weight of a step in the new model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from functools import partial
from itertools import product

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Rational

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.argument import Argument, Fact, Proof, curried, evidence_of, spread_out
from fedtheory.theory.proofs.forms import Family, before, gradient, value
from fedtheory.theory.proofs.rules import Noise, RuleInstance, times
from fedtheory.theory.proofs.sequences import contracted, telescope
from fedtheory.theory.proofs.sharpening import Points, Sharpening
from fedtheory.theory.sfl.checks.ledgers import by_lemma, psi
from fedtheory.theory.sfl.checks.quantities import *
from fedtheory.theory.sfl.sharp import CHOICES, LEADING, Choices, ExactSplit, Rough, Young, declare, recursion_of
from fedtheory.theory.statement import Evidence

N = S * K  # steps of a round
_0, _1 = sympy.Integer(0), sympy.Integer(1)

# The gradients of a step: as sampled, at the step's point, at the start of the round, at the optimum
g, local, start, star = ALL.stochastic, ALL.local, ALL.at_start, ALL.at_optimum
noise, far, optimum = ALL.noise.vector, x - x_star, gradient(F_fun, x_star)
u, v, w = local - star, start - star, start - local


@dataclass(frozen=True)
class ClientOrder:
    """How the clients work: one after another in random order, or in parallel.

    algorithm  its name in the paper
    order      the families whose steps come one after another
    weight     of a step in the new model: x+ = x - weight * eta * (sum of all steps)
    """

    algorithm: str
    order: tuple[Family, ...]
    weight: sympy.Expr

    @property
    def in_turn(self) -> bool:
        """Whether the clients work one after another."""
        return C in self.order

    @property
    def count(self) -> sympy.Expr:
        """The number of steps that come one after another."""
        return sympy.Mul(*(family.mass for family in self.order))

    def so_far(self, e: sympy.Expr) -> sympy.Expr:
        """The sum over the steps before this one."""
        return before(e, *self.order)

    def each(self, one: RuleInstance) -> RuleInstance:
        """An instance about steps in their order, for all steps of the round."""
        return one if self.in_turn else one.over(C)

    def after(self, p: Argument, e: sympy.Expr) -> dict[sympy.Expr, sympy.Expr]:
        """What the algorithm makes of x, with the learning rate e."""
        return {x_next: p.follow(self.algorithm)[x_next].xreplace({eta: e}), eta: e}

    def moved(self, p: Argument, of: Callable[[sympy.Expr], sympy.Expr]) -> RuleInstance:
        """A form of a step's point: x minus the learning rate times the steps before."""
        return p.made(self.algorithm, ALL.point, of, I, C)

    def fresh(self, p: Argument, known: sympy.Expr) -> RuleInstance:
        """<noise of a step, known> = 0: the noise is drawn after the steps before it."""
        earlier = set().union(*(self.so_far(e).free_symbols for e in (start, star, local, g)))
        return p.by(rules.FRESH, Noise(noise, ALL.noise.known | earlier), known).over(I, C)

    def fresh_so_far(self, p: Argument, known: sympy.Expr) -> RuleInstance:
        """<noise of the steps before, known> = 0: it is drawn after the order and the start of the round."""
        given = {x, x_star, start, star} | self.so_far(start).free_symbols | self.so_far(star).free_symbols
        return p.by(rules.FRESH, Noise(self.so_far(noise), frozenset(given)), known).over(I, C)

    def uncorrelated(self, p: Argument) -> list[RuleInstance]:
        """||sum of all noise||^2 <= N sigma^2."""
        rule = rules.SUCCESSIVE if self.in_turn else rules.INDEPENDENT
        return [p.by(rule, ALL.noise, I, C), p.by(rules.VARIANCE, ALL.noise).over(I, C)]

    def beside_noise(self, p: Argument) -> list[RuleInstance]:
        """<sum of the local gradients, sum of the noise> = sum of <local gradient, noise of the steps before>."""
        apart = [] if self.in_turn else [p.by(rules.NOISE_APART, local, ALL.noise, C, I)]
        in_order = self.each(p.by(rules.IN_ORDER, local, noise, *self.order))
        return [*apart, in_order, self.fresh(p, local + self.so_far(local))]

    def pairs(self, p: Argument, a: sympy.Expr, b: sympy.Expr) -> RuleInstance:
        """Sum of <a, b so far> for vectors that a client has at the start of the round, in its exact mean."""
        return p.by(rules.PAIRS_IN_ORDER, a, b, C, I) if self.in_turn else p.by(rules.COPIES, a, b, I).over(C)

    @property
    def shares(self) -> tuple[sympy.Expr, sympy.Expr]:
        """The factors of sum ||b_m||^2 and ||sum b_m||^2 in the sum of ||b so far||^2."""
        if self.in_turn:
            return K * (S * K**2 + 1) / 6, K**2 * (2 * K * S - K - 3) / 6
        return K * (K - 1) * (2 * K - 1) / 6, sympy.S.Zero

    def squares(self, p: Argument, b: sympy.Expr) -> RuleInstance:
        """Minus the sum of ||b so far||^2, for such a vector."""
        return p.by(rules.PARTIAL_SUMS, b, C, I) if self.in_turn else p.by(rules.COPIES_SQUARED, b, I).over(C)


SFL, PFL = ClientOrder("alg1", (C, I), sympy.S.One), ClientOrder("alg2", (I,), 1 / S)
OURS = replace(
    LANGUAGE,
    algorithms={
        way.algorithm: {x_next: x - way.weight * eta * ALL.sum(g), ALL.point: x - eta * way.so_far(g)}
        for way in (SFL, PFL)
    },
)

# Parts that several proofs share


def everyone(p: Argument) -> None:
    """All clients must take part in every round."""
    p.require("all clients take part", sympy.Eq(S, M, evaluate=False))


def balanced(p: Argument, known: sympy.Expr) -> list[RuleInstance]:
    """- <sum of all clients' gradients at x*, known> = 0."""
    everyone(p)
    mean = p.by(rules.GRADIENT_OF_MEAN, ALL.function, F_fun, x_star, C, known)
    return [S * mean, -S * p.by(rules.STATIONARY, F_fun, x_star, known)]


def unbiased(p: Argument, known: sympy.Expr) -> list[RuleInstance]:
    """- <sum of the sampled clients' gradients at x*, known> = 0 in the mean, for what is known before they are sampled."""
    mean = p.by(rules.SAMPLED, star, optimum, C, known)
    return [-1 * mean, -S * p.by(rules.STATIONARY, F_fun, x_star, known)]


def squared(p: Argument, factor: sympy.Expr) -> list[RuleInstance]:
    """- factor * (sum of the clients' squared gradients at x*) in its mean, by their variance."""
    second = p.by(rules.SECOND_MOMENT, star, optimum, C)
    return times(-factor, [second, S * p.by(rules.STATIONARY, F_fun, x_star, optimum)])


def summed(p: Argument, factor: sympy.Expr) -> list[RuleInstance]:
    """- factor * ||sum of the sampled clients' gradients at x*||^2 in its mean, by their variance."""
    sample = p.by(rules.CLIENTS_WITHOUT_REPLACEMENT, star, optimum, C, M)
    known = 2 * S * C.sum(star) - S**2 * optimum
    return times(factor, [sample, -1 * p.by(rules.STATIONARY, F_fun, x_star, known)])


def alike(p: Argument, own: sympy.Expr, whole: sympy.Expr, sampled: bool) -> tuple[list[RuleInstance], sympy.Expr]:
    """- own * (sum of ||g_m*||^2) - whole * ||sum of the g_m*||^2, g_m* the clients' gradients at x*: at least - a zeta_*^2.

    Returns the instances and a.  `sampled` if not all clients take part.
    """
    amount = own * S + (whole * S * (M - S) / (M - 1) if sampled else 0)
    of_sum = summed(p, whole) if sampled else times(whole, balanced(p, C.sum(star)))
    spread = amount * p.by(rules.HETEROGENEITY_AT_OPTIMUM, star)
    return [*squared(p, own), *(of_sum if whole != 0 else []), spread], amount


def gaps(p: Argument) -> list[RuleInstance]:
    """Sum over the clients of F_m(x) - F_m(x*) = S (F(x) - F(x*)) in the mean."""
    at = [p.by(rules.SAMPLED, value(ALL.function, y), value(F_fun, y), C, sympy.S.One) for y in (x, x_star)]
    return [at[0], -1 * at[1]]


def expanded(p: Argument, way: ClientOrder, e: sympy.Expr, theta: sympy.Expr = _0) -> list[RuleInstance]:
    """||x+ - x*||^2: noise has mean zero, counts once, and stays beside the local gradients of later steps.

    theta  where clients are sampled, the weight of Young's inequality between sum u and the sampled clients' gradients at x*
    """
    f, whole = way.weight * e, K * C.sum(star)
    if theta:
        of_sum = [p.by(rules.YOUNG, ALL.sum(u), whole, theta)]
    else:
        of_sum = balanced(p, K * (ALL.sum(local) + ALL.sum(u)))
    return [
        2 * f * way.fresh(p, far),
        *times(-2 * f**2, way.beside_noise(p)),
        *times(f**2, way.uncorrelated(p)),
        *times(f**2, of_sum),
        f**2 * (1 + theta) * p.by(rules.JENSEN_OVER, u, I, C),
    ]


def divergences(p: Argument, way: ClientOrder, e: sympy.Expr, curved: sympy.Expr = sympy.S.Zero) -> list[RuleInstance]:
    """From <grad F_i(x_t), x_t - x*> to F_i(x) - F_i(x*), with both Bregman divergences at x_t; then the clients' mean.

    What is left of the noise stands beside w: 2 (1 - weight) <w, noise so far>.

    curved  the share of the divergence to x* that goes to (mu / 2) ||x_t - x*||^2
    """
    to_optimum = [(1 - curved) * p.by(rules.COCOERCIVE, ALL.function, x_star, ALL.point).over(I, C)]
    if curved:
        to_optimum.append(curved * p.by(rules.TANGENT, ALL.function, x_star, ALL.point).over(I, C))
    from_start = p.by(rules.COCOERCIVE, ALL.function, ALL.point, x).over(I, C)
    known = -way.weight * e * way.fresh_so_far(p, start)
    stationary = N * p.by(rules.STATIONARY, F_fun, x_star, far)
    moved = way.moved(p, lambda y: w * y)
    return times(2 * way.weight * e, [*to_optimum, from_start, moved, *times(K, gaps(p)), stationary, known])


# One round, convex


@curried
def exact_round(p: Argument, least: Rational, c: Rational) -> None:
    """One round of SFL for convex functions: the quadratic form in u and w that is left has its exact minimum.

    least  lower bound on what is left of ||u_t||^2 after Jensen and Young, in units of eta / L
    c      the share of ||w_t||^2 that Young takes
    """
    e, A, rest = p.read(eta), least + 1 - c, 1 - c
    left = 1 - e * L * N - (e * L) ** 2 * N * (N - 1) / (2 * c)
    U, V = SFL.so_far(u), SFL.so_far(star)
    (own, whole), more = SFL.shares, K * least / (4 * rest)
    unit = e**3 * L / A
    of_star, amount = alike(p, unit * (own + more), unit * whole, sampled=False)
    because = [
        *expanded(p, SFL, e),
        *divergences(p, SFL, e),
        # 2 <w, U>
        e**2 * p.by(rules.YOUNG, w, U, c / (e * L)).over(I, C),
        e**3 * L / c * p.by(rules.SUMS_BEFORE, u, C, I),
        e / L * (left - least) * p.by(rules.SQUARE, u).over(I, C),
        # least ||v - w||^2 + rest ||w||^2 - 2 e L <w, V>: over w, then over each client's v
        e / L * A * p.by(rules.SQUARE, w - (least * v + e * L * V) / A).over(I, C),
        -2 * e**2 * least / A * SFL.pairs(p, v, star),
        *times(e**2 * K**2 * least / A, balanced(p, C.sum(v))),
        e / L * K * least * rest / A * p.by(rules.SQUARE, v + e * L / (2 * rest) * star).over(C),
        unit * SFL.squares(p, star),
        *of_star,
    ]
    bound = dist2 - 2 * e * N * D_F + e**2 * N * sigma**2 + amount * zeta_star**2
    p.conclude(p.have("one round", dist2_next, "<=", bound, *because, after=SFL.after(p, e)))


@curried
def young_round(
    p: Argument,
    way: ClientOrder,
    rho: Rational,
    of_noise: Rational = _1,
    curved: Rational = _0,
    traded: Rational = _0,
    theta: Rational = _0,
) -> None:
    """One round for convex or mu-strongly convex functions, with Young's inequality for what is left.

    rho       its weight for the gradients at x*
    of_noise  its weight for the noise so far; not used where the clients work in turn
    curved    the share of the divergence to x* that becomes (mu / 2) ||x_t - x*||^2
    traded    how much of the progress 2 eta_tilde D_F becomes contraction, by D_F >= (mu / 2) ||x - x*||^2
    theta     its weight for the sum of the sampled clients' gradients at x*; 0: all clients take part
    """
    fact = _young_round(p, way, rho, of_noise, curved, theta)
    p.conclude(p.added(fact, _growth(p), traded * way.weight * p.read(eta) * N) if traded else fact)


def _young_round(
    p: Argument, way: ClientOrder, rho: Rational, of_noise: Rational, curved: Rational, theta: Rational
) -> Fact:
    e = p.read(eta)
    f, h, q = way.weight * e, e * L * way.count, 1 - way.weight
    U, V, Z = way.so_far(u), way.so_far(star), way.so_far(noise)
    of_u = 1 + 1 / rho + (1 / of_noise if q else 0)
    near, mixed = f * curved * mu, f * e**2 * (L - curved * mu)
    left = 1 - curved - (1 + theta) * h - h**2 * (1 - 1 / way.count) / 2 * of_u
    unit, of_sample = mixed * (1 + rho), f**2 * K**2 * (1 + 1 / theta) if theta else _0
    own, whole = way.shares
    of_star, amount = alike(p, unit * own, unit * whole + of_sample, bool(theta))
    because = [
        *expanded(p, way, e, theta),
        *divergences(p, way, e, curved),
        # 2 <w, U + V + q Z> <= ||w||^2 / (e L) + e L ||U + V + q Z||^2
        f * e * p.by(rules.YOUNG, w, U + V + q * Z, 1 / (e * L)).over(I, C),
        -2 * f * e**2 * L * q * way.fresh_so_far(p, V),
        mixed * p.by(rules.YOUNG, U, V, 1 / rho).over(I, C),
        f * e**2 * L * of_u * way.each(p.by(rules.SUMS_BEFORE, u, *way.order)),
        f / L * left * p.by(rules.SQUARE, u).over(I, C),
        unit * way.squares(p, star),
        *of_star,
    ]
    bound = dist2 - 2 * f * N * D_F + f**2 * N * sigma**2 + amount * zeta_star**2
    if q:
        of_z = f * e**2 * L * q**2 * (1 + of_noise)
        because += [
            f * e**2 * L * p.by(rules.YOUNG, U, q * Z, 1 / of_noise).over(I, C),
            of_z * p.by(rules.NOISE_BEFORE, ALL.noise, I).over(C),
        ]
        bound += of_z * N * (K - 1) / 2 * sigma**2
    if curved:
        # ||x_t - x*||^2 = ||x - x* - e (U + V)||^2 + e^2 (||U + Z||^2 - ||U||^2): the noise costs nothing
        because += [
            near * way.moved(p, lambda y: (y - x_star) ** 2),
            near * way.fresh_so_far(p, 2 * e**2 * V - 2 * e * far),
            near * e**2 * p.by(rules.SQUARE, U + Z).over(I, C),
            near * e * p.by(rules.YOUNG, far, U, rho / e).over(I, C),
            -2 * near * e * way.pairs(p, far, star),
            *times(near * e * K * (way.count - 1), unbiased(p, far)),
        ]
        bound -= near * (1 - rho) * N * dist2
    return p.have("one round", dist2_next, "<=", bound, *because, after=way.after(p, e))


def _growth(p: Argument) -> Fact:
    """D_F >= (mu / 2) ||x - x*||^2, the mean over the clients."""
    tangent = p.by(rules.TANGENT, ALL.function, x, x_star).over(C)
    mean = p.by(rules.SAMPLED, star, optimum, C, far)
    growth = times(1 / S, [tangent, *times(-1, gaps(p)), mean])
    return p.have("the gap grows", sympy.S.Zero, "<=", D_F - mu / 2 * dist2, *growth)


@curried
def decayed(p: Argument, factor: Rational, least: Rational) -> None:
    """Lemma 7 with its weights' sum W_T >= (1 - exp(-least)) exp(a gamma (T+1)) / (a gamma), a gamma (T+1) >= least."""
    mean = telescope(p, p.claim("lemma7.cubic"), (r_next, r_t), s_t, r0, W_T, count=T + 1)
    p.conclude(psi(p, contracted(p, mean, W_T, a * gamma, T + 1, factor, least)))


# One round, non-convex


@curried
def nonconvex_round(
    p: Argument,
    way: ClientOrder,
    tau: sympy.Expr,
    beside: sympy.Expr,
    theta: sympy.Expr,
    share: sympy.Expr,
    phi: sympy.Expr = _0,
) -> None:
    """One round without convexity.

    tau     weight of Young's inequality between grad F(x) and the mean change of the local gradients
    beside  its weight between this change and the noise so far
    theta   its weight between the drift and the gradients at the start of the round
    share   the largest part of the drift that returns in its own bound
    phi     its weight between the sampled clients' gradients and their change; 0: all clients take part
    """
    e, sampled = p.read(eta), phi != 0
    p.conclude(p.put(_descent(p, way, e, tau, beside, phi), _drift(p, way, e, theta, share, sampled)))


def _mean_gradient(p: Argument, known: sympy.Expr) -> RuleInstance:
    """<grad F(x) - mean of all clients' gradients at x, known> = 0."""
    everyone(p)
    return p.by(rules.GRADIENT_OF_MEAN, ALL.function, F_fun, x, C, known)


def _apart(p: Argument) -> RuleInstance:
    """The variance of the sampled clients' summed gradients at x."""
    return p.by(rules.CLIENTS_WITHOUT_REPLACEMENT, start, global_grad, C, M)


_left_out = S * (M - S) / (M - 1)  # the variance of a sum over sampled clients, per variance of one


def _descent(
    p: Argument, way: ClientOrder, e: sympy.Expr, tau: sympy.Expr, beside: sympy.Expr, phi: sympy.Expr
) -> Fact:
    """(16) for F along the mean of the local gradients, which is grad F(x) and their mean change; the noise counts once."""
    f, moved, sampled = way.weight * e, ALL.sum(w), phi != 0
    h, change = f * L * N, ALL.sum(local) - N * global_grad
    of_square = f * (1 - h) / (2 * tau * N) + L * f**2 / 2 * (1 + (1 / phi if sampled else 0))
    noisy = f**3 * L**2 / (2 * beside)
    of_drift, of_sample = N * of_square + f * beside / 2, L * f**2 / 2 * (1 + phi) * K**2 if sampled else _0
    # the sum of the local gradients is N grad F(x) + change; the change is -(sum of w) and, of a sample, its deviation
    if sampled:
        because = [
            f * (1 - h) * K * p.by(rules.SAMPLED, start, global_grad, C, global_grad),
            f / 2 * (1 - h) * p.by(rules.YOUNG, global_grad, moved, tau * N),
            L * f**2 / 2 * p.by(rules.YOUNG, change + moved, -moved, phi),
            of_sample * _apart(p),
            of_sample * _left_out * p.by(rules.HETEROGENEITY, start, global_grad),
        ]
    else:
        because = [
            f / 2 * (1 - h) * p.by(rules.YOUNG, -global_grad, change, tau * N),
            N * of_square * _mean_gradient(p, change - moved),
        ]
    because += [
        p.by(rules.DESCENT_OF_MEAN, F_fun, x_next, x),
        f * way.fresh(p, global_grad),
        *times(f**2 * L / 2, way.uncorrelated(p)),
        # the noise beside the local gradients: only their change counts
        *times(-(f**2) * L, way.beside_noise(p)),
        -(f**2) * L * way.fresh_so_far(p, start),
        f**2 * L / 2 * p.by(rules.YOUNG, -w, way.so_far(noise), beside / (f * L)).over(I, C),
        noisy * way.each(p.by(rules.NOISE_BEFORE, ALL.noise, *way.order)),
        of_square * p.by(rules.JENSEN_OVER, w, I, C),
        of_drift * p.by(rules.LIPSCHITZ, ALL.function, ALL.point, x).over(I, C),
    ]
    kept = f * N * (1 - h / 2 - (1 - h) * tau / 2)
    errors = (L * f**2 / 2 * N + noisy * N * (way.count - 1) / 2) * sigma**2
    bound = -kept * grad_sq + errors + of_drift * L**2 * E_r + of_sample * _left_out * (beta**2 * grad_sq + zeta**2)
    return p.have("(16) for F", descent, "<=", bound, *because, after=way.after(p, e))


def _drift(p: Argument, way: ClientOrder, e: sympy.Expr, theta: sympy.Expr, share: sympy.Expr, sampled: bool) -> Fact:
    """The drift by itself, by the gradients at the start of the round in their exact mean, and by the noise."""
    P, Z, W = way.so_far(start), way.so_far(noise), way.so_far(w)
    own, whole = way.shares
    returned = way.count * (way.count - 1) / 2
    amount = own * S + (whole * _left_out if sampled else 0)
    mean: list[RuleInstance] = []
    if whole != 0 and sampled:
        mean = [whole * _apart(p), -2 * S * whole * p.by(rules.SAMPLED, start, global_grad, C, global_grad)]
    elif whole != 0:
        mean = [whole * S * _mean_gradient(p, C.sum(start) + S * global_grad)]
    at_start = [
        way.squares(p, start),
        -own * p.by(rules.SECOND_MOMENT, start, global_grad, C),
        *mean,
        amount * p.by(rules.HETEROGENEITY, start, global_grad),
        way.each(p.by(rules.NOISE_BEFORE, ALL.noise, *way.order)),
        -2 * way.fresh_so_far(p, P),
    ]
    because = [
        -1 * way.moved(p, lambda y: (y - x) ** 2),
        e**2 * p.by(rules.YOUNG, -W, P + Z, 1 / theta).over(I, C),
        *times(e**2 * (1 + theta), at_start),
        e**2 * (1 + 1 / theta) * way.each(p.by(rules.SUMS_BEFORE, w, *way.order)),
        e**2 * (1 + 1 / theta) * returned * p.by(rules.LIPSCHITZ, ALL.function, ALL.point, x).over(I, C),
    ]
    spread = amount * (beta**2 * grad_sq + zeta**2) + (own * S + whole * S**2) * grad_sq
    noisy = N * (way.count - 1) / 2 * sigma**2
    bound = e**2 * ((1 + 1 / theta) * returned * L**2 * E_r + (1 + theta) * (spread + noisy))
    fact = p.solved("E_r", p.have("the drift", E_r, "<=", bound, *because, after={eta: e}), share)
    if not (sampled and way.in_turn):
        return fact
    # Simpler before ||grad F||^2, for z3: at most S^2 K^3 / 2 for the spread, and (S K)^3 / 3
    simpler = e**2 * (1 + theta) / (1 - share) * (beta**2 * S**2 * K**3 / 2 + (S * K) ** 3 / 3)
    rest = spread_out(fact.value)
    return p.relaxed("the drift", fact, rest + (simpler - rest.coeff(grad_sq)) * grad_sq)


def of_round(name: str, choices: Choices) -> Proof:
    """The proof of a recursion, by its name, with these choices."""
    way = PFL if name.startswith(("eq70", "step.eq80")) else SFL
    if isinstance(choices, ExactSplit):
        return exact_round(choices.least, choices.c)
    if isinstance(choices, Young):
        return young_round(way, *astuple(choices))
    return nonconvex_round(way, choices.tau, choices.beside, choices.theta, choices.share, choices.phi)


_HALF = Rational(1, 2)
_ROUNDS: dict[str, Proof] = {name: of_round(name, choices) for name, choices in CHOICES.items()}
_LEMMAS = {
    "lemma7.eq38.sharp": decayed(Rational(318, 125), _HALF),
    "lemma7.eq38.faster": decayed(Rational(1306, 825), _1),
}
# theorem -> (recursion, lemma)
_THEOREMS = {
    "thm1.strongly_convex.sharp": ("step.sc_recursion.sharp", "lemma7.eq38.sharp"),
    "thm1.strongly_convex.faster": ("step.sc_recursion.faster", "lemma7.eq38.faster"),
    "thm1.general_convex.sharp": ("step.gc_recursion.sharp", "lemma8.eq44"),
    "thm1.nonconvex.sharp": ("step.eq54_recursion.sharp", "lemma8.eq44"),
    "thm2.strongly_convex.sharp": ("eq70.sharp", "lemma7.eq38.sharp"),
    "thm2.strongly_convex.faster": ("eq70.faster", "lemma7.eq38.faster"),
    "thm2.general_convex.sharp": ("eq70.sharp.general_convex", "lemma8.eq44"),
    "thm2.nonconvex.sharp": ("step.eq80_recursion.sharp", "lemma8.eq44"),
    "eq42.corrected.sharp": ("step.sc_recursion.sharp.sampled", "lemma7.eq38.sharp"),
    "eq46.corrected.sharp": ("step.gc_recursion.corrected.sharp.sampled", "lemma8.eq44"),
    "eq71.sharp": ("eq70.sharp.sampled", "lemma7.eq38.sharp"),
    "eq73.sharp": ("eq70.sharp.general_convex.sampled", "lemma8.eq44"),
    "eq54.corrected.sharp": ("step.eq54_recursion.corrected.sharp.sampled", "lemma8.eq44"),
    "eq80.corrected.sharp": ("step.eq80_recursion.corrected.sharp.sampled", "lemma8.eq44"),
}
PROOFS: dict[str, Proof] = {
    **_LEMMAS,
    **_ROUNDS,
    **{name: by_lemma(*source, everyone=name.startswith("thm")) for name, source in _THEOREMS.items()},
}


# The free choices, to be optimised


def _points(limit: sympy.Expr, of_some: bool) -> Callable[[float], Points]:
    """Numbers of clients and steps, curvatures and step sizes; first those at which the constants are compared.

    limit  1 / the largest step size, as printed
    """

    def points(span: float) -> Points:
        first = [(5 if of_some else 10, 10, 5, 0.01, 1.0, 1.0)]
        clients = [(s, m) for s, m in product((1, 2, 3, 1e9), (2, 3, 1e9)) if s <= m and (of_some or s == m)]
        clients += [] if of_some else [(1, 1)]
        rest = product(clients, (1, 2, 1e9), (1e-3, 1.0), (0.0, 1.0, 10.0), (1.0, 0.5, 0.01))
        rows = first + [(s, m, k, mu_, beta_, share) for (s, m), k, mu_, beta_, share in rest]
        own = dict(zip(("S", "M", "K", "mu", "beta", "share"), np.array(rows).T, strict=True))
        share, own["L"] = own.pop("share"), np.ones(len(rows))
        symbols = sorted(limit.free_symbols, key=str)
        with np.errstate(all="ignore"):
            largest = 1 / sympy.lambdify(symbols, limit, "numpy")(*(own[s.name] for s in symbols))
        return {**own, "eta_tilde": span * largest * share}

    return points


def _settled(parallel: bool, choices: Choices, fact: Fact, points: Points) -> Choices:
    """For non-convex functions, the numbers that the other choices lead to, rounded to the safe side."""
    if not isinstance(choices, Rough):
        return choices
    eta_of, spread = K * eta if parallel else S * K * eta, L**2 * eta_tilde**3

    def ratio(amount: sympy.Expr, less: sympy.Expr, shape: sympy.Expr) -> NDArray[np.float64]:
        """(coefficient - less) / shape at the points where the shape is not 0."""
        above, below = fact.value.coeff(amount) - less, shape
        symbols = sorted(above.free_symbols | below.free_symbols, key=str)
        made = sympy.lambdify(symbols, (above, below), "numpy")
        a, b = (np.broadcast_to(e, points["K"].shape) for e in made(*(points[s.name] for s in symbols)))
        return a[b != 0] / b[b != 0]

    def up(x: float, parts: int = 48) -> sympy.Rational:
        return Rational(int(np.ceil(x * parts - 1e-9)), parts)

    none = replace(choices, noise_drift=_0, heterogeneity=_0)
    drift = none.errors(eta_of).get("noise_drift", (3, _0))[1] / (L**2 * sigma**2)
    (_, noisy), (_, apart) = (
        replace(none, noise_drift=_1, heterogeneity=_1).errors(eta_of)[n] for n in ("noise_drift", "heterogeneity")
    )
    own_noise = L / 2 * eta_tilde**2 / (S * K) + spread * drift
    sampling = none.errors(eta_of).get("sampling", (2, _0))[1] * eta_tilde**2 / zeta**2
    return replace(
        choices,
        progress=-up(-float(np.min(ratio(grad_sq, _0, -eta_tilde)))),
        noise_drift=up(float(np.max(ratio(sigma**2, own_noise, spread * (noisy / (L**2 * sigma**2) - drift))))),
        heterogeneity=up(float(np.max(ratio(zeta**2, sampling, spread * apart / (L**2 * zeta**2))))),
    )


def _sharpening(theorem: str, suffix: str = "sharp") -> Sharpening:
    _, _, case = LEADING[theorem]
    of_some, rate = theorem.startswith("eq"), {"sharp": _HALF, "faster": _1}[suffix]
    name = recursion_of(theorem, suffix)
    choices = CHOICES[name]
    parallel, applied = LEADING[theorem][1] == K * eta, catalogue.find(f"sfl.{theorem}").applies
    assert applied is not None
    free: tuple[str, ...] = ("least", "c")
    if isinstance(choices, Young):
        given = ("of_noise",) * parallel + tuple(n for n in ("curved", "traded", "theta") if getattr(choices, n) != 0)
        free = ("rho", *given)
    if isinstance(choices, Rough):
        free = ("tau", "beside", "theta", "share")
    lemma = f"lemma7.eq38.{suffix}" if case == "strongly_convex" else "lemma8.eq44"
    return Sharpening(
        theorem=f"sfl.{theorem}.{suffix}",
        step=f"sfl.{name}",
        choices=choices,
        free=free,
        proof=partial(of_round, name),
        language=OURS,
        points=_points(applied.substitution["d"], of_some),
        before=(dist2, rate * mu * eta_tilde) if case == "strongly_convex" else None,
        progress=grad_sq if case == "nonconvex" else D_F,
        amounts=(sigma**2, zeta**2 if case == "nonconvex" else zeta_star**2),
        settled=partial(_settled, parallel),
        declare=partial(declare, theorem),
        proofs=lambda own, theorem_, chosen: {
            own: (of_round(name, chosen), OURS),
            theorem_: (by_lemma(own.removeprefix("sfl."), lemma, everyone=not of_some), OURS),
        },
    )


# Five choices for (54) and (80): their optimum takes minutes
SHARPENINGS = {
    one.theorem: one
    for one in (
        *(_sharpening(theorem) for theorem in LEADING if theorem not in ("eq54.corrected", "eq80.corrected")),
        *(
            _sharpening(theorem, "faster")
            for theorem, (_, _, case) in LEADING.items()
            if theorem.startswith("thm") and case == "strongly_convex"
        ),
    )
}


def evidence() -> Iterator[Evidence]:
    """Every proof as evidence."""
    return evidence_of(PROOFS, "repair", OURS, "sfl")
