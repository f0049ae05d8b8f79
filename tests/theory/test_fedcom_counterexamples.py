"""Counter-examples of the FedCOM column: they refute the printed claims, and not what is true or weaker."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from sympy import Rational, exp

from fedtheory.simulations.algorithms.fedcom import FedCOMGATE
from fedtheory.simulations.compressors import Sparsifier
from fedtheory.simulations.exact import expectation
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory import catalogue
from fedtheory.theory.fedcom.checks import counterexamples
from fedtheory.theory.fedcom.checks.claims import no_step_size
from fedtheory.theory.fedcom.checks.counterexamples import Q, Run, order_fails, rounds_compared, run_of, tracking_grows
from fedtheory.theory.fedcom.symbols import R, epsilon, gamma, m, q, tau
from fedtheory.theory.statement import Condition, Order, Rates, Relations, Statement, Status, Words

EVIDENCE = {e.statement.removeprefix("fedcom."): e for e in counterexamples.evidence()}


def statement(name: str) -> Statement:
    return catalogue.find(f"fedcom.{name}")


@pytest.mark.parametrize("case", ["nonconvex", "PL", "strongly convex", "convex"])
def test_every_row_of_table_6_fails_undamped_and_none_damped(case: str) -> None:
    for name, status in (("tab6.fedcomgate", Status.REFUTED), ("tab6.fedcomgate.corrected", Status.OPEN)):
        claim = statement(name).claim
        assert isinstance(claim, Rates)
        one = statement(name).with_claim(Rates((claim.by_case[case],)))
        assert tracking_grows(one).status is status


def test_more_rounds_do_not_help_the_undamped_tracking() -> None:
    claim = statement("corE10").claim
    assert isinstance(claim, Rates)
    longer = tuple(replace(rate, rounds=10 * rate.rounds) for rate in claim.rates)
    assert tracking_grows(statement("corE10").with_claim(Rates(longer))).status is Status.REFUTED


def test_a_gamma_beyond_every_power_of_R_is_not_refuted() -> None:
    """With gamma of the order of exp(R log q) local steps vanish, and the tracking moves the model no more."""
    large = (Condition(gamma >= exp(20 * m / epsilon * Rational(16) * (q + 1))),)
    assert tracking_grows(replace(statement("corE10"), when=large)).status is Status.OPEN


def test_the_recursion_is_that_of_the_algorithm() -> None:
    """Against `simulations`, with the same coins for both clients, d = 1."""
    step, steps, rounds, glob = 0.05, 3, 12, 1.5
    H, b = np.array([[[1.0]], [[0.5]]]), np.array([[1.0], [-1.0]])
    problem = Quadratic(H, b, 0.0, "two quadratics")
    algorithm = FedCOMGATE(steps, step, glob, Sparsifier(Fraction(1, 1 + Q), True))
    measured = expectation(problem, algorithm, rounds=rounds, x0=1.0, record=("dist2",), at=[rounds]).dist2.values[
        0, -1
    ]
    run = Run((mpmath.mpf(1), mpmath.mpf("0.5")), glob * step * steps, step, steps, rounds, 1)
    assert float(run.second_moments()[0]) == pytest.approx(float(measured), rel=1e-9)


def test_corollary_E5_at_its_own_step_and_not_a_weaker_order() -> None:
    printed = statement("corE5")
    found = order_fails(printed)
    assert found.status is Status.REFUTED
    assert isinstance(printed.claim, Order)
    enormous = tuple(replace(t, value=t.value * (1 + q) ** R) for t in printed.claim.terms)
    assert order_fails(printed.with_claim(replace(printed.claim, terms=enormous))).status is Status.OPEN
    other = replace(printed.claim, quantity=tau)
    assert order_fails(printed.with_claim(other)).status is Status.OPEN
    assert order_fails(statement("corE5.corrected")).status is Status.OPEN
    assert order_fails(replace(printed, when=(*printed.when, Condition(gamma >= R)))).status is Status.OPEN


def test_the_convex_column_of_table_6() -> None:
    found = rounds_compared(statement("claim.tab6"))
    assert (found.witness["left"], found.witness["right"]) == ("1001/epsilon", "120/epsilon")
    claim: Any = statement("claim.tab6").claim
    assert isinstance(claim, Words)
    nonconvex = statement("claim.tab6").with_claim(Words("", claim.formulas[:1]))
    assert rounds_compared(nonconvex).status is Status.PROVED


def test_the_second_range_of_condition_78() -> None:
    printed = statement("thmE6.eq83")
    assert isinstance(printed.claim, Relations)
    found = EVIDENCE["thmE6.eq83"].check(printed, False)
    assert found.status is Status.REFUTED and set(found.witness) >= {"eta", "gamma", "q", "tau"}


def test_the_run_reads_gamma_from_the_conditions() -> None:
    printed = statement("corE10")
    assert isinstance(printed.claim, Rates)
    (rate,) = printed.claim.rates
    run, _ = run_of(printed, rate, 10)
    assert run.alpha == 1 and float(run.g) == pytest.approx(1 / (2 * (1 + Q)))
    damped, _ = run_of(statement("corE10.corrected"), rate, 10)
    assert float(damped.alpha) == pytest.approx(1 / (1 + Q))


@pytest.mark.parametrize("name", ["corD5.corrected", "tab5.fedcom.corrected"])
def test_rates_with_one_coin_for_all_clients_are_refuted(name: str) -> None:
    """Then a round has q in place of q/m, so (q/m+1)/epsilon rounds are too few."""
    assert no_step_size(statement(name)).status is Status.TESTED
    assumes = tuple(a.replace("asm2.independent", "asm2") for a in statement(name).assumes)
    found = no_step_size(replace(statement(name), assumes=assumes))
    assert found.status is Status.REFUTED and "one coin" in found.witness["family"]
