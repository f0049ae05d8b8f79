"""Steps of proofs on file, each also with another number that makes it false."""

from __future__ import annotations

import json
from pathlib import Path

from fedtheory.theory.proofs.sequents import Sequent

STEPS = json.loads((Path(__file__).parents[1] / "data" / "steps.json").read_text())


def sequent(step: dict, claim: str = "claim") -> Sequent:
    return Sequent(tuple((name, domain) for name, domain in step["variables"]), tuple(step["given"]), step[claim])
