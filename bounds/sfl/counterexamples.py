"""Instances that refute statements of the SFL paper, computed in fractions.

Every check reads the statement's conditions and assumptions: an instance that they exclude is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from fedtheory.bounds.sfl.quantities import QUANTITIES
from fedtheory.bounds.sfl.rounds import Instance, form_of, outcomes, symbols
from fedtheory.bounds.trials.cases import substituted
from fedtheory.bounds.trials.claims import Number, balance
from fedtheory.theory.proofs.instances import sides
from fedtheory.theory.statement import Evidence, Relations, Statement, Status, Verdict, Words

# ---------------------------------------------------------------------------------------------------------------------
# Lemma 14: beta and zeta without Assumption 3a


# F_1 = x^2/2 and nine clients that are 0, from x = 1, one client a round, ten steps: every client has its minimum at 0
_ZERO, _ONE = Fraction(0), Fraction(1)
_ONE_CURVED = Instance((((_ONE,),), *[((_ZERO,),)] * 9), ((_ZERO,),) * 10, (_ONE,), S=1, K=10, sigma_sq=_ZERO)


def _heterogeneity(instance: Instance, statement: Statement) -> tuple[Number, Number]:
    """(beta, zeta^2) that the statement's assumptions allow on the instance.

    With Assumption 3a: the smallest beta in steps of 1/2 that fits, and its zeta^2.  Without it nothing relates beta and
    zeta to the clients: beta = 0 and zeta = zeta_*, which Assumption 3b bounds.
    """
    if "sfl.asm.het_a" not in statement.assumes:
        return Fraction(0), instance.zeta_star_sq
    beta = next(b for b in (Fraction(n, 2) for n in range(100)) if instance.zeta_sq(b) is not None)
    zeta_sq = instance.zeta_sq(beta)
    assert zeta_sq is not None
    return beta, zeta_sq


def one_curved_client(statement: Statement, full: bool = False) -> Verdict:
    """The drift of one parabola among flat clients, at the largest step 1/(6LK), against the statement's right side."""
    instance, to = _ONE_CURVED, form_of(statement)[0]
    beta, zeta_sq = _heterogeneity(instance, statement)
    eta = 1 / (6 * instance.L * instance.K)
    known = symbols(instance, None, {}) | {"beta": beta, "zeta_sq": zeta_sq, "eta": eta}
    if not (instance.fits(to.given) and all(condition.holds(known) for condition in (*to.conditions, *to.on_step))):
        return Verdict(Status.OPEN, "the instance does not meet the conditions")
    every = outcomes(instance, eta, False)
    values = {name: every.mean(QUANTITIES[name]) for name in to.symbols & QUANTITIES.keys()} | known
    for claim in to.inequalities:
        found = balance(claim, values)
        if not found.holds:
            left, right = found.quantity, found.minus + found.plus
            return Verdict(
                Status.REFUTED,
                f"F_1 = x^2/2, nine clients 0, x = 1: in exact arithmetic left side {float(left):.4g}, right side "
                f"{float(right):.4g}",
                slack=float(1 / found.ratio),
                witness={
                    "F_1": "x^2/2", "F_2 ... F_10": "0", "x": 1, "M": 10, "S": 1, "K": 10, "eta": str(eta), "sigma": 0,
                    "zeta_star": 0, "beta": str(beta), "zeta^2": str(zeta_sq), "left": str(left), "right": str(right),
                },
            )  # fmt: skip
    return Verdict(Status.OPEN, f"no contradiction at beta = {beta}, zeta^2 = {zeta_sq}")


# ---------------------------------------------------------------------------------------------------------------------
# Split learning with unequal numbers of local steps

Point = tuple[Fraction, Fraction]  # x = [x_c; x_s] of the model x_s x_c X, one sample X = 1, Y = 0, loss (x_s x_c)^2/2


_START: Point = (Fraction(1), Fraction(1, 2))
_UNEVEN, _ETA, _MOST = (1, 2), Fraction(1, 2), 2


def _after_round(*tau: int) -> Point:
    """The model after a round of SSL with tau_m local steps at the m-th client; clients are equal, in any order.

    In a local step of Algorithms 3 and 4 the client sends A = x_c, the server sends back the gradient in A.
    """
    x_c, x_s = _START
    for _ in range(sum(tau)):
        smashed, error = x_c, x_s * x_c
        x_c, x_s = x_c - _ETA * error * x_s, x_s - _ETA * error * smashed
    return x_c, x_s


def admits(statement: Statement, tau: Sequence[int], K: int) -> bool:
    """Whether the conditions hold for every tau_m at this K.  Raises ValueError for a condition on something else."""
    return all(substituted(c.relation, {"tau_m": one, "K": K}) == sympy.true for c in statement.when for one in tau)


def uneven_steps(statement: Statement, full: bool = False) -> Verdict:
    """SSL with tau = (1, 2) at two equal clients against SFL with K = 1, 2: three steps a round against 2 K.

    Every step shrinks x_c and x_s and neither becomes 0, so models with different numbers of steps differ: no K fits.
    """
    counts = [K for K in range(1, _MOST + 1) if admits(statement, _UNEVEN, K)]
    if not counts:
        return Verdict(Status.OPEN, "the conditions exclude unequal tau_m")
    formulas = [f for f in statement.claim_of(Words).formulas if any(s.name == "x_SSL" for s in f.free_symbols)]
    x_ssl = _after_round(*_UNEVEN)
    for steps in counts:
        for ours, theirs in zip(x_ssl, _after_round(steps, steps), strict=True):
            known = {"x_SSL": float(ours), "x_SFL": float(theirs)}
            if all(side.holds for side in sides(Relations(tuple(formulas)), known)):
                return Verdict(Status.OPEN, f"K = {steps} agrees in a coordinate")
    told = {f"SFL with K = {n}": _told(_after_round(n, n)) for n in range(1, _MOST + 1)}
    return Verdict(
        Status.REFUTED,
        "two alike clients with tau = (1, 2): in a round SSL makes three steps and SFL 2 K; no two of their models agree",
        witness={
            "model": "x_s x_c, one sample X = 1, Y = 0, loss (x_s x_c)^2/2", "x_c, x_s": _told(_START), "eta": str(_ETA),
            "tau": list(_UNEVEN), "SSL": _told(x_ssl), **told,
        },
    )  # fmt: skip


def _told(x: Point) -> str:
    return ", ".join(str(v) for v in x)


def evidence() -> list[Evidence]:
    """The counter-examples of this module."""
    return [
        Evidence("sfl.lemma14", "counterexample", one_curved_client),
        Evidence("sfl.claim.ssl_equiv", "counterexample", uneven_steps),
    ]
