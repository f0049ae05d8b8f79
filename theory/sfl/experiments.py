"""The paper's claims about its experiments (Section 4, Appendices F, G): `experiments.toml` has them."""

from theory.printed_tables import experiments
from theory.sfl.symbols import sfl

experiments(sfl)
