"""How a paper is added: `fedtheory new-paper` writes one outside the repository, and every command finds it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fedtheory.new_paper import write_paper
from tests import forked
from tests.forked import Done

HOUSE = Path(__file__).parents[1]
FILES = ("__init__", "algorithms", "arenas", "checks", "figures", "statements", "test_paper")
VALUES = ("L=1", "mu=0.1", "sigma=0.5", "D=1", "R=100", "eta=0.5")


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a new paper, `mine`."""
    folder = tmp_path_factory.mktemp("papers")
    assert [path.name for path in write_paper("mine", folder)] == [f"{name}.py" for name in FILES]
    return folder


def python(papers: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=papers,
        env=os.environ | {"PYTHONPATH": str(HOUSE), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
    )


def fedtheory(papers: Path, *arguments: str) -> Done:
    return forked.fedtheory("--path", str(papers), *arguments, cwd=papers)


def test_its_statements_are_verified_by_evidence_that_can_fail(papers: Path) -> None:
    done = fedtheory(papers, "verify", "--paper", "mine", "--mutate")
    assert done.returncode == 0, done.stderr
    verdicts = [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("mine.")]
    assert verdicts == [
        ["mine.convex:", "definition"],
        ["mine.noise:", "definition"],
        ["mine.one_step:", "proved"],
        ["mine.thm:", "proved"],
    ]
    assert done.stdout.count("seen to fail: ") == 8 and "nothing: it refutes none" not in done.stdout, done.stdout
    lines = [line.strip() for line in done.stdout.splitlines()]
    (of_lemma,) = [line for line in lines if line.startswith("not noticed")]
    (of_theorem,) = [line for line in lines if line.startswith("undecided")]
    assert of_lemma == (
        "not noticed: without the condition mu <= L (of every function with both constants); the condition mu <= L "
        "(of every function with both constants) with twice the room"
    )  # which the proof does not need
    assert "without the condition eta <= 1/L; " in of_theorem  # its proof breaks, but the runs go on


def test_it_is_found_by_every_command(papers: Path) -> None:
    done = fedtheory(papers, "bound", "mine.thm", *VALUES, "--json")
    expected = 0.5 * (0.95**100 + 0.5 * 0.25 / 0.1)
    assert json.loads(done.stdout)["value"] == pytest.approx(expected)
    drawn = fedtheory(papers, "figures", "mine_theorem", "--out", str(papers / "drawn"))
    assert drawn.returncode == 0 and (papers / "drawn" / "mine_theorem.png").exists(), drawn.stderr
    method = "GradientDescent of mine"
    ran = fedtheory(
        papers, "simulate", "quadratic", method, "K=1", "M=1", "eta=0.5", "delta=0", "zeta_star=0", "rounds=5"
    )
    assert ran.returncode == 0 and "F gap" in ran.stdout, ran.stderr
    for command in (["show", "mine.thm"], ["list", "--paper", "mine"], ["figures", "--list"], ["glossary", "R"]):
        done = fedtheory(papers, *command)
        assert done.returncode == 0 and "mine" in done.stdout, done.stderr
    assert "unknown statement" in forked.fedtheory("show", "mine.thm", cwd=papers).stderr


def test_its_own_tests_pass_and_it_is_well_written(papers: Path) -> None:
    done = python(papers, "-m", "pytest", "-q", "-p", "no:cacheprovider", "mine")
    assert done.returncode == 0, done.stdout
    config = ("--config", str(HOUSE / "pyproject.toml"), "--no-cache", "mine")
    for command in (["format", "--check"], ["check", "--ignore", "E402,I001"]):
        done = python(papers, "-m", "ruff", *command, *config)
        assert done.returncode == 0, done.stdout


def test_a_paper_with_its_statements_alone_works(papers: Path, tmp_path: Path) -> None:
    """No checks, no algorithm, no arenas, no figures."""
    (tmp_path / "few").mkdir()
    text = (papers / "mine" / "statements.py").read_text()
    (tmp_path / "few" / "statements.py").write_text(text.replace('Paper("mine"', 'Paper("few"'))
    done = fedtheory(tmp_path, "verify", "--paper", "few")
    assert done.returncode == 0 and "few.thm: open" in done.stdout, done.stderr
    for command in (
        ["show", "few.thm"],
        ["list", "--paper", "few"],
        ["figures", "--list"],
        ["glossary"],
        ["bound", "few.thm", *VALUES],
    ):
        done = fedtheory(tmp_path, *command)
        assert done.returncode == 0, done.stderr


def test_its_evidence_looks_at_properties_and_conditions(papers: Path) -> None:
    script = """
from dataclasses import replace
from theory import catalogue
from theory.statement import Condition
s, t = catalogue.find("mine.one_step"), catalogue.find("mine.thm")
from mine.checks import by_induction, one_step
from mine.statements import L, eta
print(one_step(replace(s, assumes=("mine.convex",))).says)
for check, own in ((one_step, s), (by_induction, t)):
    for first in ((), (Condition(eta <= 2 / L),)):
        print(check(replace(own, when=(*first, *own.when[1:]))).status)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=papers,
        env=os.environ | {"PYTHONPATH": str(HOUSE), "FEDTHEORY_PAPERS": str(papers)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["this proof needs: unbiased noise", *["broken"] * 4], done.stderr


def test_an_installed_paper_is_found_by_its_entry_point(papers: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(papers / "mine", site / "mine_as_installed")
    for file in (site / "mine_as_installed").glob("*.py"):
        file.write_text(file.read_text().replace("from mine.", "from mine_as_installed."))
    info = site / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fedtheory.papers]\nmine = mine_as_installed\n")
    done = subprocess.run(
        [sys.executable, "-m", "fedtheory.cli", "verify", "mine.thm"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HOUSE), str(site)])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "mine.thm: proved" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mine", "expected a new folder"),
        ("sfl", "this one is taken"),
        *((name, "this one is taken") for name in ("json", "class", "numpy")),
        ("A b", "short name of small letters"),
    ],
)
def test_names_that_cannot_be(name: str, says: str, papers: Path) -> None:
    before = sorted(papers.iterdir())
    done = forked.fedtheory("new-paper", name, cwd=papers)
    assert done.returncode == 2 and says in done.stderr and sorted(papers.iterdir()) == before


@pytest.mark.parametrize("part", ["statements", "checks", "algorithms", "arenas", "figures"])
def test_a_paper_that_fails_is_named_with_its_line(part: str, papers: Path, tmp_path: Path) -> None:
    shutil.copytree(papers / "mine", tmp_path / "mine")
    file = tmp_path / "mine" / f"{part}.py"
    file.write_text(file.read_text() + "\n1 / 0\n")
    line = len(file.read_text().splitlines())
    command = ("figures", "--list") if part == "figures" else ("verify", "mine.thm")
    done = fedtheory(tmp_path, *command)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert f"{part}.py, line {line}: ZeroDivisionError: division by zero" in done.stderr


BEGUN = """from theory.statement import Paper, Words
paper = Paper("mine", "title", "citation")
paper.say("lemma", "descent", "", Words("."))
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise RuntimeError('no')", "statements.py, line 1: RuntimeError: no; expected code that runs"),
        ("raise SystemExit(7)", "statements.py, line 1: SystemExit: 7; expected code that runs"),
        ("paper = 'mine'", "mine.statements: its `paper` is of type str: expected a Paper named 'mine'"),
        (
            f"{BEGUN}paper.say('theorem', 'thm', '', Words('.'), rests_on=['decent'])",
            "mine.thm rests on unknown statement 'mine.decent'; did you mean mine.descent or mine.thm?",
        ),
        (
            f"{BEGUN}paper.say('theorem', 'thm', '', Words('.'), assumes=['descent'])",
            "statements.py, line 4: ValueError: mine.thm assumes 'descent': expected a statement, as `paper.say` and "
            "`catalogue.find` return it",
        ),
        (
            f"{BEGUN}paper.symbol('L', 'L', 'smoothness', concept='smoothnes')",
            "statements.py, line 4: ValueError: L of mine: unknown concept 'smoothnes'; did you mean smoothness?",
        ),
    ],
)
def test_a_file_alone_that_fails_is_one_line(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "statements.py").write_text(text)
    done = fedtheory(tmp_path, "list", "--paper", "mine")
    assert (done.returncode, done.stderr) == (2, f"fedtheory: {says}\n")


def test_a_folder_that_is_none() -> None:
    done = forked.fedtheory("--path", "/no/such/folder", "list", cwd=HOUSE)
    assert done.returncode == 2 and "no folder '/no/such/folder'" in done.stderr
    done = forked.fedtheory("--path", "a:b", "list", cwd=HOUSE)
    assert done.returncode == 2 and "expected a folder without ':' in its path" in done.stderr
