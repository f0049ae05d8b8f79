"""The sharper forms of FedBCGD's Theorem 1: their proofs on changed statements, and what they gain."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from sympy import Rational

from fedtheory.theory import catalogue
from fedtheory.theory.fedbcgd.checks import sharp
from fedtheory.theory.fedbcgd.symbols import G, K, M, N, R, T, alpha, eta_tilde, gamma, sigma
from fedtheory.theory.statement import Bound, Statement, Status

OWN = {e.statement: e for e in sharp.evidence()}
ROUNDS = [id_ for id_ in OWN if "step50" in id_]
THEOREMS = [id_ for id_ in OWN if "step50" not in id_]


def put(id_: str, statement: Statement | None = None) -> Status:
    return OWN[id_].check(statement or catalogue.find(id_), False).status


@pytest.mark.parametrize("id_", OWN)
def test_any_better_constant_is_broken(id_: str) -> None:
    statement = catalogue.find(id_)
    claim = statement.claim
    assert isinstance(claim, Bound)
    for term in claim.terms:
        factor = Rational(105, 100) if term.name == "progress" else Rational(95, 100)
        assert put(id_, statement.with_claim(claim.scaled(factor, term.name))) is Status.BROKEN, term.name


@pytest.mark.parametrize("id_", ROUNDS)
def test_these_conditions_count(id_: str) -> None:
    """The step size, the sample, and the meaning of gamma."""
    statement = catalogue.find(id_)
    for condition in statement.when:
        if condition.relation.has(gamma, N) or M in condition.relation.free_symbols or "32" in str(condition):
            kept = tuple(c for c in statement.when if c != condition)
            assert put(id_, replace(statement, when=kept)) is Status.BROKEN, str(condition)


@pytest.mark.parametrize("id_", THEOREMS)
def test_no_term_is_larger_than_the_corrected_one(id_: str) -> None:
    ours = catalogue.find(id_)
    looser = catalogue.find(ours.sharpens)
    assert ours.when[0] == looser.when[0]  # the same step sizes
    assert isinstance(ours.claim, Bound) and isinstance(looser.claim, Bound)
    own, other = ({t.name: t.value for t in claim.terms} for claim in (ours.claim, looser.claim))
    assert own.keys() == other.keys()
    symbols = dict.fromkeys(ours.claim.value.free_symbols | looser.claim.value.free_symbols, Rational(1, 7))
    for clients, blocks, steps, heavy, rounds in product((2, 50), (1, 2), (1, 3, 40), (1, 2, 10), (1, 10, 1000)):
        at = symbols | {M: clients, K: blocks, T: steps, alpha: heavy, gamma: heavy - 1, R: rounds}
        at |= {eta_tilde: Rational(1, 50), G: 1, sigma: 1}
        for name, value in own.items():
            assert value.subs(at) < other[name].subs(at) or value.subs(at) == 0, name
