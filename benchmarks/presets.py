"""Every preset at its printed size, on generated images: the seconds of a round, and what the whole would take.

    python -m benchmarks.presets            the first cell of each preset, ROUNDS rounds, one thread of a CPU
    python -m benchmarks.presets ID ...     only these; the results go into benchmarks/results.json

Each runs in a process of its own, which ends after LIMIT seconds.  The time is the mean over the rounds, with measurements.
The hours in all are those if every cell is as slow as the first.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from pathlib import Path

from benchmarks.common import store
from fedtheory import training
from fedtheory.bounds import presets
from fedtheory.bounds.presets import Preset
from fedtheory.tables import setups_of

ROUNDS = 2
LIMIT = 240.0  # seconds, with the generation of the images


def first_rounds(name: str, answer: multiprocessing.Queue[float]) -> None:
    """Train the first cell of a preset for ROUNDS rounds; answers with the seconds of a round."""
    whole = presets.preset(name)
    (setup, *_) = setups_of(whole, data="generated", rounds=ROUNDS, seeds=(0,))
    with tempfile.TemporaryDirectory() as folder:
        rows = training.train(setup, Path(folder) / "cell")
        answer.put(float(rows["seconds"].max()) / ROUNDS)


def rounds_of(whole: Preset) -> int:
    """The rounds of all cells and seeds."""
    return sum(cell.setup.rounds for cell in whole.cells) * whole.seeds


def main(names: list[str]) -> None:
    """Time the presets."""
    found: dict[str, dict[str, float | str]] = {}
    for name in names or presets.presets():
        answer: multiprocessing.Queue[float] = multiprocessing.Queue()
        process = multiprocessing.Process(target=first_rounds, args=(name, answer))
        process.start()
        process.join(LIMIT)
        late = process.is_alive()
        if late:
            process.kill()
            process.join()
        whole = presets.preset(name)
        if answer.empty():
            found[name] = {"seconds a round": f"no answer after {LIMIT:g} s" if late else "failed"}
        else:
            seconds = answer.get()
            hours = seconds * rounds_of(whole) / 3600
            found[name] = {"seconds a round": float(f"{seconds:.3g}"), "hours in all": float(f"{hours:.3g}")}
        print(f"{name}: {found[name]}", flush=True)
    store("presets on generated images", found)


if __name__ == "__main__":
    main(sys.argv[1:])
