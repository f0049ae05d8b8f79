"""Constants for every number of clients on record: what they say, and that a wrong certificate is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import fedtheory as ft
from fedtheory.bounds import worst_cases
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import every_record, scenes, symmetry
from fedtheory.theory.statement import Status

FORMULA = "fedcom.lemmaD1.corrected tau=1 L=1 q=1 eta=1/2 sigma=0"


def told(entry: str) -> Any:
    return copy.deepcopy(every_record.kept(entry.partition(".")[0])[entry])


def read(entry: str, told: Any) -> list[every_record.BestForEveryCount]:
    return list(every_record.read(entry, told, worst_cases.rounds(entry.partition(".")[0])))


def test_the_best_constant_is_a_function_of_m_and_the_sharper_form_has_it() -> None:
    one = next(one for one in read(FORMULA, told(FORMULA)) if one.term == "gradients")
    M = symmetry.COUNT
    assert one.exact and one.proved == (M + 1) / (M + 2)
    assert one.sharper == {"fedcom.lemmaD1.corrected.sharp": one.proved}


def test_at_least_fifteen_inequalities_of_four_papers_are_on_record() -> None:
    """From above and from below; with one and two local steps where there are several."""
    kept = {paper: every_record.kept(paper) for paper in catalogue.names()}
    both = {
        entry.split()[0]
        for entries in kept.values()
        for entry, terms in entries.items()
        if "products" in (terms or {}).get(scenes.ALL, {})
    }
    assert len(both) >= 15 and {id_.partition(".")[0] for id_ in both} == set(catalogue.names())


def test_what_proves_nothing_is_refused() -> None:
    """A smaller constant, another multiplier, an instance outside the class or too weak, another entry."""
    wrong = []
    for change in ("constant", "multiplier", "instance", "weak"):
        one = told(FORMULA)
        own = one["gradients"]
        if change == "constant":
            own["constant"] = [[1, 1], [3, 1]]  # (M + 1)/(M + 3)
        elif change == "multiplier":
            own["multipliers"] = {name: [[1], [1]] for name in own["multipliers"]}
        elif change == "instance":
            own["products"][0][2] = [[0, 2], [2, 1]]  # more noise than the compressor may have
        else:
            own["products"] = own["products"][-1:]
        wrong.append(one)
    for one in wrong:
        with pytest.raises(ValueError, match="for every number of clients"):
            read(FORMULA, one)
    with pytest.raises(ValueError, match="expected one of all terms"):
        read(FORMULA, {"heterogeneity": told(FORMULA)["gradients"]})
    other = FORMULA.replace("eta=1/2", "eta=1/4")
    with pytest.raises(ValueError, match="for every number of clients"):
        read(other, told(FORMULA))


def test_a_report_checks_what_is_on_record(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {FORMULA: told(FORMULA)}
    entries[FORMULA]["gradients"]["constant"] = [[1, 1], [3, 1]]
    monkeypatch.setattr(every_record, "kept", lambda paper: entries)
    statement = catalogue.find("fedcom.lemmaD1.corrected")
    rounds = worst_cases.rounds("fedcom")
    assert rounds is not None
    with pytest.raises(ValueError, match="do not prove the constant"):
        scenes.check(rounds)(statement, False)


@pytest.mark.slow
def test_a_claim_of_ones_own_for_every_number_of_clients() -> None:
    r = ft.round("PFL", sigma=0, K=1)
    claim = r.dist2.next <= (1 - r.mu * r.h) * r.dist2 - r.h * r.gap
    answer = ft.check(claim, when=r.h <= 1 / (6 * r.L), for_all="M")
    own = answer.evidence["every_count"]
    assert own.status is Status.TESTED and own.says.startswith("for every M >= 2") and own.says in repr(answer)
    with pytest.raises(ValueError, match="number of clients"):
        ft.check(claim, for_all="K")
    x, y = ft.points("x y")
    f = ft.function("f", smooth="L", convex=True)
    with pytest.raises(ValueError, match="which has clients"):
        ft.check(f(x) >= f(y), for_all="M")
