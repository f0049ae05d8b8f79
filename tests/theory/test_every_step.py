"""Drift for every number of local steps, by induction; constants for every number of clients, which are on record."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import pytest
import sympy

import fedtheory as ft
from fedtheory.bounds import worst_cases
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import every_record, every_step, scenes, symmetry
from fedtheory.theory.proofs.every_step import COUNTS, FAR, NoDrift, drift, enough, every, slide
from fedtheory.theory.statement import Status

DRIFTS = {
    f"{paper}.{name}": numbers
    for paper in catalogue.papers()
    for name, numbers in worst_cases.rounds(paper).drifts.items()
}
IN_A_ROW = {"sfl.lemma10": "K*M", "sfl.lemma14.corrected": "K", "fedcom.lemmaE7.corrected": "tau"}


def case(id_: str, **counts: int) -> scenes.SceneCase:
    numbers = DRIFTS[id_][0] | {name: Fraction(n) for name, n in counts.items()}
    (one,) = scenes.cases_at(catalogue.find(id_), worst_cases.rounds(id_.partition(".")[0]), numbers)
    return one


@pytest.mark.parametrize("id_", DRIFTS)
@pytest.mark.parametrize("counts", [COUNTS, pytest.param(FAR, marks=pytest.mark.slow)])
def test_the_induction_proves_a_claim_and_the_instance_needs_it(id_: str, counts) -> None:
    statement = catalogue.find(id_)
    found = every(statement, worst_cases.rounds(statement.paper), *DRIFTS[id_], counts)
    assert str(found.steps) == IN_A_ROW.get(id_, "T") and found.counts == counts
    assert any("grad_sq" in str(q) for q in found.needed)
    assert str(found.factor) == ("M" if id_ == "fedbcgd.lemma16.corrected" else "1")


@pytest.mark.parametrize("times", [sympy.Rational(99, 100), sympy.Rational(101, 100)])
@pytest.mark.parametrize("which", range(3))
def test_a_step_with_another_factor_is_refused(which: int, times, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = every_step.factors

    def changed(*numbers):
        return tuple(x * (times if i == which else 1) for i, x in enumerate(whole(*numbers)))

    assert every_step.step_holds()
    monkeypatch.setattr(every_step, "factors", changed)
    assert not every_step.step_holds()
    with pytest.raises(NoDrift, match="a step does not hold"):
        every_step.checked(catalogue.find("sfl.lemma14.corrected"), worst_cases.rounds("sfl"))


@pytest.mark.parametrize("longer", [Fraction(99, 100), Fraction(101, 100)])
def test_other_multipliers_prove_nothing(longer: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = every_step.factors
    monkeypatch.setattr(every_step, "factors", lambda *numbers: tuple(x * longer for x in whole(*numbers)))
    with pytest.raises(NoDrift, match="the induction does not prove it"):
        enough(catalogue.find("sfl.lemma14.corrected"), case("sfl.lemma14.corrected", M=2, K=4))


def test_an_instance_of_another_curvature_needs_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the number that it needs is too small for the proof."""
    monkeypatch.setattr(every_step, "slide", lambda L, eta, n: slide(L * Fraction(9, 10), eta, n))
    with pytest.raises(NoDrift, match="the induction does not prove it"):
        enough(catalogue.find("sfl.lemma14.corrected"), case("sfl.lemma14.corrected", M=2, K=4))


def test_it_is_the_number_that_the_solver_finds() -> None:
    statement, at = catalogue.find("sfl.lemma14.corrected"), case("sfl.lemma14.corrected", M=2, K=3)
    found = every_step.checked(statement, worst_cases.rounds("sfl"))
    assert found is not None
    solved = scenes.best(scenes.searches(statement, at)["gradient"], "sfl")
    (grad_sq,) = found.needed
    assert found.ratio(grad_sq, at.at) == pytest.approx(float(solved.most), rel=1e-4)
    assert float(enough(statement, at).number) == pytest.approx(float(drift(Fraction(1), Fraction(1, 18), 3)))


def test_a_sample_of_the_clients_makes_as_many_steps() -> None:
    assert enough(catalogue.find("sfl.lemma10"), case("sfl.lemma10", M=3, S=2, K=2)).steps == 4


@pytest.mark.parametrize(
    ("id_", "says"),
    [
        ("sfl.lemma12", "the functions are convex"),
        ("sfl.step.eq50", "expected an upper bound of a quantity"),
        ("sfl.lemma13.corrected", "expected terms >= 0"),
        ("fedcom.lemmaD3.summed", "the induction does not prove it"),
        ("fedbat.eq46.corrected", "no sum of squared distances"),
    ],
)
def test_what_is_no_drift_is_refused_with_the_reason(id_: str, says: str) -> None:
    numbers = {
        "sfl": {"L": "1", "sigma": "0", "eta_tilde": "1/6"},
        "fedcom": {"L": "1", "q": "1", "sigma": "0", "eta": "1/12"},
        "fedbat": {"L": "1", "q": "1/2", "sigma": "0", "eta_t": "1"},
    }
    statement = catalogue.find(id_)
    given = {name: Fraction(value) for name, value in numbers[statement.paper].items()}
    with pytest.raises(NoDrift, match=says):
        every(statement, worst_cases.rounds(statement.paper), given, counts=((2, 2), (2, 3)))
    assert every_step.checked(statement, worst_cases.rounds(statement.paper)) is None


# Constants for every number of clients on record: what they say, and that a wrong certificate is refused


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
