"""The symbols of all papers side by side: the same symbol can mean different things."""

from __future__ import annotations

from typing import Any

from fedtheory.theory import catalogue
from fedtheory.theory.concepts import same
from fedtheory.theory.statement import Symbol


def glossary(asked: str | None = None) -> dict[str, dict[str, Symbol]]:
    """Name -> paper -> symbol, in alphabetical order without regard to case; with `asked` this name only.

    Raises UnknownName for a symbol that no paper has.
    """
    found: dict[str, dict[str, Symbol]] = {}
    for name, paper in catalogue.papers().items():
        for symbol in paper.symbols.values():
            found.setdefault(symbol.name, {})[name] = symbol
    if asked is not None:
        if asked not in found:
            raise catalogue.unknown("symbol", asked, list(found))
        return {asked: found[asked]}
    return dict(sorted(found.items(), key=lambda item: (item[0].lower(), item[0])))


def apart(papers: dict[str, Symbol]) -> bool:
    """Whether papers mean different quantities by a symbol."""
    first, *others = papers.values()
    return not all(same(first, other) for other in others)


def rows(asked: str | None = None, shared: bool = False) -> list[dict[str, Any]]:
    """One row for each symbol and paper; with `shared` only symbols of several papers."""
    return [
        {
            "symbol": name,
            "paper": paper,
            "latex": symbol.latex,
            "meaning": symbol.meaning,
            "dimension": str(symbol.dimension),
            "elsewhere": "different" if apart(papers) else "the same" if len(papers) > 1 else "",
        }
        for name, papers in glossary(asked).items()
        for paper, symbol in papers.items()
        if len(papers) > 1 or not shared
    ]
