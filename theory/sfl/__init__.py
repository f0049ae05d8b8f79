"""Sequential against parallel federated learning: the statements, in the order of the paper.

The import of a module declares its statements; the order below is the catalogue's order.
The errata are in `errata.toml`.
"""

from fedtheory.theory.sfl import (  # noqa: F401, I001
    setting,
    lemmas,
    sequential,
    parallel,
    comparison,
    quadratics,
    experiments,
    corrected,
    sharp,
)
from fedtheory.theory.sfl.symbols import sfl as paper
from fedtheory.theory.errata import declare

declare(paper)
