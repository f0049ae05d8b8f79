"""Changed claims; that every piece of evidence refutes one is tested with the paper check."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fedtheory.theory import catalogue
from fedtheory.theory.proofs.mutation import claims_no_more, mutations, seen_to_fail
from fedtheory.theory.statement import Bound, Relations, Statement, Status

EVIDENCE = [(e, catalogue.find(e.statement)) for e in catalogue.evidence("sfl")]


def test_a_check_that_cannot_fail_is_found_out() -> None:
    evidence, statement = EVIDENCE[0]
    always = type(evidence)(evidence.statement, "derivation", lambda s, full: type(verdict)(Status.PROVED, "of course"))
    verdict = evidence.check(statement, False)
    assert seen_to_fail(always, statement, always.check(statement, False)) is None


def test_mutations_change_the_statement(some: Callable[[Sequence[Statement], int], Sequence[Statement]]) -> None:
    for statement in some(catalogue.statements(), 20):
        for change in mutations(statement):
            assert change.what and change.statement.id == statement.id
            assert change.statement != statement, change.what


def test_evidence_that_refutes_the_claim_as_it_stands_has_been_seen_to_fail() -> None:
    for evidence, statement in EVIDENCE:
        if (statement.id, evidence.kind) in {("sfl.lemma4.sum", "enumeration"), ("sfl.lemma4", "ledger")}:
            what = seen_to_fail(evidence, statement, evidence.check(statement, False))
            assert what == ("as printed" if statement.id == "sfl.lemma4.sum" else "every term times 0.98")


def test_the_gentlest_sharpening_of_a_bound_comes_first() -> None:
    statement = catalogue.find("sfl.lemma5")
    first = next(iter(mutations(statement))).statement
    assert isinstance(statement.claim, Bound) and isinstance(first.claim, Bound)
    assert first.claim.terms[0].value == statement.claim.terms[0].value * 99 / 100


def test_every_part_of_a_bound_is_changed() -> None:
    parts = {change.part for change in mutations(catalogue.find("sfl.thm1.strongly_convex"))}
    assert parts == {
        "constant", "term", "sign", "exponent", "symbols", "left side", "direction", "relation", "definition",
        "condition", "assumption", "dimension", "letter",
    }  # fmt: skip
    assert "order" in {change.part for change in mutations(catalogue.find("sfl.eq43"))}


def test_changes_inside_a_formula() -> None:
    def inside(id_: str) -> dict[str, Statement]:
        return {c.what: c.statement for c in mutations(catalogue.find(id_)) if c.part in ("inside", "limits", "letter")}

    found = inside("sfl.eq14")
    changed = found["right side of 1: twice what is in h(x[i])"].claim
    assert isinstance(changed, Relations)
    assert str(changed.relations[0].rhs) == "Sum(Value(h, 2*x[i]), (i, 1, n))/n"
    lemma10 = inside("fedbcgd.lemma10")
    assert {
        "left side of 1: z_r for z_next",
        "definition of gamma: gamma for lam",
        "definition of z_r: x_r for x_prev",
    } <= {*lemma10}
    # a vector for a vector, a number for a number
    assert not any(" for " in what and "eta" in what for what in inside("fedbcgd.lemma3"))


def test_changes_that_claim_no_more() -> None:
    statement = catalogue.find("sfl.lemma5")
    changes = {change.what: change.statement for change in mutations(statement)}
    assert claims_no_more(statement, changes["noise times 2"])
    assert not claims_no_more(statement, changes["noise times 1/2"])
    assert not claims_no_more(statement, changes[">= for <="])
    assert not claims_no_more(statement, changes["1000 times the left side"])
    assert not claims_no_more(statement, changes["without any assumption"])
    lemma = catalogue.find("fedbcgd.lemma3")
    inside = {change.what: change.statement for change in mutations(lemma) if change.part == "inside"}
    assert claims_no_more(lemma, inside["right side of 2: twice what is in norm(v_t)"])
    assert not claims_no_more(lemma, inside["left side of 2: twice what is in sum(v_t, t = 1..tau)"])
    theorem = catalogue.find("sfl.thm1.strongly_convex")
    assert not any(claims_no_more(theorem, c.statement) for c in mutations(theorem) if c.part == "definition")


def test_lines_that_change_nothing_are_not_changed() -> None:
    """Algorithm 5 of FedCOM sets delta and nu in lines 1, 2 and 11, 12; line 22 of Algorithm 3 of FedBCGD is a remark."""
    whats = {
        id_: {c.what for c in mutations(catalogue.find(id_))} for id_ in ("fedcom.alg5.own", "fedbcgd.alg3.corrected")
    }
    compression, blocks = whats.values()
    assert not {"lines 1 and 2 exchanged", "lines 11 and 12 exchanged"} & compression
    assert {"lines 7 and 8 exchanged", "lines 12 and 13 exchanged", "without line 11"} <= compression
    assert not {"without line 22", "lines 22 and 23 exchanged", "lines 25 and 26 exchanged"} & blocks
    assert {"without line 23", "lines 23 and 24 exchanged", "lines 24 and 25 exchanged"} <= blocks
