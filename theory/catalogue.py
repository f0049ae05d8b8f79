"""The only registry: every paper, every statement, found by id.

A paper is a sub-package of `theory` with the paper's name and a module-level `paper`.  To add a paper, add its folder;
nothing else changes.  Papers outside the repository are found by `fedtheory.plugins`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from enum import StrEnum
from fractions import Fraction
from functools import cache
from typing import Any, get_args

import sympy

from fedtheory import plugins, theory
from fedtheory.theory.imports import untimed
from fedtheory.theory.names import UnknownName, unknown
from fedtheory.theory.properties import BOUNDED_BY, Properties, factors, united
from fedtheory.theory.statement import Erratum, Evidence, Paper, Severity, Statement, Symbol


def names() -> tuple[str, ...]:
    """The short names of all papers: those here in alphabetical order, then those outside; loads none of them."""
    return (*_here(), *sorted(plugins.packages()))


@cache
def _here() -> tuple[str, ...]:
    return tuple(sorted(m.name for m in pkgutil.iter_modules(theory.__path__) if m.ispkg and m.name != "proofs"))


def papers() -> dict[str, Paper]:
    """All papers by short name, in the order of their publication; those without a date last, in the order of `names`."""
    loaded = sorted(map(paper, names()), key=lambda p: p.published or "9999")
    return {p.name: p for p in loaded}


@cache
def _loaded(name: str) -> Paper:
    with untimed(f"fedtheory.theory.{name}"):
        module = plugins.load(name, "statements")
    found = getattr(module, "paper", None)
    if not isinstance(found, Paper) or found.name != name:
        what = f"the Paper {found.name!r}" if isinstance(found, Paper) else f"of type {type(found).__name__}"
        raise ValueError(f"{module.__name__}: its `paper` is {what}: expected a Paper named {name!r}")
    for s in found.statements.values():
        for id_ in s.rests_on:
            if id_.startswith(f"{name}.") and id_ not in found.statements:
                raise ValueError(f"{s.id} rests on {unknown('statement', id_, list(found.statements))}")
    return found


def paper(name: str) -> Paper:
    """A paper by short name; loads this paper and no other.  Raises UnknownName."""
    if isinstance(name, str) and name in _here():  # often asked for
        return _loaded(name)
    if not isinstance(name, str) or name not in names():
        raise unknown("paper", name, list(names()))
    return _loaded(name) if plugins.packages().get(name) != "" else plugins.load(name, "statements").paper


class Statements(list[Statement]):
    """Several statements; they show themselves as a table."""

    def __repr__(self) -> str:
        """The first ids, with kind and place; at most ten lines."""
        some = [f"{s.id:<40} {s.kind:<12} {s.place}" for s in self[:_SHOWN]]
        return "\n".join([f"{len(self)} statements", *some, *(["..."] if len(self) > _SHOWN else [])])

    def _repr_markdown_(self) -> str:
        """All of them, as a table for a notebook."""
        rows = [f"| {s.id} | {s.kind} | {s.place} |" for s in self]
        return "\n".join(["| id | kind | place |", "|---|---|---|", *rows])


_SHOWN = 8


def statements(paper_name: str | None = None) -> Statements:
    """All statements, or one paper's, in the order of the paper."""
    chosen = papers().values() if paper_name is None else [paper(paper_name)]
    return Statements(s for p in chosen for s in p.statements.values())


def find(id_: str) -> Statement:
    """A statement by id, which begins with its paper's name.  Raises UnknownName with the nearest ids."""
    name = id_.partition(".")[0] if isinstance(id_, str) else ""
    if (name in _here() or name in names()) and id_ in (known := paper(name).statements):
        return known[id_]
    raise unknown("statement", id_, [s.id for s in statements()])


def used_by(id_: str) -> list[str]:
    """Ids of the statements, in the same paper and in those outside, that assume or rest on this one."""
    papers_of = dict.fromkeys((find(id_).paper, *plugins.packages()))
    return [s.id for name in papers_of for s in statements(name) if id_ in s.assumes or id_ in s.rests_on]


def corrected_by(id_: str) -> list[str]:
    """Ids of the statements that correct or complete this printed one."""
    return [s.id for s in statements(find(id_).paper) if s.corrects == id_]


def as_printed(statement: Statement) -> str:
    """The id of the printed statement of which this one is a form: itself, or what it corrects or sharpens."""
    of = statement.corrects or statement.sharpens
    return as_printed(find(of)) if of else statement.id


def sharpened_by(id_: str) -> list[str]:
    """Ids of the sharper forms of this printed statement."""
    return [s.id for s in statements(find(id_).paper) if s.sharpens == id_]


def forms(id_: str) -> list[str]:
    """Ids of a printed statement and of all its forms: corrected, sharper, and sharper than corrected."""
    return [id_, *(form for one in (*corrected_by(id_), *sharpened_by(id_)) for form in forms(one))]


def properties(statement: Statement) -> dict[StrEnum, tuple[sympy.Expr, ...]]:
    """The properties that a statement assumes, or that its paper's setting provides, with their constants."""
    assumed = [find(id_) for id_ in statement.assumes]
    return united(s.gives for s in (*paper(statement.paper).background, *assumed))


def bounds(statement: Statement) -> dict[str, dict[str, list[Fraction]]]:
    """Concept -> what the bounds of a statement's assumptions on it are times their letters (`properties.factors`).

    Raises UnreadableConstant as `factors` does.
    """
    concepts = {s.name: s.concept for s in symbols(statement).values() if s.concept}
    return {concept: factors(properties(statement), concepts, concept) for concept in BOUNDED_BY}


def unassumed(statement: Statement) -> set[sympy.Symbol]:
    """The constants, such as L or sigma, that the paper's assumptions give but no assumption of this statement gives.

    Nothing ties them to the problem: for this statement they are any numbers in their domains.
    """

    def constants(several: Iterable[Properties]) -> set[sympy.Symbol]:
        return {x for given in several for own in given.values() for c in own for x in sympy.sympify(c).free_symbols}

    return constants(s.gives for s in statements(statement.paper)) - constants([properties(statement)])


def errata(id_: str) -> list[Erratum]:
    """The errata about this statement."""
    return [e for e in paper(find(id_).paper).errata if e.statement == id_]


def severity(id_: str) -> Severity | None:
    """The gravest severity of the errata about this statement; None if there is no erratum."""
    return min((e.severity for e in errata(id_)), key=get_args(Severity).index, default=None)


def root(id_: str) -> str:
    """The id of the statement at the root of a statement's error: its own, or that of the one from which it follows."""
    return paper(find(id_).paper).roots.get(id_, id_)


def symbols(statement: Statement) -> dict[str, Symbol]:
    """The symbol table of the statement's paper, by ASCII name."""
    return paper(statement.paper).symbols


def evidence(paper_name: str) -> list[Evidence]:
    """One paper's evidence from this floor (units, enumeration, derivation ...)."""
    checks = _checks(paper_name)
    return list(checks.evidence()) if checks else []


def reasons(paper_name: str) -> Mapping[str, str]:
    """Why statements of a paper are not decided, by id; other statements have the reason of their kind."""
    return dict(getattr(_checks(paper_name), "OPEN", {}))


def sharpenings(paper_name: str) -> Mapping[str, Any]:
    """The sharper theorems of a paper whose proofs have free choices, by id: see `fedtheory.theory.proofs.sharpening`."""
    return dict(getattr(_checks(paper_name), "SHARPENINGS", {}))


def least(statement: Statement) -> sympy.Expr | None:
    """What no bound on the statement's quantity can be below, in its symbols; None if its paper's checks give none."""
    found: Mapping[str, sympy.Expr] = getattr(_checks(statement.paper), "LEAST", {})
    return found.get(statement.id)


def rounds(paper_name: str) -> Any:
    """The rounds in vectors among a paper's checks, or None; `bounds.worst_cases.rounds` knows those of all."""
    return getattr(_checks(paper_name), "ROUNDS", None)


def _checks(paper_name: str) -> Any:
    """The checks of a paper, which may be missing."""
    return plugins.load(paper(paper_name).name, "checks")


__all__ = [
    "UnknownName", "as_printed", "corrected_by", "errata", "evidence", "find", "forms", "least", "names", "paper", "papers",
    "properties", "reasons", "root", "rounds", "sharpened_by", "sharpenings", "statements", "symbols", "unassumed",
    "unknown", "used_by",
]  # fmt: skip
