"""Checks of the SFL paper's listings, assumptions, partitions and figures."""

from __future__ import annotations

from functools import partial

from fedtheory.bounds.sfl.checks import assumptions, figures, listings, partitions
from fedtheory.bounds.sfl.checks.listings import listing
from fedtheory.bounds.sfl.checks.partitions import partitioned
from fedtheory.simulations.algorithms.sfl import PFL, SFL
from fedtheory.theory import catalogue
from fedtheory.theory.statement import Evidence


def evidence() -> list[Evidence]:
    """The checks of listings, assumptions, partitions and figures."""
    exdir = partial(partitioned, deal=partitions.exdir, seeds=250, family="ExDir(2, 3), 5 classes, 6 clients")
    quantity = partial(partitioned, deal=partitions.quantity, seeds=50, family="Quantity(2), 5 classes, 6 clients")
    dirichlet = partial(partitioned, deal=partitions.dirichlet, seeds=200, family="Dir(3), 5 classes, 6 clients")
    as_run = [s.id for s in catalogue.statements("sfl") if s.id.endswith(".as_run")]  # computed with two decimals
    return [
        Evidence("sfl.alg1", "run", partial(listing, algorithm=SFL)),
        Evidence("sfl.alg2", "run", partial(listing, algorithm=PFL)),
        Evidence("sfl.claim.ssl_equiv", "run", listings.split_learning),
        Evidence("sfl.claim.ssl_equiv.corrected", "run", listings.split_learning),
        Evidence("sfl.claim.biased", "moments", listings.biased),
        Evidence("sfl.asm.lower", "run", assumptions.lower),
        Evidence("sfl.asm.cases", "run", assumptions.cases),
        Evidence("sfl.asm.smooth", "run", assumptions.smooth),
        Evidence("sfl.asm.unbiased", "run", assumptions.unbiased),
        Evidence("sfl.asm.unbiased.corrected", "run", assumptions.unbiased),
        Evidence("sfl.asm.variance", "run", assumptions.variance),
        Evidence("sfl.asm.het_a", "run", assumptions.heterogeneity),
        Evidence("sfl.asm.het_b", "run", assumptions.at_optimum),
        Evidence("sfl.exdir", "run", exdir),
        Evidence("sfl.exdir.quantity", "run", quantity),
        Evidence("sfl.exdir.dirichlet", "run", dirichlet),
        Evidence("sfl.fig1", "moments", figures.figure_1),
        Evidence("sfl.fig3", "derivation", figures.figure_3),
        Evidence("sfl.fig7", "moments", figures.figure_7),
        *(Evidence(id_, "moments", figures.with_decimals) for id_ in as_run),
        Evidence("sfl.fig8", "run", partitions.first_row),
        Evidence("sfl.fig9", "run", partitions.allocation),
    ]
