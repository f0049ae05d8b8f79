"""Times several ways of doing the same work in turn, so that other load on the machine affects all of them."""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy and torch are imported

import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.json"


def seconds(work: Callable[[], Any]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(works: dict[str, tuple[Callable[[], Any], float]], repeats: int) -> dict[str, float]:
    """Median seconds of each work, times its scale for a baseline that is timed on a part; the works take turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for work, _ in works.values():
        work()  # warm-up
    for _ in range(repeats):
        for name, (work, scale) in works.items():
            times[name].append(seconds(work) * scale)
    return {name: statistics.median(values) for name, values in times.items()}


def report(name: str, what: str, medians: dict[str, float], baseline: str) -> None:
    """Print the ratios; store them in results.json with the machine on which they were measured."""
    ratios = {key: medians[baseline] / value for key, value in medians.items() if key != baseline}
    print(f"{name}: {what}")
    for key, value in medians.items():
        note = "baseline" if key == baseline else f"{ratios[key]:.2g} times as fast"
        print(f"  {key:<28} {value:10.4f} s   {note}")
    store(name, {"what": what, "baseline": baseline, "seconds": medians, "times_faster": ratios})


def store(name: str, entry: dict[str, Any]) -> None:
    """Keep an entry in results.json, with the machine on which it was measured."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known[name] = entry | {
        "threads": 1,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
    partial = RESULTS.with_suffix(".partial")
    partial.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
    os.replace(partial, RESULTS)
