"""Which paper's rounds are written in vectors, and where."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import outside
from theory import catalogue
from theory.proofs.scenes import Rounds


def rounds(paper: str) -> Rounds | None:
    """The paper's rounds in vectors: traces in `bounds.PAPER.worst_case`, else those among its checks, if it has any."""
    if paper not in outside.packages() and find_spec(f"bounds.{paper}") and find_spec(f"bounds.{paper}.worst_case"):
        found: Rounds = importlib.import_module(f"bounds.{paper}.worst_case").ROUNDS
        return found
    of_checks: Rounds | None = catalogue.rounds(paper)
    return of_checks


__all__ = ["rounds"]
