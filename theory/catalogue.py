"""The only registry: every paper, every statement, found by id.

A paper is a sub-package of `theory` that has a module-level `paper`; adding one adds its folder and nothing else.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache

import sympy

import theory
from theory.properties import Properties, Property, united
from theory.statement import Erratum, Evidence, Paper, Statement, Symbol


class UnknownName(KeyError):
    """A name that does not exist: says what was passed, and what was expected."""

    def __str__(self) -> str:
        return str(self.args[0])


def unknown(what: str, name: str, known: list[str]) -> UnknownName:
    """The error for an unknown `name`, with the nearest known ones."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(near)}?"
        if near
        else f"expected one of {', '.join(known[:12])}" + (f" ... ({len(known)} in all)" if len(known) > 12 else "")
    )
    return UnknownName(f"unknown {what} {name!r}; {hint}")


@cache
def papers() -> dict[str, Paper]:
    """All papers by short name, in alphabetical order."""
    found = {}
    for module in pkgutil.iter_modules(theory.__path__):
        if module.ispkg:
            package = importlib.import_module(f"theory.{module.name}")
            if isinstance(getattr(package, "paper", None), Paper):
                found[package.paper.name] = package.paper
    return dict(sorted(found.items()))


def paper(name: str) -> Paper:
    """A paper by short name.  Raises UnknownName."""
    if name not in papers():
        raise unknown("paper", name, list(papers()))
    return papers()[name]


def statements(paper_name: str | None = None) -> list[Statement]:
    """All statements, or one paper's, in the order of the paper."""
    chosen = papers().values() if paper_name is None else [paper(paper_name)]
    return [s for p in chosen for s in p.statements.values()]


def find(id_: str) -> Statement:
    """A statement by id.  Raises UnknownName with the nearest ids."""
    known = {s.id: s for s in statements()}
    if id_ not in known:
        raise unknown("statement", id_, list(known))
    return known[id_]


def used_by(id_: str) -> list[str]:
    """Ids of the statements that assume or rest on this one."""
    return [s.id for s in statements() if id_ in s.assumes or id_ in s.rests_on]


def corrected_by(id_: str) -> list[str]:
    """Ids of the statements that correct or complete this printed one."""
    return [s.id for s in statements() if s.corrects == id_]


def properties(statement: Statement) -> dict[Property, tuple[sympy.Expr, ...]]:
    """The properties that a statement assumes, or that its paper's setting provides, with their constants."""
    assumed = [find(id_) for id_ in statement.assumes]
    return united(s.gives for s in (*paper(statement.paper).background, *assumed))


def unassumed(statement: Statement) -> set[sympy.Symbol]:
    """The constants of its paper's assumptions, such as L or sigma, that no assumption of this statement gives.

    Nothing ties them to the problem: to this statement they are any numbers of their domains.
    """

    def constants(several: Iterable[Properties]) -> set[sympy.Symbol]:
        return {x for given in several for own in given.values() for c in own for x in sympy.sympify(c).free_symbols}

    return constants(s.gives for s in statements(statement.paper)) - constants([properties(statement)])


def errata(id_: str) -> list[Erratum]:
    """The errors of the paper that are told of this statement."""
    return [e for p in papers().values() for e in p.errata if e.statement == id_]


def symbols(statement: Statement) -> dict[str, Symbol]:
    """The symbol table of the statement's paper, by ASCII name."""
    return paper(statement.paper).symbols


def evidence(paper_name: str) -> list[Evidence]:
    """The evidence of this floor (units, enumeration, derivation ...) for one paper."""
    module = importlib.import_module(f"theory.{paper(paper_name).name}.checks")
    return list(module.evidence())
