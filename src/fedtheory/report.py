"""What there is to report about the papers: verdicts, findings, errata, better constants, who agrees.

The paper check (Markdown) and the site (HTML) read it here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from fedtheory.agreed import Agreed, InCoq, agreed, constants, in_coq
from fedtheory.sharper import least_room
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Bound, Erratum, Finding, Form, Paper, Severity, Status, Verdict
from fedtheory.verification import Checked, by_severity, count, roots

SEVERITIES = get_args(Severity)
GRAVEST = SEVERITIES[0]


@dataclass(frozen=True)
class Supported:
    """A finding that the evidence bears out, with its statement and the strongest witness against it."""

    finding: Finding
    paper: Paper
    checked: Checked

    @property
    def witness(self) -> Verdict:
        """What refutes the statement."""
        return self.checked.against[0][1]


@dataclass(frozen=True)
class ErratumVerdicts:
    """An erratum, with the verdicts on the printed statement and on the corrected one, if there is one."""

    erratum: Erratum
    printed: Checked
    corrected: Checked | None

    @property
    def against(self) -> list[str]:
        """The evidence against the printed statement or its proof, with verdicts."""
        bad = (Status.REFUTED, Status.BROKEN)
        return [f"{e.kind}: {v.status}" for e, v in self.printed.verdicts if v.status in bad]

    @property
    def by_reading(self) -> bool:
        """Whether it is a slip of the text that no verdict is about."""
        return self.erratum.severity == "misprint" and not self.erratum.corrected


@dataclass(frozen=True)
class BestConstant:
    """The best factor of a term of an inequality: between two ends, at these numbers."""

    checked: Checked
    term: str
    at: str
    ends: tuple[float, float]


@dataclass(frozen=True, eq=False)
class PaperReport:
    """A paper with the verdicts on its statements, in catalogue order."""

    paper: Paper
    checked: Sequence[Checked]

    @cached_property
    def forms(self) -> dict[Form, list[Checked]]:
        """Printed, corrected and sharper statements."""
        return {form: [c for c in self.checked if c.statement.form == form] for form in get_args(Form)}

    @property
    def printed(self) -> list[Checked]:
        """The printed statements."""
        return self.forms["printed"]

    @cached_property
    def by_id(self) -> dict[str, Checked]:
        """All statements by their ids."""
        return {c.statement.id: c for c in self.checked}

    @property
    def verdicts(self) -> list[Status]:
        """The verdicts that a table has columns for."""
        return list(count(self.checked))

    @property
    def evidence(self) -> dict[str, dict[Status, int]]:
        """Kind of evidence -> how many pieces of it have each verdict."""
        found: dict[str, dict[Status, int]] = {}
        for c in self.checked:
            for e, v in c.verdicts:
                found.setdefault(e.kind, dict.fromkeys(Status, 0))[v.status] += 1
        return dict(sorted(found.items()))

    @property
    def findings(self) -> list[Supported]:
        """The findings that the evidence bears out."""
        some = [(one, self.by_id[one.statement]) for one in self.paper.findings if one.statement in self.by_id]
        return [Supported(one, self.paper, checked) for one, checked in some if checked.against]

    @property
    def errors(self) -> list[ErratumVerdicts]:
        """The errata, the gravest first."""
        ordered = sorted(self.paper.errata, key=lambda e: SEVERITIES.index(e.severity))
        return [
            ErratumVerdicts(e, self.by_id[e.statement], self.by_id[e.corrected] if e.corrected else None)
            for e in ordered
        ]

    @property
    def refuted(self) -> dict[Severity | None, list[Checked]]:
        """The refuted printed statements, the gravest first; None: those without an erratum."""
        some = [c for c in self.printed if c.status is Status.REFUTED]
        return {s: own for s in (*SEVERITIES, None) if (own := [c for c in some if c.severity == s])}

    @property
    def false(self) -> int:
        """How many different errors break its printed statements."""
        return roots(self.printed, GRAVEST)

    @property
    def sharper(self) -> list[tuple[Checked, Checked]]:
        """The bounds of ours with better constants, each after the bound that it sharpens."""
        some = [c for c in self.forms["sharper"] if c.statement.kind in ("theorem", "bound")]
        return [(self.by_id[c.statement.sharpens], c) for c in some]

    @property
    def sections(self) -> dict[str, Any]:
        """What the paper check says of the paper, by the titles of its sections; none is empty."""
        every: dict[str, Any] = {
            "Refuted as printed": self.refuted,
            "Read with charity": [c for c in self.printed if c.added],
            "Errata": self.errors,
            "Repairs of the transcription": self.repairs,
            "Sharper than printed": self.sharper,
            "All verdicts": self.forms,
            "Open, and why": [c for c in self.printed if c.status is Status.OPEN],
        }
        return {title: some for title, some in every.items() if some}

    @property
    def repairs(self) -> list[Checked]:
        """The printed statements that are not encoded as printed."""
        return [c for c in self.printed if c.statement.repair]

    @property
    def best(self) -> list[BestConstant]:
        """Best constants, term by term; a statement's sharper forms follow it."""
        sharpened = {c.statement.sharpens for c in self.checked}
        after = {id_: [c for c in self.checked if c.statement.sharpens == id_] for id_ in sharpened}
        first = [c for c in self.checked if not c.statement.sharpens]
        beside = [one for c in first for one in (c, *after.get(c.statement.id, []))]
        bounds = [c for c in beside if isinstance(c.statement.claim, Bound) and c.statement.claim.sign != "="]
        return [BestConstant(c, term, at, ends) for c in bounds for term, (at, ends) in least_room(c).items()]

    @property
    def in_coq(self) -> list[InCoq]:
        """The proofs as theorems in Coq about quantities."""
        return [one for c in self.checked for one in in_coq(c)]

    @cached_property
    def agreed(self) -> Agreed:
        """Who agrees on all steps of its proofs."""
        return agreed(self.checked)


@dataclass(frozen=True, eq=False)
class Report:
    """The papers, each whole."""

    checked: Sequence[Checked]

    @cached_property
    def papers(self) -> list[PaperReport]:
        """Paper by paper."""
        about = {c.statement.paper for c in self.checked}
        some = [(name, paper) for name, paper in catalogue.papers().items() if name in about]
        return [PaperReport(paper, [c for c in self.checked if c.statement.paper == name]) for name, paper in some]

    @property
    def printed(self) -> list[Checked]:
        """The printed statements of all papers."""
        return [c for paper in self.papers for c in paper.printed]

    @property
    def findings(self) -> list[Supported]:
        """The findings of all papers."""
        return [one for paper in self.papers for one in paper.findings]

    @property
    def refuted(self) -> Mapping[Severity | None, int]:
        """How many printed statements are refuted, by severity."""
        return by_severity(self.printed)

    @property
    def agreement(self) -> list[tuple[str, Agreed, tuple[int, int]]]:
        """A paper's name, who agrees on its proofs, and on its best constants; then all, under the name `all`."""
        parts = {paper.paper.name: paper.checked for paper in self.papers} | {"all": self.checked}
        rows = [(name, agreed(own), constants({c.statement.paper for c in own})) for name, own in parts.items()]
        return [row for row in rows if row[1].steps]
