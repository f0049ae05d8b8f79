"""Lemmas are given to Coq: which of them its kernel does not accept."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fedtheory.theory.proofs.coq import PRELUDE

LIBRARY = Path(__file__).with_name("fedtheory.v")
OF_RUNS = tuple(Path(__file__).with_name(f"{name}.v") for name in ("rules", "sequences"))  # what theorems use besides
OF_THEOREMS = f"{PRELUDE}Require rules sequences.\n"
_STEPS, _THEOREMS = 50, 10  # in a file: loading the reals takes as long as a few lemmas
_SECONDS = 600  # for a file; most lemmas take about 0.05, the slowest (fedcom.corD5.corrected) two minutes


@dataclass(frozen=True)
class CoqAnswer:
    """What coqc says of lemmas: against which of them, by name, and what it prints of the others."""

    refused: Mapping[str, str]
    printed: str


def document(lemmas: Mapping[str, str], above: str = PRELUDE) -> str:
    """A file for Coq with these lemmas."""
    return "\n".join([above, *lemmas.values()])


def answer(steps: Mapping[str, str], folder: Path, theorems: Mapping[str, str] | None = None) -> CoqAnswer:
    """What coqc says of steps, and of theorems that use them; the folder is for its files.

    Raises FileNotFoundError without coqc, and RuntimeError if it does not accept our libraries.
    """
    for library in (LIBRARY, *(OF_RUNS if theorems else ())):
        (folder / library.name).write_text(library.read_text())
        _, says = compiled(folder / library.name)
        if says:
            raise RuntimeError(says)
    below = answers(steps, folder, "steps", PRELUDE, _STEPS)
    files = " ".join(sorted(file.stem for file in folder.glob("steps_*.vo")))
    above = f"{OF_THEOREMS}Require Import {files}.\n" if files else OF_THEOREMS
    found = answers(theorems or {}, folder, "theorems", above, _THEOREMS)
    return CoqAnswer({**below.refused, **found.refused}, found.printed)


def answers(
    lemmas: Mapping[str, str],
    folder: Path,
    name: str,
    above: str,
    together: int,
    tell: Callable[[str, int, int], None] | None = None,
) -> CoqAnswer:
    """The same for lemmas, so many of them in a file that begins with `above`; `tell` hears of files that are done."""
    names = list(lemmas)
    parts = [names[start : start + together] for start in range(0, len(names), together)]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        jobs = [
            threads.submit(_answer, {name: lemmas[name] for name in part}, folder / f"{name}_{number}.v", above)
            for number, part in enumerate(parts)
        ]
        found = []
        for job in jobs:
            found.append(job.result())
            if tell:
                tell(f"compiling {name}", len(found), len(jobs))
    return CoqAnswer({k: v for one in found for k, v in one.refused.items()}, "".join(one.printed for one in found))


def _answer(lemmas: dict[str, str], path: Path, above: str) -> CoqAnswer:
    """The same for one file: without each lemma that is refused, it is compiled again, until all of it is accepted."""
    found: dict[str, str] = {}
    printed = ""
    while left := {name: text for name, text in lemmas.items() if name not in found}:
        path.write_text(document(left, above))
        output, says = compiled(path)
        if not says:
            return CoqAnswer(found, printed + output)
        line = re.search(r"line (\d+)", says)
        if line:
            found[_at_line(left, int(line[1]), above)] = says
        elif len(left) == 1:
            found |= dict.fromkeys(left, says)
        else:  # it ran out of time, one does not know where
            for name, text in left.items():
                one = _answer({name: text}, path, above)
                found |= one.refused
                printed += one.printed
            return CoqAnswer(found, printed)
    return CoqAnswer(found, printed)


def _at_line(lemmas: Mapping[str, str], line: int, above: str) -> str:
    """The lemma at this line of their document."""
    passed = above.count("\n") + 1
    for name, text in lemmas.items():
        passed += text.count("\n") + 1
        if line < passed + 1:
            return name
    raise ValueError(f"line {line} of {passed}")


def compiled(path: Path) -> tuple[str, str]:
    """What coqc prints for a file, and what it says against it; nothing if it accepts it."""
    try:
        command = ["coqc", "-Q", ".", "", path.name]
        done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return "", f"not done in {_SECONDS} seconds"
    return done.stdout, "" if done.returncode == 0 else done.stderr or "coqc failed"
