"""Fractions of gmpy2 stay exact in sympy."""

from __future__ import annotations

import sympy
from sympy.core.sympify import converter

try:  # where python-flint is installed, sympy counts with its numbers, and would read gmpy2's fractions as floats
    from gmpy2 import mpq, mpz
except ImportError:
    pass
else:
    converter[mpz] = lambda number: sympy.Integer(int(number))
    converter[mpq] = lambda number: sympy.Rational(int(number.numerator), int(number.denominator))
