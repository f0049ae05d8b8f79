"""Counter-examples of the SFL column: they refute the printed claims, and not what is true or weaker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from sympy import Rational, exp

from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.simulations.exact.moments import expectation
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory import catalogue
from fedtheory.theory.proofs.ledger import bound_of
from fedtheory.theory.sfl.checks import claims, counterexamples, ledgers, orders
from fedtheory.theory.sfl.symbols import A, D, K, L, M, R, d, eta, gamma, mu, r0
from fedtheory.theory.statement import Condition, Order, Statement, Status, Term, Verdict, Words

EVIDENCE = {e.statement.removeprefix("sfl."): e for e in counterexamples.evidence()}


def statement(name: str) -> Statement:
    return catalogue.find(f"sfl.{name}")


def against(name: str, changed: Statement | None = None) -> Verdict:
    return EVIDENCE[name].check(changed or statement(name), False)


@pytest.mark.parametrize("name", EVIDENCE)
def test_the_printed_claim_is_refuted_and_other_forms_are_not(name: str) -> None:
    """Lemmas 7 and 8 have conditions that exclude the instances; without them they are false."""
    found = against(name)
    lemma = name.startswith("lemma")
    assert found.status is (Status.OPEN if statement(name).ours or lemma else Status.REFUTED)
    if lemma and not statement(name).ours:
        found = against(name, replace(statement(name), when=(Condition(gamma <= 1 / d),)))
    assert (found.status is Status.REFUTED and bool(found.witness)) is not statement(name).ours


def test_lemma_8_fails_at_an_optimal_start_alone() -> None:
    printed = replace(statement("lemma8.eq45"), when=())
    found = against("lemma8.eq45", printed)
    assert found.witness["Psi_0"] == "1" and found.witness["printed"] == "0"
    assert against("lemma8.eq45", replace(printed, when=(Condition(r0 > 0),))).status is Status.OPEN
    claim = bound_of(printed)
    noise_at_largest = replace(claim, terms=(*claim.terms, Term("noise at gamma = 1/d", sympy.Integer(1))))
    assert against("lemma8.eq45", printed.with_claim(noise_at_largest)).status is Status.OPEN


def test_lemma_8_is_proved_for_the_others() -> None:
    (proof,) = [e for e in ledgers.evidence() if e.statement == "sfl.lemma8.eq45.corrected"]
    corrected = statement("lemma8.eq45.corrected")
    assert proof.check(corrected, False).status is Status.PROVED
    assert proof.check(corrected.with_claim(bound_of(corrected).scaled(Rational(9, 10))), False).status is Status.BROKEN
    assert proof.check(replace(corrected, when=()), False).status is Status.BROKEN


@pytest.mark.parametrize("name", ["eq55", "eq81"])
def test_both_errors_of_the_nonconvex_orders_have_a_witness(name: str) -> None:
    printed = statement(name)
    corrected = statement(f"{name}.corrected")
    assert isinstance(printed.claim, Order) and isinstance(corrected.claim, Order)
    assert set(against(name).witness) == {"1", "2"}
    own = {t.name: t for t in corrected.claim.terms}
    with_sampling = replace(printed.claim, terms=(*printed.claim.terms, own["sampling"]))
    without = replace(corrected.claim, terms=tuple(t for t in corrected.claim.terms if t.name != "sampling"))
    for claim, says in ((with_sampling, "identical clients"), (without, "one of two clients")):
        found = against(name, printed.with_claim(claim))
        assert found.status is Status.REFUTED and says in found.says and set(found.witness) == {"1"}


@pytest.mark.parametrize("rounds", [50, 800])
def test_the_lower_bound_under_sampling_is_one(rounds: int) -> None:
    """One of two clients a round: no step size gets the smallest mean squared gradient below sqrt(2/R)/5."""
    curvature = np.sqrt(2 / rounds)
    H = np.tile(np.diag([curvature, 1.0]), (2, 1, 1))
    problem = Quadratic(H, np.array([[0.0, 1.0], [0.0, -1.0]]), 0.0, "two clients apart in a steep direction")
    start = np.array([np.sqrt(2 / curvature), 0.0])
    steps = np.geomspace(1e-4, 1 / 6, 60)
    for algorithm in (SFL(K=1, S=1, eta=steps.tolist()), PFL(K=1, S=1, eta=steps.tolist())):
        found = expectation(problem, algorithm, rounds=rounds, x0=start, record=("grad_sq",)).grad_sq.values
        assert found.min() >= np.sqrt(2 / rounds) / 5


def test_the_exponent_of_the_sentence_on_malinovsky() -> None:
    """At eta = 1/(6LMK) and R = 70 L/mu Theorem 1's bound is 1537 times the formula."""
    printed = statement("claim.malinovsky")
    assert against("claim.malinovsky").witness["bound / formula at R = 70"] == pytest.approx(1537, abs=1)
    assert isinstance(printed.claim, Words)
    halved = printed.claim.formulas[-1].replace(exp, lambda power: exp(power / 2))
    weaker = printed.with_claim(replace(printed.claim, formulas=(*printed.claim.formulas[:-1], halved)))
    assert against("claim.malinovsky", weaker).status is Status.OPEN
    small = replace(printed, when=(Condition(eta <= 1 / (100 * L * M * K)),))
    assert against("claim.malinovsky", small).status is Status.OPEN  # the witness has a larger one


@pytest.mark.parametrize("name", ["eq10", "eq11", "table1.pfl_thm2", "table1.sfl_thm1", "claim.sgd_rr"])
def test_an_exponent_that_the_proof_gives_is_not_refuted(name: str) -> None:
    claim = statement(name).claim
    if isinstance(claim, Order):
        terms = tuple(Term(t.name, t.value.replace(exp, lambda power: exp(power / 12))) for t in claim.terms)
        weaker = statement(name).with_claim(replace(claim, terms=terms))
    else:
        assert isinstance(claim, Words)
        slower = tuple(f.replace(exp, lambda power: exp(power / 12)) for f in claim.formulas)
        weaker = statement(name).with_claim(replace(claim, formulas=slower))
    assert against(name, weaker).status is Status.OPEN
    short = replace(statement(name), when=(Condition(sympy.Gt(mu * R, 1000 * L)),))
    assert against(name, short).status is Status.OPEN


def test_orders_that_vanish_are_refuted_inside_the_conditions_only() -> None:
    printed = statement("cor1.nonconvex")
    assert printed.when and printed.when[0].relation == (A > 0)
    excluded = replace(printed, when=(Condition(sympy.Gt(A, 1)),))
    assert against("cor1.nonconvex", excluded).status is Status.OPEN


def test_every_strongly_convex_order_has_the_same_range() -> None:
    long_enough = 6 * L / mu <= R
    for name in ("cor1.strongly_convex", "cor2.strongly_convex", "eq43", "eq72", "eq10", "eq11", "table1.sfl_thm1"):
        assert long_enough in [c.relation for c in statement(name).when], name
    for name in ("eq43", "eq72"):
        found = {
            e.kind: e.check(statement(name), False).status
            for part in (orders, counterexamples, claims)
            for e in part.evidence()
            if e.statement == f"sfl.{name}"
        }
        assert found["repair"] is Status.PROVED and Status.REFUTED not in found.values()
    assert (D > 0) in [c.relation for c in statement("eq47").when]
