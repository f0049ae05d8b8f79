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
VALUES = ("L=1", "mu=0.1", "sigma=0.5", "Delta=1", "R=100", "eta_tilde=0.25", "M=4", "K=2")


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a new paper, `mine`."""
    folder = tmp_path_factory.mktemp("papers")
    (file,) = write_paper("mine", folder)
    assert file.name == "statements.py" and len(file.read_text().splitlines()) <= 40
    return folder


def python(papers: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=papers,
        env=os.environ | {"PYTHONPATH": str(HOUSE / "src"), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
    )


def fedtheory(papers: Path, *arguments: str) -> Done:
    return forked.fedtheory("--path", str(papers), *arguments, cwd=papers)


def test_its_lemmas_and_its_theorem_are_proved(papers: Path) -> None:
    done = fedtheory(papers, "verify", "--paper", "mine")
    assert done.returncode == 0, done.stderr
    verdicts = dict(line.split()[:2] for line in done.stdout.splitlines() if line.startswith("mine."))
    assert {name: verdicts[f"mine.{name}:"] for name in ("lemma1", "lemma2", "thm")} == dict.fromkeys(
        ("lemma1", "lemma2", "thm"), "proved"
    )
    assert "FedAnchor, arena 1" in done.stdout and "up to 3 clients and 3 local steps" in done.stdout


# Part -> what is written instead of what, the statement whose headline says so, and how
PLANTED = {
    "algorithm": ("draw.step(k)) + shift)", "draw.step(k)) - shift)", "lemma1", "refuted"),
    "lemma 1": ("6 * h**2 * grad_sq", "h**2 * grad_sq / 20", "lemma1", "refuted"),
    "lemma 2": ("h * L**2 / 2 * drift", "h * L**2 / 4 * drift", "lemma2", "proof broken at 'the claim: coeff"),
    "theorem": ("(1 - mu * h / 2) ** R", "(1 - 2 * mu * h) ** R", "thm", "refuted"),
    "arena": ("M=4, L=1.0", "M=4, L=0.05", "thm", "mu <= L"),
    "settings": ("K=3)", "tau=3)", "thm", "statements.py, line 32: ValueError: arena with {'tau': 3}: FedAnchor"),
}  # fmt: skip


@pytest.mark.parametrize("part", PLANTED)
def test_an_error_in_each_part_is_found_and_the_headline_says_so(part: str, papers: Path, tmp_path: Path) -> None:
    old, new, name, says = PLANTED[part]
    (tmp_path / "mine").mkdir()
    text = (papers / "mine" / "statements.py").read_text()
    assert text.count(old) == 1
    (tmp_path / "mine" / "statements.py").write_text(text.replace(old, new))
    done = fedtheory(tmp_path, "verify", f"mine.{name}")
    assert says in (done.stdout + done.stderr).splitlines()[0], done


def test_it_is_found_by_every_command(papers: Path) -> None:
    done = fedtheory(papers, "bound", "mine.thm", *VALUES, "--json")
    expected = 0.9875**100 + 2 * 0.25 * 0.25 / (0.1 * 8) + 6 * 0.25**2 * 0.25 / (0.1 * 2)
    assert json.loads(done.stdout)["value"] == pytest.approx(expected)
    drawn = fedtheory(papers, "figures", "mine_thm", "--out", str(papers / "drawn"))
    assert drawn.returncode == 0 and (papers / "drawn" / "mine_thm.png").exists(), drawn.stderr
    ran = fedtheory(papers, "simulate", "quadratic", "FedAnchor of mine", "K=2", "eta=0.1", "rounds=5")
    assert ran.returncode == 0 and "F gap" in ran.stdout, ran.stderr
    for command in (["show", "mine.thm"], ["list", "--paper", "mine"], ["figures", "--list"], ["glossary", "R"]):
        done = fedtheory(papers, *command)
        assert done.returncode == 0 and "mine" in done.stdout, done.stderr
    assert "unknown statement" in forked.fedtheory("show", "mine.thm", cwd=papers).stderr


def test_it_is_well_written(papers: Path) -> None:
    config = ("--config", str(HOUSE / "pyproject.toml"), "--no-cache", "mine")
    for command in (["format", "--check"], ["check", "--select", "E,F,B", "--ignore", "F403,F405"]):
        done = python(papers, "-m", "ruff", *command, *config)
        assert done.returncode == 0, done.stdout


def test_a_paper_of_a_statement_alone_works(tmp_path: Path) -> None:
    """No checks, no algorithm, no arenas, no figures; written without `fedtheory.paper`."""
    (tmp_path / "few").mkdir()
    (tmp_path / "few" / "statements.py").write_text(FEW)
    done = fedtheory(tmp_path, "verify", "--paper", "few")
    assert done.returncode == 0 and "few.thm: open" in done.stdout, done.stderr
    for command in (
        ["show", "few.thm"],
        ["list", "--paper", "few"],
        ["figures", "--list"],
        ["glossary"],
        ["bound", "few.thm", "L=1", "D=1", "R=10"],
    ):
        done = fedtheory(tmp_path, *command)
        assert done.returncode == 0, done.stderr


FEW = """from fedtheory.theory.statement import F, Paper, X, at_most
paper = Paper("few", "title", "citation")
L = paper.symbol("L", "L", "smoothness", F / X**2, concept="smoothness", positive=True)
R = paper.symbol("R", "R", "rounds", concept="rounds", integer=True, positive=True)
D = paper.symbol("D", "D", "distance", X, concept="initial distance", nonnegative=True)
gap = paper.symbol("gap", "g", "gap", F, concept="gap of the last iterate", nonnegative=True)
paper.say("theorem", "thm", "page 1", at_most(gap, optimisation=L * D**2 / R))
"""


# Files of evidence, of arenas and of algorithms, as the papers of the repository have them
IN_FILES = {
    "checks": "derivation', lambda s, full: Verdict(Status.PROVED, 'by hand')",
    "arenas": "moments', lambda s, full: Verdict(Status.REFUTED, 'by a run', None, {'left': 2})",
}
VERDICT = "from fedtheory.theory.statement import Evidence, Status, Verdict\ndef evidence():\n"
OWN_NAME = "from fedtheory.simulations.algorithms.sfl import PFL\nALGORITHMS = {'Few': PFL}\n"


def test_a_paper_may_have_evidence_arenas_and_algorithms_in_files_of_their_own(tmp_path: Path) -> None:
    """What one of its files proves and another one refutes is an error."""
    (tmp_path / "few").mkdir()
    (tmp_path / "few" / "statements.py").write_text(FEW)
    (tmp_path / "few" / "algorithms.py").write_text(OWN_NAME)
    for name, says in IN_FILES.items():
        (tmp_path / "few" / f"{name}.py").write_text(f"{VERDICT}    return [Evidence('few.thm', '{says})]\n")
    done = fedtheory(tmp_path, "verify", "few.thm")
    assert "few.thm: error: derivation proves it, moments refutes it" in done.stdout, done
    done = fedtheory(tmp_path, "simulate", "quadratic", "Few", "K=2", "eta=0.1", "rounds=2", "seeds=1")
    assert done.returncode == 0 and "F gap" in done.stdout, done.stderr


def test_an_installed_paper_is_found_by_its_entry_point(papers: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(papers / "mine", site / "mine_as_installed")
    info = site / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fedtheory.papers]\nmine = mine_as_installed\n")
    done = subprocess.run(
        [sys.executable, "-m", "fedtheory.cli", "show", "mine.thm"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HOUSE / "src"), str(site)])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "mine.thm" in done.stdout, done.stderr


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


def test_a_paper_that_fails_is_named_with_its_line(papers: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "statements.py"
    file.write_text((papers / "mine" / "statements.py").read_text() + "\n1 / 0\n")
    line = len(file.read_text().splitlines())
    done = fedtheory(tmp_path, "verify", "mine.thm")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert f"statements.py, line {line}: ZeroDivisionError: division by zero" in done.stderr


BEGUN = """from fedtheory.theory.statement import Paper, Words
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
