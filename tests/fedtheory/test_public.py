"""`import fedtheory`: its names, what hides its packages, what is missing, and the wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fedtheory
from fedtheory.cli import EXTRAS
from fedtheory.theory.names import UnknownName

ROOT = Path(__file__).parents[2]
FOLDERS = ("theory", "simulations", "bounds", "figures", "src")


def python(
    script: str, *arguments: str, cwd: Path | None = None, path: Path = ROOT / "src"
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(path), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_public_names_do_what_the_page_says() -> None:
    problem = fedtheory.problems["quadratic"](d=2, M=4, L=1.0, mu=0.1)
    algorithm = fedtheory.algorithms["SFL"](K=2, eta=0.1)
    data = fedtheory.run(problem, algorithm, rounds=3, seeds=range(2))
    exact = fedtheory.expectation(problem, algorithm, rounds=3)
    assert dict(data.sizes) == {"step_size": 1, "seed": 2, "round": 4} and "gap" in exact
    assert fedtheory.find("sfl.eq54").id in [s.id for s in fedtheory.statements("sfl")]
    assert fedtheory.compressors["RandK"](k=2).q(4).value == 1.0
    (checked,) = fedtheory.verify(["sfl.lemma1"])
    assert checked.statement.id == "sfl.lemma1"
    assert set(fedtheory.__all__) == set(dir(fedtheory)) and all(hasattr(fedtheory, name) for name in fedtheory.__all__)
    with pytest.raises(UnknownName, match="unknown algorithm 'SFl'; did you mean SFL"):
        fedtheory.algorithms["SFl"]
    with pytest.raises(AttributeError, match="expected one of Arena, algorithms"):
        fedtheory.nothing  # noqa: B018


def test_a_function_is_no_module_after_its_module_is_imported() -> None:
    script = "import fedtheory.bounds.evaluation, fedtheory.verification; from fedtheory import bounds; "
    script += "print(*map(callable, (bounds.evaluate, bounds.tune, fedtheory.verify, bounds.compare)))"
    assert python(script).stdout.split() == ["True"] * 4


def test_modules_of_the_same_names_beside_a_user_do_not_matter(tmp_path: Path) -> None:
    for name in ("theory", "simulations", "bounds", "figures", "outside", "course"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not ours')\n")
    done = python("import fedtheory; print(fedtheory.find('sfl.lemma5').id)", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "sfl.lemma5\n"), done.stderr


def test_a_clone_without_links_is_one_line(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "fedtheory", tmp_path / "fedtheory", symlinks=True)
    (tmp_path / "fedtheory" / "theory").unlink()
    (tmp_path / "fedtheory" / "theory").write_text("../theory")  # what git writes where there are no links
    done = python("import fedtheory", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith("ImportError: ")
    assert "a link to ../../theory" in done.stderr and "core.symlinks=true" in done.stderr.splitlines()[-1]


@pytest.mark.dear
@pytest.mark.parametrize(("missing", "command"), [("z3", "verify sfl.lemma5"), ("flint", "verify sfl.lemma5"),
    ("cvxpy", "verify fedbcgd.lemma1"), ("torch", "train sfl.table3 --quick --rounds 1")])  # fmt: skip
def test_a_missing_extra_is_one_line(
    missing: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDTHEORY_STORE", str(tmp_path))  # a result of another test would need no extra
    script = f"import sys; sys.modules[{missing!r}] = None; from fedtheory import cli; "
    script += "sys.argv = ['fedtheory', *sys.argv[1:]]; cli.main()"
    done = python(script, *command.split(), cwd=tmp_path)
    expected = (
        f"fedtheory: this needs {missing}: expected pip install '.[{EXTRAS[missing]}]' in the folder of fedtheory\n"
    )
    assert (done.returncode, done.stderr) == (2, expected)


IN_ONE = """
import sys, fedtheory
from fedtheory import cli
for command in (
    "list --paper sfl",
    "bound sfl.thm1.strongly_convex mu=1 L=1 M=4 K=2 R=1000 sigma=1 zeta_star=1 D=1 eta_tilde=0.01",
    "verify sfl.lemma13",
    "simulate quadratic SFL eta=0.1 K=2 rounds=5",
):
    sys.argv = ["fedtheory", *command.split()]
    try:
        cli.main()
    except SystemExit as end:
        assert not end.code, command
    print("----", flush=True)
print(fedtheory.__file__, fedtheory.theory.__file__)
"""


def test_a_wheel_works_beside_packages_of_the_same_names_and_leaves_nothing(tmp_path: Path) -> None:
    built, empty, source = (tmp_path / name for name in ("built", "empty", "source"))
    empty.mkdir()
    listed = ["git", "ls-files", "*.*", *FOLDERS]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if name.startswith(FOLDERS) or "/" not in name:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    offline = ["--no-deps", "--no-index"]
    subprocess.run([*pip, "wheel", *offline, "--no-build-isolation", "-w", str(built), str(source)], check=True)
    (wheel,) = built.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    (installed,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    others = [installed / f"{name}.py" for name in ("theory", "simulations", "bounds", "figures", "outside", "course")]
    for other in others:
        other.write_text("raise RuntimeError('not ours')\n")
    there = [*pip, "--python", str(tmp_path / "venv")]
    subprocess.run([*there, "install", *offline, str(wheel)], check=True)
    done = python(IN_ONE, cwd=empty, path=installed)
    assert done.returncode == 0, done.stderr
    *answers, where = done.stdout.split("----\n")
    told = ("sfl.thm1", "noise", "sfl.lemma13", "F gap")
    assert all(says in answer for says, answer in zip(told, answers, strict=True)), answers
    assert all(Path(file).is_relative_to(installed) for file in where.split())
    for name in ("py.typed", "CITATION.cff", "site/assets/math.woff2", "site/assets/math.LICENSE.txt"):
        assert (installed / "fedtheory" / name).is_file(), name
    subprocess.run([*there, "uninstall", "--yes", "fedtheory"], check=True)
    assert sorted(path for path in installed.iterdir() if path.name != "__pycache__") == sorted(others)
