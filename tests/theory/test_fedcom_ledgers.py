"""The FedCOM proofs: what two of them need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedtheory.theory import catalogue
from fedtheory.theory.fedcom.checks import claims
from fedtheory.theory.fedcom.heterogeneous import contraction78
from fedtheory.theory.statement import Bound, Condition, Evidence, Statement, Status, Verdict

EVIDENCE = {(e.statement.removeprefix("fedcom."), e.kind): e for e in claims.evidence()}


def prove(name: str, statement: Statement, kind: str = "ledger") -> Verdict:
    return EVIDENCE[name, kind].check(statement, False)  # type: ignore[index]


def test_the_damped_tracking_is_an_assumption() -> None:
    """What is proved of the damped algorithm is not proved of the printed one."""
    ours = catalogue.find("fedcom.thmE4.corrected")
    printed = replace(ours, assumes=tuple(a for a in ours.assumes if a != "fedcom.asm.damped"))
    found = prove("thmE4.corrected", printed)
    assert found.status is Status.BROKEN and "damped" in found.says


def test_recursion_needs_the_minus_and_the_denominator() -> None:
    printed = catalogue.find("fedcom.thmE6.recursion")
    (inserted,) = printed.also
    assert isinstance(inserted, Bound)
    minus = (inserted.scaled(-1, "dropped"),)
    positive = (*printed.when, Condition(contraction78 > 0))
    ledger: Evidence = EVIDENCE["thmE6.recursion", "ledger"]

    def check(**changed: Any) -> Verdict:
        return ledger.check(replace(printed, **changed), False)

    assert check(also=minus, when=positive).status is Status.PROVED
    assert "step (b)" in check(when=positive).witness["step"]
    assert check(also=minus).witness["step"] == "(83)"
