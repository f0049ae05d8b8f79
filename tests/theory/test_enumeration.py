"""Exact enumeration against plain fractions on concrete vectors; and every check of it seen to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import pytest
import sympy
from sympy import Eq, Rational, Sum

from fedtheory.theory import catalogue
from fedtheory.theory.notation import Expectation, Inner, Norm, Value
from fedtheory.theory.proofs import enumeration
from fedtheory.theory.sfl.checks import evidence, tables as experiments_evidence
from fedtheory.theory.sfl.symbols import F_fun, K, S, delta, k, m, n, s, x, zeta, zeta_star
from fedtheory.theory.statement import Bound, Relations, Statement, Status, Verdict, Words

Vector = tuple[Fraction, ...]

# Concrete populations in two dimensions; only the first n are used
POPULATION: list[Vector] = [
    (Fraction(1), Fraction(-2)),
    (Fraction(3, 2), Fraction(5)),
    (Fraction(-4), Fraction(1, 3)),
    (Fraction(7), Fraction(0)),
    (Fraction(-1, 5), Fraction(2)),
]


def centred(size: int) -> tuple[list[Vector], Fraction]:
    """x_i - xbar and zeta^2 of the first `size` units."""
    units = POPULATION[:size]
    mean = [sum(column) / size for column in zip(*units, strict=True)]
    shifted = [tuple(a - b for a, b in zip(u, mean, strict=True)) for u in units]
    return shifted, sum((inner(u, u) for u in shifted), Fraction(0)) / size


def inner(u: Vector, v: Vector) -> Fraction:
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))


def weighted(units: Sequence[Vector], weights: Sequence[int]) -> Vector:
    return tuple(sum((w * u[i] for w, u in zip(weights, units, strict=True)), Fraction(0)) for i in range(2))


def mean_square(size: int, samples: Sequence[tuple[int, ...]], weights: Sequence[int]) -> Fraction:
    """E||sum_p weights_p (x_{pi_p} - xbar)||^2 / zeta^2, straight from its definition."""
    shifted, variance = centred(size)
    squares = []
    for sample in samples:
        v = weighted([shifted[i] for i in sample], weights)
        squares.append(inner(v, v))
    return sum(squares, Fraction(0)) / len(squares) / variance


def as_rational(f: Fraction) -> sympy.Rational:
    return Rational(f.numerator, f.denominator)


@pytest.mark.parametrize(("size", "draws"), [(2, 1), (2, 2), (3, 2), (4, 3), (5, 2)])
@pytest.mark.parametrize("replacement", [True, False])
def test_variance_of_the_sample_mean(size: int, draws: int, replacement: bool) -> None:
    samples = list(product(range(size), repeat=draws) if replacement else permutations(range(size), draws))
    by_hand = as_rational(mean_square(size, samples, [1] * draws)) / draws**2
    assert enumeration.sample_mean_variance(size, draws, replacement) == by_hand


@pytest.mark.parametrize("weights", [(1, -1, 2), (0, 0, 3), (5, 1, 1)])
def test_mean_form(weights: tuple[int, ...]) -> None:
    samples = list(permutations(range(4), 3))
    form = enumeration.mean_form(samples, weights, 4)
    assert enumeration.times_variance(form) == as_rational(mean_square(4, samples, weights))
    shifted, variance = centred(4)
    grams = sympy.Matrix(4, 4, lambda i, j: as_rational(inner(shifted[i], shifted[j])))
    assert (form * grams).trace() == as_rational(mean_square(4, samples, weights) * variance)


def test_a_form_that_is_no_multiple_of_the_variance_is_refused() -> None:
    with pytest.raises(ValueError, match="no multiple of the population variance"):
        enumeration.times_variance(enumeration.mean_form([(0,)], [1], 3))


@pytest.mark.parametrize("size", [2, 3, 5])
def test_covariance(size: int) -> None:
    shifted, variance = centred(size)
    pairs = list(permutations(range(size), 2))
    mean = sum((inner(shifted[i], shifted[j]) for i, j in pairs), Fraction(0)) / len(pairs)
    assert enumeration.sample_covariance(size) == as_rational(mean / variance)


def lemma4_by_hand(clients: int, steps: int, at: int, done: int) -> Fraction:
    """E||sum_{i<=m} sum_{j<=b_mk(i)} (x_{pi_i} - xbar)||^2 / zeta^2, the inner sum written out."""
    shifted, variance = centred(clients)
    total = Fraction(0)
    orders = list(permutations(range(clients), at))
    for order in orders:
        v: Vector = (Fraction(0), Fraction(0))
        for i in range(1, at + 1):
            last = steps - 1 if i <= at - 1 else done - 1  # b_mk(i)
            for _ in range(last + 1):
                v = weighted([v, shifted[order[i - 1]]], [1, 1])
        total += inner(v, v)
    return total / len(orders) / variance


@pytest.mark.parametrize(("clients", "taking", "steps"), [(2, 2, 2), (3, 2, 3), (4, 4, 2), (5, 3, 1)])
def test_partial_sums(clients: int, taking: int, steps: int) -> None:
    table = {(i, j): lemma4_by_hand(clients, steps, i, j) for i in range(1, taking + 1) for j in range(steps)}
    for (i, j), value in table.items():
        assert enumeration.partial_sum(clients, steps, i, j) == as_rational(value)
    total = as_rational(sum(table.values(), Fraction(0)))
    assert enumeration.partial_sums(clients, taking, steps) == total
    assert enumeration.partial_sums_of_many(clients, taking, steps) == total


# --- Every piece of evidence, seen to fail ---------------------------------------------------------------------------

_TESTED_ELSEWHERE = {(e.statement, e.kind) for e in experiments_evidence.evidence()}
EVIDENCE = {
    e.statement: e
    for e in evidence()
    if (e.kind == "enumeration" or e.check.__module__ == "fedtheory.theory.sfl.checks")
    and e.kind != "units"
    and (e.statement, e.kind) not in _TESTED_ELSEWHERE
    and not e.statement.endswith(".corrected")
}
REFUTED = {"sfl.lemma4.sum", "sfl.lemma4.closed_form"}
PROBLEMS = [id_ for id_ in EVIDENCE if catalogue.find(id_).kind == "problem"]


def verdict(statement: Statement) -> Verdict:
    return EVIDENCE[statement.id].check(statement, False)


def bound(id_: str) -> tuple[Statement, Bound]:
    statement = catalogue.find(id_)
    assert isinstance(statement.claim, Bound)
    return statement, statement.claim


def relations(id_: str, *changed: sympy.Basic) -> Statement:
    return catalogue.find(id_).with_claim(Relations(changed))


def test_every_mutation_is_of_evidence_that_exists() -> None:
    assert {id_ for id_, _ in MUTANTS} | REFUTED == set(EVIDENCE)


xi = sympy.IndexedBase("x", real=True)[sympy.Symbol("i", real=True, integer=True, positive=True)]
i = xi.indices[0]
x_seq, e_seq = (sympy.IndexedBase(name, real=True) for name in ("x_seq", "e"))
sigma = catalogue.paper("sfl").symbols["sigma"].sympy
mean = Sum(xi, (i, 1, n)) / n
E = Expectation


def scaled(id_: str, *factors: Any) -> Iterator[tuple[str, Statement]]:
    statement, claim = bound(id_)
    for factor in factors:
        yield id_, statement.with_claim(claim.scaled(factor))


def one_term(id_: str) -> Iterator[tuple[str, Statement]]:
    """Each term dropped, and each term with its sign flipped."""
    statement, claim = bound(id_)
    for t in claim.terms:
        for factor in (0, -1):
            yield id_, statement.with_claim(claim.scaled(factor, t.name))


def with_relations(id_: str, *mutants: sympy.Basic) -> Iterator[tuple[str, Statement]]:
    for relation in mutants:
        yield id_, relations(id_, relation)


def three_point_with(change: Callable[[sympy.Expr], sympy.Expr]) -> sympy.Basic:
    claim = catalogue.find("sfl.three_point").claim
    assert isinstance(claim, Relations)
    left, right = claim.relations[0].args
    return Eq(left, change(right))


def replaced(id_: str, at: int, new: sympy.Basic) -> Statement:
    """The statement with its relation number `at` replaced."""
    claim = catalogue.find(id_).claim
    assert isinstance(claim, Relations)
    changed = [*claim.relations]
    changed[at] = new
    return catalogue.find(id_).with_claim(replace(claim, relations=tuple(changed)))


def problem_mutants() -> Iterator[tuple[str, Statement]]:
    for id_ in PROBLEMS:
        claim = catalogue.find(id_).claim
        assert isinstance(claim, Relations)
        F_1, _, z, d = claim.relations
        yield id_, replaced(id_, 0, Eq(F_1.lhs, F_1.rhs + x**2))
        yield id_, replaced(id_, 0, Eq(F_1.lhs, F_1.rhs + x))
        yield id_, replaced(id_, 2, Eq(zeta_star, z.rhs + Rational(1, 100)))
        yield id_, replaced(id_, 3, Eq(delta, d.rhs + Rational(1, 100)))


xbar_pi, xbar = (catalogue.paper("sfl").symbols[name].sympy for name in ("xbar_pi", "xbar"))
deviation = Sum(E(Norm(x_seq[i] - e_seq[i]) ** 2), (i, 1, n))
together = E(Norm(Sum(x_seq[i] - e_seq[i], (i, 1, n))) ** 2)

MUTANTS: list[tuple[str, Statement]] = [
    *with_relations(
        "sfl.lemma1",
        Eq(together, 2 * deviation),
        Eq(together, n * deviation),
        sympy.Le(deviation, Rational(99, 100) * n * sigma**2),
        sympy.Le(deviation, sigma**2),
        sympy.Ge(deviation, n * sigma**2),
    ),
    *with_relations(
        "sfl.eq12",
        Eq(E(Norm(x - E(x)) ** 2), E(Norm(x) ** 2) + Norm(E(x)) ** 2),
        Eq(E(Norm(x - E(x)) ** 2), E(Norm(x) ** 2)),
        Eq(E(Norm(x - E(x)) ** 2), E(Norm(x) ** 2) - 2 * Norm(E(x)) ** 2),
    ),
    *with_relations(
        "sfl.eq13",
        Eq(Sum(Norm(xi - mean) ** 2, (i, 1, n)) / n, Sum(Norm(xi) ** 2, (i, 1, n)) / n),
        Eq(Sum(Norm(xi - mean) ** 2, (i, 1, n)) / n, Sum(Norm(xi) ** 2, (i, 1, n)) / n + Norm(mean) ** 2),
        Eq(Sum(Norm(xi - mean) ** 2, (i, 1, n)), Sum(Norm(xi) ** 2, (i, 1, n)) / n - Norm(mean) ** 2),
    ),
    *with_relations(
        "sfl.eq15",
        sympy.Le(Norm(mean) ** 2, Rational(99, 100) * Sum(Norm(xi) ** 2, (i, 1, n)) / n),
        sympy.Ge(Norm(mean) ** 2, Sum(Norm(xi) ** 2, (i, 1, n)) / n),
        Eq(Norm(mean) ** 2, Sum(Norm(xi) ** 2, (i, 1, n)) / n),
    ),
    *with_relations(
        "sfl.three_point",
        three_point_with(lambda right: -right),
        three_point_with(lambda right: 2 * right),
        three_point_with(lambda right: Inner(right.args[0], right.args[1] + x)),
        three_point_with(lambda right: right + Value(F_fun, x)),
    ),
    *with_relations(
        "sfl.lemma3.mean",
        *(Eq(E(xbar_pi), other) for other in (2 * xbar, -xbar, xbar / n)),
        Eq(E(xbar_pi**2), xbar**2),
    ),
    *scaled("sfl.lemma3.swr", Rational(99, 100), Rational(101, 100), -1),
    *scaled("sfl.lemma3.swor", Rational(99, 100), Rational(101, 100), -1, (n - 1) / n),
    *scaled("sfl.lemma3.cov", Rational(99, 100), Rational(101, 100), -1, 0, (n - 1) / n),
    ("sfl.lemma3.ratio", catalogue.find("sfl.lemma3.ratio").with_claim(Words("", ((n - s) / (n - 1), 1 - s / n**2)))),
    ("sfl.lemma3.ratio", catalogue.find("sfl.lemma3.ratio").with_claim(Words("", ((n - s) / (n - 1), 1 + s / n)))),
    ("sfl.lemma3.ratio", catalogue.find("sfl.lemma3.ratio").with_claim(Words("", ((n - s) / (n - 1), 2 - 2 * s / n)))),
    ("sfl.lemma3.ratio", catalogue.find("sfl.lemma3.ratio").with_claim(Words("", ((n - s) / n, 1 - s / n)))),
    *scaled("sfl.lemma4", Rational(1, 2), 1 / S, 1 / K),
    *scaled("sfl.lemma4.term", Rational(99, 100), Rational(101, 100)),
    *one_term("sfl.lemma4.term"),
    *problem_mutants(),
]  # fmt: skip


@pytest.mark.parametrize(
    "statement", [mutant for _, mutant in MUTANTS], ids=[f"{id_}-{at}" for at, (id_, _) in enumerate(MUTANTS)]
)
def test_a_mutation_is_refuted(statement: Statement) -> None:
    found = verdict(statement)
    assert found.status is Status.REFUTED and found.witness


def test_the_slack_of_lemma_4_is_where_it_breaks() -> None:
    statement, claim = bound("sfl.lemma4")
    slack = verdict(statement).slack
    assert slack is not None
    assert verdict(statement.with_claim(claim.scaled(1.001 / slack))).status is Status.TESTED
    assert verdict(statement.with_claim(claim.scaled(0.999 / slack))).status is Status.REFUTED
    assert (
        verdict(statement.with_claim(claim.scaled(Rational(2, 3)))).status is Status.REFUTED
    )  # at (M, S, K) = (7, 2, 12)


def test_the_sum_of_lemma_4_holds_with_k_for_k_squared() -> None:
    """The last sum as lemma4.term has it; and so sharp that 1% either way is refuted."""
    statement, claim = bound("sfl.lemma4.sum")
    name = claim.terms[-1].name
    meant = claim.terms[-1].value.replace(Sum(k**2, (k, 0, K - 1)), Sum(k, (k, 0, K - 1)))
    assert meant != claim.terms[-1].value
    repaired = replace(claim, terms=(*claim.terms[:-1], replace(claim.terms[-1], value=meant)))
    assert verdict(statement.with_claim(repaired)).status is Status.TESTED
    assert verdict(statement.with_claim(repaired.scaled(Rational(99, 100), name))).status is Status.REFUTED
    assert verdict(statement.with_claim(repaired.scaled(Rational(101, 100), name))).status is Status.REFUTED


def test_the_closed_form_of_lemma_4_needs_zeta_and_the_factor_K_squared() -> None:
    """Derived here by summing lemma4.term; the printed form lacks zeta^2 and, in its third term, K^2."""
    _, term = bound("sfl.lemma4.term")
    summed = Sum(Sum(term.value, (k, 0, K - 1)), (m, 1, S)).doit()
    statement, claim = bound("sfl.lemma4.closed_form")
    third = claim.terms[-1]
    repaired = replace(
        claim,
        terms=tuple(replace(t, value=t.value * zeta**2 * (K**2 if t == third else 1)) for t in claim.terms),
    )
    assert sympy.simplify(summed - repaired.value) == 0
    assert verdict(statement.with_claim(repaired)).status is Status.TESTED
    only_zeta = replace(claim, terms=tuple(replace(t, value=t.value * zeta**2) for t in claim.terms))
    assert verdict(statement.with_claim(only_zeta)).status is Status.REFUTED
    for t in repaired.terms:
        assert verdict(statement.with_claim(repaired.scaled(Rational(101, 100), t.name))).status is Status.REFUTED
