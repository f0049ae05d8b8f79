"""Problems with certified constants, the papers' algorithms, and the engine that runs them.

Knows nothing of `theory`.
"""

from simulations.constants import Certified, Constants, NoSuchConstant
from simulations.engine import run
from simulations.exact import expectation, has_expectation
from simulations.problems import Problem, start

__all__ = ["Certified", "Constants", "NoSuchConstant", "Problem", "expectation", "has_expectation", "run", "start"]
