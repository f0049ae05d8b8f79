"""Who agrees on the steps of proofs: z3, cvc5, and Coq's kernel as it is on record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedtheory.coq import record_of
from fedtheory.verification import Checked
from theory.statement import Status, Verdict


@dataclass(frozen=True)
class Agreed:
    """The different steps that z3 has proved, and how many of them cvc5 and Coq's kernel have proved too.

    without_cvc5, without_coq  ids of the statements whose proofs have other steps
    """

    steps: int
    cvc5: int
    coq: int
    without_cvc5: tuple[str, ...]
    without_coq: tuple[str, ...]

    def __str__(self) -> str:
        said = {"cvc5": self.cvc5, "Coq": self.coq}
        all_ = ["z3", *(name for name, count in said.items() if count == self.steps)]
        some = [f"{name}: {count} of {self.steps} steps" for name, count in said.items() if count < self.steps]
        return "; ".join([", ".join(all_), *some])


def agreed(checked: Sequence[Checked]) -> Agreed:
    """Who agrees on all steps of these statements' proofs."""
    return _agreed((c.statement.id, c.statement.paper, v) for c in checked for _, v in c.verdicts)


def opinions(checked: Checked) -> str:
    """Who agrees on the proofs of a statement, in words; empty if no step of them was put to z3."""
    shown = [v for _, v in checked.verdicts if v.steps and v.status in (Status.PROVED, Status.HOLDS)]
    return str(_agreed((checked.statement.id, checked.statement.paper, v) for v in shown)) if shown else ""


def _agreed(verdicts: Iterable[tuple[str, str, Verdict]]) -> Agreed:
    steps: set[str] = set()
    accepted: set[str] = set()
    undecided: set[str] = set()
    without_cvc5: dict[str, None] = {}
    without_coq: dict[str, None] = {}
    for id_, paper, verdict in verdicts:
        own = set(verdict.steps)
        there = own & record_of(paper).steps
        steps |= own
        accepted |= there
        undecided |= set(verdict.undecided)
        if verdict.undecided:
            without_cvc5[id_] = None
        if there < own:
            without_coq[id_] = None
    return Agreed(len(steps), len(steps) - len(undecided), len(accepted), tuple(without_cvc5), tuple(without_coq))
