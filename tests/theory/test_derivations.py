"""Derivations by hand read the whole formula: also changes that no operator makes, whose scores are in `test_score`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import sympy
from sympy import Sum

from fedtheory.theory import catalogue
from fedtheory.theory.fedbat.symbols import S as OPERATOR, x_vec
from fedtheory.theory.fedbcgd.symbols import m_t, v_t
from fedtheory.theory.fedcom.symbols import delta_next
from fedtheory.theory.notation import Expectation, Norm, Value, equal
from fedtheory.theory.proofs.vectors import in_numbers, in_the_mean
from fedtheory.theory.sfl.symbols import xbar, xbar_pi
from fedtheory.theory.statement import Evidence, Relations, Statement, Status
from fedtheory.verification import evidence

BY_HAND = [e for paper in catalogue.papers() for e in evidence(paper) if e.kind in ("derivation", "certificate")]


def proved(item: Evidence, statement: Statement) -> bool:
    try:
        return item.check(statement, False).status is Status.PROVED
    except ValueError:  # it cannot read the claim
        return False


# Changes that no operator makes; each is false
def _squared() -> Statement:
    return replace(catalogue.find("sfl.lemma3.mean"), claim=Relations((equal(Expectation(xbar_pi**2), xbar**2),), ""))


def _of_all(id_: str, i: int, old: sympy.Basic, new: sympy.Basic) -> Statement:
    """A statement with another part in its relation number i."""
    statement = catalogue.find(id_)
    assert isinstance(statement.claim, Relations)
    several = list(statement.claim.relations)
    changed = several[i].func(*(side.xreplace({old: new}) for side in several[i].args), evaluate=False)
    assert changed != several[i]
    several[i] = changed
    return statement.with_claim(replace(statement.claim, relations=tuple(several)))


def _false() -> Iterator[Statement]:
    yield _squared()
    t, tau = (catalogue.paper("fedbcgd").symbols[name].sympy for name in ("t", "tau"))
    vectors = Sum(v_t, (t, 1, tau))
    yield _of_all("fedbcgd.lemma3", 1, vectors, Sum(3 * v_t, (t, 1, tau)))
    yield _of_all("fedbcgd.lemma3", 1, vectors, Sum(v_t, (t, 1, 2 * tau)))
    yield _of_all("fedbcgd.lemma9", 0, Norm(Sum(m_t, (t, 1, tau))), Norm(m_t))
    elsewhere = Value(OPERATOR, 2 * x_vec)
    yield catalogue.find("fedbat.setting_theory").with_claim(Relations((equal(Expectation(elsewhere), elsewhere),)))
    # in one run, and not only in the mean over the compression
    yield _of_all("fedcom.thmE4.items.corrected", 4, Expectation(delta_next), delta_next)


@pytest.mark.parametrize("statement", list(_false()), ids=lambda s: s.id)
def test_false_claims_are_not_proved(statement: Statement) -> None:
    items = [e for e in BY_HAND if e.statement == statement.id]
    assert items and not any(proved(item, statement) for item in items)


def test_numbers_for_what_is_known_and_for_nothing_else() -> None:
    known = {Norm(v_t): sympy.Symbol("norm", positive=True)}
    assert in_numbers(3 * Norm(v_t) ** 2, known) == 3 * known[Norm(v_t)] ** 2
    for other in (Norm(2 * v_t), v_t * Norm(v_t), Expectation(Norm(v_t)), Sum(Norm(v_t), (sympy.Symbol("t"), 1, 2))):
        with pytest.raises(ValueError, match=r"expected Norm\(v_t\), and numbers"):
            in_numbers(other, known)


def test_means_of_what_is_linear() -> None:
    mean = in_the_mean(Expectation((xbar_pi - 2) * 3) + Expectation(xbar), {xbar_pi: xbar})
    assert sympy.expand(mean - 4 * xbar + 6) == 0
    for other in (xbar_pi**2, Norm(xbar_pi), 1 / xbar_pi):
        with pytest.raises(ValueError, match="expected an expression linear in xbar_pi"):
            in_the_mean(Expectation(other), {xbar_pi: xbar})
