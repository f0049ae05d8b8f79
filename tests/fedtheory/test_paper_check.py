"""paper_check.md is current, complete, and honest about what was checked."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from fedtheory.agreed import agreed
from fedtheory.coq import WITHOUT
from fedtheory.drawing import committed
from fedtheory.figures import gallery
from fedtheory.paper_check import anchor, generate
from fedtheory.records import commit
from fedtheory.site import build, formulas
from fedtheory.site.build import view
from fedtheory.store import Store
from fedtheory.tasks import Workshop
from fedtheory.theory import catalogue
from fedtheory.theory.printing import mathml
from fedtheory.theory.statement import Evidence, Form, Severity, Status, Verdict
from fedtheory.verification import Checked, by_severity, errors, evidence, roots, seen_to_fail, verify

ROOT = Path(__file__).parents[2]
WORKSHOP = Workshop(Store())

# Its symbols are not those of its assumptions; assumptions that say too little, or that most compressors do not meet; a
# remark about an algorithm that no theorem covers
NOT_DECIDED = ("fedcom.asm2", "fedcom.asm5", "fedcom.alg2", "fedbat.eq2", "fedbat.assump1", "fedbat.assump3",
               "fedbat.assump4", "fedbat.assump5", "fedbat.remark3", "fedbcgd.assumption3")  # fmt: skip
# A hypothesis that is not printed, and that charity reads into the statement
READ_INTO = ("sfl.cor1.strongly_convex", "sfl.cor2.strongly_convex", "sfl.eq43", "sfl.eq72", "fedcom.corD8",
             "sfl.cor1.general_convex", "sfl.cor2.general_convex", "sfl.eq47", "sfl.eq74")  # fmt: skip


@cache
def everything() -> list[Checked]:
    """All statements put to all their evidence at default scale, once for this file.

    By worker processes: what they compute is kept in the store, for later tests and for the next run.
    """
    with pytest.MonkeyPatch.context() as cores:
        cores.setenv("LOKY_MAX_CPU_COUNT", "2")
        return verify([s.id for s in catalogue.statements()], workshop=WORKSHOP)


@cache
def texts() -> dict[str, str]:
    """The files of the paper check, by name."""
    return generate(everything())


def test_committed_files_are_current() -> None:
    for name, text in texts().items():
        assert (ROOT / name).read_text() == text, f"{name}: run `fedtheory paper-check`, commit"


def test_the_paper_check_is_small_enough_to_be_shown_on_github() -> None:
    for name in texts():
        assert (ROOT / name).stat().st_size < 512_000, name  # larger files are shown as plain text


def test_coq_has_accepted_the_steps_of_all_proofs() -> None:
    found = agreed(everything())
    assert found.steps > 1500 and found.coq >= 0.99 * found.steps
    assert set(found.without_coq) == set(WITHOUT), "run `make coq`, commit"
    trust = " ".join((ROOT / "docs" / "pages" / "trust.md").read_text().split())
    assert all(f"`{id_}`" in trust for id_ in WITHOUT)
    assert found.without_certificate == found.without_coq and found.certified == found.coq


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the whole site, by name."""
    drawn = {path.stem: committed(path.stem) for path in gallery.DRAWN.glob("*.csv")}
    out: Path = tmp_path_factory.mktemp("site")
    return {str(p.relative_to(out)): p.read_bytes() for p in build(out, everything(), drawn, workshop=WORKSHOP)}


@pytest.fixture(scope="module")
def pages(site: dict[str, bytes]) -> dict[str, str]:
    """The pages of the site, by name."""
    return {name: content.decode() for name, content in site.items() if name.endswith(".html")}


def test_the_site_and_its_pages_are_small(site: dict[str, bytes]) -> None:
    assert sum(map(len, site.values())) < 20_000_000
    assert {name for name, content in site.items() if name.endswith(".html") and len(content) > 500_000} == set()


def test_every_link_leads_somewhere(site: dict[str, bytes], pages: dict[str, str]) -> None:
    assert pages["index.html"].count('class="finding"') == sum(len(p.findings) for p in catalogue.papers().values())
    anchors = {name: set(re.findall(r' id="([^"]+)"', text)) for name, text in pages.items()}
    for name, text in pages.items():
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            target, _, anchor = link.partition("#")
            if link.startswith("https:"):
                assert link in {paper.url for paper in catalogue.papers().values()}, (name, link)
            elif link != "data:,":
                assert (target or name) in site, (name, link)
                assert "=" in anchor or not anchor or anchor in anchors[target or name], (name, link)


def test_every_statement_has_a_page_and_an_entry_in_the_list_of_its_paper(pages: dict[str, str]) -> None:
    for c in everything():
        own, entries = pages[f"{c.statement.id}.html"], pages[f"{c.statement.paper}.html"]
        entry = entries[entries.index(f'id="{c.statement.id}"') :].split("</article>")[0]
        assert f'<span class="badge {c.status}">' in own and f'<span class="badge {c.status}">' in entry
        assert (c.severity or "") in own and (c.severity or "") in entry and f'href="{c.statement.id}.html"' in entry
        shown = [
            formulas.lean(f"<span>{mathml(piece, display=True)}")
            for p in view(c, []).parts
            if p.kind == "formula"
            for piece in p.content
        ]
        assert all(piece in own and piece in entry for piece in shown), c.statement.id
        assert all(f"<b>{e.kind}</b>" in own for e, _ in c.verdicts)
        assert all(
            f'href="{other}.html"' in own
            for other in (*c.statement.assumes, *c.statement.rests_on, c.statement.corrects)
            if other
        )
        assert own.count('class="erratum"') == len(catalogue.errata(c.statement.id))


PARTS = 27  # of which one runs, chosen by the commit


@pytest.mark.parametrize(
    "part",
    [pytest.param(i, marks=[] if i == int(commit(), 16) % PARTS else pytest.mark.slow) for i in range(PARTS)],
)
def test_every_piece_of_evidence_has_been_seen_to_fail(part: int) -> None:
    some = everything()[part::PARTS]
    seen = seen_to_fail(some, workshop=WORKSHOP)
    ids = {c.statement.id for c in some}
    assert seen.keys() == {(e.statement, e.kind) for p in catalogue.papers() for e in evidence(p) if e.statement in ids}
    beside = {(c.statement.id, e.kind) for c in some for e, v in c.verdicts if v.status is Status.ANALOGUE}
    assert [key for key, what in seen.items() if what is None and key not in beside] == []


def rows_of(text: str, cells: int) -> list[str]:
    """The ids of a table's rows by their number of cells: no stray pipe breaks a table."""
    rows = [line for line in text.splitlines() if re.match(r"\| `[A-Za-z0-9_.]+` \|", line)]
    return [line.split("`")[1] for line in rows if len(re.findall(r"(?<!\\)\|", line)) == cells + 1]


def test_every_statement_has_a_row() -> None:
    main = (ROOT / "paper_check.md").read_text()
    in_order = {
        paper: [s.id for form in get_args(Form) for s in catalogue.statements(paper) if s.form == form]
        for paper in catalogue.papers()
    }
    assert rows_of(main, 4) == [id_ for ids in in_order.values() for id_ in ids]
    constants, theorems = 0, 0
    for paper, ids in in_order.items():
        text = (ROOT / "paper_check" / f"{paper}.md").read_text()
        assert rows_of(text, 10) == ids
        best, in_coq = set(rows_of(text, 6)), set(rows_of(text, 5))
        assert {*best, *in_coq} < set(ids)
        constants, theorems = constants + len(best), theorems + len(in_coq)
    assert constants > 100 and theorems > 200


def test_every_link_of_the_paper_check_leads_somewhere() -> None:
    for name in texts():
        text = (ROOT / name).read_text()
        anchors = {anchor(heading) for heading in re.findall(r"^##+ (.*)$", text, flags=re.M)}
        links = re.findall(r"\]\(([^)]+)\)", text)
        assert links
        for link in links:
            path, _, inside = link.partition("#")
            assert ((ROOT / name).parent / path).exists() if path else inside in anchors, (name, link)


def test_counts_in_the_summary_are_those_of_the_rows() -> None:
    text = (ROOT / "paper_check.md").read_text()
    assert text.index("## What to know first") < text.index("## Contents") < 8_000
    for paper in catalogue.papers().values():
        own = text.split(f"\n## {paper.title}\n")[1].split("\n## ")[0]
        verdicts = [status for status in Status if status is not Status.ERROR]  # no check fails
        by_form: dict[str, list[str]] = {form: [] for form in get_args(Form)}
        for id_, verdict in re.findall(
            r"^\| `([A-Za-z0-9_.]+)` \|.*\| \*\*(\w+)\*\*(?:[^|]|\\\|)*\|$", own, flags=re.M
        ):
            by_form[catalogue.find(id_).form].append(verdict)
        for form, found in by_form.items():
            line = re.search(rf"^\| {form} statements \|(.*)\|$", own, flags=re.M)
            assert (line is None) == (not found)
            if line is not None:
                assert [int(n) for n in line[1].split("|")] == [*(found.count(s) for s in verdicts), len(found)]
        assert ("### Open, and why" in own) == ("open" in by_form["printed"])
        line = re.search(rf"^\| \[{re.escape(paper.title)}\]\([^)]*\) \|(.*)\|$", text, flags=re.M)
        assert line is not None
        statements, refuted, *severities, different = (int(n) for n in line[1].split("|"))
        assert (statements, refuted) == (len(by_form["printed"]), by_form["printed"].count("refuted"))
        assert sum(severities) == refuted and different <= severities[0]
        assert len(re.findall(r"^- \*\*`.*`fedtheory verify ", own, flags=re.M)) == refuted


def test_the_readme_begins_with_these_counts() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split("## Start")[0].split())
    printed = [c for c in everything() if c.statement.form == "printed"]
    for paper in catalogue.papers().values():
        own = [c for c in printed if c.statement.paper == paper.name]
        found = by_severity(own)
        assert f"({paper.url})" in readme
        assert f"| {len(own)} | {sum(found.values())} | {found.get('breaks the statement', 0)} |" in readme
        assert all(f"`fedtheory verify {finding.statement}`" in readme for finding in paper.findings)
    every = by_severity(printed)
    others = f"lack a hypothesis ({every['missing hypothesis']}), are wrong by a constant ({every['constant']})"
    assert f"{others}, or are misprints ({every['misprint']})" in readme
    assert every.keys() == {"breaks the statement", "missing hypothesis", "constant", "misprint"}
    different = roots(printed, "breaks the statement")
    assert f"The {every['breaks the statement']} plainly false ones come from {different} different errors" in readme


def test_every_refuted_statement_has_a_severity() -> None:
    for c in everything():
        assert (c.severity is not None) == (c.status is Status.REFUTED), c.statement.id
    order = list(get_args(Severity))
    for c in everything():
        if c.severity:
            assert order.index(c.severity) == min(order.index(e.severity) for e in catalogue.errata(c.statement.id))


def test_findings_are_about_what_is_refuted() -> None:
    known = {c.statement.id: c for c in everything()}
    for paper in catalogue.papers().values():
        assert paper.findings
        for finding in paper.findings:
            c = known[finding.statement]
            assert c.severity in ("breaks the statement", "missing hypothesis") and c.against
            assert gallery.find(finding.figure).name == finding.figure
            assert any(id_ in gallery.find(finding.figure).statements for id_ in catalogue.forms(finding.statement))


def test_errata_say_no_more_than_was_found() -> None:
    known = {c.statement.id: c for c in everything()}
    errata = [e for paper in catalogue.papers().values() for e in paper.errata]
    for e in errata:
        printed = known[e.statement]
        against = {v.status for _, v in printed.verdicts} & {Status.REFUTED, Status.BROKEN}
        if e.severity == "breaks the proof":
            assert Status.BROKEN in against, e.statement
            assert printed.status is not Status.REFUTED, e.statement
        elif e.severity == "missing hypothesis" and (printed.added or Status.BROKEN in against):
            pass  # charity adds it, or its proof needs it
        elif e.severity != "misprint" and e.statement not in (*NOT_DECIDED, *READ_INTO):
            assert printed.status is Status.REFUTED, e.statement
        if e.corrected:
            sound = (
                Status.PROVED,
                Status.CONDITIONAL,
                Status.TESTED,
                Status.DEFINITION,
            )  # a corrected assumption claims nothing
            assert known[e.corrected].status in sound, e.corrected


def test_a_proof_is_worth_no_more_than_what_it_uses() -> None:
    known = {c.statement.id: c for c in everything()}
    for c in everything():
        for e, v in c.verdicts:
            if v.status is Status.PROVED:
                for used in (known[id_] for id_ in (*e.uses, *v.uses)):
                    assert used.status in (Status.PROVED, Status.CONDITIONAL, Status.DEFINITION), (
                        c.statement.id,
                        e.kind,
                    )
                    assert set(used.added) <= set(c.statement.assumes), (c.statement.id, e.kind)
    (ledger,) = [v for e, v in known["sfl.thm1.nonconvex"].verdicts if e.kind == "ledger"]
    assert ledger.status is Status.BROKEN and "sfl.eq54" in ledger.says


def test_no_proof_of_fedbcgd_mixes_the_two_algorithms() -> None:
    """G^r and the drift are those of FedBCGD or of FedBCGD+: a proof that follows one uses no claim about the other's."""
    uses: dict[str, set[str]] = {}
    follows: dict[str, set[str]] = {}
    for c in everything():
        for e, v in c.verdicts:
            if c.statement.paper == "fedbcgd" and e.kind in ("ledger", "repair") and v.status is Status.PROVED:
                uses[e.statement] = {p.name for p in v.premises if p.kind == "claim"}
                follows[e.statement] = {p.name for p in v.premises if p.kind == "algorithm"}
                follows[e.statement] -= {"fedbcgd.momentum_form.corrected"}

    def of(id_: str) -> set[str]:
        return follows.get(id_, set()).union(*(of(used) for used in uses.get(id_, ())))

    followed = {id_: of(id_) for id_ in follows}
    assert all(len(algorithms) <= 1 for algorithms in followed.values())
    assert {id_ for id_, algorithms in followed.items() if algorithms == {"fedbcgd.alg3.corrected"}} >= {
        *(f"fedbcgd.lemma{n}.corrected" for n in (11, 13, 14, 15, 16, 17, 18)),
        "fedbcgd.lemma11.nonconvex",
        "fedbcgd.thm2.nonconvex.corrected",
    }


def fake(kind: str, status: Status) -> tuple[Evidence, Verdict]:
    return Evidence("sfl.lemma4", kind, lambda s, f: Verdict(status, "")), Verdict(status, "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], Status.OPEN),
        ([("units", Status.PROVED)], Status.OPEN),
        ([("units", Status.PROVED), ("run", Status.TESTED)], Status.TESTED),
        ([("derivation", Status.PROVED), ("run", Status.TESTED)], Status.PROVED),
        ([("derivation", Status.PROVED), ("run", Status.REFUTED)], Status.ERROR),
        ([("ledger", Status.CONDITIONAL), ("search", Status.TESTED)], Status.CONDITIONAL),
        ([("ledger", Status.CONDITIONAL), ("search", Status.REFUTED)], Status.ERROR),
        ([("units", Status.PROVED), ("search", Status.REFUTED)], Status.REFUTED),
        ([("units", Status.REFUTED), ("enumeration", Status.TESTED)], Status.REFUTED),
        ([("run", Status.VACUOUS)], Status.VACUOUS),
        ([("ledger", Status.BROKEN)], Status.BROKEN),
        ([("ledger", Status.BROKEN), ("repair", Status.PROVED)], Status.PROVED),
        ([("ledger", Status.BROKEN), ("moments", Status.TESTED)], Status.TESTED),
        ([("ledger", Status.BROKEN), ("moments", Status.REFUTED)], Status.REFUTED),
        ([("run", Status.OPEN)], Status.OPEN),
    ],
)
def test_one_verdict_from_many(verdicts, expected) -> None:
    checked = Checked(catalogue.find("sfl.lemma4"), tuple(fake(*v) for v in verdicts))
    assert checked.status is expected
    assert errors([checked]) == ([f"sfl.lemma4: {checked.contradiction}"] if expected is Status.ERROR else [])
    assert checked.headline.startswith(str(expected))


def test_the_headline_says_what_is_added_and_what_fails() -> None:
    (search, tested), (ledger, broken) = fake("search", Status.TESTED), fake("ledger", Status.BROKEN)
    more = replace(tested, added=("sfl.asm.het_a",), without="M = 2: left side 2, right side 1")
    stopped = replace(broken, witness={"step": "the last one"})
    lemma = catalogue.find("sfl.lemma4")
    checked = Checked(lemma, ((search, more), (ledger, stopped)))
    assert checked.headline == "tested by search, with sfl.asm.het_a; proof broken at 'the last one'"
    proof = replace(stopped, status=Status.CONDITIONAL, added=("sfl.asm.het_a",))
    assert Checked(lemma, ((ledger, proof),)).headline == "conditional on sfl.asm.het_a"
    # a proof from the list alone contradicts an instance of the list; a proof that rests on another statement does not
    assert (
        "M = 2"
        in Checked(lemma, ((search, more), (ledger, replace(proof, status=Status.PROVED, added=())))).contradiction
    )
    refuted = replace(tested, status=Status.REFUTED)
    assert Checked(lemma, ((search, refuted), (ledger, proof))).status is Status.REFUTED


def test_no_statement_claims_more_than_its_evidence() -> None:
    for c in everything():
        shown = {v.status for e, v in c.verdicts if e.kind != "units"}
        if c.status in (Status.PROVED, Status.CONDITIONAL, Status.TESTED):
            assert c.status in shown and Status.REFUTED not in shown
        for e, v in c.verdicts:
            assert v.status not in (Status.REFUTED, Status.BROKEN) or v.witness, f"{c.statement.id} without a witness"
            assert v.status is not Status.PROVED or e.kind not in ("enumeration", "search", "moments", "run"), e
