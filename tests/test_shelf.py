"""The shelf: theorems that the field quotes, each in a short file with a verdict, as its page in the documentation says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fedtheory.site import shelf
from fedtheory.texts import significant
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
