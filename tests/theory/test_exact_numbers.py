"""Fractions of the searches stay exact in sympy, whatever numbers sympy counts with."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sympy
from fedtheory.simulations.exact.rational import Fraction
import fedtheory.theory.statement
q, x = Fraction(3, 4), sympy.Symbol("x")
assert sympy.sympify(q) == sympy.Rational(q) == sympy.Rational(q.numerator, q.denominator) == sympy.Rational(3, 4)
assert (x**2).subs(x, q) == sympy.Rational(9, 16) and (x <= q).args[1].is_Rational
print(sympy.external.gmpy.GROUND_TYPES)
"""


@pytest.mark.dear
@pytest.mark.parametrize("numbers", ["python", "gmpy", "flint"])
def test_a_fraction_becomes_an_exact_number(numbers: str) -> None:
    environment = os.environ | {"SYMPY_GROUND_TYPES": numbers}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, f"{numbers}\n"), done.stderr
