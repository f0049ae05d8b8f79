"""The work on a Dask scheduler with two workers: the numbers of one machine, also when a worker is killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster
from test_training import SETUP, numbers

from fedtheory import tasks, training
from fedtheory.drawing import draw_all
from fedtheory.figures import gallery
from fedtheory.simulate import Asked, simulate
from fedtheory.tasks import Task, Workshop
from fedtheory.verification import verify

NAMES = ("history.csv", "seed-0.npz", "seed-3.npz", "setup.toml", "environment.json")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Two workers in processes of their own, which import everything."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def near() -> Iterator[str]:
    """Two workers in this process."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


def noted(folder: str, number: int, *found: int) -> int:
    """Leave a mark for each time that it is done; number 7 kills its process the first time."""
    marks = Path(folder, str(number))
    marks.mkdir(exist_ok=True)
    first = not any(marks.iterdir())
    (marks / str(time.time_ns())).touch()
    if number == 7 and first:
        os._exit(1)
    time.sleep(0.02)
    return number + 100 * sum(found)


def test_needed_tasks_are_done_first_and_no_result_comes_twice(near: str, tmp_path: Path) -> None:
    in_order(near, tmp_path, killed=False)


@pytest.mark.slow  # the workers are processes, and one of them begins twice
def test_a_killed_worker_loses_nothing(address: str, tmp_path: Path) -> None:
    in_order(address, tmp_path, killed=True)
    assert len(list((tmp_path / "7").iterdir())) >= 2, "it was done again"


def in_order(address: str, folder: Path, killed: bool) -> None:
    first = [Task("first", "", "kind", noted, (str(folder), n)) for n in (1, 2)]
    numbers_ = [n for n in range(3, 30) if killed or n != 7]
    then = [Task("then", "", "kind", noted, (str(folder), n), (first[n % 2],)) for n in numbers_]
    where, told = Workshop(scheduler=address), []
    done = list(where.each(then, lambda *now: told.append(now)))
    assert sorted(map(id, done)) == sorted(map(id, [*first, *then]))
    assert [where.results[task] for task in then] == [n + 100 * (2 if n % 2 else 1) for n in numbers_]
    assert [now for now in told if now[0] == "then"] == [("then", i, len(then)) for i in range(1, len(then) + 1)]


def test_workers_do_not_keep_what_nobody_needs(near: str, tmp_path: Path) -> None:
    made = [Task("first", "", "kind", noted, (str(tmp_path), n)) for n in range(100, 130)]
    with Client(near) as client:
        for done, _ in enumerate(Workshop(scheduler=near).each(made), 1):
            if done == len(made):
                deadline = time.monotonic() + 20
                while (kept := client.run_on_scheduler(known_tasks)) > 1:
                    assert time.monotonic() < deadline, kept
                    time.sleep(0.05)


def known_tasks(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


def test_workers_that_could_give_other_numbers_are_refused(near: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = iter(("one", "another", "a third"))
    monkeypatch.setattr(tasks, "code", lambda: next(known))  # the workers run in this process
    with pytest.raises(ValueError, match="has other code of fedtheory"):
        Workshop(scheduler=near).do([Task("first", "", "kind", noted, ("", 1))])
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        pytest.raises(ValueError, match="has 2 threads: expected --nthreads 1"),
    ):
        Workshop(scheduler=cluster.scheduler_address).do([Task("first", "", "kind", noted, ("", 1))])


def test_no_scheduler_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_PATIENCE", 0.2)
    with pytest.raises(OSError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 .*: expected its address"):
        Workshop(scheduler="tcp://127.0.0.1:9").do([Task("first", "", "kind", noted, ("", 1))])


@pytest.mark.slow
def test_verdicts_figures_and_simulations_are_those_of_one_machine(address: str, tmp_path: Path) -> None:
    ids = ["sfl.eq16", "sfl.eq42"]
    assert repr(verify(ids, workshop=Workshop(scheduler=address))) == repr(verify(ids))
    chosen = [gallery.find(name) for name in ("sfl_eq42_bound_against_run", "fedbat_bias_of_signs")]
    draw_all(chosen, tmp_path / "here")
    draw_all(chosen, tmp_path / "there", workshop=Workshop(scheduler=address))
    here, there = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("here", "there"))
    assert len(here) == 4 and here == there
    given = {"eta": "0.1,0.2,0.3,0.4,0.5", "rounds": "20", "seeds": "40", "sigma": "1", "K": "3"}
    asked = Asked("quadratic", ("SFL",), given)
    (one,), (other,) = ([f.runs for f in simulate(asked, None, w)] for w in (Workshop(), Workshop(scheduler=address)))
    assert one.identical(other)
    assert one.sizes == {"step_size": 5, "seed": 40, "round": 21} and not one.isnull().any().to_array().any()


@pytest.mark.slow
def test_a_training_comes_back_whole(address: str, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    training.train(SETUP, here)
    where = Workshop(scheduler=address)
    training.train_there({there: SETUP}, where)
    assert sorted(p.name for p in there.iterdir()) == sorted(NAMES)
    assert numbers(training.history(there)).equals(numbers(training.history(here)))
    assert (there / "setup.toml").read_text() == (here / "setup.toml").read_text()
    for seed in SETUP.seeds:
        one, two = (np.load(folder / f"seed-{seed}.npz") for folder in (here, there))
        timed = {"mark.seconds", "checksum", "history"}  # the seconds that a training took, and digests of them
        assert one.files == two.files and all(np.array_equal(one[name], two[name]) for name in {*one.files} - timed)
    before = {name: (there / name).stat().st_mtime_ns for name in NAMES}
    training.train_there({there: SETUP}, where)
    assert before == {name: (there / name).stat().st_mtime_ns for name in NAMES}, "nothing is trained twice"
    # One seed is missing: only it is trained
    rows = training.history(there)
    rows[rows["seed"] == 3].to_csv(there / "history.csv", index=False, lineterminator="\n")
    (there / "seed-0.npz").unlink()
    with pytest.raises(ValueError, match="expected --resume"):
        training.train_there({there: SETUP}, where)
    training.train_there({there: SETUP}, where, resume=True)
    assert numbers(training.history(there)).equals(numbers(training.history(here)))
    assert (there / "seed-3.npz").stat().st_mtime_ns == before["seed-3.npz"]
