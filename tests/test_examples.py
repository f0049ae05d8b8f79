"""The example of a whole paper of one's own, SCAFFOLD: short, and not among the papers that are checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedtheory.theory import catalogue
from tests import forked

HOUSE = Path(__file__).parents[1]
LEMMAS = {f"scaffold.lemma{i}": "proved" if i in (3, 5, 6) else "tested" for i in range(1, 9)}
CASES = ("strongly_convex", "general_convex", "nonconvex")
THEOREMS = {f"scaffold.{method}.{case}": "tested" for method in ("fedavg", "scaffold") for case in CASES}
RATES = {"scaffold.thm1": "refuted", "scaffold.thm3": "refuted"}  # by their units: misprints


def fedtheory(*arguments: str) -> str:
    done = forked.fedtheory("--path", "shelf", *arguments, cwd=HOUSE)
    assert done.returncode == 0, done.stderr
    return done.stdout


OF_EACH_KIND = ("scaffold.lemma1", "scaffold.lemma3", "scaffold.thm1")


@pytest.mark.parametrize("chosen", [OF_EACH_KIND, pytest.param((), marks=pytest.mark.slow)], ids=["some", "all"])
def test_scaffold_has_its_verdicts(chosen: tuple[str, ...]) -> None:
    lines = fedtheory("verify", *(chosen or ("--paper", "scaffold"))).splitlines()
    found = dict(line.split()[:2] for line in lines if line.startswith("scaffold."))
    every = LEMMAS | THEOREMS | RATES
    expected = {id_: every[id_] for id_ in chosen or every}
    assert {name: found[f"{name}:"].strip(",;") for name in expected} == expected


CERTIFIED = [
    id_ for id_, verdict in LEMMAS.items() if verdict == "proved"
]  # a new certificate for each change takes minutes
SLOW = [pytest.param(id_, marks=pytest.mark.slow) for id_ in CERTIFIED]


@pytest.mark.parametrize("lemma", [*(id_ for id_ in LEMMAS if id_ not in CERTIFIED), *SLOW])
def test_every_lemma_can_be_refuted(lemma: str) -> None:
    out = fedtheory("verify", lemma, "--mutate")
    assert out.count("seen to fail: ") == 2 and "nothing: it refutes none" not in out


def test_it_is_short_and_stands_apart() -> None:
    (file,) = (HOUSE / "shelf" / "scaffold").glob("*.py")
    assert len(file.read_text().splitlines()) <= 150
    assert "scaffold" not in catalogue.names()


def test_the_bounds_of_scaffold_are_numbers() -> None:
    """In `bound`, `tune` and `compare`."""
    given = ["L=1", "sigma=0.5", "M=10", "S=5", "K=5", "R=1000", "D=1", "zeta_star=1", "eta_g=1"]
    own, other = "scaffold.scaffold.general_convex", "scaffold.fedavg.general_convex"
    found = json.loads(fedtheory("bound", own, *given, "eta_tilde=0.01", "--json"))
    expected = (1 + 9 * 10 * 0.01**2 / 5) / (0.01 * 1001) + 12 * 0.01 * 0.25 / 25 * 6
    assert found["value"] == pytest.approx(expected)
    assert "best admissible" in fedtheory("tune", own, *given)
    assert f"{own}" in fedtheory("compare", own, other, *given, "G=1", "B=1", "eta_tilde=0.01")
