"""What the search in the bar of every page looks in: statements, findings, errata, symbols, and lists by severity."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from fedtheory import glossary
from fedtheory.site.typeset import typeset
from fedtheory.texts import SEVERITY_SAYS, value_text
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Claim, Order, Record, Relations, Severity, Status, Words
from fedtheory.verification import Checked

PLAINLY_FALSE: Severity = "breaks the statement"


@dataclass(frozen=True)
class SearchEntry:
    """Something to find.

    kind       what it is, as a result shows it
    title      what counts most
    place      where it stands
    words      what else a reader may type
    url        where a result leads
    statement  the statement that it is about, "" if none
    status     the verdict of that statement, "" if none is shown
    shown      what a result shows below its title, as HTML
    """

    kind: str
    title: str
    place: str
    words: str
    url: str
    statement: str = ""
    status: str = ""
    shown: str = ""


def index(checked: Sequence[Checked]) -> str:
    """A script that defines FEDTHEORY_INDEX, a list of entries in the order of their fields."""
    entries = [*_lists(checked), *_findings(checked), *map(_statement, checked), *_errata(checked), *_symbols()]
    rows = [[e.kind, e.title, e.place, e.words, e.url, e.statement, e.status, e.shown] for e in entries]
    return f'"use strict";\nwindow.FEDTHEORY_INDEX={json.dumps(rows, ensure_ascii=False, separators=(",", ":"))};\n'


def address(id_: str) -> str:
    """The page of a statement."""
    return f"{id_}.html"


def listed(severity: Severity | None) -> str:
    """The list of the printed statements that are refuted with this severity, on the overview."""
    asked = {"form": "printed", "verdict": "refuted", "severity": severity or "none"}
    return f"index.html#{urlencode(asked)}"


def place_words(place: str) -> str:
    """A place in the words that a reader types: (54) is equation 54."""
    return re.sub(r"\((?=\d+\))", "equation (", place)


def _lists(checked: Sequence[Checked]) -> list[SearchEntry]:
    found = []
    for severity, says in SEVERITY_SAYS.items():
        of_it = sum(c.severity == severity and c.statement.form == "printed" for c in checked)
        words = "plainly false statements severity" if severity == PLAINLY_FALSE else "severity"
        told = f"{of_it} refuted statements: {says}"
        found += [SearchEntry("list", severity, "", f"{words} {says}", listed(severity), shown=told)] if of_it else []
    return found


def _findings(checked: Sequence[Checked]) -> list[SearchEntry]:
    known = {c.statement.id: c for c in checked if c.against}
    return [
        SearchEntry(
            "finding",
            f.title,
            place_words(f"{paper.name} {f.statement}, {catalogue.find(f.statement).place}"),
            f"{f.says} {f.matters}",
            f"index.html#finding.{f.statement}",
            f.statement,
            str(known[f.statement].status),
        )
        for paper in catalogue.papers().values()
        for f in paper.findings
        if f.statement in known
    ]


def _statement(checked: Checked) -> SearchEntry:
    s = checked.statement
    said = [text for claim in (s.claim, *s.also) for text in _said(claim)]
    words = " ".join([s.kind, s.form, checked.headline, *said, s.note])
    return SearchEntry(s.kind, s.id, place_words(s.place), words, address(s.id), s.id, str(checked.status))


def _said(claim: Claim) -> list[str]:
    """The words of a claim, and the names of its terms."""
    if isinstance(claim, Words):
        return [claim.text]
    if isinstance(claim, Record):
        return [*claim.claims, *(f"{name} {value_text(value, str)}" for name, value in claim.settings.items())]
    if isinstance(claim, Bound | Order | Relations):
        names = [t.name.replace("_", " ") for t in claim.terms]
        return [*names, claim.words] if isinstance(claim, Relations) else names
    return []


def _errata(checked: Sequence[Checked]) -> list[SearchEntry]:
    status = {c.statement.id: c.status for c in checked}
    return [
        SearchEntry(
            "erratum",
            e.severity,
            place_words(f"{e.statement}, {catalogue.find(e.statement).place}"),
            f"{e.printed} {e.true}",
            address(e.statement),
            e.statement,
            str(status.get(e.statement, Status.OPEN)),
            typeset(e.printed),
        )
        for name in catalogue.papers()
        for e in catalogue.paper(name).errata
        if e.statement in status
    ]


def _symbols() -> list[SearchEntry]:
    return [
        SearchEntry(
            "symbol",
            row["symbol"],
            row["paper"],
            row["meaning"],
            f"glossary.html#{row['paper']}.{row['symbol']}",
            shown=typeset(row["meaning"]),
        )
        for row in glossary.rows()
    ]
