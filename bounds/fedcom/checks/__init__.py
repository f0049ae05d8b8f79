"""Checks of the FedCOM paper's listings, assumptions and figures.

Algorithms.    The lines are executed exactly as written and compared with `fedtheory.simulations.algorithms.fedcom`; the
               errors of the printed lines are shown in fractions.
Assumptions.   They can be met, and with no smaller constant.
Figures.       Their sentences on small data of our own, and on quadratics by exact expectations.
"""

from __future__ import annotations

from functools import partial

from fedtheory.bounds.fedcom.checks import assumptions, figures, listings
from fedtheory.bounds.fedcom.checks.listings import WITH_MEMORY, listing, option
from fedtheory.simulations.algorithms.fedcom import FedCOM, FedCOMGATE, FedGATE, SparseFedCOMGATE
from fedtheory.simulations.compressors import Identity
from fedtheory.theory.statement import Evidence


def evidence() -> list[Evidence]:
    """The checks of listings, assumptions and figures."""
    tracked = partial(listing, remember=("delta",))
    with_memory = partial(listing, compressors=WITH_MEMORY, remember=("delta", "nu"))
    return [
        Evidence("fedcom.alg1", "run", partial(listing, kind=FedCOM)),
        Evidence("fedcom.alg2", "run", partial(tracked, kind=FedCOMGATE)),
        Evidence("fedcom.alg2.corrected", "run", partial(tracked, kind=FedCOMGATE, damping=None)),
        Evidence("fedcom.alg3", "run", partial(tracked, kind=FedGATE, compressors=(Identity(),))),
        Evidence("fedcom.alg3.option1", "run", partial(option, which="I")),
        Evidence("fedcom.alg3.option2", "run", partial(option, which="II")),
        Evidence("fedcom.alg4", "run", partial(tracked, kind=FedCOMGATE, divisor="clients", sampled=True)),
        Evidence("fedcom.alg4", "counterexample", listings.sampling),
        Evidence("fedcom.alg4.corrected", "run", partial(tracked, kind=FedCOMGATE, sampled=True)),
        Evidence("fedcom.alg4.corrected", "counterexample", listings.sampling),
        Evidence("fedcom.alg5", "run", partial(with_memory, kind=SparseFedCOMGATE, form="printed")),
        Evidence("fedcom.alg5", "counterexample", listings.nothing_left_out),
        Evidence("fedcom.alg5.corrected", "run", partial(with_memory, kind=SparseFedCOMGATE, form="corrected")),
        Evidence("fedcom.alg5.corrected", "counterexample", listings.nothing_left_out),
        Evidence("fedcom.alg5.own", "run", listings.comes_to_minimiser),
        Evidence("fedcom.alg5.own", "counterexample", listings.nothing_left_out),
        Evidence("fedcom.asm1", "run", assumptions.smooth),
        Evidence("fedcom.asm2", "enumeration", assumptions.compressed),
        Evidence("fedcom.asm3", "run", assumptions.homogeneous),
        Evidence("fedcom.asm4", "run", assumptions.heterogeneous),
        Evidence("fedcom.asm5", "enumeration", assumptions.gap),
        Evidence("fedcom.asm6", "run", assumptions.polyak),
        Evidence("fedcom.asm7", "run", assumptions.strongly_convex),
        Evidence("fedcom.fig6", "run", figures.communication),
        Evidence("fedcom.fig7", "run", figures.similarity),
        Evidence("fedcom.fig8", "run", figures.sparsification),
        Evidence("fedcom.fig9", "moments", figures.quantisation),
    ]
