"""Run the evidence of all floors and reach one verdict per statement."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bounds.arena import Arena, measure_all
from theory import catalogue
from theory.proofs import mutation
from theory.statement import Evidence, Statement, Status, Verdict

Progress = Callable[[str, int, int], None]  # what is being done, how many are done, of how many


@dataclass(frozen=True)
class Checked:
    """A statement with the verdicts of all its evidence."""

    statement: Statement
    verdicts: tuple[tuple[Evidence, Verdict], ...]

    @property
    def status(self) -> Status:
        """One verdict for the statement: the strongest that its evidence gives.

        refuted when any evidence refutes it; proved by anything but equal units; holds when other evidence holds; broken
        when all there is is a proof that fails; open otherwise.
        """
        found = [v.status for e, v in self.verdicts if not (e.kind == "units" and v.status is Status.PROVED)]
        ranking = (Status.REFUTED, Status.VACUOUS, Status.PROVED, Status.HOLDS, Status.BROKEN)
        return next((status for status in ranking if status in found), Status.OPEN)

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
    """Put statements to all their evidence, in the given order; what their proofs take for granted is checked too.

    Raises UnknownName for an unknown id.
    """
    asked = list(dict.fromkeys(catalogue.find(id_).id for id_ in ids))
    tell = progress or (lambda *_: None)
    known: dict[str, list[Evidence]] = {}
    for paper in catalogue.papers():
        for item in evidence(paper):
            known.setdefault(item.statement, []).append(item)
    needed = list(asked)
    for id_ in needed:  # grows while it is gone through
        needed += [u for e in known.get(id_, ()) for u in e.uses if u not in needed]
    runs = [a for paper in catalogue.papers() for a in arenas(paper) if a.statement in needed]
    measure_all(runs, full, lambda done: tell("running arenas", done, len(runs)))
    to_do = [e for id_ in needed for e in known.get(id_, ())]
    verdicts: dict[str, list[tuple[Evidence, Verdict]]] = {id_: [] for id_ in needed}
    for done, item in enumerate(to_do, 1):
        verdicts[item.statement].append((item, item.check(catalogue.find(item.statement), full)))
        tell("checking statements", done, len(to_do))
    settled: dict[str, Checked] = {}
    for id_ in needed:
        _settle(id_, verdicts, settled)
    return [settled[id_] for id_ in asked]


def _settle(id_: str, verdicts: dict[str, list[tuple[Evidence, Verdict]]], settled: dict[str, Checked]) -> Checked:
    """The statement with its verdicts, a proof being worth no more than the statements that it takes for granted."""
    if id_ not in settled:
        own = []
        for item, verdict in verdicts[id_]:
            if verdict.status is Status.PROVED:
                for used in item.uses:
                    verdict = _given(verdict, _settle(used, verdicts, settled))
            own.append((item, verdict))
        settled[id_] = Checked(catalogue.find(id_), tuple(own))
    return settled[id_]


def _given(verdict: Verdict, used: Checked) -> Verdict:
    """A proof given what became of a statement it uses."""
    if verdict.status is not Status.PROVED or used.status is Status.PROVED:
        return verdict
    fails = used.status in (Status.REFUTED, Status.BROKEN, Status.VACUOUS)
    status = Status.BROKEN if fails else used.status
    says = f"rests on {used.statement.id}, which is {used.status}"
    return Verdict(status, says, witness={"rests on": used.statement.id} if fails else {})


def count(checked: Iterable[Checked]) -> dict[Status, int]:
    """How many statements have each verdict."""
    statuses = [c.status for c in checked]
    return {status: statuses.count(status) for status in Status}


def seen_to_fail(checked: Sequence[Checked], progress: Progress | None = None) -> dict[tuple[str, str], str | None]:
    """By (statement, kind of evidence): the change of the claim that the evidence refuted, None when it refuted none."""
    tell = progress or (lambda *_: None)
    items = [(c.statement, e, v) for c in checked for e, v in c.verdicts]
    found: dict[tuple[str, str], str | None] = {}
    for done, (statement, item, verdict) in enumerate(items, 1):
        found[statement.id, item.kind] = mutation.seen_to_fail(item, statement, verdict)
        tell("seeing checks fail", done, len(items))
    return found
