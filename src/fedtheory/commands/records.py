"""What is kept on record, made again; and the proofs, for Coq."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedtheory.commands.options import Fresh, PaperName, Scheduler, workshop
from fedtheory.terminal import console, progress

Papers = Annotated[
    list[str] | None, typer.Argument(help="names of papers; all if there are none", metavar="[PAPER]...")
]


def record_experiments_command(
    names: Annotated[list[str] | None, typer.Argument(help="names of experiments; all if there are none")] = None,
    fresh: Fresh = False,
    scheduler: Scheduler = None,
) -> None:
    """Measure the experiments that decide no verdict, such as slopes of rates, and write their numbers to bounds/records.

    Figures show these numbers; the report measures one point of each experiment again."""
    from fedtheory.records import record

    with progress() as tell:
        files = record(names or [], tell, workshop(fresh, scheduler))
    for file in files:
        print(f"written: {file}")


def record_coq_command(
    papers: Papers = None,
    constants: Annotated[bool, typer.Option("--constants", help="instead: the best constants")] = False,
) -> None:
    """Have Coq check every step of every proof and every theorem; write what it accepts.  Needs coqc (make coq)."""
    from fedtheory import coq

    with progress() as tell:
        if constants:
            coq.record_constants(papers or [], tell)
        else:
            coq.record(papers or [], tell, workshop(False, None))


def record_brackets_command(papers: Papers = None) -> None:
    """Solve the missing programmes for best constants, and leave out what no statement needs any more."""
    from fedtheory import brackets
    from fedtheory.theory import catalogue

    with progress() as tell:
        for paper in papers or catalogue.names():
            brackets.write(catalogue.paper(paper).name, tell)
            brackets.write_every(catalogue.paper(paper).name, tell)


def record_scores_command() -> None:
    """Compute the missing scores: how many changes of each statement its evidence notices."""
    from fedtheory import score

    with progress() as tell:
        score.record(tell)


def record_shelf_command(fresh: Fresh = False, scheduler: Scheduler = None) -> None:
    """Verify the theorems of the shelf (the folder shelf/ of the repository), and write what the site shows of them."""
    from fedtheory.site import shelf

    with progress() as tell:
        print(f"written: {shelf.record(tell, workshop(fresh, scheduler))}")


def export_coq_command(
    folder: Annotated[Path, typer.Argument(help="folder for the files", metavar="FOLDER")],
    paper: PaperName = None,
    fresh: Fresh = False,
    scheduler: Scheduler = None,
) -> None:
    """Write each step of the proofs as a lemma for Coq, with a proof that its kernel can check: one file for each paper."""
    from fedtheory import coq
    from fedtheory.theory import catalogue

    papers = [catalogue.paper(paper).name] if paper is not None else list(catalogue.names())
    with progress() as tell:
        told = coq.export(folder, papers, tell, workshop(fresh, scheduler))
    for line in told:
        console().print(line)
    files = " && ".join(f'coqc -Q . "" {name}' for name in ("fedtheory.v", *(f"{name}.v" for name in papers)))
    console().print(f"written: {folder}; to check the files: cd {folder} && {files}", soft_wrap=True)
