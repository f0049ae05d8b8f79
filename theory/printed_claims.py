"""What the checks of printed tables share: the record of a statement, its numbers as printed, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from theory import catalogue
from theory.statement import Record, Statement, Status, Verdict

Row = Mapping[str, Any]
Witness = dict[str, Any]


def record_of(statement: Statement | str) -> Record:
    """The claim of a statement, or of the statement with this id.  Raises ValueError for a claim of another kind."""
    found = catalogue.find(statement) if isinstance(statement, str) else statement
    if not isinstance(found.claim, Record):
        raise ValueError(f"{found.id}: a claim of kind {type(found.claim).__name__}: expected Record")
    return found.claim


def exact_decimal(number: float) -> Fraction:
    """A decimal number, exactly."""
    return Fraction(str(number))


def verdict_of(family: str, witness: Witness) -> Verdict:
    """Refuted by the mismatches, if there are any; else tested on the family."""
    if witness:
        count = "1 mismatch" if len(witness) == 1 else f"{len(witness)} mismatches"
        return Verdict(Status.REFUTED, f"{family}: {count}", witness=witness)
    return Verdict(Status.TESTED, family)
