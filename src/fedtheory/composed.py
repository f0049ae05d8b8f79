"""The conclusions of all proofs as theorems in Coq, with what they rest on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fedtheory.tasks import Progress, Task, Workshop
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import certificates, scenes
from fedtheory.theory.proofs.argument import Argument
from fedtheory.theory.proofs.arithmetic import Recording, recorded
from fedtheory.theory.proofs.composition import CoqTheorem, theorems
from fedtheory.theory.readings import judge
from fedtheory.theory.statement import EvidenceKind, Premise, Status, Verdict

KINDS: tuple[EvidenceKind, ...] = ("ledger", "repair", "derivation", "certificate")
COMPARED = ("claim", "rule", "algorithm", "inference")  # kinds of premises that a theorem has as hypotheses


@dataclass(frozen=True)
class Composed:
    """A proof as theorems.

    theorems  one for each conclusion
    premises  what the proof recorded
    without   why a conclusion is no theorem; empty if all are
    """

    statement: str
    kind: EvidenceKind
    theorems: tuple[CoqTheorem, ...]
    premises: tuple[Premise, ...]
    without: str


def composed_of(
    papers: Sequence[str], tell: Progress | None = None, workshop: Workshop | None = None
) -> dict[str, list[Composed]]:
    """The proofs of each paper as theorems, in order; without proofs that prove nothing."""
    tasks = [
        Task("composing theorems", paper, e.kind, composed, (e.statement, e.kind), kept=False)
        for paper in papers
        for e in catalogue.evidence(paper)
        if e.kind in KINDS
    ]
    found: dict[str, list[Composed]] = {paper: [] for paper in papers}
    for task, one in zip(tasks, (workshop or Workshop()).do(tasks, tell), strict=True):
        if one is not None:
            found[task.paper].append(one)
    return found


def composed(id_: str, kind: EvidenceKind) -> Composed | None:
    """A piece of evidence as theorems; None if it is no proof of the statement."""
    statement = catalogue.find(id_)
    (own,) = (e for e in catalogue.evidence(statement.paper) if (e.statement, e.kind) == (id_, kind))
    with recorded() as recording:
        verdict = judge(own, statement)
    known = certificates.read(scenes.file_of(statement.paper).with_name("steps.json"))
    return proved(id_, kind, verdict, recording, known)


def proved(
    id_: str, kind: EvidenceKind, verdict: Verdict, recording: Recording, known: Collection[str] = ()
) -> Composed | None:
    """What a check has proved, and recorded, as theorems; None if that is no proof of the statement.

    known   digests of steps that have a certificate; they make fewer hypotheses about divisors
    """
    arguments = [one for one in recording.ledgers if isinstance(one, Argument)]
    if verdict.status not in (Status.PROVED, Status.CONDITIONAL) or not arguments or kind not in KINDS:
        return None
    argument = arguments[-1]
    name = id_.replace(".", "_") + ("" if kind == "ledger" else f"_{kind}")
    try:
        found = tuple(theorems(argument, name, known))
    except ValueError as error:
        return Composed(id_, kind, (), verdict.premises, str(error))
    left = len(argument.goals) - len({one.part for one in argument.conclusions})
    without = "" if found else "its claim is in words"
    if left:
        without = f"{left} of {len(argument.goals)} claims are orders, rates, or decided in another way"
    return Composed(id_, kind, found, verdict.premises, without)
