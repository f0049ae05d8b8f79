"""Verdicts printed: with their evidence, and counted."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from fedtheory.terminal import console, print_rows

if TYPE_CHECKING:
    from fedtheory.score import Score


def end_with_errors(checked: list[Any]) -> None:
    """Where checks ended in exceptions, say so on standard error and exit with status 1."""
    from fedtheory.verification import errors

    if found := list(dict.fromkeys(errors(checked))):
        for says in found:
            print(f"fedtheory: {says}", file=sys.stderr)
        raise typer.Exit(1)


def print_verdicts(checked: list[Any], seen: Mapping[tuple[str, str], str | None], changed: Mapping[str, Any]) -> None:
    """Print the evidence with its witnesses; if known, a changed claim that it refutes, and the noticed changes."""
    from fedtheory.agreed import in_coq
    from fedtheory.pages import premises

    out = console()
    for c in checked:
        numbers = {"slack": c.slack, "room": c.room}
        told = "".join(f"  {name} {number:.3g}" for name, number in numbers.items() if number is not None)
        rest = c.headline.removeprefix(c.status)
        out.print(Text.assemble(f"{c.statement.id}: ", (str(c.status), "bold"), rest, told), soft_wrap=True)
        for e, v in c.verdicts:
            added = f" with {', '.join(v.added)}" if v.added else ""
            out.print(f"    {e.kind}: {v.status}{added}. {v.says}", soft_wrap=True)
            if v.without:
                out.print(f"        without: refuted. {v.without}", soft_wrap=True)
            for name, value in v.witness.items():
                out.print(f"        {name} = {value}", soft_wrap=True)
            for title, names in premises(v).items():
                out.print(f"        {title}: {'; '.join(names)}", soft_wrap=True)
            for one in in_coq(c):
                if one.kind == e.kind:
                    out.print(f"        in Coq, about quantities: {'; '.join(one.names)}", soft_wrap=True)
            if (c.statement.id, e.kind) in seen:
                what = seen[c.statement.id, e.kind] or "nothing: it refutes none of the changed claims"
                out.print(f"        seen to fail: {what}", soft_wrap=True)
        if c.statement.id in changed:
            print_changes(changed[c.statement.id])
    print_summary(checked)


def print_changes(score: Score) -> None:
    """Print how many changes of a statement were noticed, by which evidence, and which changes were not noticed."""
    from fedtheory.score import totals

    out = console()
    noticed, of = totals([score]).get("all", (0, 0))
    out.print(f"    changes noticed: {noticed} of {of}")
    for title, says in (
        ("by part", ", ".join(f"{part} {n} of {of}" for part, (n, of) in score.parts.items())),
        ("by evidence", ", ".join(f"{kind} {n}" for kind, n in score.by.items())),
        ("not noticed", "; ".join(score.missed)),
        ("undecided (read, and not refuted)", "; ".join(score.undecided)),
        ("not needed", "; ".join(score.needless)),
    ):
        if says:
            out.print(f"        {title}: {says}", soft_wrap=True)


def print_summary(checked: list[Any]) -> None:
    """Print how many statements of each paper have each verdict."""
    from fedtheory.verification import count

    columns, rows = list(count(checked)), []
    for name in dict.fromkeys(c.statement.paper for c in checked):
        own = [c for c in checked if c.statement.paper == name]
        totals = count(own)
        rows.append((name, *[str(totals.get(s, 0)) for s in columns], str(len(own))))
    print_rows(("paper", *map(str, columns), "all"), rows)
