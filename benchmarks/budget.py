"""The budget: CPU seconds of the report, by kind, and of the tests, beside the committed ones and those of importing sympy.

    python -m benchmarks.budget [--tests]

The report runs in a copy of the packages with a store of its own.  With --tests the tests run after it, with this store.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.common import RESULTS, store
from fedtheory.store import FLOORS, ROOT

_BESIDE = ("tests", "docs", "course", "examples", "benchmarks", "paper_check")


def cpu(words: list[str], folder: Path, variables: Mapping[str, str]) -> tuple[float, str]:
    """CPU seconds of a command and of the processes that it waits for, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, cwd=folder, env=os.environ | variables, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main() -> None:
    """Measure, print beside the committed numbers, and keep."""
    known = json.loads(RESULTS.read_text()).get("budget", {}).get("seconds", {})
    with tempfile.TemporaryDirectory(prefix="fedtheory-") as name:
        folder = Path(name)
        for package in (*FLOORS, "src", *_BESIDE):
            shutil.copytree(
                ROOT / package, folder / package, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "built")
            )
        for file in (path for path in ROOT.iterdir() if path.is_file()):
            shutil.copy2(file, folder)
        time.sleep(3)  # the store keeps nothing that was made from files as young as the process
        variables = {"PYTHONPATH": f"{name}/src", "FEDTHEORY_STORE": f"{name}/store"}
        seconds = {"import sympy": cpu([sys.executable, "-c", "import sympy"], folder, {})[0]}
        _, told = cpu([sys.executable, "-m", "fedtheory.cli", "report", "--profile"], folder, variables)
        rows = re.findall(
            r"^(\S[^\d\n]*?(?: \d+ [a-z ]+)?) +(?:[\d.]+ +)*([\d.]+) *$", told.split("CPU seconds")[1], re.MULTILINE
        )
        seconds |= {f"report: {kind.strip()}": float(number) for kind, number in rows}
        seconds["report again"], _ = cpu([sys.executable, "-m", "fedtheory.cli", "report"], folder, variables)
        if "--tests" in sys.argv:
            seconds["tests"], _ = cpu(
                [sys.executable, "-m", "pytest", "-q"], folder, variables | {"OMP_NUM_THREADS": "1"}
            )
    unit = seconds["import sympy"]
    print(f"{'':<44}{'CPU s':>8}{'committed':>11}{'sympy imports':>15}")
    for what, number in seconds.items():
        print(f"{what:<44}{number:>8.1f}{known.get(what, float('nan')):>11.1f}{number / unit:>15.0f}")
    store("budget", {"what": "CPU seconds of all processes, two cores, from nothing", "seconds": seconds})


if __name__ == "__main__":
    main()
