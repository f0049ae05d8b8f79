"""The files of brackets of best constants: solve what is missing, leave out what no statement needs any more.

    fedtheory record brackets [PAPER ...]

A report reads these brackets and verifies them exactly, which is fast; what is not in a file it solves.  Constants for
every number of clients are in files of their own, whose entries are chosen: one that is null is found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fedtheory.bounds import worst_cases
from fedtheory.figures import files
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import every_record, scenes
from fedtheory.theory.proofs.scenes import PaperScenes
from fedtheory.theory.proofs.tight import NotSolved, Programme, Unbounded, tight
from fedtheory.theory.readings import additions
from fedtheory.theory.statement import Statement, Status


def needed(paper: str) -> Iterator[tuple[str, Programme]]:
    """The programmes of a paper's evidence of kind `worst_case`, with what they are about."""
    rounds = worst_cases.rounds(paper)
    if rounds is None:
        return
    for statement in (one for name in rounds.names for one in _read(catalogue.find(f"{paper}.{name}"), rounds)):
        for case in scenes.cases(statement, rounds):
            for term, search in scenes.searches(statement, case).items():
                yield f"{statement.id}, {case.told}: {term}", search.above
                if search.below is not search.above:
                    yield f"{statement.id}, {case.told}: {term}", search.below
        for case, search in rounds.of_start(statement) if statement is catalogue.find(statement.id) else ():
            yield f"{statement.id}, {case.told}: {scenes.START}", search.above


def _read(statement: Statement, rounds: PaperScenes) -> Iterator[Statement]:
    """The statement as listed, and, if that is refuted, with all that the standard of charity reads into it."""
    yield statement
    added = additions(statement)
    if added and scenes.check(rounds)(statement, False).status is Status.REFUTED:
        yield replace(statement, assumes=(*statement.assumes, *added))


def write(paper: str, progress: Any = None) -> None:
    """Write a paper's file: the brackets that are verified, and new ones for the programmes that are missing."""
    before, told = scenes.kept(paper), list(needed(paper))
    found: dict[str, Any] = {}
    for done, (what, programme) in enumerate(told, start=1):
        key = scenes.key(programme)
        if key not in found:
            try:
                if isinstance(before.get(key), dict):
                    scenes.read(before[key], programme)
                    found[key] = before[key]
                else:
                    found[key] = scenes.written(tight(programme), programme)
            except Unbounded:
                found[key] = scenes.UNBOUNDED
            except NotSolved as error:
                found[key] = scenes.NOT_SOLVED
                print(f"{what}: {error}", file=sys.stderr)
            if not isinstance(found[key], dict) and what.endswith(scenes.ALL):
                refuting = scenes.violated(programme, paper)
                if refuting is not None:
                    found[scenes.VIOLATION + key] = scenes.written_instance(refuting)
        if progress is not None:
            progress(paper, done, len(told))
    lines = [f"{json.dumps(key)}: {json.dumps(found[key], separators=(',', ':'))}" for key in sorted(found)]
    file = scenes.file_of(paper)
    files.write(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
    print(f"written: {file}, {len(found)} brackets")


def write_every(paper: str, progress: Any = None) -> None:
    """Write a paper's file of constants for every number of clients: entries that still hold, others found anew."""
    rounds, before = worst_cases.rounds(paper), every_record.kept(paper)
    found: dict[str, Any] = {}
    for done, (entry, told) in enumerate(before.items(), start=1):
        try:
            found[entry] = told if told and list(every_record.read(entry, told, rounds)) else None
        except ValueError:
            found[entry] = None
        if found[entry] is None:
            found[entry] = every_record.found(entry, rounds, lambda says: print(says, file=sys.stderr))
        if progress is not None:
            progress(f"{paper}, every number of clients", done, len(before))
    if found:
        file = every_record.file_of(paper)
        files.write(file, every_record.text(found).encode())
        print(f"written: {file}, {len(found)} statements")
