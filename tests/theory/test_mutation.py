"""Changed claims; that every piece of evidence refutes one is tested with the paper check."""

from __future__ import annotations

from theory import catalogue
from theory.proofs.mutation import mutations, seen_to_fail
from theory.statement import Bound, Status

EVIDENCE = [(e, catalogue.find(e.statement)) for e in catalogue.evidence("sfl")]


def test_a_check_that_cannot_fail_is_found_out() -> None:
    evidence, statement = EVIDENCE[0]
    always = type(evidence)(evidence.statement, "derivation", lambda s, full: type(verdict)(Status.PROVED, "of course"))
    verdict = evidence.check(statement, False)
    assert seen_to_fail(always, statement, always.check(statement, False)) is None


def test_mutations_change_the_claim_or_a_condition() -> None:
    for statement in catalogue.statements():
        for what, changed in mutations(statement):
            assert what and changed.id == statement.id
            assert (changed.claim, changed.also, changed.when) != (statement.claim, statement.also, statement.when), (
                what
            )


def test_evidence_that_refutes_the_claim_as_it_stands_has_been_seen_to_fail() -> None:
    for evidence, statement in EVIDENCE:
        if (statement.id, evidence.kind) in {("sfl.lemma4.sum", "enumeration"), ("sfl.lemma4", "ledger")}:
            what = seen_to_fail(evidence, statement, evidence.check(statement, False))
            assert what == ("as printed" if statement.id == "sfl.lemma4.sum" else "every term times 0.98")


def test_the_gentlest_sharpening_of_a_bound_comes_first() -> None:
    statement = catalogue.find("sfl.lemma5")
    _, first = next(iter(mutations(statement)))
    assert isinstance(statement.claim, Bound) and isinstance(first.claim, Bound)
    assert first.claim.terms[0].value == statement.claim.terms[0].value * 99 / 100
