"""FedBAT, federated binarisation-aware training: the statements, in the order of the paper.

Importing a module declares its statements; the order below is that of the catalogue.
"""

from theory.fedbat import (  # noqa: F401, I001
    setting,
    theorems,
    lemmas,
    partial,
    nonconvex,
    experiments,
    corrected,
    errata,
)
from theory.fedbat.symbols import fedbat as paper

__all__ = ["paper"]
