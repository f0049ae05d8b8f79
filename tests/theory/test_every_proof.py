"""No proof of any paper survives a harsh change: the left side times 1000, the direction turned, no assumption at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fedtheory.theory import catalogue
from fedtheory.theory.proofs.mutation import claims_no_more
from fedtheory.theory.statement import Bound, Evidence, Order, Statement, Status

PROOFS = [e for paper in catalogue.papers() for e in catalogue.evidence(paper) if e.kind in ("ledger", "repair")]
# Equalities, printed as bounds: what is turned round is true
EQUALITIES = {"fedbcgd.thm2.step76", "fedbcgd.thm1.step46.corrected"}


def harsh(statement: Statement) -> Iterator[tuple[str, Statement]]:
    claim = statement.claim
    if isinstance(claim, Bound | Order):
        symbol = max(claim.value.free_symbols, key=str) if isinstance(claim, Order) else 1
        larger = replace(claim, quantity=1000 * symbol * claim.quantity)
        yield "left side", statement.with_claim(larger)
    if isinstance(claim, Bound) and claim.sign == "<=" and statement.id not in EQUALITIES:
        yield "direction", statement.with_claim(replace(claim, sign=">="))
    if isinstance(claim, Order) and claim.polylog:
        yield "O for O~", statement.with_claim(replace(claim, polylog=False))
    if statement.assumes:
        yield "assumptions", replace(statement, assumes=())


@pytest.mark.dear
@pytest.mark.parametrize(
    "evidence",
    [
        pytest.param(e, marks=[pytest.mark.slow] if i % 4 else [], id=f"{e.statement}-{e.kind}")
        for i, e in enumerate(PROOFS)
    ],
)
def test_no_proof_survives_a_harsh_change(evidence: Evidence) -> None:
    statement = catalogue.find(evidence.statement)
    for part, changed in harsh(statement):
        if evidence.check(changed, False).status is Status.PROVED and not claims_no_more(statement, changed):
            assert part == "assumptions" and not needed(evidence), part


def needed(evidence: Evidence) -> set[str]:
    """The properties that a proof records, but for those that its paper supposes throughout."""
    statement = catalogue.find(evidence.statement)
    found = evidence.check(statement, False)
    background = set().union(*(s.gives for s in catalogue.paper(statement.paper).background))
    return {p.name for p in found.premises if p.kind == "property"} - {str(p) for p in background}
