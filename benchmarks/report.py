"""The main job, `fedtheory report`: from nothing, again, and after a change of one paper; wall time, all cores.

    python -m benchmarks.report

It runs in a copy of the packages with a store of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import report, seconds
from fedtheory.store import FLOORS, ROOT

CHANGED = "theory/fedbat/lemmas.py"


def main() -> None:
    """Time the three in this order."""
    with tempfile.TemporaryDirectory(prefix="fedtheory-") as name:
        folder = Path(name)
        for package in (*FLOORS, "src"):
            shutil.copytree(
                ROOT / package, folder / package, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        shutil.copy(ROOT / "CITATION.cff", folder)  # src/ has a link to it
        time.sleep(3)  # the store keeps nothing that was made from files as young as the process
        variables = {"PYTHONPATH": str(folder / "src"), "FEDTHEORY_STORE": str(folder / "store")}

        def main_job() -> None:
            command = [sys.executable, "-m", "fedtheory.cli", "report"]
            subprocess.run(command, cwd=folder, env=os.environ | variables, check=True, capture_output=True)

        times = {"report, from nothing": seconds(main_job), "again, nothing changed": seconds(main_job)}
        with (folder / CHANGED).open("a") as file:
            file.write("# one more line\n")
        time.sleep(3)
        times["again, one paper changed"] = seconds(main_job)
    report("report", "the paper check, all figures and the site; all cores", times, "report, from nothing")


if __name__ == "__main__":
    main()
