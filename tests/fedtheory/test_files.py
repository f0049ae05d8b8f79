"""Files that commands write: whole or not at all, never over what is read, and refused before the work begins."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from fedtheory.figures.files import whole, writable, write

ROWS = "a,b,label\n1,2,0\n2,1,1\n3,2,0\n1,5,1\n"
DATA = ("mine.csv", "PFL", "target=label", "M=2", "partition=iid", "K=1", "eta=0.1", "rounds=3", "seeds=1")
QUADRATIC = ("quadratic", "PFL", "K=1", "eta=0.1", "rounds=3", "seeds=1")
BOUNDS = ("sfl.thm1.strongly_convex", "sfl.thm2.strongly_convex", "L=1", "mu=0.1", "sigma=1", "zeta_star=1", "D=1")


@pytest.fixture
def call(monkeypatch: Any, command: Any, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """The command in a folder with mine.csv, and mine.md of the user's own."""
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(ROWS)
    Path("mine.md").write_text("mine")
    return command


def test_a_figure_s_numbers_leave_other_files_alone(call: Any) -> None:
    """mine.csv beside mine.png is the user's own, the file of --out, or the data itself."""
    assert call("simulate", *DATA, "--plot", "mine.png", "--out", "out.csv")[0] == 0
    bounds = (*BOUNDS, "M=10", "K=5", "--tuned", "--over", "R=10..100")
    assert call("compare", *bounds, "--plot", "mine.svg")[0] == 0
    assert Path("mine.csv").read_text() == ROWS and "diverged_at" in Path("out.csv").read_text()
    assert Path("mine.png.csv").read_text().startswith("algorithm,along") and Path("mine.svg.csv").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("simulate", *DATA, "--out", "mine.csv"), "mine.csv is the problem and --out: expected two files"),
        (("simulate", *DATA, "--out", "link.csv"), "link.csv is the problem and --out: expected two files"),
        (("simulate", *QUADRATIC, "--out", "a.png", "--plot", "a.png"), "a.png is --out and --plot"),
        (("simulate", *QUADRATIC, "--out", "a.png.csv", "--plot", "a.png"), "--out and the numbers of --plot"),
        (("simulate", *QUADRATIC, "--out", "mine.csv/x"), "mine.csv/x: Not a directory; expected a file that can be"),
        (("paper-check", "--out", "mine.md"), "mine.md: is a file of your own; expected a file that can be written"),
        (("paper-check", "--out", "mine.txt"), "mine.txt: expected a name that ends in .md"),
        (
            ("figures", "sfl_thm1_strongly_convex_bound_against_run", "--out", "mine.md"),
            "expected a file that can be written",
        ),
        (("report", "--site", "mine.md"), "mine.md/index.html: "),
        (("export", "coq", "mine.md"), "expected a file that can be written"),
        (("simulate", "quadratic", "PFL", "--from", "pipe.toml"), "pipe.toml: it is no file; expected a Python file"),
        (("train", "pipe.toml"), "pipe.toml: it is no file; expected a TOML file"),
        (("train", "mine.toml", "--runs", "mine.md"), "mine.md/mine/setup.toml: Not a directory; expected a file"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(call: Any, monkeypatch: Any, words: Any, says: str) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("the work has begun")

    for name in ("fedtheory.tasks.Workshop.each", "fedtheory.simulate.run"):
        monkeypatch.setattr(name, work)
    os.symlink("mine.csv", "link.csv")
    os.mkfifo("pipe.toml")
    Path("mine.toml").write_text(TOML)
    status, out, err = call(*words)
    assert (status, out) == (2, "") and says in err and err.count("\n") == 1
    assert (Path("mine.csv").read_text(), Path("mine.md").read_text()) == (ROWS, "mine")


TOML = """
rounds = 3
seeds = [0]
data = {name = "generated", shape = [1, 4, 4], classes = 2, train = 12, test = 4, clients = 3}
network = {model = "logistic", batching = "loop"}
algorithm = {name = "PFL", K = 1, eta = 0.1}
"""


def test_links_pipes_and_our_own_output_stay_what_they_are(tmp_path: Path) -> None:
    pipe, link, file = (tmp_path / name for name in ("pipe", "link", "file"))
    os.mkfifo(pipe)
    file.write_text("before")
    file.chmod(0o640)
    link.symlink_to(file)
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    for path in (pipe, link):
        writable(path)
        write(path, b"after")
    reader.join(60)
    assert read == [b"after"] and pipe.is_fifo()
    assert link.is_symlink() and file.read_text() == "after" and file.stat().st_mode & 0o777 == 0o640
    with pytest.raises(OSError, match="pipe: is no file; expected a file"), whole(pipe):
        pass
    run = "from fedtheory.figures.files import write; from pathlib import Path; "
    run += "print('table'); write(Path({!r}), b'numbers\\n')"
    for name in ("/dev/stdout", str(file)):
        with file.open("w") as out:
            subprocess.run([sys.executable, "-c", run.format(name)], check=True, stdout=out)
        assert file.read_text() == "table\nnumbers\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "pipe"]


def test_a_file_is_whole_or_as_before(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("before")
    (tmp_path / "file.partial").write_text("mine")
    with pytest.raises(IndexError), whole(file) as partial:
        partial.write_text(["half"][partial.write_text("half")])
    assert file.read_text() == "before" and (tmp_path / "file.partial").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2
