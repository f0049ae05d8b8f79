"""The paper's claims about its experiments (Section 4, Appendices F, G): `experiments.toml` has them."""

from fedtheory.theory.printed_tables import experiments
from fedtheory.theory.sfl.symbols import sfl

experiments(sfl)
