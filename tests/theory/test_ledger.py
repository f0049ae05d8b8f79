"""Ledgers: proofs that go through, proofs that break at a named step, the room in a constant."""

from __future__ import annotations

import pytest
import sympy
from sympy import Rational, Symbol

from fedtheory.theory import catalogue
from fedtheory.theory.proofs.arithmetic import Decision
from fedtheory.theory.proofs.ledger import Ledger
from fedtheory.theory.statement import Bound, Status, Term, at_most

h = Symbol("h", positive=True)
a, b, c = sympy.symbols("a b c", nonnegative=True)
SMALL = [h <= Rational(1, 6)]


def test_a_bound_holds_coefficient_by_coefficient() -> None:
    ledger = Ledger(SMALL)
    ledger.at_most("sum", 2 * h * a + b, a / 3 + 2 * b, [a, b])
    found = ledger.verdict()
    assert found.status is Status.PROVED and "a 1, b 2" in found.says and found.slack == 1.0


def test_the_failing_step_is_named_and_the_later_ones_are_not_decided() -> None:
    ledger = Ledger(SMALL)
    ledger.require("fine", h <= 1)
    ledger.at_most("too much", 3 * h * a + b, a / 3 + b, [a, b])
    ledger.step("never reached", lambda: pytest.fail("decided after a failure"))
    found = ledger.verdict()
    assert found.status is Status.BROKEN
    assert found.witness["step"] == "too much: coefficient of a" and sympy.Rational(found.witness["h"]) > Rational(1, 9)


def test_a_missing_term_is_noticed() -> None:
    ledger = Ledger([])
    ledger.at_most("no b", a + b, a, [a, b])
    assert ledger.verdict().status is Status.BROKEN


def test_apply_replaces_an_atom_by_its_bound() -> None:
    ledger = Ledger(SMALL)
    assert sympy.expand(ledger.apply("x", 2 * a + b, a, at_most(a, first=h * c)) - 2 * h * c - b) == 0
    assert sympy.expand(ledger.apply("x", -4 * h * a, a, at_most(-2 * h * a, first=b)) - 2 * b) == 0
    assert ledger.verdict().status is Status.PROVED
    ledger.apply("x", -a, a, at_most(a, first=b))  # an upper bound cannot replace what enters negatively
    assert ledger.verdict().status is Status.BROKEN


@pytest.mark.parametrize(
    ("value", "bound"),
    [(b, at_most(a, first=b)), (a**2, at_most(a, first=b)), (a, Bound(a, (Term("first", b),), ">="))],
)
def test_apply_refuses_what_it_cannot_replace(value, bound) -> None:
    with pytest.raises(ValueError, match="expected"):
        Ledger([]).apply("x", value, a, bound)


def test_solve_needs_a_share_below_one() -> None:
    """From a <= 2 a + b nothing follows for a; dividing by 1 - 2 would give a <= -b."""
    ledger = Ledger([])
    ledger.solve("a", 2 * a + b, a, Rational(2))
    assert ledger.verdict().status is Status.BROKEN


def test_solve_moves_a_share_to_the_left() -> None:
    ledger = Ledger(SMALL)
    assert sympy.expand(ledger.solve("a", 2 * h**2 * a + b, a, Rational(1, 18)) - 18 * b / 17) == 0
    assert ledger.verdict().status is Status.PROVED
    ledger.solve("a", h * a + b, a, Rational(1, 18))
    assert ledger.verdict().status is Status.BROKEN


def test_exponentials_are_compared_where_the_conditions_hold() -> None:
    """exp(a) = exp(1) at a = 1 alone; with a condition that no tried point meets, nothing is refuted."""
    for conditions, status in (([], Status.BROKEN), ([sympy.Ge(a, 3)], Status.BROKEN), ([sympy.Eq(a, 1)], Status.OPEN)):
        ledger = Ledger(conditions)
        ledger.equal("powers", sympy.exp(a), sympy.E)
        found = ledger.verdict()
        assert found.status is status
        assert status is Status.OPEN or all(
            c.subs(a, sympy.Rational(found.witness["a"])) == sympy.true for c in conditions
        )


def test_identities_with_sums_and_with_exponentials() -> None:
    n = Symbol("n", integer=True, positive=True)
    i = Symbol("i", integer=True)
    ledger = Ledger([])
    ledger.equal("sum", sympy.Sum(i, (i, 1, n)), n * (n + 1) / 2)
    ledger.equal("powers", sympy.exp(a) * sympy.exp(b), sympy.exp(a + b))
    assert ledger.verdict().status is Status.PROVED
    ledger.equal("off by one", sympy.Sum(i, (i, 1, n)), n**2 / 2)
    assert ledger.verdict().status is Status.BROKEN
    other = Ledger([])
    other.equal("logs", sympy.log(1 + a), a)
    assert other.verdict().status is Status.BROKEN


def test_conditions_that_exclude_each_other_prove_nothing() -> None:
    ledger = Ledger([*SMALL, h >= 1])
    ledger.at_most("anything", a, a, [a])
    assert ledger.verdict().status is Status.VACUOUS


def test_an_undecided_step_leaves_the_proof_open() -> None:
    ledger = Ledger([])
    ledger.step("hard", lambda: Decision(Status.OPEN, "z3 gave up"))
    assert ledger.verdict().status is Status.OPEN


def test_claims_of_no_bound_are_refused() -> None:
    with pytest.raises(ValueError, match=r"sfl.eq33: a claim of kind Relations: expected Bound"):
        catalogue.find("sfl.eq33").claim_of(Bound)


def test_an_atom_of_either_sign_needs_the_same_coefficient() -> None:
    signed = Symbol("signed", real=True)
    for factor, status in ((1, Status.PROVED), (Rational(1, 2), Status.BROKEN), (2, Status.BROKEN)):
        ledger = Ledger([])
        ledger.at_most("cross", -signed, -factor * signed, [signed])
        assert ledger.verdict().status is status
