"""The steps and theorems of all proofs in Coq: their files, and the record of what Coq's kernel accepts.

    fedtheory record coq [--constants] [PAPER ...]

finds missing certificates (theory/PAPER/checks/steps.json), has coqc compile all of them, and writes what was accepted to
theory/PAPER/checks/coq.json.  Whoever changes a proof runs it again.  With --constants it does this for the best constants,
which takes longer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from fedtheory.bounds import worst_cases
from fedtheory.brackets import needed
from fedtheory.composed import Composed, composed_of
from fedtheory.figures.files import whole, writable, write
from fedtheory.plugins import packages
from fedtheory.tasks import Progress, Task, Workshop
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import algorithms, every_lemma, every_record, kernel, library, premises, scenes, squares
from fedtheory.theory.proofs.arithmetic import recorded
from fedtheory.theory.proofs.certificates import Certificate, read, write as write_certificates
from fedtheory.theory.proofs.composition import CoqTheorem
from fedtheory.theory.proofs.coq import lemma
from fedtheory.theory.proofs.search import certificate
from fedtheory.theory.proofs.sequents import Sequent
from fedtheory.theory.proofs.tight import Programme
from fedtheory.theory.readings import judge
from fedtheory.theory.statement import EvidenceKind
from fedtheory.verification import evidence, measurements_of

# These ask z3; of runs, those without an arena
KINDS: tuple[EvidenceKind, ...] = ("ledger", "repair", "derivation", "certificate", "counterexample", "run")
# Steps of these proofs have no certificate: the search finds no products that add up; fig3 has cube roots
WITHOUT = ("fedcom.corE10.corrected", "fedcom.rem7", "fedcom.rem8.corrected", "sfl.fig3")

# Its polynomials are positive by too little for a short proof
WITHOUT_FOR_EVERY_COUNT = ("sfl.eq70 S=2 K=1 L=1 mu=1/10 sigma=0 eta_tilde=1/6: sampling",)

_CONSTANTS = 10  # in a file: most take less than a second, the largest some ten
_DIGITS = 30_000  # of a programme's coefficients; with more, as in long runs, coqc takes minutes and gigabytes

Steps = Mapping[Sequent, Sequence[str]]  # each with the ids of the statements whose proofs use it


@dataclass(frozen=True)
class Accepted:
    """A theorem that Coq's kernel has accepted.

    statement, kind  the proof that it is
    digest    of what it says
    premises  kind and name of each hypothesis that `Print Assumptions` prints for it
    instance  numbers, as text, for which all of its hypotheses hold; None if none are found
    """

    statement: str
    kind: EvidenceKind
    digest: str
    premises: tuple[tuple[str, str], ...]
    instance: Mapping[str, str] | None


@dataclass(frozen=True)
class CoqRecord:
    """What Coq's kernel has accepted of a paper.

    steps      digests of steps
    theorems   by their names in Coq
    constants  key of the programme of a best constant -> the upper end of its bracket
    every      name of a constant for every number of clients -> digests of what is on file of it, and of its lemma
    """

    steps: frozenset[str] = frozenset()
    theorems: Mapping[str, Accepted] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    every: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def record_of(paper: str) -> CoqRecord:
    """A paper's record; an empty one if it has none."""
    file = _file(paper, "coq.json")
    return _read(file) if file.exists() else CoqRecord()


@cache
def _read(file: Path) -> CoqRecord:
    data = json.loads(file.read_text())
    theorems = {
        name: Accepted(**{**one, "premises": tuple((kind, said) for kind, said in one["premises"])})
        for name, one in data["theorems"].items()
    }
    every = {name: (told, lemma) for name, (told, lemma) in data["every"].items()}
    return CoqRecord(frozenset(data["steps"]), theorems, data["constants"], every)


def _write(paper: str, record: CoqRecord) -> None:
    parts = {
        "steps": ("[]", [json.dumps(digest) for digest in sorted(record.steps)]),
        "theorems": ("{}", [f'"{name}": {json.dumps(asdict(one))}' for name, one in sorted(record.theorems.items())]),
        "constants": ("{}", [f'"{key}": "{upper}"' for key, upper in sorted(record.constants.items())]),
        "every": ("{}", [f'"{name}": {json.dumps(digests)}' for name, digests in sorted(record.every.items())]),
    }
    lines = ",\n".join(
        f'"{name}": {ends[0]}\n' + ",\n".join(own) + f"\n{ends[1]}" for name, (ends, own) in parts.items()
    )
    write(_file(paper, "coq.json"), f"{{{lines}}}\n".encode())
    _read.cache_clear()


def _file(paper: str, name: str) -> Path:
    return scenes.file_of(paper).with_name(name)


# The steps and their certificates


def steps_of(
    papers: Sequence[str], tell: Progress | None = None, workshop: Workshop | None = None
) -> dict[str, dict[Sequent, list[str]]]:
    """The different steps that are proved in the proofs of each paper, in order."""
    tasks = {
        (e.statement, e.kind): Task("collecting steps", paper, e.kind, collected, (e.statement, e.kind))
        for paper in papers
        for e in evidence(paper)
        if e.kind in KINDS and not measurements_of(e.statement, e.kind, False)
    }
    found: dict[str, dict[Sequent, list[str]]] = {paper: {} for paper in papers}
    for task, steps in zip(tasks.values(), (workshop or Workshop()).do(list(tasks.values()), tell), strict=True):
        for step in steps:
            users = found[task.paper].setdefault(step, [])
            if task.arguments[0] not in users:
                users.append(task.arguments[0])
    return found


def collected(id_: str, kind: str) -> tuple[Sequent, ...]:
    """The different steps that are proved when a piece of evidence is checked."""
    statement = catalogue.find(id_)
    (own,) = (e for e in evidence(statement.paper) if (e.statement, e.kind) == (id_, kind))
    with recorded() as recording:
        judge(own, statement)
    return recording.steps


def certificates(paper: str, steps: Steps, tell: Progress | None = None) -> dict[str, Certificate]:
    """The paper's certificates by the digests of their steps: those on file, and new ones for the steps without."""
    found = read(_file(paper, "steps.json"))
    missing = [step for step in steps if step.digest not in found]
    for done, step in enumerate(missing, start=1):
        if (new := _certificate(step)) is not None:
            found[step.digest] = new
        if tell:
            tell("finding certificates", done, len(missing))
    return found


def _certificate(step: Sequent) -> Certificate | None:
    try:
        return certificate(step)
    except ValueError:  # Coq is not told of roots other than square roots, nor of exp and log
        return None


# Files


def name_of(step: Sequent) -> str:
    """The name of a step's lemma."""
    return f"step_{step.digest}"


def lemmas(steps: Steps, certificates: Mapping[str, Certificate]) -> dict[str, str]:
    """The lemmas of the steps that have certificates, by name; above each, the statements whose proofs use it."""
    return {
        name_of(step): f"(* {', '.join(users)} *)\n{lemma(name_of(step), step, certificates[step.digest])}"
        for step, users in steps.items()
        if step.digest in certificates
    }


_HEAD = """(* {title}: the steps of the proofs of its statements, and these as theorems.

   What this file certifies: a lemma `step_...` is one step of a proof, about real numbers.  A theorem `..._claim` says: if
   these numbers, of a round or of each round of a run, satisfy the hypotheses of its section, they satisfy the claim.
   What it does not certify: that the numbers are what they are named after (no algorithm, no expectation and no function
   is defined here); that a hypothesis `rule_...` is an instance of the rule with its name; that a hypothesis `claim_...`,
   another statement, holds, or that the proof of the statement stands.
   Theorems about the algorithms themselves are in theory/kernel. *)
"""


def text(paper: str, steps: Steps, certificates: Mapping[str, Certificate], proofs: Sequence[Composed] = ()) -> str:
    """The whole file of a paper."""
    head = _HEAD.format(title=catalogue.paper(paper).title)
    return head + kernel.document({**lemmas(steps, certificates), **_texts(proofs)}, kernel.OF_THEOREMS)


def _texts(proofs: Sequence[Composed]) -> dict[str, str]:
    return {one.name: f"(* {proof.statement} *)\n{one.text}" for proof in proofs for one in proof.theorems}


def with_those_of_theorems(steps: Steps, proofs: Sequence[Composed], guards: bool = False) -> Steps:
    """The steps, and those that theorems use besides: signs, and with `guards` that what they divide by is not zero."""
    found = {step: list(users) for step, users in steps.items()}
    for proof in proofs:
        for theorem in proof.theorems:
            for step in (*theorem.steps.values(), *(theorem.guards if guards else ())):
                users = found.setdefault(step, [])
                if proof.statement not in users:
                    users.append(proof.statement)
    return found


def export(
    folder: Path, papers: Sequence[str], tell: Progress | None = None, workshop: Workshop | None = None
) -> list[str]:
    """Write our libraries, a file for each paper, and a _CoqProject; returns a line for each paper.

    Raises ValueError if the folder cannot be used.
    """
    for name in (
        *(f.name for f in (kernel.LIBRARY, *library.FILES)),
        *(f"{paper}.v" for paper in papers),
        "_CoqProject",
    ):
        writable(folder / name, mark=kernel.LIBRARY.name if name == "_CoqProject" else "")
    every, proofs = steps_of(papers, tell, workshop), composed_of(papers, tell, workshop)
    texts, told = {file.name: file.read_text() for file in (kernel.LIBRARY, *library.FILES)}, []
    for paper, own in every.items():
        steps = with_those_of_theorems(own, proofs[paper])
        found = certificates(paper, steps, tell)
        texts[f"{paper}.v"] = text(paper, steps, found, proofs[paper])
        there = sum(step.digest in found for step in own)
        told.append(f"{paper}.v: {there} of {len(own)} steps, {len(_texts(proofs[paper]))} theorems about quantities")
    texts["_CoqProject"] = "\n".join(['-Q . ""', *texts]) + "\n"
    for name, content in texts.items():
        write(folder / name, content.encode())
    return told


# The record


@dataclass(frozen=True)
class Missing:
    """A step that Coq's kernel has not accepted, and the statements whose proofs use it.

    refused  what coqc says against it; empty: it has no certificate
    """

    step: Sequent
    users: tuple[str, ...]
    refused: str

    def __str__(self) -> str:
        why = f"refused: {' '.join(self.refused.split())}" if self.refused else "no certificate"
        return f"{name_of(self.step)} ({', '.join(self.users)}): {why}"

    @property
    def known(self) -> bool:
        """Whether it is one of those that are known to be without a certificate."""
        return not self.refused and set(self.users) <= set(WITHOUT)


@dataclass(frozen=True)
class Refused:
    """A theorem that Coq's kernel has not accepted, or that rests on something else than its hypotheses."""

    name: str
    says: str

    def __str__(self) -> str:
        return f"{self.name}: {' '.join(self.says.split())}"


def accept(
    paper: str, steps: Steps, proofs: Sequence[Composed], tell: Progress | None = None
) -> list[Missing | Refused]:
    """Find missing certificates, compile all, write both files of a paper.  Returns what is not accepted.

    Raises FileNotFoundError without coqc.
    """
    wanted = with_those_of_theorems(steps, proofs)
    found = certificates(paper, wanted, tell)
    _keep(paper, {step.digest: found[step.digest] for step in wanted if step.digest in found})
    with TemporaryDirectory() as folder:
        answer = kernel.answer(lemmas(wanted, found), Path(folder), _texts(proofs))
    missing: list[Missing | Refused] = [
        Missing(step, tuple(users), answer.refused.get(name_of(step), ""))
        for step, users in wanted.items()
        if step.digest not in found or name_of(step) in answer.refused
    ]
    accepted = [s for s in wanted if s.digest in found and name_of(s) not in answer.refused]
    assumed, theorems = premises.printed(answer.printed), dict[str, Accepted]()
    for proof in proofs:
        for one in proof.theorems:
            says = answer.refused.get(one.name) or _unlisted(one, assumed[one.name])
            if says:
                missing.append(Refused(one.name, says))
            else:
                theorems[one.name] = _accepted(proof, one, assumed[one.name])
    _write(paper, replace(record_of(paper), steps=frozenset(s.digest for s in accepted), theorems=theorems))
    return missing


def accept_constants(paper: str, tell: Progress | None = None) -> dict[str, str]:
    """Have Coq check the proofs of a paper's best constants, and write what it accepts.  Returns what it refuses.

    Raises FileNotFoundError without coqc.
    """
    uppers, lemmas = dict[str, str](), dict[str, str]()
    for key, programme in with_brackets(paper).items():
        told = scenes.kept(paper)[key]
        uppers[key] = told["upper"]
        lemmas[f"constant_{key}"] = squares.lemma(f"constant_{key}", programme, scenes.read(told, programme))
    every, on_file = for_every_count(paper), every_record.on_file(paper)
    lemmas |= {_lemma_of(key): text for key, text in every.items()}
    with TemporaryDirectory() as folder:
        library.prepared(Path(folder))
        refused = kernel.answers(lemmas, Path(folder), "constants", squares.PRELUDE, _CONSTANTS, tell).refused
    accepted = {key: upper for key, upper in uppers.items() if f"constant_{key}" not in refused}
    whole = {key: (on_file[key], digest_of(text)) for key, text in every.items() if _lemma_of(key) not in refused}
    _write(paper, replace(record_of(paper), constants=accepted, every=whole))
    return dict(refused)


def with_brackets(paper: str) -> dict[str, Programme]:
    """The programmes whose brackets are on file, by their keys, but for those that are too long for Coq."""
    kept = scenes.kept(paper)
    programmes = {scenes.key(programme): programme for _, programme in needed(paper)}

    def digits(programme: Programme) -> int:
        return sum(len(str(c)) for form in programme.forms for c in form.products.values())

    return {key: p for key, p in programmes.items() if isinstance(kept.get(key), dict) and digits(p) <= _DIGITS}


def for_every_count(paper: str) -> dict[str, str]:
    """The lemmas of a paper's constants for every number of clients, by their names on file, but for those without one."""
    rounds, found = worst_cases.rounds(paper), dict[str, str]()
    for entry, told in every_record.kept(paper).items():
        for one in every_record.read(entry, told or {}, rounds):
            key = f"{entry}: {one.term}"
            if key not in WITHOUT_FOR_EVERY_COUNT:
                found[key] = every_lemma.lemma(_lemma_of(key), one.search.above, one.proof)
    return found


def _lemma_of(key: str) -> str:
    return f"every_{digest_of(key)}"


def digest_of(text: str) -> str:
    """A short name for a text."""
    return sha256(text.encode()).hexdigest()[:16]


def _keep(paper: str, found: Mapping[str, Certificate]) -> None:
    with whole(_file(paper, "steps.json")) as partial:
        write_certificates(partial, found)


def _unlisted(theorem: CoqTheorem, assumed: Iterable[str]) -> str:
    """What a theorem rests on that is no hypothesis of it, in words; empty if there is nothing."""
    found = premises.unlisted(theorem, assumed)
    return f"rests on {', '.join(sorted(found))}" if found else ""


def _accepted(proof: Composed, theorem: CoqTheorem, assumed: Iterable[str]) -> Accepted:
    numbers = premises.instance(theorem)
    instance = None if numbers is None else {name: str(value) for name, value in numbers.items()}
    rests_on = tuple(sorted(premises.premises(theorem, assumed)))
    return Accepted(proof.statement, proof.kind, theorem.digest, rests_on, instance)


def _papers(names: Sequence[str]) -> list[str]:
    """The papers, by default all here.  Exits where coqc is not installed; raises UnknownName."""
    if which("coqc") is None:
        sys.exit("coqc is not installed: expected Coq, as `make coq` installs it")
    return [catalogue.paper(name).name for name in names or catalogue.names() if name not in packages()]


def record(names: Sequence[str], tell: Progress, work: Workshop) -> None:
    """Do this for papers, by default for all here; exit status 1 for a step that is newly missing."""
    papers = _papers(names)
    record_algorithms()
    every = steps_of(papers, tell, work)
    proofs = composed_of(papers, tell, work)
    learnt = [_learnt(paper, with_those_of_theorems(every[paper], proofs[paper], True), tell) for paper in papers]
    if any(learnt):
        proofs = composed_of(papers, tell, work)  # what has a certificate now is a hypothesis no more
    missing: dict[str, list[Missing | Refused]] = {}
    for paper, steps in every.items():
        missing[paper] = accept(paper, steps, proofs[paper], tell)
        tell("compiling papers", len(missing), len(every))
    for paper, several in missing.items():
        without = {one.step for one in several if isinstance(one, Missing)}
        steps, theorems = every[paper], len(_texts(proofs[paper]))
        refused = [one for one in several if isinstance(one, Refused)]
        print(f"{paper}: Coq's kernel accepts {len(steps.keys() - without)} of {len(steps)} steps", end=", ")
        print(f"{theorems - len(refused)} of {theorems} theorems about quantities")
        for one in several:
            print(f"    without {one}")
    if not all(isinstance(one, Missing) and one.known for several in missing.values() for one in several):
        sys.exit("more is without than WITHOUT lists: expected a certificate and a proof that Coq accepts for each")


def record_algorithms() -> None:
    """Write the bounds of the theorems about algorithms, and have Coq check these; exit status 1 if it refuses one."""
    write(algorithms.BOUNDS, algorithms.bounds().encode())
    write(algorithms.PRINTED, algorithms.printed().encode())
    with TemporaryDirectory() as folder:
        try:
            algorithms.prepared(Path(folder))
        except RuntimeError as says:
            sys.exit(f"refused: {says}")
    write(algorithms.ACCEPTED, f"{algorithms.digest()}\n".encode())
    accepted, refuted = len(algorithms.THEOREMS), len(algorithms.REFUTED)
    print(
        f"Coq's kernel accepts {accepted} theorems about algorithms, and {refuted} that a printed claim is false",
        end="; ",
    )
    print(f"{len(algorithms.DRIFT)} about drift, and that these are exact")


def record_constants(names: Sequence[str], tell: Progress) -> None:
    """The same for the brackets of best constants."""
    refused: dict[str, str] = {}
    for paper in _papers(names):
        refused |= accept_constants(paper, tell)
        print(f"{paper}: Coq's kernel accepts {len(record_of(paper).constants)} best constants")
    for name, says in refused.items():
        print(f"    refused {name}: {' '.join(says.split())}")
    if refused:
        sys.exit("expected a proof that Coq accepts for each best constant")


def _learnt(paper: str, steps: Steps, tell: Progress | None) -> bool:
    """Find and keep missing certificates; whether there are new ones."""
    before = read(_file(paper, "steps.json"))
    found = certificates(paper, steps, tell)
    _keep(paper, found)
    return found.keys() > before.keys()
