"""Drift for every number of local steps: the induction, its certificates, what needs the constant, what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from fedtheory.bounds import worst_cases
from fedtheory.theory import catalogue
from fedtheory.theory.proofs import every_step, scenes
from fedtheory.theory.proofs.every_step import COUNTS, FAR, NoDrift, drift, enough, every, slide

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
