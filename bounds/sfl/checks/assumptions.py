"""The assumptions: met with the certified constants of the test problems, and with no smaller ones.

An assumption is no claim; the check is that it can be met, and that on some problem no smaller constant is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import cast

import numpy as np
import sympy
from sympy.logic.boolalg import Boolean

from fedtheory.bounds.trials import problems
from fedtheory.bounds.trials.cases import Case, met, relations
from fedtheory.simulations.problems import Array
from fedtheory.simulations.problems.quadratic import from_functions, generate
from fedtheory.theory import catalogue
from fedtheory.theory.notation import Grad, Norm
from fedtheory.theory.proofs.arithmetic import decide
from fedtheory.theory.proofs.instances import Values, sides
from fedtheory.theory.statement import Relations, Statement, Status, Verdict


def lower(statement: Statement, full: bool = False) -> Verdict:
    """F >= F* at seeded points and at x*, F(x*) = F*, if the certificates give x*."""
    bounded = [g for g in problems.examples() if g.constants.get("x_star") is not None]
    places = (
        Case(g.name, {"F": g.F, "x": x, "F_star": g.constants["F_star"], "x_star": g.constants["x_star"]})
        for g in bounded
        for x in [g.constants["x_star"], *(x for x, _ in g.pairs)]
    )
    verdict = met(statement.claim, places, problems.FAMILY)
    return replace(verdict, slack=None)  # F* is no bound that a factor could tighten


def cases(statement: Statement, full: bool = False) -> Verdict:
    """D_{F_m}(x, y) >= (mu/2) ||x - y||^2 with the certified mu, 0 for a client that is only convex."""
    return met(
        statement.claim, problems.at_pairs("F_m", "x", "y", problems.convex_examples(), mu="curvature"), problems.CONVEX
    )


def smooth(statement: Statement, full: bool = False) -> Verdict:
    """||grad F_m(x) - grad F_m(y)|| <= L ||x - y|| with the certified L."""
    return met(statement.claim, problems.at_pairs("F_m", "x", "y", problems.examples(), L="L"), problems.FAMILY)


def unbiased(statement: Statement, full: bool = False) -> Verdict:
    """The relation, with the exact expectation over all samples."""
    return met(statement.claim, problems.samples(lambda _: {}), problems.SAMPLES)


def variance(statement: Statement, full: bool = False) -> Verdict:
    """E ||grad f_m - grad F_m||^2 <= sigma^2 with the certified sigma."""
    return met(
        statement.claim, problems.samples(lambda problem: {"sigma": problem.constants["sigma"]}), problems.SAMPLES
    )


def _by_client(claim: Relations) -> Relations:
    """F_m as one of a sequence of clients, so that the sum over m runs over them."""
    F_m = catalogue.paper("sfl").symbols["F_m"].sympy
    clients = sympy.IndexedBase("F_m", real=True)[catalogue.paper("sfl").symbols["m"].sympy]
    return Relations(tuple(r.xreplace({F_m: clients}) for r in claim.relations), claim.words)


def _lowest(f: Callable[[Array], float], d: int) -> Array:
    """The stationary point of a quadratic f on R^d, read off its values."""
    e, zero = np.eye(d), f(np.zeros(d))
    slope = np.array([f(u) - f(-u) for u in e]) / 2
    curvature = np.array([[f(u + v) - f(u) - f(v) + zero for v in e] for u in e])
    return np.asarray(-np.linalg.lstsq(curvature, slope, rcond=None)[0])


def heterogeneity(statement: Statement, full: bool = False) -> Verdict:
    """Assumption 3a with the certified (beta, zeta), also where right minus left side is smallest."""
    claim = _by_client(statement.claim_of(Relations))
    places = []
    for g, M, d in _heterogeneous():
        values = {"F": g.F, "F_m": list(g.clients), "M": M, "beta": g.constants["beta"], "zeta": g.constants["zeta"]}

        def room(x: Array, values: Values = values) -> float:
            (side,) = sides(_by_client(_het_a()), {**values, "x": x})
            return float(side.right - side.left)

        worst = [_lowest(room, d)] if d <= 3 else []
        places += [Case(g.name, {**values, "x": x}) for x in [*worst, *(x for x, _ in g.pairs)]]
    return met(
        claim, places, "quadratics (d = 1, 3) and logistic regression, with beta = zeta = 0 for identical clients"
    )


@cache
def _heterogeneous() -> tuple[tuple[problems.Example, int, int], ...]:
    """(problem, M, d): Groups 2 to 4, identical clients and others in three dimensions, logistic regression."""
    quadratics = [
        *(from_functions(c, (1.0, -1.0), name=f"x^2/2 by {c}") for c in ((0.5, 0.5), (2 / 3, 1 / 3), (1.0, 0.0))),
        generate(3, 3, L=1.0, mu=0.2, seed=7),
        generate(3, 4, L=1.0, mu=0.3, zeta_star=0.7, delta=0.2, seed=8),
        generate(3, 5, L=2.0, mu=-0.2, zeta_star=2.0, delta=0.5, seed=9),
    ]
    found = [(problems.quadratic_example(q, seed), q.M, q.d) for seed, q in enumerate(quadratics)]
    return (*found, (problems.examples()[-1], problems.logistic().M, problems.logistic().d))


def _het_a() -> Relations:
    return Relations(tuple(relations(catalogue.find("sfl.asm.het_a").claim)))


def at_optimum(statement: Statement, full: bool = False) -> Verdict:
    """zeta_star by its definition; and (2) at x*, where grad F = 0, reads zeta_star <= zeta: (3) is weaker."""
    claim = statement.claim_of(Relations)
    places = [
        Case(
            g.name,
            {"F_m": list(g.clients), "M": M, "x_star": g.constants["x_star"], "zeta_star": g.constants["zeta_star"]},
        )
        for g, M, _ in _heterogeneous()
    ]
    verdict = met(_by_client(claim), places, "quadratics (d = 1, 3) and logistic regression")
    if verdict.status is not Status.TESTED:
        return verdict
    # Assumption 3a at x = x*, where grad F = 0, its left side by the claim
    symbols = {name: symbol.sympy for name, symbol in catalogue.symbols(statement).items()}
    squares, squared = claim.relations[0].args
    gradient = Grad(symbols["F"], symbols["x_star"])
    implied = _het_a().relations[0].xreplace({symbols["x"]: symbols["x_star"]})
    for known in ({Norm(gradient): sympy.Integer(0)}, {gradient: sympy.Integer(0)}, {squares: squared}):
        implied = implied.xreplace(known)
    found = decide([cast(Boolean, implied)], sympy.Le(symbols["zeta_star"], symbols["zeta"]))
    if found.status is not Status.PROVED:
        return Verdict(Status.REFUTED, f"{implied} does not give zeta_star <= zeta", witness=dict(found.model))
    return replace(
        verdict,
        says=f"{verdict.says}; 3a at x = x* reads {implied}, hence zeta_star <= zeta: 3a gives 3b (z3), so 3b is weaker",
    )
