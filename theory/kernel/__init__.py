"""Theorems about algorithms in Coq, for every inner-product space and every finite noise: the files, and what coqc says.

The proofs are written by hand.  `bounds.v` is written here: the bounds and step sizes of the catalogue's statements, of
which the theorems speak.  All rest on rules.v.
"""

from __future__ import annotations

from pathlib import Path

from fedtheory.theory import catalogue
from fedtheory.theory.proofs import coq, library, sequents
from fedtheory.theory.proofs.kernel import compiled
from fedtheory.theory.statement import Bound

_FOLDER = Path(__file__).parent
# each rests on those before it
FILES = tuple(
    _FOLDER / f"{name}.v" for name in ("chance", "order", "steps", "runs", "bounds", "parallel", "sequential", "pfl", "sfl")
)
# statement -> the theorem about its algorithm
THEOREMS = {
    "sfl.thm2.general_convex.sharp": "pfl.general_convex",
    "sfl.thm1.general_convex.sharp": "sfl.general_convex",
}
_RULES = library.FILES[0]


def bounds() -> str:
    """The text of bounds.v."""
    above = "(* The bounds and step sizes of statements of the catalogue, written by `fedtheory record coq`. *)"
    return "\n".join([above, "Require Import Reals.", "Open Scope R_scope.", *map(_bound, THEOREMS)]) + "\n"


def _bound(id_: str) -> str:
    statement = catalogue.find(id_)
    assert isinstance(statement.claim, Bound)
    values = [term.value for term in statement.claim.terms]
    relations = [condition.relation for condition in statement.when]
    python = sequents.names_of({s for e in (*values, *relations) for s in e.free_symbols})
    names = coq.names(sorted(python.values()))
    terms = "\n  + ".join(coq.term(sequents.expression(value, python), names) for value in values)
    sizes = " /\\ ".join(coq.relation(sequents.relation(one, python), names) for one in relations)
    name, variables = id_.removeprefix("sfl.").replace(".", "_"), " ".join(names.values())
    return "\n".join([
        f"\n(* {id_} *)",
        f"Definition {name} ({variables} : R) : R :=\n  {terms}.",
        f"Definition {name}_when ({variables} : R) : Prop :=\n  {sizes}.",
    ])


def prepared(folder: Path) -> None:
    """Compile all into a folder.  Raises RuntimeError if coqc does not accept it, FileNotFoundError without coqc."""
    for file in (_RULES, *FILES):
        text = bounds() if file.stem == "bounds" else file.read_text()
        (folder / file.name).write_text(text)
        _, says = compiled(folder / file.name)
        if says:
            raise RuntimeError(f"{file.name}: {says}")
