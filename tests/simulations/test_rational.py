"""Exact numbers: roots of squares, and the same numbers with gmpy2 and without."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction as Plain

import pytest
from hypothesis import given, strategies as st

from fedtheory.simulations.exact.rational import Fraction, square_root

# The worst case of a claim, from a search in exact numbers
_SEARCH = """
from fedtheory.simulations.exact import rational
from fedtheory.bounds import fedbcgd
from fedtheory.theory import catalogue
id_ = "fedbcgd.thm1.step48.exact"
(check,) = [e.check for e in fedbcgd.evidence() if (e.statement, e.kind) == (id_, "search")]
found = check(catalogue.find(id_), False)
print(rational.Fraction.__module__, found.status, found.slack, found.says, found.witness)
"""


@given(st.fractions())
def test_the_root_of_a_square(q: Plain) -> None:
    root = square_root(Fraction(q) ** 2, "q")
    assert root == abs(q) and isinstance(root, Fraction)
    with pytest.raises(ValueError, match=r"^sigma\^2 = .*: expected the square of a fraction$"):
        square_root(2 * (1 + Fraction(q) ** 2) ** 2, "sigma^2")


def test_a_search_is_the_same_without_gmpy2(capsys: pytest.CaptureFixture[str]) -> None:
    script = 'import sys; sys.modules["gmpy2"] = None' + _SEARCH
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    exec(_SEARCH, {})
    (plain, *without), (quick, *with_) = (text.split(" ") for text in (found.stdout, capsys.readouterr().out))
    assert (plain, quick) == ("fractions", "gmpy2") and without == with_


# Fractions stay exact in sympy, whatever numbers sympy counts with


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
