"""Why steps of proofs hold: a certificate, z3, Coq's kernel as it is on record; what proofs rest on as theorems in Coq."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fedtheory.coq import record_of
from fedtheory.theory.proofs import algorithms, every_record, scenes
from fedtheory.theory.statement import Status, Verdict
from fedtheory.verification import Checked


@dataclass(frozen=True)
class Agreed:
    """The different steps of proofs, and for how many of them there is more than z3's word.

    certified  by how many a certificate was checked in exact arithmetic
    coq        how many Coq's kernel has accepted
    algorithms  how many theorems in Coq are about an algorithm, and how many of these say that a printed claim is false
    quantities  how many conclusions of proofs that stand are theorems in Coq about quantities of a round or a run;
                without those that suppose what a recursion says of all rounds
    without_certificate, without_coq  ids of the statements whose proofs have other steps
    """

    steps: int
    certified: int
    coq: int
    algorithms: tuple[int, int]
    quantities: int
    without_certificate: tuple[str, ...]
    without_coq: tuple[str, ...]

    def __str__(self) -> str:
        said = {"certificate": self.certified, "Coq": self.coq}
        all_ = [name for name, count in said.items() if count == self.steps]
        some = [f"{name}: {count} of {self.steps} steps" for name, count in said.items() if count < self.steps]
        some += ["z3 alone: the others"] if self.certified < self.steps else []
        several = "theorem" if self.quantities == 1 else f"{self.quantities} theorems"
        composed = [f"{several} about quantities in Coq"] if self.quantities else []
        return "; ".join([*([", ".join(all_)] if all_ else []), *some, *composed])


def agreed(checked: Sequence[Checked]) -> Agreed:
    """Who agrees on all steps of these statements' proofs."""
    about = {c.statement.id for c in checked if algorithms.theorem_of(c.statement.id)}
    verdicts = ((c.statement.id, c.statement.paper, e.kind, v) for c in checked for e, v in c.verdicts)
    return _agreed(verdicts, about)


def opinions(checked: Checked) -> str:
    """Who agrees on the proofs of a statement, or on what refutes it, in words; empty if nobody does."""
    id_, paper = checked.statement.id, checked.statement.paper
    shown = [(e, v) for e, v in checked.verdicts if v.steps and v.status in (Status.PROVED, Status.CONDITIONAL)]
    said = [str(_agreed((id_, paper, e.kind, v) for e, v in shown))] if shown else []
    if algorithms.theorem_of(id_):
        said.append("refuted in Coq" if id_ in algorithms.REFUTED else "theorem about the algorithm in Coq")
    return "; ".join(said)


def constants(papers: Iterable[str]) -> tuple[int, int]:
    """Of how many best constants Coq's kernel has accepted the proof, and how many are on file."""
    counts = []
    for paper in papers:
        kept = {k: one["upper"] for k, one in scenes.kept(paper).items() if isinstance(one, dict) and "upper" in one}
        accepted = {**record_of(paper).constants, **{key: told for key, (told, _) in record_of(paper).every.items()}}
        kept |= every_record.on_file(paper)
        counts.append((len(kept.items() & accepted.items()), len(kept)))
    return sum(accepted for accepted, _ in counts), sum(on_file for _, on_file in counts)


@dataclass(frozen=True)
class InCoq:
    """A proof as theorems that Coq's kernel has accepted.

    names     of the theorems
    rests_on  kind of premise -> what `Print Assumptions` prints
    instance  whether numbers are known for which all hypotheses hold, for each theorem
    """

    statement: str
    kind: str
    names: tuple[str, ...]
    rests_on: Mapping[str, tuple[str, ...]]
    instance: bool

    @property
    def premises(self) -> str:
        """What they rest on, in one line; empty for nothing but conditions and definitions."""
        return "; ".join(f"{title}: {', '.join(names)}" for title, names in self.rests_on.items())


SHOWN = {
    "claim": "claims",
    "rule": "rules",
    "algorithm": "algorithms",
    "inference": "inferences in words",
    "member": "sums over a family",
    "meaning": "meanings",
    "defined": "divisors",
}


def in_coq(checked: Checked) -> list[InCoq]:
    """The proofs of a statement as theorems in Coq, as far as Coq has accepted what these proofs conclude now."""
    found = []
    for e, v in checked.verdicts:
        theirs = record_of(checked.statement.paper).theorems.items()
        own = {n: o for n, o in theirs if (o.statement, o.kind) == (e.statement, e.kind) and o.digest in v.theorems}
        if own and v.status in (Status.PROVED, Status.CONDITIONAL):
            premises = {premise for one in own.values() for premise in one.premises}
            rests_on = {t: tuple(sorted(said for k, said in premises if k == kind)) for kind, t in SHOWN.items()}
            shown = {title: names for title, names in rests_on.items() if names}
            instance = all(one.instance is not None for one in own.values())
            found.append(InCoq(e.statement, e.kind, tuple(own), shown, instance))
    return found


def _agreed(verdicts: Iterable[tuple[str, str, str, Verdict]], about: Collection[str] = ()) -> Agreed:
    steps: set[str] = set()
    accepted: set[str] = set()
    uncertified: set[str] = set()
    theorems: set[str] = set()
    without_certificate: dict[str, None] = {}
    without_coq: dict[str, None] = {}
    for id_, paper, kind, verdict in verdicts:
        own = set(verdict.steps)
        there = own & record_of(paper).steps
        steps |= own
        accepted |= there
        uncertified |= set(verdict.uncertified)
        proofs = record_of(paper).theorems.items()
        if verdict.status in (Status.PROVED, Status.CONDITIONAL):
            own_proofs = {name: one for name, one in proofs if (one.statement, one.kind) == (id_, kind)}
            theorems |= {name for name, one in own_proofs.items() if one.digest in verdict.theorems}
        if verdict.uncertified:
            without_certificate[id_] = None
        if there < own:
            without_coq[id_] = None
    proved = len(steps) - len(uncertified)
    of_algorithms = len(about), len(algorithms.REFUTED.keys() & set(about))
    return Agreed(
        len(steps), proved, len(accepted), of_algorithms, len(theorems), tuple(without_certificate), tuple(without_coq)
    )
