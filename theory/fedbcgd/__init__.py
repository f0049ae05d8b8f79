"""FedBCGD, block coordinate gradient descent for federated learning: the statements, in the order of the supplement.

The import of a module declares its statements; the order below is the catalogue's order.
The errata are in `errata.toml`.
"""

from fedtheory.theory.fedbcgd import (  # noqa: F401, I001
    setting,
    lemmas,
    theorem1,
    theorem2,
    comparison,
    experiments,
    corrected,
    sharp,
)
from fedtheory.theory.fedbcgd.symbols import fedbcgd as paper
from fedtheory.theory.errata import declare

declare(paper)
