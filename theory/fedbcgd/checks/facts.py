"""Basic facts: the lemmas about functions, samples and momentum, by certificates and exact algebra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
from sympy import Rational
from sympy.logic.boolalg import Boolean

from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.symbols import *
from fedtheory.theory.notation import Expectation, Grad, Norm
from fedtheory.theory.printing import plain
from fedtheory.theory.proofs.arithmetic import decide
from fedtheory.theory.proofs.ledger import conditions_of
from fedtheory.theory.proofs.vectors import certify, convex, difference, equated, in_numbers, point
from fedtheory.theory.statement import Bound, Claim, Evidence, Relations, Statement, Status, Verdict


def relations_of(claim: Claim) -> tuple[Any, ...]:
    """The relations of a claim.  Raises ValueError for another claim."""
    if not isinstance(claim, Relations):
        raise ValueError(f"{type(claim).__name__}: expected Relations")
    return claim.relations


def _every(statement: Statement) -> Iterator[Any]:
    """The relations of the claim and of the further claims."""
    for claim in (statement.claim, *statement.also):
        yield from relations_of(claim)


def _over_steps(e: sympy.Expr) -> sympy.Sum:
    """The sum over the tau steps."""
    return sympy.Sum(e, (t, 1, tau))


def perturbed(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 1 and (19) to (22), by the inequalities of the class at the three points, and forms decided by z3."""
    at = {symbol: point(h, symbol) for symbol in (x, y, z)}
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
    """Lemma 3: a quadratic form; for tau vectors, by their mean m and their deviations from it."""
    first, second = relations_of(statement.claim)
    found = decide([], difference(first) >= 0)
    if found.status is not Status.PROVED:
        return found.verdict(f"{plain(first)} fails")
    m, D = sympy.symbols("m D", nonnegative=True)  # ||mean||, and sum ||v_t - mean||^2
    known = {Norm(_over_steps(v_t)): tau * m, _over_steps(Norm(v_t) ** 2): tau * m**2 + D}
    left, right = (in_numbers(side, known) for side in second.args)
    found = decide([], left <= right if isinstance(second, sympy.Le) else left >= right)
    if found.status is not Status.PROVED:
        return found.verdict(f"{plain(second)} fails")
    return Verdict(Status.PROVED, "a quadratic form; and sum ||v_t||^2 = tau ||m||^2 + sum ||v_t - m||^2", slack=1.0)


def mean_and_noise(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 9: E||P + Q||^2, P the sum of the (conditional) means, Q the sum of the deviations.

    In the first part P is fixed, E Q = 0, and E||Q||^2 <= tau times tau sigma^2.  In the second part P and Q may be
    correlated, and E||Q||^2 <= tau sigma^2 by orthogonality.
    """
    P, Q = sympy.symbols("P Q", nonnegative=True)
    cross = sympy.Symbol("E<P,Q>", real=True)
    whole, means = Expectation(Norm(_over_steps(V_t)) ** 2), Norm(_over_steps(m_t)) ** 2
    cases = (
        ({whole: P + Q, means: P}, [tau * (tau * sigma_x**2) >= Q]),
        ({whole: P + 2 * cross + Q, Expectation(means): P}, [tau * sigma_x**2 >= Q, cross**2 <= P * Q]),
    )
    for relation, (known, given) in zip(relations_of(statement.claim), cases, strict=True):
        left, right = (in_numbers(side, known) for side in relation.args)
        found = decide(given, left <= right if isinstance(relation, sympy.Le) else left >= right)
        if found.status is not Status.PROVED:
            return found.verdict(f"{plain(relation)} fails")
    return Verdict(Status.PROVED, "by the tower rule, for every law and every tau")


def momentum(statement: Statement, full: bool = False) -> Verdict:
    """The updates as relations between the vectors of a round, by lines 12, 20 and 21 of the corrected Algorithm 1.

    The clients' mean is x - eta G; v+ is lam v plus the difference of this mean from x; x+ is x + v+.

    `also` has other relations that the paper gives for the same updates; for Lemma 10, (44) with its definitions.
    """
    symbols = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    v, G_r, eta = v_r, symbols["G_r"], symbols["eta"]
    mean = x_r - eta * G_r
    v_next = lam * v + mean - x_r
    before = {x_prev: x_r - v, symbols["v_prev"]: (v + eta * symbols["G_prev"]) / lam}
    position = statement.where.get(symbols["z_r"], x_r + gamma * (x_r - x_prev))
    after = {
        symbols["v_next"]: v_next,
        symbols["x_next"]: x_r + v_next,
        symbols["z_r"]: position.subs(before),
        symbols["z_next"]: position.subs({x_r: x_r + v_next, x_prev: x_r}, simultaneous=True),
        symbols["Dx_prev"]: -eta * symbols["G_prev"],
        **before,
    }
    factor = statement.where.get(gamma, lam / (1 - lam))
    failing = {}
    for relation in _every(statement):
        left, right = (side.subs(after, simultaneous=True).subs(gamma, factor) for side in equated(relation))
        rest = sympy.simplify(left - right)
        if rest != 0:
            failing[f"left - right of ({plain(relation)})"] = str(sympy.factor(rest))
    if failing:
        return Verdict(Status.REFUTED, f"{len(failing)} relations contradict lines 12, 20 and 21", witness=failing)
    return Verdict(Status.PROVED, "linear identities in the iterates and the virtual gradient")


def polynomials(statement: Statement, full: bool = False) -> Verdict:
    """Inequalities between constants at the end of a proof, decided under the statement's conditions."""
    given = [sympy.Eq(S, N * K, evaluate=False), *conditions_of(statement)]
    relations = [relation for claim in statement.also for relation in relations_of(claim)]
    for relation in relations:
        found = decide(given, relation)
        if found.status is not Status.PROVED:
            return found.verdict(f"{plain(relation)} fails")
    return Verdict(
        Status.OPEN, f"{len(relations)} inequalities between constants are true; the bound is not derived here"
    )


def _of_sample() -> sympy.Expr:
    """E||(1/K) sum over K of M clients||^2, from the probabilities of one client and of two."""
    one, two = K / M, K * (K - 1) / (M * (M - 1))
    squares, all_pairs = M * mean_grad_sq, M**2 * grad_sq_x - M * mean_grad_sq
    return sympy.expand((two * all_pairs + one * squares) / K**2)


def drawn(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 4 for every M, K and all gradients: K of M clients without replacement.

    With blocks: the K clients of a block are such a sample, and squared norms are sums over blocks.
    """
    symbols = {name: s.sympy for name, s in catalogue.symbols(statement).items()}
    samples = [symbols[name] for name in ("sample_sq", "block_sample_sq")]
    sides: list[tuple[sympy.Expr, str]] = []  # left - right, and the sign between them
    for claim in (statement.claim, *statement.also):
        if isinstance(claim, Bound):
            sides.append((claim.quantity - claim.value, claim.sign))
        else:
            sides += [(r.lhs - r.rhs, {"==": "="}.get(r.rel_op, r.rel_op)) for r in relations_of(claim)]
    claims: list[Boolean] = []
    for left_right, sign in sides:
        rest = sympy.expand(left_right.subs(dict.fromkeys(samples, _of_sample())))
        claims += {"<=": [rest <= 0], ">=": [rest >= 0], "=": [rest <= 0, rest >= 0]}[sign]
    given = [M >= 2, *conditions_of(statement)]
    for one in claims:
        found = decide(given, one) if one not in (sympy.true, sympy.false) else None
        if found is not None and found.status is not Status.PROVED:
            return found.verdict(f"{plain(one)} fails")
        if one == sympy.false:
            return Verdict(Status.REFUTED, "the sides differ by a constant", witness={"difference": str(one)})
    single = dict.fromkeys([*samples, mean_grad_sq], grad_sq_x) | {M: 1, K: 1}  # one client
    if not any(condition.subs(single) == sympy.false for condition in conditions_of(statement)):
        for left_right, sign in sides:
            rest = left_right.subs(M, 1).subs(single)  # M first: a division by M - 1 has no value
            if not {"<=": rest.is_nonpositive, ">=": rest.is_nonnegative, "=": rest.is_zero}[sign]:
                witness = {"M": 1, "K": 1, "left - right": str(rest)}
                return Verdict(Status.REFUTED, "fails for one client, or is not defined", witness=witness)
    return Verdict(Status.PROVED, "for every M, K and all gradients, from the probabilities of one client and of two")


def one_lag(statement: Statement, full: bool = False) -> Verdict:
    """Whether (75) and (86) define the same number: one client with f(x) = x^2/2 at z^r = 1 and c = 0."""
    numbers = {}
    for claim in (statement.claim, *statement.also):
        for relation in relations_of(claim):
            gradients = relation.atoms(Grad)
            if gradients:  # grad f(x) = x
                (at,) = {g.args[1] for g in gradients}
                numbers[str(at)] = (0 - {"z_r": 1, "x_star": 0}.get(str(at), 1)) ** 2
    if len(set(numbers.values())) > 1:
        says = f"C_r has two definitions: {' and '.join(f'{v} with gradients at {at}' for at, v in numbers.items())}"
        return Verdict(Status.REFUTED, says, witness={"f": "x^2/2", "c": 0, "z^r": 1, **numbers})
    return Verdict(Status.TESTED, "all gradients in the definitions of C_r are taken at the same point")


def evidence() -> Iterator[Evidence]:
    """Certificates and derivations of the basic facts."""
    yield Evidence("fedbcgd.lemma1", "certificate", perturbed)
    yield Evidence("fedbcgd.lemma3", "derivation", triangle)
    yield Evidence("fedbcgd.lemma9", "derivation", mean_and_noise)
    for name in ("lemma10", "momentum_form", "momentum_form.corrected"):
        yield Evidence(f"fedbcgd.{name}", "derivation", momentum)
    for name in ("lemma4", "lemma4.part1", "lemma4.part2", "lemma4.lhs", "lemma4.lhs_blocks", "lemma4.corrected"):
        yield Evidence(f"fedbcgd.{name}", "derivation", drawn)
    yield Evidence("fedbcgd.thm2.lag", "counterexample", one_lag)
    yield Evidence("fedbcgd.lemma15", "derivation", polynomials)
