"""Proofs as theorems in Coq: what their hypotheses say, and how identities are proved."""

from __future__ import annotations

import pytest

from fedtheory.composed import composed
from fedtheory.theory.proofs.composition import CoqTheorem, Hypothesis, _divisors, _equations


def theorem(id_: str, kind: str = "ledger", number: int = 0) -> CoqTheorem:
    proof = composed(id_, kind)
    assert proof is not None
    return proof.theorems[number]


def hypotheses(one: CoqTheorem, kind: str) -> dict[str, Hypothesis]:
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


def test_a_claim_about_sequences_is_a_lemma_for_the_recursion_in_every_round() -> None:
    one = theorem("sfl.thm1.strongly_convex.sharp", "repair")
    assert hypotheses(one, "claim").keys() == {"sfl.step.sc_recursion.sharp"}
    recursion = hypotheses(one, "claim")["sfl.step.sc_recursion.sharp"]
    assert recursion.says[-1].startswith("dist2_next <= ") and recursion.each == (True,)
    assert one.sequences == {"dist2": ("dist2", 0), "dist2_next": ("dist2", 1), "D_F": ("D_F", 0)}
    assert "forall r' : nat, (dist2 (S r')) <= (dist2 r') * " in one.text and "Variable dist2 : nat -> R." in one.text
    assert "sequences.lemma7_decayed" in one.text and "sfl.lemma7.eq38.sharp" in one.proved
    assert hypotheses(one, "run").keys() == {"dist2 in the first round", "the definition of Psi_T"}
    jensen = hypotheses(one, "rule")["Jensen for the weighted average of the iterates"]
    assert jensen.text.startswith("gap <= (sequences.weighted_mean (1 - ") and jensen.says == ("gap <= D_F",)


def test_a_round_in_a_proof_about_a_run_is_proved_for_every_round() -> None:
    one = theorem("fedcom.thmD4.corrected")
    assert one.sequences["a_next"] == ("gap_r", 1) and "f_gap" not in one.sequences
    assert hypotheses(one, "run")["gap_r in the first round"].text == "(gap_r O) = f_gap"
    assert "avg_grad_sq = (sequences.mean whole_R_ (fun r' : nat => (grad_sq r')))" in one.text
    assert all(each.each for each in hypotheses(one, "algorithm").values()) and not hypotheses(one, "inference")


def test_what_no_lemma_infers_of_all_rounds_is_no_theorem() -> None:
    for id_, says in (("fedbat.eq30", "induction over the steps"), ("fedbat.thm1.corrected", "fedbat.eq30")):
        proof = composed(id_, "ledger")
        assert proof is not None and not proof.theorems and proof.without.endswith(says)
