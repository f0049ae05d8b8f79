"""Vector notation as sympy functions: expectation, norm, inner product, gradient, Bregman divergence.

They have no algebra of their own.  With them a statement reads as in the paper, and the units check can look inside.
"""

from __future__ import annotations

from typing import Any

from sympy import Eq, Function


class Expectation(Function):
    """E[.]"""

    nargs = 1


class Norm(Function):
    """||.||, Euclidean."""

    nargs = 1


class Inner(Function):
    """<., .>"""

    nargs = 2


class Grad(Function):
    """Grad(h, x): the gradient of h at x; h is a function's name, given as a symbol."""

    nargs = 2


class Value(Function):
    """Value(h, x): h(x); h is a function's name, given as a symbol."""

    nargs = 2


class Bregman(Function):
    """Bregman(h, x, y): D_h(x, y) = h(x) - h(y) - <grad h(y), x - y>."""

    nargs = 3


NOTATION = (Expectation, Norm, Inner, Grad, Value, Bregman)


def equal(left: Any, right: Any) -> Eq:
    """left = right exactly as printed; sympy does not evaluate it, even if it could to true or false."""
    return Eq(left, right, evaluate=False)
