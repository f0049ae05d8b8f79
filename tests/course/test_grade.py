"""Notebooks that students hand in: a row for each, whatever it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from course.grade import Row, grade, main, table

LESSON = """import marimo

app = marimo.App(app_title="7. A small one")


@app.cell
def _():
    from course.lesson import check

    return (check,)


@app.cell
def _():
    # student: half = ...  # your turn
    # solution
    half = 0.5
    # end
    return (half,)


@app.cell
def _(check, half):
    answer_1 = check("7.1", half, 1 / 2, hint="Divide one by two, please.")
    return (answer_1,)


@app.cell
def _():
    # student: third = ...  # your turn
    # solution
    third = "1/3"
    # end
    return (third,)


@app.cell
def _(check, third):
    answer_2 = check("7.2", third, 1 / 3, hint="Divide one by three, please.")
    return (answer_2,)


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture
def hand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = tmp_path / "07_a_small_one.py"
    source.write_text(LESSON)
    monkeypatch.setattr("course.grade.sources", lambda: [source])

    def write(student: str, half: str = "...", third: str = "...", **changed: str) -> Path:
        text = LESSON.replace("half = 0.5", f"half = {half}").replace('third = "1/3"', f"third = {third}")
        for old, new in changed.items():
            text = text.replace(old, new)
        path = tmp_path / f"{student}.py"
        path.write_text(text)
        return path

    return write


def test_a_cell_that_stops_and_a_check_that_a_student_changed_are_named(hand_in) -> None:
    row = grade(hand_in("ben", "1 / 2", "1 / 0", **{"1 / 3,": "4,"}))
    assert row.problem == "stopped: ZeroDivisionError: division by zero; checks changed: 7.2"
    assert row.standings == {"7.1": "right"} and row.lost == ("7.2",)


def test_a_notebook_without_an_end_is_stopped(hand_in) -> None:
    row = grade(hand_in("emil", "__import__('time').sleep(600)"), seconds=1)
    assert row.problem == "stopped after 1 seconds" and row.lost == ("7.1", "7.2")


def test_the_table_has_a_row_for_each_file(hand_in, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "finn.py"
    other.write_text("def")
    another = tmp_path / "gisela.py"
    another.write_text("x = 1")
    anna = hand_in("anna", "'1/2'", "17", **{"check(": "check(  "})  # a check with another formatting only
    main([str(anna), str(other), str(another), str(tmp_path / "nobody.py")])
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["student", "lesson", "right", "wrong", "open"]
    assert rows[0].split(maxsplit=5) == ["anna", "7", "1", "1", "0", "wrong: 7.2"]
    assert "not read: SyntaxError" in rows[1] and "no lesson" in rows[2] and "not read: FileNotFoundError" in rows[3]
    assert table([]) == "student  lesson  right  wrong  open"
    assert Row("hannah", 7, {"7.1": "right", "7.2": "open"}).remarks == "open: 7.2"


def test_files_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "expected files, such as handed_in/*.py" in capsys.readouterr().err
