"""Means over all samples as lemmas in Coq: at each case of a grid, for every population in every space of vectors.

    forall V : Inner, deviations d 0 ... d (n - 1) that sum to zero, zeta^2 their variance  ->  mean over samples = printed

Coq lists the samples itself, and counts (enumerations.v).  The right side is the statement's, with the numbers put in.
"""

from __future__ import annotations

from collections.abc import Mapping

from fedtheory.theory.proofs import coq
from fedtheory.theory.statement import Bound, Statement

PRELUDE = """\
Require Import Reals List ZArith rules enumerations.
Import ListNotations.
Open Scope R_scope.
"""


def lemma(name: str, mean: str, units: str, statement: Statement, at: Mapping[str, int]) -> str:
    """That a mean over samples is what the statement says, at these numbers, by counting.

    mean   the mean, in Coq
    units  the name of the number of units
    """
    claim = statement.claim
    if not isinstance(claim, Bound):
        raise ValueError(f"{statement.id}: expected a bound")
    n, named = at[units], {"zeta": "zeta"} | {symbol: str(value) for symbol, value in at.items()}
    printed = coq.term(str(claim.value), named)
    return (
        f"Lemma {name} : forall (V : Inner) (d : nat -> V) (zeta : R),\n"
        f"  (forall z, ip (vsum {n} d) z = 0) -> zeta ^ 2 = variance d {n} ->\n"
        f"  {mean} {claim.sign} {printed}.\n"
        f"Proof. by_counting {n}%nat. Qed.\n"
    )


def of_mean(n: int, s: int, replacement: bool) -> str:
    """E||mean of s sampled units - mean of all||^2."""
    samples = f"({'with_' if replacement else 'without'} {n} {s})"
    return f"mean_square d {samples} (repeat 1%Z {s}) / {s} ^ 2"


def of_pair(n: int) -> str:
    """E<x_p - mean, x_q - mean> for two units of a sample."""
    return f"mean_product d (without {n} 2) [1; 0]%Z [0; 1]%Z"


def of_step(M: int, K: int, m: int, k: int) -> str:
    """One (m, k) of Lemma 4."""
    return f"partial_sum d {M} {K} {m} {k}"


def of_steps(M: int, S: int, K: int) -> str:
    """The left side of Lemma 4."""
    return f"partial_sums_of d {M} {S} {K}"
