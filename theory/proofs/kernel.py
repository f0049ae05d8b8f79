"""Lemmas are given to Coq: which of them its kernel does not accept."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from theory.proofs.coq import PRELUDE

LIBRARY = Path(__file__).with_name("fedtheory.v")
_TOGETHER = 50  # lemmas in a file: loading the reals takes as long as a few lemmas
_SECONDS = 600  # for a file; most lemmas take about 0.05, the slowest (fedcom.corD5.corrected) two minutes


def document(lemmas: Mapping[str, str]) -> str:
    """A file for Coq with these lemmas."""
    return "\n".join([PRELUDE, *lemmas.values()])


def refused(lemmas: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The lemmas, by name, that coqc does not accept, and what it says; the folder is for its files.

    Raises FileNotFoundError without coqc, and RuntimeError if it does not accept fedtheory.v.
    """
    (folder / LIBRARY.name).write_text(LIBRARY.read_text())
    says = _compiled(folder / LIBRARY.name)
    if says:
        raise RuntimeError(says)
    names = list(lemmas)
    parts = [names[start : start + _TOGETHER] for start in range(0, len(names), _TOGETHER)]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        jobs = [
            threads.submit(_refused, {name: lemmas[name] for name in part}, folder / f"part_{number}.v")
            for number, part in enumerate(parts)
        ]
        return {name: says for job in jobs for name, says in job.result().items()}


def _refused(lemmas: dict[str, str], path: Path) -> dict[str, str]:
    """The same for one file: without each lemma that is refused, it is compiled again, until all of it is accepted."""
    found: dict[str, str] = {}
    while left := {name: text for name, text in lemmas.items() if name not in found}:
        path.write_text(document(left))
        says = _compiled(path)
        if not says:
            break
        line = re.search(r"line (\d+)", says)
        if line:
            found[_at_line(left, int(line[1]))] = says
        elif len(left) == 1:
            found |= dict.fromkeys(left, says)
        else:  # it ran out of time, one does not know where
            for name, text in left.items():
                found |= _refused({name: text}, path)
    return found


def _at_line(lemmas: Mapping[str, str], line: int) -> str:
    """The lemma at this line of their document."""
    passed = PRELUDE.count("\n") + 1
    for name, text in lemmas.items():
        passed += text.count("\n") + 1
        if line < passed + 1:
            return name
    raise ValueError(f"line {line} of {passed}")


def _compiled(path: Path) -> str:
    """What coqc says against a file; nothing if it accepts it."""
    try:
        command = ["coqc", "-Q", ".", "", path.name]
        done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return f"not done in {_SECONDS} seconds"
    return "" if done.returncode == 0 else done.stderr or "coqc failed"
