"""Every lesson runs, all cells: the teacher's version with every answer right, the student's with none given."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import sympy

from course.build import LESSONS, build, sources, version
from course.lesson import Answer, check, choice, put, scaled, statement, told
from theory import catalogue
from theory.statement import Status

NAMES = [path.name for path in sources()]


def load(path: Path) -> ModuleType:
    """A notebook as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answers(name: str, which: Any, folder: Path) -> list[Answer]:
    """What all exercises of a version come to when every cell is run."""
    path = folder / f"{which}_{name}"
    path.write_text(version((LESSONS / name).read_text(), which))
    _, defined = load(path).app.run()
    return list(defined["answers"])


def test_lessons_have_the_numbers_from_one_on_and_stand_in_the_table() -> None:
    assert [name[:2] for name in NAMES] == [f"{i:02}" for i in range(1, len(NAMES) + 1)]
    table = re.findall(r"^\| (\d+) \|", (LESSONS.parent / "README.md").read_text(), re.MULTILINE)
    assert [int(number) for number in table] == list(range(1, len(NAMES) + 1))


def test_some_lessons_alone() -> None:
    assert [path.name[:2] for path in sources([3, 1])] == ["01", "03"]
    with pytest.raises(ValueError, match=r"lesson 99 does not exist; expected one of 1, 2, 3"):
        sources([3, 99])


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_of_the_teacher_is_right(name: str, tmp_path: Path) -> None:
    found = answers(name, "teacher", tmp_path)
    assert len(found) >= 6 and len({a.exercise for a in found}) == len(found)
    assert [a for a in found if a.standing != "right"] == []
    assert all(a.exercise.startswith(f"{int(name[:2])}.") for a in found)


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])])
def test_a_student_finds_every_exercise_open(name: str, tmp_path: Path) -> None:
    found = answers(name, "student", tmp_path)
    assert len(found) >= 6
    assert [a for a in found if a.standing != "open"] == []


@pytest.mark.parametrize("name", NAMES)
def test_solutions_are_the_teachers_alone(name: str) -> None:
    source = (LESSONS / name).read_text()
    student, teacher = version(source, "student"), version(source, "teacher")
    assert source.count("# solution\n") >= 6
    for text in (student, teacher):
        assert not any(line.strip() in ("# solution", "# end") or "# student:" in line for line in text.splitlines())
    solved = [part.split("# end\n")[0] for part in source.split("# solution\n")[1:]]
    for lines in (part.strip().splitlines() for part in solved):
        assert "\n".join(line.strip() for line in lines) not in "\n".join(line.strip() for line in student.splitlines())


@pytest.mark.parametrize("name", NAMES)
def test_statements_that_a_lesson_names_exist(name: str) -> None:
    papers = "|".join(catalogue.papers())
    known = {s.id for s in catalogue.statements()}
    for id_ in re.findall(rf'"((?:{papers})\.[A-Za-z0-9_.]+)"', (LESSONS / name).read_text()):
        assert id_ in known, id_


def test_marks_that_do_not_pair_are_refused() -> None:
    for text, said in (
        ("# solution\n# solution\n", "line 2"),
        ("# end\n", "line 1"),
        ("# solution\nx = 1\n", "without '# end'"),
    ):
        with pytest.raises(ValueError, match=said):
            version(text, "student")
    source = "def f():\n    # student: return ...\n    # solution\n    return 1\n    # end\n"
    assert version(source, "student") == "def f():\n    return ...\n"
    assert version(source, "teacher") == "def f():\n    return 1\n"


@pytest.mark.parametrize(
    ("answer", "expected", "standing"),
    [
        (..., 1.0, "open"),
        (None, "yes", "open"),
        (1.0, 1.0 + 1e-12, "right"),
        (1.0, 1.01, "wrong"),
        ("yes", "yes", "right"),
        ("no", "yes", "wrong"),
        (True, True, "right"),
        (False, True, "wrong"),
        ("a lot", 1.0, "wrong"),
        (np.array([1.0, 2.0]), [1.0, 2.0], "right"),
        (np.array([1.0, 2.0, 3.0]), [1.0, 2.0], "wrong"),
        (sympy.Symbol("x") * 2, sympy.Symbol("x") + sympy.Symbol("x"), "right"),
        (sympy.Symbol("x") * 3, sympy.Symbol("x") * 2, "wrong"),
        (float("nan"), 1.0, "wrong"),
        (float("inf"), 1.0, "wrong"),
    ],
)
def test_answers_are_told_apart(answer: Any, expected: Any, standing: str) -> None:
    assert check("0.1", answer, expected).standing == standing


def test_functions_are_called_at_the_points() -> None:
    def half(x: float) -> Any:
        return ...

    points = [(1.0,), (2.0,)]
    assert check("0.1", half, lambda x: x / 2, at=points).standing == "open"
    assert check("0.1", lambda x: x / 2, lambda x: x / 2, at=points).standing == "right"
    wrong = check("0.1", lambda x: 0.5, lambda x: x / 2, at=points)
    assert wrong.standing == "wrong" and wrong.says == "At (2): you have 0.5, what is measured is 1."
    with pytest.raises(ValueError, match="expected points"):
        check("0.1", lambda x: x, lambda x: x)
    assert choice("?", ["a", "b"]).value is None and choice("?", ["a", "b"], "a").value == "a"


def test_a_claim_put_to_its_evidence_can_fail() -> None:
    assert put("sfl.lemma12", "ledger").status is Status.PROVED
    assert (
        put("sfl.lemma12", "ledger", scaled("sfl.lemma12", sympy.Rational(1, 2), "heterogeneity")).status
        is Status.BROKEN
    )
    assert "refuted" in told(put("sfl.lemma9", "search")).text
    with pytest.raises(ValueError, match="no evidence of kind 'run'; expected one of"):
        put("sfl.lemma12", "run")
    with pytest.raises(ValueError, match="is no bound"):
        scaled("sfl.eq12", 2)


def test_every_statement_can_be_shown() -> None:
    for s in catalogue.statements():
        assert s.id in statement(s.id).text


def test_one_command_writes_both_versions(tmp_path: Path) -> None:
    written = build(tmp_path)
    assert {p.relative_to(tmp_path).as_posix() for p in written} == {
        f"{which}/{name}" for which in ("student", "teacher") for name in NAMES
    }
    assert all(p.is_file() for p in written)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["student", "teacher"])
def test_lessons_export_to_html(name: str, which: Any, tmp_path: Path) -> None:
    export(name, which, tmp_path)


def test_a_lesson_exports_to_html(tmp_path: Path) -> None:
    text = export(NAMES[0], "student", tmp_path)
    assert "Exercise 1.1: open." in text


def export(name: str, which: Any, folder: Path) -> str:
    """A lesson as HTML, its cells run."""
    book, page = folder / name, folder / "page.html"
    book.write_text(version((LESSONS / name).read_text(), which))
    command = [sys.executable, "-m", "marimo", "--quiet", "--yes", "export", "html", str(book), "-o", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return page.read_text()
