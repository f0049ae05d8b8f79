"""Checks of the FedBCGD paper's listings, update rules, assumptions and figures.

Algorithms.    The lines are executed exactly as written and compared with `fedtheory.simulations.algorithms.fedbcgd`; the
               errors of the printed lines are shown in fractions.
Assumptions.   They can be met, and with no smaller constant.
Figures.       Their rows on small data of our own, beside the paper's; Figures 3 and 6 need the paper's networks.
"""

from __future__ import annotations

from functools import partial

from fedtheory.bounds.fedbcgd.checks import assumptions, figures, listings
from fedtheory.bounds.fedbcgd.checks.listings import listing
from fedtheory.simulations.algorithms.fedbcgd import VARIANTS
from fedtheory.theory.statement import Evidence


def evidence() -> list[Evidence]:
    """The checks of listings, update rules, assumptions and figures."""
    batches = partial(assumptions.smooth_batches, symbol="f_z", convex=False)
    convex_batches = partial(assumptions.smooth_batches, symbol="f_iz", convex=True)
    return [
        Evidence("fedbcgd.alg1", "run", partial(listing, build=VARIANTS["FedBCGD, as printed"])),
        Evidence("fedbcgd.alg1", "counterexample", listings.averaging),
        Evidence("fedbcgd.alg1.corrected", "run", partial(listing, build=VARIANTS["FedBCGD"])),
        Evidence("fedbcgd.alg1.corrected", "counterexample", listings.averaging),
        Evidence("fedbcgd.alg3", "run", partial(listing, build=VARIANTS["FedBCGD+, as printed"])),
        Evidence("fedbcgd.alg3", "counterexample", listings.tracking),
        Evidence("fedbcgd.alg3.corrected", "run", partial(listing, build=VARIANTS["FedBCGD+"])),
        Evidence("fedbcgd.alg3.corrected", "counterexample", listings.tracking),
        Evidence("fedbcgd.eq4", "derivation", listings.local_rule),
        Evidence("fedbcgd.eq4.corrected", "derivation", listings.local_rule),
        Evidence("fedbcgd.eq6", "enumeration", listings.invariant),
        Evidence("fedbcgd.eq6.corrected", "enumeration", listings.invariant),
        Evidence("fedbcgd.n1_degenerates", "counterexample", listings.degenerates),
        Evidence("fedbcgd.local_step", "run", listings.local_step),
        Evidence("fedbcgd.blocks", "enumeration", listings.blocks),
        Evidence("fedbcgd.problem", "run", listings.problem),
        Evidence("fedbcgd.virtual_gradient", "enumeration", listings.virtual_gradient),
        *(Evidence(f"fedbcgd.variants.{name}", "run", listings.variant) for name in listings.ABLATED),
        Evidence("fedbcgd.assumption1", "run", assumptions.strongly_convex),
        Evidence("fedbcgd.assumption1.convex", "run", assumptions.strongly_convex),
        Evidence("fedbcgd.assumption2", "run", assumptions.smooth),
        Evidence("fedbcgd.assumption2.clients", "run", assumptions.smooth),
        Evidence("fedbcgd.assumption3", "run", assumptions.unbiased),
        Evidence("fedbcgd.assumption4", "run", assumptions.alike),
        Evidence("fedbcgd.assumption5", "run", batches),
        Evidence("fedbcgd.assumption5.convex", "run", convex_batches),
        Evidence("fedbcgd.logreg", "run", figures.logreg),
        Evidence("fedbcgd.sigmoid_erm", "run", figures.sigmoid_erm),
        Evidence("fedbcgd.fig4", "run", figures.number_of_blocks),
        Evidence("fedbcgd.fig5", "run", figures.ablation),
        Evidence("fedbcgd.fig7", "run", figures.momentum),
        Evidence("fedbcgd.fig8", "run", figures.faster),
        Evidence("fedbcgd.fig9", "run", figures.faster),
    ]
