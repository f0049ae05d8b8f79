"""Exact expectations by enumeration: all samples, all permutations, all outcomes of a finite law.

Everything here is rational or symbolic.  A quadratic statement about a population x_1 ... x_n in R^d is decided for
every population and every d at once: both sides are quadratic forms that act on each coordinate in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import perm

import numpy as np
import sympy
from numpy.typing import NDArray

from fedtheory.theory.proofs.instances import Law, Values, interpret
from fedtheory.theory.statement import Bound, Relations, Statement, Status, Verdict

Integers = NDArray[np.int64]


def mean_form(samples: Sequence[tuple[int, ...]], weights: Sequence[int], n: int) -> sympy.Matrix:
    """The exact form A of a mean over samples: mean ||sum_p weights_p (x_{pi_p} - xbar)||^2 = sum_ij A_ij <x_i, x_j>."""
    index = np.asarray(samples)
    coefficient: Integers = np.zeros((len(samples), n), dtype=np.int64)
    for position, weight in enumerate(weights):
        np.add.at(coefficient, (np.arange(len(samples)), index[:, position]), weight)
    counts = sympy.Matrix(coefficient.T @ coefficient) / len(samples)
    centre = sympy.eye(n) - sympy.ones(n, n) / n
    return centre * counts * centre


def times_variance(form: sympy.Matrix) -> sympy.Rational:
    """The factor in form = factor * zeta^2, zeta^2 = (1/n) sum ||x_i - xbar||^2.

    Raises ValueError when the form is no multiple of zeta^2 (exact comparison).
    """
    n = form.shape[0]
    variance = (sympy.eye(n) - sympy.ones(n, n) / n) / n
    factor = form.trace() / variance.trace()
    if form != factor * variance:
        raise ValueError("the expectation is no multiple of the population variance")
    return factor


def without_replacement(n: int, s: int) -> list[tuple[int, ...]]:
    """All n!/(n-s)! ordered samples without replacement."""
    return list(permutations(range(n), s))


def with_replacement(n: int, s: int) -> list[tuple[int, ...]]:
    """All n^s ordered samples with replacement."""
    return list(product(range(n), repeat=s))


def sample_mean_variance(n: int, s: int, replacement: bool) -> sympy.Rational:
    """E||mean of s sampled units - xbar||^2 / zeta^2, by enumeration of all samples."""
    samples = with_replacement(n, s) if replacement else without_replacement(n, s)
    return times_variance(mean_form(samples, [1] * s, n)) / s**2


def sample_covariance(n: int) -> sympy.Rational:
    """E<x_{pi_p} - xbar, x_{pi_q} - xbar> / zeta^2 for p != q without replacement, by enumeration (polarised)."""
    pairs = without_replacement(n, 2)
    plus, minus = (times_variance(mean_form(pairs, [1, sign], n)) for sign in (1, -1))
    return (plus - minus) / 4


def partial_sum(M: int, K: int, m: int, k: int) -> sympy.Rational:
    """E||K sum_{i<m} (x_{pi_i} - xbar) + k (x_{pi_m} - xbar)||^2 / zeta^2 (Lemma 4), by enumeration."""
    return times_variance(mean_form(without_replacement(M, m), [K] * (m - 1) + [k], M))


def partial_sums(M: int, S: int, K: int) -> sympy.Rational:
    """The left side of Lemma 4 over zeta^2, by enumeration."""
    return sympy.Add(*(partial_sum(M, K, m, k) for m in range(1, S + 1) for k in range(K)))


def partial_sums_of_many(M: int, S: int, K: int) -> sympy.Rational:
    """`partial_sums` for M >= 2 without enumeration: E<x_p - xbar, x_q - xbar> is zeta^2, or -zeta^2/(M-1) if p != q."""

    def weighted(m: int, k: int) -> sympy.Rational:
        squares, total = (m - 1) * K**2 + k**2, (m - 1) * K + k
        return squares - sympy.Rational(total**2 - squares, M - 1)

    return sympy.Add(*(weighted(m, k) for m in range(1, S + 1) for k in range(K)))


@dataclass(frozen=True)
class Truth:
    """One instance of a statement: values of its symbols, by name, and the enumerated true value.

    A population of one has the variance zeta^2 = 0; then the values say so.
    """

    values: Mapping[str, int]
    truth: sympy.Rational


def compare(statement: Statement, of: sympy.Symbol, cases: Sequence[Truth], zetas: Sequence[int] = (1, 2)) -> Verdict:
    """Compare a bound on `of` with its enumerated true values (in units of zeta^2), at several zeta.

    Only cases that meet the conditions count.  '=' must hold exactly.  For '<=' the slack is the least claimed / true
    over the family, for '>=' the least true / claimed.  A claim that is not defined, as after a division by 0, is refuted.
    """
    claim = statement.claim
    if not isinstance(claim, Bound):
        raise ValueError(f"{statement.id} claims no bound: {type(claim).__name__}")
    factor = sympy.simplify(claim.quantity / of)
    if of in factor.free_symbols:
        return Verdict(Status.OPEN, f"the enumeration is of {of}, the claim is about {claim.quantity}")
    slack: sympy.Rational | None = None
    inside = 0
    for zeta in zetas:
        for case in cases:
            at = {"zeta": zeta, **case.values}
            if any(substitute(c.relation, at) == sympy.false for c in statement.when):
                continue
            inside += 1
            claimed, true = substitute(claim.value, at), substitute(factor, at) * case.truth * zeta**2
            if unknown := claimed.free_symbols | true.free_symbols:
                raise ValueError(f"no value for {', '.join(map(str, unknown))}; the cases have {', '.join(at)}")
            defined = claimed.is_finite is True
            holds = (
                {"=": claimed == true, "<=": claimed >= true, ">=": claimed <= true}[claim.sign] if defined else False
            )
            if not holds:
                witness = {**at, "enumerated": str(true), "printed": str(claimed)}
                return Verdict(Status.REFUTED, f"enumerated {true}, printed {claimed}", witness=witness)
            if claim.sign != "=" and true > 0 and claimed > 0:
                ratio = claimed / true if claim.sign == "<=" else true / claimed
                slack = ratio if slack is None else min(slack, ratio)
    if not inside:
        return Verdict(Status.VACUOUS, "no case meets the conditions")
    family = f"{inside // len(zetas)} cases, " + ", ".join(
        f"{name} = {min(c.values[name] for c in cases)}..{max(c.values[name] for c in cases)}"
        for name in cases[-1].values
    )
    return Verdict(
        Status.TESTED,
        f"exact over all samples, every population in every dimension; {family}",
        slack=1.0 if claim.sign == "=" else None if slack is None else float(slack),
    )


def substitute(expression: sympy.Basic, values: Mapping[str, int]) -> sympy.Basic:
    """The exact value of an expression at integers, which are given by name; evaluates sums."""
    at = {s: values[s.name] for s in expression.free_symbols if s.name in values}
    found = expression.subs(at).doit()
    return sympy.nsimplify(found) if isinstance(found, sympy.Expr) else found


def grid(most: int, samples: Callable[[int, int], int] = perm) -> Iterator[tuple[int, int]]:
    """All (n, s) with 2 <= n <= most, 1 <= s <= n and at most 50,000 samples."""
    for n in range(2, most + 1):
        for s in range(1, n + 1):
            if samples(n, s) <= 50_000:
                yield n, s


# Statements in vector notation, on a finite law or a symbolic population


def decide(relation: sympy.Basic, values: Values, law: Law, variables: list[sympy.Symbol]) -> bool:
    """Whether a quadratic relation holds for all real values of the variables, as an identity or by a PSD form."""
    left, right = (sympy.expand(interpret(side, values, law)) for side in relation.args)
    if isinstance(relation, sympy.Eq):
        return sympy.expand(left - right) == 0
    difference = right - left if isinstance(relation, sympy.Le) else left - right
    half_hessian = sympy.hessian(sympy.expand(difference), variables) / 2
    if sympy.expand(difference - (sympy.Matrix([variables]) * half_hessian * sympy.Matrix(variables))[0]) != 0:
        return False  # not a form: not decided
    return bool(half_hessian.is_positive_semidefinite)


def population(n: int) -> list[sympy.Symbol]:
    """Symbols x_1 ... x_n of a population, in one dimension."""
    return [sympy.Symbol(f"x_{i}", real=True) for i in range(1, n + 1)]


def check_population(statement: Statement, full: bool = False) -> Verdict:
    """Every relation of the statement, for all populations of n vectors in every dimension, n = 1..6 (8 in full)."""
    claim = statement.claim_of(Relations)
    sizes = range(1, 9 if full else 7)
    for n in sizes:
        x = population(n)
        for relation in claim.relations:
            if not decide(relation, {"x": x, "n": sympy.Integer(n)}, (), x):
                return Verdict(
                    Status.REFUTED, f"fails for n = {n}: {relation}", witness={"n": n, "where": str(relation)}
                )
    return Verdict(Status.TESTED, f"exact for every population in every dimension, n = 1..{sizes[-1]}")


def check_law(statement: Statement, full: bool = False) -> Verdict:
    """Every relation, for a random vector x with any law on at most 4 points (6 in full); probabilities are symbols."""
    claim = statement.claim_of(Relations)
    most = 6 if full else 4
    for n in range(1, most + 1):
        points = population(n)
        p = [sympy.Symbol(f"p_{i}", nonnegative=True) for i in range(1, n)]
        p.append(1 - sympy.Add(*p))
        law = [(pi, {"x": point}) for pi, point in zip(p, points, strict=True)]
        for relation in claim.relations:
            if not decide(relation, {}, law, points):
                return Verdict(Status.REFUTED, f"fails on {n} points: {relation}", witness={"points": n})
    return Verdict(Status.TESTED, f"exact for every law on at most {most} points, in every dimension")


def sign_tree(depth: int) -> tuple[Law, list[sympy.Symbol]]:
    """Adapted noise x_i = e_i + s(history) (+-1); each node of the binary tree has its own free symbol for the scale s."""
    scales: dict[tuple[int, ...], sympy.Symbol] = {}
    law = []
    for signs in product((1, -1), repeat=depth):
        histories = [signs[:i] for i in range(depth)]
        for history in histories:
            scales.setdefault(history, sympy.Symbol(f"s_{len(scales)}", real=True))
        centres = [sympy.Symbol(f"c_{history}", real=True) for history in histories]
        x = [c + sign * scales[h] for c, sign, h in zip(centres, signs, histories, strict=True)]
        law.append((sympy.Rational(1, 2**depth), {"e": centres, "x_seq": x}))
    return law, list(scales.values())


def check_martingale(statement: Statement, full: bool = False) -> Verdict:
    """Lemma 1 on all trees of adapted +-1 noise of depth at most 3 (4 in full), with free scales of maximum sigma.

    An equality is a polynomial identity in the scales.  An inequality is linear in the squared scales, each between 0 and
    sigma^2.  So the difference of its sides is least where every scale is 0 or sigma, by the sign of its coefficient.
    """
    claim = statement.claim_of(Relations)
    sigma = sympy.Symbol("sigma_value", positive=True)
    deepest = 4 if full else 3
    for depth in range(1, deepest + 1):
        law, scales = sign_tree(depth)
        values = {"n": sympy.Integer(depth), "sigma": sigma}
        for relation in claim.relations:
            sides = [sympy.expand(interpret(side, values, law)) for side in relation.args]
            difference = sympy.Poly(sides[1] - sides[0], *scales)
            if isinstance(relation, sympy.Eq):
                holds = difference.is_zero
            else:
                sign = 1 if isinstance(relation, sympy.Le) else -1
                least = {powers: sign * c * sigma ** sum(powers) for powers, c in difference.terms()}
                quadratic = all(sum(powers) == max(powers) in (0, 2) for powers in least)
                total = sum(c if not any(powers) else sympy.Min(c, 0) for powers, c in least.items())
                holds = quadratic and bool(sympy.simplify(total / sigma**2) >= 0)
            if not holds:
                return Verdict(
                    Status.REFUTED,
                    f"fails on a tree of depth {depth}: {relation}",
                    witness={"depth": depth, "left": str(sides[0]), "right": str(sides[1])},
                )
    return Verdict(Status.TESTED, f"exact on all trees of adapted +-1 noise of depth at most {deepest}, every scale")
