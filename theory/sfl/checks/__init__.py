"""The theory floor's evidence for the SFL paper: which kind of check tests which statement."""

from __future__ import annotations

from collections.abc import Iterator

from fedtheory.theory.proofs import units
from fedtheory.theory.sfl import sharp as sharper
from fedtheory.theory.sfl.checks import certificates, claims, counterexamples, facts, ledgers, rates, sharp, tables
from fedtheory.theory.statement import Evidence

# Reasons why no check here decides a statement, unless its kind already says so
OPEN = {
    "sfl.lemma7": "the hypothesis (37); its consequences are (38) to (40)",
    "sfl.lemma8": "the hypothesis of the lemma; its consequences are (44) and (45)",
    "sfl.table1": "a table; its rows are statements of their own",
    "sfl.claim.limitation": "a remark on the scope of the bounds and of the experiments",
    "sfl.nn.setup": "settings of the experiments on neural networks, which need to be run",
    "sfl.fig2": "needs the experiments on neural networks to be run",
    "sfl.fig10": "training curves; the pictures are not in the text",
    "sfl.fig16": "training curves; the pictures are not in the text",
    "sfl.table7": "measured numbers without a claim about them; Table 8 is compared with them",
}


SHARPENINGS = sharp.SHARPENINGS
LEAST = sharper.LEAST


def evidence() -> Iterator[Evidence]:
    """Units for every statement with formulas; ledgers, derivations and counter-examples if they apply."""
    yield from units.evidence("sfl")
    for part in (facts, certificates, ledgers, sharp, rates, counterexamples, claims, tables):
        yield from part.evidence()
