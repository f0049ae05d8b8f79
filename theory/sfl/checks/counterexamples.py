"""Counter-examples to lemmas and orders of the SFL paper, found by hand and computed exactly.

Every check reads the statement that it gets.  The statement's conditions must admit the instance, and the check compares
the measured value with the statement's own quantity, sign and terms.  If the statement leaves the step size open, the
counter-example holds for every admissible step size.  A counter-example to an order is a family along which
measured / printed grows without bound, so no constant can repair the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import sympy
from sympy import Rational, exp, sqrt
from sympy.logic.boolalg import Boolean

from fedtheory.theory import catalogue
from fedtheory.theory.proofs.arithmetic import decide
from fedtheory.theory.proofs.ledger import conditions_of
from fedtheory.theory.sfl.symbols import *
from fedtheory.theory.statement import Bound, Evidence, Order, Statement, Status, Verdict, Words

Numbers = Mapping[sympy.Symbol, Any]


def excluded(statement: Statement, at: Numbers) -> str:
    """The first condition of the statement that is false at these numbers; empty if none is."""
    return next((str(c) for c in statement.when if c.relation.subs(at) == sympy.false), "")


def contrary(claim: Bound, quantity: sympy.Symbol, measured: Any, value: Any) -> Boolean:
    """The relation that says: the claim is false if its quantity is `measured` and its right side `value`."""
    left = claim.quantity.subs(quantity, measured)
    if claim.sign == "<=":
        return sympy.Gt(left, value)
    return sympy.Lt(left, value) if claim.sign == ">=" else sympy.Ne(left, value)


def _no_contradiction(why: str) -> Verdict:
    return Verdict(Status.OPEN, f"no contradiction: {why}")


# Lemmas 7 and 8


def short_horizon(statement: Statement, full: bool = False) -> Verdict:
    """(38) without its condition on T: at T = 0 all of r_0 is used up at once, for every step size gamma <= 1/d."""
    claim = statement.claim_of(Bound)
    at = {T: 0, a: 1, d: 100, r0: 1, c: 0, c1: 0, c2: 0}
    conditions = [r.subs(at) for r in conditions_of(statement) if r.subs(at) != sympy.true]
    value = claim.value.subs(at).replace(exp, lambda e: sympy.Integer(1))  # exp(-gamma) <= 1: the larger bound
    if not value.is_finite:
        return _no_contradiction(f"the bound is {value}")
    psi = (1 - gamma) / gamma  # b s_0 with r_1 = 0 in (37)
    found = decide(conditions, contrary(claim, Psi_T, psi, value))
    if found.status is Status.PROVED:
        worst = {gamma: Rational(1, 100)}
        return Verdict(
            Status.REFUTED,
            "for every gamma <= 1/d: r_0 = 1, r_1 = 0, b s_0 = (1 - gamma)/gamma satisfy (37) and exceed the bound at T = 0",
            slack=float(value.subs(worst) / psi.subs(worst)),
            witness={
                "T": 0, "a": 1, "d": 100, "c": 0, "r_0": 1, "r_1": 0, "gamma": "1/100",
                "Psi_0": str(psi.subs(worst)), "printed": str(value.subs(worst)),
            },
        )  # fmt: skip
    return Verdict(Status.OPEN, f"the short horizon does not refute: {found.says}")


# r_0, c_1, c_2, all at d = 1 and T = 0: optimal starts, and one other
_STARTS = ((0, 1, 0), (0, 0, 1), (1, 1, 1))


def optimal_start(statement: Statement, full: bool = False) -> Verdict:
    """(45) at T = 0: r_1 = 0 and b s_0 = (r_0 + c_1 gamma^2 + c_2 gamma^3) / gamma satisfy the recursion for every gamma.

    For r_0 = 0 the printed bound is 0, but Psi_0 = b s_0 is positive for every gamma in (0, 1/d].
    """
    claim = statement.claim_of(Bound)
    for start in _STARTS:
        at = dict(zip((r0, c1, c2), start, strict=True)) | {d: 1, T: 0}
        if excluded(statement, at):
            continue
        psi = (r0 / gamma + c1 * gamma + c2 * gamma**2).subs(at)
        value = claim.value.subs(at)
        if decide([gamma <= 1], contrary(claim, Psi_T, psi, value)).status is Status.PROVED:
            largest = psi.subs(gamma, 1)
            return Verdict(
                Status.REFUTED,
                f"r_0, c_1, c_2 = {start}, T = 0: for every gamma in (0, 1/d] some sequence has Psi_0 = {psi}, the bound is "
                f"{value}",
                slack=float(value / largest),
                witness={
                    **{symbol.name: str(number) for symbol, number in at.items()},
                    "r_1": 0, "gamma": "1 (any gamma <= 1 will do; gamma = 0 leaves s_0 free)", "b s_0": str(largest),
                    "Psi_0": str(largest), "printed": str(value),
                },
            )  # fmt: skip
    return _no_contradiction("the bound holds at every start that the conditions admit")


# Orders of the non-convex case


def identical_clients(statement: Statement, full: bool = False) -> Verdict:
    """For beta = sigma = zeta = 0 a printed order must not be 0: F_1 = F_2 = x^2/2, K = 1, one round from x = 1."""
    claim = statement.claim_of(Order)
    at = {sigma: 0, zeta: 0, beta: 0, L: 1, A: Rational(1, 2), M: 2, S: 2, K: 1, R: 1}
    if condition := excluded(statement, at):
        return _no_contradiction(f"{condition} excludes it")
    if not claim.quantity.has(min_grad_sq):
        return _no_contradiction(f"it is about {claim.quantity}")
    number = sympy.simplify(claim.value.subs(at))
    sequential = statement.id.startswith(("sfl.cor1", "sfl.eq55"))
    step = Rational(1, 6) / (2 if sequential else 1)  # eta at the largest eta_tilde, 1/(6L)
    measured = (1 - step) ** (4 if sequential else 2)  # ||grad F(x^(1))||^2, the smaller of the two rounds
    if number == 0:
        return Verdict(
            Status.REFUTED,
            f"printed 0 for identical clients without noise, measured at least {measured} at every eta_tilde <= 1/(6L)",
            slack=0.0,
            witness={
                "F_1 = F_2": "x^2/2", "x0": 1, "M": 2, "S": 2, "K": 1, "R": 1, "eta_tilde": "1/6",
                "measured": str(measured), "printed": "any constant times 0",
            },
        )  # fmt: skip
    return _no_contradiction(f"printed {number} times a constant, measured {measured}")


def noise_of_sampling(statement: Statement, full: bool = False) -> Verdict:
    """Orders without a term for the sampling of clients: one of two clients per round, one step, exact gradients.

    F_1, F_2 = F +- x_2 with F = (mu x_1^2 + x_2^2)/2, mu = sqrt(2/R), from x = (sqrt(2/mu), 0): L = 1, A = 1, zeta = 1,
    Assumption 3a with any beta.  After r rounds ||grad F||^2 has the mean

        2 mu (1 - eta mu)^(2r) + eta (1 - (1 - eta)^(2r)) / (2 - eta).

    For r <= 1/(eta mu) the first part is at least 2 mu (5/6)^12 > mu/5, as eta mu <= 1/6.  For larger r, eta >= 1/(mu R),
    and the second part is at least eta (1 - exp(-2))/2 > 2 eta/5 >= 2/(5 mu R).  Both lower bounds are sqrt(2/R)/5: no
    eta <= 1/6 is better, in any round.
    """
    claim = statement.claim_of(Order)
    at = {sigma: 0, zeta: 1, beta: 1, L: 1, A: 1, M: 2, S: 1, K: 1}
    if condition := excluded(statement, {**at, R: 10**6}):
        return _no_contradiction(f"{condition} excludes it")
    if not claim.quantity.has(min_grad_sq):
        return _no_contradiction(f"it is about {claim.quantity}")
    rounds = sympy.Symbol("R", positive=True)
    ratio = sqrt(2 / rounds) / 5 / claim.value.subs(at).subs(R, rounds)
    limit = sympy.limit(ratio, rounds, sympy.oo)
    if limit != sympy.oo:
        return _no_contradiction(f"measured / printed tends to at least {sympy.N(limit, 4)}")
    return Verdict(
        Status.REFUTED,
        "with one of two clients per round, for every eta, measured / printed grows without bound in R",
        slack=0.0,
        witness={
            "F_1, F_2": "(mu x_1^2 + x_2^2)/2 + x_2, (mu x_1^2 + x_2^2)/2 - x_2", "mu": "sqrt(2/R)",
            "x0": "(sqrt(2/mu), 0)", "L": 1, "A": 1, "zeta": 1, "beta": "1, or less", "M": 2, "S": 1, "K": 1,
            "eta_tilde": "any <= 1/6",
            **{f"measured / printed at R = {n:g}, at least": float(ratio.subs(rounds, n)) for n in (1e6, 1e12, 1e18)},
        },
    )  # fmt: skip


def sampled_order(statement: Statement, full: bool = False) -> Verdict:
    """The two errors of (55) and (81), each with its witness: L beta A / R, and the missing term for client sampling."""
    found = [check(statement) for check in (identical_clients, noise_of_sampling)]
    against = [verdict for verdict in found if verdict.status is Status.REFUTED]
    if not against:
        return _no_contradiction("; ".join(verdict.says for verdict in found))
    witness = {f"{i}": dict(verdict.witness) for i, verdict in enumerate(against, 1)}
    return Verdict(Status.REFUTED, "; ".join(verdict.says for verdict in against), slack=0.0, witness=witness)


# Exponents


def _decaying(statement: Statement) -> sympy.Expr:
    """The order that the statement claims for the gap; for a sentence, its first formula."""
    if isinstance(statement.claim, Order):
        return statement.claim.value
    return sympy.sympify(statement.claim_of(Words).formulas[0])


def along_flat(statement: Statement, full: bool = False) -> Verdict:
    """Orders with exp(-c mu R / L): identical clients F_m = (mu/2) x^2, mu = L, at any eta_tilde <= 1/(6L).

    No round shrinks x by a factor below 5/6, so the gap is at least (mu/2) D^2 (5/6)^(2R); for the weighted average it is
    even larger.  Its ratio to exp(-c R) grows without bound if (5/6)^2 e^c > 1.
    """
    at = {sigma: 0, zeta: 0, zeta_star: 0, mu: 1, L: 1, D: 1, M: 2, S: 2, K: 1}
    if condition := excluded(statement, {**at, R: 10}):
        return _no_contradiction(f"{condition} excludes it")
    if isinstance(statement.claim, Order) and not statement.claim.quantity.has(gap):
        return _no_contradiction(f"it is about {statement.claim.quantity}")
    printed = sympy.simplify(_decaying(statement).subs(at))
    growth = sympy.simplify(Rational(25, 36) / (printed.subs(R, R + 1) / printed))
    if growth.free_symbols or not growth.is_positive:
        return Verdict(Status.OPEN, f"not geometric in R: {printed}")
    if (growth > 1) != sympy.true:
        return _no_contradiction(f"measured / printed changes by {sympy.N(growth, 4)} a round")
    ratios = {rounds: float(Rational(25, 36) ** rounds / 2 / printed.subs(R, rounds)) for rounds in (10, 50, 100)}
    return Verdict(
        Status.REFUTED,
        f"measured / printed grows by {sympy.N(growth, 4)} a round, beyond every constant and every polylogarithm",
        slack=0.0,
        witness={
            "F_m": "x^2/2, all clients", "mu": 1, "L": 1, "D": 1, "eta_tilde": "any <= 1/6",
            **{f"measured / printed at R = {rounds}, at least": ratio for rounds, ratio in ratios.items()},
        },
    )  # fmt: skip


def half_exponent(statement: Statement, full: bool = False) -> Verdict:
    """The last formula claims the order of Theorem 1's bound: zeta_* = 0, eta = 1/(6LMK), growing R.

    The numbers satisfy the statement's restriction of eta and all of the theorem's: 1/(mu R) <= M K eta <= 1/(6L).
    """
    theorem = catalogue.find("sfl.thm1.strongly_convex")
    at = {sigma: 0, zeta_star: 0, mu: 1, L: 1, D: 1, M: 2, K: 2, eta: Rational(1, 24), eta_tilde: Rational(1, 6)}
    for source in (statement, theorem):
        if condition := excluded(source, {**at, R: 70}):
            return _no_contradiction(f"{condition} of {source.id} excludes it")
    bound, printed = theorem.claim_of(Bound).value.subs(at), statement.claim_of(Words).formulas[-1].subs(at)
    ratio = sympy.simplify(bound / printed)
    growth = sympy.simplify(ratio.subs(R, R + 1) / ratio)
    if growth.free_symbols or not growth.is_positive or (growth > 1) != sympy.true:
        return _no_contradiction(f"bound / formula changes by {growth} a round")
    return Verdict(
        Status.REFUTED,
        f"Theorem 1's bound / the formula grows by {sympy.N(growth, 4)} a round, beyond every constant",
        slack=0.0,
        witness={
            **{symbol.name: str(number) for symbol, number in at.items()},
            **{f"bound / formula at R = {rounds}": float(ratio.subs(R, rounds)) for rounds in (12, 70, 140)},
        },
    )


_COUNTEREXAMPLES: tuple[tuple[Callable[[Statement, bool], Verdict], tuple[str, ...]], ...] = (
    (short_horizon, ("lemma7.eq38",)),
    (optimal_start, ("lemma8.eq45",)),
    (identical_clients, ("cor1.nonconvex", "cor2.nonconvex")),
    (sampled_order, ("eq55", "eq81")),
    (along_flat, ("eq10", "eq11", "table1.pfl_thm2", "table1.sfl_thm1", "claim.sgd_rr")),
    (half_exponent, ("claim.malinovsky",)),
)


def evidence() -> Iterator[Evidence]:
    """The counter-examples as evidence, for all forms of a statement."""
    for check, names in _COUNTEREXAMPLES:
        for name in names:
            for form in catalogue.forms(f"sfl.{name}"):
                yield Evidence(form, "counterexample", check)
