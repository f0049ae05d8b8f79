"""Theorems about algorithms in Coq, for every inner-product space and every finite noise: their files, and what coqc says.

The proofs are written by hand, on the rules of rules.v.  Only bounds.v is generated: the bounds, the step sizes and
the weights of the catalogue's statements, of which the theorems speak.  So is printed.v, for statements that are false as
printed.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import coq, library, sequents
from fedtheory.theory.proofs.kernel import compiled
from fedtheory.theory.statement import Bound, Statement

_FOLDER = Path(__file__).parents[1] / "kernel"
BOUNDS = _FOLDER / "bounds.v"
ACCEPTED = _FOLDER / "accepted.txt"  # the digest of the files as Coq's kernel has accepted them
PRINTED = _FOLDER / "printed.v"
_NAMES = "chance order steps runs bounds parallel sequential pfl sfl drift example printed sampled gate com"
FILES = tuple(_FOLDER / f"{name}.v" for name in _NAMES.split())  # each rests on those before it
# statement -> the theorem in Coq that it holds for its algorithm
THEOREMS = {
    "sfl.thm2.general_convex.sharp": "pfl.general_convex",
    "sfl.thm1.general_convex.sharp": "sfl.general_convex",
    "sfl.thm2.strongly_convex.sharp": "pfl.strongly_convex",
    "sfl.thm1.strongly_convex.sharp": "sfl.strongly_convex",
}
# statement -> the theorem in Coq about its drift, for every number of clients and local steps; `drift.needed`: it is exact
DRIFT = {"sfl.lemma10": "drift.sequential", "sfl.lemma14.corrected": "drift.parallel"}
# statement -> the theorem in Coq that it is false as printed
REFUTED = {
    "sfl.eq54": "sampled.eq54_refuted",
    "sfl.eq80": "sampled.eq80_refuted",
    "fedcom.thmE4": "gate.thmE4_refuted",
    "fedcom.thmD9": "com.thmD9_refuted",
}


def bounds() -> str:
    """The text of bounds.v, from the catalogue."""
    above = "(* Bounds, step sizes and weights of the catalogue; `fedtheory record coq` writes this file. *)"
    return "\n".join([above, "Require Import Reals.", "Open Scope R_scope.", *map(_bound, THEOREMS)]) + "\n"


def printed() -> str:
    """The text of printed.v, from the catalogue."""
    above = "(* Bounds and step sizes as printed, of statements that fail; `fedtheory record coq` writes this file. *)"
    definitions = (_bound(id_) + _where(id_) for id_ in REFUTED)
    return "\n".join([above, "Require Import Reals.", "Open Scope R_scope.", *definitions]) + "\n"


def _bound(id_: str) -> str:
    statement = catalogue.find(id_)
    values = [term.value for term in statement.claim_of(Bound).terms]
    relations = [condition.relation for condition in statement.when]
    python = sequents.names_of({s for e in (*values, *relations) for s in e.free_symbols})
    names = coq.names(sorted(python.values()))
    terms = "\n  + ".join(coq.term(sequents.expression(value, python), names) for value in values)
    sizes = " /\\ ".join(coq.relation(sequents.relation(one, python), names) for one in relations)
    name, variables = id_.removeprefix("sfl.").replace(".", "_"), " ".join(names.values())
    return (
        f"\n(* {id_} *)\n"
        f"Definition {name} ({variables} : R) : R :=\n  {terms}.\n"
        f"Definition {name}_when ({variables} : R) : Prop :=\n  {sizes}."
        f"{_weight(statement, name)}"
    )


def _weight(statement: Statement, bound: str) -> str:
    """The weight of round r in the average; nothing if all rounds have the same."""
    value = {symbol.name: value for symbol, value in statement.where.items()}.get("w_r")
    if value is None or not value.free_symbols:
        return ""
    python = sequents.names_of(value.free_symbols)
    names = coq.names(sorted(python.values()))
    weight, r = coq.term(sequents.expression(value, python), names), coq.whole("r")
    variables = " ".join(name for name in names.values() if name != "r")
    return f"\nDefinition {bound}_weight ({variables} : R) ({r} : nat) : R :=\n  {weight}."


def _where(id_: str) -> str:
    """What the statement's symbols stand for, if that is not a number."""
    name, text = id_.removeprefix("sfl.").replace(".", "_"), ""
    for symbol, value in catalogue.find(id_).where.items():
        if value.free_symbols:
            python = sequents.names_of({symbol, *value.free_symbols})
            names = coq.names(sorted(python.values()))
            variables = " ".join(names[python[one]] for one in sorted(value.free_symbols, key=str))
            stands_for = coq.term(sequents.expression(value, python), names)
            text += f"\nDefinition {name}_{names[python[symbol]]} ({variables} : R) : R := {stands_for}."
    return text


def prepared(folder: Path) -> None:
    """Compile rules.v and all files into a folder.

    Raises RuntimeError if coqc does not accept them, FileNotFoundError without coqc.
    """
    for file in (library.FILES[0], *FILES):
        says = library.against(file.read_text(), folder / file.name)
        if says:
            raise RuntimeError(f"{file.name}: {says}")


def assumptions(theorem: str, folder: Path) -> frozenset[str]:
    """The axioms that `Print Assumptions` names for a theorem, in a folder where all is compiled."""
    path = folder / "assumptions.v"
    path.write_text(f"Require {theorem.split('.')[0]}.\nPrint Assumptions {theorem}.\n")
    output, says = compiled(path)
    if says:
        raise RuntimeError(says)
    lines = [line for line in output.splitlines() if line and not line.startswith(" ")]
    return frozenset(line.split(":")[0].strip() for line in lines if line != "Axioms:")


def digest() -> str:
    """Of the library's rules and of all files here."""
    texts = [file.read_text() for file in (library.FILES[0], *FILES)]
    return sha256("\n".join(texts).encode()).hexdigest()[:16]


def theorem_of(id_: str) -> str | None:
    """The theorem that a statement has in Coq, about its algorithm or that it is false; None if there is none.

    None also after a change of the files that Coq has not seen, and where the statements' bounds are others now.
    """
    theorem = (THEOREMS | REFUTED).get(id_)
    return theorem if theorem and _current() else None


def drift_of(id_: str) -> str | None:
    """The theorem in Coq about the drift in a statement; None if there is none, or if it has changed since."""
    return DRIFT.get(id_) if _current() else None


@cache
def _current() -> bool:
    accepted = ACCEPTED.exists() and ACCEPTED.read_text().strip() == digest()
    return accepted and BOUNDS.read_text() == bounds() and PRINTED.read_text() == printed()
