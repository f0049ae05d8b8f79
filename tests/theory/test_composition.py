"""Proofs as theorems in Coq: what their hypotheses say, and how identities are proved."""

from __future__ import annotations

import pytest

from fedtheory.composed import composed
from fedtheory.theory.proofs.composition import Hypothesis, Theorem, _divisors, _equations


def theorem(id_: str, kind: str = "ledger", number: int = 0) -> Theorem:
    proof = composed(id_, kind)
    assert proof is not None
    return proof.theorems[number]


def hypotheses(one: Theorem, kind: str) -> dict[str, Hypothesis]:
    return {each.stands_for: each for each in one.hypotheses if each.kind == kind}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a / b", {"b"}),
        ("a / (b * c ^ 2) + 1 / (3 * b)", {"b", "c"}),
        ("a / (b * (t + M) ^ 2)", {"b", "t + M"}),
        ("a / (2 * q * L + 2 * L * m)", {"2 * q * L + 2 * L * m"}),
        ("(a / (- 1 + N_)) * (x - y / K)", {"- 1 + N_", "K"}),
        ("a / 2 + (b + c) / 3", set()),
        ("a / (b + c / d)", {"b + c / d", "d"}),
        ("a / sqrt S_", {"sqrt"}),
        ("a * b", set()),
    ],
)
def test_divisors(text: str, found: set[str]) -> None:
    assert _divisors(text) == found


def test_equations_of_inverses() -> None:
    assert _equations({"b"}) == {"b": "b * / (b) = 1"}
    assert _equations({"t + M", "u + M"}) == {
        "t + M": "t * / (t + M) = 1 - (M) * / (t + M)",
        "u + M": "u * / (u + M) = 1 - (M) * / (u + M)",
    }
    # no product is in one divisor only: `field` would take the equations from left to right in different orders
    assert _equations({"M + N", "N + M"}) == {"M + N": "", "N + M": ""}
    assert _equations({"- 1 + N", "N"}) == {"- 1 + N": "", "N": "N * / (N) = 1"}


def test_a_claim_that_supposes_a_recursion_is_a_hypothesis_about_sequences_with_this_recursion() -> None:
    one = theorem("sfl.thm1.strongly_convex.sharp", "repair")
    recursion, bound = hypotheses(one, "claim")["sfl.lemma7.eq38.sharp"].says
    assert recursion.startswith("dist2_next <= ") and bound.startswith("Psi_T <= ")
    assert hypotheses(one, "claim")["sfl.step.sc_recursion.sharp"].says[-1].startswith("dist2_next <= ")


def test_a_claim_that_holds_under_a_bound_is_a_hypothesis_with_this_bound() -> None:
    one = theorem("fedbat.eq30")
    below, gap = hypotheses(one, "claim")["fedbat.eq28"].says
    assert below.startswith("Delta_t <= ") and gap.startswith("gap_t <= ")
    step, state = hypotheses(one, "inference")["induction over the steps"].says
    assert step.startswith("Delta_next <= ") and state == below


def test_both_cases_of_a_step_are_theorems() -> None:
    at_synchronisation, between = (theorem("fedbat.eq24", number=number) for number in (0, 1))
    assert at_synchronisation.claim == between.claim
    assert hypotheses(at_synchronisation, "algorithm").keys() == {"fedbat.c1.update"}
    assert hypotheses(between, "algorithm").keys() == {"fedbat.c1.sync"}


def test_an_inference_about_exponentials_rests_on_the_rule() -> None:
    one = theorem("fedcom.corD8")
    assert "1 - u <= exp(-u)" in hypotheses(one, "rule")
    *given, _ = hypotheses(one, "inference")["(1 - u)^R <= exp(-u R)"].says
    assert any(text.startswith("1 - ") and " <= exp(" in text for text in given)


def test_values_of_vectors_name_the_algorithm_or_the_lemma() -> None:
    assert "fedbcgd.alg1.corrected" in hypotheses(theorem("fedbcgd.thm1.step50.corrected.sharp", "repair"), "algorithm")
    assert "fedbcgd.lemma10" in hypotheses(theorem("fedbcgd.thm1.step55"), "claim")
    assert "sfl.alg1" in hypotheses(theorem("sfl.step.sc_recursion.sharp", "repair"), "algorithm")
