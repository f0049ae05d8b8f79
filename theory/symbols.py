"""The symbols of a paper, from its file symbols.toml, in its order."""

from __future__ import annotations

from functools import cache

import sympy

from fedtheory.theory.data_files import DataEntry, data_file
from fedtheory.theory.statement import NUMBER, F, Paper, X

DOMAINS = {
    "count": {"integer": True, "positive": True},
    "index": {"integer": True, "nonnegative": True},
    "positive": {"positive": True},
    "amount": {"nonnegative": True},
    "real": {},
}


@cache
def dimension_of(text: str) -> sympy.Expr:
    """A dimension as it is printed, such as [F]/[x]^2; of an empty text a number's.  Raises ValueError for another text."""
    plain = text.replace("[F]", "F").replace("[x]", "X").replace("^", "**")
    try:
        found = sympy.sympify(plain or NUMBER, locals={"F": F, "X": X})
    except (sympy.SympifyError, TypeError) as error:
        raise ValueError(f"dimension is {text!r}: expected one such as [F]/[x]^2") from error
    if not found.free_symbols <= {F, X}:
        raise ValueError(f"dimension is {text!r}: expected powers of [F] and [x]")
    return found


def declare(paper: Paper, file: DataEntry | None = None) -> tuple[sympy.Symbol, ...]:
    """Declare the symbols of a paper: name -> latex, says, domain (of `DOMAINS`), dimension, concept.

    Raises ValueError for an entry that is wrong, with its file and its place there.
    """
    file = file or data_file(paper.name, "symbols.toml")
    symbols = []
    for name in file.values:
        entry = file.entry(name).only("latex", "says", "domain", "dimension", "concept")
        dimension = entry.call(dimension_of, entry.text("dimension", ""))
        concept = entry.text("concept", "") or None
        domain = DOMAINS[entry.text("domain", "real", among=DOMAINS)]
        parts = (name, entry.text("latex"), entry.text("says"), dimension)
        symbols.append(entry.call(paper.symbol, *parts, concept=concept, **domain))
    return tuple(symbols)
