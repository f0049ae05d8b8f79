"""The pages of the site: an overview, one for each paper and each statement, the explorer, the glossary, and others."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

import jinja2
import sympy
import xarray as xr
from markupsafe import Markup

from fedtheory import glossary, texts
from fedtheory.agreed import InCoq, in_coq, opinions
from fedtheory.bounds import papers
from fedtheory.bounds.browser import LENGTHS, ArenaCurve, curves, following, javascript, sliders, tied
from fedtheory.bounds.evaluation import ROUNDING, claim_of, definition, has_terms
from fedtheory.bounds.winners import METHODS
from fedtheory.figures import beside_networks, gallery, winners
from fedtheory.figures.files import writable, write
from fedtheory.figures.styles import term_colours
from fedtheory.pages import premises
from fedtheory.report import PaperReport, Report
from fedtheory.site import downloads, formulas, listings, referee, results, search, shelf
from fedtheory.site.graph import Graph, graph
from fedtheory.site.typeset import breakable, typeset
from fedtheory.tasks import Progress, Task, Workshop
from fedtheory.theory import catalogue
from fedtheory.theory.listing import Listing
from fedtheory.theory.printing import latex, mathml, plain, rate_latex, unicode
from fedtheory.theory.statement import (
    Bound,
    Claim,
    Erratum,
    Evidence,
    EvidenceKind,
    Order,
    Paper,
    Rates,
    Relations,
    Severity,
    Statement,
    Status,
    Symbol,
    Verdict,
    Words,
)
from fedtheory.verification import Checked, count, digest_of, measurements_of, taken_over

_HERE = Path(__file__).parent
SEVERITIES = get_args(Severity)
_COUNTED: dict[Severity, tuple[str, str]] = {  # one and several errata
    "breaks the statement": ("false statement", "false statements"),
    "breaks the proof": ("broken proof", "broken proofs"),
    "missing hypothesis": ("missing hypothesis", "missing hypotheses"),
    "constant": ("wrong constant", "wrong constants"),
    "misprint": ("misprint", "misprints"),
}
_NO_RUN = {  # why no run is drawn beside a refuted bound, by the kind of evidence that refutes it
    "units": "The two sides have different units, so the inequality cannot hold for all scales.",
    "derivation": "Exact algebra refutes it: no run is needed.",
    "counterexample": "The witness is a single instance, in fractions or by an argument, not a run over rounds.",
    "enumeration": "The witness is a mean over all samples, not a run over rounds.",
    "search": "The witness is an exact instance of a round, which gives other quantities than this bound's symbols.",
    "worst_case": "The witness is an exact instance of a round, which gives other quantities than this bound's symbols.",
}


def build(
    out: Path,
    checked: Sequence[Checked],
    figures: Mapping[str, Mapping[str, bytes]],
    full: bool = False,
    progress: Progress | None = None,
    workshop: Workshop | None = None,
) -> list[Path]:
    """Write the site into the folder `out`; returns the files written, `index.html` first.

    checked  the statements with their verdicts, in catalogue order
    figures  the figures' files, "png" (of a table "html") and "csv", by their names; other figures are left out

    Every file is written whole or not at all.
    """
    beside = downloads.beside(out)

    def make() -> dict[str, bytes]:
        return contents(checked, figures, beside, full, progress, workshop)

    drawn = sorted((name, end, sha256(file).hexdigest()) for name, own in figures.items() for end, file in own.items())
    made = make() if workshop is None else workshop.once(f"site {digest_of(checked)} {drawn!r} {beside!r} {full}", make)
    for name, content in made.items():
        write(out / name, content)
    return [out / name for name in made]


def contents(
    checked: Sequence[Checked],
    figures: Mapping[str, Mapping[str, bytes]],
    beside: Mapping[str, str],
    full: bool = False,
    progress: Progress | None = None,
    workshop: Workshop | None = None,
) -> dict[str, bytes]:
    """The files of the site by their names, `index.html` first; arguments as for `build`.

    beside  what is built beside the site -> its address
    """
    tell = progress or (lambda *_: None)
    shown = {p.name: p for p in gallery.pictures() if p.name in figures}
    about: dict[str, list[gallery.Picture]] = {}
    for picture in shown.values():
        for id_ in picture.statements:
            about.setdefault(id_, []).append(picture)
    views = []
    for done, c in enumerate(checked, 1):
        views.append(view(c, about.get(c.statement.id, [])))
        tell("writing pages", done, len(checked))
    elsewhere = (*winners.PICTURES, *beside_networks.PICTURES)  # of all papers, on pages of their own
    report = Report(checked)
    papers = [
        PaperView(
            one,
            [v for v in views if v.statement.paper == one.paper.name],
            [p for p in gallery.pictures(one.paper.name) if p.name in shown and p not in elsewhere],
        )
        for one in report.papers
    ]
    maps = [p for p in winners.PICTURES if p.name in shown]
    networks = [p for p in beside_networks.PICTURES if p.name in shown]
    by_id = {v.statement.id: v for v in views}
    common: dict[str, Any] = {
        "papers": papers,
        "sharper": results.sharper(checked),
        "maps": maps,
        "networks": networks,
        "sizes": {name: _size(files["png"]) for name, files in figures.items() if "png" in files},
        "tables": {name: Markup(files["html"].decode()) for name, files in figures.items() if "html" in files},
        "status": {c.statement.id: c.status for c in checked},
        "statuses": list(count(checked)),
        "kinds": kinds(views),
        "severities": SEVERITIES,
        "beside": beside,
    }
    first: dict[str, Any] = {
        "number": texts.number_word(len(papers)),
        "report": report,
        "by_id": by_id,
        "shown": shown,
        "severity_says": texts.SEVERITY_SAYS,
        "listed": search.listed,
        "citation": downloads.citation(),
    }
    pages = {"index.html": page("index.html", **common, **first, views=gravest_first(views))}
    reports = {p.paper.name: common | {"paper": p, **report_values(p, by_id)} for p in papers}
    pdfs = [_pdf_task(values, alone=len(papers) == 1) for values in reports.values()]
    with ThreadPoolExecutor(max_workers=1) as beside_pages:  # to set formulas takes as long as to write all pages
        printed = beside_pages.submit((workshop or Workshop()).do, pdfs, progress)
        for paper in papers:
            name = paper.paper.name
            pages[f"{name}.html"] = page("paper.html", **common | {"kinds": kinds(paper.views)}, paper=paper)
            for before, v, after in zip([None, *paper.views], paper.views, [*paper.views[1:], None], strict=False):
                around: dict[str, Any] = {"before": before, "v": v, "after": after, "corrected": _instead(v, by_id)}
                around["pictured"] = v.statement.id in paper.graph
                pages[search.address(v.statement.id)] = page("statement.html", **common, **around)
            pages[f"{name}.report.html"] = page("report.html", **reports[name])
            pages[f"graph_{name}.html"] = page("graph.html", **common, paper=paper, picture=paper.graph)
    files: dict[str, bytes] = {f"{name}.report.pdf": pdf for name, pdf in zip(reports, printed.result(), strict=True)}
    pages["explorer.html"] = page("explorer.html", **common)
    if common["sharper"]:
        pages["sharper.html"] = page("sharper.html", **common, titles={p.paper.name: p.paper.title for p in papers})
    if maps:
        pages["winners.html"] = page("winners.html", **common, counts=results.winners(), methods=list(METHODS))
    if networks:
        pages["networks.html"] = page("networks.html", **common, **_networks())
    pages["shelf.html"] = page("shelf.html", **common, shelf=shelf.results())
    pages["glossary.html"] = page("glossary.html", **common, rows=symbols())
    files |= {f"assets/{p.name}": p.read_bytes() for p in sorted((_HERE / "assets").iterdir())}
    files["assets/index.js"] = search.index(checked).encode()
    files["assets/bounds.js"] = formulas.lean(explorer_data(checked, full, progress, workshop)).encode()
    for name in shown:
        pictured = {end: content for end, content in figures[name].items() if end not in ("csv", "html")}
        files |= {f"figures/{name}.{end}": content for end, content in pictured.items()}
        files[f"figures/{name}.csv.zip"] = downloads.archive(f"{name}.csv", figures[name]["csv"])
    whole = {name: formulas.lean(text).encode() for name, text in pages.items()} | files
    return whole | {"verdicts.json": downloads.verdicts(checked).encode()}


def _size(png: bytes) -> Markup:
    """The size of a picture as attributes: a page that knows it does not move when the picture comes."""
    width, height = struct.unpack(">II", png[16:24])
    return Markup(f'width="{width}" height="{height}"')


def _instead(v: View, by_id: Mapping[str, View]) -> list[View]:
    """What is claimed instead of a refuted statement."""
    return [by_id[id_] for id_ in v.corrected if id_ in by_id] if v.checked.status is Status.REFUTED else []


def report_values(paper: PaperView, by_id: Mapping[str, View]) -> dict[str, Any]:
    """What the report on a paper says: verdicts on its main statements, and its errors with what is true instead."""
    printed = [v for v in paper.views if v.statement.form == "printed"]
    wrong = [v for v in gravest_first(printed) if v.errata or v.checked.status is Status.REFUTED]
    return {
        "version": downloads.version(),
        "printed_counts": count(paper.report.printed),
        "main": [(v, _instead(v, by_id)) for v in printed if v.statement.kind in ("theorem", "algorithm")],
        "wrong": [(v, _instead(v, by_id)) for v in wrong],
    }


def pdf_source(values: Mapping[str, Any]) -> tuple[str, str, str]:
    """What `referee.pdf` makes a report of: page, title and footer; `values` are those of the page."""
    title = f"Report on {values['paper'].paper.title}"
    return page("report.html", in_latex=True, **values), title, f"fedtheory {values['version']}"


def _pdf_task(values: Mapping[str, Any], alone: bool) -> Task:
    """Make a report a PDF; in a worker, unless it is the only one."""
    return Task("writing reports", "several papers", "report", referee.pdf, pdf_source(values), long=not alone)


def _networks() -> dict[str, Any]:
    """What the page on networks says: its table, ranges of factors, and methods by name."""
    rows = results.networks(beside_networks.STUDY.numbers)
    return {
        "trained": rows,
        "bounds": results.between([t.factor for t in rows]),
        "steps": results.between([t.practised / t.admitted.mean for t in rows]),
        "by_start": ", ".join(t.method for t in rows if t.largest == "optimisation"),
        "steeper": ", ".join(t.method for t in rows if t.at_practised.mean > t.at_admitted.mean),
    }


def ready(out: Path) -> None:
    """Raises ValueError where the site cannot be written into the folder."""
    pages = sorted(path.name for path in (_HERE / "templates").glob("*.html"))
    own = [
        name.format(paper) for paper in catalogue.papers() for name in ("{}.html", "graph_{}.html", "{}.report.html")
    ]
    statements = [search.address(s.id) for s in catalogue.statements()]
    for name in ("index.html", *pages, *own, *statements):
        writable(out / name, mark='content="fedtheory report"')
    for paper in catalogue.papers():
        writable(out / f"{paper}.report.pdf", mark="/Creator (fedtheory report)")
    for name in ("assets/file", "figures/file", "verdicts.json"):
        writable(out / name)


def page(template: str, *, in_latex: bool = False, **values: Any) -> str:
    """A template, filled in; in_latex: formulas are LaTeX inside `<math>`, for what is no browser."""
    return _templates(in_latex).get_template(template).render(**values)


@cache
def _templates(in_latex: bool) -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["count_of"] = count
    made.filters["significant"] = texts.significant
    made.filters["best_text"] = texts.best_text
    made.filters["value_text"] = texts.value_text
    made.filters["premises"] = premises
    made.filters["typeset"] = typeset
    made.filters["first_of"] = texts.first_of
    made.filters["breakable"] = breakable
    made.filters["words"] = _words
    made.filters["mathml"] = _tagged if in_latex else mathml
    return made


def _tagged(text: str, display: bool = False) -> str:
    return Markup("<math>{}</math>").format(text)


def _words(text: str) -> Markup:
    """A piece of a sentence, typeset; its first and its last blank stay."""
    return Markup(" " * text.startswith(" ")) + typeset(text) + Markup(" " * text.endswith(" "))


@dataclass(frozen=True)
class Part:
    """A piece of a claim as it is shown.

    kind     formula (pieces of LaTeX), words (text), listing (numbered lines), compared (lines of two listings),
             settings (pairs), claims (texts), table (header, rows)
    content  as the kind says
    """

    kind: str
    content: Any


@dataclass(frozen=True)
class View:
    """A statement as its page shows it; conditions and definitions are MathML."""

    checked: Checked
    parts: list[Part]
    when: list[tuple[str, str]]  # condition, where it comes from
    where: list[str]
    links: list[tuple[str, list[str]]]  # title, ids
    used_by: list[str]
    errata: list[Erratum]
    figures: list[gallery.Picture]
    why_open: str

    @property
    def statement(self) -> Statement:
        """The statement."""
        return self.checked.statement

    @property
    def has_terms(self) -> bool:
        """Whether the explorer can evaluate it."""
        return has_terms(self.statement)

    @property
    def corrected(self) -> list[str]:
        """Ids of its corrected form, or of what completes it."""
        found = catalogue.corrected_by(self.statement.id)
        return [id_ for id_ in found if id_.endswith(".corrected")] or found

    @property
    def listed(self) -> list[Part]:
        """What the list of its paper shows of its claim: formulas, words, and an algorithm beside its corrected form."""
        kinds = ("formula", "words") if self.statement.ours else ("formula", "words", "compared")
        return [p for p in self.parts if p.kind in kinds]

    @property
    def says(self) -> str:
        """In one line what is wrong, what was shown, or why nothing was."""
        gravest = min(self.errata, key=lambda e: SEVERITIES.index(e.severity), default=None)
        if gravest and self.checked.severity:
            return f"Printed: {gravest.printed.rstrip('.')}. What is true: {gravest.true.rstrip('.')}"
        decide = [(e, v) for e, v in self.checked.verdicts if v.status is self.checked.status]
        decide.sort(key=lambda one: one[0].kind == "units")  # equal units are no proof
        return self.why_open or next((f"{e.kind}: {texts.first_of(v.says)}" for e, v in decide), "")

    @property
    def opinions(self) -> str:
        """Who agrees on its proofs."""
        return opinions(self.checked)

    @property
    def in_coq(self) -> list[InCoq]:
        """Its proofs as theorems in Coq."""
        return in_coq(self.checked)

    @property
    def proofs(self) -> list[tuple[Evidence, Verdict]]:
        """Its proofs that can be read, those that break included."""
        told = (Status.PROVED, Status.CONDITIONAL, Status.BROKEN)
        return [(e, v) for e, v in self.checked.verdicts if v.written and v.status in told]


@dataclass(frozen=True)
class PaperView:
    """What there is to report about a paper, with the views of its statements and its figures."""

    report: PaperReport
    views: list[View]
    figures: list[gallery.Picture]

    @property
    def paper(self) -> Paper:
        """The paper."""
        return self.report.paper

    @cached_property
    def graph(self) -> Graph:
        """What rests on what."""
        return graph([v.checked for v in self.views])

    @property
    def plainly_false(self) -> list[View]:
        """The printed statements whose substance is wrong."""
        return [v for v in self.views if v.checked.severity == search.PLAINLY_FALSE and v.statement.form == "printed"]

    @property
    def counted(self) -> list[str]:
        """How many errata have each severity, in words."""
        found = [e.severity for e in self.paper.errata]
        return [f"{n} {_COUNTED[one][n > 1]}" for one in SEVERITIES if (n := found.count(one))]


def view(checked: Checked, figures: list[gallery.Picture]) -> View:
    """A statement as its page shows it."""
    s = checked.statement
    links = [
        ("corrects", [s.corrects] if s.corrects else []),
        ("sharpens", [s.sharpens] if s.sharpens else []),
        ("corrected by", catalogue.corrected_by(s.id)),
        ("sharpened by", catalogue.sharpened_by(s.id)),
        ("assumes", list(s.assumes)),
    ]
    return View(
        checked,
        [part for claim in (s.claim, *s.also) for part in (_beside(s, claim) or parts(claim, s.paper))],
        [(mathml(latex(s.paper, c.relation)), "" if c.source == "printed" else c.source) for c in s.when],
        [mathml(latex(s.paper, sympy.Eq(k, v, evaluate=False))) for k, v in s.where.items()],
        [(title, ids) for title, ids in links if ids],
        catalogue.used_by(s.id),
        catalogue.errata(s.id),
        figures,
        texts.why_open(s) if checked.status is Status.OPEN else "",
    )


def _beside(s: Statement, claim: Claim) -> list[Part]:
    """An algorithm beside its corrected, or its printed, form; nothing if there is none."""
    both = listings.beside(s) if claim is s.claim else None
    return [Part("compared", listings.comparison(*both))] if both else []


def parts(claim: Claim, paper: str) -> list[Part]:
    """A claim, piece by piece."""

    def formula(pieces: Sequence[str]) -> Part:
        first, *others = pieces  # a sign after an empty group stands between two terms: it gets its space
        return Part("formula", [first, *(f"{{}} {one}" for one in others)])

    if isinstance(claim, Bound | Order):
        return [formula(formulas.of_bound(paper, claim))]
    if isinstance(claim, Relations):
        words = [Part("words", claim.words)] if claim.words else []
        return [*(formula(formulas.of_relation(paper, r)) for r in claim.relations), *words]
    if isinstance(claim, Words):
        return [Part("words", claim.text), *(formula(formulas.of_relation(paper, f)) for f in claim.formulas)]
    if isinstance(claim, Rates):
        return [formula([rate_latex(paper, rate)]) for rate in claim.rates]
    if isinstance(claim, Listing):
        return [Part("listing", listings.shown(claim))]
    found = []
    if claim.settings:
        found.append(Part("settings", {name: texts.value_text(value, str) for name, value in claim.settings.items()}))
    if claim.claims:
        found.append(Part("claims", claim.claims))
    if claim.table:
        columns = list(dict.fromkeys(name for row in claim.table for name in row))
        rows = [["" if row.get(c) is None else texts.value_text(row[c], str) for c in columns] for row in claim.table]
        found.append(Part("table", (columns, rows)))
    return found


def gravest_first(views: Sequence[View]) -> list[View]:
    """Refuted statements by their severity, those without an erratum last of them; then all others, as they stand."""
    order = {severity: place for place, severity in enumerate((*SEVERITIES, None))}
    return sorted(views, key=lambda v: order[v.checked.severity] if v.checked.status is Status.REFUTED else len(order))


def kinds(views: Sequence[View]) -> list[str]:
    """The kinds of statement that there are, in alphabetical order."""
    return sorted({v.statement.kind for v in views})


def symbols() -> list[dict[str, Any]]:
    """The rows of the glossary, each with its symbol as MathML."""
    return [row | {"mathml": mathml(row["latex"])} for row in glossary.rows()]


def explorer_data(
    checked: Sequence[Checked], full: bool, progress: Progress | None = None, workshop: Workshop | None = None
) -> str:
    """A script that defines FEDTHEORY: every bound's symbols, formulas as functions, conditions, measured curves.

    Repeated data is stored once: symbols by paper, the names of arenas, and as `series`, by their number, all values along
    curves.
    """
    shown = [c for c in checked if has_terms(c.statement)]
    tasks = [_task(c.statement.id, tuple(e.kind for e, _ in c.verdicts), full) for c in shown]
    found = (workshop or Workshop()).do(tasks, progress)
    papers = {
        name: {"title": paper.title, "symbols": {s.name: _symbol(s) for s in paper.symbols.values()}}
        for name, paper in catalogue.papers().items()
    }
    arenas: dict[str, int] = {}
    series: dict[tuple[float | None, ...], int] = {}
    bounds = {
        c.statement.id: {
            "status": str(c.status),
            "severity": c.severity or "",
            "witness": witness(c),
            **formulas,
            "curves": [_curve(curve, [name for name, *_ in formulas["sliders"]], arenas, series) for curve in measured],
        }
        for c, (formulas, measured) in zip(shown, found, strict=True)
    }
    shared = {"arenas": list(arenas), "series": [[*map(_count, one)] for one in series]}
    data = {"rounding": ROUNDING, "papers": papers, "bounds": bounds} | shared
    return f'"use strict";\nwindow.FEDTHEORY={script(data)};\n'


def witness(checked: Checked) -> dict[str, Any] | None:
    """What refutes a statement, for the explorer, and why no run is drawn where none crosses it; None if nothing does."""
    if not checked.against:
        return None
    evidence, found = checked.against[0]
    return {
        "kind": evidence.kind,
        "says": typeset(texts.first_of(found.says)),
        "why": _NO_RUN.get(evidence.kind, ""),
        "values": [[typeset(name), typeset(texts.value_text(value))] for name, value in found.witness.items()],
    }


@dataclass(frozen=True)
class Code:
    """JavaScript that is written as it is."""

    text: str


def script(value: Any) -> str:
    """JSON-able data, with pieces of code in it, as JavaScript."""
    if isinstance(value, Code):
        return value.text
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(str(name))}:{script(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(script, value)) + "]"
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def tasks_of(evidence: Mapping[str, Sequence[tuple[Evidence, Task]]], full: bool) -> list[Task]:
    """The tasks of the explorer for these statements, each with its evidence."""
    shown = ((id_, own) for id_, own in evidence.items() if has_terms(catalogue.find(id_)))
    return [_task(id_, tuple(e.kind for e, _ in own), full) for id_, own in shown]


@cache
def _task(id_: str, kinds: tuple[EvidenceKind, ...], full: bool) -> Task:
    needs = tuple(task for kind in kinds for task in measurements_of(id_, kind, full))
    return Task("writing formulas", catalogue.find(id_).paper, "explorer", explored, (id_, bool(needs), full), needs)


def explored(id_: str, run: bool, full: bool, *found: xr.Dataset | Verdict) -> tuple[dict[str, Any], list[ArenaCurve]]:
    """A bound for the explorer, and the curves of its arenas if all were measured; `found` are their measurements."""
    statement = catalogue.find(id_)
    error = taken_over(found, papers.arenas(statement.paper), full)
    return bound_data(statement), curves(statement, full) if run and error is None else []


def bound_data(s: Statement) -> dict[str, Any]:
    """A bound for the explorer, without verdict and curves; its functions take the symbols' values by name."""
    claim, paper, start = claim_of(s), s.paper, sliders(s)
    names = [x.symbol.name for x in start]
    defined = definition(claim)
    colours = term_colours([t.name for t in claim.terms])
    follows = following(s)
    if follows is not None:
        follows |= {name: Code(javascript(follows[name])) for name in ("rate", "ratio")}
    return {
        "paper": paper,
        "follows": follows,
        "place": s.place,
        "form": s.form,
        "forms": [id_ for id_ in (s.corrects, s.sharpens) if id_]
        + [*catalogue.corrected_by(s.id), *catalogue.sharpened_by(s.id)],
        "quantity": s.id if isinstance(claim, Relations) else plain(claim.quantity),
        "label": ""
        if isinstance(claim, Relations)
        else _in_a_line(unicode(paper, claim.quantity), plain(claim.quantity)),
        "left": "" if isinstance(claim, Relations) else mathml(latex(paper, claim.quantity)),
        "relations": [mathml(latex(paper, r)) for r in claim.relations] if isinstance(claim, Relations) else [],
        "defined": None if defined is None else Code(javascript(defined)),
        "sign": claim.sign if isinstance(claim, Bound) else "order" if isinstance(claim, Order) else "parts",
        "sliders": [[x.symbol.name, x.low, x.high, x.start] for x in start],
        "along": next((n for n in (*LENGTHS, *names) if n in names), ""),
        "tied": {name: Code(javascript(e)) for name, e in tied(s).items()},
        "terms": [
            {
                "name": t.name,
                "math": mathml(latex(paper, t.value)),
                "f": Code(javascript(t.value)),
                "colour": colours[t.name],
            }
            for t in claim.terms
        ],
        "conditions": [
            {
                "text": str(c),
                "math": mathml(latex(paper, c.relation)),
                "op": c.relation.rel_op,
                "source": "" if c.source == "printed" else c.source,
                "left": Code(javascript(c.relation.lhs)),
                "right": Code(javascript(c.relation.rhs)),
            }
            for c in s.when
        ],
    }


def _in_a_line(text: str, otherwise: str) -> str:
    """The text if it is one line, else the other one."""
    return otherwise if "\n" in text.strip() else text.strip()


def _symbol(symbol: Symbol) -> dict[str, Any]:
    domain = symbol.sympy
    return {
        "math": mathml(symbol.latex),
        "meaning": symbol.meaning,
        "told": typeset(symbol.meaning),
        "integer": bool(domain.is_integer),
        "least": "positive" if domain.is_positive else "zero" if domain.is_nonnegative else "none",
    }


def _curve(
    curve: ArenaCurve, names: Sequence[str], arenas: dict[str, int], series: dict[tuple[float | None, ...], int]
) -> dict[str, Any]:
    """A curve in short form: six digits are enough for a plot, four for an interval; an exact curve has none."""

    def number(values: Sequence[float | None]) -> int:
        return series.setdefault(tuple(values), len(series))

    ends = {"low": (curve.low, 4), "high": (curve.high, 4)} if curve.seeds else {}
    parts = {"mean": (curve.mean, 6)} | ends
    return {
        "arena": arenas.setdefault(curve.arena, len(arenas)),
        "step": curve.step,
        "seeds": curve.seeds,
        "symbols": number([curve.symbols.get(name) for name in names]),
        "along": {name: number(x) for name, x in curve.along.items()},
        **{part: number([float(f"{x:.{digits}g}") for x in values]) for part, (values, digits) in parts.items()},
    }


def _count(x: float | None) -> float | None:
    """The number, without a decimal point if it is whole; None stays."""
    return x if x is None else int(x) if x == int(x) and abs(x) < 1e15 else x
