"""Every lesson runs, all cells: the teacher's version with every answer right, the student's with none given."""

from __future__ import annotations

import importlib.util
import os
import re
import tomllib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
import pytest
import sympy

from course.build import LESSONS, NETWORK, SETTINGS, build, contents, exported, sources, version
from course.lesson import Answer, after, check, choice, how_to_answer, put, scaled, statement, told
from fedtheory import plugins
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Status

NAMES = [path.name for path in sources()]


def load(path: Path) -> ModuleType:
    """A notebook as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answers(name: str, which: Any, folder: Path, changed: Callable[[str], str] = str) -> list[Answer]:
    """What all exercises of a version, or of what it was changed to, come to when every cell is run."""
    path = folder / f"{which}_{name}"
    path.write_text(changed(version((LESSONS / name).read_text(), which)))
    with pytest.MonkeyPatch.context() as patch:  # other tests see no paper that a lesson adds
        patch.setenv(plugins.VARIABLE, os.environ.get(plugins.VARIABLE, ""))
        _, defined = load(path).app.run()
    return list(defined["answers"])


def test_each_row_of_the_table_is_a_lesson_with_its_time() -> None:
    """A lesson of one's own needs no row."""
    rows = re.findall(r"^\| (\d+) \| .* \| (\d+) \|$", (LESSONS.parent / "README.md").read_text(), re.MULTILINE)
    assert len(rows) >= 13
    for number, minutes in rows:
        (source,) = sources([int(number)])
        assert f"**About {minutes} minutes" in source.read_text()


def test_some_lessons_alone() -> None:
    assert [path.name[:2] for path in sources([3, 1])] == ["01", "03"]
    with pytest.raises(ValueError, match=r"lesson 99 does not exist; expected one of 1, 2, 3"):
        sources([3, 99])


@pytest.mark.dear
@pytest.mark.parametrize("name", NAMES)
def test_every_answer_of_the_teacher_is_right_and_no_wrong_answer_is_told_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, list[Any], dict[str, Any]]] = []

    def recorder(exercise: str, answer: Any, expected: Any, **settings: Any) -> Answer:
        values: list[Any] = [] if callable(expected) else [expected]

        def remembered(*arguments: Any) -> Any:
            values.append(expected(*arguments))
            return values[-1]

        asked.append((exercise, values, settings))
        return check(exercise, answer, remembered if callable(expected) else expected, **settings)

    monkeypatch.setattr("course.lesson.check", recorder)
    found = answers(name, "teacher", tmp_path)
    assert found and len({a.exercise for a in found}) == len(found)
    assert [a for a in found if a.standing != "right"] == []
    assert all(a.exercise.startswith(f"{int(name[:2])}.") for a in found)
    assert {exercise for exercise, *_ in asked} == {a.exercise for a in found}
    for exercise, values, settings in asked:
        assert len(settings["hint"].split()) >= 5, exercise
        constant = not any(settings.get("at", ()))
        for value in values:
            for wrong in wrong_ones(value):
                # the hint of a function may have numbers in it that it gives at some point
                said = check(exercise, wrong, value, hint=settings["hint"] if constant else "Think again.")
                assert said.standing == "wrong", (exercise, wrong)
                assert not tells(said.says, value), said


def wrong_ones(value: Any) -> list[Any]:
    """Answers that are wrong where `value` is expected."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return ["certainly not this", 17.25]
    if isinstance(value, sympy.Basic) and not value.is_number:
        return ["certainly not this", 17.25, sympy.Symbol("another")]
    numbers = np.asarray(value, dtype=float)
    return ["certainly not this", object(), np.where(np.isfinite(numbers), numbers, 0.0) * 1.7 + 1.3]


def tells(says: str, value: Any) -> bool:
    """Whether a message has the value in it, as text or as a number."""
    if isinstance(value, bool):
        return False  # of two, the other one is always known
    values = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
    forms = {str(v) for v in values}
    forms |= {f"{float(v):.{n}g}" for v in values if isinstance(v, int | float | np.number) for n in (3, 6)}
    return any(re.search(rf"(?<![\w.^{{]){re.escape(form)}(?!\w|\.\d)", says) for form in forms)


def test_a_message_that_tells_is_noticed() -> None:
    assert tells("you have 1, what is measured is 0.0222222.", 1 / 45) and tells("expected 145", 145)
    assert tells("it is at x*.", "at x*") and not tells("you have `0.0223`, which is not right.", 1 / 45)


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])])
def test_a_student_finds_every_exercise_open(name: str, tmp_path: Path) -> None:
    found = answers(name, "student", tmp_path)
    assert found and [a for a in found if a.standing != "open"] == []


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])])
def test_a_lesson_comes_to_its_end_when_all_functions_of_a_student_stop(name: str, tmp_path: Path) -> None:
    def stopping(source: str) -> str:
        return source.replace("    return ...  # your turn", '    raise ValueError("nothing works")  # your turn')

    found = answers(name, "student", tmp_path, stopping)
    assert {a.standing for a in found} == {"open", "wrong"}
    for one in found:
        assert one.standing == "open" or "function stopped with `ValueError: nothing works`" in one.says


@pytest.mark.parametrize("name", NAMES)
def test_solutions_are_the_teachers_alone(name: str) -> None:
    source = (LESSONS / name).read_text()
    student, teacher = version(source, "student"), version(source, "teacher")
    assert "# solution\n" in source
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


x, y = sympy.symbols("x y", positive=True)


@pytest.mark.parametrize(
    ("answer", "expected", "standing"),
    [
        (..., 1.0, "open"),
        (None, "yes", "open"),
        (1.0, 1.0 + 1e-12, "right"),
        (1.0, 1.01, "wrong"),
        ("yes", "yes", "right"),
        (" At X* ", "at x*", "right"),
        ("no", "yes", "wrong"),
        (1.0, "yes", "wrong"),
        (True, True, "right"),
        (np.True_, True, "right"),
        (False, True, "wrong"),
        (np.array([True, True]), True, "wrong"),
        ("a lot", 1.0, "wrong"),
        ([1.0, 2.0], [1.0, 2.0], "right"),
        (np.array([1.0, 2.0, 3.0]), [1.0, 2.0], "wrong"),
        (float("nan"), 1.0, "wrong"),
        (float("inf"), 1.0, "wrong"),
        (float("inf"), float("inf"), "right"),
        # fractions, texts, sympy, one element
        ("1/45", 1 / 45, "right"),
        (" 1 / 45 ", 1 / 45, "right"),
        ("sqrt(2)", 2**0.5, "right"),
        (Fraction(1, 45), 1 / 45, "right"),
        (sympy.Rational(1, 45), 1 / 45, "right"),
        (1 / 45, sympy.Rational(1, 45), "right"),
        (["4/3", Fraction(2, 3), 1], [4 / 3, 2 / 3, 1.0], "right"),
        ("(4/3, 2/3, 1)", [4 / 3, 2 / 3, 1.0], "right"),
        (sympy.Matrix([1, 2]), [1.0, 2.0], "right"),
        (np.array([2.5]), 2.5, "right"),
        (2.5, np.array([[2.5]]), "right"),
        ("1/44", 1 / 45, "wrong"),
        # roundings to three digits or more, of what is no whole number
        (0.0222, 1 / 45, "right"),
        ("0.0222", 1 / 45, "right"),
        (0.0222222, 1 / 45, "right"),
        ((1.33, 0.667, 1), [4 / 3, 2 / 3, 1.0], "right"),
        (0.022, 1 / 45, "wrong"),
        (0.0223, 1 / 45, "wrong"),
        (0.0221, 1 / 45, "wrong"),
        (0.02223, 1 / 45, "wrong"),
        (0.666, 2 / 3, "wrong"),
        ((1.33, 0.667, 1.001), [4 / 3, 2 / 3, 1.0], "wrong"),
        (251000, 251280, "wrong"),
        (251280.0, 251280, "right"),
        (9.001, 9.0, "wrong"),
        # expressions
        (x * 2, x + x, "right"),
        (x * 3, x * 2, "wrong"),
        ("x*(1 - y)", x - x * y, "right"),
        (sympy.Symbol("x") * 2, x * 2, "right"),
        (1.99 * x, x * 2, "wrong"),
        ((x, x), x * 2, "wrong"),
        ("x +", x * 2, "wrong"),
    ],
)
def test_answers_are_told_apart(answer: Any, expected: Any, standing: str) -> None:
    assert check("0.1", answer, expected, hint="Think again.").standing == standing


def test_functions_are_called_at_the_points() -> None:
    def half(x: float) -> Any:
        return ...

    points = [(1.0,), (2.0,)]
    assert check("0.1", half, lambda x: x / 2, at=points, hint="Halve it.").standing == "open"
    assert check("0.1", lambda x: x / 2, lambda x: x / 2, at=points, hint="Halve it.").standing == "right"
    wrong = check("0.1", lambda x: 0.5, lambda x: x / 2, at=points, hint="Halve it.")
    assert wrong.standing == "wrong"
    assert wrong.says == "At (2): you have `0.5`, which is not right. **Hint.** Halve it."
    number = check("0.1", 0.5, lambda x: x / 2, at=points, hint="Halve it.")
    assert number.standing == "wrong" and "`0.5` is no function" in number.says
    rounded = check("0.1", lambda x: 0.333, lambda x: x / 3, at=[(1.0,)], hint="Divide.")
    assert rounded.standing == "wrong"  # a formula is right or it is another formula
    with pytest.raises(ValueError, match="expected points"):
        check("0.1", lambda x: x, lambda x: x, hint="Think again.")
    assert choice("?", ["a", "b"]).value is None and choice("?", ["a", "b"], "a").value == "a"


def test_a_function_that_stops_is_told_in_words() -> None:
    def inverse(a: float, b: float) -> float:
        return a / (b - 1)

    stopped = check("0.1", inverse, inverse, at=[(2.0, 3.0), (2.0, 1.0)], hint="What if b is 1?")
    assert stopped.standing == "wrong" and stopped.says == (
        "At (2, 1): your function stopped with `ZeroDivisionError: float division by zero`. **Hint.** What if b is 1?"
    )

    def unknown() -> NoReturn:
        raise KeyError("z")

    assert "Your function stopped with `KeyError: 'z'`" in check("0.1", unknown, 1.0, at=[()], hint="?").says


def test_long_answers_are_shown_short() -> None:
    assert len(check("0.1", list(range(1000)), 1.0, hint="One number.").says) < 200
    assert "You have `0.333333`" in check("0.1", Fraction(10**5000, 3 * 10**5000 + 1), 1.0, hint="?").says


def test_what_tells_an_answer_is_folded_until_it_is_right() -> None:
    right = after(Answer("0.1", "right", ""), "the answer is 7").text
    assert "the answer is 7" in right and "marimo-accordion" not in right
    for standing in ("open", "wrong"):
        folded = after(Answer("0.1", standing, ""), "the answer is 7").text
        assert "marimo-accordion" in folded and "Exercise 0.1" in folded


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_says_first_how_to_answer(name: str) -> None:
    cells = (LESSONS / name).read_text().split("@app.cell")
    assert "how_to_answer()" in cells[1] and f"# {int(name[:2])}. " in cells[1]
    assert "`marimo edit FILE`" in how_to_answer().text or "marimo edit FILE" in how_to_answer().text


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


def test_one_command_writes_both_versions_and_the_settings(tmp_path: Path) -> None:
    written = build(tmp_path)
    assert {p.relative_to(tmp_path).as_posix() for p in written} == {
        f"{which}/{name}" for which in ("student", "teacher") for name in NAMES
    }
    assert all(p.is_file() for p in written)
    for which in ("student", "teacher"):
        settings = tomllib.loads((tmp_path / which / SETTINGS[0]).read_text())["tool"]["marimo"]
        assert settings["runtime"]["auto_instantiate"] is True
        assert all((tmp_path / which / style).is_file() for style in settings["display"]["custom_css"])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["student", "teacher"])
def test_lessons_export_to_html(name: str, which: Any, tmp_path: Path) -> None:
    book = tmp_path / name
    book.write_text(version((LESSONS / name).read_text(), which))
    assert "../marimo/assets" in exported(book, "../marimo").read_text()


def test_a_notebook_exports_to_html(tmp_path: Path) -> None:
    """Its cells run; its front end lies beside it."""
    book = tmp_path / "small.py"
    book.write_text("import marimo\n\napp = marimo.App()\n\n\n@app.cell\ndef _():\n    6 * 7111\n    return\n")
    text = exported(book, "../marimo", code=False).read_text()
    assert "42666" in text and "6 * 7111" not in text and NETWORK not in text and "../marimo/assets" in text


def test_the_first_page_leads_to_the_exported_lessons(tmp_path: Path) -> None:
    pages = [Path(name).with_suffix(".html").name for name in NAMES]
    (tmp_path / "student").mkdir()
    for page in pages[:2]:
        (tmp_path / "student" / page).touch()
    links = re.findall(r'href="(.+?)"', text := contents(tmp_path))
    assert len(links) == 2 and all((tmp_path / link).is_file() for link in links)
    assert ">1. Client drift</a>" in text and "The site" not in text
