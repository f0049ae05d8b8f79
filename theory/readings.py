"""The standard of charity: what is read into a statement before it is accused, by one table for all papers.

A statement is checked as it is listed.  If a check refutes it so, or a proof breaks, the check runs again with what the
standard adds.  The paper is accused only if the statement fails then, too.  A statement that needs an addition is never
`proved`: its verdict names the addition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fedtheory.theory import catalogue
from fedtheory.theory.proofs.arithmetic import Recording, adopt, recorded
from fedtheory.theory.statement import Charity, Evidence, Statement, Status, Verdict

RULES: Mapping[Charity, str] = {
    "draws": "Clients draw their mini-batches independently of each other, and anew in each step.",
    "compressors": "Clients' compressors draw independently, unless an assumption says how they depend on each other.",
    "meaning": "An assumption means what its name says and its uses show, where its display says less: 'L-smooth' means a "
    "Lipschitz gradient.",
    "points": "An assumption on stochastic gradients speaks where the algorithm takes gradients.",
    "section": "A lemma of an analysis has the assumptions of that analysis: stochastic gradients are unbiased, "
    "mini-batches are smooth.",
    "start": "A memory that no line sets starts at zero.",
}
"""What the standard adds.  Its other rules are about words: docs/pages/charity.md has all of them."""


def additions(statement: Statement) -> tuple[str, ...]:
    """Ids of the assumptions that the standard reads into a statement; none if its paper is not in the catalogue."""
    if statement.paper not in catalogue.names():  # a paper in a notebook
        return ()
    return tuple(r.adds for r in catalogue.paper(statement.paper).readings if r.into(statement))


def judge(evidence: Evidence, statement: Statement, full: bool = False) -> Verdict:
    """The verdict of a check on a statement, read with charity.

    As listed, if the check does not speak against it, or if no reading helps.  Else with as few additions as the check
    needs: `conditional` in place of `proved`.
    """

    def read(added: tuple[str, ...]) -> tuple[Verdict, Recording]:
        with recorded() as recording:
            return evidence.check(replace(statement, assumes=(*statement.assumes, *added)), full), recording

    listed, recording = read(())
    every = additions(statement)
    if evidence.kind == "units" or listed.status not in (Status.REFUTED, Status.BROKEN) or not every:
        adopt(recording)
        return listed
    best, best_recording = read(every)
    if best.status not in (Status.PROVED, Status.TESTED):
        adopt(recording)  # a proof that fails either way: its steps are those of the statement as listed
        return best if best.status is listed.status else listed
    needed = every
    for one in every:
        fewer = tuple(other for other in needed if other != one)
        if not fewer:
            continue  # as listed
        trial, trial_recording = read(fewer)
        if trial.status is best.status:
            needed, best, best_recording = fewer, trial, trial_recording
    adopt(best_recording)
    status = Status.CONDITIONAL if best.status is Status.PROVED else best.status
    without = listed.says if listed.status is Status.REFUTED else ""
    return replace(best, status=status, added=needed, without=without)
