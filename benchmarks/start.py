"""The start-up cost of short commands: user CPU seconds of whole processes, against `import sympy`.

python -m benchmarks.start
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

from benchmarks.common import report

BASELINE = "python -c 'import sympy'"
THEOREM = "sfl.thm1.strongly_convex"
COMMANDS = {
    "--help": ["--help"],
    "show": ["show", THEOREM],
    "bound": [
        "bound",
        THEOREM,
        *["mu=1", "L=1", "M=4", "K=2", "R=1000", "sigma=1", "zeta_star=1", "D=1", "eta_tilde=0.01"],
    ],
    "list --paper": ["list", "--paper", "sfl"],
    "simulate, quadratic": ["simulate", "quadratic", "SFL", "eta=0.1", "K=2", "rounds=10"],
}
REPEATS = 5


def user_seconds(arguments: list[str]) -> float:
    """User CPU seconds of a process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    """Time all commands in turn."""
    processes = {BASELINE: ["-c", "import sympy"]}
    processes |= {name: ["-m", "fedtheory.cli", *arguments] for name, arguments in COMMANDS.items()}
    times: dict[str, list[float]] = {name: [] for name in processes}
    for _ in range(REPEATS):
        for name, arguments in processes.items():
            times[name].append(user_seconds(arguments))
    medians = {name: statistics.median(values) for name, values in times.items()}
    report("start", "user CPU seconds of a whole process", medians, BASELINE)


if __name__ == "__main__":
    main()
