"""README.md and the documentation: every example prints what its page says, and every name on a page exists."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

import fedtheory
from fedtheory import cli
from fedtheory.theory import catalogue
from fedtheory.theory.statement import EvidenceKind
from tests.fedtheory.commands import COMMANDS
from tests.fedtheory.conftest import Call

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = {path.name: path.read_text() for path in sorted((ROOT / "docs" / "pages").glob("*.md"))}
ALL = {"README.md": README, **PAGES}


def examples(page: str) -> list[tuple[str, str]]:
    """The indented `$ fedtheory ...` commands and the output printed below each."""
    found, command, output = [], None, []
    for line in [*page.splitlines(), "end"]:
        start = re.match(r"    \$ (fedtheory .*)", line)
        if command is not None and (start or not (line.startswith("    ") or not line)):
            found.append((command, "\n".join(output).rstrip()))
            command = None
        if start:
            command, output = start[1], []
        elif command is not None:
            output.append(line[4:].rstrip())
    return found


EXAMPLES = [(name, *example) for name, page in ALL.items() for example in examples(page)]


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 250


def test_the_pages_have_examples() -> None:
    commands = {command.split()[1] for _, command, _ in EXAMPLES}
    assert commands >= {"show", "bound", "tune", "compare", "verify", "tight", "sharpen", "simulate", "glossary"}
    assert len({command for _, command, _ in EXAMPLES}) == len(EXAMPLES), "an example stands on two pages"
    assert all(output for _, _, output in EXAMPLES)


@pytest.mark.dear
@pytest.mark.parametrize(("page", "command", "output"), EXAMPLES, ids=[f"{page}: {cmd}" for page, cmd, _ in EXAMPLES])
def test_command_prints_what_the_page_says(
    page: str, command: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, which spares the imports; `test_cli` runs the installed command."""
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit):
        cli.main()
    out, err = capsys.readouterr()
    assert "\n".join(line.rstrip() for line in (out + err).rstrip().splitlines()) == output


# Commands that are only named: they and their options exist


def called() -> Iterator[tuple[str, list[str]]]:
    """Each `fedtheory ...` in code, as words, with the name of its page."""
    for name, page in ALL.items():
        prose = re.sub(r"^(```.*?^```|    .*?)$", "", page, flags=re.MULTILINE | re.DOTALL)
        lines = re.findall(r"^    (?:\$ )?(fedtheory .*)$", page, re.MULTILINE)
        for line in [*lines, *re.findall(r"`(fedtheory [^`]+)`", prose.replace("\n", " "))]:
            yield name, shlex.split(re.split(r"  +", line)[0], comments=True)[1:]


CALLED = list(called())


def test_every_command_on_a_page_exists_with_its_options() -> None:
    assert len(CALLED) > 40
    shared = {o for p in typer.main.get_command(cli.app).params for o in p.opts} | {"--help"}
    for page, words in CALLED:
        while words and words[0] == "--path":
            words = words[2:]
        if words[0] in {"COMMAND", *shared}:
            continue
        name = " ".join(words[:2]) if words[0] in ("export", "record") else words[0]
        assert name in COMMANDS, (page, words)
        known = {option for parameter in COMMANDS[name].params for option in parameter.opts} | {"--help"}
        assert {word for word in words if word.startswith("--")} <= known, (page, words)


def test_every_statement_on_a_page_exists() -> None:
    ids = {
        id_
        for page in ALL.values()
        for id_ in re.findall(r"(?<![\w./])((?:sfl|fedcom|fedbcgd|fedbat)\.\w[\w.]*\w)\b", page)
    }
    others = {"sfl.quad.table2.g2"}  # a problem
    assert len(ids) > 15
    assert all(catalogue.find(id_) for id_ in ids - others)


def test_the_kinds_of_evidence_are_all_there() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGES["verify.md"], re.MULTILINE) == list(get_args(EvidenceKind))


# Python


def python(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


(OWN,) = python(README)
DATA, ALGORITHM = python(PAGES["own.md"])
NAMES, RUN, ROUND, LEMMA, PRINTED = python(PAGES["python.md"])


def test_the_best_constant_of_a_round_is_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    exec(ROUND, {})
    (shown,) = re.findall(r"```text\n(.*?)```", PAGES["python.md"], re.DOTALL)
    assert capsys.readouterr().out == shown


def test_no_other_page_has_python() -> None:
    pages = {"README.md", "check.md", "networks.md", "own.md", "python.md"}  # networks.md: `test_train_command`
    assert {name for name, page in ALL.items() if python(page)} == pages


CHECKS = re.findall(r"```python\n(.*?)```\n.*?```text\n(.*?)```", PAGES["check.md"], re.DOTALL)


def words_of(text: str) -> str:
    """A text without its numbers in floating point, whose last digits differ between machines."""
    return re.sub(r"-?\d+\.\d+(e-?\d+)?|\d+e-?\d+", "#", text)


@pytest.mark.dear
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("code", "shown"), CHECKS, ids=[code.split("\n")[-2][:30] for code, _ in CHECKS])
def test_a_claim_has_the_answer_that_the_page_shows(code: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(code, {"__name__": "page"})
    assert words_of(capsys.readouterr().out) == words_of(shown)


def test_the_page_has_the_template() -> None:
    """What `fedtheory new-paper` writes, but for its first and last line and the names."""
    text = (ROOT / "src" / "fedtheory" / "template" / "statements.py.txt").read_text().replace("__NAME__", "fedanchor")
    lines = text.replace("FILL IN: its title", "Anchored local SGD").splitlines()[2:-1]
    assert "\n".join(lines) in PAGES["check.md"]


def test_the_readme_answers_a_claim_as_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"((?:^    >>> .*\n)+)((?:^    (?!>>>).*\n)+)", README, re.MULTILINE)
    lines = [line.removeprefix("    >>> ") for line in block[0].splitlines()]
    exec("\n".join([*lines[:-1], f"print({lines[-1]})"]), {})
    assert capsys.readouterr().out == "".join(f"{line[4:]}\n" for line in block[1].splitlines())


def test_python_snippet_runs_and_the_bound_holds(capsys: pytest.CaptureFixture[str]) -> None:
    exec(RUN, {})
    measured, bound = (float(number) for number in capsys.readouterr().out.split("<="))
    assert 0 < measured <= bound


def test_every_public_name_has_an_example_that_runs() -> None:
    asked = " ".join(code for code, _ in CHECKS)
    assert set(re.findall(r"\bft\.(\w+)", OWN + NAMES + asked)) == set(fedtheory.__all__)
    exec(NAMES, {})


def test_own_data_beside_the_theorems(capsys: pytest.CaptureFixture[str]) -> None:
    named: dict[str, Any] = {}
    exec(DATA, named)
    assert "sfl.thm1.strongly_convex" in capsys.readouterr().out
    assert (named["numbers"]["mean"] <= named["numbers"]["bound"]).all()


def test_own_problem_and_algorithm(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(OWN, {})
    printed = capsys.readouterr().out.splitlines()
    assert "vouched for, not certified" in printed[0] and "times the measured value" in printed[-1]
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(ALGORITHM)
    words = ["quadratic", "MyProx", "FedProx", "K=5", "prox=0.5", "eta=0.1", "rounds=5", "seeds=2", "--json"]
    status, out, _ = call("simulate", *words, "--from", "mine.py")
    mine, ours = json.loads(out)
    assert status == 0
    assert [row["gap"] for row in mine["summary"]] == pytest.approx([row["gap"] for row in ours["summary"]], rel=1e-9)


@pytest.mark.parametrize(("claim", "passes"), [("Norm(change) ** 2 / L", True), ("2 * Norm(change) ** 2 / L", False)])
def test_own_lemma(claim: str, passes: bool) -> None:
    test: dict[str, Any] = {}
    exec(LEMMA.replace("Norm(change) ** 2 / L", claim), test)
    if passes:
        test["test_gradients_are_cocoercive"]()
    else:
        with pytest.raises(AssertionError, match="is false") as failed:
            test["test_gradients_are_cocoercive"]()
        assert any("quadratic" in note for note in failed.value.__notes__)


# What the tests leave out


def test_the_readme_lists_the_files_with_slow_tests() -> None:
    listed = README[README.index("## What the tests leave out") : README.index("## Speed")]
    patterns = re.findall(r"`(tests/[\w/*.]+\.py)`", listed)
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if re.search(r"mark\.slow\b", path.read_text())]
    assert len(files) > 20
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        assert any(fnmatch(name, one) for one in patterns), name
    assert all(list(ROOT.glob(one)) for one in patterns)


def test_a_lemma_of_each_paper_holds_on_random_instances() -> None:
    page: dict[str, Any] = {}
    exec(PRINTED, page)
    tests = [test for name, test in page.items() if name.startswith("test_")]
    assert len(tests) == len(list(catalogue.papers()))
    for test in tests:
        test()
