"""Fractions for the searches: gmpy2's, about twenty times as fast as Python's, or Python's if gmpy2 is not installed.

A gmpy2 fraction becomes inexact in an operation with a float and in a fractional power.  So code with these numbers uses
only the four operations, comparisons and integer powers.
"""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction
else:
    try:
        from gmpy2 import mpq as Fraction
    except ImportError:
        from fractions import Fraction


def square_root(square: Fraction, name: str) -> Fraction:
    """The exact square root of a fraction; ValueError, with the name, if the root is irrational."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root**2 != square:
        raise ValueError(f"{name} = {square}: expected the square of a fraction")
    return root
