"""Units; a certificate for the step; the theorem by induction."""

from __future__ import annotations

from collections.abc import Iterator

import sympy
from theory.sgd import D, L, Own, R, dist2, eta, mu, sigma

from theory import catalogue
from theory.proofs import units
from theory.proofs.arithmetic import decide
from theory.proofs.ledger import bound_of, conditions_of
from theory.proofs.vectors import certify, convex, point
from theory.statement import Evidence, Statement, Status, Verdict

OPEN: dict[str, str] = {}


def evidence() -> Iterator[Evidence]:
    """Which instrument tests which statement."""
    yield from units.evidence("sgd")
    yield Evidence("sgd.one_step", "certificate", one_step)
    yield Evidence("sgd.thm", "derivation", by_induction, uses=("sgd.one_step",))


def one_step(statement: Statement, full: bool = False) -> Verdict:
    """The noise adds at most eta^2 sigma^2; the rest by strong convexity and F(x) - F(x*) >= ||grad F(x)||^2/(2L).

    What is to be shown, divided by eta, is linear in eta: it holds up to 1/L if it holds at both ends.
    """
    if Own.ALWAYS_BOUNDED not in catalogue.properties(statement):
        return Verdict(Status.BROKEN, f"this proof needs: {Own.ALWAYS_BOUNDED}", witness={"step": "noise"})
    h, x, star = sympy.Symbol("h"), sympy.Symbol("x", real=True), sympy.Symbol("star", real=True)
    at_x, at_star = point(h, x), point(h, star)
    apart = (x - star) ** 2
    claim = sympy.expand(bound_of(statement).value.subs(dist2, apart) - (x - star - eta * at_x.gradient) ** 2)
    of_noise = decide(conditions_of(statement), claim.coeff(sigma, 2) - eta**2 >= 0)
    rest = sympy.expand(claim.coeff(sigma, 0) / eta)
    if of_noise.status is not Status.PROVED or sympy.degree(rest, eta) > 1:
        return Verdict(Status.REFUTED, "the noise alone exceeds its term", witness={"x": "x*", "L": 1, "eta": 1})
    within = decide(conditions_of(statement), eta <= 1 / L)
    if within.status is not Status.PROVED:
        step = {s.name: str(value) for s, value in within.model.items()}
        return Verdict(Status.BROKEN, "this proof needs eta <= 1/L, which the conditions do not give", witness=step)
    functions = {
        "strong convexity": convex(at_star, at_x) - mu / 2 * apart,
        "least value": at_x.value - at_star.value - at_x.gradient**2 / (2 * L),
    }
    sample = {L: sympy.Integer(1), mu: sympy.Rational(1, 3)}
    for end in (0, 1 / L):
        found = certify(sympy.expand(rest.subs(eta, end)), functions, sample, [L > 0, mu > 0])
        if found.status is not Status.PROVED:
            # the two inequalities follow from the assumptions and not the other way round, so they refute no claim
            return Verdict(Status.BROKEN, f"no proof by these two inequalities at eta = {end}", witness=found.witness)
    return found


def by_induction(statement: Statement, full: bool = False) -> Verdict:
    """bound(0) >= (L/2) D^2, and a step of (1) takes (2/L) bound(R) below (2/L) bound(R + 1)."""
    used = catalogue.find("sgd.one_step")
    bound, step = bound_of(statement).value, bound_of(used).value
    squares = 2 / L * bound  # F(x) - F(x*) <= (L/2) ||x - x*||^2
    begins = sympy.simplify(squares.subs(R, 0) - D**2)
    goes_on = sympy.simplify(sympy.expand(squares.subs(R, R + 1) - step.subs(dist2, squares)))
    steps = {"bound(0) - D^2": begins >= 0, "bound(R + 1) - step": goes_on >= 0}
    steps |= {f"condition of {used.id}: {relation}": relation for relation in conditions_of(used)}
    for name, claim in steps.items():
        if claim != sympy.true and decide(conditions_of(statement), claim).status is not Status.PROVED:
            return Verdict(Status.BROKEN, f"{name} does not follow", witness={"step": name})
    return Verdict(Status.PROVED, "by induction over the steps", slack=1.0)
