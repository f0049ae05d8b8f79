"""Run the evidence of all floors and reach one verdict per statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from traceback import extract_tb
from typing import get_args

import xarray as xr

from fedtheory.bounds import papers
from fedtheory.bounds.trials.arena import Arena, arena_evidence, measured_afresh, recall
from fedtheory.composed import proved
from fedtheory.store import LIBRARIES
from fedtheory.tasks import Progress, Task, Workshop
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import mutation
from fedtheory.theory.proofs.arithmetic import recorded
from fedtheory.theory.proofs.prose import written_of
from fedtheory.theory.properties import UnreadableConstant
from fedtheory.theory.readings import additions, judge
from fedtheory.theory.statement import (
    NO_CLAIM,
    OFTEN_NO_CLAIM,
    Evidence,
    EvidenceKind,
    Severity,
    Statement,
    Status,
    Verdict,
)

On = tuple[str, ...]  # a data set, and settings for runs on it


@dataclass(frozen=True, repr=False)
class Checked:
    """A statement with the verdicts of all its evidence."""

    statement: Statement
    verdicts: tuple[tuple[Evidence, Verdict], ...]

    @cached_property
    def status(self) -> Status:
        """One verdict for the statement: the strongest that its evidence gives.

        error if evidence ended in an exception, or if a proof and an instance contradict each other; refuted if any
        evidence refutes it; proved or conditional by a proof (equal units are none); tested by other evidence; broken if
        there is only a proof that fails; open otherwise.  A definition or an assumption can only be refuted.
        """
        if self.contradiction:
            return Status.ERROR
        decided = [v.status for e, v in self.verdicts if not (e.kind == "units" and v.status is Status.PROVED)]
        ranking = [Status.REFUTED, Status.ERROR, Status.VACUOUS]
        if self.statement.kind not in NO_CLAIM:
            ranking += [Status.PROVED, Status.CONDITIONAL, Status.TESTED, Status.BROKEN, Status.ANALOGUE]
        often = self.statement.kind in OFTEN_NO_CLAIM and Status.OPEN not in decided
        nothing = self.statement.kind in NO_CLAIM or often
        return next((s for s in ranking if s in decided), Status.DEFINITION if nothing else Status.OPEN)

    def __repr__(self) -> str:
        """The headline, and a line for each piece of evidence; at most ten lines."""
        lines = [f"{self.statement.id}: {self.headline}"]
        for e, v in self.verdicts[:_SHOWN]:
            says = f"    {e.kind}: {v.status}. {v.says}"
            lines.append(says if len(says) <= _WIDE else f"{says[: _WIDE - 4]} ...")
        return "\n".join(lines)

    @cached_property
    def contradiction(self) -> str:
        """A proof and an instance that contradict each other, in words; empty if none do.

        An instance contradicts a proof from the listed assumptions if it violates the statement as it is listed, and a
        proof with additions if it violates the statement read with charity.  Then proof, form or instance is wrong.
        """
        read = set(additions(self.statement))
        for proof, one in self.verdicts:
            supposed = [id_ for id_ in one.added if id_ not in read and catalogue.find(id_).kind != "algorithm"]
            if proof.kind in _DEDUCTIONS and one.status in (Status.PROVED, Status.CONDITIONAL) and not supposed:
                for instance, other in self.verdicts:
                    listed = other.without if one.status is Status.PROVED else ""
                    if instance.kind in _INSTANCES and (listed or other.status is Status.REFUTED):
                        says = listed or other.says
                        return f"{proof.kind} proves it, {instance.kind} refutes it: {says}"
        return ""

    @property
    def added(self) -> tuple[str, ...]:
        """What must be added to the statement for its verdict: ids, see `Verdict.added`.

        One proof is enough, but all instances must be within what is added.
        """
        found = [v.added for _, v in self.verdicts if v.status is self.status]
        used = found if self.status is Status.TESTED else found[:1]
        return tuple(dict.fromkeys(one for added in used for one in added))

    @property
    def headline(self) -> str:
        """The verdict in one line: by which evidence, what it depends on, and which proofs fail."""
        words = [str(self.status)]
        if self.status is Status.ERROR:
            words += [f": {self.contradiction}"] if self.contradiction else []
        elif self.status is Status.TESTED:
            kinds = (e.kind.replace("_", " ") for e, v in self.verdicts if v.status is Status.TESTED)
            words += [f" by {', '.join(kinds)}"]
        if self.severity:
            words += [f", {self.severity}"]
        if self.added:
            words += [f"{' on' if self.status is Status.CONDITIONAL else ', with'} {', '.join(self.added)}"]
        if self.status is not Status.REFUTED:
            tried = "repair" if self.status in (Status.PROVED, Status.CONDITIONAL) else ""  # another proof goes through
            broken = (v for e, v in self.verdicts if v.status is Status.BROKEN and e.kind != tried)
            steps = dict.fromkeys(str(v.witness.get("step") or v.says) for v in broken)
            words += [f"; proof broken at '{step}'" for step in steps]
        return "".join(words)

    @property
    def severity(self) -> Severity | None:
        """How grave it is that it is refuted: the gravest severity of its errata.  None if it is not, or has no erratum."""
        printed = self.statement == catalogue.find(
            self.statement.id
        )  # errata are about it, and not about a changed one
        return catalogue.severity(self.statement.id) if printed and self.status is Status.REFUTED else None

    @property
    def against(self) -> list[tuple[Evidence, Verdict]]:
        """The evidence that refutes it, the strongest first."""
        found = [(e, v) for e, v in self.verdicts if v.status is Status.REFUTED]
        return sorted(found, key=lambda pair: _STRONGEST.index(pair[0].kind))

    @property
    def slack(self) -> float | None:
        """The smallest slack: the factor by which the claim can be tightened before an instance refutes it."""
        return min((v.slack for e, v in self.verdicts if v.slack is not None and e.kind not in _PROOFS), default=None)

    @property
    def room(self) -> float | None:
        """The smallest room: the factor by which the tightest constant can be improved before the proof breaks."""
        return min((v.slack for e, v in self.verdicts if v.slack is not None and e.kind in _PROOFS), default=None)


_SHOWN, _WIDE = 9, 200
_PROOFS = ("ledger", "repair")
_DEDUCTIONS = (*_PROOFS, "derivation", "certificate")
_INSTANCES = ("counterexample", "enumeration", "moments", "search", "worst_case", "run")
_STRONGEST = (
    "counterexample",
    "enumeration",
    "moments",
    "search",
    "worst_case",
    "derivation",
    "certificate",
    "units",
    "run",
    "ledger",
)


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


# The arenas, and their evidence as tasks


@cache
def _arenas(paper: str, dataset: On | None = None) -> dict[str, Arena]:
    """A paper's arenas, or those on a data set, by their labels.  Raises ValueError for a name that is there twice."""
    found: dict[str, Arena] = {}
    for arena in papers.arenas(paper) if dataset is None else _own_arenas(paper, dataset):
        if arena.label in found:
            raise ValueError(f"two arenas of {arena.statement} are called {arena.name!r}: expected different names")
        found[arena.label] = arena
    return found


def _own_arenas(paper: str, dataset: On) -> list[Arena]:
    from fedtheory.confrontation import arenas_on  # the tasks of the report do not read it

    return arenas_on(paper, dataset)


@cache
def _of_evidence(paper: str, dataset: On | None = None) -> dict[tuple[str, str], list[Arena]]:
    """The arenas of each piece of evidence that they make, by statement and kind."""
    found: dict[tuple[str, str], list[Arena]] = {}
    for arena in _arenas(paper, dataset).values():
        found.setdefault((arena.statement, arena.kind), []).append(arena)
    return found


def measured(label: str, dataset: On | None, full: bool) -> xr.Dataset | Verdict:
    """The measurement of an arena, by its label; the verdict `error` if that ends in an exception.

    Raises KeyError for an unknown label.
    """
    arena = _arenas(catalogue.find(label.partition(":")[0]).paper, dataset)[label]
    try:
        return measured_afresh(arena, full)
    except Exception as error:
        return failed(error, f"arena {label!r}")


Found = xr.Dataset | Verdict  # a measurement, or the error that it ended in


def taken_over(found: Sequence[Found], arenas: Iterable[Arena], full: bool) -> Verdict | None:
    """Take over what other processes measured in these arenas.  Returns the first error, if one failed."""
    recall([one for one in found if isinstance(one, xr.Dataset)], arenas, full)
    return next((one for one in found if isinstance(one, Verdict)), None)


def failed(error: Exception, what: str) -> Verdict:
    """The verdict on a check that ended in an exception, in one line: open where it cannot read an assumption, else error.

    Raises a missing module: the user's to install.
    """
    if isinstance(error, ImportError):
        raise error
    if isinstance(error, UnreadableConstant):
        return Verdict(Status.OPEN, f"{what}: {error}")
    said = " ".join(f"{type(error).__name__}: {error}".split())
    frames = extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith(LIBRARIES)] or frames
    return Verdict(Status.ERROR, f"{what}: {said[:200]} ({Path(own[-1].filename).name}, line {own[-1].lineno})")


@cache
def measurement(label: str, dataset: On | None = None, full: bool = False) -> Task:
    """The task to measure an arena."""
    paper = catalogue.find(label.partition(":")[0]).paper
    kind = f"arena, {_arenas(paper, dataset)[label].kind}"
    return Task("running arenas", paper, kind, measured, (label, dataset, full), kept=dataset is None)


def verdict(id_: str, kind: EvidenceKind, full: bool, dataset: On | None = None, *found: Found) -> Verdict:
    """The verdict of a piece of evidence; `found` are the measurements of its arenas.

    `error` if the check ends in an exception.
    """
    statement = catalogue.find(id_)
    if error := taken_over(found, _arenas(statement.paper, dataset).values(), full):
        return error
    own = _by_name(statement.paper) if dataset is None else _on_data(statement.paper, dataset)
    try:
        with recorded() as recording:
            result = judge(own[id_, kind], statement, full)
        composed = proved(id_, kind, result, recording)
    except Exception as exception:
        return failed(exception, f"{id_}, {kind}")
    steps, uncertified = tuple(s.digest for s in recording.steps), tuple(map(str, recording.uncertified))
    theorems = tuple(one.digest for one in composed.theorems) if composed else ()
    return replace(result, steps=steps, uncertified=uncertified, theorems=theorems, written=written_of(recording))


@cache
def _on_data(paper: str, dataset: On) -> dict[tuple[str, str], Evidence]:
    return {(e.statement, e.kind): e for e in arena_evidence(list(_arenas(paper, dataset).values()))}


def measurements_of(id_: str, kind: EvidenceKind, full: bool, dataset: On | None = None) -> tuple[Task, ...]:
    """The tasks to measure the arenas of a piece of evidence."""
    own = _of_evidence(catalogue.find(id_).paper, dataset).get((id_, kind), ())
    return tuple(measurement(a.label, dataset, full) for a in own)


@cache
def _task(id_: str, kind: EvidenceKind, full: bool, dataset: On | None = None) -> Task:
    paper = catalogue.find(id_).paper
    needs = measurements_of(id_, kind, full, dataset)
    return Task("checking statements", paper, kind, verdict, (id_, kind, full, dataset), needs, kept=dataset is None)


def seen(id_: str, kind: str, verdict: Verdict, *found: Found) -> str | None:
    """The change that a piece of evidence was seen to refute, or None; `found` are the measurements of its arenas."""
    statement = catalogue.find(id_)
    if verdict.failed or taken_over(found, _arenas(statement.paper).values(), False):
        return None
    return mutation.seen_to_fail(_by_name(statement.paper)[id_, kind], statement, verdict)


def verify(
    ids: Sequence[str],
    full: bool = False,
    progress: Progress | None = None,
    workshop: Workshop | None = None,
    kinds: Collection[str] = (),
) -> list[Checked]:
    """Run all evidence for the statements, in the given order.  The statements that their proofs use are checked too.

    kinds  if given, only evidence of these kinds is shown and counts; what a proof uses is put to all evidence

    Raises UnknownName for an unknown id or kind; ValueError if no statement has evidence of these kinds.
    """
    asked = list(dict.fromkeys(catalogue.find(id_).id for id_ in ids))
    for kind in kinds:
        if kind not in get_args(EvidenceKind):
            raise catalogue.unknown("kind of evidence", kind, list(get_args(EvidenceKind)))
    done_by = workshop or Workshop()
    shown = _checked(asked, full, progress, done_by, kinds)
    if kinds and not any(shown.values()):
        there = ", ".join(dict.fromkeys(e.kind for own in pieces(asked, full).values() for e, _ in own)) or "none"
        raise ValueError(
            f"no evidence of kind {', '.join(kinds)} for {asked[0]}: expected one of those there are, {there}"
        )
    verdicts = {} if kinds else dict(shown)
    wave = _used(shown, verdicts)
    while wave:  # a proof records the statements that it uses; these are checked next
        found = _checked(wave, full, progress, done_by)
        verdicts |= found
        wave = _used(found, verdicts)
    settled: dict[str, Checked] = {}
    whole = shown | verdicts
    return [_of_kinds(_settle(id_, whole, settled)[0], kinds) for id_ in asked]


def verify_changed(
    statement: Statement, full: bool = False, progress: Progress | None = None, workshop: Workshop | None = None
) -> Checked:
    """Run all evidence for a statement of the catalogue that was changed, such as by `Statement.with_terms`.

    Raises ValueError for a statement without evidence.
    """
    own = [item for item in evidence(statement.paper) if item.statement == statement.id]
    if not own:
        raise ValueError(f"{statement.id} has no evidence: expected another statement")
    shown: dict[str, list[tuple[Evidence, Verdict]]] = {statement.id: []}
    for item in own:
        try:
            found = judge(item, statement, full)
        except Exception as exception:
            found = failed(exception, f"{statement.id}, {item.kind}")
        shown[statement.id].append((item, found))
    verdicts, done_by = dict(shown), workshop or Workshop()
    while wave := _used(verdicts, verdicts):
        verdicts |= _checked(wave, full, progress, done_by)
    return replace(_settle(statement.id, verdicts, {})[0], statement=statement)


def _used(
    found: Mapping[str, Sequence[tuple[Evidence, Verdict]]], known: Mapping[str, Sequence[tuple[Evidence, Verdict]]]
) -> list[str]:
    """The statements that these verdicts use, but for the known ones."""
    pairs = [pair for own in found.values() for pair in own]
    return [u for u in dict.fromkeys(u for e, v in pairs for u in (*e.uses, *v.uses, *v.follows)) if u not in known]


def _of_kinds(checked: Checked, kinds: Collection[str]) -> Checked:
    return replace(checked, verdicts=tuple(p for p in checked.verdicts if p[0].kind in kinds)) if kinds else checked


def pieces(ids: Iterable[str], full: bool = False) -> dict[str, list[tuple[Evidence, Task]]]:
    """All evidence for each of these statements, with its task."""
    known: dict[str, list[tuple[Evidence, Task]]] = {id_: [] for id_ in ids}
    for paper in dict.fromkeys(catalogue.find(id_).paper for id_ in known):
        for item in evidence(paper):
            if item.statement in known:
                known[item.statement].append((item, _task(item.statement, item.kind, full)))
    return known


def _checked(
    ids: Sequence[str], full: bool, tell: Progress | None, workshop: Workshop, kinds: Collection[str] = ()
) -> dict[str, list[tuple[Evidence, Verdict]]]:
    """The verdicts of all evidence of these statements, or of these kinds."""
    known = {
        id_: [(item, task) for item, task in own if not kinds or item.kind in kinds]
        for id_, own in pieces(ids, full).items()
    }
    to_do = [task for own in known.values() for _, task in own]
    found = dict(zip(to_do, workshop.do(to_do, tell), strict=True))
    return {id_: [(item, found[task]) for item, task in own] for id_, own in known.items()}


def verify_on(
    dataset: str,
    ids: Sequence[str],
    full: bool = False,
    progress: Progress | None = None,
    workshop: Workshop | None = None,
    settings: Sequence[str] = (),
) -> list[Checked]:
    """Compare the statements that bound whole runs with runs on a data set (a name or a path), and with nothing else.

    settings  of the problem, the algorithms and the runs, as in `simulate`, such as "M=20"; without them the papers' own

    A bound that does not apply is open, with the reason.  Raises UnknownName for an unknown id; ValueError if no statement
    bounds runs on data, the data set is unusable, or a setting has no effect.
    """
    from fedtheory.bounds.trials.theorems import theorem
    from fedtheory.confrontation import check_settings

    asked, on = list(dict.fromkeys(catalogue.find(id_).id for id_ in ids)), (dataset, *settings)
    names = dict.fromkeys(catalogue.find(id_).paper for id_ in asked)
    held = {id_: item for paper in names for (id_, _), item in _on_data(paper, on).items()}
    chosen = [held[id_] for id_ in asked if id_ in held]
    if not chosen:
        known = ", ".join(dict.fromkeys(held)) or "another paper's: this one has no arenas on data"
        raise ValueError(f"{', '.join(asked)}: no bound on runs of an algorithm on data; expected some of {known}")
    check_settings(
        [a for e in chosen for a in _of_evidence(catalogue.find(e.statement).paper, on)[e.statement, e.kind]], settings
    )
    why = {}
    for e in chosen if settings else ():
        paper = catalogue.find(e.statement).paper
        tested = [arena for arena in _arenas(paper).values() if arena.statement == e.statement]
        own = (theorem(arena, tested).why for arena in _of_evidence(paper, on)[e.statement, e.kind])
        why[e.statement] = next((reason for reason in own if reason), "")
    todo = [e for e in chosen if not why.get(e.statement)]
    found = (workshop or Workshop()).do([_task(e.statement, e.kind, full, on) for e in todo], progress)
    verdicts = {e.statement: Verdict(Status.OPEN, f"does not apply: {why.get(e.statement)}") for e in chosen}
    verdicts |= dict(zip([e.statement for e in todo], found, strict=True))
    return [Checked(catalogue.find(e.statement), ((e, verdicts[e.statement]),)) for e in chosen]


def _settle(
    id_: str,
    verdicts: Mapping[str, Sequence[tuple[Evidence, Verdict]]],
    settled: dict[str, Checked],
    above: tuple[str, ...] = (),
) -> tuple[Checked, set[str]]:
    """The statement with its verdicts; a proof is worth no more than the statements that it uses.

    above  the statements whose proofs led here: a proof that uses one of them is circular and proves nothing

    Also returns which of these were met.  If any were, the verdicts are those below these statements alone.
    """
    if id_ in settled:
        return settled[id_], set()
    statement, own, met = catalogue.find(id_), [], set[str]()
    for item, verdict in verdicts[id_]:
        if verdict.status in (Status.PROVED, Status.CONDITIONAL):
            for used in dict.fromkeys((*item.uses, *verdict.uses, *verdict.follows)):
                if used not in (*above, id_):
                    one, circles = _settle(used, verdicts, settled, (*above, id_))
                    met |= circles - {id_}
                    verdict = _limited(verdict, statement.assumes, one, used in verdict.follows)
                elif used not in verdict.follows:
                    path = (*above, id_)
                    met |= {used} - {id_}
                    verdict = _failed(verdict, f"circular: {' -> '.join((*path[path.index(used) :], used))}")
        own.append((item, verdict))
    found = Checked(statement, tuple(own))
    if not met:
        settled[id_] = found
    return found, met


def _limited(verdict: Verdict, assumes: Collection[str], used: Checked, follows: bool) -> Verdict:
    """The verdict of a proof, which is worth no more than a statement that it uses.

    assumes  what the proved statement lists: it needs no addition of that
    follows  whether the proof follows it, as an algorithm or a definition: then it need not be proved, but an algorithm
             must be compared with code
    """
    tested = (Status.CONDITIONAL, Status.TESTED)
    if verdict.status is Status.BROKEN or used.status in (
        Status.PROVED,
        Status.DEFINITION,
        *(tested if follows else ()),
    ):
        return verdict
    if used.status in (Status.REFUTED, Status.BROKEN, Status.VACUOUS):
        return _failed(verdict, f"rests on {used.statement.id}, which is {used.status}")
    if used.status in tested or (follows and used.status is Status.OPEN):
        more = used.added if used.status is Status.CONDITIONAL else (used.statement.id, *used.added)
        added = tuple(dict.fromkeys((*verdict.added, *(one for one in more if one not in assumes))))
        return replace(verdict, status=Status.CONDITIONAL, added=added) if added else verdict
    says = f"rests on {used.statement.id}, which is {used.status}"
    return replace(verdict, status=Status.OPEN, says=says, slack=None, best={}, added=())


def _failed(verdict: Verdict, step: str) -> Verdict:
    """The verdict of a proof that fails at this step."""
    return replace(verdict, status=Status.BROKEN, says=step, slack=None, witness={"step": step}, best={}, added=())


def digest_of(checked: Iterable[Checked]) -> str:
    """A digest of what is said of statements."""
    says = [(c.statement.id, c.headline, [(e.kind, v.status, v.says) for e, v in c.verdicts]) for c in checked]
    return sha256(repr(says).encode()).hexdigest()


def count(checked: Sequence[Checked]) -> dict[Status, int]:
    """How many statements have each verdict; without `error` where no check failed."""
    found, failures = Counter(c.status for c in checked), errors(checked)
    return {status: found[status] for status in Status if failures or status is not Status.ERROR}


def by_severity(checked: Iterable[Checked]) -> dict[Severity | None, int]:
    """How many refuted statements have each severity, the gravest first; None: those without an erratum."""
    found = Counter(c.severity for c in checked if c.status is Status.REFUTED)
    return {severity: found[severity] for severity in (*get_args(Severity), None) if found[severity]}


def roots(checked: Iterable[Checked], severity: Severity) -> int:
    """How many different errors are behind the refuted statements of a severity."""
    return len({catalogue.root(c.statement.id) for c in checked if c.severity == severity})


def errors(checked: Iterable[Checked]) -> list[str]:
    """What the checks say that ended in an exception, and the proofs and instances that contradict each other."""
    says: list[str] = []
    for c in checked:
        says += [v.says for _, v in c.verdicts if v.failed]
        says += [f"{c.statement.id}: {c.contradiction}"] if c.contradiction else []
    return says


def seen_to_fail(
    checked: Sequence[Checked], progress: Progress | None = None, workshop: Workshop | None = None
) -> dict[tuple[str, str], str | None]:
    """(Statement, kind of evidence) -> the change of the claim that the evidence refuted, or None."""
    tasks = {}
    for c in checked:
        for e, v in c.verdicts:
            arguments, needs = (e.statement, e.kind, v), measurements_of(e.statement, e.kind, False)
            task = Task("seeing checks fail", c.statement.paper, e.kind, seen, arguments, needs, kept=False)
            tasks[e.statement, e.kind] = task
    return dict(zip(tasks, (workshop or Workshop()).do(list(tasks.values()), progress), strict=True))
