"""Evidence of the theory floor for the FedBAT paper: which instrument tests which statement."""

from __future__ import annotations

from collections.abc import Iterator

from theory.fedbat.checks import consequences, tables as experiments_evidence
from theory.proofs import units
from theory.statement import Evidence

# Why no instrument here decides a statement, where its kind does not say so already
OPEN = experiments_evidence.OPEN


def evidence() -> Iterator[Evidence]:
    """Units for every statement with formulas; ledgers, derivations and counter-examples where they apply."""
    yield from units.evidence("fedbat")
    yield from consequences.evidence()
    yield from experiments_evidence.evidence()
