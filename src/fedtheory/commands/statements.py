"""The catalogue: statements, symbols, an inequality or a paper of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedtheory.commands.options import AsJson, Id, PaperName
from fedtheory.terminal import console, print_json, print_rows, waiting


def list_command(paper: PaperName = None, as_json: AsJson = False) -> None:
    """List the statements, in the order of their papers."""
    from fedtheory.pages import as_json as describe
    from fedtheory.theory import catalogue

    found = catalogue.statements(paper)
    if as_json:
        print_json([describe(s) for s in found])
        return
    print_rows(("id", "kind", "place"), ((s.id, s.kind, s.place) for s in found))


def show(
    id_: Id,
    as_latex: Annotated[bool, typer.Option("--latex", help="print LaTeX")] = False,
    proofs: Annotated[
        bool, typer.Option("--proofs", help="also run its proofs, and print them with their premises")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a statement: its formula, conditions and symbols, its place, the statements that it rests on or that use it."""
    from fedtheory import pages as render
    from fedtheory.theory import catalogue

    statement = catalogue.find(id_)
    if as_json:
        found = {"proofs": render.proofs_as_json(statement)} if proofs else {}
        print_json({**render.as_json(statement), **found})
    else:
        print(render.as_latex(statement) if as_latex else render.as_text(statement, proofs))


def glossary_command(
    symbol: Annotated[str | None, typer.Argument(help="a symbol, such as K (default: all)")] = None,
    shared: Annotated[bool, typer.Option("--shared", help="only symbols that several papers use")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the symbols of all papers side by side: a symbol can have a different meaning in each paper."""
    from fedtheory.glossary import rows

    found = rows(symbol, shared)
    if as_json:
        print_json(found)
        return
    columns = {name: name for name in ("symbol", "paper", "meaning", "dimension")} | {"elsewhere": "in other papers"}
    print_rows(columns.values(), ([row[name] for name in columns] for row in found))


def new_paper_command(
    name: Annotated[str, typer.Argument(help="short name of the paper, such as scaffold", metavar="NAME")],
    path: Annotated[Path, typer.Option(help="folder in which the paper gets a folder of its own")] = Path("."),
) -> None:
    """Write a paper of your own in one file: algorithm, two lemmas, a theorem, an arena.  It works at once."""
    from fedtheory.new_paper import write_paper

    for file in write_paper(name, path):
        console().print(str(file))
    console().print("'FILL IN' says what to write.  First commands to try:")
    for command in (f"verify --paper {name}", f"figures {name}_thm", f"show {name}.thm"):
        console().print(f"    fedtheory --path {path} {command}")


def check_command(
    file: Annotated[Path, typer.Argument(help="a TOML file with a claim", metavar="FILE")], as_json: AsJson = False
) -> None:
    """Say whether one inequality of your own is proved, refuted with a witness, or tested.

    The file has a claim between points, values and gradients of functions:

        claim = "f(x) - f(y) - f.grad(y).dot(x - y) >= (f.grad(x) - f.grad(y)).norm2 / (2*L)"
        points = "x y"
        functions = {f = {smooth = "L", convex = true}}

    or between quantities of a round or a run of an algorithm:

        round = "PFL"
        sigma = 0
        claim = "dist2.next <= (1 - mu*h)*dist2 - h*gap"
        when = "h <= 1/(6*L)"
    """
    from fedtheory.claims import check_file

    with waiting("deciding"):
        answer = check_file(file)
    if as_json:
        evidence = {kind: {"verdict": v.status, "says": v.says} for kind, v in answer.evidence.items()}
        told = {"claim": answer.claim, "verdict": answer.status, "says": answer.says, "witness": dict(answer.witness)}
        print_json(told | {"evidence": evidence})
    else:
        print(answer)
