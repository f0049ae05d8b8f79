"""Lemmas 3 and 4 as lemmas in Coq, at every case that the enumeration here decides."""

from __future__ import annotations

from collections.abc import Iterator

from fedtheory.theory import catalogue
from fedtheory.theory.proofs.enumerations import lemma, of_mean, of_pair, of_step, of_steps
from fedtheory.theory.sfl.checks.facts import (
    covariance_family,
    lemma4_family,
    with_replacement_family,
    without_replacement_family,
)


def lemmas(full: bool = False) -> dict[str, str]:
    """The lemmas, by their names in Coq."""
    found = {}
    for name, mean, units, id_, at in _cases(full):
        found[name] = lemma(name, mean, units, catalogue.find(id_), at)
    return found


def _cases(full: bool) -> Iterator[tuple[str, str, str, str, dict[str, int]]]:
    for n, s in with_replacement_family(full):
        yield f"lemma3_swr_{n}_{s}", of_mean(n, s, True), "n", "sfl.lemma3.swr", {"n": n, "s": s}
    for n, s in without_replacement_family(full):
        yield f"lemma3_swor_{n}_{s}", of_mean(n, s, False), "n", "sfl.lemma3.swor", {"n": n, "s": s}
    for n in covariance_family(full):
        yield f"lemma3_cov_{n}", of_pair(n), "n", "sfl.lemma3.cov", {"n": n}
    for M, S, K in lemma4_family(full):
        at = {"M": M, "S": S, "K": K}
        yield f"lemma4_{M}_{S}_{K}", of_steps(M, S, K), "M", "sfl.lemma4", at
        closed = "sfl.lemma4.closed_form.corrected"
        yield f"lemma4_closed_form_{M}_{S}_{K}", of_steps(M, S, K), "M", closed, at
        if S == M:  # the same for each S >= m
            for m in range(1, S + 1):
                for k in range(K):
                    step = of_step(M, K, m, k)
                    yield f"lemma4_term_{M}_{K}_{m}_{k}", step, "M", "sfl.lemma4.term", at | {"m": m, "k": k}
