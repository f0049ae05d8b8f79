"""The studies as tasks: `fedtheory record experiments`, and the points that a report measures again."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fedtheory.bounds.studies import Numbers, Study
from fedtheory.figures import gallery
from fedtheory.figures.files import writable, write
from fedtheory.store import ROOT, code
from fedtheory.tasks import Progress, Task, Workshop
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Verdict
from fedtheory.verification import failed


@cache
def studies(paper: str) -> dict[str, Study]:
    """The studies that a paper's figures show, by the names of their records."""
    found = [picture.study() for picture in gallery.pictures(paper) if picture.study is not None]
    return {study.name: study for study in found}


def _papers() -> dict[str, str]:
    """The name of each record -> its paper."""
    return {name: paper for paper in catalogue.papers() for name in studies(paper)}


def at_point(paper: str, name: str, point: str) -> Numbers | Verdict:
    """The numbers of a study at a point now, or the error that this ends in."""
    try:
        return studies(paper)[name].at(point)
    except Exception as error:
        return failed(error, f"{name}, {point}")


@cache
def _task(paper: str, name: str, point: str, long: bool = False) -> Task:
    where = worker_of(paper, name)
    return Task("measuring experiments", where, "experiment", at_point, (paper, name, point), long=long)


def worker_of(paper: str, study: str) -> str:
    """Whose worker a study is for: one about several papers would make the paper's other results depend on all of them."""
    return paper if study.startswith(f"{paper}_") else "several papers"


def record(names: Sequence[str], tell: Progress | None = None, workshop: Workshop | None = None) -> list[Path]:
    """Measure studies, by the names of their records, all if there are none, and write their records.

    Raises UnknownName for an unknown name; ValueError where a record cannot be written, before the work, and for a point
    that ends in an exception: then no record is written.
    """
    papers = _papers()
    for name in names:
        if name not in papers:
            raise catalogue.unknown("experiment", name, list(papers))
    own = {name: studies(paper)[name] for name, paper in papers.items() if name in names or not names}
    for study in own.values():
        writable(study.file)
    tasks = {(name, point): _task(papers[name], name, point) for name, study in own.items() for point in study.points()}
    found = dict(zip(tasks, (workshop or Workshop()).do(list(tasks.values()), tell), strict=True))
    if errors := [one.says for one in found.values() if isinstance(one, Verdict)]:
        raise ValueError("; ".join(errors))
    for name, study in own.items():
        write(study.file, study.text({point: found[name, point] for point in study.points()}).encode())
    return [study.file for study in own.values()]


@dataclass(frozen=True)
class Again:
    """A point of a study that is measured again: the commit chooses which."""

    paper: str
    name: str
    point: str

    @property
    def task(self) -> Task:
        """The task to measure it."""
        return _task(self.paper, self.name, self.point, long=True)

    def says(self, found: Numbers | Verdict) -> str:
        """What is wrong with the record, in words; empty if nothing is."""
        study = studies(self.paper)[self.name]
        if isinstance(found, Verdict):
            return found.says
        if not study.same(self.point, found):
            return f"{self.name}: at {self.point} the numbers are others now"
        return f"{self.name}: made by older code" if study.old else ""


def again() -> list[Again]:
    """A point of each study on record."""
    number, chosen = int(commit(), 16), []
    for name, paper in _papers().items():
        study = studies(paper)[name]
        points = list(study.points())
        if study.file.exists():
            chosen.append(Again(paper, name, points[number % len(points)]))
    return chosen


def commit() -> str:
    """The commit, or where there is none a digest of the code."""
    try:
        asked = subprocess.run(
            ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return code()
    return asked.stdout.strip()
