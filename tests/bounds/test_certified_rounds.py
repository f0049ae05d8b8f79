"""Lemmas about a round, proved from the algorithm's code for all constants and numbers of clients."""

from __future__ import annotations

from typing import Any

import pytest

from fedtheory.bounds.certified_rounds import check
from fedtheory.paper import M, S, dist2, eta, grad_sq, local_sq, paper, sigma, smooth, spread, spread_everywhere
from fedtheory.simulations.algorithms.sfl import PFL
from fedtheory.theory.statement import Status

pytestmark = pytest.mark.usefixtures("alone")


def verdict(claim: Any, given: Any) -> Any:
    p = paper("certified")
    p.algorithm(PFL)
    return check(p.lemma(claim, given=given))


def test_a_lemma_is_proved_and_a_smaller_constant_is_not() -> None:
    assert verdict(local_sq <= grad_sq + spread**2, [spread_everywhere]).status is Status.PROVED
    assert verdict(local_sq <= grad_sq + spread**2 / 2, [spread_everywhere]).status is Status.OPEN


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        (dist2.next <= dist2 + eta**2 * sigma**2 / M, "one step"),
        (local_sq <= grad_sq + spread**2 * S / M, "all of which take part"),
    ],
)
def test_what_it_cannot_read_it_refuses(claim: Any, says: str) -> None:
    found = verdict(claim, [smooth, spread_everywhere])
    assert found.status is Status.BROKEN and says in found.says
