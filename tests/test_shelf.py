"""The shelf: theorems that the field quotes, each in a short file with a verdict, as its page in the documentation says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fedtheory.site import shelf
from fedtheory.texts import significant
from fedtheory.theory import catalogue
from tests import forked

HOUSE = Path(__file__).parents[1]
PAGE = (HOUSE / "docs" / "pages" / "shelf.md").read_text()
ROW = re.compile(
    r"^\| .*? \| `(\w+)\.([\w.]+)` \| (proved|conditional|tested) \| .*? \| (\d+) \| ([\d.]*) \|$", re.MULTILINE
)
ROWS = {found[1]: found for found in ROW.finditer(PAGE)}
FILES = {file.parent.name: file for file in (HOUSE / "shelf").glob("*/statements.py")}
LONG = "scaffold"  # with eight lemmas and six theorems, the example of a whole paper
# A smaller constant in each theorem, as TERM=FORMULA of its claim, and the word by which the verdict notices
PLANTED = {
    "fedlin.thm1": ("optimisation=(1 - mu*eta_tilde)**R*Delta/2", "broken"),
    "khaled.thm": ("optimisation=D**2/(2*eta_tilde*(R + 1))", "broken"),
    "koloskova.thm": ("heterogeneity=L**2*eta_tilde**2*zeta**2", "broken"),
    "minibatch.general": ("noise=eta*sigma**2/(2*M)", "broken"),
    "reshuffling.thm1": ("heterogeneity=eta**2*L*M*zeta_star**2/(4*mu)", "broken"),
    "proxskip.thm": ("heterogeneity=(1 - min(eta*mu, p**2))**R*(D**2 + eta**2*zeta_star**2/p**2)/2", "broken"),
    "diana.model": ("noise=(1 + omega)*eta**2*sigma**2/(M*q)", "broken"),
    "errorfeedback.thm": ("optimisation=Delta/(R*eta)", "broken"),
    "fedprox.thm": ("heterogeneity=zeta_star**2/(2*mu*(mu + 2*prox))", "broken"),
    "fednova.thm": ("heterogeneity=L*eta**2*(tau_max - 1)*(2*tau_max - 1)*zeta_star**2/(6*mu)", "broken"),
    "li.thm1": ("noise=(16/M + 8)*sigma**2/(K*mu**2*(R + 40*L/mu))", "broken"),
    "glasgow.away": ("heterogeneity=L*eta_tilde**2*zeta_star**2*(1 - 1/K)**2/8", "refuted"),
}


def fedtheory(*arguments: str) -> str:
    done = forked.fedtheory("--path", "shelf", *arguments, cwd=HOUSE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_has_every_result_and_its_length() -> None:
    assert ROWS.keys() == FILES.keys() == {id_.partition(".")[0] for id_ in PLANTED} | {LONG}
    for name, file in FILES.items():
        lines = len(file.read_text().splitlines())
        assert int(ROWS[name][4]) == lines and (lines <= 60 or name == LONG)


@pytest.mark.parametrize("name", FILES)
def test_the_page_and_the_record_say_the_same(name: str) -> None:
    """The record, which the site shows, was made of the file as it is."""
    _, theorem, verdict, _, slack = ROWS[name].groups()
    found = shelf.results()[name]
    (one,) = [t for t in found.theorems if t.id == f"{name}.{theorem}"]
    assert found.digest == shelf.digest(name), "expected fedtheory record shelf"
    assert (one.status, "" if one.slack is None else significant(one.slack)) == (verdict, slack)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_the_record_has_the_verdicts_and_slacks(name: str) -> None:
    recorded = {t.id: t for t in shelf.results()[name].theorems}
    rows = {row["id"]: row for row in json.loads(fedtheory("verify", *recorded, "--json"))}
    for id_, one in recorded.items():
        assert (rows[id_]["verdict"], rows[id_]["slack"]) == (one.status, pytest.approx(one.slack)), id_


@pytest.mark.dear
@pytest.mark.parametrize("id_", PLANTED)
def test_a_planted_error_is_noticed(id_: str) -> None:
    claim, notices = PLANTED[id_]
    first = fedtheory("verify", id_, "--with", claim).splitlines()[0]
    assert notices in first or "refuted" in first


# The example of a whole paper, SCAFFOLD: short, and not among the papers that are checked


LEMMAS = {f"scaffold.lemma{i}": "proved" if i in (3, 5, 6) else "tested" for i in range(1, 9)}


@pytest.mark.parametrize(
    "chosen", [("scaffold.lemma1", "scaffold.lemma3"), pytest.param(tuple(LEMMAS), marks=pytest.mark.slow)]
)
def test_the_lemmas_of_scaffold_have_their_verdicts(chosen: tuple[str, ...]) -> None:
    """Those of its theorems are on record."""
    lines = fedtheory("verify", *chosen).splitlines()
    found = dict(line.split()[:2] for line in lines if line.startswith("scaffold."))
    assert {id_: found[f"{id_}:"].strip(",;") for id_ in chosen} == {id_: LEMMAS[id_] for id_ in chosen}


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
