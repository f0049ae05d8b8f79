"""The best constants of a proof: what a sketch of it collects, and what the optimum is against known ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import sympy
from sympy import Rational

from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.checks.sharp import SHARPENINGS as BLOCKS
from fedtheory.theory.proofs.sharpening import NoChoices, Sharpening, Sketch, optimised, sharpened
from fedtheory.theory.sfl.checks import sharp
from fedtheory.theory.sfl.sharp import Young
from fedtheory.theory.sfl.symbols import L, S, eta_tilde
from fedtheory.theory.statement import Bound, Status

FAMILIES = {**sharp.SHARPENINGS, **BLOCKS}
FAST = ["sfl.thm1.general_convex.sharp", "fedbcgd.thm1.general_convex.corrected.sharp"]


def test_a_sketch_collects_what_the_proof_needs() -> None:
    """What is left of ||u_t||^2 after Young's inequality with weight rho."""
    rho = sympy.Symbol("rho", positive=True)
    sketch = Sketch(catalogue.find("sfl.eq70.sharp.general_convex"), sharp.OURS)
    sharp.young_round(sharp.PFL, rho, Rational(1, 2))(sketch)
    needed = [e for e in sketch.needed if rho in e.free_symbols]
    at = {L: 1, S: 1, eta_tilde: Rational(1, 6)} | {s: 10**9 for e in needed for s in e.free_symbols if s.name == "K"}
    signs = [[e.subs(at | {rho: value}) >= 0 for e in needed] for value in (Rational(1, 10), Rational(1, 100))]
    assert all(signs[0]) and not all(signs[1])  # 1/rho <= 2 (1 - h)/h^2 - 1 - 2 = 57 at h = 1/6
    assert sketch.derived is not None and not sketch.steps


@pytest.mark.parametrize("theorem", FAMILIES)
def test_the_catalogue_s_choices_are_among_those_that_can_be_optimised(theorem: str) -> None:
    one = FAMILIES[theorem]
    statement = catalogue.find(theorem)
    with pytest.raises(AttributeError, match="frozen|cannot assign"):
        one.choices.rho = 1
    assert statement.sharpens and set(one.free) <= set(one.choices.__dataclass_fields__)
    proofs = one.proofs(one.step, theorem, one.choices)
    assert set(proofs) == {one.step, theorem}


@pytest.mark.dear
@pytest.mark.parametrize(
    "theorem", [*FAST, *(pytest.param(t, marks=pytest.mark.slow) for t in FAMILIES if t not in FAST)]
)
def test_the_optimum_is_no_worse_than_the_catalogue_s(theorem: str) -> None:
    """The product of the constants, at the numbers where they are compared."""
    one = FAMILIES[theorem]
    first = {name: float(values[0]) for name, values in one.points(1.0).items()}

    def product(statement: str) -> float:
        claim = catalogue.find(statement).claim
        assert isinstance(claim, Bound)
        letters = set().union(*(amount.free_symbols for amount in one.amounts))
        at = {s: first.get(s.name, 1) for s in claim.value.free_symbols - letters}
        value = sympy.expand(claim.value.subs(at))
        factors, rest = [value.coeff(amount) for amount in one.amounts], value.subs(dict.fromkeys(letters, 0))
        return float(np.sum([np.log(float(e)) for e in (*factors, rest)]))

    with sharpened(one) as found:
        assert all(v.status is Status.PROVED for v in found.verdicts)
        assert product(found.theorem.id) <= product(theorem) + 0.011
        id_ = found.theorem.id
    with pytest.raises(catalogue.UnknownName):
        catalogue.find(id_)  # it was there for the proofs only


def test_the_optimum_of_one_choice_is_the_known_one() -> None:
    """With SFL's rho alone, all of the budget goes to it: 1/rho = 2 (1 - h)/h^2 - 1 = 59 at h = 1/6, so rho = 1/59."""
    name = "step.gc_recursion.corrected.sharp.sampled"
    one = replace(
        FAMILIES["sfl.thm1.general_convex.sharp"],
        choices=Young(Rational(1, 50)),
        free=("rho",),
        proof=partial(sharp.of_round, name),
    )
    found = next(iter(optimised(one)))
    assert Rational(1, 59) <= found.rho <= Rational(1, 58)


def test_shorter_steps_have_smaller_constants_and_too_long_ones_none() -> None:
    one, found = FAMILIES["sfl.thm2.general_convex.sharp"], {}
    for span in (Rational(1, 4), Rational(2)):
        with sharpened(one, span) as theorem_:
            assert all(v.status is Status.PROVED for v in theorem_.verdicts)
            claim = theorem_.theorem.claim
            assert isinstance(claim, Bound)
            found[span] = {t.name: t.value.subs(dict.fromkeys(t.value.free_symbols, 7)) for t in claim.terms}
            limit = [c.relation.rhs for c in theorem_.theorem.when if c.relation.lhs == eta_tilde]
            assert limit == [span / (6 * L)]
    small, large = found.values()
    assert small["heterogeneity"] < large["heterogeneity"] and small["optimisation"] == large["optimisation"]
    with (
        pytest.raises(NoChoices, match="no choices prove it for step sizes up to 9 times the printed limit"),
        sharpened(one, Rational(9)),
    ):
        pass


def test_wrong_fractions_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the optimiser says, the ledger decides."""

    def too_good(one: Sharpening, span: float) -> list[Young]:
        return [replace(one.choices, rho=Rational(1, 1000), of_noise=Rational(1, 1000))]

    monkeypatch.setattr("fedtheory.theory.proofs.sharpening.optimised", too_good)
    with (
        pytest.raises(NoChoices, match="no fractions near the best choices prove it"),
        sharpened(FAMILIES["sfl.thm2.general_convex.sharp"]),
    ):
        pass
