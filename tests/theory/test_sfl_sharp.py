"""The sharper theorems of SFL and PFL: their rules on numbers, their proofs on changed statements, and what they gain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import pytest
import sympy
from sympy import Rational

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import rules
from fedtheory.theory.proofs.forms import Alone, Family, StochasticGradient, before, vector
from fedtheory.theory.sfl.checks import sharp
from fedtheory.theory.sfl.sharp import LEAST
from fedtheory.theory.sfl.symbols import K, M, R, S, eta_tilde
from fedtheory.theory.statement import Bound, Statement, Status

C, I = Family("C", sympy.Integer(3)), Family("I", sympy.Integer(2))  # three clients, two steps each
a, b, n = vector("a", C), vector("b", C), vector("n", C, I)
OWN = {e.statement.removeprefix("sfl."): e for e in sharp.evidence()}


def summed(e: sympy.Expr) -> sympy.Expr:
    """The sum over all steps, as one symbol."""
    return C.sum(I.sum(e))


def in_order(per_step: list[int]) -> list[int]:
    return [sum(per_step[:t]) for t in range(len(per_step))]


# Rules about steps in their order, on numbers


def mean_over_orders(of: Callable[[list[int], list[int]], int]) -> Rational:
    """The mean over all orders of three clients with two steps each; a and b at every step."""
    own, orders = ((2, -1, 5), (3, 4, -2)), list(permutations(range(3)))
    found = [of(*([values[m] for m in order for _ in range(2)] for values in own)) for order in orders]
    return Rational(sum(found), len(orders))


def test_partial_sums_and_pairs_over_all_orders() -> None:
    at = {C.sum(b**2): 9 + 16 + 4, C.sum(b): 5, C.sum(a): 6, C.sum(a * b): 6 - 4 - 10}
    squares = mean_over_orders(lambda _, y: sum(q**2 for q in in_order(y)))
    pairs = mean_over_orders(lambda x, y: sum(p * q for p, q in zip(x, in_order(y), strict=True)))
    at |= {summed(before(b, C, I) ** 2): squares, summed(a * before(b, C, I)): pairs}
    assert rules.PARTIAL_SUMS.slack(b, C, I).subs(at) == 0
    assert rules.PAIRS_IN_ORDER.slack(a, b, C, I).subs(at) == 0
    assert rules.PARTIAL_SUMS.slack(b, C, I).subs(at | {summed(before(b, C, I) ** 2): squares + 1}) == -1


def test_sums_so_far_on_every_small_sequence() -> None:
    tight = Rational(10)
    for values in product((-1, 0, 2), repeat=6):
        rest = in_order(list(values))
        whole, squares = sum(values), sum(v**2 for v in values)
        own = {
            summed(n): whole,
            summed(n**2): squares,
            summed(n * before(n, C, I)): sum(map(int.__mul__, values, rest)),
        }
        assert rules.IN_ORDER.slack(n, n, C, I).subs(own) == 0
        more = own | {summed(before(n, C, I) ** 2): sum(r**2 for r in rest)}
        slack = rules.SUMS_BEFORE.slack(n, C, I).subs(more)
        assert slack >= 0
        if squares:
            tight = min(tight, slack / squares)
    assert tight < 4  # of 15: the factor n (n - 1) / 2 is not far from what sequences of one sign need


def test_copies_and_noise_so_far() -> None:
    copies = {I.sum(a * before(b, I)): 1 * (0 + 1), I.sum(before(b, I) ** 2): 0 + 1, a: 1, b: 1}
    assert rules.COPIES.slack(a, b, I).subs(copies) == 0 and rules.COPIES_SQUARED.slack(b, I).subs(copies) == 0
    five, sigma = Family("I", sympy.Integer(5)), sympy.Symbol("sigma", positive=True)
    outcomes = [in_order(list(signs)) for signs in product((-1, 1), repeat=5)]
    mean = Fraction(sum(q**2 for found in outcomes for q in found), len(outcomes))
    noise = rules.Noise(StochasticGradient("n", Alone("h"), vector("y", five)).error, frozenset())
    squares = five.sum(sympy.expand(before(noise.vector, five) ** 2))
    assert sympy.expand(rules.NOISE_BEFORE(sigma, noise, five) + squares).subs(sigma, 1) == Rational(mean)


def test_vectors_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="at the start of the round"):
        rules.PARTIAL_SUMS.slack(n, C, I)
    with pytest.raises(ValueError, match="the same in all steps"):
        rules.COPIES.slack(a, n, I)
    with pytest.raises(ValueError, match="linear combination"):
        before(a * b, C, I)


# The proofs


def put(name: str, statement: Statement | None = None) -> Status:
    return OWN[name].check(statement or catalogue.find(f"sfl.{name}"), False).status


@pytest.mark.parametrize("name", [name for name in OWN if name.startswith(("step", "eq70"))])
def test_a_round_with_any_better_constant_is_broken(name: str) -> None:
    statement = catalogue.find(f"sfl.{name}")
    claim = statement.claim
    assert isinstance(claim, Bound)
    for term in claim.terms:
        less = -term.value if term.name == "progress" else term.value
        sharper = claim.scaled(Rational(95, 100) if less == term.value else Rational(105, 100), term.name)
        assert put(name, statement.with_claim(sharper)) is Status.BROKEN, term.name


@pytest.mark.parametrize("name", [name for name in OWN if name.startswith(("step", "eq70"))])
def test_the_clients_that_take_part_count(name: str) -> None:
    """Without S = M, or without S <= M for those of S of M clients, no proof stands."""
    statement = catalogue.find(f"sfl.{name}")
    kept = tuple(c for c in statement.when if not c.relation.has(S) or c.relation.has(eta_tilde))
    assert len(kept) == len(statement.when) - 1
    assert put(name, replace(statement, when=kept)) is Status.BROKEN


@pytest.mark.parametrize("theorem", ["thm1", "thm2"])
@pytest.mark.parametrize("case", ["strongly_convex", "general_convex", "nonconvex"])
def test_no_term_is_larger_than_the_printed_one(theorem: str, case: str) -> None:
    printed, ours = (catalogue.find(f"sfl.{theorem}.{case}{form}").claim for form in ("", ".sharp"))
    assert isinstance(printed, Bound) and isinstance(ours, Bound)
    before_, after = ({t.name: t.value.subs(S, M) for t in claim.terms} for claim in (printed, ours))
    assert after.keys() <= before_.keys()
    symbols = {s: Rational(1, 7) for s in printed.value.free_symbols | ours.value.free_symbols} | {
        eta_tilde: Rational(1, 50)
    }
    for clients, steps, rounds in product((1, 2, 50), (1, 3, 40), (1, 10, 1000)):
        at = symbols | {M: clients, K: steps, R: rounds}
        for name, value in after.items():
            assert value.subs(at) < before_[name].subs(at) or value.subs(at) == 0


# What no bound can be below


def huber(start: Fraction, rate: Fraction, rounds: int) -> tuple[list[Fraction], list[Fraction]]:
    """(iterates, gradients) of gradient descent on the Huber loss of curvature 1 and slope 1."""
    iterates, gradients, y = [], [], start
    for _ in range(rounds + 1):
        iterates.append(y)
        gradients.append(max(min(y, Fraction(1)), Fraction(-1)))
        y -= rate * gradients[-1]
    return iterates, gradients


@pytest.mark.parametrize("rounds", [1, 4, 60])
def test_identical_huber_clients_attain_what_no_bound_can_be_below(rounds: int) -> None:
    """Identical clients with one step make a gradient step of length eta_tilde in a round; L = 1, slope 1."""
    rate = Fraction(1, 6)
    start = rate * (rounds + 1) + 1
    iterates, _ = huber(start, rate, rounds)
    mean = sum(iterates, Fraction(0)) / len(iterates)
    gap = mean - Fraction(1, 2) if mean >= 1 else mean**2 / 2
    at = {"L": 1, "D": start, "R": rounds, "eta_tilde": rate}
    least = value(LEAST["sfl.thm1.general_convex"], at)
    bound = value(catalogue.find("sfl.thm1.general_convex.sharp").claim, at)
    assert least <= gap <= bound and gap - least <= least / rounds
    start = rate * rounds + 1
    _, gradients = huber(start, rate, rounds)
    at = {"L": 1, "A": start - Fraction(1, 2), "R": rounds, "eta_tilde": rate}
    assert value(LEAST["sfl.thm2.nonconvex"], at) == min(g**2 for g in gradients) == 1
    assert value(catalogue.find("sfl.thm2.nonconvex.sharp").claim, at) >= 1


def value(of: sympy.Basic | object, at: dict[str, Fraction | int]) -> Rational:
    """A formula, or a bound, at these numbers; noise and heterogeneity are 0, of one client."""
    e = of.value if isinstance(of, Bound) else of
    assert isinstance(e, sympy.Expr)
    rest = {"sigma": 0, "zeta": 0, "zeta_star": 0, "M": 1, "K": 1, "beta": 0}
    return Rational(e.subs({s: Rational((at | rest)[s.name]) for s in e.free_symbols}))
