"""The papers' own algorithms: the printed lines, executed, give what the implementation gives."""

from __future__ import annotations

import pytest

from fedtheory.bounds.papers import evidence
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Status

PRINTED = {
    "sfl": ("alg1", "alg2"),
    "fedcom": ("alg1", "alg2", "alg3", "alg3.option1", "alg3.option2", "alg4", "alg5"),
    "fedbcgd": ("alg1", "alg3"),
    "fedbat": ("alg1",),
}
CORRECTED = ("fedcom.alg2", "fedcom.alg4", "fedcom.alg5", "fedbcgd.alg1", "fedbcgd.alg3", "fedbat.alg1")
LISTINGS = [*(f"{paper}.{name}" for paper, names in PRINTED.items() for name in names)]


@pytest.mark.parametrize("id_", [*LISTINGS, *(f"{id_}.corrected" for id_ in CORRECTED)])
def test_the_lines_executed(id_: str) -> None:
    """With noise, sampled clients and compressors, as the evidence of the listing says."""
    (check,) = [e.check for e in evidence(id_.split(".")[0]) if (e.statement, e.kind) == (id_, "run")]
    assert check(catalogue.find(id_), False).status is Status.TESTED
