"""paper_check.md: the verdict on every statement of every paper. Generated; the same input gives the same file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import sympy

from fedtheory.agreed import agreed, constants
from fedtheory.paper_details import details
from fedtheory.score import known as scores_of
from fedtheory.sharper import gains
from fedtheory.tasks import Progress, Workshop
from fedtheory.texts import SEVERITY_SAYS, cell, first_of, number_word, significant, value_text, verdict, why_open
from fedtheory.verification import Checked, by_severity, count, roots, verify
from figures import gallery
from figures.files import write
from theory import catalogue
from theory.printing import latex
from theory.statement import Erratum, Form, Paper, Severity, Status

FIGURES = "figures/drawn"

_WORDS = """## What the words mean

**Verdicts.** *proved*: for every instance of the hypotheses, exactly. *conditional*: proved if
something is added that the paper does not list; what, stands beside the verdict ([the standard of
charity](docs/pages/charity.md)). *tested*: no violation in a stated, finite family (all samples up to a size, or the named
instances or arenas). *refuted*: with a witness that can be re-run. *broken*: a proof fails at a named step; this decides
nothing about its statement. *vacuous*: the conditions cannot be met. *analogue*: an experiment of ours beside a
printed result, which decides nothing about it. *definition*: a definition, an assumption, a picture: it
claims nothing, so there is nothing to decide. *open*: no evidence here decides it; equal units alone decide nothing. A
proof is worth no more than the statements that it assumes.

**Evidence.** *units*: every term has the dimension of its left side. *enumeration*: exact rational expectation over all
samples. *derivation*: exact algebra. *certificate*: multipliers of a semidefinite programme, rounded and verified exactly,
for every function of a class in every dimension. *ledger*: the printed proof (for a corrected statement: its own proof),
step by step from catalogue claims to printed constants; z3 decides each step exactly. *repair*: our proof, if the printed
one breaks or if the statement lists too little. *counterexample*: a constructed instance, evaluated exactly. *search*:
exact instances of one round or of a whole run, and a search for the worst instance. *worst_case*: an inequality about a
round at named small counts and one step size, for all functions of the class in every dimension; a semidefinite programme,
with multipliers or an instance that are verified exactly. *moments*: the exact expectation of
whole runs on quadratics. *run*: Monte Carlo inside the theorem's conditions with certified constants, 99.9 % confidence
intervals. *slopes*: how the rounds to an accuracy grow with each constant, on a problem where one term of a printed rate is
large, beside the exponents of the rate: always an analogue.

Evidence that cannot fail is no evidence: the tests demand that every piece refutes some changed claim (`make test` of
every third statement, `make test-full` of all). A verdict should also depend on every part of its statement. So each
statement that is proved, conditional or tested is changed, one part at a time, and its evidence runs again; the table of
each paper counts the changes that the evidence *notices*: nothing speaks for the changed statement any more, or something
against it. Not counted: changes that z3 shows to be weaker; sharper bounds within the room of the proof; conditions and
assumptions that the proof does not use; for a statement that is only tested, conditions that follow from its other parts.
*Not noticed* lists the other changes. If a statement is only tested, a constant can change within its slack without
notice. Measured numbers, in tables and settings of
experiments, are counted separately: another measurement is not another claim.
`fedtheory verify ID --mutate` computes all this again for one statement.

**Slack**: the factor by which the claim could be tightened before one of the instances here refutes it (below 1: refuted).
**Room**: the factor by which its tightest constant could be improved before its proof breaks.
"""


def write_whole(out: Path, full: bool, progress: Progress | None, workshop: Workshop) -> list[Checked]:
    """Verify all statements; write the paper check to `out` and its details beside it; returns the checked statements."""
    checked = verify([s.id for s in catalogue.statements()], full, progress, workshop)
    for name, text in generate(checked).items():
        write(out.parent / name.replace("paper_check", out.stem, 1), text.encode())
    return checked


def generate(checked: Sequence[Checked]) -> dict[str, str]:
    """The texts by their files' names, for these statements (whole papers, in catalogue order).

    paper_check.md; paper_check/PAPER.md for each paper.
    """
    figures = {id_: f"{FIGURES}/{p.name}.png" for p in gallery.pictures() for id_ in p.statements}
    scores = scores_of(checked)
    about = {c.statement.paper for c in checked}
    chosen = [paper for name, paper in catalogue.papers().items() if name in about]
    by_paper = {p: [c for c in checked if c.statement.paper == p.name] for p in chosen}
    severities = "; ".join(f"*{name}*: {says}" for name, says in SEVERITY_SAYS.items())
    words = f"{_WORDS}**Severity**, of a refuted statement: the gravest of its errata. {severities}.\n"
    parts = [_first(by_paper), *(_about(paper, own) for paper, own in by_paper.items()), _agreement(checked), words]
    texts = {"paper_check.md": "\n".join(parts).rstrip() + "\n"}
    return texts | {f"paper_check/{p.name}.md": details(p, own, figures, scores) for p, own in by_paper.items()}


def _first(by_paper: Mapping[Paper, Sequence[Checked]]) -> str:
    """The first screen: counts, findings, contents."""
    printed = {p: [c for c in own if c.statement.form == "printed"] for p, own in by_paper.items()}
    every = [c for own in printed.values() for c in own]
    refuted = by_severity(every)
    lines = [
        "# Paper check\n",
        f"{number_word(len(by_paper)).capitalize()} published papers on federated optimisation, statement by statement.",
        f"Each of the {len(every)} printed statements is encoded exactly as printed, and put to every test here that could",
        "refute it.",
        f"**{sum(refuted.values())} are refuted; {refuted.get('breaks the statement', 0)} of these are plainly false, by "
        f"{roots(every, 'breaks the statement')} different errors.**",
        "Each has a witness that you can run again. Generated by `fedtheory paper-check`; do not edit.\n",
        f"| paper | statements | refuted | {' | '.join(severity or 'no erratum' for severity in refuted)} | "
        "different errors that break statements |",
        f"|---|---:|---:|{'---:|' * len(refuted)}---:|",
    ]
    for paper, some in printed.items():
        counts = by_severity(some)
        numbers = [sum(counts.values()), *(counts.get(severity, 0) for severity in refuted)]
        cells = [f"[{paper.title}](#{anchor(paper.title)})", len(some), *numbers, roots(some, "breaks the statement")]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += [
        "",
        "A statement can have several errata; it counts under the gravest. One error can break several statements: those\n"
        "that repeat it, and those that rest on one of them. [What the words mean](#what-the-words-mean).\n",
        "## What to know first\n",
    ]
    known = {c.statement.id: c for c in every}
    borne_out = [(paper, one) for paper in by_paper for one in paper.findings if known[one.statement].against]
    for number, (paper, one) in enumerate(borne_out, 1):
        witness = known[one.statement].against[0][1]
        lines += [
            f"**{number}. {one.title}** (`{one.statement}`). {one.says} {one.matters}\n",
            f"Witness: {cell(first_of(witness.says))}. Run it again: `fedtheory verify {one.statement}`. ",
            f"[Figure]({FIGURES}/{one.figure}.png). In [{paper.name}](#{anchor(paper.title)}).\n",
        ]
    lines.append("## Contents\n")
    for paper, own in by_paper.items():
        sections = [title for title, text in _sections(paper, own).items() if text]
        links = " · ".join(f"[{title}](#{anchor(f'{title} ({paper.name})')})" for title in sections)
        lines.append(f"- **[{paper.title}](#{anchor(paper.title)})**: {links} · [details](paper_check/{paper.name}.md)")
    lines.append(
        "- [Who agrees on the proofs](#who-agrees-on-the-proofs) · [What the words mean](#what-the-words-mean)"
    )
    return "\n".join(lines) + "\n"


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _about(paper: Paper, own: Sequence[Checked]) -> str:
    """A paper: counts of verdicts, then its sections."""
    by_form = {form: [c for c in own if c.statement.form == form] for form in get_args(Form)}
    sections = {title: text for title, text in _sections(paper, own).items() if text}
    return "\n".join(
        [
            f"## {paper.title}\n",
            f"{paper.citation}. Short name `{paper.name}`. Formulas, evidence, best constants and proofs of all statements:",
            f"[paper_check/{paper.name}.md](paper_check/{paper.name}.md).\n",
            _summary(by_form),
            *(f"### {title} ({paper.name})\n\n{text}" for title, text in sections.items()),
        ]
    )


def _sections(paper: Paper, own: Sequence[Checked]) -> dict[str, str]:
    """The sections of a paper by their titles; empty ones too."""
    printed = [c for c in own if c.statement.form == "printed"]
    return {
        "Refuted as printed": _refuted(printed),
        "Read with charity": _with_additions(printed),
        "Errata": _errata(paper, own),
        "Sharper than printed": _sharper(paper, [c for c in own if c.statement.form == "sharper"], own),
        "All verdicts": _verdicts(own),
        "Open, and why": _left_open(printed),
    }


def _verdicts(own: Sequence[Checked]) -> str:
    """One row per statement."""
    lines = ["| id | place | evidence | verdict |", "|---|---|---|---|"]
    for form in get_args(Form):
        for c in (c for c in own if c.statement.form == form):
            evidence = "; ".join(f"{e.kind}: {v.status}" for e, v in c.verdicts) or "none"
            lines.append(f"| `{c.statement.id}` | {cell(c.statement.place)} | {evidence} | {verdict(c)} |")
    return "\n".join(lines) + "\n"


def _agreement(checked: Sequence[Checked]) -> str:
    """How many steps of proofs z3 decides, and who agrees, for each paper and for all."""
    lines = [
        "## Who agrees on the proofs\n",
        "The different steps of the proofs. A step with a *certificate* is an identity of polynomials, checked in exact",
        "arithmetic in every verification; for the others you trust z3. Coq's kernel has checked proofs of steps, and of",
        "theorems that chain them from premises to conclusions (`make coq`); what a theorem says, and what not:",
        "[Whom do you have to trust?](docs/pages/trust.md) *Theorems in Coq* lists, for each paper, what they rest on.",
        "*Best constants*: of how many, as sums of squares, Coq's kernel has checked the proof.\n",
        "| paper | steps | with a certificate | accepted by Coq | theorems in Coq | best constants in Coq | steps without |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    by_paper = {f"`{name}`": [c for c in checked if c.statement.paper == name] for name in catalogue.papers()}
    for name, own in {**by_paper, "all": list(checked)}.items():
        found = agreed(own)
        accepted, on_file = constants({c.statement.paper for c in own})
        ids = {"certificate": found.without_certificate, "Coq": found.without_coq} if name != "all" else {}
        without = "; ".join(f"{who}: {', '.join(f'`{id_}`' for id_ in which)}" for who, which in ids.items() if which)
        counts = f"{found.steps} | {found.certified} | {found.coq} | {found.theorems} | {accepted} of {on_file}"
        if found.steps:
            lines.append(f"| {name} | {counts} | {without} |")
    return "\n".join(lines) + "\n"


def _summary(by_form: Mapping[str, Sequence[Checked]]) -> str:
    """Counts by verdict, and by kind of evidence."""
    kinds: dict[str, dict[Status, int]] = {}
    own = [c for some in by_form.values() for c in some]
    for c in own:
        for e, v in c.verdicts:
            row = kinds.setdefault(e.kind, dict.fromkeys(Status, 0))
            row[v.status] += 1
    columns = list(count(own))
    head = "| | " + " | ".join(columns) + " | all |\n|---|" + "---:|" * (len(columns) + 1)
    rows = []
    for form, some in by_form.items():
        totals = count(some)
        if some:
            rows.append(f"| {form} statements | {' | '.join(str(totals.get(s, 0)) for s in columns)} | {len(some)} |")
    rows += [
        f"| evidence: {kind} | {' | '.join(str(row[s]) for s in columns)} | {sum(row.values())} |"
        for kind, row in sorted(kinds.items())
    ]
    return "\n".join([head, *rows]) + "\n"


def _errata(paper: Paper, own: Sequence[Checked]) -> str:
    """The errata: the printed text, the true one, and the verdicts on both."""
    known = {c.statement.id: c for c in own}
    lines = [
        "| severity | place | printed | true | the printed one | the corrected one | witness |",
        "|---|---|---|---|---|---|---|",
    ]
    for severity in get_args(Severity):
        for e in paper.errata:
            if e.severity == severity:
                lines.append(f"| {' | '.join(_erratum(e, known))} |")
    return "\n".join(lines) + "\n" if paper.errata else ""


def _erratum(e: Erratum, known: Mapping[str, Checked]) -> tuple[str, ...]:
    printed = known[e.statement]
    if e.severity == "misprint" and not e.corrected:  # the statement's verdicts are about other things
        return (
            e.severity,
            f"`{e.statement}`, {cell(printed.statement.place)}",
            cell(e.printed),
            cell(e.true),
            "found by reading",
            "",
            "",
        )
    against = [f"{k.kind}: {v.status}" for k, v in printed.verdicts if v.status in (Status.REFUTED, Status.BROKEN)]
    found = f"{printed.status}" + (f" ({', '.join(against)})" if against else ", found by reading")
    corrected = f"`{e.corrected}`: {known[e.corrected].status}" if e.corrected else ""
    command = f"`fedtheory verify {e.statement}`" if against else ""
    place = f"`{e.statement}`, {cell(printed.statement.place)}"
    return e.severity, place, cell(e.printed), cell(e.true), found, corrected, command


def _refuted(own: Sequence[Checked]) -> str:
    """Every refuted statement with its strongest witness and the command that shows it again, the gravest first."""
    lines = []
    for severity in (*get_args(Severity), None):
        some = [c for c in own if c.status is Status.REFUTED and c.severity == severity]
        if some:
            lines.append(f"**{severity or 'no erratum'}** ({len(some)})\n")
            lines += [*map(_witness, some), ""]
    return "\n".join(lines)


def _witness(c: Checked) -> str:
    (e, v), *others = c.against
    witness = "; ".join(f"{k} = {value_text(value)}" for k, value in v.witness.items())
    also = f", also by {', '.join(other.kind for other, _ in others)}" if others else ""
    return (
        f"- **`{c.statement.id}`** ({c.statement.place}), by {e.kind}{also}: {cell(v.says)}. "
        f"`fedtheory verify {c.statement.id}`\n  - Witness: {cell(witness)}."
    )


def _with_additions(own: Sequence[Checked]) -> str:
    """The statements whose verdict needs an addition, and what refutes them as they are listed."""
    lines = []
    for c in (c for c in own if c.added):
        against = next((f" As listed: {cell(first_of(v.without))}." for _, v in c.verdicts if v.without), "")
        lines.append(f"- `{c.statement.id}` ({c.statement.place}): {verdict(c)}.{against}")
    head = "What these statements do not list, the [standard of charity](docs/pages/charity.md) reads into them.\n\n"
    return head + "\n".join(lines) + "\n" if lines else ""


def _sharper(paper: Paper, sharper: Sequence[Checked], own: Sequence[Checked]) -> str:
    """Bounds with better constants than the printed ones, term by term."""
    known = {c.statement.id: c for c in own}
    lines = [
        "Bounds of ours with better constants, each with its own proof, for step sizes up to the printed limit. A bound",
        "that is false as printed is compared in its corrected form. *Slack* is the smallest bound/measured here, for each.",
        "*None left*: the term is not needed.  We do not claim that these theorems are new.\n",
        "| slack | printed or corrected | slack | ours | verdict | its terms over ours |",
        "|---:|---|---:|---|---|---|",
    ]
    for c in (c for c in sharper if c.statement.kind in ("theorem", "bound")):
        printed = known[c.statement.sharpens]
        before, after = ("" if number is None else significant(number) for number in (printed.slack, c.slack))
        ours = f"{after} | `{c.statement.id}` | **{c.status}**"
        terms = ", ".join(
            f"{name} $`{latex(paper.name, gain)}`$" if isinstance(gain, sympy.Expr) else f"{name}: {gain}"
            for name, gain in gains(c.statement.id).items()
        )
        lines.append(f"| {before} | `{printed.statement.id}` | {ours} | {terms} |")
    return "\n".join(lines) + "\n" if sharper else ""


def _left_open(own: Sequence[Checked]) -> str:
    """The open statements, each with its reason."""
    some = [c.statement for c in own if c.status is Status.OPEN]
    return "".join(f"- `{s.id}` ({s.place}): {why_open(s)}.\n" for s in some)
