"""What it means that the noise of different clients is independent: a relation on finite laws of two clients."""

from __future__ import annotations

from collections.abc import Mapping

import sympy

from fedtheory.theory.proofs.instances import interpret
from fedtheory.theory.statement import Relations, Statement, Status, Verdict

# (sign that one client draws, noise of the other), equally likely; whether the noise is independent of the sign
_LAWS: Mapping[str, tuple[tuple[tuple[int, int], ...], bool]] = {
    "independent signs": (((1, 1), (1, -1), (-1, 1), (-1, -1)), True),
    "one sign for both": (((1, 1), (-1, -1)), False),
    "noise that is only uncorrelated": (((1, 1), (-1, 1), (0, -2)), False),
}


def check(statement: Statement, full: bool = False) -> Verdict:
    """The relation, for all that one client can compute from its draw s: 1, s and s^2; only independent noise meets it.

    The relation is about `own_m`, what one client computes, and `noise_j`, the noise of another.
    """
    claim = statement.claim_of(Relations)
    for says, (outcomes, expected) in _LAWS.items():
        met = True
        for power in range(3):
            share = sympy.Rational(1, len(outcomes))
            law = [(share, {"own_m": sympy.Integer(s) ** power, "noise_j": sympy.Integer(n)}) for s, n in outcomes]
            sides = [[interpret(side, {}, law) for side in relation.args] for relation in claim.relations]
            met = met and all(
                relation.func(*both) == sympy.true for relation, both in zip(claim.relations, sides, strict=True)
            )
        if met is not expected:
            what = "do not meet it" if expected else "meets it"
            return Verdict(Status.REFUTED, f"{says} {what}", witness={"s, noise": str(outcomes)})
    told = ", ".join(says for says, (_, expected) in _LAWS.items() if not expected)
    return Verdict(Status.TESTED, f"met by independent signs of two clients; not met by {told}")
