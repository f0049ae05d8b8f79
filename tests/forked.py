"""`fedtheory` in a process of its own, forked from one that has imported what the commands need, which takes seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from fedtheory import cli
from fedtheory.theory import catalogue

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(
    ["tests.forked", "fedtheory.verification", "fedtheory.agreed", "fedtheory.drawing", "fedtheory.simulate", "z3"]
    + [f"fedtheory.figures.{paper}" for paper in catalogue.names()]
)


class Done(NamedTuple):
    """How a command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def fedtheory(*arguments: str, cwd: Path, variables: Mapping[str, str] | None = None) -> Done:
    """A command in a folder, with these variables; what it does is done in its own process alone."""
    with TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("stdout", "stderr")]
        process = FORKS.Process(target=_command, args=(arguments, cwd, dict(variables or {}), files))
        process.start()
        process.join()
        assert process.exitcode is not None
        return Done(process.exitcode, *(file.read_text() for file in files))


def _command(arguments: tuple[str, ...], cwd: Path, variables: dict[str, str], files: list[Path]) -> None:
    for stream, file in zip((sys.stdout, sys.stderr), files, strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), stream.fileno())
    os.chdir(cwd)
    os.environ.update(variables)
    sys.argv = ["fedtheory", *arguments]
    cli.main()
