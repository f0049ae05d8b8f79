"""Exact instances that refute statements of the SFL paper, and what the same checks let stand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from fedtheory.bounds.sfl import decimals
from fedtheory.bounds.sfl.checks import evidence as checks
from fedtheory.bounds.sfl.counterexamples import one_curved_client, split_trajectory, uneven_steps
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Relations, Status


def test_lemma_14_without_assumption_3a() -> None:
    printed, corrected = catalogue.find("sfl.lemma14"), catalogue.find("sfl.lemma14.corrected")
    found = one_curved_client(printed)
    assert found.status is Status.REFUTED and found.witness["right"] == "1/240"
    assert float(Fraction(found.witness["left"])) == pytest.approx(0.00716, abs=1e-5)
    assert one_curved_client(corrected).status is Status.OPEN
    assert isinstance(printed.claim, Bound)
    assert one_curved_client(printed.with_claim(printed.claim.scaled(2))).status is Status.OPEN
    assert one_curved_client(printed.with_claim(printed.claim.scaled(Fraction(3, 2)))).status is Status.REFUTED
    turned = printed.with_claim(replace(printed.claim, quantity=printed.claim.quantity / 2))
    assert one_curved_client(turned).status is Status.OPEN


def test_the_drift_by_hand() -> None:
    """x_k = (1 - eta)^k at the curved client, 1 at the others: the mean of sum_k (1 - x_k)^2."""
    eta = Fraction(1, 60)
    drift = sum((1 - (1 - eta) ** k) ** 2 for k in range(10)) / 10
    assert one_curved_client(catalogue.find("sfl.lemma14")).witness["left"] == str(drift)


def test_split_learning_with_unequal_steps() -> None:
    found = uneven_steps(catalogue.find("sfl.claim.ssl_equiv"))
    assert found.status is Status.REFUTED and found.witness["SSL"] == "112416199/134217728, 6634657/67108864"
    assert uneven_steps(catalogue.find("sfl.claim.ssl_equiv.corrected")).status is Status.OPEN
    one_step = (1 - Fraction(1, 2) * Fraction(1, 4), Fraction(1, 2) - Fraction(1, 2) * Fraction(1, 2))
    assert split_trajectory((1,), Fraction(1, 2), 1, (Fraction(1), Fraction(1, 2)))[-1] == one_step


def test_split_learning_with_equal_steps_is_sequential_learning() -> None:
    (run,) = [e for e in checks() if e.statement == "sfl.claim.ssl_equiv.corrected"]
    assert run.check(catalogue.find(run.statement), False).status is Status.TESTED


@pytest.mark.parametrize("id_", [e.statement for e in decimals.evidence()])
def test_the_published_curves_are_those_of_other_functions(id_: str) -> None:
    as_run = catalogue.find(id_)
    found = decimals.with_decimals(as_run)
    assert found.status is Status.TESTED
    printed = catalogue.find(as_run.corrects)
    assert decimals.with_decimals(replace(as_run, claim=printed.claim)).status is Status.REFUTED  # nothing differs
    assert isinstance(as_run.claim, Relations)
    first, *rest = as_run.claim.relations
    doubled = replace(as_run.claim, relations=(first.func(first.lhs, 2 * first.rhs, evaluate=False), *rest))
    assert decimals.with_decimals(as_run.with_claim(doubled)).status is Status.REFUTED  # another global objective


def test_a_round_with_decimals_by_hand() -> None:
    """PFL, K = 1, from 10: x - eta (0.67 x + 0.5 + 0.33 x - 0.5), the same as with thirds; with K = 2 it is not."""
    ours, printed = (decimals.group(catalogue.find(f"sfl.quad.table2.g3{suffix}")) for suffix in (".as_run", ""))
    one, two = (decimals.first_rounds(problem, 1, 0.1, 10.0)["PFL"][1] for problem in (ours, printed))
    assert one == pytest.approx(9) and two == pytest.approx(9)
    ends = [10 * (1 - 0.1 * 2 * a) ** 2 - sign * 0.1 * (2 - 0.1 * 2 * a) for a, sign in ((0.67, 1), (0.33, -1))]
    assert decimals.first_rounds(ours, 2, 0.1, 10.0)["PFL"][1] == pytest.approx(sum(ends) / 2)
