"""Federated learning with compression: the statements of the supplement, in its order.

The import of a module declares its statements; the order below is the catalogue's order.
The errata are in `errata.toml`.
"""

from fedtheory.theory.fedcom import (  # noqa: F401, I001
    setting,
    homogeneous,
    heterogeneous,
    deferred,
    comparison,
    experiments,
    corrected,
    sharp,
)
from fedtheory.theory.fedcom.symbols import fedcom as paper
from fedtheory.theory.errata import declare

declare(paper)
