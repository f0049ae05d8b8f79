"""The theory floor's evidence for the FedBCGD paper: which kind of check tests which statement."""

from __future__ import annotations

from collections.abc import Iterator

from fedtheory.theory.fedbcgd.checks import claims, counterexamples, facts, ledgers, rates, sharp, tables
from fedtheory.theory.proofs import units
from fedtheory.theory.statement import Evidence

# Reasons why no check here decides a statement, unless its kind already says so
OPEN = {
    "fedbcgd.thm2.drift": "a name for a quantity",
    "fedbcgd.thm2.nonconvex": "its proof fails, and no counter-example with c_i^0 = grad f_i(x^0) is known; with M/K "
    "instead of (M/K)^{2/3} it is proved",
    "fedbcgd.claim.alpha_server_step": "a comparison in words: in Lemma 10 alpha stands where a server step size would",
    "fedbcgd.fig3": "test accuracy of networks, which need to be trained; the picture is not in the scan",
    "fedbcgd.fig6": "test accuracy of ViT-Base, which needs to be trained; the picture is not in the scan",
}


SHARPENINGS = sharp.SHARPENINGS


def evidence() -> Iterator[Evidence]:
    """Units for every statement with formulas; ledgers, derivations and counter-examples if they apply."""
    yield from units.evidence("fedbcgd")
    for part in (ledgers, sharp, rates, facts, claims, counterexamples, tables):
        yield from part.evidence()
