"""paper_check.md is current, complete, and honest about what was checked."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fedtheory.paper_check import generate
from fedtheory.verify import Checked, evidence, verify
from theory import catalogue
from theory.statement import Bound, Evidence, Status, Verdict

ROOT = Path(__file__).parents[2]


@cache
def everything() -> list[Checked]:
    """All statements put to all their evidence at default scale, once for this file."""
    return verify([s.id for s in catalogue.statements()])


def test_committed_file_is_current() -> None:
    assert (ROOT / "paper_check.md").read_text() == generate(everything()), "run `fedtheory paper-check` and commit"


def test_every_statement_has_a_row_and_every_link_a_file() -> None:
    text = (ROOT / "paper_check.md").read_text()
    rows = re.findall(r"^\| `([A-Za-z0-9_.]+)` \|", text, flags=re.M)
    assert rows == [s.id for s in catalogue.statements()]
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links and all((ROOT / link).is_file() for link in links)
    for line in text.splitlines():
        if line.startswith("| `"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 8, line  # no stray pipe breaks the table


def test_counts_in_the_summary_are_those_of_the_rows() -> None:
    text = generate(everything())
    counted = [int(n) for n in re.search(r"^\| statements \|(.*)\|$", text, flags=re.M).group(1).split("|")]  # type: ignore[union-attr]
    by_row = [len(re.findall(rf"\| \*\*{status}\*\* \|", text)) for status in Status]
    assert counted == [*by_row, len(catalogue.statements())]


def fake(kind: str, status: Status) -> tuple[Evidence, Verdict]:
    return Evidence("sfl.lemma4", kind, lambda s, f: Verdict(status, "")), Verdict(status, "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], Status.OPEN),
        ([("units", Status.PROVED)], Status.OPEN),
        ([("units", Status.PROVED), ("run", Status.HOLDS)], Status.HOLDS),
        ([("derivation", Status.PROVED), ("run", Status.HOLDS)], Status.PROVED),
        ([("derivation", Status.PROVED), ("run", Status.REFUTED)], Status.REFUTED),
        ([("units", Status.REFUTED), ("enumeration", Status.HOLDS)], Status.REFUTED),
        ([("run", Status.VACUOUS)], Status.VACUOUS),
        ([("run", Status.OPEN)], Status.OPEN),
    ],
)
def test_one_verdict_from_many(verdicts, expected) -> None:
    checked = Checked(catalogue.find("sfl.lemma4"), tuple(fake(*v) for v in verdicts))
    assert checked.status is expected


def test_no_statement_claims_more_than_its_evidence() -> None:
    for c in everything():
        shown = {v.status for e, v in c.verdicts if e.kind != "units"}
        if c.status is Status.PROVED:
            assert any(v.status is Status.PROVED and e.kind in ("derivation", "certificate") for e, v in c.verdicts)
        if c.status is Status.HOLDS:
            assert Status.HOLDS in shown and Status.REFUTED not in shown
        for _, v in c.verdicts:
            assert (v.status is not Status.REFUTED) or v.witness, f"{c.statement.id} is refuted without a witness"


def test_every_bound_with_arenas_is_refuted_when_sharpened() -> None:
    """The run evidence can fail: below its slack every claim is refuted by the same runs."""
    runs = [e for e in evidence("sfl") if e.kind == "run"]
    assert len(runs) == 12
    for e in runs:
        statement = catalogue.find(e.statement)
        claim = statement.claim
        assert isinstance(claim, Bound)
        verdict = e.check(statement, False)
        assert verdict.slack is not None
        sharper = replace(claim, terms=claim.scaled(1 / (1.01 * verdict.slack)).terms)
        assert e.check(statement.with_claim(sharper), False).status is Status.REFUTED
        if verdict.status is Status.HOLDS:
            looser = replace(claim, terms=claim.scaled(1 / (0.5 * verdict.slack)).terms)
            assert e.check(statement.with_claim(looser), False).status is not Status.REFUTED
