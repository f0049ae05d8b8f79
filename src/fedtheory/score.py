"""The score of a statement: how many changes of it its evidence notices, counted by part.

It shows on which parts the verdict depends.  After a change that is missed the verdict is as good as before.  A change is
undecided if no instance refutes it, but a proof fails, or the tests give other numbers: the evidence reads what was
changed, and the changed statement may be true.  All scores take hours, so they are stored in `score.json`.  An entry counts
as long as its statement, its verdicts and the parts that are changed stay the same.  `fedtheory record scores` computes
the missing entries.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

from fedtheory.figures.files import write
from fedtheory.tasks import Progress, Task, Workshop
from fedtheory.texts import significant
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import mutation
from fedtheory.theory.proofs.mutation import Part
from fedtheory.theory.statement import Evidence, Status, Verdict
from fedtheory.verification import Checked, evidence, verify

FILE = Path(__file__).with_name("score.json")
SCORED = (Status.PROVED, Status.CONDITIONAL, Status.TESTED)


@dataclass(frozen=True)
class Score:
    """The score of one statement that is proved, conditional or tested.

    key        hash of the statement, its verdicts and the parts that are changed
    verdict    proved, conditional or tested
    parts      part -> (changes noticed, changes), without the changes in `needless`; what is undecided is not noticed
    by         kind of evidence -> number of changes that it was seen to notice
    missed     the changes after which the verdict is as good as before
    undecided  the changes that the evidence reads (a proof fails, or the tests give other numbers) and does not refute
    needless   conditions and assumptions that a recorded proof does not need
    """

    key: str
    verdict: Status
    parts: Mapping[Part, tuple[int, int]]
    by: Mapping[str, int]
    missed: tuple[str, ...]
    undecided: tuple[str, ...]
    needless: tuple[str, ...]


def key(checked: Checked) -> str:
    """A hash of what a statement says and assumes, of its verdicts and of the parts that are changed.

    A stored score with another one is outdated.
    """
    s = checked.statement
    given = sorted((str(name), constants) for name, constants in catalogue.properties(s).items())
    says = (s.claim, s.also, s.when, sorted(s.where.items(), key=str), s.assumes, given, s.corrects)
    slacks = [
        significant(v.slack) if v.premises and v.slack is not None else "" for _, v in checked.verdicts
    ]  # a solver's
    verdicts = [(e.kind, v.status, v.added, slack) for (e, v), slack in zip(checked.verdicts, slacks, strict=True)]
    return sha256(repr((says, verdicts, get_args(Part))).encode()).hexdigest()[:16]


def score(checked: Checked) -> Score:
    """Run a statement's evidence on every change of it."""
    found = mutation.noticed(checked.statement, checked.verdicts)
    needless = tuple(n.change.what for n in found if n.needless)
    found = [n for n in found if not n.needless]
    all_, seen = Counter(n.change.part for n in found), Counter(n.change.part for n in found if n.still is None)
    return Score(
        key(checked),
        checked.status,
        {part: (seen[part], all_[part]) for part in get_args(Part) if all_[part]},
        dict(sorted(Counter(kind for n in found for kind in n.by).items())),
        tuple(n.change.what for n in found if n.still is not None and not n.undecided),
        tuple(n.change.what for n in found if n.undecided),
        needless,
    )


def _score(id_: str, verdicts: Sequence[tuple[str, Verdict]]) -> Score:
    statement = catalogue.find(id_)
    known: dict[str, Evidence] = {e.kind: e for e in evidence(statement.paper) if e.statement == id_}
    return score(Checked(statement, tuple((known[kind], v) for kind, v in verdicts)))


def scores(
    checked: Iterable[Checked], tell: Progress | None = None, workshop: Workshop | None = None
) -> dict[str, Score]:
    """The scores of the statements that are proved, conditional or tested."""
    chosen = {c.statement.id: c for c in checked if c.status in SCORED}
    tasks = [
        Task(
            "changing statements",
            c.statement.paper,
            "score",
            _score,
            (id_, [(e.kind, v) for e, v in c.verdicts]),
            kept=False,
        )
        for id_, c in chosen.items()
    ]
    return dict(zip(chosen, (workshop or Workshop()).do(tasks, tell), strict=True))


@cache
def _stored() -> dict[str, Score]:
    if not FILE.exists():
        return {}
    return {id_: _read(one) for id_, one in json.loads(FILE.read_text()).items()}


def _read(one: dict[str, Any]) -> Score:
    parts = {part: (seen, of) for part, (seen, of) in one["parts"].items()}
    lists = (tuple(one[name]) for name in ("missed", "undecided", "needless"))
    return Score(one["key"], Status(one["verdict"]), parts, one["by"], *lists)


def known(checked: Iterable[Checked]) -> dict[str, Score]:
    """The stored scores that are not outdated."""
    return {c.statement.id: one for c in checked if (one := _stored().get(c.statement.id)) and one.key == key(c)}


MEASURED = "numbers"  # results and settings of experiments: another number is another measurement, not another claim


def totals(several: Iterable[Score]) -> dict[str, tuple[int, int]]:
    """part -> (changes noticed, changes); `all` counts every part but measured numbers."""
    found: dict[str, tuple[int, int]] = {}
    for one in several:
        for part, (seen, of) in one.parts.items():
            for name in (part, *(["all"] if part != MEASURED else [])):
                before = found.get(name, (0, 0))
                found[name] = before[0] + seen, before[1] + of
    return {part: found[part] for part in (*get_args(Part), "all") if part in found}


@dataclass(frozen=True)
class ScoreCount:
    """How many changes of statements are noticed, by the verdicts of `SCORED`.

    rows       part that is changed -> for each verdict (changes noticed, changes)
    undecided  for each verdict
    scored     how many of the `of` statements with these verdicts have a score
    """

    rows: Mapping[str, list[tuple[int, int]]]
    undecided: list[int]
    scored: int
    of: int


def noticed(checked: Iterable[Checked], scores: Mapping[str, Score]) -> ScoreCount:
    """The changes of these statements, counted."""
    chosen = [c.statement.id for c in checked if c.status in SCORED]
    own = [[s for id_ in chosen if (s := scores.get(id_)) and s.verdict is verdict] for verdict in SCORED]
    found = [totals(some) for some in own]
    parts = dict.fromkeys(part for one in found for part in one if part not in ("all", MEASURED))
    names = {**{part: part for part in parts}, "all": "**all parts**", MEASURED: "measured numbers"}
    rows = {name: [one.get(part, (0, 0)) for one in found] for part, name in names.items()}
    undecided = [sum(len(s.undecided) for s in some) for some in own]
    return ScoreCount(rows, undecided, sum(map(len, own)), len(chosen))


def batched(items: Sequence[Checked], size: int) -> Iterator[Sequence[Checked]]:
    """The items in batches of `size`; one empty batch if there are none."""
    for start in range(0, len(items) or 1, size):
        yield items[start : start + size]


def record(tell: Progress) -> None:
    """Compute the missing scores; write the file after each batch."""
    checked = verify([s.id for s in catalogue.statements()], progress=tell)
    found = known(checked)
    for some in batched([c for c in checked if c.statement.id not in found], 16):
        found |= scores(some, tell)
        ordered = {c.statement.id: asdict(found[c.statement.id]) for c in checked if c.statement.id in found}
        write(FILE, (json.dumps(ordered, indent=1) + "\n").encode())
    print(f"written: {FILE}, {len(ordered)} statements")
