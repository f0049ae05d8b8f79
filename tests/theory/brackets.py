"""What a bracket of a best constant must be."""

from __future__ import annotations

from fedtheory.theory.proofs.tight import Bracket, Programme, verified_instance, verified_proof


def holds(programme: Programme, found: Bracket, value: float, within: float = 1e-4) -> None:
    """Both sides are verified, close, and on either side of the value."""
    assert verified_proof(programme, found) and verified_instance(programme, found) == found.lower
    assert found.lower <= found.upper
    assert float(found.lower) <= value * (1 + 1e-12) and float(found.upper) >= value * (1 - 1e-12)
    assert float(found.upper - found.lower) <= within * abs(value)
