"""Proofs as theorems in Coq: what they rest on is what their proofs record, it can hold, and the record is of today."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest

from fedtheory import coq
from fedtheory.composed import COMPARED, Composed, composed, composed_of
from fedtheory.theory.proofs import certificates, kernel, premises
from fedtheory.theory.proofs.composition import CoqTheorem, Hypothesis, Kind
from fedtheory.theory.proofs.sequents import holds
from fedtheory.verification import verdict
from tests.theory.coq_files import needs_coq

PAPERS = ("fedbat", "fedbcgd", "fedcom", "sfl")

# What proofs record and theorems do not have as hypotheses, and why
ONLY_RECORDED = {
    # by what a quantity means: the text of these definitions is written as a form, which is a hypothesis `meaning`
    ("claim", "sfl.eq33"),
    ("claim", "sfl.eq68"),
    ("claim", "sfl.lemma4.lhs"),
    # because a rule, or a claim, may be applied only then
    ("algorithm", "sfl.alg1"),
    ("algorithm", "fedbcgd.alg3.corrected"),
    ("inference", "the conditions on the learning rate hold at every step"),
    ("rule", "Polyak-Lojasiewicz with the penalty"),
    ("rule", "smooth with the penalty"),
    # the lemma about the weights' sum, in sequences.v, proves it itself
    ("rule", "1 - u <= exp(-u)"),
    # sets constants of heterogeneity to 0 where there is one client
    ("rule", "one client is like two copies of it, of which each round samples one"),
}
# What these infer of all rounds has no lemma in sequences.v: they are no theorems
WITHOUT_A_LEMMA = {
    *("fedbat.eq30", "fedbat.eq59", "fedbat.thm1", "fedbat.thm1.corrected", "fedbat.thm1.from_start"),
    *("fedbat.thm1.from_start.sharp", "fedbat.thm2", "fedbat.thm2.corrected", "fedbat.thm2.from_start"),
    *("fedbat.thm2.from_start.sharp", "fedbat.thm3.corrected.sharp", "fedbcgd.thm1.step59.momentum"),
    *("fedbcgd.thm1.step64.momentum", "fedcom.thmE6.eq88"),
}
# How many theorems have an instance on record, in how many some variables are zero, how many in all.  Most must be: a jump
# between two synchronisations, what moved before the first step.  Of some constants (a momentum gamma or lam that an
# equation ties to others, beta) the search has no other.
ZEROS = {"fedbat": (128, 16, 28), "fedbcgd": (42, 18, 43), "fedcom": (37, 3, 3), "sfl": (109, 33, 110)}
# A definition is an irrational number, exp(-1/2) or a logarithm
WITHOUT_INSTANCE = {"sfl_lemma7_WT_2", "sfl_lemma7_WT_3", "sfl_lemma7_WT_4", "sfl_lemma7_tuning"}
# Its condition needs 16 rounds at least, and the search finds no run of so many in which nothing changes
WITHOUT_INSTANCE |= {"fedbcgd_thm2_strongly_convex_corrected_repair"}
SOME = (("fedcom.lemmaD3.corrected", "ledger"), ("fedbat.eq31", "ledger"), ("sfl.thm1.strongly_convex.sharp", "repair"))


@pytest.fixture(scope="module", params=PAPERS)
def paper(request) -> tuple[str, list[Composed]]:
    return request.param, composed_of([request.param])[request.param]


def test_no_theorem_supposes_what_a_recursion_says_of_all_rounds() -> None:
    theorems = [one for name in PAPERS for one in coq.record_of(name).theorems.values()]
    assert len(theorems) > 300 and not {one.statement for one in theorems} & WITHOUT_A_LEMMA
    assert not {kind for one in theorems for kind, _ in one.premises} - set(get_args(Kind))


@pytest.mark.parametrize("name", PAPERS)
def test_instances_on_record_have_few_zeros(name: str) -> None:
    """Of what may be zero: a theorem that can have positive quantities has them on record."""
    instances = [one.instance for one in coq.record_of(name).theorems.values() if one.instance]
    zeros = [found for one in instances if (found := sum(value == "0" for value in one.values()))]
    assert (len(instances), len(zeros), sum(zeros)) == ZEROS[name]


def pairs(hypotheses) -> set[tuple[str, str]]:
    return {(one.kind, one.stands_for) for one in hypotheses if one.kind in COMPARED}


@pytest.mark.slow
def test_coq_has_accepted_every_theorem_of_today(paper) -> None:
    name, found = paper
    own = {one.name: (proof.statement, proof.kind, one.digest) for proof in found for one in proof.theorems}
    there = {n: (one.statement, one.kind, one.digest) for n, one in coq.record_of(name).theorems.items()}
    assert own == there


@pytest.mark.slow
def test_theorems_rest_on_what_their_proofs_record(paper) -> None:
    name, found = paper
    record = coq.record_of(name).theorems
    for proof in found:
        printed = {p for one in proof.theorems for p in record[one.name].premises if p[0] in COMPARED}
        recorded = {(p.kind, p.name) for p in proof.premises if p.kind in COMPARED}
        assert printed <= recorded, proof.statement
        shown = {n for one in proof.theorems for n in one.proved}
        assert shown <= {name for _, name in recorded}, proof.statement
        if not proof.without:
            left = {(kind, name) for kind, name in recorded - printed if name not in shown}
            assert left <= ONLY_RECORDED, proof.statement


@pytest.mark.slow
def test_what_theorems_assume_can_hold(paper) -> None:
    name, found = paper
    record = coq.record_of(name).theorems
    for theorem in (one for proof in found for one in proof.theorems):
        instance = record[theorem.name].instance
        if theorem.name in WITHOUT_INSTANCE:
            assert instance is None
            continue
        assert instance is not None, theorem.name
        numbers = {variable: Fraction(value) for variable, value in instance.items()}
        assert numbers.keys() == dict(theorem.variables).keys()
        for variable, domain in theorem.variables:
            least = {"count": 1, "nonnegative": 0, "positive": 0, "real": numbers[variable]}[domain]
            assert numbers[variable] >= least and (domain != "positive" or numbers[variable] > 0), theorem.name
            assert domain != "count" or numbers[variable].denominator == 1, theorem.name
        for one in theorem.hypotheses:
            *given, said = (holds(text, numbers) for text in one.says)
            assert said is True or False in given, (theorem.name, one)


@pytest.mark.slow
def test_statements_that_are_no_theorems_say_why(paper) -> None:
    _, found = paper
    for proof in found:
        assert proof.theorems or proof.without, proof.statement
        assert not proof.without or re.search("orders, rates|in words|Sum|no lemma", proof.without), proof.without


@pytest.mark.parametrize(("id_", "kind"), SOME)
def test_a_verdict_names_the_theorems_that_its_proof_is(id_, kind) -> None:
    proof = composed(id_, kind)
    found = verdict(id_, kind, False)
    assert proof is not None and found.theorems == tuple(one.digest for one in proof.theorems) != ()


def test_other_evidence_is_no_theorem() -> None:
    assert composed("sfl.thm1.strongly_convex", "units") is None
    assert verdict("sfl.lemma9", "units", False).theorems == ()


def changed(theorem: CoqTheorem, **parts) -> str:
    return replace(theorem, **parts).digest


def test_the_digest_depends_on_variables_hypotheses_and_claim_but_not_on_divisors() -> None:
    (theorem,) = composed("fedcom.lemmaD3.corrected", "ledger").theorems
    first, *others = theorem.hypotheses
    assert changed(theorem, claim=theorem.claim + " + 1") != theorem.digest
    assert changed(theorem, hypotheses=tuple(others)) != theorem.digest
    assert changed(theorem, hypotheses=(replace(first, says=(first.says[0] + " + 1",)), *others)) != theorem.digest
    assert changed(theorem, variables=theorem.variables[1:]) != theorem.digest
    divisor = Hypothesis("defined_1", "defined", "x != 0", ("x != 0",))
    assert changed(theorem, hypotheses=(divisor, *theorem.hypotheses)) == theorem.digest
    assert changed(theorem, name="another", text="") == theorem.digest


def test_the_documentation_names_the_proofs_whose_steps_have_no_certificate() -> None:
    text = (Path(__file__).parents[2] / "docs" / "pages" / "trust.md").read_text()
    assert all(f"`{id_}`" in text for id_ in coq.WITHOUT)


# In Coq


def smaller(text: str) -> str:
    """The claim and the identity behind it with another right side: it no longer adds up."""
    quantity, sign, value = re.search(r"_claim : (\w+) (<=|=) (.*)\.\nProof", text).groups()
    less = f"(2 / 3) * ({value}) - 1"
    above, last = text.rsplit("Lemma ", 1)
    edited = last.replace(f"{sign} {value}.", f"{sign} {less}.").replace(
        f"({value}) - {quantity} =", f"({less}) - {quantity} ="
    )
    assert edited.count(less) == 3
    return f"{above}Lemma {edited}"


@pytest.mark.dear
@pytest.mark.slow  # .ci/run runs it where coqc is installed
@needs_coq
@pytest.mark.parametrize(("id_", "kind"), SOME)
def test_coq_prints_the_premises_of_a_theorem_and_refuses_it_changed(id_, kind, tmp_path) -> None:
    """With another number, and without a premise; all of them in one file."""
    proof = composed(id_, kind)
    (theorem,) = proof.theorems
    first = next(one.name for one in theorem.hypotheses if one.kind in ("claim", "rule", "algorithm", "inference"))
    without = re.sub(rf"^Hypothesis {first} : .*\.$", "", theorem.text, flags=re.M)
    texts = {"": theorem.text, "_smaller": smaller(theorem.text), "_without": without}
    assert len(set(texts.values())) == 3
    known = certificates.read(coq._file(id_.split(".")[0], "steps.json"))
    lemmas = coq.lemmas(coq.with_those_of_theorems({}, [proof]), known)
    told = {theorem.name + end: text.replace(theorem.name, theorem.name + end) for end, text in texts.items()}
    found = kernel.answer(lemmas, tmp_path, told)
    assert found.refused.keys() == told.keys() - {theorem.name}
    says = found.refused[f"{theorem.name}_smaller"]
    assert re.search("ring|field|No applicable tactic", says), says
    assumed = premises.printed(found.printed)[theorem.name]
    assert premises.unlisted(theorem, assumed) == set()
    on_record = set(coq.record_of(id_.split(".")[0]).theorems[theorem.name].premises)
    assert premises.premises(theorem, assumed) == on_record
    assert {p for p in on_record if p[0] in COMPARED} <= pairs(theorem.hypotheses)
