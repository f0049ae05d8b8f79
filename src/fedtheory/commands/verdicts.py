"""Verdicts: all evidence for statements."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from fedtheory.commands.experiments import print_read
from fedtheory.commands.options import (
    AsJson,
    Clients,
    Fresh,
    Full,
    Ids,
    PaperName,
    PartitionName,
    Scheduler,
    dealt,
    workshop,
)
from fedtheory.commands.summaries import end_with_errors, print_verdicts
from fedtheory.simulations.checked import brief
from fedtheory.terminal import console, print_json, progress, waiting


def verify(
    ids: Ids = None,
    paper: PaperName = None,
    as_json: AsJson = False,
    full: Full = False,
    data: Annotated[
        str | None,
        typer.Option(
            help="instead: compare the bounds with runs on breast_cancer, digits or a LIBSVM, CSV, NPZ or Parquet file; "
            "settings as in simulate, such as K=5 target=label, stand behind the ids"
        ),
    ] = None,
    partition: PartitionName = None,
    clients: Clients = None,
    mutate: Annotated[
        bool, typer.Option("--mutate", help="change the statements, and show which changes the evidence notices")
    ] = False,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--evidence", help="only this kind, such as ledger; may be given several times", metavar="KIND"),
    ] = None,
    terms: Annotated[
        list[str] | None,
        typer.Option(
            "--with", help="another value of a term of one bound, such as noise=eta^2*sigma^2", metavar="TERM=EXPR"
        ),
    ] = None,
    when: Annotated[
        list[str] | None, typer.Option(help="a condition in place of the printed ones, such as 'eta <= 1/L'")
    ] = None,
    assumes: Annotated[
        list[str] | None, typer.Option(help="an assumption in place of the listed ones", metavar="ID")
    ] = None,
    expect_clean: Annotated[
        bool, typer.Option("--expect-clean", help="exit status 1 if a statement is refuted or vacuous")
    ] = False,
    fresh: Fresh = False,
    scheduler: Scheduler = None,
) -> None:
    """Run all evidence for the statements; print the verdicts, with a witness for each refuted statement."""
    from fedtheory.agreed import in_coq
    from fedtheory.claims import changed
    from fedtheory.pages import premises
    from fedtheory.score import scores
    from fedtheory.theory import catalogue
    from fedtheory.theory.statement import Status
    from fedtheory.verification import seen_to_fail, verify as check, verify_changed, verify_on

    settings = dealt([word for word in ids or () if "=" in word], partition, clients)
    ids = [word for word in ids or () if "=" not in word]
    if settings and data is None:
        raise ValueError(f"{brief(', '.join(settings))}: expected --data DATA, on which settings have an effect")
    chosen = list(ids or [s.id for s in catalogue.statements(paper)])
    if ids and paper:
        raise ValueError("ids and --paper: expected one of them")
    if mutate and data is not None:
        raise ValueError(
            "--data and --mutate: expected one of them, because --mutate tests the evidence that counts without --data"
        )
    if kinds and data is not None:
        raise ValueError("--data and --evidence: expected one of them, because --data uses runs only")
    where = workshop(fresh, scheduler)
    if terms or when or assumes:
        if len(chosen) != 1 or mutate or data is not None or kinds:
            raise ValueError("--with, --when, --assumes: expected one id, and none of --mutate, --data, --evidence")
        pairs = [text.partition("=") for text in terms or ()]
        if wrong := [text for text, (_, equal, value) in zip(terms or (), pairs, strict=True) if not (equal and value)]:
            raise ValueError(f"{brief(wrong[0])}: expected TERM=EXPR, such as noise=eta^2*sigma^2")
        own = changed(catalogue.find(chosen[0]), {name: value for name, _, value in pairs}, when or (), assumes or ())
        with progress() as tell, waiting("verifying"):
            checked = [verify_changed(own, full, tell, where)]
        print_verdicts(checked, {}, {})
        end_with_errors(checked)
        return
    with progress() as tell:
        if data is None:
            checked = check(chosen, full, tell, where, kinds or ())
        else:
            checked = verify_on(data, chosen, full, tell, where, settings)
        seen = seen_to_fail(checked, tell, where) if mutate else {}
        noticed = scores(checked, tell, where) if mutate else {}
    if as_json:
        print_json(
            [
                {
                    "id": c.statement.id,
                    "verdict": c.status,
                    "headline": c.headline,
                    "added": c.added,
                    "slack": c.slack,
                    "evidence": [
                        {
                            "kind": e.kind,
                            "verdict": v.status,
                            "slack": v.slack,
                            "says": v.says,
                            "witness": dict(v.witness),
                            "premises": premises(v),
                            "in_coq": [asdict(one) for one in in_coq(c) if one.kind == e.kind],
                            **({"seen_to_fail": seen[c.statement.id, e.kind]} if mutate else {}),
                        }
                        for e, v in c.verdicts
                    ],
                    **({"changes": asdict(noticed[c.statement.id])} if c.statement.id in noticed else {}),
                }
                for c in checked
            ]
        )
    else:
        if data is not None:
            from fedtheory import simulate

            print_read(simulate.Asked(data, (), simulate.settings_of(settings)))
        print_verdicts(checked, seen, noticed)
        if data is not None:
            console().print(f"by runs on {data} alone; without --data all evidence counts")
        if kinds:
            console().print(f"by {', '.join(kinds)} alone; without --evidence all evidence counts")
    end_with_errors(checked)
    if expect_clean and any(c.status in (Status.REFUTED, Status.VACUOUS) for c in checked):
        raise typer.Exit(1)
