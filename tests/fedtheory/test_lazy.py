"""A command loads what it needs: one paper for one statement, no mathematics for a run."""

from __future__ import annotations

import subprocess
import sys

import pytest

OTHERS = ["theory.fedbat", "theory.fedbcgd", "theory.fedcom", "bounds.fedbat", "bounds.fedbcgd", "bounds.fedcom"]
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
            ["simulations.engine"],
            ["sympy", "bounds", "figures.sfl", "torch", "numba"],
        ),
        ("list --paper sfl", ["theory.sfl"], [*OTHERS, "theory.sfl.checks", "bounds", "simulations.engine", "scipy"]),
        (
            "show sfl.thm1.strongly_convex",
            ["theory.sfl"],
            [*OTHERS, "theory.sfl.checks", "bounds.trials", "simulations.engine", "z3", "scipy"],
        ),
        (
            "show sfl.thm1.strongly_convex --proofs",
            ["theory.sfl.checks"],
            [*OTHERS, "simulations.engine", "cvxpy", "scipy"],
        ),
        (
            BOUND,
            ["theory.sfl", "bounds.evaluation"],
            [*OTHERS, "theory.sfl.checks", "bounds.trials", "simulations.engine", "z3", "scipy"],
        ),
        ("verify sfl.lemma13", ["theory.sfl.checks", "bounds.sfl"], [*OTHERS, "torch", "matplotlib"]),
    ],
)
def test_what_a_command_loads(command: str, needed: list[str], needless: list[str]) -> None:
    found = loaded(command)
    assert set(needed) <= found and not found & set(needless)
