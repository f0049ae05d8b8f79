"""The theory floor's evidence for the FedBAT paper: which kind of check tests which statement."""

from __future__ import annotations

from collections.abc import Iterator

from fedtheory.theory.fedbat.checks import claims, ledgers, operator, sharp, tables
from fedtheory.theory.proofs import units
from fedtheory.theory.statement import Evidence

# Reasons why no check here decides a statement, unless its kind already says so
OPEN = tables.OPEN


def evidence() -> Iterator[Evidence]:
    """Units for every statement with formulas; ledgers, derivations and counter-examples if they apply."""
    yield from units.evidence("fedbat")
    for part in (ledgers, sharp, operator, claims, tables):
        yield from part.evidence()
