"""Basic facts, orders, claims in words, and counter-examples to the theorems that hold whatever the step sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import mpmath
import sympy
from sympy import Eq, Rational, sqrt
from sympy.logic.boolalg import Boolean

from theory import catalogue
from theory.fedbcgd.corrected import spread
from theory.fedbcgd.ledgers import LEDGERS, REPAIRS, claimed, opened
from theory.fedbcgd.paper import (
    Com,
    Com_other,
    E_r,
    F,
    G,
    K,
    M,
    N,
    R,
    S,
    T,
    V_t,
    Xi,
    a,
    alpha,
    beta,
    c1,
    c2,
    c_lemma,
    d,
    d0,
    eps,
    eta_max,
    eta_tilde,
    gamma,
    grad_sq,
    grad_sq_x,
    h,
    lag_0,
    lam,
    m_t,
    mean_grad_sq,
    mu,
    sigma,
    sigma_x,
    tau,
    v_r,
    x,
    x_prev,
    x_r,
    y,
    z,
)
from theory.notation import Expectation, Grad, Norm
from theory.proofs.arithmetic import Decision, decide
from theory.proofs.ledger import Ledger, as_evidence, bound_of, conditions_of, proof
from theory.proofs.orders import covered, order_of
from theory.proofs.vectors import certify, convex, difference, point
from theory.statement import Bound, Claim, Evidence, Order, Relations, Statement, Status, Verdict

# ------------------------------------------------------------------------------------------------------ basic facts


def relations_of(claim: Claim) -> tuple[Any, ...]:
    """The relations of a claim.  Raises ValueError for another claim."""
    if not isinstance(claim, Relations):
        raise ValueError(f"{type(claim).__name__}: expected Relations")
    return claim.relations


def _every(statement: Statement) -> Iterator[Any]:
    """The relations of the claim and of what is claimed besides."""
    for claim in (statement.claim, *statement.also):
        yield from relations_of(claim)


def _said(relation: Any, found: Status, model: Mapping[Any, Any]) -> Verdict:
    return Verdict(found, f"{relation} fails", witness={str(s): str(v) for s, v in model.items()})


def perturbed(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 1 and (19) to (22): by the inequalities of the class at the three points, and forms decided by z3."""
    at = {letter: point(h, letter) for letter in (x, y, z)}
    shifted = {p: type(q)(q.x, q.value - mu / 2 * q.x**2, q.gradient - mu * q.x) for p, q in at.items()}
    hypotheses = {
        "mu-strongly convex at y, x": convex(shifted[y], shifted[x]),
        "beta-smooth at x, z": sympy.expand(
            at[x].value + at[x].gradient * (z - x) + beta / 2 * (z - x) ** 2 - at[z].value
        ),
    }
    sample = {beta: sympy.Integer(1), mu: Rational(1, 3)}
    conditions: list[Boolean] = [c.relation for c in statement.when]
    for relation in _every(statement):
        form = difference(relation)
        exact = decide(conditions, form >= 0) if not form.atoms(sympy.Symbol) - {x, y, z, mu, beta} else None
        found = Verdict(exact.status, exact.says, witness=exact.model) if exact else None
        if found is None or found.status is not Status.PROVED:
            found = certify(form, hypotheses, sample, conditions)
        if found.status is not Status.PROVED:
            return Verdict(found.status, f"{relation}: {found.says}", witness=found.witness)
    return Verdict(Status.PROVED, "in every dimension, from smoothness at x, z and strong convexity at y, x", slack=1.0)


def triangle(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 3: a quadratic form; and for tau vectors, with their mean m and what they differ by."""
    first, second = relations_of(statement.claim)
    found = decide([], difference(first) >= 0)
    if found.status is not Status.PROVED:
        return _said(first, found.status, found.model)
    m, D = sympy.symbols("m D", nonnegative=True)  # ||mean||, and sum ||v_t - mean||^2

    def read(e: sympy.Basic) -> sympy.Expr:
        if isinstance(e, sympy.Pow) and isinstance(e.base, Norm):
            return tau**2 * m**2 if e.base.has(sympy.Sum) else m**2
        if isinstance(e, sympy.Sum):
            return tau * m**2 + D
        return e.func(*map(read, e.args)) if e.args else e

    left, right = (read(side) for side in second.args)
    found = decide([], left <= right if isinstance(second, sympy.Le) else left >= right)
    if found.status is not Status.PROVED:
        return _said(second, found.status, found.model)
    return Verdict(Status.PROVED, "a quadratic form; and sum ||v_t||^2 = tau ||m||^2 + sum ||v_t - m||^2", slack=1.0)


def mean_and_noise(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 9: E||P + Q||^2, P the sum of the (conditional) means, Q that of the deviations.

    First P is fixed and E Q = 0, and E||Q||^2 <= tau times tau sigma^2; then P and Q may be correlated, and
    E||Q||^2 <= tau sigma^2 by orthogonality.
    """
    P, Q = sympy.symbols("P Q", nonnegative=True)
    cross = sympy.Symbol("E<P,Q>", real=True)

    def read(e: sympy.Basic, total: sympy.Expr) -> sympy.Expr:
        if isinstance(e, Expectation):
            return read(e.args[0], total)
        if isinstance(e, sympy.Pow) and isinstance(e.base, Norm):
            return total if e.has(V_t) else P
        return e.func(*(read(part, total) for part in e.args)) if e.args else e

    cases = (
        (P + Q, [tau * (tau * sigma_x**2) >= Q]),
        (P + 2 * cross + Q, [tau * sigma_x**2 >= Q, cross**2 <= P * Q]),
    )
    for relation, (total, given) in zip(relations_of(statement.claim), cases, strict=True):
        if relation.rhs.has(V_t) or relation.lhs.has(m_t):
            return Verdict(Status.OPEN, f"{relation}: expected the sum of the V_t on the left, of the m_t on the right")
        left, right = (read(side, total) for side in relation.args)
        found = decide(given, left <= right if isinstance(relation, sympy.Le) else left >= right)
        if found.status is not Status.PROVED:
            return _said(relation, found.status, found.model)
    return Verdict(Status.PROVED, "by the tower rule, for every law and every tau")


def momentum(statement: Statement, full: bool = False) -> Verdict:
    """The updates as relations between what a round computes, against x+ = x + v+, v+ = lam v - eta G of (45).

    `also` holds other relations that the paper gives for the same updates; Lemma 10's are (44) with its definitions.
    """
    symbols = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    v, G_r, eta = v_r, symbols["G_r"], symbols["eta"]
    v_next = lam * v - eta * G_r
    before = {x_prev: x_r - v, symbols["v_prev"]: (v + eta * symbols["G_prev"]) / lam}
    letters = {
        symbols["v_next"]: v_next,
        symbols["x_next"]: x_r + v_next,
        symbols["z_r"]: x_r + gamma * v,
        symbols["z_next"]: x_r + v_next + gamma * v_next,
        symbols["Dx_prev"]: -eta * symbols["G_prev"],
        **before,
    }
    failing = {}
    for relation in _every(statement):
        left, right = (side.subs(letters, simultaneous=True).subs(gamma, lam / (1 - lam)) for side in relation.args)
        rest = sympy.simplify(left - right)
        if rest != 0:
            failing[str(relation)] = f"the sides differ by {sympy.factor(rest)}"
    if failing:
        return Verdict(Status.REFUTED, f"{len(failing)} relations contradict the updates of (45)", witness=failing)
    return Verdict(Status.PROVED, "linear identities in the iterates and the virtual gradient")


def same_lemma(other: str, letters: Mapping[str, sympy.Expr]) -> Callable[[Statement], Ledger]:
    """Lemmas 7, 8: the same as a lemma of another paper, proved there, with this paper's letters put in."""

    def check(statement: Statement) -> Ledger:
        found = catalogue.find(other)
        table = catalogue.symbols(found)
        at = {table[name].sympy: e for name, e in letters.items()}
        conditions = conditions_of(statement)
        ledger = Ledger([r for r in conditions if not r.has(sympy.log)])
        assert isinstance(found.claim, Bound | Order)
        terms = [t.value.subs(at, simultaneous=True) for t in found.claim.terms]
        if isinstance(statement.claim, Order):
            covered([t.subs(R + 1, R) for t in terms], order_of(statement), list(ledger.conditions), ledger)
        else:
            p, q, rho = sympy.symbols("p q rho", positive=True)  # roots: c1 = p^2/rho, c2 = q^3/rho^2, d0 = rho (R+1)
            roots = {c1: p**2 / rho, c2: q**3 / rho**2, d0: rho * (R + 1)}
            ours, theirs = (
                sympy.simplify(e.subs(roots, simultaneous=True)) for e in (bound_of(statement).value, sympy.Add(*terms))
            )
            ledger.require(f"at least the bound of {other}", theirs <= ours)
        return ledger

    return check


_TUNING = {
    "lemma7": ("sfl.lemma7.eq39", {"a": mu, "c": c_lemma, "T": R, "d": 1 / eta_max, "r0": d0}),
    "lemma8": ("sfl.lemma8.eq45", {"c1": c1, "c2": c2, "T": R, "d": 1 / eta_max, "r0": d0}),
}


def polynomials(statement: Statement, full: bool = False) -> Verdict:
    """Inequalities between constants that a proof ends with: decided under the statement's conditions."""
    checked = 0
    for claim in statement.also:
        for relation in relations_of(claim):
            checked += 1
            given = [S * 1 >= N * K, N * K >= S, *conditions_of(statement)]
            found = decide(given, relation)
            if found.status is not Status.PROVED:
                return _said(relation, found.status, found.model)
    return Verdict(Status.PROVED, f"{checked} inequalities, decided by z3")


def _of_sample() -> sympy.Expr:
    """E||(1/K) sum over K of M clients||^2, from the probabilities of one client and of two."""
    one, two = K / M, K * (K - 1) / (M * (M - 1))
    squares, all_pairs = M * mean_grad_sq, M**2 * grad_sq_x - M * mean_grad_sq
    return sympy.expand((two * all_pairs + one * squares) / K**2)


def drawn(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 4 for every M, K and all gradients: K of M clients without replacement.

    With blocks: the K clients of a block are such a sample, and squared norms add up over blocks.
    """
    symbols = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    known = {symbols[name]: _of_sample() for name in ("sample_sq", "block_sample_sq")}
    claims: list[Boolean] = []
    for claim in (statement.claim, *statement.also):
        if isinstance(claim, Bound):
            rest = sympy.expand(claim.quantity.subs(known) - claim.value)
            claims += [rest <= 0, rest >= 0] if claim.sign == "=" else [rest <= 0]
        else:
            for relation in relations_of(claim):
                rest = sympy.expand((relation.lhs - relation.rhs).subs(known))
                claims += {sympy.Le: [rest <= 0], sympy.Ge: [rest >= 0]}.get(type(relation), [rest <= 0, rest >= 0])
    given = [M >= 2, *conditions_of(statement)]
    for one in claims:
        found = decide(given, one) if one not in (sympy.true, sympy.false) else None
        if found is not None and found.status is not Status.PROVED:
            return _said(one, found.status, found.model)
        if one == sympy.false:
            return Verdict(Status.REFUTED, "the sides differ by a constant", witness={"difference": str(one)})
    return Verdict(Status.PROVED, "for every M, K and all gradients, from the probabilities of one client and of two")


def collected(statement: Statement) -> Ledger:
    """(64), with lambda for beta: what (55), (56) and (59), summed over the rounds as in (60), put before E||G^r||^2."""
    ledger = Ledger(conditions_of(statement))
    table = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    square = claimed("thm1.step55").value.coeff(table["G_sq"])
    moved = claimed("thm1.step55").value.coeff(table["inner_grad"]) * claimed("thm1.step56").value.coeff(table["zx_sq"])
    discounted = claimed("thm1.step59.momentum").value.coeff(table["G_discounted"]) / (1 - lam)
    ledger.equal("(64)", bound_of(statement).value, square + moved * discounted)
    return ledger


def many_clients(noise: bool) -> Callable[[Statement], Ledger]:
    """(48) as printed: G^r is A + B + n, A what the gradients change along the local steps, B those at x^r, n the noise.

    Given the sample n has mean 0, so E<B, n> = 0, and for any positive p, q
    E||A + B + n||^2 <= (1 + p + q) E||A||^2 + (1 + 1/p) E||B||^2 + (1 + 1/q) E||n||^2.
    With p = M/(M-2) the factor of E||B||^2 makes up for M/(M-1); p + q = 3 leaves the printed 4 for the drift.
    """

    def check(statement: Statement) -> Ledger:
        ledger, _, value = opened(statement)
        table = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
        drift, gap_x = table["drift_x"], table["gap_x"]
        p, q = M / (M - 2), (2 * M - 6) / (M - 2)
        u, w, n = sympy.symbols("A B n", real=True)
        ledger.require("p is positive", p > 0)
        ledger.require("Young, drift and gradients", 2 * u * w <= p * u**2 + w**2 / p)
        if noise:
            ledger.require("q is positive", q > 0)
            ledger.require("Young, drift and noise", 2 * u * n <= q * u**2 + n**2 / q)
        else:
            ledger.require("no noise", sigma**2 <= 0)
        sampled = claimed("lemma4.part1.corrected").value.subs(mean_grad_sq, grad_sq_x + G**2)
        at_x = sampled.subs(grad_sq_x, 2 * beta * gap_x)
        derived = (1 + p + (q if noise else 0)) * T * beta**2 / M * drift + (1 + 1 / p) * T**2 * at_x
        if noise:
            derived += (1 + 1 / q) * T / K * sigma**2
        ledger.at_most("(48)", derived, value, [drift, gap_x, G, sigma])
        return ledger

    return check


# Ledgers about (59) and what follows from it, which print beta where lambda is meant
READ_WITH_LAMBDA = ("thm1.step59", "thm1.step66")


def coefficient66(statement: Statement) -> Ledger:
    """(66): the coefficient of the squared gradients is at least alpha eta T/4; a = 1/(4T), gamma = alpha - 1."""
    ledger, of, _ = opened(statement)
    eta = catalogue.symbols(catalogue.find("fedbcgd.thm1.step64.momentum"))["eta"].sympy
    of_C1 = of(claimed("thm1.step64.momentum").value.subs(a, 1 / (4 * T)))
    drifts = 12 * T**3 * eta**2 * (alpha * eta * beta**2 / 2 + 3 * T * beta**2 * of_C1 / K * (1 - K / M))
    progress = sympy.expand(of(alpha * eta * T / 2 - of_C1 * T**2 / K - drifts) / eta_tilde)
    ledger.require("the coefficient of ||grad f(x^r)||^2 is at least alpha eta T/4", progress >= 1)
    return ledger


def one_lag(statement: Statement, full: bool = False) -> Verdict:
    """(75) and (86) on one client with f(x) = x^2/2 at z^r = 1 and c = 0: one name, one number?"""
    numbers = {}
    for claim in (statement.claim, *statement.also):
        for relation in relations_of(claim):
            gradients = relation.atoms(Grad)
            if gradients:  # grad f(x) = x
                (at,) = {g.args[1] for g in gradients}
                numbers[str(at)] = (0 - {"z_r": 1, "x_star": 0}.get(str(at), 1)) ** 2
    if len(set(numbers.values())) > 1:
        return Verdict(Status.REFUTED, "C_r is two quantities", witness={"f": "x^2/2", "c": 0, "z^r": 1, **numbers})
    return Verdict(Status.HOLDS, "one quantity")


# ------------------------------------------------------------------------------------- rounds, floats, and Table 1


def floats(statement: Statement, full: bool = False) -> Verdict:
    """Communication is rounds times d/N floats, with K = S/N, term by term; says nothing of the rounds."""
    claim = statement.claim
    (also,) = [c for c in statement.also if isinstance(c, Order)]
    assert isinstance(claim, Order)
    rounds = {t.name: sympy.simplify((t.value * d / N).subs(K, S / N)) for t in claim.terms}
    sent = {t.name: t.value for t in also.terms}
    wrong = {
        name: f"{rounds.get(name)} against {sent.get(name)}"
        for name in rounds.keys() | sent.keys()
        if name not in rounds or name not in sent or sympy.simplify(rounds[name] / sent[name]) != 1
    }
    if wrong:
        return Verdict(Status.REFUTED, f"{', '.join(wrong)}: not rounds times d/N", witness=wrong)
    return Verdict(
        Status.OPEN, f"{len(sent)} terms of the communication are rounds times d/N with K = S/N, as they should be"
    )


def row(main: str, **choice: sympy.Expr) -> Callable[[Statement, bool], Verdict]:
    """A row of Table 1 against the communication of the main theorem, strongly convex, in units of d."""

    def check(statement: Statement, full: bool = False) -> Verdict:
        (sent,) = [c for c in catalogue.find(f"fedbcgd.{main}").also if isinstance(c, Order)]
        assert isinstance(statement.claim, Order)
        chosen = {catalogue.symbols(statement)[name].sympy: e for name, e in choice.items()}
        ours = {t.name: t.value.subs(chosen) / d for t in sent.terms}
        theirs = {t.name: t.value for t in statement.claim.terms}
        wrong = {
            name: f"{ours.get(name)} against {theirs.get(name)}"
            for name in ours.keys() | theirs.keys()
            if name not in ours or name not in theirs or sympy.simplify(ours[name] / theirs[name]) != 1
        }
        if wrong:
            return Verdict(Status.REFUTED, f"{', '.join(wrong)} differ from the theorem", witness=wrong)
        return Verdict(Status.PROVED, f"{len(ours)} terms are those of fedbcgd.{main}, divided by d")

    return check


def _terms(name: str) -> dict[str, sympy.Expr]:
    claim = catalogue.find(f"fedbcgd.table1.{name}").claim
    assert isinstance(claim, Order)
    return {t.name: t.value for t in claim.terms}


def _factor(statement: Statement) -> sympy.Expr:
    """Com / Com_other, as the claim has it."""
    (relation,) = relations_of(statement.claim)
    assert relation.lhs == Com
    return sympy.simplify(relation.rhs / Com_other)


def factor_one_over_N(statement: Statement, full: bool = False) -> Verdict:
    """Table 1, row against row, term by term: FedBCGD and FedAvg, FedBCGD+ (N = sqrt(beta/mu)) and SCAFFOLD."""
    factor, wrong = _factor(statement), {}
    pairs = {("fedbcgd", "fedavg"): {alpha: 1}, ("fedbcgdplus", "scaffold"): {N: sqrt(beta / mu)}}
    for (own, other), chosen in pairs.items():
        ours, theirs = _terms(own), _terms(other)
        for name in (ours.keys() & theirs.keys()) - {"drift"}:  # FedAvg's is damaged in the scan
            ratio = sympy.limit(sympy.simplify((ours[name] / theirs[name]).subs(chosen)), G, 0)
            if sympy.simplify(ratio - factor.subs(chosen)) != 0:
                wrong[f"{own} / {other}, {name}"] = f"{ratio}, claimed {factor.subs(chosen)}"
    if wrong:
        return Verdict(Status.REFUTED, "terms of Table 1 whose quotient is another", witness=wrong)
    return Verdict(Status.HOLDS, f"every term of the rows differs by the factor {factor}")


def second_term(statement: Statement, full: bool = False) -> Verdict:
    """The second terms: of FedBCGD as Table 1 has it, and of FedAvg as the sentence has it, (sigma+G)/(mu sqrt(eps))."""
    ratio = sympy.simplify(_terms("fedbcgd")["drift"] / ((sigma + G) / (mu * sqrt(eps))))
    factor = _factor(statement)
    if sympy.simplify(ratio.subs(alpha, 1) - factor) != 0:
        return Verdict(
            Status.REFUTED, f"the quotient is {ratio}", witness={"quotient": str(ratio), "claimed": str(factor)}
        )
    return Verdict(Status.PROVED, f"the quotient of the printed terms is {ratio}, {factor} without momentum")


def root_of_kappa(statement: Statement, full: bool = False) -> Verdict:
    """The main theorem's communication at N = sqrt(beta/mu)."""
    (sent,) = [c for c in catalogue.find("fedbcgd.thm2.main.strongly_convex").also if isinstance(c, Order)]
    rest = sympy.simplify((order_of(statement).value - sent.value.subs(statement.where)) / d)
    if rest != 0:
        return Verdict(Status.REFUTED, f"the sides differ by {rest}", witness={"difference": str(rest)})
    return Verdict(Status.PROVED, "inserted into the communication of Theorem 2 of the main paper")


# -------------------------------------------------------------------------------- orders from the corrected bounds


def rounds_from(
    source: str,
    steps: Sequence[sympy.Expr],
    per_round: Callable[[sympy.Expr], sympy.Expr],
    besides: Sequence[sympy.Expr] = (),
) -> Callable[[Statement], Ledger]:
    """R of an order from an explicit bound, at the step size 1/eta_tilde = sum of `steps`.

    Each of its noise terms is then at most eps, as one of the steps says; and its conditions hold.
    per_round  R as a linear function of 1/eta_tilde, with which what falls with R is below eps, up to logarithms
    besides    rounds that are needed whatever the step size
    """

    def check(statement: Statement) -> Ledger:
        bound = catalogue.find(f"fedbcgd.{source}")
        given = [r for r in conditions_of(statement) if not isinstance(r, Eq)]
        ledger = Ledger([r.subs(gamma, alpha - 1) for r in given])
        small = [_below(eta_tilde, step).subs(gamma, alpha - 1) for step in steps]
        for term in bound_of(bound).terms:
            if R not in term.value.free_symbols:
                others = sympy.Symbol("M-K", nonnegative=True)  # so that it stays together
                for part in sympy.Add.make_args(sympy.expand(term.value.xreplace({M - K: others}))):
                    one = part.subs(others, M - K).subs(gamma, alpha - 1)
                    ledger.step(f"{part} is at most eps", partial(_by_one, list(ledger.conditions), one <= eps, small))
        for condition in conditions_of(bound):
            if eta_tilde in condition.free_symbols and R not in condition.free_symbols:
                ledger.require(f"condition {condition}", condition.subs(gamma, alpha - 1), *small)
        covered([*map(per_round, steps), *besides], order_of(statement), given, ledger)
        return ledger

    return check


def _below(step: sympy.Expr, limit: sympy.Expr) -> Boolean:
    """step times limit at most 1; squared where there is a root."""
    power = 1 if all(p.exp.is_integer for p in limit.atoms(sympy.Pow)) else 2
    return sympy.expand(limit**power) * step**power <= 1


def _by_one(conditions: Sequence[Boolean], claim: Boolean, small: Sequence[Boolean]) -> Decision:
    """The claim, from one of what makes the step size small."""
    found = [decide([*conditions, one], claim) for one in small]
    return next((f for f in found if f.status is Status.PROVED), found[0])


_noise1 = (8 * spread * G**2 / eps, 16 * sigma**2 / (T * K * eps))
_drift1 = (sqrt(Rational(320, 3) * beta / (alpha * eps)) * G, sqrt(80 * beta / (alpha * T * eps)) * sigma)
_noise3 = (16 * beta * spread * G**2 / eps, 32 * beta * sigma**2 / (T * K * eps))
_momentum3 = (8 * beta * gamma * sqrt(spread / eps) * G, 12 * beta * gamma / sqrt(T * K * eps) * sigma)
_drift3 = (12 * beta / (alpha * sqrt(eps)) * G, 11 * beta / (alpha * sqrt(T * eps)) * sigma)
ORDERS: Mapping[str, tuple[str, Callable[[Statement], Ledger]]] = {
    "thm1.main.strongly_convex.corrected": (
        "thm1.strongly_convex.corrected",
        rounds_from(
            "thm1.strongly_convex.corrected",
            [32 * beta, *_noise1, *_drift1],
            lambda inverse: alpha * inverse / (2 * mu),
        ),
    ),
    "thm1.main.nonconvex.corrected": (
        "thm1.nonconvex.corrected",
        rounds_from(
            "thm1.nonconvex.corrected",
            [48 * beta + 14 * beta * gamma, *_noise3, *_momentum3, *_drift3],
            lambda inverse: F * inverse / eps,
        ),
    ),
    "thm2.main.strongly_convex.corrected": (
        "thm2.strongly_convex.corrected",
        rounds_from(
            "thm2.strongly_convex.corrected",
            [36 * beta, 2 * mu * M / (alpha * K)],
            lambda inverse: 2 * alpha * inverse / mu,
        ),
    ),
    "thm2.main.nonconvex.corrected": (
        "thm2.nonconvex.corrected",
        rounds_from(
            "thm2.nonconvex.corrected",
            [16 * beta * M / K, gamma**2 * beta],
            lambda inverse: 4 * F * inverse / eps,
            (2 * lag_0 / eps,),
        ),
    ),
}


def from_printed(rounds: Sequence[sympy.Expr]) -> Callable[[Statement], Ledger]:
    """An order of rounds from those that a printed rate needs."""

    def check(statement: Statement) -> Ledger:
        given = [r for r in conditions_of(statement) if eta_tilde not in r.free_symbols]
        ledger = Ledger(given)
        claim = order_of(statement)
        terms = tuple(type(t)(t.name, t.value.replace(sympy.log, lambda _: sympy.Integer(1))) for t in claim.terms)
        covered(list(rounds), Order(claim.quantity, terms, claim.polylog), given, ledger)
        return ledger

    return check


def telescoped18(statement: Statement) -> Ledger:
    """(128): Lemma 18 summed over the rounds, from Xi_0 = 0, at the largest step size that it allows."""
    given = [r for r in conditions_of(statement) if eta_tilde not in r.free_symbols]
    ledger = Ledger(given)
    lemma = catalogue.find("fedbcgd.lemma18")
    progress = -bound_of(lemma).value.coeff(catalogue.symbols(lemma)["grad_sq_prev"].sympy)
    (limit,) = [r.rhs for r in conditions_of(lemma) if r.lhs == eta_tilde]
    covered([F / (progress.subs(eta_tilde, limit) * R)], order_of(statement), given, ledger)
    return ledger


FROM_PRINTED: Mapping[str, tuple[str, Sequence[sympy.Expr]]] = {
    "thm2.main.strongly_convex": ("thm2.strongly_convex.proof", (30 * M / K, 162 * beta / mu)),
    "thm2.main.nonconvex": ("thm2.nonconvex", (beta * F / eps * (M / K) ** Rational(2, 3),)),
}

# ------------------------------------------------------------------------- counter-examples, whatever the step sizes


@dataclass(frozen=True)
class Alike:
    """All clients with f(x) = scale (x_1^2 + x_2^2/2)/2 and exact gradients, from (1, 1); one round, R = 1, T = 1, N = 1.

    Whatever step size and weights, z^0, z^1 and their averages are x^0 - s grad f(x^0) for some s, and so is x^1.
    """

    scale: sympy.Rational
    momentum: sympy.Rational
    clients: int

    @property
    def letters(self) -> dict[str, sympy.Expr]:
        """For the bounds; d0 for convex functions."""
        scale, lam_ = self.scale, self.momentum
        return {
            **dict.fromkeys(("M", "K"), sympy.Integer(self.clients)),
            **dict.fromkeys(("N", "T", "R"), sympy.Integer(1)),
            **{"beta": scale, "mu": scale / 2, "sigma": sympy.Integer(0), "G": sympy.Integer(0)},
            **{"alpha": 1 / (1 - lam_), "gamma": lam_ / (1 - lam_), "d0": sympy.Integer(2)},
        }

    @property
    def least_gap(self) -> sympy.Expr:
        """The smallest gap over s."""
        return self._least(1) / 2

    @property
    def least_gradient(self) -> sympy.Expr:
        """The smallest squared gradient over s."""
        return self._least(2)

    def _least(self, power: int) -> sympy.Expr:
        step = sympy.Symbol("s", real=True)
        curvatures = (self.scale, self.scale / 2)
        value = sympy.Add(*(c**power * (1 - step * c) ** 2 for c in curvatures))
        (best,) = sympy.solve(sympy.diff(value, step), step)
        return sympy.Rational(value.subs(step, best))


_ALIKE = [
    Alike(scale, momentum_, clients)
    for scale in (sympy.Integer(1), Rational(1, 10**4))
    for momentum_ in (Rational(0), Rational(9, 10), Rational(99, 100))
    for clients in (1, 1000)
]


def whatever_the_steps(statement: Statement, full: bool = False) -> Verdict:
    """The bound on quadratics, one round, against the least that any step size and weights leave, in exact numbers."""
    claim = statement.claim
    assert isinstance(claim, Bound)
    gradients = claim.quantity.name.startswith("avg_grad")
    tightest = mpmath.inf
    for instance in _ALIKE:
        letters = instance.letters
        if gradients:  # d0 is f(x^0) - f(x*) here
            letters["d0"] = instance.scale * Rational(3, 4)
        least = instance.least_gradient if gradients else instance.least_gap
        values = {catalogue.symbols(statement)[name].sympy: value for name, value in letters.items()}
        with mpmath.workdps(50):
            bound = mpmath.mpf(sympy.N(claim.value.subs(values), 50))
            if bound < mpmath.mpf(least.p) / least.q * (1 - mpmath.mpf(10) ** -30):
                witness = {
                    "f_i": f"{instance.scale} (x_1^2 + x_2^2/2)/2, every client", "x^0": "(1, 1)",
                    "letters": {name: str(value) for name, value in letters.items()},
                    "bound": float(bound), "least value over all step sizes and weights": str(least),
                }  # fmt: skip
                return Verdict(
                    Status.REFUTED, f"{least} is left by the best step, the bound is {float(bound):.3g}", 0.0, witness
                )
            tightest = min(tightest, bound / (mpmath.mpf(least.p) / least.q))
    says = f"{len(_ALIKE)} quadratics, one round: the bound is {float(tightest):.3g} times the least value, or more"
    return Verdict(Status.HOLDS, says, slack=float(tightest))


_SIZES = (4, 8, 16)  # M = 10^k clients


def unseen_client(statement: Statement, full: bool = False) -> Verdict:
    """M clients, f_i = beta x^2/2 but for the last, beta (x - M)^2/2; x* = 1, x^0 = 0, c_i^0 = 0, N = K = 1, R = M rounds.

    No witness against a statement that sets c_i^0 = grad f_i(x^0), which is not 0 for the last client.

    While the last client is not sampled nothing moves, by the printed lines or the corrected ones, whatever the step
    sizes and weights: probability (1 - 1/M)^M >= 1/4.  No constant, and no power of a logarithm, makes up for a ratio
    that grows like a power of M.
    """
    claim = statement.claim
    assert isinstance(claim, Order)
    if "fedbcgd.alg3.begun" in statement.assumes:
        return Verdict(Status.OPEN, "c_i^0 = 0 is not what the statement begins with")
    table = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    gradients = claim.quantity.name == "grad_sq_bar"
    ratios = []
    for k in _SIZES:
        clients = sympy.Integer(10) ** k
        given = {
            "M": clients,
            "R": clients,
            "N": 1,
            "K": 1,
            "S": 1,
            "beta": 1,
            "mu": 1,
            "F": Rational(1, 2),
            "alpha": 1,
        }
        values = {table[name]: sympy.Integer(1) * value for name, value in given.items()}
        # of the first N clients, ||c_i - grad f_i(x*)|| = beta
        values[table["D_tilde"]] = sqrt(Rational(3, 2))
        with mpmath.workdps(30):
            printed = sympy.N(claim.value.subs(values), 30)
            left = mpmath.mpf(1) / 4 * (1 if gradients else mpmath.mpf(1) / 2)
            ratios.append(mpmath.mpf(str(mpmath.log10(left))) - mpmath.mpf(str(sympy.N(sympy.log(printed, 10), 30))))
    growth = [later - earlier for earlier, later in pairwise(ratios)]
    witness = {
        "f_i": "x^2/2, and (x - M)^2/2 for the last client", "x^0": 0, "c_i^0": 0, "N": 1, "K": 1, "R": "M",
        **{f"log10(left/printed) at M = 10^{k}": float(r) for k, r in zip(_SIZES, ratios, strict=True)},
    }  # fmt: skip
    if growth[0] >= 1 and growth[1] >= 2 * growth[0] * mpmath.mpf("0.9"):
        says = "an unseen client leaves more than any constant times the printed order, whatever the step sizes"
        return Verdict(Status.REFUTED, says, 0.0, witness)
    return Verdict(
        Status.HOLDS, f"left/printed does not grow with M: log10 {', '.join(f'{float(r):.3g}' for r in ratios)}"
    )


def all_behind(statement: Statement, full: bool = False) -> Verdict:
    """M clients alike, f_i = x^2/2, beta = 1, T = N = K = 1, no momentum, c_i = grad f_i(x^r) for all, x^r = z^r = 1.

    No lag and no drift before the round; after it the points alpha_i of all clients, sampled or not, are x^r still, a step
    behind z^{r+1}.  The step is the largest that the conditions allow at a = 1.
    """
    claim = bound_of(statement)
    (limit,) = [c.rhs for c in conditions_of(statement) if c.lhs == eta_tilde]
    for clients in range(1, 101):
        at = {M: clients, N: 1, K: 1, S: 1, beta: 1, a: 1}
        left = limit.subs(at) ** 2
        right = claim.value.subs({**at, Xi: 0, E_r: 0, grad_sq: 1})
        if left > right:
            witness = {"f_i": "x^2/2", "x^r": 1, "c_i": 1, "M": clients, "N": 1, "K": 1, "T": 1, "a": 1}
            witness |= {"eta_tilde": limit.subs(at), "left": left, "right": right}
            says = f"M = {clients}: Xi_r = {left}, claimed at most {right}"
            return Verdict(Status.REFUTED, says, float(right / left), witness)
    return Verdict(Status.HOLDS, "on clients alike without lag, M up to 100, at the largest step")


def heterogeneity_stays(statement: Statement, full: bool = False) -> Verdict:
    """G^2/(mu K T eps): local steps do not average the choice of clients.

    f_i = (x - b_i)^2/2, b_i = G or -G, half of many clients each, one sampled a round: whatever the step sizes, momentum
    and weights, the output is w x^0 + sum of w_r b^r with weights of sum 1, so from x^0 = 1 its gap is at least
    (1/2)/(1 + R/G^2).  With T = 1/eps the printed R is G^2 + G/sqrt(eps) + log(1/eps), up to constants.
    """
    claim = statement.claim
    assert isinstance(claim, Order)
    table = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    ratios = []
    for k in _SIZES:
        small = Rational(1, 10**k)
        given = {"mu": 1, "beta": 1, "sigma": 0, "G": 1, "K": 1, "N": 1, "S": 1, "alpha": 1, "T": 10**k, "eps": small}
        rounds = 1000 * sympy.N(claim.value.subs({table[n]: sympy.sympify(v) for n, v in given.items()}), 20)
        ratios.append(float(sympy.N(1 / (2 * (1 + rounds)) / small)))
    witness = {
        "f_i": "(x -+ 1)^2/2",
        "T": "1/eps",
        "R": "1000 times the printed one",
        **{f"gap/eps at eps = 1e-{k}": ratio for k, ratio in zip(_SIZES, ratios, strict=True)},
    }
    if ratios[0] < ratios[1] < ratios[2] and ratios[2] > 100 * ratios[1]:
        return Verdict(
            Status.REFUTED, "after 1000 times the printed rounds the gap exceeds eps without bound", 0.0, witness
        )
    return Verdict(Status.HOLDS, f"gap/eps stays bounded: {ratios}")


def evidence() -> Iterator[Evidence]:
    """Ledgers, derivations, orders, claims and counter-examples."""
    for name, one in LEDGERS.items():
        if name not in READ_WITH_LAMBDA:
            yield as_evidence("fedbcgd", name, "ledger", one)
    for name, one in REPAIRS.items():
        yield as_evidence("fedbcgd", name, "repair", one)
    for name, (other, letters) in _TUNING.items():
        by = as_evidence("fedbcgd", name, "ledger", proof(same_lemma(other, letters)))
        yield Evidence(by.statement, by.kind, by.check, (other,))
    yield Evidence("fedbcgd.lemma1", "certificate", perturbed)
    yield Evidence("fedbcgd.lemma3", "derivation", triangle)
    yield Evidence("fedbcgd.lemma9", "derivation", mean_and_noise)
    for name in ("lemma10", "momentum_form", "momentum_form.corrected"):
        yield Evidence(f"fedbcgd.{name}", "derivation", momentum)
    for name in ("lemma4", "lemma4.part1", "lemma4.part2", "lemma4.lhs", "lemma4.lhs_blocks", "lemma4.corrected"):
        yield Evidence(f"fedbcgd.{name}", "derivation", drawn)
    yield as_evidence("fedbcgd", "thm1.step59.momentum", "ledger", LEDGERS["thm1.step59"])
    premises66 = ("thm1.step55", "thm1.step56", "thm1.step59.momentum", "thm1.step61", "lemma5", "thm1.step64.momentum")
    yield as_evidence("fedbcgd", "thm1.step66", "ledger", proof(coefficient66, *premises66))
    premises = ("thm1.step55", "thm1.step56", "thm1.step59.momentum")
    yield as_evidence("fedbcgd", "thm1.step64.momentum", "ledger", proof(collected, *premises))
    yield Evidence("fedbcgd.thm2.lag", "counterexample", one_lag)
    yield Evidence("fedbcgd.lemma15", "derivation", polynomials)
    for name in (
        "thm1.main.strongly_convex",
        "thm1.main.nonconvex",
        "thm2.main.strongly_convex",
        "thm2.main.nonconvex",
    ):
        for suffix in ("", ".corrected"):
            yield Evidence(f"fedbcgd.{name}{suffix}", "derivation", floats)
    for name, (source, order_from) in ORDERS.items():
        yield as_evidence("fedbcgd", name, "repair", proof(order_from, source))
    for name, main, choice in (
        ("fedbcgd", "thm1.main.strongly_convex", {}),
        ("fedbcgdplus", "thm2.main.strongly_convex", {"N": sqrt(beta / mu)}),
    ):
        yield Evidence(f"fedbcgd.table1.{name}", "derivation", row(main, **choice), (f"fedbcgd.{main}",))
    for name, (source, rounds) in FROM_PRINTED.items():
        yield as_evidence("fedbcgd", name, "ledger", proof(from_printed(rounds), source))
    yield as_evidence("fedbcgd", "thm2.nonconvex", "ledger", proof(telescoped18, "lemma18"))
    for name, noisy in (("four", True), ("exact", False)):
        own = proof(many_clients(noisy), "lemma4.part1.corrected")
        yield as_evidence("fedbcgd", f"thm1.step48.{name}", "repair", own)
    yield Evidence("fedbcgd.claim.factor_1_over_N", "derivation", factor_one_over_N)
    yield Evidence("fedbcgd.claim.second_term", "derivation", second_term, ("fedbcgd.table1.fedbcgd",))
    yield Evidence("fedbcgd.claim.N_sqrt_kappa", "derivation", root_of_kappa, ("fedbcgd.thm2.main.strongly_convex",))
    for case in ("strongly_convex", "general_convex", "nonconvex"):
        for where in ("", ".proof"):
            yield Evidence(f"fedbcgd.thm1.{case}{where}", "counterexample", whatever_the_steps)
    for name in ("strongly_convex", "general_convex"):
        yield Evidence(f"fedbcgd.thm2.{name}", "counterexample", unseen_client)
    yield Evidence("fedbcgd.lemma17", "counterexample", all_behind)
    yield Evidence("fedbcgd.thm1.main.strongly_convex", "counterexample", heterogeneity_stays)
