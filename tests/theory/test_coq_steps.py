"""Steps as lemmas in Coq: their statements, and what its kernel accepts and refuses."""

import re

import pytest

from fedtheory.theory.proofs.coq import lemma, names, proof, statement
from fedtheory.theory.proofs.kernel import answer
from fedtheory.theory.proofs.search import certificate
from fedtheory.theory.proofs.sequents import Sequent
from tests.theory.coq_files import needs_coq
from tests.theory.steps import STEPS, sequent


def stated(variables: dict, given: list, claim: str) -> list[str]:
    return [line.strip() for line in statement(Sequent(tuple(variables.items()), tuple(given), claim)).splitlines()]


def test_domains_and_what_is_given_are_stated_as_printed():
    lines = stated({"L": "positive", "S": "count", "a": "nonnegative", "x": "real"}, ["a / (2 * L) <= S"], "x**2 >= -a")
    assert lines == ["forall L S_ a x : R,", "0 < L ->", "1 <= S_ ->", "0 <= a ->", "a / (2 * L) <= S_ ->",
        "x ^ 2 >= - a"]  # fmt: skip


def test_guards_that_cannot_be_seen_are_stated():
    lines = stated({"M": "count", "a": "nonnegative", "r": "real"}, ["1 / (M - 1) <= root(r, 1, 2)"], "1 / a >= 0")
    assert lines[3:] == [
        "M - 1 <> 0 ->",
        "0 <= r ->",
        "1 / (M - 1) <= sqrt r ->",
        "a <> 0 /\\ 1 / a >= 0",
    ]


def test_a_guard_that_is_given_is_no_part_of_the_claim():
    assert stated({"a": "real"}, ["1 / a <= 2"], "2 / a <= 4")[1:] == ["a <> 0 ->", "1 / a <= 2 ->", "2 / a <= 4"]


def test_roots_minima_and_maxima():
    lines = stated(
        {"x": "positive"}, ["max(x, 1, 2 * x) <= 3"], "min(x, abs(x - 1)) <= root(x, 3, 2) / root(x + 1, 1, 2)"
    )
    assert lines[2:] == ["Rmax (Rmax x 1) (2 * x) <= 3 ->", "Rmin x (Rabs (x - 1)) <= (sqrt x) ^ 3 / sqrt (x + 1)"]


def test_what_has_no_variables():
    assert stated({}, [], "4 >= 3") == ["4 >= 3"]
    assert stated({}, [], "True") == ["True"]


def test_signs_and_parentheses_are_kept():
    lines = stated({"x": "real", "y": "real"}, [], "-x / 3 - (y - (x + 1)) * (-y)**2 == x - y * (x * y)")
    assert lines[1:] == ["(- x) / 3 - (y - (x + 1)) * (- y) ^ 2 = x - y * (x * y)"]


@pytest.mark.parametrize("claim", ["root(x, 1, 3) <= x", "exp(x) >= 0", "log(x) <= x", "pow(x, y) >= 0"])
def test_what_coq_is_not_told(claim):
    with pytest.raises(ValueError, match="expected"):
        statement(Sequent((("x", "positive"), ("y", "positive")), (), claim))


def test_names_differ_from_coqs_and_from_each_other():
    assert names(["S", "S_", "x", "exp", "given_0"]) == {
        "S": "S__",
        "S_": "S_",
        "x": "x",
        "exp": "exp_",
        "given_0": "given_0_",
    }


def test_proofs_end_and_admit_nothing():
    for step in STEPS[::5]:
        one = sequent(step)
        text = proof(one, certificate(one))
        assert text.startswith("Proof.\n") and text.endswith("\nQed.")
        assert not re.search(r"admit|Admitted|Axiom|Abort", text)


@needs_coq
@pytest.mark.slow
def test_coq_accepts_steps_and_refuses_them_with_another_number(tmp_path):
    accepted, same_proof, arithmetic = {}, {}, {}
    for number, step in enumerate(STEPS):
        one, changed, name = sequent(step), sequent(step, "changed"), f"step_{number}"
        kept = certificate(one)
        accepted[name] = lemma(name, one, kept)
        same_proof[name] = f"Lemma {name} : {statement(changed)}.\n{proof(one, kept)}\n"
        arithmetic[name] = f"Lemma {name} : {statement(changed)}.\nProof. intros. timeout 2 first [lra | nra]. Qed.\n"
    assert len(STEPS) >= 50
    assert answer(accepted, tmp_path).refused == {}
    assert answer(same_proof, tmp_path).refused.keys() == same_proof.keys()
    assert answer(arithmetic, tmp_path).refused.keys() == arithmetic.keys()


@needs_coq
@pytest.mark.slow
def test_a_variable_may_have_two_equations(tmp_path):
    given = ("a == 1 / (1 - b)", "c == -1 + a", "c == b / (1 - b)")
    step = Sequent((("a", "positive"), ("b", "nonnegative"), ("c", "nonnegative")), given, "c == b / (1 - b)")
    assert answer({"both": lemma("both", step, certificate(step))}, tmp_path).refused == {}


@needs_coq
@pytest.mark.slow
def test_a_lemma_that_is_refused_hides_no_other(tmp_path):
    lemmas = {
        "first": "Lemma first : 1 <= 2.\nProof. lra. Qed.\n",
        "second": "Lemma second : 2 <= 1.\nProof. lra. Qed.\n",
        "third": "Lemma third : 3 <= 1.\nProof. lra. Qed.\n",
        "fourth": "Lemma fourth : 3 <= 4.\nProof. lra. Qed.\n",
    }
    assert answer(lemmas, tmp_path).refused.keys() == {"second", "third"}
