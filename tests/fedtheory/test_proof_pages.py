"""Proofs in words and formulas: what they cite, how they end, where they break; in the terminal and on their pages."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
import sympy
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

import fedtheory
from fedtheory.pages import as_text, proofs_as_json
from fedtheory.site.build import page, view
from fedtheory.theory import catalogue
from fedtheory.theory.printing import in_line, latex, mathml
from fedtheory.theory.proof_text import Cited, Earlier, Formula, ProofLine, ProofText, as_lines
from fedtheory.theory.proofs.arithmetic import recorded
from fedtheory.theory.proofs.prose import written_of
from fedtheory.theory.statement import Bound, Evidence, Statement, Status, Verdict
from fedtheory.verification import Checked

PROVED = ("sfl.lemma9.corrected", "sfl.lemma10", "fedcom.thmD4.corrected", "fedbat.lemma1", "fedbcgd.thm1.step47")


def ledger(id_: str) -> Evidence:
    (found,) = (e for e in catalogue.evidence(catalogue.find(id_).paper) if (e.statement, e.kind) == (id_, "ledger"))
    return found


def proof(statement: Statement) -> tuple[Verdict, ProofText]:
    with recorded() as recording:
        verdict = ledger(statement.id).check(statement, False)
    found = written_of(recording)
    assert found is not None
    return verdict, found


@cache
def known(id_: str) -> tuple[Verdict, ProofText]:
    return proof(catalogue.find(id_))


def formulas(line: ProofLine) -> list[Formula]:
    return [piece for piece in (*line.because, line.formula) if isinstance(piece, Formula)]


@pytest.mark.parametrize("id_", PROVED)
def test_a_proof_goes_from_its_premises_to_the_claim(id_: str) -> None:
    verdict, found = known(id_)
    assert verdict.status is Status.PROVED and not any(line.breaks for line in found.lines)
    told = [line.number for line in found.lines if line.formula is not None]
    assert told == list(range(1, len(told) + 1))
    used = set()
    for line in found.lines:
        before = {piece.number for piece in line.because if isinstance(piece, Earlier)}
        assert all(0 < number < line.number for number in before), line
        used |= before
    assert used >= {*told[:-1]} or id_ == "fedbat.lemma1"  # each line serves a later one
    cited = {piece.id for line in found.lines for piece in line.because if isinstance(piece, Cited)}
    assert cited >= {p.name for p in verdict.premises if p.kind in ("claim", "algorithm", "definition")}
    words = " ".join(str(piece) for line in found.lines for piece in line.because)
    assert all(p.name in words for p in verdict.premises if p.kind == "rule")
    assert found.checked
    texts = [line.formula.text for line in found.lines if line.formula is not None]
    assert len(texts) == len(set(texts)), "a fact is told once"


@pytest.mark.parametrize("id_", PROVED)
def test_a_proof_ends_with_the_claim_as_the_statement_has_it(id_: str) -> None:
    statement = catalogue.find(id_)
    lines = known(id_)[1].lines
    claim = lines[[line.because for line in lines].index(("This is the claim.",)) - 1]
    assert (
        isinstance(statement.claim, Bound)
        and claim.formula is not None
        and claim.formula.latex[0] == latex(statement.paper, statement.claim.quantity)
    )
    if statement.where:
        return  # the proof has its own symbols for these
    terms = sympy.Add.make_args(statement.claim.value)
    assert sorted(re.sub(r"^(\\le|\\ge|=|\+) ", "", text) for text in claim.formula.latex[1:]) == sorted(
        latex(statement.paper, term) for term in terms
    )


@pytest.mark.parametrize("id_", PROVED)
def test_every_formula_of_a_proof_is_mathml_that_parses(id_: str) -> None:
    for formula in (one for line in known(id_)[1].lines for one in formulas(line)):
        for text in formula.latex:
            shown = mathml(text, True)
            ElementTree.fromstring(shown)
            assert "\\" not in shown and "&lt;C" not in shown, text
        assert "\n" not in formula.text and "**" not in formula.text


def test_a_proof_reads_as_a_mathematician_writes_it() -> None:
    text = "\n".join(as_lines(known("sfl.lemma9.corrected")[1]))
    assert "By sfl.step.eq50.corrected.\n" in text and "Insert (2) and (3) into (1).\n" in text
    assert "By (4), because under the conditions η (6 K L S η - 1)/(2 K S) ≤ 0" in text
    text = "\n".join(as_lines(known("sfl.lemma10")[1]))
    assert "“Lipschitz gradient” (||grad F_m(y) - grad F_m(x)||^2 <= L^2 ||y - x||^2) under sfl.asm.smooth" in text
    assert "From (4): summed over the steps.\n" in text


def test_a_claim_that_does_not_follow_breaks_its_proof_at_its_coefficient() -> None:
    statement = catalogue.find("sfl.lemma10")
    assert isinstance(statement.claim, Bound)
    name, value = next((t.name, t.value) for t in statement.claim.terms if "sigma" in str(t.value))
    verdict, found = proof(statement.with_terms(**{name: value / 4}))
    assert verdict.status is Status.BROKEN
    *before, last = found.lines
    assert last.breaks and not any(line.breaks for line in before) and len(before) >= 8
    claimed, follows = formulas(last)[:2]
    coefficient = value.subs(catalogue.paper("sfl").symbols["sigma"].sympy, 1) / 4
    assert claimed.text == in_line("sfl", coefficient)
    assert follows.text == "36 K S η² (K S - 1)/17" and ". Claimed is " in last.because
    assert "This is the claim." not in str(found.lines)


def test_a_proof_that_breaks_says_what_holds_before() -> None:
    assumed = [id_ for id_ in catalogue.find("sfl.lemma10").assumes if id_ != "sfl.asm.het_a"]
    verdict, found = proof(replace(catalogue.find("sfl.lemma10"), assumes=tuple(assumed)))
    *before, last = found.lines
    assert verdict.status is Status.BROKEN and last.breaks and len(before) >= 5
    assert "heterogeneity everywhere" in str(last.because[0]) and "sfl.lemma10 does not assume" in str(last.because)
    assert all("heterogeneity" not in str(line) for line in before)


def test_a_claim_that_steps_decide_says_so() -> None:
    _, found = known("fedbcgd.lemma8")
    assert found.lines[0].because == ("The claim is decided by the steps below.",) and found.checked


def test_show_prints_the_proof() -> None:
    statement = catalogue.find("sfl.lemma9.corrected")
    shown = as_text(statement, proofs=True)
    assert all(f"    {line}" in shown for line in as_lines(known(statement.id)[1]))
    assert "Insert (2)" not in as_text(statement)
    (one,) = proofs_as_json(statement)
    assert isinstance(one["lines"], list) and one["lines"][3]["because"] == "Insert (2) and (3) into (1)."
    assert r"\zeta" in one["lines"][3]["latex"] and one["lines"][3]["number"] == 4


def test_a_proof_stands_on_the_page_of_its_statement(browser: Browser, tmp_path: Path) -> None:
    statement = catalogue.find("sfl.lemma9.corrected")
    verdict, found = known(statement.id)
    own = view(Checked(statement, ((ledger(statement.id), replace(verdict, written=found)),)), [])
    shutil.copytree(Path(fedtheory.__file__).parent / "site" / "assets", tmp_path / "assets")
    shown = page("statement.html", papers=[], status={}, v=own, before=None, after=None, corrected=[], pictured=False)
    (tmp_path / "sfl.lemma9.corrected.html").write_text(shown)
    assert 'href="sfl.step.eq50.corrected.html"' in shown and "Insert <a " in shown
    for width in (390, 1400):
        fresh = browser.new_page(viewport={"width": width, "height": 900})
        fresh.goto((tmp_path / "sfl.lemma9.corrected.html").as_uri())
        assert fresh.evaluate("document.documentElement.scrollWidth") == width
        assert fresh.locator(".proof .numbered").count() == sum(line.number > 0 for line in found.lines)
        found_by_axe = Axe().run(fresh, options={"resultTypes": ["violations"], "preload": False})
        assert found_by_axe.response["violations"] == []
        fresh.get_by_role("link", name="(3)").first.click()
        assert fresh.locator("li:target .number").inner_text() == "(3)"
        fresh.close()


def test_the_statement_links_its_proof_only_if_there_is_one() -> None:
    statement = catalogue.find("sfl.lemma9.corrected")
    verdict, found = known(statement.id)
    assert view(Checked(statement, ((ledger(statement.id), replace(verdict, written=found)),)), []).proofs
    refuted = replace(verdict, status=Status.REFUTED, written=found)
    assert not view(Checked(statement, ((ledger(statement.id), refuted),)), []).proofs
    assert not view(Checked(statement, ()), []).proofs
