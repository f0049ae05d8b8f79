"""The site without a browser: formulas, symbols, what a page says of a statement, files whole or not at all."""

from __future__ import annotations

import html
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import sympy

from fedtheory import cli, drawing, paper_check, records, verification
from fedtheory.bounds.browser import curves, javascript, sliders, tied, with_tied
from fedtheory.bounds.evaluation import evaluate, has_terms
from fedtheory.bounds.networks import METHODS, STUDY
from fedtheory.bounds.sfl import ARENAS
from fedtheory.figures import gallery
from fedtheory.report import PaperReport
from fedtheory.site import downloads, formulas, results
from fedtheory.site.build import Code, PaperView, build, explorer_data, page, script, view
from fedtheory.theory import catalogue
from fedtheory.theory.printing import latex, mathml
from fedtheory.theory.statement import Bound, Order, Paper, Relations, Statement, Status, Verdict
from fedtheory.verification import Checked

ROOT = Path(__file__).parents[2]
DRAWN = ROOT / "figures" / "drawn"


def unchecked(paper: str | None = None) -> list[Checked]:
    return [Checked(s, ()) for s in catalogue.statements(paper)]


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("2*L*eta/R", '2*v["L"]*v["eta"]/v["R"]'),
        ("Max(a, b)", 'Math.max(v["a"], v["b"])'),
        ("sqrt(a)", 'Math.sqrt(v["a"])'),
        ("a**Rational(1, 3)", 'Math.pow(v["a"], 1/3)'),
        ("exp(-a)", 'Math.exp(-v["a"])'),
    ],
)
def test_formulas_as_javascript(expression: str, code: str) -> None:
    assert javascript(sympy.sympify(expression)) == f"function(v){{return {code};}}"


def test_a_function_that_javascript_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="expected functions that JavaScript has"):
        javascript(sympy.zeta(sympy.Symbol("a")))


def in_the_font() -> set[str]:
    """The characters of the font that the site ships, from the command that made it."""
    told = re.findall(
        r"U\+([0-9A-F]+)(?:-([0-9A-F]+))?", (ROOT / "src/fedtheory/site/assets/math.LICENSE.txt").read_text()
    )
    return {chr(code) for first, last in told for code in range(int(first, 16), int(last or first, 16) + 1)}


def test_every_formula_is_mathml_that_parses() -> None:
    font = in_the_font()
    for s in catalogue.statements():
        for c in s.when:
            ElementTree.fromstring(mathml(latex(s.paper, c.relation)))
        for part in view(Checked(s, ()), []).parts:
            for piece in part.content if part.kind == "formula" else ():
                piece = mathml(piece, display=True)
                tree = ElementTree.fromstring(piece)
                words = {id(e) for e in tree.iter("mtext")}
                assert {c for e in tree.iter() if id(e) not in words for c in (e.text or "")} <= font, s.id
                assert "\\" not in piece, s.id  # no command is left over
                assert 'mathvariant="bold-italic"' not in piece


FENCES = set("[]()‖|")  # a tag of their own only where they stretch


@pytest.mark.parametrize("quotes", ['"', r"\""])  # in a page, in JSON
def test_a_lean_formula_has_the_same_signs_in_fewer_tags(quotes: str) -> None:
    for s in catalogue.statements("sfl"):
        if isinstance(s.claim, Bound):
            text = f"<p>{mathml(latex(s.paper, s.claim.value), display=True)}</p>"
            found = formulas.lean(text.replace('"', quotes)).replace(quotes, '"')
            before, after = ElementTree.fromstring(text), ElementTree.fromstring(found)
            assert "".join(after.itertext()) == "".join(before.itertext()) and len(found) < len(text), s.id
            free = {"mrow", "math", "p", "mi"}
            kept = (
                [(e.tag, len(e)) for e in tree.iter() if not {e.tag, e.text} & (free | FENCES)]
                for tree in (before, after)
            )
            assert next(kept) == next(kept), s.id
            assert all(len(e) != 1 for e in after.iter("mrow")), s.id
    assert formulas.lean("<main><mark>a</mark></main>") == "<main><mark>a</mark></main>"


def test_the_pieces_of_a_formula_are_all_of_it() -> None:
    """Every term of a bound is in one piece, with its name; a long relation is cut between terms, and nothing is lost."""
    bounds = relations = 0
    for s in catalogue.statements():
        if isinstance(s.claim, Bound | Order):
            left, *terms = formulas.of_bound(s.paper, s.claim)
            assert left == latex(s.paper, s.claim.quantity)
            assert len(terms) == len(s.claim.terms)
            for piece, term in zip(terms, s.claim.terms, strict=True):
                text = latex(s.paper, term.value)
                assert text.removeprefix("-") in piece and term.name.replace("_", " ") in piece
            bounds += 1
        for r in s.claim.relations if isinstance(s.claim, Relations) else ():
            pieces = formulas.of_relation(s.paper, r)
            characters = (
                sorted(re.sub(r"[+ ]|\\left\(|\\right\)", "", text)) for text in ("".join(pieces), latex(s.paper, r))
            )
            assert next(characters) == next(characters), s.id
            relations += len(pieces) > 1
    assert bounds > 200 and relations > 50


def test_mathml_keeps_what_html_reserves() -> None:
    a, b = sympy.symbols("a b")
    assert "&lt;" in mathml(latex("sfl", sympy.Lt(a, b))) or "&#x0003C;" in mathml(latex("sfl", sympy.Lt(a, b)))
    assert mathml(r"\boldsymbol{m}").count("\U0001d48e") == 1  # a bold slanted m by its code point


@pytest.mark.parametrize("statement", [s for s in catalogue.statements() if has_terms(s)], ids=lambda s: s.id)
def test_sliders_start_inside_the_conditions(statement: Statement) -> None:
    found = sliders(statement)
    values = with_tied(statement, {s.symbol.name: s.start for s in found})
    assert evaluate(statement.id, **values).admissible  # strict: raises outside them
    assert all(s.low <= s.start <= s.high for s in found)
    assert not {s.symbol.name for s in found} & set(tied(statement))
    assert sliders(statement) == found  # the same at every call
    for slider in found:  # no slider leaves a condition that is about its symbol alone
        alone = [c.relation for c in statement.when if c.relation.free_symbols == {slider.symbol.sympy}]
        assert all(r.subs(slider.symbol.sympy, end) for r in alone for end in (slider.low, slider.high))
        assert slider.low <= slider.start <= slider.high


def test_curves_lie_inside_the_conditions() -> None:
    statement = catalogue.find("sfl.thm2.general_convex")
    arena = next(a for a in ARENAS if a.statement == statement.id and a.kind == "moments")
    found = [curve for curve in curves(statement) if curve.arena == arena.name]
    assert len(found) == len(arena.fractions) and all(curve.seeds == 0 for curve in found)
    for curve in found:
        numbers = np.array([curve.mean, curve.low, curve.high])
        assert np.isfinite(numbers).all() and (numbers[1] <= numbers[0]).all() and (numbers[0] <= numbers[2]).all()
        given = dict(curve.symbols) | {n: np.array(x) for n, x in curve.along.items()}
        assert evaluate(statement.id, **given).admissible.all()  # a run is shown where the bound speaks of it


def test_data_is_a_script() -> None:
    text = explorer_data(unchecked("sfl"), False)
    assert text.startswith('"use strict";\nwindow.FEDTHEORY={') and "</script" not in text
    assert script({"a": [1, Code("f()"), "x"]}) == '{"a":[1,f(),"x"]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        script({"x": float("nan")})


def test_pages_escape_what_they_show() -> None:
    title = "<script>alert(1)</script>"
    shown = page("paper.html", papers=[], statuses=[], kinds=[], severities=(), paper=empty(title))
    assert title not in shown and "&lt;script&gt;alert(1)&lt;/script&gt;" in shown


def empty(title: str) -> PaperView:
    return PaperView(PaperReport(Paper("odd", title, "Nobody"), []), [], [])


def test_a_paper_without_figures_errata_and_statements_says_so() -> None:
    shown = page("paper.html", papers=[], statuses=[], kinds=[], severities=(), paper=empty("Empty"))
    assert "None are known." in shown and "This paper has no figures." in shown


def test_missing_figures_are_left_out(tmp_path: Path) -> None:
    written = build(tmp_path / "site", unchecked("sfl"), {})
    assert not (tmp_path / "site" / "figures").exists()
    assert "<img" not in (tmp_path / "site" / "sfl.html").read_text()
    assert not (tmp_path / "site" / "winners.html").exists()
    assert written[0].name == "index.html" and all(p.is_file() for p in written)
    assert not list((tmp_path / "site").rglob("*.partial"))


def test_a_check_that_ends_in_an_exception_is_shown(tmp_path: Path) -> None:
    own = catalogue.evidence("sfl")[0]
    failure = Verdict(Status.ERROR, "a check: ValueError: no numbers (checks.py, line 3)")
    build(
        tmp_path,
        [replace(c, verdicts=((own, failure),)) if c.statement.id == own.statement else c for c in unchecked("sfl")],
        {},
    )
    shown = (tmp_path / "sfl.html").read_text()
    assert failure.says in shown and 'aria-label="1 error"' in shown
    assert failure.says in (tmp_path / f"{own.statement}.html").read_text()


@pytest.mark.parametrize(
    ("page_", "figure", "says"),
    [
        ("winners", "who_wins_noise", ""),
        ("networks", "theory_beside_networks", "<strong>The constants are estimates.</strong>"),
    ],
)
def test_pictures_of_several_papers_have_a_page_of_their_own(
    tmp_path: Path, page_: str, figure: str, says: str
) -> None:
    picture = (DRAWN / f"{figure}.png").read_bytes()
    build(tmp_path / "site", unchecked("sfl"), {figure: {"png": picture, "csv": b"x\n"}})
    shown = (tmp_path / "site" / f"{page_}.html").read_text()
    assert f'src="figures/{figure}.png"' in shown and says in shown and "who_wins_curvature" not in shown
    assert figure not in (tmp_path / "site" / "sfl.html").read_text()
    assert f'href="{page_}.html"' in (tmp_path / "site" / "index.html").read_text()


def test_a_sharper_theorem_says_by_which_factors() -> None:
    """The factors in words are those of the two bounds at numbers near the limit."""
    pairs = {pair.ours.statement.id: pair for own in results.sharper(unchecked()).values() for pair in own}
    one = pairs["sfl.thm1.general_convex.sharp"]
    assert one.says == "Times smaller: optimisation 6, noise 24, heterogeneity 342. Not needed: noise drift."
    large = dict.fromkeys(("K", "R"), 10**5) | {"M": 10**9}
    checked = 0
    for pair in pairs.values():
        before, ours = (pair.before.statement, pair.ours.statement)
        values = {s.symbol.name: s.start for s in sliders(before)}
        values |= {name: x for name, x in large.items() if name in values}
        values |= {"eta_tilde": 1e-30} if "eta_tilde" in values else {}
        if ours.paper != "sfl" or "S" in values:
            continue
        both = [evaluate(s.id, strict=False, **with_tied(s, values)).terms for s in (before, ours)]
        for term in pair.terms:
            name = term.name.replace(" ", "_")
            assert (term.ours == "not needed") == (name not in both[1])
            if term.factor is not None:
                assert both[0][name] / both[1][name] == pytest.approx(term.factor, rel=1e-3), (ours.id, name)
                checked += 1
    assert checked > 20


def test_what_gains_most_comes_first() -> None:
    def with_slack(c: Checked, slack: float) -> Checked:
        own = next(e for e in catalogue.evidence("sfl") if e.kind != "ledger")
        return replace(c, verdicts=((own, Verdict(Status.TESTED, "planted", slack=slack)),))

    planted = {"sfl.eq54.corrected": 30.0, "sfl.eq54.corrected.sharp": 2.0, "sfl.eq73": 20.0, "sfl.eq73.sharp": 1.02}
    known = [
        with_slack(c, planted.get(c.statement.id, 1.0)) for c in unchecked() if c.statement.paper in ("fedcom", "sfl")
    ]
    found = results.sharper(known)
    assert list(found) == ["sfl", "fedcom"]
    assert [pair.ours.statement.id for pair in found["sfl"][:2]] == ["sfl.eq73.sharp", "sfl.eq54.corrected.sharp"]
    assert [pair.gain for pair in found["sfl"][:3]] == pytest.approx([20 / 1.02, 15, 1])
    titles = {name: name for name in found}
    shown = page("sharper.html", papers=[], sharper=found, titles=titles, statuses=[], kinds=[])
    assert shown.index("falls from 20 to 1.02.") < shown.index("<table")  # the lead names the largest gain
    assert "falls from 20 to 1.02: a run comes within 2 % of our bound." in shown and "falls from 30 to 2." in shown


def test_the_cells_of_the_maps_are_counted_as_they_are_drawn() -> None:
    found = results.winners()
    right = near = ties = cells = 0
    for name in ("who_wins_noise", "who_wins_curvature"):
        data = pd.read_csv(DRAWN / f"{name}.csv")
        for _, cell in data.groupby([c for c in data.columns if c not in ("method", "gap", "bound")]):
            by_gap = cell.sort_values("gap")
            named = cell.loc[cell.bound.idxmin()]
            best, next_best = by_gap.gap.iloc[:2]
            right += named.method == by_gap.method.iloc[0]
            near += named.gap <= 1.1 * best
            ties += next_best <= 1.05 * best
            cells += 1
    assert (found.cells, found.right, found.near, found.ties) == (cells, right, near, ties)
    assert found.first.total() == found.named and found.best.total() == cells == 400


def test_the_page_on_networks_has_the_numbers_of_its_figure() -> None:
    over = pd.read_csv(DRAWN / "theory_beside_networks.csv").groupby(["method", "what"])["value"]
    means, least = over.mean(), over.min()
    rows = results.networks(STUDY.numbers)
    assert [t.method for t in rows] == list(METHODS) and set(over.size()) == {3}
    for t in rows:
        own = means[t.method]
        assert t.factor == pytest.approx(own["bound"] / own["gradient, step size of the theorem"], rel=1e-4)
        assert min(t.bound.values) == pytest.approx(least[t.method, "bound"], rel=1e-4)
        terms = own[[what for what in own.index if what.startswith("term of the bound")]]
        assert terms.idxmax().endswith(t.largest.replace(" ", "_"))


def test_the_site_leads_to_what_is_built_beside_it(tmp_path: Path) -> None:
    build(tmp_path / "site", unchecked("fedbat"), {})
    alone = (tmp_path / "site" / "index.html").read_text()
    assert "<code>make docs</code>" in alone and "<code>make course</code>" in alone and "paper_check.md" not in alone
    for name in ("docs/built/index.html", "course/built/index.html", "paper_check.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    build(tmp_path / "site", unchecked("fedbat"), {})
    shown = (tmp_path / "site" / "index.html").read_text()
    links = re.findall(r'href="(\.\./[^"]+)"', shown)
    assert len(set(links)) == 3 and "make docs" not in shown
    assert all((tmp_path / "site" / link).resolve().is_file() for link in links)


def test_a_refuted_statement_has_the_corrected_claim_below_and_in_the_report(tmp_path: Path) -> None:
    statement = catalogue.find("sfl.eq54")
    own = next(e for e in catalogue.evidence("sfl") if e.statement == statement.id)
    refuted = Verdict(Status.REFUTED, "two clients: 2 above 1", witness={"M": 2})
    checked = [
        replace(c, verdicts=((own, refuted),)) if c.statement.id == statement.id else c for c in unchecked("sfl")
    ]
    table = "sfl_table1_as_an_experiment"
    build(tmp_path, checked, {table: drawing.committed(table)})
    (*_, last) = formulas.of_bound("sfl", catalogue.find("sfl.eq54.corrected").claim)
    ours = formulas.lean(f"<span>{mathml('{} ' + last, display=True)}</span>")
    shown, report = ((tmp_path / f"{name}.html").read_text() for name in ("sfl.eq54", "sfl.report"))
    for text in (shown, report):
        printed, _, below = text.partition("Corrected: ")
        assert 'class="claim' in printed and ours in below and "<footer>" in text
    assert "Run it again: <code>fedtheory verify sfl.eq54</code>" in report and "two clients: 2 above 1" in report
    assert "Corrected: " not in (tmp_path / "sfl.eq42.html").read_text()  # not refuted here
    assert (tmp_path / "sfl.report.pdf").read_bytes().startswith(b"%PDF")
    assert all('href="sfl.report.pdf"' in (tmp_path / f"{name}.html").read_text() for name in ("sfl", "sfl.report"))
    row = (tmp_path / "sfl.table1.sgd.html").read_text()
    assert '<table class="rates">' in row and "✓" in row and f"{table}.png" not in row


def test_the_verdicts_can_be_downloaded(tmp_path: Path) -> None:
    own = next(e for e in catalogue.evidence("fedbat") if catalogue.errata(e.statement))
    found = Verdict(Status.REFUTED, "an instance", witness={"x": 0.5})
    known = [
        replace(c, verdicts=((own, found),)) if c.statement.id == own.statement else c for c in unchecked("fedbat")
    ]
    build(tmp_path, known, {})
    data = json.loads((tmp_path / "verdicts.json").read_text())
    assert [one["id"] for one in data] == [s.id for s in catalogue.statements("fedbat")]
    (one,) = [one for one in data if one["id"] == own.statement]
    assert one["verdict"] == "refuted" and one["headline"].startswith("refuted")
    assert one["evidence"] == [{"kind": own.kind, "verdict": "refuted", "says": "an instance", "witness": {"x": "0.5"}}]
    assert [e["severity"] for e in one["errata"]] == [e.severity for e in catalogue.errata(own.statement)]


def test_the_citation_is_that_of_the_repository(tmp_path: Path) -> None:
    told = downloads.citation()
    for line in ("title", "version"):
        value = re.search(rf'^{line}: "?(.+?)"?$', (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
        assert value and value[1] in told
    build(tmp_path, unchecked("fedbat"), {})
    assert told.splitlines()[1] in html.unescape((tmp_path / "index.html").read_text())


def test_the_report_ends_with_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verification, "pieces", lambda ids, full: {})
    monkeypatch.setattr(paper_check, "write_whole", lambda *_: unchecked("sfl"))
    monkeypatch.setattr(gallery, "pictures", lambda paper=None: [])
    monkeypatch.setattr(records, "again", lambda: [])  # which points are measured again, the commit says
    monkeypatch.setattr(sys, "argv", ["fedtheory", "report", "--site", "pages"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code and (tmp_path / "pages" / "index.html").is_file()
    out = capsys.readouterr().out
    assert "open it in a browser" in out and "pages/index.html" in out
