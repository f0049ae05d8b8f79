"""`python -m course.grade handed_in/*.py`: a row for each student, with what is right, wrong and open.

Each notebook runs in a process of its own, because it may stop, or not come to an end.  A notebook has its own checks; a row
says so if they are not those of the lesson.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from course import lesson
from course.build import sources, version


@dataclass(frozen=True)
class Row:
    """What became of the notebook of a student.

    lesson     its number; None for a file that is no lesson
    standings  exercise -> right, wrong or open
    lost       exercises that were not reached
    problem    what stopped it, or what is wrong with its checks; empty if nothing
    """

    student: str
    lesson: int | None = None
    standings: dict[str, str] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    problem: str = ""

    def of(self, standing: str) -> list[str]:
        """The exercises with this standing."""
        return [exercise for exercise, found in self.standings.items() if found == standing]

    @property
    def remarks(self) -> str:
        """Which exercises are wrong, open or not reached, and what happened."""
        parts = [self.problem] if self.problem else []
        named = {"wrong": self.of("wrong"), "open": self.of("open"), "not reached": list(self.lost)}
        return "; ".join([*parts, *(f"{word}: {', '.join(several)}" for word, several in named.items() if several)])


def grade(path: Path, seconds: float = 600) -> Row:
    """Run a notebook that was handed in, in a process of its own."""
    try:
        text = path.read_text()
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError) as error:
        return Row(path.stem, problem=f"not read: {type(error).__name__}: {_first_line(error)}")
    original = _lesson_of(tree)
    if original is None:
        return Row(path.stem, problem="no lesson: its title is that of none")
    checks = _checks(ast.parse(version(original.read_text(), "student")))
    with TemporaryDirectory() as folder:
        told = Path(folder) / "answers.json"
        command = [sys.executable, "-m", "course.grade", "--run", str(path.resolve()), "--to", str(told)]
        problem = ""
        try:
            done = subprocess.run(command, timeout=seconds, capture_output=True, check=False)
            if done.returncode:
                problem = f"stopped: the process ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            problem = f"stopped after {seconds:g} seconds"
        lines = [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []
    found = {line["exercise"]: line["standing"] for line in lines if "exercise" in line}
    problem = next((f"stopped: {line['stopped']}" for line in lines if "stopped" in line), problem)
    missing = sorted(checks.keys() - {*_same_checks(tree, checks)}, key=_place)
    if missing:
        problem = "; ".join([*([problem] if problem else []), f"checks changed: {', '.join(missing)}"])
    standings = {exercise: found[exercise] for exercise in sorted(found, key=_place)}
    lost = tuple(sorted(checks.keys() - found.keys(), key=_place))
    return Row(path.stem, int(original.name[:2]), standings, lost, problem)


def table(rows: Iterable[Row]) -> str:
    """The rows below one another, with a head."""
    several = list(rows)
    width = max([len("student"), *(len(row.student) for row in several)])
    lines = [f"{'student':{width}}  lesson  right  wrong  open"]
    for row in several:
        number = "-" if row.lesson is None else str(row.lesson)
        counts = (len(row.of("right")), len(row.of("wrong")), len(row.of("open")))
        line = f"{row.student:{width}}  {number:>6}  {counts[0]:>5}  {counts[1]:>5}  {counts[2]:>4}  {row.remarks}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def _place(exercise: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in exercise.split("."))


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _title(tree: ast.AST) -> str | None:
    """The title of a notebook, as its `marimo.App(...)` has it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "app_title" and isinstance(node.value, ast.Constant):
            return str(node.value.value)
    return None


def _lesson_of(tree: ast.AST) -> Path | None:
    """The source of the lesson that a notebook is; None for another notebook."""
    title = _title(tree)
    return next((path for path in sources() if title and _title(ast.parse(path.read_text())) == title), None)


def _checks(tree: ast.Module) -> dict[str, str]:
    """Exercise -> the body of the cell that checks it, without its formatting."""
    found = {}
    for cell in tree.body:
        if not isinstance(cell, ast.FunctionDef):
            continue
        for node in ast.walk(cell):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check" and node.args:
                named = node.args[0]
                if isinstance(named, ast.Constant) and isinstance(named.value, str):
                    body = [one for one in cell.body if not isinstance(one, ast.Return)]  # marimo writes these lines
                    found[named.value] = "\n".join(map(ast.dump, body))
    return found


def _same_checks(tree: ast.Module, checks: dict[str, str]) -> list[str]:
    """The exercises whose check a notebook has as the lesson has it."""
    own = _checks(tree)
    return [exercise for exercise, body in checks.items() if own.get(exercise) == body]


def _run(path: Path, to: Path) -> None:
    """Run a notebook here, and write a line for each answer as soon as it is there; the last one says what stopped it."""
    with to.open("w") as file:

        def write(**line: str) -> None:
            file.write(json.dumps(line) + "\n")
            file.flush()

        original = lesson.check

        def record(exercise: str, *about: Any, **more: Any) -> lesson.Answer:
            answer = original(exercise, *about, **more)
            write(exercise=answer.exercise, standing=answer.standing)
            return answer

        lesson.check = record
        try:
            spec = importlib.util.spec_from_file_location("handed_in", path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            with redirect_stdout(sys.stderr):
                spec.loader.exec_module(module)
                module.app.run()
        except BaseException as error:  # whatever a notebook does, its row says so
            cause = error.__cause__ or error
            write(stopped=f"{type(cause).__name__}: {_first_line(cause)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """`python -m course.grade`."""
    parser = argparse.ArgumentParser(
        prog="python -m course.grade", description="Run notebooks that were handed in; print a row for each."
    )
    parser.add_argument("notebooks", type=Path, nargs="*", help="files, each named after its student")
    parser.add_argument("--seconds", type=float, default=600, help="how long one notebook may run (default: 600)")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.run and given.to:
        _run(given.run, given.to)
        return
    if not given.notebooks:
        parser.error("no notebooks: expected files, such as handed_in/*.py")
    print(table(grade(path, given.seconds) for path in given.notebooks))


if __name__ == "__main__":
    main()
