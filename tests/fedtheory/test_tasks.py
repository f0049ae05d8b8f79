"""Tasks in worker processes and their store: the same results, each task once, and no result that is out of date."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from fedtheory import store, tasks
from fedtheory.store import Store
from fedtheory.tasks import Task, Workshop
from fedtheory.theory.statement import Status, Verdict

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two worker processes, on any machine."""
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")


def told(paper: str, number: int, *found: str) -> str:
    return f"{paper} {number}{''.join(f' ({f})' for f in found)}"


def fails(number: int) -> None:
    raise ValueError(f"no {number}")


def ends(folder: str) -> int:
    """The process dies, the first time."""
    first = Path(folder, "died")
    if not first.exists():
        first.touch()
        os._exit(1)
    return 7


def numbered(n: int, papers: tuple[str, ...] = ("one", "two")) -> list[Task]:
    first = [Task("first", paper, "kind", told, (paper, 0)) for paper in papers]
    return [Task("then", p.paper, "kind", told, (p.paper, i), (p,)) for i in range(1, n + 1) for p in first]


def expected(made: list[Task]) -> list[str]:
    return [f"{t.paper} {t.arguments[1]} ({t.paper} 0)" for t in made]


@pytest.mark.dear
@pytest.mark.parametrize("n", [2, 20])
def test_results_come_in_order_and_needed_tasks_are_done_first_and_once(n: int) -> None:
    made, done = numbered(n), []
    where = Workshop()
    assert where.do(made, lambda *now: done.append(now)) == expected(made)
    assert sorted(done) == [("first", 1, 2), ("first", 2, 2), *(("then", i, 2 * n) for i in range(1, 2 * n + 1))]
    assert len(where.spent) == 2 * n + 2 and all(s.seconds is not None for s in where.spent)
    assert where.do(made) == expected(made) and len(where.spent) == 2 * n + 2, "no task is done twice"


@pytest.mark.dear
@pytest.mark.parametrize("n", [1, 20])
def test_what_a_task_raises_is_raised(n: int) -> None:
    with pytest.raises(ValueError, match="no 3"):
        Workshop().do([*numbered(n), Task("then", "one", "kind", fails, (3,))])


@pytest.mark.slow
def test_a_task_whose_process_dies_is_done_again(tmp_path: Path) -> None:
    dying = Task("then", "one", "kind", ends, (str(tmp_path),))
    made = numbered(10)  # others come before it and after it, to the same process
    first, seven, *others = Workshop().do([made[0], dying, *made[1:]])
    assert [first, *others] == expected(made) and seven == 7


# The store

PROBE = """
import json, sys
from fedtheory.store import Store
from fedtheory.tasks import Workshop
from fedtheory.verification import verify
where = Workshop(Store(fresh="fresh" in sys.argv))
ids = ["three_point", "eq16", "eq17", "eq18", "eq19", "lemma3.mean", "lemma3.swr"]
ids = [f"sfl.{i}" for i in ids]
ids += [f"fedcom.{i}" for i in ("asm2.independent", "asm2", "thmE4.items", "thmE4.items.corrected")]
checked = verify(ids, workshop=where)
computed = {s.task.paper for s in where.spent if s.seconds is not None}
stored = {s.task.paper for s in where.spent if s.seconds is None}
verdicts = {c.statement.id: [(e.kind, v.status, v.says) for e, v in c.verdicts] for c in checked}
print(json.dumps([verdicts, sorted(computed), sorted(stored)]))
"""
BOTH = ["fedcom", "sfl"]


class Copy:
    """A copy of our packages with a store of its own, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in (*store.FLOORS, "src"):
            shutil.copytree(
                ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("drawn", "trained")
            )

    def run(self, *arguments: str) -> tuple[dict[str, list[list[str]]], list[str], list[str]]:
        """The verdicts, the papers of which something was computed, and those of which something was in the store."""
        variables = {"PYTHONPATH": str(self.folder / "src"), "FEDTHEORY_STORE": str(self.folder / "store")}
        variables["PYTHONDONTWRITEBYTECODE"] = ""  # a copy is compiled once
        command = [sys.executable, "-c", PROBE, *arguments]
        done = subprocess.run(
            command, env=os.environ | variables, cwd=self.folder, capture_output=True, text=True, check=True
        )
        return tuple(json.loads(done.stdout))  # type: ignore[return-value]

    def change(self, file: str, old: str, new: str) -> str:
        """Replace a text that occurs once; returns the file's content before."""
        path = self.folder / file
        before = path.read_text()
        assert before.count(old) == 1
        path.write_text(before.replace(old, new))
        return before


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    made = Copy(tmp_path_factory.mktemp("copy"))
    time.sleep(2.2)  # what was written just before a process began may have been written after it began
    return made


@pytest.mark.slow
def test_a_second_run_takes_all_from_the_store(copy: Copy) -> None:
    verdicts, computed, _ = copy.run()
    assert computed == BOTH
    assert copy.run() == (verdicts, [], BOTH)


CHANGES = [  # a file, a change of it, the papers that are computed again, a statement and its verdict then
    ("theory/sfl/setting.py", "L / 2 * Norm(x - y) ** 2", "L / 3 * Norm(x - y) ** 2", ["sfl"], ("sfl.eq16", "broken")),
    (
        "theory/sfl/lemmas.py",
        "_sampling = [implied(n >= 2,",
        "_sampling = [implied(n >= 3,",
        ["sfl"],
        ("sfl.lemma3.mean", "proved"),
    ),
    ("theory/proofs/vectors.py", "from __future__", "# another line\nfrom __future__", BOTH, ("sfl.eq16", "proved")),
    ("theory/fedbat/lemmas.py", "from __future__", "# another line\nfrom __future__", [], ("sfl.eq16", "proved")),
]


@pytest.mark.slow  # each run imports everything in three processes
@pytest.mark.parametrize(
    ("file", "old", "new", "papers", "verdict"), CHANGES, ids=["constant", "condition", "code", "other"]
)
def test_a_change_computes_again_what_depends_on_it(copy: Copy, file, old, new, papers, verdict) -> None:
    copy.run()
    before = copy.change(file, old, new)
    time.sleep(2.2)
    verdicts, computed, stored = copy.run()
    (copy.folder / file).write_text(before)
    assert computed == papers and stored == [p for p in BOTH if p not in papers]
    statement, status = verdict
    assert status in [s for _, s, _ in verdicts[statement]]


@pytest.mark.slow
def test_the_results_of_the_code_as_it_was_before_are_still_there(copy: Copy) -> None:
    verdicts, *_ = copy.run()
    file, old, new, *_ = CHANGES[0]
    before = copy.change(file, old, new)
    time.sleep(2.2)
    copy.run()
    (copy.folder / file).write_text(before)
    assert copy.run() == (verdicts, [], BOTH)


@pytest.mark.slow
def test_another_version_of_a_library_computes_all_again(copy: Copy) -> None:
    verdicts, *_ = copy.run()
    library = copy.folder / "other-1.0.dist-info"
    library.mkdir()
    for name, version, again in (("other", "1.0", False), ("diskcache", "1.0", True), ("diskcache", "1.1", True)):
        (library / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        library = library.rename(copy.folder / f"{name}-{version}.dist-info")
        assert copy.run() == (verdicts, BOTH if again else [], [] if again else BOTH)
    shutil.rmtree(library)
    assert copy.run("fresh") == (verdicts, BOTH, [])
    assert copy.run() == (verdicts, [], BOTH)


def test_the_files_of_the_modules_in_use_are_among_those_read() -> None:
    script = "import time; from fedtheory import store; from fedtheory.theory import catalogue; "
    script += "catalogue.find('sfl.eq16'); print(*(name for name, _ in store.files_read(time.time_ns())))"
    found = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "theory/sfl/setting.py" in found and "theory/statement.py" in found and "theory/fedbat/" not in found


def test_a_file_that_may_have_changed_since_it_was_read_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = tmp_path / "data.txt"
    read.write_text("1")
    absent = tmp_path / "absent.txt"
    later = time.time_ns() + 10**10

    def files(since: int = later) -> store.Files | None:
        """After both files were opened."""
        monkeypatch.setattr(store, "_opened", {str(read), str(absent)})
        return store.files_read(since)

    assert files(time.time_ns()) is None
    found = files()
    assert found is not None and {(str(read), store.digest(str(read))), (str(absent), "")} <= found
    assert store.files_read(later) == frozenset(), "nothing was read since"
    read.write_text("2")
    changed = files()
    assert changed is not None and tasks._united([found, changed]) is None
    read.write_text("1")
    kept = Store(tmp_path / "store")
    kept.keep("a task", 5, found)
    assert Store(tmp_path / "store").find("a task") == (5, found)
    assert Store(tmp_path / "store", fresh=True).find("a task") is None
    absent.write_text("now it is there")
    assert Store(tmp_path / "store").find("a task") is None


def test_what_follows_from_verdicts_is_made_once_for_each_state_of_our_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And each time where a check failed, or beside papers outside."""
    ours: list[str | None] = ["one"]
    numbers = count(1)
    monkeypatch.setattr(tasks, "everything", lambda since: ours[0])

    def pages(found: Status = Status.PROVED, name: str = "pages") -> int:
        where = Workshop(Store(tmp_path / "store"))
        where.results[Task("stage", "paper", "kind", len, ("x",))] = Verdict(found, "")
        return where.once(name, lambda: next(numbers))

    assert [pages(), pages(), pages(name="others"), pages()] == [1, 1, 2, 1]
    assert [pages(Status.ERROR), pages(Status.ERROR)] == [3, 4]
    ours[0] = "two"
    assert [pages(), pages()] == [5, 5]
    ours[0] = None
    assert [pages(), pages()] == [6, 7]
    ours[0] = "two"
    monkeypatch.setattr(tasks.plugins, "packages", lambda: {"mine": "mine"})
    assert [pages(), pages()] == [8, 9]


def test_pages_depend_on_each_of_our_files_but_bytecode_and_drawings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_FOLDERS", (tmp_path,))
    monkeypatch.setattr(store, "ROOT", tmp_path)
    monkeypatch.setattr(store, "_DRAWN", f"{tmp_path}/drawn/")
    (tmp_path / "drawn").mkdir()
    later = time.time_ns() + 10**10
    states = []
    for file in ("page.html", "record.json", "bytecode.pyc", "drawn/one.png"):
        (tmp_path / file).write_text("1")
        states.append(store.everything(later))
    assert states[0] != states[1] == states[2] == states[3] is not None
    (tmp_path / "page.html").write_text("2")
    assert store.everything(later) != states[3]
    assert store.everything(time.time_ns()) is None, "it may have changed after it was read"


def test_a_cache_of_compiled_loops_is_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = [tmp_path / "loops.words.nbi", tmp_path / "loops.words.1.nbc"]
    for file in cached:
        file.write_text("compiled just now")
    store.files_read(0)
    monkeypatch.setattr(store, "_opened", set(map(str, cached)))
    assert store.files_read(time.time_ns()) == frozenset()


def content(file: str) -> str:
    return Path(file).read_text()


def test_a_result_depends_on_the_files_of_the_tasks_that_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "data.txt"

    def results() -> tuple[list[str], list[bool]]:
        """The results, and for each task whether it was computed; the tasks run in another process than `content`."""
        time.sleep(2.2)
        read = Task("first", "one", "kind", content, (str(file),))
        made = [Task("then", "two", "kind", told, ("two", i), (read,)) for i in range(9)]
        where = Workshop(Store(tmp_path / "store"))
        return where.do(made), [spent.seconds is not None for spent in where.spent]

    file.write_text("before")
    first, computed = results()
    assert first[0] == "two 0 (before)" and computed == [True] * 10
    assert results() == (first, [False] * 9)
    file.write_text("after")
    second, computed = results()
    assert second[0] == "two 0 (after)" and computed == [True] * 10


def outcome(paper: str, number: int) -> Verdict:
    return Verdict(Status.ERROR if number == 3 else Status.TESTED, f"{number}")


def test_a_check_that_failed_is_not_kept(tmp_path: Path) -> None:
    def computed() -> list[int]:
        where = Workshop(Store(tmp_path / "store"))
        where.do([Task("first", "one", "kind", outcome, ("one", i)) for i in range(9)])
        return sorted(spent.task.arguments[1] for spent in where.spent if spent.seconds is not None)

    assert computed() == [*range(9)]
    assert computed() == [3]


SLOW = """
import os, time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from fedtheory.simulations.algorithms.sfl import PFL

Path("pids").mkdir(exist_ok=True)
Path("pids", str(os.getpid())).touch()

@dataclass(frozen=True)
class Slow(PFL):
    def round(self, problem, x, eta, draws, watch, memory):
        time.sleep(600)
"""


def runs(pid: str) -> bool:
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(true: Callable[[], bool]) -> None:
    for _ in range(600):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError("not after a minute")


@pytest.mark.dear
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_the_command_that_began_them(number: int, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SLOW)
    words = ["simulate", "quadratic", "Slow", "--from", "mine.py", "K=1", "eta=0.1", "rounds=2", "seeds=200"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = subprocess.Popen([sys.executable, "-m", "fedtheory", *words], cwd=tmp_path, env=environment)
    pids = tmp_path / "pids"
    until(lambda: pids.is_dir() and len(list(pids.iterdir())) >= 2)
    command.send_signal(number)
    assert command.wait(60) == (128 + number if number == signal.SIGTERM else -number)
    until(lambda: not any(runs(path.name) for path in pids.iterdir()))


def test_a_damaged_store_and_a_full_disk_lose_no_result(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every value in the database is changed in one byte; then no file may grow any more, as on a full disk."""

    def results() -> tuple[list[int], int, str]:
        where = Workshop(Store(tmp_path))
        found = where.do([Task("first", "one", "kind", int, (str(i),)) for i in range(9)])
        return found, sum(spent.seconds is not None for spent in where.spent), capfd.readouterr().err

    right = [*range(9)]
    assert results() == (right, 9, "") and results() == (right, 0, "")
    with closing(sqlite3.connect(tmp_path / "cache.db")) as database, database:
        database.execute("update Cache set value = cast(substr(value, 1, length(value) - 3) || 'xyz' as blob)")
    found, computed, said = results()
    assert (found, computed) == (right, 9) and "is damaged: what is lost is computed again" in said
    assert said.count("\n") == 1 and results() == (right, 0, "")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept = Store(tmp_path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        for name in ("one", "two"):
            kept.keep(name, "long" * 10_000, frozenset())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    said = capfd.readouterr().err
    assert "no more results are kept in" in said and said.count("\n") == 1


def test_a_folder_that_cannot_be_used_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        Store(tmp_path / "file")
