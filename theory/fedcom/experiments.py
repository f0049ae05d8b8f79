"""The paper's figures (Section B.2): in `experiments.toml`; the formula of one of them."""

from __future__ import annotations

from fedtheory.theory.fedcom.symbols import d_ij, fedcom, g_i, g_j
from fedtheory.theory.notation import Inner, Norm, equal
from fedtheory.theory.printed_tables import experiments
from fedtheory.theory.statement import Words

_correlation = Words(
    "EMNIST: every client's data correlates homogeneously with all others'.  MNIST with 2 classes per client: each "
    "client has high correlation with at most 4 of the 20 clients, none or a negative one with the others.",
    (equal(d_ij, Inner(g_i, g_j) / (Norm(g_i) * Norm(g_j))),),
)

experiments(fedcom, {"fig7": _correlation})
