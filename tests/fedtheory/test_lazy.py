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
            ["fedtheory.simulations.engine"],
            ["sympy", "fedtheory.bounds", "fedtheory.figures.sfl", "torch", "numba"],
        ),
        (
            "list --paper sfl",
            ["fedtheory.theory.sfl"],
            [*OTHERS, "fedtheory.theory.sfl.checks", "fedtheory.bounds", "fedtheory.simulations.engine", "scipy"],
        ),
        (
            "show sfl.thm1.strongly_convex",
            ["fedtheory.theory.sfl"],
            [
                *OTHERS,
                "fedtheory.theory.sfl.checks",
                "fedtheory.bounds.trials",
                "fedtheory.simulations.engine",
                "z3",
                "scipy",
            ],
        ),
        (
            "show sfl.thm1.strongly_convex --proofs",
            ["fedtheory.theory.sfl.checks"],
            [*OTHERS, "fedtheory.simulations.engine", "cvxpy", "scipy"],
        ),
        (
            BOUND,
            ["fedtheory.theory.sfl", "fedtheory.bounds.evaluation"],
            [
                *OTHERS,
                "fedtheory.theory.sfl.checks",
                "fedtheory.bounds.trials",
                "fedtheory.simulations.engine",
                "z3",
                "scipy",
            ],
        ),
        (
            "verify sfl.lemma13",
            ["fedtheory.theory.sfl.checks", "fedtheory.bounds.sfl"],
            [*OTHERS, "torch", "matplotlib"],
        ),
    ],
)
def test_what_a_command_loads(command: str, needed: list[str], needless: list[str]) -> None:
    found = loaded(command)
    assert set(needed) <= found and not found & set(needless)
