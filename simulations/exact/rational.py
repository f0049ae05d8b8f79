"""Exact numbers for the searches: the rationals of gmpy2, some twenty times as fast as Python's own.

Python's own where gmpy2 is not installed.  A rational of gmpy2 becomes an inexact number beside a float, and to the power
of a fraction: code that computes with these keeps to the four operations, comparisons and whole powers.
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

__all__ = ["Fraction", "square_root"]


def square_root(square: Fraction, name: str) -> Fraction:
    """The root of the square of a fraction, exactly; ValueError, with the name, for a fraction that is no square."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root**2 != square:
        raise ValueError(f"{name} = {square}: expected the square of a fraction")
    return root
