"""Run the evidence of all floors and reach one verdict per statement."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bounds.arena import Arena, measure_all
from theory import catalogue
from theory.statement import Evidence, Statement, Status, Verdict

Progress = Callable[[str, int, int], None]  # what is being done, how many are done, of how many


@dataclass(frozen=True)
class Checked:
    """A statement with the verdicts of all its evidence."""

    statement: Statement
    verdicts: tuple[tuple[Evidence, Verdict], ...]

    @property
    def status(self) -> Status:
        """One verdict for the statement.

        refuted when any evidence refutes it; proved by a derivation or a certificate; holds when other evidence holds;
        open otherwise.  Equal units alone decide nothing in a statement's favour.
        """
        found = [(e.kind, v.status) for e, v in self.verdicts]
        statuses = [s for _, s in found]
        if Status.REFUTED in statuses:
            return Status.REFUTED
        if Status.VACUOUS in statuses:
            return Status.VACUOUS
        if any(s is Status.PROVED and kind != "units" for kind, s in found):
            return Status.PROVED
        return Status.HOLDS if Status.HOLDS in statuses else Status.OPEN

    @property
    def slack(self) -> float | None:
        """The smallest slack that any evidence reports."""
        slacks = [v.slack for _, v in self.verdicts if v.slack is not None]
        return min(slacks, default=None)


def evidence(paper: str) -> list[Evidence]:
    """All evidence for a paper: the theory floor's, then the bounds floor's."""
    return [*catalogue.evidence(paper), *importlib.import_module(f"bounds.{paper}").evidence()]


def arenas(paper: str) -> list[Arena]:
    """The arenas of a paper."""
    return list(importlib.import_module(f"bounds.{paper}").ARENAS)


def verify(ids: Sequence[str], full: bool = False, progress: Progress | None = None) -> list[Checked]:
    """Put statements to all their evidence, in the given order.  Raises UnknownName for an unknown id."""
    chosen = {id_: catalogue.find(id_) for id_ in ids}
    tell = progress or (lambda *_: None)
    papers = dict.fromkeys(s.paper for s in chosen.values())
    runs = [a for p in papers for a in arenas(p) if a.statement in chosen]
    measure_all(runs, full, lambda done: tell("running arenas", done, len(runs)))
    to_do = [e for p in papers for e in evidence(p) if e.statement in chosen]
    verdicts: dict[str, list[tuple[Evidence, Verdict]]] = {id_: [] for id_ in chosen}
    for done, item in enumerate(to_do, 1):
        verdicts[item.statement].append((item, item.check(chosen[item.statement], full)))
        tell("checking statements", done, len(to_do))
    return [Checked(statement, tuple(verdicts[id_])) for id_, statement in chosen.items()]


def count(checked: Iterable[Checked]) -> dict[Status, int]:
    """How many statements have each verdict."""
    statuses = [c.status for c in checked]
    return {status: statuses.count(status) for status in Status}
