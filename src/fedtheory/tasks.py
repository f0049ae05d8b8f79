"""Tasks: calls that do not wait for each other.  They run in worker processes, or their results come from the store.

A worker imports the modules of one paper, so that a change of one paper leaves the results of the others valid.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from loky import ProcessPoolExecutor, cpu_count
from loky.process_executor import TerminatedWorkerError

from fedtheory import plugins
from fedtheory.store import Files, Store, code, everything, files_read, watch

# loky replaces a worker process that has grown; nothing is lost by it
warnings.filterwarnings("ignore", message="A worker (was restarted|stopped) while some jobs", category=UserWarning)

Made = TypeVar("Made")
Progress = Callable[[str, int, int], None]  # receives the stage, the count done and the total

_SWITCHES = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "SYMPY_CACHE_SIZE": "None",  # sympy computes no expression twice: proofs take a seventh less
    "LOKY_MAX_MEMORY_LEAK_SIZE": "2e9",  # bytes; a process that grows by more is replaced, and imports all again
}
_BEGUN = time.time_ns()  # this process, but for a moment: most of our code is read after it
_FEW = 8  # so few tasks are done here: starting worker processes takes longer
_AHEAD = 2  # tasks that a worker has at a time, so that it never waits for the next
_LOOK = 1.0  # seconds after which a process looks again whether the one that began it is there
_PATIENCE = 10  # seconds for a scheduler to answer
_TIMES = 2  # a task whose worker dies is tried so often


@dataclass(frozen=True, eq=False)
class Task:
    """A call whose result depends only on its arguments, on the code and on the libraries.

    stage      the word for its progress bar
    paper      whose modules it needs, or another name for those of several
    kind       of evidence, or `figure` ...: its row in a profile
    work       a module's function; it is called with the arguments, then with the results of `needs`
    arguments  of a task whose result is kept, texts, numbers and truth values: they tell tasks of one function apart
    kept       whether the store keeps its result
    gpu        whether a Dask worker needs the resource GPU for it
    long       whether it takes longer than to start a worker, which keeps its result
    """

    stage: str
    paper: str
    kind: str
    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    needs: tuple[Task, ...] = ()
    kept: bool = True
    gpu: bool = False
    long: bool = False

    @property
    def name(self) -> str:
        """The function and its arguments: unique."""
        return f"{self.work.__module__}.{self.work.__qualname__}{self.arguments!r}"


@dataclass(frozen=True)
class Spent:
    """What a task took: CPU seconds; None where its result came from the store."""

    task: Task
    seconds: float | None


@dataclass(frozen=True)
class Workshop:
    """Where tasks are done.

    store      gives and keeps results, but for those that say that they `failed`; None: all are computed
    scheduler  the address of a Dask scheduler, whose workers do the tasks; None: processes of this machine
    results    of the tasks so far
    files      that each of them was made from, those of the tasks that it needs included; None: not known
    spent      a line for each of them
    besides    process -> its CPU seconds besides tasks: of a worker its start, imports and messages; of this process minus
               those of the tasks that it did

    What a scheduler's workers compute is not kept, nor what this process computes, as it does with few short tasks: which
    files they read is not known here.
    """

    store: Store | None = None
    scheduler: str | None = None
    results: dict[Task, Any] = field(default_factory=dict)
    files: dict[Task, Files | None] = field(default_factory=dict)
    spent: list[Spent] = field(default_factory=list)
    besides: dict[int, float] = field(default_factory=dict)

    def do(self, tasks: Sequence[Task], tell: Progress | None = None) -> list[Any]:
        """The tasks' results; a task is done once.  Raises what a task raises, and OSError for no such scheduler."""
        for _ in self.each(tasks, tell):
            pass
        return [self.results[task] for task in tasks]

    def each(self, tasks: Sequence[Task], tell: Progress | None = None) -> Iterator[Task]:
        """The tasks, and those that they need, as soon as each is done.  Raises as `do` does."""
        stored: list[Task] = []
        left: dict[Task, None] = {}
        self._look(tasks, stored, left)
        counts = _Counts([*stored, *left], tell or (lambda *_: None))
        for task in stored:
            counts.done(task)
            self.spent.append(Spent(task, None))
            yield task
        waiting = list(left)
        if self.scheduler is None:
            done = _here(waiting, self.results, self.besides)
        else:
            done = _there(self.scheduler, waiting, self.results)
        for task, result, seconds, files in done:
            self.results[task] = result
            counts.done(task)
            self.spent.append(Spent(task, seconds))
            self.files[task] = _united([files, *(self.files[needed] for needed in task.needs)])
            made_from = self.files[task]
            if self.store and task.kept and made_from is not None and not getattr(result, "failed", False):
                self.store.keep(task.name, result, made_from)
            yield task

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """What follows from the verdicts, which follow from our code: made once for each state of it.

        name  says what else it depends on, such as figures; and what the verdicts say, in case somebody changed them

        It is not kept beside papers outside, where a check failed, nor where one of our files changed meanwhile.
        """
        failed = any(getattr(result, "failed", False) for result in self.results.values())
        if self.store is None or plugins.packages() or failed or (ours := everything(_BEGUN)) is None:
            return make()
        result: Made = self.store.once(f"{name} {ours}", make)
        return result

    def _look(self, tasks: Iterable[Task], stored: list[Task], left: dict[Task, None]) -> None:
        """Look the tasks up in the store; those that are left, each after those that it needs, join `left`."""
        for task in tasks:
            if task in self.results or task in left:
                continue
            found = self.store.find(task.name) if self.store and task.kept else None
            if found is not None:
                self.results[task], self.files[task] = found
                stored.append(task)
            else:
                self._look(task.needs, stored, left)
                left[task] = None


def _united(several: Sequence[Files | None]) -> Files | None:
    """All of the files; None if some are not known, or were read in two states."""
    known = [files for files in several if files is not None]
    found: Files = frozenset().union(*known)
    twice = len(found) != len(dict(found))
    return None if twice or len(known) < len(several) else found


@dataclass
class _Counts:
    tasks: Sequence[Task]
    tell: Progress
    so_far: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.all = Counter(task.stage for task in self.tasks)

    def done(self, task: Task) -> None:
        self.so_far[task.stage] += 1
        self.tell(task.stage, self.so_far[task.stage], self.all[task.stage])


Done = tuple[Task, Any, float, Files | None]  # with the result, CPU seconds and the files that were read


def workshop(fresh: bool = False, scheduler: str | None = None) -> Workshop:
    """Where tasks are done, with the store of results if it can be used; if not, this is said on standard error."""
    try:
        return Workshop(Store(fresh=fresh), scheduler)
    except OSError as error:
        print(f"fedtheory: cannot keep results: {error}", file=sys.stderr)
        return Workshop(None, scheduler)


def _here(tasks: Sequence[Task], results: dict[Task, Any], besides: dict[int, float]) -> Iterator[Done]:
    """Do the tasks on this machine, each after those that it needs; `results` has the results so far."""
    written = {name for name, package in plugins.packages().items() if not package}  # only this process has them
    elsewhere = len(tasks) > _FEW or any(task.long for task in tasks)
    if elsewhere and cpu_count() > 1 and not any(task.paper in written for task in tasks):
        long_first = sorted(tasks, key=lambda task: not task.long)  # so that no core waits for one at the end
        yield from _Workers(long_first, results, besides).done()
        return
    for task in tasks:
        result, seconds, files = _call(task.work, _arguments(task, results), None)
        besides[os.getpid()] = besides.get(os.getpid(), 0.0) - seconds
        yield task, result, seconds, files


def _in_a_worker(
    work: Callable[..., Any], arguments: tuple[Any, ...], since: int
) -> tuple[Any, float, Files | None, int, float]:
    """`_call`, with the number of the process and all its CPU seconds so far."""
    return *_call(work, arguments, since), os.getpid(), time.process_time()


def _arguments(task: Task, results: Mapping[Task, Any]) -> tuple[Any, ...]:
    return (*task.arguments, *(results[needed] for needed in task.needs))


def _call(work: Callable[..., Any], arguments: tuple[Any, ...], since: int | None) -> tuple[Any, float, Files | None]:
    """The result, its CPU seconds, and the files read since the last call if the process notes them."""
    start = time.process_time()
    result = work(*arguments)
    return result, time.process_time() - start, None if since is None else files_read(since)


# ------------------------------------------------------------------------------------------------ on a cluster


def _there(address: str, tasks: Sequence[Task], results: Mapping[Task, Any]) -> Iterator[Done]:
    """Do the tasks on the workers of a Dask scheduler.  What a dying worker was doing, and had done, others do again."""
    from distributed import Client, KilledWorker, as_completed

    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise OSError(
            f"no Dask scheduler answers at {address} ({error}): expected its address, such as tcp://host:8786"
        ) from None
    with client:
        futures: dict[Task, Any] = {}
        for number, task in enumerate(tasks):
            needs = [futures[n] if n in futures else _Answer(results[n], 0.0) for n in task.needs]
            futures[task] = client.submit(
                _remotely, task.work, task.arguments, code(), *needs, pure=False, priority=-number,
                resources={"GPU": 1} if task.gpu else {},
            )  # fmt: skip
        of = {future.key: task for task, future in futures.items()}
        needed = {need for task in tasks for need in task.needs}
        for future in as_completed(list(futures.values())):
            task = of[future.key]
            try:
                answer = future.result()
            except KilledWorker as error:
                raise ChildProcessError(f"{task.name}: {error}") from None
            if task not in needed:
                future.release()  # its worker has the memory back
            yield task, *answer, None


class _Answer(NamedTuple):
    result: Any
    seconds: float


def _remotely(work: Callable[..., Any], arguments: tuple[Any, ...], expected: str, *needs: _Answer) -> _Answer:
    """On a Dask worker: the result and its CPU seconds.  Raises ValueError for a worker that could give others."""
    from distributed import get_worker

    worker = get_worker()
    if worker.state.nthreads != 1:
        raise ValueError(f"the Dask worker {worker.address} has {worker.state.nthreads} threads: expected --nthreads 1")
    if code() != expected:
        raise ValueError(
            f"the Dask worker {worker.address} has other code of fedtheory, or other libraries, than here: expected the same"
        )
    return _Answer(*_call(work, (*arguments, *(answer.result for answer in needs)), None)[:2])


# ---------------------------------------------------------------------------------------------- on this machine


def _begun(parent: int) -> None:
    """At the start of a process.  Sympy's many small objects live long: garbage is collected less often than usual, and at
    the end, where freeing each of them takes seconds, none is freed."""
    gc.set_threshold(20_000, 20, 100)
    atexit.register(os._exit, 0)
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    watch()


def _end_with(parent: int) -> None:
    """End this process soon after the one that began it, which may have been killed and so cannot end it."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


@dataclass(eq=False)
class _Worker:
    """A process for one paper."""

    paper: str
    since: int = field(default_factory=time.time_ns)
    files: Files | None = frozenset()  # that it has read so far

    def __post_init__(self) -> None:
        self.pool = ProcessPoolExecutor(max_workers=1, initializer=_begun, initargs=(os.getpid(),), env=_SWITCHES)

    def submit(self, task: Task, results: dict[Task, Any]) -> Future[Any]:
        return self.pool.submit(_in_a_worker, task.work, _arguments(task, results), self.since)


@dataclass
class _Workers:
    """As many processes as the machine has cores, each with the tasks of one paper until there are no more."""

    waiting: list[Task]
    results: dict[Task, Any]
    besides: dict[int, float]
    cores: int = field(default_factory=cpu_count)  # the system is asked once: it takes a quarter of a millisecond
    workers: list[_Worker] = field(default_factory=list)
    running: dict[Future[Any], tuple[Task, _Worker]] = field(default_factory=dict)
    died: Counter[Task] = field(default_factory=Counter)
    spent: dict[int, float] = field(default_factory=lambda: defaultdict(float))

    def done(self) -> Iterator[Done]:
        try:
            while self.waiting or self.running:
                self._start()
                done = wait(self.running, return_when=FIRST_COMPLETED).done
                for future in [given for given in self.running if given in done]:  # as the worker did them
                    task, worker = self.running.pop(future)
                    try:
                        result, seconds, files, process, all_seconds = future.result()
                    except TerminatedWorkerError:
                        self._again(task, worker)
                        continue
                    worker.files = _united([worker.files, files])
                    self.spent[process] += seconds
                    self.besides[process] = all_seconds - self.spent[process]
                    yield task, result, seconds, worker.files
        finally:
            for worker in self.workers:
                worker.pool.shutdown(wait=False, kill_workers=True)

    def _start(self) -> None:
        """Give tasks to the workers, and begin workers as long as there are cores and tasks for them."""
        load = Counter(worker for _, worker in self.running.values())
        for worker in list(self.workers):
            while (
                worker in self.workers and load[worker] < _AHEAD and (task := self._next_of(worker.paper)) is not None
            ):
                self._give(task, worker)
                load[worker] += 1
            if worker in self.workers and not load[worker] and not any(t.paper == worker.paper for t in self.waiting):
                worker.pool.shutdown(wait=False)
                self.workers.remove(worker)
        while len(self.workers) < self.cores and (task := self._next()) is not None:
            self.workers.append(_Worker(task.paper))
            self._give(task, self.workers[-1])

    def _give(self, task: Task, worker: _Worker) -> None:
        try:
            future = worker.submit(task, self.results)
        except TerminatedWorkerError:  # it has died since; the task goes on waiting
            self.workers.remove(worker)
            return
        self.waiting.remove(task)
        self.running[future] = task, worker

    def _ready(self, task: Task) -> bool:
        return all(needed in self.results for needed in task.needs)

    def _next_of(self, paper: str) -> Task | None:
        return next((t for t in self.waiting if t.paper == paper and self._ready(t)), None)

    def _next(self) -> Task | None:
        """The next task of the paper that has most tasks for each worker; of a paper with a long one first."""
        ready = [t for t in self.waiting if self._ready(t)]
        left = Counter(t.paper for t in ready)
        share = {paper: n / (1 + sum(w.paper == paper for w in self.workers)) for paper, n in left.items()}
        return max(ready, key=lambda t: (t.long, share[t.paper]), default=None)

    def _again(self, task: Task, worker: _Worker) -> None:
        """Do a task again whose worker has died.  Raises ChildProcessError if that happened before."""
        self.died[task] += 1
        if self.died[task] == _TIMES:
            raise ChildProcessError(f"{task.name}: its process died {_TIMES} times; expected enough memory for it")
        if worker in self.workers:  # the other task that it had may have come here first
            self.workers.remove(worker)
        self.waiting.insert(0, task)
