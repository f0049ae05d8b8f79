"""A sweep of the smallest trainings over a Dask scheduler of this machine: what a training costs besides its arithmetic.

    python -m benchmarks.sweep

The baseline does the same trainings in this process.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import report, seconds

import psutil  # isort: skip
from distributed import LocalCluster

from fedtheory.simulations.networks.setup import Setup
from fedtheory.tasks import Workshop
from fedtheory.training import train, train_there

CELLS, SEEDS = 200, 5


def setups(folder: Path) -> dict[Path, Setup]:
    """A set-up for each cell: logistic regression on digits, three rounds."""
    return {
        folder / f"{cell}": Setup(
            data={"name": "digits", "partition": "iid", "clients": 10},
            network={"model": "logistic", "batch": 8, "batching": "loop"},
            algorithm={"name": "FedAvg", "tau": 2, "S": 2, "eta": 0.01 + 1e-4 * cell},
            rounds=3,
            seeds=tuple(range(SEEDS)),
        )
        for cell in range(CELLS)
    }


def here(folder: Path) -> None:
    """All trainings in this process."""
    for where, setup in setups(folder).items():
        train(setup, where)


def main() -> None:
    """Seconds into results.json; CPU seconds, memory and bytes of a training to the terminal."""
    with TemporaryDirectory() as name:
        took = {"this process": seconds(lambda: here(Path(name)))}
        size = sum(file.stat().st_size for file in Path(name).rglob("*") if file.is_file())
    with (
        TemporaryDirectory() as name,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
    ):
        where = Workshop(scheduler=cluster.scheduler_address)
        train_there(setups(Path(name) / "first"), where)  # imports
        memory, cpu = psutil.Process().memory_info().rss, time.process_time()
        took["scheduler, two workers"] = seconds(lambda: train_there(setups(Path(name) / "then"), where))
        cpu, memory = time.process_time() - cpu, psutil.Process().memory_info().rss - memory
    trainings = CELLS * SEEDS
    report("sweep", f"{trainings} trainings of three rounds of logistic regression on digits", took, "this process")
    print(f"scheduler and client, a training: {1e3 * cpu / trainings:.1f} ms of CPU, {memory / trainings / 1e3:.0f} kB")
    print(f"files of a training: {size / trainings / 1e3:.1f} kB")


if __name__ == "__main__":
    main()
