"""Statements about one round of SFL and PFL on exact instances: the family, the constants, the search."""

from __future__ import annotations

import numbers
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fedtheory.bounds.sfl import rounds as exactly
from fedtheory.bounds.sfl.rounds import ROUNDS, Instance, RoundInstance, cases, form_of, instances
from fedtheory.simulations.exact.trace import LAWS
from fedtheory.simulations.problems.quadratic import Quadratic
from fedtheory.theory import catalogue
from fedtheory.theory.properties import Property
from fedtheory.theory.sfl.symbols import M, S
from fedtheory.theory.statement import Status

# --- The family and the constants ------------------------------------------------------------------------------------


def test_the_instances() -> None:
    assert 100 <= sum(i.law == LAWS[0] for i in instances()) <= 400 and len(set(instances())) == len(instances())
    assert {(i.M, i.S < i.M) for i in instances()} >= {(1, False), (2, False), (2, True), (3, False), (3, True)}
    assert {len(i.x) for i in instances()} == {1, 2}
    assert all(
        isinstance(v, numbers.Rational) for i in instances() for v in (*i.x, *np.ravel(i.H), *np.ravel(i.b), i.sigma_sq)
    )
    assert (
        any(i.mu < 0 for i in instances())
        and any(i.mu > 0 for i in instances())
        and any(i.mu == 0 for i in instances())
    )
    bent = [i for i in instances() if i.bend]
    assert len(bent) > 50 and all(len(i.bend) == i.M and any(i.bend) and i.zeta_sq(Fraction(8)) is None for i in bent)
    planes = [np.asarray(i.H) for i in instances() if len(i.x) == 2]
    assert all((H[0] @ H[1] != H[1] @ H[0]).any() for H in planes)


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_constants_agree_with_the_problems(factor: int) -> None:
    """With the certified constants of `Quadratic`, which come from eigenvalues in floating point."""
    compared = 0
    for instance in (i for i in instances() if not i.bend):
        H, b = np.array(instance.H, dtype=float), np.array(instance.b, dtype=float)
        problem = Quadratic(H, b)
        constants = problem.constants
        assert float(instance.L) == pytest.approx(constants["L"])
        assert float(instance.mu) == pytest.approx(constants["curvature"], abs=1e-12)
        assert float(instance.zeta_star_sq) == pytest.approx((b**2).sum() / len(b))
        zeta_sq = instance.zeta_sq(Fraction(factor))
        certified = problem.heterogeneity(float(factor))[1]
        if zeta_sq is not None:
            assert float(zeta_sq) == pytest.approx(certified.value**2, abs=1e-9)
            compared += 1
        elif certified.value is not None:  # exactly the smallest beta, which the family leaves out
            assert problem.heterogeneity(factor * (1 - 1e-6))[1].value is None
    assert compared > 50


def test_symbols_are_of_one_type() -> None:
    known = exactly.symbols([i for i in instances() if i.M == 12 and i.law == LAWS[0]][-1], Fraction(2), {})
    assert all(isinstance(value, numbers.Rational) for value in known.values())
    assert known["M"] == 12 and known["S"] == 1 and known["zeta_sq"] == 0


@pytest.mark.parametrize(
    ("q", "expected"), [(Fraction(9, 4), Fraction(3, 2)), (Fraction(0), 0), (Fraction(2, 3), Fraction(2449, 3000))]
)
def test_roots(q: Fraction, expected: Fraction) -> None:
    assert exactly.root(q) == expected and expected**2 <= q


def test_conditions_limit_the_step() -> None:
    """Assumptions that a family member does not satisfy keep it out; the largest step is the smallest limit."""
    to = form_of(catalogue.find("sfl.step.eq54_recursion"))[0]
    two = next(i for i in instances() if i.M == 2 and i.S == 1 and i.H[1] == ((Fraction(1, 2),),))
    known = exactly.symbols(two, Fraction(1, 2), {})
    assert exactly.largest_step(known, to) == Fraction(1, 6)
    assert exactly.largest_step(known | {"beta": Fraction(3)}, to) == Fraction(1, 18)
    largest = exactly.largest_step(known | {"beta": Fraction(3), "S": Fraction(2)}, to)
    assert largest < 2**0.5 / 36 < largest * Fraction(1001, 1000)
    assert exactly.largest_step(known, form_of(catalogue.find("sfl.step.eq49"))[0]) is None
    flat = Instance(two.H, two.b, two.x, 1, 1, Fraction(0))
    assert flat.fits({Property.CONVEX: (), Property.BOUNDED_BELOW: ()}) and flat.fits({})
    indefinite = next(i for i in instances() if i.mu < 0)
    assert indefinite.fits({Property.BOUNDED_BELOW: ()}) and not indefinite.fits({Property.CONVEX: ()})


# --- The search ------------------------------------------------------------------------------------------------------


def rounds(name: str, M: int, S: int) -> list[RoundInstance]:
    (to, *_) = form_of(catalogue.find(f"sfl.{name}"))
    return [one for one in ROUNDS.family(to, False) if (one.instance.M, one.instance.S) == (M, S)]


def test_the_search_finds_what_the_family_has_not() -> None:
    """From members of the family that do not contradict Lemma 9 it comes to one that does."""
    statement = catalogue.find("sfl.lemma9")

    (to, *_) = form_of(statement)
    true = [one for one in rounds("lemma9", 2, 1) if all(case.balance.holds for case in cases(one, to))]
    found = replace(ROUNDS, family=lambda *_: true).check(statement)
    assert true and found.status is Status.REFUTED


def test_outside_the_assumptions_nothing_is_compared() -> None:
    for name, admitted in (("lemma5", False), ("step.eq49", True)):
        statement = catalogue.find(f"sfl.{name}")
        (to, *_) = form_of(statement)
        (one, *_) = rounds(name, 2, 1)
        concave = replace(one.instance, H=(ONE, ((Fraction(-1, 2),),)))
        assert list(cases(one, to)) and bool(list(cases(replace(one, instance=concave), to))) is admitted
        assert not list(cases(replace(one, eta=Fraction(0)), to))
        assert bool(list(cases(replace(one, eta=Fraction(100)), to))) is (name == "step.eq49")
        assert not list(cases(one, to, further=True))


ONE = ((Fraction(1),),)


def test_what_is_no_instance() -> None:
    with pytest.raises(ValueError, match="slopes that sum to 0"):
        Instance((ONE,), ((Fraction(1),),), (Fraction(0),), 1, 1, Fraction(0))
    with pytest.raises(ValueError, match="d <= 2"):
        Instance((ONE,), ((Fraction(0),),), (Fraction(0),) * 3, 1, 1, Fraction(0))
    with pytest.raises(ValueError, match="expected a matrix with rational eigenvalues"):
        exactly.eigenvalues(((Fraction(1), Fraction(1)), (Fraction(1), Fraction(0))))


def test_a_condition_that_a_definition_decides() -> None:
    """S = M makes S <= M true; S = M + 1 makes it false, so that no instance is left."""
    lemma = catalogue.find("sfl.lemma5")
    (form,) = form_of(replace(lemma, where={S: M}))
    assert len(form.conditions) + len(form.on_step) == len(lemma.when)
    assert any(True for _ in exactly.family(form, False))
    (none,) = form_of(replace(lemma, where={S: M + 1}))
    assert not any(True for _ in exactly.family(none, False))
