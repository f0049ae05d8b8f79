"""The theory floor's evidence for the FedCOM paper: which kind of check tests which statement."""

from __future__ import annotations

from collections.abc import Iterator

from fedtheory.theory.fedcom.checks import claims, sharp
from fedtheory.theory.proofs import units
from fedtheory.theory.statement import Evidence


def evidence() -> Iterator[Evidence]:
    """Units for every statement with formulas; ledgers, derivations and counter-examples if they apply."""
    yield from units.evidence("fedcom")
    yield from claims.evidence()
    yield from sharp.evidence()
