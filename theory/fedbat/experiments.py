"""The paper's claims about its experiments (Sections 1 and 5, Appendices A, B): `experiments.toml` has them."""

from fedtheory.theory.fedbat.symbols import fedbat
from fedtheory.theory.printed_tables import experiments

LISTS = experiments(fedbat)
BINARIZATION, BASELINES, RHOS, PHIS = (LISTS[name] for name in ("binarization", "baselines", "rhos", "phis"))
