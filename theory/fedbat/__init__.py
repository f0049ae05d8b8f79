"""FedBAT, federated binarisation-aware training: the statements, in the order of the paper.

The import of a module declares its statements; the order below is the catalogue's order.
The errata are in `errata.toml`.
"""

from fedtheory.theory.fedbat import (  # noqa: F401, I001
    setting,
    theorems,
    lemmas,
    partial,
    nonconvex,
    experiments,
    corrected,
    sharp,
)
from fedtheory.theory.fedbat.symbols import fedbat as paper
from fedtheory.theory.errata import declare

declare(paper)
