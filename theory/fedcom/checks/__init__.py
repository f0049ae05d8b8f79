"""Evidence of the theory floor for the FedCOM paper: which instrument tests which statement."""

from __future__ import annotations

from collections.abc import Iterator

from theory.fedcom.checks import consequences
from theory.proofs import units
from theory.statement import Evidence

# Why no instrument here decides a statement, where its kind does not say so already
OPEN = {
    "fedcom.tab5.vrdiana": "a result of another paper [21] on finite sums, quoted",
    "fedcom.tab6.vrdiana": "a result of another paper [21] on finite sums, quoted",
}


def evidence() -> Iterator[Evidence]:
    """Units for every statement with formulas; ledgers, derivations and counter-examples where they apply."""
    yield from units.evidence("fedcom")
    yield from consequences.evidence()
