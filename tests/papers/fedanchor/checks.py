"""The evidence: units, proofs of both lemmas and the theorem, a search on small quadratics."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import sympy
from sympy import Rational

from fedanchor.algorithms import FedAnchor
from fedanchor.statements import Delta, E_r, K, L, M, R, gap, gap_last, gap_next, grad_sq, h, mu, sigma
from fedtheory.bounds.quantities import FIELD
from fedtheory.simulations.engine import run
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory.proofs import own, rules, units
from fedtheory.theory.proofs.argument import Argument, Fact, Language, as_evidence
from fedtheory.theory.proofs.forms import (
    Family,
    Infimum,
    Minimiser,
    Objective,
    StochasticGradient,
    gradient,
    value,
    vector,
)
from fedtheory.theory.proofs.ledger import powers
from fedtheory.theory.proofs.rules import Noise
from fedtheory.theory.proofs.sequences import lasting
from fedtheory.theory.statement import Evidence

OPEN: dict[str, str] = {}
QUANTITIES = {"E_r": FIELD["drift"]}  # of a round; the other symbols are the field's

eta = h / K  # as z3 does not know the definition of eta_tilde
k = sympy.Symbol("k", integer=True, nonnegative=True)
C, I = Family("C", M, at_once=True), Family("I", K)
J = Family("J", k, (I,))
f, x, x_next = Objective("F"), vector("x"), vector("x_next")
x_star, lowest = Minimiser("x*", f), Infimum("F*", f)
G = gradient(f, x)
drift_k, own_drift, tracked_sq, move_sq, noise_sq = sympy.symbols(
    "drift_k own_drift tracked_sq move_sq noise_sq", nonnegative=True
)
x_at = vector("x_at")


class Steps:
    """The local steps of some families."""

    def __init__(self, clients: tuple[Family, ...], steps: tuple[Family, ...]) -> None:
        self.families, self.function, self.point = steps, f.client("F_i", *clients), vector("y", *steps)
        self.local, self.at_start = gradient(self.function, self.point), gradient(self.function, x)
        self.g = StochasticGradient("g", self.function, self.point)
        self.noise = Noise(self.g.error, frozenset({x, x_star, self.point, self.local, self.at_start, G}))
        self.direction = self.g - self.at_start + G

    def sum(self, e: sympy.Expr) -> sympy.Expr:
        for family in reversed(self.families):
            e = family.sum(e)
        return e


ALL, OWN, WHOLE = Steps((C,), (C, I)), Steps((), (J,)), Steps((), (I,))
MEANS = {
    gap: value(f, x) - lowest,
    gap_next: value(f, x_next) - lowest,
    grad_sq: G**2,
    E_r: ALL.sum((ALL.point - x) ** 2) / (M * K),
    drift_k: (x_at - x) ** 2,
    own_drift: WHOLE.sum((WHOLE.point - x) ** 2),
    tracked_sq: ALL.sum(G + ALL.local - ALL.at_start) ** 2,
    move_sq: ALL.sum(ALL.local - ALL.at_start) ** 2,
    noise_sq: ALL.sum(ALL.noise.vector) ** 2,
}
LANGUAGE = Language(
    MEANS,
    {"alg1": {x_next: x - eta / M * ALL.sum(ALL.direction), x_at: x - eta * OWN.sum(OWN.direction)}},
    (*MEANS, sigma, Delta),
    start={gap: Delta},
    following={gap: gap_next},
    last={gap: gap_last},
    written={"alg1": "78832204946e"},
)


def drift(p: Argument) -> None:
    """Three terms for k steps of a client; summed over k; solved."""
    three = p.by(rules.JENSEN, OWN.sum(OWN.noise.vector), OWN.sum(OWN.local - OWN.at_start), k * G)
    successive, variance = p.by(rules.SUCCESSIVE, OWN.noise, J), p.by(rules.VARIANCE, OWN.noise).over(J)
    jensen = p.by(rules.JENSEN_OVER, OWN.local - OWN.at_start, J)
    part = p.by(rules.PART, lambda s: s.local - s.at_start, OWN, WHOLE)
    smooth = p.by(rules.LIPSCHITZ, WHOLE.function, WHOLE.point, x).over(I)
    because = [eta**2 * one for one in (three, 3 * successive, 3 * variance, 3 * jensen, 3 * k * part, 3 * k * smooth)]
    bound = 3 * eta**2 * (k * sigma**2 + k * L**2 * own_drift + k**2 * grad_sq)
    fact = p.have("k steps", drift_k, "<=", bound, *because, after=p.follow("alg1"))
    total = p.by_hand("summed over k", own_drift, "<=", powers(p, fact.value, k, K), fact)
    own = p.solved("drift of a client", total, Rational(1, 6))
    p.conclude(p.by_hand("so for each client, and for the mean", E_r, own.sign, own.value / K, own))


def descent(p: Argument) -> None:
    """Smoothness of F along the mean step; polarisation; two terms for the squared step."""
    smooth = p.by(rules.DESCENT_OF_MEAN, f, x_next, x)
    fresh = eta / M * p.by(rules.FRESH, ALL.noise, G).over(I, C)
    two = L * eta**2 / (2 * M**2) * p.by(rules.JENSEN, ALL.sum(ALL.noise.vector), ALL.sum(G + ALL.local - ALL.at_start))
    polarised = -eta / (2 * M * M * K) * (M**2 * K**2 * grad_sq + tracked_sq - move_sq)
    bound = gap + polarised + L * eta**2 / M**2 * (tracked_sq + noise_sq)
    fact = p.have("descent", gap_next, "<=", bound, smooth, fresh, two, after=p.follow("alg1"))
    jensen = p.by(rules.JENSEN_OVER, ALL.local - ALL.at_start, I, C)
    lipschitz = M * K * p.by(rules.LIPSCHITZ, ALL.function, ALL.point, x).over(I, C)
    moved = p.have("moved", move_sq, "<=", (M * K) ** 2 * L**2 * E_r, jensen, lipschitz)
    variance = p.by(rules.VARIANCE, ALL.noise).over(I, C)
    noisy = p.have("noise", noise_sq, "<=", M * K * sigma**2, p.by(rules.INDEPENDENT, ALL.noise, I, C), variance)
    p.conclude(p.put(fact, moved, noisy))


def theorem(p: Argument) -> None:
    """Lemma 1 into Lemma 2; strong convexity; round after round."""
    fact: Fact = p.put(p.claim("descent"), p.claim("drift"))
    polyak = p.have("strongly convex", grad_sq, ">=", 2 * mu * gap, p.by(rules.STRONGLY_POLYAK, f, x, lowest))
    p.conclude(lasting(p, p.put(fact, polyak), gap, 1 - mu * h / 2, R))


def rounds() -> Iterator[dict[str, float]]:
    """One round without noise, two clients on the line."""
    for a, b, slope, K_, share in product((1.0, 0.3), (1.0, 0.0), (0.0, 1.0), (1, 2, 5), (1.0, 0.5, 0.1)):
        problem = Quadratic(np.array([[[a]], [[b]]]), np.array([[slope], [-slope]]))
        step, known, x0 = share / 3, problem.constants, 1.0 + slope
        found = run(problem, FedAnchor(K=K_, eta=step / K_), rounds=1, x0=[x0], record=("value", "grad_sq", "drift"))
        at = {"M": 2, "K": K_, "L": known["L"], "mu": 0.05, "sigma": 0.0, "eta_tilde": step}
        gaps = found.value[0, 0] - known["F_star"]
        yield at | {
            "gap": float(gaps[0]),
            "gap_next": float(gaps[1]),
            "grad_sq": float(found.grad_sq[0, 0, 0]),
            "E_r": float(found.drift[0, 0, 0]) / K_,
        }


def evidence() -> Iterator[Evidence]:
    """Which check tests which statement."""
    yield from units.evidence("fedanchor")
    for name, proof in (("drift", drift), ("descent", descent), ("thm", theorem)):
        yield as_evidence(name, "ledger", proof, LANGUAGE, "fedanchor")
    yield Evidence("fedanchor.drift", "search", lambda s, full: own.on_cases(s, E_r, rounds(), lambda at: at["E_r"]))
    yield Evidence(
        "fedanchor.descent", "search", lambda s, full: own.on_cases(s, gap_next, rounds(), lambda at: at["gap_next"])
    )
