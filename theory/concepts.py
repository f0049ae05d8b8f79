"""What symbols of different papers have in common: quantities of the field, each by one name, with its dimension.

A paper's symbol may be a letter for one of them (`Paper.symbol(..., concept="smoothness")`).  Where two papers' symbols have
the same concept, they are the same quantity, whatever the letters; a symbol without one is the paper's own.  X is the
dimension of x, F that of F(x).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import sympy

# The two dimensions: X is that of the parameters x, F is that of the objective F(x).
X = sympy.Symbol("[x]", positive=True)
F = sympy.Symbol("[F]", positive=True)
NUMBER = sympy.Integer(1)

CONCEPTS: Mapping[str, sympy.Expr] = {
    # Counts
    "clients": NUMBER,
    "sampled clients": NUMBER,
    "local steps": NUMBER,
    "rounds": NUMBER,
    # Step sizes
    "learning rate": X**2 / F,
    "effective learning rate": X**2 / F,
    # Constants of the problem
    "smoothness": F / X**2,
    "strong convexity": F / X**2,
    "condition number": NUMBER,
    "regularisation": F / X**2,
    "gradient noise": F / X,
    "heterogeneity at the optimum": F / X,
    "relative heterogeneity": NUMBER,
    "absolute heterogeneity": F / X,
    "heterogeneity everywhere": F / X,
    # The start
    "initial distance": X,
    "squared initial distance": X**2,
    "initial gap": F,
    "norm of the start": X,
    "norm of the minimiser": X,
    "heterogeneity at the start": F**2 / X**2,
    "gaps of the clients at the start": F,
    "squared distances to the clients' minimisers": X**2,
    "gap between the minimum and those of the clients": F,
    # What theorems bound
    "gap of the average": F,
    "gap of the last iterate": F,
    "squared distance of the last iterate": X**2,
    "smallest squared gradient": F**2 / X**2,
    "mean squared gradient": F**2 / X**2,
}


DOMAINS = ("positive", "nonnegative", "negative", "nonpositive", "nonzero", "integer", "rational", "even", "odd")


def monomial(name: str, dimension: Any) -> sympy.Expr:
    """The dimension of what has this name.  Raises ValueError unless it is a product of powers of X and F."""
    e = sympy.sympify(dimension)
    powers = e.as_powers_dict() if isinstance(e, sympy.Expr) else {}
    if not powers or any(base not in (X, F, 1) or not power.is_Rational for base, power in powers.items()):
        raise ValueError(f"{name} has dimension {dimension}: expected a product of powers of X and F, or 1")
    return e


class Named(Protocol):
    """What `same` reads of a symbol."""

    @property
    def meaning(self) -> str: ...
    @property
    def dimension(self) -> sympy.Expr: ...
    @property
    def concept(self) -> str | None: ...


def same(one: Named, other: Named) -> bool:
    """Whether two papers' symbols are the same quantity: by their concepts; without these by meaning and dimension."""
    if one.concept or other.concept:
        return one.concept == other.concept
    return (one.meaning.casefold(), one.dimension) == (other.meaning.casefold(), other.dimension)


__all__ = ["CONCEPTS", "NUMBER", "F", "X", "same"]
