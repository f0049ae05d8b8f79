"""A proof as a reader sees it: numbered lines, each with its reason.  `fedtheory.theory.proofs.prose` writes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Formula:
    """A formula: in LaTeX, in pieces between which a narrow page may break it, and as text in one line."""

    latex: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Cited:
    """A statement, by its id."""

    id: str

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True)
class Earlier:
    """A line before, by its number."""

    number: int

    def __str__(self) -> str:
        return f"({self.number})"


Piece = str | Formula | Cited | Earlier


@dataclass(frozen=True)
class ProofLine:
    """A line of a proof.

    because  why the formula holds, or words without a formula
    number   by which later lines call it; 0 if none does
    breaks   whether the proof breaks here
    """

    because: tuple[Piece, ...]
    formula: Formula | None = None
    number: int = 0
    breaks: bool = False


@dataclass(frozen=True)
class ProofText:
    """A proof.

    checked  what was decided exactly on the way, in order
    """

    lines: tuple[ProofLine, ...]
    checked: tuple[str, ...]


def as_lines(proof: ProofText) -> list[str]:
    """A proof for a terminal: a line for each reason and for each formula, and what was decided on the way."""
    found = []
    for line in proof.lines:
        found.append("".join(map(str, line.because)))
        if line.formula is not None:
            found.append(f"    {line.formula}" + (f"    ({line.number})" if line.number else ""))
    return [*found, *([f"Decided exactly on the way: {'; '.join(proof.checked)}."] if proof.checked else [])]
