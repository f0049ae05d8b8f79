"""A command loads what it needs: one paper for one statement, no mathematics for a run."""

from __future__ import annotations

import subprocess
import sys

import pytest

OTHERS = [
    "fedtheory.theory.fedbat",
    "fedtheory.theory.fedbcgd",
    "fedtheory.theory.fedcom",
    "fedtheory.bounds.fedbat",
    "fedtheory.bounds.fedbcgd",
    "fedtheory.bounds.fedcom",
]
CHECKS, ENGINE = "fedtheory.theory.sfl.checks", "fedtheory.simulations.engine"
PROOFS_AND_RUNS = [*OTHERS, CHECKS, ENGINE, "fedtheory.bounds.trials", "z3", "scipy"]
BOUND = "bound sfl.thm1.strongly_convex mu=1 L=1 M=4 K=2 R=1000 sigma=1 zeta_star=1 D=1 eta_tilde=0.01"
SCRIPT = """
import sys
from fedtheory import cli
sys.argv = ["fedtheory", *sys.argv[1:]]
try:
    cli.main()
except SystemExit as end:
    assert not end.code, end.code
print("LOADED", *sys.modules)
"""


def loaded(command: str) -> set[str]:
    ran = subprocess.run([sys.executable, "-c", SCRIPT, *command.split()], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.rpartition("LOADED ")[2].split())


@pytest.mark.parametrize(
    ("command", "needed", "needless"),
    [
        (
            "simulate quadratic SFL eta=0.1 rounds=3 K=2",
            [ENGINE],
            ["sympy", "fedtheory.bounds", "fedtheory.figures.sfl", "torch", "numba"],
        ),
        ("list --paper sfl", ["fedtheory.theory.sfl"], [*OTHERS, CHECKS, ENGINE, "fedtheory.bounds", "scipy"]),
        ("show sfl.thm1.strongly_convex", ["fedtheory.theory.sfl"], PROOFS_AND_RUNS),
        ("show sfl.thm1.strongly_convex --proofs", [CHECKS], [*OTHERS, ENGINE, "cvxpy", "scipy"]),
        (BOUND, ["fedtheory.theory.sfl", "fedtheory.bounds.evaluation"], PROOFS_AND_RUNS),
        ("verify sfl.lemma13", [CHECKS, "fedtheory.bounds.sfl"], [*OTHERS, "torch", "matplotlib"]),
    ],
)
def test_what_a_command_loads(command: str, needed: list[str], needless: list[str]) -> None:
    found = loaded(command)
    assert set(needed) <= found and not found & set(needless)
