"""Assumptions 1 to 7: an assumption is no claim; the check is that it can be met, and with no smaller constant.

Assumptions on compressors are checked exactly, over the whole law of Q at rational points; the others with the certified
constants of the test problems, as for the SFL paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod

import numpy as np

from fedtheory.bounds.trials import problems
from fedtheory.bounds.trials.cases import Case, ExactVector, Operator, compared, known_at, met
from fedtheory.simulations.compressors import (
    QSGD,
    Bernoulli,
    Compressor,
    Dithering,
    G_q_on,
    Identity,
    RandK,
    Sparsifier,
    StochasticSign,
)
from fedtheory.simulations.problems.quadratic import Quadratic, generate
from fedtheory.theory.statement import Statement, Verdict


@dataclass(frozen=True)
class Message(ExactVector):
    """A client's message; a sum of messages has no sender."""

    sender: int = 0


# ------------------------------------------------------------------------------------------- Assumptions 2 and 5

_QUARTER = Fraction(1, 4)
# In four dimensions their q are fractions, and their certificates have no rounding.
UNBIASED: tuple[Compressor, ...] = (
    Identity(), RandK(1), RandK(2), Bernoulli(_QUARTER), Sparsifier(Fraction(1, 2)), QSGD(1), Dithering(1), StochasticSign(),
)  # fmt: skip
# All norms but the last are integers; QSGD's q is attained at the fourth point, that of dithering at the last.
POINTS = ((3, 0, 4, 0), (1, 2, -2, 4), (1, -1, 3, 5), (1, 1, 1, 1), (3, 1, -1, 1))


def _points_of(Q: Compressor) -> Iterator[tuple[Fraction, ...]]:
    for point in POINTS:
        whole = sum(v * v for v in point) in {n * n for n in range(20)}
        if whole or not isinstance(Q, QSGD | StochasticSign):
            yield tuple(Fraction(v, 7) for v in point)


def compressed(statement: Statement, full: bool = False) -> Verdict:
    """E Q(x) = x and E||Q(x) - x||^2 <= q ||x||^2 with the certified q, over the whole law of Q(x)."""
    cases = []
    for Q in UNBIASED:
        q = Q.q(4).value
        assert q is not None
        for x in _points_of(Q):
            law = [(chance, {"Q": known_at(ExactVector(x), ExactVector(out))}) for chance, out in Q.law(x)]
            cases.append(Case(f"{Q.name} at {', '.join(map(str, x))}", {"x": ExactVector(x), "q": Fraction(q)}, law))
    return compared(statement.claim, cases, f"on {', '.join(Q.name for Q in UNBIASED)} in four dimensions")


def _masked(masks: Sequence[tuple[Fraction, ...]]) -> Operator:
    """A message gets its sender's mask, masks[sender], a sum gets masks[0]; a single mask is shared by all."""

    def coded(x: ExactVector) -> ExactVector:
        mask = masks[getattr(x, "sender", 0) if len(masks) > 1 else 0]
        return ExactVector(tuple(a * b for a, b in zip(x.entries, mask, strict=True)))

    return Operator(coded)


def _messages(m: int, radius: int) -> Iterator[tuple[str, list[Message]]]:
    """Messages in two dimensions, of norm at most `radius`; the first ones cancel each other."""
    v = (Fraction(3 * radius, 5), Fraction(4 * radius, 5))
    opposite = [tuple((-1) ** j * a for a in v) for j in range(m)] if m % 2 == 0 else None
    rows = {"opposite": opposite, "equal": [v] * m, "one alone": [v, *[(Fraction(0),) * 2] * (m - 1)]}
    rows["various"] = [(Fraction(radius, j + 1), Fraction(-radius * j, 2 * m)) for j in range(1, m + 1)]
    for name, row in rows.items():
        if row is not None:
            yield name, [Message(entries, sender=j) for j, entries in enumerate(row, 1)]


def gap(statement: Statement, full: bool = False) -> Verdict:
    """The left side over the whole law of the coins: G_q = 0 for shared masks; for independent ones only bounded messages.

    For independent unbiased masks the left side is q ((1/m^2) sum ||x_j||^2 - ||mean||^2).  So for messages of norm at
    most B the smallest G_q is q B^2 / m, if m is even, and it grows with B.
    """
    cases, compressors = [], (RandK(1), Sparsifier(Fraction(1, 2)))
    for Q, (m, radius) in product(compressors, ((2, 1), (2, 10), (4, 1))):
        masks, q = Q.law([Fraction(1)] * 2), Q.q(2).value
        assert q is not None
        if m > 2 and len(masks) > 2 and not full:
            continue  # 4^5 outcomes
        shared = [(chance, {"Q": _masked([mask])}) for chance, mask in masks]
        own = [
            (prod((chance for chance, _ in drawn), start=Fraction(1)), {"Q": _masked([mask for _, mask in drawn])})
            for drawn in product(masks, repeat=m + 1)
        ]
        for name, messages in _messages(m, radius):
            known = {"x": messages, "m": Fraction(m)}
            cases.append(Case(f"{Q.name}, shared, {name}, m = {m}", {**known, "G_q": Fraction(0)}, shared))
            bound = Fraction(q) * radius**2 / m
            where = f"{Q.name}, independent, {name}, m = {m}, ||x_j|| <= {radius}"
            cases.append(Case(where, {**known, "G_q": bound}, own))
    verdict = compared(
        statement.claim,
        cases,
        "on RandK(1) and Sparsifier(1/2), d = 2: shared masks with G_q = 0; independent ones with G_q = "
        "q B^2 / m for messages of norm at most B = 1, 10",
    )
    grown = [G_q_on(RandK(1), [[0.6 * t, 0.8 * t], [-0.6 * t, -0.8 * t]]) for t in (1, 10, 100)]
    return replace(
        verdict,
        says=f"{verdict.says}. With independent coins no G_q holds for all messages: RandK(1) at x_1 = t v, x_2 = -t v, "
        f"v = (3/5, 4/5), has the left side {', '.join(f'{g:g}' for g in grown)} for t = 1, 10, 100",
    )


# -------------------------------------------------------------------------------------- Assumptions 1, 3, 4, 6, 7


def smooth(statement: Statement, full: bool = False) -> Verdict:
    """||grad f_j(u) - grad f_j(v)|| <= L ||u - v|| with the certified L; every f has a certified minimum."""
    bounded = [g for g in problems.examples() if np.isfinite(g.constants["F_star"])]
    return met(
        statement.claim, problems.at_pairs("f_j", "u", "v", bounded, L="L"), f"{problems.FAMILY}, all bounded below"
    )


def _stochastic(symbol: str) -> Iterator[Case]:
    """Clients with enumerated laws of their stochastic gradients, in the paper's symbols."""
    for place in problems.samples(lambda problem: {"sigma": problem.constants["sigma"]}):
        yield problems.in_letters(place, symbol, "w", "g_tilde", sigma=place.values["sigma"])


def heterogeneous(statement: Statement, full: bool = False) -> Verdict:
    """E[g_j] = grad f_j and E||g_j - grad f_j||^2 <= sigma^2 with the certified sigma."""
    return met(statement.claim, _stochastic("f_j"), problems.SAMPLES)


def homogeneous(statement: Statement, full: bool = False) -> Verdict:
    """The same for identical clients: f_j = f, with each client of the family as f."""
    return met(
        statement.claim,
        _stochastic("f"),
        "federations of identical clients: x^2/2 with samples x^2/2 +- x, a quadratic with noise (a two-point law of the "
        "same moments), a tenth of breast_cancer by logistic regression with all batches of one",
    )


@cache
def _least_squares() -> tuple[problems.Example, ...]:
    """Quadratics whose Hessian is singular: Polyak-Lojasiewicz, not strongly convex; least squares with d > n."""
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        A, y = rng.standard_normal((2, 5)), rng.standard_normal(2)  # two equations, five unknowns
        problem = Quadratic((A.T @ A)[None], -(A.T @ y)[None], name=f"least squares {seed}")
        found.append(problems.quadratic_example(problem, seed))
    return tuple(found)


def polyak(statement: Statement, full: bool = False) -> Verdict:
    """(1/2) ||grad f(w)||^2 >= mu (f(w) - f(w_star)) with the certified mu, also where f is not strongly convex."""
    flat = _least_squares()
    curved = [g for g in problems.examples() if (g.constants.get("mu_pl") or 0) > 0]
    places = []
    for g in (*flat, *curved):
        star, mu = g.constants["x_star"], float(g.constants["mu_pl"])
        near = [star + v for v, zero in g.pairs if not np.any(zero)]  # along eigenvectors, which attain mu
        for w in [star, *near, *(w for w, _ in g.pairs)]:
            places.append(Case(g.name, {"f": g.F, "w": w, "w_star": star, "mu": mu}))
    names = ", ".join(g.name for g in curved)
    return met(statement.claim, places, f"{len(flat)} least-squares problems with a singular Hessian, and {names}")


def strongly_convex(statement: Statement, full: bool = False) -> Verdict:
    """f(u) >= f(v) + <grad f(v), u - v> + (mu/2) ||u - v||^2 with the certified mu."""
    single = [generate(4, 1, L=1.0, mu=mu, seed=seed) for seed, mu in enumerate((0.1, 0.5, 1.0))]
    equal = [problems.quadratic_example(one, seed) for seed, one in enumerate(single)]
    curved = [*equal, *(g for g in problems.examples() if (g.constants.get("mu") or 0) > 0)]
    places = (
        Case(g.name, {"f": g.F, "u": u, "v": v, "mu": float(g.constants["mu"])})
        for g in curved
        for one, two in g.pairs
        for u, v in ((one, two), (two, one))
    )
    return met(statement.claim, places, ", ".join(g.name for g in curved))
