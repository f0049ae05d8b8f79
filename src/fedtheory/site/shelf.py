"""The theorems of the shelf, as they were last verified: `fedtheory record shelf` writes them, the site shows them.

The shelf stands beside the four papers (`shelf/` of the repository), and the report does not verify it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from fedtheory import plugins, store
from fedtheory.figures.files import writable, write
from fedtheory.pages import premises
from fedtheory.site.formulas import of_bound
from fedtheory.tasks import Progress, Workshop
from fedtheory.theory import catalogue
from fedtheory.theory.printing import latex, rate_latex
from fedtheory.theory.statement import Bound, Rates, Statement, Status
from fedtheory.verification import Checked, verify

FILE = Path(__file__).with_name("shelf.json")
FOLDER = store.ROOT / "shelf"


@dataclass(frozen=True)
class ShelfTheorem:
    """A theorem of the shelf.

    headline  its verdict, with what that depends on
    slack     the smallest ratio of bound to measured value; None where no run meets the assumptions
    claim     the bound in LaTeX: the quantity, then term by term; of a claim of several rates, each by itself
    when      its conditions in LaTeX
    assumes   names of its assumptions
    premises  what its proof rests on, by kind; inferences in words are among them
    errata    of a printed statement: what is printed, and what is true
    """

    id: str
    status: str
    headline: str
    slack: float | None
    claim: list[list[str]]
    when: list[str]
    assumes: list[str]
    premises: Mapping[str, list[str]]
    errata: list[tuple[str, str]]


@dataclass(frozen=True)
class ShelfPaper:
    """A paper of the shelf.

    about   what its file says, by paragraphs: method and authors; then what is the paper's, and what is ours
    lines   of the file
    digest  of the file
    """

    title: str
    about: list[str]
    lines: int
    digest: str
    theorems: list[ShelfTheorem] = field(default_factory=list)

    @property
    def proved(self) -> int:
        """How many of its theorems are proved."""
        return sum(one.status == Status.PROVED for one in self.theorems)


def digest(name: str) -> str:
    """A digest of the file of a paper of the shelf as it is now."""
    return store.digest(str(FOLDER / name / "statements.py"))[:16]


@cache
def results() -> dict[str, ShelfPaper]:
    """What is on record, by the short names of the papers."""
    return {
        name: ShelfPaper(**{**row, "theorems": [ShelfTheorem(**one) for one in row["theorems"]]})
        for name, row in json.loads(FILE.read_text()).items()
    }


def record(tell: Progress | None = None, workshop: Workshop | None = None) -> Path:
    """Verify all theorems of the shelf, and write them down.  Raises ValueError where there is no shelf."""
    names = sorted(path.parent.name for path in FOLDER.glob("*/statements.py"))
    if not names:
        raise ValueError(f"{FOLDER}: expected the folder shelf/, which the repository has and an installation has not")
    writable(FILE)
    plugins.add_folder(FOLDER)
    ids = [s.id for name in names for s in catalogue.statements(name) if s.kind == "theorem"]
    checked = verify(ids, progress=tell, workshop=workshop)
    found = {name: _result(name, [c for c in checked if c.statement.paper == name]) for name in names}
    rows = {name: asdict(result) for name, result in found.items()}
    write(FILE, (json.dumps(rows, ensure_ascii=False, indent=1) + "\n").encode())
    return FILE


def _result(name: str, checked: list[Checked]) -> ShelfPaper:
    text = (FOLDER / name / "statements.py").read_text()
    about = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")
    paragraphs = [" ".join(one.split()) for one in about]
    theorems = [_theorem(c) for c in checked]
    return ShelfPaper(catalogue.paper(name).title, paragraphs, len(text.splitlines()), digest(name), theorems)


def _theorem(checked: Checked) -> ShelfTheorem:
    s = checked.statement
    proof = next((v for _, v in checked.verdicts if v.status is checked.status and v.premises), None)
    return ShelfTheorem(
        s.id,
        str(checked.status),
        checked.headline,
        checked.slack,
        [of_bound(s.paper, s.claim)] if isinstance(s.claim, Bound) else _rates(s),
        [latex(s.paper, c.relation) for c in s.when],
        [id_.partition(".")[2].replace("_", " ") for id_ in s.assumes],
        premises(proof) if proof else {},
        [(e.printed, e.true) for e in catalogue.errata(s.id)],
    )


def _rates(statement: Statement) -> list[list[str]]:
    return [[rate_latex(statement.paper, rate)] for rate in statement.claim_of(Rates).rates]
