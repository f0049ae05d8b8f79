"""Run the evidence of all floors and reach one verdict per statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from joblib import Parallel, delayed

from bounds import papers
from bounds.trials.arena import arena_evidence, measure_all
from theory import catalogue
from theory.proofs import mutation
from theory.statement import NO_CLAIM, OFTEN_NO_CLAIM, Evidence, Statement, Status, Verdict

Progress = Callable[[str, int, int], None]  # receives the task, the count done and the total


@dataclass(frozen=True)
class Checked:
    """A statement with the verdicts of all its evidence."""

    statement: Statement
    verdicts: tuple[tuple[Evidence, Verdict], ...]

    @property
    def status(self) -> Status:
        """One verdict for the statement: the strongest that its evidence gives.

        refuted if any evidence refutes it; proved by any evidence but equal units; holds if other evidence holds;
        broken if there is only a proof that fails; open otherwise.  A definition or an assumption can only be refuted.
        """
        found = [v.status for e, v in self.verdicts if not (e.kind == "units" and v.status is Status.PROVED)]
        ranking = [Status.REFUTED, Status.VACUOUS]
        if self.statement.kind not in NO_CLAIM:
            ranking += [Status.PROVED, Status.HOLDS, Status.BROKEN, Status.ANALOGUE]
        nothing = self.statement.kind in (*NO_CLAIM, *OFTEN_NO_CLAIM)
        return next((s for s in ranking if s in found), Status.DEFINITION if nothing else Status.OPEN)

    @property
    def slack(self) -> float | None:
        """The smallest slack: the factor by which the claim can be tightened before an instance refutes it."""
        return min((v.slack for e, v in self.verdicts if v.slack is not None and e.kind not in _PROOFS), default=None)

    @property
    def room(self) -> float | None:
        """The smallest room: the factor by which the tightest constant can be improved before the proof breaks."""
        return min((v.slack for e, v in self.verdicts if v.slack is not None and e.kind in _PROOFS), default=None)


_PROOFS = ("ledger", "repair")


def evidence(paper: str) -> list[Evidence]:
    """All evidence for a paper: the theory floor's, then the bounds floor's."""
    return list(_by_name(paper).values())


@cache
def _by_name(paper: str) -> dict[tuple[str, str], Evidence]:
    """A paper's evidence by statement and kind: a statement has at most one piece of each kind."""
    found: dict[tuple[str, str], Evidence] = {}
    for item in (*catalogue.evidence(paper), *papers.evidence(paper)):
        if (item.statement, item.kind) in found:
            raise ValueError(f"{item.statement} has two pieces of evidence of kind {item.kind}: expected one")
        found[item.statement, item.kind] = item
    return found


@cache
def _measured(paper: str) -> frozenset[tuple[str, str]]:
    """(Statement, kind) of the evidence that reads the arenas' measurements, which exist only in this process."""
    return frozenset((a.statement, a.kind) for a in papers.arenas(paper))


_FEW = 8  # for so few pieces of evidence worker processes do not pay


def side_by_side(
    work: Callable[..., Any],
    items: Sequence[Evidence],
    arguments: Sequence[tuple[Any, ...]],
    tell: Callable[[int], None],
) -> list[Any]:
    """work(statement, kind, *arguments) for every piece of evidence, in parallel if that pays."""
    paper = {item.statement: catalogue.find(item.statement).paper for item in items}
    apart = [i for i, e in enumerate(items) if (e.statement, e.kind) not in _measured(paper[e.statement])]
    here = sorted({*range(len(items))} - {*apart}) if len(apart) > _FEW else list(range(len(items)))
    results: dict[int, Any] = {}
    if len(apart) > _FEW:
        calls = (delayed(work)(items[i].statement, items[i].kind, *arguments[i]) for i in apart)
        for i, result in zip(apart, Parallel(n_jobs=-1, return_as="generator")(calls), strict=True):
            results[i] = result
            tell(len(results))
    for i in here:
        results[i] = work(items[i].statement, items[i].kind, *arguments[i])
        tell(len(results))
    return [results[i] for i in range(len(items))]


def _verdict(id_: str, kind: str, full: bool) -> Verdict:
    statement = catalogue.find(id_)
    return _by_name(statement.paper)[id_, kind].check(statement, full)


def _seen(id_: str, kind: str, verdict: Verdict) -> str | None:
    statement = catalogue.find(id_)
    return mutation.seen_to_fail(_by_name(statement.paper)[id_, kind], statement, verdict)


def verify(ids: Sequence[str], full: bool = False, progress: Progress | None = None) -> list[Checked]:
    """Run all evidence for the statements, in the given order.  The statements that their proofs use are checked too.

    Raises UnknownName for an unknown id.
    """
    asked = list(dict.fromkeys(catalogue.find(id_).id for id_ in ids))
    tell = progress or (lambda *_: None)
    verdicts: dict[str, list[tuple[Evidence, Verdict]]] = {}
    wave = asked
    while wave:  # a proof records the statements that it uses; these are checked next
        verdicts |= _checked(wave, full, tell)
        uses = (u for id_ in wave for e, v in verdicts[id_] for u in (*e.uses, *v.uses, *v.follows))
        wave = [u for u in dict.fromkeys(uses) if u not in verdicts]
    settled: dict[str, Checked] = {}
    for id_ in verdicts:
        _settle(id_, verdicts, settled)
    return [settled[id_] for id_ in asked]


def _checked(ids: Sequence[str], full: bool, tell: Progress) -> dict[str, list[tuple[Evidence, Verdict]]]:
    """The verdicts of all evidence of these statements."""
    names = list(dict.fromkeys(catalogue.find(id_).paper for id_ in ids))
    runs = [a for paper in names for a in papers.arenas(paper) if a.statement in ids]
    measure_all(runs, full, lambda done: tell("running arenas", done, len(runs)))
    known: dict[str, list[Evidence]] = {id_: [] for id_ in ids}
    for item in (e for paper in names for e in evidence(paper) if e.statement in known):
        known[item.statement].append(item)
    to_do = [e for id_ in ids for e in known[id_]]
    found = side_by_side(
        _verdict, to_do, [(full,)] * len(to_do), lambda done: tell("checking statements", done, len(to_do))
    )
    verdicts: dict[str, list[tuple[Evidence, Verdict]]] = {id_: [] for id_ in ids}
    for item, verdict in zip(to_do, found, strict=True):
        verdicts[item.statement].append((item, verdict))
    return verdicts


def verify_on(dataset: str, ids: Sequence[str], full: bool = False, progress: Progress | None = None) -> list[Checked]:
    """Compare the statements that bound whole runs with runs on a data set (a name or a path), and with nothing else.

    Raises UnknownName for an unknown id; ValueError if no statement bounds runs on data or the data set is unusable.
    """
    asked = list(dict.fromkeys(catalogue.find(id_).id for id_ in ids))
    names = dict.fromkeys(catalogue.find(id_).paper for id_ in asked)
    every = [a for paper in names for a in papers.on_data(paper, dataset)]
    chosen = [a for a in every if a.statement in asked]
    if not chosen:
        known = ", ".join(dict.fromkeys(a.statement for a in every))
        raise ValueError(f"{', '.join(asked)}: no bound on runs of an algorithm on data; expected some of {known}")
    tell = progress or (lambda *_: None)
    measure_all(chosen, full, lambda done: tell("running arenas", done, len(chosen)))
    held = {item.statement: item for item in arena_evidence(chosen)}
    return [Checked(s, ((held[s.id], held[s.id].check(s, full)),)) for s in map(catalogue.find, asked) if s.id in held]


def _settle(
    id_: str,
    verdicts: Mapping[str, Sequence[tuple[Evidence, Verdict]]],
    settled: dict[str, Checked],
    above: tuple[str, ...] = (),
) -> Checked:
    """The statement with its verdicts; a proof is worth no more than the statements that it uses.

    above  the statements whose proofs led here: a proof that uses one of them is circular and proves nothing
    """
    if id_ in settled:
        return settled[id_]
    own = []
    for item, verdict in verdicts[id_]:
        worth = [verdict]
        goes_through = verdict.status is Status.PROVED or bool(verdict.status is Status.HOLDS and verdict.premises)
        for used in dict.fromkeys((*item.uses, *verdict.uses)) if goes_through else ():
            if used in (*above, id_):
                path = (*above, id_)
                circle = " -> ".join((*path[path.index(used) :], used))
                worth.append(Verdict(Status.BROKEN, f"the proof is circular: {circle}", premises=verdict.premises))
            else:
                worth.append(_given(verdict, _settle(used, verdicts, settled, (*above, id_))))
        for followed in verdict.follows if goes_through else ():
            what = _given(verdict, _settle(followed, verdicts, settled, (*above, id_)))
            worth += [what] if what.status is Status.BROKEN else []
        verdict = min(worth, key=lambda v: (v.status is not Status.BROKEN, v.status is Status.PROVED))
        own.append((item, verdict))
    settled[id_] = Checked(catalogue.find(id_), tuple(own))
    return settled[id_]


def _given(verdict: Verdict, used: Checked) -> Verdict:
    """The verdict of a proof, given the verdict on a statement that it uses."""
    if used.status in (Status.PROVED, Status.DEFINITION):
        return verdict
    fails = used.status in (Status.REFUTED, Status.BROKEN, Status.VACUOUS)
    status = Status.BROKEN if fails else used.status
    says = f"rests on {used.statement.id}, which is {used.status}"
    witness = {"rests on": used.statement.id} if fails else {}
    return Verdict(status, says, witness=witness, premises=verdict.premises)


def count(checked: Iterable[Checked]) -> dict[Status, int]:
    """How many statements have each verdict."""
    statuses = [c.status for c in checked]
    return {status: statuses.count(status) for status in Status}


def seen_to_fail(checked: Sequence[Checked], progress: Progress | None = None) -> dict[tuple[str, str], str | None]:
    """(Statement, kind of evidence) -> the change of the claim that the evidence refuted, or None."""
    tell = progress or (lambda *_: None)
    items = [(e, v) for c in checked for e, v in c.verdicts]
    found = side_by_side(
        _seen,
        [e for e, _ in items],
        [(v,) for _, v in items],
        lambda done: tell("seeing checks fail", done, len(items)),
    )
    return {(e.statement, e.kind): what for (e, _), what in zip(items, found, strict=True)}
