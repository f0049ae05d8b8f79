"""The proofs of the SFL paper: what they prove, and where the printed ones break."""

from __future__ import annotations

from dataclasses import replace

from fedtheory.theory import catalogue
from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.sfl.checks import evidence, ledgers
from fedtheory.theory.statement import Bound, Evidence, Status, Verdict

PROOFS = [
    e for e in evidence() if e.check.__module__ == "fedtheory.theory.proofs.argument" or e.statement == "sfl.lemma2"
]
BROKEN_AT = {
    "lemma4.sum": "the claim",
    "lemma4.closed_form": "the claim",
    "eq41": "the claim: coefficient of D_F",
    "step.gc_recursion": "the claim: coefficient of D_F",
    "step.eq50": "'Asm. 1'",
    "lemma13": "'Asm. 1'",
    "step.eq54_recursion": "sfl.lemma9: its assumptions",
    "step.eq80_recursion": "sfl.lemma13: its assumptions",
    "eq43": "sfl.lemma7.tuning: condition c > 0",
    "eq72": "sfl.lemma7.tuning: condition c > 0",
    "cor1.strongly_convex": "sfl.lemma7.tuning: condition c > 0",
    "cor2.strongly_convex": "sfl.lemma7.tuning: condition c > 0",
    "eq55": "18*A*L/R is of the printed order",
    "eq81": "18*A*L/R is of the printed order",
    "cor1.nonconvex": "18*A*L/R is of the printed order",
    "cor2.nonconvex": "18*A*L/R is of the printed order",
    "eq10": "is of the printed order",
    "eq11": "is of the printed order",
    "table1.pfl_thm2": "is of the printed order",
    "table1.sfl_thm1": "is of the printed order",
}


def name_of(evidence: Evidence) -> str:
    return evidence.statement.removeprefix("sfl.")


def put(evidence: Evidence) -> Verdict:
    return evidence.check(catalogue.find(evidence.statement), False)


def test_every_corrected_bound_has_a_proof() -> None:
    proved = {e.statement for e in PROOFS}
    bounds = {s.id for s in catalogue.statements("sfl") if s.ours and isinstance(s.claim, Bound)}
    assert bounds - proved == {"sfl.lemma7.cubic"}  # what Lemma 7 supposes


def test_a_theorem_without_its_decaying_term_is_broken() -> None:
    statement = catalogue.find("sfl.thm1.strongly_convex")
    claim = statement.claim
    assert isinstance(claim, Bound)
    terms = tuple(t for t in claim.terms if t.name != "optimisation")
    argument = Argument(statement.with_claim(replace(claim, terms=terms)), ledgers.LANGUAGE)
    ledgers.PROOFS["thm1.strongly_convex"](argument)
    found = argument.verdict()
    assert found.status is Status.BROKEN and "coefficient of D**2" in found.says
