"""A statement in readable mathematics, for a terminal or as LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace

import sympy

from fedtheory.theory import catalogue
from fedtheory.theory.listing import Listing
from fedtheory.theory.printing import UNICODE_SIGNS, claim_latex, latex, plain, unicode
from fedtheory.theory.proof_text import ProofText, as_lines
from fedtheory.theory.proofs import algorithms
from fedtheory.theory.statement import (
    Bound,
    Claim,
    Evidence,
    Order,
    Rates,
    Record,
    Relations,
    Statement,
    Verdict,
    Words,
)


def indented(text: str, by: int = 4) -> str:
    """Every line moved to the right, trailing blanks removed."""
    return "\n".join(" " * by + line.rstrip() for line in text.rstrip().splitlines())


def as_text(statement: Statement, proofs: bool = False) -> str:
    """The statement for a terminal; with `proofs`, which run, what these rest on."""
    paper = statement.paper
    parts = [f"{statement.id}  ({statement.kind})", f"{catalogue.paper(paper).title}, {statement.place}", ""]
    for i, claim in enumerate((statement.claim, *statement.also)):
        parts += [*(["", "and:"] if i else []), *_claim(claim, paper)]
    for title, relations in (
        ("when", [(unicode(paper, c.relation), "" if c.source == "printed" else c.source) for c in statement.when]),
        ("where", [(unicode(paper, sympy.Eq(s, v, evaluate=False)), "") for s, v in statement.where.items()]),
    ):
        if relations:
            parts += ["", f"{title}:"]
            for text, remark in relations:
                parts.append(indented(text) + (f"      ({remark})" if remark else ""))
    if statement.applies:
        parts += ["", f"applies {statement.applies.lemma} with:"]
        parts += [f"    {name} = {plain(value)}" for name, value in statement.applies.substitution.items()]
    for title, ids in (
        ("assumes", statement.assumes),
        ("rests on", statement.rests_on),
        ("used by", catalogue.used_by(statement.id)),
        ("corrects", (statement.corrects,) if statement.corrects else ()),
        ("sharpens", (statement.sharpens,) if statement.sharpens else ()),
        ("corrected by", catalogue.corrected_by(statement.id)),
        ("sharpened by", catalogue.sharpened_by(statement.id)),
    ):
        if ids:
            parts += ["", f"{title}: {', '.join(ids)}"]
    if (theorem := algorithms.theorem_of(statement.id)) is not None:
        says = (
            "this printed claim is false" if statement.id in algorithms.REFUTED else "this theorem about the algorithm"
        )
        parts += ["", f"Coq's kernel has checked: {says} ({theorem})"]
    for erratum in catalogue.errata(statement.id):
        parts += ["", f"erratum ({erratum.severity}): {erratum.printed}", f"    true: {erratum.true}"]
    for kind, verdict in _proofs(statement) if proofs else ():
        parts += ["", f"{kind}: {verdict.status}; it rests on"]
        parts += [f"    {title}: {'; '.join(names)}" for title, names in premises(verdict).items()]
        parts += ["", *(f"    {line}" for line in as_lines(verdict.written))] if verdict.written else []
    symbols = _symbols(statement)
    if symbols:
        parts += ["", "symbols:"]
        parts += [f"    {s.name:<12} {s.meaning} [{s.domain}; dimension {plain(s.dimension)}]" for s in symbols]
    if statement.note:
        parts += ["", f"note: {statement.note}"]
    return "\n".join(parts)


_PREMISES = {
    "claim": "claims",
    "property": "assumed",
    "rule": "rules",
    "condition": "conditions",
    "definition": "definitions",
    "algorithm": "algorithms",
    "inference": "inferences in words",
}


def premises(verdict: Verdict) -> dict[str, list[str]]:
    """What a proof rests on, by kind: claims of other statements, assumed properties, rules, conditions, algorithms."""
    found = {title: [p.name for p in verdict.premises if p.kind == kind] for kind, title in _PREMISES.items()}
    return {title: names for title, names in found.items() if names}


def _proofs(statement: Statement) -> list[tuple[str, Verdict]]:
    """The verdicts of the statement's proofs: its ledger and its repair."""
    own = [e for e in catalogue.evidence(statement.paper) if e.statement == statement.id]
    return [(e.kind, _with_proof(e, statement)) for e in own if e.kind in ("ledger", "repair")]


def _with_proof(evidence: Evidence, statement: Statement) -> Verdict:
    """The verdict of a proof, with the proof in words."""
    from fedtheory.theory.proofs.arithmetic import recorded  # only here: `show` alone needs no prover
    from fedtheory.theory.proofs.prose import written_of

    with recorded() as recording:
        verdict = evidence.check(statement, False)
    return replace(verdict, written=written_of(recording))


def _symbols(statement: Statement) -> list:
    """The parameters of a bound, with their meanings."""
    from fedtheory.bounds.evaluation import has_terms, parameters

    return list(parameters(statement)) if has_terms(statement) else []


def _claim(claim: Claim, paper: str) -> list[str]:
    """A claim's lines."""
    lines: list[str] = []
    if isinstance(claim, Bound | Order):
        sign = UNICODE_SIGNS[claim.sign] if isinstance(claim, Bound) else f"= {claim.letter} of"
        lines.append(unicode(paper, claim.quantity, sign).rstrip())
        for i, term in enumerate(claim.terms):
            lines += [f"  {'+' if i else ' '} {term.name}:", indented(unicode(paper, term.value), 8)]
    elif isinstance(claim, Relations):
        for relation in claim.relations:
            lines += [indented(unicode(paper, relation)), ""]
        if claim.words:
            lines.append(claim.words)
    elif isinstance(claim, Words):
        lines.append(claim.text)
        for formula in claim.formulas:
            lines += ["", indented(unicode(paper, formula))]
    elif isinstance(claim, Rates):
        for rate in claim.rates:
            rounds = f"{'Õ' if rate.polylog else 'O'}({plain(rate.rounds)})"
            steps = "1" if rate.steps == 1 else f"O({plain(rate.steps)})"
            given = "".join(f", given {plain(relation)}" for relation in rate.given)
            lines.append(f"  {rate.case}: R = {rounds}, tau = {steps}{given}")
    elif isinstance(claim, Listing):
        lines += [f"{line.number:>4}  {line}" for line in claim.lines]
    elif isinstance(claim, Record):
        lines += [f"  {name}: {value}" for name, value in claim.settings.items()]
        lines += [f"  claim: {text}" for text in claim.claims]
        if claim.table:
            lines += ["", *_rows(claim.table)]
    return lines


def _rows(table: tuple[Mapping[str, object], ...]) -> list[str]:
    """Rows of a record as aligned columns."""
    columns = list(dict.fromkeys(name for row in table for name in row))
    cells = [columns, *[["" if row.get(c) is None else str(row.get(c)) for c in columns] for row in table]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return ["  " + "  ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)).rstrip() for line in cells]


def as_latex(statement: Statement) -> str:
    """The claim, conditions and definitions as LaTeX, one formula a line."""
    formulas = [claim_latex(statement)] if claim_latex(statement) else []
    formulas += [latex(statement.paper, c.relation) for c in statement.when]
    formulas += [latex(statement.paper, sympy.Eq(s, v, evaluate=False)) for s, v in statement.where.items()]
    if not formulas:
        raise ValueError(f"{statement.id} has no formula; expected one of the statements with mathematics")
    return "\n".join(formulas)


def as_json(statement: Statement) -> dict[str, object]:
    """The statement as JSON-able data."""
    claim = statement.claim
    return {
        "id": statement.id,
        "paper": statement.paper,
        "kind": statement.kind,
        "place": statement.place,
        "claim": type(claim).__name__.lower(),
        "latex": claim_latex(statement),
        "terms": {t.name: plain(t.value) for t in claim.terms} if isinstance(claim, Bound | Order | Relations) else {},
        "conditions": [str(c) for c in statement.when],
        "assumes": list(statement.assumes),
        "rests_on": list(statement.rests_on),
        "used_by": catalogue.used_by(statement.id),
        "corrects": statement.corrects,
        "sharpens": statement.sharpens,
        "corrected_by": catalogue.corrected_by(statement.id),
        "sharpened_by": catalogue.sharpened_by(statement.id),
        "errata": [asdict(erratum) for erratum in catalogue.errata(statement.id)],
        "note": statement.note,
    }


def proofs_as_json(statement: Statement) -> list[dict[str, object]]:
    """The statement's proofs, checked now, with the premises of each, as JSON-able data."""
    return [
        {"kind": kind, "verdict": verdict.status, "premises": premises(verdict), "lines": _lines(verdict.written)}
        for kind, verdict in _proofs(statement)
    ]


def _lines(proof: ProofText | None) -> list[dict[str, object]]:
    return [
        {
            "number": line.number or None,
            "because": "".join(map(str, line.because)),
            "latex": " ".join(line.formula.latex) if line.formula else "",
            "breaks": line.breaks,
        }
        for line in (proof.lines if proof else ())
    ]
