"""The example of a paper of one's own: SCAFFOLD, in under 350 lines, not one of the papers that are checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import forked
from theory import catalogue

HOUSE = Path(__file__).parents[1]
LEMMAS = {f"scaffold.lemma{i}": "proved" if i in (3, 5, 6) else "tested" for i in range(1, 9)}
CASES = ("strongly_convex", "general_convex", "nonconvex")
THEOREMS = {f"scaffold.{method}.{case}": "tested" for method in ("fedavg", "scaffold") for case in CASES}
RATES = {"scaffold.thm1": "refuted", "scaffold.thm3": "refuted"}  # by their units: misprints


def fedtheory(*arguments: str) -> str:
    done = forked.fedtheory("--path", "examples", *arguments, cwd=HOUSE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_scaffold_has_its_verdicts() -> None:
    lines = fedtheory("verify", "--paper", "scaffold").splitlines()
    found = dict(line.split()[:2] for line in lines if line.startswith("scaffold."))
    expected = LEMMAS | THEOREMS | RATES
    assert {name: found[f"{name}:"].strip(",;") for name in expected} == expected


SLOW = pytest.param("scaffold.lemma5", marks=pytest.mark.slow)  # z3 needs minutes for some of its changes


@pytest.mark.parametrize("lemma", [*(id_ for id_ in LEMMAS if id_ != "scaffold.lemma5"), SLOW])
def test_every_lemma_can_be_refuted(lemma: str) -> None:
    out = fedtheory("verify", lemma, "--mutate")
    assert out.count("seen to fail: ") == 2 and "nothing: it refutes none" not in out


def test_it_is_short_and_stands_apart() -> None:
    files = sorted((HOUSE / "examples" / "scaffold").glob("*.py"))
    assert sum(len(file.read_text().splitlines()) for file in files) < 350
    assert "scaffold" not in catalogue.names()


def test_its_figure_is_drawn(tmp_path: Path) -> None:
    fedtheory("figures", "scaffold_theorem", "--out", str(tmp_path))
    assert (tmp_path / "scaffold_theorem.png").stat().st_size > 10_000
